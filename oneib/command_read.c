// SPDX-License-Identifier: Apache-2.0
#include "oneib/command_read.h"
#include "base/clock.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include "sync/lock.h"
#include <stdio.h>

/* Often enough to be seen moving, seldom enough to cost nothing. */
#define PROGRESS_INTERVAL_MS 100

struct progress {
    double shown_ms;
    bool shown;
};

static void show_progress(size_t done, size_t total, void *context)
{
    struct progress *progress = context;
    const double now = oneib_now_ms();
    if (progress->shown && now - progress->shown_ms < PROGRESS_INTERVAL_MS)
        return;
    fprintf(stderr, "\rreading %zu/%zu VMs\033[K", done, total);
    progress->shown = true;
    progress->shown_ms = now;
}

static void erase_progress(const struct progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
}

/* What could not be opened is told like what could not be read. */
static int open_everything(struct oneib_session *session, enum oneib_read_fabric fabric,
                           struct oneib_error *fabric_error, struct oneib_error *err)
{
    if (oneib_session_open_one(session, err) < 0)
        return -1;
    if (fabric == ONEIB_FABRIC_LEFT_ALONE || oneib_session_open_fabric(session, fabric_error) == 0)
        return 0;
    if (fabric == ONEIB_FABRIC_IF_POSSIBLE)
        return 0;
    *err = *fabric_error;
    return -1;
}

/* A snapshot that needs the fabric and has none is no snapshot. */
static int judge_fabric(const struct oneib_run *run, enum oneib_read_fabric fabric,
                        const struct oneib_snapshot *snapshot, struct oneib_error *err)
{
    const bool may_leave_it = run->verb->options & ONEIB_TAKES(ONEIB_OPTION_NO_FABRIC);
    if (snapshot->subnet_known || fabric == ONEIB_FABRIC_LEFT_ALONE)
        return 0;
    if (fabric == ONEIB_FABRIC_NEEDED) {
        *err = snapshot->subnet_error;
        return -1;
    }
    oneib_print_note("the fabric was not read: %s%s", snapshot->subnet_error.text,
                     may_leave_it ? "; with --no-fabric it is not asked, and the exit status is 0"
                                  : "");
    return 0;
}

int oneib_snapshot_of(const struct oneib_run *run, struct oneib_session *session, bool force,
                      struct oneib_snapshot *snapshot, struct oneib_error *err)
{
    struct progress progress = {0};
    const struct oneib_snapshot_options options = {
        .force = force,
        .adopt = oneib_given(run, ONEIB_OPTION_ADOPT),
        .fabric = session->fabric != NULL,
        .progress = run->interactive ? show_progress : NULL,
        .progress_context = &progress,
    };
    const int status = oneib_snapshot_make(&session->config, session->sm, session->one,
                                           session->fabric, &options, snapshot, err);
    erase_progress(&progress);
    return status;
}

/* True also when this user may not read the lock. */
static bool has_daemon(const struct oneib_session *session)
{
    struct oneib_error ignored;
    int process = 0;
    return oneib_daemon_find(oneib_config_state(&session->config), &process, &ignored) < 0 ||
           process != 0;
}

static void set_view(struct oneib_reading *reading)
{
    reading->view = (struct oneib_view){
        .config = &reading->session.config,
        .sm = reading->session.sm,
        .fabric = reading->session.fabric,
        .snapshot = &reading->snapshot,
        .findings = &reading->findings,
        .heard = &reading->heard,
        .heard_error = &reading->heard_error,
        .has_daemon = has_daemon(&reading->session),
    };
}

/* Only a daemon hears nodes. */
static void hear(struct oneib_reading *reading)
{
    oneib_heard_clear(&reading->heard);
    reading->heard_error = (struct oneib_error){0};
    oneib_heard_read(oneib_config_state(&reading->session.config), &reading->heard,
                     &reading->heard_error);
}

/* A host that is not heard may have something else by now. */
static void take_reports(const struct oneib_heard *heard, struct oneib_snapshot *snapshot)
{
    for (size_t i = 0; i < heard->count; i++) {
        const struct oneib_heard_node *node = &heard->nodes[i];
        const struct oneib_host *host = oneib_cloud_host(&snapshot->cloud, node->host_id);
        if (host && oneib_node_is_heard(node->state))
            oneib_vports_report(&snapshot->vports, host, node->records, node->record_count);
    }
}

int oneib_read_virtual_ports(const struct oneib_session *session, const struct oneib_heard *heard,
                             struct oneib_snapshot *snapshot, struct oneib_error *err)
{
    if (!oneib_vports_are_wanted(&session->config))
        return 0;
    take_reports(heard, snapshot);
    return oneib_vports_read(&session->config, session->fabric, &snapshot->vports,
                             &snapshot->subnet, err);
}

static int collect_findings(struct oneib_reading *reading, struct oneib_error *err)
{
    hear(reading);
    if (reading->snapshot.subnet_known &&
        oneib_read_virtual_ports(&reading->session, &reading->heard, &reading->snapshot, err) < 0)
        return -1;
    oneib_findings_copy(&reading->snapshot.findings, 0, &reading->findings);
    oneib_findings_copy(&reading->snapshot.desired.findings, 0, &reading->findings);
    oneib_findings_copy(&reading->heard.findings, 0, &reading->findings);
    oneib_findings_sort(&reading->findings);
    set_view(reading);
    return 0;
}

static int look(const struct oneib_run *run, enum oneib_read_fabric fabric, bool force,
                struct oneib_reading *reading, struct oneib_error *err)
{
    struct oneib_error fabric_error = {0};
    if (open_everything(&reading->session, fabric, &fabric_error, err) < 0 ||
        oneib_snapshot_of(run, &reading->session, force, &reading->snapshot, err) < 0)
        return -1;
    if (!reading->session.fabric)
        reading->snapshot.subnet_error = fabric_error;
    if (judge_fabric(run, fabric, &reading->snapshot, err) < 0)
        return -1;
    return collect_findings(reading, err);
}

int oneib_read_configured(const struct oneib_run *run, enum oneib_read_fabric fabric, bool force,
                          struct oneib_reading *reading, struct oneib_error *err)
{
    if (oneib_given(run, ONEIB_OPTION_NO_FABRIC))
        fabric = ONEIB_FABRIC_LEFT_ALONE;
    return oneib_session_open_sm(&reading->session, err) < 0
               ? -1
               : look(run, fabric, force, reading, err);
}

int oneib_read_all(const struct oneib_run *run, enum oneib_read_fabric fabric, bool force,
                   struct oneib_reading *reading, struct oneib_error *err)
{
    *reading = (struct oneib_reading){0};
    if (oneib_session_configure(run, &reading->session, err) == 0 &&
        oneib_read_configured(run, fabric, force, reading, err) == 0)
        return 0;
    oneib_reading_clear(reading);
    return -1;
}

int oneib_read_to_write(const struct oneib_run *run, bool force, struct oneib_reading *reading,
                        struct oneib_error *err)
{
    *reading = (struct oneib_reading){0};
    if (oneib_session_begin(run, &reading->session, err) == 0 &&
        oneib_session_lock(&reading->session, err) == 0 &&
        look(run, ONEIB_FABRIC_NEEDED, force, reading, err) == 0)
        return 0;
    oneib_reading_clear(reading);
    return -1;
}

int oneib_read_again(const struct oneib_run *run, bool force, struct oneib_reading *reading,
                     struct oneib_error *err)
{
    oneib_findings_clear(&reading->findings);
    oneib_snapshot_clear(&reading->snapshot);
    if (oneib_snapshot_of(run, &reading->session, force, &reading->snapshot, err) < 0)
        return -1;
    return collect_findings(reading, err);
}

void oneib_reading_clear(struct oneib_reading *reading)
{
    oneib_fabric_checks_clear(&reading->checks);
    oneib_findings_clear(&reading->findings);
    oneib_heard_clear(&reading->heard);
    oneib_snapshot_clear(&reading->snapshot);
    oneib_session_end(&reading->session);
}
