// SPDX-License-Identifier: Apache-2.0
/* Whatever oneib-grants tells root's part, or the other way, is taken whole or refused. */
#include "oneib-node/oneib-grants/relay_message.h"
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct oneib_relay_packet packet;

static void require(bool held)
{
    if (!held)
        abort();
}

static void take(int (*take_packet)(int, struct oneib_relay_packet *, struct oneib_error *),
                 const uint8_t *data, size_t size)
{
    int ends[2];
    struct oneib_error err = {0};
    require(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    if (send(ends[0], data, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size) {
        const int status = take_packet(ends[1], &packet, &err);
        require(status == -1 || status == 1);
        require(status == 1 || err.code == ONEIB_ERROR_PROTOCOL ||
                err.code == ONEIB_ERROR_UNREACHABLE);
        require(status == -1 || packet.length <= sizeof packet.bytes);
        if (status == 1 && packet.kind == ONEIB_RELAY_DISCONNECTED)
            require(strlen(packet.text) == packet.length);
    }
    close(ends[0]);
    close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    take(oneib_relay_take_news, data, size);
    take(oneib_relay_take_order, data, size);
    return 0;
}
