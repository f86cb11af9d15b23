// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for OpenNebula 6.10's scheduler where it asks another one (EXTERNAL_SCHEDULER): it
 * posts what its to_json() makes, as its HttpRequest does by libcurl, and takes the answer as it
 * does. Written from the sources of 6.10.0; header-only, for tests/simulation.
 */
#ifndef ONEIB_MM_SCHED_STANDIN_H
#define ONEIB_MM_SCHED_STANDIN_H

#include "base/text.h"
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MM_SCHED_PIECE 16384 /* CURL_MAX_WRITE_SIZE */
#define MM_SCHED_PATIENCE_MS 30000

/* How many bytes of an answer it has. Its client assigns each piece over the one before. */
struct mm_sched_answer {
    int status; /* of HTTP; 0: the connection was closed */
    char body[MM_SCHED_PIECE + 1];
};

static inline int mm_sched_connect(unsigned port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* False: the other side has closed it. */
static inline bool mm_sched_send(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static inline void mm_sched_take_piece(struct mm_sched_answer *answer, const char *bytes,
                                       size_t length)
{
    memcpy(answer->body, bytes, length);
    answer->body[length] = '\0';
}

/* Until the other side closes: it is asked to. */
static inline void mm_sched_receive(int fd, struct mm_sched_answer *answer)
{
    char piece[MM_SCHED_PIECE + 1];
    bool is_body = false;
    *answer = (struct mm_sched_answer){0};
    for (;;) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        if (poll(&poller, 1, MM_SCHED_PATIENCE_MS) <= 0)
            return;
        const ssize_t length = recv(fd, piece, MM_SCHED_PIECE, 0);
        if (length <= 0)
            return;
        piece[length] = '\0';
        const char *body = is_body ? piece : strstr(piece, "\r\n\r\n");
        if (!is_body)
            answer->status = atoi(piece + strlen("HTTP/1.1 "));
        if (!body)
            continue;
        body += is_body ? 0 : 4;
        is_body = true;
        if (body < piece + length)
            mm_sched_take_piece(answer, body, (size_t)(piece + length - body));
    }
}

/* more: further lines of the head, "" for none. */
static inline bool mm_sched_begin(int fd, const char *line, const char *more)
{
    char head[512];
    const int length = snprintf(head, sizeof head,
                                "%s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
                                "Content-Type: application/json\r\nConnection: close\r\n%s\r\n",
                                line, more);
    return mm_sched_send(fd, head, (size_t)length);
}

static inline void mm_sched_post(unsigned port, const char *question, size_t length,
                                 struct mm_sched_answer *answer)
{
    char more[64];
    const int fd = mm_sched_connect(port);
    *answer = (struct mm_sched_answer){0};
    if (fd < 0)
        return;
    snprintf(more, sizeof more, "Content-Length: %zu\r\n", length);
    if (mm_sched_begin(fd, "POST /", more))
        mm_sched_send(fd, question, length);
    mm_sched_receive(fd, answer);
    close(fd);
}

/* Appends what it asks of one VM; hosts: "0,1,2". */
static inline void mm_sched_add_vm(struct oneib_text *question, uint32_t id, const char *hosts)
{
    oneib_text_append(question, question->length ? "," : "{\"VMS\":[");
    oneib_text_printf(question,
                      "{\"CAPACITY\":{\"CPU\":1.0,\"DISK_SIZE\":2252,\"MEMORY\":131072},"
                      "\"HOST_IDS\":[%s],\"ID\":%" PRIu32
                      ",\"STATE\":\"PENDING\",\"VM_ATTRIBUTES\":{}}",
                      hosts, id);
}

#endif
