// SPDX-License-Identifier: Apache-2.0
/*
 * JSON documents: keys sorted, two blanks of indent, GUIDs and keys as "0x..." strings. Building is
 * written without a check at every step: a value that could not be made is NULL, json_pack() with a
 * NULL inside is NULL, oneib_json_append() hands NULL on, and oneib_json_render() turns it into an
 * error.
 */
#ifndef ONEIB_COMMAND_JSON_H
#define ONEIB_COMMAND_JSON_H

#include "base/error.h"
#include "base/finding.h"
#include "base/text.h"
#include "ib/guid.h"
#include "ib/pkey.h"
#include <jansson.h>
#include <stdint.h>

/* An untrusted string: as it is when it is UTF-8, else with its bytes escaped. NULL becomes null.
 */
json_t *oneib_json_text(const char *string);
json_t *oneib_json_guid(oneib_guid guid);
/* null: 0, what is not known, or not there. */
json_t *oneib_json_known_guid(oneib_guid guid);
/* "0x0100", or null for 0. */
json_t *oneib_json_key(oneib_pkey key);
/* {"pkey": "0x0100", "membership": "full"} of a raw value, or null for 0. */
json_t *oneib_json_raw_key(uint16_t raw);
/* "10.20.0.10", or null for 0. */
json_t *oneib_json_ipv4(uint32_t ipv4);
/* [{severity, code, text, fix, about}], about: [{"network": 7}, {"host": 3}, {"vm": 42}] */
json_t *oneib_json_findings(const struct oneib_findings *findings);

/* Takes ownership of item. When *array or item is NULL, *array becomes NULL. */
void oneib_json_append(json_t **array, json_t *item);

/* Appends one document. Takes ownership. */
int oneib_json_render(json_t *document, struct oneib_text *text, struct oneib_error *err);

#endif
