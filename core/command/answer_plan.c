// SPDX-License-Identifier: Apache-2.0
#include "command/answer.h"
#include "command/changes.h"
#include "command/places.h"
#include "sm/kind.h"
#include "sync/losses.h"
#include <string.h>

/* All that a plan says. */
struct plan {
    const struct oneib_command_request *request;
    const struct oneib_view *view;
    struct oneib_command_answer *answer;
    struct oneib_places places;
    const struct oneib_partition_table *table; /* what may be written */
    struct oneib_changes changes;              /* from the file in force to that table */
    size_t ports_to_reload;                    /* wrong on the fabric, which a reload mends */
    size_t left;                               /* members that oneibd is to add */
};

static const char *file_state_name(enum oneib_seen_state state)
{
    static const char *const names[] = {
        [ONEIB_SEEN_NOTHING] = "absent",
        [ONEIB_SEEN_OURS] = "ours",
        [ONEIB_SEEN_FOREIGN] = "foreign",
        [ONEIB_SEEN_UNREADABLE] = "unreadable",
    };
    return names[state];
}

/* It has no file that it could be made to read. */
static bool is_elsewhere(const struct plan *plan)
{
    return oneib_sm_traits(plan->view->config->sm.kind)->is_elsewhere;
}

static bool needs_force(const struct oneib_snapshot *snapshot)
{
    return snapshot->seen.state == ONEIB_SEEN_FOREIGN ||
           snapshot->seen.state == ONEIB_SEEN_UNREADABLE;
}

/* Keys that sync would write; none where another instance is the writer. */
static size_t keys_to_give(const struct plan *plan)
{
    const struct oneib_desired *desired = &plan->view->snapshot->desired;
    size_t count = 0;
    if (!plan->view->config->one.writer)
        return 0;
    for (size_t i = 0; i < desired->request_count; i++)
        count += desired->requests[i].pkey != 0;
    return count;
}

/* The ledger that sync would make again; NULL: it makes none. */
static const struct oneib_ledger *ledger_to_adopt(const struct plan *plan)
{
    const struct oneib_snapshot *snapshot = plan->view->snapshot;
    return plan->request->adopt && snapshot->ledger_lost ? &snapshot->adopted : NULL;
}

static bool has_something_to_do(const struct plan *plan)
{
    const struct oneib_snapshot *snapshot = plan->view->snapshot;
    return ledger_to_adopt(plan) || snapshot->changed || snapshot->desired.held_count > 0 ||
           keys_to_give(plan) > 0 || plan->ports_to_reload > 0;
}

/* Deviations come by port. */
static void count_wrong_ports(struct plan *plan)
{
    const struct oneib_snapshot *snapshot = plan->view->snapshot;
    oneib_autoverification struct oneib_verification verification = {0};
    oneib_guid last = 0;

    if (!snapshot->subnet_known || snapshot->changed)
        return;
    oneib_subnet_verify(&snapshot->subnet, plan->table, &verification);
    for (size_t i = 0; i < verification.count; i++) {
        const struct oneib_deviation *deviation = &verification.items[i];
        if (oneib_deviation_is_opensms(deviation->kind) && deviation->port_guid != last) {
            plan->ports_to_reload++;
            last = deviation->port_guid;
        }
    }
}

static void append_keys(const struct plan *plan, struct oneib_text *text)
{
    const struct oneib_snapshot *snapshot = plan->view->snapshot;
    const bool writes = plan->view->config->one.writer;
    for (size_t i = 0; i < snapshot->desired.request_count; i++) {
        const struct oneib_key_request *request = &snapshot->desired.requests[i];
        const struct oneib_network *network =
            oneib_cloud_network(&snapshot->cloud, request->network_id);
        if (request->pkey == 0)
            continue;
        oneib_autotext struct oneib_text line = {0};
        oneib_text_printf(&line, "* network %u ", request->network_id);
        oneib_append_quoted(&line, network ? network->name : "");
        if (writes)
            oneib_text_printf(&line, " gets P_Key 0x%04x, and its members with it", request->pkey);
        else
            oneib_text_append(&line, " waits for a P_Key: one.writer is false here");
        oneib_paint(text, plan->request->color_out, writes ? ONEIB_GOOD : ONEIB_CHANGED, "%s",
                    line.data ? line.data : "");
        oneib_text_append(text, "\n");
    }
}

static void append_adopted(const struct plan *plan, struct oneib_text *text)
{
    const struct oneib_ledger *ledger = ledger_to_adopt(plan);
    for (size_t i = 0; ledger && i < ledger->network_count; i++) {
        const struct oneib_ledger_network *entry = &ledger->networks[i];
        const struct oneib_network *network =
            oneib_cloud_network(&plan->view->snapshot->cloud, entry->network_id);
        oneib_text_printf(text, "= network %u ", entry->network_id);
        oneib_append_quoted(text, network ? network->name : "");
        oneib_text_printf(text, " has P_Key %s in the ledger\n",
                          oneib_pkey_shown(entry->pkey).text);
    }
    for (size_t i = 0; ledger && i < ledger->resting_count; i++)
        oneib_text_printf(text, "= P_Key %s is quarantined: a host may hold it\n",
                          oneib_pkey_shown(ledger->resting[i].pkey).text);
    if (plan->request->adopt && !ledger)
        oneib_text_append(text, "the ledger is complete: nothing to adopt\n");
}

/* Tabs as blanks, for escaped they would make the file unreadable. */
static void append_foreign_line(const char *line, size_t length, struct oneib_text *text)
{
    oneib_autotext struct oneib_text copy = {0};
    for (size_t i = 0; i < length; i++)
        oneib_text_append_bytes(&copy, line[i] == '\t' ? " " : &line[i], 1);
    if (copy.data)
        oneib_append_message(text, copy.data);
}

/* The whole of a file that is not ours, as it is: after a take-over it is gone. */
static void append_foreign_file(const struct plan *plan, struct oneib_text *text)
{
    const struct oneib_snapshot *snapshot = plan->view->snapshot;
    const char *line = snapshot->seen.data;
    const char *end = line + snapshot->seen.length;

    oneib_text_append(text, "the file as it is:\n");
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const size_t length = (size_t)((newline ? newline : end) - line);
        oneib_text_append(text, "  | ");
        append_foreign_line(line, length, text);
        oneib_text_append(text, "\n");
        line += length + 1;
    }
}

static void append_file(const struct plan *plan, struct oneib_text *text)
{
    const struct oneib_snapshot *snapshot = plan->view->snapshot;
    const char *path = oneib_sm_place(plan->view->sm);
    const bool color = plan->request->color_out;

    switch (snapshot->seen.state) {
    case ONEIB_SEEN_NOTHING:
        oneib_paint(text, color, ONEIB_GOOD, "+ %s  is absent and will be written", path);
        oneib_text_append(text, "\n");
        break;
    case ONEIB_SEEN_OURS:
        if (snapshot->changed) {
            oneib_paint(text, color, ONEIB_CHANGED, "~ %s  will be %s", path,
                        is_elsewhere(plan) ? "changed" : "replaced");
            oneib_text_append(text, "\n");
        }
        break;
    case ONEIB_SEEN_FOREIGN:
        oneib_paint(text, color, ONEIB_BAD,
                    is_elsewhere(plan)
                        ? "! %s  has P_Keys that oneib did not put there: only 'oneib sync "
                          "--force' takes them over"
                        : "! %s  was not written by oneib: only 'oneib sync --force' replaces it",
                    path);
        oneib_text_append(text, "\n");
        append_foreign_file(plan, text);
        break;
    case ONEIB_SEEN_UNREADABLE:
        oneib_paint(
            text, color, ONEIB_BAD,
            "! %s  cannot be parsed; where opensm cannot parse it either, every port is a full "
            "member: only 'oneib sync --force' replaces it",
            path);
        oneib_text_append(text, "\n  ");
        oneib_append_message(text, snapshot->seen.error.text);
        oneib_text_append(text, "\n");
        append_foreign_file(plan, text);
        break;
    }
}

static void append_held(const struct plan *plan, struct oneib_text *text)
{
    if (plan->view->snapshot->desired.held_count == 0)
        return;
    oneib_autotext struct oneib_text count = {0};
    oneib_append_count(&count, plan->view->snapshot->desired.held_count, "removal");
    oneib_paint(text, plan->request->color_out, ONEIB_CHANGED,
                "! %s held: OpenNebula's answers lack more than removal_hold.share; see them with "
                "'oneib plan --force', do them with 'oneib sync --force'",
                count.data ? count.data : "");
    oneib_text_append(text, "\n");
}

static void append_reload(const struct plan *plan, struct oneib_text *text)
{
    if (plan->ports_to_reload == 0)
        return;
    oneib_autotext struct oneib_text count = {0};
    oneib_append_count(&count, plan->ports_to_reload, "port");
    oneib_paint(text, plan->request->color_out, ONEIB_CHANGED,
                is_elsewhere(plan)
                    ? "~ fabric  %s not as in UFM: UFM is to correct it"
                    : "~ fabric  %s not as in the file: opensm is made to read it again",
                count.data ? count.data : "");
    oneib_text_append(text, "\n");
}

static void append_summary(const struct plan *plan, struct oneib_text *text)
{
    static const struct oneib_change_words words = {"to add", "to remove", "to change"};
    const size_t keys = keys_to_give(plan);
    oneib_autotext struct oneib_text phrases = {0};

    oneib_changes_append_summary(&plan->changes, &words, &phrases);
    if (keys) {
        oneib_append_comma(&phrases);
        oneib_append_count(&phrases, keys, "P_Key");
        oneib_text_append(&phrases, " to give");
    }
    if (plan->ports_to_reload) {
        oneib_append_comma(&phrases);
        oneib_append_count(&phrases, plan->ports_to_reload, "port");
        oneib_text_append(&phrases, " to put right");
    }
    if (phrases.length == 0 && plan->view->snapshot->changed)
        oneib_text_append(&phrases, "the file to rewrite");
    if (plan->view->snapshot->desired.held_count) {
        oneib_append_comma(&phrases);
        oneib_append_count(&phrases, plan->view->snapshot->desired.held_count, "removal");
        oneib_text_append(&phrases, " held");
    }
    oneib_text_printf(text, "plan: %s\n", phrases.length ? phrases.data : "nothing to do");
}

static void write_text(const struct plan *plan)
{
    struct oneib_text *text = &plan->answer->out;
    append_adopted(plan, text);
    append_keys(plan, text);
    oneib_changes_append(plan->request->color_out, &plan->places, &plan->changes, text);
    append_file(plan, text);
    append_reload(plan, text);
    append_held(plan, text);
    append_summary(plan, text);
    oneib_append_left(plan->view->has_daemon, plan->left, text);
    oneib_append_findings(&plan->answer->err, plan->request->color_err, plan->view->findings);
}

static json_t *requests_json(const struct plan *plan)
{
    const struct oneib_snapshot *snapshot = plan->view->snapshot;
    json_t *array = json_array();
    for (size_t i = 0; i < snapshot->desired.request_count; i++) {
        const struct oneib_key_request *request = &snapshot->desired.requests[i];
        const struct oneib_network *network =
            oneib_cloud_network(&snapshot->cloud, request->network_id);
        oneib_json_append(&array,
                          json_pack("{s:I, s:o, s:o}", "network", (json_int_t)request->network_id,
                                    "name", oneib_json_text(network ? network->name : NULL), "pkey",
                                    oneib_json_key(request->pkey)));
    }
    return array;
}

static json_t *adopted_json(const struct plan *plan)
{
    const struct oneib_ledger *ledger = ledger_to_adopt(plan);
    json_t *array = json_array();
    for (size_t i = 0; ledger && i < ledger->network_count; i++)
        oneib_json_append(&array, json_pack("{s:I, s:o}", "network",
                                            (json_int_t)ledger->networks[i].network_id, "pkey",
                                            oneib_json_key(ledger->networks[i].pkey)));
    for (size_t i = 0; ledger && i < ledger->resting_count; i++)
        oneib_json_append(&array, json_pack("{s:n, s:o}", "network", "pkey",
                                            oneib_json_key(ledger->resting[i].pkey)));
    return array;
}

static json_t *file_json(const struct plan *plan)
{
    const struct oneib_snapshot *snapshot = plan->view->snapshot;
    const bool unreadable = snapshot->seen.state == ONEIB_SEEN_UNREADABLE;
    return json_pack("{s:o, s:s, s:b, s:b, s:o, s:o}", "path",
                     oneib_json_text(oneib_sm_place(plan->view->sm)), "state",
                     file_state_name(snapshot->seen.state), "changed", (int)snapshot->changed,
                     "needs_force", (int)needs_force(snapshot), "error",
                     oneib_json_text(unreadable ? snapshot->seen.error.text : NULL), "content",
                     needs_force(snapshot) ? oneib_json_text(snapshot->seen.data) : json_null());
}

static int write_json(const struct plan *plan, struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = plan->view->snapshot;
    return oneib_json_render(
        json_pack(
            "{s:b, s:o, s:o, s:b, s:o, s:o, s:o, s:I, s:I, s:I, s:b, s:o}", "ledger_lost",
            (int)snapshot->ledger_lost, "adopted", adopted_json(plan), "keys", requests_json(plan),
            "allocates", (int)plan->view->config->one.writer, "changes",
            oneib_changes_json(&plan->places, &plan->changes), "file", file_json(plan), "fabric",
            oneib_fabric_json(snapshot), "held", (json_int_t)snapshot->desired.held_count, "left",
            (json_int_t)plan->left, "ports_to_reload", (json_int_t)plan->ports_to_reload, "to_do",
            (int)has_something_to_do(plan), "findings", oneib_json_findings(plan->view->findings)),
        &plan->answer->out, err);
}

static void make_plan(struct plan *plan)
{
    const struct oneib_snapshot *snapshot = plan->view->snapshot;
    oneib_places_make(snapshot, plan->view->config->site, plan->view->has_daemon, &plan->places);
    oneib_partitions_diff(&snapshot->seen.table, plan->table, &plan->changes);
    count_wrong_ports(plan);
}

int oneib_answer_plan(const struct oneib_command_request *request, struct oneib_view *view,
                      struct oneib_command_answer *answer, enum oneib_exit *outcome,
                      struct oneib_error *err)
{
    struct plan plan = {.request = request, .view = view, .answer = answer};
    int status = 0;
    if (view->may_be_written)
        plan.left = view->left;
    else
        oneib_snapshot_leave_to_daemon(view->sm, view->snapshot, &plan.left);
    plan.table = view->may_be_written ? view->may_be_written : &view->snapshot->desired.table;
    oneib_losses_note(view->config, view->snapshot, view->findings);
    make_plan(&plan);
    if (request->json)
        status = write_json(&plan, err);
    else
        write_text(&plan);
    if (request->exit_code && has_something_to_do(&plan))
        *outcome = ONEIB_EXIT_DIFFERENCE;
    oneib_changes_clear(&plan.changes);
    oneib_places_clear(&plan.places);
    return status;
}
