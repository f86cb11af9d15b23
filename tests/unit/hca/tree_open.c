// SPDX-License-Identifier: Apache-2.0
/* A tree for the whole of a test program: where it is, and who looks at it. */
#include "reach.h"
#include "tree.h"
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NOBODY 65534

static pid_t owner;

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "tree: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* Root would not be shown the tree: hca/place.h. */
static void become_nobody(void)
{
    reach_project();
    if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        give_up("becoming nobody");
    /* A process that changed its user cannot be traced, which the leak check needs. */
    if (prctl(PR_SET_DUMPABLE, 1) < 0)
        give_up("becoming dumpable");
}

/* Tests put programs into the root, too. */
static bool may_hold_programs(const char *directory)
{
    struct statvfs status;
    return statvfs(directory, &status) == 0 && !(status.f_flag & ST_NOEXEC);
}

/* Thousands of small files: in memory, where there is such a place. A directory that is not for
 * nobody is passed over. */
static void make_root(void)
{
    const char *const directories[] = {getenv("ONEIB_TREES"), getenv("TMPDIR"), "/dev/shm", "/tmp"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        char root[PATH_MAX];
        if (!directories[i] || directories[i][0] != '/' || !may_hold_programs(directories[i]))
            continue;
        snprintf(root, sizeof root, "%s/oneib-node-XXXXXX", directories[i]);
        if (mkdtemp(root) && chmod(root, 0755) == 0) {
            tree_at(root);
            return;
        }
    }
    give_up("the root's directory");
}

/* Of a test that ended before tree_close(); a process that it started leaves it alone. */
static void remove_abandoned(void)
{
    if (getpid() == owner)
        tree_remove("%s", "");
}

void tree_open(void)
{
    umask(022);
    if (geteuid() == 0)
        become_nobody();
    make_root();
    owner = getpid();
    atexit(remove_abandoned);
    if (setenv("ONEIB_NODE_ROOT", tree_root(), 1) < 0)
        give_up("the environment");
    tree_reset(NULL);
}

int tree_close(int status)
{
    tree_remove("%s", "");
    return status;
}
