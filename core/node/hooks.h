// SPDX-License-Identifier: Apache-2.0
/* The folders pre.d, post.d and clean.d beside the driver's scripts: programs of the operator's,
 * run as OpenNebula's own drivers run theirs (vnm_mad/remotes/lib/vnm_driver.rb, run_hooks). */
#ifndef ONEIB_NODE_HOOKS_H
#define ONEIB_NODE_HOOKS_H

#include "base/error.h"
#include <stddef.h>

/*
 * Runs every executable in `folder` in alphabetical order with the driver's arguments and its
 * standard input (the base64 as it came). The first that fails is an error that names it and quotes
 * what it wrote. No shell: an argument stays one argument. An absent or empty folder is fine.
 */
int oneib_hooks_run(const char *folder, char *const *arguments, const char *input,
                    size_t input_length, struct oneib_error *err);

#endif
