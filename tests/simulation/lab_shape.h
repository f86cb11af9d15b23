// SPDX-License-Identifier: Apache-2.0
/*
 * Fabrics of a lab that are no fat trees, each described by its cables:
 *
 *     static const struct lab_shape pair = {.name = "pair",
 *                                           .switches = {{.name = "A", .hosts = 2, .cables =
 * {"B"}},
 *                                                        {.name = "B", .hosts = 1}}};
 *
 * is two switches with a cable between them. The SM's host and the extra hosts are on the first.
 */
#ifndef ONEIB_LAB_SHAPE_H
#define ONEIB_LAB_SHAPE_H

#define LAB_SHAPE_SWITCHES 12
#define LAB_SHAPE_CABLES 4

struct lab_switch {
    const char *name;
    unsigned hosts;     /* compute hosts, times options.hosts_per_leaf; counted switch by switch */
    const char *second; /* the switch that port 2 of each of these hosts is cabled to; NULL: they
                           have one port. On a shape all hosts have as many */
    const char *cables[LAB_SHAPE_CABLES]; /* one to each of these switches, each named once, at one
                                             of its ends */
};

struct lab_shape {
    const char *name;
    struct lab_switch switches[LAB_SHAPE_SWITCHES]; /* up to the first without a name */
};

/* Leaves with a different number of hosts below two switches, and those below two more. */
extern const struct lab_shape lab_three_levels;
/* Four switches in a circle, one of them without hosts. */
extern const struct lab_shape lab_ring;
/* Each adapter has a port on either of two trees, which are one subnet. */
extern const struct lab_shape lab_two_rails;

/* A walk's fabric, by the environment: "three-levels", "ring", "two-rails", or "fat-tree" (NULL);
 * otherwise when it says nothing, or nothing of these. */
const struct lab_shape *lab_shape_chosen(const char *variable, const struct lab_shape *otherwise);

#endif
