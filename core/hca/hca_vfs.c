// SPDX-License-Identifier: Apache-2.0
/* An adapter's virtual functions. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "hca/attribute.h"
#include "hca/hca_internal.h"
#include "hca/place.h"
#include <net/if.h>

#define PCI_PATH "/sys/bus/pci/devices"

static int read_pci(const char *pf, struct oneib_vf *vf, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE], name[ONEIB_ATTRIBUTE_SIZE];
    if (oneib_node_path(path, sizeof path, err, PCI_PATH "/%s/virtfn%u", pf, vf->index) < 0 ||
        oneib_attribute_link(path, name, sizeof name, err) < 0)
        return -1;
    if (oneib_pci_parse(name, &vf->pci))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT, "%s does not point to a PCI device", path);
}

/* The adapter's link to a VF stays when the VF is removed from the bus. */
static int read_presence(const char *pf, const char *pci, struct oneib_vf *vf,
                         struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE], name[ONEIB_ATTRIBUTE_SIZE];
    if (oneib_node_path(path, sizeof path, err, PCI_PATH "/%s/physfn", pci) < 0)
        return -1;
    if (oneib_attribute_link(path, name, sizeof name, err) == 0)
        vf->off_bus = strcmp(name, pf) != 0;
    else if (err->code == ONEIB_ERROR_NOT_FOUND)
        vf->off_bus = true;
    else
        return -1;
    return 0;
}

static int read_driver(const char *pci, struct oneib_vf *vf, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    if (oneib_node_path(path, sizeof path, err, PCI_PATH "/%s/driver", pci) < 0)
        return -1;
    if (oneib_attribute_link(path, vf->driver, sizeof vf->driver, err) < 0)
        return err->code == ONEIB_ERROR_NOT_FOUND ? 0 : -1;
    return 0;
}

static int read_flags(const char *pci, const char *interface, bool *up, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    uint64_t flags;
    if (oneib_node_path(path, sizeof path, err, PCI_PATH "/%s/net/%s/flags", pci, interface) < 0)
        return -1;
    if (oneib_attribute_hex(path, UINT32_MAX, &flags, err) == 0) {
        *up = flags & IFF_UP;
        return 0;
    }
    /* It is being renamed or taken away at this moment: the host is not done with the VF. */
    *up = true;
    return err->code == ONEIB_ERROR_NOT_FOUND ? 0 : -1;
}

static int read_interfaces(const char *pci, struct oneib_vf *vf, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    oneib_autofree char **names = NULL;
    size_t count;
    if (oneib_node_path(path, sizeof path, err, PCI_PATH "/%s/net", pci) < 0 ||
        oneib_attribute_list(path, &names, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count && !vf->interface_up; i++)
        if (read_flags(pci, names[i], &vf->interface_up, err) < 0)
            return -1;
    return 0;
}

static int read_vf(const char *pf, uint16_t index, struct oneib_vf *vf, struct oneib_error *err)
{
    char pci[ONEIB_PCI_TEXT_SIZE];
    *vf = (struct oneib_vf){.index = index, .numa_node = -1};
    if (read_pci(pf, vf, err) < 0)
        return -1;
    oneib_pci_format(&vf->pci, pci);
    if (read_presence(pf, pci, vf, err) < 0 || read_driver(pci, vf, err) < 0 ||
        oneib_numa_node_read(pci, &vf->numa_node, err) < 0)
        return -1;
    return read_interfaces(pci, vf, err);
}

int oneib_hca_reread_vf(const struct oneib_hca *hca, struct oneib_vf *vf, struct oneib_error *err)
{
    char pf[ONEIB_PCI_TEXT_SIZE], pci[ONEIB_PCI_TEXT_SIZE];
    struct oneib_vf now = *vf;
    oneib_pci_format(&hca->pci, pf);
    oneib_pci_format(&vf->pci, pci);
    now.driver[0] = '\0';
    now.interface_up = false;
    if (read_pci(pf, &now, err) < 0)
        return -1;
    if (oneib_pci_compare(&now.pci, &vf->pci) != 0)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "%s is not virtual function %u of %s any more", pci, vf->index,
                          hca->name);
    if (read_presence(pf, pci, &now, err) < 0 || read_driver(pci, &now, err) < 0 ||
        read_interfaces(pci, &now, err) < 0)
        return -1;
    *vf = now;
    return 0;
}

static int list_vfs(struct oneib_hca *hca, struct oneib_error *err)
{
    char pf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&hca->pci, pf);
    if (hca->vfs_enabled == 0)
        return 0;
    hca->vfs = oneib_alloc(hca->vfs_enabled, sizeof *hca->vfs);
    for (uint16_t i = 0; i < hca->vfs_enabled; i++, hca->vf_count++)
        if (read_vf(pf, i, &hca->vfs[i], err) < 0)
            return -1;
    return 0;
}

/* The alias index of the function that an iov directory is of, from the first port that it has: a
 * VF may have only one of the adapter's. NOT_FOUND: it has none. */
static int read_alias(const struct oneib_hca *hca, const char *directory, uint64_t *alias,
                      struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    for (size_t i = 0; i < hca->port_count; i++) {
        if (oneib_node_path(path, sizeof path, err,
                            ONEIB_CLASS_PATH "/%s/iov/%s/ports/%u/gid_idx/0", hca->name, directory,
                            hca->ports[i].number) < 0)
            return -1;
        if (oneib_attribute_decimal(path, UINT16_MAX, alias, err) == 0)
            return 0;
        if (err->code != ONEIB_ERROR_NOT_FOUND)
            return -1;
    }
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "%s: iov/%s has no port", hca->name, directory);
}

/* Alias 0 is the PF, k + 1 is virtfn k. */
static int take_directory(struct oneib_hca *hca, const char *directory, struct oneib_error *err)
{
    uint64_t alias;
    if (read_alias(hca, directory, &alias, err) < 0)
        return err->code == ONEIB_ERROR_NOT_FOUND ? 0 : -1;
    if (alias == 0 || alias > hca->vf_count)
        return 0;
    struct oneib_vf *vf = &hca->vfs[alias - 1];
    if (vf->iov_directory[0])
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "%s: iov/%s and iov/%s are both said to be virtual function %u",
                          hca->name, vf->iov_directory, directory, vf->index);
    if (strlen(directory) >= sizeof vf->iov_directory)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "%s: the directory of virtual function %u below iov/ is not named like a "
                          "PCI address",
                          hca->name, vf->index);
    strcpy(vf->iov_directory, directory);
    return 0;
}

/* The driver counts out the directories' names, and does so wrongly on some platforms
 * (iov_get_name() in mlx4/sysfs.c): which VF a directory is of is what gid_idx says. */
static int find_directories(struct oneib_hca *hca, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    oneib_autofree char **names = NULL;
    size_t count;
    if (oneib_node_path(path, sizeof path, err, ONEIB_CLASS_PATH "/%s/iov", hca->name) < 0 ||
        oneib_attribute_list(path, &names, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], "ports") != 0 && take_directory(hca, names[i], err) < 0)
            return -1;
    return 0;
}

void oneib_hca_read_vfs(struct oneib_hca *hca)
{
    struct oneib_error err;
    if (list_vfs(hca, &err) < 0)
        oneib_hca_note_fault(hca, &err);
    if (hca->driver == ONEIB_HCA_MLX4 && hca->vf_count > 0 && find_directories(hca, &err) < 0)
        oneib_hca_note_fault(hca, &err);
}
