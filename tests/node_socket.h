// SPDX-License-Identifier: Apache-2.0
/* Listening where oneib-node does, for what stands in for it. */
#ifndef ONEIB_TEST_NODE_SOCKET_H
#define ONEIB_TEST_NODE_SOCKET_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* At root/run/oneib/name, which is made; root may be longer than an address has room for. -1: it
 * failed. */
static inline int listen_on_node(const char *root, const char *name)
{
    char path[4096];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(path, sizeof path, "%s/run", root);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/run/oneib", root);
    mkdir(path, 0755);
    const int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", directory, name);
    unlink(address.sun_path);
    const int bound = bind(listener, (struct sockaddr *)&address, sizeof address);
    close(directory);
    return bound == 0 && listen(listener, 64) == 0 ? listener : -1;
}

#endif
