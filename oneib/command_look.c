// SPDX-License-Identifier: Apache-2.0
#include "oneib/command_look.h"
#include "base/clock.h"
#include "oneib/options.h"
#include "oneib/output.h"
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
static int open_everything(struct oneib_session *session, enum oneib_look_fabric fabric,
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

/* A view that needs the fabric and has none is no view. */
static int judge_fabric(enum oneib_look_fabric fabric, const struct oneib_view *view,
                        struct oneib_error *err)
{
    if (view->subnet_known || fabric == ONEIB_FABRIC_LEFT_ALONE)
        return 0;
    if (fabric == ONEIB_FABRIC_NEEDED) {
        *err = view->subnet_error;
        return -1;
    }
    oneib_print_note("the fabric was not read: %s", view->subnet_error.text);
    return 0;
}

/* Only oned can be unreachable to a view: the fabric's absence is not an error of it. */
static void add_remedy(struct oneib_error *err)
{
    const struct oneib_error what = *err;
    if (what.code == ONEIB_ERROR_UNREACHABLE)
        oneib_fail(err, what.code, "%s; is oned running there, and is one.endpoint right?",
                   what.text);
}

int oneib_view_of(const struct oneib_run *run, struct oneib_session *session, bool force,
                  struct oneib_view *view, struct oneib_error *err)
{
    struct progress progress = {0};
    const struct oneib_view_options options = {
        .force = force,
        .adopt = oneib_given(run, ONEIB_OPTION_ADOPT),
        .fabric = session->fabric != NULL,
        .progress = run->interactive ? show_progress : NULL,
        .progress_context = &progress,
    };
    const int status = oneib_view_make(&session->config, session->sm, session->one, session->fabric,
                                       &options, view, err);
    erase_progress(&progress);
    if (status < 0)
        add_remedy(err);
    return status;
}

/* Only a daemon hears nodes. */
static void hear(struct oneib_looked *looked)
{
    oneib_heard_clear(&looked->heard);
    looked->heard_error = (struct oneib_error){0};
    oneib_heard_read(oneib_config_state(&looked->session.config), &looked->heard,
                     &looked->heard_error);
}

/* A host that is not heard may have something else by now. */
static int take_reports(const struct oneib_heard *heard, struct oneib_view *view,
                        struct oneib_error *err)
{
    for (size_t i = 0; i < heard->count; i++) {
        const struct oneib_heard_node *node = &heard->nodes[i];
        const struct oneib_host *host = oneib_cloud_host(&view->cloud, node->host_id);
        if (host && oneib_node_is_heard(node->state) &&
            oneib_vports_report(&view->vports, host, node->records, node->record_count, err) < 0)
            return -1;
    }
    return 0;
}

int oneib_look_at_virtual_ports(const struct oneib_session *session,
                                const struct oneib_heard *heard, struct oneib_view *view,
                                struct oneib_error *err)
{
    if (!oneib_vports_are_wanted(&session->config))
        return 0;
    return take_reports(heard, view, err) < 0
               ? -1
               : oneib_vports_read(&session->config, session->fabric, &view->vports, &view->subnet,
                                   err);
}

static int collect_findings(struct oneib_looked *looked, struct oneib_error *err)
{
    hear(looked);
    if ((looked->view.subnet_known &&
         oneib_look_at_virtual_ports(&looked->session, &looked->heard, &looked->view, err) < 0) ||
        oneib_findings_copy(&looked->view.findings, 0, &looked->findings, err) < 0 ||
        oneib_findings_copy(&looked->view.desired.findings, 0, &looked->findings, err) < 0 ||
        oneib_findings_copy(&looked->heard.findings, 0, &looked->findings, err) < 0)
        return -1;
    oneib_findings_sort(&looked->findings);
    return 0;
}

static int look(const struct oneib_run *run, enum oneib_look_fabric fabric, bool force,
                struct oneib_looked *looked, struct oneib_error *err)
{
    struct oneib_error fabric_error = {0};
    if (open_everything(&looked->session, fabric, &fabric_error, err) < 0 ||
        oneib_view_of(run, &looked->session, force, &looked->view, err) < 0)
        return -1;
    if (!looked->session.fabric)
        looked->view.subnet_error = fabric_error;
    if (judge_fabric(fabric, &looked->view, err) < 0)
        return -1;
    return collect_findings(looked, err);
}

int oneib_look_at_all(const struct oneib_run *run, enum oneib_look_fabric fabric, bool force,
                      struct oneib_looked *looked, struct oneib_error *err)
{
    *looked = (struct oneib_looked){0};
    if (oneib_given(run, ONEIB_OPTION_NO_FABRIC))
        fabric = ONEIB_FABRIC_LEFT_ALONE;
    if (oneib_session_begin(run, &looked->session, err) < 0)
        return -1;
    if (look(run, fabric, force, looked, err) < 0) {
        oneib_looked_clear(looked);
        return -1;
    }
    return 0;
}

int oneib_look_to_write(const struct oneib_run *run, bool force, struct oneib_looked *looked,
                        struct oneib_error *err)
{
    *looked = (struct oneib_looked){0};
    if (oneib_session_begin(run, &looked->session, err) < 0)
        return -1;
    if (oneib_session_lock(&looked->session, err) < 0 ||
        look(run, ONEIB_FABRIC_NEEDED, force, looked, err) < 0) {
        oneib_looked_clear(looked);
        return -1;
    }
    return 0;
}

int oneib_look_again(const struct oneib_run *run, bool force, struct oneib_looked *looked,
                     struct oneib_error *err)
{
    oneib_findings_clear(&looked->findings);
    oneib_view_clear(&looked->view);
    if (oneib_view_of(run, &looked->session, force, &looked->view, err) < 0)
        return -1;
    return collect_findings(looked, err);
}

bool oneib_deviates(const struct oneib_looked *looked,
                    const struct oneib_verification *verification)
{
    return verification->count > 0 || looked->view.held > 0 ||
           oneib_findings_count(&looked->findings, ONEIB_VIOLATION) > 0;
}

void oneib_looked_clear(struct oneib_looked *looked)
{
    oneib_findings_clear(&looked->findings);
    oneib_heard_clear(&looked->heard);
    oneib_view_clear(&looked->view);
    oneib_session_end(&looked->session);
}

json_t *oneib_fabric_json(const struct oneib_view *view)
{
    const bool failed = !view->subnet_known && view->subnet_error.code != ONEIB_ERROR_NONE;
    return json_pack("{s:b, s:o}", "known", (int)view->subnet_known, "error",
                     oneib_json_text(failed ? view->subnet_error.text : NULL));
}
