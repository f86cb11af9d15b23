// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/sockets.h"
#include "base/cleanup.h"
#include "hca/place.h"
#include "service/service_message.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define DIRECTORY "/run/oneib"
#define BACKLOG 256

#define RESTART "'systemctl restart oneib-node.socket oneib-node-read.socket oneib-node.service'"

static const struct place {
    const char *path, *inherited_name;
    mode_t mode;
} places[ONEIB_SOCKET_KINDS] = {
    [ONEIB_SOCKET_ALL] = {ONEIB_SERVICE_SOCKET, "node", 0660},
    [ONEIB_SOCKET_READ] = {ONEIB_SERVICE_READ_SOCKET, "read", 0666},
};

static const char *name_of(enum oneib_socket_kind kind)
{
    return strrchr(places[kind].path, '/') + 1;
}

/* ---- the directory --------------------------------------------------------------------------- */

/* /run of a simulated node may be absent, too. */
static int make_directory(char path[PATH_MAX], struct oneib_error *err)
{
    if (oneib_node_path(path, PATH_MAX, err, DIRECTORY) < 0)
        return -1;
    char *last = strrchr(path, '/');
    *last = '\0';
    const bool above = mkdir(path, 0755) == 0 || errno == EEXIST;
    *last = '/';
    if (!above || (mkdir(path, 0755) < 0 && errno != EEXIST))
        return oneib_fail_errno(err, errno, "making the directory %s", path);
    return 0;
}

/* Whoever may write there chooses what callers connect to. */
static int open_directory(int *directory, struct oneib_error *err)
{
    char path[PATH_MAX];
    struct stat status;
    if (make_directory(path, err) < 0)
        return -1;
    oneib_autoclose int opened = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0 || fstat(opened, &status) < 0)
        return oneib_fail_errno(err, errno, "opening the directory %s", path);
    if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the directory %s must belong to uid %u and be writable by no other "
                          "user: chown and chmod go-w, or remove it",
                          path, geteuid());
    *directory = oneib_steal_fd(&opened);
    return 0;
}

/* ---- one's own ------------------------------------------------------------------------------- */

/* The directory's descriptor stands for its path, which may be longer than an address. */
static struct sockaddr_un address_in(int directory, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", directory, name);
    return address;
}

/* The rights are there before anybody can connect: it has no name yet that a caller knows, and
 * nobody listens. */
static int give_rights(int directory, const char *name, enum oneib_socket_kind kind,
                       struct oneib_error *err)
{
    const struct group *group =
        kind == ONEIB_SOCKET_ALL && geteuid() == 0 ? getgrnam(ONEIB_OPENNEBULA_GROUP) : NULL;
    if (group && fchownat(directory, name, (uid_t)-1, group->gr_gid, AT_SYMLINK_NOFOLLOW) < 0)
        return oneib_fail_errno(err, errno, "giving the socket %s to the group %s",
                                places[kind].path, ONEIB_OPENNEBULA_GROUP);
    if (fchmodat(directory, name, places[kind].mode, 0) < 0)
        return oneib_fail_errno(err, errno, "setting the mode of the socket %s", places[kind].path);
    return 0;
}

static int note_identity(int directory, const char *name, struct oneib_socket *made,
                         struct oneib_error *err)
{
    struct stat status;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return oneib_fail_errno(err, errno, "examining the socket %s", name);
    made->device = status.st_dev;
    made->inode = status.st_ino;
    return 0;
}

/* Under another name first, so that callers find the old one or the new one, and never nothing. */
static int make_socket(int directory, enum oneib_socket_kind kind, struct oneib_socket *made,
                       struct oneib_error *err)
{
    char name[64];
    snprintf(name, sizeof name, ".%s.new", name_of(kind));
    const struct sockaddr_un address = address_in(directory, name);
    oneib_autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (unlinkat(directory, name, 0) < 0 && errno != ENOENT)
        return oneib_fail_errno(err, errno, "removing %s/%s", DIRECTORY, name);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return oneib_fail_errno(err, errno, "making the socket %s", places[kind].path);
    if (give_rights(directory, name, kind, err) < 0 ||
        note_identity(directory, name, made, err) < 0)
        return -1;
    if (listen(fd, BACKLOG) < 0 || renameat(directory, name, directory, name_of(kind)) < 0)
        return oneib_fail_errno(err, errno, "listening at %s", places[kind].path);
    made->fd = oneib_steal_fd(&fd);
    made->is_own = true;
    return 0;
}

/* ---- systemd's ------------------------------------------------------------------------------- */

static int option_of(int fd, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

/* Systemd's unit, which an operator may have changed, says what it is. */
static int take_socket(int directory, enum oneib_socket_kind kind, int fd,
                       struct oneib_socket *taken, struct oneib_error *err)
{
    if (option_of(fd, SO_DOMAIN) != AF_UNIX || option_of(fd, SO_TYPE) != SOCK_SEQPACKET ||
        option_of(fd, SO_ACCEPTCONN) != 1)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "the socket \"%s\" that it was given is not one of "
                          "ListenSequentialPacket=%s",
                          places[kind].inherited_name, places[kind].path);
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
        return oneib_fail_errno(err, errno, "preparing the socket %s", places[kind].path);
    struct oneib_error unnamed;
    taken->fd = fd;
    /* Without a name nobody finds it, which oneib_sockets_check() tells of: VFs are to be looked
     * after all the same. */
    note_identity(directory, name_of(kind), taken, &unnamed);
    return 0;
}

static int find_inherited(const struct oneib_inherited *inherited, enum oneib_socket_kind kind)
{
    for (int i = 0; i < inherited->socket_count; i++)
        if (strcmp(inherited->sockets[i].name, places[kind].inherited_name) == 0)
            return inherited->sockets[i].fd;
    return -1;
}

static int check_names(const struct oneib_inherited *inherited, struct oneib_error *err)
{
    for (int i = 0; i < inherited->socket_count; i++) {
        bool known = false;
        for (int kind = 0; kind < ONEIB_SOCKET_KINDS; kind++)
            known = known || strcmp(inherited->sockets[i].name, places[kind].inherited_name) == 0;
        if (!known)
            return oneib_fail(err, ONEIB_ERROR_REFUSED,
                              "it was given a socket that is neither FileDescriptorName=node nor "
                              "FileDescriptorName=read");
    }
    return 0;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int open_all(int directory, const struct oneib_inherited *inherited,
                    struct oneib_sockets *sockets, struct oneib_error *err)
{
    for (int kind = 0; kind < ONEIB_SOCKET_KINDS; kind++) {
        const int fd = find_inherited(inherited, kind);
        const int opened = fd >= 0 ? take_socket(directory, kind, fd, &sockets->of[kind], err)
                                   : make_socket(directory, kind, &sockets->of[kind], err);
        if (opened < 0)
            return -1;
    }
    return 0;
}

int oneib_sockets_open(const struct oneib_inherited *inherited, struct oneib_sockets *sockets,
                       struct oneib_error *err)
{
    *sockets = (struct oneib_sockets){.of = {{.fd = -1}, {.fd = -1}}};
    oneib_autoclose int directory = -1;
    if (check_names(inherited, err) < 0 || open_directory(&directory, err) < 0)
        return -1;
    if (open_all(directory, inherited, sockets, err) == 0)
        return 0;
    oneib_sockets_close(sockets);
    return -1;
}

void oneib_sockets_close(struct oneib_sockets *sockets)
{
    if (!sockets)
        return;
    for (int kind = 0; kind < ONEIB_SOCKET_KINDS; kind++)
        if (sockets->of[kind].fd >= 0)
            close(sockets->of[kind].fd);
}

static bool is_found(const struct oneib_socket *socket, const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_dev == socket->device &&
           status.st_ino == socket->inode;
}

static int make_anew(enum oneib_socket_kind kind, struct oneib_socket *socket,
                     struct oneib_error *err)
{
    oneib_autoclose int directory = -1;
    struct oneib_socket made = {.fd = -1};
    if (!socket->is_own)
        return oneib_fail(
            err, ONEIB_ERROR_NOT_FOUND,
            "the socket %s is gone, and no virtual function can be requested: " RESTART
            " makes it anew",
            places[kind].path);
    if (open_directory(&directory, err) < 0 || make_socket(directory, kind, &made, err) < 0)
        return -1;
    close(socket->fd);
    *socket = made;
    return 0;
}

int oneib_sockets_check(struct oneib_sockets *sockets, struct oneib_error *err)
{
    int outcome = 0;
    for (int kind = 0; kind < ONEIB_SOCKET_KINDS; kind++) {
        char path[PATH_MAX];
        if (oneib_node_path(path, sizeof path, err, "%s", places[kind].path) < 0)
            return -1;
        if (!is_found(&sockets->of[kind], path) && make_anew(kind, &sockets->of[kind], err) < 0)
            outcome = -1;
    }
    return outcome;
}
