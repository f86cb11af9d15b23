// SPDX-License-Identifier: Apache-2.0
/*
 * An attribute that answers as a test wants, whatever is written to it: a link to a terminal, whose
 * other end the test holds. That is how a driver looks that takes a write without effect.
 */
#ifndef ONEIB_UNIT_SCRIPTED_H
#define ONEIB_UNIT_SCRIPTED_H

#include <stdbool.h>
#include <stddef.h>

struct scripted {
    int master, slave;
};

/* Puts it in the place of the file at `path` (a whole one). Each read gets the next line of
 * `answers`, and nothing once they are used up. false: there are no terminals here. */
bool scripted_open(struct scripted *attribute, const char *path, const char *answers);
/* All that was written to it, one write after the other. */
void scripted_written(const struct scripted *attribute, char *text, size_t size);
void scripted_close(const struct scripted *attribute);

#endif
