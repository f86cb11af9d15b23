// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/peers.h"
#include "base/clock.h"
#include "base/log.h"
#include <errno.h>
#include <math.h>
#include <sys/socket.h>
#include <unistd.h>

#define LET_IN_AT_ONCE 32

/* Lines of the log about those who misbehave: anybody may connect. */
#define GRUMBLES_MAX 10
#define GRUMBLING_MS 60000

/* ---- the table ------------------------------------------------------------------------------- */

void oneib_peers_begin(struct oneib_peers *peers, struct oneib_requests *requests)
{
    for (size_t i = 0; i < ONEIB_PEERS_MAX; i++)
        peers->items[i].fd = -1;
    peers->requests = requests;
}

static void part(struct oneib_peers *peers, struct oneib_peer *peer)
{
    close(peer->fd);
    peer->fd = -1;
    oneib_requests_forget(peers->requests, peer);
}

void oneib_peers_end(struct oneib_peers *peers)
{
    /* Nothing is given up: who waits asks the next service the same again. */
    for (size_t i = 0; i < ONEIB_PEERS_MAX; i++)
        if (peers->items[i].fd >= 0)
            close(peers->items[i].fd);
}

static void hear(struct oneib_peer *peer)
{
    peer->state = ONEIB_PEER_HEARING;
    peer->deadline = oneib_now_ms() + ONEIB_PEER_PATIENCE_MS;
}

/* ---- complaining ----------------------------------------------------------------------------- */

static bool may_grumble(struct oneib_peers *peers)
{
    const double now = oneib_now_ms();
    if (peers->grumbles == 0 || now - peers->grumbling_since > GRUMBLING_MS) {
        peers->grumbling_since = now;
        peers->grumbles = 0;
    }
    return peers->grumbles++ < GRUMBLES_MAX;
}

static void grumble(struct oneib_peers *peers, const struct oneib_peer *peer, const char *what)
{
    if (may_grumble(peers))
        oneib_log(ONEIB_LOG_WARNING, "rejected a connection of process %d, uid %u: %s",
                  (int)peer->who.pid, peer->who.uid, what);
}

/* ---- answering ------------------------------------------------------------------------------- */

/* 0: sent; EAGAIN: it has not read enough yet; anything else: it is gone. */
static int send_answer(int fd, const struct oneib_answer *answer)
{
    struct oneib_answer packed;
    oneib_answer_pack(answer, &packed);
    for (;;) {
        if (send(fd, &packed, sizeof packed, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
            return 0;
        if (errno != EINTR)
            return errno;
    }
}

/* As much as it takes. */
static void say(struct oneib_peers *peers, struct oneib_peer *peer)
{
    while (peer->state == ONEIB_PEER_SAYING) {
        const struct oneib_answer answer = oneib_requests_answer(peers->requests, peer);
        const int error = send_answer(peer->fd, &answer);
        if (error == EAGAIN)
            return;
        if (error != 0) {
            part(peers, peer);
            return;
        }
        oneib_requests_answered(peers->requests, peer);
    }
    hear(peer);
}

/* After a request was taken, or could be gone on with. */
static void follow(struct oneib_peers *peers, struct oneib_peer *peer)
{
    peer->deadline = HUGE_VAL;
    if (peer->state != ONEIB_PEER_SAYING)
        return;
    peer->deadline = oneib_now_ms() + ONEIB_PEER_PATIENCE_MS;
    say(peers, peer);
}

/* Its last words. */
static void send_away(struct oneib_peers *peers, struct oneib_peer *peer,
                      const struct oneib_error *why)
{
    const struct oneib_answer answer = oneib_answer_with(ONEIB_ANSWER_FAILED, why);
    grumble(peers, peer, why->text);
    send_answer(peer->fd, &answer);
    part(peers, peer);
}

/* ---- letting in ------------------------------------------------------------------------------ */

static const struct places {
    size_t first, count, per_uid;
} places[ONEIB_SOCKET_KINDS] = {
    [ONEIB_SOCKET_ALL] = {0, ONEIB_PEERS_ALL_MAX, ONEIB_PEERS_ALL_PER_UID},
    [ONEIB_SOCKET_READ] = {ONEIB_PEERS_ALL_MAX, ONEIB_PEERS_READ_MAX, ONEIB_PEERS_READ_PER_UID},
};

/* NULL: there is none for that user. */
static struct oneib_peer *find_place(struct oneib_peers *peers, enum oneib_socket_kind kind,
                                     uid_t uid, struct oneib_error *why)
{
    const struct places *here = &places[kind];
    struct oneib_peer *free_one = NULL;
    size_t own = 0;
    for (size_t i = here->first; i < here->first + here->count; i++) {
        struct oneib_peer *peer = &peers->items[i];
        if (peer->fd < 0)
            free_one = free_one ? free_one : peer;
        else
            own += peer->who.uid == uid;
    }
    if (own >= here->per_uid)
        oneib_fail(why, ONEIB_ERROR_REFUSED,
                   "uid %u has %zu connections to oneib-node already, which is all that one user "
                   "may have: close one, or try again in %d s",
                   uid, own, ONEIB_PEER_PATIENCE_MS / 1000);
    else if (!free_one)
        oneib_fail(why, ONEIB_ERROR_REFUSED,
                   "oneib-node serves %zu connections already: try again later", here->count);
    return own >= here->per_uid ? NULL : free_one;
}

static struct ucred credentials_of(int fd)
{
    struct ucred who = {.pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t size = sizeof who;
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
    return who;
}

static void turn_away(struct oneib_peers *peers, const struct oneib_peer *peer,
                      const struct oneib_error *why)
{
    const struct oneib_answer answer = oneib_answer_with(ONEIB_ANSWER_FAILED, why);
    grumble(peers, peer, why->text);
    send_answer(peer->fd, &answer);
    close(peer->fd);
}

static void let_in(struct oneib_peers *peers, int fd, enum oneib_socket_kind kind)
{
    struct oneib_error why;
    const struct oneib_peer caller = {.fd = fd, .who = credentials_of(fd)};
    struct oneib_peer *peer = find_place(peers, kind, caller.who.uid, &why);
    if (!peer) {
        turn_away(peers, &caller, &why);
        return;
    }
    peer->fd = fd;
    peer->may_change = kind == ONEIB_SOCKET_ALL;
    peer->who = caller.who;
    peer->asked_count = 0;
    hear(peer);
}

void oneib_peers_let_in(struct oneib_peers *peers, int listener, enum oneib_socket_kind kind)
{
    for (int i = 0; i < LET_IN_AT_ONCE; i++) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        let_in(peers, fd, kind);
    }
}

/* ---- hearing --------------------------------------------------------------------------------- */

/* Descriptors that are sent along are dropped by the kernel, as there is no room for them, and
 * betray themselves. */
static ssize_t receive(int fd, char *bytes, size_t size, bool *has_more)
{
    struct iovec place = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &place, .msg_iovlen = 1};
    const ssize_t length = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    *has_more = length >= 0 && (message.msg_flags & MSG_CTRUNC) != 0;
    return length;
}

static void hear_out(struct oneib_peers *peers, struct oneib_peer *peer)
{
    char bytes[sizeof(struct oneib_request) + 1];
    struct oneib_request request;
    struct oneib_error err;
    bool has_more;
    const ssize_t length = receive(peer->fd, bytes, sizeof bytes, &has_more);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length <= 0) {
        part(peers, peer);
        return;
    }
    if (has_more)
        oneib_fail(&err, ONEIB_ERROR_INPUT, "something was sent along with a message");
    if (has_more || oneib_request_check(bytes, (size_t)length, &request, &err) < 0) {
        send_away(peers, peer, &err);
        return;
    }
    oneib_requests_take(peers->requests, peer, &request);
    follow(peers, peer);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static short events_for(const struct oneib_peer *peer)
{
    switch (peer->state) {
    case ONEIB_PEER_HEARING:
        return POLLIN;
    case ONEIB_PEER_SAYING:
        return POLLOUT;
    default:
        return 0; /* that it has gone is told all the same */
    }
}

size_t oneib_peers_poll(const struct oneib_peers *peers, struct pollfd *files, uint16_t *which)
{
    size_t count = 0;
    for (size_t i = 0; i < ONEIB_PEERS_MAX; i++) {
        const struct oneib_peer *peer = &peers->items[i];
        if (peer->fd < 0)
            continue;
        files[count] = (struct pollfd){.fd = peer->fd, .events = events_for(peer)};
        which[count++] = (uint16_t)i;
    }
    return count;
}

void oneib_peers_serve(struct oneib_peers *peers, uint16_t which, short events)
{
    struct oneib_peer *peer = &peers->items[which];
    if (peer->fd < 0 || events == 0)
        return;
    /* What it has sent before it went is not asked for any more. */
    if ((events & (POLLHUP | POLLERR | POLLNVAL)) != 0)
        part(peers, peer);
    else if (peer->state == ONEIB_PEER_HEARING)
        hear_out(peers, peer);
    else if (peer->state == ONEIB_PEER_SAYING)
        say(peers, peer);
}

static bool is_late(const struct oneib_peer *peer)
{
    return peer->fd >= 0 && oneib_now_ms() >= peer->deadline;
}

/* Without a word: it would take that for the answer to what it asks next. */
static void part_from_the_late(struct oneib_peers *peers)
{
    for (size_t i = 0; i < ONEIB_PEERS_MAX; i++) {
        struct oneib_peer *peer = &peers->items[i];
        if (!is_late(peer))
            continue;
        if (peer->state == ONEIB_PEER_SAYING)
            grumble(peers, peer, "it does not read its answer");
        else if (peer->asked_count > 0)
            grumble(peers, peer, "it does not wait for its answer");
        part(peers, peer);
    }
}

void oneib_peers_go_on(struct oneib_peers *peers)
{
    part_from_the_late(peers);
    for (size_t i = 0; i < ONEIB_PEERS_MAX; i++) {
        struct oneib_peer *peer = &peers->items[i];
        if (peer->fd < 0 || (peer->state != ONEIB_PEER_HELD && peer->state != ONEIB_PEER_WAITING))
            continue;
        oneib_requests_go_on(peers->requests, peer);
        follow(peers, peer);
    }
}

/* Somebody who is HELD waits for the domains, or a grant, but not for ever. */
static double deadline_of(const struct oneib_peers *peers, const struct oneib_peer *peer)
{
    if (peer->state != ONEIB_PEER_HELD)
        return peer->deadline;
    return oneib_sooner(oneib_requests_due(peers->requests, peer), peer->deadline);
}

uint32_t oneib_peers_due_ms(const struct oneib_peers *peers)
{
    double first = HUGE_VAL;
    for (size_t i = 0; i < ONEIB_PEERS_MAX; i++)
        if (peers->items[i].fd >= 0)
            first = oneib_sooner(first, deadline_of(peers, &peers->items[i]));
    return oneib_ms_until(first);
}
