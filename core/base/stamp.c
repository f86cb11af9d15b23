// SPDX-License-Identifier: Apache-2.0
#include "base/stamp.h"
#include <sys/stat.h>

struct oneib_stamp oneib_stamp_of(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return (struct oneib_stamp){0};
    return (struct oneib_stamp){
        .exists = true,
        .device = status.st_dev,
        .inode = status.st_ino,
        .size = status.st_size,
        .modified = status.st_mtim,
        .status_changed = status.st_ctim,
    };
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool oneib_stamp_equal(const struct oneib_stamp *a, const struct oneib_stamp *b)
{
    return a->exists == b->exists && a->device == b->device && a->inode == b->inode &&
           a->size == b->size && is_same_time(a->modified, b->modified) &&
           is_same_time(a->status_changed, b->status_changed);
}
