// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-domains URI: follows the domains of one libvirt and tells oneib-node, which starts it with
 * a socket as its standard input. Changes nothing. It ends when that socket does. Exit status 0,
 * 2 usage, 3 failure, which one line on standard error explains.
 */
#include "base/exit.h"
#include "oneib-node/oneib-domains/domain_watch.h"
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_packet_socket(int fd)
{
    int type;
    socklen_t length = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

int main(int argc, char **argv)
{
    struct oneib_domain_watch *watch;
    struct oneib_error err = {0};
    if (argc != 2 || !is_packet_socket(STDIN_FILENO)) {
        fputs("oneib-domains: usage: oneib-domains URI, started by oneib-node\n", stderr);
        return ONEIB_EXIT_USAGE;
    }
    const struct oneib_domain_watch_options options = {.uri = argv[1], .socket = STDIN_FILENO};
    if (oneib_domain_watch_open(&options, &watch, &err) < 0) {
        fprintf(stderr, "oneib-domains: %s\n", err.text);
        return ONEIB_EXIT_FAILURE;
    }
    while (oneib_domain_watch_turn(watch))
        ;
    oneib_domain_watch_close(watch);
    return ONEIB_EXIT_DONE;
}
