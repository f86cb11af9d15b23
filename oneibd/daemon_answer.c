// SPDX-License-Identifier: Apache-2.0
/* Answers the requests of the control socket from the daemon's state. */
#include "base/clock.h"
#include "base/memory.h"
#include "command/output.h"
#include "oneibd/daemon.h"
#include "sm/kind.h"
#include <locale.h>
#include <stdlib.h>
#include <unistd.h>

/* Requests answered before the main loop goes on. */
#define ANSWERS_AT_ONCE 4

/* Owns heard.nodes, findings, sm, and of a derived snapshot what follows from the readings; the rest is the
 * daemon's. */
struct material {
    struct oneib_snapshot snapshot;
    bool is_derived;
    struct oneib_sm *sm;
    struct oneib_heard heard;
    struct oneib_findings findings;
    struct oneib_view view;
};

void oneib_daemon_keep_wanted(struct oneib_daemon *daemon)
{
    struct oneib_partition_table *table = &daemon->snapshot.desired.table;
    oneib_partition_table_clear(&daemon->wanted);
    daemon->wanted = *table;
    *table = (struct oneib_partition_table){0};
    daemon->wanted_known = true;
}

bool oneib_daemon_can_answer(const struct oneib_daemon *daemon)
{
    return daemon->control && (daemon->is_computed || daemon->report.last_error[0]);
}

static void list_nodes(const struct oneib_daemon *daemon, struct oneib_heard *heard)
{
    const struct oneib_nodes *nodes = oneib_node_grants_nodes(daemon->node_grants);
    struct oneib_node_snapshot *said = oneib_nodes_list_reports(nodes, oneib_now_ms());
    heard->count = nodes->count;
    heard->nodes = oneib_alloc(heard->count + 1, sizeof *heard->nodes);
    for (size_t i = 0; i < heard->count; i++)
        heard->nodes[i] = (struct oneib_heard_node){
            .host_id = said[i].host_id,
            .state = said[i].state,
            .records = nodes->items[i].records,
            .record_count = said[i].record_count,
        };
    free(said);
}

/* Whether the daemon's own conclusions do not answer the request. */
static bool needs_derived(const struct oneib_daemon *daemon,
                          const struct oneib_command_request *request)
{
    return request->question == ONEIB_ASK_PLAN &&
           (request->force || request->adopt || !daemon->wanted_known);
}

/* Uses a handle of its own, since the daemon's notices changes of what is in force. */
static int derive(struct oneib_daemon *daemon, const struct oneib_command_request *request,
                  struct material *material, struct oneib_error *err)
{
    material->sm = oneib_sm_open(&daemon->config, err);
    material->is_derived =
        material->sm &&
        oneib_snapshot_derive(&daemon->config, material->sm, request->force, request->adopt,
                              &daemon->snapshot, &material->snapshot, err) == 0;
    return material->is_derived ? 0 : -1;
}

static void release(struct material *material)
{
    free(material->heard.nodes);
    oneib_findings_clear(&material->findings);
    if (material->is_derived)
        oneib_snapshot_release(&material->snapshot);
    oneib_sm_close(material->sm);
}

/* Borrows from the daemon, and changes nothing of it. To be released in any case. */
static int collect(struct oneib_daemon *daemon, const struct oneib_command_request *request,
                   struct material *material, struct oneib_error *err)
{
    static const struct oneib_error nothing;
    *material = (struct material){.snapshot = daemon->snapshot};
    if (needs_derived(daemon, request)) {
        if (derive(daemon, request, material, err) < 0)
            return -1;
    } else if (daemon->wanted_known) {
        material->snapshot.desired.table = daemon->wanted;
    }
    if (request->no_fabric) {
        material->snapshot.subnet_known = false;
        material->snapshot.subnet_error = nothing;
    }
    list_nodes(daemon, &material->heard);
    oneib_findings_copy(&material->snapshot.findings, 0, &material->findings);
    oneib_findings_copy(&material->snapshot.desired.findings, 0, &material->findings);
    oneib_findings_copy(oneib_node_grants_findings(daemon->node_grants), 0, &material->findings);
    oneib_findings_sort(&material->findings);
    material->view = (struct oneib_view){
        .config = &daemon->config,
        .sm = material->sm ? material->sm : daemon->manager,
        .fabric = oneib_ports_fabric(daemon),
        .snapshot = &material->snapshot,
        .findings = &material->findings,
        .heard = &material->heard,
        .heard_error = &nothing,
        .has_daemon = true,
        .is_live = true,
        .mads_before = oneib_ports_mads_before(daemon),
        .leaves = oneib_host_updates_leaves(daemon->host_updates),
        .may_be_written =
            daemon->wanted_known && !material->is_derived ? &daemon->snapshot.desired.table : NULL,
        .left = oneib_node_grants_withheld(daemon->node_grants),
    };
    return 0;
}

static double seconds_since(double then_ms)
{
    const double age = oneib_now_ms() - then_ms;
    return age > 0 ? age / 1000 : 0;
}

/* Names the daemon, and the age of its readings. */
static void append_daemon(const struct oneib_daemon *daemon,
                          const struct oneib_command_request *request, struct oneib_text *text)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_text_printf(&line, "answered by oneibd %d%s: oned read %.1f s ago", (int)getpid(),
                      oneib_ports_sm(daemon) == ONEIB_SM_STANDBY ? " (standby)" : "",
                      seconds_since(oneib_oned_snapshot_age(daemon->oned)->asked_ms));
    if (oneib_oned_is_away(daemon->oned))
        oneib_text_append(&line, " and not since");
    if (!request->no_fabric && daemon->snapshot.subnet_known)
        oneib_text_printf(&line, ", ports %.1f s ago", seconds_since(oneib_ports_read_ms(daemon)));
    oneib_append_note(text, "%s", line.data);
}

static enum oneib_exit answer(struct oneib_daemon *daemon,
                              const struct oneib_control_request *request,
                              struct oneib_fabric_checks *checks,
                              struct oneib_command_answer *answer, struct oneib_error *err)
{
    const bool plans = request->request.question == ONEIB_ASK_PLAN;
    enum oneib_exit outcome = ONEIB_EXIT_FAILURE;
    struct oneib_error failure;
    struct material material;
    if (request->partitions != oneib_control_partitions(&daemon->config)) {
        oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "oneibd keeps other partitions: %s",
                   oneib_config_state(&daemon->config));
        return ONEIB_EXIT_REFUSED;
    }
    /* plan fails with its own reason, or finds a way out of it (--adopt). */
    if (!daemon->is_computed && !(plans && daemon->has_cloud)) {
        oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "oneibd has nothing to answer from: %s",
                   daemon->report.last_error);
        return ONEIB_EXIT_FAILURE;
    }
    if (collect(daemon, &request->request, &material, &failure) < 0) {
        *err = failure;
    } else {
        material.view.checks = checks;
        if (oneib_fabric_failed(&material.snapshot))
            oneib_append_note(&answer->err, "the fabric was not read: %s",
                              material.snapshot.subnet_error.text);
        outcome = oneib_command_answer(&request->request, &material.view, answer, err);
        append_daemon(daemon, &request->request, &answer->end);
    }
    release(&material);
    return outcome;
}

/* Widths of columns are those of the client's terminal. */
static locale_t enter_locale(const struct oneib_command_request *request, locale_t *before)
{
    const locale_t utf8 = request->utf8 ? newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0) : NULL;
    *before = utf8 ? uselocale(utf8) : NULL;
    return utf8;
}

static void leave_locale(locale_t utf8, locale_t before)
{
    if (!utf8)
        return;
    uselocale(before);
    freelocale(utf8);
}

/* checks: for verify and links. */
static void answer_one(struct oneib_daemon *daemon, const struct oneib_control_request *request,
                       uint64_t number, struct oneib_fabric_checks *checks)
{
    struct oneib_command_answer texts = {0};
    struct oneib_error failure = {0};
    locale_t before;
    const locale_t utf8 = enter_locale(&request->request, &before);
    const enum oneib_exit outcome = answer(daemon, request, checks, &texts, &failure);
    leave_locale(utf8, before);
    if (outcome == ONEIB_EXIT_FAILURE)
        oneib_text_clear(&texts.out);
    oneib_control_answer(daemon->control, number, outcome, &texts, &failure);
    oneib_command_answer_clear(&texts);
}

/* plan and verify need a reading of the fabric that begins after their request. While a failure, such as a
 * file that oneib did not write, waits for its retry, plan is answered from the readings before it. A subnet
 * manager on another host is queried in turns alone. */
static bool needs_fresh_reading(const struct oneib_daemon *daemon,
                                const struct oneib_control_request *request)
{
    const bool plans_at_once = oneib_poll_schedule_is_failing(&daemon->schedule) &&
                               !oneib_sm_traits(daemon->config.sm.kind)->is_elsewhere;
    if (request->partitions != oneib_control_partitions(&daemon->config))
        return false;
    return oneib_question_needs_reading(request->request.question) &&
           !(request->request.question == ONEIB_ASK_PLAN && plans_at_once);
}

void oneib_daemon_answer(struct oneib_daemon *daemon)
{
    struct oneib_control_request request;
    uint64_t number;
    for (unsigned i = 0; i < ANSWERS_AT_ONCE && oneib_daemon_can_answer(daemon) &&
                         oneib_control_take(daemon->control, &request, &number);
         i++) {
        if (needs_fresh_reading(daemon, &request)) {
            oneib_control_defer(daemon->control, number);
            oneib_poll_schedule_ask(&daemon->schedule, oneib_now_ms());
        } else {
            answer_one(daemon, &request, number, NULL);
        }
    }
}

static void refuse(struct oneib_daemon *daemon, uint64_t number, const struct oneib_error *why)
{
    static const struct oneib_command_answer nothing;
    oneib_control_answer(daemon->control, number, ONEIB_EXIT_FAILURE, &nothing, why);
}

void oneib_daemon_refuse_deferred(struct oneib_daemon *daemon, const struct oneib_error *why)
{
    struct oneib_control_request request;
    uint64_t number;
    while (daemon->control && oneib_control_take_deferred(daemon->control, &request, &number))
        refuse(daemon, number, why);
    oneib_poll_schedule_answered(&daemon->schedule, oneib_now_ms(), 0);
}

/* What one turn reads for its answers, each question once; or why it could not. */
struct more {
    struct oneib_fabric_checks checks;
    bool is_read[ONEIB_QUESTIONS];
    struct oneib_error failures[ONEIB_QUESTIONS];
};

/* NULL: it was read. */
static const struct oneib_error *read_more(struct oneib_daemon *daemon,
                                           enum oneib_question question, struct more *more)
{
    struct oneib_error *failure = &more->failures[question];
    if (!more->is_read[question] &&
        oneib_fabric_checks_read(question, &daemon->config, daemon->manager,
                                 oneib_ports_fabric(daemon), &daemon->snapshot, &more->checks,
                                 failure) == 0)
        *failure = (struct oneib_error){0};
    more->is_read[question] = true;
    return failure->code != ONEIB_ERROR_NONE ? failure : NULL;
}

void oneib_daemon_answer_deferred(struct oneib_daemon *daemon, const struct oneib_error *unread)
{
    struct more more = {0};
    struct oneib_control_request request;
    uint64_t number;
    while (daemon->control && oneib_control_take_deferred(daemon->control, &request, &number)) {
        const enum oneib_question question = request.request.question;
        const struct oneib_error *why = unread;
        oneib_daemon_alive(daemon);
        if (!why)
            why = read_more(daemon, question, &more);
        if (why && question != ONEIB_ASK_PLAN)
            refuse(daemon, number, why);
        else
            answer_one(daemon, &request, number, &more.checks);
    }
    oneib_fabric_checks_clear(&more.checks);
    const double now = oneib_now_ms();
    oneib_poll_schedule_answered(&daemon->schedule, now,
                                 unread ? 0 : now - oneib_ports_read_ms(daemon));
}
