// SPDX-License-Identifier: Apache-2.0
/*
 * Giving one network its P_Key at the moment it is created (vnet_create, on the front-end), before
 * anybody can use it.
 */
#ifndef ONEIB_SYNC_KEYS_H
#define ONEIB_SYNC_KEYS_H

#include "base/config.h"
#include "base/error.h"
#include "model/cloud.h"
#include "model/pkey.h"
#include "one/client.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What vnet_create's document says. All else about the network is asked of oned under the lock. */
struct oneib_new_network {
    uint32_t id;
    bool ours; /* its VN_MAD is vn_mad */
};

/* xml: a <VNET>. INPUT, for a network of ours: its VLAN_ID is no P_Key, or BRIDGE is set, to which
 * oned would connect its VMs. */
int oneib_new_network_parse(const char *xml, size_t length, const char *vn_mad,
                            struct oneib_new_network *network, struct oneib_error *err);

/*
 * Gives the network a key of its own from the configured range: looks at all networks, VMs and the
 * operator's fragment (where it can be read), chooses as oneib_desired does, writes, reads back,
 * and looks whether anybody else took the same key meanwhile (oneibd on another machine): then it
 * takes another. Under the lock of `lock_path` (flock; made when absent; a symbolic link is
 * refused), so that two networks created at once do not choose the same. A key that the operator
 * chose is checked for being free, and refused (REFUSED, naming who has it) when it is not. A
 * reservation that shares its parent's partition keeps its copy of the parent's key: *pkey is 0.
 */
int oneib_give_new_network_key(const struct oneib_config *config, struct oneib_one *one,
                               const struct oneib_new_network *network, const char *lock_path,
                               oneib_pkey *pkey, struct oneib_error *err);

/*
 * Whoever has just written a key reads all networks once more, and gives the key up when another
 * network states it as well: of two that write at once at least the one that looks later sees the
 * other, and nobody touches a key that is not their own writing.
 */
int oneib_read_networks(const struct oneib_config *config, struct oneib_one *one,
                        struct oneib_cloud *cloud, struct oneib_error *err);
/* Another network than `id` that states the key; NULL: none. */
const struct oneib_network *oneib_key_holder(const struct oneib_cloud *cloud, uint32_t id,
                                             oneib_pkey pkey);

#endif
