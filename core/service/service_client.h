// SPDX-License-Identifier: Apache-2.0
/*
 * Calling oneib-node. Its refusals come as errors with its own words and code; UNREACHABLE, with
 * the command that starts it, when it cannot be called at all; TIMEOUT when it does not answer.
 * A service that is started anew meanwhile (an update) is called again, and asked the same again.
 */
#ifndef ONEIB_SERVICE_SERVICE_CLIENT_H
#define ONEIB_SERVICE_SERVICE_CLIENT_H

#include "base/error.h"
#include "domain/domains.h"
#include "host/vf_record.h"
#include "service/service_message.h"
#include <stdbool.h>
#include <stdint.h>

/* Beside the waiting times that the service has itself (node.pkey_wait, node.guid_wait). */
#define ONEIB_CLIENT_PATIENCE_MS 30000

struct oneib_client; /* a connection */

/* NULL in *client on failure. */
int oneib_client_open(struct oneib_client **client, struct oneib_error *err);
void oneib_client_close(struct oneib_client *client); /* NULL is fine */

/* request->kind is HAVE: the record as it is now, closed perhaps. wait_ms: so long may the service
 * wait for a grant (node.pkey_wait). */
int oneib_client_have(struct oneib_client *client, const struct oneib_request *request,
                      uint64_t wait_ms, struct oneib_vf_record *record, struct oneib_error *err);
/* ANNOUNCE, on a connection of its own. */
int oneib_client_announce(const struct oneib_request *request, struct oneib_error *err);
/* RELEASE or RELEASE_VF. */
int oneib_client_release(struct oneib_client *client, const struct oneib_request *request,
                         struct oneib_released *released, struct oneib_error *err);
/* Until all that was asked for on this connection has ended; wait_ms: what the service may take
 * for it (node.pkey_wait + node.guid_wait). The first failure, if any. */
int oneib_client_wait(struct oneib_client *client, uint64_t wait_ms, struct oneib_error *err);

/* LIST, on a connection of its own: for those who may do nothing else, too. domains_known is
 * false, and `why` the reason, while the service does not know the domains. REFUSED: the service
 * answers, and has no place for one more reader now. The caller clears the list; after a failure it
 * is empty. */
struct oneib_service_list {
    struct oneib_vf_table table;
    struct oneib_domains domains;
    bool domains_known;
    struct oneib_error why;
    struct oneib_grant_list *grants; /* owned; of the list that is followed, if there is one */
    struct oneib_follows follows;
    struct oneib_error stale; /* why nothing new is opened; code NONE: it is */
};
int oneib_client_list(struct oneib_service_list *list, struct oneib_error *err);
void oneib_service_list_clear(struct oneib_service_list *list);
#define oneib_autoservicelist __attribute__((cleanup(oneib_service_list_clear)))

#endif
