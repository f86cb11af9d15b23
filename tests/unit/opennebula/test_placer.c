// SPDX-License-Identifier: Apache-2.0
/* Which placer oned's configuration names. */
#include "opennebula/placer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CONFIG(text)                                                                               \
    "<OPENNEBULA_CONFIGURATION><PORT>2633</PORT>" text "</OPENNEBULA_CONFIGURATION>"
#define MAD(arguments)                                                                             \
    "<SCHED_MAD><ARGUMENTS><![CDATA[" arguments "]]></ARGUMENTS><EXECUTABLE>one_sched"             \
    "</EXECUTABLE></SCHED_MAD>"

static void the_first_setting_names_it(void **state)
{
    (void)state;
    static const struct {
        const char *xml, *placer;
    } cases[] = {
        {CONFIG(MAD("-t 15 -p ib -o one_drs")), "ib"},
        {CONFIG(MAD("-t 15 --placer ib")), "ib"},
        {CONFIG(MAD("--placer=ib -t 15")), "ib"},
        {CONFIG(MAD("-t 15 -o one_drs")), "rank"},
        {CONFIG("<SCHED_MAD><EXECUTABLE>one_sched</EXECUTABLE></SCHED_MAD>"), "rank"},
        {CONFIG(MAD("-p rank") MAD("-p ib")), "rank"},
        {CONFIG(MAD("-p")), ""},
        {CONFIG(""), ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oneib_error err;
        char name[ONEIB_PLACER_SIZE];
        assert_int_equal(oneib_placer_of(cases[i].xml, strlen(cases[i].xml), name, &err), 0);
        assert_string_equal(name, cases[i].placer);
    }
}

static void a_long_name_is_cut_and_what_is_no_xml_is_an_error(void **state)
{
    (void)state;
    struct oneib_error err;
    char xml[1024], name[ONEIB_PLACER_SIZE];
    snprintf(xml, sizeof xml, CONFIG(MAD("-p %0500d")), 1);
    assert_int_equal(oneib_placer_of(xml, strlen(xml), name, &err), 0);
    assert_int_equal(strlen(name), ONEIB_PLACER_SIZE - 1);
    assert_int_equal(oneib_placer_of("<OPENNEBULA", 11, name, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_setting_names_it),
        cmocka_unit_test(a_long_name_is_cut_and_what_is_no_xml_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
