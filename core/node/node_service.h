// SPDX-License-Identifier: Apache-2.0
/* Asking oneib-node, as the drivers do it; for core/node and vmm. */
#ifndef ONEIB_NODE_NODE_SERVICE_H
#define ONEIB_NODE_NODE_SERVICE_H

#include "base/error.h"
#include "config/config.h"
#include "service/service_client.h"

/* A connection that ends with its block. */
#define oneib_autoservice __attribute__((cleanup(oneib_service_close)))
void oneib_service_close(struct oneib_client **service);

/* oneib_client_have() for those who do not look at the record; a grant may take as long as a key.
 */
int oneib_service_have(const struct oneib_config *config, struct oneib_client *service,
                       const struct oneib_request *request, struct oneib_error *err);
/* oneib_client_wait() for as long as the configuration lets a key and a GUID take. */
int oneib_service_wait(const struct oneib_config *config, struct oneib_client *service,
                       struct oneib_error *err);

#endif
