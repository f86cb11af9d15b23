// SPDX-License-Identifier: Apache-2.0
/*
 * What the daemon tells about itself: the values, and their rendering in Prometheus' text format
 * (version 0.0.4). The owner of a value sets it. Names and labels: oneibd(8).
 */
#ifndef ONEIB_ONEIBD_METRICS_H
#define ONEIB_ONEIBD_METRICS_H

#include "base/error.h"
#include "base/finding.h"
#include "base/text.h"
#include "cluster/desired.h"
#include "partitions/subnet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Upper bounds of the buckets in seconds: 10 ms to 60 s; +Inf is added. */
#define ONEIB_METRICS_BUCKETS 13
extern const double oneib_metrics_bounds[ONEIB_METRICS_BUCKETS];

struct oneib_histogram {
    uint64_t counts[ONEIB_METRICS_BUCKETS + 1]; /* not cumulative; the last: beyond all bounds */
    double sum;                                 /* seconds */
};
/* A negative time counts as 0: clocks may step. */
void oneib_histogram_add(struct oneib_histogram *histogram, double seconds);

/* Free VFs of one host, for its own line. */
struct oneib_metrics_host {
    uint32_t id;
    char *name; /* owned, untrusted: escaped as a label, cut after about 200 bytes */
    uint32_t vfs_total, vfs_free;
};

#define ONEIB_ERROR_CODES (ONEIB_ERROR_REFUSED + 1)
#define ONEIB_SEVERITIES (ONEIB_VIOLATION + 1)
#define ONEIB_MEMBER_STATUSES (ONEIB_MEMBER_STATUS_SWITCHED + 1)

struct oneib_metrics {
    /* gauges: of the last look that succeeded */
    uint64_t clusters, members, vms, networks, ports;
    uint64_t members_unverified;     /* virtual ports: the last reading showed nothing of them */
    uint64_t members_unserved;       /* of those, likewise: no SM of this kind gives them a key */
    uint64_t virtual_ports_verified; /* that the last reading showed and compared */
    uint64_t virtual_ports_unread;   /* VFs of mlx5 whose own ports their hosts cannot read */
    uint64_t members_held;           /* removals that wait for `oneib sync --force` */
    uint64_t nodes, nodes_cut_off;   /* whose services are believed; not heard for a minute */
    uint64_t strays;                 /* VFs that nodes report and that should not be so */
    uint64_t level_ports, level_clusters; /* that are not as the classes say */
    uint64_t
        refused[ONEIB_MEMBER_STATUSES]; /* attachments that get nothing on their host, by why */
    uint64_t findings[ONEIB_SEVERITIES];
    uint64_t deviations[ONEIB_DEVIATION_KINDS]; /* of the last verification */
    bool in_force;                              /* the last verification showed what oned wants */
    bool master;                                /* the SM of this port is master */
    bool stream_connected;                      /* the event stream */
    bool stream_trusted;                        /* and events have told what polls have seen */
    double started;                             /* Unix seconds, all four; 0: never */
    double last_look;                           /* oned was read */
    double last_sync;                           /* the ports were proved to hold what oned wants */
    double last_write;                          /* the partitions file was replaced */
    struct oneib_metrics_host *hosts;           /* owned, by id */
    size_t host_count, host_capacity;
    /* counters since the start */
    uint64_t events, events_unreadable, events_delayed, stream_gaps;
    uint64_t looks; /* at oned, full_readings among them */
    uint64_t full_readings, writes, reloads, retries;
    uint64_t keys_given, host_updates;
    uint64_t node_keys_refused, node_messages_malformed, node_messages_flooding;
    uint64_t errors[ONEIB_ERROR_CODES];
    struct oneib_histogram event_to_in_force;
};

/*
 * Appends all of it, "# HELP" and "# TYPE" included, and process_resident_memory_bytes,
 * process_cpu_seconds_total and process_open_fds of this process; `started` is
 * process_start_time_seconds. Numbers do not depend on the locale.
 */
void oneib_metrics_render(const struct oneib_metrics *metrics, struct oneib_text *text);
/* Sets how many attachments are refused: of each one's enum oneib_member_status, as struct
 * oneib_desired has them. */
void oneib_metrics_count_refused(struct oneib_metrics *metrics, const uint8_t *member_statuses,
                                 size_t count);
/* Violating deviations, and findings that are violations. */
uint64_t oneib_metrics_violations(const struct oneib_metrics *metrics);
void oneib_metrics_clear(struct oneib_metrics *metrics);

#endif
