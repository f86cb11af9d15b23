// SPDX-License-Identifier: Apache-2.0
/* What hca.c and its parts share. */
#ifndef ONEIB_HCA_INTERNAL_H
#define ONEIB_HCA_INTERNAL_H

#include "hca/hca.h"

#define ONEIB_CLASS_PATH "/sys/class/infiniband"
#define ONEIB_NODE_PATH_SIZE 1024

/* Keeps the first one. */
void oneib_hca_note_fault(struct oneib_hca *hca, const struct oneib_error *err);

/* Each reads its part into *hca; what cannot be read is the adapter's fault. */
void oneib_hca_read_ports(struct oneib_hca *hca, bool with_pkeys);
void oneib_hca_read_vfs(struct oneib_hca *hca);

/* port->guid of the port that hca->name and port->number name. */
int oneib_port_read_guid(const struct oneib_hca *hca, struct oneib_port *port,
                         struct oneib_error *err);

/* -1 also where there is no such file: the kernel then knows of no nodes. */
int oneib_numa_node_read(const char *pci, int16_t *node, struct oneib_error *err);

/* `groups` (4 or 8) times four hexadecimal digits, as GUIDs and GIDs are written; *low: the last
 * four groups. */
bool oneib_parse_groups(const char *text, unsigned groups, uint64_t *low);

#endif
