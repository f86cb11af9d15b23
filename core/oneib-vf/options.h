// SPDX-License-Identifier: Apache-2.0
/*
 * The command line of oneib-vf. sudo lets oneadmin choose all of it, so that nothing is guessed: an
 * option stands once, numbers are whole, and what is not understood ends the program before it has
 * looked at anything.
 */
#ifndef ONEIB_VF_OPTIONS_H
#define ONEIB_VF_OPTIONS_H

#include "base/error.h"
#include "hca/assign.h"
#include <stdbool.h>

enum oneib_vf_verb {
    ONEIB_VF_ASSIGN,
    ONEIB_VF_RELEASE,
    ONEIB_VF_SHOW,
    ONEIB_VF_WATCH,
    ONEIB_VF_HELP,
    ONEIB_VF_VERSION,
};

struct oneib_vf_options {
    enum oneib_vf_verb verb;
    /* What was said of it, for assign and release. What is never said, the site, the host's own VFs
     * and the waiting times, is 0. */
    struct oneib_assignment assignment;
    bool has_nic;
    bool once;                /* of watch */
    struct oneib_pci *in_use; /* owned; the assignment's points here */
};

extern const char oneib_vf_help[];

/* INPUT says what is wrong with the words; *options then needs no clearing. */
int oneib_vf_options_read(int argc, char **argv, struct oneib_vf_options *options,
                          struct oneib_error *err);
void oneib_vf_options_clear(struct oneib_vf_options *options);

#endif
