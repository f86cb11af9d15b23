// SPDX-License-Identifier: Apache-2.0
#include "command/json.h"
#include "oneib/help.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include <locale.h>
#include <stdio.h>
#include <string.h>

const struct oneib_verb *const oneib_verbs[] = {
    &oneib_verb_list,
    &oneib_verb_show,
    &oneib_verb_hosts,
    &oneib_verb_host,
    &oneib_verb_fence,
    &oneib_verb_unfence,
    &oneib_verb_daemons,
    &oneib_verb_plan,
    &oneib_verb_sync,
    &oneib_verb_verify,
    &oneib_verb_topology,
    &oneib_verb_check,
    &oneib_verb_keys,
    &oneib_verb_qos,
    &oneib_verb_hca,
    &oneib_verb_mac,
    &oneib_verb_guid,
    &oneib_verb_help,
    NULL,
};

static enum oneib_exit run_verb(const struct oneib_run *run, struct oneib_error *err)
{
    if (oneib_given(run, ONEIB_OPTION_VERSION))
        puts("oneib " ONEIB_VERSION);
    else if (!oneib_given(run, ONEIB_OPTION_HELP))
        return run->verb->run(run, err);
    else if (run->verb)
        fputs(run->verb->help, stdout);
    else
        oneib_print_help();
    return ONEIB_EXIT_DONE;
}

/* The one place that prints errors. */
static void report(const struct oneib_run *run, enum oneib_exit status,
                   const struct oneib_error *err)
{
    if (run->json)
        oneib_json_write_error(
            status == ONEIB_EXIT_USAGE ? "usage" : oneib_error_code_name(err->code), err->text);
    oneib_print_error(err->text);
}

/* A full disk or a closed pipe must not look like success. */
static enum oneib_exit flush_output(enum oneib_exit status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    oneib_print_error("standard output could not be written");
    return ONEIB_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct oneib_run run = {0};
    struct oneib_error err = {0};

    setlocale(LC_CTYPE, "");
    enum oneib_exit status = oneib_options_parse(argc, argv, &run, &err);
    if (status == ONEIB_EXIT_DONE)
        status = run_verb(&run, &err);
    if (status == ONEIB_EXIT_USAGE || status == ONEIB_EXIT_FAILURE)
        report(&run, status, &err);
    return flush_output(status);
}
