// SPDX-License-Identifier: Apache-2.0
/*
 * demo-call SOCKET NAME ARGUMENT...: has a demo that stays up carry out a command
 * (tests/simulation/demo/keep.c), prints what it says and ends as it did.
 *
 * The question is the arguments, each with its NUL, and the end of the stream; the answer a line
 * "STATUS OUT ERROR", with the lengths of the two outputs, and these.
 */
#include "base/cleanup.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FAILURE 3

static int fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    return FAILURE;
}

static bool send_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        const ssize_t sent = send(fd, data, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        data += sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool connect_to(int fd, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return false;
    strcpy(address.sun_path, path);
    return connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
}

static bool ask(int fd, char **arguments)
{
    for (; *arguments; arguments++)
        if (!send_all(fd, *arguments, strlen(*arguments) + 1))
            return false;
    return shutdown(fd, SHUT_WR) == 0;
}

static bool copy(FILE *from, size_t length, FILE *to)
{
    char buffer[4096];
    while (length > 0) {
        const size_t read = fread(buffer, 1, length < sizeof buffer ? length : sizeof buffer, from);
        if (read == 0 || fwrite(buffer, 1, read, to) != read)
            return false;
        length -= read;
    }
    return fflush(to) == 0;
}

static int answer(FILE *from)
{
    int status;
    size_t out, error;
    if (fscanf(from, "%d %zu %zu", &status, &out, &error) != 3 || fgetc(from) != '\n' ||
        !copy(from, out, stdout) || !copy(from, error, stderr))
        return fail("the demo ended before it answered");
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fail("usage: demo-call SOCKET NAME ARGUMENT...");
    oneib_autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || !connect_to(fd, argv[1]))
        return fail("the demo is not running any more: share/demo/run --keep");
    oneib_autofclose FILE *stream = ask(fd, argv + 2) ? fdopen(dup(fd), "r") : NULL;
    return stream ? answer(stream) : fail("the demo ended before it was asked");
}
