// SPDX-License-Identifier: Apache-2.0
/*
 * From writing the file to P_Keys verified on the ports, on 1,024 simulated hosts, against what
 * opensm alone takes from SIGHUP to the changed table, both in this run, alternating, median of 20.
 *
 * opensm alone: this program adds one port to a partition in the file, signals opensm and asks that
 * port for its table, over and over, until the key is there; then the same for the removal. oneib:
 * a VM is deployed (then ended) in the stand-in for oned, and `oneib sync` says how long it took
 * from before the file was written until the ports that changed were right.
 *
 * A second mode of the same program runs on the simulated SM's host: `--wait GUID KEY PRESENT PID`.
 */
#include "../simulation/lab.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "fabric/fabric.h"
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAVES 64
#define HOSTS_PER_LEAF 16
#define ROUNDS 10 /* each with an addition and a removal */
#define GOAL 1.25
#define TIMEOUT_MS 120000
/* Before each sample: opensm goes on after a table has changed, and must not be met in the middle
 * of that. */
#define SETTLE_MS 500

static int complain(const struct oneib_error *err)
{
    fprintf(stderr, "bench_sync_in_force: %s\n", err->text);
    return EXIT_FAILURE;
}

static bool holds(const struct oneib_subnet_port *port, oneib_pkey key)
{
    for (uint16_t i = 0; i < port->partition_cap; i++)
        if (oneib_pkey_base(port->pkeys[i]) == key)
            return true;
    return false;
}

/* Signals opensm and returns the milliseconds until the port holds the key, or does not any more.
 */
static int wait_for_key(char **words, struct oneib_error *err)
{
    uint64_t guid, key, present, pid;
    if (!oneib_parse_hex(words[0], UINT64_MAX, &guid) || !oneib_parse_hex(words[1], 0x7fff, &key) ||
        !oneib_parse_decimal(words[2], 1, &present) ||
        !oneib_parse_decimal(words[3], INT32_MAX, &pid))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "usage: --wait GUID KEY PRESENT PID");

    const struct oneib_fabric_options options = {.window = 16, .timeout_ms = 500, .retries = 3};
    struct oneib_fabric *fabric = oneib_fabric_open(&options, err);
    struct oneib_subnet subnet = {0};
    if (!fabric || oneib_fabric_read(fabric, &subnet, err) < 0)
        return -1;
    const struct oneib_subnet_port *port = oneib_subnet_find(&subnet, guid);
    if (!port)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "the port is not on the fabric");
    const size_t index = (size_t)(port - subnet.ports);

    const double start = oneib_now_ms();
    kill((pid_t)pid, SIGHUP);
    int status = 0;
    while (status == 0 && holds(port, (oneib_pkey)key) != (present == 1) &&
           oneib_now_ms() < start + TIMEOUT_MS) {
        /* Not without a pause: asking must not slow down the simulator for opensm. */
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        status = oneib_fabric_read_tables(fabric, &subnet, &index, 1, err);
    }
    printf("%.3f\n", oneib_now_ms() - start);
    oneib_subnet_clear(&subnet);
    oneib_fabric_close(fabric);
    return status;
}

struct bench {
    struct lab *lab;
    const char *self;
    uint32_t network;
    char key[16];
    double opensm[2 * ROUNDS], oneib[2 * ROUNDS], whole[2 * ROUNDS];
    size_t samples;
};

static int replace_partitions(struct bench *bench, const char *data, size_t length,
                              struct oneib_error *err)
{
    const char *path = lab_partitions(bench->lab);
    return path ? oneib_file_replace(path, data, length, 0644, NULL, NULL, err) : -1;
}

static int time_opensm(struct bench *bench, uint64_t guid, const char *data, size_t length,
                       bool present, double *ms, struct oneib_error *err)
{
    char guid_text[32], pid_text[16];
    snprintf(guid_text, sizeof guid_text, "0x%" PRIx64, guid);
    snprintf(pid_text, sizeof pid_text, "%d", (int)lab_opensm_pid(bench->lab, LAB_SM.name));
    lab_sleep_ms(SETTLE_MS);
    if (replace_partitions(bench, data, length, err) < 0)
        return -1;

    struct lab_output output = {0};
    if (lab_run(bench->lab, LAB_SM_HCA,
                (const char *[]){bench->self, "--wait", guid_text, bench->key, present ? "1" : "0",
                                 pid_text, NULL},
                TIMEOUT_MS, &output, err) < 0)
        return -1;
    int status = output.status == 0
                     ? 0
                     : oneib_fail(err, ONEIB_ERROR_PROTOCOL, "waiting failed: %s", output.error);
    if (status == 0)
        *ms = strtod(output.out, NULL);
    lab_output_clear(&output);
    return status;
}

/* Adds a port to the file's last partition and takes it out again: opensm's part alone. */
static int opensm_round(struct bench *bench, size_t host, struct oneib_error *err)
{
    const char *path = lab_partitions(bench->lab);
    oneib_autofree char *before = NULL;
    size_t length;
    if (!path || oneib_file_read(path, (size_t)1 << 24, &before, &length, err) < 0)
        return -1;
    char *end = strrchr(before, ';');
    if (!end)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "no partition in the file");

    const uint64_t guid = lab_host_port_guid(bench->lab, host);
    oneib_autofree char *after =
        oneib_asprintf("%.*s,\n  0x%016" PRIx64 "=full%s", (int)(end - before), before, guid, end);
    const size_t size = strlen(after);
    double *ms = &bench->opensm[bench->samples];
    if (time_opensm(bench, guid, after, size, true, &ms[0], err) < 0)
        return -1;
    return time_opensm(bench, guid, before, length, false, &ms[1], err);
}

static int time_oneib(struct bench *bench, size_t sample, struct oneib_error *err)
{
    struct lab_output output = {0};
    lab_sleep_ms(SETTLE_MS);
    const double start = oneib_now_ms();
    if (lab_oneib(bench->lab, (const char *[]){"sync", "--json", NULL}, TIMEOUT_MS, &output, err) <
        0)
        return -1;
    bench->whole[sample] = oneib_now_ms() - start;
    json_t *document = json_loads(output.out, 0, NULL);
    bench->oneib[sample] = json_number_value(json_object_get(document, "in_force_ms"));
    json_decref(document);
    int status = 0;
    if (output.status != 0 || bench->oneib[sample] <= 0)
        status = oneib_fail(err, ONEIB_ERROR_PROTOCOL, "oneib sync ended with %d: %s%s",
                            output.status, output.out, output.error);
    lab_output_clear(&output);
    return status;
}

static int oneib_round(struct bench *bench, size_t host, struct oneib_error *err)
{
    uint32_t vm;
    if (lab_vm_start(bench->lab, "vm", &bench->network, 1, (uint32_t)host, &vm, err) < 0 ||
        time_oneib(bench, bench->samples, err) < 0 || lab_vm_delete(bench->lab, vm, err) < 0)
        return -1;
    return time_oneib(bench, bench->samples + 1, err);
}

static int set_up(struct bench *bench, struct oneib_error *err)
{
    const struct lab_options options = {
        .leaves = LEAVES, .hosts_per_leaf = HOSTS_PER_LEAF, .spines = 4};
    bench->lab = lab_open(&options, err);
    if (!bench->lab || lab_fabric_start(bench->lab, err) < 0 ||
        lab_opensm_start(bench->lab, &LAB_SM, err) < 0 ||
        lab_standin_start(bench->lab, NULL, err) < 0 || lab_add_hosts(bench->lab, 7, err) < 0 ||
        lab_network_create(bench->lab, "bench", "257", NULL, &bench->network, err) < 0 ||
        lab_config_write(bench->lab, NULL, err) < 0)
        return -1;
    snprintf(bench->key, sizeof bench->key, "0x%04x", 257);

    /* A cluster over every second host: the change that is timed is one among many members. */
    for (uint32_t host = 0; host < lab_host_count(bench->lab); host += 2) {
        uint32_t vm;
        if (lab_vm_start(bench->lab, "vm", &bench->network, 1, host, &vm, err) < 0)
            return -1;
    }
    struct lab_output output = {0};
    int status =
        lab_oneib(bench->lab, (const char *[]){"sync", "--force", NULL}, TIMEOUT_MS, &output, err);
    if (status == 0 && output.status != 0)
        status = oneib_fail(err, ONEIB_ERROR_PROTOCOL, "the first sync ended with %d: %s%s",
                            output.status, output.out, output.error);
    lab_output_clear(&output);
    return status;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static int run(struct bench *bench, struct oneib_error *err)
{
    if (set_up(bench, err) < 0)
        return -1;
    for (size_t round = 0; round < ROUNDS; round++) {
        const size_t host = 1 + 2 * (round * 37 % (LEAVES * HOSTS_PER_LEAF / 2));
        if (opensm_round(bench, host, err) < 0 || oneib_round(bench, host, err) < 0)
            return -1;
        bench->samples += 2;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct oneib_error err = {0};
    if (argc == 6 && strcmp(argv[1], "--wait") == 0)
        return wait_for_key(argv + 2, &err) < 0 ? complain(&err) : EXIT_SUCCESS;
    if (lab_missing()) {
        printf("SKIP: %s is not installed\n", lab_missing());
        return EXIT_SUCCESS;
    }

    char self[4096];
    if (!realpath("/proc/self/exe", self))
        return EXIT_FAILURE;
    struct bench bench = {.self = self};
    if (run(&bench, &err) < 0) {
        lab_close(bench.lab);
        return complain(&err);
    }
    lab_close(bench.lab);

    const double alone = median(bench.opensm, bench.samples);
    const double ours = median(bench.oneib, bench.samples);
    printf("%d hosts on ibsim, %zu changes of one port each, medians\n", LEAVES * HOSTS_PER_LEAF,
           bench.samples);
    printf("opensm alone, SIGHUP to changed table:             %8.1f ms\n", alone);
    printf("oneib, before writing to verified on the ports:    %8.1f ms\n", ours);
    printf("oneib sync as a whole, oned and full verification: %8.1f ms\n",
           median(bench.whole, bench.samples));
    printf("ratio %.2f, goal %.2f: %s\n", ours / alone, GOAL,
           ours <= GOAL * alone ? "PASS" : "FAIL");
    return ours <= GOAL * alone ? EXIT_SUCCESS : EXIT_FAILURE;
}
