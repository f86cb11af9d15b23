// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/become.h"
#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 1024                          /* one for each running domain with devices */
#define PROCESSES_MAX 16                        /* of the user, threads too */
#define MEMORY_MAX ((rlim_t)1024 * 1024 * 1024) /* documents of 8 MiB, and trees made of them */

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

int oneib_user_find(const char *name, const char *program, struct oneib_user *user,
                    struct oneib_error *err)
{
    *user = (struct oneib_user){0};
    if (geteuid() != 0)
        return 0;
    errno = 0;
    const struct passwd *found = getpwnam(name);
    if (!found && errno != 0 && errno != ENOENT && errno != ESRCH)
        return oneib_fail_errno(err, errno, "looking for the user \"%s\"", name);
    if (!found)
        return oneib_fail(
            err, ONEIB_ERROR_NOT_FOUND,
            "there is no user \"%s\", as which %s is to run: 'install.sh --node' makes one", name,
            program);
    if (found->pw_uid == 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "\"%s\", as which %s is to run, is root", name,
                          program);
    *user = (struct oneib_user){.is_another = true, .user = found->pw_uid, .group = found->pw_gid};
    return 0;
}

static int give_up_bounding_set(struct oneib_error *err)
{
    if (capng_get_caps_process() < 0)
        return oneib_fail(err, ONEIB_ERROR_SYSTEM, "the capabilities cannot be read");
    if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
        return 0;
    capng_clear(CAPNG_SELECT_BOUNDS);
    if (capng_apply(CAPNG_SELECT_BOUNDS) < 0)
        return oneib_fail_errno(err, errno, "giving up the bounding set");
    return 0;
}

static int change_user(const struct oneib_user *user, struct oneib_error *err)
{
    if (give_up_bounding_set(err) < 0)
        return -1;
    if (setgroups(0, NULL) < 0 || setresgid(user->group, user->group, user->group) < 0 ||
        setresuid(user->user, user->user, user->user) < 0)
        return oneib_fail_errno(err, errno, "becoming user %u and group %u", user->user,
                                user->group);
    return 0;
}

/* Root's go with the user, unless somebody has asked the kernel to keep them. */
static int give_up_capabilities(struct oneib_error *err)
{
    capng_clear(CAPNG_SELECT_CAPS);
    if (capng_apply(CAPNG_SELECT_CAPS) < 0)
        return oneib_fail_errno(err, errno, "giving up capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return oneib_fail_errno(err, errno, "giving up further privileges");
    return 0;
}

static int check_way_back(const struct oneib_user *user, struct oneib_error *err)
{
    if (!user->is_another || (setuid(0) < 0 && setgid(0) < 0))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED, "user %u can become root again", user->user);
}

static int bound(int resource, rlim_t most, struct oneib_error *err)
{
    /* prlimit(): services are seldom let use setrlimit(). */
    struct rlimit limit;
    if (prlimit(0, resource, NULL, &limit) < 0)
        return oneib_fail_errno(err, errno, "asking for limit %d", resource);
    if (limit.rlim_max > most)
        limit.rlim_max = most;
    limit.rlim_cur = limit.rlim_max;
    if (prlimit(0, resource, &limit, NULL) < 0)
        return oneib_fail_errno(err, errno, "setting limit %d to %ju", resource, (uintmax_t)most);
    return 0;
}

/* Whoever stays who they are, in a test, has other processes too; and a sanitizer's memory is
 * beyond measure. */
static int bound_all(const struct oneib_user *user, struct oneib_error *err)
{
    if (bound(RLIMIT_CORE, 0, err) < 0)
        return -1;
    if (user->is_another &&
        (bound(RLIMIT_NPROC, PROCESSES_MAX, err) < 0 || bound(RLIMIT_NOFILE, FILES_MAX, err) < 0))
        return -1;
    return IS_SANITIZED ? 0 : bound(RLIMIT_DATA, MEMORY_MAX, err);
}

/* After the user: the kernel forgets it at a change. */
static int die_with(pid_t parent, struct oneib_error *err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return oneib_fail_errno(err, errno, "tying it to oneib-node");
    if (getppid() != parent)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "oneib-node has ended");
    return 0;
}

int oneib_become(const struct oneib_user *user, pid_t parent, struct oneib_error *err)
{
    umask(S_IRWXG | S_IRWXO);
    if ((user->is_another && change_user(user, err) < 0) || give_up_capabilities(err) < 0 ||
        check_way_back(user, err) < 0 || bound_all(user, err) < 0)
        return -1;
    return die_with(parent, err);
}
