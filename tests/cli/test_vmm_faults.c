// SPDX-License-Identifier: Apache-2.0
/* What goes wrong in the middle of a VM's life, with the programs of both drivers. */
#include "vmm_scene.h"

/* More calls of libvirt than any action makes. */
#define CALLS_MAX 40

static void add_fault_here(const char *fault)
{
    tree_write(fault, "/var/lib/live-standin/faults");
}

static void heal_here(void)
{
    tree_remove("/var/lib/live-standin/faults");
}

static void end_vm_2(void)
{
    stop_vm_2(HOST_1);
}

/* ---- killed ---------------------------------------------------------------------------------- */

/* Killed at its first, second, ... call of libvirt, and each time called again as OpenNebula would,
 * until it comes to its end untouched. */
static void kill_at_every_call(const char *action, void (*before)(void), void (*again)(void),
                               void (*check)(void))
{
    for (unsigned call = 1;; call++) {
        assert_true(call < CALLS_MAX);
        if (before)
            before();
        live_standin_fault("die %u", call);
        const int status = act(action);
        live_standin_heal();
        if (status != 0)
            assert_int_equal(status, -SIGKILL);
        again();
        check();
        if (status == 0) {
            assert_true(call > 3);
            return;
        }
    }
}

static void reserve_for_attach(void)
{
    char *vm = vm_in(ATTACH_2);
    must_net(NET_PRE, vm);
    free(vm);
}

static void attach_again(void)
{
    attach(ATTACH_2, UUID_2);
}

static void check_attached(void)
{
    assert_plugged(2, 1, 0, 15);
    assert_plugged(2, 2, 1, 17);
    detach(DETACH_2);
    assert_no_nic(2, 2);
}

static void attach_nic_killed_anywhere_can_be_called_again(void **state)
{
    (void)state;
    deploy_vm_2();
    kill_at_every_call(ATTACH_2, reserve_for_attach, attach_again, check_attached);
    end_vm_2();
}

static void detach_again(void)
{
    detach(DETACH_2);
}

static void check_detached(void)
{
    assert_plugged(2, 1, 0, 15);
    assert_no_nic(2, 2);
}

static void detach_nic_killed_anywhere_can_be_called_again(void **state)
{
    (void)state;
    deploy_vm_2();
    kill_at_every_call(DETACH_2, attach_again, detach_again, check_detached);
    end_vm_2();
}

static void save_again(void)
{
    if (runs_here(2))
        must_act(SAVE_2);
    char *vm = vm_in(SAVE_2);
    must_net(NET_CLEAN(HOST_1), vm);
    free(vm);
}

static void check_saved(void)
{
    assert_nothing_runs_and_nothing_is_left(2);
    configure_node();
    restore(RESTORE_2, UUID_2);
    assert_plugged(2, 1, 0, 15);
}

static void save_killed_anywhere_can_be_called_again(void **state)
{
    (void)state;
    deploy_vm_2();
    kill_at_every_call(SAVE_2, NULL, save_again, check_saved);
    end_vm_2();
}

/* OpenNebula shows the VM as running after a save that failed, and it does, without its VF. */
static void a_vm_whose_save_was_killed_gets_its_vf_back(void **state)
{
    (void)state;
    deploy_vm_2();
    live_standin_fault("upstream save kill-before");
    assert_int_equal(act(SAVE_2), -SIGKILL);
    live_standin_heal();
    assert_nic(2, 1, 0, 15, false);
    assert_int_equal(run_standin("reattach", WORDS("2"), ""), 0);
    assert_plugged(2, 1, 0, 15);
    end_vm_2();
}

/* ---- told to end ----------------------------------------------------------------------------- */

/* At its first, second, ... call of libvirt, until none is left. */
static bool is_told_to_end_at(unsigned call, const char *action, int *status)
{
    assert_true(call < CALLS_MAX);
    live_standin_fault("term %u", call);
    *status = act(action);
    live_standin_heal();
    return *status != 0;
}

static void a_save_that_is_told_to_end_leaves_the_vm_as_it_was(void **state)
{
    (void)state;
    int status;
    deploy_vm_2();
    unsigned call = 1;
    for (; is_told_to_end_at(call, SAVE_2, &status); call++) {
        assert_told(status, "told to end by a signal");
        assert_plugged(2, 1, 0, 15);
        assert_lacks(live_standin_log(), "upstream save");
    }
    assert_true(call > 3);
    char *vm = vm_in(SAVE_2);
    must_net(NET_CLEAN(HOST_1), vm);
    free(vm);
    assert_nothing_runs_and_nothing_is_left(2);
}

static void an_attach_that_is_told_to_end_is_undone(void **state)
{
    (void)state;
    int status;
    unsigned call = 1;
    deploy_vm_2();
    for (reserve_for_attach(); is_told_to_end_at(call, ATTACH_2, &status); call++) {
        assert_told(status, "told to end by a signal");
        assert_contains(said, "nothing of the NIC is left in the VM");
        assert_no_nic(2, 2);
        reserve_for_attach();
    }
    assert_true(call > 3);
    check_attached();
    end_vm_2();
}

/* There is no way back that would be shorter. */
static void a_detach_that_is_told_to_end_is_finished(void **state)
{
    (void)state;
    deploy_vm_2();
    for (unsigned call = 1; call < 6; call++) {
        int status;
        attach_again();
        assert_false(is_told_to_end_at(call, DETACH_2, &status));
        detach_again();
        check_detached();
    }
    end_vm_2();
}

/* ---- migration ------------------------------------------------------------------------------- */

static void a_destination_without_a_free_vf_is_refused_before_anything_is_unplugged(void **state)
{
    (void)state;
    char *vm = vm_in(MIGRATE_2), *document = reduced(vm);
    deploy_vm_2();
    go_to(away);
    for (unsigned i = 0; i < four_vfs.vfs; i++) {
        const char *const id = (const char *const[]){"90", "91", "92", "93"}[i];
        if (ASK("have", "--vm", id, "--nic", "0") != 0)
            fail_msg("%s", said);
    }
    live_standin_forget_log();
    must_fail(NET_PRE, document, "has no free virtual function");
    go_to(home);
    assert_string_equal(live_standin_log(), "");
    assert_plugged(2, 1, 0, 15);
    end_vm_2();
    free(document);
    free(vm);
}

/* OpenNebula tells nobody at the destination. */
static void a_migration_that_fails_leaves_the_vm_as_it_was(void **state)
{
    (void)state;
    char *vm = vm_in(MIGRATE_2);
    deploy_vm_2();
    go_to(away);
    must_net(NET_PRE, vm);
    go_to(home);
    live_standin_fault("upstream migrate fail");
    assert_int_equal(act(MIGRATE_2), 1);
    assert_string_equal(said, "ERROR: migrate: told to fail\n");
    live_standin_heal();
    assert_plugged(2, 1, 0, 15);
    migrate_to_the_other_host();
    assert_plugged(2, 1, 0, 15);
    stop_vm_2(HOST_2);
    free(vm);
}

/* Said, and the VM runs on: OpenNebula would do nothing about a failure but lose the VM. */
static void a_vm_that_arrives_and_cannot_be_given_its_vf_runs_on_without(void **state)
{
    (void)state;
    char *vm = vm_in(MIGRATE_2), *document = reduced(vm);
    deploy_vm_2();
    go_to(away);
    must_net(NET_PRE, vm);
    go_to(home);
    must_act(MIGRATE_2);
    must_net(NET_CLEAN(HOST_1), vm);
    go_to(away);
    add_fault_here("attach-fails ua-oneib-1");
    assert_int_equal(run(NET_POST(UUID_2, HOST_1), document), 0);
    assert_true(strncmp(said, "WARN: ", 6) == 0);
    assert_contains(said, "VM 2 NIC 1: plugging in its virtual function");
    heal_here();
    assert_nic(2, 1, 0, 15, false);
    must_net(NET_POST(UUID_2, HOST_1), vm);
    assert_plugged(2, 1, 0, 15);
    stop_vm_2(HOST_2);
    free(document);
    free(vm);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void a_resumed_vm_that_cannot_be_given_its_vf_runs_on_without(void **state)
{
    (void)state;
    char *vm = vm_in(RESTORE_2);
    deploy_vm_2();
    save(SAVE_2);
    must_net(NET_PRE, vm);
    live_standin_fault("attach-fails ua-oneib-1");
    assert_int_equal(act(RESTORE_2), 0);
    assert_contains(said, "WARN: VM 2 NIC 1: plugging in its virtual function");
    live_standin_heal();
    assert_nic(2, 1, 0, 15, false);
    must_net(NET_POST(UUID_2, HOST_1), vm);
    assert_plugged(2, 1, 0, 15);
    end_vm_2();
    free(vm);
}

static void a_domain_that_does_not_start_leaves_nothing(void **state)
{
    (void)state;
    char *vm = document_to_deploy(MIGRATE_2, UUID_2);
    must_net(NET_PRE, vm);
    write_vm_xml(2, vm);
    live_standin_fault("upstream deploy fail 255");
    assert_int_equal(act(DEPLOY_2), 255);
    assert_string_equal(said, "ERROR: deploy: told to fail\n");
    live_standin_heal();
    must_net(NET_CLEAN(HOST_1), vm);
    assert_nothing_runs_and_nothing_is_left(2);
    configure_node();
    deploy_vm_2();
    end_vm_2();
    free(vm);
}

/* OpenNebula calls nobody after an attach that failed. */
static void an_attach_that_fails_leaves_nothing(void **state)
{
    (void)state;
    char *vm = vm_in(ATTACH_2);
    deploy_vm_2();
    must_net(NET_PRE, vm);
    live_standin_fault("attach-fails ua-oneib-2");
    assert_told(act(ATTACH_2), "nothing of the NIC is left in the VM");
    live_standin_heal();
    assert_no_nic(2, 2);
    attach(ATTACH_2, UUID_2);
    assert_plugged(2, 2, 1, 17);
    end_vm_2();
    free(vm);
}

/* OpenNebula calls detach_nic then, and nobody else. */
static void an_attach_whose_post_fails_is_detached(void **state)
{
    (void)state;
    char *vm = vm_in(ATTACH_2);
    deploy_vm_2();
    must_net(NET_PRE, vm);
    must_act(ATTACH_2);
    assert_plugged(2, 2, 1, 17);
    must_act(DETACH_2);
    assert_plugged(2, 1, 0, 15);
    attach(ATTACH_2, UUID_2);
    assert_plugged(2, 2, 1, 17);
    end_vm_2();
    free(vm);
}

static void without_libvirt_nothing_is_begun(void **state)
{
    (void)state;
    deploy_vm_2();
    live_standin_fault("refuse-open");
    live_standin_forget_log();
    static const char *const actions_of_running_vms[] = {ATTACH_2, DETACH_2, SAVE_2, MIGRATE_2};
    for (size_t i = 0; i < 4; i++)
        assert_told(act(actions_of_running_vms[i]), "connecting to test://");
    assert_lacks(live_standin_log(), "upstream");
    live_standin_heal();
    assert_plugged(2, 1, 0, 15);
    end_vm_2();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(attach_nic_killed_anywhere_can_be_called_again),
        LIFE(detach_nic_killed_anywhere_can_be_called_again),
        LIFE(save_killed_anywhere_can_be_called_again),
        LIFE(a_vm_whose_save_was_killed_gets_its_vf_back),
        LIFE(a_save_that_is_told_to_end_leaves_the_vm_as_it_was),
        LIFE(an_attach_that_is_told_to_end_is_undone),
        LIFE(a_detach_that_is_told_to_end_is_finished),
        LIFE(a_destination_without_a_free_vf_is_refused_before_anything_is_unplugged),
        LIFE(a_migration_that_fails_leaves_the_vm_as_it_was),
        LIFE(a_vm_that_arrives_and_cannot_be_given_its_vf_runs_on_without),
        LIFE(a_resumed_vm_that_cannot_be_given_its_vf_runs_on_without),
        LIFE(a_domain_that_does_not_start_leaves_nothing),
        LIFE(an_attach_that_fails_leaves_nothing),
        LIFE(an_attach_whose_post_fails_is_detached),
        LIFE(without_libvirt_nothing_is_begun),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
