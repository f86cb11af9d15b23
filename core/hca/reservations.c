// SPDX-License-Identifier: Apache-2.0
#include "hca/reservations.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "hca/place.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DIRECTORY "/run/oneib"
#define LOCK_NAME "vfs.lock"
#define LOCK DIRECTORY "/" LOCK_NAME
#define PATH_SIZE 640 /* the root of a simulated node, and a name in DIRECTORY */
#define TABLE_SIZE_MAX ((size_t)ONEIB_VF_RECORDS_MAX * 384) /* no record is longer */

/* ---- reading --------------------------------------------------------------------------------- */

static int table_path(char path[PATH_SIZE], struct oneib_error *err)
{
    return oneib_node_path(path, PATH_SIZE, err, ONEIB_RESERVATIONS_PATH);
}

static int parse_table(const char *path, const char *data, size_t length,
                       struct oneib_vf_table *table, struct oneib_error *err)
{
    struct oneib_error why = {0};
    if (oneib_vf_table_parse(data, length, table, &why) == 0)
        return 0;
    if (why.code != ONEIB_ERROR_INPUT) {
        *err = why;
        return -1;
    }
    return oneib_fail(err, ONEIB_ERROR_INPUT,
                      "%s is damaged: %s: no virtual function is handed out until root has "
                      "corrected that line, or removed it: what it stands for is then handed out "
                      "again once it is closed and no domain has it",
                      path, why.text);
}

int oneib_reservations_read(struct oneib_vf_table *table, struct oneib_error *err)
{
    char path[PATH_SIZE];
    oneib_autofree char *data = NULL;
    size_t length = 0;
    struct oneib_error why = {0};
    *table = (struct oneib_vf_table){0};
    if (table_path(path, err) < 0)
        return -1;
    if (oneib_file_read(path, TABLE_SIZE_MAX, &data, &length, &why) == 0)
        return parse_table(path, data, length, table, err);
    if (why.code == ONEIB_ERROR_NOT_FOUND)
        return 0;
    *err = why;
    return -1;
}

/* ---- the directory --------------------------------------------------------------------------- */

static int make_directory(const char *path, struct oneib_error *err)
{
    if (mkdir(path, 0755) < 0)
        return errno == EEXIST ? 0 : oneib_fail_errno(err, errno, "making the directory %s", path);
    /* The umask may have taken something away. */
    if (chmod(path, 0755) < 0)
        return oneib_fail_errno(err, errno, "giving the directory %s its mode", path);
    return 0;
}

/* Who else may write there can put another table, or another lock, in the place of this one. */
static int check_directory(int directory, const char *path, struct oneib_error *err)
{
    struct stat status;
    if (fstat(directory, &status) < 0)
        return oneib_fail_errno(err, errno, "examining the directory %s", path);
    if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the directory %s must belong to uid %u and be writable by no other "
                          "user: it is uid %u's with mode %04o",
                          path, (unsigned)geteuid(), (unsigned)status.st_uid,
                          (unsigned)(status.st_mode & 07777));
    return 0;
}

static int open_directory(int *directory, struct oneib_error *err)
{
    char path[PATH_SIZE];
    if (oneib_node_path(path, sizeof path, err, DIRECTORY) < 0 || make_directory(path, err) < 0)
        return -1;
    oneib_autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return oneib_fail_errno(err, errno, "opening the directory %s", path);
    if (check_directory(fd, path, err) < 0)
        return -1;
    *directory = oneib_steal_fd(&fd);
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What would not be read again must not get into the table's place. */
static int check_readable(const char *data, size_t length, void *context, struct oneib_error *err)
{
    (void)context;
    oneib_autovfs struct oneib_vf_table again;
    if (oneib_vf_table_parse(data, length, &again, err) < 0)
        return oneib_wrap(err, "the new table of virtual functions is invalid and not written");
    return 0;
}

int oneib_reservations_write(const struct oneib_vf_table *table, struct oneib_error *err)
{
    char path[PATH_SIZE];
    oneib_autoclose int directory = -1;
    oneib_autotext struct oneib_text text = {0};
    oneib_vf_table_render(table, &text);
    if (table_path(path, err) < 0 || open_directory(&directory, err) < 0)
        return -1;
    return oneib_file_replace(path, text.data ? text.data : "", text.length, 0644, check_readable,
                              NULL, err);
}

/* ---- one writer ------------------------------------------------------------------------------ */

/* Nobody else may open it, not even for reading: that is enough to lock it, and to keep it. */
static int check_lock_file(int fd, struct oneib_error *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return oneib_fail_errno(err, errno, "examining the lock %s", LOCK);
    if (status.st_uid != geteuid() || (status.st_mode & 0077) != 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the lock %s must be a regular file of uid %u with mode 0600: remove it "
                          "while no oneib-node is at work",
                          LOCK, (unsigned)geteuid());
    return 0;
}

static int open_own_lock(int *lock, struct oneib_error *err)
{
    oneib_autoclose int directory = -1, fd = -1;
    if (open_directory(&directory, err) < 0 ||
        oneib_file_lock_open(directory, LOCK_NAME, LOCK, &fd, err) < 0 ||
        check_lock_file(fd, err) < 0)
        return -1;
    *lock = oneib_steal_fd(&fd);
    return 0;
}

int oneib_reservations_own(int *lock, struct oneib_error *err)
{
    struct oneib_error why = {0};
    oneib_autoclose int fd = -1;
    if (open_own_lock(&fd, err) < 0)
        return -1;
    if (oneib_file_lock_take(fd, LOCK, 0, &why) == 0) {
        *lock = oneib_steal_fd(&fd);
        return 0;
    }
    if (why.code == ONEIB_ERROR_TIMEOUT)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "another oneib-node is at work on this host: %s", why.text);
    *err = why;
    return -1;
}

bool oneib_reservations_are_owned(int lock)
{
    char path[PATH_SIZE];
    struct stat ours, there;
    struct oneib_error ignored;
    return oneib_node_path(path, sizeof path, &ignored, LOCK) == 0 && fstat(lock, &ours) == 0 &&
           lstat(path, &there) == 0 && ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* ---- the time -------------------------------------------------------------------------------- */

int64_t oneib_seconds_since_boot(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec;
}
