// SPDX-License-Identifier: Apache-2.0
/*
 * libvirt's own parser reads what oneib writes: its test driver defines and starts domains that are
 * nothing but documents.
 */
#include "base/cleanup.h"
#include "documents.h"
#include "domain/edit.h"
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static virConnectPtr libvirt;

static void silence(void *context, virErrorPtr error)
{
    (void)context;
    (void)error;
}

static int open_libvirt(void **state)
{
    (void)state;
    virSetErrorFunc(NULL, silence);
    libvirt = virConnectOpen("test:///default");
    return libvirt ? 0 : -1;
}

static int close_libvirt(void **state)
{
    (void)state;
    return virConnectClose(libvirt);
}

/* The test driver takes domains of its own type. */
static char *for_test_driver(char *xml)
{
    return with_replaced(xml, "<domain type='kvm'", "<domain type='test'");
}

/* Starts it and says what libvirt made of it; frees xml. */
static char *document_of_libvirt(char *xml)
{
    virDomainPtr domain = virDomainCreateXML(libvirt, xml, 0);
    if (!domain)
        fail_msg("%s in:\n%s", virGetLastErrorMessage(), xml);
    char *running = virDomainGetXMLDesc(domain, 0);
    assert_non_null(running);
    assert_int_equal(virDomainDestroy(domain), 0);
    virDomainFree(domain);
    free(xml);
    return running;
}

static char *equip(const char *xml, const struct oneib_domain_nic *nics, size_t count)
{
    struct oneib_error err = {0};
    struct oneib_text equipped = {0};
    if (oneib_domain_equip(xml, strlen(xml), nics, count, &equipped, &err) < 0)
        fail_msg("%s", err.text);
    return equipped.data;
}

static void has_device(const struct oneib_domain_description *description,
                       const struct oneib_domain_nic *nic)
{
    const struct oneib_domain_device *device = oneib_domain_device_of(description, nic->nic_id);
    assert_non_null(device);
    assert_true(device->has_vf && device->has_dummy);
    assert_int_equal(oneib_pci_compare(&device->vf, &nic->vf), 0);
    assert_int_equal(device->index, nic->index);
    assert_int_equal(device->ipv4, nic->ipv4);
}

static void running_as_planned(const char *running, const struct oneib_domain_nic *nics,
                               size_t count, struct oneib_domain_description *description)
{
    struct oneib_error err = {0};
    if (oneib_domain_description_read(running, strlen(running), description, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(description->device_count, count);
    for (size_t i = 0; i < count; i++)
        has_device(description, &nics[i]);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

static void a_recorded_vm_with_a_plain_and_a_pci_nic(void **state)
{
    (void)state;
    oneib_autofree char *xml = for_test_driver(
        without_bridge(recorded_deploy("0002-vmm.kvm.deploy.vm1"), "02:00:0a:14:00:0a"));
    struct oneib_domain_nic nics[] = {
        {.nic_id = 1, .vf = {0, 0x81, 0, 2}, .index = 0, .ipv4 = 0x0a14000a},
        {.nic_id = 2, .vf = {0, 0x81, 0, 1}, .index = 1, .managed = true, .is_pci = true}};
    snprintf(nics[0].mac, sizeof nics[0].mac, "02:00:0a:14:00:0a");
    snprintf(nics[0].target, sizeof nics[0].target, "one-1-1");
    snprintf(nics[1].target, sizeof nics[1].target, "one-1-2");

    oneib_autofree char *running = document_of_libvirt(equip(xml, nics, 2));
    struct oneib_domain_description description;
    running_as_planned(running, nics, 2, &description);
    assert_int_equal(description.vm_id, 1);
    const struct oneib_pci plain = {0, 16, 0, 0}, pci = {0, 1, 0, 0};
    assert_int_equal(oneib_pci_compare(&description.devices[0].guest_address, &plain), 0);
    assert_int_equal(oneib_pci_compare(&description.devices[1].guest_address, &pci), 0);
    oneib_domain_description_clear(&description);
    has(running, "<hostdev mode='subsystem' type='pci' managed='no'>");
    has(running, "<hostdev mode='subsystem' type='pci' managed='yes'>");
    char *link = strstr(running, "<link state='down'/>");
    assert_non_null(link);
    has(link + 1, "<link state='down'/>");
}

static void sixteen_nics_in_either_machine(void **state)
{
    (void)state;
    struct oneib_domain_nic nics[ONEIB_DOMAIN_NICS_MAX];
    for (unsigned i = 0; i < ONEIB_DOMAIN_NICS_MAX; i++)
        nics[i] = example_nic(i);
    static const char *const machines[] = {"pc", "q35"};
    for (unsigned i = 0; i < 2; i++) {
        oneib_autofree char *xml =
            for_test_driver(made_document(machines[i], ONEIB_DOMAIN_NICS_MAX, i * 17));
        oneib_autofree char *running = document_of_libvirt(equip(xml, nics, ONEIB_DOMAIN_NICS_MAX));
        struct oneib_domain_description description;
        running_as_planned(running, nics, ONEIB_DOMAIN_NICS_MAX, &description);
        for (size_t n = 0; n < description.device_count; n++)
            assert_true(description.devices[n].has_guest_address);
        oneib_domain_description_clear(&description);
    }
}

static void an_ethernet_vf_that_became_a_hostdev(void **state)
{
    (void)state;
    oneib_autofree char *xml = for_test_driver(with_replaced(
        made_document("q35", 0, 16), "\t</devices>",
        "<interface type='hostdev' managed='yes'><mac address='02:00:0a:14:00:0b'/><source>"
        "<address type='pci' domain='0x0000' bus='0x81' slot='0x00' function='0x1'/></source>"
        "<boot order='2'/></interface>\t</devices>"));
    const struct oneib_domain_nic nic = {
        .nic_id = 2, .vf = {0, 0x81, 0, 1}, .is_pci = true, .target = "one-7-2"};
    oneib_autofree char *running = document_of_libvirt(equip(xml, &nic, 1));
    struct oneib_domain_description description;
    running_as_planned(running, &nic, 1, &description);
    oneib_domain_description_clear(&description);
    has(running, "<boot order='2'/>");
}

/* What hot-plug gives, put into a document by hand: the test driver cannot attach. */
static void devices_for_hot_plug(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct oneib_domain_nic nic = example_nic(4);
    oneib_autotext struct oneib_text devices = {0};
    assert_int_equal(oneib_domain_vf_xml(&nic, &devices, &err), 0);
    assert_int_equal(oneib_domain_dummy_xml(&nic, &devices, &err), 0);
    oneib_text_append(&devices, "\t</devices>");
    oneib_autofree char *running = document_of_libvirt(
        with_replaced(for_test_driver(made_document("q35", 0, 16)), "\t</devices>", devices.data));
    struct oneib_domain_description description;
    running_as_planned(running, &nic, 1, &description);
    oneib_domain_description_clear(&description);
    has(running, "<target dev='one-7-5'/>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_vm_with_a_plain_and_a_pci_nic),
        cmocka_unit_test(sixteen_nics_in_either_machine),
        cmocka_unit_test(an_ethernet_vf_that_became_a_hostdev),
        cmocka_unit_test(devices_for_hot_plug),
    };
    return cmocka_run_group_tests(tests, open_libvirt, close_libvirt);
}
