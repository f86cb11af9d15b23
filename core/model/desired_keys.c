// SPDX-License-Identifier: Apache-2.0
/* Which network may use which key, and which claims bar a key from a port. */
#include "base/array.h"
#include "model/desired_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool may_be_a_clusters(oneib_pkey pkey)
{
    return pkey >= ONEIB_PKEY_FIRST && pkey <= ONEIB_PKEY_LAST;
}

oneib_pkey oneib_stated_key(const struct oneib_network *network)
{
    if (network->key_state != ONEIB_KEY_VALID || !may_be_a_clusters(network->pkey))
        return 0;
    return network->pkey;
}

oneib_pkey oneib_claimed_key(const struct oneib_attachment *attachment)
{
    if (attachment->claim != ONEIB_KEY_VALID || !may_be_a_clusters(attachment->claimed_pkey))
        return 0;
    return attachment->claimed_pkey;
}

const struct oneib_network *oneib_parent_of(const struct oneib_work *work,
                                            const struct oneib_network *network)
{
    if (network->parent_id == ONEIB_NO_ID || network->parent_id == network->id)
        return NULL;
    return oneib_cloud_network(work->cloud, network->parent_id);
}

bool oneib_shares_its_parents(const struct oneib_work *work, const struct oneib_network *network)
{
    const struct oneib_network *parent = oneib_parent_of(work, network);
    const struct oneib_network *rules = parent ? oneib_network_rules(work->cloud, parent) : NULL;
    return rules && rules->reservations_share;
}

const struct oneib_network *oneib_key_giver(const struct oneib_work *work,
                                            const struct oneib_network *network)
{
    return oneib_shares_its_parents(work, network) ? oneib_parent_of(work, network) : network;
}

oneib_pkey oneib_key_of(const struct oneib_work *work, const struct oneib_network *network)
{
    const struct oneib_ledger_network *entry = oneib_ledger_network(work->ledger, network->id);
    return entry ? entry->pkey : 0;
}

static int entitle_nested(struct oneib_work *work, const struct oneib_network *network,
                          struct oneib_entitlement *entitlement, struct oneib_error *err)
{
    *entitlement =
        (struct oneib_entitlement){.cluster = ONEIB_NO_INDEX, .verdict = ONEIB_VERDICT_NO_KEY};
    return oneib_findings_add(
        work->findings, ONEIB_WARNING, "reservation-nested",
        "reserve from the first network, or remove IB_RESERVATION from the one between", err,
        "%s shares the partition of %s, which is itself a reservation without a partition of its "
        "own: its VMs get no P_Key",
        oneib_name_network(work, network->id).text,
        oneib_name_network(work, network->parent_id).text);
}

static int say_reserved(struct oneib_work *work, const struct oneib_network *network,
                        oneib_pkey pkey, struct oneib_error *err)
{
    return oneib_findings_add(work->findings, ONEIB_WARNING, "pkey-reserved",
                              "give the network another VLAN_ID, or take the partition out of the "
                              "fragment",
                              err,
                              "%s has P_Key 0x%04x (VLAN_ID %u), which the "
                              "operator's fragment uses: it gets no members",
                              oneib_name_network(work, network->id).text, pkey, pkey);
}

static bool may_be_entitled(const struct oneib_work *work, size_t index)
{
    return !work->cloud->networks[index].other_driver || work->kept[index];
}

/* The ledger gives no key to two networks. */
static int entitle_own(struct oneib_work *work, uint32_t index, struct oneib_error *err)
{
    const struct oneib_network *network = &work->cloud->networks[index];
    struct oneib_entitlement *entitlement = &work->entitlements[index];
    const oneib_pkey pkey = oneib_key_of(work, network);
    *entitlement = (struct oneib_entitlement){
        .cluster = index,
        .verdict = ONEIB_VERDICT_NO_KEY,
        .membership = (uint8_t)oneib_network_membership(work->cloud, network)};
    if (pkey == 0)
        return 0;
    if (work->fragment_use.keys[pkey]) {
        entitlement->verdict = ONEIB_VERDICT_KEY_CONFLICT;
        return say_reserved(work, network, pkey, err);
    }
    /* One that is unreadable keeps the key, and uses it not. */
    entitlement->pkey = pkey;
    if (!network->unreadable)
        entitlement->verdict = ONEIB_VERDICT_MEMBER;
    return 0;
}

static int entitle_owners(struct oneib_work *work, struct oneib_error *err)
{
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (may_be_entitled(work, i) &&
            !oneib_shares_its_parents(work, &work->cloud->networks[i]) &&
            entitle_own(work, (uint32_t)i, err) < 0)
            return -1;
    return 0;
}

/* It has no key of its own, whatever its document says: the parent's, or none. */
static int entitle_sharer(struct oneib_work *work, uint32_t index, struct oneib_error *err)
{
    const struct oneib_network *network = &work->cloud->networks[index];
    const struct oneib_network *parent = oneib_parent_of(work, network);
    struct oneib_entitlement *entitlement = &work->entitlements[index];
    if (oneib_shares_its_parents(work, parent))
        return entitle_nested(work, network, entitlement, err);

    *entitlement = work->entitlements[parent - work->cloud->networks];
    entitlement->membership =
        (uint8_t)oneib_narrower(oneib_network_membership(work->cloud, parent),
                                oneib_network_membership(work->cloud, network));

    struct oneib_desired *desired = work->desired;
    if (oneib_reserve(&desired->sharers, &desired->sharer_capacity, desired->sharer_count + 1,
                      sizeof *desired->sharers, err) < 0)
        return -1;
    desired->sharers[desired->sharer_count++] =
        (struct oneib_sharer){.network_id = network->id, .cluster_id = parent->id};
    return 0;
}

static int entitle_sharers(struct oneib_work *work, struct oneib_error *err)
{
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (may_be_entitled(work, i) && oneib_shares_its_parents(work, &work->cloud->networks[i]) &&
            entitle_sharer(work, (uint32_t)i, err) < 0)
            return -1;
    return 0;
}

int oneib_entitle(struct oneib_work *work, struct oneib_error *err)
{
    const size_t count = work->cloud->network_count;
    work->entitlements = calloc(count ? count : 1, sizeof *work->entitlements);
    if (!work->entitlements)
        return oneib_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        work->entitlements[i] = (struct oneib_entitlement){.cluster = ONEIB_NO_INDEX,
                                                           .verdict = ONEIB_VERDICT_NO_NETWORK};
    if (oneib_find_switched(work, err) < 0 || entitle_owners(work, err) < 0 ||
        entitle_sharers(work, err) < 0)
        return -1;
    return oneib_say_switched(work, err);
}

/* The key that the attachment claims without being entitled to it; 0: it does not. What no network
 * leases is anybody's text: it gets nothing, and bars nobody. */
static oneib_pkey unentitled_claim(const struct oneib_work *work,
                                   const struct oneib_attachment *attachment)
{
    oneib_pkey claimed = oneib_claimed_key(attachment);
    const struct oneib_network *network = oneib_cloud_network(work->cloud, attachment->network_id);
    if (attachment->unleased ||
        (network && work->entitlements[network - work->cloud->networks].pkey == claimed))
        return 0;
    return claimed;
}

static int say_claimed(struct oneib_work *work, const struct oneib_attachment *attachment,
                       oneib_pkey claimed, struct oneib_error *err)
{
    return oneib_findings_add(
        work->findings, ONEIB_VIOLATION, "pkey-claimed",
        "wait for the VM's update, or detach the NIC and attach it again; if "
        "it stays, look for who changed the NIC's VLAN_ID",
        err,
        "%s of %s claims P_Key 0x%04x (VLAN_ID %u) without being entitled to it: on the ports of "
        "%s it is in force for nobody",
        oneib_name_nic(work, attachment).text,
        oneib_network_id_shown(work->cloud, attachment->network_id).text, claimed, claimed,
        oneib_name_host(work, attachment->host_id).text);
}

/*
 * Every port of the host: which of them the VF sits on only the node knows. The network may be
 * gone, or its PHYDEV may have changed after the VM started.
 */
static int bar_on_host(struct oneib_work *work, uint32_t host_id, uint32_t network_id,
                       oneib_pkey pkey, struct oneib_error *err)
{
    struct oneib_desired *desired = work->desired;
    const struct oneib_host *host = oneib_cloud_host(work->cloud, host_id);
    if (host_id == ONEIB_NO_ID || !host)
        return 0;
    if (oneib_reserve(&desired->barred, &desired->barred_capacity,
                      desired->barred_count + host->port_count, sizeof *desired->barred, err) < 0)
        return -1;
    for (size_t i = 0; i < host->port_count; i++)
        desired->barred[desired->barred_count++] = (struct oneib_barred_key){
            .port_guid = host->ports[i].port_guid, .network_id = network_id, .pkey = pkey};
    return 0;
}

static int compare_barred(const void *a, const void *b)
{
    const struct oneib_barred_key *left = a, *right = b;
    if (left->port_guid != right->port_guid)
        return left->port_guid < right->port_guid ? -1 : 1;
    return (left->pkey > right->pkey) - (left->pkey < right->pkey);
}

static void merge_barred(struct oneib_desired *desired)
{
    if (desired->barred_count == 0)
        return;
    qsort(desired->barred, desired->barred_count, sizeof *desired->barred, compare_barred);
    size_t kept = 0;
    for (size_t i = 1; i < desired->barred_count; i++) {
        if (compare_barred(&desired->barred[kept], &desired->barred[i]) != 0)
            desired->barred[++kept] = desired->barred[i];
        else if (desired->barred[kept].network_id != desired->barred[i].network_id)
            desired->barred[kept].network_id = ONEIB_NO_ID;
    }
    desired->barred_count = kept + 1;
}

static int bar_claim(struct oneib_work *work, const struct oneib_attachment *attachment,
                     oneib_pkey claimed, struct oneib_error *err)
{
    if (say_claimed(work, attachment, claimed, err) < 0 ||
        bar_on_host(work, attachment->host_id, attachment->network_id, claimed, err) < 0)
        return -1;
    if (attachment->presence != ONEIB_MIGRATING)
        return 0;
    return bar_on_host(work, attachment->source_host_id, attachment->network_id, claimed, err);
}

static int say_unleased(struct oneib_work *work, const struct oneib_attachment *attachment,
                        struct oneib_error *err)
{
    return oneib_findings_add(work->findings, ONEIB_VIOLATION, "nic-unleased",
                              "read the VM's document (onevm show -x): if oned did not make this "
                              "NIC, somebody forged it; "
                              "terminate the VM",
                              err,
                              "%s says that it is of %s"
                              ", and that network leases it no address: it gets nothing",
                              oneib_name_nic(work, attachment).text,
                              oneib_network_id_shown(work->cloud, attachment->network_id).text);
}

static int say_network_missing(struct oneib_work *work, const struct oneib_attachment *attachment,
                               struct oneib_error *err)
{
    return oneib_findings_add(
        work->findings, ONEIB_WARNING, "network-missing",
        "detach the NIC, or make the network an InfiniBand one again", err,
        "%s is of %s, which is gone, or not InfiniBand any more and without the P_Key of this NIC: "
        "it gets nothing",
        oneib_name_nic(work, attachment).text,
        oneib_network_id_shown(work->cloud, attachment->network_id).text);
}

bool oneib_has_no_network(const struct oneib_work *work, const struct oneib_attachment *attachment)
{
    const struct oneib_network *network = oneib_cloud_network(work->cloud, attachment->network_id);
    if (!network)
        return true;
    const struct oneib_entitlement *entitlement =
        &work->entitlements[network - work->cloud->networks];
    if (network->other_driver && entitlement->verdict == ONEIB_VERDICT_MEMBER)
        return oneib_claimed_key(attachment) != entitlement->pkey;
    return entitlement->verdict == ONEIB_VERDICT_NO_NETWORK;
}

int oneib_examine_attachments(struct oneib_work *work, struct oneib_error *err)
{
    for (size_t i = 0; i < work->cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &work->cloud->attachments[i];
        if (attachment->presence == ONEIB_ABSENT)
            continue;
        if (attachment->unleased ? say_unleased(work, attachment, err) < 0
                                 : oneib_has_no_network(work, attachment) &&
                                       say_network_missing(work, attachment, err) < 0)
            return -1;
    }
    return 0;
}

static int say_stale(struct oneib_work *work, const struct oneib_attachment *attachment,
                     oneib_pkey claimed, const char *owner, struct oneib_error *err)
{
    return oneib_findings_add(
        work->findings, ONEIB_WARNING, "pkey-stale",
        "detach the NIC and attach it again before the VM starts", err,
        "%s of %s is on no host, and has a copy of P_Key 0x%04x (VLAN_ID %u), which %s has: where "
        "that key is in force the VM would be let in when it starts, until oneib looks again",
        oneib_name_nic(work, attachment).text,
        oneib_network_id_shown(work->cloud, attachment->network_id).text, claimed, claimed, owner);
}

/* owners: index of the network that has each key, ONEIB_NO_INDEX: none. */
static int judge_stale(struct oneib_work *work, const struct oneib_attachment *attachment,
                       oneib_pkey claimed, const uint32_t *owners, struct oneib_error *err)
{
    if (work->fragment_use.keys[claimed])
        return say_stale(work, attachment, claimed, "the operator's fragment", err);
    if (owners[claimed] == ONEIB_NO_INDEX)
        return 0;
    const uint32_t owner = work->cloud->networks[owners[claimed]].id;
    return say_stale(work, attachment, claimed, oneib_name_network(work, owner).text, err);
}

static void map_owners(const struct oneib_work *work, uint32_t *owners)
{
    memset(owners, 0xff, ONEIB_PKEY_COUNT * sizeof *owners);
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (work->entitlements[i].pkey && work->entitlements[i].cluster == i)
            owners[work->entitlements[i].pkey] = (uint32_t)i;
}

/* The key is that of the network itself, which another driver serves now: there is nobody else to
 * be kept apart from. */
static bool claims_its_own(const struct oneib_work *work, const struct oneib_attachment *attachment,
                           oneib_pkey claimed, const uint32_t *owners)
{
    const struct oneib_network *network = oneib_cloud_network(work->cloud, attachment->network_id);
    if (!network || !network->other_driver)
        return false;
    const struct oneib_network *giver = oneib_key_giver(work, network);
    const bool is_anothers =
        owners[claimed] != ONEIB_NO_INDEX && &work->cloud->networks[owners[claimed]] != giver;
    return oneib_stated_key(giver) == claimed && !is_anothers && !work->fragment_use.keys[claimed];
}

static int judge_claims(struct oneib_work *work, const uint32_t *owners, struct oneib_error *err)
{
    for (size_t i = 0; i < work->cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &work->cloud->attachments[i];
        oneib_pkey claimed = unentitled_claim(work, attachment);
        if (claimed == 0 || claims_its_own(work, attachment, claimed, owners))
            continue;
        /* An unknown state may be a running one: only a VM that is certainly on no host bars
         * nothing. */
        int outcome = attachment->presence == ONEIB_ABSENT
                          ? judge_stale(work, attachment, claimed, owners, err)
                          : bar_claim(work, attachment, claimed, err);
        if (outcome < 0)
            return -1;
    }
    return 0;
}

int oneib_bar_claims(struct oneib_work *work, struct oneib_error *err)
{
    uint32_t *owners = malloc(ONEIB_PKEY_COUNT * sizeof *owners);
    if (!owners)
        return oneib_fail_memory(err);
    map_owners(work, owners);
    int outcome = judge_claims(work, owners, err);
    free(owners);
    merge_barred(work->desired);
    return outcome;
}

const struct oneib_barred_key *oneib_barred_key(const struct oneib_desired *desired,
                                                oneib_guid port, oneib_pkey pkey)
{
    const struct oneib_barred_key wanted = {.port_guid = port, .pkey = pkey};
    if (desired->barred_count == 0)
        return NULL;
    return bsearch(&wanted, desired->barred, desired->barred_count, sizeof wanted, compare_barred);
}

bool oneib_is_barred(const struct oneib_desired *desired, oneib_guid port, oneib_pkey pkey)
{
    return oneib_barred_key(desired, port, pkey) != NULL;
}
