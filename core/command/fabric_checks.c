// SPDX-License-Identifier: Apache-2.0
#include "command/fabric_checks.h"
#include "base/cleanup.h"
#include "command/answer.h"
#include "fabric/routes_read.h"
#include "sm/kind.h"

static bool has_virtual_members(const struct oneib_desired *desired)
{
    for (size_t i = 0; i < desired->binding_count; i++)
        if (oneib_is_virtual_member(&desired->bindings[i]))
            return true;
    return false;
}

/* Its answer proves nothing, and no answer is no failure. */
static void ask_about_virtual_ports(const struct oneib_config *config, struct oneib_sm *sm,
                                    const struct oneib_snapshot *snapshot,
                                    struct oneib_fabric_checks *checks)
{
    if (!oneib_sm_traits(config->sm.kind)->is_elsewhere || !has_virtual_members(&snapshot->desired))
        return;
    checks->sm_was_asked = true;
    (void)oneib_sm_ask_vports(sm, &checks->said, &checks->said_error);
}

static int read_for_verify(const struct oneib_config *config, struct oneib_sm *sm,
                           struct oneib_fabric *fabric, const struct oneib_snapshot *snapshot,
                           struct oneib_fabric_checks *checks, struct oneib_error *err)
{
    oneib_auto(oneib_routes_clear) struct oneib_routes routes = {0};
    /* Where the subnet manager has virtual ports their keys stand in the switches' tables, too: these are
     * not compared. */
    if (!oneib_sm_traits(config->sm.kind)->virtual_ports &&
        oneib_fabric_read_stale_keys(fabric, &snapshot->subnet, &checks->stale_keys, err) < 0)
        return -1;
    if (oneib_levels_verify(config, fabric, snapshot, &checks->findings, &checks->levels, &routes,
                            err) < 0)
        return -1;
    oneib_levels_judge_sharing(snapshot, &routes, &checks->findings);
    ask_about_virtual_ports(config, sm, snapshot, checks);
    return 0;
}

int oneib_fabric_checks_read(enum oneib_question question, const struct oneib_config *config,
                             struct oneib_sm *sm, struct oneib_fabric *fabric,
                             const struct oneib_snapshot *snapshot,
                             struct oneib_fabric_checks *checks, struct oneib_error *err)
{
    if (question == ONEIB_ASK_VERIFY)
        return read_for_verify(config, sm, fabric, snapshot, checks, err);
    if (question == ONEIB_ASK_LINKS)
        return oneib_fabric_read_routes(fabric, &snapshot->subnet, &checks->routes,
                                        &checks->silent_switches, err);
    return 0;
}

void oneib_fabric_checks_clear(struct oneib_fabric_checks *checks)
{
    oneib_stale_keys_clear(&checks->stale_keys);
    oneib_findings_clear(&checks->findings);
    oneib_said_vports_clear(&checks->said);
    oneib_routes_clear(&checks->routes);
    *checks = (struct oneib_fabric_checks){0};
}
