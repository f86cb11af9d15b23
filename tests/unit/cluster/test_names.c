// SPDX-License-Identifier: Apache-2.0
#include "cluster/names.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_network_is_called_by_id_and_name_a_host_by_name(void **state)
{
    (void)state;
    assert_string_equal(oneib_network_called(7, "red").text, "network 7 \"red\"");
    assert_string_equal(oneib_network_called(7, NULL).text, "network 7");
    assert_string_equal(oneib_network_called(7, "").text, "network 7");
    assert_string_equal(oneib_network_called(ONEIB_NO_ID, "red").text, "an unknown network");
    assert_string_equal(oneib_host_called(3, "node3").text, "host \"node3\"");
    assert_string_equal(oneib_host_called(3, NULL).text, "host 3");
    assert_string_equal(oneib_host_called(ONEIB_NO_ID, "x").text, "an unknown host");
}

static void what_the_cloud_does_not_have_is_called_by_its_number(void **state)
{
    (void)state;
    struct oneib_cloud cloud = {0};
    struct oneib_network *network = oneib_cloud_add_network(&cloud);
    network->id = 7;
    network->name = strdup("red");
    struct oneib_host *host = oneib_cloud_add_host(&cloud);
    host->id = 3;
    host->name = strdup("node3");
    assert_string_equal(oneib_network_id_shown(&cloud, 7).text, "network 7 \"red\"");
    assert_string_equal(oneib_network_id_shown(&cloud, 8).text, "network 8");
    assert_string_equal(oneib_host_id_shown(&cloud, 3).text, "host \"node3\"");
    assert_string_equal(oneib_host_id_shown(&cloud, 4).text, "host 4");
    oneib_cloud_clear(&cloud);
}

static void a_hostile_name_is_escaped_and_cut(void **state)
{
    (void)state;
    assert_string_equal(oneib_network_called(7, "a\"\n\033[31m\\").text,
                        "network 7 \"a\\x22\\x0a\\x1b[31m\\x5c\"");
    char name[4096];
    memset(name, '\033', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const struct oneib_shown shown = oneib_network_called(ONEIB_NO_ID - 1, name);
    assert_true(strlen(shown.text) < 4 * ONEIB_NAME_SHOWN + 32);
    assert_non_null(strstr(shown.text, "...\""));
    memset(name, 'x', sizeof name - 1);
    assert_true(strlen(oneib_host_called(3, name).text) < ONEIB_NAME_SHOWN + 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_is_called_by_id_and_name_a_host_by_name),
        cmocka_unit_test(what_the_cloud_does_not_have_is_called_by_its_number),
        cmocka_unit_test(a_hostile_name_is_escaped_and_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
