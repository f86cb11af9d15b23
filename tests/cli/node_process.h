// SPDX-License-Identifier: Apache-2.0
/* The real oneib-node of a simulated node, which ONEIB_NODE_ROOT names: started and ended. */
#ifndef ONEIB_TESTS_CLI_NODE_PROCESS_H
#define ONEIB_TESTS_CLI_NODE_PROCESS_H

#include "hca/tree.h"
#include "run.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t node; /* 0: it does not run */

static inline void spawn_node(void)
{
    char *log = tree_path("/log");
    node = fork();
    assert_true(node >= 0);
    if (node == 0) {
        const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
            _exit(126);
        execl(ONEIB_NODE_BINARY, "oneib-node", (char *)NULL);
        _exit(127);
    }
    free(log);
}

/* "up": it answers; "known": it knows the domains. */
static inline void await_node(const char *what)
{
    int status;
    const pid_t asker = fork();
    assert_true(asker >= 0);
    if (asker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(ONEIB_ASK_BINARY, "oneib-node-ask", "await", what, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(asker, &status, 0), asker);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("oneib-node does not serve");
}

/* So that who plays the adapter's or libvirt's part can tell it of events. */
static inline void note_node(void)
{
    char text[16];
    snprintf(text, sizeof text, "%d", (int)node);
    tree_write(text, "/run/service.pid");
}

static inline void start_node(void)
{
    spawn_node();
    await_node("known");
    note_node();
}

static inline void stop_node(int signal)
{
    int status;
    if (node <= 0)
        return;
    kill(node, signal);
    assert_int_equal(waitpid(node, &status, 0), node);
    node = 0;
}

static inline void restart_node(void)
{
    stop_node(SIGTERM);
    start_node();
}

#endif
