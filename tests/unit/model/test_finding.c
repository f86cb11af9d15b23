// SPDX-License-Identifier: Apache-2.0
#include "model/finding.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct oneib_findings *findings, enum oneib_severity severity, const char *code,
                const char *remedy, int vm)
{
    struct oneib_error err;
    assert_int_equal(
        oneib_findings_add(findings, severity, code, remedy, &err, "VM %d: something", vm), 0);
}

static void a_finding_keeps_what_it_was_given(void **state)
{
    (void)state;
    struct oneib_findings findings = {0};
    char remedy[] = "do this";
    add(&findings, ONEIB_WARNING, "port-full", remedy, 42);
    memset(remedy, 'x', sizeof remedy - 1);
    add(&findings, ONEIB_NOTICE, "no-remedy", NULL, 43);

    assert_int_equal(findings.count, 2);
    assert_int_equal(findings.items[0].severity, ONEIB_WARNING);
    assert_string_equal(findings.items[0].code, "port-full");
    assert_string_equal(findings.items[0].text, "VM 42: something");
    assert_string_equal(findings.items[0].remedy, "do this");
    assert_null(findings.items[1].remedy);
    oneib_findings_clear(&findings);
    assert_int_equal(findings.count, 0);
    assert_null(findings.items);
}

static void the_worst_come_first_then_by_code_then_by_text(void **state)
{
    (void)state;
    struct oneib_findings findings = {0};
    add(&findings, ONEIB_NOTICE, "a", NULL, 1);
    add(&findings, ONEIB_WARNING, "b", NULL, 3);
    add(&findings, ONEIB_VIOLATION, "z", NULL, 1);
    add(&findings, ONEIB_WARNING, "b", NULL, 2);
    add(&findings, ONEIB_WARNING, "a", NULL, 9);
    oneib_findings_sort(&findings);

    static const struct {
        const char *code, *text;
    } expected[] = {{"z", "VM 1: something"},
                    {"a", "VM 9: something"},
                    {"b", "VM 2: something"},
                    {"b", "VM 3: something"},
                    {"a", "VM 1: something"}};
    assert_int_equal(findings.count, 5);
    for (size_t i = 0; i < findings.count; i++) {
        assert_string_equal(findings.items[i].code, expected[i].code);
        assert_string_equal(findings.items[i].text, expected[i].text);
    }
    oneib_findings_clear(&findings);
}

static void exact_repetitions_are_dropped(void **state)
{
    (void)state;
    struct oneib_findings findings = {0};
    for (int i = 0; i < 30; i++)
        add(&findings, ONEIB_WARNING, "a", i % 3 ? "r" : NULL, i % 2);
    add(&findings, ONEIB_NOTICE, "a", "r", 0);
    oneib_findings_sort(&findings);
    assert_int_equal(findings.count, 5);

    oneib_findings_sort(&findings);
    assert_int_equal(findings.count, 5);
    oneib_findings_clear(&findings);
}

static void nothing_to_sort_is_no_trouble(void **state)
{
    (void)state;
    struct oneib_findings findings = {0};
    oneib_findings_sort(&findings);
    assert_int_equal(findings.count, 0);
    oneib_findings_clear(&findings);
}

static void findings_are_counted_by_severity(void **state)
{
    (void)state;
    struct oneib_findings findings = {0};
    add(&findings, ONEIB_NOTICE, "a", NULL, 1);
    add(&findings, ONEIB_WARNING, "a", NULL, 1);
    add(&findings, ONEIB_WARNING, "a", NULL, 2);
    add(&findings, ONEIB_VIOLATION, "a", NULL, 1);
    assert_int_equal(oneib_findings_count(&findings, ONEIB_NOTICE), 4);
    assert_int_equal(oneib_findings_count(&findings, ONEIB_WARNING), 3);
    assert_int_equal(oneib_findings_count(&findings, ONEIB_VIOLATION), 1);
    oneib_findings_clear(&findings);
}

static void severities_have_names(void **state)
{
    (void)state;
    assert_string_equal(oneib_severity_name(ONEIB_NOTICE), "notice");
    assert_string_equal(oneib_severity_name(ONEIB_WARNING), "warning");
    assert_string_equal(oneib_severity_name(ONEIB_VIOLATION), "violation");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_keeps_what_it_was_given),
        cmocka_unit_test(the_worst_come_first_then_by_code_then_by_text),
        cmocka_unit_test(exact_repetitions_are_dropped),
        cmocka_unit_test(nothing_to_sort_is_no_trouble),
        cmocka_unit_test(findings_are_counted_by_severity),
        cmocka_unit_test(severities_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
