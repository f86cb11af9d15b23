// SPDX-License-Identifier: Apache-2.0
#include "topology/topology_layout.h"
#include "base/memory.h"

#include <stdlib.h>

#define MARGIN 32
#define HEADER 104 /* title, counts and caption */
#define SWITCH_HEIGHT 34
#define SWITCH_WIDTH_MAX 132
#define WIDTH_MIN 720
#define LEGEND 90 /* about what stands below the panels */
/* A drawing about this many times as wide as high reads well on screens and pages. */
#define ASPECT_TENTHS 28

/* Sizes by detail. */
struct scale {
    size_t hosts_max;
    int card_width, card_height, gap, padding, group_gap, below_leaf;
    int gutter; /* left of a column, in place of the gap, when there are several rows */
};
static const struct scale scales[] = {
    [ONEIB_DETAIL_FULL] = {48, 158, 64, 14, 14, 26, 26, 26},
    [ONEIB_DETAIL_NAME] = {240, 76, 34, 7, 9, 14, 16, 14},
    [ONEIB_DETAIL_COLOUR] = {SIZE_MAX, 14, 14, 4, 6, 8, 10, 8},
};

static const struct scale *scale_of(const struct oneib_layout *layout)
{
    return &scales[layout->detail];
}

static void allocate(const struct oneib_topology *topology, struct oneib_layout *layout)
{
    size_t count = topology->node_count + 1;
    layout->groups = oneib_alloc(count, sizeof(*layout->groups));
    layout->hosts = oneib_alloc(count, sizeof(*layout->hosts));
    layout->levels = oneib_alloc(count, sizeof(*layout->levels));
    layout->group_of = oneib_alloc(count, sizeof(*layout->group_of));
    layout->boxes = oneib_alloc(count, sizeof(*layout->boxes));
    for (size_t i = 0; i < count; i++)
        layout->group_of[i] = SIZE_MAX;
}

void oneib_layout_clear(struct oneib_layout *layout)
{
    free(layout->groups);
    free(layout->hosts);
    free(layout->levels);
    free(layout->group_of);
    free(layout->boxes);
    *layout = (struct oneib_layout){0};
}

/* ---- levels: a switch with hosts is a leaf, its neighbours are one level up, and so on ------- */

static bool touches_level(const struct oneib_topology *topology, const struct oneib_ends *ends,
                          const unsigned *levels, size_t node, unsigned level)
{
    size_t count;
    const struct oneib_end *of_node = oneib_ends_of(ends, node, &count);
    for (size_t i = 0; i < count; i++) {
        const size_t other = of_node[i].other;
        if (level == 0 ? oneib_is_host(topology, other)
                       : oneib_is_switch(topology, other) && levels[other] == level)
            return true;
    }
    return false;
}

static size_t raise_level(const struct oneib_topology *topology, const struct oneib_ends *ends,
                          unsigned *levels, unsigned level)
{
    size_t raised = 0;
    for (size_t i = 0; i < topology->node_count; i++) {
        if (!oneib_is_switch(topology, i) || levels[i] ||
            !touches_level(topology, ends, levels, i, level - 1))
            continue;
        levels[i] = level;
        raised++;
    }
    return raised;
}

/* Returns the highest level. Switches that no host can reach stand with the leaves. */
static unsigned find_levels(const struct oneib_topology *topology, const struct oneib_ends *ends,
                            unsigned *levels)
{
    unsigned level = 1;
    while (raise_level(topology, ends, levels, level))
        level++;
    for (size_t i = 0; i < topology->node_count; i++)
        if (oneib_is_switch(topology, i) && levels[i] == 0)
            levels[i] = 1;
    return level > 1 ? level - 1 : 1;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static size_t leaf_of(const struct oneib_topology *topology, const struct oneib_ends *ends,
                      size_t host)
{
    size_t count;
    const struct oneib_end *of_host = oneib_ends_of(ends, host, &count);
    for (size_t i = 0; i < count; i++)
        if (oneib_is_switch(topology, of_host[i].other))
            return of_host[i].other;
    return SIZE_MAX;
}

static void add_host(struct oneib_layout *layout, struct oneib_group *group, size_t host)
{
    layout->group_of[host] = (size_t)(group - layout->groups);
    layout->hosts[layout->host_count++] = host;
    group->count++;
}

/* Hosts in the order of the leaf's ports; a host stands with the first switch that it is linked to.
 */
static void gather_leaf(const struct oneib_topology *topology, const struct oneib_ends *ends,
                        struct oneib_layout *layout, size_t leaf)
{
    size_t count;
    const struct oneib_end *of_leaf = oneib_ends_of(ends, leaf, &count);
    struct oneib_group *group = &layout->groups[layout->group_count++];
    *group = (struct oneib_group){.leaf = leaf, .first = layout->host_count};
    layout->group_of[leaf] = (size_t)(group - layout->groups);
    for (size_t i = 0; i < count; i++) {
        size_t host = of_leaf[i].other;
        if (oneib_is_host(topology, host) && layout->group_of[host] == SIZE_MAX &&
            leaf_of(topology, ends, host) == leaf)
            add_host(layout, group, host);
    }
}

static void read_strays(const struct oneib_topology *topology, struct oneib_layout *layout)
{
    struct oneib_group *group = &layout->groups[layout->group_count];
    *group = (struct oneib_group){.leaf = SIZE_MAX, .first = layout->host_count};
    for (size_t i = 0; i < topology->node_count; i++)
        if (oneib_is_host(topology, i) && layout->group_of[i] == SIZE_MAX)
            add_host(layout, group, i);
    layout->group_count += group->count > 0;
}

static void gather(const struct oneib_topology *topology, const struct oneib_ends *ends,
                   struct oneib_layout *layout)
{
    for (size_t i = 0; i < topology->node_count; i++)
        if (oneib_is_switch(topology, i) && layout->levels[i] == 1)
            gather_leaf(topology, ends, layout, i);
    read_strays(topology, layout);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void choose_detail(struct oneib_layout *layout)
{
    layout->detail = ONEIB_DETAIL_FULL;
    while (layout->host_count > scale_of(layout)->hosts_max)
        layout->detail++;
}

/* Between two columns, and from the leaf's left edge to the first. */
static int space_between(const struct scale *scale, const struct oneib_group *group)
{
    return group->gutter ? group->gutter : scale->gap;
}

static int column_width(const struct scale *scale, const struct oneib_group *group)
{
    return scale->card_width + space_between(scale, group);
}

/* The sizes of all panels when each has at most that many columns. Returns the height of the
 * highest. */
static int size_panels(struct oneib_layout *layout, int columns)
{
    const struct scale *scale = scale_of(layout);
    int highest = 0;
    layout->width = 2 * MARGIN - scale->group_gap;
    for (size_t i = 0; i < layout->group_count; i++) {
        struct oneib_group *group = &layout->groups[i];
        int count = (int)group->count;
        group->rows = (count + columns - 1) / columns;
        group->columns = group->rows ? (count + group->rows - 1) / group->rows : 0;
        group->gutter = group->rows > 1 ? scale->gutter : 0;
        int shown = group->columns ? group->columns : 1;
        group->panel.width = 2 * scale->padding + group->gutter +
                             shown * column_width(scale, group) - space_between(scale, group);
        group->panel.height = 2 * scale->padding + SWITCH_HEIGHT +
                              (group->rows ? scale->below_leaf - scale->gap : 0) +
                              group->rows * (scale->card_height + scale->gap);
        if (group->panel.height > highest)
            highest = group->panel.height;
        layout->width += group->panel.width + scale->group_gap;
    }
    return highest;
}

static int distance(int a, int b)
{
    return a < b ? b - a : a - b;
}

static int choose_columns(struct oneib_layout *layout, int above)
{
    int largest = 1, best = 1, best_distance = -1;
    for (size_t i = 0; i < layout->group_count; i++)
        if ((int)layout->groups[i].count > largest)
            largest = (int)layout->groups[i].count;
    for (int columns = 1; columns <= largest; columns++) {
        int height = above + size_panels(layout, columns) + LEGEND;
        int off = distance(layout->width, height * ASPECT_TENTHS / 10);
        if (best_distance >= 0 && off >= best_distance)
            continue;
        best = columns;
        best_distance = off;
    }
    return best;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void place_hosts(struct oneib_layout *layout, const struct oneib_group *group)
{
    const struct scale *scale = scale_of(layout);
    for (size_t i = 0; i < group->count; i++) {
        int column = (int)i % group->columns, row = (int)i / group->columns;
        layout->boxes[layout->hosts[group->first + i]] = (struct oneib_box){
            .x = group->panel.x + scale->padding + group->gutter +
                 column * column_width(scale, group),
            .y = group->panel.y + scale->padding + SWITCH_HEIGHT + scale->below_leaf +
                 row * (scale->card_height + scale->gap),
            .width = scale->card_width,
            .height = scale->card_height,
        };
    }
}

static void place_groups(struct oneib_layout *layout, int top)
{
    const struct scale *scale = scale_of(layout);
    int used = layout->width - 2 * MARGIN;
    if (layout->width < WIDTH_MIN)
        layout->width = WIDTH_MIN;
    int x = (layout->width - used) / 2;
    for (size_t i = 0; i < layout->group_count; i++) {
        struct oneib_group *group = &layout->groups[i];
        group->panel.x = x;
        group->panel.y = top;
        if (group->leaf != SIZE_MAX)
            layout->boxes[group->leaf] =
                (struct oneib_box){x + scale->padding, top + scale->padding,
                                   group->panel.width - 2 * scale->padding, SWITCH_HEIGHT};
        place_hosts(layout, group);
        x += group->panel.width + scale->group_gap;
    }
}

static void place_level(const struct oneib_topology *topology, struct oneib_layout *layout,
                        unsigned level, int y)
{
    int count = 0, placed = 0;
    for (size_t i = 0; i < topology->node_count; i++)
        count += oneib_is_switch(topology, i) && layout->levels[i] == level;
    if (count == 0)
        return;
    int room = (layout->width - 2 * MARGIN) / count;
    int width = room - 10 < SWITCH_WIDTH_MAX ? room - 10 : SWITCH_WIDTH_MAX;
    if (width < 4)
        width = 4;
    for (size_t i = 0; i < topology->node_count; i++) {
        if (!oneib_is_switch(topology, i) || layout->levels[i] != level)
            continue;
        int middle = MARGIN + room * placed++ + room / 2;
        layout->boxes[i] = (struct oneib_box){middle - width / 2, y, width, SWITCH_HEIGHT};
    }
}

/* Many links between two levels need height to be told apart. */
static int level_distance(const struct oneib_layout *layout)
{
    int wanted = 70 + 6 * (int)(layout->group_count < 30 ? layout->group_count : 30);
    return SWITCH_HEIGHT + wanted;
}

static void place(const struct oneib_topology *topology, struct oneib_layout *layout,
                  unsigned levels)
{
    int step = level_distance(layout);
    int top = HEADER + (int)(levels - 1) * step;
    int highest = size_panels(layout, choose_columns(layout, top));
    place_groups(layout, top);
    for (unsigned level = 2; level <= levels; level++)
        place_level(topology, layout, level, HEADER + (int)(levels - level) * step);
    layout->bottom = top + highest;
}

void oneib_layout_make(const struct oneib_topology *topology, const struct oneib_ends *ends,
                       struct oneib_layout *layout)
{
    *layout = (struct oneib_layout){0};
    allocate(topology, layout);
    unsigned levels = find_levels(topology, ends, layout->levels);
    gather(topology, ends, layout);
    choose_detail(layout);
    place(topology, layout, levels);
}
