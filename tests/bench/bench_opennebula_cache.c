// SPDX-License-Identifier: Apache-2.0
/*
 * Following one VM of 10,000 in a kept cloud against reading the whole cloud again, in the same
 * run: wall time, and the CPU time of this process. oned is the stand-in, whose work is in the wall
 * time.
 */
#include "../simulation/lab.h"
#include "opennebula/cache.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define HOSTS 128
#define NETWORKS 40
#define VMS 10000
#define READINGS 3
#define REFRESHES 200
#define GOAL 50.0
#define TIMEOUT_MS 120000

struct cost {
    double wall_ms, cpu_ms;
};

struct bench {
    struct lab *lab;
    struct oneib_one *one;
    struct oneib_pools_options options;
    struct oneib_cloud cloud;
    struct oneib_findings findings;
};

static struct cost now(void)
{
    struct timespec wall;
    struct rusage usage;
    clock_gettime(CLOCK_MONOTONIC, &wall);
    getrusage(RUSAGE_SELF, &usage);
    return (struct cost){
        .wall_ms = (double)wall.tv_sec * 1e3 + (double)wall.tv_nsec / 1e6,
        .cpu_ms = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
                  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3,
    };
}

static void add_since(struct cost *sum, struct cost begin)
{
    const struct cost end = now();
    sum->wall_ms += end.wall_ms - begin.wall_ms;
    sum->cpu_ms += end.cpu_ms - begin.cpu_ms;
}

static int populate(struct lab *lab, struct oneib_error *err)
{
    uint32_t networks[NETWORKS], vm;
    if (lab_standin_start(lab, NULL, err) < 0 || lab_add_hosts(lab, 63, err) < 0)
        return -1;
    for (size_t i = 0; i < NETWORKS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%zu", 300 + i);
        if (lab_network_create(lab, "bench", key, NULL, &networks[i], err) < 0)
            return -1;
    }
    for (uint32_t i = 0; i < VMS; i++)
        if (lab_vm_start(lab, "vm", &networks[i % NETWORKS], 1, i % HOSTS, &vm, err) < 0)
            return -1;
    return 0;
}

static int connect_to_oned(struct bench *bench, struct oneib_error *err)
{
    char endpoint[128], session[128];
    snprintf(endpoint, sizeof endpoint, "%s", lab_endpoint(bench->lab));
    snprintf(session, sizeof session, "%s", lab_session(bench->lab));
    const struct oneib_credentials credentials = {.endpoint = endpoint, .session = session};
    bench->one = oneib_one_open(&credentials, TIMEOUT_MS, err);
    return bench->one ? 0 : -1;
}

static int measure_readings(struct bench *bench, struct cost *each, struct oneib_error *err)
{
    struct cost sum = {0};
    for (int i = 0; i < READINGS; i++) {
        oneib_cloud_clear(&bench->cloud);
        oneib_findings_clear(&bench->findings);
        const struct cost begin = now();
        if (oneib_pools_read(bench->one, &bench->options, &bench->cloud, &bench->findings, err) < 0)
            return -1;
        add_since(&sum, begin);
    }
    *each = (struct cost){sum.wall_ms / READINGS, sum.cpu_ms / READINGS};
    return 0;
}

static int refresh_one(struct bench *bench, uint32_t vm, struct oneib_error *err)
{
    struct oneib_work_queue queue = {0};
    bool changed = false;
    oneib_work_queue_vm(&queue, vm);
    int outcome = oneib_cache_refresh(bench->one, &bench->options, &queue, &bench->cloud,
                                      &bench->findings, &changed, err);
    oneib_work_queue_clear(&queue);
    if (outcome == 0 && !changed)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "VM %u was said not to have changed", vm);
    return outcome;
}

static int measure_refreshes(struct bench *bench, struct cost *each, struct oneib_error *err)
{
    struct cost sum = {0};
    for (uint32_t i = 0; i < REFRESHES; i++) {
        const uint32_t vm = i * (VMS / REFRESHES);
        if (lab_vm_migrate(bench->lab, vm, (vm + 1) % HOSTS, 4, err) < 0)
            return -1;
        const struct cost begin = now();
        if (refresh_one(bench, vm, err) < 0)
            return -1;
        add_since(&sum, begin);
    }
    *each = (struct cost){sum.wall_ms / REFRESHES, sum.cpu_ms / REFRESHES};
    return 0;
}

static int run(struct bench *bench, struct cost *whole, struct cost *refresh,
               struct oneib_error *err)
{
    return populate(bench->lab, err) < 0 || connect_to_oned(bench, err) < 0 ||
                   measure_readings(bench, whole, err) < 0 ||
                   measure_refreshes(bench, refresh, err) < 0
               ? -1
               : 0;
}

int main(void)
{
    struct oneib_error err = {0};
    const struct lab_options plan = {.leaves = 8, .hosts_per_leaf = HOSTS / 8, .spines = 1};
    struct bench bench = {.lab = lab_open(&plan, &err),
                          .options = {.vn_mad = "infiniband", .window = 1000}};
    struct cost whole = {0}, refresh = {0};
    const int status = bench.lab ? run(&bench, &whole, &refresh, &err) : -1;
    oneib_cloud_clear(&bench.cloud);
    oneib_findings_clear(&bench.findings);
    oneib_one_close(bench.one);
    lab_close(bench.lab);
    if (status < 0) {
        fprintf(stderr, "bench_opennebula_cache: %s\n", err.text);
        return EXIT_FAILURE;
    }
    printf("%d VMs, all:     %9.2f ms, CPU %9.2f ms\n", VMS, whole.wall_ms, whole.cpu_ms);
    printf("%d VMs, one VM:  %9.2f ms, CPU %9.2f ms\n", VMS, refresh.wall_ms, refresh.cpu_ms);
    const double wall = whole.wall_ms / refresh.wall_ms, cpu = whole.cpu_ms / refresh.cpu_ms;
    const int passed = wall >= GOAL && cpu >= GOAL;
    printf("all over one VM: wall %.0f, CPU %.0f (at least %.0f) %s\n", wall, cpu, GOAL,
           passed ? "PASS" : "FAIL");
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
