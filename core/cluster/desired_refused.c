// SPDX-License-Identifier: Apache-2.0
/* What the subnet manager is not to be given, whoever asks for it: keys that it has for others, and
 * limited members of which it would make full ones. */
#include "cluster/desired_internal.h"

bool oneib_key_is_taken(const struct oneib_work *work, oneib_pkey pkey)
{
    const struct oneib_policy *policy = work->policy;
    return !policy->only_range || (pkey >= policy->pkey_first && pkey <= policy->pkey_last);
}

void oneib_say_key_refused(struct oneib_work *work, const struct oneib_network *network,
                           oneib_pkey pkey)
{
    oneib_findings_note(
        work->findings, ONEIB_FINDING_PKEY_OUTSIDE,
        "%s has P_Key 0x%04x (VLAN_ID %u), which is not from pkeys.first to pkeys.last: this "
        "subnet manager may have it for others, and it gets no members",
        oneib_name_network(work, network->id).text, pkey, pkey);
}

void oneib_say_limited_refused(struct oneib_work *work, const struct oneib_network *network)
{
    oneib_findings_note(work->findings, ONEIB_FINDING_LIMITED_REFUSED,
                        "%s has limited members, and this release of UFM makes full members of "
                        "them: they get no membership",
                        oneib_name_network(work, network->id).text);
}

/* A member that is no GUID, both full and limited, or of a membership that is not kept. */
static const char *fault_of_member(const struct oneib_work *work, const struct oneib_member *member)
{
    if (member->kind != ONEIB_MEMBER_GUID)
        return "has members that are not GUIDs";
    if (member->membership == ONEIB_BOTH)
        return "has members that are both full and limited";
    if (member->membership == ONEIB_LIMITED && work->policy->no_limited)
        return "has limited members, of which this release makes full ones";
    return NULL;
}

static const char *fault_of(const struct oneib_work *work, const struct oneib_partition *partition)
{
    const char *fault = NULL;
    if (!oneib_key_is_taken(work, partition->pkey))
        return "has a P_Key that is not from pkeys.first to pkeys.last";
    for (size_t i = 0; !fault && i < partition->member_count; i++)
        fault = fault_of_member(work, &partition->members[i]);
    return fault;
}

void oneib_static_is_refused(struct oneib_work *work, const struct oneib_partition *partition,
                             bool *refused)
{
    const char *fault = work->policy->only_range ? fault_of(work, partition) : NULL;
    *refused = fault != NULL;
    if (!fault)
        return;
    oneib_findings_note(work->findings, ONEIB_FINDING_STATIC_PARTITION_REFUSED,
                        "static partition \"%.31s\" (0x%04x) %s: UFM is not given it",
                        partition->name, partition->pkey, fault);
}
