// SPDX-License-Identifier: Apache-2.0
#include "base/secret.h"
#include "base/file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int oneib_secret_read(const char *path, size_t max_size, struct oneib_secret *secret,
                      struct oneib_error *err)
{
    struct stat status;
    *secret = (struct oneib_secret){0};
    if (stat(path, &status) < 0)
        return errno == ENOENT ? 0 : oneib_fail_errno(err, errno, "examining %s", path);
    secret->is_closed = (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
    secret->owner = status.st_uid;
    if (oneib_file_read(path, max_size, &secret->data, &secret->length, err) == 0)
        return 0;
    secret->data = NULL;
    return err->code == ONEIB_ERROR_NOT_FOUND ? 0 : -1;
}

void oneib_secret_forget(struct oneib_secret *secret)
{
    if (secret->data)
        explicit_bzero(secret->data, secret->length);
    free(secret->data);
    *secret = (struct oneib_secret){0};
}
