// SPDX-License-Identifier: Apache-2.0
/* What the virtualization driver reads in a VM's document: the full one in OpenNebula's message,
 * and what a NIC's devices are made of. */
#include "documents.h"
#include "node/vm_document.h"
#include <string.h>

#define MESSAGE(content)                                                                           \
    "<VMM_DRIVER_ACTION_DATA><HOST>kvm1</HOST><DEPLOY_ID>other</DEPLOY_ID>" content                \
    "<DATASTORE><ID>9</ID><TEMPLATE><NIC><NIC_ID>8</NIC_ID><VN_MAD>infiniband</VN_MAD></NIC>"      \
    "</TEMPLATE></DATASTORE></VMM_DRIVER_ACTION_DATA>"
#define GUEST_ADDRESS(domain, bus, slot, function)                                                 \
    "<VM_DOMAIN>" domain "</VM_DOMAIN><VM_BUS>" bus "</VM_BUS><VM_SLOT>" slot                      \
    "</VM_SLOT><VM_FUNCTION>" function "</VM_FUNCTION>"
#define HPC(value) "<IB_HPC>" value "</IB_HPC>"

static struct oneib_node_vm vm;
static struct oneib_error err;

static int clear(void **state)
{
    (void)state;
    oneib_node_vm_clear(&vm);
    return 0;
}

static int parse_as(const char *xml, size_t length, const char *vn_mad)
{
    /* A copy without a NUL behind it, so that reading beyond the end is seen. */
    char *copy = malloc(length);
    assert_non_null(copy);
    memcpy(copy, xml, length);
    err = (struct oneib_error){0};
    oneib_node_vm_clear(&vm);
    const int outcome = oneib_node_vm_parse(copy, length, vn_mad, &vm, &err);
    free(copy);
    return outcome;
}

static int parse(const char *xml)
{
    return parse_as(xml, strlen(xml), "infiniband");
}

static void parse_recorded(const char *action)
{
    size_t length;
    char *xml = recorded_action(action, &length);
    if (parse_as(xml, length, "ibrec") < 0)
        fail_msg("%s: %s", action, err.text);
    free(xml);
}

static void assert_refused(const char *xml, const char *words)
{
    assert_int_equal(parse(xml), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in: %s", words, err.text);
    assert_int_equal(vm.nic_count, 0);
}

/* The only NIC of a VM. */
static const struct oneib_node_nic *read_nic(const char *xml)
{
    if (parse(xml) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(vm.nic_count, 1);
    assert_false(vm.nics[0].faulty);
    return &vm.nics[0];
}

/* ---- recorded -------------------------------------------------------------------------------- */

static void an_attach_tells_all_of_the_nic_that_comes(void **state)
{
    (void)state;
    parse_recorded("0005-vmm.kvm.attach_nic.vm1");
    assert_int_equal(vm.id, 1);
    assert_true(vm.deployed);
    assert_true(vm.attaching);
    assert_false(vm.wants_hpc);
    assert_string_equal(vm.hostname, "localhost");
    assert_int_equal(vm.nic_count, 3);

    const struct oneib_node_nic *nic = &vm.nics[2];
    assert_int_equal(nic->nic_id, 3);
    assert_true(nic->attach);
    assert_string_equal(nic->mac, "02:00:0a:14:00:0c");
    assert_int_equal(nic->ipv4, 0x0a14000c);
    assert_string_equal(nic->target, "one-1-3");
    assert_false(nic->has_guest_address);
}

static void a_pci_nic_has_the_guest_address_that_oned_gave_it(void **state)
{
    (void)state;
    parse_recorded("0005-vmm.kvm.attach_nic.vm1");
    const struct oneib_node_nic *nic = &vm.nics[1];
    assert_true(nic->is_pci);
    assert_string_equal(nic->mac, "02:00:0a:14:00:0b");
    assert_int_equal(nic->ipv4, 0x0a14000b);
    assert_true(nic->has_guest_address);
    char text[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&nic->guest_address, text);
    assert_string_equal(text, "0000:01:00.0");
}

static void every_recorded_message_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *action;
        uint32_t id;
        size_t nics;
        bool attaching;
    } messages[] = {
        {"0014-vmm.kvm.detach_nic.vm1", 1, 4, true},
        {"0038-vmm.kvm.save.vm1", 1, 3, false},
        {"0041-vmm.kvm.restore.vm1", 1, 3, false},
        {"0052-vmm.kvm.migrate.vm2", 2, 1, false},
    };
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        parse_recorded(messages[i].action);
        assert_int_equal(vm.id, messages[i].id);
        assert_int_equal(vm.nic_count, messages[i].nics);
        assert_int_equal(vm.attaching, messages[i].attaching);
        assert_true(vm.deployed);
    }
}

/* ---- the message ----------------------------------------------------------------------------- */

static void only_the_messages_vm_counts(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic = read_nic(MESSAGE(VM("42", NIC("1", ""))));
    assert_int_equal(vm.id, 42);
    assert_int_equal(nic->nic_id, 1);
    assert_false(vm.deployed);
}

static void a_message_has_one_vm(void **state)
{
    (void)state;
    assert_refused(MESSAGE(VM("42", NIC("1", "")) VM("43", "")), "has two VMs");
    assert_int_equal(vm.id, 42);
    assert_refused(MESSAGE(""), "has no VM");
    assert_refused(MESSAGE("<VM></VM>"), "has no ID");
    assert_refused(MESSAGE(MESSAGE(VM("42", ""))), "has no VM");
    assert_refused("<DATA>" VM("42", "") "</DATA>", "is not of a VM");
}

static void what_follows_the_vm_must_be_sound_too(void **state)
{
    (void)state;
    assert_refused("<VMM_DRIVER_ACTION_DATA>" VM("42", NIC("1", "")), "not well-formed");
    assert_refused(MESSAGE(VM("42", NIC("1", "")) "<!-- -->"), "comment");
}

/* ---- devices --------------------------------------------------------------------------------- */

static void a_mac_is_read_in_either_case(void **state)
{
    (void)state;
    assert_string_equal(read_nic(VM("42", NIC("1", "<MAC>02:00:0A:14:00:fF</MAC>")))->mac,
                        "02:00:0a:14:00:ff");
}

static void malformed_macs_count_as_not_said(void **state)
{
    (void)state;
    static const char *const documents[] = {
        VM("42", NIC("1", "")),
        VM("42", NIC("1", "<MAC></MAC>")),
        VM("42", NIC("1", "<MAC>02:00:0a:14:00</MAC>")),
        VM("42", NIC("1", "<MAC>02:00:0a:14:00:0g</MAC>")),
        VM("42", NIC("1", "<MAC>02-00-0a-14-00-0a</MAC>")),
        VM("42", NIC("1", "<MAC>02:00:0a:14:00:0a </MAC>")),
        VM("42", NIC("1", "<MAC>02:00:0a:14:00:'/></MAC>")),
        VM("42", NIC("1", "<MAC>02:00:0a:14:00:0a</MAC><MAC>02:00:0a:14:00:0a</MAC>")),
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        assert_string_equal(read_nic(documents[i])->mac, "");
}

static void malformed_addresses_count_as_not_said(void **state)
{
    (void)state;
    static const char *const documents[] = {
        VM("42", NIC("1", "<IP></IP>")),
        VM("42", NIC("1", "<IP>10.20.0</IP>")),
        VM("42", NIC("1", "<IP>10.20.0.256</IP>")),
        VM("42", NIC("1", "<IP>010.20.0.1</IP>")),
        VM("42", NIC("1", "<IP>fd00::1</IP>")),
        VM("42", NIC("1", "<IP>10.20.0.1</IP><IP>10.20.0.2</IP>")),
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        assert_int_equal(read_nic(documents[i])->ipv4, 0);
}

static void a_target_is_an_interfaces_name(void **state)
{
    (void)state;
    static const char *const documents[] = {
        VM("42", NIC("1", "<TARGET></TARGET>")),
        VM("42", NIC("1", "<TARGET>one-1234567-123</TARGET><TARGET>b</TARGET>")),
        VM("42", NIC("1", "<TARGET>one-12345678-123</TARGET>")),
        VM("42", NIC("1", "<TARGET>a'b</TARGET>")),
        VM("42", NIC("1", "<TARGET>a/b</TARGET>")),
        VM("42", NIC("1", "<TARGET>a b</TARGET>")),
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
        assert_string_equal(read_nic(documents[i])->target, "");
    assert_string_equal(read_nic(VM("42", NIC("1", "<TARGET>one-1234567-255</TARGET>")))->target,
                        "one-1234567-255");
}

static void guest_addresses_are_hexadecimal_as_oned_writes_them(void **state)
{
    (void)state;
    const struct oneib_node_nic *nic =
        read_nic(VM("42", PCI("1", GUEST_ADDRESS("0x0000", "0x1F", "0x0a", "0"))));
    assert_true(nic->has_guest_address);
    assert_int_equal(nic->guest_address.domain, 0);
    assert_int_equal(nic->guest_address.bus, 0x1f);
    assert_int_equal(nic->guest_address.slot, 10);
    assert_int_equal(nic->guest_address.function, 0);
}

static void a_malformed_guest_address_counts_as_not_said(void **state)
{
    (void)state;
    static const char *const documents[] = {
        VM("42", PCI("1", "")),
        VM("42", PCI("1", GUEST_ADDRESS("0x0000", "10", "0000", "0"))),
        VM("42", PCI("1", GUEST_ADDRESS("0x0000", "0x100", "0000", "0"))),
        VM("42", PCI("1", GUEST_ADDRESS("0x10000", "0x01", "0000", "0"))),
        VM("42", PCI("1", GUEST_ADDRESS("0x0000", "0x01", "0x20", "0"))),
        VM("42", PCI("1", GUEST_ADDRESS("0x0000", "0x01", "0000", "0x8"))),
        VM("42", PCI("1", GUEST_ADDRESS("0x0000", "0x", "0000", "0"))),
        VM("42", PCI("1", GUEST_ADDRESS("0x0000", "0x01", "", "0"))),
        VM("42", PCI("1", GUEST_ADDRESS("0x0000", "0x01", "0000", "0") "<VM_BUS>0x02</VM_BUS>")),
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        const struct oneib_node_nic *nic = read_nic(documents[i]);
        assert_false(nic->has_guest_address);
        assert_int_equal(nic->guest_address.bus, 0);
    }
}

static void a_plain_nic_has_no_guest_address(void **state)
{
    (void)state;
    assert_false(read_nic(VM("42", NIC("1", GUEST_ADDRESS("0x0000", "0x01", "0000", "0"))))
                     ->has_guest_address);
}

/* ---- another driver's device ----------------------------------------------------------------- */

#define OTHERS_PCI(more)                                                                           \
    "<TEMPLATE><PCI><NIC_ID>4</NIC_ID><TYPE>NIC</TYPE><VN_MAD>bridge</VN_MAD>" more                \
    "</PCI></TEMPLATE>"
#define PLACE "<BUS>82</BUS><DOMAIN>0000</DOMAIN><FUNCTION>1</FUNCTION><SLOT>00</SLOT>"

static void assert_device(const char *xml, enum oneib_node_device expected)
{
    if (parse(xml) < 0)
        fail_msg("%s", err.text);
    if (vm.device != expected)
        fail_msg("%d instead of %d: %s", vm.device, expected, xml);
}

static void a_device_that_opennebula_plugs_in_itself_is_known(void **state)
{
    (void)state;
    size_t length;
    char *xml = recorded_action("0009-vnm.ibrec.pre.vm1", &length), text[ONEIB_PCI_TEXT_SIZE];
    assert_int_equal(parse_as(xml, length, "infiniband"), 0);
    free(xml);
    assert_int_equal(vm.device, ONEIB_DEVICE_TOLD);
    oneib_pci_format(&vm.device_address, text);
    assert_string_equal(text, "0000:82:00.1");
}

/* A user may have written the one that is not YES. */
static void an_attach_that_is_said_twice_is_one(void **state)
{
    (void)state;
    assert_device(VM("42", OTHERS_PCI(PLACE "<ATTACH>NO</ATTACH>" ATTACH)), ONEIB_DEVICE_TOLD);
}

static void a_device_that_does_not_come_now_is_nobodys_business(void **state)
{
    (void)state;
    assert_device(VM("42", OTHERS_PCI(PLACE)), ONEIB_DEVICE_NONE);
    assert_device(VM("42", PCI("1", PLACE ATTACH)), ONEIB_DEVICE_NONE);
}

/* OpenNebula's action takes the first of several, which a user may have written. */
static void a_device_whose_place_is_said_twice_or_not_at_all_is_unclear(void **state)
{
    (void)state;
    assert_device(VM("42", OTHERS_PCI("<BUS>81</BUS>" PLACE ATTACH)), ONEIB_DEVICE_UNCLEAR);
    assert_device(VM("42", OTHERS_PCI(ATTACH)), ONEIB_DEVICE_UNCLEAR);
    assert_device(VM("42", OTHERS_PCI(PLACE ATTACH) OTHERS_PCI(PLACE ATTACH)),
                  ONEIB_DEVICE_UNCLEAR);
}

/* ---- tuning ---------------------------------------------------------------------------------- */

static void assert_hpc(const char *xml, bool expected)
{
    if (parse(xml) < 0)
        fail_msg("%s: %s", xml, err.text);
    if (vm.wants_hpc != expected)
        fail_msg("%s is %s", xml, vm.wants_hpc ? "tuned" : "not tuned");
}

static void tuning_is_asked_for_in_either_template(void **state)
{
    (void)state;
    assert_hpc(VM("42", "<USER_TEMPLATE>" HPC("yes") "</USER_TEMPLATE>"), true);
    assert_hpc(VM("42", "<TEMPLATE>" HPC("YES") "</TEMPLATE>" NIC("1", "")), true);
    assert_hpc(MESSAGE(VM("42", "<USER_TEMPLATE>" HPC("Yes") "</USER_TEMPLATE>")), true);
    assert_hpc(MESSAGE(VM("42", "<TEMPLATE>" HPC("<![CDATA[YES]]>") "</TEMPLATE>")), true);
}

static void what_is_not_yes_is_no(void **state)
{
    (void)state;
    static const char *const values[] = {
        "",
        HPC(""),
        HPC("no"),
        HPC("1"),
        HPC(" yes"),
        HPC("yesno"),
        HPC("<A>yes</A>"),
        HPC("yes") HPC("yes"),
        HPC("yes") HPC("no"),
        HPC("yes") HPC("yes") HPC("yes"),
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char xml[512];
        for (int user = 0; user < 2; user++) {
            snprintf(xml, sizeof xml, "<VM><ID>42</ID><%sTEMPLATE>%s</%sTEMPLATE></VM>",
                     user ? "USER_" : "", values[i], user ? "USER_" : "");
            assert_hpc(xml, false);
        }
    }
}

static void tuning_said_elsewhere_is_not_asked_for(void **state)
{
    (void)state;
    assert_hpc(VM("42", HPC("yes")), false);
    assert_hpc(VM("42", "<TEMPLATE><CONTEXT>" HPC("yes") "</CONTEXT></TEMPLATE>"), false);
    assert_hpc(VM("42", "<USER_TEMPLATE><A>" HPC("yes") "</A></USER_TEMPLATE>"), false);
    assert_hpc(MESSAGE(HPC("yes") VM("42", "")), false);
}

#define CASE(test) cmocka_unit_test_teardown(test, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_attach_tells_all_of_the_nic_that_comes),
        CASE(a_pci_nic_has_the_guest_address_that_oned_gave_it),
        CASE(every_recorded_message_is_read),
        CASE(only_the_messages_vm_counts),
        CASE(a_message_has_one_vm),
        CASE(what_follows_the_vm_must_be_sound_too),
        CASE(a_mac_is_read_in_either_case),
        CASE(malformed_macs_count_as_not_said),
        CASE(malformed_addresses_count_as_not_said),
        CASE(a_target_is_an_interfaces_name),
        CASE(guest_addresses_are_hexadecimal_as_oned_writes_them),
        CASE(a_malformed_guest_address_counts_as_not_said),
        CASE(a_plain_nic_has_no_guest_address),
        CASE(a_device_that_opennebula_plugs_in_itself_is_known),
        CASE(an_attach_that_is_said_twice_is_one),
        CASE(a_device_that_does_not_come_now_is_nobodys_business),
        CASE(a_device_whose_place_is_said_twice_or_not_at_all_is_unclear),
        CASE(tuning_is_asked_for_in_either_template),
        CASE(what_is_not_yes_is_no),
        CASE(tuning_said_elsewhere_is_not_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
