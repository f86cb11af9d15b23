// SPDX-License-Identifier: Apache-2.0
/*
 * place, run by OpenNebula 7's one_sched on the front-end: gets the VMs that wait and the hosts
 * that fit them, leaves those with InfiniBand the hosts that are near their cluster and have room,
 * and has OpenNebula's own placer decide (docs/design/placement.md). Whatever is in doubt or takes
 * too long, the placer gets what OpenNebula said, to the letter. Lack of memory alone ends it:
 * nobody is placed this time.
 */
#include "base/cleanup.h"
#include "base/command.h"
#include "base/memory_file.h"
#include "base/program.h"
#include "placement/wire.h"
#include "scheduler/patience.h"
#include "scheduler/placing.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX ((size_t)512 << 20)
#define PLACER_MS 120000
#define PLAN_MAX ((size_t)64 << 20)

static const char help[] = "usage: place [--config FILE] PLACER <BASE64-MESSAGE\n"
                           "PLACER: OpenNebula's own, as remotes/scheduler/rank/place\n";

/* ---- narrowing ------------------------------------------------------------------------------- */

/* No piece in *changed: nobody with InfiniBand waits. */
static int narrow_message(const struct oneib_config *config, struct oneib_sched_message *message,
                          struct oneib_sched_pieces *changed, struct oneib_error *err)
{
    struct oneib_error why;
    oneib_auto(oneib_window_clear) struct oneib_window window;
    const bool has_pools = oneib_sched_message_read_pools(message, config->one.vn_mad, &why) == 0;
    if (!has_pools)
        fprintf(stderr, "oneib: oned is asked for each VM and host: %s\n", why.text);
    if (oneib_place(config, message, has_pools, &window, err) < 0)
        return -1;
    if (window.vm_count > 0)
        oneib_sched_message_write(message, &window, changed);
    return 0;
}

static int narrow(const char *config_path, struct oneib_wire *wire,
                  struct oneib_sched_pieces *changed, struct oneib_error *err)
{
    oneib_autoconfig struct oneib_config config = {0};
    oneib_auto(oneib_sched_message_clear) struct oneib_sched_message message = {0};
    if (oneib_wire_decode(wire, err) < 0 || oneib_placing_config(config_path, &config, err) < 0 ||
        oneib_sched_message_read(wire->xml.data, wire->xml.length, &message, err) < 0 ||
        narrow_message(&config, &message, changed, err) < 0)
        return -1;
    return oneib_patience_check(err);
}

/* ---- OpenNebula's own placer ----------------------------------------------------------------- */

static int write_all(const char *bytes, size_t length, struct oneib_error *err)
{
    while (length > 0) {
        const ssize_t written = write(STDOUT_FILENO, bytes, length);
        if (written <= 0)
            return oneib_fail_errno(err, errno, "writing the plan");
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Its plan, its words and its status are ours. */
static int run_placer(const char *placer, int input, int *status, struct oneib_error *err)
{
    const char *const argv[] = {placer, NULL};
    oneib_autotext struct oneib_text plan = {0};
    oneib_autotext struct oneib_text words = {0};
    const struct oneib_command command = {
        .argv = argv, .input_fd = input, .timeout_ms = PLACER_MS, .output_max = PLAN_MAX};
    const int outcome = oneib_command_capture(&command, &plan, &words, status, err);
    if (words.data)
        fputs(words.data, stderr);
    if (outcome < 0)
        return -1;
    if (plan.length >= PLAN_MAX)
        return oneib_fail(err, ONEIB_ERROR_PROTOCOL, "%s: its plan has no end", placer);
    return plan.data ? write_all(plan.data, plan.length, err) : 0;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Writes what the placer is given: changed, or as it came. */
static int decide(const char *config, struct oneib_wire *wire, int fd, struct oneib_error *err)
{
    struct oneib_error doubt;
    oneib_auto(oneib_sched_pieces_clear) struct oneib_sched_pieces changed = {0};
    oneib_patience_begin();
    const bool is_in_doubt = narrow(config, wire, &changed, &doubt) < 0;
    oneib_patience_end();
    if (is_in_doubt)
        fprintf(stderr, "oneib: placement is OpenNebula's alone this time: %s\n", doubt.text);
    return is_in_doubt || changed.count == 0 ? oneib_wire_pass(wire, fd, err)
                                             : oneib_wire_write(&changed, fd, err);
}

/* A file in memory with what the placer is given; -1 on failure. */
static int open_given(const char *config, struct oneib_error *err)
{
    oneib_auto(oneib_wire_clear) struct oneib_wire wire = {0};
    oneib_autoclose int given = oneib_memory_file("", 0);
    if (given < 0)
        return oneib_fail_errno(err, errno, "cannot pass on the scheduler's message");
    if (oneib_wire_read(STDIN_FILENO, INPUT_MAX, &wire, err) < 0 ||
        decide(config, &wire, given, err) < 0)
        return -1;
    lseek(given, 0, SEEK_SET);
    return oneib_steal_fd(&given);
}

static int place(const char *config, const char *placer, int *status, struct oneib_error *err)
{
    oneib_autoclose int given = open_given(config, err);
    return given < 0 ? -1 : run_placer(placer, given, status, err);
}

int main(int argc, char **argv)
{
    static const struct oneib_program program = {"place", help, true, "PLACER"};
    struct oneib_given given;
    struct oneib_error err;
    int status;
    const int refused = oneib_program_begin(&program, argc, argv, &given);
    if (refused >= 0)
        return refused;
    if (place(given.config, given.word, &status, &err) == 0)
        return status;
    fprintf(stderr, "oneib: %s\n", err.text);
    return ONEIB_EXIT_FAILURE;
}
