// SPDX-License-Identifier: Apache-2.0
/*
 * The tables that ports were read to have, and the SLs that the SA answers with, against what the
 * classes say. Pure; core/fabric/qos_read.c fills it. docs/design/qos.md
 */
#ifndef ONEIB_PARTITIONS_QOS_VERIFY_H
#define ONEIB_PARTITIONS_QOS_VERIFY_H

#include "base/finding.h"
#include "ib/guid.h"
#include "partitions/qos.h"

/* One port with a link: of an adapter, or an external one of a switch. */
struct oneib_qos_port {
    oneib_guid guid; /* port GUID; of a switch its port 0's */
    uint8_t number;  /* as it is at its node */
    bool is_switch;
    bool answered;      /* all that follows was read */
    uint8_t vls;        /* PortInfo.OperationalVLs: data lanes; 0: no number that the code has */
    uint8_t entries;    /* PortInfo.VLArbitrationLowCap */
    bool high_is_empty; /* its high-priority table, as far as it was read */
    struct oneib_qos_entry low[ONEIB_QOS_ENTRIES_MAX];
    uint16_t wrong_sls; /* bit n: SL n maps to another lane than it should, from a linked port */
};

struct oneib_qos_reading {
    struct oneib_qos_port *items; /* owned */
    size_t count, capacity;
};

/* The SL of a path within a cluster, or of its multicast group. */
struct oneib_qos_path {
    uint32_t network_id;
    uint8_t wanted, found;
    bool answered; /* the SA gave one */
};

/* Data lanes by the code of PortInfo.OperationalVLs (IBA 1.2.1, 14.2.5.6); 0: no such code. */
uint8_t oneib_qos_vls(unsigned code);

/*
 * Adds a finding for each kind of drift, with the number of ports and the first of them: qos-lanes,
 * qos-silent, qos-not-applied. entries: what the configuration promises of tables. *drift: how
 * many ports deviate in any way.
 */
void oneib_qos_judge_ports(const struct oneib_qos *qos, uint8_t entries,
                           const struct oneib_qos_reading *reading, struct oneib_findings *findings,
                           size_t *drift);
/* Whether the SA gave another SL than it should. */
bool oneib_qos_path_deviates(const struct oneib_qos_path *path);
/* Adds a finding for each path that deviates: qos-not-applied. */
void oneib_qos_judge_paths(const struct oneib_qos_path *paths, size_t count,
                           struct oneib_findings *findings);
/* The same of IPoIB's multicast groups: qos-group. */
void oneib_qos_judge_groups(const struct oneib_qos_path *groups, size_t count,
                            struct oneib_findings *findings);
void oneib_qos_reading_clear(struct oneib_qos_reading *reading);

#endif
