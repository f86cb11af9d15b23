// SPDX-License-Identifier: Apache-2.0
#include "domain/domains_ask.h"
#include "base/command.h"
#include "base/escape.h"
#include "hca/place.h"
#include <limits.h>
#include <string.h>

#define PROGRAM "oneib-domains"
#define BUILT "core/domain/" PROGRAM
#define PREFIX PROGRAM ": " /* of what it says on standard error */
#define TIMEOUT_MS 10000
#define LIST_MAX ((size_t)4 * 1024 * 1024)

/* Its own words on why it could not answer: it says them last. */
static int fail_with_words(const struct oneib_text *words, int status, struct oneib_error *err)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_text_append_last_line(&line, words->data);
    if (line.length == 0)
        return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, PROGRAM " failed with exit status %d",
                          status);
    const bool has_prefix = strncmp(line.data, PREFIX, strlen(PREFIX)) == 0;
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s",
                      line.data + (has_prefix ? strlen(PREFIX) : 0));
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
    oneib_node_program(PROGRAM, BUILT, path);
    return oneib_domains_ask_program(path, config->node.libvirt, TIMEOUT_MS, domains, err);
}
