// SPDX-License-Identifier: Apache-2.0
/*
 * Which daemons a site has, as a file of lines "ADDRESS CURVE SIGN" ('#' begins a comment): in
 * OpenNebula's remotes (etc/oneib/daemons), and, on a node, ONEIB_DAEMONS_FILE in root's directory,
 * which alone its service believes. At most ONEIB_DAEMONS_MAX. Pure.
 */
#ifndef ONEIB_GRANTS_DAEMONS_H
#define ONEIB_GRANTS_DAEMONS_H

#include "base/error.h"
#include "base/text.h"
#include "cluster/ledger.h"
#include <stdbool.h>
#include <stddef.h>

#define ONEIB_DAEMONS_FILE "/var/lib/oneib-node/daemons" /* below oneib_node_root() */
#define ONEIB_NODE_KEY_FILE "/var/lib/oneib-node/key"    /* likewise */
#define ONEIB_NODE_PUBLIC_FILE "/run/oneib/node-key"     /* likewise: 64 digits, for the probe */
#define ONEIB_DAEMONS_MAX 4

struct oneib_daemons {
    size_t count;
    struct oneib_ledger_daemon items[ONEIB_DAEMONS_MAX]; /* `since` is 0; no address and no key
                                                            twice */
};

int oneib_daemons_parse(const char *text, size_t length, const char *name,
                        struct oneib_daemons *daemons, struct oneib_error *err);
/* Whether that daemon, its address and both keys, is one of them. */
bool oneib_daemons_have(const struct oneib_daemons *daemons,
                        const struct oneib_ledger_daemon *daemon);
void oneib_daemons_render(const struct oneib_daemons *daemons, struct oneib_text *text);

#endif
