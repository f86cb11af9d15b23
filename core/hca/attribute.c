// SPDX-License-Identifier: Apache-2.0
#include "hca/attribute.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/order.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NAMES_MAX 4096
#define SHOWN 64 /* bytes of a wrong value in an error */

/* A file that goes away between open(2) and read(2) reads ENODEV in sysfs. */
static int fail_file(struct oneib_error *err, const char *action, const char *path)
{
    if (errno == ENOENT || errno == ENODEV)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "there is no %s", path);
    return oneib_fail_errno(err, errno, "%s %s", action, path);
}

/* The file `name` in `directory`; `path` is for whoever reads the error. */
static int read_file(int directory, const char *name, const char *path, char *text, size_t size,
                     struct oneib_error *err)
{
    oneib_autoclose int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, text, size);
    if (got < 0)
        return fail_file(err, "reading", path);
    size_t length = (size_t)got;
    if (length == size)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s holds more than the %zu bytes it may have",
                          path, size - 1);
    if (memchr(text, '\0', length))
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s holds a NUL byte", path);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    text[length] = '\0';
    return 0;
}

/*
 * A simulated node's files are plain ones, where a value is longer than the next one may be. What
 * is too much of it becomes newlines, in the same write(2): a process that is killed between two
 * would leave half a value, which no attribute of sysfs can have.
 */
static size_t cover_old_value(int fd, char line[ONEIB_ATTRIBUTE_SIZE], size_t length)
{
    struct statfs system;
    struct stat status;
    if (fstatfs(fd, &system) < 0 || system.f_type == SYSFS_MAGIC || fstat(fd, &status) < 0 ||
        !S_ISREG(status.st_mode))
        return length;
    while (length < ONEIB_ATTRIBUTE_SIZE - 1 && (off_t)length < status.st_size)
        line[length++] = '\n';
    return length;
}

static int write_file(int directory, const char *name, const char *path, const char *value,
                      struct oneib_error *err)
{
    char line[ONEIB_ATTRIBUTE_SIZE];
    const size_t value_length = strlen(value);
    if (value_length >= sizeof line)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%zu bytes are too many for %s", value_length,
                          path);
    memcpy(line, value, value_length + 1);
    oneib_autoclose int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_file(err, "writing", path);
    const size_t length = cover_old_value(fd, line, value_length);
    const ssize_t written = write(fd, line, length);
    /* Either the file went away, or what was written names a device that the file is not for. */
    if (written < 0 && errno == ENODEV)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "writing %s to %s: %s", value, path,
                          strerror(ENODEV));
    if (written < 0)
        return fail_file(err, "writing", path);
    if ((size_t)written != length)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s took %zd of the %zu bytes of \"%s\"", path,
                          written, length, value);
    return 0;
}

int oneib_attribute_read(const char *path, char *text, size_t size, struct oneib_error *err)
{
    return read_file(AT_FDCWD, path, path, text, size, err);
}

int oneib_attribute_write(const char *path, const char *value, struct oneib_error *err)
{
    return write_file(AT_FDCWD, path, path, value, err);
}

static int fail_value(struct oneib_error *err, const char *path, const char *text,
                      const char *expected)
{
    oneib_autotext struct oneib_text shown = {0};
    oneib_text_append_escaped(&shown, text, SHOWN);
    return oneib_fail(err, ONEIB_ERROR_INPUT, "%s reads \"%s\", not %s", path,
                      shown.data ? shown.data : "", expected);
}

int oneib_attribute_decimal(const char *path, uint64_t max, uint64_t *value,
                            struct oneib_error *err)
{
    char text[ONEIB_ATTRIBUTE_SIZE], expected[64];
    if (oneib_attribute_read(path, text, sizeof text, err) < 0)
        return -1;
    if (oneib_parse_decimal(text, max, value))
        return 0;
    snprintf(expected, sizeof expected, "a decimal number up to %" PRIu64, max);
    return fail_value(err, path, text, expected);
}

static bool has_prefix(const char *text)
{
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

static int read_hex(int directory, const char *name, const char *path, uint64_t max,
                    uint64_t *value, struct oneib_error *err)
{
    char text[2 + ONEIB_ATTRIBUTE_SIZE] = "0x", expected[64];
    char *read = text + 2;
    if (read_file(directory, name, path, read, ONEIB_ATTRIBUTE_SIZE, err) < 0)
        return -1;
    if (oneib_parse_hex(has_prefix(read) ? read : text, max, value))
        return 0;
    snprintf(expected, sizeof expected, "a hexadecimal number up to 0x%" PRIx64, max);
    return fail_value(err, path, read, expected);
}

int oneib_attribute_hex(const char *path, uint64_t max, uint64_t *value, struct oneib_error *err)
{
    return read_hex(AT_FDCWD, path, path, max, value, err);
}

int oneib_attribute_link(const char *path, char *name, size_t size, struct oneib_error *err)
{
    char target[PATH_MAX];
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return fail_file(err, "reading the link", path);
    target[length] = '\0';
    const char *slash = strrchr(target, '/');
    const char *last = slash ? slash + 1 : target;
    if (strlen(last) >= size || *last == '\0')
        return fail_value(err, path, target, "a link to something of a known kind");
    strcpy(name, last);
    return 0;
}

/* Names one behind the other, each with its NUL. */
struct names {
    char *bytes;
    size_t length, capacity, count;
};

static int add_name(struct names *names, const char *path, const char *name,
                    struct oneib_error *err)
{
    const size_t size = strlen(name) + 1;
    if (names->count == NAMES_MAX)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s has more than %d entries", path, NAMES_MAX);
    ONEIB_RESERVE(names->bytes, names->capacity, names->length + size);
    memcpy(names->bytes + names->length, name, size);
    names->length += size;
    names->count++;
    return 0;
}

static bool is_self_or_above(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
}

static int read_names(DIR *directory, const char *path, struct names *names,
                      struct oneib_error *err)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry)
            return errno == 0 ? 0 : oneib_fail_errno(err, errno, "reading the directory %s", path);
        if (is_self_or_above(entry))
            continue;
        if (add_name(names, path, entry->d_name, err) < 0)
            return -1;
    }
}

/* Names that are no numbers come last. */
static uint64_t number_of(const char *name)
{
    uint64_t number = UINT64_MAX;
    oneib_parse_decimal(name, UINT32_MAX, &number);
    return number;
}

static int compare_names(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    const uint64_t left_number = number_of(*left), right_number = number_of(*right);
    if (left_number != right_number)
        return left_number < right_number ? -1 : 1;
    return strcmp(*left, *right);
}

/* The pointers, and the names behind them. */
static char **in_one(const struct names *names)
{
    const size_t pointers = (names->count + 1) * sizeof(char *);
    char *all = oneib_alloc(pointers + names->length, 1);
    char **list = (char **)(void *)all;
    char *name = all + pointers;
    if (names->length > 0)
        memcpy(name, names->bytes, names->length);
    for (size_t i = 0; i < names->count; i++, name += strlen(name) + 1)
        list[i] = name;
    list[names->count] = NULL;
    ONEIB_SORT(list, names->count, compare_names);
    return list;
}

int oneib_attribute_list(const char *path, char ***list, size_t *count, struct oneib_error *err)
{
    struct names names = {0};
    *list = NULL;
    *count = 0;
    DIR *directory = opendir(path);
    if (!directory && errno != ENOENT)
        return oneib_fail_errno(err, errno, "opening the directory %s", path);
    int result = directory ? read_names(directory, path, &names, err) : 0;
    if (directory)
        closedir(directory);
    if (result == 0)
        *list = in_one(&names);
    free(names.bytes);
    *count = result == 0 ? names.count : 0;
    return result;
}

/* ---- tables ---------------------------------------------------------------------------------- */

int oneib_attribute_table_open(const char *path, struct oneib_attribute_table *table,
                               struct oneib_error *err)
{
    table->directory = NULL;
    table->length = strlen(path);
    if (table->length + sizeof "/65535" > sizeof table->path)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s is too long", path);
    memcpy(table->path, path, table->length + 1);
    table->directory = opendir(path);
    return table->directory ? 0 : fail_file(err, "opening the directory", path);
}

void oneib_attribute_table_close(struct oneib_attribute_table *table)
{
    if (table->directory)
        closedir(table->directory);
    table->directory = NULL;
}

/* Marks the numbers among the names; *count is of all names. */
static int mark_entries(DIR *directory, bool *is_there, size_t max, size_t *count)
{
    rewinddir(directory);
    for (*count = 0;;) {
        uint64_t number;
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry)
            return errno == 0 ? 0 : -1;
        if (is_self_or_above(entry))
            continue;
        if (oneib_parse_decimal(entry->d_name, max, &number))
            is_there[number] = true;
        ++*count;
    }
}

int oneib_attribute_table_count(struct oneib_attribute_table *table, size_t max, size_t *count,
                                struct oneib_error *err)
{
    oneib_autofree bool *is_there = oneib_alloc(max + 1, sizeof *is_there);
    table->path[table->length] = '\0';
    *count = 0;
    size_t found;
    if (mark_entries(table->directory, is_there, max, &found) < 0)
        return fail_file(err, "reading the directory", table->path);
    if (found == 0)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "%s has no entries", table->path);
    if (found > max)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "%s has %zu entries, not 1 to %zu", table->path,
                          found, max);
    for (size_t i = 0; i < found; i++)
        if (!is_there[i])
            return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "%s has no entry %zu", table->path, i);
    *count = found;
    return 0;
}

/* Its name; its path stands in table->path from here on. */
static const char *name_entry(struct oneib_attribute_table *table, size_t entry)
{
    snprintf(table->path + table->length, sizeof table->path - table->length, "/%zu", entry);
    return table->path + table->length + 1;
}

int oneib_attribute_table_read(struct oneib_attribute_table *table, size_t entry, char *text,
                               size_t size, struct oneib_error *err)
{
    const char *name = name_entry(table, entry);
    return read_file(dirfd(table->directory), name, table->path, text, size, err);
}

int oneib_attribute_table_write(struct oneib_attribute_table *table, size_t entry,
                                const char *value, struct oneib_error *err)
{
    const char *name = name_entry(table, entry);
    return write_file(dirfd(table->directory), name, table->path, value, err);
}

int oneib_attribute_table_hex(struct oneib_attribute_table *table, size_t entry, uint64_t max,
                              uint64_t *value, struct oneib_error *err)
{
    const char *name = name_entry(table, entry);
    return read_hex(dirfd(table->directory), name, table->path, max, value, err);
}
