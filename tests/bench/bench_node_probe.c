// SPDX-License-Identifier: Apache-2.0
/*
 * What the probe costs on a host with two adapters of 63 VFs: CPU time, its own and what oneib-node
 * needs to answer it (goal: 10 ms), and how its system calls grow with the number of VFs: counted
 * by strace, with 7, 31 and 63 VFs on each. Twice the VFs must not cost more than twice the calls
 * that VFs cost.
 */
#include "../unit/hca/tree.h"
#include "bench_process.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 20
#define GOAL_MS 10.0

/* Of the probe alone. */
static unsigned count_calls(void)
{
    char *log = tree_path("/calls");
    char line[512];
    unsigned calls = 0;
    bench_run((const char *const[]){"/usr/bin/strace", "-o", log, ONEIB_PROBE_PROGRAM, NULL},
              "/dev/null");
    FILE *file = fopen(log, "r");
    while (file && fgets(line, sizeof line, file))
        calls++;
    if (file)
        fclose(file);
    unlink(log);
    free(log);
    return calls;
}

int main(void)
{
    static const unsigned vfs[] = {7, 31, 63};
    unsigned calls[3];
    struct bench_cost costs[ROUNDS];
    tree_open();
    for (size_t i = 0; i < 3; i++) {
        bench_node_make(vfs[i], 1);
        calls[i] = count_calls();
        printf("2 adapters of %u VFs: %u system calls\n", vfs[i], calls[i]);
        if (i < 2)
            bench_node_stop();
    }
    const double first = (double)(calls[1] - calls[0]) / (vfs[1] - vfs[0]);
    const double second = (double)(calls[2] - calls[1]) / (vfs[2] - vfs[1]);
    const bool linear = second <= first * 1.05;
    printf("calls for each further VF on both: %.1f from 7 to 31, %.1f from 31 to 63: %s\n", first,
           second, linear ? "PASS" : "FAIL");

    const double before = bench_node_cpu_ms();
    for (size_t i = 0; i < ROUNDS; i++)
        costs[i] = bench_run((const char *const[]){ONEIB_PROBE_PROGRAM, NULL}, "/dev/null");
    const double service = (bench_node_cpu_ms() - before) / ROUNDS;
    const double probe = bench_median_cost(costs, ROUNDS).cpu_ms, cost = probe + service;
    bench_node_stop();
    printf("CPU time with 2 adapters of 63 VFs: the probe %.1f ms, oneib-node %.1f ms: %.1f ms, "
           "goal %.0f ms: %s\n",
           probe, service, cost, GOAL_MS, cost < GOAL_MS ? "PASS" : "FAIL");
    return tree_close(linear && cost < GOAL_MS ? EXIT_SUCCESS : EXIT_FAILURE);
}
