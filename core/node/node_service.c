// SPDX-License-Identifier: Apache-2.0
#include "node/node_service.h"

void oneib_service_close(struct oneib_client **service)
{
    oneib_client_close(*service);
}

int oneib_service_have(const struct oneib_config *config, struct oneib_client *service,
                       const struct oneib_request *request, struct oneib_error *err)
{
    struct oneib_vf_record record;
    return oneib_client_have(service, request, config->node.pkey_wait_ms, &record, err);
}

int oneib_service_wait(const struct oneib_config *config, struct oneib_client *service,
                       struct oneib_error *err)
{
    const uint64_t wait_ms = (uint64_t)config->node.pkey_wait_ms + config->node.guid_wait_ms;
    return oneib_client_wait(service, wait_ms, err);
}
