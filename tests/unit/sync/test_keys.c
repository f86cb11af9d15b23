// SPDX-License-Identifier: Apache-2.0
/* vnet_create's document, recorded from OpenNebula 7.4 with a driver called ibrec. */
#include "base/cleanup.h"
#include "base/file.h"
#include "sync/keys.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RECORDED                                                                                   \
    ONEIB_TEST_DATA "/opennebula-7.4/actions/0127-vnm.ibrec.vnet_create.vmX/stdin.decoded"

static char *recorded(size_t *length)
{
    struct oneib_error err;
    char *xml;
    if (oneib_file_read(RECORDED, 1 << 20, &xml, length, &err) < 0)
        fail_msg("%s", err.text);
    return xml;
}

static void another_drivers_network_is_not_ours_whatever_it_says(void **state)
{
    (void)state;
    struct oneib_error err;
    struct oneib_new_network network;
    size_t length;
    oneib_autofree char *xml = recorded(&length);
    assert_int_equal(oneib_new_network_parse(xml, length, "infiniband", &network, &err), 0);
    assert_int_equal(network.id, 4);
    assert_false(network.ours);
}

static void the_bridge_that_oned_chose_by_itself_is_refused(void **state)
{
    (void)state;
    struct oneib_error err;
    struct oneib_new_network network;
    size_t length;
    oneib_autofree char *xml = recorded(&length);
    assert_int_equal(oneib_new_network_parse(xml, length, "ibrec", &network, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_non_null(strstr(err.text, "network 4 has a BRIDGE"));
}

/* A network of ours with these children. */
static int parse(const char *children, struct oneib_error *err)
{
    char xml[512];
    struct oneib_new_network network;
    snprintf(xml, sizeof xml, "<VNET><ID>7</ID><VN_MAD>infiniband</VN_MAD>%s</VNET>", children);
    const int outcome = oneib_new_network_parse(xml, strlen(xml), "infiniband", &network, err);
    assert_true(outcome < 0 || (network.ours && network.id == 7));
    return outcome;
}

static void a_key_is_a_decimal_number_or_left_out(void **state)
{
    (void)state;
    struct oneib_error err;
    static const char *const bad[] = {"0", "32767", "0x8005", "-1", " 5", "5a"};
    char children[128];
    assert_int_equal(parse("<VLAN_ID/><BRIDGE/>", &err), 0);
    assert_int_equal(parse("<VLAN_ID>32766</VLAN_ID>", &err), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(children, sizeof children, "<VLAN_ID>%s</VLAN_ID>", bad[i]);
        assert_int_equal(parse(children, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    }
    assert_int_equal(parse("<VLAN_ID>5</VLAN_ID><VLAN_ID>6</VLAN_ID>", &err), -1);
}

static void a_reservation_says_whose_it_is(void **state)
{
    (void)state;
    static const char xml[] = "<VNET><ID>7</ID><VN_MAD>infiniband</VN_MAD>"
                              "<PARENT_NETWORK_ID>4</PARENT_NETWORK_ID><VLAN_ID>257</VLAN_ID>"
                              "</VNET>";
    static const char plain[] = "<VNET><ID>7</ID><VN_MAD>infiniband</VN_MAD>"
                                "<PARENT_NETWORK_ID/><VLAN_ID/></VNET>";
    static const char odd[] = "<VNET><ID>7</ID><VN_MAD>infiniband</VN_MAD>"
                              "<PARENT_NETWORK_ID>x</PARENT_NETWORK_ID></VNET>";
    struct oneib_error err;
    struct oneib_new_network network;
    assert_int_equal(oneib_new_network_parse(xml, strlen(xml), "infiniband", &network, &err), 0);
    assert_int_equal(network.parent_id, 4);
    assert_true(network.has_vlan_id);
    assert_int_equal(oneib_new_network_parse(plain, strlen(plain), "infiniband", &network, &err),
                     0);
    assert_true(network.parent_id == UINT32_MAX);
    assert_false(network.has_vlan_id);
    assert_int_equal(oneib_new_network_parse(odd, strlen(odd), "infiniband", &network, &err), -1);
}

static void what_is_no_networks_document_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "<VNET>",
                                      "<VM><ID>1</ID></VM>",
                                      "<VNET></VNET>",
                                      "<VNET><ID>-1</ID></VNET>",
                                      "<VNET><ID>1</ID></VNET><VNET/>",
                                      "<!DOCTYPE VNET [<!ENTITY a \"b\">]><VNET><ID>1</ID></VNET>"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct oneib_error err = {0};
        struct oneib_new_network network;
        assert_int_equal(
            oneib_new_network_parse(bad[i], strlen(bad[i]), "infiniband", &network, &err), -1);
        assert_int_not_equal(err.code, ONEIB_ERROR_NONE);
        assert_false(network.ours);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_drivers_network_is_not_ours_whatever_it_says),
        cmocka_unit_test(the_bridge_that_oned_chose_by_itself_is_refused),
        cmocka_unit_test(a_key_is_a_decimal_number_or_left_out),
        cmocka_unit_test(a_reservation_says_whose_it_is),
        cmocka_unit_test(what_is_no_networks_document_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
