// SPDX-License-Identifier: Apache-2.0
#include "base/order.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    uint64_t guid;
    uint16_t pkey;
    uint8_t kind;
};

ONEIB_ORDER_BY(by_guid, struct item, guid);
ONEIB_ORDER_BY(by_key_and_guid, struct item, pkey, guid);
ONEIB_ORDER_BY(by_kind_key_and_guid, struct item, kind, pkey, guid);

static void numbers_that_differ_by_more_than_an_int_are_told_apart(void **state)
{
    (void)state;
    const struct item low = {.guid = 1}, high = {.guid = UINT64_MAX};
    assert_true(by_guid(&low, &high) < 0);
    assert_true(by_guid(&high, &low) > 0);
    assert_int_equal(by_guid(&high, &high), 0);
    const uint16_t keys[] = {1, UINT16_MAX};
    const uint32_t ids[] = {0, UINT32_MAX};
    const uint64_t guids[] = {0, UINT64_MAX};
    assert_true(oneib_compare_u16(&keys[0], &keys[1]) < 0);
    assert_true(oneib_compare_u16(&keys[1], &keys[0]) > 0);
    assert_true(oneib_compare_u32(&ids[0], &ids[1]) < 0);
    assert_true(oneib_compare_u32(&ids[1], &ids[0]) > 0);
    assert_true(oneib_compare_u64(&guids[0], &guids[1]) < 0);
    assert_true(oneib_compare_u64(&guids[1], &guids[0]) > 0);
}

static void the_first_field_counts_most(void **state)
{
    (void)state;
    const struct item a = {.guid = 9, .pkey = 1, .kind = 5}, b = {.guid = 1, .pkey = 2, .kind = 5},
                      c = {.guid = 2, .pkey = 2, .kind = 4};
    assert_true(by_key_and_guid(&a, &b) < 0);
    assert_true(by_key_and_guid(&b, &c) < 0);
    assert_true(by_kind_key_and_guid(&c, &a) < 0);
    assert_true(by_kind_key_and_guid(&b, &a) > 0);
    assert_int_equal(by_kind_key_and_guid(&b, &b), 0);
}

static void no_items_may_be_no_array(void **state)
{
    (void)state;
    struct item *items = NULL;
    const struct item wanted = {.guid = 1};
    ONEIB_SORT(items, 0, by_guid);
    assert_null(ONEIB_FIND(&wanted, items, 0, by_guid));
    const size_t count = 0, first = ONEIB_LOWER_BOUND(i, count, items[i].guid < 1);
    assert_int_equal(first, 0);
    assert_int_equal(ONEIB_RUN(i, first, count, items[i].guid == 1), 0);
}

static void what_is_before_the_first_stays_where_it_is(void **state)
{
    (void)state;
    struct item *nothing = NULL;
    struct item items[] = {{.guid = 30}, {.guid = 20}, {.guid = 10}, {.guid = 0}};
    ONEIB_SORT_FROM(nothing, 0, 0, by_guid);
    ONEIB_SORT_FROM(items, 1, 3, by_guid);
    assert_int_equal(items[0].guid, 30);
    assert_int_equal(items[1].guid, 10);
    assert_int_equal(items[2].guid, 20);
    assert_int_equal(items[3].guid, 0);
}

static void what_was_sorted_is_found(void **state)
{
    (void)state;
    struct item items[] = {{.guid = 30}, {.guid = 10}, {.guid = 20}};
    ONEIB_SORT(items, 3, by_guid);
    for (uint64_t guid = 5; guid <= 35; guid += 5) {
        const struct item wanted = {.guid = guid};
        const struct item *found = ONEIB_FIND(&wanted, items, 3, by_guid);
        if (guid % 10 != 0)
            assert_null(found);
        else
            assert_ptr_equal(found, &items[guid / 10 - 1]);
    }
}

/* Every array of up to six items that are 0, 1 or 2 in this order, and each number that may be
 * looked for. */
static void the_first_of_equal_ones_is_found_and_all_are_counted(void **state)
{
    (void)state;
    for (size_t ones = 0; ones <= 6; ones++)
        for (size_t twos = ones; twos <= 6; twos++) {
            uint8_t items[6];
            for (size_t i = 0; i < 6; i++)
                items[i] = (uint8_t)((i >= ones) + (i >= twos));
            const size_t first = ONEIB_LOWER_BOUND(i, 6, items[i] < 1);
            assert_int_equal(first, ones);
            assert_int_equal(ONEIB_RUN(i, first, 6, items[i] == 1), twos - ones);
            assert_int_equal(ONEIB_LOWER_BOUND(i, 6, items[i] < 3), 6);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_differ_by_more_than_an_int_are_told_apart),
        cmocka_unit_test(the_first_field_counts_most),
        cmocka_unit_test(no_items_may_be_no_array),
        cmocka_unit_test(what_is_before_the_first_stays_where_it_is),
        cmocka_unit_test(what_was_sorted_is_found),
        cmocka_unit_test(the_first_of_equal_ones_is_found_and_all_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
