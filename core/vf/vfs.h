// SPDX-License-Identifier: Apache-2.0
/*
 * The virtual functions of this node and who has them: giving one to a NIC of a VM, keeping it
 * where its key is, taking it back. For oneib-node alone, the only writer of adapters and of the
 * table. Nothing here waits: what takes time (the SM's acceptance of a GUID, a key that is to come)
 * goes on in oneib_vfs_step(), and each step is one that may be the last before a crash: the record
 * is written before its VF becomes more open, and after it has become less open.
 * docs/design/node.md.
 *
 * After oneib_vfs_open() memory is allocated for what the adapters are like, never for what was
 * asked.
 */
#ifndef ONEIB_VF_VFS_H
#define ONEIB_VF_VFS_H

#include "base/error.h"
#include "cluster/grant.h"
#include "config/config.h"
#include "host/vf_record.h"
#include "ib/pci.h"
#include "service/service_message.h"
#include "vf/domain_list.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct oneib_vfs;

struct oneib_vfs_options {
    uint32_t pkey_wait_ms; /* for a key to be in the port's table */
    uint32_t guid_wait_ms; /* for the SM to accept a GUID, or to let go of one */
    enum oneib_config_virtual_ports virtual_ports; /* node.virtual_ports */
    const struct oneib_pci *host_vfs;              /* kept for the host (node.host_vfs); copied */
    size_t host_vf_count;
};

/* Reads the table, /run/oneib/vfs; one that does not parse is INPUT, and the service goes on
 * without giving anything: *vfs is valid then too, and every HAVE is refused with that error until
 * oneib_vfs_step() has read a good one. NULL when another service has the table (REFUSED), and when
 * its directory is not as it must be. */
int oneib_vfs_open(const struct oneib_vfs_options *options, struct oneib_vfs **vfs,
                   struct oneib_error *err);
void oneib_vfs_close(struct oneib_vfs *vfs); /* NULL is fine; nothing on the node changes */

/* ---- what is asked --------------------------------------------------------------------------- */

/* What a request has begun; 0: nothing that one could wait for. */
typedef uint32_t oneib_vfs_ticket;

/*
 * The NIC's VF, new or the one that it has, as its grant says (key, membership, adapter, port, VF):
 * closed unless it is open so already, recorded, and on its way; *record says how it is. Refused,
 * with nothing changed: no grant for the NIC and its network; a list that is not fresh, unless the
 * VF is open as it should be. Refused, with nothing changed for a NIC that has none: no
 * such adapter or port; port not InfiniBand, or not safe (oneib_port_is_safe()); a VF that is
 * somebody else's, the host's, a domain's, of an adapter that is none, with an Ethernet port, or
 * that may send management packets (mlx4's enable_smi_admin); none free; nobody knows the domains,
 * for a NIC whose VF was ENDED too, which stays so. Another adapter, port or VF than the NIC has:
 * its VF is closed, no key is noted, and it is refused. Another network than the record's: the VF
 * is closed before the record names it. One that has left the PCI bus is released, and the NIC
 * gets another. The GUID is set once the grant allows it.
 *
 * With ONEIB_HAVE_ATTACH, when the NIC's old VF is of another adapter or port, or not the one that
 * is granted: *record is the old one, RELEASING, and the ticket's is the new one, chosen once the
 * old one is free, by the grant that there is then. *ticket is 0 when all is done. The same NIC
 * asked for while it is under way: both end alike when they want the same, else the older ticket
 * ends, REFUSED.
 */
int oneib_vfs_have(struct oneib_vfs *vfs, const struct oneib_request *request,
                   struct oneib_vf_record *record, oneib_vfs_ticket *ticket,
                   struct oneib_error *err);

/*
 * Closes what the VM, or its NIC, has, at once, and begins to take its GUIDs away. What a running
 * domain of the VM's names is left alone, unless the VM has lost the NIC (ONEIB_RELEASE_NIC_GONE):
 * then it is closed, and stays the VM's until the domain has let go of it. When that domain ends
 * within ONEIB_LEAVING_MS it is released after all: libvirt's event comes a moment after the call
 * that ended it. -1: one could not be closed, or so many wait already that this one cannot; all
 * that can be is released all the same, and there is no ticket. The ticket: until all are freed, TIMEOUT after guid_wait_ms, though the service goes
 * on.
 */
#define ONEIB_LEAVING_MS 10000
int oneib_vfs_release(struct oneib_vfs *vfs, const struct oneib_request *request,
                      struct oneib_released *released, oneib_vfs_ticket *ticket,
                      struct oneib_error *err);
/* RELEASE_VF: a VF that nobody is recorded for, or that is recorded for this VM. Refused when it is
 * none of an InfiniBand adapter's, the host's, a domain's, or another VM's; while nobody knows the
 * domains, when nobody is recorded for it. */
int oneib_vfs_release_vf(struct oneib_vfs *vfs, const struct oneib_request *request,
                         struct oneib_released *released, oneib_vfs_ticket *ticket,
                         struct oneib_error *err);

enum oneib_vfs_progress { ONEIB_VFS_BUSY, ONEIB_VFS_DONE, ONEIB_VFS_FAILED };
/* DONE: *record is how it is now (of a HAVE). FAILED: why, undone by then: a VF that the NIC did
 * not have before is closed and free again (or RELEASING), one that it had stays its own, CLOSED,
 * with the wanted key noted; or ENDED, if it was that and the VM does not run. */
enum oneib_vfs_progress oneib_vfs_progress(const struct oneib_vfs *vfs, oneib_vfs_ticket ticket,
                                           struct oneib_vf_record *record, struct oneib_error *err);
/* Nobody waits any more. What is still BUSY of a HAVE is undone, as after a failure. */
void oneib_vfs_forget(struct oneib_vfs *vfs, oneib_vfs_ticket ticket);

/* ---- what happens ---------------------------------------------------------------------------- */

/* What the domains are now; borrowed until the next call. VFs of domains that have ended are closed
 * before this returns. At first, and with list->known false, nobody knows. */
void oneib_vfs_set_domains(struct oneib_vfs *vfs, const struct oneib_domain_list *list);

/* What one step did, for the log. */
struct oneib_vfs_changes {
    size_t closed; /* open VFs whose index no longer holds their key, or whose domain has ended */
    size_t opened; /* mapped again, where their key is now */
    size_t reapplied; /* GUIDs set again after a reset */
    size_t fresh;     /* VFs of nobody in which `none` entries were closed */
    size_t freed;     /* left over: their VM has gone */
    size_t failed;    /* see err */
};

/* How much a step looks at. */
enum oneib_vfs_read {
    ONEIB_VFS_DUE,        /* what is under way, when it is due */
    ONEIB_VFS_EVERYTHING, /* every record, its VF and its port's table; VFs of nobody; adapters that
                             came or went; all that is under way: at the start, after an event */
    ONEIB_VFS_GLANCE,     /* the same, but of a VF only as much as tells that it is as it should be,
                             and one VF whole, in turn: now and then, while nothing is told. A VF's
                             map has 128 entries, each a file */
};

/* Closes first, and goes on with what is under way. -1: the first failure, after all was tried. */
int oneib_vfs_step(struct oneib_vfs *vfs, enum oneib_vfs_read look,
                   struct oneib_vfs_changes *changes, struct oneib_error *err);
/* Milliseconds until the next step is due: for what is under way 20 at first, then more, up to 250;
 * 0: something has ended, and whoever waits for it is to be told. UINT32_MAX: nothing is due. */
uint32_t oneib_vfs_due_ms(const struct oneib_vfs *vfs);

/* ---- grants ---------------------------------------------------------------------------------- */

/*
 * Which VFs may be open: the list of the daemon that this node believes, borrowed until the next
 * call; NULL: none yet. Before this returns, every VF is closed that is open for what is not in it:
 * no grant for the NIC, or one of another network, key, port, or VF, or a limited one where a full
 * one was; likewise where the adapter has another name than the record says, which says the new one
 * then. A record whose grant has another key goes on by itself, closed, until that key is there:
 * CLOSED with the new key; one without a grant has no key. `fresh`: the list is young enough to
 * open by (grants/grants_message.h). While it is not, nothing is opened but what is OPEN by its
 * record, was granted by this list, and only has to follow an index that has moved, or a key or
 * port that was gone. At first there is no list: what an earlier run of the service opened stays
 * open where it is, and nothing is opened. -1: something could not be closed, or not noted; the
 * rest was all the same, and it is tried again.
 */
int oneib_vfs_set_grants(struct oneib_vfs *vfs, const struct oneib_grant_list *grants, bool fresh,
                         struct oneib_error *err);
/* Whether there is a grant that a HAVE can be fulfilled by now: a fresh one, or that of a VF which
 * is open and has its GUID. */
bool oneib_vfs_is_granted(const struct oneib_vfs *vfs, const struct oneib_request *request);

/* ---- looking --------------------------------------------------------------------------------- */

/* Borrowed until the next call of anything above. */
const struct oneib_vf_table *oneib_vfs_table(const struct oneib_vfs *vfs);
/* VFs of mlx5 that are open, and of which this host could not read what their own ports hold when
 * it looked last: that is the subnet manager's word alone. */
size_t oneib_vfs_unseen(const struct oneib_vfs *vfs);
/* Whether that is the node's table: not while its file is damaged. */
bool oneib_vfs_knows_table(const struct oneib_vfs *vfs);

#endif
