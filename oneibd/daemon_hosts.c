// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "cluster/names.h"
#include "oneibd/daemon.h"
#include "oneibd/signals.h"
#include <stdlib.h>
#include <string.h>

/* How long hosts are written to before it is asked whether something else has come. */
#define SLICE_MS 50.0

/* Of what decides where hosts are linked: their ports, and who has which LID. */
static uint64_t fingerprint(const struct oneib_snapshot *snapshot)
{
    uint64_t hash = ONEIB_HASH_BEGIN;
    for (size_t i = 0; i < snapshot->cloud.host_count; i++)
        for (size_t j = 0; j < snapshot->cloud.hosts[i].port_count; j++)
            hash = oneib_hash_mix(hash, snapshot->cloud.hosts[i].ports[j].port_guid);
    return oneib_subnet_mix_links(hash, &snapshot->subnet);
}

/* Asked again when something has moved, and after each full reading, for a cable can be moved
 * unseen: it costs a walk through all switches. */
static int find_leaves(struct oneib_daemon *daemon, struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = &daemon->snapshot;
    if (!daemon->fabric || !snapshot->subnet_known)
        return 0;
    const uint64_t now = fingerprint(snapshot);
    if (daemon->leaves.items && daemon->leaves_of == now)
        return 0;
    if (oneib_leaves_find(daemon->fabric, &snapshot->cloud, &snapshot->subnet, &daemon->leaves,
                          err) < 0)
        return -1;
    daemon->leaves_of = now;
    return 0;
}

static void keep_metrics(struct oneib_daemon *daemon,
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

/* The other daemon may have written at the same moment, and will not at the next poll. A right that
 * is missing will be missing then, too. */
void oneib_daemon_host_failed(struct oneib_daemon *daemon, uint32_t host_id,
                              const struct oneib_error *failure)
{
    struct oneib_id_set *hosts =
        failure->code == ONEIB_ERROR_PERMISSION ? &daemon->hosts_denied : &daemon->hosts_failed;
    daemon->metrics.errors[failure->code]++;
    oneib_id_set_add(hosts, host_id);
    oneib_id_set_sort(hosts);
    oneib_daemon_host_written(daemon, host_id);
    oneib_findings_note(&daemon->host_findings, ONEIB_FINDING_HOST_NOT_WRITTEN,
                        "%s: IB_KEYS, IB_VFS_FREE and IB_SWITCH could not be written: %s",
                        oneib_host_id_shown(&daemon->snapshot.cloud, host_id).text, failure->text);
    oneib_findings_attribute(&daemon->host_findings, daemon->host_findings.count - 1,
                             ONEIB_SUBJECT_HOST, host_id);
}

void oneib_daemon_host_written(struct oneib_daemon *daemon, uint32_t host_id)
{
    oneib_findings_forget(&daemon->host_findings, ONEIB_SUBJECT_HOST, &host_id, 1);
}

bool oneib_daemon_leaves_host_alone(const struct oneib_daemon *daemon, uint32_t host_id)
{
    return oneib_id_set_has(&daemon->hosts_failed, host_id) ||
           oneib_id_set_has(&daemon->hosts_denied, host_id);
}

/* oned has it now, so it is not written again. */
static void remember(struct oneib_daemon *daemon, const struct oneib_host_attributes *item)
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

static int tell_host(struct oneib_daemon *daemon, const struct oneib_host_attributes *item,
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
        oneib_daemon_host_written(daemon, item->host_id);
        remember(daemon, item);
        return 0;
    }
    if (oneib_one_error_is_general(failure.code)) {
        *err = failure;
        return oneib_wrap(err, "writing %s",
                          oneib_host_id_shown(&daemon->snapshot.cloud, item->host_id).text);
    }
    oneib_daemon_host_failed(daemon, item->host_id, &failure);
    return 0;
}

/* Hosts can wait, VMs cannot. The time is for the events that the writing itself makes. */
static bool is_needed_elsewhere(struct oneib_daemon *daemon, double began)
{
    return oneib_signals_waiting() ||
           (oneib_now_ms() - began > SLICE_MS &&
            (oneib_oned_receive_events(daemon) || oneib_daemon_hear(daemon)));
}

/* The scheduler is to place nobody where nothing opens, nor for a VF that some domain has without
 * OpenNebula knowing of it. */
static void leave_out_unusable(const struct oneib_daemon *daemon,
                               struct oneib_hosts_attributes *attributes)
{
    for (size_t i = 0; i < attributes->count; i++) {
        struct oneib_host_attributes *item = &attributes->items[i];
        const struct oneib_host *host = oneib_cloud_host(&daemon->snapshot.cloud, item->host_id);
        const bool is_unusable = oneib_daemon_is_cut_off(daemon, item->host_id) ||
                                 oneib_ledger_fence(&daemon->snapshot.kept.ledger, item->host_id);
        const size_t strays = is_unusable
                                  ? item->vfs_free
                                  : oneib_unexpected_vfs_of_host(&daemon->strays, item->host_id);
        if (!host || strays == 0)
            continue;
        item->vfs_free -= strays < item->vfs_free ? (uint32_t)strays : item->vfs_free;
        item->differs_free = host->vfs_free != (int32_t)item->vfs_free;
    }
}

static int tell_all(struct oneib_daemon *daemon, const struct oneib_hosts_attributes *attributes,
                    struct oneib_error *err)
{
    const double began = oneib_now_ms();
    daemon->hosts_wait = false;
    for (size_t i = 0; i < attributes->count; i++) {
        const struct oneib_host_attributes *item = &attributes->items[i];
        if (!(item->differs_free || item->differs_switches) ||
            oneib_daemon_leaves_host_alone(daemon, item->host_id))
            continue;
        daemon->hosts_wait = is_needed_elsewhere(daemon, began);
        if (daemon->hosts_wait)
            return 0;
        if (tell_host(daemon, item, err) < 0)
            return -1;
        oneib_daemon_alive(daemon);
    }
    return 0;
}

static void compute(struct oneib_daemon *daemon, struct oneib_hosts_attributes *attributes)
{
    struct oneib_node_snapshot *said = oneib_nodes_said(&daemon->nodes, oneib_now_ms());
    const struct oneib_node_table table = {said, daemon->nodes.count};
    oneib_host_attributes_compute(&daemon->snapshot.cloud, &table, daemon->leaves.items,
                                  daemon->leaves.count, attributes);
    free(said);
    leave_out_unusable(daemon, attributes);
}

int oneib_daemon_tell_hosts(struct oneib_daemon *daemon, struct oneib_error *err)
{
    struct oneib_hosts_attributes attributes = {0};
    if (!daemon->has_cloud)
        return 0;
    if (daemon->config.one.writer && find_leaves(daemon, err) < 0)
        return -1;
    compute(daemon, &attributes);
    keep_metrics(daemon, &attributes);
    const int status = daemon->config.one.writer ? tell_all(daemon, &attributes, err) : 0;
    oneib_host_attributes_clear(&attributes);
    return status;
}

/* ---- one host, with what is written to it anyway --------------------------------------------- */

int32_t oneib_daemon_vfs_free(struct oneib_daemon *daemon, uint32_t host_id)
{
    struct oneib_hosts_attributes *all = &daemon->host_attributes;
    /* it is told later */
    if (!daemon->config.one.writer)
        return -1;
    if (all->count == 0)
        compute(daemon, all);
    const struct oneib_host_attributes *item = oneib_host_attributes_of(all, host_id);
    return item && item->differs_free ? (int32_t)item->vfs_free : -1;
}

void oneib_daemon_forget_hosts(struct oneib_daemon *daemon)
{
    oneib_host_attributes_clear(&daemon->host_attributes);
}
