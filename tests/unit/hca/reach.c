// SPDX-License-Identifier: Apache-2.0
#include "reach.h"
#include "../../skip.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const places[] = {ONEIB_PROJECT_SOURCES, ONEIB_PROJECT_BUILD};

#define PLACES (sizeof places / sizeof *places)

__attribute__((noreturn, format(printf, 1, 2))) static void skip_all(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    exit(SKIPPED);
}

static bool lets_all(const char *path, mode_t mode)
{
    struct stat status;
    return stat(path, &status) == 0 && (status.st_mode & mode) == mode;
}

/* The first directory on the way that others may not enter; its length, 0 where all are open. */
static size_t find_closed(const char *path)
{
    char directory[PATH_MAX];
    for (size_t length = 1; path[length - 1]; length++) {
        if (path[length] != '/' && path[length] != '\0')
            continue;
        snprintf(directory, sizeof directory, "%.*s", (int)length, path);
        if (!lets_all(directory, S_IXOTH))
            return length;
    }
    return 0;
}

/* The directories above the last one, and that one. */
static bool make_directories(const char *path)
{
    char directory[PATH_MAX];
    snprintf(directory, sizeof directory, "%s", path);
    for (char *slash = directory; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(directory, 0755) < 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return mkdir(directory, 0755) == 0 || errno == EEXIST;
}

static void must_be_readable(void)
{
    for (size_t i = 0; i < PLACES; i++)
        if (!lets_all(places[i], S_IROTH | S_IXOTH))
            skip_all("root runs this test as nobody, who may not read %s: it was made with a umask "
                     "like 077",
                     places[i]);
}

/* Where the places are; they are hidden next. */
static bool open_places(int fds[PLACES])
{
    for (size_t i = 0; i < PLACES; i++)
        if ((fds[i] = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
            return false;
    return true;
}

static bool show_places(const int fds[PLACES])
{
    for (size_t i = 0; i < PLACES; i++) {
        char source[64];
        snprintf(source, sizeof source, "/proc/self/fd/%d", fds[i]);
        if (access(places[i], F_OK) == 0)
            continue; /* within the one before, or not hidden */
        if (!make_directories(places[i]) ||
            mount(source, places[i], NULL, MS_BIND | MS_REC, NULL) < 0)
            return false;
    }
    return true;
}

/* An empty directory in place of the closed one, with the project where it was. */
static bool mount_project(const char *closed)
{
    int fds[PLACES];
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        !open_places(fds) ||
        mount("oneib-tests", closed, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") < 0 ||
        !show_places(fds))
        return false;
    for (size_t i = 0; i < PLACES; i++)
        close(fds[i]);
    return true;
}

#define WORDS_MAX 64

/* What the kernel calls this program is below what is hidden now, where it would look for others
 * beside itself. Started anew, it is below what is mounted, and finds nothing closed on the way. */
static void start_anew(const char *program)
{
    static char line[16384];
    char *words[WORDS_MAX + 1] = {0};
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    size_t count = 0;
    for (ssize_t at = 0; at < length && count < WORDS_MAX; at += (ssize_t)strlen(line + at) + 1)
        words[count++] = line + at;
    execv(program, words);
    skip_all("starting %s anew, where nobody can reach it: %s", program, strerror(errno));
}

void reach_project(void)
{
    char closed[PATH_MAX], here[PATH_MAX], program[PATH_MAX];
    const ssize_t named = readlink("/proc/self/exe", program, sizeof program - 1);
    program[named > 0 ? named : 0] = '\0';
    if (!getcwd(here, sizeof here))
        *here = '\0';
    for (size_t i = 0; i < PLACES; i++) {
        const size_t length = find_closed(places[i]);
        if (length == 0)
            continue;
        must_be_readable();
        snprintf(closed, sizeof closed, "%.*s", (int)length, places[i]);
        if (!mount_project(closed))
            skip_all("root runs this test as nobody, who may not enter %s, and a way there cannot "
                     "be mounted: %s",
                     closed, strerror(errno));
        /* The same directory, but the one that has a way to it. */
        (void)!chdir(here);
        start_anew(program);
    }
}
