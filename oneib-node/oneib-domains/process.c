// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/oneib-domains/process.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

#define COMMAND_LINE_MAX (256 * 1024)
#define UUID_OPTION "-uuid"

/* Root's, or of whoever this process is: libvirt's note, and nobody else's. */
static bool is_trusted(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_uid == 0 || status.st_uid == geteuid()) &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* 0: none is noted. */
static pid_t read_noted(const char *directory, const char *name)
{
    char path[PATH_MAX], digits[16];
    uint64_t pid;
    if (strchr(name, '/') || snprintf(path, sizeof path, "%s/%s.pid", directory, name) >= PATH_MAX)
        return 0;
    oneib_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || !is_trusted(fd))
        return 0;
    ssize_t length = read(fd, digits, sizeof digits);
    if (length > 0 && digits[length - 1] == '\n')
        length--;
    return length > 0 && oneib_parse_decimal_n(digits, (size_t)length, INT32_MAX, &pid) ? (pid_t)pid
                                                                                        : 0;
}

/* Bytes of /proc/PID/cmdline, arguments that end with a 0 each. 0: it cannot be read, or not all of
 * it. */
static size_t read_command_line(pid_t pid, char *line, size_t size)
{
    char path[64];
    size_t used = 0;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    oneib_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; fd >= 0 && got > 0 && used < size;) {
        got = read(fd, line + used, size - used);
        used += got > 0 ? (size_t)got : 0;
    }
    return used > 0 && used < size && line[used - 1] == '\0' ? used : 0;
}

static bool has_uuid(const char *line, size_t length, const char *uuid)
{
    bool is_next = false;
    for (const char *word = line; word < line + length; word += strlen(word) + 1) {
        if (is_next && strcmp(word, uuid) == 0)
            return true;
        is_next = strcmp(word, UUID_OPTION) == 0;
    }
    return false;
}

static bool is_of(pid_t pid, const char *uuid)
{
    oneib_autofree char *line = oneib_alloc(COMMAND_LINE_MAX, 1);
    return has_uuid(line, read_command_line(pid, line, COMMAND_LINE_MAX), uuid);
}

int oneib_domain_process_open(const char *directory, const char *name, const char *uuid)
{
    const pid_t pid = read_noted(directory, name);
    oneib_autoclose int process = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (process < 0 || !is_of(pid, uuid))
        return -1;
    return oneib_steal_fd(&process);
}

bool oneib_domain_process_has_ended(int process)
{
    struct pollfd end = {.fd = process, .events = POLLIN};
    return poll(&end, 1, 0) == 1 && (end.revents & POLLIN) != 0;
}
