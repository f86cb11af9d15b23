// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"
#include "scratch.h"
#include <errno.h>
#include <fcntl.h>
#include <time.h>

/* What is logged between begin_capture() and end_capture(). */
static char captured[65536];
static int saved_stderr;

static void begin_capture(void)
{
    int fd = open(in_scratch("log"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    saved_stderr = dup(STDERR_FILENO);
    assert_true(saved_stderr >= 0);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    close(fd);
}

static void end_capture(void)
{
    ssize_t length = pread(STDERR_FILENO, captured, sizeof captured - 1, 0);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    assert_true(length >= 0);
    captured[length] = '\0';
}

static void log_one(enum oneib_log_format format, const char *message)
{
    begin_capture();
    oneib_log_setup(ONEIB_LOG_INFO, format);
    oneib_log(ONEIB_LOG_INFO, "%s", message);
    end_capture();
}

/* Runs first: nobody has called oneib_log_setup() yet. */
static void before_setup_it_is_text_from_info_up(void **state)
{
    (void)state;
    begin_capture();
    oneib_log(ONEIB_LOG_DEBUG, "hidden");
    oneib_log(ONEIB_LOG_INFO, "VM %d", 42);
    end_capture();
    assert_string_equal(captured, "info: VM 42\n");
}

static void messages_above_the_level_are_dropped(void **state)
{
    (void)state;
    begin_capture();
    oneib_log_setup(ONEIB_LOG_WARNING, ONEIB_LOG_TEXT);
    oneib_log(ONEIB_LOG_ERROR, "a");
    oneib_log(ONEIB_LOG_WARNING, "b");
    oneib_log(ONEIB_LOG_INFO, "c");
    oneib_log(ONEIB_LOG_DEBUG, "d");
    end_capture();
    assert_string_equal(captured, "error: a\nwarning: b\n");
}

static void set_journal_stream(const char *format)
{
    struct stat status;
    char stream[128];
    assert_int_equal(fstat(STDERR_FILENO, &status), 0);
    snprintf(stream, sizeof stream, "%ju:%ju%s", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino,
             format);
    setenv("JOURNAL_STREAM", stream, 1);
}

static void the_journal_gets_priorities(void **state)
{
    (void)state;
    begin_capture();
    set_journal_stream("");
    oneib_log_setup(ONEIB_LOG_DEBUG, ONEIB_LOG_TEXT);
    oneib_log(ONEIB_LOG_ERROR, "a");
    oneib_log(ONEIB_LOG_DEBUG, "b");
    end_capture();
    unsetenv("JOURNAL_STREAM");
    assert_string_equal(captured, "<3>error: a\n<7>debug: b\n");
}

static void another_stream_than_the_journals_gets_none(void **state)
{
    (void)state;
    begin_capture();
    set_journal_stream("9");
    oneib_log_setup(ONEIB_LOG_INFO, ONEIB_LOG_TEXT);
    oneib_log(ONEIB_LOG_INFO, "a");
    end_capture();
    unsetenv("JOURNAL_STREAM");
    assert_string_equal(captured, "info: a\n");
}

static void a_name_cannot_forge_a_line_of_text(void **state)
{
    (void)state;
    log_one(ONEIB_LOG_TEXT, "x\n<3>error: forged\r\x1b[2J\t\x7f");
    assert_string_equal(captured, "info: x\\n<3>error: forged\\x0d\\x1b[2J\\t\\x7f\n");
    log_one(ONEIB_LOG_TEXT, "\xc2\x9b\xe2\x80\xa8\xe2\x80\xae");
    assert_string_equal(captured, "info: \\xc2\\x9b\\xe2\\x80\\xa8\\xe2\\x80\\xae\n");
}

static void printable_text_stays_readable(void **state)
{
    (void)state;
    log_one(ONEIB_LOG_TEXT, "network \"Zürich\" 東京 🙂 \\x22");
    assert_string_equal(captured, "info: network \"Zürich\" 東京 🙂 \\x22\n");
}

static void what_is_not_utf8_is_escaped(void **state)
{
    (void)state;
    log_one(ONEIB_LOG_TEXT, "\xff\xc0\xaf\xe2\x82");
    assert_string_equal(captured, "info: \\xff\\xc0\\xaf\\xe2\\x82\n");
}

/* The part of the captured JSON line from "level" on; the time in front of it differs from run to
 * run. */
static const char *after_time(void)
{
    const char *level = strstr(captured, "\"level\"");
    assert_non_null(level);
    return level;
}

static void a_json_line_holds_level_and_message(void **state)
{
    (void)state;
    log_one(ONEIB_LOG_JSON, "VM 42");
    assert_string_equal(after_time(), "\"level\":\"info\",\"message\":\"VM 42\"}\n");
}

static void json_strings_are_escaped(void **state)
{
    (void)state;
    log_one(ONEIB_LOG_JSON, "a\"},{\"b\\ \n\t\x1b");
    assert_string_equal(after_time(), "\"level\":\"info\",\"message\":\"a\\\"},{\\\"b\\\\ "
                                      "\\u000a\\u0009\\u001b\"}\n");
    log_one(ONEIB_LOG_JSON, "\xff\xc3\xbc");
    assert_string_equal(after_time(), "\"level\":\"info\",\"message\":\"\\\\xff\xc3\xbc\"}\n");
}

static void a_json_line_begins_with_the_time_in_utc(void **state)
{
    (void)state;
    time_t before = time(NULL);
    log_one(ONEIB_LOG_JSON, "x");
    time_t after = time(NULL);

    struct tm utc = {0};
    int milliseconds, length = 0;
    assert_int_equal(sscanf(captured, "{\"time\":\"%4d-%2d-%2dT%2d:%2d:%2d.%3dZ\",%n", &utc.tm_year,
                            &utc.tm_mon, &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec,
                            &milliseconds, &length),
                     7);
    assert_int_equal(length, strlen("{\"time\":\"2000-01-01T00:00:00.000Z\","));
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    time_t logged = timegm(&utc);
    assert_true(logged >= before && logged <= after);
}

static void a_long_message_is_logged_whole(void **state)
{
    (void)state;
    char message[10001];
    memset(message, 'x', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    log_one(ONEIB_LOG_TEXT, message);
    assert_int_equal(strlen(captured), strlen("info: \n") + strlen(message));
}

static void errno_survives_logging(void **state)
{
    (void)state;
    begin_capture();
    close(STDERR_FILENO); /* so that the write fails */
    errno = ENOTDIR;
    oneib_log(ONEIB_LOG_ERROR, "lost");
    int after = errno;
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    assert_int_equal(after, ENOTDIR);
}

int main(void)
{
    unsetenv("JOURNAL_STREAM");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_setup_it_is_text_from_info_up),
        cmocka_unit_test(messages_above_the_level_are_dropped),
        cmocka_unit_test(the_journal_gets_priorities),
        cmocka_unit_test(another_stream_than_the_journals_gets_none),
        cmocka_unit_test(a_name_cannot_forge_a_line_of_text),
        cmocka_unit_test(printable_text_stays_readable),
        cmocka_unit_test(what_is_not_utf8_is_escaped),
        cmocka_unit_test(a_json_line_holds_level_and_message),
        cmocka_unit_test(json_strings_are_escaped),
        cmocka_unit_test(a_json_line_begins_with_the_time_in_utc),
        cmocka_unit_test(a_long_message_is_logged_whole),
        cmocka_unit_test(errno_survives_logging),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
