// SPDX-License-Identifier: Apache-2.0
#include "placement/links_file.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/stamp.h"

#define SIZE_MAX_BYTES ((size_t)64 << 20)

/* A clock that was set back makes it old, too. */
static int check_age(const char *path, int64_t now, struct oneib_error *err)
{
    const struct oneib_stamp stamp = oneib_stamp_of(path);
    const int64_t age = now - stamp.modified.tv_sec;
    if (!stamp.exists || (age <= ONEIB_LINKS_AGE_MAX_S && age >= -1))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "%s is not of the last %d seconds: is oneibd at work on this machine, beside "
                      "the master subnet manager?",
                      path, ONEIB_LINKS_AGE_MAX_S);
}

int oneib_links_load(const char *path, int64_t now, struct oneib_links *links,
                     struct oneib_error *err)
{
    oneib_autofree char *text = NULL;
    size_t length;
    *links = (struct oneib_links){0};
    if (check_age(path, now, err) < 0 ||
        oneib_file_read(path, SIZE_MAX_BYTES, &text, &length, err) < 0)
        return -1;
    return oneib_links_read(text, length, links, err) < 0 ? oneib_wrap(err, "%s", path) : 0;
}
