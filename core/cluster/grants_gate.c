// SPDX-License-Identifier: Apache-2.0
/*
 * What may be put into the partitions file now. An entry is a key on a port for a cluster: the same
 * key for another cluster is another entry, although the port could not tell them apart.
 */
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/stable_sort.h"
#include "cluster/grants_internal.h"
#include "cluster/host_port.h"
#include "cluster/port_owner.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A key that a VF of the port may be open at, or may come to be. */
struct port_use {
    oneib_guid port;
    uint32_t network_id;
    oneib_pkey pkey;
    bool reported; /* the node's table says so; else it was sent a grant of it */
    bool limited;  /* ... to a limited member */
};

/* A port of a host (port_owner.h), or one that is a host's by the ledger and that the host reports no
 * more, or whose host oned has no more: that closes no VF. */
struct gated_port {
    oneib_guid guid;
    bool is_probed_only; /* IB_HCA alone names the adapter's port: no VM's P_Key is added */
    bool is_unreported;
    uint32_t host_id;                           /* then: whose it is */
    const struct oneib_node_snapshot *snapshot; /* NULL: nothing is known of the node */
    bool has_vfs;                               /* else no VF can be open on it */
    bool may_hold; /* ... and one may be, for its host was sent grants: see oneib_host_may_hold() */
    bool is_blocked; /* a VF may be open at what its port does not hold for it: a new key could
                        take the place that the VF is mapped to */
    bool is_behind;  /* ... and is to hold again: that comes first, alone */
};

struct entry {
    oneib_guid guid;
    uint32_t cluster; /* network id */
    oneib_pkey pkey;
    uint8_t before, after; /* membership in force, and desired */
    bool in_force, desired;
    bool is_kept;       /* is there until its node has reported */
    bool is_added;      /* comes with this file */
    uint8_t membership; /* of what is kept or stays */
};

/* What the desired table leaves free on a port, less what is kept there besides. */
struct shortage {
    oneib_guid guid;
    size_t room, kept;
    bool is_short; /* with all that is to come what is kept has no room */
};

struct gating {
    const struct oneib_gate_input *input;
    struct oneib_gate *gate;
    struct gated_port *ports; /* by GUID */
    size_t port_count;
    struct port_use *uses; /* by port, then key */
    size_t use_count, use_capacity;
    struct entry *entries; /* by key, cluster, GUID */
    size_t entry_count, entry_capacity;
    struct shortage *shortages; /* by GUID; of ports that keep something */
    size_t shortage_count;
    bool taken[ONEIB_PKEY_DEFAULT + 1]; /* the static partitions' keys, which are none of ours */
};

/* ---- ports and what is open on them ---------------------------------------------------------- */

/* VFs of mlx5 are ports with tables of their own. IB_HCA alone proves no driver. */
static bool has_table_of_vfs(const struct oneib_hca_port *port)
{
    return port->driver != ONEIB_HCA_MLX5 || !port->is_proven;
}

/* Of a key, or of any. */
static bool may_hold(const struct gating *gating, const struct oneib_host *host,
                     const struct oneib_node_snapshot *snapshot)
{
    return host->key_count > 0 || host->keys_invalid ||
           oneib_grants_of_host(gating->input->grants, host->id) ||
           (snapshot &&
            (snapshot->record_count > 0 || (snapshot->sent && snapshot->sent->count > 0)));
}

static bool has_vfs(const struct gating *gating, const struct oneib_host *host,
                    const struct oneib_node_snapshot *snapshot)
{
    if (may_hold(gating, host, snapshot))
        return true;
    if (gating->input->ledger && oneib_ledger_host(gating->input->ledger, host->id) &&
        host->port_count == 0)
        return true;
    /* Only a port of the ledger, as the host's oneib-node reported it, proves that it has no VFs. */
    for (size_t i = 0; i < host->port_count; i++)
        if (host->ports[i].vfs_total > 0 || !host->ports[i].is_proven)
            return true;
    return host->vfs_limit > 0;
}

/* The first of the GUID's; how many there are is *count. */
static struct gated_port *find_ports(const struct gating *gating, oneib_guid guid, size_t *count)
{
    const size_t first = ONEIB_LOWER_BOUND(i, gating->port_count, gating->ports[i].guid < guid);
    *count = ONEIB_RUN(i, first, gating->port_count, gating->ports[i].guid == guid);
    return &gating->ports[first];
}

ONEIB_ORDER_BY(compare_ports, struct gated_port, guid);

/* Whether the host may hold the key for a VF of that port. The port of a key that no network has now
 * is unknown. */
static bool may_lead_to(const struct gating *gating, const struct oneib_host *host, oneib_pkey pkey,
                        oneib_guid guid)
{
    const struct oneib_cloud *cloud = gating->input->cloud;
    bool is_known = false;
    for (size_t i = 0; i < cloud->network_count; i++) {
        const struct oneib_network *network = &cloud->networks[i];
        const struct oneib_cluster *cluster =
            oneib_desired_cluster(gating->input->desired, network->id);
        const struct oneib_hca_port *port;
        if (!cluster || cluster->pkey != pkey)
            continue;
        is_known = true;
        if (oneib_host_port(cloud, host, network, &port) != ONEIB_PORT_FOUND ||
            port->port_guid == guid)
            return true;
    }
    return !is_known;
}

static bool was_sent_for(const struct oneib_node_snapshot *snapshot,
                         const struct oneib_hca_port *port)
{
    const struct oneib_grant_list *sent = snapshot ? snapshot->sent : NULL;
    for (size_t i = 0; sent && i < sent->count; i++)
        if (sent->items[i].port == port->port && strcmp(sent->items[i].device, port->device) == 0)
            return true;
    return false;
}

/* A port that an operator has listed, and that the host reported before: the host's VFs are open there
 * only by a grant that it was sent for that port. What the host reports of it counts for nothing. */
static bool may_be_open_at(const struct gating *gating, const struct oneib_host *host,
                           const struct oneib_node_snapshot *snapshot,
                           const struct oneib_hca_port *port)
{
    if (was_sent_for(snapshot, port))
        return true;
    for (size_t i = 0; i < host->key_count; i++)
        if (may_lead_to(gating, host, host->keys[i], port->port_guid))
            return true;
    return host->keys_invalid;
}

/* Likewise of one that the host reports no more: which keys were for it is not known. */
static bool is_unused(const struct gating *gating, const struct oneib_ledger_port *port,
                      const struct oneib_node_snapshot *snapshot)
{
    const struct oneib_host *host = oneib_cloud_host(gating->input->cloud, port->host_id);
    return oneib_port_is_taken_back(gating->input->cloud, port) && host && host->key_count == 0 &&
           !host->keys_invalid && !was_sent_for(snapshot, &port->hca);
}

/* Of what VFs its adapter has nobody tells. */
static void list_unreported(struct gating *gating)
{
    const struct oneib_ledger *ledger = gating->input->ledger;
    const size_t reported = gating->port_count;
    size_t added = 0;
    for (size_t i = 0; ledger && i < ledger->port_count; i++) {
        const struct oneib_ledger_port *port = &ledger->ports[i];
        const struct oneib_node_snapshot *snapshot =
            oneib_node_snapshot_of(gating->input->nodes, gating->input->node_count, port->host_id);
        size_t count;
        find_ports(gating, port->guid, &count);
        if (count == 0 && !is_unused(gating, port, snapshot))
            gating->ports[reported + added++] = (struct gated_port){.guid = port->guid,
                                                                    .host_id = port->host_id,
                                                                    .is_unreported = true,
                                                                    .snapshot = snapshot,
                                                                    .has_vfs = true,
                                                                    .may_hold = true};
    }
    gating->port_count += added;
}

/* VFs that are ports of their own, where something may keep a key from them. A program that hears no
 * nodes does not know whether another VF has the GUID (grants.twice). */
static void list_virtual(struct gating *gating)
{
    const struct oneib_desired *desired = gating->input->desired;
    const bool hears_no_nodes = gating->input->hears_no_nodes;
    for (size_t i = 0; i < desired->binding_count; i++) {
        const struct oneib_desired_binding *binding = &desired->bindings[i];
        if ((binding->is_proven && !hears_no_nodes) ||
            !oneib_is_virtual_port(binding->port, binding->member))
            continue;
        const struct oneib_host *host = oneib_cloud_host(gating->input->cloud, binding->host_id);
        if (host)
            gating->ports[gating->port_count++] =
                (struct gated_port){.guid = binding->member,
                                    .is_probed_only = !binding->is_proven,
                                    .has_vfs = hears_no_nodes && has_vfs(gating, host, NULL)};
    }
}

static void list_ports(struct gating *gating)
{
    struct oneib_port_index index;
    const struct oneib_ledger *ledger = gating->input->ledger;
    oneib_port_index_make(gating->input->cloud, &index);
    const size_t more = (ledger ? ledger->port_count : 0) + gating->input->desired->binding_count;
    gating->ports = oneib_alloc(index.count + more + 1, sizeof *gating->ports);
    for (size_t i = 0; i < index.count; i++) {
        const struct oneib_host *host = index.items[i].host;
        const struct oneib_hca_port *port = index.items[i].port;
        if (port->is_reserved && !port->is_proven) /* no VM ever was there: nothing is open */
            continue;
        const struct oneib_node_snapshot *snapshot =
            oneib_node_snapshot_of(gating->input->nodes, gating->input->node_count, host->id);
        const bool has_table = has_table_of_vfs(port) &&
                               (!port->is_reserved || may_be_open_at(gating, host, snapshot, port));
        gating->ports[gating->port_count++] =
            (struct gated_port){.guid = index.items[i].guid,
                                .is_probed_only = !port->is_proven,
                                .snapshot = snapshot,
                                .has_vfs = has_table && has_vfs(gating, host, snapshot),
                                .may_hold = has_table && may_hold(gating, host, snapshot)};
    }
    const size_t sorted = gating->port_count;
    oneib_port_index_clear(&index);
    list_unreported(gating);
    list_virtual(gating);
    if (gating->port_count > sorted)
        ONEIB_SORT(gating->ports, gating->port_count, compare_ports);
}

/* On those of the host's ports that it does not report. */
static void add_use_on_unreported(struct gating *gating, uint32_t host_id, struct port_use use)
{
    for (size_t i = 0; i < gating->port_count; i++) {
        if (!gating->ports[i].is_unreported || gating->ports[i].host_id != host_id)
            continue;
        use.port = gating->ports[i].guid;
        ONEIB_APPEND(gating->uses, gating->use_count, gating->use_capacity, use);
    }
}

/* On the port that is named so; where the host reports none, on any of its ports. */
static void add_use_on(struct gating *gating, const struct oneib_host *host, const char *device,
                       uint8_t number, struct port_use use)
{
    bool found = false;
    for (int any = 0; any < 2 && !found; any++) {
        if (any)
            add_use_on_unreported(gating, host->id, use);
        for (size_t i = 0; i < host->port_count; i++) {
            const struct oneib_hca_port *port = &host->ports[i];
            if (!any &&
                (port->port != number || strncmp(port->device, device, sizeof port->device) != 0))
                continue;
            found = true;
            use.port = port->port_guid;
            if (has_table_of_vfs(port))
                ONEIB_APPEND(gating->uses, gating->use_count, gating->use_capacity, use);
        }
    }
}

/* What is granted and was not sent is desired. */
static void add_sent(struct gating *gating, const struct oneib_host *host,
                     const struct oneib_grant_list *sent)
{
    for (size_t i = 0; i < sent->count; i++)
        add_use_on(gating, host, sent->items[i].device, sent->items[i].port,
                   (struct port_use){.network_id = sent->items[i].network_id,
                                     .pkey = sent->items[i].pkey});
}

static void add_reported(struct gating *gating, const struct oneib_host *host,
                         const struct oneib_vf_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (oneib_record_may_be_open(&records[i]))
            add_use_on(gating, host, records[i].device, records[i].port,
                       (struct port_use){.network_id = records[i].network_id,
                                         .pkey = records[i].pkey,
                                         .reported = true,
                                         .limited = records[i].limited});
}

static void add_uses_of(struct gating *gating, const struct oneib_host *host)
{
    const struct oneib_node_snapshot *snapshot =
        oneib_node_snapshot_of(gating->input->nodes, gating->input->node_count, host->id);
    if (!snapshot)
        return;
    if (snapshot->sent)
        add_sent(gating, host, snapshot->sent);
    add_reported(gating, host, snapshot->records, snapshot->record_count);
}

ONEIB_ORDER_BY(compare_uses, struct port_use, port, pkey);

static void list_uses(struct gating *gating)
{
    const struct oneib_cloud *cloud = gating->input->cloud;
    for (size_t i = 0; i < cloud->host_count; i++)
        add_uses_of(gating, &cloud->hosts[i]);
    ONEIB_SORT(gating->uses, gating->use_count, compare_uses);
}

/* The first of the port and key, NULL: none; how many there are is *count. */
static const struct port_use *find_uses(const struct gating *gating, oneib_guid port,
                                        oneib_pkey pkey, size_t *count)
{
    const struct port_use wanted = {.port = port, .pkey = pkey};
    const size_t first =
        ONEIB_LOWER_BOUND(i, gating->use_count, compare_uses(&gating->uses[i], &wanted) < 0);
    *count = ONEIB_RUN(i, first, gating->use_count, compare_uses(&gating->uses[i], &wanted) == 0);
    return *count ? &gating->uses[first] : NULL;
}

/* Of a network that is gone nobody knows whose partition it shared. */
static bool may_be_of(const struct gating *gating, const struct port_use *use, uint32_t cluster)
{
    const struct oneib_cluster *own =
        oneib_desired_cluster(gating->input->desired, use->network_id);
    return !own || own->network_id == cluster || use->network_id == cluster;
}

/* By whoever is of that cluster: for another one the key may be granted already. */
static bool is_used(const struct gating *gating, const struct entry *entry)
{
    size_t count;
    const struct port_use *uses = find_uses(gating, entry->guid, entry->pkey, &count);
    for (size_t i = 0; i < count; i++)
        if (may_be_of(gating, &uses[i], entry->cluster))
            return true;
    return false;
}

/* By anybody, or by a limited member. */
static bool is_reported(const struct gating *gating, const struct entry *entry, bool by_limited)
{
    size_t count;
    const struct port_use *uses = find_uses(gating, entry->guid, entry->pkey, &count);
    for (size_t i = 0; i < count; i++)
        if (uses[i].reported && (uses[i].limited || !by_limited))
            return true;
    return false;
}

/* ---- entries --------------------------------------------------------------------------------- */

ONEIB_ORDER_BY(compare_entries, struct entry, pkey, cluster, guid);

static struct entry entry_of(const struct oneib_partition *partition, uint32_t cluster,
                             const struct oneib_member *member, bool desired)
{
    struct entry entry = {.guid = member->guid, .cluster = cluster, .pkey = partition->pkey};
    if (desired) {
        entry.desired = true;
        entry.after = member->membership;
    } else {
        entry.in_force = true;
        entry.before = member->membership;
    }
    return entry;
}

static void add_entries(struct gating *gating, const struct oneib_partition_table *table,
                        bool desired)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct oneib_partition *partition = &table->items[i];
        uint32_t cluster;
        if (!oneib_partition_cluster(partition, &cluster))
            continue;
        ONEIB_RESERVE(gating->entries, gating->entry_capacity,
                      gating->entry_count + partition->member_count);
        for (size_t j = 0; j < partition->member_count; j++)
            if (partition->members[j].kind == ONEIB_MEMBER_GUID)
                gating->entries[gating->entry_count++] =
                    entry_of(partition, cluster, &partition->members[j], desired);
    }
}

/* Of what a file in force says twice of an entry the narrower counts. What is desired is there once. */
static void merge_into(struct entry *entry, const struct entry *other)
{
    if (other->in_force)
        entry->before =
            entry->in_force && entry->before < other->before ? entry->before : other->before;
    if (other->desired)
        entry->after = other->after;
    entry->in_force |= other->in_force;
    entry->desired |= other->desired;
}

static void merge_entries(struct gating *gating)
{
    size_t kept = 0;
    for (size_t i = 0; i < gating->entry_count; i++) {
        struct entry *last = kept ? &gating->entries[kept - 1] : NULL;
        if (last && compare_entries(last, &gating->entries[i]) == 0)
            merge_into(last, &gating->entries[i]);
        else
            gating->entries[kept++] = gating->entries[i];
    }
    gating->entry_count = kept;
}

static void note_taken(struct gating *gating)
{
    const struct oneib_partition_table *table = &gating->input->desired->table;
    uint32_t cluster;
    for (size_t i = 0; i < table->count; i++)
        if (!oneib_partition_cluster(&table->items[i], &cluster))
            gating->taken[table->items[i].pkey & ONEIB_PKEY_DEFAULT] = true;
}

static void list_entries(struct gating *gating)
{
    static const struct oneib_partition_table empty;
    const struct oneib_partition_table *in_force =
        gating->input->in_force ? gating->input->in_force : &empty;
    add_entries(gating, in_force, false);
    add_entries(gating, &gating->input->desired->table, true);
    oneib_stable_sort(gating->entries, gating->entry_count, sizeof *gating->entries,
                      compare_entries);
    merge_entries(gating);
    note_taken(gating);
}

/* The first entry with that key, NULL: none; how many there are, of all clusters and ports, is
 * *count. */
static struct entry *entries_of_key(const struct gating *gating, oneib_pkey pkey, size_t *count)
{
    const size_t first = ONEIB_LOWER_BOUND(i, gating->entry_count, gating->entries[i].pkey < pkey);
    *count = ONEIB_RUN(i, first, gating->entry_count, gating->entries[i].pkey == pkey);
    return *count ? &gating->entries[first] : NULL;
}

static const struct entry *find_entry(const struct gating *gating, oneib_pkey pkey,
                                      uint32_t cluster, oneib_guid guid)
{
    const struct entry wanted = {.pkey = pkey, .cluster = cluster, .guid = guid};
    return ONEIB_FIND(&wanted, gating->entries, gating->entry_count, compare_entries);
}

/* ---- where another subnet manager leads ------------------------------------------------------ */

/* The port, if it was read. NULL: what it holds nobody knows, or the file here says it. */
static const struct oneib_subnet_port *port_elsewhere(const struct gating *gating, oneib_guid guid)
{
    const struct oneib_subnet *subnet = gating->input->led_elsewhere;
    const struct oneib_subnet_port *port = subnet ? oneib_subnet_find(subnet, guid) : NULL;
    return port && port->answered ? port : NULL;
}

/* That wide, at least. */
static bool holds(const struct oneib_subnet_port *port, oneib_pkey pkey, uint8_t membership)
{
    for (uint16_t i = 0; i < port->partition_cap; i++)
        if (oneib_pkey_base(port->pkeys[i]) == pkey &&
            (oneib_pkey_is_full(port->pkeys[i]) || membership != ONEIB_FULL))
            return true;
    return false;
}

static bool lacks(const struct oneib_subnet_port *port, oneib_pkey pkey)
{
    return port && port->answered && !holds(port, pkey, ONEIB_LIMITED);
}

/* guid 0: any adapter's port. */
static bool is_lacking(const struct gating *gating, oneib_guid guid, oneib_pkey pkey)
{
    const struct oneib_subnet *subnet = gating->input->led_elsewhere;
    if (guid)
        return lacks(port_elsewhere(gating, guid), pkey);
    for (size_t i = 0; subnet && i < subnet->port_count; i++)
        if (subnet->ports[i].node_type == ONEIB_NODE_CA && lacks(&subnet->ports[i], pkey))
            return true;
    return false;
}

/* What is in the file here alone, which is as old as a failure of this host, is not in force: the
 * key may be another cluster's by now, and its place free. */
static void forget_what_is_over(struct gating *gating)
{
    for (size_t i = 0; i < gating->entry_count; i++) {
        struct entry *entry = &gating->entries[i];
        const struct oneib_subnet_port *port = port_elsewhere(gating, entry->guid);
        if (!port || !entry->in_force)
            continue;
        entry->in_force = holds(port, entry->pkey, ONEIB_LIMITED);
        if (!holds(port, entry->pkey, entry->before))
            entry->before = ONEIB_LIMITED;
    }
}

/* ---- what each port allows ------------------------------------------------------------------- */

static const struct entry *home_of(const struct gating *gating, const struct port_use *use)
{
    const struct oneib_cluster *cluster =
        oneib_desired_cluster(gating->input->desired, use->network_id);
    const struct entry *home = NULL;
    if (cluster)
        home = find_entry(gating, use->pkey, cluster->network_id, use->port);
    return home ? home : find_entry(gating, use->pkey, use->network_id, use->port);
}

/* A VF that may be open at what its port does not hold for its cluster is mapped to a place that is
 * empty, or another's: nothing new comes to that port until it is closed. */
static void block_ports(struct gating *gating)
{
    for (size_t i = 0; i < gating->use_count; i++) {
        const struct port_use *use = &gating->uses[i];
        if (!use->reported)
            continue;
        const struct entry *home = home_of(gating, use);
        size_t count;
        struct gated_port *ports = find_ports(gating, use->port, &count);
        for (size_t j = 0; j < count; j++) {
            ports[j].is_blocked |= !home;
            ports[j].is_behind |= home && !home->in_force;
        }
    }
}

static bool is_heard(const struct gated_port *port)
{
    return port->snapshot && oneib_node_is_heard(port->snapshot->state);
}

static bool follows(const struct gated_port *port)
{
    return port->snapshot && oneib_node_tells_all(port->snapshot);
}

/* In force, and to go. */
static bool must_stay(const struct gating *gating, const struct entry *entry)
{
    size_t count;
    const struct gated_port *ports = find_ports(gating, entry->guid, &count);
    for (size_t i = 0; i < count; i++)
        if (ports[i].has_vfs && is_heard(&ports[i]) &&
            (!follows(&ports[i]) || is_used(gating, entry)))
            return true;
    return false;
}

/* Nothing but what VFs are open at already comes to a port that is behind them. */
static bool is_in_turn(const struct gating *gating, const struct gated_port *port,
                       const struct entry *entry)
{
    return !port->is_behind || is_reported(gating, entry, false);
}

static bool is_fenced(const struct gating *gating, oneib_guid guid)
{
    const struct oneib_ledger *ledger = gating->input->ledger;
    for (size_t i = 0; ledger && i < ledger->fenced_port_count; i++)
        if (ledger->fenced_ports[i].guid == guid)
            return true;
    return false;
}

/* It is known where its VFs are mapped to, and none is to a place that is free. */
static bool lets_come(const struct gated_port *port)
{
    return is_heard(port) && port->snapshot->table_known && !port->is_blocked;
}

static bool may_come(const struct gating *gating, const struct entry *entry)
{
    size_t count;
    if (is_fenced(gating, entry->guid))
        return false;
    const struct gated_port *ports = find_ports(gating, entry->guid, &count);
    for (size_t i = 0; i < count; i++)
        if (ports[i].has_vfs && (!lets_come(&ports[i]) || !is_in_turn(gating, &ports[i], entry)))
            return false;
    return true;
}

/* From limited to full: whoever was to be a limited member has been told, and is one no more. */
static bool may_widen(const struct gating *gating, const struct entry *entry)
{
    size_t count;
    if (is_fenced(gating, entry->guid))
        return false;
    const struct gated_port *ports = find_ports(gating, entry->guid, &count);
    for (size_t i = 0; i < count; i++)
        if (ports[i].has_vfs && (!follows(&ports[i]) || is_reported(gating, entry, true)))
            return false;
    return true;
}

/* Two ports have the GUID, or may: who gets the key by it nobody knows. */
static bool is_twice(const struct gating *gating, const struct entry *entry)
{
    const struct oneib_grants *grants = gating->input->grants;
    return oneib_guids_have(grants->twice, grants->twice_count, entry->guid);
}

/* The file here is older than what is in force, and the entry is no change: it comes to no free place
 * of the port's table. */
static bool is_there(const struct gating *gating, const struct entry *entry)
{
    const struct oneib_subnet_port *port = port_elsewhere(gating, entry->guid);
    return port && holds(port, entry->pkey, entry->after) && !is_fenced(gating, entry->guid);
}

/* A port that a forged IB_HCA names may be anyone's on the fabric. */
static bool is_probed_only(const struct gating *gating, oneib_guid guid)
{
    size_t count;
    const struct gated_port *ports = find_ports(gating, guid, &count);
    for (size_t i = 0; i < count; i++)
        if (ports[i].is_probed_only)
            return true;
    return false;
}

static void judge(struct gating *gating, struct entry *entry)
{
    if (is_twice(gating, entry)) {
        entry->in_force = entry->desired = false;
        gating->gate->withheld++;
        return;
    }
    if (entry->in_force && entry->desired) {
        const bool waits = entry->after > entry->before &&
                           (is_probed_only(gating, entry->guid) || !may_widen(gating, entry));
        entry->membership = waits ? entry->before : entry->after;
        gating->gate->kept += waits;
    } else if (entry->desired) {
        entry->membership = entry->after;
        entry->is_added = is_there(gating, entry) ||
                          (!is_probed_only(gating, entry->guid) && may_come(gating, entry));
        gating->gate->withheld += !entry->is_added;
    } else if (entry->in_force && !gating->taken[entry->pkey] && must_stay(gating, entry)) {
        entry->membership = entry->before;
        entry->is_kept = true;
        gating->gate->kept++;
    }
}

/* While one cluster's VFs may be open at a key it is nobody else's, on no port. */
static void part_clusters(struct gating *gating)
{
    size_t end;
    for (size_t i = 0; i < gating->entry_count; i = end) {
        uint32_t keeper = ONEIB_NO_ID;
        for (end = i;
             end < gating->entry_count && gating->entries[end].pkey == gating->entries[i].pkey;
             end++)
            if (gating->entries[end].is_kept)
                keeper = gating->entries[end].cluster;
        for (size_t j = i; keeper != ONEIB_NO_ID && j < end; j++)
            if (gating->entries[j].cluster != keeper && gating->entries[j].is_added) {
                gating->entries[j].is_added = false;
                gating->gate->withheld++;
            }
    }
}

/* ---- room ------------------------------------------------------------------------------------ */

ONEIB_ORDER_BY(compare_rooms, struct oneib_port_room, port_guid);

ONEIB_ORDER_BY(compare_shortages, struct shortage, guid);

static size_t room_of(const struct oneib_desired *desired, oneib_guid guid)
{
    const struct oneib_port_room wanted = {.port_guid = guid};
    const struct oneib_port_room *room =
        ONEIB_FIND(&wanted, desired->rooms, desired->room_count, compare_rooms);
    return room ? room->room : 0;
}

/* One for each port that keeps something, by GUID. */
static void list_shortages(struct gating *gating)
{
    struct shortage *shortages = oneib_alloc(gating->entry_count + 1, sizeof *shortages);
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < gating->entry_count; i++)
        if (gating->entries[i].is_kept)
            shortages[count++] = (struct shortage){.guid = gating->entries[i].guid, .kept = 1};
    oneib_stable_sort(shortages, count, sizeof *shortages, compare_shortages);
    for (size_t i = 0; i < count; i++)
        if (kept && shortages[kept - 1].guid == shortages[i].guid)
            shortages[kept - 1].kept++;
        else
            shortages[kept++] = shortages[i];
    for (size_t i = 0; i < kept; i++)
        shortages[i].room = room_of(gating->input->desired, shortages[i].guid);
    gating->shortages = shortages;
    gating->shortage_count = kept;
}

/* NULL: the port keeps nothing. */
static struct shortage *shortage_of(const struct gating *gating, oneib_guid guid)
{
    const struct shortage wanted = {.guid = guid};
    return ONEIB_FIND(&wanted, gating->shortages, gating->shortage_count, compare_shortages);
}

/* What is not added leaves its place to what is kept. */
static void credit(const struct gating *gating)
{
    for (size_t i = 0; i < gating->entry_count; i++) {
        const struct entry *entry = &gating->entries[i];
        if (!entry->desired || entry->in_force || entry->is_added)
            continue;
        struct shortage *found = shortage_of(gating, entry->guid);
        if (found)
            found->room++;
    }
}

/* By its GUID, or with others. */
static bool is_listed(const struct oneib_partition *partition, oneib_guid guid)
{
    for (size_t i = 0; i < partition->member_count; i++)
        if (partition->members[i].kind != ONEIB_MEMBER_GUID || partition->members[i].guid == guid)
            return true;
    return false;
}

/* As the operator's, in force now. */
static bool is_member_in_force(const struct gating *gating, oneib_pkey pkey, oneib_guid guid)
{
    const struct oneib_partition_table *table = gating->input->in_force;
    uint32_t cluster;
    for (size_t i = 0; table && i < table->count; i++) {
        const struct oneib_partition *partition = &table->items[i];
        if (partition->pkey == pkey && !oneib_partition_cluster(partition, &cluster) &&
            is_listed(partition, guid))
            return !is_lacking(gating, guid, pkey);
    }
    return false;
}

/* How many of the operator's partitions are to come to the port. */
static size_t count_new_statics(const struct gating *gating, oneib_guid guid)
{
    const struct oneib_partition_table *table = &gating->input->desired->table;
    size_t count = 0;
    uint32_t cluster;
    for (size_t i = 0; i < table->count; i++) {
        const struct oneib_partition *partition = &table->items[i];
        count += partition->pkey != ONEIB_PKEY_DEFAULT &&
                 !oneib_partition_cluster(partition, &cluster) && is_listed(partition, guid) &&
                 !is_member_in_force(gating, partition->pkey, guid);
    }
    return count;
}

/* Of the operator's nothing new comes to a port that is short, so it has that many places more. */
static void find_short_ports(const struct gating *gating)
{
    for (size_t i = 0; i < gating->shortage_count; i++) {
        struct shortage *shortage = &gating->shortages[i];
        shortage->is_short = shortage->kept > shortage->room;
        if (shortage->is_short)
            shortage->room += count_new_statics(gating, shortage->guid);
    }
}

static void withhold_beyond(struct gating *gating)
{
    for (size_t i = gating->entry_count; i-- > 0;) {
        struct entry *entry = &gating->entries[i];
        if (!entry->is_added)
            continue;
        struct shortage *found = shortage_of(gating, entry->guid);
        if (!found || found->kept <= found->room)
            continue;
        found->room++;
        entry->is_added = false;
        gating->gate->withheld++;
    }
}

static void make_room(struct gating *gating)
{
    if (gating->gate->kept == 0)
        return;
    list_shortages(gating);
    credit(gating);
    find_short_ports(gating);
    withhold_beyond(gating);
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool is_written(const struct entry *entry)
{
    return entry->is_kept || entry->is_added || (entry->in_force && entry->desired);
}

/* The ledger knows of a host that is fenced, or that oned does not know: where the ports of that one
 * are may be known to nobody. */
static bool is_any_fenced_or_lost(const struct gating *gating)
{
    const struct oneib_ledger *ledger = gating->input->ledger;
    if (ledger && ledger->fenced_port_count > 0)
        return true;
    for (size_t i = 0; ledger && i < ledger->host_count; i++)
        if (!oneib_cloud_host(gating->input->cloud, ledger->hosts[i].host_id))
            return true;
    return false;
}

/* All ports are those of silent, fenced and lost hosts, too. */
static bool may_come_to_all(const struct gating *gating)
{
    if (is_any_fenced_or_lost(gating))
        return false;
    for (size_t i = 0; i < gating->shortage_count; i++)
        if (gating->shortages[i].is_short)
            return false;
    for (size_t i = 0; i < gating->port_count; i++)
        if (gating->ports[i].may_hold &&
            (!lets_come(&gating->ports[i]) || gating->ports[i].is_behind))
            return false;
    return true;
}

/* What is new on a port takes a free place of its table, to which a VF may be mapped still. */
static bool may_be_copied(const struct gating *gating, const struct oneib_partition *partition,
                          const struct oneib_member *member)
{
    const struct entry entry = {
        .guid = member->guid, .pkey = partition->pkey, .after = member->membership};
    if (is_member_in_force(gating, partition->pkey, member->guid))
        return true;
    if (member->kind != ONEIB_MEMBER_GUID)
        return may_come_to_all(gating);
    if (is_there(gating, &entry))
        return true;
    const struct shortage *shortage = shortage_of(gating, member->guid);
    return may_come(gating, &entry) && !(shortage && shortage->is_short);
}

/* The default partition, which every port has, and the operator's. */
static void copy_others(struct gating *gating, const struct oneib_partition *partition)
{
    struct oneib_partition *copy = oneib_partition_table_add_like(&gating->gate->table, partition);
    for (size_t i = 0; i < partition->member_count; i++) {
        const bool comes = partition->pkey == ONEIB_PKEY_DEFAULT ||
                           may_be_copied(gating, partition, &partition->members[i]);
        gating->gate->withheld += !comes;
        if (comes)
            oneib_partition_add_member(copy, partition->members[i]);
    }
    if (copy->member_count == 0) {
        free(copy->members);
        gating->gate->table.count--;
    }
}

/* With what is kept the key must not come to index 0 of a port that it was not at index 0 of: every
 * closed map entry leads there. */
static void write_cluster(struct gating *gating, const struct oneib_partition *head,
                          uint32_t cluster)
{
    size_t count, written = 0;
    const struct entry *entries = entries_of_key(gating, head->pkey, &count);
    for (size_t i = 0; i < count; i++)
        written += entries[i].cluster == cluster && is_written(&entries[i]);
    if (written == 0)
        return;
    struct oneib_partition *partition = oneib_partition_table_add_like(&gating->gate->table, head);
    for (size_t i = 0; i < count; i++)
        if (entries[i].cluster == cluster && is_written(&entries[i])) {
            if (entries[i].is_kept)
                partition->indx0 = false;
            oneib_partition_add_member(partition,
                                       (struct oneib_member){.guid = entries[i].guid,
                                                             .kind = ONEIB_MEMBER_GUID,
                                                             .membership = entries[i].membership});
        }
}

static bool has_name(const struct oneib_partition_table *table, const char *name, oneib_pkey pkey)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].pkey != pkey && strcmp(table->items[i].name, name) == 0)
            return true;
    return false;
}

/* The partition as it is in force, under a name that is nobody's: the network may have another one
 * under its own, and two of the past. */
static struct oneib_partition head_of_old(const struct gating *gating,
                                          const struct oneib_partition *before, uint32_t cluster)
{
    struct oneib_partition head = *before;
    uint32_t exact;
    if (!oneib_cluster_name_parse(head.name, &exact) ||
        has_name(&gating->input->desired->table, head.name, head.pkey))
        snprintf(head.name, sizeof head.name, "one%u-%04x", cluster, head.pkey);
    return head;
}

static void write_desired(struct gating *gating)
{
    const struct oneib_partition_table *table = &gating->input->desired->table;
    for (size_t i = 0; i < table->count; i++) {
        uint32_t cluster;
        if (oneib_partition_cluster(&table->items[i], &cluster))
            write_cluster(gating, &table->items[i], cluster);
        else
            copy_others(gating, &table->items[i]);
    }
}

static bool is_desired(const struct gating *gating, oneib_pkey pkey, uint32_t cluster)
{
    const struct oneib_partition *partition =
        oneib_partition_table_find(&gating->input->desired->table, pkey);
    uint32_t owner;
    return partition && oneib_partition_cluster(partition, &owner) && owner == cluster;
}

/* Partitions that are not desired any more, as far as something of them is kept. */
static void write_old(struct gating *gating)
{
    const struct oneib_partition_table *table = gating->input->in_force;
    for (size_t i = 0; table && i < table->count; i++) {
        const struct oneib_partition *before = &table->items[i];
        uint32_t cluster;
        if (!oneib_partition_cluster(before, &cluster) || is_desired(gating, before->pkey, cluster))
            continue;
        const struct oneib_partition head = head_of_old(gating, before, cluster);
        write_cluster(gating, &head, cluster);
    }
}

static void compute(struct gating *gating)
{
    list_ports(gating);
    list_uses(gating);
    list_entries(gating);
    forget_what_is_over(gating);
    block_ports(gating);
    for (size_t i = 0; i < gating->entry_count; i++)
        judge(gating, &gating->entries[i]);
    part_clusters(gating);
    make_room(gating);
    write_desired(gating);
    write_old(gating);
    /* By key alone: the order of members within a static partition has a meaning. */
    oneib_stable_sort(gating->gate->table.items, gating->gate->table.count,
                      sizeof *gating->gate->table.items, oneib_partition_compare_keys);
}

void oneib_gate_compute(const struct oneib_gate_input *input, struct oneib_gate *gate)
{
    *gate = (struct oneib_gate){0};
    struct gating *gating = oneib_alloc(1, sizeof *gating);
    gating->input = input;
    gating->gate = gate;
    compute(gating);
    free(gating->ports);
    free(gating->uses);
    free(gating->entries);
    free(gating->shortages);
    free(gating);
}

void oneib_gate_clear(struct oneib_gate *gate)
{
    oneib_partition_table_clear(&gate->table);
    *gate = (struct oneib_gate){0};
}
