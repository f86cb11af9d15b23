// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/oneib-grants/relay_message.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define MAGIC 0x3152474fu /* "OGR1" in the bytes of a little endian machine */

struct head {
    uint32_t magic;
    uint16_t kind, daemon;
};

/* ---- sending --------------------------------------------------------------------------------- */

static int send_packet(int socket, enum oneib_relay_kind kind, size_t daemon, const void *bytes,
                       size_t length, bool *sent, struct oneib_error *err)
{
    struct head head = {.magic = MAGIC, .kind = (uint16_t)kind, .daemon = (uint16_t)daemon};
    const uintptr_t address = (uintptr_t)bytes; /* an iovec has no const */
    struct iovec parts[] = {{.iov_base = &head, .iov_len = sizeof head},
                            {.iov_base = (void *)address, .iov_len = length}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t status;
    do
        status = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (status < 0 && errno == EINTR);
    *sent = status >= 0;
    if (status >= 0 || errno == EAGAIN || errno == ENOBUFS)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "the other end has ended: %s", strerror(errno));
}

static void fill_setup(struct oneib_relay_setup *setup, const struct oneib_curve_pair *pair,
                       const struct oneib_daemons *daemons)
{
    memset(setup, 0, sizeof *setup);
    setup->pair = *pair;
    setup->count = (uint32_t)daemons->count;
    for (size_t i = 0; i < daemons->count; i++) {
        const struct oneib_ledger_daemon *daemon = &daemons->items[i];
        memcpy(setup->peers[i].address, daemon->address,
               strnlen(daemon->address, ONEIB_ADDRESS_SIZE - 1));
        memcpy(setup->peers[i].curve, daemon->curve, sizeof daemon->curve);
    }
}

int oneib_relay_send_setup(int socket, const struct oneib_curve_pair *pair,
                           const struct oneib_daemons *daemons, struct oneib_error *err)
{
    struct oneib_relay_setup setup;
    bool sent;
    fill_setup(&setup, pair, daemons);
    if (send_packet(socket, ONEIB_RELAY_SETUP, 0, &setup, sizeof setup, &sent, err) < 0)
        return -1;
    return sent ? 0 : oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "the other end's queue is full");
}

int oneib_relay_send_frame(int socket, enum oneib_relay_kind kind, size_t daemon, const void *bytes,
                           size_t length, bool *sent, struct oneib_error *err)
{
    return send_packet(socket, kind, daemon, bytes, length, sent, err);
}

/* One line that acts on nothing, as it is required of whoever receives it. */
static size_t make_line(char line[ONEIB_RELAY_TEXT], const char *text)
{
    size_t length = strnlen(text, ONEIB_RELAY_TEXT - 1);
    for (size_t i = 0; i < length; i++)
        line[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
    return length;
}

int oneib_relay_send_news(int socket, enum oneib_relay_kind kind, size_t daemon, const char *text,
                          bool *sent, struct oneib_error *err)
{
    char line[ONEIB_RELAY_TEXT];
    const size_t length = text ? make_line(line, text) : 0;
    return send_packet(socket, kind, daemon, line, length, sent, err);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static int fail(struct oneib_error *err, const char *what)
{
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "a packet in which %s is invalid", what);
}

static int check_text(struct oneib_relay_packet *packet, struct oneib_error *err)
{
    if (packet->length >= ONEIB_RELAY_TEXT)
        return fail(err, "the length");
    for (size_t i = 0; i < packet->length; i++)
        if (packet->bytes[i] < ' ' || packet->bytes[i] == 0x7f)
            return fail(err, "the text");
    packet->text[packet->length] = '\0';
    return 0;
}

static int check_setup(const struct oneib_relay_packet *packet, struct oneib_error *err)
{
    const struct oneib_relay_setup *setup = &packet->setup;
    if (packet->length != sizeof *setup)
        return fail(err, "the length");
    if (setup->count > ONEIB_DAEMONS_MAX)
        return fail(err, "the number of daemons");
    for (size_t i = 0; i < setup->count; i++)
        if (!memchr(setup->peers[i].address, '\0', sizeof setup->peers[i].address))
            return fail(err, "an address");
    return 0;
}

static bool is_of_daemon(enum oneib_relay_kind kind)
{
    return kind == ONEIB_RELAY_SEND || kind == ONEIB_RELAY_FRAME || kind == ONEIB_RELAY_CONNECTED ||
           kind == ONEIB_RELAY_DISCONNECTED;
}

static int check_content(struct oneib_relay_packet *packet, struct oneib_error *err)
{
    if (packet->daemon >= (is_of_daemon(packet->kind) ? ONEIB_DAEMONS_MAX : 1))
        return fail(err, "the daemon");
    switch (packet->kind) {
    case ONEIB_RELAY_SETUP:
        return check_setup(packet, err);
    case ONEIB_RELAY_SEND:
    case ONEIB_RELAY_FRAME:
        return packet->length > 0 ? 0 : fail(err, "the length");
    case ONEIB_RELAY_DISCONNECTED:
    case ONEIB_RELAY_FAILED:
        return check_text(packet, err);
    default:
        return packet->length == 0 ? 0 : fail(err, "the length");
    }
}

/* The length of what has arrived; 0: nothing has. */
static ssize_t receive(int socket, struct head *head, struct oneib_relay_packet *packet,
                       bool *is_whole, struct oneib_error *err)
{
    struct iovec parts[] = {{.iov_base = head, .iov_len = sizeof *head},
                            {.iov_base = packet->bytes, .iov_len = sizeof packet->bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t length;
    /* A reset is told once, where the other has ended and left something unread: what it has said
     * comes next. */
    do
        length = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (length < 0 && (errno == EINTR || errno == ECONNRESET));
    if (length < 0 && errno == EAGAIN)
        return 0;
    if (length <= 0)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "the other end has ended");
    *is_whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    return length;
}

static int take(int socket, enum oneib_relay_kind first, enum oneib_relay_kind last,
                struct oneib_relay_packet *packet, struct oneib_error *err)
{
    struct head head;
    bool is_whole = false;
    const ssize_t length = receive(socket, &head, packet, &is_whole, err);
    if (length <= 0)
        return (int)length;
    if (!is_whole || (size_t)length < sizeof head || head.magic != MAGIC)
        return fail(err, "the beginning or the length");
    if (head.kind < first || head.kind > last)
        return fail(err, "the kind");
    packet->kind = (enum oneib_relay_kind)head.kind;
    packet->daemon = head.daemon;
    packet->length = (size_t)length - sizeof head;
    return check_content(packet, err) < 0 ? -1 : 1;
}

int oneib_relay_take_order(int socket, struct oneib_relay_packet *packet, struct oneib_error *err)
{
    return take(socket, ONEIB_RELAY_SETUP, ONEIB_RELAY_SEND, packet, err);
}

int oneib_relay_take_news(int socket, struct oneib_relay_packet *packet, struct oneib_error *err)
{
    return take(socket, ONEIB_RELAY_FRAME, ONEIB_RELAY_FAILED, packet, err);
}
