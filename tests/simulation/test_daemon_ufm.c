// SPDX-License-Identifier: Apache-2.0
/*
 * oneibd with sm.kind = "ufm", on a stand-in for UFM: what it believes a real opensm brings to the
 * ports of ibsim, and what counts is what these hold. UFM itself was never seen.
 */
#include "../skip.h"
#include "base/cleanup.h"
#include "daemon_scene.h"
#include "ib/guid.h"
#include "lab_ufm.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BLUE 258u

static struct oneib_error err;

static int raise_ufm(void **state)
{
    setenv("ONEIB_LAB_SM", "ufm", 1);
    return daemon_raise(state);
}

static void order(const char *orders)
{
    MUST(lab_ufm_order(scene(), orders, &err));
}

static void stranger(const char *method, const char *path, const char *body)
{
    MUST(lab_ufm_ask(scene(), method, path, body, NULL, &err));
}

static unsigned calls(const char *begin)
{
    return lab_ufm_calls(scene(), begin);
}

/* oneibd may be quicker than the fabric is: what it has undone no port may ever have had. */
static void await_calls(const char *begin, unsigned wanted)
{
    for (unsigned waited = 0; calls(begin) < wanted; waited += 20) {
        if (waited > DAEMON_PATIENCE_MS)
            fail_msg("there is no further %s", begin);
        lab_sleep_ms(20);
    }
}

/* GUIDs of hosts 0 and 1 as the lab has them. */
#define PUT_OF(key, guid)                                                                          \
    "{\"pkey\":\"" key "\",\"guids\":[\"" guid "\"],\"memberships\":[\"full\"],"                   \
    "\"ip_over_ib\":true,\"index0\":false}"
#define SECOND_HOST "0000000000100005"

/* ---- members --------------------------------------------------------------------------------- */

static void a_cluster_grows_and_shrinks_and_the_ports_follow(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    const uint32_t network = red_network();
    const uint32_t first = scene_vm(network, 0), second = scene_vm(network, 1);
    await_holds(0, FULL(RED));
    await_holds(1, FULL(RED));
    stays_lacking(2, FULL(RED), DAEMON_DOUBT_MS);
    scene_end_vm(first);
    await_lacks(0, FULL(RED));
    assert_true(port_holds(1, FULL(RED)));
    scene_end_vm(second);
    await_lacks(1, FULL(RED));
    await_health(200, NULL);
    ONEIB(0, "verify");
}

static void two_clusters_are_apart_and_a_limited_member_is_limited(void **state)
{
    (void)state;
    scene();
    daemon_start();
    scene_vm(red_network(), 0);
    scene_vm(scene_network("blue", "258", "IB_MEMBERSHIP=\"limited\""), 1);
    await_holds(0, FULL(RED));
    await_holds(1, BLUE);
    assert_false(port_holds(1, FULL(BLUE)));
    assert_false(port_holds(1, FULL(RED)));
    assert_false(port_holds(0, BLUE));
}

static void it_is_known_again_after_a_restart_of_oneibd(void **state)
{
    (void)state;
    scene();
    daemon_start();
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    const unsigned puts = calls("PUT");
    daemon_kill();
    daemon_start();
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
    assert_int_equal(calls("PUT"), puts);
    assert_int_equal(calls("DELETE"), 0);
    assert_int_equal(calls("POST"), 0);
}

/* ---- others ---------------------------------------------------------------------------------- */

static void a_strangers_member_is_taken_out_again(void **state)
{
    (void)state;
    scene();
    daemon_start();
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    lab_sleep_ms(1100); /* last_updated is whole seconds */
    const unsigned puts = calls("PUT");
    stranger("POST", "/resources/pkeys/", PUT_OF("0x101", SECOND_HOST));
    await_calls("PUT", puts + 1);
    await_lacks(1, FULL(RED));
    stays_lacking(1, FULL(RED), DAEMON_DOUBT_MS);
    assert_true(port_holds(0, FULL(RED)));
}

static void a_key_that_vanishes_comes_back(void **state)
{
    (void)state;
    scene();
    daemon_start();
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    lab_sleep_ms(1100);
    const unsigned puts = calls("PUT");
    stranger("DELETE", "/resources/pkeys/0x101", NULL);
    await_calls("PUT", puts + 1);
    await_holds(0, FULL(RED));
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
}

static void what_nothing_tells_of_is_found_by_the_full_reading(void **state)
{
    (void)state;
    scene();
    order("stamp off\n");
    daemon_start_with(NULL, "poll_preparing = 5000; poll_idle = 600000; verify = 2000;", NULL);
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    const unsigned puts = calls("PUT");
    stranger("DELETE", "/resources/pkeys/0x101", NULL);
    await_calls("PUT", puts + 1);
    await_holds(0, FULL(RED));
}

static void keys_outside_of_the_range_are_left_alone(void **state)
{
    (void)state;
    scene();
    stranger("PUT", "/resources/pkeys/", PUT_OF("0x50", SECOND_HOST));
    daemon_start_with(NULL, "verify = 1000;" DAEMON_QUICK, NULL);
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    await_holds(1, FULL(0x50));
    stays_holding(1, FULL(0x50), 3000);
    assert_int_equal(calls("DELETE"), 0);
}

static void keys_that_were_there_before_are_taken_over_by_order_alone(void **state)
{
    (void)state;
    scene();
    stranger("PUT", "/resources/pkeys/", PUT_OF("0x300", SECOND_HOST));
    scene_vm(red_network(), 0);
    daemon_start();
    await_said("oneib sync --force");
    stays_lacking(0, FULL(RED), DAEMON_DOUBT_MS);
    assert_true(port_holds(1, FULL(0x300)));
    daemon_end();
    ONEIB(0, "sync", "--force");
    assert_false(port_holds(1, FULL(0x300)));
    daemon_start();
    await_holds(0, FULL(RED));
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* Whoever comes and goes meanwhile is there, and gone, in the end. */
static void outlives(const char *orders)
{
    daemon_start();
    const uint32_t network = red_network();
    const uint32_t first = scene_vm(network, 0);
    await_holds(0, FULL(RED));
    order(orders);
    scene_vm(network, 1);
    scene_end_vm(first);
    await_holds(1, FULL(RED));
    await_lacks(0, FULL(RED));
    await_health(200, NULL);
    stays_holding(1, FULL(RED), DAEMON_DOUBT_MS);
}

static void it_outlives_a_ufm_that_is_busy(void **state)
{
    (void)state;
    scene();
    outlives("refuse any 6\n");
}

static void it_outlives_answers_that_are_cut(void **state)
{
    (void)state;
    scene();
    outlives("cut any 5\n");
}

static void it_outlives_calls_that_are_lost(void **state)
{
    (void)state;
    scene();
    outlives("lose any 5\n");
}

static void it_outlives_changes_that_are_done_by_half(void **state)
{
    (void)state;
    scene();
    outlives("half PUT 2\n");
}

static void it_outlives_a_ufm_that_is_slow(void **state)
{
    (void)state;
    scene();
    outlives("slow any 6 400\n");
}

static void it_outlives_a_ufm_that_starts_anew_in_the_middle(void **state)
{
    (void)state;
    scene();
    outlives("restart PUT 1 2500\n");
}

/* All that it believed is gone: it is brought there again. */
static void it_outlives_a_ufm_that_has_forgotten_everything(void **state)
{
    (void)state;
    scene();
    daemon_start();
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    MUST(lab_ufm_stop(scene(), &err));
    await_health(503, NULL);
    MUST(lab_ufm_start(scene(), NULL, &err));
    await_health(200, NULL);
    await_holds(0, FULL(RED));
}

static void a_user_and_a_password_will_do_and_are_in_no_log(void **state)
{
    (void)state;
    static char settings[512];
    snprintf(settings, sizeof settings, "auth = \"basic\"; secret = \"%s/ufm.password\";",
             lab_directory(scene()));
    lab_ufm_more(scene(), settings);
    daemon_start_with(NULL, DAEMON_QUICK, "log = { level = \"debug\"; };");
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    order("refuse any 2\n");
    await_said("UFM answers 503");
    assert_false(daemon_said("123456"));
    assert_false(daemon_said("YWRtaW"));
}

static void configure_certificate(const char *whose)
{
    static char settings[512];
    snprintf(settings, sizeof settings,
             "auth = \"certificate\"; certificate = \"%s/%s-ca.pem\"; secret = \"%s/%s-key.pem\";",
             lab_directory(scene()), whose, lab_directory(scene()), whose);
    lab_ufm_more(scene(), settings);
}

static void a_clients_certificate_will_do(void **state)
{
    (void)state;
    configure_certificate("client");
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    const uint32_t vm = scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    must_say(ONEIB(0, "check")->out, "ok    ufm");
    scene_end_vm(vm);
    await_lacks(0, FULL(RED));
}

static void with_a_strangers_certificate_nothing_is_changed_and_it_is_said(void **state)
{
    (void)state;
    configure_certificate("stranger");
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    scene_vm(red_network(), 0);
    await_health(503, NULL);
    await_said("401");
    assert_int_equal(calls("PUT"), 0);
}

/*
 * Two UFMs behind one name. The one that was active goes; the other, which takes its place, has
 * what it was told before some change (here: nothing), and another release.
 */
static void the_other_ufm_of_two_is_brought_to_what_is_to_be(void **state)
{
    (void)state;
    scene();
    daemon_start();
    const uint32_t network = red_network(), first = scene_vm(network, 0);
    await_holds(0, FULL(RED));
    MUST(lab_ufm_stop(scene(), &err));
    await_health(503, NULL);
    scene_end_vm(first);
    scene_vm(network, 1);
    MUST(lab_ufm_start(scene(), "release 6.22.0\n", &err));
    await_health(200, NULL);
    await_holds(1, FULL(RED));
    await_lacks(0, FULL(RED));
}

static void every_shape_of_an_answer_will_do(void **state)
{
    (void)state;
    scene();
    order("shape wraps on\nshape pads on\nshape 404 on\n");
    daemon_start();
    const uint32_t vm = scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    order("shape lists on\nshape 404 off\n");
    scene_end_vm(vm);
    await_lacks(0, FULL(RED));
}

/* ---- what people are told -------------------------------------------------------------------- */

static void commands_name_ufm_and_no_file_of_opensms(void **state)
{
    (void)state;
    uint32_t host; /* without VFs, for no oneibd runs */
    MUST(
        lab_host_create(scene(), "X1", "mlx4_0", "mlx4", "0x000000000010000b", 63, 0, &host, &err));
    scene_vm(red_network(), host);
    const struct lab_output *said = ONEIB(0, "plan");
    must_say(said->out, "~ https://127.0.0.1:");
    must_say(said->out, "will be changed");
    must_not_say(said->out, "opensm");
    said = ONEIB(0, "sync");
    must_say(said->out, "changed: ");
    must_not_say(said->out, "opensm");
    assert_true(port_holds(SCENE_EXTRA, FULL(RED)));
    must_not_say(ONEIB(0, "verify")->out, "opensm");
}

/* The GUID of the VF is in UFM's key; that it is in force nobody has seen, and nobody says. */
static void a_vf_on_mlx5_is_a_member_and_is_called_not_verified(void **state)
{
    (void)state;
    uint32_t host;
    char *answer = NULL;
    MUST(
        lab_host_create(scene(), "X1", "mlx5_0", "mlx5", "0x000000000010000b", 63, 7, &host, &err));
    daemon_start();
    scene_vm(red_network(), host);
    await_calls("PUT", 1);
    await_metric("oneib_members_unverified", 1);
    await_metric("oneib_violations", 0);
    MUST(
        lab_ufm_ask(scene(), "GET", "/resources/pkeys/0x101?guids_data=true", NULL, &answer, &err));
    must_say(answer, "\"index0\":true,\"membership\":\"full\"");
    free(answer);
    must_say(ONEIB(0, "list")->out, "not verified");
    must_say(ONEIB(0, "verify")->out, "1 of the members virtual ports, not verified");
    const struct lab_output *topology = ONEIB(0, "topology");
    must_say(topology->out, "red");
    must_not_say(topology->error, "virtual ports");
}

/* Whatever it says: verified is what was read from the ports. */
static void verify_says_what_ufm_says_of_virtual_ports_and_that_it_proves_nothing(void **state)
{
    (void)state;
    uint32_t host;
    char line[96];
    MUST(
        lab_host_create(scene(), "X1", "mlx5_0", "mlx5", "0x000000000010000b", 63, 7, &host, &err));
    daemon_start();
    const uint32_t vm = scene_vm(red_network(), host);
    await_calls("PUT", 1);
    await_metric("oneib_members_unverified", 1);
    must_say(ONEIB(0, "verify")->out,
             "virtual ports by UFM, not verified: 0 of 1 active, 1 unknown to it\n");
    snprintf(line, sizeof line, "vport 0x%016" PRIx64 " 0x10000b\n", oneib_guid_encode(0, vm, 1));
    order(line);
    const struct lab_output *verify = ONEIB(0, "verify");
    must_say(verify->out, "virtual ports by UFM, not verified: 1 of 1 active\n");
    must_say(verify->out, "1 of the members virtual ports, not verified");
    must_say(ONEIB(0, "list")->out, "not verified");
    json_t *said = json_field(ONEIB_JSON(0, "verify"), "ufm_virtual_ports");
    assert_int_equal(json_number(said, "active"), 1);
    order("vports off\n");
    must_not_say(ONEIB(0, "verify")->out, "UFM says");
}

static const char *check_of_ufm(void)
{
    static struct lab_output output;
    lab_output_clear(&output);
    MUST(lab_oneib(scene(), (const char *[]){"check", NULL}, 30000, &output, &err));
    must_not_say(output.out, "/partitions.conf");
    must_not_say(output.out, "opensm-file");
    return output.out;
}

static void check_says_how_ufm_is(void **state)
{
    (void)state;
    scene();
    must_say(check_of_ufm(), "answers, and has 0 P_Keys of oneib's");
    order("sa_key 0x1\nm_key_per_port off\ndefault 0x100005\nrelease 6.19\n");
    must_say(check_of_ufm(), "UFM's sa_key is the default one");
    must_say(check_of_ufm(), "UFM gives all ports one M_Key");
    must_say(check_of_ufm(), "port 0x0000000000100005 for one");
    MUST(lab_ufm_stop(scene(), &err));
    must_say(check_of_ufm(), "docs/operator-ufm.md");
}

/* ---- what is wrong with it ------------------------------------------------------------------- */

static void nobody_is_added_while_the_default_partition_is_open(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, "verify = 1000;" DAEMON_QUICK, NULL);
    const uint32_t network = red_network();
    const uint32_t first = scene_vm(network, 0);
    await_holds(0, FULL(RED));
    order("default 0x100005\n");
    await_said("full members of the default partition");
    scene_vm(network, 2);
    stays_lacking(2, FULL(RED), 2000);
    scene_end_vm(first);
    await_lacks(0, FULL(RED));
    assert_false(port_holds(2, FULL(RED)));
    order("default none\n");
    await_holds(2, FULL(RED));
}

static void limited_members_get_nothing_from_a_release_that_makes_them_full(void **state)
{
    (void)state;
    scene();
    MUST(lab_ufm_stop(scene(), &err));
    MUST(lab_ufm_start(scene(), "release 6.14\n", &err));
    lab_ufm_more(scene(), "default_limited = true;");
    daemon_start_with(NULL, DAEMON_QUICK, NULL);
    scene_vm(red_network(), 0);
    scene_vm(scene_network("blue", "258", "IB_MEMBERSHIP=\"limited\""), 1);
    await_holds(0, FULL(RED));
    stays_lacking(1, BLUE, DAEMON_DOUBT_MS);
    assert_false(port_holds(1, FULL(BLUE)));
    await_said("limited");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAEMON_CASE(raise_ufm, a_cluster_grows_and_shrinks_and_the_ports_follow),
        DAEMON_CASE(raise_ufm, two_clusters_are_apart_and_a_limited_member_is_limited),
        DAEMON_CASE(raise_ufm, it_is_known_again_after_a_restart_of_oneibd),
        DAEMON_CASE(raise_ufm, a_strangers_member_is_taken_out_again),
        DAEMON_CASE(raise_ufm, a_key_that_vanishes_comes_back),
        DAEMON_CASE(raise_ufm, what_nothing_tells_of_is_found_by_the_full_reading),
        DAEMON_CASE(raise_ufm, keys_outside_of_the_range_are_left_alone),
        DAEMON_CASE(raise_ufm, keys_that_were_there_before_are_taken_over_by_order_alone),
        DAEMON_CASE(raise_ufm, it_outlives_a_ufm_that_is_busy),
        DAEMON_CASE(raise_ufm, it_outlives_answers_that_are_cut),
        DAEMON_CASE(raise_ufm, it_outlives_calls_that_are_lost),
        DAEMON_CASE(raise_ufm, it_outlives_changes_that_are_done_by_half),
        DAEMON_CASE(raise_ufm, it_outlives_a_ufm_that_is_slow),
        DAEMON_CASE(raise_ufm, it_outlives_a_ufm_that_starts_anew_in_the_middle),
        DAEMON_CASE(raise_ufm, it_outlives_a_ufm_that_has_forgotten_everything),
        DAEMON_CASE(raise_ufm, a_user_and_a_password_will_do_and_are_in_no_log),
        DAEMON_CASE(raise_ufm, a_clients_certificate_will_do),
        DAEMON_CASE(raise_ufm, with_a_strangers_certificate_nothing_is_changed_and_it_is_said),
        DAEMON_CASE(raise_ufm, the_other_ufm_of_two_is_brought_to_what_is_to_be),
        DAEMON_CASE(raise_ufm, every_shape_of_an_answer_will_do),
        DAEMON_CASE(raise_ufm, commands_name_ufm_and_no_file_of_opensms),
        DAEMON_CASE(raise_ufm, a_vf_on_mlx5_is_a_member_and_is_called_not_verified),
        DAEMON_CASE(raise_ufm,
                    verify_says_what_ufm_says_of_virtual_ports_and_that_it_proves_nothing),
        DAEMON_CASE(raise_ufm, check_says_how_ufm_is),
        DAEMON_CASE(raise_ufm, nobody_is_added_while_the_default_partition_is_open),
        DAEMON_CASE(raise_ufm, limited_members_get_nothing_from_a_release_that_makes_them_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
