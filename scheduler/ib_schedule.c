// SPDX-License-Identifier: Apache-2.0
/*
 * schedule, a service on the front-end of OpenNebula 6.10: its scheduler asks over HTTP which hosts
 * the VMs that wait are to have (EXTERNAL_SCHEDULER of sched.conf). Those with InfiniBand get hosts
 * that are near their cluster and have room; all others, and everybody when something is in doubt,
 * are left to OpenNebula (docs/design/placement.md).
 */
#include "base/cleanup.h"
#include "base/program.h"
#include "placement/question.h"
#include "scheduler/asked_http.h"
#include "scheduler/patience.h"
#include "scheduler/placing.h"
#include <stdio.h>

static const char help[] = "usage: schedule [--config FILE]\n";

static volatile sig_atomic_t stop;

static void note_stop(int number)
{
    (void)number;
    stop = 1;
}

static void heed_signals(void)
{
    const struct sigaction action = {.sa_handler = note_stop};
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGPIPE, &ignored, NULL);
}

static int answer_question(const char *path, const char *question, size_t length,
                           struct oneib_text *reply, struct oneib_error *err)
{
    oneib_auto(oneib_sched_message_clear) struct oneib_sched_message message = {0};
    oneib_autoconfig struct oneib_config config = {0};
    oneib_auto(oneib_window_clear) struct oneib_window window = {0};
    if (oneib_question_read(question, length, &message, err) < 0 ||
        oneib_placing_config(path, &config, err) < 0 ||
        oneib_place(&config, &message, false, &window, err) < 0)
        return -1;
    oneib_answer_write(&window, reply);
    return 0;
}

static int answer(void *context, const char *question, size_t length, struct oneib_text *reply)
{
    const struct oneib_given *given = context;
    struct oneib_error doubt;
    oneib_patience_begin();
    const int status = answer_question(given->config, question, length, reply, &doubt);
    oneib_patience_end();
    if (status == 0)
        return 0;
    fprintf(stderr, "oneib: placement is OpenNebula's alone this time: %s\n", doubt.text);
    oneib_text_clear(reply);
    oneib_text_printf(reply, "oneib leaves placement to OpenNebula this time: %s\n", doubt.text);
    return -1;
}

/* ---- the program ----------------------------------------------------------------------------- */

static int serve(struct oneib_given *given, const char *address, struct oneib_error *err)
{
    struct oneib_asked_http *http = oneib_asked_http_open(address, answer, given, err);
    if (!http)
        return -1;
    fprintf(stderr, "oneib: waiting for OpenNebula's scheduler at %s\n", address);
    oneib_asked_http_serve(http, &stop);
    oneib_asked_http_close(http);
    return 0;
}

static int run(struct oneib_given *given, struct oneib_error *err)
{
    oneib_autoconfig struct oneib_config config;
    return oneib_config_load(given->config, &config, err) < 0
               ? -1
               : serve(given, config.scheduler.listen, err);
}

int main(int argc, char **argv)
{
    static const struct oneib_program program = {"schedule", help, true, NULL};
    struct oneib_given given;
    struct oneib_error err;
    const int status = oneib_program_begin(&program, argc, argv, &given);
    if (status >= 0)
        return status;
    heed_signals();
    if (run(&given, &err) == 0)
        return ONEIB_EXIT_DONE;
    fprintf(stderr, "oneib: %s\n", err.text);
    return ONEIB_EXIT_FAILURE;
}
