// SPDX-License-Identifier: Apache-2.0
#include "oneib/key_files.h"

#include "base/cleanup.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longer than a sweep, and than daemon.verify: docs/operator-keys.md says why. */
#define LEASE_S 600
#define LEVEL 2

struct fresh {
    uint64_t m_key, sa_key, sm_key;
};

/* Neither 0 nor 1: these mean none, and everybody's. */
static int draw(uint64_t *key, struct oneib_error *err)
{
    do {
        if (getrandom(key, sizeof *key, 0) != (ssize_t)sizeof *key)
            return oneib_fail_errno(err, errno, "asking the kernel for random numbers");
    } while (*key <= 1);
    return 0;
}

static int draw_all(struct fresh *keys, struct oneib_error *err)
{
    return draw(&keys->m_key, err) < 0 || draw(&keys->sa_key, err) < 0 ||
                   draw(&keys->sm_key, err) < 0
               ? -1
               : 0;
}

/* ---- what the files say ---------------------------------------------------------------------- */

static void render_opensm(const struct fresh *keys, struct oneib_text *text)
{
    oneib_text_printf(text,
                      "# These lines belong into opensm.conf, in place of those with the same "
                      "names.\n"
                      "m_key 0x%016" PRIx64 "\n"
                      "m_key_protection_level %d\n"
                      "m_key_lease_period %d\n"
                      "m_key_lookup TRUE\n"
                      "sm_key 0x%016" PRIx64 "\n"
                      "sa_key 0x%016" PRIx64 "\n",
                      keys->m_key, LEVEL, LEASE_S, keys->sm_key, keys->sa_key);
}

static void render_key(uint64_t key, struct oneib_text *text)
{
    oneib_text_printf(text, "0x%016" PRIx64 "\n", key);
}

/* As many as a file may have, the new one among them. */
static void render_both(const struct fresh *keys, const struct oneib_m_keys *old,
                        struct oneib_text *text)
{
    render_key(keys->m_key, text);
    for (size_t i = 0; i < old->key_count && i + 1 < ONEIB_M_KEYS_TRIED; i++)
        render_key(old->keys[i], text);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_all(int fd, const char *name, const char *data, size_t length,
                     struct oneib_error *err)
{
    while (length > 0) {
        const ssize_t written = write(fd, data, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return oneib_fail_errno(err, written < 0 ? errno : EIO, "writing %s", name);
        data += written;
        length -= (size_t)written;
    }
    return fsync(fd) < 0 ? oneib_fail_errno(err, errno, "writing %s", name) : 0;
}

static int write_new(int directory, const char *name, const struct oneib_text *text,
                     struct oneib_error *err)
{
    oneib_autoclose int fd =
        openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return oneib_fail(
            err, ONEIB_ERROR_REFUSED,
            "%s is there already: name another directory, so that no key that is in use is lost",
            name);
    if (fd < 0 || fchmod(fd, 0600) < 0)
        return oneib_fail_errno(err, errno, "making %s", name);
    if (write_all(fd, name, text->data, text->length, err) == 0)
        return 0;
    unlinkat(directory, name, 0);
    return -1;
}

struct file {
    const char *name;
    struct oneib_text text;
};

/* All of them, or none. */
static int write_files(int directory, const struct file *files, size_t count,
                       struct oneib_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (write_new(directory, files[i].name, &files[i].text, err) == 0)
            continue;
        while (i-- > 0)
            unlinkat(directory, files[i].name, 0);
        return -1;
    }
    return fsync(directory) < 0 ? oneib_fail_errno(err, errno, "writing the directory") : 0;
}

/* Whoever can write there could put keys of their own in the place of these. */
static int check_ours(int directory, struct oneib_error *err)
{
    struct stat status;
    if (fstat(directory, &status) < 0)
        return oneib_fail_errno(err, errno, "looking at the directory");
    if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return oneib_fail(
            err, ONEIB_ERROR_REFUSED,
            "others than who runs this may write there: name a directory that does not "
            "exist yet, in one of your own");
    return 0;
}

static int open_directory(const char *path, struct oneib_error *err)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return oneib_fail_errno(err, errno, "making the directory");
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return oneib_fail_errno(err, errno, "opening the directory");
    if (check_ours(directory, err) == 0)
        return directory;
    close(directory);
    return -1;
}

static void forget(struct oneib_text *text)
{
    if (text->data)
        explicit_bzero(text->data, text->capacity);
    oneib_text_clear(text);
}

static int make_in(int directory, const struct oneib_m_keys *old, struct oneib_error *err)
{
    struct fresh keys;
    if (draw_all(&keys, err) < 0)
        return -1;
    struct file files[] = {
        {ONEIB_KEY_FILE, {0}}, {ONEIB_KEY_FILE_OPENSM, {0}}, {ONEIB_KEY_FILE_BOTH, {0}}};
    render_key(keys.m_key, &files[0].text);
    render_opensm(&keys, &files[1].text);
    if (old)
        render_both(&keys, old, &files[2].text);
    const int result = write_files(directory, files, old ? 3 : 2, err);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        forget(&files[i].text);
    explicit_bzero(&keys, sizeof keys);
    return result;
}

int oneib_key_files_make(const char *path, const struct oneib_m_keys *old, struct oneib_error *err)
{
    oneib_autoclose int directory = open_directory(path, err);
    if (directory < 0 || make_in(directory, old, err) < 0)
        return oneib_wrap(err, "writing keys into %s", path);
    return 0;
}
