// SPDX-License-Identifier: Apache-2.0
#include "sync/lock.h"
#include "base/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PAUSE_MS 20
#define LOCK_FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)

/* ".NAME.SUFFIX" beside the partitions file. */
static char *path_beside(const char *partitions, const char *suffix)
{
    const char *slash = strrchr(partitions, '/');
    const char *name = slash ? slash + 1 : partitions;
    char *path;
    if (asprintf(&path, "%.*s.%s.%s", (int)(name - partitions), partitions, name, suffix) < 0)
        return NULL;
    return path;
}

/* A daemon without privileges must be able to take a lock that root made in its folder. Where this
 * may not give files away, its own lock is as good. */
static void give_to_owner_of_folder(int fd, const char *path)
{
    const char *slash = strrchr(path, '/');
    oneib_autofree char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    struct stat status;
    if (!folder || stat(folder, &status) < 0 || fchown(fd, status.st_uid, status.st_gid) < 0)
        return;
}

/* Only a file that was made here is given away: another one may be a link to anything. */
static int open_or_make(const char *path)
{
    const int fd = open(path, LOCK_FLAGS | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return errno == EEXIST ? open(path, LOCK_FLAGS) : -1;
    give_to_owner_of_folder(fd, path);
    return fd;
}

static int open_lock(const char *path, int *fd, struct oneib_error *err)
{
    *fd = open_or_make(path);
    if (*fd >= 0)
        return 0;
    if (errno == EACCES)
        return oneib_fail_errno(err, errno,
                                "opening the lock %s: it and its folder must be writable for the "
                                "user that this runs as (uid %u)",
                                path, (unsigned)geteuid());
    return oneib_fail_errno(err, errno, "opening the lock %s", path);
}

/* The whole file. POSIX locks, because they tell who has one without anything being written. */
static struct flock whole_file(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

/* *taken is false when another process has it. */
static int try_to_take(int fd, const char *path, bool *taken, struct oneib_error *err)
{
    struct flock lock = whole_file();
    *taken = fcntl(fd, F_SETLK, &lock) == 0;
    if (*taken || errno == EACCES || errno == EAGAIN || errno == EINTR)
        return 0;
    return oneib_fail_errno(err, errno, "locking %s", path);
}

/* 0: nobody any more, or a process that is not visible from here. */
static int who_has_it(int fd)
{
    struct flock lock = whole_file();
    if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
        return 0;
    return (int)lock.l_pid;
}

static int take(int fd, const char *path, uint32_t timeout_ms, struct oneib_error *err)
{
    for (uint32_t waited = 0;; waited += PAUSE_MS) {
        bool taken;
        if (try_to_take(fd, path, &taken, err) < 0)
            return -1;
        if (taken)
            return 0;
        if (waited >= timeout_ms)
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                              "another oneib (process %d) is putting partitions into force (lock "
                              "%s): try again when it is done",
                              who_has_it(fd), path);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    }
}

static int take_at_once(int fd, const char *path, const char *partitions, struct oneib_error *err)
{
    bool taken;
    if (try_to_take(fd, path, &taken, err) < 0)
        return -1;
    if (taken)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "another oneibd (process %d) keeps %s already (lock %s): one is enough; stop "
                      "it first",
                      who_has_it(fd), partitions, path);
}

int oneib_sync_lock(const char *partitions, uint32_t timeout_ms, int *lock, struct oneib_error *err)
{
    oneib_autofree char *path = path_beside(partitions, "lock");
    if (!path)
        return oneib_fail_memory(err);
    oneib_autoclose int fd = -1;
    if (open_lock(path, &fd, err) < 0 || take(fd, path, timeout_ms, err) < 0)
        return -1;
    *lock = fd;
    fd = -1;
    return 0;
}

int oneib_daemon_lock(const char *partitions, int *lock, struct oneib_error *err)
{
    oneib_autofree char *path = path_beside(partitions, "daemon");
    if (!path)
        return oneib_fail_memory(err);
    oneib_autoclose int fd = -1;
    if (open_lock(path, &fd, err) < 0 || take_at_once(fd, path, partitions, err) < 0)
        return -1;
    *lock = fd;
    fd = -1;
    return 0;
}

void oneib_sync_unlock(int lock)
{
    close(lock);
}
