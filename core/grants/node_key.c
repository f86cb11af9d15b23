// SPDX-License-Identifier: Apache-2.0
#include "grants/node_key.h"
#include "base/command.h"
#include "base/escape.h"
#include "base/text.h"
#include "cluster/names.h"
#include "grants/daemons.h"
#include "grants/seal.h"
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define ONEADMIN "oneadmin"
#define SSH_TIMEOUT_MS 30000
#define AT_ONCE 16
#define OUTPUT_MAX 4096
#define QUOTED_MAX 200
#define ARGUMENTS_MAX 16

/* The hosts that remain to be asked, shared by the threads that ask. */
struct queue {
    struct oneib_node_key *all;
    size_t count;
    bool as_oneadmin;
    atomic_size_t next;
};

static void remove_newline(struct oneib_text *text)
{
    if (text->length > 0 && text->data[text->length - 1] == '\n')
        text->data[--text->length] = '\0';
}

static int run_ssh(const char *host_name, bool as_oneadmin, struct oneib_text *output,
                   struct oneib_error *err)
{
    static const char *const runuser[] = {"runuser", "-u", ONEADMIN, "--"};
    const char *const ssh[] = {
        "ssh",     "-o",  "BatchMode=yes",       "-o", "ConnectTimeout=10", "--",
        host_name, "cat", ONEIB_NODE_PUBLIC_FILE};
    const char *argv[ARGUMENTS_MAX] = {NULL};
    const size_t before = as_oneadmin ? sizeof runuser / sizeof *runuser : 0;
    memcpy(argv, runuser, before * sizeof *argv);
    memcpy(&argv[before], ssh, sizeof ssh);
    oneib_autotext struct oneib_text errors = {0}, quoted = {0};
    int status;
    const struct oneib_command command = {
        .argv = argv, .timeout_ms = SSH_TIMEOUT_MS, .output_max = OUTPUT_MAX};
    if (oneib_command_capture(&command, output, &errors, &status, err) < 0)
        return -1;
    if (status == 0)
        return 0;
    remove_newline(&errors);
    oneib_text_append_escaped(&quoted, errors.data ? errors.data : "", QUOTED_MAX);
    return oneib_fail(err, status == 255 ? ONEIB_ERROR_UNREACHABLE : ONEIB_ERROR_NOT_FOUND,
                      "ssh exited with status %d: %s", status, quoted.data ? quoted.data : "");
}

static int fetch(const char *host_name, bool as_oneadmin, uint8_t key[ONEIB_PUBLIC_KEY_SIZE],
                 struct oneib_error *err)
{
    oneib_autotext struct oneib_text output = {0};
    if (run_ssh(host_name, as_oneadmin, &output, err) < 0)
        return -1;
    remove_newline(&output);
    if (!output.data || !oneib_key_parse(output.data, key))
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          ONEIB_NODE_PUBLIC_FILE " has no key: is oneib-node running there?");
    return 0;
}

static void *fetch_remaining(void *context)
{
    struct queue *queue = context;
    for (size_t i; (i = atomic_fetch_add(&queue->next, 1)) < queue->count;) {
        struct oneib_node_key *one = &queue->all[i];
        const char *name = one->host->name;
        const int status = name ? fetch(name, queue->as_oneadmin, one->key, &one->err)
                                : oneib_fail(&one->err, ONEIB_ERROR_NOT_FOUND, "it has no name");
        one->has_key = status == 0;
        if (status < 0)
            oneib_wrap(&one->err, "reading the key of %s by oneadmin's SSH (or give it: --key)",
                       oneib_host_called(one->host->id, name).text);
    }
    return NULL;
}

void oneib_node_keys_fetch(struct oneib_node_key *all, size_t count)
{
    pthread_t threads[AT_ONCE - 1];
    size_t started = 0;
    struct queue queue = {.all = all,
                          .count = count,
                          /* hosts let oneadmin in, and root's own SSH may not */
                          .as_oneadmin = geteuid() == 0 && getpwnam(ONEADMIN)};
    while (started < AT_ONCE - 1 && started + 1 < count &&
           pthread_create(&threads[started], NULL, fetch_remaining, &queue) == 0)
        started++;
    fetch_remaining(&queue);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
