// SPDX-License-Identifier: Apache-2.0
#include "base/stable_sort.h"
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
    uint32_t key, place;
};

static size_t comparisons;

static int compare_items(const void *a, const void *b)
{
    const struct item *left = a, *right = b;
    comparisons++;
    return (left->key > right->key) - (left->key < right->key);
}

/* A linear congruential sequence (Numerical Recipes): the same on every machine. */
static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void assert_sorted_and_stable(const struct item *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        assert_true(items[i - 1].key <= items[i].key);
        if (items[i - 1].key == items[i].key)
            assert_true(items[i - 1].place < items[i].place);
    }
}

static void equal_items_stay_in_their_order(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (size_t count = 0; count < 400; count++) {
        struct item *items = calloc(count + 1, sizeof *items);
        assert_non_null(items);
        uint64_t sum = 0, sum_after = 0;
        for (size_t i = 0; i < count; i++) {
            items[i] = (struct item){next(&seed) % (1 + (uint32_t)count / 3), (uint32_t)i};
            sum += items[i].key;
        }
        oneib_stable_sort(items, count, sizeof *items, compare_items);
        for (size_t i = 0; i < count; i++)
            sum_after += items[i].key;
        assert_sorted_and_stable(items, count);
        assert_true(sum == sum_after);
        free(items);
    }
}

static void what_is_sorted_costs_one_pass(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    struct item *items = calloc(COUNT, sizeof *items);
    assert_non_null(items);
    for (uint32_t i = 0; i < COUNT; i++)
        items[i] = (struct item){i, i};
    comparisons = 0;
    oneib_stable_sort(items, COUNT, sizeof *items, compare_items);
    assert_true(comparisons < COUNT);
    free(items);
}

static void nothing_can_be_sorted(void **state)
{
    (void)state;
    oneib_stable_sort(NULL, 0, sizeof(struct item), compare_items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_items_stay_in_their_order),
        cmocka_unit_test(what_is_sorted_costs_one_pass),
        cmocka_unit_test(nothing_can_be_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
