// SPDX-License-Identifier: Apache-2.0
#include "domain/domains_ask.h"
#include "base/command.h"
#include "base/escape.h"
#include "hca/place.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "oneib-domains"
#define INSTALLED ONEIB_PROGRAMS "/" PROGRAM
#define PREFIX PROGRAM ": " /* of what it says on standard error */
#define TIMEOUT_MS 10000
#define LIST_MAX ((size_t)4 * 1024 * 1024)
#define FOLDERS_ABOVE 3 /* as deep as programs lie in a build folder */

/* --- where it is ---------------------------------------------------------------------------- */

static bool is_there(char *path, size_t size, const char *folder, const char *name)
{
    const int length = snprintf(path, size, "%s/%s", folder, name);
    return length > 0 && (size_t)length < size && access(path, X_OK) == 0;
}

/* "/a/b" of "/a/b/c"; false when nothing is above. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return false;
    *slash = '\0';
    return true;
}

/* Beside the running program, or above it: as it lies in a build folder, or installed elsewhere. */
static bool find_near(char *path, size_t size)
{
    char folder[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    for (int i = 0; i <= FOLDERS_ABOVE && go_up(folder); i++)
        if (is_there(path, size, folder, PROGRAM) ||
            is_there(path, size, folder, "core/domain/" PROGRAM))
            return true;
    return false;
}

/*
 * On a real node it is where it was installed, in a folder of root's, and nowhere else. Only a
 * simulated node, which nobody runs as root (hca/place.h), looks around: its programs are run from
 * the folder where they were built.
 */
static const char *find_program(char *path, size_t size)
{
    return oneib_node_is_simulated() && find_near(path, size) ? path : INSTALLED;
}

/* --- what it says --------------------------------------------------------------------------- */

/* The last line without its newline, as it is, but for what could steer a terminal. */
static void append_last_line(struct oneib_text *text, const struct oneib_text *words)
{
    const char *start = words->data ? words->data : "";
    for (const char *newline; (newline = strchr(start, '\n')) && newline[1];)
        start = newline + 1;
    if (strncmp(start, PREFIX, strlen(PREFIX)) == 0)
        start += strlen(PREFIX);
    for (const char *at = start; *at && *at != '\n';) {
        const size_t length = oneib_printable_length(at);
        if (length)
            oneib_text_append_bytes(text, at, length);
        else
            oneib_text_printf(text, "\\x%02x", (unsigned char)*at);
        at += length ? length : 1;
    }
}

/* Its own words on why it could not answer: it says them last. */
static int fail_with_words(const struct oneib_text *words, int status, struct oneib_error *err)
{
    oneib_autotext struct oneib_text line = {0};
    append_last_line(&line, words);
    if (line.length == 0)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, PROGRAM " failed with exit status %d",
                          status);
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s", line.data);
}

static int ask(const struct oneib_command *command, struct oneib_domains *domains,
               struct oneib_error *err)
{
    oneib_autotext struct oneib_text list = {0}, words = {0};
    int status = 0;
    if (oneib_command_capture(command, &list, &words, &status, err) < 0)
        return -1;
    if (status != 0)
        return fail_with_words(&words, status, err);
    if (list.length >= LIST_MAX)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, PROGRAM " lists more than %zu bytes",
                          LIST_MAX - 1);
    return oneib_domains_parse(list.data ? list.data : "", list.length, domains, err);
}

int oneib_domains_ask_program(const char *program, const char *uri, uint32_t timeout_ms,
                              struct oneib_domains *domains, struct oneib_error *err)
{
    const char *const argv[] = {program, uri, NULL};
    const struct oneib_command command = {
        .argv = argv, .timeout_ms = timeout_ms, .output_max = LIST_MAX};
    *domains = (struct oneib_domains){0};
    if (ask(&command, domains, err) < 0)
        return oneib_wrap(err, "asking libvirt (%s) for its domains", uri);
    return 0;
}

int oneib_domains_ask(const struct oneib_config *config, struct oneib_domains *domains,
                      struct oneib_error *err)
{
    char path[PATH_MAX];
    return oneib_domains_ask_program(find_program(path, sizeof path), config->node.libvirt,
                                     TIMEOUT_MS, domains, err);
}
