// SPDX-License-Identifier: Apache-2.0
/* What a document asks of cores and memory. */
#include "tuning_scene.h"

static void assert_cpus(const struct oneib_cpu_set *cpus, const char *wanted)
{
    struct oneib_text text = {0};
    oneib_text_append(&text, "");
    oneib_cpu_set_render(cpus, &text);
    assert_string_equal(text.data, wanted);
    oneib_text_clear(&text);
}

static void a_plain_document_asks_for_cores_and_memory_only(void **state)
{
    (void)state;
    for (size_t i = 0; recorded_deploys[i]; i++) {
        read_demand(recorded_deploy(recorded_deploys[i]));
        assert_int_equal(demand.vcpus, 1);
        assert_int_equal(demand.memory_kib, 98304);
        assert_int_equal(demand.part_kib, 98304);
        assert_false(demand.pinned || demand.has_numatune || demand.has_hugepages);
        assert_false(demand.has_cpu_model || demand.locked || demand.tuned);
        assert_true(demand.has_kvm);
    }
}

static void the_most_virtual_cores_count_not_those_of_now(void **state)
{
    (void)state;
    read_demand(domain_of("<vcpu current=\"2\"><![CDATA[4]]></vcpu><memory>1024</memory>"));
    assert_int_equal(demand.vcpus, 4);
    read_demand(domain_of("<vcpu>\n  3 </vcpu><memory> 1024\n</memory>"));
    assert_int_equal(demand.vcpus, 3);
    read_demand(domain_of("<memory>1024</memory>"));
    assert_int_equal(demand.vcpus, 1);
}

static void memory_is_read_in_each_of_libvirts_units(void **state)
{
    (void)state;
    static const struct {
        const char *element;
        uint64_t kib;
    } sizes[] = {
        {"<memory>1048576</memory>", 1048576},
        {"<memory unit='KiB'>1048576</memory>", 1048576},
        {"<memory unit='k'>12</memory>", 12},
        {"<memory unit='KB'>1024</memory>", 1000},
        {"<memory unit='b'>1025</memory>", 2},
        {"<memory unit='bytes'>1024</memory>", 1},
        {"<memory unit='M'>3</memory>", 3072},
        {"<memory unit='MiB'>3</memory>", 3072},
        {"<memory unit='mb'>1</memory>", 977},
        {"<memory unit='GiB'>2</memory>", 2097152},
        {"<memory unit='T'>1</memory>", 1073741824},
        {"<memory unit='PiB'>1</memory>", UINT64_C(1) << 40},
        {"<memory unit='E'>1</memory>", UINT64_C(1) << 50},
        {"<memory dumpCore='off'><![CDATA[1024]]></memory>", 1024},
    };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        read_demand(domain_of(sizes[i].element));
        assert_int_equal(demand.memory_kib, sizes[i].kib);
    }
}

static void memory_is_what_it_can_grow_to(void **state)
{
    (void)state;
    read_demand(domain_of("<memory>1024</memory><maxMemory slots='2'>4096</maxMemory>"));
    assert_int_equal(demand.memory_kib, 4096);
    assert_int_equal(demand.part_kib, 1024);
    read_demand(domain_of("<memory>4096</memory><currentMemory>1024</currentMemory>"));
    assert_int_equal(demand.memory_kib, 4096);
    assert_int_equal(demand.part_kib, 4096);
}

static void every_piece_of_memory_counts_for_its_pages(void **state)
{
    (void)state;
    read_demand(domain_of("<memory>8192</memory><cpu><numa><cell id='0' memory='6144'/>"
                          "<cell id='1' memory='2' unit='MiB'/></numa></cpu>"));
    assert_int_equal(demand.memory_kib, 8192);
    assert_int_equal(demand.part_kib, 2048);
    read_demand(
        domain_of("<memory>1024</memory><cpu><numa><cell id='0' memory='3000'/></numa></cpu>"));
    assert_int_equal(demand.memory_kib, 3000);
    read_demand(domain_of("<memory>8192</memory><maxMemory>16384</maxMemory><devices><memory "
                          "model='dimm'><target><size unit='KiB'>1536</size></target></memory>"
                          "</devices>"));
    assert_int_equal(demand.memory_kib, 16384);
    assert_int_equal(demand.part_kib, 512);
}

static void what_topology_gave_is_seen(void **state)
{
    (void)state;
    read_demand(with_topology());
    assert_int_equal(demand.vcpus, 2);
    assert_true(demand.pinned && demand.has_numatune && demand.has_hugepages);
    assert_false(demand.has_cpu_model || demand.locked || demand.tuned);
    assert_cpus(&demand.pins, "4-5");
}

static void pins_that_are_shared_count_all(void **state)
{
    (void)state;
    read_demand(recorded_with("", "<vcpupin vcpu='0' cpuset='0-3,^1'/><vcpupin vcpu='1' "
                                  "cpuset='9'/>"));
    assert_cpus(&demand.pins, "0,2-3,9");
}

/* oned writes one for virtual nodes that it has not placed. */
static void an_empty_numa_tuning_is_none(void **state)
{
    (void)state;
    read_demand(recorded_with("<numatune>\n\t</numatune>\n", ""));
    assert_false(demand.has_numatune);
    read_demand(recorded_with("<numatune><memnode cellid='0' nodeset='0'/></numatune>\n", ""));
    assert_true(demand.has_numatune);
}

static void a_cpu_with_a_topology_alone_has_no_model(void **state)
{
    (void)state;
    read_demand(recorded_with(TOPOLOGY_CPU, ""));
    assert_false(demand.has_cpu_model);
    read_demand(recorded_with("<cpu mode='host-model'/>", ""));
    assert_true(demand.has_cpu_model);
    read_demand(recorded_with("<cpu><model>Skylake-Server</model></cpu>", ""));
    assert_true(demand.has_cpu_model);
}

static void a_domain_without_kvm_is_seen(void **state)
{
    (void)state;
    char *xml =
        with_replaced(recorded_deploy(RECORDED), "<domain type='kvm'", "<domain type='qemu'");
    read_demand(xml);
    assert_false(demand.has_kvm);
}

static void memory_that_is_locked_is_seen(void **state)
{
    (void)state;
    read_demand(recorded_with("<memoryBacking><locked/></memoryBacking>", ""));
    assert_true(demand.locked);
    assert_false(demand.has_hugepages);
}

static void a_document_that_does_not_say_it_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "<vcpu>2</vcpu>",
        "<memory/>",
        "<memory>0</memory>",
        "<memory>many</memory>",
        "<memory>-1</memory>",
        "<memory>1 2</memory>",
        "<memory unit='pages'>12</memory>",
        "<memory unit=''>12</memory>",
        "<memory unit='KiBi'>12</memory>",
        "<memory unit='E'>16</memory>",
        "<memory>99999999999999999999</memory>",
        "<memory>1024</memory><memory>2048</memory>",
        "<memory>1024</memory><maxMemory>x</maxMemory>",
        "<memory>1024</memory><vcpu>0</vcpu>",
        "<memory>1024</memory><vcpu/>",
        "<memory>1024</memory><vcpu>65536</vcpu>",
        "<memory>1024</memory><vcpu>1</vcpu><vcpu>2</vcpu>",
        "<memory>1024</memory><cputune><vcpupin vcpu='0'/></cputune>",
        "<memory>1024</memory><cputune><vcpupin vcpu='0' cpuset='a'/></cputune>",
        "<memory>1024</memory><cputune><vcpupin vcpu='0' cpuset='8192'/></cputune>",
        "<memory>1024</memory><cpu><numa><cell id='0'/></numa></cpu>",
        "<memory>1024</memory><cpu><numa><cell memory='x'/></numa></cpu>",
        "<memory>1</memory><cpu><numa><cell memory='9007199254740992' unit='MiB'/></numa></cpu>",
        "<cpu><numa><cell memory='18014398509481983'/><cell memory='9'/></numa></cpu>",
        "<memory>1024</memory><devices><memory><target><size>x</size></target></memory></devices>",
        "<memory>1024</memory><vcpu>",
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char *xml = domain_of(wrong[i]);
        err = (struct oneib_error){0};
        if (oneib_domain_demand_read(xml, strlen(xml), &demand, &err) == 0)
            fail_msg("%s is taken", wrong[i]);
        assert_int_equal(err.code, ONEIB_ERROR_INPUT);
        free(xml);
    }
}

static void pins_of_any_domain_are_read_with_its_name(void **state)
{
    (void)state;
    char *xml = domain_of("<vcpu cpuset='1-2'>4</vcpu><cputune><vcpupin vcpu='0' cpuset='4'/>"
                          "</cputune><cputune><vcpupin vcpu='1' cpuset='6'/><emulatorpin "
                          "cpuset='9'/></cputune>"),
         *name;
    struct oneib_cpu_set pins;
    assert_int_equal(oneib_domain_pins_read(xml, strlen(xml), &name, &pins, &err), 0);
    assert_string_equal(name, "one-7");
    assert_cpus(&pins, "1-2,4,6");
    free(name);
    free(xml);
    static const char nameless[] = "<domain/>", wrong[] = "<domain><vcpu cpuset='x'/></domain>";
    assert_int_equal(oneib_domain_pins_read(nameless, strlen(nameless), &name, &pins, &err), 0);
    assert_null(name);
    assert_true(oneib_cpu_set_is_empty(&pins));
    assert_int_equal(oneib_domain_pins_read(wrong, strlen(wrong), &name, &pins, &err), -1);
    assert_null(name);
}

static int note_pin(uint32_t vcpu, const struct oneib_cpu_set *cpus, void *context,
                    struct oneib_error *error)
{
    (void)error;
    struct oneib_text *seen = context;
    oneib_text_printf(seen, "%u:", vcpu);
    oneib_cpu_set_render(cpus, seen);
    oneib_text_append(seen, " ");
    return 0;
}

static void pins_are_told_by_virtual_core(void **state)
{
    (void)state;
    static const char xml[] =
        "<domain><cputune><vcpupin vcpu='1' cpuset='5'/><emulatorpin cpuset='7'/>"
        "<vcpupin vcpu='0' cpuset='2-3'/></cputune></domain>";
    static const char *const wrong[] = {
        "<domain><cputune><vcpupin cpuset='5'/></cputune></domain>",
        "<domain><cputune><vcpupin vcpu='x' cpuset='5'/></cputune></domain>",
        "<domain><cputune><vcpupin vcpu='0'/></cputune></domain>",
    };
    struct oneib_text seen = {0};
    assert_int_equal(oneib_domain_each_pin(xml, strlen(xml), note_pin, &seen, &err), 0);
    assert_string_equal(seen.data, "1:5 0:2-3 ");
    oneib_text_clear(&seen);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(oneib_domain_each_pin(wrong[i], strlen(wrong[i]), note_pin, &seen, &err),
                         -1);
    assert_int_equal(seen.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_document_asks_for_cores_and_memory_only),
        cmocka_unit_test(the_most_virtual_cores_count_not_those_of_now),
        cmocka_unit_test(memory_is_read_in_each_of_libvirts_units),
        cmocka_unit_test(memory_is_what_it_can_grow_to),
        cmocka_unit_test(every_piece_of_memory_counts_for_its_pages),
        cmocka_unit_test(what_topology_gave_is_seen),
        cmocka_unit_test(pins_that_are_shared_count_all),
        cmocka_unit_test(an_empty_numa_tuning_is_none),
        cmocka_unit_test(a_cpu_with_a_topology_alone_has_no_model),
        cmocka_unit_test(a_domain_without_kvm_is_seen),
        cmocka_unit_test(memory_that_is_locked_is_seen),
        cmocka_unit_test(a_document_that_does_not_say_it_is_refused),
        cmocka_unit_test(pins_of_any_domain_are_read_with_its_name),
        cmocka_unit_test(pins_are_told_by_virtual_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
