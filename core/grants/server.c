// SPDX-License-Identifier: Apache-2.0
/*
 * CURVE proves that a client has a key, ZAP asks us whether we want it, and the answer's user id,
 * the key's digits, comes back with each of its messages. What a client calls itself (its routing
 * id) is used to answer it, and for nothing else.
 */
#include "grants/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/order.h"
#include "grants/connections.h"
#include "grants/server_bytes.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#define ZAP_ENDPOINT "inproc://zeromq.zap.01"
#define ZAP_DOMAIN "oneib"
#define ZAP_PARTS 7 /* version, request id, domain, address, routing id, mechanism, credentials */
#define ZAP_PART_MAX 256

#define BACKLOG 4096 /* all nodes of a site at once, after a restart */
#define HANDSHAKE_TIMEOUT_MS 10000
#define UNANSWERED_MS 20000 /* what was sent has not even reached the other's kernel */
/* Messages that wait, for each connection: a node says some two a second. */
#define RECEIVE_MAX 16
#define SEND_MAX 8 /* likewise: lists and signs of life that a slow one has not taken */
#define MESSAGES_A_SECOND 100
#define HANDSHAKES_MAX 20 /* of one key in so long: a node tries again after 1.5 s */
#define HANDSHAKES_MS 10000
#define DROPPED_AT_ONCE 1000 /* then others are let in between */
#define CURVE_OVERHEAD 64    /* bytes of a frame that are not the message's: 33, and some */
#define ROUTE_MAX 255        /* bytes of a routing id */

struct peer {
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    uint8_t route[ROUTE_MAX]; /* of the connection that was heard last */
    size_t route_length;      /* 0: none */
    double second_began_ms;
    unsigned heard; /* since then */
    double handshakes_began_ms;
    unsigned handshakes; /* since then */
};

struct oneib_grants_server {
    void *context, *router, *zap;
    int poll_fd; /* epoll: the two sockets, and `again` */
    int again;   /* readable: something waits that the sockets will not tell of once more */
    struct oneib_connections *connections; /* owned */
    double handshakes_ms;
    struct oneib_sign_pair sign;
    struct peer *peers; /* owned; by key: those that are admitted */
    size_t peer_count;
    struct oneib_grants_counts counts;
    struct oneib_grants_message message;     /* the last that was taken */
    uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX]; /* of the one that is sent */
};

static int fail_zmq(struct oneib_error *err, const char *what)
{
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "%s: %s", what, zmq_strerror(zmq_errno()));
}

/* ---- who is admitted ------------------------------------------------------------------------- */

ONEIB_ORDER(compare_peers, struct peer, memcmp(left->key, right->key, sizeof left->key));

static struct peer *find_peer(const struct oneib_grants_server *server,
                              const uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    struct peer sought;
    memcpy(sought.key, key, sizeof sought.key);
    return ONEIB_FIND(&sought, server->peers, server->peer_count, compare_peers);
}

/* Of a key that is given twice both are alike, and one of them is always the one that is found. */
void oneib_grants_server_admit(struct oneib_grants_server *server,
                               const uint8_t (*keys)[ONEIB_PUBLIC_KEY_SIZE], size_t count)
{
    struct peer *peers = oneib_alloc(count, sizeof *peers);
    for (size_t i = 0; i < count; i++) {
        const struct peer *known = find_peer(server, keys[i]);
        if (known)
            peers[i] = *known;
        memcpy(peers[i].key, keys[i], sizeof peers[i].key);
    }
    ONEIB_SORT(peers, count, compare_peers);
    free(server->peers);
    server->peers = peers;
    server->peer_count = count;
}

/* ---- the handshake's question ---------------------------------------------------------------- */

struct zap_request {
    char parts[ZAP_PARTS][ZAP_PART_MAX];
    size_t lengths[ZAP_PARTS];
    size_t count; /* more than ZAP_PARTS: too many */
};

/* False: nobody asks. */
static bool take_zap_request(void *zap, struct zap_request *request)
{
    int more = 1;
    size_t size = sizeof more;
    request->count = 0;
    while (more) {
        char part[ZAP_PART_MAX];
        const int length = zmq_recv(zap, part, sizeof part, ZMQ_DONTWAIT);
        if (length < 0)
            return false;
        if (request->count < ZAP_PARTS) {
            const size_t kept = (size_t)length < sizeof part ? (size_t)length : sizeof part;
            memcpy(request->parts[request->count], part, kept);
            request->lengths[request->count] = (size_t)length;
        }
        request->count++;
        if (zmq_getsockopt(zap, ZMQ_RCVMORE, &more, &size) < 0)
            return false;
    }
    return true;
}

static bool part_is(const struct zap_request *request, size_t part, const char *word)
{
    return request->lengths[part] == strlen(word) &&
           memcmp(request->parts[part], word, request->lengths[part]) == 0;
}

/* Counts an event; whether there are more than `most` in this period. */
static bool is_too_often(double *began_ms, unsigned *count, double period_ms, unsigned most)
{
    const double now = oneib_now_ms();
    if (now - *began_ms >= period_ms) {
        *began_ms = now;
        *count = 0;
    }
    return ++*count > most;
}

/* The key that the client has proved to have, when it is admitted and within its handshakes. */
static bool admits(struct oneib_grants_server *server, const struct zap_request *request,
                   char user[ONEIB_KEY_TEXT_SIZE])
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    if (request->count != ZAP_PARTS || !part_is(request, 0, "1.0") ||
        !part_is(request, 2, ZAP_DOMAIN) || !part_is(request, 5, "CURVE") ||
        request->lengths[6] != sizeof key)
        return false;
    memcpy(key, request->parts[6], sizeof key);
    struct peer *peer = find_peer(server, key);
    if (!peer)
        return false;
    if (is_too_often(&peer->handshakes_began_ms, &peer->handshakes, server->handshakes_ms,
                     HANDSHAKES_MAX)) {
        server->counts.flooding++;
        return false;
    }
    oneib_key_format(key, user);
    return true;
}

static void answer_zap(struct oneib_grants_server *server, const struct zap_request *request)
{
    char user[ONEIB_KEY_TEXT_SIZE] = "";
    const bool admitted = admits(server, request, user);
    const size_t id_length =
        request->count > 1 && request->lengths[1] <= ZAP_PART_MAX ? request->lengths[1] : 0;
    const char *status = admitted ? "200" : "400", *text = admitted ? "" : "unknown key";
    if (!admitted)
        server->counts.refused_keys++;
    zmq_send(server->zap, "1.0", 3, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(server->zap, request->parts[1], id_length, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(server->zap, status, strlen(status), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(server->zap, text, strlen(text), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(server->zap, user, strlen(user), ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(server->zap, "", 0, ZMQ_DONTWAIT);
}

static void answer_handshakes(struct oneib_grants_server *server)
{
    struct zap_request request;
    while (take_zap_request(server->zap, &request))
        answer_zap(server, &request);
}

/* ---- what nodes say -------------------------------------------------------------------------- */

static void come_again(const struct oneib_grants_server *server)
{
    eventfd_write(server->again, 1);
}

static void was_told_to_come(const struct oneib_grants_server *server)
{
    eventfd_t times;
    eventfd_read(server->again, &times);
}

struct heard {
    zmq_msg_t route, content;
    bool is_single; /* it has one frame beside its route, as it must */
};

static void forget(struct heard *heard)
{
    zmq_msg_close(&heard->route);
    zmq_msg_close(&heard->content);
}

/* libzmq hands out all frames of a message or none: those behind the first do not wait. */
static bool hear(void *router, struct heard *heard)
{
    zmq_msg_init(&heard->route);
    zmq_msg_init(&heard->content);
    heard->is_single = false;
    if (zmq_msg_recv(&heard->route, router, ZMQ_DONTWAIT) < 0) {
        forget(heard);
        return false;
    }
    size_t frames = 0;
    for (bool more = zmq_msg_more(&heard->route); more; more = zmq_msg_more(&heard->content)) {
        if (zmq_msg_recv(&heard->content, router, ZMQ_DONTWAIT) < 0)
            break;
        frames++;
    }
    heard->is_single = frames == 1;
    return true;
}

/* Whose key CURVE has proved, if that is still admitted. */
static struct peer *sender_of(const struct oneib_grants_server *server, struct heard *heard)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const char *user = zmq_msg_gets(&heard->content, "User-Id");
    return user && oneib_key_parse(user, key) ? find_peer(server, key) : NULL;
}

static void remember_route(struct peer *peer, struct heard *heard)
{
    const size_t length = zmq_msg_size(&heard->route);
    if (length > sizeof peer->route)
        return;
    memcpy(peer->route, zmq_msg_data(&heard->route), length);
    peer->route_length = length;
}

static bool is_flooding(struct peer *peer)
{
    return is_too_often(&peer->second_began_ms, &peer->heard, 1000, MESSAGES_A_SECOND);
}

/* Whether it is one that a node may say; into server->message. */
static bool understand(struct oneib_grants_server *server, struct heard *heard)
{
    struct oneib_error unheard;
    return heard->is_single &&
           oneib_grants_unpack(zmq_msg_data(&heard->content), zmq_msg_size(&heard->content),
                               &server->message, &unheard) == 0 &&
           !oneib_grants_is_from_daemon(server->message.kind);
}

/* The sender of a message that counts; NULL: this one does not. */
static struct peer *judge(struct oneib_grants_server *server, struct heard *heard)
{
    struct peer *peer = sender_of(server, heard);
    if (!peer) {
        server->counts.refused_keys++;
        return NULL;
    }
    oneib_connections_heard(server->connections, zmq_msg_get(&heard->content, ZMQ_SRCFD),
                            peer->key);
    if (is_flooding(peer)) {
        server->counts.flooding++;
        return NULL;
    }
    if (!understand(server, heard)) {
        server->counts.malformed++;
        return NULL;
    }
    remember_route(peer, heard);
    return peer;
}

int oneib_grants_server_next(struct oneib_grants_server *server,
                             uint8_t node[ONEIB_PUBLIC_KEY_SIZE],
                             const struct oneib_grants_message **message, struct oneib_error *err)
{
    struct heard heard;
    was_told_to_come(server);
    answer_handshakes(server);
    oneib_connections_follow(server->connections);
    for (int dropped = 0; dropped < DROPPED_AT_ONCE; dropped++) {
        if (!hear(server->router, &heard))
            return zmq_errno() == EAGAIN || zmq_errno() == EINTR
                       ? 0
                       : fail_zmq(err, "listening to the services of nodes");
        const struct peer *peer = judge(server, &heard);
        forget(&heard);
        if (peer) {
            memcpy(node, peer->key, sizeof peer->key);
            *message = &server->message;
            come_again(server);
            return 1;
        }
    }
    come_again(server);
    return 0;
}

/* ---- what nodes are told --------------------------------------------------------------------- */

static void address_to(struct oneib_grants_message *message,
                       const uint8_t node[ONEIB_PUBLIC_KEY_SIZE])
{
    if (message->kind == ONEIB_GRANTS_LIST)
        memcpy(message->list.node, node, sizeof message->list.node);
    if (message->kind == ONEIB_GRANTS_LIFE)
        memcpy(message->life.node, node, sizeof message->life.node);
}

/* Sending takes note of what has arrived, and then the socket's descriptor does not tell of it. */
static void see_what_arrived(const struct oneib_grants_server *server)
{
    int events = 0;
    size_t size = sizeof events;
    if (zmq_getsockopt(server->router, ZMQ_EVENTS, &events, &size) < 0 || (events & ZMQ_POLLIN))
        come_again(server);
}

/* It is gone, or has not taken what it was sent: both are no failure of ours. */
static bool is_out_of_reach(int error)
{
    return error == EHOSTUNREACH || error == EAGAIN || error == EINTR;
}

static bool send_to(const struct oneib_grants_server *server, const struct peer *peer,
                    const void *bytes, size_t length)
{
    return zmq_send(server->router, peer->route, peer->route_length, ZMQ_SNDMORE | ZMQ_DONTWAIT) >=
               0 &&
           zmq_send(server->router, bytes, length, ZMQ_DONTWAIT) >= 0;
}

/* NULL: it is not admitted, or has not been heard. */
static const struct peer *find_connected(const struct oneib_grants_server *server,
                                         const uint8_t node[ONEIB_PUBLIC_KEY_SIZE])
{
    const struct peer *peer = find_peer(server, node);
    return peer && peer->route_length > 0 ? peer : NULL;
}

int oneib_grants_server_send_bytes(struct oneib_grants_server *server,
                                   const uint8_t node[ONEIB_PUBLIC_KEY_SIZE], const void *bytes,
                                   size_t length, bool *sent, struct oneib_error *err)
{
    const struct peer *peer = find_connected(server, node);
    *sent = false;
    if (!peer)
        return 0;
    *sent = send_to(server, peer, bytes, length);
    const int error = zmq_errno();
    see_what_arrived(server);
    if (*sent || is_out_of_reach(error))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "sending to the service of a node: %s",
                      zmq_strerror(error));
}

int oneib_grants_server_send(struct oneib_grants_server *server,
                             const uint8_t node[ONEIB_PUBLIC_KEY_SIZE],
                             struct oneib_grants_message *message, bool *sent,
                             struct oneib_error *err)
{
    *sent = false;
    if (!find_connected(server, node))
        return 0;
    address_to(message, node);
    const size_t length =
        oneib_seal(&server->sign, server->bytes, oneib_grants_pack(message, server->bytes));
    return oneib_grants_server_send_bytes(server, node, server->bytes, length, sent, err);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* Dead connections are the kernel's to find: a node that is alive says something every two
 * seconds. */
static bool set_numbers(void *router, const char *listen)
{
    const struct {
        int name, value;
    } options[] = {
        {ZMQ_LINGER, 0},
        {ZMQ_BACKLOG, BACKLOG},
        {ZMQ_RCVHWM, RECEIVE_MAX},
        {ZMQ_SNDHWM, SEND_MAX},
        {ZMQ_HANDSHAKE_IVL, HANDSHAKE_TIMEOUT_MS},
        {ZMQ_ROUTER_MANDATORY, 1},
        {ZMQ_CURVE_SERVER, 1},
        {ZMQ_TCP_MAXRT, UNANSWERED_MS},
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_TCP_KEEPALIVE_IDLE, 15},
        {ZMQ_TCP_KEEPALIVE_INTVL, 5},
        {ZMQ_TCP_KEEPALIVE_CNT, 3},
        /* '*' is all addresses then; an IPv4 address works on a machine without IPv6 too. */
        {ZMQ_IPV6, strpbrk(listen, "*[") != NULL},
    };
    const int64_t size_max = ONEIB_GRANTS_MESSAGE_MAX + CURVE_OVERHEAD;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (zmq_setsockopt(router, options[i].name, &options[i].value, sizeof options[i].value) < 0)
            return false;
    return zmq_setsockopt(router, ZMQ_MAXMSGSIZE, &size_max, sizeof size_max) == 0;
}

static bool set_identity(void *router, const struct oneib_curve_pair *curve)
{
    return zmq_setsockopt(router, ZMQ_ZAP_DOMAIN, ZAP_DOMAIN, strlen(ZAP_DOMAIN)) == 0 &&
           zmq_setsockopt(router, ZMQ_CURVE_SECRETKEY, curve->secret, sizeof curve->secret) == 0;
}

static int listen_to(const struct oneib_grants_server *server, int fd, struct oneib_error *err)
{
    struct epoll_event readable = {.events = EPOLLIN};
    if (epoll_ctl(server->poll_fd, EPOLL_CTL_ADD, fd, &readable) < 0)
        return oneib_fail_errno(err, errno, "preparing to listen to the services of nodes");
    return 0;
}

static int listen_to_socket(const struct oneib_grants_server *server, void *socket,
                            struct oneib_error *err)
{
    int fd;
    size_t size = sizeof fd;
    if (zmq_getsockopt(socket, ZMQ_FD, &fd, &size) < 0)
        return fail_zmq(err, "preparing to listen to the services of nodes");
    return listen_to(server, fd, err);
}

static int make_poll(struct oneib_grants_server *server, struct oneib_error *err)
{
    server->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->again = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->poll_fd < 0 || server->again < 0)
        return oneib_fail_errno(err, errno, "preparing to listen to the services of nodes");
    if (listen_to(server, server->again, err) < 0 ||
        listen_to_socket(server, server->router, err) < 0 ||
        listen_to_socket(server, oneib_connections_socket(server->connections), err) < 0)
        return -1;
    return listen_to_socket(server, server->zap, err);
}

/* The one who is asked is there before the first can come: else nobody is asked, and all are let
 * in. */
static int bind_sockets(struct oneib_grants_server *server, const char *listen,
                        struct oneib_error *err)
{
    if (zmq_bind(server->zap, ZAP_ENDPOINT) < 0)
        return fail_zmq(err, "preparing to check the keys of nodes");
    if (zmq_bind(server->router, listen) == 0)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_CONFIG,
                      "daemon.grants: \"%s\": %s; write tcp://ADDRESS:PORT, of this machine and "
                      "free, or tcp://*:PORT",
                      listen, zmq_strerror(zmq_errno()));
}

static int begin(struct oneib_grants_server *server,
                 const struct oneib_grants_server_options *options, struct oneib_error *err)
{
    const int no_linger = 0;
    if (!zmq_has("curve"))
        return oneib_fail(err, ONEIB_ERROR_SYSTEM, "libzmq was built without CURVE");
    server->sign = *options->sign;
    server->handshakes_ms = options->handshakes_ms > 0 ? options->handshakes_ms : HANDSHAKES_MS;
    server->context = zmq_ctx_new();
    server->zap = server->context ? zmq_socket(server->context, ZMQ_REP) : NULL;
    server->router = server->zap ? zmq_socket(server->context, ZMQ_ROUTER) : NULL;
    if (!server->router ||
        zmq_setsockopt(server->zap, ZMQ_LINGER, &no_linger, sizeof no_linger) < 0 ||
        !set_numbers(server->router, options->listen) ||
        !set_identity(server->router, options->curve))
        return fail_zmq(err, "preparing to listen to the services of nodes");
    if (oneib_connections_open(server->context, server->router, options->silence_ms,
                               &server->connections, err) < 0 ||
        bind_sockets(server, options->listen, err) < 0)
        return -1;
    return make_poll(server, err);
}

int oneib_grants_server_open(const struct oneib_grants_server_options *options,
                             struct oneib_grants_server **server, struct oneib_error *err)
{
    *server = oneib_alloc(1, sizeof **server);
    (*server)->poll_fd = (*server)->again = -1;
    if (begin(*server, options, err) == 0)
        return 0;
    oneib_grants_server_close(*server);
    *server = NULL;
    return -1;
}

static void end_context(void *context)
{
    while (zmq_ctx_term(context) < 0 && zmq_errno() == EINTR)
        ;
}

void oneib_grants_server_close(struct oneib_grants_server *server)
{
    if (!server)
        return;
    oneib_connections_close(server->connections);
    if (server->router)
        zmq_close(server->router);
    if (server->zap)
        zmq_close(server->zap);
    if (server->context)
        end_context(server->context);
    if (server->poll_fd >= 0)
        close(server->poll_fd);
    if (server->again >= 0)
        close(server->again);
    free(server->peers);
    explicit_bzero(&server->sign, sizeof server->sign);
    free(server);
}

int oneib_grants_server_fd(const struct oneib_grants_server *server)
{
    return server->poll_fd;
}

const struct oneib_grants_counts *oneib_grants_server_counts(struct oneib_grants_server *server)
{
    server->counts.ended = oneib_connections_ended(server->connections);
    return &server->counts;
}
