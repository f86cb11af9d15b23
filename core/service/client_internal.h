// SPDX-License-Identifier: Apache-2.0
/* Asking again on a new connection, for the requests of service/service_client.h. */
#ifndef ONEIB_SERVICE_CLIENT_INTERNAL_H
#define ONEIB_SERVICE_CLIENT_INTERNAL_H

#include "service/connection.h"
#include "service/service_client.h"

struct oneib_client {
    const char *socket;
    int fd; /* -1: the connection was lost */
    /* What the next WAIT is for. A service that is started anew knows nothing of it. */
    struct oneib_request asked[ONEIB_SERVICE_ASKED_MAX];
    size_t asked_count;
    /* What was asked again and refused; code NONE: nothing was. */
    struct oneib_error refused;
};

/* What becomes of the answers to one request. `begin` is called for each connection on which it is
 * asked; `take` for each answer but FAILED to a request that has one, and END. */
struct oneib_taker {
    void (*begin)(void *context);
    int (*take)(void *context, const struct oneib_answer *answer, struct oneib_error *err);
    void *context;
};

/* One that may only be used for what its socket is for; NULL in *client on failure. */
enum oneib_connection_outcome oneib_client_open_at(const char *socket, struct oneib_client **client,
                                                   struct oneib_error *err);
/* Asks until it is answered: as many connections as it takes, within timeout_ms. */
int oneib_client_ask(struct oneib_client *client, const struct oneib_request *request,
                     uint64_t timeout_ms, const struct oneib_taker *taker, struct oneib_error *err);
/* An answer that does not belong to what was asked. */
int oneib_client_unexpected(const struct oneib_answer *answer, struct oneib_error *err);

#endif
