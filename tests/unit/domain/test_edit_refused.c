// SPDX-License-Identifier: Apache-2.0
/* Documents that are not equipped, and why not. */
#include "base/cleanup.h"
#include "documents.h"
#include "domain/edit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void refused_all(const char *xml, const struct oneib_domain_nic *nics, size_t count,
                        const char *why)
{
    struct oneib_error err = {0};
    oneib_autotext struct oneib_text equipped = {0};
    assert_int_equal(oneib_domain_equip(xml, strlen(xml), nics, count, &equipped, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_int_equal(equipped.length, 0);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" is not in \"%s\"", why, err.text);
}

static void refused(const char *xml, const struct oneib_domain_nic *nic, const char *why)
{
    refused_all(xml, nic, 1, why);
}

/* A document with one NIC, with `more` at the end of its devices. */
static char *document_with(const char *more)
{
    struct oneib_text devices = {0};
    oneib_text_printf(&devices, "%s\t</devices>", more);
    char *xml = with_replaced(made_document("q35", 1, 4), "\t</devices>", devices.data);
    oneib_text_clear(&devices);
    return xml;
}

static void one_nic_is_refused_with(const char *more, const char *why)
{
    oneib_autofree char *xml = document_with(more);
    const struct oneib_domain_nic nic = example_nic(0);
    refused(xml, &nic, why);
}

/* The same for a PCI NIC, in a recorded document. */
static void pci_nic_is_refused_with(const char *from, const char *to, const char *why)
{
    oneib_autofree char *xml = with_replaced(recorded_deploy("0002-vmm.kvm.deploy.vm1"), from, to);
    const struct oneib_domain_nic nic = {
        .nic_id = 2, .vf = {0, 0x81, 0, 1}, .is_pci = true, .target = "one-1-2"};
    refused(xml, &nic, why);
}

#define VF_SOURCE(function)                                                                        \
    "<source><address domain='0x0000' bus='0x81' slot='0x00' function='" function "'/></source>"

/* ---- the NICs -------------------------------------------------------------------------------- */

static void seventeen_nics(void **state)
{
    struct oneib_domain_nic nics[ONEIB_DOMAIN_NICS_MAX + 1];
    (void)state;
    for (unsigned i = 0; i <= ONEIB_DOMAIN_NICS_MAX; i++)
        nics[i] = example_nic(i);
    oneib_autofree char *xml = made_document("q35", ONEIB_DOMAIN_NICS_MAX + 1, 16);
    refused_all(xml, nics, ONEIB_DOMAIN_NICS_MAX + 1, "17 InfiniBand NICs");
}

static void an_index_beyond_the_last(void **state)
{
    (void)state;
    oneib_autofree char *xml = made_document("q35", 17, 16);
    const struct oneib_domain_nic nic = example_nic(16);
    refused(xml, &nic, "NIC 17: a VM can have 16");
}

static void nics_that_share_something(void **state)
{
    (void)state;
    oneib_autofree char *xml = made_document("q35", 2, 16);
    struct oneib_domain_nic nics[] = {example_nic(0), example_nic(1)};
    nics[1].nic_id = 1;
    refused_all(xml, nics, 2, "NIC 1: it has the id, index, VF or interface of NIC 1");
    nics[1] = example_nic(1);
    nics[1].index = 0;
    refused_all(xml, nics, 2, "of NIC 1");
    nics[1] = example_nic(1);
    nics[1].vf = nics[0].vf;
    refused_all(xml, nics, 2, "of NIC 1");
    nics[1] = example_nic(0);
    nics[1].nic_id = 2;
    nics[1].index = 1;
    nics[1].vf.function = 7;
    refused_all(xml, nics, 2, "of NIC 1");
}

/* ---- its interface --------------------------------------------------------------------------- */

static void a_bridged_interface_is_refused_with_what_to_do(void **state)
{
    (void)state;
    oneib_autofree char *xml = recorded_deploy("0049-vmm.kvm.deploy.vm2");
    struct oneib_domain_nic nic = example_nic(0);
    snprintf(nic.mac, sizeof nic.mac, "02:00:0a:14:00:0f");
    snprintf(nic.target, sizeof nic.target, "one-2-1");
    refused(xml, &nic,
            "NIC 1: its interface is connected to something on the host: its network "
            "has a BRIDGE, which an InfiniBand network must not have; remove BRIDGE");
}

static void any_interface_that_is_connected(void **state)
{
    static const char *const types[] = {"network", "direct", "vhostuser",
                                        "hostdev", "",       "Ethernet"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char tag[64];
        snprintf(tag, sizeof tag, "<interface type='%s'>", types[i]);
        oneib_autofree char *xml =
            with_replaced(made_document("q35", 1, 4), "<interface type='ethernet'>", tag);
        const struct oneib_domain_nic nic = example_nic(0);
        refused(xml, &nic, strcmp(types[i], "hostdev") == 0 ? "names no PCI device" : "BRIDGE");
    }
}

static void another_mac_or_target(void **state)
{
    (void)state;
    oneib_autofree char *xml = made_document("q35", 1, 4);
    struct oneib_domain_nic nic = example_nic(0);
    snprintf(nic.mac, sizeof nic.mac, "02:00:0a:14:00:02");
    refused(xml, &nic,
            "NIC 1: the domain's document has no interface with its MAC "
            "02:00:0a:14:00:02 and target one-7-1");
    nic = example_nic(0);
    snprintf(nic.target, sizeof nic.target, "one-7-2");
    refused(xml, &nic, "no interface with its MAC");
    nic.target[0] = '\0';
    refused(xml, &nic, "no interface with its MAC");
}

static void two_interfaces_alike(void **state)
{
    (void)state;
    one_nic_is_refused_with("<interface type='ethernet'><mac address='02:00:0a:14:00:01'/>"
                            "<target dev='one-7-1'/></interface>",
                            "NIC 1: the domain's document has two interfaces");
}

static void one_alike_that_is_connected(void **state)
{
    (void)state;
    one_nic_is_refused_with("<interface type='bridge'><mac address='02:00:0a:14:00:01'/>"
                            "<target dev='one-7-1'/></interface>",
                            "BRIDGE");
}

static void an_interface_with_two_macs_targets_or_links(void **state)
{
    (void)state;
    one_nic_is_refused_with("<interface type='ethernet'><mac address='02:00:0a:14:00:02'/>"
                            "<mac address='02:00:0a:14:00:01'/></interface>",
                            "two MACs, targets or links");
    one_nic_is_refused_with("<interface type='ethernet'><target dev='a'/><target/></interface>",
                            "two MACs, targets or links");
    one_nic_is_refused_with("<interface type='ethernet'><link/><link state='up'/></interface>",
                            "two MACs, targets or links");
}

static void an_interface_that_has_an_alias(void **state)
{
    (void)state;
    oneib_autofree char *xml = with_replaced(made_document("q35", 1, 4), "<target dev='one-7-1'/>",
                                             "<target dev='one-7-1'/><alias name='ua-mine'/>");
    const struct oneib_domain_nic nic = example_nic(0);
    refused(xml, &nic, "NIC 1: its device in the domain's document has an alias already");
}

static void an_interface_in_metadata_or_cdata_is_none(void **state)
{
    (void)state;
    static const char interface[] = "<interface type='ethernet'><mac address='02:00:0a:14:00:01'/>"
                                    "<target dev='one-7-1'/></interface>";
    const struct oneib_domain_nic nic = example_nic(0);
    struct oneib_text hidden = {0};
    oneib_text_printf(&hidden, "<os><metadata><devices>%s</devices></metadata><![CDATA[%s]]>",
                      interface, interface);
    oneib_autofree char *xml = with_replaced(made_document("q35", 0, 4), "<os>", hidden.data);
    refused(xml, &nic, "no interface with its MAC");
    oneib_text_clear(&hidden);
}

/* ---- its VF ---------------------------------------------------------------------------------- */

static void a_vf_that_is_there_already(void **state)
{
    (void)state;
    one_nic_is_refused_with("<hostdev mode='subsystem' type='pci'>" VF_SOURCE("0x1") "</hostdev>",
                            "NIC 1: the domain's document has its VF 0000:81:00.1 already");
    one_nic_is_refused_with("<interface type='hostdev'>" VF_SOURCE("0x1") "</interface>",
                            "has its VF");
    one_nic_is_refused_with("</devices><devices><hostdev type='pci'>" VF_SOURCE("01") "</hostdev>",
                            "has its VF");
    one_nic_is_refused_with("<hostdev type='pci'><source><address bus='129' function='1'/></source>"
                            "</hostdev>",
                            "has its VF");
}

static void a_source_that_can_be_read_in_two_ways(void **state)
{
    static const char *const sources[] = {
        "",
        "<source/>",
        VF_SOURCE("0x2") VF_SOURCE("0x1"),
        "<source><address bus='0x81'/><address bus='0x82'/></source>",
        VF_SOURCE(" 0x1"),
        VF_SOURCE("+1"),
        VF_SOURCE("8"),
        VF_SOURCE("09"),
        VF_SOURCE(""),
        "<source><address domain='0x100000000' bus='0x81'/></source>",
    };
    (void)state;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        struct oneib_text hostdev = {0};
        oneib_text_printf(&hostdev, "<hostdev mode='subsystem' type='pci'>%s</hostdev>",
                          sources[i]);
        one_nic_is_refused_with(hostdev.data, "names no PCI device that can be read");
        oneib_text_clear(&hostdev);
    }
}

static void a_pci_nic_whose_vf_is_not_there(void **state)
{
    (void)state;
    pci_nic_is_refused_with("function='0x1'", "function='0x2'",
                            "NIC 2: the domain's document has its VF 0000:81:00.1 nowhere");
}

static void a_pci_nic_whose_vf_is_there_twice(void **state)
{
    (void)state;
    pci_nic_is_refused_with("<hostdev",
                            "<hostdev type='pci'>" VF_SOURCE("0x1") "</hostdev><hostdev",
                            "has its VF 0000:81:00.1 more than once");
}

static void a_pci_nic_whose_device_has_an_alias(void **state)
{
    (void)state;
    pci_nic_is_refused_with("</hostdev>", "<alias name='ua-x'/></hostdev>", "an alias already");
}

static void a_pci_nic_with_two_guest_addresses(void **state)
{
    (void)state;
    pci_nic_is_refused_with("</hostdev>", "<address type='pci'/></hostdev>", "two addresses");
}

/* ---- what users write ------------------------------------------------------------------------ */

static void aliases_of_ours(void **state)
{
    (void)state;
    one_nic_is_refused_with("<hostdev mode='subsystem' type='pci'>" VF_SOURCE(
                                "0x5") "<alias name='ua-oneib-9'/></hostdev>",
                            "has an alias of oneib's for NIC 9 already: it comes from RAW");
    one_nic_is_refused_with("<interface type='ethernet'><mac address='aa:05:00:00:00:00'/>"
                            "<alias name='ua-oneib-dummy-1'/></interface>",
                            "for NIC 1 already");
    one_nic_is_refused_with("<disk><alias name='ua-oneib-dummy-1'/></disk>", "but is not one");
    one_nic_is_refused_with("<disk><alias name='ua-oneib-'/></disk>", "without a NIC id");
}

static void namespaces_in_devices(void **state)
{
    (void)state;
    static const char why[] = "has elements or attributes in a namespace";
    one_nic_is_refused_with("<qemu:hostdev/>", why);
    one_nic_is_refused_with("<hostdev xmlns='urn:x'/>", why);
    one_nic_is_refused_with("<hostdev type='usb'><qemu:alias name='ua-oneib-1'/></hostdev>", why);
    one_nic_is_refused_with("<disk><alias qemu:name='ua-oneib-1'/></disk>", why);
}

static void documents_that_are_none(void **state)
{
    static const struct {
        const char *xml, *why;
    } documents[] = {
        {"", "malformed"},
        {"<domain>", "malformed"},
        {"<domain/><domain/>", "malformed"},
        {"<domain>&name;</domain>", "malformed"},
        {"<domain a='1' a='2'/>", "malformed"},
        {"<domain>\xff</domain>", "malformed"},
        {"<domstatus/>", "not a <domain>"},
        {"<domain xmlns='urn:x'/>", "not a <domain>"},
        {"<!DOCTYPE domain><domain/>", "document type"},
        {"<!DOCTYPE domain SYSTEM 'file:///etc/passwd'><domain/>", "document type"},
        {"<!DOCTYPE d [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><domain>&b;</domain>",
         "document type"},
    };
    const struct oneib_domain_nic nic = example_nic(0);
    (void)state;
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++)
        refused(documents[i].xml, &nic, documents[i].why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seventeen_nics),
        cmocka_unit_test(an_index_beyond_the_last),
        cmocka_unit_test(nics_that_share_something),
        cmocka_unit_test(a_bridged_interface_is_refused_with_what_to_do),
        cmocka_unit_test(any_interface_that_is_connected),
        cmocka_unit_test(another_mac_or_target),
        cmocka_unit_test(two_interfaces_alike),
        cmocka_unit_test(one_alike_that_is_connected),
        cmocka_unit_test(an_interface_with_two_macs_targets_or_links),
        cmocka_unit_test(an_interface_that_has_an_alias),
        cmocka_unit_test(an_interface_in_metadata_or_cdata_is_none),
        cmocka_unit_test(a_vf_that_is_there_already),
        cmocka_unit_test(a_source_that_can_be_read_in_two_ways),
        cmocka_unit_test(a_pci_nic_whose_vf_is_not_there),
        cmocka_unit_test(a_pci_nic_whose_vf_is_there_twice),
        cmocka_unit_test(a_pci_nic_whose_device_has_an_alias),
        cmocka_unit_test(a_pci_nic_with_two_guest_addresses),
        cmocka_unit_test(aliases_of_ours),
        cmocka_unit_test(namespaces_in_devices),
        cmocka_unit_test(documents_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
