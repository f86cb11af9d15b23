// SPDX-License-Identifier: Apache-2.0
/*
 * How networks and hosts are called in messages: `network 7 "red"`, `host "node3"`. Names are
 * users' text: escaped, and cut after ONEIB_NAME_SHOWN bytes. Returned by value, so that one can
 * stand among the arguments of a printf: oneib_network_shown(network).text.
 */
#ifndef ONEIB_CLUSTER_NAMES_H
#define ONEIB_CLUSTER_NAMES_H

#include "cluster/cloud.h"
#include <stddef.h>
#include <stdint.h>

#define ONEIB_NAME_SHOWN 48
/* A byte can become four, "..." follows a cut; "network 4294967295", quotes, a NUL. */
#define ONEIB_SHOWN_SIZE (4 * ONEIB_NAME_SHOWN + 64)

struct oneib_shown {
    char text[ONEIB_SHOWN_SIZE];
};

/* `network 7 "red"`; name NULL or "": `network 7`. ONEIB_NO_ID: `an unknown network`. */
struct oneib_shown oneib_network_called(uint32_t id, const char *name);
struct oneib_shown oneib_network_shown(const struct oneib_network *network);
/* By id, which the cloud (sorted) need not have. */
struct oneib_shown oneib_network_id_shown(const struct oneib_cloud *cloud, uint32_t id);

/* `host "node3"`; name NULL or "": `host 3`. ONEIB_NO_ID: `an unknown host`. */
struct oneib_shown oneib_host_called(uint32_t id, const char *name);
struct oneib_shown oneib_host_id_shown(const struct oneib_cloud *cloud, uint32_t id);

#endif
