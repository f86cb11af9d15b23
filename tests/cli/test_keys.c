// SPDX-License-Identifier: Apache-2.0
/* `oneib keys`: what it writes, what it says, and what it keeps to itself. */
#include "run.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *content(const char *name)
{
    char *text = calloc(1, 4096);
    FILE *file = fopen(in_directory(name), "r");
    assert_non_null(text);
    if (!file)
        fail_msg("%s is not there", name);
    assert_true(fread(text, 1, 4095, file) > 0);
    fclose(file);
    return text;
}

/* The number in a line that begins with the name; 0: there is none. */
static uint64_t number_of(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 0) : 0;
}

static mode_t mode_of(const char *name)
{
    struct stat status;
    assert_int_equal(stat(in_directory(name), &status), 0);
    return status.st_mode & 07777;
}

static const struct outcome *make(const char *settings, const char *directory)
{
    write_file("oneib.conf", settings);
    return RUN("--config", in_directory("oneib.conf"), "keys", in_directory(directory));
}

static void fresh_keys_are_written_for_their_owner_alone_and_are_not_shown(void **state)
{
    (void)state;
    const struct outcome *run = make("", "new");
    assert_int_equal(run->status, 0);
    assert_int_equal(mode_of("new"), 0700);
    assert_int_equal(mode_of("new/m_key"), 0600);
    assert_int_equal(mode_of("new/opensm.conf.keys"), 0600);
    char *key = content("new/m_key"), *lines = content("new/opensm.conf.keys");
    const uint64_t m_key = strtoull(key, NULL, 0);
    const uint64_t sa_key = number_of(lines, "\nsa_key "), sm_key = number_of(lines, "\nsm_key ");
    assert_true(m_key > 1 && sa_key > 1 && sm_key > 1);
    assert_true(m_key != sa_key && sa_key != sm_key && m_key != sm_key);
    assert_true(number_of(lines, "\nm_key ") == m_key);
    assert_contains(lines, "\nm_key_protection_level 2\n");
    key[strcspn(key, "\n")] = '\0';
    assert_lacks(run->out, key + 2);
    assert_lacks(run->out, "0x");
    assert_lacks(run->err, "0x");
    free(key);
    free(lines);
}

static void a_directory_that_others_may_write_to_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_directory("everybodys"), 0777), 0);
    assert_int_equal(chmod(in_directory("everybodys"), 0777), 0);
    const struct outcome *run = make("", "everybodys");
    assert_int_equal(run->status, 3);
    assert_contains(run->err, "others than who runs this may write there");
    assert_int_not_equal(access(in_directory("everybodys/m_key"), F_OK), 0);
    char place[PATH_MAX];
    snprintf(place, sizeof place, "%s", in_directory("link"));
    assert_int_equal(symlink("/", place), 0);
    assert_int_equal(make("", "link")->status, 3);
}

static void two_runs_draw_different_keys(void **state)
{
    (void)state;
    make("", "one");
    make("", "two");
    char *one = content("one/m_key"), *two = content("two/m_key");
    assert_string_not_equal(one, two);
    free(one);
    free(two);
}

static void the_first_time_has_other_steps_than_a_change(void **state)
{
    (void)state;
    assert_contains(make("", "first")->out, "To set them for the first time:");
    char settings[600];
    snprintf(settings, sizeof settings, "fabric = { m_key_file = \"%s\"; };",
             in_directory("first/m_key"));
    const struct outcome *run = make(settings, "second");
    assert_int_equal(run->status, 0);
    assert_contains(run->out, "To change to them:");
    assert_contains(run->out, "second/m_key.both");
    char *both = content("second/m_key.both"), *old = content("first/m_key"),
         *new = content("second/m_key");
    assert_int_equal(mode_of("second/m_key.both"), 0600);
    assert_memory_equal(both, new, strlen(new));
    assert_string_equal(both + strlen(new), old);
    free(both);
    free(old);
    free(new);
}

/* What stands between two marks of what was printed, into that file. */
static void put_into(const char *file, const char *text, const char *from, const char *until)
{
    char line[200];
    const char *start = strstr(text, from);
    const char *end = start ? strstr(start, until) : NULL;
    if (!end)
        fail_msg("there is no \"%s\" before \"%s\": %s", from, until, text);
    snprintf(line, sizeof line, "%.*s\n", (int)(end - start), start);
    write_file(file, line);
}

static void assert_names_the_key_file(const char *config)
{
    const struct outcome *run = RUN("--config", in_directory(config), "check", "--config");
    assert_int_equal(run->status, 0);
    assert_contains(run->out, "m_key_file = \"/etc/oneib/m_key\"");
}

/* Also who copies it word by word has a configuration. */
static void the_line_for_the_configuration_is_one(void **state)
{
    (void)state;
    put_into("said.conf", make("", "new")->out, "fabric = ", " in oneib.conf");
    assert_names_the_key_file("said.conf");
    char *page = calloc(1, 65536);
    FILE *file = fopen(ONEIB_KEYS_PAGE, "r");
    assert_true(page && file && fread(page, 1, 65535, file) > 0);
    fclose(file);
    put_into("page.conf", page, "fabric = ", "` into oneib.conf");
    free(page);
    assert_names_the_key_file("page.conf");
}

static void nothing_that_is_there_is_replaced(void **state)
{
    (void)state;
    make("", "new");
    char *before = content("new/m_key");
    const struct outcome *run = make("", "new");
    assert_int_equal(run->status, 3);
    assert_contains(run->err, "is there already");
    char *after = content("new/m_key");
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void a_run_that_fails_leaves_no_file(void **state)
{
    (void)state;
    struct stat status;
    mkdir(in_directory("half"), 0700);
    write_file("half/opensm.conf.keys", "mine\n");
    assert_int_equal(make("", "half")->status, 3);
    assert_int_equal(stat(in_directory("half/m_key"), &status), -1);
    char *kept = content("half/opensm.conf.keys");
    assert_string_equal(kept, "mine\n");
    free(kept);
}

static void old_keys_that_cannot_be_read_stop_it(void **state)
{
    (void)state;
    struct stat status;
    write_file("broken", "not a key 1234\n");
    char settings[600];
    snprintf(settings, sizeof settings, "fabric = { m_key_file = \"%s\"; };",
             in_directory("broken"));
    const struct outcome *run = make(settings, "new");
    assert_int_equal(run->status, 3);
    assert_contains(run->err, "line 1");
    assert_lacks(run->err, "1234");
    assert_int_equal(stat(in_directory("new"), &status), -1);
}

static void the_steps_are_an_array_in_json(void **state)
{
    (void)state;
    write_file("oneib.conf", "");
    const struct outcome *run =
        RUN("--config", in_directory("oneib.conf"), "keys", in_directory("new"), "--json");
    json_t *document = parse_json(run->out);
    assert_true(json_is_false(json_object_get(document, "change")));
    assert_int_equal(json_array_size(json_object_get(document, "steps")), 8);
    json_decref(document);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(fresh_keys_are_written_for_their_owner_alone_and_are_not_shown),
        CASE(a_directory_that_others_may_write_to_is_refused),
        CASE(two_runs_draw_different_keys),
        CASE(the_first_time_has_other_steps_than_a_change),
        CASE(the_line_for_the_configuration_is_one),
        CASE(nothing_that_is_there_is_replaced),
        CASE(a_run_that_fails_leaves_no_file),
        CASE(old_keys_that_cannot_be_read_stop_it),
        CASE(the_steps_are_an_array_in_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
