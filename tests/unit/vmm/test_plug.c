// SPDX-License-Identifier: Apache-2.0
/* VFs out of a running domain and in again. */
#include "leave_scene.h"
#include "vmm/plug.h"

#define UUID "5dec61fb-6338-452b-9e09-76372ec01406"

static struct oneib_live *live;
static struct oneib_domain_description before;

static void look(void)
{
    oneib_domain_description_clear(&before);
    if (oneib_plug_read(live, DOMAIN, VM_ID, &before, &err) < 0)
        fail_msg("%s", err.text);
}

static void connect_and_look(void)
{
    oneib_live_close(live);
    live = NULL;
    assert_int_equal(oneib_live_open("", &live, &err), 0);
    look();
    live_standin_forget_log();
    live_standin_heal();
    err = (struct oneib_error){0};
}

static int open_plugging(void **state)
{
    open_running_scene(state);
    connect_and_look();
    return 0;
}

static int close_plugging(void **state)
{
    oneib_live_close(live);
    live = NULL;
    oneib_domain_description_clear(&before);
    return close_scene(state);
}

static int take_out(void)
{
    return oneib_plug_out(&config, live, DOMAIN, &vm, &before, &err);
}

static int put_in(const struct oneib_domain_description *as)
{
    err = (struct oneib_error){0};
    return oneib_plug_in(&config, DOMAIN, &vm, as, &err);
}

/* Both are out. */
static int open_lacking(void **state)
{
    open_plugging(state);
    assert_int_equal(take_out(), 0);
    live_standin_forget_log();
    live_standin_heal();
    return 0;
}

/* ---- looking --------------------------------------------------------------------------------- */

static void a_domain_is_found_by_its_name_and_by_its_uuid(void **state)
{
    (void)state;
    look();
    assert_int_equal(before.device_count, 2);
    assert_true(oneib_plug_has_vf(&before));
    oneib_domain_description_clear(&before);
    assert_int_equal(oneib_plug_read(live, UUID, VM_ID, &before, &err), 0);
    assert_int_equal(before.vm_id, VM_ID);
}

static void one_that_does_not_run_is_not_found(void **state)
{
    (void)state;
    struct oneib_domain_description unread;
    assert_int_equal(oneib_plug_read(live, "one-43", 43, &unread, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
}

static void the_domain_of_another_vm_is_refused(void **state)
{
    (void)state;
    struct oneib_domain_description unread;
    assert_int_equal(oneib_plug_read(live, DOMAIN, 43, &unread, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("\"one-42\" is not that of VM 43");
}

static void a_document_that_can_be_read_in_two_ways_is_refused(void **state)
{
    (void)state;
    struct oneib_domain_description unread;
    live_standin_run("<domain type='kvm'><name>one-44</name><devices><disk type='file'>"
                     "<alias name='ua-oneib-1'/></disk></devices></domain>");
    assert_int_equal(oneib_plug_read(live, "one-44", 44, &unread, &err), -1);
    assert_told("VM 44: the document of its running domain");
}

/* ---- out ------------------------------------------------------------------------------------- */

static void all_vfs_are_asked_for_at_once_and_dummies_stay(void **state)
{
    (void)state;
    assert_int_equal(take_out(), 0);
    assert_string_equal(live_standin_log(), "detach " DOMAIN " " VF_ALIAS_1 " " VF_ALIAS_2 "\n");
    assert_shape(BOTH_OUT);
    look();
    assert_false(oneib_plug_has_vf(&before));
}

static void of_two_vfs_of_which_the_guest_keeps_one_the_other_is_back_where_it_was(void **state)
{
    (void)state;
    live_standin_fault("keeps " VF_ALIAS_2);
    assert_int_equal(take_out(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    assert_told("VM 42: the guest does not let go of NIC 2 (0000:81:00.3): ");
    assert_told("has its virtual functions as before");
    assert_told("may still let go of that later");
    assert_null(strstr(err.text, "NIC 1"));
    assert_shape(BOTH_IN);
    assert_logged("attach " DOMAIN " " VF_ALIAS_1, true);
}

static void a_guest_that_refuses_keeps_its_vfs(void **state)
{
    (void)state;
    live_standin_fault("rejects " VF_ALIAS_1);
    assert_int_equal(take_out(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("the guest does not let go of NIC 1 (0000:81:00.2): ");
    assert_null(strstr(err.text, "later"));
    assert_shape(BOTH_IN);
}

static void what_a_slow_guest_lets_go_of_too_late_is_back_too(void **state)
{
    (void)state;
    live_standin_fault("slow " VF_ALIAS_2 " 5000");
    assert_int_equal(take_out(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    assert_shape(BOTH_IN);
}

static void what_cannot_be_plugged_in_again_is_said(void **state)
{
    (void)state;
    live_standin_fault("keeps " VF_ALIAS_2);
    live_standin_fault("attach-fails " VF_ALIAS_1);
    assert_int_equal(take_out(), -1);
    assert_told("does not let go of NIC 2 (0000:81:00.3)");
    assert_told(
        "; what was out could not be plugged in again, or not all of it ('oneib hca' shows "
        "it, --repair mends it): VM 42 NIC 1: plugging in its virtual function 0000:81:00.2: ");
    assert_told("device_add");
    assert_shape("1:-+0 2:vf2@21+1");
}

static void a_connection_that_is_lost_is_opened_again_to_roll_back(void **state)
{
    (void)state;
    live_standin_fault("lost-amid 1");
    assert_int_equal(take_out(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_told("VM 42: failed to unplug NIC 2 (0000:81:00.3): ");
    assert_told("has its virtual functions as before");
    assert_shape(BOTH_IN);
}

static void a_libvirt_that_stays_away_is_said(void **state)
{
    (void)state;
    live_standin_fault("lost-amid 1");
    live_standin_fault("refuse-open");
    assert_int_equal(take_out(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_told("could not be plugged in again, or not all of it ('oneib hca' shows it");
    assert_shape("1:-+0 2:vf2@21+1");
    repair();
    assert_shape(BOTH_IN);
}

static void a_domain_that_has_ended_meanwhile_is_said(void **state)
{
    (void)state;
    assert_int_equal(live_standin_stop(DOMAIN, &err), 0);
    assert_int_equal(take_out(), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_told("VM 42: unplugging its virtual functions: ");
    assert_null(strstr(err.text, "oneib hca"));
}

/* ---- in -------------------------------------------------------------------------------------- */

static void vfs_are_back_where_they_were(void **state)
{
    (void)state;
    const struct oneib_pci place = {.bus = 0x19};
    for (size_t i = 0; i < before.device_count; i++)
        if (before.devices[i].nic_id == 2)
            before.devices[i].guest_address = place;
    assert_int_equal(put_in(&before), 0);
    assert_shape("1:vf1@22+0 2:vf2@19+1");
    assert_int_equal(put_in(&before), 0);
}

static void without_knowing_where_their_index_says_it(void **state)
{
    (void)state;
    assert_int_equal(put_in(NULL), 0);
    assert_shape(BOTH_IN);
}

/* A device that is not ours, behind that root port. */
static void occupy(unsigned bus)
{
    char device[512];
    struct oneib_error unplugged = {0};
    snprintf(device, sizeof device,
             "<hostdev mode='subsystem' type='pci'><source><address domain='0' bus='0x05' "
             "slot='0x%02x' function='%u'/></source><alias name='ua-gpu-%u'/><address type='pci' "
             "domain='0' bus='0x%02x' slot='0' function='0'/></hostdev>",
             bus / 8, bus % 8, bus, bus);
    if (live_standin_plug(DOMAIN, device, &unplugged) < 0)
        fail_msg("%s", unplugged.text);
}

static void a_place_that_is_taken_is_left_to_whoever_has_it(void **state)
{
    (void)state;
    occupy(0x22);
    assert_int_equal(put_in(&before), 0);
    assert_non_null(strstr(shape(), "2:vf2@21+1"));
    assert_null(strstr(shape(), "1:vf1@22"));
}

/* NIC 2's place is taken, and libvirt gives it that of NIC 3. */
static void a_place_that_libvirt_has_given_away_is_left_too(void **state)
{
    (void)state;
    close_plugging(NULL);
    open_scene(NULL);
    for (uint8_t nic_id = 1; nic_id <= 3; nic_id++)
        add_vm_nic(nic_id);
    start_vm("");
    connect_and_look();
    assert_int_equal(take_out(), 0);
    for (unsigned bus = 4; bus < 0x20; bus++) /* the first are the dummy interfaces' */
        occupy(bus);
    occupy(0x21);
    oneib_vf_table_clear(&table);
    record_open(2, 2);
    record_open(3, 3);
    if (put_in(NULL) < 0)
        fail_msg("%s", err.text);
    assert_shape("1:-+0 2:vf2@20+1 3:vf3@22+2");
}

static void a_pci_nic_is_where_opennebula_wants_it(void **state)
{
    (void)state;
    close_plugging(NULL);
    open_scene(NULL);
    add_pci_nic(1, 1, 5);
    record_open(1, 1);
    start_vm("");
    connect_and_look();
    assert_shape("1:vf1@05+0");
    assert_int_equal(take_out(), 0);
    assert_int_equal(put_in(&before), 0);
    assert_shape("1:vf1@05+0");
    look();
    assert_int_equal(take_out(), 0);
    assert_int_equal(put_in(NULL), 0);
    assert_shape("1:vf1@05+0");
}

static void a_nic_without_its_dummy_interface_gets_no_vf(void **state)
{
    (void)state;
    record_open(3, 3);
    assert_int_equal(put_in(NULL), -1);
    assert_told(
        "VM 42 NIC 3: plugging in its virtual function 0000:81:00.4: the domain has no dummy "
        "interface for that NIC");
    assert_shape(BOTH_IN);
}

static void one_that_had_its_vf_without_gets_it_back(void **state)
{
    (void)state;
    const char *dummy = DUMMY_ALIAS_1;
    bool gone;
    look();
    assert_int_equal(put_in(NULL), 0);
    assert_int_equal(oneib_live_detach(live, DOMAIN, &dummy, 1, 1000, &gone, &err), 0);
    look();
    assert_int_equal(take_out(), 0);
    assert_int_equal(put_in(&before), 0);
    assert_shape("1:vf1@22- 2:vf2@21+1");
}

/* Another VM could have got it since the table was looked at. */
static void one_that_is_released_while_it_goes_in_is_taken_out_again(void **state)
{
    (void)state;
    live_standin_fault("table-lost 3"); /* after opening and a look */
    assert_int_equal(put_in(&before), -1);
    assert_told("VM 42 NIC 1: plugging in its virtual function 0000:81:00.2: it was released "
                "meanwhile");
    assert_shape(BOTH_OUT);
}

static void make_released(struct oneib_vf_record *record)
{
    record->stage = ONEIB_VF_RELEASING;
}

static void give_to_another_vm(struct oneib_vf_record *record)
{
    record->vm_id = 43;
}

static void move_to_another_vf(struct oneib_vf_record *record)
{
    record->vf = tree_vf_pci(&hca, 5);
    record->index = 5;
}

/* The record of the first NIC changes after the VF was opened and the domain looked at. */
static void one_whose_record_changes_while_it_goes_in_is_taken_out_again(void **state)
{
    (void)state;
    static void (*const changes[])(struct oneib_vf_record *) = {make_released, give_to_another_vm,
                                                                move_to_another_vf};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const struct oneib_vf_record whole = table.items[0];
        changes[i](&table.items[0]);
        write_table_to("/run/oneib/vfs.next");
        table.items[0] = whole;
        write_table();
        live_standin_heal();
        live_standin_fault("table-next 3");
        assert_int_equal(put_in(&before), -1);
        assert_told("VM 42 NIC 1: plugging in its virtual function 0000:81:00.2: it was released "
                    "meanwhile");
        assert_non_null(strstr(shape(), "1:-+0"));
    }
}

static void a_vf_that_is_not_recorded_stays_out_and_is_said(void **state)
{
    (void)state;
    oneib_vf_table_clear(&table);
    record_open(2, 2);
    assert_int_equal(put_in(&before), -1);
    assert_told("VM 42 NIC 1 had the virtual function 0000:81:00.2, which is not recorded");
    assert_shape("1:-+0 2:vf2@21+1");
}

static void records_of_other_vms_are_theirs(void **state)
{
    (void)state;
    for (size_t i = 0; i < table.count; i++)
        table.items[i].vm_id = 43;
    write_table();
    assert_int_equal(put_in(NULL), 0);
    assert_shape(BOTH_OUT);
}

static void assert_left_out(enum oneib_vf_stage stage, enum oneib_vf_guid guid, const char *why)
{
    oneib_vf_table_clear(&table);
    record_as(1, 1, stage, guid);
    record_open(2, 2);
    assert_int_equal(put_in(&before), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("VM 42 NIC 1: plugging in its virtual function 0000:81:00.2: ");
    assert_told(why);
    assert_non_null(strstr(shape(), "1:-+0"));
    assert_non_null(strstr(shape(), "2:vf2@21+1"));
}

static void what_is_released_or_not_ready_is_left_out_and_said(void **state)
{
    (void)state;
    assert_left_out(ONEIB_VF_RELEASING, ONEIB_VF_GUID_SET, "it is being released");
    assert_left_out(ONEIB_VF_PREPARING, ONEIB_VF_GUID_NONE, "it is not ready yet");
    assert_left_out(ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED, "its GUID is not set");
    assert_left_out(ONEIB_VF_CLOSED, ONEIB_VF_GUID_NONE, "its GUID is not set");
}

static void one_that_is_closed_goes_in(void **state)
{
    (void)state;
    oneib_vf_table_clear(&table);
    record_as(1, 1, ONEIB_VF_CLOSED, ONEIB_VF_GUID_SET);
    assert_int_equal(put_in(NULL), 0);
    assert_shape("1:vf1@22+0 2:-+1");
}

/* A revert ends the domain, and the service may hear of that only when it runs again. */
static void set_records(enum oneib_vf_stage stage, bool in_domain)
{
    for (size_t i = 0; i < table.count; i++) {
        table.items[i].stage = stage;
        table.items[i].in_domain = in_domain;
    }
    write_table();
}

static void what_was_closed_with_its_domain_is_asked_for_before_it_goes_in(void **state)
{
    (void)state;
    set_records(ONEIB_VF_ENDED, true);
    assert_int_equal(put_in(NULL), 0);
    assert_shape(BOTH_IN);
    assert_int_equal(service_calls("have 42/1 net 7"), 1);
    assert_int_equal(service_calls("have 42/2 net 7"), 1);
    assert_int_equal(put_in(NULL), 0);
    assert_int_equal(service_calls(""), 2);
}

static void so_is_what_may_still_be_closed_for_a_domain_that_has_ended(void **state)
{
    (void)state;
    set_records(ONEIB_VF_OPEN, true);
    assert_int_equal(put_in(NULL), 0);
    assert_int_equal(service_calls("have 42"), 2);
}

/* Its NICs are none of ours. */
static void what_the_domain_has_no_place_for_is_not_asked_for(void **state)
{
    (void)state;
    live_standin_stop(DOMAIN, &err);
    vm.nic_count = 0;
    start_vm("");
    set_records(ONEIB_VF_OPEN, true);
    assert_int_equal(put_in(NULL), -1);
    assert_told("no dummy interface");
    assert_int_equal(service_calls(""), 0);
}

static void what_no_domain_has_named_yet_is_not_asked_for_again(void **state)
{
    (void)state;
    service_is_silent = true;
    set_records(ONEIB_VF_OPEN, false);
    assert_int_equal(put_in(NULL), 0);
    assert_shape(BOTH_IN);
}

/* They are open for their NICs. */
static void without_the_service_what_is_open_goes_in_as_it_is_and_that_is_said(void **state)
{
    (void)state;
    service_is_silent = true;
    set_records(ONEIB_VF_OPEN, true);
    assert_int_equal(put_in(NULL), -1);
    assert_told("oneib-node does not answer");
    assert_shape(BOTH_IN);
}

/* They may be given to another VM at any moment. */
static void without_the_service_what_was_closed_stays_out(void **state)
{
    (void)state;
    service_is_silent = true;
    set_records(ONEIB_VF_ENDED, true);
    assert_int_equal(put_in(NULL), -1);
    assert_told("oneib-node does not answer");
    assert_shape(BOTH_OUT);
}

/* Another VM has got it since its domain ended. */
static void what_is_given_to_another_vm_meanwhile_stays_out(void **state)
{
    (void)state;
    set_records(ONEIB_VF_ENDED, true);
    tree_write("have 42/1", "/refuse");
    given_away = 1;
    assert_int_equal(put_in(NULL), -1);
    given_away = -1;
    assert_told("the stand-in refuses");
    assert_shape("1:-+0 2:vf2@21+1");
    assert_logged("ua-oneib-1", false);
}

static void a_nic_that_has_another_vf_than_recorded_is_said(void **state)
{
    (void)state;
    assert_int_equal(put_in(NULL), 0);
    oneib_vf_table_clear(&table);
    record_open(1, 7);
    assert_int_equal(put_in(NULL), -1);
    assert_told("VM 42 NIC 1");
    assert_told("the domain has 0000:81:00.2 for that NIC already");
    assert_shape(BOTH_IN);
}

static void the_first_failure_is_told_and_the_rest_goes_on(void **state)
{
    (void)state;
    live_standin_fault("attach-fails " VF_ALIAS_1);
    assert_int_equal(put_in(&before), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told("VM 42 NIC 1: plugging in its virtual function 0000:81:00.2: ");
    assert_shape("1:-+0 2:vf2@21+1");
}

static void what_failed_once_goes_in_at_the_next_call(void **state)
{
    (void)state;
    live_standin_fault("attach-fails " VF_ALIAS_1);
    assert_int_equal(put_in(&before), -1);
    live_standin_heal();
    assert_int_equal(put_in(&before), 0);
    assert_shape(BOTH_IN);
}

static void without_a_domain_that_is_told_apart(void **state)
{
    (void)state;
    assert_int_equal(live_standin_stop(DOMAIN, &err), 0);
    assert_int_equal(put_in(&before), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
}

static void libvirt_moves_a_vf_only_from_a_driver_of_the_hosts(void **state)
{
    (void)state;
    tree_bind_vf(&hca, 2, "mlx4_core");
    assert_int_equal(put_in(&before), 0);
    const char *xml = live_standin_document(DOMAIN);
    assert_non_null(strstr(xml, "managed=\"no\""));
    assert_non_null(strstr(xml, "managed=\"yes\""));
}

/* ---- many ------------------------------------------------------------------------------------ */

static void sixteen_nics_go_out_and_in(void **state)
{
    (void)state;
    char whole[1024];
    close_plugging(NULL);
    open_scene(NULL);
    for (uint8_t nic_id = 0; nic_id < 16; nic_id++)
        add_vm_nic(nic_id);
    start_vm("");
    connect_and_look();
    strcpy(whole, shape());
    assert_int_equal(take_out(), 0);
    assert_null(strstr(shape(), "vf"));
    assert_int_equal(put_in(&before), 0);
    assert_shape(whole);
    look();
    live_standin_fault("keeps ua-oneib-9");
    assert_int_equal(take_out(), -1);
    assert_told("let go of NIC 9 (");
    assert_shape(whole);
}

static void an_index_that_is_free_between_others_moves_nobody(void **state)
{
    (void)state;
    close_plugging(NULL);
    open_scene(NULL);
    for (uint8_t nic_id = 0; nic_id < 3; nic_id++)
        add_vm_nic(nic_id);
    start_vm("");
    connect_and_look();
    const char *aliases[] = {VF_ALIAS_1, DUMMY_ALIAS_1};
    bool gone[2];
    assert_int_equal(oneib_live_detach(live, DOMAIN, aliases, 2, 1000, gone, &err), 0);
    oneib_vf_table_clear(&table);
    record_open(0, 0);
    record_open(2, 2);
    look();
    assert_shape("0:vf0@22+0 2:vf2@20+2");
    assert_int_equal(take_out(), 0);
    assert_int_equal(put_in(NULL), 0);
    assert_shape("0:vf0@22+0 2:vf2@20+2");
}

static void lost_at_any_call_a_second_one_takes_them_out(void **state)
{
    (void)state;
    static const char *const moments[] = {"lost", "lost-amid", "lost-after"};
    for (size_t moment = 0; moment < 3; moment++)
        for (unsigned call = 1; call <= 5; call++) {
            restart_vm();
            connect_and_look();
            live_standin_fault("%s %u", moments[moment], call);
            const int outcome = take_out();
            live_standin_heal();
            if (outcome < 0)
                assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
            connect_and_look();
            assert_int_equal(take_out(), 0);
            assert_shape(BOTH_OUT);
        }
}

int main(void)
{
    tree_open();
#define RUNNING(function) cmocka_unit_test_setup_teardown(function, open_plugging, close_plugging)
#define LACKING(function) cmocka_unit_test_setup_teardown(function, open_lacking, close_plugging)
    const struct CMUnitTest tests[] = {
        RUNNING(a_domain_is_found_by_its_name_and_by_its_uuid),
        RUNNING(one_that_does_not_run_is_not_found),
        RUNNING(the_domain_of_another_vm_is_refused),
        RUNNING(a_document_that_can_be_read_in_two_ways_is_refused),
        RUNNING(all_vfs_are_asked_for_at_once_and_dummies_stay),
        RUNNING(of_two_vfs_of_which_the_guest_keeps_one_the_other_is_back_where_it_was),
        RUNNING(a_guest_that_refuses_keeps_its_vfs),
        RUNNING(what_a_slow_guest_lets_go_of_too_late_is_back_too),
        RUNNING(what_cannot_be_plugged_in_again_is_said),
        RUNNING(a_connection_that_is_lost_is_opened_again_to_roll_back),
        RUNNING(a_libvirt_that_stays_away_is_said),
        RUNNING(a_domain_that_has_ended_meanwhile_is_said),
        LACKING(vfs_are_back_where_they_were),
        LACKING(without_knowing_where_their_index_says_it),
        LACKING(a_place_that_is_taken_is_left_to_whoever_has_it),
        RUNNING(a_place_that_libvirt_has_given_away_is_left_too),
        RUNNING(a_pci_nic_is_where_opennebula_wants_it),
        LACKING(a_nic_without_its_dummy_interface_gets_no_vf),
        LACKING(one_that_had_its_vf_without_gets_it_back),
        LACKING(a_vf_that_is_not_recorded_stays_out_and_is_said),
        LACKING(one_that_is_released_while_it_goes_in_is_taken_out_again),
        LACKING(one_whose_record_changes_while_it_goes_in_is_taken_out_again),
        LACKING(records_of_other_vms_are_theirs),
        LACKING(what_is_released_or_not_ready_is_left_out_and_said),
        LACKING(one_that_is_closed_goes_in),
        LACKING(what_was_closed_with_its_domain_is_asked_for_before_it_goes_in),
        LACKING(so_is_what_may_still_be_closed_for_a_domain_that_has_ended),
        LACKING(what_the_domain_has_no_place_for_is_not_asked_for),
        LACKING(what_no_domain_has_named_yet_is_not_asked_for_again),
        LACKING(without_the_service_what_is_open_goes_in_as_it_is_and_that_is_said),
        LACKING(without_the_service_what_was_closed_stays_out),
        LACKING(what_is_given_to_another_vm_meanwhile_stays_out),
        LACKING(a_nic_that_has_another_vf_than_recorded_is_said),
        LACKING(the_first_failure_is_told_and_the_rest_goes_on),
        LACKING(what_failed_once_goes_in_at_the_next_call),
        LACKING(without_a_domain_that_is_told_apart),
        LACKING(libvirt_moves_a_vf_only_from_a_driver_of_the_hosts),
        RUNNING(sixteen_nics_go_out_and_in),
        RUNNING(an_index_that_is_free_between_others_moves_nobody),
        RUNNING(lost_at_any_call_a_second_one_takes_them_out),
    };
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
