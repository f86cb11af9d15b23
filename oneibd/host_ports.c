// SPDX-License-Identifier: Apache-2.0
#include "oneibd/host_ports.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/duplicate_guids.h"
#include "cluster/fence.h"
#include "cluster/names.h"
#include "cluster/port_owner.h"
#include "oneibd/daemon.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long a place may be old: a cable that is moved at once leaves all ports as they were, with
 * their LIDs. */
#define PLACES_MS 5000.0
/* Of a fabric that takes long to walk, at most a twentieth of the time. */
#define PLACES_SHARE 20

struct oneib_host_ports {
    struct oneib_findings duplicates; /* port GUIDs at two places, when links were read last */
    uint64_t placed; /* fingerprint of the ports whose places were recorded last; 0: none */
};

struct oneib_host_ports *oneib_host_ports_new(void)
{
    return oneib_alloc(1, sizeof(struct oneib_host_ports));
}

void oneib_host_ports_free(struct oneib_host_ports *ports)
{
    if (ports)
        oneib_findings_clear(&ports->duplicates);
    free(ports);
}

void oneib_host_ports_add_findings(const struct oneib_host_ports *ports,
                                   struct oneib_findings *findings)
{
    oneib_findings_copy(&ports->duplicates, 0, findings);
}

void oneib_host_ports_forget_places(struct oneib_host_ports *ports)
{
    oneib_findings_clear(&ports->duplicates);
    ports->placed = 0;
}

/* Where another daemon or command has written the ledger meanwhile, the next turn does it. */
static int write_ports(struct oneib_daemon *daemon, const struct oneib_ledger *next, bool *written,
                       struct oneib_error *err)
{
    return oneib_oned_write_ledger(daemon, next, written, err) < 0
               ? oneib_wrap(err, "writing down which ports are which host's")
               : 0;
}

/* ---- which host a port belongs to ------------------------------------------------------------- */

/* Otherwise a clone of the host may be the machine that reports. */
static bool is_believed(const struct oneib_node *node, double now)
{
    return !oneib_node_is_in_doubt(node) && !oneib_node_is_doubled(node, now);
}

/* Between two changes in the ledger of ports that it has already, for each node: reports must not
 * have it written in each turn. The first change does not wait. */
#define CHANGE_INTERVAL_MS 60000.0

static const char *claim_problem(enum oneib_port_claim claim)
{
    switch (claim) {
    case ONEIB_PORT_CLAIM_NO_ADAPTERS:
        return "is no adapter's GUID, but one that oneib gives to VFs";
    case ONEIB_PORT_CLAIM_RESERVED:
        return "is a static member, a full member of the default partition, the master subnet "
               "manager's port or no adapter's";
    case ONEIB_PORT_CLAIM_LISTED:
        return "the static partitions list";
    case ONEIB_PORT_CLAIM_SIBLING:
        return "is of the same adapter as a port of";
    case ONEIB_PORT_CLAIM_VALID:
        break;
    }
    return "is the port of";
}

/* The node reports a port that it does not get. other: the host that has it, or ONEIB_NO_ID. */
static void note_refused(struct oneib_daemon *daemon, const struct oneib_node *node,
                         oneib_guid guid, const char *problem, uint32_t other)
{
    const struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    struct oneib_findings *findings = oneib_node_grants_findings(daemon->node_grants);
    oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, node->identity.host_id);
    if (other != ONEIB_NO_ID)
        oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, other);
    oneib_findings_note(findings, ONEIB_FINDING_PORT_ANOTHERS,
                        "%s: its oneib-node reports port 0x%016" PRIx64
                        ", which %s%s%s: the port is not used for %s",
                        oneib_host_id_shown(cloud, node->identity.host_id).text, guid, problem,
                        other == ONEIB_NO_ID ? "" : " ",
                        other == ONEIB_NO_ID ? "" : oneib_host_id_shown(cloud, other).text,
                        oneib_host_id_shown(cloud, node->identity.host_id).text);
}

/* The node reports its own port as it is not recorded. known: what the ledger has. */
static void note_changed(struct oneib_daemon *daemon, const struct oneib_node *node,
                         const struct oneib_hca_port *reported, const struct oneib_hca_port *known)
{
    struct oneib_findings *findings = oneib_node_grants_findings(daemon->node_grants);
    oneib_findings_mention(findings, ONEIB_SUBJECT_HOST, node->identity.host_id);
    oneib_findings_note(
        findings, ONEIB_FINDING_PORT_CHANGED,
        "%s: its oneib-node reports port 0x%016" PRIx64
        " as %s:%u with driver %s, and the ledger has %s:%u with driver %s, which stays in force",
        oneib_host_id_shown(&daemon->snapshot.cloud, node->identity.host_id).text,
        reported->port_guid, reported->device, reported->port,
        oneib_hca_driver_name(reported->driver), known->device, known->port,
        oneib_hca_driver_name(known->driver));
}

static void note_too_many(struct oneib_daemon *daemon, const struct oneib_node *node)
{
    oneib_findings_note(
        oneib_node_grants_findings(daemon->node_grants), ONEIB_FINDING_PORTS_MANY,
        "%s: its oneib-node has reported more than %d ports over time: no other port is used",
        oneib_host_id_shown(&daemon->snapshot.cloud, node->identity.host_id).text,
        ONEIB_HOST_PORTS_MAX);
}

/* A port that a node reports now as its own. */
struct claim {
    oneib_guid guid;
    uint32_t host_id;
};

struct pinning {
    struct oneib_daemon *daemon;
    struct oneib_port_evidence evidence;
    struct oneib_policy policy;
    struct oneib_ledger next; /* owned */
    struct claim *claims;     /* owned; by GUID: of all nodes */
    size_t claim_count, claim_capacity;
    bool changed;
};

ONEIB_ORDER_BY(compare_claims, struct claim, guid, host_id);

static void list_claims(struct pinning *pinning, double now)
{
    const struct oneib_nodes *nodes = oneib_node_grants_nodes(pinning->daemon->node_grants);
    for (size_t i = 0; i < nodes->count; i++) {
        size_t count;
        const struct oneib_hca_port *ports = oneib_node_ports(&nodes->items[i], now, &count);
        for (size_t j = 0; j < count; j++)
            ONEIB_APPEND(pinning->claims, pinning->claim_count, pinning->claim_capacity,
                         (struct claim){ports[j].port_guid, nodes->items[i].identity.host_id});
    }
    ONEIB_SORT(pinning->claims, pinning->claim_count, compare_claims);
}

/* Another host whose node reports the port, too; ONEIB_NO_ID: none. */
static uint32_t claimed_by_another(const struct pinning *pinning, uint32_t host_id, oneib_guid guid)
{
    size_t i = ONEIB_LOWER_BOUND(at, pinning->claim_count, pinning->claims[at].guid < guid);
    for (; i < pinning->claim_count && pinning->claims[i].guid == guid; i++)
        if (pinning->claims[i].host_id != host_id)
            return pinning->claims[i].host_id;
    return ONEIB_NO_ID;
}

/* Whether the node may be the first to have the port. */
static bool is_free(struct pinning *pinning, const struct oneib_node *node, oneib_guid guid)
{
    const uint32_t host_id = node->identity.host_id;
    uint32_t other = ONEIB_NO_ID;
    const enum oneib_port_claim claim = oneib_port_claim_check(
        &pinning->daemon->snapshot.cloud, &pinning->evidence, host_id, guid, &other);
    if (claim != ONEIB_PORT_CLAIM_VALID) {
        note_refused(pinning->daemon, node, guid, claim_problem(claim), other);
        return false;
    }
    other = claimed_by_another(pinning, host_id, guid);
    if (other != ONEIB_NO_ID)
        note_refused(pinning->daemon, node, guid, "is reported by the oneib-node of", other);
    return other == ONEIB_NO_ID;
}

/* Of ports that the ledger has already: all changes of one turn, or none. */
static bool may_change(const struct oneib_node *node, double now)
{
    return node->ports_noted_at < 0 || node->ports_noted_at == now ||
           now - node->ports_noted_at >= CHANGE_INTERVAL_MS;
}

/* A port of the host by which a new one cannot be as it is reported: one adapter has one driver.
 * NULL: none. */
static const struct oneib_hca_port *contradiction(const struct oneib_ledger *ledger,
                                                  uint32_t host_id,
                                                  const struct oneib_hca_port *reported)
{
    for (size_t i = 0; i < ledger->port_count; i++) {
        const struct oneib_ledger_port *port = &ledger->ports[i];
        if (port->host_id == host_id && port->state != ONEIB_LEDGER_PORT_RENEWED &&
            strcmp(port->hca.device, reported->device) == 0 && port->hca.driver != reported->driver)
            return &port->hca;
    }
    return NULL;
}

/* Whether the ledger may have the port as the node reports it. known: as the ledger has it for this
 * host; NULL: it has it for none. */
static bool may_record(struct pinning *pinning, const struct oneib_node *node,
                       const struct oneib_ledger_port *known, const struct oneib_hca_port *reported)
{
    const uint32_t host_id = node->identity.host_id;
    const struct oneib_hca_port *other = NULL;
    if (known && !oneib_ledger_port_allows(known, reported))
        other = &known->hca;
    else if (!known)
        other = contradiction(&pinning->next, host_id, reported);
    if (other) {
        note_changed(pinning->daemon, node, reported, other);
        return false;
    }
    if (!known && !is_free(pinning, node, reported->port_guid))
        return false;
    if (!known && oneib_ledger_count_ports(&pinning->next, host_id) >= ONEIB_HOST_PORTS_MAX) {
        note_too_many(pinning->daemon, node);
        return false;
    }
    return true;
}

static int pin_port(struct pinning *pinning, struct oneib_node *node,
                    const struct oneib_hca_port *reported, double now, struct oneib_error *err)
{
    const uint32_t host_id = node->identity.host_id;
    const struct oneib_ledger_port *known = oneib_ledger_port(&pinning->next, reported->port_guid);
    struct oneib_ledger_port port = {
        .guid = reported->port_guid, .host_id = host_id, .since = (int64_t)time(NULL)};
    if (known && known->host_id != host_id) {
        note_refused(pinning->daemon, node, reported->port_guid,
                     claim_problem(ONEIB_PORT_CLAIM_VALID), known->host_id);
        return 0;
    }
    const bool is_recorded = known && known->state == ONEIB_LEDGER_PORT_PRESENT &&
                             oneib_hca_port_compare(&known->hca, reported) == 0;
    if (is_recorded || !may_record(pinning, node, known, reported) ||
        (known && known->state != ONEIB_LEDGER_PORT_RENEWED && !may_change(node, now)))
        return 0;
    if (known) {
        port = *known;
        if (port.hca.device[0])
            node->ports_noted_at = now;
    }
    port.hca = *reported;
    port.state = ONEIB_LEDGER_PORT_PRESENT;
    pinning->changed = true;
    return oneib_ledger_set_port(&pinning->next, &port, err);
}

static bool is_reported(const struct oneib_hca_port *ports, size_t count, oneib_guid guid)
{
    for (size_t i = 0; i < count; i++)
        if (ports[i].port_guid == guid)
            return true;
    return false;
}

/* An adapter that was taken out, while others are there, is no candidate any more. One that reports
 * none at all may be loading its drivers. */
static void note_absent(struct pinning *pinning, struct oneib_node *node,
                        const struct oneib_hca_port *ports, size_t count, double now)
{
    for (size_t i = 0; count > 0 && i < pinning->next.port_count; i++) {
        struct oneib_ledger_port *known = &pinning->next.ports[i];
        if (known->host_id != node->identity.host_id || !known->hca.device[0] ||
            known->state == ONEIB_LEDGER_PORT_ABSENT || is_reported(ports, count, known->guid) ||
            !may_change(node, now))
            continue;
        known->state = ONEIB_LEDGER_PORT_ABSENT;
        node->ports_noted_at = now;
        pinning->changed = true;
    }
}

static int pin_ports_of(struct pinning *pinning, struct oneib_node *node, double now,
                        struct oneib_error *err)
{
    size_t count;
    const struct oneib_hca_port *ports = oneib_node_ports(node, now, &count);
    for (size_t i = 0; i < count; i++)
        if (pin_port(pinning, node, &ports[i], now, err) < 0)
            return -1;
    note_absent(pinning, node, ports, count, now);
    return 0;
}

static int pin_all(struct pinning *pinning, struct oneib_error *err)
{
    struct oneib_nodes *nodes = oneib_node_grants_nodes(pinning->daemon->node_grants);
    const double now = oneib_now_ms();
    list_claims(pinning, now);
    for (size_t i = 0; i < nodes->count; i++) {
        struct oneib_node *node = &nodes->items[i];
        if (is_believed(node, now) && oneib_ledger_host(&pinning->next, node->identity.host_id) &&
            pin_ports_of(pinning, node, now, err) < 0)
            return -1;
    }
    return 0;
}

struct oneib_policy oneib_daemon_port_policy(const struct oneib_daemon *daemon)
{
    return (struct oneib_policy){
        .site = daemon->config.site,
        .default_full_members = daemon->config.default_partition.full_guids,
        .default_full_count = daemon->config.default_partition.full_count,
    };
}

int oneib_host_ports_pin(struct oneib_daemon *daemon, struct oneib_error *err)
{
    bool written;
    if (!daemon->config.one.writer || daemon->snapshot.ledger_lost)
        return 0;
    struct pinning pinning = {
        .daemon = daemon,
        .policy = oneib_daemon_port_policy(daemon),
    };
    pinning.evidence = (struct oneib_port_evidence){
        .ledger = &daemon->snapshot.kept.ledger,
        .policy = &pinning.policy,
        .subnet = daemon->snapshot.subnet_known ? &daemon->snapshot.subnet : NULL,
        .static_partitions = &daemon->snapshot.static_partitions};
    oneib_ledger_copy(&daemon->snapshot.kept.ledger, &pinning.next);
    int status = pin_all(&pinning, err);
    if (status == 0 && pinning.changed)
        status = write_ports(daemon, &pinning.next, &written, err);
    /* The next turn computes at once what follows from it. */
    if (status == 0 && pinning.changed)
        oneib_poll_schedule_event(&daemon->schedule, oneib_now_ms());
    oneib_ledger_clear(&pinning.next);
    free(pinning.claims);
    return status;
}

/* ---- at which switch it is ------------------------------------------------------------------- */

static uint64_t fingerprint(const struct oneib_snapshot *snapshot)
{
    const struct oneib_ledger *ledger = &snapshot->kept.ledger;
    uint64_t hash = 1;
    for (size_t i = 0; i < ledger->port_count; i++)
        hash = oneib_hash_mix(oneib_hash_mix(hash, ledger->ports[i].guid),
                              (uint64_t)ledger->ports[i].since);
    return oneib_subnet_mix_links(hash, &snapshot->subnet);
}

static void set_place(struct oneib_ledger_port *port, const struct oneib_switch_link *link,
                      bool *changed)
{
    const oneib_guid switch_guid = link ? link->switch_guid : 0;
    const uint8_t switch_port = link ? link->switch_port : 0;
    *changed |= port->switch_guid != switch_guid || port->switch_port != switch_port;
    port->switch_guid = switch_guid;
    port->switch_port = switch_port;
}

/* A port that no switch shows keeps its place while no other port is there. One that is seen twice
 * has none. */
static void find_place(struct oneib_ledger_port *port, const struct oneib_fabric_links *links,
                       bool *changed)
{
    const struct oneib_switch_link *found = NULL;
    size_t count = 0;
    bool is_anothers = false;
    for (size_t i = 0; i < links->count; i++) {
        const struct oneib_switch_link *link = &links->items[i];
        const bool is_here = link->port_guid == port->guid && link->node_type == ONEIB_NODE_CA;
        count += is_here;
        found = is_here ? link : found;
        is_anothers |= link->switch_guid == port->switch_guid &&
                       link->switch_port == port->switch_port && link->port_guid != 0 && !is_here;
    }
    if (count == 1)
        set_place(port, found, changed);
    else if (count > 1 || is_anothers)
        set_place(port, NULL, changed);
}

static int record_places(struct oneib_daemon *daemon, const struct oneib_fabric_links *links,
                         bool *written, struct oneib_error *err)
{
    oneib_autoledger struct oneib_ledger next;
    bool changed = false;
    oneib_ledger_copy(&daemon->snapshot.kept.ledger, &next);
    for (size_t i = 0; i < next.port_count; i++)
        find_place(&next.ports[i], links, &changed);
    *written = true;
    return changed ? write_ports(daemon, &next, written, err) : 0;
}

/* As with fences, beside the master subnet manager. */
static bool is_ours(const struct oneib_daemon *daemon)
{
    return oneib_ports_are_led_here(daemon) && oneib_ports_are_known(daemon) &&
           daemon->snapshot.kept.ledger.port_count > 0;
}

static bool is_timer_due(const struct oneib_daemon *daemon)
{
    return oneib_timer_is_due(&daemon->timers, ONEIB_TIMER_PORT_PLACES, oneib_now_ms());
}

bool oneib_host_ports_are_due(const struct oneib_daemon *daemon)
{
    return is_ours(daemon) && is_timer_due(daemon);
}

static int read_links(struct oneib_daemon *daemon, struct oneib_fabric_links *links,
                      struct oneib_error *err)
{
    const double began = oneib_now_ms();
    const int status =
        oneib_fabric_read_links(oneib_ports_fabric(daemon), &daemon->snapshot.subnet, links, err);
    const double ended = oneib_now_ms(), rest = (ended - began) * PLACES_SHARE;
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_PORT_PLACES,
                    ended + (rest > PLACES_MS ? rest : PLACES_MS));
    return status;
}

/* *changed: there are others than before. */
static void find_duplicates(struct oneib_daemon *daemon, const struct oneib_fabric_links *links,
                            bool *changed)
{
    struct oneib_findings *known = &daemon->host_ports->duplicates;
    struct oneib_findings found = {0};
    oneib_duplicate_guids_report(links->items, links->count, &daemon->snapshot.cloud, &found);
    *changed |= found.count != known->count;
    oneib_findings_clear(known);
    *known = found;
}

int oneib_host_ports_find_places(struct oneib_daemon *daemon, bool *changed,
                                 struct oneib_error *err)
{
    oneib_autofabriclinks struct oneib_fabric_links links = {0};
    if (!is_ours(daemon))
        return 0;
    const uint64_t now = fingerprint(&daemon->snapshot);
    if (now == daemon->host_ports->placed && !is_timer_due(daemon))
        return 0;
    bool written;
    if (read_links(daemon, &links, err) < 0 || record_places(daemon, &links, &written, err) < 0)
        return -1;
    find_duplicates(daemon, &links, changed);
    if (written)
        daemon->host_ports->placed = now;
    return 0;
}
