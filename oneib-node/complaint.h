// SPDX-License-Identifier: Apache-2.0
/* What was last said to be wrong with one kind of thing: the same is not said again. */
#ifndef ONEIB_NODE_COMPLAINT_H
#define ONEIB_NODE_COMPLAINT_H

#include "base/error.h"

struct oneib_complaint {
    char text[sizeof((struct oneib_error *)0)->text]; /* "": nothing is */
};

/* Logs it as a warning, unless that was the last thing that was said. */
void oneib_complain(struct oneib_complaint *complaint, const char *what,
                    const struct oneib_error *err);
/* Logs that it is over, if something was wrong. */
void oneib_settle(struct oneib_complaint *complaint, const char *what);

#endif
