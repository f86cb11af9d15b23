// SPDX-License-Identifier: Apache-2.0
/* Where monitord listens and whether its messages are encrypted, by its monitord.conf. */
#include "opennebula/monitord_conf.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define KEYS "PUBKEY = \"/etc/one/monitord.pub\", PRIKEY = \"/etc/one/monitord.key\""

static void address_port_and_keys_are_those_of_the_network_vector(void **state)
{
    (void)state;
    static const struct {
        const char *text, *address, *port;
        bool is_on_all_addresses, encrypts;
    } cases[] = {
        /* As 6.10.0 and 7.4.0 install it. */
        {"NETWORK = [\n    ADDRESS         = \"0.0.0.0\",\n    MONITOR_ADDRESS = \"auto\",\n"
         "    PORT    = 4124,\n    THREADS = 8,\n    PUBKEY  = \"\",\n    PRIKEY  = \"\"\n]\n",
         "0.0.0.0", "4124", true, false},
        {"NETWORK = [\n    ADDRESS         = \"::\",\n    MONITOR_ADDRESS = \"auto\",\n"
         "    PORT    = 4124,\n    THREADS = 8,\n    PUBKEY  = \"\",\n    PRIKEY  = \"\"\n]\n",
         "::", "4124", true, false},
        {"NETWORK = [ ADDRESS = \"10.1.0.1\", PORT = 5000, " KEYS " ]", "10.1.0.1", "5000", false,
         true},
        {"network=[address=fd00::1]", "fd00::1", "4124", false, false},
        {"NETWORK = [ ADDRESS = \"front-end.invalid\", " KEYS " ]", "front-end.invalid", "4124",
         false, true},
        {"NETWORK = [ ADDRESS = \"0\", " KEYS " ]", "0", "4124", true, true},
        {"NETWORK = [ ADDRESS = \"0:0:0:0:0:0:0:0\" ]", "0:0:0:0:0:0:0:0", "4124", true, false},
        {"NETWORK = [ ADDRESS = \"::ffff:0.0.0.0\" ]", "::ffff:0.0.0.0", "4124", true, false},
        {"NETWORK = [ ADDRESS = \"::ffff:10.1.0.1\" ]", "::ffff:10.1.0.1", "4124", false, false},
        /* MONITOR_ADDRESS is where hosts send to. */
        {"NETWORK = [ MONITOR_ADDRESS = \"10.1.0.1\" ]", "", "4124", true, false},
        {"#NETWORK = [ ADDRESS = \"10.1.0.1\" ]\n", "", "4124", true, false},
        {"PROBES_PERIOD = [ ADDRESS = \"10.1.0.1\" ]\n", "", "4124", true, false},
        {"", "", "4124", true, false},
        {"#NETWORK = [ ADDRESS = \"x\" ]\nNETWORK = [ # ADDRESS = \"y\"\nADDRESS = \"10.1.0.1\" ]\n"
         "NETWORK = [ ADDRESS = \"z\" ]",
         "10.1.0.1", "4124", false, false},
        {"NETWORK = [ THREADS = \"ADDRESS = #]\", ADDRESS = \"10.1.0.1\" ]", "10.1.0.1", "4124",
         false, false},
        {"LOG = \"NETWORK = [ ADDRESS = 10.1.0.1 ]\"\n", "", "4124", true, false},
        {"NETWORK = [ THREADS = 8 ] ADDRESS = \"10.1.0.1\"", "", "4124", true, false},
        {"NETWORK = [ ADDRESS", "", "4124", true, false},
        {"NETWORK", "", "4124", true, false},
        {"NETWORK = [ ADDRESS = \"10.1.0.1\", PUBKEY = \"/a\", PRIKEY = \"\" ]", "10.1.0.1", "4124",
         false, false},
        {"NETWORK = [ ADDRESS = \"10.1.0.1\", PUBKEY = \"\", PRIKEY = \"/a\" ]", "10.1.0.1", "4124",
         false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oneib_monitord_conf conf;
        memset(&conf, 0xee, sizeof conf);
        oneib_monitord_conf_read(cases[i].text, strlen(cases[i].text), &conf);
        assert_string_equal(conf.address, cases[i].address);
        assert_string_equal(conf.port, cases[i].port);
        assert_int_equal(conf.is_on_all_addresses, cases[i].is_on_all_addresses);
        assert_int_equal(conf.encrypts, cases[i].encrypts);
    }
}

static void an_address_that_is_too_long_may_be_all_of_them(void **state)
{
    (void)state;
    struct oneib_monitord_conf conf;
    char text[400] = "NETWORK = [ ADDRESS = \"";
    memset(text + strlen(text), '1', 300);
    oneib_monitord_conf_read(text, strlen(text), &conf);
    assert_true(conf.is_on_all_addresses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_port_and_keys_are_those_of_the_network_vector),
        cmocka_unit_test(an_address_that_is_too_long_may_be_all_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
