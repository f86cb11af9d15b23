// SPDX-License-Identifier: Apache-2.0
/* Speeds out of a PortInfo attribute (64 bytes; IBA 1.2.1, 14.2.5.6). Private to core/fabric. */
#ifndef ONEIB_FABRIC_PORT_INFO_H
#define ONEIB_FABRIC_PORT_INFO_H

#include <stdint.h>

/* Gb/s as opensm's rates name them (2.5 is 2) of the widest width and the fastest speed that are
 * enabled; 0: none known. */
uint16_t oneib_port_info_enabled_gbps(uint8_t *port_info);
/* The same of the link as it runs now. */
uint16_t oneib_port_info_active_gbps(uint8_t *port_info);

#endif
