// SPDX-License-Identifier: Apache-2.0
/* The subscription, against a publisher on the loopback. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "event_messages.h"
#include "opennebula/events_internal.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#define WAIT_MS 10000

/* A publisher, and who is subscribed to it. */
struct scene {
    void *context, *publisher;
    char endpoint[64];
    struct oneib_events *events;
    struct oneib_error err;
};

static void publisher_open(struct scene *scene, const char *endpoint)
{
    size_t size = sizeof scene->endpoint;
    int no_linger = 0;
    scene->context = zmq_ctx_new();
    scene->publisher = zmq_socket(scene->context, ZMQ_XPUB);
    assert_non_null(scene->publisher);
    zmq_setsockopt(scene->publisher, ZMQ_LINGER, &no_linger, sizeof no_linger);
    assert_int_equal(zmq_bind(scene->publisher, endpoint), 0);
    zmq_getsockopt(scene->publisher, ZMQ_LAST_ENDPOINT, scene->endpoint, &size);
}

static void publisher_close(struct scene *scene)
{
    if (!scene->publisher)
        return;
    zmq_close(scene->publisher);
    zmq_ctx_term(scene->context);
    scene->publisher = scene->context = NULL;
}

static void subscribe(struct scene *scene)
{
    scene->events = oneib_events_open(scene->endpoint, &scene->err);
    if (!scene->events)
        fail_msg("%s", scene->err.text);
}

static int open_scene(void **state)
{
    static struct scene scene;
    scene = (struct scene){0};
    *state = &scene;
    publisher_open(&scene, "tcp://127.0.0.1:*");
    subscribe(&scene);
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    oneib_events_close(scene->events);
    publisher_close(scene);
    return 0;
}

/* Waits as a daemon does: drain, then poll both descriptors. */
static struct oneib_event await(struct scene *scene)
{
    struct oneib_event event = {.kind = ONEIB_EVENT_NOTHING};
    double end = oneib_now_ms() + WAIT_MS;
    int outcome;
    while ((outcome = oneib_events_next(scene->events, &event, &scene->err)) == 0) {
        if (oneib_now_ms() > end)
            fail_msg("no event; %s", oneib_events_stream(scene->events)->trouble);
        int descriptors[2];
        oneib_events_descriptors(scene->events, descriptors);
        struct pollfd watched[] = {{.fd = descriptors[0], .events = POLLIN},
                                   {.fd = descriptors[1], .events = POLLIN}};
        poll(watched, 2, 500);
    }
    if (outcome < 0)
        fail_msg("%s", scene->err.text);
    return event;
}

static void await_kind(struct scene *scene, enum oneib_event_kind kind, uint32_t id)
{
    struct oneib_event event = await(scene);
    assert_int_equal(event.kind, kind);
    if (kind != ONEIB_EVENT_GAP)
        assert_int_equal(event.id, id);
}

static void assert_quiet(struct scene *scene)
{
    struct oneib_event event;
    usleep(50000);
    assert_int_equal(oneib_events_next(scene->events, &event, &scene->err), 0);
}

/* The publisher has heard of all subscriptions: it is told of each prefix (with a leading 1; 0 when
 * the last one who wants it is gone). */
static void await_subscriptions(struct scene *scene)
{
    char topic[128];
    int timeout = WAIT_MS;
    zmq_setsockopt(scene->publisher, ZMQ_RCVTIMEO, &timeout, sizeof timeout);
    const struct oneib_event_topic *missing = oneib_event_topics;
    while (missing->prefix) {
        assert_true(zmq_recv(scene->publisher, topic, sizeof topic, 0) > 1);
        missing += topic[0];
    }
}

static void connect_now(struct scene *scene)
{
    await_kind(scene, ONEIB_EVENT_GAP, 0);
    await_subscriptions(scene);
}

static void send_frame(struct scene *scene, const char *frame, bool more)
{
    size_t length = strlen(frame);
    assert_int_equal(zmq_send(scene->publisher, frame, length, more ? ZMQ_SNDMORE : 0), length);
}

static void publish(struct scene *scene, const char *key, const char *payload)
{
    send_frame(scene, key, true);
    send_frame(scene, payload, false);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void the_first_connection_is_a_gap(void **state)
{
    struct scene *scene = *state;
    const struct oneib_stream *stream = oneib_events_stream(scene->events);
    assert_false(stream->connected);
    assert_true(*stream->trouble);
    await_kind(scene, ONEIB_EVENT_GAP, 0);
    assert_true(stream->connected);
    assert_string_equal(stream->trouble, "");
    assert_int_equal(stream->gaps, 0);
    assert_quiet(scene);
}

static void events_come_in_order(void **state)
{
    struct scene *scene = *state;
    oneib_autofree char *payload = call_payload("IN", "5");
    connect_now(scene);
    publish(scene, "EVENT STATE VM/ACTIVE/BOOT/1 ", "");
    publish(scene, "EVENT STATE NET/READY//2 ", "x");
    publish(scene, "EVENT STATE HOST/INIT//3 ", "x");
    publish(scene, "EVENT API one.vn.update 1", payload);
    publish(scene, "EVENT API one.vn.update 0", payload);
    publish(scene, "EVENT API one.vm.attachnic 1", payload);
    await_kind(scene, ONEIB_EVENT_VM, 1);
    await_kind(scene, ONEIB_EVENT_NETWORK, 2);
    await_kind(scene, ONEIB_EVENT_HOST, 3);
    await_kind(scene, ONEIB_EVENT_NETWORK, 5);
    await_kind(scene, ONEIB_EVENT_VM, 5);
    assert_quiet(scene);
    assert_int_equal(oneib_events_stream(scene->events)->messages, 6);
    assert_int_equal(oneib_events_stream(scene->events)->unreadable, 0);
}

static void what_is_of_no_interest_does_not_even_arrive(void **state)
{
    struct scene *scene = *state;
    connect_now(scene);
    publish(scene, "EVENT VM 1/ACTIVE/BOOT ", "x");
    publish(scene, "EVENT STATE IMAGE/READY//0 ", "x");
    publish(scene, "EVENT API one.vm.action 1", "x");
    publish(scene, "EVENT API one.vmpool.monitoring 1", "x");
    publish(scene, "EVENT STATE VM/ACTIVE/BOOT/1 ", "x");
    await_kind(scene, ONEIB_EVENT_VM, 1);
    assert_int_equal(oneib_events_stream(scene->events)->messages, 1);
}

static void messages_of_one_or_three_frames_are_gaps(void **state)
{
    struct scene *scene = *state;
    connect_now(scene);
    send_frame(scene, "EVENT STATE VM/ACTIVE/BOOT/1 ", false);
    send_frame(scene, "EVENT STATE VM/ACTIVE/BOOT/2 ", true);
    send_frame(scene, "x", true);
    send_frame(scene, "EVENT STATE VM/ACTIVE/BOOT/3 ", false);
    publish(scene, "EVENT STATE VM/ACTIVE/BOOT/4 ", "");
    await_kind(scene, ONEIB_EVENT_GAP, 0);
    await_kind(scene, ONEIB_EVENT_GAP, 0);
    await_kind(scene, ONEIB_EVENT_VM, 4);
    assert_int_equal(oneib_events_stream(scene->events)->messages, 3);
    assert_int_equal(oneib_events_stream(scene->events)->unreadable, 2);
}

static void an_empty_payload_of_a_call_is_a_gap(void **state)
{
    struct scene *scene = *state;
    connect_now(scene);
    publish(scene, "EVENT API one.vn.update 1", "");
    await_kind(scene, ONEIB_EVENT_GAP, 0);
    assert_int_equal(oneib_events_stream(scene->events)->unreadable, 1);
}

static void a_burst_of_a_thousand_arrives_whole(void **state)
{
    struct scene *scene = *state;
    char key[64];
    connect_now(scene);
    for (uint32_t id = 0; id < 1000; id++) {
        snprintf(key, sizeof key, "EVENT STATE VM/ACTIVE/BOOT/%u ", id);
        publish(scene, key, "x");
    }
    for (uint32_t id = 0; id < 1000; id++)
        await_kind(scene, ONEIB_EVENT_VM, id);
}

/* ---- the connection -------------------------------------------------------------------------- */

static void a_publisher_that_goes_and_comes_back_is_two_gaps(void **state)
{
    struct scene *scene = *state;
    const struct oneib_stream *stream = oneib_events_stream(scene->events);
    char endpoint[64];
    connect_now(scene);
    snprintf(endpoint, sizeof endpoint, "%s", scene->endpoint);
    publisher_close(scene);
    await_kind(scene, ONEIB_EVENT_GAP, 0);
    assert_false(stream->connected);
    assert_int_equal(stream->gaps, 1);
    assert_non_null(strstr(stream->trouble, "the connection ended"));
    publisher_open(scene, endpoint);
    connect_now(scene);
    assert_true(stream->connected);
    assert_string_equal(stream->trouble, "");
    publish(scene, "EVENT STATE VM/ACTIVE/BOOT/1 ", "");
    await_kind(scene, ONEIB_EVENT_VM, 1);
    assert_int_equal(stream->gaps, 1);
}

/* The publisher may not have noticed yet that the first connection is gone, and then says nothing
 * of the second one's subscriptions. */
static void publish_until_heard(struct scene *scene, const char *key)
{
    int descriptors[2];
    oneib_events_descriptors(scene->events, descriptors);
    struct pollfd heard = {.fd = descriptors[0], .events = POLLIN};
    do
        publish(scene, key, "");
    while (poll(&heard, 1, 100) == 0);
}

/* More than the limit: the message itself never comes, and what follows comes on a new connection.
 */
static void a_message_that_is_too_long_is_a_gap_and_the_stream_goes_on(void **state)
{
    struct scene *scene = *state;
    const struct oneib_stream *stream = oneib_events_stream(scene->events);
    size_t length = (size_t)50 << 20;
    connect_now(scene);
    char *payload = malloc(length);
    assert_non_null(payload);
    memset(payload, 'A', length);
    send_frame(scene, "EVENT STATE VM/ACTIVE/BOOT/1 ", true);
    assert_int_equal(zmq_send(scene->publisher, payload, length, 0), length);
    free(payload);
    await_kind(scene, ONEIB_EVENT_GAP, 0);
    assert_false(stream->connected);
    assert_int_equal(stream->gaps, 1);
    assert_int_equal(stream->messages, 0);
    assert_non_null(strstr(stream->trouble, "16 MiB"));
    await_kind(scene, ONEIB_EVENT_GAP, 0);
    assert_true(stream->connected);
    publish_until_heard(scene, "EVENT STATE VM/ACTIVE/BOOT/2 ");
    await_kind(scene, ONEIB_EVENT_VM, 2);
}

/* Waits until the reason holds `text`. */
static void await_trouble(struct scene *scene, const char *text)
{
    double end = oneib_now_ms() + WAIT_MS;
    struct oneib_event event;
    while (!strstr(oneib_events_stream(scene->events)->trouble, text)) {
        if (oneib_now_ms() > end)
            fail_msg("trouble: %s", oneib_events_stream(scene->events)->trouble);
        assert_int_equal(oneib_events_next(scene->events, &event, &scene->err), 0);
        usleep(5000);
    }
}

static void a_refused_connection_says_why(void **state)
{
    struct scene *scene = *state;
    oneib_events_close(scene->events);
    publisher_close(scene);
    subscribe(scene);
    await_trouble(scene, "connection refused");
    assert_non_null(strstr(oneib_events_stream(scene->events)->trouble, "HM_MAD in oned.conf"));
    assert_int_equal(oneib_events_stream(scene->events)->gaps, 0);
    publisher_open(scene, scene->endpoint);
    await_kind(scene, ONEIB_EVENT_GAP, 0);
}

/* A listening socket, and its endpoint. */
static int listen_somewhere(char *endpoint, size_t size)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 4), 0);
    getsockname(fd, (struct sockaddr *)&address, &length);
    snprintf(endpoint, size, "tcp://127.0.0.1:%u", ntohs(address.sin_port));
    return fd;
}

static void a_server_of_another_kind_is_named_so(void **state)
{
    static const char answer[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    struct scene *scene = *state;
    oneib_events_close(scene->events);
    oneib_autoclose int listener = listen_somewhere(scene->endpoint, sizeof scene->endpoint);
    subscribe(scene);
    int peer = accept(listener, NULL, NULL);
    assert_int_equal(write(peer, answer, sizeof answer - 1), sizeof answer - 1);
    close(peer);
    await_trouble(scene, "no ZeroMQ publisher");
    assert_false(oneib_events_stream(scene->events)->connected);
}

static void an_endpoint_that_is_none_is_refused(void **state)
{
    static const char *const endpoints[] = {"",
                                            "nonsense",
                                            "tcp://",
                                            "tcp://127.0.0.1",
                                            "tcp://127.0.0.1:port",
                                            "http://127.0.0.1:2101"};
    (void)state;
    for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++) {
        struct oneib_error err = {0};
        assert_null(oneib_events_open(endpoints[i], &err));
        assert_int_equal(err.code, ONEIB_ERROR_CONFIG);
        assert_non_null(strstr(err.text, "one.events"));
    }
}

static void closing_nothing_is_allowed(void **state)
{
    (void)state;
    oneib_events_close(NULL);
}

#define with_scene(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_scene(the_first_connection_is_a_gap),
        with_scene(events_come_in_order),
        with_scene(what_is_of_no_interest_does_not_even_arrive),
        with_scene(messages_of_one_or_three_frames_are_gaps),
        with_scene(an_empty_payload_of_a_call_is_a_gap),
        with_scene(a_burst_of_a_thousand_arrives_whole),
        with_scene(a_publisher_that_goes_and_comes_back_is_two_gaps),
        with_scene(a_message_that_is_too_long_is_a_gap_and_the_stream_goes_on),
        with_scene(a_refused_connection_says_why),
        with_scene(a_server_of_another_kind_is_named_so),
        cmocka_unit_test(an_endpoint_that_is_none_is_refused),
        cmocka_unit_test(closing_nothing_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
