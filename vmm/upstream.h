// SPDX-License-Identifier: Apache-2.0
/* OpenNebula's own action of its KVM driver. */
#ifndef ONEIB_VMM_UPSTREAM_H
#define ONEIB_VMM_UPSTREAM_H

#include "base/error.h"
#include <signal.h>
#include <stddef.h>

struct oneib_upstream {
    const char *path;       /* borrowed: ".../vmm/kvm/deploy" */
    char *const *arguments; /* borrowed, NULL-terminated: OpenNebula's, without argv[0] */
    const char *input;      /* borrowed: standard input as oned sent it */
    size_t input_length;
    /* Borrowed, may be NULL: not 0, set by a signal's handler: whoever called is gone, or wants no
     * more of this. */
    const volatile sig_atomic_t *interrupted;
};

/* NOT_FOUND: it is not there or not executable: "OpenNebula's KVM driver is not on this host
 * (PATH): onehost sync". To be called before anything is touched. */
int oneib_upstream_check(const struct oneib_upstream *upstream, struct oneib_error *err);

/* TIMEOUT: interrupted. To be asked before what cannot be undone. */
int oneib_upstream_check_caller(const struct oneib_upstream *upstream, struct oneib_error *err);

/*
 * Runs it to its end, however long that takes; what it writes goes where this process writes.
 * *status is what OpenNebula is to see: its exit status, or 128 + signal. `input` instead of
 * upstream->input when not NULL. SIGTERM, SIGINT and SIGHUP that reach this process meanwhile are
 * passed on to it, and its end is waited for all the same: what follows must not be left undone.
 * When the caller has been interrupted before it is not begun (oneib_upstream_check_caller()).
 */
int oneib_upstream_run(const struct oneib_upstream *upstream, const char *input,
                       size_t input_length, int *status, struct oneib_error *err);

#endif
