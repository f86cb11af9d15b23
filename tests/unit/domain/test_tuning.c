// SPDX-License-Identifier: Apache-2.0
/* Documents with more tuning, with other tuning, and what libvirt makes of them. */
#include "tuning_scene.h"
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

/* Everything, with core n of node 1 for each of `count` virtual ones, from `first` on. */
static struct oneib_tuning all_of(uint32_t count, uint32_t first)
{
    struct oneib_tuning tuning = {.pin = true,
                                  .bind_memory = true,
                                  .node = 1,
                                  .page_kib = 2048,
                                  .host_cpu = true,
                                  .lock = true,
                                  .mark = true};
    for (uint32_t i = 0; i < count; i++) {
        tuning.cores.vcpus[tuning.cores.count++] = first + i;
        oneib_cpu_set_add(&tuning.cores.threads, first + i);
        oneib_cpu_set_add(&tuning.cores.threads, first + i + 8);
    }
    return tuning;
}

static char *tune(const char *xml, const struct oneib_tuning *tuning)
{
    struct oneib_text tuned = {0};
    if (oneib_domain_tune(xml, strlen(xml), tuning, &tuned, &err) < 0)
        fail_msg("%s", err.text);
    return tuned.data;
}

/* Both are freed. */
static void assert_same(char *xml, char *wanted)
{
    char *one = canonical(xml, strlen(xml)), *other = canonical(wanted, strlen(wanted));
    assert_string_equal(one, other);
    free(one);
    free(other);
    free(xml);
    free(wanted);
}

static char *without(char *xml, const char *part)
{
    return with_replaced(xml, part, "");
}

static void assert_has(const char *xml, const char *part)
{
    if (!strstr(xml, part))
        fail_msg("%s is not in %s", part, xml);
}

#define MARK_BEGIN "<oneib:tuning xmlns:oneib='urn:oneib:domain:1'"

static void a_recorded_document_gets_all_of_it_and_nothing_else_changes(void **state)
{
    (void)state;
    const struct oneib_tuning tuning = all_of(1, 4);
    for (size_t i = 0; recorded_deploys[i]; i++) {
        char *xml = recorded_deploy(recorded_deploys[i]);
        char *tuned = tune(xml, &tuning);
        tuned = without(tuned, "<vcpupin vcpu='0' cpuset='4'/><emulatorpin cpuset='4,12'/>");
        tuned = without(tuned, "<cpu mode='host-passthrough'/>");
        tuned = without(tuned, "<numatune><memory mode='strict' nodeset='1'/></numatune>");
        tuned = without(tuned, "<memoryBacking><hugepages><page size='2048' unit='KiB'/>"
                               "</hugepages><locked/></memoryBacking>");
        tuned = without(tuned, MARK_BEGIN " hpc='yes' pins='yes' emulator='yes' memory='yes' "
                                          "pages='yes' locked='yes'/>");
        assert_same(tuned, xml);
    }
}

static void only_what_is_asked_for_is_given(void **state)
{
    (void)state;
    const struct oneib_tuning nothing = {0}, lock = {.lock = true};
    for (size_t i = 0; recorded_deploys[i]; i++) {
        char *xml = recorded_deploy(recorded_deploys[i]);
        assert_same(tune(xml, &nothing), strdup(xml));
        assert_same(without(tune(xml, &lock), "<memoryBacking><locked/></memoryBacking>"), xml);
    }
}

static void each_virtual_core_gets_its_cpu(void **state)
{
    (void)state;
    const struct oneib_tuning tuning = all_of(3, 4);
    char *xml = recorded_deploy(RECORDED), *tuned = tune(xml, &tuning);
    assert_has(tuned, "<vcpupin vcpu='0' cpuset='4'/><vcpupin vcpu='1' cpuset='5'/>"
                      "<vcpupin vcpu='2' cpuset='6'/><emulatorpin cpuset='4-6,12-14'/>");
    free(xml);
    free(tuned);
}

static void a_document_with_topology_keeps_it_and_gets_the_rest(void **state)
{
    (void)state;
    const struct oneib_tuning tuning = {.host_cpu = true, .lock = true};
    char *xml = with_topology(), *tuned = tune(xml, &tuning);
    tuned = with_replaced(tuned, "<cpu mode='host-passthrough'>", "<cpu>");
    assert_same(without(tuned, "<locked/>"), xml);
}

static void emulator_cpus_that_the_host_sets_aside_stay(void **state)
{
    (void)state;
    const struct oneib_tuning tuning = all_of(1, 4), nothing = {0};
    char *xml = recorded_with("", "<emulatorpin cpuset='0,8'/>"), *tuned = tune(xml, &tuning);
    assert_has(tuned, "<emulatorpin cpuset='0,8'/>");
    assert_null(strstr(tuned, "<emulatorpin cpuset=\"4"));
    assert_null(strstr(tuned, "emulator='yes'"));
    char *again = tune(tuned, &nothing);
    assert_has(again, "<emulatorpin cpuset='0,8'/>");
    free(xml);
    free(tuned);
    free(again);
}

static void an_empty_numa_tuning_is_filled(void **state)
{
    (void)state;
    const struct oneib_tuning tuning = all_of(1, 4);
    char *xml = recorded_with("<numatune>\n\t</numatune>\n", ""), *tuned = tune(xml, &tuning);
    assert_has(tuned, "<numatune>\n\t<memory mode='strict' nodeset='1'/></numatune>");
    free(xml);
    free(tuned);
}

static void shared_memory_for_a_file_system_stays(void **state)
{
    (void)state;
    static const char backing[] = "\t<memoryBacking>\n\t\t<source type='memfd'/>\n"
                                  "\t\t<access mode='shared'/>\n\t</memoryBacking>\n";
    const struct oneib_tuning tuning = {.lock = true, .page_kib = 2048};
    char *xml = recorded_with(backing, ""), *tuned = tune(xml, &tuning);
    tuned = without(tuned, "<hugepages><page size='2048' unit='KiB'/></hugepages><locked/>");
    assert_same(tuned, xml);
}

static void memory_that_is_locked_is_not_locked_twice(void **state)
{
    (void)state;
    const struct oneib_tuning tuning = {.lock = true};
    char *xml = recorded_with("<memoryBacking><locked/></memoryBacking>\n", "");
    assert_same(tune(xml, &tuning), xml);
}

static void a_document_without_anything_gets_it(void **state)
{
    (void)state;
    const struct oneib_tuning tuning = all_of(1, 4), nothing = {0};
    char *xml = domain_of("<memory>1024</memory>"), *tuned = tune(xml, &tuning);
    assert_has(tuned, "<cputune><vcpupin");
    assert_has(tuned, "<metadata>" MARK_BEGIN);
    char *bare = without(tune(tuned, &nothing), "<cpu mode='host-passthrough'/>");
    assert_same(bare, xml);
    free(tuned);
}

/* ---- tuning again ---------------------------------------------------------------------------- */

static char *plain(void)
{
    return recorded_deploy(RECORDED);
}

static char *with_shared_memory(void)
{
    return recorded_with("<memoryBacking>\n<access mode='shared'/>\n</memoryBacking>\n", "");
}

static char *with_unplaced_nodes(void)
{
    return recorded_with(TOPOLOGY_CPU "<numatune>\n</numatune>\n", "");
}

static char *with_nothing(void)
{
    return domain_of("<memory>1024</memory>");
}

static char *(*const originals[])(void) = {plain, with_shared_memory, with_unplaced_nodes,
                                           with_nothing};

static void tuning_what_is_tuned_is_tuning_the_original(void **state)
{
    (void)state;
    struct oneib_tuning here = all_of(2, 4), there = all_of(2, 1), small = all_of(2, 2);
    there.node = 0;
    small.page_kib = 0;
    const struct oneib_tuning *const tunings[] = {&here, &there, &small};
    for (size_t i = 0; i < COUNT(originals); i++)
        for (size_t first = 0; first < COUNT(tunings); first++)
            for (size_t second = 0; second < COUNT(tunings); second++) {
                char *xml = originals[i](), *once = tune(xml, tunings[first]);
                assert_same(tune(once, tunings[second]), tune(xml, tunings[second]));
                free(xml);
                free(once);
            }
}

static void what_was_given_is_taken_back_when_nothing_is_asked_for(void **state)
{
    (void)state;
    struct oneib_tuning tuning = all_of(2, 4);
    const struct oneib_tuning nothing = {0};
    tuning.host_cpu = false;
    for (size_t i = 0; i < COUNT(originals); i++) {
        char *xml = originals[i](), *tuned = tune(xml, &tuning);
        assert_same(tune(tuned, &nothing), xml);
        free(tuned);
    }
}

static void of_a_tuned_document_only_the_original_is_the_demand(void **state)
{
    (void)state;
    const struct oneib_tuning tuning = all_of(1, 4);
    char *xml = recorded_deploy(RECORDED);
    read_demand(tune(xml, &tuning));
    assert_true(demand.tuned && demand.has_cpu_model);
    assert_false(demand.pinned || demand.has_numatune || demand.has_hugepages || demand.locked);
    free(xml);
}

static void what_others_gave_is_not_taken_back(void **state)
{
    (void)state;
    struct oneib_tuning tuning = {.bind_memory = true, .lock = true, .mark = true};
    const struct oneib_tuning nothing = {0};
    char *xml = recorded_with(TOPOLOGY_PAGES, TOPOLOGY_PINS), *tuned = tune(xml, &tuning);
    read_demand(strdup(tuned));
    assert_true(demand.tuned && demand.pinned && demand.has_hugepages);
    assert_same(tune(tuned, &nothing), xml);
    free(tuned);
}

#define MARK "<tuning xmlns='urn:oneib:domain:1' pages='yes'/>"

/* A user may write anything into metadata; the worst is that their own tuning is taken away. */
static void a_mark_that_is_not_oneibs_does_no_harm(void **state)
{
    (void)state;
    static const char *const marks[] = {
        "<metadata><oneib:tuning xmlns:oneib='urn:oneib:domain:1' pins='no' memory=''/></metadata>",
        "<metadata><tuning xmlns='urn:oneib:domain:1'>text<b/></tuning></metadata>",
        "<metadata><tuning xmlns='urn:oneib:domain:1' pins='yes'/></metadata><metadata/>",
        "<metadata>" MARK MARK "</metadata>",
    };
    const struct oneib_tuning tuning = all_of(1, 4);
    for (size_t i = 0; i < COUNT(marks); i++) {
        char *elements, *plain_text = domain_of("<memory>1024</memory>");
        assert_true(asprintf(&elements, "<memory>1024</memory>%s", marks[i]) > 0);
        char *xml = domain_of(elements);
        assert_same(tune(xml, &tuning), tune(plain_text, &tuning));
        free(elements);
        free(xml);
        free(plain_text);
    }
}

static void a_mark_of_another_namespace_is_nobodys(void **state)
{
    (void)state;
    const struct oneib_tuning nothing = {0};
    char *xml = domain_of("<memory>1024</memory><cputune><vcpupin vcpu='0' cpuset='1'/></cputune>"
                          "<metadata><tuning pins='yes'/><o:tuning xmlns:o='urn:other' "
                          "pins='yes'/></metadata>");
    read_demand(strdup(xml));
    assert_true(demand.pinned);
    assert_false(demand.tuned);
    assert_same(tune(xml, &nothing), xml);
}

static void a_document_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "<domain>", "<vm/>", "<!DOCTYPE domain><domain/>"};
    const struct oneib_tuning tuning = all_of(1, 4);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct oneib_text tuned = {0};
        char *name;
        struct oneib_cpu_set pins;
        assert_int_equal(oneib_domain_tune(wrong[i], strlen(wrong[i]), &tuning, &tuned, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_INPUT);
        assert_int_equal(tuned.length, 0);
        assert_int_equal(oneib_domain_demand_read(wrong[i], strlen(wrong[i]), &demand, &err), -1);
        assert_int_equal(oneib_domain_pins_read(wrong[i], strlen(wrong[i]), &name, &pins, &err),
                         -1);
    }
}

/* ---- libvirt --------------------------------------------------------------------------------- */

static void keep_quiet(void *data, virErrorPtr error)
{
    (void)data;
    (void)error;
}

/* The document as libvirt writes it again. */
static char *through_libvirt(const char *xml)
{
    virSetErrorFunc(NULL, keep_quiet);
    virConnect *connection = virConnectOpen("test:///default");
    assert_non_null(connection);
    virDomain *domain = virDomainDefineXML(connection, xml);
    if (!domain)
        fail_msg("libvirt: %s", virGetLastErrorMessage());
    char *text = virDomainGetXMLDesc(domain, 0);
    assert_non_null(text);
    virDomainFree(domain);
    virConnectClose(connection);
    return text;
}

static void libvirt_takes_a_tuned_document_and_keeps_all_of_it(void **state)
{
    (void)state;
    const struct oneib_tuning tuning = all_of(1, 4);
    for (size_t i = 0; recorded_deploys[i]; i++) {
        char *xml = recorded_deploy(recorded_deploys[i]), *tuned = tune(xml, &tuning);
        char *written = through_libvirt(tuned);
        assert_has(written, "<vcpupin vcpu='0' cpuset='4'/>");
        assert_has(written, "<emulatorpin cpuset='4,12'/>");
        assert_has(written, "<memory mode='strict' nodeset='1'/>");
        assert_has(written, "<page size='2048' unit='KiB'/>");
        assert_has(written, "<locked/>");
        assert_has(written, "<cpu mode='host-passthrough'");
        assert_has(written, "urn:oneib:domain:1");
        assert_has(written, "http://opennebula.org/xmlns/libvirt/1.0");
        free(xml);
        free(tuned);
        free(written);
    }
}

static void what_libvirt_wrote_is_tuned_anew(void **state)
{
    (void)state;
    struct oneib_tuning here = all_of(1, 4), there = all_of(1, 2);
    there.node = 0;
    there.page_kib = 0;
    there.host_cpu = false;
    char *xml = recorded_deploy(RECORDED), *tuned = tune(xml, &here);
    char *saved = through_libvirt(tuned);
    read_demand(strdup(saved));
    assert_true(demand.tuned && demand.has_cpu_model);
    assert_false(demand.pinned || demand.has_numatune || demand.has_hugepages || demand.locked);
    char *again = tune(saved, &there), *written = through_libvirt(again);
    assert_has(written, "<vcpupin vcpu='0' cpuset='2'/>");
    assert_has(written, "<emulatorpin cpuset='2,10'/>");
    assert_has(written, "<memory mode='strict' nodeset='0'/>");
    assert_has(written, "<locked/>");
    assert_has(written, "<cpu mode='host-passthrough'");
    assert_null(strstr(written, "hugepages"));
    assert_null(strstr(written, "cpuset='4"));
    free(xml);
    free(tuned);
    free(saved);
    free(again);
    free(written);
}

static void libvirt_takes_a_document_with_topology(void **state)
{
    (void)state;
    const struct oneib_tuning tuning = {.host_cpu = true, .lock = true};
    char *xml = with_topology(), *tuned = tune(xml, &tuning), *written = through_libvirt(tuned);
    assert_has(written, "<vcpupin vcpu='1' cpuset='5'/>");
    assert_has(written, "<topology sockets='1'");
    assert_has(written, "<locked/>");
    free(xml);
    free(tuned);
    free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_document_gets_all_of_it_and_nothing_else_changes),
        cmocka_unit_test(only_what_is_asked_for_is_given),
        cmocka_unit_test(each_virtual_core_gets_its_cpu),
        cmocka_unit_test(a_document_with_topology_keeps_it_and_gets_the_rest),
        cmocka_unit_test(emulator_cpus_that_the_host_sets_aside_stay),
        cmocka_unit_test(an_empty_numa_tuning_is_filled),
        cmocka_unit_test(shared_memory_for_a_file_system_stays),
        cmocka_unit_test(memory_that_is_locked_is_not_locked_twice),
        cmocka_unit_test(a_document_without_anything_gets_it),
        cmocka_unit_test(tuning_what_is_tuned_is_tuning_the_original),
        cmocka_unit_test(what_was_given_is_taken_back_when_nothing_is_asked_for),
        cmocka_unit_test(of_a_tuned_document_only_the_original_is_the_demand),
        cmocka_unit_test(what_others_gave_is_not_taken_back),
        cmocka_unit_test(a_mark_that_is_not_oneibs_does_no_harm),
        cmocka_unit_test(a_mark_of_another_namespace_is_nobodys),
        cmocka_unit_test(a_document_that_cannot_be_read_is_refused),
        cmocka_unit_test(libvirt_takes_a_tuned_document_and_keeps_all_of_it),
        cmocka_unit_test(what_libvirt_wrote_is_tuned_anew),
        cmocka_unit_test(libvirt_takes_a_document_with_topology),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
