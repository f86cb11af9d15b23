// SPDX-License-Identifier: Apache-2.0
#include "oneibd/notify.h"

#include "base/clock.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

/* A message that is lost is nothing that this daemon could mend: results are not looked at. */

static void lengthen_watchdog(struct oneib_notify *notify, double wanted_ms)
{
    if (notify->watchdog_ms == 0 || notify->watchdog_ms >= wanted_ms)
        return;
    notify->watchdog_ms = wanted_ms;
    sd_notifyf(0, "WATCHDOG_USEC=%" PRIu64, (uint64_t)wanted_ms * 1000);
}

void oneib_notify_begin(struct oneib_notify *notify, uint32_t longest_silence_ms)
{
    uint64_t microseconds = 0;
    *notify = (struct oneib_notify){0};
    if (sd_watchdog_enabled(0, &microseconds) > 0)
        notify->watchdog_ms = (double)microseconds / 1000;
    lengthen_watchdog(notify, 2.0 * longest_silence_ms);
    notify->last_ms = oneib_now_ms() - notify->watchdog_ms; /* the first is due at once */
}

void oneib_notify_ready(struct oneib_notify *notify)
{
    (void)notify;
    sd_notify(0, "READY=1");
}

void oneib_notify_reloading(struct oneib_notify *notify)
{
    (void)notify;
    sd_notify(0, "RELOADING=1");
}

void oneib_notify_stopping(struct oneib_notify *notify)
{
    (void)notify;
    sd_notify(0, "STOPPING=1");
}

/* A newline would begin another assignment, whatever name of a user's it came with; and systemd
 * drops a status that is not UTF-8, such as one cut inside a character. */
static void make_printable(char *line)
{
    for (; *line; line++)
        if (*line < ' ' || *line > '~')
            *line = '?';
}

void oneib_notify_status(struct oneib_notify *notify, const char *format, ...)
{
    char status[sizeof notify->status];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(status, sizeof status, format, arguments);
    va_end(arguments);
    make_printable(status);
    if (strcmp(status, notify->status) == 0)
        return;
    memcpy(notify->status, status, sizeof status);
    sd_notifyf(0, "STATUS=%s", status);
}

void oneib_notify_alive(struct oneib_notify *notify)
{
    const double now = oneib_now_ms();
    if (notify->watchdog_ms == 0 || now - notify->last_ms < notify->watchdog_ms / 4)
        return;
    notify->last_ms = now;
    sd_notify(0, "WATCHDOG=1");
}
