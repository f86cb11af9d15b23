// SPDX-License-Identifier: Apache-2.0
/*
 * From oned's event that a VM is on its way to a host to the answer of `pre` there, which is called
 * at once, against what opensm alone takes from SIGHUP to the changed table; argument: the number
 * of nodes, 128 if not said. Every node has a real oneib-node, and oneibd grants it the NIC; until
 * then `pre` waits.
 *
 * What the simulated adapter takes to see what its port holds, which a real one does not, is
 * measured as well and taken off: the stand-in reads one port after the other.
 */
#include "../simulation/lab_node.h"
#include "base/clock.h"
#include "base/number.h"
#include "bench_tools.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 15
#define GOAL 1.3
#define KEY 257
#define LCM_BOOT 2
#define SYNC_TIMEOUT_MS 120000

struct bench {
    struct lab *lab;
    struct bench_observer observer;
    struct bench_listener *listener;
    uint32_t network;
    double opensm[2 * ROUNDS], pre[ROUNDS], seen[ROUNDS];
};

/* No two in a row on one leaf; host 0 has what the cluster consists of. */
static size_t host_of(const struct bench *bench, size_t round)
{
    return 1 + round * 37 % (lab_host_count(bench->lab) - 1);
}

/* ---- when the simulated adapter shows the key ------------------------------------------------ */

/* Whoever looks asks the port and the adapter's file in turn, while `pre` runs. */
struct look {
    struct bench *bench;
    size_t host;
    double port_ms, adapter_ms; /* 0: not yet */
    struct oneib_error err;
};

static bool adapter_shows(const struct look *look)
{
    char path[512], text[16] = "";
    for (unsigned entry = 0; entry < 8; entry++) {
        snprintf(path, sizeof path, "%s/sys/class/infiniband/mlx4_0/ports/1/pkeys/%u",
                 lab_node_root(look->bench->lab, look->host), entry);
        FILE *file = fopen(path, "re");
        if (!file)
            return false;
        const bool read = fgets(text, sizeof text, file) != NULL;
        fclose(file);
        if (read && strtoul(text, NULL, 16) == (0x8000 | KEY))
            return true;
    }
    return false;
}

static void *look_on(void *context)
{
    struct look *look = context;
    struct bench *bench = look->bench;
    if (bench_observer_await(&bench->observer, lab_host_port_guid(bench->lab, look->host), KEY,
                             true, &look->port_ms, &look->err) < 0)
        return NULL;
    while (!adapter_shows(look))
        lab_sleep_ms(1);
    look->adapter_ms = oneib_now_ms();
    return NULL;
}

/* ---- one start ------------------------------------------------------------------------------- */

static int end(struct bench *bench, uint32_t vm, size_t host, struct oneib_error *err)
{
    return lab_node_domain(bench->lab, host, vm, false, err) < 0 ||
                   lab_node_driver(bench->lab, host, "clean", vm, err) < 0
               ? -1
               : lab_vm_delete(bench->lab, vm, err);
}

static int start(struct bench *bench, size_t round, struct oneib_error *err)
{
    uint32_t vm;
    double told;
    pthread_t thread;
    struct look look = {.bench = bench, .host = host_of(bench, round)};
    if (lab_vm_create(bench->lab, "vm", &bench->network, 1, &vm, err) < 0)
        return -1;
    bench_await_rest(bench->lab, BENCH_QUIET_MS);
    bench_listener_forget(bench->listener);
    if (pthread_create(&thread, NULL, look_on, &look) != 0)
        return oneib_fail(err, ONEIB_ERROR_SYSTEM, "no thread can be made");
    int status = lab_vm_deploy(bench->lab, vm, (uint32_t)look.host, err);
    if (status == 0)
        status = lab_node_driver(bench->lab, look.host, "pre", vm, err);
    const double answered = oneib_now_ms();
    pthread_join(thread, NULL);
    if (status < 0 || bench_listener_await(bench->listener, vm, 2, &told, err) < 0)
        return -1;
    if (look.adapter_ms <= 0) {
        *err = look.err;
        return -1;
    }
    bench->pre[round] = answered - told;
    bench->seen[round] = look.adapter_ms - look.port_ms;
    return end(bench, vm, look.host, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int sync_first(struct bench *bench, struct oneib_error *err)
{
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
    uint32_t vm;
    const struct lab_options fabric = bench_fabric(nodes);
    const struct lab_node_options options = LAB_NODES_DEFAULTS;
    bench->lab = lab_open(&fabric, err);
    if (!bench->lab || lab_fabric_start(bench->lab, err) < 0 ||
        lab_opensm_start(bench->lab, &LAB_SM, err) < 0 ||
        lab_standin_start(bench->lab, NULL, err) < 0 ||
        lab_config_write(bench->lab, NULL, err) < 0 ||
        lab_nodes_start(bench->lab, &options, err) < 0 || lab_add_nodes(bench->lab, err) < 0 ||
        lab_network_create(bench->lab, "bench", "257", NULL, &bench->network, err) < 0 ||
        lab_vm_start(bench->lab, "vm", &bench->network, 1, 0, &vm, err) < 0 ||
        sync_first(bench, err) < 0 || bench_observer_open(&bench->observer, err) < 0)
        return -1;
    bench->listener = bench_listener_open(lab_events_endpoint(bench->lab), err);
    return bench->listener ? 0 : -1;
}

static int run(struct bench *bench, unsigned nodes, struct oneib_error *err)
{
    if (set_up(bench, nodes, err) < 0 || lab_oneibd_start(bench->lab, &LAB_DAEMON, err) < 0 ||
        lab_nodes_await_grants(bench->lab, err) < 0)
        return -1;
    for (size_t round = 0; round < ROUNDS; round++)
        if (start(bench, round, err) < 0)
            return -1;
    bench_await_rest(bench->lab, BENCH_QUIET_MS);
    if (lab_oneibd_stop(bench->lab, LAB_DAEMON.name, SIGTERM, err) < 0)
        return -1;
    for (size_t round = 0; round < ROUNDS; round++)
        if (bench_opensm_round(bench->lab, &bench->observer, host_of(bench, round), KEY,
                               &bench->opensm[2 * round], err) < 0)
            return -1;
    return 0;
}

static int judge(struct bench *bench, unsigned nodes)
{
    const double alone = bench_median(bench->opensm, (size_t)2 * ROUNDS);
    const double pre = bench_median(bench->pre, ROUNDS);
    const double seen = bench_median(bench->seen, ROUNDS);
    const double ratio = (pre - seen) / alone;
    printf("%u nodes on ibsim, medians of %d starts\n", nodes, ROUNDS);
    printf("  opensm alone, SIGHUP to changed table:      %7.2f ms\n", alone);
    printf("  event to pre's answer:                      %7.2f ms\n", pre);
    printf("  of which the stand-in's adapter is behind:  %7.2f ms, taken off\n", seen);
    printf("  ratio %.2f, goal %.2f: %s\n", ratio, GOAL, ratio <= GOAL ? "PASS" : "FAIL");
    return ratio <= GOAL ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct oneib_error err = {0};
    struct bench bench = {0};
    uint64_t nodes = 128;
    if (lab_missing()) {
        printf("SKIP: %s is not installed\n", lab_missing());
        return EXIT_SUCCESS;
    }
    if (argc > 2 || (argc == 2 && (!oneib_parse_decimal(argv[1], 512, &nodes) || nodes < 4))) {
        fprintf(stderr, "usage: bench_oneibd_pre [NODES]\n");
        return EXIT_FAILURE;
    }
    if (lab_enter_fabric(argv, &err) < 0 || run(&bench, (unsigned)nodes, &err) < 0) {
        fprintf(stderr, "bench_oneibd_pre: %s\n", err.text);
        bench_listener_close(bench.listener);
        bench_observer_close(&bench.observer);
        lab_close(bench.lab);
        return EXIT_FAILURE;
    }
    const int result = judge(&bench, (unsigned)nodes);
    bench_listener_close(bench.listener);
    bench_observer_close(&bench.observer);
    lab_close(bench.lab);
    return result;
}
