// SPDX-License-Identifier: Apache-2.0
#include "node/helper.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/escape.h"
#include <inttypes.h>
#include <stdarg.h>

#define NAME_OF_PROGRAM "oneib-vf: "
#define OUTPUT_MAX 4096
#define QUOTED_MAX 300

/* Beside the waiting for keys and GUIDs: locks that others have, and the SM's own pace. */
#define MARGIN_MS 30000

static const char *const default_helper[] = {"/usr/bin/sudo", "-n", ONEIB_PROGRAMS "/oneib-vf",
                                             NULL};

/* The words of a command line, all owned. Failure is sticky. */
struct words {
    char **items;
    size_t count, capacity;
    bool failed;
};

static void clear_words(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
}

static void add_owned(struct words *words, char *word)
{
    struct oneib_error err;
    if (oneib_reserve(&words->items, &words->capacity, words->count + 2, sizeof *words->items,
                      &err) < 0) {
        words->failed = true;
        free(word);
        return;
    }
    words->failed = words->failed || !word;
    words->items[words->count++] = word;
    words->items[words->count] = NULL;
}

static void add(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct words *words, const char *format, ...)
{
    char *word = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&word, format, arguments) < 0)
        word = NULL;
    va_end(arguments);
    add_owned(words, word);
}

static void add_pci(struct words *words, const char *option, const struct oneib_pci *pci)
{
    char text[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(pci, text);
    add(words, "%s", option);
    add(words, "%s", text);
}

static void add_number(struct words *words, const char *option, uint32_t number)
{
    add(words, "%s", option);
    add(words, "%" PRIu32, number);
}

static void add_in_use(struct words *words, const struct oneib_pci *in_use, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_pci(words, "--in-use", &in_use[i]);
}

static void add_helper(struct words *words, const struct oneib_config *config, const char *verb,
                       uint32_t vm_id)
{
    if (config->node.helper)
        for (char **word = config->node.helper; *word; word++)
            add(words, "%s", *word);
    else
        for (const char *const *word = default_helper; *word; word++)
            add(words, "%s", *word);
    add(words, "%s", verb);
    add_number(words, "--vm", vm_id);
}

/* What it said, in one line; NULL: it did not come to say anything. */
static const char *own_words(const struct oneib_text *errors)
{
    const char *line = errors->data ? errors->data : "";
    while (line && strncmp(line, NAME_OF_PROGRAM, strlen(NAME_OF_PROGRAM)) != 0) {
        line = strchr(line, '\n');
        if (line)
            line++;
    }
    return line ? line + strlen(NAME_OF_PROGRAM) : NULL;
}

static int fail_as_told(const char *program, int status, const struct oneib_text *errors,
                        struct oneib_error *err)
{
    oneib_autotext struct oneib_text quoted = {0};
    const char *told = own_words(errors);
    if (told)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "%.*s", (int)strcspn(told, "\n"), told);
    oneib_text_append_escaped(&quoted, errors->data, QUOTED_MAX);
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE,
                      "oneib-vf could not be called: %s ended with exit status %d%s%s%s: "
                      "'install.sh --node' installs it and its line for sudo",
                      program, status, quoted.length ? ", \"" : "",
                      quoted.length ? quoted.data : "", quoted.length ? "\"" : "");
}

static int call(const struct words *words, uint64_t timeout_ms, struct oneib_text *output,
                struct oneib_error *err)
{
    oneib_autotext struct oneib_text errors = {0};
    int status;
    if (words->failed)
        return oneib_fail_memory(err);
    const char **argv;
    memcpy(&argv, &words->items, sizeof argv);
    const struct oneib_command command = {
        .argv = argv,
        .timeout_ms = timeout_ms < UINT32_MAX ? (uint32_t)timeout_ms : UINT32_MAX,
        .output_max = OUTPUT_MAX,
    };
    if (oneib_command_capture(&command, output, &errors, &status, err) < 0)
        return oneib_wrap(err, "calling oneib-vf");
    return status == 0 ? 0 : fail_as_told(words->items[0], status, &errors, err);
}

static void add_assignment(struct words *words, const struct oneib_assignment *assignment)
{
    add_number(words, "--nic", assignment->nic_id);
    if (assignment->pkey != 0) {
        add(words, "--pkey");
        add(words, "0x%04x", assignment->pkey);
    } else {
        add(words, "--no-pkey");
    }
    if (assignment->limited)
        add(words, "--limited");
    if (assignment->device[0]) {
        add(words, "--device");
        if (assignment->port > 0)
            add(words, "%s:%u", assignment->device, assignment->port);
        else
            add(words, "%s", assignment->device);
    }
    if (assignment->has_vf)
        add_pci(words, "--vf", &assignment->vf);
    if (assignment->numa_node >= 0)
        add_number(words, "--numa", (uint32_t)assignment->numa_node);
    if (assignment->defer_guid)
        add(words, "--defer-guid");
    add_in_use(words, assignment->in_use, assignment->in_use_count);
}

static int read_record(const struct oneib_text *output, const struct oneib_assignment *assignment,
                       struct oneib_vf_record *record, struct oneib_error *err)
{
    const char *line = output->data ? output->data : "";
    if (oneib_vf_record_parse(line, strcspn(line, "\n"), record, err) < 0)
        return oneib_wrap(err, "reading what oneib-vf printed");
    if (record->vm_id != assignment->vm_id || record->nic_id != assignment->nic_id)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL,
                          "oneib-vf answered for VM %" PRIu32 " NIC %u instead of VM %" PRIu32
                          " NIC %u",
                          record->vm_id, record->nic_id, assignment->vm_id, assignment->nic_id);
    return 0;
}

int oneib_helper_assign(const struct oneib_config *config,
                        const struct oneib_assignment *assignment, struct oneib_vf_record *record,
                        struct oneib_error *err)
{
    __attribute__((cleanup(clear_words))) struct words words = {0};
    oneib_autotext struct oneib_text output = {0};
    add_helper(&words, config, "assign", assignment->vm_id);
    add_assignment(&words, assignment);
    const uint64_t waits = (uint64_t)config->node.pkey_wait_ms + config->node.guid_wait_ms;
    if (call(&words, waits + MARGIN_MS, &output, err) < 0)
        return -1;
    return read_record(&output, assignment, record, err);
}

int oneib_helper_release(const struct oneib_config *config, uint32_t vm_id, int nic_id,
                         struct oneib_error *err)
{
    __attribute__((cleanup(clear_words))) struct words words = {0};
    oneib_autotext struct oneib_text output = {0};
    add_helper(&words, config, "release", vm_id);
    if (nic_id >= 0)
        add_number(&words, "--nic", (uint32_t)nic_id);
    return call(&words, (uint64_t)config->node.guid_wait_ms + MARGIN_MS, &output, err);
}

int oneib_helper_release_vf(const struct oneib_config *config, const struct oneib_pci *vf,
                            uint32_t vm_id, const struct oneib_pci *in_use, size_t in_use_count,
                            struct oneib_error *err)
{
    __attribute__((cleanup(clear_words))) struct words words = {0};
    oneib_autotext struct oneib_text output = {0};
    add_helper(&words, config, "release", vm_id);
    add_pci(&words, "--vf", vf);
    add_in_use(&words, in_use, in_use_count);
    return call(&words, (uint64_t)config->node.guid_wait_ms + MARGIN_MS, &output, err);
}
