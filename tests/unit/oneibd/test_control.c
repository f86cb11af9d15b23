// SPDX-License-Identifier: Apache-2.0
/* The control socket: who is answered, within which bounds. Through real sockets. */
#include "oneibd/control.h"

#include "base/clock.h"
#include "base/file.h"
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "../../skip.h"
#include <cmocka.h>

#define PATIENCE_MS 60000
#define SHORT_MS 200
#define LONGER_MS 3000 /* a client on a busy machine sends its request in that time */
#define NOBODY 65534

static char directory[] = "/tmp/oneib-control-XXXXXX";
static char path[sizeof directory + 16];
static struct oneib_control *control;

static void open_with(double request_ms, double answer_ms)
{
    const struct oneib_control_options options = {.path = path,
                                                  .readers = "no-such-group",
                                                  .places = 6,
                                                  .places_of_uid = 2,
                                                  .request_ms = request_ms,
                                                  .answer_ms = answer_ms,
                                                  .answers_bytes = 20u << 20};
    struct oneib_error err = {0};
    control = oneib_control_open(&options, &err);
    if (!control)
        fail_msg("%s", err.text);
}

static int begin(void **state)
{
    (void)state;
    strcpy(directory + sizeof directory - 7, "XXXXXX");
    if (!mkdtemp(directory) || chmod(directory, 0755) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/control", directory);
    open_with(PATIENCE_MS, PATIENCE_MS);
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_control_close(control);
    control = NULL;
    unlink(path);
    return rmdir(directory);
}

/* ---- a client -------------------------------------------------------------------------------- */

static int try_to_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static int connect_client(void)
{
    const int fd = try_to_connect();
    assert_true(fd >= 0);
    return fd;
}

static void encode(uint32_t id, uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE])
{
    const struct oneib_control_request request = {
        .partitions = 7, .request = {.question = ONEIB_ASK_SHOW, .json = true, .network_id = id}};
    oneib_control_request_encode(&request, bytes);
}

static int ask(uint32_t id)
{
    uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE];
    const int fd = connect_client();
    encode(id, bytes);
    assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
    return fd;
}

/* Until the server hangs up; -1: it did within no time that counts. */
static ssize_t receive_all(int fd, char *bytes, size_t size)
{
    size_t length = 0;
    struct pollfd end_of = {.fd = fd, .events = POLLIN};
    while (poll(&end_of, 1, PATIENCE_MS) > 0) {
        const ssize_t more = recv(fd, bytes + length, size - length, 0);
        if (more <= 0)
            return (ssize_t)length;
        length += (size_t)more;
    }
    return -1;
}

/* What the server says instead of an answer. */
static void must_be_refused(int fd, const char *words)
{
    char bytes[2048] = "";
    struct oneib_control_head head;
    struct oneib_error err = {0};
    const ssize_t length = receive_all(fd, bytes, sizeof bytes - 1);
    close(fd);
    assert_true(length > ONEIB_CONTROL_HEAD_SIZE);
    assert_int_equal(oneib_control_head_decode((uint8_t *)bytes, &head, &err), 0);
    assert_int_equal(head.outcome, ONEIB_EXIT_FAILURE);
    assert_int_equal(head.out_length, 0);
    if (!strstr(bytes + ONEIB_CONTROL_HEAD_SIZE, words))
        fail_msg("\"%s\" does not say \"%s\"", bytes + ONEIB_CONTROL_HEAD_SIZE, words);
}

static void must_be_hung_up_on(int fd)
{
    char bytes[2048];
    assert_int_equal(receive_all(fd, bytes, sizeof bytes), 0);
    close(fd);
}

/* The daemon's part: takes the next request. */
static uint64_t take(struct oneib_control_request *request)
{
    struct pollfd news = {.fd = oneib_control_fd(control), .events = POLLIN};
    uint64_t number = 0;
    const double until = oneib_now_ms() + PATIENCE_MS;
    while (!oneib_control_take(control, request, &number)) {
        assert_true(oneib_now_ms() < until);
        poll(&news, 1, 1000);
    }
    return number;
}

static void give(uint64_t number, const char *text)
{
    static const struct oneib_error nothing;
    struct oneib_command_answer answer = {0};
    oneib_text_append(&answer.out, text);
    oneib_text_append(&answer.err, "a note\n");
    oneib_control_answer(control, number, ONEIB_EXIT_DIFFERENCE, &answer, &nothing);
    oneib_command_answer_clear(&answer);
}

static void must_get(int fd, const char *text)
{
    char bytes[2048] = "";
    struct oneib_control_head head;
    struct oneib_error err = {0};
    const ssize_t length = receive_all(fd, bytes, sizeof bytes);
    close(fd);
    assert_true(length >= ONEIB_CONTROL_HEAD_SIZE);
    assert_int_equal(oneib_control_head_decode((uint8_t *)bytes, &head, &err), 0);
    assert_int_equal(head.outcome, ONEIB_EXIT_DIFFERENCE);
    assert_int_equal(head.out_length, strlen(text));
    assert_memory_equal(bytes + ONEIB_CONTROL_HEAD_SIZE, text, strlen(text));
    assert_memory_equal(bytes + ONEIB_CONTROL_HEAD_SIZE + strlen(text), "a note\n", 7);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void a_request_is_answered(void **state)
{
    (void)state;
    struct oneib_control_request request;
    const int fd = ask(42);
    const uint64_t number = take(&request);
    assert_int_equal(request.partitions, 7);
    assert_int_equal(request.request.question, ONEIB_ASK_SHOW);
    assert_int_equal(request.request.network_id, 42);
    assert_true(request.request.json);
    assert_false(request.request.color_out);
    give(number, "text");
    must_get(fd, "text");
}

static void requests_are_taken_in_their_order(void **state)
{
    (void)state;
    struct oneib_control_request request;
    const int first = ask(1);
    const uint64_t one = take(&request);
    const int second = ask(2);
    const uint64_t two = take(&request);
    assert_int_equal(request.request.network_id, 2);
    assert_false(oneib_control_take(control, &request, &(uint64_t){0}));
    give(two, "second");
    give(one, "first");
    must_get(first, "first");
    must_get(second, "second");
}

static void a_request_that_is_put_aside_is_answered_later(void **state)
{
    (void)state;
    struct oneib_control_request request;
    uint64_t number = 0;
    const int first = ask(1);
    oneib_control_defer(control, take(&request));
    const int second = ask(2);
    const uint64_t two = take(&request);
    assert_int_equal(request.request.network_id, 2);
    give(two, "second");
    must_get(second, "second");
    assert_false(oneib_control_take(control, &request, &number));
    assert_true(oneib_control_take_deferred(control, &request, &number));
    assert_int_equal(request.request.network_id, 1);
    assert_false(oneib_control_take_deferred(control, &request, &(uint64_t){0}));
    give(number, "first");
    must_get(first, "first");
}

static void a_request_that_is_put_aside_goes_with_its_client(void **state)
{
    (void)state;
    struct oneib_control_request request;
    uint64_t number = 0;
    const double until = oneib_now_ms() + PATIENCE_MS;
    const int fd = ask(1);
    const uint64_t taken = take(&request);
    oneib_control_defer(control, taken);
    close(fd);
    while (oneib_control_take_deferred(control, &request, &number)) {
        assert_true(oneib_now_ms() < until);
        oneib_control_defer(control, number);
        poll(NULL, 0, 10);
    }
    oneib_control_defer(control, taken); /* nothing is there any more */
    assert_false(oneib_control_take_deferred(control, &request, &number));
}

static void who_has_gone_holds_up_nobody(void **state)
{
    (void)state;
    struct oneib_control_request request;
    close(ask(1));
    const int fd = connect_client();
    uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE];
    encode(2, bytes);
    assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
    uint64_t number = take(&request);
    if (request.request.network_id == 1) { /* it was taken before it had gone */
        give(number, "nobody reads it");
        number = take(&request);
    }
    assert_int_equal(request.request.network_id, 2);
    give(number, "text");
    must_get(fd, "text");
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void nonsense_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE] = "GET /metrics HTTP/1.0\r\n";
    const int fd = connect_client();
    assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
    must_be_refused(fd, "another version");
}

static void a_request_that_is_too_long_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE + 1] = {0};
    const int fd = connect_client();
    encode(1, bytes);
    assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
    must_be_refused(fd, "longer than");
}

static void a_request_that_does_not_come_ends_the_connection(void **state)
{
    (void)state;
    uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE];
    oneib_control_close(control);
    open_with(SHORT_MS, PATIENCE_MS);
    encode(1, bytes);
    const int silent = connect_client(), slow = connect_client();
    (void)!send(slow, bytes, sizeof bytes - 1, MSG_NOSIGNAL); /* it may be too late already */
    must_be_hung_up_on(silent);
    must_be_hung_up_on(slow);
}

static void a_turn_that_does_not_end_is_told(void **state)
{
    (void)state;
    struct oneib_control_request request;
    oneib_control_close(control);
    open_with(PATIENCE_MS, SHORT_MS);
    const int waiting = ask(1);
    must_be_refused(waiting, "did not answer within");
    const int taken = ask(2);
    uint64_t number = 0;
    const double until = oneib_now_ms() + SHORT_MS;
    while (!oneib_control_take(control, &request, &number) && oneib_now_ms() < until)
        ;
    must_be_refused(taken, "did not answer within");
    give(number, "too late"); /* of nobody any more */
}

/* Asks, and is answered with 16 MiB. */
static int ask_for_much(void)
{
    static const struct oneib_error nothing;
    struct oneib_control_request request;
    struct oneib_command_answer answer = {0};
    for (size_t i = 0; i < 1u << 20; i++)
        oneib_text_append(&answer.out, "sixteen letters.");
    const int fd = ask(1);
    oneib_control_answer(control, take(&request), ONEIB_EXIT_DONE, &answer, &nothing);
    oneib_command_answer_clear(&answer);
    return fd;
}

static void must_get_much(int fd)
{
    const size_t size = (16u << 20) + ONEIB_CONTROL_HEAD_SIZE;
    char *bytes = calloc(1, size + 1);
    assert_non_null(bytes);
    assert_int_equal(receive_all(fd, bytes, size + 1), size);
    free(bytes);
    close(fd);
}

static void answers_that_are_not_read_do_not_use_up_the_memory(void **state)
{
    (void)state;
    const int first = ask_for_much();
    must_be_refused(ask_for_much(), "other clients of oneibd have not read their answers");
    must_get_much(first);
    must_get_much(ask_for_much());
}

static void an_answer_that_is_not_read_ends_the_connection(void **state)
{
    (void)state;
    oneib_control_close(control);
    open_with(LONGER_MS, PATIENCE_MS);
    const int fd = ask_for_much();
    struct pollfd end_of = {.fd = fd, .events = 0};
    assert_int_equal(poll(&end_of, 1, PATIENCE_MS), 1); /* POLLHUP */
    close(fd);
}

/* ---- who ------------------------------------------------------------------------------------- */

/* What `test` finds as a user without groups; root alone can become one. */
static void as_nobody(void (*test)(void))
{
    if (geteuid() != 0)
        skip_because("only root can be another user");
    const pid_t child = fork();
    if (child == 0) {
        if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
            _exit(99);
        test();
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void be_refused(void)
{
    char bytes[2048] = "";
    struct oneib_control_head head;
    struct oneib_error err = {0};
    const int fd = try_to_connect();
    if (fd < 0 || receive_all(fd, bytes, sizeof bytes - 1) <= ONEIB_CONTROL_HEAD_SIZE ||
        oneib_control_head_decode((uint8_t *)bytes, &head, &err) < 0 ||
        head.code != ONEIB_ERROR_PERMISSION || head.out_length > 0 ||
        !strstr(bytes + ONEIB_CONTROL_HEAD_SIZE, "\"no-such-group\""))
        _exit(1);
}

static void another_user_is_refused_and_told_which_group_may_ask(void **state)
{
    (void)state;
    as_nobody(be_refused);
    assert_false(oneib_control_take(control, &(struct oneib_control_request){0}, &(uint64_t){0}));
}

static void ask_and_leave(void)
{
    uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE];
    char answer[2048];
    const int fd = try_to_connect();
    encode(5, bytes);
    if (fd < 0 || send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) != sizeof bytes ||
        receive_all(fd, answer, sizeof answer) <= ONEIB_CONTROL_HEAD_SIZE ||
        answer[12] != ONEIB_ERROR_TIMEOUT)
        _exit(1);
}

static void a_member_of_the_readers_group_is_answered(void **state)
{
    (void)state;
    struct group *group = getgrgid(NOBODY);
    if (!group)
        skip_because("there is no group %d", NOBODY);
    oneib_control_close(control);
    const struct oneib_control_options options = {.path = path,
                                                  .readers = group->gr_name,
                                                  .places = 6,
                                                  .places_of_uid = 2,
                                                  .request_ms = PATIENCE_MS,
                                                  .answer_ms = SHORT_MS,
                                                  .answers_bytes = 20u << 20};
    struct oneib_error err = {0};
    control = oneib_control_open(&options, &err);
    assert_non_null(control);
    as_nobody(ask_and_leave); /* of the time that a turn takes it is told, so it was let in */
}

static void take_places(void)
{
    char bytes[2048] = "";
    struct oneib_control_head head;
    struct oneib_error err = {0};
    const int first = try_to_connect(), second = try_to_connect(), third = try_to_connect();
    if (first < 0 || second < 0 || third < 0 ||
        receive_all(third, bytes, sizeof bytes) <= ONEIB_CONTROL_HEAD_SIZE ||
        oneib_control_head_decode((uint8_t *)bytes, &head, &err) < 0 ||
        head.code != ONEIB_ERROR_REFUSED)
        _exit(1);
}

static void a_user_has_places_for_some_and_root_has_one_left(void **state)
{
    (void)state;
    struct oneib_control_request request;
    struct group *group = getgrgid(NOBODY);
    if (!group)
        skip_because("there is no group %d", NOBODY);
    oneib_control_close(control);
    const struct oneib_control_options options = {.path = path,
                                                  .readers = group->gr_name,
                                                  .places = 6,
                                                  .places_of_uid = 2,
                                                  .request_ms = PATIENCE_MS,
                                                  .answer_ms = PATIENCE_MS,
                                                  .answers_bytes = 20u << 20};
    struct oneib_error err = {0};
    control = oneib_control_open(&options, &err);
    assert_non_null(control);
    int all[6];
    for (size_t i = 0; i < 6; i++)
        all[i] = ask((uint32_t)i);
    must_be_refused(connect_client(), "try again later");
    for (size_t i = 0; i < 6; i++)
        give(take(&request), "text");
    for (size_t i = 0; i < 6; i++)
        must_get(all[i], "text");
    as_nobody(take_places);
}

/* ---- the socket's file ------------------------------------------------------------------------ */

static void a_stale_socket_is_replaced(void **state)
{
    (void)state;
    struct oneib_control_request request;
    oneib_control_close(control);
    const struct sockaddr_un any = {.sun_family = AF_UNIX};
    struct sockaddr_un address = any;
    memcpy(address.sun_path, path, strlen(path) + 1);
    const int left = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(left, (struct sockaddr *)&address, sizeof address), 0);
    close(left);
    open_with(PATIENCE_MS, PATIENCE_MS);
    const int fd = ask(1);
    give(take(&request), "text");
    must_get(fd, "text");
}

static struct oneib_control *open_another(struct oneib_error *err)
{
    const struct oneib_control_options options = {.path = path,
                                                  .readers = "no-such-group",
                                                  .places = 2,
                                                  .places_of_uid = 2,
                                                  .request_ms = PATIENCE_MS,
                                                  .answer_ms = PATIENCE_MS,
                                                  .answers_bytes = 20u << 20};
    return oneib_control_open(&options, err);
}

static void the_socket_of_another_daemon_stays(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_control_request request;
    assert_null(open_another(&err));
    assert_non_null(strstr(err.text, "another process listens"));
    const int fd = ask(1);
    give(take(&request), "text");
    must_get(fd, "text");
}

static void another_file_stays(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    oneib_control_close(control);
    control = NULL;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_null(open_another(&err));
    assert_non_null(strstr(err.text, "is not a socket"));
    struct stat found;
    assert_int_equal(lstat(path, &found), 0);
    assert_true(S_ISREG(found.st_mode));
}

static void the_socket_goes_with_the_daemon(void **state)
{
    (void)state;
    oneib_control_close(control);
    control = NULL;
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_is_answered, begin, end),
        cmocka_unit_test_setup_teardown(requests_are_taken_in_their_order, begin, end),
        cmocka_unit_test_setup_teardown(a_request_that_is_put_aside_is_answered_later, begin, end),
        cmocka_unit_test_setup_teardown(a_request_that_is_put_aside_goes_with_its_client, begin,
                                        end),
        cmocka_unit_test_setup_teardown(who_has_gone_holds_up_nobody, begin, end),
        cmocka_unit_test_setup_teardown(nonsense_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_request_that_is_too_long_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_request_that_does_not_come_ends_the_connection, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_turn_that_does_not_end_is_told, begin, end),
        cmocka_unit_test_setup_teardown(an_answer_that_is_not_read_ends_the_connection, begin, end),
        cmocka_unit_test_setup_teardown(answers_that_are_not_read_do_not_use_up_the_memory, begin,
                                        end),
        cmocka_unit_test_setup_teardown(another_user_is_refused_and_told_which_group_may_ask, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_member_of_the_readers_group_is_answered, begin, end),
        cmocka_unit_test_setup_teardown(a_user_has_places_for_some_and_root_has_one_left, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_stale_socket_is_replaced, begin, end),
        cmocka_unit_test_setup_teardown(the_socket_of_another_daemon_stays, begin, end),
        cmocka_unit_test_setup_teardown(another_file_stays, begin, end),
        cmocka_unit_test_setup_teardown(the_socket_goes_with_the_daemon, begin, end),
    };
    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
