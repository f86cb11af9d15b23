// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"
#include "domain/device_tree.h"
#include "domain/document.h"
#include "domain/domains.h"
#include "domain/tuning_internal.h"
#include "ib/dummy_mac.h"
#include <string.h>

#define BUSES 256

static int fail_at(const xmlNode *device, struct oneib_error *err, const char *what)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "the device near line %ld of the domain's document %s", xmlGetLineNo(device),
                      what);
}

/* ---- aliases of ours ------------------------------------------------------------------------- */

static bool begins_with(const char *string, const char *prefix)
{
    return strncmp(string, prefix, strlen(prefix)) == 0;
}

/* The alias of ours that the device has, NULL: none. */
static const char *find_our_alias(const xmlNode *device)
{
    for (const xmlNode *alias = oneib_tree_child(device, "alias"); alias;
         alias = oneib_tree_next(alias, "alias")) {
        const char *name = oneib_tree_attribute(alias, "name");
        if (name && begins_with(name, ONEIB_ALIAS_VF))
            return name;
    }
    return NULL;
}

static bool parse_alias(const char *alias, bool *is_dummy, uint8_t *nic_id)
{
    uint64_t number;
    *is_dummy = begins_with(alias, ONEIB_ALIAS_DUMMY);
    if (!oneib_parse_decimal(alias + strlen(*is_dummy ? ONEIB_ALIAS_DUMMY : ONEIB_ALIAS_VF),
                             UINT8_MAX, &number))
        return false;
    *nic_id = (uint8_t)number;
    return true;
}

/* The NIC's place in the description, made when it has none yet. NULL: no more fit. */
static struct oneib_domain_device *device_for(struct oneib_domain_description *description,
                                              uint8_t nic_id)
{
    const size_t capacity = sizeof description->devices / sizeof description->devices[0];
    size_t place = 0;
    while (place < description->device_count && description->devices[place].nic_id < nic_id)
        place++;
    struct oneib_domain_device *device = &description->devices[place];
    if (place < description->device_count && device->nic_id == nic_id)
        return device;
    if (description->device_count == capacity)
        return NULL;
    memmove(device + 1, device, (description->device_count - place) * sizeof *device);
    description->device_count++;
    *device = (struct oneib_domain_device){.nic_id = nic_id};
    return device;
}

static int read_vf(const xmlNode *node, struct oneib_domain_device *device, struct oneib_error *err)
{
    if (device->has_vf)
        return fail_at(node, err, "has an alias of a VF that another one has too");
    if (!oneib_tree_is(node, "hostdev") || !oneib_device_takes_pci(node))
        return fail_at(node, err, "has the alias of a VF but is not a VF");
    if (!oneib_device_source(node, &device->vf))
        return fail_at(node, err, "has the alias of a VF but names none");
    device->has_vf = true;
    return oneib_device_guest_address(node, &device->has_guest_address, &device->guest_address,
                                      err);
}

static int read_dummy(const xmlNode *node, struct oneib_domain_device *device,
                      struct oneib_error *err)
{
    const char *mac = oneib_tree_attribute(oneib_tree_child(node, "mac"), "address");
    if (device->has_dummy)
        return fail_at(node, err, "has an alias of a dummy interface that another one has too");
    if (!oneib_tree_is(node, "interface") || !oneib_tree_has(node, "type", "ethernet"))
        return fail_at(node, err, "has the alias of a dummy interface but is not one");
    if (oneib_tree_count(node, "mac") != 1 || !mac ||
        !oneib_dummy_mac_decode(mac, &device->ipv4, &device->index))
        return fail_at(node, err, "has the alias of a dummy interface but not the MAC of one");
    device->has_dummy = true;
    return 0;
}

static int read_our_device(const xmlNode *node, const char *alias,
                           struct oneib_domain_description *description, struct oneib_error *err)
{
    bool is_dummy;
    uint8_t nic_id;
    if (oneib_tree_count(node, "alias") > 1)
        return fail_at(node, err, "has several aliases, one of them of oneib's");
    if (!parse_alias(alias, &is_dummy, &nic_id))
        return fail_at(node, err, "has an alias like those of oneib, but without a NIC id");
    struct oneib_domain_device *device = device_for(description, nic_id);
    if (!device)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "the domain's document has more InfiniBand NICs than a VM can have");
    return is_dummy ? read_dummy(node, device, err) : read_vf(node, device, err);
}

/* ---- guest addresses ------------------------------------------------------------------------- */

void oneib_domain_description_take(struct oneib_domain_description *description,
                                   const struct oneib_pci *address)
{
    ONEIB_APPEND(description->taken, description->taken_count, description->taken_capacity,
                 *address);
}

static int read_guest_address(const xmlNode *device, struct oneib_domain_description *description,
                              struct oneib_error *err)
{
    bool has_address;
    struct oneib_pci address;
    if (oneib_device_guest_address(device, &has_address, &address, err) < 0)
        return -1;
    if (has_address)
        oneib_domain_description_take(description, &address);
    return 0;
}

/* ---- root ports ------------------------------------------------------------------------------ */

/* Of the root ports of a machine those that oned wrote: what libvirt adds of its own accord is in
 * the running domain's document alone, and no place may depend on it. */
struct ports {
    bool is_port[BUSES];
    bool is_on_expander[BUSES];
    bool has_expander;
    unsigned end; /* the first bus, but for bus 0, that is behind no root port */
};

/*
 * oned (LibVirtDriverKVM.cc) writes them below a pcie-to-pci-bridge, or, with virtual NUMA nodes,
 * on an expander bus for each. libvirt numbers its own after that bridge, or where numbers were
 * left out, and has them on bus 0.
 */
static bool is_oneds_port(const struct ports *ports, unsigned bus)
{
    return ports->has_expander ? ports->is_on_expander[bus]
                               : ports->is_port[bus] && bus < ports->end;
}

static int add_port(const xmlNode *port, uint64_t bus, struct ports *ports, struct oneib_error *err)
{
    bool has_address;
    struct oneib_pci address;
    if (oneib_device_guest_address(port, &has_address, &address, err) < 0)
        return -1;
    ports->is_port[bus] = true;
    if (has_address && address.bus != 0)
        ports->is_on_expander[bus] = ports->has_expander = true;
    return 0;
}

/* A bus without a number gets one from libvirt, and nobody knows which. */
static int read_bus(const xmlNode *device, struct oneib_domain_description *description,
                    struct ports *ports, struct oneib_error *err)
{
    uint64_t bus;
    if (!oneib_tree_is(device, "controller") || !oneib_tree_has(device, "type", "pci") ||
        !oneib_parse_decimal(oneib_tree_attribute(device, "index"), BUSES - 1, &bus))
        return 0;
    description->has_bus[bus] = true;
    if (oneib_tree_has(device, "model", "pcie-root-port"))
        return add_port(device, bus, ports, err);
    if (bus > 0 && bus < ports->end)
        ports->end = (unsigned)bus;
    return 0;
}

static void keep_oneds_ports(const struct ports *ports,
                             struct oneib_domain_description *description)
{
    description->root_ports = oneib_alloc(BUSES, 1);
    for (unsigned bus = 0; bus < BUSES; bus++)
        if (is_oneds_port(ports, bus))
            description->root_ports[description->root_port_count++] = (uint8_t)bus;
}

/* ---- the document ---------------------------------------------------------------------------- */

/* libvirt would take some elements and attributes of other namespaces for its own. */
static int read_device(const xmlNode *device, struct oneib_domain_description *description,
                       struct ports *ports, struct oneib_error *err)
{
    if (!oneib_tree_is_plain(device))
        return fail_at(device, err, "has elements or attributes in a namespace");
    const char *alias = find_our_alias(device);
    if (alias && read_our_device(device, alias, description, err) < 0)
        return -1;
    if (read_bus(device, description, ports, err) < 0)
        return -1;
    return read_guest_address(device, description, err);
}

static int read_devices(const xmlDoc *document, struct oneib_domain_description *description,
                        struct oneib_error *err)
{
    struct ports ports = {.end = BUSES};
    for (const xmlNode *device = oneib_device_first(document); device;
         device = oneib_device_next(device))
        if (read_device(device, description, &ports, err) < 0)
            return -1;
    keep_oneds_ports(&ports, description);
    return 0;
}

static int read_name(const xmlNode *domain, struct oneib_domain_description *description,
                     struct oneib_error *err)
{
    const xmlNode *name = oneib_tree_child(domain, "name");
    if (!name)
        return 0;
    if (oneib_tree_next(name, "name"))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "the domain's document has two names");
    description->name = oneib_tree_text(name);
    description->vm_id = oneib_domain_vm_id(description->name);
    return 0;
}

/* QEMU's names: "pc-q35-7.2", "q35", "virt-7.2"; "pc-i440fx-7.2", "pc". */
static enum oneib_machine machine_of(const char *machine)
{
    if (strcmp(machine, "q35") == 0 || begins_with(machine, "pc-q35-") ||
        strcmp(machine, "virt") == 0 || begins_with(machine, "virt-"))
        return ONEIB_MACHINE_PCIE;
    if (strcmp(machine, "pc") == 0 || begins_with(machine, "pc-i440fx-"))
        return ONEIB_MACHINE_PC;
    return ONEIB_MACHINE_OTHER;
}

/* Users add an <os> with other things in it, but one type is all that a domain has. */
static void read_machine(const xmlNode *domain, struct oneib_domain_description *description)
{
    const xmlNode *type = NULL;
    size_t types = 0;
    for (const xmlNode *os = oneib_tree_child(domain, "os"); os; os = oneib_tree_next(os, "os")) {
        types += oneib_tree_count(os, "type");
        type = type ? type : oneib_tree_child(os, "type");
    }
    const char *machine = types == 1 ? oneib_tree_attribute(type, "machine") : NULL;
    description->machine = machine ? machine_of(machine) : ONEIB_MACHINE_OTHER;
}

int oneib_domain_description_of(const xmlDoc *document,
                                struct oneib_domain_description *description,
                                struct oneib_error *err)
{
    const xmlNode *domain = xmlDocGetRootElement(document);
    *description = (struct oneib_domain_description){.vm_id = -1};
    read_machine(domain, description);
    description->tuned = oneib_tuning_mark_read(domain).is_there;
    if (read_name(domain, description, err) == 0 && read_devices(document, description, err) == 0)
        return 0;
    oneib_domain_description_clear(description);
    return -1;
}

int oneib_domain_description_read(const char *xml, size_t length,
                                  struct oneib_domain_description *description,
                                  struct oneib_error *err)
{
    oneib_autotree xmlDoc *document = NULL;
    *description = (struct oneib_domain_description){.vm_id = -1};
    if (oneib_tree_parse(xml, length, &document, err) < 0)
        return -1;
    return oneib_domain_description_of(document, description, err);
}
