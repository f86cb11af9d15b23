// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"
#include "base/escape.h"
#include "base/text.h"
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
    enum oneib_log_level level;
    enum oneib_log_format format;
    bool journal;
} setup = {.level = ONEIB_LOG_INFO, .format = ONEIB_LOG_TEXT};

/* JOURNAL_STREAM is "DEVICE:INODE" of the stream; it is inherited by programs whose stderr goes
 * elsewhere. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat status;
    if (!stream || fstat(STDERR_FILENO, &status) < 0)
        return false;

    char own[64];
    snprintf(own, sizeof own, "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
    return strcmp(stream, own) == 0;
}

void oneib_log_setup(enum oneib_log_level level, enum oneib_log_format format)
{
    setup.level = level;
    setup.format = format;
    setup.journal = stderr_is_journal();
}

static const char *level_name(enum oneib_log_level level)
{
    switch (level) {
    case ONEIB_LOG_ERROR:
        return "error";
    case ONEIB_LOG_WARNING:
        return "warning";
    case ONEIB_LOG_INFO:
        return "info";
    case ONEIB_LOG_DEBUG:
        return "debug";
    }
    return "unknown";
}

static void append_text_byte(struct oneib_text *line, unsigned char byte)
{
    if (byte == '\n')
        oneib_text_append(line, "\\n");
    else if (byte == '\t')
        oneib_text_append(line, "\\t");
    else
        oneib_text_printf(line, "\\x%02x", byte);
}

/* JSON can hold control characters of ASCII, but no single bytes: they are written as the text
 * would. */
static void append_json_byte(struct oneib_text *line, unsigned char byte)
{
    if (byte == '"' || byte == '\\')
        oneib_text_printf(line, "\\%c", byte);
    else if (byte < 0x80)
        oneib_text_printf(line, "\\u%04x", byte);
    else
        oneib_text_printf(line, "\\\\x%02x", byte);
}

static void append_message(struct oneib_text *line, const char *message)
{
    bool json = setup.format == ONEIB_LOG_JSON;
    while (*message) {
        size_t length = oneib_printable_length(message);
        if (json && (*message == '"' || *message == '\\'))
            length = 0;
        if (length > 0)
            oneib_text_append_bytes(line, message, length);
        else if (json)
            append_json_byte(line, (unsigned char)*message);
        else
            append_text_byte(line, (unsigned char)*message);
        message += length ? length : 1;
    }
}

static void append_time(struct oneib_text *line)
{
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    oneib_text_printf(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", utc.tm_year + 1900,
                      utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                      now.tv_nsec / 1000000);
}

static void append_line(struct oneib_text *line, enum oneib_log_level level, const char *message)
{
    if (setup.format == ONEIB_LOG_JSON) {
        oneib_text_append(line, "{\"time\":\"");
        append_time(line);
        oneib_text_printf(line, "\",\"level\":\"%s\",\"message\":\"", level_name(level));
        append_message(line, message);
        oneib_text_append(line, "\"}\n");
    } else {
        if (setup.journal)
            oneib_text_printf(line, "<%d>", (int)level);
        oneib_text_printf(line, "%s: ", level_name(level));
        append_message(line, message);
        oneib_text_append(line, "\n");
    }
}

/* One write a line where the system lets us, so that lines of several threads or processes do not
 * mix. */
static void write_line(const char *line, size_t length)
{
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, line, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return; /* there is nowhere left to complain to */
        line += written;
        length -= (size_t)written;
    }
}

void oneib_log(enum oneib_log_level level, const char *format, ...)
{
    if (level > setup.level)
        return;

    int saved_errno = errno;
    oneib_autotext struct oneib_text message = {0};
    oneib_autotext struct oneib_text line = {0};
    va_list arguments;
    va_start(arguments, format);
    oneib_text_vprintf(&message, format, arguments);
    va_end(arguments);
    append_line(&line, level, message.data ? message.data : "");
    write_line(line.data, line.length);
    errno = saved_errno;
}
