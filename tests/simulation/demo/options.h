// SPDX-License-Identifier: Apache-2.0
/* The demo's arguments. */
#ifndef ONEIB_DEMO_OPTIONS_H
#define ONEIB_DEMO_OPTIONS_H

#include <limits.h>
#include <stdbool.h>

#define DEMO_KEEP_MINUTES 60
#define DEMO_KEEP_MINUTES_MAX (24 * 60)

struct demo_options {
    bool help;
    unsigned keep_minutes;        /* 0: the cloud ends with the demo */
    char directory[PATH_MAX / 2]; /* absolute; there, and made when it was not */
    char full_picture[PATH_MAX], picture[PATH_MAX];
};

/* What is wrong is printed, and so is the help that is asked for. */
bool demo_options_parse(int argc, char **argv, struct demo_options *options);

#endif
