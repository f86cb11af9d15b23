// SPDX-License-Identifier: Apache-2.0
/*
 * A node's service towards oneibd. The test plays oneib-grants, and the oneibds behind it; time
 * passes when it says so.
 */
#ifndef ONEIB_UNIT_ONEIB_NODE_GRANTS_FEED_SCENE_H
#define ONEIB_UNIT_ONEIB_NODE_GRANTS_FEED_SCENE_H

#include "../hca/tree.h"
#include "base/clock.h"
#include "grants/seal.h"
#include "log_scene.h"
#include "oneib-node/grants_feed.h"
#include "oneib-node/grants_place.h"
#include "oneib-node/oneib-grants/relay_message.h"
#include "played_node.h"
#include "supervisor_standin.h"
#include <stdio.h>

#define DAEMONS 2
#define INSTANCE 7

static double now;
static struct oneib_grant_feed *feed;
static struct oneib_error err;
static struct oneib_sign_pair signs[DAEMONS];
static struct oneib_daemons daemons;
static struct oneib_curve_pair node;

static struct oneib_vf_record records[ONEIB_GRANTS_MAX + 1];
static struct oneib_vf_table table = {.items = records};
static bool table_known;

/* What has been said since hear_all() was called last, to each daemon. */
static struct {
    unsigned challenges, reports, wants;
    uint8_t nonce[ONEIB_NONCE_SIZE]; /* of the last challenge that there was */
    struct oneib_report_message report;
    struct oneib_want_message want;
} heard[DAEMONS];

static struct oneib_grants_message message;
static struct oneib_relay_packet packet;

double __wrap_oneib_now_ms(void);

double __wrap_oneib_now_ms(void)
{
    return now;
}

/* ---- the service ----------------------------------------------------------------------------- */

static inline void open_feed(void)
{
    const struct oneib_grant_feed_options options = {.program = "/no/program"};
    if (oneib_grant_feed_open(&options, &feed, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(oneib_grants_read_pair(&node, &err), 0);
}

static inline void close_feed(void)
{
    oneib_grant_feed_close(feed);
    feed = NULL;
}

static inline void reopen_feed(void)
{
    close_feed();
    open_feed();
}

static inline void make_daemons(void)
{
    daemons = (struct oneib_daemons){.count = DAEMONS};
    for (size_t i = 0; i < DAEMONS; i++) {
        struct oneib_ledger_daemon *daemon = &daemons.items[i];
        signs[i] = played_sign_pair();
        snprintf(daemon->address, sizeof daemon->address, "tcp://front%zu:7777", i + 1);
        daemon->curve[0] = (uint8_t)(i + 1);
        memcpy(daemon->sign, signs[i].public, sizeof daemon->sign);
    }
}

static inline void write_daemons(void)
{
    if (oneib_grants_write_daemons(&daemons, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void begin_without_daemons(void)
{
    tree_reset(NULL);
    tree_remove("/var");
    tree_make_directory("/run/oneib");
    tree_make_directory("/var/lib/oneib-node");
    now = 1000000;
    table.count = 0;
    table_known = true;
    supervisor_standin.starts = 0;
    supervisor_standin.refuses_orders = false;
    memset(heard, 0, sizeof heard);
    make_daemons();
}

static inline int begin(void **state)
{
    (void)state;
    begin_without_daemons();
    write_daemons();
    open_feed();
    return 0;
}

static inline int begin_alone(void **state)
{
    (void)state;
    begin_without_daemons();
    open_feed();
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    close_feed();
    return 0;
}

static inline bool turn(void)
{
    bool changed = false;
    if (oneib_grant_feed_take(feed, &table, table_known, &changed, &err) < 0)
        fail_msg("%s", err.text);
    return changed;
}

static inline bool has_list(void)
{
    bool fresh;
    return oneib_grant_feed_list(feed, &fresh) != NULL;
}

static inline bool is_fresh(void)
{
    bool fresh;
    oneib_grant_feed_list(feed, &fresh);
    return fresh;
}

static inline void assert_why(const char *words)
{
    struct oneib_error why;
    oneib_grant_feed_why(feed, &why);
    if (!strstr(why.text, words))
        fail_msg("\"%s\" is not about \"%s\"", why.text, words);
}

/* ---- oneib-grants ---------------------------------------------------------------------------- */

static inline bool hear_one(void)
{
    const int status = oneib_relay_take_order(supervisor_standin.program, &packet, &err);
    assert_true(status >= 0);
    return status > 0;
}

static inline void note_frame(size_t daemon)
{
    if (oneib_grants_unpack(packet.bytes, packet.length, &message, &err) < 0)
        fail_msg("%s", err.text);
    switch (message.kind) {
    case ONEIB_GRANTS_CHALLENGE:
        heard[daemon].challenges++;
        memcpy(heard[daemon].nonce, message.challenge.nonce, ONEIB_NONCE_SIZE);
        break;
    case ONEIB_GRANTS_REPORT:
        heard[daemon].reports++;
        heard[daemon].report = message.report;
        break;
    case ONEIB_GRANTS_WANT:
        heard[daemon].wants++;
        heard[daemon].want = message.want;
        break;
    default:
        fail_msg("a node said %d", message.kind);
    }
}

static inline void hear_all(void)
{
    for (size_t i = 0; i < DAEMONS; i++)
        heard[i].challenges = heard[i].reports = heard[i].wants = 0;
    while (hear_one())
        if (packet.kind == ONEIB_RELAY_SEND)
            note_frame(packet.daemon);
}

static inline void turn_and_hear(void)
{
    turn();
    hear_all();
}

static inline void say_news(enum oneib_relay_kind kind, size_t daemon, const char *text)
{
    bool sent = false;
    oneib_relay_send_news(supervisor_standin.program, kind, daemon, text, &sent, &err);
    assert_true(sent);
}

/* Its first challenge and report are heard. */
static inline void connect_daemon(size_t daemon)
{
    say_news(ONEIB_RELAY_CONNECTED, daemon, NULL);
    turn();
    turn_and_hear();
}

/* ---- oneibd ---------------------------------------------------------------------------------- */

/* Says `message`. */
static inline void say_signed(size_t daemon, const struct oneib_sign_pair *by)
{
    static uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];
    bool sent = false;
    const size_t length = oneib_seal(by, bytes, oneib_grants_pack(&message, bytes));
    oneib_relay_send_frame(supervisor_standin.program, ONEIB_RELAY_FRAME, daemon, bytes, length,
                           &sent, &err);
    assert_true(sent);
}

/* Of no grant. */
static inline void make_list(uint64_t serial)
{
    memset(&message, 0, sizeof message);
    message.kind = ONEIB_GRANTS_LIST;
    message.list.name = (struct oneib_list_name){INSTANCE, serial};
    memcpy(message.list.node, node.public, sizeof message.list.node);
}

static inline void make_life(size_t daemon, uint64_t serial)
{
    memset(&message, 0, sizeof message);
    message.kind = ONEIB_GRANTS_LIFE;
    message.life.name = (struct oneib_list_name){INSTANCE, serial};
    message.life.role.is_writer = true;
    memcpy(message.life.node, node.public, sizeof message.life.node);
    memcpy(message.life.nonce, heard[daemon].nonce, sizeof message.life.nonce);
}

static inline void say_list(size_t daemon, uint64_t serial)
{
    make_list(serial);
    say_signed(daemon, &signs[daemon]);
}

static inline void say_life(size_t daemon, uint64_t serial)
{
    make_life(daemon, serial);
    say_signed(daemon, &signs[daemon]);
}

/* Connected, believed, and its list followed. */
static inline void follow_daemon(size_t daemon)
{
    connect_daemon(daemon);
    say_list(daemon, 1);
    say_life(daemon, 1);
    assert_true(turn());
    assert_true(has_list() && is_fresh());
    hear_all();
}

#endif
