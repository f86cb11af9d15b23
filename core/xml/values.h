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

/* An IPv4 address in host byte order; 0: none, or malformed. */
uint32_t oneib_value_ipv4(const struct oneib_value *value);

/*
 * Whether a NIC of a VM, or a PCI device of it, is one of the driver vn_mad: its VN_MAD says so, and
 * a PCI device has TYPE=NIC besides. One whose VN_MAD is repeated counts as its: it is to be
 * refused, not overlooked.
 */
bool oneib_value_is_nic_of(const struct oneib_value *driver, const struct oneib_value *type,
                           bool is_pci, const char *vn_mad);

/* "DEVICE[:PORT]"; false when it is not of that form, or absent. */
bool oneib_value_phydev(const struct oneib_value *value, char device[ONEIB_DEVICE_NAME_SIZE],
                        uint8_t *port);

#endif
