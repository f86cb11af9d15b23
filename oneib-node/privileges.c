// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/privileges.h"
#include "base/memory.h"
#include "base/number.h"
#include "config/config.h"
#include "hca/place.h"
#include "oneib-node/internet.h"
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- what is inherited ----------------------------------------------------------------------- */

static int check_user(struct oneib_error *err)
{
    uid_t user, effective_user, saved_user;
    gid_t group, effective_group, saved_group;
    if (getresuid(&user, &effective_user, &saved_user) < 0 ||
        getresgid(&group, &effective_group, &saved_group) < 0)
        return oneib_fail_errno(err, errno, "asking for this process's user");
    if (user == effective_user && user == saved_user && group == effective_group &&
        group == saved_group)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "it is not made to be setuid or setgid: take that bit away with chmod");
}

/* Else the next file that is opened, the table perhaps, would be taken for standard error. open()
 * gives the lowest number that is free. */
static int open_standard_files(struct oneib_error *err)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return oneib_fail_errno(err, errno, "opening /dev/null for descriptor %d", fd);
    return 0;
}

/* The next name of a list that colons part, into `name`; false: it is too long. */
static bool next_name(const char **names, char name[ONEIB_INHERITED_NAME])
{
    const size_t length = strcspn(*names, ":");
    if (length >= ONEIB_INHERITED_NAME)
        return false;
    memcpy(name, *names, length);
    name[length] = '\0';
    *names += length + ((*names)[length] == ':');
    return true;
}

/* sd_listen_fds(3): LISTEN_FDS descriptors from 3 on, if LISTEN_PID is this process. */
static int take_sockets(struct oneib_inherited *inherited, struct oneib_error *err)
{
    uint64_t process, count;
    const char *names = getenv("LISTEN_FDNAMES");
    if (!oneib_parse_decimal(getenv("LISTEN_PID"), INT_MAX, &process) ||
        process != (uint64_t)getpid())
        return 0;
    if (!names || !oneib_parse_decimal(getenv("LISTEN_FDS"), ONEIB_INHERITED_MAX, &count))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "it was given other sockets than those of oneib-node.socket and "
                          "oneib-node-read.socket");
    for (int i = 0; i < (int)count; i++) {
        struct oneib_inherited_socket *given = &inherited->sockets[i];
        given->fd = STDERR_FILENO + 1 + i;
        if (!next_name(&names, given->name) || fcntl(given->fd, F_SETFD, FD_CLOEXEC) < 0)
            return oneib_fail(err, ONEIB_ERROR_REFUSED,
                              "a descriptor that it was given is not a socket");
    }
    inherited->socket_count = (int)count;
    return 0;
}

static void take_notify_socket(struct oneib_inherited *inherited)
{
    const char *notify = getenv("NOTIFY_SOCKET");
    if (notify && strlen(notify) < sizeof inherited->notify)
        strcpy(inherited->notify, notify);
}

static int close_other_files(const struct oneib_inherited *inherited, struct oneib_error *err)
{
    const unsigned first = STDERR_FILENO + 1 + (unsigned)inherited->socket_count;
    if (close_range(first, UINT_MAX, 0) < 0)
        return oneib_fail_errno(err, errno, "closing inherited descriptors");
    return 0;
}

/*
 * Where a node's files are is asked first, for the unprivileged run on a simulated node.
 * JOURNAL_STREAM stays: it chooses only how lines of the log begin, and base/log.h compares it with
 * what standard error is.
 */
static void clear_environment(void)
{
    char stream[64] = "";
    const char *journal = getenv("JOURNAL_STREAM");
    if (journal && strlen(journal) < sizeof stream)
        strcpy(stream, journal);
    oneib_node_root();
    if (clearenv() != 0 || (*stream && setenv("JOURNAL_STREAM", stream, 1) < 0))
        oneib_out_of_memory();
}

/*
 * Of dispositions only "ignored" is inherited. What a terminal stops a program with (Ctrl-Z, or
 * writing from the background) is ignored: while it is stopped no virtual function is closed whose
 * key has gone.
 */
static int reset_signals(struct oneib_error *err)
{
    static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            signal(number, SIG_DFL);
    }
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        signal(stops[i], SIG_IGN);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        return oneib_fail_errno(err, errno, "unblocking signals");
    return 0;
}

static int reset_process(struct oneib_error *err)
{
    umask(S_IWGRP | S_IWOTH);
    if (chdir("/") < 0)
        return oneib_fail_errno(err, errno, "changing to the directory /");
    /* prlimit(): services are seldom let use setrlimit(). */
    if (prlimit(0, RLIMIT_CORE, &(struct rlimit){0}, NULL) < 0)
        return oneib_fail_errno(err, errno, "forbidding core files");
    /* A core_pattern that is a pipe does not ask for the limit. */
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        return oneib_fail_errno(err, errno, "forbidding dumps of memory");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return oneib_fail_errno(err, errno, "giving up further privileges");
    return 0;
}

/* ---- root's capabilities --------------------------------------------------------------------- */

/*
 * CAP_NET_ADMIN is kept: RTM_SETLINK, by which mlx5 takes GUIDs and link states, needs it. Nothing
 * else does. The files of sysfs that are written (maps, GUIDs, bind and unbind) and all of
 * /run/oneib belong to user 0, whose right to write there is that of an owner: it is in the mode,
 * and needs no CAP_DAC_OVERRIDE. Files of others are thereby out of reach.
 *
 * The bounding set is about programs that are executed later, which there are none of; where it may
 * not be changed (a service that has no CAP_SETPCAP) it stays.
 */
static int keep_net_admin_only(struct oneib_error *err)
{
    if (capng_get_caps_process() < 0)
        return oneib_fail(err, ONEIB_ERROR_SYSTEM, "the capabilities cannot be read");
    const bool may_administer = capng_have_capability(CAPNG_PERMITTED, CAP_NET_ADMIN);
    const bool may_bound = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
    capng_clear(CAPNG_SELECT_BOTH);
    /* A root that never had it, in a container, cannot keep it: mlx4 does without. */
    if (may_administer)
        capng_updatev(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_NET_ADMIN, -1);
    if (capng_apply(may_bound ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS) < 0)
        return oneib_fail_errno(err, errno, "giving up capabilities");
    return 0;
}

int oneib_inherit(struct oneib_inherited *inherited, struct oneib_error *err)
{
    *inherited = (struct oneib_inherited){0};
    take_notify_socket(inherited);
    if (open_standard_files(err) < 0 || check_user(err) < 0 || take_sockets(inherited, err) < 0 ||
        close_other_files(inherited, err) < 0)
        return -1;
    clear_environment();
    if (reset_signals(err) < 0)
        return -1;
    return reset_process(err);
}

int oneib_drop_privileges(struct oneib_error *err)
{
    if (geteuid() == 0 && keep_net_admin_only(err) < 0)
        return -1;
    return oneib_forbid_internet(err);
}

void oneib_tell_ready(const struct oneib_inherited *inherited)
{
    static const char ready[] = "READY=1";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(inherited->notify);
    if (length == 0 || length > sizeof address.sun_path)
        return;
    memcpy(address.sun_path, inherited->notify, length);
    /* A name that begins with '@' is one of no file: it begins with a 0 then, and has no end. */
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0';
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, ready, strlen(ready), MSG_NOSIGNAL, (const struct sockaddr *)&address,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(fd);
}

/* ---- the configuration ----------------------------------------------------------------------- */

static int check_path(const char *path, struct oneib_error *err)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return errno == ENOENT ? 0 : oneib_fail_errno(err, errno, "examining %s", path);
    if (status.st_uid == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return 0;
    return oneib_fail(
        err, ONEIB_ERROR_REFUSED,
        "%s must belong to root and be writable by no other user: chown root and chmod go-w", path);
}

int oneib_check_config_owner(struct oneib_error *err)
{
    char directory[] = ONEIB_CONFIG_DEFAULT_PATH;
    if (geteuid() != 0)
        return 0;
    *strrchr(directory, '/') = '\0';
    return check_path(directory, err) < 0 ? -1 : check_path(ONEIB_CONFIG_DEFAULT_PATH, err);
}
