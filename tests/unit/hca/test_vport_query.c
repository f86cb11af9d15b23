// SPDX-License-Identifier: Apache-2.0
/* Bytes as include/linux/mlx5/mlx5_ifc.h of Linux has them, written down by hand. */
#include "hca/vport_query.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* opcode, uid, reserved, op_mod; other_vport, port_num, vport_number; reserved, index */
static void the_gid_of_a_vf_is_asked_for(void **state)
{
    (void)state;
    static const uint8_t expected[] = {0x07, 0x64, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                       0x80, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00};
    uint8_t request[ONEIB_VPORT_REQUEST_SIZE];
    memset(request, 0xa5, sizeof request);
    oneib_vport_ask_gid(request, 2);
    assert_memory_equal(request, expected, sizeof expected);
}

static void the_whole_table_of_a_vf_is_asked_for(void **state)
{
    (void)state;
    static const uint8_t expected[] = {0x07, 0x65, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                       0x80, 0x00, 0x01, 0x00, 0x00, 0x00, 0xff, 0xff};
    uint8_t request[ONEIB_VPORT_REQUEST_SIZE];
    memset(request, 0xa5, sizeof request);
    oneib_vport_ask_pkeys(request, 255);
    assert_memory_equal(request, expected, sizeof expected);
}

/* status, reserved, syndrome; reserved, gids_num, reserved; the GID */
static const uint8_t gid_answer[] = {
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
    0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x07, 0x00, 0x00, 0x00, 0x2a, 0x01};

static void the_guid_is_the_low_half_of_the_gid(void **state)
{
    struct oneib_error err = {0};
    oneib_guid guid = 0;
    (void)state;
    assert_int_equal(oneib_vport_read_gid(gid_answer, sizeof gid_answer, &guid, &err), 0);
    assert_true(guid == 0x0200070000002a01);
}

/* status, reserved, syndrome; reserved; for each entry 16 bits that are reserved, and the key */
static const uint8_t pkeys_answer[] = {0x00, 0x11, 0x22, 0x33, 0x00, 0x00, 0x00, 0x00, 0x44, 0x55,
                                       0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0x80, 0x05,
                                       0xee, 0xff, 0x7f, 0xff, 0x00, 0x00, 0x00, 0x00};

static void a_key_is_the_low_half_of_its_entry(void **state)
{
    struct oneib_error err = {0};
    uint16_t pkeys[3] = {1, 1, 1};
    (void)state;
    assert_int_equal(oneib_vport_read_pkeys(pkeys_answer, sizeof pkeys_answer, pkeys, 3, &err), 0);
    assert_int_equal(pkeys[0], 0x8005);
    assert_int_equal(pkeys[1], 0x7fff);
    assert_int_equal(pkeys[2], 0);
}

static void an_answer_that_is_too_short_is_none(void **state)
{
    struct oneib_error err = {0};
    uint16_t pkeys[3];
    oneib_guid guid;
    (void)state;
    for (size_t length = 0; length < sizeof gid_answer; length++) {
        assert_int_equal(oneib_vport_read_gid(gid_answer, length, &guid, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    }
    for (size_t length = 0; length < sizeof pkeys_answer; length++) {
        assert_int_equal(oneib_vport_read_pkeys(pkeys_answer, length, pkeys, 3, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    }
    assert_non_null(strstr(err.text, "27 bytes instead of 28"));
}

/* It may have no more than its head. */
static void what_firmware_refuses_is_told_with_its_words(void **state)
{
    static const uint8_t answer[16] = {0x03, 0x00, 0x00, 0x00, 0x00, 0x1b, 0x2c, 0x3d};
    struct oneib_error err = {0};
    uint16_t pkeys[3];
    oneib_guid guid;
    (void)state;
    assert_int_equal(oneib_vport_read_gid(answer, sizeof answer, &guid, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_non_null(strstr(err.text, "status 0x03, syndrome 0x001b2c3d"));
    assert_int_equal(oneib_vport_read_pkeys(answer, sizeof answer, pkeys, 3, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gid_of_a_vf_is_asked_for),
        cmocka_unit_test(the_whole_table_of_a_vf_is_asked_for),
        cmocka_unit_test(the_guid_is_the_low_half_of_the_gid),
        cmocka_unit_test(a_key_is_the_low_half_of_its_entry),
        cmocka_unit_test(an_answer_that_is_too_short_is_none),
        cmocka_unit_test(what_firmware_refuses_is_told_with_its_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
