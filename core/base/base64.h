// SPDX-License-Identifier: Apache-2.0
/* Base64 (RFC 4648, section 4), as OpenNebula writes it. */
#ifndef ONEIB_BASE_BASE64_H
#define ONEIB_BASE_BASE64_H

#include <stddef.h>

/*
 * Decodes `length` characters: the alphabet, padding at the end, and line breaks ("\n", "\r\n")
 * anywhere. NULL with *decoded 0: it is nothing, or no base64; NULL with *decoded not 0: there is
 * no memory. The result is the caller's, and has a NUL behind its *decoded bytes.
 */
char *oneib_base64_decode(const char *text, size_t length, size_t *decoded);

/* In one line. NULL: there is no memory; the result is the caller's, and has a NUL behind it. */
char *oneib_base64_encode(const char *bytes, size_t length, size_t *encoded);

#endif
