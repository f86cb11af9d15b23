// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon: what it keeps between two looks, and its steps. One thread; only http.h has another.
 *
 *   events, polls ─▶ agenda ─▶ look (mirror) ─▶ compute (view) ─▶ force (apply) ─▶ hosts, metrics
 *
 * Everything but the cloud, the subnet and counters is computed anew each time.
 * docs/design/daemon.md tells when what is looked at, and why a lost event, a crash or a second
 * instance does no harm.
 */
#ifndef ONEIB_ONEIBD_DAEMON_H
#define ONEIB_ONEIBD_DAEMON_H

#include "base/config.h"
#include "base/error.h"
#include "fabric/fabric.h"
#include "model/host_attributes.h"
#include "one/client.h"
#include "one/credentials.h"
#include "one/events.h"
#include "one/mirror.h"
#include "oneibd/echo.h"
#include "oneibd/http.h"
#include "oneibd/metrics.h"
#include "oneibd/notify.h"
#include "oneibd/pace.h"
#include "oneibd/report.h"
#include "oneibd/stamp.h"
#include "oneibd/trail.h"
#include "oneibd/trust.h"
#include "sync/leaves.h"
#include "sync/sync.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_daemon {
    const char *config_path; /* NULL: the default */
    struct oneib_config config;
    struct oneib_credentials credentials;
    struct oneib_one *one;
    struct oneib_fabric *fabric; /* NULL: could not be opened, or broke */
    struct oneib_events *events; /* NULL: one.events is "none" */
    struct oneib_http *http;     /* NULL: daemon.metrics is "none" */
    int lock; /* that this is the only daemon of its partitions file; -1: not yet */

    struct oneib_agenda agenda;
    struct oneib_echo echo; /* of what events named */
    struct oneib_pace pace;
    struct oneib_trust trust;
    struct oneib_notify notify;
    struct oneib_report report;
    struct oneib_trail trail;
    struct oneib_metrics metrics;

    struct oneib_view view;                  /* its cloud and subnet are kept */
    struct oneib_stamp fragment, partitions; /* as they were when they were read or written last */
    enum oneib_sm_state sm;                  /* of this port, when it was asked last */
    struct oneib_stream events_before;       /* counters of subscriptions that were closed */
    bool was_connected, connection_said, watching; /* what was logged */
    bool has_cloud;                                /* all of oned was read, once */
    uint64_t fingerprint;                          /* of the cloud (trust.h) */
    bool owns_file; /* the partitions file was oneib's own, once: then it is put back when lost */
    bool insisting; /* what is being put into force is in the file already */
    bool settled;   /* what was computed last is in force, as far as opensm can bring it there */
    struct oneib_leaves leaves;
    uint64_t leaves_of;                  /* fingerprint of what they were asked for */
    struct oneib_findings host_findings; /* of writing to hosts */
    bool hosts_wait;                     /* not all were written to, for something else came */
    struct oneib_id_set hosts_later;  /* to be asked about when opensm knows of the VMs on them */
    struct oneib_id_set hosts_failed; /* could not be written to; not tried again until everything
                                         is read again */
};

/* Reads the configuration, takes the daemon's lock, opens what must be there. On failure nothing
 * must be closed. */
int oneib_daemon_open(struct oneib_daemon *daemon, const char *config_path,
                      struct oneib_error *err);
/* Until a signal ends it: 0. -1: it must not run, *err says why (restrictions are missing). */
int oneib_daemon_run(struct oneib_daemon *daemon, struct oneib_error *err);
void oneib_daemon_close(struct oneib_daemon *daemon);

/* ---- steps; for core/oneibd alone ---------------------------------------------------------- */

/* Puts what the event stream has told onto the agenda; true when there was something. */
bool oneib_daemon_listen(struct oneib_daemon *daemon);
/* A sign of life, for whoever waits long. */
void oneib_daemon_alive(struct oneib_daemon *daemon);

/* look.c: brings view.cloud up to date with the agenda, which is empty then. After a failure
 * everything is on it. *changed: it is not what it was. */
int oneib_daemon_look(struct oneib_daemon *daemon, const struct oneib_due *due, bool *changed,
                      struct oneib_error *err);

/* The same for some objects alone. */
int oneib_daemon_look_at(struct oneib_daemon *daemon, const struct oneib_agenda *agenda,
                         bool *changed, struct oneib_error *err);

/* reconcile.c: one turn under the lock of the partitions file: look, compute, put into force. */
int oneib_daemon_reconcile(struct oneib_daemon *daemon, const struct oneib_due *due,
                           struct oneib_error *err);
/* Asks the SM of this port for its state; one that has become master is a reason to look at all
 * ports. */
void oneib_daemon_watch_sm(struct oneib_daemon *daemon);

/* hosts.c: IB_VFS_FREE and IB_SWITCH, computed, and written where this instance is the writer.
 * Stops when an event comes: the rest is written next time. */
int oneib_daemon_tell_hosts(struct oneib_daemon *daemon, struct oneib_error *err);

/* health.c: metrics and health, filled in and published. */
void oneib_daemon_publish(struct oneib_daemon *daemon);
/* Counts an error, and logs it unless it is the one that was logged last. */
void oneib_daemon_complain(struct oneib_daemon *daemon, const struct oneib_error *err);

#endif
