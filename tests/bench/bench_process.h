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

#endif
