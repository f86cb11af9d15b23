// SPDX-License-Identifier: Apache-2.0
/* What a program costs, for benches on a simulated node (unit/hca/tree.h). */
#ifndef ONEIB_BENCH_PROCESS_H
#define ONEIB_BENCH_PROCESS_H

#include <stddef.h>

struct bench_cost {
    double cpu_ms; /* all that it waited for included */
    double wall_ms;
};

/* Ends the bench, and removes the simulated node. */
_Noreturn void bench_give_up(const char *what);

/* Runs it; it must succeed. posix_spawn() leaves out what a copy of this process would cost. */
struct bench_cost bench_run(const char *const *argv, const char *input_file);
/* Of each of the two. */
struct bench_cost bench_median_cost(const struct bench_cost *costs, size_t count);

/*
 * Stands in for oneibd (../grants-standin.c), for the node's service to find when it starts: it
 * grants whatever is wanted in network 1, with P_Key 5 at mlx4_0 port 1. Ends with the bench.
 */
void bench_oneibd_start(void);
/*
 * A simulated node with two mlx4 adapters of `vfs` VFs each, of which the first `given` are VMs':
 * closed, with deferred GUIDs, and not stale. Then bench_oneibd_start() and bench_node_start().
 */
void bench_node_make(unsigned vfs, unsigned given);
/* oneib-node of the simulated node, with what it starts: until it knows libvirt's domains; ends
 * with the bench. */
void bench_node_start(void);
void bench_node_stop(void);
/* Milliseconds of CPU that all of them have had so far. */
double bench_node_cpu_ms(void);
/* How often all of them together have gone to sleep so far; memory that is theirs alone, and that
 * they use, KiB. */
struct bench_rest {
    unsigned long long sleeps, own_kib, used_kib;
};
struct bench_rest bench_node_rest(void);

#endif
