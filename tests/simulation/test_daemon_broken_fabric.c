// SPDX-License-Identifier: Apache-2.0
/*
 * A running oneibd on a fabric of three levels that breaks at the worst moment: a switch dies while
 * opensm goes from port to port with a change, and a host's link goes down and comes back once in a
 * second while clusters grow and shrink. What ports hold meanwhile is judged by a program of its
 * own (table_watch.h), reading by reading: nobody gets a key who should not have it, and whoever
 * can be reached keeps his. Afterwards everything is in force, verified and without findings.
 */
#include "base/clock.h"
#include "daemon_scene.h"
#include "table_watch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define HOSTS 8 /* of lab_three_levels, two for each one of it: 0, 1 below L1; 2-5 L2; 6, 7 L3 */
#define ON(host) (UINT32_C(1) << (host))
#define BELOW_L3 (ON(6) | ON(7))
#define NOBODY UINT32_C(0)
#define DEFAULT_LIMITED 0x7fffu

/* LAB_SM that sends one request after the other: a change is half done for longer. */
static const struct lab_sm slow_sm = {.name = "opensm",
                                      .hca = LAB_SM_HCA,
                                      .priority = 8,
                                      .options = "max_wire_smps 1\nmax_wire_smps2 1\n"};

static struct oneib_error err;
static struct table_watch *watch;

/* A cluster, and where it has VMs. */
struct cluster {
    const char *name, *vlan_id;
    unsigned raw;
    uint32_t hosts; /* a bit a host */
    uint32_t network;
    uint32_t vms[HOSTS];
};
enum { STEADY, MOVING, NEIGHBOUR, CLUSTERS };
static struct cluster clusters[CLUSTERS];

static int raise_three_levels(void **state)
{
    (void)state;
    const struct lab_options options = {.hosts_per_leaf = 2, .shape = &lab_three_levels};
    if (daemon_raise_on(&options, NULL) < 0)
        return -1;
    if (lab_missing())
        return 0;
    MUST(lab_opensm_stop(scene(), slow_sm.name, true, &err));
    MUST(lab_opensm_start(scene(), &slow_sm, &err));
    daemon_start_with(NULL, DAEMON_QUICK " verify = 2000;", NULL);
    return 0;
}

/* ---- clusters -------------------------------------------------------------------------------- */

static void set_hosts(struct cluster *cluster, uint32_t hosts)
{
    for (uint32_t host = 0; host < HOSTS; host++) {
        if (hosts & ~cluster->hosts & ON(host))
            cluster->vms[host] = scene_vm(cluster->network, host);
        if (cluster->hosts & ~hosts & ON(host))
            scene_end_vm(cluster->vms[host]);
    }
    cluster->hosts = hosts;
}

static void add_cluster(size_t number, const char *name, const char *vlan_id, unsigned key,
                        uint32_t hosts)
{
    struct cluster *cluster = &clusters[number];
    *cluster = (struct cluster){.name = name, .vlan_id = vlan_id, .raw = FULL(key)};
    cluster->network = scene_network(name, vlan_id, NULL);
    set_hosts(cluster, hosts);
}

static bool is_right(size_t host)
{
    size_t wanted = 1, found = 0;
    for (size_t i = 0; i < CLUSTERS; i++)
        wanted += (clusters[i].hosts & ON(host)) != 0;
    for (size_t i = 0; i < watch->tables[host].count; i++) {
        const unsigned raw = watch->tables[host].keys[i];
        found += raw == DEFAULT_LIMITED;
        for (size_t j = 0; j < CLUSTERS; j++)
            found += raw == clusters[j].raw && (clusters[j].hosts & ON(host));
    }
    return found == wanted && watch->tables[host].count == wanted;
}

/* ---- the watch ------------------------------------------------------------------------------- */

static void must_not_be_violated(void)
{
    if (watch->violation[0])
        fail_msg("%s", watch->violation);
}

/* Of the hosts that are in `hosts`; in a reading that has begun since. */
static void await_right(uint32_t hosts)
{
    const double begin = oneib_now_ms();
    table_watch_lock(watch);
    const uint64_t readings = watch->readings + 1;
    table_watch_unlock(watch);
    for (bool right = false; !right; lab_sleep_ms(2)) {
        size_t wrong = HOSTS;
        table_watch_lock(watch);
        must_not_be_violated();
        for (size_t host = 0; host < HOSTS; host++)
            if ((hosts & ON(host)) && !is_right(host))
                wrong = host;
        right = wrong == HOSTS && watch->readings > readings;
        table_watch_unlock(watch);
        if (!right && oneib_now_ms() > begin + DAEMON_PATIENCE_MS)
            fail_msg("host %zu has not the right table", wrong);
    }
}

static void judge(const struct cluster *cluster, uint32_t may, uint32_t must)
{
    table_watch_lock(watch);
    watch->rules[cluster->raw] = (struct table_rule){.may = may, .must = must};
    table_watch_unlock(watch);
}

/* From a moment on when all tables are right. */
static void judge_as_it_is(void)
{
    for (size_t i = 0; i < CLUSTERS; i++)
        judge(&clusters[i], clusters[i].hosts, clusters[i].hosts);
    table_watch_lock(watch);
    watch->rules[DEFAULT_LIMITED].may = UINT32_MAX;
    watch->judging = true;
    table_watch_unlock(watch);
}

static void set_away(uint32_t hosts)
{
    table_watch_lock(watch);
    watch->away = hosts;
    table_watch_unlock(watch);
}

static void begin(uint32_t steady, uint32_t moving, uint32_t neighbour)
{
    scene();
    add_cluster(STEADY, "blue", "300", 300, steady);
    add_cluster(MOVING, "green", "301", 301, moving);
    add_cluster(NEIGHBOUR, "red", "302", 302, neighbour);
    watch = table_watch_start(scene(), &err);
    MUST(watch ? 0 : -1);
    await_right(UINT32_MAX);
    await_health(200, NULL);
    judge_as_it_is();
}

/* On a busy machine the command's questions, or their answers, are lost more often than it asks. */
static void await_verified(void)
{
    const double begin = oneib_now_ms();
    struct lab_output output = {0};
    do {
        lab_output_clear(&output);
        MUST(lab_oneib(scene(), (const char *[]){"verify", NULL}, SCENE_TIMEOUT_MS, &output, &err));
    } while (output.status != 0 && oneib_now_ms() < begin + DAEMON_PATIENCE_MS);
    if (output.status != 0)
        fail_msg("oneib verify: %s%s", output.out, output.error);
    lab_output_clear(&output);
}

/* Read after `since` (Unix seconds), found as it should be, and nothing left to say. */
static void everything_is_verified_since(double since)
{
    await_right(UINT32_MAX);
    await_metric_at_least("oneib_sync_last_timestamp_seconds", since);
    await_metric("oneib_in_force", 1);
    await_metric("oneib_findings{severity=\"violation\"}", 0);
    await_metric("oneib_findings{severity=\"warning\"}", 0);
    await_metric("oneib_deviations{kind=\"port-silent\"}", 0);
    await_health(200, NULL);
    await_verified();
}

/* ---- a switch that dies ---------------------------------------------------------------------- */

/* Until the first port of any shows what was changed: opensm is on its way then, and has not been
 * everywhere. Returns how many of the ports have it. */
static unsigned await_sweep(const struct cluster *cluster, uint32_t before)
{
    const double begin = oneib_now_ms();
    unsigned changed = 0;
    while (changed == 0) {
        table_watch_lock(watch);
        for (size_t host = 0; host < HOSTS; host++) {
            bool holds = false;
            for (size_t i = 0; i < watch->tables[host].count; i++)
                holds = holds || watch->tables[host].keys[i] == cluster->raw;
            changed += holds != ((before & ON(host)) != 0);
        }
        table_watch_unlock(watch);
        if (oneib_now_ms() > begin + DAEMON_PATIENCE_MS)
            fail_msg("no port shows the change");
    }
    return changed;
}

static void fabric_command(const char *verb, const char *name)
{
    char command[64];
    snprintf(command, sizeof command, "%s \"%s\"", verb, name);
    MUST(lab_fabric_command(scene(), command, &err));
}

/* `name` is a switch without which the hosts below L3 are cut off. */
static void a_switch_dies_while_a_cluster_moves(const char *name, uint32_t to)
{
    struct cluster *moving = &clusters[MOVING];
    const uint32_t before = moving->hosts;
    judge(moving, before | to, before & to);
    set_hosts(moving, to);
    const unsigned changed = await_sweep(moving, before);
    set_away(BELOW_L3);
    fabric_command("Unlink", name);
    print_message("%s died with the change on %u of %d ports\n", name, changed,
                  __builtin_popcount(before ^ to));
    await_right(~BELOW_L3);

    const double back = (double)time(NULL);
    fabric_command("ReLink", name);
    set_away(NOBODY);
    everything_is_verified_since(back);
    judge_as_it_is();
}

static void a_switch_that_dies_in_the_middle_of_a_sweep_lets_nobody_in_or_out(void **state)
{
    (void)state;
    const uint32_t here = ON(0) | ON(2) | ON(6), there = ON(3) | ON(5) | ON(7);
    begin(ON(1) | ON(4) | ON(7), here, ON(2) | ON(5));
    a_switch_dies_while_a_cluster_moves("M2", there);
    a_switch_dies_while_a_cluster_moves("L3", here);
    a_switch_dies_while_a_cluster_moves("M2", there);
}

/* ---- a link that flaps ----------------------------------------------------------------------- */

#define FLAPPING 3
#define FLAPS 15
#define HALF_MS 500

static void sleep_until(double ms)
{
    const double now = oneib_now_ms();
    if (now < ms)
        lab_sleep_ms((unsigned)(ms - now) + 1);
}

/* Also while the port passes no data, which the watch does not judge. */
static void holds_no_strangers_key(size_t host)
{
    table_watch_lock(watch);
    must_not_be_violated();
    for (size_t i = 0; i < watch->tables[host].count; i++)
        for (size_t j = 0; j < CLUSTERS; j++)
            if (watch->tables[host].keys[i] == clusters[j].raw && !(clusters[j].hosts & ON(host)))
                fail_msg("host %zu holds the key of %s", host, clusters[j].name);
    table_watch_unlock(watch);
}

static unsigned calls_of_oned(void)
{
    static const char *const methods[] = {"one.vm.info",     "one.vn.info",
                                          "one.host.info",   "one.vmpool.infoextended",
                                          "one.vnpool.info", "one.hostpool.info"};
    unsigned calls = 0;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        calls += calls_of(methods[i]);
    return calls;
}

static void a_link_that_flaps_costs_its_host_and_its_neighbours_nothing(void **state)
{
    (void)state;
    /* What a change may cost: it is looked at twice, each time with network and host; and polls. */
    enum { CALLS_A_CHANGE = 12, RELOADS_A_CHANGE = 2, CHANGES = 2 * FLAPS };
    static const uint32_t places[] = {ON(0), ON(2), ON(4), ON(6)};
    const uint32_t all = ON(0) | ON(2) | ON(4) | ON(6);
    begin(ON(1) | ON(FLAPPING), ON(0), ON(2) | ON(5));
    judge(&clusters[MOVING], all, NOBODY);
    const unsigned calls = calls_of_oned();
    const double reloads = metric("oneib_reloads_total");

    double due = oneib_now_ms();
    for (unsigned half = 0; half < CHANGES; half++, due += HALF_MS) {
        const bool up = half % 2 == 1;
        sleep_until(due);
        if (!up)
            set_away(ON(FLAPPING));
        MUST(lab_fabric_link(scene(), FLAPPING, up, &err));
        if (up)
            set_away(NOBODY);
        set_hosts(&clusters[MOVING], clusters[MOVING].hosts ^ places[half % 4]);
        holds_no_strangers_key(FLAPPING);
    }
    const double quiet = (double)time(NULL);
    everything_is_verified_since(quiet);
    judge_as_it_is();
    holds_no_strangers_key(FLAPPING);
    print_message("%u calls of oned, %.0f reloads for %d changes\n", calls_of_oned() - calls,
                  metric("oneib_reloads_total") - reloads, CHANGES);
    assert_in_range(calls_of_oned() - calls, CHANGES, CALLS_A_CHANGE * CHANGES);
    assert_true(metric("oneib_reloads_total") - reloads <= RELOADS_A_CHANGE * CHANGES);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], TABLE_WATCH_VERB) == 0)
        return table_watch_main(argv);
    const struct CMUnitTest tests[] = {
        DAEMON_CASE(raise_three_levels,
                    a_switch_that_dies_in_the_middle_of_a_sweep_lets_nobody_in_or_out),
        DAEMON_CASE(raise_three_levels,
                    a_link_that_flaps_costs_its_host_and_its_neighbours_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
