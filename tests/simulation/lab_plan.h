// SPDX-License-Identifier: Apache-2.0
/* The plan of a lab's fabric, from its options: nodes, their cables, GUIDs and ways; private to the
 * lab. */
#ifndef ONEIB_LAB_PLAN_H
#define ONEIB_LAB_PLAN_H

#include "base/error.h"
#include "base/text.h"
#include "lab.h"

struct plan_node {
    char name[24];
    bool is_switch;
    unsigned ports;   /* that have a cable: 1 to this */
    uint64_t guid;    /* of the node; port n of an HCA has n more. 0: a switch */
    size_t way_here;  /* the last cable of the shortest way from the SM's HCA */
    unsigned hops;    /* cables of that way */
    size_t host_port; /* of an HCA: the cable of port 1; that of port 2 is the next one */
};

struct plan_end {
    size_t node;
    unsigned port;
};

struct plan_cable {
    struct plan_end ends[2]; /* an HCA's is the first */
};

struct lab_plan {
    struct plan_node *nodes; /* owned: the SM's HCA, compute hosts, extra hosts, switches */
    size_t node_count, node_capacity;
    struct plan_cable *cables; /* owned: those of HCAs, in their order, first */
    size_t cable_count, cable_capacity;
    size_t hosts, extra_hosts, switches;
    uint64_t last_guid;      /* as in lab_options */
    unsigned ports_per_host; /* of a compute host */
};

int lab_plan_make(const struct lab_options *options, struct lab_plan *plan,
                  struct oneib_error *err);
void lab_plan_clear(struct lab_plan *plan);

/* ibsim's net file. */
void lab_plan_render(const struct lab_plan *plan, struct oneib_text *net);
/* Ports of all nodes, as ibsim counts them: a switch has port 0, too. */
size_t lab_plan_ports(const struct lab_plan *plan);
/* Ports that lead from the SM's HCA to a host's port, for smpquery -D: "0,1,3". */
void lab_plan_route(const struct lab_plan *plan, size_t host, unsigned port, char *route,
                    size_t size);

#endif
