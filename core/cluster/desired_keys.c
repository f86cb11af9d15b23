// SPDX-License-Identifier: Apache-2.0
/* Which network may use which key, and which NICs have no network. */
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
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

const struct oneib_network *oneib_parent_of(const struct oneib_work *work,
                                            const struct oneib_network *network)
{
    if (network->parent_id == ONEIB_NO_ID || network->parent_id == network->id)
        return NULL;
    return oneib_cloud_network(work->cloud, network->parent_id);
}

bool oneib_shares_its_parents(const struct oneib_work *work, const struct oneib_network *network)
{
    const struct oneib_network *parent =
        network->parent_unproven ? NULL : oneib_parent_of(work, network);
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

static void entitle_nested(struct oneib_work *work, const struct oneib_network *network,
                           struct oneib_entitlement *entitlement)
{
    *entitlement = (struct oneib_entitlement){.cluster = ONEIB_NO_INDEX,
                                              .member_status = ONEIB_MEMBER_STATUS_NO_KEY};
    oneib_findings_note(
        work->findings, ONEIB_FINDING_RESERVATION_NESTED,
        "%s shares the partition of %s, which is itself a reservation without a partition of its "
        "own: its VMs get no P_Key",
        oneib_name_network(work, network->id).text,
        oneib_name_network(work, network->parent_id).text);
}

static void say_unproven(struct oneib_work *work, const struct oneib_network *network)
{
    oneib_findings_note(work->findings, ONEIB_FINDING_NETWORK_UNPROVEN,
                        "%s is neither of the group oneadmin nor a reservation to which a network "
                        "of that group leases addresses: it gets no members",
                        oneib_name_network(work, network->id).text);
}

/* The ledger knows a parent that was InfiniBand before somebody switched it, and a reservation that
 * got its key before. */
bool oneib_is_of_another_driver(const struct oneib_work *work, const struct oneib_network *network)
{
    const struct oneib_network *parent = oneib_parent_of(work, network);
    return parent && parent->other_driver && oneib_key_of(work, parent) == 0 &&
           oneib_key_of(work, network) == 0 && !oneib_network_is_operators(network);
}

static void say_of_another_driver(struct oneib_work *work, const struct oneib_network *network)
{
    oneib_findings_note(
        work->findings, ONEIB_FINDING_NETWORK_UNPROVEN,
        "%s has the InfiniBand driver, and its parent %s never had it: it gets no members",
        oneib_name_network(work, network->id).text,
        oneib_name_network(work, network->parent_id).text);
}

static void say_what_is_in_doubt(struct oneib_work *work, const struct oneib_network *network)
{
    if (network->unreadable) /* it has its finding */
        return;
    if (network->parent_unproven) {
        say_unproven(work, network);
        return;
    }
    if (!network->other_driver && oneib_is_of_another_driver(work, network))
        say_of_another_driver(work, network);
}

static void say_reserved(struct oneib_work *work, const struct oneib_network *network,
                         oneib_pkey pkey)
{
    oneib_findings_note(
        work->findings, ONEIB_FINDING_PKEY_RESERVED,
        "%s has P_Key 0x%04x (VLAN_ID %u), which a static partition uses: it gets no members",
        oneib_name_network(work, network->id).text, pkey, pkey);
}

static bool may_be_entitled(const struct oneib_work *work, size_t index)
{
    return !work->cloud->networks[index].other_driver || work->kept[index];
}

/* The ledger gives no key to two networks. */
static void entitle_own(struct oneib_work *work, uint32_t index)
{
    const struct oneib_network *network = &work->cloud->networks[index];
    struct oneib_entitlement *entitlement = &work->entitlements[index];
    const oneib_pkey pkey = oneib_key_of(work, network);
    say_what_is_in_doubt(work, network);
    *entitlement = (struct oneib_entitlement){
        .cluster = index,
        .member_status = ONEIB_MEMBER_STATUS_NO_KEY,
        .membership = (uint8_t)oneib_network_membership(work->cloud, network),
        .given = (uint8_t)oneib_network_given(work->cloud, network)};
    if (pkey == 0)
        return;
    if (work->static_use.keys[pkey]) {
        entitlement->member_status = ONEIB_MEMBER_STATUS_KEY_CONFLICT;
        say_reserved(work, network, pkey);
        return;
    }
    if (!oneib_key_is_taken(work, pkey)) {
        entitlement->member_status = ONEIB_MEMBER_STATUS_KEY_CONFLICT;
        oneib_say_key_refused(work, network, pkey);
        return;
    }
    /* One that is in doubt keeps the key, and uses it not. */
    entitlement->pkey = pkey;
    if (!oneib_network_is_doubtful(network))
        entitlement->member_status = ONEIB_MEMBER_STATUS_MEMBER;
}

static void entitle_owners(struct oneib_work *work)
{
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (may_be_entitled(work, i) && !oneib_shares_its_parents(work, &work->cloud->networks[i]))
            entitle_own(work, (uint32_t)i);
}

/* It has no key of its own, whatever its document says: the parent's, or none. */
static void entitle_sharer(struct oneib_work *work, uint32_t index)
{
    const struct oneib_network *network = &work->cloud->networks[index];
    const struct oneib_network *parent = oneib_parent_of(work, network);
    struct oneib_entitlement *entitlement = &work->entitlements[index];
    if (oneib_shares_its_parents(work, parent)) {
        entitle_nested(work, network, entitlement);
        return;
    }

    *entitlement = work->entitlements[parent - work->cloud->networks];
    if (network->unreadable)
        entitlement->member_status = ONEIB_MEMBER_STATUS_NO_KEY;
    entitlement->membership =
        (uint8_t)oneib_narrower(oneib_network_membership(work->cloud, parent),
                                oneib_network_membership(work->cloud, network));
    entitlement->given = (uint8_t)oneib_narrower(oneib_network_given(work->cloud, parent),
                                                 oneib_network_given(work->cloud, network));

    struct oneib_desired *desired = work->desired;
    ONEIB_APPEND(desired->sharers, desired->sharer_count, desired->sharer_capacity,
                 (struct oneib_sharer){.network_id = network->id, .cluster_id = parent->id});
}

static void entitle_sharers(struct oneib_work *work)
{
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (may_be_entitled(work, i) && oneib_shares_its_parents(work, &work->cloud->networks[i]))
            entitle_sharer(work, (uint32_t)i);
}

void oneib_entitle(struct oneib_work *work)
{
    const size_t count = work->cloud->network_count;
    work->entitlements = oneib_alloc(count ? count : 1, sizeof *work->entitlements);
    for (size_t i = 0; i < count; i++)
        work->entitlements[i] = (struct oneib_entitlement){
            .cluster = ONEIB_NO_INDEX, .member_status = ONEIB_MEMBER_STATUS_NO_NETWORK};
    oneib_find_switched(work);
    entitle_owners(work);
    entitle_sharers(work);
    oneib_say_switched(work);
}

static void say_unleased(struct oneib_work *work, const struct oneib_attachment *attachment)
{
    oneib_findings_note(
        work->findings, ONEIB_FINDING_NIC_UNLEASED,
        "%s says that it is of %s, and that network leases it no address: it gets no membership",
        oneib_name_nic(work, attachment).text,
        oneib_network_id_shown(work->cloud, attachment->network_id).text);
}

static void say_network_missing(struct oneib_work *work, const struct oneib_attachment *attachment)
{
    oneib_findings_note(
        work->findings, ONEIB_FINDING_NETWORK_MISSING,
        "%s is in %s, which does not exist or is no longer InfiniBand: it gets no membership",
        oneib_name_nic(work, attachment).text,
        oneib_network_id_shown(work->cloud, attachment->network_id).text);
}

static bool has_no_network(const struct oneib_work *work, const struct oneib_attachment *attachment)
{
    const struct oneib_network *network = oneib_cloud_network(work->cloud, attachment->network_id);
    if (!network)
        return true;
    return work->entitlements[network - work->cloud->networks].member_status ==
           ONEIB_MEMBER_STATUS_NO_NETWORK;
}

void oneib_examine_attachments(struct oneib_work *work)
{
    for (size_t i = 0; i < work->cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &work->cloud->attachments[i];
        if (attachment->phase == ONEIB_ABSENT)
            continue;
        if (attachment->unleased)
            say_unleased(work, attachment);
        else if (has_no_network(work, attachment))
            say_network_missing(work, attachment);
    }
}

/* ---- what oned shows ------------------------------------------------------------------------- */

/* A member whose NIC shows another key than its network has. */
struct shown_key {
    uint32_t network_id;
    oneib_pkey shown, pkey;
    size_t attachment;
};

ONEIB_ORDER_BY(compare_shown, struct shown_key, network_id, shown, pkey, attachment);

static size_t list_shown(const struct oneib_work *work, struct shown_key *items)
{
    size_t count = 0;
    for (size_t i = 0; i < work->binding_count; i++) {
        const struct oneib_binding *binding = &work->bindings[i];
        const struct oneib_attachment *attachment = &work->cloud->attachments[binding->attachment];
        if (binding->member_status == ONEIB_MEMBER_STATUS_MEMBER && !binding->is_source &&
            attachment->shown_pkey != 0 && attachment->shown_pkey != binding->pkey)
            items[count++] = (struct shown_key){attachment->network_id, attachment->shown_pkey,
                                                binding->pkey, binding->attachment};
    }
    ONEIB_SORT(items, count, compare_shown);
    return count;
}

/* Of one network and key. */
static void say_shown(struct oneib_work *work, const struct shown_key *items, size_t count)
{
    oneib_autotext struct oneib_text names = {0}, holder = {0};
    const struct oneib_ledger_network *entry = oneib_ledger_holder(work->ledger, items->shown);
    for (size_t i = 0; i < count; i++)
        oneib_name_attachment(work, &names, &work->cloud->attachments[items[i].attachment], i);
    oneib_close_names(&names, count);
    if (entry)
        oneib_text_printf(&holder, ", the P_Key of %s",
                          oneib_network_id_shown(work->cloud, entry->network_id).text);
    oneib_findings_note(
        work->findings, ONEIB_FINDING_NIC_KEY_SHOWN,
        "OpenNebula shows VLAN_ID %u (%s)%s at %s of %s; in force there is %s alone", items->shown,
        oneib_pkey_shown(items->shown).text, holder.data ? holder.data : "", names.data,
        oneib_name_network(work, items->network_id).text, oneib_pkey_shown(items->pkey).text);
}

void oneib_compare_shown_keys(struct oneib_work *work)
{
    struct shown_key *items = oneib_alloc(work->binding_count + 1, sizeof *items);
    const size_t count = list_shown(work, items);
    for (size_t i = 0, run; i < count; i += run) {
        run = ONEIB_RUN(j, i, count,
                        items[j].network_id == items[i].network_id &&
                            items[j].shown == items[i].shown && items[j].pkey == items[i].pkey);
        say_shown(work, &items[i], run);
    }
    free(items);
}
