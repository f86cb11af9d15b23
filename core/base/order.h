// SPDX-License-Identifier: Apache-2.0
/*
 * Comparing, sorting, and searching what is sorted. An array without items may be NULL everywhere
 * here, which qsort() and bsearch() do not allow. Macros use their arguments more than once.
 */
#ifndef ONEIB_BASE_ORDER_H
#define ONEIB_BASE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of two numbers: negative, 0 or positive, as strcmp() says it of texts. */
#define ONEIB_COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

/*
 * Of two pointers `left` and `right` to items: by up to four fields that are numbers, the first of
 * which counts most.
 */
#define ONEIB_BY(...)                                                                              \
    (ONEIB_BY_PICK(__VA_ARGS__, ONEIB_BY_4, ONEIB_BY_3, ONEIB_BY_2, ONEIB_BY_1, )(__VA_ARGS__))
#define ONEIB_BY_PICK(first, second, third, fourth, by, ...) by
#define ONEIB_BY_1(field) ONEIB_COMPARE(left->field, right->field)
#define ONEIB_BY_2(field, ...) ONEIB_BY_1(field) ?: ONEIB_BY_1(__VA_ARGS__)
#define ONEIB_BY_3(field, ...) ONEIB_BY_1(field) ?: ONEIB_BY_2(__VA_ARGS__)
#define ONEIB_BY_4(field, ...) ONEIB_BY_1(field) ?: ONEIB_BY_3(__VA_ARGS__)

/*
 * Both define a static comparison for qsort() and its like, of items of the type: as an expression
 * of `left` and `right` says, or by fields.
 */
#define ONEIB_ORDER(name, type, ...)                                                               \
    static int name(const void *left_item, const void *right_item)                                 \
    {                                                                                              \
        const type *left = left_item;                                                              \
        const type *right = right_item;                                                            \
        return __VA_ARGS__;                                                                        \
    }                                                                                              \
    _Static_assert(1, "a semicolon follows")
#define ONEIB_ORDER_BY(name, type, ...) ONEIB_ORDER(name, type, ONEIB_BY(__VA_ARGS__))

/* Comparisons of what is itself a number. */
static inline int oneib_compare_u16(const void *left, const void *right)
{
    return ONEIB_COMPARE(*(const uint16_t *)left, *(const uint16_t *)right);
}

static inline int oneib_compare_u32(const void *left, const void *right)
{
    return ONEIB_COMPARE(*(const uint32_t *)left, *(const uint32_t *)right);
}

static inline int oneib_compare_u64(const void *left, const void *right)
{
    return ONEIB_COMPARE(*(const uint64_t *)left, *(const uint64_t *)right);
}

typedef int (*oneib_comparison)(const void *, const void *);

#define ONEIB_SORT(items, count, compare) ONEIB_SORT_FROM(items, 0, count, compare)
/* Those from `first` to count alone. */
#define ONEIB_SORT_FROM(items, first, count, compare)                                              \
    oneib_sort(items, first, count, sizeof *(items), compare)
static inline void oneib_sort(void *items, size_t first, size_t count, size_t size,
                              oneib_comparison compare)
{
    if (count > first + 1)
        qsort((char *)items + first * size, count - first, size, compare);
}

/* Of neighbours that are equal the first stays; `count` becomes how many are left. */
#define ONEIB_UNIQUE(items, count, compare)                                                        \
    ((void)((count) = oneib_unique(items, count, sizeof *(items), compare)))
static inline size_t oneib_unique(void *items, size_t count, size_t size, oneib_comparison compare)
{
    char *all = items;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || compare(all + (kept - 1) * size, all + i * size) != 0)
            memmove(all + kept++ * size, all + i * size, size);
    return kept;
}

/* An item that is equal to *wanted, NULL: none. Which one, where several are, is not said. */
#define ONEIB_FIND(wanted, items, count, compare)                                                  \
    ((__typeof__((items) + 0))oneib_find(wanted, items, count, sizeof *(items), compare))
static inline void *oneib_find(const void *wanted, const void *items, size_t count, size_t size,
                               oneib_comparison compare)
{
    return count > 0 ? bsearch(wanted, items, count, size, compare) : NULL;
}

/* Whether both have as many items, each equal to the one at its place. */
#define ONEIB_ALIKE(a, a_count, b, b_count, compare)                                               \
    oneib_alike(a, a_count, b, b_count, sizeof *(a), compare)
static inline bool oneib_alike(const void *a, size_t a_count, const void *b, size_t b_count,
                               size_t size, oneib_comparison compare)
{
    size_t i = 0;
    while (i < a_count && i < b_count &&
           compare((const char *)a + i * size, (const char *)b + i * size) == 0)
        i++;
    return i == a_count && i == b_count;
}

/*
 * The first index for which is_before is false, count where there is none. is_before: an expression
 * of the index `at`, true for the items of a beginning and false for all the others.
 */
#define ONEIB_LOWER_BOUND(at, count, is_before)                                                    \
    ({                                                                                             \
        size_t low_##at = 0, high_##at = (count);                                                  \
        while (low_##at < high_##at) {                                                             \
            const size_t at = low_##at + (high_##at - low_##at) / 2;                               \
            if (is_before)                                                                         \
                low_##at = at + 1;                                                                 \
            else                                                                                   \
                high_##at = at;                                                                    \
        }                                                                                          \
        low_##at;                                                                                  \
    })

/* How many items from `first` on are_alike, an expression of the index `at`, without a gap. */
#define ONEIB_RUN(at, first, count, are_alike)                                                     \
    ({                                                                                             \
        size_t at = (first);                                                                       \
        while (at < (count) && (are_alike))                                                        \
            at++;                                                                                  \
        at - (first);                                                                              \
    })

#endif
