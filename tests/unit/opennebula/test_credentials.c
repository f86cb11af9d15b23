// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "opennebula/credentials.h"

#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../skip.h"
#include <cmocka.h>

/* A home of its own for each test: HOME names it, ONE_AUTH and ONE_XMLRPC are unset. */
struct home {
    char path[64];
    struct oneib_config config;
    struct oneib_credentials credentials;
    struct oneib_error err;
};

static int begin(void **state)
{
    const char *tmp = getenv("TMPDIR");
    struct home *home = calloc(1, sizeof *home);
    if (!home)
        return -1;
    snprintf(home->path, sizeof home->path, "%s/oneib-test-XXXXXX",
             tmp && strlen(tmp) < 32 ? tmp : "/tmp");
    if (!mkdtemp(home->path))
        return -1;
    setenv("HOME", home->path, 1);
    unsetenv("ONE_AUTH");
    unsetenv("ONE_XMLRPC");
    *state = home;
    return 0;
}

static void in(const struct home *home, const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", home->path, name);
}

static int end(void **state)
{
    static const char *const names[] = {".one/one_auth", ".one/one_endpoint", "session", "link"};
    struct home *home = *state;
    char path[128];
    oneib_credentials_clear(&home->credentials);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        in(home, names[i], path);
        unlink(path);
    }
    in(home, ".one", path);
    rmdir(path);
    rmdir(home->path);
    free(home);
    return 0;
}

static void write_file(const struct home *home, const char *name, mode_t mode, const char *bytes)
{
    char path[128];
    in(home, ".one", path);
    mkdir(path, 0700);
    in(home, name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, strlen(bytes), file), strlen(bytes));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void must_be(struct home *home, const char *endpoint, const char *session)
{
    if (oneib_credentials_find(&home->config, &home->credentials, &home->err) < 0)
        fail_msg("%s", home->err.text);
    assert_string_equal(home->credentials.endpoint, endpoint);
    assert_string_equal(home->credentials.session, session);
    oneib_credentials_clear(&home->credentials);
}

static void must_fail(struct home *home, enum oneib_error_code code, const char *words)
{
    home->err = (struct oneib_error){0};
    assert_int_equal(oneib_credentials_find(&home->config, &home->credentials, &home->err), -1);
    assert_string_equal(oneib_error_code_name(home->err.code), oneib_error_code_name(code));
    if (!strstr(home->err.text, words))
        fail_msg("\"%s\" is not in: %s", words, home->err.text);
    assert_null(strstr(home->err.text, "secret"));
    assert_null(home->credentials.endpoint);
    assert_null(home->credentials.session);
}

#define DEFAULT_ENDPOINT "http://localhost:2633/RPC2"

static void the_session_is_found_at_home(void **state)
{
    write_file(*state, ".one/one_auth", 0600, "oneadmin:secret\n");
    must_be(*state, DEFAULT_ENDPOINT, "oneadmin:secret");
}

static void a_session_without_a_line_end_is_one_line(void **state)
{
    write_file(*state, ".one/one_auth", 0640, "oneadmin:secret:with:colons");
    must_be(*state, DEFAULT_ENDPOINT, "oneadmin:secret:with:colons");
}

static void one_auth_wins_over_home(void **state)
{
    char path[128];
    write_file(*state, ".one/one_auth", 0600, "home:secret\n");
    write_file(*state, "session", 0600, "environment:secret\n");
    in(*state, "session", path);
    setenv("ONE_AUTH", path, 1);
    must_be(*state, DEFAULT_ENDPOINT, "environment:secret");
}

static void the_configured_file_wins_over_one_auth(void **state)
{
    struct home *home = *state;
    char path[128];
    write_file(home, "session", 0600, "configured:secret\n");
    in(home, "session", path);
    setenv("ONE_AUTH", "/nonexistent/one_auth", 1);
    home->config.one.auth_file = path;
    must_be(home, DEFAULT_ENDPOINT, "configured:secret");
}

#define NOBODY 65534

/* Runs what is given as a user who may read the home, but none of root's secrets; its outcome. */
static bool as_somebody_else(struct home *home, bool (*look)(struct home *home))
{
    int status;
    if (geteuid() == 0)
        assert_int_equal(chown(home->path, NOBODY, NOBODY), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
            _exit(2);
        _exit(look(home) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

static void give_to_somebody_else(const struct home *home, const char *name)
{
    char path[128];
    in(home, name, path);
    if (geteuid() == 0)
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
}

static bool uses_its_own(struct home *home)
{
    return oneib_credentials_use_own(&home->config) && !home->config.one.auth_file &&
           !home->config.one.acl_user &&
           oneib_credentials_find(&home->config, &home->credentials, &home->err) == 0 &&
           strcmp(home->credentials.session, "oneadmin:secret") == 0;
}

/* Of the file it may not read, with what to do about it. */
static bool is_refused(struct home *home)
{
    return !oneib_credentials_use_own(&home->config) && home->config.one.acl_user &&
           oneib_credentials_find(&home->config, &home->credentials, &home->err) < 0 &&
           strstr(home->err.text, "/session (run this as root, or as a user with a session");
}

static bool uses_the_configured_one(struct home *home)
{
    return !oneib_credentials_use_own(&home->config) && home->config.one.acl_user &&
           oneib_credentials_find(&home->config, &home->credentials, &home->err) == 0 &&
           strcmp(home->credentials.session, "oneib:secret") == 0;
}

/* As /etc/oneib/one_auth is for oneadmin: mode 0 keeps it from an ordinary user's own tests too. */
static void configure_a_session(struct home *home, mode_t mode, char path[128])
{
    write_file(home, "session", mode, "oneib:secret\n");
    in(home, "session", path);
    home->config.one.auth_file = strdup(path);
    assert_non_null(home->config.one.auth_file);
    home->config.one.acl_user = true;
}

static void a_session_that_is_kept_from_a_user_gives_way_to_its_own(void **state)
{
    struct home *home = *state;
    char path[128];
    write_file(home, ".one/one_auth", 0600, "oneadmin:secret\n");
    give_to_somebody_else(home, ".one");
    give_to_somebody_else(home, ".one/one_auth");
    configure_a_session(home, 0, path);
    assert_true(as_somebody_else(home, uses_its_own));
    free(home->config.one.auth_file);
}

static void a_user_without_a_session_is_told_whom_to_be(void **state)
{
    struct home *home = *state;
    char path[128];
    configure_a_session(home, 0, path);
    assert_true(as_somebody_else(home, is_refused));
    free(home->config.one.auth_file);
}

static void a_session_that_a_user_may_read_stays_the_configured_one(void **state)
{
    struct home *home = *state;
    char path[128];
    write_file(home, ".one/one_auth", 0600, "oneadmin:secret\n");
    give_to_somebody_else(home, ".one");
    configure_a_session(home, 0600, path);
    give_to_somebody_else(home, "session");
    assert_true(as_somebody_else(home, uses_the_configured_one));
    free(home->config.one.auth_file);
}

static void an_empty_one_auth_counts_as_unset(void **state)
{
    write_file(*state, ".one/one_auth", 0600, "home:secret\n");
    setenv("ONE_AUTH", "", 1);
    must_be(*state, DEFAULT_ENDPOINT, "home:secret");
}

static void one_auth_that_names_no_file_is_an_error_and_not_another_user(void **state)
{
    write_file(*state, ".one/one_auth", 0600, "home:secret\n");
    setenv("ONE_AUTH", "/nonexistent/one_auth", 1);
    must_fail(*state, ONEIB_ERROR_NOT_FOUND, "/nonexistent/one_auth");
}

static void without_any_session_the_error_says_where_one_could_be(void **state)
{
    if (access("/var/lib/one/.one/one_auth", F_OK) == 0)
        skip_because("this machine has /var/lib/one/.one/one_auth");
    must_fail(*state, ONEIB_ERROR_NOT_FOUND, "ONE_AUTH");
}

static void a_session_that_everybody_may_read_is_refused(void **state)
{
    write_file(*state, ".one/one_auth", 0644, "oneadmin:secret\n");
    must_fail(*state, ONEIB_ERROR_CONFIG, "chmod o=");
}

static void a_session_that_everybody_may_write_is_refused(void **state)
{
    write_file(*state, ".one/one_auth", 0602, "oneadmin:secret\n");
    must_fail(*state, ONEIB_ERROR_CONFIG, "chmod o=");
}

static void a_session_of_two_lines_is_refused(void **state)
{
    write_file(*state, ".one/one_auth", 0600, "oneadmin:secret\nother:secret\n");
    must_fail(*state, ONEIB_ERROR_CONFIG, "more than one line");
}

static void a_session_file_that_holds_no_session_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "\n",
                                      "secret\n",
                                      ":secret\n",
                                      "oneadmin:\n",
                                      "one\tadmin:secret\n",
                                      "oneadmin:secret\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(*state, ".one/one_auth", 0600, bad[i]);
        must_fail(*state, ONEIB_ERROR_CONFIG, ".one/one_auth");
    }
}

static void a_session_file_of_megabytes_is_refused(void **state)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, "oneadmin:");
    for (int i = 0; i < 1 << 16; i++)
        oneib_text_append(&text, "secretsecretsecret");
    write_file(*state, ".one/one_auth", 0600, text.data);
    must_fail(*state, ONEIB_ERROR_CONFIG, "longer than");
}

static void a_fifo_is_refused_and_not_waited_for(void **state)
{
    struct home *home = *state;
    char path[128];
    in(home, "session", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    home->config.one.auth_file = path;
    must_fail(home, ONEIB_ERROR_CONFIG, "not a regular file");
}

static void a_directory_is_refused(void **state)
{
    struct home *home = *state;
    home->config.one.auth_file = home->path;
    must_fail(home, ONEIB_ERROR_CONFIG, "not a regular file");
}

static void the_endpoint_is_found_at_home(void **state)
{
    write_file(*state, ".one/one_auth", 0600, "oneadmin:secret\n");
    write_file(*state, ".one/one_endpoint", 0644, "https://one.example/RPC2\n");
    must_be(*state, "https://one.example/RPC2", "oneadmin:secret");
}

static void one_xmlrpc_wins_over_home(void **state)
{
    write_file(*state, ".one/one_auth", 0600, "oneadmin:secret\n");
    write_file(*state, ".one/one_endpoint", 0644, "https://one.example/RPC2\n");
    setenv("ONE_XMLRPC", "http://127.0.0.1:3000/RPC2", 1);
    must_be(*state, "http://127.0.0.1:3000/RPC2", "oneadmin:secret");
}

static void the_configured_endpoint_wins_over_one_xmlrpc(void **state)
{
    struct home *home = *state;
    char endpoint[] = "http://front-end:2633/RPC2";
    write_file(home, ".one/one_auth", 0600, "oneadmin:secret\n");
    setenv("ONE_XMLRPC", "http://127.0.0.1:3000/RPC2", 1);
    home->config.one.endpoint = endpoint;
    must_be(home, endpoint, "oneadmin:secret");
}

static void an_endpoint_that_is_no_url_is_refused(void **state)
{
    static const char *const bad[] = {
        "localhost:2633",     "ftp://localhost/RPC2", "http://",
        "http:///RPC2",       "http://local host/",   "http://localhost/\nERROR",
        "file:///etc/passwd", "HTTP://localhost"};
    write_file(*state, ".one/one_auth", 0600, "oneadmin:secret\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("ONE_XMLRPC", bad[i], 1);
        must_fail(*state, ONEIB_ERROR_CONFIG, "ONE_XMLRPC");
    }
}

static void an_endpoint_with_a_password_is_refused_and_not_shown(void **state)
{
    write_file(*state, ".one/one_auth", 0600, "oneadmin:secret\n");
    setenv("ONE_XMLRPC", "http://oneadmin:secret@localhost:2633/RPC2", 1);
    must_fail(*state, ONEIB_ERROR_CONFIG, "user name");
}

static void without_a_home_the_default_endpoint_is_used(void **state)
{
    struct home *home = *state;
    char path[128];
    write_file(home, "session", 0600, "oneadmin:secret\n");
    in(home, "session", path);
    unsetenv("HOME");
    setenv("ONE_AUTH", path, 1);
    must_be(home, DEFAULT_ENDPOINT, "oneadmin:secret");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_session_is_found_at_home),
        TEST(a_session_without_a_line_end_is_one_line),
        TEST(one_auth_wins_over_home),
        TEST(the_configured_file_wins_over_one_auth),
        TEST(a_session_that_is_kept_from_a_user_gives_way_to_its_own),
        TEST(a_user_without_a_session_is_told_whom_to_be),
        TEST(a_session_that_a_user_may_read_stays_the_configured_one),
        TEST(an_empty_one_auth_counts_as_unset),
        TEST(one_auth_that_names_no_file_is_an_error_and_not_another_user),
        TEST(without_any_session_the_error_says_where_one_could_be),
        TEST(a_session_that_everybody_may_read_is_refused),
        TEST(a_session_that_everybody_may_write_is_refused),
        TEST(a_session_of_two_lines_is_refused),
        TEST(a_session_file_that_holds_no_session_is_refused),
        TEST(a_session_file_of_megabytes_is_refused),
        TEST(a_fifo_is_refused_and_not_waited_for),
        TEST(a_directory_is_refused),
        TEST(the_endpoint_is_found_at_home),
        TEST(one_xmlrpc_wins_over_home),
        TEST(the_configured_endpoint_wins_over_one_xmlrpc),
        TEST(an_endpoint_that_is_no_url_is_refused),
        TEST(an_endpoint_with_a_password_is_refused_and_not_shown),
        TEST(without_a_home_the_default_endpoint_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
