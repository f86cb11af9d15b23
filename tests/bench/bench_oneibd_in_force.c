// SPDX-License-Identifier: Apache-2.0
/*
 * From the event to the P_Keys in force on the ports, against what opensm alone takes from SIGHUP
 * to the changed table; arguments: numbers of nodes. One observer for both sides: this program asks
 * the port for its table, at the same poll schedule. 25 additions and 25 removals a side, in
 * alternating blocks, from rest.
 *
 * opensm alone: oneibd is stopped, the file was replaced before; the time begins just before the
 * signal. oneibd: the VM was made before, in PENDING; the time begins when the message that it is
 * in PROLOG (or gone) arrives at this program's own subscription.
 */
#include "base/clock.h"
#include "base/number.h"
#include "bench_tools.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 5
#define ROUNDS 5 /* of a block, each with an addition and a removal */
#define SAMPLES ((size_t)2 * BLOCKS * ROUNDS)
#define GOAL 1.25
#define KEY 257
#define SYNC_TIMEOUT_MS 120000
#define PLAYED 480 /* played-hosts/main.c: to a host that is silent nothing is added */

struct bench {
    struct lab *lab;
    struct bench_observer observer;
    struct bench_listener *listener;
    uint32_t network;
    double opensm[SAMPLES], oneibd[SAMPLES];
    size_t samples;          /* of each side, in blocks that are complete */
    double sum_ms, measured; /* oneibd's own figure */
};

static size_t host_of(const struct bench *bench, size_t sample)
{
    const size_t hosts = lab_host_count(bench->lab);
    return 1 + 2 * (sample / 2 * 37 % ((hosts < PLAYED ? hosts : PLAYED) / 2));
}

/* ---- oneibd ---------------------------------------------------------------------------------- */

/* Until the port changed, counted from the VM's message. */
static int time_change(struct bench *bench, uint32_t vm, unsigned message, size_t sample,
                       struct oneib_error *err)
{
    const oneib_guid guid = lab_host_port_guid(bench->lab, host_of(bench, sample));
    double arrived, changed;
    if (bench_observer_await(&bench->observer, guid, KEY, sample % 2 == 0, &changed, err) < 0 ||
        bench_listener_await(bench->listener, vm, message, &arrived, err) < 0)
        return -1;
    bench->oneibd[sample] = changed - arrived;
    return 0;
}

/* Deployment makes two messages: LCM_INIT, which makes no member, then PROLOG. */
static int add(struct bench *bench, uint32_t vm, size_t sample, struct oneib_error *err)
{
    const uint32_t host = (uint32_t)host_of(bench, sample);
    bench_await_rest(bench->lab, BENCH_QUIET_MS);
    bench_listener_forget(bench->listener);
    if (lab_vm_deploy(bench->lab, vm, host, err) < 0 || time_change(bench, vm, 2, sample, err) < 0)
        return -1;
    return lab_vm_running(bench->lab, vm, err);
}

static int take_out(struct bench *bench, uint32_t vm, size_t sample, struct oneib_error *err)
{
    bench_await_rest(bench->lab, BENCH_QUIET_MS);
    bench_listener_forget(bench->listener);
    if (lab_vm_delete(bench->lab, vm, err) < 0)
        return -1;
    return time_change(bench, vm, 1, sample, err);
}

static int oneibd_round(struct bench *bench, size_t sample, struct oneib_error *err)
{
    uint32_t vm;
    if (lab_vm_create(bench->lab, "vm", &bench->network, 1, &vm, err) < 0 ||
        add(bench, vm, sample, err) < 0)
        return -1;
    return take_out(bench, vm, sample + 1, err);
}

static int note_own_figure(struct bench *bench, struct oneib_error *err)
{
    const char *address = lab_metrics_address(bench->lab);
    double sum, count;
    if (lab_metric(address, "oneib_event_to_in_force_seconds_sum", &sum, err) < 0 ||
        lab_metric(address, "oneib_event_to_in_force_seconds_count", &count, err) < 0)
        return -1;
    bench->sum_ms += sum * 1000;
    bench->measured += count;
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int block_of_opensm(struct bench *bench, struct oneib_error *err)
{
    for (size_t i = 0; i < ROUNDS; i++)
        if (bench_opensm_round(bench->lab, &bench->observer, host_of(bench, bench->samples + 2 * i),
                               KEY, &bench->opensm[bench->samples + 2 * i], err) < 0)
            return -1;
    return 0;
}

static int block_of_oneibd(struct bench *bench, struct oneib_error *err)
{
    if (lab_oneibd_start(bench->lab, &LAB_DAEMON, err) < 0)
        return -1;
    for (size_t i = 0; i < ROUNDS; i++)
        if (oneibd_round(bench, bench->samples + 2 * i, err) < 0)
            return -1;
    bench_await_rest(bench->lab, BENCH_QUIET_MS);
    if (note_own_figure(bench, err) < 0)
        return -1;
    return lab_oneibd_stop(bench->lab, LAB_DAEMON.name, SIGTERM, err);
}

/* A cluster over every second host: the change that is timed is one among many members. */
static int populate(struct bench *bench, struct oneib_error *err)
{
    for (uint32_t host = 0; host < lab_host_count(bench->lab); host += 2) {
        uint32_t vm;
        if (lab_vm_start(bench->lab, "vm", &bench->network, 1, host, &vm, err) < 0)
            return -1;
    }
    struct lab_output output = {0};
    int status = lab_oneib(bench->lab, (const char *[]){"sync", "--force", NULL}, SYNC_TIMEOUT_MS,
                           &output, err);
    if (status == 0 && output.status != 0)
        status = oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the first sync ended with %d: %s%s",
                            output.status, output.out, output.error);
    lab_output_clear(&output);
    return status;
}

static int set_up(struct bench *bench, unsigned nodes, struct oneib_error *err)
{
    const struct lab_options options = bench_fabric(nodes);
    bench->lab = lab_open(&options, err);
    if (!bench->lab || lab_fabric_start(bench->lab, err) < 0 ||
        lab_opensm_start(bench->lab, &LAB_SM, err) < 0 ||
        lab_standin_start(bench->lab, NULL, err) < 0 || lab_add_hosts(bench->lab, 7, err) < 0 ||
        lab_network_create(bench->lab, "bench", "257", NULL, &bench->network, err) < 0 ||
        lab_config_write(bench->lab, NULL, err) < 0 || populate(bench, err) < 0 ||
        bench_observer_open(&bench->observer, err) < 0)
        return -1;
    bench->listener = bench_listener_open(lab_events_endpoint(bench->lab), err);
    return bench->listener ? 0 : -1;
}

static int run(struct bench *bench, unsigned nodes, struct oneib_error *err)
{
    if (set_up(bench, nodes, err) < 0)
        return -1;
    for (size_t block = 0; block < BLOCKS; block++) {
        if (block_of_opensm(bench, err) < 0 || block_of_oneibd(bench, err) < 0)
            return -1;
        bench->samples += (size_t)2 * ROUNDS;
    }
    return 0;
}

/* Of additions (first 0) or removals (first 1). */
static double median_of(const double samples[SAMPLES], size_t first)
{
    double half[SAMPLES / 2];
    for (size_t i = 0; i < SAMPLES / 2; i++)
        half[i] = samples[2 * i + first];
    return bench_median(half, SAMPLES / 2);
}

static void print_side(const char *what, const double samples[SAMPLES], double median)
{
    printf("  %s median %7.2f ms (additions %.2f, removals %.2f)\n", what, median,
           median_of(samples, 0), median_of(samples, 1));
}

static double median_of_all(const double samples[SAMPLES])
{
    double all[SAMPLES];
    memcpy(all, samples, sizeof all);
    return bench_median(all, SAMPLES);
}

static int judge(const struct bench *bench, unsigned nodes)
{
    const double alone = median_of_all(bench->opensm);
    const double ours = median_of_all(bench->oneibd);
    const bool passed = ours <= GOAL * alone;
    printf("%u nodes on ibsim, %zu changes of one port each; asking a port takes %.2f ms\n", nodes,
           SAMPLES, bench->observer.cost_ms);
    print_side("opensm alone, SIGHUP to changed table:", bench->opensm, alone);
    print_side("oneibd, event to changed table:       ", bench->oneibd, ours);
    printf("  by its own account:                    mean   %7.2f ms of %.0f\n",
           bench->sum_ms / bench->measured, bench->measured);
    printf("  ratio %.2f, goal %.2f: %s\n", ours / alone, GOAL, passed ? "PASS" : "FAIL");
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_one(unsigned nodes)
{
    struct oneib_error err = {0};
    struct bench bench = {0};
    const int status = run(&bench, nodes, &err);
    const int result = status == 0 ? judge(&bench, nodes) : EXIT_FAILURE;
    if (status < 0)
        fprintf(stderr, "bench_oneibd_in_force: %s\n", err.text);
    bench_listener_close(bench.listener);
    bench_observer_close(&bench.observer);
    lab_close(bench.lab);
    return result;
}

/* A process enters one fabric only. */
static int run_each(char **sizes)
{
    int result = EXIT_SUCCESS;
    for (; *sizes; sizes++) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", "bench_oneibd_in_force", *sizes, (char *)NULL);
            _exit(127);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
            result = EXIT_FAILURE;
    }
    return result;
}

int main(int argc, char **argv)
{
    static char small[] = "16", medium[] = "128", large[] = "1024";
    char *all[] = {small, medium, large, NULL};
    struct oneib_error err = {0};
    uint64_t nodes;
    if (lab_missing()) {
        printf("SKIP: %s is not installed\n", lab_missing());
        return EXIT_SUCCESS;
    }
    if (argc != 2)
        return run_each(argc == 1 ? all : argv + 1);
    if (!oneib_parse_decimal(argv[1], 4096, &nodes) || nodes < 4) {
        fprintf(stderr, "usage: bench_oneibd_in_force [NODES...]\n");
        return EXIT_FAILURE;
    }
    if (lab_enter_fabric(argv, &err) < 0) {
        fprintf(stderr, "bench_oneibd_in_force: %s\n", err.text);
        return EXIT_FAILURE;
    }
    return run_one((unsigned)nodes);
}
