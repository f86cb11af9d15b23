// SPDX-License-Identifier: Apache-2.0
/*
 * A random walk (walk.h) with a real oneibd on ibsim with a real opensm, while oned, opensm, oneibd
 * and the event stream fail at random. After each round every port must come to hold exactly the
 * keys that the walk's own bookkeeping says. Before that, at no moment may a port hold a key that
 * it was not meant to have before and is not meant to have now, may a key be in two clusters, or
 * may a port lack a key that it was meant to have all along. Switches die, and links flap.
 * Meanwhile a compromised host lies: its probe, and others' in its place, and its oneib-node claim
 * ports of the other hosts, with VFs open there; it goes silent, and comes back.
 *
 * Replay: ONEIB_WALK_SEED=N (printed at start); ONEIB_WALK_STEPS=N walks further or shorter;
 * ONEIB_WALK_FABRIC=NAME on another kind of fabric (lab_shape.h). What is at work when something is
 * killed is another moment each time.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "lab_internal.h"
#include "table_watch.h"
#include "walk.h"
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define STEPS 200
#define PATIENCE_MS 30000
/* A VM of which no message told is found when everything is read again: that is done as often as
 * takes a thousandth of the time, but for what polls find. */
#define PATIENCE_WITHOUT_EVENTS_MS 90000
#define SETTLE_MS 150
#define PROGRAM_TIMEOUT_MS 60000
#define LOG_TAIL 2500
/* Of 100 rounds; each. */
#define KILLS 3
#define EVENT_FAULTS 3
#define FABRIC_FAULTS 3
/* A link that goes down and comes back once in a second; an odd number: in the end it is up. */
#define FLAPS 3
#define HALF_FLAP_MS 500
#define LIES 15 /* of 100 rounds */
#define LIAR_DOES 4
#define LIARS_PORT 0u /* it has none */
#define LONGEST_DELAY_MS 30
#define SLOW_MS 2000

static struct oneib_error err;

/* LAB_SM that sends one request after the other: what is true for a moment only, while it goes from
 * port to port, is so for longer. */
static const struct lab_sm slow_sm = {.name = "opensm",
                                      .hca = LAB_SM_HCA,
                                      .priority = 8,
                                      .options = "max_wire_smps 1\nmax_wire_smps2 1\n"};

struct rounds {
    struct walk walk;
    struct table_watch *watch;
    unsigned steps;
    unsigned keys_before[WALK_CLUSTERS];
    char fault[80];
    double patience_ms;
    double slowest;
    size_t broken; /* the switch or the host that is off the fabric */
    uint32_t liar;
};

/* ---- failing --------------------------------------------------------------------------------- */

static void print_tail(struct rounds *rounds, const char *file)
{
    const long size = lab_size(rounds->walk.lab, file);
    oneib_autofree char *tail =
        lab_read_from(rounds->walk.lab, file, size > LOG_TAIL ? size - LOG_TAIL : 0);
    fprintf(stderr, "---- %s ends with:\n%s\n", file, tail);
}

static void give_up(struct rounds *rounds, const char *what)
{
    print_tail(rounds, "opensm.log");
    print_tail(rounds, "oneibd.log");
    fail_msg("step %u, \"%s\", %s: %s", rounds->steps, rounds->walk.action,
             rounds->fault[0] ? rounds->fault : "nothing failed", what);
}

static void must(struct rounds *rounds, int status)
{
    if (status < 0)
        give_up(rounds, err.text);
}

/* ---- what is right --------------------------------------------------------------------------- */

/* By its number in the watch. */
static size_t expected_of(const struct walk *walk, size_t number, unsigned *keys)
{
    const unsigned ports = lab_host_ports(walk->lab);
    return walk_expected(walk, number / ports, 1 + (unsigned)(number % ports), keys);
}

static bool port_is_right(const struct rounds *rounds, size_t number)
{
    unsigned expected[WALK_CLUSTERS + 1];
    const size_t count = expected_of(&rounds->walk, number, expected);
    if (rounds->watch->tables[number].count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (rounds->watch->tables[number].keys[i] != expected[i])
            return false;
    return true;
}

static bool all_are_right(const struct rounds *rounds)
{
    for (size_t port = 0; port < rounds->watch->hosts; port++)
        if (!port_is_right(rounds, port))
            return false;
    return true;
}

static void print_wrong_ports(const struct rounds *rounds)
{
    for (size_t port = 0; port < rounds->watch->hosts; port++) {
        unsigned expected[WALK_CLUSTERS + 1];
        if (port_is_right(rounds, port))
            continue;
        print_error("port %zu holds", port);
        for (size_t i = 0; i < rounds->watch->tables[port].count; i++)
            print_error(" 0x%04x", rounds->watch->tables[port].keys[i]);
        print_error(" and should hold");
        const size_t count = expected_of(&rounds->walk, port, expected);
        for (size_t i = 0; i < count; i++)
            print_error(" 0x%04x", expected[i]);
        print_error("\n");
    }
}

/* ---- what may be meanwhile; with the watch locked -------------------------------------------- */

/* For each raw key the ports that should hold it now. */
static void collect_expected(const struct walk *walk, uint32_t *ports)
{
    memset(ports, 0, 0x10000 * sizeof *ports);
    for (size_t port = 0; port < WALK_HOSTS * (size_t)lab_host_ports(walk->lab); port++) {
        unsigned keys[WALK_CLUSTERS + 1];
        const size_t count = expected_of(walk, port, keys);
        for (size_t i = 0; i < count; i++)
            ports[keys[i]] |= UINT32_C(1) << port;
    }
}

/* From a moment when everything is right. */
static void begin_rules(struct rounds *rounds)
{
    static uint32_t now[0x10000];
    collect_expected(&rounds->walk, now);
    for (unsigned key = 0; key < 0x10000; key++)
        rounds->watch->rules[key] = (struct table_rule){.may = now[key], .must = now[key]};
    memcpy(rounds->keys_before, rounds->walk.keys, sizeof rounds->keys_before);
    rounds->watch->judging = true;
}

static size_t owner_of(const unsigned *keys, unsigned raw)
{
    size_t network = 0;
    while (network < WALK_CLUSTERS && (keys[network] | RAW_FULL_BIT) != raw)
        network++;
    return network;
}

static bool changed_hands(const struct rounds *rounds, unsigned raw)
{
    const size_t before = owner_of(rounds->keys_before, raw);
    const size_t now = owner_of(rounds->walk.keys, raw);
    return before != WALK_CLUSTERS && now != WALK_CLUSTERS && before != now;
}

/* Of a network with another key the daemon may know the old key and where its VMs are now, or the
 * new key and where they were. */
static void mix_keys(struct rounds *rounds)
{
    for (size_t i = 0; i < WALK_CLUSTERS; i++) {
        struct table_rule *before = &rounds->watch->rules[rounds->keys_before[i] | RAW_FULL_BIT];
        struct table_rule *now = &rounds->watch->rules[rounds->walk.keys[i] | RAW_FULL_BIT];
        before->may = now->may = before->may | now->may;
    }
}

/* What the events do not tell, or tell late, the daemon may take for a state that is gone: then
 * members may lose their key for as long as it takes to find out. */
static void widen_rules(struct rounds *rounds, bool events_can_be_relied_on)
{
    static uint32_t now[0x10000];
    collect_expected(&rounds->walk, now);
    for (unsigned key = 0; key < 0x10000; key++) {
        struct table_rule *rule = &rounds->watch->rules[key];
        const bool handed_over = changed_hands(rounds, key);
        if (handed_over && events_can_be_relied_on) {
            rule->leaving = rule->may & ~now[key];
            rule->arriving = now[key] & ~rule->may;
        }
        rule->may |= now[key];
        rule->must &= handed_over || !events_can_be_relied_on ? 0 : now[key];
    }
    if (!events_can_be_relied_on)
        mix_keys(rounds);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool look(struct rounds *rounds, uint64_t *readings, bool *violated)
{
    table_watch_lock(rounds->watch);
    *violated = rounds->watch->violation[0];
    const bool is_new = rounds->watch->readings > *readings;
    *readings = rounds->watch->readings;
    const bool right = is_new && all_are_right(rounds);
    table_watch_unlock(rounds->watch);
    return right;
}

static void await_right(struct rounds *rounds)
{
    const double begin = oneib_now_ms();
    uint64_t readings = rounds->watch->readings;
    bool violated;
    while (!look(rounds, &readings, &violated)) {
        if (oneib_now_ms() > begin + rounds->patience_ms) {
            print_wrong_ports(rounds);
            give_up(rounds, "ports are wrong");
        }
        if (violated)
            break;
        lab_sleep_ms(1);
    }
    if (violated) {
        print_wrong_ports(rounds);
        give_up(rounds, rounds->watch->violation);
    }
    const double took = oneib_now_ms() - begin;
    if (took > rounds->slowest)
        rounds->slowest = took;
    if (took > SLOW_MS)
        print_message("step %u, \"%s\", %s: %.0f ms\n", rounds->steps, rounds->walk.action,
                      rounds->fault, took);
}

/* The daemon reads everything anew: nothing of what it believes is older. */
static void resynchronise(struct rounds *rounds)
{
    const long start = lab_size(rounds->walk.lab, "oneibd.log");
    must(rounds, lab_oneibd_signal(rounds->walk.lab, LAB_DAEMON.name, SIGHUP, &err));
    must(rounds,
         lab_await_text(rounds->walk.lab, "oneibd.log", start, "watching ",
                        lab_oneibd_pid(rounds->walk.lab, LAB_DAEMON.name), PATIENCE_MS, &err));
    await_right(rounds);
}

static bool ledger_is_right(struct rounds *rounds)
{
    for (size_t i = 0; i < WALK_CLUSTERS; i++) {
        unsigned pkey;
        must(rounds, lab_ledger_key(rounds->walk.lab, rounds->walk.networks[i], &pkey, &err));
        if (pkey != rounds->walk.keys[i])
            return false;
    }
    return true;
}

/* A wish for a key that may still be held is met later. Of a network without members no port shows
 * it. */
static void await_ledger(struct rounds *rounds)
{
    const double end = oneib_now_ms() + rounds->patience_ms;
    while (!ledger_is_right(rounds)) {
        if (oneib_now_ms() > end)
            give_up(rounds, "the ledger has other keys");
        lab_sleep_ms(5);
    }
}

/*
 * A key that changes hands is taken away first. On ports that hold it before and afterwards all may
 * look right before that is done.
 */
static void settle(struct rounds *rounds)
{
    await_ledger(rounds);
    lab_sleep_ms(SETTLE_MS);
    await_right(rounds);
    resynchronise(rounds);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void step(struct rounds *rounds, bool events_can_be_relied_on)
{
    /* A reading that is being made is judged by what holds after the step. */
    table_watch_lock(rounds->watch);
    const int status = walk_step(&rounds->walk, &err);
    widen_rules(rounds, events_can_be_relied_on);
    table_watch_unlock(rounds->watch);
    must(rounds, status);
    rounds->steps++;
}

static void plain_round(struct rounds *rounds)
{
    step(rounds, true);
    await_right(rounds);
}

/* ---- faults ---------------------------------------------------------------------------------- */

typedef void (*act)(struct rounds *rounds);

static void forget_cached_files(struct rounds *rounds)
{
    static const char *const files[] = {"guid2lid", "guid2mkey", "neighbors"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s/%s", lab_directory(rounds->walk.lab), slow_sm.name,
                 files[i]);
        unlink(path);
    }
}

static void end_opensm(struct rounds *rounds)
{
    must(rounds, lab_opensm_stop(rounds->walk.lab, slow_sm.name, true, &err));
}

static void kill_opensm(struct rounds *rounds)
{
    must(rounds, lab_opensm_stop(rounds->walk.lab, slow_sm.name, false, &err));
}

static void start_opensm(struct rounds *rounds)
{
    must(rounds, lab_opensm_start(rounds->walk.lab, &slow_sm, &err));
}

static void start_opensm_anew(struct rounds *rounds)
{
    forget_cached_files(rounds);
    start_opensm(rounds);
}

static void end_oneibd(struct rounds *rounds)
{
    must(rounds, lab_oneibd_stop(rounds->walk.lab, LAB_DAEMON.name, SIGTERM, &err));
}

static void kill_oneibd(struct rounds *rounds)
{
    must(rounds, lab_oneibd_stop(rounds->walk.lab, LAB_DAEMON.name, SIGKILL, &err));
}

static void start_oneibd(struct rounds *rounds)
{
    must(rounds, lab_oneibd_start(rounds->walk.lab, &LAB_DAEMON, &err));
}

static void kill_oned(struct rounds *rounds)
{
    must(rounds, lab_standin_down(rounds->walk.lab, true, &err));
}

static void start_oned(struct rounds *rounds)
{
    must(rounds, lab_standin_down(rounds->walk.lab, false, &err));
}

static void events_fault(struct rounds *rounds, const char *kind, unsigned count)
{
    must(rounds, lab_events_fault(rounds->walk.lab, kind, count, &err));
}

static void stop_publisher(struct rounds *rounds)
{
    events_fault(rounds, "down", 1);
}

static void start_publisher(struct rounds *rounds)
{
    events_fault(rounds, "down", 0);
}

static void lose_events(struct rounds *rounds)
{
    events_fault(rounds, "lose", 2);
}

static void repeat_events(struct rounds *rounds)
{
    events_fault(rounds, "repeat", 4);
}

static void reorder_events(struct rounds *rounds)
{
    events_fault(rounds, "reorder", 4);
}

static void events_are_well(struct rounds *rounds)
{
    events_fault(rounds, "lose", 0);
}

/* Which has the SM's host is never it. */
static void kill_switch(struct rounds *rounds)
{
    rounds->broken = 1 + walk_dice(&rounds->walk, lab_switch_count(rounds->walk.lab) - 1);
    must(rounds, lab_fabric_switch(rounds->walk.lab, rounds->broken, false, &err));
}

static void revive_switch(struct rounds *rounds)
{
    must(rounds, lab_fabric_switch(rounds->walk.lab, rounds->broken, true, &err));
}

static void unplug(struct rounds *rounds)
{
    rounds->broken = walk_dice(&rounds->walk, WALK_HOSTS);
    must(rounds, lab_fabric_link(rounds->walk.lab, rounds->broken, false, &err));
}

static void flap(struct rounds *rounds)
{
    for (unsigned times = 0; times < FLAPS; times++) {
        lab_sleep_ms(HALF_FLAP_MS);
        must(rounds, lab_fabric_link(rounds->walk.lab, rounds->broken, times % 2 == 0, &err));
    }
}

struct fault {
    const char *name;
    act breaks, mends;
    bool events; /* get lost, or come late */
    unsigned steps;
};

static const struct fault kills[] = {
    {"opensm ended", end_opensm, start_opensm, false, 1},
    {"opensm killed", kill_opensm, start_opensm, false, 1},
    {"opensm ended, its cached files lost", end_opensm, start_opensm_anew, false, 1},
    {"opensm killed, its cached files lost", kill_opensm, start_opensm_anew, false, 1},
    {"oneibd ended", end_oneibd, start_oneibd, false, 1},
    {"oneibd killed", kill_oneibd, start_oneibd, false, 1},
    {"oneibd killed again", kill_oneibd, start_oneibd, false, 1},
    {"oned killed", kill_oned, start_oned, true, 1},
    {"oned's publisher killed", stop_publisher, start_publisher, true, 1},
};

static const struct fault event_faults[] = {
    {"events lost", lose_events, events_are_well, true, 2},
    {"events repeated", repeat_events, events_are_well, false, 1},
    {"events out of order", reorder_events, events_are_well, true, 3},
};

static const struct fault fabric_faults[] = {
    {"a switch died", kill_switch, revive_switch, false, 2},
    {"a link flapped", unplug, flap, false, 1},
};

static void wait_a_little(struct rounds *rounds)
{
    lab_sleep_ms((unsigned)walk_dice(&rounds->walk, LONGEST_DELAY_MS));
}

/* What breaks does so before the step, or while the step is being put into force. */
static void faulty_round(struct rounds *rounds, const struct fault *fault, bool breaks_first)
{
    snprintf(rounds->fault, sizeof rounds->fault, "%s%s", fault->name,
             breaks_first ? " before" : "");
    if (fault->events)
        rounds->patience_ms = PATIENCE_WITHOUT_EVENTS_MS;
    if (breaks_first)
        fault->breaks(rounds);
    for (unsigned i = 0; i < fault->steps; i++)
        step(rounds, !fault->events);
    wait_a_little(rounds);
    if (!breaks_first)
        fault->breaks(rounds);
    fault->mends(rounds);
    await_right(rounds);
    if (fault->events)
        resynchronise(rounds);
    rounds->patience_ms = PATIENCE_MS;
}

/* ---- a compromised host ---------------------------------------------------------------------- */

/* It has no InfiniBand, and a key of oneib-node's that is believed. */
static void add_liar(struct rounds *rounds)
{
    struct lab *lab = rounds->walk.lab;
    must(rounds, lab_host_create_bare(lab, "liar", &rounds->liar, &err));
    must(rounds, lab_play_host(lab, rounds->liar, "mlx4_0", "mlx4", 0, LIARS_PORT, 0, &err));
}

/* IB_HCA in its name, or in another host's. */
static void forge_probe(struct rounds *rounds)
{
    static const char *const drivers[] = {"mlx4", "mlx5", "other"};
    struct lab *lab = rounds->walk.lab;
    oneib_autotext struct oneib_text text = {0};
    const size_t count = walk_dice(&rounds->walk, WALK_HOSTS) + 1;
    for (size_t i = 0; i < count; i++) {
        const size_t host = walk_dice(&rounds->walk, WALK_HOSTS);
        const unsigned port = 1 + (unsigned)walk_dice(&rounds->walk, lab_host_ports(lab));
        oneib_text_printf(
            &text,
            "IB_HCA = [ NAME = \"mlx4_%zu\", DRIVER = \"%s\", PORT = \"1\", PORT_GUID = "
            "\"0x%016" PRIx64 "\", VFS_TOTAL = \"%zu\" ]\n",
            i, drivers[walk_dice(&rounds->walk, 3)], lab_host_guid_of_port(lab, host, port),
            walk_dice(&rounds->walk, 9));
    }
    const bool in_its_own = walk_dice(&rounds->walk, 2) == 0;
    must(rounds, lab_host_monitor(lab,
                                  in_its_own ? rounds->liar
                                             : (uint32_t)walk_dice(&rounds->walk, WALK_HOSTS),
                                  text.data, &err));
}

static void lie(struct rounds *rounds)
{
    static const char *const moods[] = {"lies", "silent", "well"};
    const size_t what = walk_dice(&rounds->walk, LIAR_DOES);
    if (what < 3)
        must(rounds, lab_host_mood(rounds->walk.lab, LIARS_PORT, moods[what], &err));
    else
        forge_probe(rounds);
}

static const struct fault *pick_fault(struct rounds *rounds, const struct fault *faults,
                                      size_t count)
{
    return &faults[walk_dice(&rounds->walk, count)];
}
#define PICK(rounds, faults) pick_fault(rounds, faults, sizeof(faults) / sizeof *(faults))

static void one_round(struct rounds *rounds)
{
    const size_t chance = walk_dice(&rounds->walk, 100);
    rounds->fault[0] = '\0';
    table_watch_lock(rounds->watch);
    begin_rules(rounds);
    table_watch_unlock(rounds->watch);
    if (chance < KILLS)
        faulty_round(rounds, PICK(rounds, kills), walk_dice(&rounds->walk, 2) == 0);
    else if (chance < KILLS + EVENT_FAULTS)
        faulty_round(rounds, PICK(rounds, event_faults), true);
    else if (chance < KILLS + EVENT_FAULTS + FABRIC_FAULTS)
        faulty_round(rounds, PICK(rounds, fabric_faults), walk_dice(&rounds->walk, 2) == 0);
    else
        plain_round(rounds);
    if (walk_dice(&rounds->walk, 100) < LIES)
        lie(rounds);
    if (memcmp(rounds->keys_before, rounds->walk.keys, sizeof rounds->keys_before) != 0)
        settle(rounds);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Polls that come often: an event that is lost costs that long. */
static const struct lab_config config = {
    .daemon = "poll_preparing = 200; poll_idle = 1000; reread = 1000; verify = 5000;",
};

static void begin(struct rounds *rounds)
{
    rounds->patience_ms = PATIENCE_MS;
    must(rounds, walk_raise(&rounds->walk, &slow_sm, &config, &err));
    must(rounds, lab_oneibd_start(rounds->walk.lab, &LAB_DAEMON, &err));
    add_liar(rounds);
    rounds->watch = table_watch_start(rounds->walk.lab, &err);
    must(rounds, rounds->watch ? 0 : -1);
    await_right(rounds);
}

/* Switches and the SM's host too, which are not watched. */
static void every_port_must_be_right(struct rounds *rounds)
{
    struct lab_output output = {0};
    must(rounds, lab_run(rounds->walk.lab, LAB_SM_HCA, (const char *[]){FABRIC_TABLES_BINARY, NULL},
                         PROGRAM_TIMEOUT_MS, &output, &err));
    if (output.status != 0 || walk_count_wrong(&rounds->walk, output.out) > 0)
        give_up(rounds, "ports are wrong, by fabric-tables");
    lab_output_clear(&output);
}

static void every_port_comes_to_hold_its_keys_whatever_fails(void **state)
{
    (void)state;
    static struct rounds rounds;
    rounds.walk.random = walk_setting("ONEIB_WALK_SEED", (unsigned)time(NULL));
    const unsigned steps = walk_setting("ONEIB_WALK_STEPS", STEPS);
    rounds.walk.shape = lab_shape_chosen("ONEIB_WALK_FABRIC", &lab_three_levels);
    print_message("replay with ONEIB_WALK_SEED=%u\n", rounds.walk.random);

    begin(&rounds);
    const double start = oneib_now_ms();
    while (rounds.steps < steps)
        one_round(&rounds);
    every_port_must_be_right(&rounds);
    print_message("%u steps in %.1f s, the slowest %.0f ms, %llu readings of all tables\n",
                  rounds.steps, (oneib_now_ms() - start) / 1000, rounds.slowest,
                  (unsigned long long)rounds.watch->readings);
    must(&rounds, lab_oneibd_stop(rounds.walk.lab, LAB_DAEMON.name, SIGTERM, &err));
    lab_close(rounds.walk.lab);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], TABLE_WATCH_VERB) == 0)
        return table_watch_main(argv);
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_port_comes_to_hold_its_keys_whatever_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
