// SPDX-License-Identifier: Apache-2.0
/* Running oneib-domains, as oneib-node does. */
#ifndef ONEIB_UNIT_DOMAINS_PROGRAM_H
#define ONEIB_UNIT_DOMAINS_PROGRAM_H

#include "listener.h"
#include <spawn.h>
#include <sys/wait.h>

struct domains_program {
    pid_t pid; /* 0: it has ended */
    int socket;
};

/* `input` becomes its standard input. */
static inline pid_t run_domains_program(const char *uri, int input)
{
    pid_t pid;
    char path[] = ONEIB_DOMAINS_PROGRAM, copy[PATH_MAX + 64];
    char *const arguments[] = {path, copy, NULL};
    posix_spawn_file_actions_t files;
    snprintf(copy, sizeof copy, "%s", uri);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    assert_int_equal(posix_spawn(&pid, path, &files, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    return pid;
}

static inline struct domains_program start_domains_program(const char *uri)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const struct domains_program program = {run_domains_program(uri, ends[1]), ends[0]};
    close(ends[1]);
    return program;
}

/* Its exit status. */
static inline int wait_for_domains_program(struct domains_program *program)
{
    int status;
    assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
    program->pid = 0;
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Closing its socket ends it, whatever it is doing. */
static inline void end_domains_program(struct domains_program *program)
{
    if (program->socket >= 0)
        close(program->socket);
    program->socket = -1;
    if (program->pid > 0)
        assert_int_equal(wait_for_domains_program(program), 0);
}

#endif
