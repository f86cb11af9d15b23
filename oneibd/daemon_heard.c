// SPDX-License-Identifier: Apache-2.0
/* What nodes have said, written down for oneib. */
#include "base/clock.h"
#include "oneibd/daemon.h"
#include "sync/heard.h"
#include <stdlib.h>

#define LEAST_MS 1000.0 /* between two writings, */
#define SHARE 50        /* which take at most that part of the time */

static int write_heard(struct oneib_daemon *daemon, double now, struct oneib_error *err)
{
    struct oneib_node_snapshot *said = oneib_nodes_said(&daemon->nodes, now);
    const int status = oneib_heard_write(oneib_config_state(&daemon->config), said,
                                         daemon->nodes.count, &daemon->grant_findings, err);
    free(said);
    return status;
}

void oneib_daemon_write_heard(struct oneib_daemon *daemon)
{
    struct oneib_error failure;
    const double now = oneib_now_ms();
    if (!daemon->heard_is_due || now < daemon->heard_after_ms)
        return;
    if (write_heard(daemon, now, &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
    const double took = oneib_now_ms() - now;
    daemon->heard_is_due = false;
    daemon->heard_after_ms = now + (took * SHARE > LEAST_MS ? took * SHARE : LEAST_MS);
}

double oneib_daemon_heard_wait(const struct oneib_daemon *daemon, double otherwise)
{
    const double left = daemon->heard_after_ms - oneib_now_ms();
    if (!daemon->heard_is_due || left > otherwise)
        return otherwise;
    return left > 0 ? left : 0;
}
