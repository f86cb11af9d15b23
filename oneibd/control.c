// SPDX-License-Identifier: Apache-2.0
#include "oneibd/control.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BACKLOG 32
/* Connections reserved for root. */
#define PLACES_OF_ROOT 4
/* Of SO_PEERGROUPS: the kernel allows a process no more (NGROUPS_MAX). */
#define GROUPS_MAX 65536

enum stage {
    READING,
    WAITING, /* for the main thread to take the request */
    TAKEN,
    DEFERRED, /* until the fabric has been read */
    WRITING,
};

struct connection {
    int fd;
    uint64_t number;
    uid_t uid;
    enum stage stage;
    double accepted_ms, deadline_ms;
    uint8_t bytes[ONEIB_CONTROL_REQUEST_SIZE + 1]; /* one more byte: the request is too long */
    size_t received;
    struct oneib_control_request request;
    struct oneib_text answer;
    size_t sent;
};

struct oneib_control {
    char *path, *readers;
    struct oneib_control_options options; /* without the strings */
    bool has_readers;
    gid_t readers_gid;
    int listener, wake, requests_ready; /* the last two: eventfds to the thread, and from it */
    struct stat place;                  /* the socket's file, by device and inode */
    pthread_t thread;
    pthread_mutex_t mutex;           /* protects the members below */
    bool ends;                       /* the thread returns */
    struct connection **connections; /* owned; the oldest first */
    size_t count;
    uint64_t last_number;
};

static void signal_eventfd(int fd)
{
    const uint64_t one = 1;
    /* Fails only where the counter is full: the reader is signalled already. */
    (void)!write(fd, &one, sizeof one);
}

static void drain_eventfd(int fd)
{
    uint64_t count;
    (void)!read(fd, &count, sizeof count);
}

/* ---- connections ----------------------------------------------------------------------------- */

static struct connection *find_connection(const struct oneib_control *control, uint64_t number)
{
    for (size_t i = 0; i < control->count; i++)
        if (control->connections[i]->number == number)
            return control->connections[i];
    return NULL;
}

static void close_connection(struct oneib_control *control, struct connection *connection)
{
    size_t at = 0;
    while (control->connections[at] != connection)
        at++;
    control->count--;
    memmove(&control->connections[at], &control->connections[at + 1],
            (control->count - at) * sizeof(*control->connections));
    close(connection->fd);
    oneib_text_clear(&connection->answer);
    free(connection);
}

static void set_answer(const struct oneib_control *control, struct connection *connection,
                       enum oneib_exit outcome, const struct oneib_command_answer *answer,
                       const struct oneib_error *failure)
{
    oneib_control_answer_encode(outcome, answer, failure, &connection->answer);
    connection->stage = WRITING;
    connection->deadline_ms = oneib_now_ms() + control->options.request_ms;
}

static void answer_error(const struct oneib_control *control, struct connection *connection,
                         const struct oneib_error *why)
{
    static const struct oneib_command_answer nothing;
    set_answer(control, connection, ONEIB_EXIT_FAILURE, &nothing, why);
}

/* Clients that ask for large answers and do not read them must not use up the memory. */
static bool fits(const struct oneib_control *control, const struct connection *connection)
{
    size_t others = 0;
    for (size_t i = 0; i < control->count; i++)
        if (control->connections[i] != connection)
            others += control->connections[i]->answer.length;
    return others == 0 || others + connection->answer.length <= control->options.answers_bytes;
}

static void limit_answer(const struct oneib_control *control, struct connection *connection)
{
    struct oneib_error why;
    if (fits(control, connection))
        return;
    oneib_text_clear(&connection->answer);
    oneib_fail(
        &why, ONEIB_ERROR_REFUSED,
        "other clients of oneibd have not read their answers, of %zu MiB together: try again "
        "in a few seconds",
        control->options.answers_bytes >> 20);
    answer_error(control, connection, &why);
}

/* ---- authorization ----------------------------------------------------------------------------- */

static bool is_allowed_group(const struct oneib_control *control, gid_t gid)
{
    return gid == getegid() || (control->has_readers && gid == control->readers_gid);
}

static bool has_allowed_group(const struct oneib_control *control, int fd)
{
    oneib_autofree gid_t *groups = NULL;
    socklen_t size = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0)
        return false; /* no groups */
    if (errno != ERANGE || size > GROUPS_MAX * sizeof *groups)
        return false;
    groups = oneib_alloc(size / sizeof *groups + 1, sizeof *groups);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
        return false;
    for (size_t i = 0; i < size / sizeof *groups; i++)
        if (is_allowed_group(control, groups[i]))
            return true;
    return false;
}

static int check_peer(const struct oneib_control *control, int fd, const struct ucred *peer,
                      struct oneib_error *err)
{
    if (peer->uid == 0 || peer->uid == geteuid() || is_allowed_group(control, peer->gid) ||
        has_allowed_group(control, fd))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_PERMISSION,
                      "oneibd does not answer user %u: make it a member of the group \"%s\" "
                      "(daemon.readers), or ask as root",
                      (unsigned)peer->uid, control->readers);
}

static int check_places(const struct oneib_control *control, uid_t uid, struct oneib_error *err)
{
    unsigned own = 0;
    const unsigned places =
        control->options.places -
        (uid != 0 && control->options.places > PLACES_OF_ROOT ? PLACES_OF_ROOT : 0);
    for (size_t i = 0; i < control->count; i++)
        own += control->connections[i]->uid == uid;
    if (control->count >= places)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "oneibd already has %zu open requests: try again later", control->count);
    if (uid != 0 && own >= control->options.places_of_uid)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "oneibd already has %u open requests of user %u: try again later", own,
                          (unsigned)uid);
    return 0;
}

/* ---- in the thread --------------------------------------------------------------------------- */

/* The buffer of a new socket has room for the whole answer. */
static void reject(int fd, const struct oneib_error *why)
{
    static const struct oneib_command_answer nothing;
    oneib_autotext struct oneib_text bytes = {0};
    oneib_control_answer_encode(ONEIB_EXIT_FAILURE, &nothing, why, &bytes);
    (void)!send(fd, bytes.data, bytes.length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void add_connection(struct oneib_control *control, int fd, uid_t uid)
{
    struct connection *connection = oneib_alloc(1, sizeof *connection);
    connection->fd = fd;
    connection->uid = uid;
    connection->number = ++control->last_number;
    connection->accepted_ms = oneib_now_ms();
    connection->deadline_ms = connection->accepted_ms + control->options.request_ms;
    control->connections[control->count++] = connection;
}

/* False: no more connections to accept. */
static bool accept_one(struct oneib_control *control)
{
    oneib_autoclose int fd = accept4(control->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct ucred peer = {.uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t size = sizeof peer;
    struct oneib_error why = {0};
    if (fd < 0)
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return true;
    if (check_peer(control, fd, &peer, &why) < 0 || check_places(control, peer.uid, &why) < 0)
        reject(fd, &why);
    else
        add_connection(control, oneib_steal_fd(&fd), peer.uid);
    return true;
}

static bool is_temporary(void)
{
    return errno == EAGAIN || errno == EINTR;
}

/* Returns -1 when the connection is to end. */
static int read_request(struct oneib_control *control, struct connection *connection)
{
    struct oneib_error why;
    const ssize_t length = recv(connection->fd, connection->bytes + connection->received,
                                sizeof connection->bytes - connection->received, 0);
    if (length < 0)
        return is_temporary() ? 0 : -1;
    if (length == 0)
        return -1;
    connection->received += (size_t)length;
    if (connection->received < ONEIB_CONTROL_REQUEST_SIZE)
        return 0;
    if (connection->received > ONEIB_CONTROL_REQUEST_SIZE) {
        oneib_fail(&why, ONEIB_ERROR_PROTOCOL, "invalid request: longer than %d bytes",
                   ONEIB_CONTROL_REQUEST_SIZE);
        answer_error(control, connection, &why);
    } else if (oneib_control_request_decode(connection->bytes, &connection->request, &why) < 0) {
        answer_error(control, connection, &why);
    } else {
        connection->stage = WAITING;
        connection->deadline_ms = connection->accepted_ms + control->options.answer_ms;
        signal_eventfd(control->requests_ready);
    }
    return 0;
}

static int write_answer(struct connection *connection)
{
    const size_t left = connection->answer.length - connection->sent;
    const ssize_t length =
        send(connection->fd, connection->answer.data + connection->sent, left, MSG_NOSIGNAL);
    if (length < 0)
        return is_temporary() ? 0 : -1;
    connection->sent += (size_t)length;
    return (size_t)length == left ? -1 : 0;
}

static short events_of(const struct connection *connection)
{
    /* poll() reports a hang-up also where no event is asked for. */
    return connection->stage == READING ? POLLIN : connection->stage == WRITING ? POLLOUT : 0;
}

/* Returns -1 when the connection is to end. */
static int deadline_passed(const struct oneib_control *control, struct connection *connection)
{
    struct oneib_error why;
    if (connection->stage == READING || connection->stage == WRITING)
        return -1;
    oneib_fail(&why, ONEIB_ERROR_TIMEOUT,
               "oneibd did not answer within %.0f s: see its log, and try again",
               control->options.answer_ms / 1000);
    answer_error(control, connection, &why);
    return 0;
}

/* Returns -1 when the connection is to end. */
static int serve(struct oneib_control *control, struct connection *connection, short events)
{
    if (oneib_now_ms() >= connection->deadline_ms)
        return deadline_passed(control, connection);
    if (connection->stage == READING && (events & (POLLIN | POLLHUP | POLLERR)))
        return read_request(control, connection);
    if (events & (POLLHUP | POLLERR))
        return -1;
    return connection->stage == WRITING && (events & POLLOUT) ? write_answer(connection) : 0;
}

/* Milliseconds until the first deadline; -1: there is none. */
static int longest_wait(const struct oneib_control *control)
{
    double first = -1;
    for (size_t i = 0; i < control->count; i++) {
        const double deadline = control->connections[i]->deadline_ms;
        first = first < 0 || deadline < first ? deadline : first;
    }
    const double left = first - oneib_now_ms();
    return first < 0 ? -1 : left < 0 ? 0 : (int)left + 1;
}

/* The connections first, in their order, then the listener and the eventfd. */
static size_t list_descriptors(const struct oneib_control *control, struct pollfd *descriptors,
                               uint64_t *numbers)
{
    for (size_t i = 0; i < control->count; i++) {
        descriptors[i] = (struct pollfd){.fd = control->connections[i]->fd,
                                         .events = events_of(control->connections[i])};
        numbers[i] = control->connections[i]->number;
    }
    descriptors[control->count] = (struct pollfd){.fd = control->listener, .events = POLLIN};
    descriptors[control->count + 1] = (struct pollfd){.fd = control->wake, .events = POLLIN};
    return control->count;
}

static void *serve_clients(void *context)
{
    struct oneib_control *control = context;
    struct pollfd *descriptors = oneib_alloc(control->options.places + 2, sizeof *descriptors);
    uint64_t *numbers = oneib_alloc(control->options.places + 1, sizeof *numbers);
    pthread_mutex_lock(&control->mutex);
    while (!control->ends) {
        const size_t count = list_descriptors(control, descriptors, numbers);
        const int wait_ms = longest_wait(control);
        pthread_mutex_unlock(&control->mutex);
        const int outcome = poll(descriptors, count + 2, wait_ms);
        pthread_mutex_lock(&control->mutex);
        for (size_t i = 0; i < count; i++) {
            struct connection *connection = find_connection(control, numbers[i]);
            if (connection &&
                serve(control, connection, outcome > 0 ? descriptors[i].revents : 0) < 0)
                close_connection(control, connection);
        }
        if (outcome > 0 && descriptors[count].revents)
            while (accept_one(control))
                ;
        if (outcome > 0 && descriptors[count + 1].revents)
            drain_eventfd(control->wake);
    }
    pthread_mutex_unlock(&control->mutex);
    free(descriptors);
    free(numbers);
    return NULL;
}

/* ---- in the main thread ----------------------------------------------------------------------- */

int oneib_control_fd(const struct oneib_control *control)
{
    return control->requests_ready;
}

/* The oldest of that stage. The mutex is locked. */
static bool take(struct oneib_control *control, enum stage stage,
                 struct oneib_control_request *request, uint64_t *number)
{
    for (size_t i = 0; i < control->count; i++) {
        struct connection *connection = control->connections[i];
        if (connection->stage != stage)
            continue;
        connection->stage = TAKEN;
        *request = connection->request;
        *number = connection->number;
        return true;
    }
    return false;
}

bool oneib_control_take(struct oneib_control *control, struct oneib_control_request *request,
                        uint64_t *number)
{
    pthread_mutex_lock(&control->mutex);
    const bool found = take(control, WAITING, request, number);
    if (!found)
        drain_eventfd(control->requests_ready);
    pthread_mutex_unlock(&control->mutex);
    return found;
}

void oneib_control_defer(struct oneib_control *control, uint64_t number)
{
    pthread_mutex_lock(&control->mutex);
    struct connection *connection = find_connection(control, number);
    if (connection && connection->stage == TAKEN)
        connection->stage = DEFERRED;
    pthread_mutex_unlock(&control->mutex);
}

bool oneib_control_take_deferred(struct oneib_control *control,
                                 struct oneib_control_request *request, uint64_t *number)
{
    pthread_mutex_lock(&control->mutex);
    const bool found = take(control, DEFERRED, request, number);
    pthread_mutex_unlock(&control->mutex);
    return found;
}

void oneib_control_answer(struct oneib_control *control, uint64_t number, enum oneib_exit outcome,
                          const struct oneib_command_answer *answer,
                          const struct oneib_error *failure)
{
    pthread_mutex_lock(&control->mutex);
    struct connection *connection = find_connection(control, number);
    if (connection && connection->stage == TAKEN) {
        set_answer(control, connection, outcome, answer, failure);
        limit_answer(control, connection);
    }
    pthread_mutex_unlock(&control->mutex);
    signal_eventfd(control->wake);
}

bool oneib_control_is(const struct oneib_control *control, const char *path, const char *readers)
{
    return strcmp(control->path, path) == 0 && strcmp(control->readers, readers) == 0;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int set_address(const char *path, struct sockaddr_un *address, struct oneib_error *err)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return oneib_fail(err, ONEIB_ERROR_CONFIG,
                          "daemon.control: %s has more than the %zu bytes that a socket's path may "
                          "have",
                          path, sizeof address->sun_path - 1);
    memcpy(address->sun_path, path, strlen(path) + 1);
    return 0;
}

/* Removes the socket of a daemon that was killed. */
static int remove_stale(const char *path, const struct sockaddr_un *address,
                        struct oneib_error *err)
{
    struct stat found;
    if (lstat(path, &found) < 0)
        return errno == ENOENT ? 0 : oneib_fail_errno(err, errno, "daemon.control: %s", path);
    if (!S_ISSOCK(found.st_mode))
        return oneib_fail(
            err, ONEIB_ERROR_REFUSED,
            "daemon.control: %s exists and is not a socket: remove it, or set another "
            "path",
            path);
    oneib_autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return oneib_fail_errno(err, errno, "daemon.control: making a socket");
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ||
        errno != ECONNREFUSED)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "daemon.control: another process listens at %s: set another path for one "
                          "of the two",
                          path);
    if (unlink(path) < 0)
        return oneib_fail_errno(err, errno, "daemon.control: removing %s", path);
    return 0;
}

static int listen_at(struct oneib_control *control, struct oneib_error *err)
{
    struct sockaddr_un address;
    if (set_address(control->path, &address, err) < 0 ||
        remove_stale(control->path, &address, err) < 0)
        return -1;
    control->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Every user may connect; check_peer() decides. */
    if (control->listener < 0 ||
        bind(control->listener, (const struct sockaddr *)&address, sizeof address) < 0 ||
        chmod(control->path, 0666) < 0 || lstat(control->path, &control->place) < 0 ||
        listen(control->listener, BACKLOG) < 0)
        return oneib_fail_errno(err, errno, "daemon.control: listening at %s", control->path);
    return 0;
}

static void find_readers(struct oneib_control *control)
{
    const struct group *group = getgrnam(control->readers);
    control->has_readers = group != NULL;
    control->readers_gid = group ? group->gr_gid : 0;
}

static int start_thread(struct oneib_control *control, struct oneib_error *err)
{
    control->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    control->requests_ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (control->wake < 0 || control->requests_ready < 0)
        return oneib_fail_errno(err, errno, "daemon.control: making an eventfd");
    const int failure = oneib_thread_start(&control->thread, serve_clients, control);
    return failure ? oneib_fail_errno(err, failure, "daemon.control: starting a thread") : 0;
}

static void free_control(struct oneib_control *control)
{
    struct stat found;
    while (control->count > 0)
        close_connection(control, control->connections[0]);
    if (control->listener >= 0)
        close(control->listener);
    if (control->place.st_ino && lstat(control->path, &found) == 0 &&
        found.st_ino == control->place.st_ino && found.st_dev == control->place.st_dev)
        unlink(control->path);
    if (control->wake >= 0)
        close(control->wake);
    if (control->requests_ready >= 0)
        close(control->requests_ready);
    pthread_mutex_destroy(&control->mutex);
    free(control->connections);
    free(control->path);
    free(control->readers);
    free(control);
}

struct oneib_control *oneib_control_open(const struct oneib_control_options *options,
                                         struct oneib_error *err)
{
    struct oneib_control *control = oneib_alloc(1, sizeof *control);
    pthread_mutex_init(&control->mutex, NULL);
    control->path = oneib_strdup(options->path);
    control->readers = oneib_strdup(options->readers);
    control->options = *options;
    control->options.path = control->options.readers = NULL;
    control->connections = oneib_alloc(options->places, sizeof(*control->connections));
    control->listener = control->wake = control->requests_ready = -1;
    find_readers(control);
    if (listen_at(control, err) == 0 && start_thread(control, err) == 0)
        return control;
    free_control(control);
    return NULL;
}

void oneib_control_close(struct oneib_control *control)
{
    if (!control)
        return;
    pthread_mutex_lock(&control->mutex);
    control->ends = true;
    pthread_mutex_unlock(&control->mutex);
    signal_eventfd(control->wake);
    pthread_join(control->thread, NULL);
    free_control(control);
}
