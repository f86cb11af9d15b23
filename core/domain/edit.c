// SPDX-License-Identifier: Apache-2.0
#include "domain/edit.h"
#include "base/memory.h"
#include "domain/device_tree.h"
#include "domain/edit_devices.h"
#include "domain/xml_tree.h"
#include <string.h>
#include <strings.h>

/* Where a NIC is in oned's document. */
struct place {
    xmlNode *interface; /* of a plain NIC */
    xmlNode *vf;        /* of a PCI NIC: <hostdev>, or <interface type='hostdev'> */
};

/* ---- the NICs by themselves ------------------------------------------------------------------ */

static bool have_one_interface(const struct oneib_domain_nic *a, const struct oneib_domain_nic *b)
{
    return !a->is_pci && !b->is_pci && strcasecmp(a->mac, b->mac) == 0 &&
           strcmp(a->target, b->target) == 0;
}

static bool are_distinct(const struct oneib_domain_nic *a, const struct oneib_domain_nic *b)
{
    return a->nic_id != b->nic_id && a->index != b->index &&
           oneib_pci_compare(&a->vf, &b->vf) != 0 && !have_one_interface(a, b);
}

static int check_nic(const struct oneib_domain_nic *nics, size_t which, struct oneib_error *err)
{
    for (size_t i = 0; i < which; i++)
        if (!are_distinct(&nics[i], &nics[which]))
            return oneib_fail(err, ONEIB_ERROR_INPUT,
                              "it has the id, index, VF or interface of NIC %u", nics[i].nic_id);
    return oneib_nic_check_device(&nics[which], err);
}

static int check_nics(const struct oneib_domain_nic *nics, size_t count, struct oneib_error *err)
{
    if (count > ONEIB_DOMAIN_NICS_MAX) {
        oneib_fail(err, ONEIB_ERROR_INPUT,
                   "the VM has %zu InfiniBand NICs; it can have %d at the most", count,
                   ONEIB_DOMAIN_NICS_MAX);
        return -1; /* said here, for gcc's LTO warns of what would overflow, did it go on */
    }
    for (size_t i = 0; i < count; i++)
        if (check_nic(nics, i, err) < 0)
            return oneib_wrap(err, "NIC %u", nics[i].nic_id);
    return 0;
}

/* ---- finding a NIC --------------------------------------------------------------------------- */

/* The device with the VF as its source, NULL: none; *times: how often there is one. */
static int find_vf(const xmlDoc *document, const struct oneib_pci *vf, xmlNode **found,
                   size_t *times, struct oneib_error *err)
{
    *found = NULL;
    *times = 0;
    for (xmlNode *device = oneib_device_first(document); device;
         device = oneib_device_next(device)) {
        struct oneib_pci source;
        if (!oneib_device_takes_pci(device))
            continue;
        if (!oneib_device_source(device, &source))
            return oneib_fail(err, ONEIB_ERROR_INPUT,
                              "the device near line %ld of the domain's document names no PCI "
                              "device that can be read",
                              xmlGetLineNo(device));
        if (oneib_pci_compare(&source, vf) == 0) {
            *found = device;
            ++*times;
        }
    }
    return 0;
}

static bool is_ambiguous(const xmlNode *interface)
{
    return oneib_tree_count(interface, "mac") > 1 || oneib_tree_count(interface, "target") > 1 ||
           oneib_tree_count(interface, "link") > 1;
}

static bool is_of_nic(const xmlNode *interface, const struct oneib_domain_nic *nic)
{
    const char *mac = oneib_tree_attribute(oneib_tree_child(interface, "mac"), "address");
    const char *target = oneib_tree_attribute(oneib_tree_child(interface, "target"), "dev");
    return mac && strcasecmp(mac, nic->mac) == 0 && strcmp(target ? target : "", nic->target) == 0;
}

static int fail_connected(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "its interface is connected to something on the host: its network has a "
                      "BRIDGE, which an InfiniBand network must not have; remove BRIDGE from the "
                      "network and attach the NIC anew");
}

static int find_interface(const xmlDoc *document, const struct oneib_domain_nic *nic,
                          xmlNode **found, struct oneib_error *err)
{
    *found = NULL;
    for (xmlNode *device = oneib_device_first(document); device;
         device = oneib_device_next(device)) {
        if (!oneib_tree_is(device, "interface"))
            continue;
        if (is_ambiguous(device))
            return oneib_fail(err, ONEIB_ERROR_INPUT,
                              "the interface near line %ld of the domain's document has two MACs, "
                              "targets or links",
                              xmlGetLineNo(device));
        if (!is_of_nic(device, nic))
            continue;
        if (!oneib_tree_has(device, "type", "ethernet"))
            return fail_connected(err);
        if (*found)
            return oneib_fail(err, ONEIB_ERROR_INPUT,
                              "the domain's document has two interfaces with its MAC %s and "
                              "target %s",
                              nic->mac, nic->target);
        *found = device;
    }
    return *found ? 0
                  : oneib_fail(err, ONEIB_ERROR_INPUT,
                               "the domain's document has no interface with its MAC %s and "
                               "target %s",
                               nic->mac, nic->target);
}

static int fail_vf(const struct oneib_domain_nic *nic, size_t times, struct oneib_error *err)
{
    char address[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&nic->vf, address);
    if (!nic->is_pci)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "the domain's document has its VF %s already",
                          address);
    return oneib_fail(err, ONEIB_ERROR_INPUT, "the domain's document has its VF %s %s", address,
                      times == 0 ? "nowhere" : "more than once");
}

static int find_place(const xmlDoc *document, const struct oneib_domain_nic *nic,
                      struct place *place, struct oneib_error *err)
{
    size_t times;
    *place = (struct place){0};
    if (find_vf(document, &nic->vf, &place->vf, &times, err) < 0)
        return -1;
    if (times != (nic->is_pci ? 1 : 0))
        return fail_vf(nic, times, err);
    if (!nic->is_pci && find_interface(document, nic, &place->interface, err) < 0)
        return -1;
    if (oneib_tree_child(nic->is_pci ? place->vf : place->interface, "alias"))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "its device in the domain's document has an alias already");
    return 0;
}

static int find_places(const xmlDoc *document, const struct oneib_domain_nic *nics, size_t count,
                       struct place *places, struct oneib_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (find_place(document, &nics[i], &places[i], err) < 0)
            return oneib_wrap(err, "NIC %u", nics[i].nic_id);
    return 0;
}

/* ---- guest addresses ------------------------------------------------------------------------- */

/* A PCI NIC has the address that oned gave it, which then stays as it is written. */
static int keep_address(const struct place *place, bool *is_kept, struct oneib_error *err)
{
    struct oneib_pci address;
    *is_kept = false;
    return place->vf ? oneib_device_guest_address(place->vf, is_kept, &address, err) : 0;
}

static size_t count_free_ports(const struct oneib_domain_description *description)
{
    size_t count = 0;
    for (size_t i = 0; i < description->root_port_count; i++)
        count += oneib_domain_bus_is_free(description, description->root_ports[i]);
    return count;
}

/* Where there is no other root port, libvirt is to choose: it adds one for a VF, but none for
 * oned's pcie-to-pci-bridge, without which the domain would not start. */
static void choose_address(struct oneib_domain_description *description,
                           struct oneib_domain_nic *nic)
{
    if (!oneib_domain_guest_address(description, nic->index, &nic->guest_address) ||
        (description->machine == ONEIB_MACHINE_PCIE && count_free_ports(description) < 2))
        return;
    nic->has_guest_address = true;
    oneib_domain_description_take(description, &nic->guest_address);
}

static int choose_addresses(struct oneib_domain_description *description,
                            const struct place *places, struct oneib_domain_nic *nics, size_t count,
                            struct oneib_error *err)
{
    bool is_kept[ONEIB_DOMAIN_NICS_MAX];
    for (size_t i = 0; i < count; i++) {
        if (keep_address(&places[i], &is_kept[i], err) < 0)
            return -1;
        nics[i].has_guest_address = nics[i].has_guest_address && !is_kept[i];
        if (nics[i].has_guest_address)
            oneib_domain_description_take(description, &nics[i].guest_address);
    }
    for (size_t i = 0; i < count; i++)
        if (!is_kept[i] && !nics[i].has_guest_address)
            choose_address(description, &nics[i]);
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Takes ownership. */
static void put_behind(xmlNode *device, xmlNode *element)
{
    oneib_allocated(xmlAddNextSibling(device, element));
}

static void equip_plain(const struct oneib_domain_nic *nic, xmlNode *interface)
{
    oneib_nic_claim_interface(nic, interface);
    put_behind(interface, oneib_nic_hostdev(nic));
}

/* libvirt would set an Ethernet MAC on it, which an InfiniBand VF does not have. What a <hostdev>
 * can have too stays. */
static void replace_with_hostdev(const struct oneib_domain_nic *nic, xmlNode *interface,
                                 xmlNode **hostdev)
{
    static const char *const kept[] = {"boot", "rom", "address"};
    *hostdev = oneib_nic_hostdev(nic);
    put_behind(interface, *hostdev);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        xmlNode *child = oneib_tree_child(interface, kept[i]);
        if (child && !oneib_tree_child(*hostdev, kept[i])) {
            xmlUnlinkNode(child);
            xmlAddChild(*hostdev, child);
        }
    }
    oneib_tree_remove(interface);
}

static void equip_pci(const struct oneib_domain_nic *nic, xmlNode *vf)
{
    xmlNode *hostdev = vf;
    if (oneib_tree_is(vf, "hostdev"))
        oneib_nic_claim_hostdev(nic, vf);
    else
        replace_with_hostdev(nic, vf, &hostdev);
    put_behind(hostdev, oneib_nic_dummy(nic));
}

static void equip_all(const struct place *places, const struct oneib_domain_nic *nics, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nics[i].is_pci)
            equip_pci(&nics[i], places[i].vf);
        else
            equip_plain(&nics[i], places[i].interface);
}

/* ---- the document ---------------------------------------------------------------------------- */

static int refuse_our_aliases(const struct oneib_domain_description *description,
                              struct oneib_error *err)
{
    if (description->device_count == 0)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "the domain's document has an alias of oneib's for NIC %u already: it comes "
                      "from RAW; remove it there",
                      description->devices[0].nic_id);
}

static int equip(xmlDoc *document, struct oneib_domain_description *description,
                 struct oneib_domain_nic *nics, size_t count, struct oneib_error *err)
{
    struct place places[ONEIB_DOMAIN_NICS_MAX];
    if (refuse_our_aliases(description, err) < 0 ||
        find_places(document, nics, count, places, err) < 0 ||
        choose_addresses(description, places, nics, count, err) < 0)
        return -1;
    equip_all(places, nics, count);
    return 0;
}

static int equip_document(xmlDoc *document, struct oneib_domain_nic *nics, size_t count,
                          struct oneib_error *err)
{
    oneib_autodescription struct oneib_domain_description description;
    if (oneib_domain_description_of(document, &description, err) < 0)
        return -1;
    return equip(document, &description, nics, count, err);
}

/* Without a NIC of ours the document is not ours to judge. */
static void hand_through(const char *xml, size_t length, struct oneib_text *equipped)
{
    oneib_text_append_bytes(equipped, xml, length);
}

int oneib_domain_equip(const char *xml, size_t length, const struct oneib_domain_nic *nics,
                       size_t count, struct oneib_text *equipped, struct oneib_error *err)
{
    struct oneib_domain_nic planned[ONEIB_DOMAIN_NICS_MAX];
    oneib_autotree xmlDoc *document = NULL;
    if (count == 0) {
        hand_through(xml, length, equipped);
        return 0;
    }
    if (check_nics(nics, count, err) < 0 || oneib_tree_parse(xml, length, &document, err) < 0)
        return -1;
    memcpy(planned, nics, count * sizeof *nics);
    if (equip_document(document, planned, count, err) < 0)
        return -1;
    return oneib_tree_render(document, equipped, err);
}
