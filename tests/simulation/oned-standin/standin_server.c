// SPDX-License-Identifier: Apache-2.0
#include "standin_server.h"
#include "base/cleanup.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <xmlrpc-c/abyss.h>
#include <xmlrpc-c/server_abyss.h>

#define LISTEN_BACKLOG 64
/* A connection may stay open between calls; a test that pauses in a debugger should find it as it
 * was. */
#define KEEP_ALIVE_SECONDS 600

/* How soon the port that is up again is served. */
#define DOWN_POLL_MS 5

struct server {
    struct standin *standin;
    TServer abyss;
    xmlrpc_registry *registry;
    uint16_t port;        /* of STANDIN_ONED */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t gone;
    int listeners[STANDIN_PORTS]; /* -1: down */
    struct connection *connections;
};

struct connection {
    struct server *server;
    int fd;
    unsigned port; /* enum standin_port */
    struct connection *next;
};

/* ---- ports ----------------------------------------------------------------------------------- */

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int fail_port(struct oneib_error *err, int fd, uint16_t port)
{
    oneib_fail_errno(err, errno, "listening on 127.0.0.1 port %u", port);
    if (fd >= 0)
        close(fd);
    return -1;
}

int standin_reserve_port(uint16_t *port, struct oneib_error *err)
{
    struct sockaddr_in address = loopback(*port);
    socklen_t length = sizeof address;
    int reuse = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* Others may listen beside a socket that does not, if both say so. Said before a free port is
     * looked for, it would find ports that others keep in this way. */
    if (fd < 0 || (*port && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) < 0) ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return fail_port(err, fd, *port);
    *port = ntohs(address.sin_port);
    return fd;
}

int standin_listen(uint16_t port, struct oneib_error *err)
{
    struct sockaddr_in address = loopback(port);
    int reuse = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, LISTEN_BACKLOG) < 0)
        return fail_port(err, fd, port);
    return fd;
}

static void stop_listening(struct server *server, unsigned port)
{
    /* A thread that polls it would keep it open. */
    shutdown(server->listeners[port], SHUT_RDWR);
    close(server->listeners[port]);
    server->listeners[port] = -1;
}

static void end_connections_of(struct server *server, unsigned port)
{
    for (struct connection *c = server->connections; c; c = c->next)
        if (c->port == port)
            shutdown(c->fd, SHUT_RDWR);
}

int standin_server_down(struct server *server, bool down, struct oneib_error *err)
{
    int result = 0;
    pthread_mutex_lock(&server->lock);
    bool is_down = server->listeners[STANDIN_ONED] < 0;
    if (down && !is_down) {
        stop_listening(server, STANDIN_ONED);
        end_connections_of(server, STANDIN_ONED);
    } else if (!down && is_down) {
        server->listeners[STANDIN_ONED] = standin_listen(server->port, err);
        result = server->listeners[STANDIN_ONED] < 0 ? -1 : 0;
    }
    pthread_mutex_unlock(&server->lock);
    return result;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A fault of the wire, used up by this call; control calls are never disturbed. */
static enum standin_fault take_wire_fault(struct standin *standin, const char *call, size_t length,
                                          unsigned *seconds)
{
    static const char control[] = "<methodName>standin.";
    if (memmem(call, length, control, sizeof control - 1))
        return FAULT_NONE;
    pthread_mutex_lock(&standin->lock);
    struct standin_state *state = &standin->state;
    enum standin_fault fault = state->fault;
    bool of_the_wire = fault == FAULT_HTML || fault == FAULT_TRUNCATED || fault == FAULT_CLOSE ||
                       fault == FAULT_HANG || fault == FAULT_SLOW || fault == FAULT_HTTP_500;
    if (of_the_wire && --state->fault_calls == 0)
        state->fault = FAULT_NONE;
    *seconds = state->fault_seconds;
    pthread_mutex_unlock(&standin->lock);
    return of_the_wire ? fault : FAULT_NONE;
}

/* What Abyss writes afterwards reaches nobody. */
static void send_and_break(struct connection *connection, const char *response)
{
    send(connection->fd, response, strlen(response), MSG_NOSIGNAL);
    shutdown(connection->fd, SHUT_RDWR);
}

/* The beginning of a good answer, announced longer than it is, cut within an element. */
static const char truncated[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: 4000\r\n"
    "Connection: close\r\n\r\n"
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<methodResponse>\r\n"
    "<params>\r\n<param><value><array><data>\r\n"
    "<value><boolean>1</boolean></value>\r\n<value><string>&lt;VM_PO";
/* Clients call again by themselves when a kept connection closes without a word, but not after
 * this. */
static const char begun[] = "HTTP/1.1 2";
static const char page[] = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
                           "<!DOCTYPE html><html><head><title>Maintenance</title></head>"
                           "<body><h1>We'll be back soon</h1><br></body></html>\n";
static const char internal_error[] =
    "HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
    "<html><body>500</body></html>\n";

/* True when the call must still be answered properly. */
static bool survive(struct connection *connection, enum standin_fault fault, unsigned seconds)
{
    switch (fault) {
    case FAULT_HTML:
        send_and_break(connection, page);
        return false;
    case FAULT_TRUNCATED:
        send_and_break(connection, truncated);
        return false;
    case FAULT_HTTP_500:
        send_and_break(connection, internal_error);
        return false;
    case FAULT_CLOSE:
        send_and_break(connection, begun);
        return false;
    case FAULT_HANG: {
        /* Ends early when the client or the server closes the connection. */
        struct pollfd closed = {.fd = connection->fd, .events = POLLRDHUP};
        poll(&closed, 1, (int)seconds * 1000);
        return true;
    }
    case FAULT_SLOW:
        poll(NULL, 0, (int)seconds);
        return true;
    default:
        return true;
    }
}

static void process(xmlrpc_env *env, void *argument, const char *call, size_t length,
                    TSession *session, xmlrpc_mem_block **response)
{
    struct server *server = argument;
    void *info = NULL;
    SessionGetChannelInfo(session, &info);
    unsigned seconds = 0;
    enum standin_fault fault = take_wire_fault(server->standin, call, length, &seconds);
    if (survive(info, fault, seconds))
        xmlrpc_registry_process_call2(env, server->registry, call, length, session, response);
    else
        *response = xmlrpc_mem_block_new(env, 0);
}

static void forget(struct connection *connection)
{
    struct server *server = connection->server;
    pthread_mutex_lock(&server->lock);
    struct connection **link = &server->connections;
    while (*link != connection)
        link = &(*link)->next;
    *link = connection->next;
    close(connection->fd);
    pthread_cond_signal(&server->gone);
    pthread_mutex_unlock(&server->lock);
    free(connection);
}

static void *handle(void *argument)
{
    struct connection *connection = argument;
    TChannel *channel = NULL;
    struct abyss_unix_chaninfo *peer = NULL;
    const char *error = NULL;
    /* Abyss closes the descriptor that it is given, too early for us to be able to shut it down
     * safely. */
    int own = dup(connection->fd);
    if (own >= 0)
        ChannelUnixCreateFd(own, &channel, &peer, &error);
    if (own >= 0 && !error) {
        ServerRunChannel(&connection->server->abyss, channel, connection, &error);
        ChannelDestroy(channel);
        free(peer);
    }
    if (own >= 0)
        close(own);
    if (error)
        standin_free_text(error);
    forget(connection);
    return NULL;
}

static void start(struct connection *connection)
{
    /* Abyss writes head and body separately: with Nagle's algorithm each answer would wait for a
     * delayed ACK. */
    int on = 1;
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_attr_t detached;
    pthread_t thread;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, handle, connection) != 0)
        forget(connection);
    pthread_attr_destroy(&detached);
}

/* Accepted and listed in one step, so that a port that goes down misses none. NULL: there is none.
 */
static struct connection *accept_one(struct server *server, unsigned port)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    pthread_mutex_lock(&server->lock);
    int fd = accept4(server->listeners[port], NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) {
        *connection = (struct connection){
            .server = server, .fd = fd, .port = port, .next = server->connections};
        server->connections = connection;
    }
    pthread_mutex_unlock(&server->lock);
    if (fd >= 0)
        return connection;
    free(connection);
    return NULL;
}

static int accept_until_stopped(struct server *server, int stop_fd, struct oneib_error *err)
{
    for (;;) {
        struct pollfd watched[STANDIN_PORTS + 1] = {
            [STANDIN_PORTS] = {.fd = stop_fd, .events = POLLIN}};
        pthread_mutex_lock(&server->lock);
        for (unsigned port = 0; port < STANDIN_PORTS; port++)
            watched[port] = (struct pollfd){.fd = server->listeners[port], .events = POLLIN};
        pthread_mutex_unlock(&server->lock);
        int timeout = watched[STANDIN_ONED].fd < 0 ? DOWN_POLL_MS : -1;
        if (poll(watched, STANDIN_PORTS + 1, timeout) < 0 && errno != EINTR)
            return oneib_fail_errno(err, errno, "waiting for connections");
        if (watched[STANDIN_PORTS].revents)
            return 0;
        for (unsigned port = 0; port < STANDIN_PORTS; port++) {
            struct connection *connection = watched[port].revents ? accept_one(server, port) : NULL;
            if (connection)
                start(connection);
        }
    }
}

static void end_connections(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    for (unsigned port = 0; port < STANDIN_PORTS; port++) {
        if (server->listeners[port] >= 0)
            stop_listening(server, port);
        end_connections_of(server, port);
    }
    while (server->connections)
        pthread_cond_wait(&server->gone, &server->lock);
    pthread_mutex_unlock(&server->lock);
}

static void prepare(struct server *server, xmlrpc_env *env)
{
    xmlrpc_server_abyss_handler_parms handler = {
        .xml_processor = process,
        .xml_processor_arg = server,
        .xml_processor_max_stack = xmlrpc_registry_max_stackSize(server->registry),
        .uri_path = "/RPC2",
    };
    ServerSetKeepaliveTimeout(&server->abyss, KEEP_ALIVE_SECONDS);
    ServerSetKeepaliveMaxConn(&server->abyss, UINT32_MAX);
    ServerSetTimeout(&server->abyss, KEEP_ALIVE_SECONDS);
    ServerSetAdvertise(&server->abyss, 0);
    xmlrpc_server_abyss_set_handler3(env, &server->abyss, &handler, sizeof handler);
}

static int serve_with_registry(struct server *server, int stop_fd, xmlrpc_env *env,
                               struct oneib_error *err)
{
    if (!ServerCreateNoAccept(&server->abyss, "oned-standin", NULL, NULL))
        return oneib_fail(err, ONEIB_ERROR_SYSTEM, "starting the HTTP server");
    prepare(server, env);
    int result = env->fault_occurred ? oneib_fail(err, ONEIB_ERROR_SYSTEM, "%s", env->fault_string)
                                     : accept_until_stopped(server, stop_fd, err);
    end_connections(server);
    ServerFree(&server->abyss);
    return result;
}

int standin_serve(struct standin *standin, const uint16_t ports[STANDIN_PORTS],
                  const int listeners[STANDIN_PORTS], int stop_fd, struct oneib_error *err)
{
    struct server server = {.standin = standin,
                            .port = ports[STANDIN_ONED],
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .gone = PTHREAD_COND_INITIALIZER};
    memcpy(server.listeners, listeners, sizeof server.listeners);
    standin->server = &server;
    const char *error = NULL;
    AbyssInit(&error);
    if (error) {
        oneib_fail(err, ONEIB_ERROR_SYSTEM, "starting the HTTP server: %s", error);
        standin_free_text(error);
        return -1;
    }
    xmlrpc_env env;
    xmlrpc_env_init(&env);
    void *bindings = NULL;
    server.registry = standin_registry_new(standin, &bindings, &env);
    int result = env.fault_occurred ? oneib_fail(err, ONEIB_ERROR_SYSTEM, "%s", env.fault_string)
                                    : serve_with_registry(&server, stop_fd, &env, err);
    if (server.registry)
        xmlrpc_registry_free(server.registry);
    free(bindings);
    xmlrpc_env_clean(&env);
    AbyssTerm();
    return result;
}
