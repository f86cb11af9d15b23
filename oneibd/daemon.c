// SPDX-License-Identifier: Apache-2.0
#include "oneibd/daemon.h"
#include "base/clock.h"
#include "base/log.h"
#include "oneibd/signals.h"
#include "sync/lock.h"
#include <string.h>
#include <time.h>

/* Longest sleep: signs of life are due. */
#define LONGEST_SLEEP_MS 5000.0
/* While the subnet manager here is standby, how often it is asked whether it has become master. */
#define STANDBY_SLEEP_MS 1000.0

/* ---- opening and closing --------------------------------------------------------------------- */

static bool is_none(const char *setting)
{
    return strcmp(setting, "none") == 0;
}

static int open_one(struct oneib_daemon *daemon, struct oneib_error *err)
{
    if (oneib_credentials_find(&daemon->config, &daemon->credentials, err) < 0)
        return -1;
    daemon->one = oneib_one_open(&daemon->credentials, daemon->config.one.timeout_ms, err);
    if (!daemon->one)
        return -1;
    oneib_one_set_interrupt(daemon->one, oneib_signals_end_flag());
    return 0;
}

static bool same_file(const struct oneib_daemon *a, const struct oneib_daemon *b)
{
    return strcmp(oneib_config_state(&a->config), oneib_config_state(&b->config)) == 0;
}

static bool same_metrics(const struct oneib_daemon *a, const struct oneib_daemon *b)
{
    return strcmp(a->config.daemon.metrics, b->config.daemon.metrics) == 0;
}

/* A failure is logged alone: partitions do not depend on this socket. */
static void open_control(struct oneib_daemon *daemon)
{
    const struct oneib_control_options options = {.path = daemon->config.daemon.control,
                                                  .readers = daemon->config.daemon.readers,
                                                  ONEIB_CONTROL_BOUNDS};
    struct oneib_error failure;
    if (daemon->control || is_none(options.path))
        return;
    daemon->control = oneib_control_open(&options, &failure);
    if (!daemon->control)
        oneib_log(ONEIB_LOG_WARNING, "requests of oneib are not answered: %s", failure.text);
}

/* before: of the configuration before, which keeps for now what both have; NULL: none. */
static int open_everything(struct oneib_daemon *daemon, const struct oneib_daemon *before,
                           struct oneib_error *err)
{
    if (oneib_config_load(daemon->config_path, &daemon->config, err) < 0)
        return -1;
    daemon->manager = oneib_sm_open(&daemon->config, err);
    if (!daemon->manager)
        return -1;
    if (!(before && same_file(daemon, before)) &&
        oneib_daemon_lock(oneib_config_state(&daemon->config), &daemon->lock, err) < 0)
        return -1;
    if (open_one(daemon, err) < 0)
        return -1;
    daemon->oned = oneib_oned_open(&daemon->config, err);
    if (!daemon->oned)
        return -1;
    /* Now: it may take seconds. */
    daemon->registration = oneib_registration_new(&daemon->config);
    daemon->turn = oneib_turn_new();
    daemon->ports = oneib_ports_new();
    daemon->host_updates = oneib_host_updates_new();
    daemon->host_ports = oneib_host_ports_new();
    daemon->fencing = oneib_fencing_new();
    daemon->qos = oneib_qos_check_new();
    daemon->node_grants =
        oneib_node_grants_open(&daemon->config, before ? &before->config : NULL, err);
    if (!daemon->node_grants)
        return -1;
    if (is_none(daemon->config.daemon.metrics) || (before && same_metrics(daemon, before)))
        return 0;
    daemon->http = oneib_http_start(daemon->config.daemon.metrics, err);
    return daemon->http ? 0 : -1;
}

static void close_everything(struct oneib_daemon *daemon)
{
    oneib_http_stop(daemon->http);
    oneib_control_close(daemon->control);
    oneib_partition_table_clear(&daemon->wanted);
    oneib_node_grants_close(daemon->node_grants);
    oneib_oned_close(daemon->oned);
    oneib_turn_free(daemon->turn);
    oneib_ports_free(daemon->ports);
    oneib_sm_close(daemon->manager);
    oneib_one_close(daemon->one);
    oneib_credentials_clear(&daemon->credentials);
    oneib_snapshot_clear(&daemon->snapshot);
    oneib_host_updates_free(daemon->host_updates);
    oneib_registration_free(daemon->registration);
    oneib_host_ports_free(daemon->host_ports);
    oneib_fencing_free(daemon->fencing);
    oneib_qos_check_free(daemon->qos);
    oneib_metrics_clear(&daemon->metrics);
    oneib_report_clear(&daemon->report);
    oneib_audit_log_clear(&daemon->audit_log);
    if (daemon->lock >= 0)
        oneib_sync_unlock(daemon->lock);
    oneib_config_clear(&daemon->config);
}

static void begin(struct oneib_daemon *daemon)
{
    oneib_log_setup(daemon->config.log.level, daemon->config.log.format);
    oneib_poll_schedule_begin(&daemon->schedule, &daemon->config, oneib_now_ms());
    oneib_timers_begin(&daemon->timers);
    open_control(daemon);
}

int oneib_daemon_open(struct oneib_daemon *daemon, const char *config_path, struct oneib_error *err)
{
    *daemon = (struct oneib_daemon){.config_path = config_path, .lock = -1};
    if (open_everything(daemon, NULL, err) < 0) {
        close_everything(daemon);
        return -1;
    }
    begin(daemon);
    daemon->metrics.started = (double)time(NULL);
    oneib_notify_begin(&daemon->notify, daemon->config.one.timeout_ms);
    return 0;
}

void oneib_daemon_close(struct oneib_daemon *daemon)
{
    oneib_notify_stopping(&daemon->notify);
    close_everything(daemon);
}

/* ---- a new configuration --------------------------------------------------------------------- */

static void move_what_stays(struct oneib_daemon *from, struct oneib_daemon *to)
{
    if (to->lock < 0) {
        to->lock = from->lock;
        from->lock = -1;
        oneib_turn_keep_file(to->turn, from->turn);
    }
    if (!to->http && same_metrics(from, to)) {
        to->http = from->http;
        from->http = NULL;
    }
    if (from->control &&
        oneib_control_is(from->control, to->config.daemon.control, to->config.daemon.readers)) {
        to->control = from->control;
        from->control = NULL;
    }
    oneib_node_grants_take_over(to->node_grants, from->node_grants);
    oneib_oned_keep_counters(to->oned, from->oned);
    to->metrics = from->metrics;
    from->metrics = (struct oneib_metrics){0};
    to->report = from->report;
    from->report = (struct oneib_report){0};
    to->audit_log = from->audit_log;
    from->audit_log = (struct oneib_audit_log){0};
    oneib_fencing_keep_reclosed(to->fencing, from->fencing);
    to->notify = from->notify;
}

/* All of the new one must open before anything of the old one goes. */
static void reload(struct oneib_daemon *daemon)
{
    struct oneib_daemon fresh = {.config_path = daemon->config_path, .lock = -1};
    struct oneib_error err;
    oneib_notify_reloading(&daemon->notify);
    if (open_everything(&fresh, daemon, &err) < 0) {
        close_everything(&fresh);
        oneib_log(ONEIB_LOG_ERROR, "%s; the old configuration stays", err.text);
    } else {
        move_what_stays(daemon, &fresh);
        close_everything(daemon);
        *daemon = fresh;
        oneib_sm_follow(daemon->manager, &daemon->config);
        begin(daemon);
        oneib_notify_begin(&daemon->notify, daemon->config.one.timeout_ms);
        oneib_log(ONEIB_LOG_INFO, "the configuration was read again");
    }
    oneib_notify_ready(&daemon->notify);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void wait_for_input(struct oneib_daemon *daemon, double wait_ms)
{
    struct pollfd descriptors[4];
    size_t count = oneib_oned_descriptors(daemon->oned, descriptors);
    descriptors[count++] =
        (struct pollfd){.fd = oneib_node_server_fd(oneib_node_grants_server(daemon->node_grants)),
                        .events = POLLIN};
    if (oneib_daemon_can_answer(daemon))
        descriptors[count++] =
            (struct pollfd){.fd = oneib_control_fd(daemon->control), .events = POLLIN};
    oneib_signals_poll(descriptors, count, wait_ms);
}

static double time_to_sleep(struct oneib_daemon *daemon)
{
    const double longest =
        oneib_ports_may_become_master(daemon) ? STANDBY_SLEEP_MS : LONGEST_SLEEP_MS;
    const double now = oneib_now_ms();
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_TURN,
                    now + oneib_poll_schedule_wait(&daemon->schedule, now));
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_NODES,
                    now + oneib_node_grants_wait(daemon, longest));
    return oneib_timers_wait(&daemon->timers, now, longest);
}

static void note_success(struct oneib_daemon *daemon)
{
    if (daemon->report.last_error[0])
        oneib_log(ONEIB_LOG_INFO, "recovered from: %s", daemon->report.last_error);
    daemon->report.last_error[0] = '\0';
}

static void notify_status(struct oneib_daemon *daemon)
{
    const struct oneib_metrics *metrics = &daemon->metrics;
    oneib_notify_status(&daemon->notify, "%llu clusters, %llu members, %s",
                        (unsigned long long)metrics->clusters, (unsigned long long)metrics->members,
                        metrics->in_force ? "in force" : "not in force");
}

static void log_first_reading(const struct oneib_daemon *daemon)
{
    oneib_log(ONEIB_LOG_INFO, "watching %s: %zu InfiniBand networks, %zu hosts, %zu VMs",
              daemon->credentials.endpoint, oneib_cloud_count_infiniband(&daemon->snapshot.cloud),
              daemon->snapshot.cloud.host_count, daemon->snapshot.cloud.vm_count);
}

/* A retry does not help: an operator has to change oned's configuration first. A daemon that has read
 * oned once goes on, also after SIGHUP: the partitions stay. */
static bool must_not_run(const struct oneib_daemon *daemon, const struct oneib_error *err)
{
    return daemon->metrics.full_readings == 0 && err->code == ONEIB_ERROR_REFUSED;
}

static int run_turn(struct oneib_daemon *daemon, const struct oneib_due *due,
                    struct oneib_error *err)
{
    struct oneib_error failure = {0};
    const bool had_cloud = daemon->has_cloud;
    daemon->metrics.retries += due->retry;
    int status = oneib_turn_run(daemon, due, &failure);
    if (status < 0 && must_not_run(daemon, &failure)) {
        *err = failure;
        return -1;
    }
    if (daemon->has_cloud && !had_cloud)
        log_first_reading(daemon);
    if (status == 0)
        status = oneib_host_updates_write(daemon, &failure);
    if (status == 0)
        oneib_node_grants_write_key_serials(daemon);
    oneib_oned_mark_ledger(daemon);
    if (status == 0 && oneib_turn_is_settled(daemon)) {
        oneib_poll_schedule_succeeded(&daemon->schedule);
        note_success(daemon);
        notify_status(daemon);
    } else if (status < 0 && !oneib_signals_ending()) {
        oneib_daemon_complain(daemon, &failure);
        oneib_poll_schedule_failed(&daemon->schedule, oneib_now_ms());
    }
    oneib_daemon_publish(daemon);
    return 0;
}

/* Of hosts that were left for more urgent work, which is done now. */
static void write_remaining_hosts(struct oneib_daemon *daemon)
{
    struct oneib_error failure;
    if (oneib_host_updates_write(daemon, &failure) < 0) {
        oneib_daemon_complain(daemon, &failure);
        oneib_poll_schedule_failed(&daemon->schedule, oneib_now_ms());
    }
    oneib_daemon_publish(daemon);
}

static int step(struct oneib_daemon *daemon, struct oneib_error *err)
{
    oneib_daemon_alive(daemon);
    oneib_daemon_answer(daemon);
    oneib_oned_release_events(daemon);
    oneib_oned_receive_events(daemon);
    oneib_node_grants_receive(daemon);
    oneib_node_grants_send_role(daemon);
    oneib_oned_check_stream(daemon);
    if (oneib_ports_may_become_master(daemon))
        oneib_ports_watch_sm(daemon);

    oneib_fencing_keep_closed(daemon);
    struct oneib_due due = oneib_poll_schedule_due(&daemon->schedule, oneib_now_ms());
    due.nodes = oneib_node_grants_is_due(daemon);
    due.fences = oneib_fencing_is_due(daemon);
    due.places = oneib_host_ports_are_due(daemon);
    oneib_poll_schedule_put_off(&daemon->schedule, oneib_now_ms(), &due);
    if (oneib_poll_schedule_anything(&due)) {
        if (run_turn(daemon, &due, err) < 0)
            return -1;
        if (due.poll || due.verify || due.retry)
            oneib_ports_watch_sm(daemon);
        return 0;
    }
    oneib_node_grants_write_reports(daemon);
    oneib_qos_check_write_links(daemon);
    if (oneib_host_updates_remain(daemon->host_updates))
        write_remaining_hosts(daemon);
    else
        wait_for_input(daemon, time_to_sleep(daemon));
    return 0;
}

int oneib_daemon_run(struct oneib_daemon *daemon, struct oneib_error *err)
{
    oneib_oned_await_stream(daemon);
    bool ready = false;
    while (!oneib_signals_ending()) {
        /* One that came while they were blocked is delivered here. */
        oneib_signals_allow();
        oneib_signals_block();
        if (oneib_signals_take_reload())
            reload(daemon);
        if (step(daemon, err) < 0)
            return -1;
        if (!ready)
            oneib_notify_ready(&daemon->notify);
        ready = true;
    }
    return 0;
}
