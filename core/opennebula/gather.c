// SPDX-License-Identifier: Apache-2.0
#include "opennebula/gather.h"
#include "base/cleanup.h"
#include "opennebula/documents_internal.h"
#include "opennebula/gather_internal.h"

/* VMs that windows have shown, or could not show. */
static size_t count_shown(const struct oneib_gathering *gathering)
{
    return gathering->documents.vms_seen.count + gathering->vms_alone.count;
}

/*
 * Windows over the ids that are named, none over a gap that is longer than a window; then all
 * beyond the last that showed somebody: the owner of a network can name ids that no VM will have
 * for long.
 */
static int read_windows(struct oneib_gathering *gathering, struct oneib_error *err)
{
    const struct oneib_id_set *named = &gathering->documents.vms_named;
    int64_t width = gathering->options->window > 0 ? gathering->options->window : 1;
    int64_t next = 0, open = 0;
    for (size_t i = 0; i < named->count; i++) {
        if (named->items[i] < next)
            continue;
        int64_t first = named->items[i];
        int64_t last = first + width - 1 < ONEIB_ID_MAX ? first + width - 1 : ONEIB_ID_MAX;
        const size_t shown = count_shown(gathering);
        if (oneib_gathering_read_window(gathering, first, last, err) < 0)
            return -1;
        next = last + 1;
        if (count_shown(gathering) > shown)
            open = next;
    }
    return open <= ONEIB_ID_MAX ? oneib_gathering_read_window(gathering, open, -1, err) : 0;
}

/* The VMs that were seen become the cloud's. */
static void keep_vms(struct oneib_gathering *gathering)
{
    struct oneib_cloud *cloud = gathering->documents.cloud;
    struct oneib_id_set *seen = &gathering->documents.vms_seen;
    cloud->vm_count = seen->count;
    cloud->vm_end = oneib_gathering_vm_end(gathering, seen->items, seen->count);
    cloud->vm_ids = oneib_steal(&seen->items);
    *seen = (struct oneib_id_set){0};
}

/* Hosts and networks first: a VM that appears later is beyond the highest id, or is named by nobody
 * yet. */
static int gather_all(struct oneib_gathering *gathering, struct oneib_error *err)
{
    if (oneib_gathering_check_oned(gathering, err) < 0 ||
        oneib_gathering_read_hosts(gathering, err) < 0 ||
        oneib_gathering_read_networks(gathering, err) < 0)
        return -1;

    oneib_id_set_sort(&gathering->documents.vms_named);
    gathering->total = gathering->documents.vms_named.count;
    if (read_windows(gathering, err) < 0 || oneib_gathering_complete(gathering, err) < 0)
        return -1;
    keep_vms(gathering);
    return 0;
}

typedef int (*gather_steps)(struct oneib_gathering *gathering, struct oneib_error *err);

static int gather_by(gather_steps steps, struct oneib_one *one,
                     const struct oneib_gather_options *options, struct oneib_cloud *cloud,
                     struct oneib_findings *findings, struct oneib_error *err)
{
    static const struct oneib_cloud nothing_known = {0};
    *cloud = (struct oneib_cloud){0};
    *findings = (struct oneib_findings){0};
    struct oneib_gathering gathering = {
        .one = one,
        .options = options,
        .base = &nothing_known,
        .documents = {.cloud = cloud, .findings = findings, .vn_mad = options->vn_mad},
    };
    int outcome = steps(&gathering, err);
    oneib_gathering_clear(&gathering);
    if (outcome < 0) {
        oneib_cloud_clear(cloud);
        oneib_findings_clear(findings);
    }
    return outcome;
}

int oneib_gather(struct oneib_one *one, const struct oneib_gather_options *options,
                 struct oneib_cloud *cloud, struct oneib_findings *findings,
                 struct oneib_error *err)
{
    return gather_by(gather_all, one, options, cloud, findings, err);
}

int oneib_gather_networks(struct oneib_one *one, const struct oneib_gather_options *options,
                          struct oneib_cloud *cloud, struct oneib_findings *findings,
                          struct oneib_error *err)
{
    return gather_by(oneib_gathering_read_networks, one, options, cloud, findings, err);
}
