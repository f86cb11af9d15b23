// SPDX-License-Identifier: Apache-2.0
#include "oneibd/nodes.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include <stdlib.h>
#include <string.h>

#define NEVER (-1.0)

static void clear_node(struct oneib_node *node)
{
    free(node->sent);
    free(node->records);
    free(node->ports);
    oneib_sent_nics_clear(&node->sent_nics);
    oneib_pkey_last_uses_clear(&node->pkey_last_uses);
    *node = (struct oneib_node){0};
}

/* ---- which nodes there are ------------------------------------------------------------------- */

struct oneib_node *oneib_nodes_of_host(const struct oneib_nodes *nodes, uint32_t host_id)
{
    const size_t first =
        ONEIB_LOWER_BOUND(i, nodes->count, nodes->items[i].identity.host_id < host_id);
    return first < nodes->count && nodes->items[first].identity.host_id == host_id
               ? &nodes->items[first]
               : NULL;
}

struct oneib_node *oneib_nodes_of_key(const struct oneib_nodes *nodes,
                                      const uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    for (size_t i = 0; i < nodes->count; i++)
        if (memcmp(nodes->items[i].identity.key, key, ONEIB_PUBLIC_KEY_SIZE) == 0)
            return &nodes->items[i];
    return NULL;
}

/* What is known of the host by that key moves on; else it is a new one. */
static struct oneib_node take_over(struct oneib_nodes *nodes, const struct oneib_identity *identity,
                                   double now)
{
    struct oneib_node *known = oneib_nodes_of_host(nodes, identity->host_id);
    if (known && memcmp(known->identity.key, identity->key, ONEIB_PUBLIC_KEY_SIZE) == 0) {
        struct oneib_node node = *known;
        node.identity = *identity;
        known->sent = NULL;
        known->records = NULL;
        known->ports = NULL;
        known->sent_nics = (struct oneib_sent_nics){0};
        known->pkey_last_uses = (struct oneib_pkey_last_uses){0};
        return node;
    }
    nodes->news = ONEIB_NODES_NOW;
    return (struct oneib_node){.identity = *identity,
                               .begun_at = now,
                               .heard_at = NEVER,
                               .doubled_at = NEVER,
                               .ports_noted_at = NEVER,
                               .seen = ONEIB_NODE_UNHEARD};
}

void oneib_nodes_believe(struct oneib_nodes *nodes, const struct oneib_identities *identities,
                         double now)
{
    struct oneib_node *items = oneib_alloc(identities->count + 1, sizeof *items);
    for (size_t i = 0; i < identities->count; i++)
        items[i] = take_over(nodes, &identities->items[i], now);
    for (size_t i = 0; i < nodes->count; i++)
        clear_node(&nodes->items[i]);
    free(nodes->items);
    nodes->items = items;
    nodes->count = nodes->capacity = identities->count;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* With more of them than are remembered the newest one shares the place of the one before, which
 * is older: the node has to be as quick as for that one. */
static void owe(struct oneib_node *node, double now)
{
    if (node->owed_count == ONEIB_NODE_OWED)
        node->owed[ONEIB_NODE_OWED - 1].serial = node->serial;
    else
        node->owed[node->owed_count++] = (struct oneib_node_owed){node->serial, now};
}

static bool is_question_due(const struct oneib_node *node)
{
    return node->question != 0 && node->answer_from == 0;
}

void oneib_nodes_list(struct oneib_nodes *nodes, struct oneib_node *node,
                      const struct oneib_grant *grants, size_t count, double now, bool *changed)
{
    *changed =
        is_question_due(node) || !node->sent || !oneib_grant_list_is(node->sent, grants, count);
    if (!*changed)
        return;
    oneib_sent_nics_send(&node->sent_nics, grants, count);
    /* As long as its items are: thousands of nodes have few grants each. */
    struct oneib_grant_list *list =
        oneib_alloc(offsetof(struct oneib_grant_list, items) + count * sizeof *grants, 1);
    list->count = count;
    if (count > 0)
        memcpy(list->items, grants, count * sizeof *grants);
    free(node->sent);
    node->sent = list;
    node->serial = ++nodes->serial;
    if (is_question_due(node))
        node->answer_from = node->serial;
    owe(node, now);
}

bool oneib_node_may_be_sent(const struct oneib_node *node, size_t held)
{
    return held == 0 || node->sent || node->table_known;
}

/* ---- reports --------------------------------------------------------------------------------- */

static void acknowledge(struct oneib_node *node, uint64_t serial)
{
    size_t done = 0;
    while (done < node->owed_count && node->owed[done].serial <= serial)
        done++;
    node->owed_count -= done;
    memmove(node->owed, node->owed + done, node->owed_count * sizeof *node->owed);
}

static void raise_news(struct oneib_nodes *nodes, enum oneib_nodes_news news)
{
    if (nodes->news < news)
        nodes->news = news;
}

/* A node that was started anew follows nothing: the list that it was sent is owed again. */
static void follow(struct oneib_nodes *nodes, struct oneib_node *node, uint64_t serial, double now)
{
    if (serial < node->follows && node->serial > 0 && node->owed_count == 0)
        owe(node, now);
    node->follows = serial;
    const bool owed = node->owed_count > 0;
    acknowledge(node, serial);
    if (owed && node->owed_count == 0)
        raise_news(nodes, nodes->awaited ? ONEIB_NODES_NOW : ONEIB_NODES_LATER);
}

/* Lists that were sent while it believed another one are owed from now on. */
static void begin_to_believe(struct oneib_node *node, bool believes, double now)
{
    if (believes && !node->believes && node->owed_count > 0) {
        node->owed_count = 0;
        owe(node, now);
    }
    node->believes = believes;
}

static bool is_same_table(const struct oneib_node *node, const struct oneib_report_message *report)
{
    if (node->table_known != report->complete || node->record_count != report->count)
        return false;
    for (size_t i = 0; i < report->count; i++)
        if (!oneib_vf_record_is_same(&node->records[i], &report->records[i]))
            return false;
    return true;
}

static void keep_table(struct oneib_node *node, const struct oneib_report_message *report)
{
    struct oneib_vf_record *records = oneib_alloc(report->count + 1, sizeof *records);
    memcpy(records, report->records, report->count * sizeof *records);
    free(node->records);
    node->records = records;
    node->record_count = report->count;
    node->table_known = report->complete;
}

static void keep_ports(struct oneib_nodes *nodes, struct oneib_node *node,
                       const struct oneib_report_message *report)
{
    if (ONEIB_ALIKE(node->ports, node->port_count, report->ports, report->port_count,
                    oneib_hca_port_compare))
        return;
    struct oneib_hca_port *ports = oneib_alloc(report->port_count + 1, sizeof *ports);
    memcpy(ports, report->ports, report->port_count * sizeof *ports);
    free(node->ports);
    node->ports = ports;
    node->port_count = report->port_count;
    if (nodes->news == ONEIB_NODES_NOTHING)
        nodes->news = ONEIB_NODES_LATER;
}

/* A clone of the host has another adapter. A host without a port in the ledger holds nothing that others
 * wait for. */
static bool has_hosts_port(const struct oneib_identity *identity,
                           const struct oneib_report_message *report)
{
    for (size_t i = 0; i < identity->port_count; i++)
        for (size_t j = 0; j < report->port_count; j++)
            if (report->ports[j].port_guid == identity->ports[i])
                return true;
    return identity->port_count == 0;
}

/* What one of them has closed the other may have open. */
static void note_machine(struct oneib_node *node, const struct oneib_report_message *report,
                         double now)
{
    const uint8_t *boot = report->boot;
    const bool is_same = node->heard_at >= 0 && memcmp(node->boot, boot, ONEIB_NONCE_SIZE) == 0;
    if (node->heard_at >= 0 && now - node->heard_at < ONEIB_NODE_SILENT_MS && !is_same)
        node->doubled_at = now;
    node->is_known_machine = !node->identity.is_contested || (is_same && node->is_known_machine) ||
                             has_hosts_port(&node->identity, report);
    memcpy(node->boot, boot, ONEIB_NONCE_SIZE);
}

/* NICs that it was sent, and has given back. */
static void forget_sent_nics(struct oneib_node *node, double now)
{
    if (oneib_node_state(node, now) == ONEIB_NODE_FOLLOWS && node->believes && node->table_known &&
        node->sent)
        oneib_sent_nics_report(&node->sent_nics, node->sent, node->records, node->record_count);
}

void oneib_nodes_hear(struct oneib_nodes *nodes, struct oneib_node *node,
                      const struct oneib_report_message *report, double now)
{
    /* A serial that was never sent follows nothing. */
    const bool ours =
        report->follows.instance == nodes->instance && report->follows.serial <= node->serial;
    const uint64_t follows = ours ? report->follows.serial : 0;
    if (!is_same_table(node, report)) {
        keep_table(node, report);
        raise_news(nodes, nodes->awaited ? ONEIB_NODES_NOW : ONEIB_NODES_LATER);
    }
    keep_ports(nodes, node, report);
    if (!node->has_reported_all && report->complete)
        oneib_sent_nics_before(&node->sent_nics, report->records, report->count, now);
    node->has_reported_all |= report->complete;
    note_machine(node, report, now);
    follow(nodes, node, follows, now);
    begin_to_believe(node, report->believes, now);
    node->heard_at = now;
    node->unread_virtual_ports = report->unseen;
    forget_sent_nics(node, now);
}

/* ---- what follows from it -------------------------------------------------------------------- */

/* A node that believes another daemon follows that one's lists: it owes us its reports alone. */
static bool owes_a_list(const struct oneib_node *node)
{
    return node->believes && node->owed_count > 0;
}

/* When time alone makes the node silent. */
static double silent_at(const struct oneib_node *node)
{
    const double report_due = node->heard_at + ONEIB_NODE_SILENT_MS;
    if (!owes_a_list(node))
        return report_due;
    const double list_due = node->owed[0].at + ONEIB_SILENCE_MS;
    return list_due < report_due ? list_due : report_due;
}

bool oneib_node_is_in_doubt(const struct oneib_node *node)
{
    return node->identity.is_contested && node->heard_at >= 0 && !node->is_known_machine;
}

const struct oneib_hca_port *oneib_node_ports(const struct oneib_node *node, double now,
                                              size_t *count)
{
    const bool is_recent = node->heard_at >= 0 && now - node->heard_at < ONEIB_NODE_SILENT_MS;
    *count = is_recent ? node->port_count : 0;
    return node->ports;
}

static bool is_given_back(const struct oneib_vf_record *record)
{
    return record->stage == ONEIB_VF_RELEASING && record->pkey == 0 &&
           record->guid == ONEIB_VF_GUID_NONE && !record->in_domain;
}

bool oneib_node_has_nothing(const struct oneib_node *node, double now)
{
    if (!node->table_known || oneib_node_state(node, now) != ONEIB_NODE_FOLLOWS)
        return false;
    for (size_t i = 0; i < node->record_count; i++)
        if (!is_given_back(&node->records[i]))
            return false;
    return true;
}

void oneib_node_question(struct oneib_node *node, uint64_t question)
{
    if (node->question == question)
        return;
    node->question = question;
    node->answer_from = 0;
}

bool oneib_node_has_answered(const struct oneib_node *node, uint64_t question)
{
    return node->question == question && node->answer_from > 0 &&
           node->follows >= node->answer_from;
}

bool oneib_node_is_doubled(const struct oneib_node *node, double now)
{
    return node->doubled_at >= 0 && now - node->doubled_at < ONEIB_NODE_DOUBLED_MS;
}

bool oneib_node_may_want(struct oneib_node *node, double now)
{
    if (now - node->wants_since >= 1000) {
        node->wants_since = now;
        node->wants = 0;
    }
    return node->wants++ < ONEIB_NODE_WANTS_A_SECOND;
}

enum oneib_node_state oneib_node_state(const struct oneib_node *node, double now)
{
    if (node->heard_at < 0)
        return ONEIB_NODE_UNHEARD;
    if (now >= silent_at(node) || oneib_node_is_doubled(node, now))
        return ONEIB_NODE_SILENT;
    return owes_a_list(node) || oneib_node_is_in_doubt(node) ? ONEIB_NODE_AWAITED
                                                             : ONEIB_NODE_FOLLOWS;
}

double oneib_node_unheard_ms(const struct oneib_node *node, double now)
{
    return now - (node->heard_at < 0 ? node->begun_at : node->heard_at);
}

static size_t count_sent_nics(const struct oneib_nodes *nodes)
{
    size_t count = 0;
    for (size_t i = 0; i < nodes->count; i++)
        count += nodes->items[i].sent_nics.count;
    return count;
}

void oneib_nodes_read(struct oneib_nodes *nodes, double now,
                      const struct oneib_node_snapshot **snapshots)
{
    size_t nic_count = 0;
    ONEIB_RESERVE(nodes->snapshots, nodes->snapshot_capacity, nodes->count + 1);
    ONEIB_RESERVE(nodes->sent_nics, nodes->sent_nic_capacity, count_sent_nics(nodes) + 1);
    for (size_t i = 0; i < nodes->count; i++) {
        struct oneib_node *node = &nodes->items[i];
        struct oneib_nic_name *nics = nodes->sent_nics + nic_count;
        const size_t count = oneib_sent_nics_list(&node->sent_nics, now, nics);
        nic_count += count;
        node->seen = oneib_node_state(node, now);
        nodes->snapshots[i] = (struct oneib_node_snapshot){
            .host_id = node->identity.host_id,
            .state = node->seen,
            .table_known = node->table_known,
            .records = node->records,
            .record_count = node->record_count,
            .sent = node->sent,
            .told = nics,
            .told_count = count,
        };
    }
    nodes->news = ONEIB_NODES_NOTHING;
    *snapshots = nodes->snapshots;
}

struct oneib_node_snapshot *oneib_nodes_list_reports(const struct oneib_nodes *nodes, double now)
{
    struct oneib_node_snapshot *reports = oneib_alloc(nodes->count + 1, sizeof *reports);
    for (size_t i = 0; i < nodes->count; i++)
        reports[i] = (struct oneib_node_snapshot){
            .host_id = nodes->items[i].identity.host_id,
            .state = oneib_node_state(&nodes->items[i], now),
            .table_known = nodes->items[i].table_known,
            .records = nodes->items[i].records,
            .record_count = nodes->items[i].record_count,
        };
    return reports;
}

enum oneib_nodes_news oneib_nodes_news(const struct oneib_nodes *nodes, double now)
{
    enum oneib_nodes_news news = nodes->news;
    for (size_t i = 0; i < nodes->count && news < ONEIB_NODES_NOW; i++) {
        const struct oneib_node *node = &nodes->items[i];
        const enum oneib_node_state state = oneib_node_state(node, now);
        if (state == node->seen)
            continue;
        news = nodes->awaited || oneib_node_is_heard(state) != oneib_node_is_heard(node->seen)
                   ? ONEIB_NODES_NOW
                   : ONEIB_NODES_LATER;
    }
    return news;
}

double oneib_nodes_wait(const struct oneib_nodes *nodes, double now, double otherwise)
{
    double wait = otherwise;
    for (size_t i = 0; i < nodes->count; i++) {
        const struct oneib_node *node = &nodes->items[i];
        if (node->heard_at < 0 || node->seen == ONEIB_NODE_SILENT)
            continue;
        const double left = silent_at(node) - now;
        if (left < wait)
            wait = left > 0 ? left : 0;
    }
    return wait;
}

size_t oneib_nodes_unheard(const struct oneib_nodes *nodes)
{
    size_t count = 0;
    for (size_t i = 0; i < nodes->count; i++)
        count += nodes->items[i].heard_at < 0;
    return count;
}

void oneib_nodes_clear(struct oneib_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        clear_node(&nodes->items[i]);
    free(nodes->items);
    free(nodes->snapshots);
    free(nodes->sent_nics);
    *nodes = (struct oneib_nodes){.instance = nodes->instance};
}
