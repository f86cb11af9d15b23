// SPDX-License-Identifier: Apache-2.0
/* Static members: storage servers and gateways that a network's document names. */
#include "base/array.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
#include <inttypes.h>

static void say_site_guid(struct oneib_work *work, const struct oneib_network *network,
                          oneib_guid guid)
{
    oneib_findings_note(
        work->findings, ONEIB_FINDING_STATIC_GUID_INVALID,
        "%s names 0x%016" PRIx64
        " as a static member, which is no adapter's GUID but one of those that oneib gives to VFs: "
        "it is refused",
        oneib_name_network(work, network->id).text, guid);
}

static void mention(struct oneib_work *work, uint32_t index, const struct oneib_network *rules,
                    const struct oneib_static_member *member)
{
    const struct oneib_entitlement *entitlement = &work->entitlements[index];
    if (!oneib_guid_is_foreign(work, member->guid)) {
        if (rules == &work->cloud->networks[index])
            say_site_guid(work, rules, member->guid);
        return;
    }
    if (entitlement->pkey)
        work->statics[work->static_count++] = (struct oneib_line){
            .guid = member->guid,
            .cluster = entitlement->cluster,
            .pkey = entitlement->pkey,
            .membership = (uint8_t)oneib_narrower(ONEIB_FULL, member->membership)};
}

/* Those of the network, or of what it is reserved from. A reservation that shares a partition adds
 * nobody to it, and one that cannot be read has no members. */
static void mention_statics(struct oneib_work *work, uint32_t index)
{
    const struct oneib_network *rules =
        oneib_network_rules(work->cloud, &work->cloud->networks[index]);
    if (!rules || oneib_network_is_doubtful(&work->cloud->networks[index]) ||
        work->entitlements[index].cluster != index)
        return;
    ONEIB_RESERVE(work->statics, work->static_capacity, work->static_count + rules->static_count);
    for (size_t i = 0; i < rules->static_count; i++)
        mention(work, index, rules, &rules->static_members[i]);
}

/* The narrowest first. */
ONEIB_ORDER_BY(compare_mentions, struct oneib_line, cluster, guid, membership);

static void keep_first_of_each(struct oneib_work *work)
{
    size_t kept = 0;
    for (size_t i = 0; i < work->static_count; i++) {
        const struct oneib_line *line = &work->statics[i];
        const struct oneib_line *last = kept ? &work->statics[kept - 1] : NULL;
        if (!last || line->cluster != last->cluster || line->guid != last->guid)
            work->statics[kept++] = *line;
    }
    work->static_count = kept;
}

/* The same for the same members in any order. */
static uint64_t fingerprint(const struct oneib_network *network)
{
    uint64_t sum = network->static_count;
    for (size_t i = 0; i < network->static_count; i++)
        sum +=
            network->static_members[i].guid * 31 + (uint64_t)network->static_members[i].membership;
    return sum;
}

/* What it says besides its rules, and what does not count. */
static const char *ignored(const struct oneib_network *network, const struct oneib_network *rules)
{
    if (network->static_count && (!rules || fingerprint(network) != fingerprint(rules)))
        return "IB_STATIC_GUIDS";
    if (network->rate_gbps && (!rules || network->rate_gbps != rules->rate_gbps))
        return "IB_RATE";
    if (network->reservations_share && !(rules && rules->reservations_share))
        return "IB_RESERVATION";
    return NULL;
}

static void say_ignored(struct oneib_work *work, const struct oneib_network *network)
{
    const struct oneib_network *rules = oneib_network_rules(work->cloud, network);
    const char *attribute = rules == network ? NULL : ignored(network, rules);
    if (!attribute || network->other_driver)
        return;
    oneib_findings_note(work->findings, ONEIB_FINDING_ATTRIBUTE_IGNORED, "%s: %s is ignored: %s",
                        oneib_name_network(work, network->id).text, attribute,
                        rules ? "a reservation has its parent's value"
                              : "the network is not oneadmin's");
}

void oneib_collect_statics(struct oneib_work *work)
{
    for (size_t i = 0; i < work->cloud->network_count; i++) {
        mention_statics(work, (uint32_t)i);
        say_ignored(work, &work->cloud->networks[i]);
    }
    ONEIB_SORT(work->statics, work->static_count, compare_mentions);
    keep_first_of_each(work);
}
