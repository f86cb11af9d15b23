// SPDX-License-Identifier: Apache-2.0
/*
 * oneibd as a process: signals at any moment, a second one, `oneib sync` beside it, its clock, and
 * what it answers over HTTP while others hang. On ibsim with a real opensm.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon_scene.h"
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Ends are promised within 2 s; this machine may have other things to do. */
#define END_MS 10000.0
#define KILLS 8
#define ROUNDS 6

static struct oneib_error err;

static void fault(const char *kind)
{
    MUST(lab_fault(scene(), kind, 1000000, 3600, &err));
}

static void no_fault(void)
{
    MUST(lab_fault(scene(), "html", 0, 0, &err));
}

static void signal_opensm(int signal)
{
    MUST(lab_opensm_signal(scene(), LAB_SM.name, signal, &err));
}

/* ---- beside others --------------------------------------------------------------------------- */

static void a_second_one_for_the_same_file_ends_at_once_and_names_the_first(void **state)
{
    (void)state;
    char first[32];
    struct lab_output output = {0};
    const char *argv[] = {ONEIBD_BINARY, "--config", lab_config_path(scene()), NULL};
    MUST(lab_run(scene(), LAB_SM_HCA, argv, SCENE_TIMEOUT_MS, &output, &err));
    assert_int_equal(output.status, 3);
    snprintf(first, sizeof first, "process %d", (int)daemon_pid());
    must_say(output.error, first);
    lab_output_clear(&output);

    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    daemon_kill();
    daemon_start(); /* the lock went with the process */
}

static void sync_beside_it_loses_nobody(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    scene_vm(network, 0);
    await_holds(0, FULL(RED));
    uint32_t last = scene_vm(network, 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        ONEIB(0, "sync");
        assert_true(port_holds(0, FULL(RED)));
        await_holds(1 + i % 3, FULL(RED)); /* what is new is the daemon's to add */
        scene_end_vm(last);
        last = scene_vm(network, 1 + (i + 1) % 3);
    }
    await_lacks(1 + (ROUNDS - 1) % 3, FULL(RED));
    await_holds(1 + ROUNDS % 3, FULL(RED));
    assert_true(port_holds(0, FULL(RED)));
    await_health(200, NULL);
}

/* ---- a new configuration --------------------------------------------------------------------- */

static void sighup_takes_a_new_configuration(void **state)
{
    (void)state;
    scene();
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    daemon_configure(&(struct lab_config){.other = "pkeys: { first = 1000; };"});
    daemon_signal(SIGHUP);
    await_said("the configuration was read again");
    assert_int_equal(await_key_of(scene_network("blue", "", NULL)), 1000);
    assert_true(port_holds(0, FULL(RED)));
    await_health(200, NULL);
}

static void a_broken_configuration_is_refused_and_the_old_one_stays(void **state)
{
    (void)state;
    static const char *const broken[] = {"one: {", "nothing = 1;", "pkeys: { first = 70000; };",
                                         "daemon: { metrics = \"x\"; };",
                                         "one: { auth_file = \"/nonexistent\"; };"};
    scene();
    uint32_t network = red_network();
    for (uint32_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        daemon_forget_log();
        MUST(lab_write(scene(), "oneib.conf", 0600, broken[i], &err));
        daemon_signal(SIGHUP);
        await_said("the old configuration stays");
        uint32_t vm = scene_vm(network, i % SCENE_HOSTS);
        await_holds(i % SCENE_HOSTS, FULL(RED));
        scene_end_vm(vm);
        await_lacks(i % SCENE_HOSTS, FULL(RED));
    }
    await_health(200, NULL);
}

static void sighups_one_after_the_other_lose_nobody(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    scene_vm(network, 0);
    await_holds(0, FULL(RED));
    for (uint32_t i = 1; i < SCENE_HOSTS; i++) {
        scene_vm(network, i);
        for (unsigned j = 0; j < 5; j++) {
            daemon_signal(SIGHUP);
            lab_sleep_ms(7);
        }
        assert_true(port_holds(0, FULL(RED)));
    }
    for (uint32_t i = 0; i < SCENE_HOSTS; i++)
        await_holds(i, FULL(RED));
    await_health(200, NULL);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void it_must_end_soon(void)
{
    const double began = oneib_now_ms();
    daemon_end();
    if (oneib_now_ms() - began > END_MS)
        fail_msg("it ended after %.0f ms", oneib_now_ms() - began);
    assert_true(daemon_said("ended; the partitions stay as they are"));
}

static void sigterm_ends_it_while_it_is_idle(void **state)
{
    (void)state;
    scene();
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    it_must_end_soon();
    assert_true(port_holds(0, FULL(RED)));
}

static void sigterm_ends_it_while_oned_hangs(void **state)
{
    (void)state;
    scene();
    fault("hang");
    scene_vm(red_network(), 0);
    lab_sleep_ms(DAEMON_DOUBT_MS);
    it_must_end_soon();
}

/* A process that was just started is ended by any SIGTERM. */
static void await_signal_handler(void)
{
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)daemon_pid());
    for (unsigned waited = 0; !(caught >> (SIGTERM - 1) & 1); waited += 50) {
        FILE *status = fopen(path, "r");
        assert_non_null(status);
        while (fgets(line, sizeof line, status))
            sscanf(line, "SigCgt: %llx", &caught);
        fclose(status);
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("oneibd does not handle SIGTERM");
        lab_sleep_ms(50);
    }
}

static void sigterm_ends_it_while_oned_hangs_at_the_start(void **state)
{
    (void)state;
    MUST(lab_accept_waiting(scene(), &err));
    fault("hang");
    daemon_spawn();
    await_signal_handler();
    lab_sleep_ms(DAEMON_DOUBT_MS);
    it_must_end_soon();
}

static void sigterm_ends_it_while_oned_is_down(void **state)
{
    (void)state;
    scene();
    MUST(lab_standin_down(scene(), true, &err));
    daemon_spawn();
    await_said("cannot reach oned");
    it_must_end_soon();
}

static void sigterm_ends_it_while_it_waits_for_opensm(void **state)
{
    (void)state;
    scene();
    signal_opensm(SIGSTOP);
    scene_vm(red_network(), 0);
    lab_sleep_ms(DAEMON_DOUBT_MS);
    it_must_end_soon();
    signal_opensm(SIGCONT);
    daemon_start();
    await_holds(0, FULL(RED));
    await_health(200, NULL);
}

static void sigterm_ends_it_while_somebody_else_has_the_lock(void **state)
{
    (void)state;
    scene();
    pid_t other;
    uint32_t network = red_network();
    const char *argv[] = {ONEIB_BINARY, "sync", "--config", lab_config_path(scene()), NULL};
    fault("hang");
    MUST(lab_spawn(scene(), "other", LAB_SM_HCA, argv, &other, &err));
    lab_sleep_ms(DAEMON_DOUBT_MS);
    scene_vm(network, 0);
    lab_sleep_ms(DAEMON_DOUBT_MS);
    it_must_end_soon();
    MUST(lab_end(scene(), other, SIGKILL, SCENE_TIMEOUT_MS, &err));
}

/* Whatever it was doing: what follows is what oned wants. */
static void killed_at_any_moment_it_goes_on_where_it_was(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network(), ending = scene_vm(network, 1);
    scene_vm(network, 0);
    await_holds(0, FULL(RED));
    for (unsigned i = 0; i < KILLS; i++) {
        scene_end_vm(ending);
        ending = scene_vm(network, 1 + i % 2);
        lab_sleep_ms(i * 6);
        daemon_kill();
        assert_true(port_holds(0, FULL(RED)));
        daemon_spawn();
        lab_sleep_ms(40 + i * 17);
    }
    await_holds(1 + (KILLS - 1) % 2, FULL(RED));
    await_lacks(1 + KILLS % 2, FULL(RED));
    assert_true(port_holds(0, FULL(RED)));
    await_health(200, NULL);
    ONEIB(0, "verify");
}

/* ---- its clock ------------------------------------------------------------------------------- */

static void set_clock(const char *seconds)
{
    MUST(lab_write(scene(), "clock", 0600, seconds, &err));
}

/* Polls come once a second: neither none nor all at once. */
static void polls_must_go_on_evenly(void)
{
    const double before = metric("oneib_looks_total");
    await_metric_at_least("oneib_looks_total", before + 2);
    const double between = metric("oneib_looks_total");
    lab_sleep_ms(1500);
    assert_in_range((unsigned)(metric("oneib_looks_total") - between), 1, 6);
}

static void a_wall_clock_that_jumps_neither_stops_nor_hurries_it(void **state)
{
    (void)state;
    static const char *const jumps[] = {"86400\n", "-86400\n"};
    scene();
    uint32_t network = red_network();
    set_clock("0\n");
    struct lab_daemon daemon = LAB_DAEMON;
    daemon.clock = lab_path(scene(), "clock");
    MUST(lab_oneibd_start(scene(), &daemon, &err));
    for (uint32_t i = 0; i < 2; i++) {
        const double look = metric("oneib_look_last_timestamp_seconds");
        set_clock(jumps[i]);
        polls_must_go_on_evenly();
        assert_true(fabs(metric("oneib_look_last_timestamp_seconds") - look) > 80000);
        scene_vm(network, i);
        await_holds(i, FULL(RED));
    }
    daemon_end();
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

static void it_must_answer_for(unsigned milliseconds)
{
    const double end = oneib_now_ms() + milliseconds;
    while (oneib_now_ms() < end) {
        unsigned status;
        double value;
        oneib_autofree char *body = NULL;
        const double asked = oneib_now_ms();
        MUST(lab_metric(lab_metrics_address(scene()), "oneib_in_force", &value, &err));
        MUST(lab_http_get(lab_metrics_address(scene()), "/healthz", &status, &body, &err));
        assert_true(status == 200 || status == 503);
        assert_true(oneib_now_ms() - asked < 5000);
        lab_sleep_ms(20);
    }
}

static void it_answers_over_http_while_opensm_is_stopped(void **state)
{
    (void)state;
    scene();
    await_metric("oneib_in_force", 1);
    signal_opensm(SIGSTOP);
    scene_vm(red_network(), 0);
    it_must_answer_for(2000);
    signal_opensm(SIGCONT);
    await_holds(0, FULL(RED));
    await_health(200, NULL);
}

static void it_answers_over_http_while_oned_hangs(void **state)
{
    (void)state;
    scene();
    await_metric("oneib_in_force", 1);
    fault("hang");
    scene_vm(red_network(), 0);
    it_must_answer_for(1500);
    no_fault();
}

#define STOPPED(test) DAEMON_CASE(daemon_raise, test)
#define WATCHING(test) DAEMON_CASE(daemon_raise_watching, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WATCHING(a_second_one_for_the_same_file_ends_at_once_and_names_the_first),
        WATCHING(sync_beside_it_loses_nobody),
        WATCHING(sighup_takes_a_new_configuration),
        WATCHING(a_broken_configuration_is_refused_and_the_old_one_stays),
        WATCHING(sighups_one_after_the_other_lose_nobody),
        WATCHING(sigterm_ends_it_while_it_is_idle),
        WATCHING(sigterm_ends_it_while_oned_hangs),
        STOPPED(sigterm_ends_it_while_oned_hangs_at_the_start),
        STOPPED(sigterm_ends_it_while_oned_is_down),
        WATCHING(sigterm_ends_it_while_it_waits_for_opensm),
        WATCHING(sigterm_ends_it_while_somebody_else_has_the_lock),
        WATCHING(killed_at_any_moment_it_goes_on_where_it_was),
        STOPPED(a_wall_clock_that_jumps_neither_stops_nor_hurries_it),
        WATCHING(it_answers_over_http_while_opensm_is_stopped),
        WATCHING(it_answers_over_http_while_oned_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
