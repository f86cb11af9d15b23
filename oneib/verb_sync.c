// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/text.h"
#include "cluster/member_events.h"
#include "command/changes.h"
#include "command/deviations.h"
#include "command/json.h"
#include "command/places.h"
#include "oneib/command_read.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include "sm/kind.h"
#include "sync/lock.h"
#include "sync/losses.h"
#include "sync/sync.h"
#include <math.h>
#include <unistd.h>

/* How long oneibd is waited for: it answers a signal at once, and may read all of oned first. */
#define KEY_PAUSE_MS 200
#define KEY_TRIES 25

/* What was done, for the report. */
struct work {
    const struct oneib_run *run;
    struct oneib_reading *reading;
    bool adopted;
    size_t entries_adopted;
    size_t keys_given, keys_waiting; /* by oneibd, meanwhile; not yet */
    bool has_daemon;                 /* one that gives them runs here */
    size_t left;                     /* members that oneibd is to add */
    struct oneib_places places;
    struct oneib_changes changes;
    bool written; /* the file was not as it should be */
    struct oneib_apply_result result;
    struct oneib_member_events members; /* whom it concerned */
};

/* ---- members, in the words of the daemon's log ----------------------------------------------- */

/* Those that the change brought, as snapshot->subnet, read behind it, bears them out. changes: from
 * the file that was in force to snapshot->desired.table. */
static void find_members_changed(const struct oneib_snapshot *snapshot,
                                 const struct oneib_changes *changes,
                                 struct oneib_member_events *news)
{
    oneib_auto(oneib_member_list_clear) struct oneib_member_list member_list;
    oneib_auto(oneib_member_events_clear) struct oneib_member_events leaving = {0};
    oneib_member_list_make(&snapshot->cloud, &snapshot->desired, &member_list);
    const struct oneib_member_events_input input = {
        .after = &member_list, .cloud = &snapshot->cloud, .changes = changes};
    const struct oneib_member_events_evidence evidence = {
        .subnet = &snapshot->subnet, .cloud = &snapshot->cloud, .desired = &snapshot->desired};
    oneib_member_events_make(&input, news);
    oneib_member_events_prove(&evidence, &member_list, &leaving, news);
}

/* A line for each of ONEIB_MEMBER_EVENT_LINES, and one that counts the rest. */
static void append_members(const struct oneib_cloud *cloud, const struct oneib_member_events *news,
                           struct oneib_text *text)
{
    oneib_autotext struct oneib_text rest = {0};
    for (size_t i = 0; i < news->count; i++) {
        if (!news->items[i].has_line)
            continue;
        oneib_member_events_append(cloud, &news->items[i], true, text);
        oneib_text_append(text, "\n");
    }
    oneib_member_events_append_rest(cloud, news, &rest);
    if (rest.length > 0)
        oneib_text_printf(text, "%s\n", rest.data);
}

static json_t *id_json(bool known, uint32_t id)
{
    return known && id != ONEIB_NO_ID ? json_integer(id) : json_null();
}

static json_t *member_json(const struct oneib_cloud *cloud, const struct oneib_member_event *item)
{
    const struct oneib_member_list_line *line = &item->line;
    const struct oneib_host *host = item->has_vm ? oneib_cloud_host(cloud, line->host_id) : NULL;
    oneib_autotext struct oneib_text reason = {0};
    oneib_member_events_append_reason(cloud, item, &reason);
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "change",
                     oneib_member_event_kind_name(item->kind), "network",
                     id_json(true, line->network_id), "partition",
                     oneib_json_text(item->has_vm ? NULL : item->partition), "pkey",
                     oneib_json_key(line->pkey), "membership",
                     oneib_membership_name((enum oneib_membership)line->membership), "vm",
                     id_json(item->has_vm, line->vm_id), "nic", id_json(item->has_vm, line->nic_id),
                     "host", oneib_json_text(host ? host->name : NULL), "port_guid",
                     oneib_json_known_guid(line->member), "reason", oneib_json_text(reason.data),
                     "proof", oneib_json_text(oneib_member_event_proof_name(item->proof)));
}

/* All of them: [{change, network, partition, pkey, membership, vm, nic, host, port_guid, reason,
 * proof}] */
static json_t *members_json(const struct oneib_cloud *cloud, const struct oneib_member_events *news)
{
    json_t *array = json_array();
    for (size_t i = 0; i < news->count; i++)
        oneib_json_append(&array, member_json(cloud, &news->items[i]));
    return array;
}

/* A lost ledger is there again from now on; who runs beside us reads it. */
static int adopt(struct work *work, bool force, struct oneib_error *err)
{
    struct oneib_reading *reading = work->reading;
    struct oneib_snapshot *snapshot = &reading->snapshot;
    const struct oneib_config *config = &reading->session.config;
    int process;
    if (!config->one.writer)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "one.writer is false here: adopt where it is true");
    if (!snapshot->ledger_lost)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "the ledger is complete: nothing to adopt");
    if (oneib_ledger_overwrite(reading->session.one, &snapshot->kept, &snapshot->adopted, err) < 0)
        return -1;
    work->adopted = true;
    work->entries_adopted = snapshot->adopted.network_count + snapshot->adopted.resting_count;
    if (oneib_daemon_call(oneib_config_state(config), &process, err) < 0)
        return -1;
    return oneib_read_again(work->run, force, reading, err);
}

static size_t keys_to_give(const struct oneib_snapshot *snapshot)
{
    size_t count = 0;
    for (size_t i = 0; i < snapshot->desired.request_count; i++)
        count += snapshot->desired.requests[i].pkey != 0;
    return count;
}

/* oneibd alone gives keys. What it does it does while nobody else has the lock. */
static int wait_for_daemon(struct work *work, bool force, struct oneib_error *err)
{
    struct oneib_session *session = &work->reading->session;
    for (unsigned tries = 0; tries < KEY_TRIES && oneib_keys_are_due(&work->reading->snapshot);
         tries++) {
        oneib_session_unlock(session);
        usleep(KEY_PAUSE_MS * 1000);
        if (oneib_session_lock(session, err) < 0 ||
            oneib_read_again(work->run, force, work->reading, err) < 0)
            return -1;
    }
    return 0;
}

static int have_keys_given(struct work *work, bool force, struct oneib_error *err)
{
    const struct oneib_config *config = &work->reading->session.config;
    const struct oneib_snapshot *snapshot = &work->reading->snapshot;
    int process = 0;
    const size_t before = keys_to_give(snapshot);
    if (!oneib_keys_are_due(snapshot) || oneib_apply_refuses(snapshot, force))
        return 0;
    if (config->one.writer && (oneib_daemon_call(oneib_config_state(config), &process, err) < 0 ||
                               (process != 0 && wait_for_daemon(work, force, err) < 0)))
        return -1;
    work->keys_waiting = keys_to_give(snapshot);
    work->keys_given = before > work->keys_waiting ? before - work->keys_waiting : 0;
    work->has_daemon = process != 0;
    return 0;
}

static int apply(struct work *work, bool force, struct oneib_error *err)
{
    struct oneib_reading *reading = work->reading;
    struct oneib_snapshot *snapshot = &reading->snapshot;

    work->written = snapshot->changed;
    oneib_places_make(snapshot, reading->session.config.site, reading->view.has_daemon,
                      &work->places);
    oneib_partitions_diff(&snapshot->seen.table, &snapshot->desired.table, &work->changes);
    const struct oneib_apply_options options = {.force = force, .subnet_is_new = true};
    if (oneib_apply(&reading->session.config, reading->session.sm, reading->session.fabric,
                    snapshot, &options, &work->result, err) < 0)
        return work->result.written ? oneib_wrap(err,
                                                 "%s is written, and whether the fabric follows it "
                                                 "is not known",
                                                 oneib_sm_place(reading->session.sm))
                                    : -1;
    find_members_changed(snapshot, &work->changes, &work->members);
    return 0;
}

/* It would look soon by itself. */
static int have_the_rest_done(const struct work *work, struct oneib_error *err)
{
    int process;
    return work->left > 0 ? oneib_daemon_call(oneib_config_state(&work->reading->session.config),
                                              &process, err)
                          : 0;
}

static void append_file(const struct work *work, struct oneib_text *text)
{
    static const struct oneib_change_words words = {"added", "removed", "changed"};
    const struct oneib_session *session = &work->reading->session;
    const char *path = oneib_sm_place(session->sm);
    const bool is_elsewhere = oneib_sm_traits(session->config.sm.kind)->is_elsewhere;
    if (!work->written) {
        oneib_text_printf(text, "%s is as it should be%s\n", path,
                          is_elsewhere ? "" : "; opensm was made to read it again");
        return;
    }
    oneib_autotext struct oneib_text phrases = {0};
    oneib_changes_append_summary(&work->changes, &words, &phrases);
    oneib_text_printf(text, "%s %s: %s\n", path, is_elsewhere ? "changed" : "written",
                      phrases.length ? phrases.data : "the same partitions");
}

static void append_outcome(const struct work *work, struct oneib_text *text)
{
    const struct oneib_apply_result *result = &work->result;
    switch (result->outcome) {
    case ONEIB_UNCHANGED:
        oneib_text_append(text, "sync: nothing to do; ");
        oneib_append_count(text, result->verification.ports, "port");
        oneib_text_append(text, " verified\n");
        return;
    case ONEIB_APPLIED:
        append_file(work, text);
        oneib_text_printf(text, "in force after %.0f ms and ", result->in_force_ms);
        oneib_append_count(text, result->reloads, "reload");
        oneib_text_append(text, "\n");
        return;
    case ONEIB_STANDBY:
        append_file(work, text);
        oneib_text_append(text,
                          "the subnet manager of this port is standby: the fabric follows the "
                          "master's file\n");
        return;
    }
}

static void append_verification(const struct work *work, struct oneib_text *text)
{
    const struct oneib_verification *verification = &work->result.verification;
    oneib_deviations_append(work->run->color_out, &work->places, verification, 0, text);
    if (work->result.outcome == ONEIB_UNCHANGED && verification->count == 0)
        return;
    oneib_text_append(text, "sync: ");
    oneib_verification_append(verification, text);
    oneib_text_append(text, "\n");
}

static void append_keys(const struct work *work, struct oneib_text *text)
{
    if (work->adopted) {
        oneib_text_append(text, "the ledger has ");
        oneib_append_count(text, work->entries_adopted, "P_Key");
        oneib_text_append(text, " again\n");
    }
    if (work->keys_given > 0) {
        oneib_append_count(text, work->keys_given, "network");
        oneib_text_append(text, " given a P_Key by oneibd\n");
    }
    if (work->keys_waiting > 0) {
        oneib_append_count(text, work->keys_waiting, "network");
        oneib_text_printf(text, " without %s%s\n",
                          work->keys_waiting == 1 ? "its P_Key: oneibd gives it"
                                                  : "their P_Keys: oneibd gives them",
                          work->has_daemon ? ", and has not yet"
                                           : ", and none that does runs here");
    }
}

static int print_text(const struct work *work, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    append_keys(work, &text);
    append_members(&work->reading->snapshot.cloud, &work->members, &text);
    append_outcome(work, &text);
    oneib_append_left(work->reading->view.has_daemon, work->left, &text);
    if (work->reading->snapshot.desired.held_count > 0) {
        oneib_append_count(&text, work->reading->snapshot.desired.held_count, "removal");
        oneib_text_append(&text, " held: see 'oneib plan --force', then 'oneib sync --force'\n");
    }
    append_verification(work, &text);
    return oneib_write_out(&text, err);
}

static const char *outcome_name(enum oneib_outcome outcome)
{
    static const char *const names[] = {
        [ONEIB_UNCHANGED] = "unchanged",
        [ONEIB_APPLIED] = "applied",
        [ONEIB_STANDBY] = "standby",
    };
    return names[outcome];
}

/* Microseconds are enough, and all that a clock is good for here. */
static json_t *milliseconds_json(double milliseconds)
{
    return json_real(round(milliseconds * 1e3) / 1e3);
}

static int print_json(const struct work *work, struct oneib_error *err)
{
    const struct oneib_apply_result *result = &work->result;
    const struct oneib_session *session = &work->reading->session;
    return oneib_json_write(
        json_pack("{s:s, s:b, s:b, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:b, s:o, s:o, s:o, s:o}",
                  "outcome", outcome_name(result->outcome), "written",
                  (int)(work->written && result->outcome != ONEIB_UNCHANGED), "adopted",
                  (int)work->adopted, "keys_given", (json_int_t)work->keys_given, "keys_waiting",
                  (json_int_t)work->keys_waiting, "reloads", (json_int_t)result->reloads,
                  "mads_sent", (json_int_t)oneib_fabric_mads_sent(session->fabric), "in_force_ms",
                  result->outcome == ONEIB_APPLIED ? milliseconds_json(result->in_force_ms)
                                                   : json_null(),
                  "held", (json_int_t)work->reading->snapshot.desired.held_count, "left",
                  (json_int_t)work->left, "in_force",
                  (int)!oneib_deviates(&work->reading->view, &work->result.verification), "changes",
                  oneib_changes_json(&work->places, &work->changes), "members",
                  members_json(&work->reading->snapshot.cloud, &work->members), "verification",
                  oneib_verification_json(&work->places, &result->verification), "findings",
                  oneib_json_findings(&work->reading->findings)),
        err);
}

static int do_it(struct work *work, bool force, struct oneib_error *err)
{
    if ((oneib_given(work->run, ONEIB_OPTION_ADOPT) && adopt(work, force, err) < 0) ||
        have_keys_given(work, force, err) < 0)
        return -1;
    struct oneib_reading *reading = work->reading;
    oneib_snapshot_leave_to_daemon(reading->session.sm, &reading->snapshot, &work->left);
    oneib_losses_note(&reading->session.config, &reading->snapshot, &reading->findings);
    /* Before applying: a failure of that is easier to understand with them. */
    if (!work->run->json)
        oneib_print_findings(work->run, &work->reading->findings);
    if (apply(work, force, err) < 0 || have_the_rest_done(work, err) < 0)
        return -1;
    return work->run->json ? print_json(work, err) : print_text(work, err);
}

static enum oneib_exit run_sync(const struct oneib_run *run, struct oneib_error *err)
{
    const bool force = oneib_given(run, ONEIB_OPTION_FORCE);
    oneib_autoreading struct oneib_reading reading;
    if (oneib_read_to_write(run, force, &reading, err) < 0)
        return ONEIB_EXIT_FAILURE;

    struct work work = {.run = run, .reading = &reading};
    enum oneib_exit status = ONEIB_EXIT_DONE;
    if (do_it(&work, force, err) < 0)
        status = ONEIB_EXIT_FAILURE;
    else if (oneib_deviates(&reading.view, &work.result.verification))
        status = ONEIB_EXIT_DIFFERENCE;
    oneib_apply_result_clear(&work.result);
    oneib_member_events_clear(&work.members);
    oneib_changes_clear(&work.changes);
    oneib_places_clear(&work.places);
    return status;
}

const struct oneib_verb oneib_verb_sync = {
    .name = "sync",
    .summary = "put the plan into force and verify it on the fabric",
    .help = "usage: oneib sync [--adopt] [--force] [--json]\n"
            "\n"
            "Has oneibd give P_Keys to networks without one, writes opensm's partitions,\n"
            "makes opensm read them, waits until the ports hold them and verifies every port.\n"
            "Exits 1 when the fabric is not as OpenNebula wants it.\n"
            "\n"
            "  --adopt  make a lost ledger of P_Keys again, from the partitions in force and\n"
            "           what hosts hold: see it with 'oneib plan --adopt' first\n"
            "  --force  replace a file that oneib did not write, and do held removals\n"
            "\n"
            "example:\n"
            "  $ oneib sync\n"
            "  sync: nothing to do; 38 ports verified\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_FORCE) | ONEIB_TAKES(ONEIB_OPTION_ADOPT),
    .run = run_sync,
};
