// SPDX-License-Identifier: Apache-2.0
#include "hca/firmware.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "hca/attribute.h"
#include "hca/hca_internal.h"
#include "hca/place.h"
#include "hca/vport_query.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- include/uapi/fwctl/fwctl.h: headers of Linux before 6.15 do not have it ------------------ */

#define FWCTL_TYPE 0x9A
#define FWCTL_INFO _IO(FWCTL_TYPE, 0)
#define FWCTL_RPC _IO(FWCTL_TYPE, 1)

#define FWCTL_DEVICE_TYPE_MLX5 1    /* enum fwctl_device_type */
#define FWCTL_RPC_DEBUG_READ_ONLY 1 /* enum fwctl_rpc_scope */

struct fwctl_info {
    uint32_t size;
    uint32_t flags;
    uint32_t out_device_type;
    uint32_t device_data_len;
    uint64_t out_device_data __attribute__((aligned(8)));
};

struct fwctl_rpc {
    uint32_t size;
    uint32_t scope;
    uint32_t in_len;
    uint32_t out_len;
    uint64_t in __attribute__((aligned(8)));
    uint64_t out __attribute__((aligned(8)));
};

#define PORT_ACTIVE 4 /* IBA PortInfo.PortState */

/* ---- the device ------------------------------------------------------------------------------ */

struct oneib_firmware {
    int fd;                 /* -1: it is not open, */
    struct oneib_error why; /* for this reason */
    uint16_t pkey_count;    /* entries of a virtual port's table: as many as of the adapter's own */
    bool has_answered;
};

/* The device's parent is the PCI device: mlx5ctl_probe(). */
static bool is_of(const char *name, const char *pci)
{
    char path[ONEIB_NODE_PATH_SIZE], parent[ONEIB_ATTRIBUTE_SIZE];
    struct oneib_error ignored;
    return oneib_node_path(path, sizeof path, &ignored, ONEIB_FWCTL_CLASS "/%s/device", name) ==
               0 &&
           oneib_attribute_link(path, parent, sizeof parent, &ignored) == 0 &&
           strcmp(parent, pci) == 0;
}

static int find_device(const struct oneib_hca *hca, char path[ONEIB_NODE_PATH_SIZE],
                       struct oneib_error *err)
{
    char pci[ONEIB_PCI_TEXT_SIZE];
    oneib_autofree char **names = NULL;
    size_t count;
    oneib_pci_format(&hca->pci, pci);
    if (oneib_node_path(path, ONEIB_NODE_PATH_SIZE, err, ONEIB_FWCTL_CLASS) < 0 ||
        oneib_attribute_list(path, &names, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (is_of(names[i], pci))
            return oneib_node_path(path, ONEIB_NODE_PATH_SIZE, err, "/dev/fwctl/%s", names[i]);
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "the kernel has no fwctl device of %s (Linux 6.15, module mlx5_fwctl)",
                      hca->name);
}

static int check_type(int fd, const char *path, struct oneib_error *err)
{
    struct fwctl_info info = {.size = sizeof info};
    if (ioctl(fd, FWCTL_INFO, &info) < 0)
        return oneib_fail_errno(err, errno, "asking %s what it is", path);
    if (info.out_device_type != FWCTL_DEVICE_TYPE_MLX5)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "%s is of another kind (%u) than mlx5", path,
                          info.out_device_type);
    return 0;
}

/* The kernel asks firmware for as many entries as its own table has (vport.c). */
static int count_pkeys(const struct oneib_hca *hca, uint16_t *pkey_count, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    oneib_autoattributes struct oneib_attribute_table table = {0};
    size_t count;
    if (hca->port_count != 1)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "%s has not one port but %zu", hca->name,
                          hca->port_count);
    if (oneib_node_path(path, sizeof path, err, ONEIB_CLASS_PATH "/%s/ports/%u/pkeys", hca->name,
                        hca->ports[0].number) < 0 ||
        oneib_attribute_table_open(path, &table, err) < 0 ||
        oneib_attribute_table_count(&table, ONEIB_VIRTUAL_PKEYS_MAX, &count, err) < 0)
        return -1;
    *pkey_count = (uint16_t)count;
    return 0;
}

static int open_device(const struct oneib_hca *hca, struct oneib_firmware *firmware,
                       struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    if (find_device(hca, path, err) < 0 || count_pkeys(hca, &firmware->pkey_count, err) < 0)
        return -1;
    oneib_autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return oneib_fail_errno(err, errno, "opening %s", path);
    if (check_type(fd, path, err) < 0)
        return -1;
    firmware->fd = oneib_steal_fd(&fd);
    return 0;
}

struct oneib_firmware *oneib_firmware_open(const struct oneib_hca *hca)
{
    struct oneib_firmware *firmware = oneib_alloc(1, sizeof *firmware);
    firmware->fd = -1;
    open_device(hca, firmware, &firmware->why);
    return firmware;
}

static bool is_same_device(int fd, int other)
{
    struct stat status, others;
    return fstat(fd, &status) == 0 && fstat(other, &others) == 0 &&
           status.st_dev == others.st_dev && status.st_ino == others.st_ino &&
           status.st_rdev == others.st_rdev;
}

/* A device that the kernel has made anew is another one. */
void oneib_firmware_inherit(struct oneib_firmware *firmware, const struct oneib_firmware *older)
{
    if (firmware && older && firmware->fd >= 0 && older->fd >= 0 &&
        is_same_device(firmware->fd, older->fd))
        firmware->has_answered |= older->has_answered;
}

void oneib_firmware_close(struct oneib_firmware *firmware)
{
    if (firmware && firmware->fd >= 0)
        close(firmware->fd);
    free(firmware);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* EBADMSG is mlx5ctl_fw_rpc()'s word for a command that is not let through. */
static bool is_refusal(int error)
{
    return error == EOPNOTSUPP || error == ENOTTY || error == EPERM || error == EACCES ||
           error == EBADMSG || error == EINVAL || error == EMSGSIZE;
}

static int fail_to_ask(int error, struct oneib_error *err)
{
    /* fwctl_fops_ioctl(): its driver has let go of the adapter. */
    if (error == ENODEV)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "its fwctl device has just gone");
    if (is_refusal(error))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the kernel does not let firmware be asked through fwctl: %s",
                          strerror(error));
    return oneib_fail_errno(err, error, "asking firmware through fwctl");
}

/* *length: the room for the answer; then how much came. */
static int ask(const struct oneib_firmware *firmware,
               const uint8_t request[ONEIB_VPORT_REQUEST_SIZE], uint8_t *answer, size_t *length,
               struct oneib_error *err)
{
    struct fwctl_rpc rpc = {
        .size = sizeof rpc,
        .scope = FWCTL_RPC_DEBUG_READ_ONLY,
        .in_len = ONEIB_VPORT_REQUEST_SIZE,
        .out_len = (uint32_t)*length,
        .in = (uintptr_t)request,
        .out = (uintptr_t)answer,
    };
    if (ioctl(firmware->fd, FWCTL_RPC, &rpc) < 0)
        return fail_to_ask(errno, err);
    /* The kernel says how much there was, of which it has given what there is room for. */
    if (rpc.out_len < *length)
        *length = rpc.out_len;
    return 0;
}

static int ask_guid(const struct oneib_firmware *firmware, uint16_t vf,
                    struct oneib_virtual_port *port, struct oneib_error *err)
{
    uint8_t request[ONEIB_VPORT_REQUEST_SIZE], answer[ONEIB_VPORT_GID_ANSWER_SIZE] = {0};
    size_t length = sizeof answer;
    oneib_vport_ask_gid(request, vf);
    if (ask(firmware, request, answer, &length, err) < 0)
        return -1;
    return oneib_vport_read_gid(answer, length, &port->guid, err);
}

static int ask_pkeys(const struct oneib_firmware *firmware, uint16_t vf,
                     struct oneib_virtual_port *port, struct oneib_error *err)
{
    uint8_t request[ONEIB_VPORT_REQUEST_SIZE];
    uint8_t answer[ONEIB_VPORT_PKEYS_ANSWER_SIZE(ONEIB_VIRTUAL_PKEYS_MAX)] = {0};
    size_t length = ONEIB_VPORT_PKEYS_ANSWER_SIZE(firmware->pkey_count);
    oneib_vport_ask_pkeys(request, vf);
    if (ask(firmware, request, answer, &length, err) < 0)
        return -1;
    port->pkey_count = firmware->pkey_count;
    return oneib_vport_read_pkeys(answer, length, port->pkeys, port->pkey_count, err);
}

static bool has_no_way(const struct oneib_firmware *firmware, const struct oneib_error *failure)
{
    return failure->code == ONEIB_ERROR_NOT_FOUND ||
           (failure->code == ONEIB_ERROR_REFUSED && !firmware->has_answered);
}

static struct oneib_virtual_port unseen(const struct oneib_error *why)
{
    return (struct oneib_virtual_port){.way = ONEIB_VIRTUAL_PORT_UNSEEN, .why = *why};
}

int oneib_firmware_read_port(const struct oneib_hca *hca, const struct oneib_vf *vf,
                             struct oneib_virtual_port *port, struct oneib_error *err)
{
    struct oneib_firmware *firmware = hca->firmware;
    struct oneib_error failure = {.code = ONEIB_ERROR_NOT_FOUND, .text = "it was not opened"};
    if (!firmware || firmware->fd < 0) {
        *port = unseen(firmware ? &firmware->why : &failure);
        return 0;
    }
    *port = (struct oneib_virtual_port){.way = ONEIB_VIRTUAL_PORT_FWCTL};
    if (ask_guid(firmware, vf->index, port, &failure) == 0 &&
        ask_pkeys(firmware, vf->index, port, &failure) == 0) {
        firmware->has_answered = true;
        return 0;
    }
    if (!has_no_way(firmware, &failure)) {
        *err = failure;
        return -1;
    }
    *port = unseen(&failure);
    return 0;
}

/* ---- the subnet manager ---------------------------------------------------------------------- */

/* Without an active link nobody has told firmware anything. */
static bool has_active_link(const struct oneib_hca *hca)
{
    return hca->port_count == 1 && hca->ports[0].link_layer == ONEIB_LINK_INFINIBAND &&
           hca->ports[0].state == PORT_ACTIVE;
}

enum oneib_sm_awareness oneib_firmware_ask_sm(const struct oneib_hca *hca)
{
    const struct oneib_firmware *firmware = hca->firmware;
    uint8_t request[ONEIB_VPORT_REQUEST_SIZE], answer[ONEIB_VPORT_CONTEXT_ANSWER_SIZE] = {0};
    size_t length = sizeof answer;
    struct oneib_error ignored;
    bool is_aware;
    if (!firmware || firmware->fd < 0 || !has_active_link(hca))
        return ONEIB_SM_UNKNOWN;
    oneib_vport_ask_context(request);
    if (ask(firmware, request, answer, &length, &ignored) < 0 ||
        oneib_vport_read_context(answer, length, &is_aware, &ignored) < 0)
        return ONEIB_SM_UNKNOWN;
    return is_aware ? ONEIB_SM_AWARE : ONEIB_SM_UNAWARE;
}

void oneib_firmware_note_sm(const struct oneib_hcas *hcas, struct oneib_findings *findings)
{
    for (size_t i = 0; i < hcas->count; i++) {
        const struct oneib_hca *hca = &hcas->items[i];
        if (hca->vf_count > 0 && oneib_firmware_ask_sm(hca) == ONEIB_SM_UNAWARE)
            oneib_findings_note(findings, ONEIB_FINDING_VIRTUAL_PORTS_UNSERVED,
                                "the subnet manager does not know virtual ports, as firmware of "
                                "%s says: its virtual functions get no P_Key",
                                hca->name);
    }
}
