// SPDX-License-Identifier: Apache-2.0
/* Who runs on the cores of VMs with IB_HPC: what the probe sets going, with a stand-in for libvirt,
 * and what `oneib check` says, with libvirt's own test driver. The host has four cores. */
#include "node/host_tree.h"
#include "node_root.h"
#include "vmm/live_standin.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HPC_MARK "<metadata><oneib:tuning xmlns:oneib='urn:oneib:domain:1' hpc='yes'/></metadata>"
#define ON_CORE_3                                                                                  \
    HPC_MARK "<cputune><vcpupin vcpu='0' cpuset='3'/><emulatorpin cpuset='3'/></cputune>"
#define DOMAIN(type, name, uuid, elements)                                                         \
    "<domain type='" type "'><name>" name "</name><uuid>5dec61fb-6338-452b-9e09-76372ec0140" uuid  \
    "</uuid><memory>1024</memory>" elements                                                        \
    "<os><type arch='x86_64'>hvm</type></os><devices/></domain>"

static const struct tree_hca with_vfs = {
    .name = "mlx4_0", .driver = ONEIB_HCA_MLX4, .pci = "0000:81:00.0", .vfs = 2};

static int make_host(void **state)
{
    tree_reset(state);
    tree_add_hca(&with_vfs);
    host_tree_cpus("0-3");
    host_tree_node(HOST_TREE_NO_NUMA, NULL, 1048576, 1048576, 0);
    tree_make_directory("/var/lib/one");
    live_standin_reset();
    return 0;
}

static void configure(const char *settings)
{
    tree_write(settings, "/etc/oneib/oneib.conf");
}

/* ---- the probe ------------------------------------------------------------------------------- */

static void run_two(void)
{
    live_standin_run(DOMAIN("kvm", "one-7", "1", ""));
    live_standin_run(DOMAIN("kvm", "one-8", "2", ON_CORE_3));
    live_standin_forget_log();
}

static bool is_pinned(void)
{
    return strstr(live_standin_document("one-7"),
                  "<emulatorpin cpuset=\"0-2\"/>"); /* the last that is pinned */
}

static void probe(void)
{
    set_program(PROBE_STANDIN);
    assert_int_equal(RUN(NULL)->status, 0);
    set_program(ONEIB_BINARY);
}

static void each_probe_has_vms_kept_off_where_the_operator_wants_that(void **state)
{
    (void)state;
    configure("node = { hpc_cores = \"keep_off\"; };");
    run_two();
    probe();
    for (int i = 0; i < 1000 && !is_pinned(); i++)
        usleep(10000);
    assert_true(is_pinned());
}

static void else_a_probe_asks_libvirt_nothing(void **state)
{
    (void)state;
    configure("node = { hpc_cores = \"refuse\"; };");
    run_two();
    probe();
    usleep(200000);
    assert_string_equal(live_standin_log(), "");
}

/* ---- oneib check ----------------------------------------------------------------------------- */

static const char *checked_with(const char *policy, const char *domains)
{
    char settings[PATH_MAX + 128], *node = tree_path("/node.xml");
    char xml[4096];
    snprintf(xml, sizeof xml, "<node>%s</node>", domains);
    tree_write(xml, "/node.xml");
    snprintf(settings, sizeof settings, "node = { libvirt = \"test://%s\"; hpc_cores = \"%s\"; };",
             node, policy);
    configure(settings);
    free(node);
    return RUN("check")->out;
}

#define BOTH DOMAIN("test", "one-7", "1", "") DOMAIN("test", "one-8", "2", ON_CORE_3)

static void check_says_who_is_on_others_cores(void **state)
{
    (void)state;
    assert_contains(
        checked_with("shared", BOTH),
        "warn  hpc-cores: VMs with IB_HPC share cores: one-7 may run on cores of one-8");
    assert_contains(checked_with("keep_off", BOTH), "one-7 may run on cores of one-8");
    assert_lacks(checked_with("shared", DOMAIN("test", "one-8", "2", ON_CORE_3)), "hpc-cores");
}

static void check_says_that_it_cannot_know_where_that_matters(void **state)
{
    (void)state;
    static const char none[] = "<domain/>";
    assert_lacks(checked_with("shared", none), "hpc-cores");
    assert_contains(checked_with("refuse", none),
                    "hpc-cores: which VMs run on cores of VMs with IB_HPC is unknown: ");
}

int main(void)
{
    open_node_root();
#define CASE(name) cmocka_unit_test_setup(name, make_host)
    const struct CMUnitTest tests[] = {
        CASE(each_probe_has_vms_kept_off_where_the_operator_wants_that),
        CASE(else_a_probe_asks_libvirt_nothing),
        CASE(check_says_who_is_on_others_cores),
        CASE(check_says_that_it_cannot_know_where_that_matters),
    };
    return close_node_root(cmocka_run_group_tests(tests, NULL, NULL));
}
