// SPDX-License-Identifier: Apache-2.0
/* A directory of a test's own, and what it writes and reads there. */
#ifndef ONEIB_UNIT_NODE_SCRATCH_H
#define ONEIB_UNIT_NODE_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char scratch_directory[256];

/* Setup and teardown. */
static inline int make_scratch(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(scratch_directory, sizeof scratch_directory, "%s/oneib-node-XXXXXX",
             base && *base ? base : "/tmp");
    return mkdtemp(scratch_directory) ? 0 : -1;
}

static inline int remove_scratch(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", "--", scratch_directory, (char *)NULL);
        _exit(127);
    }
    return waitpid(child, NULL, 0) == child ? 0 : -1;
}

/* Valid until the next call but three. */
static inline const char *in_scratch(const char *name)
{
    static char paths[4][768];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_directory, name);
    return path;
}

static inline void write_scratch(const char *name, const char *content, mode_t mode)
{
    FILE *file = fopen(in_scratch(name), "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(in_scratch(name), mode), 0);
}

/* "" when there is no such file; at most 64 KiB. */
static inline const char *read_scratch(const char *name)
{
    static char content[65536];
    FILE *file = fopen(in_scratch(name), "r");
    content[0] = '\0';
    if (!file)
        return content;
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    return content;
}

#endif
