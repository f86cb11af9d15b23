// SPDX-License-Identifier: Apache-2.0
/* oneib-grants, as oneib-node starts it, between that and oneibd's real end. */
#include "../../ports.h"
#include "base/clock.h"
#include "grants/server.h"
#include "oneib-node/oneib-grants/relay_message.h"
#include "played_node.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../skip.h"

#define SOON_MS 20000 /* what is awaited comes before; a busy machine is slow */
#define LONG_MS 300   /* what must not come has not come after that */

static struct daemon {
    struct oneib_grants_server *server;
    struct oneib_curve_pair curve;
    struct oneib_sign_pair sign;
    char address[64];
} daemons[2];

static struct oneib_curve_pair node;
static pid_t program;
static int root = -1; /* our end, oneib-node's */
static struct oneib_relay_packet packet;
static struct oneib_grants_message message;
static struct oneib_error err;

/* ---- the scene ------------------------------------------------------------------------------- */

static void admit(struct daemon *daemon, size_t count)
{
    oneib_grants_server_admit(daemon->server, (const uint8_t(*)[ONEIB_PUBLIC_KEY_SIZE])node.public,
                              count);
}

static void start_daemon(struct daemon *daemon)
{
    const struct oneib_grants_server_options options = {
        .listen = daemon->address, .curve = &daemon->curve, .sign = &daemon->sign};
    if (oneib_grants_server_open(&options, &daemon->server, &err) < 0)
        fail_msg("%s", err.text);
    admit(daemon, 1);
}

static void stop_daemon(struct daemon *daemon)
{
    oneib_grants_server_close(daemon->server);
    daemon->server = NULL;
}

static void start_program(void)
{
    int ends[2];
    char path[] = ONEIB_GRANTS_PROGRAM;
    char *const arguments[] = {path, NULL};
    posix_spawn_file_actions_t files;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
    assert_int_equal(posix_spawn(&program, path, &files, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    root = ends[0];
}

static int exit_status(void)
{
    int status;
    assert_int_equal(waitpid(program, &status, 0), program);
    program = 0;
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int set_up(void **state)
{
    (void)state;
    node = played_curve_pair();
    for (size_t i = 0; i < 2; i++) {
        daemons[i].curve = played_curve_pair();
        daemons[i].sign = played_sign_pair();
        snprintf(daemons[i].address, sizeof daemons[i].address, "tcp://127.0.0.1:%u", free_port());
    }
    start_program();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(root);
    if (program > 0)
        exit_status();
    for (size_t i = 0; i < 2; i++)
        stop_daemon(&daemons[i]);
    return 0;
}

static void introduce(size_t count)
{
    struct oneib_daemons known = {.count = count};
    for (size_t i = 0; i < count; i++) {
        strcpy(known.items[i].address, daemons[i].address);
        memcpy(known.items[i].curve, daemons[i].curve.public, ONEIB_PUBLIC_KEY_SIZE);
    }
    assert_int_equal(oneib_relay_send_setup(root, &node, &known, &err), 0);
}

/* oneibd goes on while something is awaited: handshakes are its to answer. */
static int heard_by(struct daemon *daemon)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *heard;
    int count = 0;
    if (!daemon->server)
        return 0;
    while (oneib_grants_server_next(daemon->server, key, &heard, &err) == 1) {
        assert_memory_equal(key, node.public, sizeof key);
        message = *heard;
        count++;
    }
    return count;
}

static bool news_arrive(int timeout_ms)
{
    const double end = oneib_now_ms() + timeout_ms;
    while (oneib_now_ms() < end) {
        const int status = oneib_relay_take_news(root, &packet, &err);
        if (status < 0)
            fail_msg("%s", err.text);
        if (status > 0 && packet.kind != ONEIB_RELAY_ALIVE)
            return true;
        heard_by(&daemons[0]);
        heard_by(&daemons[1]);
        poll(&(struct pollfd){.fd = root, .events = POLLIN}, 1, 5);
    }
    return false;
}

static void expect(enum oneib_relay_kind kind, size_t daemon)
{
    assert_true(news_arrive(SOON_MS));
    if (packet.kind != kind || packet.daemon != daemon)
        fail_msg("kind %d of daemon %zu: %s", packet.kind, packet.daemon,
                 packet.kind == ONEIB_RELAY_DISCONNECTED ? packet.text : "");
}

/* Whatever is said before about why it is not so. */
static void wait_for(enum oneib_relay_kind kind, size_t daemon)
{
    do
        assert_true(news_arrive(SOON_MS));
    while (packet.kind != kind || packet.daemon != daemon);
}

static void wait_for_reason(const char *words)
{
    do
        wait_for(ONEIB_RELAY_DISCONNECTED, 0);
    while (!strstr(packet.text, words));
    assert_non_null(strstr(packet.text, daemons[0].address));
}

static void say(size_t daemon, const void *bytes, size_t length)
{
    bool sent;
    assert_int_equal(
        oneib_relay_send_frame(root, ONEIB_RELAY_SEND, daemon, bytes, length, &sent, &err), 0);
    assert_true(sent);
}

static void say_challenge(size_t daemon, uint8_t number)
{
    uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];
    static struct oneib_grants_message said;
    said = (struct oneib_grants_message){.kind = ONEIB_GRANTS_CHALLENGE};
    memset(said.challenge.nonce, number, sizeof said.challenge.nonce);
    say(daemon, bytes, oneib_grants_pack(&said, bytes));
}

static void expect_heard(size_t daemon, uint8_t number)
{
    const double end = oneib_now_ms() + SOON_MS;
    while (oneib_now_ms() < end) {
        if (heard_by(&daemons[daemon]) > 0) {
            assert_int_equal(message.kind, ONEIB_GRANTS_CHALLENGE);
            assert_int_equal(message.challenge.nonce[0], number);
            return;
        }
        usleep(1000);
    }
    fail_msg("daemon %zu has not heard %u", daemon, number);
}

static bool send_list(size_t daemon, size_t count)
{
    bool sent;
    message = (struct oneib_grants_message){.kind = ONEIB_GRANTS_LIST};
    message.list.name = (struct oneib_list_name){1, 1};
    message.list.grants.count = count;
    for (uint32_t i = 0; i < count; i++)
        message.list.grants.items[i] = (struct oneib_grant){.vm_id = i,
                                                            .port = 1,
                                                            .pkey = 5,
                                                            .device = "mlx4_0",
                                                            .guid = oneib_guid_encode(0, i, 0)};
    assert_int_equal(
        oneib_grants_server_send(daemons[daemon].server, node.public, &message, &sent, &err), 0);
    return sent;
}

static void expect_list(size_t daemon, size_t count)
{
    size_t inner;
    expect(ONEIB_RELAY_FRAME, daemon);
    assert_true(oneib_unseal(daemons[daemon].sign.public, packet.bytes, packet.length, &inner));
    assert_int_equal(oneib_grants_unpack(packet.bytes, inner, &message, &err), 0);
    assert_int_equal(message.list.grants.count, count);
}

/* ---- connected ------------------------------------------------------------------------------- */

static void frames_pass_both_ways(void **state)
{
    (void)state;
    start_daemon(&daemons[0]);
    introduce(1);
    wait_for(ONEIB_RELAY_CONNECTED, 0);
    say_challenge(0, 7);
    expect_heard(0, 7);
    assert_true(send_list(0, 0));
    expect_list(0, 0);
}

static void the_longest_list_passes(void **state)
{
    (void)state;
    start_daemon(&daemons[0]);
    introduce(1);
    wait_for(ONEIB_RELAY_CONNECTED, 0);
    say_challenge(0, 1);
    expect_heard(0, 1);
    assert_true(send_list(0, ONEIB_GRANTS_MAX));
    expect_list(0, ONEIB_GRANTS_MAX);
}

static void each_daemon_hears_and_says_its_own(void **state)
{
    (void)state;
    start_daemon(&daemons[0]);
    start_daemon(&daemons[1]);
    introduce(2);
    wait_for(ONEIB_RELAY_CONNECTED, 0);
    /* The other may have been first. */
    for (int i = 0; i < 50; i++) {
        say_challenge(1, 2);
        usleep(20000);
        if (heard_by(&daemons[1]) > 0)
            break;
    }
    assert_int_equal(message.challenge.nonce[0], 2);
    while (news_arrive(100))
        ;
    say_challenge(0, 1);
    expect_heard(0, 1);
    assert_true(send_list(1, 2));
    expect_list(1, 2);
    assert_true(send_list(0, 1));
    expect_list(0, 1);
}

static void one_that_is_gone_takes_nothing_from_the_other(void **state)
{
    (void)state;
    start_daemon(&daemons[1]);
    introduce(2);
    wait_for(ONEIB_RELAY_CONNECTED, 1);
    say_challenge(0, 1);
    say_challenge(1, 2);
    expect_heard(1, 2);
}

static void what_is_said_before_the_connection_is_lost(void **state)
{
    (void)state;
    introduce(1);
    for (uint8_t i = 1; i < 40; i++)
        say_challenge(0, i);
    start_daemon(&daemons[0]);
    wait_for(ONEIB_RELAY_CONNECTED, 0);
    say_challenge(0, 77);
    expect_heard(0, 77);
}

static void after_a_new_start_of_oneibd_it_is_connected_again(void **state)
{
    (void)state;
    start_daemon(&daemons[0]);
    introduce(1);
    wait_for(ONEIB_RELAY_CONNECTED, 0);
    stop_daemon(&daemons[0]);
    wait_for_reason("the connection was lost");
    wait_for_reason("no answer");
    start_daemon(&daemons[0]);
    wait_for(ONEIB_RELAY_CONNECTED, 0);
    say_challenge(0, 3);
    expect_heard(0, 3);
}

static void when_nothing_else_is_said_it_says_that_it_is_alive(void **state)
{
    (void)state;
    introduce(0);
    const double end = oneib_now_ms() + SOON_MS;
    int status = 0;
    while (status == 0 && oneib_now_ms() < end) {
        poll(&(struct pollfd){.fd = root, .events = POLLIN}, 1, 100);
        status = oneib_relay_take_news(root, &packet, &err);
    }
    assert_int_equal(status, 1);
    assert_int_equal(packet.kind, ONEIB_RELAY_ALIVE);
}

/* ---- not connected --------------------------------------------------------------------------- */

static void that_nobody_answers_is_said(void **state)
{
    (void)state;
    introduce(1);
    wait_for_reason("no answer");
}

static void that_oneibd_does_not_know_the_key_is_said_until_it_does(void **state)
{
    (void)state;
    start_daemon(&daemons[0]);
    admit(&daemons[0], 0);
    introduce(1);
    wait_for_reason("this node's key"); /* the short or the long one: it need not be heard */
    admit(&daemons[0], 1);
    wait_for(ONEIB_RELAY_CONNECTED, 0);
    say_challenge(0, 3);
    expect_heard(0, 3);
}

static void one_with_another_key_is_not_believed_to_be_oneibd(void **state)
{
    (void)state;
    start_daemon(&daemons[0]);
    daemons[0].curve = played_curve_pair(); /* what the node is told */
    introduce(1);
    wait_for_reason("the keys of the oneibd that this node trusts");
    assert_int_equal(heard_by(&daemons[0]), 0);
}

static void one_that_speaks_something_else_is_not_believed_to_be_oneibd(void **state)
{
    (void)state;
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, length), 0);
    assert_int_equal(listen(listener, 5), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&name, &length), 0);
    snprintf(daemons[0].address, sizeof daemons[0].address, "tcp://127.0.0.1:%u",
             ntohs(name.sin_port));
    introduce(1);
    const int peer = accept(listener, NULL, NULL);
    static const char words[] = "HTTP/1.0 400 Bad Request\r\n\r\nthis is something else altogether";
    assert_int_equal(send(peer, words, sizeof words, MSG_NOSIGNAL), sizeof words);
    wait_for_reason("see whether what listens there is oneibd");
    close(peer);
    close(listener);
}

/* ---- oneib-node ------------------------------------------------------------------------------ */

static void it_ends_with_its_socket(void **state)
{
    (void)state;
    start_daemon(&daemons[0]);
    introduce(1);
    wait_for(ONEIB_RELAY_CONNECTED, 0);
    shutdown(root, SHUT_RDWR);
    assert_int_equal(exit_status(), 0);
}

static void expect_failure(const char *words)
{
    expect(ONEIB_RELAY_FAILED, 0);
    assert_non_null(strstr(packet.text, words));
    assert_int_equal(exit_status(), 3);
}

/* It has the node's secret key, and oneib-domains is the same user's. What is not to be dumped is
 * root's in /proc. */
static void its_memory_is_nobodys_to_read(void **state)
{
    (void)state;
    char path[64];
    struct stat status;
    if (geteuid() == 0)
        skip_because("what root starts is root's in any case");
    start_daemon(&daemons[0]);
    introduce(1);
    wait_for(ONEIB_RELAY_CONNECTED, 0);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)program);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_uid, 0);
    assert_int_equal(open(path, O_RDONLY | O_CLOEXEC), -1);
}

static void an_order_before_the_first_ends_it(void **state)
{
    (void)state;
    say(0, "x", 1);
    expect_failure("out of sequence");
}

static void a_second_setup_ends_it(void **state)
{
    (void)state;
    introduce(1);
    introduce(1);
    wait_for(ONEIB_RELAY_FAILED, 0);
    assert_int_equal(exit_status(), 3);
}

static void an_order_for_a_daemon_that_there_is_not_ends_it(void **state)
{
    (void)state;
    introduce(0);
    say(0, "x", 1);
    expect_failure("an unknown daemon");
}

static void what_is_no_order_ends_it(void **state)
{
    (void)state;
    assert_int_equal(send(root, "nonsense", 8, MSG_NOSIGNAL), 8);
    expect_failure("invalid");
}

static void an_address_that_is_none_ends_it(void **state)
{
    (void)state;
    strcpy(daemons[0].address, "tcp://nothing");
    introduce(1);
    expect_failure("tcp://nothing");
}

/* What does not fit is lost, and it does not hang. */
static void a_node_that_does_not_listen_is_not_waited_for(void **state)
{
    (void)state;
    start_daemon(&daemons[0]);
    introduce(1);
    wait_for(ONEIB_RELAY_CONNECTED, 0);
    say_challenge(0, 1);
    expect_heard(0, 1);
    for (int i = 0; i < 2000; i++) {
        send_list(0, ONEIB_GRANTS_MAX);
        heard_by(&daemons[0]);
    }
    say_challenge(0, 9);
    expect_heard(0, 9);
    assert_true(news_arrive(SOON_MS));
    assert_int_equal(packet.kind, ONEIB_RELAY_FRAME);
}

static void it_takes_no_arguments_and_no_other_input(void **state)
{
    (void)state;
    close(root);
    assert_int_equal(exit_status(), 0);
    assert_int_equal(WEXITSTATUS(system("'" ONEIB_GRANTS_PROGRAM "' 2>/dev/null </dev/null")), 2);
    root = -1;
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(frames_pass_both_ways),
        EACH(the_longest_list_passes),
        EACH(each_daemon_hears_and_says_its_own),
        EACH(one_that_is_gone_takes_nothing_from_the_other),
        EACH(what_is_said_before_the_connection_is_lost),
        EACH(after_a_new_start_of_oneibd_it_is_connected_again),
        EACH(when_nothing_else_is_said_it_says_that_it_is_alive),
        EACH(that_nobody_answers_is_said),
        EACH(that_oneibd_does_not_know_the_key_is_said_until_it_does),
        EACH(one_with_another_key_is_not_believed_to_be_oneibd),
        EACH(one_that_speaks_something_else_is_not_believed_to_be_oneibd),
        EACH(it_ends_with_its_socket),
        EACH(its_memory_is_nobodys_to_read),
        EACH(an_order_before_the_first_ends_it),
        EACH(a_second_setup_ends_it),
        EACH(an_order_for_a_daemon_that_there_is_not_ends_it),
        EACH(what_is_no_order_ends_it),
        EACH(an_address_that_is_none_ends_it),
        EACH(a_node_that_does_not_listen_is_not_waited_for),
        EACH(it_takes_no_arguments_and_no_other_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
