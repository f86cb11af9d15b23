// SPDX-License-Identifier: Apache-2.0
/*
 * Where the service listens: ONEIB_SERVICE_SOCKET, mode 0660, for OpenNebula's group, and
 * ONEIB_SERVICE_READ_SOCKET, mode 0666. systemd's (oneib-node.socket, oneib-node-read.socket), or
 * made here when the service is started without it.
 */
#ifndef ONEIB_NODE_SOCKETS_H
#define ONEIB_NODE_SOCKETS_H

#include "base/error.h"
#include "oneib-node/privileges.h"
#include <stdbool.h>
#include <sys/types.h>

/* As install.sh and oneib-node.socket name it. Where there is no such group, root alone may ask. */
#define ONEIB_OPENNEBULA_GROUP "oneadmin"

enum oneib_socket_kind { ONEIB_SOCKET_ALL, ONEIB_SOCKET_READ, ONEIB_SOCKET_KINDS };

struct oneib_sockets {
    struct oneib_socket {
        int fd; /* listens; nonblocking; close on exec */
        bool is_own;
        dev_t device; /* of its name, and of no other file's as long as it is open */
        ino_t inode;
    } of[ONEIB_SOCKET_KINDS];
};

/*
 * Opens the sockets that are not inherited: once this process is the one service that the node has
 * (oneib_vfs_open()), and while it still has all of its privileges. REFUSED when /run/oneib is
 * another user's, or writable for others.
 */
int oneib_sockets_open(const struct oneib_inherited *inherited, struct oneib_sockets *sockets,
                       struct oneib_error *err);
/* NULL is none. What was made here stays until another service makes it anew: a caller meanwhile is
 * told that nobody listens. */
void oneib_sockets_close(struct oneib_sockets *sockets);

/*
 * Whether callers still find them: somebody may have removed /run/oneib. The service lives on, and
 * keeps open VFs where their keys are: nobody else would. A socket of its own is made anew; one of
 * systemd's can only be made by systemd, and NOT_FOUND says how.
 */
int oneib_sockets_check(struct oneib_sockets *sockets, struct oneib_error *err);

#endif
