// SPDX-License-Identifier: Apache-2.0
/* A TCP socket that listens at an address of the configuration, and whether one accepts elsewhere. */
#ifndef ONEIB_BASE_LISTEN_H
#define ONEIB_BASE_LISTEN_H

#include "base/error.h"
#include <stdint.h>

/*
 * text: "127.0.0.1:9677", "[::1]:9677"; an address in numbers; port 0: one that is free, which is
 * in *port then. Returns the socket, which does not block and is closed on exec; -1 with an error
 * that names key, the one in the configuration.
 */
int oneib_listen(const char *text, const char *key, uint16_t *port, struct oneib_error *err);
/* Whether a server accepts a connection at HOST:PORT, a name or an address, within that time; else
 * why not. Finding the address of a name takes as long as the resolver does. */
int oneib_try_connect(const char *text, int timeout_ms, struct oneib_error *err);

#endif
