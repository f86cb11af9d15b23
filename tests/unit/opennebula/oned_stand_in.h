// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for oned inside a test: one forked process that listens on 127.0.0.1, reads one HTTP
 * request a connection and lets the test's own function answer. It ends with the test, or by itself
 * after two minutes.
 */
#ifndef ONEIB_TEST_OPENNEBULA_ONED_STAND_IN_H
#define ONEIB_TEST_OPENNEBULA_ONED_STAND_IN_H

#include "base/text.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Answers the request on the connection, which is closed afterwards. */
typedef void (*stand_in_answer)(int connection, const char *request);

struct stand_in {
    pid_t pid;
    char endpoint[64];
};

static inline void stand_in_write(int connection, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = send(connection, bytes, length, MSG_NOSIGNAL);
        if (written <= 0)
            return;
        bytes += written;
        length -= (size_t)written;
    }
}

static inline void stand_in_http(int connection, const char *status, const char *body)
{
    struct oneib_text head = {0};
    oneib_text_printf(&head,
                      "HTTP/1.1 %s\r\nContent-Type: text/xml\r\nContent-Length: %zu\r\n"
                      "Connection: close\r\n\r\n",
                      status, strlen(body));
    stand_in_write(connection, head.data, head.length);
    stand_in_write(connection, body, strlen(body));
    oneib_text_clear(&head);
}

/* [true, document, 0], as oned writes it; to be cleared. */
static inline struct oneib_text stand_in_body(const char *document)
{
    struct oneib_text body = {0};
    oneib_text_append(&body,
                      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<methodResponse>\n<params>\n"
                      "<param><value><array><data>\n<value><boolean>1</boolean></value>\n"
                      "<value><string>");
    for (const char *c = document; *c; c++) {
        if (*c == '<')
            oneib_text_append(&body, "&lt;");
        else if (*c == '>')
            oneib_text_append(&body, "&gt;");
        else if (*c == '&')
            oneib_text_append(&body, "&amp;");
        else
            oneib_text_append_bytes(&body, c, 1);
    }
    oneib_text_append(&body, "</string></value>\n<value><i4>0</i4></value>\n"
                             "</data></array></value></param>\n</params>\n</methodResponse>\n");
    return body;
}

static inline void stand_in_document(int connection, const char *document)
{
    struct oneib_text body = stand_in_body(document);
    stand_in_http(connection, "200 OK", body.data);
    oneib_text_clear(&body);
}

/* The bytes of that answer. */
static inline size_t stand_in_document_length(const char *document)
{
    struct oneib_text body = stand_in_body(document);
    const size_t length = body.length;
    oneib_text_clear(&body);
    return length;
}

/* [false, text, code, id, -1] */
static inline void stand_in_refuse(int connection, int code, const char *text)
{
    struct oneib_text body = {0};
    oneib_text_printf(&body,
                      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<methodResponse>\n<params>\n"
                      "<param><value><array><data>\n<value><boolean>0</boolean></value>\n"
                      "<value><string>%s</string></value>\n<value><i4>%d</i4></value>\n"
                      "<value><i4>-1</i4></value>\n<value><i8>-1</i8></value>\n"
                      "</data></array></value></param>\n</params>\n</methodResponse>\n",
                      text, code);
    stand_in_http(connection, "200 OK", body.data);
    oneib_text_clear(&body);
}

static inline size_t stand_in_body_length(const char *request)
{
    const char *header = strcasestr(request, "content-length:");
    return header ? strtoul(header + strlen("content-length:"), NULL, 10) : 0;
}

static inline void stand_in_serve_one(int connection, stand_in_answer answer)
{
    struct oneib_text request = {0};
    char buffer[4096];
    for (;;) {
        const char *end = request.data ? strstr(request.data, "\r\n\r\n") : NULL;
        if (end && strlen(end + 4) >= stand_in_body_length(request.data))
            break;
        ssize_t got = read(connection, buffer, sizeof buffer);
        if (got <= 0)
            break;
        oneib_text_append_bytes(&request, buffer, (size_t)got);
    }
    if (request.data)
        answer(connection, request.data);
    oneib_text_clear(&request);
    close(connection);
}

static inline int stand_in_listen(struct stand_in *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    struct sockaddr *generic = (struct sockaddr *)&address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, generic, sizeof address) < 0 || listen(listener, 16) < 0 ||
        getsockname(listener, generic, &length) < 0)
        return -1;
    snprintf(server->endpoint, sizeof server->endpoint, "http://127.0.0.1:%u/RPC2",
             ntohs(address.sin_port));
    return listener;
}

/* Returns 0 or -1. */
static inline int stand_in_start(struct stand_in *server, stand_in_answer answer)
{
    int listener = stand_in_listen(server);
    if (listener < 0)
        return -1;
    server->pid = fork();
    if (server->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(120);
        for (;;) {
            int connection = accept(listener, NULL, NULL);
            if (connection >= 0)
                stand_in_serve_one(connection, answer);
        }
    }
    close(listener);
    return server->pid > 0 ? 0 : -1;
}

static inline void stand_in_stop(struct stand_in *server)
{
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
}

#endif
