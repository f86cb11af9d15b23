// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for the fwctl device of an mlx5 adapter: a file of a tree (tree.h), which holds what
 * firmware knows, and ioctl(2) on it. Who links it says LINKER:--wrap=ioctl. It is strict: a
 * request with any bit that Linux would not set is refused, and layouts are written from the
 * kernel's headers a second time. Against an adapter it was never compared.
 */
#ifndef ONEIB_UNIT_FWCTL_STANDIN_H
#define ONEIB_UNIT_FWCTL_STANDIN_H

#include "tree.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FWCTL_STANDIN_PKEYS 128

/* /sys/class/fwctl/fwctlNUMBER, whose parent is the adapter, and its file in /dev. */
void fwctl_add(const struct tree_hca *hca, unsigned number);
void fwctl_remove(unsigned number);

/* What it tells of VF n: no other VF is known to it. first, second: the first two entries of its
 * table, all others are empty. */
void fwctl_set_port(unsigned number, unsigned vf, uint64_t guid, uint16_t first, uint16_t second);

/* What it says of the subnet manager, to whoever asks for the physical function's context; before
 * that it refuses to say. */
void fwctl_set_sm(unsigned number, bool is_aware);

/*
 * From now on, "" for none of it:
 *   "errno N"             no command gets through; "errno N C": after the first C of this program
 *   "status 0xSS 0xSYND"  firmware refuses each command
 *   "no-keys"             firmware refuses QUERY_HCA_VPORT_PKEY, with status 2
 *   "short N"             answers end N bytes too early
 *   "type N"              it is a device of another kind
 */
void fwctl_set_fault(unsigned number, const char *fault);

/* How many commands it has been given since the program began. */
size_t fwctl_commands(void);

#endif
