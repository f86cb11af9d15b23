// SPDX-License-Identifier: Apache-2.0
/*
 * A merge sort in place. Two sorted halves are merged by rotation: the parts of both that are on
 * the wrong side of the middle change places, then each side is merged by itself.
 */
#include "base/stable_sort.h"

typedef int (*comparison)(const void *, const void *);

struct run {
    unsigned char *items;
    size_t size;
    comparison compare;
};

static unsigned char *at(const struct run *run, size_t index)
{
    return run->items + index * run->size;
}

static void swap_items(unsigned char *a, unsigned char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

static void reverse(const struct run *run, size_t first, size_t end)
{
    while (first + 1 < end)
        swap_items(at(run, first++), at(run, --end), run->size);
}

/* [first, middle) and [middle, end) change places. */
static void rotate(const struct run *run, size_t first, size_t middle, size_t end)
{
    reverse(run, first, middle);
    reverse(run, middle, end);
    reverse(run, first, end);
}

/* The first index of [first, end) whose item is not less than `item`. */
static size_t lower_bound(const struct run *run, size_t first, size_t end, const void *item)
{
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (run->compare(at(run, middle), item) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* The first index of [first, end) whose item is greater than `item`. */
static size_t upper_bound(const struct run *run, size_t first, size_t end, const void *item)
{
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (run->compare(at(run, middle), item) <= 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static void merge(const struct run *run, size_t first, size_t middle, size_t end)
{
    if (first == middle || middle == end || run->compare(at(run, middle - 1), at(run, middle)) <= 0)
        return;
    if (end - first == 2) {
        swap_items(at(run, first), at(run, middle), run->size);
        return;
    }

    /* The larger half is cut in its middle, the other where that item belongs: both sides shrink.
     */
    size_t left, right;
    if (middle - first > end - middle) {
        left = first + (middle - first) / 2;
        right = lower_bound(run, middle, end, at(run, left));
    } else {
        right = middle + (end - middle) / 2;
        left = upper_bound(run, first, middle, at(run, right));
    }
    rotate(run, left, middle, right);
    size_t joint = left + (right - middle);
    merge(run, first, left, joint);
    merge(run, joint, right, end);
}

static void sort_range(const struct run *run, size_t first, size_t end)
{
    if (end - first < 2)
        return;
    size_t middle = first + (end - first) / 2;
    sort_range(run, first, middle);
    sort_range(run, middle, end);
    merge(run, first, middle, end);
}

void oneib_stable_sort(void *items, size_t count, size_t size, comparison compare)
{
    const struct run run = {.items = items, .size = size, .compare = compare};
    sort_range(&run, 0, count);
}
