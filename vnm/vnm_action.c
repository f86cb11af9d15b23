// SPDX-License-Identifier: Apache-2.0
#include "vnm_action.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "hca/place.h"
#include "node/driver.h"
#include "node/hooks.h"
#include "node/report.h"

/* A document in base64 has four characters for three bytes, and perhaps a line break after every
 * 60; twice its size is more than that. */
#define INPUT_MAX (2 * ONEIB_VM_DOCUMENT_MAX)

#define EXIT_USAGE 2

static int read_input(struct action *action, struct oneib_error *err)
{
    return oneib_stream_read(STDIN_FILENO, "the VM's document on standard input", INPUT_MAX,
                             &action->input, &action->input_length, err);
}

static int perform(struct action *action, action_function act, struct oneib_error *err)
{
    if (read_input(action, err) < 0 || oneib_node_config(&action->config, err) < 0)
        return -1;
    oneib_node_vm_decode(action->input, action->input_length, action->config.one.vn_mad,
                         &action->vm, &action->unreadable);
    const int outcome = act(action, err);
    oneib_node_vm_clear(&action->vm);
    oneib_config_clear(&action->config);
    return outcome;
}

static void report(const struct oneib_error *failure)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_report_failure(failure, &line);
    fputs(line.data ? line.data : "out of memory\n", stderr);
}

void action_warn(const struct oneib_error *left)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_report_warning(left, &line);
    if (line.data)
        fputs(line.data, stderr);
}

int action_main(int argc, char **argv, const char *name, const char *usage, int argument_count,
                action_function act)
{
    struct action action = {0};
    struct oneib_error err = {0};
    if (argc > 2 && strcmp(argv[1], "--hooks") == 0) {
        action.hooks = argv[2];
        argv += 2;
        argc -= 2;
    }
    if (argc - 1 != argument_count) {
        fprintf(stderr, "usage: %s [--hooks DIRECTORY]%s%s\n", name, *usage ? " " : "", usage);
        return EXIT_USAGE;
    }
    action.arguments = argv + 1;
    const int outcome = perform(&action, act, &err);
    free(action.input);
    if (outcome == 0)
        return 0;
    report(&err);
    return EXIT_FAILURE;
}

int action_needs_document(const struct action *action, struct oneib_error *err)
{
    if (action->unreadable.code == ONEIB_ERROR_NONE)
        return 0;
    *err = action->unreadable;
    return -1;
}

int action_run_hooks(const struct action *action, struct oneib_error *err)
{
    if (!action->hooks)
        return 0;
    return oneib_hooks_run(action->hooks, action->arguments, action->input, action->input_length,
                           err);
}

int action_give(struct action *action,
                int (*give)(const struct oneib_config *config, struct oneib_node_vm *vm,
                            struct oneib_error *err),
                struct oneib_error *err)
{
    if (action_needs_document(action, err) < 0 || give(&action->config, &action->vm, err) < 0)
        return -1;
    if (action_run_hooks(action, err) == 0)
        return 0;
    oneib_driver_undo(&action->config, &action->vm);
    return -1;
}
