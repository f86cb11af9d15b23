// SPDX-License-Identifier: Apache-2.0
#include "cluster/duplicate_guids.h"
#include "base/memory.h"
#include "base/order.h"
#include <inttypes.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const struct oneib_switch_link *left = *(const struct oneib_switch_link *const *)a;
    const struct oneib_switch_link *right = *(const struct oneib_switch_link *const *)b;
    return ONEIB_BY(port_guid, switch_guid, switch_port);
}

/* Adapters' alone: a switch has one port GUID for all its links. */
static size_t list_adapters(const struct oneib_switch_link *links, size_t count,
                            const struct oneib_switch_link **adapters)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (links[i].node_type == ONEIB_NODE_CA && links[i].port_guid != 0)
            adapters[found++] = &links[i];
    ONEIB_SORT(adapters, found, compare);
    return found;
}

static void mention_hosts(const struct oneib_cloud *cloud, oneib_guid guid,
                          struct oneib_findings *findings)
{
    for (size_t i = 0; i < cloud->host_count; i++)
        for (size_t j = 0; j < cloud->hosts[i].port_count; j++)
            if (cloud->hosts[i].ports[j].port_guid == guid)
                oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, cloud->hosts[i].id);
}

static void add(const struct oneib_switch_link *first, const struct oneib_switch_link *second,
                const struct oneib_cloud *cloud, struct oneib_findings *findings)
{
    mention_hosts(cloud, first->port_guid, findings);
    oneib_findings_note(findings, ONEIB_FINDING_PORT_TWICE,
                        "two adapters have the port GUID 0x%016" PRIx64
                        ": at port %u of switch 0x%016" PRIx64
                        ", and at port %u of switch 0x%016" PRIx64
                        ": the subnet manager takes either for the other",
                        first->port_guid, first->switch_port, first->switch_guid,
                        second->switch_port, second->switch_guid);
}

void oneib_duplicate_guids_report(const struct oneib_switch_link *links, size_t count,
                                  const struct oneib_cloud *cloud, struct oneib_findings *findings)
{
    const struct oneib_switch_link **adapters = oneib_alloc(count + 1, sizeof *adapters);
    const size_t found = list_adapters(links, count, adapters);
    for (size_t i = 1; i < found; i++) {
        const oneib_guid guid = adapters[i]->port_guid;
        const bool is_second =
            adapters[i - 1]->port_guid == guid && (i == 1 || adapters[i - 2]->port_guid != guid);
        if (is_second)
            add(adapters[i - 1], adapters[i], cloud, findings);
    }
    free(adapters);
}
