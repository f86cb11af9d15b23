// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/oneib-grants/relay.h"
#include "base/clock.h"
#include "base/memory.h"
#include "oneib-node/oneib-grants/link.h"
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define TAKEN_MAX (2 * ONEIB_RELAY_QUEUE) /* at once, of each: others want to be heard too */
#define RETRY_MS 100                      /* when oneib-node has no room for news */

struct told {
    bool connected;
    char why[ONEIB_RELAY_TEXT];
};

struct oneib_relay {
    int socket;
    void *context;
    double said_ms; /* when oneib-node was told something last */
    bool is_set_up, has_news;
    struct oneib_relay_setup setup;
    struct oneib_link links[ONEIB_DAEMONS_MAX];
    struct told told[ONEIB_DAEMONS_MAX];
    struct oneib_relay_packet packet; /* large */
    uint8_t frame[ONEIB_GRANTS_MESSAGE_MAX];
};

/* ---- what oneib-node says -------------------------------------------------------------------- */

static int open_links(struct oneib_relay *relay, struct oneib_error *err)
{
    for (size_t i = 0; i < relay->setup.count; i++)
        if (oneib_link_open(relay->context, &relay->setup.pair, &relay->setup.peers[i], i,
                            &relay->links[i], err) < 0)
            return -1;
    return 0;
}

static int take_order(struct oneib_relay *relay, struct oneib_error *err)
{
    const struct oneib_relay_packet *order = &relay->packet;
    if ((order->kind == ONEIB_RELAY_SETUP) == relay->is_set_up)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "a request out of sequence");
    if (order->kind == ONEIB_RELAY_SETUP) {
        relay->setup = order->setup;
        relay->is_set_up = true;
        return open_links(relay, err);
    }
    if (order->daemon >= relay->setup.count)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "a request for an unknown daemon");
    oneib_link_send(&relay->links[order->daemon], order->bytes, order->length);
    return 0;
}

static int take_orders(struct oneib_relay *relay, bool *is_over, struct oneib_error *err)
{
    for (int taken = 0; taken < TAKEN_MAX; taken++) {
        const int status = oneib_relay_take_order(relay->socket, &relay->packet, err);
        *is_over = status < 0 && err->code == ONEIB_ERROR_UNREACHABLE;
        if (status <= 0)
            return *is_over ? 0 : status;
        if (take_order(relay, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- what it is told ------------------------------------------------------------------------- */

/* That it has ended is seen when it is listened to. */
static bool tell(struct oneib_relay *relay, enum oneib_relay_kind kind, size_t daemon,
                 const char *text)
{
    struct oneib_error unheard;
    bool sent = false;
    if (oneib_relay_send_news(relay->socket, kind, daemon, text, &sent, &unheard) < 0 || !sent)
        return false;
    relay->said_ms = oneib_now_ms();
    return true;
}

static bool tell_state(struct oneib_relay *relay, size_t daemon)
{
    const struct oneib_link *link = &relay->links[daemon];
    struct told *told = &relay->told[daemon];
    if (told->connected == link->connected && strcmp(told->why, link->why) == 0)
        return true;
    if (!tell(relay, link->connected ? ONEIB_RELAY_CONNECTED : ONEIB_RELAY_DISCONNECTED, daemon,
              link->connected ? NULL : link->why))
        return false;
    told->connected = link->connected;
    memcpy(told->why, link->why, sizeof told->why);
    return true;
}

static void pass_frames(struct oneib_relay *relay, size_t daemon)
{
    struct oneib_error unheard;
    bool sent;
    size_t length;
    for (int passed = 0;
         passed < TAKEN_MAX && (length = oneib_link_receive(&relay->links[daemon], relay->frame,
                                                            sizeof relay->frame)) > 0;
         passed++)
        if (oneib_relay_send_frame(relay->socket, ONEIB_RELAY_FRAME, daemon, relay->frame, length,
                                   &sent, &unheard) == 0 &&
            sent)
            relay->said_ms = oneib_now_ms();
}

static int follow_links(struct oneib_relay *relay, struct oneib_error *err)
{
    relay->has_news = false;
    for (size_t i = 0; i < relay->setup.count; i++) {
        if (oneib_link_follow(&relay->links[i], err) < 0)
            return -1;
        if (tell_state(relay, i))
            pass_frames(relay, i);
        else
            relay->has_news = true;
    }
    if (oneib_now_ms() - relay->said_ms >= ONEIB_RELAY_PAUSE_MS)
        tell(relay, ONEIB_RELAY_ALIVE, 0, NULL);
    return 0;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static long wait_ms(const struct oneib_relay *relay)
{
    double due = relay->said_ms + ONEIB_RELAY_PAUSE_MS;
    if (relay->has_news || oneib_ms_until(due) == 0)
        return RETRY_MS;
    for (size_t i = 0; i < relay->setup.count; i++)
        if (!relay->links[i].connected)
            due = oneib_sooner(due, relay->links[i].due_ms);
    return oneib_ms_until(due);
}

/* While oneib-node has no room, frames wait where they are: in the queues, then with the daemon. */
static int wait_for_something(struct oneib_relay *relay, struct oneib_error *err)
{
    zmq_pollitem_t items[1 + 2 * ONEIB_DAEMONS_MAX] = {{.fd = relay->socket, .events = ZMQ_POLLIN}};
    int count = 1;
    for (size_t i = 0; i < relay->setup.count; i++) {
        items[count++] = (zmq_pollitem_t){.socket = relay->links[i].monitor, .events = ZMQ_POLLIN};
        if (!relay->has_news)
            items[count++] =
                (zmq_pollitem_t){.socket = relay->links[i].socket, .events = ZMQ_POLLIN};
    }
    if (zmq_poll(items, count, wait_ms(relay)) >= 0 || zmq_errno() == EINTR)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "waiting: %s", zmq_strerror(zmq_errno()));
}

int oneib_relay_turn(struct oneib_relay *relay, bool *is_over, struct oneib_error *err)
{
    *is_over = false;
    if (wait_for_something(relay, err) < 0 || take_orders(relay, is_over, err) < 0)
        return -1;
    return *is_over ? 0 : follow_links(relay, err);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

int oneib_relay_open(int socket, struct oneib_relay **relay, struct oneib_error *err)
{
    *relay = oneib_alloc(1, sizeof **relay);
    (*relay)->socket = socket;
    (*relay)->said_ms = oneib_now_ms();
    (*relay)->context = zmq_has("curve") ? zmq_ctx_new() : NULL;
    if ((*relay)->context)
        return 0;
    oneib_relay_close(*relay);
    *relay = NULL;
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "libzmq does not work, or was built without CURVE");
}

void oneib_relay_close(struct oneib_relay *relay)
{
    if (!relay)
        return;
    for (size_t i = 0; i < ONEIB_DAEMONS_MAX; i++)
        oneib_link_close(&relay->links[i]);
    if (relay->context)
        while (zmq_ctx_term(relay->context) < 0 && zmq_errno() == EINTR)
            ;
    explicit_bzero(relay, sizeof *relay);
    free(relay);
}
