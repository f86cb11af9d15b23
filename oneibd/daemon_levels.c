// SPDX-License-Identifier: Apache-2.0
/* Whether clusters have their multicast groups, and the fabric treats service levels as the
 * operator's classes say. */
#include "base/clock.h"
#include "oneibd/daemon.h"
#include "sync/levels.h"

/* A large fabric has many tables: reading them takes no more than a twentieth of the time. */
#define SHARE 20

/* What was found last holds until the next look; a look that failed has found nothing out. */
static int look(struct oneib_daemon *daemon, struct oneib_levels_result *result,
                struct oneib_error *err)
{
    struct oneib_findings found = {0};
    struct oneib_routes routes;
    if (oneib_levels_verify(&daemon->config, daemon->fabric, &daemon->snapshot, &found, result,
                            &routes, err) < 0) {
        oneib_findings_clear(&found);
        return -1;
    }
    oneib_findings_clear(&daemon->level_findings);
    oneib_routes_clear(&daemon->routes);
    daemon->level_findings = found;
    daemon->routes = routes;
    return 0;
}

void oneib_daemon_read_at_levels(struct oneib_daemon *daemon)
{
    struct oneib_levels_result result;
    const double began = oneib_now_ms();
    if (!daemon->fabric || began < daemon->levels_at)
        return;
    daemon->levels_error = (struct oneib_error){0};
    const int outcome = look(daemon, &result, &daemon->levels_error);
    const double ended = oneib_now_ms();
    daemon->levels_at = ended + (ended - began) * SHARE;
    if (outcome < 0)
        return;
    daemon->metrics.level_ports = result.port_drift;
    daemon->metrics.level_clusters = result.cluster_drift;
}

void oneib_daemon_find_sharing(struct oneib_daemon *daemon)
{
    oneib_findings_clear(&daemon->sharing_findings);
    oneib_levels_judge_sharing(&daemon->snapshot, &daemon->routes, &daemon->sharing_findings);
}
