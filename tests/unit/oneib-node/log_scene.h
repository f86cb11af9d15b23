// SPDX-License-Identifier: Apache-2.0
/* What a part of the service logs. */
#ifndef ONEIB_UNIT_ONEIB_NODE_LOG_SCENE_H
#define ONEIB_UNIT_ONEIB_NODE_LOG_SCENE_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char logged[4096];
static int saved_stderr;

static inline void begin_log(void)
{
    const int file = memfd_create("log", MFD_CLOEXEC);
    assert_true(file >= 0);
    saved_stderr = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
}

static inline void end_log(void)
{
    const ssize_t length = pread(STDERR_FILENO, logged, sizeof logged - 1, 0);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    assert_true(length >= 0);
    logged[length] = '\0';
}

#define assert_logged(words)                                                                       \
    do {                                                                                           \
        if (!strstr(logged, words))                                                                \
            fail_msg("\"%s\" is not in: %s", words, logged);                                       \
    } while (0)

#endif
