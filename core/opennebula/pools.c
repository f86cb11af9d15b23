// SPDX-License-Identifier: Apache-2.0
#include "opennebula/pools.h"
#include "base/cleanup.h"
#include "opennebula/documents_internal.h"
#include "opennebula/pools_internal.h"

/* VMs that windows have shown, or could not show. */
static size_t count_shown(const struct oneib_pools *pools)
{
    return pools->documents.vms_seen.count + pools->vms_alone.count;
}

/*
 * Windows over the ids that are named, none over a gap that is longer than a window; then all
 * beyond the last that showed somebody: the owner of a network can name ids that no VM will have
 * for long.
 */
static int read_windows(struct oneib_pools *pools, struct oneib_error *err)
{
    const struct oneib_id_set *named = &pools->documents.vms_named;
    int64_t width = pools->options->window > 0 ? pools->options->window : 1;
    int64_t next = 0, open = 0;
    for (size_t i = 0; i < named->count; i++) {
        if (named->items[i] < next)
            continue;
        int64_t first = named->items[i];
        int64_t last = first + width - 1 < ONEIB_ID_MAX ? first + width - 1 : ONEIB_ID_MAX;
        const size_t shown = count_shown(pools);
        if (oneib_pools_read_window(pools, first, last, err) < 0)
            return -1;
        next = last + 1;
        if (count_shown(pools) > shown)
            open = next;
    }
    return open <= ONEIB_ID_MAX ? oneib_pools_read_window(pools, open, -1, err) : 0;
}

/* The VMs that were seen become the cloud's. */
static void keep_vms(struct oneib_pools *pools)
{
    struct oneib_cloud *cloud = pools->documents.cloud;
    struct oneib_id_set *seen = &pools->documents.vms_seen;
    cloud->vm_count = seen->count;
    cloud->vm_end = oneib_pools_vm_end(pools, seen->items, seen->count);
    cloud->vm_ids = oneib_steal(&seen->items);
    *seen = (struct oneib_id_set){0};
}

/* Hosts and networks first: a VM that appears later is beyond the highest id, or is named by nobody
 * yet. */
static int read_all(struct oneib_pools *pools, struct oneib_error *err)
{
    if (oneib_pools_check_oned(pools, err) < 0 || oneib_pools_read_hosts(pools, err) < 0 ||
        oneib_pools_read_networks(pools, err) < 0)
        return -1;

    oneib_id_set_sort(&pools->documents.vms_named);
    pools->total = pools->documents.vms_named.count;
    if (read_windows(pools, err) < 0 || oneib_pools_complete(pools, err) < 0)
        return -1;
    oneib_cloud_prove_parents(pools->documents.cloud);
    keep_vms(pools);
    return 0;
}

int oneib_pools_read(struct oneib_one *one, const struct oneib_pools_options *options,
                     struct oneib_cloud *cloud, struct oneib_findings *findings,
                     struct oneib_error *err)
{
    static const struct oneib_cloud nothing_known = {0};
    *cloud = (struct oneib_cloud){0};
    *findings = (struct oneib_findings){0};
    struct oneib_pools pools = {
        .one = one,
        .options = options,
        .base = &nothing_known,
        .documents = {.cloud = cloud, .findings = findings, .vn_mad = options->vn_mad},
    };
    int outcome = read_all(&pools, err);
    oneib_pools_clear(&pools);
    if (outcome < 0) {
        oneib_cloud_clear(cloud);
        oneib_findings_clear(findings);
    }
    return outcome;
}
