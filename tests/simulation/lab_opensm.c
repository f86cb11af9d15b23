// SPDX-License-Identifier: Apache-2.0
/* Real opensm on the simulated fabric. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "lab_internal.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define READY_MS 30000u
#define END_MS 20000u
#define PKEYS_TRIES 3

/*
 * In place of a configuration that this machine may have for a real fabric. The log is what tells
 * when opensm is ready: no buffer. A standby asks its master for a sign of life every 200 ms and
 * takes over when the third stays away (opensm's own: every 10 s, the fifth).
 */
static const char configuration[] = "force_log_flush TRUE\n"
                                    "sminfo_polling_timeout 200\n"
                                    "polling_retry_number 2\n";

const char *lab_partitions(struct lab *lab)
{
    return lab_path(lab, "partitions.conf");
}

const char *lab_opensm_pid_file(struct lab *lab, const char *name)
{
    char file[64];
    snprintf(file, sizeof file, "%s.pid", name);
    return lab_path(lab, file);
}

pid_t lab_opensm_pid(const struct lab *lab, const char *name)
{
    return lab_child_pid(lab, name);
}

static int write_pid_file(struct lab *lab, const char *name, pid_t pid, struct oneib_error *err)
{
    char file[64], text[32];
    snprintf(file, sizeof file, "%s.pid", name);
    snprintf(text, sizeof text, "%d\n", pid);
    return lab_write(lab, file, 0644, text, err);
}

/* It says "SUBNET UP" after a master's sweep, "Entering STANDBY state" when another SM is master.
 */
static int await_opensm(struct lab *lab, const char *name, pid_t pid, struct oneib_error *err)
{
    char log[64], console[64];
    snprintf(log, sizeof log, "%s.log", name);
    snprintf(console, sizeof console, "%s.out", name);
    long end = lab_clock_ms() + READY_MS;
    for (;;) {
        oneib_autofree char *content = lab_read(lab, log);
        if (strstr(content, "SUBNET UP") || strstr(content, "Entering STANDBY state"))
            return 0;
        const bool running = lab_is_running(lab, pid);
        if (running && lab_clock_ms() < end) {
            lab_sleep_ms(5);
            continue;
        }
        oneib_autofree char *logged = lab_log_end(lab, log), *said = lab_log_end(lab, console);
        return oneib_fail(err, running ? ONEIB_ERROR_TIMEOUT : ONEIB_ERROR_UNREACHABLE,
                          "starting opensm as %s: %s; %s; %s", name,
                          running ? "it has done no sweep" : "it has ended", said, logged);
    }
}

/* Its path. */
static const char *write_settings(struct lab *lab, const struct lab_sm *sm, struct oneib_error *err)
{
    char file[64];
    oneib_autotext struct oneib_text text = {0};
    snprintf(file, sizeof file, "%s/opensm.conf", sm->name);
    oneib_text_printf(&text, "%s%s", configuration, sm->options ? sm->options : "");
    return lab_write(lab, file, 0600, text.data, err) < 0 ? NULL : lab_path(lab, file);
}

int lab_opensm_start(struct lab *lab, const struct lab_sm *sm, struct oneib_error *err)
{
    char log[64], console_log[64], priority[16];
    snprintf(log, sizeof log, "%s.log", sm->name);
    snprintf(console_log, sizeof console_log, "%s.out", sm->name);
    snprintf(priority, sizeof priority, "%u", sm->priority);
    const char *partitions = sm->partitions ? sm->partitions : lab_partitions(lab);
    const char *directory = lab_path(lab, sm->name);
    const char *log_path = lab_path(lab, log);
    if (mkdir(directory, 0700) < 0 && errno != EEXIST)
        return oneib_fail_errno(err, errno, "making %s", directory);
    /* The new one's messages must not be mistaken for an earlier run's. */
    unlink(log_path);
    oneib_autofree char *temporary = oneib_asprintf("OSM_TMP_DIR=%s", directory);
    oneib_autofree char *cache = oneib_asprintf("OSM_CACHE_DIR=%s", directory);
    const char *settings = write_settings(lab, sm, err);
    if (!settings)
        return -1;
    const char *argv[] = {"opensm",   "--console", "off",    "-F", settings, "-P",
                          partitions, "-f",        log_path, "-p", priority, NULL};
    oneib_autofree char *preload = lab_preload(lab, LAB_UMAD_TIMEOUTS, err);
    if (!preload)
        return -1;
    const char *environment[] = {temporary, cache, preload, NULL};
    oneib_autofclose FILE *console = fopen(lab_path(lab, console_log), "we");
    if (!console)
        return oneib_fail_errno(err, errno, "writing %s", console_log);
    struct lab_program program = {.name = sm->name,
                                  .hca = sm->hca,
                                  .argv = argv,
                                  .environment = environment,
                                  .in = -1,
                                  .out = fileno(console),
                                  .error = fileno(console)};
    pid_t pid;
    if (lab_start(lab, &program, &pid, err) < 0 || write_pid_file(lab, sm->name, pid, err) < 0)
        return -1;
    return await_opensm(lab, sm->name, pid, err);
}

/* What it has said since it entered its state; "" when it has not said any. */
static const char *since_last_state(const char *log)
{
    const char *last = "";
    for (const char *entry = strstr(log, "Entering "); entry;
         entry = strstr(entry + 1, "Entering "))
        last = entry;
    return last;
}

static bool is_master(const char *log)
{
    return strncmp(since_last_state(log), "Entering MASTER", 15) == 0;
}

int lab_opensm_await_master(struct lab *lab, const char *name, unsigned timeout_ms,
                            struct oneib_error *err)
{
    char log[64];
    snprintf(log, sizeof log, "%s.log", name);
    for (long end = lab_clock_ms() + timeout_ms;; lab_sleep_ms(5)) {
        oneib_autofree char *content = lab_read(lab, log);
        if (is_master(content) && strstr(since_last_state(content), "SUBNET UP"))
            return 0;
        if (lab_clock_ms() > end)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                              "waiting for %s to be master for %u ms; it says: %.200s", name,
                              timeout_ms, since_last_state(content));
    }
}

bool lab_opensm_is_master(struct lab *lab, const char *name)
{
    char log[64];
    snprintf(log, sizeof log, "%s.log", name);
    oneib_autofree char *content = lab_read(lab, log);
    return is_master(content);
}

int lab_opensm_signal(struct lab *lab, const char *name, int signal, struct oneib_error *err)
{
    pid_t pid = lab_opensm_pid(lab, name);
    if (pid == 0 || !lab_is_running(lab, pid))
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "signalling %s: it is not running", name);
    if (kill(pid, signal) < 0)
        return oneib_fail_errno(err, errno, "signalling %s", name);
    return 0;
}

int lab_opensm_stop(struct lab *lab, const char *name, bool gentle, struct oneib_error *err)
{
    pid_t pid = lab_opensm_pid(lab, name);
    if (pid == 0)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "stopping %s: it is not running", name);
    return lab_end(lab, pid, gentle ? SIGTERM : SIGKILL, END_MS, err);
}

/* "  0: 0x7fff 0x8001 ..." lines: the entries that are set. */
static size_t parse_pkeys(char *text, uint16_t *pkeys, size_t room)
{
    size_t count = 0;
    char *place = NULL;
    for (char *word = strtok_r(text, " \n", &place); word; word = strtok_r(NULL, " \n", &place)) {
        if (strncmp(word, "0x", 2) != 0)
            continue;
        uint16_t pkey = (uint16_t)strtoul(word, NULL, 16);
        if (pkey && count < room)
            pkeys[count++] = pkey;
    }
    return count;
}

static int ask_for_pkeys(struct lab *lab, size_t host, uint16_t *pkeys, size_t room, size_t *count,
                         struct oneib_error *err)
{
    char route[64];
    lab_direct_route(lab, host, route, sizeof route);
    const char *argv[] = {"smpquery", "-D", "pkeys", route, "1", NULL};
    struct lab_output output;
    if (lab_run(lab, LAB_SM_HCA, argv, 10000, &output, err) < 0)
        return -1;
    int result = 0;
    if (output.status == 0)
        *count = parse_pkeys(output.out, pkeys, room);
    else
        result = oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                            "asking host %zu for its P_Keys: smpquery ended with %d: %s%s", host,
                            output.status, output.out, output.error);
    lab_output_clear(&output);
    return result;
}

/* On a busy machine a query may be lost, or find no place on the fabric since some program was
 * killed: so it is asked more than once. */
int lab_host_pkeys(struct lab *lab, size_t host, uint16_t *pkeys, size_t room, size_t *count,
                   struct oneib_error *err)
{
    for (unsigned tries = 1;; tries++) {
        struct oneib_error why = {0};
        if (ask_for_pkeys(lab, host, pkeys, room, count, &why) == 0)
            return 0;
        if (tries == PKEYS_TRIES) {
            *err = why;
            return -1;
        }
        lab_sleep_ms(100);
    }
}
