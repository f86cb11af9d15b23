// SPDX-License-Identifier: Apache-2.0
/* What the server sends, before it is packed and signed for that node: also for tests' stand-in for
 * oneibd, which lies. */
#ifndef ONEIB_GRANTS_SERVER_BYTES_H
#define ONEIB_GRANTS_SERVER_BYTES_H

#include "grants/server.h"

/* Sends them as they are. *sent: as of oneib_grants_server_send(). */
int oneib_grants_server_send_bytes(struct oneib_grants_server *server,
                                   const uint8_t node[ONEIB_PUBLIC_KEY_SIZE], const void *bytes,
                                   size_t length, bool *sent, struct oneib_error *err);

#endif
