// SPDX-License-Identifier: Apache-2.0
/*
 * Logging for programs (main.c and the daemon). Libraries in core/ do not log: they return errors
 * and findings.
 *
 * Text: one line a message on standard error; when standard error is the journal (JOURNAL_STREAM
 * names it, sd-daemon(3)) lines begin with "<N>", N the syslog priority. JSON: one object a line
 * with "time" (RFC 3339, UTC, milliseconds), "level", "message". Control characters in messages are
 * escaped: a name that a user chose cannot forge a line.
 */
#ifndef ONEIB_BASE_LOG_H
#define ONEIB_BASE_LOG_H

/* The values are syslog(3) priorities. */
enum oneib_log_level {
    ONEIB_LOG_ERROR = 3,
    ONEIB_LOG_WARNING = 4,
    ONEIB_LOG_INFO = 6,
    ONEIB_LOG_DEBUG = 7,
};

enum oneib_log_format { ONEIB_LOG_TEXT, ONEIB_LOG_JSON };

/* Once, at start. Messages above `level` are dropped. Before it: text, INFO. */
void oneib_log_setup(enum oneib_log_level level, enum oneib_log_format format);

void oneib_log(enum oneib_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
