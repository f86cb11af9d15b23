// SPDX-License-Identifier: Apache-2.0
/*
 * A walk over the fabric's links along directed routes, from the port that asks: who is met, and at
 * which ports of switches. Several queries are in flight. Private to core/fabric.
 */
#ifndef ONEIB_FABRIC_FABRIC_WALK_H
#define ONEIB_FABRIC_FABRIC_WALK_H

#include "fabric/mad.h"

#define ONEIB_NOWHERE SIZE_MAX

/* A node as it was met at the end of one way. One that several ways lead to is met as often. */
struct oneib_met {
    oneib_guid guid, port_guid;
    uint8_t type, port_count;
    uint8_t port;      /* by which it was met; of the own node the port that asks */
    size_t from;       /* who was met before; ONEIB_NOWHERE: it is the own node */
    uint8_t from_port; /* and by which of its ports */
    uint16_t rate_gbps;
    char description[65];
};

/* A port of a switch, but 0, that has answered. */
struct oneib_met_port {
    size_t at; /* the switch, as it was met first */
    uint8_t number, physical;
    size_t behind; /* who was met there; ONEIB_NOWHERE: nobody */
};

struct oneib_walk_job;

struct oneib_walk {
    struct oneib_mad_port *port;
    oneib_guid own;      /* its GUID */
    size_t switches_max; /* more are not believed in */
    bool describes;      /* NodeDescriptions are asked for, too */
    struct oneib_met *met;
    size_t count, capacity;
    struct oneib_met_port *ports;
    size_t port_count, port_capacity;
    size_t unanswered; /* questions */
    struct oneib_walk_job *jobs;
    size_t job_count, job_capacity, job_next;
    oneib_guid *switches; /* whose ports are asked */
    size_t switch_count, switch_capacity;
};

/* Who does not answer is left out; nobody was met: the own node does not. */
int oneib_walk(struct oneib_walk *walk, struct oneib_error *err);
/* To whom was met there; `to` is his port. */
struct oneib_route oneib_walk_route(const struct oneib_walk *walk, size_t at);
/* What was met. The port stays open. */
void oneib_walk_clear(struct oneib_walk *walk);

#endif
