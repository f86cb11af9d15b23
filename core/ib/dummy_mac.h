// SPDX-License-Identifier: Apache-2.0
/*
 * Dummy MACs carry an IPoIB address into a guest: PP:0N:A:B:C:D. PP: the configured prefix byte,
 * locally administered unicast (0xaa); N: index of the InfiniBand interface in the VM, 0-15;
 * A.B.C.D: the IPv4 address. The interface that bears it is link-down and carries no traffic.
 */
#ifndef ONEIB_IB_DUMMY_MAC_H
#define ONEIB_IB_DUMMY_MAC_H

#include <stdbool.h>
#include <stdint.h>

#define ONEIB_DUMMY_MAC_PREFIX 0xaa
#define ONEIB_DUMMY_MAC_INDEX_MAX 15
#define ONEIB_MAC_TEXT_SIZE 18
#define ONEIB_IPV4_TEXT_SIZE 16
/* The name of the host's end of that interface, with its NUL: IFNAMSIZ (linux/if.h). */
#define ONEIB_TARGET_SIZE 16

/* ipv4 in host byte order. index 0-15, else false. */
bool oneib_dummy_mac_encode(uint32_t ipv4, unsigned index, char text[ONEIB_MAC_TEXT_SIZE]);

/* Six two-digit hexadecimal bytes with colons, either case, prefix 0xaa, second byte 00-0f. */
bool oneib_dummy_mac_decode(const char *text, uint32_t *ipv4, unsigned *index);

/* Six two-digit hexadecimal bytes with colons, either case, as a number: 48 bits, the first byte on
 * top. */
bool oneib_mac_parse(const char *text, uint64_t *mac);

/* Strict dotted quad: four decimal numbers 0-255 without leading zeros. Host byte order. */
bool oneib_ipv4_parse(const char *string, uint32_t *ipv4);
void oneib_ipv4_format(uint32_t ipv4, char text[ONEIB_IPV4_TEXT_SIZE]);

#endif
