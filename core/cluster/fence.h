// SPDX-License-Identifier: Apache-2.0
/*
 * Hosts that are fenced: what is to be done about their ports, by the ledger and by what is seen on
 * the fabric. Pure. docs/design/fence.md tells the rules and why.
 *
 * A port of a fenced host is disabled at the port of the switch that it is linked to. Which one
 * that is goes into the ledger before it is disabled, for a link that is down tells nobody who was
 * behind it. Never disabled is a port behind which somebody else is, nor one that is not the
 * host's by the ledger: who speaks for a host to monitord says what he likes.
 */
#ifndef ONEIB_CLUSTER_FENCE_H
#define ONEIB_CLUSTER_FENCE_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "cluster/desired.h"
#include "cluster/ledger.h"
#include "cluster/names.h"
#include "partitions/subnet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PortInfo.PortPhysicalState (IBA 1.2.1, 14.2.5.6). */
#define ONEIB_PHYSICAL_POLLING 2
#define ONEIB_PHYSICAL_DISABLED 3
#define ONEIB_PHYSICAL_LINK_UP 5

/* An external port of a switch, and who is linked to it. */
struct oneib_switch_link {
    oneib_guid switch_guid; /* its node GUID */
    uint8_t switch_port;
    uint8_t physical;     /* its PortPhysicalState */
    uint8_t node_type;    /* enum oneib_node_type, of who is behind it */
    oneib_guid port_guid; /* likewise; 0: nobody who answers */
    oneib_guid node_guid;
};

struct oneib_fence_input {
    const struct oneib_cloud *cloud;   /* sorted */
    const struct oneib_ledger *ledger; /* with its fences */
    const struct oneib_policy *policy;
    const struct oneib_partition_table
        *static_partitions;                       /* the operator's partitions; may be NULL */
    const struct oneib_partition_table *in_force; /* likewise, ours */
    const struct oneib_subnet *subnet; /* as it was read last; its list of ports and the master */
    oneib_guid own_port;               /* of this daemon, which would cut itself off */
    const struct oneib_switch_link *links; /* all of the fabric, in any order */
    size_t link_count;
    bool links_are_missing; /* not every switch has answered for each of its ports */
    const uint32_t *empty;  /* hosts whose nodes have reported an empty table; ascending */
    size_t empty_count;
};

enum oneib_fence_act {
    ONEIB_FENCE_LEAVE,
    ONEIB_FENCE_DISABLE,
    ONEIB_FENCE_ENABLE,
};

/* What is to be done about one port of a fenced host. */
struct oneib_fence_step {
    uint32_t host_id;
    oneib_guid guid;
    oneib_guid switch_guid; /* where: 0: nowhere */
    uint8_t switch_port;
    enum oneib_fence_act act;
    enum oneib_fence_state was;   /* by the ledger */
    enum oneib_fence_state state; /* as it is seen now; of what is done, the doer says it anew */
    bool came_up; /* the ledger said that it is down, and it is not: somebody else enabled it */
};

struct oneib_fence_plan {
    struct oneib_fence_step *items; /* owned; by host, GUID */
    size_t count, capacity;
};

void oneib_fence_plan(const struct oneib_fence_input *input, struct oneib_fence_plan *plan);
void oneib_fence_plan_clear(struct oneib_fence_plan *plan);

/* Which ports there are and where they are linked: to be written before anything is done. *changed:
 * the ledger says something else. What was said of a port stays. */
int oneib_fence_note_places(const struct oneib_fence_plan *plan, int64_t now,
                            struct oneib_ledger *ledger, bool *changed, struct oneib_error *err);
/* What was seen, and that the ports were looked at; a host whose ports are all enabled again is
 * fenced no more. */
int oneib_fence_note_states(const struct oneib_fence_plan *plan, int64_t now,
                            struct oneib_ledger *ledger, bool *changed, struct oneib_error *err);

/* Its switch's port was read as disabled. */
bool oneib_fence_is_closed(enum oneib_fence_state state);
/* Whether nothing on the host reaches the fabric: it is fenced, and each of its ports is closed. */
bool oneib_fence_holds(const struct oneib_ledger *ledger, uint32_t host_id);
/* What lifts it, or what a lift that was asked for waits for. */
struct oneib_shown oneib_fence_advice(const struct oneib_ledger_fence *fence);
/* What the ledger says of fenced hosts: for people. */
void oneib_fence_report(const struct oneib_cloud *cloud, const struct oneib_ledger *ledger,
                        struct oneib_findings *findings);

#endif
