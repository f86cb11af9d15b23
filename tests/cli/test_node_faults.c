// SPDX-License-Identifier: Apache-2.0
/* What a node's programs make of an adapter, a host or a document that is not as it should be. */
#include "../skip.h"
#include "fault_scene.h"
#include "hca/scripted.h"

#define TEN_MIB ((size_t)10 * 1024 * 1024)

/* ---- the adapter ----------------------------------------------------------------------------- */

static void a_host_without_an_adapter(void **state)
{
    (void)state;
    tree_remove_hca(hca);
    must_fail(PRE, VM_42, "this host has no adapter mlx4_0");
    must(CLEAN, VM_42);
    must(WORDS(ONEIB_PROBE_BINARY), "");
    must(WORDS(ONEIB_BINARY, "hca", "--repair"), "");
    add_adapter();
    assert_nothing_is_left();
}

static void an_adapter_that_is_not_there(void **state)
{
    (void)state;
    grant_nic(42, 1, "network=7 pkey=0x0005 device=mlx4_9 port=1 setguid");
    must_fail(PRE, VM_42, "mlx4_9");
    assert_nothing_is_left();
}

static void an_adapter_whose_vf_count_is_zero(void **state)
{
    (void)state;
    static const struct tree_hca without = {
        .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .vfs_supported = 16};
    tree_remove_hca(hca);
    tree_add_hca(&without);
    tree_set_pkey(&without, 1, KEY_INDEX, 0x8005);
    must_fail(PRE, VM_42, "VM 42 NIC 1: mlx4_0");
    must(WORDS(ONEIB_PROBE_BINARY), "");
    assert_contains(said, "IB_VFS_TOTAL = \"0\"");
    tree_remove_hca(&without);
    add_adapter();
    assert_nothing_is_left();
}

static void an_adapter_whose_vfs_are_all_taken(void **state)
{
    (void)state;
    must(PRE, VM("41", NIC("0", KEY) NIC("1", KEY) NIC("2", KEY) NIC("3", KEY)));
    must_fail(PRE, VM_42, "mlx4_0 has no free virtual function: 4 in all, 4 reserved");
    assert_lacks(table(), "vm=42");
    must(CLEAN, VM("41", ""));
    assert_nothing_is_left();
}

static int begin_with_two_ports(void **state)
{
    static const struct tree_hca two_ports = {
        .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .vfs = 4, .ports = 2};
    (void)state;
    begin_with(&two_ports);
    return 0;
}

static void a_vf_with_an_ethernet_port(void **state)
{
    (void)state;
    static const struct tree_hca mixed = {
        .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .vfs = 4, .ports = 2, .ethernet_ports = 1 << 2};
    tree_remove_hca(hca);
    tree_add_hca(&mixed);
    tree_set_pkey(&mixed, 1, KEY_INDEX, 0x8005);
    must_fail(PRE, VM_42, "4 with an Ethernet port");
    grant_vf(42, 1, "0000:81:00.1");
    must_fail(PRE, VM("42", PCI("1", KEY TAG("ADDRESS", "0000:81:00:1"))), "thernet");
    forget_granted(42, 1);
    tell_granted();
    tree_remove_hca(&mixed);
    add_adapter();
    assert_nothing_is_left();
}

static void a_port_that_is_a_full_member_of_the_default_partition(void **state)
{
    (void)state;
    tree_set_pkey(hca, 1, 0, 0xffff);
    must_fail(PRE, VM_42, "default partition");
    tree_set_pkey(hca, 1, 0, 0x7fff);
    assert_nothing_is_left();
}

static void a_key_in_the_last_slot_that_there_is(void **state)
{
    (void)state;
    tree_set_pkey(hca, 1, KEY_INDEX, 0);
    tree_set_pkey(hca, 1, 126, 0x8005);
    must(PRE, VM_42);
    assert_int_equal(key_of(0), 0x8005);
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

static int begin_with_a_whole_table(void **state)
{
    static const struct tree_hca whole = {
        .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .vfs = 4, .pkeys = 128};
    (void)state;
    begin_with(&whole);
    return 0;
}

/* Entry 127 is where the adapter sends what is mapped to none. */
static void a_key_in_the_slot_that_stands_for_none(void **state)
{
    (void)state;
    tree_set_pkey(hca, 1, 127, 0x8006);
    must_fail(PRE, VM_42, "127");
    tree_set_pkey(hca, 1, 127, 0);
    assert_nothing_is_left();
}

static void a_vf_that_two_domains_claim(void **state)
{
    (void)state;
    put_domains(DOMAIN("one-1", HOSTDEV("1")) DOMAIN("one-2", HOSTDEV("1")));
    /* The service is told of domains by another process. */
    const double until = oneib_now_ms() + DEADLINE_MS;
    while (run(WORDS(ONEIB_BINARY, "hca", "--repair"), "") != 1 && oneib_now_ms() < until)
        pause_ms(20);
    assert_contains(said, "vf-claimed-twice");
    grant_vf(42, 1, "0000:81:00.1");
    must_fail(PRE, VM("42", PCI("1", KEY TAG("ADDRESS", "0000:81:00:1"))), "domain");
    regrant_nic(42, 1, "network=7 pkey=0x0005 " AT_MLX4);
    must(PRE, VM_42);
    assert_int_equal(key_of(1), 0x8005);
    must(CLEAN, VM_42);
    put_domains("");
    assert_nothing_is_left();
}

static void a_vf_that_is_not_an_adapters(void **state)
{
    (void)state;
    static const char foreign[] = VM("42", PCI("1", KEY TAG("ADDRESS", "0000:99:00:1")));
    grant_vf(42, 1, "0000:99:00.1");
    must_fail(PRE, foreign, "0000:99:00.1 is not a virtual function");
    assert_int_equal(run(CLEAN, foreign), 1);
    assert_nothing_is_left();
}

static void a_migrations_source_whose_table_was_lost(void **state)
{
    (void)state;
    static const char here[] = VM("42", PCI("1", KEY TAG("ADDRESS", "0000:81:00:2")));
    static const char gone[] =
        VM("42", PCI("1", KEY TAG("ADDRESS", "0000:81:00:1") TAG("PREV_ADDRESS", "0000:81:00:2")));
    grant_vf(42, 1, "0000:81:00.2");
    must(PRE, here);
    assert_int_equal(key_of(1), 0x8005);
    lose_table();
    must(WORDS(VNM_DRIVER, "clean", "source"), gone);
    assert_nothing_is_left();
}

/* PREV_ADDRESS stays in the document for good. */
static void a_previous_address_that_is_another_vms_by_now(void **state)
{
    (void)state;
    static const char moved[] =
        VM("42", TAG("DEPLOY_ID", UUID) PCI("1", KEY TAG("ADDRESS", "0000:81:00:1")
                                                     TAG("PREV_ADDRESS", "0000:81:00:2")));
    static const char other[] = VM("43", PCI("1", KEY TAG("ADDRESS", "0000:81:00:2")));
    grant_vf(42, 1, "0000:81:00.1");
    grant_vf(43, 1, "0000:81:00.2");
    must(PRE, moved);
    assert_int_equal(key_of(0), 0x8005);
    assert_contains(table(), "guid=deferred");
    must(POST, moved);
    assert_contains(table(), "guid=set");
    must(PRE, other);
    must(
        WORDS(VNM_DRIVER, "clean", "source"),
        VM("44", PCI("1", KEY TAG("ADDRESS", "0000:82:00:1") TAG("PREV_ADDRESS", "0000:81:00:2"))));
    must(CLEAN, moved);
    assert_reusable(0);
    assert_int_equal(key_of(1), 0x8005);
    must(CLEAN, other);
    assert_nothing_is_left();
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const char *const attributes[] = {
    "iov/0000:81:00.1/ports/1/pkey_idx/0",
    "iov/0000:81:00.1/ports/1/pkey_idx/7",
    "iov/ports/1/admin_guids/1",
    "iov/ports/1/gids/1",
    "ports/1/pkeys/0",
    "ports/1/pkeys/3",
};
#define ATTRIBUTES (sizeof attributes / sizeof *attributes)
#define ATTRIBUTE "/sys/class/infiniband/mlx4_0/%s"

enum fault { MISSING, UNREADABLE, READ_ONLY, FAULTS };

static void hide(const char *name)
{
    char *path = tree_path(ATTRIBUTE, name), *hidden = tree_path("/hidden");
    assert_int_equal(rename(path, hidden), 0);
    free(path);
    free(hidden);
}

static void show(const char *name)
{
    char *path = tree_path(ATTRIBUTE, name), *hidden = tree_path("/hidden");
    assert_int_equal(rename(hidden, path), 0);
    free(path);
    free(hidden);
}

static void spoil(const char *name, enum fault fault)
{
    if (fault == MISSING)
        hide(name);
    else
        tree_set_mode(fault == UNREADABLE ? 0 : 0444, ATTRIBUTE, name);
}

static void mend(const char *name, enum fault fault)
{
    if (fault == MISSING)
        show(name);
    else
        tree_set_mode(0644, ATTRIBUTE, name);
}

/* Whether or not VF 0 is passed over, and another one given. */
static void attributes_that_are_spoiled_before_pre(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATTRIBUTES; i++)
        for (enum fault fault = MISSING; fault < FAULTS; fault++) {
            configure(SOON, SOON);
            spoil(attributes[i], fault);
            const int status = run(PRE, VM_42);
            mend(attributes[i], fault);
            assert_int_equal(count_records(), status == 0 || strstr(table(), "releasing"));
            must(CLEAN, VM_42);
            assert_string_equal(table(), "");
            assert_reusable(0);
        }
}

static void attributes_that_are_spoiled_before_clean(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATTRIBUTES; i++)
        for (enum fault fault = MISSING; fault < FAULTS; fault++) {
            configure(LONG, LONG);
            must(PRE, VM_42);
            configure(SOON, SOON);
            spoil(attributes[i], fault);
            run(CLEAN, VM_42);
            mend(attributes[i], fault);
            assert_lacks(table(), "stage=open");
            must(CLEAN, VM_42);
            assert_string_equal(table(), "");
            assert_reusable(0);
        }
}

/* Entry 0 of VF 0 says the same whatever is written to it. */
static void freeze(struct scripted *entry, const char *answer)
{
    char answers[512] = "";
    for (int i = 0; i < 40; i++) {
        strcat(answers, answer);
        strcat(answers, "\n");
    }
    char *path = tree_path(ATTRIBUTE, attributes[0]);
    const bool opened = scripted_open(entry, path, answers);
    free(path);
    if (!opened) {
        skip_because("there are no terminals here");
    }
}

static void thaw(const struct scripted *entry, const char *value)
{
    tree_remove(ATTRIBUTE, attributes[0]);
    tree_write(value, ATTRIBUTE, attributes[0]);
    scripted_close(entry);
}

static void opening_without_effect(void **state)
{
    (void)state;
    struct scripted entry;
    freeze(&entry, "0");
    must_fail(PRE, VM_42, "VM 42 NIC 1");
    thaw(&entry, "0");
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

static void closing_without_effect(void **state)
{
    (void)state;
    struct scripted entry;
    must(PRE, VM_42);
    freeze(&entry, "3");
    must_fail(CLEAN, VM_42, "VM 42 NIC 1");
    assert_contains(table(), "stage=releasing");
    thaw(&entry, "3");
    assert_nothing_is_left();
}

/* ---- mlx5, whose map is its link ------------------------------------------------------------- */

static const struct tree_hca mlx5 = {
    .name = "mlx5_0", .driver = ONEIB_HCA_MLX5, .pci = "0000:81:00.0", .vfs = 4};

static int begin_with_mlx5(void **state)
{
    (void)state;
    begin_with(&mlx5);
    grant_by_network("network=0 pkey=0x0005 device=mlx5_0 port=1 setguid\n"
                     "network=7 pkey=0x0005 device=mlx5_0 port=1 setguid\n");
    grant_nic(900, 0, "network=0 pkey=0x0005 device=mlx5_0 port=1 setguid vf=0000:81:00.1");
    return 0;
}

#define MLX5 "/sys/class/infiniband/mlx5_0/device/sriov/0/%s"
static const char *const links[] = {"node", "port", "policy"};

static void assert_link(const char *policy)
{
    char value[64];
    tree_read(value, sizeof value, MLX5, "policy");
    assert_string_equal(value, policy);
}

static void assert_link_is_reusable(void)
{
    char guid[64];
    assert_string_equal(table(), "");
    assert_link("Down");
    if (ASK("have", "--vm", "900", "--nic", "0") != 0)
        fail_msg("not reusable: %s", said);
    assert_link("Follow");
    if (ASK("release", "--vm", "900") != 0)
        fail_msg("not reusable twice: %s", said);
    assert_link("Down");
    tree_read(guid, sizeof guid, MLX5, "port");
    assert_string_equal(guid, "ff:ff:ff:ff:ff:ff:ff:ff");
}

static void attributes_of_an_mlx5_that_are_spoiled(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (enum fault fault = UNREADABLE; fault < FAULTS; fault++) {
            const mode_t mode = fault == UNREADABLE ? 0 : 0444;
            tree_set_mode(mode, MLX5, links[i]);
            run(PRE, VM_42);
            tree_set_mode(0644, MLX5, links[i]);
            must(CLEAN, VM_42);
            assert_link_is_reusable();
            must(PRE, VM_42);
            assert_link("Follow");
            tree_set_mode(mode, MLX5, links[i]);
            run(CLEAN, VM_42);
            tree_set_mode(0644, MLX5, links[i]);
            must(CLEAN, VM_42);
            assert_link_is_reusable();
        }
}

/* ---- the subnet manager ---------------------------------------------------------------------- */

static void a_guid_that_the_sm_does_not_accept(void **state)
{
    (void)state;
    configure(LONG, SOON);
    sm_accept_guids(false);
    must_fail(PRE, VM_42, "GUID");
    sm_accept_guids(true);
    assert_nothing_is_left();
}

static void a_guid_that_the_sm_does_not_delete(void **state)
{
    (void)state;
    must(PRE, VM_42);
    configure(LONG, SOON);
    sm_let_guids_go(false);
    must(CLEAN, VM_42);
    assert_contains(said, "WARN: VM 42 NIC 1");
    assert_contains(table(), "stage=releasing");
    assert_int_equal(key_of(0), 0x7fff);
    grant_vf(43, 1, "0000:81:00.1");
    must_fail(PRE, VM("43", PCI("1", KEY TAG("ADDRESS", "0000:81:00:1"))), "reserved");
    sm_let_guids_go(true);
    assert_nothing_is_left();
}

static void a_key_that_is_not_there_at_the_deadline(void **state)
{
    (void)state;
    configure(ENOUGH, LONG);
    must_fail(PRE, VM("42", NIC("1", OTHER_KEY)), "0x0006");
    assert_nothing_is_left();
}

static void a_second_nic_that_fails_undoes_the_first(void **state)
{
    (void)state;
    configure(ENOUGH, LONG);
    must_fail(PRE, VM("42", NIC("1", KEY) NIC("2", OTHER_KEY)), "NIC 2");
    assert_nothing_is_left();
}

/* ---- documents ------------------------------------------------------------------------------- */

static void a_document_of_10_mib(void **state)
{
    (void)state;
    static const char before[] = "<VM><ID>42</ID><USER_TEMPLATE><X><![CDATA[",
                      after[] = "]]></X></USER_TEMPLATE>" NIC("1", KEY) "</VM>";
    char *xml = malloc(sizeof before + TEN_MIB + sizeof after);
    assert_non_null(xml);
    strcpy(xml, before);
    memset(xml + strlen(before), 'x', TEN_MIB);
    strcpy(xml + strlen(before) + TEN_MIB, after);
    must(PRE, xml);
    assert_int_equal(key_of(0), 0x8005);
    must(CLEAN, xml);
    free(xml);
    assert_nothing_is_left();
}

/* Nothing is given to it; what its VM had is taken back where the VM is known, or by the next
 * document. */
static void assert_hostile(const char *xml)
{
    if (run(PRE, xml) != 1)
        fail_msg("not refused: %s", xml);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    assert_string_equal(table(), "");
    must(PRE, VM_42);
    run(CLEAN, xml);
    must(CLEAN, VM_42);
    assert_false(tree_exists("/touched"));
    assert_reusable(0);
}

static void hostile_documents(void **state)
{
    (void)state;
    assert_hostile("<!DOCTYPE VM [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">"
                   "<!ENTITY c \"&b;&b;&b;&b;&b;&b;\">]>" VM("42", NIC("1", KEY TAG("X", "&c;"))));
    assert_hostile("<!DOCTYPE VM [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>" VM(
        "42", NIC("1", TAG("NETWORK_ID", "&a;"))));
    assert_hostile(VM("42", NIC("256", KEY)));
    assert_hostile(VM("42", NIC("1", KEY) NIC("1", KEY)));
    assert_hostile(VM("42", NIC("1", TAG("NETWORK_ID", "$(touch $ONEIB_NODE_ROOT/touched)"))));
    assert_hostile(VM("42", PCI("1", KEY TAG("ADDRESS", "0000:81:00:1 --vf 0000:81:00.2"))));
    assert_hostile(VM("42\n43", NIC("1", KEY)));
    assert_hostile(VM("42", NIC("1", KEY)) "<VM/>");
}

/* The VM's other NICs keep nothing. */
static void a_nic_256_keeps_no_vf_of_its_vm_from_being_closed(void **state)
{
    (void)state;
    must(PRE, VM_42);
    must(CLEAN, VM("42", NIC("1", KEY) NIC("256", KEY)));
    assert_nothing_is_left();
}

static void what_is_no_base64(void **state)
{
    (void)state;
    static const char *const inputs[] = {"", "%%%%", "PFZN!!!!", "PFZNLz4", "====", "\xff\xfe"};
    must(PRE, VM_42);
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        assert_int_equal(run_on(PRE, inputs[i], strlen(inputs[i])), 1);
        assert_int_equal(run_on(CLEAN, inputs[i], strlen(inputs[i])), 1);
    }
    assert_int_equal(count_records(), 1);
    must(CLEAN, VM_42);
    assert_nothing_is_left();
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static void a_hook_that_fails_undoes_pre(void **state)
{
    (void)state;
    char *hooks = tree_path("/run/pre.d");
    tree_write("#!/bin/sh\nexit 1", "/run/pre.d/fail");
    tree_set_mode(0755, "/run/pre.d/fail");
    must_fail(WORDS(VNM_DRIVER, "pre", "--hooks", hooks), VM_42, "hook \"fail\"");
    free(hooks);
    assert_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT(a_host_without_an_adapter),
        FAULT(an_adapter_that_is_not_there),
        FAULT(an_adapter_whose_vf_count_is_zero),
        FAULT(an_adapter_whose_vfs_are_all_taken),
        cmocka_unit_test_setup_teardown(a_vf_with_an_ethernet_port, begin_with_two_ports, end),
        FAULT(a_port_that_is_a_full_member_of_the_default_partition),
        FAULT(a_key_in_the_last_slot_that_there_is),
        cmocka_unit_test_setup_teardown(a_key_in_the_slot_that_stands_for_none,
                                        begin_with_a_whole_table, end),
        FAULT(a_vf_that_two_domains_claim),
        FAULT(a_vf_that_is_not_an_adapters),
        FAULT(a_migrations_source_whose_table_was_lost),
        FAULT(a_previous_address_that_is_another_vms_by_now),
        FAULT(attributes_that_are_spoiled_before_pre),
        FAULT(attributes_that_are_spoiled_before_clean),
        cmocka_unit_test_setup_teardown(attributes_of_an_mlx5_that_are_spoiled, begin_with_mlx5,
                                        end),
        FAULT(opening_without_effect),
        FAULT(closing_without_effect),
        FAULT(a_guid_that_the_sm_does_not_accept),
        FAULT(a_guid_that_the_sm_does_not_delete),
        FAULT(a_key_that_is_not_there_at_the_deadline),
        FAULT(a_second_nic_that_fails_undoes_the_first),
        FAULT(a_document_of_10_mib),
        FAULT(hostile_documents),
        FAULT(a_nic_256_keeps_no_vf_of_its_vm_from_being_closed),
        FAULT(what_is_no_base64),
        FAULT(a_hook_that_fails_undoes_pre),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
