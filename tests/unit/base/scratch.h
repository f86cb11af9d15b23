// SPDX-License-Identifier: Apache-2.0
/* A directory of a test's own, removed with everything in it at the end. */
#ifndef ONEIB_TESTS_SCRATCH_H
#define ONEIB_TESTS_SCRATCH_H

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char scratch[PATH_MAX - NAME_MAX - 2];

static inline void remove_tree(const char *path)
{
    DIR *entries = opendir(path);
    if (entries) {
        for (struct dirent *entry; (entry = readdir(entries));) {
            char inner[PATH_MAX];
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner)
                remove_tree(inner);
        }
        closedir(entries);
    }
    remove(path);
}

static inline int make_scratch(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/oneib-test-XXXXXX", base ? base : "/tmp");
    return mkdtemp(scratch) ? 0 : -1;
}

static inline int remove_scratch(void **state)
{
    (void)state;
    remove_tree(scratch);
    return 0;
}

/* The path of a name in the scratch directory; good until the fourth call after it. */
static inline const char *in_scratch(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline void put_file(const char *path, const void *data, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void put_text(const char *path, const char *text)
{
    put_file(path, text, strlen(text));
}

static inline void assert_file_is(const char *path, const char *text)
{
    char found[65536];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(found, 1, sizeof found - 1, file);
    fclose(file);
    found[length] = '\0';
    assert_string_equal(found, text);
}

/* Entries of a directory, "." and ".." not counted. */
static inline int count_entries(const char *path)
{
    int count = -2;
    DIR *entries = opendir(path);
    assert_non_null(entries);
    while (readdir(entries))
        count++;
    closedir(entries);
    return count;
}

static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

#endif
