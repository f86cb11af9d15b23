// SPDX-License-Identifier: Apache-2.0
#include "node/start_reattach.h"
#include "base/command.h"
#include "base/escape.h"
#include "hca/place.h"
#include <inttypes.h>
#include <stdio.h>

#define PROGRAM "vmm/driver"
#define BUILT "vmm/vmm-driver"
#define OUTPUT_MAX 4096

/* The first VF pins all of the guest's memory, which takes long for a big guest. */
#define TIMEOUT_MS 300000

#define ID_TEXT_SIZE 11

static int fail_to_call(struct oneib_error *err)
{
    if (err->code != ONEIB_ERROR_SYSTEM)
        return oneib_wrap(err, "calling " PROGRAM);
    err->code = ONEIB_ERROR_UNREACHABLE;
    return oneib_wrap(err, PROGRAM " ('install.sh --node' installs it) could not be called");
}

/* A reason that it gave, or what there is to say without one. */
static int fail_as_told(const struct oneib_text *said, int status, struct oneib_error *err)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_text_append_last_line(&line, said->data);
    if (line.length > 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "%s", line.data);
    return oneib_fail(err, ONEIB_ERROR_UNREACHABLE, PROGRAM " failed with exit status %d", status);
}

int oneib_reattach_by(const char *program, uint32_t vm_id, const char *document, size_t length,
                      uint32_t timeout_ms, struct oneib_error *err)
{
    oneib_autotext struct oneib_text output = {0}, said = {0};
    char id[ID_TEXT_SIZE];
    int status = 0;
    snprintf(id, sizeof id, "%" PRIu32, vm_id);
    const char *const argv[] = {program, "reattach", id, NULL};
    const struct oneib_command command = {
        .argv = argv,
        .input = document,
        .input_length = length,
        .timeout_ms = timeout_ms,
        .output_max = OUTPUT_MAX,
    };
    if (oneib_command_capture(&command, &output, &said, &status, err) < 0)
        return fail_to_call(err);
    return status == 0 ? 0 : fail_as_told(&said, status, err);
}

int oneib_reattach(uint32_t vm_id, const char *document, size_t length, struct oneib_error *err)
{
    char program[PATH_MAX];
    oneib_node_program(PROGRAM, BUILT, program);
    return oneib_reattach_by(program, vm_id, document, length, TIMEOUT_MS, err);
}
