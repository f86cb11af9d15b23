// SPDX-License-Identifier: Apache-2.0
/* The subscription: a ZeroMQ SUB socket and the monitor that tells of its connection. */
#include "base/clock.h"
#include "base/memory.h"
#include "opennebula/events_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define MONITOR_ENDPOINT "inproc://monitor"
#define RECONNECT_FIRST_MS 100
#define RECONNECT_MAX_MS 2000
#define CONNECT_TIMEOUT_MS 5000
#define HANDSHAKE_TIMEOUT_MS 5000
/* A publisher that does not answer within this is behind a dead link, or stopped. libzmq before 4.2
 * (2016) answers no heartbeat: such a connection ends again and again, which is seen. */
#define HEARTBEAT_INTERVAL_MS 5000
#define HEARTBEAT_TIMEOUT_MS 15000
/* Messages that wait here while a change is being put into force; the publisher keeps 1,000 more
 * (its default), then drops. Not more of them: each may be of ONEIB_EVENT_SIZE_MAX. */
#define RECEIVE_MAX 256

#define WATCHED                                                                                    \
    (ZMQ_EVENT_CONNECT_DELAYED | ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_CLOSED |                    \
     ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |    \
     ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL)

struct oneib_events {
    void *context, *subscriber, *monitor;
    char *endpoint;
    struct oneib_stream stream;
    bool gap_due;
    bool given_up; /* libzmq has ended the connection for good, unless it says that it retries */
    double given_up_ms;
};

/* ---- opening --------------------------------------------------------------------------------- */

static int fail_zmq(struct oneib_error *err, const char *what)
{
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "%s: %s", what, zmq_strerror(zmq_errno()));
}

static bool set_options(void *subscriber, const char *endpoint)
{
    const struct {
        int name, value;
    } options[] = {
        {ZMQ_LINGER, 0},
        {ZMQ_RCVHWM, RECEIVE_MAX},
        {ZMQ_RECONNECT_IVL, RECONNECT_FIRST_MS},
        {ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS},
        {ZMQ_CONNECT_TIMEOUT, CONNECT_TIMEOUT_MS},
        {ZMQ_HANDSHAKE_IVL, HANDSHAKE_TIMEOUT_MS},
        {ZMQ_HEARTBEAT_IVL, HEARTBEAT_INTERVAL_MS},
        {ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS},
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_TCP_KEEPALIVE_IDLE, 30},
        {ZMQ_TCP_KEEPALIVE_INTVL, 10},
        {ZMQ_TCP_KEEPALIVE_CNT, 3},
        /* Only for an IPv6 address: else "localhost" would be ::1, where oned does not listen. */
        {ZMQ_IPV6, strchr(endpoint, '[') != NULL},
    };
    const int64_t size_max = (int64_t)ONEIB_EVENT_SIZE_MAX;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (zmq_setsockopt(subscriber, options[i].name, &options[i].value,
                           sizeof options[i].value) < 0)
            return false;
    return zmq_setsockopt(subscriber, ZMQ_MAXMSGSIZE, &size_max, sizeof size_max) == 0;
}

static bool subscribe(void *subscriber)
{
    for (const struct oneib_event_topic *topic = oneib_event_topics; topic->prefix; topic++)
        if (zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, topic->prefix, strlen(topic->prefix)) < 0)
            return false;
    return true;
}

/* The monitor comes before the connection, so that nothing of it is missed. */
static bool watch(struct oneib_events *events)
{
    const int no_linger = 0;
    events->monitor = zmq_socket(events->context, ZMQ_PAIR);
    return events->monitor &&
           zmq_socket_monitor(events->subscriber, MONITOR_ENDPOINT, WATCHED) == 0 &&
           zmq_setsockopt(events->monitor, ZMQ_LINGER, &no_linger, sizeof no_linger) == 0 &&
           zmq_connect(events->monitor, MONITOR_ENDPOINT) == 0;
}

static int start(struct oneib_events *events, const char *endpoint, struct oneib_error *err)
{
    events->endpoint = oneib_strdup(endpoint);
    events->context = zmq_ctx_new();
    events->subscriber = events->context ? zmq_socket(events->context, ZMQ_SUB) : NULL;
    if (!events->subscriber || !set_options(events->subscriber, endpoint) ||
        !subscribe(events->subscriber) || !watch(events))
        return fail_zmq(err, "preparing for oned's events");
    if (zmq_connect(events->subscriber, endpoint) < 0)
        return oneib_fail(err, ONEIB_ERROR_CONFIG,
                          "one.events: \"%s\": %s; write tcp://HOST:PORT or ipc:///PATH", endpoint,
                          zmq_strerror(zmq_errno()));
    return 0;
}

static void explain(struct oneib_events *events, const char *trouble)
{
    snprintf(events->stream.trouble, sizeof events->stream.trouble, "%s", trouble);
}

struct oneib_events *oneib_events_open(const char *endpoint, struct oneib_error *err)
{
    struct oneib_events *events = oneib_alloc(1, sizeof *events);
    if (start(events, endpoint, err) < 0) {
        oneib_events_close(events);
        return NULL;
    }
    explain(events, "connecting for the first time");
    return events;
}

void oneib_events_close(struct oneib_events *events)
{
    if (!events)
        return;
    if (events->subscriber)
        zmq_close(events->subscriber);
    if (events->monitor)
        zmq_close(events->monitor);
    if (events->context)
        while (zmq_ctx_term(events->context) < 0 && zmq_errno() == EINTR)
            ;
    free(events->endpoint);
    free(events);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* 1: a frame, 0: there is none now, -1: the socket failed. */
static int receive(void *socket, zmq_msg_t *frame, struct oneib_error *err)
{
    while (zmq_msg_recv(frame, socket, ZMQ_DONTWAIT) < 0) {
        if (zmq_errno() == EAGAIN)
            return 0;
        if (zmq_errno() != EINTR)
            return fail_zmq(err, "receiving oned's events");
    }
    return 1;
}

/* Room for a message of two frames, and for one at a time of those that are too many. */
#define FRAMES 3

static void frames_init(zmq_msg_t frames[FRAMES])
{
    for (size_t i = 0; i < FRAMES; i++)
        zmq_msg_init(&frames[i]);
}

static void frames_close(zmq_msg_t frames[FRAMES])
{
    for (size_t i = 0; i < FRAMES; i++)
        zmq_msg_close(&frames[i]);
}

/* One message; *whole: it has two frames, as it should. libzmq hands out all frames of a message or
 * none. */
static int receive_message(void *socket, zmq_msg_t frames[FRAMES], bool *whole,
                           struct oneib_error *err)
{
    size_t count = 0;
    zmq_msg_t *frame;
    do {
        frame = &frames[count < FRAMES ? count : FRAMES - 1];
        int outcome = receive(socket, frame, err);
        if (outcome <= 0)
            return outcome;
        count++;
    } while (zmq_msg_more(frame));
    *whole = count == 2;
    return 1;
}

/* ---- the connection -------------------------------------------------------------------------- */

static void connected(struct oneib_events *events)
{
    events->stream.connected = true;
    events->given_up = false;
    events->gap_due = true;
    explain(events, "");
}

static void disconnected(struct oneib_events *events)
{
    if (events->stream.connected) {
        events->stream.connected = false;
        events->stream.gaps++;
        events->gap_due = true;
        explain(events, "the connection ended: oned has stopped, no longer answers, or sent a "
                        "message of more than 16 MiB");
    }
    events->given_up = true;
    events->given_up_ms = oneib_now_ms();
}

/* Monitor events say nothing of the errno; only nothing listening makes CLOSED without
 * DISCONNECTED. */
static void note_happening(struct oneib_events *events, uint16_t happening)
{
    switch (happening) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        connected(events);
        break;
    case ZMQ_EVENT_DISCONNECTED:
        disconnected(events);
        break;
    case ZMQ_EVENT_CLOSED:
        explain(events, "connection refused, or no answer: oned is not running, or its hook "
                        "manager publishes elsewhere (HM_MAD in oned.conf)");
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        explain(events, "what listens there is no ZeroMQ publisher: look at one.events");
        break;
    default:
        events->given_up = false;
        break;
    }
}

/* A monitor's message: the happening (16 bits) and a value (32 bits), then the endpoint. */
static int follow_connection(struct oneib_events *events, struct oneib_error *err)
{
    zmq_msg_t frames[FRAMES];
    frames_init(frames);
    bool whole;
    int outcome;
    while ((outcome = receive_message(events->monitor, frames, &whole, err)) > 0) {
        uint16_t happening;
        if (!whole || zmq_msg_size(&frames[0]) < sizeof happening)
            continue;
        memcpy(&happening, zmq_msg_data(&frames[0]), sizeof happening);
        note_happening(events, happening);
    }
    frames_close(frames);
    return outcome;
}

/*
 * libzmq connects again by itself after a lost connection, but not to a publisher that broke the
 * protocol, be it by a message that is too long: it drops the endpoint and says nothing more.
 */
static int connect_again(struct oneib_events *events, struct oneib_error *err)
{
    if (!events->given_up || oneib_now_ms() - events->given_up_ms < RECONNECT_MAX_MS)
        return 0;
    events->given_up = false;
    /* Fails when the endpoint is gone already. */
    zmq_disconnect(events->subscriber, events->endpoint);
    if (zmq_connect(events->subscriber, events->endpoint) < 0)
        return fail_zmq(err, "connecting to oned's events again");
    return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct oneib_event read_message(struct oneib_events *events, zmq_msg_t frames[FRAMES],
                                       bool whole)
{
    struct oneib_event event = {.kind = ONEIB_EVENT_GAP};
    if (whole)
        event = oneib_event_read(zmq_msg_data(&frames[0]), zmq_msg_size(&frames[0]),
                                 zmq_msg_data(&frames[1]), zmq_msg_size(&frames[1]));
    events->stream.messages++;
    events->stream.unreadable += event.kind == ONEIB_EVENT_GAP;
    return event;
}

static int next_message(struct oneib_events *events, struct oneib_event *event,
                        struct oneib_error *err)
{
    zmq_msg_t frames[FRAMES];
    frames_init(frames);
    bool whole;
    int outcome;
    *event = (struct oneib_event){.kind = ONEIB_EVENT_NOTHING};
    do {
        outcome = receive_message(events->subscriber, frames, &whole, err);
        if (outcome > 0)
            *event = read_message(events, frames, whole);
    } while (outcome > 0 && event->kind == ONEIB_EVENT_NOTHING);
    frames_close(frames);
    return outcome;
}

int oneib_events_next(struct oneib_events *events, struct oneib_event *event,
                      struct oneib_error *err)
{
    if (follow_connection(events, err) < 0 || connect_again(events, err) < 0)
        return -1;
    if (events->gap_due) {
        events->gap_due = false;
        *event = (struct oneib_event){.kind = ONEIB_EVENT_GAP};
        return 1;
    }
    return next_message(events, event, err);
}

void oneib_events_descriptors(const struct oneib_events *events, int descriptors[2])
{
    void *sockets[2] = {events->subscriber, events->monitor};
    for (size_t i = 0; i < 2; i++) {
        size_t size = sizeof descriptors[i];
        descriptors[i] = -1;
        zmq_getsockopt(sockets[i], ZMQ_FD, &descriptors[i], &size);
    }
}

const struct oneib_stream *oneib_events_stream(const struct oneib_events *events)
{
    return &events->stream;
}
