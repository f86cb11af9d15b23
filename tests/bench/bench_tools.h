// SPDX-License-Identifier: Apache-2.0
/* What the benches of the daemon share: statistics, other processes, and an observer of the fabric
 * that is none of the parties. */
#ifndef ONEIB_BENCH_TOOLS_H
#define ONEIB_BENCH_TOOLS_H

#include "../simulation/lab.h"
#include "base/error.h"
#include "fabric/fabric.h"
#include "partitions/subnet.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Sorts the values. */
double bench_median(double *values, size_t count);

/* CPU time of a process and all its threads, in milliseconds, to the nanosecond; 0: it is gone. */
double bench_cpu_ms(pid_t pid);
/* Of its private memory, what is resident, in KiB. */
size_t bench_resident_kib(pid_t pid);
/* Until opensm, and the daemon if it runs, have used next to no CPU for `quiet_ms`. */
void bench_await_rest(struct lab *lab, unsigned quiet_ms);

/* A fabric of that many hosts, up to 16 on a leaf. */
struct lab_options bench_fabric(unsigned nodes);

/* Reads P_Key tables by SMP itself; the program must have entered the fabric. */
struct bench_observer {
    struct oneib_fabric *fabric;
    struct oneib_subnet subnet;
    double cost_ms; /* of asking one port for its table, measured when it was opened */
};
int bench_observer_open(struct bench_observer *observer, struct oneib_error *err);
void bench_observer_close(struct bench_observer *observer);
/* Asks the port every half millisecond until it holds the key, or does not any more. *at_ms:
 * oneib_now_ms() then. */
int bench_observer_await(struct bench_observer *observer, oneib_guid port, oneib_pkey key,
                         bool present, double *at_ms, struct oneib_error *err);
/* Reads all tables of the subnet again. */
int bench_observer_read_all(struct bench_observer *observer, struct oneib_error *err);
bool bench_observer_holds(const struct bench_observer *observer, oneib_guid port, oneib_pkey key);

#define BENCH_QUIET_MS 300 /* before anything is timed */

/* opensm alone, while no daemon runs: adds a host's port to the file's last partition, whose key
 * that is, and takes it out again; each time from just before SIGHUP to the changed table. */
int bench_opensm_round(struct lab *lab, struct bench_observer *observer, size_t host,
                       oneib_pkey key, double ms[2], struct oneib_error *err);

/* A subscription of the bench's own, in a thread: when which VM's messages arrived. */
struct bench_listener;
struct bench_listener *bench_listener_open(const char *endpoint, struct oneib_error *err);
void bench_listener_close(struct bench_listener *listener);
/* When the `count`th message about this VM came, counted from the last call of
 * bench_listener_forget(); waits for it. */
int bench_listener_await(struct bench_listener *listener, uint32_t vm, unsigned count,
                         double *at_ms, struct oneib_error *err);
void bench_listener_forget(struct bench_listener *listener);

#endif
