// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "sync/reassignment.h"
#include "sync/sync.h"
#include "sync/watch.h"
#include <inttypes.h>
#include <string.h>

/* opensm can sleep through a SIGHUP for up to ten seconds (between its check of the flag and a
 * sleep in its main loop), so a reload without effect is repeated, ever more slowly: a large subnet
 * takes its time. */
#define FIRST_PATIENCE_MS 250.0
#define LONGEST_PATIENCE_MS 10000.0

#define FIRST_PAUSE_MS 1.0
#define LONGEST_PAUSE_MS 5.0

/* What was wrong before is waited for as long as some port came right within this time. */
#define GRACE_MS 250.0

/* ---- what is put there ----------------------------------------------------------------------- */

bool oneib_apply_refuses(const struct oneib_snapshot *snapshot, bool force)
{
    return !force && (snapshot->seen.state == ONEIB_SEEN_FOREIGN ||
                      snapshot->seen.state == ONEIB_SEEN_UNREADABLE);
}

/* One step of putting into force, and what it has to work with. */
struct step {
    const struct oneib_config *config;
    struct oneib_sm *sm;
    struct oneib_fabric *fabric;
    struct oneib_snapshot *snapshot;
    const struct oneib_apply_options *options;
    struct oneib_apply_result *result;
};

/* What is there now is what was seen, for the steps that follow. */
static int put(const struct step *step, const struct oneib_partition_table *table,
               const struct oneib_text *rendered, struct oneib_error *err)
{
    struct oneib_snapshot *snapshot = step->snapshot;
    const struct oneib_sm_put what = {.wanted = table, .text = rendered};
    const int status = oneib_sm_put(step->sm, &what, &snapshot->seen, &step->result->reloads, err);
    step->result->written |= oneib_sm_is_put(step->sm, &snapshot->seen, &what);
    const struct oneib_sm_put meant = {.wanted = &snapshot->desired.table,
                                       .text = &snapshot->rendered};
    snapshot->changed = !oneib_sm_is_put(step->sm, &snapshot->seen, &meant);
    return status;
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct wait {
    double begin, deadline;
    double patience, next_reload;
    double pause;
    double progress; /* when the number of wrong ports last fell */
    double in_force; /* when no port that this change concerns was wrong any more; 0: not yet */
};

static struct wait begin_wait(const struct step *step, const struct oneib_watch *watch)
{
    const double now = oneib_now_ms();
    return (struct wait){
        .begin = now,
        .deadline = now + (double)step->config->opensm.apply_timeout_ms,
        .patience = FIRST_PATIENCE_MS,
        .next_reload = now + FIRST_PATIENCE_MS,
        .pause = FIRST_PAUSE_MS,
        .progress = now,
        .in_force = watch->caused == 0 ? now : 0,
    };
}

static bool has_to_go_on(const struct wait *wait, const struct oneib_watch *watch)
{
    const double now = oneib_now_ms();
    if (watch->count == 0 || now >= wait->deadline)
        return false;
    return watch->caused > 0 || now < wait->progress + GRACE_MS;
}

static bool gives_up(const struct step *step, const struct wait *wait)
{
    const struct oneib_apply_options *options = step->options;
    return options->give_up && options->give_up(options->context, oneib_now_ms() - wait->begin);
}

static int ask_some(const struct step *step, const struct oneib_partition_table *table,
                    struct wait *wait, struct oneib_watch *watch, struct oneib_error *err)
{
    size_t ports[ONEIB_PORTS_WATCHED];
    const size_t before = watch->count;
    const size_t asked = oneib_watch_next(watch, ports);
    if (oneib_fabric_read_tables(step->fabric, &step->snapshot->subnet, ports, asked, err) < 0)
        return -1;
    oneib_watch_read(&step->snapshot->subnet, table, watch);

    wait->pause = oneib_sooner(wait->pause * 1.2, LONGEST_PAUSE_MS);
    if (watch->count < before) {
        wait->pause = FIRST_PAUSE_MS;
        wait->progress = oneib_now_ms();
    }
    if (watch->caused == 0 && wait->in_force == 0)
        wait->in_force = oneib_now_ms();
    return 0;
}

static int reload_when_due(const struct step *step, const struct oneib_watch *watch,
                           struct wait *wait, struct oneib_error *err)
{
    if (watch->caused == 0 || oneib_now_ms() < wait->next_reload)
        return 0;
    wait->patience = oneib_sooner(wait->patience * 2, LONGEST_PATIENCE_MS);
    wait->next_reload = oneib_now_ms() + wait->patience;
    return oneib_sm_nudge(step->sm, &step->result->reloads, err);
}

/*
 * Waits until no port is wrong, until only those are that were wrong before and do not come right,
 * until the caller gives up, or until the time is over; *watch says which are. *in_force: when the
 * ports that this change concerns were right, or the end of waiting.
 */
static int await_ports(const struct step *step, const struct oneib_partition_table *table,
                       struct oneib_watch *watch, double *in_force, struct oneib_error *err)
{
    struct wait wait = begin_wait(step, watch);
    while (!step->result->gave_up && has_to_go_on(&wait, watch)) {
        oneib_sleep_ms(wait.pause);
        if (gives_up(step, &wait))
            step->result->gave_up = true;
        else if (ask_some(step, table, &wait, watch, err) < 0 ||
                 reload_when_due(step, watch, &wait, err) < 0)
            return -1;
    }
    *in_force = wait.in_force > 0 ? wait.in_force : oneib_now_ms();
    return 0;
}

static int read_fabric_again(const struct step *step, const char *purpose, struct oneib_error *err)
{
    struct oneib_subnet subnet = {0};
    if (oneib_vports_read_subnet(step->config, step->fabric, &step->snapshot->vports, &subnet,
                                 err) < 0)
        return oneib_wrap(err, "%s", purpose);
    oneib_subnet_clear(&step->snapshot->subnet);
    step->snapshot->subnet = subnet;
    return 0;
}

/* ---- keys that change hands ------------------------------------------------------------------ */

/* Writes `first`, which lacks the partitions whose keys change hands. */
static int write_first(const struct step *step, const struct oneib_partition_table *first,
                       struct oneib_error *err)
{
    oneib_autotext struct oneib_text rendered = {0};
    oneib_sm_render(step->sm, first, &rendered);
    return put(step, first, &rendered, err);
}

static int still_held(const struct step *step, const struct oneib_watch *watch,
                      struct oneib_error *err)
{
    const struct oneib_subnet_port *port = &step->snapshot->subnet.ports[watch->ports[0]];
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                      "taking away P_Keys that change hands%s: port 0x%016" PRIx64
                      " %s, so their new clusters stay "
                      "closed; see 'oneib verify'",
                      step->result->gave_up ? " was interrupted" : "", port->guid,
                      port->answered ? "still holds a P_Key that it must not" : "does not answer");
}

/*
 * Waits until the old ports lost their keys. The result is a new reading of the whole
 * fabric: a port that came meanwhile counts as well. One that has left it does not, for opensm
 * writes a port's table before it lets the port in.
 */
static int await_loss(const struct step *step, const struct oneib_partition_table *first,
                      struct oneib_watch *watch, struct oneib_error *err)
{
    double in_force;
    if (await_ports(step, first, watch, &in_force, err) < 0)
        return -1;
    if (step->result->gave_up)
        return still_held(step, watch, err);
    if (read_fabric_again(step, "looking whether P_Keys were taken away", err) < 0)
        return -1;
    oneib_watch_read(&step->snapshot->subnet, first, watch);
    return watch->count > 0 ? still_held(step, watch, err) : 0;
}

static int take_away(const struct step *step, const struct oneib_reassignment *reassignment,
                     struct oneib_error *err)
{
    oneib_auto(oneib_watch_clear) struct oneib_watch watch = {.keys = reassignment->keys};
    oneib_watch_read(&step->snapshot->subnet, &reassignment->first, &watch);
    return write_first(step, &reassignment->first, err) < 0
               ? -1
               : await_loss(step, &reassignment->first, &watch, err);
}

static int hand_over_keys(const struct step *step, struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = step->snapshot;
    oneib_auto(oneib_reassignment_clear) struct oneib_reassignment reassignment;
    oneib_reassignment_make(&snapshot->seen.table, &snapshot->desired.table, &snapshot->subnet,
                            &reassignment);
    return reassignment.left_out > 0 ? take_away(step, &reassignment, err) : 0;
}

/* ---- putting into force ---------------------------------------------------------------------- */

/*
 * What was wrong already by the file in force, and is wrong in the same way by the new one, does
 * not concern this change. Without a change, or without such a file, everything does.
 */
static void note_what_is_preexisting(const struct step *step, struct oneib_watch *watch)
{
    const struct oneib_snapshot *snapshot = step->snapshot;
    if (!snapshot->changed || !oneib_seen_has_table(&snapshot->seen))
        return;
    oneib_watch_owe(&snapshot->subnet, &snapshot->seen.table, watch);
}

/*
 * What comes before the write. Only where keys can change hands does that depend on what the ports
 * hold this very moment. Beside a standby it is the same: it may become master at any time, and
 * then its file is what counts.
 */
static int prepare(const struct step *step, struct oneib_watch *watch, struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = step->snapshot;
    bool reassignment = false;
    if (snapshot->changed)
        oneib_reassignment_possible(&snapshot->seen.table, &snapshot->desired.table, &reassignment);
    if (!reassignment) {
        note_what_is_preexisting(step, watch);
        return 0;
    }
    if (!step->options->subnet_is_new &&
        read_fabric_again(step, "looking whose P_Keys the ports hold", err) < 0)
        return -1;
    note_what_is_preexisting(step, watch);
    return hand_over_keys(step, err);
}

/* What is right in the file may still have to be brought to the ports. */
static int write_desired(const struct step *step, struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = step->snapshot;
    return snapshot->changed ? put(step, &snapshot->desired.table, &snapshot->rendered, err)
                             : oneib_sm_nudge(step->sm, &step->result->reloads, err);
}

static int await_change(const struct step *step, double start, struct oneib_watch *watch,
                        struct oneib_error *err)
{
    bool master;
    double in_force;
    if (oneib_sm_leads(step->sm, step->fabric, &master, err) < 0)
        return -1;
    step->result->outcome = master ? ONEIB_APPLIED : ONEIB_STANDBY;
    if (!master)
        return 0;
    if (await_ports(step, &step->snapshot->desired.table, watch, &in_force, err) < 0)
        return -1;
    step->result->late = watch->caused;
    step->result->in_force_ms = in_force - start;
    step->result->in_force_at_ms = in_force;
    return 0;
}

static int verify_everything(const struct step *step, struct oneib_error *err)
{
    if (read_fabric_again(step, "verifying the fabric after the reload", err) < 0)
        return -1;
    oneib_subnet_verify(&step->snapshot->subnet, &step->snapshot->desired.table,
                        &step->result->verification);
    return 0;
}

/* opensm is told as soon as the file is there: what can be asked afterwards is asked while it
 * works. */
static int put_into_force(const struct step *step, struct oneib_error *err)
{
    const double start = oneib_now_ms();
    oneib_auto(oneib_watch_clear) struct oneib_watch watch = {0};
    if (prepare(step, &watch, err) < 0)
        return -1;
    oneib_watch_read(&step->snapshot->subnet, &step->snapshot->desired.table, &watch);
    if (write_desired(step, err) < 0 || await_change(step, start, &watch, err) < 0)
        return -1;
    return verify_everything(step, err);
}

int oneib_apply(const struct oneib_config *config, struct oneib_sm *sm, struct oneib_fabric *fabric,
                struct oneib_snapshot *snapshot, const struct oneib_apply_options *options,
                struct oneib_apply_result *result, struct oneib_error *err)
{
    *result = (struct oneib_apply_result){0};
    if (!snapshot->subnet_known) {
        *err = snapshot->subnet_error;
        return oneib_wrap(err, "nothing is written while the fabric cannot be read");
    }
    if (oneib_apply_refuses(snapshot, options->force))
        return oneib_sm_refuse(sm, &snapshot->seen, err);

    oneib_subnet_verify(&snapshot->subnet, &snapshot->desired.table, &result->verification);
    int status = 0;
    if (!snapshot->changed && oneib_sm_is_told(sm) &&
        !oneib_verification_is_opensms(&result->verification)) {
        result->outcome = ONEIB_UNCHANGED;
    } else {
        oneib_verification_clear(&result->verification);
        const struct step step = {config, sm, fabric, snapshot, options, result};
        status = put_into_force(&step, err);
    }
    if (status < 0) {
        const bool written = result->written;
        oneib_apply_result_clear(result);
        result->written = written;
    }
    return status;
}

void oneib_apply_result_clear(struct oneib_apply_result *result)
{
    oneib_verification_clear(&result->verification);
    *result = (struct oneib_apply_result){0};
}
