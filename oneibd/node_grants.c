// SPDX-License-Identifier: Apache-2.0
#include "oneibd/node_grants.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/fence.h"
#include "cluster/names.h"
#include "oneibd/daemon.h"
#include "oneibd/host_keys.h"
#include "oneibd/identity.h"
#include "oneibd/signals.h"
#include "oneibd/unexpected_vfs.h"
#include "opennebula/documents.h"
#include "sm/kind.h"
#include "sync/heard.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* At the start: how long nodes have time to report which lists they follow and what they have. */
#define FIRST_REPORTS_MS 2000.0
/* How long IB_KEYS are written in one turn. */
#define KEYS_SLICE_MS 1000.0
/* Between two turns for reports that are not waited for. */
#define LATER_MS 1000.0
/* Between two writings of serials of IB_KEYS into the ledger. */
#define SERIALS_MS 5000.0
/* A host whose node was not heard for so long is cut off: a finding, and the scheduler places no VM
 * there. */
#define CUT_OFF_MS 60000.0
/* Between two writings of the reports' file, which takes at most that part of the time. */
#define REPORTS_FILE_MS 1000.0
#define REPORTS_FILE_SHARE 50

struct oneib_node_grants {
    struct oneib_node_server *server;
    struct oneib_nodes nodes;           /* what they have reported and were sent */
    struct oneib_identities identities; /* hosts' keys that the server accepts */
    bool has_awaited_reports;           /* nodes have had time to report since the start */
    struct oneib_ledger pins;           /* the ledger as it could be read last */
    struct oneib_host_keys host_keys;   /* what is believed of IB_KEYS */
    struct oneib_findings findings;
    struct oneib_unexpected_vfs unexpected_vfs;
    size_t reported_unexpected; /* of those, in the last turn */
    size_t reported_cut_off;    /* hosts that were cut off, in the last turn */
    double updated_ms;          /* when grants were computed last */
    double file_not_before;     /* when the reports' file may be written */
    size_t withheld;            /* members whose P_Keys wait for reports of nodes */
    bool have_deferred, have_unwritten_keys;
};

static bool is_same_server(const struct oneib_config *a, const struct oneib_config *b)
{
    return strcmp(a->daemon.grants, b->daemon.grants) == 0 &&
           strcmp(a->daemon.key, b->daemon.key) == 0;
}

struct oneib_node_grants *oneib_node_grants_open(const struct oneib_config *config,
                                                 const struct oneib_config *before,
                                                 struct oneib_error *err)
{
    struct oneib_node_grants *grants = oneib_alloc(1, sizeof *grants);
    if (before && is_same_server(config, before))
        return grants;
    grants->server = oneib_node_server_open(config->daemon.grants, config->daemon.key, err);
    if (!grants->server) {
        free(grants);
        return NULL;
    }
    grants->nodes.instance = oneib_node_server_instance(grants->server);
    return grants;
}

void oneib_node_grants_close(struct oneib_node_grants *grants)
{
    if (!grants)
        return;
    oneib_node_server_close(grants->server);
    oneib_nodes_clear(&grants->nodes);
    oneib_identities_clear(&grants->identities);
    oneib_ledger_clear(&grants->pins);
    oneib_host_keys_clear(&grants->host_keys);
    oneib_findings_clear(&grants->findings);
    oneib_unexpected_vfs_clear(&grants->unexpected_vfs);
    free(grants);
}

void oneib_node_grants_take_over(struct oneib_node_grants *grants, struct oneib_node_grants *before)
{
    if (!grants->server) {
        grants->server = before->server;
        grants->nodes = before->nodes;
        grants->identities = before->identities;
        grants->has_awaited_reports = before->has_awaited_reports;
        before->server = NULL;
        before->nodes = (struct oneib_nodes){0};
        before->identities = (struct oneib_identities){0};
    }
    grants->pins = before->pins;
    before->pins = (struct oneib_ledger){0};
    grants->host_keys = before->host_keys;
    before->host_keys = (struct oneib_host_keys){0};
}

struct oneib_node_server *oneib_node_grants_server(const struct oneib_node_grants *grants)
{
    return grants->server;
}

struct oneib_nodes *oneib_node_grants_nodes(struct oneib_node_grants *grants)
{
    return &grants->nodes;
}

struct oneib_findings *oneib_node_grants_findings(struct oneib_node_grants *grants)
{
    return &grants->findings;
}

size_t oneib_node_grants_unexpected_vfs(const struct oneib_node_grants *grants, uint32_t host_id)
{
    return oneib_unexpected_vfs_of_host(&grants->unexpected_vfs, host_id);
}

size_t oneib_node_grants_withheld(const struct oneib_node_grants *grants)
{
    return grants->withheld;
}

bool oneib_node_grants_have_deferred(const struct oneib_node_grants *grants)
{
    return grants->have_deferred;
}

bool oneib_node_grants_have_unwritten_keys(const struct oneib_node_grants *grants)
{
    return grants->have_unwritten_keys;
}

void oneib_node_grants_begin_turn(struct oneib_node_grants *grants)
{
    grants->have_unwritten_keys = false; /* a turn that fails has its retry */
}

/* ---- reports --------------------------------------------------------------------------------- */

bool oneib_node_grants_receive(struct oneib_daemon *daemon)
{
    struct oneib_node_grants *own = daemon->node_grants;
    struct oneib_node_server_item item;
    while (oneib_node_server_take(own->server, &item)) {
        struct oneib_node *node = oneib_nodes_of_key(&own->nodes, item.key);
        if (node && item.report)
            oneib_nodes_hear(&own->nodes, node, item.report, oneib_now_ms());
        else if (node && oneib_node_may_want(node, oneib_now_ms()))
            oneib_oned_queue_vm(daemon, item.want.vm_id);
        free(item.report);
    }
    return oneib_nodes_news(&own->nodes, oneib_now_ms()) == ONEIB_NODES_NOW;
}

/* ---- hosts that are cut off ------------------------------------------------------------------ */

bool oneib_node_grants_is_cut_off(const struct oneib_node_grants *grants, uint32_t host_id)
{
    const struct oneib_node *node = oneib_nodes_of_host(&grants->nodes, host_id);
    return node && oneib_node_unheard_ms(node, oneib_now_ms()) >= CUT_OFF_MS;
}

static size_t count_cut_off(const struct oneib_node_grants *grants)
{
    size_t count = 0;
    for (size_t i = 0; i < grants->nodes.count; i++)
        count += oneib_node_grants_is_cut_off(grants, grants->nodes.items[i].identity.host_id);
    return count;
}

static void check_nodes(struct oneib_daemon *daemon)
{
    struct oneib_node_grants *own = daemon->node_grants;
    const struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    uint64_t unread = 0;
    for (size_t i = 0; i < own->nodes.count; i++) {
        const struct oneib_node *node = &own->nodes.items[i];
        const uint32_t host_id = node->identity.host_id;
        unread += node->unread_virtual_ports;
        if (oneib_node_is_doubled(node, oneib_now_ms()))
            oneib_findings_note(
                &own->findings, ONEIB_FINDING_NODE_KEY_TWICE,
                "%s: two machines report with its key of oneib-node's: neither counts",
                oneib_host_id_shown(cloud, host_id).text);
        if (oneib_node_grants_is_cut_off(own, host_id))
            oneib_findings_note(&own->findings, ONEIB_FINDING_NODE_SILENT,
                                "%s: its oneib-node has not been heard for a minute",
                                oneib_host_id_shown(cloud, host_id).text);
    }
    own->reported_cut_off = count_cut_off(own);
    daemon->metrics.nodes = own->nodes.count;
    daemon->metrics.nodes_cut_off = own->reported_cut_off;
    daemon->metrics.virtual_ports_unread = unread;
}

/* ---- when a turn is due ---------------------------------------------------------------------- */

/* A key that came off the last port in the turn before may be released now, and no event says so. */
static bool waits_for_quarantine(const struct oneib_daemon *daemon)
{
    return daemon->config.one.writer && daemon->snapshot.desired.wishes_at_rest > 0;
}

bool oneib_node_grants_is_due(const struct oneib_daemon *daemon)
{
    const struct oneib_node_grants *grants = daemon->node_grants;
    const double now = oneib_now_ms();
    if (!daemon->has_cloud)
        return false;
    const enum oneib_nodes_news news = oneib_nodes_news(&grants->nodes, now);
    return news == ONEIB_NODES_NOW || grants->have_unwritten_keys ||
           oneib_timer_is_due(&daemon->timers, ONEIB_TIMER_VIRTUAL_PORTS, now) ||
           count_cut_off(grants) != grants->reported_cut_off ||
           oneib_unexpected_vfs_lasting(&grants->unexpected_vfs, now) !=
               grants->reported_unexpected ||
           ((news == ONEIB_NODES_LATER || waits_for_quarantine(daemon)) &&
            now - grants->updated_ms >= LATER_MS);
}

double oneib_node_grants_wait(const struct oneib_daemon *daemon, double otherwise)
{
    const struct oneib_node_grants *own = daemon->node_grants;
    const double now = oneib_now_ms();
    if (own->have_unwritten_keys)
        return 0;
    const double wait = oneib_nodes_wait(&own->nodes, now, otherwise);
    const bool is_later = oneib_nodes_news(&own->nodes, now) != ONEIB_NODES_NOTHING;
    return is_later || waits_for_quarantine(daemon) ? oneib_sooner(wait, LATER_MS) : wait;
}

/* ---- whose keys are believed ----------------------------------------------------------------- */

static void update_identities(struct oneib_daemon *daemon)
{
    struct oneib_node_grants *own = daemon->node_grants;
    const bool is_lost = daemon->snapshot.ledger_lost;
    struct oneib_identities identities;
    /* While the ledger is lost hosts keep their keys: damaging it pins no other. */
    if (!is_lost && !oneib_ledger_equal(&daemon->snapshot.kept.ledger, &own->pins)) {
        oneib_ledger_clear(&own->pins);
        oneib_ledger_copy(&daemon->snapshot.kept.ledger, &own->pins);
    }
    oneib_identities_find(&daemon->snapshot.cloud, &own->pins, is_lost, &identities,
                          &own->findings);
    /* At the start the server waits for them, even for none. */
    if (!own->has_awaited_reports || !oneib_identities_equal(&identities, &own->identities)) {
        oneib_nodes_believe(&own->nodes, &identities, oneib_now_ms());
        oneib_node_server_admit(own->server, &identities);
    }
    oneib_identities_clear(&own->identities);
    own->identities = identities;
}

static uint16_t lid_of_this_port(const struct oneib_daemon *daemon)
{
    if (!oneib_ports_are_known(daemon))
        return 0;
    const struct oneib_subnet_port *port = oneib_subnet_find(
        &daemon->snapshot.subnet, oneib_fabric_port_guid(oneib_ports_fabric(daemon)));
    return port ? port->lid : 0;
}

void oneib_node_grants_send_role(struct oneib_daemon *daemon)
{
    const bool is_here = oneib_ports_sm(daemon) == ONEIB_SM_MASTER &&
                         !oneib_sm_traits(daemon->config.sm.kind)->is_elsewhere;
    const uint16_t lid = is_here ? lid_of_this_port(daemon) : 0;
    const struct oneib_daemon_role role = {
        .is_writer = daemon->config.one.writer,
        .has_sm = lid != 0,
        .sm_lid = lid,
    };
    if (daemon->has_cloud)
        oneib_node_server_set_role(
            daemon->node_grants->server, &role,
            oneib_snapshot_age_of_lists(oneib_oned_snapshot_age(daemon->oned)));
}

/* Nodes report what they have open before anything is decided that may take it from them. */
static void await_first_reports(struct oneib_daemon *daemon)
{
    struct oneib_node_grants *own = daemon->node_grants;
    const double end = oneib_now_ms() + FIRST_REPORTS_MS;
    while (!own->has_awaited_reports && oneib_nodes_unheard(&own->nodes) > 0 &&
           oneib_now_ms() < end && !oneib_signals_waiting()) {
        struct pollfd descriptor = {.fd = oneib_node_server_fd(own->server), .events = POLLIN};
        oneib_signals_poll(&descriptor, 1, end - oneib_now_ms());
        oneib_node_grants_receive(daemon);
        oneib_daemon_alive(daemon);
    }
    own->has_awaited_reports = true;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

struct snapshots {
    struct oneib_node_snapshot *items; /* owned; by host id */
    size_t count;
};

static void read_nodes(struct oneib_daemon *daemon, struct snapshots *snapshots)
{
    struct oneib_nodes *nodes = &daemon->node_grants->nodes;
    const struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    const struct oneib_node_snapshot *known;
    size_t next = 0;
    oneib_nodes_read(nodes, oneib_now_ms(), &known);
    snapshots->items = oneib_alloc(cloud->host_count + 1, sizeof *snapshots->items);
    snapshots->count = cloud->host_count;
    for (size_t i = 0; i < cloud->host_count; i++) {
        const uint32_t host_id = cloud->hosts[i].id;
        struct oneib_node_snapshot *snapshot = &snapshots->items[i];
        /* Of a host whose node has no key that is believed, what it has open is not known. */
        *snapshot = (struct oneib_node_snapshot){.host_id = host_id, .state = ONEIB_NODE_UNHEARD};
        if (next < nodes->count && known[next].host_id == host_id)
            *snapshot = known[next++];
        /* Its reports do not count: nothing on the host reaches the fabric. */
        if (oneib_fence_holds(&daemon->snapshot.kept.ledger, host_id))
            *snapshot = oneib_node_of_fenced_host(host_id);
    }
}

/* ---- IB_KEYS: keys that a host may hold ------------------------------------------------------ */

static bool has_key(const struct oneib_host *host, oneib_pkey pkey)
{
    for (size_t i = 0; i < host->key_count; i++)
        if (host->keys[i] == pkey)
            return true;
    return false;
}

/* own: room for this daemon's keys. Without a ledger no host is forgotten. */
static struct oneib_host_keys_trust key_trust(const struct oneib_daemon *daemon,
                                              struct oneib_ledger_daemon *own)
{
    const struct oneib_kept_ledger *kept = &daemon->snapshot.kept;
    oneib_node_server_keys(daemon->node_grants->server, own);
    return (struct oneib_host_keys_trust){
        .ledger = kept->state == ONEIB_LEDGER_READ ? &kept->ledger : NULL,
        .sign = own->sign,
        .is_writer = daemon->config.one.writer,
    };
}

void oneib_node_grants_verify_keys(struct oneib_daemon *daemon)
{
    struct oneib_ledger_daemon own;
    const struct oneib_host_keys_trust trust = key_trust(daemon, &own);
    oneib_host_keys_settle_all(&daemon->node_grants->host_keys, &trust, &daemon->snapshot.cloud);
}

/* A key that IB_KEYS does not name may be given to others: so it is not shortened, but stays. */
static int write_keys(struct oneib_daemon *daemon, struct oneib_host *host, const oneib_pkey *keys,
                      size_t count, struct oneib_error *err)
{
    struct oneib_node_grants *grants = daemon->node_grants;
    if (count > ONEIB_HOST_KEYS_MAX) {
        oneib_findings_note(&grants->findings, ONEIB_FINDING_HOST_KEYS_FULL,
                            "%s may hold %zu P_Keys, and IB_KEYS has room for %d: no other one is "
                            "granted there until its oneib-node has given some back",
                            oneib_host_called(host->id, host->name).text, count,
                            ONEIB_HOST_KEYS_MAX);
        return 0;
    }
    struct oneib_error failure;
    struct oneib_ledger_daemon own;
    const struct oneib_host_keys_trust trust = key_trust(daemon, &own);
    char seal[ONEIB_KEYS_SEAL_TEXT_SIZE];
    const uint64_t serial = oneib_host_keys_next_serial(&grants->host_keys, trust.ledger, host->id);
    oneib_node_server_seal_keys(grants->server, host->id, serial, keys, count, seal);
    const int32_t vfs_free = oneib_host_updates_vfs_free(daemon, host->id);
    oneib_signals_allow();
    const int status =
        oneib_one_set_host_keys(daemon->one, host->id, keys, count, seal, vfs_free, &failure);
    oneib_signals_block();
    if (status < 0 && oneib_one_error_is_general(failure.code)) {
        *err = failure;
        return oneib_wrap(err, "writing IB_KEYS of %s",
                          oneib_host_called(host->id, host->name).text);
    }
    if (status < 0) {
        oneib_host_updates_failed(daemon, host->id, &failure);
        return 0;
    }
    daemon->metrics.host_updates++;
    oneib_host_updates_written(daemon->host_updates, host->id);
    oneib_pkey *kept = oneib_alloc(count + 1, sizeof *kept);
    memcpy(kept, keys, count * sizeof *kept);
    free(host->keys);
    host->keys = kept;
    host->key_count = count;
    memcpy(host->keys_seal, seal, sizeof seal);
    if (vfs_free >= 0)
        host->vfs_free = vfs_free;
    oneib_host_keys_wrote(&grants->host_keys, &trust, host);
    return 0;
}

/* An older value can be written again by any sender of a monitoring message, and a daemon that starts
 * knows only the ledger's serials. No host or VM waits for this. */
void oneib_node_grants_write_key_serials(struct oneib_daemon *daemon)
{
    oneib_autoledger struct oneib_ledger next = {0};
    struct oneib_error failure;
    const double now = oneib_now_ms();
    bool written;
    if (!daemon->config.one.writer || daemon->snapshot.ledger_lost ||
        !oneib_timer_is_due(&daemon->timers, ONEIB_TIMER_KEY_SERIALS, now))
        return;
    oneib_ledger_copy(&daemon->snapshot.kept.ledger, &next);
    if (!oneib_host_keys_note_serials(&daemon->node_grants->host_keys, &next))
        return;
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_KEY_SERIALS, now + SERIALS_MS);
    if (oneib_oned_write_ledger(daemon, &next, &written, &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
}

static int parse_host(struct oneib_daemon *daemon, const char *xml, size_t length,
                      struct oneib_host *host, struct oneib_error *err)
{
    oneib_autocloud struct oneib_cloud now = {0};
    oneib_autofindings struct oneib_findings findings = {0};
    oneib_autodocuments struct oneib_documents documents = {
        .cloud = &now, .findings = &findings, .vn_mad = daemon->config.one.vn_mad};
    int status = oneib_documents_read_hosts(&documents, xml, length, err);
    if (status == 0 && (now.host_count != 1 || now.hosts[0].id != host->id))
        status = oneib_fail(err, ONEIB_ERROR_INPUT, "oned's answer is not that host's document");
    if (status == 0) {
        free(host->keys);
        host->keys = now.hosts[0].keys;
        host->key_count = now.hosts[0].key_count;
        host->keys_invalid = now.hosts[0].keys_invalid;
        host->keys_written = now.hosts[0].keys_written;
        memcpy(host->keys_seal, now.hosts[0].keys_seal, sizeof host->keys_seal);
        host->keys_settled = false;
        now.hosts[0].keys = NULL;
        now.hosts[0].key_count = 0;
    }
    return status;
}

/* The writer may have written them meanwhile. */
static int read_keys_again(struct oneib_daemon *daemon, struct oneib_host *host,
                           struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    struct oneib_ledger_daemon own;
    const struct oneib_host_keys_trust trust = key_trust(daemon, &own);
    size_t length;
    oneib_signals_allow();
    int status = oneib_one_host(daemon->one, host->id, &xml, &length, err);
    oneib_signals_block();
    if (status == 0)
        status = parse_host(daemon, xml, length, host, err);
    if (status == 0)
        oneib_host_keys_settle(&daemon->node_grants->host_keys, &trust, host);
    return status < 0 ? oneib_wrap(err, "reading IB_KEYS of %s",
                                   oneib_host_called(host->id, host->name).text)
                      : 0;
}

/* Taking a key out is the writer's. */
static size_t keep_keys(const struct oneib_host *host, oneib_pkey *keys, size_t count)
{
    const size_t wanted = count;
    for (size_t i = 0; i < host->key_count; i++) {
        bool known = false;
        for (size_t j = 0; j < wanted; j++)
            known |= keys[j] == host->keys[i];
        if (!known)
            keys[count++] = host->keys[i];
    }
    ONEIB_SORT(keys, count, oneib_compare_u16);
    return count;
}

static bool has_keys(const struct oneib_host *host, const oneib_pkey *keys, size_t count)
{
    return !host->keys_invalid && !host->keys_stale && count == host->key_count &&
           (count == 0 || memcmp(keys, host->keys, count * sizeof *keys) == 0);
}

/* Beside another daemon, which may be at work, nothing is written by an old reading. */
static int write_beside_another(struct oneib_daemon *daemon, struct oneib_node *node,
                                struct oneib_host *host, const oneib_pkey *wanted,
                                size_t wanted_count, struct oneib_error *err)
{
    struct oneib_error failure;
    oneib_pkey keys[ONEIB_PKEY_COUNT];
    for (bool is_fresh = false;; is_fresh = true) {
        size_t count = wanted_count;
        memcpy(keys, wanted, wanted_count * sizeof *keys);
        /* Those that are written and not wanted may be another daemon's. */
        if (daemon->config.one.writer)
            oneib_pkey_last_uses_keep(&node->pkey_last_uses, host->keys, host->key_count,
                                      oneib_now_ms(), keys, &count);
        else
            count = keep_keys(host, keys, count);
        if (has_keys(host, keys, count))
            return 0;
        if (is_fresh)
            return host->keys_invalid && !daemon->config.one.writer
                       ? 0
                       : write_keys(daemon, host, keys, count, err);
        if (read_keys_again(daemon, host, &failure) == 0)
            continue;
        if (!oneib_one_error_is_general(failure.code)) {
            oneib_host_updates_failed(daemon, host->id, &failure);
            return 0;
        }
        *err = failure;
        return -1;
    }
}

static int update_host_keys(struct oneib_daemon *daemon, const struct oneib_grants *grants,
                            struct oneib_host *host, const struct oneib_node_snapshot *snapshot,
                            struct oneib_error *err)
{
    oneib_pkey keys[ONEIB_PKEY_COUNT];
    struct oneib_node *node = oneib_nodes_of_host(&daemon->node_grants->nodes, host->id);
    if (!node || oneib_host_updates_are_paused(daemon->host_updates, host->id) ||
        (host->keys_invalid && !oneib_node_has_told(snapshot)))
        return 0; /* what it may hold is not known: nothing is written that looks as if it were */
    const struct oneib_held_keys before = {
        .known = !host->keys_invalid, .keys = host->keys, .count = host->key_count};
    const size_t count =
        oneib_keys_of_node(snapshot, oneib_grants_of_host(grants, host->id), &before, keys);
    if (!daemon->config.one.writer || !node->believes)
        return write_beside_another(daemon, node, host, keys, count, err);
    oneib_pkey_last_uses_clear(&node->pkey_last_uses);
    return has_keys(host, keys, count) ? 0 : write_keys(daemon, host, keys, count, err);
}

/* It was written while no daemon ran that remembers its value. */
static void note_unsigned(struct oneib_daemon *daemon)
{
    const struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    for (size_t i = 0; i < cloud->host_count; i++)
        if (cloud->hosts[i].keys_invalid && cloud->hosts[i].keys_written)
            oneib_findings_note(
                &daemon->node_grants->findings, ONEIB_FINDING_HOST_KEYS_INVALID,
                "%s: IB_KEYS is not what an oneibd of the ledger has written, so the P_Keys that "
                "it may hold are unknown: no quarantined P_Key is released",
                oneib_host_called(cloud->hosts[i].id, cloud->hosts[i].name).text);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Each request to lift a fence is another question. */
static uint64_t question_of(const struct oneib_ledger_fence *fence)
{
    return fence && fence->wish == ONEIB_FENCE_LIFT ? (uint64_t)fence->since << 32 | fence->asked
                                                    : 0;
}

bool oneib_node_grants_has_nothing(const struct oneib_node_grants *grants,
                                   const struct oneib_ledger_fence *fence)
{
    const struct oneib_node *node = oneib_nodes_of_host(&grants->nodes, fence->host_id);
    const uint64_t question = question_of(fence);
    return node && question != 0 && oneib_node_has_answered(node, question) &&
           oneib_node_has_nothing(node, oneib_now_ms());
}

static void send_list(struct oneib_daemon *daemon, const struct oneib_grants *grants,
                      struct oneib_node *node, struct oneib_grant_list *list)
{
    const uint32_t host_id = node->identity.host_id;
    const struct oneib_host_grants *granted = oneib_grants_of_host(grants, host_id);
    const struct oneib_host *host = oneib_cloud_host(&daemon->snapshot.cloud, host_id);
    bool changed;
    if (!oneib_node_may_be_sent(node, daemon->snapshot.desired.held_count))
        return;
    oneib_node_question(node,
                        question_of(oneib_ledger_fence(&daemon->snapshot.kept.ledger, host_id)));
    list->count = 0;
    for (size_t i = 0; granted && host && i < granted->count; i++)
        if (has_key(host, granted->items[i].pkey) && list->count < ONEIB_GRANTS_MAX)
            list->items[list->count++] = granted->items[i];
    oneib_nodes_list(&daemon->node_grants->nodes, node, list->items, list->count, oneib_now_ms(),
                     &changed);
    if (changed)
        oneib_node_server_send(daemon->node_grants->server, node->identity.key, node->serial,
                               node->sent);
}

static void send_lists(struct oneib_daemon *daemon, const struct oneib_grants *grants)
{
    struct oneib_grant_list *list = oneib_alloc(1, sizeof *list);
    for (size_t i = 0; i < daemon->node_grants->nodes.count; i++)
        send_list(daemon, grants, &daemon->node_grants->nodes.items[i], list);
    free(list);
}

/* The order of hosts: those whose keys stay first, those that give keys back last. */
enum keys_pass { KEYS_STAY, KEYS_GAINED, KEYS_RETURNED, KEYS_PASSES };

static enum keys_pass pass_of(struct oneib_daemon *daemon, const struct oneib_grants *grants,
                              const struct oneib_host *host,
                              const struct oneib_node_snapshot *snapshot)
{
    oneib_pkey keys[ONEIB_PKEY_COUNT];
    const struct oneib_held_keys before = {
        .known = !host->keys_invalid, .keys = host->keys, .count = host->key_count};
    const struct oneib_host_grants *granted = oneib_grants_of_host(grants, host->id);
    for (size_t i = 0; granted && i < granted->count; i++)
        if (!has_key(host, granted->items[i].pkey))
            return KEYS_GAINED;
    const size_t count = oneib_keys_of_node(snapshot, granted, &before, keys);
    return daemon->config.one.writer && has_keys(host, keys, count) ? KEYS_STAY : KEYS_RETURNED;
}

/* oned knows a host's keys before the host is sent its list: a daemon that starts after this one does
 * not know what this one has sent. Each host is sent its list as soon as oned knows, and not before:
 * what it may hold is computed from the list before. Hosts that are left when the time is over are
 * the next turn's: nodes and partitions do not wait for them. */
static int update_keys(struct oneib_daemon *daemon, const struct oneib_grants *grants,
                       const struct snapshots *snapshots, struct oneib_error *err)
{
    const double until = oneib_now_ms() + KEYS_SLICE_MS;
    struct oneib_node_grants *own = daemon->node_grants;
    struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    oneib_autofree struct oneib_grant_list *list = oneib_alloc(1, sizeof *list);
    oneib_autofree uint8_t *passes = oneib_alloc(cloud->host_count + 1, sizeof *passes);
    own->have_unwritten_keys = false;
    /* Nodes believe the daemon beside the master SM: where that is not the writer, which may have
     * failed, it adds the keys that it is about to grant. */
    if (!daemon->config.one.writer && oneib_ports_sm(daemon) != ONEIB_SM_MASTER)
        return 0;
    for (size_t i = 0; i < cloud->host_count; i++)
        passes[i] = (uint8_t)pass_of(daemon, grants, &cloud->hosts[i], &snapshots->items[i]);
    for (unsigned pass = 0; pass < KEYS_PASSES; pass++)
        for (size_t i = 0; i < cloud->host_count; i++) {
            struct oneib_node *node = oneib_nodes_of_host(&own->nodes, cloud->hosts[i].id);
            if (!node || passes[i] != pass)
                continue;
            own->have_unwritten_keys = pass != KEYS_STAY && oneib_now_ms() > until;
            if (own->have_unwritten_keys)
                return 0;
            if (update_host_keys(daemon, grants, &cloud->hosts[i], &snapshots->items[i], err) < 0)
                return -1;
            send_list(daemon, grants, node, list);
        }
    return 0;
}

/* ---- changes that wait for nodes ------------------------------------------------------------- */

static bool waits_for_guid(const struct oneib_grants *grants)
{
    for (size_t i = 0; i < grants->host_count; i++)
        for (size_t j = 0; j < grants->hosts[i].count; j++)
            if (!grants->hosts[i].items[j].may_set_guid)
                return true;
    return false;
}

/* Another host's subnet manager leads the fabric: the file here may be as old as a failure of this
 * host. NULL: the file is in force, or that is not known. */
static const struct oneib_subnet *led_elsewhere(const struct oneib_daemon *daemon)
{
    const struct oneib_subnet *subnet = &daemon->snapshot.subnet;
    if (!oneib_ports_are_new(daemon) || !oneib_ports_fabric(daemon) ||
        oneib_ports_sm(daemon) == ONEIB_SM_MASTER ||
        oneib_sm_traits(daemon->config.sm.kind)->is_elsewhere)
        return NULL;
    const struct oneib_subnet_port *own =
        oneib_subnet_find(subnet, oneib_fabric_port_guid(oneib_ports_fabric(daemon)));
    const struct oneib_subnet_port *leader = oneib_subnet_find(subnet, subnet->sm_port_guid);
    return own && leader && own->node_guid != leader->node_guid ? subnet : NULL;
}

static void defer_changes(struct oneib_daemon *daemon, const struct oneib_grants *grants)
{
    struct oneib_snapshot *snapshot = &daemon->snapshot;
    struct snapshots snapshots;
    oneib_auto(oneib_gate_clear) struct oneib_gate gate = {0};
    oneib_node_grants_receive(daemon);
    /* Reports that have come since the lists were made are new to the next lists. */
    const enum oneib_nodes_news news = daemon->node_grants->nodes.news;
    read_nodes(daemon, &snapshots);
    daemon->node_grants->nodes.news = news;
    const struct oneib_gate_input input = {
        .cloud = &snapshot->cloud,
        .desired = &snapshot->desired,
        .in_force = &snapshot->seen.table,
        .grants = grants,
        .nodes = snapshots.items,
        .node_count = snapshots.count,
        .ledger = &snapshot->kept.ledger,
        .led_elsewhere = led_elsewhere(daemon),
    };
    oneib_gate_compute(&input, &gate);
    free(snapshots.items);
    daemon->node_grants->withheld = gate.withheld;
    daemon->node_grants->have_deferred = gate.kept + gate.withheld > 0;
    daemon->node_grants->nodes.awaited =
        daemon->node_grants->have_deferred || waits_for_guid(grants);
    oneib_daemon_keep_wanted(daemon);
    oneib_snapshot_write_only(daemon->manager, snapshot, &gate.table);
}

/* ---- unexpected VFs -------------------------------------------------------------------------- */

static void check_unexpected_vfs(struct oneib_daemon *daemon, const struct snapshots *snapshots)
{
    struct oneib_node_grants *own = daemon->node_grants;
    struct oneib_unexpected_vfs *vfs = &own->unexpected_vfs;
    const double now = oneib_now_ms();
    const struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    oneib_unexpected_vfs_follow(vfs, cloud, snapshots->items, snapshots->count, now);
    own->reported_unexpected = oneib_unexpected_vfs_lasting(vfs, now);
    daemon->metrics.strays = own->reported_unexpected;
    oneib_unexpected_vfs_report(vfs, cloud, now, &own->findings);
}

/* ---- a turn's part --------------------------------------------------------------------------- */

static void compute_grants(struct oneib_daemon *daemon, const struct snapshots *snapshots,
                           struct oneib_grants *grants)
{
    const struct oneib_policy policy = {.site = daemon->config.site};
    const struct oneib_grants_input input = {
        .cloud = &daemon->snapshot.cloud,
        .policy = &policy,
        .desired = &daemon->snapshot.desired,
        .nodes = snapshots->items,
        .node_count = snapshots->count,
        .subnet = daemon->snapshot.subnet_known ? &daemon->snapshot.subnet : NULL,
        .in_force = &daemon->snapshot.seen.table,
    };
    oneib_grants_compute(&input, grants, &daemon->node_grants->findings);
    if (grants->twice_count > 0) /* it may have left the fabric since that was read */
        oneib_poll_schedule_verify_in(&daemon->schedule, oneib_now_ms(), LATER_MS);
}

int oneib_node_grants_update(struct oneib_daemon *daemon, struct oneib_error *err)
{
    struct oneib_node_grants *own = daemon->node_grants;
    oneib_auto(oneib_grants_clear) struct oneib_grants grants = {0};
    struct snapshots snapshots;
    struct oneib_error failure;
    oneib_findings_clear(&own->findings);
    update_identities(daemon);
    oneib_node_grants_send_role(daemon);
    await_first_reports(daemon);
    own->updated_ms = oneib_now_ms();
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_NODE_REPORTS, own->file_not_before);
    oneib_host_updates_forget(daemon->host_updates);
    check_nodes(daemon);
    if (oneib_host_ports_pin(daemon, &failure) < 0) /* tried again in the next turn */
        oneib_daemon_complain(daemon, &failure);
    read_nodes(daemon, &snapshots);
    check_unexpected_vfs(daemon, &snapshots);
    compute_grants(daemon, &snapshots, &grants);
    const int status = update_keys(daemon, &grants, &snapshots, err);
    if (status == 0)
        note_unsigned(daemon);
    free(snapshots.items);
    /* Also where oned could not be written: without the keys that it lacks. */
    send_lists(daemon, &grants);
    if (status < 0)
        return -1;
    defer_changes(daemon, &grants);
    oneib_snapshot_age_listed(oneib_oned_snapshot_age(daemon->oned));
    oneib_node_grants_send_role(daemon);
    return 0;
}

/* ---- the reports' file ----------------------------------------------------------------------- */

void oneib_node_grants_write_reports(struct oneib_daemon *daemon)
{
    struct oneib_node_grants *grants = daemon->node_grants;
    struct oneib_error failure;
    const double now = oneib_now_ms();
    if (!oneib_timer_is_due(&daemon->timers, ONEIB_TIMER_NODE_REPORTS, now))
        return;
    struct oneib_node_snapshot *reports = oneib_nodes_list_reports(&grants->nodes, now);
    if (oneib_heard_write(oneib_config_state(&daemon->config), reports, grants->nodes.count,
                          &grants->findings, &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
    free(reports);
    const double pause = (oneib_now_ms() - now) * REPORTS_FILE_SHARE;
    grants->file_not_before = now + (pause > REPORTS_FILE_MS ? pause : REPORTS_FILE_MS);
    oneib_timer_cancel(&daemon->timers, ONEIB_TIMER_NODE_REPORTS);
}
