// SPDX-License-Identifier: Apache-2.0
/* What the ports say of the news: no claim before it is proved. */
#include "base/array.h"
#include "model/news.h"
#include "model/port_index.h"
#include <stdlib.h>
#include <string.h>

#define KEYS 0x8000

struct work {
    const struct oneib_news_evidence *evidence;
    struct oneib_roster *roster;
    struct oneib_news *leaving, *news;
    const struct oneib_partition **partitions; /* of the table, by key */
};

/* ---- members -------------------------------------------------------------------------------- */

static enum oneib_news_proof proof_of_standing(enum oneib_standing standing)
{
    switch (standing) {
    case ONEIB_IN_FORCE:
        return ONEIB_PROOF_IN_FORCE;
    case ONEIB_PORT_ABSENT:
        return ONEIB_PROOF_ABSENT;
    case ONEIB_PORT_MUTE:
        return ONEIB_PROOF_MUTE;
    case ONEIB_KEY_LACKING:
    case ONEIB_KEY_OTHERWISE:
        break;
    }
    return ONEIB_PROOF_AWAITED;
}

static enum oneib_standing standing_of(const struct work *work,
                                       const struct oneib_roster_line *line)
{
    return oneib_standing_of(work->evidence->subnet, line->member, line->pkey,
                             (enum oneib_membership)line->membership);
}

static struct oneib_roster_line *find_line(const struct oneib_roster *roster,
                                           const struct oneib_roster_line *wanted)
{
    size_t low = 0, high = roster->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (oneib_roster_compare(&roster->lines[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < roster->count && oneib_roster_compare(&roster->lines[low], wanted) == 0
               ? &roster->lines[low]
               : NULL;
}

static void prove_member(const struct work *work, struct oneib_news_item *item)
{
    const enum oneib_standing standing = standing_of(work, &item->line);
    struct oneib_roster_line *line = item->has_vm ? find_line(work->roster, &item->line) : NULL;
    item->line.standing = (uint8_t)standing;
    item->proof = proof_of_standing(standing);
    if (line)
        line->standing = (uint8_t)standing;
}

/* ---- those that were removed ---------------------------------------------------------------- */

static int compare_members(const void *left, const void *right)
{
    return oneib_member_compare(left, right);
}

/* A cluster's members are in canonical order; those of the operator's partitions in any. */
static bool table_lists(const struct work *work, const struct oneib_roster_line *line)
{
    const struct oneib_partition *partition = work->partitions[line->pkey & (KEYS - 1)];
    const struct oneib_member wanted = {.guid = line->member, .kind = ONEIB_MEMBER_GUID};
    uint32_t network_id;
    if (partition && oneib_cluster_name_parse(partition->name, &network_id))
        return partition->member_count > 0 &&
               bsearch(&wanted, partition->members, partition->member_count, sizeof wanted,
                       compare_members) != NULL;
    for (size_t i = 0; partition && i < partition->member_count; i++)
        if (partition->members[i].kind == ONEIB_MEMBER_GUID &&
            partition->members[i].guid == line->member)
            return true;
    return false;
}

/* Whatever the membership: a port that has the key lets the VM in. */
static enum oneib_news_proof proof_of_removal(const struct work *work,
                                              const struct oneib_roster_line *line)
{
    switch (oneib_standing_of(work->evidence->subnet, line->member, line->pkey, ONEIB_LIMITED)) {
    case ONEIB_KEY_LACKING:
        return ONEIB_PROOF_IN_FORCE;
    case ONEIB_PORT_ABSENT:
        return ONEIB_PROOF_ABSENT;
    case ONEIB_PORT_MUTE:
        return ONEIB_PROOF_MUTE;
    case ONEIB_IN_FORCE:
    case ONEIB_KEY_OTHERWISE:
        break;
    }
    return ONEIB_PROOF_AWAITED;
}

struct place {
    oneib_guid guid;
    oneib_pkey pkey;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->guid != b->guid)
        return a->guid < b->guid ? -1 : 1;
    return (a->pkey > b->pkey) - (a->pkey < b->pkey);
}

/* Whether a NIC is a member by that port: the places of the roster's members, listed when they are
 * asked for first. */
struct member_ports {
    struct place *items; /* sorted */
    size_t count;
    bool listed;
};

static int list_ports(const struct work *work, struct member_ports *ports, struct oneib_error *err)
{
    if (ports->listed)
        return 0;
    ports->items = malloc((work->roster->count + 1) * sizeof *ports->items);
    if (!ports->items)
        return oneib_fail_memory(err);
    for (size_t i = 0; i < work->roster->count; i++)
        if (oneib_roster_is_member(&work->roster->lines[i]))
            ports->items[ports->count++] =
                (struct place){work->roster->lines[i].member, work->roster->lines[i].pkey};
    if (ports->count > 1)
        qsort(ports->items, ports->count, sizeof *ports->items, compare_places);
    ports->listed = true;
    return 0;
}

static bool others_have(const struct member_ports *ports, const struct oneib_roster_line *line)
{
    const struct place wanted = {line->member, line->pkey};
    return ports->count &&
           bsearch(&wanted, ports->items, ports->count, sizeof wanted, compare_places) != NULL;
}

static int prove_removal(const struct work *work, struct member_ports *ports,
                         struct oneib_news_item *item, struct oneib_error *err)
{
    if (!table_lists(work, &item->line)) {
        item->proof = proof_of_removal(work, &item->line);
        return 0;
    }
    if (list_ports(work, ports, err) < 0)
        return -1;
    const bool is_held = work->evidence->held > 0 && !others_have(ports, &item->line);
    item->proof = is_held ? ONEIB_PROOF_HELD_BACK : ONEIB_PROOF_OTHERS;
    return 0;
}

static bool is_waited_for(const struct oneib_news_item *item)
{
    return item->proof == ONEIB_PROOF_AWAITED || item->proof == ONEIB_PROOF_MUTE;
}

/* ---- all ------------------------------------------------------------------------------------ */

static bool has_port(const struct oneib_news_item *item)
{
    return item->member_kind == ONEIB_MEMBER_GUID && item->line.member != 0;
}

static int prove_item(const struct work *work, struct member_ports *ports,
                      struct oneib_news_item *item, struct oneib_error *err)
{
    if (!has_port(item))
        return 0;
    switch (item->kind) {
    case ONEIB_NEWS_ADDED:
    case ONEIB_NEWS_CHANGED:
        prove_member(work, item);
        return 0;
    case ONEIB_NEWS_REMOVED:
        return prove_removal(work, ports, item, err);
    case ONEIB_NEWS_REFUSED:
    case ONEIB_NEWS_NOT_REFUSED:
    case ONEIB_NEWS_ARRIVED:
    case ONEIB_NEWS_GONE:
        break;
    }
    return 0;
}

static int prove_items(const struct work *work, struct oneib_error *err)
{
    struct member_ports ports = {0};
    int status = 0;
    for (size_t i = 0; status == 0 && i < work->news->count; i++)
        status = prove_item(work, &ports, &work->news->items[i], err);
    free(ports.items);
    return status;
}

/* Additions that were waited for: their lines are looked at again. Those of this news have been. */
static int find_arrivals(const struct work *work, struct oneib_error *err)
{
    for (size_t i = 0; i < work->roster->count; i++) {
        struct oneib_roster_line *line = &work->roster->lines[i];
        const bool begins = work->evidence->begins;
        if (!oneib_roster_is_member(line) || (line->standing == ONEIB_IN_FORCE && !begins))
            continue;
        const uint8_t before = line->standing;
        line->standing = (uint8_t)standing_of(work, line);
        if (before == ONEIB_IN_FORCE || line->standing != ONEIB_IN_FORCE)
            continue;
        const struct oneib_news_item item = {.kind = ONEIB_NEWS_ARRIVED,
                                             .proof = ONEIB_PROOF_IN_FORCE,
                                             .has_vm = true,
                                             .line = *line,
                                             .member_kind = ONEIB_MEMBER_GUID,
                                             .other_host = ONEIB_NO_ID,
                                             .other_network = ONEIB_NO_ID};
        if (oneib_news_add(work->news, &item, err) < 0)
            return -1;
    }
    return 0;
}

/* Removals that were waited for. One that is a member again is waited for no more. */
static int find_departures(const struct work *work, struct oneib_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < work->leaving->count; i++) {
        struct oneib_news_item item = work->leaving->items[i];
        if (table_lists(work, &item.line))
            continue;
        item.proof = proof_of_removal(work, &item.line);
        if (is_waited_for(&item)) {
            work->leaving->items[kept++] = item;
            continue;
        }
        item.kind = ONEIB_NEWS_GONE;
        if (oneib_news_add(work->news, &item, err) < 0)
            return -1;
    }
    work->leaving->count = kept;
    return 0;
}

static int keep_leaving(const struct work *work, size_t count, struct oneib_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (work->news->items[i].kind == ONEIB_NEWS_REMOVED &&
            is_waited_for(&work->news->items[i]) &&
            oneib_news_add(work->leaving, &work->news->items[i], err) < 0)
            return -1;
    return 0;
}

static int prove(const struct work *work, struct oneib_error *err)
{
    const size_t count = work->news->count;
    /* Arrivals first: what is new has not been waited for. */
    if (find_arrivals(work, err) < 0 || find_departures(work, err) < 0 ||
        prove_items(work, err) < 0)
        return -1;
    return keep_leaving(work, count, err);
}

static void index_partitions(const struct oneib_partition_table *table,
                             const struct oneib_partition **partitions)
{
    for (size_t i = 0; i < table->count; i++)
        partitions[table->items[i].pkey & (KEYS - 1)] = &table->items[i];
}

int oneib_news_prove(const struct oneib_news_evidence *evidence, struct oneib_roster *roster,
                     struct oneib_news *leaving, struct oneib_news *news, struct oneib_error *err)
{
    struct work work = {evidence, roster, leaving, news, NULL};
    work.partitions = calloc(KEYS, sizeof(*work.partitions));
    if (!work.partitions)
        return oneib_fail_memory(err);
    index_partitions(evidence->table, work.partitions);
    const int status = prove(&work, err);
    free(work.partitions);
    oneib_news_sort(news);
    return status < 0 ? -1 : oneib_news_share_lines(news, err);
}
