// SPDX-License-Identifier: Apache-2.0
/* Starting a VM with InfiniBand NICs. */
#include "nic_scene.h"

static int status;
static const char *upstream = UPSTREAM_STANDIN "/deploy";
static const struct oneib_text *document;

static int deploy(void)
{
    struct oneib_vmm vmm = with_upstream(upstream, document);
    err = (struct oneib_error){0};
    status = -1;
    return oneib_vmm_deploy(&vmm, &status, &err);
}

static int open_deploy(void **state)
{
    open_scene(state);
    upstream = UPSTREAM_STANDIN "/deploy";
    return 0;
}

static void assert_deployed(void)
{
    document = domain_document("");
    if (deploy() < 0)
        fail_msg("%s", err.text);
    assert_int_equal(status, 0);
}

/* Nothing was done, not even to the table. */
static void assert_refused(const char *words)
{
    assert_int_equal(deploy(), -1);
    assert_told(words);
    assert_logged("upstream", false);
    assert_int_equal(service_calls(""), 0);
    assert_false(live_standin_runs(DOMAIN));
}

/* What the upstream action was given. Valid until the next call. */
static const struct oneib_text *deployed(void)
{
    static struct oneib_text text;
    char *data;
    size_t length;
    oneib_text_clear(&text);
    assert_int_equal(oneib_file_read(deployment, 1 << 20, &data, &length, &err), 0);
    oneib_text_append_bytes(&text, data, length);
    free(data);
    return &text;
}

static void assert_deployed_has(const char *words, bool expected)
{
    const struct oneib_text *given = deployed();
    if ((strstr(given->data, words) != NULL) != expected)
        fail_msg("%s is %sin:\n%s", words, expected ? "not " : "", given->data);
}

/* ---- what the domain gets -------------------------------------------------------------------- */

static void a_vm_without_infiniband_is_deployed_byte_for_byte(void **state)
{
    (void)state;
    struct oneib_text odd = {0};
    oneib_text_append(&odd, "<?xml version='1.0'?>\r\n<!-- x --><domain  type = 'kvm' >\t<name>");
    oneib_text_append(&odd, "<![CDATA[" DOMAIN "]]></name><devices/>&#32;</domain>\n\n");
    document = &odd;
    vm.wants_hpc = true;
    assert_int_equal(deploy(), 0);
    assert_int_equal(status, 0);
    assert_string_equal(deployed()->data, odd.data);
    assert_logged("open", false);
    oneib_text_clear(&odd);
}

static void a_nic_gets_its_vf_and_its_dummy_interface(void **state)
{
    (void)state;
    add_nic(1);
    record_open(1, 4);
    assert_deployed();
    assert_has_both(1, 4, 0);
    assert_int_equal(device_of(1).guest_address.bus, 34);
    assert_deployed_has("02:00:0a:14:00:0b", false);
}

static void two_nics_have_indices_in_the_order_of_their_ids(void **state)
{
    (void)state;
    add_nic(1);
    add_nic(5);
    record_open(1, 4);
    record_open(5, 2);
    assert_deployed();
    assert_has_both(1, 4, 0);
    assert_has_both(5, 2, 1);
    assert_int_equal(device_of(5).guest_address.bus, 33);
}

static void sixteen_nics_are_deployed(void **state)
{
    (void)state;
    for (uint8_t i = 0; i < 16; i++) {
        add_nic(i);
        record_open(i, i);
    }
    assert_deployed();
    for (uint8_t i = 0; i < 16; i++)
        assert_has_both(i, i, i);
}

static void a_pci_nic_stays_where_oned_put_it_and_gets_a_dummy_interface(void **state)
{
    (void)state;
    add_nic(1);
    add_pci_nic(2, 6, 1);
    record_open(1, 4);
    record_open(2, 6);
    assert_deployed();
    assert_has_both(1, 4, 0);
    assert_has_both(2, 6, 1);
    assert_int_equal(device_of(2).guest_address.bus, 1);
}

static void a_nic_without_an_address_gets_a_dummy_mac_of_none(void **state)
{
    (void)state;
    add_nic(1)->ipv4 = 0;
    record_open(1, 4);
    assert_deployed();
    assert_true(device_of(1).has_dummy);
    assert_int_equal(device_of(1).ipv4, 0);
}

static void a_vf_that_is_on_vfio_for_good_stays_there(void **state)
{
    (void)state;
    add_nic(1);
    record_open(1, 4);
    assert_deployed();
    assert_deployed_has("managed='no'", true);
    assert_deployed_has("managed='yes'", false);
}

static void a_vf_of_a_host_driver_is_moved_by_libvirt(void **state)
{
    (void)state;
    add_nic(1);
    record_open(1, 4);
    tree_bind_vf(&hca, 4, "mlx4_core");
    assert_deployed();
    assert_deployed_has("managed='yes'", true);
}

static void names_with_quotes_and_markup_stay_what_they_are(void **state)
{
    (void)state;
    snprintf(add_nic(1)->target, ONEIB_TARGET_SIZE, "a-b.c_1");
    record_open(1, 4);
    assert_deployed();
    assert_deployed_has("<title>&lt;b&gt; \"it's\" &amp;amp; more</title>", true);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void seventeen_nics_are_refused(void **state)
{
    (void)state;
    for (uint8_t i = 0; i < 17; i++) {
        add_nic(i);
        record_open(i, i);
    }
    document = domain_document("");
    assert_refused("VM 42 has 17 InfiniBand NICs");
}

static void a_network_with_a_bridge_is_refused(void **state)
{
    (void)state;
    add_nic(1);
    add_nic(2)->bridged = true;
    record_as(1, 4, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    record_open(2, 5);
    document = domain_document("");
    assert_refused("VM 42 NIC 2: network 7 has a BRIDGE");
}

static void a_pci_nic_without_an_address_is_refused(void **state)
{
    (void)state;
    struct oneib_node_nic *nic = add_pci_nic(1, 4, 1);
    record_open(1, 4);
    document = domain_document("");
    nic->has_address = false;
    assert_refused("no ADDRESS");
}

static void a_nic_without_a_mac_is_refused(void **state)
{
    (void)state;
    add_nic(1)->mac[0] = '\0';
    record_open(1, 4);
    document = domain_document("");
    assert_refused("VM 42 NIC 1 has no MAC");
}

static void a_nic_without_a_target_is_refused(void **state)
{
    (void)state;
    add_nic(1)->target[0] = '\0';
    record_open(1, 4);
    document = domain_document("");
    assert_refused("VM 42 NIC 1 has no TARGET");
}

static void a_document_of_another_vm_is_refused(void **state)
{
    (void)state;
    add_nic(1);
    record_open(1, 4);
    document = domain_document("");
    vm.id = 4;
    assert_refused("the document to deploy: the domain \"one-42\" is not that of VM 4");
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
}

static void a_document_that_is_none_is_refused(void **state)
{
    (void)state;
    const char *const bad[] = {"", "<domain>", "<domain/>", "<domain><name>x\n</name></domain>"};
    add_nic(1);
    record_open(1, 4);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct oneib_text text = {0};
        oneib_text_append(&text, bad[i]);
        document = &text;
        assert_refused("VM 42");
        assert_null(strchr(err.text, '\n'));
        oneib_text_clear(&text);
    }
}

static void a_nic_without_a_record_is_refused(void **state)
{
    (void)state;
    add_nic(1);
    add_nic(2);
    record_as(1, 4, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    document = domain_document("");
    assert_refused("'pre' of the network driver did not run here");
}

static void a_vf_that_is_being_released_is_refused(void **state)
{
    (void)state;
    add_nic(1);
    record_as(1, 4, ONEIB_VF_RELEASING, ONEIB_VF_GUID_SET);
    document = domain_document("");
    assert_refused("being released");
}

static void a_vf_that_is_gone_from_the_host_is_refused(void **state)
{
    (void)state;
    add_nic(1);
    record_open(1, 4);
    tree_remove_hca(&hca);
    document = domain_document("");
    assert_refused("is gone from this host");
}

static void a_damaged_table_is_refused(void **state)
{
    (void)state;
    add_nic(1);
    tree_write("nonsense", "/run/oneib/vfs");
    document = domain_document("");
    assert_refused("damaged");
}

static void a_document_without_the_nics_interface_is_refused(void **state)
{
    (void)state;
    document = domain_document("");
    add_nic(1);
    record_open(1, 4);
    assert_refused("VM 42");
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
}

static void an_interface_that_is_connected_to_a_bridge_is_refused(void **state)
{
    (void)state;
    document = domain_document("<interface type='bridge'><source bridge='br0'/><mac "
                               "address='02:00:0a:14:00:0b'/><target dev='one-42-1'/></interface>");
    add_nic(1);
    record_open(1, 4);
    assert_refused("BRIDGE");
}

static void a_document_that_has_the_vf_already_is_refused(void **state)
{
    (void)state;
    add_nic(1);
    record_open(1, 4);
    document = domain_document("<hostdev mode='subsystem' type='pci'><source><address domain='0' "
                               "bus='0x81' slot='0' function='5'/></source></hostdev>");
    assert_refused("0000:81:00.5");
}

/* ---- others' VFs ----------------------------------------------------------------------------- */

/* VF 6 is VM 43's, which has it out of its domain: it is being saved. */
static void give_a_vf_to_another_vm(void)
{
    record_open(1, 6);
    table.items[0].vm_id = 43;
    write_table();
}

#define NAMES_VF_6(element)                                                                        \
    "<" element "><source><address domain='0' bus='0x81' slot='0' function='7'/></source></"

static void a_document_that_names_another_vms_vf_is_refused(void **state)
{
    (void)state;
    static const char *const devices[] = {
        NAMES_VF_6("hostdev mode='subsystem' type='pci' managed='yes'") "hostdev>",
        NAMES_VF_6("hostdev type='pci'") "hostdev>",
        NAMES_VF_6("interface type='hostdev'") "interface>",
        "</devices><devices>" NAMES_VF_6("hostdev type='pci'") "hostdev>",
    };
    give_a_vf_to_another_vm();
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        document = domain_document(devices[i]);
        assert_refused("names 0000:81:00.7, a virtual function that is another VM's");
    }
    add_nic(1);
    record_open(1, 4);
    document = domain_document(devices[0]);
    assert_refused("names 0000:81:00.7, a virtual function that is another VM's");
}

static void what_is_no_vms_may_be_named(void **state)
{
    (void)state;
    give_a_vf_to_another_vm();
    document = domain_document("<hostdev mode='subsystem' type='pci'><source><address domain='0' "
                               "bus='0x10' slot='0' function='5'/></source></hostdev>");
    assert_int_equal(deploy(), 0);
    assert_string_equal(deployed()->data, document->data);
}

/* Nobody knows which device it names, and it may be that one. */
static void a_document_that_cannot_be_read_is_refused_where_a_vm_has_a_vf(void **state)
{
    (void)state;
    struct oneib_text odd = {0};
    oneib_text_append(&odd, "<!DOCTYPE domain><domain><name>" DOMAIN "</name><devices/></domain>");
    document = &odd;
    give_a_vf_to_another_vm();
    assert_refused("VM 42: the domain's document has a document type");
    oneib_text_clear(&odd);
    document = domain_document("<hostdev type='pci'><source/></hostdev>");
    assert_refused("names no PCI address");
}

/* As long as a machine runs nothing of ours, it starts whatever libvirt starts. */
static void without_a_vf_in_use_other_vms_start_whatever_their_document_says(void **state)
{
    (void)state;
    struct oneib_text odd = {0};
    oneib_text_append(&odd, "<!DOCTYPE domain><domain><name>" DOMAIN "</name><devices/></domain>");
    document = &odd;
    assert_int_equal(deploy(), 0);
    oneib_text_clear(&odd);
    tree_write("nonsense", "/run/oneib/vfs");
    live_standin_reset();
    document = domain_document("");
    assert_int_equal(deploy(), 0);
}

/* ---- deferred GUIDs -------------------------------------------------------------------------- */

static void deferred_guids_are_completed_before_the_start(void **state)
{
    (void)state;
    add_nic(1);
    add_nic(2);
    record_as(1, 4, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    record_open(2, 5);
    live_standin_fault("upstream deploy fail");
    document = domain_document("");
    assert_int_equal(deploy(), 0);
    assert_int_equal(service_calls("have 42/1"), 1);
    assert_int_equal(service_calls(""), 1);
    assert_int_equal(service_calls("deferred"), 0);
}

static void a_guid_that_cannot_be_completed_fails_before_the_start(void **state)
{
    (void)state;
    add_nic(1);
    record_as(1, 4, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    tree_write("have", "/refuse");
    document = domain_document("");
    assert_int_equal(deploy(), -1);
    assert_told("the stand-in refuses");
    assert_logged("upstream", false);
    assert_int_equal(service_calls("release"), 0);
}

static void a_closed_vf_is_opened_before_the_start(void **state)
{
    (void)state;
    add_nic(1);
    record_as(1, 4, ONEIB_VF_CLOSED, ONEIB_VF_GUID_SET);
    assert_deployed();
    assert_int_equal(service_calls("have 42/1"), 1);
    assert_has_both(1, 4, 0);
}

static void an_attach_that_the_document_still_tells_of_leaves_out_no_nic(void **state)
{
    (void)state;
    add_nic(1);
    add_attached(2);
    record_as(1, 4, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    record_as(2, 5, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    assert_deployed();
    assert_int_equal(service_calls("have 42/1"), 1);
    assert_int_equal(service_calls("have 42/2"), 1);
}

/* ---- the upstream action --------------------------------------------------------------------- */

static void a_missing_upstream_action_is_told_before_anything_is_touched(void **state)
{
    (void)state;
    add_nic(1);
    record_as(1, 4, ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED);
    document = domain_document("");
    upstream = "/nonexistent/kvm/deploy";
    assert_refused("/nonexistent/kvm/deploy");
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
}

static void a_missing_upstream_action_is_told_without_infiniband_too(void **state)
{
    (void)state;
    document = domain_document("");
    upstream = "/nonexistent/kvm/deploy";
    assert_refused("/nonexistent/kvm/deploy");
}

static void the_status_of_an_upstream_action_that_fails_is_passed_on(void **state)
{
    (void)state;
    add_nic(1);
    record_open(1, 4);
    live_standin_fault("upstream deploy fail 7");
    document = domain_document("");
    assert_int_equal(deploy(), 0);
    assert_int_equal(status, 7);
    assert_false(live_standin_runs(DOMAIN));
}

static void the_upstream_action_gets_opennebulas_arguments(void **state)
{
    (void)state;
    char expected[2048];
    add_nic(1);
    record_open(1, 4);
    assert_deployed();
    snprintf(expected, sizeof expected, "upstream deploy %s node1 42 node1 ", deployment);
    assert_logged(expected, true);
}

/* ---- tuning ---------------------------------------------------------------------------------- */

/* One NUMA node with four cores. */
static void make_host(void)
{
    tree_write("0-3", "/sys/devices/system/cpu/online");
    tree_write("0-3", "/sys/devices/system/node/node0/cpulist");
    tree_write("Node 0 MemTotal: 8000000 kB\nNode 0 MemFree: 4000000 kB\n"
               "Node 0 Active(file): 0 kB\nNode 0 Inactive(file): 0 kB",
               "/sys/devices/system/node/node0/meminfo");
    for (int cpu = 0; cpu < 4; cpu++) {
        char number[12];
        snprintf(number, sizeof number, "%d", cpu);
        tree_write(number, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    }
    tree_make_directory("/var/lib/one");
}

static void a_tuned_vm_gets_its_cores_and_its_nic(void **state)
{
    (void)state;
    make_host();
    add_nic(1);
    record_open(1, 4);
    vm.wants_hpc = true;
    assert_deployed();
    assert_has_both(1, 4, 0);
    assert_deployed_has("<vcpupin vcpu='1'", true);
    assert_deployed_has("<locked/>", true);
}

static void a_vm_that_has_not_asked_is_not_tuned(void **state)
{
    (void)state;
    make_host();
    add_nic(1);
    record_open(1, 4);
    assert_deployed();
    assert_deployed_has("<vcpupin", false);
    assert_deployed_has("<locked/>", false);
}

static void what_the_host_cannot_give_is_refused(void **state)
{
    (void)state;
    make_host();
    tree_write("0", "/sys/devices/system/cpu/online");
    add_nic(1);
    record_open(1, 4);
    vm.wants_hpc = true;
    document = domain_document("");
    assert_refused("VM 42: IB_HPC");
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
}

/* It was deleted while it waited for others that were given cores. */
static void a_vm_whose_vf_is_another_ones_by_the_time_that_it_starts_is_not_started(void **state)
{
    (void)state;
    make_host();
    add_nic(1);
    record_open(1, 4);
    table.items[0].vm_id = 99;
    write_table_to("/run/oneib/vfs.next");
    table.items[0].vm_id = VM_ID;
    write_table();
    vm.wants_hpc = true;
    live_standin_fault("table-next 1");
    document = domain_document("");
    assert_refused("VM 42 NIC 1: its virtual function 0000:81:00.5 was released");
}

/* Exit status 0: the lock on the host's cores is free. */
#define ASK_LOCK "flock -n \"$ONEIB_NODE_ROOT/var/lib/one/.oneib-cores.lock\" true"

static void the_cores_stay_locked_until_the_upstream_action_has_ended(void **state)
{
    (void)state;
    char option[] = "-c", script[] = ASK_LOCK " && exit 3; exit 4";
    char *const asking[] = {option, script, NULL};
    make_host();
    add_nic(1);
    record_open(1, 4);
    vm.wants_hpc = true;
    struct oneib_vmm vmm = with_upstream("/bin/sh", domain_document(""));
    vmm.upstream.arguments = asking;
    if (oneib_vmm_deploy(&vmm, &status, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(status, 4);
    assert_int_equal(system(ASK_LOCK), 0);
}

/* ---- libvirt, and the end of this process ---------------------------------------------------- */

static void libvirt_is_not_asked_for_a_vm_that_is_not_tuned(void **state)
{
    (void)state;
    add_nic(1);
    record_open(1, 4);
    live_standin_fault("refuse-open");
    assert_deployed();
    assert_logged("open", false);
}

static void a_vm_is_not_tuned_while_nobody_knows_which_cores_are_taken(void **state)
{
    (void)state;
    add_nic(1);
    record_open(1, 4);
    vm.wants_hpc = true;
    live_standin_fault("refuse-open");
    document = domain_document("");
    assert_refused("VM 42: which cores are taken is unknown");
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
}

static void a_deploy_that_was_killed_before_the_start_can_be_called_again(void **state)
{
    (void)state;
    add_nic(1);
    record_open(1, 4);
    document = domain_document("");
    live_standin_fault("upstream deploy kill-before");
    assert_true(is_killed(deploy));
    assert_false(live_standin_runs(DOMAIN));
    live_standin_heal();
    assert_deployed();
    assert_has_both(1, 4, 0);
}

static void a_deploy_that_was_killed_after_the_start_left_a_whole_domain(void **state)
{
    (void)state;
    add_nic(1);
    record_open(1, 4);
    document = domain_document("");
    live_standin_fault("upstream deploy kill-after");
    assert_true(is_killed(deploy));
    assert_has_both(1, 4, 0);
    live_standin_heal();
    assert_int_equal(deploy(), 0);
    assert_int_not_equal(status, 0);
    assert_has_both(1, 4, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_deploy, close_scene)
    const struct CMUnitTest tests[] = {
        TEST(a_vm_without_infiniband_is_deployed_byte_for_byte),
        TEST(a_nic_gets_its_vf_and_its_dummy_interface),
        TEST(two_nics_have_indices_in_the_order_of_their_ids),
        TEST(sixteen_nics_are_deployed),
        TEST(a_pci_nic_stays_where_oned_put_it_and_gets_a_dummy_interface),
        TEST(a_nic_without_an_address_gets_a_dummy_mac_of_none),
        TEST(a_vf_that_is_on_vfio_for_good_stays_there),
        TEST(a_vf_of_a_host_driver_is_moved_by_libvirt),
        TEST(names_with_quotes_and_markup_stay_what_they_are),
        TEST(seventeen_nics_are_refused),
        TEST(a_network_with_a_bridge_is_refused),
        TEST(a_pci_nic_without_an_address_is_refused),
        TEST(a_nic_without_a_mac_is_refused),
        TEST(a_nic_without_a_target_is_refused),
        TEST(a_document_of_another_vm_is_refused),
        TEST(a_document_that_is_none_is_refused),
        TEST(a_nic_without_a_record_is_refused),
        TEST(a_vf_that_is_being_released_is_refused),
        TEST(a_vf_that_is_gone_from_the_host_is_refused),
        TEST(a_damaged_table_is_refused),
        TEST(a_document_without_the_nics_interface_is_refused),
        TEST(an_interface_that_is_connected_to_a_bridge_is_refused),
        TEST(a_document_that_has_the_vf_already_is_refused),
        TEST(a_document_that_names_another_vms_vf_is_refused),
        TEST(what_is_no_vms_may_be_named),
        TEST(a_document_that_cannot_be_read_is_refused_where_a_vm_has_a_vf),
        TEST(without_a_vf_in_use_other_vms_start_whatever_their_document_says),
        TEST(deferred_guids_are_completed_before_the_start),
        TEST(a_guid_that_cannot_be_completed_fails_before_the_start),
        TEST(a_closed_vf_is_opened_before_the_start),
        TEST(an_attach_that_the_document_still_tells_of_leaves_out_no_nic),
        TEST(a_missing_upstream_action_is_told_before_anything_is_touched),
        TEST(a_missing_upstream_action_is_told_without_infiniband_too),
        TEST(the_status_of_an_upstream_action_that_fails_is_passed_on),
        TEST(the_upstream_action_gets_opennebulas_arguments),
        TEST(a_tuned_vm_gets_its_cores_and_its_nic),
        TEST(a_vm_that_has_not_asked_is_not_tuned),
        TEST(what_the_host_cannot_give_is_refused),
        TEST(a_vm_whose_vf_is_another_ones_by_the_time_that_it_starts_is_not_started),
        TEST(the_cores_stay_locked_until_the_upstream_action_has_ended),
        TEST(libvirt_is_not_asked_for_a_vm_that_is_not_tuned),
        TEST(a_vm_is_not_tuned_while_nobody_knows_which_cores_are_taken),
        TEST(a_deploy_that_was_killed_before_the_start_can_be_called_again),
        TEST(a_deploy_that_was_killed_after_the_start_left_a_whole_domain),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
