// SPDX-License-Identifier: Apache-2.0
/*
 * What the virtualization driver's programs do around their actions: read arguments, standard
 * input and configuration, and tell OpenNebula what went wrong.
 *
 * Command line: ACTION --upstream PATH, which is OpenNebula's own action, and OpenNebula's
 * arguments. Those that oneib goes by are checked; the upstream action gets all of them as they
 * are, and more, if a later OpenNebula gives more.
 */
#ifndef ONEIB_VMM_VMM_ACTION_H
#define ONEIB_VMM_VMM_ACTION_H

#include "base/error.h"
#include "base/text.h"
#include "config/config.h"
#include "node/vm_document.h"
#include "vmm/actions.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct action {
    char **argv;      /* borrowed: the program's own */
    uint32_t vm_id;   /* VMID */
    char **arguments; /* borrowed, NULL-terminated */
    char *input;      /* owned: standard input */
    size_t input_length;
    struct oneib_config config;
    struct oneib_node_vm vm; /* read by action_read_vm() */
    struct oneib_text warnings;
    struct oneib_vmm vmm; /* of all of the above */
};

/* *status: what the program ends with. Returns 0 or -1. */
typedef int (*action_function)(struct action *action, int *status, struct oneib_error *err);

/* An action of a program. */
struct action_form {
    const char *name;
    const char
        *arguments; /* OpenNebula gives these, and perhaps more: "DEPLOY_ID HOST VMID HOST" */
    action_function act;
    bool is_ours; /* no action of OpenNebula's: there is no upstream action, nor more arguments */
};

/* The whole program: what main() returns. */
int action_main(int argc, char **argv, const struct action_form *forms, size_t count);

/* Into action->vm, which then is the VM that the action is for. INPUT: one of its NICs is
 * malformed, all else is known. */
int action_read_vm(struct action *action, const char *xml, size_t length, struct oneib_error *err);
/* The same of standard input, strictly, or for an action that only takes away: what a VM has in its
 * domain is taken out of it whatever its document says about its NICs. */
int action_read_input(struct action *action, struct oneib_error *err);
int action_read_input_leniently(struct action *action, struct oneib_error *err);

#endif
