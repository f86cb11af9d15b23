// SPDX-License-Identifier: Apache-2.0
#include "sm_stand_in.h"
#include "base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* As long as it takes, as no subnet manager has changed an adapter when the call returns. */
#define PAUSE_MS 2
/* What inotify does not tell is seen by this look: that the directory is another, or a file can be
 * written again. */
#define LOOK_MS 50
#define DELETED UINT64_MAX

/* A process of its own, so that tests can fork without copying half a thread. */
struct shared {
    atomic_bool stopping, accepts, lets_go, key_is_due;
    double key_time;
    unsigned key_port, key_index;
    uint16_t key_raw;
};

static struct shared *shared;
static pid_t process;
static int wake[2]; /* a pipe: `shared` has changed */
static const struct tree_hca *adapter;

static const char *name(void)
{
    return adapter->name ? adapter->name : "mlx4_0";
}

/* "%PRIx64"; false while it is being written. */
static bool read_hex(const char *path, uint64_t *value)
{
    char text[32];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    char *end;
    *value = strtoull(text, &end, 16);
    return end > text;
}

/* false: a test keeps the file from being written. */
static bool write_in_place(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (pwrite(fd, text, strlen(text), 0) < 0)
        abort();
    close(fd);
    return true;
}

static bool show_gid(const char *path, uint64_t guid)
{
    char text[48];
    snprintf(text, sizeof text, "fe80:0000:0000:0000:%04x:%04x:%04x:%04x\n",
             (unsigned)(guid >> 48 & 0xffff), (unsigned)(guid >> 32 & 0xffff),
             (unsigned)(guid >> 16 & 0xffff), (unsigned)(guid & 0xffff));
    return write_in_place(path, text);
}

static void serve_alias(unsigned port, unsigned alias, uint64_t *shown)
{
    uint64_t wanted;
    char *admin =
        tree_path("/sys/class/infiniband/%s/iov/ports/%u/admin_guids/%u", name(), port, alias);
    char *gid = tree_path("/sys/class/infiniband/%s/iov/ports/%u/gids/%u", name(), port, alias);
    if (read_hex(admin, &wanted)) {
        const bool deletes = wanted == 0 || wanted == DELETED;
        const uint64_t next = deletes ? 0 : wanted;
        if (next != *shown && (deletes ? shared->lets_go : shared->accepts) && show_gid(gid, next))
            *shown = next;
    }
    free(admin);
    free(gid);
}

static void serve_key(void)
{
    char text[8];
    if (!shared->key_is_due || oneib_now_ms() < shared->key_time)
        return;
    char *path = tree_path("/sys/class/infiniband/%s/ports/%u/pkeys/%u", name(), shared->key_port,
                           shared->key_index);
    snprintf(text, sizeof text, "0x%04x", shared->key_raw);
    shared->key_is_due = !write_in_place(path, text);
    free(path);
}

static void serve_aliases(void)
{
    static uint64_t shown[3][128];
    for (unsigned port = 1; port <= (adapter->ports ? adapter->ports : 1); port++)
        for (unsigned vf = 0; vf < adapter->vfs; vf++)
            serve_alias(port, vf + 1, &shown[port][vf + 1]);
}

static void watch_aliases(int changes)
{
    for (unsigned port = 1; port <= (adapter->ports ? adapter->ports : 1); port++) {
        char *path = tree_path("/sys/class/infiniband/%s/iov/ports/%u/admin_guids", name(), port);
        inotify_add_watch(changes, path, IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_MOVED_TO);
        free(path);
    }
}

static int pause_until_a_look(int changes)
{
    const int pause = changes < 0 ? PAUSE_MS : LOOK_MS;
    if (!shared->key_is_due)
        return pause;
    const double rest = shared->key_time - oneib_now_ms();
    return rest < PAUSE_MS ? PAUSE_MS : rest < pause ? (int)rest : pause;
}

static void await_news(int changes)
{
    char news[4096];
    struct pollfd files[] = {{.fd = wake[0], .events = POLLIN}, {.fd = changes, .events = POLLIN}};
    if (poll(files, 2, pause_until_a_look(changes)) > 0)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    for (int i = 0; i < 2; i++)
        while (files[i].fd >= 0 && read(files[i].fd, news, sizeof news) > 0)
            ;
}

/* Looked at without a pause it would take as much of a processor as what is tested. */
static void serve(void)
{
    const int changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    while (!shared->stopping) {
        watch_aliases(changes);
        serve_aliases();
        serve_key();
        await_news(changes);
    }
}

void sm_start(const struct tree_hca *hca)
{
    adapter = hca;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe2(wake, O_CLOEXEC | O_NONBLOCK) < 0)
        abort();
    shared->accepts = true;
    shared->lets_go = true;
    process = fork();
    if (process < 0)
        abort();
    if (process > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve();
    _exit(0);
}

/* A pipe that is full has told it already. */
static void tell_process(void)
{
    if (write(wake[1], "", 1) < 0 && errno != EAGAIN)
        abort();
}

void sm_stop(void)
{
    shared->stopping = true;
    tell_process();
    if (waitpid(process, NULL, 0) != process)
        abort();
    munmap(shared, sizeof *shared);
    close(wake[0]);
    close(wake[1]);
}

void sm_accept_guids(bool accept)
{
    shared->accepts = accept;
    tell_process();
}

void sm_let_guids_go(bool let_go)
{
    shared->lets_go = let_go;
    tell_process();
}

void sm_put_key_in(unsigned ms, unsigned port, unsigned index, uint16_t raw)
{
    shared->key_time = oneib_now_ms() + ms;
    shared->key_port = port;
    shared->key_index = index;
    shared->key_raw = raw;
    shared->key_is_due = true;
    tell_process();
}
