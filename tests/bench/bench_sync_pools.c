// SPDX-License-Identifier: Apache-2.0
/*
 * Memory of `oneib list --no-fabric` over a cloud that grows from 1,000 to 100,000 VMs, each with
 * an InfiniBand NIC. VMs are read by windows of ids, so what grows is one small record a NIC, not
 * the documents (7 KiB a VM). oned is the stand-in; its time is in the times shown, its memory is
 * not.
 */
#include "../simulation/lab.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define HOSTS 128
#define NETWORKS 40
#define LARGEST 100000
#define GOAL 1.5
#define TIMEOUT_MS 600000

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Peak of the largest child that has ended: of `oneib`, since the stand-in runs on. */
static double peak_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static int set_up(struct lab *lab, uint32_t *networks, struct oneib_error *err)
{
    if (lab_standin_start(lab, NULL, err) < 0 || lab_add_hosts(lab, 63, err) < 0 ||
        lab_config_write(lab, NULL, err) < 0)
        return -1;
    for (size_t i = 0; i < NETWORKS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%zu", 300 + i);
        if (lab_network_create(lab, "bench", key, NULL, &networks[i], err) < 0)
            return -1;
    }
    return 0;
}

static int grow(struct lab *lab, const uint32_t *networks, uint32_t from, uint32_t to,
                struct oneib_error *err)
{
    for (uint32_t i = from; i < to; i++) {
        uint32_t vm;
        if (lab_vm_start(lab, "vm", &networks[i % NETWORKS], 1, i % HOSTS, &vm, err) < 0)
            return -1;
    }
    return 0;
}

static int list(struct lab *lab, struct oneib_error *err)
{
    struct lab_output output = {0};
    if (lab_oneib(lab, (const char *[]){"list", "--no-fabric", NULL}, TIMEOUT_MS, &output, err) < 0)
        return -1;
    int status = 0;
    if (output.status != 0)
        status = oneib_fail(err, ONEIB_ERROR_PROTOCOL, "oneib list ended with %d: %s",
                            output.status, output.error);
    lab_output_clear(&output);
    return status;
}

static int run(struct lab *lab, double *first, double *last, struct oneib_error *err)
{
    uint32_t networks[NETWORKS];
    if (set_up(lab, networks, err) < 0)
        return -1;
    uint32_t have = 0;
    for (uint32_t vms = 1000; vms <= LARGEST; have = vms, vms *= 10) {
        if (grow(lab, networks, have, vms, err) < 0)
            return -1;
        const double begin = now_s();
        if (list(lab, err) < 0)
            return -1;
        *last = peak_mib();
        if (have == 0)
            *first = *last;
        printf("%7u VMs: %6.1f s, peak %5.1f MiB\n", vms, now_s() - begin, *last);
        fflush(stdout);
    }
    return 0;
}

int main(void)
{
    struct oneib_error err = {0};
    const struct lab_options options = {.leaves = 8, .hosts_per_leaf = HOSTS / 8, .spines = 1};
    struct lab *lab = lab_open(&options, &err);
    double first = 0, last = 0;
    const int status = lab ? run(lab, &first, &last, &err) : -1;
    lab_close(lab);
    if (status < 0) {
        fprintf(stderr, "bench_sync_pools: %s\n", err.text);
        return EXIT_FAILURE;
    }
    const int passed = last <= GOAL * first;
    printf("memory for %u VMs over memory for 1,000: %.2f (at most %.2f) %s\n", LARGEST,
           last / first, GOAL, passed ? "PASS" : "FAIL");
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
