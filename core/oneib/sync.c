// SPDX-License-Identifier: Apache-2.0
#include "oneib/changes.h"
#include "oneib/deviations.h"
#include "oneib/look.h"
#include "oneib/members.h"
#include "oneib/options.h"
#include "oneib/places.h"
#include <math.h>

/* What was done, for the report. */
struct work {
    const struct oneib_run *run;
    struct oneib_looked *looked;
    size_t keys_given;
    struct oneib_places places;
    struct oneib_changes changes;
    bool written; /* the file was not as it should be */
    struct oneib_apply_result result;
    struct oneib_news members; /* whom it concerned */
};

/*
 * Keys first: with them the desired state is another one. What could not be given a key is a
 * finding of the look before, so it is carried over.
 */
static int allocate(struct work *work, bool force, struct oneib_error *err)
{
    struct oneib_looked *looked = work->looked;
    struct oneib_view *view = &looked->view;
    if (!looked->session.config.one.writer || view->desired.request_count == 0 ||
        oneib_apply_refuses(view, force))
        return 0;

    struct oneib_findings refusals = {0};
    const size_t before = view->findings.count;
    int status =
        oneib_allocate(&looked->session.config, looked->session.one, view, &work->keys_given, err);
    if (status == 0)
        status = oneib_findings_copy(&view->findings, before, &refusals, err);
    if (status == 0 && work->keys_given > 0)
        status = oneib_look_again(work->run, force, looked, err);
    if (status == 0)
        status = oneib_findings_copy(&refusals, 0, &looked->findings, err);
    if (status == 0)
        oneib_findings_sort(&looked->findings);
    oneib_findings_clear(&refusals);
    return status;
}

static int apply(struct work *work, bool force, struct oneib_error *err)
{
    struct oneib_looked *looked = work->looked;
    struct oneib_view *view = &looked->view;

    work->written = view->changed;
    if (oneib_places_make(view, looked->session.config.site, &work->places, err) < 0 ||
        oneib_partitions_diff(&view->in_force, &view->desired.table, &work->changes, err) < 0)
        return -1;
    const struct oneib_apply_options options = {.force = force, .subnet_is_new = true};
    if (oneib_apply(&looked->session.config, looked->session.fabric, view, &options, &work->result,
                    err) < 0)
        return -1;
    return oneib_members_changed(view, &work->changes, &work->members, err);
}

static void append_file(const struct work *work, struct oneib_text *text)
{
    static const struct oneib_change_words words = {"added", "removed", "changed"};
    const char *path = work->looked->session.config.opensm.partitions;
    if (!work->written) {
        oneib_text_printf(text, "%s is as it should be; opensm was made to read it again\n", path);
        return;
    }
    oneib_autotext struct oneib_text phrases = {0};
    oneib_changes_append_summary(&work->changes, &words, &phrases);
    oneib_text_printf(text, "%s written: %s\n", path,
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
    oneib_deviations_append(work->run, &work->places, verification, 0, text);
    if (work->result.outcome == ONEIB_UNCHANGED && verification->count == 0)
        return;
    oneib_text_append(text, "sync: ");
    oneib_verification_append(verification, text);
    oneib_text_append(text, "\n");
}

static int print_text(const struct work *work, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    if (work->keys_given > 0) {
        oneib_append_count(&text, work->keys_given, "network");
        oneib_text_append(&text, " given a P_Key\n");
    }
    oneib_members_append(&work->looked->view.cloud, &work->members, &text);
    append_outcome(work, &text);
    if (work->looked->view.held > 0) {
        oneib_append_count(&text, work->looked->view.held, "removal");
        oneib_text_append(&text, " held: see 'oneib plan --force', then 'oneib sync --force'\n");
    }
    append_verification(work, &text);
    return oneib_write_out(&text, err);
}

static const char *outcome_name(enum oneib_outcome outcome)
{
    switch (outcome) {
    case ONEIB_UNCHANGED:
        return "unchanged";
    case ONEIB_APPLIED:
        return "applied";
    case ONEIB_STANDBY:
        return "standby";
    }
    return "unknown";
}

/* Microseconds are enough, and all that a clock is good for here. */
static json_t *milliseconds_json(double milliseconds)
{
    return json_real(round(milliseconds * 1e3) / 1e3);
}

static int print_json(const struct work *work, struct oneib_error *err)
{
    const struct oneib_apply_result *result = &work->result;
    const struct oneib_session *session = &work->looked->session;
    return oneib_json_write(
        json_pack("{s:s, s:b, s:I, s:I, s:I, s:o, s:I, s:b, s:o, s:o, s:o, s:o}", "outcome",
                  outcome_name(result->outcome), "written",
                  (int)(work->written && result->outcome != ONEIB_UNCHANGED), "keys_given",
                  (json_int_t)work->keys_given, "reloads", (json_int_t)result->reloads, "mads_sent",
                  (json_int_t)oneib_fabric_mads_sent(session->fabric), "in_force_ms",
                  result->outcome == ONEIB_APPLIED ? milliseconds_json(result->in_force_ms)
                                                   : json_null(),
                  "held", (json_int_t)work->looked->view.held, "in_force",
                  (int)!oneib_deviates(work->looked, &work->result.verification), "changes",
                  oneib_changes_json(&work->places, &work->changes), "members",
                  oneib_members_json(&work->looked->view.cloud, &work->members), "verification",
                  oneib_verification_json(&work->places, &result->verification), "findings",
                  oneib_json_findings(&work->looked->findings)),
        err);
}

static int do_it(struct work *work, bool force, struct oneib_error *err)
{
    if (allocate(work, force, err) < 0)
        return -1;
    /* Before applying: a failure of that is easier to understand with them. */
    if (!work->run->json)
        oneib_print_findings(work->run, &work->looked->findings);
    if (apply(work, force, err) < 0)
        return -1;
    return work->run->json ? print_json(work, err) : print_text(work, err);
}

static enum oneib_exit run_sync(const struct oneib_run *run, struct oneib_error *err)
{
    const bool force = oneib_given(run, ONEIB_OPTION_FORCE);
    struct oneib_looked looked;
    if (oneib_look_to_write(run, force, &looked, err) < 0)
        return ONEIB_EXIT_FAILURE;

    struct work work = {.run = run, .looked = &looked};
    enum oneib_exit status = ONEIB_EXIT_DONE;
    if (do_it(&work, force, err) < 0)
        status = ONEIB_EXIT_FAILURE;
    else if (oneib_deviates(&looked, &work.result.verification))
        status = ONEIB_EXIT_DIFFERENCE;
    oneib_apply_result_clear(&work.result);
    oneib_news_clear(&work.members);
    oneib_changes_clear(&work.changes);
    oneib_places_clear(&work.places);
    oneib_looked_clear(&looked);
    return status;
}

const struct oneib_verb oneib_verb_sync = {
    .name = "sync",
    .summary = "put the plan into force and verify it on the fabric",
    .help = "usage: oneib sync [--force] [--json]\n"
            "\n"
            "Gives P_Keys to networks without one, writes opensm's partitions, makes opensm\n"
            "read them, waits until the ports hold them and verifies every port. Exits 1 when\n"
            "the fabric is not as OpenNebula wants it.\n"
            "\n"
            "  --force  replace a file that oneib did not write, and do held removals\n"
            "\n"
            "example:\n"
            "  $ oneib sync\n"
            "  sync: nothing to do; 38 ports verified\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_FORCE),
    .run = run_sync,
};
