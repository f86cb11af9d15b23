// SPDX-License-Identifier: Apache-2.0
#include "hca/vf_port.h"
#include "base/cleanup.h"
#include "hca/attribute.h"
#include "hca/firmware.h"
#include "hca/hca_internal.h"
#include "hca/place.h"
#include <string.h>

#define PORT 1 /* each function of mlx5 is a device with one port */

static int unseen(struct oneib_virtual_port *port, const char *words)
{
    *port = (struct oneib_virtual_port){.way = ONEIB_VIRTUAL_PORT_UNSEEN};
    oneib_fail(&port->why, ONEIB_ERROR_NOT_FOUND, "%s", words);
    return 0;
}

/* The RDMA device that the host's driver makes of the VF; "": there is none. */
static int find_device(const struct oneib_vf *vf, char name[ONEIB_DEVICE_NAME_SIZE],
                       struct oneib_error *err)
{
    char pci[ONEIB_PCI_TEXT_SIZE], path[ONEIB_NODE_PATH_SIZE];
    oneib_autofree char **names = NULL;
    size_t count;
    oneib_pci_format(&vf->pci, pci);
    name[0] = '\0';
    if (oneib_node_path(path, sizeof path, err, "/sys/bus/pci/devices/%s/infiniband", pci) < 0 ||
        oneib_attribute_list(path, &names, &count, err) < 0)
        return -1;
    if (count == 0)
        return 0;
    if (count > 1 || !oneib_device_name_is_valid(names[0], strlen(names[0])))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s does not hold one device with a usual name",
                          path);
    strcpy(name, names[0]);
    return 0;
}

static int read_device(const char *name, struct oneib_virtual_port *port, struct oneib_error *err)
{
    struct oneib_hca device = {0};
    struct oneib_port own = {.number = PORT};
    strcpy(device.name, name);
    if (oneib_port_read_guid(&device, &own, err) < 0 ||
        oneib_hca_reread_pkeys(&device, &own, err) < 0)
        return -1;
    oneib_autofree uint16_t *pkeys = own.pkeys;
    if (own.pkey_count > ONEIB_VIRTUAL_PKEYS_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "the P_Key table of %s has %u entries", name,
                          own.pkey_count);
    *port = (struct oneib_virtual_port){
        .way = ONEIB_VIRTUAL_PORT_SYSFS, .guid = own.guid, .pkey_count = own.pkey_count};
    memcpy(port->pkeys, pkeys, own.pkey_count * sizeof *pkeys);
    return 0;
}

/* A driver that lets go of the VF takes the device away under whoever reads it. */
static int is_gone(const struct oneib_vf *vf, const char *before, bool *gone,
                   struct oneib_error *err)
{
    char name[ONEIB_DEVICE_NAME_SIZE];
    if (find_device(vf, name, err) < 0)
        return -1;
    *gone = strcmp(name, before) != 0;
    return 0;
}

static int read_by_sysfs(const struct oneib_vf *vf, struct oneib_virtual_port *port,
                         struct oneib_error *err)
{
    char name[ONEIB_DEVICE_NAME_SIZE];
    struct oneib_error unread;
    bool gone;
    if (find_device(vf, name, err) < 0)
        return -1;
    if (!name[0])
        return unseen(port, "no driver of the host's shows it as a device");
    if (read_device(name, port, &unread) == 0)
        return 0;
    if (is_gone(vf, name, &gone, err) < 0)
        return -1;
    if (gone)
        return unseen(port, "the host's driver has just let go of it");
    *err = unread;
    return -1;
}

/* Firmware tells whoever has the VF. */
static int read_port(const struct oneib_hca *hca, const struct oneib_vf *vf,
                     struct oneib_virtual_port *port, struct oneib_error *err)
{
    if (oneib_firmware_read_port(hca, vf, port, err) < 0)
        return -1;
    if (port->way != ONEIB_VIRTUAL_PORT_UNSEEN)
        return 0;
    const struct oneib_error why = port->why;
    if (read_by_sysfs(vf, port, err) < 0)
        return -1;
    if (port->way != ONEIB_VIRTUAL_PORT_UNSEEN)
        return 0;
    const struct oneib_error also = port->why;
    oneib_fail(&port->why, ONEIB_ERROR_NOT_FOUND, "%s, and %s", why.text, also.text);
    return 0;
}

int oneib_vf_port_read(const struct oneib_hca *hca, const struct oneib_vf *vf,
                       struct oneib_virtual_port *port, struct oneib_error *err)
{
    if (hca->driver != ONEIB_HCA_MLX5)
        return unseen(port, "it has no port of its own");
    if (read_port(hca, vf, port, err) < 0)
        return oneib_wrap(err, "reading the port of virtual function %u of %s", vf->index,
                          hca->name);
    return 0;
}
