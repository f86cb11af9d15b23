// SPDX-License-Identifier: Apache-2.0
#include "domain/edit_devices.h"
#include "base/memory.h"
#include <stdio.h>
#include <string.h>

/* Of "0x00000000" and of an alias. */
#define VALUE_SIZE 24

/* ---- what may be written --------------------------------------------------------------------- */

/* A name that the kernel can give to an interface (dev_valid_name()), in ASCII; no '%', of which
 * the kernel would make a number. */
static bool is_target(const char *target)
{
    if (!memchr(target, '\0', ONEIB_TARGET_SIZE))
        return false;
    for (const char *c = target; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == '/' || *c == ':' || *c == '%')
            return false;
    return true;
}

int oneib_nic_check_device(const struct oneib_domain_nic *nic, struct oneib_error *err)
{
    if (nic->index > ONEIB_DUMMY_MAC_INDEX_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "a VM can have %d InfiniBand interfaces at the most",
                          ONEIB_DOMAIN_NICS_MAX);
    if (!is_target(nic->target))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "its TARGET is no name of an interface");
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void set_hex(xmlNode *node, const char *attribute, int digits, unsigned number)
{
    char value[VALUE_SIZE];
    snprintf(value, sizeof value, "0x%0*x", digits, number);
    oneib_tree_set(node, attribute, value);
}

static void set_pci(xmlNode *address, const struct oneib_pci *pci)
{
    set_hex(address, "domain", 4, pci->domain);
    set_hex(address, "bus", 2, pci->bus);
    set_hex(address, "slot", 2, pci->slot);
    set_hex(address, "function", 1, pci->function);
}

static void add_alias(xmlNode *device, const char *prefix, uint8_t nic_id)
{
    char alias[ONEIB_ALIAS_SIZE];
    oneib_domain_alias(prefix, nic_id, alias);
    oneib_tree_set(oneib_tree_add(device, "alias"), "name", alias);
}

/* The child, made when there is none. */
static void set_guest_address(const struct oneib_pci *address, xmlNode *element)
{
    xmlNode *place = oneib_tree_have(element, "address");
    oneib_tree_set(place, "type", "pci");
    set_pci(place, address);
}

/* ---- the VF ---------------------------------------------------------------------------------- */

void oneib_nic_claim_hostdev(const struct oneib_domain_nic *nic, xmlNode *hostdev)
{
    oneib_tree_set(hostdev, "managed", nic->managed ? "yes" : "no");
    add_alias(hostdev, ONEIB_ALIAS_VF, nic->nic_id);
    if (nic->has_guest_address)
        set_guest_address(&nic->guest_address, hostdev);
}

static void fill_hostdev(const struct oneib_domain_nic *nic, xmlNode *hostdev)
{
    oneib_tree_set(hostdev, "mode", "subsystem");
    oneib_tree_set(hostdev, "type", "pci");
    set_pci(oneib_tree_add(oneib_tree_add(hostdev, "source"), "address"), &nic->vf);
    oneib_nic_claim_hostdev(nic, hostdev);
}

/* ---- the dummy interface --------------------------------------------------------------------- */

void oneib_nic_claim_interface(const struct oneib_domain_nic *nic, xmlNode *interface)
{
    char mac[ONEIB_MAC_TEXT_SIZE];
    oneib_dummy_mac_encode(nic->ipv4, nic->index, mac);
    oneib_tree_set(oneib_tree_have(interface, "mac"), "address", mac);
    oneib_tree_set(oneib_tree_have(interface, "link"), "state", "down");
    add_alias(interface, ONEIB_ALIAS_DUMMY, nic->nic_id);
}

/* Without a target libvirt finds a name for the host's end. */
static void fill_dummy(const struct oneib_domain_nic *nic, xmlNode *interface)
{
    oneib_tree_set(interface, "type", "ethernet");
    if (nic->target[0] != '\0')
        oneib_tree_set(oneib_tree_add(interface, "target"), "dev", nic->target);
    oneib_tree_set(oneib_tree_add(interface, "model"), "type", "virtio");
    oneib_nic_claim_interface(nic, interface);
}

/* ---- new elements ---------------------------------------------------------------------------- */

static xmlNode *make(const char *name, const struct oneib_domain_nic *nic,
                     void (*fill)(const struct oneib_domain_nic *, xmlNode *))
{
    xmlNode *element = oneib_allocated(xmlNewNode(NULL, (const xmlChar *)name));
    fill(nic, element);
    return element;
}

xmlNode *oneib_nic_hostdev(const struct oneib_domain_nic *nic)
{
    return make("hostdev", nic, fill_hostdev);
}

xmlNode *oneib_nic_dummy(const struct oneib_domain_nic *nic)
{
    return make("interface", nic, fill_dummy);
}

/* ---- alone, for hot-plug --------------------------------------------------------------------- */

static int render_alone(const struct oneib_domain_nic *nic,
                        xmlNode *(*build)(const struct oneib_domain_nic *), struct oneib_text *xml,
                        struct oneib_error *err)
{
    if (oneib_nic_check_device(nic, err) < 0)
        return oneib_wrap(err, "NIC %u", nic->nic_id);
    xmlNode *element = build(nic);
    const int status = oneib_tree_render_element(element, xml, err);
    xmlFreeNode(element);
    return status;
}

int oneib_domain_vf_xml(const struct oneib_domain_nic *nic, struct oneib_text *xml,
                        struct oneib_error *err)
{
    return render_alone(nic, oneib_nic_hostdev, xml, err);
}

int oneib_domain_dummy_xml(const struct oneib_domain_nic *nic, struct oneib_text *xml,
                           struct oneib_error *err)
{
    return render_alone(nic, oneib_nic_dummy, xml, err);
}
