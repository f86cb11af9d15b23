// SPDX-License-Identifier: Apache-2.0
#include "oned_stand_in.h"
#include "opennebula/one_client.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIMEOUT_MS 5000

static void answer_with_every_length_of_character(int connection, const char *request)
{
    (void)request;
    stand_in_document(connection, "<VM><ID>7</ID><NAME>e \xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xa5 "
                                  "\xf4\x8f\xbf\xbf end</NAME></VM>");
}

/* xmlrpc-c refuses characters beyond the Basic Multilingual Plane, and with them the whole answer:
 * one tenant's VM with such a name must not stop everybody. */
static void a_character_that_xmlrpc_c_refuses_costs_only_itself(void **state)
{
    (void)state;
    struct stand_in server;
    assert_int_equal(stand_in_start(&server, answer_with_every_length_of_character), 0);
    char session[] = "oneadmin:open-sesame-17";
    const struct oneib_credentials credentials = {.endpoint = server.endpoint, .session = session};
    struct oneib_error err = {0};
    struct oneib_one *one = oneib_one_open(&credentials, TIMEOUT_MS, &err);
    assert_non_null(one);

    char *xml = NULL;
    size_t length;
    if (oneib_one_vm(one, 7, &xml, &length, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(xml,
                        "<VM><ID>7</ID><NAME>e \xc3\xa9 \xe2\x82\xac ???? ???? end</NAME></VM>");
    free(xml);
    oneib_one_close(one);
    stand_in_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_character_that_xmlrpc_c_refuses_costs_only_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
