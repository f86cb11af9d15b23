// SPDX-License-Identifier: Apache-2.0
#include "opennebula/cache.h"
#include "base/cleanup.h"
#include "opennebula/cache_merge.h"
#include "opennebula/documents_internal.h"
#include "opennebula/pools_internal.h"

static int read_named_networks(struct oneib_pools *pools, const struct oneib_work_queue *queue,
                               struct oneib_error *err)
{
    oneib_autoids struct oneib_id_set wanted = {0};
    bool asked = false;
    oneib_id_set_join(&wanted, &queue->networks);
    return oneib_pools_ask_networks(pools, &wanted, &asked, err);
}

static int read_named_hosts(struct oneib_pools *pools, const struct oneib_work_queue *queue,
                            struct oneib_error *err)
{
    oneib_autoids struct oneib_id_set wanted = {0};
    bool asked = false;
    oneib_id_set_join(&wanted, &queue->hosts);
    return oneib_pools_ask_hosts(pools, &wanted, &asked, err);
}

/* How many of the ids from index `first` on lie within `width` of the first, and below `limit`. */
static size_t count_within(const struct oneib_id_set *ids, size_t first, int64_t width,
                           int64_t limit)
{
    size_t end = first;
    while (end < ids->count && ids->items[end] - ids->items[first] < width &&
           ids->items[end] < limit)
        end++;
    return end - first;
}

/* The windows below `limit` that many of the ids lie in; each from the first to the last of them.
 */
static int read_windows(struct oneib_pools *pools, const struct oneib_id_set *ids, int64_t limit,
                        struct oneib_error *err)
{
    const int64_t width = pools->options->window > 0 ? pools->options->window : 1;
    for (size_t i = 0; i < ids->count && ids->items[i] < limit;) {
        const size_t count = count_within(ids, i, width, limit);
        const uint32_t first = ids->items[i], last = ids->items[i + count - 1];
        if (count > ONEIB_MANY && oneib_pools_read_window(pools, first, last, err) < 0)
            return -1;
        i += count;
    }
    return 0;
}

static int read_new_vms(struct oneib_pools *pools, struct oneib_error *err)
{
    const int64_t first = pools->base->vm_end;
    return first <= ONEIB_ID_MAX ? oneib_pools_read_window(pools, first, -1, err) : 0;
}

/* Those that the work queue names, or that networks and hosts, read again, name now. */
static void collect_vms(struct oneib_pools *pools, const struct oneib_work_queue *queue,
                        struct oneib_id_set *wanted)
{
    oneib_pools_newly_named(pools, wanted);
    oneib_id_set_join(wanted, &queue->vms);
}

/* First by windows, the one for new VMs included; whom they did not show is asked for alone. */
static int read_vms(struct oneib_pools *pools, const struct oneib_work_queue *queue,
                    struct oneib_error *err)
{
    const int64_t limit = queue->new_vms ? pools->base->vm_end : INT64_MAX;
    oneib_autoids struct oneib_id_set wanted = {0};
    bool asked = false;
    collect_vms(pools, queue, &wanted);
    if (read_windows(pools, &wanted, limit, err) < 0 ||
        (queue->new_vms && read_new_vms(pools, err) < 0))
        return -1;
    oneib_id_set_sort(&pools->documents.vms_seen);
    oneib_id_set_drop(&wanted, &pools->documents.vms_seen);
    return oneib_pools_ask_vms(pools, &wanted, &asked, err);
}

static int read_work_queue(struct oneib_pools *pools, const struct oneib_work_queue *queue,
                           struct oneib_error *err)
{
    if (read_named_hosts(pools, queue, err) < 0 || read_named_networks(pools, queue, err) < 0 ||
        read_vms(pools, queue, err) < 0)
        return -1;
    return oneib_pools_complete(pools, err);
}

static int refresh(struct oneib_one *one, const struct oneib_pools_options *options,
                   const struct oneib_work_queue *queue, struct oneib_cloud *cloud,
                   struct oneib_findings *findings, bool *changed, struct oneib_error *err)
{
    oneib_autocloud struct oneib_cloud read = {0};
    oneib_autofindings struct oneib_findings read_findings = {0};
    oneib_auto(oneib_pools_clear) struct oneib_pools pools = {
        .one = one,
        .options = options,
        .base = cloud,
        .documents = {.cloud = &read, .findings = &read_findings, .vn_mad = options->vn_mad},
    };
    if (read_work_queue(&pools, queue, err) < 0)
        return -1;
    oneib_cache_merge(&pools, cloud, findings, changed);
    return 0;
}

static int read_again(struct oneib_one *one, const struct oneib_pools_options *options,
                      struct oneib_cloud *cloud, struct oneib_findings *findings, bool *changed,
                      struct oneib_error *err)
{
    struct oneib_cloud fresh;
    struct oneib_findings fresh_findings;
    if (oneib_pools_read(one, options, &fresh, &fresh_findings, err) < 0)
        return -1;
    *changed = oneib_cache_differs(cloud, &fresh);
    oneib_cloud_clear(cloud);
    oneib_findings_clear(findings);
    *cloud = fresh;
    *findings = fresh_findings;
    return 0;
}

int oneib_cache_refresh(struct oneib_one *one, const struct oneib_pools_options *options,
                        const struct oneib_work_queue *queue, struct oneib_cloud *cloud,
                        struct oneib_findings *findings, bool *changed, struct oneib_error *err)
{
    return queue->everything ? read_again(one, options, cloud, findings, changed, err)
                             : refresh(one, options, queue, cloud, findings, changed, err);
}
