// SPDX-License-Identifier: Apache-2.0
/* Ports of fenced hosts: looked at again and again, and disabled at their switches. What there is
 * to do says cluster/fence.h; docs/design/fence.md. */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/fence.h"
#include "cluster/names.h"
#include "oneibd/daemon.h"
#include "sync/fences.h"
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* How often ports of fenced hosts are looked at, besides whenever somebody asks; and then, when it
 * comes to nothing. */
#define LOOK_MS 2000.0
#define AGAIN_MS 250.0
/* How often, during a call of oned's, it is seen whether that is due. */
#define DURING_CALL_MS 500

static const struct oneib_ledger *ledger_of(const struct oneib_daemon *daemon)
{
    return &daemon->snapshot.kept.ledger;
}

/* Whoever has the master subnet manager beside it does it: two would undo each other's work. */
static bool is_ours(const struct oneib_daemon *daemon)
{
    return daemon->has_cloud && daemon->sm == ONEIB_SM_MASTER && !daemon->snapshot.ledger_lost &&
           ledger_of(daemon)->fence_count > 0;
}

/* It cannot be read now: what it said last counts. */
static bool is_ledger_away(const struct oneib_daemon *daemon)
{
    return daemon->oned_is_away || (daemon->has_cloud && daemon->snapshot.ledger_lost);
}

static bool is_asked(const struct oneib_ledger *ledger)
{
    for (size_t i = 0; i < ledger->fenced_port_count; i++) {
        const struct oneib_ledger_fence *fence =
            oneib_ledger_fence(ledger, ledger->fenced_ports[i].host_id);
        if (fence && fence->asked != ledger->fenced_ports[i].answer)
            return true;
    }
    return false;
}

bool oneib_daemon_fence_due(const struct oneib_daemon *daemon)
{
    return is_ours(daemon) && oneib_now_ms() >= daemon->fence_at;
}

double oneib_daemon_fence_wait(const struct oneib_daemon *daemon, double otherwise)
{
    const double wait = daemon->fence_at - oneib_now_ms();
    const bool is_kept_closed = is_ledger_away(daemon) && daemon->fences.fence_count > 0;
    if ((!is_ours(daemon) && !is_kept_closed) || wait > otherwise)
        return otherwise;
    return wait > 0 ? wait : 0;
}

/* ---- looking --------------------------------------------------------------------------------- */

struct look {
    struct oneib_fabric_links links;
    struct oneib_fence_plan plan;
    uint32_t *empty; /* hosts whose nodes have nothing */
    size_t empty_count, empty_capacity;
};

static void clear_look(struct look *look)
{
    oneib_fabric_links_clear(&look->links);
    oneib_fence_plan_clear(&look->plan);
    free(look->empty);
}

static void list_empty(const struct oneib_daemon *daemon, const struct oneib_ledger *ledger,
                       struct look *look)
{
    for (size_t i = 0; i < ledger->fence_count; i++) {
        if (!oneib_daemon_has_nothing(daemon, &ledger->fences[i]))
            continue;
        ONEIB_APPEND(look->empty, look->empty_count, look->empty_capacity,
                     ledger->fences[i].host_id);
    }
}

static int make_plan(const struct oneib_daemon *daemon, const struct oneib_ledger *ledger,
                     struct look *look, struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = &daemon->snapshot;
    list_empty(daemon, ledger, look);
    if (oneib_fabric_read_links(daemon->fabric, &snapshot->subnet, &look->links, err) < 0)
        return -1;
    const struct oneib_policy policy = oneib_daemon_port_policy(daemon);
    const struct oneib_fence_input input = {.cloud = &snapshot->cloud,
                                            .ledger = ledger,
                                            .policy = &policy,
                                            .static_partitions = &snapshot->static_partitions,
                                            .in_force = &snapshot->seen.table,
                                            .subnet = &snapshot->subnet,
                                            .own_port = oneib_fabric_port_guid(daemon->fabric),
                                            .links = look->links.items,
                                            .link_count = look->links.count,
                                            .links_are_missing = look->links.unanswered > 0,
                                            .empty = look->empty,
                                            .empty_count = look->empty_count};
    oneib_fence_plan(&input, &look->plan);
    return 0;
}

/* ---- what was seen --------------------------------------------------------------------------- */

/* note: oneib_fence_note_places() or oneib_fence_note_states(). *written: it stands there; false:
 * somebody else has written the ledger, so all is to be looked at again. */
static int write_down(struct oneib_daemon *daemon, const struct oneib_fence_plan *plan,
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
    return oneib_daemon_write_ledger(daemon, &next, written, err);
}

static void say_came_up(struct oneib_daemon *daemon, const struct oneib_fence_step *step)
{
    const bool is_down = step->state == ONEIB_FENCE_DOWN;
    oneib_findings_mention(&daemon->fence_findings, ONEIB_SUBJECT_HOST, step->host_id);
    oneib_findings_note_with(&daemon->fence_findings, ONEIB_FINDING_FENCE_OPEN, ONEIB_VIOLATION,
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

/* ---- doing ----------------------------------------------------------------------------------- */

static size_t index_of_link(const struct oneib_fabric_links *links,
                            const struct oneib_fence_step *step)
{
    size_t index = 0;
    while (index < links->count && (links->items[index].switch_guid != step->switch_guid ||
                                    links->items[index].switch_port != step->switch_port))
        index++;
    return index;
}

/* A switch that does not answer keeps nobody else's port from being closed. */
static void do_step(struct oneib_daemon *daemon, const struct look *look,
                    struct oneib_fence_step *step)
{
    struct oneib_error failure;
    uint8_t physical;
    if (oneib_fabric_enable_link(daemon->fabric, &look->links, index_of_link(&look->links, step),
                                 step->guid, step->act == ONEIB_FENCE_ENABLE, &physical,
                                 &failure) == 0) {
        step->state = physical == ONEIB_PHYSICAL_DISABLED ? ONEIB_FENCE_DOWN : ONEIB_FENCE_UP;
    } else {
        oneib_daemon_complain(daemon, &failure);
        step->state = ONEIB_FENCE_SILENT;
    }
    log_step(daemon, step);
    if (step->came_up)
        say_came_up(daemon, step);
}

static void do_steps(struct oneib_daemon *daemon, struct look *look)
{
    for (size_t i = 0; i < look->plan.count; i++)
        if (look->plan.items[i].act != ONEIB_FENCE_LEAVE)
            do_step(daemon, look, &look->plan.items[i]);
}

/* Where a port is that the SA names and no switch shows, a new reading tells: mostly it is gone. */
static bool is_missed(const struct oneib_fence_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].state == ONEIB_FENCE_SILENT && plan->items[i].switch_guid == 0)
            return true;
    return false;
}

/* Where a port is stands in oned before it is disabled: who comes after us knows what to watch.
 * *looked: false: that could not be written beside somebody else. */
static int look_and_do(struct oneib_daemon *daemon, struct look *look, bool *changed, bool *looked,
                       struct oneib_error *err)
{
    const size_t said = daemon->fence_findings.count;
    if (make_plan(daemon, ledger_of(daemon), look, err) < 0 ||
        write_down(daemon, &look->plan, oneib_fence_note_places, changed, looked, err) < 0)
        return -1;
    if (!*looked)
        return 0;
    if (is_missed(&look->plan))
        oneib_poll_schedule_verify_in(&daemon->schedule, oneib_now_ms(), 0);
    oneib_findings_clear(&daemon->fence_findings);
    do_steps(daemon, look);
    *changed |= said != daemon->fence_findings.count;
    return write_down(daemon, &look->plan, oneib_fence_note_states, changed, looked, err);
}

/* ---- while oned is away ---------------------------------------------------------------------- */

/* For such times: in memory, and for a daemon that is started then, in a file. */
static int remember(struct oneib_daemon *daemon, struct oneib_error *err)
{
    const struct oneib_ledger *now = ledger_of(daemon);
    struct oneib_ledger copy;
    if (!daemon->has_cloud || daemon->snapshot.kept.state != ONEIB_LEDGER_READ ||
        (daemon->fences_known && oneib_ledger_equal(now, &daemon->fences)))
        return 0;
    if (oneib_fences_write(oneib_config_state(&daemon->config), now, err) < 0)
        return -1;
    oneib_ledger_copy(now, &copy);
    oneib_ledger_clear(&daemon->fences);
    daemon->fences = copy;
    daemon->fences_known = true;
    return 0;
}

static void recall(struct oneib_daemon *daemon)
{
    struct oneib_error failure;
    if (daemon->fences_known)
        return;
    daemon->fences_known = true;
    if (oneib_fences_read(oneib_config_state(&daemon->config), &daemon->fences, &failure) < 0 &&
        failure.code != ONEIB_ERROR_NOT_FOUND)
        oneib_daemon_complain(daemon, &failure);
}

/* Nothing is let go by what the ledger said some time ago. */
static void leave_what_is_to_be_opened(struct oneib_fence_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].act == ONEIB_FENCE_ENABLE)
            plan->items[i].act = ONEIB_FENCE_LEAVE;
}

/* No turn will report it: the next look is another one. */
static void say_at_once(const struct oneib_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        oneib_log(ONEIB_LOG_ERROR, "%s: %s; %s", findings->items[i].code, findings->items[i].text,
                  findings->items[i].fix);
}

/* Each once: what is up time and again is disabled time and again. */
static void remember_reclosed(struct oneib_daemon *daemon, const struct oneib_fence_step *step)
{
    struct oneib_fence_plan *reclosed = &daemon->reclosed;
    for (size_t i = 0; i < reclosed->count; i++)
        if (reclosed->items[i].guid == step->guid &&
            reclosed->items[i].switch_guid == step->switch_guid &&
            reclosed->items[i].switch_port == step->switch_port)
            return;
    ONEIB_APPEND(reclosed->items, reclosed->count, reclosed->capacity, *step);
}

static void remember_all_reclosed(struct oneib_daemon *daemon, const struct oneib_fence_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].act == ONEIB_FENCE_DISABLE && plan->items[i].state == ONEIB_FENCE_DOWN)
            remember_reclosed(daemon, &plan->items[i]);
}

static int close_again(struct oneib_daemon *daemon, struct look *look, struct oneib_error *err)
{
    if ((!daemon->fabric || !daemon->snapshot.subnet_known) &&
        oneib_daemon_read_ports(daemon, err) < 0)
        return -1;
    oneib_daemon_watch_sm(daemon);
    if (daemon->sm != ONEIB_SM_MASTER)
        return 0;
    if (make_plan(daemon, &daemon->fences, look, err) < 0)
        return -1;
    leave_what_is_to_be_opened(&look->plan);
    oneib_findings_clear(&daemon->fence_findings);
    do_steps(daemon, look);
    say_at_once(&daemon->fence_findings);
    remember_all_reclosed(daemon, &look->plan);
    return 0;
}

static void keep_closed(struct oneib_daemon *daemon)
{
    oneib_auto(clear_look) struct look look = {0};
    struct oneib_error failure;
    daemon->fence_at = oneib_now_ms() + LOOK_MS;
    recall(daemon);
    if (daemon->fences.fence_count > 0 && close_again(daemon, &look, &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
}

/* During a call of oned's, which may hang. Nothing is kept open or read then but what the daemon
 * has already. */
static void look_during_call(void *context)
{
    struct oneib_daemon *daemon = context;
    if (daemon->fabric && daemon->snapshot.subnet_known && oneib_now_ms() >= daemon->fence_at)
        keep_closed(daemon);
}

/* Only while there is something to keep closed: it costs a thread for each call. */
static void watch_calls(struct oneib_daemon *daemon)
{
    const struct oneib_meanwhile meanwhile = {
        .look = look_during_call, .context = daemon, .every_ms = DURING_CALL_MS};
    const bool is_wanted =
        daemon->fences_known && daemon->fences.fence_count > 0 && daemon->sm == ONEIB_SM_MASTER;
    oneib_one_set_meanwhile(daemon->one, is_wanted ? &meanwhile : NULL);
}

/* `oneib sync` has the lock, or something else takes long: the turn's part is not come to. */
static bool is_overdue(const struct oneib_daemon *daemon)
{
    return is_ours(daemon) && oneib_now_ms() >= daemon->fence_at + LOOK_MS;
}

void oneib_daemon_keep_closed(struct oneib_daemon *daemon)
{
    watch_calls(daemon);
    if (is_overdue(daemon) || (is_ledger_away(daemon) && oneib_now_ms() >= daemon->fence_at))
        keep_closed(daemon);
}

/* ---- oned is back ----------------------------------------------------------------------------
 *
 * A fence that the other daemon has lifted meanwhile is not in the ledger: what was disabled by it
 * since then nobody would enable.
 */

/* A fence of the ledger's keeps the port as it is, of whichever host. */
static bool is_fenced(const struct oneib_ledger *ledger, const struct oneib_fence_step *step)
{
    for (size_t i = 0; i < ledger->fenced_port_count; i++)
        if (ledger->fenced_ports[i].switch_guid == step->switch_guid &&
            ledger->fenced_ports[i].switch_port == step->switch_port)
            return true;
    return oneib_ledger_fence(ledger, step->host_id) != NULL;
}

/* *is_done: it is enabled, or was by somebody else. */
static void reopen(struct oneib_daemon *daemon, const struct look *look,
                   struct oneib_fence_step *step, bool *is_done)
{
    const size_t link = index_of_link(&look->links, step);
    *is_done = false;
    if (link == look->links.count)
        return;
    step->came_up = false;
    step->act = ONEIB_FENCE_ENABLE;
    if (look->links.items[link].physical == ONEIB_PHYSICAL_DISABLED)
        do_step(daemon, look, step);
    *is_done = look->links.items[link].physical != ONEIB_PHYSICAL_DISABLED ||
               step->state == ONEIB_FENCE_UP;
}

static int reopen_those_lifted(struct oneib_daemon *daemon, struct look *look,
                               struct oneib_error *err)
{
    struct oneib_fence_plan *reclosed = &daemon->reclosed;
    if (oneib_fabric_read_links(daemon->fabric, &daemon->snapshot.subnet, &look->links, err) < 0)
        return -1;
    for (size_t i = reclosed->count; i-- > 0;) {
        bool is_done;
        if (is_fenced(ledger_of(daemon), &reclosed->items[i]))
            continue;
        reopen(daemon, look, &reclosed->items[i], &is_done);
        if (is_done)
            reclosed->items[i] = reclosed->items[--reclosed->count];
    }
    return 0;
}

/* Also when it is beside the standby by now: nobody else knows of it. */
static bool is_reopening_due(const struct oneib_daemon *daemon)
{
    if (!daemon->has_cloud || is_ledger_away(daemon) ||
        daemon->snapshot.kept.state != ONEIB_LEDGER_READ || !daemon->fabric ||
        !daemon->snapshot.subnet_known || oneib_now_ms() < daemon->reclosed_at)
        return false;
    for (size_t i = 0; i < daemon->reclosed.count; i++)
        if (!is_fenced(ledger_of(daemon), &daemon->reclosed.items[i]))
            return true;
    return false;
}

static int reopen_what_was_lifted(struct oneib_daemon *daemon, struct oneib_error *err)
{
    oneib_auto(clear_look) struct look look = {0};
    if (!is_reopening_due(daemon))
        return 0;
    daemon->reclosed_at = oneib_now_ms() + LOOK_MS;
    return reopen_those_lifted(daemon, &look, err);
}

/* ---- the turn's part ------------------------------------------------------------------------- */

static bool is_due(const struct oneib_daemon *daemon)
{
    const double now = oneib_now_ms();
    return now >= daemon->fence_at || (is_asked(ledger_of(daemon)) && now >= daemon->fence_again);
}

int oneib_daemon_fence(struct oneib_daemon *daemon, bool *changed, struct oneib_error *err)
{
    oneib_auto(clear_look) struct look look = {0};
    bool looked = true;
    if (remember(daemon, err) < 0)
        return oneib_wrap(err, "remembering which hosts are fenced");
    if (reopen_what_was_lifted(daemon, err) < 0)
        return oneib_wrap(err, "enabling ports of hosts that are no longer fenced");
    if (!is_ours(daemon) || !daemon->fabric || !daemon->snapshot.subnet_known || !is_due(daemon))
        return 0;
    const int status = look_and_do(daemon, &look, changed, &looked, err);
    daemon->fence_at = oneib_now_ms() + (looked ? LOOK_MS : AGAIN_MS);
    daemon->fence_again = oneib_now_ms() + AGAIN_MS;
    if (status < 0 || remember(daemon, err) < 0)
        return oneib_wrap(err, "closing the ports of fenced hosts");
    return 0;
}
