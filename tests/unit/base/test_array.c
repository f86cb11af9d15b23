// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_empty_array_grows(void **state)
{
    (void)state;
    uint64_t *items = NULL;
    size_t capacity = 0;
    oneib_grow(&items, &capacity, 1, sizeof *items);
    assert_non_null(items);
    assert_true(capacity >= 1);
    items[capacity - 1] = 7;
    free(items);
}

static void no_items_need_no_memory(void **state)
{
    (void)state;
    int *items = NULL;
    size_t capacity = 0;
    oneib_grow(&items, &capacity, 0, sizeof *items);
    assert_null(items);
    assert_int_equal(capacity, 0);
}

static void items_survive_growth_and_growth_is_rare(void **state)
{
    (void)state;
    uint32_t *items = NULL;
    size_t capacity = 0;
    int growths = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        size_t before = capacity;
        oneib_grow(&items, &capacity, i + 1, sizeof *items);
        growths += capacity != before;
        items[i] = i;
    }
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(items[i], i);
    assert_true(growths < 20);
    free(items);
}

static void enough_room_is_left_alone(void **state)
{
    (void)state;
    char room[4];
    char *items = room;
    size_t capacity = 4;
    oneib_grow(&items, &capacity, 4, 1);
    assert_ptr_equal(items, room);
    assert_int_equal(capacity, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_array_grows),
        cmocka_unit_test(no_items_need_no_memory),
        cmocka_unit_test(items_survive_growth_and_growth_is_rare),
        cmocka_unit_test(enough_room_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
