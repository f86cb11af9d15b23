// SPDX-License-Identifier: Apache-2.0
#include "sync/lock.h"
#include "base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PAUSE_MS 20

static char *lock_path(const char *partitions)
{
    const char *slash = strrchr(partitions, '/');
    const char *name = slash ? slash + 1 : partitions;
    char *path;
    if (asprintf(&path, "%.*s.%s.lock", (int)(name - partitions), partitions, name) < 0)
        return NULL;
    return path;
}

/* The whole file. POSIX locks, because they tell who has one without anything being written. */
static struct flock whole_file(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static int say_who_has_it(int fd, const char *path, struct oneib_error *err)
{
    struct flock lock = whole_file();
    if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
        lock.l_pid = 0;
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                      "another oneib (process %d) is putting partitions into force (lock %s): try "
                      "again when it is done",
                      (int)lock.l_pid, path);
}

static int take(int fd, const char *path, uint32_t timeout_ms, struct oneib_error *err)
{
    for (uint32_t waited = 0;; waited += PAUSE_MS) {
        struct flock lock = whole_file();
        if (fcntl(fd, F_SETLK, &lock) == 0)
            return 0;
        if (errno != EACCES && errno != EAGAIN && errno != EINTR)
            return oneib_fail_errno(err, errno, "locking %s", path);
        if (waited >= timeout_ms)
            return say_who_has_it(fd, path, err);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    }
}

int oneib_sync_lock(const char *partitions, uint32_t timeout_ms, int *lock, struct oneib_error *err)
{
    oneib_autofree char *path = lock_path(partitions);
    if (!path)
        return oneib_fail_memory(err);

    oneib_autoclose int fd =
        open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return oneib_fail_errno(err, errno, "making the lock %s", path);
    if (take(fd, path, timeout_ms, err) < 0)
        return -1;
    *lock = fd;
    fd = -1;
    return 0;
}

void oneib_sync_unlock(int lock)
{
    close(lock);
}
