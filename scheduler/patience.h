// SPDX-License-Identifier: Apache-2.0
/* OpenNebula's scheduler waits as long as we do, and so does everybody whose VM waits: after five
 * seconds it goes on without us. One span at a time, by SIGALRM. */
#ifndef ONEIB_SCHEDULER_PATIENCE_H
#define ONEIB_SCHEDULER_PATIENCE_H

#include "base/error.h"

#define ONEIB_PATIENCE_S 5

void oneib_patience_begin(void);
void oneib_patience_end(void);
/* TIMEOUT: it is over. */
int oneib_patience_check(struct oneib_error *err);
/* 0 until it is over; for oneib_one_set_interrupt(). */
int *oneib_patience_flag(void);

#endif
