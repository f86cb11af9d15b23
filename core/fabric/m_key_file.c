// SPDX-License-Identifier: Apache-2.0
#include "fabric/m_key_file.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/memory.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A line of opensm's for each of the 49,151 unicast LIDs. */
#define FILE_MAX ((size_t)4 << 20)

static int refuse(const struct oneib_m_key_file *file, struct oneib_error *err)
{
    return oneib_wrap(err, "reading the M_Keys in %s (fabric.m_key_file)", file->path);
}

static bool is_what_was_read(const struct oneib_m_key_file *file, const struct stat *now)
{
    const struct stat *then = &file->status;
    return file->read && now->st_dev == then->st_dev && now->st_ino == then->st_ino &&
           now->st_size == then->st_size && now->st_mtim.tv_sec == then->st_mtim.tv_sec &&
           now->st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

static int read_keys(struct oneib_m_key_file *file, struct oneib_error *err)
{
    struct oneib_m_keys keys;
    oneib_autofree char *text = NULL;
    size_t length;
    if (oneib_file_read(file->path, FILE_MAX, &text, &length, err) < 0)
        return refuse(file, err);
    const int result = oneib_m_keys_parse(text, length, &keys, err);
    explicit_bzero(text, length);
    if (result < 0)
        return refuse(file, err);
    oneib_m_keys_clear(&file->keys);
    file->keys = keys;
    return 0;
}

int oneib_m_key_file_renew(struct oneib_m_key_file *file, struct oneib_error *err)
{
    struct stat now;
    if (!file->path)
        return 0;
    if (stat(file->path, &now) < 0) {
        oneib_fail_errno(err, errno, "looking at it");
        return refuse(file, err);
    }
    if (is_what_was_read(file, &now))
        return 0;
    /* The status is from before the reading: what is written meanwhile is seen next time. */
    if (read_keys(file, err) < 0)
        return -1;
    file->status = now;
    file->read = true;
    return 0;
}

int oneib_m_key_file_open(const char *path, struct oneib_m_key_file *file, struct oneib_error *err)
{
    *file = (struct oneib_m_key_file){0};
    if (!path)
        return 0;
    file->path = oneib_strdup(path);
    if (oneib_m_key_file_renew(file, err) == 0)
        return 0;
    oneib_m_key_file_close(file);
    return -1;
}

void oneib_m_key_file_close(struct oneib_m_key_file *file)
{
    oneib_m_keys_clear(&file->keys);
    free(file->path);
    *file = (struct oneib_m_key_file){0};
}
