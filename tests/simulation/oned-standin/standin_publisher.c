// SPDX-License-Identifier: Apache-2.0
#include "standin_publisher.h"
#include "../../base64.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include <string.h>
#include <zmq.h>

#define HUGE_SIZE ((size_t)50 << 20)

enum stream_fault { NONE, LOSE, REPEAT, REORDER, NO_BASE64, NO_XML, HUGE_PAYLOAD, SILENT };

struct message {
    char keys[2][128]; /* the second "": none */
    char *payload;
    size_t length;
};

struct standin_publisher {
    uint16_t port;
    void *context, *socket; /* NULL while it is down */
    int topics;             /* that anybody is subscribed to */
    enum stream_fault fault;
    unsigned fault_count;
    struct message *held; /* back, to be sent in reverse */
    size_t held_count, held_capacity;
};

/* ---- the socket ------------------------------------------------------------------------------ */

static int fail_zmq(struct oneib_error *err, const char *what)
{
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "%s: %s", what, zmq_strerror(zmq_errno()));
}

/* Returns when the port refuses connections. */
static void go_down(struct standin_publisher *publisher)
{
    if (publisher->socket)
        zmq_close(publisher->socket);
    if (publisher->context)
        zmq_ctx_term(publisher->context);
    publisher->socket = publisher->context = NULL;
    publisher->topics = 0;
}

/* XPUB is a PUB that can be asked what is subscribed to. */
static int go_up(struct standin_publisher *publisher, struct oneib_error *err)
{
    const int no_linger = 0;
    char endpoint[32];
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", publisher->port);
    publisher->context = zmq_ctx_new();
    publisher->socket = publisher->context ? zmq_socket(publisher->context, ZMQ_XPUB) : NULL;
    if (!publisher->socket ||
        zmq_setsockopt(publisher->socket, ZMQ_LINGER, &no_linger, sizeof no_linger) < 0 ||
        zmq_bind(publisher->socket, endpoint) < 0) {
        fail_zmq(err, "publishing events");
        go_down(publisher);
        return -1;
    }
    return 0;
}

struct standin_publisher *standin_publisher_open(uint16_t port, struct oneib_error *err)
{
    struct standin_publisher *publisher = oneib_alloc(1, sizeof *publisher);
    publisher->port = port;
    if (go_up(publisher, err) < 0) {
        free(publisher);
        return NULL;
    }
    return publisher;
}

static void drop_held(struct standin_publisher *publisher)
{
    for (size_t i = 0; i < publisher->held_count; i++)
        free(publisher->held[i].payload);
    publisher->held_count = 0;
}

void standin_publisher_close(struct standin_publisher *publisher)
{
    if (!publisher)
        return;
    go_down(publisher);
    drop_held(publisher);
    free(publisher->held);
    free(publisher);
}

bool standin_publisher_is_heard(struct standin_publisher *publisher)
{
    char topic[256];
    if (!publisher || !publisher->socket)
        return false;
    /* 1 and a topic that is new, 0 and one that nobody wants any more. */
    while (zmq_recv(publisher->socket, topic, sizeof topic, ZMQ_DONTWAIT) > 0)
        publisher->topics += topic[0] == 1 ? 1 : -1;
    return publisher->topics > 0 && publisher->fault != SILENT;
}

static void send_message(struct standin_publisher *publisher, const struct message *message)
{
    for (size_t i = 0; i < 2 && *message->keys[i]; i++) {
        zmq_send(publisher->socket, message->keys[i], strlen(message->keys[i]), ZMQ_SNDMORE);
        zmq_send(publisher->socket, message->payload, message->length, 0);
    }
}

/* ---- faults ---------------------------------------------------------------------------------- */

static char *encode(const char *xml, size_t length, size_t *encoded)
{
    char *text = oneib_alloc(base64_length(length) + 1, 1);
    base64_encode(xml, length, text);
    *encoded = base64_length(length);
    return text;
}

static char *fill(size_t length, size_t *filled)
{
    char *text = oneib_alloc(length, 1);
    memset(text, 'A', length);
    *filled = length;
    return text;
}

static char *make_payload(enum stream_fault fault, const char *xml, size_t length, size_t *made)
{
    static const char no_base64[] = "<this is no base64>";
    static const char no_xml[] = "<HOOK_MESSAGE><HOOK_TYPE>";
    switch (fault) {
    case NO_BASE64:
        *made = sizeof no_base64 - 1;
        return oneib_strdup(no_base64);
    case NO_XML:
        return encode(no_xml, sizeof no_xml - 1, made);
    case HUGE_PAYLOAD:
        return fill(HUGE_SIZE, made);
    default:
        return encode(xml, length, made);
    }
}

/* The fault of this message, which uses it up by one. */
static enum stream_fault take_fault(struct standin_publisher *publisher)
{
    enum stream_fault fault = publisher->fault;
    if (fault != NONE && --publisher->fault_count == 0)
        publisher->fault = NONE;
    return fault;
}

static void send_held(struct standin_publisher *publisher)
{
    for (size_t i = publisher->held_count; i-- > 0;)
        send_message(publisher, &publisher->held[i]);
    drop_held(publisher);
}

/* Keeps the message's payload. */
static void hold(struct standin_publisher *publisher, struct message *message)
{
    ONEIB_APPEND(publisher->held, publisher->held_count, publisher->held_capacity, *message);
    message->payload = NULL;
    if (publisher->fault == NONE)
        send_held(publisher);
}

void standin_publisher_publish(struct standin_publisher *publisher, const char *key,
                               const char *other_key, const char *xml, size_t length)
{
    enum stream_fault fault = take_fault(publisher);
    struct message message = {0};
    if (fault == LOSE || !(message.payload = make_payload(fault, xml, length, &message.length)))
        return;
    snprintf(message.keys[0], sizeof message.keys[0], "%s", key);
    snprintf(message.keys[1], sizeof message.keys[1], "%s", other_key ? other_key : "");
    if (fault == REORDER)
        hold(publisher, &message);
    for (unsigned i = 0; fault != REORDER && i < (fault == REPEAT ? 3 : 1); i++)
        send_message(publisher, &message);
    free(message.payload);
}

static const struct {
    const char *name;
    enum stream_fault fault;
} fault_kinds[] = {
    {"lose", LOSE},     {"repeat", REPEAT},     {"reorder", REORDER}, {"no-base64", NO_BASE64},
    {"no-xml", NO_XML}, {"huge", HUGE_PAYLOAD}, {"silent", SILENT},
};

int standin_publisher_fault(struct standin_publisher *publisher, const char *kind, unsigned count,
                            struct oneib_error *err)
{
    if (strcmp(kind, "down") == 0)
        return standin_publisher_down(publisher, count > 0, err);
    for (size_t i = 0; i < sizeof fault_kinds / sizeof *fault_kinds; i++) {
        if (strcmp(kind, fault_kinds[i].name) != 0)
            continue;
        publisher->fault = count ? fault_kinds[i].fault : NONE;
        publisher->fault_count = count;
        if (publisher->socket)
            send_held(publisher);
        return 0;
    }
    return oneib_fail(err, ONEIB_ERROR_INPUT, "No such kind of fault: \"%s\"", kind);
}

int standin_publisher_down(struct standin_publisher *publisher, bool down, struct oneib_error *err)
{
    if (!down)
        return publisher->socket ? 0 : go_up(publisher, err);
    drop_held(publisher);
    go_down(publisher);
    return 0;
}
