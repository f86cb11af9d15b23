// SPDX-License-Identifier: Apache-2.0
/*
 * Who is a member where, and who is refused: a line for each NIC on each host that it is on. Kept
 * from one reconciliation to the next, it tells what has changed and why (cluster/member_events.h).
 */
#ifndef ONEIB_CLUSTER_MEMBER_LIST_H
#define ONEIB_CLUSTER_MEMBER_LIST_H

#include "cluster/cloud.h"
#include "cluster/desired.h"
#include "cluster/pkey_status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 100,000 of them: keep it small. */
struct oneib_member_list_line {
    oneib_guid port;   /* of the host; 0: none */
    oneib_guid member; /* whose table gets the key; 0: nobody's */
    uint32_t vm_id, network_id, host_id;
    oneib_pkey pkey;
    uint8_t nic_id;
    uint8_t membership, member_status; /* enum oneib_membership, enum oneib_member_status */
    uint8_t pkey_status;               /* enum oneib_pkey_status of a member, as it was said last */
    bool is_source;
};

struct oneib_member_list {
    struct oneib_member_list_line *lines; /* owned; by VM, NIC, host; each once */
    size_t count;
};

/* All bindings of the desired state, which come by VM and NIC: nothing is sorted. Lines begin
 * IN_FORCE, until somebody says how they stand. */
void oneib_member_list_make(const struct oneib_cloud *cloud, const struct oneib_desired *desired,
                            struct oneib_member_list *member_list);
int oneib_member_list_compare(const struct oneib_member_list_line *a,
                              const struct oneib_member_list_line *b);
bool oneib_member_list_is_member(const struct oneib_member_list_line *line);
void oneib_member_list_clear(struct oneib_member_list *member_list);

#endif
