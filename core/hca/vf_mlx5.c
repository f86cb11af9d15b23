// SPDX-License-Identifier: Apache-2.0
/*
 * mlx5: a virtual function is a port of its own, closed by taking its link down. The kernel's way
 * is netlink to an IPoIB interface of the physical function; files of NVIDIA's driver are used
 * where that cannot be.
 */
#include "hca/vf_ops.h"

#include "base/cleanup.h"
#include "hca/attribute.h"
#include "hca/place.h"
#include <errno.h>
#include <linux/if_arp.h>
#include <string.h>

/* One VF, and how it is reached. */
struct target {
    const struct oneib_hca *hca;
    const struct oneib_vf *vf;
    unsigned ifindex; /* 0: by the files */
    bool has_files;
};

/* ---- the way --------------------------------------------------------------------------------- */

/* 0 when that interface is not IPoIB, or cannot be read. */
static unsigned ipoib_index(const struct oneib_hca *hca, const char *name)
{
    char path[ONEIB_NODE_PATH_SIZE];
    struct oneib_error ignored;
    uint64_t type, ifindex;
    if (oneib_node_path(path, sizeof path, &ignored, ONEIB_CLASS_PATH "/%s/device/net/%s/type",
                        hca->name, name) < 0 ||
        oneib_attribute_decimal(path, UINT16_MAX, &type, &ignored) < 0 ||
        type != ARPHRD_INFINIBAND ||
        oneib_node_path(path, sizeof path, &ignored, ONEIB_CLASS_PATH "/%s/device/net/%s/ifindex",
                        hca->name, name) < 0 ||
        oneib_attribute_decimal(path, INT32_MAX, &ifindex, &ignored) < 0)
        return 0;
    return (unsigned)ifindex;
}

int oneib_vf_find_ipoib(const struct oneib_hca *hca, unsigned *ifindex, struct oneib_error *err)
{
    char path[ONEIB_NODE_PATH_SIZE];
    oneib_autofree char **names = NULL;
    size_t count;
    *ifindex = 0;
    if (oneib_node_path(path, sizeof path, err, ONEIB_CLASS_PATH "/%s/device/net", hca->name) < 0 ||
        oneib_attribute_list(path, &names, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count && *ifindex == 0; i++)
        *ifindex = ipoib_index(hca, names[i]);
    return 0;
}

static int no_way(const struct oneib_hca *hca, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "%s has neither an IPoIB interface, through which the kernel changes virtual "
                      "functions, nor NVIDIA's sriov files; load ib_ipoib (modprobe ib_ipoib)",
                      hca->name);
}

static int reach(const struct oneib_hca *hca, const struct oneib_vf *vf, struct target *target,
                 struct oneib_error *err)
{
    *target = (struct target){hca, vf, 0, oneib_vf_nvidia_has_files(hca, vf)};
    /* The interfaces of a simulated node are not this kernel's. */
    if (!oneib_node_is_simulated() && oneib_vf_find_ipoib(hca, &target->ifindex, err) < 0 &&
        !target->has_files)
        return -1;
    return target->ifindex || target->has_files ? 0 : no_way(hca, err);
}

/* After a failure of netlink the files are used, if there are any, from then on. */
static bool falls_back(struct target *target, int result)
{
    if (result == 0 || !target->has_files)
        return false;
    target->ifindex = 0;
    return true;
}

static int read_vf(struct target *target, struct oneib_netlink_vf *state, struct oneib_error *err)
{
    if (target->ifindex) {
        const int result = oneib_netlink_read_vf(target->ifindex, target->vf->index, state, err);
        if (!falls_back(target, result))
            return result;
    }
    return oneib_vf_nvidia_read(target->hca, target->vf, state, err);
}

/* A change that the kernel can make by netlink and does not make: the files are no way around it. */
static bool is_refused(int result, const struct oneib_error *err)
{
    return result < 0 && err->code != ONEIB_ERROR_NOT_FOUND &&
           !(err->code == ONEIB_ERROR_SYSTEM && err->system_errno == EOPNOTSUPP);
}

static int write_guid(struct target *target, enum oneib_vf_guid_kind kind, oneib_guid guid,
                      struct oneib_error *err)
{
    _Alignas(struct nlmsghdr) char message[ONEIB_NETLINK_SIZE];
    if (target->ifindex) {
        const size_t length =
            oneib_netlink_set_guid(message, target->ifindex, target->vf->index, kind, guid, 1);
        const int result = oneib_netlink_send(message, length, err);
        if (is_refused(result, err) || !falls_back(target, result))
            return result;
    }
    return oneib_vf_nvidia_set_guid(target->hca, target->vf, kind, guid, err);
}

static int write_link(struct target *target, enum oneib_vf_link link, struct oneib_error *err)
{
    _Alignas(struct nlmsghdr) char message[ONEIB_NETLINK_SIZE];
    if (target->ifindex) {
        const size_t length =
            oneib_netlink_set_link(message, target->ifindex, target->vf->index, link, 1);
        const int result = oneib_netlink_send(message, length, err);
        if (is_refused(result, err) || !falls_back(target, result))
            return result;
    }
    return oneib_vf_nvidia_set_link(target->hca, target->vf, link, err);
}

/* ---- written and read back ------------------------------------------------------------------- */

static const char *link_name(enum oneib_vf_link link)
{
    switch (link) {
    case ONEIB_VF_LINK_AUTO:
        return "auto";
    case ONEIB_VF_LINK_ENABLE:
        return "enable";
    case ONEIB_VF_LINK_DISABLE:
        break;
    }
    return "disable";
}

static int write_and_read_link(struct target *target, enum oneib_vf_link link,
                               enum oneib_vf_link *now, struct oneib_error *err)
{
    struct oneib_netlink_vf state;
    if (write_link(target, link, err) < 0 || read_vf(target, &state, err) < 0)
        return -1;
    *now = state.link;
    return 0;
}

/* Written even if it says so already: NVIDIA's files say what the driver was told last, by them
 * perhaps alone. */
static int set_link(struct target *target, enum oneib_vf_link link, struct oneib_error *err)
{
    const unsigned ifindex = target->ifindex;
    enum oneib_vf_link now;
    if (write_and_read_link(target, link, &now, err) < 0 ||
        (target->ifindex != ifindex && write_and_read_link(target, link, &now, err) < 0))
        return -1;
    if (now == link)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "its link is still \"%s\" after \"%s\" was set: the driver took it without "
                      "effect",
                      link_name(now), link_name(link));
}

static bool has_guid(const struct oneib_netlink_vf *state, oneib_guid guid)
{
    return state->node_guid == guid && state->port_guid == guid;
}

static int set_both_guids(struct target *target, oneib_guid guid, struct oneib_error *err)
{
    struct oneib_netlink_vf now;
    if (write_guid(target, ONEIB_VF_NODE_GUID, guid, err) < 0 ||
        write_guid(target, ONEIB_VF_PORT_GUID, guid, err) < 0 || read_vf(target, &now, err) < 0)
        return -1;
    if (has_guid(&now, guid))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "its node and port GUID are 0x%016llx and 0x%016llx after 0x%016llx was set: "
                      "the driver took it without effect, or does not tell (Linux before 5.5)",
                      (unsigned long long)now.node_guid, (unsigned long long)now.port_guid,
                      (unsigned long long)guid);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void note_ports(const struct oneib_hca *hca, struct oneib_vf_state *state)
{
    for (size_t i = 0; i < hca->port_count; i++) {
        if (hca->ports[i].number <= 15)
            state->ports |= (uint16_t)(1u << hca->ports[i].number);
        state->has_ethernet |= hca->ports[i].link_layer == ONEIB_LINK_ETHERNET;
    }
}

static int read_state(const struct oneib_hca *hca, const struct oneib_vf *vf,
                      struct oneib_vf_state *state, struct oneib_error *err)
{
    struct target target;
    struct oneib_netlink_vf now;
    if (reach(hca, vf, &target, err) < 0 || read_vf(&target, &now, err) < 0)
        return -1;
    note_ports(hca, state);
    state->closed = now.link == ONEIB_VF_LINK_DISABLE;
    if (!state->closed && hca->port_count > 0)
        state->open_port = hca->ports[0].number;
    if (oneib_guid_is_set(now.port_guid))
        state->guid = now.port_guid;
    else if (oneib_guid_is_set(now.node_guid))
        state->guid = now.node_guid;
    state->guid_accepted = state->guid != 0 && has_guid(&now, state->guid);
    state->guid_shown = state->guid != 0;
    state->guid_gone = state->guid == 0;
    return 0;
}

static int close_vf(const struct oneib_hca *hca, const struct oneib_vf *vf, struct oneib_error *err)
{
    struct target target;
    return reach(hca, vf, &target, err) < 0 ? -1 : set_link(&target, ONEIB_VF_LINK_DISABLE, err);
}

static int check_port(const struct oneib_hca *hca, uint8_t number, struct oneib_error *err)
{
    const struct oneib_port *port = oneib_hca_find_port(hca, number);
    if (port && port->link_layer == ONEIB_LINK_INFINIBAND)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED, "it has no InfiniBand port %u", number);
}

static int check_all_infiniband(const struct oneib_hca *hca, struct oneib_error *err)
{
    for (size_t i = 0; i < hca->port_count; i++)
        if (hca->ports[i].link_layer == ONEIB_LINK_ETHERNET)
            return oneib_fail(err, ONEIB_ERROR_REFUSED, "a port of it is Ethernet");
    return 0;
}

static int open_vf(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                   uint16_t index, struct oneib_error *err)
{
    struct target target;
    struct oneib_error ignored;
    (void)index; /* its P_Keys are the subnet manager's */
    if (check_port(hca, port, err) < 0 || check_all_infiniband(hca, err) < 0 ||
        reach(hca, vf, &target, err) < 0)
        return -1;
    if (set_link(&target, ONEIB_VF_LINK_AUTO, err) == 0)
        return 0;
    write_link(&target, ONEIB_VF_LINK_DISABLE, &ignored);
    return -1;
}

/* A driver of the host's reads the GUID when it takes the VF. */
static int tell_host_driver(const struct oneib_vf *vf, const char *driver, struct oneib_error *err)
{
    return driver[0] ? oneib_vf_rebind(vf, driver, err) : 0;
}

/* GUIDs before the link comes up: some firmware leaves the port down otherwise. */
static int set_guid_while_down(struct target *target, enum oneib_vf_link link, oneib_guid guid,
                               const char *driver, struct oneib_error *err)
{
    const bool was_up = link != ONEIB_VF_LINK_DISABLE;
    if ((was_up && set_link(target, ONEIB_VF_LINK_DISABLE, err) < 0) ||
        set_both_guids(target, guid, err) < 0 || tell_host_driver(target->vf, driver, err) < 0)
        return -1;
    return was_up ? set_link(target, link, err) : 0;
}

static int set_guid(const struct oneib_hca *hca, const struct oneib_vf *vf, uint8_t port,
                    oneib_guid guid, struct oneib_error *err)
{
    char driver[sizeof vf->driver];
    struct target target;
    struct oneib_netlink_vf now;
    if (check_port(hca, port, err) < 0 || reach(hca, vf, &target, err) < 0 ||
        read_vf(&target, &now, err) < 0)
        return -1;
    if (has_guid(&now, guid))
        return 0;
    if (oneib_vf_host_driver(vf, driver, sizeof driver, err) < 0 ||
        oneib_vf_check_unused(vf, err) < 0)
        return -1;
    return set_guid_while_down(&target, now.link, guid, driver, err);
}

static int clear_guid(const struct oneib_hca *hca, const struct oneib_vf *vf,
                      struct oneib_error *err)
{
    struct target target;
    struct oneib_netlink_vf now;
    if (reach(hca, vf, &target, err) < 0 || read_vf(&target, &now, err) < 0)
        return -1;
    if (has_guid(&now, ONEIB_GUID_ALL_ONES))
        return 0;
    return set_both_guids(&target, ONEIB_GUID_ALL_ONES, err);
}

const struct oneib_vf_driver oneib_vf_mlx5 = {
    .read = read_state,
    .close = close_vf,
    .open = open_vf,
    .set_guid = set_guid,
    .clear_guid = clear_guid,
};
