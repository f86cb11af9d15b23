// SPDX-License-Identifier: Apache-2.0
#include "scratch.h"

#include "base/file.h"
#include "base/secret.h"

static struct oneib_error err;

static void write_with(const char *text, mode_t mode)
{
    if (oneib_file_replace(in_scratch("secret"), text, strlen(text), mode, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static struct oneib_secret read_it(void)
{
    struct oneib_secret secret;
    if (oneib_secret_read(in_scratch("secret"), 16, &secret, &err) < 0)
        fail_msg("%s", err.text);
    return secret;
}

static void a_secret_says_whether_others_may_read_it(void **state)
{
    static const mode_t open[] = {0640, 0604, 0610, 0601, 0620, 0602};
    (void)state;
    write_with("hush", 0600);
    struct oneib_secret secret = read_it();
    assert_string_equal(secret.data, "hush");
    assert_int_equal(secret.length, 4);
    assert_true(secret.is_closed);
    assert_int_equal(secret.owner, geteuid());
    oneib_secret_forget(&secret);
    assert_null(secret.data);
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        assert_int_equal(chmod(in_scratch("secret"), open[i]), 0);
        secret = read_it();
        assert_false(secret.is_closed);
        oneib_secret_forget(&secret);
    }
    unlink(in_scratch("secret"));
}

static void one_that_is_not_there_is_no_error_and_no_secret(void **state)
{
    (void)state;
    struct oneib_secret secret = read_it();
    assert_null(secret.data);
    assert_false(secret.is_closed);
    oneib_secret_forget(&secret);
}

static void one_that_is_too_large_is_not_read(void **state)
{
    struct oneib_secret secret;
    (void)state;
    write_with("seventeen letters", 0600);
    assert_int_equal(oneib_secret_read(in_scratch("secret"), 16, &secret, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_null(secret.data);
    unlink(in_scratch("secret"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_says_whether_others_may_read_it),
        cmocka_unit_test(one_that_is_not_there_is_no_error_and_no_secret),
        cmocka_unit_test(one_that_is_too_large_is_not_read),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
