// SPDX-License-Identifier: Apache-2.0
#include "base/file_lock.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>

#define PAUSE_MS 5
#define PID_SIZE 16

/* O_NONBLOCK and O_NOCTTY: in a directory that others can write to it may be a pipe or a terminal.
 */
#define OPEN_FLAGS (O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

int oneib_file_lock_open(int directory, const char *name, const char *path, int *fd,
                         struct oneib_error *err)
{
    struct stat status;
    oneib_autoclose int opened = openat(directory, name, OPEN_FLAGS, S_IRUSR | S_IWUSR);
    if (opened < 0 || fstat(opened, &status) < 0)
        return oneib_fail_errno(err, errno, "opening the lock %s", path);
    if (!S_ISREG(status.st_mode))
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "the lock %s is not a regular file: remove it",
                          path);
    *fd = oneib_steal_fd(&opened);
    return 0;
}

/* The whole file. */
static struct flock whole_file(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static int try_to_take(int fd, enum oneib_file_lock_kind kind)
{
    struct flock lock = whole_file();
    return kind == ONEIB_FILE_LOCK_OF_PROCESS ? fcntl(fd, F_SETLK, &lock)
                                              : flock(fd, LOCK_EX | LOCK_NB);
}

/* Nothing but a lock's own note is written over: what is in its place may be a second name of
 * another file. A failure is of no consequence. */
static void note_holder(int fd)
{
    char pid[PID_SIZE];
    struct stat status;
    if (fstat(fd, &status) < 0 || status.st_nlink > 1 || status.st_size >= PID_SIZE)
        return;
    const int length = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)length, 0) < 0)
        return;
}

static int noted_holder(int fd)
{
    char text[PID_SIZE];
    uint64_t pid = 0;
    const ssize_t length = pread(fd, text, sizeof text, 0);
    if (length < 2 || text[length - 1] != '\n' ||
        !oneib_parse_decimal_n(text, (size_t)length - 1, INT32_MAX, &pid))
        return 0;
    return (int)pid;
}

int oneib_file_lock_process(int fd)
{
    struct flock lock = whole_file();
    if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
        return 0;
    return (int)lock.l_pid;
}

int oneib_file_lock_wait(int fd, const char *path, enum oneib_file_lock_kind kind,
                         uint32_t timeout_ms, struct oneib_file_lock_holder *holder,
                         struct oneib_error *err)
{
    const bool is_processes = kind == ONEIB_FILE_LOCK_OF_PROCESS;
    const double end = oneib_now_ms() + timeout_ms;
    *holder = (struct oneib_file_lock_holder){.is_this = true};
    while (try_to_take(fd, kind) < 0) {
        /* EACCES is F_SETLK's other word for it. */
        if (errno != EWOULDBLOCK && errno != EACCES && errno != EINTR)
            return oneib_fail_errno(err, errno, "locking %s", path);
        if (oneib_now_ms() >= end) {
            *holder = (struct oneib_file_lock_holder){
                .process = is_processes ? oneib_file_lock_process(fd) : noted_holder(fd)};
            return 0;
        }
        oneib_sleep_ms(PAUSE_MS);
    }
    if (!is_processes)
        note_holder(fd);
    return 0;
}

int oneib_file_lock_take(int fd, const char *path, uint32_t timeout_ms, struct oneib_error *err)
{
    struct oneib_file_lock_holder holder;
    if (oneib_file_lock_wait(fd, path, ONEIB_FILE_LOCK_OF_DESCRIPTOR, timeout_ms, &holder, err) < 0)
        return -1;
    if (holder.is_this)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                      "process %d has had the lock %s for %" PRIu32
                      " ms: try again when it is done",
                      holder.process, path, timeout_ms);
}

int oneib_file_lock(const char *path, uint32_t timeout_ms, int *lock, struct oneib_error *err)
{
    oneib_autoclose int fd = -1;
    if (oneib_file_lock_open(AT_FDCWD, path, path, &fd, err) < 0 ||
        oneib_file_lock_take(fd, path, timeout_ms, err) < 0)
        return -1;
    *lock = oneib_steal_fd(&fd);
    return 0;
}
