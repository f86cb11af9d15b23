// SPDX-License-Identifier: Apache-2.0
/*
 * A grant is oneibd's word that on one host NIC n of VM v, of network w, may have a VF at one port,
 * open at one P_Key. A node opens nothing without one (docs/design/grants.md). Pure; fixed size, so
 * that the node's service allocates nothing for them.
 */
#ifndef ONEIB_CLUSTER_GRANT_H
#define ONEIB_CLUSTER_GRANT_H

#include "host/vf_record.h"
#include "ib/device.h"
#include "ib/guid.h"
#include "ib/pci.h"
#include "ib/pkey.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_GRANTS_MAX 1024 /* for one host; what does not fit is granted nothing */

struct oneib_grant {
    uint32_t vm_id;
    uint32_t network_id;
    uint8_t nic_id;
    uint8_t port;      /* 1-254 */
    oneib_pkey pkey;   /* 1-0x7ffe */
    bool limited;      /* a limited member is enough: the port's entry may be a limited one */
    bool has_vf;       /* `vf` is the one, and no other (a PCI NIC) */
    bool may_set_guid; /* no other host's table has the GUID */
    char device[ONEIB_DEVICE_NAME_SIZE]; /* never "" */
    struct oneib_pci vf;
    oneib_guid guid; /* of the attachment, as oneibd makes it (site!): another one is not set */
};

struct oneib_grant_list {
    size_t count;
    struct oneib_grant items[ONEIB_GRANTS_MAX]; /* by (VM, NIC); none twice */
};

/* By (VM, NIC). <0, 0, >0. */
int oneib_grant_compare(const struct oneib_grant *a, const struct oneib_grant *b);
/* Every field. */
bool oneib_grant_equal(const struct oneib_grant *a, const struct oneib_grant *b);
/* Binary search; NULL when absent. */
const struct oneib_grant *oneib_grant_list_find(const struct oneib_grant_list *list, uint32_t vm_id,
                                                uint8_t nic_id);
bool oneib_grant_list_is(const struct oneib_grant_list *list, const struct oneib_grant *grants,
                         size_t count);
/* Whether a record is what the grant allows: same VM, NIC, network, device, port, key, and VF where
 * the grant names one; not wider than it. Its GUID and stage are not looked at. */
bool oneib_grant_allows(const struct oneib_grant *grant, const struct oneib_vf_record *record);

#endif
