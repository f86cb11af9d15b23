// SPDX-License-Identifier: Apache-2.0
/*
 * The answers of the verbs that only read: list, show, hosts, plan, verify and qos --links, as text. The
 * command and oneibd call the same functions.
 */
#ifndef ONEIB_COMMAND_ANSWER_H
#define ONEIB_COMMAND_ANSWER_H

#include "base/exit.h"
#include "base/text.h"
#include "command/view.h"
#include <stdint.h>

enum oneib_question {
    ONEIB_ASK_LIST,
    ONEIB_ASK_SHOW,
    ONEIB_ASK_HOSTS,
    ONEIB_ASK_PLAN,
    ONEIB_ASK_VERIFY,
    ONEIB_ASK_LINKS,
};
#define ONEIB_QUESTIONS (ONEIB_ASK_LINKS + 1)

/* OpenNebula's names have 128 characters at most, of 4 bytes each. */
#define ONEIB_NETWORK_NAME_SIZE 520

/* The question, and the form of the answer. */
struct oneib_command_request {
    enum oneib_question question;
    bool json;      /* one JSON document on standard output */
    bool color_out; /* on standard output */
    bool color_err; /* on standard error */
    bool adopt;     /* plan: with a lost ledger, what 'oneib sync --adopt' would do */
    bool exit_code; /* plan: DIFFERENCE when there is something to do */
    bool force;     /* plan: what 'oneib sync --force' would do; the maker of the view applies it */
    bool no_fabric; /* without the ports' tables; applied to the view, too */
    bool utf8;      /* the terminal shows UTF-8; applied by LC_CTYPE */
    char network[ONEIB_NETWORK_NAME_SIZE]; /* show: by its name; "": by its id */
    uint32_t network_id;
};

struct oneib_command_answer {
    struct oneib_text out; /* standard output */
    struct oneib_text err; /* standard error */
    struct oneib_text end; /* standard error, after standard output: the daemon that answered */
};

/*
 * Appends to *answer, which the caller has zeroed. DONE and DIFFERENCE do not set *err. FAILURE sets
 * *err, and answer->out is not valid. Without view->may_be_written plan changes view->snapshot's table to what
 * the command may write, and plan and verify add to view->findings.
 */
enum oneib_exit oneib_command_answer(const struct oneib_command_request *request,
                                     struct oneib_view *view, struct oneib_command_answer *answer,
                                     struct oneib_error *err);
void oneib_command_answer_clear(struct oneib_command_answer *answer);

/* Whether oneibd answers from a reading of the ports that begins after the request. */
bool oneib_question_needs_reading(enum oneib_question question);

/* Reads from the fabric into *checks what the question needs beyond a snapshot whose subnet is known: verify and
 * links, others nothing. The caller has zeroed *checks before the first question. */
int oneib_fabric_checks_read(enum oneib_question question, const struct oneib_config *config,
                             struct oneib_sm *sm, struct oneib_fabric *fabric,
                             const struct oneib_snapshot *snapshot,
                             struct oneib_fabric_checks *checks, struct oneib_error *err);

/* ---- one each, for answer.c alone; -1: FAILURE ------------------------------------------------- */

int oneib_answer_list(const struct oneib_command_request *request, struct oneib_view *view,
                      struct oneib_command_answer *answer, enum oneib_exit *outcome,
                      struct oneib_error *err);
int oneib_answer_show(const struct oneib_command_request *request, struct oneib_view *view,
                      struct oneib_command_answer *answer, enum oneib_exit *outcome,
                      struct oneib_error *err);
int oneib_answer_hosts(const struct oneib_command_request *request, struct oneib_view *view,
                       struct oneib_command_answer *answer, enum oneib_exit *outcome,
                       struct oneib_error *err);
int oneib_answer_plan(const struct oneib_command_request *request, struct oneib_view *view,
                      struct oneib_command_answer *answer, enum oneib_exit *outcome,
                      struct oneib_error *err);
int oneib_answer_verify(const struct oneib_command_request *request, struct oneib_view *view,
                        struct oneib_command_answer *answer, enum oneib_exit *outcome,
                        struct oneib_error *err);
int oneib_answer_links(const struct oneib_command_request *request, struct oneib_view *view,
                       struct oneib_command_answer *answer, enum oneib_exit *outcome,
                       struct oneib_error *err);

#endif
