// SPDX-License-Identifier: Apache-2.0
/* What a port's own P_Key table says of one member: whether its key is in force. */
#ifndef ONEIB_CLUSTER_PKEY_STATUS_H
#define ONEIB_CLUSTER_PKEY_STATUS_H

#include "cluster/desired.h"
#include "ib/pkey.h"
#include "partitions/subnet.h"
#include <stddef.h>

enum oneib_pkey_status {
    ONEIB_IN_FORCE,      /* the port holds the key, with that membership */
    ONEIB_KEY_LACKING,   /* it answered, and does not hold it */
    ONEIB_KEY_OTHERWISE, /* it holds the key with the other membership */
    ONEIB_PORT_ABSENT,   /* the fabric has no such port */
    ONEIB_PORT_MUTE,     /* its table could not be read */
    ONEIB_PORT_UNSEEN,   /* a virtual port: the reading shows none, or not which of two it is */
};

/* One key that is to be in one table. */
struct oneib_wanted_key {
    oneib_guid port;   /* of the host; 0: not known */
    oneib_guid member; /* whose table: the port's own, or the VF's */
    oneib_pkey pkey;
    enum oneib_membership membership;
};

/* By the last reading; subnet: known and sorted. */
enum oneib_pkey_status oneib_pkey_status_of(const struct oneib_subnet *subnet,
                                            const struct oneib_wanted_key *wanted);
/* Of all bindings of one NIC: that of the first, while it migrates that of the worse. count: 1 or
 * more.
 */
enum oneib_pkey_status oneib_pkey_status_of_bindings(const struct oneib_subnet *subnet,
                                                     const struct oneib_desired_binding *bindings,
                                                     size_t count);
/* "in-force", "key-lacking", ...: for JSON. */
const char *oneib_pkey_status_name(enum oneib_pkey_status pkey_status);

#endif
