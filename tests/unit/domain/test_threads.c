// SPDX-License-Identifier: Apache-2.0
/* Which threads of a domain nobody has pinned, and its document without what kept them off. */
#include "base/cleanup.h"
#include "domain/threads.h"
#include "domain/tuning.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEPT(ids)                                                                                  \
    "<metadata><oneib-kept:kept xmlns:oneib-kept='urn:oneib:kept:1' " ids "/></metadata>"
#define PINNED(vcpu, cpus) "<vcpupin vcpu='" vcpu "' cpuset='" cpus "'/>"

static struct oneib_domain_threads threads;
static struct oneib_error err;

static int end(void **state)
{
    (void)state;
    oneib_domain_threads_clear(&threads);
    return 0;
}

static int read_elements(const char *elements)
{
    oneib_autotext struct oneib_text xml = {0};
    oneib_domain_threads_clear(&threads);
    oneib_text_printf(&xml, "<domain type='kvm'><name>one-1</name><uuid>u</uuid>%s</domain>",
                      elements);
    err = (struct oneib_error){0};
    return oneib_domain_threads_read(xml.data, xml.length, &threads, &err);
}

/* "v0 v1! e i2!": kinds and ids; those of the mark with a '!'. */
static void must_be_loose(const char *elements, const char *expected)
{
    static const char kinds[] = {'v', 'e', 'i'};
    oneib_autotext struct oneib_text said = {0};
    if (read_elements(elements) < 0)
        fail_msg("%s", err.text);
    oneib_text_append(&said, "");
    for (size_t i = 0; i < threads.count; i++) {
        const struct oneib_loose_thread *thread = &threads.items[i];
        oneib_text_printf(&said, "%s%c", i ? " " : "", kinds[thread->kind]);
        if (thread->kind != ONEIB_THREAD_EMULATOR)
            oneib_text_printf(&said, "%u", thread->id);
        oneib_text_append(&said, thread->is_kept ? "!" : "");
    }
    assert_string_equal(said.data, expected);
}

static void must_have_pins(const char *expected)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, "");
    oneib_cpu_set_render(&threads.pins, &text);
    assert_string_equal(text.data, expected);
}

static void without_pins_all_threads_are_loose(void **state)
{
    (void)state;
    must_be_loose("", "v0 e");
    must_be_loose("<vcpu>2</vcpu><iothreads>2</iothreads>", "v0 v1 e i1 i2");
    assert_string_equal(threads.name, "one-1");
    assert_string_equal(threads.uuid, "u");
}

static void what_others_have_pinned_is_not(void **state)
{
    (void)state;
    must_be_loose("<vcpu>2</vcpu><iothreads>1</iothreads><cputune>" PINNED("0", "4") PINNED(
                      "1", "5") "<emulatorpin cpuset='6'/><iothreadpin iothread='1' cpuset='7'/>"
                                "</cputune>",
                  "");
    must_have_pins("4-5");
    must_be_loose("<vcpu>2</vcpu><cputune>" PINNED("1", "5") "</cputune>", "v0 e");
    must_have_pins("5");
}

static void a_set_for_all_is_a_pin_for_all(void **state)
{
    (void)state;
    must_be_loose("<vcpu cpuset='2-3'>2</vcpu>", "");
    must_have_pins("2-3");
}

static void what_is_not_plugged_in_has_no_thread(void **state)
{
    (void)state;
    must_be_loose("<vcpu current='1'>4</vcpu>", "v0 e");
    must_be_loose("<vcpu current='2'>3</vcpu><vcpus><vcpu id='0' enabled='yes'/><vcpu id='1' "
                  "enabled='no'/><vcpu id='2' enabled='yes'/></vcpus>",
                  "v0 v2 e");
    must_be_loose("<iothreads>1</iothreads><iothreadids><iothread id='7'/></iothreadids>",
                  "v0 e i7");
}

static void must_reach(const char *expected)
{
    struct oneib_cpu_set floating;
    oneib_autotext struct oneib_text text = {0};
    assert_true(oneib_cpu_set_parse("0-7", &floating));
    const struct oneib_cpu_set reach = oneib_domain_reach(&threads, &floating);
    oneib_text_append(&text, "");
    oneib_cpu_set_render(&reach, &text);
    assert_string_equal(text.data, expected);
}

static void its_virtual_cores_alone_reach_somewhere(void **state)
{
    (void)state;
    must_be_loose("<vcpu>2</vcpu><cputune>" PINNED("0", "4") "</cputune>", "v1 e");
    must_reach("0-7");
    must_be_loose("<vcpu>1</vcpu><cputune>" PINNED("0", "4") "</cputune>", "e");
    must_reach("");
    must_be_loose("<vcpu>2</vcpu>" KEPT("vcpus='0-1'") "<cputune>" PINNED("0", "2")
                      PINNED("1", "3") "</cputune>",
                  "v0! v1! e");
    must_reach("2-3");
}

static void a_pin_of_the_mark_is_none(void **state)
{
    (void)state;
    must_be_loose("<vcpu>2</vcpu>" KEPT("vcpus='0' emulator='yes'") "<cputune>" PINNED("0", "4")
                      PINNED("1", "5") "<emulatorpin cpuset='6'/></cputune>",
                  "v0! e!");
    must_have_pins("5");
    assert_string_equal(threads.items[0].cpus, "4");
    assert_string_equal(threads.items[1].cpus, "6");
}

/* What is pinned decides whose cores are taken. */
static void a_kept_domain_takes_no_cores(void **state)
{
    (void)state;
    static const char xml[] =
        "<domain><vcpu>2</vcpu>" KEPT("vcpus='0'") "<cputune>" PINNED("0", "4")
            PINNED("1", "5") "</cputune></domain>";
    struct oneib_cpu_set pins;
    oneib_autofree char *name = NULL;
    assert_int_equal(oneib_domain_pins_read(xml, strlen(xml), &name, &pins, &err), 0);
    assert_false(oneib_cpu_set_has(&pins, 4));
    assert_true(oneib_cpu_set_has(&pins, 5));
}

static void marks_of_others_are_none_of_ours(void **state)
{
    (void)state;
    must_be_loose("<metadata><kept vcpus='0'/><x:kept xmlns:x='urn:x' vcpus='0'/></metadata>"
                  "<cputune>" PINNED("0", "4") "</cputune>",
                  "e");
    must_be_loose(KEPT("vcpus='0-99999' iothreads='x'") "<cputune>" PINNED("0", "4") "</cputune>",
                  "e");
}

static void the_mark_names_all_that_it_did(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text mark = {0};
    must_be_loose("<vcpu>3</vcpu><iothreads>1</iothreads>" KEPT("vcpus='1,7'") "<cputune>" PINNED(
                      "2", "4") "</cputune>",
                  "v0 v1! e i1");
    assert_false(oneib_domain_is_marked(&threads));
    oneib_domain_mark_render(&threads, &mark);
    assert_string_equal(mark.data, "<kept vcpus='0-1,7' iothreads='1' emulator='yes'/>");
    must_be_loose("<cputune><emulatorpin cpuset='1'/></cputune>" KEPT("vcpus='0'"), "v0!");
    assert_true(oneib_domain_is_marked(&threads));
}

static void has_hpc_by_its_mark_alone(void **state)
{
    (void)state;
    assert_int_equal(read_elements("<cputune>" PINNED("0", "4") "</cputune>"), 0);
    assert_false(threads.has_hpc);
    assert_int_equal(read_elements("<metadata><o:tuning xmlns:o='urn:oneib:domain:1' hpc='yes'/>"
                                   "</metadata>"),
                     0);
    assert_true(threads.has_hpc);
}

static void what_cannot_be_read_is_refused(void **state)
{
    (void)state;
    static const char *const elements[] = {
        "<vcpu>many</vcpu>",
        "<vcpu>8193</vcpu>",
        "<vcpu current='-1'>2</vcpu>",
        "<vcpus><vcpu enabled='yes'/></vcpus>",
        "<iothreads>8193</iothreads>",
        "<iothreads>1</iothreads><iothreadids><iothread id='x'/></iothreadids>",
        "<cputune><vcpupin vcpu='0'/></cputune>",
        "<cputune>" PINNED("0", "9000") "</cputune>",
        KEPT("vcpus='0'") "<cputune>" PINNED("0", "x") "</cputune>",
        "<vcpu cpuset='x'>1</vcpu>",
    };
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        if (read_elements(elements[i]) == 0)
            fail_msg("%s was read", elements[i]);
        assert_int_equal(err.code, ONEIB_ERROR_INPUT);
        assert_int_equal(threads.count, 0);
    }
}

static void freed_it_is_as_if_it_had_never_been_kept_off(void **state)
{
    (void)state;
    static const char kept[] = "<domain><name>x</name><vcpu>2</vcpu>" KEPT(
        "vcpus='0' emulator='yes' iothreads='1'") "<cputune>" PINNED("0", "4")
        PINNED("1", "5") "<emulatorpin cpuset='4'/>"
                         "<iothreadpin iothread='1' cpuset='4'/><iothreadpin "
                         "iothread='2' cpuset='6'/></cputune></domain>";
    oneib_autotext struct oneib_text freed = {0}, again = {0};
    assert_int_equal(oneib_domain_free_threads(kept, strlen(kept), &freed, &err), 0);
    assert_string_equal(freed.data,
                        "<domain><name>x</name><vcpu>2</vcpu><metadata/><cputune><vcpupin "
                        "vcpu='1' cpuset='5'/><iothreadpin iothread='2' cpuset='6'/></cputune>"
                        "</domain>\n");
    assert_int_equal(oneib_domain_free_threads(freed.data, freed.length, &again, &err), 0);
    assert_int_equal(again.length, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_teardown(name, end)
    const struct CMUnitTest tests[] = {
        CASE(without_pins_all_threads_are_loose),
        CASE(what_others_have_pinned_is_not),
        CASE(a_set_for_all_is_a_pin_for_all),
        CASE(what_is_not_plugged_in_has_no_thread),
        CASE(its_virtual_cores_alone_reach_somewhere),
        CASE(a_pin_of_the_mark_is_none),
        CASE(a_kept_domain_takes_no_cores),
        CASE(marks_of_others_are_none_of_ours),
        CASE(the_mark_names_all_that_it_did),
        CASE(has_hpc_by_its_mark_alone),
        CASE(what_cannot_be_read_is_refused),
        CASE(freed_it_is_as_if_it_had_never_been_kept_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
