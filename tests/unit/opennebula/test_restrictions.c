// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "opennebula/restrictions.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define CONFIG(settings) "<OPENNEBULA_CONFIGURATION>" settings "</OPENNEBULA_CONFIGURATION>"
#define VNET(name) "<VNET_RESTRICTED_ATTR><![CDATA[" name "]]></VNET_RESTRICTED_ATTR>"
#define VM(name) "<VM_RESTRICTED_ATTR><![CDATA[" name "]]></VM_RESTRICTED_ATTR>"
#define EACH(kind, vector)                                                                         \
    kind(vector "VLAN_ID") kind(vector "IB_CLASS") kind(vector "IB_MEMBERSHIP")                    \
        kind(vector "IB_RATE") kind(vector "IB_RESERVATION") kind(vector "IB_STATIC_GUIDS")
#define VM_SIDE EACH(VM, "NIC/") EACH(VM, "NIC_DEFAULT/") EACH(VM, "NIC_ALIAS/") EACH(VM, "PCI/")
#define VNET_SIDE EACH(VNET, "") EACH(VNET, "AR/")

static size_t missing_in(const char *xml, struct oneib_text *lines)
{
    struct oneib_error err;
    size_t missing = SIZE_MAX;
    assert_int_equal(oneib_restrictions_missing(xml, strlen(xml), lines, &missing, &err), 0);
    return missing;
}

static void a_configuration_that_restricts_everything_lacks_nothing(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text lines = {0};
    assert_int_equal(missing_in(CONFIG("<PORT>2633</PORT>" VM_SIDE VNET_SIDE), &lines), 0);
    assert_int_equal(lines.length, 0);
}

static void an_empty_configuration_lacks_every_line(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text lines = {0};
    assert_int_equal(missing_in(CONFIG(""), &lines), 36);
    assert_non_null(strstr(lines.data, "VNET_RESTRICTED_ATTR = \"VLAN_ID\"\n"));
    assert_non_null(strstr(lines.data, "VNET_RESTRICTED_ATTR = \"AR/IB_RATE\"\n"));
    assert_non_null(strstr(lines.data, "VM_RESTRICTED_ATTR = \"NIC_DEFAULT/VLAN_ID\"\n"));
}

static void the_one_line_that_is_missing_is_named(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text lines = {0};
    assert_int_equal(
        missing_in(CONFIG(VM_SIDE EACH(VNET, "AR/") VNET("VLAN_ID") VNET("IB_CLASS")
                              VNET("IB_MEMBERSHIP") VNET("IB_RATE") VNET("IB_RESERVATION")),
                   &lines),
        1);
    assert_string_equal(lines.data, "VNET_RESTRICTED_ATTR = \"IB_STATIC_GUIDS\"\n");
}

static void a_restricted_vector_restricts_what_is_in_it(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text lines = {0};
    assert_int_equal(missing_in(CONFIG(VM("NIC") VM("nic_default") VM("NIC_ALIAS") VM("PCI")
                                           VNET("AR") EACH(VNET, "")),
                                &lines),
                     0);
}

static void a_vm_setting_does_not_count_for_networks(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text lines = {0};
    assert_int_equal(
        missing_in(CONFIG(VM("VLAN_ID") VNET("NIC/VLAN_ID") VM("XNIC/VLAN_ID") VM("NIC/VLAN_IDX")),
                   &lines),
        36);
}

static void a_setting_inside_another_does_not_count(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text lines = {0};
    assert_int_equal(missing_in(CONFIG("<LOG>" VNET_SIDE VM_SIDE "</LOG>"), &lines), 36);
}

static void a_truncated_document_is_an_error(void **state)
{
    (void)state;
    static const char xml[] = "<OPENNEBULA_CONFIGURATION>" VNET_SIDE VM_SIDE;
    struct oneib_error err;
    oneib_autotext struct oneib_text lines = {0};
    size_t missing;
    assert_int_equal(oneib_restrictions_missing(xml, strlen(xml), &lines, &missing, &err), -1);
    assert_non_null(strstr(err.text, "reading oned's configuration"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_that_restricts_everything_lacks_nothing),
        cmocka_unit_test(an_empty_configuration_lacks_every_line),
        cmocka_unit_test(the_one_line_that_is_missing_is_named),
        cmocka_unit_test(a_restricted_vector_restricts_what_is_in_it),
        cmocka_unit_test(a_vm_setting_does_not_count_for_networks),
        cmocka_unit_test(a_setting_inside_another_does_not_count),
        cmocka_unit_test(a_truncated_document_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
