// SPDX-License-Identifier: Apache-2.0
#include "topology/topology_marks.h"

#include "base/array.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/order.h"
#include "cluster/host_port.h"
#include <stdlib.h>
#include <string.h>

ONEIB_ORDER_BY(compare_marks, struct oneib_mark, port_guid, cluster);

ONEIB_ORDER_BY(compare_clusters, struct oneib_marked_cluster, partition->pkey);

/* The GUIDs of all linked CA ports, sorted. */
static size_t collect_ca_ports(const struct oneib_topology *topology, const struct oneib_ends *ends,
                               oneib_guid *guids)
{
    size_t count = 0;
    for (size_t i = 0; i < ends->count; i++)
        if (!oneib_is_switch(topology, ends->items[i].node))
            guids[count++] = ends->items[i].guid;
    ONEIB_SORT(guids, count, oneib_guid_compare);
    return count;
}

/* The partitions of virtual clusters are named "one" and the network's id. */
static bool is_cluster(const struct oneib_partition *partition, uint64_t *id)
{
    return strncmp(partition->name, "one", 3) == 0 &&
           oneib_parse_decimal(partition->name + 3, UINT32_MAX, id);
}

static void add_mark(struct oneib_marks *marks, oneib_guid guid, size_t cluster)
{
    ONEIB_APPEND(marks->items, marks->count, marks->capacity, (struct oneib_mark){guid, cluster});
}

static void add_cluster(struct oneib_marks *marks, const struct oneib_partition *partition,
                        uint32_t id, const struct oneib_cloud *cloud)
{
    const struct oneib_network *network = cloud ? oneib_cloud_network(cloud, id) : NULL;
    ONEIB_APPEND(marks->clusters, marks->cluster_count, marks->cluster_capacity,
                 (struct oneib_marked_cluster){
                     .partition = partition,
                     .network_id = id,
                     .name = network && network->name && *network->name ? network->name : NULL});
}

static void list_clusters(const struct oneib_partition_table *table,
                          const struct oneib_cloud *cloud, struct oneib_marks *marks)
{
    uint64_t id;
    for (size_t i = 0; i < table->count; i++)
        if (is_cluster(&table->items[i], &id))
            add_cluster(marks, &table->items[i], (uint32_t)id, cloud);
    ONEIB_SORT(marks->clusters, marks->cluster_count, compare_clusters);
}

/* What marks are made of. */
struct scene {
    const oneib_guid *ports; /* of hosts, linked; sorted */
    size_t port_count;
    const struct oneib_cloud *cloud; /* NULL: not known */
    const struct oneib_topology *topology;
};

static bool is_linked(const struct scene *scene, oneib_guid port)
{
    return scene->port_count > 0 && oneib_guids_have(scene->ports, scene->port_count, port);
}

static void mark_on_host(struct oneib_marks *marks, size_t index, const struct scene *scene,
                         const struct oneib_attachment *attachment, uint32_t host_id)
{
    const struct oneib_network *network = oneib_cloud_network(scene->cloud, attachment->network_id);
    const struct oneib_hca_port *port;
    if (!network || host_id == ONEIB_NO_ID ||
        oneib_host_port(scene->cloud, oneib_cloud_host(scene->cloud, host_id), network, &port) !=
            ONEIB_PORT_FOUND ||
        !is_linked(scene, port->port_guid))
        return;
    add_mark(marks, port->port_guid, index);
}

ONEIB_ORDER_BY(compare_vports, struct oneib_topology_vport, guid);

static const struct oneib_topology_vport *find_vport(const struct oneib_topology *topology,
                                                     oneib_guid guid)
{
    const struct oneib_topology_vport wanted = {.guid = guid};
    return ONEIB_FIND(&wanted, topology->vports, topology->vport_count, compare_vports);
}

/* A VF's virtual port is no end of a cable: it is drawn where an adapter has shown it, else where
 * its host is, while it migrates where both are. */
static void mark_virtual(struct oneib_marks *marks, size_t index, const struct scene *scene,
                         oneib_guid guid)
{
    struct oneib_guid_parts parts;
    const struct oneib_topology_vport *seen = find_vport(scene->topology, guid);
    if (seen && is_linked(scene, seen->port_guid)) {
        add_mark(marks, seen->port_guid, index);
        return;
    }
    const struct oneib_attachment *attachment =
        scene->cloud && oneib_guid_decode(guid, &parts)
            ? oneib_cloud_nic(scene->cloud, parts.vm_id, parts.nic_id)
            : NULL;
    if (!attachment)
        return;
    mark_on_host(marks, index, scene, attachment, attachment->host_id);
    mark_on_host(marks, index, scene, attachment, attachment->source_host_id);
}

static void mark_members(struct oneib_marks *marks, size_t index, const struct scene *scene)
{
    const struct oneib_partition *partition = marks->clusters[index].partition;
    for (size_t i = 0; i < partition->member_count; i++) {
        const struct oneib_member *member = &partition->members[i];
        if (member->kind != ONEIB_MEMBER_GUID)
            continue;
        if (is_linked(scene, member->guid))
            add_mark(marks, member->guid, index);
        else
            mark_virtual(marks, index, scene, member->guid);
    }
}

/* Static partitions may name a port twice. */
static void sort_and_count(struct oneib_marks *marks)
{
    size_t kept = 0;
    ONEIB_SORT(marks->items, marks->count, compare_marks);
    for (size_t i = 0; i < marks->count; i++) {
        if (kept && compare_marks(&marks->items[kept - 1], &marks->items[i]) == 0)
            continue;
        marks->items[kept++] = marks->items[i];
        marks->clusters[marks->items[i].cluster].ports++;
    }
    marks->count = kept;
}

/* Clusters without a port here are left out of the legend: colours are few. */
static void drop_absent_clusters(struct oneib_marks *marks)
{
    size_t *places = oneib_alloc(marks->cluster_count + 1, sizeof(*places));
    size_t kept = 0;
    for (size_t i = 0; i < marks->cluster_count; i++) {
        places[i] = kept;
        if (marks->clusters[i].ports)
            marks->clusters[kept++] = marks->clusters[i];
    }
    for (size_t i = 0; i < marks->count; i++)
        marks->items[i].cluster = places[marks->items[i].cluster];
    marks->cluster_count = kept;
    free(places);
}

static void mark_all(const struct oneib_topology *topology, const struct oneib_ends *ends,
                     const struct oneib_partition_table *table, const struct oneib_cloud *cloud,
                     oneib_guid *ports, struct oneib_marks *marks)
{
    const struct scene scene = {ports, collect_ca_ports(topology, ends, ports), cloud, topology};
    list_clusters(table, cloud, marks);
    for (size_t i = 0; i < marks->cluster_count; i++)
        mark_members(marks, i, &scene);
    sort_and_count(marks);
    drop_absent_clusters(marks);
}

void oneib_marks_make(const struct oneib_topology *topology, const struct oneib_ends *ends,
                      const struct oneib_partition_table *table, const struct oneib_cloud *cloud,
                      struct oneib_marks *marks)
{
    *marks = (struct oneib_marks){0};
    if (!table)
        return;
    oneib_guid *ports = oneib_alloc(ends->count + 1, sizeof(*ports));
    mark_all(topology, ends, table, cloud, ports, marks);
    free(ports);
}

void oneib_marks_colour(struct oneib_marks *marks, const struct oneib_topology *topology,
                        size_t colours)
{
    size_t used = 0;
    for (size_t i = 0; i < marks->cluster_count; i++) {
        struct oneib_marked_cluster *cluster = &marks->clusters[i];
        const bool is_shown = !topology->shown || *topology->shown == cluster->network_id;
        cluster->colour = is_shown && used < colours ? used++ : ONEIB_GREY;
    }
    marks->grey = marks->cluster_count - used;
}

const struct oneib_mark *oneib_marks_of(const struct oneib_marks *marks, oneib_guid port_guid,
                                        size_t *count)
{
    const size_t first = ONEIB_LOWER_BOUND(i, marks->count, marks->items[i].port_guid < port_guid);
    *count = ONEIB_RUN(i, first, marks->count, marks->items[i].port_guid == port_guid);
    return *count ? &marks->items[first] : NULL;
}

const char *oneib_cluster_label(const struct oneib_marked_cluster *cluster)
{
    return cluster->name ? cluster->name : cluster->partition->name;
}

void oneib_marks_clear(struct oneib_marks *marks)
{
    free(marks->clusters);
    free(marks->items);
    *marks = (struct oneib_marks){0};
}
