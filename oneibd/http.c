// SPDX-License-Identifier: Apache-2.0
#include "oneibd/http.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/listen.h"
#include "base/memory.h"
#include "base/thread.h"
#include "http/connection_deadline.h"
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64U
#define CONNECTIONS_OF_PEER_MAX 16U
#define ANSWER_MS 5000.0                    /* from accept, or the last answer, to the answer */
#define PAUSE_MS 1000                       /* between two looks at who has exceeded it */
#define CONNECTION_MEMORY ((size_t)8 << 10) /* of a request's line and headers */

#define TYPE_METRICS "text/plain; version=0.0.4; charset=utf-8"
#define TYPE_TEXT "text/plain; charset=utf-8"

struct oneib_http {
    struct MHD_Daemon *server; /* NULL: it could not be started, and there is no thread */
    struct oneib_connections connections;
    pthread_t thread;
    int stop; /* an eventfd */
    uint16_t port;
    pthread_mutex_t mutex;        /* over all that follows */
    struct MHD_Response *metrics; /* NULL: nothing was published; counts its own users */
    char *health;
    double alive_ms, fresh_ms;
};

/* ---- answers: in the server's thread --------------------------------------------------------- */

static struct MHD_Response *text_response(const char *text, const char *type,
                                          enum MHD_ResponseMemoryMode mode)
{
    char *data;
    memcpy(&data, &text, sizeof data); /* only read, whatever the type of the parameter says */
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), data, mode);
    if (response)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return response;
}

/* A failure to make the answer closes the connection. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *text)
{
    struct MHD_Response *response = text_response(text, TYPE_TEXT, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    const enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_metrics(struct oneib_http *http, struct MHD_Connection *connection)
{
    if (!http->metrics)
        return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "not ready yet\n");
    return MHD_queue_response(connection, MHD_HTTP_OK, http->metrics);
}

static enum MHD_Result answer_health(struct oneib_http *http, struct MHD_Connection *connection)
{
    if (!http->health)
        return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "not ready yet\n");

    oneib_autotext struct oneib_text reasons = {0};
    const double silent_ms = oneib_now_ms() - http->alive_ms;
    if (silent_ms > http->fresh_ms)
        oneib_text_printf(&reasons, "the daemon is stuck: no sign of life for %.0f s\n",
                          silent_ms / 1000);
    oneib_text_append(&reasons, http->health);
    if (reasons.length == 0)
        return answer(connection, MHD_HTTP_OK, "ok\n");
    return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, reasons.data);
}

static enum MHD_Result answer_path(struct oneib_http *http, struct MHD_Connection *connection,
                                   const char *path)
{
    enum MHD_Result result;
    pthread_mutex_lock(&http->mutex);
    if (strcmp(path, "/metrics") == 0)
        result = answer_metrics(http, connection);
    else if (strcmp(path, "/healthz") == 0)
        result = answer_health(http, connection);
    else
        result = answer(connection, MHD_HTTP_NOT_FOUND, "only /metrics and /healthz are here\n");
    pthread_mutex_unlock(&http->mutex);
    return result;
}

/* Called when the headers are there, and again when the request is: an answer to the first call
 * would end the connection, which Prometheus keeps. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *body,
                              size_t *body_length, void **request)
{
    static int seen;
    (void)version;
    (void)body;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    if (!*request) {
        *request = &seen;
        return MHD_YES;
    }
    if (*body_length > 0)
        return MHD_NO; /* no answer takes hours */
    return answer_path(context, connection, path);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void end(void *context, struct MHD_Connection *connection, void **request,
                enum MHD_RequestTerminationCode how)
{
    (void)context;
    (void)request;
    (void)how;
    oneib_connection_answered(connection);
}

static void *serve(void *context)
{
    struct oneib_http *http = context;
    struct pollfd ready[] = {
        {.fd = http->stop, .events = POLLIN},
        {.fd = MHD_get_daemon_info(http->server, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
         .events = POLLIN},
    };
    while (!ready[0].revents) {
        MHD_UNSIGNED_LONG_LONG wait_ms;
        const bool is_sooner =
            MHD_get_timeout(http->server, &wait_ms) == MHD_YES && wait_ms < PAUSE_MS;
        poll(ready, 2, is_sooner ? (int)wait_ms : PAUSE_MS);
        MHD_run(http->server);
        oneib_connections_enforce(&http->connections, ANSWER_MS);
    }
    return NULL;
}

/* Has the socket from now on, also if it fails. */
static bool start_server(struct oneib_http *http, int fd)
{
    http->server = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, handle, http, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_CONNECTION, oneib_connection_notified, &http->connections,
        MHD_OPTION_NOTIFY_COMPLETED, end, NULL, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, CONNECTIONS_OF_PEER_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_END);
    if (http->server && http->stop >= 0 && oneib_thread_start(&http->thread, serve, http) == 0)
        return true;
    if (http->server)
        MHD_stop_daemon(http->server);
    http->server = NULL;
    return false;
}

struct oneib_http *oneib_http_start(const char *address, struct oneib_error *err)
{
    struct oneib_http *http = oneib_alloc(1, sizeof *http);
    pthread_mutex_init(&http->mutex, NULL);
    http->stop = eventfd(0, EFD_CLOEXEC);
    const int fd = oneib_listen(address, "daemon.metrics", &http->port, err);
    if (fd >= 0) {
        if (start_server(http, fd))
            return http;
        oneib_fail(err, ONEIB_ERROR_SYSTEM, "daemon.metrics: no thread can be made for %s",
                   address);
    }
    oneib_http_stop(http);
    return NULL;
}

void oneib_http_stop(struct oneib_http *http)
{
    if (!http)
        return;
    if (http->server) {
        eventfd_write(http->stop, 1);
        pthread_join(http->thread, NULL);
        MHD_stop_daemon(http->server);
    }
    if (http->stop >= 0)
        close(http->stop);
    if (http->metrics)
        MHD_destroy_response(http->metrics);
    free(http->health);
    pthread_mutex_destroy(&http->mutex);
    free(http);
}

uint16_t oneib_http_port(const struct oneib_http *http)
{
    return http->port;
}

/* ---- publishing: in the daemon's thread ------------------------------------------------------ */

/* The response has the text from now on; *metrics is empty. NULL: it cannot be told. */
static struct MHD_Response *take_over(struct oneib_text *metrics)
{
    struct MHD_Response *response = NULL;
    if (metrics->data)
        response = text_response(metrics->data, TYPE_METRICS, MHD_RESPMEM_MUST_FREE);
    if (response)
        *metrics = (struct oneib_text){0};
    oneib_text_clear(metrics);
    return response;
}

/* Every reason on a line of its own, however they came. */
static char *lines_of(const char *health)
{
    const size_t length = strlen(health);
    const bool ended = length == 0 || health[length - 1] == '\n';
    return oneib_asprintf("%s%s", health, ended ? "" : "\n");
}

void oneib_http_publish(struct oneib_http *http, struct oneib_text *metrics, const char *health,
                        uint32_t fresh_ms)
{
    if (!http) {
        oneib_text_clear(metrics);
        return;
    }
    struct MHD_Response *response = take_over(metrics);
    char *lines = lines_of(health);

    pthread_mutex_lock(&http->mutex);
    struct MHD_Response *old = response ? http->metrics : NULL;
    if (response)
        http->metrics = response;
    char *told = http->health;
    http->health = lines;
    http->alive_ms = oneib_now_ms();
    http->fresh_ms = fresh_ms;
    pthread_mutex_unlock(&http->mutex);

    free(told);
    if (old)
        MHD_destroy_response(old); /* an answer under way keeps it */
}

void oneib_http_alive(struct oneib_http *http)
{
    if (!http)
        return;
    pthread_mutex_lock(&http->mutex);
    http->alive_ms = oneib_now_ms();
    pthread_mutex_unlock(&http->mutex);
}
