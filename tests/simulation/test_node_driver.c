// SPDX-License-Identifier: Apache-2.0
/* What becomes of a VM's VF from pre to clean: the real programs on simulated nodes, whose keys
 * come from a real opensm. */
#include "node_scene.h"

static void boot(uint32_t network, size_t host, uint32_t *vm)
{
    ok(lab_vm_create(lab, "vm", &network, 1, vm, &err));
    ok(lab_vm_deploy(lab, *vm, (uint32_t)host, &err));
    ok(lab_node_boot(lab, host, *vm, &err));
}

static void end(size_t host, uint32_t vm)
{
    ok(lab_vm_state(lab, vm, 3, LCM_SHUTDOWN, &err));
    ok(lab_node_domain(lab, host, vm, false, &err));
    ok(lab_node_driver(lab, host, "clean", vm, &err));
    ok(lab_vm_delete(lab, vm, &err));
}

/* A network with key 5, which all of their ports have. */
static uint32_t add_nodes_and_network(void)
{
    uint32_t network;
    add_nodes();
    ok(lab_network_create(lab, "blue", "5", NULL, &network, &err));
    set_partitions((const uint16_t[]){5, 0});
    await_key(5, true);
    return network;
}

static void a_vm_has_an_open_vf_from_pre_to_clean(void **state)
{
    uint32_t vm;
    (void)state;
    const uint32_t network = add_nodes_and_network();
    boot(network, 0, &vm);
    assert_open(0, vm, 5);
    assert_guid(0, vm);
    const unsigned vf = claim_of(0, vm).vf;
    end(0, vm);
    assert_int_equal(count_claims(0), 0);
    assert_closed(0, vf);
}

static void pre_waits_until_opensm_has_given_the_key(void **state)
{
    uint32_t network, vm;
    struct lab_output output;
    (void)state;
    ok(lab_add_nodes(lab, &err));
    ok(lab_network_create(lab, "blue", "", NULL, &network, &err));
    ok(lab_config_write(lab, NULL, &err));
    ok(lab_oneib(lab, (const char *[]){"sync", "--force", NULL}, CHANGE_MS, &output, &err));
    assert_int_equal(output.status, 0);
    lab_output_clear(&output);
    ok(lab_oneibd_start(lab, &LAB_DAEMON, &err));
    char key[16];
    ok(lab_network_vlan_id(lab, network, key, sizeof key, &err));
    boot(network, 0, &vm);
    assert_open(0, vm, (uint16_t)strtoul(key, NULL, 10));
    assert_guid(0, vm);
}

static void a_pre_whose_key_does_not_come_leaves_nothing_behind(void **state)
{
    uint32_t network, vm;
    (void)state;
    add_nodes();
    ok(lab_network_create(lab, "blue", "5", NULL, &network, &err));
    ok(lab_vm_create(lab, "vm", &network, 1, &vm, &err));
    ok(lab_vm_deploy(lab, vm, 0, &err));
    assert_int_equal(lab_node_driver(lab, 0, "pre", vm, &err), -1);
    assert_non_null(strstr(err.text, "0x0005"));
    assert_int_equal(count_claims(0), 0);
    for (unsigned vf = 0; vf < 7; vf++) {
        assert_int_equal(vf_of(0, vf).map[0], 0);
        assert_int_equal(vf_of(0, vf).accepted, 0);
    }
}

static void a_full_member_of_the_default_partition_hands_out_no_vf(void **state)
{
    uint32_t network, vm;
    char file[256];
    (void)state;
    add_nodes();
    ok(lab_network_create(lab, "blue", "5", NULL, &network, &err));
    snprintf(file, sizeof file,
             "Default=0x7fff, defmember=limited : ALL=limited, SELF=full, 0x%" PRIx64 "=full;\n"
             "P5=0x5 : 0x%" PRIx64 "=full;\n",
             lab_host_port_guid(lab, 0), lab_host_port_guid(lab, 0));
    ok(lab_write(lab, "partitions.conf", 0644, file, &err));
    sweep_until(0, "mlx4_0/ports/1/pkeys/0", "0xffff");
    await_key(5, true);
    ok(lab_vm_create(lab, "vm", &network, 1, &vm, &err));
    ok(lab_vm_deploy(lab, vm, 0, &err));
    assert_int_equal(lab_node_driver(lab, 0, "pre", vm, &err), -1);
    assert_non_null(strstr(err.text, "default partition"));
    assert_int_equal(count_claims(0), 0);
}

static void an_eighth_vm_is_refused_a_vf(void **state)
{
    uint32_t vm;
    (void)state;
    const uint32_t network = add_nodes_and_network();
    for (unsigned i = 0; i < 7; i++)
        boot(network, 0, &vm);
    ok(lab_vm_create(lab, "vm", &network, 1, &vm, &err));
    ok(lab_vm_deploy(lab, vm, 0, &err));
    assert_int_equal(lab_node_driver(lab, 0, "pre", vm, &err), -1);
    assert_non_null(strstr(err.text, "no free virtual function"));
    assert_int_equal(count_claims(0), 7);
}

static void the_guid_of_a_migrating_vm_is_at_one_port_at_a_time(void **state)
{
    uint32_t vm;
    (void)state;
    const uint32_t network = add_nodes_and_network();
    boot(network, 0, &vm);
    const unsigned source = claim_of(0, vm).vf;
    ok(lab_vm_migrate(lab, vm, 1, LCM_MIGRATE, &err));
    ok(lab_node_driver(lab, 1, "pre", vm, &err));
    assert_open(1, vm, 5);
    assert_int_equal(vf_of(1, claim_of(1, vm).vf).guid, 0);
    assert_guid(0, vm);
    ok(lab_node_domain(lab, 0, vm, false, &err));
    ok(lab_node_domain(lab, 1, vm, true, &err));
    ok(lab_node_driver(lab, 0, "clean", vm, &err));
    assert_int_equal(count_claims(0), 0);
    assert_closed(0, source);
    ok(lab_node_driver(lab, 1, "post", vm, &err));
    ok(lab_vm_running(lab, vm, &err));
    assert_open(1, vm, 5);
    assert_guid(1, vm);
}

static void a_nic_that_is_attached_and_detached_has_a_vf_meanwhile(void **state)
{
    uint32_t blue, red, vm, nic;
    (void)state;
    add_nodes();
    ok(lab_network_create(lab, "blue", "5", NULL, &blue, &err));
    ok(lab_network_create(lab, "red", "6", NULL, &red, &err));
    set_partitions((const uint16_t[]){5, 6, 0});
    await_key(6, true);
    boot(blue, 0, &vm);
    ok(lab_vm_attach(lab, vm, red, &nic, &err));
    ok(lab_node_driver(lab, 0, "pre", vm, &err));
    ok(lab_node_domain(lab, 0, vm, true, &err));
    ok(lab_node_driver(lab, 0, "post", vm, &err));
    ok(lab_vm_running(lab, vm, &err));
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    size_t count;
    ok(lab_node_claims(lab, 0, claims, &count, &err));
    assert_int_equal(count, 2);
    assert_int_equal(claims[1].nic, nic);
    assert_int_equal(vf_of(0, claims[0].vf).key, 0x8005);
    assert_int_equal(vf_of(0, claims[1].vf).key, 0x8006);
    ok(lab_vm_detach(lab, vm, nic, &err));
    ok(lab_node_unplug(lab, 0, vm, claims[1].vf, &err));
    ok(lab_node_driver(lab, 0, "clean", vm, &err));
    ok(lab_vm_running(lab, vm, &err));
    assert_closed(0, claims[1].vf);
    assert_open(0, vm, 5);
}

/* The guest has not let go of it. */
static void a_nic_that_is_lost_is_closed_and_free_once_its_domain_lets_go(void **state)
{
    uint32_t vm, nic;
    (void)state;
    const uint32_t network = add_nodes_and_network();
    boot(network, 0, &vm);
    ok(lab_vm_attach(lab, vm, network, &nic, &err));
    ok(lab_node_driver(lab, 0, "pre", vm, &err));
    ok(lab_node_domain(lab, 0, vm, true, &err));
    struct lab_node_claim claims[LAB_NODE_CLAIMS];
    size_t count;
    ok(lab_node_claims(lab, 0, claims, &count, &err));
    assert_int_equal(count, 2);
    const unsigned vf = claims[claims[1].nic == nic].vf;
    assert_int_equal(vf_of(0, vf).key, 0x8005);
    ok(lab_node_driver(lab, 0, "clean", vm, &err));
    assert_int_equal(vf_of(0, vf).key, CLOSED);
    assert_int_equal(count_claims(0), 2);
    ok(lab_node_unplug(lab, 0, vm, vf, &err));
    for (unsigned waited = 0; count_claims(0) > 1 && waited < SEEN_MS; waited += 2)
        lab_sleep_ms(2);
    assert_closed(0, vf);
    assert_open(0, vm, 5);
}

static void a_vf_follows_its_network_to_another_key(void **state)
{
    uint32_t network, vm;
    (void)state;
    add_nodes();
    ok(lab_network_create(lab, "blue", "5", NULL, &network, &err));
    set_partitions((const uint16_t[]){5, 6, 0});
    await_key(6, true);
    boot(network, 0, &vm);
    ok(lab_network_update(lab, network, "VLAN_ID=6", &err));
    await_vf_key(0, claim_of(0, vm).vf, 0x8006);
    await_stage(0, vm, "open");
    assert_open(0, vm, 6);
    assert_guid(0, vm);
}

static void a_vf_is_closed_when_its_key_goes_and_opened_where_it_comes_back(void **state)
{
    uint32_t vm;
    (void)state;
    const uint32_t network = add_nodes_and_network();
    boot(network, 0, &vm);
    const unsigned vf = claim_of(0, vm).vf;
    const uint16_t before = vf_of(0, vf).map[0];
    set_partitions((const uint16_t[]){0});
    await_key(5, false);
    await_vf_key(0, vf, CLOSED);
    /* An opensm that was started anew has forgotten where a key was. */
    ok(lab_opensm_stop(lab, "opensm", true, &err));
    set_partitions((const uint16_t[]){6, 7, 0});
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    await_key(7, true);
    set_partitions((const uint16_t[]){5, 6, 7, 0});
    await_key(5, true);
    await_vf_key(0, vf, 0x8005);
    assert_int_not_equal(vf_of(0, vf).map[0], before);
    assert_true(vf_of(0, vf).only);
}

static void a_service_that_was_killed_catches_up_when_it_is_started_again(void **state)
{
    uint32_t vm;
    (void)state;
    const uint32_t network = add_nodes_and_network();
    boot(network, 0, &vm);
    ok(lab_node_service_stop(lab, 0, SIGKILL, &err));
    set_partitions((const uint16_t[]){0});
    await_key(5, false);
    ok(lab_node_service_start(lab, 0, &err));
    await_vf_key(0, claim_of(0, vm).vf, CLOSED);
    ok(lab_node_service_stop(lab, 0, SIGTERM, &err));
}

static void a_guid_that_is_not_let_go_keeps_the_vf_closed_and_taken(void **state)
{
    uint32_t vm;
    (void)state;
    const uint32_t network = add_nodes_and_network();
    boot(network, 0, &vm);
    const unsigned vf = claim_of(0, vm).vf;
    ok(lab_node_hold_guids(lab, 0, true, &err));
    ok(lab_node_domain(lab, 0, vm, false, &err));
    /* OpenNebula would take a failure for the shutdown's. */
    ok(lab_node_driver(lab, 0, "clean", vm, &err));
    assert_string_equal(claim_of(0, vm).stage, "releasing");
    assert_int_equal(vf_of(0, vf).map[0], 0);
    ok(lab_node_hold_guids(lab, 0, false, &err));
    ok(lab_node_driver(lab, 0, "clean", vm, &err));
    await_no_claims(0);
    assert_closed(0, vf);
}

/* A guest switches itself off: its VF reaches nobody, and is its own until the VM starts again. */
static void a_vf_is_closed_with_its_domain_and_opened_when_the_vm_starts_again(void **state)
{
    uint32_t vm;
    (void)state;
    const uint32_t network = add_nodes_and_network();
    boot(network, 0, &vm);
    const unsigned vf = claim_of(0, vm).vf;
    ok(lab_node_domain(lab, 0, vm, false, &err));
    assert_string_equal(claim_of(0, vm).stage, "ended");
    assert_int_equal(vf_of(0, vf).key, CLOSED);
    /* A key that moves does not open it. */
    set_partitions((const uint16_t[]){0});
    await_key(5, false);
    set_partitions((const uint16_t[]){5, 0});
    await_key(5, true);
    assert_int_equal(vf_of(0, vf).key, CLOSED);
    ok(lab_node_driver(lab, 0, "pre", vm, &err));
    assert_open(0, vm, 5);
    assert_int_equal(claim_of(0, vm).vf, vf);
}

/* OpenNebula cleans the source although it is the destination too. */
static void a_migration_that_stays_on_its_host_releases_nothing(void **state)
{
    uint32_t vm;
    (void)state;
    const uint32_t network = add_nodes_and_network();
    boot(network, 0, &vm);
    ok(lab_node_driver(lab, 0, "pre", vm, &err));
    ok(lab_node_driver(lab, 0, "clean", vm, &err));
    ok(lab_node_driver(lab, 0, "post", vm, &err));
    assert_open(0, vm, 5);
    assert_guid(0, vm);
}

static void an_mlx5_vf_has_its_guid_and_link_from_pre_to_clean(void **state)
{
    uint32_t network, vm;
    char name[64];
    (void)state;
    add_nodes();
    ok(lab_network_create(lab, "blue", "5", NULL, &network, &err));
    boot(network, 0, &vm);
    snprintf(name, sizeof name, "mlx5_0/device/sriov/%u/", claim_of(0, vm).vf);
    char node[96], policy[96];
    snprintf(node, sizeof node, "%sport", name);
    snprintf(policy, sizeof policy, "%spolicy", name);
    await_attribute(0, node, "02:00:00:00:00:00:00:01");
    await_attribute(0, policy, "Follow");
    end(0, vm);
    await_attribute(0, node, "ff:ff:ff:ff:ff:ff:ff:ff");
    await_attribute(0, policy, "Down");
}

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        patient(a_vm_has_an_open_vf_from_pre_to_clean),
        patient(pre_waits_until_opensm_has_given_the_key),
        hasty(a_pre_whose_key_does_not_come_leaves_nothing_behind),
        hasty(a_full_member_of_the_default_partition_hands_out_no_vf),
        patient(an_eighth_vm_is_refused_a_vf),
        patient(the_guid_of_a_migrating_vm_is_at_one_port_at_a_time),
        patient(a_nic_that_is_attached_and_detached_has_a_vf_meanwhile),
        hasty(a_nic_that_is_lost_is_closed_and_free_once_its_domain_lets_go),
        patient(a_vf_follows_its_network_to_another_key),
        patient(a_vf_is_closed_when_its_key_goes_and_opened_where_it_comes_back),
        patient(a_service_that_was_killed_catches_up_when_it_is_started_again),
        hasty(a_guid_that_is_not_let_go_keeps_the_vf_closed_and_taken),
        patient(a_vf_is_closed_with_its_domain_and_opened_when_the_vm_starts_again),
        patient(a_migration_that_stays_on_its_host_releases_nothing),
        cmocka_unit_test_setup_teardown(an_mlx5_vf_has_its_guid_and_link_from_pre_to_clean,
                                        with_mlx5, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
