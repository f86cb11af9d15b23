// SPDX-License-Identifier: Apache-2.0
/* What the ports say of the news: no claim before it is proved. */
#include "base/memory.h"
#include "base/order.h"
#include "base/stable_sort.h"
#include "cluster/member_events.h"
#include "cluster/port_index.h"
#include <stdlib.h>
#include <string.h>

#define KEYS 0x8000

struct work {
    const struct oneib_member_events_evidence *evidence;
    struct oneib_member_list *member_list;
    struct oneib_member_events *news;
    struct oneib_member_events still;          /* removals that are waited for from now on */
    const struct oneib_partition **partitions; /* of the table, by key */
};

/* ---- members --------------------------------------------------------------------------------- */

static enum oneib_member_event_proof proof_of_pkey_status(enum oneib_pkey_status pkey_status)
{
    switch (pkey_status) {
    case ONEIB_IN_FORCE:
        return ONEIB_PROOF_IN_FORCE;
    case ONEIB_PORT_ABSENT:
        return ONEIB_PROOF_ABSENT;
    case ONEIB_PORT_MUTE:
        return ONEIB_PROOF_MUTE;
    case ONEIB_PORT_UNSEEN:
        return ONEIB_PROOF_UNSEEN;
    case ONEIB_KEY_LACKING:
    case ONEIB_KEY_OTHERWISE:
        break;
    }
    return ONEIB_PROOF_AWAITED;
}

/* The first line that is not before that one. */
static struct oneib_member_list_line *lower_bound(const struct oneib_member_list *member_list,
                                                  const struct oneib_member_list_line *wanted)
{
    const size_t first = ONEIB_LOWER_BOUND(
        i, member_list->count, oneib_member_list_compare(&member_list->lines[i], wanted) < 0);
    return member_list->lines + first;
}

static bool is_virtual(const struct oneib_member_list_line *line)
{
    return oneib_is_virtual_port(line->port, line->member);
}

/* The member that the same NIC is on another host, with the same GUID: a VF's goes with the VM, and
 * is no other NIC's. NULL: none. */
static const struct oneib_member_list_line *twin_of(const struct oneib_member_list *member_list,
                                                    const struct oneib_member_list_line *line)
{
    const struct oneib_member_list_line first = {.vm_id = line->vm_id, .nic_id = line->nic_id};
    const struct oneib_member_list_line *end = member_list->lines + member_list->count;
    const struct oneib_member_list_line *other =
        is_virtual(line) ? lower_bound(member_list, &first) : end;
    for (; other < end && other->vm_id == line->vm_id; other++)
        if (other->host_id != line->host_id && other->member == line->member &&
            oneib_member_list_is_member(other))
            return other;
    return NULL;
}

static enum oneib_pkey_status pkey_status_as(const struct work *work,
                                             const struct oneib_member_list_line *line,
                                             enum oneib_membership membership)
{
    const struct oneib_wanted_key wanted = {
        .port = line->port, .member = line->member, .pkey = line->pkey, .membership = membership};
    return oneib_pkey_status_of(work->evidence->subnet, &wanted);
}

static enum oneib_pkey_status pkey_status_of(const struct work *work,
                                             const struct oneib_member_list_line *line)
{
    return pkey_status_as(work, line, (enum oneib_membership)line->membership);
}

/* By a port that is not certainly its own nothing is proved: it may be that of the host where the
 * VM was. */
static bool is_provable(const struct work *work, const struct oneib_member_event *item)
{
    const bool has_moved = item->reason == ONEIB_BECAUSE_MIGRATION && is_virtual(&item->line);
    return !has_moved && !twin_of(work->member_list, &item->line);
}

static void prove_member(const struct work *work, struct oneib_member_event *item)
{
    const bool is_certain = is_provable(work, item);
    const enum oneib_pkey_status pkey_status =
        is_certain ? pkey_status_of(work, &item->line) : ONEIB_PORT_UNSEEN;
    item->proof = is_certain ? proof_of_pkey_status(pkey_status) : ONEIB_PROOF_NONE;
    if (item->has_vm)
        lower_bound(work->member_list, &item->line)->pkey_status = (uint8_t)pkey_status;
}

/* ---- those that were removed ----------------------------------------------------------------- */

/* A cluster's members are in canonical order; those of the operator's partitions in any. */
static bool table_lists(const struct work *work, const struct oneib_member_list_line *line)
{
    const struct oneib_partition *partition = work->partitions[line->pkey & (KEYS - 1)];
    const struct oneib_member wanted = {.guid = line->member, .kind = ONEIB_MEMBER_GUID};
    uint32_t network_id;
    if (partition && oneib_cluster_name_parse(partition->name, &network_id))
        return ONEIB_FIND(&wanted, partition->members, partition->member_count,
                          oneib_member_compare) != NULL;
    return partition && oneib_partition_lists(partition, line->member);
}

/* Whatever the membership: a port that has the key lets the VM in. */
static enum oneib_member_event_proof proof_of_removal(const struct work *work,
                                                      const struct oneib_member_list_line *line)
{
    const enum oneib_pkey_status pkey_status = pkey_status_as(work, line, ONEIB_LIMITED);
    if (pkey_status == ONEIB_KEY_LACKING)
        return ONEIB_PROOF_IN_FORCE;
    return pkey_status == ONEIB_IN_FORCE ? ONEIB_PROOF_AWAITED : proof_of_pkey_status(pkey_status);
}

struct place {
    oneib_guid guid;
    oneib_pkey pkey;
};

ONEIB_ORDER_BY(compare_places, struct place, guid, pkey);

/* Whether a NIC is a member by that port: the places of the member list's members, listed when they are
 * asked for first. */
struct member_ports {
    struct place *items; /* sorted */
    size_t count;
    bool listed;
};

static void list_ports(const struct work *work, struct member_ports *ports)
{
    if (ports->listed)
        return;
    ports->items = oneib_alloc(work->member_list->count + 1, sizeof *ports->items);
    for (size_t i = 0; i < work->member_list->count; i++)
        if (oneib_member_list_is_member(&work->member_list->lines[i]))
            ports->items[ports->count++] = (struct place){work->member_list->lines[i].member,
                                                          work->member_list->lines[i].pkey};
    ONEIB_SORT(ports->items, ports->count, compare_places);
    ports->listed = true;
}

static bool others_have(const struct member_ports *ports, const struct oneib_member_list_line *line)
{
    const struct place wanted = {line->member, line->pkey};
    return ONEIB_FIND(&wanted, ports->items, ports->count, compare_places) != NULL;
}

static bool names_static(const struct work *work, const struct oneib_member_list_line *line)
{
    const struct oneib_cloud *cloud = work->evidence->cloud;
    const struct oneib_partition *partition = work->partitions[line->pkey & (KEYS - 1)];
    uint32_t network_id;
    if (!oneib_cluster_name_parse(partition->name, &network_id))
        return true;
    const struct oneib_network *network = oneib_cloud_network(cloud, network_id);
    const struct oneib_network *rules = network ? oneib_network_rules(cloud, network) : NULL;
    for (size_t i = 0; rules && i < rules->static_count; i++)
        if (rules->static_members[i].guid == line->member)
            return true;
    return false;
}

static void prove_removal(const struct work *work, struct member_ports *ports,
                          struct oneib_member_event *item)
{
    const struct oneib_member_list_line *twin = twin_of(work->member_list, &item->line);
    if (twin) {
        item->proof = twin->pkey == item->line.pkey ? ONEIB_PROOF_WITH_VM : ONEIB_PROOF_NONE;
        return;
    }
    if (!table_lists(work, &item->line)) {
        item->proof = proof_of_removal(work, &item->line);
        return;
    }
    const struct oneib_held_removal *held =
        oneib_held_removal(work->evidence->desired, item->line.pkey, item->line.member);
    list_ports(work, ports);
    item->hold_reason = held ? held->reason : ONEIB_HOLD_NONE;
    item->proof = others_have(ports, &item->line)   ? ONEIB_PROOF_OTHERS
                  : held                            ? ONEIB_PROOF_HELD_BACK
                  : names_static(work, &item->line) ? ONEIB_PROOF_OTHERS
                                                    : ONEIB_PROOF_AWAITED;
}

static bool is_waited_for(const struct oneib_member_event *item)
{
    return item->proof == ONEIB_PROOF_AWAITED || item->proof == ONEIB_PROOF_MUTE ||
           item->proof == ONEIB_PROOF_HELD_BACK;
}

/* ---- removals that are waited for ------------------------------------------------------------ */

ONEIB_ORDER_BY(compare_places_of_items, struct oneib_member_event, line.member, line.pkey);

static bool is_told_by_file(const struct oneib_member_events *leaving,
                            const struct oneib_member_event *item)
{
    return item->kind == ONEIB_MEMBER_EVENT_REMOVED && !item->has_vm &&
           ONEIB_FIND(item, leaving->items, leaving->count, compare_places_of_items);
}

/* The file knows the port alone; of what was waited for more is known. */
static void forget_what_is_known_better(const struct oneib_member_events *leaving,
                                        struct oneib_member_events *news)
{
    size_t kept = 0;
    for (size_t i = 0; i < news->count; i++)
        if (!is_told_by_file(leaving, &news->items[i]))
            news->items[kept++] = news->items[i];
    news->count = kept;
}

static void find_departures(struct work *work, const struct oneib_member_events *leaving,
                            struct member_ports *ports)
{
    for (size_t i = 0; i < leaving->count; i++) {
        struct oneib_member_event item = leaving->items[i];
        prove_removal(work, ports, &item);
        const bool stays = is_waited_for(&item);
        if (!stays)
            item.kind = ONEIB_MEMBER_EVENT_GONE;
        oneib_member_events_add(stays ? &work->still : work->news, &item);
    }
}

static void keep_leaving(struct work *work, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (work->news->items[i].kind == ONEIB_MEMBER_EVENT_REMOVED &&
            is_waited_for(&work->news->items[i]))
            oneib_member_events_add(&work->still, &work->news->items[i]);
}

/* Ports that stay mute do not fill the memory. */
static void keep_newest_of_each(struct oneib_member_events *still)
{
    size_t kept = 0;
    oneib_stable_sort(still->items, still->count, sizeof *still->items, compare_places_of_items);
    for (size_t i = 0; i < still->count; i++) {
        if (kept > 0 && compare_places_of_items(&still->items[kept - 1], &still->items[i]) == 0)
            kept--;
        still->items[kept++] = still->items[i];
    }
    still->count = kept;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void prove_item(const struct work *work, struct member_ports *ports,
                       struct oneib_member_event *item)
{
    if (item->line.member == 0)
        return;
    switch (item->kind) {
    case ONEIB_MEMBER_EVENT_ADDED:
    case ONEIB_MEMBER_EVENT_CHANGED:
        prove_member(work, item);
        return;
    case ONEIB_MEMBER_EVENT_REMOVED:
        prove_removal(work, ports, item);
        return;
    case ONEIB_MEMBER_EVENT_REFUSED:
    case ONEIB_MEMBER_EVENT_NOT_REFUSED:
    case ONEIB_MEMBER_EVENT_ARRIVED:
    case ONEIB_MEMBER_EVENT_GONE:
        break;
    }
}

/* Additions that were waited for: their lines are looked at again. Those of this news have been. */
static void find_arrivals(const struct work *work)
{
    for (size_t i = 0; i < work->member_list->count; i++) {
        struct oneib_member_list_line *line = &work->member_list->lines[i];
        const bool begins = work->evidence->begins;
        if (!oneib_member_list_is_member(line) || (line->pkey_status == ONEIB_IN_FORCE && !begins))
            continue;
        const uint8_t before = line->pkey_status;
        line->pkey_status =
            (uint8_t)(twin_of(work->member_list, line) ? ONEIB_PORT_UNSEEN
                                                       : pkey_status_of(work, line));
        if (before == ONEIB_IN_FORCE || line->pkey_status != ONEIB_IN_FORCE)
            continue;
        const struct oneib_member_event item = {.kind = ONEIB_MEMBER_EVENT_ARRIVED,
                                                .proof = ONEIB_PROOF_IN_FORCE,
                                                .has_vm = true,
                                                .line = *line,
                                                .member_kind = ONEIB_MEMBER_GUID,
                                                .other_host = ONEIB_NO_ID,
                                                .other_network = ONEIB_NO_ID};
        oneib_member_events_add(work->news, &item);
    }
}

static void prove(struct work *work, const struct oneib_member_events *leaving)
{
    struct member_ports ports = {0};
    forget_what_is_known_better(leaving, work->news);
    const size_t count = work->news->count;
    /* Arrivals first: what is new has not been waited for. */
    find_arrivals(work);
    find_departures(work, leaving, &ports);
    for (size_t i = 0; i < count; i++)
        prove_item(work, &ports, &work->news->items[i]);
    keep_leaving(work, count);
    free(ports.items);
}

static void index_partitions(const struct oneib_partition_table *table,
                             const struct oneib_partition **partitions)
{
    for (size_t i = 0; i < table->count; i++)
        partitions[table->items[i].pkey & (KEYS - 1)] = &table->items[i];
}

/* What has no VM comes last: its id is none. */
ONEIB_ORDER(compare_items, struct oneib_member_event,
            (ONEIB_BY(kind, line.network_id)) ?: oneib_member_list_compare(&left->line, &right->line)
                ?: ONEIB_BY(line.member));

static void prove_and_share(struct work *work, const struct oneib_member_events *leaving)
{
    prove(work, leaving);
    ONEIB_SORT(work->news->items, work->news->count, compare_items);
    oneib_member_events_share_lines(work->news);
}

void oneib_member_events_prove(const struct oneib_member_events_evidence *evidence,
                               struct oneib_member_list *member_list,
                               struct oneib_member_events *leaving,
                               struct oneib_member_events *news)
{
    struct work work = {.evidence = evidence, .member_list = member_list, .news = news};
    work.partitions = oneib_alloc(KEYS, sizeof(*work.partitions));
    index_partitions(&evidence->desired->table, work.partitions);
    prove_and_share(&work, leaving);
    free(work.partitions);
    keep_newest_of_each(&work.still);
    oneib_member_events_clear(leaving);
    *leaving = work.still;
}
