// SPDX-License-Identifier: Apache-2.0
/* Random samples that can be repeated: a seed gives the same numbers everywhere (splitmix64). */
#ifndef ONEIB_TEST_BASE_RANDOM_SOURCE_H
#define ONEIB_TEST_BASE_RANDOM_SOURCE_H

#include <stdint.h>
#include <stdio.h>

struct random_source {
    uint64_t state;
};

/* Prints the seed, so that a failure can be repeated from a log. */
static inline struct random_source random_seeded(uint64_t seed)
{
    printf("seed %llu\n", (unsigned long long)seed);
    return (struct random_source){seed};
}

static inline uint64_t random_next(struct random_source *source)
{
    uint64_t z = source->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 to limit - 1; limit is not 0. */
static inline uint64_t random_below(struct random_source *source, uint64_t limit)
{
    return random_next(source) % limit;
}

#endif
