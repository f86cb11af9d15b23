// SPDX-License-Identifier: Apache-2.0
#include "topology/topology_svg.h"

#include "topology/topology_levels.h"
#include "topology/topology_palette.h"
#include <inttypes.h>

#define FONT "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
#define SEGMENT_NAME_MIN 4 /* columns: less of a longer name says nothing */
#define TITLE_NAME 64
#define DESCRIPTION_MAX 64
#define CORNER 7 /* of a switch */

/* Clusters beyond the colours of the palette repeat them with stripes, then with dots; those beyond
 * that are grey. */
#define TEXTURES 3
#define COLOURS ((size_t)ONEIB_PALETTE_SIZE * TEXTURES)

static void put(struct oneib_svg *drawing, const char *string)
{
    oneib_text_append(drawing->text, string);
}

/* ---- colours --------------------------------------------------------------------------------- */

static size_t texture_of(size_t colour)
{
    return colour / ONEIB_PALETTE_SIZE;
}

void oneib_svg_put_fill(struct oneib_svg *drawing, size_t colour)
{
    if (colour == ONEIB_GREY)
        put(drawing, "fill=\"" ONEIB_PALETTE_GREY "\"");
    else if (texture_of(colour) == 0)
        oneib_text_printf(drawing->text, "fill=\"%s\"", oneib_palette_colour(colour));
    else
        oneib_text_printf(drawing->text, "fill=\"url(#c%zu)\"", colour);
}

static void put_texture(struct oneib_svg *drawing, size_t colour)
{
    oneib_text_printf(
        drawing->text,
        "<pattern id=\"c%zu\" width=\"6\" height=\"6\" "
        "patternUnits=\"userSpaceOnUse\"><rect width=\"6\" height=\"6\" fill=\"%s\"/>",
        colour, oneib_palette_colour(colour));
    put(drawing,
        texture_of(colour) == 1
            ? "<path d=\"M-1 1 1-1M-1 7 7-1M5 7 7 5\" stroke=\"#fff\" stroke-width=\"1.6\"/>"
            : "<circle cx=\"3\" cy=\"3\" r=\"1.5\" fill=\"#fff\"/>");
    put(drawing, "</pattern>");
}

static void put_textures(struct oneib_svg *drawing)
{
    const size_t count = drawing->marks.cluster_count - drawing->marks.grey;
    put(drawing, "<defs>");
    for (size_t i = ONEIB_PALETTE_SIZE; i < count; i++)
        put_texture(drawing, i);
    put(drawing, "</defs>\n");
}

/* ---- links ----------------------------------------------------------------------------------- */

/* Ends a path; what the link carries is its title. */
static void close_link(struct oneib_svg *drawing, uint16_t levels)
{
    if (drawing->topology->classes && levels) {
        put(drawing, "><title>");
        oneib_append_levels(drawing->text, drawing->topology, levels, "carries ");
        put(drawing, "</title></path>\n");
        return;
    }
    put(drawing, "/>\n");
}

static void put_curve(struct oneib_svg *drawing, int x1, int y1, int x2, int y2, uint16_t levels)
{
    int middle = y1 == y2 ? y1 - 48 : (y1 + y2) / 2; /* between equals it bows upwards */
    oneib_text_printf(drawing->text, "<path d=\"M%d %dC%d %d %d %d %d %d\"", x1, y1, x1, middle, x2,
                      middle, x2, y2);
    close_link(drawing, levels);
}

static int centre(const struct oneib_box *box)
{
    return box->x + box->width / 2;
}

/* Where the k-th of n links leaves a box, spread over its width. */
static int spread(const struct oneib_box *box, size_t k, size_t n)
{
    int width = box->width - 12 > 0 ? box->width - 12 : 0;
    return centre(box) - width / 2 + (int)((size_t)width * (2 * k + 1) / (2 * n));
}

static size_t switch_ends(const struct oneib_svg *drawing, size_t node, size_t other,
                          size_t *before)
{
    size_t count, found = 0;
    const struct oneib_end *ends = oneib_ends_of(&drawing->ends, node, &count);
    *before = 0;
    for (size_t i = 0; i < count; i++) {
        if (!oneib_is_switch(drawing->topology, ends[i].other))
            continue;
        found++;
        *before += ends[i].other < other;
    }
    return found;
}

static void put_switch_link(struct oneib_svg *drawing, const struct oneib_end *end, size_t nth)
{
    const struct oneib_box *lower = &drawing->layout.boxes[end->node];
    const struct oneib_box *upper = &drawing->layout.boxes[end->other];
    size_t low_before, high_before;
    size_t low_count = switch_ends(drawing, end->node, end->other, &low_before);
    size_t high_count = switch_ends(drawing, end->other, end->node, &high_before);
    int bottom = upper->y == lower->y ? upper->y : upper->y + upper->height;
    put_curve(drawing, spread(lower, low_before + nth, low_count), lower->y,
              spread(upper, high_before + nth, high_count), bottom, end->levels);
}

/* A cable from a node to itself, at the right of its box. */
static void put_loop(struct oneib_svg *drawing, const struct oneib_end *end)
{
    const struct oneib_box *box = &drawing->layout.boxes[end->node];
    oneib_text_printf(drawing->text, "<path d=\"M%d %dc16 -6 16 %d 0 %d\"", box->x + box->width,
                      box->y + box->height / 3, box->height / 3 + 6, box->height / 3);
    close_link(drawing, end->levels);
}

static bool is_loop(const struct oneib_end *end)
{
    return end->node == end->other && end->port < end->other_port;
}

/* Each link from its lower end; of two equal ones from the first. */
static bool is_lower(const struct oneib_svg *drawing, const struct oneib_end *end)
{
    unsigned own = drawing->layout.levels[end->node], other = drawing->layout.levels[end->other];
    return own < other || (own == other && end->node < end->other);
}

/* How many links between the same two switches come before this one. */
static size_t parallel_before(const struct oneib_end *ends, size_t index)
{
    size_t before = 0;
    for (size_t i = 0; i < index; i++)
        before += ends[i].other == ends[index].other;
    return before;
}

static void put_links_between_switches(struct oneib_svg *drawing)
{
    bool dense = drawing->layout.detail == ONEIB_DETAIL_COLOUR;
    oneib_text_printf(
        drawing->text,
        "<g fill=\"none\" stroke=\"#64748b\" stroke-width=\"%s\" stroke-opacity=\"%s\">\n",
        dense ? "1" : "1.6", dense ? ".45" : ".6");
    for (size_t node = 0; node < drawing->topology->node_count; node++) {
        size_t count;
        const struct oneib_end *ends = oneib_ends_of(&drawing->ends, node, &count);
        if (!oneib_is_switch(drawing->topology, node))
            continue;
        for (size_t i = 0; i < count; i++)
            if (is_loop(&ends[i]))
                put_loop(drawing, &ends[i]);
            else if (oneib_is_switch(drawing->topology, ends[i].other) &&
                     is_lower(drawing, &ends[i]))
                put_switch_link(drawing, &ends[i], parallel_before(ends, i));
    }
    put(drawing, "</g>\n");
}

static const struct oneib_group *group_of(const struct oneib_svg *drawing, size_t host)
{
    return &drawing->layout.groups[drawing->layout.group_of[host]];
}

/* Down the gutter beside its column and into its side: a cable from above would seem to come from
 * the host there. */
static void put_cable_by_gutter(struct oneib_svg *drawing, const struct oneib_box *host, int top,
                                int gutter, uint16_t levels)
{
    const int x = host->x - gutter / 2, y = host->y + host->height / 2;
    const int bend = gutter / 2 < host->height / 4 ? gutter / 2 : host->height / 4;
    oneib_text_printf(drawing->text, "<path d=\"M%d %dV%dQ%d %d %d %dH%d\"", x, top, y - bend, x, y,
                      x + bend, y, host->x);
    close_link(drawing, levels);
}

/* What the links of a host to its leaf carry. */
static uint16_t levels_to(const struct oneib_svg *drawing, size_t host, size_t leaf)
{
    size_t count;
    const struct oneib_end *ends = oneib_ends_of(&drawing->ends, host, &count);
    uint16_t levels = 0;
    for (size_t i = 0; i < count; i++)
        if (ends[i].other == leaf)
            levels |= ends[i].levels;
    return levels;
}

/* Each host of a leaf has a cable of its own to it. */
static void put_cables(struct oneib_svg *drawing, const struct oneib_group *group)
{
    if (group->leaf == SIZE_MAX)
        return;
    const struct oneib_box *leaf = &drawing->layout.boxes[group->leaf];
    const int bottom = leaf->y + leaf->height;
    for (size_t i = 0; i < group->count; i++) {
        const size_t node = drawing->layout.hosts[group->first + i];
        const struct oneib_box *host = &drawing->layout.boxes[node];
        const uint16_t levels = levels_to(drawing, node, group->leaf);
        if (group->gutter) {
            put_cable_by_gutter(drawing, host, bottom - CORNER, group->gutter, levels);
            continue;
        }
        oneib_text_printf(drawing->text, "<path d=\"M%d %dV%d\"", centre(host), bottom, host->y);
        close_link(drawing, levels);
    }
}

/* A link of a host to another node than its leaf. In a group of several rows it leaves by the
 * gutter, beside the first cable, and turns away above the cards. */
static void put_further_link(struct oneib_svg *drawing, size_t host, const struct oneib_end *end)
{
    const size_t other = end->other;
    const struct oneib_layout *layout = &drawing->layout;
    const struct oneib_group *group = group_of(drawing, host);
    const struct oneib_box *from = &layout->boxes[host], *to = &layout->boxes[other];
    const int bottom = from->y == to->y ? to->y : to->y + to->height;
    if (group->gutter == 0) {
        put_curve(drawing, centre(from) + from->width / 4, from->y, centre(to), bottom,
                  end->levels);
        return;
    }
    const int x = from->x - group->gutter / 4, y = from->y + from->height * 3 / 4;
    const int top = layout->boxes[layout->hosts[group->first]].y;
    const int middle = (top + bottom) / 2;
    oneib_text_printf(drawing->text, "<path d=\"M%d %dH%dV%dC%d %d %d %d %d %d\"", from->x, y, x,
                      top, x, middle, centre(to), middle, centre(to), bottom);
    close_link(drawing, end->levels);
}

/* Links of a host beyond the one that its place shows: a second port, or a host linked to a host.
 */
static void put_further_links(struct oneib_svg *drawing, size_t host)
{
    size_t count;
    const struct oneib_end *ends = oneib_ends_of(&drawing->ends, host, &count);
    const size_t leaf = group_of(drawing, host)->leaf;
    for (size_t i = 0; i < count; i++) {
        size_t other = ends[i].other;
        if (is_loop(&ends[i]))
            put_loop(drawing, &ends[i]);
        else if (other != leaf && (oneib_is_switch(drawing->topology, other) || other > host))
            put_further_link(drawing, host, &ends[i]);
    }
}

static void put_host_links(struct oneib_svg *drawing)
{
    const struct oneib_layout *layout = &drawing->layout;
    put(drawing, "<g fill=\"none\" stroke=\"#94a3b8\" stroke-width=\"1.6\">\n");
    for (size_t i = 0; i < layout->group_count; i++)
        put_cables(drawing, &layout->groups[i]);
    put(drawing, "</g>\n<g fill=\"none\" stroke=\"#94a3b8\" stroke-width=\"1.6\" "
                 "stroke-dasharray=\"5 4\">\n");
    for (size_t i = 0; i < layout->host_count; i++)
        put_further_links(drawing, layout->hosts[i]);
    put(drawing, "</g>\n");
}

/* ---- switches -------------------------------------------------------------------------------- */

static void put_title(struct oneib_svg *drawing, size_t index)
{
    const struct oneib_topology_node *node = &drawing->topology->nodes[index];
    put(drawing, "<title>");
    oneib_append_xml(drawing->text, node->description, DESCRIPTION_MAX);
    oneib_text_printf(drawing->text, " 0x%016" PRIx64, node->guid);
}

static void put_label(struct oneib_svg *drawing, size_t index, int x, int y, int room,
                      int character_width, const char *attributes)
{
    int characters = room / character_width;
    if (characters < 2)
        return;
    oneib_text_printf(drawing->text, "<text x=\"%d\" y=\"%d\" %s>", x, y, attributes);
    oneib_append_xml(drawing->text, drawing->topology->nodes[index].description,
                     (size_t)characters);
    put(drawing, "</text>");
}

static void put_switch(struct oneib_svg *drawing, size_t index)
{
    const struct oneib_box *box = &drawing->layout.boxes[index];
    bool leaf = drawing->layout.levels[index] == 1;
    put(drawing, "<g>");
    put_title(drawing, index);
    oneib_text_printf(drawing->text,
                      "</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" "
                      "fill=\"%s\"/>",
                      box->x, box->y, box->width, box->height, CORNER,
                      leaf ? "#475569" : "#1e293b");
    put_label(drawing, index, centre(box), box->y + 22, box->width - 8, 8,
              "font-size=\"13\" font-weight=\"600\" fill=\"#fff\" text-anchor=\"middle\"");
    put(drawing, "</g>\n");
}

static void put_panels(struct oneib_svg *drawing)
{
    put(drawing, "<g fill=\"#f1f5f9\" stroke=\"#e2e8f0\">\n");
    for (size_t i = 0; i < drawing->layout.group_count; i++) {
        const struct oneib_box *panel = &drawing->layout.groups[i].panel;
        oneib_text_printf(drawing->text,
                          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"12\"/>\n",
                          panel->x, panel->y, panel->width, panel->height);
    }
    put(drawing, "</g>\n");
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static bool is_dark(size_t colour)
{
    return colour < ONEIB_PALETTE_SIZE && !oneib_palette_is_light(colour);
}

/* On a texture the letters have a rim. */
static void put_segment_name(struct oneib_svg *drawing, size_t index, const struct oneib_box *box)
{
    const struct oneib_marked_cluster *cluster = &drawing->marks.clusters[index];
    const char *name = oneib_cluster_label(cluster);
    const size_t room = box->width > 4 ? (size_t)(box->width - 4) / 6 : 0;
    if (box->height < 12 || (room < SEGMENT_NAME_MIN && oneib_columns_of(name) > room))
        return;
    oneib_text_printf(drawing->text,
                      "<text x=\"%d\" y=\"%d\" font-size=\"10\" font-weight=\"600\" fill=\"%s\"%s "
                      "text-anchor=\"middle\">",
                      centre(box), box->y + box->height - 4,
                      is_dark(cluster->colour) ? "#fff" : "#0f172a",
                      cluster->colour != ONEIB_GREY && texture_of(cluster->colour)
                          ? " stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\""
                          : "");
    oneib_append_xml(drawing->text, name, room);
    put(drawing, "</text>");
}

/* One port: as many coloured segments as it has clusters, or an empty bar. */
static void put_port(struct oneib_svg *drawing, oneib_guid guid, const struct oneib_box *bar)
{
    size_t count;
    const struct oneib_mark *marks = oneib_marks_of(&drawing->marks, guid, &count);
    if (count == 0)
        oneib_text_printf(drawing->text,
                          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\" "
                          "fill=\"#e2e8f0\"/>",
                          bar->x, bar->y, bar->width, bar->height);
    for (size_t i = 0; i < count; i++) {
        int left = bar->x + (int)((size_t)bar->width * i / count);
        int right = bar->x + (int)((size_t)bar->width * (i + 1) / count);
        struct oneib_box segment = {left, bar->y, right - left, bar->height};
        oneib_text_printf(drawing->text, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" ",
                          segment.x, segment.y, segment.width, segment.height);
        oneib_svg_put_fill(drawing, drawing->marks.clusters[marks[i].cluster].colour);
        put(drawing, "/>");
        put_segment_name(drawing, marks[i].cluster, &segment);
    }
}

static void put_ports(struct oneib_svg *drawing, size_t host, const struct oneib_box *bars)
{
    size_t count;
    const struct oneib_end *ends = oneib_ends_of(&drawing->ends, host, &count);
    for (size_t i = 0; i < count; i++) {
        int left = bars->x + (int)((size_t)bars->width * i / count);
        int right =
            bars->x + (int)((size_t)bars->width * (i + 1) / count) - (i + 1 < count ? 2 : 0);
        put_port(drawing, ends[i].guid,
                 &(struct oneib_box){left, bars->y, right - left, bars->height});
    }
}

static void put_host_title(struct oneib_svg *drawing, size_t host)
{
    size_t count, mark_count;
    const struct oneib_end *ends = oneib_ends_of(&drawing->ends, host, &count);
    put_title(drawing, host);
    for (size_t i = 0; i < count; i++) {
        const struct oneib_mark *marks = oneib_marks_of(&drawing->marks, ends[i].guid, &mark_count);
        oneib_text_printf(drawing->text, ", port %u 0x%016" PRIx64, ends[i].port, ends[i].guid);
        for (size_t k = 0; k < mark_count; k++) {
            put(drawing, k ? ", " : ": ");
            oneib_append_xml(drawing->text,
                             oneib_cluster_label(&drawing->marks.clusters[marks[k].cluster]),
                             TITLE_NAME);
        }
    }
    put(drawing, "</title>");
}

static void put_card(struct oneib_svg *drawing, const struct oneib_box *box)
{
    oneib_text_printf(drawing->text,
                      "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" fill=\"#fff\" "
                      "stroke=\"#cbd5e1\"/>",
                      box->x, box->y, box->width, box->height,
                      drawing->layout.detail == ONEIB_DETAIL_FULL ? 8 : 4);
}

static void put_full_host(struct oneib_svg *drawing, size_t host, const struct oneib_box *box)
{
    size_t count;
    const struct oneib_end *ends = oneib_ends_of(&drawing->ends, host, &count);
    put_label(drawing, host, centre(box), box->y + 19, box->width - 12, 8,
              "font-size=\"13\" font-weight=\"600\" fill=\"#0f172a\" text-anchor=\"middle\"");
    oneib_text_printf(drawing->text,
                      "<text x=\"%d\" y=\"%d\" font-size=\"9\" font-family=\"monospace\" "
                      "fill=\"#64748b\" text-anchor=\"middle\">",
                      centre(box), box->y + 34);
    if (count == 1)
        oneib_text_printf(drawing->text, "0x%016" PRIx64, ends[0].guid);
    else
        oneib_text_printf(drawing->text, "%zu ports linked", count);
    put(drawing, "</text>");
    put_ports(drawing, host,
              &(struct oneib_box){box->x + 8, box->y + box->height - 23, box->width - 16, 15});
}

static void put_host(struct oneib_svg *drawing, size_t host)
{
    const struct oneib_box *box = &drawing->layout.boxes[host];
    put(drawing, "<g>");
    put_host_title(drawing, host);
    put_card(drawing, box);
    if (drawing->layout.detail == ONEIB_DETAIL_FULL) {
        put_full_host(drawing, host, box);
    } else if (drawing->layout.detail == ONEIB_DETAIL_NAME) {
        put_label(drawing, host, centre(box), box->y + 14, box->width - 4, 7,
                  "font-size=\"10\" fill=\"#0f172a\" text-anchor=\"middle\"");
        put_ports(drawing, host,
                  &(struct oneib_box){box->x + 4, box->y + box->height - 15, box->width - 8, 11});
    } else {
        put_ports(drawing, host,
                  &(struct oneib_box){box->x + 2, box->y + 2, box->width - 4, box->height - 4});
    }
    put(drawing, "</g>\n");
}

static void put_nodes(struct oneib_svg *drawing)
{
    for (size_t i = 0; i < drawing->topology->node_count; i++)
        if (oneib_is_switch(drawing->topology, i))
            put_switch(drawing, i);
    for (size_t i = 0; i < drawing->layout.host_count; i++)
        put_host(drawing, drawing->layout.hosts[i]);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void put_picture(struct oneib_svg *drawing)
{
    int width = drawing->layout.width;
    int height = drawing->layout.bottom + oneib_svg_legend_height(drawing) + ONEIB_SVG_MARGIN;
    oneib_text_printf(drawing->text,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                      "viewBox=\"0 0 %d %d\" role=\"img\" font-family=\"" FONT "\">\n"
                      "<title>InfiniBand fabric</title>\n"
                      "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                      width, height, width, height, width, height);
    put_textures(drawing);
    oneib_svg_put_header(drawing);
    put_panels(drawing);
    put_links_between_switches(drawing);
    put_host_links(drawing);
    put_nodes(drawing);
    oneib_svg_put_legend(drawing);
    put(drawing, "</svg>\n");
}

void oneib_topology_svg(const struct oneib_topology *topology,
                        const struct oneib_partition_table *table, const struct oneib_cloud *cloud,
                        struct oneib_text *text)
{
    struct oneib_svg drawing = {.topology = topology, .marked = table != NULL, .text = text};
    oneib_ends_make(topology, &drawing.ends);
    oneib_marks_make(topology, &drawing.ends, table, cloud, &drawing.marks);
    oneib_marks_colour(&drawing.marks, topology, COLOURS);
    oneib_layout_make(topology, &drawing.ends, &drawing.layout);
    put_picture(&drawing);
    oneib_layout_clear(&drawing.layout);
    oneib_marks_clear(&drawing.marks);
    oneib_ends_clear(&drawing.ends);
}
