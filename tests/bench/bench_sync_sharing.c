// SPDX-License-Identifier: Apache-2.0
/*
 * Links of 500 clusters on 1,024 hosts, of a fat tree of 32 leaves and 16 spines, and which two of
 * one level meet: less than 100 ms. And when one cluster comes, the level that it gets: no more.
 * One PASS or FAIL line for each goal; exits 1 when one is missed.
 */
#include "base/clock.h"
#include "sync/sharing.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAVES = 32,
    SPINES = 16,
    HOSTS_PER_LEAF = 32,
    HOSTS = LEAVES * HOSTS_PER_LEAF,
    CLUSTERS = 500,
    LEVELS = 7,
    MEMBERS_MAX = 64,
    ROUNDS = 9,
};
#define TIME_LIMIT_MS 100.0
#define LEAF_GUID UINT64_C(0x2000)
#define SPINE_GUID UINT64_C(0x3000)
#define PORT_0 UINT64_C(0x10000) /* of a switch: its GUID and this */

static void stop(const char *what)
{
    fprintf(stderr, "bench_sync_sharing: %s\n", what);
    exit(3);
}

static oneib_guid host_guid(unsigned host)
{
    return host + 1;
}

static uint16_t lid_of(unsigned host)
{
    return (uint16_t)(host + 1);
}

/* ---- the fabric ------------------------------------------------------------------------------ */

static struct oneib_switch_link *make_links(size_t *count)
{
    struct oneib_switch_link *links = calloc(HOSTS + 2 * LEAVES * SPINES, sizeof *links);
    if (!links)
        stop("out of memory");
    for (unsigned host = 0; host < HOSTS; host++)
        links[(*count)++] = (struct oneib_switch_link){LEAF_GUID + host / HOSTS_PER_LEAF,
                                                       (uint8_t)(1 + host % HOSTS_PER_LEAF),
                                                       ONEIB_PHYSICAL_LINK_UP,
                                                       ONEIB_NODE_CA,
                                                       host_guid(host),
                                                       host_guid(host)};
    for (unsigned leaf = 0; leaf < LEAVES; leaf++)
        for (unsigned spine = 0; spine < SPINES; spine++) {
            links[(*count)++] = (struct oneib_switch_link){
                LEAF_GUID + leaf,  (uint8_t)(1 + HOSTS_PER_LEAF + spine), ONEIB_PHYSICAL_LINK_UP,
                ONEIB_NODE_SWITCH, SPINE_GUID + spine + PORT_0,           SPINE_GUID + spine};
            links[(*count)++] = (struct oneib_switch_link){
                SPINE_GUID + spine, (uint8_t)(1 + leaf),       ONEIB_PHYSICAL_LINK_UP,
                ONEIB_NODE_SWITCH,  LEAF_GUID + leaf + PORT_0, LEAF_GUID + leaf};
        }
    return links;
}

/* As a fat tree is routed: by the destination. */
static uint8_t exit_of(unsigned number, unsigned host)
{
    if (number >= LEAVES)
        return (uint8_t)(1 + host / HOSTS_PER_LEAF);
    return (uint8_t)(host / HOSTS_PER_LEAF == number ? 1 + host % HOSTS_PER_LEAF
                                                     : 1 + HOSTS_PER_LEAF + host % SPINES);
}

static void make_exits(struct oneib_exits *exits)
{
    for (unsigned number = 0; number < LEAVES + SPINES; number++) {
        exits[number] = (struct oneib_exits){
            .switch_guid = number < LEAVES ? LEAF_GUID + number : SPINE_GUID + number - LEAVES,
            .ports = malloc(HOSTS + 1),
            .count = HOSTS + 1};
        if (!exits[number].ports)
            stop("out of memory");
        exits[number].ports[0] = 0xff;
        for (unsigned host = 0; host < HOSTS; host++)
            exits[number].ports[lid_of(host)] = exit_of(number, host);
    }
}

static void make_routes(struct oneib_routes *routes)
{
    static struct oneib_subnet_port ports[HOSTS];
    struct oneib_exits exits[LEAVES + SPINES];
    size_t count = 0;
    struct oneib_switch_link *links = make_links(&count);
    for (unsigned host = 0; host < HOSTS; host++)
        ports[host] = (struct oneib_subnet_port){.guid = host_guid(host), .lid = lid_of(host)};
    const struct oneib_subnet subnet = {.ports = ports, .port_count = HOSTS};
    make_exits(exits);
    oneib_routes_make(links, count, &subnet, exits, LEAVES + SPINES, routes);
    free(links);
}

/* ---- the clusters ---------------------------------------------------------------------------- */

/* 2 to 64 members, anywhere: a scheduler that knows of no leaves. */
static void make_cluster(struct oneib_partition *partition, unsigned number, unsigned *seed)
{
    static struct oneib_member members[CLUSTERS][MEMBERS_MAX];
    const unsigned count = 2 + (unsigned)rand_r(seed) % (MEMBERS_MAX - 1);
    for (unsigned i = 0; i < count; i++)
        members[number][i] =
            (struct oneib_member){.guid = host_guid((unsigned)rand_r(seed) % HOSTS)};
    *partition = (struct oneib_partition){.pkey = (oneib_pkey)(256 + number),
                                          .sl = (uint8_t)(1 + number % LEVELS),
                                          .members = members[number],
                                          .member_count = count};
    snprintf(partition->name, sizeof partition->name, "one%u", number);
}

static double best_of_rounds(const struct oneib_partition_table *table, struct oneib_routes *routes,
                             size_t *shared)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        struct oneib_sharing sharing;
        const double began = oneib_now_ms();
        oneib_sharing_make(table, &(struct oneib_member_ports){0}, routes, ONEIB_SHARED_NOW,
                           &sharing);
        const double took = oneib_now_ms() - began;
        best = took < best ? took : best;
        *shared = sharing.shared_count;
        oneib_sharing_clear(&sharing);
    }
    return best;
}

int main(void)
{
    static struct oneib_partition partitions[CLUSTERS];
    struct oneib_routes routes;
    unsigned seed = 1;
    size_t shared;
    make_routes(&routes);
    for (unsigned i = 0; i < CLUSTERS; i++)
        make_cluster(&partitions[i], i, &seed);
    const struct oneib_partition_table table = {.items = partitions, .count = CLUSTERS};
    const double took = best_of_rounds(&table, &routes, &shared);
    printf("%d clusters on %d hosts, %zu directions of links, %zu pairs that meet: %.1f ms\n",
           CLUSTERS, HOSTS, routes.hop_count, shared, took);
    oneib_routes_clear(&routes);
    printf("%s: less than %.0f ms\n", took < TIME_LIMIT_MS ? "PASS" : "FAIL", TIME_LIMIT_MS);
    return took < TIME_LIMIT_MS ? 0 : 1;
}
