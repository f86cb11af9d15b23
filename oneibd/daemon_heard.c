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
    if (!oneib_timer_is_due(&daemon->timers, ONEIB_TIMER_NODE_REPORTS, now))
        return;
    if (write_heard(daemon, now, &failure) < 0)
        oneib_daemon_complain(daemon, &failure);
    const double took = oneib_now_ms() - now;
    daemon->reports_not_before = now + (took * SHARE > LEAST_MS ? took * SHARE : LEAST_MS);
    oneib_timer_cancel(&daemon->timers, ONEIB_TIMER_NODE_REPORTS);
}
