// SPDX-License-Identifier: Apache-2.0
/* oneib-grants under the restrictions of oneib-node's unit, which are its own too. */
#include "../../ports.h"
#include "base/clock.h"
#include "grants/server.h"
#include "oneib-node/oneib-grants/relay_message.h"
#include "played_node.h"
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../unit_filter.h"

#define SOON_MS 20000

static struct oneib_relay_packet packet;
static struct oneib_error err;

static pid_t start_watched(char *trace, int input)
{
    pid_t pid;
    char strace[] = "strace", f[] = "-f", qq[] = "-qq", o[] = "-o",
         program[] = ONEIB_GRANTS_PROGRAM;
    char *const arguments[] = {strace, f, qq, o, trace, program, NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    assert_int_equal(posix_spawnp(&pid, strace, &files, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    return pid;
}

static void wait_for(int root, struct oneib_grants_server *server, enum oneib_relay_kind kind)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *heard;
    const double end = oneib_now_ms() + SOON_MS;
    while (oneib_now_ms() < end) {
        while (server && oneib_grants_server_next(server, key, &heard, &err) > 0)
            ;
        if (oneib_relay_take_news(root, &packet, &err) > 0 && packet.kind == kind)
            return;
        poll(&(struct pollfd){.fd = root, .events = POLLIN}, 1, 5);
    }
    fail_msg("nothing of kind %d", kind);
}

/* A name, which is asked for, a connection, one that is refused, frames, and the end. */
static void let_it_work(int root)
{
    const struct oneib_curve_pair daemon = played_curve_pair(), node = played_curve_pair();
    const struct oneib_sign_pair sign = played_sign_pair();
    const unsigned port = free_port();
    struct oneib_daemons daemons = {.count = 2};
    struct oneib_grants_server *server;
    char address[64];
    bool sent;
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
    const struct oneib_grants_server_options options = {
        .listen = address, .curve = &daemon, .sign = &sign};
    assert_int_equal(oneib_grants_server_open(&options, &server, &err), 0);
    uint8_t keys[1][ONEIB_PUBLIC_KEY_SIZE];
    memcpy(keys[0], node.public, sizeof keys[0]);
    oneib_grants_server_admit(server, (const uint8_t(*)[ONEIB_PUBLIC_KEY_SIZE])keys, 1);
    snprintf(daemons.items[0].address, sizeof daemons.items[0].address, "tcp://localhost:%u", port);
    memcpy(daemons.items[0].curve, daemon.public, sizeof daemon.public);
    snprintf(daemons.items[1].address, sizeof daemons.items[1].address, "tcp://127.0.0.1:%u",
             free_port());
    memcpy(daemons.items[1].curve, daemon.public, sizeof daemon.public);
    assert_int_equal(oneib_relay_send_setup(root, &node, &daemons, &err), 0);
    wait_for(root, server, ONEIB_RELAY_CONNECTED);
    assert_int_equal(oneib_relay_send_frame(root, ONEIB_RELAY_SEND, 0, "frame", 5, &sent, &err), 0);
    oneib_grants_server_close(server);
    wait_for(root, NULL, ONEIB_RELAY_DISCONNECTED);
}

static void it_does_only_what_the_unit_allows(void **state)
{
    (void)state;
    struct unit unit = {0};
    char trace[] = "/tmp/oneib-trace-XXXXXX";
    int ends[2], status;
    if (IS_SANITIZED)
        skip_because("AddressSanitizer does not work in a program that is traced");
    need("strace");
    need("systemd-analyze");
    need_permission_to_trace();
    read_unit(ONEIB_NODE_UNIT, &unit);
    close(mkstemp(trace));
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const pid_t strace = start_watched(trace, ends[1]);
    close(ends[1]);
    let_it_work(ends[0]);
    close(ends[0]);
    assert_int_equal(waitpid(strace, &status, 0), strace);
    assert_int_equal(status, 0);
    must_be_allowed(&unit, trace);
    clear_unit(&unit);
    unlink(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_does_only_what_the_unit_allows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
