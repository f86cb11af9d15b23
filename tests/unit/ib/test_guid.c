// SPDX-License-Identifier: Apache-2.0
#include "../base/random_source.h"
#include "ib/guid.h"
#include <inttypes.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SAMPLES 200000

static void assert_round_trip(uint16_t site, uint32_t vm_id, uint8_t nic_id)
{
    oneib_guid guid = oneib_guid_encode(site, vm_id, nic_id);
    struct oneib_guid_parts parts;
    if (!oneib_guid_decode(guid, &parts) || parts.site != site || parts.vm_id != vm_id ||
        parts.nic_id != nic_id || !oneib_guid_in_site(guid, site))
        fail_msg("site %u vm %" PRIu32 " nic %u came back otherwise from 0x%016" PRIx64, site,
                 vm_id, nic_id, guid);
}

static void the_bytes_are_prefix_site_vm_and_nic(void **state)
{
    (void)state;
    assert_true(oneib_guid_encode(0, 42, 1) == UINT64_C(0x0200000000002a01));
    assert_true(oneib_guid_encode(0x1234, 0x56789abc, 0xde) == UINT64_C(0x02123456789abcde));
}

static void boundary_values_come_back(void **state)
{
    (void)state;
    static const uint16_t sites[] = {0, 1, 0x00ff, 0x0100, 0x7fff, 0x8000, 0xffff};
    static const uint32_t vms[] = {0,       1,          0xff,       0x100,     0xffff,
                                   0x10000, 0x7fffffff, 0x80000000, 0xffffffff};
    static const uint8_t nics[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t s = 0; s < sizeof sites / sizeof sites[0]; s++)
        for (size_t v = 0; v < sizeof vms / sizeof vms[0]; v++)
            for (size_t n = 0; n < sizeof nics / sizeof nics[0]; n++)
                assert_round_trip(sites[s], vms[v], nics[n]);
}

static void random_attachments_come_back(void **state)
{
    (void)state;
    struct random_source random = random_seeded(20261121);
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t bits = random_next(&random);
        assert_round_trip((uint16_t)(bits >> 40), (uint32_t)(bits >> 8), (uint8_t)bits);
    }
}

static void a_guid_of_another_maker_is_not_decoded(void **state)
{
    (void)state;
    struct random_source random = random_seeded(7);
    struct oneib_guid_parts parts = {1, 2, 3};
    for (int i = 0; i < SAMPLES; i++) {
        oneib_guid guid = random_next(&random);
        if (guid >> 56 != 0x02)
            assert_false(oneib_guid_decode(guid, &parts) || oneib_guid_in_site(guid, 0));
    }
    assert_false(oneib_guid_decode(0, &parts));
    assert_false(oneib_guid_decode(UINT64_MAX, &parts));
    assert_false(oneib_guid_decode(UINT64_C(0x0002c90300112233), &parts));
    assert_true(parts.site == 1 && parts.vm_id == 2 && parts.nic_id == 3);
}

static void a_guid_of_another_site_is_not_ours(void **state)
{
    (void)state;
    assert_false(oneib_guid_in_site(oneib_guid_encode(5, 1, 1), 4));
    assert_false(oneib_guid_in_site(oneib_guid_encode(0x0100, 1, 1), 1));
}

static void formatted_guids_are_read_again(void **state)
{
    (void)state;
    struct random_source random = random_seeded(11);
    for (int i = 0; i < SAMPLES; i++) {
        oneib_guid guid = random_next(&random) >> random_below(&random, 64);
        if (guid == 0 || guid == UINT64_MAX)
            continue;
        char text[ONEIB_GUID_TEXT_SIZE];
        char expected[ONEIB_GUID_TEXT_SIZE];
        oneib_guid_format(guid, text);
        snprintf(expected, sizeof expected, "0x%016" PRIx64, guid);
        assert_string_equal(text, expected);

        oneib_guid back = 0;
        assert_true(oneib_guid_parse(text, &back) && back == guid);
    }
}

static void short_and_upper_case_guids_are_read(void **state)
{
    (void)state;
    oneib_guid guid = 0;
    assert_true(oneib_guid_parse("0x1", &guid) && guid == 1);
    assert_true(oneib_guid_parse("0X2C9ABCDEF", &guid) && guid == UINT64_C(0x2c9abcdef));
    assert_true(oneib_guid_parse_n("0x12345", 4, &guid) && guid == 0x12);
}

static void what_is_not_a_guid_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "0x",
        "0",
        "1",
        "0x0",
        "0x0000000000000000",
        "0xffffffffffffffff",
        " 0x1",
        "0x1 ",
        "+0x1",
        "-0x1",
        "0x-1",
        "0x00000000000000001",
        "0xg",
        "0002c90300112233",
        "00:02:c9:03:00:11:22:33",
        "0x1\n",
    };
    oneib_guid guid = 77;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (oneib_guid_parse(wrong[i], &guid) ||
            oneib_guid_parse_n(wrong[i], strlen(wrong[i]), &guid))
            fail_msg("\"%s\" was taken for a GUID", wrong[i]);
    assert_false(oneib_guid_parse(NULL, &guid));
    assert_true(guid == 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_prefix_site_vm_and_nic),
        cmocka_unit_test(boundary_values_come_back),
        cmocka_unit_test(random_attachments_come_back),
        cmocka_unit_test(a_guid_of_another_maker_is_not_decoded),
        cmocka_unit_test(a_guid_of_another_site_is_not_ours),
        cmocka_unit_test(formatted_guids_are_read_again),
        cmocka_unit_test(short_and_upper_case_guids_are_read),
        cmocka_unit_test(what_is_not_a_guid_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
