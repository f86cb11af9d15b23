// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"
#include "live_standin_store.h"
#include <libxml/parser.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 32
#define BUSES 256
#define FIRST_SLOT 3 /* of `pc`; those before are the chip set's and the screen's */

struct guest_address {
    unsigned bus, slot, function;
};

/* ---- walking --------------------------------------------------------------------------------- */

static bool is_element(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

static xmlNode *find_child(const xmlNode *node, const char *name)
{
    for (xmlNode *child = node ? node->children : NULL; child; child = child->next)
        if (is_element(child, name))
            return child;
    return NULL;
}

static void get_attribute(const xmlNode *node, const char *name, char *value, size_t size)
{
    xmlChar *found = node ? xmlGetNoNsProp(node, (const xmlChar *)name) : NULL;
    snprintf(value, size, "%s", found ? (const char *)found : "");
    xmlFree(found);
}

static bool has_attribute(const xmlNode *node, const char *name, const char *wanted)
{
    char value[64];
    get_attribute(node, name, value, sizeof value);
    return strcmp(value, wanted) == 0;
}

/* Hexadecimal or decimal, as libvirt takes both. */
static unsigned get_number(const xmlNode *node, const char *name)
{
    char value[32];
    get_attribute(node, name, value, sizeof value);
    return (unsigned)strtoul(value, NULL, 0);
}

static xmlNode *devices_of(const xmlDoc *domain)
{
    return find_child(xmlDocGetRootElement(domain), "devices");
}

static xmlNode *first_device(const xmlDoc *domain)
{
    const xmlNode *devices = devices_of(domain);
    return devices ? devices->children : NULL;
}

static bool is_host_device(const xmlNode *node)
{
    return (is_element(node, "hostdev") && has_attribute(node, "type", "pci")) ||
           (is_element(node, "interface") && has_attribute(node, "type", "hostdev"));
}

static bool get_source(const xmlNode *device, char shown[32])
{
    const xmlNode *address = find_child(find_child(device, "source"), "address");
    if (!is_host_device(device) || !address)
        return false;
    snprintf(shown, 32, "%04x:%02x:%02x.%x", get_number(address, "domain"),
             get_number(address, "bus"), get_number(address, "slot"),
             get_number(address, "function"));
    return true;
}

static bool get_guest_address(const xmlNode *device, struct guest_address *guest)
{
    const xmlNode *address = find_child(device, "address");
    if (!address || !has_attribute(address, "type", "pci"))
        return false;
    *guest = (struct guest_address){get_number(address, "bus"), get_number(address, "slot"),
                                    get_number(address, "function")};
    return true;
}

void standin_alias_of(const xmlNode *device, char alias[64])
{
    get_attribute(find_child(device, "alias"), "name", alias, 64);
}

static void get_mac(const xmlNode *device, char mac[64])
{
    get_attribute(find_child(device, "mac"), "address", mac, 64);
}

xmlChar *standin_value(const xmlDoc *domain, const char *element)
{
    const xmlNode *node = find_child(xmlDocGetRootElement(domain), element);
    return node ? xmlNodeGetContent(node) : NULL;
}

/* ---- finding --------------------------------------------------------------------------------- */

xmlNode *standin_device_of_alias(const xmlDoc *domain, const char *alias)
{
    for (xmlNode *node = first_device(domain); node; node = node->next) {
        char has[64];
        standin_alias_of(node, has);
        if (*alias && strcmp(has, alias) == 0)
            return node;
    }
    return NULL;
}

xmlNode *standin_interface_of_mac(const xmlDoc *domain, const char *mac)
{
    for (xmlNode *node = first_device(domain); node; node = node->next) {
        char has[64];
        get_mac(node, has);
        if (*mac && is_element(node, "interface") && strcasecmp(has, mac) == 0)
            return node;
    }
    return NULL;
}

bool standin_has_host_device(const xmlDoc *domain)
{
    for (const xmlNode *node = first_device(domain); node; node = node->next)
        if (is_host_device(node))
            return true;
    return false;
}

static bool has_source(const xmlDoc *domain, const char *source)
{
    for (const xmlNode *node = first_device(domain); node; node = node->next) {
        char shown[32];
        if (get_source(node, shown) && strcmp(shown, source) == 0)
            return true;
    }
    return false;
}

bool standin_shared_device(const xmlDoc *one, const xmlDoc *other, char shown[32])
{
    for (const xmlNode *node = first_device(one); node; node = node->next)
        if (get_source(node, shown) && has_source(other, shown))
            return true;
    return false;
}

static bool is_taken(const xmlDoc *domain, const xmlNode *except, const struct guest_address *guest)
{
    for (const xmlNode *node = first_device(domain); node; node = node->next) {
        struct guest_address has;
        if (node != except && get_guest_address(node, &has) && has.bus == guest->bus &&
            has.slot == guest->slot && has.function == guest->function)
            return true;
    }
    return false;
}

static bool is_pcie(const xmlDoc *domain)
{
    char machine[64];
    const xmlNode *type = find_child(find_child(xmlDocGetRootElement(domain), "os"), "type");
    get_attribute(type, "machine", machine, sizeof machine);
    return strstr(machine, "q35") || strncmp(machine, "virt", 4) == 0;
}

static bool has_bus(const xmlDoc *domain, unsigned bus)
{
    for (const xmlNode *node = first_device(domain); node; node = node->next)
        if (is_element(node, "controller") && has_attribute(node, "type", "pci") &&
            get_number(node, "index") == bus)
            return true;
    return bus == 0;
}

static bool is_root_port(const xmlDoc *domain, unsigned bus)
{
    for (const xmlNode *node = first_device(domain); node; node = node->next)
        if (is_element(node, "controller") && has_attribute(node, "model", "pcie-root-port") &&
            get_number(node, "index") == bus)
            return true;
    return false;
}

/* ---- what libvirt adds ----------------------------------------------------------------------- */

static void set_attribute(xmlNode *node, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void set_attribute(xmlNode *node, const char *name, const char *format, ...)
{
    char value[32];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    xmlSetProp(node, (const xmlChar *)name, (const xmlChar *)value);
}

static bool find_free(const xmlDoc *domain, struct guest_address *guest)
{
    *guest = (struct guest_address){0, 0, 0};
    if (is_pcie(domain)) {
        for (guest->bus = 1; guest->bus < BUSES; guest->bus++)
            if (is_root_port(domain, guest->bus) && !is_taken(domain, NULL, guest))
                return true;
    } else {
        for (guest->slot = FIRST_SLOT; guest->slot < SLOTS; guest->slot++)
            if (!is_taken(domain, NULL, guest))
                return true;
    }
    return false;
}

static int give_address(const xmlDoc *domain, xmlNode *device, struct oneib_error *err)
{
    struct guest_address guest;
    if (get_guest_address(device, &guest))
        return 0;
    if (!find_free(domain, &guest))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "internal error: No more available PCI slots");
    xmlNode *address = xmlNewChild(device, NULL, (const xmlChar *)"address", NULL);
    set_attribute(address, "type", "pci");
    set_attribute(address, "domain", "0x0000");
    set_attribute(address, "bus", "0x%02x", guest.bus);
    set_attribute(address, "slot", "0x%02x", guest.slot);
    set_attribute(address, "function", "0x%x", guest.function);
    return 0;
}

static void give_alias(const xmlDoc *domain, xmlNode *device)
{
    char alias[64];
    standin_alias_of(device, alias);
    if (*alias)
        return;
    const char *kind = is_element(device, "interface") ? "net" : (const char *)device->name;
    for (unsigned i = 0; i == 0 || standin_device_of_alias(domain, alias); i++)
        snprintf(alias, sizeof alias, "%.40s%u", kind, i);
    xmlNode *node = find_child(device, "alias");
    if (!node)
        node = xmlNewChild(device, NULL, (const xmlChar *)"alias", NULL);
    xmlSetProp(node, (const xmlChar *)"name", (const xmlChar *)alias);
}

static bool is_hot_pluggable(const xmlNode *node)
{
    return is_element(node, "interface") || is_element(node, "hostdev");
}

/* oned writes several <devices>. */
static void join_devices(xmlNode *root)
{
    xmlNode *first = find_child(root, "devices");
    for (xmlNode *node = first ? first->next : NULL, *next; node; node = next) {
        next = node->next;
        if (!is_element(node, "devices"))
            continue;
        while (node->children) {
            xmlNode *device = node->children;
            xmlUnlinkNode(device);
            xmlAddChild(first, device);
        }
        xmlUnlinkNode(node);
        xmlFreeNode(node);
    }
}

static void give_uuid(xmlNode *root)
{
    char uuid[64] = "";
    FILE *file = find_child(root, "uuid") ? NULL : fopen("/proc/sys/kernel/random/uuid", "r");
    if (!file)
        return;
    if (fscanf(file, "%36s", uuid) == 1)
        xmlNewChild(root, NULL, (const xmlChar *)"uuid", (const xmlChar *)uuid);
    fclose(file);
}

/* ---- what it refuses ------------------------------------------------------------------------- */

static int check_guest_address(const xmlDoc *domain, const xmlNode *device, struct oneib_error *err)
{
    struct guest_address guest;
    if (!get_guest_address(device, &guest))
        return 0;
    if (!has_bus(domain, guest.bus))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "XML error: Invalid PCI address: there is no bus %u", guest.bus);
    if (is_root_port(domain, guest.bus) && guest.slot != 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "XML error: Invalid PCI address: bus %u has slot 0 alone", guest.bus);
    if (is_taken(domain, device, &guest))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "XML error: Attempted double use of PCI Address %02x:%02x.%x", guest.bus,
                          guest.slot, guest.function);
    return 0;
}

static int check_device(const xmlDoc *domain, const xmlNode *device, struct oneib_error *err)
{
    char alias[64], mac[64], source[32];
    standin_alias_of(device, alias);
    get_mac(device, mac);
    const xmlNode *same = standin_device_of_alias(domain, alias);
    if (same && same != device)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "XML error: non unique alias detected: %s",
                          alias);
    same = standin_interface_of_mac(domain, mac);
    if (same && same != device)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "operation failed: device matching MAC address %s already exists", mac);
    if (is_element(device, "hostdev") && !get_source(device, source))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "XML error: a <hostdev> has no source");
    return check_guest_address(domain, device, err);
}

static int check_sources(const xmlDoc *domain, const xmlNode *device, struct oneib_error *err)
{
    char source[32], has[32];
    if (!get_source(device, source))
        return 0;
    for (const xmlNode *node = first_device(domain); node; node = node->next)
        if (node != device && get_source(node, has) && strcmp(source, has) == 0)
            return oneib_fail(err, ONEIB_ERROR_REFUSED,
                              "Requested operation is not valid: PCI device %s is in use by this "
                              "domain",
                              source);
    return 0;
}

int standin_complete(xmlDoc *domain, struct oneib_error *err)
{
    xmlNode *root = xmlDocGetRootElement(domain);
    join_devices(root);
    give_uuid(root);
    for (xmlNode *node = first_device(domain); node; node = node->next) {
        if (!is_hot_pluggable(node))
            continue;
        if (check_device(domain, node, err) < 0 || check_sources(domain, node, err) < 0 ||
            give_address(domain, node, err) < 0)
            return -1;
        give_alias(domain, node);
    }
    return 0;
}

int standin_insert(xmlDoc *domain, xmlDoc *device, struct oneib_error *err)
{
    xmlNode *node = xmlDocGetRootElement(device), *devices = devices_of(domain);
    if (!devices || !is_hot_pluggable(node))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "unsupported configuration: <%s> cannot be "
                          "plugged in here",
                          node->name);
    if (check_device(domain, node, err) < 0 || check_sources(domain, node, err) < 0 ||
        give_address(domain, node, err) < 0)
        return -1;
    xmlNode *copy = xmlDocCopyNode(node, domain, 1);
    oneib_allocated(copy);
    xmlAddChild(devices, copy);
    give_alias(domain, copy);
    return 0;
}

/* ---- from text and to text ------------------------------------------------------------------- */

xmlDoc *standin_parse(const char *xml, size_t length, const char *root, struct oneib_error *err)
{
    xmlDoc *document = xmlReadMemory(xml, (int)length, NULL, NULL,
                                     XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                                         XML_PARSE_NOBLANKS | XML_PARSE_NOCDATA);
    const xmlNode *element = document ? xmlDocGetRootElement(document) : NULL;
    if (element && (!root || is_element(element, root)))
        return document;
    xmlFreeDoc(document);
    oneib_fail(err, ONEIB_ERROR_REFUSED, "XML error: this is not a <%s>", root ? root : "device");
    return NULL;
}

int standin_render(xmlDoc *document, struct oneib_text *xml, struct oneib_error *err)
{
    xmlBuffer *buffer = xmlBufferCreate();
    if (!buffer || xmlNodeDump(buffer, document, xmlDocGetRootElement(document), 0, 1) < 0) {
        xmlBufferFree(buffer);
        return oneib_fail(err, ONEIB_ERROR_SYSTEM, "the document cannot be written");
    }
    oneib_text_append_bytes(xml, (const char *)xmlBufferContent(buffer),
                            (size_t)xmlBufferLength(buffer));
    oneib_text_append(xml, "\n");
    xmlBufferFree(buffer);
    return 0;
}

static void append_value(const xmlDoc *domain, const char *element, xmlNode *root)
{
    xmlChar *value = standin_value(domain, element);
    if (value)
        xmlNewTextChild(root, NULL, (const xmlChar *)element, value);
    xmlFree(value);
}

/* What the test driver knows, and who asks it wants to see. */
int standin_append_for_test_driver(const xmlDoc *domain, struct oneib_text *xml,
                                   struct oneib_error *err)
{
    xmlDoc *copy = xmlNewDoc((const xmlChar *)"1.0");
    xmlNode *root = xmlNewDocNode(copy, NULL, (const xmlChar *)"domain", NULL);
    xmlDocSetRootElement(copy, root);
    xmlSetProp(root, (const xmlChar *)"type", (const xmlChar *)"test");
    append_value(domain, "name", root);
    append_value(domain, "uuid", root);
    xmlNewTextChild(root, NULL, (const xmlChar *)"memory", (const xmlChar *)"1024");
    xmlNode *os = xmlNewChild(root, NULL, (const xmlChar *)"os", NULL);
    xmlNewTextChild(os, NULL, (const xmlChar *)"type", (const xmlChar *)"hvm");
    xmlNode *devices = xmlNewChild(root, NULL, (const xmlChar *)"devices", NULL);
    for (xmlNode *node = first_device(domain); node; node = node->next) {
        if (!is_host_device(node))
            continue;
        xmlNode *device = xmlAddChild(devices, xmlDocCopyNode(node, copy, 1)), *address;
        /* The test driver's own machine has other buses. */
        while (device && (address = find_child(device, "address"))) {
            xmlUnlinkNode(address);
            xmlFreeNode(address);
        }
    }
    const int status = standin_render(copy, xml, err);
    xmlFreeDoc(copy);
    return status;
}
