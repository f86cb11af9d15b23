// SPDX-License-Identifier: Apache-2.0
/* The operator's own partitions: what they take from clusters, and where they would open them. */
#include "base/array.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
#include "ib/ipoib.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static bool looks_like_a_cluster(const char *name)
{
    return strncmp(name, "one", 3) == 0 && isdigit((unsigned char)name[3]);
}

/* VMs join a partition by being attached to its network. */
static int refuse_members(const struct oneib_partition *partition, uint16_t site,
                          struct oneib_error *err)
{
    for (size_t i = 0; i < partition->member_count; i++)
        if (oneib_guid_in_site(partition->members[i].guid, site))
            return oneib_fail(err, ONEIB_ERROR_INPUT,
                              "static partition \"%.31s\" (0x%04x) lists 0x%016" PRIx64
                              ", which is no adapter's GUID but one of those that oneib gives to "
                              "VFs; remove it",
                              partition->name, partition->pkey, partition->members[i].guid);
    return 0;
}

static int refuse_partition(const struct oneib_partition *partition, uint16_t site,
                            uint8_t rate_max, struct oneib_error *err)
{
    if (partition->pkey == ONEIB_PKEY_DEFAULT || strcmp(partition->name, "Default") == 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "static partition \"%.31s\" (0x%04x): the default partition is "
                          "oneib's; list its full members in default_partition.full_members of "
                          "oneib.conf, set default_partition.ipoib there when it has flag ipoib, "
                          "and take it out of the static partitions",
                          partition->name, partition->pkey);
    if (looks_like_a_cluster(partition->name))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "static partition \"%.31s\" (0x%04x): names that begin with "
                          "\"one\" and a digit belong to virtual clusters; give it another name",
                          partition->name, partition->pkey);
    if (partition->pkey == 0 || partition->pkey > ONEIB_PKEY_DEFAULT)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "static partition \"%.31s\": 0x%04x is no P_Key; use 0x0001 to 0x7ffe",
                          partition->name, partition->pkey);
    if (rate_max && partition->rate > rate_max)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "static partition \"%.31s\" (0x%04x): the subnet manager does not know "
                          "rate=%u (%u Gb/s); rate=%u (%u Gb/s) is its fastest",
                          partition->name, partition->pkey, partition->rate,
                          oneib_rate_gbps(partition->rate), rate_max, oneib_rate_gbps(rate_max));
    return refuse_members(partition, site, err);
}

int oneib_static_partitions_judge(const struct oneib_partition_table *static_partitions,
                                  uint16_t site, uint8_t rate_max, struct oneib_error *err)
{
    for (size_t i = 0; i < static_partitions->count; i++)
        if (refuse_partition(&static_partitions->items[i], site, rate_max, err) < 0)
            return -1;
    return 0;
}

static bool lists_every_port(const struct oneib_partition *partition)
{
    for (size_t i = 0; i < partition->member_count; i++)
        if (partition->members[i].kind == ONEIB_MEMBER_ALL ||
            partition->members[i].kind == ONEIB_MEMBER_ALL_CAS)
            return true;
    return false;
}

static bool opens_every_port(const struct oneib_partition *partition)
{
    for (size_t i = 0; i < partition->member_count; i++)
        if ((partition->members[i].kind == ONEIB_MEMBER_ALL ||
             partition->members[i].kind == ONEIB_MEMBER_ALL_CAS) &&
            partition->members[i].membership != ONEIB_LIMITED)
            return true;
    return false;
}

/* SELF is the port that the subnet manager runs on; 0 for a wildcard or when that port is not
 * known. */
static oneib_guid listed_guid(const struct oneib_work *work, const struct oneib_member *member)
{
    if (member->kind == ONEIB_MEMBER_GUID)
        return member->guid;
    if (member->kind == ONEIB_MEMBER_SELF && work->subnet)
        return work->subnet->sm_port_guid;
    return 0;
}

static void note_guids(struct oneib_work *work, uint32_t index)
{
    struct oneib_static_use *use = &work->static_use;
    const struct oneib_partition *partition = &work->static_partitions->items[index];
    ONEIB_RESERVE(use->guids, use->guid_capacity, use->guid_count + partition->member_count);
    for (size_t i = 0; i < partition->member_count; i++) {
        oneib_guid guid = listed_guid(work, &partition->members[i]);
        if (guid)
            use->guids[use->guid_count++] = (struct oneib_static_guid){guid, index};
    }
}

static void note_partition(struct oneib_work *work, uint32_t index)
{
    struct oneib_static_use *use = &work->static_use;
    const struct oneib_partition *partition = &work->static_partitions->items[index];
    use->keys[partition->pkey] = true;

    if (!lists_every_port(partition)) {
        note_guids(work, index);
        return;
    }
    use->on_every_port++;
    use->first_on_every_port |= partition->indx0;
    if (opens_every_port(partition))
        oneib_findings_note(
            work->findings, ONEIB_FINDING_STATIC_PARTITION_OPEN,
            "static partition \"%.31s\" (0x%04x) makes every port a full member: every host "
            "of every virtual cluster is in it",
            partition->name, partition->pkey);
}

ONEIB_ORDER_BY(compare_guids, struct oneib_static_guid, guid, partition);

static void sort_guids(struct oneib_static_use *use)
{
    ONEIB_SORT(use->guids, use->guid_count, compare_guids);
    ONEIB_UNIQUE(use->guids, use->guid_count, compare_guids);
}

int oneib_static_examine(struct oneib_work *work, struct oneib_error *err)
{
    const struct oneib_policy *policy = work->policy;
    if (oneib_static_partitions_judge(work->static_partitions, policy->site, policy->rate_max,
                                      err) < 0)
        return -1;
    for (size_t i = 0; i < work->static_partitions->count; i++)
        note_partition(work, (uint32_t)i);
    sort_guids(&work->static_use);
    return 0;
}

/* The first entry of the GUID, or where it would be. */
static size_t first_entry(const struct oneib_static_use *use, oneib_guid guid)
{
    return ONEIB_LOWER_BOUND(i, use->guid_count, use->guids[i].guid < guid);
}

uint32_t oneib_static_keys_on(const struct oneib_work *work, oneib_guid guid)
{
    const struct oneib_static_use *use = &work->static_use;
    uint32_t keys = use->on_every_port;
    for (size_t i = first_entry(use, guid); i < use->guid_count && use->guids[i].guid == guid; i++)
        keys++;
    return keys;
}

bool oneib_static_takes_index0(const struct oneib_work *work, oneib_guid guid)
{
    const struct oneib_static_use *use = &work->static_use;
    for (size_t i = first_entry(use, guid); i < use->guid_count && use->guids[i].guid == guid; i++)
        if (work->static_partitions->items[use->guids[i].partition].indx0)
            return true;
    return use->first_on_every_port;
}

void oneib_static_append(struct oneib_work *work, const struct oneib_partition *partition)
{
    if (partition->member_count == 0)
        return;
    oneib_partition_add_members(oneib_partition_table_add_like(&work->desired->table, partition),
                                partition->members, partition->member_count);
}
