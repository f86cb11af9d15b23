// SPDX-License-Identifier: Apache-2.0
#include "oneibd/http.h"

#include "base/clock.h"
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "../../skip.h"
#include <cmocka.h>

#define PATIENCE_MS 20000
#define FRESH_MS 600000 /* longer than any test */

/* ---- a client -------------------------------------------------------------------------------- */

static struct oneib_http *http;

static int start(void **state)
{
    struct oneib_error err = {0};
    (void)state;
    http = oneib_http_start("127.0.0.1:0", &err);
    if (!http)
        print_error("%s\n", err.text);
    return http ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    oneib_http_stop(http);
    http = NULL;
    return 0;
}

static void publish(const char *metrics, const char *health)
{
    struct oneib_text text = {0};
    oneib_text_append(&text, metrics);
    oneib_http_publish(http, &text, health, FRESH_MS);
    assert_null(text.data);
}

static struct sockaddr address_of(const char *host, uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = inet_addr(host)};
    struct sockaddr any;
    _Static_assert(sizeof any == sizeof address, "an IPv4 address is copied");
    memcpy(&any, &address, sizeof any);
    return any;
}

static int connect_from(const char *host)
{
    const struct sockaddr from = address_of(host, 0);
    const struct sockaddr to = address_of("127.0.0.1", oneib_http_port(http));
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, &from, sizeof from), 0);
    assert_int_equal(connect(fd, &to, sizeof to), 0);
    return fd;
}

static int connect_client(void)
{
    return connect_from("127.0.0.1");
}

static bool readable(int fd, int timeout_ms)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    return poll(&end, 1, timeout_ms) > 0;
}

static void send_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the server has closed: what it answered is still to be read */
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void send_text(int fd, const char *text)
{
    send_all(fd, text, strlen(text));
}

/* Until the server closes. */
static char *read_all(int fd)
{
    struct oneib_text text = {0};
    static __thread char buffer[65536];
    for (;;) {
        assert_true(readable(fd, PATIENCE_MS));
        const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
        if (got <= 0)
            break;
        oneib_text_append_bytes(&text, buffer, (size_t)got);
    }
    return text.data ? text.data : strdup("");
}

static char *exchange(const char *request)
{
    const int fd = connect_client();
    send_text(fd, request);
    char *answer = read_all(fd);
    close(fd);
    return answer;
}

static char *ask(const char *method, const char *path)
{
    char request[512];
    snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
             method, path);
    return exchange(request);
}

static unsigned status_of(const char *answer)
{
    unsigned status = 0;
    sscanf(answer, "HTTP/1.1 %u ", &status);
    return status;
}

static const char *body_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    return end ? end + 4 : "";
}

static void assert_answer(const char *method, const char *path, unsigned status, const char *body)
{
    char *answer = ask(method, path);
    assert_int_equal(status_of(answer), status);
    if (strcmp(body_of(answer), body) != 0)
        fail_msg("%s %s gives \"%s\" and not \"%s\"", method, path, body_of(answer), body);
    free(answer);
}

/* ---- what is served -------------------------------------------------------------------------- */

static void metrics_are_served_as_they_were_published(void **state)
{
    (void)state;
    publish("oneib_members 5\n", "");
    char *answer = ask("GET", "/metrics");
    assert_int_equal(status_of(answer), 200);
    assert_string_equal(body_of(answer), "oneib_members 5\n");
    assert_non_null(strstr(answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    free(answer);
    publish("oneib_members 6\n", "");
    assert_answer("GET", "/metrics", 200, "oneib_members 6\n");
    assert_answer("GET", "/metrics?name[]=x", 200, "oneib_members 6\n");
}

static void before_anything_is_published_nothing_is_well(void **state)
{
    (void)state;
    assert_answer("GET", "/metrics", 503, "not ready yet\n");
    assert_answer("GET", "/healthz", 503, "not ready yet\n");
}

static void health_is_ok_or_the_reasons_why_not(void **state)
{
    (void)state;
    publish("x 1\n", "");
    assert_answer("GET", "/healthz", 200, "ok\n");
    publish("x 1\n", "oned does not answer\nports deviate");
    assert_answer("GET", "/healthz", 503, "oned does not answer\nports deviate\n");
    publish("x 1\n", "one\n");
    assert_answer("GET", "/healthz", 503, "one\n");
    publish("x 1\n", "");
    assert_answer("GET", "/healthz", 200, "ok\n");
}

/* The answer may come too late to find the sign of life fresh: then another one is given. */
static void is_well_after_a_sign_of_life(void)
{
    const double until = oneib_now_ms() + PATIENCE_MS;
    unsigned status = 0;
    while (status != 200 && oneib_now_ms() < until) {
        oneib_http_alive(http);
        char *answer = ask("GET", "/healthz");
        status = status_of(answer);
        free(answer);
    }
    assert_int_equal(status, 200);
}

static void a_daemon_without_a_sign_of_life_is_stuck(void **state)
{
    (void)state;
    struct oneib_text text = {0};
    oneib_http_publish(http, &text, "", 100);
    is_well_after_a_sign_of_life();
    poll(NULL, 0, 150);
    char *answer = ask("GET", "/healthz");
    assert_int_equal(status_of(answer), 503);
    assert_non_null(strstr(answer, "the daemon is stuck"));
    free(answer);
    is_well_after_a_sign_of_life();
}

static void no_metrics_leave_the_old_ones(void **state)
{
    (void)state;
    publish("x 1\n", "");
    struct oneib_text none = {0};
    oneib_http_publish(http, &none, "", FRESH_MS);
    assert_answer("GET", "/metrics", 200, "x 1\n");
}

static void without_a_server_publishing_does_nothing(void **state)
{
    (void)state;
    struct oneib_text text = {0};
    oneib_text_append(&text, "x 1\n");
    oneib_http_publish(NULL, &text, "", FRESH_MS);
    assert_null(text.data);
    oneib_http_alive(NULL);
    oneib_http_stop(NULL);
}

static void head_has_the_length_and_no_body(void **state)
{
    (void)state;
    publish("x 1\n", "");
    char *answer = ask("HEAD", "/metrics");
    assert_int_equal(status_of(answer), 200);
    assert_string_equal(body_of(answer), "");
    assert_non_null(strstr(answer, "Content-Length: 4\r\n"));
    free(answer);
}

static void nothing_else_is_there(void **state)
{
    (void)state;
    publish("x 1\n", "");
    static const char *const paths[] = {"/",           "/metrics/",   "/metric",  "/healthz/x",
                                        "/../metrics", "//metrics",   "/METRICS", "/etc/passwd",
                                        "/%6detrics/", "/favicon.ico"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_answer("GET", paths[i], 404, "only /metrics and /healthz are here\n");
}

static void only_reading_is_allowed(void **state)
{
    (void)state;
    publish("x 1\n", "");
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        char *answer = ask(methods[i], "/metrics");
        assert_int_equal(status_of(answer), 405);
        assert_non_null(strstr(answer, "Allow: GET, HEAD\r\n"));
        free(answer);
    }
    char *answer =
        exchange("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\nabc");
    assert_int_equal(status_of(answer), 405);
    free(answer);
}

static void a_connection_serves_again_and_again(void **state)
{
    (void)state;
    publish("x 1\n", "");
    const int fd = connect_client();
    for (int i = 0; i < 3; i++) {
        char answer[1024];
        size_t length = 0;
        send_text(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        do {
            assert_true(readable(fd, PATIENCE_MS));
            const ssize_t got = recv(fd, answer + length, sizeof answer - 1 - length, 0);
            assert_true(got > 0);
            length += (size_t)got;
            answer[length] = '\0';
        } while (strcmp(body_of(answer), "x 1\n") != 0);
    }
    close(fd);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void an_address_must_be_numbers_and_a_port(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "localhost:9677",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        ":9677",
        "127.1:9677",
        "127.0.0.1:0x10",
        "127.0.0.1 :9677",
        "127.0.0.1:+5",
        "::1:9677",
        "[::1:9677",
        "[]:9677",
        "[127.0.0.1]:9677",
        "0177.0.0.1:9677",
        "[::1]9677",
        "[::1%lo]:9677",
        "",
        ":",
        "[:9677",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:9677"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct oneib_error err = {0};
        assert_null(oneib_http_start(bad[i], &err));
        assert_int_equal(err.code, ONEIB_ERROR_CONFIG);
        assert_non_null(strstr(err.text, "daemon.metrics"));
    }
}

static void a_port_that_is_taken_names_the_key(void **state)
{
    (void)state;
    char address[64];
    struct oneib_error err = {0};
    snprintf(address, sizeof address, "127.0.0.1:%u", oneib_http_port(http));
    assert_null(oneib_http_start(address, &err));
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_non_null(strstr(err.text, "daemon.metrics"));
    assert_non_null(strstr(err.text, address));
}

static void a_port_can_be_had_again_at_once(void **state)
{
    (void)state;
    char address[64];
    publish("x 1\n", "");
    snprintf(address, sizeof address, "127.0.0.1:%u", oneib_http_port(http));
    assert_answer("GET", "/healthz", 200, "ok\n");
    struct oneib_error err = {0};
    oneib_http_stop(http);
    http = oneib_http_start(address, &err);
    if (!http)
        fail_msg("%s", err.text);
}

static void an_address_of_ipv6_is_served(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    struct oneib_http *other = oneib_http_start("[::1]:0", &err);
    if (!other) {
        assert_non_null(strstr(err.text, "[::1]:0"));
        skip_because("no IPv6 here: %s", err.text);
    }
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    union {
        struct sockaddr any;
        struct sockaddr_in6 v6;
    } address = {.v6 = {.sin6_family = AF_INET6,
                        .sin6_port = htons(oneib_http_port(other)),
                        .sin6_addr = IN6ADDR_LOOPBACK_INIT}};
    assert_int_equal(connect(fd, &address.any, sizeof address.v6), 0);
    send_text(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    char *answer = read_all(fd);
    assert_int_equal(status_of(answer), 503);
    free(answer);
    close(fd);
    oneib_http_stop(other);
}

/* ---- clients that mean harm ------------------------------------------------------------------ */

static void half_requests_of_one_peer_leave_places_to_others(void **state)
{
    (void)state;
    publish("x 1\n", "");
    int slow[64];
    for (size_t i = 0; i < 64; i++) {
        slow[i] = connect_client();
        send_text(slow[i], "GET /metrics HT");
    }
    const int other = connect_from("127.0.0.2");
    send_text(other, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_true(readable(other, 2000));
    char *answer = read_all(other);
    assert_int_equal(status_of(answer), 200);
    free(answer);
    close(other);
    for (size_t i = 0; i < 64; i++)
        close(slow[i]);
}

static void a_request_that_never_ends_is_cut_off(void **state)
{
    (void)state;
    const int fd = connect_client();
    const double until = oneib_now_ms() + 9000;
    send_text(fd, "GET /metrics HTTP/1.1\r\nX: ");
    while (!readable(fd, 100) && oneib_now_ms() < until)
        send_text(fd, "a");
    assert_true(readable(fd, 0));
    char *answer = read_all(fd);
    assert_string_equal(answer, "");
    free(answer);
    close(fd);
}

static void huge_headers_are_refused(void **state)
{
    (void)state;
    publish("x 1\n", "");
    const int fd = connect_client();
    static char filler[65536];
    memset(filler, 'a', sizeof filler);
    send_text(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\nX: ");
    for (int i = 0; i < 64; i++)
        send_all(fd, filler, sizeof filler);
    char *answer = read_all(fd);
    assert_true(status_of(answer) == 0 || status_of(answer) >= 400);
    free(answer);
    close(fd);
    assert_answer("GET", "/metrics", 200, "x 1\n");
}

static void a_reader_that_sends_a_body_is_cut_off(void **state)
{
    (void)state;
    publish("x 1\n", "");
    char *answer =
        exchange("GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\nabc");
    assert_true(status_of(answer) != 200);
    free(answer);
}

static void garbage_harms_nobody(void **state)
{
    (void)state;
    publish("x 1\n", "");
    uint32_t seed = 1;
    for (int round = 0; round < 100; round++) {
        char bytes[2048];
        const int fd = connect_client();
        for (size_t i = 0; i < sizeof bytes; i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (char)(seed >> 24);
        }
        send_text(fd, round % 2 ? "GET " : "");
        send_all(fd, bytes, sizeof bytes);
        close(fd);
    }
    /* All of this came from one peer: until the server has seen that they are closed, it has no
     * place for another connection of it. */
    const double until = oneib_now_ms() + 5000;
    unsigned status = 0;
    while (status != 200 && oneib_now_ms() < until) {
        char *answer = ask("GET", "/metrics");
        status = status_of(answer);
        free(answer);
    }
    assert_answer("GET", "/metrics", 200, "x 1\n");
}

static void stopping_waits_for_no_client(void **state)
{
    (void)state;
    publish("x 1\n", "");
    const int idle = connect_client(), slow = connect_client();
    send_text(slow, "GET /metr");
    assert_answer("GET", "/metrics", 200, "x 1\n");
    const double before = oneib_now_ms();
    oneib_http_stop(http);
    http = NULL;
    assert_true(oneib_now_ms() - before < 5000);
    close(idle);
    close(slow);
}

/* ---- threads --------------------------------------------------------------------------------- */

#define LARGE ((size_t)16 << 20)

static void publish_large(char c)
{
    struct oneib_text text = {.data = malloc(LARGE + 1), .length = LARGE, .capacity = LARGE + 1};
    assert_non_null(text.data);
    memset(text.data, c, LARGE);
    text.data[LARGE] = '\0';
    oneib_http_publish(http, &text, "", FRESH_MS);
}

static void an_answer_under_way_stays_what_it_was(void **state)
{
    (void)state;
    publish_large('a');
    const int fd = connect_client();
    send_text(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_true(readable(fd, PATIENCE_MS)); /* much more than sockets hold is under way */
    publish_large('b');
    publish("x 1\n", "");
    char *answer = read_all(fd);
    assert_int_equal(strlen(body_of(answer)), LARGE);
    assert_int_equal(strspn(body_of(answer), "a"), LARGE);
    free(answer);
    close(fd);
}

static void *publish_again_and_again(void *context)
{
    volatile bool *going = context;
    char text[256];
    for (unsigned i = 0; __atomic_load_n(going, __ATOMIC_RELAXED); i++) {
        snprintf(text, sizeof text, "a %u\nb %u\n", i, i);
        publish(text, i % 2 ? "" : "odd");
        oneib_http_alive(http);
    }
    return NULL;
}

static void every_answer_is_of_one_publication(void **state)
{
    (void)state;
    bool going = true;
    pthread_t publisher;
    publish("a 0\nb 0\n", "");
    assert_int_equal(pthread_create(&publisher, NULL, publish_again_and_again, &going), 0);
    for (int i = 0; i < 200; i++) {
        unsigned a, b;
        char *answer = ask("GET", i % 4 ? "/metrics" : "/healthz");
        if (i % 4) {
            assert_int_equal(sscanf(body_of(answer), "a %u\nb %u\n", &a, &b), 2);
            assert_int_equal(a, b);
        } else {
            assert_true(strcmp(body_of(answer), "ok\n") == 0 ||
                        strcmp(body_of(answer), "odd\n") == 0);
        }
        free(answer);
    }
    __atomic_store_n(&going, false, __ATOMIC_RELAXED);
    pthread_join(publisher, NULL);
}

static void *fetch_some(void *context)
{
    (void)context;
    for (int i = 0; i < 25; i++) {
        char *answer = ask("GET", "/metrics");
        assert_int_equal(status_of(answer), 200);
        free(answer);
    }
    return NULL;
}

static void many_readers_at_once_are_served(void **state)
{
    (void)state;
    pthread_t readers[8];
    publish("x 1\n", "");
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, fetch_some, NULL), 0);
    for (int i = 0; i < 100; i++)
        publish("x 2\n", "");
    for (size_t i = 0; i < 8; i++)
        pthread_join(readers[i], NULL);
}

static volatile sig_atomic_t signals_handled;

static void count_signal(int number)
{
    (void)number;
    signals_handled++;
}

static void signals_are_not_handled_in_its_thread(void **state)
{
    (void)state;
    sigset_t one;
    struct sigaction action = {.sa_handler = count_signal};
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    pthread_sigmask(SIG_BLOCK, &one, NULL); /* here, after the server's thread was made */
    kill(getpid(), SIGUSR1);
    poll(NULL, 0, 50);
    assert_int_equal(signals_handled, 0);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    assert_int_equal(signals_handled, 1);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(metrics_are_served_as_they_were_published),
        WITH_SERVER(before_anything_is_published_nothing_is_well),
        WITH_SERVER(health_is_ok_or_the_reasons_why_not),
        WITH_SERVER(a_daemon_without_a_sign_of_life_is_stuck),
        WITH_SERVER(no_metrics_leave_the_old_ones),
        cmocka_unit_test(without_a_server_publishing_does_nothing),
        WITH_SERVER(head_has_the_length_and_no_body),
        WITH_SERVER(nothing_else_is_there),
        WITH_SERVER(only_reading_is_allowed),
        WITH_SERVER(a_connection_serves_again_and_again),
        cmocka_unit_test(an_address_must_be_numbers_and_a_port),
        WITH_SERVER(a_port_that_is_taken_names_the_key),
        WITH_SERVER(a_port_can_be_had_again_at_once),
        cmocka_unit_test(an_address_of_ipv6_is_served),
        WITH_SERVER(half_requests_of_one_peer_leave_places_to_others),
        WITH_SERVER(a_request_that_never_ends_is_cut_off),
        WITH_SERVER(huge_headers_are_refused),
        WITH_SERVER(a_reader_that_sends_a_body_is_cut_off),
        WITH_SERVER(garbage_harms_nobody),
        WITH_SERVER(stopping_waits_for_no_client),
        WITH_SERVER(an_answer_under_way_stays_what_it_was),
        WITH_SERVER(every_answer_is_of_one_publication),
        WITH_SERVER(many_readers_at_once_are_served),
        WITH_SERVER(signals_are_not_handled_in_its_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
