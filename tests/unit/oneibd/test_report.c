// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"
#include "oneibd/daemon_report.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char said[1 << 20];

/* What is logged goes to standard error: caught in a file. */
static void report(struct oneib_report *report_of, struct oneib_findings *now)
{
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);
    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    oneib_report_findings(report_of, now);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
}

static size_t count_lines(void)
{
    size_t count = 0;
    for (const char *c = said; *c; c++)
        count += *c == '\n';
    return count;
}

static void add(struct oneib_findings *findings, enum oneib_severity severity, const char *text)
{
    oneib_findings_note_with(findings, ONEIB_FINDING_PORT_FULL, severity, "mend it", "%s", text);
}

static void a_finding_is_said_once_with_its_fix(void **state)
{
    (void)state;
    struct oneib_report of = {0};
    struct oneib_findings now = {0};
    add(&now, ONEIB_WARNING, "host 3 is odd");
    report(&of, &now);
    assert_non_null(strstr(said, "port-full: host 3 is odd; mend it"));
    assert_int_equal(now.count, 0);

    add(&now, ONEIB_WARNING, "host 3 is odd");
    report(&of, &now);
    assert_string_equal(said, "");
    oneib_report_clear(&of);
}

static void what_is_gone_is_said_and_what_stays_is_not(void **state)
{
    (void)state;
    struct oneib_report of = {0};
    struct oneib_findings now = {0};
    add(&now, ONEIB_WARNING, "a");
    add(&now, ONEIB_VIOLATION, "b");
    report(&of, &now);
    add(&now, ONEIB_VIOLATION, "b");
    add(&now, ONEIB_NOTICE, "c");
    report(&of, &now);
    assert_non_null(strstr(said, "port-full: c"));
    assert_non_null(strstr(said, "no more port-full: a"));
    assert_null(strstr(said, ": b"));
    oneib_report_clear(&of);
}

/* A tenant names networks, and may rename one that a violation is about. */
static void a_new_name_makes_no_finding_new_or_gone(void **state)
{
    (void)state;
    struct oneib_report of = {0};
    struct oneib_findings now = {0};
    add(&now, ONEIB_VIOLATION, "port 0x1 of host \"node3\", key of network 7 \"red\"");
    add(&now, ONEIB_WARNING, "network 9 \"\" has no key");
    report(&of, &now);
    add(&now, ONEIB_WARNING, "network 9 \"named\" has no key");
    add(&now, ONEIB_VIOLATION, "port 0x1 of host \"node3\", key of network 7 \"nothing: ok\"");
    report(&of, &now);
    assert_string_equal(said, "");

    add(&now, ONEIB_VIOLATION, "port 0x1 of host \"node3\", key of network 8 \"red\"");
    add(&now, ONEIB_WARNING, "network 9 \"named\" has no key");
    report(&of, &now);
    assert_int_equal(count_lines(), 2);
    assert_non_null(
        strstr(said, "port-full: port 0x1 of host \"node3\", key of network 8 \"red\""));
    assert_non_null(
        strstr(said, "no more port-full: port 0x1 of host \"node3\", key of network 7"));
    oneib_report_clear(&of);
}

static void findings_about_two_hosts_are_two_whatever_stands_in_quotes(void **state)
{
    (void)state;
    struct oneib_report of = {0};
    struct oneib_findings now = {0};
    oneib_findings_mention(&now, ONEIB_SUBJECT_HOST, 3);
    add(&now, ONEIB_VIOLATION, "host \"node3\" is odd");
    report(&of, &now);
    oneib_findings_mention(&now, ONEIB_SUBJECT_HOST, 3);
    add(&now, ONEIB_VIOLATION, "host \"node3\" is odd");
    oneib_findings_mention(&now, ONEIB_SUBJECT_HOST, 4);
    add(&now, ONEIB_VIOLATION, "host \"node4\" is odd");
    report(&of, &now);
    assert_int_equal(count_lines(), 1);
    assert_non_null(strstr(said, "port-full: host \"node4\" is odd"));
    oneib_report_clear(&of);
}

static void a_flood_is_cut_and_counted(void **state)
{
    (void)state;
    struct oneib_report of = {0};
    struct oneib_findings now = {0};
    for (int i = 0; i < 250; i++) {
        char text[32];
        snprintf(text, sizeof text, "VM %d", i);
        add(&now, ONEIB_WARNING, text);
    }
    report(&of, &now);
    assert_int_equal(count_lines(), 101);
    assert_non_null(strstr(said, "150 more findings are new"));
    oneib_report_clear(&of);
}

static void a_deviation_names_port_node_and_keys(void **state)
{
    (void)state;
    struct oneib_subnet_port port = {.guid = 0x100003, .description = "H1\n"};
    const struct oneib_subnet subnet = {.ports = &port, .port_count = 1};
    struct oneib_deviation deviation = {
        .kind = ONEIB_KEY_EXCESS, .port_guid = 0x100003, .found = 0x8101, .index = 3};
    const struct oneib_verification verification = {.items = &deviation, .count = 1};
    struct oneib_findings findings = {0};
    struct oneib_hca_port adapter = {.device = "mlx4_0", .port = 1, .port_guid = 0x100003};
    char host_name[] = "node3", network_name[] = "red";
    struct oneib_host host = {.id = 3, .name = host_name, .ports = &adapter, .port_count = 1};
    struct oneib_network network = {.id = 7, .name = network_name};
    const struct oneib_cloud cloud = {
        .hosts = &host, .host_count = 1, .networks = &network, .network_count = 1};
    struct oneib_partition partition = {.name = "one7", .pkey = 0x0101};
    const struct oneib_partition_table table = {.items = &partition, .count = 1};
    const struct oneib_report_names names = {&cloud, &table, &subnet};
    oneib_report_add_deviations(&names, &verification, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].severity, ONEIB_VIOLATION);
    assert_string_equal(findings.items[0].code, "key-excess");
    assert_non_null(strstr(findings.items[0].text, "0x0000000000100003"));
    assert_non_null(strstr(findings.items[0].text, "found 0x0101 full at index 3"));
    assert_non_null(strstr(findings.items[0].text, "of host \"node3\" \"H1"));
    assert_non_null(strstr(findings.items[0].text, "key of network 7 \"red\""));
    assert_true(oneib_finding_is_about(&findings.items[0], ONEIB_SUBJECT_HOST, 3));
    assert_true(oneib_finding_is_about(&findings.items[0], ONEIB_SUBJECT_NETWORK, 7));
    assert_null(strchr(findings.items[0].text, '\n'));
    oneib_findings_clear(&findings);
}

/* The daemon has written all that `oneib sync` would write. */
static void no_fix_of_a_deviation_names_sync(void **state)
{
    (void)state;
    struct oneib_deviation deviations[ONEIB_DEVIATION_KINDS] = {{0}};
    for (unsigned i = 0; i < ONEIB_DEVIATION_KINDS; i++)
        deviations[i] =
            (struct oneib_deviation){.kind = i, .port_guid = 0x100003, .expected = 0x8101};
    const struct oneib_verification verification = {.items = deviations,
                                                    .count = ONEIB_DEVIATION_KINDS};
    const struct oneib_cloud cloud = {0};
    const struct oneib_partition_table table = {0};
    const struct oneib_subnet subnet = {0};
    const struct oneib_report_names names = {&cloud, &table, &subnet};
    struct oneib_findings findings = {0};
    oneib_report_add_deviations(&names, &verification, &findings);
    assert_int_equal(findings.count, ONEIB_DEVIATION_KINDS);
    for (size_t i = 0; i < findings.count; i++)
        if (strstr(findings.items[i].fix, "oneib sync"))
            fail_msg("%s: %s", findings.items[i].code, findings.items[i].fix);
    oneib_findings_clear(&findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_is_said_once_with_its_fix),
        cmocka_unit_test(what_is_gone_is_said_and_what_stays_is_not),
        cmocka_unit_test(a_new_name_makes_no_finding_new_or_gone),
        cmocka_unit_test(findings_about_two_hosts_are_two_whatever_stands_in_quotes),
        cmocka_unit_test(a_flood_is_cut_and_counted),
        cmocka_unit_test(a_deviation_names_port_node_and_keys),
        cmocka_unit_test(no_fix_of_a_deviation_names_sync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
