// SPDX-License-Identifier: Apache-2.0
/* The kernel driver that holds a VF: files of Documentation/ABI/testing/sysfs-bus-pci. */
#include "hca/vf_ops.h"

#include "base/cleanup.h"
#include "hca/attribute.h"
#include "hca/place.h"
#include <net/if.h>
#include <stdio.h>
#include <string.h>

/* It only holds a VF for a VM; the host itself does not use the VF through it. */
#define PASSES_THROUGH "vfio-pci"

static int device_path(char path[ONEIB_NODE_PATH_SIZE], const struct oneib_vf *vf,
                       const char *below, struct oneib_error *err)
{
    char pci[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&vf->pci, pci);
    return oneib_node_path(path, ONEIB_NODE_PATH_SIZE, err, "/sys/bus/pci/devices/%s/%s", pci,
                           below);
}

/* "" when none has it. */
static int read_driver(const struct oneib_vf *vf, char *driver, size_t size,
                       struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    struct oneib_error failure;
    if (device_path(path, vf, "driver", err) < 0)
        return -1;
    if (oneib_attribute_link(path, driver, size, &failure) == 0)
        return 0;
    driver[0] = '\0';
    if (failure.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    *err = failure;
    return -1;
}

int oneib_vf_host_driver(const struct oneib_vf *vf, char *driver, size_t size,
                         struct oneib_error *err)
{
    if (read_driver(vf, driver, size, err) < 0)
        return -1;
    if (strcmp(driver, PASSES_THROUGH) == 0)
        driver[0] = '\0';
    return 0;
}

static int check_interface(const struct oneib_vf *vf, const char *name, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE], below[IFNAMSIZ + 16];
    uint64_t flags;
    snprintf(below, sizeof below, "net/%.*s/flags", IFNAMSIZ, name);
    if (device_path(path, vf, below, err) < 0 ||
        oneib_attribute_hex(path, UINT32_MAX, &flags, err) < 0)
        return -1;
    if (!(flags & IFF_UP))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "its network interface %s is up, so that the host uses it; keep it for the "
                      "host (node.host_vfs), or take the interface down",
                      name);
}

int oneib_vf_check_unused(const struct oneib_vf *vf, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    oneib_autofree char **names = NULL;
    size_t count;
    if (device_path(path, vf, "net", err) < 0 ||
        oneib_attribute_list(path, &names, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (check_interface(vf, names[i], err) < 0)
            return -1;
    return 0;
}

static int unbind(const struct oneib_vf *vf, const char *pci, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    return device_path(path, vf, "driver/unbind", err) < 0 ? -1
                                                           : oneib_attribute_write(path, pci, err);
}

static int bind_to(const char *driver, const char *pci, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    if (oneib_node_path(path, sizeof path, err, "/sys/bus/pci/drivers/%s/bind", driver) < 0)
        return -1;
    if (oneib_attribute_write(path, pci, err) < 0)
        return oneib_wrap(err, "it has no driver now; echo %s > %s gives it back", pci, path);
    return 0;
}

int oneib_vf_rebind(const struct oneib_vf *vf, const char *driver, struct oneib_error *err)
{
    char pci[ONEIB_PCI_TEXT_SIZE], now[sizeof vf->driver];
    oneib_pci_format(&vf->pci, pci);
    if (oneib_vf_check_unused(vf, err) < 0 || unbind(vf, pci, err) < 0 ||
        bind_to(driver, pci, err) < 0 || read_driver(vf, now, sizeof now, err) < 0)
        return -1;
    if (strcmp(now, driver) == 0)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "it was given to driver %s, but %s has it", driver,
                      now[0] ? now : "none");
}
