// SPDX-License-Identifier: Apache-2.0
/*
 * From oned's documents to cluster/cloud.h, with libxml2's reader: one pass, nothing kept but what
 * is needed. Documents are hostile: no network, no external entities, no entity expansion beyond
 * the five of XML, bounded depth; malformed XML is an error for the document, a bad value within it
 * a finding for its object, which is then left out or has the value missing, whichever is closed.
 */
#ifndef ONEIB_OPENNEBULA_DOCUMENTS_H
#define ONEIB_OPENNEBULA_DOCUMENTS_H

#include "base/error.h"
#include "base/finding.h"
#include "cluster/cloud.h"
#include <stddef.h>

/* Sorted set of ids. */
struct oneib_id_set {
    uint32_t *items;
    size_t count, capacity;
};
void oneib_id_set_add(struct oneib_id_set *set, uint32_t id);       /* unsorted until sorted */
void oneib_id_set_sort(struct oneib_id_set *set);                   /* and removes repetitions */
bool oneib_id_set_has(const struct oneib_id_set *set, uint32_t id); /* sorted */
void oneib_id_set_clear(struct oneib_id_set *set);
#define oneib_autoids __attribute__((cleanup(oneib_id_set_clear)))

struct oneib_documents {
    struct oneib_cloud *cloud;       /* filled */
    struct oneib_findings *findings; /* filled */
    const char *vn_mad;              /* which networks and NICs are ours */
    /* Which VMs were asked for; a document that shows others is malformed. */
    struct {
        bool bounded;
        uint32_t first, last;
    } vms_wanted;
    struct oneib_id_set
        vms_named; /* VM ids that host and network documents name; NULL-able users clear it */
    struct oneib_id_set vms_seen;      /* VM ids read */
    struct oneib_id_set vms_migrating; /* of those, in a MIGRATING state: their pool document lacks
                                          the source host */
    struct oneib_id_set vms_odd; /* of those, whose document says twice what there is once: there
                                    is another one, in which that may be plain text */
    struct oneib_id_set networks_listed; /* by oneib_documents_list_networks() */
    bool decides;   /* there is no other document of the VM: what is odd in it is a finding */
    bool odd;       /* the last document has a VM that was added to vms_odd */
    bool malformed; /* the last document failed for what is written in it, see below */
};
void oneib_documents_clear(struct oneib_documents *documents); /* the sets only */
#define oneib_autodocuments __attribute__((cleanup(oneib_documents_clear)))

/*
 * Each reads a pool (HOST_POOL, VNET_POOL, VM_POOL) or a single document (HOST, VNET, VM) of that
 * kind. A VM read again replaces its earlier attachments (as oneib_cloud_sort() defines). A
 * document of another root is a PROTOCOL error. On failure nothing of the document is kept.
 *
 * oned does not escape what users write (docs/security.md), so a user can break the XML of a whole
 * pool, or write elements into it that look like objects. Such a failure is a PROTOCOL error with
 * documents->malformed set: XML that is not well-formed, objects inside of others, and, of VMs, one
 * without an id, one that was not asked for, and one that is there twice. Reading fewer objects, in
 * the end one by itself, tells who it was: nobody else can write into that one's document.
 *
 * VM: NICs under TEMPLATE whose VN_MAD is vn_mad, and PCIs with TYPE = NIC likewise (case
 * insensitive, as OpenNebula compares); a NIC_ID over 255 is refused with a finding. Host of
 * record: HISTORY_RECORDS/HISTORY with the highest SEQ; source: the one before. Host:
 * TEMPLATE/IB_HCA vectors, one a port: IB_HCA=[NAME="mlx4_0", PORT="1", DRIVER="mlx4",
 * PORT_GUID="0x...", PKEYS_MAX="127", VFS_TOTAL="7", RATE="40"]; DRIVER is mlx4, mlx5 or another,
 * the last three may be absent; TEMPLATE/IB_NODE_KEY; HOST_SHARE/PCI_DEVICES that VMs have. VMS/ID
 * are added to vms_named. Network: AR_POOL/AR/LEASES are what it has leased; UPDATED_VMS,
 * OUTDATED_VMS, UPDATING_VMS, ERROR_VMS and the VMs of LEASES are its VMs, and are added to
 * vms_named when it is of vn_mad; one of another driver is kept as such, without findings.
 * Attributes are read from TEMPLATE (VLAN_ID and PHYDEV from the VNET element itself, where oned
 * keeps them, TEMPLATE's else).
 */
int oneib_documents_read_hosts(struct oneib_documents *documents, const char *xml, size_t length,
                               struct oneib_error *err);
int oneib_documents_read_networks(struct oneib_documents *documents, const char *xml, size_t length,
                                  struct oneib_error *err);
/*
 * The ids of the networks of vn_mad in a pool, into networks_listed; nothing else of it is to be
 * believed, because an element of the pool can be a user's work from beginning to end.
 */
int oneib_documents_list_networks(struct oneib_documents *documents, const char *xml, size_t length,
                                  struct oneib_error *err);
/*
 * Keeps a network whose document is malformed as unreadable (cluster/cloud.h), with what oned
 * itself wrote in front of the first attribute of users, and a finding; nothing when it is another
 * driver's.
 */
void oneib_documents_keep_unreadable_network(struct oneib_documents *documents, uint32_t id,
                                             const char *xml, size_t length);
/* Counts a VM whose document is malformed as read, without attachments, with a finding. */
void oneib_documents_keep_unreadable_vm(struct oneib_documents *documents, uint32_t id);
int oneib_documents_read_vms(struct oneib_documents *documents, const char *xml, size_t length,
                             struct oneib_error *err);

#endif
