// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/oneib-grants/link.h"
#include "base/clock.h"
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#define RECONNECT_FIRST_MS 100 /* and up to as much again: libzmq spreads them */
#define RECONNECT_MAX_MS 2000
#define CONNECT_TIMEOUT_MS 3000
#define HANDSHAKE_TIMEOUT_MS 10000 /* all of a site come at once after a restart of oneibd */
/* What was sent and not even received by the other's kernel in this time was sent into the void. */
#define UNANSWERED_MS 5000
/* Until one that has refused it is tried again. */
#define REFUSED_FIRST_MS 1500
#define REFUSED_SPREAD_MS 1000
/* Nothing that libzmq does by itself takes so long. */
#define ANEW_MS (HANDSHAKE_TIMEOUT_MS + 5000)
#define CURVE_OVERHEAD 64 /* bytes of a frame that are not the message's: 33, and some */

#define WATCHED                                                                                    \
    (ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |                   \
     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |                      \
     ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL)

static int fail_zmq(const struct oneib_link *link, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "%s: %s", link->peer->address,
                      zmq_strerror(zmq_errno()));
}

static void explain(struct oneib_link *link, const char *why)
{
    snprintf(link->why, sizeof link->why, "%s: %s", link->peer->address, why);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool set_numbers(void *socket, const char *address)
{
    const struct {
        int name, value;
    } options[] = {
        {ZMQ_LINGER, 0},
        {ZMQ_IMMEDIATE, 1}, /* nothing waits for a connection to come */
        {ZMQ_SNDHWM, ONEIB_RELAY_QUEUE},
        {ZMQ_RCVHWM, ONEIB_RELAY_QUEUE},
        {ZMQ_RECONNECT_IVL, RECONNECT_FIRST_MS},
        {ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS},
        {ZMQ_CONNECT_TIMEOUT, CONNECT_TIMEOUT_MS},
        {ZMQ_HANDSHAKE_IVL, HANDSHAKE_TIMEOUT_MS},
        {ZMQ_TCP_MAXRT, UNANSWERED_MS},
        /* Only for an IPv6 address: else a name would be asked for one alone. */
        {ZMQ_IPV6, strchr(address, '[') != NULL},
    };
    const int64_t size_max = ONEIB_GRANTS_MESSAGE_MAX + CURVE_OVERHEAD;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (zmq_setsockopt(socket, options[i].name, &options[i].value, sizeof options[i].value) < 0)
            return false;
    return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &size_max, sizeof size_max) == 0;
}

static bool set_keys(void *socket, const struct oneib_curve_pair *pair,
                     const uint8_t server[ONEIB_PUBLIC_KEY_SIZE])
{
    return zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server, ONEIB_PUBLIC_KEY_SIZE) == 0 &&
           zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, pair->public, sizeof pair->public) == 0 &&
           zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, pair->secret, sizeof pair->secret) == 0;
}

/* Before the connection, so that nothing of it is missed. */
static bool watch(struct oneib_link *link)
{
    const int no_linger = 0;
    link->monitor = zmq_socket(link->context, ZMQ_PAIR);
    return link->monitor && zmq_socket_monitor(link->socket, link->endpoint, WATCHED) == 0 &&
           zmq_setsockopt(link->monitor, ZMQ_LINGER, &no_linger, sizeof no_linger) == 0 &&
           zmq_connect(link->monitor, link->endpoint) == 0;
}

static int begin(struct oneib_link *link, size_t number, struct oneib_error *err)
{
    snprintf(link->endpoint, sizeof link->endpoint, "inproc://link-%zu-%u", number, link->times++);
    link->socket = zmq_socket(link->context, ZMQ_DEALER);
    if (!link->socket || !set_numbers(link->socket, link->peer->address) ||
        !set_keys(link->socket, link->pair, link->peer->curve) || !watch(link))
        return fail_zmq(link, err);
    if (zmq_connect(link->socket, link->peer->address) < 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s is no address: %s", link->peer->address,
                          zmq_strerror(zmq_errno()));
    link->refused = false;
    link->due_ms = oneib_now_ms() + ANEW_MS;
    return 0;
}

static void end(struct oneib_link *link)
{
    if (link->socket)
        zmq_close(link->socket);
    if (link->monitor)
        zmq_close(link->monitor);
    link->socket = link->monitor = NULL;
}

int oneib_link_open(void *context, const struct oneib_curve_pair *pair,
                    const struct oneib_relay_peer *peer, size_t number, struct oneib_link *link,
                    struct oneib_error *err)
{
    *link = (struct oneib_link){.context = context, .pair = pair, .peer = peer, .number = number};
    explain(link, "not connected yet");
    if (begin(link, number, err) == 0)
        return 0;
    end(link);
    return -1;
}

void oneib_link_close(struct oneib_link *link)
{
    end(link);
    link->connected = false;
}

/* ---- the connection -------------------------------------------------------------------------- */

static void connected(struct oneib_link *link)
{
    link->refused = false;
    link->connected = true;
    link->why[0] = '\0';
}

/* libzmq does not always try again by itself then; and of two reasons the first is the better one.
 */
static void refused(struct oneib_link *link, const char *why)
{
    uint16_t spread;
    oneib_random(&spread, sizeof spread);
    if (!link->refused)
        explain(link, why);
    link->refused = true;
    link->connected = false;
    link->due_ms = oneib_now_ms() + REFUSED_FIRST_MS + spread % REFUSED_SPREAD_MS;
}

/* It may not have been heard to say why. */
static void ended(struct oneib_link *link)
{
    if (!link->connected) {
        refused(link, "the connection ended before both had proved their keys: see whether what "
                      "listens there is oneibd, and whether it knows this node's key");
        return;
    }
    explain(link, "the connection was lost");
    link->connected = false;
    link->due_ms = oneib_now_ms() + ANEW_MS;
}

static void note_happening(struct oneib_link *link, uint16_t happening)
{
    switch (happening) {
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        connected(link);
        break;
    case ZMQ_EVENT_DISCONNECTED:
        ended(link);
        break;
    case ZMQ_EVENT_CLOSED:
        if (!link->connected && !link->refused)
            explain(link, "no answer: see whether oneibd runs there, and whether firewalls let its "
                          "port through");
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        refused(link, "oneibd does not know this node's key: on the front-end accept it with "
                      "'oneib host accept HOST'");
        break;
    default:
        refused(link, "what answers there does not have the keys of the oneibd that this node "
                      "trusts: if oneibd has new ones, 'oneib hca --trust'");
        break;
    }
}

/* The happening (16 bits) and a value, then the endpoint. */
static bool next_happening(void *monitor, uint16_t *happening)
{
    uint8_t frame[8];
    char address[8];
    const int length = zmq_recv(monitor, frame, sizeof frame, ZMQ_DONTWAIT);
    if (length < (int)sizeof *happening)
        return false;
    memcpy(happening, frame, sizeof *happening);
    zmq_recv(monitor, address, sizeof address, ZMQ_DONTWAIT); /* cut, and not looked at */
    return true;
}

int oneib_link_follow(struct oneib_link *link, struct oneib_error *err)
{
    uint16_t happening;
    while (next_happening(link->monitor, &happening))
        note_happening(link, happening);
    if (link->connected || oneib_now_ms() < link->due_ms)
        return 0;
    end(link);
    return begin(link, link->number, err);
}

/* ---- frames ---------------------------------------------------------------------------------- */

void oneib_link_send(const struct oneib_link *link, const void *bytes, size_t length)
{
    if (link->connected)
        zmq_send(link->socket, bytes, length, ZMQ_DONTWAIT);
}

static bool drop_the_rest(void *socket)
{
    int more = 0;
    size_t size = sizeof more;
    bool any = false;
    while (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) == 0 && more) {
        char byte;
        any = true;
        if (zmq_recv(socket, &byte, sizeof byte, ZMQ_DONTWAIT) < 0)
            break;
    }
    return any;
}

size_t oneib_link_receive(const struct oneib_link *link, void *bytes, size_t size)
{
    for (int dropped = 0; dropped < ONEIB_RELAY_QUEUE; dropped++) {
        const int length = zmq_recv(link->socket, bytes, size, ZMQ_DONTWAIT);
        if (length < 0)
            return 0;
        const bool is_single = !drop_the_rest(link->socket);
        if (is_single && length > 0 && (size_t)length <= size)
            return (size_t)length;
    }
    return 0;
}
