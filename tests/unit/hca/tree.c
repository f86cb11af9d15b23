// SPDX-License-Identifier: Apache-2.0
#include "tree.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *root;

__attribute__((noreturn, format(printf, 1, 2))) static void give_up(const char *format, ...)
{
    const int reason = errno;
    va_list arguments;
    va_start(arguments, format);
    fputs("tree: ", stderr);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, ": %s\n", strerror(reason));
    va_end(arguments);
    exit(EXIT_FAILURE);
}

/* The root, and a formatted path below it. */
__attribute__((format(printf, 1, 0))) static char *path_of(const char *format, va_list arguments)
{
    struct oneib_text path = {0};
    if (!root)
        give_up("%s", "no root");
    oneib_text_append(&path, root);
    oneib_text_vprintf(&path, format, arguments);
    return path.data;
}

#define FORMAT_PATH(path, format)                                                                  \
    va_list arguments;                                                                             \
    va_start(arguments, format);                                                                   \
    char *path = path_of(format, arguments);                                                       \
    va_end(arguments)

char *tree_path(const char *format, ...)
{
    FORMAT_PATH(path, format);
    return path;
}

bool tree_exists(const char *format, ...)
{
    struct stat status;
    FORMAT_PATH(path, format);
    const bool exists = lstat(path, &status) == 0;
    free(path);
    return exists;
}

/* Makes the directory that `path` lies in; most often it is there, or only it is missing. */
static void make_directory_above(char *path)
{
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (mkdir(path, 0755) < 0 && errno == ENOENT) {
        make_directory_above(path);
        mkdir(path, 0755);
    }
    *slash = '/';
}

/* Opens for writing; the directories are made only when they are not there yet. */
static int open_new(char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 && errno == ENOENT) {
        make_directory_above(path);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    }
    return fd;
}

void tree_write(const char *value, const char *format, ...)
{
    FORMAT_PATH(path, format);
    char line[512];
    const int length = snprintf(line, sizeof line, "%s\n", value);
    const int fd = open_new(path);
    if (fd < 0 || length >= (int)sizeof line || write(fd, line, (size_t)length) != length)
        give_up("%s", path);
    close(fd);
    free(path);
}

void tree_replace(const char *value, const char *format, ...)
{
    FORMAT_PATH(path, format);
    char *whole = tree_path("/.new");
    tree_write(value, "/.new");
    make_directory_above(path);
    if (rename(whole, path) < 0)
        give_up("%s", path);
    free(whole);
    free(path);
}

void tree_read(char *text, size_t size, const char *format, ...)
{
    FORMAT_PATH(path, format);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (length < 0)
        give_up("%s", path);
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    close(fd);
    free(path);
}

void tree_make_directory(const char *format, ...)
{
    FORMAT_PATH(path, format);
    make_directory_above(path);
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        give_up("%s", path);
    free(path);
}

/* The way from the directory of `link` to `target`, both below the root. */
static void relative(const char *target, const char *link, struct oneib_text *way)
{
    size_t shared = 0;
    for (size_t i = 0; target[i] && target[i] == link[i]; i++)
        if (target[i] == '/')
            shared = i + 1;
    for (const char *slash = strchr(link + shared, '/'); slash; slash = strchr(slash + 1, '/'))
        oneib_text_append(way, "../");
    oneib_text_append(way, target + shared);
}

void tree_link(const char *target, const char *format, ...)
{
    FORMAT_PATH(path, format);
    oneib_autotext struct oneib_text way = {0};
    relative(target, path + strlen(root), &way);
    make_directory_above(path);
    if ((unlink(path) < 0 && errno != ENOENT) || symlink(way.data, path) < 0)
        give_up("%s", path);
    free(path);
}

void tree_set_mode(mode_t mode, const char *format, ...)
{
    FORMAT_PATH(path, format);
    if (chmod(path, mode) < 0)
        give_up("%s", path);
    free(path);
}

/* Directories that a test made unreadable are opened first. */
static int open_directory(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)at;
    if (type == FTW_DNR || (type == FTW_D && (status->st_mode & 0700) != 0700))
        return chmod(path, 0700);
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status;
    (void)type;
    (void)at;
    return remove(path);
}

static void remove_all(const char *path)
{
    struct stat status;
    if (lstat(path, &status) < 0 || nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0)
        return;
    nftw(path, open_directory, 16, FTW_PHYS);
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0)
        give_up("%s", path);
}

void tree_remove(const char *format, ...)
{
    FORMAT_PATH(path, format);
    remove_all(path);
    free(path);
}

void tree_at(const char *directory)
{
    free(root);
    root = strdup(directory);
    if (!root)
        give_up("%s", "no memory");
}

const char *tree_root(void)
{
    return root;
}

int tree_reset(void **state)
{
    static const char *const directories[] = {"/sys/class/infiniband",
                                              "/sys/bus/pci/devices",
                                              "/sys/bus/pci/drivers",
                                              "/proc",
                                              "/run",
                                              "/etc/oneib"};
    (void)state;
    tree_remove("/sys");
    tree_remove("/proc");
    tree_remove("/run");
    tree_remove("/etc");
    tree_remove("/dev");
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        tree_make_directory("%s", directories[i]);
    return 0;
}
