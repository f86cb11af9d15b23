// SPDX-License-Identifier: Apache-2.0
/*
 * GUIDs and link state of VFs over rtnetlink (linux/if_link.h, linux/rtnetlink.h; kernel 4.7,
 * reading back 5.5), addressed to the PF's IPoIB interface, whatever its name. For core/hca alone.
 * Messages are the ones that iproute2's `ip link set DEV vf N ...` sends, byte for byte: building
 * is pure, and tested against it.
 */
#ifndef ONEIB_HCA_VF_NETLINK_H
#define ONEIB_HCA_VF_NETLINK_H

#include "base/error.h"
#include "ib/guid.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oneib_vf_link { ONEIB_VF_LINK_AUTO, ONEIB_VF_LINK_ENABLE, ONEIB_VF_LINK_DISABLE };

enum oneib_vf_guid_kind { ONEIB_VF_NODE_GUID, ONEIB_VF_PORT_GUID };

#define ONEIB_NETLINK_SIZE 256

/* Each returns the length of the message in `buffer` (ONEIB_NETLINK_SIZE bytes, aligned for
 * struct nlmsghdr). sequence is nlmsg_seq. */
size_t oneib_netlink_set_guid(void *buffer, unsigned ifindex, uint32_t vf,
                              enum oneib_vf_guid_kind kind, oneib_guid guid, uint32_t sequence);
size_t oneib_netlink_set_link(void *buffer, unsigned ifindex, uint32_t vf, enum oneib_vf_link link,
                              uint32_t sequence);

/* Asks about all VFs of the interface, 0: of all interfaces: RTM_GETLINK. */
size_t oneib_netlink_ask_vfs(void *buffer, unsigned ifindex, uint32_t sequence);

/* What the kernel says about one VF (RTM_GETLINK with RTEXT_FILTER_VF). */
struct oneib_netlink_vf {
    oneib_guid node_guid, port_guid; /* 0: the kernel does not tell */
    enum oneib_vf_link link;
};

/* Pure: reads the answer to RTM_GETLINK; NOT_FOUND when it does not tell of that VF. */
int oneib_netlink_parse_vf(const void *message, size_t length, uint32_t vf,
                           struct oneib_netlink_vf *state, struct oneib_error *err);

/* Likewise, in one of several messages about all interfaces; !*found: none of them was about that
 * interface, and more are to come. -1: the last one was among them, too. */
int oneib_netlink_find_vf(const void *messages, size_t length, unsigned ifindex, uint32_t vf,
                          struct oneib_netlink_vf *state, bool *found, struct oneib_error *err);

/* Talks to the kernel; UNREACHABLE, or SYSTEM with what the kernel answered (EOPNOTSUPP, EPERM). */
int oneib_netlink_send(const void *message, size_t length, struct oneib_error *err);
/* Where the kernel does not answer for that interface, by what it says of all of them. */
int oneib_netlink_read_vf(unsigned ifindex, uint32_t vf, struct oneib_netlink_vf *state,
                          struct oneib_error *err);

#endif
