// SPDX-License-Identifier: Apache-2.0
#include "cluster/held_places.h"
#include "base/array.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
#include <stdlib.h>

uint32_t oneib_held_owner(const struct oneib_desired_input *input, uint32_t network_id,
                          oneib_pkey pkey)
{
    const struct oneib_network *network = oneib_cloud_network(input->cloud, network_id);
    if (network && network->uid != ONEIB_NO_ID)
        return oneib_network_is_operators(network) ? ONEIB_NO_ID : network->uid;
    const struct oneib_ledger_network *entry = oneib_ledger_network(input->ledger, network_id);
    const struct oneib_ledger_resting *resting = oneib_ledger_resting(input->ledger, pkey);
    const uint32_t owner = entry                                          ? entry->owner
                           : resting && resting->network_id == network_id ? resting->owner
                                                                          : ONEIB_NO_ID;
    return owner == 0 ? ONEIB_NO_ID : owner;
}

ONEIB_ORDER_BY(compare_places, struct oneib_held_place, guid, owner);

/* *owner: whose cluster the partition is, when that is a tenant. */
static bool is_tenants(const struct oneib_desired_input *input,
                       const struct oneib_partition *partition, uint32_t *owner)
{
    uint32_t network_id;
    if (!oneib_cluster_name_parse(partition->name, &network_id))
        return false;
    *owner = oneib_held_owner(input, network_id, partition->pkey & ONEIB_PKEY_DEFAULT);
    return *owner != ONEIB_NO_ID;
}

static void list_places(const struct oneib_desired_input *input, struct oneib_held_places *places)
{
    for (size_t i = 0; i < input->in_force->count; i++) {
        const struct oneib_partition *partition = &input->in_force->items[i];
        uint32_t owner;
        if (!is_tenants(input, partition, &owner))
            continue;
        ONEIB_RESERVE(places->items, places->capacity, places->count + partition->member_count);
        for (size_t j = 0; j < partition->member_count; j++)
            if (partition->members[j].kind == ONEIB_MEMBER_GUID)
                places->items[places->count++] = (struct oneib_held_place){
                    .guid = partition->members[j].guid, .owner = owner, .limit = 1};
    }
}

/* Of several of one port and owner one that knows how many they were. */
static void add_up(struct oneib_held_places *places, size_t per_owner)
{
    size_t kept = 0;
    ONEIB_SORT(places->items, places->count, compare_places);
    for (size_t i = 0; i < places->count; i++) {
        if (kept > 0 && compare_places(&places->items[kept - 1], &places->items[i]) == 0)
            places->items[kept - 1].limit++;
        else
            places->items[kept++] = places->items[i];
    }
    places->count = kept;
    for (size_t i = 0; i < kept; i++)
        if (places->items[i].limit < per_owner)
            places->items[i].limit = per_owner;
}

static void take_places(const struct oneib_desired_input *input,
                        const struct oneib_partition_table *desired,
                        struct oneib_held_places *places)
{
    for (size_t i = 0; i < desired->count; i++) {
        const struct oneib_partition *partition = &desired->items[i];
        uint32_t owner;
        if (!is_tenants(input, partition, &owner))
            continue;
        for (size_t j = 0; j < partition->member_count; j++) {
            struct oneib_held_place *place =
                oneib_held_place(places, partition->members[j].guid, owner);
            if (place)
                place->taken++;
        }
    }
}

void oneib_held_places_count(const struct oneib_desired_input *input,
                             const struct oneib_partition_table *desired,
                             struct oneib_held_places *places)
{
    *places = (struct oneib_held_places){0};
    if (input->policy->per_owner_max == 0)
        return;
    list_places(input, places);
    add_up(places, input->policy->per_owner_max);
    take_places(input, desired, places);
}

struct oneib_held_place *oneib_held_place(struct oneib_held_places *places, oneib_guid guid,
                                          uint32_t owner)
{
    const struct oneib_held_place wanted = {.guid = guid, .owner = owner};
    return owner != ONEIB_NO_ID ? ONEIB_FIND(&wanted, places->items, places->count, compare_places)
                                : NULL;
}

void oneib_held_places_clear(struct oneib_held_places *places)
{
    free(places->items);
    *places = (struct oneib_held_places){0};
}
