// SPDX-License-Identifier: Apache-2.0
/* Opening and closing, and the files of the lab's directory. */
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/text.h"
#include "lab_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define LOG_END 400 /* bytes that an error tells of a log */

/* Labs that are open, for the way out of a process that does not close them. */
static struct lab *open_labs;
static unsigned labs_opened;

long lab_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void lab_sleep_ms(unsigned milliseconds)
{
    struct timespec rest = {.tv_sec = milliseconds / 1000,
                            .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
        ;
}

const char *lab_keep(struct lab *lab, char *text)
{
    ONEIB_APPEND(lab->texts, lab->text_count, lab->text_capacity, text);
    return text;
}

const char *lab_directory(const struct lab *lab)
{
    return lab->directory;
}

const char *lab_socket_name(const struct lab *lab)
{
    return lab->socket_name;
}

const char *lab_path(struct lab *lab, const char *name)
{
    return lab_keep(lab, oneib_asprintf("%s/%s", lab->directory, name));
}

int lab_write(struct lab *lab, const char *name, mode_t mode, const char *text,
              struct oneib_error *err)
{
    const char *path = lab_path(lab, name);
    oneib_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    size_t length = strlen(text);
    if (fd < 0 || fchmod(fd, mode) < 0 || write(fd, text, length) != (ssize_t)length)
        return oneib_fail_errno(err, errno, "writing %s", path);
    return 0;
}

long lab_size(struct lab *lab, const char *file)
{
    char path[256];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", lab->directory, file);
    return stat(path, &status) == 0 ? (long)status.st_size : 0;
}

char *lab_read(struct lab *lab, const char *file)
{
    return lab_read_from(lab, file, 0);
}

char *lab_read_from(struct lab *lab, const char *file, long start)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", lab->directory, file);
    oneib_autofclose FILE *stream = fopen(path, "re");
    if (stream)
        fseek(stream, start, SEEK_SET);
    struct oneib_text text = {0};
    char buffer[4096];
    size_t length;
    while (stream && (length = fread(buffer, 1, sizeof buffer, stream)) > 0)
        oneib_text_append_bytes(&text, buffer, length);
    oneib_text_append(&text, "");
    return text.data;
}

char *lab_log_end(struct lab *lab, const char *file)
{
    const long size = lab_size(lab, file);
    const long start = size > LOG_END ? size - LOG_END : 0;
    oneib_autofree char *text = lab_read_from(lab, file, start);
    char *end = NULL;
    if (size == 0)
        return oneib_strdup("it has said nothing");
    for (size_t length = strlen(text); length > 0 && text[length - 1] == '\n';)
        text[--length] = '\0';
    /* From the beginning of a line on, where there is one. */
    const char *line = start > 0 ? strchr(text, '\n') : NULL;
    return asprintf(&end, "%s ends with:\n%s", file, line ? line + 1 : text) < 0 ? NULL : end;
}

int lab_await_text(struct lab *lab, const char *file, long start, const char *text, pid_t pid,
                   unsigned timeout_ms, struct oneib_error *err)
{
    long end = lab_clock_ms() + timeout_ms;
    for (;;) {
        bool running = lab_is_running(lab, pid);
        oneib_autofree char *content = lab_read_from(lab, file, start);
        if (strstr(content, text))
            return 0;
        oneib_autofree char *said = lab_log_end(lab, file);
        oneib_autofree char *how = running ? NULL : lab_how_it_ended(lab, pid);
        if (!running)
            return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                              "waiting for \"%s\" in %s: the program has %s; %s", text, file, how,
                              said);
        if (lab_clock_ms() > end)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT, "waiting for \"%s\" in %s for %u ms; %s",
                              text, file, timeout_ms, said);
        lab_sleep_ms(5);
    }
}

static void close_all(void)
{
    while (open_labs && open_labs->owner == getpid())
        lab_close(open_labs);
}

/* A program that lab_enter_fabric() started again already has its place on the fabric of its first
 * lab. */
static void choose_socket_name(struct lab *lab)
{
    const char *entered = getenv("LAB_SOCKET_NAME");
    if (entered && labs_opened == 0)
        snprintf(lab->socket_name, sizeof lab->socket_name, "%s", entered);
    else
        snprintf(lab->socket_name, sizeof lab->socket_name, "oneib-lab-%d-%u", getpid(),
                 labs_opened);
    labs_opened++;
}

struct lab *lab_open(const struct lab_options *options, struct oneib_error *err)
{
    struct lab_plan plan;
    if (lab_plan_make(options, &plan, err) < 0)
        return NULL;
    struct lab *lab = oneib_alloc(1, sizeof *lab);
    *lab = (struct lab){
        .owner = getpid(), .options = *options, .plan = plan, .ibsim_stdin = -1, .lock = -1};
    xmlrpc_env_init(&lab->env);
    if (labs_opened == 0)
        atexit(close_all);
    /* The stand-in is on this machine; a site's proxy has no business in between. */
    setenv("no_proxy", "127.0.0.1", 1);
    choose_socket_name(lab);
    lab->next = open_labs;
    open_labs = lab;
    if (lab_directory_open(lab, err) < 0 || lab_find_addresses(lab, err) < 0) {
        lab_close(lab);
        return NULL;
    }
    return lab;
}

void lab_close(struct lab *lab)
{
    if (!lab)
        return;
    struct lab **link = &open_labs;
    while (*link != lab)
        link = &(*link)->next;
    *link = lab->next;
    lab->closing = true;
    lab_client_close(lab);
    lab_kill_children(lab);
    lab_nodes_clear(lab);
    if (lab->ibsim_stdin >= 0)
        close(lab->ibsim_stdin);
    lab_directory_close(lab);
    for (size_t i = 0; i < lab->text_count; i++)
        free(lab->texts[i]);
    for (size_t i = 0; i < lab->child_count; i++)
        free(lab->children[i].name);
    free(lab->texts);
    free(lab->accepted);
    free(lab->ports);
    free(lab->children);
    lab_plan_clear(&lab->plan);
    xmlrpc_env_clean(&lab->env);
    free(lab);
}
