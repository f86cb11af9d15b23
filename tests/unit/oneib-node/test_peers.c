// SPDX-License-Identifier: Apache-2.0
/* Callers that misbehave, go, or are too many: through real sockets, on a node without an adapter. */
#include "log_scene.h"
#include "oneib-node/peers.h"
#include "requests_scene.h"
#include <errno.h>
#include <math.h>
#include <sys/un.h>
#include <unistd.h>

static struct oneib_peers callers;
static int listener = -1;

/* Time stands still there; 0: it passes. */
static double stopped_at;

double __real_oneib_now_ms(void);
double __wrap_oneib_now_ms(void);

double __wrap_oneib_now_ms(void)
{
    return stopped_at > 0 ? stopped_at : __real_oneib_now_ms();
}

/* Of a name that the kernel makes up. */
static void listen_somewhere(struct sockaddr_un *address, socklen_t *size)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)address, sizeof address->sun_family), 0);
    assert_int_equal(listen(listener, 8), 0);
    *size = sizeof *address;
    assert_int_equal(getsockname(listener, (struct sockaddr *)address, size), 0);
}

static int call_and_be_let_in(enum oneib_socket_kind kind)
{
    struct sockaddr_un address;
    socklen_t size;
    if (listener >= 0)
        close(listener);
    listen_somewhere(&address, &size);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
    oneib_peers_let_in(&callers, listener, kind);
    return fd;
}

static int call(void)
{
    return call_and_be_let_in(ONEIB_SOCKET_ALL);
}

static void ask_for_list(int fd)
{
    const struct oneib_request request = oneib_request_new(ONEIB_REQUEST_LIST);
    struct oneib_request packed;
    oneib_request_pack(&request, &packed);
    assert_int_equal(send(fd, &packed, sizeof packed, 0), sizeof packed);
}

static size_t count_answers(int fd)
{
    struct oneib_answer answer;
    size_t count = 0;
    while (recv(fd, &answer, sizeof answer, 0) > 0)
        count++;
    return count;
}

static int begin(void **state)
{
    const struct oneib_vfs_options options = {.pkey_wait_ms = 1000, .guid_wait_ms = 1000};
    (void)state;
    tree_reset(NULL);
    open_service(&options);
    oneib_vfs_set_domains(requests.vfs, &domains);
    memset(&callers, 0, sizeof callers);
    oneib_peers_begin(&callers, &requests);
    return 0;
}

/* 1 domain, 3 grants, what is followed, and the end. */
#define ANSWERS 6

static void a_request_is_answered_as_soon_as_it_is_heard(void **state)
{
    (void)state;
    const int fd = call();
    ask_for_list(fd);
    oneib_peers_serve(&callers, 0, POLLIN);
    assert_int_equal(count_answers(fd), ANSWERS);
    assert_int_equal(callers.items[0].state, ONEIB_PEER_HEARING);
    close(fd);
}

static void who_has_read_his_answer_has_as_long_as_before_to_ask_again(void **state)
{
    (void)state;
    const int fd = call(), small = 1;
    setsockopt(callers.items[0].fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    ask_for_list(fd);
    oneib_peers_serve(&callers, 0, POLLIN);
    assert_int_equal(callers.items[0].state, ONEIB_PEER_SAYING);
    callers.items[0].deadline = 1;
    for (size_t told = 0; told < ANSWERS; told += count_answers(fd))
        oneib_peers_serve(&callers, 0, POLLOUT);
    assert_int_equal(callers.items[0].state, ONEIB_PEER_HEARING);
    assert_true(callers.items[0].deadline > oneib_now_ms() + ONEIB_PEER_PATIENCE_MS / 2.0);
    close(fd);
}

static void who_goes_while_he_is_answered_is_parted_from(void **state)
{
    (void)state;
    const int fd = call();
    ask_for_list(fd);
    close(fd);
    oneib_peers_serve(&callers, 0, POLLIN);
    assert_int_equal(callers.items[0].fd, -1);
}

static void who_has_said_nothing_yet_is_not_parted_from(void **state)
{
    (void)state;
    const int fd = call();
    oneib_peers_serve(&callers, 0, POLLIN);
    assert_true(callers.items[0].fd >= 0);
    close(fd);
}

static void at_the_end_every_connection_is_closed(void **state)
{
    (void)state;
    char byte;
    const int fd = call();
    assert_int_equal(recv(fd, &byte, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
    oneib_peers_end(&callers);
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
    close(fd);
}

/* ---- the log --------------------------------------------------------------------------------- */

static void send_nonsense(unsigned times)
{
    while (times-- > 0) {
        const int fd = call();
        assert_int_equal(send(fd, "x", 1, 0), 1);
        oneib_peers_serve(&callers, 0, POLLIN);
        assert_int_equal(callers.items[0].fd, -1);
        close(fd);
    }
}

static size_t count_lines(void)
{
    size_t count = 0;
    for (const char *line = logged; (line = strstr(line, "rejected a connection of ")); line++)
        count++;
    return count;
}

static void of_many_that_misbehave_ten_a_minute_are_logged(void **state)
{
    (void)state;
    begin_log();
    send_nonsense(12);
    end_log();
    assert_int_equal(count_lines(), 10);
    callers.grumbling_since -= 60001;
    begin_log();
    send_nonsense(2);
    end_log();
    assert_int_equal(count_lines(), 2);
}

static void who_finds_no_place_is_told_and_logged(void **state)
{
    (void)state;
    char byte;
    for (size_t i = ONEIB_PEERS_ALL_MAX; i < ONEIB_PEERS_MAX; i++)
        callers.items[i].fd = 1000000;
    begin_log();
    const int fd = call_and_be_let_in(ONEIB_SOCKET_READ);
    end_log();
    assert_int_equal(count_answers(fd), 1);
    assert_int_equal(recv(fd, &byte, 1, 0), 0); /* and is not kept waiting */
    assert_int_equal(count_lines(), 1);
    assert_non_null(strstr(logged, "serves 64 connections already"));
    close(fd);
}

static void fill_places(uid_t uid, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        callers.items[ONEIB_PEERS_ALL_MAX + i].fd = 1000000;
        callers.items[ONEIB_PEERS_ALL_MAX + i].who.uid = uid;
    }
}

static void readers_of_one_user_leave_places_to_others(void **state)
{
    (void)state;
    struct oneib_answer answer;
    fill_places(geteuid(), ONEIB_PEERS_READ_PER_UID);
    int fd = call_and_be_let_in(ONEIB_SOCKET_READ);
    assert_true(recv(fd, &answer, sizeof answer, 0) > 0);
    assert_int_equal(answer.kind, ONEIB_ANSWER_FAILED);
    assert_non_null(strstr(answer.text, "has 8 connections to oneib-node already"));
    close(fd);
    fd = call();
    assert_int_equal(count_answers(fd), 0);
    close(fd);
    fill_places(geteuid() + 1, ONEIB_PEERS_READ_PER_UID);
    fd = call_and_be_let_in(ONEIB_SOCKET_READ);
    assert_int_equal(count_answers(fd), 0);
    close(fd);
}

/* ---- when somebody's time is over ------------------------------------------------------------ */

static int begin_stopped(void **state)
{
    stopped_at = 1000000;
    return begin(state);
}

static int end_stopped(void **state)
{
    stopped_at = 0;
    return end(state);
}

static void while_nobody_is_there_nobodys_time_is_over(void **state)
{
    (void)state;
    assert_int_equal(oneib_peers_due_ms(&callers), UINT32_MAX);
}

static void the_first_whose_time_is_over_is_waited_for(void **state)
{
    (void)state;
    const int first = call(), second = call();
    assert_int_equal(oneib_peers_due_ms(&callers), ONEIB_PEER_PATIENCE_MS + 1);
    callers.items[1].deadline = stopped_at + 300;
    assert_int_equal(oneib_peers_due_ms(&callers), 301);
    callers.items[0].deadline = stopped_at + 200;
    assert_int_equal(oneib_peers_due_ms(&callers), 201);
    callers.items[1].deadline = stopped_at;
    assert_int_equal(oneib_peers_due_ms(&callers), 0);
    close(first);
    close(second);
}

/* For so long nobody counts milliseconds. */
static void whose_time_is_over_in_weeks_is_not_waited_for(void **state)
{
    (void)state;
    const int fd = call();
    callers.items[0].deadline = stopped_at + UINT32_MAX;
    assert_int_equal(oneib_peers_due_ms(&callers), UINT32_MAX);
    close(fd);
}

static void of_one_that_is_held_the_end_of_that_is_waited_for(void **state)
{
    (void)state;
    const int fd = call();
    requests.hold_until = stopped_at + 100;
    callers.items[0].deadline = HUGE_VAL;
    callers.items[0].state = ONEIB_PEER_HELD;
    assert_int_equal(oneib_peers_due_ms(&callers), 101);
    callers.items[0].state = ONEIB_PEER_WAITING;
    assert_int_equal(oneib_peers_due_ms(&callers), UINT32_MAX);
    close(fd);
}

#define NODE(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define STOPPED(test) cmocka_unit_test_setup_teardown(test, begin_stopped, end_stopped)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NODE(a_request_is_answered_as_soon_as_it_is_heard),
        NODE(who_has_read_his_answer_has_as_long_as_before_to_ask_again),
        NODE(who_goes_while_he_is_answered_is_parted_from),
        NODE(who_has_said_nothing_yet_is_not_parted_from),
        NODE(at_the_end_every_connection_is_closed),
        NODE(of_many_that_misbehave_ten_a_minute_are_logged),
        NODE(who_finds_no_place_is_told_and_logged),
        NODE(readers_of_one_user_leave_places_to_others),
        STOPPED(while_nobody_is_there_nobodys_time_is_over),
        STOPPED(the_first_whose_time_is_over_is_waited_for),
        STOPPED(whose_time_is_over_in_weeks_is_not_waited_for),
        STOPPED(of_one_that_is_held_the_end_of_that_is_waited_for),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
