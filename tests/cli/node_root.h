// SPDX-License-Identifier: Apache-2.0
/* A node's make-believe sysfs that the command sees, and a directory for its files: for main(). */
#ifndef ONEIB_TESTS_NODE_ROOT_H
#define ONEIB_TESTS_NODE_ROOT_H

#include "hca/tree.h"
#include "run.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static inline void open_node_root(void)
{
    static char variable[PATH_MAX];
    tree_open();
    if (make_directory(NULL) < 0)
        exit(1);
    snprintf(variable, sizeof variable, "ONEIB_NODE_ROOT=%s", tree_root());
    set_variable(variable);
}

/* What main() returns, where the tests have come to `status`. */
static inline int close_node_root(int status)
{
    remove_directory(NULL);
    return tree_close(status);
}

#endif
