// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-grants: has a node's connections to oneibd, and passes on what is said. oneib-node starts
 * it with a socket as its standard input. It ends when that socket does. Exit status 0, 2 usage, 3
 * failure, which one line on standard error explains.
 */
#include "base/exit.h"
#include "oneib-node/oneib-grants/relay.h"
#include "oneib-node/oneib-grants/relay_message.h"
#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_packet_socket(int fd)
{
    int type;
    socklen_t length = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

/* The node's secret key is here, and oneib-domains is the same user's. */
static int hide_memory(struct oneib_error *err)
{
    return prctl(PR_SET_DUMPABLE, 0) < 0 ? oneib_fail_errno(err, errno, "hiding its memory") : 0;
}

static int run(struct oneib_error *err)
{
    struct oneib_relay *relay;
    bool is_over = false;
    int status;
    if (hide_memory(err) < 0 || oneib_relay_open(STDIN_FILENO, &relay, err) < 0)
        return -1;
    do
        status = oneib_relay_turn(relay, &is_over, err);
    while (status == 0 && !is_over);
    oneib_relay_close(relay);
    return status;
}

int main(int argc, char **argv)
{
    struct oneib_error err = {0}, unheard;
    bool sent;
    (void)argv;
    if (argc != 1 || !is_packet_socket(STDIN_FILENO)) {
        fputs("oneib-grants: usage: oneib-grants, started by oneib-node\n", stderr);
        return ONEIB_EXIT_USAGE;
    }
    if (run(&err) == 0)
        return ONEIB_EXIT_DONE;
    oneib_relay_send_news(STDIN_FILENO, ONEIB_RELAY_FAILED, 0, err.text, &sent, &unheard);
    fprintf(stderr, "oneib-grants: %s\n", err.text);
    return ONEIB_EXIT_FAILURE;
}
