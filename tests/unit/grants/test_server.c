// SPDX-License-Identifier: Apache-2.0
/* oneibd's end, and nodes of all kinds that connect to it. */
#include "../../open_files.h"
#include "../../ports.h"
#include "../../skip.h"
#include "base/clock.h"
#include "grants/connections.h"
#include "grants/server.h"
#include "played_node.h"
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SOON_MS 10000 /* what is awaited comes before; a busy machine is slow */
#define TOO_LONG (2 * ONEIB_GRANTS_MESSAGE_MAX)
#define LONG_MS 300 /* what must not come has not come after that */

static struct oneib_grants_server *server;
static struct oneib_curve_pair daemon_curve;
static struct oneib_sign_pair daemon_sign;
static struct played_node nodes[3];
static struct oneib_curve_pair pairs[3];
static char address[64];
static struct oneib_grants_message message; /* large */
static struct oneib_error err;

/* ---- the scene ------------------------------------------------------------------------------- */

static void open_server(void)
{
    const struct oneib_grants_server_options options = {
        .listen = address, .curve = &daemon_curve, .sign = &daemon_sign};
    if (oneib_grants_server_open(&options, &server, &err) < 0)
        fail_msg("%s", err.text);
}

static void admit(size_t count)
{
    uint8_t keys[3][ONEIB_PUBLIC_KEY_SIZE];
    for (size_t i = 0; i < count; i++)
        memcpy(keys[i], pairs[i].public, sizeof keys[i]);
    oneib_grants_server_admit(server, (const uint8_t(*)[32])keys, count);
}

static int set_up(void **state)
{
    (void)state;
    daemon_curve = played_curve_pair();
    daemon_sign = played_sign_pair();
    for (size_t i = 0; i < 3; i++)
        pairs[i] = played_curve_pair();
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", free_port());
    open_server();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        played_node_close(&nodes[i]);
    oneib_grants_server_close(server);
    server = NULL;
    return 0;
}

static void connect_node(size_t which)
{
    played_node_connect(&nodes[which], address, &pairs[which], daemon_curve.public);
}

static struct oneib_grants_message challenge(uint8_t number)
{
    struct oneib_grants_message said = {.kind = ONEIB_GRANTS_CHALLENGE};
    memset(said.challenge.nonce, number, sizeof said.challenge.nonce);
    return said;
}

static void say_challenge(size_t which, uint8_t number)
{
    static struct oneib_grants_message said;
    said = challenge(number);
    assert_true(played_node_say(&nodes[which], &said));
}

/* Polls as the daemon does: nothing is looked at before the descriptor says so. */
static bool wait_for_message(uint8_t key[ONEIB_PUBLIC_KEY_SIZE],
                             const struct oneib_grants_message **heard, double timeout_ms)
{
    const double end = oneib_now_ms() + timeout_ms;
    for (double left = timeout_ms; left > 0; left = end - oneib_now_ms()) {
        struct pollfd file = {.fd = oneib_grants_server_fd(server), .events = POLLIN};
        poll(&file, 1, (int)left);
        const int status = file.revents ? oneib_grants_server_next(server, key, heard, &err) : 0;
        assert_true(status >= 0);
        if (status == 1)
            return true;
    }
    return false;
}

static void expect_challenge(size_t which, uint8_t number)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *heard;
    assert_true(wait_for_message(key, &heard, SOON_MS));
    assert_memory_equal(key, pairs[which].public, sizeof key);
    assert_int_equal(heard->kind, ONEIB_GRANTS_CHALLENGE);
    assert_int_equal(heard->challenge.nonce[0], number);
}

static void expect_nothing(void)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *heard;
    assert_false(wait_for_message(key, &heard, LONG_MS));
}

static void expect_nothing_waits(void)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *heard;
    assert_int_equal(oneib_grants_server_next(server, key, &heard, &err), 0);
}

static bool send_life(size_t which, uint64_t serial)
{
    bool sent;
    message = (struct oneib_grants_message){.kind = ONEIB_GRANTS_LIFE};
    message.life.name = (struct oneib_list_name){1, serial};
    assert_int_equal(oneib_grants_server_send(server, pairs[which].public, &message, &sent, &err),
                     0);
    return sent;
}

static void expect_life(size_t which, uint64_t serial)
{
    assert_true(played_node_hear(&nodes[which], daemon_sign.public, &message, SOON_MS));
    assert_int_equal(message.kind, ONEIB_GRANTS_LIFE);
    assert_memory_equal(message.life.node, pairs[which].public, ONEIB_PUBLIC_KEY_SIZE);
    assert_int_equal(message.life.name.serial, serial);
}

/* ---- who is heard ---------------------------------------------------------------------------- */

static void an_admitted_node_is_heard_and_answered(void **state)
{
    (void)state;
    admit(1);
    connect_node(0);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    assert_true(send_life(0, 7));
    expect_life(0, 7);
}

static void each_is_known_by_the_key_that_it_has_proved(void **state)
{
    (void)state;
    admit(2);
    connect_node(1);
    say_challenge(1, 2);
    expect_challenge(1, 2);
    connect_node(0);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    assert_true(send_life(1, 11));
    assert_true(send_life(0, 10));
    expect_life(0, 10);
    expect_life(1, 11);
}

static void a_key_that_is_not_admitted_is_not_heard(void **state)
{
    (void)state;
    admit(1);
    connect_node(2);
    say_challenge(2, 3);
    /* Its handshake comes when the machine has time for it. */
    for (int i = 0; i < 50 && oneib_grants_server_counts(server)->refused_keys == 0; i++)
        expect_nothing();
    assert_true(oneib_grants_server_counts(server)->refused_keys > 0);
    assert_false(send_life(2, 1));
}

/* It says nothing that could be refused instead. */
static void a_key_that_is_not_admitted_gets_no_connection(void **state)
{
    (void)state;
    admit(1);
    connect_node(2);
    for (int i = 0; i < 50 && oneib_grants_server_counts(server)->refused_keys == 0; i++)
        expect_nothing();
    assert_true(oneib_grants_server_counts(server)->refused_keys > 0);
}

#define STRANGERS 1100
#define SYSTEMD_FILES 1024 /* DefaultLimitNOFILE=, the soft limit */

/* As many descriptors as oneibd's unit gives it. */
static rlim_t files_of_the_unit(void)
{
    char line[256];
    unsigned files = SYSTEMD_FILES;
    FILE *unit = fopen(ONEIB_UNIT, "r");
    assert_non_null(unit);
    while (fgets(line, sizeof line, unit))
        if (sscanf(line, "LimitNOFILE=%u", &files) == 1)
            break;
    fclose(unit);
    return files;
}

static void connect_strangers(int *strangers)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (size_t i = 0; i < STRANGERS; i++) {
        strangers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(strangers[i] >= 0);
        assert_int_equal(connect(strangers[i], (struct sockaddr *)&to, sizeof to), 0);
    }
}

/* They have no key, and say nothing: each holds a descriptor until the handshake's time is over. */
static void strangers_that_say_nothing_keep_no_node_away(void **state)
{
    (void)state;
    static int strangers[STRANGERS];
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = files_of_the_unit() < before.rlim_max ? files_of_the_unit() : before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    admit(1);
    connect_strangers(strangers);
    connect_node(0);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    for (size_t i = 0; i < STRANGERS; i++)
        close(strangers[i]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static uint64_t count_ended(void)
{
    return oneib_grants_server_counts(server)->ended;
}

static void open_server_with(double silence_ms, double handshakes_ms)
{
    const struct oneib_grants_server_options options = {.listen = address,
                                                        .curve = &daemon_curve,
                                                        .sign = &daemon_sign,
                                                        .silence_ms = silence_ms,
                                                        .handshakes_ms = handshakes_ms};
    oneib_grants_server_close(server);
    assert_int_equal(oneib_grants_server_open(&options, &server, &err), 0);
}

/* Another connection of the first node's. */
static void connect_once_more(struct played_node *node, uint8_t number)
{
    const struct oneib_grants_message said = challenge(number);
    played_node_connect(node, address, &pairs[0], daemon_curve.public);
    assert_true(played_node_say(node, &said));
}

static void of_a_key_with_too_many_connections_the_one_heard_longest_ago_is_ended(void **state)
{
    (void)state;
    struct played_node same[ONEIB_CONNECTIONS_OF_KEY + 2];
    admit(2);
    connect_node(1);
    say_challenge(1, 1);
    expect_challenge(1, 1);
    for (uint8_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_int_equal(count_ended(), i < ONEIB_CONNECTIONS_OF_KEY ? 0 : i - 4);
        connect_once_more(&same[i], i);
        expect_challenge(0, i);
    }
    assert_int_equal(count_ended(), 2);
    say_challenge(1, 2);
    expect_challenge(1, 2);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        played_node_close(&same[i]);
}

/* It comes back each time, as libzmq does, and so it was ended. */
static void a_connection_on_which_nothing_is_said_is_ended(void **state)
{
    (void)state;
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *heard;
    open_server_with(100, 0);
    admit(1);
    connect_node(0);
    for (int i = 0; i < 600 && count_ended() < 2; i++)
        assert_false(wait_for_message(key, &heard, 100) ||
                     oneib_grants_server_next(server, key, &heard, &err));
    assert_true(count_ended() >= 2);
}

static void a_key_that_connects_all_the_time_is_refused_for_a_while(void **state)
{
    (void)state;
    struct played_node same[2];
    open_server_with(0, 3600000);
    admit(2);
    for (uint8_t i = 0; i < 20; i++) {
        connect_once_more(&same[0], i);
        expect_challenge(0, i);
        played_node_close(&same[0]);
    }
    connect_once_more(&same[0], 100);
    connect_node(1);
    say_challenge(1, 1);
    expect_challenge(1, 1);
    expect_nothing();
    assert_int_equal(oneib_grants_server_counts(server)->flooding, 1);
    played_node_close(&same[0]);
}

static void before_any_is_admitted_nobody_is_heard(void **state)
{
    (void)state;
    connect_node(0);
    say_challenge(0, 1);
    expect_nothing();
}

static void who_has_another_secret_than_the_keys_is_not_heard(void **state)
{
    (void)state;
    struct oneib_curve_pair forged = pairs[1];
    memcpy(forged.public, pairs[0].public, sizeof forged.public);
    admit(1);
    played_node_connect(&nodes[0], address, &forged, daemon_curve.public);
    say_challenge(0, 1);
    expect_nothing();
}

static void who_expects_another_daemon_is_not_heard(void **state)
{
    (void)state;
    const struct oneib_curve_pair other = played_curve_pair();
    admit(1);
    played_node_connect(&nodes[0], address, &pairs[0], other.public);
    say_challenge(0, 1);
    expect_nothing();
}

static void who_proves_no_key_is_not_heard(void **state)
{
    (void)state;
    admit(3);
    played_node_connect_as(&nodes[0], address, NULL, NULL, NULL);
    say_challenge(0, 1);
    expect_nothing();
}

/* What is for the one does not go to the other, whatever that calls itself. */
static void who_calls_itself_as_another_does_takes_nothing_from_it(void **state)
{
    (void)state;
    admit(2);
    played_node_connect_as(&nodes[0], address, "x", &pairs[0], daemon_curve.public);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    played_node_connect_as(&nodes[1], address, "x", &pairs[1], daemon_curve.public);
    say_challenge(1, 2);
    expect_nothing();
    assert_false(send_life(1, 2));
    assert_true(send_life(0, 3));
    expect_life(0, 3);
    assert_false(played_node_hear(&nodes[1], daemon_sign.public, &message, LONG_MS));
}

static void a_key_that_is_admitted_no_more_is_heard_no_longer(void **state)
{
    (void)state;
    admit(2);
    connect_node(1);
    say_challenge(1, 1);
    expect_challenge(1, 1);
    admit(1);
    say_challenge(1, 2);
    expect_nothing();
    assert_false(send_life(1, 1));
}

static void a_key_that_stays_admitted_keeps_its_connection(void **state)
{
    (void)state;
    admit(1);
    connect_node(0);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    admit(3);
    assert_true(send_life(0, 5));
    expect_life(0, 5);
}

static void a_key_that_is_named_twice_is_one(void **state)
{
    (void)state;
    uint8_t keys[2][ONEIB_PUBLIC_KEY_SIZE];
    memcpy(keys[0], pairs[0].public, sizeof keys[0]);
    memcpy(keys[1], pairs[0].public, sizeof keys[1]);
    oneib_grants_server_admit(server, (const uint8_t(*)[32])keys, 2);
    connect_node(0);
    say_challenge(0, 1);
    expect_challenge(0, 1);
}

/* libzmq tells once of what comes together. */
static void what_waits_behind_a_message_is_told_of(void **state)
{
    (void)state;
    admit(1);
    connect_node(0);
    for (uint8_t number = 1; number <= 3; number++)
        say_challenge(0, number);
    usleep(LONG_MS * 1000);
    for (uint8_t number = 1; number <= 3; number++)
        expect_challenge(0, number);
}

/* A daemon that has nothing to do does nothing. */
static void wait_until_nothing_is_told_of(void)
{
    for (int i = 0; i < 100; i++) {
        struct pollfd file = {.fd = oneib_grants_server_fd(server), .events = POLLIN};
        if (poll(&file, 1, 20) == 0)
            return;
        expect_nothing_waits();
    }
    fail_msg("there is always something");
}

static void what_is_taken_and_what_is_sent_is_told_of_no_more(void **state)
{
    (void)state;
    struct pollfd file = {.fd = oneib_grants_server_fd(server), .events = POLLIN};
    admit(1);
    connect_node(0);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    wait_until_nothing_is_told_of();
    assert_true(send_life(0, 7));
    expect_life(0, 7);
    assert_int_equal(poll(&file, 1, 0), 0);
}

static void a_node_may_call_itself_by_as_long_a_name_as_there_is(void **state)
{
    (void)state;
    char name[256];
    admit(1);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    played_node_connect_as(&nodes[0], address, name, &pairs[0], daemon_curve.public);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    assert_true(send_life(0, 7));
    expect_life(0, 7);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void expect_malformed(const void *bytes, size_t length)
{
    const uint64_t before = oneib_grants_server_counts(server)->malformed;
    assert_true(played_node_say_bytes(&nodes[0], bytes, length));
    say_challenge(0, 2);
    expect_challenge(0, 2);
    assert_int_equal(oneib_grants_server_counts(server)->malformed, before + 1);
}

static void what_is_no_message_is_dropped_and_counted(void **state)
{
    (void)state;
    uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX] = {0};
    admit(1);
    connect_node(0);
    expect_malformed(bytes, 0);
    expect_malformed(bytes, 1);
    expect_malformed(bytes, sizeof bytes);
    message = challenge(9);
    const size_t length = oneib_grants_pack(&message, bytes);
    expect_malformed(bytes, length - 1);
    expect_malformed(bytes, length + 1);
}

/* What lies behind the first frame is not taken for another message: that would begin with whatever
 * name its sender likes. */
static void of_a_message_of_several_frames_nothing_is_taken(void **state)
{
    (void)state;
    uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];
    admit(2);
    connect_node(0);
    message = challenge(9);
    const size_t length = oneib_grants_pack(&message, bytes);
    assert_true(played_node_begin_to_say(&nodes[0], bytes, length));
    expect_malformed(bytes, length);
    assert_true(played_node_begin_to_say(&nodes[0], "", 0));
    assert_true(played_node_begin_to_say(&nodes[0], "another", 7));
    expect_malformed(bytes, length);
    assert_int_equal(oneib_grants_server_counts(server)->refused_keys, 0);
    assert_true(send_life(0, 1));
    expect_life(0, 1);
}

static void a_node_cannot_speak_as_oneibd(void **state)
{
    (void)state;
    uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];
    admit(1);
    connect_node(0);
    message = (struct oneib_grants_message){.kind = ONEIB_GRANTS_LIFE, .life.name = {1, 1}};
    expect_malformed(bytes, oneib_grants_pack(&message, bytes));
}

/* libzmq ends the connection, and the node comes back on another. */
static void what_is_too_long_ends_the_connection_and_nothing_else(void **state)
{
    (void)state;
    char *bytes = calloc(1, TOO_LONG);
    admit(2);
    connect_node(0);
    connect_node(1);
    say_challenge(1, 1);
    expect_challenge(1, 1);
    assert_true(played_node_say_bytes(&nodes[0], bytes, TOO_LONG));
    free(bytes);
    expect_nothing();
    say_challenge(1, 2);
    expect_challenge(1, 2);
}

static void a_flood_is_cut_off_and_others_are_heard(void **state)
{
    (void)state;
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *heard;
    unsigned flood = 0;
    admit(2);
    connect_node(0);
    connect_node(1);
    say_challenge(1, 1);
    expect_challenge(1, 1);
    const double start = oneib_now_ms(), end = start + 1500;
    bool other_is_heard = false, is_cut_off = false;
    say_challenge(1, 2);
    message = challenge(1);
    while (oneib_now_ms() < end) {
        for (int i = 0; i < 100; i++)
            played_node_say(&nodes[0], &message);
        while (oneib_grants_server_next(server, key, &heard, &err) == 1) {
            const bool is_flood = memcmp(key, pairs[0].public, sizeof key) == 0;
            flood += is_flood;
            other_is_heard = other_is_heard || !is_flood;
        }
        if (!is_cut_off && oneib_grants_server_counts(server)->flooding > 0) {
            is_cut_off = true;
            if (oneib_now_ms() < start + 1000)
                assert_int_equal(flood, 100);
        }
    }
    assert_true(other_is_heard);
    assert_in_range(flood, 101, 300); /* two or three seconds have begun */
    assert_true(oneib_grants_server_counts(server)->flooding > 0);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void nothing_is_sent_to_one_that_is_not_there(void **state)
{
    (void)state;
    admit(1);
    assert_false(send_life(0, 1));
}

static bool is_gone(size_t which)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *heard;
    const double end = oneib_now_ms() + SOON_MS;
    while (oneib_now_ms() < end) {
        wait_for_message(key, &heard, 20);
        if (!send_life(which, 1))
            return true;
    }
    return false;
}

/* A node believes nothing that is for another. */
static void a_list_names_the_node_that_it_is_for(void **state)
{
    (void)state;
    static struct oneib_grants_message list;
    bool sent;
    admit(1);
    connect_node(0);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    list = (struct oneib_grants_message){.kind = ONEIB_GRANTS_LIST, .list.name = {1, 1}};
    assert_int_equal(oneib_grants_server_send(server, pairs[0].public, &list, &sent, &err), 0);
    assert_true(sent);
    assert_true(played_node_hear(&nodes[0], daemon_sign.public, &message, SOON_MS));
    assert_int_equal(message.kind, ONEIB_GRANTS_LIST);
    assert_memory_equal(message.list.node, pairs[0].public, ONEIB_PUBLIC_KEY_SIZE);
}

static void one_that_has_gone_is_told_nothing_until_it_is_back(void **state)
{
    (void)state;
    admit(1);
    connect_node(0);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    played_node_close(&nodes[0]);
    assert_true(is_gone(0));
    connect_node(0);
    say_challenge(0, 2);
    expect_challenge(0, 2);
    assert_true(send_life(0, 9));
    expect_life(0, 9);
}

/* The old one need not have ended: a node that was cut off does not say goodbye. */
static void of_two_connections_of_a_node_the_one_heard_last_is_answered(void **state)
{
    (void)state;
    admit(1);
    connect_node(0);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    played_node_connect(&nodes[1], address, &pairs[0], daemon_curve.public);
    say_challenge(1, 2);
    expect_challenge(0, 2);
    assert_true(send_life(0, 3));
    assert_true(played_node_hear(&nodes[1], daemon_sign.public, &message, SOON_MS));
    assert_int_equal(message.life.name.serial, 3);
}

/* What it does not take is lost, and what is kept for it is bounded. */
static void a_slow_reader_holds_up_nobody(void **state)
{
    (void)state;
    static struct oneib_grants_message list;
    bool sent = true;
    unsigned count = 0;
    admit(2);
    connect_node(0);
    connect_node(1);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    say_challenge(1, 1);
    expect_challenge(1, 1);
    list = (struct oneib_grants_message){.kind = ONEIB_GRANTS_LIST};
    list.list.name = (struct oneib_list_name){1, 1};
    list.list.grants.count = ONEIB_GRANTS_MAX;
    for (uint32_t i = 0; i < ONEIB_GRANTS_MAX; i++)
        list.list.grants.items[i] = (struct oneib_grant){.vm_id = i,
                                                         .port = 1,
                                                         .pkey = 5,
                                                         .device = "mlx4_0",
                                                         .guid = oneib_guid_encode(0, i, 0)};
    while (sent && ++count < 2000)
        assert_int_equal(oneib_grants_server_send(server, pairs[0].public, &list, &sent, &err), 0);
    assert_false(sent);
    assert_true(send_life(1, 4));
    expect_life(1, 4);
}

static void after_a_new_start_nodes_come_back(void **state)
{
    (void)state;
    admit(1);
    connect_node(0);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    oneib_grants_server_close(server);
    open_server();
    admit(1);
    for (int i = 0; i < 100; i++) { /* what is said while nobody is there may be lost */
        uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
        const struct oneib_grants_message *heard;
        message = challenge(2);
        played_node_say(&nodes[0], &message);
        if (wait_for_message(key, &heard, 100))
            return;
    }
    fail_msg("the node has not come back");
}

static void what_arrives_while_something_is_sent_is_told_of(void **state)
{
    (void)state;
    admit(2);
    connect_node(0);
    connect_node(1);
    say_challenge(0, 1);
    expect_challenge(0, 1);
    say_challenge(1, 1);
    expect_challenge(1, 1);
    for (uint8_t i = 2; i < 30; i++) {
        expect_nothing_waits();
        say_challenge(0, i);
        for (int j = 0; j < 30; j++, usleep(200))
            send_life(1, i); /* takes note of what arrives */
        expect_challenge(0, i);
        while (played_node_hear(&nodes[1], daemon_sign.public, &message, 0))
            ;
    }
}

static void an_address_that_is_taken_or_wrong_is_named(void **state)
{
    (void)state;
    struct oneib_grants_server *second;
    struct oneib_grants_server_options options = {
        .listen = address, .curve = &daemon_curve, .sign = &daemon_sign};
    assert_int_equal(oneib_grants_server_open(&options, &second, &err), -1);
    assert_null(second);
    assert_int_equal(err.code, ONEIB_ERROR_CONFIG);
    assert_non_null(strstr(err.text, address));
    options.listen = "nonsense";
    assert_int_equal(oneib_grants_server_open(&options, &second, &err), -1);
    assert_non_null(strstr(err.text, "daemon.grants: \"nonsense\""));
    oneib_grants_server_close(NULL);
}

static bool has_ipv6(void)
{
    const struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool bound =
        fd >= 0 && bind(fd, (const struct sockaddr *)&loopback, sizeof loopback) == 0;
    if (fd >= 0)
        close(fd);
    return bound;
}

static void an_ipv6_address_is_listened_at(void **state)
{
    (void)state;
    struct oneib_grants_server *second;
    char other[64];
    const struct oneib_grants_server_options options = {
        .listen = other, .curve = &daemon_curve, .sign = &daemon_sign};
    if (!has_ipv6())
        skip_because("this machine has no IPv6");
    snprintf(other, sizeof other, "tcp://[::1]:%u", free_port());
    if (oneib_grants_server_open(&options, &second, &err) < 0)
        fail_msg("%s", err.text);
    oneib_grants_server_close(second);
}

static void a_server_that_ends_or_cannot_begin_leaves_nothing_open(void **state)
{
    (void)state;
    struct oneib_grants_server *second;
    char other[64];
    struct oneib_grants_server_options options = {
        .listen = address, .curve = &daemon_curve, .sign = &daemon_sign};
    snprintf(other, sizeof other, "tcp://127.0.0.1:%u", free_port());
    const size_t before = count_open_files();
    assert_int_equal(oneib_grants_server_open(&options, &second, &err), -1);
    assert_int_equal(count_open_files(), before);
    options.listen = other;
    assert_int_equal(oneib_grants_server_open(&options, &second, &err), 0);
    assert_true(count_open_files() > before);
    oneib_grants_server_close(second);
    assert_int_equal(count_open_files(), before);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(an_admitted_node_is_heard_and_answered),
        EACH(each_is_known_by_the_key_that_it_has_proved),
        EACH(a_key_that_is_not_admitted_is_not_heard),
        EACH(a_key_that_is_not_admitted_gets_no_connection),
        EACH(strangers_that_say_nothing_keep_no_node_away),
        EACH(of_a_key_with_too_many_connections_the_one_heard_longest_ago_is_ended),
        EACH(a_connection_on_which_nothing_is_said_is_ended),
        EACH(a_key_that_connects_all_the_time_is_refused_for_a_while),
        EACH(before_any_is_admitted_nobody_is_heard),
        EACH(who_has_another_secret_than_the_keys_is_not_heard),
        EACH(who_expects_another_daemon_is_not_heard),
        EACH(who_proves_no_key_is_not_heard),
        EACH(who_calls_itself_as_another_does_takes_nothing_from_it),
        EACH(a_key_that_is_admitted_no_more_is_heard_no_longer),
        EACH(a_key_that_stays_admitted_keeps_its_connection),
        EACH(a_key_that_is_named_twice_is_one),
        EACH(what_waits_behind_a_message_is_told_of),
        EACH(what_is_taken_and_what_is_sent_is_told_of_no_more),
        EACH(a_node_may_call_itself_by_as_long_a_name_as_there_is),
        EACH(what_is_no_message_is_dropped_and_counted),
        EACH(of_a_message_of_several_frames_nothing_is_taken),
        EACH(a_node_cannot_speak_as_oneibd),
        EACH(what_is_too_long_ends_the_connection_and_nothing_else),
        EACH(a_flood_is_cut_off_and_others_are_heard),
        EACH(nothing_is_sent_to_one_that_is_not_there),
        EACH(a_list_names_the_node_that_it_is_for),
        EACH(one_that_has_gone_is_told_nothing_until_it_is_back),
        EACH(of_two_connections_of_a_node_the_one_heard_last_is_answered),
        EACH(a_slow_reader_holds_up_nobody),
        EACH(after_a_new_start_nodes_come_back),
        EACH(what_arrives_while_something_is_sent_is_told_of),
        EACH(an_address_that_is_taken_or_wrong_is_named),
        EACH(an_ipv6_address_is_listened_at),
        EACH(a_server_that_ends_or_cannot_begin_leaves_nothing_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
