// SPDX-License-Identifier: Apache-2.0
/*
 * Ports for servers of tests. Not of those that the kernel gives to connections: a server that is
 * ended and started again would find its own taken by one of them, its clients' too. And none that
 * another test has: hundreds run at once, and what one has chosen it listens at later, and not while
 * its server is down.
 */
#ifndef ONEIB_TEST_PORTS_H
#define ONEIB_TEST_PORTS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORTS_FIRST 10000u
#define PORTS_END 32768u /* where those for connections begin, if nobody has changed that */
#define PORT_TRIES 100

static inline unsigned first_port_of_connections(void)
{
    unsigned first = PORTS_END;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (file) {
        if (fscanf(file, "%u", &first) != 1)
            first = PORTS_END;
        fclose(file);
    }
    return first > PORTS_FIRST + PORT_TRIES ? first : PORTS_END;
}

/* The port is this process's until it ends: the socket stays bound, and only who says SO_REUSEADDR,
 * as every server here does, listens beside it. Whoever looks for a port does not say so. */
static inline bool keep_port(unsigned port)
{
    const int yes = 1;
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0)
        return true;
    if (fd >= 0)
        close(fd);
    return false;
}

/* Nobody else's on loopback, while this process lives. 0: none was found. */
static inline unsigned free_port(void)
{
    const unsigned end = first_port_of_connections();
    for (unsigned try = 0; try < PORT_TRIES; try++) {
        unsigned number;
        if (getrandom(&number, sizeof number, 0) != sizeof number)
            return 0;
        const unsigned port = PORTS_FIRST + number % (end - PORTS_FIRST);
        if (keep_port(port))
            return port;
    }
    return 0;
}

#endif
