// SPDX-License-Identifier: Apache-2.0
/*
 * The SL is written into the ledger, where oneibd finds it; that oneibd computes with it is seen by
 * the copy that it writes, IB_SL. Until then a VM that is started might still make the multicast
 * group with the old one: what the subnet manager says of that group is asked last.
 */
#include "oneib/qos_move.h"
#include "base/clock.h"
#include "base/number.h"
#include "cluster/names.h"
#include "command/pick.h"
#include "oneib/command_read.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include "sync/classes.h"
#include "sync/ledger_change.h"
#include <poll.h>

/* oneibd looks at the ledger at each poll (daemon.poll_idle, 15 s unless somebody changed it). */
#define PATIENCE_MS 60000.0
#define PAUSE_MS 250

struct move {
    const struct oneib_run *run;
    struct oneib_reading reading;
    struct oneib_classes classes;
    const struct oneib_network *network;
    const struct oneib_ledger_network *entry; /* until the ledger is written */
    const struct oneib_qos_class *qos_class;  /* NULL: it is to have none */
    bool is_forced;
    uint8_t before, sl;
    bool is_shown;                  /* by oneibd, in time */
    struct oneib_group_query group; /* as it is then */
    bool group_is_known;            /* else subnet_error of the snapshot says why not */
};

static int find_network(struct move *move, const char *word, struct oneib_error *err)
{
    const struct oneib_cloud *cloud = &move->reading.snapshot.cloud;
    uint64_t number;
    uint32_t id = 0;
    if (oneib_parse_decimal(word, UINT32_MAX - 1, &number) &&
        oneib_cloud_network(cloud, (uint32_t)number))
        id = (uint32_t)number;
    else if (oneib_pick_network(cloud, word, &id, err) < 0)
        return -1;
    move->network = oneib_cloud_network(cloud, id);
    move->entry = oneib_ledger_network(oneib_snapshot_ledger(&move->reading.snapshot), id);
    if (move->entry) {
        move->group.pkey = move->entry->pkey;
        return 0;
    }
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "%s has no P_Key of its own, and so no SL: a reservation that shares its "
                      "parent's partition has that one's",
                      oneib_network_shown(move->network).text);
}

static int find_class(struct move *move, struct oneib_error *err)
{
    const struct oneib_config *config = &move->reading.session.config;
    if (oneib_classes_read(config, &move->classes, err) < 0)
        return -1;
    if (move->classes.count == 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "there are no classes: set qos.classes in oneib.conf");
    const char *name = oneib_network_class(&move->reading.snapshot.cloud, config->qos.default_class,
                                           move->network);
    move->qos_class = name ? oneib_qos_find(move->classes.items, move->classes.count, name) : NULL;
    if (name && !move->qos_class)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the IB_CLASS of %s is not one of qos.classes in oneib.conf",
                          oneib_network_shown(move->network).text);
    return 0;
}

static bool has_the_right_one(const struct move *move)
{
    const uint8_t sl = move->entry->sl;
    return move->qos_class ? (move->qos_class->sls & 1u << sl) != 0 : sl == 0;
}

/* What is in force, and what is about to be: VMs, static members, removals that are held. */
static bool is_empty(const struct move *move)
{
    const struct oneib_snapshot *snapshot = &move->reading.snapshot;
    return snapshot->seen.state == ONEIB_SEEN_OURS &&
           !oneib_partition_table_find(&snapshot->seen.table, move->entry->pkey) &&
           !oneib_partition_table_find(&snapshot->desired.table, move->entry->pkey);
}

static uint8_t choose(const struct move *move)
{
    const struct oneib_ledger *ledger = oneib_snapshot_ledger(&move->reading.snapshot);
    size_t used[ONEIB_QOS_SLS] = {0};
    for (size_t i = 0; i < ledger->network_count; i++)
        used[ledger->networks[i].sl & (ONEIB_QOS_SLS - 1)]++;
    return move->qos_class ? oneib_qos_choose(move->qos_class, used) : 0;
}

/* Of the network as it was read. */
static int set_level_in(struct oneib_ledger *next, void *context, struct oneib_error *err)
{
    const struct move *move = context;
    const struct oneib_ledger_network *now = oneib_ledger_network(next, move->network->id);
    if (!now || now->pkey != move->group.pkey || now->sl != move->before)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "%s has another P_Key or SL since it was read",
                          oneib_network_shown(move->network).text);
    return oneib_ledger_set_sl(next, move->network->id, move->sl, err);
}

static int write_level(struct move *move, struct oneib_error *err)
{
    const struct oneib_session *session = &move->reading.session;
    bool written;
    if (move->reading.snapshot.ledger_lost)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the ledger is lost: see 'oneib plan --adopt' first");
    return oneib_ledger_change(session->one, session->config.one.acl_user,
                               &move->reading.snapshot.kept, set_level_in, move, &written, err);
}

static int await_oneibd(struct move *move, struct oneib_error *err)
{
    const double end = oneib_now_ms() + PATIENCE_MS;
    for (;;) {
        uint8_t shown;
        if (oneib_shown_level(move->reading.session.one, move->network->id,
                              move->reading.session.config.one.vn_mad, &shown, err) < 0)
            return -1;
        move->is_shown = shown == move->sl;
        if (move->is_shown || oneib_now_ms() >= end)
            return 0;
        poll(NULL, 0, PAUSE_MS);
    }
}

static void ask_for_group(struct move *move)
{
    struct oneib_snapshot *snapshot = &move->reading.snapshot;
    move->group_is_known = move->reading.session.fabric &&
                           oneib_fabric_groups(move->reading.session.fabric, &move->group, 1,
                                               &snapshot->subnet_error) == 0;
}

/* A partition that has members has a group, which opensm does not tell of in the middle of a sweep.
 */
static void await_group(struct move *move)
{
    const double end = oneib_now_ms() + PATIENCE_MS;
    for (;;) {
        ask_for_group(move);
        if (!move->is_forced || !move->group_is_known || move->group.exists ||
            oneib_now_ms() >= end)
            return;
        poll(NULL, 0, PAUSE_MS);
    }
}

static bool group_is_old(const struct move *move)
{
    return move->group_is_known && move->group.exists && move->group.sl != move->sl;
}

static const char *group_json(const struct move *move)
{
    if (!move->group_is_known)
        return "not known";
    return !move->group.exists ? "none" : group_is_old(move) ? "old" : "new";
}

static void append_group(const struct move *move, struct oneib_text *text)
{
    if (!move->group_is_known)
        oneib_text_printf(text, "What SL its multicast group has is not known: %s\n",
                          move->reading.snapshot.subnet_error.text);
    else if (group_is_old(move))
        oneib_text_printf(
            text,
            "Its multicast group has SL %u: new paths have the new SL, and IPoIB goes on with the "
            "old one until all\nof its VMs have been stopped at one time.\n",
            move->group.sl);
}

static int print(const struct move *move, bool moved, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    if (move->run->json)
        return oneib_json_write(
            json_pack("{s:I, s:b, s:i, s:i, s:b, s:s}", "network", (json_int_t)move->network->id,
                      "moved", (int)moved, "before", (int)move->before, "sl", (int)move->sl,
                      "in_force", (int)(!moved || move->is_shown), "group", group_json(move)),
            err);
    oneib_text_append(&text, oneib_network_shown(move->network).text);
    if (!moved)
        oneib_text_printf(&text, " has SL %u, which is its class's: nothing to do\n", move->sl);
    else if (!move->is_shown)
        oneib_text_printf(&text,
                          " has SL %u in the ledger instead of %u, and no oneibd has taken it up: "
                          "does it run? Start no VM of it until its IB_SL says so\n",
                          move->sl, move->before);
    else
        oneib_text_printf(&text, " has SL %u now, it had %u\n", move->sl, move->before);
    append_group(move, &text);
    return oneib_write_out(&text, err);
}

static int refuse_members(const struct move *move, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "%s has members, or its partition is in force still: its multicast group "
                      "keeps SL %u as long as it is there. Stop its VMs, or use --force: then "
                      "new paths have another SL than IPoIB's group, until all VMs were stopped at "
                      "one time",
                      oneib_network_shown(move->network).text, move->entry->sl);
}

static int move_it(struct move *move, const char *word, enum oneib_exit *status,
                   struct oneib_error *err)
{
    if (find_network(move, word, err) < 0 || find_class(move, err) < 0)
        return -1;
    move->before = move->sl = move->entry->sl;
    if (has_the_right_one(move)) {
        ask_for_group(move);
        *status = group_is_old(move) ? ONEIB_EXIT_DIFFERENCE : ONEIB_EXIT_DONE;
        return print(move, false, err);
    }
    move->is_forced = !is_empty(move);
    if (move->is_forced && !oneib_given(move->run, ONEIB_OPTION_FORCE))
        return refuse_members(move, err);
    move->sl = choose(move);
    if (write_level(move, err) < 0 || await_oneibd(move, err) < 0)
        return -1;
    await_group(move);
    *status = move->is_shown && !group_is_old(move) ? ONEIB_EXIT_DONE : ONEIB_EXIT_DIFFERENCE;
    return print(move, true, err);
}

enum oneib_exit oneib_qos_move(const struct oneib_run *run, const char *word,
                               struct oneib_error *err)
{
    struct move move = {.run = run};
    enum oneib_exit status = ONEIB_EXIT_DONE;
    if (oneib_read_all(run, ONEIB_FABRIC_IF_POSSIBLE, false, &move.reading, err) < 0)
        return ONEIB_EXIT_FAILURE;
    const int outcome = move_it(&move, word, &status, err);
    oneib_reading_clear(&move.reading);
    return outcome < 0 ? ONEIB_EXIT_FAILURE : status;
}
