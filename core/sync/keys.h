// SPDX-License-Identifier: Apache-2.0
/*
 * What vnet_create does on the front-end while oned creates a network: nothing, but for a
 * reservation's VLAN_ID, which oned has copied from the parent. oneibd gives the key (sync.h).
 */
#ifndef ONEIB_SYNC_KEYS_H
#define ONEIB_SYNC_KEYS_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "opennebula/one_client.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What vnet_create's document says. */
struct oneib_new_network {
    uint32_t id;
    bool ours;          /* its VN_MAD is vn_mad */
    uint32_t parent_id; /* ONEIB_NO_ID unless it is a reservation */
    bool has_vlan_id;
};

/* xml: a <VNET>. INPUT, for a network of ours: its VLAN_ID is no P_Key, or BRIDGE is set, to which
 * oned would connect its VMs. */
int oneib_new_network_parse(const char *xml, size_t length, const char *vn_mad,
                            struct oneib_new_network *network, struct oneib_error *err);

/* Asks for one network and reads its document alone. *cloud is empty at first, has the network then,
 * one of another driver as such, and is the caller's to clear. What is odd about it is not told. */
int oneib_read_network_alone(struct oneib_one *one, uint32_t id, const char *vn_mad,
                             struct oneib_cloud *cloud, struct oneib_error *err);

/*
 * Takes the parent's VLAN_ID away from a reservation, unless the parent says that its reservations
 * share its partition: at most three calls to oned. Nothing for any other network.
 */
int oneib_take_parents_key(struct oneib_one *one, const struct oneib_new_network *network,
                           const char *vn_mad, struct oneib_error *err);

#endif
