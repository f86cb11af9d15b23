// SPDX-License-Identifier: Apache-2.0
/*
 * GUIDs: 64-bit EUI-64 in host byte order (as printed, 0x%016x). On the wire they are big endian;
 * only core/fabric and core/hca convert.
 *
 * The port and node GUID of an attachment is made, not stored: 02 SS SS VV VV VV VV NN. 02: locally
 * administered EUI-64 (IEEE, U/L bit set); SS SS the site id; VV.. the VM id, big endian; NN the
 * NIC id.
 */
#ifndef ONEIB_IB_GUID_H
#define ONEIB_IB_GUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t oneib_guid;

#define ONEIB_NIC_ID_MAX 255
#define ONEIB_GUID_TEXT_SIZE 19 /* "0x", 16 digits, NUL */

struct oneib_guid_parts {
    uint16_t site;
    uint32_t vm_id;
    uint8_t nic_id;
};

oneib_guid oneib_guid_encode(uint16_t site, uint32_t vm_id, uint8_t nic_id);

/* false when guid was not made by oneib_guid_encode() (its first byte is not 02). */
bool oneib_guid_decode(oneib_guid guid, struct oneib_guid_parts *parts);

/* Whether the member is a VF with a table of its own. Where the host's port is not known, a GUID
 * says it that oneib makes. */
bool oneib_is_virtual_port(oneib_guid port, oneib_guid member);

/* true when guid lies in the range that `site` makes GUIDs in. */
bool oneib_guid_in_site(oneib_guid guid, uint16_t site);

/* "0x0002c90300112233" (1-16 hex digits after 0x). 0 and all ones are not GUIDs: false. */
bool oneib_guid_parse(const char *string, oneib_guid *guid);
bool oneib_guid_parse_n(const char *bytes, size_t length, oneib_guid *guid);

void oneib_guid_format(oneib_guid guid, char text[ONEIB_GUID_TEXT_SIZE]);

/* Of two oneib_guid, for qsort() and bsearch(). */
int oneib_guid_compare(const void *a, const void *b);
/* `sorted` is ascending; NULL when there are none. */
bool oneib_guids_have(const oneib_guid *sorted, size_t count, oneib_guid guid);

#endif
