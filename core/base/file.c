// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#define TEMPORARY_MARK ".oneib-"
#define RANDOM_LENGTH 6
#define NAME_ATTEMPTS 100
#define LINKS_MAX 40 /* as many as the kernel follows, path_resolution(7) */

/* What is being replaced: a name in an open directory. */
struct target {
    const char *path; /* as the caller wrote it, for messages */
    int directory;
    char name[NAME_MAX + 1];
    char temporary[NAME_MAX + 1];
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads until the end or until `size` bytes are there: files in /proc have no size that could be
 * asked for. */
static ssize_t read_up_to(int fd, char *data, size_t size)
{
    size_t length = 0;
    while (length < size) {
        ssize_t got = read(fd, data + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    return (ssize_t)length;
}

int oneib_stream_read(int fd, const char *what, size_t max_size, char **data, size_t *length,
                      struct oneib_error *err)
{
    if (max_size > SSIZE_MAX / 2)
        max_size = SSIZE_MAX / 2;

    /* One byte more than allowed tells a file that is too big from one that just fits; one more for
     * the NUL. */
    size_t room = 4096;
    size_t filled = 0;
    oneib_autofree char *buffer = NULL;

    for (;;) {
        if (room > max_size + 1)
            room = max_size + 1;
        buffer = oneib_realloc(buffer, room + 1, 1);

        ssize_t got = read_up_to(fd, buffer + filled, room - filled);
        if (got < 0)
            return oneib_fail_errno(err, errno, "cannot read %s", what);
        filled += (size_t)got;
        if (filled > max_size)
            return oneib_fail(err, ONEIB_ERROR_INPUT, "%s is larger than the %zu bytes allowed",
                              what, max_size);
        if (filled < room)
            break;
        room *= 2;
    }

    buffer[filled] = '\0';
    *data = oneib_steal(&buffer);
    *length = filled;
    return 0;
}

int oneib_file_read(const char *path, size_t max_size, char **data, size_t *length,
                    struct oneib_error *err)
{
    /* O_NONBLOCK: a FIFO in the file's place must not make us wait for a writer. */
    oneib_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "%s does not exist", path);
    if (fd < 0)
        return oneib_fail_errno(err, errno, "cannot open %s", path);

    struct stat status;
    if (fstat(fd, &status) < 0)
        return oneib_fail_errno(err, errno, "cannot examine %s", path);
    if (!S_ISREG(status.st_mode))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s is not a regular file", path);
    return oneib_stream_read(fd, path, max_size, data, length, err);
}

/* ---- finding the file to replace ------------------------------------------------------------- */

static int split_path(const char *path, char directory[PATH_MAX], char name[NAME_MAX + 1])
{
    const char *slash = strrchr(path, '/');
    const char *last = slash ? slash + 1 : path;
    if (last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        errno = EISDIR;
        return -1;
    }
    if (strlen(last) > NAME_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(name, last);

    if (!slash)
        strcpy(directory, ".");
    else if (slash == path)
        strcpy(directory, "/");
    else
        *(char *)mempcpy(directory, path, (size_t)(slash - path)) = '\0';
    return 0;
}

/* Replaces path by what the symbolic link at path points to. */
static int follow_link(char path[PATH_MAX], const char *link)
{
    const char *slash = strrchr(path, '/');
    size_t kept = link[0] == '/' || !slash ? 0 : (size_t)(slash - path) + 1;
    if (kept + strlen(link) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(path + kept, link);
    return 0;
}

/* Opens the directory of the file that is meant: links are followed by hand, as their end need not
 * exist. */
static int open_directory(struct target *target)
{
    char path[PATH_MAX], directory[PATH_MAX], link[PATH_MAX];
    if (strlen(target->path) >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(path, target->path);

    for (int links = 0; links <= LINKS_MAX; links++) {
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (length < 0) {
            if (errno != EINVAL && errno != ENOENT)
                return -1;
            if (split_path(path, directory, target->name) < 0)
                return -1;
            target->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            return target->directory < 0 ? -1 : 0;
        }
        link[length] = '\0';
        if (follow_link(path, link) < 0)
            return -1;
    }
    errno = ELOOP;
    return -1;
}

/* ---- left-overs of killed runs --------------------------------------------------------------- */

/* NAME's temporary files are .NAME.oneib-XXXXXX, each X a letter or a digit. */
static bool is_temporary_of(const char *entry, const char *name)
{
    size_t name_length = strlen(name);
    if (entry[0] != '.' || strncmp(entry + 1, name, name_length) != 0)
        return false;
    const char *mark = entry + 1 + name_length;
    if (strncmp(mark, TEMPORARY_MARK, strlen(TEMPORARY_MARK)) != 0)
        return false;
    const char *random = mark + strlen(TEMPORARY_MARK);
    return strlen(random) == RANDOM_LENGTH &&
           strspn(random, "0123456789abcdefghijklmnopqrstuvwxyz") == RANDOM_LENGTH;
}

/*
 * A run locks its temporary file for as long as it works on it, and the kernel unlocks the files of
 * a killed process: a temporary file that can be locked is a left-over.
 */
static void remove_if_left_over(int directory, const char *name)
{
    oneib_autoclose int fd =
        openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(directory, name, 0);
}

/* A left-over that cannot be removed costs some space and nothing else, so that is no reason to
 * fail. */
static void remove_left_overs(const struct target *target)
{
    int fd = openat(target->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries));)
        if (is_temporary_of(entry->d_name, target->name))
            remove_if_left_over(target->directory, entry->d_name);
    closedir(entries);
}

/* ---- the temporary file ---------------------------------------------------------------------- */

static int choose_temporary_name(struct target *target)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    unsigned char random[RANDOM_LENGTH];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return -1;

    char suffix[RANDOM_LENGTH + 1] = "";
    for (size_t i = 0; i < RANDOM_LENGTH; i++)
        suffix[i] = letters[random[i] % (sizeof letters - 1)];

    if (1 + strlen(target->name) + strlen(TEMPORARY_MARK) + RANDOM_LENGTH > NAME_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    char *end = stpcpy(target->temporary, ".");
    end = stpcpy(end, target->name);
    end = stpcpy(end, TEMPORARY_MARK);
    strcpy(end, suffix);
    return 0;
}

/* 1: locked and still there, 0: another run took it for a left-over and removed it, -1: failed. */
static int lock_temporary(int fd)
{
    struct stat status;
    while (flock(fd, LOCK_EX) < 0)
        if (errno != EINTR)
            return -1;
    if (fstat(fd, &status) < 0)
        return -1;
    return status.st_nlink > 0;
}

/* Between its creation and its locking another run may take the file for a left-over: then the next
 * name is tried. */
static int create_temporary(struct target *target)
{
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        if (choose_temporary_name(target) < 0)
            return -1;
        int fd = openat(target->directory, target->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                        S_IRUSR | S_IWUSR);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            return -1;

        int locked = lock_temporary(fd);
        if (locked == 1)
            return fd;
        int saved = errno;
        close(fd);
        if (locked < 0) {
            unlinkat(target->directory, target->temporary, 0);
            errno = saved;
            return -1;
        }
    }
    errno = EEXIST;
    return -1;
}

static int write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, data, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        data += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Gives the new file the owner and group of the old one, or at least the group, as far as that is
 * allowed. */
static int keep_owner(int fd, const struct stat *old)
{
    if (fchown(fd, old->st_uid, old->st_gid) == 0)
        return 0;
    if (errno == EPERM && fchown(fd, (uid_t)-1, old->st_gid) == 0)
        return 0;
    return errno == EPERM ? 0 : -1;
}

static int set_attributes(const struct target *target, int fd, mode_t mode, struct oneib_error *err)
{
    struct stat old;
    if (fstatat(target->directory, target->name, &old, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISREG(old.st_mode))
            return oneib_fail(err, ONEIB_ERROR_INPUT, "%s is not a regular file", target->path);
        if (keep_owner(fd, &old) < 0)
            return oneib_fail_errno(err, errno, "cannot give the new %s its owner", target->path);
    } else if (errno != ENOENT) {
        return oneib_fail_errno(err, errno, "cannot examine %s", target->path);
    }
    if (fchmod(fd, mode) < 0)
        return oneib_fail_errno(err, errno, "cannot give the new %s its mode", target->path);
    return 0;
}

static int compare_read_back(const struct target *target, int fd, const char *data, size_t length,
                             const struct oneib_file_steps *steps, struct oneib_error *err)
{
    oneib_autofree char *found = NULL;
    size_t found_length = 0;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return oneib_fail_errno(err, errno, "cannot read back the new %s", target->path);
    if (oneib_stream_read(fd, target->path, length, &found, &found_length, err) < 0)
        return oneib_wrap(err, "reading back the new file");
    if (found_length != length || (length > 0 && memcmp(found, data, length) != 0))
        return oneib_fail_errno(err, EIO, "the new %s differs from what was written", target->path);
    return steps->check ? steps->check(found, found_length, steps->context, err) : 0;
}

static int fill_temporary(const struct target *target, int fd, const char *data, size_t length,
                          mode_t mode, const struct oneib_file_steps *steps,
                          struct oneib_error *err)
{
    if (write_all(fd, data, length) < 0)
        return oneib_fail_errno(err, errno, "cannot write the new %s", target->path);
    if (set_attributes(target, fd, mode, err) < 0)
        return -1;
    if (fsync(fd) < 0)
        return oneib_fail_errno(err, errno, "cannot bring the new %s to the disk", target->path);
    return compare_read_back(target, fd, data, length, steps, err);
}

static int replace_in_directory(struct target *target, const char *data, size_t length, mode_t mode,
                                const struct oneib_file_steps *steps, struct oneib_error *err)
{
    remove_left_overs(target);
    oneib_autoclose int fd = create_temporary(target);
    if (fd < 0)
        return oneib_fail_errno(err, errno, "cannot create a temporary file beside %s",
                                target->path);

    if (fill_temporary(target, fd, data, length, mode, steps, err) < 0) {
        unlinkat(target->directory, target->temporary, 0);
        return -1;
    }
    if (renameat(target->directory, target->temporary, target->directory, target->name) < 0) {
        int saved = errno;
        unlinkat(target->directory, target->temporary, 0);
        return oneib_fail_errno(err, saved, "cannot put the new %s in place", target->path);
    }
    if (steps->in_place)
        steps->in_place(steps->context);
    if (fsync(target->directory) < 0)
        return oneib_fail_errno(
            err, errno, "the new %s is in place but may not survive a loss of power", target->path);
    return 0;
}

int oneib_file_replace_in_steps(const char *path, const char *data, size_t length, mode_t mode,
                                const struct oneib_file_steps *steps, struct oneib_error *err)
{
    struct target target = {.path = path, .directory = -1};
    if (open_directory(&target) < 0)
        return oneib_fail_errno(err, errno, "cannot open the directory of %s", path);
    /* As long as it is open the old file's space is not given back, which can take longer than the
     * rename. */
    const int old = openat(target.directory, target.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int result = replace_in_directory(&target, data, length, mode, steps, err);
    if (old >= 0)
        close(old);
    close(target.directory);
    return result;
}

int oneib_file_replace(const char *path, const char *data, size_t length, mode_t mode,
                       oneib_file_check check, void *context, struct oneib_error *err)
{
    const struct oneib_file_steps steps = {.check = check, .context = context};
    return oneib_file_replace_in_steps(path, data, length, mode, &steps, err);
}

char *oneib_path_beside(const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return oneib_asprintf("%.*s.%s.%s", (int)(name - path), path, name, suffix);
}
