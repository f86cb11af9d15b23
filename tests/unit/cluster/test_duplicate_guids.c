// SPDX-License-Identifier: Apache-2.0
/* Port GUIDs behind two switches' ports. */
#include "cluster/duplicate_guids.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PORT UINT64_C(0x100003)

static const struct oneib_switch_link links[] = {
    {.switch_guid = 0x2, .switch_port = 7, .node_type = ONEIB_NODE_CA, .port_guid = PORT},
    {.switch_guid = 0x2, .switch_port = 6, .node_type = ONEIB_NODE_CA, .port_guid = 0x100001},
    {.switch_guid = 0x2, .switch_port = 1, .node_type = ONEIB_NODE_SWITCH, .port_guid = 0x9},
    {.switch_guid = 0x2, .switch_port = 2, .node_type = ONEIB_NODE_SWITCH, .port_guid = 0x9},
    {.switch_guid = 0x2, .switch_port = 3, .node_type = ONEIB_NODE_CA},
    {.switch_guid = 0x2, .switch_port = 4, .node_type = ONEIB_NODE_CA},
    {.switch_guid = 0x1, .switch_port = 5, .node_type = ONEIB_NODE_CA, .port_guid = PORT},
    {.switch_guid = 0x3, .switch_port = 6, .node_type = ONEIB_NODE_CA, .port_guid = PORT},
};

static struct oneib_findings report_of(const struct oneib_switch_link *of, size_t count)
{
    struct oneib_findings findings = {0};
    struct oneib_hca_port ports[] = {{.port_guid = PORT}, {.port_guid = 0x100001}};
    struct oneib_host hosts[] = {{.id = 3, .ports = &ports[0], .port_count = 1},
                                 {.id = 4, .ports = &ports[1], .port_count = 1}};
    const struct oneib_cloud cloud = {.hosts = hosts, .host_count = 2};
    oneib_duplicate_guids_report(of, count, &cloud, &findings);
    return findings;
}

static struct oneib_findings report(size_t count)
{
    return report_of(links, count);
}

static void a_guid_at_two_places_is_named_once_with_both(void **state)
{
    (void)state;
    for (size_t count = 7; count <= 8; count++) {
        struct oneib_findings findings = report(count);
        assert_int_equal(findings.count, 1);
        assert_string_equal(findings.items[0].code, "port-twice");
        assert_int_equal(findings.items[0].severity, ONEIB_VIOLATION);
        assert_non_null(strstr(findings.items[0].text, "0x0000000000100003"));
        assert_true(oneib_finding_is_about(&findings.items[0], ONEIB_SUBJECT_HOST, 3));
        assert_non_null(strstr(findings.items[0].text, "port 5 of switch 0x0000000000000001"));
        assert_non_null(strstr(findings.items[0].text, "port 7 of switch 0x0000000000000002"));
        assert_false(oneib_finding_is_about(&findings.items[0], ONEIB_SUBJECT_HOST, 4));
        oneib_findings_clear(&findings);
    }
}

static void two_of_one_switch_are_named_in_the_order_of_its_ports(void **state)
{
    (void)state;
    const struct oneib_switch_link both[] = {
        {.switch_guid = 0x2, .switch_port = 8, .node_type = ONEIB_NODE_CA, .port_guid = PORT},
        {.switch_guid = 0x2, .switch_port = 7, .node_type = ONEIB_NODE_CA, .port_guid = PORT}};
    const struct oneib_cloud cloud = {0};
    struct oneib_findings findings = {0};
    oneib_duplicate_guids_report(both, 2, &cloud, &findings);
    assert_int_equal(findings.count, 1);
    assert_non_null(strstr(findings.items[0].text, ": at port 7 of switch"));
    assert_non_null(strstr(findings.items[0].text, ", and at port 8 of switch"));
    oneib_findings_clear(&findings);
}

/* A switch has one for all its ports, and who does not answer has none. */
static void switches_and_who_does_not_answer_are_no_twins(void **state)
{
    (void)state;
    struct oneib_findings findings = report(6);
    assert_int_equal(findings.count, 0);
    findings = report(0);
    assert_int_equal(findings.count, 0);
    oneib_findings_clear(&findings);
}

static void twins_are_found_among_others_of_whom_two_have_no_guid(void **state)
{
    static const struct oneib_switch_link others[] = {
        {.switch_guid = 0x1, .switch_port = 1, .node_type = ONEIB_NODE_CA, .port_guid = PORT},
        {.switch_guid = 0x1, .switch_port = 2, .node_type = ONEIB_NODE_CA, .port_guid = 0x100001},
        {.switch_guid = 0x1, .switch_port = 3, .node_type = ONEIB_NODE_CA},
        {.switch_guid = 0x1, .switch_port = 4, .node_type = ONEIB_NODE_CA},
        {.switch_guid = 0x1, .switch_port = 5, .node_type = ONEIB_NODE_CA, .port_guid = PORT},
    };
    (void)state;
    struct oneib_findings findings = report_of(others, 5);
    assert_int_equal(findings.count, 1);
    assert_non_null(strstr(findings.items[0].text, "at port 1 of switch 0x0000000000000001, and"));
    oneib_findings_clear(&findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guid_at_two_places_is_named_once_with_both),
        cmocka_unit_test(two_of_one_switch_are_named_in_the_order_of_its_ports),
        cmocka_unit_test(switches_and_who_does_not_answer_are_no_twins),
        cmocka_unit_test(twins_are_found_among_others_of_whom_two_have_no_guid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
