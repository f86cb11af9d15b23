// SPDX-License-Identifier: Apache-2.0
#include "oneibd/daemon_hosts.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "cluster/names.h"
#include "oneibd/daemon.h"
#include "oneibd/signals.h"
#include <stdlib.h>
#include <string.h>

/* How long hosts are written to before more urgent work is looked for. */
#define SLICE_MS 50.0

struct oneib_host_updates {
    struct oneib_hosts_attributes attributes; /* this turn's; empty: not computed yet */
    struct oneib_leaves leaves;
    uint64_t leaves_of;             /* fingerprint of the hosts and links that they were read for */
    struct oneib_findings findings; /* of hosts that could not be written to */
    bool remain;                    /* hosts are left for more urgent work */
    struct oneib_id_set failed;     /* could not be written to; not tried again until a poll, */
    struct oneib_id_set denied;     /* or, where a right was missing, until everything is read */
};

struct oneib_host_updates *oneib_host_updates_new(void)
{
    return oneib_alloc(1, sizeof(struct oneib_host_updates));
}

void oneib_host_updates_free(struct oneib_host_updates *updates)
{
    if (!updates)
        return;
    oneib_host_attributes_clear(&updates->attributes);
    oneib_leaves_clear(&updates->leaves);
    oneib_findings_clear(&updates->findings);
    oneib_id_set_clear(&updates->failed);
    oneib_id_set_clear(&updates->denied);
    free(updates);
}

bool oneib_host_updates_remain(const struct oneib_host_updates *updates)
{
    return updates->remain;
}

bool oneib_host_updates_resume(struct oneib_host_updates *updates)
{
    const bool any = updates->failed.count > 0;
    oneib_id_set_clear(&updates->failed);
    return any;
}

void oneib_host_updates_reset(struct oneib_host_updates *updates)
{
    oneib_id_set_clear(&updates->denied);
    oneib_findings_clear(&updates->findings);
    updates->leaves_of = 0;
}

const struct oneib_leaves *oneib_host_updates_leaves(const struct oneib_host_updates *updates)
{
    return &updates->leaves;
}

void oneib_host_updates_add_findings(const struct oneib_host_updates *updates,
                                     struct oneib_findings *findings)
{
    oneib_findings_copy(&updates->findings, 0, findings);
}

/* Of the hosts' ports, and of the LIDs, which decide where hosts are linked. */
static uint64_t fingerprint(const struct oneib_snapshot *snapshot)
{
    uint64_t hash = ONEIB_HASH_BEGIN;
    for (size_t i = 0; i < snapshot->cloud.host_count; i++)
        for (size_t j = 0; j < snapshot->cloud.hosts[i].port_count; j++)
            hash = oneib_hash_mix(hash, snapshot->cloud.hosts[i].ports[j].port_guid);
    return oneib_subnet_mix_links(hash, &snapshot->subnet);
}

/* Read again when these have changed, and after each full reading, since a cable can be moved unseen:
 * it costs a walk through all switches. */
static int find_leaves(struct oneib_daemon *daemon, struct oneib_error *err)
{
    struct oneib_host_updates *updates = daemon->host_updates;
    const struct oneib_snapshot *snapshot = &daemon->snapshot;
    if (!oneib_ports_are_known(daemon))
        return 0;
    const uint64_t now = fingerprint(snapshot);
    if (updates->leaves.items && updates->leaves_of == now)
        return 0;
    if (oneib_leaves_find(oneib_ports_fabric(daemon), &snapshot->cloud, &snapshot->subnet,
                          &updates->leaves, err) < 0)
        return -1;
    updates->leaves_of = now;
    return 0;
}

static void set_metrics(struct oneib_daemon *daemon,
                        const struct oneib_hosts_attributes *attributes)
{
    struct oneib_metrics *metrics = &daemon->metrics;
    for (size_t i = 0; i < metrics->host_count; i++)
        free(metrics->hosts[i].name);
    metrics->host_count = 0;
    ONEIB_RESERVE(metrics->hosts, metrics->host_capacity, attributes->count);
    for (size_t i = 0; i < attributes->count; i++) {
        const struct oneib_host_attributes *item = &attributes->items[i];
        const struct oneib_host *host = oneib_cloud_host(&daemon->snapshot.cloud, item->host_id);
        metrics->hosts[metrics->host_count++] = (struct oneib_metrics_host){
            .id = item->host_id,
            .name = host && host->name ? oneib_strdup(host->name) : NULL,
            .vfs_total = item->vfs_total,
            .vfs_free = item->vfs_free,
        };
    }
}

/* The other daemon may have written at the same moment, and will not at the next poll. A missing right
 * is missing then, too. */
void oneib_host_updates_failed(struct oneib_daemon *daemon, uint32_t host_id,
                               const struct oneib_error *failure)
{
    struct oneib_host_updates *updates = daemon->host_updates;
    struct oneib_id_set *hosts =
        failure->code == ONEIB_ERROR_PERMISSION ? &updates->denied : &updates->failed;
    daemon->metrics.errors[failure->code]++;
    oneib_id_set_add(hosts, host_id);
    oneib_id_set_sort(hosts);
    oneib_host_updates_written(updates, host_id);
    oneib_findings_note(&updates->findings, ONEIB_FINDING_HOST_NOT_WRITTEN,
                        "%s: IB_KEYS, IB_VFS_FREE and IB_SWITCH could not be written: %s",
                        oneib_host_id_shown(&daemon->snapshot.cloud, host_id).text, failure->text);
    oneib_findings_attribute(&updates->findings, updates->findings.count - 1, ONEIB_SUBJECT_HOST,
                             host_id);
}

void oneib_host_updates_written(struct oneib_host_updates *updates, uint32_t host_id)
{
    oneib_findings_forget(&updates->findings, ONEIB_SUBJECT_HOST, &host_id, 1);
}

bool oneib_host_updates_are_paused(const struct oneib_host_updates *updates, uint32_t host_id)
{
    return oneib_id_set_has(&updates->failed, host_id) ||
           oneib_id_set_has(&updates->denied, host_id);
}

/* oned has it now, so it is not written again. */
static void update_cloud(struct oneib_daemon *daemon, const struct oneib_host_attributes *item)
{
    struct oneib_cloud *cloud = &daemon->snapshot.cloud;
    const struct oneib_host *found = oneib_cloud_host(cloud, item->host_id);
    if (!found)
        return;
    struct oneib_host *host = &cloud->hosts[found - cloud->hosts];
    if (item->differs_free)
        host->vfs_free = (int32_t)item->vfs_free;
    if (!item->differs_switches)
        return;
    free(host->switches);
    host->switches = oneib_strdup(item->switches);
}

static int write_host(struct oneib_daemon *daemon, const struct oneib_host_attributes *item,
                      struct oneib_error *err)
{
    struct oneib_error failure;
    oneib_signals_allow();
    const int status = oneib_one_set_host(daemon->one, item->host_id,
                                          item->differs_free ? (int32_t)item->vfs_free : -1,
                                          item->differs_switches ? item->switches : NULL, &failure);
    oneib_signals_block();
    if (status == 0) {
        daemon->metrics.host_updates++;
        oneib_host_updates_written(daemon->host_updates, item->host_id);
        update_cloud(daemon, item);
        return 0;
    }
    if (oneib_one_error_is_general(failure.code)) {
        *err = failure;
        return oneib_wrap(err, "writing %s",
                          oneib_host_id_shown(&daemon->snapshot.cloud, item->host_id).text);
    }
    oneib_host_updates_failed(daemon, item->host_id, &failure);
    return 0;
}

/* Hosts can wait, VMs cannot. The slice is for the events that the writing itself causes. */
static bool has_urgent_work(struct oneib_daemon *daemon, double began)
{
    return oneib_signals_waiting() ||
           (oneib_now_ms() - began > SLICE_MS &&
            (oneib_oned_receive_events(daemon) || oneib_node_grants_receive(daemon)));
}

/* The scheduler places no VM where no VF opens, nor for a VF that a domain has without OpenNebula
 * knowing of it. */
static void subtract_unusable(const struct oneib_daemon *daemon,
                              struct oneib_hosts_attributes *attributes)
{
    for (size_t i = 0; i < attributes->count; i++) {
        struct oneib_host_attributes *item = &attributes->items[i];
        const struct oneib_host *host = oneib_cloud_host(&daemon->snapshot.cloud, item->host_id);
        const bool is_unusable = oneib_node_grants_is_cut_off(daemon->node_grants, item->host_id) ||
                                 oneib_ledger_fence(&daemon->snapshot.kept.ledger, item->host_id);
        const size_t unusable =
            is_unusable ? item->vfs_free
                        : oneib_node_grants_unexpected_vfs(daemon->node_grants, item->host_id);
        if (!host || unusable == 0)
            continue;
        item->vfs_free -= unusable < item->vfs_free ? (uint32_t)unusable : item->vfs_free;
        item->differs_free = host->vfs_free != (int32_t)item->vfs_free;
    }
}

static int write_all(struct oneib_daemon *daemon, const struct oneib_hosts_attributes *attributes,
                     struct oneib_error *err)
{
    struct oneib_host_updates *updates = daemon->host_updates;
    const double began = oneib_now_ms();
    updates->remain = false;
    for (size_t i = 0; i < attributes->count; i++) {
        const struct oneib_host_attributes *item = &attributes->items[i];
        if (!(item->differs_free || item->differs_switches) ||
            oneib_host_updates_are_paused(updates, item->host_id))
            continue;
        updates->remain = has_urgent_work(daemon, began);
        if (updates->remain)
            return 0;
        if (write_host(daemon, item, err) < 0)
            return -1;
        oneib_daemon_alive(daemon);
    }
    return 0;
}

static void compute(struct oneib_daemon *daemon, struct oneib_hosts_attributes *attributes)
{
    const struct oneib_leaves *leaves = &daemon->host_updates->leaves;
    const struct oneib_nodes *nodes = oneib_node_grants_nodes(daemon->node_grants);
    struct oneib_node_snapshot *reports = oneib_nodes_list_reports(nodes, oneib_now_ms());
    const struct oneib_node_table table = {reports, nodes->count};
    oneib_host_attributes_compute(&daemon->snapshot.cloud, &table, leaves->items, leaves->count,
                                  attributes);
    free(reports);
    subtract_unusable(daemon, attributes);
}

int oneib_host_updates_write(struct oneib_daemon *daemon, struct oneib_error *err)
{
    struct oneib_hosts_attributes attributes = {0};
    if (!daemon->has_cloud)
        return 0;
    if (daemon->config.one.writer && find_leaves(daemon, err) < 0) {
        daemon->host_updates->remain = false;
        return -1;
    }
    compute(daemon, &attributes);
    set_metrics(daemon, &attributes);
    const int status = daemon->config.one.writer ? write_all(daemon, &attributes, err) : 0;
    oneib_host_attributes_clear(&attributes);
    return status;
}

/* ---- one host, with IB_KEYS ------------------------------------------------------------------- */

int32_t oneib_host_updates_vfs_free(struct oneib_daemon *daemon, uint32_t host_id)
{
    struct oneib_hosts_attributes *all = &daemon->host_updates->attributes;
    if (!daemon->config.one.writer)
        return -1;
    if (all->count == 0)
        compute(daemon, all);
    const struct oneib_host_attributes *item = oneib_host_attributes_of(all, host_id);
    return item && item->differs_free ? (int32_t)item->vfs_free : -1;
}

void oneib_host_updates_forget(struct oneib_host_updates *updates)
{
    oneib_host_attributes_clear(&updates->attributes);
}
