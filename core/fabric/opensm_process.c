// SPDX-License-Identifier: Apache-2.0
#include "fabric/opensm_process.h"

#include "base/cleanup.h"
#include "base/command.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/number.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>

#define PROGRAM "opensm"
#define PID_LAST 4194304 /* the kernel's PID_MAX_LIMIT */
#define PID_FILE_MAX 64
#define PROC_FILE_MAX 8192
#define SYSTEMCTL_TIMEOUT_MS 10000
#define SIGHUP_BIT (UINT64_C(1) << (SIGHUP - 1)) /* in the masks of /proc/PID/status */

/* ---- which process --------------------------------------------------------------------------- */

/* One number and at most one newline behind it. */
static bool parse_pid(const char *text, size_t length, pid_t *pid)
{
    uint64_t value;
    if (length > 0 && text[length - 1] == '\n')
        length--;
    if (!oneib_parse_decimal_n(text, length, PID_LAST, &value) || value == 0)
        return false;
    *pid = (pid_t)value;
    return true;
}

static int pid_from_file(const char *path, pid_t *pid, struct oneib_error *err)
{
    oneib_autofree char *data = NULL;
    size_t length;
    if (oneib_file_read(path, PID_FILE_MAX, &data, &length, err) < 0) {
        if (err->code == ONEIB_ERROR_NOT_FOUND)
            return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                              "there is no pid file %s: opensm is not running, or it was started "
                              "without --pidfile %s",
                              path, path);
        return oneib_wrap(err, "reading opensm's pid file");
    }
    if (parse_pid(data, length, pid))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "opensm's pid file %s does not hold one process id on one line", path);
}

/* A line for every unit that matches, with blank lines between them; 0 for a unit without a
 * process. */
static int pid_of_the_one_unit(const char *unit, char *output, pid_t *pid, struct oneib_error *err)
{
    unsigned running = 0;
    char *rest = NULL;
    for (char *line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strcmp(line, "0") == 0)
            continue;
        if (!parse_pid(line, strlen(line), pid))
            return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                              "systemctl did not answer with the process id of %s", unit);
        running++;
    }
    if (running == 0)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "no unit %s is running (systemd knows no main process of it): start "
                          "opensm, or set opensm.unit",
                          unit);
    if (running > 1)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "%u running units match %s: set opensm.unit to the one of this subnet's "
                          "opensm",
                          running, unit);
    return 0;
}

static int pid_from_systemd(const char *unit, pid_t *pid, struct oneib_error *err)
{
    const char *const argv[] = {"systemctl", "show", "--property=MainPID", "--value", "--",
                                unit,        NULL};
    char output[4096];
    if (oneib_command_run(argv, SYSTEMCTL_TIMEOUT_MS, output, sizeof(output), err) < 0)
        return oneib_wrap(err, "asking systemd for the process of %s", unit);
    return pid_of_the_one_unit(unit, output, pid, err);
}

/* ---- is it opensm ---------------------------------------------------------------------------- */

static int gone(pid_t pid, struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "there is no process %d: opensm has ended since its process id was written",
                      pid);
}

/* /proc files have no size: they are read until they end. */
static bool read_proc(pid_t pid, const char *name, char *data, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    oneib_autofclose FILE *file = fopen(path, "re");
    if (!file)
        return false;
    data[fread(data, 1, size - 1, file)] = '\0';
    return !ferror(file);
}

static void read_comm(pid_t pid, char *comm, size_t size)
{
    if (!read_proc(pid, "comm", comm, size))
        comm[0] = '\0';
    comm[strcspn(comm, "\n")] = '\0';
}

/* The kernel appends this to the name of a program that was replaced on disk while it runs. */
#define DELETED " (deleted)"

/* The link of another user's process is closed to those without privileges: then comm decides. */
static bool runs_program(pid_t pid, bool *readable)
{
    char path[64], target[4096];
    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    *readable = length >= 0;
    if (length < 0)
        return false;
    target[length] = '\0';
    char *deleted = strstr(target, DELETED);
    if (deleted && deleted[strlen(DELETED)] == '\0')
        *deleted = '\0';
    const char *slash = strrchr(target, '/');
    return strcmp(slash ? slash + 1 : target, PROGRAM) == 0;
}

static int another_program(pid_t pid, const char *comm, bool readable, struct oneib_error *err)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_escaped(&shown, comm, 32);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "process %d is not opensm but \"%s\"%s: the process id is stale, and another "
                      "program has it now",
                      pid, shown.length ? shown.data : "",
                      readable ? "" : " (its executable cannot be read by this user)");
}

/* A pidfd becomes readable when its process ends. */
static bool has_ended(int pidfd)
{
    struct pollfd file = {.fd = pidfd, .events = POLLIN};
    return poll(&file, 1, 0) > 0;
}

static int hidden(pid_t pid, struct oneib_error *err)
{
    return oneib_fail(
        err, ONEIB_ERROR_REFUSED,
        "process %d is there, but /proc does not show it to this user (uid %u): it is mounted with "
        "hidepid, or the service has ProtectProc; run with the group of /proc's gid option or with "
        "CAP_SYS_PTRACE, or set opensm.reload = \"command\"",
        pid, (unsigned)geteuid());
}

/* The hexadecimal mask behind "NAME:\t" in /proc/PID/status; 0 when it is not there. */
static uint64_t signal_mask(const char *status, const char *name)
{
    const char *line = strstr(status, name);
    return line ? strtoull(line + strlen(name), NULL, 16) : 0;
}

static int check_process(pid_t pid, int pidfd, char *status, size_t size, struct oneib_error *err)
{
    char comm[64];
    bool readable;
    const bool shown = read_proc(pid, "status", status, size);
    if (has_ended(pidfd))
        return gone(pid, err);
    if (!shown)
        return hidden(pid, err);
    read_comm(pid, comm, sizeof(comm));
    if (strcmp(comm, PROGRAM) != 0 && !runs_program(pid, &readable))
        return another_program(pid, comm, readable, err);
    return 0;
}

/* SIGHUP must arrive in opensm's own handler: ignored it does nothing, unhandled it would end
 * opensm. */
static int check_handler(pid_t pid, const char *status, struct oneib_error *err)
{
    if (signal_mask(status, "\nSigIgn:\t") & SIGHUP_BIT)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "opensm (process %d) ignores SIGHUP, so it cannot be made to read its "
                          "partitions: it was started under nohup; start it as a service",
                          pid);
    if (!(signal_mask(status, "\nSigCgt:\t") & SIGHUP_BIT))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "opensm (process %d) does not handle SIGHUP yet: it is still starting; "
                          "try again",
                          pid);
    return 0;
}

/* ---- finding and signalling ------------------------------------------------------------------ */

struct target {
    pid_t pid;
    int pidfd; /* keeps meaning the same process, whoever gets its number next */
    char status[PROC_FILE_MAX];
};

static int configured_pid(const struct oneib_config *config, pid_t *pid, struct oneib_error *err)
{
    if (config->opensm.method == ONEIB_RELOAD_SYSTEMD)
        return pid_from_systemd(config->opensm.unit, pid, err);
    return pid_from_file(config->opensm.pid_file, pid, err);
}

static int open_target(const struct oneib_config *config, struct target *target,
                       struct oneib_error *err)
{
    if (configured_pid(config, &target->pid, err) < 0)
        return -1;
    target->pidfd = pidfd_open(target->pid, 0);
    if (target->pidfd < 0 && errno == ESRCH)
        return gone(target->pid, err);
    if (target->pidfd < 0)
        return oneib_fail_errno(err, errno, "looking at process %d", target->pid);
    /* Only now, with the process held: what is checked is what will be signalled. */
    if (check_process(target->pid, target->pidfd, target->status, sizeof(target->status), err) == 0)
        return 0;
    close(target->pidfd);
    return -1;
}

static void name_source(const struct oneib_config *config, struct oneib_error *err)
{
    if (config->opensm.method == ONEIB_RELOAD_SYSTEMD)
        oneib_wrap(err, "finding opensm by its unit %s", config->opensm.unit);
    else
        oneib_wrap(err, "finding opensm by its pid file %s", config->opensm.pid_file);
}

int oneib_opensm_find(const struct oneib_config *config, pid_t *pid, struct oneib_error *err)
{
    *pid = 0;
    if (config->opensm.method == ONEIB_RELOAD_COMMAND)
        return 0;
    struct target target;
    if (open_target(config, &target, err) < 0) {
        name_source(config, err);
        return -1;
    }
    close(target.pidfd);
    *pid = target.pid;
    return 0;
}

static int send_sighup(const struct target *target, struct oneib_error *err)
{
    if (pidfd_send_signal(target->pidfd, SIGHUP, NULL, 0) == 0)
        return 0;
    if (errno == ESRCH)
        return gone(target->pid, err);
    if (errno == EPERM)
        return oneib_fail_errno(err, EPERM,
                                "sending SIGHUP to opensm (process %d): run as root or with the "
                                "capability CAP_KILL, or set opensm.reload = \"command\"",
                                target->pid);
    return oneib_fail_errno(err, errno, "sending SIGHUP to opensm (process %d)", target->pid);
}

static int reload_by_signal(const struct oneib_config *config, struct oneib_error *err)
{
    struct target target;
    if (open_target(config, &target, err) < 0) {
        name_source(config, err);
        return -1;
    }
    int result = check_handler(target.pid, target.status, err);
    if (result == 0)
        result = send_sighup(&target, err);
    close(target.pidfd);
    return result;
}

static int reload_by_command(const struct oneib_config *config, struct oneib_error *err)
{
    char output[1024];
    const char *const *argv;
    if (!config->opensm.reload_command || !config->opensm.reload_command[0])
        return oneib_fail(err, ONEIB_ERROR_CONFIG,
                          "opensm.reload is \"command\", but opensm.reload_command is not set");
    memcpy(&argv, &config->opensm.reload_command, sizeof(argv));
    return oneib_command_run(argv, config->opensm.apply_timeout_ms, output, sizeof(output), err);
}

int oneib_opensm_reload(const struct oneib_config *config, struct oneib_error *err)
{
    int result = config->opensm.method == ONEIB_RELOAD_COMMAND ? reload_by_command(config, err)
                                                               : reload_by_signal(config, err);
    return result < 0 ? oneib_wrap(err, "telling opensm to read its partitions") : 0;
}
