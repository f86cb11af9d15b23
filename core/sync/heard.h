// SPDX-License-Identifier: Apache-2.0
/*
 * What the services of nodes have told the daemon of this state's path: ".NAME.nodes" beside it,
 * a JSON document, which oneibd writes and oneib reads. It counts for as long as the daemon lives
 * that wrote it. For people: nothing is granted, given or taken by it.
 */
#ifndef ONEIB_SYNC_HEARD_H
#define ONEIB_SYNC_HEARD_H

#include "base/error.h"
#include "base/finding.h"
#include "cluster/grants.h"
#include "host/vf_record.h"
#include <stddef.h>
#include <stdint.h>

struct oneib_heard_node {
    uint32_t host_id;
    enum oneib_node_state state;
    struct oneib_vf_record *records; /* what it reported last; since: 0 */
    size_t record_count;
};

struct oneib_heard {
    double age_s; /* since the daemon wrote it: what nodes have reported since is not in it */
    struct oneib_heard_node *nodes; /* owned, with their records; by host id */
    size_t count;
    struct oneib_findings findings; /* the daemon's about nodes */
};

/* findings: those that are the daemon's. Mode 0640, replaced at once. */
int oneib_heard_write(const char *state, const struct oneib_node_snapshot *nodes, size_t node_count,
                      const struct oneib_findings *findings, struct oneib_error *err);
/*
 * *heard is zeroed first. NOT_FOUND: no daemon keeps these partitions, or it has written nothing
 * yet; other errors: the file cannot be read, or is damaged. On failure *heard is empty. Whoever
 * has copied findings clears the copies first.
 */
int oneib_heard_read(const char *state, struct oneib_heard *heard, struct oneib_error *err);
const struct oneib_heard_node *oneib_heard_host(const struct oneib_heard *heard,
                                                uint32_t host_id); /* NULL: none */
void oneib_heard_clear(struct oneib_heard *heard);

/* "unheard", "follows", "awaited", "silent". */
const char *oneib_node_state_name(enum oneib_node_state state);

#endif
