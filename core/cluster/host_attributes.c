// SPDX-License-Identifier: Apache-2.0
#include "cluster/host_attributes.h"
#include "base/array.h"
#include "base/order.h"
#include "base/text.h"
#include "cluster/grants_internal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- VFs ------------------------------------------------------------------------------------- */

static bool is_same_device(const struct oneib_hca_port *a, const struct oneib_hca_port *b)
{
    return strcmp(a->device, b->device) == 0;
}

/* The most that one port of the adapter says, for the first of its ports; 0 for the others. */
static uint32_t vfs_of_adapter(const struct oneib_host *host, size_t index)
{
    uint32_t most = 0;
    for (size_t i = 0; i < host->port_count; i++) {
        if (!is_same_device(&host->ports[i], &host->ports[index]))
            continue;
        if (i < index)
            return 0;
        if (host->ports[i].vfs_total > most)
            most = host->ports[i].vfs_total;
    }
    return most;
}

static uint32_t count_vfs(const struct oneib_host *host)
{
    uint32_t total = 0;
    for (size_t i = 0; i < host->port_count; i++)
        total += vfs_of_adapter(host, i);
    /* What the probe counts now is less when an adapter is gone. */
    return host->vfs_limit >= 0 && (uint32_t)host->vfs_limit < total ? (uint32_t)host->vfs_limit
                                                                     : total;
}

ONEIB_ORDER_BY(compare_ids, struct oneib_host_attributes, host_id);

struct oneib_host_attributes *
oneib_host_attributes_of(const struct oneib_hosts_attributes *attributes, uint32_t host_id)
{
    const struct oneib_host_attributes wanted = {.host_id = host_id};
    return ONEIB_FIND(&wanted, attributes->items, attributes->count, compare_ids);
}

static void take_vf(const struct oneib_hosts_attributes *attributes, uint32_t host_id)
{
    struct oneib_host_attributes *host = oneib_host_attributes_of(attributes, host_id);
    if (!host)
        return;
    host->vfs_used++;
    if (host->vfs_free > 0)
        host->vfs_free--;
}

/* A NIC for which a host's node has a VF. */
struct held_vf {
    uint32_t host_id, vm_id;
    uint8_t nic_id;
};

/* Of all nodes. */
struct held_vfs {
    const struct oneib_node_table *nodes;
    struct held_vf *items; /* owned; sorted */
    size_t count, capacity;
};

ONEIB_ORDER_BY(compare_held, struct held_vf, host_id, vm_id, nic_id);

static void list_held(const struct oneib_node_table *nodes, struct held_vfs *held)
{
    *held = (struct held_vfs){.nodes = nodes};
    for (size_t i = 0; i < nodes->count; i++) {
        const struct oneib_node_snapshot *node = &nodes->items[i];
        ONEIB_RESERVE(held->items, held->capacity, held->count + node->record_count);
        for (size_t j = 0; j < node->record_count; j++)
            held->items[held->count++] =
                (struct held_vf){node->host_id, node->records[j].vm_id, node->records[j].nic_id};
    }
    ONEIB_SORT(held->items, held->count, compare_held);
}

static bool has_vf(const struct held_vfs *held, uint32_t host_id,
                   const struct oneib_attachment *attachment)
{
    const struct held_vf wanted = {host_id, attachment->vm_id, attachment->nic_id};
    return ONEIB_FIND(&wanted, held->items, held->count, compare_held);
}

/* A NIC that says ATTACH is attached only while its VM is in the state in which oned attaches. */
static bool comes(const struct oneib_attachment *attachment)
{
    return attachment->phase == ONEIB_ARRIVING || attachment->phase == ONEIB_MIGRATING ||
           (attachment->attaching && attachment->lcm_state == ONEIB_LCM_HOTPLUG_NIC);
}

/* What a VM has that is there its node says, and not its document, into which its owner may have
 * written NICs. What comes, a VM or a NIC, is to have what networks lease it. */
static bool takes_one(const struct held_vfs *held, const struct oneib_attachment *attachment,
                      uint32_t host_id, bool may_come)
{
    const struct oneib_node_snapshot *node =
        oneib_node_snapshot_of(held->nodes->items, held->nodes->count, host_id);
    const bool is_known = node && node->table_known;
    if (is_known && has_vf(held, host_id, attachment))
        return true;
    return !attachment->unleased && (may_come || !is_known);
}

/* A VM that migrates has one on both hosts. */
static void take_vfs(const struct oneib_cloud *cloud, const struct oneib_node_table *nodes,
                     const struct oneib_hosts_attributes *attributes)
{
    struct held_vfs held;
    list_held(nodes, &held);
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &cloud->attachments[i];
        if (!oneib_phase_has_place(attachment->phase))
            continue;
        if (takes_one(&held, attachment, attachment->host_id, comes(attachment)))
            take_vf(attributes, attachment->host_id);
        if (attachment->phase == ONEIB_MIGRATING &&
            attachment->source_host_id != attachment->host_id &&
            takes_one(&held, attachment, attachment->source_host_id, false))
            take_vf(attributes, attachment->source_host_id);
    }
    free(held.items);
}

/* ---- switches -------------------------------------------------------------------------------- */

struct leaves {
    const struct oneib_leaf *items;
    size_t count;
};

ONEIB_ORDER_BY(compare_leaves, struct oneib_leaf, port_guid);

static oneib_guid switch_of(const struct leaves *leaves, const struct oneib_hca_port *port)
{
    const struct oneib_leaf wanted = {.port_guid = port->port_guid};
    if (leaves->count == 0)
        return 0;
    const struct oneib_leaf *leaf =
        ONEIB_FIND(&wanted, leaves->items, leaves->count, compare_leaves);
    return leaf ? leaf->switch_guid : 0;
}

/* Whether the list, as it is written here, names the switch. */
static bool names(const char *list, oneib_guid guid)
{
    char text[ONEIB_GUID_TEXT_SIZE];
    oneib_guid_format(guid, text);
    const size_t length = strlen(text);
    for (const char *found = list ? strstr(list, text) : NULL; found;
         found = strstr(found + length, text)) {
        const bool begins = found == list || found[-1] == ',';
        if (begins && (found[length] == ',' || found[length] == '\0'))
            return true;
    }
    return false;
}

/* What is known of a host's switches. */
struct known_switches {
    struct oneib_text list;
    bool complete;     /* the switch of every port is known */
    bool all_in_oneds; /* each that is known, oned has as well */
};

static void find_switches(const struct oneib_host *host, const struct leaves *leaves,
                          struct known_switches *known)
{
    known->complete = known->all_in_oneds = true;
    for (size_t i = 0; i < host->port_count; i++) {
        const oneib_guid guid = switch_of(leaves, &host->ports[i]);
        if (guid == 0) {
            known->complete = false;
            continue;
        }
        known->all_in_oneds &= names(host->switches, guid);
        if (!names(known->list.data, guid))
            oneib_text_printf(&known->list, "%s0x%016" PRIx64, known->list.length ? "," : "", guid);
    }
}

/* A switch that is not known just now may well be the one that oned has besides. */
static bool differs(const struct known_switches *known, const char *oneds)
{
    if (known->list.length == 0)
        return false;
    if (!known->complete)
        return !known->all_in_oneds;
    return !oneds || strcmp(known->list.data, oneds) != 0;
}

static void note_switches(const struct oneib_host *host, const struct leaves *leaves,
                          struct oneib_host_attributes *item)
{
    struct known_switches known = {0};
    find_switches(host, leaves, &known);
    item->switches = known.list.data;
    item->differs_switches = differs(&known, host->switches);
}

/* ---- all hosts ------------------------------------------------------------------------------- */

/* A host that lost its adapters must not look as if it still had VFs. */
static bool concerns(const struct oneib_host *host)
{
    return host->port_count > 0 || host->vfs_free >= 0;
}

static void add_host(const struct oneib_host *host, const struct leaves *leaves,
                     struct oneib_hosts_attributes *attributes)
{
    struct oneib_host_attributes *item =
        ONEIB_ADD(attributes->items, attributes->count, attributes->capacity);
    *item = (struct oneib_host_attributes){.host_id = host->id, .vfs_total = count_vfs(host)};
    item->vfs_free = item->vfs_total;
    note_switches(host, leaves, item);
}

/* items and the cloud's hosts come in the same order, by id. */
static void compare_with_oned(const struct oneib_cloud *cloud,
                              struct oneib_hosts_attributes *attributes)
{
    size_t index = 0;
    for (size_t i = 0; i < cloud->host_count; i++) {
        const struct oneib_host *host = &cloud->hosts[i];
        if (!concerns(host))
            continue;
        struct oneib_host_attributes *item = &attributes->items[index++];
        item->differs_free = host->vfs_free < 0 || (uint32_t)host->vfs_free != item->vfs_free;
        attributes->vfs_total += item->vfs_total;
        attributes->vfs_free += item->vfs_free;
    }
}

void oneib_host_attributes_compute(const struct oneib_cloud *cloud,
                                   const struct oneib_node_table *nodes,
                                   const struct oneib_leaf *leaves, size_t leaf_count,
                                   struct oneib_hosts_attributes *attributes)
{
    const struct leaves known = {leaves, leaf_count};
    *attributes = (struct oneib_hosts_attributes){0};
    for (size_t i = 0; i < cloud->host_count; i++) {
        const struct oneib_host *host = &cloud->hosts[i];
        if (concerns(host))
            add_host(host, &known, attributes);
    }
    take_vfs(cloud, nodes, attributes);
    compare_with_oned(cloud, attributes);
}

void oneib_host_attributes_clear(struct oneib_hosts_attributes *attributes)
{
    for (size_t i = 0; i < attributes->count; i++)
        free(attributes->items[i].switches);
    free(attributes->items);
    *attributes = (struct oneib_hosts_attributes){0};
}
