// SPDX-License-Identifier: Apache-2.0
#include "hca/reservations.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "hca/place.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "/run/oneib"
#define PATH_SIZE 640 /* the root of a simulated node, and a name in FOLDER */
#define NAME_SIZE 64
#define TABLE_SIZE_MAX ((size_t)ONEIB_VF_RECORDS_MAX * 384) /* no record is longer */
#define PID_SIZE 16

/* ---- the table
 * ------------------------------------------------------------------------- */

static int table_path(char path[PATH_SIZE], struct oneib_error *err)
{
    return oneib_node_path(path, PATH_SIZE, err, FOLDER "/vfs");
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
                      "%s is damaged: %s: no virtual function is handed out until root has mended "
                      "that line, or removed it: what it stands for is then handed out again once "
                      "it is closed and no domain has it",
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

static int ensure_folder(struct oneib_error *err);

/* What would not be read again must not get into the table's place. */
static int check_readable(const char *data, size_t length, void *context, struct oneib_error *err)
{
    (void)context;
    struct oneib_vf_table again;
    if (oneib_vf_table_parse(data, length, &again, err) < 0)
        return oneib_wrap(err, "the new table of virtual functions is wrong and not written");
    oneib_vf_table_clear(&again);
    return 0;
}

int oneib_reservations_write(const struct oneib_vf_table *table, struct oneib_error *err)
{
    char path[PATH_SIZE];
    oneib_autotext struct oneib_text text = {0};
    oneib_vf_table_render(table, &text);
    if (oneib_text_failed(&text))
        return oneib_fail_memory(err);
    if (table_path(path, err) < 0 || ensure_folder(err) < 0)
        return -1;
    return oneib_file_replace(path, text.data ? text.data : "", text.length, 0644, check_readable,
                              NULL, err);
}

/* ---- the folder
 * ------------------------------------------------------------------------- */

static int make_folder(const char *path, struct oneib_error *err)
{
    if (mkdir(path, 0755) < 0)
        return errno == EEXIST ? 0 : oneib_fail_errno(err, errno, "making the folder %s", path);
    /* The umask may have taken something away. */
    if (chmod(path, 0755) < 0)
        return oneib_fail_errno(err, errno, "giving the folder %s its mode", path);
    return 0;
}

/* Who else may write there can put another table, or another lock, in the place of this one. */
static int check_folder(int folder, const char *path, struct oneib_error *err)
{
    struct stat status;
    if (fstat(folder, &status) < 0)
        return oneib_fail_errno(err, errno, "examining the folder %s", path);
    if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the folder %s must be uid %u's and writable for nobody else: it is uid "
                          "%u's with mode %04o",
                          path, (unsigned)geteuid(), (unsigned)status.st_uid,
                          (unsigned)(status.st_mode & 07777));
    return 0;
}

static int open_folder(int *folder, struct oneib_error *err)
{
    char path[PATH_SIZE];
    if (oneib_node_path(path, sizeof path, err, FOLDER) < 0 || make_folder(path, err) < 0)
        return -1;
    oneib_autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return oneib_fail_errno(err, errno, "opening the folder %s", path);
    if (check_folder(fd, path, err) < 0)
        return -1;
    *folder = fd;
    fd = -1;
    return 0;
}

static int ensure_folder(struct oneib_error *err)
{
    int folder;
    if (open_folder(&folder, err) < 0)
        return -1;
    close(folder);
    return 0;
}

/* ---- locks
 * ------------------------------------------------------------------------- */

/* Nobody else may open it, not even for reading: that is enough to lock it, and to keep it. */
static int check_lock_file(int fd, const char *path, struct oneib_error *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return oneib_fail_errno(err, errno, "examining the lock %s", path);
    if (status.st_uid != geteuid() || (status.st_mode & 0077) != 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the lock %s must be a regular file of uid %u with mode 0600: remove it "
                          "while no oneib-vf is at work",
                          path, (unsigned)geteuid());
    return 0;
}

static int open_lock(const char *name, const char *path, int *lock, struct oneib_error *err)
{
    oneib_autoclose int folder = -1, fd = -1;
    if (open_folder(&folder, err) < 0 || oneib_file_lock_open(folder, name, path, &fd, err) < 0 ||
        check_lock_file(fd, path, err) < 0)
        return -1;
    *lock = fd;
    fd = -1;
    return 0;
}

static int take_lock(const char *name, uint32_t timeout_ms, int *lock, struct oneib_error *err)
{
    char path[sizeof FOLDER + NAME_SIZE];
    oneib_autoclose int fd = -1;
    snprintf(path, sizeof path, FOLDER "/%s", name);
    if (open_lock(name, path, &fd, err) < 0 || oneib_file_lock_take(fd, path, timeout_ms, err) < 0)
        return -1;
    *lock = fd;
    fd = -1;
    return 0;
}

int oneib_reservations_lock(uint32_t timeout_ms, struct oneib_vf_table *table, int *lock,
                            struct oneib_error *err)
{
    int taken;
    *table = (struct oneib_vf_table){0};
    if (take_lock("vfs.lock", timeout_ms, &taken, err) < 0)
        return -1;
    if (oneib_reservations_read(table, err) < 0) {
        close(taken);
        return -1;
    }
    *lock = taken;
    return 0;
}

int oneib_reservations_own(int *lock, struct oneib_error *err)
{
    struct oneib_error why = {0};
    if (take_lock("vfs.lock", 0, lock, &why) == 0)
        return 0;
    if (why.code == ONEIB_ERROR_TIMEOUT)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "another oneib-node is at work on this host: %s", why.text);
    *err = why;
    return -1;
}

void oneib_reservations_unlock(int lock)
{
    close(lock);
}

int oneib_vf_lock(const struct oneib_pci *vf, uint32_t timeout_ms, int *lock,
                  struct oneib_error *err)
{
    char address[ONEIB_PCI_TEXT_SIZE], name[NAME_SIZE];
    oneib_pci_format(vf, address);
    snprintf(name, sizeof name, "vf-%s.lock", address);
    return take_lock(name, timeout_ms, lock, err);
}

void oneib_vf_unlock(int lock)
{
    close(lock);
}

/* ---- owners
 * ------------------------------------------------------------------------- */

/* Of /proc/PID/stat, proc(5): the 3rd and the 22nd field. */
struct process {
    char state;
    uint64_t start;
};

/* The name of a process, the 2nd field, may hold anything: what follows its last ')' does not. */
static bool parse_process(const char *text, struct process *process)
{
    const char *after_name = strrchr(text, ')');
    return after_name && sscanf(after_name + 1,
                                " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                "%*s %*s %*s %" SCNu64,
                                &process->state, &process->start) == 2;
}

/* Processes are this kernel's, wherever the node's files lie. */
static bool read_process(int32_t pid, struct process *process)
{
    char path[PID_SIZE + sizeof "/proc//stat"], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRId32 "/stat", pid);
    oneib_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (length < 0)
        return false;
    text[length] = '\0';
    return parse_process(text, process);
}

void oneib_vf_record_own(struct oneib_vf_record *record)
{
    struct process self;
    record->owner = (int32_t)getpid();
    record->owner_start = read_process(record->owner, &self) ? self.start : 0;
}

bool oneib_vf_record_has_owner(const struct oneib_vf_record *record)
{
    struct process process;
    if (record->owner <= 0)
        return false;
    /* Where /proc hides the processes of others, one that exists may be the owner. */
    if (!read_process(record->owner, &process))
        return kill(record->owner, 0) == 0 || errno == EPERM;
    /* Dead, and only not waited for yet. */
    if (process.state == 'Z' || process.state == 'X')
        return false;
    return process.start == record->owner_start || record->owner_start == 0;
}

int64_t oneib_seconds_since_boot(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec;
}
