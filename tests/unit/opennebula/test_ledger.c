// SPDX-License-Identifier: Apache-2.0
/* What counts as a ledger: nothing that somebody else wrote, or that is not as oneib writes it. */
#include "base/cleanup.h"
#include "base/text.h"
#include "ib/ipoib.h"
#include "opennebula/ledger_document.h"
#include "recorded.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct oneib_error err;

#define RIGHTS(others)                                                                             \
    "<PERMISSIONS><OWNER_U>1</OWNER_U><OWNER_M>1</OWNER_M><OWNER_A>0</OWNER_A>"                    \
    "<GROUP_U>1</GROUP_U><GROUP_M>1</GROUP_M><GROUP_A>0</GROUP_A>" others "</PERMISSIONS>"
#define CLOSED RIGHTS("<OTHER_U>0</OTHER_U><OTHER_M>0</OTHER_M><OTHER_A>0</OTHER_A>")
#define DOCUMENT(uid, gid, type, rights, template)                                                 \
    "<DOCUMENT><ID>4</ID><UID>" uid "</UID><GID>" gid "</GID><NAME>oneib</NAME><TYPE>" type        \
    "</TYPE>" rights "<TEMPLATE>" template "</TEMPLATE></DOCUMENT>"
#define HEAD "<VERSION>1</VERSION><SERIAL>17</SERIAL><NEXT>0x0104</NEXT>"
#define NETWORK(id, pkey)                                                                          \
    "<NETWORK><ID>" id "</ID><OWNER>12</OWNER><PKEY>" pkey "</PKEY><SINCE>5</SINCE></NETWORK>"
#define RESTING(pkey)                                                                              \
    "<RESTING><NETWORK>9</NETWORK><OWNER>12</OWNER><PKEY>" pkey "</PKEY><SINCE>5</SINCE></"        \
    "RESTING>"
#define FENCE(host)                                                                                \
    "<FENCE><ASKED>2</ASKED><HOST>" host "</HOST><SINCE>5</SINCE><WISH>closed</WISH></FENCE>"
#define FENCED_PORT(host, guid, port, state)                                                       \
    "<FENCED_PORT><ANSWER>2</ANSWER><GUID>" guid "</GUID><HOST>" host "</HOST><PORT>" port         \
    "</PORT><SINCE>5</SINCE><STATE>" state "</STATE><SWITCH>0x0000000000200000</SWITCH>"           \
    "</FENCED_PORT>"
#define HOST_KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define HOST_AND_PORT(host, guid, port)                                                            \
    "<HOST><ID>3</ID><KEY>" HOST_KEY "</KEY><SINCE>5</SINCE></HOST>"                               \
    "<HOST_PORT><GUID>" guid "</GUID><HOST>" host "</HOST><PORT>" port                             \
    "</PORT><SINCE>5</SINCE><SWITCH>0x0000000000200000</SWITCH></HOST_PORT>"
#define HOST_PORT_THAT_IS(state, accepted)                                                         \
    "<HOST><ID>3</ID><KEY>" HOST_KEY "</KEY><SINCE>5</SINCE></HOST><HOST_PORT><ACCEPTED>" accepted \
    "</ACCEPTED><GUID>0x0000000000100003</GUID><HOST>3</HOST><PORT>7</PORT><SINCE>5</SINCE>"       \
    "<STATE>" state "</STATE><SWITCH>0x0000000000200000</SWITCH></HOST_PORT>"
#define HOST_PORT_CALLED(name)                                                                     \
    "<HOST><ID>3</ID><KEY>" HOST_KEY "</KEY><SINCE>5</SINCE></HOST><HOST_PORT><DRIVER>mlx5"        \
    "</DRIVER><GUID>0x0000000000100003</GUID><HOST>3</HOST><NAME>" name                            \
    "</NAME><PORT>7</PORT><SINCE>5</SINCE><SWITCH>0x0000000000200000</SWITCH><VFS>16</VFS>"        \
    "</HOST_PORT>"
#define HOST_WITH(key, since) "<HOST><ID>3</ID><KEY>" key "</KEY>" since "</HOST>"
#define SINCE "<SINCE>5</SINCE>"
#define FORGOTTEN(id, since) "<FORGOTTEN><ID>" id "</ID>" since "</FORGOTTEN>"
#define FENCED_PORT_WITH(field)                                                                    \
    "<FENCED_PORT><GUID>0x0000000000100003</GUID><HOST>3</HOST><PORT>7</PORT><STATE>down</STATE>"  \
    "<SWITCH>0x0000000000200000</SWITCH>" field "</FENCED_PORT>"
#define NUMBERED(id)                                                                               \
    "<DOCUMENT><ID>" id "</ID><UID>0</UID><GID>0</GID><NAME>oneib</NAME><TYPE>6231</TYPE>" CLOSED  \
    "<TEMPLATE>" HEAD "</TEMPLATE></DOCUMENT>"
#define OTHER_KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ADDRESS "tcp://10.0.0.1:9678"
#define DAEMON(address, curve, sign, since)                                                        \
    "<DAEMON><ADDRESS>" address "</ADDRESS><CURVE>" curve "</CURVE><SIGN>" sign "</SIGN>" since    \
    "</DAEMON>"
#define NETWORK_WITH(fields) "<NETWORK><ID>7</ID><PKEY>0x0101</PKEY>" fields "</NETWORK>"
#define RESTING_WITH(fields) "<RESTING><NETWORK>9</NETWORK><PKEY>0x0102</PKEY>" fields "</RESTING>"
#define OWNER "<OWNER>12</OWNER>"
#define LEDGER(entries) DOCUMENT("0", "0", "6231", CLOSED, HEAD entries)

static void parse(const char *xml, struct oneib_kept_ledger *kept)
{
    size_t count;
    if (oneib_ledger_parse(xml, strlen(xml), kept, &count, &err) < 0)
        fail_msg("%s", err.text);
}

static void must_be(enum oneib_ledger_state wanted, const char *xml)
{
    struct oneib_kept_ledger kept;
    parse(xml, &kept);
    if (kept.state != wanted)
        fail_msg("state %d and not %d: %s", (int)kept.state, (int)wanted, xml);
    oneib_kept_ledger_clear(&kept);
}

static void a_ledger_is_read(void **state)
{
    (void)state;
    struct oneib_kept_ledger kept;
    parse(LEDGER(NETWORK("7", "0x0101") RESTING("0x0102")), &kept);
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    assert_int_equal(kept.document_id, 4);
    assert_int_equal(kept.ledger.serial, 17);
    assert_int_equal(kept.ledger.next, 0x104);
    assert_int_equal(oneib_ledger_network(&kept.ledger, 7)->pkey, 0x101);
    assert_int_equal(oneib_ledger_resting(&kept.ledger, 0x102)->network_id, 9);
    oneib_kept_ledger_clear(&kept);
}

static void levels_hosts_and_daemons_are_read(void **state)
{
    (void)state;
    struct oneib_kept_ledger kept;
    parse(LEDGER(NETWORK_WITH(OWNER SINCE "<SL>15</SL>") FORGOTTEN("2", SINCE "<SERIAL>8</SERIAL>")
                     HOST_WITH(OTHER_KEY, SINCE) DAEMON(ADDRESS, HOST_KEY, OTHER_KEY, SINCE)),
          &kept);
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    assert_int_equal(oneib_ledger_network(&kept.ledger, 7)->sl, 15);
    assert_int_equal(oneib_ledger_host(&kept.ledger, 3)->key[0], 0x01);
    assert_int_equal(oneib_ledger_host(&kept.ledger, 3)->key[31], 0xef);
    assert_int_equal(oneib_ledger_forgotten(&kept.ledger, 2)->since, 5);
    assert_int_equal(oneib_ledger_forgotten(&kept.ledger, 2)->keys_serial, 8);
    assert_int_equal(kept.ledger.daemon_count, 1);
    assert_string_equal(kept.ledger.daemons[0].address, ADDRESS);
    assert_int_equal(kept.ledger.daemons[0].curve[1], 0x11);
    assert_int_equal(kept.ledger.daemons[0].sign[1], 0x23);
    oneib_kept_ledger_clear(&kept);
}

static void what_was_measured_of_the_fabric_is_read(void **state)
{
    (void)state;
    struct oneib_kept_ledger kept;
    parse(LEDGER("<MTU>4096</MTU><RATE>40</RATE>"), &kept);
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    assert_int_equal(kept.ledger.mtu, 5);
    assert_int_equal(kept.ledger.rate, oneib_rate_code(40));
    oneib_kept_ledger_clear(&kept);
}

static void fences_are_read(void **state)
{
    (void)state;
    struct oneib_kept_ledger kept;
    parse(LEDGER(HOST_AND_PORT("3", "0x0000000000100003", "7")), &kept);
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    assert_int_equal(oneib_ledger_port(&kept.ledger, 0x100003)->switch_port, 7);
    assert_string_equal(oneib_ledger_port(&kept.ledger, 0x100003)->hca.device, "");
    oneib_kept_ledger_clear(&kept);
    parse(LEDGER(HOST_PORT_CALLED("mlx5_bond-0.1:2")), &kept);
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    const struct oneib_hca_port *hca = &oneib_ledger_port(&kept.ledger, 0x100003)->hca;
    assert_string_equal(hca->device, "mlx5_bond-0.1");
    assert_int_equal(hca->port, 2);
    assert_int_equal(hca->driver, ONEIB_HCA_MLX5);
    assert_int_equal(hca->vfs_total, 16);
    assert_true(hca->port_guid == 0x100003);
    assert_int_equal(oneib_ledger_port(&kept.ledger, 0x100003)->state, ONEIB_LEDGER_PORT_PRESENT);
    assert_false(oneib_ledger_port(&kept.ledger, 0x100003)->is_accepted);
    oneib_kept_ledger_clear(&kept);
    parse(LEDGER(HOST_PORT_THAT_IS("renewed", "YES")), &kept);
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    assert_int_equal(oneib_ledger_port(&kept.ledger, 0x100003)->state, ONEIB_LEDGER_PORT_RENEWED);
    assert_true(oneib_ledger_port(&kept.ledger, 0x100003)->is_accepted);
    oneib_kept_ledger_clear(&kept);
    parse(LEDGER(FENCE("3") FENCED_PORT("3", "0x0000000000100003", "7", "down")), &kept);
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    assert_int_equal(oneib_ledger_fence(&kept.ledger, 3)->asked, 2);
    const struct oneib_ledger_fenced_port *port =
        oneib_ledger_fenced_port(&kept.ledger, 3, 0x100003);
    assert_non_null(port);
    assert_true(port->switch_guid == 0x200000);
    assert_int_equal(port->switch_port, 7);
    assert_int_equal(port->state, ONEIB_FENCE_DOWN);
    oneib_kept_ledger_clear(&kept);
}

static void only_oneadmins_or_its_groups_is_one(void **state)
{
    (void)state;
    must_be(ONEIB_LEDGER_READ, DOCUMENT("5", "0", "6231", CLOSED, HEAD));
    must_be(ONEIB_LEDGER_READ, DOCUMENT("0", "1", "6231", CLOSED, HEAD));
    must_be(ONEIB_LEDGER_ABSENT, DOCUMENT("5", "1", "6231", CLOSED, HEAD));
    must_be(ONEIB_LEDGER_ABSENT, DOCUMENT("", "", "6231", CLOSED, HEAD));
    must_be(ONEIB_LEDGER_ABSENT, DOCUMENT("0", "0", "100", CLOSED, HEAD));
}

static void rights_of_others_break_it(void **state)
{
    (void)state;
    must_be(ONEIB_LEDGER_BROKEN,
            DOCUMENT("0", "0", "6231",
                     RIGHTS("<OTHER_U>1</OTHER_U><OTHER_M>0</OTHER_M><OTHER_A>0</OTHER_A>"), HEAD));
    must_be(ONEIB_LEDGER_BROKEN, DOCUMENT("0", "0", "6231", RIGHTS(""), HEAD));
    must_be(ONEIB_LEDGER_BROKEN, DOCUMENT("0", "0", "6231", "", HEAD));
}

static void what_oneib_does_not_write_breaks_it(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        LEDGER("<COLOR>red</COLOR>"),
        LEDGER("<VERSION>1</VERSION>"),
        LEDGER("<MTU>1500</MTU>"),
        LEDGER("<MTU></MTU>"),
        LEDGER("<RATE>57</RATE>"),
        LEDGER("<RATE>40</RATE><RATE>10</RATE>"),
        LEDGER(NETWORK("7", "257")),
        LEDGER(NETWORK("7", "0x0000")),
        LEDGER(NETWORK("7", "0x7fff")),
        LEDGER(NETWORK("-1", "0x0101")),
        LEDGER("<NETWORK><ID>7</ID><PKEY>0x0101</PKEY></NETWORK>"),
        LEDGER(NETWORK_WITH(OWNER)),
        LEDGER(NETWORK_WITH(SINCE)),
        LEDGER(NETWORK_WITH(OWNER SINCE "<SL>0</SL>")),
        LEDGER(NETWORK_WITH(OWNER SINCE "<SL>16</SL>")),
        LEDGER(RESTING_WITH(OWNER)),
        LEDGER(RESTING_WITH(SINCE)),
        LEDGER(RESTING("0x8001")),
        LEDGER(HOST_WITH(OTHER_KEY, "")),
        LEDGER(HOST_WITH(OTHER_KEY, SINCE) HOST_WITH(OTHER_KEY, SINCE)),
        LEDGER(HOST_WITH(OTHER_KEY, SINCE) FORGOTTEN("3", SINCE)),
        LEDGER(FORGOTTEN("3", SINCE) HOST_WITH(OTHER_KEY, SINCE)),
        LEDGER(FORGOTTEN("3", SINCE) FORGOTTEN("3", SINCE)),
        LEDGER(FORGOTTEN("3", "")),
        LEDGER(FORGOTTEN("3", SINCE "<SERIAL>x</SERIAL>")),
        LEDGER(FORGOTTEN("x", SINCE)),
        LEDGER(HOST_WITH("g" OTHER_KEY, SINCE)),
        LEDGER(
            HOST_WITH("g023456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", SINCE)),
        LEDGER(
            HOST_WITH("0g23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", SINCE)),
        LEDGER(HOST_AND_PORT(
            "3", "0x0000000000100003",
            "7") "<HOST_PORT><GUID>0x0000000000100003</GUID><HOST>3</HOST><PORT>7</PORT>" SINCE
                 "<SWITCH>0x0000000000200000</SWITCH></HOST_PORT>"),
        LEDGER(HOST_WITH(
            OTHER_KEY,
            SINCE) "<HOST_PORT><GUID>0x0000000000100003</GUID><HOST>3"
                   "</HOST><PORT>7</PORT><SWITCH>0x0000000000200000</SWITCH></HOST_PORT>"),
        LEDGER(DAEMON("udp://10.0.0.1:1", HOST_KEY, OTHER_KEY, SINCE)),
        LEDGER(DAEMON(ADDRESS, "00", OTHER_KEY, SINCE)),
        LEDGER(DAEMON(ADDRESS, HOST_KEY, "00", SINCE)),
        LEDGER(DAEMON(ADDRESS, HOST_KEY, OTHER_KEY, "")),
        LEDGER(DAEMON(ADDRESS, HOST_KEY, OTHER_KEY, SINCE)
                   DAEMON(ADDRESS, HOST_KEY, OTHER_KEY, SINCE)),
        LEDGER(HOST_PORT_CALLED("mlx5_0")), /* which port of it? */
        LEDGER(HOST_PORT_CALLED("mlx5/0:1")),
        LEDGER(HOST_PORT_THAT_IS("gone", "YES")),
        LEDGER(HOST_PORT_THAT_IS("absent", "NO")),
        LEDGER(HOST_PORT_CALLED("")),
        LEDGER(HOST_AND_PORT("4", "0x0000000000100003", "7")), /* of no host that is there */
        LEDGER(HOST_AND_PORT("3", "0x0000000000100003", "0")),
        LEDGER(HOST_AND_PORT("3", "0x0000000000000000", "7")),
        LEDGER(HOST_AND_PORT("3", "0x0000000000100003", "256")),
        LEDGER(FENCED_PORT("3", "0x0000000000100003", "7", "down")), /* of no fenced host */
        LEDGER(FENCE("3") FENCE("3")),
        LEDGER(FENCE("3") FENCED_PORT("3", "0x0000000000100003", "7", "open")),
        LEDGER(FENCE("3") FENCED_PORT("3", "0x0000000000000000", "7", "down")),
        LEDGER(FENCE("3") FENCED_PORT("3", "0x0000000000100003", "256", "down")),
        LEDGER("<FENCE><ASKED>2</ASKED><HOST>3</HOST><SINCE>5</SINCE></FENCE>"),
        LEDGER("<FENCE><HOST>3</HOST><SINCE>5</SINCE><WISH>closed</WISH></FENCE>"),
        LEDGER("<FENCE><ASKED>2</ASKED><HOST>3</HOST><WISH>closed</WISH></FENCE>"),
        LEDGER(FENCE("3") FENCED_PORT_WITH(SINCE)),
        LEDGER(FENCE("3") FENCED_PORT_WITH("<ANSWER>2</ANSWER>")),
        DOCUMENT("0", "0", "6231", CLOSED,
                 "<VERSION>1</VERSION><SERIAL>1</SERIAL><NEXT>260</NEXT>"),
        LEDGER("<HOST><ID>3</ID><KEY>abcd</KEY><SINCE>5</SINCE></HOST>"),
        DOCUMENT("0", "0", "6231", CLOSED,
                 "<VERSION>2</VERSION><SERIAL>1</SERIAL><NEXT>0x0</NEXT>"),
        DOCUMENT("0", "0", "6231", CLOSED, "<VERSION>1</VERSION><NEXT>0x0</NEXT>"),
        DOCUMENT("0", "0", "6231", CLOSED, ""),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        must_be(ONEIB_LEDGER_BROKEN, wrong[i]);
}

static void a_key_or_a_network_twice_breaks_it(void **state)
{
    (void)state;
    must_be(ONEIB_LEDGER_BROKEN, LEDGER(NETWORK("7", "0x0101") NETWORK("8", "0x0101")));
    must_be(ONEIB_LEDGER_BROKEN, LEDGER(NETWORK("7", "0x0101") NETWORK("7", "0x0102")));
    must_be(ONEIB_LEDGER_BROKEN, LEDGER(NETWORK("7", "0x0101") NETWORK("7", "0x0101")));
    must_be(ONEIB_LEDGER_BROKEN, LEDGER(NETWORK("7", "0x0101") RESTING("0x0101")));
    must_be(ONEIB_LEDGER_BROKEN, LEDGER(RESTING("0x0101") NETWORK("7", "0x0101")));
    must_be(ONEIB_LEDGER_BROKEN, LEDGER(RESTING("0x0101") RESTING("0x0101")));
}

static void among_several_documents_only_administrators_count(void **state)
{
    (void)state;
    struct oneib_kept_ledger kept;
    parse("<DOCUMENT_POOL>" DOCUMENT("5", "1", "6231", CLOSED, HEAD NETWORK("7", "0x0666"))
              LEDGER(NETWORK("7", "0x0101")) "</DOCUMENT_POOL>",
          &kept);
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    assert_int_equal(oneib_ledger_network(&kept.ledger, 7)->pkey, 0x101);
    oneib_kept_ledger_clear(&kept);
    must_be(ONEIB_LEDGER_BROKEN, "<DOCUMENT_POOL>" LEDGER("") LEDGER("") "</DOCUMENT_POOL>");
    must_be(ONEIB_LEDGER_ABSENT, "<DOCUMENT_POOL></DOCUMENT_POOL>");
}

/* The lowest is kept when somebody adopts, and the highest goes first. */
static void of_several_ledgers_the_lowest_and_the_highest_are_known(void **state)
{
    (void)state;
    struct oneib_kept_ledger kept;
    parse("<DOCUMENT_POOL>" NUMBERED("4") NUMBERED("2") NUMBERED("9")
              NUMBERED("5") "</DOCUMENT_POOL>",
          &kept);
    assert_int_equal(kept.state, ONEIB_LEDGER_BROKEN);
    assert_int_equal(kept.document_id, 2);
    assert_int_equal(kept.highest_id, 9);
    oneib_kept_ledger_clear(&kept);
}

static void a_document_within_another_is_no_ledger(void **state)
{
    (void)state;
    static const char *const hostile[] = {
        "<DOCUMENT_POOL>" DOCUMENT("5", "1", "6231", CLOSED,
                                   LEDGER(NETWORK("7", "0x0666"))) "</DOCUMENT_POOL>",
        LEDGER("<NETWORK>") "</NETWORK>",
        "<VNET_POOL></VNET_POOL>",
        "",
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        struct oneib_kept_ledger kept;
        size_t count;
        if (oneib_ledger_parse(hostile[i], strlen(hostile[i]), &kept, &count, &err) == 0)
            fail_msg("taken for a document: %s", hostile[i]);
        assert_int_equal(kept.state, ONEIB_LEDGER_ABSENT);
    }
}

/* oned sorts a template's attributes by name, and wraps every value. */
static void a_ledger_of_a_real_oned_is_read(void **state)
{
    (void)state;
    struct oneib_kept_ledger kept;
    oneib_autofree char *document = recorded("document.info-ledger.doc");
    parse(document, &kept);
    assert_int_equal(kept.state, ONEIB_LEDGER_READ);
    assert_int_equal(kept.document_id, 0);
    assert_int_equal(kept.ledger.serial, 21);
    assert_int_equal(kept.ledger.next, 0x105);
    assert_int_equal(kept.ledger.network_count, 1);
    assert_int_equal(kept.ledger.resting_count, 1);
    assert_int_equal(oneib_ledger_network(&kept.ledger, 2)->pkey, 0x102);
    assert_int_equal(oneib_ledger_resting(&kept.ledger, 0x103)->network_id, 3);
    assert_int_equal(kept.ledger.host_count, 8);
    assert_int_equal(kept.ledger.daemon_count, 1);
    assert_string_equal(kept.ledger.daemons[0].address, "tcp://127.0.0.1:45319");
    oneib_kept_ledger_clear(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ledger_is_read),
        cmocka_unit_test(levels_hosts_and_daemons_are_read),
        cmocka_unit_test(what_was_measured_of_the_fabric_is_read),
        cmocka_unit_test(fences_are_read),
        cmocka_unit_test(a_ledger_of_a_real_oned_is_read),
        cmocka_unit_test(only_oneadmins_or_its_groups_is_one),
        cmocka_unit_test(rights_of_others_break_it),
        cmocka_unit_test(what_oneib_does_not_write_breaks_it),
        cmocka_unit_test(a_key_or_a_network_twice_breaks_it),
        cmocka_unit_test(among_several_documents_only_administrators_count),
        cmocka_unit_test(of_several_ledgers_the_lowest_and_the_highest_are_known),
        cmocka_unit_test(a_document_within_another_is_no_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
