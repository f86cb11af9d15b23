// SPDX-License-Identifier: Apache-2.0
/*
 * 1,000 VMs are deployed within a second at 128 nodes, each a port's first member of a cluster: how
 * many reloads oneibd makes of it, when the first of them is in force against what a single one
 * takes in the same run, and whether all are in the end, which this program asks the ports itself.
 */
#include "base/clock.h"
#include "bench_tools.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define NODES 128
#define CHANGES 1000
#define CLUSTERS ((CHANGES + NODES - 1) / NODES)
#define FIRST_KEY 300
#define SINGLE_KEY 299
#define SINGLES 10
#define QUIET_MS 500
/* As a scheduler would: a few at once, all over the second. */
#define BATCH 10
#define SPREAD_MS 900.0
#define ALL_MS 60000.0
#define SECOND_MS 1000.0
#define RELOADS 10.0
#define GOAL 2.0

struct bench {
    struct lab *lab;
    struct bench_observer observer;
    struct bench_listener *listener;
    uint32_t networks[CLUSTERS], single;
    uint32_t vms[CHANGES];
    double single_ms, burst_ms, first_ms, all_ms, reloads;
};

/* ---- what a single change takes -------------------------------------------------------------- */

static int time_one(struct bench *bench, uint32_t host, double *ms, struct oneib_error *err)
{
    uint32_t vm;
    double arrived, changed;
    if (lab_vm_create(bench->lab, "vm", &bench->single, 1, &vm, err) < 0)
        return -1;
    bench_await_rest(bench->lab, QUIET_MS);
    bench_listener_forget(bench->listener);
    if (lab_vm_deploy(bench->lab, vm, host, err) < 0 ||
        bench_observer_await(&bench->observer, lab_host_port_guid(bench->lab, host), SINGLE_KEY,
                             true, &changed, err) < 0 ||
        bench_listener_await(bench->listener, vm, 2, &arrived, err) < 0)
        return -1;
    *ms = changed - arrived;
    return lab_vm_running(bench->lab, vm, err);
}

static int time_singles(struct bench *bench, struct oneib_error *err)
{
    double samples[SINGLES];
    for (uint32_t i = 0; i < SINGLES; i++)
        if (time_one(bench, 1 + i * 7, &samples[i], err) < 0)
            return -1;
    bench->single_ms = bench_median(samples, SINGLES);
    return 0;
}

/* ---- the burst ------------------------------------------------------------------------------- */

static uint32_t host_of(size_t change)
{
    return (uint32_t)(change % NODES);
}

static oneib_pkey key_of(size_t change)
{
    return (oneib_pkey)(FIRST_KEY + change / NODES);
}

struct driver {
    struct bench *bench;
    pthread_t thread;
    int status;
    struct oneib_error error;
};

static void wait_until(double at_ms)
{
    const double rest = at_ms - oneib_now_ms();
    if (rest > 0)
        lab_sleep_ms((unsigned)rest);
}

static void *drive(void *context)
{
    struct driver *driver = context;
    struct bench *bench = driver->bench;
    const double start = oneib_now_ms();
    for (size_t i = 0; i < CHANGES && driver->status == 0; i += BATCH) {
        uint32_t hosts[BATCH];
        for (size_t j = 0; j < BATCH; j++)
            hosts[j] = host_of(i + j);
        driver->status = lab_vms_deploy(bench->lab, &bench->vms[i], hosts, BATCH, &driver->error);
        bench->burst_ms = oneib_now_ms() - start;
        wait_until(start + (double)(i + BATCH) * SPREAD_MS / CHANGES);
    }
    return NULL;
}

static bool all_in_force(const struct bench *bench)
{
    for (size_t i = 0; i < CHANGES; i++)
        if (!bench_observer_holds(&bench->observer, lab_host_port_guid(bench->lab, host_of(i)),
                                  key_of(i)))
            return false;
    return true;
}

static int await_all(struct bench *bench, double arrived, struct oneib_error *err)
{
    do {
        if (oneib_now_ms() - arrived > ALL_MS)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "not all changes came into force");
        lab_sleep_ms(20);
        if (bench_observer_read_all(&bench->observer, err) < 0)
            return -1;
    } while (!all_in_force(bench));
    bench->all_ms = oneib_now_ms() - arrived;
    return 0;
}

/* Not from the thread that drives: when the first is in force is to be seen while it drives on. */
static int observe(struct bench *bench, struct oneib_error *err)
{
    double changed, arrived;
    if (bench_observer_await(&bench->observer, lab_host_port_guid(bench->lab, host_of(0)),
                             key_of(0), true, &changed, err) < 0 ||
        bench_listener_await(bench->listener, bench->vms[0], 2, &arrived, err) < 0)
        return -1;
    bench->first_ms = changed - arrived;
    return await_all(bench, arrived, err);
}

static int reloads(struct bench *bench, double *count, struct oneib_error *err)
{
    return lab_metric(lab_metrics_address(bench->lab), "oneib_reloads_total", count, err);
}

static int burst(struct bench *bench, struct oneib_error *err)
{
    struct driver driver = {.bench = bench};
    double before, after;
    bench_await_rest(bench->lab, QUIET_MS);
    bench_listener_forget(bench->listener);
    if (reloads(bench, &before, err) < 0)
        return -1;
    if (pthread_create(&driver.thread, NULL, drive, &driver) != 0)
        return oneib_fail(err, ONEIB_ERROR_SYSTEM, "no thread can be made");
    int status = observe(bench, err);
    pthread_join(driver.thread, NULL);
    if (driver.status < 0) {
        *err = driver.error;
        return -1;
    }
    bench_await_rest(bench->lab, QUIET_MS);
    if (status == 0)
        status = reloads(bench, &after, err);
    bench->reloads = status == 0 ? after - before : 0;
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Clusters are in force before the burst, with a member each. */
static int create_networks(struct bench *bench, struct oneib_error *err)
{
    uint32_t vm;
    if (lab_network_create(bench->lab, "single", "299", NULL, &bench->single, err) < 0 ||
        lab_vm_start(bench->lab, "vm", &bench->single, 1, 0, &vm, err) < 0)
        return -1;
    for (size_t i = 0; i < CLUSTERS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%zu", FIRST_KEY + i);
        if (lab_network_create(bench->lab, "bench", key, NULL, &bench->networks[i], err) < 0 ||
            lab_vm_start(bench->lab, "vm", &bench->networks[i], 1, NODES - 1, &vm, err) < 0)
            return -1;
    }
    return 0;
}

static int create_vms(struct bench *bench, struct oneib_error *err)
{
    for (size_t i = 0; i < CHANGES; i++)
        if (lab_vm_create(bench->lab, "vm", &bench->networks[i / NODES], 1, &bench->vms[i], err) <
            0)
            return -1;
    return 0;
}

static int run(struct bench *bench, struct oneib_error *err)
{
    const struct lab_options options = bench_fabric(NODES);
    bench->lab = lab_open(&options, err);
    if (!bench->lab || lab_fabric_start(bench->lab, err) < 0 ||
        lab_opensm_start(bench->lab, &LAB_SM, err) < 0 ||
        lab_standin_start(bench->lab, NULL, err) < 0 || lab_add_hosts(bench->lab, 63, err) < 0 ||
        create_networks(bench, err) < 0 || create_vms(bench, err) < 0 ||
        lab_config_write(bench->lab, NULL, err) < 0 ||
        lab_oneibd_start(bench->lab, &LAB_DAEMON, err) < 0 ||
        bench_observer_open(&bench->observer, err) < 0)
        return -1;
    bench->listener = bench_listener_open(lab_events_endpoint(bench->lab), err);
    if (!bench->listener || time_singles(bench, err) < 0)
        return -1;
    return burst(bench, err);
}

static bool judge(const char *what, double value, double goal, const char *unit)
{
    printf("%-58s %8.1f%s, at most %.1f%s: %s\n", what, value, unit, goal, unit,
           value <= goal ? "PASS" : "FAIL");
    return value <= goal;
}

static int report(const struct bench *bench)
{
    printf("%d VMs deployed in batches of %d at %d nodes on ibsim\n", CHANGES, BATCH, NODES);
    const bool fast = judge("time of the deployments", bench->burst_ms, SECOND_MS, " ms");
    const bool few = judge("reloads", bench->reloads, RELOADS, "");
    printf("event of a single change to changed table, median of %d: %10.1f ms\n", SINGLES,
           bench->single_ms);
    printf("event of the first of the burst to changed table:        %10.1f ms\n", bench->first_ms);
    const bool soon = judge("ratio", bench->first_ms / bench->single_ms, GOAL, "");
    printf("all %d in force, as read from the ports:               %10.1f ms\n", CHANGES,
           bench->all_ms);
    return fast && few && soon ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct oneib_error err = {0};
    struct bench bench = {0};
    (void)argc;
    if (lab_missing()) {
        printf("SKIP: %s is not installed\n", lab_missing());
        return EXIT_SUCCESS;
    }
    if (lab_enter_fabric(argv, &err) < 0) {
        fprintf(stderr, "bench_oneibd_burst: %s\n", err.text);
        return EXIT_FAILURE;
    }
    const int status = run(&bench, &err);
    bench_listener_close(bench.listener);
    bench_observer_close(&bench.observer);
    lab_close(bench.lab);
    if (status < 0)
        fprintf(stderr, "bench_oneibd_burst: %s\n", err.text);
    return status < 0 ? EXIT_FAILURE : report(&bench);
}
