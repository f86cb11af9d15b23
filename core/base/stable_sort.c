// SPDX-License-Identifier: Apache-2.0
#include "base/stable_sort.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include <stdbool.h>
#include <string.h>

struct run {
    unsigned char *items;
    unsigned char *left; /* room for the left half of what is merged */
    size_t size;
    int (*compare)(const void *, const void *);
};

static unsigned char *at(const struct run *run, size_t index)
{
    return run->items + index * run->size;
}

/* [first, middle) and [middle, end) are sorted. Of equal items the left one comes first. */
static void merge(const struct run *run, size_t first, size_t middle, size_t end)
{
    const size_t size = run->size;
    const unsigned char *left = run->left, *left_end = left + (middle - first) * size;
    const unsigned char *right = at(run, middle), *right_end = at(run, end);
    memcpy(run->left, at(run, first), (middle - first) * size);
    for (unsigned char *place = at(run, first); left < left_end; place += size) {
        const bool is_right = right < right_end && run->compare(right, left) < 0;
        const unsigned char **next = is_right ? &right : &left;
        memcpy(place, *next, size);
        *next += size;
    }
}

static void sort_range(const struct run *run, size_t first, size_t end)
{
    const size_t middle = first + (end - first) / 2;
    if (end - first < 2)
        return;
    sort_range(run, first, middle);
    sort_range(run, middle, end);
    if (run->compare(at(run, middle - 1), at(run, middle)) > 0)
        merge(run, first, middle, end);
}

void oneib_stable_sort(void *items, size_t count, size_t size,
                       int (*compare)(const void *, const void *))
{
    oneib_autofree unsigned char *left = oneib_alloc(count / 2 + 1, size);
    const struct run run = {items, left, size, compare};
    sort_range(&run, 0, count);
}
