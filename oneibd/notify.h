// SPDX-License-Identifier: Apache-2.0
/* What systemd is told (sd_notify(3), libsystemd); without systemd all of it does nothing. */
#ifndef ONEIB_ONEIBD_NOTIFY_H
#define ONEIB_ONEIBD_NOTIFY_H

#include "base/error.h"
#include <stdint.h>

struct oneib_notify {
    double watchdog_ms; /* a sign of life is due within this time; 0: no watchdog */
    double last_ms;     /* when the last was given, oneib_now_ms() */
    char status[200];   /* what was said last, so that it is said once */
};

/*
 * Asks systemd for its watchdog time. One that is shorter than 2 x longest_silence_ms, the longest
 * call that cannot give signs of life (one.timeout), is made that long (WATCHDOG_USEC).
 */
void oneib_notify_begin(struct oneib_notify *notify, uint32_t longest_silence_ms);
void oneib_notify_ready(struct oneib_notify *notify);
void oneib_notify_reloading(struct oneib_notify *notify);
void oneib_notify_stopping(struct oneib_notify *notify);
/* STATUS=: one line for `systemctl status`, cut to the field; what is not ASCII becomes '?'. */
void oneib_notify_status(struct oneib_notify *notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A sign of life; cheap to call often: told on at a quarter of the watchdog's time. */
void oneib_notify_alive(struct oneib_notify *notify);

#endif
