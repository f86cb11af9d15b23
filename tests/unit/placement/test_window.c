// SPDX-License-Identifier: Apache-2.0
/* Which hosts VMs are offered: near their cluster, and never more than there are functions. */
#include "placement/window.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

#define RED 1u
#define BLUE 2u
#define LEAF(n) (0x200000u + (n))

/* ---- scenes ---------------------------------------------------------------------------------- */

static void add_host(struct oneib_window *window, oneib_guid leaf, uint32_t vfs)
{
    ONEIB_RESERVE(window->hosts, window->host_capacity, window->host_count + 1);
    const uint32_t id = (uint32_t)window->host_count;
    window->hosts[window->host_count++] =
        (struct oneib_open_host){.id = id, .leaf = leaf, .vfs_free = vfs};
}

/* Leaves 0, 1, ... of that many hosts each. */
static struct oneib_window fabric(unsigned leaves, unsigned hosts, uint32_t vfs)
{
    struct oneib_window window = {0};
    for (unsigned leaf = 0; leaf < leaves; leaf++)
        for (unsigned host = 0; host < hosts; host++)
            add_host(&window, LEAF(leaf), vfs);
    return window;
}

static void is_at(struct oneib_window *window, uint32_t network, oneib_guid leaf, uint32_t vms)
{
    ONEIB_APPEND(window->settled, window->settled_count, window->settled_capacity,
                 (struct oneib_settled){.network_id = network, .leaf = leaf, .vms = vms});
}

/* It may go to any host. */
static struct oneib_waiting_vm *wait_for(struct oneib_window *window, uint32_t network)
{
    ONEIB_RESERVE(window->vms, window->vm_capacity, window->vm_count + 1);
    struct oneib_waiting_vm *vm = &window->vms[window->vm_count];
    *vm = (struct oneib_waiting_vm){
        .id = 100 + (uint32_t)window->vm_count, .network_id = network, .nics = 1};
    window->vm_count++;
    for (size_t i = 0; i < window->host_count; i++)
        oneib_waiting_allow(window, vm, i);
    return vm;
}

static void wait_many(struct oneib_window *window, uint32_t network, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        wait_for(window, network);
}

static void offer(struct oneib_window *window)
{
    oneib_window_offer(window);
}

/* All that a VM is offered is at one leaf: which. */
static oneib_guid leaf_of(const struct oneib_window *window, size_t vm)
{
    const struct oneib_waiting_vm *found = &window->vms[vm];
    assert_int_not_equal(found->offered_count, 0);
    for (size_t i = 1; i < found->offered_count; i++)
        assert_true(window->hosts[found->offered[i]].leaf == window->hosts[found->offered[0]].leaf);
    return window->hosts[found->offered[0]].leaf;
}

/* Whoever takes what he is offered finds a function: no host is offered to more than it has. */
static void offers_no_more_than_there_is(const struct oneib_window *window)
{
    for (size_t host = 0; host < window->host_count; host++) {
        uint32_t offered = 0;
        for (size_t i = 0; i < window->vm_count; i++)
            for (size_t j = 0; j < window->vms[i].offered_count; j++)
                if (window->vms[i].offered[j] == host)
                    offered += window->vms[i].nics;
        assert_true(offered <= window->hosts[host].vfs_free);
    }
}

/* ---- near each other ------------------------------------------------------------------------- */

static void members_come_to_the_leaf_that_their_cluster_is_on(void **state)
{
    (void)state;
    struct oneib_window window = fabric(3, 2, 7);
    is_at(&window, RED, LEAF(2), 1);
    is_at(&window, BLUE, LEAF(0), 5);
    wait_many(&window, RED, 3);
    offer(&window);
    for (size_t i = 0; i < 3; i++)
        assert_true(leaf_of(&window, i) == LEAF(2));
    oneib_window_clear(&window);
}

static void a_new_cluster_comes_to_the_smallest_leaf_that_takes_all_of_it(void **state)
{
    (void)state;
    struct oneib_window window = {0};
    for (unsigned i = 0; i < 4; i++)
        add_host(&window, LEAF(0), 7);
    for (unsigned i = 0; i < 4; i++)
        add_host(&window, LEAF(1), 1);
    for (unsigned i = 0; i < 4; i++)
        add_host(&window, LEAF(2), 2);
    wait_many(&window, RED, 5);
    offer(&window);
    for (size_t i = 0; i < 5; i++)
        assert_true(leaf_of(&window, i) == LEAF(2));
    oneib_window_clear(&window);
}

static void one_that_fits_nowhere_as_a_whole_comes_to_few_leaves(void **state)
{
    (void)state;
    struct oneib_window window = {0};
    for (unsigned leaf = 0; leaf < 4; leaf++)
        for (unsigned i = 0; i <= leaf; i++)
            add_host(&window, LEAF(leaf), 2);
    wait_many(&window, RED, 14); /* there are 2, 4, 6 and 8 */
    offer(&window);
    unsigned at[4] = {0};
    for (size_t i = 0; i < 14; i++)
        at[leaf_of(&window, i) - LEAF(0)]++;
    assert_int_equal(at[3], 8);
    assert_int_equal(at[2], 6);
    oneib_window_clear(&window);
}

static void clusters_that_wait_together_do_not_split_each_other(void **state)
{
    (void)state;
    struct oneib_window window = fabric(2, 4, 1);
    for (unsigned i = 0; i < 4; i++) {
        wait_for(&window, RED);
        wait_for(&window, BLUE);
    }
    offer(&window);
    for (size_t i = 2; i < 8; i++)
        assert_true(leaf_of(&window, i) == leaf_of(&window, i % 2));
    assert_true(leaf_of(&window, 0) != leaf_of(&window, 1));
    oneib_window_clear(&window);
}

static void hosts_of_which_nobody_knows_where_they_are_come_last(void **state)
{
    (void)state;
    struct oneib_window window = {0};
    add_host(&window, 0, 7);
    add_host(&window, LEAF(1), 1);
    wait_many(&window, RED, 2);
    offer(&window);
    assert_true(leaf_of(&window, 0) == LEAF(1));
    assert_true(leaf_of(&window, 1) == 0);
    oneib_window_clear(&window);
}

static void a_cluster_that_is_to_be_spread_is(void **state)
{
    (void)state;
    struct oneib_window window = fabric(3, 2, 7);
    is_at(&window, RED, LEAF(1), 1);
    for (unsigned i = 0; i < 5; i++)
        wait_for(&window, RED)->placement = ONEIB_PLACEMENT_SPREAD;
    offer(&window);
    unsigned at[3] = {0, 1, 0};
    for (size_t i = 0; i < 5; i++)
        at[leaf_of(&window, i) - LEAF(0)]++;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(at[i], 2);
    oneib_window_clear(&window);
}

static void one_that_may_be_anywhere_is_offered_all(void **state)
{
    (void)state;
    struct oneib_window window = fabric(3, 20, 7);
    is_at(&window, RED, LEAF(1), 1);
    wait_for(&window, RED)->placement = ONEIB_PLACEMENT_ANY;
    offer(&window);
    assert_int_equal(window.vms[0].offered_count, 60);
    oneib_window_clear(&window);
}

/* ---- room ------------------------------------------------------------------------------------ */

static void two_never_meet_at_the_last_function(void **state)
{
    (void)state;
    struct oneib_window window = fabric(1, 3, 1);
    wait_many(&window, RED, 2);
    wait_many(&window, BLUE, 2);
    offer(&window);
    offers_no_more_than_there_is(&window);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(window.vms[i].offered_count, 1);
    assert_int_equal(window.vms[3].offered_count, 0); /* it waits */
    oneib_window_clear(&window);
}

static void a_vm_with_two_nics_takes_two_functions_of_one_host(void **state)
{
    (void)state;
    struct oneib_window window = {0};
    add_host(&window, LEAF(0), 1);
    add_host(&window, LEAF(0), 1);
    add_host(&window, LEAF(0), 3);
    wait_for(&window, RED)->nics = 2;
    wait_for(&window, RED)->nics = 2;
    offer(&window);
    offers_no_more_than_there_is(&window);
    assert_int_equal(window.vms[0].offered_count, 1);
    assert_int_equal(window.vms[0].offered[0], 2);
    assert_int_equal(window.vms[1].offered_count, 0);
    oneib_window_clear(&window);
}

/* OpenNebula may refuse one for a reason of its own: another host of the leaf will do. */
static void other_hosts_of_the_leaf_are_offered_while_they_have_room(void **state)
{
    (void)state;
    struct oneib_window window = fabric(2, 4, 3);
    wait_many(&window, RED, 2);
    offer(&window);
    offers_no_more_than_there_is(&window);
    assert_int_equal(window.vms[0].offered_count, 4);
    assert_int_equal(window.vms[1].offered_count, 4);
    oneib_window_clear(&window);
}

/* OpenNebula gives a host one VM at a time by itself (MAX_HOST): they need not wait in turn. */
static void vms_of_a_window_are_meant_for_different_hosts(void **state)
{
    (void)state;
    struct oneib_window window = fabric(1, 4, 1);
    wait_many(&window, RED, 4);
    offer(&window);
    bool taken[4] = {false};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(window.vms[i].offered_count, 1);
        assert_false(taken[window.vms[i].offered[0]]);
        taken[window.vms[i].offered[0]] = true;
    }
    oneib_window_clear(&window);
}

static void who_has_waited_is_offered_every_host_with_room(void **state)
{
    (void)state;
    struct oneib_window window = fabric(3, 20, 2);
    window.hosts[5].vfs_free = 0;
    is_at(&window, RED, LEAF(1), 1);
    wait_for(&window, RED)->has_waited = true;
    offer(&window);
    assert_int_equal(window.vms[0].offered_count, 59);
    offers_no_more_than_there_is(&window);
    oneib_window_clear(&window);
}

static void only_what_opennebula_found_fit_is_offered(void **state)
{
    (void)state;
    struct oneib_window window = fabric(2, 2, 7);
    is_at(&window, RED, LEAF(0), 3);
    struct oneib_waiting_vm *vm = wait_for(&window, RED);
    vm->fit[0] = 0;
    oneib_waiting_allow(&window, vm, 3);
    offer(&window);
    assert_int_equal(window.vms[0].offered_count, 1);
    assert_int_equal(window.vms[0].offered[0], 3);
    oneib_window_clear(&window);
}

static void nobody_waits_and_there_are_no_hosts(void **state)
{
    (void)state;
    struct oneib_window window = {0};
    offer(&window);
    wait_for(&window, RED);
    offer(&window);
    assert_int_equal(window.vms[0].offered_count, 0);
    oneib_window_clear(&window);
}

/* Of many kinds, and many at once. */
static void however_many_wait_no_host_is_offered_too_often(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (unsigned round = 0; round < 200; round++) {
        struct oneib_window window = {0};
        for (unsigned i = 0; i < 12; i++) {
            random = random * 1664525u + 1013904223u;
            add_host(&window, random >> 20 & 3 ? LEAF(random >> 24 & 3) : 0, random >> 28 & 3);
        }
        for (unsigned i = 0; i < 16; i++) {
            random = random * 1664525u + 1013904223u;
            struct oneib_waiting_vm *vm = wait_for(&window, random >> 24 & 3);
            vm->nics = 1 + (random >> 26 & 1);
            vm->has_waited = (random >> 27 & 3) == 0;
            vm->placement = (enum oneib_placement)((random >> 29) % 3);
        }
        offer(&window);
        offers_no_more_than_there_is(&window);
        oneib_window_clear(&window);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_to_the_leaf_that_their_cluster_is_on),
        cmocka_unit_test(a_new_cluster_comes_to_the_smallest_leaf_that_takes_all_of_it),
        cmocka_unit_test(one_that_fits_nowhere_as_a_whole_comes_to_few_leaves),
        cmocka_unit_test(clusters_that_wait_together_do_not_split_each_other),
        cmocka_unit_test(hosts_of_which_nobody_knows_where_they_are_come_last),
        cmocka_unit_test(a_cluster_that_is_to_be_spread_is),
        cmocka_unit_test(one_that_may_be_anywhere_is_offered_all),
        cmocka_unit_test(two_never_meet_at_the_last_function),
        cmocka_unit_test(a_vm_with_two_nics_takes_two_functions_of_one_host),
        cmocka_unit_test(other_hosts_of_the_leaf_are_offered_while_they_have_room),
        cmocka_unit_test(vms_of_a_window_are_meant_for_different_hosts),
        cmocka_unit_test(who_has_waited_is_offered_every_host_with_room),
        cmocka_unit_test(only_what_opennebula_found_fit_is_offered),
        cmocka_unit_test(nobody_waits_and_there_are_no_hosts),
        cmocka_unit_test(however_many_wait_no_host_is_offered_too_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
