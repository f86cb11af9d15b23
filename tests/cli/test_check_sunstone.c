// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` says of Sunstone's views, which lie in the test's directory. */
#include "../skip.h"
#include "run.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VIEWS_OF_6_10 "etc/fireedge/sunstone"
#define VIEWS_OF_7 "etc/fireedge/sunstone/views"

static void make_directories(const char *path)
{
    char part[256] = {0};
    for (size_t i = 0; path[i]; i++) {
        part[i] = path[i];
        if (path[i + 1] == '/' || !path[i + 1])
            mkdir(in_directory(part), 0755);
    }
}

/* A view with all of a user's tabs but those of services, and these tabs. */
static void make_view(const char *views, const char *view, const char *tab, const char *second)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", views, view);
    make_directories(path);
    const char *const tabs[] = {"vm", tab, second};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s/%s-tab.yaml", views, view, tabs[i] ? tabs[i] : "vnet");
        write_file(path, "---\n");
    }
}

static void make_views(const char *views)
{
    make_view(views, "admin", "service", "service-template");
    make_view(views, "groupadmin", "service", "service-template");
    make_view(views, "cloud", "service", NULL);
}

static void views_of_7_without_the_tab_are_a_warning_with_the_command(void **state)
{
    (void)state;
    make_views(VIEWS_OF_7);
    make_view(VIEWS_OF_7, "user", "service", NULL);
    const char *out = check_front_end();
    assert_contains(out, "warn  sunstone: users have no service templates");
    assert_contains(out, "/share/oneib/install/sunstone-tabs, as root, ");
}

static void views_of_6_10_without_the_tabs_are_a_warning(void **state)
{
    (void)state;
    make_views(VIEWS_OF_6_10);
    make_view(VIEWS_OF_6_10, "user", NULL, NULL);
    assert_contains(check_front_end(), "warn  sunstone: users have no service templates");
    make_view(VIEWS_OF_6_10, "user", "service-template", NULL);
    assert_contains(check_front_end(), "warn  sunstone: users have no service templates");
}

static void the_view_that_has_both_tabs_is_named(void **state)
{
    (void)state;
    make_views(VIEWS_OF_6_10);
    make_view(VIEWS_OF_6_10, "user", "service", "service-template");
    assert_contains(check_front_end(),
                    "ok    sunstone: users have service templates in the view \"user\"\n");
}

static void a_view_of_the_sites_own_counts(void **state)
{
    (void)state;
    make_views(VIEWS_OF_7);
    make_view(VIEWS_OF_7, "user", "service", NULL);
    make_view(VIEWS_OF_7, "physics", "service", "service-template");
    assert_contains(check_front_end(),
                    "ok    sunstone: users have service templates in the view \"physics\"\n");
}

static void after_an_update_from_6_10_the_new_views_count(void **state)
{
    (void)state;
    make_views(VIEWS_OF_6_10);
    make_view(VIEWS_OF_6_10, "user", "service", "service-template");
    make_views(VIEWS_OF_7);
    make_view(VIEWS_OF_7, "user", "service", NULL);
    assert_contains(check_front_end(), "warn  sunstone: users have no service templates");
}

static void where_sunstone_is_not_nothing_is_said(void **state)
{
    (void)state;
    assert_lacks(check_front_end(), "sunstone");
    make_directories("etc/fireedge");
    assert_lacks(check_front_end(), "sunstone");
}

static void views_that_cannot_be_read_are_said(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip_because("root reads everything");
    make_views(VIEWS_OF_7);
    assert_int_equal(chmod(in_directory("etc/fireedge"), 0), 0);
    assert_contains(check_front_end(), "etc/fireedge/sunstone: Permission denied");
    assert_int_equal(chmod(in_directory("etc/fireedge"), 0755), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(views_of_7_without_the_tab_are_a_warning_with_the_command),
        CASE(views_of_6_10_without_the_tabs_are_a_warning),
        CASE(the_view_that_has_both_tabs_is_named),
        CASE(a_view_of_the_sites_own_counts),
        CASE(after_an_update_from_6_10_the_new_views_count),
        CASE(where_sunstone_is_not_nothing_is_said),
        CASE(views_that_cannot_be_read_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
