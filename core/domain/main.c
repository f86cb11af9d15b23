// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-domains URI: the domains of one libvirt, running and defined, and the PCI devices they
 * name, as domain/domains.h says. Asks and prints; changes nothing. Exit status 0, 2 usage,
 * 3 failure, which one line on standard error explains.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/number.h"
#include "domain/domains.h"
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
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

static bool is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

/* NULL when there is none. */
static xmlNode *find_child(const xmlNode *node, const char *name)
{
    for (xmlNode *child = node ? node->children : NULL; child; child = child->next)
        if (is_element(child, name))
            return child;
    return NULL;
}

static bool has_value(const xmlNode *node, const char *attribute, const char *wanted)
{
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)attribute);
    const bool same = value && strcmp((const char *)value, wanted) == 0;
    xmlFree(value);
    return same;
}

/* A number as libvirt writes it, "0x81"; it must be there. */
static bool read_number(const xmlNode *node, const char *attribute, uint64_t max, uint64_t *number)
{
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)attribute);
    const bool good = value && oneib_parse_hex((const char *)value, max, number);
    xmlFree(value);
    return good;
}

static bool read_address(const xmlNode *address, struct oneib_pci *device)
{
    uint64_t domain, bus, slot, function;
    if (!read_number(address, "domain", UINT32_MAX, &domain) ||
        !read_number(address, "bus", UINT8_MAX, &bus) || !read_number(address, "slot", 31, &slot) ||
        !read_number(address, "function", 7, &function))
        return false;
    *device = (struct oneib_pci){(uint32_t)domain, (uint8_t)bus, (uint8_t)slot, (uint8_t)function};
    return true;
}

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
    const xmlNode *address = find_child(find_child(node, "source"), "address");
    struct oneib_pci device;
    if (!address || !read_address(address, &device))
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "its <%s> names no PCI address that can be read", node->name);
    return add_device(&device, devices, err);
}

static bool takes_a_device(const xmlNode *node)
{
    if (is_element(node, "hostdev"))
        return has_value(node, "mode", "subsystem") && has_value(node, "type", "pci");
    return is_element(node, "interface") && has_value(node, "type", "hostdev");
}

static int add_devices(const xmlDoc *document, struct devices *devices, struct oneib_error *err)
{
    const xmlNode *root = xmlDocGetRootElement(document);
    const xmlNode *list = root && is_element(root, "domain") ? find_child(root, "devices") : NULL;
    if (!list)
        return 0;
    for (const xmlNode *node = list->children; node; node = node->next)
        if (takes_a_device(node) && add_source(node, devices, err) < 0)
            return -1;
    return 0;
}

static int add_devices_of_text(const char *xml, struct devices *devices, struct oneib_error *err)
{
    xmlDoc *document = xmlReadMemory(xml, (int)strlen(xml), NULL, NULL,
                                     XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    if (!document)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "its document is malformed");
    /* Entities come with a document type, which libvirt never writes. */
    const int status = document->intSubset ? oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                                                        "its document has a document type")
                                           : add_devices(document, devices, err);
    xmlFreeDoc(document);
    return status;
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
