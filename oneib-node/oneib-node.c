// SPDX-License-Identifier: Apache-2.0
/* oneib-node: the one program on a node that changes adapters, and the table of who has what. */
#include "base/escape.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/text.h"
#include "config/config.h"
#include "hca/place.h"
#include "oneib-node/privileges.h"
#include "oneib-node/service_loop.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_MAX 64 /* of a word that is not understood */

static const char help[] =
    "usage: oneib-node\n"
    "\n"
    "Gives InfiniBand virtual functions of this host to NICs of VMs, keeps them where their keys\n"
    "are, and takes them back. systemd starts it: oneib-node.service.\n"
    "\n"
    "  --help\n"
    "  --version\n"
    "\n"
    "signals: SIGHUP look at everything now, SIGUSR1 ask libvirt anew, SIGTERM end\n"
    "exit status: 0 ended by a signal, 2 usage, 3 failure\n"
    "\n"
    "oneib-node(8) says all.\n";

static int complain(int status, const struct oneib_error *err)
{
    fprintf(stderr, "oneib-node: %s\n", err->text);
    return status;
}

static int refuse(const char *word)
{
    oneib_autotext struct oneib_text shown = {0};
    struct oneib_error err;
    oneib_text_append_escaped(&shown, word, SHOWN_MAX);
    oneib_fail(&err, ONEIB_ERROR_INPUT, "it takes no \"%s\"; see 'oneib-node --help'",
               shown.data ? shown.data : "");
    return complain(ONEIB_EXIT_USAGE, &err);
}

static int print(const char *text)
{
    struct oneib_error err;
    if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
        return ONEIB_EXIT_DONE;
    oneib_fail_errno(&err, errno, "writing to standard output");
    return complain(ONEIB_EXIT_FAILURE, &err);
}

static int check_may_serve(struct oneib_error *err)
{
    if (geteuid() == 0 || oneib_node_is_simulated())
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "only root may change virtual functions: 'systemctl start oneib-node'");
}

static int serve(const struct oneib_inherited *inherited)
{
    struct oneib_config config;
    struct oneib_error err;
    if (check_may_serve(&err) < 0 || oneib_check_config_owner(&err) < 0 ||
        oneib_node_config(&config, &err) < 0)
        return complain(ONEIB_EXIT_FAILURE, &err);
    oneib_log_setup(config.log.level, config.log.format);
    const int outcome = oneib_service_run(&config, inherited, &err);
    oneib_config_clear(&config);
    return outcome == 0 ? ONEIB_EXIT_DONE : complain(ONEIB_EXIT_FAILURE, &err);
}

int main(int argc, char **argv)
{
    struct oneib_inherited inherited;
    struct oneib_error err;
    if (oneib_inherit(&inherited, &err) < 0)
        return complain(ONEIB_EXIT_FAILURE, &err);
    /* Nobody who listens no more ends it. */
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2)
        return serve(&inherited);
    if (argc > 2)
        return refuse(argv[2]);
    if (strcmp(argv[1], "--help") == 0)
        return print(help);
    if (strcmp(argv[1], "--version") == 0)
        return print("oneib-node " ONEIB_VERSION "\n");
    return refuse(argv[1]);
}
