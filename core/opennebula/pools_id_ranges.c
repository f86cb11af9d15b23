// SPDX-License-Identifier: Apache-2.0
/*
 * Pools by spans of ids. oned does not escape what users write, so one of them can make the whole
 * answer malformed, or larger than what is read of one. It is halved then, until single ids are
 * left: those are asked for by themselves, and everybody else has been read.
 */
#include "base/cleanup.h"
#include "opennebula/documents_internal.h"
#include "opennebula/pools_internal.h"
#include <inttypes.h>
#include <stdlib.h>

/* After as many spans it is asked whether it may be oned, or something in between, that is at
 * fault. Malformed objects with ids in a row cost two each, a lonely one some log2 of its span. */
#define SUSPICIOUS_SPANS 4096
/* No object's: ids are given in the order of creation. */
#define NOBODYS_ID ONEIB_ID_MAX

/* A kind of objects whose pool is read by spans. */
struct pool {
    const char *name;
    int (*fetch)(struct oneib_one *one, int64_t first, int64_t last, char **xml, size_t *length,
                 struct oneib_error *err);
    int (*read)(struct oneib_documents *documents, const char *xml, size_t length,
                struct oneib_error *err);
    struct oneib_id_set *alone; /* gets the ids that are to be asked for by themselves */
    /* Is the highest id that an open span shows, from index `from` on, somebody's? NULL: no matter.
     */
    int (*confirm)(struct oneib_pools *pools, size_t from, bool *confirmed,
                   struct oneib_error *err);
};

void oneib_pools_want_vms(struct oneib_documents *documents, int64_t first, int64_t last)
{
    documents->vms_wanted.bounded = true;
    documents->vms_wanted.first = (uint32_t)first;
    documents->vms_wanted.last = last < 0 ? ONEIB_ID_MAX : (uint32_t)last;
}

/* last -1: open end. *malformed: nothing of it was kept, for what users may have written. */
static int try_id_range(struct oneib_pools *pools, const struct pool *pool, int64_t first,
                        int64_t last, bool *malformed, struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    size_t length;
    *malformed = false;
    if (pool->fetch(pools->one, first, last, &xml, &length, err) < 0) {
        *malformed = err->code == ONEIB_ERROR_TOO_LARGE;
        return -1;
    }
    oneib_pools_want_vms(&pools->documents, first, last);
    int outcome = pool->read(&pools->documents, xml, length, err);
    *malformed = outcome < 0 && pools->documents.malformed;
    return outcome;
}

/* Not where even an answer about nobody is malformed. */
static bool may_be_users_doing(struct oneib_pools *pools, const struct pool *pool)
{
    struct oneib_error ignored = {0};
    bool malformed;
    if (++pools->malformed_id_ranges % SUSPICIOUS_SPANS != 0)
        return true;
    try_id_range(pools, pool, NOBODYS_ID, NOBODYS_ID, &malformed, &ignored);
    return !malformed;
}

/* As try_span(), where malformed is no failure unless it is oned's. */
static int read_id_range(struct oneib_pools *pools, const struct pool *pool, int64_t first,
                         int64_t last, bool *malformed, struct oneib_error *err)
{
    struct oneib_error why = {0};
    if (try_id_range(pools, pool, first, last, malformed, &why) == 0)
        return 0;
    if (*malformed && may_be_users_doing(pools, pool))
        return 0;
    *err = why;
    return oneib_wrap(err, "reading %s from %" PRId64 " on", pool->name, first);
}

/* At most as deep as an id has bits. */
static int read_bounded(struct oneib_pools *pools, const struct pool *pool, int64_t first,
                        int64_t last, struct oneib_error *err)
{
    bool malformed;
    if (read_id_range(pools, pool, first, last, &malformed, err) < 0)
        return -1;
    if (!malformed)
        return 0;
    if (first == last) {
        oneib_id_set_add(pool->alone, (uint32_t)first);
        return 0;
    }
    const int64_t middle = first + (last - first) / 2;
    return read_bounded(pools, pool, first, middle, err) < 0 ||
                   read_bounded(pools, pool, middle + 1, last, err) < 0
               ? -1
               : 0;
}

/*
 * Where all ids may be shown, a VM that a user made up can have any. One that is nobody's is found
 * out here, so that new VMs are not looked for behind it.
 */
static int confirm_highest_vm(struct oneib_pools *pools, size_t from, bool *confirmed,
                              struct oneib_error *err)
{
    const struct oneib_id_set *seen = &pools->documents.vms_seen;
    oneib_autofree char *xml = NULL;
    size_t length;
    struct oneib_error refusal = {0};
    uint32_t highest = 0;
    *confirmed = true;
    for (size_t i = from; i < seen->count; i++)
        if (seen->items[i] > highest)
            highest = seen->items[i];
    if (seen->count == from)
        return 0;
    if (oneib_one_vm(pools->one, highest, &xml, &length, &refusal) == 0) {
        if (highest >= pools->vm_end)
            pools->vm_end = highest + 1;
        return 0;
    }
    *confirmed = false;
    if (refusal.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    *err = refusal;
    return -1;
}

/* As read_span(); malformed as well when it shows somebody who is not there. */
static int read_open_id_range(struct oneib_pools *pools, const struct pool *pool, int64_t first,
                              bool *malformed, struct oneib_error *err)
{
    const struct oneib_documents_mark mark = oneib_documents_mark(&pools->documents);
    bool confirmed = true;
    if (read_id_range(pools, pool, first, -1, malformed, err) < 0)
        return -1;
    if (*malformed || !pool->confirm)
        return 0;
    if (pool->confirm(pools, mark.seen, &confirmed, err) < 0)
        return -1;
    *malformed = !confirmed;
    if (!confirmed)
        oneib_documents_take_back(&pools->documents, &mark);
    return 0;
}

/* While all of it is malformed, a bounded span is split off, each time one of twice the width: what
 * is behind the last malformed object is open again, and well-formed. */
static int read_open(struct oneib_pools *pools, const struct pool *pool, int64_t first,
                     struct oneib_error *err)
{
    int64_t width = pools->options->window > 0 ? pools->options->window : 1;
    while (first <= ONEIB_ID_MAX) {
        bool malformed;
        if (read_open_id_range(pools, pool, first, &malformed, err) < 0)
            return -1;
        if (!malformed)
            return 0;
        const int64_t end =
            first + width <= ONEIB_ID_MAX ? first + width : ONEIB_ID_MAX + INT64_C(1);
        if (read_bounded(pools, pool, first, end - 1, err) < 0)
            return -1;
        first = end;
        width *= 2;
    }
    return 0;
}

int oneib_pools_read_window(struct oneib_pools *pools, int64_t first, int64_t last,
                            struct oneib_error *err)
{
    const struct pool vms = {"VMs", oneib_one_vm_window, oneib_documents_read_vms,
                             &pools->vms_alone, confirm_highest_vm};
    int outcome =
        last < 0 ? read_open(pools, &vms, first, err) : read_bounded(pools, &vms, first, last, err);
    if (outcome < 0)
        return -1;
    oneib_pools_report_progress(pools);
    oneib_id_set_join(&pools->vms_stored_odd, &pools->vms_alone);
    oneib_id_set_join(&pools->vms_stored_odd, &pools->documents.vms_odd);
    return 0;
}

/*
 * The pool says which networks there are. What it says of them is not believed: the owner of one
 * can write further ones behind it, which look as if oned had written them. Each is asked for by
 * itself.
 */
int oneib_pools_read_networks(struct oneib_pools *pools, struct oneib_error *err)
{
    const struct pool networks = {"networks", oneib_one_network_window,
                                  oneib_documents_list_networks, &pools->documents.networks_listed,
                                  NULL};
    oneib_autoids struct oneib_id_set listed = {0};
    bool asked = false;
    if (read_open(pools, &networks, 0, err) < 0)
        return -1;
    listed = pools->documents.networks_listed;
    pools->documents.networks_listed = (struct oneib_id_set){0};
    return oneib_pools_ask_networks(pools, &listed, &asked, err);
}
