// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"
#include "oneibd/daemon.h"
#include <string.h>
#include <time.h>

/* The main thread gives signs of life during everything but one call of oned's, and one reading of
 * the fabric. */
#define FABRIC_SILENCE_MS 30000u

void oneib_daemon_complain(struct oneib_daemon *daemon, const struct oneib_error *err)
{
    daemon->metrics.errors[err->code]++;
    if (strcmp(daemon->report.last_error, err->text) == 0)
        return;
    memcpy(daemon->report.last_error, err->text, sizeof daemon->report.last_error);
    oneib_log(ONEIB_LOG_ERROR, "%s; %s; retried automatically", err->text,
              oneib_turn_is_file_ahead(daemon)
                  ? "the partitions are written, whether the fabric follows them is not known"
                  : "the partitions stay as they are");
    oneib_notify_status(&daemon->notify, "%s", err->text);
}

static void count_cloud(struct oneib_daemon *daemon)
{
    const struct oneib_snapshot *snapshot = &daemon->snapshot;
    struct oneib_metrics *metrics = &daemon->metrics;
    metrics->clusters = snapshot->desired.cluster_count;
    metrics->vms = snapshot->cloud.vm_count;
    metrics->networks = oneib_cloud_count_infiniband(&snapshot->cloud);
    metrics->members = 0;
    for (size_t i = 0; i < snapshot->desired.cluster_count; i++)
        metrics->members += snapshot->desired.clusters[i].members;
    oneib_metrics_count_refused(metrics, snapshot->desired.member_statuses,
                                snapshot->cloud.attachment_count);
}

static void append_health(const struct oneib_daemon *daemon, struct oneib_text *text)
{
    const uint64_t violations = oneib_metrics_violations(&daemon->metrics);
    if (daemon->report.last_error[0])
        oneib_text_printf(text, "%s\n", daemon->report.last_error);
    if (!daemon->has_cloud)
        oneib_text_append(text, "OpenNebula has not been read yet\n");
    else if (!oneib_turn_is_settled(daemon))
        oneib_text_append(text, "not everything is in force yet\n");
    if (violations > 0)
        oneib_text_printf(text, "%llu violations: see 'oneib verify' and 'oneib plan'\n",
                          (unsigned long long)violations);
    if (daemon->metrics.members_held > 0)
        oneib_text_printf(text,
                          "%llu removals are held: see 'oneib plan', then 'oneib sync --force'\n",
                          (unsigned long long)daemon->metrics.members_held);
}

static void count_dropped(struct oneib_daemon *daemon)
{
    const struct oneib_grants_counts counts =
        oneib_node_server_counts(oneib_node_grants_server(daemon->node_grants));
    daemon->metrics.node_keys_refused = counts.refused_keys;
    daemon->metrics.node_messages_malformed = counts.malformed;
    daemon->metrics.node_messages_flooding = counts.flooding;
}

void oneib_daemon_publish(struct oneib_daemon *daemon)
{
    if (daemon->is_computed && daemon->snapshot.desired.table.count > 0)
        count_cloud(daemon);
    oneib_oned_count_events(daemon);
    count_dropped(daemon);
    if (!daemon->http)
        return;
    oneib_autotext struct oneib_text metrics = {0};
    oneib_autotext struct oneib_text health = {0};
    oneib_metrics_render(&daemon->metrics, &metrics);
    append_health(daemon, &health);
    oneib_http_publish(daemon->http, &metrics, health.data ? health.data : "",
                       2 * daemon->config.one.timeout_ms + FABRIC_SILENCE_MS);
}
