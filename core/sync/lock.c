// SPDX-License-Identifier: Apache-2.0
#include "sync/lock.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

#define LOCK_FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)

/* Without the slash at its end, other than the root's. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return oneib_strdup(".");
    return slash == path ? oneib_strdup("/") : oneib_strndup(path, (size_t)(slash - path));
}

/* A daemon without privileges must be able to take a lock that root made in its directory. Where
 * this may not give files away, its own lock is as good. */
static void give_to_owner_of_directory(int fd, const char *path)
{
    oneib_autofree char *directory = directory_of(path);
    struct stat status;
    if (stat(directory, &status) < 0 || fchown(fd, status.st_uid, status.st_gid) < 0)
        return;
}

/* Only a file that was made here is given away: another one may be a link to anything. */
static int open_or_make(const char *path)
{
    const int fd = open(path, LOCK_FLAGS | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return errno == EEXIST ? open(path, LOCK_FLAGS) : -1;
    give_to_owner_of_directory(fd, path);
    return fd;
}

static int fail_without_directory(const char *path, struct oneib_error *err)
{
    oneib_autofree char *directory = directory_of(path);
    return oneib_fail(
        err, ONEIB_ERROR_NOT_FOUND,
        "there is no directory %s, where opensm.partitions is to be: 'install.sh --sm' makes "
        "/var/lib/oneib; make another one yourself, for the user that oneibd runs as",
        directory);
}

static int open_lock(const char *path, int *fd, struct oneib_error *err)
{
    *fd = open_or_make(path);
    if (*fd >= 0)
        return 0;
    if (errno == ENOENT)
        return fail_without_directory(path, err);
    if (errno == EACCES)
        return oneib_fail_errno(
            err, errno,
            "opening the lock %s: it and its directory must be writable for the "
            "user that this runs as (uid %u)",
            path, (unsigned)geteuid());
    return oneib_fail_errno(err, errno, "opening the lock %s", path);
}

/* A child must not inherit it, and nobody's directory is written to for telling who has it. */
static int wait_for(int fd, const char *path, uint32_t timeout_ms,
                    struct oneib_file_lock_holder *holder, struct oneib_error *err)
{
    return oneib_file_lock_wait(fd, path, ONEIB_FILE_LOCK_OF_PROCESS, timeout_ms, holder, err);
}

static int take(int fd, const char *path, uint32_t timeout_ms, struct oneib_error *err)
{
    struct oneib_file_lock_holder holder;
    if (wait_for(fd, path, timeout_ms, &holder, err) < 0)
        return -1;
    if (holder.is_this)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                      "another oneib (process %d) is putting partitions into force (lock %s): try "
                      "again when it is done",
                      holder.process, path);
}

static int take_at_once(int fd, const char *path, const char *state, struct oneib_error *err)
{
    struct oneib_file_lock_holder holder;
    if (wait_for(fd, path, 0, &holder, err) < 0)
        return -1;
    if (holder.is_this)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "another oneibd (process %d) keeps %s already (lock %s): one is enough; stop "
                      "it first",
                      holder.process, state, path);
}

int oneib_sync_lock(const char *state, uint32_t timeout_ms, int *lock, struct oneib_error *err)
{
    oneib_autofree char *path = oneib_path_beside(state, "lock");
    oneib_autoclose int fd = -1;
    if (open_lock(path, &fd, err) < 0 || take(fd, path, timeout_ms, err) < 0)
        return -1;
    *lock = oneib_steal_fd(&fd);
    return 0;
}

int oneib_daemon_lock(const char *state, int *lock, struct oneib_error *err)
{
    oneib_autofree char *path = oneib_path_beside(state, "daemon");
    oneib_autoclose int fd = -1;
    if (open_lock(path, &fd, err) < 0 || take_at_once(fd, path, state, err) < 0)
        return -1;
    *lock = oneib_steal_fd(&fd);
    return 0;
}

/* The same process has the lock before and after it is opened: so it is the one that is opened. */
static int call(int fd, const char *path, pid_t holder, int *process, struct oneib_error *err)
{
    oneib_autoclose int pidfd = pidfd_open(holder, 0);
    if (pidfd < 0 && errno != ESRCH)
        return oneib_fail_errno(err, errno, "opening process %d, which has the lock %s",
                                (int)holder, path);
    if (pidfd < 0 || oneib_file_lock_process(fd) != holder)
        return 0;
    if (pidfd_send_signal(pidfd, SIGHUP, NULL, 0) < 0 && errno != ESRCH)
        return oneib_fail_errno(err, errno,
                                "signalling oneibd (process %d), that it looks at everything again",
                                (int)holder);
    *process = holder;
    return 0;
}

int oneib_daemon_call(const char *state, int *process, struct oneib_error *err)
{
    oneib_autofree char *path = oneib_path_beside(state, "daemon");
    *process = 0;
    oneib_autoclose int fd = open(path, LOCK_FLAGS);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return oneib_fail_errno(err, errno, "opening the lock %s", path);
    const pid_t holder = oneib_file_lock_process(fd);
    return holder == 0 ? 0 : call(fd, path, holder, process, err);
}

int oneib_daemon_find(const char *state, int *process, struct oneib_error *err)
{
    oneib_autofree char *path = oneib_path_beside(state, "daemon");
    *process = 0;
    oneib_autoclose int fd = open(path, LOCK_FLAGS);
    if (fd < 0)
        return errno == ENOENT ? 0 : oneib_fail_errno(err, errno, "opening the lock %s", path);
    *process = oneib_file_lock_process(fd);
    return 0;
}

void oneib_sync_unlock(int lock)
{
    close(lock);
}
