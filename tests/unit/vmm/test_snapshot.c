// SPDX-License-Identifier: Apache-2.0
/* A snapshot of a VM is made, or the VM goes back to one. */
#include "leave_scene.h"

static char domain[] = DOMAIN, number[] = "0", name[] = "snap-0";
static char *create_arguments[] = {domain, number, id, host, NULL};
static char *revert_arguments[] = {domain, name, id, host, NULL};
static int status;

static int open_snapshots(void **state)
{
    status = 77;
    open_running_scene(state);
    tree_remove("/var/lib/live-standin/snapshots");
    return 0;
}

static int creating(void)
{
    struct oneib_vmm vmm = calling(UPSTREAM_STANDIN "/snapshot_create", create_arguments);
    err = (struct oneib_error){0};
    return oneib_vmm_snapshot(&vmm, &status, &err);
}

static int reverting(void)
{
    struct oneib_vmm vmm = calling(UPSTREAM_STANDIN "/snapshot_revert", revert_arguments);
    err = (struct oneib_error){0};
    return oneib_vmm_snapshot(&vmm, &status, &err);
}

static void must(int (*act)(void))
{
    if (act() < 0)
        fail_msg("%s", err.text);
    assert_int_equal(status, 0);
}

/* What attach_nic does. */
static void give_vm(uint8_t nic_id, unsigned index)
{
    const struct oneib_domain_nic nic = {
        .nic_id = nic_id,
        .vf = tree_vf_pci(&hca, nic_id),
        .has_guest_address = true,
        .guest_address = {.bus = (uint8_t)(0x22 - index)},
        .index = index,
        .ipv4 = address_of(nic_id),
        .target = "some",
    };
    struct oneib_text xml = {0};
    assert_int_equal(oneib_domain_dummy_xml(&nic, &xml, &err), 0);
    assert_int_equal(live_standin_plug(DOMAIN, xml.data, &err), 0);
    oneib_text_clear(&xml);
    assert_int_equal(oneib_domain_vf_xml(&nic, &xml, &err), 0);
    assert_int_equal(live_standin_plug(DOMAIN, xml.data, &err), 0);
    oneib_text_clear(&xml);
}

/* What detach_nic and clean do. */
static void take_from_vm(uint8_t nic_id)
{
    char vf[ONEIB_ALIAS_SIZE], dummy[ONEIB_ALIAS_SIZE];
    const char *aliases[] = {vf, dummy};
    bool gone[2];
    struct oneib_live *live;
    size_t at = 0;
    oneib_domain_alias(ONEIB_ALIAS_VF, nic_id, vf);
    oneib_domain_alias(ONEIB_ALIAS_DUMMY, nic_id, dummy);
    assert_int_equal(oneib_live_open("", &live, &err), 0);
    assert_int_equal(oneib_live_detach(live, DOMAIN, aliases, 2, 1000, gone, &err), 0);
    oneib_live_close(live);
    live_standin_forget_log();
    live_standin_heal();
    while (vm.nics[at].nic_id != nic_id)
        at++;
    memmove(&vm.nics[at], &vm.nics[at + 1], (--vm.nic_count - at) * sizeof *vm.nics);
    const struct oneib_pci address = tree_vf_pci(&hca, nic_id);
    assert_true(oneib_vf_table_remove(&table, &address));
    if (table.count > 0)
        write_table();
    else
        forget_records();
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void a_snapshot_is_made_without_vfs_which_are_back_then(void **state)
{
    (void)state;
    must(creating);
    assert_shape(BOTH_IN);
    assert_no_warnings();
    assert_order("detach " DOMAIN, "upstream snapshot_create");
    assert_order("upstream snapshot_create", "attach " DOMAIN " " VF_ALIAS_1);
}

static void a_vm_that_goes_back_has_its_vfs(void **state)
{
    (void)state;
    must(creating);
    live_standin_forget_log();
    must(reverting);
    assert_shape(BOTH_IN);
    assert_no_warnings();
    assert_order("detach " DOMAIN, "upstream snapshot_revert");
    assert_order("upstream snapshot_revert", "attach " DOMAIN " " VF_ALIAS_1);
}

static void a_guest_address_is_kept(void **state)
{
    (void)state;
    close_scene(NULL);
    open_scene(NULL);
    add_pci_nic(1, 1, 5);
    record_open(1, 1);
    start_vm("");
    must(creating);
    assert_shape("1:vf1@05+0");
    must(reverting);
    assert_shape("1:vf1@05+0");
}

static void a_nic_that_was_attached_since_is_there_with_the_lowest_free_index(void **state)
{
    (void)state;
    must(creating);
    add_vm_nic(3);
    give_vm(3, 2);
    must(reverting);
    assert_int_equal(strncmp(shape(), BOTH_IN, strlen(BOTH_IN)), 0);
    assert_has_both(3, 3, 2);
    assert_no_warnings();
}

static void an_index_in_the_middle_is_given_to_it(void **state)
{
    (void)state;
    close_scene(NULL);
    open_scene(NULL);
    for (uint8_t nic_id = 1; nic_id <= 3; nic_id++)
        add_vm_nic(nic_id);
    start_vm("");
    take_from_vm(2);
    assert_shape("1:vf1@22+0 3:vf3@20+2");
    must(creating);
    add_vm_nic(4);
    give_vm(4, 1);
    add_vm_nic(5);
    give_vm(5, 3);
    must(reverting);
    assert_has_both(1, 1, 0);
    assert_has_both(3, 3, 2);
    assert_has_both(4, 4, 1);
    assert_has_both(5, 5, 3);
    assert_no_warnings();
}

static void a_pci_nic_that_was_attached_since_is_there_too(void **state)
{
    (void)state;
    must(creating);
    add_pci_nic(3, 3, 7);
    record_open(3, 3);
    give_vm(3, 2);
    must(reverting);
    assert_has_both(3, 3, 2);
}

static void a_nic_that_was_detached_since_is_not(void **state)
{
    (void)state;
    must(creating);
    take_from_vm(2);
    must(reverting);
    assert_shape("1:vf1@22+0");
    assert_no_warnings();
}

static void a_vm_without_nics_of_ours_has_none_after_it(void **state)
{
    (void)state;
    must(creating);
    take_from_vm(1);
    take_from_vm(2);
    must(reverting);
    assert_shape("");
    assert_no_warnings();
}

/* NIC 2 was detached, and the next one that was attached is NIC 2 again. */
static void a_dummy_interface_that_tells_another_address_is_replaced(void **state)
{
    (void)state;
    must(creating);
    nics[1].ipv4 = address_of(9);
    must(reverting);
    assert_int_equal(device_of(2).ipv4, address_of(9));
    assert_shape(BOTH_IN);
    assert_no_warnings();
}

static void that_of_a_malformed_nic_is_left_alone(void **state)
{
    (void)state;
    nics[1].faulty = true;
    nics[1].ipv4 = 0;
    must(creating);
    assert_shape(BOTH_IN);
}

/* ---- cores ----------------------------------------------------------------------------------- */

#define CORES(first, second)                                                                       \
    "<cputune><vcpupin vcpu='0' cpuset='" first "'/><vcpupin vcpu='1' cpuset='" second             \
    "'/><emulatorpin cpuset='" first "," second "'/></cputune>"

/* The VM is on these cores; marked: oneib has given them. */
static void run_on(const char *cores, bool marked)
{
    const char *now = live_standin_document(DOMAIN), *end = strstr(now, "</domain>");
    struct oneib_text xml = {0};
    assert_non_null(end);
    oneib_text_append_bytes(&xml, now, (size_t)(end - now));
    oneib_text_append(&xml, marked ? "<metadata><oneib:tuning xmlns:oneib='urn:oneib:domain:1'/>"
                                     "</metadata>"
                                   : "");
    oneib_text_append(&xml, cores);
    oneib_text_append(&xml, "</domain>");
    assert_int_equal(live_standin_stop(DOMAIN, &err), 0);
    live_standin_run(xml.data);
    live_standin_forget_log();
    oneib_text_clear(&xml);
}

/* A snapshot on the cores 0 and 1, and then the VM was started again, on 2 and 3. */
static void move_since_the_snapshot(bool marked)
{
    run_on(CORES("0", "1"), marked);
    must(creating);
    assert_int_equal(live_standin_stop(DOMAIN, &err), 0);
    start_vm("");
    run_on(CORES("2", "3"), marked);
}

static void assert_runs_on(const char *first, const char *second)
{
    char words[64];
    snprintf(words, sizeof words, "<vcpupin vcpu=\"0\" cpuset=\"%s\"/>", first);
    assert_non_null(strstr(live_standin_document(DOMAIN), words));
    snprintf(words, sizeof words, "<vcpupin vcpu=\"1\" cpuset=\"%s\"/>", second);
    assert_non_null(strstr(live_standin_document(DOMAIN), words));
}

/* Those that it had may be another VM's since it was powered off. */
static void a_tuned_vm_that_goes_back_keeps_the_cores_that_it_has(void **state)
{
    (void)state;
    move_since_the_snapshot(true);
    must(reverting);
    assert_runs_on("2", "3");
    assert_non_null(strstr(live_standin_document(DOMAIN), "<emulatorpin cpuset=\"2-3\"/>"));
    assert_shape(BOTH_IN);
    assert_no_warnings();
}

static void a_tuned_vm_that_has_not_moved_is_not_pinned_again(void **state)
{
    (void)state;
    run_on(CORES("0", "1"), true);
    must(creating);
    must(reverting);
    assert_logged("pin ", false);
}

static void cores_that_others_have_chosen_are_theirs(void **state)
{
    (void)state;
    move_since_the_snapshot(false);
    must(reverting);
    assert_runs_on("0", "1");
    assert_logged("pin ", false);
}

static void that_a_vm_could_not_be_moved_back_is_a_warning(void **state)
{
    (void)state;
    move_since_the_snapshot(true);
    live_standin_fault("pin-fails " DOMAIN);
    must(reverting);
    assert_non_null(strstr(warnings.data, "VM 42 may run on cores that it had at the snapshot"));
    assert_shape(BOTH_IN);
}

static void a_domain_without_anything_of_ours_is_the_upstream_actions_own(void **state)
{
    (void)state;
    close_scene(NULL);
    open_scene(NULL);
    live_standin_run(domain_document("")->data);
    tree_write("vf=nonsense", "/run/oneib/vfs");
    must(creating);
    assert_logged("detach", false);
    assert_logged("attach", false);
    live_standin_fault("lost 3");
    must(reverting);
    live_standin_heal();
    live_standin_fault("refuse-open");
    must(reverting);
    assert_no_warnings();
}

/* ---- failures -------------------------------------------------------------------------------- */

static void without_the_upstream_action_nothing_is_touched(void **state)
{
    (void)state;
    struct oneib_vmm vmm = calling("/nowhere/kvm/snapshot_create", create_arguments);
    assert_int_equal(oneib_vmm_snapshot(&vmm, &status, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_string_equal(live_standin_log(), "");
}

static void without_libvirt_nothing_is_touched(void **state)
{
    (void)state;
    live_standin_fault("refuse-open");
    assert_int_equal(creating(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_logged("upstream", false);
    assert_shape(BOTH_IN);
}

static void a_vf_that_the_guest_keeps_ends_it_before_the_upstream_action(void **state)
{
    (void)state;
    live_standin_fault("rejects " VF_ALIAS_1);
    assert_int_equal(creating(), -1);
    assert_told("the guest does not let go of NIC 1");
    assert_logged("upstream", false);
    assert_shape(BOTH_IN);
}

static void when_the_upstream_action_fails_the_vfs_are_back(void **state)
{
    (void)state;
    live_standin_fault("upstream snapshot_create fail 255");
    assert_int_equal(creating(), 0);
    assert_int_equal(status, 255);
    assert_shape(BOTH_IN);
    live_standin_heal();
    assert_int_equal(reverting(), 0); /* there is no snapshot */
    assert_int_equal(status, 1);
    assert_shape(BOTH_IN);
    assert_no_warnings();
}

static void what_cannot_be_put_right_is_a_warning_and_the_rest_goes_on(void **state)
{
    (void)state;
    must(creating);
    take_from_vm(2);
    add_vm_nic(3);
    give_vm(3, 1);
    live_standin_fault("keeps " DUMMY_ALIAS_2);
    live_standin_fault("attach-fails ua-oneib-dummy-3");
    must(reverting);
    assert_warned("VM 42 NIC 2: taking out the dummy interface");
    assert_warned("VM 42 NIC 3: plugging in its dummy interface");
    assert_shape("1:vf1@22+0 2:-+1");
    live_standin_heal();
    oneib_text_clear(&warnings);
    must(reverting);
    assert_no_warnings();
    assert_shape("1:vf1@22+0 3:vf3@21+1");
}

static void a_nic_without_a_record_is_a_warning(void **state)
{
    (void)state;
    must(creating);
    add_nic(3);
    must(reverting);
    assert_warned("VM 42 NIC 3 has no virtual function on this node");
    assert_shape(BOTH_IN);
}

static void a_vf_that_cannot_be_plugged_is_a_warning(void **state)
{
    (void)state;
    live_standin_fault("attach-fails " VF_ALIAS_2);
    must(creating);
    assert_warned("VM 42 NIC 2: plugging in its virtual function");
    assert_shape("1:vf1@22+0 2:-+1");
    repair();
    assert_shape(BOTH_IN);
}

static void a_damaged_table_is_a_warning(void **state)
{
    (void)state;
    tree_write("vf=nonsense", "/run/oneib/vfs");
    must(creating);
    assert_warned("/run/oneib/vfs");
    assert_shape(BOTH_OUT);
}

/* ---- lost and killed ------------------------------------------------------------------------- */

/* The VM has lost NIC 2 since the snapshot, and got NIC 3. */
static void make_history(void)
{
    restart_vm();
    must(creating);
    take_from_vm(2);
    add_vm_nic(3);
    give_vm(3, 1);
    live_standin_heal();
}

static unsigned try_all(const char *moment, bool kills)
{
    unsigned call = 1;
    for (bool faulted = true; faulted; call++) {
        make_history();
        live_standin_fault("%s %u", moment, call);
        faulted = kills ? is_killed(reverting) : reverting() < 0 || warnings.length > 0;
        assert_true(live_standin_runs(DOMAIN));
        live_standin_heal();
        oneib_text_clear(&warnings);
        must(reverting);
        assert_no_warnings();
        assert_shape("1:vf1@22+0 3:vf3@21+1");
    }
    return call - 1;
}

static void lost_or_killed_at_any_call_a_second_one_heals(void **state)
{
    (void)state;
    /* Three for what is before the upstream action. Dummies: open, look, detach, look, attach,
     * look; VFs: open, look, and two for each. */
    assert_int_equal(try_all("die", true), 16);
    assert_int_equal(try_all("lost", false), 16);
    assert_true(try_all("lost-after", false) >= 10);
}

static void killed_around_the_upstream_action_repair_gives_the_vfs_back(void **state)
{
    static const char *const moments[] = {"kill-before", "kill-after"};
    for (size_t i = 0; i < 2; i++) {
        close_scene(NULL);
        open_snapshots(state);
        live_standin_fault("upstream snapshot_create %s", moments[i]);
        assert_true(is_killed(creating));
        assert_shape(BOTH_OUT);
        repair();
        assert_shape(BOTH_IN);
    }
}

int main(void)
{
    tree_open();
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_snapshots, close_scene)
    const struct CMUnitTest tests[] = {
        TEST(a_snapshot_is_made_without_vfs_which_are_back_then),
        TEST(a_vm_that_goes_back_has_its_vfs),
        TEST(a_guest_address_is_kept),
        TEST(a_nic_that_was_attached_since_is_there_with_the_lowest_free_index),
        TEST(an_index_in_the_middle_is_given_to_it),
        TEST(a_pci_nic_that_was_attached_since_is_there_too),
        TEST(a_nic_that_was_detached_since_is_not),
        TEST(a_vm_without_nics_of_ours_has_none_after_it),
        TEST(a_dummy_interface_that_tells_another_address_is_replaced),
        TEST(that_of_a_malformed_nic_is_left_alone),
        TEST(a_tuned_vm_that_goes_back_keeps_the_cores_that_it_has),
        TEST(a_tuned_vm_that_has_not_moved_is_not_pinned_again),
        TEST(cores_that_others_have_chosen_are_theirs),
        TEST(that_a_vm_could_not_be_moved_back_is_a_warning),
        TEST(a_domain_without_anything_of_ours_is_the_upstream_actions_own),
        TEST(without_the_upstream_action_nothing_is_touched),
        TEST(without_libvirt_nothing_is_touched),
        TEST(a_vf_that_the_guest_keeps_ends_it_before_the_upstream_action),
        TEST(when_the_upstream_action_fails_the_vfs_are_back),
        TEST(what_cannot_be_put_right_is_a_warning_and_the_rest_goes_on),
        TEST(a_nic_without_a_record_is_a_warning),
        TEST(a_vf_that_cannot_be_plugged_is_a_warning),
        TEST(a_damaged_table_is_a_warning),
        TEST(lost_or_killed_at_any_call_a_second_one_heals),
        TEST(killed_around_the_upstream_action_repair_gives_the_vfs_back),
    };
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
