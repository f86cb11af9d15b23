// SPDX-License-Identifier: Apache-2.0
/*
 * P_Keys (InfiniBand Architecture Specification 1.2.1, 10.9): 16 bits, a 15-bit key and, on top,
 * the membership: set = full, clear = limited. An oneib_pkey is the 15-bit key alone; "raw" is the
 * value in a port's table.
 */
#ifndef ONEIB_IB_PKEY_H
#define ONEIB_IB_PKEY_H

#include <stdbool.h>
#include <stdint.h>

typedef uint16_t oneib_pkey; /* 1-0x7fff; 0 = none */

#define ONEIB_PKEY_DEFAULT                                                                         \
    0x7fff /* the default partition, everybody's; never a virtual cluster's */
#define ONEIB_PKEY_FIRST 1
#define ONEIB_PKEY_LAST 32766
#define ONEIB_PKEY_COUNT (ONEIB_PKEY_DEFAULT + 1) /* room for something of each, by key */
#define ONEIB_PKEY_FULL_BIT 0x8000

enum oneib_membership {
    ONEIB_LIMITED = 0,
    ONEIB_FULL = 1,
    ONEIB_BOTH = 2, /* both entries in one table; only in static partitions, and only where
                       opensm allows it */
};

/*
 * The key of a virtual network, as VLAN_ID holds it: strict decimal 1-32766. "0x8005", "abc", 0,
 * 32767, 65535 and 70000 are refused.
 */
bool oneib_pkey_parse(const char *string, oneib_pkey *pkey);

/* Raw value of key with LIMITED or FULL membership. */
uint16_t oneib_pkey_raw(oneib_pkey pkey, enum oneib_membership membership);
oneib_pkey oneib_pkey_base(uint16_t raw);
bool oneib_pkey_is_full(uint16_t raw);

/*
 * The one way in which a P_Key is written for people: "0x0100", and "0x0100 full" where membership
 * matters; never with the membership bit, 0x8100.
 */
#define ONEIB_PKEY_TEXT_SIZE 16 /* "0x7fff limited" and a NUL */
struct oneib_pkey_text {
    char text[ONEIB_PKEY_TEXT_SIZE];
};
struct oneib_pkey_text oneib_pkey_shown(oneib_pkey pkey);
/* Of a raw value, with the membership. */
struct oneib_pkey_text oneib_pkey_raw_shown(uint16_t raw);

/* "full", "limited", "both". */
const char *oneib_membership_name(enum oneib_membership membership);
/* Exactly "full" or "limited" (the values of IB_MEMBERSHIP), case insensitive. */
bool oneib_membership_parse(const char *string, enum oneib_membership *membership);

#endif
