// SPDX-License-Identifier: Apache-2.0
#include "opennebula/cache_merge.h"
#include "base/array.h"
#include "base/cleanup.h"
#include <stdlib.h>
#include <string.h>

/* The ids, sorted, of what does not count any more as it was known. */
struct replaced {
    struct oneib_id_set vms, networks, hosts;
};

static void clear_replaced(struct replaced *replaced)
{
    oneib_id_set_clear(&replaced->vms);
    oneib_id_set_clear(&replaced->networks);
    oneib_id_set_clear(&replaced->hosts);
}

static void add_networks(struct oneib_id_set *ids, const struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->network_count; i++)
        oneib_id_set_add(ids, cloud->networks[i].id);
}

static void add_hosts(struct oneib_id_set *ids, const struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->host_count; i++)
        oneib_id_set_add(ids, cloud->hosts[i].id);
}

static void find_replaced(const struct oneib_pools *pools, struct replaced *replaced)
{
    const struct oneib_cloud *read = pools->documents.cloud;
    if (pools->all_hosts)
        add_hosts(&replaced->hosts, pools->base);
    add_networks(&replaced->networks, read);
    add_hosts(&replaced->hosts, read);
    oneib_id_set_join(&replaced->networks, &pools->networks_asked);
    oneib_id_set_join(&replaced->hosts, &pools->hosts_asked);
    oneib_id_set_join(&replaced->vms, &pools->vms_asked);
    oneib_id_set_join(&replaced->vms, &pools->documents.vms_seen);
}

static void make_room(const struct oneib_documents *documents, struct oneib_cloud *cloud,
                      struct oneib_findings *findings)
{
    const struct oneib_cloud *read = documents->cloud;
    ONEIB_RESERVE(cloud->networks, cloud->network_capacity,
                  cloud->network_count + read->network_count);
    ONEIB_RESERVE(cloud->hosts, cloud->host_capacity, cloud->host_count + read->host_count);
    ONEIB_RESERVE(cloud->attachments, cloud->attachment_capacity,
                  cloud->attachment_count + read->attachment_count);
    ONEIB_RESERVE(findings->items, findings->capacity,
                  findings->count + documents->findings->count);
}

/* The ids of all VMs as they will be, sorted. */
static void merge_vm_ids(const struct oneib_pools *pools, const struct replaced *replaced,
                         struct oneib_id_set *ids)
{
    const struct oneib_cloud *base = pools->base;
    const struct oneib_id_set *seen = &pools->documents.vms_seen;
    const size_t known = base->vm_ids ? base->vm_count : 0;
    size_t next = 0;
    for (size_t i = 0; i < known; i++) {
        const uint32_t id = base->vm_ids[i];
        if (oneib_id_set_has(&replaced->vms, id))
            continue;
        for (; next < seen->count && seen->items[next] < id; next++)
            oneib_id_set_add(ids, seen->items[next]);
        oneib_id_set_add(ids, id);
    }
    for (; next < seen->count; next++)
        oneib_id_set_add(ids, seen->items[next]);
}

/* What is decided anew once all of them are together. */
static void carry_doubts(const struct oneib_pools *pools)
{
    for (size_t i = 0; i < pools->documents.cloud->network_count; i++) {
        struct oneib_network *after = &pools->documents.cloud->networks[i];
        const struct oneib_network *before = oneib_cloud_network(pools->base, after->id);
        after->parent_unproven = before && before->parent_unproven;
    }
}

static bool networks_differ(const struct oneib_pools *pools, const struct oneib_id_set *replaced)
{
    for (size_t i = 0; i < replaced->count; i++) {
        const struct oneib_network *before = oneib_cloud_network(pools->base, replaced->items[i]);
        const struct oneib_network *after =
            oneib_cloud_network(pools->documents.cloud, replaced->items[i]);
        if (before && after ? !oneib_cache_same_network(before, after) : before != after)
            return true;
    }
    return false;
}

static bool hosts_differ(const struct oneib_pools *pools, const struct oneib_id_set *replaced)
{
    for (size_t i = 0; i < replaced->count; i++) {
        const struct oneib_host *before = oneib_cloud_host(pools->base, replaced->items[i]);
        const struct oneib_host *after =
            oneib_cloud_host(pools->documents.cloud, replaced->items[i]);
        if (before && after ? !oneib_cache_same_host(before, after) : before != after)
            return true;
    }
    return false;
}

/* Of a NIC whose VM was not read again, but whose network may have been. */
static bool is_unleased_now(const struct oneib_pools *pools, const struct replaced *replaced,
                            const struct oneib_attachment *attachment)
{
    return oneib_id_set_has(&replaced->networks, attachment->network_id)
               ? oneib_pools_is_doubtful(pools, attachment)
               : attachment->unleased;
}

static bool attachments_differ(const struct oneib_pools *pools, const struct replaced *replaced)
{
    const struct oneib_cloud *base = pools->base, *read = pools->documents.cloud;
    size_t next = 0;
    for (size_t i = 0; i < base->attachment_count; i++) {
        const struct oneib_attachment *before = &base->attachments[i];
        if (!oneib_id_set_has(&replaced->vms, before->vm_id)) {
            if (before->unleased != is_unleased_now(pools, replaced, before))
                return true;
            continue;
        }
        if (next == read->attachment_count ||
            !oneib_cache_same_attachment(before, &read->attachments[next++]))
            return true;
    }
    return next != read->attachment_count;
}

/* Two sorted lists of different VMs become one, from the end. There is room. */
static void merge_attachments(struct oneib_cloud *cloud, const struct oneib_cloud *more)
{
    size_t left = cloud->attachment_count, right = more->attachment_count;
    cloud->attachment_count = left + right;
    while (right > 0) {
        struct oneib_attachment *place = &cloud->attachments[left + right - 1];
        if (left > 0 && cloud->attachments[left - 1].vm_id > more->attachments[right - 1].vm_id)
            *place = cloud->attachments[--left];
        else
            *place = more->attachments[--right];
    }
}

static void move_attachments(const struct oneib_pools *pools, const struct replaced *replaced,
                             struct oneib_cloud *cloud)
{
    struct oneib_cloud *read = pools->documents.cloud;
    size_t kept = 0;
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        struct oneib_attachment *attachment = &cloud->attachments[i];
        if (oneib_id_set_has(&replaced->vms, attachment->vm_id))
            continue;
        attachment->unleased = is_unleased_now(pools, replaced, attachment);
        cloud->attachments[kept++] = *attachment;
    }
    cloud->attachment_count = kept;
    merge_attachments(cloud, read);
    read->attachment_count = 0;
}

static void move_networks(struct oneib_cloud *read, const struct oneib_id_set *replaced,
                          struct oneib_cloud *cloud)
{
    oneib_pools_drop_networks(cloud, replaced);
    if (read->network_count)
        memcpy(cloud->networks + cloud->network_count, read->networks,
               read->network_count * sizeof *read->networks);
    cloud->network_count += read->network_count;
    read->network_count = 0;
}

static void move_hosts(struct oneib_cloud *read, const struct oneib_id_set *replaced,
                       struct oneib_cloud *cloud)
{
    oneib_pools_drop_hosts(cloud, replaced);
    if (read->host_count)
        memcpy(cloud->hosts + cloud->host_count, read->hosts,
               read->host_count * sizeof *read->hosts);
    cloud->host_count += read->host_count;
    read->host_count = 0;
}

/* Sorting drops what is said again about objects without an id. */
static void move_findings(struct oneib_findings *read, const struct replaced *replaced,
                          struct oneib_findings *findings)
{
    oneib_findings_forget(findings, ONEIB_SUBJECT_VM, replaced->vms.items, replaced->vms.count);
    oneib_findings_forget(findings, ONEIB_SUBJECT_NETWORK, replaced->networks.items,
                          replaced->networks.count);
    oneib_findings_forget(findings, ONEIB_SUBJECT_HOST, replaced->hosts.items,
                          replaced->hosts.count);
    if (read->count == 0)
        return;
    memcpy(findings->items + findings->count, read->items, read->count * sizeof *read->items);
    findings->count += read->count;
    read->count = 0;
    oneib_findings_sort(findings);
}

static void move_vm_ids(const struct oneib_pools *pools, struct oneib_id_set *ids,
                        struct oneib_cloud *cloud)
{
    const uint32_t end = oneib_pools_vm_end(pools, ids->items, ids->count);
    free(cloud->vm_ids);
    cloud->vm_ids = ids->items;
    cloud->vm_count = ids->count;
    cloud->vm_end = end;
    *ids = (struct oneib_id_set){0};
}

/* The attachments first: they are judged by networks of both clouds. */
static void move_all(struct oneib_pools *pools, const struct replaced *replaced,
                     struct oneib_id_set *vm_ids, struct oneib_cloud *cloud,
                     struct oneib_findings *findings)
{
    struct oneib_cloud *read = pools->documents.cloud;
    move_attachments(pools, replaced, cloud);
    move_networks(read, &replaced->networks, cloud);
    move_hosts(read, &replaced->hosts, cloud);
    move_findings(pools->documents.findings, replaced, findings);
    move_vm_ids(pools, vm_ids, cloud);
    oneib_cloud_sort(cloud);
}

/* A poll that has shown nothing must cost nothing, however large the cloud is. */
static bool nothing_was_read(const struct oneib_pools *pools, const struct replaced *replaced)
{
    return replaced->vms.count == 0 && replaced->networks.count == 0 &&
           replaced->hosts.count == 0 && pools->documents.findings->count == 0;
}

void oneib_cache_merge(struct oneib_pools *pools, struct oneib_cloud *cloud,
                       struct oneib_findings *findings, bool *changed)
{
    oneib_auto(clear_replaced) struct replaced replaced = {0};
    oneib_autoids struct oneib_id_set vm_ids = {0}, named = {0};
    find_replaced(pools, &replaced);
    if (nothing_was_read(pools, &replaced)) {
        *changed = false;
        return;
    }
    merge_vm_ids(pools, &replaced, &vm_ids);
    oneib_pools_name_others(pools, &named);
    make_room(&pools->documents, cloud, findings);
    carry_doubts(pools);
    *changed = networks_differ(pools, &replaced.networks) || hosts_differ(pools, &replaced.hosts) ||
               attachments_differ(pools, &replaced);
    move_all(pools, &replaced, &vm_ids, cloud, findings);
    oneib_pools_drop_others(cloud, &named);
    *changed |= oneib_cloud_prove_parents(cloud);
}
