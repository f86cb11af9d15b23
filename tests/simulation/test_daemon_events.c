// SPDX-License-Identifier: Apache-2.0
/*
 * oneibd and oned's event stream: events may be lost, repeated, out of order, broken or missing
 * altogether. That may cost time, never a membership. On ibsim with a real opensm.
 */
#include "base/cleanup.h"
#include "daemon_scene.h"
#include "oneibd/event_queue.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MANY 1000000u
#define MEMORY_MAX 250e6 /* with room for what a sanitizer needs */

static struct oneib_error err;

static void watch_with(const char *one, const char *daemon)
{
    daemon_start_with(one, daemon, NULL);
    await_metric("oneib_in_force", 1);
}

static void events(const char *fault, unsigned count)
{
    MUST(lab_events_fault(scene(), fault, count, &err));
}

/* Everything that the daemon has to follow, with whatever events there are. */
static void a_vm_comes_moves_and_goes(uint32_t network)
{
    uint32_t vm = scene_vm(network, 0);
    await_holds(0, FULL(RED));
    MUST(lab_vm_migrate(scene(), vm, 2, 4, &err));
    await_holds(2, FULL(RED));
    assert_true(port_holds(0, FULL(RED)));
    MUST(lab_vm_running(scene(), vm, &err));
    await_lacks(0, FULL(RED));
    assert_true(port_holds(2, FULL(RED)));
    scene_end_vm(vm);
    await_lacks(2, FULL(RED));
}

/* ---- a stream that loses, repeats, mixes up -------------------------------------------------- */

static void it_follows_events_without_any_poll(void **state)
{
    (void)state;
    scene();
    watch_with(NULL, DAEMON_EVENTS_ONLY);
    a_vm_comes_moves_and_goes(red_network());
    await_metric("oneib_event_stream_connected", 1);
    await_metric("oneib_event_stream_trusted", 1);
    assert_int_equal(metric("oneib_events_unreadable_total"), 0);
}

static void a_vm_whose_events_were_lost_is_found_by_a_poll(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network(), vm;
    watch_with(NULL, "poll_preparing = 300; poll_idle = 1000;");
    events("lose", MANY);
    MUST(lab_vm_create(scene(), "vm", &network, 1, &vm, &err));
    MUST(lab_vm_deploy(scene(), vm, 0, &err));
    events("lose", 0);
    await_holds(0, FULL(RED));
}

/* In PROLOG it is looked at without being told: what it becomes is found. */
static void the_end_of_a_vm_that_is_being_prepared_need_not_be_told(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network(), vm;
    watch_with(NULL, "poll_preparing = 300; poll_idle = 600000;");
    MUST(lab_vm_create(scene(), "vm", &network, 1, &vm, &err));
    MUST(lab_vm_deploy(scene(), vm, 0, &err));
    await_holds(0, FULL(RED));
    events("lose", MANY);
    scene_end_vm(vm);
    await_lacks(0, FULL(RED));
}

static void repeated_events_change_nothing_twice(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    watch_with(NULL, DAEMON_EVENTS_ONLY);
    events("repeat", MANY);
    const double writes = metric("oneib_writes_total") + 1;
    uint32_t vm = scene_vm(network, 0);
    await_holds(0, FULL(RED));
    await_metric("oneib_writes_total", writes);
    MUST(lab_vm_running(scene(), vm, &err));
    scene_end_vm(vm);
    await_lacks(0, FULL(RED));
    await_metric("oneib_writes_total", writes + 1);
    stays_lacking(0, FULL(RED), DAEMON_DOUBT_MS);
    assert_int_equal(metric("oneib_writes_total"), writes + 1);
}

/* Until nothing is looked at any more because the network was given its key: what happens from now
 * on is seen by the events or polls that it is about. */
static void watch_in_quiet(const char *daemon)
{
    watch_with(NULL, daemon);
    lab_sleep_ms(4 * (unsigned)ONEIB_RECHECK_MS);
}

static void events_in_the_wrong_order_end_in_what_is_true(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    watch_in_quiet(DAEMON_EVENTS_ONLY);
    events("reorder", MANY);
    uint32_t moved = scene_vm(network, 0), ended = scene_vm(network, 1);
    MUST(lab_vm_migrate(scene(), moved, 2, 4, &err));
    MUST(lab_vm_running(scene(), moved, &err));
    scene_end_vm(ended);
    stays_lacking(2, FULL(RED), DAEMON_DOUBT_MS);
    events("reorder", 0); /* now they come, the last one first */
    await_holds(2, FULL(RED));
    stays_lacking(0, FULL(RED), DAEMON_DOUBT_MS);
    assert_false(port_holds(1, FULL(RED)));
}

/* ---- a VM or network that changes all the time ----------------------------------------------- */

#define EAGER_CHANGES 200u
#define LCM_RUNNING 3
#define LCM_HOTPLUG 17
/* Sixteen events of a VM or network, each with its echo, each echo with a call about the VM and one
 * about its network; and those of the VM that starts meanwhile. */
#define EAGER_CALLS_MAX 80u

static unsigned calls_about_the_cloud(void)
{
    static const char *const methods[] = {"one.vm.info",   "one.vmpool.infoextended",
                                          "one.vn.info",   "one.vnpool.info",
                                          "one.host.info", "one.hostpool.info"};
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        sum += calls_of(methods[i]);
    return sum;
}

/* As a disk that is attached and detached does. */
static void change_again_and_again(uint32_t vm)
{
    for (unsigned i = 0; i < EAGER_CHANGES; i++) {
        MUST(lab_vm_state(scene(), vm, 3, i % 2 ? LCM_RUNNING : LCM_HOTPLUG, &err));
        lab_sleep_ms(15);
    }
}

static void a_vm_that_its_user_changes_all_the_time_costs_oned_few_calls(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    watch_with(NULL, DAEMON_EVENTS_ONLY);
    uint32_t eager = scene_vm(network, 0);
    await_holds(0, FULL(RED));
    const unsigned before = calls_about_the_cloud();
    change_again_and_again(eager);

    scene_vm(network, 1); /* somebody else's has its events to itself */
    await_holds(1, FULL(RED));
    assert_in_range(calls_about_the_cloud() - before, 1, EAGER_CALLS_MAX);
    await_metric_at_least("oneib_events_delayed_total", EAGER_CHANGES / 4);
    MUST(lab_vm_migrate(scene(), eager, 2, 4, &err));
    await_holds(2, FULL(RED)); /* late, but not lost */
}

static void a_network_that_changes_all_the_time_is_followed_in_the_end(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    watch_with(NULL, DAEMON_EVENTS_ONLY);
    scene_vm(network, 0);
    await_holds(0, FULL(RED));
    const unsigned before = calls_about_the_cloud();
    for (unsigned i = 0; i < EAGER_CHANGES; i++) {
        MUST(lab_network_update(scene(), network, i % 2 ? "NOTE=odd" : "NOTE=even", &err));
        lab_sleep_ms(15);
    }
    assert_in_range(calls_about_the_cloud() - before, 1, EAGER_CALLS_MAX);
    MUST(lab_network_update(scene(), network, "VLAN_ID=300", &err));
    await_holds(0, FULL(300));
    await_lacks(0, FULL(RED));
}

/* A state's id stands in the key, a call's only in what is broken. */
static void a_call_that_cannot_be_read_makes_it_look_at_everything(const char *kind)
{
    scene();
    uint32_t network = red_network();
    watch_with(NULL, DAEMON_EVENTS_ONLY);
    scene_vm(network, 0);
    await_holds(0, FULL(RED));
    const double full = metric("oneib_full_readings_total");
    events(kind, MANY);
    MUST(lab_network_update(scene(), network, "VLAN_ID=300", &err));
    await_holds(0, FULL(300));
    await_lacks(0, FULL(RED));
    await_metric_at_least("oneib_events_unreadable_total", 1);
    await_metric_at_least("oneib_full_readings_total", full + 1);
    uint32_t vm = scene_vm(network, 1);
    await_holds(1, FULL(300));
    scene_end_vm(vm);
    await_lacks(1, FULL(300));
}

static void a_call_that_is_no_base64_makes_it_look_at_everything(void **state)
{
    (void)state;
    a_call_that_cannot_be_read_makes_it_look_at_everything("no-base64");
}

static void a_call_that_is_no_xml_makes_it_look_at_everything(void **state)
{
    (void)state;
    a_call_that_cannot_be_read_makes_it_look_at_everything("no-xml");
}

static void an_event_of_50_mib_ends_the_connection_and_costs_no_memory(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    watch_with(NULL, DAEMON_EVENTS_ONLY);
    const double gaps = metric("oneib_event_stream_gaps_total");
    events("huge", 1);
    scene_vm(network, 0);
    await_holds(0, FULL(RED));
    await_metric_at_least("oneib_event_stream_gaps_total", gaps + 1);
    assert_true(metric("process_resident_memory_bytes") < MEMORY_MAX);
    await_metric("oneib_event_stream_connected", 1);
    uint32_t vm = scene_vm(network, 1);
    await_holds(1, FULL(RED));
    scene_end_vm(vm);
    await_lacks(1, FULL(RED));
}

/* ---- no stream at all ------------------------------------------------------------------------ */

static void a_silent_stream_is_noticed_polled_for_and_trusted_again(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    watch_in_quiet(DAEMON_QUICK);
    events("silent", 1);
    scene_vm(network, 1);
    await_holds(1, FULL(RED));
    /* That one may have been seen while the network's own last event was looked after: this is not.
     */
    lab_sleep_ms(2000);
    scene_vm(network, 1);
    await_said("VMs change without events from tcp://");
    await_metric("oneib_event_stream_trusted", 0);
    await_metric("oneib_event_stream_connected", 1);
    a_vm_comes_moves_and_goes(network); /* also what no poll of single VMs would find */

    events("silent", 0);
    scene_vm(network, 3);
    await_said("arrive again");
    await_metric("oneib_event_stream_trusted", 1);
    await_holds(3, FULL(RED));
    assert_true(port_holds(1, FULL(RED)));
    assert_int_equal(daemon_said_times("VMs change without events from tcp://"), 1);
}

static void a_publisher_that_is_down_is_said_and_polled_for_until_it_is_back(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    watch_with(NULL, DAEMON_QUICK);
    daemon_forget_log();
    events("down", 1);
    await_said("no events from tcp://");
    await_metric("oneib_event_stream_connected", 0);
    a_vm_comes_moves_and_goes(network);
    events("down", 0);
    await_said("listening to the events of tcp://");
    await_metric("oneib_event_stream_connected", 1);
    a_vm_comes_moves_and_goes(network);
    assert_int_equal(daemon_said_times("no events from tcp://"), 1);
}

static void what_happened_while_the_publisher_was_down_is_found_when_it_is_back(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    watch_with(NULL, DAEMON_EVENTS_ONLY);
    uint32_t ended = scene_vm(network, 0);
    await_holds(0, FULL(RED));
    events("down", 1);
    scene_vm(network, 1);
    scene_end_vm(ended);
    events("down", 0);
    await_holds(1, FULL(RED));
    await_lacks(0, FULL(RED));
}

static void a_publisher_that_is_no_publisher_is_said_and_polled_for(void **state)
{
    (void)state;
    char one[80];
    unsigned port;
    scene();
    assert_int_equal(sscanf(lab_endpoint(scene()), "http://127.0.0.1:%u/", &port), 1);
    snprintf(one, sizeof one, "events = \"tcp://127.0.0.1:%u\";", port);
    uint32_t network = red_network();
    watch_with(one, DAEMON_QUICK);
    a_vm_comes_moves_and_goes(network);
    await_said("no events from tcp://");
    assert_int_equal(metric("oneib_event_stream_connected"), 0);
}

static void without_events_it_polls(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    watch_with(DAEMON_NO_EVENTS, DAEMON_QUICK);
    a_vm_comes_moves_and_goes(network);
    scene_vm(network, 1);
    await_holds(1, FULL(RED));
    MUST(lab_network_update(scene(), network, "VLAN_ID=300", &err));
    await_holds(1, FULL(300));
    await_lacks(1, FULL(RED));
    assert_false(daemon_said("no events from"));
    assert_int_equal(metric("oneib_events_total"), 0);
}

static void oned_and_its_publisher_restart_in_the_middle_of_a_deployment(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network(), vm;
    watch_with(NULL, DAEMON_QUICK);
    scene_vm(network, 1);
    await_holds(1, FULL(RED));
    MUST(lab_vm_create(scene(), "vm", &network, 1, &vm, &err));
    MUST(lab_vm_deploy(scene(), vm, 0, &err));
    MUST(lab_standin_down(scene(), true, &err));
    await_said("the partitions stay as they are");
    assert_true(port_holds(1, FULL(RED)));
    MUST(lab_standin_down(scene(), false, &err));
    await_holds(0, FULL(RED));
    MUST(lab_vm_running(scene(), vm, &err));
    await_health(200, NULL);
    await_metric("oneib_event_stream_connected", 1);
    scene_end_vm(vm);
    await_lacks(0, FULL(RED));
    assert_true(port_holds(1, FULL(RED)));
}

#define CASE(test) DAEMON_CASE(daemon_raise, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(it_follows_events_without_any_poll),
        CASE(a_vm_whose_events_were_lost_is_found_by_a_poll),
        CASE(the_end_of_a_vm_that_is_being_prepared_need_not_be_told),
        CASE(repeated_events_change_nothing_twice),
        CASE(events_in_the_wrong_order_end_in_what_is_true),
        CASE(a_vm_that_its_user_changes_all_the_time_costs_oned_few_calls),
        CASE(a_network_that_changes_all_the_time_is_followed_in_the_end),
        CASE(a_call_that_is_no_base64_makes_it_look_at_everything),
        CASE(a_call_that_is_no_xml_makes_it_look_at_everything),
        CASE(an_event_of_50_mib_ends_the_connection_and_costs_no_memory),
        CASE(a_silent_stream_is_noticed_polled_for_and_trusted_again),
        CASE(a_publisher_that_is_down_is_said_and_polled_for_until_it_is_back),
        CASE(what_happened_while_the_publisher_was_down_is_found_when_it_is_back),
        CASE(a_publisher_that_is_no_publisher_is_said_and_polled_for),
        CASE(without_events_it_polls),
        CASE(oned_and_its_publisher_restart_in_the_middle_of_a_deployment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
