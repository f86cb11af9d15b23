// SPDX-License-Identifier: Apache-2.0
#include "oneibd/reconcile.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/stamp.h"
#include "oneibd/daemon.h"
#include "oneibd/signals.h"
#include "sm/kind.h"
#include "sync/lock.h"
#include "sync/sl_assignment.h"
#include <stdlib.h>
#include <time.h>

/* `oneib sync` holds the lock for as long as opensm takes: then the next try is soon enough. */
#define LOCK_PATIENCE_MS 2000
/* The master needs some time for what a standby has just written too. */
#define MASTERS_TIME_MS 3000.0
#define MASTERS_LONG_TIME_MS 15000.0
/* In one turn. */
#define KEY_ROUNDS 3
#define REGISTRATION_ROUNDS 3
/* When other work waits, ports that are slow are left to the next turn after this. */
#define PATIENCE_WITH_PORTS_MS 1000.0
#define PATIENCE_WITHOUT_CHANGE_MS 2000.0
/* While there are fenced hosts, whose ports are read between two turns. */
#define PATIENCE_WITH_FENCES_MS 5000.0
/* How long a change comes before a verification that is due. */
#define LATEST_VERIFY_MS 5000.0

struct oneib_turn {
    struct oneib_stamp static_partitions; /* as it was when it was read last */
    bool owns_file; /* the partitions file was oneib's own once: then it is put
                                             back when lost */
    bool is_file_ahead;
    bool is_file_unchanged; /* what is being put into force is in the file already */
    bool is_settled;
};

struct oneib_turn *oneib_turn_new(void)
{
    return oneib_alloc(1, sizeof(struct oneib_turn));
}

void oneib_turn_free(struct oneib_turn *turn)
{
    free(turn);
}

void oneib_turn_keep_file(struct oneib_turn *turn, const struct oneib_turn *before)
{
    turn->owns_file = before->owns_file;
}

bool oneib_turn_is_settled(const struct oneib_daemon *daemon)
{
    return daemon->turn->is_settled;
}

bool oneib_turn_is_file_ahead(const struct oneib_daemon *daemon)
{
    return daemon->turn->is_file_ahead;
}

void oneib_daemon_alive(struct oneib_daemon *daemon)
{
    oneib_notify_alive(&daemon->notify);
    oneib_http_alive(daemon->http);
}

/* A port that never comes right holds up no other change. Where nothing was changed, a few reloads
 * have shown what they can do. */
static bool gives_up_on_ports(void *context, double waited_ms)
{
    struct oneib_daemon *daemon = context;
    oneib_daemon_alive(daemon);
    if (oneib_signals_waiting() ||
        (daemon->turn->is_file_unchanged && waited_ms > PATIENCE_WITHOUT_CHANGE_MS) ||
        (waited_ms > PATIENCE_WITH_FENCES_MS && oneib_fencing_is_due(daemon)))
        return true;
    const bool nodes_wait = oneib_node_grants_receive(daemon);
    return waited_ms > PATIENCE_WITH_PORTS_MS &&
           (oneib_oned_receive_events(daemon) || nodes_wait ||
            oneib_node_grants_have_unwritten_keys(daemon->node_grants));
}

static void log_outcome(const struct oneib_daemon *daemon, const struct oneib_changes *changes,
                        const struct oneib_apply_result *result, double since_event_ms)
{
    const char *where = result->outcome == ONEIB_STANDBY
                            ? "written; the subnet manager here is standby"
                            : (result->late > 0 ? "written, not all in force yet" : "in force");
    if (result->outcome == ONEIB_UNCHANGED)
        return;
    oneib_log(
        ONEIB_LOG_INFO,
        "%s: members: %zu added, %zu removed, %zu changed; %.0f ms, %u reloads; %zu clusters, "
        "%zu deviations",
        where, changes->members_added, changes->members_removed, changes->members_changed,
        since_event_ms > 0 ? since_event_ms : result->in_force_ms, result->reloads,
        daemon->snapshot.desired.cluster_count, result->verification.count);
}

/* proved: the ports were read in this turn. */
static void count_outcome(struct oneib_daemon *daemon, const struct oneib_apply_result *result,
                          bool written, bool proved)
{
    struct oneib_metrics *metrics = &daemon->metrics;
    const double now = (double)time(NULL);

    metrics->reloads += result->reloads;
    metrics->writes += written;
    if (written)
        metrics->last_write = now;
    metrics->ports = result->verification.ports;
    metrics->members_unverified = result->verification.members_unverified;
    metrics->members_unserved = oneib_vports_unserved(&daemon->config, &daemon->snapshot.desired);
    metrics->virtual_ports_verified = daemon->snapshot.vports.result.added;
    for (size_t i = 0; i < ONEIB_DEVIATION_KINDS; i++)
        metrics->deviations[i] = 0;
    for (size_t i = 0; i < result->verification.count; i++)
        metrics->deviations[result->verification.items[i].kind]++;
    metrics->in_force = result->verification.count == 0 && (proved || metrics->in_force);
    if (metrics->in_force && proved)
        metrics->last_sync = now;
}

static void report(struct oneib_daemon *daemon, const struct oneib_verification *verification)
{
    const struct oneib_report_names names = {
        &daemon->snapshot.cloud, &daemon->snapshot.desired.table, &daemon->snapshot.subnet};
    struct oneib_findings now = {0};
    oneib_findings_copy(&daemon->snapshot.findings, 0, &now);
    oneib_findings_copy(&daemon->snapshot.desired.findings, 0, &now);
    oneib_host_updates_add_findings(daemon->host_updates, &now);
    oneib_findings_copy(oneib_node_grants_findings(daemon->node_grants), 0, &now);
    oneib_registration_add_findings(daemon->registration, &now);
    oneib_host_ports_add_findings(daemon->host_ports, &now);
    oneib_fencing_add_findings(daemon->fencing, &now);
    oneib_qos_check_add_findings(daemon->qos, &now);
    oneib_vports_note_unserved(&daemon->config, &daemon->snapshot.desired, &now);
    oneib_findings_sort(&now);
    for (size_t i = 0; i < ONEIB_SEVERITIES; i++)
        daemon->metrics.findings[i] = oneib_findings_count(&now, (enum oneib_severity)i);
    for (size_t i = 0; i + 1 < ONEIB_SEVERITIES; i++)
        daemon->metrics.findings[i] -= daemon->metrics.findings[i + 1];

    if (verification)
        oneib_report_add_deviations(&names, verification, &now);
    oneib_report_findings(&daemon->report, &now);
}

/* Unless an operator orders it, only a file that was oneib's own is put back. */
static bool may_restore(const struct oneib_daemon *daemon)
{
    return daemon->turn->owns_file && daemon->snapshot.seen.state == ONEIB_SEEN_UNREADABLE;
}

static void note_result(struct oneib_daemon *daemon, const struct oneib_apply_result *result,
                        bool written)
{
    const double now = oneib_now_ms();
    if (result->outcome == ONEIB_STANDBY && result->verification.count > 0)
        oneib_poll_schedule_verify_in(&daemon->schedule, now,
                                      written ? MASTERS_TIME_MS : MASTERS_LONG_TIME_MS);
    /* opensm may still bring the rest into force, given time and reloads. */
    daemon->turn->is_settled =
        result->outcome == ONEIB_STANDBY ||
        (result->late == 0 && !oneib_verification_is_opensms(&result->verification));
    if (result->outcome != ONEIB_UNCHANGED)
        oneib_poll_schedule_applied(&daemon->schedule, now);
    if (daemon->turn->is_settled)
        return;
    if (written)
        oneib_poll_schedule_succeeded(
            &daemon->schedule); /* a new change is not as hopeless as the one before */
    oneib_poll_schedule_unfinished(&daemon->schedule, now);
}

/* Service levels with all ports read anew, shared links each time; and only while no change is under
 * way that would change the SA's answers. Members that are in force do not depend on it. */
static void check_qos(struct oneib_daemon *daemon, const struct oneib_apply_result *result,
                      bool subnet_is_new)
{
    if (!daemon->turn->is_settled || result->outcome == ONEIB_STANDBY)
        return;
    if (subnet_is_new)
        oneib_qos_check_read(daemon);
    if (subnet_is_new || result->outcome != ONEIB_UNCHANGED)
        oneib_qos_check_find_sharing(daemon);
}

/* What was applied, for metrics and the log. What a standby has just written the master has not
 * brought into force yet: deviations are not reported then. */
static void note_applied(struct oneib_daemon *daemon, struct oneib_apply_result *result,
                         const struct oneib_changes *changes, bool written, bool subnet_is_new,
                         double event_ms)
{
    const bool is_measured = event_ms >= 0 && result->outcome == ONEIB_APPLIED && result->late == 0;
    const double since_event_ms = is_measured ? result->in_force_at_ms - event_ms : 0;
    const bool fresh = subnet_is_new || result->outcome != ONEIB_UNCHANGED;
    if (is_measured)
        oneib_histogram_add(&daemon->metrics.event_to_in_force, since_event_ms / 1000);
    daemon->turn->owns_file = true;
    oneib_audit_log_follow(&daemon->audit_log, &daemon->snapshot, changes, fresh,
                           oneib_node_grants_have_deferred(daemon->node_grants));
    log_outcome(daemon, changes, result, since_event_ms);
    note_result(daemon, result, written);
    check_qos(daemon, result, subnet_is_new);
    const bool too_early = result->outcome == ONEIB_STANDBY && written;
    if (too_early)
        oneib_verification_clear(&result->verification);
    count_outcome(daemon, result, written, !too_early && fresh);
    report(daemon, &result->verification);
}

static int apply(struct oneib_daemon *daemon, bool subnet_is_new, double event_ms,
                 struct oneib_error *err)
{
    struct oneib_snapshot *snapshot = &daemon->snapshot;
    const struct oneib_apply_options options = {
        .force = may_restore(daemon),
        .subnet_is_new = subnet_is_new,
        .give_up = gives_up_on_ports,
        .context = daemon,
    };
    const bool written = snapshot->changed;
    oneib_auto(oneib_changes_clear) struct oneib_changes changes = {0};
    oneib_auto(oneib_apply_result_clear) struct oneib_apply_result result;
    oneib_partitions_diff(&snapshot->seen.table, &snapshot->desired.table, &changes);
    oneib_ports_take_reports(daemon);
    daemon->turn->is_file_unchanged = !written;
    if (oneib_apply(&daemon->config, daemon->manager, oneib_ports_fabric(daemon), snapshot,
                    &options, &result, err) < 0) {
        daemon->metrics.in_force = false;
        daemon->turn->is_file_ahead |= result.written;
        oneib_poll_schedule_verify_in(&daemon->schedule, oneib_now_ms(), 0);
        /* Written all the same: the next turn will not find a change in the file. */
        if (written && !snapshot->changed)
            oneib_audit_log_follow(&daemon->audit_log, snapshot, &changes, false,
                                   oneib_node_grants_have_deferred(daemon->node_grants));
        return -1;
    }
    daemon->turn->is_file_ahead = false;
    if (result.outcome != ONEIB_UNCHANGED)
        oneib_ports_were_read(daemon);
    note_applied(daemon, &result, &changes, written, subnet_is_new, event_ms);
    return 0;
}

static void log_held(struct oneib_daemon *daemon)
{
    const uint64_t held = daemon->snapshot.desired.held_count;
    if (held > 0 && held != daemon->metrics.members_held)
        oneib_log(ONEIB_LOG_WARNING,
                  "%llu removals are held: OpenNebula's answers lack too many members at once; see "
                  "'oneib plan', then 'oneib sync --force'",
                  (unsigned long long)held);
    if (held == 0 && daemon->metrics.members_held > 0)
        oneib_log(ONEIB_LOG_INFO, "no more removals are held");
    daemon->metrics.members_held = held;
}

static int compute(struct oneib_daemon *daemon, struct oneib_error *err)
{
    daemon->turn->static_partitions = oneib_stamp_of(daemon->config.opensm.static_partitions);
    oneib_node_grants_verify_keys(daemon);
    daemon->wanted_known = false;
    daemon->is_computed =
        oneib_snapshot_update(&daemon->config, daemon->manager, false, &daemon->snapshot, err) == 0;
    if (!daemon->is_computed)
        return -1;
    if (daemon->snapshot.seen.state == ONEIB_SEEN_OURS)
        daemon->turn->owns_file = true;
    log_held(daemon);
    return 0;
}

static void log_keys(struct oneib_daemon *daemon, const struct oneib_key_changes *changes)
{
    daemon->metrics.keys_given += changes->given;
    if (changes->given > 0)
        oneib_log(ONEIB_LOG_INFO, "%zu %s given a P_Key", changes->given,
                  changes->given == 1 ? "network was" : "networks were");
    if (changes->rested > 0)
        oneib_log(ONEIB_LOG_INFO, "%zu %s quarantined", changes->rested,
                  changes->rested == 1 ? "P_Key" : "P_Keys");
    if (changes->freed > 0)
        oneib_log(ONEIB_LOG_INFO, "%zu %s released from quarantine", changes->freed,
                  changes->freed == 1 ? "P_Key" : "P_Keys");
}

static int change_keys(struct oneib_daemon *daemon, struct oneib_error *err)
{
    oneib_auto(oneib_key_changes_clear) struct oneib_key_changes changes = {0};
    oneib_auto(oneib_work_queue_clear) struct oneib_work_queue queue = {0};
    bool changed;
    oneib_signals_allow();
    const int status =
        oneib_allocate(daemon->one, daemon->config.one.vn_mad, &daemon->snapshot, &changes, err);
    oneib_signals_block();
    oneib_oned_set_ledger_due(daemon, status < 0); /* what oned has is not known then */
    if (status < 0)
        return -1;
    log_keys(daemon, &changes);
    /* Networks that were written to are read again: they may be a reason to do more. */
    for (size_t i = 0; i < changes.networks.count; i++)
        oneib_work_queue_network(&queue, changes.networks.items[i]);
    if (changes.networks.count > 0 && oneib_oned_read_objects(daemon, &queue, &changed, err) < 0)
        return -1;
    return compute(daemon, err);
}

/* Of networks that came without a key, and of keys that are released: then the desired state is another.
 * A key that is released can be what another network is waiting for. */
static int allocate(struct oneib_daemon *daemon, struct oneib_error *err)
{
    for (unsigned i = 0; i < KEY_ROUNDS; i++) {
        oneib_choose_levels(&daemon->config, &daemon->snapshot,
                            oneib_qos_check_routes(daemon->qos));
        if (!daemon->config.one.writer || !oneib_ledger_is_due(&daemon->snapshot) ||
            oneib_apply_refuses(&daemon->snapshot, may_restore(daemon)))
            return 0;
        if (change_keys(daemon, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- registration ---------------------------------------------------------------------------- */

/* What follows from a ledger that another daemon or command has written is computed again. -1: nothing
 * is computed. */
static int update_registration(struct oneib_daemon *daemon, struct oneib_error *err)
{
    for (unsigned i = 0; i < REGISTRATION_ROUNDS && oneib_registration_update(daemon); i++)
        if (oneib_oned_read_ledger(daemon, err) < 0 || compute(daemon, err) < 0)
            return -1;
    return 0;
}

/* ---- a turn ---------------------------------------------------------------------------------- */

/* A file that is not oneib's does not show what nodes may have: the lists that they were sent stay. */
static int grant(struct oneib_daemon *daemon, struct oneib_error *err)
{
    return oneib_apply_refuses(&daemon->snapshot, may_restore(daemon))
               ? 0
               : oneib_node_grants_update(daemon, err);
}

/* Revocations are sent even when the fabric cannot be read. The failure that counts is why it could
 * not. */
static void grant_without_fabric(struct oneib_daemon *daemon)
{
    struct oneib_error ignored;
    if (compute(daemon, &ignored) == 0 && update_registration(daemon, &ignored) == 0)
        (void)grant(daemon, &ignored);
}

static bool have_files_changed(const struct oneib_daemon *daemon)
{
    const struct oneib_stamp static_partitions =
        oneib_stamp_of(daemon->config.opensm.static_partitions);
    return !oneib_stamp_equal(&static_partitions, &daemon->turn->static_partitions) ||
           oneib_sm_has_news(daemon->manager);
}

/* A failure holds up nothing else of the turn. */
static void update_fences(struct oneib_daemon *daemon, bool *changed)
{
    struct oneib_error failure;
    if (oneib_fencing_update(daemon, changed, &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
}

/* A failure holds up nothing: a host that fails is fenced by the places that are known already. */
static void find_places(struct oneib_daemon *daemon, bool *changed)
{
    struct oneib_error failure;
    if (oneib_host_ports_find_places(daemon, changed, &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
}

/* With each poll. Whether there are any. */
static bool retry_failed_writes(struct oneib_daemon *daemon)
{
    const bool is_unregistered = oneib_registration_failed(daemon->registration);
    return oneib_host_updates_resume(daemon->host_updates) || is_unregistered;
}

static int run(struct oneib_daemon *daemon, const struct oneib_due *due, double event_ms,
               struct oneib_error *err)
{
    bool changed;
    if (oneib_oned_read(daemon, due, &changed, err) < 0) {
        oneib_daemon_refuse_deferred(daemon, err);
        return -1;
    }
    /* A change that is not in force yet is the next retry's: not every event may cost the fabric a sweep. */
    update_fences(daemon, &changed);
    if (due->places)
        find_places(daemon, &changed);
    const bool at_rest = daemon->turn->is_settled || daemon->schedule.retry_at >= 0;
    const bool tries_again = due->poll && retry_failed_writes(daemon);
    const bool is_idle = !changed && at_rest && !tries_again && !due->verify && !due->retry &&
                         !due->nodes && !have_files_changed(daemon);
    if (is_idle && !due->asked)
        return 0;
    daemon->turn->is_settled = false;

    /* Ports that are due to be read go last when this turn is waited for, but for a limited time. */
    const double now = oneib_now_ms();
    const bool waited_for = changed || due->nodes;
    const bool may_verify_later = waited_for && now < daemon->schedule.verify_at + LATEST_VERIFY_MS;
    const bool may_answer_later =
        waited_for && !oneib_poll_schedule_ask_is_late(&daemon->schedule, now);
    const bool read = (due->verify && !may_verify_later) || (due->asked && !may_answer_later) ||
                      due->retry || !daemon->snapshot.subnet_known;
    if (!read) {
        oneib_ports_read_virtual(daemon);
    } else if (oneib_ports_read(daemon, err) < 0) {
        grant_without_fabric(daemon);
        oneib_daemon_answer_deferred(daemon, err);
        return -1;
    }
    update_fences(daemon, &changed);
    if (compute(daemon, err) < 0 || update_registration(daemon, err) < 0 ||
        allocate(daemon, err) < 0 || grant(daemon, err) < 0) {
        oneib_snapshot_age_changed(oneib_oned_snapshot_age(daemon->oned));
        oneib_daemon_answer_deferred(daemon, err);
        return -1;
    }
    find_places(daemon, &changed); /* of those, too, that were pinned just now */
    oneib_ports_plan_silent(daemon);
    /* Before a change or a repair: plan says what is to be done, verify what the ports held. */
    if (read)
        oneib_daemon_answer_deferred(daemon, NULL);
    /* A client of the control socket causes no reload before its time. */
    if (is_idle && daemon->schedule.retry_at >= 0)
        return 0;
    const int status = apply(daemon, read, event_ms, err);
    oneib_ports_plan_virtual(daemon);
    return status;
}

int oneib_turn_run(struct oneib_daemon *daemon, const struct oneib_due *due,
                   struct oneib_error *err)
{
    const double event_ms = daemon->schedule.event_ms;
    int lock;
    if (due->nodes)
        oneib_timer_cancel(&daemon->timers, ONEIB_TIMER_VIRTUAL_PORTS);
    oneib_node_grants_begin_turn(daemon->node_grants);
    if (oneib_sync_lock(oneib_config_state(&daemon->config), LOCK_PATIENCE_MS, &lock, err) < 0) {
        if (err->code != ONEIB_ERROR_TIMEOUT) /* at once: the events are left to the retry */
            oneib_poll_schedule_events_taken(&daemon->schedule);
        return -1;
    }
    oneib_poll_schedule_events_taken(&daemon->schedule);
    const int status = run(daemon, due, event_ms, err);
    oneib_sync_unlock(lock);
    oneib_oned_queue_hosts_later(daemon);
    return status;
}
