// SPDX-License-Identifier: Apache-2.0
/*
 * Giving a VF to a NIC of a VM and taking it back: the steps of docs/design/node.md, each of which
 * can be the last one before a crash. All can be called again, at once, and in any order; a VF is
 * never open for anybody but the NIC that its record names. For oneib-vf alone: it needs root.
 */
#ifndef ONEIB_HCA_ASSIGN_H
#define ONEIB_HCA_ASSIGN_H

#include "base/error.h"
#include "hca/hca.h"
#include "model/vf_record.h"
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_assignment {
    uint32_t vm_id;
    uint8_t nic_id;
    uint16_t site;
    oneib_pkey pkey; /* 0: hold the VF, closed */
    bool limited;
    char device[ONEIB_DEVICE_NAME_SIZE]; /* "": the only one */
    uint8_t port;                        /* 0: not named */
    bool has_vf;                         /* a certain VF: OpenNebula's scheduler chose it */
    struct oneib_pci vf;
    int16_t numa_node; /* wanted; -1: none */
    bool defer_guid;   /* do not set the GUID yet: the same GUID may be another port's */
    const struct oneib_pci *in_use; /* VFs of libvirt domains; borrowed */
    size_t in_use_count;
    const struct oneib_pci *host_vfs; /* kept for the host (node.host_vfs); borrowed */
    size_t host_vf_count;
    uint32_t pkey_wait_ms;                    /* for the key to be in the port's table */
    uint32_t guid_wait_ms;                    /* for the SM to accept the GUID */
    const volatile sig_atomic_t *interrupted; /* not 0, set by a signal's handler: the caller is
                                                 gone, which fails (TIMEOUT) at the next step and
                                                 ends a wait, undoing as any failure; may be NULL;
                                                 borrowed */
};

/*
 * The NIC's VF, new or the one that it has: reserved, closed and checked, then, once the key is in
 * the port's table and (unless deferred) the SM has accepted the GUID, open; *record says how it
 * is. On failure a VF that the NIC did not have before is closed and free again (or RELEASING when
 * it cannot be closed, or the SM does not let go of its GUID at once), one that it had stays its
 * own, closed, with the new key noted, so that `oneib-vf watch` opens it once the key is there; one
 * that cannot be closed becomes RELEASING, and the error says both things. A NIC that has its VF
 * open with the same key and GUID: it is only checked, and its record is as good as new. A release
 * of the NIC meanwhile ends it (REFUSED).
 *
 * Refused: no such adapter or port; port not InfiniBand, or not safe (oneib_port_is_safe()); a VF
 * that is somebody else's, the host's, a domain's, of an adapter that is none, with an Ethernet
 * port; none free; another adapter, port or VF than the NIC already has: then its VF is closed and
 * no key is noted, because the wanted one may be another fabric's.
 */
int oneib_assign(const struct oneib_assignment *assignment, struct oneib_vf_record *record,
                 struct oneib_error *err);

/*
 * Closes the VF of that NIC (nic_id < 0: of all NICs of the VM) at once, then takes its GUID away
 * and waits up to guid_wait_ms for the SM to let go; when that is over the record stays RELEASING:
 * the VF is closed but not free, and -1 (TIMEOUT) says so; calling again goes on. Having none is
 * success. *released: how many became free.
 */
int oneib_release(uint32_t vm_id, int nic_id, uint32_t guid_wait_ms, size_t *released,
                  struct oneib_error *err);

/*
 * The same for a VF that nobody is recorded for, or for whoever is: used when the table was lost.
 * Refused when it is no VF of an InfiniBand adapter, when a domain in `in_use` or the host itself
 * has it, or when it is recorded for another VM than vm_id.
 */
int oneib_release_vf(const struct oneib_pci *vf, uint32_t vm_id, const struct oneib_pci *in_use,
                     size_t in_use_count, uint32_t guid_wait_ms, struct oneib_error *err);

/* What one look of oneib-vf watch did. */
struct oneib_vf_repairs {
    size_t closed;    /* open VFs whose index no longer holds their key */
    size_t opened;    /* mapped again, where their key is now */
    size_t reapplied; /* GUIDs set again after a reset */
    size_t fresh;     /* VFs of nobody in which `none` entries were closed */
    size_t busy;      /* left to whoever works on them, who may have looked before the change that
                         this look is about: look again soon */
    size_t failed;    /* see err */
};

/*
 * Compares every record with its VF and its port's table, and makes them equal, closing first: see
 * "Watching" in docs/design/node.md. VFs that somebody works on (their lock is taken) are left to
 * them. A PREPARING one that nobody works on is closed, and waits for the next call; a RELEASING
 * one is released further. VFs without a record: only entries that are `none` are closed; whoever
 * else mapped them is left alone. Goes on after a failure; the first one is in *err and the return
 * value is -1.
 */
int oneib_vfs_reconcile(struct oneib_vf_repairs *repairs, struct oneib_error *err);

#endif
