// SPDX-License-Identifier: Apache-2.0
/*
 * SIGTERM and SIGINT end the daemon, SIGHUP makes it read its configuration again. They are
 * delivered only where they may interrupt something: while the daemon sleeps, and while it waits
 * for oned. A write of the partitions file, or a MAD, is never cut short.
 */
#ifndef ONEIB_ONEIBD_SIGNALS_H
#define ONEIB_ONEIBD_SIGNALS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* Blocks the three and installs their handlers; before any thread is started. SIGPIPE is ignored.
 */
void oneib_signals_begin(void);
/* Not 0 once the daemon is to end: what oneib_one_set_interrupt() takes. */
int *oneib_signals_end_flag(void);
/* Whether it is to end: also while the signal is still blocked. */
bool oneib_signals_ending(void);
/* true once for each time that SIGHUP came. */
bool oneib_signals_take_reload(void);
/* Whether one of them came: also those that are still blocked. */
bool oneib_signals_waiting(void);

void oneib_signals_allow(void);
void oneib_signals_block(void);
/* poll(2) that they interrupt. */
void oneib_signals_poll(struct pollfd *descriptors, size_t count, double timeout_ms);

#endif
