// SPDX-License-Identifier: Apache-2.0
#include "run.h"
#include "../skip.h"
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 24

static char directory[256];
static const char *variable, *program = ONEIB_BINARY;

int make_directory(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/oneib-cli-XXXXXX", base && *base ? base : "/tmp");
    variable = NULL;
    return mkdtemp(directory) ? 0 : -1;
}

int remove_directory(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", "--", directory, (char *)NULL);
        _exit(127);
    }
    return waitpid(child, NULL, 0) == child ? 0 : -1;
}

const char *in_directory(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

void write_file(const char *name, const char *content)
{
    FILE *file = fopen(in_directory(name), "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void set_variable(const char *assignment)
{
    variable = assignment;
}

void set_program(const char *path)
{
    program = path;
}

static void exec_program(const char *const *words, const int *out, const int *err)
{
    char home[300];
    char *argv[WORDS_MAX + 2] = {strdup(basename(program))};
    for (size_t i = 0; words[i] && i < WORDS_MAX; i++)
        argv[i + 1] = strdup(words[i]);
    snprintf(home, sizeof home, "HOME=%s", directory);
    char path[] = "PATH=/usr/bin:/bin:/usr/sbin:/sbin", locale[] = "LC_ALL=C.UTF-8";
    char *extra = variable ? strdup(variable) : NULL;
    char *environment[] = {home, path, locale, extra, NULL};

    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    execve(program, argv, environment);
    _exit(127);
}

/* Reads both pipes to their ends; neither can fill up while the other is waited for. */
static void drain(const int *out, const int *err, struct outcome *outcome)
{
    struct pollfd ends[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    char *buffers[2] = {outcome->out, outcome->err};
    size_t used[2] = {0, 0};
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        assert_true(poll(ends, 2, 60000) > 0);
        for (int i = 0; i < 2; i++) {
            if (ends[i].fd < 0 || !ends[i].revents)
                continue;
            const ssize_t got =
                read(ends[i].fd, buffers[i] + used[i], sizeof outcome->out - 1 - used[i]);
            if (got <= 0)
                ends[i].fd = -1;
            else
                used[i] += (size_t)got;
        }
    }
    outcome->out[used[0]] = outcome->err[used[1]] = '\0';
}

static const struct outcome *run(const char *const *words, const int *out)
{
    static struct outcome outcome;
    int err[2], status;
    assert_int_equal(pipe(err), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        exec_program(words, out, err);

    close(out[1]);
    close(err[1]);
    drain(out, err, &outcome);
    if (out[0] >= 0)
        close(out[0]);
    close(err[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return &outcome;
}

const struct outcome *run_words(const char *const *words)
{
    int out[2];
    assert_int_equal(pipe(out), 0);
    return run(words, out);
}

const struct outcome *run_on_terminal(const char *const *words)
{
    int out[2];
    if (openpty(&out[0], &out[1], NULL, NULL, NULL) < 0) {
        skip_because("no terminal can be made here");
    }
    return run(words, out);
}

const struct outcome *run_into(const char *path, const char *const *words)
{
    const int out[2] = {-1, open(path, O_WRONLY)};
    assert_true(out[1] >= 0);
    return run(words, out);
}

const char *check_front_end(void)
{
    char location[300];
    snprintf(location, sizeof location, "ONE_LOCATION=%s", in_directory("."));
    set_variable(location);
    write_file("oneib.conf", "");
    const char *out = RUN("--config", in_directory("oneib.conf"), "check")->out;
    set_variable(NULL);
    return out;
}

void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in: %s", part, text);
}

json_t *parse_json(const char *text)
{
    json_error_t error;
    json_t *document = json_loads(text, 0, &error);
    if (!document)
        fail_msg("not one JSON document: %s: %s", error.text, text);
    return document;
}
