// SPDX-License-Identifier: Apache-2.0
/*
 * Owner of what is read from oned, and of the reasons to read it: the event stream and whether it
 * can be relied on, the objects that events and nodes have named, and the age of the readings. The
 * readings themselves are in daemon->snapshot: its cloud, findings and ledger. It writes the ledger,
 * beside others who do: the other daemon, `oneib fence`, `oneib host`.
 */
#ifndef ONEIB_ONEIBD_ONED_H
#define ONEIB_ONEIBD_ONED_H

#include "base/error.h"
#include "cluster/ledger.h"
#include "config/config.h"
#include "oneibd/poll_schedule.h"
#include "oneibd/snapshot_age.h"
#include "opennebula/cache.h"
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_daemon;
struct oneib_oned;

/* Subscribes to one.events, unless that is "none"; everything is to be read. NULL: *err. */
struct oneib_oned *oneib_oned_open(const struct oneib_config *config, struct oneib_error *err);
void oneib_oned_close(struct oneib_oned *oned); /* NULL: nothing */
/* Goes on with the counters of `before`. */
void oneib_oned_keep_counters(struct oneib_oned *oned, const struct oneib_oned *before);

/* ---- events ---------------------------------------------------------------------------------- */

/* Waits half a second at most for the stream to connect: otherwise everything is read twice at the
 * start. */
void oneib_oned_await_stream(struct oneib_daemon *daemon);
/* Descriptors to poll(2) for POLLIN; returns how many, at most 2. */
size_t oneib_oned_descriptors(const struct oneib_oned *oned, struct pollfd *descriptors);
/* Queues what the events that have come name; whether there were any. */
bool oneib_oned_receive_events(struct oneib_daemon *daemon);
/* Queues what is to be read once more, and what had too many events. */
void oneib_oned_release_events(struct oneib_daemon *daemon);
/* Logs whether the stream is connected and can be relied on; without it everything is polled. */
void oneib_oned_check_stream(struct oneib_daemon *daemon);
/* A node waits for a grant of this VM; its caller limits how often. */
void oneib_oned_queue_vm(struct oneib_daemon *daemon, uint32_t vm_id);

/* ---- readings -------------------------------------------------------------------------------- */

/* Brings the snapshot's cloud and ledger up to date with the queue, which is empty then. After a
 * failure everything is on it. *changed: they are not what they were. */
int oneib_oned_read(struct oneib_daemon *daemon, const struct oneib_due *due, bool *changed,
                    struct oneib_error *err);
/* Reads these objects alone. *changed as above. */
int oneib_oned_read_objects(struct oneib_daemon *daemon, const struct oneib_work_queue *objects,
                            bool *changed, struct oneib_error *err);
/* Reads the ledger at once. */
int oneib_oned_read_ledger(struct oneib_daemon *daemon, struct oneib_error *err);
/* Whether the next turn reads the ledger: not, where it was written by this daemon just now. */
void oneib_oned_set_ledger_due(struct oneib_daemon *daemon, bool is_due);
/* Puts `next` into the ledger's place. After a failure the ledger is read again first thing in the
 * next turn. oneib_oned_write_ledger(): that another one has written it meanwhile is no failure: 0,
 * and *written is false. */
int oneib_oned_put_ledger(struct oneib_daemon *daemon, const struct oneib_ledger *next,
                          struct oneib_error *err);
int oneib_oned_write_ledger(struct oneib_daemon *daemon, const struct oneib_ledger *next,
                            bool *written, struct oneib_error *err);
/* Saves which ledger was read or written last (sync/ledger_mark.h): without it one that was put back
 * is not recognized. */
void oneib_oned_mark_ledger(struct oneib_daemon *daemon);
/* Queues hosts whose reading was put off until the subnet manager knows of their VMs. */
void oneib_oned_queue_hosts_later(struct oneib_daemon *daemon);

/* The last reading failed. */
bool oneib_oned_is_away(const struct oneib_oned *oned);
/* Of the readings that nodes' lists are made of. */
struct oneib_snapshot_age *oneib_oned_snapshot_age(struct oneib_oned *oned);
/* Sets the metrics of the stream. */
void oneib_oned_count_events(struct oneib_daemon *daemon);

#endif
