// SPDX-License-Identifier: Apache-2.0
/*
 * Whether the event stream tells what happens. A connection says little: a publisher that has
 * nothing to say looks like one that is stuck. So polls are the test: when one sees VMs change, and
 * no message comes, before or soon after, the stream is not to be relied on. Pure; times as in
 * poll_schedule.h.
 */
#ifndef ONEIB_ONEIBD_TRUST_H
#define ONEIB_ONEIBD_TRUST_H

#include "cluster/cloud.h"
#include <stdbool.h>
#include <stdint.h>

/* A message may be under way when a poll sees its cause. */
#define ONEIB_STREAM_HEALTH_PATIENCE_MS 2000.0

struct oneib_stream_health {
    bool trusted;
    double suspect_at;            /* a poll saw what no message told; < 0: none */
    uint64_t messages_at_reading; /* received when oned was looked at last */
    uint64_t messages_at_doubt;   /* received when it was suspected, or not trusted any more */
};

enum oneib_stream_health_change {
    ONEIB_STREAM_HEALTH_SAME,
    ONEIB_STREAM_HEALTH_LOST,
    ONEIB_STREAM_HEALTH_REGAINED
};

/* Trusted until proved otherwise. */
void oneib_stream_health_begin(struct oneib_stream_health *health);
/* oned was looked at without having been told to; vms_changed: VMs are not what they were. */
void oneib_stream_health_read(struct oneib_stream_health *health, double now, uint64_t messages,
                              bool vms_changed);
/* Now and then: so many messages have come since the start. */
enum oneib_stream_health_change oneib_stream_health_judge(struct oneib_stream_health *health,
                                                          double now, uint64_t messages);

/* Of all that oned tells by events: which VMs are where with which networks, and the highest id. */
uint64_t oneib_stream_health_fingerprint(const struct oneib_cloud *cloud);

#endif
