// SPDX-License-Identifier: Apache-2.0
/* What `oneib check` says of monitord.conf, which lies in the test's directory. */
#include "run.h"
#include <stdio.h>
#include <sys/stat.h>

static void where_monitord_is_not_nothing_is_said(void **state)
{
    (void)state;
    assert_lacks(check_front_end(), "monitor");
}

static void as_opennebula_installs_it_both_are_warnings_with_the_port_and_the_file(void **state)
{
    (void)state;
    mkdir(in_directory("etc"), 0755);
    write_file("etc/monitord.conf", "NETWORK = [ ADDRESS = \"::\", PORT = 4124, PUBKEY = \"\" ]\n");
    const char *out = check_front_end();
    assert_contains(out, "warn  monitoring-open: monitord listens on all addresses, port 4124");
    assert_contains(out, "let the hosts alone reach UDP and TCP port 4124 (firewall), set ADDRESS");
    assert_contains(out, "etc/monitord.conf to this machine's address");
    assert_contains(out, "warn  monitoring-plain: monitord has no keys");
}

static void one_address_and_keys_are_fine_and_still_prove_no_sender(void **state)
{
    (void)state;
    write_file("etc/monitord.conf",
               "NETWORK = [ ADDRESS = \"10.1.0.1\", PUBKEY = \"/p\", PRIKEY = \"/q\" ]\n");
    const char *out = check_front_end();
    assert_contains(out, "ok    monitoring-open: monitord listens at 10.1.0.1, port 4124; messages "
                         "are not authenticated");
    assert_contains(out, "ok    monitoring-plain: hosts encrypt what they send to monitord, which "
                         "proves no sender");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_monitord_is_not_nothing_is_said),
        cmocka_unit_test(as_opennebula_installs_it_both_are_warnings_with_the_port_and_the_file),
        cmocka_unit_test(one_address_and_keys_are_fine_and_still_prove_no_sender),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
