// SPDX-License-Identifier: Apache-2.0
/*
 * Asking physical ports about their virtual ports, by SMPs of NVIDIA's. Attributes and layouts are
 * those of NVIDIA's OpenSM headers (iba/ib_types.h, dual GPL/BSD); the attribute modifiers are a
 * guess: the virtual port's index for VPortInfo (0xFFB1) and VNodeInfo (0xFFB2), that in the upper
 * half and the block in the lower one for VPortPKeyTable (0xFFB6). Never seen on an adapter: what
 * is read counts only by oneib_vports_add().
 */
#ifndef ONEIB_FABRIC_VIRTUAL_PORTS_READ_H
#define ONEIB_FABRIC_VIRTUAL_PORTS_READ_H

#include "fabric/fabric.h"
#include "partitions/virtual_ports.h"

#define ONEIB_VPORT_INFO 0xffb1
#define ONEIB_VPORT_PKEY_TABLE 0xffb6
/* The modifier for the first block of a virtual port's table. */
static inline uint32_t oneib_vport_table_modifier(size_t number)
{
    return (uint32_t)number << 16;
}
/* What VPortInfo, 64 bytes, says: its GUID, and PortInfo.PortState. */
oneib_guid oneib_vport_info_guid(const uint8_t *info);
uint8_t oneib_vport_info_state(const uint8_t *info);

/*
 * Of every port of *subnet that answered and that a report names: VirtualizationInfo (0xFFB0), and
 * where virtual ports are on, of each from index 0 to the highest VPortInfo, VNodeInfo and its
 * table. One that says what cannot be is left out, and so is what does not answer. On failure
 * *reading is empty.
 */
int oneib_fabric_read_vports(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                             const struct oneib_vport_report *reports, size_t report_count,
                             struct oneib_vport_reading *reading, struct oneib_error *err);

#endif
