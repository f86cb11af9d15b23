// SPDX-License-Identifier: Apache-2.0
/* The kinds of subnet managers and what differs between them: one table, the same as in
 * docs/design/sm.md, which a test compares. */
#ifndef ONEIB_SM_KIND_H
#define ONEIB_SM_KIND_H

#include "config/config.h"
#include <stdbool.h>
#include <stdint.h>

/* What becomes of a part of the wanted table. */
enum oneib_sm_does {
    ONEIB_SM_WRITES,  /* put into force as the table says */
    ONEIB_SM_LEAVES,  /* the SM's own value stays; the fabric is verified all the same */
    ONEIB_SM_REFUSES, /* nothing of it is put into force, and a finding says so */
};

struct oneib_sm_traits {
    const char *name;    /* sm.kind */
    bool virtual_ports;  /* it is one that has them; no more than that */
    bool m_key_per_port; /* it can give each port an M_Key of its own */
    bool is_elsewhere;   /* it is told over the network, and need not be on this host's port */
    uint8_t rate_max;    /* the largest IB code of a rate that it knows */
    enum oneib_sm_does default_partition;
    enum oneib_sm_does others;    /* partitions outside of pkeys.first to pkeys.last */
    enum oneib_sm_does wildcards; /* members that are no GUIDs, of other partitions */
    enum oneib_sm_does mtu_rate;
    enum oneib_sm_does sl;
    enum oneib_sm_does limited; /* limited members */
    enum oneib_sm_does names;
};

/* kind: one of the enum. */
const struct oneib_sm_traits *oneib_sm_traits(enum oneib_sm_kind kind);

#endif
