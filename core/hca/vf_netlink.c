// SPDX-License-Identifier: Apache-2.0
#include "hca/vf_netlink.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/time.h>

#define ANSWER_SECONDS 5 /* the kernel answers at once, or hangs in the adapter's firmware */

/* An attribute is at most 64 KiB long (its length is a u16): the list of VFs, and all others. */
#define ANSWER_SIZE (2u * 65536)

/* ---- building -------------------------------------------------------------------------------- */

static struct nlmsghdr *begin(void *buffer, uint16_t type, uint16_t flags, uint32_t sequence,
                              unsigned ifindex)
{
    struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
    message->nlmsg_type = type;
    message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    message->nlmsg_seq = sequence;
    struct ifinfomsg *interface = mnl_nlmsg_put_extra_header(message, sizeof *interface);
    interface->ifi_family = AF_UNSPEC;
    interface->ifi_index = (int)ifindex;
    return message;
}

/* iproute2 does not set NLA_F_NESTED here, and kernels before 5.2 know nothing of it. */
static struct nlattr *begin_nest(struct nlmsghdr *message, uint16_t type)
{
    struct nlattr *nest = mnl_attr_nest_start(message, type);
    nest->nla_type = type;
    return nest;
}

static size_t set_one(void *buffer, unsigned ifindex, uint32_t sequence, uint16_t type,
                      const void *value, size_t size)
{
    struct nlmsghdr *message = begin(buffer, RTM_NEWLINK, NLM_F_ACK, sequence, ifindex);
    struct nlattr *list = begin_nest(message, IFLA_VFINFO_LIST);
    struct nlattr *info = begin_nest(message, IFLA_VF_INFO);
    mnl_attr_put(message, type, size, value);
    mnl_attr_nest_end(message, info);
    mnl_attr_nest_end(message, list);
    return message->nlmsg_len;
}

size_t oneib_netlink_set_guid(void *buffer, unsigned ifindex, uint32_t vf,
                              enum oneib_vf_guid_kind kind, oneib_guid guid, uint32_t sequence)
{
    struct ifla_vf_guid value;
    memset(&value, 0, sizeof value); /* there is padding in it */
    value.vf = vf;
    value.guid = guid; /* in host byte order */
    return set_one(buffer, ifindex, sequence,
                   kind == ONEIB_VF_NODE_GUID ? IFLA_VF_IB_NODE_GUID : IFLA_VF_IB_PORT_GUID, &value,
                   sizeof value);
}

static uint32_t kernel_link(enum oneib_vf_link link)
{
    switch (link) {
    case ONEIB_VF_LINK_AUTO:
        return IFLA_VF_LINK_STATE_AUTO;
    case ONEIB_VF_LINK_ENABLE:
        return IFLA_VF_LINK_STATE_ENABLE;
    case ONEIB_VF_LINK_DISABLE:
        break;
    }
    return IFLA_VF_LINK_STATE_DISABLE;
}

size_t oneib_netlink_set_link(void *buffer, unsigned ifindex, uint32_t vf, enum oneib_vf_link link,
                              uint32_t sequence)
{
    const struct ifla_vf_link_state value = {.vf = vf, .link_state = kernel_link(link)};
    return set_one(buffer, ifindex, sequence, IFLA_VF_LINK_STATE, &value, sizeof value);
}

size_t oneib_netlink_ask_vfs(void *buffer, unsigned ifindex, uint32_t sequence)
{
    struct nlmsghdr *message =
        begin(buffer, RTM_GETLINK, ifindex ? 0 : NLM_F_DUMP, sequence, ifindex);
    /* Counters of a hundred VFs would outgrow the list's 64 KiB. */
    mnl_attr_put_u32(message, IFLA_EXT_MASK, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS);
    return message->nlmsg_len;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Attributes that stand in a row in `left` bytes. */
struct row {
    const struct nlattr *next;
    size_t left;
};

static int malformed(struct oneib_error *err)
{
    oneib_fail(err, ONEIB_ERROR_PROTOCOL,
               "the kernel's answer about virtual functions is cut or malformed");
    return -1;
}

static struct row row_in(const struct nlattr *nest)
{
    return (struct row){mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest)};
}

/* 1: *attribute is the next one; 0: there are no more; -1: its length is a lie. */
static int take(struct row *row, const struct nlattr **attribute, struct oneib_error *err)
{
    if (row->left == 0)
        return 0;
    if (row->left < sizeof **attribute || row->next->nla_len < sizeof **attribute ||
        row->next->nla_len > row->left)
        return malformed(err);
    *attribute = row->next;
    const size_t step = MNL_ALIGN((size_t)row->next->nla_len);
    if (step >= row->left) { /* the last one may come without its padding */
        row->left = 0;
        return 1;
    }
    row->next = mnl_attr_next(row->next);
    row->left -= step;
    return 1;
}

/* The first attribute of that type; NULL: there is none. */
static int find(struct row row, uint16_t type, const struct nlattr **found, struct oneib_error *err)
{
    const struct nlattr *attribute;
    int more;
    *found = NULL;
    while ((more = take(&row, &attribute, err)) > 0)
        if (mnl_attr_get_type(attribute) == type) {
            *found = attribute;
            return 0;
        }
    return more;
}

/* Copies what the attribute holds: nothing in it is aligned for more than 4 bytes. */
static int copy(const struct nlattr *attribute, void *value, size_t size, struct oneib_error *err)
{
    if (mnl_attr_get_payload_len(attribute) < size)
        return malformed(err);
    memcpy(value, mnl_attr_get_payload(attribute), size);
    return 0;
}

static int read_link(const struct ifla_vf_link_state *value, enum oneib_vf_link *link,
                     struct oneib_error *err)
{
    switch (value->link_state) {
    case IFLA_VF_LINK_STATE_AUTO:
        *link = ONEIB_VF_LINK_AUTO;
        return 0;
    case IFLA_VF_LINK_STATE_ENABLE:
        *link = ONEIB_VF_LINK_ENABLE;
        return 0;
    case IFLA_VF_LINK_STATE_DISABLE:
        *link = ONEIB_VF_LINK_DISABLE;
        return 0;
    default:
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "the kernel says that the link state of virtual function %u is %u, which "
                          "oneib does not know",
                          value->vf, value->link_state);
    }
}

/* Kernels before 5.5 do not tell: 0. */
static int read_guid(struct row info, uint16_t type, uint32_t vf, oneib_guid *guid,
                     struct oneib_error *err)
{
    const struct nlattr *attribute;
    struct ifla_vf_guid value;
    *guid = 0;
    if (find(info, type, &attribute, err) < 0)
        return -1;
    if (!attribute)
        return 0;
    if (copy(attribute, &value, sizeof value, err) < 0)
        return -1;
    if (value.vf != vf)
        return malformed(err);
    *guid = value.guid;
    return 0;
}

/* The kernel tells the link state of every VF that it tells of at all. */
static int names_vf(struct row info, uint32_t vf, struct ifla_vf_link_state *link, bool *names,
                    struct oneib_error *err)
{
    const struct nlattr *attribute;
    *names = false;
    if (find(info, IFLA_VF_LINK_STATE, &attribute, err) < 0)
        return -1;
    if (!attribute)
        return 0;
    if (copy(attribute, link, sizeof *link, err) < 0)
        return -1;
    *names = link->vf == vf;
    return 0;
}

static int read_info(struct row info, const struct ifla_vf_link_state *link,
                     struct oneib_netlink_vf *state, struct oneib_error *err)
{
    struct oneib_netlink_vf read;
    if (read_link(link, &read.link, err) < 0 ||
        read_guid(info, IFLA_VF_IB_NODE_GUID, link->vf, &read.node_guid, err) < 0 ||
        read_guid(info, IFLA_VF_IB_PORT_GUID, link->vf, &read.port_guid, err) < 0)
        return -1;
    *state = read;
    return 0;
}

static int not_told(uint32_t vf, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "the kernel tells nothing about virtual function %u there", vf);
}

static int find_vf(const struct nlattr *list, uint32_t vf, struct oneib_netlink_vf *state,
                   struct oneib_error *err)
{
    struct row row = row_in(list);
    const struct nlattr *info;
    struct ifla_vf_link_state link;
    int more;
    while ((more = take(&row, &info, err)) > 0) {
        bool names;
        if (mnl_attr_get_type(info) != IFLA_VF_INFO)
            continue;
        if (names_vf(row_in(info), vf, &link, &names, err) < 0)
            return -1;
        if (names)
            return read_info(row_in(info), &link, state, err);
    }
    return more < 0 ? -1 : not_told(vf, err);
}

static int kernel_error(const struct nlmsghdr *message, int *reason, struct oneib_error *err)
{
    struct nlmsgerr value;
    if (mnl_nlmsg_get_payload_len(message) < sizeof value)
        return malformed(err);
    memcpy(&value, mnl_nlmsg_get_payload(message), sizeof value);
    *reason = -value.error;
    return 0;
}

static int refused(const struct nlmsghdr *message, struct oneib_error *err)
{
    int reason;
    if (kernel_error(message, &reason, err) < 0)
        return -1;
    return oneib_fail_errno(err, reason, "the kernel was asked for virtual functions");
}

static const struct nlmsghdr *message_in(const void *bytes, size_t length)
{
    const struct nlmsghdr *message = bytes;
    return length >= sizeof *message && message->nlmsg_len >= sizeof *message &&
                   message->nlmsg_len <= length
               ? message
               : NULL;
}

int oneib_netlink_parse_vf(const void *bytes, size_t length, uint32_t vf,
                           struct oneib_netlink_vf *state, struct oneib_error *err)
{
    const struct nlmsghdr *message = message_in(bytes, length);
    const struct nlattr *list;
    if (!message)
        return malformed(err);
    if (message->nlmsg_type == NLMSG_ERROR)
        return refused(message, err);
    const size_t payload = mnl_nlmsg_get_payload_len(message), header = sizeof(struct ifinfomsg);
    if (message->nlmsg_type != RTM_NEWLINK || payload < header)
        return malformed(err);
    const struct row row = {mnl_nlmsg_get_payload_offset(message, header), payload - header};
    if (find(row, IFLA_VFINFO_LIST, &list, err) < 0)
        return -1;
    return list ? find_vf(list, vf, state, err) : not_told(vf, err);
}

static bool is_of(const struct nlmsghdr *message, unsigned ifindex)
{
    struct ifinfomsg interface;
    if (message->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(message) < sizeof interface)
        return false;
    memcpy(&interface, mnl_nlmsg_get_payload(message), sizeof interface);
    return interface.ifi_index == (int)ifindex;
}

int oneib_netlink_find_vf(const void *bytes, size_t length, unsigned ifindex, uint32_t vf,
                          struct oneib_netlink_vf *state, bool *found, struct oneib_error *err)
{
    *found = false;
    while (length > 0 && !*found) {
        const struct nlmsghdr *message = message_in(bytes, length);
        if (!message)
            return malformed(err);
        if (message->nlmsg_type == NLMSG_DONE)
            return not_told(vf, err);
        *found = is_of(message, ifindex);
        if ((*found || message->nlmsg_type == NLMSG_ERROR) &&
            oneib_netlink_parse_vf(message, message->nlmsg_len, vf, state, err) < 0)
            return -1;
        const size_t used = NLMSG_ALIGN(message->nlmsg_len);
        bytes = (const char *)bytes + used;
        length -= used < length ? used : length;
    }
    return 0;
}

/* ---- talking --------------------------------------------------------------------------------- */

static void close_socket(struct mnl_socket **socket)
{
    if (*socket)
        mnl_socket_close(*socket);
}

static int unreachable(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "the kernel cannot be asked by netlink: %s",
                      strerror(errno));
}

/* The socket is new, so that nothing but answers can come in. */
static struct mnl_socket *open_socket(const void *message, size_t length, struct oneib_error *err)
{
    oneib_auto(close_socket) struct mnl_socket *socket =
        mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
    if (!socket || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
        setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) <
            0 ||
        mnl_socket_sendto(socket, message, length) < 0) {
        unreachable(err);
        return NULL;
    }
    return oneib_steal(&socket);
}

static int receive(const struct mnl_socket *socket, const struct nlmsghdr *asked, void *answer,
                   size_t size, size_t *got, struct oneib_error *err)
{
    ssize_t received;
    do
        received = mnl_socket_recvfrom(socket, answer, size);
    while (received < 0 && errno == EINTR);
    if (received < 0)
        return unreachable(err);
    *got = (size_t)received;
    const struct nlmsghdr *first = message_in(answer, *got);
    return first && first->nlmsg_seq == asked->nlmsg_seq ? 0 : malformed(err);
}

static int ask(const void *message, size_t length, void *answer, size_t size, size_t *got,
               struct oneib_error *err)
{
    oneib_auto(close_socket) struct mnl_socket *socket = open_socket(message, length, err);
    return socket ? receive(socket, message, answer, size, got, err) : -1;
}

int oneib_netlink_send(const void *message, size_t length, struct oneib_error *err)
{
    _Alignas(struct nlmsghdr) char answer[4096]; /* an error, what it is about, and words */
    const struct nlmsghdr *first = (const void *)answer;
    size_t got;
    int reason;
    if (ask(message, length, answer, sizeof answer, &got, err) < 0)
        return -1;
    if (first->nlmsg_type != NLMSG_ERROR)
        return malformed(err);
    if (kernel_error(first, &reason, err) < 0)
        return -1;
    if (reason != 0)
        return oneib_fail_errno(err, reason, "the kernel refuses to change a virtual function");
    return 0;
}

static int read_by_interface(unsigned ifindex, uint32_t vf, void *answer,
                             struct oneib_netlink_vf *state, struct oneib_error *err)
{
    _Alignas(struct nlmsghdr) char request[ONEIB_NETLINK_SIZE];
    const size_t length = oneib_netlink_ask_vfs(request, ifindex, 1);
    size_t got;
    if (ask(request, length, answer, ANSWER_SIZE, &got, err) < 0)
        return -1;
    return oneib_netlink_parse_vf(answer, got, vf, state, err);
}

static int read_by_dump(unsigned ifindex, uint32_t vf, void *answer, struct oneib_netlink_vf *state,
                        struct oneib_error *err)
{
    _Alignas(struct nlmsghdr) char request[ONEIB_NETLINK_SIZE];
    const size_t length = oneib_netlink_ask_vfs(request, 0, 1);
    oneib_auto(close_socket) struct mnl_socket *socket = open_socket(request, length, err);
    const double end = oneib_now_ms() + ANSWER_SECONDS * 1000;
    bool found = false;
    if (!socket)
        return -1;
    while (!found) {
        size_t got = 0;
        if (oneib_now_ms() >= end)
            return malformed(err);
        if (receive(socket, (const void *)request, answer, ANSWER_SIZE, &got, err) < 0 ||
            oneib_netlink_find_vf(answer, got, ifindex, vf, state, &found, err) < 0)
            return -1;
    }
    return 0;
}

/* rtnl_vfinfo_size() does not count the GUIDs: about 30 VFs are too many for one interface's
 * answer. A dump's may be as long as the buffer that it is read into, up to 32 KiB. */
static int too_many_vfs(struct oneib_error *err)
{
    return oneib_fail_errno(err, EMSGSIZE,
                            "Linux before 6.15 does not tell of so many virtual functions of one "
                            "InfiniBand adapter: update the kernel (also of the stable series), or "
                            "make fewer of them (sriov_numvfs)");
}

int oneib_netlink_read_vf(unsigned ifindex, uint32_t vf, struct oneib_netlink_vf *state,
                          struct oneib_error *err)
{
    oneib_autofree void *answer = oneib_alloc(ANSWER_SIZE, 1);
    struct oneib_error why, unread;
    if (read_by_interface(ifindex, vf, answer, state, &why) == 0 ||
        read_by_dump(ifindex, vf, answer, state, &unread) == 0)
        return 0;
    if (why.code == ONEIB_ERROR_SYSTEM && why.system_errno == EMSGSIZE)
        return too_many_vfs(err);
    *err = why;
    return -1;
}
