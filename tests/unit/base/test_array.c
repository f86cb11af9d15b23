// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* AddressSanitizer asks for it: here an allocation that fails is what is tested, not a fault. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void an_empty_array_grows(void **state)
{
    (void)state;
    struct oneib_error err;
    uint64_t *items = NULL;
    size_t capacity = 0;
    assert_int_equal(oneib_reserve(&items, &capacity, 1, sizeof *items, &err), 0);
    assert_non_null(items);
    assert_true(capacity >= 1);
    items[capacity - 1] = 7;
    free(items);
}

static void no_items_need_no_memory(void **state)
{
    (void)state;
    struct oneib_error err;
    int *items = NULL;
    size_t capacity = 0;
    assert_int_equal(oneib_reserve(&items, &capacity, 0, sizeof *items, &err), 0);
    assert_null(items);
    assert_int_equal(capacity, 0);
}

static void items_survive_growth_and_growth_is_rare(void **state)
{
    (void)state;
    struct oneib_error err;
    uint32_t *items = NULL;
    size_t capacity = 0;
    int growths = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        size_t before = capacity;
        assert_int_equal(oneib_reserve(&items, &capacity, i + 1, sizeof *items, &err), 0);
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
    struct oneib_error err;
    char room[4];
    char *items = room;
    size_t capacity = 4;
    assert_int_equal(oneib_reserve(&items, &capacity, 4, 1, &err), 0);
    assert_ptr_equal(items, room);
    assert_int_equal(capacity, 4);
}

static void an_impossible_size_fails_and_changes_nothing(void **state)
{
    (void)state;
    const size_t needed[] = {SIZE_MAX, SIZE_MAX / 2 + 2, SIZE_MAX / 8};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        struct oneib_error err = {0};
        uint64_t *items = NULL;
        size_t capacity = 0;
        assert_int_equal(oneib_reserve(&items, &capacity, 3, sizeof *items, &err), 0);
        items[2] = 42;
        uint64_t *before = items;
        size_t before_capacity = capacity;

        assert_int_equal(oneib_reserve(&items, &capacity, needed[i], sizeof *items, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_MEMORY);
        assert_ptr_equal(items, before);
        assert_int_equal(capacity, before_capacity);
        assert_int_equal(items[2], 42);
        free(items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_array_grows),
        cmocka_unit_test(no_items_need_no_memory),
        cmocka_unit_test(items_survive_growth_and_growth_is_rare),
        cmocka_unit_test(enough_room_is_left_alone),
        cmocka_unit_test(an_impossible_size_fails_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
