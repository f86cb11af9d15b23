// SPDX-License-Identifier: Apache-2.0
/*
 * Virtual ports, which ibsim's adapters do not have: a stand-in for what the firmware of mlx5
 * answers about those of a lab's simulated nodes, and for NVIDIA's subnet manager, which fills
 * their tables. Nobody who wrote this has seen either: attributes and layouts are those that oneib
 * asks by (core/fabric/virtual_ports_read.h), and each that it guesses is a switch, with which
 * adapters would do otherwise.
 *
 * In the lab's directory, read again for every question:
 *   nodes/plan       the nodes (node-standin.h); a VF's GUID and its link are in the node's tree,
 *                    where oneib-node sets them
 *   partitions.conf  what the subnet manager was told. It is said to read the same file as
 *                    opensm's, and to give a virtual port that is up the keys that its GUID is
 *                    listed with. Here that takes no time, and no SIGHUP
 *   virtual-ports    of the test, a line each:
 *                    "layout WORD", of which the words are in vports.c;
 *                    "partitions PATH", what the subnet manager was told, of which the master reads
 *                    another file than partitions.conf;
 *                    "key GUID INDEX KEY", what is in that virtual port's table all the same
 */
#ifndef VPORT_STANDIN_H
#define VPORT_STANDIN_H

#include <stdbool.h>
#include <stdint.h>

/* The directory; before anything else. Without it no port answers. */
void vports_begin(const char *directory);
bool vports_are_asked(uint16_t attribute);

#define VPORTS_SILENT (-1)
#define VPORTS_UNSUPPORTED 0x000c /* MAD status: no such attribute (IBA 1.2.1, 13.4.7) */
/* The status of the answer of the port with this GUID, and, with 0, its 64 bytes of data, zeroed
 * before. */
int vports_answer(uint64_t port, uint16_t attribute, uint32_t modifier, uint8_t data[64]);

#endif
