// SPDX-License-Identifier: Apache-2.0
/*
 * How much of a link was used between two readings of its port's counters (IBA 1.2.1, 16.1.3.5 and
 * 16.1.4.11): pure; core/fabric/counters_read.h reads them. Counters are never reset by oneib, and
 * may be by others.
 */
#ifndef ONEIB_PARTITIONS_LINK_USE_H
#define ONEIB_PARTITIONS_LINK_USE_H

#include <stdbool.h>
#include <stdint.h>

/* One reading of one port. What is counted is of all lanes together. */
struct oneib_counters {
    double at_ms;  /* of the monotonic clock */
    uint64_t data; /* PortXmitData: 4 bytes are one */
    bool is_wide;  /* data has 64 bits (PortCountersExtended), else 32 (PortCounters) */
    bool has_wait; /* the port counts PortXmitWait */
    uint32_t wait; /* ticks of the device's own in which it had something to send, and did not */
};

enum oneib_use_kind {
    ONEIB_USE_KNOWN,
    ONEIB_USE_STILL,     /* known: not one bit was counted, by neither counter */
    ONEIB_USE_SATURATED, /* a counter of 32 bits is full: it counts no more until it is reset */
    ONEIB_USE_RESET,     /* it is less than before, or of another width, and no wrap explains it */
    ONEIB_USE_TOO_SHORT, /* no time between the readings */
};

struct oneib_link_use {
    enum oneib_use_kind kind;
    double seconds;         /* between the readings; 0: TOO_SHORT */
    double gbps;            /* of data; KNOWN and STILL only */
    double share;           /* of what the link carries, 0 and up; < 0: its rate is not known */
    double wait_per_second; /* ticks; < 0: not counted, full, or reset */
};

/*
 * link_gbps: what the link carries of data (oneib_qos_data_gbps()); 0: not known. By the
 * specification 32 bits stay full and do not wrap; where a device's do, a smaller number is taken
 * as a wrap if the link can have sent so much in the time, and no more than once around. Above 1
 * a share is as it was counted: headers are in it, and the clock is ours.
 */
struct oneib_link_use oneib_link_use(const struct oneib_counters *before,
                                     const struct oneib_counters *after, double link_gbps);

#endif
