// SPDX-License-Identifier: Apache-2.0
/*
 * Who is a member when, as oneibd follows OpenNebula: VMs through their states, networks and their
 * keys, and what hosts are told. On ibsim with a real opensm; what counts is what the ports hold.
 */
#include "base/cleanup.h"
#include "daemon_scene.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ACTIVE = 3, POWEROFF = 8 };
enum {
    BOOT = 2,
    RUNNING = 3,
    MIGRATE = 4,
    SAVE_MIGRATE = 7,
    PROLOG_MIGRATE = 8,
    SHUTDOWN_POWEROFF = 18,
    BOOT_POWEROFF = 20,
    BOOT_MIGRATE = 35,
    NOBODYS_STATE = 999,
};

#define BLUE 258u

static struct oneib_error err;

static void set_state(uint32_t vm, int state, int lcm_state)
{
    MUST(lab_vm_state(scene(), vm, state, lcm_state, &err));
}

/* ---- members --------------------------------------------------------------------------------- */

static void a_vm_is_a_member_from_prolog_on(void **state)
{
    (void)state;
    scene();
    uint32_t vm, network = red_network();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    MUST(lab_vm_create(scene(), "vm", &network, 1, &vm, &err));
    stays_lacking(0, FULL(RED), DAEMON_DOUBT_MS);
    MUST(lab_vm_deploy(scene(), vm, 0, &err));
    await_holds(0, FULL(RED));
    scene_end_vm(vm);
    await_lacks(0, FULL(RED));
    await_health(200, NULL);
}

/* Only a place on a port that becomes free while another key wants one takes two sweeps. */
static void what_frees_no_place_that_another_takes_costs_one_writing(void **state)
{
    (void)state;
    scene();
    const uint32_t network = red_network(), blue = scene_network("blue", "258", NULL);
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    const uint32_t first = scene_vm(network, 0);
    await_holds(0, FULL(RED));
    await_metric("oneib_members", 1);
    const double writes = metric("oneib_writes_total"), reloads = metric("oneib_reloads_total");

    scene_vm(blue, 0); /* a place more */
    await_holds(0, FULL(BLUE));
    await_metric("oneib_writes_total", writes + 1);
    const uint32_t second = scene_vm(network, 0); /* none */
    await_metric("oneib_members", 3);
    scene_end_vm(second);
    await_metric("oneib_members", 2);
    scene_end_vm(first); /* one is free, and nobody takes it */
    await_lacks(0, FULL(RED));
    await_metric("oneib_members", 1);
    lab_sleep_ms(DAEMON_DOUBT_MS);
    assert_true(metric("oneib_writes_total") == writes + 2);
    assert_true(metric("oneib_reloads_total") == reloads + 2);
}

static void a_live_migration_holds_both_hosts(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    uint32_t vm = scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    MUST(lab_vm_migrate(scene(), vm, 2, MIGRATE, &err));
    await_holds(2, FULL(RED));
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
    MUST(lab_vm_running(scene(), vm, &err));
    await_lacks(0, FULL(RED));
    assert_true(port_holds(2, FULL(RED)));
}

static void a_live_migration_outlives_the_daemon(void **state)
{
    (void)state;
    scene();
    uint32_t vm = scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    MUST(lab_vm_migrate(scene(), vm, 2, MIGRATE, &err));
    await_holds(2, FULL(RED));
    daemon_kill();
    daemon_start();
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
    assert_true(port_holds(2, FULL(RED)));
    daemon_kill();
    MUST(lab_vm_running(scene(), vm, &err));
    daemon_start();
    await_lacks(0, FULL(RED));
    assert_true(port_holds(2, FULL(RED)));
}

static void a_live_migration_that_begins_while_it_is_away_holds_both_hosts(void **state)
{
    (void)state;
    scene();
    uint32_t vm = scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    daemon_kill();
    MUST(lab_vm_migrate(scene(), vm, 2, MIGRATE, &err));
    daemon_start();
    await_holds(2, FULL(RED));
    assert_true(port_holds(0, FULL(RED)));
}

static void a_cold_migration_ends_on_the_new_host_alone(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    uint32_t vm = scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    MUST(lab_vm_migrate(scene(), vm, 2, SAVE_MIGRATE, &err));
    await_holds(2, FULL(RED));
    set_state(vm, ACTIVE, PROLOG_MIGRATE);
    set_state(vm, ACTIVE, BOOT_MIGRATE);
    stays_holding(2, FULL(RED), DAEMON_DOUBT_MS);
    MUST(lab_vm_running(scene(), vm, &err));
    await_lacks(0, FULL(RED));
    assert_true(port_holds(2, FULL(RED)));
}

static void a_vm_that_is_powered_off_is_no_member_until_it_resumes(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    uint32_t vm = scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    set_state(vm, ACTIVE, SHUTDOWN_POWEROFF);
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
    set_state(vm, POWEROFF, 0);
    await_lacks(0, FULL(RED));
    set_state(vm, ACTIVE, BOOT_POWEROFF);
    await_holds(0, FULL(RED));
}

static void a_nic_that_is_attached_is_a_member_until_it_is_detached(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    uint32_t nic, blue = scene_network("blue", "258", NULL);
    uint32_t vm = scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    MUST(lab_vm_attach(scene(), vm, blue, &nic, &err));
    await_holds(0, FULL(BLUE));
    MUST(lab_vm_running(scene(), vm, &err));
    stays_holding(0, FULL(BLUE), DAEMON_DOUBT_MS);
    MUST(lab_vm_detach(scene(), vm, nic, &err));
    MUST(lab_vm_running(scene(), vm, &err));
    await_lacks(0, FULL(BLUE));
    assert_true(port_holds(0, FULL(RED)));
}

static void a_vm_in_an_unknown_state_keeps_what_it_has_and_gets_nothing_new(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    uint32_t member = scene_vm(network, 0), other = scene_vm(network, 1);
    await_holds(0, FULL(RED));
    await_holds(1, FULL(RED));
    set_state(other, POWEROFF, 0);
    await_lacks(1, FULL(RED));
    set_state(member, ACTIVE, NOBODYS_STATE);
    set_state(other, ACTIVE, NOBODYS_STATE);
    await_said("VM 0 NIC 1 is in state 3/999, which is not known: it keeps the membership");
    await_said("VM 1 NIC 1 is in state 3/999, which is not known: it gets no membership");
    stays_lacking(1, FULL(RED), DAEMON_DOUBT_MS);
    assert_true(port_holds(0, FULL(RED)));
    daemon_kill(); /* a new one knows no more than the file in force */
    daemon_start();
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
    assert_false(port_holds(1, FULL(RED)));
}

static void what_an_answer_lacks_is_held_until_sync_force_then_it_goes_on(void **state)
{
    (void)state;
    struct lab *lab = scene();
    uint32_t network = red_network();
    daemon_start_with(NULL, NULL, "removal_hold: { share = 0.5; minimum = 3; };");
    for (uint32_t i = 0; i < SCENE_HOSTS; i++) {
        scene_vm(network, i);
        await_holds(i, FULL(RED));
    }
    daemon_kill();
    MUST(lab_fault(lab, "empty-pools", 1000, 0, &err));
    daemon_start();
    await_metric("oneib_members_held", SCENE_HOSTS);
    await_health(503, "4 removals are held");
    await_said("4 removals are held");
    for (uint32_t i = 0; i < SCENE_HOSTS; i++)
        assert_true(port_holds(i, FULL(RED)));

    ONEIB(0, "sync", "--force");
    for (uint32_t i = 0; i < SCENE_HOSTS; i++)
        assert_false(port_holds(i, FULL(RED)));
    await_metric("oneib_members_held", 0);
    MUST(lab_fault(lab, "empty-pools", 0, 0, &err));
    scene_vm(network, 2);
    await_holds(2, FULL(RED));
}

/* ---- keys for networks ----------------------------------------------------------------------- */

static void a_network_without_a_key_is_given_one(void **state)
{
    (void)state;
    scene();
    uint32_t network = scene_network("blue", "", NULL);
    const unsigned key = await_key_of(network);
    await_metric("oneib_keys_given_total", 1);
    scene_vm(network, 1);
    await_holds(1, FULL(key));
}

/* Beside the master SM it adds to IB_KEYS what it grants. */
static void an_instance_that_is_no_writer_gives_no_keys_and_tells_hosts_nothing_else(void **state)
{
    (void)state;
    char value[32];
    const uint32_t red = red_network();
    /* The writer's work, elsewhere. */
    MUST(lab_give_keys(scene(), &err));
    MUST(lab_host_accept_port(scene(), 0, "mlx4_0", "mlx4", 1, lab_host_port_guid(scene(), 0),
                              &err));
    const unsigned updates = calls_of("one.vn.update");
    uint32_t network = scene_network("blue", "", NULL);
    daemon_start_with("writer = false;", NULL, NULL);
    scene_vm(red, 0);
    await_holds(0, FULL(RED));
    await_metric_at_least("oneib_looks_total", 4);
    assert_int_equal(scene_key_of(network), 0);
    host_attribute(0, "IB_VFS_FREE", value, sizeof value);
    assert_string_equal(value, "");
    host_attribute(0, "IB_KEYS", value, sizeof value);
    assert_string_equal(value, "0x0101");
    assert_int_equal(calls_of("one.host.update"), 1);
    assert_int_equal(calls_of("one.vn.update"), updates);
}

static void a_network_that_is_updated_takes_its_vms_to_the_new_key(void **state)
{
    (void)state;
    scene();
    uint32_t network = red_network();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    scene_vm(network, 0);
    await_holds(0, FULL(RED));
    MUST(lab_network_update(scene(), network, "VLAN_ID=300", &err));
    await_holds(0, FULL(300));
    await_lacks(0, FULL(RED));
}

/* VLAN_ID is only a copy. */
static void a_network_whose_vlan_id_is_taken_away_shows_its_key_again(void **state)
{
    (void)state;
    scene();
    uint32_t network = scene_network("high", "500", NULL);
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    scene_vm(network, 0);
    await_holds(0, FULL(500));
    MUST(lab_network_update(scene(), network, "VLAN_ID=", &err));
    assert_int_equal(await_key_of(network), 500);
    await_holds(0, FULL(500));
}

/* Its partition is not worse for it. */
static void a_network_that_may_not_be_written_is_named_and_tried_again_later(void **state)
{
    (void)state;
    scene();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    MUST(lab_fault(scene(), "no-network-update", 1000000, 0, &err));
    const uint32_t network = scene_network("green", "", NULL);
    await_said("pkey-not-written");
    unsigned key;
    MUST(lab_ledger_key(scene(), network, &key, &err));
    scene_vm(network, 0);
    await_holds(0, FULL(key));
    const unsigned tried = calls_of("one.vn.update");
    scene_vm(network, 1);
    await_holds(1, FULL(key));
    /* What events name is read twice, and each is told of by itself. */
    assert_in_range(calls_of("one.vn.update"), tried, tried + 2);
    MUST(lab_fault(scene(), "no-network-update", 0, 0, &err));
    daemon_signal(SIGHUP);
    assert_int_equal(await_key_of(network), key);
}

static void of_two_networks_with_one_key_the_newer_gets_nobody_in(void **state)
{
    (void)state;
    scene();
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    uint32_t thief = scene_network("thief", "257", NULL);
    uint32_t vm = scene_vm(thief, 3);
    await_said("pkey-conflict");
    stays_lacking(3, FULL(RED), DAEMON_DOUBT_MS);
    assert_true(port_holds(0, FULL(RED)));
    scene_end_vm(vm);
    MUST(lab_network_delete(scene(), thief, &err));
    await_said("no more pkey-conflict");
}

static void a_reservation_shares_the_partition_of_its_parent(void **state)
{
    (void)state;
    scene();
    uint32_t reservation;
    uint32_t parent = scene_network("red", "257", "IB_RESERVATION=shared\n");
    MUST(lab_network_reserve(scene(), parent, "part", &reservation, &err));
    scene_vm(parent, 0);
    scene_vm(reservation, 1);
    await_holds(0, FULL(RED));
    await_holds(1, FULL(RED));
    await_metric("oneib_clusters", 1); /* counted after the ports hold the key */
}

static void who_makes_his_reservation_or_nic_limited_narrows_nobody_else(void **state)
{
    (void)state;
    uint32_t victims, theirs, vm;
    const uint32_t parent = scene_network("red", "257", "IB_RESERVATION=shared\n");
    MUST(lab_network_reserve(scene(), parent, "victims", &victims, &err));
    MUST(lab_network_give(scene(), victims, 7, &err));
    MUST(lab_network_reserve(scene(), parent, "theirs", &theirs, &err));
    MUST(lab_network_give(scene(), theirs, 8, &err));
    scene_vm(victims, 0);
    await_holds(0, FULL(RED));
    MUST(lab_network_update(scene(), theirs, "IB_MEMBERSHIP=limited", &err));
    scene_vm(theirs, 0);
    scene_vm(theirs, 1); /* looked at after the one before it */
    await_holds(1, LIMITED(RED));
    assert_true(port_holds(0, FULL(RED)));

    MUST(lab_vm_create(scene(), "vm", &parent, 1, &vm, &err));
    MUST(lab_vm_set_nic(scene(), vm, 1, "IB_MEMBERSHIP=limited", &err));
    MUST(lab_vm_deploy(scene(), vm, 0, &err));
    scene_vm(theirs, 2);
    await_holds(2, LIMITED(RED));
    assert_true(port_holds(0, FULL(RED)));
}

/* Of a reservation from red. */
static unsigned await_own_key(uint32_t reservation)
{
    for (unsigned waited = 0; waited < DAEMON_PATIENCE_MS; waited += 20) {
        const unsigned key = scene_key_of(reservation);
        if (key != 0 && key != RED)
            return key;
        lab_sleep_ms(20);
    }
    fail_msg("the reservation still shows its parent's key");
    return 0;
}

/* oned (IPAMManager::_vnet_create, 7.4.0) keeps a reservation that vnet_create has failed for, with
 * its parent's VLAN_ID, and no state keeps a VM from a lease (VirtualNetwork::nic_attribute). */
static void a_vm_in_a_reservation_in_error_is_not_in_its_parents_partition(void **state)
{
    (void)state;
    scene();
    uint32_t reservation;
    const uint32_t parent = red_network();
    MUST(lab_network_reserve(scene(), parent, "part", &reservation, &err));
    assert_int_equal(scene_key_of(reservation), RED);
    MUST(lab_network_fail(scene(), reservation, &err));
    scene_vm(parent, 0);
    scene_vm(reservation, 1);
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    await_holds(0, FULL(RED));
    const unsigned own = await_own_key(reservation);
    await_holds(1, FULL(own));
    assert_false(port_holds(1, FULL(RED)));
    assert_false(port_holds(0, FULL(own)));
    assert_int_equal(metric("oneib_clusters"), 2);
}

/* One that fails, or is said to have, while everything runs. */
static void a_reservation_that_fails_later_keeps_its_own_partition(void **state)
{
    (void)state;
    scene();
    uint32_t reservation;
    const uint32_t parent = red_network();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    MUST(lab_network_reserve(scene(), parent, "part", &reservation, &err));
    scene_vm(parent, 0);
    await_holds(0, FULL(RED));
    const unsigned own = await_own_key(reservation);
    MUST(lab_network_fail(scene(), reservation, &err));
    scene_vm(reservation, 1);
    await_holds(1, FULL(own));
    stays_lacking(1, FULL(RED), DAEMON_DOUBT_MS);
}

/* What Sunstone's "Update" of oneadmin does, and what sets it back. */
#define SWITCH "VN_MAD=bridge\nBRIDGE_TYPE=linux\nMTU="
#define SWITCH_BACK "VN_MAD=infiniband\nBRIDGE_TYPE=none"

static void a_network_that_becomes_a_bridge_keeps_its_members_and_gets_no_new_ones(void **state)
{
    (void)state;
    scene();
    const uint32_t red = scene_network("red", "257", "MTU=2044\n");
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    scene_vm(red, 0);
    await_holds(0, FULL(RED));
    MUST(lab_network_update(scene(), red, SWITCH, &err));
    await_said("network-switched");
    await_said("onevnet update 1 --append");
    scene_vm(red, 1);
    stays_lacking(1, FULL(RED), DAEMON_DOUBT_MS);
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
    assert_false(daemon_said("member removed"));
    await_health(200, NULL);

    MUST(lab_network_update(scene(), red, SWITCH_BACK, &err));
    await_said("no more network-switched");
    scene_vm(red, 2);
    await_holds(2, FULL(RED));
    stays_lacking(1, FULL(RED), DAEMON_DOUBT_MS);
    assert_true(port_holds(0, FULL(RED)));
}

static void a_member_of_a_network_that_became_a_bridge_moves_and_does_not_come_back(void **state)
{
    (void)state;
    scene();
    const uint32_t red = red_network();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    const uint32_t vm = scene_vm(red, 0);
    await_holds(0, FULL(RED));
    MUST(lab_network_update(scene(), red, SWITCH, &err));
    await_said("network-switched");
    MUST(lab_vm_migrate(scene(), vm, 2, MIGRATE, &err));
    await_holds(2, FULL(RED));
    MUST(lab_vm_running(scene(), vm, &err));
    await_lacks(0, FULL(RED));
    set_state(vm, POWEROFF, 0);
    await_lacks(2, FULL(RED));
    set_state(vm, ACTIVE, BOOT_POWEROFF);
    await_said("network-missing");
    stays_lacking(2, FULL(RED), DAEMON_DOUBT_MS);
    MUST(lab_network_update(scene(), red, SWITCH_BACK, &err));
    await_holds(2, FULL(RED));
}

/* A NIC that says what it likes: of a network that never was InfiniBand, and of one that is none
 * any more. */
static void a_nic_that_is_forged_for_a_bridge_gets_nothing(void **state)
{
    (void)state;
    scene();
    const uint32_t ethernet = scene_network("ethernet", "300", "VN_MAD=802.1Q\n");
    const uint32_t red = red_network();
    daemon_start_with(NULL, DAEMON_EVENTS_ONLY, NULL);
    scene_vm(red, 0);
    await_holds(0, FULL(RED));
    MUST(lab_network_update(scene(), red, SWITCH, &err));
    await_said("network-switched");
    const uint32_t first = scene_vm(ethernet, 1), second = scene_vm(red, 2);
    MUST(lab_vm_set_nic(scene(), first, 1, "VN_MAD=infiniband\nVLAN_ID=300", &err));
    MUST(lab_vm_set_nic(scene(), second, 1, "VN_MAD=infiniband\nVLAN_ID=257", &err));
    set_state(first, ACTIVE, RUNNING);
    set_state(second, ACTIVE, RUNNING);
    await_said("network-missing");
    await_said("moves to a host where");
    stays_lacking(1, FULL(300), DAEMON_DOUBT_MS);
    stays_lacking(2, FULL(RED), DAEMON_DOUBT_MS);
    assert_true(port_holds(0, FULL(RED)));
}

static void members_of_a_network_that_became_a_bridge_outlive_the_daemon(void **state)
{
    (void)state;
    scene();
    const uint32_t red = red_network();
    scene_vm(red, 0);
    await_holds(0, FULL(RED));
    daemon_kill();
    MUST(lab_network_update(scene(), red, SWITCH, &err));
    daemon_start();
    await_said("network-switched");
    stays_holding(0, FULL(RED), DAEMON_DOUBT_MS);
}

static void the_key_of_a_network_that_became_a_bridge_goes_to_nobody(void **state)
{
    (void)state;
    scene();
    const uint32_t low = scene_network("low", "", NULL);
    const unsigned key = await_key_of(low);
    scene_vm(low, 0);
    await_holds(0, FULL(key));
    MUST(lab_network_update(scene(), low, SWITCH, &err));
    await_said("network-switched");
    assert_int_not_equal(await_key_of(scene_network("next", "", NULL)), key);
    assert_int_equal(scene_key_of(low), key);
    stays_holding(0, FULL(key), DAEMON_DOUBT_MS);
}

static void reservations_that_share_outlive_their_parents_becoming_a_bridge(void **state)
{
    (void)state;
    scene();
    uint32_t reservation;
    const uint32_t parent = scene_network("red", "257", "IB_RESERVATION=shared\n");
    MUST(lab_network_reserve(scene(), parent, "part", &reservation, &err));
    scene_vm(reservation, 1);
    await_holds(1, FULL(RED));
    MUST(lab_network_update(scene(), parent, SWITCH, &err));
    await_said("network-switched");
    stays_holding(1, FULL(RED), DAEMON_DOUBT_MS);
    scene_vm(reservation, 2); /* the reservation is InfiniBand still */
    await_holds(2, FULL(RED));
}

static void a_vm_with_another_networks_key_costs_that_network_nothing(void **state)
{
    (void)state;
    scene();
    uint32_t red = red_network();
    uint32_t blue = scene_network("blue", "258", NULL);
    scene_vm(red, 0);
    scene_vm(red, 1);
    uint32_t liar = scene_vm(blue, 1);
    await_holds(0, FULL(RED));
    await_holds(1, FULL(RED));
    await_holds(1, FULL(BLUE));
    MUST(lab_vm_set_nic(scene(), liar, 1, "VLAN_ID=257", &err));
    MUST(lab_vm_running(scene(), liar, &err)); /* a state that is told of */
    stays_holding(1, FULL(RED), DAEMON_DOUBT_MS);
    assert_true(port_holds(1, FULL(BLUE)));
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void hosts_are_told_their_free_vfs_and_their_switch(void **state)
{
    (void)state;
    char of_0[64], of_3[64];
    scene();
    uint32_t vm = scene_vm(red_network(), 0);
    await_host_attribute(0, "IB_VFS_FREE", "63");
    await_host_attribute(3, "IB_VFS_FREE", "64");
    host_attribute(0, "IB_SWITCH", of_0, sizeof of_0);
    host_attribute(3, "IB_SWITCH", of_3, sizeof of_3);
    assert_int_equal(strlen(of_0), strlen("0x0123456789abcdef"));
    assert_string_equal(of_0, of_3);
    scene_end_vm(vm);
    await_host_attribute(0, "IB_VFS_FREE", "64");
}

static void a_migrating_vm_takes_a_vf_of_both_hosts(void **state)
{
    (void)state;
    scene();
    uint32_t vm = scene_vm(red_network(), 0);
    await_host_attribute(0, "IB_VFS_FREE", "63");
    MUST(lab_vm_migrate(scene(), vm, 2, MIGRATE, &err));
    await_host_attribute(2, "IB_VFS_FREE", "63");
    await_host_attribute(0, "IB_VFS_FREE", "63");
    MUST(lab_vm_running(scene(), vm, &err));
    await_host_attribute(0, "IB_VFS_FREE", "64");
}

static void hosts_are_written_only_when_something_changed(void **state)
{
    (void)state;
    scene();
    await_metric("oneib_host_updates_total", SCENE_HOSTS);
    uint32_t vm, network = red_network();
    MUST(lab_vm_create(scene(), "vm", &network, 1, &vm, &err));
    MUST(lab_vm_deploy(scene(), vm, 0, &err));
    await_host_attribute(0, "IB_VFS_FREE", "63");
    await_holds(0, FULL(RED)); /* for which its node has a function by now */
    MUST(lab_vm_running(scene(), vm, &err));
    const double looks = metric("oneib_looks_total");
    await_metric_at_least("oneib_looks_total", looks + 2);
    /* Its keys with its free VFs. */
    assert_int_equal(calls_of("one.host.update"), SCENE_HOSTS + 1);
    daemon_end();
    daemon_start();
    await_metric_at_least("oneib_looks_total", 2);
    assert_int_equal(calls_of("one.host.update"), SCENE_HOSTS + 1);
}

static void a_host_whose_probe_overwrites_what_it_was_told_is_told_again(void **state)
{
    (void)state;
    scene();
    scene_vm(red_network(), 0);
    await_host_attribute(0, "IB_VFS_FREE", "63");
    MUST(lab_host_update(scene(), 0, "IB_VFS_FREE=7", &err));
    await_host_attribute(0, "IB_VFS_FREE", "63");
    MUST(lab_host_update(scene(), 0, "IB_SWITCH=\"0x1\"", &err));
    char of_3[64];
    host_attribute(3, "IB_SWITCH", of_3, sizeof of_3);
    await_host_attribute(0, "IB_SWITCH", of_3);
}

static uint32_t reservation_of_user_5(uint32_t parent, const char *name)
{
    uint32_t network;
    MUST(lab_network_reserve(scene(), parent, name, &network, &err));
    MUST(lab_network_give(scene(), network, 5, &err));
    return network;
}

static void who_is_beyond_the_owners_limit_is_counted_while_it_waits(void **state)
{
    (void)state;
    scene();
    const uint32_t parent = red_network();
    const uint32_t first = reservation_of_user_5(parent, "first");
    const uint32_t second = reservation_of_user_5(parent, "second");
    daemon_start_with(NULL, DAEMON_QUICK, "pkeys = { per_owner = 1; };");
    const unsigned key = await_own_key(second);
    const uint32_t vm = scene_vm(first, 0);
    await_holds(0, FULL(await_own_key(first)));
    await_metric("oneib_members_refused{why=\"owner-limit\"}", 0);
    set_state(scene_vm(second, 0), ACTIVE, BOOT);
    await_metric("oneib_members_refused{why=\"owner-limit\"}", 1);
    await_metric("oneib_members_refused{why=\"port-full\"}", 0);
    assert_false(port_holds(0, FULL(key)));
    scene_end_vm(vm);
    await_holds(0, FULL(key));
    await_metric("oneib_members_refused{why=\"owner-limit\"}", 0);
}

/* opensm gives virtual ports nothing; that is said once, however often it is looked at. */
static void members_that_no_subnet_manager_serves_are_counted_and_said_once(void **state)
{
    (void)state;
    uint32_t host;
    MUST(
        lab_host_create(scene(), "X1", "mlx5_0", "mlx5", "0x000000000010000b", 63, 7, &host, &err));
    await_metric("oneib_members_unserved", 0);
    const uint32_t vm = scene_vm(scene_network("virtual", "300", NULL), host);
    await_said("virtual-ports: ");
    await_metric("oneib_members_unserved", 1);
    scene_vm(red_network(), 0);
    await_holds(0, FULL(RED));
    assert_int_equal(daemon_said_times("virtual-ports: "), 1);
    scene_end_vm(vm);
    await_metric("oneib_members_unserved", 0);
}

#define STOPPED(test) DAEMON_CASE(daemon_raise, test)
#define WATCHING(test) DAEMON_CASE(daemon_raise_watching, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WATCHING(a_network_without_a_key_is_given_one),
        STOPPED(an_instance_that_is_no_writer_gives_no_keys_and_tells_hosts_nothing_else),
        STOPPED(a_network_that_is_updated_takes_its_vms_to_the_new_key),
        STOPPED(a_network_whose_vlan_id_is_taken_away_shows_its_key_again),
        STOPPED(a_network_that_may_not_be_written_is_named_and_tried_again_later),
        WATCHING(of_two_networks_with_one_key_the_newer_gets_nobody_in),
        WATCHING(a_reservation_shares_the_partition_of_its_parent),
        WATCHING(who_makes_his_reservation_or_nic_limited_narrows_nobody_else),
        STOPPED(a_vm_in_a_reservation_in_error_is_not_in_its_parents_partition),
        STOPPED(a_reservation_that_fails_later_keeps_its_own_partition),
        STOPPED(a_network_that_becomes_a_bridge_keeps_its_members_and_gets_no_new_ones),
        STOPPED(a_member_of_a_network_that_became_a_bridge_moves_and_does_not_come_back),
        STOPPED(a_nic_that_is_forged_for_a_bridge_gets_nothing),
        WATCHING(members_of_a_network_that_became_a_bridge_outlive_the_daemon),
        WATCHING(the_key_of_a_network_that_became_a_bridge_goes_to_nobody),
        WATCHING(reservations_that_share_outlive_their_parents_becoming_a_bridge),
        WATCHING(a_vm_with_another_networks_key_costs_that_network_nothing),
        STOPPED(a_vm_is_a_member_from_prolog_on),
        STOPPED(what_frees_no_place_that_another_takes_costs_one_writing),
        STOPPED(a_live_migration_holds_both_hosts),
        WATCHING(a_live_migration_outlives_the_daemon),
        WATCHING(a_live_migration_that_begins_while_it_is_away_holds_both_hosts),
        STOPPED(a_cold_migration_ends_on_the_new_host_alone),
        STOPPED(a_vm_that_is_powered_off_is_no_member_until_it_resumes),
        STOPPED(a_nic_that_is_attached_is_a_member_until_it_is_detached),
        WATCHING(a_vm_in_an_unknown_state_keeps_what_it_has_and_gets_nothing_new),
        STOPPED(who_is_beyond_the_owners_limit_is_counted_while_it_waits),
        STOPPED(what_an_answer_lacks_is_held_until_sync_force_then_it_goes_on),
        WATCHING(members_that_no_subnet_manager_serves_are_counted_and_said_once),
        WATCHING(hosts_are_told_their_free_vfs_and_their_switch),
        WATCHING(a_migrating_vm_takes_a_vf_of_both_hosts),
        WATCHING(hosts_are_written_only_when_something_changed),
        WATCHING(a_host_whose_probe_overwrites_what_it_was_told_is_told_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
