// SPDX-License-Identifier: Apache-2.0
/*
 * The table of VFs in oneib's hands (host/vf_record.h) on disk: /run/oneib/vfs, root's, readable
 * by all, gone after a reboot, as the adapters' maps are. It has one writer, oneib-node, which
 * replaces it atomically, and keeps a lock (/run/oneib/vfs.lock, flock) for as long as it lives:
 * readers need none. The lock has mode 0600, because whoever can open it can keep it; it is never
 * removed, and says which process had it last.
 */
#ifndef ONEIB_HCA_RESERVATIONS_H
#define ONEIB_HCA_RESERVATIONS_H

#include "base/error.h"
#include "host/vf_record.h"
#include <stdbool.h>
#include <stdint.h>

#define ONEIB_RESERVATIONS_PATH "/run/oneib/vfs" /* below oneib_node_root() */

/* A whole table, old or new. An absent file is an empty table; one that does not parse is INPUT and
 * says that the node hands nothing out until it is repaired. */
int oneib_reservations_read(struct oneib_vf_table *table, struct oneib_error *err);

/* For who owns it. Makes /run/oneib (0755) when absent. A table that could not be read again is
 * refused, and the old one stays. */
int oneib_reservations_write(const struct oneib_vf_table *table, struct oneib_error *err);

/* *lock, to be closed, is whoever's who writes the table. Makes /run/oneib when absent. REFUSED
 * while another process has it. */
int oneib_reservations_own(int *lock, struct oneib_error *err);
/* False when its file was removed: another process could own the table, too. */
bool oneib_reservations_are_owned(int lock);

/* CLOCK_BOOTTIME in seconds. */
int64_t oneib_seconds_since_boot(void);

#endif
