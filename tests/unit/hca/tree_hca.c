// SPDX-License-Identifier: Apache-2.0
#include "tree.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASS "/sys/class/infiniband/"
#define DEFAULT_LIMITED 0x7fff
#define PATH_SIZE 128

/* An adapter with nothing left out. */
static struct tree_hca whole(const struct tree_hca *hca)
{
    struct tree_hca all = *hca;
    if (!all.name)
        all.name = all.driver == ONEIB_HCA_MLX5 ? "mlx5_0" : "mlx4_0";
    if (!all.pci)
        all.pci = "0000:81:00.0";
    if (all.ports == 0)
        all.ports = 1;
    if (all.pkeys == 0)
        all.pkeys = all.driver == ONEIB_HCA_MLX4 && all.vfs > 0 ? 127 : 128;
    if (all.vfs_supported == 0)
        all.vfs_supported = all.vfs;
    return all;
}

static const char *driver_of(const struct tree_hca *hca)
{
    static const char *const drivers[] = {"hfi1", "mlx4_core", "mlx5_core"};
    return drivers[hca->driver];
}

static bool is_ethernet(const struct tree_hca *hca, unsigned port)
{
    return hca->ethernet_ports >> port & 1;
}

/* Numbers that differ between adapters. */
static uint64_t base_guid(const struct tree_hca *hca)
{
    const struct tree_hca all = whole(hca);
    struct oneib_pci pci = {0};
    oneib_pci_parse(all.pci, &pci);
    return 0x0002c90300000000 | (uint64_t)pci.bus << 16 | (uint64_t)pci.slot << 8;
}

uint64_t tree_node_guid(const struct tree_hca *hca)
{
    return base_guid(hca);
}

uint64_t tree_port_guid(const struct tree_hca *hca, unsigned port)
{
    return base_guid(hca) + port;
}

struct oneib_pci tree_vf_pci(const struct tree_hca *hca, unsigned vf)
{
    const struct tree_hca all = whole(hca);
    struct oneib_pci pci = {0};
    oneib_pci_parse(all.pci, &pci);
    const unsigned function = pci.slot * 8u + pci.function + 1 + vf;
    pci.bus = (uint8_t)(pci.bus + function / 256);
    pci.slot = (uint8_t)(function / 8 % 32);
    pci.function = (uint8_t)(function % 8);
    return pci;
}

static void vf_pci_text(const struct tree_hca *hca, unsigned vf, char text[ONEIB_PCI_TEXT_SIZE])
{
    const struct oneib_pci pci = tree_vf_pci(hca, vf);
    oneib_pci_format(&pci, text);
}

void tree_vf_directory(const struct tree_hca *hca, unsigned vf, char directory[ONEIB_PCI_TEXT_SIZE])
{
    vf_pci_text(hca, hca->odd_directories ? (vf + 1) % hca->vfs : vf, directory);
}

/* Directories of sysfs: of a PCI device, and of an RDMA device of it. All functions lie side by
 * side, below the root of their bus. */
static void pci_directory(const char *pci, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "/sys/devices/pci%.7s/%s", pci, pci);
}

static void hca_directory(const struct tree_hca *hca, char path[PATH_SIZE])
{
    char device[PATH_SIZE];
    pci_directory(hca->pci, device);
    if (snprintf(path, PATH_SIZE, "%s/infiniband/%s", device, hca->name) >= PATH_SIZE)
        abort();
}

static void write_guid(uint64_t prefix, uint64_t guid, const char *directory, const char *name)
{
    char text[48];
    const uint64_t halves[] = {prefix, guid};
    size_t used = 0;
    for (unsigned i = prefix ? 0 : 4; i < 8; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%04x", used ? ":" : "",
                                 (unsigned)(halves[i / 4] >> (48 - i % 4 * 16) & 0xffff));
    tree_write(text, "%s/%s", directory, name);
}

static void add_pci_device(const char *pci, int numa_node, const char *driver)
{
    char directory[PATH_SIZE], text[16];
    pci_directory(pci, directory);
    snprintf(text, sizeof text, "%d", numa_node);
    tree_write(text, "%s/numa_node", directory);
    tree_write("0x15b3", "%s/vendor", directory);
    tree_write("0x020700", "%s/class", directory);
    tree_write("", "%s/driver_override", directory);
    tree_link(directory, "/sys/bus/pci/devices/%s", pci);
    if (!driver)
        return;
    char link[PATH_SIZE];
    snprintf(link, sizeof link, "/sys/bus/pci/drivers/%s", driver);
    tree_write("", "%s/bind", link);
    tree_write("", "%s/unbind", link);
    tree_link(link, "%s/driver", directory);
}

/* IFF_UP and IFF_BROADCAST; ARPHRD_INFINIBAND. */
static void add_interface(const char *pci, const char *interface, unsigned port, bool up)
{
    char directory[PATH_SIZE], number[16];
    pci_directory(pci, directory);
    snprintf(number, sizeof number, "0x%x", port - 1);
    tree_write(up ? "0x1003" : "0x1002", "%s/net/%s/flags", directory, interface);
    tree_write("32", "%s/net/%s/type", directory, interface);
    tree_write(number, "%s/net/%s/dev_id", directory, interface);
    snprintf(number, sizeof number, "%u", port - 1);
    tree_write(number, "%s/net/%s/dev_port", directory, interface);
}

static void add_port(const struct tree_hca *hca, const char *device, unsigned port)
{
    char directory[PATH_SIZE + 32], text[16];
    const bool ethernet = is_ethernet(hca, port);
    snprintf(directory, sizeof directory, "%s/ports/%u", device, port);
    tree_write(ethernet ? "Ethernet" : "InfiniBand", "%s/link_layer", directory);
    tree_write("4: ACTIVE", "%s/state", directory);
    tree_write("5: LinkUp", "%s/phys_state", directory);
    tree_write(ethernet ? "40 Gb/sec (4X QDR)" : "56 Gb/sec (4X FDR)", "%s/rate", directory);
    snprintf(text, sizeof text, "0x%x", ethernet ? 0 : 4 * port);
    tree_write(text, "%s/lid", directory);
    write_guid(0xfe80000000000000, tree_port_guid(hca, port), directory, "gids/0");
    const unsigned pkeys = ethernet ? 1 : hca->pkeys;
    for (unsigned i = 0; i < pkeys; i++)
        tree_write(i > 0 ? "0x0000" : ethernet ? "0xffff" : "0x7fff", "%s/pkeys/%u", directory, i);
}

/* An mlx4 port has 128. Files take time: no more than what the VFs need, in eights. */
static unsigned aliases(const struct tree_hca *hca)
{
    return (hca->vfs + 8) / 8 * 8;
}

/* Below iov/ports: of the physical port. */
static void add_iov_port(const struct tree_hca *hca, const char *device, unsigned port)
{
    char directory[PATH_SIZE + 32], text[24], name[24];
    snprintf(directory, sizeof directory, "%s/iov/ports/%u", device, port);
    for (unsigned i = 0; i < aliases(hca); i++) {
        snprintf(text, sizeof text, "%" PRIx64, i == 0 ? tree_port_guid(hca, port) : 0);
        tree_write(text, "%s/admin_guids/%u", directory, i);
        snprintf(name, sizeof name, "gids/%u", i);
        write_guid(0xfe80000000000000, i == 0 ? tree_port_guid(hca, port) : 0, directory, name);
    }
    for (unsigned i = 0; i < hca->pkeys; i++)
        tree_write(i == 0 ? "0x7fff" : "0x0000", "%s/pkeys/%u", directory, i);
    tree_make_directory("%s/mcgs", directory);
}

/* Below iov: of function `alias` of the adapter; 0 is the PF, whose entries are what they are. */
static void add_iov_function(const struct tree_hca *hca, const char *device, const char *name,
                             unsigned alias)
{
    for (unsigned port = 1; port <= hca->ports; port++) {
        char directory[PATH_SIZE + 64], text[16];
        snprintf(directory, sizeof directory, "%s/iov/%s/ports/%u", device, name, port);
        snprintf(text, sizeof text, "%u", alias);
        tree_write(text, "%s/gid_idx/0", directory);
        for (unsigned i = 0; i < hca->pkeys; i++) {
            snprintf(text, sizeof text, "%u", i);
            tree_write(i == 0 || alias == 0 ? text : "none", "%s/pkey_idx/%u", directory, i);
        }
    }
}

static void add_iov(const struct tree_hca *hca, const char *device)
{
    for (unsigned port = 1; port <= hca->ports; port++)
        add_iov_port(hca, device, port);
    add_iov_function(hca, device, hca->pci, 0);
    for (unsigned vf = 0; vf < hca->vfs; vf++) {
        char directory[ONEIB_PCI_TEXT_SIZE];
        tree_vf_directory(hca, vf, directory);
        add_iov_function(hca, device, directory, vf + 1);
    }
}

static void add_vf(const struct tree_hca *hca, unsigned vf)
{
    char pci[ONEIB_PCI_TEXT_SIZE], pf_directory[PATH_SIZE], vf_directory[PATH_SIZE];
    vf_pci_text(hca, vf, pci);
    pci_directory(hca->pci, pf_directory);
    pci_directory(pci, vf_directory);
    add_pci_device(pci, hca->numa_node, "vfio-pci");
    tree_link(vf_directory, "%s/virtfn%u", pf_directory, vf);
    tree_link(pf_directory, "%s/physfn", vf_directory);
    if (hca->driver != ONEIB_HCA_MLX5 || hca->without_sriov_directory)
        return;
    tree_write("00:00:00:00:00:00:00:00", "%s/sriov/%u/node", pf_directory, vf);
    tree_write("00:00:00:00:00:00:00:00", "%s/sriov/%u/port", pf_directory, vf);
    tree_write("Down", "%s/sriov/%u/policy", pf_directory, vf);
}

static void add_sriov(const struct tree_hca *hca)
{
    char directory[PATH_SIZE], text[16];
    pci_directory(hca->pci, directory);
    snprintf(text, sizeof text, "%u", hca->vfs_supported);
    tree_write(text, "%s/sriov_totalvfs", directory);
    snprintf(text, sizeof text, "%u", hca->vfs);
    tree_write(text, "%s/sriov_numvfs", directory);
    for (unsigned vf = 0; vf < hca->vfs; vf++)
        add_vf(hca, vf);
}

void tree_add_hca(const struct tree_hca *wanted)
{
    const struct tree_hca hca = whole(wanted);
    char pci[PATH_SIZE], device[PATH_SIZE];
    pci_directory(hca.pci, pci);
    hca_directory(&hca, device);
    add_pci_device(hca.pci, hca.numa_node, driver_of(&hca));
    tree_write("1: CA", "%s/node_type", device);
    write_guid(0, tree_node_guid(&hca), device, "node_guid");
    tree_link(pci, "%s/device", device);
    for (unsigned port = 1; port <= hca.ports; port++) {
        char interface[40];
        snprintf(interface, sizeof interface, "ib_%.16s_%u", hca.name, port);
        add_port(&hca, device, port);
        if (!is_ethernet(&hca, port))
            add_interface(hca.pci, interface, port, true);
    }
    if (!hca.without_sriov)
        add_sriov(&hca);
    if (hca.driver == ONEIB_HCA_MLX4 && hca.vfs > 0)
        add_iov(&hca, device);
    tree_link(device, CLASS "%s", hca.name);
}

/* The RDMA devices of a PCI device go first, as they do when a driver lets go of it. */
static void remove_pci_device(const char *pci)
{
    char directory[PATH_SIZE];
    pci_directory(pci, directory);
    tree_remove("/sys/bus/pci/devices/%s", pci);
    tree_remove("%s", directory);
}

void tree_remove_hca(const struct tree_hca *wanted)
{
    const struct tree_hca hca = whole(wanted);
    tree_remove(CLASS "%s", hca.name);
    for (unsigned vf = 0; vf < hca.vfs; vf++) {
        char pci[ONEIB_PCI_TEXT_SIZE];
        vf_pci_text(&hca, vf, pci);
        remove_pci_device(pci);
    }
    remove_pci_device(hca.pci);
}

void tree_set_pkey(const struct tree_hca *wanted, unsigned port, unsigned index, uint16_t raw)
{
    const struct tree_hca hca = whole(wanted);
    char text[8];
    snprintf(text, sizeof text, "0x%04x", raw);
    tree_replace(text, CLASS "%s/ports/%u/pkeys/%u", hca.name, port, index);
    if (hca.driver == ONEIB_HCA_MLX4 && hca.vfs > 0)
        tree_replace(text, CLASS "%s/iov/ports/%u/pkeys/%u", hca.name, port, index);
}

void tree_set_vf_pkey(const struct tree_hca *wanted, unsigned vf, unsigned port, unsigned entry,
                      const char *value)
{
    const struct tree_hca hca = whole(wanted);
    char directory[ONEIB_PCI_TEXT_SIZE];
    tree_vf_directory(&hca, vf, directory);
    tree_write(value, CLASS "%s/iov/%s/ports/%u/pkey_idx/%u", hca.name, directory, port, entry);
}

void tree_get_vf_pkey(const struct tree_hca *wanted, unsigned vf, unsigned port, unsigned entry,
                      char *value, size_t size)
{
    const struct tree_hca hca = whole(wanted);
    char directory[ONEIB_PCI_TEXT_SIZE];
    tree_vf_directory(&hca, vf, directory);
    tree_read(value, size, CLASS "%s/iov/%s/ports/%u/pkey_idx/%u", hca.name, directory, port,
              entry);
}

void tree_set_alias(const struct tree_hca *wanted, unsigned vf, unsigned port, uint64_t guid)
{
    const struct tree_hca hca = whole(wanted);
    char device[PATH_SIZE], name[64];
    hca_directory(&hca, device);
    snprintf(name, sizeof name, "iov/ports/%u/gids/%u", port, vf + 1);
    write_guid(0xfe80000000000000, guid, device, name);
}

void tree_bind_vf(const struct tree_hca *hca, unsigned vf, const char *driver)
{
    char pci[ONEIB_PCI_TEXT_SIZE], directory[PATH_SIZE];
    vf_pci_text(hca, vf, pci);
    pci_directory(pci, directory);
    tree_remove("%s/driver", directory);
    if (driver)
        add_pci_device(pci, hca->numa_node, driver);
}

void tree_add_vf_device(const struct tree_hca *wanted, unsigned vf, const char *device)
{
    char pci[ONEIB_PCI_TEXT_SIZE], directory[PATH_SIZE], device_directory[PATH_SIZE];
    vf_pci_text(wanted, vf, pci);
    pci_directory(pci, directory);
    const struct tree_hca hca = whole(&(struct tree_hca){
        .name = device, .pci = pci, .driver = wanted->driver, .pkeys = wanted->pkeys});
    hca_directory(&hca, device_directory);
    tree_write("1: CA", "%s/node_type", device_directory);
    write_guid(0, tree_node_guid(&hca), device_directory, "node_guid");
    tree_link(directory, "%s/device", device_directory);
    add_port(&hca, device_directory, 1);
    tree_link(device_directory, CLASS "%s", device);
}

void tree_add_vf_interface(const struct tree_hca *hca, unsigned vf, const char *interface, bool up)
{
    char pci[ONEIB_PCI_TEXT_SIZE];
    vf_pci_text(hca, vf, pci);
    add_interface(pci, interface, 1, up);
}
