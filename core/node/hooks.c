// SPDX-License-Identifier: Apache-2.0
#include "node/hooks.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/escape.h"
#include "base/memory.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#define OUTPUT_MAX 4096
#define QUOTED_MAX 300

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* In the order of bytes, whatever the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* A directory may be executed too, in the sense of access(2). */
static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* The newline at the end of what a program says is none of its words. */
static void drop_last_newlines(struct oneib_text *text)
{
    while (text->length > 0 && text->data[text->length - 1] == '\n')
        text->data[--text->length] = '\0';
}

static int fail_as_told(const char *name, int status, struct oneib_text *output,
                        struct oneib_error *err)
{
    oneib_autotext struct oneib_text escaped_name = {0}, quoted = {0};
    drop_last_newlines(output);
    oneib_text_append_escaped(&escaped_name, name, NAME_MAX);
    oneib_text_append_escaped(&quoted, output->data, QUOTED_MAX);
    return oneib_fail(err, ONEIB_ERROR_REFUSED, "hook \"%s\" ended with exit status %d%s%s%s",
                      escaped_name.data, status, quoted.length ? ", \"" : "",
                      quoted.length ? quoted.data : "", quoted.length ? "\"" : "");
}

static const char **make_argv(const char *path, char *const *arguments)
{
    size_t count = 0;
    while (arguments[count])
        count++;
    const char **argv = oneib_alloc(count + 2, sizeof *argv);
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = arguments[i];
    argv[0] = path;
    return argv;
}

static int run(const char *path, const char *name, char *const *arguments, const char *input,
               size_t input_length, struct oneib_error *err)
{
    oneib_autotext struct oneib_text output = {0};
    oneib_autofree const char **argv = make_argv(path, arguments);
    int status;
    const struct oneib_command command = {
        .argv = argv,
        .input = input,
        .input_length = input_length,
        .timeout_ms = ONEIB_HOOK_TIMEOUT_MS,
        .output_max = OUTPUT_MAX,
    };
    if (oneib_command_capture(&command, &output, &output, &status, err) < 0)
        return oneib_wrap(err, "running a hook");
    return status == 0 ? 0 : fail_as_told(name, status, &output, err);
}

static int run_named(const char *directory, const char *name, char *const *arguments,
                     const char *input, size_t input_length, struct oneib_error *err)
{
    oneib_autofree char *path = oneib_asprintf("%s/%s", directory, name);
    return is_program(path) ? run(path, name, arguments, input, input_length, err) : 0;
}

int oneib_hooks_run(const char *directory, char *const *arguments, const char *input,
                    size_t input_length, struct oneib_error *err)
{
    struct dirent **entries = NULL;
    const int count = scandir(directory, &entries, is_visible, by_name);
    if (count < 0 && errno == ENOENT)
        return 0;
    if (count < 0)
        return oneib_fail_errno(err, errno, "looking for hooks in %s", directory);
    int outcome = 0;
    for (int i = 0; i < count; i++) {
        if (outcome == 0)
            outcome = run_named(directory, entries[i]->d_name, arguments, input, input_length, err);
        free(entries[i]);
    }
    free(entries);
    return outcome;
}
