// SPDX-License-Identifier: Apache-2.0
/* Base64 (RFC 4648, section 4), as OpenNebula writes it. */
#ifndef ONEIB_BASE_BASE64_H
#define ONEIB_BASE_BASE64_H

#include <stddef.h>

/*
 * Decodes `length` characters: the alphabet, padding at the end, and line breaks ("\n", "\r\n")
 * anywhere. NULL: it is nothing, or no base64. The result is the caller's, and has a NUL behind its
 * *decoded bytes.
 */
char *oneib_base64_decode(const char *text, size_t length, size_t *decoded);

/*
 * Decodes groups of four characters of the alphabet, from the beginning to the first four that are
 * none, into `bytes`, which has room for length / 4 * 3. How many characters these groups are: they
 * are what oneib_base64_encode() makes of these bytes, to the letter.
 */
size_t oneib_base64_decode_groups(const char *text, size_t length, char *bytes);

/* In one line. The result is the caller's, and has a NUL behind it; never NULL. */
char *oneib_base64_encode(const char *bytes, size_t length, size_t *encoded);

#endif
