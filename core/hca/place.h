// SPDX-License-Identifier: Apache-2.0
/*
 * Where a node's files are: /sys, /proc, /run/oneib, ... For tests and the demo they can lie below
 * another directory, which the environment names in ONEIB_NODE_ROOT. This is the one place that
 * reads it, and it ignores it in a privileged run (effective user 0, or started with more
 * privileges than its caller has: secure_getenv()): whoever may start such a program must not be
 * able to show it an adapter that does not exist, or have it write to files of their own.
 */
#ifndef ONEIB_HCA_PLACE_H
#define ONEIB_HCA_PLACE_H

#include "base/error.h"
#include "config/config.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define ONEIB_NODE_ROOT_VARIABLE "ONEIB_NODE_ROOT"

/* "" unless it was set and counts; without a slash at its end. Fixed at the first call. */
const char *oneib_node_root(void);
/* Whether oneib_node_root() is another machine's: nothing of the real kernel may be asked then
 * (netlink, verbs). */
bool oneib_node_is_simulated(void);

/*
 * root + formatted path (absolute) into `path`. INPUT when it does not fit.
 */
int oneib_node_path(char *path, size_t size, struct oneib_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * Where one of oneib's own programs is. On a real node: where it was installed, in a directory of
 * root's, and nowhere else; `installed` is its place there ("oneib-domains"). Only a simulated
 * node, which nobody runs as root, looks around first: its programs are run from the directory
 * where they were built, and `built` is its place there ("oneib-node/oneib-domains/oneib-domains").
 */
void oneib_node_program(const char *installed, const char *built, char path[PATH_MAX]);

/* The node's configuration: ONEIB_CONFIG_DEFAULT_PATH below oneib_node_root(); absent is empty. */
int oneib_node_config(struct oneib_config *config, struct oneib_error *err);

#endif
