// SPDX-License-Identifier: Apache-2.0
#include "topology/topology.h"

#include "topology/topology_layout.h"
#include "topology/topology_levels.h"
#include "topology/topology_marks.h"
#include "topology/topology_palette.h"
#include <inttypes.h>

#define LABEL_MAX 64
#define NAME_COLUMNS 32

struct dot_drawing {
    const struct oneib_topology *topology;
    struct oneib_ends ends;
    struct oneib_marks marks;
    struct oneib_layout layout; /* for its levels */
    struct oneib_text *text;
};

static const char *colour_of(const struct oneib_marks *marks, size_t cluster)
{
    const size_t colour = marks->clusters[cluster].colour;
    return colour == ONEIB_GREY ? ONEIB_PALETTE_GREY : oneib_palette_colour(colour);
}

/* One colour for each virtual cluster of each of the node's ports. */
static size_t append_colours(struct dot_drawing *drawing, size_t node)
{
    size_t end_count, shown = 0;
    const struct oneib_end *ends = oneib_ends_of(&drawing->ends, node, &end_count);
    for (size_t i = 0; i < end_count; i++) {
        size_t count;
        const struct oneib_mark *marks = oneib_marks_of(&drawing->marks, ends[i].guid, &count);
        for (size_t k = 0; k < count; k++)
            oneib_text_printf(drawing->text, "%s%s", shown++ ? ":" : ", fillcolor=\"",
                              colour_of(&drawing->marks, marks[k].cluster));
    }
    return shown;
}

static void append_host_style(struct dot_drawing *drawing, size_t node)
{
    size_t colours = append_colours(drawing, node);
    if (colours)
        oneib_text_printf(drawing->text, "\", style=%s", colours > 1 ? "striped" : "filled");
}

static void append_node(struct dot_drawing *drawing, size_t index)
{
    const struct oneib_topology_node *node = &drawing->topology->nodes[index];
    oneib_text_printf(drawing->text, "  n%zu [label=\"", index);
    oneib_append_dot(drawing->text, node->description, LABEL_MAX);
    oneib_text_printf(drawing->text, "\", tooltip=\"0x%016" PRIx64 "\"", node->guid);
    if (oneib_is_switch(drawing->topology, index))
        oneib_text_append(drawing->text,
                          ", style=filled, fillcolor=\"#334155\", fontcolor=\"#ffffff\"");
    else
        append_host_style(drawing, index);
    oneib_text_append(drawing->text, "];\n");
}

/* From the higher level to the lower, so that the hosts come to stand at the bottom. */
static void append_link(struct dot_drawing *drawing, const struct oneib_topology_link *link)
{
    if (link->a >= drawing->topology->node_count || link->b >= drawing->topology->node_count)
        return;
    bool swap = drawing->layout.levels[link->a] < drawing->layout.levels[link->b];
    oneib_text_printf(drawing->text, "  n%zu -- n%zu [tooltip=\"port %u to port %u",
                      swap ? link->b : link->a, swap ? link->a : link->b,
                      swap ? link->b_port : link->a_port, swap ? link->a_port : link->b_port);
    oneib_append_levels(drawing->text, drawing->topology, link->levels, ", carries ");
    oneib_text_append(drawing->text, "\"];\n");
}

static void append_legend(struct dot_drawing *drawing)
{
    if (drawing->marks.cluster_count == 0)
        return;
    oneib_text_append(drawing->text, "  legend [shape=plain, label=<<table border=\"0\" "
                                     "cellspacing=\"3\">");
    for (size_t i = 0; i < drawing->marks.cluster_count; i++) {
        const struct oneib_marked_cluster *cluster = &drawing->marks.clusters[i];
        if (cluster->colour == ONEIB_GREY)
            continue;
        oneib_text_printf(drawing->text, "<tr><td bgcolor=\"%s\">    </td><td align=\"left\">",
                          oneib_palette_colour(cluster->colour));
        oneib_append_xml(drawing->text, oneib_cluster_label(cluster), NAME_COLUMNS);
        oneib_text_printf(drawing->text, "</td><td align=\"left\">network %" PRIu32 ", 0x%04x",
                          cluster->network_id, cluster->partition->pkey);
        oneib_append_level(drawing->text, drawing->topology, cluster->partition->sl, ", ");
        oneib_text_append(drawing->text, "</td></tr>");
    }
    if (drawing->marks.grey > 0)
        oneib_text_printf(drawing->text,
                          "<tr><td bgcolor=\"" ONEIB_PALETTE_GREY
                          "\">    </td><td align=\"left\">%zu other%s</td><td></td></tr>",
                          drawing->marks.grey, drawing->marks.grey == 1 ? "" : "s");
    oneib_text_append(drawing->text, "</table>>];\n");
}

static void append_graph(struct dot_drawing *drawing)
{
    const struct oneib_topology *topology = drawing->topology;
    oneib_text_append(drawing->text, "graph fabric {\n"
                                     "  graph [rankdir=TB, ranksep=1.2];\n"
                                     "  node [shape=box, fontname=\"sans-serif\"];\n");
    for (size_t i = 0; i < topology->node_count; i++)
        append_node(drawing, i);
    for (size_t i = 0; i < topology->link_count; i++)
        append_link(drawing, &topology->links[i]);
    append_legend(drawing);
    oneib_text_append(drawing->text, "}\n");
}

void oneib_topology_dot(const struct oneib_topology *topology,
                        const struct oneib_partition_table *table, const struct oneib_cloud *cloud,
                        struct oneib_text *text)
{
    struct dot_drawing drawing = {.topology = topology, .text = text};
    oneib_ends_make(topology, &drawing.ends);
    oneib_marks_make(topology, &drawing.ends, table, cloud, &drawing.marks);
    oneib_marks_colour(&drawing.marks, topology, ONEIB_PALETTE_SIZE);
    oneib_layout_make(topology, &drawing.ends, &drawing.layout);
    append_graph(&drawing);
    oneib_layout_clear(&drawing.layout);
    oneib_marks_clear(&drawing.marks);
    oneib_ends_clear(&drawing.ends);
}
