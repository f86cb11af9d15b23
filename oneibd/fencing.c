// SPDX-License-Identifier: Apache-2.0
#include "oneibd/fencing.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/fence.h"
#include "cluster/names.h"
#include "oneibd/daemon.h"
#include "sync/fences.h"
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* Between two readings of the ports of fenced hosts; and at least, where the ledger asks for one or
 * could not be written. */
#define INTERVAL_MS 2000.0
#define REQUEST_INTERVAL_MS 250.0
/* During a call of oned: between two checks whether that is due. */
#define DURING_CALL_MS 500

struct oneib_fencing {
    struct oneib_findings findings;   /* of ports that came up, when they were read last */
    struct oneib_ledger ledger;       /* with its fences, as it was read last; after a start as the
                                       daemon before has saved it (sync/fences.h) */
    bool is_ledger_loaded;            /* false: the saved one has not been looked for yet */
    struct oneib_fence_plan reclosed; /* ports that were disabled by it while oned was away: their
                                         fences may have been lifted meanwhile */
};

struct oneib_fencing *oneib_fencing_new(void)
{
    return oneib_alloc(1, sizeof(struct oneib_fencing));
}

void oneib_fencing_free(struct oneib_fencing *fencing)
{
    if (!fencing)
        return;
    oneib_findings_clear(&fencing->findings);
    oneib_ledger_clear(&fencing->ledger);
    oneib_fence_plan_clear(&fencing->reclosed);
    free(fencing);
}

void oneib_fencing_keep_reclosed(struct oneib_fencing *fencing, struct oneib_fencing *before)
{
    fencing->reclosed = before->reclosed;
    before->reclosed = (struct oneib_fence_plan){0};
}

void oneib_fencing_add_findings(const struct oneib_fencing *fencing,
                                struct oneib_findings *findings)
{
    oneib_findings_copy(&fencing->findings, 0, findings);
}

void oneib_fencing_clear_findings(struct oneib_fencing *fencing)
{
    oneib_findings_clear(&fencing->findings);
}

static const struct oneib_ledger *ledger_of(const struct oneib_daemon *daemon)
{
    return &daemon->snapshot.kept.ledger;
}

/* Beside the master subnet manager: two daemons would undo each other's work. */
static bool is_ours(const struct oneib_daemon *daemon)
{
    return oneib_ports_are_led_here(daemon) && ledger_of(daemon)->fence_count > 0;
}

/* It cannot be read now: the last reading counts. */
static bool is_ledger_away(const struct oneib_daemon *daemon)
{
    return oneib_oned_is_away(daemon->oned) || (daemon->has_cloud && daemon->snapshot.ledger_lost);
}

static bool is_requested(const struct oneib_ledger *ledger)
{
    for (size_t i = 0; i < ledger->fenced_port_count; i++) {
        const struct oneib_ledger_fence *fence =
            oneib_ledger_fence(ledger, ledger->fenced_ports[i].host_id);
        if (fence && fence->asked != ledger->fenced_ports[i].answer)
            return true;
    }
    return false;
}

static bool is_timer_due(const struct oneib_daemon *daemon, enum oneib_timer timer)
{
    return oneib_timer_is_due(&daemon->timers, timer, oneib_now_ms());
}

bool oneib_fencing_is_due(const struct oneib_daemon *daemon)
{
    return is_ours(daemon) && is_timer_due(daemon, ONEIB_TIMER_FENCES);
}

/* ---- reading the ports ----------------------------------------------------------------------- */

struct reading {
    struct oneib_fabric_links links;
    struct oneib_fence_plan plan;
    uint32_t *empty; /* hosts whose nodes hold no VF */
    size_t empty_count, empty_capacity;
};

static void clear_reading(struct reading *reading)
{
    oneib_fabric_links_clear(&reading->links);
    oneib_fence_plan_clear(&reading->plan);
    free(reading->empty);
}

static void list_empty(const struct oneib_daemon *daemon, const struct oneib_ledger *ledger,
                       struct reading *reading)
{
    for (size_t i = 0; i < ledger->fence_count; i++) {
        if (!oneib_node_grants_has_nothing(daemon->node_grants, &ledger->fences[i]))
            continue;
        ONEIB_APPEND(reading->empty, reading->empty_count, reading->empty_capacity,
                     ledger->fences[i].host_id);
    }
}

static int read_and_plan(const struct oneib_daemon *daemon, const struct oneib_ledger *ledger,
                         struct reading *reading, struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = &daemon->snapshot;
    list_empty(daemon, ledger, reading);
    if (oneib_fabric_read_links(oneib_ports_fabric(daemon), &snapshot->subnet, &reading->links,
                                err) < 0)
        return -1;
    const struct oneib_policy policy = oneib_daemon_port_policy(daemon);
    const struct oneib_fence_input input = {.cloud = &snapshot->cloud,
                                            .ledger = ledger,
                                            .policy = &policy,
                                            .static_partitions = &snapshot->static_partitions,
                                            .in_force = &snapshot->seen.table,
                                            .subnet = &snapshot->subnet,
                                            .own_port =
                                                oneib_fabric_port_guid(oneib_ports_fabric(daemon)),
                                            .links = reading->links.items,
                                            .link_count = reading->links.count,
                                            .links_are_missing = reading->links.unanswered > 0,
                                            .empty = reading->empty,
                                            .empty_count = reading->empty_count};
    oneib_fence_plan(&input, &reading->plan);
    return 0;
}

/* ---- recording and reporting ----------------------------------------------------------------- */

/* note: oneib_fence_note_places() or oneib_fence_note_states(). *written: false: the ledger was
 * written by another daemon or command meanwhile, so the ports are read again. */
static int record(struct oneib_daemon *daemon, const struct oneib_fence_plan *plan,
                  int (*note)(const struct oneib_fence_plan *, int64_t, struct oneib_ledger *,
                              bool *, struct oneib_error *),
                  bool *changed, bool *written, struct oneib_error *err)
{
    oneib_autoledger struct oneib_ledger next;
    bool differs = false;
    *written = true;
    oneib_ledger_copy(ledger_of(daemon), &next);
    if (note(plan, time(NULL), &next, &differs, err) < 0)
        return -1;
    if (!differs)
        return 0;
    *changed = true;
    return oneib_oned_write_ledger(daemon, &next, written, err);
}

static void note_reopened(struct oneib_daemon *daemon, const struct oneib_fence_step *step)
{
    struct oneib_findings *findings = &daemon->fencing->findings;
    const bool is_down = step->state == ONEIB_FENCE_DOWN;
    oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, step->host_id);
    oneib_findings_note_with(findings, ONEIB_FINDING_FENCE_OPEN, ONEIB_VIOLATION,
                             "see whether the switch was started anew, or who enabled the port",
                             "%s is fenced, and its port 0x%016" PRIx64
                             " was up again at port %u of switch 0x%016" PRIx64 ": %s",
                             oneib_host_id_shown(&daemon->snapshot.cloud, step->host_id).text,
                             step->guid, step->switch_port, step->switch_guid,
                             is_down ? "it was disabled again" : "it cannot be disabled");
}

static void log_step(const struct oneib_daemon *daemon, const struct oneib_fence_step *step)
{
    oneib_log(ONEIB_LOG_INFO,
              "port 0x%016" PRIx64 " of %s, at port %u of switch 0x%016" PRIx64 ": %s", step->guid,
              oneib_host_id_shown(&daemon->snapshot.cloud, step->host_id).text, step->switch_port,
              step->switch_guid,
              step->state == ONEIB_FENCE_DOWN
                  ? "disabled"
                  : (step->act == ONEIB_FENCE_ENABLE && step->state == ONEIB_FENCE_UP
                         ? "enabled again"
                         : "the setting had no effect"));
}

/* ---- disabling and enabling ------------------------------------------------------------------ */

static size_t index_of_link(const struct oneib_fabric_links *links,
                            const struct oneib_fence_step *step)
{
    size_t index = 0;
    while (index < links->count && (links->items[index].switch_guid != step->switch_guid ||
                                    links->items[index].switch_port != step->switch_port))
        index++;
    return index;
}

/* A switch that does not answer keeps no other port from being disabled. */
static void apply_step(struct oneib_daemon *daemon, const struct reading *reading,
                       struct oneib_fence_step *step)
{
    struct oneib_error failure;
    uint8_t physical;
    if (oneib_fabric_enable_link(oneib_ports_fabric(daemon), &reading->links,
                                 index_of_link(&reading->links, step), step->guid,
                                 step->act == ONEIB_FENCE_ENABLE, &physical, &failure) == 0) {
        step->state = physical == ONEIB_PHYSICAL_DISABLED ? ONEIB_FENCE_DOWN : ONEIB_FENCE_UP;
    } else {
        oneib_daemon_complain(daemon, &failure);
        step->state = ONEIB_FENCE_SILENT;
    }
    log_step(daemon, step);
    if (step->came_up)
        note_reopened(daemon, step);
}

static void apply_steps(struct oneib_daemon *daemon, struct reading *reading)
{
    for (size_t i = 0; i < reading->plan.count; i++)
        if (reading->plan.items[i].act != ONEIB_FENCE_LEAVE)
            apply_step(daemon, reading, &reading->plan.items[i]);
}

/* A port that the SA names and no switch shows has mostly left the fabric: a new reading shows it. */
static bool has_unplaced_port(const struct oneib_fence_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].state == ONEIB_FENCE_SILENT && plan->items[i].switch_guid == 0)
            return true;
    return false;
}

/* The ledger has a port's place before it is disabled, so that a daemon that follows this one knows
 * what to watch. *recorded: false: the ledger was written by another daemon or command meanwhile. */
static int apply_fences(struct oneib_daemon *daemon, struct reading *reading, bool *changed,
                        bool *recorded, struct oneib_error *err)
{
    struct oneib_fencing *fencing = daemon->fencing;
    const size_t before = fencing->findings.count;
    if (read_and_plan(daemon, ledger_of(daemon), reading, err) < 0 ||
        record(daemon, &reading->plan, oneib_fence_note_places, changed, recorded, err) < 0)
        return -1;
    if (!*recorded)
        return 0;
    if (has_unplaced_port(&reading->plan))
        oneib_poll_schedule_verify_in(&daemon->schedule, oneib_now_ms(), 0);
    oneib_findings_clear(&fencing->findings);
    apply_steps(daemon, reading);
    *changed |= before != fencing->findings.count;
    return record(daemon, &reading->plan, oneib_fence_note_states, changed, recorded, err);
}

/* ---- while oned is away ---------------------------------------------------------------------- */

/* For such times: in memory, and for a daemon that is started then, in a file. */
static int save_ledger(struct oneib_daemon *daemon, struct oneib_error *err)
{
    struct oneib_fencing *fencing = daemon->fencing;
    const struct oneib_ledger *now = ledger_of(daemon);
    struct oneib_ledger copy;
    if (!daemon->has_cloud || daemon->snapshot.kept.state != ONEIB_LEDGER_READ ||
        (fencing->is_ledger_loaded && oneib_ledger_equal(now, &fencing->ledger)))
        return 0;
    if (oneib_fences_write(oneib_config_state(&daemon->config), now, err) < 0)
        return -1;
    oneib_ledger_copy(now, &copy);
    oneib_ledger_clear(&fencing->ledger);
    fencing->ledger = copy;
    fencing->is_ledger_loaded = true;
    return 0;
}

static void load_ledger(struct oneib_daemon *daemon)
{
    struct oneib_fencing *fencing = daemon->fencing;
    struct oneib_error failure;
    if (fencing->is_ledger_loaded)
        return;
    fencing->is_ledger_loaded = true;
    if (oneib_fences_read(oneib_config_state(&daemon->config), &fencing->ledger, &failure) < 0 &&
        failure.code != ONEIB_ERROR_NOT_FOUND)
        oneib_daemon_complain(daemon, &failure);
}

/* Each port once, however often it comes up. */
static void add_reclosed(struct oneib_fence_plan *reclosed, const struct oneib_fence_step *step)
{
    for (size_t i = 0; i < reclosed->count; i++)
        if (reclosed->items[i].guid == step->guid &&
            reclosed->items[i].switch_guid == step->switch_guid &&
            reclosed->items[i].switch_port == step->switch_port)
            return;
    ONEIB_APPEND(reclosed->items, reclosed->count, reclosed->capacity, *step);
}

static int disable_reopened(struct oneib_daemon *daemon, struct reading *reading,
                            struct oneib_error *err)
{
    struct oneib_fencing *fencing = daemon->fencing;
    const struct oneib_fence_plan *plan = &reading->plan;
    if (!oneib_ports_are_known(daemon) && oneib_ports_read(daemon, err) < 0)
        return -1;
    oneib_ports_watch_sm(daemon);
    if (oneib_ports_sm(daemon) != ONEIB_SM_MASTER)
        return 0;
    if (read_and_plan(daemon, &fencing->ledger, reading, err) < 0)
        return -1;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].act == ONEIB_FENCE_ENABLE) /* not by an old ledger */
            reading->plan.items[i].act = ONEIB_FENCE_LEAVE;
    oneib_findings_clear(&fencing->findings);
    apply_steps(daemon, reading);
    /* No turn reports these: the next reading replaces them. */
    for (size_t i = 0; i < fencing->findings.count; i++) {
        const struct oneib_finding *finding = &fencing->findings.items[i];
        oneib_log(ONEIB_LOG_ERROR, "%s: %s; %s", finding->code, finding->text, finding->fix);
    }
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].act == ONEIB_FENCE_DISABLE && plan->items[i].state == ONEIB_FENCE_DOWN)
            add_reclosed(&fencing->reclosed, &plan->items[i]);
    return 0;
}

static void disable_by_last_ledger(struct oneib_daemon *daemon)
{
    oneib_auto(clear_reading) struct reading reading = {0};
    struct oneib_error failure;
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_FENCES, oneib_now_ms() + INTERVAL_MS);
    load_ledger(daemon);
    if (daemon->fencing->ledger.fence_count > 0 && disable_reopened(daemon, &reading, &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
}

/* During a call of oned, which may hang. Nothing is opened or read then but what the daemon has open
 * and has read. */
static void during_call(void *context)
{
    struct oneib_daemon *daemon = context;
    if (oneib_ports_are_known(daemon) && is_timer_due(daemon, ONEIB_TIMER_FENCES))
        disable_by_last_ledger(daemon);
}

/* Only while there is a port to keep closed: it costs a thread for each call. */
static void watch_calls(struct oneib_daemon *daemon)
{
    const struct oneib_fencing *fencing = daemon->fencing;
    const struct oneib_meanwhile meanwhile = {
        .look = during_call, .context = daemon, .every_ms = DURING_CALL_MS};
    const bool is_wanted = fencing->is_ledger_loaded && fencing->ledger.fence_count > 0 &&
                           oneib_ports_sm(daemon) == ONEIB_SM_MASTER;
    oneib_one_set_meanwhile(daemon->one, is_wanted ? &meanwhile : NULL);
}

/* `oneib sync` has the lock, or something else takes long: no turn comes to its part. */
static bool is_overdue(const struct oneib_daemon *daemon)
{
    return is_ours(daemon) &&
           oneib_timer_is_due(&daemon->timers, ONEIB_TIMER_FENCES, oneib_now_ms() - INTERVAL_MS);
}

void oneib_fencing_keep_closed(struct oneib_daemon *daemon)
{
    watch_calls(daemon);
    if (is_overdue(daemon) || (is_ledger_away(daemon) && is_timer_due(daemon, ONEIB_TIMER_FENCES)))
        disable_by_last_ledger(daemon);
    oneib_timer_wake(&daemon->timers, ONEIB_TIMER_FENCES,
                     is_ours(daemon) ||
                         (is_ledger_away(daemon) && daemon->fencing->ledger.fence_count > 0));
}

/* ---- oned is back ----------------------------------------------------------------------------
 *
 * A fence that the other daemon has lifted meanwhile is not in the ledger: no daemon would enable
 * the ports that this one has disabled by it since then.
 */

/* A fence in the ledger keeps the port as it is, whichever host it is of. */
static bool is_fenced(const struct oneib_ledger *ledger, const struct oneib_fence_step *step)
{
    for (size_t i = 0; i < ledger->fenced_port_count; i++)
        if (ledger->fenced_ports[i].switch_guid == step->switch_guid &&
            ledger->fenced_ports[i].switch_port == step->switch_port)
            return true;
    return oneib_ledger_fence(ledger, step->host_id) != NULL;
}

/* *is_done: it is enabled, by this daemon or otherwise. */
static void reopen(struct oneib_daemon *daemon, const struct reading *reading,
                   struct oneib_fence_step *step, bool *is_done)
{
    const size_t link = index_of_link(&reading->links, step);
    *is_done = false;
    if (link == reading->links.count)
        return;
    step->came_up = false;
    step->act = ONEIB_FENCE_ENABLE;
    if (reading->links.items[link].physical == ONEIB_PHYSICAL_DISABLED)
        apply_step(daemon, reading, step);
    *is_done = reading->links.items[link].physical != ONEIB_PHYSICAL_DISABLED ||
               step->state == ONEIB_FENCE_UP;
}

static int update_lifted(struct oneib_daemon *daemon, struct oneib_error *err)
{
    oneib_auto(clear_reading) struct reading reading = {0};
    struct oneib_fence_plan *reclosed = &daemon->fencing->reclosed;
    const struct oneib_ledger *ledger = ledger_of(daemon);
    size_t lifted = 0;
    for (size_t i = 0; i < reclosed->count; i++)
        lifted += !is_fenced(ledger, &reclosed->items[i]);
    /* Also beside a standby by now: no other daemon knows of these ports. */
    if (lifted == 0 || !daemon->has_cloud || is_ledger_away(daemon) ||
        daemon->snapshot.kept.state != ONEIB_LEDGER_READ || !oneib_ports_are_known(daemon) ||
        !is_timer_due(daemon, ONEIB_TIMER_FENCES_LIFTED))
        return 0;
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_FENCES_LIFTED, oneib_now_ms() + INTERVAL_MS);
    if (oneib_fabric_read_links(oneib_ports_fabric(daemon), &daemon->snapshot.subnet,
                                &reading.links, err) < 0)
        return -1;
    for (size_t i = reclosed->count; i-- > 0;) {
        bool is_done = false;
        if (!is_fenced(ledger, &reclosed->items[i]))
            reopen(daemon, &reading, &reclosed->items[i], &is_done);
        if (is_done)
            reclosed->items[i] = reclosed->items[--reclosed->count];
    }
    return 0;
}

/* ---- the turn's part ------------------------------------------------------------------------- */

int oneib_fencing_update(struct oneib_daemon *daemon, bool *changed, struct oneib_error *err)
{
    oneib_auto(clear_reading) struct reading reading = {0};
    bool recorded = true;
    if (save_ledger(daemon, err) < 0)
        return oneib_wrap(err, "remembering which hosts are fenced");
    if (update_lifted(daemon, err) < 0)
        return oneib_wrap(err, "enabling ports of hosts that are no longer fenced");
    const bool is_due =
        is_timer_due(daemon, ONEIB_TIMER_FENCES) ||
        (is_requested(ledger_of(daemon)) && is_timer_due(daemon, ONEIB_TIMER_FENCE_REQUESTS));
    if (!is_ours(daemon) || !oneib_ports_are_known(daemon) || !is_due)
        return 0;
    const int status = apply_fences(daemon, &reading, changed, &recorded, err);
    const double now = oneib_now_ms();
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_FENCES,
                    now + (recorded ? INTERVAL_MS : REQUEST_INTERVAL_MS));
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_FENCE_REQUESTS, now + REQUEST_INTERVAL_MS);
    if (status < 0 || save_ledger(daemon, err) < 0)
        return oneib_wrap(err, "closing the ports of fenced hosts");
    return 0;
}
