// SPDX-License-Identifier: Apache-2.0
/* What is above and below the picture: title, caption, legend. */
#include "topology/topology_svg.h"

#include "topology/topology_levels.h"
#include "topology/topology_palette.h"
#include <inttypes.h>

#define LEGEND_TITLE 30
#define LEGEND_ROW 38
#define LEGEND_CLASS 14 /* more, with a line for the class */
#define LEGEND_COLUMN 250
#define LEGEND_NAME 26 /* columns of text */

static void put(struct oneib_svg *drawing, const char *string)
{
    oneib_text_append(drawing->text, string);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void put_caption(struct oneib_svg *drawing)
{
    const size_t grey = drawing->marks.grey;
    oneib_text_printf(drawing->text, "<text x=\"%d\" y=\"78\" font-size=\"12\" fill=\"#64748b\">",
                      ONEIB_SVG_MARGIN);
    put(drawing, "Colours are virtual clusters: ports reach each other only where they share one.");
    if (grey > 0)
        oneib_text_printf(drawing->text,
                          " Grey stands for %zu cluster%s, and says nothing of who reaches whom: "
                          "--cluster shows one.",
                          grey, plural(grey));
    put(drawing, "</text>\n");
}

void oneib_svg_put_header(struct oneib_svg *drawing)
{
    const struct oneib_topology *topology = drawing->topology;
    const size_t hosts = drawing->layout.host_count, links = drawing->ends.count / 2;
    const size_t switches = oneib_count_nodes(topology, oneib_is_switch);
    const size_t aggregation = oneib_count_nodes(topology, oneib_is_aggregation);
    const size_t clusters = drawing->marks.cluster_count;
    oneib_text_printf(drawing->text,
                      "<text x=\"%d\" y=\"38\" font-size=\"21\" font-weight=\"700\" "
                      "fill=\"#0f172a\">InfiniBand fabric</text>\n"
                      "<text x=\"%d\" y=\"60\" font-size=\"13\" fill=\"#475569\">%zu host%s, "
                      "%zu switch%s, %zu link%s",
                      ONEIB_SVG_MARGIN, ONEIB_SVG_MARGIN, hosts, plural(hosts), switches,
                      switches == 1 ? "" : "es", links, plural(links));
    if (aggregation > 0)
        oneib_text_printf(drawing->text, ", %zu aggregation node%s (SHARP, not drawn)", aggregation,
                          plural(aggregation));
    if (drawing->marked)
        oneib_text_printf(drawing->text, ", %zu virtual cluster%s", clusters, plural(clusters));
    put(drawing, "</text>\n");
    if (clusters > 0)
        put_caption(drawing);
}

/* The clusters with a colour, the grey ones, and ports in none. */
static size_t legend_entries(const struct oneib_svg *drawing)
{
    const struct oneib_marks *marks = &drawing->marks;
    return drawing->marked ? marks->cluster_count - marks->grey + (marks->grey > 0) + 1 : 0;
}

static size_t legend_columns(const struct oneib_svg *drawing)
{
    return (size_t)(drawing->layout.width - 2 * ONEIB_SVG_MARGIN) / LEGEND_COLUMN;
}

static int legend_row(const struct oneib_svg *drawing)
{
    return LEGEND_ROW + (drawing->topology->classes ? LEGEND_CLASS : 0);
}

int oneib_svg_legend_height(const struct oneib_svg *drawing)
{
    size_t columns = legend_columns(drawing);
    size_t rows = (legend_entries(drawing) + columns - 1) / columns;
    return rows ? LEGEND_TITLE + (int)rows * legend_row(drawing) : 0;
}

/* A line of its own below the rest. */
static void put_legend_class(struct oneib_svg *drawing, uint8_t sl, int x)
{
    if (!drawing->topology->classes)
        return;
    oneib_text_printf(drawing->text, "<tspan x=\"%d\" dy=\"%d\" font-size=\"11\" fill=\"#64748b\">",
                      x, LEGEND_CLASS);
    oneib_append_level(drawing->text, drawing->topology, sl, "");
    put(drawing, "</tspan>");
}

/* NULL: the grey ones, or ports in none. */
static const struct oneib_marked_cluster *coloured(const struct oneib_svg *drawing, size_t colour)
{
    for (size_t i = 0; i < drawing->marks.cluster_count; i++)
        if (drawing->marks.clusters[i].colour == colour)
            return &drawing->marks.clusters[i];
    return NULL;
}

static void put_legend_cluster(struct oneib_svg *drawing,
                               const struct oneib_marked_cluster *cluster, int x)
{
    put(drawing, "<tspan font-weight=\"600\">");
    oneib_append_xml(drawing->text, oneib_cluster_label(cluster), LEGEND_NAME);
    oneib_text_printf(drawing->text,
                      "</tspan><tspan x=\"%d\" dy=\"15\" font-size=\"11\" fill=\"#64748b\">"
                      "network %" PRIu32 ", P_Key 0x%04x, %zu port%s</tspan>",
                      x, cluster->network_id, cluster->partition->pkey, cluster->ports,
                      plural(cluster->ports));
    put_legend_class(drawing, cluster->partition->sl, x);
}

static void put_legend_entry(struct oneib_svg *drawing, size_t index, int x, int y)
{
    const struct oneib_marked_cluster *cluster = coloured(drawing, index);
    const bool last = index + 1 == legend_entries(drawing);
    oneib_text_printf(drawing->text, "<rect x=\"%d\" y=\"%d\" width=\"22\" height=\"14\" rx=\"3\" ",
                      x, y);
    if (last)
        put(drawing, "fill=\"#e2e8f0\"");
    else
        oneib_svg_put_fill(drawing, cluster ? index : ONEIB_GREY);
    oneib_text_printf(drawing->text, "/><text x=\"%d\" y=\"%d\" font-size=\"12\" fill=\"#0f172a\">",
                      x + 30, y + 11);
    if (cluster)
        put_legend_cluster(drawing, cluster, x + 30);
    else if (last)
        put(drawing, "a port in none of them");
    else
        oneib_text_printf(drawing->text, "%zu other%s", drawing->marks.grey,
                          plural(drawing->marks.grey));
    put(drawing, "</text>\n");
}

void oneib_svg_put_legend(struct oneib_svg *drawing)
{
    size_t columns = legend_columns(drawing), entries = legend_entries(drawing);
    int top = drawing->layout.bottom + LEGEND_TITLE;
    if (entries == 0)
        return;
    oneib_text_printf(drawing->text,
                      "<text x=\"%d\" y=\"%d\" font-size=\"13\" font-weight=\"700\" "
                      "fill=\"#0f172a\">Virtual clusters</text>\n",
                      ONEIB_SVG_MARGIN, top);
    for (size_t i = 0; i < entries; i++)
        put_legend_entry(drawing, i, ONEIB_SVG_MARGIN + (int)(i % columns) * LEGEND_COLUMN,
                         top + 14 + (int)(i / columns) * legend_row(drawing));
}
