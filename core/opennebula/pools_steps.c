// SPDX-License-Identifier: Apache-2.0
#include "opennebula/documents_internal.h"
#include "opennebula/pools_internal.h"

/* Was it read in this run? */
static bool network_is_fresh(const struct oneib_pools *pools, uint32_t id)
{
    return oneib_id_set_has(&pools->networks_asked, id) ||
           oneib_cloud_network(pools->documents.cloud, id);
}

static bool host_is_fresh(const struct oneib_pools *pools, uint32_t id)
{
    return pools->all_hosts || oneib_id_set_has(&pools->hosts_asked, id) ||
           oneib_cloud_host(pools->documents.cloud, id);
}

/* The network as it is known now, also one of another driver; NULL: there is none. */
static const struct oneib_network *network_now(const struct oneib_pools *pools, uint32_t id)
{
    if (network_is_fresh(pools, id))
        return oneib_cloud_network(pools->documents.cloud, id);
    return oneib_cloud_network(pools->base, id);
}

static bool host_is_known(const struct oneib_pools *pools, uint32_t id)
{
    if (host_is_fresh(pools, id))
        return oneib_cloud_host(pools->documents.cloud, id);
    return oneib_cloud_host(pools->base, id);
}

static bool vm_is_known(const struct oneib_cloud *cloud, uint32_t id)
{
    const struct oneib_id_set known = {.items = cloud->vm_ids, .count = cloud->vm_count};
    if (cloud->vm_ids && oneib_id_set_has(&known, id))
        return true;
    /* It was named before, asked for then, and gone. */
    for (size_t i = 0; i < cloud->network_count; i++)
        if (oneib_network_names_vm(&cloud->networks[i], id))
            return true;
    return false;
}

/* New lessees; all of a network that was not known. */
static void add_lessees_of(const struct oneib_pools *pools, const struct oneib_network *network,
                           struct oneib_id_set *vms)
{
    const struct oneib_network *before = oneib_cloud_network(pools->base, network->id);
    for (size_t i = 0; i < network->vm_count; i++)
        if (!before || !oneib_network_names_vm(before, network->vms[i]))
            oneib_id_set_add(vms, network->vms[i]);
}

/* Of another driver's network only VMs that have a NIC of ours count, and get no new ones. */
static void add_attached(const struct oneib_pools *pools, const struct oneib_network *network,
                         struct oneib_id_set *vms)
{
    const struct oneib_cloud *base = pools->base;
    if (oneib_cloud_network(base, network->id))
        return;
    for (size_t i = 0; i < base->attachment_count; i++)
        if (base->attachments[i].network_id == network->id)
            oneib_id_set_add(vms, base->attachments[i].vm_id);
}

static void add_lessees(const struct oneib_pools *pools, struct oneib_id_set *vms)
{
    const struct oneib_cloud *cloud = pools->documents.cloud;
    for (size_t i = 0; i < cloud->network_count; i++)
        if (cloud->networks[i].other_driver)
            add_attached(pools, &cloud->networks[i], vms);
        else
            add_lessees_of(pools, &cloud->networks[i], vms);
}

static void add_unknown_vms(const struct oneib_pools *pools, struct oneib_id_set *vms)
{
    const struct oneib_id_set *named = &pools->documents.vms_named;
    for (size_t i = 0; i < named->count; i++)
        if (!vm_is_known(pools->base, named->items[i]))
            oneib_id_set_add(vms, named->items[i]);
}

void oneib_pools_newly_named(struct oneib_pools *pools, struct oneib_id_set *vms)
{
    struct oneib_documents *documents = &pools->documents;
    oneib_id_set_sort(&documents->vms_named);
    oneib_id_set_sort(&documents->vms_seen);
    add_unknown_vms(pools, vms);
    add_lessees(pools, vms);
    oneib_id_set_drop(vms, &documents->vms_seen);
    oneib_id_set_drop(vms, &pools->vms_asked);
}

static int ask_newly_named(struct oneib_pools *pools, bool *asked, struct oneib_error *err)
{
    oneib_autoids struct oneib_id_set wanted = {0};
    oneib_pools_newly_named(pools, &wanted);
    return oneib_pools_ask_vms(pools, &wanted, asked, err);
}

/* Asks for those in *set, which comes back empty. */
static int ask_set(struct oneib_pools *pools, struct oneib_id_set *set, bool *asked,
                   struct oneib_error *err)
{
    oneib_autoids struct oneib_id_set wanted = *set;
    *set = (struct oneib_id_set){0};
    return oneib_pools_ask_vms(pools, &wanted, asked, err);
}

/*
 * On a host, what vouches for a NIC must not be older than the NIC: a lease that ended since would
 * vouch for a forged one.
 */
static void want_network(const struct oneib_pools *pools, const struct oneib_attachment *attachment,
                         struct oneib_id_set *wanted)
{
    const uint32_t id = attachment->network_id;
    if (id == ONEIB_NO_ID)
        return;
    const bool is_stale = attachment->phase != ONEIB_ABSENT && !network_is_fresh(pools, id);
    if (is_stale || !network_now(pools, id))
        oneib_id_set_add(wanted, id);
}

static bool has_nic_of(const struct oneib_cloud *cloud, uint32_t network_id)
{
    for (size_t i = 0; i < cloud->attachment_count; i++)
        if (cloud->attachments[i].network_id == network_id)
            return true;
    return false;
}

/* A reservation may share the partition of a parent that is not InfiniBand any more; if it is none
 * itself, its NICs still do. */
static bool needs_parent(const struct oneib_pools *pools, const struct oneib_network *network)
{
    return network->parent_id != ONEIB_NO_ID &&
           (!network->other_driver || has_nic_of(pools->documents.cloud, network->id) ||
            has_nic_of(pools->base, network->id));
}

/* One that was read before may have leased to nobody yet. Nobody is asked for twice. */
static bool is_known_parent(const struct oneib_pools *pools, const struct oneib_network *network)
{
    const struct oneib_network *parent = network_now(pools, network->parent_id);
    return parent && oneib_network_may_have_reservation(parent, network->id);
}

static void want_parent(const struct oneib_pools *pools, const struct oneib_network *network,
                        struct oneib_id_set *wanted)
{
    const uint32_t id = network->parent_id;
    if (!needs_parent(pools, network) || is_known_parent(pools, network))
        return;
    oneib_id_set_add(wanted, id);
}

static void want_networks(const struct oneib_pools *pools, struct oneib_id_set *wanted)
{
    const struct oneib_cloud *cloud = pools->documents.cloud;
    for (size_t i = 0; i < cloud->attachment_count; i++)
        want_network(pools, &cloud->attachments[i], wanted);
    for (size_t i = 0; i < cloud->network_count; i++)
        want_parent(pools, &cloud->networks[i], wanted);
}

static int ask_networks(struct oneib_pools *pools, bool *asked, struct oneib_error *err)
{
    oneib_autoids struct oneib_id_set wanted = {0};
    want_networks(pools, &wanted);
    return oneib_pools_ask_networks(pools, &wanted, asked, err);
}

/* What is known of its host may be older than its way there. */
static bool is_on_its_way(const struct oneib_attachment *attachment)
{
    return attachment->phase == ONEIB_ARRIVING || attachment->phase == ONEIB_MIGRATING;
}

/* The device of a PCI NIC that came while the VM ran: what is known of the host may be older. */
static bool lacks_its_device(const struct oneib_pools *pools,
                             const struct oneib_attachment *attachment)
{
    const struct oneib_host *host = oneib_cloud_host(pools->base, attachment->host_id);
    return attachment->is_pci && attachment->has_address && host &&
           oneib_host_given_to(host, &attachment->address) != attachment->vm_id;
}

static bool can_wait(const struct oneib_pools *pools, uint32_t host_id)
{
    const struct oneib_host *host = oneib_cloud_host(pools->base, host_id);
    return pools->options->hosts_later && host && host->port_count > 0;
}

static void want_host(const struct oneib_pools *pools, const struct oneib_attachment *attachment,
                      uint32_t id, struct oneib_id_set *wanted)
{
    /* A stored VM's last host may be long gone, and does not matter. */
    if (id == ONEIB_NO_ID || attachment->phase == ONEIB_ABSENT)
        return;
    if (!host_is_known(pools, id)) {
        oneib_id_set_add(wanted, id);
        return;
    }
    if (host_is_fresh(pools, id))
        return;
    if (id == attachment->host_id && lacks_its_device(pools, attachment)) {
        oneib_id_set_add(wanted, id);
        return;
    }
    if (!is_on_its_way(attachment))
        return;
    oneib_id_set_add(can_wait(pools, id) ? pools->options->hosts_later : wanted, id);
}

static int ask_hosts(struct oneib_pools *pools, bool *asked, struct oneib_error *err)
{
    oneib_autoids struct oneib_id_set wanted = {0};
    const struct oneib_cloud *cloud = pools->documents.cloud;
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &cloud->attachments[i];
        want_host(pools, attachment, attachment->host_id, &wanted);
        want_host(pools, attachment, attachment->source_host_id, &wanted);
    }
    return oneib_pools_ask_hosts(pools, &wanted, asked, err);
}

/* Until nothing new is named: a network that was asked for may name VMs, those may name hosts. */
static int ask_leftovers(struct oneib_pools *pools, struct oneib_error *err)
{
    bool asked = true;
    while (asked) {
        asked = false;
        if (ask_newly_named(pools, &asked, err) < 0 ||
            ask_set(pools, &pools->documents.vms_migrating, &asked, err) < 0 ||
            ask_set(pools, &pools->vms_alone, &asked, err) < 0 ||
            ask_set(pools, &pools->documents.vms_odd, &asked, err) < 0 ||
            ask_networks(pools, &asked, err) < 0 || ask_hosts(pools, &asked, err) < 0)
            return -1;
    }
    return 0;
}

bool oneib_pools_is_doubtful(const struct oneib_pools *pools,
                             const struct oneib_attachment *attachment)
{
    if (attachment->phase == ONEIB_ABSENT)
        return false;
    const struct oneib_network *network = network_now(pools, attachment->network_id);
    /* Of an unreadable network nobody has anything to doubt. */
    return network && !network->unreadable &&
           !oneib_network_leases_to(network, attachment->vm_id, attachment->mac);
}

/* What leads from a doubtful attachment to the object to be asked again. */
typedef uint32_t (*culprit)(const struct oneib_attachment *attachment);

static uint32_t its_network(const struct oneib_attachment *attachment)
{
    return attachment->network_id;
}

static uint32_t its_vm(const struct oneib_attachment *attachment)
{
    return attachment->vm_id;
}

/* Those of the base whose network was read again, and whose VM was not. */
static void collect_old_doubts(const struct oneib_pools *pools, culprit culprit_of,
                               struct oneib_id_set *wanted)
{
    const struct oneib_cloud *base = pools->base;
    for (size_t i = 0; i < base->attachment_count; i++) {
        const struct oneib_attachment *attachment = &base->attachments[i];
        if (!network_is_fresh(pools, attachment->network_id) ||
            oneib_id_set_has(&pools->documents.vms_seen, attachment->vm_id) ||
            oneib_id_set_has(&pools->vms_asked, attachment->vm_id))
            continue;
        if (oneib_pools_is_doubtful(pools, attachment))
            oneib_id_set_add(wanted, culprit_of(attachment));
    }
}

static void collect_doubts(struct oneib_pools *pools, culprit culprit_of,
                           struct oneib_id_set *wanted)
{
    const struct oneib_cloud *cloud = pools->documents.cloud;
    for (size_t i = 0; i < cloud->attachment_count; i++)
        if (oneib_pools_is_doubtful(pools, &cloud->attachments[i]))
            oneib_id_set_add(wanted, culprit_of(&cloud->attachments[i]));
    oneib_id_set_sort(&pools->documents.vms_seen);
    collect_old_doubts(pools, culprit_of, wanted);
    oneib_id_set_sort(wanted);
}

typedef int (*asker)(struct oneib_pools *pools, const struct oneib_id_set *wanted,
                     struct oneib_error *err);

static int ask_culprits(struct oneib_pools *pools, culprit culprit_of, asker ask_again,
                        struct oneib_error *err)
{
    oneib_autoids struct oneib_id_set wanted = {0};
    collect_doubts(pools, culprit_of, &wanted);
    return ask_again(pools, &wanted, err);
}

/*
 * A NIC whose network leases it nothing is either younger than the network's document that was
 * read, or gone since the VM's, or forged: oned does not escape what users write into their VMs
 * (docs/security.md). So first the network is asked again, then the VM: what is doubtful still was
 * never oned's.
 */
static int ask_doubtful(struct oneib_pools *pools, struct oneib_error *err)
{
    if (ask_culprits(pools, its_network, oneib_pools_ask_networks_again, err) < 0)
        return -1;
    return ask_culprits(pools, its_vm, oneib_pools_ask_vms_again, err);
}

static void mark_unleased(struct oneib_pools *pools)
{
    struct oneib_cloud *cloud = pools->documents.cloud;
    for (size_t i = 0; i < cloud->attachment_count; i++)
        cloud->attachments[i].unleased = oneib_pools_is_doubtful(pools, &cloud->attachments[i]);
}

/* Below it new VMs are not looked for. */
static uint32_t known_end(const struct oneib_pools *pools)
{
    return pools->vm_end > pools->base->vm_end ? pools->vm_end : pools->base->vm_end;
}

uint32_t oneib_pools_vm_end(const struct oneib_pools *pools, const uint32_t *ids, size_t count)
{
    while (count > 0 && ids[count - 1] >= known_end(pools))
        count--;
    return count ? ids[count - 1] + 1 : 0;
}

/*
 * New VMs are looked for behind the highest one, and a window may show one that a user made up. So
 * the highest is asked for by itself: a made-up one is gone. After some of them the rest may stay:
 * the end of what is known is then lower than it could be, which costs a longer window.
 */
static int confirm_highest(struct oneib_pools *pools, struct oneib_error *err)
{
    struct oneib_id_set *seen = &pools->documents.vms_seen;
    for (unsigned tries = 0; tries < ONEIB_MANY; tries++) {
        oneib_id_set_sort(seen);
        uint32_t highest = seen->count ? seen->items[seen->count - 1] : 0;
        const struct oneib_id_set wanted = {.items = &highest, .count = 1};
        if (seen->count == 0 || highest < known_end(pools))
            return 0;
        if (!oneib_id_set_has(&pools->vms_asked, highest) &&
            oneib_pools_ask_vms_again(pools, &wanted, err) < 0)
            return -1;
        oneib_id_set_sort(seen);
        if (oneib_id_set_has(seen, highest))
            pools->vm_end = highest + 1;
    }
    return 0;
}

static void name_network(struct oneib_id_set *named, uint32_t id)
{
    if (id != ONEIB_NO_ID)
        oneib_id_set_add(named, id);
}

static bool vm_was_read(const struct oneib_pools *pools, uint32_t id)
{
    return oneib_id_set_has(&pools->documents.vms_seen, id) ||
           oneib_id_set_has(&pools->vms_asked, id);
}

/* What is known from before, and was not read again. */
static void name_networks_of_base(const struct oneib_pools *pools, struct oneib_id_set *named)
{
    const struct oneib_cloud *base = pools->base;
    for (size_t i = 0; i < base->attachment_count; i++)
        if (!vm_was_read(pools, base->attachments[i].vm_id))
            name_network(named, base->attachments[i].network_id);
    for (size_t i = 0; i < base->network_count; i++)
        if (!base->networks[i].other_driver && !network_is_fresh(pools, base->networks[i].id))
            name_network(named, base->networks[i].parent_id);
}

static void name_networks_of_read(const struct oneib_cloud *read, struct oneib_id_set *named)
{
    for (size_t i = 0; i < read->attachment_count; i++)
        name_network(named, read->attachments[i].network_id);
    for (size_t i = 0; i < read->network_count; i++)
        if (!read->networks[i].other_driver)
            name_network(named, read->networks[i].parent_id);
}

/* What NICs name themselves. */
static void name_by_nics(const struct oneib_pools *pools, struct oneib_id_set *named)
{
    const struct oneib_cloud *read = pools->documents.cloud, *base = pools->base;
    for (size_t i = 0; i < read->attachment_count; i++)
        name_network(named, read->attachments[i].network_id);
    for (size_t i = 0; i < base->attachment_count; i++)
        if (!vm_was_read(pools, base->attachments[i].vm_id))
            name_network(named, base->attachments[i].network_id);
    oneib_id_set_sort(named);
}

/* Those of other drivers that NICs name name their parents. */
static void name_parents_of_others(const struct oneib_cloud *cloud,
                                   const struct oneib_id_set *by_nics, struct oneib_id_set *named)
{
    for (size_t i = 0; i < cloud->network_count; i++)
        if (cloud->networks[i].other_driver && oneib_id_set_has(by_nics, cloud->networks[i].id))
            name_network(named, cloud->networks[i].parent_id);
}

static void add_parents_of_others(const struct oneib_pools *pools, struct oneib_id_set *named)
{
    oneib_autoids struct oneib_id_set by_nics = {0};
    name_by_nics(pools, &by_nics);
    name_parents_of_others(pools->documents.cloud, &by_nics, named);
    name_parents_of_others(pools->base, &by_nics, named);
}

static bool has_others(const struct oneib_cloud *cloud)
{
    return oneib_cloud_count_infiniband(cloud) < cloud->network_count;
}

void oneib_pools_name_others(const struct oneib_pools *pools, struct oneib_id_set *named)
{
    const struct oneib_cloud *read = pools->documents.cloud;
    if (!has_others(read) && !has_others(pools->base))
        return;
    name_networks_of_read(read, named);
    name_networks_of_base(pools, named);
    add_parents_of_others(pools, named);
    oneib_id_set_sort(named);
}

void oneib_pools_drop_others(struct oneib_cloud *cloud, const struct oneib_id_set *named)
{
    size_t kept = 0;
    for (size_t i = 0; i < cloud->network_count; i++) {
        struct oneib_network *network = &cloud->networks[i];
        if (network->other_driver && !oneib_id_set_has(named, network->id))
            oneib_network_clear(network);
        else
            cloud->networks[kept++] = *network;
    }
    cloud->network_count = kept;
}

/* Networks of other drivers were read because an event named them, or a NIC that is gone. */
static void forget_others(struct oneib_pools *pools)
{
    oneib_autoids struct oneib_id_set named = {0};
    oneib_pools_name_others(pools, &named);
    oneib_pools_drop_others(pools->documents.cloud, &named);
}

int oneib_pools_complete(struct oneib_pools *pools, struct oneib_error *err)
{
    oneib_cloud_sort(pools->documents.cloud);
    if (ask_leftovers(pools, err) < 0 || confirm_highest(pools, err) < 0 ||
        ask_doubtful(pools, err) < 0 || ask_leftovers(pools, err) < 0)
        return -1;
    mark_unleased(pools);
    oneib_id_set_sort(&pools->documents.vms_seen);
    forget_others(pools);
    return 0;
}
