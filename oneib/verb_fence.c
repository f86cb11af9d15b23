// SPDX-License-Identifier: Apache-2.0
/*
 * A host that has failed, and one that is well again: what is to become of its ports is written
 * into the ledger, where the oneibd beside the master subnet manager reads it, and writes what it
 * saw (docs/design/fence.md). For OpenNebula's fence_host.sh: exit status 0 says that all
 * ports of the host are disabled, or not on the fabric.
 */
#include "base/clock.h"
#include "cluster/fence.h"
#include "cluster/names.h"
#include "command/json.h"
#include "oneib/host_pick.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include "sync/ledger_change.h"
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <time.h>

/* How long an answer is waited for: a change of the master subnet manager, and a poll; and a node
 * that gives back what a VM had that has just ended (core/vf/stale.c). */
#define PATIENCE_S 60
#define LIFT_PATIENCE_S 180
/* How long a port that only a probe names may still come to be the host's: a node that runs is heard
 * within 7.5 s (ONEIB_NODE_SILENT_MS), also by an oneibd that has just started. */
#define PROOF_PATIENCE_S 10
#define PAUSE_MS 250
#define NOTE_AFTER_MS 2000

struct work {
    const struct oneib_run *run;
    struct oneib_session session;
    struct oneib_host_pick pick;
    enum oneib_fence_wish wish;
    uint32_t asked; /* what the answers to us repeat */
    double asked_at;
};

static const struct oneib_ledger *ledger_of(const struct work *work)
{
    return &work->pick.kept.ledger;
}

static struct oneib_shown host_of(const struct work *work)
{
    return oneib_host_called(work->pick.host_id, work->pick.host ? work->pick.host->name : NULL);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

/* One that is there already keeps what is known of it. */
static int add_port(const struct work *work, oneib_guid guid, struct oneib_ledger *next,
                    struct oneib_error *err)
{
    const struct oneib_ledger_fenced_port port = {
        .host_id = work->pick.host_id, .guid = guid, .since = (int64_t)time(NULL)};
    return oneib_ledger_fenced_port(next, port.host_id, guid)
               ? 0
               : oneib_ledger_set_fenced_port(next, &port, err);
}

/* Those that are its own by the ledger: no VM there has a VF at another one. Of a host that has none
 * there, those that its probe names: oneibd says why it does not close them. */
static int add_ports(const struct work *work, struct oneib_ledger *next, struct oneib_error *err)
{
    const struct oneib_host *host = work->pick.host;
    const bool is_known = oneib_ledger_count_ports(next, work->pick.host_id) > 0;
    for (size_t i = 0; i < next->port_count; i++)
        if (next->ports[i].host_id == work->pick.host_id &&
            add_port(work, next->ports[i].guid, next, err) < 0)
            return -1;
    for (size_t i = 0; host && !is_known && i < host->port_count; i++)
        if (add_port(work, host->ports[i].port_guid, next, err) < 0)
            return -1;
    return 0;
}

static int ask_in(struct oneib_ledger *next, void *context, struct oneib_error *err)
{
    struct work *work = context;
    const struct oneib_ledger_fence *before = oneib_ledger_fence(next, work->pick.host_id);
    const struct oneib_ledger_fence fence = {
        .host_id = work->pick.host_id,
        .wish = work->wish,
        .asked = before ? before->asked + 1 : 1,
        .since = before ? before->since : (int64_t)time(NULL),
    };
    work->asked = fence.asked;
    oneib_ledger_set_fence(next, &fence);
    return work->wish == ONEIB_FENCE_CLOSED ? add_ports(work, next, err) : 0;
}

static int ask(struct work *work, struct oneib_error *err)
{
    bool written;
    if (oneib_ledger_change(work->session.one, work->session.config.one.acl_user, &work->pick.kept,
                            ask_in, work, &written, err) < 0)
        return -1;
    work->asked_at = oneib_now_ms();
    return 0;
}

/* ---- what is answered ------------------------------------------------------------------------ */

/* Whose node reports a port as its own has it closed at the next look. */
static bool is_final(const struct work *work, enum oneib_fence_state state)
{
    if (state == ONEIB_FENCE_UNPROVEN)
        return oneib_now_ms() >= work->asked_at + PROOF_PATIENCE_S * 1000.0;
    return oneib_fence_is_closed(state) || state == ONEIB_FENCE_SHARED ||
           state == ONEIB_FENCE_DOUBLED || state == ONEIB_FENCE_BARRED || state == ONEIB_FENCE_GONE;
}

/* Since we asked, or since somebody after us did. */
static bool was_looked_at(const struct work *work, const struct oneib_ledger_fenced_port *port)
{
    return (int32_t)(port->answer - work->asked) >= 0;
}

/* Whether all ports were looked at, with an outcome that waiting does not change. */
static bool is_answered(const struct work *work)
{
    const struct oneib_ledger *ledger = ledger_of(work);
    if (work->wish != ONEIB_FENCE_CLOSED)
        return !oneib_ledger_fence(ledger, work->pick.host_id);
    for (size_t i = 0; i < ledger->fenced_port_count; i++) {
        const struct oneib_ledger_fenced_port *port = &ledger->fenced_ports[i];
        if (port->host_id == work->pick.host_id &&
            (!was_looked_at(work, port) || !is_final(work, port->state)))
            return false;
    }
    return true;
}

/* Of a lift that was asked for: what it waits for; else "". */
static struct oneib_shown advice_of(const struct work *work)
{
    const struct oneib_ledger_fence *fence =
        oneib_ledger_fence(ledger_of(work), work->pick.host_id);
    return work->wish != ONEIB_FENCE_CLOSED && fence ? oneib_fence_advice(fence)
                                                     : (struct oneib_shown){""};
}

/* Once, when the answer takes longer than an oneibd that has nothing to wait for. */
static void note_waiting(const struct work *work, unsigned seconds)
{
    const struct oneib_shown advice = advice_of(work);
    if (advice.text[0])
        oneib_print_note("%s is still fenced: %s; waiting for %u s at most", host_of(work).text,
                         advice.text, seconds);
}

/* oned may be away for a moment, as everything can when hosts fail: then the next look tells. */
static int await_answer(struct work *work, struct oneib_error *err)
{
    const unsigned seconds = work->wish == ONEIB_FENCE_LIFT ? LIFT_PATIENCE_S : PATIENCE_S;
    const double begin = oneib_now_ms(), end = begin + seconds * 1000.0;
    bool is_noted = false;
    int outcome = 0;
    while (!is_answered(work) && oneib_now_ms() < end) {
        if (!is_noted && oneib_now_ms() > begin + NOTE_AFTER_MS) {
            note_waiting(work, seconds);
            is_noted = true;
        }
        poll(NULL, 0, PAUSE_MS);
        outcome = oneib_host_pick_read_ledger(&work->session, &work->pick, err);
    }
    return outcome;
}

static bool has_succeeded(const struct work *work)
{
    if (work->wish != ONEIB_FENCE_CLOSED)
        return !oneib_ledger_fence(ledger_of(work), work->pick.host_id);
    return is_answered(work) && oneib_fence_holds(ledger_of(work), work->pick.host_id);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static const char *state_shown(const struct work *work, const struct oneib_ledger_fenced_port *port)
{
    static const char *const shown[] = {
        [ONEIB_FENCE_ASKED] =
            ("not examined yet: does oneibd run beside the master subnet manager?"),
        [ONEIB_FENCE_DOWN] = "down",
        [ONEIB_FENCE_GONE] = ("NOT CLOSED, it is not on the fabric, and its switch port is unknown "
                              "(fence-port-gone)"),
        [ONEIB_FENCE_UP] = "UP, it cannot be disabled",
        [ONEIB_FENCE_SILENT] = "UNKNOWN, not all of the fabric answers",
        [ONEIB_FENCE_SHARED] = "NOT CLOSED, another host reports it too (fence-port-shared)",
        [ONEIB_FENCE_DOUBLED] = "NOT CLOSED, it is seen at two places (fence-port-doubled)",
        [ONEIB_FENCE_BARRED] = "NOT CLOSED, others depend on it (fence-port-barred)",
        [ONEIB_FENCE_UNPROVEN] = ("NOT CLOSED, only its probe names it, its oneib-node never has "
                                  "(fence-port-unproven)"),
    };
    const bool is_old = work->wish == ONEIB_FENCE_CLOSED && !was_looked_at(work, port);
    return shown[is_old ? ONEIB_FENCE_ASKED : port->state];
}

static void append_ports(const struct work *work, struct oneib_text *text)
{
    const struct oneib_ledger *ledger = ledger_of(work);
    for (size_t i = 0; i < ledger->fenced_port_count; i++) {
        const struct oneib_ledger_fenced_port *port = &ledger->fenced_ports[i];
        if (port->host_id != work->pick.host_id)
            continue;
        oneib_text_printf(text, "port 0x%016" PRIx64, port->guid);
        if (port->switch_guid)
            oneib_text_printf(text, " at port %u of switch 0x%016" PRIx64, port->switch_port,
                              port->switch_guid);
        oneib_text_printf(text, ": %s\n", state_shown(work, port));
    }
}

static const char *outcome_shown(const struct work *work)
{
    const bool succeeded = has_succeeded(work);
    if (work->wish == ONEIB_FENCE_CLOSED)
        return succeeded ? "is fenced: its ports are disabled. What runs there runs on: "
                           "this switches no power off."
                         : "is NOT fenced: do not start its VMs elsewhere.";
    return succeeded ? "is no longer fenced." : "is still fenced: ";
}

static json_t *json_ports(const struct work *work)
{
    const struct oneib_ledger *ledger = ledger_of(work);
    json_t *ports = json_array();
    for (size_t i = 0; i < ledger->fenced_port_count; i++) {
        const struct oneib_ledger_fenced_port *port = &ledger->fenced_ports[i];
        if (port->host_id == work->pick.host_id)
            oneib_json_append(&ports, json_pack("{s:o, s:o, s:i, s:s, s:b}", "port_guid",
                                                oneib_json_guid(port->guid), "switch",
                                                oneib_json_known_guid(port->switch_guid),
                                                "switch_port", (int)port->switch_port, "state",
                                                oneib_fence_state_name(port->state), "answered",
                                                was_looked_at(work, port)));
    }
    return ports;
}

static int print(const struct work *work, struct oneib_error *err)
{
    const bool is_fenced = oneib_ledger_fence(ledger_of(work), work->pick.host_id) != NULL;
    if (work->run->json)
        return oneib_json_write(json_pack("{s:I, s:b, s:b, s:o}", "host",
                                          (json_int_t)work->pick.host_id, "fenced", is_fenced,
                                          "closed", is_fenced && has_succeeded(work), "ports",
                                          json_ports(work)),
                                err);
    oneib_autotext struct oneib_text text = {0};
    append_ports(work, &text);
    oneib_text_printf(&text, "%s %s%s\n", host_of(work).text, outcome_shown(work),
                      advice_of(work).text);
    return oneib_write_out(&text, err);
}

static int print_nothing_to_do(const struct work *work, const char *why, struct oneib_error *err)
{
    if (work->run->json)
        return oneib_json_write(json_pack("{s:I, s:b, s:b, s:[]}", "host",
                                          (json_int_t)work->pick.host_id, "fenced", 0, "closed", 0,
                                          "ports"),
                                err);
    oneib_autotext struct oneib_text text = {0};
    oneib_text_printf(&text, "%s %s\n", host_of(work).text, why);
    return oneib_write_out(&text, err);
}

/* ---- the two verbs --------------------------------------------------------------------------- */

/* A cloud has hosts without InfiniBand, too. One that had it and does not say so any more is
 * another matter: nobody knows which ports are its own. */
static bool never_had_infiniband(const struct work *work)
{
    const struct oneib_host *host = work->pick.host;
    return host && host->port_count == 0 && !host->keys_written && !host->node_key[0] &&
           !oneib_ledger_host(ledger_of(work), host->id) &&
           !oneib_ledger_fence(ledger_of(work), host->id);
}

static int check_has_ports(const struct work *work, struct oneib_error *err)
{
    if ((work->pick.host && work->pick.host->port_count > 0) ||
        oneib_ledger_count_ports(ledger_of(work), work->pick.host_id) > 0 ||
        oneib_ledger_fence(ledger_of(work), work->pick.host_id))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "%s reports no port (IB_HCA), though it had InfiniBand: its ports are "
                      "unknown; pull its cables",
                      host_of(work).text);
}

static int open_host(struct work *work, struct oneib_error *err)
{
    if (oneib_session_open_one(&work->session, err) < 0 ||
        oneib_host_pick_read(&work->session, &work->pick, err) < 0)
        return -1;
    if (work->pick.kept.state == ONEIB_LEDGER_ABSENT)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "there is no ledger in OpenNebula: oneibd makes it when it runs for the "
                          "first time; one that was lost: oneib sync --adopt, beside the subnet "
                          "manager");
    return oneib_host_pick_find(&work->pick, work->run->words[0], err);
}

static int ask_and_tell(struct work *work, enum oneib_exit *exit_status, struct oneib_error *err)
{
    if (ask(work, err) < 0 || await_answer(work, err) < 0 || print(work, err) < 0)
        return -1;
    *exit_status = has_succeeded(work) ? ONEIB_EXIT_DONE : ONEIB_EXIT_DIFFERENCE;
    return 0;
}

static int fence(struct work *work, enum oneib_exit *exit_status, struct oneib_error *err)
{
    if (never_had_infiniband(work))
        return print_nothing_to_do(work, "has no InfiniBand: there is nothing to fence.", err);
    return check_has_ports(work, err) < 0 ? -1 : ask_and_tell(work, exit_status, err);
}

static int unfence(struct work *work, enum oneib_exit *exit_status, struct oneib_error *err)
{
    if (!oneib_ledger_fence(ledger_of(work), work->pick.host_id))
        return print_nothing_to_do(work, "is not fenced.", err);
    return ask_and_tell(work, exit_status, err);
}

static enum oneib_exit run_either(const struct oneib_run *run, enum oneib_fence_wish wish,
                                  struct oneib_error *err)
{
    enum oneib_exit exit_status = ONEIB_EXIT_DONE;
    struct work work = {.run = run, .wish = wish};
    if (oneib_session_begin(run, &work.session, err) < 0)
        return ONEIB_EXIT_FAILURE;
    int status = open_host(&work, err);
    if (status == 0)
        status = wish == ONEIB_FENCE_CLOSED ? fence(&work, &exit_status, err)
                                            : unfence(&work, &exit_status, err);
    oneib_host_pick_clear(&work.pick);
    oneib_session_end(&work.session);
    return status < 0 ? ONEIB_EXIT_FAILURE : exit_status;
}

static enum oneib_exit run_fence(const struct oneib_run *run, struct oneib_error *err)
{
    return run_either(run, ONEIB_FENCE_CLOSED, err);
}

static enum oneib_exit run_unfence(const struct oneib_run *run, struct oneib_error *err)
{
    return run_either(
        run, oneib_given(run, ONEIB_OPTION_FORCE) ? ONEIB_FENCE_FORCED : ONEIB_FENCE_LIFT, err);
}

const struct oneib_verb oneib_verb_fence = {
    .name = "fence",
    .summary = "cut a host that has failed off from the fabric",
    .help = "usage: oneib fence [--json] HOST\n"
            "\n"
            "Has every port of HOST's adapters disabled at the switch that it is linked to, and\n"
            "waits until that was read back. They stay disabled until 'oneib unfence'. For\n"
            "OpenNebula's fence_host.sh, on the front-end, as oneadmin.\n"
            "\n"
            "It switches no power off: what runs on HOST runs on, without InfiniBand.\n"
            "\n"
            "Exit status: 0 when all of them were seen to be disabled; 1 when one was not,\n"
            "which is said; 3 when it could not be asked.\n"
            "\n"
            "example:\n"
            "  $ oneib fence node3\n",
    .required = {"HOST"},
    .words_max = 1,
    .run = run_fence,
};

const struct oneib_verb oneib_verb_unfence = {
    .name = "unfence",
    .summary = "let a host that is well again back onto the fabric",
    .help = "usage: oneib unfence [--force] [--json] HOST\n"
            "\n"
            "Has HOST's ports enabled again, as soon as its oneib-node has reported that none of\n"
            "its functions is anybody's: VMs of before the failure are gone then.\n"
            "\n"
            "  --force  without that report: when you know that HOST is off, or installed anew\n"
            "\n"
            "Exit status: 0 when it is done; 1 when it has not come about within three minutes:\n"
            "it goes on by itself, and 'oneib unfence' may be said again.\n"
            "\n"
            "example:\n"
            "  $ oneib unfence node3\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_FORCE),
    .required = {"HOST"},
    .words_max = 1,
    .run = run_unfence,
};
