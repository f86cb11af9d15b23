// SPDX-License-Identifier: Apache-2.0
#ifndef ONEIB_FABRIC_QOS_READ_H
#define ONEIB_FABRIC_QOS_READ_H

#include "fabric/fabric.h"
#include "partitions/qos_verify.h"

/*
 * Of every adapter's port and every linked external port of a switch: PortInfo, its arbitration
 * tables (SMP attribute 0x18), and SL to VL (0x17), at a switch from each of its linked ports. A
 * port that does not answer one of them has answered = false. On failure *reading holds nothing.
 */
int oneib_fabric_read_qos(struct oneib_fabric *fabric, const struct oneib_subnet *subnet,
                          const struct oneib_qos *qos, struct oneib_qos_reading *reading,
                          struct oneib_error *err);

#endif
