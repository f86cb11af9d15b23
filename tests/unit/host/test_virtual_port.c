// SPDX-License-Identifier: Apache-2.0
#include "host/virtual_port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define GUID 0x0200070000002a01ull
#define KEY 5
#define FULL 0x8000

struct example {
    uint16_t pkeys[3];
    bool limited;
    enum oneib_virtual_port_result result;
    const char *words; /* NULL: nothing is told */
};

static void judge(const struct example *example, oneib_guid shown, oneib_guid wanted_guid)
{
    struct oneib_virtual_port port = {
        .way = ONEIB_VIRTUAL_PORT_SYSFS, .guid = shown, .pkey_count = 128};
    const struct oneib_virtual_port_wanted wanted = {wanted_guid, KEY, example->limited};
    struct oneib_error why = {0};
    memcpy(port.pkeys, example->pkeys, sizeof example->pkeys);
    assert_int_equal(oneib_virtual_port_judge(&port, &wanted, &why), example->result);
    if (!example->words)
        assert_int_equal(why.code, ONEIB_ERROR_NONE);
    else if (!strstr(why.text, example->words))
        fail_msg("\"%s\" does not say \"%s\"", why.text, example->words);
}

static void a_port_is_right_with_its_key_first_and_nothing_of_anybody_else(void **state)
{
    static const struct example examples[] = {
        {{FULL | KEY}, false, ONEIB_VIRTUAL_PORT_RIGHT, NULL},
        {{FULL | KEY, 0x7fff}, false, ONEIB_VIRTUAL_PORT_RIGHT, NULL},
        {{FULL | KEY, 0x7fff, KEY}, false, ONEIB_VIRTUAL_PORT_RIGHT, NULL},
        {{KEY, 0x7fff}, false, ONEIB_VIRTUAL_PORT_RIGHT, NULL},
        {{KEY, 0x7fff}, true, ONEIB_VIRTUAL_PORT_RIGHT, NULL},
        {{KEY, 0x8000}, true, ONEIB_VIRTUAL_PORT_RIGHT, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        judge(&examples[i], GUID, GUID);
}

static void a_key_that_is_not_first_is_lacking(void **state)
{
    static const struct example examples[] = {
        {{0}, false, ONEIB_VIRTUAL_PORT_LACKS, "P_Key 0x0005 (full or limited) is not at index 0"},
        {{0x7fff}, true, ONEIB_VIRTUAL_PORT_LACKS, "P_Key 0x0005 (limited) is not at index 0"},
        {{0x7fff, FULL | KEY}, false, ONEIB_VIRTUAL_PORT_LACKS, "begins with 0x7fff"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        judge(&examples[i], GUID, GUID);
}

static void whatever_reaches_others_is_harm_wherever_it_is(void **state)
{
    static const struct example examples[] = {
        {{FULL | KEY, 0xffff}, false, ONEIB_VIRTUAL_PORT_HARMS, "0x7fff full at index 1"},
        {{0xffff, FULL | KEY}, false, ONEIB_VIRTUAL_PORT_HARMS, "0x7fff full at index 0"},
        {{FULL | KEY, 0x7fff, 6}, false, ONEIB_VIRTUAL_PORT_HARMS, "0x0006 limited at index 2"},
        {{FULL | 6, FULL | KEY}, false, ONEIB_VIRTUAL_PORT_HARMS, "0x0006 full at index 0"},
        {{FULL | KEY}, true, ONEIB_VIRTUAL_PORT_HARMS, "0x0005 full at index 0"},
        {{KEY, FULL | KEY}, true, ONEIB_VIRTUAL_PORT_HARMS, "0x0005 full at index 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        judge(&examples[i], GUID, GUID);
}

static void a_port_that_answers_to_another_guid_is_not_right(void **state)
{
    static const struct example other = {
        {FULL | KEY}, false, ONEIB_VIRTUAL_PORT_LACKS, "and not to 0x0200070000002a01"};
    static const struct example deferred = {{FULL | KEY}, false, ONEIB_VIRTUAL_PORT_RIGHT, NULL};
    (void)state;
    judge(&other, 0, GUID);
    judge(&other, GUID + 1, GUID);
    judge(&other, UINT64_MAX, GUID);
    judge(&deferred, UINT64_MAX, 0);
}

/* A NIC without a key (0) has none of its own: an entry 0x8000 must not be taken for it. */
/* What a port shows that was never told a GUID, or lost it. */
static void a_port_with_guid_0_or_all_ones_is_not_right(void **state)
{
    static const struct example example = {
        {FULL | KEY, 0x7fff}, false, ONEIB_VIRTUAL_PORT_LACKS, "0x"};
    (void)state;
    judge(&example, 0, GUID);
    judge(&example, UINT64_MAX, GUID);
}

static void nothing_is_right_for_who_has_no_key(void **state)
{
    const struct oneib_virtual_port port = {.pkey_count = 1, .pkeys = {0x8000}};
    const struct oneib_virtual_port_wanted wanted = {0};
    struct oneib_error why;
    (void)state;
    assert_int_equal(oneib_virtual_port_judge(&port, &wanted, &why), ONEIB_VIRTUAL_PORT_LACKS);
}

static void a_table_without_entries_lacks_the_key(void **state)
{
    const struct oneib_virtual_port port = {.guid = GUID};
    const struct oneib_virtual_port_wanted wanted = {GUID, KEY, false};
    struct oneib_error why;
    (void)state;
    assert_int_equal(oneib_virtual_port_judge(&port, &wanted, &why), ONEIB_VIRTUAL_PORT_LACKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_is_right_with_its_key_first_and_nothing_of_anybody_else),
        cmocka_unit_test(a_key_that_is_not_first_is_lacking),
        cmocka_unit_test(whatever_reaches_others_is_harm_wherever_it_is),
        cmocka_unit_test(a_port_that_answers_to_another_guid_is_not_right),
        cmocka_unit_test(a_port_with_guid_0_or_all_ones_is_not_right),
        cmocka_unit_test(nothing_is_right_for_who_has_no_key),
        cmocka_unit_test(a_table_without_entries_lacks_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
