// SPDX-License-Identifier: Apache-2.0
#include "options.h"
#include "base/number.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define USAGE "usage: oneib-demo [--keep[=MINUTES]] [DIRECTORY]"
#define KEEP "--keep"

static bool refuse(const char *what, const char *argument)
{
    fprintf(stderr, "oneib-demo: %s'%s'\n" USAGE "\n", what, argument);
    return false;
}

static bool parse_keep(const char *argument, struct demo_options *options)
{
    uint64_t minutes = DEMO_KEEP_MINUTES;
    const char *given = argument + strlen(KEEP);
    if (*given && (*given != '=' ||
                   !oneib_parse_decimal(given + 1, DEMO_KEEP_MINUTES_MAX, &minutes) || !minutes))
        return refuse("minutes are 1 to 1440, not as in ", argument);
    options->keep_minutes = (unsigned)minutes;
    return true;
}

static bool find_directory(const char *given, struct demo_options *options)
{
    char *absolute = mkdir(given, 0755) == 0 || errno == EEXIST ? realpath(given, NULL) : NULL;
    const bool fits = absolute && strlen(absolute) < sizeof options->directory;
    if (fits) {
        strcpy(options->directory, absolute);
        snprintf(options->full_picture, sizeof options->full_picture, "%s/two-clusters.svg",
                 absolute);
        snprintf(options->picture, sizeof options->picture, "%s/three-clusters.svg", absolute);
    }
    free(absolute);
    if (!fits)
        fprintf(stderr, "oneib-demo: making the directory %s: %s\n", given, strerror(errno));
    return fits;
}

bool demo_options_parse(int argc, char **argv, struct demo_options *options)
{
    const char *directory = NULL;
    *options = (struct demo_options){0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            options->help = true;
        else if (strcmp(argv[i], KEEP) == 0 || strncmp(argv[i], KEEP "=", strlen(KEEP "=")) == 0) {
            if (!parse_keep(argv[i], options))
                return false;
        } else if (*argv[i] == '-' || directory)
            return refuse("unknown argument ", argv[i]);
        else
            directory = argv[i];
    }
    if (options->help) {
        puts(USAGE "\n\nWhat it shows is said by share/demo/run --help.");
        return true;
    }
    return find_directory(directory ? directory : ".", options);
}
