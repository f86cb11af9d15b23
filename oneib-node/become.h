// SPDX-License-Identifier: Apache-2.0
/* Becoming a user without privileges, for good. */
#ifndef ONEIB_NODE_BECOME_H
#define ONEIB_NODE_BECOME_H

#include "base/error.h"
#include <stdbool.h>
#include <sys/types.h>

struct oneib_user {
    bool is_another; /* else: who this process is */
    uid_t user;
    gid_t group;
};

/* Called by root: whom that name is; by all others nobody is looked up, and they stay who they are.
 * program: what is to run as that user, for errors. NOT_FOUND: there is no such user; REFUSED: it
 * is root. */
int oneib_user_find(const char *name, const char *program, struct oneib_user *user,
                    struct oneib_error *err);

/*
 * Of a process that was just forked from `parent`, with nobody else's threads: it becomes that user
 * (no other groups), without capabilities, ways to any, or dumps of memory; its files, processes
 * and memory are bounded; and it dies when its parent does.
 */
int oneib_become(const struct oneib_user *user, pid_t parent, struct oneib_error *err);

#endif
