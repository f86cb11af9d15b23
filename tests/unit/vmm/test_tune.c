// SPDX-License-Identifier: Apache-2.0
/* Tuning VMs on a host with two NUMA nodes of four cores, two threads each (host_tree.h). */
#include "../hca/tree.h"
#include "../node/host_tree.h"
#include "domain/tuning.h"
#include "live_standin.h"
#include "vmm/tune.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GIB 1048576 /* KiB */
#define LOCK "/var/lib/one/.oneib-cores.lock"

static const struct oneib_pci vfs[] = {{.bus = 0x81, .function = 1}, {.bus = 0x81, .function = 2}};
static struct oneib_live *live;
static struct oneib_text tuned;
static struct oneib_error err;
static int lock = -1;

static int open_scene(void **state)
{
    tree_reset(state);
    tree_make_directory("/var/lib/one");
    live_standin_reset();
    host_tree_two_nodes();
    host_tree_device("0000:81:00.1", "1");
    host_tree_device("0000:81:00.2", "1");
    return oneib_live_open("stand-in", &live, &err);
}

static int close_scene(void **state)
{
    (void)state;
    oneib_live_close(live);
    live = NULL;
    oneib_vmm_tune_unlock(lock);
    lock = -1;
    oneib_text_clear(&tuned);
    return 0;
}

/* ---- VMs ------------------------------------------------------------------------------------- */

static const char *document(const char *name, unsigned vcpus, unsigned memory_kib,
                            const char *elements)
{
    static char text[4096];
    snprintf(text, sizeof text,
             "<domain type='kvm'><name>%s</name><vcpu>%u</vcpu><memory>%u</memory>%s<os><type "
             "arch='x86_64' machine='q35'>hvm</type></os><devices/></domain>",
             name, vcpus, memory_kib, elements);
    return text;
}

static void run_pinned(const char *name, const char *cpus)
{
    char pins[128];
    snprintf(pins, sizeof pins, "<cputune><vcpupin vcpu='0' cpuset='%s'/></cputune>", cpus);
    live_standin_run(document(name, 1, GIB, pins));
}

static int tune_with(const char *xml, bool hpc, size_t vf_count)
{
    err = (struct oneib_error){0};
    oneib_text_clear(&tuned);
    oneib_vmm_tune_unlock(lock);
    return oneib_vmm_tune(hpc ? live : NULL, xml, strlen(xml), hpc, vfs, vf_count, &tuned, &lock,
                          &err);
}

static void tune(const char *xml)
{
    if (tune_with(xml, true, 2) < 0)
        fail_msg("%s", err.text);
}

static void assert_refused(const char *xml, const char *wanted)
{
    assert_int_equal(tune_with(xml, true, 2), -1);
    assert_string_equal(err.text, wanted);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_int_equal(lock, -1);
    assert_int_equal(tuned.length, 0);
}

static void assert_has(const char *part)
{
    if (!tuned.data || !strstr(tuned.data, part))
        fail_msg("%s is not in %s", part, tuned.data ? tuned.data : "nothing");
}

static void assert_lacks(const char *part)
{
    if (tuned.data && strstr(tuned.data, part))
        fail_msg("%s is in %s", part, tuned.data);
}

static struct oneib_cpu_set pins_of(const char *xml)
{
    struct oneib_cpu_set pins;
    char *name;
    assert_int_equal(oneib_domain_pins_read(xml, strlen(xml), &name, &pins, &err), 0);
    free(name);
    return pins;
}

static void assert_pins(const char *wanted)
{
    struct oneib_text text = {0};
    const struct oneib_cpu_set pins = pins_of(tuned.data);
    oneib_text_append(&text, "");
    oneib_cpu_set_render(&pins, &text);
    assert_string_equal(text.data, wanted);
    oneib_text_clear(&text);
}

/* ---- what a VM gets -------------------------------------------------------------------------- */

static void a_vm_gets_cores_memory_and_cpu_near_its_vfs(void **state)
{
    (void)state;
    tune(document("one-1", 2, GIB, ""));
    assert_pins("4-5");
    assert_has("<emulatorpin cpuset='4-5,12-13'/>");
    assert_has("<memory mode='strict' nodeset='1'/>");
    assert_has("<locked/>");
    assert_has("<cpu mode='host-passthrough'/>");
    assert_has("pins='yes'");
    assert_lacks("hugepages");
    assert_true(lock >= 0);
}

static void huge_pages_are_used_where_the_node_has_them_free(void **state)
{
    (void)state;
    host_tree_pages(0, GIB, 8);
    host_tree_pages(1, GIB, 1);
    host_tree_pages(1, 2048, 1024);
    tune(document("one-1", 2, GIB, ""));
    assert_has("<page size='1048576' unit='KiB'/>");
    tune(document("one-1", 2, 2 * GIB, ""));
    assert_has("<page size='2048' unit='KiB'/>");
}

static void huge_pages_that_are_too_few_are_not_used(void **state)
{
    (void)state;
    host_tree_pages(1, GIB, 1);
    host_tree_pages(1, 2048, 1023);
    tune(document("one-1", 2, 2 * GIB, ""));
    assert_lacks("hugepages");
}

static void pages_that_do_not_divide_a_virtual_node_are_not_used(void **state)
{
    (void)state;
    host_tree_pages(1, GIB, 4);
    host_tree_pages(1, 2048, 4096);
    tune(document("one-1", 2, 2 * GIB,
                  "<cpu><numa><cell id='0' cpus='0' memory='524288'/><cell id='1' cpus='1' "
                  "memory='1572864'/></numa></cpu>"));
    assert_has("<page size='2048' unit='KiB'/>");
    assert_has("<cpu mode='host-passthrough'><numa>");
}

static void on_a_host_without_numa_all_is_one_node(void **state)
{
    (void)state;
    tree_remove("/sys/devices/system/node");
    tree_remove("/sys/bus/pci/devices/0000:81:00.1/numa_node");
    tree_write("-1", "/sys/bus/pci/devices/0000:81:00.2/numa_node");
    host_tree_node(HOST_TREE_NO_NUMA, NULL, 4 * GIB, 2 * GIB, 0);
    tune(document("one-1", 3, GIB, ""));
    assert_pins("1-3");
    assert_has("nodeset='0'");
}

static void without_kvm_there_is_no_cpu_of_the_hosts(void **state)
{
    (void)state;
    tune("<domain type='qemu'><name>one-1</name><memory>1024</memory></domain>");
    assert_has("<vcpupin");
    assert_lacks("host-passthrough");
}

static void what_the_document_has_of_others_stays(void **state)
{
    (void)state;
    tune(document("one-1", 2, GIB,
                  "<cpu mode='custom'><model>EPYC</model></cpu><numatune><memory mode='preferred' "
                  "nodeset='0'/></numatune><memoryBacking><locked/></memoryBacking>"));
    assert_pins("4-5");
    assert_has("<cpu mode='custom'>");
    assert_has("<numatune><memory mode='preferred' nodeset='0'/></numatune>");
    assert_has("<memoryBacking><locked/></memoryBacking>");
    assert_lacks("memory='yes'");
}

/* ---- cores of others ------------------------------------------------------------------------- */

static void cores_that_another_domain_is_pinned_to_are_left_to_it(void **state)
{
    (void)state;
    run_pinned("one-7", "13");
    run_pinned("somebody", "6");
    tune(document("one-1", 2, GIB, ""));
    assert_pins("4,7");
}

static void a_domain_that_is_not_pinned_takes_no_core(void **state)
{
    (void)state;
    live_standin_run(document("one-7", 64, GIB, "<cputune><shares>100</shares></cputune>"));
    tune(document("one-1", 4, GIB, ""));
    assert_pins("4-7");
}

static void the_vms_own_domain_is_not_another(void **state)
{
    (void)state;
    run_pinned("one-1", "4-7");
    tune(document("one-1", 4, GIB, ""));
    assert_pins("4-7");
}

static void a_domain_that_cannot_be_read_may_have_any_core(void **state)
{
    (void)state;
    run_pinned("one-7", "4-");
    assert_int_equal(tune_with(document("one-1", 1, GIB, ""), true, 1), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_non_null(strstr(err.text, "looking which cores are taken"));
}

static void without_libvirt_nothing_is_given(void **state)
{
    (void)state;
    live_standin_fault("lost %u", live_standin_calls() + 1);
    assert_int_equal(tune_with(document("one-1", 1, GIB, ""), true, 1), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_int_equal(lock, -1);
}

/* As deploy does it. 1: it was refused. */
static int start_vm(unsigned id)
{
    char name[32];
    struct oneib_text started = {0};
    snprintf(name, sizeof name, "one-%u", id);
    const char *xml = document(name, 2, GIB, "");
    if (tune_with(xml, true, 1) < 0)
        return err.code == ONEIB_ERROR_REFUSED ? 1 : 2;
    usleep(20000);
    const int outcome = live_standin_start(tuned.data, tuned.length, &started, &err);
    oneib_text_clear(&started);
    return outcome == 0 ? 0 : 2;
}

/* Begins when all others can. */
static pid_t start_process(unsigned id, const int go[2])
{
    char byte;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(go[1]);
    const int status = read(go[0], &byte, 1) == 0 ? start_vm(id) : 2;
    close_scene(NULL);
    _exit(status);
}

static void vms_that_start_at_once_never_share_a_core(void **state)
{
    (void)state;
    enum { VMS = 4 };
    int go[2], got = 0;
    pid_t children[VMS];
    struct oneib_cpu_set taken = {0};
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    for (unsigned i = 0; i < VMS; i++)
        children[i] = start_process(i, go);
    close(go[1]);
    for (unsigned i = 0; i < VMS; i++) {
        int status;
        char name[32];
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        snprintf(name, sizeof name, "one-%u", i);
        assert_int_equal(live_standin_runs(name), WEXITSTATUS(status) == 0);
        if (WEXITSTATUS(status) != 0)
            continue;
        const struct oneib_cpu_set pins = pins_of(live_standin_document(name));
        assert_false(oneib_cpu_set_overlaps(&pins, &taken));
        oneib_cpu_set_add_all(&taken, &pins);
        got++;
    }
    close(go[0]);
    assert_int_equal(got, 2);
}

static void the_lock_is_held_until_it_is_given_back(void **state)
{
    (void)state;
    char *path = tree_path(LOCK);
    tune(document("one-1", 1, GIB, ""));
    const int other = open(path, O_RDWR | O_CLOEXEC);
    assert_true(other >= 0);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
    oneib_vmm_tune_unlock(lock);
    lock = -1;
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    close(other);
    free(path);
}

static void a_lock_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    tree_remove("/var/lib/one");
    assert_int_equal(tune_with(document("one-1", 1, GIB, ""), true, 1), -1);
    assert_non_null(strstr(err.text, LOCK));
}

/* ---- what the host cannot give --------------------------------------------------------------- */

static void too_few_cores_are_refused_with_numbers(void **state)
{
    (void)state;
    run_pinned("one-7", "4-5");
    assert_refused(document("one-1", 3, GIB, ""),
                   "IB_HPC: node 1 has 4 cores, 2 of them free, and the VM wants 3");
}

static void too_little_memory_is_refused_with_numbers(void **state)
{
    (void)state;
    assert_refused(document("one-1", 1, 9 * GIB, ""),
                   "IB_HPC: node 1 has 16777216 KiB of memory, 8388608 KiB of them available, and "
                   "the VM wants 9437184 KiB");
}

static void a_vf_whose_node_is_not_known_is_refused(void **state)
{
    (void)state;
    host_tree_device("0000:81:00.2", "-1");
    assert_refused(document("one-1", 1, GIB, ""),
                   "IB_HPC: the host has 2 NUMA nodes and does not tell which one 0000:81:00.2 is "
                   "on: its firmware (ACPI _PXM) has to");
}

static void vfs_on_two_nodes_are_refused_and_named(void **state)
{
    (void)state;
    host_tree_device("0000:81:00.2", "0");
    assert_refused(document("one-1", 1, GIB, ""),
                   "IB_HPC: the VM's virtual functions are on two NUMA nodes, 0000:81:00.1 on node "
                   "1 and 0000:81:00.2 on node 0, and its cores cannot be near both");
}

static void a_host_that_cannot_be_read_gives_nothing(void **state)
{
    (void)state;
    tree_write("garbage", "/sys/devices/system/node/node1/meminfo");
    assert_int_equal(tune_with(document("one-1", 1, GIB, ""), true, 1), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_non_null(strstr(err.text, "node1/meminfo"));
    assert_int_equal(lock, -1);
}

/* ---- TOPOLOGY -------------------------------------------------------------------------------- */

#define PINS(cpus)                                                                                 \
    "<cputune><vcpupin vcpu='0' cpuset='" cpus "'/><emulatorpin cpuset='" cpus "'/></cputune>"
#define BOUND "<numatune><memory mode='strict' nodeset='1'/></numatune>"

static void pins_of_topology_near_the_vf_are_kept(void **state)
{
    (void)state;
    run_pinned("one-7", "4-7");
    tune(document("one-1", 1, GIB, PINS("4,12") BOUND));
    assert_pins("4,12");
    assert_has("<locked/>");
    assert_has("<cpu mode='host-passthrough'/>");
    assert_has("<oneib:tuning xmlns:oneib='urn:oneib:domain:1' hpc='yes' locked='yes'/>");
    assert_int_equal(lock, -1);
}

static void pins_of_topology_get_the_memory_of_their_node(void **state)
{
    (void)state;
    tune(document("one-1", 1, GIB, PINS("4")));
    assert_has("<memory mode='strict' nodeset='1'/>");
    assert_has("memory='yes'");
    assert_lacks("pins='yes'");
}

static void pins_of_topology_on_another_node_are_refused_for_hpc(void **state)
{
    (void)state;
    assert_refused(document("one-1", 1, GIB, PINS("2,4") BOUND),
                   "IB_HPC: TOPOLOGY has the VM on CPUs 2,4 of the host, CPU 2 among them is on "
                   "NUMA node 0, and its virtual function 0000:81:00.1 is on node 1: have "
                   "NODE_AFFINITY = \"1\" in TOPOLOGY, or no pinning");
}

/* oned has counted them: that they are not free may be why. */
static void huge_pages_of_topology_are_kept_and_bound_to_the_node(void **state)
{
    (void)state;
    host_tree_pages(1, GIB, 16);
    tune(document("one-1", 1, 9 * GIB,
                  "<memoryBacking><hugepages><page size='2048'/></hugepages></memoryBacking>"));
    assert_has("<hugepages><page size='2048'/></hugepages><locked/>");
    assert_has("<memory mode='strict' nodeset='1'/>");
    assert_lacks("pages='yes'");
}

static void with_all_of_it_the_mark_alone_is_added(void **state)
{
    (void)state;
    tune(document("one-1", 1, GIB,
                  PINS("4") BOUND
                  "<memoryBacking><locked/></memoryBacking><cpu mode='host-model'/>"));
    assert_has("<metadata><oneib:tuning xmlns:oneib='urn:oneib:domain:1' hpc='yes'/></metadata>");
    assert_pins("4");
    /* Nothing is oneib's to be given anew, and it may be migrated live. */
    struct oneib_domain_demand demand;
    assert_int_equal(oneib_domain_demand_read(tuned.data, tuned.length, &demand, &err), 0);
    assert_false(demand.tuned);
}

static void without_hpc_a_vm_that_is_pinned_gets_its_memory_locked(void **state)
{
    (void)state;
    assert_int_equal(tune_with(document("one-1", 1, GIB, PINS("4") BOUND), false, 2), 0);
    assert_has("<memoryBacking><locked/></memoryBacking>");
    assert_lacks("host-passthrough");
    assert_lacks("urn:oneib:domain:1");
    assert_int_equal(lock, -1);
}

static void without_hpc_nothing_is_refused(void **state)
{
    (void)state;
    assert_int_equal(tune_with(document("one-1", 1, GIB, PINS("2")), false, 2), 0);
    assert_int_equal(tuned.length, 0);
    host_tree_device("0000:81:00.2", "-1");
    assert_int_equal(tune_with(document("one-1", 1, GIB, PINS("4")), false, 2), 0);
    assert_int_equal(tuned.length, 0);
    host_tree_device("0000:81:00.2", "1");
    assert_int_equal(
        tune_with(document("one-1", 1, GIB, PINS("4") "<memoryBacking><locked/></memoryBacking>"),
                  false, 2),
        0);
    assert_int_equal(tuned.length, 0);
    assert_int_equal(tune_with(document("one-1", 99, 99 * GIB / 64, ""), false, 2), 0);
    assert_int_equal(tuned.length, 0);
}

/* ---- once more ------------------------------------------------------------------------------- */

static void a_vm_that_oneib_tuned_is_given_anew_what_this_host_has(void **state)
{
    (void)state;
    host_tree_pages(1, 2048, 512);
    tune(document("one-1", 2, GIB, ""));
    char *saved = strdup(tuned.data);
    host_tree_pages(1, 2048, 0);
    run_pinned("one-7", "4");
    tune(saved);
    assert_pins("5-6");
    assert_has("<emulatorpin cpuset='5-6,13-14'/>");
    assert_lacks("hugepages");
    free(saved);
}

static void a_vm_that_does_not_ask_any_more_loses_what_oneib_gave(void **state)
{
    (void)state;
    tune(document("one-1", 2, GIB, ""));
    char *saved = strdup(tuned.data);
    assert_int_equal(tune_with(saved, false, 2), 0);
    assert_lacks("vcpupin");
    assert_lacks("numatune");
    assert_lacks("urn:oneib:domain:1");
    assert_has("host-passthrough");
    free(saved);
}

static void a_document_that_is_none_is_refused(void **state)
{
    (void)state;
    assert_int_equal(tune_with("<domain>", true, 1), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_int_equal(tune_with("<domain/>", false, 1), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)
    const struct CMUnitTest tests[] = {
        TEST(a_vm_gets_cores_memory_and_cpu_near_its_vfs),
        TEST(huge_pages_are_used_where_the_node_has_them_free),
        TEST(huge_pages_that_are_too_few_are_not_used),
        TEST(pages_that_do_not_divide_a_virtual_node_are_not_used),
        TEST(on_a_host_without_numa_all_is_one_node),
        TEST(without_kvm_there_is_no_cpu_of_the_hosts),
        TEST(what_the_document_has_of_others_stays),
        TEST(cores_that_another_domain_is_pinned_to_are_left_to_it),
        TEST(a_domain_that_is_not_pinned_takes_no_core),
        TEST(the_vms_own_domain_is_not_another),
        TEST(a_domain_that_cannot_be_read_may_have_any_core),
        TEST(without_libvirt_nothing_is_given),
        TEST(vms_that_start_at_once_never_share_a_core),
        TEST(the_lock_is_held_until_it_is_given_back),
        TEST(a_lock_that_cannot_be_made_is_named),
        TEST(too_few_cores_are_refused_with_numbers),
        TEST(too_little_memory_is_refused_with_numbers),
        TEST(a_vf_whose_node_is_not_known_is_refused),
        TEST(vfs_on_two_nodes_are_refused_and_named),
        TEST(a_host_that_cannot_be_read_gives_nothing),
        TEST(pins_of_topology_near_the_vf_are_kept),
        TEST(pins_of_topology_get_the_memory_of_their_node),
        TEST(pins_of_topology_on_another_node_are_refused_for_hpc),
        TEST(huge_pages_of_topology_are_kept_and_bound_to_the_node),
        TEST(with_all_of_it_the_mark_alone_is_added),
        TEST(without_hpc_a_vm_that_is_pinned_gets_its_memory_locked),
        TEST(without_hpc_nothing_is_refused),
        TEST(a_vm_that_oneib_tuned_is_given_anew_what_this_host_has),
        TEST(a_vm_that_does_not_ask_any_more_loses_what_oneib_gave),
        TEST(a_document_that_is_none_is_refused),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
