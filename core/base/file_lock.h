// SPDX-License-Identifier: Apache-2.0
/* Locks on files, with a limit to waiting for them. They end with the process that has them,
 * however that ends. */
#ifndef ONEIB_BASE_FILE_LOCK_H
#define ONEIB_BASE_FILE_LOCK_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum oneib_file_lock_kind {
    /* flock(2): the descriptor's, and shared with whoever inherits that. Who has it is written into
     * the file, for people only. */
    ONEIB_FILE_LOCK_OF_DESCRIPTOR,
    /* fcntl(2), F_SETLK: the process's alone, until it closes any descriptor of the file. The
     * kernel knows who has it. */
    ONEIB_FILE_LOCK_OF_PROCESS,
};

/*
 * Opens the file of a lock, which is made, mode 0600, when it is absent: whoever can open a lock
 * can keep it. A symbolic link is not followed; what is no regular file is REFUSED. name: in
 * that open directory, or a path with AT_FDCWD; path: what errors call it.
 */
int oneib_file_lock_open(int directory, const char *name, const char *path, int *fd,
                         struct oneib_error *err);

/* Who has a lock. */
struct oneib_file_lock_holder {
    bool is_this; /* this process, from now on */
    int process;  /* else; 0: not known */
};

/* Which process has a lock of the kind PROCESS; 0: none any more, or one that is not visible here. */
int oneib_file_lock_process(int fd);

/* Waits for the lock, timeout_ms at the most. Somebody else who has it longer than that is no
 * error. path: for errors. */
int oneib_file_lock_wait(int fd, const char *path, enum oneib_file_lock_kind kind,
                         uint32_t timeout_ms, struct oneib_file_lock_holder *holder,
                         struct oneib_error *err);

/* The same, of a descriptor; TIMEOUT names the process that has it. */
int oneib_file_lock_take(int fd, const char *path, uint32_t timeout_ms, struct oneib_error *err);

/* Opens it and takes it. *lock is to be closed. */
int oneib_file_lock(const char *path, uint32_t timeout_ms, int *lock, struct oneib_error *err);

#endif
