// SPDX-License-Identifier: Apache-2.0
/* HTTP around the methods: Abyss handles each connection in a thread of its own; faults of the wire
 * happen here. */
#ifndef STANDIN_SERVER_H
#define STANDIN_SERVER_H

#include "base/error.h"
#include "standin_methods.h"
#include <stdint.h>

/*
 * Keeps a port of 127.0.0.1 for this process without listening on it, so that nobody else gets it
 * while whoever listens there is down; *port 0 on entry: any free one. A descriptor.
 */
int standin_reserve_port(uint16_t *port, struct oneib_error *err);
/* Listens on a port that was reserved. A descriptor. */
int standin_listen(uint16_t port, struct oneib_error *err);

/* The port that stands for oned's, and the one that scripts use besides: it gives the same answers
 * and stays up whatever happens to the other one. */
enum standin_port { STANDIN_ONED, STANDIN_CONTROL, STANDIN_PORTS };

/* Serves until stop_fd becomes readable; then closes all connections, waits for their threads, and
 * closes the listeners. */
int standin_serve(struct standin *standin, const uint16_t ports[STANDIN_PORTS],
                  const int listeners[STANDIN_PORTS], int stop_fd, struct oneib_error *err);
/* oned's port: its connections end and new ones are refused; up again on the same port. */
int standin_server_down(struct server *server, bool down, struct oneib_error *err);

#endif
