// SPDX-License-Identifier: Apache-2.0
#include "sm/ufm_release.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct oneib_ufm_abilities abilities_of(const char *text)
{
    struct oneib_ufm_release release;
    if (!oneib_ufm_release_parse(text, &release))
        fail_msg("\"%s\" was refused", text);
    return oneib_ufm_abilities_of(&release);
}

static void a_release_is_three_numbers_and_what_follows_does_not_count(void **state)
{
    struct oneib_ufm_release release;
    (void)state;
    assert_true(oneib_ufm_release_parse("6.14.5-2", &release));
    assert_int_equal(release.major, 6);
    assert_int_equal(release.minor, 14);
    assert_int_equal(release.patch, 5);
    assert_true(oneib_ufm_release_parse("6.22", &release));
    assert_int_equal(release.patch, 0);
}

static void what_is_no_release_is_refused(void **state)
{
    static const char *const wrong[] = {"",         "6",        "6.",        ".14",
                                        "6.14.",    "6.14.5.1", "6.x",       "6.14.5 2",
                                        "6.014.5x", "-6.14.5",  "99999.1.1", "6.14.5\n"};
    struct oneib_ufm_release release;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (oneib_ufm_release_parse(wrong[i], &release))
            fail_msg("\"%s\" was taken", wrong[i]);
}

static void abilities_come_with_releases(void **state)
{
    (void)state;
    assert_false(abilities_of("6.14.5-2").memberships);
    assert_false(abilities_of("6.14.5-2").add);
    assert_true(abilities_of("6.15.0").memberships);
    assert_true(abilities_of("6.15.0").add);
    assert_false(abilities_of("6.18.9").default_membership);
    assert_true(abilities_of("6.19.1").default_membership);
    assert_false(abilities_of("6.19.2").mapping);
    assert_true(abilities_of("6.19.3").mapping);
    assert_false(abilities_of("6.21.9").names);
    assert_true(abilities_of("6.22.1").names);
    assert_true(abilities_of("7.0").names);
    assert_false(abilities_of("5.99.9").memberships);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_is_three_numbers_and_what_follows_does_not_count),
        cmocka_unit_test(what_is_no_release_is_refused),
        cmocka_unit_test(abilities_come_with_releases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
