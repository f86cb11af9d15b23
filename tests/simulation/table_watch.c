// SPDX-License-Identifier: Apache-2.0
#include "table_watch.h"
#include "base/cleanup.h"
#include "lab_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mad.h>
#include <string.h>
#include <sys/mman.h>

#define FILE_NAME "table-watch"
#define READY_MS 10000u
#define SMP_MS 500u
#define BLOCK_ENTRIES 32u /* of P_KeyTable, InfiniBand specification 14.2.5.7 */
#define PORT_ACTIVE 4u    /* PortInfo's PortState, 14.2.5.6 */
/* ibsim answers one at a time: opensm must get its turn. */
#define PAUSE_MS 1u

void table_watch_lock(struct table_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
}

void table_watch_unlock(struct table_watch *watch)
{
    pthread_mutex_unlock(&watch->lock);
}

/* ---- the test's side ------------------------------------------------------------------------- */

static struct table_watch *map(const char *path, int flags, struct oneib_error *err)
{
    oneib_autoclose int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct table_watch)) < 0) {
        oneib_fail_errno(err, errno, "making %s", path);
        return NULL;
    }
    void *memory =
        mmap(NULL, sizeof(struct table_watch), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED)
        return memory;
    oneib_fail_errno(err, errno, "sharing %s", path);
    return NULL;
}

static void prepare(struct table_watch *watch, const struct lab *lab)
{
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&watch->lock, &shared);
    pthread_mutexattr_destroy(&shared);
    const unsigned ports = lab_host_ports(lab);
    watch->hosts = lab_host_count(lab) * ports;
    for (size_t i = 0; i < watch->hosts; i++)
        lab_plan_route(&lab->plan, i / ports, 1 + (unsigned)(i % ports), watch->routes[i],
                       sizeof watch->routes[i]);
}

static int await_first_reading(struct table_watch *watch, struct lab *lab, pid_t pid,
                               struct oneib_error *err)
{
    const long end = lab_clock_ms() + READY_MS;
    for (;; lab_sleep_ms(2)) {
        table_watch_lock(watch);
        const bool read = watch->readings > 0;
        table_watch_unlock(watch);
        if (read)
            return 0;
        if (!lab_is_running(lab, pid) || lab_clock_ms() > end) {
            oneib_autofree char *said = lab_log_end(lab, FILE_NAME ".log");
            return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "watching tables: nothing is read; %s",
                              said);
        }
    }
}

struct table_watch *table_watch_start(struct lab *lab, struct oneib_error *err)
{
    pid_t pid;
    const char *path = lab_path(lab, FILE_NAME);
    if (lab_host_count(lab) * lab_host_ports(lab) > TABLE_WATCH_HOSTS)
        return NULL;
    struct table_watch *watch = map(path, O_CREAT | O_EXCL, err);
    if (!watch)
        return NULL;
    prepare(watch, lab);
    char self[4096] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) {
        oneib_fail_errno(err, errno, "finding this program");
        return NULL;
    }
    const char *argv[] = {self, TABLE_WATCH_VERB, path, NULL};
    if (lab_spawn(lab, FILE_NAME, LAB_SM_HCA, argv, &pid, err) < 0 ||
        await_first_reading(watch, lab, pid, err) < 0)
        return NULL;
    return watch;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    struct {
        uint16_t keys[TABLE_WATCH_ENTRIES];
        size_t count;
    } tables[TABLE_WATCH_HOSTS];
    unsigned entries[TABLE_WATCH_HOSTS];
    uint32_t active; /* a bit a host: its port passes data */
    bool upwards;
};

static int compare_keys(const void *a, const void *b)
{
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static bool ask_size(const struct ibmad_port *port, ib_portid_t *target, unsigned *entries)
{
    uint8_t data[IB_SMP_DATA_SIZE] = {0};
    if (!smp_query_via(data, target, IB_ATTR_NODE_INFO, 0, SMP_MS, port))
        return false;
    *entries = mad_get_field(data, 0, IB_NODE_PARTITION_CAP_F);
    return true;
}

/* A port that was unplugged keeps its table, and passes no data before the subnet manager, which
 * writes the table first, has set it active (InfiniBand specification 7.2.7). */
static bool ask_whether_active(const struct ibmad_port *port, const char *route, bool *is_active)
{
    ib_portid_t target = {0};
    uint8_t data[IB_SMP_DATA_SIZE] = {0};
    char copy[TABLE_WATCH_ROUTE]; /* str2drpath() writes to it */
    memcpy(copy, route, sizeof copy);
    /* Port 0: that at which the packet comes in. */
    if (str2drpath(&target.drpath, copy, 0, 0) < 0 ||
        !smp_query_via(data, &target, IB_ATTR_PORT_INFO, 0, SMP_MS, port))
        return false;
    *is_active = mad_get_field(data, 0, IB_PORT_STATE_F) == PORT_ACTIVE;
    return true;
}

/* *entries: 0, or as it was told before. */
static bool read_table(const struct ibmad_port *port, char *route, unsigned *entries,
                       uint16_t *keys, size_t *count)
{
    ib_portid_t target = {0};
    uint8_t data[IB_SMP_DATA_SIZE];
    if (str2drpath(&target.drpath, route, 0, 0) < 0 ||
        (*entries == 0 && !ask_size(port, &target, entries)))
        return false;
    *count = 0;
    for (unsigned block = 0; block * BLOCK_ENTRIES < *entries; block++) {
        memset(data, 0, sizeof data);
        if (!smp_query_via(data, &target, IB_ATTR_PKEY_TBL, block, SMP_MS, port))
            return false;
        for (unsigned i = 0; i < BLOCK_ENTRIES && *count < TABLE_WATCH_ENTRIES; i++) {
            const uint16_t key = (uint16_t)(data[2 * i] << 8 | data[2 * i + 1]);
            if (key)
                keys[(*count)++] = key;
        }
    }
    qsort(keys, *count, sizeof *keys, compare_keys);
    return true;
}

static bool is_away(struct table_watch *watch, size_t host)
{
    table_watch_lock(watch);
    const bool away = watch->away >> host & 1;
    table_watch_unlock(watch);
    return away;
}

/* Upwards and downwards in turn. */
static bool read_all(const struct ibmad_port *port, struct table_watch *watch,
                     struct reading *reading)
{
    reading->upwards = !reading->upwards;
    reading->active = 0;
    for (size_t i = 0; i < watch->hosts; i++) {
        const size_t host = reading->upwards ? i : watch->hosts - 1 - i;
        if (is_away(watch, host))
            continue;
        char route[TABLE_WATCH_ROUTE]; /* str2drpath() writes to it */
        bool is_active;
        memcpy(route, watch->routes[host], sizeof route);
        if (!ask_whether_active(port, route, &is_active) ||
            !read_table(port, route, &reading->entries[host], reading->tables[host].keys,
                        &reading->tables[host].count))
            return false;
        reading->active |= (uint32_t)is_active << host;
    }
    return true;
}

/* ---- judging --------------------------------------------------------------------------------- */

static void collect_holders(const struct reading *reading, size_t hosts, uint32_t *holders)
{
    memset(holders, 0, 0x10000 * sizeof *holders);
    for (size_t host = 0; host < hosts; host++)
        for (size_t i = 0; reading->active >> host & 1 && i < reading->tables[host].count; i++)
            holders[reading->tables[host].keys[i]] |= UINT32_C(1) << host;
}

static void complain(struct table_watch *watch, const char *what, unsigned key, uint32_t hosts)
{
    if (!watch->violation[0])
        snprintf(watch->violation, sizeof watch->violation,
                 "0x%04x %s: hosts 0x%x (a bit a host); it may be on 0x%x, must be on 0x%x", key,
                 what, hosts, watch->rules[key].may, watch->rules[key].must);
}

static unsigned lowest(uint32_t hosts)
{
    return (unsigned)__builtin_ctz(hosts);
}

static unsigned highest(uint32_t hosts)
{
    return 31u - (unsigned)__builtin_clz(hosts);
}

/* Whether a host of `first` was read before one of `then`. */
static bool were_read_in_order(uint32_t first, uint32_t then, bool upwards)
{
    if (first == 0 || then == 0)
        return false;
    return upwards ? lowest(first) < highest(then) : highest(first) > lowest(then);
}

/*
 * Ports are read one after the other, so a reading shows no single moment. But a host of the old
 * cluster never gets the key again: when it holds it after a host of the new cluster was seen to
 * hold it, both had it. And a key that opensm moves to another block of a table may be missed once.
 */
static void judge_key(struct table_watch *watch, unsigned key, uint32_t holders,
                      const struct reading *reading)
{
    struct table_rule *rule = &watch->rules[key];
    const uint32_t lacking = rule->must & ~holders & reading->active;
    if (holders & ~rule->may)
        complain(watch, "is where it does not belong", key, holders & ~rule->may);
    if (lacking & rule->missed)
        complain(watch, "was taken from who should have kept it", key, lacking);
    rule->missed = lacking;
    if ((rule->arrived && holders & rule->leaving) ||
        were_read_in_order(holders & rule->arriving, holders & rule->leaving, reading->upwards))
        complain(watch, "was in two clusters at once, still", key, holders & rule->leaving);
    rule->arrived = rule->arrived || holders & rule->arriving;
}

static void take(struct table_watch *watch, const struct reading *reading)
{
    static uint32_t holders[0x10000];
    collect_holders(reading, watch->hosts, holders);
    table_watch_lock(watch);
    watch->readings++;
    memcpy(watch->tables, reading->tables, sizeof watch->tables);
    for (unsigned key = 1; watch->judging && key < 0x10000; key++)
        judge_key(watch, key, holders[key], reading);
    table_watch_unlock(watch);
}

int table_watch_main(char **argv)
{
    struct oneib_error err = {0};
    struct reading reading = {.upwards = false};
    int classes[] = {IB_SMI_CLASS, IB_SMI_DIRECT_CLASS};
    struct table_watch *watch = map(argv[2], 0, &err);
    struct ibmad_port *port = watch ? mad_rpc_open_port(NULL, 0, classes, 2) : NULL;
    if (!port) {
        fprintf(stderr, "%s\n", watch ? "no port" : err.text);
        return 1;
    }
    /* The lab ends this process. */
    for (;; lab_sleep_ms(PAUSE_MS))
        if (read_all(port, watch, &reading))
            take(watch, &reading);
}
