// SPDX-License-Identifier: Apache-2.0
/*
 * What oneib-node costs while nothing happens, with its supervisors, oneib-domains and
 * oneib-grants, which is connected to an oneibd: on a host with two adapters of 63 VFs, 63 of which
 * VMs have, at the default node.watch. Goals: one wake-up a second, 1 s of CPU an hour. Memory is
 * told. libvirt is its test driver, in one process with oneib-domains: what a question to libvirtd
 * costs there is not in it.
 */
#include "../unit/hca/tree.h"
#include "bench_process.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* With the rest before it less than the two minutes after which a VF that no domain names is
 * released: libvirt's test driver has no domain here. */
#define SECONDS 100
#define GIVEN 63
#define GOAL_WAKE_UPS 1.0
#define GOAL_CPU_S 1.0

static void rest(unsigned seconds)
{
    nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
}

int main(void)
{
    tree_open();
    bench_node_make(GIVEN, GIVEN);
    rest(10);
    const double cpu_before = bench_node_cpu_ms();
    const struct bench_rest before = bench_node_rest();
    rest(SECONDS);
    const double cpu = (bench_node_cpu_ms() - cpu_before) / 1000 * 3600 / SECONDS;
    const struct bench_rest after = bench_node_rest();
    const double wake_ups = (double)(after.sleeps - before.sleeps) / SECONDS;
    bench_node_stop();
    const bool calm = wake_ups <= GOAL_WAKE_UPS, cheap = cpu <= GOAL_CPU_S;
    printf("%d of 126 VFs given, %d s: %.2f wake-ups a second, goal %.0f: %s\n", GIVEN, SECONDS,
           wake_ups, GOAL_WAKE_UPS, calm ? "PASS" : "FAIL");
    printf("CPU time of an hour: %.2f s, goal %.0f s: %s\n", cpu, GOAL_CPU_S,
           cheap ? "PASS" : "FAIL");
    printf("memory: %.1f MiB of their own, %.1f MiB with what they share\n",
           (double)after.own_kib / 1024, (double)after.used_kib / 1024);
    return tree_close(calm && cheap ? EXIT_SUCCESS : EXIT_FAILURE);
}
