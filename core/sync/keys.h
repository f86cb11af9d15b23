// SPDX-License-Identifier: Apache-2.0
/*
 * Giving one network its P_Key at the moment it is created (vnet_create, on the front-end), before
 * anybody can use it.
 */
#ifndef ONEIB_SYNC_KEYS_H
#define ONEIB_SYNC_KEYS_H

#include "base/config.h"
#include "base/error.h"
#include "model/pkey.h"
#include "one/client.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What vnet_create's document says. */
struct oneib_new_network {
    uint32_t id;
    bool ours; /* its VN_MAD is config->one.vn_mad */
    bool is_reservation;
    bool shares;     /* a reservation whose parent says IB_RESERVATION = "shared" */
    bool has_key;    /* a VLAN_ID that is the network's own choice, not a copy of the parent's */
    oneib_pkey pkey; /* when has_key */
};

/* xml: a <VNET>. INPUT: its VLAN_ID is no P_Key, or BRIDGE is set where it must not be. */
int oneib_new_network_parse(const char *xml, size_t length, const char *vn_mad,
                            struct oneib_new_network *network, struct oneib_error *err);

/*
 * Gives the network a key of its own from the configured range: looks at all networks, VMs and the
 * operator's fragment (where it can be read), chooses as oneib_desired does, writes, reads back,
 * and looks again whether anybody else took the same key meanwhile (oneibd on another machine):
 * then the higher network id takes another. Under the lock of `lock_path` (flock; made when
 * absent), so that two networks created at once do not choose the same. A key that the operator
 * chose is checked for being free, and refused (REFUSED, naming who has it) when it is not.
 */
int oneib_give_new_network_key(const struct oneib_config *config, struct oneib_one *one,
                               const struct oneib_new_network *network, const char *lock_path,
                               oneib_pkey *pkey, struct oneib_error *err);

#endif
