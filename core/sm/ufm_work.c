// SPDX-License-Identifier: Apache-2.0
#include "sm/ufm_work.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <inttypes.h>
#include <stdio.h>

#define PATH_SIZE 64

static int ask(const struct oneib_ufm_link *link, const char *method, const char *path,
               const char *body, struct oneib_ufm_reply *reply, struct oneib_error *err)
{
    const struct oneib_ufm_call call = {method, path, body};
    *reply = (struct oneib_ufm_reply){0};
    return link->ask(link->context, &call, reply, err);
}

int oneib_ufm_read(const struct oneib_ufm_link *link, struct oneib_ufm_range range,
                   struct oneib_partition_table *table, struct oneib_ufm_default *management,
                   struct oneib_error *err)
{
    oneib_autoreply struct oneib_ufm_reply reply = {0};
    if (ask(link, "GET", "/resources/pkeys?guids_data=true", NULL, &reply, err) < 0)
        return -1;
    return reply.status == 200
               ? oneib_ufm_read_all(reply.data, reply.length, range, table, management, err)
               : oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                            "UFM answers %ld when it is asked for all P_Keys", reply.status);
}

/* What UFM has of a key now; *is_there false: nothing. */
static int read_key(const struct oneib_ufm_link *link, oneib_pkey pkey,
                    struct oneib_partition *partition, bool *is_there, struct oneib_error *err)
{
    char path[PATH_SIZE];
    oneib_autoreply struct oneib_ufm_reply reply = {0};
    snprintf(path, sizeof path, "/resources/pkeys/0x%x?guids_data=true", pkey);
    *partition = (struct oneib_partition){0};
    if (ask(link, "GET", path, NULL, &reply, err) < 0)
        return -1;
    return oneib_ufm_read_one(reply.data, reply.length, reply.status, pkey, partition, is_there,
                              err);
}

/* Against a key that UFM has now. */
static int compare_now(const struct oneib_ufm_link *link, oneib_pkey pkey,
                       const struct oneib_partition *meant, struct oneib_partition *now,
                       struct oneib_ufm_difference *difference, struct oneib_error *err)
{
    bool is_there;
    if (read_key(link, pkey, now, &is_there, err) < 0)
        return -1;
    *difference = oneib_ufm_compare(meant, is_there ? now : NULL);
    return 0;
}

static int check_that_nobody_else_changed(const struct oneib_ufm_link *link,
                                          const struct oneib_ufm_request *request,
                                          struct oneib_error *err)
{
    oneib_auto(oneib_ufm_partition_clear) struct oneib_partition now;
    struct oneib_ufm_difference difference;
    if (compare_now(link, request->pkey, request->seen, &now, &difference, err) < 0)
        return -1;
    if (!oneib_ufm_differs(&difference))
        return 0;
    return oneib_fail(
        err, ONEIB_ERROR_REFUSED,
        "P_Key 0x%04x was changed in UFM since it was read: see 'oneib plan' and try again",
        request->pkey);
}

/* ---- sending --------------------------------------------------------------------------------- */

static int send(const struct oneib_ufm_link *link, const struct oneib_ufm_request *request,
                struct oneib_ufm_reply *reply, struct oneib_error *err)
{
    char path[PATH_SIZE];
    if (!request->wanted) {
        snprintf(path, sizeof path, "/resources/pkeys/0x%x", request->pkey);
        return ask(link, "DELETE", path, NULL, reply, err);
    }
    oneib_autotext struct oneib_text body = {0};
    oneib_ufm_render_put(request->wanted, &body);
    *reply = (struct oneib_ufm_reply){0};
    return ask(link, "PUT", "/resources/pkeys/", body.data, reply, err);
}

static bool is_done(const struct oneib_ufm_reply *reply)
{
    return reply->status >= 200 && reply->status < 300;
}

/* What UFM said, or that it said nothing: the reason when it has not done what it was asked for. */
static void note_reply(const struct oneib_ufm_request *request, int sent,
                       const struct oneib_ufm_reply *reply, struct oneib_error *why)
{
    if (sent < 0 || is_done(reply))
        return;
    oneib_fail(why, ONEIB_ERROR_UNREACHABLE, "UFM answers %ld when P_Key 0x%04x is to be %s",
               reply->status, request->pkey, request->wanted ? "set" : "deleted");
}

/* ---- who has too much ------------------------------------------------------------------------ */

static const struct oneib_member *find_member(const struct oneib_partition *partition,
                                              oneib_guid guid)
{
    for (size_t i = 0; partition && i < partition->member_count; i++)
        if (partition->members[i].guid == guid)
            return &partition->members[i];
    return NULL;
}

static bool exceeds(const struct oneib_partition *partition, const struct oneib_member *now)
{
    const struct oneib_member *member = find_member(partition, now->guid);
    return !member || (member->membership != ONEIB_FULL && now->membership == ONEIB_FULL);
}

/* More than is meant, and more than before: this request has done that. Whoever had it before is
 * still there because nothing was done. */
static bool has_too_much(const struct oneib_ufm_request *request, const struct oneib_member *now)
{
    return exceeds(request->wanted, now) && exceeds(request->seen, now);
}

static size_t count_too_much(const struct oneib_ufm_request *request,
                             const struct oneib_partition *now)
{
    size_t count = 0;
    for (size_t i = 0; i < now->member_count; i++)
        count += has_too_much(request, &now->members[i]);
    return count;
}

/* Out of the key: one who is narrower than meant reaches too few, and nobody too many. */
static int take_out(const struct oneib_ufm_link *link, const struct oneib_ufm_request *request,
                    const struct oneib_partition *now, struct oneib_error *err)
{
    oneib_autoreply struct oneib_ufm_reply reply = {0};
    size_t count = 0;
    oneib_autotext struct oneib_text path = {0};
    oneib_text_printf(&path, "/resources/pkeys/0x%x/guids/", request->pkey);
    for (size_t i = 0; i < now->member_count; i++)
        if (has_too_much(request, &now->members[i]))
            oneib_text_printf(&path, "%s%016" PRIx64, count++ > 0 ? "," : "", now->members[i].guid);
    if (ask(link, "DELETE", path.data, NULL, &reply, err) < 0)
        return -1;
    return is_done(&reply)
               ? 0
               : oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "UFM answers %ld", reply.status);
}

/* Always -1. */
static int fail_wide(const struct oneib_ufm_link *link, const struct oneib_ufm_request *request,
                     const struct oneib_partition *now, size_t count, struct oneib_error *err)
{
    struct oneib_error failure;
    if (take_out(link, request, now, &failure) < 0)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "UFM has %zu members in P_Key 0x%04x that are not meant, or full and "
                          "meant to be limited, and they could not be taken out: %s",
                          count, request->pkey, failure.text);
    return oneib_fail(
        err, ONEIB_ERROR_PROTOCOL,
        "UFM had %zu members in P_Key 0x%04x that are not meant, or full and meant to "
        "be limited; they were taken out: does this release ignore memberships?",
        count, request->pkey);
}

/* ---- one after the other --------------------------------------------------------------------- */

static int fail_undone(const struct oneib_ufm_request *request, const struct oneib_error *why,
                       struct oneib_error *err)
{
    if (why->code == ONEIB_ERROR_NONE)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "UFM says that it has set P_Key 0x%04x, and it has not", request->pkey);
    *err = *why;
    return -1;
}

/* The result is what UFM has; `why`: what it said. */
static int prove(const struct oneib_ufm_link *link, const struct oneib_ufm_request *request,
                 const struct oneib_error *why, struct oneib_error *err)
{
    oneib_auto(oneib_ufm_partition_clear) struct oneib_partition now;
    struct oneib_ufm_difference difference;
    if (compare_now(link, request->pkey, request->wanted, &now, &difference, err) < 0)
        return oneib_wrap(err, "P_Key 0x%04x was changed in UFM, and cannot be read back",
                          request->pkey);
    const size_t too_much = count_too_much(request, &now);
    if (too_much > 0)
        return fail_wide(link, request, &now, too_much, err);
    return oneib_ufm_differs(&difference) ? fail_undone(request, why, err) : 0;
}

static int do_one(const struct oneib_ufm_link *link, const struct oneib_ufm_request *request,
                  struct oneib_error *err)
{
    oneib_autoreply struct oneib_ufm_reply reply = {0};
    struct oneib_error why = {0};
    if (check_that_nobody_else_changed(link, request, err) < 0)
        return -1;
    const int sent = send(link, request, &reply, &why);
    note_reply(request, sent, &reply, &why);
    return prove(link, request, &why, err);
}

int oneib_ufm_work(const struct oneib_ufm_link *link, const struct oneib_ufm_plan *plan,
                   size_t *done, struct oneib_error *err)
{
    for (*done = 0; *done < plan->count; ++*done)
        if (do_one(link, &plan->items[*done], err) < 0)
            return -1;
    return 0;
}
