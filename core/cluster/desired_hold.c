// SPDX-License-Identifier: Apache-2.0
/* The removal hold: an answer that would empty a large part of the fabric at once waits for a
 * human. */
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- places for what is held ----------------------------------------------------------------- */

/* How many keys of one owner's networks a port may have while removals are held: pkeys.per_owner, or
 * as many as are in force. So held keys and new ones are one owner's together, and an answer that
 * lost his networks, or his VMs, is held whole. */

/* Of one owner at one port. */
struct held_place {
    oneib_guid guid;
    uint32_t owner;
    size_t taken, limit; /* keys */
};

struct held_places {
    struct held_place *items; /* owned; by port and owner; those in force */
    size_t count, capacity;
};

/* The owner of a cluster's partition in force, as oned says, or the ledger where oned has the
 * network no more, or does not say whose it is; ONEIB_NO_ID: an operator's, or not known: it has no
 * limit. */
static uint32_t held_owner(const struct oneib_desired_input *input, uint32_t network_id,
                           oneib_pkey pkey)
{
    const struct oneib_network *network = oneib_cloud_network(input->cloud, network_id);
    if (network && network->uid != ONEIB_NO_ID)
        return oneib_network_is_operators(network) ? ONEIB_NO_ID : network->uid;
    const struct oneib_ledger_network *entry = oneib_ledger_network(input->ledger, network_id);
    const struct oneib_ledger_resting *resting = oneib_ledger_resting(input->ledger, pkey);
    const uint32_t owner = entry ? entry->owner : resting ? resting->owner : ONEIB_NO_ID;
    return owner == 0 ? ONEIB_NO_ID : owner;
}

ONEIB_ORDER_BY(compare_places, struct held_place, guid, owner);

/* *owner: whose cluster the partition is, when that is a tenant. */
static bool is_tenants(const struct oneib_desired_input *input,
                       const struct oneib_partition *partition, uint32_t *owner)
{
    uint32_t network_id;
    if (!oneib_cluster_name_parse(partition->name, &network_id))
        return false;
    *owner = held_owner(input, network_id, partition->pkey & ONEIB_PKEY_DEFAULT);
    return *owner != ONEIB_NO_ID;
}

static void list_places(const struct oneib_desired_input *input, struct held_places *places)
{
    for (size_t i = 0; i < input->in_force->count; i++) {
        const struct oneib_partition *partition = &input->in_force->items[i];
        uint32_t owner;
        if (!is_tenants(input, partition, &owner))
            continue;
        ONEIB_RESERVE(places->items, places->capacity, places->count + partition->member_count);
        for (size_t j = 0; j < partition->member_count; j++)
            if (partition->members[j].kind == ONEIB_MEMBER_GUID)
                places->items[places->count++] = (struct held_place){
                    .guid = partition->members[j].guid, .owner = owner, .limit = 1};
    }
}

/* Of several of one port and owner one that knows how many they were. */
static void add_up(struct held_places *places, size_t per_owner)
{
    size_t kept = 0;
    ONEIB_SORT(places->items, places->count, compare_places);
    for (size_t i = 0; i < places->count; i++) {
        struct held_place *last = kept ? &places->items[kept - 1] : NULL;
        if (last && compare_places(last, &places->items[i]) == 0)
            last->limit++;
        else
            places->items[kept++] = places->items[i];
    }
    places->count = kept;
    for (size_t i = 0; i < kept; i++)
        if (places->items[i].limit < per_owner)
            places->items[i].limit = per_owner;
}

/* The place of one that is in force; NULL: there is no limit. */
static struct held_place *held_place(struct held_places *places, oneib_guid guid, uint32_t owner)
{
    const struct held_place wanted = {.guid = guid, .owner = owner};
    return owner != ONEIB_NO_ID ? ONEIB_FIND(&wanted, places->items, places->count, compare_places)
                                : NULL;
}

static void take_places(const struct oneib_desired_input *input,
                        const struct oneib_partition_table *desired, struct held_places *places)
{
    for (size_t i = 0; i < desired->count; i++) {
        const struct oneib_partition *partition = &desired->items[i];
        uint32_t owner;
        if (!is_tenants(input, partition, &owner))
            continue;
        for (size_t j = 0; j < partition->member_count; j++) {
            struct held_place *place = held_place(places, partition->members[j].guid, owner);
            if (place)
                place->taken++;
        }
    }
}

/* input->in_force is there. What desired has takes its places. *places: zeroed. */
static void count_places(const struct oneib_desired_input *input,
                         const struct oneib_partition_table *desired, struct held_places *places)
{
    if (input->policy->per_owner_max == 0)
        return;
    list_places(input, places);
    add_up(places, input->policy->per_owner_max);
    take_places(input, desired, places);
}

/* A cluster's partition in one of the two tables, by network id. */
struct cluster_partition {
    uint32_t network_id;
    size_t index;
};

struct name_index {
    struct cluster_partition *items;
    size_t count, capacity;
};

/* Whose members vanish. */
struct loser {
    uint32_t user; /* ONEIB_NO_ID: operators */
    size_t removed, total;
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
    struct held_places places;
    struct loser *losers;
    size_t loser_count;
    size_t held;
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

/* What the partition of in_force loses: an array of its members' indices, owned by the caller. */
struct loss {
    size_t *members;
    size_t count;
    size_t total; /* GUID members that it has */
};

/* after: the partition of the same name in desired, NULL when there is none. What fenced hosts have
 * lost is meant. */
static void find_loss(const struct hold *hold, const struct oneib_partition *before,
                      const struct oneib_partition *after, struct loss *loss)
{
    *loss = (struct loss){0};
    loss->members = oneib_alloc(before->member_count + 1, sizeof *loss->members);
    for (size_t i = 0; i < before->member_count; i++) {
        if (before->members[i].kind != ONEIB_MEMBER_GUID ||
            oneib_guids_have(hold->desired->fenced, hold->desired->fenced_count,
                             before->members[i].guid))
            continue;
        loss->total++;
        if (!has_guid(after, before->members[i].guid))
            loss->members[loss->count++] = i;
    }
}

static const struct oneib_partition *desired_partition(const struct hold *hold, uint32_t network_id)
{
    size_t index = find_name(&hold->after, network_id);
    return index == SIZE_MAX ? NULL : &hold->desired->table.items[index];
}

static uint32_t user_of(const struct hold *hold, const struct cluster_partition *cluster)
{
    return held_owner(hold->input, cluster->network_id,
                      hold->in_force->items[cluster->index].pkey & ONEIB_PKEY_DEFAULT);
}

ONEIB_ORDER_BY(compare_losers, struct loser, user);

static void add_up_losers(struct hold *hold)
{
    size_t kept = 0;
    ONEIB_SORT(hold->losers, hold->loser_count, compare_losers);
    for (size_t i = 0; i < hold->loser_count; i++) {
        struct loser *last = kept ? &hold->losers[kept - 1] : NULL;
        if (last && compare_losers(last, &hold->losers[i]) == 0) {
            last->removed += hold->losers[i].removed;
            last->total += hold->losers[i].total;
        } else {
            hold->losers[kept++] = hold->losers[i];
        }
    }
    hold->loser_count = kept;
}

static void measure(struct hold *hold)
{
    hold->losers = oneib_alloc(hold->before.count + 1, sizeof *hold->losers);
    for (size_t i = 0; i < hold->before.count; i++) {
        const struct cluster_partition *cluster = &hold->before.items[i];
        struct loser *loser = &hold->losers[hold->loser_count++];
        struct loss loss;
        find_loss(hold, &hold->in_force->items[cluster->index],
                  desired_partition(hold, cluster->network_id), &loss);
        *loser = (struct loser){
            .user = user_of(hold, cluster), .removed = loss.count, .total = loss.total};
        free(loss.members);
    }
    add_up_losers(hold);
}

static struct loser sum_of(const struct hold *hold)
{
    struct loser sum = {0};
    for (size_t i = 0; i < hold->loser_count; i++) {
        sum.removed += hold->losers[i].removed;
        sum.total += hold->losers[i].total;
    }
    return sum;
}

/* The user who loses most; nobody: that is operators, who lose nothing. */
static struct loser greatest_user(const struct hold *hold)
{
    struct loser greatest = {.user = ONEIB_NO_ID};
    for (size_t i = 0; i < hold->loser_count; i++)
        if (hold->losers[i].user != ONEIB_NO_ID && hold->losers[i].removed > greatest.removed)
            greatest = hold->losers[i];
    return greatest;
}

/* Nobody's removal is held for what one user has lost alone; an answer that is wrong costs others
 * as much. */
static bool others_lose_as_much(const struct hold *hold, const struct loser *sum,
                                const struct loser *greatest)
{
    return (double)(sum->removed - greatest->removed) >=
           hold->policy->hold_share * (double)(sum->total - greatest->total);
}

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

/* One more of the owner's keys on the port; what he has started since counts as well. */
static bool take_place(struct hold *hold, oneib_guid guid, uint32_t owner)
{
    struct held_place *place = held_place(&hold->places, guid, owner);
    if (place && place->taken >= place->limit)
        return false;
    if (!take_room(hold, guid))
        return false;
    if (place)
        place->taken++;
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
    const uint32_t owner = held_owner(hold->input, network_id, before->pkey & ONEIB_PKEY_DEFAULT);
    for (size_t i = 0; i < loss->count; i++) {
        struct oneib_member member = before->members[loss->members[i]];
        member.membership = (uint8_t)held_membership(hold, network_id, &member);
        if (is_made_full(hold, &member) ||
            oneib_guids_have(hold->virtual_members, hold->virtual_count, member.guid) ||
            !take_place(hold, member.guid, owner))
            continue;
        oneib_partition_add_member(&hold->desired->table.items[target], member);
        hold->held++;
    }
    oneib_partition_sort_members(&hold->desired->table.items[target]);
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
    find_loss(hold, before, after, &loss);
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

static void hold_removals(struct hold *hold)
{
    index_names(hold->in_force, &hold->before);
    index_names(&hold->desired->table, &hold->after);
    measure(hold);
    const struct loser sum = sum_of(hold);
    if (sum.removed < hold->policy->hold_minimum ||
        (double)sum.removed <= hold->policy->hold_share * (double)sum.total)
        return;

    const struct loser greatest = greatest_user(hold);
    const bool all = others_lose_as_much(hold, &sum, &greatest);
    index_desired(hold);
    count_places(hold->input, &hold->desired->table, &hold->places);
    for (size_t i = 0; i < hold->before.count; i++)
        if (all || user_of(hold, &hold->before.items[i]) == greatest.user)
            hold_partition(hold, &hold->before.items[i]);
    restore_order(&hold->desired->table);
}

void oneib_removals_hold(const struct oneib_desired_input *input, struct oneib_desired *desired,
                         size_t *held)
{
    struct hold *hold = oneib_alloc(1, sizeof *hold);
    hold->input = input;
    hold->in_force = input->in_force;
    hold->policy = input->policy;
    hold->desired = desired;
    hold_removals(hold);
    *held = hold->held;
    free(hold->before.items);
    free(hold->after.items);
    free(hold->virtual_members);
    free(hold->losers);
    free(hold->places.items);
    free(hold);
}
