// SPDX-License-Identifier: Apache-2.0
#ifndef ONEIB_FABRIC_COUNTERS_READ_H
#define ONEIB_FABRIC_COUNTERS_READ_H

#include "fabric/fabric.h"
#include "partitions/link_use.h"

/* A port whose counters are read, and what came of it. */
struct oneib_counted_port {
    oneib_guid guid; /* of the end port that answers for it; of a switch its port 0's */
    uint16_t lid;    /* its */
    uint8_t number;  /* of the port itself, 1 and up */
    bool is_switch;

    bool answered;
    char reason[96]; /* why not; "" when it has */
    struct oneib_counters counters;
    uint16_t gbps; /* of its link as it runs, as opensm's rates name them; 0: not known */
};

/*
 * Of each port, by Gets alone: ClassPortInfo of PerfMgt (what it counts), PortCounters and, where
 * the port has it, PortCountersExtended; by SMP PortInfo. No counter is reset. One port that does
 * not answer, refuses, or sends elsewhere (redirection) spoils no other's. -1 only for failures of
 * this machine.
 */
int oneib_fabric_read_counters(struct oneib_fabric *fabric, struct oneib_counted_port *ports,
                               size_t count, struct oneib_error *err);

#endif
