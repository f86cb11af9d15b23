// SPDX-License-Identifier: Apache-2.0
/* The directories pre.d, post.d and clean.d beside the driver's scripts: programs of the
 * operator's, run as OpenNebula's own drivers run theirs (vnm_mad/remotes/lib/vnm_driver.rb,
 * run_hooks). */
#ifndef ONEIB_NODE_HOOKS_H
#define ONEIB_NODE_HOOKS_H

#include "base/error.h"
#include <stddef.h>

/* A hook that does not end is killed: an action that never ends would hold up the VM for good, and
 * while hooks run nobody but the table says that the VF is in use (ONEIB_STALE_AFTER). */
#define ONEIB_HOOK_TIMEOUT_MS 60000

/*
 * Runs every executable file in `directory`, by name, but those whose name begins with a dot, with
 * the driver's arguments (NULL-terminated) and its standard input (the base64 as it came). The
 * first that fails is an error that names it and quotes what it wrote. No shell: an argument stays
 * one argument. An absent or empty directory is fine.
 */
int oneib_hooks_run(const char *directory, char *const *arguments, const char *input,
                    size_t input_length, struct oneib_error *err);

#endif
