// SPDX-License-Identifier: Apache-2.0
/* The file in which the placer finds which links clusters use (placement/links_text.h). */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "cluster/member_ports.h"
#include "cluster/port_index.h"
#include "oneibd/daemon.h"
#include "placement/links_text.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Not with each change: nobody who is put into force waits for it, and windows of the scheduler are
 * ten seconds apart. */
#define PAUSE_MS 5000.0
#define FILE_MODE 0644 /* as opensm's partitions file; the placer is oneadmin's */

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

static bool has_this(const char *path, const struct oneib_text *text)
{
    struct oneib_error ignored;
    oneib_autofree char *data = NULL;
    size_t length;
    return oneib_file_read(path, text->length, &data, &length, &ignored) == 0 &&
           length == text->length && memcmp(data, text->data, length) == 0;
}

/* Its age tells that it is so still: the disk need not have all of it again. */
static bool is_young_again(const char *path, const struct oneib_text *text)
{
    return has_this(path, text) && utimensat(AT_FDCWD, path, NULL, 0) == 0;
}

static int write_file(const struct oneib_daemon *daemon, const struct oneib_links *links,
                      struct oneib_error *err)
{
    const char *path = daemon->config.qos.links_file;
    oneib_autotext struct oneib_text text = {0};
    oneib_links_write(links, &text);
    if (is_young_again(path, &text))
        return 0;
    return oneib_file_replace(path, text.data, text.length, FILE_MODE, NULL, NULL, err);
}

/* The routes are borrowed. */
static void write_links(struct oneib_daemon *daemon, struct oneib_error *err)
{
    oneib_autolinks struct oneib_links links = {.routes = daemon->routes};
    add_hosts(&daemon->snapshot.cloud, &links);
    add_clusters(&daemon->snapshot, &links);
    write_file(daemon, &links, err);
    daemon->routes = links.routes;
    links.routes = (struct oneib_routes){0};
}

static bool is_to_write_links(const struct oneib_daemon *daemon)
{
    return daemon->config.qos.links_file && daemon->settled && !daemon->oned_is_away &&
           daemon->sm != ONEIB_SM_STANDBY && daemon->routes.hop_count > 0;
}

/* What is not known any more is not written: the file grows old, and is not relied on. */
void oneib_daemon_write_links(struct oneib_daemon *daemon)
{
    const double now = oneib_now_ms();
    if (now < daemon->links_at)
        return;
    daemon->links_error = (struct oneib_error){0};
    if (is_to_write_links(daemon))
        write_links(daemon, &daemon->links_error);
    daemon->links_at = now + PAUSE_MS;
}
