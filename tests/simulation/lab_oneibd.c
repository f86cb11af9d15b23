// SPDX-License-Identifier: Apache-2.0
/* The daemon of this build, and what it says over HTTP. */
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "lab_internal.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define READY_MS 30000u
#define END_MS 20000u
#define HTTP_SECONDS 10

static int start_daemon(struct lab *lab, const struct lab_daemon *daemon, const char *config,
                        pid_t *pid, struct oneib_error *err)
{
    char clock[256];
    snprintf(clock, sizeof clock, "WALL_CLOCK=%s", daemon->clock ? daemon->clock : "");
    const char *argv[] = {LAB_ONEIBD, "--config", config, NULL};
    oneib_autofree char *preload = lab_preload(lab, LAB_WALL_CLOCK, err);
    const char *environment[] = {preload, clock, NULL};
    if (!preload)
        return -1;
    const struct lab_program program = {.name = daemon->name,
                                        .hca = daemon->hca,
                                        .argv = argv,
                                        .environment = daemon->clock ? environment : NULL,
                                        .in = -1,
                                        .out = -1,
                                        .error = -1};
    return lab_start(lab, &program, pid, err);
}

int lab_oneibd_begin(struct lab *lab, const struct lab_daemon *daemon, struct oneib_error *err)
{
    const char *config = daemon->config ? daemon->config : lab_config_path(lab);
    pid_t pid;
    return config ? start_daemon(lab, daemon, config, &pid, err) : -1;
}

int lab_oneibd_start(struct lab *lab, const struct lab_daemon *daemon, struct oneib_error *err)
{
    char log[64];
    snprintf(log, sizeof log, "%s.log", daemon->name);
    long start = lab_size(lab, log);
    if (lab_oneibd_begin(lab, daemon, err) < 0)
        return -1;
    return lab_await_text(lab, log, start, "watching ", lab_oneibd_pid(lab, daemon->name), READY_MS,
                          err);
}

pid_t lab_oneibd_pid(const struct lab *lab, const char *name)
{
    return lab_child_pid(lab, name);
}

int lab_oneibd_signal(struct lab *lab, const char *name, int signal, struct oneib_error *err)
{
    pid_t pid = lab_oneibd_pid(lab, name);
    if (pid == 0 || !lab_is_running(lab, pid))
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "signalling %s: it is not running", name);
    if (kill(pid, signal) < 0)
        return oneib_fail_errno(err, errno, "signalling %s", name);
    return 0;
}

int lab_oneibd_stop(struct lab *lab, const char *name, int signal, struct oneib_error *err)
{
    pid_t pid = lab_oneibd_pid(lab, name);
    int status = 0;
    if (lab_oneibd_signal(lab, name, signal, err) < 0)
        return -1;
    if (!lab_wait(lab, pid, END_MS, &status)) {
        kill(pid, SIGKILL);
        lab_wait(lab, pid, END_MS, &status);
        return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                          "stopping %s: it did not end within %u ms of signal %d", name, END_MS,
                          signal);
    }
    if (signal != SIGTERM || status == 0)
        return 0;
    char log[64];
    snprintf(log, sizeof log, "%s.log", name);
    oneib_autofree char *said = lab_log_end(lab, log);
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "stopping %s: it ended with wait status 0x%x; %s",
                      name, status, said);
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

static int connect_to(const char *address, struct oneib_error *err)
{
    char host[32];
    const char *colon = strrchr(address, ':');
    struct sockaddr_in place = {.sin_family = AF_INET};
    if (colon && (size_t)(colon - address) < sizeof host) {
        snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
        place.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    }
    if (!place.sin_port || inet_pton(AF_INET, host, &place.sin_addr) != 1)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "asking \"%s\": not ADDRESS:PORT", address);
    struct timeval patience = {.tv_sec = HTTP_SECONDS};
    oneib_autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0 ||
        connect(fd, (struct sockaddr *)&place, sizeof place) < 0)
        return oneib_fail_errno(err, errno, "asking %s", address);
    int connected = fd;
    fd = -1;
    return connected;
}

/* Until the server closes the connection. */
static int read_all(int fd, const char *address, struct oneib_text *answer, struct oneib_error *err)
{
    char buffer[65536];
    ssize_t length;
    while ((length = recv(fd, buffer, sizeof buffer, 0)) > 0)
        oneib_text_append_bytes(answer, buffer, (size_t)length);
    if (length < 0)
        return oneib_fail_errno(err, errno, "asking %s", address);
    oneib_text_append(answer, "");
    return 0;
}

int lab_http_get(const char *address, const char *path, unsigned *status, char **body,
                 struct oneib_error *err)
{
    oneib_autotext struct oneib_text request = {0}, answer = {0};
    oneib_text_printf(&request, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", path, address);
    oneib_autoclose int fd = connect_to(address, err);
    if (fd < 0)
        return -1;
    if (send(fd, request.data, request.length, MSG_NOSIGNAL) != (ssize_t)request.length)
        return oneib_fail_errno(err, errno, "asking %s", address);
    if (read_all(fd, address, &answer, err) < 0)
        return -1;
    const char *head_end = answer.data ? strstr(answer.data, "\r\n\r\n") : NULL;
    if (!head_end || sscanf(answer.data, "HTTP/%*u.%*u %u", status) != 1)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "asking %s for %s: not an answer of HTTP",
                          address, path);
    *body = oneib_strdup(head_end + 4);
    return 0;
}

/* The line that begins with "sample ". */
static const char *find_sample(const char *text, const char *sample)
{
    size_t length = strlen(sample);
    for (const char *line = text; line && *line;) {
        if (strncmp(line, sample, length) == 0 && line[length] == ' ')
            return line + length + 1;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return NULL;
}

int lab_metric(const char *address, const char *sample, double *value, struct oneib_error *err)
{
    oneib_autofree char *body = NULL;
    unsigned status;
    if (lab_http_get(address, "/metrics", &status, &body, err) < 0)
        return -1;
    const char *text = status == 200 ? find_sample(body, sample) : NULL;
    if (!text)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "%s has no sample %s (HTTP status %u)",
                          address, sample, status);
    *value = strtod(text, NULL);
    return 0;
}

/* A daemon that has just been started serves nothing yet. */
int lab_await_metric(const char *address, const char *sample, double wanted, unsigned timeout_ms,
                     struct oneib_error *err)
{
    for (long end = lab_clock_ms() + timeout_ms;; lab_sleep_ms(20)) {
        double value = 0;
        const bool known = lab_metric(address, sample, &value, err) == 0;
        if (known && value >= wanted && value <= wanted)
            return 0;
        if (lab_clock_ms() < end)
            continue;
        return known
                   ? oneib_fail(err, ONEIB_ERROR_TIMEOUT, "waiting for %s of %s to be %g: it is %g",
                                sample, address, wanted, value)
                   : -1;
    }
}
