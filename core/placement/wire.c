// SPDX-License-Identifier: Apache-2.0
#include "placement/wire.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Bytes of one read, and of one encoding: both of whole groups. */
#define CHUNK ((size_t)48 * 1024)

/* ---- as it comes ----------------------------------------------------------------------------- */

struct arriving {
    struct oneib_wire *wire;
    char text[CHUNK];
    size_t held;  /* bytes of text */
    size_t total; /* that came */
};

/* -1: it cannot be read; errno says why. */
static ssize_t fill(struct arriving *arriving, int fd)
{
    ssize_t got;
    do
        got = read(fd, arriving->text + arriving->held, CHUNK - arriving->held);
    while (got < 0 && errno == EINTR);
    arriving->held += got > 0 ? (size_t)got : 0;
    arriving->total += got > 0 ? (size_t)got : 0;
    return got;
}

/* From the first group on that is none, all is the tail's. */
static void take_groups(struct arriving *arriving)
{
    struct oneib_wire *wire = arriving->wire;
    char bytes[CHUNK / 4 * 3];
    size_t done = 0;
    if (wire->tail.length == 0) {
        done = oneib_base64_decode_groups(arriving->text, arriving->held, bytes);
        oneib_text_append_bytes(&wire->xml, bytes, done / 4 * 3);
        wire->head = wire->xml.length;
    }
    arriving->held -= done;
    if (arriving->held < 4) {
        memmove(arriving->text, arriving->text + done, arriving->held);
        return;
    }
    oneib_text_append_bytes(&wire->tail, arriving->text + done, arriving->held);
    arriving->held = 0;
}

static int read_all(struct arriving *arriving, int fd, size_t max, struct oneib_error *err)
{
    struct oneib_wire *wire = arriving->wire;
    ssize_t got;
    while ((got = fill(arriving, fd)) > 0) {
        if (arriving->total > max)
            return oneib_fail(err, ONEIB_ERROR_INPUT,
                              "the scheduler's message is larger than the %zu bytes allowed", max);
        take_groups(arriving);
    }
    if (got < 0)
        return oneib_fail_errno(err, errno, "cannot read the scheduler's message");
    oneib_text_append_bytes(&wire->tail, arriving->text, arriving->held);
    return 0;
}

int oneib_wire_read(int fd, size_t max, struct oneib_wire *wire, struct oneib_error *err)
{
    struct arriving arriving = {.wire = wire};
    *wire = (struct oneib_wire){0};
    if (read_all(&arriving, fd, max, err) == 0)
        return 0;
    oneib_wire_clear(wire);
    return -1;
}

static bool is_blank(const struct oneib_text *text)
{
    return text->length == 0 || strspn(text->data, "\r\n") == text->length;
}

int oneib_wire_decode(struct oneib_wire *wire, struct oneib_error *err)
{
    size_t length;
    if (wire->xml.length > 0 && is_blank(&wire->tail))
        return 0;
    oneib_autofree char *bytes =
        oneib_base64_decode(wire->tail.length ? wire->tail.data : "", wire->tail.length, &length);
    if (!bytes)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "the message is not base64");
    oneib_text_append_bytes(&wire->xml, bytes, length);
    return 0;
}

void oneib_wire_clear(struct oneib_wire *wire)
{
    oneib_text_clear(&wire->xml);
    oneib_text_clear(&wire->tail);
    *wire = (struct oneib_wire){0};
}

/* ---- as it goes ------------------------------------------------------------------------------ */

struct leaving {
    int fd;
    char bytes[CHUNK]; /* that are not written yet */
    size_t held;
};

static int write_all(int fd, const char *bytes, size_t length, struct oneib_error *err)
{
    while (length > 0) {
        const ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return oneib_fail_errno(err, errno, "cannot pass on the scheduler's message");
        bytes += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Padding is for the end alone: before, only whole chunks are written. */
static int flush(struct leaving *leaving, struct oneib_error *err)
{
    size_t length;
    oneib_autofree char *text = oneib_base64_encode(leaving->bytes, leaving->held, &length);
    leaving->held = 0;
    return write_all(leaving->fd, text, length, err);
}

static int put(struct leaving *leaving, const char *bytes, size_t length, struct oneib_error *err)
{
    while (length > 0) {
        const size_t room = CHUNK - leaving->held, taken = length < room ? length : room;
        memcpy(leaving->bytes + leaving->held, bytes, taken);
        leaving->held += taken;
        bytes += taken;
        length -= taken;
        if (leaving->held == CHUNK && flush(leaving, err) < 0)
            return -1;
    }
    return 0;
}

int oneib_wire_pass(const struct oneib_wire *wire, int fd, struct oneib_error *err)
{
    struct leaving leaving = {.fd = fd};
    if (put(&leaving, wire->xml.data, wire->head, err) < 0 || flush(&leaving, err) < 0)
        return -1;
    return write_all(fd, wire->tail.data, wire->tail.length, err);
}

int oneib_wire_write(const struct oneib_sched_pieces *pieces, int fd, struct oneib_error *err)
{
    struct leaving leaving = {.fd = fd};
    for (size_t i = 0; i < pieces->count; i++)
        if (put(&leaving, pieces->items[i].bytes, pieces->items[i].length, err) < 0)
            return -1;
    return flush(&leaving, err);
}
