// SPDX-License-Identifier: Apache-2.0
/*
 * Who is a member where, and who is refused: a line for each NIC on each host that it is on. Kept
 * from one reconciliation to the next, it tells what has changed and why (cluster/news.h).
 */
#ifndef ONEIB_CLUSTER_ROSTER_H
#define ONEIB_CLUSTER_ROSTER_H

#include "cluster/cloud.h"
#include "cluster/desired.h"
#include "cluster/standing.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 100,000 of them: keep it small. */
struct oneib_roster_line {
    oneib_guid port;   /* of the host; 0: none */
    oneib_guid member; /* whose table gets the key; 0: nobody's */
    uint32_t vm_id, network_id, host_id;
    oneib_pkey pkey;
    uint8_t nic_id;
    uint8_t membership, member_status; /* enum oneib_membership, enum oneib_member_status */
    uint8_t standing;                  /* enum oneib_standing of a member, as it was said last */
    bool is_source;
};

struct oneib_roster {
    struct oneib_roster_line *lines; /* owned; by VM, NIC, host; each once */
    size_t count;
};

/* All bindings of the desired state, which come by VM and NIC: nothing is sorted. Lines begin
 * IN_FORCE, until somebody says how they stand. */
void oneib_roster_make(const struct oneib_cloud *cloud, const struct oneib_desired *desired,
                       struct oneib_roster *roster);
int oneib_roster_compare(const struct oneib_roster_line *a, const struct oneib_roster_line *b);
bool oneib_roster_is_member(const struct oneib_roster_line *line);
void oneib_roster_clear(struct oneib_roster *roster);

#endif
