// SPDX-License-Identifier: Apache-2.0
/* A drawing of a topology as SVG while it is made. Private to core/topology. */
#ifndef ONEIB_TOPOLOGY_TOPOLOGY_SVG_H
#define ONEIB_TOPOLOGY_TOPOLOGY_SVG_H

#include "topology/topology_layout.h"
#include "topology/topology_marks.h"

#define ONEIB_SVG_MARGIN 32

struct oneib_svg {
    const struct oneib_topology *topology;
    struct oneib_ends ends;
    struct oneib_marks marks;
    struct oneib_layout layout;
    bool marked; /* a partition table was given */
    struct oneib_text *text;
};

/* The attribute, of a cluster's colour or ONEIB_GREY. */
void oneib_svg_put_fill(struct oneib_svg *drawing, size_t colour);

/* topology_legend.c */
void oneib_svg_put_header(struct oneib_svg *drawing);
void oneib_svg_put_legend(struct oneib_svg *drawing);
int oneib_svg_legend_height(const struct oneib_svg *drawing);

#endif
