// SPDX-License-Identifier: Apache-2.0
#include "oneibd/identity.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/names.h"
#include "grants/seal.h"
#include <stdlib.h>
#include <string.h>

/* What says that a host has a key. */
enum claim_kind {
    PINNED,   /* the ledger */
    REPORTED, /* its probe alone: not authenticated */
};

struct claim {
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    uint32_t host_id;
    enum claim_kind kind;
};

struct claims {
    struct claim *items; /* owned */
    size_t count;
};

/* By key; of one key who is pinned to it first, then by host. */
ONEIB_ORDER(compare_claims, struct claim,
            memcmp(left->key, right->key, sizeof left->key) ?: ONEIB_BY(kind, host_id));

static const struct oneib_ledger_host *pinned(const struct oneib_ledger *ledger, uint32_t host_id)
{
    return oneib_ledger_host(ledger, host_id);
}

static void note_changed_key(const struct oneib_host *host, struct oneib_findings *findings)
{
    oneib_findings_note(
        findings, ONEIB_FINDING_NODE_KEY_CHANGED,
        "%s: its probe reports another key of oneib-node's than the one that it is known by, which "
        "stays in force",
        oneib_host_called(host->id, host->name).text);
}

static void note_forgotten(const struct oneib_host *host, struct oneib_findings *findings)
{
    oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, host->id);
    oneib_findings_note_with(
        findings, ONEIB_FINDING_NODE_KEY_WAITING, ONEIB_WARNING,
        "delete the host in OpenNebula; if it is to be used again: oneib host accept HOST",
        "%s: an operator has forgotten it (oneib host forget), so nothing is granted to it; its "
        "probe still reports a key of oneib-node's",
        oneib_host_called(host->id, host->name).text);
}

static void note_waiting(const struct oneib_host *host, struct oneib_findings *findings)
{
    oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, host->id);
    oneib_findings_note(
        findings, ONEIB_FINDING_NODE_KEY_WAITING,
        "%s: its oneib-node's key is not accepted, so nothing is granted to it; its "
        "probe reports %s",
        oneib_host_called(host->id, host->name).text, host->node_key);
}

static void add_claims(const struct oneib_host *host, const struct oneib_ledger *ledger,
                       bool is_lost, struct claims *claims, struct oneib_findings *findings)
{
    const struct oneib_ledger_host *pin = pinned(ledger, host->id);
    struct claim said = {.host_id = host->id, .kind = REPORTED};
    const bool says = host->node_key[0] && oneib_key_parse(host->node_key, said.key);
    if (pin) {
        struct claim *claim = &claims->items[claims->count++];
        *claim = (struct claim){.host_id = host->id, .kind = PINNED};
        memcpy(claim->key, pin->key, sizeof claim->key);
    }
    if (!says || (pin && memcmp(pin->key, said.key, sizeof said.key) == 0))
        return;
    claims->items[claims->count++] = said;
    if (pin)
        note_changed_key(host, findings);
    else if (oneib_ledger_forgotten(ledger, host->id))
        note_forgotten(host, findings);
    else if (!is_lost)
        note_waiting(host, findings);
}

/* The end of the claims to the same key. */
static size_t end_of_key(const struct claims *claims, size_t first)
{
    size_t end = first + 1;
    while (end < claims->count &&
           memcmp(claims->items[end].key, claims->items[first].key, ONEIB_PUBLIC_KEY_SIZE) == 0)
        end++;
    return end;
}

static void note_twice(const struct oneib_cloud *cloud, const struct claim *first,
                       const struct claim *second, struct oneib_findings *findings)
{
    oneib_findings_note(findings, ONEIB_FINDING_NODE_KEY_TWICE,
                        "%s and %s have the same oneib-node key: neither is trusted",
                        oneib_host_id_shown(cloud, first->host_id).text,
                        oneib_host_id_shown(cloud, second->host_id).text);
}

static void note_refused(const struct oneib_cloud *cloud, const struct claim *heard,
                         const struct claim *refused, struct oneib_findings *findings)
{
    oneib_findings_note(
        findings, ONEIB_FINDING_NODE_KEY_TWICE,
        "%s: its probe reports the oneib-node key of %s: only %s is trusted with it",
        oneib_host_id_shown(cloud, refused->host_id).text,
        oneib_host_id_shown(cloud, heard->host_id).text,
        oneib_host_id_shown(cloud, heard->host_id).text);
}

static void believe(const struct claim *claim, bool contested, struct oneib_identities *identities)
{
    struct oneib_identity *identity = &identities->items[identities->count++];
    *identity = (struct oneib_identity){.host_id = claim->host_id, .is_contested = contested};
    memcpy(identity->key, claim->key, sizeof identity->key);
}

static void list_ports(const struct oneib_ledger *ledger, struct oneib_identities *identities)
{
    for (size_t i = 0; i < ledger->port_count; i++) {
        const struct oneib_ledger_port *port = &ledger->ports[i];
        const size_t at =
            ONEIB_LOWER_BOUND(j, identities->count, identities->items[j].host_id < port->host_id);
        if (at == identities->count || identities->items[at].host_id != port->host_id ||
            port->state == ONEIB_LEDGER_PORT_ABSENT)
            continue;
        struct oneib_identity *identity = &identities->items[at];
        if (identity->port_count < ONEIB_HOST_PORTS_MAX)
            identity->ports[identity->port_count++] = port->guid;
    }
}

/* How many claims of the first one's kind there are. */
static size_t count_equals(const struct claim *claims, size_t count)
{
    size_t equals = 1;
    while (equals < count && claims[equals].kind == claims[0].kind)
        equals++;
    return equals;
}

/* All claims to one key. It is believed of the one host that is pinned to it, whichever others report
 * it. */
static void judge_key(const struct oneib_cloud *cloud, const struct claim *claims, size_t count,
                      struct oneib_identities *identities, struct oneib_findings *findings)
{
    if (claims[0].kind != PINNED)
        return;
    if (count_equals(claims, count) > 1) {
        note_twice(cloud, &claims[0], &claims[1], findings);
        return;
    }
    believe(&claims[0], count > 1, identities);
    for (size_t i = 1; i < count; i++)
        note_refused(cloud, &claims[0], &claims[i], findings);
}

static void judge(const struct oneib_cloud *cloud, const struct claims *claims,
                  struct oneib_identities *identities, struct oneib_findings *findings)
{
    for (size_t first = 0, end; first < claims->count; first = end) {
        end = end_of_key(claims, first);
        judge_key(cloud, &claims->items[first], end - first, identities, findings);
    }
}

ONEIB_ORDER_BY(compare_hosts, struct oneib_identity, host_id);

void oneib_identities_find(const struct oneib_cloud *cloud, const struct oneib_ledger *ledger,
                           bool is_lost, struct oneib_identities *identities,
                           struct oneib_findings *findings)
{
    struct claims claims = {.items = oneib_alloc(2 * cloud->host_count + 1, sizeof *claims.items)};
    *identities = (struct oneib_identities){0};
    ONEIB_RESERVE(identities->items, identities->capacity, cloud->host_count + 1);
    for (size_t i = 0; i < cloud->host_count; i++)
        add_claims(&cloud->hosts[i], ledger, is_lost, &claims, findings);
    ONEIB_SORT(claims.items, claims.count, compare_claims);
    judge(cloud, &claims, identities, findings);
    free(claims.items);
    ONEIB_SORT(identities->items, identities->count, compare_hosts);
    list_ports(ledger, identities);
}

ONEIB_ORDER(compare_all, struct oneib_identity,
            ONEIB_BY(host_id, is_contested, port_count)
                ?: memcmp(left->key, right->key, sizeof left->key)
                ?: memcmp(left->ports, right->ports, left->port_count * sizeof *left->ports));

bool oneib_identities_equal(const struct oneib_identities *a, const struct oneib_identities *b)
{
    return ONEIB_ALIKE(a->items, a->count, b->items, b->count, compare_all);
}

void oneib_identities_clear(struct oneib_identities *identities)
{
    free(identities->items);
    *identities = (struct oneib_identities){0};
}
