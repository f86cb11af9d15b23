// SPDX-License-Identifier: Apache-2.0
#include "oneibd/daemon.h"
#include "base/clock.h"
#include "base/log.h"
#include "oneibd/signals.h"
#include "sync/lock.h"
#include <string.h>
#include <time.h>

/* The event stream is connected within milliseconds or not at all; waiting for it saves reading
 * everything twice at the start. */
#define CONNECT_PATIENCE_MS 500.0
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

static int open_events(struct oneib_daemon *daemon, struct oneib_error *err)
{
    if (is_none(daemon->config.one.events))
        return 0;
    daemon->events = oneib_events_open(daemon->config.one.events, err);
    return daemon->events ? 0 : -1;
}

static bool same_file(const struct oneib_daemon *a, const struct oneib_daemon *b)
{
    return strcmp(oneib_config_state(&a->config), oneib_config_state(&b->config)) == 0;
}

static bool same_metrics(const struct oneib_daemon *a, const struct oneib_daemon *b)
{
    return strcmp(a->config.daemon.metrics, b->config.daemon.metrics) == 0;
}

static bool same_post(const struct oneib_daemon *a, const struct oneib_daemon *b)
{
    return strcmp(a->config.daemon.grants, b->config.daemon.grants) == 0 &&
           strcmp(a->config.daemon.key, b->config.daemon.key) == 0;
}

static int open_post(struct oneib_daemon *daemon, struct oneib_error *err)
{
    daemon->post =
        oneib_node_server_open(daemon->config.daemon.grants, daemon->config.daemon.key, err);
    if (!daemon->post)
        return -1;
    daemon->nodes.instance = oneib_node_server_instance(daemon->post);
    return 0;
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

/* What `before` (NULL: nobody) has already is left to it, for now. */
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
    if (open_one(daemon, err) < 0 || open_events(daemon, err) < 0)
        return -1;
    /* Now: it may take seconds. */
    daemon->registration = oneib_registration_new(&daemon->config);
    daemon->host_ports = oneib_host_ports_new();
    daemon->fencing = oneib_fencing_new();
    daemon->qos = oneib_qos_check_new();
    if (!(before && same_post(daemon, before)) && open_post(daemon, err) < 0)
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
    oneib_node_server_close(daemon->post);
    oneib_nodes_clear(&daemon->nodes);
    oneib_identities_clear(&daemon->identities);
    oneib_ledger_clear(&daemon->pins);
    oneib_host_keys_clear(&daemon->host_keys);
    oneib_findings_clear(&daemon->grant_findings);
    oneib_unexpected_vfs_clear(&daemon->strays);
    oneib_daemon_forget_hosts(daemon);
    oneib_events_close(daemon->events);
    oneib_fabric_close(daemon->fabric);
    oneib_sm_close(daemon->manager);
    oneib_one_close(daemon->one);
    oneib_credentials_clear(&daemon->credentials);
    oneib_work_queue_clear(&daemon->queue);
    oneib_delayed_recheck_clear(&daemon->reread);
    oneib_event_rate_limit_clear(&daemon->rate_limit);
    oneib_snapshot_clear(&daemon->snapshot);
    oneib_findings_clear(&daemon->host_findings);
    oneib_registration_free(daemon->registration);
    oneib_host_ports_free(daemon->host_ports);
    oneib_fencing_free(daemon->fencing);
    oneib_qos_check_free(daemon->qos);
    oneib_id_set_clear(&daemon->hosts_later);
    oneib_id_set_clear(&daemon->hosts_failed);
    oneib_id_set_clear(&daemon->hosts_denied);
    oneib_metrics_clear(&daemon->metrics);
    oneib_report_clear(&daemon->report);
    oneib_audit_log_clear(&daemon->trail);
    oneib_leaves_clear(&daemon->leaves);
    if (daemon->lock >= 0)
        oneib_sync_unlock(daemon->lock);
    oneib_config_clear(&daemon->config);
}

static void begin(struct oneib_daemon *daemon)
{
    oneib_log_setup(daemon->config.log.level, daemon->config.log.format);
    oneib_poll_schedule_begin(&daemon->schedule, &daemon->config, oneib_now_ms());
    oneib_stream_health_begin(&daemon->stream_health);
    oneib_timers_begin(&daemon->timers);
    daemon->sm = ONEIB_SM_NONE;
    daemon->queue.everything = true;
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
        to->owns_file = from->owns_file;
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
    if (!to->post) {
        to->post = from->post;
        to->nodes = from->nodes;
        to->identities = from->identities;
        to->has_heard = from->has_heard;
        from->post = NULL;
        from->nodes = (struct oneib_nodes){0};
        from->identities = (struct oneib_identities){0};
    }
    to->pins = from->pins;
    from->pins = (struct oneib_ledger){0};
    to->host_keys = from->host_keys;
    from->host_keys = (struct oneib_host_keys){0};
    if (from->events) {
        const struct oneib_stream *stream = oneib_events_stream(from->events);
        to->events_before = from->events_before;
        to->events_before.messages += stream->messages;
        to->events_before.unreadable += stream->unreadable;
        to->events_before.gaps += stream->gaps;
    }
    to->metrics = from->metrics;
    from->metrics = (struct oneib_metrics){0};
    to->report = from->report;
    from->report = (struct oneib_report){0};
    to->trail = from->trail;
    from->trail = (struct oneib_audit_log){0};
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

/* ---- events ---------------------------------------------------------------------------------- */

static void note_event(struct oneib_daemon *daemon, double now, struct oneib_event event)
{
    if (!oneib_event_rate_limit_take(&daemon->rate_limit, now, event)) {
        daemon->metrics.events_delayed++;
        return;
    }
    oneib_event_note(&daemon->queue, event);
    oneib_delayed_recheck_note(&daemon->reread, now, event);
    oneib_poll_schedule_event(&daemon->schedule, now);
}

static void note_all(struct oneib_daemon *daemon, double now, enum oneib_event_kind kind,
                     const struct oneib_id_set *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        note_event(daemon, now, (struct oneib_event){.kind = kind, .id = ids->items[i]});
}

/* What was named too often to be looked at at once. */
static void note_what_waited(struct oneib_daemon *daemon)
{
    const double now = oneib_now_ms();
    struct oneib_work_queue released = {0};
    if (oneib_event_rate_limit_release(&daemon->rate_limit, now, &released)) {
        note_all(daemon, now, ONEIB_EVENT_VM, &released.vms);
        note_all(daemon, now, ONEIB_EVENT_NETWORK, &released.networks);
    }
    oneib_work_queue_clear(&released);
}

bool oneib_daemon_listen(struct oneib_daemon *daemon)
{
    struct oneib_event event;
    struct oneib_error failure;
    bool something = false;
    int outcome = 0;
    while (daemon->events && (outcome = oneib_events_next(daemon->events, &event, &failure)) > 0) {
        const double now = oneib_now_ms();
        if (event.kind == ONEIB_EVENT_DOCUMENT) {
            if (event.id != daemon->snapshot.kept.document_id)
                continue; /* whoever writes other documents asks nothing of us */
            daemon->ledger_is_due = true;
        }
        note_event(daemon, now, event);
        something = true;
    }
    if (outcome < 0) {
        oneib_daemon_complain(daemon, &failure);
        oneib_events_close(daemon->events);
        daemon->events = NULL;
        oneib_poll_schedule_distrust(&daemon->schedule, oneib_now_ms());
    }
    return something;
}

static void say_connection(struct oneib_daemon *daemon)
{
    const struct oneib_stream *stream = oneib_events_stream(daemon->events);
    if (stream->connected == daemon->was_connected && daemon->connection_said)
        return;
    daemon->connection_said = true;
    daemon->was_connected = stream->connected;
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

static void judge_stream(struct oneib_daemon *daemon)
{
    if (!daemon->events)
        return;
    say_connection(daemon);
    const double now = oneib_now_ms();
    switch (oneib_stream_health_judge(&daemon->stream_health, now,
                                      oneib_events_stream(daemon->events)->messages)) {
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
        daemon->queue.everything = true;
        oneib_poll_schedule_event(&daemon->schedule, now);
        return;
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void sleep_until(struct oneib_daemon *daemon, double wait_ms)
{
    struct pollfd descriptors[4];
    size_t count = 0;
    if (daemon->events) {
        int fds[2];
        oneib_events_descriptors(daemon->events, fds);
        for (; count < 2; count++)
            descriptors[count] = (struct pollfd){.fd = fds[count], .events = POLLIN};
    }
    descriptors[count++] =
        (struct pollfd){.fd = oneib_node_server_fd(daemon->post), .events = POLLIN};
    if (oneib_daemon_can_answer(daemon))
        descriptors[count++] =
            (struct pollfd){.fd = oneib_control_fd(daemon->control), .events = POLLIN};
    oneib_signals_poll(descriptors, count, wait_ms);
}

static bool may_become_master(const struct oneib_daemon *daemon)
{
    return daemon->sm == ONEIB_SM_STANDBY || daemon->sm == ONEIB_SM_DISCOVERING ||
           daemon->sm == ONEIB_SM_NOT_ACTIVE;
}

static double longest_sleep(const struct oneib_daemon *daemon)
{
    const double longest = may_become_master(daemon) ? STANDBY_SLEEP_MS : LONGEST_SLEEP_MS;
    const double now = oneib_now_ms();
    const double wait = oneib_event_rate_limit_wait(
        &daemon->rate_limit, now,
        oneib_delayed_recheck_wait(&daemon->reread, now,
                                   oneib_poll_schedule_wait(&daemon->schedule, now)));
    return oneib_timers_wait(&daemon->timers, now,
                             oneib_daemon_grants_wait(daemon, oneib_sooner(wait, longest)));
}

static void await_stream(struct oneib_daemon *daemon)
{
    const double end = oneib_now_ms() + CONNECT_PATIENCE_MS;
    if (!daemon->events)
        return;
    oneib_daemon_listen(daemon);
    while (!oneib_events_stream(daemon->events)->connected && oneib_now_ms() < end &&
           !oneib_signals_waiting()) {
        sleep_until(daemon, end - oneib_now_ms());
        oneib_daemon_listen(daemon);
    }
}

static void works_again(struct oneib_daemon *daemon)
{
    if (daemon->report.last_error[0])
        oneib_log(ONEIB_LOG_INFO, "recovered from: %s", daemon->report.last_error);
    daemon->report.last_error[0] = '\0';
}

static void say_status(struct oneib_daemon *daemon)
{
    const struct oneib_metrics *metrics = &daemon->metrics;
    oneib_notify_status(&daemon->notify, "%llu clusters, %llu members, %s",
                        (unsigned long long)metrics->clusters, (unsigned long long)metrics->members,
                        metrics->in_force ? "in force" : "not in force");
}

static void say_watching(struct oneib_daemon *daemon)
{
    if (daemon->watching || !daemon->has_cloud)
        return;
    daemon->watching = true;
    oneib_log(ONEIB_LOG_INFO, "watching %s: %zu InfiniBand networks, %zu hosts, %zu VMs",
              daemon->credentials.endpoint, oneib_cloud_count_infiniband(&daemon->snapshot.cloud),
              daemon->snapshot.cloud.host_count, daemon->snapshot.cloud.vm_count);
}

/* What cannot be mended by trying again: an operator has to change oned's configuration first. One
 * that has worked goes on, also after SIGHUP: the partitions stay. */
static bool must_not_run(const struct oneib_daemon *daemon, const struct oneib_error *err)
{
    return daemon->metrics.full_readings == 0 && err->code == ONEIB_ERROR_REFUSED;
}

static int act(struct oneib_daemon *daemon, const struct oneib_due *due, struct oneib_error *err)
{
    struct oneib_error failure = {0};
    daemon->metrics.retries += due->retry;
    int status = oneib_daemon_reconcile(daemon, due, &failure);
    if (status < 0 && must_not_run(daemon, &failure)) {
        *err = failure;
        return -1;
    }
    say_watching(daemon);
    if (status == 0)
        status = oneib_daemon_tell_hosts(daemon, &failure);
    if (status == 0)
        oneib_daemon_note_key_serials(daemon);
    oneib_daemon_note_ledger(daemon);
    if (status == 0 && daemon->settled) {
        oneib_poll_schedule_succeeded(&daemon->schedule);
        works_again(daemon);
        say_status(daemon);
    } else if (status < 0 && !oneib_signals_ending()) {
        oneib_daemon_complain(daemon, &failure);
        oneib_poll_schedule_failed(&daemon->schedule, oneib_now_ms());
    }
    oneib_daemon_publish(daemon);
    return 0;
}

/* Hosts that had to wait for something else, which is done now. */
static void tell_hosts_that_wait(struct oneib_daemon *daemon)
{
    struct oneib_error failure;
    if (oneib_daemon_tell_hosts(daemon, &failure) < 0) {
        daemon->hosts_wait = false;
        oneib_daemon_complain(daemon, &failure);
        oneib_poll_schedule_failed(&daemon->schedule, oneib_now_ms());
    }
    oneib_daemon_publish(daemon);
}

static int step(struct oneib_daemon *daemon, struct oneib_error *err)
{
    oneib_daemon_alive(daemon);
    oneib_daemon_answer(daemon);
    note_what_waited(daemon);
    oneib_daemon_listen(daemon);
    oneib_daemon_hear(daemon);
    oneib_daemon_tell_role(daemon);
    if (oneib_delayed_recheck_take(&daemon->reread, oneib_now_ms(), &daemon->queue))
        oneib_poll_schedule_event(&daemon->schedule, oneib_now_ms());
    judge_stream(daemon);
    if (may_become_master(daemon))
        oneib_daemon_watch_sm(daemon);

    oneib_fencing_keep_closed(daemon);
    struct oneib_due due = oneib_poll_schedule_due(&daemon->schedule, oneib_now_ms());
    due.nodes = oneib_daemon_grants_due(daemon);
    due.fences = oneib_fencing_is_due(daemon);
    due.places = oneib_host_ports_are_due(daemon);
    oneib_poll_schedule_put_off(&daemon->schedule, oneib_now_ms(), &due);
    if (oneib_poll_schedule_anything(&due)) {
        if (act(daemon, &due, err) < 0)
            return -1;
        if (due.poll || due.verify || due.retry)
            oneib_daemon_watch_sm(daemon);
        return 0;
    }
    oneib_daemon_write_heard(daemon);
    oneib_qos_check_write_links(daemon);
    if (daemon->hosts_wait)
        tell_hosts_that_wait(daemon);
    else
        sleep_until(daemon, longest_sleep(daemon));
    return 0;
}

int oneib_daemon_run(struct oneib_daemon *daemon, struct oneib_error *err)
{
    await_stream(daemon);
    bool ready = false;
    while (!oneib_signals_ending()) {
        /* One that came while they were blocked is heard here. */
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
