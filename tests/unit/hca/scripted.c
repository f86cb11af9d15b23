// SPDX-License-Identifier: Apache-2.0
#include "scripted.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Ends a line of nothing: what reads get that come after the last answer. */
static const char ends[] = "\4\4\4\4\4\4\4\4";

/* A read gets a line; a write goes through as it is. */
static bool make_plain(int terminal)
{
    struct termios how;
    if (tcgetattr(terminal, &how) < 0)
        return false;
    how.c_lflag = ICANON;
    how.c_oflag = 0;
    return tcsetattr(terminal, TCSANOW, &how) == 0;
}

static bool write_all(int fd, const char *text)
{
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

bool scripted_open(struct scripted *attribute, const char *path, const char *answers)
{
    char name[64];
    /* A terminal that closes says so to a process that it controls. */
    signal(SIGHUP, SIG_IGN);
    attribute->slave = -1;
    attribute->master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (attribute->master < 0)
        return false;
    if (grantpt(attribute->master) == 0 && unlockpt(attribute->master) == 0 &&
        ptsname_r(attribute->master, name, sizeof name) == 0)
        /* What was written is lost when nobody has it open. */
        attribute->slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (attribute->slave >= 0 && make_plain(attribute->slave) &&
        write_all(attribute->master, answers) && write_all(attribute->master, ends) &&
        unlink(path) == 0 && symlink(name, path) == 0)
        return true;
    scripted_close(attribute);
    return false;
}

void scripted_written(const struct scripted *attribute, char *text, size_t size)
{
    size_t length = 0;
    ssize_t got;
    while (length < size - 1 &&
           (got = read(attribute->master, text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
}

void scripted_close(const struct scripted *attribute)
{
    if (attribute->slave >= 0)
        close(attribute->slave);
    close(attribute->master);
}
