// SPDX-License-Identifier: Apache-2.0
/* A VM is saved, or migrates to another host. */
#include "leave_scene.h"

static char checkpoint[1024], destination[] = "node2", domain[] = DOMAIN;
static char *save_arguments[] = {domain, checkpoint, host, id, host, NULL};
static char *migrate_arguments[] = {domain, destination, host, id, host, NULL};
static int status;

static int open_leaving(void **state)
{
    open_running_scene(state);
    char *peer = tree_path("/peer");
    tree_make_directory("/peer");
    live_standin_add_peer(destination, peer);
    free(peer);
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", tree_root());
    status = 77;
    return 0;
}

static int saving(void)
{
    struct oneib_vmm vmm = calling(UPSTREAM_STANDIN "/save", save_arguments);
    err = (struct oneib_error){0};
    return oneib_vmm_leave(&vmm, false, &status, &err);
}

static int migrating(void)
{
    struct oneib_vmm vmm = calling(UPSTREAM_STANDIN "/migrate", migrate_arguments);
    err = (struct oneib_error){0};
    return oneib_vmm_leave(&vmm, true, &status, &err);
}

static void assert_saved(void)
{
    if (saving() < 0)
        fail_msg("%s", err.text);
    assert_int_equal(status, 0);
    assert_false(live_standin_runs(DOMAIN));
    assert_true(tree_exists("/checkpoint"));
}

/* ---- what goes well -------------------------------------------------------------------------- */

static void a_vm_is_saved_without_its_vfs(void **state)
{
    (void)state;
    assert_saved();
    assert_order("detach " DOMAIN, "upstream save " DOMAIN);
    assert_logged("attach " DOMAIN " ua", false);
    assert_no_warnings();
}

static void a_vm_migrates_without_its_vfs(void **state)
{
    (void)state;
    assert_int_equal(migrating(), 0);
    assert_int_equal(status, 0);
    assert_false(live_standin_runs(DOMAIN));
    assert_order("detach " DOMAIN, "upstream migrate " DOMAIN);
    assert_no_warnings();
}

/* Of what an earlier call, killed, has left too. */
static void a_domain_without_a_vf_is_the_upstream_actions_own(void **state)
{
    (void)state;
    const char *aliases[] = {VF_ALIAS_1, VF_ALIAS_2};
    bool gone[2];
    struct oneib_live *live;
    assert_int_equal(oneib_live_open("", &live, &err), 0);
    assert_int_equal(oneib_live_detach(live, DOMAIN, aliases, 2, 1000, gone, &err), 0);
    oneib_live_close(live);
    live_standin_forget_log();
    assert_saved();
    assert_logged("detach", false);
}

static void the_upstream_action_gets_what_opennebula_sent(void **state)
{
    (void)state;
    char command[1024], sum[64] = "", expected[128];
    snprintf(command, sizeof command, "printf %%s '%s' | cksum | cut -d ' ' -f 1", input);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(sum, sizeof sum, pipe));
    pclose(pipe);
    assert_saved();
    snprintf(expected, sizeof expected, "node1 42 node1 stdin=%s", sum);
    assert_logged(expected, true);
}

static void a_vm_without_nics_of_ours_does_not_need_libvirt(void **state)
{
    (void)state;
    close_scene(NULL);
    open_scene(NULL);
    live_standin_run(domain_document("")->data);
    live_standin_fault("refuse-open");
    assert_saved();
}

/* A VM that OpenNebula has imported. */
static void a_vm_without_nics_of_ours_may_have_any_name(void **state)
{
    (void)state;
    close_scene(NULL);
    open_scene(NULL);
    live_standin_run("<domain type='kvm'><name>wild</name><memory>1024</memory><os><type "
                     "arch='x86_64' machine='pc'>hvm</type></os><devices/></domain>");
    char wild[] = "wild";
    char *words[] = {wild, checkpoint, host, id, host, NULL};
    struct oneib_vmm vmm = calling(UPSTREAM_STANDIN "/save", words);
    vmm.domain = wild;
    assert_int_equal(oneib_vmm_leave(&vmm, false, &status, &err), 0);
    assert_int_equal(status, 0);
    assert_false(live_standin_runs("wild"));
}

/* Which says why it fails in its own words. */
static void a_domain_that_does_not_run_is_the_upstream_actions_own(void **state)
{
    (void)state;
    assert_int_equal(live_standin_stop(DOMAIN, &err), 0);
    assert_int_equal(saving(), 0);
    assert_int_equal(status, 1);
    assert_logged("upstream save", true);
    assert_no_warnings();
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void tune(void)
{
    close_scene(NULL);
    open_leaving(NULL);
    live_standin_reset();
    const struct oneib_text *xml = domain_document("");
    char *end = strstr(xml->data, "<devices>");
    struct oneib_text tuned = {0};
    oneib_text_append_bytes(&tuned, xml->data, (size_t)(end - xml->data));
    oneib_text_append(&tuned, "<metadata><oneib:tuning xmlns:oneib='urn:oneib:domain:1'/>"
                              "</metadata>");
    oneib_text_append(&tuned, end);
    live_standin_run(tuned.data);
    oneib_text_clear(&tuned);
    live_standin_forget_log();
}

static void a_tuned_vm_does_not_migrate_live(void **state)
{
    (void)state;
    tune();
    assert_int_equal(migrating(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("VM 42 has cores and memory of this host to itself (IB_HPC)");
    assert_told("migrate it powered off or suspended");
    assert_logged("detach", false);
    assert_logged("upstream", false);
    assert_true(live_standin_runs(DOMAIN));
}

static void a_tuned_vm_is_saved(void **state)
{
    (void)state;
    tune();
    assert_saved();
}

static void without_the_upstream_action_nothing_is_touched(void **state)
{
    (void)state;
    struct oneib_vmm vmm = calling("/nowhere/kvm/save", save_arguments);
    assert_int_equal(oneib_vmm_leave(&vmm, false, &status, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_told("/nowhere/kvm/save");
    assert_string_equal(live_standin_log(), "");
    assert_shape(BOTH_IN);
}

static void without_libvirt_nothing_is_touched(void **state)
{
    (void)state;
    live_standin_fault("refuse-open");
    assert_int_equal(saving(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_logged("upstream", false);
    assert_shape(BOTH_IN);
}

static void a_vf_that_the_guest_keeps_ends_it_before_the_upstream_action(void **state)
{
    (void)state;
    live_standin_fault("keeps " VF_ALIAS_2);
    assert_int_equal(saving(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    assert_told("VM 42: the guest does not let go of NIC 2 (0000:81:00.3)");
    assert_logged("upstream", false);
    assert_shape(BOTH_IN);
    live_standin_heal();
    assert_saved();
}

static void another_vms_domain_is_not_touched(void **state)
{
    (void)state;
    vm.id = 43;
    assert_int_equal(migrating(), -1);
    assert_told("is not that of VM 43");
    assert_shape(BOTH_IN);
}

/* ---- what fails ------------------------------------------------------------------------------ */

static void when_the_upstream_action_fails_the_vfs_are_back(void **state)
{
    (void)state;
    live_standin_fault("upstream save fail 3");
    assert_int_equal(saving(), 0);
    assert_int_equal(status, 3);
    assert_shape(BOTH_IN);
    assert_no_warnings();
    live_standin_heal();
    live_standin_fault("upstream migrate fail 255");
    assert_int_equal(migrating(), 0);
    assert_int_equal(status, 255);
    assert_shape(BOTH_IN);
    live_standin_heal();
    assert_saved();
}

/* libvirtd, told to end, has finished the save that virsh knows nothing of any more. */
static void a_domain_that_is_gone_after_a_failure_is_looked_for(void **state)
{
    (void)state;
    live_standin_fault("upstream save lose");
    assert_int_equal(saving(), 0);
    assert_int_equal(status, 1);
    assert_false(live_standin_runs(DOMAIN));
    assert_warned(
        "VM 42 is gone from this host although saving it is said to have failed: its state "
        "may be whole in the checkpoint");
    oneib_text_clear(&warnings);
    live_standin_heal();
    restart_vm();
    live_standin_fault("upstream migrate lose");
    assert_int_equal(migrating(), 0);
    assert_warned("look whether one-42 runs on the destination");
}

static void what_cannot_be_plugged_in_again_is_a_warning(void **state)
{
    (void)state;
    live_standin_fault("upstream save fail 1");
    live_standin_fault("attach-fails " VF_ALIAS_1);
    assert_int_equal(saving(), 0);
    assert_int_equal(status, 1);
    assert_warned("VM 42 NIC 1: plugging in its virtual function 0000:81:00.2: ");
    assert_shape("1:-+0 2:vf2@21+1");
    repair();
    assert_shape(BOTH_IN);
}

static void what_was_released_meanwhile_stays_out(void **state)
{
    (void)state;
    oneib_vf_table_clear(&table);
    record_open(2, 2);
    live_standin_fault("upstream save fail 1");
    assert_int_equal(saving(), 0);
    assert_shape("1:-+0 2:vf2@21+1");
}

static void an_upstream_action_that_cannot_be_run_leaves_the_vfs_in(void **state)
{
    (void)state;
    tree_write("#!/nowhere/interpreter", "/save");
    tree_set_mode(0755, "/save");
    char *path = tree_path("/save");
    struct oneib_vmm vmm = calling(path, save_arguments);
    const int outcome = oneib_vmm_leave(&vmm, false, &status, &err);
    free(path);
    if (outcome == 0)
        assert_int_not_equal(status, 0); /* under valgrind, which sees it too late */
    assert_shape(BOTH_IN);
}

/* ---- lost and killed ------------------------------------------------------------------------- */

/* Whatever was lost: the domain runs on with all its dummy interfaces, or it is saved. */
static void assert_consistent(void)
{
    if (!live_standin_runs(DOMAIN))
        return;
    assert_non_null(strstr(shape(), "+0"));
    assert_non_null(strstr(shape(), "+1"));
}

static unsigned try_all(const char *moment, int (*act)(void), bool kills, bool upstream_fails)
{
    unsigned call = 1;
    for (bool faulted = true; faulted; call++) {
        restart_vm();
        tree_remove("/checkpoint");
        live_standin_fault("%s %u", moment, call);
        if (upstream_fails)
            live_standin_fault("upstream save fail 1");
        faulted = kills ? is_killed(act) : act() < 0 || warnings.length > 0;
        assert_consistent();
        if (live_standin_runs(DOMAIN)) {
            repair();
            assert_shape(BOTH_IN);
            assert_saved();
        }
    }
    return call - 1;
}

static void lost_or_killed_at_any_call_a_second_one_goes_on(void **state)
{
    (void)state;
    /* open, a look, unplugging; the last round is the one without a fault. */
    assert_int_equal(try_all("die", saving, true, false), 4);
    assert_int_equal(try_all("lost", saving, false, false), 4);
    assert_int_equal(try_all("lost-after", saving, false, false), 4);
    /* Then open, a look, and an attach and a look for each VF. */
    assert_int_equal(try_all("die", saving, true, true), 10);
    assert_int_equal(try_all("lost", saving, false, true), 10);
    assert_true(try_all("lost-after", saving, false, true) >= 9);
}

static void killed_while_unplugging_it_can_be_called_again(void **state)
{
    (void)state;
    live_standin_fault("die-amid 3");
    assert_true(is_killed(saving));
    assert_shape("1:-+0 2:vf2@21+1");
    live_standin_heal();
    assert_saved();
}

static void killed_around_the_upstream_action_nothing_is_lost(void **state)
{
    (void)state;
    live_standin_fault("upstream save kill-before");
    assert_true(is_killed(saving));
    assert_shape(BOTH_OUT);
    repair();
    assert_shape(BOTH_IN);
    live_standin_fault("upstream save kill-after");
    assert_true(is_killed(saving));
    assert_false(live_standin_runs(DOMAIN));
    assert_true(tree_exists("/checkpoint"));
}

int main(void)
{
    tree_open();
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_leaving, close_scene)
    const struct CMUnitTest tests[] = {
        TEST(a_vm_is_saved_without_its_vfs),
        TEST(a_vm_migrates_without_its_vfs),
        TEST(a_domain_without_a_vf_is_the_upstream_actions_own),
        TEST(the_upstream_action_gets_what_opennebula_sent),
        TEST(a_vm_without_nics_of_ours_does_not_need_libvirt),
        TEST(a_vm_without_nics_of_ours_may_have_any_name),
        TEST(a_domain_that_does_not_run_is_the_upstream_actions_own),
        TEST(a_tuned_vm_does_not_migrate_live),
        TEST(a_tuned_vm_is_saved),
        TEST(without_the_upstream_action_nothing_is_touched),
        TEST(without_libvirt_nothing_is_touched),
        TEST(a_vf_that_the_guest_keeps_ends_it_before_the_upstream_action),
        TEST(another_vms_domain_is_not_touched),
        TEST(when_the_upstream_action_fails_the_vfs_are_back),
        TEST(a_domain_that_is_gone_after_a_failure_is_looked_for),
        TEST(what_cannot_be_plugged_in_again_is_a_warning),
        TEST(what_was_released_meanwhile_stays_out),
        TEST(an_upstream_action_that_cannot_be_run_leaves_the_vfs_in),
        TEST(lost_or_killed_at_any_call_a_second_one_goes_on),
        TEST(killed_while_unplugging_it_can_be_called_again),
        TEST(killed_around_the_upstream_action_nothing_is_lost),
    };
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
