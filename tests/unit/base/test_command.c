// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "base/command.h"
#include "base/memory_file.h"
#include "scratch.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#define LARGE ((size_t)3 * 1024 * 1024) /* more than any pipe holds */

struct result {
    struct oneib_text output, errors;
    struct oneib_error err;
    int status, returned;
};

static struct result capture(const struct oneib_command *command)
{
    struct result result = {.status = -1};
    result.returned =
        oneib_command_capture(command, &result.output, &result.errors, &result.status, &result.err);
    return result;
}

static struct result run_script(const char *script, uint32_t timeout_ms, size_t output_max)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    return capture(
        &(struct oneib_command){.argv = argv, .timeout_ms = timeout_ms, .output_max = output_max});
}

static void clear(struct result *result)
{
    oneib_text_clear(&result->output);
    oneib_text_clear(&result->errors);
}

static void both_outputs_are_kept_apart(void **state)
{
    (void)state;
    struct result result = run_script("echo one; echo two >&2", 10000, 4096);
    assert_int_equal(result.returned, 0);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.output.data, "one\n");
    assert_string_equal(result.errors.data, "two\n");
    clear(&result);
}

static void one_text_for_both_keeps_their_order(void **state)
{
    (void)state;
    const char *const argv[] = {"/bin/sh", "-c", "echo one; echo two >&2; echo three", NULL};
    const struct oneib_command command = {.argv = argv, .timeout_ms = 10000, .output_max = 4096};
    struct oneib_text text = {0};
    struct oneib_error err = {0};
    int status = -1;
    assert_int_equal(oneib_command_capture(&command, &text, &text, &status, &err), 0);
    assert_string_equal(text.data, "one\ntwo\nthree\n");
    oneib_text_clear(&text);
}

static void an_exit_status_is_no_error(void **state)
{
    (void)state;
    struct result result = run_script("echo why >&2; exit 7", 10000, 4096);
    assert_int_equal(result.returned, 0);
    assert_int_equal(result.status, 7);
    assert_int_equal(result.err.code, ONEIB_ERROR_NONE);
    clear(&result);
}

static void a_signal_is_an_error_with_the_last_words(void **state)
{
    (void)state;
    struct result result = run_script("echo dying >&2; kill -TERM $$", 10000, 4096);
    assert_int_equal(result.returned, -1);
    assert_int_equal(result.err.code, ONEIB_ERROR_UNREACHABLE);
    assert_string_equal(result.err.text, "/bin/sh was ended by signal 15: \"dying\"");
    clear(&result);
}

static void a_program_that_is_not_there_is_a_system_error(void **state)
{
    (void)state;
    const char *const argv[] = {"/nonexistent/program", NULL};
    struct result result =
        capture(&(struct oneib_command){.argv = argv, .timeout_ms = 10000, .output_max = 4096});
    assert_int_equal(result.returned, -1);
    assert_int_equal(result.err.code, ONEIB_ERROR_SYSTEM);
    assert_int_equal(result.err.system_errno, ENOENT);
    assert_contains(result.err.text, "/nonexistent/program");
    clear(&result);
}

/* More than a pipe holds, both ways at once: who feeds first and reads then would wait forever. */
static void much_input_comes_back_whole(void **state)
{
    (void)state;
    const char *const argv[] = {"/bin/cat", NULL};
    char *input = malloc(LARGE);
    assert_non_null(input);
    for (size_t i = 0; i < LARGE; i++)
        input[i] = (char)(i * 7 % 251);
    struct result result = capture(&(struct oneib_command){.argv = argv,
                                                           .input = input,
                                                           .input_length = LARGE,
                                                           .timeout_ms = 30000,
                                                           .output_max = LARGE + 1});
    assert_int_equal(result.returned, 0);
    assert_int_equal(result.output.length, LARGE);
    assert_memory_equal(result.output.data, input, LARGE);
    clear(&result);
    free(input);
}

static void an_open_file_can_be_the_input(void **state)
{
    (void)state;
    const char *const argv[] = {"/bin/cat", NULL};
    const int fd = oneib_memory_file("what is there", 13);
    assert_true(fd >= 0);
    struct result result = capture(&(struct oneib_command){
        .argv = argv, .input_fd = fd, .timeout_ms = 30000, .output_max = 4096});
    assert_int_equal(result.returned, 0);
    assert_string_equal(result.output.data, "what is there");
    assert_int_equal(close(fd), 0);
    clear(&result);
}

/* SIGPIPE would end this program. */
static void a_program_that_does_not_read_its_input_harms_nobody(void **state)
{
    (void)state;
    const char *const argv[] = {"/bin/sh", "-c", "exec <&-; exit 3", NULL};
    char *input = calloc(LARGE, 1);
    assert_non_null(input);
    struct result result = capture(&(struct oneib_command){.argv = argv,
                                                           .input = input,
                                                           .input_length = LARGE,
                                                           .timeout_ms = 10000,
                                                           .output_max = 4096});
    assert_int_equal(result.returned, 0);
    assert_int_equal(result.status, 3);
    clear(&result);
    free(input);
}

static void without_input_there_is_nothing_to_read(void **state)
{
    (void)state;
    struct result result = run_script("read line && echo \"got $line\"; echo end", 10000, 4096);
    assert_int_equal(result.returned, 0);
    assert_string_equal(result.output.data, "end\n");
    clear(&result);
}

static void what_goes_beyond_the_maximum_is_dropped_and_the_program_goes_on(void **state)
{
    (void)state;
    struct result result =
        run_script("head -c 1000000 /dev/zero | tr '\\0' x; echo end >&2", 10000, 100);
    assert_int_equal(result.returned, 0);
    assert_int_equal(result.status, 0);
    assert_int_equal(result.output.length, 100);
    assert_string_equal(result.errors.data, "end\n");
    clear(&result);
}

static void the_environment_can_be_chosen(void **state)
{
    (void)state;
    const char *const argv[] = {"/usr/bin/env", NULL};
    const char *const environment[] = {"ONE=1", "TWO=2", NULL};
    struct result result = capture(&(struct oneib_command){
        .argv = argv, .timeout_ms = 10000, .output_max = 4096, .environment = environment});
    assert_int_equal(result.returned, 0);
    assert_string_equal(result.output.data, "ONE=1\nTWO=2\n");
    clear(&result);
}

static pid_t pid_in(const char *text)
{
    assert_non_null(text);
    const long pid = strtol(text, NULL, 10);
    assert_true(pid > 1);
    return (pid_t)pid;
}

/* Killed by somebody else's parent: it takes a moment until it is gone. */
static void assert_goes_away(pid_t pid)
{
    char path[64], stat[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    for (int i = 0; i < 200; i++) {
        FILE *file = fopen(path, "r");
        if (!file)
            return;
        const bool read_it = fgets(stat, sizeof stat, file) != NULL;
        fclose(file);
        if (!read_it || strstr(stat, ") Z "))
            return;
        usleep(10000);
    }
    fail_msg("process %d still runs: %s", (int)pid, stat);
}

static void a_hanging_program_and_its_children_are_killed(void **state)
{
    (void)state;
    const double began = oneib_now_ms();
    struct result result = run_script("sleep 60 & echo $!; wait", 1500, 4096);
    assert_int_equal(result.returned, -1);
    assert_int_equal(result.err.code, ONEIB_ERROR_TIMEOUT);
    assert_string_equal(result.err.text, "/bin/sh did not end within 1500 ms and was killed");
    assert_true(oneib_now_ms() - began < 5000);
    assert_goes_away(pid_in(result.output.data));
    clear(&result);
}

static void a_program_that_never_stops_writing_is_killed_in_time(void **state)
{
    (void)state;
    const double began = oneib_now_ms();
    struct result result = run_script("yes; :", 1500, 100);
    assert_int_equal(result.returned, -1);
    assert_int_equal(result.err.code, ONEIB_ERROR_TIMEOUT);
    assert_int_equal(result.output.length, 100);
    assert_true(oneib_now_ms() - began < 5000);
    clear(&result);
}

/* A program ends when it ends, whoever holds its outputs open. */
static void a_grandchild_that_stays_is_not_waited_for(void **state)
{
    (void)state;
    const double began = oneib_now_ms();
    struct result result = run_script("sleep 60 & echo $!", 30000, 4096);
    assert_int_equal(result.returned, 0);
    assert_int_equal(result.status, 0);
    assert_true(oneib_now_ms() - began < 10000);
    kill(pid_in(result.output.data), SIGKILL);
    clear(&result);
}

static void running_quotes_both_outputs_of_a_failure(void **state)
{
    (void)state;
    const char *const argv[] = {"/bin/sh", "-c", "echo out; echo \"no \\\"way\\\"\" >&2; exit 4",
                                NULL};
    char output[64];
    struct oneib_error err = {0};
    assert_int_equal(oneib_command_run(argv, 10000, output, sizeof output, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_string_equal(err.text, "/bin/sh failed with exit status 4: "
                                  "\"out\\x0ano \\x22way\\x22\"");
    assert_string_equal(output, "out\nno \"way\"\n");
}

static void running_keeps_no_more_than_there_is_room(void **state)
{
    (void)state;
    const char *const argv[] = {"/bin/sh", "-c", "echo 123456789", NULL};
    char output[6];
    struct oneib_error err = {0};
    assert_int_equal(oneib_command_run(argv, 10000, output, sizeof output, &err), 0);
    assert_string_equal(output, "12345");
}

static int count_open_files(void)
{
    return count_entries("/proc/self/fd");
}

static void no_file_is_left_open(void **state)
{
    (void)state;
    const int before = count_open_files();
    both_outputs_are_kept_apart(state);
    a_program_that_is_not_there_is_a_system_error(state);
    a_hanging_program_and_its_children_are_killed(state);
    without_input_there_is_nothing_to_read(state);
    assert_int_equal(count_open_files(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_outputs_are_kept_apart),
        cmocka_unit_test(one_text_for_both_keeps_their_order),
        cmocka_unit_test(an_exit_status_is_no_error),
        cmocka_unit_test(a_signal_is_an_error_with_the_last_words),
        cmocka_unit_test(a_program_that_is_not_there_is_a_system_error),
        cmocka_unit_test(much_input_comes_back_whole),
        cmocka_unit_test(an_open_file_can_be_the_input),
        cmocka_unit_test(a_program_that_does_not_read_its_input_harms_nobody),
        cmocka_unit_test(without_input_there_is_nothing_to_read),
        cmocka_unit_test(what_goes_beyond_the_maximum_is_dropped_and_the_program_goes_on),
        cmocka_unit_test(the_environment_can_be_chosen),
        cmocka_unit_test(a_hanging_program_and_its_children_are_killed),
        cmocka_unit_test(a_program_that_never_stops_writing_is_killed_in_time),
        cmocka_unit_test(a_grandchild_that_stays_is_not_waited_for),
        cmocka_unit_test(running_quotes_both_outputs_of_a_failure),
        cmocka_unit_test(running_keeps_no_more_than_there_is_room),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
