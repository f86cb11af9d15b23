// SPDX-License-Identifier: Apache-2.0
#include "vmm/cores_lock.h"
#include "base/file_lock.h"
#include "hca/place.h"
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#define LOCK_NAME ".oneib-cores.lock"
#define LOCK_WAIT_MS 60000
#define PATH_SIZE 4096

static int find_lock(char path[PATH_SIZE], struct oneib_error *err)
{
    if (oneib_node_is_simulated())
        return oneib_node_path(path, PATH_SIZE, err, "/var/lib/one/" LOCK_NAME);
    errno = 0;
    const struct passwd *user = getpwuid(geteuid());
    if (!user && errno != 0)
        return oneib_fail_errno(err, errno, "looking for the home of uid %u", (unsigned)geteuid());
    if (!user || snprintf(path, PATH_SIZE, "%s/" LOCK_NAME, user->pw_dir) >= PATH_SIZE)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "uid %u has no home for " LOCK_NAME,
                          (unsigned)geteuid());
    return 0;
}

int oneib_cores_lock(int *lock, struct oneib_error *err)
{
    char path[PATH_SIZE];
    if (find_lock(path, err) < 0)
        return -1;
    return oneib_file_lock(path, LOCK_WAIT_MS, lock, err);
}
