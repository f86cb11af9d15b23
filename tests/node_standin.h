// SPDX-License-Identifier: Apache-2.0
/* Starting oneib-node-standin (tests/node-standin.c, whose program NODE_STANDIN names), and ending
 * it. Include it after cmocka.h. */
#ifndef ONEIB_TEST_NODE_STANDIN_H
#define ONEIB_TEST_NODE_STANDIN_H

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t node_standin;
static int node_standin_output = -1;

/* On the node that ONEIB_NODE_ROOT names; it listens when this returns. */
static inline void start_node_standin(void)
{
    char word[8];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    node_standin = fork();
    assert_true(node_standin >= 0);
    if (node_standin == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(NODE_STANDIN, "oneib-node-standin", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    assert_true(read(ends[0], word, sizeof word) > 0);
    node_standin_output = ends[0];
}

/* Nobody answers any more when this returns: whom it has just forked for a caller may listen for
 * a moment longer than itself. Without one it does nothing. */
static inline void stop_node_standin(void)
{
    char byte;
    if (node_standin > 0) {
        kill(node_standin, SIGKILL);
        waitpid(node_standin, NULL, 0);
        while (read(node_standin_output, &byte, 1) > 0)
            ;
        close(node_standin_output);
    }
    node_standin = 0;
}

#endif
