// SPDX-License-Identifier: Apache-2.0
#include "hca/hca.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/number.h"
#include "hca/attribute.h"
#include "hca/firmware.h"
#include "hca/hca_internal.h"
#include "hca/place.h"
#include <errno.h>

void oneib_hca_note_fault(struct oneib_hca *hca, const struct oneib_error *err)
{
    if (hca->fault.code == ONEIB_ERROR_NONE)
        hca->fault = *err;
}

bool oneib_parse_groups(const char *text, unsigned groups, uint64_t *low)
{
    uint64_t sum = 0;
    if (strlen(text) != groups * 5 - 1)
        return false;
    for (size_t i = 0; text[i]; i++) {
        const unsigned digit = oneib_hex_digit(text[i]);
        if (i % 5 == 4 ? text[i] != ':' : digit > 15)
            return false;
        if (i % 5 != 4)
            sum = sum << 4 | digit;
    }
    *low = sum;
    return true;
}

/* Strict as oneib_attribute_decimal() is, which knows no signs. */
static bool parse_numa_node(const char *text, int16_t *node)
{
    uint64_t number;
    if (strcmp(text, "-1") == 0) {
        *node = -1;
        return true;
    }
    if (!oneib_parse_decimal(text, INT16_MAX, &number))
        return false;
    *node = (int16_t)number;
    return true;
}

int oneib_numa_node_read(const char *pci, int16_t *node, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE], text[ONEIB_ATTRIBUTE_SIZE];
    *node = -1;
    if (oneib_node_path(path, sizeof path, err, "/sys/bus/pci/devices/%s/numa_node", pci) < 0)
        return -1;
    if (oneib_attribute_read(path, text, sizeof text, err) < 0)
        return err->code == ONEIB_ERROR_NOT_FOUND ? 0 : -1;
    if (parse_numa_node(text, node))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT, "%s is not the number of a NUMA node", path);
}

/* Whether it is a physical function, or no virtual one, of a PCI adapter. */
static bool is_adapter(struct oneib_hca *hca)
{
    char path[ONEIB_NODE_PATH_SIZE], name[ONEIB_ATTRIBUTE_SIZE];
    struct oneib_error err;
    if (oneib_node_path(path, sizeof path, &err, ONEIB_CLASS_PATH "/%s/device", hca->name) < 0 ||
        oneib_attribute_link(path, name, sizeof name, &err) < 0) {
        oneib_hca_note_fault(hca, &err);
        return err.code != ONEIB_ERROR_NOT_FOUND;
    }
    /* Software devices stand on network interfaces. */
    if (!oneib_pci_parse(name, &hca->pci))
        return false;
    if (oneib_node_path(path, sizeof path, &err, "/sys/bus/pci/devices/%s/physfn", name) < 0 ||
        oneib_attribute_link(path, name, sizeof name, &err) < 0) {
        if (err.code != ONEIB_ERROR_NOT_FOUND)
            oneib_hca_note_fault(hca, &err);
        return true;
    }
    return false;
}

static int read_driver(struct oneib_hca *hca, const char *pci, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE], name[ONEIB_ATTRIBUTE_SIZE];
    if (oneib_node_path(path, sizeof path, err, "/sys/bus/pci/devices/%s/driver", pci) < 0 ||
        oneib_attribute_link(path, name, sizeof name, err) < 0)
        return -1;
    hca->driver = strcmp(name, "mlx4_core") == 0   ? ONEIB_HCA_MLX4
                  : strcmp(name, "mlx5_core") == 0 ? ONEIB_HCA_MLX5
                                                   : ONEIB_HCA_OTHER;
    return 0;
}

static int read_node_guid(struct oneib_hca *hca, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE], text[ONEIB_ATTRIBUTE_SIZE];
    if (oneib_node_path(path, sizeof path, err, ONEIB_CLASS_PATH "/%s/node_guid", hca->name) < 0 ||
        oneib_attribute_read(path, text, sizeof text, err) < 0)
        return -1;
    if (oneib_parse_groups(text, 4, &hca->node_guid))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT, "%s does not hold a GUID", path);
}

/* An adapter without SR-IOV has no such file. */
static int read_vf_counts(struct oneib_hca *hca, const char *pci, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    uint64_t supported = 0, enabled = 0;
    if (oneib_node_path(path, sizeof path, err, "/sys/bus/pci/devices/%s/sriov_totalvfs", pci) < 0)
        return -1;
    if (oneib_attribute_decimal(path, UINT16_MAX, &supported, err) < 0)
        return err->code == ONEIB_ERROR_NOT_FOUND ? 0 : -1;
    hca->vfs_supported = (uint16_t)supported;
    if (supported == 0)
        return 0;
    if (oneib_node_path(path, sizeof path, err, "/sys/bus/pci/devices/%s/sriov_numvfs", pci) < 0 ||
        oneib_attribute_decimal(path, supported, &enabled, err) < 0)
        return -1;
    hca->vfs_enabled = (uint16_t)enabled;
    return 0;
}

/* One step after the other although an earlier one failed: what can be seen is shown. */
static void read_adapter(struct oneib_hca *hca)
{
    struct oneib_error err;
    char pci[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&hca->pci, pci);
    if (read_driver(hca, pci, &err) < 0)
        oneib_hca_note_fault(hca, &err);
    if (read_node_guid(hca, &err) < 0)
        oneib_hca_note_fault(hca, &err);
    if (oneib_numa_node_read(pci, &hca->numa_node, &err) < 0)
        oneib_hca_note_fault(hca, &err);
    if (read_vf_counts(hca, pci, &err) < 0)
        oneib_hca_note_fault(hca, &err);
}

static bool is_gone(const struct oneib_hca *hca)
{
    char path[ONEIB_NODE_PATH_SIZE];
    struct oneib_error err;
    return oneib_node_path(path, sizeof path, &err, ONEIB_CLASS_PATH "/%s", hca->name) == 0 &&
           access(path, F_OK) < 0 && errno == ENOENT;
}

/* Whether it belongs to the list. One that went away meanwhile has faults of no interest. */
static bool read_hca(struct oneib_hca *hca, unsigned what)
{
    if (!is_adapter(hca))
        return false;
    read_adapter(hca);
    oneib_hca_read_ports(hca, what & ONEIB_HCA_PKEYS);
    if (what & ONEIB_HCA_VFS)
        oneib_hca_read_vfs(hca);
    if (what & ONEIB_HCA_FIRMWARE && hca->driver == ONEIB_HCA_MLX5)
        hca->firmware = oneib_firmware_open(hca);
    if (hca->fault.code == ONEIB_ERROR_NONE)
        return hca->port_count > 0;
    return !is_gone(hca);
}

static void clear_hca(struct oneib_hca *hca)
{
    for (size_t i = 0; i < hca->port_count; i++)
        free(hca->ports[i].pkeys);
    free(hca->ports);
    free(hca->vfs);
    oneib_firmware_close(hca->firmware);
}

static void refuse_name(struct oneib_hcas *hcas, const char *name)
{
    oneib_autotext struct oneib_text shown = {0};
    if (hcas->refused.code != ONEIB_ERROR_NONE)
        return;
    oneib_text_append_escaped(&shown, name, ONEIB_DEVICE_NAME_SIZE * 2);
    oneib_fail(&hcas->refused, ONEIB_ERROR_INPUT,
               "the RDMA device \"%s\" is left out: a name has up to %d letters, digits, '_', '.' "
               "and '-'; rename it (rdma dev set)",
               shown.data ? shown.data : "", ONEIB_DEVICE_NAME_SIZE - 1);
}

static void add_hca(struct oneib_hcas *hcas, const char *name, unsigned what)
{
    const size_t length = strlen(name);
    if (!oneib_device_name_is_valid(name, length)) {
        refuse_name(hcas, name);
        return;
    }
    ONEIB_RESERVE(hcas->items, hcas->capacity, hcas->count + 1);
    struct oneib_hca *hca = &hcas->items[hcas->count];
    *hca = (struct oneib_hca){.numa_node = -1};
    memcpy(hca->name, name, length);
    if (read_hca(hca, what))
        hcas->count++;
    else
        clear_hca(hca);
}

int oneib_hcas_read(unsigned what, struct oneib_hcas *hcas, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    oneib_autofree char **names = NULL;
    size_t count;
    *hcas = (struct oneib_hcas){0};
    if (oneib_node_path(path, sizeof path, err, ONEIB_CLASS_PATH) < 0 ||
        oneib_attribute_list(path, &names, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        add_hca(hcas, names[i], what);
    return 0;
}

void oneib_hcas_clear(struct oneib_hcas *hcas)
{
    for (size_t i = 0; i < hcas->count; i++)
        clear_hca(&hcas->items[i]);
    free(hcas->items);
    *hcas = (struct oneib_hcas){0};
}

const struct oneib_hca *oneib_hcas_find(const struct oneib_hcas *hcas, const char *name)
{
    for (size_t i = 0; i < hcas->count; i++)
        if (strcmp(hcas->items[i].name, name) == 0)
            return &hcas->items[i];
    return NULL;
}

const struct oneib_port *oneib_hca_find_port(const struct oneib_hca *hca, uint8_t number)
{
    for (size_t i = 0; i < hca->port_count; i++)
        if (hca->ports[i].number == number)
            return &hca->ports[i];
    return NULL;
}

const struct oneib_vf *oneib_hca_find_vf(const struct oneib_hca *hca, const struct oneib_pci *vf)
{
    for (size_t i = 0; i < hca->vf_count; i++)
        if (oneib_pci_compare(&hca->vfs[i].pci, vf) == 0)
            return &hca->vfs[i];
    return NULL;
}

const struct oneib_hca *oneib_hcas_of_vf(const struct oneib_hcas *hcas, const struct oneib_pci *pci,
                                         const struct oneib_vf **vf)
{
    *vf = NULL;
    for (size_t i = 0; i < hcas->count; i++) {
        *vf = oneib_hca_find_vf(&hcas->items[i], pci);
        if (*vf)
            return &hcas->items[i];
    }
    return NULL;
}
