// SPDX-License-Identifier: Apache-2.0
#include "../base/random_source.h"
#include "ib/dummy_mac.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SAMPLES 20000

static void assert_round_trip(uint32_t ipv4, unsigned index)
{
    char mac[ONEIB_MAC_TEXT_SIZE];
    uint32_t back = ~ipv4;
    unsigned back_index = 99;
    if (!oneib_dummy_mac_encode(ipv4, index, mac) || strlen(mac) != 17 ||
        !oneib_dummy_mac_decode(mac, &back, &back_index) || back != ipv4 || back_index != index)
        fail_msg("0x%08x index %u came back as 0x%08x index %u", ipv4, index, back, back_index);
}

static void the_address_and_the_index_stand_in_the_mac(void **state)
{
    (void)state;
    char mac[ONEIB_MAC_TEXT_SIZE];
    assert_true(oneib_dummy_mac_encode(0x0a14000a, 0, mac));
    assert_string_equal(mac, "aa:00:0a:14:00:0a");
    assert_true(oneib_dummy_mac_encode(0xc0a801ff, 15, mac));
    assert_string_equal(mac, "aa:0f:c0:a8:01:ff");
}

static void every_index_with_edge_and_random_addresses_comes_back(void **state)
{
    (void)state;
    static const uint32_t edges[] = {0,       1,          0xff,       0x100,      0xffff,
                                     0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    struct random_source random = random_seeded(3);
    for (unsigned index = 0; index <= ONEIB_DUMMY_MAC_INDEX_MAX; index++) {
        for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
            assert_round_trip(edges[i], index);
        for (int i = 0; i < SAMPLES; i++)
            assert_round_trip((uint32_t)random_next(&random), index);
    }
}

static void an_index_of_16_is_refused(void **state)
{
    (void)state;
    char mac[ONEIB_MAC_TEXT_SIZE] = "untouched";
    assert_false(oneib_dummy_mac_encode(1, 16, mac));
    assert_false(oneib_dummy_mac_encode(1, 256, mac));
    assert_false(oneib_dummy_mac_encode(1, UINT32_MAX, mac));
    assert_string_equal(mac, "untouched");
}

static void any_mac_is_a_number(void **state)
{
    uint64_t mac;
    (void)state;
    assert_true(oneib_mac_parse("02:00:0A:14:00:0b", &mac));
    assert_true(mac == 0x02000a14000b);
    assert_false(oneib_mac_parse("02:00:0a:14:00", &mac));
    assert_false(oneib_mac_parse("02:00:0a:14:00:0b ", &mac));
    assert_false(oneib_mac_parse("02-00-0a-14-00-0b", &mac));
    assert_false(oneib_mac_parse(NULL, &mac));
}

static void either_case_is_decoded(void **state)
{
    (void)state;
    uint32_t ipv4;
    unsigned index;
    assert_true(oneib_dummy_mac_decode("AA:0F:C0:a8:01:Fe", &ipv4, &index));
    assert_int_equal(ipv4, 0xc0a801fe);
    assert_int_equal(index, 15);
}

static void what_is_not_a_dummy_mac_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "aa:00:0a:14:00",
        "aa:00:0a:14:00:0a:",
        "aa:00:0a:14:00:0a:00",
        "aa:00:0a:14:00:0",
        "aa:0:0a:14:00:0a1",
        "aa-00-0a-14-00-0a",
        "aa000a14000a",
        " aa:00:0a:14:00:0a",
        "aa:00:0a:14:00:0a ",
        "aa:00:0a:14:00:0a\n",
        "aa:00:0a:14:00:0g",
        "aa:00:0a:14:00:+a",
        "aa:00:0a:14:00: a",
        "ab:00:0a:14:00:0a", /* another prefix */
        "02:00:0a:14:00:0a", /* an Ethernet MAC of OpenNebula's */
        "aa:10:0a:14:00:0a", /* index 16 */
        "aa:ff:0a:14:00:0a",
    };
    uint32_t ipv4 = 5;
    unsigned index = 6;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (oneib_dummy_mac_decode(wrong[i], &ipv4, &index))
            fail_msg("\"%s\" was taken for a dummy MAC", wrong[i]);
    assert_false(oneib_dummy_mac_decode(NULL, &ipv4, &index));
    assert_int_equal(ipv4, 5);
    assert_int_equal(index, 6);
}

static void addresses_come_back(void **state)
{
    (void)state;
    struct random_source random = random_seeded(5);
    for (int i = 0; i < SAMPLES; i++) {
        uint32_t ipv4 = (uint32_t)random_next(&random);
        char text[ONEIB_IPV4_TEXT_SIZE];
        oneib_ipv4_format(ipv4, text);
        uint32_t back = ~ipv4;
        assert_true(oneib_ipv4_parse(text, &back));
        assert_int_equal(back, ipv4);
    }
    uint32_t ipv4 = 1;
    assert_true(oneib_ipv4_parse("0.0.0.0", &ipv4) && ipv4 == 0);
    assert_true(oneib_ipv4_parse("255.255.255.255", &ipv4) && ipv4 == UINT32_MAX);
    assert_true(oneib_ipv4_parse("10.20.0.10", &ipv4) && ipv4 == 0x0a14000a);
}

static void what_is_not_an_address_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",          ".",        "1",         "1.2.3",      "1.2.3.",     ".1.2.3",   "1.2.3.4.",
        "1.2.3.4.5", "1..3.4",   "256.1.1.1", "1.1.1.256",  "1.1.1.1000", "01.2.3.4", "1.2.3.04",
        "00.0.0.0",  " 1.2.3.4", "1.2.3.4 ",  "1.2.3.4\n",  "+1.2.3.4",   "-1.2.3.4", "0x1.2.3.4",
        "1,2,3,4",   "a.b.c.d",  "::1",       "1.2.3.4/24", "16909060",
    };
    uint32_t ipv4 = 5;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (oneib_ipv4_parse(wrong[i], &ipv4))
            fail_msg("\"%s\" was taken for an address", wrong[i]);
    assert_false(oneib_ipv4_parse(NULL, &ipv4));
    assert_int_equal(ipv4, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_address_and_the_index_stand_in_the_mac),
        cmocka_unit_test(every_index_with_edge_and_random_addresses_comes_back),
        cmocka_unit_test(an_index_of_16_is_refused),
        cmocka_unit_test(any_mac_is_a_number),
        cmocka_unit_test(either_case_is_decoded),
        cmocka_unit_test(what_is_not_a_dummy_mac_is_refused),
        cmocka_unit_test(addresses_come_back),
        cmocka_unit_test(what_is_not_an_address_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
