// SPDX-License-Identifier: Apache-2.0
/* HTTP around the methods: Abyss handles each connection in a thread of its own; faults of the wire
 * happen here. */
#ifndef STANDIN_SERVER_H
#define STANDIN_SERVER_H

#include "base/error.h"
#include "standin_methods.h"
#include <stdint.h>

/* A listening socket on 127.0.0.1; *port 0 on entry: any free one. */
int standin_listen(uint16_t *port, struct oneib_error *err);
/* Serves until stop_fd becomes readable; then closes all connections and waits for their threads.
 */
int standin_serve(struct standin *standin, int listener, int stop_fd, struct oneib_error *err);

#endif
