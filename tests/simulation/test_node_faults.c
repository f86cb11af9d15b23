// SPDX-License-Identifier: Apache-2.0
/*
 * What the subnet manager, a real opensm, can do to a node's VFs, and that each can be given to
 * another VM afterwards. What else can go wrong on a node is in tests/cli/test_node_faults.c,
 * in test_node_crashes.c and test_node_left_over.c there.
 */
#include "node_scene.h"

static uint32_t vm;

/* Host 0 has a VM of a network whose key is 5. */
static void create_vm(void)
{
    uint32_t network;
    add_nodes();
    ok(lab_network_create(lab, "blue", "5", NULL, &network, &err));
    ok(lab_vm_create(lab, "vm", &network, 1, &vm, &err));
    ok(lab_vm_deploy(lab, vm, 0, &err));
}

static void give_key(void)
{
    set_partitions((const uint16_t[]){5, 0});
    await_key(5, true);
}

static void boot(void)
{
    create_vm();
    give_key();
    ok(lab_node_boot(lab, 0, vm, &err));
    assert_open(0, vm, 5);
}

static void end(void)
{
    ok(lab_node_domain(lab, 0, vm, false, &err));
    ok(lab_node_driver(lab, 0, "clean", vm, &err));
}

/* Nobody's and closed. */
static void assert_reusable(unsigned vf)
{
    assert_int_equal(count_claims(0), 0);
    assert_closed(0, vf);
}

static void become_full_member(void)
{
    char file[256];
    snprintf(file, sizeof file,
             "Default=0x7fff, defmember=limited : ALL=limited, SELF=full, 0x%" PRIx64 "=full;\n"
             "P5=0x5 : 0x%" PRIx64 "=full;\n",
             lab_host_port_guid(lab, 0), lab_host_port_guid(lab, 0));
    ok(lab_write(lab, "partitions.conf", 0644, file, &err));
    sweep_until(0, "mlx4_0/ports/1/pkeys/0", "0xffff");
}

static void become_limited_member(void)
{
    set_partitions((const uint16_t[]){5, 0});
    sweep_until(0, "mlx4_0/ports/1/pkeys/0", "0x7fff");
    await_key(5, true);
}

static void a_full_member_of_the_default_partition(void **state)
{
    (void)state;
    create_vm();
    become_full_member();
    assert_int_equal(lab_node_driver(lab, 0, "pre", vm, &err), -1);
    become_limited_member();
    assert_reusable(0);
}

static void a_full_member_of_the_default_partition_with_a_running_vm(void **state)
{
    (void)state;
    boot();
    become_full_member();
    await_attribute(0, "mlx4_0/iov/0000:81:00.1/ports/1/pkey_idx/0", "0");
    become_limited_member();
    await_vf_key(0, 0, 0x8005);
    end();
    assert_reusable(0);
}

static void a_key_that_is_not_there_at_the_deadline(void **state)
{
    (void)state;
    create_vm();
    assert_int_equal(lab_node_driver(lab, 0, "pre", vm, &err), -1);
    assert_non_null(strstr(err.text, "0x0005"));
    give_key();
    assert_reusable(0);
}

/* An opensm that was started anew has forgotten where the key was. */
static void a_key_that_moves_under_a_running_vf(void **state)
{
    (void)state;
    boot();
    const uint16_t before = vf_of(0, 0).map[0];
    set_partitions((const uint16_t[]){0});
    await_key(5, false);
    await_vf_key(0, 0, CLOSED);
    ok(lab_opensm_stop(lab, "opensm", true, &err));
    set_partitions((const uint16_t[]){6, 7, 0});
    ok(lab_opensm_start(lab, &LAB_SM, &err));
    await_key(7, true);
    set_partitions((const uint16_t[]){5, 6, 7, 0});
    await_vf_key(0, 0, CLOSED);
    await_key(5, true);
    await_vf_key(0, 0, 0x8005);
    assert_int_not_equal(vf_of(0, 0).map[0], before);
    end();
    assert_reusable(0);
}

static void a_service_that_was_killed_and_started_again(void **state)
{
    (void)state;
    boot();
    ok(lab_node_service_stop(lab, 0, SIGKILL, &err));
    set_partitions((const uint16_t[]){0});
    await_key(5, false);
    ok(lab_node_service_start(lab, 0, &err));
    await_vf_key(0, 0, CLOSED);
    give_key();
    await_vf_key(0, 0, 0x8005);
    ok(lab_node_service_stop(lab, 0, SIGKILL, &err));
    ok(lab_node_service_start(lab, 0, &err));
    end();
    assert_reusable(0);
}

/* Nothing is lost: it is closed and given back by the next service. */
static void a_vm_that_ends_while_no_service_runs(void **state)
{
    (void)state;
    boot();
    ok(lab_node_service_stop(lab, 0, SIGKILL, &err));
    ok(lab_node_domain(lab, 0, vm, false, &err));
    assert_int_equal(lab_node_driver(lab, 0, "clean", vm, &err), -1);
    assert_non_null(strstr(err.text, "systemctl start oneib-node"));
    assert_open(0, vm, 5);
    ok(lab_node_service_start(lab, 0, &err));
    await_vf_key(0, 0, CLOSED);
    ok(lab_node_driver(lab, 0, "clean", vm, &err));
    assert_reusable(0);
}

/* The service goes on with what clean could not wait for. */
static void a_guid_that_the_sm_refuses_to_delete(void **state)
{
    (void)state;
    boot();
    ok(lab_node_hold_guids(lab, 0, true, &err));
    ok(lab_node_domain(lab, 0, vm, false, &err));
    ok(lab_node_driver(lab, 0, "clean", vm, &err));
    assert_string_equal(claim_of(0, vm).stage, "releasing");
    assert_int_equal(vf_of(0, 0).map[0], 0);
    ok(lab_node_hold_guids(lab, 0, false, &err));
    await_no_claims(0);
    assert_reusable(0);
}

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "%s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        hasty(a_full_member_of_the_default_partition),
        patient(a_full_member_of_the_default_partition_with_a_running_vm),
        hasty(a_key_that_is_not_there_at_the_deadline),
        patient(a_key_that_moves_under_a_running_vf),
        patient(a_service_that_was_killed_and_started_again),
        patient(a_vm_that_ends_while_no_service_runs),
        hasty(a_guid_that_the_sm_refuses_to_delete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
