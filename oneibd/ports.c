// SPDX-License-Identifier: Apache-2.0
/* Which ports are which host's, and where they are: what nodes say over their own connections, and
 * what the fabric shows, written down in the ledger before a host fails (docs/design/fence.md). */
#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "cluster/fence.h"
#include "cluster/names.h"
#include "cluster/twin_ports.h"
#include "oneibd/daemon.h"
#include <inttypes.h>
#include <time.h>

/* How long a place may be old: a cable that is moved at once leaves all ports as they were, with
 * their LIDs. */
#define PLACES_MS 5000.0
/* Of a fabric that takes long to walk, at most a twentieth of the time. */
#define PLACES_SHARE 20

/* What somebody else was faster than is in the next turn. */
static int write_ports(struct oneib_daemon *daemon, const struct oneib_ledger *next, bool *written,
                       struct oneib_error *err)
{
    return oneib_daemon_write_ledger(daemon, next, written, err) < 0
               ? oneib_wrap(err, "writing down which ports are which host's")
               : 0;
}

/* ---- whose they are -------------------------------------------------------------------------- */

/* A clone of the host may be the one that speaks. */
static bool is_believed(const struct oneib_node *node, double now)
{
    return node->identity.is_pinned && !oneib_node_is_in_doubt(node) &&
           !oneib_node_is_doubled(node, now);
}

static void note_anothers(struct oneib_daemon *daemon, const struct oneib_node *node,
                          const struct oneib_ledger_port *port)
{
    const struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    oneib_findings_mention(&daemon->grant_findings, ONEIB_SUBJECT_HOST, node->identity.host_id);
    oneib_findings_note(
        &daemon->grant_findings, ONEIB_WARNING, "port-anothers",
        "has the adapter moved, say 'oneib host accept' of the host that had it, and its ports are "
        "asked for anew",
        "%s: its oneib-node reports port 0x%016" PRIx64 ", which is %s's: no fence closes it",
        oneib_host_id_shown(cloud, node->identity.host_id).text, port->guid,
        oneib_host_id_shown(cloud, port->host_id).text);
}

static void note_too_many(struct oneib_daemon *daemon, const struct oneib_node *node)
{
    oneib_findings_note(
        &daemon->grant_findings, ONEIB_WARNING, "ports-many",
        "were adapters replaced, say 'oneib host accept', and its ports are asked for anew",
        "%s: more than %d ports were reported by its oneib-node in the course of time: no fence "
        "closes the others",
        oneib_host_id_shown(&daemon->snapshot.cloud, node->identity.host_id).text,
        ONEIB_HOST_PORTS_MAX);
}

static int pin_ports_of(struct oneib_daemon *daemon, const struct oneib_node *node, double now,
                        struct oneib_ledger *next, bool *changed, struct oneib_error *err)
{
    const uint32_t host_id = node->identity.host_id;
    size_t count;
    const oneib_guid *ports = oneib_node_ports(node, now, &count);
    for (size_t i = 0; i < count; i++) {
        const struct oneib_ledger_port *known = oneib_ledger_port(next, ports[i]);
        const struct oneib_ledger_port port = {
            .guid = ports[i], .host_id = host_id, .since = (int64_t)time(NULL)};
        if (known && known->host_id != host_id)
            note_anothers(daemon, node, known);
        if (known)
            continue;
        if (oneib_ledger_count_ports(next, host_id) >= ONEIB_HOST_PORTS_MAX) {
            note_too_many(daemon, node);
            return 0;
        }
        if (oneib_ledger_set_port(next, &port, err) < 0)
            return -1;
        *changed = true;
    }
    return 0;
}

static int pin_all(struct oneib_daemon *daemon, struct oneib_ledger *next, bool *changed,
                   struct oneib_error *err)
{
    const double now = oneib_now_ms();
    for (size_t i = 0; i < daemon->nodes.count; i++) {
        const struct oneib_node *node = &daemon->nodes.items[i];
        if (is_believed(node, now) && oneib_ledger_host(next, node->identity.host_id) &&
            pin_ports_of(daemon, node, now, next, changed, err) < 0)
            return -1;
    }
    return 0;
}

int oneib_daemon_pin_ports(struct oneib_daemon *daemon, struct oneib_error *err)
{
    oneib_autoledger struct oneib_ledger next = {0};
    bool changed = false, written;
    if (!daemon->config.one.writer || daemon->snapshot.ledger_lost)
        return 0;
    oneib_ledger_copy(&daemon->snapshot.kept.ledger, &next);
    if (pin_all(daemon, &next, &changed, err) < 0)
        return -1;
    return changed ? write_ports(daemon, &next, &written, err) : 0;
}

void oneib_daemon_list_claims(const struct oneib_daemon *daemon, struct oneib_ledger_port **claims,
                              size_t *count)
{
    const double now = oneib_now_ms();
    size_t room = 0;
    *count = 0;
    for (size_t i = 0; i < daemon->nodes.count; i++)
        room += daemon->nodes.items[i].port_count;
    *claims = oneib_alloc(room + 1, sizeof **claims);
    for (size_t i = 0; i < daemon->nodes.count; i++) {
        const struct oneib_node *node = &daemon->nodes.items[i];
        size_t port_count;
        const oneib_guid *ports = oneib_node_ports(node, now, &port_count);
        for (size_t j = 0; j < port_count; j++)
            (*claims)[(*count)++] =
                (struct oneib_ledger_port){.guid = ports[j], .host_id = node->identity.host_id};
    }
}

/* ---- where they are -------------------------------------------------------------------------- */

static uint64_t fingerprint(const struct oneib_snapshot *snapshot)
{
    const struct oneib_ledger *ledger = &snapshot->kept.ledger;
    uint64_t hash = 1;
    for (size_t i = 0; i < ledger->port_count; i++)
        hash = oneib_hash_mix(oneib_hash_mix(hash, ledger->ports[i].guid),
                              (uint64_t)ledger->ports[i].since);
    return oneib_subnet_mix_links(hash, &snapshot->subnet);
}

static void place(struct oneib_ledger_port *port, const struct oneib_switch_link *link,
                  bool *changed)
{
    const oneib_guid switch_guid = link ? link->switch_guid : 0;
    const uint8_t switch_port = link ? link->switch_port : 0;
    *changed |= port->switch_guid != switch_guid || port->switch_port != switch_port;
    port->switch_guid = switch_guid;
    port->switch_port = switch_port;
}

/* Where nobody is linked now it may be who was seen there last. Who is seen twice is nowhere. */
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
        place(port, found, changed);
    else if (count > 1 || is_anothers)
        place(port, NULL, changed);
}

static int find_places(struct oneib_daemon *daemon, const struct oneib_fabric_links *links,
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

/* Whoever has the master subnet manager beside it: as with fences. */
static bool is_ours(const struct oneib_daemon *daemon)
{
    return daemon->has_cloud && daemon->sm == ONEIB_SM_MASTER && !daemon->snapshot.ledger_lost &&
           daemon->fabric && daemon->snapshot.subnet_known &&
           daemon->snapshot.kept.ledger.port_count > 0;
}

bool oneib_daemon_places_due(const struct oneib_daemon *daemon)
{
    return is_ours(daemon) && oneib_now_ms() >= daemon->places_at;
}

static int read_links(struct oneib_daemon *daemon, struct oneib_fabric_links *links,
                      struct oneib_error *err)
{
    const double began = oneib_now_ms();
    const int status =
        oneib_fabric_read_links(daemon->fabric, &daemon->snapshot.subnet, links, err);
    const double ended = oneib_now_ms(), rest = (ended - began) * PLACES_SHARE;
    daemon->places_at = ended + (rest > PLACES_MS ? rest : PLACES_MS);
    return status;
}

/* *changed: there are others than before. */
static void find_twins(struct oneib_daemon *daemon, const struct oneib_fabric_links *links,
                       bool *changed)
{
    struct oneib_findings found = {0};
    oneib_twin_ports_report(links->items, links->count, &daemon->snapshot.cloud, &found);
    *changed |= found.count != daemon->twin_findings.count;
    oneib_findings_clear(&daemon->twin_findings);
    daemon->twin_findings = found;
}

int oneib_daemon_find_places(struct oneib_daemon *daemon, bool *changed, struct oneib_error *err)
{
    oneib_autofabriclinks struct oneib_fabric_links links = {0};
    if (!is_ours(daemon))
        return 0;
    const uint64_t now = fingerprint(&daemon->snapshot);
    if (now == daemon->places_of && oneib_now_ms() < daemon->places_at)
        return 0;
    bool written;
    if (read_links(daemon, &links, err) < 0 || find_places(daemon, &links, &written, err) < 0)
        return -1;
    find_twins(daemon, &links, changed);
    if (written)
        daemon->places_of = now;
    return 0;
}
