// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "oneibd/daemon.h"
#include "oneibd/signals.h"

static void on_progress(size_t done, size_t total, void *context)
{
    (void)done;
    (void)total;
    oneib_daemon_alive(context);
}

/* Whoever else wrote partitions has looked at oned later than we have: what is kept may be old. */
static void distrust_what_others_wrote(struct oneib_daemon *daemon)
{
    if (daemon->has_cloud && oneib_sm_has_news(daemon->manager))
        daemon->queue.everything = true;
}

static void add_what_is_due(struct oneib_daemon *daemon, const struct oneib_due *due)
{
    distrust_what_others_wrote(daemon);
    if (due->reread || !daemon->has_cloud)
        daemon->queue.everything = true;
    if (!due->poll || daemon->queue.everything)
        return;
    daemon->queue.new_vms = true;
    oneib_work_queue_unsettled(&daemon->snapshot.cloud, &daemon->queue);
}

/* Only a call of oned's may be interrupted. */
int oneib_daemon_read_at(struct oneib_daemon *daemon, const struct oneib_work_queue *queue,
                         bool *changed, struct oneib_error *err)
{
    const struct oneib_pools_options options = {
        .vn_mad = daemon->config.one.vn_mad,
        .window = daemon->config.one.window,
        .progress = on_progress,
        .progress_context = daemon,
        .acl_user = daemon->config.one.acl_user,
        .require_restrictions = true,
        /* Polls make up for what was put off. */
        .hosts_later = queue->new_vms ? NULL : &daemon->hosts_later,
    };
    oneib_signals_allow();
    const int status = oneib_cache_refresh(daemon->one, &options, queue, &daemon->snapshot.cloud,
                                           &daemon->snapshot.findings, changed, err);
    oneib_signals_block();
    if (status == 0 && *changed)
        daemon->is_computed = false; /* what follows from it is another cloud's */
    return status;
}

static uint64_t messages(const struct oneib_daemon *daemon)
{
    return daemon->events ? oneib_events_stream(daemon->events)->messages : 0;
}

static void note_everything_was_read(struct oneib_daemon *daemon, double began)
{
    const double now = oneib_now_ms();
    const bool trusted = daemon->events && oneib_events_stream(daemon->events)->connected &&
                         daemon->stream_health.trusted;
    oneib_poll_schedule_reread(&daemon->schedule, now, now - began, trusted);
    oneib_id_set_clear(&daemon->hosts_denied);
    oneib_findings_clear(&daemon->host_findings);
    daemon->leaves_of = 0;
    daemon->has_cloud = true;
    daemon->ledger_is_due = true;
    daemon->metrics.full_readings++;
}

/* Whether what events tell of is not what it was. */
static bool vms_moved(struct oneib_daemon *daemon)
{
    const uint64_t before = daemon->fingerprint;
    daemon->fingerprint = oneib_stream_health_fingerprint(&daemon->snapshot.cloud);
    return before != daemon->fingerprint;
}

/* What nodes say must not make a daemon ask again that has just asked in vain. */
static bool is_about_nodes_alone(const struct oneib_daemon *daemon, const struct oneib_due *due)
{
    return daemon->has_cloud && due->nodes && !due->events && !due->poll && !due->reread &&
           !due->verify && !due->retry;
}

int oneib_daemon_read(struct oneib_daemon *daemon, const struct oneib_due *due, bool *changed,
                      struct oneib_error *err)
{
    const double began = oneib_now_ms();
    const bool untold = !due->events;
    const uint64_t told = messages(daemon);
    const bool first = !daemon->has_cloud;

    *changed = false;
    if (is_about_nodes_alone(daemon, due))
        return 0;
    add_what_is_due(daemon, due);
    if (oneib_work_queue_is_empty(&daemon->queue))
        return 0;

    const bool everything = daemon->queue.everything;
    if (oneib_daemon_read_at(daemon, &daemon->queue, changed, err) < 0) {
        daemon->queue.everything = true;
        oneib_snapshot_age_changed(&daemon->snapshot_age); /* who knows */
        return oneib_wrap(err, "looking at OpenNebula");
    }
    if (*changed)
        oneib_snapshot_age_changed(&daemon->snapshot_age);
    oneib_work_queue_clear(&daemon->queue);
    if (everything)
        note_everything_was_read(daemon, began);
    if (everything || due->poll)
        oneib_snapshot_age_cloud(&daemon->snapshot_age, began);
    if (everything || due->poll)
        oneib_poll_schedule_polled(&daemon->schedule, oneib_now_ms(),
                                   oneib_cloud_is_preparing(&daemon->snapshot.cloud));
    else if (*changed && oneib_cloud_is_preparing(&daemon->snapshot.cloud))
        oneib_poll_schedule_preparing(&daemon->schedule, oneib_now_ms());
    const bool moved = *changed && vms_moved(daemon);
    oneib_stream_health_read(&daemon->stream_health, oneib_now_ms(), told,
                             moved && untold && !first);
    daemon->metrics.looks++;
    daemon->metrics.last_look = (double)time(NULL);
    return 0;
}

/* Polls look at it anyway, and events tell of it. Where another one is the writer networks may tell
 * sooner that it has changed: when their VLAN_IDs are not what it says; and that one makes it. One
 * that was lost somebody may have adopted. */
static bool ledger_seems_old(const struct oneib_daemon *daemon)
{
    const struct oneib_snapshot *snapshot = &daemon->snapshot;
    return snapshot->ledger_lost ||
           (!daemon->config.one.writer &&
            (snapshot->kept.state == ONEIB_LEDGER_ABSENT || oneib_keys_are_due(snapshot)));
}

int oneib_daemon_read_at_ledger(struct oneib_daemon *daemon, const struct oneib_due *due,
                                bool *changed, struct oneib_error *err)
{
    bool differs = false;
    if (!daemon->ledger_is_due && !due->poll && !(*changed && ledger_seems_old(daemon)))
        return 0;
    oneib_signals_allow();
    const int status =
        oneib_snapshot_read_ledger(&daemon->config, daemon->one, &daemon->snapshot, &differs, err);
    oneib_signals_block();
    if (status < 0)
        return oneib_wrap(err, "looking at OpenNebula");
    daemon->ledger_is_due = false;
    *changed |= differs;
    if (differs)
        oneib_snapshot_age_changed(&daemon->snapshot_age);
    oneib_snapshot_age_ledger(&daemon->snapshot_age);
    return 0;
}
