// SPDX-License-Identifier: Apache-2.0
/* Whom OpenNebula 6.10's sched.conf has its scheduler ask. */
#include "opennebula/sched_conf.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define URL "http://127.0.0.1:9679/"

static void the_server_of_the_first_one_that_is_no_comment_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *text, *server; /* NULL: none */
    } cases[] = {
        {"MAX_HOST = 1\nEXTERNAL_SCHEDULER = [\n   SERVER = \"" URL "\",\n   TIMEOUT = 8\n]\n",
         URL},
        {"external_scheduler=[timeout=8,server=\"" URL "\"]", URL},
        {"#EXTERNAL_SCHEDULER = [ SERVER = \"x\" ]\nEXTERNAL_SCHEDULER = [ # SERVER = \"y\"\n"
         "SERVER = \"" URL "\" ]",
         URL},
        {"EXTERNAL_SCHEDULER = [ SERVER = \"" URL "\" ]\nEXTERNAL_SCHEDULER = [ SERVER = \"x\" ]",
         URL},
        {"EXTERNAL_SCHEDULER = [ PROXY = \"SERVER = #]\", SERVER = \"" URL "\" ]", URL},
        {"# EXTERNAL_SCHEDULER = [\n#    SERVER = \"http://localhost:4567\",\n# ]\n", NULL},
        {"ONE_XMLRPC = \"EXTERNAL_SCHEDULER = [ SERVER = x ]\"\n", NULL},
        {"EXTERNAL_SCHEDULER = [ TIMEOUT = 8 ] SERVER = \"x\"", NULL},
        {"EXTERNAL_SCHEDULER = [ SERVER", NULL},
        {"EXTERNAL_SCHEDULER", NULL},
        {"EXTERNAL_SCHEDULER = \"x\"", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char server[ONEIB_SCHED_SERVER_SIZE] = "";
        assert_int_equal(oneib_sched_conf_server(cases[i].text, strlen(cases[i].text), server),
                         cases[i].server != NULL);
        assert_string_equal(server, cases[i].server ? cases[i].server : "");
    }
}

static void one_that_is_too_long_is_none(void **state)
{
    (void)state;
    char text[400] = "EXTERNAL_SCHEDULER = [ SERVER = \"", server[ONEIB_SCHED_SERVER_SIZE];
    const size_t head = strlen(text);
    memset(text + head, 'x', 300);
    assert_false(oneib_sched_conf_server(text, head + 257, server));
    assert_true(oneib_sched_conf_server(text, head + 256, server));
    assert_int_equal(strlen(server), 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_server_of_the_first_one_that_is_no_comment_is_found),
        cmocka_unit_test(one_that_is_too_long_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
