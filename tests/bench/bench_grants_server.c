// SPDX-License-Identifier: Apache-2.0
/*
 * oneibd's end with 4,000 nodes: one process is the server, which answers challenges and keeps
 * nothing, and this one plays the nodes, each with a connection of its own, a challenge every
 * 2 s and a report of 8 VFs every 5 s. Signatures are made and checked.
 *
 * Goals: 1,000 grants of 1,000 nodes changed at once are held (a report follows the new list)
 * within 2 s; all are back 30 s after a restart of the server; an answered challenge costs the
 * server at most 6 times the CPU time of its signature alone, measured in the same run. Memory and
 * bytes are told.
 */
#include "base/clock.h"
#include "base/error.h"
#include "grants/grants_message.h"
#include "grants/seal.h"
#include "grants/server.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define NODES 4000
#define CHANGED 1000
#define VFS 8 /* of each node */
#define ADDRESS "tcp://127.0.0.1:26331"
#define TICK_MS 10
#define IDLE_S 20
#define RECONNECT_IVL_MS 100 /* as oneib-grants has it */
#define RECONNECT_MAX_MS 2000
#define GIVE_UP_MS 120000.0
#define SIGNATURES 2000
#define GOAL_HELD_MS 2000.0
#define GOAL_BACK_MS 30000.0
#define GOAL_RATIO 6.0

static struct oneib_curve_pair daemon_curve, pairs[NODES];
static struct oneib_sign_pair daemon_sign;
static int control; /* to the other process */
static struct oneib_error err;

__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "bench_grants_server: %s\n", what);
    exit(EXIT_FAILURE);
}

static void require(bool held, const char *what)
{
    if (!held)
        give_up(what);
}

/* ---- the server's process -------------------------------------------------------------------- */

enum order { CHANGE = 'c', CHANGE_ONE = 'o', RESTART = 'r' };

static struct oneib_grants_server *server;
static uint64_t instance, serials[NODES], follows[NODES];
static bool is_heard[NODES];
static size_t heard_count;
static struct oneib_grants_message said;

static int by_key(const void *left, const void *right)
{
    const struct oneib_curve_pair *a = left, *b = right;
    return memcmp(a->public, b->public, sizeof a->public);
}

static size_t index_of(const uint8_t key[ONEIB_PUBLIC_KEY_SIZE])
{
    struct oneib_curve_pair sought;
    memcpy(sought.public, key, sizeof sought.public);
    const struct oneib_curve_pair *found = bsearch(&sought, pairs, NODES, sizeof *pairs, by_key);
    require(found != NULL, "a key that nobody has");
    return (size_t)(found - pairs);
}

static void open_server(void)
{
    static uint8_t keys[NODES][ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_server_options options = {
        .listen = ADDRESS, .curve = &daemon_curve, .sign = &daemon_sign};
    for (size_t i = 0; i < NODES; i++)
        memcpy(keys[i], pairs[i].public, sizeof keys[i]);
    if (oneib_grants_server_open(&options, &server, &err) < 0)
        give_up(err.text);
    oneib_grants_server_admit(server, (const uint8_t(*)[ONEIB_PUBLIC_KEY_SIZE])keys, NODES);
    instance++;
    memset(serials, 0, sizeof serials);
    memset(is_heard, 0, sizeof is_heard);
    heard_count = 0;
}

static void send_said(size_t node)
{
    bool sent;
    if (oneib_grants_server_send(server, pairs[node].public, &said, &sent, &err) < 0)
        give_up(err.text);
}

static void send_list(size_t node)
{
    said = (struct oneib_grants_message){.kind = ONEIB_GRANTS_LIST};
    said.list.name = (struct oneib_list_name){instance, ++serials[node]};
    said.list.grants.count = VFS;
    for (uint32_t i = 0; i < VFS; i++)
        said.list.grants.items[i] = (struct oneib_grant){.vm_id = i,
                                                         .port = 1,
                                                         .pkey = (oneib_pkey)(5 + i),
                                                         .device = "mlx5_0",
                                                         .guid = oneib_guid_encode(0, i, 0)};
    send_said(node);
}

static void hear_one(size_t node, const struct oneib_grants_message *message)
{
    heard_count += !is_heard[node];
    is_heard[node] = true;
    if (message->kind == ONEIB_GRANTS_REPORT)
        follows[node] =
            message->report.follows.instance == instance ? message->report.follows.serial : 0;
    if (message->kind != ONEIB_GRANTS_CHALLENGE)
        return;
    said = (struct oneib_grants_message){.kind = ONEIB_GRANTS_LIFE};
    memcpy(said.life.nonce, message->challenge.nonce, sizeof said.life.nonce);
    said.life.name = (struct oneib_list_name){instance, serials[node]};
    send_said(node);
}

static void serve_once(int timeout_ms)
{
    uint8_t key[ONEIB_PUBLIC_KEY_SIZE];
    const struct oneib_grants_message *message;
    struct pollfd files[] = {{.fd = oneib_grants_server_fd(server), .events = POLLIN},
                             {.fd = control, .events = POLLIN}};
    poll(files, 2, timeout_ms);
    int status;
    while ((status = oneib_grants_server_next(server, key, &message, &err)) > 0)
        hear_one(index_of(key), message);
    if (status < 0)
        give_up(err.text);
}

static bool all_follow(size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (follows[i] != serials[i])
            return false;
    return true;
}

static double change(size_t count)
{
    const double began = oneib_now_ms();
    for (size_t i = 0; i < count; i++)
        send_list(i);
    while (!all_follow(count) && oneib_now_ms() - began < GIVE_UP_MS)
        serve_once(100);
    return oneib_now_ms() - began;
}

static double hear_all(void)
{
    const double began = oneib_now_ms();
    while (heard_count < NODES && oneib_now_ms() - began < GIVE_UP_MS)
        serve_once(100);
    return oneib_now_ms() - began;
}

static double restart(void)
{
    oneib_grants_server_close(server);
    open_server();
    return hear_all();
}

static void tell(double took_ms)
{
    require(send(control, &took_ms, sizeof took_ms, MSG_NOSIGNAL) == sizeof took_ms, "telling");
}

__attribute__((noreturn)) static void serve(void)
{
    char order;
    open_server();
    tell(hear_all());
    for (;;) {
        const ssize_t length = recv(control, &order, sizeof order, MSG_DONTWAIT);
        if (length == 0)
            exit(EXIT_SUCCESS);
        if (length > 0)
            tell(order == RESTART ? restart() : change(order == CHANGE ? CHANGED : 1));
        serve_once(1000);
    }
}

/* ---- the nodes' process ---------------------------------------------------------------------- */

static struct node {
    void *socket;
    struct oneib_list_name follows;
    double challenge_due_ms, report_due_ms;
} nodes[NODES];

static void *context;
static int files; /* epoll: the nodes' sockets */
static struct oneib_grants_message message;
static uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];

static void set(void *socket, int name, const void *value, size_t size)
{
    require(zmq_setsockopt(socket, name, value, size) == 0, "an option of a socket");
}

static void set_number(void *socket, int name, int value)
{
    set(socket, name, &value, sizeof value);
}

static void connect_node(size_t i)
{
    int fd;
    size_t size = sizeof fd;
    struct node *node = &nodes[i];
    node->socket = zmq_socket(context, ZMQ_DEALER);
    require(node->socket != NULL, "a socket");
    set_number(node->socket, ZMQ_LINGER, 0);
    set_number(node->socket, ZMQ_IMMEDIATE, 1);
    set_number(node->socket, ZMQ_SNDHWM, 16);
    set_number(node->socket, ZMQ_RCVHWM, 16);
    set_number(node->socket, ZMQ_RECONNECT_IVL, RECONNECT_IVL_MS);
    set_number(node->socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS);
    set(node->socket, ZMQ_CURVE_SERVERKEY, daemon_curve.public, sizeof daemon_curve.public);
    set(node->socket, ZMQ_CURVE_PUBLICKEY, pairs[i].public, sizeof pairs[i].public);
    set(node->socket, ZMQ_CURVE_SECRETKEY, pairs[i].secret, sizeof pairs[i].secret);
    require(zmq_connect(node->socket, ADDRESS) == 0, "connecting");
    require(zmq_getsockopt(node->socket, ZMQ_FD, &fd, &size) == 0, "a descriptor");
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = i};
    require(epoll_ctl(files, EPOLL_CTL_ADD, fd, &event) == 0, "listening");
    node->challenge_due_ms = oneib_now_ms() + (double)(i % ONEIB_CHALLENGE_MS);
    node->report_due_ms = oneib_now_ms() + (double)(i % ONEIB_REPORT_MS);
}

static void say(const struct node *node)
{
    zmq_send(node->socket, bytes, oneib_grants_pack(&message, bytes), ZMQ_DONTWAIT);
}

static void say_challenge(struct node *node)
{
    message = (struct oneib_grants_message){.kind = ONEIB_GRANTS_CHALLENGE};
    oneib_random(message.challenge.nonce, sizeof message.challenge.nonce);
    say(node);
    node->challenge_due_ms += ONEIB_CHALLENGE_MS;
}

static void say_report(struct node *node)
{
    message.kind = ONEIB_GRANTS_REPORT;
    message.report = (struct oneib_report_message){
        .follows = node->follows, .believes = true, .complete = true, .count = VFS};
    for (uint8_t i = 0; i < VFS; i++)
        message.report.records[i] = (struct oneib_vf_record){.vf = {0, 0x81, 0, i},
                                                             .device = "mlx5_0",
                                                             .port = 1,
                                                             .vm_id = i,
                                                             .pkey = (oneib_pkey)(5 + i),
                                                             .stage = ONEIB_VF_OPEN};
    say(node);
    node->report_due_ms = oneib_now_ms() + ONEIB_REPORT_MS;
}

static void hear(struct node *node)
{
    int length;
    while ((length = zmq_recv(node->socket, bytes, sizeof bytes, ZMQ_DONTWAIT)) > 0) {
        size_t inner;
        require(oneib_unseal(daemon_sign.public, bytes, (size_t)length, &inner) &&
                    oneib_grants_unpack(bytes, inner, &message, &err) == 0,
                "what a node has heard");
        if (message.kind == ONEIB_GRANTS_LIST) {
            node->follows = message.list.name;
            say_report(node);
        }
    }
}

static void play(int timeout_ms)
{
    struct epoll_event events[256];
    const int count = epoll_wait(files, events, 256, timeout_ms);
    for (int i = 0; i < count; i++)
        hear(&nodes[events[i].data.u64]);
    const double now = oneib_now_ms();
    for (size_t i = 0; i < NODES; i++) {
        const bool challenges = now >= nodes[i].challenge_due_ms,
                   reports = now >= nodes[i].report_due_ms;
        if (challenges)
            say_challenge(&nodes[i]);
        if (reports)
            say_report(&nodes[i]);
        if (challenges || reports)
            hear(&nodes[i]); /* sending takes note of what has arrived */
    }
}

static void play_for(double ms)
{
    const double end = oneib_now_ms() + ms;
    while (oneib_now_ms() < end)
        play(TICK_MS);
}

static double play_until_told(void)
{
    double took_ms;
    for (;;) {
        const ssize_t length = recv(control, &took_ms, sizeof took_ms, MSG_DONTWAIT);
        require(length != 0, "the server has ended");
        if (length == sizeof took_ms)
            return took_ms;
        play(TICK_MS);
    }
}

static double order(char what)
{
    require(send(control, &what, 1, MSG_NOSIGNAL) == 1, "an order");
    return play_until_told();
}

/* ---- measuring ------------------------------------------------------------------------------- */

static double cpu_ms_of(clockid_t clock)
{
    struct timespec time;
    require(clock_gettime(clock, &time) == 0, "a clock");
    return (double)time.tv_sec * 1000 + (double)time.tv_nsec / 1e6;
}

static double cpu_ms(pid_t pid)
{
    clockid_t clock;
    require(clock_getcpuclockid(pid, &clock) == 0, "a clock");
    return cpu_ms_of(clock);
}

static size_t resident_kib(pid_t pid)
{
    char path[64], line[256];
    size_t kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    require(file != NULL, path);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %zu", &kib) == 1)
            break;
    fclose(file);
    return kib;
}

/* All that has passed the loopback interface: other programs' too. */
static unsigned long long loopback_bytes(void)
{
    char line[512];
    unsigned long long count = 0;
    FILE *file = fopen("/proc/net/dev", "re");
    require(file != NULL, "/proc/net/dev");
    while (fgets(line, sizeof line, file))
        if (sscanf(line, " lo: %llu", &count) == 1)
            break;
    fclose(file);
    return count;
}

static double signature_ms(void)
{
    static uint8_t life[512];
    const double before = cpu_ms_of(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < SIGNATURES; i++) {
        life[0] = (uint8_t)i;
        oneib_seal(&daemon_sign, life, 76);
    }
    return (cpu_ms_of(CLOCK_PROCESS_CPUTIME_ID) - before) / SIGNATURES;
}

static bool judge(const char *what, double seen, double goal, const char *unit)
{
    const bool passed = seen <= goal;
    printf("%s: %.2f %s, goal %.2f: %s\n", what, seen, unit, goal, passed ? "PASS" : "FAIL");
    return passed;
}

static bool measure_idle(pid_t pid, double one_signature_ms)
{
    const double before = cpu_ms(pid);
    const unsigned long long bytes_before = loopback_bytes();
    play_for(IDLE_S * 1000.0);
    const double used = cpu_ms(pid) - before;
    const double passed = (double)(loopback_bytes() - bytes_before);
    const double challenges = NODES * IDLE_S * 1000.0 / ONEIB_CHALLENGE_MS;
    printf("%d nodes that only live: %.1f %% of a processor, %.0f bytes a second for each\n", NODES,
           used / (IDLE_S * 10.0), passed / IDLE_S / NODES);
    return judge("CPU time for a challenge, with a share of the reports, over its signature's",
                 used / challenges / one_signature_ms, GOAL_RATIO, "times");
}

/* ---- both ------------------------------------------------------------------------------------ */

static void make_keys(void)
{
    require(sodium_init() >= 0, "libsodium");
    crypto_box_keypair(daemon_curve.public, daemon_curve.secret);
    crypto_sign_keypair(daemon_sign.public, daemon_sign.secret);
    for (size_t i = 0; i < NODES; i++)
        crypto_box_keypair(pairs[i].public, pairs[i].secret);
    qsort(pairs, NODES, sizeof *pairs, by_key);
}

static void allow_many_files(void)
{
    struct rlimit limit;
    require(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= 4 * NODES,
            "this many nodes take 16,000 descriptors: raise the limit");
    limit.rlim_cur = limit.rlim_max;
    require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "descriptors");
}

static pid_t start_server(void)
{
    int ends[2];
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "a socket");
    const pid_t pid = fork();
    require(pid >= 0, "a process");
    control = ends[pid == 0];
    close(ends[pid != 0]);
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve();
}

static void start_nodes(void)
{
    context = zmq_ctx_new();
    require(context && zmq_ctx_set(context, ZMQ_MAX_SOCKETS, NODES + 16) == 0, "a context");
    files = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < NODES; i++)
        connect_node(i);
}

int main(void)
{
    allow_many_files();
    make_keys();
    const double one_signature_ms = signature_ms();
    const pid_t pid = start_server();
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    const size_t alone_kib = resident_kib(pid);
    start_nodes();
    printf("%d nodes connected in %.1f s\n", NODES, play_until_told() / 1000);
    bool passed = measure_idle(pid, one_signature_ms);
    const double one_ms = order(CHANGE_ONE), many_ms = order(CHANGE);
    passed &= judge("1,000 nodes' lists changed at once and held", many_ms, GOAL_HELD_MS, "ms");
    printf("one node's: %.2f ms\n", one_ms);
    printf("memory of the server: %.1f MiB, %.1f KiB for each node\n",
           (double)resident_kib(pid) / 1024,
           (double)(resident_kib(pid) - alone_kib) / (double)NODES);
    passed &= judge("all nodes heard again after a restart", order(RESTART), GOAL_BACK_MS, "ms");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
