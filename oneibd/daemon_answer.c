// SPDX-License-Identifier: Apache-2.0
/* Answers the requests of the control socket from the daemon's state. */
#include "base/clock.h"
#include "base/memory.h"
#include "command/output.h"
#include "oneibd/daemon.h"
#include <locale.h>
#include <stdlib.h>
#include <unistd.h>

/* Requests answered before the main loop goes on. */
#define ANSWERS_AT_ONCE 4

/* Owns heard.nodes and findings; the rest is the daemon's. */
struct material {
    struct oneib_snapshot snapshot;
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

/* Borrows from the daemon, and changes nothing of it. */
static void collect(struct oneib_daemon *daemon, const struct oneib_command_request *request,
                    struct material *material)
{
    static const struct oneib_error nothing;
    *material = (struct material){.snapshot = daemon->snapshot};
    if (daemon->wanted_known)
        material->snapshot.desired.table = daemon->wanted;
    if (request->no_fabric) {
        material->snapshot.subnet_known = false;
        material->snapshot.subnet_error = nothing;
    }
    list_nodes(daemon, &material->heard);
    oneib_findings_copy(&daemon->snapshot.findings, 0, &material->findings);
    oneib_findings_copy(&daemon->snapshot.desired.findings, 0, &material->findings);
    oneib_findings_copy(oneib_node_grants_findings(daemon->node_grants), 0, &material->findings);
    oneib_findings_sort(&material->findings);
    material->view = (struct oneib_view){
        .config = &daemon->config,
        .sm = daemon->manager,
        .fabric = oneib_ports_fabric(daemon),
        .snapshot = &material->snapshot,
        .findings = &material->findings,
        .heard = &material->heard,
        .heard_error = &nothing,
        .has_daemon = true,
        .is_live = true,
        .leaves = oneib_host_updates_leaves(daemon->host_updates),
        .may_be_written = daemon->wanted_known ? &daemon->snapshot.desired.table : NULL,
    };
}

static void release(struct material *material)
{
    free(material->heard.nodes);
    oneib_findings_clear(&material->findings);
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

/* The command answers plan and verify by itself. */
static bool is_answered(enum oneib_question question)
{
    return question == ONEIB_ASK_LIST || question == ONEIB_ASK_SHOW || question == ONEIB_ASK_HOSTS;
}

static enum oneib_exit answer(struct oneib_daemon *daemon,
                              const struct oneib_control_request *request,
                              struct oneib_command_answer *answer, struct oneib_error *err)
{
    struct material material;
    if (request->partitions != oneib_control_partitions(&daemon->config)) {
        oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "oneibd keeps other partitions: %s",
                   oneib_config_state(&daemon->config));
        return ONEIB_EXIT_REFUSED;
    }
    if (!is_answered(request->request.question)) {
        oneib_fail(err, ONEIB_ERROR_PROTOCOL, "oneibd does not answer this: use --no-daemon");
        return ONEIB_EXIT_FAILURE;
    }
    if (!daemon->is_computed) {
        oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "oneibd has nothing to answer from: %s",
                   daemon->report.last_error);
        return ONEIB_EXIT_FAILURE;
    }
    collect(daemon, &request->request, &material);
    if (oneib_fabric_failed(&material.snapshot))
        oneib_append_note(&answer->err, "the fabric was not read: %s",
                          material.snapshot.subnet_error.text);
    const enum oneib_exit outcome =
        oneib_command_answer(&request->request, &material.view, answer, err);
    append_daemon(daemon, &request->request, &answer->end);
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

static void answer_one(struct oneib_daemon *daemon, const struct oneib_control_request *request,
                       uint64_t number)
{
    struct oneib_command_answer texts = {0};
    struct oneib_error failure = {0};
    locale_t before;
    const locale_t utf8 = enter_locale(&request->request, &before);
    const enum oneib_exit outcome = answer(daemon, request, &texts, &failure);
    leave_locale(utf8, before);
    if (outcome == ONEIB_EXIT_FAILURE)
        oneib_text_clear(&texts.out);
    oneib_control_answer(daemon->control, number, outcome, &texts, &failure);
    oneib_command_answer_clear(&texts);
}

void oneib_daemon_answer(struct oneib_daemon *daemon)
{
    struct oneib_control_request request;
    uint64_t number;
    for (unsigned i = 0; i < ANSWERS_AT_ONCE && oneib_daemon_can_answer(daemon) &&
                         oneib_control_take(daemon->control, &request, &number);
         i++)
        answer_one(daemon, &request, number);
}
