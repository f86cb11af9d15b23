// SPDX-License-Identifier: Apache-2.0
/*
 * Two adapters with one port GUID: X1's port has the GUID of H1's second one. With a running
 * oneibd, on ibsim with a real opensm, which takes one of them for the fabric's and gives the other
 * no LID.
 */
#include "daemon_scene.h"
#include "lab_shape.h"
#include <inttypes.h>
#include <stdio.h>

/* The SM's host has one port, the others have two: H1's node GUID is 0x100002. */
#define TWIN UINT64_C(0x100004)
#define FIRST 0u

static struct oneib_error err;

static size_t twin_host(void)
{
    return lab_host_count(scene());
}

static int raise_with_twin(void **state)
{
    const struct lab_options options = {.hosts_per_leaf = 1,
                                        .shape = &lab_two_rails,
                                        .extra_hosts = 1,
                                        .last_guid = TWIN - 1,
                                        .last_is_unlinked = true};
    if (daemon_raise_on(&options, NULL) < 0)
        return -1;
    (void)state;
    if (!lab_missing()) {
        ONEIB(0, "sync", "--force");
        daemon_start();
    }
    return 0;
}

static void two_adapters_with_one_guid_are_named_and_disturb_nobody_else(void **state)
{
    (void)state;
    assert_true(lab_host_guid_of_port(scene(), FIRST, 2) == TWIN);
    assert_true(lab_host_port_guid(scene(), twin_host()) == TWIN);
    const uint32_t red = red_network();
    scene_vm(red, FIRST);
    await_holds(FIRST, FULL(RED));
    MUST(lab_fabric_link(scene(), twin_host(), true, &err));
    await_said("port-twice: two adapters have the port GUID 0x0000000000100004");
    scene_vm(red, 1);
    await_holds(1, FULL(RED));
    stays_holding(FIRST, FULL(RED), 2000);
    MUST(lab_fabric_link(scene(), twin_host(), false, &err));
    await_said("no more port-twice");
    assert_true(port_holds(FIRST, FULL(RED)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DAEMON_CASE(raise_with_twin, two_adapters_with_one_guid_are_named_and_disturb_nobody_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
