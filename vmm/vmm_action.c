// SPDX-License-Identifier: Apache-2.0
#include "vmm_action.h"
#include "base/cleanup.h"
#include "base/exit.h"
#include "base/file.h"
#include "base/number.h"
#include "hca/place.h"
#include "node/report.h"
#include "xml/values.h"
#include <inttypes.h>
#include <signal.h>

/* ---- signals --------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void ignore(int signal_number)
{
    (void)signal_number;
}

static void note_signal(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

/* A handler, unlike SIG_IGN, is not handed down to the programs that are called. */
static void handle(int signal_number, void (*handler)(int))
{
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(signal_number, &action, NULL);
}

/* Whoever reads what is said may be gone. */
static void outlive_broken_pipes(void)
{
    handle(SIGPIPE, ignore);
}

/* What is under way is finished, or undone where it can be, lest a VM be left without its VFs. */
static void outlive_the_caller(void)
{
    handle(SIGTERM, note_signal);
    handle(SIGHUP, note_signal);
    handle(SIGINT, note_signal);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void say(void (*report)(const struct oneib_error *what, struct oneib_text *text),
                const struct oneib_error *what)
{
    oneib_autotext struct oneib_text line = {0};
    report(what, &line);
    fputs(line.data, stderr);
}

static void say_warnings(const struct oneib_text *warnings)
{
    for (const char *line = warnings->data; line && *line;) {
        const size_t length = strcspn(line, "\n");
        struct oneib_error warning = {0};
        if (length > 0) {
            oneib_fail(&warning, ONEIB_ERROR_REFUSED, "%.*s", (int)length, line);
            say(oneib_report_warning, &warning);
        }
        line += length + (line[length] == '\n');
    }
}

static int usage(const struct action_form *form)
{
    fprintf(stderr, "usage: %s%s %s\n", form ? form->name : "ACTION",
            form && form->is_ours ? "" : " --upstream PATH",
            form ? form->arguments : "ARGUMENT...");
    return ONEIB_EXIT_USAGE;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static const struct action_form *find_form(const struct action_form *forms, size_t count,
                                           const char *name)
{
    for (size_t i = 0; name && i < count; i++)
        if (strcmp(forms[i].name, name) == 0)
            return &forms[i];
    return NULL;
}

/* How many words there are before that one; all of them where it is not among them, as "". */
static int place_of(const char *words, const char *word)
{
    int place = 0;
    for (size_t length; *words; words += length + (words[length] == ' '), place++) {
        length = strcspn(words, " ");
        if (length == strlen(word) && strncmp(words, word, length) == 0)
            break;
    }
    return place;
}

static bool read_arguments(int argc, char **argv, const struct action_form *form,
                           struct action *action)
{
    const int count = place_of(form->arguments, "");
    if (form->is_ours) {
        action->arguments = argv + 2;
        return argc - 2 == count;
    }
    if (argc < 4 || strcmp(argv[2], "--upstream") != 0)
        return false;
    action->vmm.upstream.path = argv[3];
    action->arguments = argv + 4;
    return argc - 4 >= count;
}

static int read_ids(struct action *action, const struct action_form *form, struct oneib_error *err)
{
    uint64_t vm_id;
    const int id_place = place_of(form->arguments, "VMID");
    const int domain_place = place_of(form->arguments, "DEPLOY_ID");
    if (!oneib_parse_decimal(action->arguments[id_place], ONEIB_ID_MAX, &vm_id))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "the VM's id, argument %d of this action, is no number", id_place + 1);
    action->vm_id = (uint32_t)vm_id;
    if (domain_place == place_of(form->arguments, ""))
        return 0;
    action->vmm.domain = action->arguments[domain_place];
    if (*action->vmm.domain == '\0')
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "VM %" PRIu32 ": OpenNebula does not say which domain it is: argument %d "
                          "of this action, DEPLOY_ID, is empty",
                          action->vm_id, domain_place + 1);
    return 0;
}

/* ---- the VM's document ----------------------------------------------------------------------- */

static int check_id(const struct action *action, struct oneib_error *err)
{
    if (action->vm.id == action->vm_id)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                      "this action is for VM %" PRIu32 ", but OpenNebula's document is that of VM "
                      "%" PRIu32,
                      action->vm_id, action->vm.id);
}

int action_read_vm(struct action *action, const char *xml, size_t length, struct oneib_error *err)
{
    struct oneib_error fault = {0};
    if (oneib_node_vm_parse(xml, length, action->config.one.vn_mad, &action->vm, &fault) < 0 &&
        fault.code != ONEIB_ERROR_INPUT) {
        *err = fault;
        return oneib_wrap(err, "VM %" PRIu32, action->vm_id);
    }
    if (check_id(action, err) < 0)
        return -1;
    if (fault.code == ONEIB_ERROR_NONE)
        return 0;
    *err = fault;
    return -1;
}

int action_read_input(struct action *action, struct oneib_error *err)
{
    return action_read_vm(action, action->input, action->input_length, err);
}

int action_read_input_leniently(struct action *action, struct oneib_error *err)
{
    struct oneib_error fault = {0};
    if (action_read_input(action, &fault) == 0 || fault.code == ONEIB_ERROR_INPUT)
        return 0;
    *err = fault;
    return -1;
}

/* ---- the program ----------------------------------------------------------------------------- */

static int perform(struct action *action, const struct action_form *form, int *status,
                   struct oneib_error *err)
{
    if (read_ids(action, form, err) < 0 ||
        oneib_stream_read(STDIN_FILENO, "what OpenNebula gives on standard input",
                          ONEIB_VM_DOCUMENT_MAX, &action->input, &action->input_length, err) < 0 ||
        oneib_node_config(&action->config, err) < 0)
        return -1;
    action->vmm.config = &action->config;
    action->vmm.vm = &action->vm;
    action->vmm.warnings = &action->warnings;
    action->vmm.upstream.arguments = action->arguments;
    action->vmm.upstream.input = action->input;
    action->vmm.upstream.input_length = action->input_length;
    action->vmm.upstream.interrupted = &interrupted;
    outlive_the_caller();
    const int outcome = form->act(action, status, err);
    oneib_config_clear(&action->config);
    return outcome;
}

int action_main(int argc, char **argv, const struct action_form *forms, size_t count)
{
    const struct action_form *form = find_form(forms, count, argv[1]);
    struct action action = {.argv = argv, .vm = {.id = ONEIB_NO_ID}};
    struct oneib_error err = {0};
    int status = EXIT_SUCCESS;
    if (!form || !read_arguments(argc, argv, form, &action))
        return usage(form);
    outlive_broken_pipes();
    if (perform(&action, form, &status, &err) < 0) {
        say_warnings(&action.warnings);
        say(oneib_report_failure, &err);
        status = EXIT_FAILURE;
    } else {
        say_warnings(&action.warnings);
    }
    oneib_text_clear(&action.warnings);
    oneib_node_vm_clear(&action.vm);
    free(action.input);
    return status;
}
