// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"
#include "hca/vf_netlink.h"
#include "tree.h"
#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "../../skip.h"
#include <cmocka.h>

#define GUID 0x0200000000002a01

typedef uint8_t message_buffer[ONEIB_NETLINK_SIZE]
    __attribute__((aligned(_Alignof(struct nlmsghdr))));

/* ---- what is sent ---------------------------------------------------------------------------- */

/* Recorded from iproute2 6.1.0 (Debian 12) on a little-endian machine, with interface 7 and
 * sequence 0x11223344: ip link set dev DEV vf 3 node_guid 02:00:00:00:00:00:2a:01, ... */
static const uint8_t node_guid_message[] = {
    0x3c, 0x00, 0x00, 0x00, 0x10, 0x00, 0x05, 0x00, 0x44, 0x33, 0x22, 0x11, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x1c, 0x00, 0x16, 0x00, 0x18, 0x00, 0x01, 0x00, 0x14, 0x00, 0x0a, 0x00, 0x03,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x2a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02};
static const uint8_t port_guid_message[] = {
    0x3c, 0x00, 0x00, 0x00, 0x10, 0x00, 0x05, 0x00, 0x44, 0x33, 0x22, 0x11, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x1c, 0x00, 0x16, 0x00, 0x18, 0x00, 0x01, 0x00, 0x14, 0x00, 0x0b, 0x00, 0x03,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x2a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02};
/* The last word is the state: auto 0, enable 1, disable 2. */
static const uint8_t link_message[] = {
    0x34, 0x00, 0x00, 0x00, 0x10, 0x00, 0x05, 0x00, 0x44, 0x33, 0x22, 0x11, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x16, 0x00, 0x10, 0x00, 0x01,
    0x00, 0x0c, 0x00, 0x05, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};

#define INTERFACE 7
#define SEQUENCE 0x11223344

static bool is_little_endian(void)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static void need_little_endian(void)
{
    if (is_little_endian())
        return;
    skip_because("the messages were recorded on a little-endian machine");
}

static void a_guid_is_sent_as_iproute2_sends_it(void **state)
{
    (void)state;
    message_buffer buffer;
    need_little_endian();
    memset(buffer, 0xa5, sizeof buffer);
    assert_int_equal(
        oneib_netlink_set_guid(buffer, INTERFACE, 3, ONEIB_VF_NODE_GUID, GUID, SEQUENCE),
        sizeof node_guid_message);
    assert_memory_equal(buffer, node_guid_message, sizeof node_guid_message);
    memset(buffer, 0xa5, sizeof buffer);
    assert_int_equal(
        oneib_netlink_set_guid(buffer, INTERFACE, 3, ONEIB_VF_PORT_GUID, GUID, SEQUENCE),
        sizeof port_guid_message);
    assert_memory_equal(buffer, port_guid_message, sizeof port_guid_message);
}

static void a_link_state_is_sent_as_iproute2_sends_it(void **state)
{
    (void)state;
    static const enum oneib_vf_link links[] = {ONEIB_VF_LINK_AUTO, ONEIB_VF_LINK_ENABLE,
                                               ONEIB_VF_LINK_DISABLE};
    need_little_endian();
    for (uint8_t i = 0; i < 3; i++) {
        message_buffer buffer;
        uint8_t expected[sizeof link_message];
        memcpy(expected, link_message, sizeof expected);
        expected[sizeof expected - 4] = i;
        memset(buffer, 0xa5, sizeof buffer);
        assert_int_equal(oneib_netlink_set_link(buffer, INTERFACE, 3, links[i], SEQUENCE),
                         sizeof expected);
        assert_memory_equal(buffer, expected, sizeof expected);
    }
}

static void virtual_functions_are_asked_for_without_their_counters(void **state)
{
    (void)state;
    /* RTM_GETLINK, a request; IFLA_EXT_MASK: RTEXT_FILTER_VF and RTEXT_FILTER_SKIP_STATS. */
    static const uint8_t expected[] = {0x28, 0x00, 0x00, 0x00, 0x12, 0x00, 0x01, 0x00, 0x44, 0x33,
                                       0x22, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                       0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                       0x00, 0x00, 0x08, 0x00, 0x1d, 0x00, 0x09, 0x00, 0x00, 0x00};
    message_buffer buffer;
    need_little_endian();
    memset(buffer, 0xa5, sizeof buffer);
    assert_int_equal(oneib_netlink_ask_vfs(buffer, INTERFACE, SEQUENCE), sizeof expected);
    assert_memory_equal(buffer, expected, sizeof expected);
}

/* ---- what the installed iproute2 sends ------------------------------------------------------- */

static void need(const char *command, const char *what)
{
    if (system(command) == 0)
        return;
    skip_because("%s", what);
}

static void need_iproute2_and_strace(void)
{
    need("command -v ip >/dev/null", "there is no ip here");
    need("command -v strace >/dev/null", "there is no strace here");
    need("strace -qq -o /dev/null true 2>/dev/null", "processes cannot be traced here");
}

/* " | 00010  00 00 ...  00 00 ...  ........ |" of strace's dump: up to 16 bytes. */
static size_t take_dump_line(const char *line, uint8_t *bytes, size_t room)
{
    unsigned offset;
    int used;
    size_t count = 0;
    if (sscanf(line, " | %5x %n", &offset, &used) != 1 || offset + 16 > room)
        return 0;
    for (const char *at = line + used; count < 16; count++) {
        at += strspn(at, " ");
        const unsigned high = oneib_hex_digit(at[0]), low = oneib_hex_digit(high < 16 ? at[1] : 0);
        if (low > 15 || at[2] != ' ')
            break;
        bytes[offset + count] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    return offset + count;
}

/* The last message that a run of ip sends; it asks for the interface first. */
static size_t record(const char *arguments, uint8_t *bytes, size_t room)
{
    char command[256], line[512];
    size_t length = 0;
    snprintf(command, sizeof command,
             "strace -qq -e trace=sendmsg -e raw=sendmsg -e write=all ip link set dev lo %s 2>&1",
             arguments);
    FILE *trace = popen(command, "r");
    assert_non_null(trace);
    while (fgets(line, sizeof line, trace)) {
        if (strncmp(line, "sendmsg(", 8) == 0)
            length = 0;
        const size_t end = take_dump_line(line, bytes, room);
        length = end > length ? end : length;
    }
    pclose(trace);
    return length;
}

/* Whatever iproute2 had in memory: its number of the message, and the hole between an
 * ifla_vf_guid's 32-bit number and its 64-bit GUID. */
static void blank(uint8_t *bytes, size_t length)
{
    const size_t hole = sizeof node_guid_message - 12;
    memset(bytes + offsetof(struct nlmsghdr, nlmsg_seq), 0, 4);
    if (length == sizeof node_guid_message)
        memset(bytes + hole, 0, 4);
}

static void must_be_what_ip_sends(const char *arguments, const uint8_t *ours, size_t length)
{
    uint8_t theirs[ONEIB_NETLINK_SIZE];
    assert_int_equal(record(arguments, theirs, sizeof theirs), length);
    blank(theirs, length);
    assert_memory_equal(theirs, ours, length);
}

static void guids_are_what_the_installed_iproute2_sends(void **state)
{
    (void)state;
    message_buffer ours;
    need_iproute2_and_strace();
    const unsigned lo = if_nametoindex("lo");
    size_t length = oneib_netlink_set_guid(ours, lo, 3, ONEIB_VF_NODE_GUID, GUID, 0);
    must_be_what_ip_sends("vf 3 node_guid 02:00:00:00:00:00:2a:01", ours, length);
    length = oneib_netlink_set_guid(ours, lo, 3, ONEIB_VF_PORT_GUID, GUID, 0);
    must_be_what_ip_sends("vf 3 port_guid 02:00:00:00:00:00:2a:01", ours, length);
    length = oneib_netlink_set_guid(ours, lo, 126, ONEIB_VF_PORT_GUID, UINT64_MAX, 0);
    must_be_what_ip_sends("vf 126 port_guid ff:ff:ff:ff:ff:ff:ff:ff", ours, length);
}

static void link_states_are_what_the_installed_iproute2_sends(void **state)
{
    (void)state;
    message_buffer ours;
    need_iproute2_and_strace();
    const unsigned lo = if_nametoindex("lo");
    size_t length = oneib_netlink_set_link(ours, lo, 0, ONEIB_VF_LINK_AUTO, 0);
    must_be_what_ip_sends("vf 0 state auto", ours, length);
    length = oneib_netlink_set_link(ours, lo, 3, ONEIB_VF_LINK_ENABLE, 0);
    must_be_what_ip_sends("vf 3 state enable", ours, length);
    length = oneib_netlink_set_link(ours, lo, 3, ONEIB_VF_LINK_DISABLE, 0);
    must_be_what_ip_sends("vf 3 state disable", ours, length);
}

/* ---- what is read ---------------------------------------------------------------------------- */

/* An answer, written as the kernel nests it. */
struct answer {
    _Alignas(struct nlmsghdr) uint8_t bytes[32768];
    size_t length;
};

static void put(struct answer *answer, const void *bytes, size_t length)
{
    memcpy(answer->bytes + answer->length, bytes, length);
    answer->length += length;
    while (answer->length % 4)
        answer->bytes[answer->length++] = 0;
}

static size_t begin(struct answer *answer, uint16_t type)
{
    const struct nlattr attribute = {.nla_type = type};
    const size_t at = answer->length;
    put(answer, &attribute, sizeof attribute);
    return at;
}

static void set_length(struct answer *answer, size_t at, uint16_t length)
{
    memcpy(answer->bytes + at + offsetof(struct nlattr, nla_len), &length, sizeof length);
}

static void end(struct answer *answer, size_t at)
{
    set_length(answer, at, (uint16_t)(answer->length - at));
}

static void put_attribute(struct answer *answer, uint16_t type, const void *value, size_t length)
{
    const size_t at = begin(answer, type);
    memcpy(answer->bytes + answer->length, value, length);
    answer->length += length;
    end(answer, at);
    while (answer->length % 4)
        answer->bytes[answer->length++] = 0;
}

static void begin_answer(struct answer *answer, uint16_t type)
{
    const struct nlmsghdr header = {.nlmsg_type = type, .nlmsg_seq = 1};
    const struct ifinfomsg interface = {.ifi_index = INTERFACE};
    *answer = (struct answer){0};
    put(answer, &header, sizeof header);
    put(answer, &interface, sizeof interface);
    put_attribute(answer, IFLA_IFNAME, "ib0", 4);
}

static void end_answer(struct answer *answer)
{
    const uint32_t length = (uint32_t)answer->length;
    memcpy(answer->bytes, &length, sizeof length);
}

static void put_vf(struct answer *answer, uint32_t vf, uint32_t link, oneib_guid node,
                   oneib_guid port)
{
    const struct ifla_vf_mac mac = {.vf = vf};
    const struct ifla_vf_link_state state = {.vf = vf, .link_state = link};
    struct ifla_vf_guid guid;
    memset(&guid, 0, sizeof guid);
    const size_t info = begin(answer, IFLA_VF_INFO);
    put_attribute(answer, IFLA_VF_MAC, &mac, sizeof mac);
    put_attribute(answer, IFLA_VF_LINK_STATE, &state, sizeof state);
    guid.vf = vf;
    guid.guid = node;
    put_attribute(answer, IFLA_VF_IB_NODE_GUID, &guid, sizeof guid);
    guid.guid = port;
    put_attribute(answer, IFLA_VF_IB_PORT_GUID, &guid, sizeof guid);
    end(answer, info);
}

/* VFs 0, 1 and 2, among other attributes. */
static void make_answer(struct answer *answer)
{
    begin_answer(answer, RTM_NEWLINK);
    const uint32_t count = 3;
    put_attribute(answer, IFLA_NUM_VF, &count, sizeof count);
    const size_t list = begin(answer, IFLA_VFINFO_LIST);
    put_vf(answer, 0, IFLA_VF_LINK_STATE_AUTO, GUID, GUID);
    put_vf(answer, 1, IFLA_VF_LINK_STATE_ENABLE, GUID + 1, GUID + 2);
    put_vf(answer, 2, IFLA_VF_LINK_STATE_DISABLE, UINT64_MAX, UINT64_MAX);
    end(answer, list);
    const uint32_t group = 0;
    put_attribute(answer, IFLA_GROUP, &group, sizeof group);
    end_answer(answer);
}

/* In memory of its own, so that a sanitizer sees every byte that is read behind it. */
static int parse(const uint8_t *bytes, size_t length, uint32_t vf, struct oneib_netlink_vf *state,
                 struct oneib_error *err)
{
    uint8_t *exact = malloc(length + (length == 0));
    assert_non_null(exact);
    memcpy(exact, bytes, length);
    const int result = oneib_netlink_parse_vf(exact, length, vf, state, err);
    free(exact);
    return result;
}

static void must_not_parse(const struct answer *answer, uint32_t vf, enum oneib_error_code code)
{
    struct oneib_error err = {0};
    struct oneib_netlink_vf state = {1, 2, ONEIB_VF_LINK_ENABLE};
    assert_int_equal(parse(answer->bytes, answer->length, vf, &state, &err), -1);
    assert_int_equal(err.code, code);
    assert_true(state.node_guid == 1 && state.port_guid == 2);
}

static void a_vf_is_read_out_of_an_answer(void **state)
{
    (void)state;
    struct answer answer;
    struct oneib_error err = {0};
    struct oneib_netlink_vf vf;
    make_answer(&answer);
    assert_int_equal(parse(answer.bytes, answer.length, 0, &vf, &err), 0);
    assert_true(vf.node_guid == GUID && vf.port_guid == GUID);
    assert_int_equal(vf.link, ONEIB_VF_LINK_AUTO);
    assert_int_equal(parse(answer.bytes, answer.length, 1, &vf, &err), 0);
    assert_true(vf.node_guid == GUID + 1 && vf.port_guid == GUID + 2);
    assert_int_equal(vf.link, ONEIB_VF_LINK_ENABLE);
    assert_int_equal(parse(answer.bytes, answer.length, 2, &vf, &err), 0);
    assert_true(vf.node_guid == UINT64_MAX && vf.port_guid == UINT64_MAX);
    assert_int_equal(vf.link, ONEIB_VF_LINK_DISABLE);
}

static void the_last_of_254_vfs_is_read(void **state)
{
    (void)state;
    struct answer answer;
    struct oneib_error err = {0};
    struct oneib_netlink_vf read;
    begin_answer(&answer, RTM_NEWLINK);
    const size_t list = begin(&answer, IFLA_VFINFO_LIST);
    for (uint32_t vf = 0; vf < 254; vf++)
        put_vf(&answer, vf, IFLA_VF_LINK_STATE_AUTO, GUID + vf, GUID + vf);
    end(&answer, list);
    end_answer(&answer);
    for (uint32_t vf = 125; vf < 254; vf += 128) {
        assert_int_equal(parse(answer.bytes, answer.length, vf, &read, &err), 0);
        assert_true(read.node_guid == (oneib_guid)GUID + vf &&
                    read.port_guid == (oneib_guid)GUID + vf);
    }
    must_not_parse(&answer, 254, ONEIB_ERROR_NOT_FOUND);
}

static void nested_attributes_may_say_that_they_are(void **state)
{
    (void)state;
    struct answer answer;
    struct oneib_error err = {0};
    struct oneib_netlink_vf vf;
    begin_answer(&answer, RTM_NEWLINK);
    const size_t list = begin(&answer, NLA_F_NESTED | IFLA_VFINFO_LIST);
    const size_t info = begin(&answer, NLA_F_NESTED | IFLA_VF_INFO);
    const struct ifla_vf_link_state link = {.vf = 5, .link_state = IFLA_VF_LINK_STATE_ENABLE};
    put_attribute(&answer, IFLA_VF_LINK_STATE, &link, sizeof link);
    end(&answer, info);
    end(&answer, list);
    end_answer(&answer);
    assert_int_equal(parse(answer.bytes, answer.length, 5, &vf, &err), 0);
    assert_int_equal(vf.link, ONEIB_VF_LINK_ENABLE);
}

static void guids_that_the_kernel_does_not_tell_are_0(void **state)
{
    (void)state;
    message_buffer message;
    struct oneib_error err = {0};
    struct oneib_netlink_vf vf;
    /* What is sent to set a link state has the form of an answer. */
    const size_t length = oneib_netlink_set_link(message, INTERFACE, 3, ONEIB_VF_LINK_DISABLE, 1);
    assert_int_equal(parse(message, length, 3, &vf, &err), 0);
    assert_true(vf.node_guid == 0 && vf.port_guid == 0);
    assert_int_equal(vf.link, ONEIB_VF_LINK_DISABLE);
}

static void a_vf_that_is_not_told_of_is_not_found(void **state)
{
    (void)state;
    struct answer answer;
    make_answer(&answer);
    must_not_parse(&answer, 3, ONEIB_ERROR_NOT_FOUND);
    begin_answer(&answer, RTM_NEWLINK);
    end_answer(&answer);
    must_not_parse(&answer, 0, ONEIB_ERROR_NOT_FOUND);
    begin_answer(&answer, RTM_NEWLINK);
    end(&answer, begin(&answer, IFLA_VFINFO_LIST));
    end_answer(&answer);
    must_not_parse(&answer, 0, ONEIB_ERROR_NOT_FOUND);
}

static void guids_without_a_link_state_tell_of_no_vf(void **state)
{
    (void)state;
    message_buffer message;
    struct oneib_error err = {0};
    struct oneib_netlink_vf vf;
    const size_t length =
        oneib_netlink_set_guid(message, INTERFACE, 3, ONEIB_VF_PORT_GUID, GUID, 1);
    assert_int_equal(parse(message, length, 3, &vf, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
}

static void an_unknown_link_state_is_an_error(void **state)
{
    (void)state;
    struct answer answer;
    begin_answer(&answer, RTM_NEWLINK);
    const size_t list = begin(&answer, IFLA_VFINFO_LIST);
    put_vf(&answer, 0, 3, GUID, GUID);
    end(&answer, list);
    end_answer(&answer);
    must_not_parse(&answer, 0, ONEIB_ERROR_PROTOCOL);
}

static void an_error_of_the_kernel_keeps_its_number(void **state)
{
    (void)state;
    struct answer answer = {0};
    const struct nlmsghdr header = {.nlmsg_type = NLMSG_ERROR};
    const int reason = -ENODEV;
    struct oneib_error err = {0};
    struct oneib_netlink_vf vf;
    put(&answer, &header, sizeof header);
    put(&answer, &reason, sizeof reason);
    end_answer(&answer);
    must_not_parse(&answer, 0, ONEIB_ERROR_PROTOCOL); /* what the error is about is not there */
    put(&answer, &header, sizeof header);
    end_answer(&answer);
    assert_int_equal(parse(answer.bytes, answer.length, 0, &vf, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_int_equal(err.system_errno, ENODEV);
}

static void an_answer_of_another_kind_is_refused(void **state)
{
    (void)state;
    static const uint16_t types[] = {NLMSG_NOOP, NLMSG_DONE, RTM_DELLINK, RTM_NEWADDR};
    struct answer answer;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        make_answer(&answer);
        memcpy(answer.bytes + offsetof(struct nlmsghdr, nlmsg_type), &types[i], sizeof types[i]);
        must_not_parse(&answer, 0, ONEIB_ERROR_PROTOCOL);
    }
}

static void a_guid_of_another_vf_is_refused(void **state)
{
    (void)state;
    struct answer answer;
    begin_answer(&answer, RTM_NEWLINK);
    const size_t list = begin(&answer, IFLA_VFINFO_LIST), info = begin(&answer, IFLA_VF_INFO);
    const struct ifla_vf_link_state link = {.vf = 5};
    struct ifla_vf_guid guid;
    memset(&guid, 0, sizeof guid);
    guid.vf = 4;
    put_attribute(&answer, IFLA_VF_LINK_STATE, &link, sizeof link);
    put_attribute(&answer, IFLA_VF_IB_NODE_GUID, &guid, sizeof guid);
    end(&answer, info);
    end(&answer, list);
    end_answer(&answer);
    must_not_parse(&answer, 5, ONEIB_ERROR_PROTOCOL);
}

static void an_attribute_that_is_too_short_is_refused(void **state)
{
    (void)state;
    struct answer answer;
    begin_answer(&answer, RTM_NEWLINK);
    const size_t list = begin(&answer, IFLA_VFINFO_LIST), info = begin(&answer, IFLA_VF_INFO);
    const struct ifla_vf_link_state link = {.vf = 5};
    put_attribute(&answer, IFLA_VF_LINK_STATE, &link, sizeof link);
    put_attribute(&answer, IFLA_VF_IB_PORT_GUID, &link, sizeof link);
    end(&answer, info);
    end(&answer, list);
    end_answer(&answer);
    must_not_parse(&answer, 5, ONEIB_ERROR_PROTOCOL);
}

static void a_cut_answer_is_refused_wherever_it_is_cut(void **state)
{
    (void)state;
    struct answer answer, cut;
    make_answer(&answer);
    for (size_t length = 0; length < answer.length; length++) {
        cut = answer;
        cut.length = length;
        must_not_parse(&cut, 2, ONEIB_ERROR_PROTOCOL);
    }
}

/* The header says less than there is: what lies behind it is not read, and what it cuts is a lie.
 */
static void a_header_that_says_too_little_tells_of_no_later_vf(void **state)
{
    (void)state;
    struct answer answer;
    make_answer(&answer);
    for (uint32_t length = 0; length + 8 < answer.length; length++) {
        struct oneib_error err = {0};
        struct oneib_netlink_vf vf;
        memcpy(answer.bytes, &length, sizeof length);
        assert_int_equal(parse(answer.bytes, answer.length, 2, &vf, &err), -1);
    }
}

static void a_nested_length_that_lies_is_refused(void **state)
{
    (void)state;
    static const uint16_t lies[] = {0, 1, 3, 200, 1000, UINT16_MAX};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct answer answer;
        begin_answer(&answer, RTM_NEWLINK);
        const size_t list = begin(&answer, IFLA_VFINFO_LIST), info = answer.length;
        put_vf(&answer, 0, IFLA_VF_LINK_STATE_AUTO, GUID, GUID);
        end(&answer, list);
        end_answer(&answer);
        set_length(&answer, info, lies[i]);
        must_not_parse(&answer, 0, ONEIB_ERROR_PROTOCOL);
        set_length(&answer, list, lies[i]);
        must_not_parse(&answer, 0, ONEIB_ERROR_PROTOCOL);
    }
}

static void no_byte_of_an_answer_can_make_it_read_outside(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 2, 3, 4, 5, 8, 12, 0x16, 0x7f, 0x80, 0xff};
    struct answer answer;
    make_answer(&answer);
    for (size_t at = 0; at < answer.length; at++) {
        const uint8_t before = answer.bytes[at];
        for (size_t i = 0; i < sizeof values; i++) {
            struct oneib_error err = {0};
            struct oneib_netlink_vf vf;
            answer.bytes[at] = values[i];
            const int result = parse(answer.bytes, answer.length, 2, &vf, &err);
            assert_true(result == 0 || err.code != ONEIB_ERROR_NONE);
        }
        answer.bytes[at] = before;
    }
}

/* ---- the kernel's answers -------------------------------------------------------------------- */

static void a_change_without_permission_is_an_error_of_the_system(void **state)
{
    (void)state;
    message_buffer message;
    struct oneib_error err = {0};
    const size_t length =
        oneib_netlink_set_link(message, if_nametoindex("lo"), 0, ONEIB_VF_LINK_DISABLE, 1);
    assert_int_equal(oneib_netlink_send(message, length, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_int_equal(err.system_errno, EPERM);
}

static void an_interface_without_virtual_functions_tells_of_none(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_netlink_vf vf;
    assert_int_equal(oneib_netlink_read_vf(if_nametoindex("lo"), 0, &vf, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
}

static void an_interface_that_there_is_not_is_an_error_of_the_system(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_netlink_vf vf;
    assert_int_equal(oneib_netlink_read_vf(0x7ffffff0, 0, &vf, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_int_equal(err.system_errno, ENODEV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guid_is_sent_as_iproute2_sends_it),
        cmocka_unit_test(a_link_state_is_sent_as_iproute2_sends_it),
        cmocka_unit_test(virtual_functions_are_asked_for_without_their_counters),
        cmocka_unit_test(guids_are_what_the_installed_iproute2_sends),
        cmocka_unit_test(link_states_are_what_the_installed_iproute2_sends),
        cmocka_unit_test(a_vf_is_read_out_of_an_answer),
        cmocka_unit_test(the_last_of_254_vfs_is_read),
        cmocka_unit_test(nested_attributes_may_say_that_they_are),
        cmocka_unit_test(guids_that_the_kernel_does_not_tell_are_0),
        cmocka_unit_test(a_vf_that_is_not_told_of_is_not_found),
        cmocka_unit_test(guids_without_a_link_state_tell_of_no_vf),
        cmocka_unit_test(an_unknown_link_state_is_an_error),
        cmocka_unit_test(an_error_of_the_kernel_keeps_its_number),
        cmocka_unit_test(an_answer_of_another_kind_is_refused),
        cmocka_unit_test(a_guid_of_another_vf_is_refused),
        cmocka_unit_test(an_attribute_that_is_too_short_is_refused),
        cmocka_unit_test(a_cut_answer_is_refused_wherever_it_is_cut),
        cmocka_unit_test(a_header_that_says_too_little_tells_of_no_later_vf),
        cmocka_unit_test(a_nested_length_that_lies_is_refused),
        cmocka_unit_test(no_byte_of_an_answer_can_make_it_read_outside),
        cmocka_unit_test(a_change_without_permission_is_an_error_of_the_system),
        cmocka_unit_test(an_interface_without_virtual_functions_tells_of_none),
        cmocka_unit_test(an_interface_that_there_is_not_is_an_error_of_the_system),
    };
    /* Nothing here is allowed to change the machine's interfaces. */
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
