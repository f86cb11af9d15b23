// SPDX-License-Identifier: Apache-2.0
/* oneibd: keeps the partitions of an InfiniBand fabric equal to what OpenNebula wants. */
#include "base/log.h"
#include "base/program.h"
#include "oneibd/daemon.h"
#include "oneibd/signals.h"

static const char help[] =
    "usage: oneibd [--config FILE]\n"
    "\n"
    "Keeps the partitions of the InfiniBand fabric as OpenNebula wants them: follows its VMs,\n"
    "writes opensm's partitions, has opensm read them, and proves on the ports that they hold.\n"
    "Stays in the foreground and logs to standard error.\n"
    "\n"
    "  --config FILE  the configuration, instead of " ONEIB_CONFIG_DEFAULT_PATH "\n"
    "  --help\n"
    "  --version\n"
    "\n"
    "SIGHUP reads the configuration again; SIGTERM and SIGINT end it.\n"
    "exit status: 0 ended by a signal, 2 usage, 3 a failure, 4 oned's configuration lacks\n"
    "restrictions\n"
    "\n"
    "oneibd(8) says all.\n";

static int run(const char *config_path)
{
    struct oneib_daemon daemon;
    struct oneib_error err;
    oneib_signals_begin();
    if (oneib_daemon_open(&daemon, config_path, &err) < 0) {
        oneib_log(ONEIB_LOG_ERROR, "%s", err.text);
        return ONEIB_EXIT_FAILURE;
    }
    const int status = oneib_daemon_run(&daemon, &err);
    if (status < 0)
        oneib_log(ONEIB_LOG_ERROR, "%s", err.text);
    else
        oneib_log(ONEIB_LOG_INFO, "ended; the partitions stay as they are");
    oneib_daemon_close(&daemon);
    return status < 0 ? ONEIB_EXIT_REFUSED : ONEIB_EXIT_DONE;
}

int main(int argc, char **argv)
{
    static const struct oneib_program program = {"oneibd", help, true, NULL};
    struct oneib_given given;
    const int status = oneib_program_begin(&program, argc, argv, &given);
    return status >= 0 ? status : run(given.config);
}
