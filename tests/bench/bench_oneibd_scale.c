// SPDX-License-Identifier: Apache-2.0
/*
 * Memory of oneibd at 1,000, 10,000 and 100,000 VMs on 128 fabric hosts, each VM with an InfiniBand
 * NIC; then, with all of them, the CPU time of an idle minute (the event stream is connected, and
 * nothing comes) and the time from an event to the changed table.
 *
 * Idle: two minutes are measured, for all ports are verified every two, and halved.
 */
#include "base/clock.h"
#include "bench_tools.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define NODES 128
#define NETWORKS 40
#define FIRST_KEY 300
#define SINGLE_KEY 299
#define VFS 2000
#define SIZES 3
#define SAMPLES 10
#define QUIET_MS 500
#define IDLE_MINUTES 2
#define IDLE_GOAL_MS 50.0
/* Of the growth from 10,000 to 100,000 VMs over tenfold. */
#define GROWTH_GOAL 1.25

static const uint32_t sizes[SIZES] = {1000, 10000, 100000};

struct bench {
    struct lab *lab;
    struct bench_observer observer;
    struct bench_listener *listener;
    uint32_t networks[NETWORKS], single;
    double resident_kib[SIZES], event_ms[SIZES];
    double idle_ms;
};

static int start_oneibd(struct bench *bench, struct oneib_error *err)
{
    if (lab_oneibd_start(bench->lab, &LAB_DAEMON, err) < 0)
        return -1;
    if (lab_await_metric(lab_metrics_address(bench->lab), "oneib_in_force", 1, 60000, err) < 0)
        return -1;
    bench_await_rest(bench->lab, QUIET_MS);
    return 0;
}

static int grow(struct bench *bench, uint32_t from, uint32_t to, struct oneib_error *err)
{
    for (uint32_t i = from; i < to; i++) {
        uint32_t vm;
        if (lab_vm_start(bench->lab, "vm", &bench->networks[i % NETWORKS], 1, i % NODES, &vm, err) <
            0)
            return -1;
    }
    return 0;
}

static int time_change(struct bench *bench, uint32_t vm, uint32_t host, bool present, double *ms,
                       struct oneib_error *err)
{
    double arrived, changed;
    bench_await_rest(bench->lab, QUIET_MS);
    bench_listener_forget(bench->listener);
    if ((present ? lab_vm_deploy(bench->lab, vm, host, err) : lab_vm_delete(bench->lab, vm, err)) <
            0 ||
        bench_observer_await(&bench->observer, lab_host_port_guid(bench->lab, host), SINGLE_KEY,
                             present, &changed, err) < 0 ||
        bench_listener_await(bench->listener, vm, present ? 2 : 1, &arrived, err) < 0)
        return -1;
    *ms = changed - arrived;
    return 0;
}

static int time_changes(struct bench *bench, double *median, struct oneib_error *err)
{
    double samples[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i += 2) {
        const uint32_t host = 1 + i * 11;
        uint32_t vm;
        if (lab_vm_create(bench->lab, "vm", &bench->single, 1, &vm, err) < 0 ||
            time_change(bench, vm, host, true, &samples[i], err) < 0 ||
            lab_vm_running(bench->lab, vm, err) < 0 ||
            time_change(bench, vm, host, false, &samples[i + 1], err) < 0)
            return -1;
    }
    *median = bench_median(samples, SAMPLES);
    return 0;
}

static int measure_idle(struct bench *bench, struct oneib_error *err)
{
    double connected;
    if (lab_metric(lab_metrics_address(bench->lab), "oneib_event_stream_connected", &connected,
                   err) < 0)
        return -1;
    if (connected < 1)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the event stream is not connected");
    const pid_t pid = lab_oneibd_pid(bench->lab, LAB_DAEMON.name);
    const double before = bench_cpu_ms(pid);
    lab_sleep_ms(IDLE_MINUTES * 60000);
    bench->idle_ms = (bench_cpu_ms(pid) - before) / IDLE_MINUTES;
    return 0;
}

static int measure(struct bench *bench, size_t size, struct oneib_error *err)
{
    if (start_oneibd(bench, err) < 0)
        return -1;
    const pid_t pid = lab_oneibd_pid(bench->lab, LAB_DAEMON.name);
    bench->resident_kib[size] = (double)bench_resident_kib(pid);
    if (time_changes(bench, &bench->event_ms[size], err) < 0)
        return -1;
    bench_await_rest(bench->lab, QUIET_MS);
    printf("%7u VMs: resident %8.0f KiB, %8.0f KiB after %d changes, event to changed table "
           "%6.1f ms\n",
           sizes[size], bench->resident_kib[size], (double)bench_resident_kib(pid), SAMPLES,
           bench->event_ms[size]);
    fflush(stdout);
    if (size + 1 == SIZES && measure_idle(bench, err) < 0)
        return -1;
    return lab_oneibd_stop(bench->lab, LAB_DAEMON.name, SIGTERM, err);
}

static int set_up(struct bench *bench, struct oneib_error *err)
{
    const struct lab_options options = bench_fabric(NODES);
    uint32_t vm;
    bench->lab = lab_open(&options, err);
    if (!bench->lab || lab_fabric_start(bench->lab, err) < 0 ||
        lab_opensm_start(bench->lab, &LAB_SM, err) < 0 ||
        lab_standin_start(bench->lab, NULL, err) < 0 || lab_add_hosts(bench->lab, VFS, err) < 0 ||
        lab_config_write(bench->lab, NULL, err) < 0 ||
        lab_network_create(bench->lab, "single", "299", NULL, &bench->single, err) < 0 ||
        lab_vm_start(bench->lab, "vm", &bench->single, 1, 0, &vm, err) < 0)
        return -1;
    for (size_t i = 0; i < NETWORKS; i++) {
        char key[16];
        snprintf(key, sizeof key, "%zu", FIRST_KEY + i);
        if (lab_network_create(bench->lab, "bench", key, NULL, &bench->networks[i], err) < 0)
            return -1;
    }
    if (bench_observer_open(&bench->observer, err) < 0)
        return -1;
    bench->listener = bench_listener_open(lab_events_endpoint(bench->lab), err);
    return bench->listener ? 0 : -1;
}

static int run(struct bench *bench, struct oneib_error *err)
{
    if (set_up(bench, err) < 0)
        return -1;
    for (size_t i = 0; i < SIZES; i++)
        if (grow(bench, i ? sizes[i - 1] : 0, sizes[i], err) < 0 || measure(bench, i, err) < 0)
            return -1;
    return 0;
}

static double bytes_a_vm(const struct bench *bench, size_t from, size_t to)
{
    return (bench->resident_kib[to] - bench->resident_kib[from]) * 1024 / (sizes[to] - sizes[from]);
}

static int judge(const struct bench *bench)
{
    /* What does not depend on the number of VMs makes small clouds look dear: so no more than
     * linear is what is asked for. */
    const double growth = bench->resident_kib[2] / bench->resident_kib[1] * sizes[1] / sizes[2];
    const bool linear = growth <= GROWTH_GOAL;
    const bool idle = bench->idle_ms <= IDLE_GOAL_MS;
    printf("bytes a VM more: %.0f from 1,000 to 10,000, %.0f from 10,000 to 100,000\n",
           bytes_a_vm(bench, 0, 1), bytes_a_vm(bench, 1, 2));
    printf("growth from 10,000 to 100,000 over linear growth: %.2f (at most %.2f) %s\n", growth,
           GROWTH_GOAL, linear ? "PASS" : "FAIL");
    printf("CPU time of an idle minute at 100,000 VMs: %.1f ms (at most %.0f) %s\n", bench->idle_ms,
           IDLE_GOAL_MS, idle ? "PASS" : "FAIL");
    return linear && idle ? EXIT_SUCCESS : EXIT_FAILURE;
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
        fprintf(stderr, "bench_oneibd_scale: %s\n", err.text);
        return EXIT_FAILURE;
    }
    const int status = run(&bench, &err);
    bench_listener_close(bench.listener);
    bench_observer_close(&bench.observer);
    lab_close(bench.lab);
    if (status < 0)
        fprintf(stderr, "bench_oneibd_scale: %s\n", err.text);
    return status < 0 ? EXIT_FAILURE : judge(&bench);
}
