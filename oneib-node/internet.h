// SPDX-License-Identifier: Apache-2.0
/* No sockets of the internet for root's part, for good. */
#ifndef ONEIB_NODE_INTERNET_H
#define ONEIB_NODE_INTERNET_H

#include "base/error.h"

/*
 * From now on this process, with all that it starts, makes no sockets but AF_UNIX's and
 * AF_NETLINK's: others fail with EAFNOSUPPORT, and other ways to one with EPERM. The kernel keeps
 * that (seccomp), also where no unit of systemd's does. The unit cannot: it lets the connections of
 * oneib-grants through, which was started before. To be called with one thread, and after
 * PR_SET_NO_NEW_PRIVS.
 */
int oneib_forbid_internet(struct oneib_error *err);

#endif
