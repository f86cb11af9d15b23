// SPDX-License-Identifier: Apache-2.0
/*
 * POST / over HTTP (libmicrohttpd), as OpenNebula 6.10's scheduler asks. One thread: while a
 * question is answered, others wait. Clients are not trusted: they can take no more than 16
 * connections for 10 s of silence each, 30 s for a question, and 128 MiB together.
 */
#ifndef ONEIB_SCHEDULER_ASKED_HTTP_H
#define ONEIB_SCHEDULER_ASKED_HTTP_H

#include "base/error.h"
#include "base/text.h"
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* Fills *reply: 0, JSON for the scheduler; -1, words for its log that say why there is none. */
typedef int (*oneib_asked)(void *context, const char *question, size_t length,
                           struct oneib_text *reply);

struct oneib_asked_http;

/* address: as base/listen.h has it, of the key scheduler.listen. */
struct oneib_asked_http *oneib_asked_http_open(const char *address, oneib_asked asked,
                                               void *context, struct oneib_error *err);
/* Until *stop is set, by a signal's handler. */
void oneib_asked_http_serve(struct oneib_asked_http *http, const volatile sig_atomic_t *stop);
void oneib_asked_http_close(struct oneib_asked_http *http); /* NULL: nothing */

#endif
