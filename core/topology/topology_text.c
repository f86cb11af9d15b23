// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.h"

#include "base/escape.h"
#include "topology/topology_levels.h"
#include "topology/topology_marks.h"
#include <inttypes.h>

#define NAME_MAX_SHOWN 32

struct text_drawing {
    const struct oneib_topology *topology;
    struct oneib_ends ends;
    struct oneib_marks marks;
    struct oneib_text *text;
};

static const char *type_name(const struct oneib_topology *topology, size_t node)
{
    if (oneib_is_switch(topology, node))
        return "switch";
    if (oneib_is_aggregation(topology, node))
        return "aggregation node";
    return topology->nodes[node].type == ONEIB_NODE_ROUTER ? "router" : "host";
}

static void append_node(struct text_drawing *drawing, size_t index)
{
    const struct oneib_topology_node *node = &drawing->topology->nodes[index];
    oneib_text_printf(drawing->text, "%s \"", type_name(drawing->topology, index));
    oneib_text_append_escaped(drawing->text, node->description, sizeof(node->description));
    oneib_text_append(drawing->text, "\"");
}

/* As messages name it: 7 "red". */
static void append_network(struct text_drawing *drawing, const struct oneib_marked_cluster *cluster)
{
    oneib_text_printf(drawing->text, "%" PRIu32, cluster->network_id);
    if (!cluster->name)
        return;
    oneib_text_append(drawing->text, " \"");
    oneib_text_append_escaped(drawing->text, cluster->name, NAME_MAX_SHOWN);
    oneib_text_append(drawing->text, "\"");
}

static void append_clusters(struct text_drawing *drawing, oneib_guid guid)
{
    size_t count;
    const struct oneib_mark *marks = oneib_marks_of(&drawing->marks, guid, &count);
    for (size_t i = 0; i < count; i++) {
        oneib_text_append(drawing->text, i ? ", " : count > 1 ? "  networks " : "  network ");
        append_network(drawing, &drawing->marks.clusters[marks[i].cluster]);
    }
}

static void append_end(struct text_drawing *drawing, const struct oneib_end *end)
{
    bool to_switch = oneib_is_switch(drawing->topology, end->other);
    oneib_text_printf(drawing->text, "  %3u  ", end->port);
    append_node(drawing, end->other);
    oneib_text_printf(drawing->text, " port %u", end->other_port);
    if (!to_switch)
        oneib_text_printf(drawing->text, "  0x%016" PRIx64, end->other_guid);
    if (end->rate_gbps)
        oneib_text_printf(drawing->text, "  %u Gb/s", end->rate_gbps);
    if (!to_switch)
        append_clusters(drawing, end->other_guid);
    oneib_append_levels(drawing->text, drawing->topology, end->levels, "  carries ");
    oneib_text_append(drawing->text, "\n");
}

static void append_block(struct text_drawing *drawing, size_t node)
{
    size_t count;
    const struct oneib_end *ends = oneib_ends_of(&drawing->ends, node, &count);
    append_node(drawing, node);
    oneib_text_printf(drawing->text, "  0x%016" PRIx64 "  %u ports\n",
                      drawing->topology->nodes[node].guid,
                      drawing->topology->nodes[node].port_count);
    for (size_t i = 0; i < count; i++)
        append_end(drawing, &ends[i]);
    oneib_text_append(drawing->text, "\n");
}

/* A host stands in its switches' blocks; one that has none gets a block of its own. */
static bool hangs_on_switch(const struct text_drawing *drawing, size_t node)
{
    size_t count;
    const struct oneib_end *ends = oneib_ends_of(&drawing->ends, node, &count);
    for (size_t i = 0; i < count; i++)
        if (oneib_is_switch(drawing->topology, ends[i].other))
            return true;
    return false;
}

static void append_legend(struct text_drawing *drawing)
{
    for (size_t i = 0; i < drawing->marks.cluster_count; i++) {
        const struct oneib_marked_cluster *cluster = &drawing->marks.clusters[i];
        oneib_text_append(drawing->text, "network ");
        append_network(drawing, cluster);
        oneib_text_printf(drawing->text, "  P_Key 0x%04x  %zu port%s", cluster->partition->pkey,
                          cluster->ports, cluster->ports == 1 ? "" : "s");
        oneib_append_level(drawing->text, drawing->topology, cluster->partition->sl, "  ");
        oneib_text_append(drawing->text, "\n");
    }
}

static void append_counts(struct text_drawing *drawing)
{
    const struct oneib_topology *topology = drawing->topology;
    const size_t aggregation = oneib_count_nodes(topology, oneib_is_aggregation);
    oneib_text_printf(drawing->text, "hosts %zu", oneib_count_nodes(topology, oneib_is_host));
    if (aggregation > 0)
        oneib_text_printf(drawing->text, ", aggregation nodes %zu", aggregation);
    oneib_text_printf(drawing->text, ", switches %zu, links %zu\n",
                      oneib_count_nodes(topology, oneib_is_switch), topology->link_count);
}

static void append_all(struct text_drawing *drawing)
{
    const struct oneib_topology *topology = drawing->topology;
    for (size_t i = 0; i < topology->node_count; i++)
        if (oneib_is_switch(topology, i))
            append_block(drawing, i);
    for (size_t i = 0; i < topology->node_count; i++)
        if (!oneib_is_switch(topology, i) && !hangs_on_switch(drawing, i))
            append_block(drawing, i);
    append_legend(drawing);
    append_counts(drawing);
}

void oneib_topology_text(const struct oneib_topology *topology,
                         const struct oneib_partition_table *table, const struct oneib_cloud *cloud,
                         struct oneib_text *text)
{
    struct text_drawing drawing = {.topology = topology, .text = text};
    oneib_ends_make(topology, &drawing.ends);
    oneib_marks_make(topology, &drawing.ends, table, cloud, &drawing.marks);
    append_all(&drawing);
    oneib_marks_clear(&drawing.marks);
    oneib_ends_clear(&drawing.ends);
}
