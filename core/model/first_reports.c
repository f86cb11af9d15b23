// SPDX-License-Identifier: Apache-2.0
#include "model/first_reports.h"
#include "base/array.h"
#include <stdlib.h>

static int compare_reports(const void *a, const void *b)
{
    const struct oneib_first_report *left = a, *right = b;
    return (left->guid > right->guid) - (left->guid < right->guid);
}

static struct oneib_first_report *find(const struct oneib_first_reports *reports, size_t count,
                                       oneib_guid guid)
{
    const struct oneib_first_report wanted = {.guid = guid};
    return count ? bsearch(&wanted, reports->items, count, sizeof wanted, compare_reports) : NULL;
}

static void drop_gone_hosts(struct oneib_first_reports *reports, const struct oneib_cloud *cloud)
{
    size_t kept = 0;
    for (size_t i = 0; i < reports->count; i++)
        if (oneib_cloud_host(cloud, reports->items[i].host_id))
            reports->items[kept++] = reports->items[i];
    reports->count = kept;
}

static void sort(struct oneib_first_reports *reports)
{
    size_t kept = 0;
    if (reports->count)
        qsort(reports->items, reports->count, sizeof *reports->items, compare_reports);
    for (size_t i = 0; i < reports->count; i++)
        if (kept == 0 || reports->items[kept - 1].guid != reports->items[i].guid)
            reports->items[kept++] = reports->items[i];
    reports->count = kept;
}

int oneib_first_reports_note(struct oneib_first_reports *reports, const struct oneib_cloud *cloud,
                             struct oneib_error *err)
{
    drop_gone_hosts(reports, cloud);
    const size_t known = reports->count;
    for (size_t i = 0; i < cloud->host_count; i++)
        for (size_t j = 0; j < cloud->hosts[i].port_count; j++) {
            const oneib_guid guid = cloud->hosts[i].ports[j].port_guid;
            if (find(reports, known, guid))
                continue;
            if (oneib_reserve(&reports->items, &reports->capacity, reports->count + 1,
                              sizeof *reports->items, err) < 0)
                return -1;
            reports->items[reports->count++] =
                (struct oneib_first_report){.guid = guid, .host_id = cloud->hosts[i].id};
        }
    if (reports->count > known)
        sort(reports);
    return 0;
}

uint32_t oneib_first_reporter(const struct oneib_first_reports *reports, oneib_guid guid)
{
    const struct oneib_first_report *found = find(reports, reports->count, guid);
    return found ? found->host_id : ONEIB_NO_ID;
}

void oneib_first_reports_clear(struct oneib_first_reports *reports)
{
    free(reports->items);
    *reports = (struct oneib_first_reports){0};
}
