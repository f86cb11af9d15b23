// SPDX-License-Identifier: Apache-2.0
/*
 * UFM as the subnet manager: kind `ufm`. What it has is kept between two looks, and asked for anew
 * when it says that something was changed, when it is doubted, and after whatever went wrong.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "sm/sm_internal.h"
#include "sm/ufm_record.h"
#include "sm/ufm_site.h"
#include "sm/ufm_work.h"
#include "ufm/ufm_client.h"
#include <stdlib.h>
#include <string.h>

#define STAMP_SIZE 256

/* UFM's last_updated: text that nobody can rely on but for being the same or another. */
struct stamp {
    bool is_known; /* there are releases without it */
    char text[STAMP_SIZE];
};

struct oneib_ufm {
    struct oneib_ufm_client *client; /* NULL: the link is somebody else's */
    struct oneib_ufm_link link;
    bool is_known; /* table, site and stamp are as UFM had them, and nothing says otherwise */
    struct oneib_partition_table table; /* owned; sorted, with the names of the record */
    struct oneib_ufm_record record;     /* owned */
    struct oneib_ufm_site site;         /* owned */
    struct stamp stamp;
    double asked_at;           /* for the stamp, oneib_now_ms() */
    bool has_news;             /* since somebody looked */
    struct oneib_error closed; /* why nobody may be added to a partition; NONE: everybody may */
};

static const char *place(const struct oneib_sm *sm)
{
    return sm->config->ufm.url;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const enum oneib_ufm_auth auth_of[] = {
    [ONEIB_CONFIG_UFM_BASIC] = ONEIB_UFM_BASIC,
    [ONEIB_CONFIG_UFM_TOKEN] = ONEIB_UFM_TOKEN,
    [ONEIB_CONFIG_UFM_CERTIFICATE] = ONEIB_UFM_CERTIFICATE,
};

static int open_client(struct oneib_ufm *ufm, const struct oneib_config *config,
                       struct oneib_error *err)
{
    const struct oneib_ufm_access access = {
        .url = config->ufm.url,
        .ca = config->ufm.ca,
        .auth = auth_of[config->ufm.auth],
        .secret = config->ufm.secret,
        .certificate = config->ufm.certificate,
        .timeout_ms = config->ufm.timeout_ms,
    };
    ufm->client = oneib_ufm_client_open(&access, err);
    if (!ufm->client)
        return -1;
    ufm->link = oneib_ufm_client_link(ufm->client);
    return 0;
}

int oneib_ufm_open(struct oneib_sm *sm, const struct oneib_ufm_link *link, struct oneib_error *err)
{
    sm->ufm = oneib_alloc(1, sizeof *sm->ufm);
    if (!link)
        return open_client(sm->ufm, sm->config, err);
    sm->ufm->link = *link;
    return 0;
}

static void close_ufm(struct oneib_sm *sm)
{
    struct oneib_ufm *ufm = sm->ufm;
    if (!ufm)
        return;
    oneib_partition_table_clear(&ufm->table);
    oneib_ufm_record_clear(&ufm->record);
    oneib_ufm_site_clear(&ufm->site);
    oneib_ufm_client_close(ufm->client);
    free(ufm);
}

/* ---- what somebody else has changed ---------------------------------------------------------- */

static int read_stamp(struct oneib_ufm *ufm, struct stamp *stamp, struct oneib_error *err)
{
    static const struct oneib_ufm_call call = {"GET", "/resources/pkeys/last_updated", NULL};
    oneib_autoreply struct oneib_ufm_reply reply = {0};
    *stamp = (struct stamp){0};
    if (ufm->link.ask(ufm->link.context, &call, &reply, err) < 0)
        return -1;
    if (reply.status == 200 && reply.length < sizeof stamp->text) {
        stamp->is_known = true;
        memcpy(stamp->text, reply.data, reply.length);
    }
    const long status = reply.status;
    if (status == 200 || status == 404)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                      "UFM answers %ld when it is asked when P_Keys were changed", status);
}

static bool says_the_same(const struct stamp *a, const struct stamp *b)
{
    return a->is_known == b->is_known && memcmp(a->text, b->text, sizeof a->text) == 0;
}

static void doubt(struct oneib_sm *sm)
{
    sm->ufm->is_known = false;
}

/* An answer is good until the next poll, and news until somebody has looked: who asks twice in a
 * turn is not told that there is none, though UFM went away meanwhile. One that cannot be asked is
 * news once; when it answers again it is asked for everything. */
static bool has_news(struct oneib_sm *sm)
{
    struct oneib_ufm *ufm = sm->ufm;
    struct stamp now;
    struct oneib_error ignored;
    if (ufm->has_news ||
        oneib_now_ms() < ufm->asked_at + (double)sm->config->daemon.poll_preparing_ms / 2)
        return ufm->has_news;
    const bool answers = read_stamp(ufm, &now, &ignored) == 0;
    ufm->asked_at = oneib_now_ms();
    ufm->has_news = ufm->is_known ? !answers || !says_the_same(&now, &ufm->stamp) : answers;
    if (ufm->has_news)
        doubt(sm);
    return ufm->has_news;
}

/* ---- looking --------------------------------------------------------------------------------- */

static struct oneib_ufm_range range_of(const struct oneib_config *config)
{
    return (struct oneib_ufm_range){config->pkeys.first, config->pkeys.last};
}

/* The stamp first: what is changed meanwhile is then asked for once too often. */
static int ask_for_everything(struct oneib_sm *sm, struct oneib_error *err)
{
    struct oneib_ufm *ufm = sm->ufm;
    struct stamp stamp;
    if (oneib_ufm_site_read(&ufm->link, sm->config, &ufm->site, err) < 0 ||
        read_stamp(ufm, &stamp, err) < 0 ||
        oneib_ufm_read(&ufm->link, range_of(sm->config), &ufm->table, &ufm->site.management, err) <
            0)
        return -1;
    ufm->stamp = stamp;
    ufm->asked_at = oneib_now_ms();
    ufm->is_known = true;
    return 0;
}

static void copy_table(const struct oneib_partition_table *from, struct oneib_partition_table *to)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct oneib_partition *source = &from->items[i];
        oneib_partition_add_members(oneib_partition_table_add_like(to, source), source->members,
                                    source->member_count);
    }
}

/* UFM knows no names: a partition has the one that oneib gave it, in the record. Keys that are there
 * before oneib ever was are somebody's. */
static int look(struct oneib_sm *sm, struct oneib_seen *seen, struct oneib_error *err)
{
    struct oneib_ufm *ufm = sm->ufm;
    ufm->has_news = false;
    if (!ufm->is_known && ask_for_everything(sm, err) < 0)
        return oneib_wrap(err, "reading UFM's partitions");
    if (oneib_ufm_record_read(&ufm->record, sm->config->ufm.record, err) < 0)
        return -1;
    oneib_ufm_record_name(&ufm->record, &ufm->table);
    copy_table(&ufm->table, &seen->table);
    seen->state =
        ufm->record.is_there || seen->table.count == 0 ? ONEIB_SEEN_OURS : ONEIB_SEEN_FOREIGN;
    return 0;
}

static int refuse(const struct oneib_sm *sm, const struct oneib_seen *seen, struct oneib_error *err)
{
    const struct oneib_config *config = sm->config;
    size_t count = 0;
    oneib_pkey first = 0;
    for (size_t i = seen->table.count; i-- > 0;) {
        if (seen->table.items[i].pkey == ONEIB_PKEY_DEFAULT)
            continue;
        first = seen->table.items[i].pkey;
        count++;
    }
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "UFM (%s) has %zu P_Keys from pkeys.first to pkeys.last (0x%04x to 0x%04x) "
                      "that oneib has not put there, 0x%04x for one: look at 'oneib plan', give "
                      "oneib a range of its own, or take them over with 'oneib sync --force'",
                      config->ufm.url, count, config->pkeys.first, config->pkeys.last, first);
}

static struct oneib_sm_limits limits(const struct oneib_sm *sm)
{
    return (struct oneib_sm_limits){.only_range = true,
                                    .no_limited = !sm->ufm->site.abilities.memberships};
}

/* ---- what is left to UFM --------------------------------------------------------------------- */

/* Of a partition's head UFM is given the key, ipoib and indx0. */
static void leave_head(struct oneib_partition *partition)
{
    struct oneib_partition left = {.pkey = partition->pkey,
                                   .indx0 = partition->indx0,
                                   .ipoib = partition->ipoib,
                                   .members = partition->members,
                                   .member_count = partition->member_count,
                                   .member_capacity = partition->member_capacity};
    memcpy(left.name, partition->name, sizeof left.name);
    *partition = left;
}

/* What nobody has put there is shown before it is taken over. */
static void render_seen(struct oneib_seen *seen)
{
    struct oneib_text text = {0};
    oneib_partitions_render(&seen->table, &text);
    free(seen->data);
    seen->data = text.data;
    seen->length = text.length;
}

/* Members of an operator's partition have an order, and in UFM they have none. */
static void settle(struct oneib_sm *sm, struct oneib_seen *seen,
                   struct oneib_partition_table *wanted, struct oneib_findings *findings)
{
    struct oneib_ufm *ufm = sm->ufm;
    struct oneib_partition *own = NULL;
    for (size_t i = 0; i < wanted->count; i++) {
        if (wanted->items[i].pkey == ONEIB_PKEY_DEFAULT) {
            own = &wanted->items[i];
        } else {
            leave_head(&wanted->items[i]);
            oneib_partition_sort_members(&wanted->items[i]);
        }
    }
    oneib_ufm_site_judge(&ufm->site, sm->config, own, findings, &ufm->closed);
    if (own) {
        const struct oneib_partition_table one = {.items = own, .count = 1};
        copy_table(&one, &seen->table);
        oneib_partition_table_sort(&seen->table);
    }
    if (seen->state == ONEIB_SEEN_FOREIGN)
        render_seen(seen);
}

/* The default partition, which is left to UFM, is the first. */
static bool is_put(const struct oneib_sm *sm, const struct oneib_seen *seen,
                   const struct oneib_sm_put *what)
{
    const struct oneib_partition_table *wanted = what->wanted;
    const size_t left = wanted->count > 0 && wanted->items[0].pkey == ONEIB_PKEY_DEFAULT;
    const struct oneib_partition_table given = {.items = wanted->items + left,
                                                .count = wanted->count - left};
    (void)seen;
    return oneib_partition_table_equal(&given, &sm->ufm->table);
}

/* ---- putting --------------------------------------------------------------------------------- */

static bool may_stay(const struct oneib_partition *seen, const struct oneib_member *member)
{
    for (size_t i = 0; seen && i < seen->member_count; i++)
        if (seen->members[i].guid == member->guid)
            return seen->members[i].membership >= member->membership;
    return false;
}

/* Nobody is in `wanted` any more who is not seen, or who is seen as less. */
static void keep_what_is_there(struct oneib_partition_table *wanted,
                               const struct oneib_partition_table *seen, bool *left_out)
{
    size_t partitions = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        struct oneib_partition *partition = &wanted->items[i];
        const struct oneib_partition *there = oneib_partition_table_find(seen, partition->pkey);
        size_t members = 0;
        for (size_t j = 0; j < partition->member_count; j++)
            if (may_stay(there, &partition->members[j]))
                partition->members[members++] = partition->members[j];
        *left_out |= members < partition->member_count;
        partition->member_count = members;
        if (members == 0)
            oneib_ufm_partition_clear(partition);
        else
            wanted->items[partitions++] = *partition;
    }
    wanted->count = partitions;
}

/* What UFM is to have, and whether that is all that was wanted. */
struct change {
    struct oneib_ufm_wanted meant;
    bool is_less;
};

static int prepare(const struct oneib_sm *sm, const struct oneib_partition_table *wanted,
                   struct change *change, struct oneib_error *err)
{
    const struct oneib_ufm *ufm = sm->ufm;
    oneib_ufm_want(wanted, range_of(sm->config), ufm->site.abilities, &change->meant);
    if (change->meant.refused_count > 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "P_Key 0x%04x is not for this UFM, and was to be put there: nothing is "
                          "changed; please report this with the output of 'oneib plan --json'",
                          change->meant.refused[0].pkey);
    if (ufm->closed.code != ONEIB_ERROR_NONE)
        keep_what_is_there(&change->meant.table, &ufm->table, &change->is_less);
    return 0;
}

/* Names first as they are, then, once it is done, as they are to be. */
static int carry_out(struct oneib_sm *sm, const struct oneib_partition_table *meant,
                     struct oneib_error *err)
{
    struct oneib_ufm *ufm = sm->ufm;
    const char *record = sm->config->ufm.record;
    oneib_auto(oneib_ufm_plan_clear) struct oneib_ufm_plan plan;
    size_t done;
    oneib_ufm_plan(meant, &ufm->table, &plan);
    if (oneib_ufm_record_write(&ufm->record, record, &ufm->table, meant, err) < 0 ||
        oneib_ufm_work(&ufm->link, &plan, &done, err) < 0)
        return -1;
    return oneib_ufm_record_write(&ufm->record, record, meant, NULL, err);
}

/* What UFM has now was read back key by key: it need not be asked for everything again. */
static void keep(struct oneib_ufm *ufm, struct oneib_partition_table *table)
{
    struct oneib_error ignored;
    oneib_partition_table_clear(&ufm->table);
    ufm->table = *table;
    *table = (struct oneib_partition_table){0};
    ufm->is_known = read_stamp(ufm, &ufm->stamp, &ignored) == 0;
    ufm->asked_at = oneib_now_ms();
}

/* The table is what was seen, or what was put there since. Where nobody may be added, those who
 * have to go go all the same. */
static int put(struct oneib_sm *sm, const struct oneib_sm_put *what, struct oneib_seen *seen,
               unsigned *nudges, struct oneib_error *err)
{
    struct change change = {0};
    (void)seen;
    (void)nudges; /* UFM does what it is told when it is told */
    int status = prepare(sm, what->wanted, &change, err);
    if (status == 0)
        status = carry_out(sm, &change.meant.table, err);
    if (status == 0)
        keep(sm->ufm, &change.meant.table);
    else
        doubt(sm);
    oneib_ufm_wanted_clear(&change.meant);
    if (status == 0 && change.is_less) {
        *err = sm->ufm->closed;
        status = -1;
    }
    return status < 0 ? oneib_wrap(err, "changing partitions in UFM (%s)", place(sm)) : 0;
}

static int ask_vports(struct oneib_sm *sm, struct oneib_said_vports *said, struct oneib_error *err)
{
    static const struct oneib_ufm_call call = {"GET", "/resources/vports", NULL};
    const struct oneib_ufm_link *link = &sm->ufm->link;
    oneib_autoreply struct oneib_ufm_reply reply = {0};
    if (link->ask(link->context, &call, &reply, err) < 0)
        return -1;
    return oneib_ufm_read_vports(reply.data, reply.length, reply.status, said, err);
}

/* Whichever UFM it is that answers under that name, the fabric follows it: it always leads. */
const struct oneib_sm_way oneib_sm_ufm = {.close = close_ufm,
                                          .doubt = doubt,
                                          .limits = limits,
                                          .settle = settle,
                                          .look = look,
                                          .has_news = has_news,
                                          .is_put = is_put,
                                          .put = put,
                                          .refuse = refuse,
                                          .ask_vports = ask_vports,
                                          .place = place};
