// SPDX-License-Identifier: Apache-2.0
#include "cluster/port_owner.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/names.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- ports that are no host's ---------------------------------------------------------------- */

bool oneib_is_static_member(const struct oneib_cloud *cloud, oneib_guid guid)
{
    for (size_t i = 0; i < cloud->network_count; i++) {
        const struct oneib_network *network = &cloud->networks[i];
        /* A tenant's list must not take a port from its host. */
        if (!oneib_network_is_operators(network))
            continue;
        for (size_t j = 0; j < network->static_count; j++)
            if (network->static_members[j].guid == guid)
                return true;
    }
    return false;
}

bool oneib_is_listed(const struct oneib_partition_table *static_partitions, oneib_guid guid)
{
    for (size_t i = 0; static_partitions && i < static_partitions->count; i++)
        if (oneib_partition_lists(&static_partitions->items[i], guid))
            return true;
    return false;
}

bool oneib_port_is_taken_back(const struct oneib_cloud *cloud,
                              const struct oneib_ledger_port *known)
{
    return known->hca.device[0] && known->hca.driver != ONEIB_HCA_MLX5 && !known->is_accepted &&
           oneib_is_static_member(cloud, known->guid);
}

static bool is_reserved(const struct oneib_cloud *cloud, const struct oneib_port_evidence *evidence,
                        oneib_guid guid)
{
    const struct oneib_policy *policy = evidence->policy;
    for (size_t i = 0; policy && i < policy->default_full_count; i++)
        if (policy->default_full_members[i] == guid)
            return true;
    const struct oneib_subnet *subnet = evidence->subnet;
    const struct oneib_subnet_port *port = subnet ? oneib_subnet_find(subnet, guid) : NULL;
    if ((subnet && subnet->sm_port_guid == guid) ||
        (port && (port->node_type != ONEIB_NODE_CA || port->owner != 0)))
        return true;
    return oneib_is_static_member(cloud, guid);
}

/* ---- claims of nodes ------------------------------------------------------------------------- */

/* NodeInfo.NodeGUID is one adapter's, in one host. SystemImageGUID is not looked at: an adapter that
 * serves several hosts has one. */
static bool has_sibling_elsewhere(const struct oneib_port_evidence *evidence, uint32_t host_id,
                                  oneib_guid guid, uint32_t *other)
{
    const struct oneib_subnet *subnet = evidence->subnet;
    const struct oneib_subnet_port *port = subnet ? oneib_subnet_find(subnet, guid) : NULL;
    for (size_t i = 0; port && i < subnet->port_count; i++) {
        const struct oneib_ledger_port *known =
            subnet->ports[i].node_guid == port->node_guid && subnet->ports[i].owner == 0
                ? oneib_ledger_port(evidence->ledger, subnet->ports[i].guid)
                : NULL;
        if (known && known->host_id != host_id) {
            *other = known->host_id;
            return true;
        }
    }
    return false;
}

enum oneib_port_claim oneib_port_claim_check(const struct oneib_cloud *cloud,
                                             const struct oneib_port_evidence *evidence,
                                             uint32_t host_id, oneib_guid guid, uint32_t *other)
{
    if (guid == 0 || guid == UINT64_MAX ||
        (evidence->policy && oneib_guid_in_site(guid, evidence->policy->site)))
        return ONEIB_PORT_CLAIM_NO_ADAPTERS;
    if (is_reserved(cloud, evidence, guid))
        return ONEIB_PORT_CLAIM_RESERVED;
    if (oneib_is_listed(evidence->static_partitions, guid))
        return ONEIB_PORT_CLAIM_LISTED;
    return has_sibling_elsewhere(evidence, host_id, guid, other) ? ONEIB_PORT_CLAIM_SIBLING
                                                                 : ONEIB_PORT_CLAIM_VALID;
}

/* ---- what IB_HCA names ----------------------------------------------------------------------- */

/* A port that IB_HCA of a host names which has none in the ledger. */
struct probed {
    oneib_guid guid;
    uint32_t host_id;
};

struct settling {
    struct oneib_cloud *cloud;
    const struct oneib_port_evidence *evidence;
    struct oneib_findings *findings;
    const struct oneib_ledger_port **owned; /* the ledger's, by host */
    struct probed *probed;                  /* by GUID, host */
    size_t probed_count, probed_capacity;
};

ONEIB_ORDER_BY(compare_probed, struct probed, guid, host_id);

static int compare_owned(const void *a, const void *b)
{
    const struct oneib_ledger_port *left = *(const struct oneib_ledger_port *const *)a;
    const struct oneib_ledger_port *right = *(const struct oneib_ledger_port *const *)b;
    return ONEIB_BY(host_id, guid);
}

static void list_owned(struct settling *settling)
{
    const struct oneib_ledger *ledger = settling->evidence->ledger;
    settling->owned = oneib_alloc(ledger->port_count + 1, sizeof *settling->owned);
    for (size_t i = 0; i < ledger->port_count; i++)
        settling->owned[i] = &ledger->ports[i];
    ONEIB_SORT(settling->owned, ledger->port_count, compare_owned);
}

/* The first of the host's; how many there are is *count. */
static const struct oneib_ledger_port **owned_by(const struct settling *settling, uint32_t host_id,
                                                 size_t *count)
{
    const size_t all = settling->evidence->ledger->port_count;
    const size_t first = ONEIB_LOWER_BOUND(i, all, settling->owned[i]->host_id < host_id);
    *count = ONEIB_RUN(i, first, all, settling->owned[i]->host_id == host_id);
    return &settling->owned[first];
}

static void keep_probed(struct oneib_host *host)
{
    if (host->ports_settled)
        return;
    host->probed = host->ports;
    host->probed_count = host->port_count;
    host->ports = NULL;
    host->port_capacity = 0;
    host->ports_settled = true;
}

/* Of a host that has ports in the ledger, what IB_HCA names counts for nothing. */
static void list_probed(struct settling *settling, const struct oneib_host *host)
{
    size_t owned;
    owned_by(settling, host->id, &owned);
    for (size_t i = 0; owned == 0 && i < host->probed_count; i++)
        ONEIB_APPEND(settling->probed, settling->probed_count, settling->probed_capacity,
                     (struct probed){host->probed[i].port_guid, host->id});
}

/* The first other host without ports in the ledger whose IB_HCA names the port; ONEIB_NO_ID: none. */
static uint32_t named_by_another(const struct settling *settling, uint32_t host_id, oneib_guid guid)
{
    size_t i = ONEIB_LOWER_BOUND(at, settling->probed_count, settling->probed[at].guid < guid);
    for (; i < settling->probed_count && settling->probed[i].guid == guid; i++)
        if (settling->probed[i].host_id != host_id)
            return settling->probed[i].host_id;
    return ONEIB_NO_ID;
}

static void note_conflict(const struct settling *settling, uint32_t host_id, uint32_t other,
                          oneib_guid guid, const char *why)
{
    oneib_findings_mention(settling->findings, ONEIB_SUBJECT_HOST, host_id);
    oneib_findings_mention(settling->findings, ONEIB_SUBJECT_HOST, other);
    oneib_findings_note(settling->findings, ONEIB_FINDING_PORT_CONFLICT,
                        "%s names port 0x%016" PRIx64
                        " in IB_HCA, %s %s: the port is not used for %s",
                        oneib_host_id_shown(settling->cloud, host_id).text, guid, why,
                        oneib_host_id_shown(settling->cloud, other).text,
                        oneib_host_id_shown(settling->cloud, host_id).text);
}

static bool is_anothers(const struct settling *settling, const struct oneib_host *host,
                        oneib_guid guid)
{
    const struct oneib_ledger_port *known = oneib_ledger_port(settling->evidence->ledger, guid);
    if (!known || known->host_id == host->id)
        return false;
    note_conflict(settling, host->id, known->host_id, guid, "which by the ledger is the port of");
    return true;
}

/* Whether the host may have the port by IB_HCA alone. */
static bool may_be_its(const struct settling *settling, const struct oneib_host *host,
                       oneib_guid guid)
{
    if (is_anothers(settling, host, guid))
        return false;
    const uint32_t other = named_by_another(settling, host->id, guid);
    if (other != ONEIB_NO_ID)
        note_conflict(settling, host->id, other, guid,
                      "no oneib-node has reported it, and so does IB_HCA of");
    return other == ONEIB_NO_ID;
}

static const struct oneib_hca_port *probed_port(const struct oneib_host *host, oneib_guid guid)
{
    for (size_t i = 0; i < host->probed_count; i++)
        if (host->probed[i].port_guid == guid)
            return &host->probed[i];
    return NULL;
}

static void take_from_ledger(const struct settling *settling, struct oneib_host *host,
                             const struct oneib_ledger_port **owned, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct oneib_ledger_port *known = owned[i];
        if (!known->hca.device[0] || known->state == ONEIB_LEDGER_PORT_ABSENT)
            continue;
        const struct oneib_hca_port *probed = probed_port(host, known->guid);
        struct oneib_hca_port *port = oneib_host_add_port(host);
        *port = known->hca;
        port->rate_gbps = probed ? probed->rate_gbps : 0;
        port->is_proven = true;
        port->is_reserved = oneib_port_is_taken_back(settling->cloud, known);
    }
    for (size_t i = 0; i < host->probed_count; i++)
        (void)is_anothers(settling, host, host->probed[i].port_guid);
}

static void take_from_probe(const struct settling *settling, struct oneib_host *host)
{
    for (size_t i = 0; i < host->probed_count; i++) {
        if (!may_be_its(settling, host, host->probed[i].port_guid))
            continue;
        struct oneib_hca_port *port = oneib_host_add_port(host);
        *port = host->probed[i];
        port->is_reserved = is_reserved(settling->cloud, settling->evidence, port->port_guid);
    }
}

void oneib_cloud_settle_ports(struct oneib_cloud *cloud, const struct oneib_port_evidence *evidence,
                              struct oneib_findings *findings)
{
    struct settling settling = {.cloud = cloud, .evidence = evidence, .findings = findings};
    list_owned(&settling);
    for (size_t i = 0; i < cloud->host_count; i++) {
        keep_probed(&cloud->hosts[i]);
        list_probed(&settling, &cloud->hosts[i]);
    }
    ONEIB_SORT(settling.probed, settling.probed_count, compare_probed);
    for (size_t i = 0; i < cloud->host_count; i++) {
        struct oneib_host *host = &cloud->hosts[i];
        size_t count;
        const struct oneib_ledger_port **owned = owned_by(&settling, host->id, &count);
        host->port_count = 0;
        if (count > 0)
            take_from_ledger(&settling, host, owned, count);
        else
            take_from_probe(&settling, host);
        ONEIB_SORT(host->ports, host->port_count, oneib_hca_port_compare);
    }
    free(settling.probed);
    free(settling.owned);
}
