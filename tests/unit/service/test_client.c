// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of oneib-node, answered by a stand-in of it: a process of the test's own that plays what is
 * written down for it, connection by connection.
 */
#include "../../node_socket.h"
#include "../hca/tree.h"
#include "base/clock.h"
#include "service/connection.h"
#include "service/service_client.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WAIT_MS 8000

/* ---- the stand-in ---------------------------------------------------------------------------- */

typedef void (*player)(int listener);

static struct oneib_error err;
static pid_t standin;

static int listen_at(const char *name)
{
    const int listener = listen_on_node(tree_root(), name);
    assert_true(listener >= 0);
    return listener;
}

static void play_on(int listener, player play)
{
    standin = fork();
    assert_true(standin >= 0);
    if (standin == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        play(listener);
        _exit(0);
    }
    close(listener);
}

static void play(player part)
{
    play_on(listen_at("node.sock"), part);
}

/* It has played its part to the end. */
static void assert_played(void)
{
    int status;
    assert_int_equal(waitpid(standin, &status, 0), standin);
    standin = 0;
    assert_int_equal(status, 0);
}

static int begin(void **state)
{
    tree_reset(state);
    err = (struct oneib_error){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (standin > 0) {
        kill(standin, SIGKILL);
        waitpid(standin, NULL, 0);
    }
    standin = 0;
    return 0;
}

static int take_call(int listener)
{
    const int fd = accept(listener, NULL, NULL);
    if (fd < 0)
        _exit(2);
    return fd;
}

/* The request that must come next. */
static struct oneib_request hear(int fd, enum oneib_request_kind kind)
{
    struct oneib_request bytes, request = {0};
    struct oneib_error why;
    const ssize_t length = recv(fd, &bytes, sizeof bytes, 0);
    if (length < 0 || oneib_request_check(&bytes, (size_t)length, &request, &why) < 0 ||
        request.kind != kind)
        _exit(3);
    return request;
}

static void say(int fd, const struct oneib_answer *answer)
{
    struct oneib_answer packed;
    oneib_answer_pack(answer, &packed);
    if (send(fd, &packed, sizeof packed, MSG_NOSIGNAL) != (ssize_t)sizeof packed)
        _exit(4);
}

static void say_end(int fd)
{
    const struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_END);
    say(fd, &answer);
}

static void say_failed(int fd, const char *text)
{
    struct oneib_error why = {.code = ONEIB_ERROR_REFUSED};
    snprintf(why.text, sizeof why.text, "%s", text);
    const struct oneib_answer answer = oneib_answer_with(ONEIB_ANSWER_FAILED, &why);
    say(fd, &answer);
}

static void say_record(int fd, uint8_t function, uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_RECORD);
    answer.record = (struct oneib_vf_record){
        .vf = {0, 0x81, 0, function},
        .device = "mlx4_0",
        .port = 1,
        .vm_id = vm_id,
        .nic_id = nic_id,
        .pkey = 5,
        .stage = ONEIB_VF_CLOSED,
    };
    say(fd, &answer);
}

static void say_domain(int fd, const char *name, int64_t vm_id, bool running, uint8_t function)
{
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_DOMAIN);
    answer.domain.vm_id = vm_id;
    answer.domain.running = running;
    answer.domain.has_vf = function > 0;
    answer.domain.vf = (struct oneib_pci){0, 0x81, 0, function};
    snprintf(answer.domain.name, sizeof answer.domain.name, "%s", name);
    say(fd, &answer);
}

/* Until the caller hangs up. */
static void hear_nothing_more(int fd)
{
    char byte;
    if (recv(fd, &byte, 1, 0) > 0)
        _exit(5);
}

/* ---- the caller ------------------------------------------------------------------------------ */

static struct oneib_request have(uint8_t nic_id)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_HAVE);
    request.vm_id = 42;
    request.nic_id = nic_id;
    request.numa_node = -1;
    return request;
}

static struct oneib_client *open_client(void)
{
    struct oneib_client *client;
    if (oneib_client_open(&client, &err) < 0)
        fail_msg("%s", err.text);
    return client;
}

static void must_have(struct oneib_client *client, uint8_t nic_id, uint8_t function)
{
    struct oneib_vf_record record;
    const struct oneib_request request = have(nic_id);
    if (oneib_client_have(client, &request, WAIT_MS, &record, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(record.nic_id, nic_id);
    assert_int_equal(record.vf.function, function);
}

static void assert_told(enum oneib_error_code code, const char *words)
{
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in: %s", words, err.text);
    assert_int_equal(err.code, code);
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* ---- what is answered ------------------------------------------------------------------------ */

static void play_have_release_wait(int listener)
{
    const int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_HAVE);
    say_record(fd, 1, 42, 1);
    if (hear(fd, ONEIB_REQUEST_RELEASE).nic_id != -1)
        _exit(6);
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_RELEASED);
    answer.released = (struct oneib_released){1, 2, 3};
    say(fd, &answer);
    hear(fd, ONEIB_REQUEST_WAIT);
    say_record(fd, 1, 42, 1);
    say_end(fd);
    hear_nothing_more(fd);
}

static void what_is_asked_is_answered(void **state)
{
    (void)state;
    play(play_have_release_wait);
    struct oneib_client *client = open_client();
    must_have(client, 1, 1);
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE);
    struct oneib_released released;
    request.vm_id = 42;
    request.nic_id = -1;
    assert_int_equal(oneib_client_release(client, &request, &released, &err), 0);
    assert_int_equal(released.freed, 1);
    assert_int_equal(released.lingering, 2);
    assert_int_equal(released.left, 3);
    assert_int_equal(oneib_client_wait(client, WAIT_MS, &err), 0);
    oneib_client_close(client);
    assert_played();
}

static void play_refusals(int listener)
{
    const int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_HAVE);
    say_failed(fd, "no VF is free");
    hear(fd, ONEIB_REQUEST_HAVE);
    say_record(fd, 1, 42, 1);
    hear(fd, ONEIB_REQUEST_WAIT);
    say_failed(fd, "the key has not come");
    say_failed(fd, "another one");
    say_end(fd);
}

static void a_refusal_comes_with_its_own_words(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct oneib_request request = have(1);
    play(play_refusals);
    struct oneib_client *client = open_client();
    assert_int_equal(oneib_client_have(client, &request, WAIT_MS, &record, &err), -1);
    assert_string_equal(err.text, "no VF is free");
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    must_have(client, 1, 1);
    assert_int_equal(oneib_client_wait(client, WAIT_MS, &err), -1);
    assert_string_equal(err.text, "the key has not come");
    oneib_client_close(client);
    assert_played();
}

static void play_the_wrong_nic(int listener)
{
    const int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_HAVE);
    say_record(fd, 1, 42, 2);
}

static void play_the_wrong_kind(int listener)
{
    const int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_HAVE);
    say_end(fd);
}

static void play_nonsense(int listener)
{
    const int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_HAVE);
    if (send(fd, "nonsense", 8, MSG_NOSIGNAL) != 8)
        _exit(4);
}

static void assert_nonsense(player part, const char *words)
{
    struct oneib_vf_record record;
    const struct oneib_request request = have(1);
    play(part);
    struct oneib_client *client = open_client();
    assert_int_equal(oneib_client_have(client, &request, WAIT_MS, &record, &err), -1);
    assert_told(ONEIB_ERROR_PROTOCOL, words);
    oneib_client_close(client);
    assert_played();
}

static void an_answer_that_is_none_is_no_answer(void **state)
{
    (void)state;
    assert_nonsense(play_the_wrong_nic, "for VM 42 NIC 2 instead of VM 42 NIC 1");
    assert_nonsense(play_the_wrong_kind, "another kind of answer");
    assert_nonsense(play_nonsense, "systemctl restart oneib-node.service");
}

/* ---- who is there ---------------------------------------------------------------------------- */

static void without_a_service_the_command_that_starts_it_is_named(void **state)
{
    (void)state;
    struct oneib_client *client;
    struct oneib_service_list list;
    assert_int_equal(oneib_client_list(&list, &err), -1);
    assert_told(ONEIB_ERROR_UNREACHABLE, "systemctl start oneib-node.socket");
    const double began = oneib_now_ms();
    assert_int_equal(oneib_client_open(&client, &err), -1);
    assert_null(client);
    assert_told(ONEIB_ERROR_UNREACHABLE, "systemctl start oneib-node.socket");
    assert_true(oneib_now_ms() - began < 5000);

    close(listen_at("node.sock"));
    assert_int_equal(oneib_client_open(&client, &err), -1);
    assert_told(ONEIB_ERROR_UNREACHABLE, "Connection refused");
}

static void play_full(int listener)
{
    const int fd = take_call(listener);
    say_failed(fd, "too many callers");
}

static void one_that_is_not_let_in_is_told_why(void **state)
{
    (void)state;
    struct oneib_vf_record record;
    const struct oneib_request request = have(1);
    play(play_full);
    struct oneib_client *client = open_client();
    assert_played();
    assert_int_equal(oneib_client_have(client, &request, WAIT_MS, &record, &err), -1);
    assert_string_equal(err.text, "too many callers");
    oneib_client_close(client);
}

static void play_one_refusal_of_many(int listener)
{
    close(take_call(listener));
    int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_HAVE);
    say_record(fd, 1, 42, 1);
    hear(fd, ONEIB_REQUEST_HAVE);
    close(fd);
    fd = take_call(listener);
    if (hear(fd, ONEIB_REQUEST_HAVE).nic_id != 1)
        _exit(6);
    say_record(fd, 2, 42, 1);
    if (hear(fd, ONEIB_REQUEST_HAVE).nic_id != 2)
        _exit(6);
    say_record(fd, 3, 42, 2);
    hear(fd, ONEIB_REQUEST_WAIT);
    say_failed(fd, "of a service that has ended");
    close(fd);
    fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_HAVE);
    say_record(fd, 2, 42, 1);
    hear(fd, ONEIB_REQUEST_HAVE);
    say_record(fd, 3, 42, 2);
    hear(fd, ONEIB_REQUEST_WAIT);
    say_record(fd, 2, 42, 1);
    say_record(fd, 3, 42, 2);
    say_end(fd);
    hear(fd, ONEIB_REQUEST_WAIT);
    say_end(fd);
}

static void a_service_that_is_started_anew_is_asked_the_same_again(void **state)
{
    (void)state;
    play(play_one_refusal_of_many);
    struct oneib_client *client = open_client();
    must_have(client, 1, 1);
    must_have(client, 2, 3);
    if (oneib_client_wait(client, WAIT_MS, &err) < 0)
        fail_msg("%s", err.text);
    /* What was waited for is not asked again. */
    assert_int_equal(oneib_client_wait(client, WAIT_MS, &err), 0);
    oneib_client_close(client);
    assert_played();
}

static void play_a_refusal_to_go_on(int listener)
{
    int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_HAVE);
    say_record(fd, 1, 42, 1);
    hear(fd, ONEIB_REQUEST_HAVE);
    say_record(fd, 2, 42, 2);
    hear(fd, ONEIB_REQUEST_WAIT);
    close(fd);
    fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_HAVE);
    say_failed(fd, "no VF is free any more");
    hear(fd, ONEIB_REQUEST_HAVE);
    say_failed(fd, "nor for this one");
    hear(fd, ONEIB_REQUEST_WAIT);
    say_end(fd);
}

static void what_is_refused_when_it_is_asked_again_has_failed(void **state)
{
    (void)state;
    play(play_a_refusal_to_go_on);
    struct oneib_client *client = open_client();
    must_have(client, 1, 1);
    must_have(client, 2, 2);
    assert_int_equal(oneib_client_wait(client, WAIT_MS, &err), -1);
    assert_string_equal(err.text, "no VF is free any more");
    oneib_client_close(client);
    assert_played();
}

static void play_after_a_while(int listener)
{
    close(listener);
    pause_ms(300);
    const int fd = take_call(listen_at("node.sock"));
    hear(fd, ONEIB_REQUEST_HAVE);
    say_record(fd, 1, 42, 1);
}

static void a_socket_that_nobody_listens_at_yet_is_waited_for(void **state)
{
    (void)state;
    play(play_after_a_while);
    pause_ms(50);
    struct oneib_client *client = open_client();
    must_have(client, 1, 1);
    oneib_client_close(client);
    assert_played();
}

static void a_caller_that_is_killed_hangs_up(void **state)
{
    (void)state;
    const int listener = listen_at("node.sock");
    const pid_t caller = fork();
    if (caller == 0) {
        struct oneib_client *client = open_client();
        oneib_client_wait(client, WAIT_MS, &err);
        _exit(0);
    }
    const int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_WAIT);
    kill(caller, SIGTERM);
    hear_nothing_more(fd);
    int status;
    assert_int_equal(waitpid(caller, &status, 0), caller);
    assert_true(WIFSIGNALED(status));
    close(fd);
    close(listener);
}

static volatile sig_atomic_t interruptions;

static void interrupt(int number)
{
    (void)number;
    interruptions++;
}

static void play_slowly(int listener)
{
    const int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_HAVE);
    pause_ms(300);
    say_record(fd, 1, 42, 1);
}

static void a_signal_in_between_changes_nothing(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = interrupt};
    const struct itimerval often = {.it_interval.tv_usec = 10000, .it_value.tv_usec = 10000};
    play(play_slowly);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    struct oneib_client *client = open_client();
    must_have(client, 1, 1);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    assert_true(interruptions > 5);
    oneib_client_close(client);
    assert_played();
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void play_list(int listener)
{
    const int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_LIST);
    say_record(fd, 1, 42, 1);
    say_record(fd, 2, 42, 2);
    say_domain(fd, "one-42", 42, true, 1);
    say_domain(fd, "one-42", 42, true, 2);
    say_domain(fd, "idle", -1, false, 0);
    say_domain(fd, "mine", -1, true, 3);
    say_end(fd);
    hear_nothing_more(fd);
}

static void assert_listed(void)
{
    struct oneib_service_list list;
    if (oneib_client_list(&list, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(list.table.count, 2);
    assert_int_equal(list.table.items[1].nic_id, 2);
    assert_true(list.domains_known);
    assert_int_equal(list.domains.count, 3);
    assert_string_equal(list.domains.items[0].name, "one-42");
    assert_true(list.domains.items[0].running);
    assert_int_equal(list.domains.items[0].vm_id, 42);
    assert_int_equal(list.domains.items[0].device_count, 2);
    assert_int_equal(list.domains.items[0].devices[1].function, 2);
    assert_int_equal(list.domains.items[1].device_count, 0);
    assert_string_equal(list.domains.items[2].name, "mine");
    oneib_service_list_clear(&list);
    assert_int_equal(list.table.count, 0);
    assert_played();
}

static void a_list_has_the_records_and_the_domains(void **state)
{
    (void)state;
    play(play_list);
    assert_listed();
}

static void who_may_only_look_looks(void **state)
{
    (void)state;
    const int closed = listen_at("node.sock");
    char *path = tree_path("/run/oneib/node.sock");
    assert_int_equal(chmod(path, 0), 0);
    free(path);
    play_on(listen_at("node-read.sock"), play_list);
    assert_listed();
    struct oneib_client *client;
    assert_int_equal(oneib_client_open(&client, &err), -1);
    assert_told(ONEIB_ERROR_UNREACHABLE, "OpenNebula's group");
    close(closed);
}

static void play_unknown_domains(int listener)
{
    const int fd = take_call(listener);
    const struct oneib_error why = {.code = ONEIB_ERROR_UNREACHABLE, .text = "libvirt is down"};
    const struct oneib_answer end = oneib_answer_with(ONEIB_ANSWER_END, &why);
    hear(fd, ONEIB_REQUEST_LIST);
    say_record(fd, 1, 42, 1);
    say(fd, &end);
}

static void that_nobody_knows_the_domains_is_told(void **state)
{
    (void)state;
    struct oneib_service_list list;
    play(play_unknown_domains);
    assert_int_equal(oneib_client_list(&list, &err), 0);
    assert_int_equal(list.table.count, 1);
    assert_false(list.domains_known);
    assert_string_equal(list.why.text, "libvirt is down");
    oneib_service_list_clear(&list);
    assert_played();
}

static void play_half_a_list(int listener)
{
    int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_LIST);
    say_record(fd, 7, 41, 1);
    say_domain(fd, "one-41", 41, true, 7);
    close(fd);
    play_list(listener);
}

static void half_a_list_is_read_again_from_its_beginning(void **state)
{
    (void)state;
    play(play_half_a_list);
    assert_listed();
}

static void play_a_list_with_a_vf_twice(int listener)
{
    const int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_LIST);
    say_record(fd, 1, 42, 1);
    say_record(fd, 1, 43, 1);
}

static void a_list_that_contradicts_itself_is_none(void **state)
{
    (void)state;
    struct oneib_service_list list;
    play(play_a_list_with_a_vf_twice);
    assert_int_equal(oneib_client_list(&list, &err), -1);
    assert_told(ONEIB_ERROR_PROTOCOL, "taken already");
    assert_int_equal(list.table.count, 0);
    assert_played();
}

static void say_grants(int fd, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_GRANT);
        answer.grant = (struct oneib_grant){
            .vm_id = i, .network_id = 7, .port = 1, .pkey = 5, .device = "mlx4_0"};
        answer.grant.guid = oneib_guid_encode(0, i, 0);
        say(fd, &answer);
    }
}

static void play_a_full_list(int listener)
{
    const int fd = take_call(listener);
    const struct oneib_error why = {.code = ONEIB_ERROR_REFUSED, .text = "its list is old"};
    struct oneib_answer follows = oneib_answer_with(ONEIB_ANSWER_FOLLOWS, &why);
    follows.follows = (struct oneib_follows){.has_list = true, .unseen = 11};
    hear(fd, ONEIB_REQUEST_LIST);
    say_grants(fd, ONEIB_GRANTS_MAX);
    say(fd, &follows);
    say_end(fd);
    hear_nothing_more(fd);
}

static void a_list_has_the_grants_that_are_followed_and_why_nothing_new_is_opened(void **state)
{
    (void)state;
    struct oneib_service_list list;
    play(play_a_full_list);
    if (oneib_client_list(&list, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(list.grants->count, ONEIB_GRANTS_MAX);
    for (uint32_t i = 0; i < ONEIB_GRANTS_MAX; i++)
        assert_int_equal(list.grants->items[i].vm_id, i);
    assert_true(list.follows.has_list);
    assert_int_equal(list.follows.unseen, 11);
    assert_string_equal(list.stale.text, "its list is old");
    oneib_service_list_clear(&list);
    assert_played();
}

static void play_too_many_grants(int listener)
{
    const int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_LIST);
    say_grants(fd, ONEIB_GRANTS_MAX + 1);
}

static void a_list_of_more_grants_than_there_can_be_is_none(void **state)
{
    (void)state;
    struct oneib_service_list list;
    play(play_too_many_grants);
    assert_int_equal(oneib_client_list(&list, &err), -1);
    assert_told(ONEIB_ERROR_PROTOCOL, "more than 1024 grants");
    assert_null(list.grants);
    assert_played();
}

static void play_a_list_that_fails(int listener)
{
    const int fd = take_call(listener);
    hear(fd, ONEIB_REQUEST_LIST);
    say_record(fd, 1, 42, 1);
    say_failed(fd, "it is ending");
}

static void a_list_that_is_refused_is_none(void **state)
{
    (void)state;
    struct oneib_service_list list;
    play(play_a_list_that_fails);
    assert_int_equal(oneib_client_list(&list, &err), -1);
    assert_told(ONEIB_ERROR_REFUSED, "it is ending");
    assert_int_equal(list.table.count, 0);
    assert_played();
}

static void who_may_not_even_look_is_told_so(void **state)
{
    (void)state;
    struct oneib_service_list list;
    const int closed = listen_at("node.sock");
    char *path = tree_path("/run/oneib/node.sock");
    assert_int_equal(chmod(path, 0), 0);
    free(path);
    assert_int_equal(oneib_client_list(&list, &err), -1);
    assert_told(ONEIB_ERROR_UNREACHABLE, "node-read.sock");
    close(closed);
}

/* One that hangs takes no caller in: its queue is full some time. */
static void a_service_that_takes_nobody_in_is_waited_for_as_long_as_is_said(void **state)
{
    (void)state;
    enum { QUEUE = 64 };
    int fds[QUEUE + 2], taken = 0;
    const int listener = listen_at("node.sock");
    double began = 0;
    enum oneib_connection_outcome outcome = ONEIB_CONNECTION_FINE;
    while (outcome == ONEIB_CONNECTION_FINE && taken < QUEUE + 2) {
        began = oneib_now_ms();
        outcome = oneib_connection_open(ONEIB_SERVICE_SOCKET, began + 100, &fds[taken], &err);
        taken += outcome == ONEIB_CONNECTION_FINE;
    }
    assert_int_equal(outcome, ONEIB_CONNECTION_LOST);
    assert_true(oneib_now_ms() - began >= 90);
    assert_int_equal(fds[taken], -1);
    assert_told(ONEIB_ERROR_UNREACHABLE, "Resource temporarily unavailable");
    while (taken > 0)
        close(fds[--taken]);
    close(listener);
}

/* A connection, and the service's end of it. */
static int connect_both(int *service)
{
    int fd;
    const int listener = listen_at("node.sock");
    assert_int_equal(
        oneib_connection_open(ONEIB_SERVICE_SOCKET, oneib_now_ms() + WAIT_MS, &fd, &err),
        ONEIB_CONNECTION_FINE);
    *service = accept(listener, NULL, NULL);
    assert_true(*service >= 0);
    close(listener);
    return fd;
}

static enum oneib_connection_outcome receive_soon(int fd, struct oneib_answer *answer)
{
    return oneib_connection_receive(fd, answer, oneib_now_ms() + 100, &err);
}

static void a_service_that_reads_nothing_is_waited_for_as_long_as_is_said(void **state)
{
    (void)state;
    int service;
    const int fd = connect_both(&service);
    const struct oneib_request request = have(1);
    enum oneib_connection_outcome outcome = ONEIB_CONNECTION_FINE;
    double began = 0;
    for (int i = 0; outcome == ONEIB_CONNECTION_FINE && i < 100000; i++) {
        began = oneib_now_ms();
        outcome = oneib_connection_send(fd, &request, began + 100, &err);
    }
    assert_int_equal(outcome, ONEIB_CONNECTION_FAILED);
    assert_told(ONEIB_ERROR_TIMEOUT, "oneib-node does not answer");
    assert_true(oneib_now_ms() - began >= 100);
    close(fd);
    close(service);
}

static void an_answer_with_something_behind_it_is_none(void **state)
{
    (void)state;
    int service;
    const int fd = connect_both(&service);
    const struct oneib_answer end = oneib_answer_new(ONEIB_ANSWER_END);
    struct oneib_answer answer;
    char bytes[sizeof answer + 1] = {0};
    oneib_answer_pack(&end, &answer);
    memcpy(bytes, &answer, sizeof answer);
    assert_int_equal(send(service, bytes, sizeof bytes, 0), (int)sizeof bytes);
    assert_int_equal(receive_soon(fd, &answer), ONEIB_CONNECTION_FAILED);
    assert_told(ONEIB_ERROR_PROTOCOL, "cannot be understood");
    close(fd);
    close(service);
}

/* It was told to end, and has not read what it was asked. */
static void the_last_words_of_a_service_that_has_gone_are_heard(void **state)
{
    (void)state;
    int service;
    const int fd = connect_both(&service);
    const struct oneib_request request = have(1);
    struct oneib_answer answer;
    assert_int_equal(oneib_connection_send(fd, &request, oneib_now_ms() + WAIT_MS, &err),
                     ONEIB_CONNECTION_FINE);
    say_failed(service, "it is ending");
    close(service);
    assert_int_equal(receive_soon(fd, &answer), ONEIB_CONNECTION_FINE);
    assert_int_equal(answer.kind, ONEIB_ANSWER_FAILED);
    assert_int_equal(receive_soon(fd, &answer), ONEIB_CONNECTION_LOST);
    assert_told(ONEIB_ERROR_UNREACHABLE, "closed the connection without an answer: its log");
    close(fd);
}

static void an_answer_is_waited_for_as_long_as_is_said(void **state)
{
    (void)state;
    int fd;
    struct oneib_answer answer;
    const int listener = listen_at("node.sock");
    const double began = oneib_now_ms();
    assert_int_equal(oneib_connection_open(ONEIB_SERVICE_SOCKET, began + WAIT_MS, &fd, &err),
                     ONEIB_CONNECTION_FINE);
    assert_int_equal(oneib_connection_receive(fd, &answer, began + 100, &err),
                     ONEIB_CONNECTION_FAILED);
    assert_told(ONEIB_ERROR_TIMEOUT, "oneib-node does not answer");
    assert_true(oneib_now_ms() - began >= 100);
    close(fd);
    close(listener);
}

#define CALL(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALL(what_is_asked_is_answered),
        CALL(a_refusal_comes_with_its_own_words),
        CALL(an_answer_that_is_none_is_no_answer),
        CALL(without_a_service_the_command_that_starts_it_is_named),
        CALL(one_that_is_not_let_in_is_told_why),
        CALL(a_service_that_is_started_anew_is_asked_the_same_again),
        CALL(what_is_refused_when_it_is_asked_again_has_failed),
        CALL(a_socket_that_nobody_listens_at_yet_is_waited_for),
        CALL(a_caller_that_is_killed_hangs_up),
        CALL(a_signal_in_between_changes_nothing),
        CALL(a_list_has_the_records_and_the_domains),
        CALL(who_may_only_look_looks),
        CALL(that_nobody_knows_the_domains_is_told),
        CALL(half_a_list_is_read_again_from_its_beginning),
        CALL(a_list_that_contradicts_itself_is_none),
        CALL(a_list_has_the_grants_that_are_followed_and_why_nothing_new_is_opened),
        CALL(a_list_of_more_grants_than_there_can_be_is_none),
        CALL(a_list_that_is_refused_is_none),
        CALL(who_may_not_even_look_is_told_so),
        CALL(a_service_that_takes_nobody_in_is_waited_for_as_long_as_is_said),
        CALL(an_answer_is_waited_for_as_long_as_is_said),
        CALL(a_service_that_reads_nothing_is_waited_for_as_long_as_is_said),
        CALL(an_answer_with_something_behind_it_is_none),
        CALL(the_last_words_of_a_service_that_has_gone_are_heard),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
