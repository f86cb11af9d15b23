// SPDX-License-Identifier: Apache-2.0
/* What a domain's document says about the InfiniBand NICs of its VM. */
#include "base/cleanup.h"
#include "documents.h"
#include "domain/document.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VF                                                                                         \
    "<hostdev mode='subsystem' type='pci' managed='no'><driver name='vfio'/><source>"              \
    "<address domain='0x0000' bus='0x81' slot='0x00' function='0x1'/></source>"                    \
    "<alias name='ua-oneib-3'/>"                                                                   \
    "<address type='pci' domain='0x0000' bus='0x10' slot='0x00' function='0x0'/></hostdev>"
#define DUMMY                                                                                      \
    "<interface type='ethernet'><mac address='aa:02:0a:14:00:01'/><target dev='one-42-3'/>"        \
    "<link state='down'/><alias name='ua-oneib-dummy-3'/>"                                         \
    "<address type='pci' domain='0x0000' bus='0x02' slot='0x00' function='0x0'/></interface>"

static void description_of(const char *xml, struct oneib_domain_description *description)
{
    struct oneib_error err = {0};
    if (oneib_domain_description_read(xml, strlen(xml), description, &err) < 0)
        fail_msg("%s", err.text);
}

/* A running domain with these devices. */
static void description_with(const char *devices, struct oneib_domain_description *description)
{
    struct oneib_text xml = {0};
    oneib_text_printf(&xml,
                      "<domain type='kvm' id='5'><name>one-42</name>"
                      "<os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>"
                      "<devices>%s</devices></domain>",
                      devices);
    description_of(xml.data, description);
    oneib_text_clear(&xml);
}

static void refused_n(const char *xml, size_t length, const char *why)
{
    struct oneib_error err = {0};
    struct oneib_domain_description description;
    assert_int_equal(oneib_domain_description_read(xml, length, &description, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" is not in \"%s\"", why, err.text);
    assert_null(description.name);
    assert_null(description.taken);
    assert_null(description.root_ports);
    assert_int_equal(description.device_count, 0);
    oneib_domain_description_clear(&description);
}

static void devices_are_refused(const char *devices, const char *why)
{
    struct oneib_text xml = {0};
    oneib_text_printf(&xml, "<domain><name>one-42</name><devices>%s</devices></domain>", devices);
    refused_n(xml.data, xml.length, why);
    oneib_text_clear(&xml);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void a_running_domain_with_a_nic(void **state)
{
    (void)state;
    struct oneib_domain_description description;
    description_with(VF DUMMY, &description);
    assert_string_equal(description.name, "one-42");
    assert_int_equal(description.vm_id, 42);
    assert_int_equal(description.machine, ONEIB_MACHINE_PCIE);
    assert_false(description.tuned);
    assert_int_equal(description.device_count, 1);
    const struct oneib_domain_device *device = oneib_domain_device_of(&description, 3);
    assert_non_null(device);
    assert_true(device->has_vf && device->has_guest_address && device->has_dummy);
    assert_int_equal(oneib_pci_compare(&device->vf, &(struct oneib_pci){0, 0x81, 0, 1}), 0);
    assert_int_equal(oneib_pci_compare(&device->guest_address, &(struct oneib_pci){0, 0x10, 0, 0}),
                     0);
    assert_int_equal(device->index, 2);
    assert_int_equal(device->ipv4, 0x0a140001);
    assert_null(oneib_domain_device_of(&description, 2));
    assert_int_equal(description.taken_count, 2);
    oneib_domain_description_clear(&description);
}

static void half_a_nic_is_seen_as_such(void **state)
{
    (void)state;
    struct oneib_domain_description description;
    description_with(DUMMY, &description);
    assert_false(oneib_domain_device_of(&description, 3)->has_vf);
    assert_true(oneib_domain_device_of(&description, 3)->has_dummy);
    oneib_domain_description_clear(&description);
    description_with(VF, &description);
    assert_true(oneib_domain_device_of(&description, 3)->has_vf);
    assert_false(oneib_domain_device_of(&description, 3)->has_dummy);
    oneib_domain_description_clear(&description);
}

static void a_vf_may_have_no_guest_address_yet(void **state)
{
    (void)state;
    struct oneib_domain_description description;
    description_with("<hostdev mode='subsystem' type='pci'><source><address bus='0x81'/></source>"
                     "<alias name='ua-oneib-0'/><address type='pci'/></hostdev>",
                     &description);
    assert_true(oneib_domain_device_of(&description, 0)->has_vf);
    assert_false(oneib_domain_device_of(&description, 0)->has_guest_address);
    oneib_domain_description_clear(&description);
}

static void nics_are_in_the_order_of_their_ids(void **state)
{
    (void)state;
    struct oneib_domain_description description;
    description_with("<interface type='ethernet'><mac address='aa:00:00:00:00:00'/>"
                     "<alias name='ua-oneib-dummy-255'/></interface>"
                     "<interface type='ethernet'><mac address='aa:01:00:00:00:00'/>"
                     "<alias name='ua-oneib-dummy-0'/></interface>" VF,
                     &description);
    assert_int_equal(description.device_count, 3);
    assert_int_equal(description.devices[0].nic_id, 0);
    assert_int_equal(description.devices[1].nic_id, 3);
    assert_int_equal(description.devices[2].nic_id, 255);
    assert_int_equal(description.devices[2].ipv4, 0);
    oneib_domain_description_clear(&description);
}

static void other_aliases_are_not_ours(void **state)
{
    (void)state;
    struct oneib_domain_description description;
    description_with("<disk><alias name='ua-one'/></disk><disk><alias name='virtio-disk0'/></disk>"
                     "<disk><alias/></disk><disk><alias name=''/></disk>",
                     &description);
    assert_int_equal(description.device_count, 0);
    oneib_domain_description_clear(&description);
}

static void recorded_documents_are_read(void **state)
{
    static const int64_t vms[] = {1, 1, 2, 4};
    static const size_t taken[] = {1, 1, 0, 2};
    (void)state;
    for (size_t i = 0; recorded_deploys[i]; i++) {
        oneib_autofree char *xml = recorded_deploy(recorded_deploys[i]);
        struct oneib_domain_description description;
        description_of(xml, &description);
        assert_int_equal(description.vm_id, vms[i]);
        assert_int_equal(description.machine, ONEIB_MACHINE_PCIE);
        assert_int_equal(description.device_count, 0);
        assert_int_equal(description.root_port_count, 16);
        assert_int_equal(description.root_ports[0], 1);
        assert_int_equal(description.root_ports[15], 16);
        assert_int_equal(description.taken_count, taken[i]);
        oneib_domain_description_clear(&description);
    }
}

static void names_are_data(void **state)
{
    static const struct {
        const char *written, *name;
        int64_t vm_id;
    } names[] = {{"one-7", "one-7", 7},
                 {"<![CDATA[one-7]]>", "one-7", 7},
                 {"one<!-- -->-7", "one-7", 7},
                 {"one-07", "one-07", -1},
                 {" one-7", " one-7", -1},
                 {"", "", -1},
                 {"&quot;&lt;b&gt;\xc3\xbc", "\"<b>\xc3\xbc", -1}};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char xml[128];
        struct oneib_domain_description description;
        snprintf(xml, sizeof xml, "<domain><name>%s</name></domain>", names[i].written);
        description_of(xml, &description);
        assert_string_equal(description.name, names[i].name);
        assert_int_equal(description.vm_id, names[i].vm_id);
        oneib_domain_description_clear(&description);
    }
}

static void a_domain_may_have_nothing(void **state)
{
    (void)state;
    struct oneib_domain_description description;
    description_of("<domain/>", &description);
    assert_null(description.name);
    assert_int_equal(description.vm_id, -1);
    assert_int_equal(description.machine, ONEIB_MACHINE_OTHER);
    oneib_domain_description_clear(&description);
}

static void machines_are_told_apart(void **state)
{
    static const struct {
        const char *os;
        enum oneib_machine machine;
    } machines[] = {
        {"<type machine='q35'>hvm</type>", ONEIB_MACHINE_PCIE},
        {"<type machine='pc-q35-rhel9.2.0'>hvm</type>", ONEIB_MACHINE_PCIE},
        {"<type machine='virt'/>", ONEIB_MACHINE_PCIE},
        {"<type machine='virt-7.2'/>", ONEIB_MACHINE_PCIE},
        {"<type machine='pc'/>", ONEIB_MACHINE_PC},
        {"<type machine='pc-i440fx-7.2'/>", ONEIB_MACHINE_PC},
        {"<type machine='microvm'/>", ONEIB_MACHINE_OTHER},
        {"<type machine='pcx'/>", ONEIB_MACHINE_OTHER},
        {"<type/>", ONEIB_MACHINE_OTHER},
        {"<type machine='pc'/><type machine='q35'/>", ONEIB_MACHINE_OTHER},
        {"</os><os><type machine='q35'/>", ONEIB_MACHINE_PCIE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        char xml[160];
        struct oneib_domain_description description;
        snprintf(xml, sizeof xml, "<domain><os>%s</os></domain>", machines[i].os);
        description_of(xml, &description);
        assert_int_equal(description.machine, machines[i].machine);
        oneib_domain_description_clear(&description);
    }
}

static void root_ports_are_in_order_and_once(void **state)
{
    (void)state;
    struct oneib_domain_description description;
    description_with("<controller type='pci' model='pcie-root-port' index='9'/>"
                     "<controller type='pci' model='pcie-root-port' index='2'/>"
                     "<controller type='pci' model='pcie-root-port' index='9'/>"
                     "<controller type='pci' model='pcie-root-port' index='256'/>"
                     "<controller type='pci' model='pcie-root-port' index='03'/>"
                     "<controller type='pci' model='pcie-root-port'/>"
                     "<controller type='pci' model='pcie-root' index='0'/>"
                     "<controller type='usb' model='pcie-root-port' index='5'/>"
                     "<controller type='pci' model='pcie-root-port' index='255'/>",
                     &description);
    assert_int_equal(description.root_port_count, 3);
    assert_int_equal(description.root_ports[0], 2);
    assert_int_equal(description.root_ports[1], 9);
    assert_int_equal(description.root_ports[2], 255);
    oneib_domain_description_clear(&description);
}

static void addresses_are_read_as_libvirt_does(void **state)
{
    (void)state;
    struct oneib_domain_description description;
    description_with("<disk><address type='pci' bus='17' slot='017' function='0x7'/></disk>"
                     "<disk><address type='drive' bus='900' unit='x'/></disk>"
                     "<disk><address type='pci' domain='0x1' slot='0000'/></disk>",
                     &description);
    assert_int_equal(description.taken_count, 2);
    assert_int_equal(oneib_pci_compare(&description.taken[0], &(struct oneib_pci){0, 17, 15, 7}),
                     0);
    assert_int_equal(oneib_pci_compare(&description.taken[1], &(struct oneib_pci){1, 0, 0, 0}), 0);
    oneib_domain_description_clear(&description);
}

static void the_mark_of_tuning_is_seen(void **state)
{
    (void)state;
    struct oneib_domain_description description;
    description_of(
        "<domain><metadata><oneib:tuning xmlns:oneib='urn:oneib:domain:1'/></metadata></domain>",
        &description);
    assert_true(description.tuned);
    oneib_domain_description_clear(&description);
    description_of("<domain><metadata><tuning/><o:tuning xmlns:o='urn:other'/>"
                   "<o:x xmlns:o='urn:oneib:domain:1'/></metadata></domain>",
                   &description);
    assert_false(description.tuned);
    oneib_domain_description_clear(&description);
}

/* ---- refusing -------------------------------------------------------------------------------- */

static void an_alias_of_ours_twice_is_refused(void **state)
{
    (void)state;
    devices_are_refused(VF VF, "another one has too");
    devices_are_refused(DUMMY "</devices><devices>" DUMMY, "another one has too");
}

static void an_alias_of_ours_on_the_wrong_device_is_refused(void **state)
{
    static const char *const devices[] = {
        "<disk><alias name='ua-oneib-3'/></disk>",
        "<interface type='ethernet'><alias name='ua-oneib-3'/></interface>",
        "<hostdev mode='subsystem' type='usb'><alias name='ua-oneib-3'/></hostdev>",
        "<hostdev mode='capabilities' type='pci'><alias name='ua-oneib-3'/></hostdev>",
        "<interface type='hostdev'><source><address type='pci' bus='1'/></source>"
        "<alias name='ua-oneib-3'/></interface>",
        "<disk><alias name='ua-oneib-dummy-3'/></disk>",
        "<interface type='bridge'><mac address='aa:00:00:00:00:00'/>"
        "<alias name='ua-oneib-dummy-3'/></interface>",
        "<hostdev mode='subsystem' type='pci'><alias name='ua-oneib-dummy-3'/></hostdev>",
    };
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        devices_are_refused(devices[i], "but is not ");
}

static void an_alias_that_names_no_nic_is_refused(void **state)
{
    static const char *const aliases[] = {"ua-oneib-",   "ua-oneib-dummy-", "ua-oneib-256",
                                          "ua-oneib-03", "ua-oneib-3 ",     "ua-oneib-dummy--1",
                                          "ua-oneib-x"};
    (void)state;
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        char device[96];
        snprintf(device, sizeof device, "<disk><alias name='%s'/></disk>", aliases[i]);
        devices_are_refused(device, "without a NIC id");
    }
}

static void a_device_with_several_aliases_is_refused(void **state)
{
    (void)state;
    devices_are_refused("<disk><alias name='x'/><alias name='ua-oneib-1'/></disk>",
                        "several aliases");
}

static void a_vf_of_ours_without_a_source_is_refused(void **state)
{
    (void)state;
    devices_are_refused("<hostdev mode='subsystem' type='pci'><alias name='ua-oneib-1'/></hostdev>",
                        "names none");
}

static void a_dummy_without_a_dummy_mac_is_refused(void **state)
{
    static const char *const macs[] = {
        "", "<mac/>", "<mac address='02:00:0a:14:00:01'/>", "<mac address='aa:10:0a:14:00:01'/>",
        "<mac address='aa:00:0a:14:00:01'/><mac address='aa:01:0a:14:00:01'/>"};
    (void)state;
    for (size_t i = 0; i < sizeof macs / sizeof macs[0]; i++) {
        char device[256];
        snprintf(device, sizeof device,
                 "<interface type='ethernet'>%s<alias name='ua-oneib-dummy-1'/></interface>",
                 macs[i]);
        devices_are_refused(device, "but not the MAC of one");
    }
}

static void more_nics_than_can_be_are_refused(void **state)
{
    (void)state;
    struct oneib_text devices = {0};
    for (unsigned i = 0; i < 2 * ONEIB_DOMAIN_NICS_MAX + 1; i++)
        oneib_text_printf(&devices,
                          "<interface type='ethernet'><mac address='aa:00:00:00:00:00'/>"
                          "<alias name='ua-oneib-dummy-%u'/></interface>",
                          i);
    devices_are_refused(devices.data, "more InfiniBand NICs");
    oneib_text_clear(&devices);
}

static void guest_addresses_that_cannot_be_read_are_refused(void **state)
{
    static const char *const addresses[] = {"bus='256'", "slot='32'",   "function='8'", "bus=' 1'",
                                            "bus='-1'",  "bus='0x'",    "bus=''",       "bus='1a'",
                                            "bus='08'",  "domain='+0'", "slot='0x20'"};
    (void)state;
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        char device[96];
        snprintf(device, sizeof device, "<disk><address type='pci' %s/></disk>", addresses[i]);
        devices_are_refused(device, "cannot be read");
    }
}

static void two_names_are_refused(void **state)
{
    (void)state;
    static const char xml[] = "<domain><name>one-1</name><name>one-2</name></domain>";
    refused_n(xml, strlen(xml), "two names");
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    struct oneib_text xml = {0};
    oneib_text_append(&xml, "<domain>");
    for (unsigned i = 0; i < 100000; i++)
        oneib_text_append(&xml, "<a>");
    for (unsigned i = 0; i < 100000; i++)
        oneib_text_append(&xml, "</a>");
    oneib_text_append(&xml, "</domain>");
    refused_n(xml.data, xml.length, "malformed");
    oneib_text_clear(&xml);
}

static void too_large_a_document_is_refused(void **state)
{
    (void)state;
    static const char domain[] = "<domain/>";
    const size_t length = ONEIB_DOMAIN_DOCUMENT_MAX + 1;
    oneib_autofree char *xml = malloc(length);
    assert_non_null(xml);
    memset(xml, ' ', length);
    memcpy(xml, domain, strlen(domain));
    refused_n(xml, length, "larger than 8 MiB");
}

static void a_nul_is_refused(void **state)
{
    (void)state;
    static const char xml[] = "<domain>\0</domain>";
    refused_n(xml, sizeof xml - 1, "malformed");
}

/* ---- index and guest address ----------------------------------------------------------------- */

static void the_lowest_free_index_is_found(void **state)
{
    (void)state;
    struct oneib_domain_description description = {0};
    unsigned index = 99;
    assert_true(oneib_domain_free_index(&description, &index));
    assert_int_equal(index, 0);
    for (unsigned i = 0; i < ONEIB_DOMAIN_NICS_MAX; i++)
        description.devices[i] =
            (struct oneib_domain_device){.nic_id = (uint8_t)i, .has_dummy = true, .index = i};
    description.device_count = ONEIB_DOMAIN_NICS_MAX;
    assert_false(oneib_domain_free_index(&description, &index));
    description.devices[5].has_dummy = false;
    assert_true(oneib_domain_free_index(&description, &index));
    assert_int_equal(index, 5);
}

static void pc_has_slots_from_the_last_one(void **state)
{
    (void)state;
    struct oneib_pci taken = {0, 0, 0x1e, 3}, address;
    const struct oneib_domain_description description = {
        .machine = ONEIB_MACHINE_PC, .taken = &taken, .taken_count = 1};
    assert_true(oneib_domain_guest_address(&description, 0, &address));
    assert_int_equal(oneib_pci_compare(&address, &(struct oneib_pci){0, 0, 0x1f, 0}), 0);
    assert_false(oneib_domain_guest_address(&description, 1, &address));
    assert_true(oneib_domain_guest_address(&description, 15, &address));
    assert_int_equal(oneib_pci_compare(&address, &(struct oneib_pci){0, 0, 0x10, 0}), 0);
    assert_false(oneib_domain_guest_address(&description, 16, &address));
}

static void a_slot_of_another_bus_or_domain_is_not_taken(void **state)
{
    (void)state;
    struct oneib_pci taken[] = {{0, 1, 0x1f, 0}, {1, 0, 0x1f, 0}}, address;
    const struct oneib_domain_description description = {
        .machine = ONEIB_MACHINE_PC, .taken = taken, .taken_count = 2};
    assert_true(oneib_domain_guest_address(&description, 0, &address));
}

static void the_recorded_q35_has_root_ports_from_the_last_one(void **state)
{
    (void)state;
    oneib_autofree char *xml = recorded_deploy("0002-vmm.kvm.deploy.vm1");
    struct oneib_domain_description description;
    struct oneib_pci address;
    description_of(xml, &description);
    for (unsigned i = 0; i < 15; i++) {
        assert_true(oneib_domain_guest_address(&description, i, &address));
        assert_int_equal(
            oneib_pci_compare(&address, &(struct oneib_pci){0, (uint8_t)(16 - i), 0, 0}), 0);
    }
    /* oned's own PCI NIC is behind the first one. */
    assert_false(oneib_domain_guest_address(&description, 15, &address));
    oneib_domain_description_clear(&description);
}

/* Root ports `first` to `last`; address: what is in them. */
static void append_ports(struct oneib_text *devices, unsigned first, unsigned last,
                         const char *address)
{
    for (unsigned index = first; index <= last; index++)
        oneib_text_printf(devices,
                          "<controller type='pci' index='%u' model='pcie-root-port'>%s"
                          "</controller>",
                          index, address);
}

static void append_other(struct oneib_text *devices, unsigned index, const char *model)
{
    oneib_text_printf(devices, "<controller type='pci' index='%u' model='%s'/>", index, model);
}

/* The NIC with each index has the same place in both, and some have one. Clears both. */
static void are_alike_in_places(struct oneib_text *deployed, struct oneib_text *running,
                                unsigned with_place)
{
    struct oneib_domain_description descriptions[2];
    description_with(deployed->data, &descriptions[0]);
    description_with(running->data, &descriptions[1]);
    for (unsigned index = 0; index < ONEIB_DOMAIN_NICS_MAX; index++) {
        struct oneib_pci before, after;
        const bool has_place = oneib_domain_guest_address(&descriptions[0], index, &before);
        assert_int_equal(has_place, index < with_place);
        assert_int_equal(oneib_domain_guest_address(&descriptions[1], index, &after), has_place);
        if (has_place)
            assert_int_equal(oneib_pci_compare(&before, &after), 0);
    }
    for (unsigned i = 0; i < 2; i++)
        oneib_domain_description_clear(&descriptions[i]);
    oneib_text_clear(deployed);
    oneib_text_clear(running);
}

#define ON_BUS_0 "<address type='pci' bus='0x00' slot='0x02' function='0x1'/>"

static void ports_that_libvirt_added_change_no_place(void **state)
{
    (void)state;
    struct oneib_text deployed = {0}, running = {0};
    append_ports(&deployed, 1, 16, "");
    append_other(&deployed, 17, "pcie-to-pci-bridge");
    append_ports(&running, 18, 40, ON_BUS_0);
    append_other(&running, 17, "pcie-to-pci-bridge");
    append_ports(&running, 1, 16, ON_BUS_0);
    are_alike_in_places(&deployed, &running, 16);
}

static void fewer_ports_than_nics_are_places_for_as_many(void **state)
{
    (void)state;
    struct oneib_text deployed = {0}, running = {0};
    append_ports(&deployed, 1, 4, "");
    append_other(&deployed, 5, "pcie-to-pci-bridge");
    append_ports(&running, 1, 4, ON_BUS_0);
    append_other(&running, 5, "pcie-to-pci-bridge");
    append_ports(&running, 6, 30, ON_BUS_0);
    are_alike_in_places(&deployed, &running, 4);
}

/* As oned writes it for a VM with virtual NUMA nodes, the first of which is empty: libvirt also
 * makes ports of the numbers that were left out. */
static void ports_that_libvirt_added_beside_numa_nodes_change_no_place(void **state)
{
    (void)state;
    struct oneib_text deployed = {0}, running = {0};
    append_ports(&deployed, 1, 1, "");
    append_other(&deployed, 2, "pcie-to-pci-bridge");
    append_ports(&running, 1, 1, ON_BUS_0);
    append_other(&running, 2, "pcie-to-pci-bridge");
    append_ports(&running, 3, 11, ON_BUS_0);
    for (unsigned bus = 12; bus <= 21; bus += 9) {
        char address[64];
        snprintf(address, sizeof address, "<address type='pci' bus='%u' slot='0'/>", bus);
        append_other(&deployed, bus, "pcie-expander-bus");
        append_ports(&deployed, bus + 1, bus + 8, address);
        append_other(&running, bus, "pcie-expander-bus");
        append_ports(&running, bus + 1, bus + 8, address);
    }
    append_ports(&running, 30, 35, ON_BUS_0);
    are_alike_in_places(&deployed, &running, 16);
}

static void without_a_place_libvirt_chooses(void **state)
{
    (void)state;
    struct oneib_pci address;
    const struct oneib_domain_description none = {.machine = ONEIB_MACHINE_PCIE},
                                          other = {.machine = ONEIB_MACHINE_OTHER};
    assert_false(oneib_domain_guest_address(&none, 0, &address));
    assert_false(oneib_domain_guest_address(&other, 0, &address));
}

static void aliases_name_the_nic(void **state)
{
    (void)state;
    char alias[ONEIB_ALIAS_SIZE];
    oneib_domain_alias(ONEIB_ALIAS_VF, 0, alias);
    assert_string_equal(alias, "ua-oneib-0");
    oneib_domain_alias(ONEIB_ALIAS_DUMMY, 255, alias);
    assert_string_equal(alias, "ua-oneib-dummy-255");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_domain_with_a_nic),
        cmocka_unit_test(half_a_nic_is_seen_as_such),
        cmocka_unit_test(a_vf_may_have_no_guest_address_yet),
        cmocka_unit_test(nics_are_in_the_order_of_their_ids),
        cmocka_unit_test(other_aliases_are_not_ours),
        cmocka_unit_test(recorded_documents_are_read),
        cmocka_unit_test(names_are_data),
        cmocka_unit_test(a_domain_may_have_nothing),
        cmocka_unit_test(machines_are_told_apart),
        cmocka_unit_test(root_ports_are_in_order_and_once),
        cmocka_unit_test(addresses_are_read_as_libvirt_does),
        cmocka_unit_test(the_mark_of_tuning_is_seen),
        cmocka_unit_test(an_alias_of_ours_twice_is_refused),
        cmocka_unit_test(an_alias_of_ours_on_the_wrong_device_is_refused),
        cmocka_unit_test(an_alias_that_names_no_nic_is_refused),
        cmocka_unit_test(a_device_with_several_aliases_is_refused),
        cmocka_unit_test(a_vf_of_ours_without_a_source_is_refused),
        cmocka_unit_test(a_dummy_without_a_dummy_mac_is_refused),
        cmocka_unit_test(more_nics_than_can_be_are_refused),
        cmocka_unit_test(guest_addresses_that_cannot_be_read_are_refused),
        cmocka_unit_test(two_names_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(too_large_a_document_is_refused),
        cmocka_unit_test(a_nul_is_refused),
        cmocka_unit_test(the_lowest_free_index_is_found),
        cmocka_unit_test(pc_has_slots_from_the_last_one),
        cmocka_unit_test(a_slot_of_another_bus_or_domain_is_not_taken),
        cmocka_unit_test(the_recorded_q35_has_root_ports_from_the_last_one),
        cmocka_unit_test(ports_that_libvirt_added_change_no_place),
        cmocka_unit_test(fewer_ports_than_nics_are_places_for_as_many),
        cmocka_unit_test(ports_that_libvirt_added_beside_numa_nodes_change_no_place),
        cmocka_unit_test(without_a_place_libvirt_chooses),
        cmocka_unit_test(aliases_name_the_nic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
