// SPDX-License-Identifier: Apache-2.0
/* The removal hold: members that are missing from an answer wait for a human where they are a large
 * part of the fabric. */
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
#include "cluster/port_index.h"
#include <stdlib.h>
#include <string.h>

/* A cluster's partition in one of the two tables, by network id. */
struct cluster_partition {
    uint32_t network_id;
    size_t index;
};

struct name_index {
    struct cluster_partition *items;
    size_t count, capacity;
};

/* A NIC that is on a host by its VM's document, and gets nothing there for want of an answer. */
struct missing_nic {
    uint32_t network_id; /* the cluster's */
    uint64_t place;      /* the host's id, or the GUID of the NIC's own VF */
    enum oneib_hold_reason reason;
};

struct missing_nics {
    struct missing_nic *items; /* by network and place */
    size_t count, capacity;
};

struct hold {
    const struct oneib_desired_input *input;
    const struct oneib_partition_table *in_force;
    const struct oneib_policy *policy;
    struct oneib_desired *desired;
    struct name_index before, after; /* in_force's and desired's clusters */
    bool taken[ONEIB_PKEY_COUNT];    /* keys that a partition of desired has, or waits for */
    oneib_guid *virtual_members;     /* VFs' own GUIDs in desired; sorted */
    size_t virtual_count, virtual_capacity;
    struct missing_nics missing;
    struct oneib_port_index ports;
};

ONEIB_ORDER_BY(compare_names, struct cluster_partition, network_id);

static void index_names(const struct oneib_partition_table *table, struct name_index *index)
{
    for (size_t i = 0; i < table->count; i++) {
        uint32_t network_id;
        if (!oneib_cluster_name_parse(table->items[i].name, &network_id))
            continue;
        ONEIB_APPEND(index->items, index->count, index->capacity,
                     (struct cluster_partition){network_id, i});
    }
    ONEIB_SORT(index->items, index->count, compare_names);
}

static size_t find_name(const struct name_index *index, uint32_t network_id)
{
    const struct cluster_partition wanted = {.network_id = network_id};
    const struct cluster_partition *found =
        ONEIB_FIND(&wanted, index->items, index->count, compare_names);
    return found ? found->index : SIZE_MAX;
}

/* partition: a cluster's of desired, so its members are GUIDs in order; NULL has none. */
static bool has_guid(const struct oneib_partition *partition, oneib_guid guid)
{
    const struct oneib_member wanted = {.guid = guid, .kind = ONEIB_MEMBER_GUID};
    return partition &&
           ONEIB_FIND(&wanted, partition->members, partition->member_count, oneib_member_compare);
}

/* ---- what no answer says has ended ----------------------------------------------------------- */

/* Why nothing is known of the members of the network; NONE: its own document was read, and with it
 * every VM that it leases to (opennebula/pools.h). */
static enum oneib_hold_reason network_reason(const struct oneib_desired_input *input,
                                             uint32_t network_id)
{
    const struct oneib_network *network = oneib_cloud_network(input->cloud, network_id);
    if (!network)
        return ONEIB_HOLD_NETWORK_MISSING;
    if (network->unreadable)
        return ONEIB_HOLD_NETWORK_UNREADABLE;
    return oneib_ledger_network(input->ledger, network_id) ? ONEIB_HOLD_NONE
                                                           : ONEIB_HOLD_KEY_MISSING;
}

/* The network whose partition the NIC is in. */
static uint32_t cluster_of(const struct hold *hold, const struct oneib_attachment *attachment)
{
    const struct oneib_cluster *cluster =
        oneib_desired_cluster(hold->desired, attachment->network_id);
    return cluster ? cluster->network_id : attachment->network_id;
}

static enum oneib_hold_reason nic_reason(const struct hold *hold,
                                         const struct oneib_desired_binding *binding)
{
    const struct oneib_attachment *attachment =
        &hold->input->cloud->attachments[binding->attachment];
    const struct oneib_network *network =
        oneib_cloud_network(hold->input->cloud, attachment->network_id);
    if (!oneib_phase_has_place(attachment->phase) ||
        !oneib_member_status_is_lack(binding->member_status))
        return ONEIB_HOLD_NONE;
    if (binding->member_status == ONEIB_MEMBER_STATUS_HCA_MISSING)
        return ONEIB_HOLD_PORT_MISSING;
    return network && network->unreadable
               ? ONEIB_HOLD_NETWORK_UNREADABLE
               : network_reason(hold->input, cluster_of(hold, attachment));
}

ONEIB_ORDER_BY(compare_missing, struct missing_nic, network_id, place, reason);

static void add_missing(struct hold *hold, const struct oneib_desired_binding *binding,
                        enum oneib_hold_reason reason)
{
    const struct oneib_attachment *attachment =
        &hold->input->cloud->attachments[binding->attachment];
    const uint64_t places[] = {
        binding->host_id,
        oneib_guid_encode(hold->policy->site, attachment->vm_id, attachment->nic_id)};
    for (size_t i = 0; i < 2; i++)
        ONEIB_APPEND(hold->missing.items, hold->missing.count, hold->missing.capacity,
                     (struct missing_nic){cluster_of(hold, attachment), places[i], reason});
}

static void find_missing_nics(struct hold *hold)
{
    for (size_t i = 0; i < hold->desired->binding_count; i++) {
        const struct oneib_desired_binding *binding = &hold->desired->bindings[i];
        const enum oneib_hold_reason reason = nic_reason(hold, binding);
        if (reason != ONEIB_HOLD_NONE)
            add_missing(hold, binding, reason);
    }
    ONEIB_SORT(hold->missing.items, hold->missing.count, compare_missing);
}

/* The host whose port it is, also where no host reports it now; ONEIB_NO_ID: not known. */
static uint32_t host_of(const struct hold *hold, oneib_guid guid)
{
    const struct oneib_known_port *reported = oneib_port_index_find(&hold->ports, guid);
    const struct oneib_ledger_port *known = oneib_ledger_port(hold->input->ledger, guid);
    return reported ? reported->host->id : known ? known->host_id : ONEIB_NO_ID;
}

/* A host's document names its VMs, and each of them was read. */
static bool was_answered(const struct hold *hold, oneib_guid guid)
{
    struct oneib_guid_parts parts;
    return oneib_guid_in_site(guid, hold->policy->site) && oneib_guid_decode(guid, &parts)
               ? oneib_cloud_has_vm(hold->input->cloud, parts.vm_id)
               : oneib_cloud_host(hold->input->cloud, host_of(hold, guid)) != NULL;
}

/* What the NICs of the cluster that are missing say of the member. When its host is not known, it
 * may be the port of any of them. */
static enum oneib_hold_reason reason_by_nics(const struct hold *hold, uint32_t network_id,
                                             oneib_guid guid)
{
    const struct missing_nics *missing = &hold->missing;
    const bool is_vf = oneib_guid_in_site(guid, hold->policy->site);
    const uint32_t host_id = is_vf ? ONEIB_NO_ID : host_of(hold, guid);
    const bool is_anybodys = !is_vf && host_id == ONEIB_NO_ID;
    const struct missing_nic wanted = {.network_id = network_id,
                                       .place = is_vf         ? guid
                                                : is_anybodys ? 0
                                                              : host_id};
    const size_t first =
        ONEIB_LOWER_BOUND(i, missing->count, compare_missing(&missing->items[i], &wanted) < 0);
    return first < missing->count && missing->items[first].network_id == network_id &&
                   (is_anybodys || missing->items[first].place == wanted.place)
               ? missing->items[first].reason
               : ONEIB_HOLD_NONE;
}

/* NONE: something says that the member has ended. A key that rests is no network's any more. */
static enum oneib_hold_reason hold_reason(const struct hold *hold, uint32_t network_id,
                                          oneib_pkey pkey, oneib_guid guid)
{
    if (oneib_guids_have(hold->desired->fenced, hold->desired->fenced_count, guid) ||
        oneib_ledger_resting(hold->input->ledger, pkey))
        return ONEIB_HOLD_NONE;
    const enum oneib_hold_reason by_nics = reason_by_nics(hold, network_id, guid);
    return by_nics != ONEIB_HOLD_NONE || was_answered(hold, guid)
               ? by_nics
               : network_reason(hold->input, network_id);
}

/* A member of a partition in force that is missing from an answer. */
struct missing_member {
    size_t index;
    enum oneib_hold_reason reason;
};

/* What the partition of in_force loses: an array owned by the caller. */
struct loss {
    struct missing_member *members;
    size_t count;
    size_t total; /* GUID members that it has, without those that have ended */
};

/* after: the partition of the same name in desired, NULL when there is none. */
static void find_loss(const struct hold *hold, const struct cluster_partition *cluster,
                      const struct oneib_partition *after, struct loss *loss)
{
    const struct oneib_partition *before = &hold->in_force->items[cluster->index];
    *loss = (struct loss){0};
    loss->members = oneib_alloc(before->member_count + 1, sizeof *loss->members);
    for (size_t i = 0; i < before->member_count; i++) {
        const struct oneib_member *member = &before->members[i];
        if (member->kind != ONEIB_MEMBER_GUID)
            continue;
        const bool stays = has_guid(after, member->guid);
        const enum oneib_hold_reason reason =
            stays ? ONEIB_HOLD_NONE
                  : hold_reason(hold, cluster->network_id, before->pkey & ONEIB_PKEY_DEFAULT,
                                member->guid);
        loss->total += stays || reason != ONEIB_HOLD_NONE;
        if (reason != ONEIB_HOLD_NONE)
            loss->members[loss->count++] = (struct missing_member){i, reason};
    }
}

/* ---- too many of them ------------------------------------------------------------------------ */

static const struct oneib_partition *desired_partition(const struct hold *hold, uint32_t network_id)
{
    size_t index = find_name(&hold->after, network_id);
    return index == SIZE_MAX ? NULL : &hold->desired->table.items[index];
}

static bool is_too_much(const struct hold *hold)
{
    size_t missing = 0, total = 0;
    for (size_t i = 0; i < hold->before.count; i++) {
        const struct cluster_partition *cluster = &hold->before.items[i];
        struct loss loss;
        find_loss(hold, cluster, desired_partition(hold, cluster->network_id), &loss);
        missing += loss.count;
        total += loss.total;
        free(loss.members);
    }
    return missing >= hold->policy->hold_minimum &&
           (double)missing > hold->policy->hold_share * (double)total;
}

/* ---- putting back ---------------------------------------------------------------------------- */

static void index_desired(struct hold *hold)
{
    const struct oneib_partition_table *table = &hold->desired->table;
    for (size_t i = 0; i < hold->desired->waiting_count; i++)
        hold->taken[hold->desired->waiting[i]] = true;
    for (size_t i = 0; i < table->count; i++) {
        const struct oneib_partition *partition = &table->items[i];
        hold->taken[partition->pkey & ONEIB_PKEY_DEFAULT] = true;
        for (size_t j = 0; j < partition->member_count; j++) {
            if (!oneib_guid_in_site(partition->members[j].guid, hold->policy->site))
                continue;
            ONEIB_APPEND(hold->virtual_members, hold->virtual_count, hold->virtual_capacity,
                         partition->members[j].guid);
        }
    }
    ONEIB_SORT(hold->virtual_members, hold->virtual_count, oneib_guid_compare);
}

ONEIB_ORDER_BY(compare_rooms, struct oneib_port_room, port_guid);

/* Takes one place of the port's table; false when there is none. Other ports get nothing new:
 * theirs fit before. */
static bool take_room(struct hold *hold, oneib_guid guid)
{
    const struct oneib_port_room wanted = {.port_guid = guid};
    struct oneib_desired *desired = hold->desired;
    struct oneib_port_room *room =
        ONEIB_FIND(&wanted, desired->rooms, desired->room_count, compare_rooms);
    if (!room)
        return true;
    if (room->room == 0)
        return false;
    room->room--;
    return true;
}

static enum oneib_membership held_membership(const struct hold *hold, uint32_t network_id,
                                             const struct oneib_member *member)
{
    const struct oneib_cluster *cluster = oneib_desired_cluster(hold->desired, network_id);
    return oneib_narrower(cluster ? cluster->membership : ONEIB_FULL, member->membership);
}

/* One that is now limited, where the subnet manager would make it full: it gets nothing. */
static bool is_made_full(const struct hold *hold, const struct oneib_member *member)
{
    return hold->policy->no_limited && member->membership == ONEIB_LIMITED;
}

static void put_back(struct hold *hold, const struct oneib_partition *before, uint32_t network_id,
                     const struct loss *loss, size_t target)
{
    struct oneib_desired *desired = hold->desired;
    for (size_t i = 0; i < loss->count; i++) {
        struct oneib_member member = before->members[loss->members[i].index];
        member.membership = (uint8_t)held_membership(hold, network_id, &member);
        if (is_made_full(hold, &member) ||
            oneib_guids_have(hold->virtual_members, hold->virtual_count, member.guid) ||
            !take_room(hold, member.guid))
            continue;
        oneib_partition_add_member(&desired->table.items[target], member);
        ONEIB_APPEND(desired->held, desired->held_count, desired->held_capacity,
                     (struct oneib_held_removal){.member = member.guid,
                                                 .host_id = host_of(hold, member.guid),
                                                 .pkey = before->pkey & ONEIB_PKEY_DEFAULT,
                                                 .reason = loss->members[i].reason});
    }
    oneib_partition_sort_members(&desired->table.items[target]);
}

/* A partition that is to stay, still empty. Returns its index. */
static size_t keep_partition(struct hold *hold, const struct oneib_partition *before)
{
    oneib_partition_table_add_like(&hold->desired->table, before);
    hold->taken[before->pkey & ONEIB_PKEY_DEFAULT] = true;
    return hold->desired->table.count - 1;
}

static bool is_same(const struct oneib_partition *before, const struct oneib_partition *after)
{
    /* With another indx0 the key would move to index 0 of ports that were never asked to have it
     * there. */
    return before->pkey == after->pkey && before->indx0 == after->indx0;
}

/* Its network may be without members, or gone: but not have another key, and nobody else may have
 * this one. */
static bool may_stay(const struct hold *hold, const struct oneib_partition *before,
                     uint32_t network_id)
{
    const struct oneib_cluster *cluster = oneib_desired_cluster(hold->desired, network_id);
    if (cluster && cluster->pkey != 0 && cluster->pkey != before->pkey)
        return false;
    return !hold->taken[before->pkey & ONEIB_PKEY_DEFAULT];
}

static void hold_partition(struct hold *hold, const struct cluster_partition *cluster)
{
    const struct oneib_partition *before = &hold->in_force->items[cluster->index];
    size_t target = find_name(&hold->after, cluster->network_id);
    const struct oneib_partition *after =
        target == SIZE_MAX ? NULL : &hold->desired->table.items[target];
    if (after ? !is_same(before, after) : !may_stay(hold, before, cluster->network_id))
        return;

    struct loss loss;
    find_loss(hold, cluster, after, &loss);
    if (!after)
        target = keep_partition(hold, before);
    put_back(hold, before, cluster->network_id, &loss, target);
    free(loss.members);
}

/* By key alone: the order of members within a static partition has a meaning. */
static void restore_order(struct oneib_partition_table *table)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].member_count)
            table->items[kept++] = table->items[i];
        else
            free(table->items[i].members);
    table->count = kept;
    ONEIB_SORT(table->items, kept, oneib_partition_compare_keys);
}

ONEIB_ORDER_BY(compare_held, struct oneib_held_removal, pkey, member);

static void hold_removals(struct hold *hold)
{
    index_names(hold->in_force, &hold->before);
    index_names(&hold->desired->table, &hold->after);
    oneib_port_index_make(hold->input->cloud, &hold->ports);
    find_missing_nics(hold);
    if (!is_too_much(hold))
        return;

    index_desired(hold);
    for (size_t i = 0; i < hold->before.count; i++)
        hold_partition(hold, &hold->before.items[i]);
    restore_order(&hold->desired->table);
    ONEIB_SORT(hold->desired->held, hold->desired->held_count, compare_held);
}

void oneib_removals_hold(const struct oneib_desired_input *input, struct oneib_desired *desired)
{
    struct hold *hold = oneib_alloc(1, sizeof *hold);
    hold->input = input;
    hold->in_force = input->in_force;
    hold->policy = input->policy;
    hold->desired = desired;
    hold_removals(hold);
    free(hold->before.items);
    free(hold->after.items);
    free(hold->virtual_members);
    free(hold->missing.items);
    oneib_port_index_clear(&hold->ports);
    free(hold);
}

const struct oneib_held_removal *oneib_held_removal(const struct oneib_desired *desired,
                                                    oneib_pkey pkey, oneib_guid member)
{
    const struct oneib_held_removal wanted = {.member = member, .pkey = pkey};
    return ONEIB_FIND(&wanted, desired->held, desired->held_count, compare_held);
}
