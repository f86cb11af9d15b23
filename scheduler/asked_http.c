// SPDX-License-Identifier: Apache-2.0
#include "scheduler/asked_http.h"
#include "base/listen.h"
#include "base/memory.h"
#include "base/number.h"
#include "http/connection_deadline.h"
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#define CONNECTIONS_MAX 16U
#define CONNECTION_MEMORY ((size_t)8 << 10) /* of a request's line and headers */
#define QUESTION_MS 30000.0                 /* for all of it to come, from accept on */
#define QUESTION_MAX ((size_t)64 << 20)     /* a thousand VMs on ten thousand hosts each */
#define TOGETHER_MAX ((size_t)128 << 20)    /* of all that are coming */
#define PAUSE_MS 1000                       /* between two looks whether to stop */

struct oneib_asked_http {
    struct MHD_Daemon *server;
    struct oneib_connections connections;
    size_t held; /* bytes of questions that are there or coming */
    oneib_asked asked;
    void *context;
};

struct question {
    struct oneib_text text;
};

/* ---- replies --------------------------------------------------------------------------------- */

/* A failure to make the reply closes the connection. */
static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type,
                             const char *text)
{
    char *data;
    memcpy(&data, &text, sizeof data); /* only read, whatever the type of the parameter says */
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), data, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "POST");
    const enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
    return reply(connection, status, "text/plain; charset=utf-8", why);
}

/* OpenNebula's scheduler goes on by itself where the status is not 200, and its log has the words.
 */
static enum MHD_Result answer(struct oneib_asked_http *http, struct MHD_Connection *connection,
                              const struct oneib_text *question)
{
    oneib_autotext struct oneib_text text = {0};
    const int status =
        http->asked(http->context, question->data ? question->data : "", question->length, &text);
    const char *words = text.data ? text.data : "";
    return status == 0 ? reply(connection, MHD_HTTP_OK, "application/json", words)
                       : refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, words);
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool is_too_large(struct MHD_Connection *connection)
{
    uint64_t length;
    const char *said =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return said && !oneib_parse_decimal(said, QUESTION_MAX, &length);
}

/* Its head is there. A reply to it here has the body left unread. */
static enum MHD_Result begin(struct MHD_Connection *connection, const char *path,
                             const char *method, void **request)
{
    if (strcmp(path, "/") != 0)
        return refuse(connection, MHD_HTTP_NOT_FOUND, "only / is here\n");
    if (strcmp(method, MHD_HTTP_METHOD_POST) != 0)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only POST\n");
    if (is_too_large(connection))
        return refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE, "64 MiB at most\n");
    struct question *question = oneib_alloc(1, sizeof *question);
    *request = question;
    return MHD_YES;
}

static enum MHD_Result take(struct oneib_asked_http *http, struct question *question,
                            const char *bytes, size_t length)
{
    if (question->text.length + length > QUESTION_MAX || http->held + length > TOGETHER_MAX)
        return MHD_NO;
    oneib_text_append_bytes(&question->text, bytes, length);
    http->held += length;
    return MHD_YES;
}

/* Called when the head is there, with each piece of the body, and when that has ended. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *body,
                              size_t *body_length, void **request)
{
    struct question *question = *request;
    const size_t length = *body_length;
    (void)version;
    if (!question)
        return begin(connection, path, method, request);
    if (length == 0)
        return answer(context, connection, &question->text);
    *body_length = 0;
    return take(context, question, body, length);
}

static void end(void *context, struct MHD_Connection *connection, void **request,
                enum MHD_RequestTerminationCode how)
{
    struct oneib_asked_http *http = context;
    struct question *question = *request;
    (void)how;
    oneib_connection_answered(connection);
    if (!question)
        return;
    http->held -= question->text.length;
    oneib_text_clear(&question->text);
    free(question);
    *request = NULL;
}

/* ---- the server ------------------------------------------------------------------------------ */

static struct MHD_Daemon *start(struct oneib_asked_http *http, int fd)
{
    return MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, handle, http, MHD_OPTION_LISTEN_SOCKET,
                            fd, MHD_OPTION_NOTIFY_CONNECTION, oneib_connection_notified,
                            &http->connections, MHD_OPTION_NOTIFY_COMPLETED, end, http,
                            MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_END);
}

struct oneib_asked_http *oneib_asked_http_open(const char *address, oneib_asked asked,
                                               void *context, struct oneib_error *err)
{
    struct oneib_asked_http *http = oneib_alloc(1, sizeof *http);
    http->asked = asked;
    http->context = context;
    uint16_t port;
    const int fd = oneib_listen(address, "scheduler.listen", &port, err);
    if (fd >= 0) {
        http->server = start(http, fd); /* has the socket now, also if it fails */
        if (http->server)
            return http;
        oneib_fail(err, ONEIB_ERROR_SYSTEM, "scheduler.listen: no server can be made for %s",
                   address);
    }
    free(http);
    return NULL;
}

void oneib_asked_http_serve(struct oneib_asked_http *http, const volatile sig_atomic_t *stop)
{
    while (!*stop && MHD_run_wait(http->server, PAUSE_MS) == MHD_YES)
        oneib_connections_enforce(&http->connections, QUESTION_MS);
}

void oneib_asked_http_close(struct oneib_asked_http *http)
{
    if (!http)
        return;
    MHD_stop_daemon(http->server);
    free(http);
}
