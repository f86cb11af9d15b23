// SPDX-License-Identifier: Apache-2.0
#include "oneibd/oned.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "oneibd/daemon.h"
#include "oneibd/event_queue.h"
#include "oneibd/signals.h"
#include "oneibd/stream_health.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The stream connects within milliseconds or not at all. */
#define CONNECT_PATIENCE_MS 500.0

struct oneib_oned {
    struct oneib_events *events; /* NULL: one.events is "none", or the socket failed */
    struct oneib_stream_health health;
    struct oneib_stream closed_streams; /* counters of subscriptions that were closed */
    bool is_connected, is_logged;       /* is_connected was logged */
    struct oneib_event_queue queue;
    struct oneib_id_set hosts_later; /* to be read when the subnet manager knows of their VMs */
    uint64_t fingerprint;            /* of the cloud (stream_health.h) */
    bool is_ledger_due, is_away;
    struct oneib_snapshot_age age;
};

struct oneib_oned *oneib_oned_open(const struct oneib_config *config, struct oneib_error *err)
{
    struct oneib_oned *oned = oneib_alloc(1, sizeof *oned);
    oneib_stream_health_begin(&oned->health);
    oned->queue.due.everything = true;
    if (strcmp(config->one.events, "none") == 0)
        return oned;
    oned->events = oneib_events_open(config->one.events, err);
    if (oned->events)
        return oned;
    free(oned);
    return NULL;
}

void oneib_oned_close(struct oneib_oned *oned)
{
    if (!oned)
        return;
    oneib_events_close(oned->events);
    oneib_event_queue_clear(&oned->queue);
    oneib_id_set_clear(&oned->hosts_later);
    free(oned);
}

/* Those of closed streams and of the open one. */
static struct oneib_stream counters(const struct oneib_oned *oned)
{
    struct oneib_stream sum = oned->closed_streams;
    if (oned->events) {
        const struct oneib_stream *stream = oneib_events_stream(oned->events);
        sum.messages += stream->messages;
        sum.unreadable += stream->unreadable;
        sum.gaps += stream->gaps;
    }
    return sum;
}

void oneib_oned_keep_counters(struct oneib_oned *oned, const struct oneib_oned *before)
{
    oned->closed_streams = counters(before);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void set_timer(struct oneib_daemon *daemon)
{
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_EVENT_QUEUE,
                    oneib_event_queue_next(&daemon->oned->queue));
}

static void note_event(struct oneib_daemon *daemon, double now, struct oneib_event event)
{
    if (oneib_event_queue_note(&daemon->oned->queue, now, event))
        oneib_poll_schedule_event(&daemon->schedule, now);
    else
        daemon->metrics.events_delayed++;
}

bool oneib_oned_receive_events(struct oneib_daemon *daemon)
{
    struct oneib_oned *oned = daemon->oned;
    struct oneib_event event;
    struct oneib_error failure;
    bool something = false;
    int outcome = 0;
    while (oned->events && (outcome = oneib_events_next(oned->events, &event, &failure)) > 0) {
        if (event.kind == ONEIB_EVENT_DOCUMENT) {
            if (event.id != daemon->snapshot.kept.document_id)
                continue;
            oned->is_ledger_due = true;
        }
        note_event(daemon, oneib_now_ms(), event);
        something = true;
    }
    if (outcome < 0) {
        oneib_daemon_complain(daemon, &failure);
        oned->closed_streams = counters(oned);
        oneib_events_close(oned->events);
        oned->events = NULL;
        oneib_poll_schedule_distrust(&daemon->schedule, oneib_now_ms());
    }
    set_timer(daemon);
    return something;
}

void oneib_oned_release_events(struct oneib_daemon *daemon)
{
    const double now = oneib_now_ms();
    if (oneib_event_queue_release(&daemon->oned->queue, now))
        oneib_poll_schedule_event(&daemon->schedule, now);
    set_timer(daemon);
}

void oneib_oned_queue_vm(struct oneib_daemon *daemon, uint32_t vm_id)
{
    const double now = oneib_now_ms();
    oneib_event_queue_add(&daemon->oned->queue, now,
                          (struct oneib_event){.kind = ONEIB_EVENT_VM, .id = vm_id});
    oneib_poll_schedule_event(&daemon->schedule, now);
    set_timer(daemon);
}

size_t oneib_oned_descriptors(const struct oneib_oned *oned, struct pollfd *descriptors)
{
    int fds[2];
    if (!oned->events)
        return 0;
    oneib_events_descriptors(oned->events, fds);
    for (size_t i = 0; i < 2; i++)
        descriptors[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    return 2;
}

void oneib_oned_await_stream(struct oneib_daemon *daemon)
{
    const double end = oneib_now_ms() + CONNECT_PATIENCE_MS;
    oneib_oned_receive_events(daemon);
    while (daemon->oned->events && !oneib_events_stream(daemon->oned->events)->connected &&
           oneib_now_ms() < end && !oneib_signals_waiting()) {
        struct pollfd descriptors[2];
        const size_t count = oneib_oned_descriptors(daemon->oned, descriptors);
        oneib_signals_poll(descriptors, count, end - oneib_now_ms());
        oneib_oned_receive_events(daemon);
    }
}

static void log_connection(struct oneib_daemon *daemon)
{
    struct oneib_oned *oned = daemon->oned;
    const struct oneib_stream *stream = oneib_events_stream(oned->events);
    if (stream->connected == oned->is_connected && oned->is_logged)
        return;
    oned->is_logged = true;
    oned->is_connected = stream->connected;
    if (stream->connected) {
        oneib_log(ONEIB_LOG_INFO, "listening to the events of %s", daemon->config.one.events);
        return;
    }
    oneib_log(ONEIB_LOG_WARNING,
              "no events from %s: %s; everything is polled every %u ms (or seldomer, if that takes "
              "long)",
              daemon->config.one.events, stream->trouble, daemon->config.daemon.poll_preparing_ms);
    oneib_poll_schedule_distrust(&daemon->schedule, oneib_now_ms());
}

void oneib_oned_check_stream(struct oneib_daemon *daemon)
{
    struct oneib_oned *oned = daemon->oned;
    if (!oned->events)
        return;
    log_connection(daemon);
    const double now = oneib_now_ms();
    switch (oneib_stream_health_judge(&oned->health, now,
                                      oneib_events_stream(oned->events)->messages)) {
    case ONEIB_STREAM_HEALTH_SAME:
        return;
    case ONEIB_STREAM_HEALTH_LOST:
        oneib_log(ONEIB_LOG_WARNING,
                  "VMs change without events from %s: everything is polled every %u ms (or "
                  "seldomer, if that takes long) until it does; is oned's hook manager well?",
                  daemon->config.one.events, daemon->config.daemon.poll_preparing_ms);
        oneib_poll_schedule_distrust(&daemon->schedule, now);
        return;
    case ONEIB_STREAM_HEALTH_REGAINED:
        oneib_log(ONEIB_LOG_INFO, "events from %s arrive again", daemon->config.one.events);
        oned->queue.due.everything = true;
        oneib_poll_schedule_event(&daemon->schedule, now);
        return;
    }
}

void oneib_oned_count_events(struct oneib_daemon *daemon)
{
    const struct oneib_oned *oned = daemon->oned;
    const struct oneib_stream sum = counters(oned);
    struct oneib_metrics *metrics = &daemon->metrics;
    metrics->stream_trusted = oned->health.trusted;
    metrics->stream_connected = oned->events && oneib_events_stream(oned->events)->connected;
    metrics->events = sum.messages;
    metrics->events_unreadable = sum.unreadable;
    metrics->stream_gaps = sum.gaps;
}

/* ---- reading objects ------------------------------------------------------------------------- */

static void on_progress(size_t done, size_t total, void *context)
{
    (void)done;
    (void)total;
    oneib_daemon_alive(context);
}

int oneib_oned_read_objects(struct oneib_daemon *daemon, const struct oneib_work_queue *objects,
                            bool *changed, struct oneib_error *err)
{
    const struct oneib_pools_options options = {
        .vn_mad = daemon->config.one.vn_mad,
        .window = daemon->config.one.window,
        .progress = on_progress,
        .progress_context = daemon,
        .acl_user = daemon->config.one.acl_user,
        .require_restrictions = true,
        /* Polls read what was put off. */
        .hosts_later = objects->new_vms ? NULL : &daemon->oned->hosts_later,
    };
    oneib_signals_allow(); /* only a call of oned may be interrupted */
    const int status = oneib_cache_refresh(daemon->one, &options, objects, &daemon->snapshot.cloud,
                                           &daemon->snapshot.findings, changed, err);
    oneib_signals_block();
    if (status == 0 && *changed)
        daemon->is_computed = false; /* of another cloud */
    return status;
}

static void queue_what_is_due(struct oneib_daemon *daemon, const struct oneib_due *due)
{
    struct oneib_work_queue *queue = &daemon->oned->queue.due;
    /* A file that another daemon or command has written may follow from a later reading of oned. */
    if (due->reread || !daemon->has_cloud || oneib_sm_has_news(daemon->manager))
        queue->everything = true;
    if (!due->poll || queue->everything)
        return;
    queue->new_vms = true;
    oneib_work_queue_unsettled(&daemon->snapshot.cloud, queue);
}

static void note_everything_was_read(struct oneib_daemon *daemon, double began)
{
    const struct oneib_oned *oned = daemon->oned;
    const double now = oneib_now_ms();
    const bool trusted =
        oned->events && oneib_events_stream(oned->events)->connected && oned->health.trusted;
    oneib_poll_schedule_reread(&daemon->schedule, now, now - began, trusted);
    oneib_host_updates_reset(daemon->host_updates);
    daemon->has_cloud = true;
    daemon->oned->is_ledger_due = true;
    daemon->metrics.full_readings++;
}

/* What nodes report must not make a daemon ask again that has just asked in vain. */
static bool is_about_nodes_alone(const struct oneib_daemon *daemon, const struct oneib_due *due)
{
    return daemon->has_cloud && due->nodes && !due->events && !due->poll && !due->reread &&
           !due->verify && !due->retry;
}

static int read_due_objects(struct oneib_daemon *daemon, const struct oneib_due *due, bool *changed,
                            struct oneib_error *err)
{
    struct oneib_oned *oned = daemon->oned;
    struct oneib_work_queue *queue = &oned->queue.due;
    const struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    const double began = oneib_now_ms();
    const uint64_t messages = oned->events ? oneib_events_stream(oned->events)->messages : 0;
    const bool is_first = !daemon->has_cloud;

    *changed = false;
    if (is_about_nodes_alone(daemon, due))
        return 0;
    queue_what_is_due(daemon, due);
    if (oneib_work_queue_is_empty(queue))
        return 0;

    const bool everything = queue->everything;
    if (oneib_oned_read_objects(daemon, queue, changed, err) < 0) {
        queue->everything = true;
        oneib_snapshot_age_changed(&oned->age); /* it may have */
        return -1;
    }
    if (*changed)
        oneib_snapshot_age_changed(&oned->age);
    oneib_work_queue_clear(queue);
    if (everything)
        note_everything_was_read(daemon, began);
    if (everything || due->poll) {
        oneib_snapshot_age_cloud(&oned->age, began);
        oneib_poll_schedule_polled(&daemon->schedule, oneib_now_ms(),
                                   oneib_cloud_is_preparing(cloud));
    } else if (*changed && oneib_cloud_is_preparing(cloud)) {
        oneib_poll_schedule_preparing(&daemon->schedule, oneib_now_ms());
    }
    const uint64_t before = oned->fingerprint;
    if (*changed)
        oned->fingerprint = oneib_stream_health_fingerprint(cloud);
    oneib_stream_health_read(&oned->health, oneib_now_ms(), messages,
                             before != oned->fingerprint && !due->events && !is_first);
    daemon->metrics.looks++;
    daemon->metrics.last_look = (double)time(NULL);
    return 0;
}

void oneib_oned_queue_hosts_later(struct oneib_daemon *daemon)
{
    struct oneib_oned *oned = daemon->oned;
    if (oned->hosts_later.count == 0)
        return;
    for (size_t i = 0; i < oned->hosts_later.count; i++)
        oneib_work_queue_host(&oned->queue.due, oned->hosts_later.items[i]);
    oned->hosts_later.count = 0;
    oneib_poll_schedule_event(&daemon->schedule, oneib_now_ms());
}

/* ---- reading the ledger ---------------------------------------------------------------------- */

/* Polls read it anyway, and events tell of it. Where another daemon is the writer, networks may show
 * sooner that it has changed: by VLAN_IDs that are not what it says; and that one makes it. A lost
 * one may have been adopted. */
static bool may_ledger_have_changed(const struct oneib_daemon *daemon)
{
    const struct oneib_snapshot *snapshot = &daemon->snapshot;
    return snapshot->ledger_lost ||
           (!daemon->config.one.writer &&
            (snapshot->kept.state == ONEIB_LEDGER_ABSENT || oneib_keys_are_due(snapshot)));
}

static int read_ledger(struct oneib_daemon *daemon, bool *changed, struct oneib_error *err)
{
    oneib_signals_allow();
    const int status =
        oneib_snapshot_read_ledger(&daemon->config, daemon->one, &daemon->snapshot, changed, err);
    oneib_signals_block();
    if (status == 0)
        daemon->oned->is_ledger_due = false;
    return status;
}

int oneib_oned_read_ledger(struct oneib_daemon *daemon, struct oneib_error *err)
{
    bool changed;
    return read_ledger(daemon, &changed, err);
}

static int read_due_ledger(struct oneib_daemon *daemon, const struct oneib_due *due, bool *changed,
                           struct oneib_error *err)
{
    struct oneib_oned *oned = daemon->oned;
    bool differs = false;
    if (!oned->is_ledger_due && !due->poll && !(*changed && may_ledger_have_changed(daemon)))
        return 0;
    if (read_ledger(daemon, &differs, err) < 0)
        return -1;
    *changed |= differs;
    if (differs)
        oneib_snapshot_age_changed(&oned->age);
    oneib_snapshot_age_ledger(&oned->age);
    return 0;
}

void oneib_oned_set_ledger_due(struct oneib_daemon *daemon, bool is_due)
{
    daemon->oned->is_ledger_due = is_due;
}

/* ---- writing the ledger ---------------------------------------------------------------------- */

void oneib_oned_mark_ledger(struct oneib_daemon *daemon)
{
    struct oneib_error failure;
    if (!daemon->snapshot.ledger_lost &&
        oneib_ledger_mark_write(oneib_config_state(&daemon->config), &daemon->snapshot.kept,
                                &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
}

int oneib_oned_put_ledger(struct oneib_daemon *daemon, const struct oneib_ledger *next,
                          struct oneib_error *err)
{
    oneib_signals_allow();
    const int status = oneib_ledger_write(daemon->one, &daemon->snapshot.kept, next, err);
    oneib_signals_block();
    if (status < 0)
        daemon->oned->is_ledger_due = true;
    else
        oneib_oned_mark_ledger(daemon);
    return status;
}

int oneib_oned_write_ledger(struct oneib_daemon *daemon, const struct oneib_ledger *next,
                            bool *written, struct oneib_error *err)
{
    const int status = oneib_oned_put_ledger(daemon, next, err);
    *written = status == 0;
    if (status == 0 || err->code != ONEIB_ERROR_REFUSED)
        return status;
    /* No error: what is to be written follows from the ledger that the other one wrote. */
    oneib_log(ONEIB_LOG_INFO, "%s: it is read again", err->text);
    return 0;
}

/* ---- together -------------------------------------------------------------------------------- */

int oneib_oned_read(struct oneib_daemon *daemon, const struct oneib_due *due, bool *changed,
                    struct oneib_error *err)
{
    struct oneib_oned *oned = daemon->oned;
    oned->is_away = read_due_objects(daemon, due, changed, err) < 0 ||
                    read_due_ledger(daemon, due, changed, err) < 0;
    return oned->is_away ? oneib_wrap(err, "looking at OpenNebula") : 0;
}

bool oneib_oned_is_away(const struct oneib_oned *oned)
{
    return oned->is_away;
}

struct oneib_snapshot_age *oneib_oned_snapshot_age(struct oneib_oned *oned)
{
    return &oned->age;
}
