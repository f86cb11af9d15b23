// SPDX-License-Identifier: Apache-2.0
/*
 * The lab's directory, and the promise that nothing is left of it. Whoever has a lab open holds a
 * lock in its directory, which the kernel lets go of when that process ends, in whatever way. Then
 * the lab's keeper gets it, a process that waits for nothing else, and removes the directory. A
 * directory whose keeper was killed, too, goes when the next lab is opened.
 */
#include "base/cleanup.h"
#include "lab_internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PREFIX "oneib-lab-"
#define LOCK "owner"
#define PATIENCE_MS 10000u
/* So that paths below it fit where programs are configured with them. */
#define PARENT_MAX 40

/* ---- removing -------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    /* A test may have made a directory read-only. */
    if (remove(path) < 0 && errno == EACCES)
        perror(path);
    return 0;
}

static int open_up(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)place;
    if (kind == FTW_D)
        chmod(path, 0700);
    return 0;
}

static void remove_tree(const char *directory)
{
    nftw(directory, open_up, 16, FTW_PHYS);
    nftw(directory, remove_entry, 16, FTW_PHYS | FTW_DEPTH);
}

/* What of the nodes lies in memory; "" without any. */
static void find_memory(const char *directory, char memory[PATH_MAX])
{
    char link[PATH_MAX];
    snprintf(link, sizeof link, "%s/" LAB_NODES, directory);
    const ssize_t length = readlink(link, memory, PATH_MAX - 1);
    memory[length > 0 ? length : 0] = '\0';
    if (strncmp(memory, LAB_MEMORY "/" PREFIX, strlen(LAB_MEMORY "/" PREFIX)) != 0)
        *memory = '\0';
}

/* The memory goes first, as the directory has the link that it is found by: while a program that is
 * about to die still writes there, both stay. */
static void remove_with_memory(const char *directory)
{
    char memory[PATH_MAX];
    find_memory(directory, memory);
    if (*memory)
        remove_tree(memory);
    if (!*memory || access(memory, F_OK) < 0)
        remove_tree(directory);
}

/* ---- the keeper ------------------------------------------------------------------------------ */

static int open_lock(const char *directory)
{
    char path[PARENT_MAX + NAME_MAX + sizeof "//" LOCK];
    snprintf(path, sizeof path, "%s/" LOCK, directory);
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* The lab's programs die with their parent, but not before it. */
static void remove_until_gone(const char *directory)
{
    for (unsigned waited = 0; waited < PATIENCE_MS; waited += 10) {
        remove_with_memory(directory);
        if (access(directory, F_OK) < 0)
            return;
        lab_sleep_ms(10);
    }
}

/* Out of reach of what ends the others: a terminal's Ctrl-C and its end. */
__attribute__((noreturn)) static void keep(const char *directory)
{
    struct stat status;
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    setsid();
    (void)!chdir("/");
    /* The output is somebody's pipe, and the owner's lock is among the rest. */
    close_range(0, ~0u, 0);
    if (open("/dev/null", O_RDWR) == 0 && dup(0) == 1)
        (void)!dup(0);
    const int lock = open_lock(directory);
    if (lock >= 0 && flock(lock, LOCK_EX) == 0 && fstat(lock, &status) == 0 && status.st_nlink > 0)
        remove_until_gone(directory);
    _exit(0);
}

static int start_keeper(struct lab *lab, struct oneib_error *err)
{
    /* Under its name only when it is locked: another lab's sweep would take it for abandoned. */
    char unlocked[PATH_MAX], locked[PATH_MAX];
    snprintf(unlocked, sizeof unlocked, "%s/" LOCK ".new", lab->directory);
    snprintf(locked, sizeof locked, "%s/" LOCK, lab->directory);
    lab->lock = open(unlocked, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lab->lock < 0 || flock(lab->lock, LOCK_EX | LOCK_NB) < 0 || rename(unlocked, locked) < 0)
        return oneib_fail_errno(err, errno, "locking %s", lab->directory);
    lab->keeper = fork();
    if (lab->keeper < 0)
        return oneib_fail_errno(err, errno, "starting the keeper of %s", lab->directory);
    if (lab->keeper == 0)
        keep(lab->directory);
    return 0;
}

/* ---- directories that were left behind ------------------------------------------------------- */

static bool is_ours(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* One without a lock is kept for somebody, or is just being made. */
static void sweep(const char *path)
{
    oneib_autoclose int lock = is_ours(path) ? open_lock(path) : -1;
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        remove_with_memory(path);
}

static void sweep_all(const char *parent)
{
    DIR *entries = opendir(parent);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[PARENT_MAX + NAME_MAX + 2];
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
        sweep(path);
    }
    if (entries)
        closedir(entries);
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Whoever programs of nodes run as. */
static bool all_may_enter(const char *directory)
{
    char path[PARENT_MAX + 1];
    struct stat status;
    for (size_t length = strlen(directory); length > 0; length--) {
        snprintf(path, sizeof path, "%.*s", (int)length, directory);
        if ((directory[length] == '/' || directory[length] == '\0') &&
            (stat(path, &status) < 0 || !(status.st_mode & S_IXOTH)))
            return false;
    }
    return true;
}

/* A root's $TMPDIR may be for root alone; blanks and colons end paths in LD_PRELOAD. */
static const char *choose_parent(void)
{
    const char *parent = getenv("TMPDIR");
    return parent && *parent == '/' && strlen(parent) <= PARENT_MAX && !strpbrk(parent, " :") &&
                   (geteuid() != 0 || all_may_enter(parent))
               ? parent
               : "/tmp";
}

int lab_directory_open(struct lab *lab, struct oneib_error *err)
{
    const char *parent = choose_parent();
    sweep_all(parent);
    snprintf(lab->directory, sizeof lab->directory, "%s/" PREFIX "XXXXXX", parent);
    if (!mkdtemp(lab->directory)) {
        const int errnum = errno;
        *lab->directory = '\0';
        return oneib_fail_errno(err, errnum, "making a directory for the lab in %s", parent);
    }
    return lab->options.keep ? 0 : start_keeper(lab, err);
}

static void end_keeper(struct lab *lab)
{
    if (lab->keeper > 0) {
        kill(lab->keeper, SIGKILL);
        waitpid(lab->keeper, NULL, 0);
    }
    lab->keeper = 0;
}

void lab_preserve(struct lab *lab)
{
    char lock[PATH_MAX];
    if (!lab)
        return;
    end_keeper(lab);
    snprintf(lock, sizeof lock, "%s/" LOCK, lab->directory);
    unlink(lock); /* with one that nobody holds it counts as left behind */
    lab->options.keep = true;
}

void lab_directory_close(struct lab *lab)
{
    if (*lab->directory && !lab->options.keep)
        remove_with_memory(lab->directory);
    end_keeper(lab);
    if (lab->lock >= 0)
        close(lab->lock);
}
