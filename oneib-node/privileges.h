// SPDX-License-Identifier: Apache-2.0
/* What oneib-node makes of what it inherits from whoever started it, and of being root. */
#ifndef ONEIB_NODE_PRIVILEGES_H
#define ONEIB_NODE_PRIVILEGES_H

#include "base/error.h"

#define ONEIB_INHERITED_MAX 2   /* sockets: one for each kind of callers */
#define ONEIB_INHERITED_NAME 16 /* bytes of a socket's name, its 0 included */

/* What is kept of it. */
struct oneib_inherited {
    /* Sockets that systemd has opened, sd_listen_fds(3); close on exec. */
    struct oneib_inherited_socket {
        int fd;
        char name[ONEIB_INHERITED_NAME]; /* FileDescriptorName= */
    } sockets[ONEIB_INHERITED_MAX];
    int socket_count;
    char notify[108]; /* where systemd waits for "ready", sd_notify(3); "": nowhere */
};

/*
 * The first thing in main(): leaves no descriptor but 0, 1 and 2 (which are open afterwards) and
 * systemd's sockets, no environment, no ignored or blocked signals, no working directory and no
 * umask of the caller's, no dumps of memory and no way to more privileges. What a terminal stops
 * programs with is ignored. REFUSED when real and effective user or group differ: oneib-node is not
 * a setuid program; and when there are other sockets than oneib-node.socket's and
 * oneib-node-read.socket's.
 */
int oneib_inherit(struct oneib_inherited *inherited, struct oneib_error *err);

/* Root keeps no capability but CAP_NET_ADMIN, and nobody any way to sockets of the internet, for
 * good.
 */
int oneib_drop_privileges(struct oneib_error *err);

/* REFUSED unless the configuration that a privileged run reads, and its directory, are root's and
 * writable for nobody else: it says which site's GUIDs are made and which VFs are the host's. */
int oneib_check_config_owner(struct oneib_error *err);

/* Tells whoever waits for it, if anybody does, that the service is ready. */
void oneib_tell_ready(const struct oneib_inherited *inherited);

#endif
