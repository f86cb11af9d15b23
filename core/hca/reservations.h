// SPDX-License-Identifier: Apache-2.0
/*
 * The table of VFs in oneib's hands (model/vf_record.h) on disk: /run/oneib/vfs, root's, readable
 * by all, gone after a reboot, as the adapters' maps are. Replaced atomically under a lock
 * (/run/oneib/vfs.lock, flock). Whoever works on one VF for longer holds the lock of that VF
 * (/run/oneib/vf-0000:81:00.1.lock) and not the table's. Locks have mode 0600, because whoever can
 * open one can keep it; they are never removed, and say which process had them last. Order: first
 * the VF's lock, then the table's; never two VFs' at once.
 */
#ifndef ONEIB_HCA_RESERVATIONS_H
#define ONEIB_HCA_RESERVATIONS_H

#include "base/error.h"
#include "model/vf_record.h"
#include <stdbool.h>
#include <stdint.h>

#define ONEIB_RESERVATIONS_PATH "/run/oneib/vfs" /* below oneib_node_root() */

/* Reads the table without a lock: a whole one, old or new. An absent file is an empty table; one
 * that does not parse is INPUT and says that the node hands nothing out until it is repaired. */
int oneib_reservations_read(struct oneib_vf_table *table, struct oneib_error *err);

/* The table, locked; *lock is for oneib_reservations_unlock(). Makes /run/oneib (0755) when absent.
 * TIMEOUT after timeout_ms. */
int oneib_reservations_lock(uint32_t timeout_ms, struct oneib_vf_table *table, int *lock,
                            struct oneib_error *err);
/* Writes what changed; still locked afterwards. A table that could not be read again is refused,
 * and the old one stays. */
int oneib_reservations_write(const struct oneib_vf_table *table, struct oneib_error *err);
void oneib_reservations_unlock(int lock);

/* For whoever writes the table for as long as it lives: *lock, to be closed. Makes /run/oneib
 * (0755) when absent. REFUSED while somebody else has it. */
int oneib_reservations_own(int *lock, struct oneib_error *err);

/* The lock of one VF; TIMEOUT names the process that has it. */
int oneib_vf_lock(const struct oneib_pci *vf, uint32_t timeout_ms, int *lock,
                  struct oneib_error *err);
void oneib_vf_unlock(int lock);

/* This process, for record.owner and owner_start. */
void oneib_vf_record_own(struct oneib_vf_record *record);
/* Whether the record's owner still lives (same pid, same start). 0: nobody. */
bool oneib_vf_record_has_owner(const struct oneib_vf_record *record);
/* CLOCK_BOOTTIME in seconds. */
int64_t oneib_seconds_since_boot(void);

#endif
