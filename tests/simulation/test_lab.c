// SPDX-License-Identifier: Apache-2.0
/* The laboratory itself: a fabric comes up, opensm becomes its master, and partitions follow their
 * file. */
#include "../ports.h"
#include "base/listen.h"
#include "lab.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define CHANGE_MS 20000u

static struct oneib_error err;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

static const char closed[] = "Default=0x7fff, defmember=limited : ALL=limited, SELF=full;\n";

static int open_with(const struct lab_options *options, void **state)
{
    struct lab *lab = lab_open(options, &err);
    *state = lab;
    if (lab && lab_fabric_start(lab, &err) == 0)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int open_fabric(void **state)
{
    const struct lab_options options = LAB_DEFAULTS;
    return open_with(&options, state);
}

static int open_shape(const struct lab_shape *shape, void **state)
{
    const struct lab_options options = {.shape = shape, .hosts_per_leaf = 1, .extra_hosts = 1};
    return open_with(&options, state);
}

static int open_three_levels(void **state)
{
    return open_shape(&lab_three_levels, state);
}

static int open_ring(void **state)
{
    return open_shape(&lab_ring, state);
}

static int open_two_rails(void **state)
{
    return open_shape(&lab_two_rails, state);
}

static int close_fabric(void **state)
{
    lab_close(*state);
    return 0;
}

static bool has_pkey(struct lab *lab, size_t host, uint16_t wanted)
{
    uint16_t pkeys[128];
    size_t count = 0;
    ok(lab_host_pkeys(lab, host, pkeys, 128, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (pkeys[i] == wanted)
            return true;
    return false;
}

/* opensm can sleep through a signal: it is repeated. */
static bool comes_to_have(struct lab *lab, size_t host, uint16_t pkey, bool wanted)
{
    for (unsigned waited = 0; waited < CHANGE_MS; waited += 250) {
        ok(lab_opensm_signal(lab, "opensm", SIGHUP, &err));
        lab_sleep_ms(250);
        if (has_pkey(lab, host, pkey) == wanted)
            return true;
    }
    return false;
}

static void opensm_on_the_sm_host_becomes_master(void **state)
{
    struct lab *lab = *state;
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    assert_true(lab_opensm_is_master(lab, "opensm"));
    ok(lab_opensm_stop(lab, "opensm", true, &err));
    assert_int_equal(lab_opensm_pid(lab, "opensm"), 0);
}

static void a_second_sm_of_lower_priority_is_standby(void **state)
{
    struct lab *lab = *state;
    const char *hca = lab_host_hca(lab, 1);
    struct lab_sm second = {.name = "standby", .hca = hca, .priority = 3};
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    ok(lab_opensm_start(lab, &second, &err));
    assert_false(lab_opensm_is_master(lab, "standby"));
    assert_true(lab_opensm_is_master(lab, "opensm"));
    ok(lab_opensm_stop(lab, "standby", true, &err));
    ok(lab_opensm_stop(lab, "opensm", true, &err));
}

static void pkeys_follow_the_partition_file_after_a_signal(void **state)
{
    struct lab *lab = *state;
    char text[256];
    ok(lab_write(lab, "partitions.conf", 0600, closed, &err));
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    assert_true(has_pkey(lab, 0, 0x7fff));
    assert_false(has_pkey(lab, 0, 0xffff));
    snprintf(text, sizeof text, "%sone1=0x8005 : 0x%llx=full;\n", closed,
             (unsigned long long)lab_host_port_guid(lab, 0));
    ok(lab_write(lab, "partitions.conf", 0600, text, &err));
    assert_true(comes_to_have(lab, 0, 0x8005, true));
    for (size_t host = 1; host < lab_host_count(lab); host++)
        assert_false(has_pkey(lab, host, 0x8005));
    ok(lab_write(lab, "partitions.conf", 0600, closed, &err));
    assert_true(comes_to_have(lab, 0, 0x8005, false));
    ok(lab_opensm_stop(lab, "opensm", true, &err));
}

static void assert_port_is_on_host(struct lab *lab, size_t host, unsigned port)
{
    char guid[32];
    snprintf(guid, sizeof guid, "0x%llx",
             (unsigned long long)lab_host_guid_of_port(lab, host, port));
    const char *argv[] = {"smpquery", "-G", "nodedesc", guid, NULL};
    struct lab_output output;
    ok(lab_run(lab, LAB_SM_HCA, argv, 10000, &output, &err));
    assert_int_equal(output.status, 0);
    assert_non_null(strstr(output.out, lab_host_hca(lab, host)));
    lab_output_clear(&output);
}

/* Names and GUIDs are planned, not asked for: each has to be right. */
static void every_host_has_the_port_guids_and_the_route_that_were_planned(void **state)
{
    struct lab *lab = *state;
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    for (size_t host = 0; host < lab_host_count(lab); host++) {
        for (unsigned port = 1; port <= lab_host_ports(lab); port++)
            assert_port_is_on_host(lab, host, port);
        assert_true(has_pkey(lab, host, 0xffff));
    }
    ok(lab_opensm_stop(lab, "opensm", true, &err));
}

static void an_unlinked_host_does_not_answer_until_it_is_linked_again(void **state)
{
    struct lab *lab = *state;
    uint16_t pkeys[64];
    size_t count;
    ok(lab_fabric_link(lab, 5, false, &err));
    assert_int_equal(lab_host_pkeys(lab, 5, pkeys, 64, &count, &err), -1);
    err = (struct oneib_error){0};
    ok(lab_fabric_link(lab, 5, true, &err));
    ok(lab_host_pkeys(lab, 5, pkeys, 64, &count, &err));
}

/* The two on top are each other's stand-in. */
static void a_dead_switch_of_two_leaves_nobody_behind(void **state)
{
    struct lab *lab = *state;
    const size_t top = lab_switch_count(lab) - 2;
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    ok(lab_fabric_switch(lab, top, false, &err));
    ok(lab_opensm_signal(lab, "opensm", SIGHUP, &err));
    lab_sleep_ms(500);
    for (size_t host = 0; host < lab_host_count(lab); host++)
        assert_port_is_on_host(lab, host, 1);
    ok(lab_fabric_switch(lab, top, true, &err));
}

static void two_fabrics_stand_side_by_side(void **state)
{
    struct lab *first = *state;
    struct lab_options options = {.leaves = 1, .hosts_per_leaf = 2};
    struct lab *second = lab_open(&options, &err);
    uint16_t pkeys[64];
    size_t count;
    assert_non_null(second);
    ok(lab_fabric_start(second, &err));
    ok(lab_host_pkeys(second, 1, pkeys, 64, &count, &err));
    ok(lab_host_pkeys(first, 7, pkeys, 64, &count, &err));
    lab_close(second);
}

static void a_program_is_run_with_its_output_and_status_and_ended_in_time(void **state)
{
    struct lab *lab = *state;
    const char *talks[] = {"sh", "-c", "echo out; echo error >&2; exit 7", NULL};
    const char *sleeps[] = {"sleep", "60", NULL};
    struct lab_output output;
    ok(lab_run(lab, NULL, talks, 10000, &output, &err));
    assert_string_equal(output.out, "out\n");
    assert_string_equal(output.error, "error\n");
    assert_int_equal(output.status, 7);
    assert_false(output.timed_out);
    lab_output_clear(&output);
    ok(lab_run(lab, NULL, sleeps, 100, &output, &err));
    assert_true(output.timed_out);
    assert_int_equal(output.status, 128 + SIGKILL);
    lab_output_clear(&output);
}

static void a_port_is_kept_for_its_server_while_that_is_down(void **state)
{
    (void)state;
    const unsigned port = free_port();
    char address[32];
    uint16_t bound;
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    for (int i = 0; i < 2; i++) {
        assert_false(keep_port(port)); /* by another test */
        const int fd = oneib_listen(address, "test", &bound, &err);
        ok(fd);
        assert_false(keep_port(port));
        close(fd);
    }
}

static void closing_a_lab_leaves_no_directory_and_no_process(void **state)
{
    (void)state;
    struct lab_options options = LAB_DEFAULTS;
    struct lab *lab = lab_open(&options, &err);
    assert_non_null(lab);
    char *directory = strdup(lab_directory(lab));
    const char *argv[] = {"sleep", "60", NULL};
    pid_t pid;
    ok(lab_spawn(lab, "sleeper", NULL, argv, &pid, &err));
    assert_int_equal(access(directory, F_OK), 0);
    lab_close(lab);
    assert_int_equal(access(directory, F_OK), -1);
    assert_int_equal(kill(pid, 0), -1);
    free(directory);
}

#define on(open, test) cmocka_unit_test_setup_teardown(test, open, close_fabric)
#define on_fabric(test) on(open_fabric, test)

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        on_fabric(opensm_on_the_sm_host_becomes_master),
        on_fabric(a_second_sm_of_lower_priority_is_standby),
        on_fabric(pkeys_follow_the_partition_file_after_a_signal),
        on_fabric(every_host_has_the_port_guids_and_the_route_that_were_planned),
        on(open_three_levels, every_host_has_the_port_guids_and_the_route_that_were_planned),
        on(open_ring, every_host_has_the_port_guids_and_the_route_that_were_planned),
        on(open_two_rails, every_host_has_the_port_guids_and_the_route_that_were_planned),
        on(open_three_levels, a_dead_switch_of_two_leaves_nobody_behind),
        on_fabric(an_unlinked_host_does_not_answer_until_it_is_linked_again),
        on_fabric(two_fabrics_stand_side_by_side),
        on_fabric(a_program_is_run_with_its_output_and_status_and_ended_in_time),
        cmocka_unit_test(a_port_is_kept_for_its_server_while_that_is_down),
        cmocka_unit_test(closing_a_lab_leaves_no_directory_and_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
