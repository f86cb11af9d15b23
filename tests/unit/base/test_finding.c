// SPDX-License-Identifier: Apache-2.0
#include "base/finding.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct oneib_findings *findings, enum oneib_severity severity,
                enum oneib_finding_id id, const char *fix, int vm)
{
    oneib_findings_note_with(findings, id, severity, fix, "VM %d: something", vm);
}

static void a_finding_keeps_what_it_was_given(void **state)
{
    (void)state;
    struct oneib_findings findings = {0};
    char fix[] = "do this";
    add(&findings, ONEIB_WARNING, ONEIB_FINDING_PORT_FULL, fix, 42);
    memset(fix, 'x', sizeof fix - 1);
    add(&findings, ONEIB_NOTICE, ONEIB_FINDING_NAME_INVALID, NULL, 43);

    assert_int_equal(findings.count, 2);
    assert_int_equal(findings.items[0].severity, ONEIB_WARNING);
    assert_string_equal(findings.items[0].code, "port-full");
    assert_string_equal(findings.items[0].text, "VM 42: something");
    assert_string_equal(findings.items[0].fix, "do this");
    assert_null(findings.items[1].fix);
    oneib_findings_clear(&findings);
    assert_int_equal(findings.count, 0);
    assert_null(findings.items);
}

static void the_worst_come_first_then_by_code_then_by_text(void **state)
{
    (void)state;
    struct oneib_findings findings = {0};
    add(&findings, ONEIB_NOTICE, ONEIB_FINDING_ACCESS_REMOVED, NULL, 1);
    add(&findings, ONEIB_WARNING, ONEIB_FINDING_HOST_GONE, NULL, 3);
    add(&findings, ONEIB_VIOLATION, ONEIB_FINDING_RESERVATION_NEEDS_KEY, NULL, 1);
    add(&findings, ONEIB_WARNING, ONEIB_FINDING_HOST_GONE, NULL, 2);
    add(&findings, ONEIB_WARNING, ONEIB_FINDING_ACCESS_REMOVED, NULL, 9);
    oneib_findings_sort(&findings);

    static const struct {
        const char *code, *text;
    } expected[] = {{"reservation-needs-key", "VM 1: something"},
                    {"access-removed", "VM 9: something"},
                    {"host-gone", "VM 2: something"},
                    {"host-gone", "VM 3: something"},
                    {"access-removed", "VM 1: something"}};
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
        add(&findings, ONEIB_WARNING, ONEIB_FINDING_ACCESS_REMOVED, i % 3 ? "r" : NULL, i % 2);
    add(&findings, ONEIB_NOTICE, ONEIB_FINDING_ACCESS_REMOVED, "r", 0);
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
    add(&findings, ONEIB_NOTICE, ONEIB_FINDING_ACCESS_REMOVED, NULL, 1);
    add(&findings, ONEIB_WARNING, ONEIB_FINDING_ACCESS_REMOVED, NULL, 1);
    add(&findings, ONEIB_WARNING, ONEIB_FINDING_ACCESS_REMOVED, NULL, 2);
    add(&findings, ONEIB_VIOLATION, ONEIB_FINDING_ACCESS_REMOVED, NULL, 1);
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

static void findings_are_attributed_from_an_index_on(void **state)
{
    (void)state;
    struct oneib_findings findings = {0};
    add(&findings, ONEIB_NOTICE, ONEIB_FINDING_ACCESS_REMOVED, NULL, 1);
    add(&findings, ONEIB_NOTICE, ONEIB_FINDING_ACCESS_REMOVED, NULL, 2);
    add(&findings, ONEIB_NOTICE, ONEIB_FINDING_HOST_GONE, NULL, 2);
    oneib_findings_attribute(&findings, 1, ONEIB_SUBJECT_VM, 2);
    assert_int_equal(findings.items[0].subject, ONEIB_SUBJECT_NONE);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(findings.items[i].subject, ONEIB_SUBJECT_VM);
        assert_int_equal(findings.items[i].subject_id, 2);
    }
    oneib_findings_clear(&findings);
}

static void only_findings_about_the_named_objects_of_the_kind_are_forgotten(void **state)
{
    (void)state;
    static const uint32_t ids[] = {2, 7};
    static const struct {
        enum oneib_subject subject;
        uint32_t id;
    } about[] = {{ONEIB_SUBJECT_VM, 2},      {ONEIB_SUBJECT_VM, 3},   {ONEIB_SUBJECT_VM, 7},
                 {ONEIB_SUBJECT_NETWORK, 2}, {ONEIB_SUBJECT_HOST, 7}, {ONEIB_SUBJECT_NONE, 2}};
    struct oneib_findings findings = {0};
    for (int i = 0; i < 6; i++) {
        add(&findings, ONEIB_NOTICE, ONEIB_FINDING_ACCESS_REMOVED, "fix", i);
        oneib_findings_attribute(&findings, (size_t)i, about[i].subject, about[i].id);
    }
    oneib_findings_forget(&findings, ONEIB_SUBJECT_VM, ids, 2);
    assert_int_equal(findings.count, 4);
    assert_string_equal(findings.items[0].text, "VM 1: something");
    assert_string_equal(findings.items[1].text, "VM 3: something");
    assert_string_equal(findings.items[2].text, "VM 4: something");
    assert_string_equal(findings.items[3].text, "VM 5: something");
    oneib_findings_forget(&findings, ONEIB_SUBJECT_VM, NULL, 0);
    assert_int_equal(findings.count, 4);
    oneib_findings_clear(&findings);
}

static void findings_are_dropped_from_the_end(void **state)
{
    (void)state;
    struct oneib_findings findings = {0};
    for (int i = 0; i < 4; i++)
        add(&findings, ONEIB_NOTICE, ONEIB_FINDING_ACCESS_REMOVED, "fix", i);
    oneib_findings_truncate(&findings, 9);
    assert_int_equal(findings.count, 4);
    oneib_findings_truncate(&findings, 1);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].text, "VM 0: something");
    oneib_findings_clear(&findings);
}

static void a_finding_is_about_what_was_mentioned_before_it(void **state)
{
    (void)state;
    struct oneib_findings findings = {0}, copy = {0};
    oneib_findings_mention(&findings, ONEIB_SUBJECT_NETWORK, 7);
    oneib_findings_mention(&findings, ONEIB_SUBJECT_HOST, 3);
    add(&findings, ONEIB_WARNING, ONEIB_FINDING_ACCESS_REMOVED, NULL, 1);
    add(&findings, ONEIB_WARNING, ONEIB_FINDING_HOST_GONE, NULL, 2);
    oneib_findings_attribute(&findings, 1, ONEIB_SUBJECT_VM, 2);
    oneib_findings_copy(&findings, 0, &copy);
    oneib_findings_clear(&findings);
    oneib_findings_sort(&copy);

    assert_true(oneib_finding_is_about(&copy.items[0], ONEIB_SUBJECT_NETWORK, 7));
    assert_true(oneib_finding_is_about(&copy.items[0], ONEIB_SUBJECT_HOST, 3));
    assert_false(oneib_finding_is_about(&copy.items[0], ONEIB_SUBJECT_HOST, 7));
    assert_false(oneib_finding_is_about(&copy.items[0], ONEIB_SUBJECT_VM, 2));
    assert_true(oneib_finding_is_about(&copy.items[1], ONEIB_SUBJECT_VM, 2));
    assert_false(oneib_finding_is_about(&copy.items[1], ONEIB_SUBJECT_NETWORK, 7));
    oneib_findings_clear(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finding_is_about_what_was_mentioned_before_it),
        cmocka_unit_test(a_finding_keeps_what_it_was_given),
        cmocka_unit_test(the_worst_come_first_then_by_code_then_by_text),
        cmocka_unit_test(exact_repetitions_are_dropped),
        cmocka_unit_test(nothing_to_sort_is_no_trouble),
        cmocka_unit_test(findings_are_counted_by_severity),
        cmocka_unit_test(severities_have_names),
        cmocka_unit_test(findings_are_attributed_from_an_index_on),
        cmocka_unit_test(only_findings_about_the_named_objects_of_the_kind_are_forgotten),
        cmocka_unit_test(findings_are_dropped_from_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
