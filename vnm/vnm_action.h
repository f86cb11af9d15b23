// SPDX-License-Identifier: Apache-2.0
/*
 * What all of the network driver's programs on a node do around their action: read standard input
 * and configuration, run the hooks, tell OpenNebula why it failed.
 *
 * Command line: [--hooks DIRECTORY] and exactly the arguments that OpenNebula gives the action. The
 * script that calls the program names the directory; it is no argument of OpenNebula's, none of
 * which begins with a dash.
 */
#ifndef ONEIB_VNM_VNM_ACTION_H
#define ONEIB_VNM_VNM_ACTION_H

#include "base/error.h"
#include "config/config.h"
#include "node/vm_document.h"
#include <stddef.h>

struct action {
    const char *hooks; /* borrowed; NULL: none */
    char **arguments;  /* borrowed: OpenNebula's, NULL-terminated */
    char *input;       /* owned: standard input as it came */
    size_t input_length;
    struct oneib_config config;
    struct oneib_node_vm vm;
    struct oneib_error unreadable; /* why the document was refused; NONE: it was read */
};

/* Returns 0 or -1. */
typedef int (*action_function)(struct action *action, struct oneib_error *err);

/* The whole program: what main() returns. usage: "HOST", the arguments' names. */
int action_main(int argc, char **argv, const char *name, const char *usage, int argument_count,
                action_function act);

/* Tells OpenNebula what is not as it should be, without failing: a line of the VM's log. */
void action_warn(const struct oneib_error *left);

/* The document was refused: that is the failure. */
int action_needs_document(const struct action *action, struct oneib_error *err);
/* Runs the hooks of this action, after its own part. */
int action_run_hooks(const struct action *action, struct oneib_error *err);

/* What the driver gives, and then the operator's hooks; when one of those fails it is taken back.
 */
int action_give(struct action *action,
                int (*give)(const struct oneib_config *config, struct oneib_node_vm *vm,
                            struct oneib_error *err),
                struct oneib_error *err);

#endif
