// SPDX-License-Identifier: Apache-2.0
/* Processes, as /proc shows them. */
#ifndef ONEIB_UNIT_FAMILY_H
#define ONEIB_UNIT_FAMILY_H

#include "../base/scratch.h"
#include <fcntl.h>
#include <stdbool.h>
#include <sys/types.h>

/* A line of /proc/PID/status without its name; "": there is no such process or line. */
static inline void read_status(pid_t pid, const char *name, char *value, size_t size)
{
    char path[64], line[256];
    value[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') {
            const char *begin = line + strlen(name) + 1;
            begin += strspn(begin, " \t");
            snprintf(value, size, "%.*s", (int)strcspn(begin, "\n"), begin);
        }
    if (file)
        fclose(file);
}

static inline void assert_status(pid_t pid, const char *name, const char *expected)
{
    char value[256];
    read_status(pid, name, value, sizeof value);
    assert_string_equal(value, expected);
}

static inline pid_t parent_of(pid_t pid)
{
    char value[256];
    read_status(pid, "PPid", value, sizeof value);
    return atoi(value);
}

/* One that has ended and that nobody has waited for is gone too. */
static inline bool is_gone(pid_t pid)
{
    char value[256];
    read_status(pid, "State", value, sizeof value);
    return value[0] == '\0' || value[0] == 'Z' || value[0] == 'X';
}

static inline void wait_until_gone(pid_t pid)
{
    for (int i = 0; i < 6000 && !is_gone(pid); i++)
        usleep(10000);
    assert_true(is_gone(pid));
}

#endif
