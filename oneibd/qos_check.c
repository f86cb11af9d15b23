// SPDX-License-Identifier: Apache-2.0
#include "oneibd/qos_check.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "cluster/member_ports.h"
#include "cluster/port_index.h"
#include "oneibd/daemon.h"
#include "placement/links_text.h"
#include "sync/levels.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A large fabric has many tables: reading them takes no more than a twentieth of the time. */
#define READING_SHARE 20
/* Between two writings of the links file: windows of the scheduler are ten seconds apart. */
#define LINKS_INTERVAL_MS 5000.0
#define LINKS_FILE_MODE 0644 /* as opensm's partitions file; the placer is oneadmin's */

struct oneib_qos_check {
    struct oneib_findings level_findings;   /* of groups and service levels, as read last */
    struct oneib_error levels_error;        /* of that reading; code NONE: it succeeded */
    struct oneib_routes routes;             /* as read last */
    struct oneib_findings sharing_findings; /* of clusters that share links */
    struct oneib_error links_error;         /* of the links file; code NONE: it was written */
};

struct oneib_qos_check *oneib_qos_check_new(void)
{
    return oneib_alloc(1, sizeof(struct oneib_qos_check));
}

void oneib_qos_check_free(struct oneib_qos_check *qos)
{
    if (!qos)
        return;
    oneib_findings_clear(&qos->level_findings);
    oneib_routes_clear(&qos->routes);
    oneib_findings_clear(&qos->sharing_findings);
    free(qos);
}

struct oneib_routes *oneib_qos_check_routes(struct oneib_qos_check *qos)
{
    return &qos->routes;
}

static void add_error(const struct oneib_error *error, enum oneib_finding_id id, const char *what,
                      struct oneib_findings *findings)
{
    if (error->code != ONEIB_ERROR_NONE)
        oneib_findings_note(findings, id, "%s: %s", what, error->text);
}

void oneib_qos_check_add_findings(const struct oneib_qos_check *qos,
                                  struct oneib_findings *findings)
{
    oneib_findings_copy(&qos->level_findings, 0, findings);
    oneib_findings_copy(&qos->sharing_findings, 0, findings);
    add_error(&qos->levels_error, ONEIB_FINDING_LEVELS_UNREAD,
              "multicast groups and service levels could not be looked at", findings);
    add_error(&qos->links_error, ONEIB_FINDING_LINKS_UNWRITTEN,
              "links not written for the scheduler's placer", findings);
}

/* ---- service levels and multicast groups ----------------------------------------------------- */

static int read_levels(struct oneib_daemon *daemon, struct oneib_levels_result *result,
                       struct oneib_error *err)
{
    struct oneib_qos_check *qos = daemon->qos;
    struct oneib_findings found = {0};
    struct oneib_routes routes;
    if (oneib_levels_verify(&daemon->config, oneib_ports_fabric(daemon), &daemon->snapshot, &found,
                            result, &routes, err) < 0) {
        oneib_findings_clear(&found);
        return -1;
    }
    oneib_findings_clear(&qos->level_findings);
    oneib_routes_clear(&qos->routes);
    qos->level_findings = found;
    qos->routes = routes;
    return 0;
}

void oneib_qos_check_read(struct oneib_daemon *daemon)
{
    struct oneib_qos_check *qos = daemon->qos;
    struct oneib_levels_result result;
    const double began = oneib_now_ms();
    if (!oneib_ports_fabric(daemon) || !oneib_timer_is_due(&daemon->timers, ONEIB_TIMER_QOS, began))
        return;
    qos->levels_error = (struct oneib_error){0};
    const int status = read_levels(daemon, &result, &qos->levels_error);
    const double ended = oneib_now_ms();
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_QOS, ended + (ended - began) * READING_SHARE);
    if (status < 0)
        return;
    daemon->metrics.level_ports = result.port_drift;
    daemon->metrics.level_clusters = result.cluster_drift;
}

void oneib_qos_check_find_sharing(struct oneib_daemon *daemon)
{
    struct oneib_qos_check *qos = daemon->qos;
    oneib_findings_clear(&qos->sharing_findings);
    oneib_levels_judge_sharing(&daemon->snapshot, &qos->routes, &qos->sharing_findings);
}

/* ---- the links file (placement/links_text.h) -------------------------------------------------- */

static void add_hosts(const struct oneib_cloud *cloud, struct oneib_links *links)
{
    for (size_t i = 0; i < cloud->host_count; i++)
        for (size_t j = 0; j < cloud->hosts[i].port_count; j++) {
            ONEIB_APPEND(links->ports, links->port_count, links->port_capacity,
                         (struct oneib_host_port_guid){cloud->hosts[i].id,
                                                       cloud->hosts[i].ports[j].port_guid});
        }
}

static void add_cluster(const struct oneib_member_ports *ports,
                        const struct oneib_partition *partition, uint32_t network_id,
                        struct oneib_links *links)
{
    oneib_guid *guids;
    size_t count;
    oneib_member_ports_of(ports, partition, &guids, &count);
    oneib_links_add_cluster(links, network_id, partition->sl, guids, count);
    free(guids);
}

static void add_all_clusters(const struct oneib_member_ports *ports,
                             const struct oneib_partition_table *table, struct oneib_links *links)
{
    for (size_t i = 0; i < table->count; i++) {
        uint32_t id;
        if (table->items[i].sl != 0 && oneib_partition_cluster(&table->items[i], &id))
            add_cluster(ports, &table->items[i], id, links);
    }
}

static void add_clusters(const struct oneib_snapshot *snapshot, struct oneib_links *links)
{
    oneib_auto(oneib_member_ports_clear) struct oneib_member_ports ports;
    oneib_member_ports_make(&snapshot->desired, &snapshot->subnet, &ports);
    add_all_clusters(&ports, &snapshot->desired.table, links);
}

static bool has_content(const char *path, const struct oneib_text *text)
{
    struct oneib_error ignored;
    oneib_autofree char *data = NULL;
    size_t length;
    return oneib_file_read(path, text->length, &data, &length, &ignored) == 0 &&
           length == text->length && memcmp(data, text->data, length) == 0;
}

/* The same content: a new modification time shows that it is still so, and costs the disk less. */
static bool refresh_time(const char *path, const struct oneib_text *text)
{
    return has_content(path, text) && utimensat(AT_FDCWD, path, NULL, 0) == 0;
}

static void write_file(const char *path, const struct oneib_links *links, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_links_write(links, &text);
    if (!refresh_time(path, &text))
        oneib_file_replace(path, text.data, text.length, LINKS_FILE_MODE, NULL, NULL, err);
}

static void write_links(struct oneib_daemon *daemon, struct oneib_error *err)
{
    oneib_autolinks struct oneib_links links = {.routes = daemon->qos->routes}; /* borrowed */
    add_hosts(&daemon->snapshot.cloud, &links);
    add_clusters(&daemon->snapshot, &links);
    write_file(daemon->config.qos.links_file, &links, err);
    daemon->qos->routes = links.routes;
    links.routes = (struct oneib_routes){0};
}

static bool are_links_known(const struct oneib_daemon *daemon)
{
    return oneib_turn_is_settled(daemon) && !oneib_oned_is_away(daemon->oned) &&
           oneib_ports_sm(daemon) != ONEIB_SM_STANDBY && daemon->qos->routes.hop_count > 0;
}

/* Links that are not known any more are not written: the placer does not rely on an old file. */
void oneib_qos_check_write_links(struct oneib_daemon *daemon)
{
    struct oneib_error *error = &daemon->qos->links_error;
    const double now = oneib_now_ms();
    if (!oneib_timer_is_due(&daemon->timers, ONEIB_TIMER_LINKS_FILE, now))
        return;
    *error = (struct oneib_error){0};
    if (daemon->config.qos.links_file && are_links_known(daemon))
        write_links(daemon, error);
    oneib_timer_set(&daemon->timers, ONEIB_TIMER_LINKS_FILE, now + LINKS_INTERVAL_MS);
}
