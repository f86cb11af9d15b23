// SPDX-License-Identifier: Apache-2.0
/* One connection to oneib-node, on the caller's side: what is sent and received on it, and until
 * when. Deadlines are oneib_now_ms()'s. */
#ifndef ONEIB_SERVICE_CONNECTION_H
#define ONEIB_SERVICE_CONNECTION_H

#include "base/error.h"
#include "service/service_message.h"

enum oneib_connection_outcome {
    ONEIB_CONNECTION_FINE,
    ONEIB_CONNECTION_LOST,   /* nobody listens, or the other end is gone; *err says which */
    ONEIB_CONNECTION_ABSENT, /* there is no such socket */
    ONEIB_CONNECTION_DENIED, /* this user may not call there */
    ONEIB_CONNECTION_FAILED, /* it is of no use to call again */
};

/* socket: a path below oneib_node_root(), however long that is. *fd is to be closed. */
enum oneib_connection_outcome oneib_connection_open(const char *socket, double deadline, int *fd,
                                                    struct oneib_error *err);
enum oneib_connection_outcome oneib_connection_send(int fd, const struct oneib_request *request,
                                                    double deadline, struct oneib_error *err);
/* FAILED: TIMEOUT, or PROTOCOL when it is no answer. */
enum oneib_connection_outcome oneib_connection_receive(int fd, struct oneib_answer *answer,
                                                       double deadline, struct oneib_error *err);

#endif
