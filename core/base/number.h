// SPDX-License-Identifier: Apache-2.0
/*
 * Strict numbers: the whole string is the number. No blanks, no signs, no leading zeros in decimal
 * except "0" itself (there are no octal surprises), no empty string, no overflow.
 */
#ifndef ONEIB_BASE_NUMBER_H
#define ONEIB_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits only, value <= max. *value is set on success only. string may be NULL: false. */
bool oneib_parse_decimal(const char *string, uint64_t max, uint64_t *value);

/* The same for `length` bytes that need not be NUL terminated. */
bool oneib_parse_decimal_n(const char *bytes, size_t length, uint64_t max, uint64_t *value);

/* "0x" or "0X" and 1 to 16 hexadecimal digits, value <= max. */
bool oneib_parse_hex(const char *string, uint64_t max, uint64_t *value);
bool oneib_parse_hex_n(const char *bytes, size_t length, uint64_t max, uint64_t *value);

/* The value of a hexadecimal digit of either case; 16 for anything else. */
unsigned oneib_hex_digit(char c);

#endif
