// SPDX-License-Identifier: Apache-2.0
/*
 * GET /metrics and /healthz over HTTP (libmicrohttpd), in a thread of their own: they answer while
 * the daemon waits for opensm. Whatever else is asked for is 404, other methods 405. What is served
 * was published last; nothing of the daemon's state is touched from that thread.
 */
#ifndef ONEIB_ONEIBD_HTTP_H
#define ONEIB_ONEIBD_HTTP_H

#include "base/error.h"
#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>

struct oneib_http;

/*
 * address: "127.0.0.1:9677", "[::1]:9677"; an address in numbers; port 0: one that is free. Signals
 * are blocked in its thread. What is wrong with the address, or a port that is taken, is an error
 * that names the key daemon.metrics. Until something is published both pages are 503. Clients are
 * not trusted: there are 64 connections, 16 of one address, each for 5 s from its accept, or its last
 * answer, to the answer, and with little memory; beyond that only /metrics and /healthz suffer,
 * never the daemon.
 */
struct oneib_http *oneib_http_start(const char *address, struct oneib_error *err);
void oneib_http_stop(struct oneib_http *http); /* NULL: nothing */
uint16_t oneib_http_port(const struct oneib_http *http);

/*
 * Publishes; http NULL: *metrics is cleared. metrics: taken over, *metrics is empty afterwards; an
 * empty one leaves the old one. `health`: one line a reason why not
 * healthy; "" is healthy: 200 and "ok", else 503 and the reasons. fresh_ms: unless it is published
 * again within that time, /healthz says 503: the daemon is stuck; a call of oneib_http_alive() is
 * enough.
 */
void oneib_http_publish(struct oneib_http *http, struct oneib_text *metrics, const char *health,
                        uint32_t fresh_ms);
void oneib_http_alive(struct oneib_http *http); /* NULL: nothing */

#endif
