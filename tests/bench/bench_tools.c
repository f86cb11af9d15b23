// SPDX-License-Identifier: Apache-2.0
#include "bench_tools.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "opennebula/events.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS 120000.0
#define PAUSE_NS 500000
#define HOSTS_PER_LEAF 16
#define SLICE_MS 50
/* What a process may use of a slice and still count as resting. */
#define RESTING_MS 1.0
#define COST_SAMPLES 200

/* ---- statistics and processes ---------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double bench_cpu_ms(pid_t pid)
{
    clockid_t clock;
    struct timespec time;
    if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) < 0)
        return 0;
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

size_t bench_resident_kib(pid_t pid)
{
    char path[64], line[256];
    unsigned long value = 0;
    size_t total = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_Clean: %lu", &value) == 1 ||
            sscanf(line, "Private_Dirty: %lu", &value) == 1)
            total += value;
    if (file)
        fclose(file);
    return total;
}

static double cpu_of_both(struct lab *lab)
{
    return bench_cpu_ms(lab_opensm_pid(lab, LAB_SM.name)) +
           bench_cpu_ms(lab_oneibd_pid(lab, LAB_DAEMON.name));
}

void bench_await_rest(struct lab *lab, unsigned quiet_ms)
{
    unsigned quiet = 0;
    while (quiet < quiet_ms) {
        const double before = cpu_of_both(lab);
        lab_sleep_ms(SLICE_MS);
        quiet = cpu_of_both(lab) - before < RESTING_MS ? quiet + SLICE_MS : 0;
    }
}

struct lab_options bench_fabric(unsigned nodes)
{
    const unsigned leaves = nodes < 2 * HOSTS_PER_LEAF ? 2 : nodes / HOSTS_PER_LEAF;
    return (struct lab_options){.leaves = leaves,
                                .hosts_per_leaf = (nodes + leaves - 1) / leaves,
                                .spines = leaves > 8 ? 4 : 2};
}

/* ---- the observer ---------------------------------------------------------------------------- */

static int ask(struct bench_observer *observer, const struct oneib_subnet_port *port,
               struct oneib_error *err)
{
    const size_t index = (size_t)(port - observer->subnet.ports);
    return oneib_fabric_read_tables(observer->fabric, &observer->subnet, &index, 1, err);
}

static int measure_cost(struct bench_observer *observer, struct oneib_error *err)
{
    const double start = oneib_now_ms();
    for (size_t i = 0; i < COST_SAMPLES; i++)
        if (ask(observer, &observer->subnet.ports[0], err) < 0)
            return -1;
    observer->cost_ms = (oneib_now_ms() - start) / COST_SAMPLES;
    return 0;
}

int bench_observer_open(struct bench_observer *observer, struct oneib_error *err)
{
    const struct oneib_fabric_options options = {.window = 16, .timeout_ms = 500, .retries = 3};
    *observer = (struct bench_observer){.fabric = oneib_fabric_open(&options, err)};
    if (!observer->fabric)
        return -1;
    if (bench_observer_read_all(observer, err) == 0 && measure_cost(observer, err) == 0)
        return 0;
    bench_observer_close(observer);
    return -1;
}

void bench_observer_close(struct bench_observer *observer)
{
    oneib_subnet_clear(&observer->subnet);
    oneib_fabric_close(observer->fabric);
    *observer = (struct bench_observer){0};
}

int bench_observer_read_all(struct bench_observer *observer, struct oneib_error *err)
{
    oneib_subnet_clear(&observer->subnet);
    return oneib_fabric_read(observer->fabric, &observer->subnet, err);
}

static bool holds(const struct oneib_subnet_port *port, oneib_pkey key)
{
    for (uint16_t i = 0; port->answered && i < port->partition_cap; i++)
        if (oneib_pkey_base(port->pkeys[i]) == key)
            return true;
    return false;
}

bool bench_observer_holds(const struct bench_observer *observer, oneib_guid port, oneib_pkey key)
{
    const struct oneib_subnet_port *found = oneib_subnet_find(&observer->subnet, port);
    return found && holds(found, key);
}

int bench_observer_await(struct bench_observer *observer, oneib_guid guid, oneib_pkey key,
                         bool present, double *at_ms, struct oneib_error *err)
{
    const struct oneib_subnet_port *port = oneib_subnet_find(&observer->subnet, guid);
    const double end = oneib_now_ms() + TIMEOUT_MS;
    if (!port)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "the port is not on the fabric");
    do {
        if (oneib_now_ms() > end)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "the port's table did not change");
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        if (ask(observer, port, err) < 0)
            return -1;
        *at_ms = oneib_now_ms();
    } while (!port->answered || holds(port, key) != present);
    return 0;
}

/* ---- the listener ---------------------------------------------------------------------------- */

struct message {
    uint32_t vm;
    double at_ms;
};

struct bench_listener {
    struct oneib_events *events;
    pthread_t thread;
    int stop[2];
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t came;
    bool connected;
    struct message *messages;
    size_t count, capacity;
};

static void note(struct bench_listener *listener, const struct oneib_event *event)
{
    pthread_mutex_lock(&listener->lock);
    listener->connected = oneib_events_stream(listener->events)->connected;
    if (event->kind == ONEIB_EVENT_VM) {
        ONEIB_APPEND(listener->messages, listener->count, listener->capacity,
                     (struct message){event->id, oneib_now_ms()});
    }
    pthread_cond_broadcast(&listener->came);
    pthread_mutex_unlock(&listener->lock);
}

static void *listen(void *context)
{
    struct bench_listener *listener = context;
    struct oneib_event event;
    struct oneib_error ignored;
    struct pollfd watched[3] = {[2] = {.fd = listener->stop[0], .events = POLLIN}};
    while (!watched[2].revents) {
        while (oneib_events_next(listener->events, &event, &ignored) > 0)
            note(listener, &event);
        int descriptors[2];
        oneib_events_descriptors(listener->events, descriptors);
        for (size_t i = 0; i < 2; i++)
            watched[i] = (struct pollfd){.fd = descriptors[i], .events = POLLIN};
        poll(watched, 3, 1000);
    }
    return NULL;
}

/* With the lock held; false when nothing came in time. */
static bool wait_for_message(struct bench_listener *listener)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    return pthread_cond_timedwait(&listener->came, &listener->lock, &end) == 0;
}

struct bench_listener *bench_listener_open(const char *endpoint, struct oneib_error *err)
{
    struct bench_listener *listener = oneib_alloc(1, sizeof *listener);
    /* A program that is started meanwhile must not keep it open: it would stop nobody. */
    if (pipe2(listener->stop, O_CLOEXEC) < 0) {
        oneib_fail_errno(err, errno, "making a pipe");
        free(listener);
        return NULL;
    }
    pthread_mutex_init(&listener->lock, NULL);
    pthread_cond_init(&listener->came, NULL);
    listener->events = oneib_events_open(endpoint, err);
    if (!listener->events || pthread_create(&listener->thread, NULL, listen, listener) != 0) {
        oneib_events_close(listener->events);
        free(listener);
        return NULL;
    }
    pthread_mutex_lock(&listener->lock);
    while (!listener->connected && wait_for_message(listener))
        ;
    pthread_mutex_unlock(&listener->lock);
    /* Subscriptions reach the publisher unseen, a moment after the connection. */
    lab_sleep_ms(200);
    return listener;
}

void bench_listener_close(struct bench_listener *listener)
{
    if (!listener)
        return;
    close(listener->stop[1]);
    pthread_join(listener->thread, NULL);
    close(listener->stop[0]);
    oneib_events_close(listener->events);
    pthread_mutex_destroy(&listener->lock);
    pthread_cond_destroy(&listener->came);
    free(listener->messages);
    free(listener);
}

/* With the lock held. */
static bool find_message(const struct bench_listener *listener, uint32_t vm, unsigned count,
                         double *at_ms)
{
    for (size_t i = 0; i < listener->count; i++) {
        if (listener->messages[i].vm == vm && --count == 0) {
            *at_ms = listener->messages[i].at_ms;
            return true;
        }
    }
    return false;
}

int bench_listener_await(struct bench_listener *listener, uint32_t vm, unsigned count,
                         double *at_ms, struct oneib_error *err)
{
    bool found, waiting = true;
    pthread_mutex_lock(&listener->lock);
    while (!(found = find_message(listener, vm, count, at_ms)) && waiting)
        waiting = wait_for_message(listener);
    pthread_mutex_unlock(&listener->lock);
    return found ? 0 : oneib_fail(err, ONEIB_ERROR_TIMEOUT, "no message about VM %u came", vm);
}

void bench_listener_forget(struct bench_listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    listener->count = 0;
    pthread_mutex_unlock(&listener->lock);
}
