// SPDX-License-Identifier: Apache-2.0
#include "ib/m_key.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PORT_A UINT64_C(0x100001)
#define PORT_B UINT64_C(0x100003)
#define PORT_C UINT64_C(0x100005)
#define STRANGER UINT64_C(0x100007)

static struct oneib_m_keys parsed;

static void parse(const char *text)
{
    struct oneib_error err = {0};
    if (oneib_m_keys_parse(text, strlen(text), &parsed, &err) < 0)
        fail_msg("%s", err.text);
}

static int forget(void **state)
{
    (void)state;
    oneib_m_keys_clear(&parsed);
    return 0;
}

static void must_refuse(const char *text, const char *words)
{
    struct oneib_error err = {0};
    assert_int_equal(oneib_m_keys_parse(text, strlen(text), &parsed, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not said: %s", words, err.text);
    assert_null(parsed.ports);
    assert_int_equal(parsed.key_count, 0);
}

/* The keys for a port, one after the other, must be these; then they begin again. */
static void must_try(oneib_guid port, size_t count, const oneib_m_key *keys)
{
    assert_int_equal(oneib_m_keys_for(&parsed, port), count);
    for (size_t i = 0; i < 2 * count; i++)
        assert_int_equal(oneib_m_key_to_try(&parsed, port, i), keys[i % count]);
}
#define MUST_TRY(port, ...)                                                                        \
    must_try(port, sizeof((oneib_m_key[]){__VA_ARGS__}) / sizeof(oneib_m_key),                     \
             (const oneib_m_key[]){__VA_ARGS__})

static void without_a_file_the_key_is_0(void **state)
{
    (void)state;
    parsed = (struct oneib_m_keys){0};
    MUST_TRY(0, 0);
    MUST_TRY(PORT_A, 0);
}

static void one_key_goes_to_everybody(void **state)
{
    (void)state;
    parse("0x8f1d00000000c0de\n");
    MUST_TRY(0, 0x8f1d00000000c0de);
    MUST_TRY(PORT_A, 0x8f1d00000000c0de);
}

static void two_keys_are_tried_in_the_order_of_the_file(void **state)
{
    (void)state;
    parse("# after a rotation\n0x2222\n\n  0x1111  \r\n0x2222");
    MUST_TRY(0, 0x2222, 0x1111);
    MUST_TRY(PORT_A, 0x2222, 0x1111);
}

static void opensms_file_gives_each_port_its_own(void **state)
{
    (void)state;
    parse("0x0000000000100003 0x00000000000000bb\n\n0x0000000000100001 0x00000000000000aa\n\n"
          "0x0000000000100005 0x00000000000000bb\n\n");
    MUST_TRY(PORT_A, 0xaa, 0xbb);
    MUST_TRY(PORT_B, 0xbb, 0xaa);
    MUST_TRY(PORT_C, 0xbb, 0xaa);
    /* Who is not listed is asked with the key of most ports first. */
    MUST_TRY(STRANGER, 0xbb, 0xaa);
    MUST_TRY(0, 0xbb, 0xaa);
}

static void keys_without_a_port_come_before_those_of_most_ports(void **state)
{
    (void)state;
    parse("0x0000000000100001 0xaa\n0x0000000000100003 0xaa\n0xcc\n");
    MUST_TRY(PORT_A, 0xaa, 0xcc);
    MUST_TRY(STRANGER, 0xcc, 0xaa);
}

static void a_port_without_a_key_is_asked_without_one_first(void **state)
{
    (void)state;
    parse("0x0000000000100001 0x0\n0x0000000000100003 0xbb\n");
    MUST_TRY(PORT_A, 0, 0xbb);
    MUST_TRY(PORT_B, 0xbb);
    MUST_TRY(STRANGER, 0xbb);
}

static void where_every_port_has_another_key_only_some_are_tried(void **state)
{
    (void)state;
    parse("0x1 0x11\n0x2 0x12\n0x3 0x13\n0x4 0x14\n0x5 0x15\n0x6 0x16\n");
    assert_int_equal(oneib_m_keys_for(&parsed, STRANGER), ONEIB_M_KEYS_TRIED);
    assert_int_equal(oneib_m_keys_for(&parsed, 6), ONEIB_M_KEYS_TRIED + 1);
    assert_int_equal(oneib_m_key_to_try(&parsed, 6, 0), 0x16);
}

static void what_is_no_key_is_refused_and_not_repeated(void **state)
{
    (void)state;
    must_refuse("0x1\nsecret\n", "line 2 has no key");
    must_refuse("0x12345678901234567\n", "line 1 has no key");
    must_refuse("1234\n", "line 1 has no key");
    must_refuse("0x0\n", "line 1 has the key 0");
    must_refuse("nobody 0x1\n", "line 1 does not begin with a port GUID");
    must_refuse("0x0 0x1\n", "line 1 does not begin with a port GUID");
    must_refuse("0x1 0x2 0x3\n", "line 1 has more");
    must_refuse("0x1 0x2\n\n0x1 0x3\n", "0x0000000000000001 is there twice");
    must_refuse("0x1\n0x2\n0x3\n0x4\n0x5\n", "line 5 has one key without a port too many");
    struct oneib_error err = {0};
    static const char text[] = "0xsecret\n";
    assert_int_equal(oneib_m_keys_parse(text, strlen(text), &parsed, &err), -1);
    assert_null(strstr(err.text, "secret"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(without_a_file_the_key_is_0, forget),
        cmocka_unit_test_teardown(one_key_goes_to_everybody, forget),
        cmocka_unit_test_teardown(two_keys_are_tried_in_the_order_of_the_file, forget),
        cmocka_unit_test_teardown(opensms_file_gives_each_port_its_own, forget),
        cmocka_unit_test_teardown(keys_without_a_port_come_before_those_of_most_ports, forget),
        cmocka_unit_test_teardown(a_port_without_a_key_is_asked_without_one_first, forget),
        cmocka_unit_test_teardown(where_every_port_has_another_key_only_some_are_tried, forget),
        cmocka_unit_test_teardown(what_is_no_key_is_refused_and_not_repeated, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
