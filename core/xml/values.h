// SPDX-License-Identifier: Apache-2.0
/* What the text of an element means, for all that read documents of oned. */
#ifndef ONEIB_XML_VALUES_H
#define ONEIB_XML_VALUES_H

#include "cluster/cloud.h"
#include "xml/reader.h"
#include <stdbool.h>
#include <stdint.h>

/* Ids of oned are C ints (PoolObjectSQL::oid); XML-RPC carries them as i4. */
#define ONEIB_ID_MAX INT32_MAX
#define ONEIB_NUMBER_LENGTH 20

/* A decimal number up to max. */
bool oneib_value_number(const struct oneib_value *value, uint64_t max, uint64_t *number);
/* An id; false when it is none. */
bool oneib_value_id(const struct oneib_value *value, uint32_t *id);

/* The state of a key that a document holds in `value`; *pkey is set when it is VALID. */
enum oneib_key_state oneib_value_key(const struct oneib_value *value, oneib_pkey *pkey);

/* "DEVICE[:PORT]"; false when it is not of that form, or absent. */
bool oneib_value_phydev(const struct oneib_value *value, char device[ONEIB_DEVICE_NAME_SIZE],
                        uint8_t *port);

#endif
