// SPDX-License-Identifier: Apache-2.0
/*
 * From the cloud to a partition file that was rendered, parsed again and compared: 10,000 hosts,
 * 4,000 networks and 100,000 attachments in less than 0.5 s and 300 MiB, and near-linear growth
 * from 1,000 to 100,000 attachments. And what the audit trail of that many members costs when one
 * of them has changed: less than 0.1 s, after the change is in force. One PASS or FAIL line for
 * each goal; exits 1 when one is missed.
 */
#include "cluster/cloud.h"
#include "cluster/desired.h"
#include "cluster/member_events.h"
#include "partitions/partition.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define TIME_LIMIT 0.5   /* seconds */
#define FOLLOW_LIMIT 0.1 /* seconds */
#define MEMORY_LIMIT 300 /* MiB */
#define GROWTH_LIMIT                                                                               \
    2.5 /* of 100: sorting alone costs log(100,000)/log(1,000) = 1.67, caches some more */
#define ROUNDS 9

struct step_times {
    double compute, render, parse, compare;
    double follow;    /* the news since the last round */
    double processor; /* all but follow, in processor time, which other programs disturb less */
};

static void stop(const char *what, const struct oneib_error *err)
{
    fprintf(stderr, "bench_cluster_desired: %s: %s\n", what, err->text);
    exit(3);
}

static double read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static double total(const struct step_times *times)
{
    return times->compute + times->render + times->parse + times->compare;
}

static void add_networks(struct oneib_cloud *cloud, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct oneib_network *network = oneib_cloud_add_network(cloud);
        network->id = i;
        network->parent_id = ONEIB_NO_ID;
        network->key_state = ONEIB_KEY_VALID;
        network->pkey = (oneib_pkey)(256 + i);
        network->membership = ONEIB_FULL;
    }
}

static void add_hosts(struct oneib_cloud *cloud, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct oneib_host *host = oneib_cloud_add_host(cloud);
        struct oneib_hca_port *port = oneib_host_add_port(host);
        host->id = i;
        snprintf(port->device, sizeof port->device, "mlx4_0");
        port->port = 1;
        port->driver = ONEIB_HCA_MLX4;
        port->port_guid = UINT64_C(0x0002c90300000000) + i;
    }
}

/* Spreads consecutive numbers over all 32 bits (the finalizer of MurmurHash3). */
static uint32_t scatter(uint32_t i)
{
    i = (i ^ i >> 16) * UINT32_C(0x85ebca6b);
    i = (i ^ i >> 13) * UINT32_C(0xc2b2ae35);
    return i ^ i >> 16;
}

/* VM i is in network i modulo networks; the VMs of a network are scattered over the hosts. */
static void add_attachments(struct oneib_cloud *cloud, uint32_t count, uint32_t networks,
                            uint32_t hosts)
{
    for (uint32_t i = 0; i < count; i++) {
        struct oneib_attachment *attachment = oneib_cloud_add_attachment(cloud);
        attachment->vm_id = i;
        attachment->network_id = i % networks;
        attachment->host_id = scatter(i) % hosts;
        attachment->source_host_id = ONEIB_NO_ID;
        attachment->since = i;
        attachment->phase = ONEIB_SETTLED;
    }
}

static void make_cloud(struct oneib_cloud *cloud, uint32_t attachments)
{
    uint32_t networks = attachments / 25, hosts = attachments / 10;
    add_networks(cloud, networks);
    add_hosts(cloud, hosts);
    add_attachments(cloud, attachments, networks, hosts);
    cloud->vm_count = attachments;
}

/* *before becomes what is; the fabric is empty, so that a port is off it. */
static double follow(const struct oneib_cloud *cloud, const struct oneib_desired *desired,
                     struct oneib_member_list *before)
{
    static const struct oneib_subnet subnet;
    static const struct oneib_changes none;
    const double start = now();
    struct oneib_member_list after;
    struct oneib_member_events news, leaving = {0};
    oneib_member_list_make(cloud, desired, &after);
    const struct oneib_member_events_input input = {
        .before = before->lines ? before : NULL, .after = &after, .cloud = cloud, .changes = &none};
    const struct oneib_member_events_evidence evidence = {
        .subnet = &subnet, .cloud = cloud, .desired = desired};
    oneib_member_events_make(&input, &news);
    oneib_member_events_prove(&evidence, &after, &leaving, &news);
    if (before->lines && news.count != 2) {
        fprintf(stderr, "bench_cluster_desired: %zu news of one that has moved\n", news.count);
        exit(3);
    }
    oneib_member_list_clear(before);
    *before = after;
    oneib_member_events_clear(&news);
    oneib_member_events_clear(&leaving);
    return now() - start;
}

/* Every network has the key in its VLAN_ID. */
static struct oneib_ledger ledger;

/* *members: how many lines of members the file has. */
static struct step_times run(struct oneib_cloud *cloud, struct oneib_member_list *before,
                             size_t *members, struct oneib_error *err)
{
    const struct oneib_policy policy = {.pkey_first = 256,
                                        .pkey_last = 32766,
                                        .resting_max = 16,
                                        .hold_share = 0.5,
                                        .hold_minimum = 16};
    const struct oneib_desired_input input = {.cloud = cloud, .ledger = &ledger, .policy = &policy};
    struct oneib_desired desired;
    struct oneib_text text = {0};
    struct oneib_partition_table parsed = {0};
    for (size_t i = ledger.network_count; i < cloud->network_count; i++)
        if (oneib_ledger_give(&ledger,
                              &(struct oneib_ledger_network){
                                  .network_id = cloud->networks[i].id,
                                  .pkey = cloud->networks[i].pkey,
                              },
                              err) < 0)
            stop("ledger", err);

    double processor = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    double start = now();
    oneib_cloud_sort(cloud);
    if (oneib_desired_compute(&input, &desired, err) < 0)
        stop("compute", err);
    double computed = now();
    oneib_partitions_render(&desired.table, &text);
    double rendered = now();
    if (oneib_partitions_parse(text.data, text.length, "rendered", &parsed, err) < 0)
        stop("parse", err);
    double read_back = now();
    if (!oneib_partition_table_equal(&desired.table, &parsed)) {
        fprintf(stderr, "bench_cluster_desired: what was read back differs\n");
        exit(3);
    }
    double compared = now();
    processor = read_clock(CLOCK_PROCESS_CPUTIME_ID) - processor;
    const double followed = follow(cloud, &desired, before);

    *members = 0;
    for (size_t i = 0; i < desired.table.count; i++)
        *members += desired.table.items[i].member_count;
    oneib_partition_table_clear(&parsed);
    oneib_text_clear(&text);
    oneib_desired_clear(&desired);
    return (struct step_times){
        computed - start, rendered - computed, read_back - rendered, compared - read_back, followed,
        processor};
}

/* The best of some rounds, of each clock. */
static struct step_times measure(uint32_t attachments)
{
    struct oneib_error err;
    struct oneib_cloud cloud = {0};
    struct step_times best = {0};
    struct oneib_member_list before = {0};
    size_t members = 0;
    make_cloud(&cloud, attachments);
    for (int i = 0; i < ROUNDS; i++) {
        cloud.attachments[0].host_id = (uint32_t)i; /* one VM moves */
        struct step_times times = run(&cloud, &before, &members, &err);
        const double followed = i < 2 || times.follow < best.follow ? times.follow : best.follow;
        double processor =
            i == 0 || times.processor < best.processor ? times.processor : best.processor;
        if (i == 0 || total(&times) < total(&best))
            best = times;
        best.processor = processor;
        best.follow = followed;
    }
    printf("%6u attachments, %6zu members: %.4f s (compute %.4f, render %.4f, parse %.4f, compare "
           "%.4f); audit trail %.4f\n",
           attachments, members, total(&best), best.compute, best.render, best.parse, best.compare,
           best.follow);
    oneib_member_list_clear(&before);
    oneib_cloud_clear(&cloud);
    return best;
}

static int judge(bool reached, const char *goal, double value, double limit)
{
    printf("%s %s: %.3f (limit %.3f)\n", reached ? "PASS" : "FAIL", goal, value, limit);
    return reached ? 0 : 1;
}

int main(void)
{
    struct step_times small = measure(1000);
    measure(10000);
    struct step_times large = measure(100000);

    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double mebibytes = (double)usage.ru_maxrss / 1024;
    double growth = large.processor / small.processor / 100;
    double seconds = total(&large);

    int failed =
        judge(seconds < TIME_LIMIT, "seconds for 100,000 attachments", seconds, TIME_LIMIT);
    failed |= judge(large.follow < FOLLOW_LIMIT, "seconds of the audit trail", large.follow,
                    FOLLOW_LIMIT);
    failed |= judge(mebibytes < MEMORY_LIMIT, "peak MiB", mebibytes, MEMORY_LIMIT);
    failed |= judge(growth < GROWTH_LIMIT, "growth from 1,000 to 100,000 as a share of linear",
                    growth, GROWTH_LIMIT);
    return failed;
}
