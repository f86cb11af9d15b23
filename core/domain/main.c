// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-domains URI: the domains of one libvirt, running and defined, and the PCI devices they
 * name, as domain/domains.h says. Asks and prints; changes nothing. Exit status 0, 2 usage,
 * 3 failure, which one line on standard error explains.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "domain/device_tree.h"
#include "domain/domains.h"
#include "domain/xml_tree.h"
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE 2
#define FAILURE 3

/* The devices of one domain. */
struct devices {
    struct oneib_pci *items;
    size_t count, capacity;
};

/* --- a domain's document -------------------------------------------------------------------- */

/* Each once: one that runs often is defined with the devices that it has. */
static int add_device(const struct oneib_pci *device, struct devices *devices,
                      struct oneib_error *err)
{
    for (size_t i = 0; i < devices->count; i++)
        if (oneib_pci_compare(&devices->items[i], device) == 0)
            return 0;
    if (oneib_reserve(&devices->items, &devices->capacity, devices->count + 1,
                      sizeof *devices->items, err) < 0)
        return -1;
    devices->items[devices->count++] = *device;
    return 0;
}

/* The host's device behind a device of the domain. */
static int add_source(const xmlNode *node, struct devices *devices, struct oneib_error *err)
{
    struct oneib_pci source;
    if (!oneib_device_source(node, &source))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "its <%s> names no PCI address that can be read", node->name);
    return add_device(&source, devices, err);
}

static int add_devices_of_text(const char *xml, struct devices *devices, struct oneib_error *err)
{
    oneib_autotree xmlDoc *document = NULL;
    if (oneib_tree_parse(xml, strlen(xml), &document, err) < 0)
        return -1;
    for (const xmlNode *node = oneib_device_first(document); node; node = oneib_device_next(node))
        if (oneib_device_takes_pci(node) && add_source(node, devices, err) < 0)
            return -1;
    return 0;
}

/* --- libvirt -------------------------------------------------------------------------------- */

/* What they have to say comes back as errors: standard error is this program's own. */

static void silence_libvirt(void *context, virErrorPtr error)
{
    (void)context;
    (void)error;
}

static void silence_libxml2(void *context, const char *format, ...)
{
    (void)context;
    (void)format;
}

/* libvirt quotes names and files in what it says. */
static int fail_with_libvirt(struct oneib_error *err, const char *what)
{
    oneib_autotext struct oneib_text why = {0};
    oneib_text_append_escaped(&why, virGetLastErrorMessage(), 400);
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s: %s", what,
                      why.length ? why.data : "no reason given");
}

static bool is_gone(void)
{
    return virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
}

static int add_devices_of_state(virDomainPtr domain, unsigned flags, struct devices *devices,
                                struct oneib_error *err)
{
    oneib_autofree char *xml = virDomainGetXMLDesc(domain, flags);
    return xml ? add_devices_of_text(xml, devices, err)
               : fail_with_libvirt(err, "its document cannot be read");
}

/* One that runs may be defined with other devices than it has now: both are spoken for. */
static int read_domain(virDomainPtr domain, bool running, struct devices *devices,
                       struct oneib_error *err)
{
    if (add_devices_of_state(domain, 0, devices, err) < 0)
        return -1;
    const int persistent = running ? virDomainIsPersistent(domain) : 0;
    if (persistent < 0)
        return fail_with_libvirt(err, "its state cannot be read");
    return persistent ? add_devices_of_state(domain, VIR_DOMAIN_XML_INACTIVE, devices, err) : 0;
}

static void wrap_with_name(struct oneib_error *err, const char *name)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_escaped(&shown, name, 64);
    oneib_wrap(err, "domain \"%s\"", shown.length ? shown.data : "");
}

/* A domain that ended since it was listed has no devices any more. */
static int render_domain(virDomainPtr domain, struct oneib_text *text, struct oneib_error *err)
{
    struct devices devices = {0};
    const char *name = virDomainGetName(domain);
    const int active = virDomainIsActive(domain);
    int status = active < 0 ? fail_with_libvirt(err, "its state cannot be read")
                            : read_domain(domain, active == 1, &devices, err);
    if (status == 0)
        oneib_domain_render(name, active == 1, devices.items, devices.count, text);
    else if (is_gone())
        status = 0;
    else
        wrap_with_name(err, name);
    free(devices.items);
    return status;
}

static int render_domains(virConnectPtr libvirt, struct oneib_text *text, struct oneib_error *err)
{
    virDomainPtr *domains = NULL;
    const int count = virConnectListAllDomains(libvirt, &domains, 0);
    int status = count < 0 ? fail_with_libvirt(err, "listing domains") : 0;
    for (int i = 0; i < count; i++) {
        virResetLastError();
        if (status == 0)
            status = render_domain(domains[i], text, err);
        virDomainFree(domains[i]);
    }
    free(domains);
    return status;
}

static int ask(const char *uri, struct oneib_text *text, struct oneib_error *err)
{
    virSetErrorFunc(NULL, silence_libvirt);
    xmlSetGenericErrorFunc(NULL, silence_libxml2);
    virConnectPtr libvirt = virConnectOpenReadOnly(uri);
    if (!libvirt)
        return fail_with_libvirt(err, "connecting");
    const int status = render_domains(libvirt, text, err);
    virConnectClose(libvirt);
    return status;
}

static int print(const struct oneib_text *text, struct oneib_error *err)
{
    if (oneib_text_failed(text))
        return oneib_fail_memory(err);
    fwrite(text->length ? text->data : "", 1, text->length, stdout);
    if (fflush(stdout) != 0 || ferror(stdout))
        return oneib_fail(err, ONEIB_ERROR_SYSTEM, "standard output could not be written");
    return 0;
}

int main(int argc, char **argv)
{
    struct oneib_error err = {0};
    oneib_autotext struct oneib_text text = {0};
    if (argc != 2) {
        fputs("oneib-domains: usage: oneib-domains URI\n", stderr);
        return USAGE;
    }
    if (ask(argv[1], &text, &err) == 0 && print(&text, &err) == 0)
        return 0;
    fprintf(stderr, "oneib-domains: %s\n", err.text);
    return FAILURE;
}
