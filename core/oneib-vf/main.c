// SPDX-License-Identifier: Apache-2.0
/* oneib-vf: the one program on a node that changes adapters, and the table of who has what. */
#include "base/cleanup.h"
#include "hca/assign.h"
#include "hca/place.h"
#include "oneib-vf/options.h"
#include "oneib-vf/privileges.h"
#include "oneib-vf/show.h"
#include "oneib-vf/watch.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DONE = 0, USAGE = 2, FAILURE = 3 };

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* SIGTERM, SIGINT, SIGHUP: whoever called this wants its end, or is gone itself. */
static void on_end(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static int read_host_vfs(char *const *addresses, struct oneib_pci **vfs, size_t *count,
                         struct oneib_error *err)
{
    size_t wanted = 0;
    while (addresses && addresses[wanted])
        wanted++;
    oneib_autofree struct oneib_pci *list = calloc(wanted + 1, sizeof *list);
    if (!list)
        return oneib_fail_memory(err);
    for (size_t i = 0; i < wanted; i++)
        if (!oneib_pci_parse(addresses[i], &list[i]))
            return oneib_fail(err, ONEIB_ERROR_CONFIG,
                              "node.host_vfs in the configuration: number %zu is no PCI address "
                              "such as \"0000:81:00.1\"",
                              i + 1);
    *vfs = oneib_steal(&list);
    *count = wanted;
    return 0;
}

/* What is not the caller's to say. */
static int complete(struct oneib_assignment *assignment, const struct oneib_config *config,
                    struct oneib_pci **host_vfs, struct oneib_error *err)
{
    if (read_host_vfs(config->node.host_vfs, host_vfs, &assignment->host_vf_count, err) < 0)
        return -1;
    assignment->host_vfs = *host_vfs;
    assignment->site = config->site;
    assignment->pkey_wait_ms = config->node.pkey_wait_ms;
    assignment->guid_wait_ms = config->node.guid_wait_ms;
    assignment->interrupted = &interrupted;
    return 0;
}

static int assign(const struct oneib_vf_options *options, const struct oneib_config *config,
                  struct oneib_text *output, struct oneib_error *err)
{
    struct oneib_assignment assignment = options->assignment;
    struct oneib_vf_record record;
    oneib_autofree struct oneib_pci *host_vfs = NULL;
    on_end(interrupt);
    if (complete(&assignment, config, &host_vfs, err) < 0 ||
        oneib_assign(&assignment, &record, err) < 0)
        return -1;
    oneib_vf_record_render(&record, output);
    oneib_text_append(output, "\n");
    return 0;
}

/* Which VFs are the host's is root's to say: the caller must not take one away from it. */
static int check_not_hosts(const struct oneib_pci *vf, const struct oneib_config *config,
                           struct oneib_error *err)
{
    oneib_autofree struct oneib_pci *hosts = NULL;
    char address[ONEIB_PCI_TEXT_SIZE];
    size_t count;
    if (read_host_vfs(config->node.host_vfs, &hosts, &count, err) < 0)
        return -1;
    oneib_pci_format(vf, address);
    for (size_t i = 0; i < count; i++)
        if (oneib_pci_compare(vf, &hosts[i]) == 0)
            return oneib_fail(err, ONEIB_ERROR_REFUSED,
                              "virtual function %s is kept for the host (node.host_vfs)", address);
    return 0;
}

static int release(const struct oneib_vf_options *options, const struct oneib_config *config,
                   struct oneib_text *output, struct oneib_error *err)
{
    const struct oneib_assignment *what = &options->assignment;
    const uint32_t wait_ms = config->node.guid_wait_ms;
    size_t released = 1;
    if (what->has_vf && check_not_hosts(&what->vf, config, err) < 0)
        return -1;
    /* Half a release is worse than a late one, and it takes no longer than its waiting time. */
    on_end(SIG_IGN);
    const int result = what->has_vf
                           ? oneib_release_vf(&what->vf, what->vm_id, what->in_use,
                                              what->in_use_count, wait_ms, err)
                           : oneib_release(what->vm_id, options->has_nic ? what->nic_id : -1,
                                           wait_ms, &released, err);
    if (result == 0)
        oneib_text_printf(output, "released %zu\n", released);
    return result;
}

static int check_may_change(struct oneib_error *err)
{
    if (geteuid() == 0 || oneib_node_is_simulated())
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "only root may change virtual functions: call it through sudo");
}

/* The verbs that change something. */
static int change(const struct oneib_vf_options *options, struct oneib_text *output,
                  struct oneib_error *err)
{
    struct oneib_config config;
    if (check_may_change(err) < 0 || oneib_vf_check_config(err) < 0 ||
        oneib_node_config(&config, err) < 0)
        return -1;
    int result;
    if (options->verb == ONEIB_VF_ASSIGN)
        result = assign(options, &config, output, err);
    else if (options->verb == ONEIB_VF_RELEASE)
        result = release(options, &config, output, err);
    else
        result = options->once ? oneib_vf_look_once(&config, err) : oneib_vf_watch(&config, err);
    oneib_config_clear(&config);
    return result;
}

static int run(const struct oneib_vf_options *options, struct oneib_text *output,
               struct oneib_error *err)
{
    switch (options->verb) {
    case ONEIB_VF_HELP:
        oneib_text_append(output, oneib_vf_help);
        return 0;
    case ONEIB_VF_VERSION:
        oneib_text_append(output, "oneib-vf " ONEIB_VERSION "\n");
        return 0;
    case ONEIB_VF_SHOW:
        return oneib_vf_show(output, err);
    default:
        return change(options, output, err);
    }
}

static int print(const struct oneib_text *output, struct oneib_error *err)
{
    if (oneib_text_failed(output))
        return oneib_fail_memory(err);
    if (output->data && (fputs(output->data, stdout) < 0 || fflush(stdout) != 0))
        return oneib_fail_errno(err, errno, "writing to standard output");
    return 0;
}

static int complain(int status, const struct oneib_error *err)
{
    fprintf(stderr, "oneib-vf: %s\n", err->text);
    return status;
}

int main(int argc, char **argv)
{
    struct oneib_vf_options options;
    struct oneib_error err;
    if (oneib_vf_drop_privileges(&err) < 0)
        return complain(FAILURE, &err);
    /* A caller that does not listen any more is an error when writing, and no end in the middle. */
    signal(SIGPIPE, SIG_IGN);
    if (oneib_vf_options_read(argc, argv, &options, &err) < 0)
        return complain(USAGE, &err);
    oneib_autotext struct oneib_text output = {0};
    int result = run(&options, &output, &err);
    if (result == 0)
        result = print(&output, &err);
    oneib_vf_options_clear(&options);
    return result == 0 ? DONE : complain(FAILURE, &err);
}
