// SPDX-License-Identifier: Apache-2.0
#include "../base/random_source.h"
#include "cluster/ledger.h"
#include "ib/ipoib.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct oneib_error err;

static int give(struct oneib_ledger *ledger, uint32_t network_id, oneib_pkey pkey)
{
    const struct oneib_ledger_network entry = {
        .network_id = network_id, .pkey = pkey, .owner = 100 + network_id, .since = 1000};
    return oneib_ledger_give(ledger, &entry, &err);
}

static void a_network_has_the_key_that_it_was_given(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    assert_int_equal(give(&ledger, 9, 0x102), 0);
    assert_int_equal(give(&ledger, 7, 0x101), 0);
    assert_int_equal(oneib_ledger_network(&ledger, 7)->pkey, 0x101);
    assert_int_equal(oneib_ledger_network(&ledger, 9)->owner, 109);
    assert_null(oneib_ledger_network(&ledger, 8));
    assert_int_equal(oneib_ledger_holder(&ledger, 0x102)->network_id, 9);
    assert_null(oneib_ledger_holder(&ledger, 0x103));
    oneib_ledger_clear(&ledger);
}

static void a_service_level_stands_beside_the_key_and_goes_with_it(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0}, copy = {0};
    struct oneib_text text = {0};
    assert_int_equal(give(&ledger, 7, 0x101), 0);
    oneib_ledger_copy(&ledger, &copy);
    oneib_ledger_render(&ledger, &text);
    assert_null(strstr(text.data, "SL"));
    assert_int_equal(oneib_ledger_set_sl(&ledger, 7, 3, &err), 0);
    assert_false(oneib_ledger_equal(&ledger, &copy));
    oneib_ledger_render(&ledger, &text);
    assert_non_null(strstr(text.data, "OWNER = \"107\", SL = \"3\", SINCE"));
    assert_int_equal(oneib_ledger_set_sl(&ledger, 8, 3, &err), -1);
    assert_non_null(strstr(err.text, "it has no P_Key"));
    assert_int_equal(oneib_ledger_set_sl(&ledger, 7, 16, &err), -1);
    assert_non_null(strstr(err.text, "there is no such level"));
    assert_int_equal(oneib_ledger_network(&ledger, 7)->sl, 3);
    oneib_ledger_rest(&ledger, 7, 2000);
    assert_int_equal(oneib_ledger_set_sl(&ledger, 7, 3, &err), -1);
    oneib_text_clear(&text);
    oneib_ledger_clear(&ledger);
    oneib_ledger_clear(&copy);
}

static void one_key_is_never_two_networks(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    assert_int_equal(give(&ledger, 7, 0x101), 0);
    assert_int_equal(give(&ledger, 9, 0x101), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_non_null(strstr(err.text, "network 7 has it"));
    assert_null(oneib_ledger_network(&ledger, 9));
    oneib_ledger_clear(&ledger);
}

static void what_is_no_key_is_given_to_nobody(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    assert_int_equal(give(&ledger, 7, 0), -1);
    assert_int_equal(give(&ledger, 7, ONEIB_PKEY_DEFAULT), -1);
    assert_int_equal(give(&ledger, 7, 0x8001), -1);
    assert_int_equal(ledger.network_count, 0);
    assert_int_equal(give(&ledger, 7, ONEIB_PKEY_FIRST), 0);
    assert_int_equal(give(&ledger, 8, ONEIB_PKEY_LAST), 0);
    oneib_ledger_clear(&ledger);
}

static void what_is_no_key_a_networks_or_rests_already_is_not_laid_to_rest(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    struct oneib_ledger_resting entry = {.network_id = 7};
    assert_int_equal(oneib_ledger_add_resting(&ledger, &entry, &err), -1);
    entry.pkey = 0x101;
    assert_int_equal(give(&ledger, 7, 0x101), 0);
    assert_int_equal(oneib_ledger_add_resting(&ledger, &entry, &err), -1);
    entry.pkey = 0x102;
    assert_int_equal(oneib_ledger_add_resting(&ledger, &entry, &err), 0);
    assert_int_equal(oneib_ledger_add_resting(&ledger, &entry, &err), -1);
    assert_int_equal(ledger.resting_count, 1);
    oneib_ledger_clear(&ledger);
}

static void the_key_of_a_network_that_is_gone_rests(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    assert_int_equal(give(&ledger, 7, 0x101), 0);
    oneib_ledger_rest(&ledger, 7, 2000);
    assert_null(oneib_ledger_network(&ledger, 7));
    const struct oneib_ledger_resting *resting = oneib_ledger_resting(&ledger, 0x101);
    assert_non_null(resting);
    assert_int_equal(resting->network_id, 7);
    assert_int_equal(resting->owner, 107);
    assert_int_equal(resting->since, 2000);

    assert_int_equal(give(&ledger, 9, 0x101), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_non_null(strstr(err.text, "quarantined"));
    assert_int_equal(give(&ledger, 7, 0x101), -1); /* not even to the one that had it */

    oneib_ledger_free_key(&ledger, 0x101);
    assert_null(oneib_ledger_resting(&ledger, 0x101));
    assert_int_equal(give(&ledger, 9, 0x101), 0);
    oneib_ledger_clear(&ledger);
}

static void a_network_without_a_key_leaves_nothing_to_rest(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    oneib_ledger_rest(&ledger, 7, 2000);
    assert_int_equal(ledger.resting_count, 0);
    oneib_ledger_free_key(&ledger, 0x101);
    oneib_ledger_clear(&ledger);
}

static void the_key_that_another_replaces_rests(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    assert_int_equal(give(&ledger, 7, 0x101), 0);
    assert_int_equal(give(&ledger, 7, 0x200), 0);
    assert_int_equal(ledger.network_count, 1);
    assert_int_equal(oneib_ledger_network(&ledger, 7)->pkey, 0x200);
    assert_non_null(oneib_ledger_resting(&ledger, 0x101));

    assert_int_equal(give(&ledger, 7, 0x200), 0); /* what it has: nothing changes */
    assert_int_equal(ledger.resting_count, 1);
    oneib_ledger_clear(&ledger);
}

static void a_fence_and_its_ports_are_written_and_lifted_together(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0}, copy;
    const struct oneib_ledger_fence fence = {.host_id = 3, .asked = 2, .since = 5};
    const struct oneib_ledger_fenced_port port = {.host_id = 3,
                                                  .guid = 0x100003,
                                                  .switch_guid = 0x200000,
                                                  .switch_port = 7,
                                                  .state = ONEIB_FENCE_DOWN,
                                                  .answer = 2,
                                                  .since = 6};
    assert_int_equal(oneib_ledger_set_fenced_port(&ledger, &port, &err), -1); /* no such fence */
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    oneib_ledger_set_fence(&ledger, &fence);
    oneib_ledger_set_fence(&ledger, &(struct oneib_ledger_fence){.host_id = 1});
    assert_int_equal(oneib_ledger_set_fenced_port(&ledger, &port, &err), 0);
    assert_int_equal(oneib_ledger_set_fenced_port(&ledger, &port, &err), 0);
    assert_int_equal(ledger.fence_count, 2);
    assert_int_equal(ledger.fenced_port_count, 1);
    assert_null(oneib_ledger_fenced_port(&ledger, 1, 0x100003));

    oneib_ledger_copy(&ledger, &copy);
    assert_true(oneib_ledger_equal(&ledger, &copy));
    oneib_ledger_fenced_port(&copy, 3, 0x100003)->answer = 3;
    assert_false(oneib_ledger_equal(&ledger, &copy));
    oneib_ledger_clear(&copy);

    struct oneib_text text = {0};
    oneib_ledger_render(&ledger, &text);
    assert_non_null(strstr(text.data, "FENCE = [ HOST = \"3\", WISH = \"closed\", ASKED = \"2\", "
                                      "SINCE = \"5\" ]\nFENCED_PORT = [ HOST = \"3\", GUID = "
                                      "\"0x0000000000100003\", SWITCH = \"0x0000000000200000\", "
                                      "PORT = \"7\", STATE = \"down\", ANSWER = \"2\", "
                                      "SINCE = \"6\" ]\n"));
    oneib_text_clear(&text);

    oneib_ledger_lift_fence(&ledger, 3);
    assert_null(oneib_ledger_fence(&ledger, 3));
    assert_non_null(oneib_ledger_fence(&ledger, 1));
    assert_int_equal(ledger.fenced_port_count, 0);
    oneib_ledger_clear(&ledger);
}

static void a_fenced_port_is_no_port_without_a_guid_or_half_a_place(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    struct oneib_ledger_fenced_port port = {.host_id = 3};
    oneib_ledger_set_fence(&ledger, &(struct oneib_ledger_fence){.host_id = 3});
    assert_int_equal(oneib_ledger_set_fenced_port(&ledger, &port, &err), -1);
    port.guid = 0x100003;
    port.switch_port = 7;
    assert_int_equal(oneib_ledger_set_fenced_port(&ledger, &port, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    oneib_ledger_clear(&ledger);
}

static void what_is_written_of_a_fence_is_read(void **state)
{
    (void)state;
    enum oneib_fence_wish wish;
    enum oneib_fence_state found;
    for (enum oneib_fence_wish i = ONEIB_FENCE_CLOSED; i <= ONEIB_FENCE_FORCED; i++) {
        assert_true(oneib_fence_wish_parse(oneib_fence_wish_name(i), &wish));
        assert_int_equal(wish, i);
    }
    for (enum oneib_fence_state i = ONEIB_FENCE_ASKED; i <= ONEIB_FENCE_UNPROVEN; i++) {
        assert_true(oneib_fence_state_parse(oneib_fence_state_name(i), &found));
        assert_int_equal(found, i);
    }
    assert_false(oneib_fence_wish_parse("down", &wish));
    assert_false(oneib_fence_state_parse("closed", &found));
}

static int set_port(struct oneib_ledger *ledger, uint32_t host_id, oneib_guid guid)
{
    struct oneib_ledger_port port = {.host_id = host_id, .guid = guid, .since = 5};
    if (host_id == 3) /* the other one's oneib-node reports it no more */
        port.hca = (struct oneib_hca_port){.device = "mlx4_0",
                                           .port = 1,
                                           .driver = ONEIB_HCA_MLX4,
                                           .port_guid = guid,
                                           .vfs_total = 8};
    return oneib_ledger_set_port(ledger, &port, &err);
}

static void a_port_is_the_first_hosts_until_that_is_forgotten(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0}, copy;
    struct oneib_ledger_host first = {.host_id = 3}, second = {.host_id = 4};
    struct oneib_text text = {0};
    assert_int_equal(set_port(&ledger, 3, 0x100003), -1); /* nobody knows its key */
    oneib_ledger_pin(&ledger, &first);
    oneib_ledger_pin(&ledger, &second);
    assert_int_equal(set_port(&ledger, 3, 0), -1);
    assert_int_equal(set_port(&ledger, 3, 0x100003), 0);
    assert_int_equal(set_port(&ledger, 4, 0x100003), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_int_equal(set_port(&ledger, 4, 0x100002), 0);
    assert_int_equal(oneib_ledger_port(&ledger, 0x100003)->host_id, 3);
    oneib_ledger_render(&ledger, &text);
    assert_non_null(strstr(text.data, "HOST_PORT = [ HOST = \"4\", GUID = \"0x0000000000100002\", "
                                      "SWITCH = \"0x0000000000000000\", PORT = \"0\", "
                                      "SINCE = \"5\" ]\nHOST_PORT = [ HOST = \"3\""));
    assert_non_null(strstr(
        text.data,
        "GUID = \"0x0000000000100003\", NAME = \"mlx4_0:1\", DRIVER = \"mlx4\", VFS = \"8\", "));
    oneib_text_clear(&text);

    oneib_ledger_copy(&ledger, &copy);
    assert_true(oneib_ledger_equal(&ledger, &copy));
    first.key[0] = 1;
    oneib_ledger_pin(&copy, &first);
    assert_non_null(oneib_ledger_port(&copy, 0x100003)); /* another key moves no adapter */
    assert_false(oneib_ledger_equal(&ledger, &copy));
    oneib_ledger_forget_host(&copy, 3, 9);
    assert_null(oneib_ledger_port(&copy, 0x100003));
    oneib_ledger_forget_host(&copy, 4, 9);
    assert_int_equal(copy.port_count, 0);
    oneib_ledger_clear(&copy);

    for (size_t i = 1; i < ONEIB_HOST_PORTS_MAX; i++)
        assert_int_equal(set_port(&ledger, 3, 0x100003 + i), 0);
    assert_int_equal(set_port(&ledger, 3, 0x100001), -1); /* a node that lies on and on */
    assert_int_equal(set_port(&ledger, 3, 0x100003), 0);
    oneib_ledger_clear(&ledger);
}

static void a_port_allows_another_driver_device_or_number_when_its_host_is_accepted(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    oneib_ledger_pin(&ledger, &(struct oneib_ledger_host){.host_id = 3});
    oneib_ledger_pin(&ledger, &(struct oneib_ledger_host){.host_id = 4});
    assert_int_equal(set_port(&ledger, 3, 0x100003), 0);
    assert_int_equal(set_port(&ledger, 3, 0x100004), 0);
    assert_int_equal(set_port(&ledger, 4, 0x100005), 0);
    const struct oneib_ledger_port *port = oneib_ledger_port(&ledger, 0x100003);
    struct oneib_hca_port other[4] = {port->hca, port->hca, port->hca, port->hca};
    other[0].vfs_total++;
    other[1].driver = ONEIB_HCA_MLX5;
    other[2].port = 2;
    strcpy(other[3].device, "mlx4_1");
    for (size_t i = 0; i < 4; i++)
        assert_true(oneib_ledger_port_allows(port, &other[i]) == (i == 0));
    assert_true(oneib_ledger_port_allows(oneib_ledger_port(&ledger, 0x100005), &other[1]));

    ledger.ports[1].state = ONEIB_LEDGER_PORT_ABSENT;
    assert_false(oneib_ledger_port_allows(&ledger.ports[1], &other[1]));
    oneib_ledger_renew_ports(&ledger, 3);
    assert_int_equal(ledger.port_count, 2); /* what was absent is nobody's */
    assert_string_equal(ledger.ports[0].hca.device, "mlx4_0");
    assert_int_equal(ledger.ports[1].state, ONEIB_LEDGER_PORT_PRESENT); /* another host's */
    for (size_t i = 0; i < 4; i++)
        assert_true(oneib_ledger_port_allows(&ledger.ports[0], &other[i]));
    oneib_ledger_clear(&ledger);
}

static void a_ports_state_is_written_down(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    struct oneib_text text = {0};
    enum oneib_ledger_port_state found;
    oneib_ledger_pin(&ledger, &(struct oneib_ledger_host){.host_id = 3});
    assert_int_equal(set_port(&ledger, 3, 0x100003), 0);
    ledger.ports[0].state = ONEIB_LEDGER_PORT_ABSENT;
    ledger.ports[0].is_accepted = true;
    oneib_ledger_render(&ledger, &text);
    assert_non_null(
        strstr(text.data, "VFS = \"8\", STATE = \"absent\", ACCEPTED = \"YES\", SWITCH"));
    assert_null(oneib_ledger_port_state_name(ONEIB_LEDGER_PORT_PRESENT));
    assert_true(oneib_ledger_port_state_parse("renewed", &found));
    assert_int_equal(found, ONEIB_LEDGER_PORT_RENEWED);
    assert_false(oneib_ledger_port_state_parse("", &found));
    oneib_text_clear(&text);
    oneib_ledger_clear(&ledger);
}

static void a_hosts_key_is_pinned_replaced_and_forgotten(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    struct oneib_ledger_host host = {.host_id = 3, .key = {1}, .since = 5};
    oneib_ledger_pin(&ledger, &host);
    oneib_ledger_pin(&ledger, &(struct oneib_ledger_host){.host_id = 1});
    assert_int_equal(oneib_ledger_host(&ledger, 3)->key[0], 1);
    host.key[0] = 2;
    oneib_ledger_pin(&ledger, &host);
    assert_int_equal(ledger.host_count, 2);
    assert_int_equal(oneib_ledger_host(&ledger, 3)->key[0], 2);
    oneib_ledger_forget_host(&ledger, 3, 9);
    oneib_ledger_forget_host(&ledger, 4, 9);
    assert_null(oneib_ledger_host(&ledger, 3));
    assert_non_null(oneib_ledger_host(&ledger, 1));
    oneib_ledger_clear(&ledger);
}

static void a_host_that_is_forgotten_is_marked_until_it_is_pinned(void **state)
{
    (void)state;
    oneib_autoledger struct oneib_ledger ledger = {0}, copy = {0};
    oneib_autotext struct oneib_text text = {0};
    struct oneib_host host = {.id = 3, .node_key = "aa"};
    assert_true(oneib_ledger_awaits_acceptance(&ledger, &host));
    oneib_ledger_pin(&ledger, &(struct oneib_ledger_host){.host_id = 3, .keys_serial = 6});
    oneib_ledger_forget_host(&ledger, 4, 8); /* never pinned */
    oneib_ledger_forget_host(&ledger, 3, 9);
    oneib_ledger_forget_host(&ledger, 3, 10);
    assert_int_equal(ledger.forgotten_count, 2);
    assert_false(oneib_ledger_awaits_acceptance(&ledger, &host));
    oneib_ledger_render(&ledger, &text);
    assert_non_null(strstr(text.data, "FORGOTTEN = [ ID = \"3\", SERIAL = \"6\", SINCE = \"10\" ]\n"
                                      "FORGOTTEN = [ ID = \"4\", SINCE = \"8\" ]\n"));
    oneib_ledger_copy(&ledger, &copy);
    assert_true(oneib_ledger_equal(&ledger, &copy));
    oneib_ledger_pin(&copy, &(struct oneib_ledger_host){.host_id = 3});
    assert_null(oneib_ledger_forgotten(&copy, 3));
    assert_int_equal(oneib_ledger_host(&copy, 3)->keys_serial, 6);
    assert_non_null(oneib_ledger_forgotten(&copy, 4));
    copy.forgotten[0].since = 7;
    oneib_ledger_forget_host(&copy, 3, 10);
    assert_false(oneib_ledger_equal(&ledger, &copy));
}

static void a_daemon_has_one_entry_for_its_address(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    struct oneib_ledger_daemon daemon = {
        .address = "tcp://10.0.0.2:9678", .curve = {1}, .sign = {1}};
    assert_int_equal(oneib_ledger_set_daemon(&ledger, &daemon, &err), 0);
    daemon.sign[0] = 2;
    assert_int_equal(oneib_ledger_set_daemon(&ledger, &daemon, &err), 0);
    daemon =
        (struct oneib_ledger_daemon){.address = "tcp://[fe80::1]:9678", .curve = {3}, .sign = {3}};
    assert_int_equal(oneib_ledger_set_daemon(&ledger, &daemon, &err), 0);
    assert_int_equal(ledger.daemon_count, 2);
    assert_int_equal(ledger.daemons[0].sign[0], 2);
    oneib_ledger_remove_daemon(&ledger, "tcp://10.0.0.3:9678");
    assert_int_equal(ledger.daemon_count, 2);
    oneib_ledger_remove_daemon(&ledger, "tcp://10.0.0.2:9678");
    assert_int_equal(ledger.daemon_count, 1);
    assert_string_equal(ledger.daemons[0].address, "tcp://[fe80::1]:9678");
    oneib_ledger_clear(&ledger);
}

static void a_daemon_that_moves_takes_its_keys_along(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    struct oneib_ledger_daemon daemon = {.address = "tcp://b:1", .curve = {1}, .sign = {2}};
    assert_int_equal(oneib_ledger_set_daemon(&ledger, &daemon, &err), 0);
    snprintf(daemon.address, sizeof daemon.address, "tcp://a:1");
    assert_int_equal(oneib_ledger_set_daemon(&ledger, &daemon, &err), 0);
    assert_int_equal(ledger.daemon_count, 1);
    assert_string_equal(ledger.daemons[0].address, "tcp://a:1");
    snprintf(daemon.address, sizeof daemon.address, "tcp://c:1");
    daemon.curve[0] = 9;
    assert_int_equal(oneib_ledger_set_daemon(&ledger, &daemon, &err), 0);
    assert_int_equal(ledger.daemon_count, 1);
    assert_string_equal(ledger.daemons[0].address, "tcp://c:1");
    oneib_ledger_clear(&ledger);
}

static void an_address_cannot_end_its_value(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",        "tcp://",    "udp://10.0.0.1:1", "tcp://a\" ]:1", "tcp://\"a:1",
        "tcp://a", "tcp://a b", "tcp://a\nNETWORK", "tcp://*:1"};
    struct oneib_ledger ledger = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct oneib_ledger_daemon daemon = {0};
        snprintf(daemon.address, sizeof daemon.address, "%s", wrong[i]);
        assert_int_equal(oneib_ledger_set_daemon(&ledger, &daemon, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    }
    struct oneib_ledger_daemon endless;
    memset(&endless, 'a', sizeof endless);
    memcpy(endless.address, "tcp://", 6);
    assert_int_equal(oneib_ledger_set_daemon(&ledger, &endless, &err), -1);
    assert_int_equal(ledger.daemon_count, 0);
}

static void fill(struct oneib_ledger *ledger)
{
    *ledger =
        (struct oneib_ledger){.serial = 17, .next = 0x104, .mtu = 5, .rate = oneib_rate_code(40)};
    assert_int_equal(give(ledger, 9, 0x102), 0);
    assert_int_equal(give(ledger, 7, 0x101), 0);
    oneib_ledger_rest(ledger, 9, 2000);
    struct oneib_ledger_host host = {.host_id = 3, .since = 5};
    memset(host.key, 0xab, sizeof host.key);
    oneib_ledger_pin(ledger, &host);
    struct oneib_ledger_daemon daemon = {.address = "tcp://10.0.0.1:9678", .since = 6};
    memset(daemon.curve, 0x01, sizeof daemon.curve);
    memset(daemon.sign, 0xfe, sizeof daemon.sign);
    assert_int_equal(oneib_ledger_set_daemon(ledger, &daemon, &err), 0);
}

static void is_written_as_the_header_says(void **state)
{
    (void)state;
    struct oneib_ledger ledger;
    oneib_autotext struct oneib_text text = {0};
    fill(&ledger);
    oneib_ledger_render(&ledger, &text);
#define AB8 "abababababababab"
#define O18 "0101010101010101"
#define FE8 "fefefefefefefefe"
    assert_string_equal(
        text.data,
        "VERSION = \"1\"\nSERIAL = \"17\"\nNEXT = \"0x0104\"\nMTU = \"4096\"\nRATE = \"40\"\n"
        "NETWORK = [ ID = \"7\", PKEY = \"0x0101\", OWNER = \"107\", SINCE = \"1000\" ]\n"
        "RESTING = [ PKEY = \"0x0102\", NETWORK = \"9\", OWNER = \"109\", SINCE = \"2000\" ]\n"
        "HOST = [ ID = \"3\", KEY = \"" AB8 AB8 AB8 AB8 "\", SINCE = \"5\" ]\n"
        "DAEMON = [ ADDRESS = \"tcp://10.0.0.1:9678\", CURVE = \"" O18 O18 O18 O18
        "\", SIGN = \"" FE8 FE8 FE8 FE8 "\", SINCE = \"6\" ]\n");
    oneib_ledger_clear(&ledger);
}

static void a_copy_is_equal_and_its_own(void **state)
{
    (void)state;
    struct oneib_ledger ledger, copy;
    fill(&ledger);
    oneib_ledger_copy(&ledger, &copy);
    assert_true(oneib_ledger_equal(&ledger, &copy));
    assert_int_equal(give(&copy, 8, 0x103), 0);
    assert_false(oneib_ledger_equal(&ledger, &copy));
    assert_int_equal(ledger.network_count, 1);
    oneib_ledger_clear(&copy);
    oneib_ledger_clear(&ledger);
}

static void equal_looks_at_every_part(void **state)
{
    (void)state;
    struct oneib_ledger ledger, copy;
    struct oneib_ledger_fenced_port fenced_port = {.host_id = 3, .guid = 0x100003};
    fill(&ledger);
    assert_int_equal(set_port(&ledger, 3, 0x100003), 0);
    oneib_ledger_set_fence(&ledger, &(struct oneib_ledger_fence){.host_id = 3});
    assert_int_equal(oneib_ledger_set_fenced_port(&ledger, &fenced_port, &err), 0);
    oneib_ledger_copy(&ledger, &copy);
    struct oneib_ledger_network *network = copy.networks;
    struct oneib_ledger_resting *resting = copy.resting;
    struct oneib_ledger_host *host = copy.hosts;
    struct oneib_ledger_port *port = copy.ports;
    struct oneib_ledger_daemon *daemon = copy.daemons;
    struct oneib_ledger_fence *fence = copy.fences;
    struct oneib_ledger_fenced_port *fenced = copy.fenced_ports;
    /* One byte of each; a count is 1 or 0. */
    void *const parts[] = {&copy.serial,
                           &copy.next,
                           &copy.mtu,
                           &copy.rate,
                           &copy.network_count,
                           &network->network_id,
                           &network->pkey,
                           &network->owner,
                           &network->since,
                           &network->sl,
                           &copy.resting_count,
                           &resting->pkey,
                           &resting->owner,
                           &resting->network_id,
                           &resting->since,
                           &copy.host_count,
                           &host->host_id,
                           &host->key[31],
                           &host->since,
                           &copy.port_count,
                           &port->guid,
                           &port->host_id,
                           &port->hca.device[0],
                           &port->hca.port,
                           &port->hca.driver,
                           &port->switch_guid,
                           &port->switch_port,
                           &port->since,
                           &port->state,
                           &port->is_accepted,
                           &copy.daemon_count,
                           &daemon->address,
                           &daemon->curve[31],
                           &daemon->sign[31],
                           &daemon->since,
                           &copy.fence_count,
                           &fence->host_id,
                           &fence->wish,
                           &fence->asked,
                           &fence->since,
                           &copy.fenced_port_count,
                           &fenced->host_id,
                           &fenced->guid,
                           &fenced->switch_guid,
                           &fenced->switch_port,
                           &fenced->state,
                           &fenced->answer,
                           &fenced->since};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint8_t *byte = parts[i];
        *byte ^= 1;
        assert_false(oneib_ledger_equal(&ledger, &copy));
        *byte ^= 1;
        assert_true(oneib_ledger_equal(&ledger, &copy));
    }
    oneib_ledger_clear(&copy);
    oneib_ledger_clear(&ledger);
}

/* After any steps: sorted, no id and no key twice, and what rests is no network's. */
static void check_order(const struct oneib_ledger *ledger)
{
    for (size_t i = 0; i < ledger->network_count; i++) {
        const struct oneib_ledger_network *entry = &ledger->networks[i];
        assert_true(i == 0 || ledger->networks[i - 1].network_id < entry->network_id);
        assert_ptr_equal(oneib_ledger_holder(ledger, entry->pkey), entry);
        assert_null(oneib_ledger_resting(ledger, entry->pkey));
    }
    for (size_t i = 1; i < ledger->resting_count; i++)
        assert_true(ledger->resting[i - 1].pkey < ledger->resting[i].pkey);
}

static void no_steps_bring_a_key_to_two(void **state)
{
    (void)state;
    struct random_source source = {.state = 20261122};
    struct oneib_ledger ledger = {0};
    for (unsigned step = 0; step < 5000; step++) {
        const uint32_t id = random_below(&source, 12);
        const oneib_pkey pkey = (oneib_pkey)(1 + random_below(&source, 16));
        switch (random_below(&source, 3)) {
        case 0:
            give(&ledger, id, pkey);
            break;
        case 1:
            oneib_ledger_rest(&ledger, id, step);
            break;
        default:
            oneib_ledger_free_key(&ledger, pkey);
        }
        check_order(&ledger);
    }
    oneib_ledger_clear(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_has_the_key_that_it_was_given),
        cmocka_unit_test(one_key_is_never_two_networks),
        cmocka_unit_test(a_service_level_stands_beside_the_key_and_goes_with_it),
        cmocka_unit_test(what_is_no_key_is_given_to_nobody),
        cmocka_unit_test(what_is_no_key_a_networks_or_rests_already_is_not_laid_to_rest),
        cmocka_unit_test(the_key_of_a_network_that_is_gone_rests),
        cmocka_unit_test(a_network_without_a_key_leaves_nothing_to_rest),
        cmocka_unit_test(the_key_that_another_replaces_rests),
        cmocka_unit_test(a_fence_and_its_ports_are_written_and_lifted_together),
        cmocka_unit_test(a_fenced_port_is_no_port_without_a_guid_or_half_a_place),
        cmocka_unit_test(what_is_written_of_a_fence_is_read),
        cmocka_unit_test(a_port_is_the_first_hosts_until_that_is_forgotten),
        cmocka_unit_test(a_port_allows_another_driver_device_or_number_when_its_host_is_accepted),
        cmocka_unit_test(a_ports_state_is_written_down),
        cmocka_unit_test(a_hosts_key_is_pinned_replaced_and_forgotten),
        cmocka_unit_test(a_host_that_is_forgotten_is_marked_until_it_is_pinned),
        cmocka_unit_test(a_daemon_has_one_entry_for_its_address),
        cmocka_unit_test(a_daemon_that_moves_takes_its_keys_along),
        cmocka_unit_test(an_address_cannot_end_its_value),
        cmocka_unit_test(is_written_as_the_header_says),
        cmocka_unit_test(a_copy_is_equal_and_its_own),
        cmocka_unit_test(equal_looks_at_every_part),
        cmocka_unit_test(no_steps_bring_a_key_to_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
