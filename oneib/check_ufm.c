// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` finds out from UFM. */
#include "base/cleanup.h"
#include "oneib/verb_check.h"
#include <stdio.h>

#define NAME "ufm"

/* The default partition as it is to be: who is full there is meant. */
static void want_default(const struct oneib_config *config, struct oneib_partition_table *wanted)
{
    struct oneib_partition *partition = oneib_partition_table_add(wanted);
    snprintf(partition->name, sizeof partition->name, "Default");
    partition->pkey = ONEIB_PKEY_DEFAULT;
    for (size_t i = 0; i < config->default_partition.full_count; i++)
        oneib_partition_add_member(partition,
                                   (struct oneib_member){config->default_partition.full_guids[i],
                                                         ONEIB_MEMBER_GUID, ONEIB_FULL});
}

static void tell_findings(const struct oneib_findings *findings, struct oneib_checks *checks)
{
    for (size_t i = 0; i < findings->count; i++)
        oneib_check_add(checks,
                        findings->items[i].severity == ONEIB_VIOLATION ? ONEIB_CHECK_FAIL
                                                                       : ONEIB_CHECK_WARN,
                        NAME, findings->items[i].fix, "%s", findings->items[i].text);
}

static void tell_state(const struct oneib_session *session, const struct oneib_seen *seen,
                       size_t partitions, struct oneib_checks *checks)
{
    if (seen->state == ONEIB_SEEN_FOREIGN)
        oneib_check_add(checks, ONEIB_CHECK_WARN, NAME,
                        "look at 'oneib plan', give oneib a range of its own, or take them over "
                        "with 'oneib sync --force'",
                        "%s answers, and has %zu P_Keys from pkeys.first to pkeys.last that oneib "
                        "has not put there",
                        oneib_sm_place(session->sm), partitions);
    else
        oneib_check_add(checks, ONEIB_CHECK_OK, NAME, NULL,
                        "%s answers, and has %zu P_Keys of oneib's", oneib_sm_place(session->sm),
                        partitions);
}

static void look_and_tell(struct oneib_session *session, struct oneib_checks *checks)
{
    oneib_auto(oneib_seen_clear) struct oneib_seen seen = {0};
    oneib_autopartitions struct oneib_partition_table wanted = {0};
    oneib_autofindings struct oneib_findings findings = {0};
    struct oneib_error err;
    if (oneib_sm_read(session->sm, &seen, &err) < 0) {
        oneib_check_add(checks, ONEIB_CHECK_FAIL, NAME,
                        "look at the group ufm of oneib.conf: docs/operator-ufm.md", "%s",
                        err.text);
        return;
    }
    const size_t partitions = seen.table.count;
    want_default(&session->config, &wanted);
    oneib_sm_settle(session->sm, &seen, &wanted, &findings);
    tell_state(session, &seen, partitions, checks);
    tell_findings(&findings, checks);
}

void oneib_check_ufm(struct oneib_session *session, struct oneib_checks *checks)
{
    if (session->config.sm.kind == ONEIB_SM_UFM)
        look_and_tell(session, checks);
}
