// SPDX-License-Identifier: Apache-2.0
/* oneib-node: the one program on a node that changes adapters, and the table of who has what. */
#include "base/log.h"
#include "base/program.h"
#include "config/config.h"
#include "hca/place.h"
#include "oneib-node/privileges.h"
#include "oneib-node/service_loop.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

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

static int check_may_serve(struct oneib_error *err)
{
    if (geteuid() == 0 || oneib_node_is_simulated())
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "only root may change virtual functions: 'systemctl start oneib-node'");
}

static int serve(const struct oneib_inherited *inherited)
{
    oneib_autoconfig struct oneib_config config = {0};
    struct oneib_error err;
    if (check_may_serve(&err) < 0 || oneib_check_config_owner(&err) < 0 ||
        oneib_node_config(&config, &err) < 0)
        return complain(ONEIB_EXIT_FAILURE, &err);
    oneib_log_setup(config.log.level, config.log.format);
    const int outcome = oneib_service_run(&config, inherited, &err);
    return outcome == 0 ? ONEIB_EXIT_DONE : complain(ONEIB_EXIT_FAILURE, &err);
}

int main(int argc, char **argv)
{
    static const struct oneib_program program = {"oneib-node", help, false, NULL};
    struct oneib_given given;
    struct oneib_inherited inherited;
    struct oneib_error err;
    if (oneib_inherit(&inherited, &err) < 0)
        return complain(ONEIB_EXIT_FAILURE, &err);
    /* Nobody who listens no more ends it. */
    signal(SIGPIPE, SIG_IGN);
    const int status = oneib_program_begin(&program, argc, argv, &given);
    return status >= 0 ? status : serve(&inherited);
}
