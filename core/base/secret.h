// SPDX-License-Identifier: Apache-2.0
/* Files that hold secrets: who may read one is part of what it says. */
#ifndef ONEIB_BASE_SECRET_H
#define ONEIB_BASE_SECRET_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct oneib_secret {
    char *data; /* owned; NUL-terminated beyond length; NULL: there is no such file */
    size_t length;
    bool is_closed; /* neither its group nor others have any right to it */
    uid_t owner;
};

/* *secret is zeroed first. A file of more than max_size bytes is ONEIB_ERROR_INPUT; one that is not
 * there is no error. Whoever asks decides what an open one is good for. */
int oneib_secret_read(const char *path, size_t max_size, struct oneib_secret *secret,
                      struct oneib_error *err);
void oneib_secret_forget(struct oneib_secret *secret); /* leaves nothing of it in memory */

#endif
