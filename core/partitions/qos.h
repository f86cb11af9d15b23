// SPDX-License-Identifier: Apache-2.0
/*
 * Quality of service: from the operator's classes to what every port's tables must be, and what
 * each lane is promised by them. Pure; docs/design/qos.md tells the rules and why.
 */
#ifndef ONEIB_PARTITIONS_QOS_H
#define ONEIB_PARTITIONS_QOS_H

#include "base/error.h"
#include "base/text.h"
#include "ib/qos_class.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_QOS_LANES 15       /* VL0-14 carry data (IBA 1.2.1, 7.6.2) */
#define ONEIB_QOS_DROP 15        /* an SL that maps to VL15 is dropped (7.6.6) */
#define ONEIB_QOS_ENTRIES_MAX 64 /* of one arbitration table (7.6.9.1) */
#define ONEIB_QOS_UNIT 64        /* bytes for one of a weight (7.6.9.2) */
/* More than all headers and CRCs of the largest packet: LRH 8, GRH 40, BTH 12, extended headers 28,
 * ICRC 4, VCRC 2. */
#define ONEIB_QOS_HEADERS 128
#define ONEIB_QOS_NO_CLASS SIZE_MAX

/* What the operator decides, from the configuration (config/config.h, qos). */
struct oneib_qos_wish {
    const struct oneib_qos_class *classes; /* borrowed; as the configuration was checked: no name
                                              and no SL twice */
    size_t class_count;
    uint8_t others;  /* the weight of SL 0 */
    uint8_t vls;     /* 2, 4, 8, 15; no fewer than SLs, with SL 0 */
    uint8_t entries; /* of the ports' tables; no fewer than SLs, with SL 0 */
    bool drop_unused;
    uint16_t kept;           /* bit n: SL n is some group's already, and must not be dropped */
    const char *policy_file; /* borrowed: of opensm.qos_policy; NULL: none */
};

struct oneib_qos_entry {
    uint8_t vl, weight;
};

/* One SL with a lane of its own. */
struct oneib_qos_lane {
    uint8_t sl, vl;
    uint8_t weight;
    uint8_t entries;
    size_t class_index; /* into the wish's; ONEIB_QOS_NO_CLASS: SL 0 */
};

struct oneib_qos {
    uint8_t vls;
    uint8_t sl2vl[ONEIB_QOS_SLS];
    struct oneib_qos_lane lanes[ONEIB_QOS_LANES]; /* by SL, and so by VL */
    size_t lane_count;
    struct oneib_qos_entry arbitration[ONEIB_QOS_ENTRIES_MAX]; /* the low-priority table */
    size_t entry_count;
    const char *policy_file; /* borrowed, as in the wish */
};

/* What a lane is promised, while packets that it may send wait for nothing downstream. */
struct oneib_qos_promise {
    double share;        /* by the weights, 0-1 */
    double at_least;     /* of the link, when every other lane always has the largest packets */
    uint32_t wait_bytes; /* what others send at most before its next packet */
};

/* REFUSED: there are more SLs than lanes or entries; INPUT: a weight of 0, no class. */
int oneib_qos_make(const struct oneib_qos_wish *wish, struct oneib_qos *qos,
                   struct oneib_error *err);
/* mtu: in bytes, of the fabric's largest packets. */
struct oneib_qos_promise oneib_qos_promise(const struct oneib_qos *qos, size_t lane, unsigned mtu);
/*
 * Data bits of a link of this rate (IB rate code, ib/ipoib.h) in Gb/s, which is less than the
 * rate: 8 of 10 bits up to QDR, 64 of 66 from FDR on. 0 for no such code.
 */
double oneib_qos_data_gbps(uint8_t rate);
/*
 * The SL of the class for one more network: that which the fewest networks have, of these the
 * lowest. used: how many networks have each SL.
 */
uint8_t oneib_qos_choose(const struct oneib_qos_class *qos_class, const size_t used[ONEIB_QOS_SLS]);
/* The class with this name; NULL. */
const struct oneib_qos_class *oneib_qos_find(const struct oneib_qos_class *classes, size_t count,
                                             const char *name);
/* Appends the lines for opensm.conf: that all kinds of ports have these tables. */
void oneib_qos_render(const struct oneib_qos *qos, struct oneib_text *text);

#endif
