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

static void the_first_setting_names_it_and_ib_behind_it_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *xml, *placer;
        bool has_late_ib;
    } cases[] = {
        {CONFIG(MAD("-t 15 -p ib -o one_drs")), "ib", false},
        {CONFIG(MAD("-t 15 --placer ib")), "ib", false},
        {CONFIG(MAD("--placer=ib -t 15")), "ib", false},
        {CONFIG(MAD("-t 15 -o one_drs")), "rank", false},
        {CONFIG("<SCHED_MAD><EXECUTABLE>one_sched</EXECUTABLE></SCHED_MAD>"), "rank", false},
        {CONFIG(MAD("-p rank") MAD("-p ib")), "rank", true},
        {CONFIG(MAD("-t 15") MAD("-p none") MAD("-p ib")), "rank", true},
        {CONFIG(MAD("-p ib") MAD("-p rank")), "ib", false},
        {CONFIG(MAD("-p ib") MAD("-p rank") MAD("-p ib")), "ib", false},
        {CONFIG(MAD("-p")), "", false},
        {CONFIG(""), "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oneib_error err;
        struct oneib_placer placer;
        assert_int_equal(oneib_placer_of(cases[i].xml, strlen(cases[i].xml), &placer, &err), 0);
        assert_string_equal(placer.name, cases[i].placer);
        assert_int_equal(placer.has_late_ib, cases[i].has_late_ib);
    }
}

static void a_long_name_is_cut_and_what_is_no_xml_is_an_error(void **state)
{
    (void)state;
    struct oneib_error err;
    char xml[1024];
    struct oneib_placer placer;
    snprintf(xml, sizeof xml, CONFIG(MAD("-p %0500d")), 1);
    assert_int_equal(oneib_placer_of(xml, strlen(xml), &placer, &err), 0);
    assert_int_equal(strlen(placer.name), ONEIB_PLACER_SIZE - 1);
    assert_int_equal(oneib_placer_of("<OPENNEBULA", 11, &placer, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_setting_names_it_and_ib_behind_it_is_told),
        cmocka_unit_test(a_long_name_is_cut_and_what_is_no_xml_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
