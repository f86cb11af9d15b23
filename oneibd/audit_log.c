// SPDX-License-Identifier: Apache-2.0
#include "oneibd/audit_log.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/order.h"
#include <stdlib.h>

/* ---- members whose change is deferred --------------------------------------------------------- */

/* Of a cluster. The default partition comes first, and all others by key. */
static const struct oneib_partition *partition_of(const struct oneib_partition_table *table,
                                                  oneib_pkey pkey)
{
    const size_t first = ONEIB_LOWER_BOUND(
        i, table->count, table->items[i].pkey == ONEIB_PKEY_DEFAULT || table->items[i].pkey < pkey);
    return first < table->count && table->items[first].pkey == pkey ? &table->items[first] : NULL;
}

static bool is_written(const struct oneib_partition_table *written,
                       const struct oneib_member_list_line *line)
{
    const struct oneib_member wanted = {.guid = line->member, .kind = ONEIB_MEMBER_GUID};
    const struct oneib_partition *partition = partition_of(written, line->pkey);
    return partition &&
           ONEIB_FIND(&wanted, partition->members, partition->member_count, oneib_member_compare);
}

/* An entry of a port's table. */
struct entry {
    oneib_guid member;
    oneib_pkey pkey;
};

ONEIB_ORDER_BY(compare_entries, struct entry, member, pkey);

struct entries {
    struct entry *items; /* owned; sorted */
    size_t count;
};

static bool has_entry(const struct oneib_member_list_line *line)
{
    return oneib_member_list_is_member(line) && line->member != 0;
}

static struct entry entry_of(const struct oneib_member_list_line *line)
{
    return (struct entry){line->member, line->pkey};
}

static void collect(const struct oneib_member_list *member_list, struct entries *entries)
{
    entries->items = oneib_alloc(member_list->count + 1, sizeof *entries->items);
    for (size_t i = 0; i < member_list->count; i++)
        if (has_entry(&member_list->lines[i]))
            entries->items[entries->count++] = entry_of(&member_list->lines[i]);
    ONEIB_SORT(entries->items, entries->count, compare_entries);
}

static bool is_anothers(const struct entries *entries, const struct oneib_member_list_line *line)
{
    const struct entry wanted = entry_of(line);
    return ONEIB_FIND(&wanted, entries->items, entries->count, compare_entries);
}

struct merge {
    const struct oneib_partition_table *written;
    struct entries now;
    struct oneib_member_list_line *lines; /* owned: the result */
    size_t count;
};

static void keep_removed(struct merge *merge, const struct oneib_member_list_line *before)
{
    if (has_entry(before) && is_written(merge->written, before) &&
        !is_anothers(&merge->now, before))
        merge->lines[merge->count++] = *before;
}

/* before: NULL when it is new. */
static void add_present(struct merge *merge, const struct oneib_member_list_line *before,
                        const struct oneib_member_list_line *now)
{
    if (!has_entry(now) || is_written(merge->written, now))
        merge->lines[merge->count++] = *now;
    else if (before)
        merge->lines[merge->count++] = *before;
}

static void merge_member_lists(struct merge *merge, const struct oneib_member_list *before,
                               const struct oneib_member_list *now)
{
    size_t i = 0, j = 0;
    while (i < before->count || j < now->count) {
        const int order = i == before->count ? 1
                          : j == now->count
                              ? -1
                              : oneib_member_list_compare(&before->lines[i], &now->lines[j]);
        if (order < 0)
            keep_removed(merge, &before->lines[i]);
        else
            add_present(merge, order == 0 ? &before->lines[i] : NULL, &now->lines[j]);
        i += order <= 0;
        j += order >= 0;
    }
}

void oneib_member_list_defer(const struct oneib_member_list *before,
                             const struct oneib_partition_table *written,
                             struct oneib_member_list *now)
{
    struct merge merge = {.written = written};
    collect(now, &merge.now);
    merge.lines = oneib_alloc(before->count + now->count + 1, sizeof *merge.lines);
    merge_member_lists(&merge, before, now);
    free(now->lines);
    now->lines = merge.lines;
    now->count = merge.count;
    free(merge.now.items);
}

/* ---- the log --------------------------------------------------------------------------------- */

static void log_event(const struct oneib_cloud *cloud, const struct oneib_member_event *item,
                      bool fresh)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_member_events_append(cloud, item, fresh, &line);
    oneib_log(item->kind == ONEIB_MEMBER_EVENT_REFUSED ? ONEIB_LOG_WARNING : ONEIB_LOG_INFO, "%s",
              line.data);
}

static void log_events(const struct oneib_cloud *cloud, const struct oneib_member_events *events,
                       bool fresh)
{
    oneib_autotext struct oneib_text remainder = {0};
    for (size_t i = 0; i < events->count; i++)
        if (events->items[i].has_line)
            log_event(cloud, &events->items[i], fresh);
    oneib_member_events_append_rest(cloud, events, &remainder);
    if (remainder.length > 0)
        oneib_log(ONEIB_LOG_INFO, "%s", remainder.data);
}

static void find_events(struct oneib_audit_log *audit_log, const struct oneib_snapshot *snapshot,
                        const struct oneib_changes *changes, struct oneib_member_list *now,
                        struct oneib_member_events *events)
{
    const struct oneib_member_events_input input = {
        .before = audit_log->begun ? &audit_log->member_list : NULL,
        .after = now,
        .cloud = &snapshot->cloud,
        .changes = changes,
        .refusals = true,
    };
    const struct oneib_member_events_evidence evidence = {
        .subnet = &snapshot->subnet,
        .cloud = &snapshot->cloud,
        .desired = &snapshot->desired,
        .begins = !audit_log->begun,
    };
    oneib_member_events_make(&input, events);
    oneib_member_events_prove(&evidence, now, &audit_log->leaving, events);
}

void oneib_audit_log_follow(struct oneib_audit_log *audit_log,
                            const struct oneib_snapshot *snapshot,
                            const struct oneib_changes *changes, bool fresh, bool are_deferred)
{
    struct oneib_member_list now;
    struct oneib_member_events events = {0};
    oneib_member_list_make(&snapshot->cloud, &snapshot->desired, &now);
    if (audit_log->begun && are_deferred)
        oneib_member_list_defer(&audit_log->member_list, &snapshot->desired.table, &now);
    find_events(audit_log, snapshot, changes, &now, &events);
    log_events(&snapshot->cloud, &events, fresh);
    oneib_member_list_clear(&audit_log->member_list);
    audit_log->member_list = now;
    audit_log->begun = true;
    oneib_member_events_clear(&events);
}

void oneib_audit_log_clear(struct oneib_audit_log *audit_log)
{
    oneib_member_list_clear(&audit_log->member_list);
    oneib_member_events_clear(&audit_log->leaving);
    *audit_log = (struct oneib_audit_log){0};
}
