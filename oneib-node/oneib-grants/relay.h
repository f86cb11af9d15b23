// SPDX-License-Identifier: Apache-2.0
/* Between oneib-node and the daemons: frames pass, nothing is kept. See message.h. */
#ifndef ONEIB_NODE_ONEIB_GRANTS_RELAY_H
#define ONEIB_NODE_ONEIB_GRANTS_RELAY_H

#include "base/error.h"
#include <stdbool.h>

struct oneib_relay;

/* socket: oneib-node's; its SETUP comes later. */
int oneib_relay_open(int socket, struct oneib_relay **relay, struct oneib_error *err);
void oneib_relay_close(struct oneib_relay *relay); /* NULL is fine */

/* Waits until something is to be done, and does it. *is_over: oneib-node has ended. */
int oneib_relay_turn(struct oneib_relay *relay, bool *is_over, struct oneib_error *err);

#endif
