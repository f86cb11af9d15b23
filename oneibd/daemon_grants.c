// SPDX-License-Identifier: Apache-2.0
/* What nodes are told that they may open, and what may be put into force meanwhile:
 * docs/design/grants.md. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/fence.h"
#include "cluster/names.h"
#include "oneibd/daemon.h"
#include "oneibd/signals.h"
#include "opennebula/documents.h"
#include "sm/kind.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* At the start: how long nodes have time to say which lists they follow and what they have. */
#define FIRST_REPORTS_MS 2000.0
/* News for which nobody waits. */
/* How long IB_KEYS are written in one turn. */
#define KEYS_SLICE_MS 1000.0
#define LATER_MS 1000.0
/* How often serials of IB_KEYS are written into the ledger. */
#define SERIALS_MS 5000.0
/* Since when a host is one that is cut off: a finding, and not for the scheduler. */
#define CUT_OFF_MS 60000.0

/* ---- hearing --------------------------------------------------------------------------------- */

static void hear_item(struct oneib_daemon *daemon, struct oneib_node *node,
                      const struct oneib_node_server_item *item)
{
    const double now = oneib_now_ms();
    if (!item->report && oneib_node_may_want(node, now))
        oneib_oned_queue_vm(daemon, item->want.vm_id);
    else if (item->report)
        oneib_nodes_hear(&daemon->nodes, node, item->report, now);
}

bool oneib_daemon_hear(struct oneib_daemon *daemon)
{
    struct oneib_node_server_item item;
    while (oneib_node_server_take(daemon->post, &item)) {
        struct oneib_node *node = oneib_nodes_of_key(&daemon->nodes, item.key);
        if (node)
            hear_item(daemon, node, &item);
        free(item.report);
    }
    return oneib_nodes_news(&daemon->nodes, oneib_now_ms()) == ONEIB_NODES_NOW;
}

/* ---- who is cut off -------------------------------------------------------------------------- */

bool oneib_daemon_is_cut_off(const struct oneib_daemon *daemon, uint32_t host_id)
{
    const struct oneib_node *node = oneib_nodes_of_host(&daemon->nodes, host_id);
    return node && oneib_node_unheard_ms(node, oneib_now_ms()) >= CUT_OFF_MS;
}

static size_t count_cut_off(const struct oneib_daemon *daemon)
{
    size_t count = 0;
    for (size_t i = 0; i < daemon->nodes.count; i++)
        count += oneib_daemon_is_cut_off(daemon, daemon->nodes.items[i].identity.host_id);
    return count;
}

static void note_doubled(struct oneib_daemon *daemon, const struct oneib_node *node)
{
    if (!oneib_node_is_doubled(node, oneib_now_ms()))
        return;
    oneib_findings_note(&daemon->grant_findings, ONEIB_FINDING_NODE_KEY_TWICE,
                        "%s: two machines report with its key of oneib-node's: neither counts",
                        oneib_host_id_shown(&daemon->snapshot.cloud, node->identity.host_id).text);
}

/* By what each node has reported last. */
static uint64_t count_unseen(const struct oneib_daemon *daemon)
{
    uint64_t count = 0;
    for (size_t i = 0; i < daemon->nodes.count; i++)
        count += daemon->nodes.items[i].unseen;
    return count;
}

static void note_cut_off(struct oneib_daemon *daemon)
{
    daemon->cut_off = count_cut_off(daemon);
    daemon->metrics.nodes = daemon->nodes.count;
    daemon->metrics.nodes_cut_off = daemon->cut_off;
    daemon->metrics.virtual_ports_unread = count_unseen(daemon);
    for (size_t i = 0; i < daemon->nodes.count; i++) {
        const uint32_t host_id = daemon->nodes.items[i].identity.host_id;
        note_doubled(daemon, &daemon->nodes.items[i]);
        if (oneib_daemon_is_cut_off(daemon, host_id))
            oneib_findings_note(&daemon->grant_findings, ONEIB_FINDING_NODE_SILENT,
                                "%s: its oneib-node has not been heard for a minute",
                                oneib_host_id_shown(&daemon->snapshot.cloud, host_id).text);
    }
}

/* ---- when ------------------------------------------------------------------------------------ */

/* What came off the last port in the turn before may be given now, and nothing else says so. */
static bool waits_for_rest(const struct oneib_daemon *daemon)
{
    return daemon->config.one.writer && daemon->snapshot.desired.wishes_at_rest > 0;
}

bool oneib_daemon_grants_due(struct oneib_daemon *daemon)
{
    const double now = oneib_now_ms();
    if (!daemon->has_cloud)
        return false;
    const enum oneib_nodes_news news = oneib_nodes_news(&daemon->nodes, now);
    return news == ONEIB_NODES_NOW || daemon->keys_wait ||
           oneib_timer_is_due(&daemon->timers, ONEIB_TIMER_VIRTUAL_PORTS, now) ||
           count_cut_off(daemon) != daemon->cut_off ||
           oneib_unexpected_vfs_lasting(&daemon->strays, now) != daemon->strays_said ||
           ((news == ONEIB_NODES_LATER || waits_for_rest(daemon)) &&
            now - daemon->granted_ms >= LATER_MS);
}

double oneib_daemon_grants_wait(const struct oneib_daemon *daemon, double otherwise)
{
    const double now = oneib_now_ms();
    double wait = daemon->keys_wait ? 0 : oneib_nodes_wait(&daemon->nodes, now, otherwise);
    const bool later = oneib_nodes_news(&daemon->nodes, now) != ONEIB_NODES_NOTHING;
    if ((later || waits_for_rest(daemon)) && wait > LATER_MS)
        wait = LATER_MS;
    return wait;
}

/* ---- who is believed ------------------------------------------------------------------------- */

/* While the ledger is lost hosts are known as they were: whoever damages it pins nobody anew. */
static void remember_pins(struct oneib_daemon *daemon)
{
    const struct oneib_ledger *now = &daemon->snapshot.kept.ledger;
    struct oneib_ledger pins;
    if (daemon->snapshot.ledger_lost || oneib_ledger_equal(now, &daemon->pins))
        return;
    oneib_ledger_copy(now, &pins);
    oneib_ledger_clear(&daemon->pins);
    daemon->pins = pins;
}

static void believe(struct oneib_daemon *daemon)
{
    struct oneib_identities identities;
    remember_pins(daemon);
    oneib_identities_find(&daemon->snapshot.cloud, &daemon->pins, daemon->snapshot.ledger_lost,
                          &identities, &daemon->grant_findings);
    const bool first = !daemon->has_heard; /* then the post waits to be told, whoever it is */
    if (first || !oneib_identities_equal(&identities, &daemon->identities)) {
        oneib_nodes_believe(&daemon->nodes, &identities, oneib_now_ms());
        oneib_node_server_admit(daemon->post, &identities);
    }
    oneib_identities_clear(&daemon->identities);
    daemon->identities = identities;
}

static uint16_t lid_of_this_port(const struct oneib_daemon *daemon)
{
    if (!daemon->fabric || !daemon->snapshot.subnet_known)
        return 0;
    const struct oneib_subnet_port *port =
        oneib_subnet_find(&daemon->snapshot.subnet, oneib_fabric_port_guid(daemon->fabric));
    return port ? port->lid : 0;
}

void oneib_daemon_tell_role(struct oneib_daemon *daemon)
{
    const bool is_here =
        daemon->sm == ONEIB_SM_MASTER && !oneib_sm_traits(daemon->config.sm.kind)->is_elsewhere;
    const uint16_t lid = is_here ? lid_of_this_port(daemon) : 0;
    const struct oneib_daemon_role role = {
        .is_writer = daemon->config.one.writer,
        .has_sm = lid != 0,
        .sm_lid = lid,
    };
    if (daemon->has_cloud)
        oneib_node_server_set_role(
            daemon->post, &role,
            oneib_snapshot_age_of_lists(oneib_oned_snapshot_age(daemon->oned)));
}

/* What nodes have open is asked for before anything is decided that may take it from them. */
static void await_first_reports(struct oneib_daemon *daemon)
{
    const double end = oneib_now_ms() + FIRST_REPORTS_MS;
    while (!daemon->has_heard && oneib_nodes_unheard(&daemon->nodes) > 0 && oneib_now_ms() < end &&
           !oneib_signals_waiting()) {
        struct pollfd descriptor = {.fd = oneib_node_server_fd(daemon->post), .events = POLLIN};
        oneib_signals_poll(&descriptor, 1, end - oneib_now_ms());
        oneib_daemon_hear(daemon);
        oneib_daemon_alive(daemon);
    }
    daemon->has_heard = true;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

struct snapshots {
    struct oneib_node_snapshot *items; /* owned; by host id */
    size_t count;
};

/* A host whose service has no key that is believed: nobody knows what it has open. */
static struct oneib_node_snapshot nothing_known(uint32_t host_id)
{
    return (struct oneib_node_snapshot){.host_id = host_id, .state = ONEIB_NODE_UNHEARD};
}

static void look_at_nodes(struct oneib_daemon *daemon, struct snapshots *snapshots)
{
    const struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    const struct oneib_node_snapshot *known;
    size_t next = 0;
    oneib_nodes_read(&daemon->nodes, oneib_now_ms(), &known);
    *snapshots =
        (struct snapshots){.items = oneib_alloc(cloud->host_count + 1, sizeof *snapshots->items)};
    for (size_t i = 0; i < cloud->host_count; i++) {
        const bool is_known =
            next < daemon->nodes.count && known[next].host_id == cloud->hosts[i].id;
        snapshots->items[snapshots->count] =
            is_known ? known[next] : nothing_known(cloud->hosts[i].id);
        /* Its reports do not count: nothing on the host reaches the fabric. */
        if (oneib_fence_holds(&daemon->snapshot.kept.ledger, cloud->hosts[i].id))
            snapshots->items[snapshots->count] = oneib_node_of_fenced_host(cloud->hosts[i].id);
        snapshots->count++;
        next += is_known;
    }
}

/* ---- keys that a host may hold --------------------------------------------------------------- */

static bool has_key(const struct oneib_host *host, oneib_pkey pkey)
{
    for (size_t i = 0; i < host->key_count; i++)
        if (host->keys[i] == pkey)
            return true;
    return false;
}

/* own: room for this daemon's keys. A ledger that is lost forgets no host. */
static struct oneib_host_keys_trust trust_now(const struct oneib_daemon *daemon,
                                              struct oneib_ledger_daemon *own)
{
    const struct oneib_kept_ledger *kept = &daemon->snapshot.kept;
    oneib_node_server_keys(daemon->post, own);
    return (struct oneib_host_keys_trust){
        .ledger = kept->state == ONEIB_LEDGER_READ ? &kept->ledger : NULL,
        .sign = own->sign,
        .is_writer = daemon->config.one.writer,
    };
}

void oneib_daemon_settle_keys(struct oneib_daemon *daemon)
{
    struct oneib_ledger_daemon own;
    const struct oneib_host_keys_trust trust = trust_now(daemon, &own);
    oneib_host_keys_settle_all(&daemon->host_keys, &trust, &daemon->snapshot.cloud);
}

static void note_keys_full(struct oneib_daemon *daemon, const struct oneib_host *host, size_t count)
{
    oneib_findings_note(&daemon->grant_findings, ONEIB_FINDING_HOST_KEYS_FULL,
                        "%s may hold %zu P_Keys, and IB_KEYS has room for %d: no other one is "
                        "granted there until its oneib-node has given some back",
                        oneib_host_called(host->id, host->name).text, count, ONEIB_HOST_KEYS_MAX);
}

/* A key that IB_KEYS does not name may be given to others: so it is not shortened, but stays. */
static int write_keys(struct oneib_daemon *daemon, struct oneib_host *host, const oneib_pkey *keys,
                      size_t count, struct oneib_error *err)
{
    if (count > ONEIB_HOST_KEYS_MAX) {
        note_keys_full(daemon, host, count);
        return 0;
    }
    struct oneib_error failure;
    struct oneib_ledger_daemon own;
    const struct oneib_host_keys_trust trust = trust_now(daemon, &own);
    char seal[ONEIB_KEYS_SEAL_TEXT_SIZE];
    oneib_node_server_seal_keys(
        daemon->post, host->id,
        oneib_host_keys_next_serial(&daemon->host_keys, trust.ledger, host->id), keys, count, seal);
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
    oneib_host_keys_wrote(&daemon->host_keys, &trust, host);
    return 0;
}

/* What was written before can be written again by any sender of a monitoring message, and a daemon
 * that starts knows only the ledger. No host or VM waits for this. */
void oneib_daemon_note_key_serials(struct oneib_daemon *daemon)
{
    oneib_autoledger struct oneib_ledger next = {0};
    struct oneib_error failure;
    const double now = oneib_now_ms();
    bool written;
    if (!daemon->config.one.writer || daemon->snapshot.ledger_lost ||
        !oneib_timer_is_due(&daemon->timers, ONEIB_TIMER_KEY_SERIALS, now))
        return;
    oneib_ledger_copy(&daemon->snapshot.kept.ledger, &next);
    if (!oneib_host_keys_note_serials(&daemon->host_keys, &next))
        return;
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_KEY_SERIALS, now + SERIALS_MS);
    if (oneib_daemon_write_ledger(daemon, &next, &written, &failure) < 0)
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

/* What the writer has written meanwhile. */
static int read_keys_again(struct oneib_daemon *daemon, struct oneib_host *host,
                           struct oneib_error *err)
{
    oneib_autofree char *xml = NULL;
    struct oneib_ledger_daemon own;
    const struct oneib_host_keys_trust trust = trust_now(daemon, &own);
    size_t length;
    oneib_signals_allow();
    int status = oneib_one_host(daemon->one, host->id, &xml, &length, err);
    oneib_signals_block();
    if (status == 0)
        status = parse_host(daemon, xml, length, host, err);
    if (status == 0)
        oneib_host_keys_settle(&daemon->host_keys, &trust, host);
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

/* Of what is written and not wanted what may be another daemon's. */
static void keep_others(const struct oneib_daemon *daemon, struct oneib_node *node,
                        const struct oneib_host *host, oneib_pkey *keys, size_t *count)
{
    if (daemon->config.one.writer) {
        oneib_pkey_last_uses_keep(&node->pkey_last_uses, host->keys, host->key_count,
                                  oneib_now_ms(), keys, count);
        return;
    }
    *count = keep_keys(host, keys, *count);
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
        keep_others(daemon, node, host, keys, &count);
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

static int tell_keys_of_host(struct oneib_daemon *daemon, const struct oneib_grants *grants,
                             struct oneib_host *host, const struct oneib_node_snapshot *snapshot,
                             struct oneib_error *err)
{
    oneib_pkey keys[ONEIB_PKEY_COUNT];
    struct oneib_node *node = oneib_nodes_of_host(&daemon->nodes, host->id);
    if (!node || oneib_host_updates_are_paused(daemon->host_updates, host->id) ||
        (host->keys_invalid && !oneib_node_has_told(snapshot)))
        return 0; /* while nobody knows what it may hold, nothing may look as if somebody did */
    const struct oneib_held_keys before = {
        .known = !host->keys_invalid, .keys = host->keys, .count = host->key_count};
    const size_t count =
        oneib_keys_of_node(snapshot, oneib_grants_of_host(grants, host->id), &before, keys);
    if (!daemon->config.one.writer || !node->believes)
        return write_beside_another(daemon, node, host, keys, count, err);
    oneib_pkey_last_uses_clear(&node->pkey_last_uses);
    return has_keys(host, keys, count) ? 0 : write_keys(daemon, host, keys, count, err);
}

/* Nodes believe the daemon beside the master SM: where that is not the writer, which may be dead,
 * it adds what it is about to grant. */
static bool tells_keys(const struct oneib_daemon *daemon)
{
    return daemon->config.one.writer || daemon->sm == ONEIB_SM_MASTER;
}

/* Somebody has written it while no daemon was there that remembers what it was. */
static void note_unsigned(struct oneib_daemon *daemon)
{
    const struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    for (size_t i = 0; i < cloud->host_count; i++)
        if (cloud->hosts[i].keys_invalid && cloud->hosts[i].keys_written)
            oneib_findings_note(
                &daemon->grant_findings, ONEIB_FINDING_HOST_KEYS_INVALID,
                "%s: IB_KEYS is not what an oneibd of the ledger has written, so the P_Keys that "
                "it may hold are unknown: no quarantined P_Key is released",
                oneib_host_called(cloud->hosts[i].id, cloud->hosts[i].name).text);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Each time that somebody asks to lift a fence is another question. */
static uint64_t question_of(const struct oneib_ledger_fence *fence)
{
    return fence && fence->wish == ONEIB_FENCE_LIFT ? (uint64_t)fence->since << 32 | fence->asked
                                                    : 0;
}

bool oneib_daemon_has_nothing(const struct oneib_daemon *daemon,
                              const struct oneib_ledger_fence *fence)
{
    const struct oneib_node *node = oneib_nodes_of_host(&daemon->nodes, fence->host_id);
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
    if (!oneib_node_may_be_told(node, daemon->snapshot.desired.held_count))
        return;
    oneib_node_question(node,
                        question_of(oneib_ledger_fence(&daemon->snapshot.kept.ledger, host_id)));
    list->count = 0;
    for (size_t i = 0; granted && host && i < granted->count; i++)
        if (has_key(host, granted->items[i].pkey) && list->count < ONEIB_GRANTS_MAX)
            list->items[list->count++] = granted->items[i];
    oneib_nodes_list(&daemon->nodes, node, list->items, list->count, oneib_now_ms(), &changed);
    if (changed)
        oneib_node_server_send(daemon->post, node->identity.key, node->serial, node->sent);
}

static void send_lists(struct oneib_daemon *daemon, const struct oneib_grants *grants)
{
    struct oneib_grant_list *list = oneib_alloc(1, sizeof *list);
    for (size_t i = 0; i < daemon->nodes.count; i++)
        send_list(daemon, grants, &daemon->nodes.items[i], list);
    free(list);
}

/* The passes in which hosts come: what waits for nothing first, what gives keys back last. */
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

/* What a host is about to be sent, oned has to know first: a daemon that starts after this one
 * does not know what this one has sent. Each host is sent its list as soon as oned knows, and
 * not before: what it may hold is computed from the list of before. What is left when the time
 * is over is the next turn's: nodes and partitions do not wait for it. */
static int tell_keys(struct oneib_daemon *daemon, const struct oneib_grants *grants,
                     const struct snapshots *snapshots, struct oneib_error *err)
{
    const double until = oneib_now_ms() + KEYS_SLICE_MS;
    struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    oneib_autofree struct oneib_grant_list *list = oneib_alloc(1, sizeof *list);
    oneib_autofree uint8_t *passes = oneib_alloc(cloud->host_count + 1, sizeof *passes);
    daemon->keys_wait = false;
    for (size_t i = 0; i < cloud->host_count; i++)
        passes[i] = (uint8_t)pass_of(daemon, grants, &cloud->hosts[i], &snapshots->items[i]);
    for (unsigned pass = 0; tells_keys(daemon) && pass < KEYS_PASSES; pass++)
        for (size_t i = 0; i < cloud->host_count; i++) {
            struct oneib_node *node = oneib_nodes_of_host(&daemon->nodes, cloud->hosts[i].id);
            if (!node || passes[i] != pass)
                continue;
            daemon->keys_wait = pass != KEYS_STAY && oneib_now_ms() > until;
            if (daemon->keys_wait)
                return 0;
            if (tell_keys_of_host(daemon, grants, &cloud->hosts[i], &snapshots->items[i], err) < 0)
                return -1;
            send_list(daemon, grants, node, list);
        }
    return 0;
}

/* ---- the gate -------------------------------------------------------------------------------- */

static bool waits_for_guid(const struct oneib_grants *grants)
{
    for (size_t i = 0; i < grants->host_count; i++)
        for (size_t j = 0; j < grants->hosts[i].count; j++)
            if (!grants->hosts[i].items[j].may_set_guid)
                return true;
    return false;
}

/* Another host's subnet manager leads the fabric: the file here may be as old as a failure of this
 * host. NULL: it is what is in force, or nobody knows what is now. */
static const struct oneib_subnet *led_elsewhere(const struct oneib_daemon *daemon)
{
    const struct oneib_subnet *subnet = &daemon->snapshot.subnet;
    if (!daemon->ports_are_new || !daemon->fabric || daemon->sm == ONEIB_SM_MASTER ||
        oneib_sm_traits(daemon->config.sm.kind)->is_elsewhere)
        return NULL;
    const struct oneib_subnet_port *own =
        oneib_subnet_find(subnet, oneib_fabric_port_guid(daemon->fabric));
    const struct oneib_subnet_port *leader = oneib_subnet_find(subnet, subnet->sm_port_guid);
    return own && leader && own->node_guid != leader->node_guid ? subnet : NULL;
}

static void gate(struct oneib_daemon *daemon, const struct oneib_grants *grants)
{
    struct oneib_snapshot *snapshot = &daemon->snapshot;
    struct snapshots snapshots;
    oneib_auto(oneib_gate_clear) struct oneib_gate gate = {0};
    oneib_daemon_hear(daemon);
    /* What has come since the lists were made is new to them still. */
    const enum oneib_nodes_news news = daemon->nodes.news;
    look_at_nodes(daemon, &snapshots);
    daemon->nodes.news = news;
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
    daemon->gated = gate.kept + gate.withheld > 0;
    daemon->nodes.awaited = daemon->gated || waits_for_guid(grants);
    oneib_daemon_keep_wanted(daemon);
    oneib_snapshot_write_only(daemon->manager, snapshot, &gate.table);
}

/* ---- what nodes have that they should not ---------------------------------------------------- */

static void note_strays(struct oneib_daemon *daemon, const struct snapshots *snapshots)
{
    const double now = oneib_now_ms();
    const struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    oneib_unexpected_vfs_follow(&daemon->strays, cloud, snapshots->items, snapshots->count, now);
    daemon->strays_said = oneib_unexpected_vfs_lasting(&daemon->strays, now);
    daemon->metrics.strays = daemon->strays_said;
    oneib_unexpected_vfs_report(&daemon->strays, cloud, now, &daemon->grant_findings);
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
    oneib_grants_compute(&input, grants, &daemon->grant_findings);
    if (grants->twice_count > 0) /* what the fabric has may be gone since it was read */
        oneib_poll_schedule_verify_in(&daemon->schedule, oneib_now_ms(), LATER_MS);
}

static int grant_and_gate(struct oneib_daemon *daemon, struct oneib_grants *grants,
                          struct oneib_error *err)
{
    struct snapshots snapshots;
    look_at_nodes(daemon, &snapshots);
    note_strays(daemon, &snapshots);
    compute_grants(daemon, &snapshots, grants);
    const int status = tell_keys(daemon, grants, &snapshots, err);
    if (status == 0)
        note_unsigned(daemon);
    free(snapshots.items);
    send_lists(daemon,
               grants); /* also what oned could not be told: without the keys that it lacks */
    if (status < 0)
        return -1;
    gate(daemon, grants);
    return 0;
}

/* What cannot be written down now is at the next turn. */
static void pin_ports(struct oneib_daemon *daemon)
{
    struct oneib_error failure;
    if (oneib_host_ports_pin(daemon, &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
}

int oneib_daemon_grant(struct oneib_daemon *daemon, struct oneib_error *err)
{
    oneib_auto(oneib_grants_clear) struct oneib_grants grants = {0};
    oneib_findings_clear(&daemon->grant_findings);
    believe(daemon);
    oneib_daemon_tell_role(daemon);
    await_first_reports(daemon);
    daemon->granted_ms = oneib_now_ms();
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_NODE_REPORTS, daemon->reports_not_before);
    oneib_host_updates_forget(daemon->host_updates);
    note_cut_off(daemon);
    pin_ports(daemon);
    const int status = grant_and_gate(daemon, &grants, err);
    if (status < 0)
        return -1;
    oneib_snapshot_age_listed(oneib_oned_snapshot_age(daemon->oned));
    oneib_daemon_tell_role(daemon);
    return 0;
}
