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

struct pairs {
    struct pair {
        uint16_t left, right;
    } * items;
    size_t count, capacity;
};

static void append_four(struct pairs *pairs)
{
    for (uint16_t i = 0; i < 4; i++)
        ONEIB_APPEND(pairs->items, pairs->count, pairs->capacity, (struct pair){i, 7});
}

static void assert_lefts(const struct pairs *pairs, const uint16_t *lefts, size_t count)
{
    assert_int_equal(pairs->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pairs->items[i].left, lefts[i]);
        assert_int_equal(pairs->items[i].right, 7);
    }
}

static void items_are_appended_in_order(void **state)
{
    (void)state;
    struct pairs pairs = {0};
    append_four(&pairs);
    *ONEIB_ADD(pairs.items, pairs.count, pairs.capacity) = (struct pair){9, 7};
    assert_lefts(&pairs, (uint16_t[]){0, 1, 2, 3, 9}, 5);
    free(pairs.items);
}

/* An item that is a copy of another one of the array, which moves for it. */
static void what_is_appended_is_read_where_the_items_are_then(void **state)
{
    (void)state;
    struct pairs pairs = {0};
    for (size_t i = 0; i < 100; i++)
        ONEIB_APPEND(pairs.items, pairs.count, pairs.capacity,
                     i == 0 ? (struct pair){3, 7} : pairs.items[0]);
    assert_int_equal(pairs.items[99].left, 3);
    free(pairs.items);
}

static void an_item_is_inserted_at_every_place(void **state)
{
    (void)state;
    for (size_t place = 0; place <= 4; place++) {
        uint16_t expected[5];
        struct pairs pairs = {0};
        append_four(&pairs);
        ONEIB_INSERT(pairs.items, pairs.count, pairs.capacity, place);
        pairs.items[place] = (struct pair){9, 7};
        for (uint16_t i = 0; i < 5; i++)
            expected[i] = i < place ? i : i == place ? 9 : (uint16_t)(i - 1);
        assert_lefts(&pairs, expected, 5);
        free(pairs.items);
    }
}

static void an_item_is_removed_from_every_place(void **state)
{
    (void)state;
    for (size_t place = 0; place < 4; place++) {
        uint16_t expected[3];
        struct pairs pairs = {0};
        append_four(&pairs);
        ONEIB_REMOVE(pairs.items, pairs.count, place);
        for (uint16_t i = 0; i < 3; i++)
            expected[i] = i < place ? i : (uint16_t)(i + 1);
        assert_lefts(&pairs, expected, 3);
        free(pairs.items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_array_grows),
        cmocka_unit_test(no_items_need_no_memory),
        cmocka_unit_test(items_survive_growth_and_growth_is_rare),
        cmocka_unit_test(enough_room_is_left_alone),
        cmocka_unit_test(items_are_appended_in_order),
        cmocka_unit_test(what_is_appended_is_read_where_the_items_are_then),
        cmocka_unit_test(an_item_is_inserted_at_every_place),
        cmocka_unit_test(an_item_is_removed_from_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
