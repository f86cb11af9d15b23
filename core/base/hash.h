// SPDX-License-Identifier: Apache-2.0
/* A fingerprint of many numbers, to notice that something is not what it was. Not for tables, and
 * not against anybody who wants two to be equal. */
#ifndef ONEIB_BASE_HASH_H
#define ONEIB_BASE_HASH_H

#include <stdint.h>

/* The offset basis and the prime of FNV-1a, 64 bits, taken word by word. */
#define ONEIB_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t oneib_hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x100000001b3);
    return hash ^ (hash >> 32);
}

#endif
