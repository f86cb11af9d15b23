// SPDX-License-Identifier: Apache-2.0
/*
 * The stand-in for oned against what was recorded from oned 7.4.0: its documents have the same
 * elements in the same order, its refusals the same words and codes, its pools the same ranges.
 * Needs no fabric.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "lab.h"
#include "opennebula/pools.h"
#include "opennebula/restrictions.h"
#include "structure.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static struct oneib_error err;

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

/* ---- one cloud for all tests: ids are given in order ----------------------------------------- */

enum { ETHNET = 0, BLUE = 1, SHARE = 2 };
enum { RUNNING_VM, HELD_VM, MIGRATED_VM, DONE_VM };

static const struct lab_options options = LAB_DEFAULTS;

static int fill(struct lab *lab)
{
    uint32_t id, network = BLUE;
    return lab_add_hosts(lab, 7, &err) < 0 || lab_host_create_bare(lab, "bare", &id, &err) < 0 ||
                   lab_network_create(lab, "blue", "5", "MTU=2044\nGATEWAY=10.20.0.1", &id, &err) <
                       0 ||
                   lab_network_reserve(lab, BLUE, "share", &id, &err) < 0 ||
                   lab_vm_start(lab, "running", &network, 1, 0, &id, &err) < 0 ||
                   lab_vm_create(lab, "held", &network, 1, &id, &err) < 0 ||
                   lab_vm_start(lab, "migrated", &network, 1, 1, &id, &err) < 0 ||
                   lab_vm_migrate(lab, MIGRATED_VM, 2, 4, &err) < 0 ||
                   lab_vm_start(lab, "done", &network, 1, 3, &id, &err) < 0 ||
                   lab_vm_delete(lab, DONE_VM, &err) < 0
               ? -1
               : 0;
}

static int open_with(void **state, const char *const *arguments)
{
    struct lab *lab = lab_open(&options, &err);
    *state = lab;
    if (lab && lab_standin_start(lab, arguments, &err) == 0 && fill(lab) == 0)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int open_cloud(void **state)
{
    return open_with(state, NULL);
}

static int open_ascending(void **state)
{
    return open_with(state, (const char *const[]){"--ascending", NULL});
}

static int open_lazy(void **state)
{
    return open_with(state, (const char *const[]){"--lazy-nics", NULL});
}

static int close_cloud(void **state)
{
    lab_close(*state);
    return 0;
}

static char *ask(struct lab *lab, const char *method, const int *integers, size_t count)
{
    char *document = NULL;
    if (lab_call_document(lab, method, lab_session(lab), integers, count, &document, &err) < 0)
        fail_msg("%s: %s", method, err.text);
    return document;
}

static char *ask_vm(struct lab *lab, int id)
{
    return ask(lab, "one.vm.info", &id, 1);
}

static char *ask_pool(struct lab *lab, const char *method, int start, int end, int vm_state)
{
    int arguments[] = {-2, start, end, vm_state};
    size_t count = strncmp(method, "one.vm", 6) == 0 ? 4 : 3;
    return ask(lab, method, arguments, count);
}

/* ---- structure ------------------------------------------------------------------------------- */

/* What the recorded VM has and ours has not: a PCI NIC, an InfiniBand key of the time's own making;
 * and what the networks' settings add. */
static const char *const vm_particulars[] = {
    "PCI",     "PCI0_ADDRESS", "PCI0_GATEWAY", "PCI0_IP", "PCI0_MAC",       "IB_LIMITED",
    "IB_PKEY", "MTU",          "GATEWAY",      "VLAN_ID", "SUBMIT_ON_HOLD", NULL};

static void a_running_vm_has_the_recorded_elements(void **state)
{
    oneib_autofree char *vm = ask_vm(*state, RUNNING_VM);
    assert_same_structure(vm, "vm.info-1-running.doc.xml", vm_particulars);
}

static void a_vm_that_was_nowhere_yet_has_the_recorded_elements(void **state)
{
    oneib_autofree char *vm = ask_vm(*state, HELD_VM);
    assert_same_structure(vm, "vm.info-1-hold.doc.xml", vm_particulars);
    assert_non_null(strstr(vm, "<HISTORY_RECORDS/>"));
}

static void a_migrated_vm_has_one_history_record_more(void **state)
{
    static const char *const without[] = {"PCI",        "IB_LIMITED", "IB_PKEY",        "MTU",
                                          "GATEWAY",    "VLAN_ID",    "SUBMIT_ON_HOLD", "CONTEXT",
                                          "MONITORING", NULL};
    oneib_autofree char *vm = ask_vm(*state, MIGRATED_VM);
    assert_same_structure(vm, "vm.info-2-after-livemigrate.doc.xml", without);
    assert_non_null(strstr(vm, "<SEQ>0</SEQ><HOSTNAME>H2</HOSTNAME><HID>1</HID>"));
    assert_non_null(strstr(vm, "<SEQ>1</SEQ><HOSTNAME>H3</HOSTNAME><HID>2</HID>"));
}

static void a_pool_shows_vms_whole_but_for_earlier_history(void **state)
{
    oneib_autofree char *one = ask_pool(*state, "one.vmpool.infoextended", 0, 0, -1);
    oneib_autofree char *moved = ask_pool(*state, "one.vmpool.infoextended", 2, 2, -1);
    assert_same_structure(one, "vmpool.infoextended.doc.xml", vm_particulars);
    assert_null(strstr(moved, "<SEQ>0</SEQ>"));
    assert_non_null(strstr(moved, "<SEQ>1</SEQ>"));
}

static void the_plain_pool_hides_what_partitions_depend_on(void **state)
{
    oneib_autofree char *pool = ask_pool(*state, "one.vmpool.info", 0, 0, -1);
    assert_null(strstr(pool, "VN_MAD"));
    assert_null(strstr(pool, "VLAN_ID"));
    assert_non_null(strstr(pool, "<NETWORK_ID><![CDATA[1]]></NETWORK_ID>"));
}

static void networks_have_the_recorded_elements(void **state)
{
    int blue = BLUE;
    static const char *const without[] = {"MTU",         "GATEWAY",         "IB_NOTE",
                                          "IB_PKEY",     "NETWORK_ADDRESS", "NETWORK_MASK",
                                          "UPDATED_VMS", "LEASES",          NULL};
    oneib_autofree char *network = ask(*state, "one.vn.info", &blue, 1);
    assert_same_structure(network, "vn.info-1.doc.xml", without);
    assert_non_null(strstr(network, "<VLAN_ID><![CDATA[5]]></VLAN_ID><OUTER_VLAN_ID/>"));
    assert_non_null(strstr(network, "<UPDATED_VMS><ID>0</ID><ID>1</ID><ID>2</ID></UPDATED_VMS>"));
}

static void a_pool_of_networks_has_the_recorded_elements(void **state)
{
    static const char *const without[] = {"UPDATED_VMS", NULL};
    oneib_autofree char *pool = ask_pool(*state, "one.vnpool.info", ETHNET, ETHNET, 0);
    oneib_autofree char *their_pool = recorded("vnpool.info.doc.xml");
    /* The last of the recorded pool is an Ethernet network, like ours. */
    oneib_autotext struct oneib_text last = {0};
    const char *begin = their_pool;
    for (const char *next = strstr(begin, "<VNET>"); next; next = strstr(next + 1, "<VNET>"))
        begin = next;
    oneib_text_printf(&last, "<VNET_POOL>%s", begin);
    oneib_autofree char *ours = structure(pool, without);
    oneib_autofree char *theirs = structure(last.data, without);
    assert_string_equal(ours, theirs);
}

static void a_reservation_has_its_parent_and_its_key(void **state)
{
    int share = SHARE;
    oneib_autofree char *network = ask(*state, "one.vn.info", &share, 1);
    assert_non_null(strstr(network, "<PARENT_NETWORK_ID>1</PARENT_NETWORK_ID>"));
    assert_non_null(strstr(network, "<VLAN_ID><![CDATA[5]]></VLAN_ID>"));
}

/* The recorded host has four VFs, ours shows two; one VM runs on it; a dead VM was found on the
 * other. Its nodes had no key yet. */
static const char *const host_particulars[] = {"PCI",    "VMS",          "TOTAL_ZOMBIES", "ZOMBIES",
                                               "IB_HCA", "IB_VFS_TOTAL", "IB_NODE_KEY",   NULL};

static void hosts_have_the_recorded_elements(void **state)
{
    int host = 0;
    oneib_autofree char *ours = ask(*state, "one.host.info", &host, 1);
    assert_same_structure(ours, "host.info-0.doc.xml", host_particulars);
    assert_non_null(strstr(ours, "<VMS><ID>0</ID></VMS>"));
    assert_non_null(strstr(ours, "<PORT_GUID><![CDATA[0x0000000000100003]]></PORT_GUID>"));
}

static void a_host_in_a_pool_has_no_monitoring(void **state)
{
    oneib_autofree char *pool = ask(*state, "one.hostpool.info", NULL, 0);
    oneib_autofree char *their_pool = recorded("hostpool.info.doc.xml");
    /* All hosts are alike: the first of each pool stands for it. */
    *(strstr(pool, "</HOST>") + 7) = *(strstr(their_pool, "</HOST>") + 7) = '\0';
    oneib_autofree char *ours = structure(strchr(pool + 1, '<'), host_particulars);
    oneib_autofree char *theirs = structure(strchr(their_pool + 1, '<'), host_particulars);
    assert_string_equal(ours, theirs);
    assert_non_null(strstr(pool, "<MONITORING/>"));
}

static void a_migrating_vm_is_on_both_hosts_until_it_runs(void **state)
{
    int source = 1, destination = 2;
    oneib_autofree char *left = ask(*state, "one.host.info", &source, 1);
    oneib_autofree char *entered = ask(*state, "one.host.info", &destination, 1);
    assert_non_null(strstr(left, "<VMS><ID>2</ID></VMS>"));
    assert_non_null(strstr(entered, "<VMS><ID>2</ID></VMS>"));
    ok(lab_vm_running(*state, MIGRATED_VM, &err));
    oneib_autofree char *after = ask(*state, "one.host.info", &source, 1);
    assert_non_null(strstr(after, "<VMS></VMS>"));
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* The ids of a pool's objects, "2 1 0". */
static char *listed(const char *pool, const char *element)
{
    char begin[32];
    struct oneib_text text = {0};
    snprintf(begin, sizeof begin, "<%s><ID>", element);
    for (const char *found = strstr(pool, begin); found; found = strstr(found + 1, begin))
        oneib_text_printf(&text, "%s%ld", text.length ? " " : "",
                          strtol(found + strlen(begin), NULL, 10));
    oneib_text_append(&text, "");
    return text.data;
}

static void assert_listed(struct lab *lab, int start, int end, int vm_state, const char *ids)
{
    oneib_autofree char *pool = ask_pool(lab, "one.vmpool.infoextended", start, end, vm_state);
    oneib_autofree char *found = listed(pool, "VM");
    assert_string_equal(found ? found : "", ids);
}

static void pools_are_listed_from_the_highest_id_down(void **state)
{
    assert_listed(*state, -1, -1, -1, "2 1 0");
}

static void an_end_of_zero_or_more_is_an_inclusive_range_of_ids(void **state)
{
    assert_listed(*state, 1, 2, -1, "2 1");
    assert_listed(*state, 1, 1, -1, "1");
    assert_listed(*state, 50, 99, -1, "");
}

static void an_end_of_minus_one_is_open(void **state)
{
    assert_listed(*state, 1, -1, -1, "2 1");
}

static void an_end_below_minus_one_is_a_page_by_offset(void **state)
{
    assert_listed(*state, 0, -2, -1, "2 1");
    assert_listed(*state, 1, -2, -1, "1 0");
    assert_listed(*state, 2, -5, -1, "0");
}

static void the_state_chooses_done_ones_too(void **state)
{
    assert_listed(*state, -1, -1, -2, "3 2 1 0");
    assert_listed(*state, -1, -1, 6, "3");
    assert_listed(*state, -1, -1, 1, "1");
}

static void pools_can_be_listed_from_the_lowest_id_up(void **state)
{
    assert_listed(*state, -1, -1, -1, "0 1 2");
    assert_listed(*state, 0, -2, -1, "0 1");
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void assert_refused(struct lab *lab, const char *method, const char *session, int id,
                           enum oneib_error_code code, const char *text)
{
    char *document = NULL;
    err = (struct oneib_error){0};
    assert_int_equal(lab_call_document(lab, method, session, &id, 1, &document, &err), -1);
    assert_int_equal(err.code, code);
    assert_string_equal(err.text, text);
}

static void refusals_have_the_recorded_words_and_codes(void **state)
{
    struct lab *lab = *state;
    assert_refused(lab, "one.vm.info", lab_session(lab), 9999, ONEIB_ERROR_NOT_FOUND,
                   "[one.vm.info] Error getting virtual machine [9999].");
    assert_refused(lab, "one.vn.info", lab_session(lab), 9999, ONEIB_ERROR_NOT_FOUND,
                   "[one.vn.info] Error getting virtual network [9999].");
    assert_refused(lab, "one.host.info", lab_session(lab), 99, ONEIB_ERROR_NOT_FOUND,
                   "[one.host.info] Error getting host [99].");
    assert_refused(lab, "one.vm.info", "oneadmin:wrong", 0, ONEIB_ERROR_AUTH,
                   "[one.vm.info] User couldn't be authenticated, aborting call.");
    assert_refused(lab, "one.vm.info", lab_limited_session(lab), 0, ONEIB_ERROR_PERMISSION,
                   "[one.vm.info] User [2] : Not authorized to perform USE VM [0].");
}

static void a_user_with_limited_visibility_gets_empty_pools_of_hosts_and_vms(void **state)
{
    struct lab *lab = *state;
    int all[] = {-2, -1, -1, -1};
    oneib_autofree char *vms = NULL, *hosts = NULL;
    const char *session = lab_limited_session(lab);
    ok(lab_call_document(lab, "one.vmpool.infoextended", session, all, 4, &vms, &err));
    ok(lab_call_document(lab, "one.hostpool.info", session, NULL, 0, &hosts, &err));
    oneib_autofree char *their_vms = recorded("noperm-vmpool.info.doc.xml");
    oneib_autofree char *their_hosts = recorded("noperm-hostpool.info.doc.xml");
    assert_string_equal(vms, their_vms);
    assert_string_equal(hosts, their_hosts);
}

/* As in oned's sources: one.system.config is everybody's, one.user.info of -1 is the caller's. */
static void every_user_gets_the_configuration_and_its_own_document(void **state)
{
    struct lab *lab = *state;
    const char *const sessions[] = {lab_session(lab), lab_limited_session(lab),
                                    lab_acl_session(lab)};
    static const char *const begin[] = {"<USER><ID>0</ID><GID>0</GID><GROUPS><ID>0</ID></GROUPS>",
                                        "<USER><ID>2</ID><GID>1</GID><GROUPS><ID>1</ID></GROUPS>",
                                        "<USER><ID>3</ID><GID>1</GID><GROUPS><ID>1</ID></GROUPS>"};
    const int myself[] = {-1};
    for (size_t i = 0; i < 3; i++) {
        oneib_autofree char *config = NULL, *user = NULL;
        ok(lab_call_document(lab, "one.system.config", sessions[i], NULL, 0, &config, &err));
        ok(lab_call_document(lab, "one.user.info", sessions[i], myself, 1, &user, &err));
        assert_memory_equal(user, begin[i], strlen(begin[i]));
    }
}

static void what_an_owner_writes_into_a_vm_is_not_escaped(void **state)
{
    ok(lab_vm_write(*state, 0, "]]><A>", &err));
    oneib_autofree char *vm = ask(*state, "one.vm.info", (const int[]){0}, 1);
    assert_non_null(strstr(vm, "<USER_TEMPLATE><NOTE><![CDATA[]]><A>]]></NOTE></USER_TEMPLATE>"));
}

static void only_the_owner_moves_the_cloud(void **state)
{
    struct lab *lab = *state;
    assert_refused(lab, "standin.vm.delete", lab_limited_session(lab), 0, ONEIB_ERROR_AUTH,
                   "[standin.vm.delete] User couldn't be authenticated, aborting call.");
}

static void a_broken_template_is_a_parse_error_and_changes_nothing(void **state)
{
    char vlan_id[16];
    err = (struct oneib_error){0};
    assert_int_equal(lab_network_update(*state, BLUE, "VLAN_ID=9\nnonsense", &err), -1);
    assert_non_null(strstr(err.text, "[one.vn.update] Parse error"));
    ok(lab_network_vlan_id(*state, BLUE, vlan_id, sizeof vlan_id, &err));
    assert_string_equal(vlan_id, "5");
}

/* ---- what scripts do to the cloud ------------------------------------------------------------ */

static void a_new_key_reaches_the_nics_of_running_vms(void **state)
{
    ok(lab_network_update(*state, BLUE, "VLAN_ID=\"300\"", &err));
    oneib_autofree char *vm = ask_vm(*state, RUNNING_VM);
    assert_non_null(strstr(vm, "<VLAN_ID><![CDATA[300]]></VLAN_ID><VN_MAD>"));
}

static void a_new_key_reaches_them_late_when_asked_to(void **state)
{
    int blue = BLUE;
    ok(lab_network_update(*state, BLUE, "VLAN_ID=\"300\"", &err));
    oneib_autofree char *before = ask_vm(*state, RUNNING_VM);
    oneib_autofree char *network = ask(*state, "one.vn.info", &blue, 1);
    assert_non_null(strstr(before, "<VLAN_ID><![CDATA[5]]></VLAN_ID><VN_MAD>"));
    assert_non_null(strstr(network, "<UPDATED_VMS></UPDATED_VMS><OUTDATED_VMS><ID>0</ID>"));
    ok(lab_networks_propagate(*state, &err));
    oneib_autofree char *after = ask_vm(*state, RUNNING_VM);
    assert_non_null(strstr(after, "<VLAN_ID><![CDATA[300]]></VLAN_ID><VN_MAD>"));
}

static void a_nic_is_attaching_and_detaching_until_the_vm_runs_again(void **state)
{
    uint32_t nic;
    ok(lab_vm_attach(*state, RUNNING_VM, SHARE, &nic, &err));
    assert_int_equal(nic, 2);
    oneib_autofree char *attaching = ask_vm(*state, RUNNING_VM);
    assert_non_null(strstr(attaching, "<ATTACH><![CDATA[YES]]></ATTACH>"));
    assert_non_null(strstr(attaching, "<LCM_STATE>25</LCM_STATE>"));
    ok(lab_vm_running(*state, RUNNING_VM, &err));
    oneib_autofree char *attached = ask_vm(*state, RUNNING_VM);
    assert_null(strstr(attached, "<ATTACH>"));
    assert_non_null(strstr(attached, "<NIC_ID><![CDATA[2]]></NIC_ID>"));
    ok(lab_vm_detach(*state, RUNNING_VM, nic, &err));
    ok(lab_vm_running(*state, RUNNING_VM, &err));
    oneib_autofree char *detached = ask_vm(*state, RUNNING_VM);
    assert_null(strstr(detached, "<NIC_ID><![CDATA[2]]></NIC_ID>"));
}

static void a_nic_can_be_forged(void **state)
{
    ok(lab_vm_set_nic(*state, RUNNING_VM, 1, "VLAN_ID=6\nNIC_ID=256\nGATEWAY=", &err));
    oneib_autofree char *vm = ask_vm(*state, RUNNING_VM);
    assert_non_null(strstr(vm, "<NIC_ID><![CDATA[256]]></NIC_ID>"));
    assert_non_null(strstr(vm, "<VLAN_ID><![CDATA[6]]></VLAN_ID><VN_MAD>"));
    assert_null(strstr(vm, "<GATEWAY>"));
}

static void a_name_cannot_break_the_document(void **state)
{
    uint32_t id;
    ok(lab_network_create(*state, "x=0x7fff : ALL=full; <&>", "", NULL, &id, &err));
    int network = (int)id;
    oneib_autofree char *document = ask(*state, "one.vn.info", &network, 1);
    assert_non_null(strstr(document, "<NAME>x=0x7fff : ALL=full; &lt;&amp;&gt;</NAME>"));
    assert_non_null(strstr(document, "<VLAN_ID/>"));
}

static void a_host_keeps_the_attributes_that_are_written_to_it(void **state)
{
    struct lab *lab = *state;
    int host = 0;
    ok(lab_host_update(lab, 0, "IB_VFS_FREE=6", &err));
    oneib_autofree char *document = ask(lab, "one.host.info", &host, 1);
    assert_non_null(strstr(document, "<IB_VFS_FREE><![CDATA[6]]></IB_VFS_FREE>"));
}

static void calls_are_counted_by_method(void **state)
{
    unsigned before, after;
    ok(lab_calls(*state, "one.vm.info", &before, &err));
    free(ask_vm(*state, RUNNING_VM));
    ok(lab_calls(*state, "one.vm.info", &after, &err));
    assert_int_equal(after, before + 1);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void each_fault_of_the_wire_spoils_that_many_calls(void **state)
{
    static const char *const kinds[] = {"html", "truncated", "close", "http500", "badsession"};
    struct lab *lab = *state;
    int id = RUNNING_VM;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ok(lab_fault(lab, kinds[i], 2, 0, &err));
        for (int call = 0; call < 2; call++) {
            char *document = NULL;
            assert_int_equal(
                lab_call_document(lab, "one.vm.info", lab_session(lab), &id, 1, &document, &err),
                -1);
            err = (struct oneib_error){0};
        }
        oneib_autofree char *vm = ask_vm(lab, RUNNING_VM);
        assert_non_null(vm);
    }
}

static void faults_of_pools_leave_vms_out(void **state)
{
    struct lab *lab = *state;
    ok(lab_fault(lab, "empty-pools", 1, 0, &err));
    assert_listed(lab, -1, -1, -1, "");
    ok(lab_fault(lab, "shrink-window", 1, 0, &err));
    assert_listed(lab, -1, -1, -1, "2 0");
    assert_listed(lab, -1, -1, -1, "2 1 0");
}

/* ---- read by oneib --------------------------------------------------------------------------- */

static struct oneib_one *open_client(struct lab *lab)
{
    char *endpoint = strdup(lab_endpoint(lab)), *session = strdup(lab_session(lab));
    struct oneib_credentials credentials = {.endpoint = endpoint, .session = session};
    struct oneib_one *one = oneib_one_open(&credentials, 10000, &err);
    if (!one)
        fail_msg("%s", err.text);
    free(endpoint);
    free(session);
    return one;
}

static void core_reads_the_cloud_as_it_is(void **state)
{
    struct oneib_one *one = open_client(*state);
    struct oneib_pools_options how = {.vn_mad = "infiniband", .window = 2};
    struct oneib_cloud cloud = {0};
    struct oneib_findings findings = {0};
    ok(oneib_pools_read(one, &how, &cloud, &findings, &err));
    assert_int_equal(cloud.host_count, 9);
    assert_int_equal(cloud.hosts[0].port_count, 1);
    assert_int_equal(cloud.hosts[0].ports[0].port_guid, 0x100003);
    assert_int_equal(cloud.hosts[0].ports[0].driver, ONEIB_HCA_MLX4);
    assert_int_equal(cloud.hosts[8].port_count, 0);
    assert_int_equal(cloud.network_count, 2);
    assert_int_equal(cloud.networks[0].pkey, 5);
    assert_int_equal(cloud.networks[1].parent_id, BLUE);
    assert_int_equal(cloud.attachment_count, 3);
    assert_int_equal(cloud.attachments[0].nic_id, 1);
    assert_int_equal(cloud.attachments[0].ipv4, 0x0a14000a);
    assert_int_equal(cloud.attachments[0].host_id, 0);
    assert_int_equal(cloud.attachments[2].host_id, 2);
    assert_int_equal(cloud.attachments[2].source_host_id, 1);
    oneib_cloud_clear(&cloud);
    oneib_findings_clear(&findings);
    oneib_one_close(one);
}

static void its_configuration_restricts_what_tenants_must_not_set(void **state)
{
    oneib_autofree char *config = ask(*state, "one.system.config", NULL, 0);
    oneib_autotext struct oneib_text lines = {0};
    size_t missing;
    ok(oneib_restrictions_missing(config, strlen(config), &lines, &missing, &err));
    if (missing)
        fail_msg("%s", lines.data);
}

#define with_cloud(test) cmocka_unit_test_setup_teardown(test, open_cloud, close_cloud)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_cloud(a_running_vm_has_the_recorded_elements),
        with_cloud(a_vm_that_was_nowhere_yet_has_the_recorded_elements),
        with_cloud(a_migrated_vm_has_one_history_record_more),
        with_cloud(a_pool_shows_vms_whole_but_for_earlier_history),
        with_cloud(the_plain_pool_hides_what_partitions_depend_on),
        with_cloud(networks_have_the_recorded_elements),
        with_cloud(a_pool_of_networks_has_the_recorded_elements),
        with_cloud(a_reservation_has_its_parent_and_its_key),
        with_cloud(hosts_have_the_recorded_elements),
        with_cloud(a_host_in_a_pool_has_no_monitoring),
        with_cloud(a_migrating_vm_is_on_both_hosts_until_it_runs),
        with_cloud(pools_are_listed_from_the_highest_id_down),
        with_cloud(an_end_of_zero_or_more_is_an_inclusive_range_of_ids),
        with_cloud(an_end_of_minus_one_is_open),
        with_cloud(an_end_below_minus_one_is_a_page_by_offset),
        with_cloud(the_state_chooses_done_ones_too),
        cmocka_unit_test_setup_teardown(pools_can_be_listed_from_the_lowest_id_up, open_ascending,
                                        close_cloud),
        with_cloud(refusals_have_the_recorded_words_and_codes),
        with_cloud(a_user_with_limited_visibility_gets_empty_pools_of_hosts_and_vms),
        with_cloud(every_user_gets_the_configuration_and_its_own_document),
        with_cloud(what_an_owner_writes_into_a_vm_is_not_escaped),
        with_cloud(only_the_owner_moves_the_cloud),
        with_cloud(a_broken_template_is_a_parse_error_and_changes_nothing),
        with_cloud(a_new_key_reaches_the_nics_of_running_vms),
        cmocka_unit_test_setup_teardown(a_new_key_reaches_them_late_when_asked_to, open_lazy,
                                        close_cloud),
        with_cloud(a_nic_is_attaching_and_detaching_until_the_vm_runs_again),
        with_cloud(a_nic_can_be_forged),
        with_cloud(a_name_cannot_break_the_document),
        with_cloud(a_host_keeps_the_attributes_that_are_written_to_it),
        with_cloud(calls_are_counted_by_method),
        with_cloud(each_fault_of_the_wire_spoils_that_many_calls),
        with_cloud(faults_of_pools_leave_vms_out),
        with_cloud(core_reads_the_cloud_as_it_is),
        with_cloud(its_configuration_restricts_what_tenants_must_not_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
