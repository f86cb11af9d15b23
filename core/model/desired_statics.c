// SPDX-License-Identifier: Apache-2.0
/* Static members: storage servers and gateways that a network's document names. */
#include "base/array.h"
#include "model/desired_internal.h"
#include <inttypes.h>
#include <stdlib.h>

/* One mention of a GUID. */
struct mention {
    struct oneib_line line;
    uint32_t network; /* index of the network that says it */
};

struct mentions {
    struct mention *items;
    size_t count, capacity;
};

static int say_site_guid(struct oneib_work *work, const struct oneib_network *network,
                         oneib_guid guid, struct oneib_error *err)
{
    return oneib_findings_add(
        work->findings, ONEIB_WARNING, "static-guid-site",
        "remove it from IB_STATIC_GUIDS: VMs join a network by being attached to it", err,
        "%s names 0x%016" PRIx64
        " as a static member, which is no adapter's GUID but one of those that oneib gives to VFs: "
        "it is refused",
        oneib_name_network(work, network->id).text, guid);
}

static int mention_statics(struct oneib_work *work, uint32_t index, struct mentions *mentions,
                           struct oneib_error *err)
{
    const struct oneib_network *network = &work->cloud->networks[index];
    const struct oneib_entitlement *entitlement = &work->entitlements[index];
    if (entitlement->verdict == ONEIB_VERDICT_NO_NETWORK)
        return 0;
    if (oneib_reserve(&mentions->items, &mentions->capacity,
                      mentions->count + network->static_count, sizeof *mentions->items, err) < 0)
        return -1;
    for (size_t i = 0; i < network->static_count; i++) {
        const struct oneib_static_member *member = &network->static_members[i];
        if (!oneib_guid_is_foreign(work, member->guid)) {
            if (say_site_guid(work, network, member->guid, err) < 0)
                return -1;
        } else if (entitlement->pkey) {
            mentions->items[mentions->count++] = (struct mention){
                .line = {.guid = member->guid,
                         .cluster = entitlement->cluster,
                         .pkey = entitlement->pkey,
                         .membership = (uint8_t)oneib_narrower(ONEIB_FULL, member->membership)},
                .network = index};
        }
    }
    return 0;
}

/* What the partition's own network says comes first, then the narrowest. */
static int compare_mentions(const void *a, const void *b)
{
    const struct mention *left = a, *right = b;
    if (left->line.cluster != right->line.cluster)
        return left->line.cluster < right->line.cluster ? -1 : 1;
    if (left->line.guid != right->line.guid)
        return left->line.guid < right->line.guid ? -1 : 1;
    bool left_sharer = left->network != left->line.cluster;
    bool right_sharer = right->network != right->line.cluster;
    if (left_sharer != right_sharer)
        return left_sharer ? 1 : -1;
    if (left->line.membership != right->line.membership)
        return left->line.membership < right->line.membership ? -1 : 1;
    return (left->network > right->network) - (left->network < right->network);
}

static int say_ignored(struct oneib_work *work, const struct mention *mention,
                       struct oneib_error *err)
{
    return oneib_findings_add(
        work->findings, ONEIB_NOTICE, "static-not-own",
        "name it in the parent's IB_STATIC_GUIDS, if it belongs into that partition", err,
        "%s shares the partition of %s: its static member 0x%016" PRIx64 " is ignored",
        oneib_name_network(work, work->cloud->networks[mention->network].id).text,
        oneib_name_network(work, work->cloud->networks[mention->line.cluster].id).text,
        mention->line.guid);
}

static int keep_first_of_each(struct oneib_work *work, const struct mentions *mentions,
                              struct oneib_error *err)
{
    if (oneib_reserve(&work->statics, &work->static_capacity, mentions->count,
                      sizeof *work->statics, err) < 0)
        return -1;
    for (size_t i = 0; i < mentions->count; i++) {
        const struct mention *mention = &mentions->items[i];
        if (i > 0 && mention->line.cluster == mention[-1].line.cluster &&
            mention->line.guid == mention[-1].line.guid)
            continue;
        /* A reservation does not decide who joins its parent's partition. */
        if (mention->network != mention->line.cluster) {
            if (say_ignored(work, mention, err) < 0)
                return -1;
        } else {
            work->statics[work->static_count++] = mention->line;
        }
    }
    return 0;
}

int oneib_collect_statics(struct oneib_work *work, struct oneib_error *err)
{
    struct mentions mentions = {0};
    int outcome = 0;
    for (size_t i = 0; outcome == 0 && i < work->cloud->network_count; i++)
        if (work->cloud->networks[i].static_count)
            outcome = mention_statics(work, (uint32_t)i, &mentions, err);
    if (outcome == 0 && mentions.count) {
        qsort(mentions.items, mentions.count, sizeof *mentions.items, compare_mentions);
        outcome = keep_first_of_each(work, &mentions, err);
    }
    free(mentions.items);
    return outcome;
}
