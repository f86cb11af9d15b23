// SPDX-License-Identifier: Apache-2.0
#include "daemon_scene.h"
#include "base/cleanup.h"
#include "lab_internal.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define LOG_TAIL 1500
#define PAUSE_MS 20

static struct {
    long log_start;
    pid_t pid;
} daemon_state;

#define LOG "oneibd.log"

/* ---- fixtures -------------------------------------------------------------------------------- */

void daemon_configure(const struct lab_config *more)
{
    struct oneib_error err = {0};
    struct lab_config config = more ? *more : (struct lab_config){0};
    if (!config.daemon)
        config.daemon = DAEMON_QUICK;
    MUST(lab_config_write(scene(), &config, &err));
}

static void begin(void)
{
    daemon_state.log_start = 0;
    daemon_state.pid = 0;
    if (!lab_missing())
        daemon_configure(NULL);
}

int daemon_raise_on(const struct lab_options *options, const char *const *standin)
{
    if (scene_raise_on(options, standin) < 0)
        return -1;
    begin();
    return 0;
}

int daemon_raise_new(void **state)
{
    if (scene_raise_new_with_vfs(state) < 0)
        return -1;
    begin();
    return 0;
}

int daemon_raise(void **state)
{
    if (scene_raise_with_vfs(state) < 0)
        return -1;
    begin();
    return 0;
}

int daemon_raise_watching(void **state)
{
    if (daemon_raise(state) < 0)
        return -1;
    if (!lab_missing())
        daemon_start();
    return 0;
}

/* ---- the process ----------------------------------------------------------------------------- */

void daemon_start(void)
{
    struct oneib_error err = {0};
    MUST(lab_oneibd_start(scene(), &LAB_DAEMON, &err));
    daemon_state.pid = lab_oneibd_pid(scene(), LAB_DAEMON.name);
}

void daemon_start_with(const char *one, const char *daemon, const char *other)
{
    daemon_configure(&(struct lab_config){.one = one, .daemon = daemon, .other = other});
    daemon_start();
}

void daemon_spawn(void)
{
    struct oneib_error err = {0};
    const char *argv[] = {ONEIBD_BINARY, "--config", lab_config_path(scene()), NULL};
    MUST(lab_spawn(scene(), LAB_DAEMON.name, LAB_DAEMON.hca, argv, &daemon_state.pid, &err));
}

pid_t daemon_pid(void)
{
    return daemon_state.pid;
}

void daemon_signal(int signal)
{
    struct oneib_error err = {0};
    MUST(lab_oneibd_signal(scene(), LAB_DAEMON.name, signal, &err));
}

void daemon_end(void)
{
    struct oneib_error err = {0};
    MUST(lab_oneibd_stop(scene(), LAB_DAEMON.name, SIGTERM, &err));
}

void daemon_kill(void)
{
    struct oneib_error err = {0};
    MUST(lab_oneibd_stop(scene(), LAB_DAEMON.name, SIGKILL, &err));
}

bool daemon_is_running(void)
{
    return lab_is_running(scene(), daemon_state.pid);
}

/* ---- the log --------------------------------------------------------------------------------- */

void daemon_forget_log(void)
{
    daemon_state.log_start = lab_size(scene(), LOG);
}

char *daemon_log(void)
{
    return lab_read_from(scene(), LOG, daemon_state.log_start);
}

unsigned daemon_said_times(const char *words)
{
    oneib_autofree char *log = daemon_log();
    unsigned times = 0;
    for (const char *at = log; (at = strstr(at, words)); at += strlen(words))
        times++;
    return times;
}

bool daemon_said(const char *words)
{
    return daemon_said_times(words) > 0;
}

static void fail_with_log(const char *what)
{
    oneib_autofree char *log = daemon_log();
    const size_t length = strlen(log);
    fail_msg("%s; the log ends with:\n%s", what, log + (length > LOG_TAIL ? length - LOG_TAIL : 0));
}

int daemon_await_end(void)
{
    int status;
    if (!lab_wait(scene(), daemon_state.pid, DAEMON_PATIENCE_MS, &status))
        fail_with_log("oneibd does not end");
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct wait {
    long end;
    const char *what;
};

static struct wait begin_wait(const char *what)
{
    return (struct wait){.end = lab_clock_ms() + DAEMON_PATIENCE_MS, .what = what};
}

static void wait_on(const struct wait *wait)
{
    if (lab_clock_ms() > wait->end)
        fail_with_log(wait->what);
    lab_sleep_ms(PAUSE_MS);
}

void await_said(const char *words)
{
    char what[256];
    snprintf(what, sizeof what, "oneibd does not say \"%s\"", words);
    const struct wait wait = begin_wait(what);
    while (!daemon_said(words))
        wait_on(&wait);
}

static void await_port(size_t host, unsigned raw, bool wanted)
{
    char what[64];
    snprintf(what, sizeof what, "host %zu %s 0x%04x", host, wanted ? "lacks" : "holds", raw);
    const struct wait wait = begin_wait(what);
    while (port_holds(host, raw) != wanted)
        wait_on(&wait);
}

void await_holds(size_t host, unsigned raw)
{
    await_port(host, raw, true);
}

void await_lacks(size_t host, unsigned raw)
{
    await_port(host, raw, false);
}

static void stays(size_t host, unsigned raw, bool wanted, unsigned milliseconds)
{
    const long end = lab_clock_ms() + milliseconds;
    do {
        if (port_holds(host, raw) != wanted) {
            char what[64];
            snprintf(what, sizeof what, "host %zu %s 0x%04x", host, wanted ? "lost" : "got", raw);
            fail_with_log(what);
        }
        lab_sleep_ms(PAUSE_MS);
    } while (lab_clock_ms() < end);
}

void stays_holding(size_t host, unsigned raw, unsigned milliseconds)
{
    stays(host, raw, true, milliseconds);
}

void stays_lacking(size_t host, unsigned raw, unsigned milliseconds)
{
    stays(host, raw, false, milliseconds);
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

double metric(const char *sample)
{
    struct oneib_error err = {0};
    double value;
    const struct wait wait = begin_wait(err.text);
    while (lab_metric(lab_metrics_address(scene()), sample, &value, &err) < 0)
        wait_on(&wait);
    return value;
}

static void await_metric_within(const char *sample, double least, double most)
{
    char what[160] = "";
    double value = metric(sample);
    struct wait wait = begin_wait(what);
    for (; value < least || value > most; value = metric(sample)) {
        snprintf(what, sizeof what, "%s is %g, not %g", sample, value, least);
        wait_on(&wait);
    }
}

void await_metric(const char *sample, double wanted)
{
    await_metric_within(sample, wanted, wanted);
}

void await_metric_at_least(const char *sample, double wanted)
{
    await_metric_within(sample, wanted, 1e300);
}

static bool health_is(unsigned status, const char *words, char *seen, size_t size)
{
    struct oneib_error err = {0};
    unsigned now = 0;
    oneib_autofree char *body = NULL;
    if (lab_http_get(lab_metrics_address(scene()), "/healthz", &now, &body, &err) < 0) {
        snprintf(seen, size, "%s", err.text);
        return false;
    }
    snprintf(seen, size, "health is %u: %s", now, body);
    return now == status && (!words || strstr(body, words));
}

/* What is not settled is looked at again after as long as it has lasted (oneibd/poll_schedule.c):
 * on a slow machine that alone is longer than others are waited for. */
void await_health(unsigned status, const char *words)
{
    char seen[1100] = "";
    struct wait wait = begin_wait(seen);
    wait.end += 2 * DAEMON_PATIENCE_MS;
    while (!health_is(status, words, seen, sizeof seen))
        wait_on(&wait);
}

/* ---- OpenNebula ------------------------------------------------------------------------------ */

void host_attribute(uint32_t host, const char *name, char *value, size_t size)
{
    struct oneib_error err = {0};
    const int id = (int)host;
    oneib_autofree char *document = NULL;
    char begin_tag[64];
    MUST(
        lab_call_document(scene(), "one.host.info", lab_session(scene()), &id, 1, &document, &err));
    snprintf(begin_tag, sizeof begin_tag, "<%s><![CDATA[", name);
    const char *at = strstr(document, begin_tag);
    *value = '\0';
    if (at) {
        at += strlen(begin_tag);
        snprintf(value, size, "%.*s", (int)strcspn(at, "]"), at);
    }
}

void await_host_attribute(uint32_t host, const char *name, const char *wanted)
{
    char what[256] = "", value[128];
    const struct wait wait = begin_wait(what);
    for (;;) {
        host_attribute(host, name, value, sizeof value);
        if (strcmp(value, wanted) == 0)
            return;
        snprintf(what, sizeof what, "%s of host %u is \"%s\", not \"%s\"", name, host, value,
                 wanted);
        wait_on(&wait);
    }
}

unsigned calls_of(const char *method)
{
    struct oneib_error err = {0};
    unsigned count;
    MUST(lab_calls(scene(), method, &count, &err));
    return count;
}

unsigned await_key_of(uint32_t network)
{
    unsigned key;
    const struct wait wait = begin_wait("the network is given no P_Key");
    while ((key = scene_key_of(network)) == 0)
        wait_on(&wait);
    return key;
}

uint32_t red_network(void)
{
    return scene_network("red", "257", NULL);
}

struct lab_output adopt_ledger(void)
{
    struct lab_output output = {0};
    struct oneib_error err = {0};
    const char *const argv[] = {
        ONEIB_BINARY, "sync", "--adopt", "--config", lab_config_path(scene()), NULL};
    MUST(lab_run(scene(), LAB_SM_HCA, argv, SCENE_TIMEOUT_MS, &output, &err));
    return output;
}
