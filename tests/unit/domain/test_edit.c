// SPDX-License-Identifier: Apache-2.0
/* Documents of VMs that are about to start, with their NICs. */
#include "base/cleanup.h"
#include "documents.h"
#include "domain/edit.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *equip(const char *xml, const struct oneib_domain_nic *nics, size_t count)
{
    struct oneib_error err = {0};
    struct oneib_text equipped = {0};
    if (oneib_domain_equip(xml, strlen(xml), nics, count, &equipped, &err) < 0)
        fail_msg("%s", err.text);
    assert_non_null(equipped.data);
    return equipped.data;
}

static void all_else_is_equal(const char *before, const char *after,
                              const struct oneib_domain_nic *nics, size_t count)
{
    oneib_autofree char *expected = canonical(before, strlen(before));
    oneib_autofree char *found = canonical_without(after, strlen(after), nics, count);
    assert_string_equal(found, expected);
}

static void description_of(const char *xml, struct oneib_domain_description *description)
{
    struct oneib_error err = {0};
    if (oneib_domain_description_read(xml, strlen(xml), description, &err) < 0)
        fail_msg("%s", err.text);
}

/* The description has each NIC as it was to be, and no others. */
static void description_has(const char *xml, const struct oneib_domain_nic *nics, size_t count)
{
    struct oneib_domain_description description;
    description_of(xml, &description);
    assert_int_equal(description.device_count, count);
    for (size_t i = 0; i < count; i++) {
        const struct oneib_domain_device *device =
            oneib_domain_device_of(&description, nics[i].nic_id);
        assert_non_null(device);
        assert_true(device->has_vf && device->has_dummy);
        assert_int_equal(oneib_pci_compare(&device->vf, &nics[i].vf), 0);
        assert_int_equal(device->index, nics[i].index);
        assert_int_equal(device->ipv4, nics[i].ipv4);
    }
    oneib_domain_description_clear(&description);
}

static void equipped_well(const char *xml, const struct oneib_domain_nic *nics, size_t count)
{
    oneib_autofree char *equipped = equip(xml, nics, count);
    all_else_is_equal(xml, equipped, nics, count);
    description_has(equipped, nics, count);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

static void has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in:\n%s", part, text);
}

/* The VF that oned assigns in the recording. */
static struct oneib_domain_nic recorded_pci_nic(uint8_t nic_id, uint8_t function, unsigned index)
{
    struct oneib_domain_nic nic = {.nic_id = nic_id,
                                   .vf = {0, 0x81, 0, function},
                                   .managed = true,
                                   .index = index,
                                   .ipv4 = 0x0a14000b,
                                   .is_pci = true};
    snprintf(nic.mac, sizeof nic.mac, "02:00:0a:14:00:0b");
    snprintf(nic.target, sizeof nic.target, "one-1-%u", nic_id);
    return nic;
}

static struct oneib_domain_nic recorded_nic(const char *mac, const char *target)
{
    struct oneib_domain_nic nic = {.nic_id = 1, .vf = {0, 0x81, 1, 0}, .ipv4 = 0x0a14000a};
    snprintf(nic.mac, sizeof nic.mac, "%s", mac);
    snprintf(nic.target, sizeof nic.target, "%s", target);
    return nic;
}

/* ---- recorded documents ---------------------------------------------------------------------- */

static void a_vm_without_infiniband_is_left_byte_for_byte(void **state)
{
    (void)state;
    for (const char *const *action = recorded_deploys; *action; action++) {
        oneib_autofree char *xml = recorded_deploy(*action);
        oneib_autofree char *equipped = equip(xml, NULL, 0);
        assert_string_equal(equipped, xml);
    }
}

static void what_is_not_ours_is_not_judged(void **state)
{
    (void)state;
    oneib_autofree char *equipped = equip("<!DOCTYPE a><b", NULL, 0);
    assert_string_equal(equipped, "<!DOCTYPE a><b");
}

static void a_recorded_nic_gets_its_vf(void **state)
{
    static const struct {
        const char *action, *mac, *target;
    } recorded[] = {{"0002-vmm.kvm.deploy.vm1", "02:00:0a:14:00:0a", "one-1-1"},
                    {"0027-vmm.kvm.deploy.vm1", "02:00:0a:14:00:0a", "one-1-1"},
                    {"0049-vmm.kvm.deploy.vm2", "02:00:0a:14:00:0f", "one-2-1"},
                    {"0100-vmm.kvm.deploy.vm4", "02:00:0a:14:00:14", "one-4-1"}};
    (void)state;
    for (size_t i = 0; i < sizeof recorded / sizeof recorded[0]; i++) {
        oneib_autofree char *xml =
            without_bridge(recorded_deploy(recorded[i].action), recorded[i].mac);
        const struct oneib_domain_nic nic = recorded_nic(recorded[i].mac, recorded[i].target);
        equipped_well(xml, &nic, 1);
    }
}

static void a_recorded_pci_nic_keeps_its_guest_address(void **state)
{
    (void)state;
    oneib_autofree char *xml = recorded_deploy("0002-vmm.kvm.deploy.vm1");
    const struct oneib_domain_nic nic = recorded_pci_nic(2, 1, 0);
    oneib_autofree char *equipped = equip(xml, &nic, 1);
    all_else_is_equal(xml, equipped, &nic, 1);
    description_has(equipped, &nic, 1);
    has(equipped, "<address type='pci' domain='0x0000' bus='0x01' slot='0000' function='0'/>");

    struct oneib_domain_description description;
    description_of(equipped, &description);
    const struct oneib_domain_device *device = oneib_domain_device_of(&description, 2);
    assert_non_null(device);
    assert_true(device->has_guest_address);
    assert_int_equal(oneib_pci_compare(&device->guest_address, &(struct oneib_pci){0, 1, 0, 0}), 0);
    oneib_domain_description_clear(&description);
}

static void a_guest_address_of_oneds_wins_over_the_nics(void **state)
{
    (void)state;
    oneib_autofree char *xml = recorded_deploy("0002-vmm.kvm.deploy.vm1");
    struct oneib_domain_nic nic = recorded_pci_nic(2, 1, 0);
    nic.has_guest_address = true;
    nic.guest_address = (struct oneib_pci){0, 9, 0, 0};
    equipped_well(xml, &nic, 1);
}

static void two_pci_nics_and_a_plain_one(void **state)
{
    (void)state;
    oneib_autofree char *xml =
        without_bridge(recorded_deploy("0100-vmm.kvm.deploy.vm4"), "02:00:0a:14:00:14");
    const struct oneib_domain_nic nics[] = {recorded_nic("02:00:0a:14:00:14", "one-4-1"),
                                            recorded_pci_nic(2, 1, 1), recorded_pci_nic(3, 2, 2)};
    equipped_well(xml, nics, 3);
}

/* OpenNebula's action deploy looks for disks that are links by their text. */
static void attributes_are_quoted_as_oned_quotes_them(void **state)
{
    (void)state;
    oneib_autofree char *xml = recorded_deploy("0002-vmm.kvm.deploy.vm1");
    const struct oneib_domain_nic nic = recorded_pci_nic(2, 1, 0);
    oneib_autofree char *equipped = equip(xml, &nic, 1);
    has(equipped, "<source file='/var/lib/one//datastores/0/1/disk.0'/>");
    has_not(equipped, "=\"");
}

static void quotes_in_text_and_values_stay(void **state)
{
    static const char *const kept[] = {"<!--a=\"b\" > '-->", "<![CDATA[<a b=\"c\">]]>",
                                       "<?a b=\"c\"?>", "<description>a=\"b\"</description>",
                                       "<metadata a=\"it's\" b='&gt;&quot;&lt;'/>",
                                       /* in which libxml2 writes single quotes by itself */
                                       "<metadata xmlns:o='urn:a\">b'><o:c d='e'/></metadata>"};
    (void)state;
    oneib_autofree char *made = made_document("q35", 1, 16);
    const char *end = strstr(made, "</domain>");
    assert_non_null(end);
    oneib_autotext struct oneib_text xml = {0};
    oneib_text_append_bytes(&xml, made, (size_t)(end - made));
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        oneib_text_append(&xml, kept[i]);
    oneib_text_append(&xml, end);
    const struct oneib_domain_nic nic = example_nic(0);
    oneib_autofree char *equipped = equip(xml.data, &nic, 1);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        has(equipped, kept[i]);
}

/* ---- what is put in -------------------------------------------------------------------------- */

static void one_nic(void **state)
{
    (void)state;
    oneib_autofree char *xml = made_document("q35", 1, 16);
    const struct oneib_domain_nic nic = example_nic(0);
    oneib_autofree char *equipped = equip(xml, &nic, 1);
    all_else_is_equal(xml, equipped, &nic, 1);
    description_has(equipped, &nic, 1);
    has(equipped, "<hostdev mode='subsystem' type='pci' managed='no'><source>"
                  "<address domain='0x0000' bus='0x81' slot='0x00' function='0x1'/>"
                  "</source><alias name='ua-oneib-1'/>"
                  "<address type='pci' domain='0x0000' bus='0x10' slot='0x00' "
                  "function='0x0'/></hostdev>");
    has(equipped, "<mac address='aa:00:0a:14:00:01'/>");
    has(equipped, "<link state='down'/><alias name='ua-oneib-dummy-1'/>");
    has_not(equipped, nic.mac);
    has(equipped, "<source bridge='onebr0'/>\n\t\t\t<mac address='02:00:0a:0a:00:01'/>");
}

static void a_vf_that_the_host_has_a_driver_for_is_managed(void **state)
{
    (void)state;
    oneib_autofree char *xml = made_document("q35", 1, 16);
    struct oneib_domain_nic nic = example_nic(0);
    nic.managed = true;
    oneib_autofree char *equipped = equip(xml, &nic, 1);
    has(equipped, "managed='yes'");
    has_not(equipped, "managed='no'");
}

static void a_vf_on_vfio_pci_is_not_managed_for_a_pci_nic_either(void **state)
{
    (void)state;
    oneib_autofree char *xml = recorded_deploy("0002-vmm.kvm.deploy.vm1");
    struct oneib_domain_nic nic = recorded_pci_nic(2, 1, 0);
    nic.managed = false;
    oneib_autofree char *equipped = equip(xml, &nic, 1);
    has(equipped, "managed='no'");
    has_not(equipped, "managed='yes'");
}

static void two_and_sixteen_nics(void **state)
{
    static const size_t counts[] = {2, ONEIB_DOMAIN_NICS_MAX};
    struct oneib_domain_nic nics[ONEIB_DOMAIN_NICS_MAX];
    (void)state;
    for (unsigned i = 0; i < ONEIB_DOMAIN_NICS_MAX; i++)
        nics[i] = example_nic(i);
    for (size_t i = 0; i < 2; i++) {
        oneib_autofree char *q35 = made_document("q35", counts[i], 16);
        oneib_autofree char *pc = made_document("pc", counts[i], 0);
        equipped_well(q35, nics, counts[i]);
        equipped_well(pc, nics, counts[i]);
    }
}

static void a_nic_among_others_that_are_not_equipped(void **state)
{
    (void)state;
    oneib_autofree char *xml = made_document("q35", 5, 16);
    const struct oneib_domain_nic nic = example_nic(3);
    equipped_well(xml, &nic, 1);
}

static void a_link_that_was_up_is_down(void **state)
{
    (void)state;
    oneib_autofree char *xml = with_replaced(made_document("q35", 1, 16), "<target dev='one-7-1'/>",
                                             "<target dev='one-7-1'/><link state='up'/>");
    const struct oneib_domain_nic nic = example_nic(0);
    oneib_autofree char *equipped = equip(xml, &nic, 1);
    has(equipped, "<link state='down'/>");
    has_not(equipped, "up");
    char *link = strstr(equipped, "<link");
    assert_null(strstr(link + 1, "<link"));
}

static void a_nic_without_an_address(void **state)
{
    (void)state;
    oneib_autofree char *xml = made_document("q35", 1, 16);
    struct oneib_domain_nic nic = example_nic(0);
    nic.ipv4 = 0;
    equipped_well(xml, &nic, 1);
}

static void the_case_of_a_mac_does_not_matter(void **state)
{
    (void)state;
    oneib_autofree char *xml =
        with_replaced(made_document("q35", 1, 16), "02:00:0a:14:00:01", "02:00:0A:14:00:01");
    const struct oneib_domain_nic nic = example_nic(0);
    oneib_autofree char *equipped = equip(xml, &nic, 1);
    description_has(equipped, &nic, 1);
}

static void an_interface_without_a_target_is_that_of_a_nic_without_one(void **state)
{
    (void)state;
    oneib_autofree char *xml =
        with_replaced(made_document("q35", 1, 16), "<target dev='one-7-1'/>", "");
    struct oneib_domain_nic nic = example_nic(0);
    nic.target[0] = '\0';
    equipped_well(xml, &nic, 1);
}

static void libvirts_ethernet_vf_becomes_a_plain_hostdev(void **state)
{
    (void)state;
    oneib_autofree char *xml = with_replaced(
        made_document("q35", 0, 16), "<controller index='0'",
        "<interface type='hostdev' managed='yes'><mac address='02:00:0a:14:00:0b'/><source>"
        "<address type='pci' domain='0x0000' bus='0x81' slot='0x00' function='0x1'/></source>"
        "<boot order='2'/><address type='pci' bus='0x03'/></interface><controller index='0'");
    const struct oneib_domain_nic nic = recorded_pci_nic(2, 1, 0);
    oneib_autofree char *equipped = equip(xml, &nic, 1);
    description_has(equipped, &nic, 1);
    has_not(equipped, "02:00:0a:14:00:0b");
    has_not(equipped, "interface type='hostdev'");
    has(equipped, "<hostdev mode='subsystem' type='pci' managed='yes'><source>"
                  "<address domain='0x0000' bus='0x81' slot='0x00' function='0x1'/>"
                  "</source><alias name='ua-oneib-2'/><boot order='2'/>"
                  "<address type='pci' bus='0x03'/></hostdev>");
}

static void a_pci_nic_without_a_guest_address_gets_one(void **state)
{
    (void)state;
    oneib_autofree char *xml =
        with_replaced(recorded_deploy("0002-vmm.kvm.deploy.vm1"),
                      "<address type='pci' domain='0x0000' bus='0x01' slot='0000' function='0'/>",
                      "<address type='pci'/>");
    const struct oneib_domain_nic nic = recorded_pci_nic(2, 1, 0);
    oneib_autofree char *equipped = equip(xml, &nic, 1);
    has(equipped, "<address type='pci' domain='0x0000' bus='0x10' slot='0x00' "
                  "function='0x0'/>");
}

static void what_users_write_stays_as_it_is(void **state)
{
    (void)state;
    static const char mess[] =
        "<title>\"Zoë's\" &lt;vm> &amp; co \xe2\x88\x9e</title>\r\n"
        "<description><![CDATA[<interface type='ethernet'><mac address='02:00:0a:14:00:01'/>"
        "</interface> &amp; ]]&gt;]]></description><!-- <devices> --><?pi <domain> ?>"
        "<qemu:commandline><qemu:arg value='a&#10;b&#9;\"&lt;'/></qemu:commandline>"
        "<metadata><one:vm xmlns:one='http://opennebula.org/xmlns/libvirt/1.0'>"
        "<one:name><![CDATA[ü \"<>]]></one:name><alias name='ua-oneib-1'/></one:vm></metadata>"
        "<devices><channel type='unix'/></devices><os>";
    oneib_autofree char *xml = with_replaced(made_document("q35", 2, 16), "<os>", mess);
    const struct oneib_domain_nic nics[] = {example_nic(0), example_nic(1)};
    equipped_well(xml, nics, 2);
}

static void a_nic_in_the_second_list_of_devices_is_found(void **state)
{
    (void)state;
    oneib_autofree char *xml =
        with_replaced(made_document("q35", 1, 16), "<devices>", "<devices/> <devices>");
    const struct oneib_domain_nic nic = example_nic(0);
    equipped_well(xml, &nic, 1);
}

/* ---- guest addresses ------------------------------------------------------------------------- */

static bool address_in(const char *xml, uint8_t nic_id, struct oneib_pci *address)
{
    struct oneib_domain_description description;
    description_of(xml, &description);
    const struct oneib_domain_device *device = oneib_domain_device_of(&description, nic_id);
    assert_non_null(device);
    *address = device->guest_address;
    const bool has_one = device->has_guest_address;
    oneib_domain_description_clear(&description);
    return has_one;
}

static void a_nic_has_one_address_whatever_others_there_are(void **state)
{
    (void)state;
    oneib_autofree char *xml = made_document("pc", 4, 0);
    const struct oneib_domain_nic nics[] = {example_nic(0), example_nic(1), example_nic(2)};
    oneib_autofree char *all = equip(xml, nics, 3), *last = equip(xml, nics + 2, 1);
    struct oneib_pci with_others, alone;
    assert_true(address_in(all, 3, &with_others) && address_in(last, 3, &alone));
    assert_int_equal(oneib_pci_compare(&with_others, &alone), 0);
    assert_int_equal(oneib_pci_compare(&alone, &(struct oneib_pci){0, 0, 0x1d, 0}), 0);
}

static void an_address_that_a_nic_brings_is_not_given_to_another(void **state)
{
    (void)state;
    oneib_autofree char *xml = made_document("pc", 2, 0);
    struct oneib_domain_nic nics[] = {example_nic(0), example_nic(1)};
    nics[1].has_guest_address = true;
    nics[1].guest_address = (struct oneib_pci){0, 0, 0x1f, 0};
    oneib_autofree char *equipped = equip(xml, nics, 2);
    struct oneib_pci address;
    assert_false(address_in(equipped, 1, &address));
    assert_true(address_in(equipped, 2, &address));
    assert_int_equal(address.slot, 0x1f);
}

static void without_a_spare_root_port_libvirt_chooses(void **state)
{
    (void)state;
    oneib_autofree char *xml = made_document("q35", 2, 2);
    const struct oneib_domain_nic nics[] = {example_nic(0), example_nic(1)};
    oneib_autofree char *equipped = equip(xml, nics, 2);
    struct oneib_pci address;
    assert_true(address_in(equipped, 1, &address));
    assert_false(address_in(equipped, 2, &address));
}

/* libvirt adds ports for devices, but none for a pcie-to-pci-bridge, which oned always writes. */
static void one_root_port_is_left_for_the_bridge(void **state)
{
    (void)state;
    oneib_autofree char *xml = made_document("q35", ONEIB_DOMAIN_NICS_MAX, 16);
    struct oneib_domain_nic nics[ONEIB_DOMAIN_NICS_MAX];
    struct oneib_pci address;
    for (unsigned i = 0; i < ONEIB_DOMAIN_NICS_MAX; i++)
        nics[i] = example_nic(i);
    oneib_autofree char *equipped = equip(xml, nics, ONEIB_DOMAIN_NICS_MAX);
    for (unsigned i = 0; i < ONEIB_DOMAIN_NICS_MAX - 1; i++) {
        assert_true(address_in(equipped, nics[i].nic_id, &address));
        assert_int_equal(address.bus, 16 - i);
    }
    assert_false(address_in(equipped, nics[ONEIB_DOMAIN_NICS_MAX - 1].nic_id, &address));
}

/* ---- devices alone --------------------------------------------------------------------------- */

static void a_vf_for_hot_plug(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    oneib_autotext struct oneib_text xml = {0};
    struct oneib_domain_nic nic = example_nic(0);
    nic.has_guest_address = true;
    nic.guest_address = (struct oneib_pci){0, 16, 0, 0};
    assert_int_equal(oneib_domain_vf_xml(&nic, &xml, &err), 0);
    assert_string_equal(xml.data, "<hostdev mode='subsystem' type='pci' managed='no'><source>"
                                  "<address domain='0x0000' bus='0x81' slot='0x00' function='0x1'/>"
                                  "</source><alias name='ua-oneib-1'/>"
                                  "<address type='pci' domain='0x0000' bus='0x10' slot='0x00' "
                                  "function='0x0'/></hostdev>");
}

static void a_vf_of_a_large_pci_domain(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    oneib_autotext struct oneib_text xml = {0};
    struct oneib_domain_nic nic = example_nic(0);
    nic.vf.domain = 0x10000;
    assert_int_equal(oneib_domain_vf_xml(&nic, &xml, &err), 0);
    has(xml.data, "domain='0x10000'");
    has_not(xml.data, "type='pci' domain");
}

static void a_dummy_interface_for_hot_plug(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    oneib_autotext struct oneib_text xml = {0};
    const struct oneib_domain_nic nic = example_nic(1);
    assert_int_equal(oneib_domain_dummy_xml(&nic, &xml, &err), 0);
    assert_string_equal(xml.data, "<interface type='ethernet'><target dev='one-7-2'/>"
                                  "<model type='virtio'/><mac address='aa:01:0a:14:00:02'/>"
                                  "<link state='down'/><alias name='ua-oneib-dummy-2'/>"
                                  "</interface>");
}

static void a_target_cannot_write_xml(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    oneib_autotext struct oneib_text xml = {0};
    struct oneib_domain_nic nic = example_nic(1);
    snprintf(nic.target, sizeof nic.target, "a\"'<&>b");
    assert_int_equal(oneib_domain_dummy_xml(&nic, &xml, &err), 0);
    has(xml.data, "<target dev=\"a&quot;'&lt;&amp;&gt;b\"/>");
}

static void what_is_no_name_of_an_interface_is_refused(void **state)
{
    static const char *const names[] = {"a b", "a/b", "a\nb", "one-%d", "a:b", "\xc3\xbc"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct oneib_error err = {0};
        oneib_autotext struct oneib_text xml = {0};
        struct oneib_domain_nic nic = example_nic(1);
        snprintf(nic.target, sizeof nic.target, "%s", names[i]);
        assert_int_equal(oneib_domain_dummy_xml(&nic, &xml, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_INPUT);
        has(err.text, "NIC 2: its TARGET");
        assert_int_equal(xml.length, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vm_without_infiniband_is_left_byte_for_byte),
        cmocka_unit_test(what_is_not_ours_is_not_judged),
        cmocka_unit_test(a_recorded_nic_gets_its_vf),
        cmocka_unit_test(a_recorded_pci_nic_keeps_its_guest_address),
        cmocka_unit_test(attributes_are_quoted_as_oned_quotes_them),
        cmocka_unit_test(quotes_in_text_and_values_stay),
        cmocka_unit_test(a_guest_address_of_oneds_wins_over_the_nics),
        cmocka_unit_test(two_pci_nics_and_a_plain_one),
        cmocka_unit_test(one_nic),
        cmocka_unit_test(a_vf_that_the_host_has_a_driver_for_is_managed),
        cmocka_unit_test(a_vf_on_vfio_pci_is_not_managed_for_a_pci_nic_either),
        cmocka_unit_test(two_and_sixteen_nics),
        cmocka_unit_test(a_nic_among_others_that_are_not_equipped),
        cmocka_unit_test(a_link_that_was_up_is_down),
        cmocka_unit_test(a_nic_without_an_address),
        cmocka_unit_test(the_case_of_a_mac_does_not_matter),
        cmocka_unit_test(an_interface_without_a_target_is_that_of_a_nic_without_one),
        cmocka_unit_test(libvirts_ethernet_vf_becomes_a_plain_hostdev),
        cmocka_unit_test(a_pci_nic_without_a_guest_address_gets_one),
        cmocka_unit_test(what_users_write_stays_as_it_is),
        cmocka_unit_test(a_nic_in_the_second_list_of_devices_is_found),
        cmocka_unit_test(a_nic_has_one_address_whatever_others_there_are),
        cmocka_unit_test(an_address_that_a_nic_brings_is_not_given_to_another),
        cmocka_unit_test(without_a_spare_root_port_libvirt_chooses),
        cmocka_unit_test(one_root_port_is_left_for_the_bridge),
        cmocka_unit_test(a_vf_for_hot_plug),
        cmocka_unit_test(a_vf_of_a_large_pci_domain),
        cmocka_unit_test(a_dummy_interface_for_hot_plug),
        cmocka_unit_test(a_target_cannot_write_xml),
        cmocka_unit_test(what_is_no_name_of_an_interface_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
