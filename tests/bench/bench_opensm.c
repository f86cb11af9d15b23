// SPDX-License-Identifier: Apache-2.0
/* opensm alone, against which the daemon is measured. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "bench_tools.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct change {
    struct lab *lab;
    struct bench_observer *observer;
    oneib_guid guid;
    oneib_pkey key;
};

static int time_change(const struct change *change, const char *data, size_t length, bool present,
                       double *ms, struct oneib_error *err)
{
    const char *path = lab_partitions(change->lab);
    const pid_t pid = lab_opensm_pid(change->lab, LAB_SM.name);
    if (!path || oneib_file_replace(path, data, length, 0644, NULL, NULL, err) < 0)
        return -1;
    bench_await_rest(change->lab, BENCH_QUIET_MS);
    const double start = oneib_now_ms();
    kill(pid, SIGHUP);
    if (bench_observer_await(change->observer, change->guid, change->key, present, ms, err) < 0)
        return -1;
    *ms -= start;
    return 0;
}

int bench_opensm_round(struct lab *lab, struct bench_observer *observer, size_t host,
                       oneib_pkey key, double ms[2], struct oneib_error *err)
{
    const struct change change = {
        .lab = lab, .observer = observer, .guid = lab_host_port_guid(lab, host), .key = key};
    const char *path = lab_partitions(lab);
    oneib_autofree char *before = NULL;
    size_t length;
    if (!path || oneib_file_read(path, (size_t)1 << 24, &before, &length, err) < 0)
        return -1;
    const char *end = strrchr(before, ';');
    if (!end)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "no partition in the file");
    oneib_autofree char *after = oneib_asprintf("%.*s,\n  0x%016" PRIx64 "=full%s",
                                                (int)(end - before), before, change.guid, end);
    const size_t size = strlen(after);
    if (time_change(&change, after, size, true, &ms[0], err) < 0)
        return -1;
    return time_change(&change, before, length, false, &ms[1], err);
}
