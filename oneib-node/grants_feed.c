// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/grants_feed.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/order.h"
#include "hca/place.h"
#include "oneib-node/child.h"
#include "oneib-node/domains_feed.h"
#include "oneib-node/follow.h"
#include "oneib-node/grants_place.h"
#include "oneib-node/oneib-grants/relay_message.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "oneib-grants"
#define BUILT "oneib-node/oneib-grants/" PROGRAM
#define SILENCE_MS 15000 /* without a word: it hangs */
#define TAKEN_MAX 64     /* packets at once: others want to be heard too */
#define REPORT_PAUSE_MS 25
#define WANTS_MAX 64      /* NICs that are remembered to have been told of, */
#define WANT_PAUSE_MS 500 /* for so long; */
/* And so many are told of in that time: oneibd does not hear who says more than a hundred things a
 * second. */
#define WANTS_AT_ONCE 20

struct connection {
    bool is_up;
    char why[ONEIB_RELAY_TEXT]; /* it is not */
    double next_challenge;
    double next_report; /* at the latest */
};

struct told_want {
    struct oneib_want_message want;
    double at;
};

struct oneib_grant_feed {
    struct oneib_child child;
    bool has_pair;
    struct oneib_curve_pair pair;
    uint8_t boot[ONEIB_NONCE_SIZE];
    bool knows_daemons; /* else root may have named some, and nobody can read which */
    struct oneib_daemons daemons;
    struct connection connections[ONEIB_DAEMONS_MAX];
    struct oneib_error trouble; /* with files, or with oneib-grants until it works; code NONE: none
                                 */
    struct oneib_follow follow;
    bool has_heard_life;                  /* since they were looked for: */
    uint16_t lids[ONEIB_GRANTS_LIDS_MAX]; /* of the subnet managers of this host's ports */
    size_t lid_count;
    bool was_fresh;
    bool is_report_due;
    struct oneib_hca_port ports[ONEIB_HOST_PORTS_MAX]; /* by GUID */
    size_t port_count;
    uint16_t unseen; /* oneib_vfs_unseen() */
    double reported; /* oneib_now_ms() of the last one */
    struct told_want wants[WANTS_MAX];
    size_t next_want;
    double wants_since;
    unsigned wants_told;
    /* Large ones, so that none is on a stack. */
    struct oneib_grants_message message, report; /* `report`: what was reported last */
    struct oneib_relay_packet packet;
    uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];
};

/* ---- saying ---------------------------------------------------------------------------------- */

static void note_trouble(struct oneib_grant_feed *feed, const struct oneib_error *trouble)
{
    if (strcmp(feed->trouble.text, trouble->text) != 0)
        oneib_log(ONEIB_LOG_WARNING, "%s", trouble->text);
    feed->trouble = *trouble;
}

/* False: it was not taken. Where oneib-grants has ended, that is heard. */
static bool say(struct oneib_grant_feed *feed, size_t daemon,
                const struct oneib_grants_message *message)
{
    struct oneib_error unsent;
    bool sent = false;
    const size_t length = oneib_grants_pack(message, feed->bytes);
    oneib_relay_send_frame(feed->child.socket, ONEIB_RELAY_SEND, daemon, feed->bytes, length, &sent,
                           &unsent);
    return sent;
}

static void challenge(struct oneib_grant_feed *feed, size_t daemon)
{
    struct oneib_grants_message *message = &feed->message;
    message->kind = ONEIB_GRANTS_CHALLENGE;
    oneib_random(message->challenge.nonce, sizeof message->challenge.nonce);
    oneib_follow_challenge(&feed->follow, daemon, message->challenge.nonce, oneib_now_ms());
    say(feed, daemon, message);
    feed->connections[daemon].next_challenge = oneib_now_ms() + ONEIB_CHALLENGE_MS;
}

static void challenge_who_is_due(struct oneib_grant_feed *feed)
{
    for (size_t i = 0; i < feed->daemons.count; i++)
        if (feed->connections[i].is_up && oneib_now_ms() >= feed->connections[i].next_challenge)
            challenge(feed, i);
}

/* ---- reports --------------------------------------------------------------------------------- */

/* What is beyond is not reported. */
static size_t reported_of(const struct oneib_vf_table *table)
{
    return table->count < ONEIB_GRANTS_MAX ? table->count : ONEIB_GRANTS_MAX;
}

static bool has_table_changed(const struct oneib_grant_feed *feed,
                              const struct oneib_vf_table *table, bool table_known)
{
    const struct oneib_report_message *last = &feed->report.report;
    const size_t count = reported_of(table);
    if (last->complete != (table_known && count == table->count) || last->count != count)
        return true;
    for (size_t i = 0; i < count; i++)
        if (!oneib_vf_record_is_same(&last->records[i], &table->items[i]))
            return true;
    return false;
}

static void take_table(struct oneib_report_message *report, const struct oneib_vf_table *table,
                       bool table_known)
{
    report->count = reported_of(table);
    report->complete = table_known && report->count == table->count;
    for (size_t i = 0; i < report->count; i++)
        report->records[i] = table->items[i];
}

ONEIB_ORDER_BY(compare_guids, struct oneib_hca_port, port_guid);

static struct oneib_hca_port port_of(const struct oneib_hca *hca, const struct oneib_port *port)
{
    struct oneib_hca_port reported = {.port = port->number,
                                      .driver = hca->driver,
                                      .port_guid = port->guid,
                                      .vfs_total = hca->vfs_enabled};
    memcpy(reported.device, hca->name, sizeof reported.device);
    return reported;
}

static size_t list_ports(const struct oneib_hcas *hcas,
                         struct oneib_hca_port ports[ONEIB_HOST_PORTS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < hcas->count; i++)
        for (size_t j = 0; j < hcas->items[i].port_count; j++) {
            const struct oneib_port *port = &hcas->items[i].ports[j];
            bool known = port->link_layer != ONEIB_LINK_INFINIBAND || port->guid == 0;
            for (size_t k = 0; k < count; k++)
                known |= ports[k].port_guid == port->guid;
            if (!known && count < ONEIB_HOST_PORTS_MAX)
                ports[count++] = port_of(&hcas->items[i], port);
        }
    ONEIB_SORT(ports, count, compare_guids);
    return count;
}

void oneib_grant_feed_set_ports(struct oneib_grant_feed *feed, const struct oneib_hcas *hcas)
{
    struct oneib_hca_port ports[ONEIB_HOST_PORTS_MAX];
    const size_t count = list_ports(hcas, ports);
    if (ONEIB_ALIKE(ports, count, feed->ports, feed->port_count, oneib_hca_port_compare))
        return;
    memcpy(feed->ports, ports, count * sizeof *ports);
    feed->port_count = count;
    feed->is_report_due = true;
}

void oneib_grant_feed_set_unseen(struct oneib_grant_feed *feed, size_t unseen)
{
    const uint16_t told = unseen < UINT16_MAX ? (uint16_t)unseen : UINT16_MAX;
    feed->is_report_due = feed->is_report_due || told != feed->unseen;
    feed->unseen = told;
}

static void report_to(struct oneib_grant_feed *feed, size_t daemon)
{
    struct oneib_report_message *report = &feed->report.report;
    feed->report.kind = ONEIB_GRANTS_REPORT;
    report->follows = oneib_follow_name(&feed->follow, daemon);
    report->believes = feed->follow.believes && feed->follow.believed == daemon;
    memcpy(report->boot, feed->boot, sizeof report->boot);
    memcpy(report->ports, feed->ports, feed->port_count * sizeof *report->ports);
    report->port_count = feed->port_count;
    report->unseen = feed->unseen;
    if (say(feed, daemon, &feed->report))
        feed->connections[daemon].next_report = oneib_now_ms() + ONEIB_REPORT_MS;
    else
        feed->is_report_due = true;
}

/* What has been followed is what the engine was told of by now: this comes before anything else is
 * taken. */
static void report(struct oneib_grant_feed *feed, const struct oneib_vf_table *table,
                   bool table_known)
{
    const double now = oneib_now_ms();
    feed->is_report_due = feed->is_report_due || has_table_changed(feed, table, table_known);
    const bool to_all = feed->is_report_due && now >= feed->reported + REPORT_PAUSE_MS;
    if (to_all) {
        feed->is_report_due = false;
        feed->reported = now;
        take_table(&feed->report.report, table, table_known);
    }
    for (size_t i = 0; i < feed->daemons.count; i++)
        if (feed->connections[i].is_up && (to_all || now >= feed->connections[i].next_report))
            report_to(feed, i);
}

void oneib_grant_feed_report(struct oneib_grant_feed *feed)
{
    feed->is_report_due = true;
}

/* ---- hearing --------------------------------------------------------------------------------- */

/* Nothing that an unprivileged child says is believed without oneibd's signature. */
static void take_frame(struct oneib_grant_feed *feed, const struct oneib_relay_packet *packet)
{
    const struct oneib_ledger_daemon *daemon = &feed->daemons.items[packet->daemon];
    struct oneib_grants_message *message = &feed->message;
    struct oneib_error err = {0};
    size_t length;
    if (!oneib_unseal(daemon->sign, packet->bytes, packet->length, &length) ||
        oneib_grants_unpack(packet->bytes, length, message, &err) < 0)
        return;
    if (message->kind == ONEIB_GRANTS_LIST &&
        memcmp(message->list.node, feed->pair.public, ONEIB_PUBLIC_KEY_SIZE) == 0)
        oneib_follow_take_list(&feed->follow, packet->daemon, &message->list);
    if (message->kind == ONEIB_GRANTS_LIFE &&
        memcmp(message->life.node, feed->pair.public, ONEIB_PUBLIC_KEY_SIZE) == 0) {
        oneib_follow_take_life(&feed->follow, packet->daemon, &message->life);
        feed->has_heard_life = true;
    }
}

/* Who is connected is told at once what there is, and asked. */
static void take_connected(struct oneib_grant_feed *feed, size_t daemon)
{
    struct connection *connection = &feed->connections[daemon];
    if (!connection->is_up)
        oneib_log(ONEIB_LOG_INFO, "connected to oneibd at %s", feed->daemons.items[daemon].address);
    *connection = (struct connection){.is_up = true};
    oneib_child_is_well(&feed->child);
    feed->next_want = 0;
    memset(feed->wants, 0, sizeof feed->wants);
}

static void take_disconnected(struct oneib_grant_feed *feed,
                              const struct oneib_relay_packet *packet)
{
    struct connection *connection = &feed->connections[packet->daemon];
    if (connection->is_up || strcmp(connection->why, packet->text) != 0)
        oneib_log(ONEIB_LOG_WARNING, "not connected to oneibd at %s: %s",
                  feed->daemons.items[packet->daemon].address, packet->text);
    connection->is_up = false;
    memcpy(connection->why, packet->text, sizeof connection->why);
}

static void take_packet(struct oneib_grant_feed *feed, const struct oneib_relay_packet *packet)
{
    struct oneib_error err = {0};
    oneib_child_heard(&feed->child);
    if (packet->daemon >= feed->daemons.count)
        return;
    if (packet->kind != ONEIB_RELAY_FAILED)
        feed->trouble = (struct oneib_error){0};
    switch (packet->kind) {
    case ONEIB_RELAY_FRAME:
        take_frame(feed, packet);
        break;
    case ONEIB_RELAY_CONNECTED:
        take_connected(feed, packet->daemon);
        break;
    case ONEIB_RELAY_DISCONNECTED:
        take_disconnected(feed, packet);
        break;
    case ONEIB_RELAY_FAILED:
        oneib_fail(&err, ONEIB_ERROR_UNREACHABLE, PROGRAM " cannot work: %s", packet->text);
        note_trouble(feed, &err);
        break;
    default:
        break;
    }
}

/* Nobody is connected then. */
static void start_later(struct oneib_grant_feed *feed)
{
    oneib_child_start_later(&feed->child);
    memset(feed->connections, 0, sizeof feed->connections);
}

/* Its own word comes first. */
static void take_end(struct oneib_grant_feed *feed, struct oneib_error *err)
{
    oneib_wrap(err, PROGRAM ", which is restarted");
    if (feed->trouble.code == ONEIB_ERROR_NONE)
        note_trouble(feed, err);
    start_later(feed);
}

static void take_packets(struct oneib_grant_feed *feed)
{
    for (int taken = 0; taken < TAKEN_MAX && feed->child.socket >= 0; taken++) {
        struct oneib_error err = {0};
        const int status = oneib_relay_take_news(feed->child.socket, &feed->packet, &err);
        if (status == 0)
            return;
        if (status < 0) {
            take_end(feed, &err);
            return;
        }
        take_packet(feed, &feed->packet);
    }
}

/* ---- oneib-grants runs, or does not ---------------------------------------------------------- */

static int start_with_setup(struct oneib_grant_feed *feed, struct oneib_error *err)
{
    if (oneib_child_start(&feed->child, ONEIB_RELAY_ROOM, err) < 0)
        return -1;
    return oneib_relay_send_setup(feed->child.socket, &feed->pair, &feed->daemons, err);
}

static bool is_to_run(const struct oneib_grant_feed *feed)
{
    return feed->has_pair && feed->daemons.count > 0;
}

static void start(struct oneib_grant_feed *feed)
{
    struct oneib_error err = {0};
    if (start_with_setup(feed, &err) == 0)
        return;
    note_trouble(feed, &err);
    start_later(feed);
}

static void keep_running(struct oneib_grant_feed *feed)
{
    struct oneib_error err = {0};
    if (!is_to_run(feed) || !oneib_child_is_due(&feed->child))
        return;
    if (feed->child.socket < 0) {
        start(feed);
        return;
    }
    oneib_fail(&err, ONEIB_ERROR_TIMEOUT, PROGRAM " has sent nothing for %u s, and is restarted",
               SILENCE_MS / 1000);
    note_trouble(feed, &err);
    start_later(feed);
}

/* Told by supervisor, in the words of whoever listens. */
static void tell_failure(int socket, const struct oneib_error *why)
{
    struct oneib_error unsent;
    bool sent;
    oneib_relay_send_news(socket, ONEIB_RELAY_FAILED, 0, why->text, &sent, &unsent);
}

/* ---- the loop's ------------------------------------------------------------------------------ */

/* Whenever a daemon says anew whether it has one: the kernel asks the adapter for each. */
static void look_for_subnet_managers(struct oneib_grant_feed *feed)
{
    if (feed->has_heard_life)
        feed->lid_count = oneib_grants_read_lids(feed->lids);
    feed->has_heard_life = false;
}

int oneib_grant_feed_take(struct oneib_grant_feed *feed, const struct oneib_vf_table *table,
                          bool table_known, bool *changed, struct oneib_error *err)
{
    if (oneib_child_check_supervisor(&feed->child, err) < 0)
        return -1;
    report(feed, table, table_known);
    take_packets(feed);
    challenge_who_is_due(feed);
    keep_running(feed);
    look_for_subnet_managers(feed);
    const bool is_other =
        oneib_follow_choose(&feed->follow, feed->lids, feed->lid_count, oneib_now_ms());
    const bool is_fresh = oneib_follow_is_fresh(&feed->follow, oneib_now_ms());
    *changed = is_other || is_fresh != feed->was_fresh;
    feed->was_fresh = is_fresh;
    return 0;
}

const struct oneib_grant_list *oneib_grant_feed_list(const struct oneib_grant_feed *feed,
                                                     bool *fresh)
{
    *fresh = oneib_follow_is_fresh(&feed->follow, oneib_now_ms());
    return feed->follow.has_list ? &feed->follow.list.grants : NULL;
}

int oneib_grant_feed_fd(const struct oneib_grant_feed *feed)
{
    return feed->child.poll_fd;
}

static double next_of_connections(const struct oneib_grant_feed *feed)
{
    double next = HUGE_VAL;
    for (size_t i = 0; i < feed->daemons.count; i++)
        if (feed->connections[i].is_up)
            next = oneib_sooner(next, oneib_sooner(feed->connections[i].next_challenge,
                                                   feed->connections[i].next_report));
    return next;
}

uint32_t oneib_grant_feed_due_ms(const struct oneib_grant_feed *feed)
{
    const double now = oneib_now_ms();
    const double stale = oneib_follow_fresh_until(&feed->follow, now);
    double next = next_of_connections(feed);
    if (is_to_run(feed))
        next = oneib_sooner(next, feed->child.due);
    if (feed->is_report_due)
        next = oneib_sooner(next, feed->reported + REPORT_PAUSE_MS);
    if (stale > 0)
        next = oneib_sooner(next, stale);
    return oneib_ms_until(next);
}

/* ---- wants ----------------------------------------------------------------------------------- */

static bool was_told(const struct oneib_grant_feed *feed, const struct oneib_want_message *want,
                     double now)
{
    for (size_t i = 0; i < WANTS_MAX; i++)
        if (now - feed->wants[i].at < WANT_PAUSE_MS && oneib_want_equal(&feed->wants[i].want, want))
            return true;
    return false;
}

static bool may_tell(struct oneib_grant_feed *feed, double now)
{
    if (now - feed->wants_since >= WANT_PAUSE_MS) {
        feed->wants_since = now;
        feed->wants_told = 0;
    }
    return feed->wants_told++ < WANTS_AT_ONCE;
}

void oneib_grant_feed_want(struct oneib_grant_feed *feed, const struct oneib_want_message *want)
{
    const double now = oneib_now_ms();
    const struct oneib_follow *follow = &feed->follow;
    bool was_said = false;
    if (was_told(feed, want, now) || !may_tell(feed, now))
        return;
    feed->message.kind = ONEIB_GRANTS_WANT;
    feed->message.want = *want;
    for (size_t i = 0; i < feed->daemons.count; i++)
        if (feed->connections[i].is_up && (!follow->believes || follow->believed == i))
            was_said |= say(feed, i, &feed->message);
    if (was_said)
        feed->wants[feed->next_want++ % WANTS_MAX] = (struct told_want){*want, now};
}

/* ---- why not --------------------------------------------------------------------------------- */

static void tell_unconnected(const struct oneib_grant_feed *feed, size_t daemon,
                             struct oneib_error *why)
{
    const char *reason = feed->connections[daemon].why;
    oneib_fail(why, ONEIB_ERROR_UNREACHABLE, "this host is not connected to oneibd at %s: %s",
               feed->daemons.items[daemon].address, *reason ? reason : "no answer yet");
}

static bool is_any_connected(const struct oneib_grant_feed *feed)
{
    for (size_t i = 0; i < feed->daemons.count; i++)
        if (feed->connections[i].is_up)
            return true;
    return false;
}

void oneib_grant_feed_why(const struct oneib_grant_feed *feed, struct oneib_error *why)
{
    const size_t believed = feed->follow.believed;
    *why = (struct oneib_error){0};
    if (oneib_follow_is_fresh(&feed->follow, oneib_now_ms()))
        return;
    if (feed->trouble.code != ONEIB_ERROR_NONE)
        *why = feed->trouble;
    else if (feed->daemons.count == 0)
        oneib_fail(why, ONEIB_ERROR_UNREACHABLE,
                   "this host knows no oneibd yet: the probe announces one after 'onehost sync', "
                   "or 'oneib hca --trust FILE' here does");
    else if (!is_any_connected(feed))
        tell_unconnected(feed, feed->follow.believes ? believed : 0, why);
    else if (!feed->follow.believes)
        oneib_fail(why, ONEIB_ERROR_UNREACHABLE,
                   "no oneibd that this host is connected to is the writer, or has the subnet "
                   "manager of this host's fabric");
    else if (!feed->connections[believed].is_up)
        tell_unconnected(feed, believed, why);
    else
        oneib_fail(why, ONEIB_ERROR_TIMEOUT,
                   "oneibd at %s has sent no grants for too long, or has none itself: see its log",
                   feed->daemons.items[believed].address);
}

/* ---- daemons --------------------------------------------------------------------------------- */

static bool are_same(const struct oneib_daemons *a, const struct oneib_daemons *b)
{
    oneib_autotext struct oneib_text first = {0}, second = {0};
    oneib_daemons_render(a, &first);
    oneib_daemons_render(b, &second);
    return first.length == second.length &&
           (first.length == 0 || memcmp(first.data, second.data, first.length) == 0);
}

/* Some of `known` and no other: whoever says so narrows what is believed, and lets nothing in. */
static bool only_removes(const struct oneib_daemons *known, const struct oneib_daemons *announced)
{
    for (size_t i = 0; i < announced->count; i++)
        if (!oneib_daemons_have(known, &announced->items[i]))
            return false;
    return announced->count > 0;
}

static void log_change(const struct oneib_daemons *before, const struct oneib_daemons *after)
{
    for (size_t i = 0; i < before->count; i++)
        if (!oneib_daemons_have(after, &before->items[i]))
            oneib_log(ONEIB_LOG_INFO, "no longer trusts oneibd at %s", before->items[i].address);
    for (size_t i = 0; i < after->count; i++)
        if (!oneib_daemons_have(before, &after->items[i]))
            oneib_log(ONEIB_LOG_INFO, "trusts oneibd at %s from now on", after->items[i].address);
}

static int check_daemons(struct oneib_daemons *daemons, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_daemons_render(daemons, &text);
    return oneib_daemons_parse(text.data, text.length, "what is announced", daemons, err);
}

int oneib_grant_feed_announce(struct oneib_grant_feed *feed, const struct oneib_daemons *announced,
                              bool by_root, struct oneib_error *err)
{
    struct oneib_daemons daemons = *announced;
    if (check_daemons(&daemons, err) < 0)
        return -1;
    if (are_same(&daemons, &feed->daemons))
        return 0;
    if ((!feed->knows_daemons || feed->daemons.count > 0) && !by_root &&
        !only_removes(&feed->daemons, &daemons))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "this host trusts another oneibd already (%s): 'oneib hca --trust FILE' "
                          "here, by root, changes that",
                          feed->knows_daemons ? feed->daemons.items[0].address
                                              : ONEIB_DAEMONS_FILE " cannot be read");
    if (oneib_grants_write_daemons(&daemons, err) < 0)
        return -1;
    log_change(&feed->daemons, &daemons);
    feed->daemons = daemons;
    feed->knows_daemons = true;
    if (feed->has_pair)
        feed->trouble = (struct oneib_error){0};
    oneib_follow_begin(&feed->follow, daemons.count);
    start_later(feed);
    feed->child.due = 0;
    return 0;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* Without a key, or with a file that cannot be read, nothing is opened, and what is open is still
 * watched. */
static void read_files(struct oneib_grant_feed *feed)
{
    struct oneib_error err = {0};
    feed->knows_daemons = oneib_grants_read_daemons(&feed->daemons, &err) == 0;
    if (!feed->knows_daemons)
        note_trouble(feed, &err);
    feed->has_pair = oneib_grants_read_pair(&feed->pair, &err) == 0;
    if (!feed->has_pair)
        note_trouble(feed, &err);
    oneib_grants_read_boot(feed->boot);
    oneib_follow_begin(&feed->follow, feed->daemons.count);
}

static int begin(struct oneib_grant_feed *feed, const struct oneib_grant_feed_options *options,
                 struct oneib_error *err)
{
    char program[PATH_MAX];
    oneib_node_program(PROGRAM, BUILT, program);
    const struct oneib_supervisor_options supervisor = {
        .name = PROGRAM,
        .program = options->program ? options->program : program,
        .user = options->user ? options->user : ONEIB_DOMAINS_USER,
        .tell_failure = tell_failure,
    };
    if (oneib_child_open(&supervisor, SILENCE_MS, &feed->child, err) < 0)
        return -1;
    read_files(feed);
    keep_running(feed);
    return 0;
}

int oneib_grant_feed_open(const struct oneib_grant_feed_options *options,
                          struct oneib_grant_feed **feed, struct oneib_error *err)
{
    *feed = oneib_alloc(1, sizeof **feed);
    (*feed)->child = ONEIB_CHILD_NONE;
    if (begin(*feed, options, err) == 0)
        return 0;
    oneib_grant_feed_close(*feed);
    *feed = NULL;
    return -1;
}

void oneib_grant_feed_close(struct oneib_grant_feed *feed)
{
    if (!feed)
        return;
    oneib_child_close(&feed->child);
    explicit_bzero(&feed->pair, sizeof feed->pair);
    free(feed);
}
