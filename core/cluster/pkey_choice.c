// SPDX-License-Identifier: Apache-2.0
/*
 * What is to change in the ledger: networks that need a key, operators' wishes, entries that nobody
 * needs, keys that have rested long enough; and the copies of keys that networks show as VLAN_ID.
 */
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who stands between a key and a network that would like to have it. */
enum hold { FREE, OF_NETWORK, RESTS, OF_STATIC, IN_FORCE };

struct key_use {
    uint8_t hold;        /* enum hold */
    uint32_t network_id; /* of OF_NETWORK, RESTS, IN_FORCE; ONEIB_NO_ID: of several, or of none */
};

struct key_uses {
    struct key_use items[ONEIB_PKEY_COUNT];
    bool shown[ONEIB_PKEY_COUNT]; /* as VLAN_ID of an operator's network, which may wish it when it
                                     can be read, or was made: nothing new is given there */
};

static struct key_use *use_of(struct key_uses *uses, oneib_pkey pkey)
{
    return &uses->items[pkey & ONEIB_PKEY_DEFAULT];
}

static void hold_in_force(struct key_uses *uses, const struct oneib_partition_table *table)
{
    for (size_t i = 0; table && i < table->count; i++) {
        uint32_t id;
        const bool is_cluster = oneib_cluster_name_parse(table->items[i].name, &id);
        *use_of(uses, table->items[i].pkey) =
            (struct key_use){IN_FORCE, is_cluster ? id : ONEIB_NO_ID};
    }
}

/* A ledger of yesterday, or one that two have written at once, does not know of it: as if it
 * rested. */
static void hold_what_hosts_tell_of(const struct oneib_cloud *cloud, struct key_uses *uses)
{
    for (size_t i = 0; i < cloud->host_count; i++)
        for (size_t j = 0; j < cloud->hosts[i].key_count; j++) {
            struct key_use *use = use_of(uses, cloud->hosts[i].keys[j]);
            if (use->hold == FREE)
                *use = (struct key_use){RESTS, ONEIB_NO_ID};
        }
}

/* Whatever is written later counts more. */
static void fill_uses(const struct oneib_work *work, struct key_uses *uses)
{
    const struct oneib_ledger *ledger = work->ledger;
    hold_in_force(uses, work->in_force);
    for (size_t i = 0; i < work->static_partitions->count; i++)
        *use_of(uses, work->static_partitions->items[i].pkey) =
            (struct key_use){OF_STATIC, ONEIB_NO_ID};
    for (size_t i = 0; i < ledger->network_count; i++)
        uses->items[ledger->networks[i].pkey] =
            (struct key_use){OF_NETWORK, ledger->networks[i].network_id};
    for (size_t i = 0; i < ledger->resting_count; i++)
        uses->items[ledger->resting[i].pkey] =
            (struct key_use){RESTS, ledger->resting[i].network_id};
    hold_what_hosts_tell_of(work->cloud, uses);
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (oneib_network_is_operators(&work->cloud->networks[i]))
            uses->shown[oneib_stated_key(&work->cloud->networks[i])] = true;
}

/* What is in force for a network is its own. */
static bool is_free_for(const struct key_uses *uses, oneib_pkey pkey, uint32_t network_id)
{
    const struct key_use *use = &uses->items[pkey];
    return use->hold == FREE || (use->hold == IN_FORCE && use->network_id == network_id);
}

/* Of what cannot be read nobody knows whether it shares or needs a key; of what is being created
 * oned's word is not final. */
static bool has_own_key(const struct oneib_work *work, const struct oneib_network *network)
{
    const struct oneib_network *parent = oneib_parent_of(work, network);
    return !network->being_created && !network->other_driver &&
           !oneib_network_is_doubtful(network) && !(parent && parent->unreadable) &&
           !oneib_is_of_another_driver(work, network) && !oneib_shares_its_parents(work, network);
}

/* oned copies the parent's VLAN_ID into a reservation: that is nobody's decision. */
static bool states_its_parents_key(const struct oneib_work *work,
                                   const struct oneib_network *network)
{
    const struct oneib_network *parent = oneib_parent_of(work, network);
    const oneib_pkey stated = oneib_stated_key(network);
    return parent && stated != 0 &&
           (stated == oneib_stated_key(parent) || stated == oneib_key_of(work, parent));
}

/* The key that the operator wishes for the network, and that it does not have; 0: none. A tenant's
 * wishes nothing. */
static oneib_pkey wish_of(const struct oneib_work *work, const struct oneib_network *network)
{
    const oneib_pkey stated = oneib_stated_key(network);
    if (!has_own_key(work, network) || !oneib_network_is_operators(network) ||
        states_its_parents_key(work, network) || stated == oneib_key_of(work, network))
        return 0;
    return stated;
}

/* Somebody typed something: it is not overwritten. */
static bool is_mistyped(const struct oneib_network *network)
{
    return oneib_network_is_operators(network) && network->key_state != ONEIB_KEY_MISSING &&
           oneib_stated_key(network) == 0;
}

static void append_holder(struct oneib_work *work, const struct key_use *use,
                          struct oneib_text *text)
{
    if (use->hold == OF_NETWORK)
        oneib_text_printf(text, "%s has", oneib_name_network(work, use->network_id).text);
    else if (use->hold == IN_FORCE)
        oneib_text_append(text, "is in force for others");
    else if (use->network_id == ONEIB_NO_ID)
        oneib_text_append(text, "a host may still hold");
    else
        oneib_text_printf(text, "was network %" PRIu32 "'s, and a host may still hold",
                          use->network_id);
}

static void append_outcome(const struct oneib_work *work, const struct oneib_network *network,
                           struct oneib_text *text)
{
    const oneib_pkey pkey = oneib_key_of(work, network);
    if (pkey)
        oneib_text_printf(text, "it keeps P_Key 0x%04x", pkey);
    else
        oneib_text_append(text, "it gets no members");
}

static void say_reserved(struct oneib_work *work, const struct oneib_network *network,
                         oneib_pkey wish)
{
    oneib_autotext struct oneib_text outcome = {0};
    append_outcome(work, network, &outcome);
    oneib_findings_note(
        work->findings, ONEIB_FINDING_PKEY_RESERVED,
        "%s has P_Key 0x%04x (VLAN_ID %u), which a static partition of the operator's uses: %s",
        oneib_name_network(work, network->id).text, wish, wish, outcome.data);
}

static void say_conflict(struct oneib_work *work, const struct oneib_network *network,
                         oneib_pkey wish, const struct key_use *use)
{
    oneib_autotext struct oneib_text holder = {0}, outcome = {0};
    append_holder(work, use, &holder);
    append_outcome(work, network, &outcome);
    oneib_findings_note(work->findings, ONEIB_FINDING_PKEY_CONFLICT,
                        "%s is to have P_Key 0x%04x (VLAN_ID %u), which %s: %s",
                        oneib_name_network(work, network->id).text, wish, wish, holder.data,
                        outcome.data);
}

static void say_mistyped(struct oneib_work *work, const struct oneib_network *network)
{
    oneib_autotext struct oneib_text outcome = {0};
    append_outcome(work, network, &outcome);
    oneib_findings_note(work->findings, ONEIB_FINDING_PKEY_INVALID,
                        "%s has a VLAN_ID that is no P_Key: %s",
                        oneib_name_network(work, network->id).text, outcome.data);
}

static void request(struct oneib_work *work, const struct oneib_network *network, oneib_pkey pkey,
                    struct key_uses *uses)
{
    struct oneib_desired *desired = work->desired;
    ONEIB_APPEND(
        desired->requests, desired->request_count, desired->request_capacity,
        (struct oneib_key_request){.network_id = network->id, .owner = network->uid, .pkey = pkey});
    if (pkey)
        uses->items[pkey] = (struct key_use){OF_NETWORK, network->id};
}

/* Wishes first: a key from the ring can be another one. */
static void meet_wishes(struct oneib_work *work, struct key_uses *uses)
{
    for (size_t i = 0; i < work->cloud->network_count; i++) {
        const struct oneib_network *network = &work->cloud->networks[i];
        const oneib_pkey wish = wish_of(work, network);
        if (wish == 0)
            continue;
        if (is_free_for(uses, wish, network->id)) {
            request(work, network, wish, uses);
            continue;
        }
        const struct key_use *use = &uses->items[wish];
        if (work->entitlements[i].pkey == 0)
            work->entitlements[i].member_status = ONEIB_MEMBER_STATUS_KEY_CONFLICT;
        work->desired->wishes_at_rest += use->hold == RESTS;
        if (use->hold == OF_STATIC)
            say_reserved(work, network, wish);
        else
            say_conflict(work, network, wish, use);
    }
}

static bool needs_a_key(const struct oneib_work *work, const struct oneib_network *network)
{
    return has_own_key(work, network) && oneib_key_of(work, network) == 0 &&
           wish_of(work, network) == 0 && !is_mistyped(network);
}

static void say_needs_key(struct oneib_work *work, const struct oneib_network *network)
{
    if (!states_its_parents_key(work, network))
        return;
    oneib_findings_note(work->findings, ONEIB_FINDING_RESERVATION_NEEDS_KEY,
                        "%s is a reservation from %s and still has a copy of its P_Key "
                        "0x%04x: it is waiting for one of its own",
                        oneib_name_network(work, network->id).text,
                        oneib_name_network(work, network->parent_id).text, network->pkey);
}

/* Keys are taken in a ring, so that one that was a network's comes again as late as can be. */
static oneib_pkey next_in_ring(const struct oneib_work *work, const struct key_uses *uses)
{
    const unsigned first = work->policy->pkey_first, last = work->policy->pkey_last;
    const unsigned begin = work->desired->next, count = last - first + 1;
    const unsigned start = begin >= first && begin <= last ? begin - first : 0;
    for (unsigned step = 0; step < count; step++) {
        const unsigned key = first + (start + step) % count;
        if (uses->items[key].hold == FREE && !uses->shown[key])
            return (oneib_pkey)key;
    }
    return 0;
}

static bool has_too_many_at_rest(const struct oneib_work *work, const struct oneib_network *network)
{
    size_t count = 0;
    if (oneib_network_is_operators(network))
        return false;
    for (size_t i = 0; i < work->ledger->resting_count; i++)
        count += work->ledger->resting[i].owner == network->uid;
    return count >= work->policy->resting_max;
}

static void say_too_many(struct oneib_work *work, const struct oneib_network *network)
{
    oneib_findings_note(
        work->findings, ONEIB_FINDING_PKEYS_RESTING,
        "%s gets no P_Key: %" PRIu32 " keys of networks that its owner, user %" PRIu32
        ", has deleted may still be held by hosts (pkeys.resting)",
        oneib_name_network(work, network->id).text, work->policy->resting_max, network->uid);
}

static void say_exhausted(struct oneib_work *work, size_t without, uint32_t first_id)
{
    if (without == 0)
        return;
    oneib_findings_note(work->findings, ONEIB_FINDING_PKEYS_EXHAUSTED,
                        "no free P_Key is left in %u-%u: %zu networks are without one, the "
                        "first is %s",
                        work->policy->pkey_first, work->policy->pkey_last, without,
                        oneib_name_network(work, first_id).text);
}

/* A tenant, and what the networks of the tenant have. */
struct key_owner {
    uint32_t uid;
    size_t keys;
    size_t beyond;         /* networks that get none, for `keys` are as many as one may have */
    uint32_t first_beyond; /* of these; the id */
};

struct key_owners {
    struct key_owner *items; /* by uid, each once */
    size_t count;
};

ONEIB_ORDER_BY(compare_owners, struct key_owner, uid);

static void list_owners(const struct oneib_work *work, struct key_owners *owners)
{
    *owners = (struct key_owners){
        .items = oneib_alloc(work->cloud->network_count + 1, sizeof *owners->items)};
    size_t count = 0;
    for (size_t i = 0; i < work->cloud->network_count; i++) {
        const struct oneib_network *network = &work->cloud->networks[i];
        owners->items[count++] =
            (struct key_owner){.uid = network->uid, .keys = oneib_key_of(work, network) != 0};
    }
    ONEIB_SORT(owners->items, count, compare_owners);
    for (size_t i = 0; i < count; i++) {
        struct key_owner *last = owners->count ? &owners->items[owners->count - 1] : NULL;
        if (last && last->uid == owners->items[i].uid)
            last->keys += owners->items[i].keys;
        else
            owners->items[owners->count++] = owners->items[i];
    }
}

/* Whether the network may have one more; if so, it counts as given. The range is everybody's: who
 * makes networks must not use it up. */
static bool may_own_another(const struct oneib_work *work, struct key_owners *owners,
                            const struct oneib_network *network)
{
    const struct key_owner wanted = {.uid = network->uid};
    struct key_owner *owner = ONEIB_FIND(&wanted, owners->items, owners->count, compare_owners);
    if (!owner || work->policy->owned_max == 0 || oneib_network_is_operators(network))
        return true;
    if (owner->keys < work->policy->owned_max) {
        owner->keys++;
        return true;
    }
    if (owner->beyond++ == 0)
        owner->first_beyond = network->id;
    return false;
}

static void say_owned(struct oneib_work *work, const struct key_owners *owners)
{
    for (size_t i = 0; i < owners->count; i++) {
        const struct key_owner *owner = &owners->items[i];
        if (owner->beyond == 0)
            continue;
        oneib_findings_note(work->findings, ONEIB_FINDING_PKEYS_OWNED,
                            "networks of user %" PRIu32 " have as many P_Keys as they may "
                            "(pkeys.owned, %" PRIu32 "): %zu get none, the first is %s",
                            owner->uid, work->policy->owned_max, owner->beyond,
                            oneib_name_network(work, owner->first_beyond).text);
    }
}

static void give_to_each(struct oneib_work *work, struct key_uses *uses, struct key_owners *owners)
{
    size_t without = 0;
    uint32_t first_without = 0;
    for (size_t i = 0; i < work->cloud->network_count; i++) {
        const struct oneib_network *network = &work->cloud->networks[i];
        if (!needs_a_key(work, network) || !may_own_another(work, owners, network))
            continue;
        const bool waits = has_too_many_at_rest(work, network);
        const oneib_pkey pkey = waits ? 0 : next_in_ring(work, uses);
        if (waits)
            say_too_many(work, network);
        if (!waits && pkey == 0 && without++ == 0)
            first_without = network->id;
        if (pkey)
            work->desired->next = (oneib_pkey)(pkey + 1);
        request(work, network, pkey, uses);
        say_needs_key(work, network);
    }
    say_exhausted(work, without, first_without);
}

static bool anybody_needs_a_key(const struct oneib_work *work)
{
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (needs_a_key(work, &work->cloud->networks[i]))
            return true;
    return false;
}

/* Nearly always nobody needs one: what owners have is not counted then. */
static void give_from_ring(struct oneib_work *work, struct key_uses *uses)
{
    struct key_owners owners;
    if (!anybody_needs_a_key(work))
        return;
    list_owners(work, &owners);
    give_to_each(work, uses, &owners);
    say_owned(work, &owners);
    free(owners.items);
}

static void say_all_mistyped(struct oneib_work *work)
{
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (has_own_key(work, &work->cloud->networks[i]) && is_mistyped(&work->cloud->networks[i]))
            say_mistyped(work, &work->cloud->networks[i]);
}

/* The key that VLAN_ID is to show; 0: it stays as it is. A wish that cannot be met stays, too: it
 * may be met later. */
static oneib_pkey copy_for(const struct oneib_work *work, size_t index)
{
    const struct oneib_network *network = &work->cloud->networks[index];
    const struct oneib_network *parent = oneib_parent_of(work, network);
    oneib_pkey pkey = oneib_key_of(work, network);
    if (network->being_created || network->other_driver || oneib_network_is_doubtful(network) ||
        (parent && parent->unreadable))
        return 0;
    if (oneib_shares_its_parents(work, network))
        pkey = work->entitlements[index].pkey;
    else if (wish_of(work, network) != 0 || is_mistyped(network))
        return 0;
    return pkey == oneib_stated_key(network) ? 0 : pkey;
}

static void list_copies(struct oneib_work *work)
{
    struct oneib_desired *desired = work->desired;
    for (size_t i = 0; i < work->cloud->network_count; i++) {
        const oneib_pkey pkey = copy_for(work, i);
        if (pkey == 0)
            continue;
        ONEIB_APPEND(
            desired->copies, desired->copy_count, desired->copy_capacity,
            (struct oneib_key_copy){.network_id = work->cloud->networks[i].id, .pkey = pkey});
    }
}

static bool is_sharer(const struct oneib_work *work, const struct oneib_network *network)
{
    return !oneib_network_is_doubtful(network) && !network->being_created &&
           oneib_shares_its_parents(work, network);
}

static void list_unused(struct oneib_work *work)
{
    struct oneib_desired *desired = work->desired;
    for (size_t i = 0; i < work->ledger->network_count; i++) {
        const uint32_t id = work->ledger->networks[i].network_id;
        const struct oneib_network *network = oneib_cloud_network(work->cloud, id);
        if (network && !is_sharer(work, network))
            continue;
        ONEIB_APPEND(desired->unused, desired->unused_count, desired->unused_capacity,
                     (struct oneib_unused_key){.network_id = id, .is_sharer = network != NULL});
    }
}

/* A host that the ledger knows and oned does not: what it holds nobody can say. */
static bool is_lost(const struct oneib_work *work, const struct oneib_ledger_host *host)
{
    return !oneib_cloud_host(work->cloud, host->host_id);
}

static void find_lost_hosts(struct oneib_work *work, bool *any)
{
    for (size_t i = 0; i < work->ledger->host_count; i++) {
        const uint32_t id = work->ledger->hosts[i].host_id;
        oneib_autotext struct oneib_text fix = {0};
        if (!is_lost(work, &work->ledger->hosts[i]))
            continue;
        *any = true;
        oneib_text_printf(&fix, "when it is off for good: oneib host forget %" PRIu32, id);
        oneib_findings_note_with(work->findings, ONEIB_FINDING_HOST_GONE, ONEIB_WARNING, fix.data,
                                 "%s is not in OpenNebula any more, and may still hold P_Keys: no "
                                 "P_Key that was in use is released",
                                 oneib_name_host(work, id).text);
    }
}

/* An adapter's port that did not say what it holds may hold it. */
static bool may_be_on_a_port(const struct oneib_subnet *subnet, oneib_pkey pkey)
{
    for (size_t i = 0; i < subnet->port_count; i++) {
        const struct oneib_subnet_port *port = &subnet->ports[i];
        if (!port->answered && port->node_type == ONEIB_NODE_CA)
            return true;
        for (size_t j = 0; port->answered && j < port->partition_cap; j++)
            if (oneib_pkey_base(port->pkeys[j]) == pkey)
                return true;
    }
    return false;
}

static bool may_be_held(const struct oneib_work *work, oneib_pkey pkey)
{
    for (size_t i = 0; i < work->cloud->host_count; i++)
        if (oneib_host_may_hold(&work->cloud->hosts[i], pkey))
            return true;
    return oneib_partition_table_find(work->in_force, pkey) || may_be_on_a_port(work->subnet, pkey);
}

/* Without the file or the fabric nobody knows. */
static void list_idle(struct oneib_work *work)
{
    struct oneib_desired *desired = work->desired;
    bool lost = false;
    find_lost_hosts(work, &lost);
    if (lost || !work->in_force || !work->subnet)
        return;
    for (size_t i = 0; i < work->ledger->resting_count; i++) {
        const oneib_pkey pkey = work->ledger->resting[i].pkey;
        if (may_be_held(work, pkey))
            continue;
        ONEIB_APPEND(desired->idle, desired->idle_count, desired->idle_capacity, pkey);
    }
}

/* ---- the operator's static partitions -------------------------------------------------------- */

static bool static_is_in_force(const struct oneib_work *work, oneib_pkey pkey)
{
    uint32_t cluster;
    for (size_t i = 0; work->in_force && i < work->in_force->count; i++)
        if (work->in_force->items[i].pkey == pkey &&
            !oneib_partition_cluster(&work->in_force->items[i], &cluster))
            return true;
    return false;
}

/* Of a lost host that is any key which is a network's, or was one's. */
static uint32_t first_lost_that_may_hold(const struct oneib_work *work, oneib_pkey pkey)
{
    const struct oneib_ledger *ledger = work->ledger;
    if (!oneib_ledger_holder(ledger, pkey) && !oneib_ledger_resting(ledger, pkey))
        return ONEIB_NO_ID;
    for (size_t i = 0; i < ledger->host_count; i++)
        if (is_lost(work, &ledger->hosts[i]))
            return ledger->hosts[i].host_id;
    return ONEIB_NO_ID;
}

/* The host's id; ONEIB_NO_ID: none may. */
static uint32_t first_that_may_hold(const struct oneib_work *work, oneib_pkey pkey)
{
    const struct oneib_cloud *cloud = work->cloud;
    for (size_t i = 0; i < cloud->host_count; i++)
        if (oneib_host_may_hold(&cloud->hosts[i], pkey))
            return cloud->hosts[i].id;
    return first_lost_that_may_hold(work, pkey);
}

/* A VF that is open at the key would be in the operator's partition. */
void oneib_static_must_wait(struct oneib_work *work, const struct oneib_partition *partition,
                            bool *waits)
{
    const uint32_t holder = first_that_may_hold(work, partition->pkey);
    *waits = holder != ONEIB_NO_ID && !static_is_in_force(work, partition->pkey);
    if (!*waits)
        return;
    struct oneib_desired *desired = work->desired;
    ONEIB_APPEND(desired->waiting, desired->waiting_count, desired->waiting_capacity,
                 partition->pkey);
    desired->wishes_at_rest++;
    oneib_findings_note(
        work->findings, ONEIB_FINDING_STATIC_PARTITION_WAITS,
        "static partition \"%.31s\" (0x%04x) is not put into force yet: %s may hold that "
        "P_Key still, as a network's",
        partition->name, partition->pkey, oneib_name_host(work, holder).text);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void plan(struct oneib_work *work, struct key_uses *uses)
{
    fill_uses(work, uses);
    say_all_mistyped(work);
    meet_wishes(work, uses);
    give_from_ring(work, uses);
    list_copies(work);
    list_unused(work);
    list_idle(work);
}

void oneib_plan_keys(struct oneib_work *work)
{
    work->desired->next = work->ledger->next;
    if (work->keys_stay)
        return;
    struct key_uses *uses = oneib_alloc(1, sizeof *uses);
    plan(work, uses);
    free(uses);
}
