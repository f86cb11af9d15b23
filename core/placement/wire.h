// SPDX-License-Identifier: Apache-2.0
/*
 * The scheduler's message as it comes on a descriptor and goes on to the next placer: in base64. It
 * may have hundreds of megabytes, so there is one copy of it, which is decoded while it comes and
 * encoded while it goes.
 */
#ifndef ONEIB_PLACEMENT_WIRE_H
#define ONEIB_PLACEMENT_WIRE_H

#include "base/error.h"
#include "base/text.h"
#include "placement/message.h"
#include <stddef.h>

struct oneib_wire {
    struct oneib_text xml;  /* decoded */
    size_t head;            /* bytes of xml that say how they came: four characters for three */
    struct oneib_text tail; /* what came behind these characters, to the letter */
};

/* All that comes until the end, base64 or not; more than max bytes are INPUT. On failure *wire
 * holds nothing. */
int oneib_wire_read(int fd, size_t max, struct oneib_wire *wire, struct oneib_error *err);
/* Completes xml. INPUT: it is nothing, or no base64; what came can be passed on all the same. */
int oneib_wire_decode(struct oneib_wire *wire, struct oneib_error *err);
/* Writes what came, to the letter. */
int oneib_wire_pass(const struct oneib_wire *wire, int fd, struct oneib_error *err);
/* Writes another message. */
int oneib_wire_write(const struct oneib_sched_pieces *pieces, int fd, struct oneib_error *err);
void oneib_wire_clear(struct oneib_wire *wire);

#endif
