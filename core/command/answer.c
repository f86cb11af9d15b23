// SPDX-License-Identifier: Apache-2.0
#include "command/answer.h"

enum oneib_exit oneib_command_answer(const struct oneib_command_request *request,
                                     struct oneib_view *view, struct oneib_command_answer *answer,
                                     struct oneib_error *err)
{
    static int (*const answers[])(const struct oneib_command_request *request,
                                  struct oneib_view *view, struct oneib_command_answer *answer,
                                  enum oneib_exit *outcome, struct oneib_error *err) = {
        [ONEIB_ASK_LIST] = oneib_answer_list,     [ONEIB_ASK_SHOW] = oneib_answer_show,
        [ONEIB_ASK_HOSTS] = oneib_answer_hosts,   [ONEIB_ASK_PLAN] = oneib_answer_plan,
        [ONEIB_ASK_VERIFY] = oneib_answer_verify, [ONEIB_ASK_LINKS] = oneib_answer_links,
    };
    enum oneib_exit outcome = ONEIB_EXIT_DONE;
    return answers[request->question](request, view, answer, &outcome, err) < 0 ? ONEIB_EXIT_FAILURE
                                                                                : outcome;
}

bool oneib_question_needs_reading(enum oneib_question question)
{
    return question == ONEIB_ASK_PLAN || question == ONEIB_ASK_VERIFY ||
           question == ONEIB_ASK_LINKS;
}

void oneib_command_answer_clear(struct oneib_command_answer *answer)
{
    oneib_text_clear(&answer->out);
    oneib_text_clear(&answer->err);
    oneib_text_clear(&answer->end);
}
