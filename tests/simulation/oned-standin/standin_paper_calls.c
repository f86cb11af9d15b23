// SPDX-License-Identifier: Apache-2.0
/* one.document.*, and who may what: owners, groups and administrators, as oned has it. */
#include "base/cleanup.h"
#include "standin_events.h"
#include "standin_methods.h"
#include <stdlib.h>
#include <string.h>

enum { USE, MANAGE };
enum { OF_OWNER = 0, OF_GROUP = 3, OF_OTHERS = 6 };

static bool may(const struct standin_call *call, const struct standin_paper *paper, int right)
{
    return call->user->id == 0 || call->user->group == 0 ||
           (right == USE && (call->rights & RIGHT_DOCUMENTS)) ||
           (call->user->id == paper->uid && paper->rights[OF_OWNER + right]) ||
           (call->user->group == paper->gid && paper->rights[OF_GROUP + right]) ||
           paper->rights[OF_OTHERS + right];
}

/* The paper that the first parameter names, when the caller may; NULL with *answer, or a fault. */
static struct standin_paper *take_paper(struct standin_call *call, int right, xmlrpc_value **answer)
{
    uint32_t id;
    struct oneib_error err = {0};
    *answer = NULL;
    if (!standin_take_id(call, 1, &id))
        return NULL;
    struct standin_paper *paper = standin_paper_find(&call->state->papers, id, &err);
    if (paper && may(call, paper, right))
        return paper;
    if (paper)
        oneib_fail(&err, ONEIB_ERROR_PERMISSION,
                   "User [%d] : Not authorized to perform %s DOCUMENT [%u].", call->user->id,
                   right == USE ? "USE" : "MANAGE", id);
    *answer = standin_refuse_error(call, id, &err);
    return NULL;
}

xmlrpc_value *standin_paper_info(struct standin_call *call)
{
    xmlrpc_value *answer;
    const struct standin_paper *paper = take_paper(call, USE, &answer);
    struct oneib_text text = {0};
    struct oneib_error err;
    if (!paper)
        return answer;
    if (call->state->fault == FAULT_NO_DOCUMENTS) {
        oneib_fail(&err, ONEIB_ERROR_INPUT, "Cannot read it.");
        return standin_refuse_error(call, paper->id, &err);
    }
    standin_paper_render(paper, &text);
    return standin_answer_text(call, &text);
}

/* -1: the caller's and its groups', which the group may use; -2: all that it may; an id: that
 * user's, of these. */
static bool is_listed(const struct standin_call *call, const struct standin_paper *paper,
                      int filter, int type)
{
    if (paper->gone || paper->type != (uint32_t)type)
        return false;
    if (filter == -2 || filter >= 0)
        return (filter < 0 || paper->uid == filter) && may(call, paper, USE);
    return paper->uid == call->user->id ||
           (paper->gid == call->user->group && paper->rights[OF_GROUP + USE]);
}

xmlrpc_value *standin_paper_pool(struct standin_call *call)
{
    int filter, first, last, type;
    struct oneib_text text = {0};
    if (!standin_take_int(call, 1, &filter) || !standin_take_int(call, 2, &first) ||
        !standin_take_int(call, 3, &last) || !standin_take_int(call, 4, &type))
        return NULL;
    const struct standin_papers *papers = &call->state->papers;
    oneib_text_append(&text, "<DOCUMENT_POOL>");
    for (size_t i = papers->count; i-- > 0;)
        if (is_listed(call, papers->items[i], filter, type))
            standin_paper_render(papers->items[i], &text);
    oneib_text_append(&text, "</DOCUMENT_POOL>");
    return standin_answer_text(call, &text);
}

xmlrpc_value *standin_paper_allocate(struct standin_call *call)
{
    oneib_autofree char *template = NULL;
    int type;
    uint32_t id = 0;
    if (!standin_take_string(call, 1, &template) || !standin_take_int(call, 2, &type))
        return NULL;
    struct oneib_error err = {0};
    if (standin_paper_make(&call->state->papers, (uint32_t)type, call->user->id, call->user->group,
                           template, &id, &err) < 0)
        return standin_refuse_error(call, id, &err);
    return standin_answer_id(call, id);
}

xmlrpc_value *standin_paper_update(struct standin_call *call)
{
    oneib_autofree char *template = NULL;
    int append;
    xmlrpc_value *answer;
    struct standin_paper *paper = take_paper(call, MANAGE, &answer);
    if (!paper)
        return answer;
    if (!standin_take_string(call, 2, &template) || !standin_take_int(call, 3, &append))
        return NULL;
    struct oneib_error err = {0};
    if (standin_paper_write(paper, template, append != 0, &err) < 0)
        return standin_refuse_error(call, paper->id, &err);
    standin_event_call(call->state,
                       &(struct standin_call_event){
                           .call = "one.document.update",
                           .in = {standin_number(paper->id).text, template, append ? "1" : "0"},
                           .id = paper->id});
    return standin_answer_id(call, paper->id);
}

/* -1 leaves a right as it is. */
xmlrpc_value *standin_paper_chmod(struct standin_call *call)
{
    xmlrpc_value *answer;
    struct standin_paper *paper = take_paper(call, MANAGE, &answer);
    int rights[9];
    if (!paper)
        return answer;
    for (unsigned i = 0; i < 9; i++)
        if (!standin_take_int(call, 2 + i, &rights[i]))
            return NULL;
    for (unsigned i = 0; i < 9; i++)
        if (rights[i] >= 0)
            paper->rights[i] = rights[i] != 0;
    return standin_answer_id(call, paper->id);
}

xmlrpc_value *standin_paper_chown(struct standin_call *call)
{
    xmlrpc_value *answer;
    struct standin_paper *paper = take_paper(call, MANAGE, &answer);
    int uid, gid;
    if (!paper)
        return answer;
    if (!standin_take_int(call, 2, &uid) || !standin_take_int(call, 3, &gid))
        return NULL;
    if (uid >= 0)
        paper->uid = uid;
    if (gid >= 0)
        paper->gid = gid;
    return standin_answer_id(call, paper->id);
}

xmlrpc_value *standin_paper_delete(struct standin_call *call)
{
    xmlrpc_value *answer;
    struct standin_paper *paper = take_paper(call, MANAGE, &answer);
    if (!paper)
        return answer;
    paper->gone = true;
    return standin_answer_id(call, paper->id);
}

/* Test and set, as oneib asks for it; whatever the level. */
xmlrpc_value *standin_paper_lock(struct standin_call *call)
{
    xmlrpc_value *answer;
    struct standin_paper *paper = take_paper(call, MANAGE, &answer);
    struct oneib_error err;
    if (!paper)
        return answer;
    if (paper->locked) {
        oneib_fail(&err, ONEIB_ERROR_REFUSED, "1795223384"); /* since when, oned says */
        return standin_refuse_error(call, paper->id, &err);
    }
    paper->locked = true;
    return standin_answer_id(call, paper->id);
}

xmlrpc_value *standin_paper_unlock(struct standin_call *call)
{
    xmlrpc_value *answer;
    struct standin_paper *paper = take_paper(call, MANAGE, &answer);
    if (!paper)
        return answer;
    paper->locked = false;
    return standin_answer_id(call, paper->id);
}
