// SPDX-License-Identifier: Apache-2.0
/* Whether a file has been changed or replaced since it was looked at. */
#ifndef ONEIB_BASE_STAMP_H
#define ONEIB_BASE_STAMP_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct oneib_stamp {
    bool exists;
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, status_changed;
};

/* Of the file that path leads to; one that cannot be looked at does not exist. */
struct oneib_stamp oneib_stamp_of(const char *path);
bool oneib_stamp_equal(const struct oneib_stamp *a, const struct oneib_stamp *b);

#endif
