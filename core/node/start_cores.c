// SPDX-License-Identifier: Apache-2.0
#include "node/start_cores.h"
#include "base/command.h"
#include "base/escape.h"
#include "hca/place.h"
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define PROGRAM "vmm/driver"
#define BUILT "vmm/vmm-driver"
#define ACTION "hpc_cores"
#define LOOK_MS 40000 /* it gives libvirt half a minute to take the connection */
#define OUTPUT_MAX 16384

int oneib_cores_look(struct oneib_text *lines, struct oneib_error *err)
{
    char program[PATH_MAX];
    int status = 0;
    oneib_autotext struct oneib_text said = {0}, reason = {0};
    oneib_node_program(PROGRAM, BUILT, program);
    const char *const argv[] = {program, ACTION, "--look", NULL};
    const struct oneib_command command = {
        .argv = argv, .timeout_ms = LOOK_MS, .output_max = OUTPUT_MAX};
    if (oneib_command_capture(&command, lines, &said, &status, err) < 0)
        return oneib_wrap(err, "calling " PROGRAM);
    if (status == 0)
        return 0;
    oneib_text_append_last_line(&reason, said.data);
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, "%s",
                      reason.length > 0 ? reason.data : PROGRAM " " ACTION " failed");
}

/* In a session of its own, with nothing of this process's open. */
static void become(const char *program)
{
    const int nothing = open("/dev/null", O_RDWR);
    setsid();
    for (int fd = 0; nothing >= 0 && fd < 3; fd++)
        dup2(nothing, fd);
    close_range(STDERR_FILENO + 1, UINT_MAX, 0);
    execl(program, program, ACTION, (char *)NULL);
    _exit(EXIT_FAILURE);
}

void oneib_cores_start_keeping(void)
{
    char program[PATH_MAX];
    oneib_node_program(PROGRAM, BUILT, program);
    if (fork() == 0)
        become(program);
}
