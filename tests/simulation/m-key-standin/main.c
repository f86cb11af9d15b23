// SPDX-License-Identifier: Apache-2.0
/*
 * m-key-standin NAME BEHIND [DIRECTORY]: stands between programs and ibsim for what ibsim's ports
 * lack, M_Keys (rules.h) and, with a lab's DIRECTORY, virtual ports (vports.h). Programs find it
 * where they look for ibsim (IBSIM_SOCKNAME=NAME); ibsim itself runs with IBSIM_SOCKNAME=BEHIND.
 *
 * The protocol is ibsim's own (its include/ibsim.h and umad2sim): a control socket NAME:ctl with a
 * reply to each request; for the client with the number N and the process PID the packet sockets
 * NAME:outN here and NAME:inPID there. All are datagrams in the abstract namespace.
 *
 * Which port a packet goes to only ibsim knows. So each SMP is held while a NodeInfo that is asked
 * along the same way comes back. A refused one comes back to its sender as what ibsim drops does:
 * with the status of a time-out. Not here: the trap 256 that a port may send about a wrong key, and
 * SMInfo, which ports hand to their SM without a look at the key.
 */
#include "rules.h"
#include "vports.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/mad.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 10 /* ibsim's own limit */
#define PORTS_MAX 4096
#define AWAITED 512         /* answers about PortInfo that are on their way to one client */
#define PROBE_AGENT 0xfffeu /* umad2sim numbers agents from 0 */
#define MAD_SIZE 256
#define TIMED_OUT 110 /* what ibsim says of a packet that it drops */

enum { CONTROL_ERROR, CONTROL_CONNECT, CONTROL_DISCONNECT };

struct packet {
    uint32_t dlid, slid, dqp, sqp, status;
    uint64_t length;
    uint8_t mad[MAD_SIZE];
};

struct control {
    uint32_t magic, client, type, length;
    char data[64]; /* of CONNECT: an id first, the process's in the request, the client's in the
                      reply */
};

/* First in, first out; it grows. */
struct queue {
    struct packet *items;
    size_t first, count, capacity;
};

/* An answer that will say what a port keeps. */
struct awaited {
    uint64_t transaction; /* its lower 48 bits: ibsim puts the client's number on top */
    struct m_key_port *port;
    bool is_set, of_port;
    uint64_t key;
    uint8_t set[IB_SMP_DATA_SIZE];
};

struct client {
    int front, back; /* to the program; to ibsim, -1: not connected */
    int pid;
    struct queue up, down;
    bool probing; /* about the first of `up` */
    uint32_t serial;
    struct awaited awaited[AWAITED];
    size_t awaited_next;
};

static const char *front_name, *back_name;
static struct client clients[CLIENTS];
static struct m_key_port ports[PORTS_MAX];
static size_t port_count;
static int control_front, control_back;

static void die(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- sockets --------------------------------------------------------------------------------- */

/* "\0NAME:KIND[NUMBER]\0", as ibsim and umad2sim make them; number -1: none. */
static socklen_t make_address(struct sockaddr_un *address, const char *name, const char *kind,
                              int number)
{
    char digits[16] = "";
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (number >= 0)
        snprintf(digits, sizeof digits, "%d", number);
    const int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s:%s%s",
                                name, kind, digits);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length + 2);
}

static int open_socket(const char *name, const char *kind, int number)
{
    struct sockaddr_un address;
    const socklen_t size = make_address(&address, name, kind, number);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0)
        die(address.sun_path + 1);
    return fd;
}

static bool connect_socket(int fd, const char *name, const char *kind, int number)
{
    struct sockaddr_un address;
    const socklen_t size = make_address(&address, name, kind, number);
    return connect(fd, (struct sockaddr *)&address, size) == 0;
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void push(struct queue *queue, const struct packet *packet)
{
    if (queue->first + queue->count == queue->capacity) {
        if (queue->count)
            memmove(queue->items, queue->items + queue->first, queue->count * sizeof *queue->items);
        queue->first = 0;
        if (queue->count == queue->capacity) {
            queue->capacity = queue->capacity ? 2 * queue->capacity : 64;
            queue->items = realloc(queue->items, queue->capacity * sizeof *queue->items);
            if (!queue->items)
                die("m-key-standin");
        }
    }
    queue->items[queue->first + queue->count++] = *packet;
}

static void pop(struct queue *queue)
{
    queue->first++;
    queue->count--;
}

static struct packet *head(const struct queue *queue)
{
    return queue->items + queue->first;
}

static void forget(struct client *client)
{
    if (client->back >= 0)
        close(client->back);
    client->back = -1;
    client->up.count = client->down.count = 0;
    client->probing = false;
    memset(client->awaited, 0, sizeof client->awaited);
}

/* False: it has to wait. What a dead program should get is dropped, and ibsim finds it dead too. */
static bool send_down(struct client *client, const struct packet *packet)
{
    if (send(client->front, packet, sizeof *packet, 0) >= 0)
        return true;
    if (errno == EAGAIN)
        return false;
    forget(client);
    return true;
}

static bool send_up(struct client *client, const struct packet *packet)
{
    return client->back < 0 || send(client->back, packet, sizeof *packet, 0) >= 0 ||
           errno != EAGAIN;
}

static void flush_down(struct client *client)
{
    while (client->down.count && send_down(client, head(&client->down)) && client->down.count)
        pop(&client->down);
}

/* ---- packets --------------------------------------------------------------------------------- */

static bool is_smp(const struct packet *packet)
{
    const uint8_t mgmt_class = packet->mad[1];
    return mgmt_class == IB_SMI_CLASS || mgmt_class == IB_SMI_DIRECT_CLASS;
}

/* `length` bytes of a MAD as a number. */
static uint64_t number_at(const struct packet *packet, size_t place, size_t length)
{
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++)
        number = number << 8 | packet->mad[place + i];
    return number;
}

static uint64_t attribute_of(const struct packet *packet)
{
    return number_at(packet, 16, 2);
}

static uint8_t method_of(const struct packet *packet)
{
    return packet->mad[3];
}

static uint64_t transaction_of(const struct packet *packet)
{
    return number_at(packet, 10, 6);
}

static bool needs_look(const struct packet *packet)
{
    return is_smp(packet) && attribute_of(packet) != IB_ATTR_SMINFO &&
           (method_of(packet) == IB_MAD_METHOD_GET || method_of(packet) == IB_MAD_METHOD_SET);
}

static uint64_t probe_transaction(const struct client *client)
{
    return (uint64_t)PROBE_AGENT << 32 | client->serial;
}

static struct packet make_probe(const struct client *client, const struct packet *packet)
{
    struct packet probe = *packet;
    mad_set_field(probe.mad, 0, IB_MAD_METHOD_F, IB_MAD_METHOD_GET);
    mad_set_field(probe.mad, 0, IB_MAD_ATTRID_F, IB_ATTR_NODE_INFO);
    mad_set_field(probe.mad, 0, IB_MAD_ATTRMOD_F, 0);
    mad_set_field64(probe.mad, 0, IB_MAD_TRID_F, probe_transaction(client));
    memset(probe.mad + IB_SMP_DATA_OFFS, 0, IB_SMP_DATA_SIZE);
    return probe;
}

/* ---- ports ----------------------------------------------------------------------------------- */

static struct m_key_port *port_of(uint64_t guid)
{
    for (size_t i = 0; i < port_count; i++)
        if (ports[i].guid == guid)
            return &ports[i];
    if (port_count == PORTS_MAX) {
        fprintf(stderr, "m-key-standin: more than %d ports\n", PORTS_MAX);
        exit(EXIT_FAILURE);
    }
    ports[port_count] = (struct m_key_port){.guid = guid};
    return &ports[port_count++];
}

/* A switch keeps its key in port 0; what its other ports say of keys means nothing. */
static bool is_of_port(const struct packet *request, uint8_t *node_info)
{
    return mad_get_field(node_info, 0, IB_NODE_TYPE_F) != IB_NODE_SWITCH ||
           (number_at(request, 20, 4) & 0x7fffffff) == 0;
}

static void await_answer(struct client *client, const struct packet *request,
                         struct m_key_port *port, uint8_t *node_info, uint64_t key)
{
    struct awaited *awaited = &client->awaited[client->awaited_next++ % AWAITED];
    *awaited = (struct awaited){.transaction = transaction_of(request),
                                .port = port,
                                .is_set = method_of(request) == IB_MAD_METHOD_SET,
                                .of_port = is_of_port(request, node_info),
                                .key = key};
    memcpy(awaited->set, request->mad + IB_SMP_DATA_OFFS, sizeof awaited->set);
}

/* Instead of ibsim, in the answer that the probe has got along the same way. */
static void answer_as_vports(struct client *client, const struct packet *request,
                             const struct packet *probe, uint64_t port)
{
    struct packet answer = *probe;
    uint8_t *data = answer.mad + IB_SMP_DATA_OFFS;
    memset(data, 0, IB_SMP_DATA_SIZE);
    const int status = vports_answer(port, (uint16_t)attribute_of(request),
                                     (uint32_t)number_at(request, 20, 4), data);
    if (status == VPORTS_SILENT) {
        answer = *request;
        answer.status = htobe32(TIMED_OUT);
    } else {
        /* The client's number, which ibsim puts on top of a transaction, stays. */
        memcpy(answer.mad + 10, request->mad + 10, 6);
        memcpy(answer.mad + 16, request->mad + 16, 8);
        mad_set_field(answer.mad, 0, IB_MAD_STATUS_F, (uint32_t)status);
    }
    push(&client->down, &answer);
}

/* The way to the port of the first request is known now. */
static void judge(struct client *client, struct packet *probe)
{
    struct packet *request = head(&client->up);
    uint8_t *node_info = probe->mad + IB_SMP_DATA_OFFS;
    client->probing = false;
    if (probe->status != 0) {
        request->status = probe->status;
        push(&client->down, request);
        pop(&client->up);
        return;
    }
    const bool is_set = method_of(request) == IB_MAD_METHOD_SET;
    const uint64_t key = mad_get_field64(request->mad, 0, IB_MAD_MKEY_F);
    const uint64_t guid = mad_get_field64(node_info, 0, IB_NODE_PORT_GUID_F);
    struct m_key_port *port = port_of(guid);
    if (!m_key_admits(port, is_set, key, now_ms())) {
        request->status = htobe32(TIMED_OUT);
        push(&client->down, request);
        pop(&client->up);
        return;
    }
    if (vports_are_asked((uint16_t)attribute_of(request))) {
        answer_as_vports(client, request, probe, guid);
        pop(&client->up);
        return;
    }
    if (attribute_of(request) == IB_ATTR_PORT_INFO)
        await_answer(client, request, port, node_info, key);
    if (send_up(client, request))
        pop(&client->up);
    else /* judged anew when there is room */
        client->awaited_next -= attribute_of(request) == IB_ATTR_PORT_INFO;
}

static struct awaited *find_awaited(struct client *client, const struct packet *answer)
{
    for (size_t i = 0; i < AWAITED; i++)
        if (client->awaited[i].port && client->awaited[i].transaction == transaction_of(answer))
            return &client->awaited[i];
    return NULL;
}

static void complete(struct client *client, struct packet *answer)
{
    if (!is_smp(answer) || attribute_of(answer) != IB_ATTR_PORT_INFO ||
        !(method_of(answer) & IB_MAD_RESPONSE))
        return;
    struct awaited *awaited = find_awaited(client, answer);
    if (!awaited)
        return;
    struct m_key_port *port = awaited->port;
    if (awaited->of_port && awaited->is_set && answer->status == 0 &&
        (number_at(answer, 4, 2) & 0x7fff) == 0)
        m_key_take(port, awaited->set);
    if (awaited->of_port)
        m_key_show(port, awaited->is_set, awaited->key, answer->mad + IB_SMP_DATA_OFFS);
    *awaited = (struct awaited){0};
}

/* ---- one client ------------------------------------------------------------------------------ */

static void pump_up(struct client *client)
{
    while (client->up.count && !client->probing) {
        const struct packet *request = head(&client->up);
        if (!needs_look(request)) {
            if (!send_up(client, request))
                return;
            pop(&client->up);
            continue;
        }
        client->serial++;
        const struct packet probe = make_probe(client, request);
        if (!send_up(client, &probe))
            return;
        client->probing = client->back >= 0;
        if (client->back < 0)
            client->up.count = 0;
    }
}

static void take_from_program(struct client *client)
{
    struct packet packet;
    while (recv(client->front, &packet, sizeof packet, 0) == (ssize_t)sizeof packet)
        if (client->back >= 0)
            push(&client->up, &packet);
}

static void take_from_ibsim(struct client *client)
{
    struct packet packet;
    while (client->back >= 0 &&
           recv(client->back, &packet, sizeof packet, 0) == (ssize_t)sizeof packet) {
        if (client->probing && is_smp(&packet) &&
            transaction_of(&packet) == probe_transaction(client)) {
            judge(client, &packet);
            pump_up(client);
            continue;
        }
        complete(client, &packet);
        push(&client->down, &packet);
    }
}

/* ---- control --------------------------------------------------------------------------------- */

/* Whom the replies are for, in the order of the requests. */
static struct {
    struct sockaddr_un from;
    socklen_t size;
    int pid, back;
} asked[64];
static size_t asked_first, asked_count;

/* Its number is another's now, or it has begun anew: the old name must be free. */
static void forget_process(int pid)
{
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i].pid == pid)
            forget(&clients[i]);
}

static void take_control(void)
{
    struct control control;
    const size_t place = (asked_first + asked_count) % 64;
    asked[place].size = sizeof asked[place].from;
    if (asked_count == 64 ||
        recvfrom(control_front, &control, sizeof control, 0, (struct sockaddr *)&asked[place].from,
                 &asked[place].size) != (ssize_t)sizeof control)
        return;
    asked[place].back = -1;
    if (control.type == CONTROL_CONNECT) {
        memcpy(&asked[place].pid, control.data, sizeof asked[place].pid);
        forget_process(asked[place].pid);
        asked[place].back = open_socket(back_name, "in", asked[place].pid);
    }
    if (send(control_back, &control, sizeof control, 0) < 0)
        die("m-key-standin: ibsim's control socket");
    asked_count++;
}

static void begin_client(uint32_t number, int pid, int back)
{
    if (number >= CLIENTS) {
        close(back);
        return;
    }
    struct client *client = &clients[number];
    struct packet stale;
    forget(client);
    while (recv(client->front, &stale, sizeof stale, 0) > 0)
        ;
    client->back = back;
    client->pid = pid;
    if (!connect_socket(client->front, front_name, "in", pid) ||
        !connect_socket(back, back_name, "out", (int)number))
        forget(client);
}

static void take_reply(void)
{
    struct control control;
    while (asked_count > 0 &&
           recv(control_back, &control, sizeof control, 0) == (ssize_t)sizeof control) {
        const size_t place = asked_first;
        asked_first = (asked_first + 1) % 64;
        asked_count--;
        uint32_t number;
        memcpy(&number, control.data, sizeof number);
        if (control.type == CONTROL_CONNECT)
            begin_client(number, asked[place].pid, asked[place].back);
        else if (asked[place].back >= 0)
            close(asked[place].back);
        if (control.type == CONTROL_DISCONNECT && control.client < CLIENTS)
            forget(&clients[control.client]);
        sendto(control_front, &control, sizeof control, 0, (struct sockaddr *)&asked[place].from,
               asked[place].size);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void open_all(void)
{
    control_front = open_socket(front_name, "ctl", -1);
    control_back = open_socket(back_name, "ctl", (int)getpid());
    if (!connect_socket(control_back, back_name, "ctl", -1))
        die("m-key-standin: ibsim does not listen");
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = (struct client){.front = open_socket(front_name, "out", i), .back = -1};
}

static void serve(void)
{
    struct pollfd files[2 + 2 * CLIENTS] = {{.fd = control_front, .events = POLLIN},
                                            {.fd = control_back, .events = POLLIN}};
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *client = &clients[i];
        const bool waits = client->up.count && !client->probing;
        files[2 + 2 * i] =
            (struct pollfd){.fd = client->back >= 0 ? client->front : -1,
                            .events = (short)(POLLIN | (client->down.count ? POLLOUT : 0))};
        files[3 + 2 * i] =
            (struct pollfd){.fd = client->back, .events = (short)(POLLIN | (waits ? POLLOUT : 0))};
    }
    if (poll(files, 2 + 2 * CLIENTS, -1) < 0 && errno != EINTR)
        die("m-key-standin");
    for (size_t i = 0; i < CLIENTS; i++) {
        if (files[2 + 2 * i].revents & POLLIN)
            take_from_program(&clients[i]);
        pump_up(&clients[i]);
        if (files[3 + 2 * i].revents & POLLIN)
            take_from_ibsim(&clients[i]);
        flush_down(&clients[i]);
    }
    take_reply();
    take_control();
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: m-key-standin NAME BEHIND [DIRECTORY]\n");
        return 2;
    }
    vports_begin(argv[3]);
    front_name = argv[1];
    back_name = argv[2];
    open_all();
    for (;;)
        serve();
}
