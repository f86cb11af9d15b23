// SPDX-License-Identifier: Apache-2.0
/*
 * The network driver on a node, one program for all of its actions: reads standard input and
 * configuration, does the action, runs the operator's hooks, tells OpenNebula why it failed.
 *
 * Command line: ACTION [--hooks DIRECTORY] and exactly the arguments that OpenNebula gives the
 * action. The script that calls the program says the first two; none of OpenNebula's begins with a
 * dash.
 */
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/exit.h"
#include "base/file.h"
#include "hca/place.h"
#include "node/driver.h"
#include "node/hooks.h"
#include "node/report.h"
#include <string.h>

/* A document in base64 has four characters for three bytes, and perhaps a line break after every
 * 60; twice its size is more than that. */
#define INPUT_MAX (2 * ONEIB_VM_DOCUMENT_MAX)

struct call {
    const char *hooks; /* borrowed; NULL: none */
    char **arguments;  /* borrowed: OpenNebula's, NULL-terminated */
    char *input;       /* owned: standard input as it came */
    size_t input_length;
    struct oneib_config config;
    struct oneib_node_vm vm;
    struct oneib_error unreadable; /* why the document was refused; NONE: it was read */
};

/* The document was refused: that is the failure. */
static int needs_document(const struct call *call, struct oneib_error *err)
{
    if (call->unreadable.code == ONEIB_ERROR_NONE)
        return 0;
    *err = call->unreadable;
    return -1;
}

static int run_hooks(const struct call *call, struct oneib_error *err)
{
    return call->hooks
               ? oneib_hooks_run(call->hooks, call->arguments, call->input, call->input_length, err)
               : 0;
}

/* What is not as it should be, without failing: a line of the VM's log. */
static void warn(const struct oneib_error *left)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_report_warning(left, &line);
    fputs(line.data, stderr);
}

/* What the driver gives, and then the operator's hooks; when one of those fails it is taken back.
 */
static int give(struct call *call,
                int (*give_vfs)(const struct oneib_config *config, struct oneib_node_vm *vm,
                                struct oneib_error *err),
                struct oneib_error *err)
{
    if (needs_document(call, err) < 0 || give_vfs(&call->config, &call->vm, err) < 0)
        return -1;
    if (run_hooks(call, err) == 0)
        return 0;
    oneib_driver_undo(&call->config, &call->vm);
    return -1;
}

/* ---- the actions ----------------------------------------------------------------------------- */

/* Before a VM starts, is restored or migrated here, or gets a NIC. */
static int pre(struct call *call, struct oneib_error *err)
{
    return give(call, oneib_driver_pre, err);
}

static int arrive(struct call *call, struct oneib_error *err)
{
    struct oneib_error left;
    size_t length;
    oneib_autofree char *document = oneib_base64_decode(call->input, call->input_length, &length);
    if (!document)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "the VM's document is not base64");
    if (oneib_driver_arrive(&call->config, &call->vm, document, length, &left, err) < 0)
        return -1;
    if (left.code != ONEIB_ERROR_NONE)
        warn(&left);
    return run_hooks(call, err);
}

/* After a VM has started, was restored or migrated here, or got a NIC. */
static int post(struct call *call, struct oneib_error *err)
{
    if (needs_document(call, err) < 0)
        return -1;
    return call->vm.attaching ? give(call, oneib_driver_post, err) : arrive(call, err);
}

/* The VM has been shut down or saved, the NIC detached, when this is called. OpenNebula would take
 * all that for failed if this failed: what only takes longer is no reason. */
static int release(const struct call *call, struct oneib_error *err)
{
    struct oneib_error failure = {0};
    if (oneib_driver_clean(&call->config, &call->vm, call->arguments[0], &failure) == 0)
        return 0;
    if (failure.code == ONEIB_ERROR_TIMEOUT) {
        warn(&failure);
        return 0;
    }
    *err = failure;
    return -1;
}

/* After a VM has left this host, or lost a NIC. */
static int clean(struct call *call, struct oneib_error *err)
{
    /* A NIC that is malformed hinders nobody from closing what the VM has. */
    if (call->unreadable.code != ONEIB_ERROR_INPUT && needs_document(call, err) < 0)
        return -1;
    return release(call, err) < 0 ? -1 : run_hooks(call, err);
}

static const struct action {
    const char *name, *usage;
    int argument_count;
    int (*act)(struct call *call, struct oneib_error *err);
} actions[] = {
    {"pre", "", 0, pre},
    {"post", " DEPLOY_ID HOST", 2, post},
    {"clean", " HOST", 1, clean},
};

/* ---- the program ----------------------------------------------------------------------------- */

static int perform(struct call *call, const struct action *action, struct oneib_error *err)
{
    if (oneib_stream_read(STDIN_FILENO, "the VM's document on standard input", INPUT_MAX,
                          &call->input, &call->input_length, err) < 0 ||
        oneib_node_config(&call->config, err) < 0)
        return -1;
    oneib_node_vm_decode(call->input, call->input_length, call->config.one.vn_mad, &call->vm,
                         &call->unreadable);
    const int outcome = action->act(call, err);
    oneib_node_vm_clear(&call->vm);
    oneib_config_clear(&call->config);
    return outcome;
}

static int report(const struct oneib_error *failure)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_report_failure(failure, &line);
    fputs(line.data, stderr);
    return EXIT_FAILURE;
}

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; name && i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    return NULL;
}

static int usage(const struct action *action)
{
    fprintf(stderr, "usage: %s [--hooks DIRECTORY]%s\n", action ? action->name : "ACTION",
            action ? action->usage : " ARGUMENT...");
    return ONEIB_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    const struct action *action = find_action(argv[1]);
    struct call call = {.arguments = argv + 2};
    struct oneib_error err = {0};
    if (argc > 3 && strcmp(argv[2], "--hooks") == 0) {
        call.hooks = argv[3];
        call.arguments = argv + 4;
    }
    if (!action || argv + argc - call.arguments != action->argument_count)
        return usage(action);
    const int outcome = perform(&call, action, &err);
    free(call.input);
    return outcome == 0 ? EXIT_SUCCESS : report(&err);
}
