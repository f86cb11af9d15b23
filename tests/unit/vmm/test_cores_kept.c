// SPDX-License-Identifier: Apache-2.0
/* What deploying and resuming VMs does about others' cores, by node.hpc_cores. The host has four
 * cores of one thread each. */
#include "../node/host_tree.h"
#include "nic_scene.h"

#define HPC_MARK "<metadata><oneib:tuning xmlns:oneib='urn:oneib:domain:1' hpc='yes'/></metadata>"
#define KEPT_MARK                                                                                  \
    "<metadata><oneib-kept:kept xmlns:oneib-kept='urn:oneib:kept:1' vcpus='0-1' "                  \
    "emulator='yes'/></metadata><cputune><vcpupin vcpu='0' cpuset='9'/><vcpupin vcpu='1' "         \
    "cpuset='9'/><emulatorpin cpuset='9'/></cputune>"
#define DOCUMENT(name, elements)                                                                   \
    "<domain type='kvm'><name>" name "</name><vcpu>2</vcpu><memory>1024</memory>" elements         \
    "<os><type arch='x86_64' machine='q35'>hvm</type></os><devices/></domain>"
#define FLOATING "one-7"
#define PINNED_TO_3                                                                                \
    "<cputune><vcpupin vcpu='0' cpuset='3'/><vcpupin vcpu='1' cpuset='3'/><emulatorpin "           \
    "cpuset='3'/></cputune>"

static int status;
static char checkpoint[1024], domain[] = DOMAIN;
static char *restore_arguments[] = {checkpoint, host, domain, id, host, NULL};

static int open_host(void **state)
{
    const struct oneib_pci vf = tree_vf_pci(&hca, 1);
    char pci[ONEIB_PCI_TEXT_SIZE], *path;
    open_scene(state);
    host_tree_cpus("0-3");
    host_tree_node(HOST_TREE_NO_NUMA, NULL, 1048576, 1048576, 0);
    tree_make_directory("/var/lib/one");
    oneib_pci_format(&vf, pci);
    path = tree_path("/sys/bus/pci/devices/%s/numa_node", pci);
    unlink(path);
    free(path);
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", tree_root());
    tree_remove("/checkpoint");
    return 0;
}

static int deploy(const char *xml)
{
    struct oneib_text document = {0};
    oneib_text_append(&document, xml);
    struct oneib_vmm vmm = with_upstream(UPSTREAM_STANDIN "/deploy", &document);
    err = (struct oneib_error){0};
    status = 77;
    const int outcome = oneib_vmm_deploy(&vmm, &status, &err);
    oneib_text_clear(&document);
    return outcome;
}

/* VM 42 with a NIC, and IB_HPC. */
static int deploy_hpc(void)
{
    add_nic(1);
    record_open(1, 1);
    vm.wants_hpc = true;
    return deploy(domain_document("")->data);
}

static void must_run_on(const char *name, const char *cpus)
{
    char pin[96];
    const char *xml = live_standin_document(name);
    snprintf(pin, sizeof pin, "<vcpupin vcpu=\"1\" cpuset=\"%s\"/>", cpus);
    if (!xml || !strstr(xml, pin))
        fail_msg("%s is not in: %s", pin, xml ? xml : "(nothing)");
}

static void must_not_be_pinned(const char *name)
{
    const char *xml = live_standin_document(name);
    assert_non_null(xml);
    assert_null(strstr(xml, "pin"));
}

static void must_be_refused(int outcome, const char *words)
{
    assert_int_equal(outcome, -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_told(words);
    assert_logged("upstream", false);
    assert_false(live_standin_runs(DOMAIN));
}

/* ---- keep_off -------------------------------------------------------------------------------- */

static void who_runs_is_kept_off_a_tuned_vms_cores_before_it_starts(void **state)
{
    (void)state;
    config.node.hpc_cores = ONEIB_HPC_CORES_KEEP_OFF;
    live_standin_run(DOCUMENT(FLOATING, ""));
    if (deploy_hpc() < 0)
        fail_msg("%s", err.text);
    assert_int_equal(status, 0);
    must_run_on(DOMAIN, "2");
    must_run_on(FLOATING, "0,3");
    const char *log = live_standin_log();
    assert_true(strstr(log, "pin ") < strstr(log, "upstream deploy"));
}

static void a_deployment_that_fails_gives_back_what_it_took(void **state)
{
    (void)state;
    config.node.hpc_cores = ONEIB_HPC_CORES_KEEP_OFF;
    live_standin_run(DOCUMENT(FLOATING, ""));
    live_standin_fault("upstream deploy fail");
    assert_int_equal(deploy_hpc(), 0);
    assert_int_equal(status, 1);
    must_run_on(FLOATING, "0-3");
}

static void a_tuned_vm_that_leaves_nothing_is_not_started(void **state)
{
    (void)state;
    config.node.hpc_cores = ONEIB_HPC_CORES_KEEP_OFF;
    host_tree_cpus("0-1");
    must_be_refused(deploy_hpc(), "VM 42: it would leave no core of this host");
}

static void who_is_deployed_later_is_kept_off_and_starts_as_oned_says(void **state)
{
    (void)state;
    config.node.hpc_cores = ONEIB_HPC_CORES_KEEP_OFF;
    live_standin_run(DOCUMENT(FLOATING, HPC_MARK PINNED_TO_3));
    assert_int_equal(deploy(DOCUMENT(DOMAIN, "")), 0);
    assert_int_equal(status, 0);
    must_run_on(DOMAIN, "0-2");
}

/* ---- refuse ---------------------------------------------------------------------------------- */

static void a_tuned_vm_is_not_started_beside_one_that_nobody_has_pinned(void **state)
{
    (void)state;
    config.node.hpc_cores = ONEIB_HPC_CORES_REFUSE;
    live_standin_run(DOCUMENT(FLOATING, ""));
    must_be_refused(deploy_hpc(), "VM 42: it would share its cores: one-7 is not pinned");
    must_not_be_pinned(FLOATING);
}

static void one_that_nobody_has_pinned_is_not_started_beside_a_tuned_vm(void **state)
{
    (void)state;
    config.node.hpc_cores = ONEIB_HPC_CORES_REFUSE;
    live_standin_run(DOCUMENT(FLOATING, HPC_MARK PINNED_TO_3));
    must_be_refused(deploy(DOCUMENT(DOMAIN, "")), "VM 42: it is not pinned");
    assert_int_equal(live_standin_stop(FLOATING, &err), 0);
    assert_int_equal(deploy(DOCUMENT(DOMAIN, "")), 0);
    must_not_be_pinned(DOMAIN);
}

/* Exit status 0: nobody has it. */
#define ASK_LOCK "flock -n \"$ONEIB_NODE_ROOT/var/lib/one/.oneib-cores.lock\" true"

/* 4: it is taken while OpenNebula's action runs. */
static int deploy_and_ask(const char *xml)
{
    struct oneib_text document = {0};
    char option[] = "-c", script[] = ASK_LOCK " && exit 3; exit 4";
    char *const asking[] = {option, script, NULL};
    oneib_text_append(&document, xml);
    struct oneib_vmm vmm = with_upstream("/bin/sh", &document);
    vmm.upstream.arguments = asking;
    assert_int_equal(oneib_vmm_deploy(&vmm, &status, &err), 0);
    assert_int_equal(system(ASK_LOCK), 0);
    oneib_text_clear(&document);
    return status;
}

static void between_the_look_and_the_start_nobody_else_looks(void **state)
{
    (void)state;
    config.node.hpc_cores = ONEIB_HPC_CORES_REFUSE;
    assert_int_equal(deploy_and_ask(DOCUMENT(DOMAIN, "")), 4);
    config.node.hpc_cores = ONEIB_HPC_CORES_KEEP_OFF;
    assert_int_equal(deploy_and_ask(DOCUMENT(DOMAIN, HPC_MARK PINNED_TO_3)), 4);
}

/* Many start at once. */
static void who_needs_no_look_waits_for_nobody(void **state)
{
    (void)state;
    config.node.hpc_cores = ONEIB_HPC_CORES_REFUSE;
    assert_int_equal(deploy_and_ask(DOCUMENT(DOMAIN, PINNED_TO_3)), 3);
    config.node.hpc_cores = ONEIB_HPC_CORES_KEEP_OFF;
    assert_int_equal(deploy_and_ask(DOCUMENT(DOMAIN, "")), 3);
}

/* ---- shared ---------------------------------------------------------------------------------- */

static void where_cores_are_shared_libvirt_is_not_even_asked(void **state)
{
    (void)state;
    live_standin_run(DOCUMENT(FLOATING, HPC_MARK PINNED_TO_3));
    live_standin_fault("refuse-open");
    assert_int_equal(deploy(DOCUMENT(DOMAIN, "")), 0);
    assert_int_equal(status, 0);
    must_not_be_pinned(DOMAIN);
}

static void while_nobody_knows_who_runs_nobody_is_started(void **state)
{
    (void)state;
    config.node.hpc_cores = ONEIB_HPC_CORES_REFUSE;
    live_standin_fault("refuse-open");
    assert_int_equal(deploy(DOCUMENT(DOMAIN, "")), -1);
    assert_told("VM 42: which VM has which cores is unknown");
    assert_logged("upstream", false);
}

/* ---- resuming -------------------------------------------------------------------------------- */

static void save_kept(void)
{
    live_standin_run(DOCUMENT(DOMAIN, KEPT_MARK));
    assert_int_equal(live_standin_save(DOMAIN, checkpoint, &err), 0);
    live_standin_forget_log();
}

static int restore(void)
{
    struct oneib_vmm vmm = {
        .config = &config,
        .upstream = {UPSTREAM_STANDIN "/restore", restore_arguments, "", 0, NULL},
        .vm = &vm,
        .domain = DOMAIN,
        .warnings = &warnings};
    err = (struct oneib_error){0};
    status = 77;
    return oneib_vmm_restore(&vmm, checkpoint, &status, &err);
}

/* CPU 9 is one of the host that it was saved on. */
static void who_was_kept_off_elsewhere_is_not_where_it_is_resumed(void **state)
{
    (void)state;
    save_kept();
    config.node.hpc_cores = ONEIB_HPC_CORES_KEEP_OFF;
    if (restore() < 0)
        fail_msg("%s", err.text);
    assert_int_equal(status, 0);
    must_not_be_pinned(DOMAIN);
}

static void who_is_resumed_later_is_kept_off(void **state)
{
    (void)state;
    save_kept();
    live_standin_run(DOCUMENT(FLOATING, HPC_MARK PINNED_TO_3));
    config.node.hpc_cores = ONEIB_HPC_CORES_KEEP_OFF;
    assert_int_equal(restore(), 0);
    must_run_on(DOMAIN, "0-2");
}

static void who_must_not_be_resumed_keeps_the_checkpoint(void **state)
{
    (void)state;
    save_kept();
    live_standin_run(DOCUMENT(FLOATING, HPC_MARK PINNED_TO_3));
    config.node.hpc_cores = ONEIB_HPC_CORES_REFUSE;
    must_be_refused(restore(), "VM 42: it is not pinned");
    assert_logged("saved-replace", false);
    assert_true(tree_exists("/checkpoint"));
}

static void where_cores_are_shared_a_vm_without_nics_is_resumed_untouched(void **state)
{
    (void)state;
    save_kept();
    assert_int_equal(restore(), 0);
    assert_logged("saved-document", false);
    must_run_on(DOMAIN, "9");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_host, close_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(who_runs_is_kept_off_a_tuned_vms_cores_before_it_starts),
        CASE(a_deployment_that_fails_gives_back_what_it_took),
        CASE(a_tuned_vm_that_leaves_nothing_is_not_started),
        CASE(who_is_deployed_later_is_kept_off_and_starts_as_oned_says),
        CASE(a_tuned_vm_is_not_started_beside_one_that_nobody_has_pinned),
        CASE(one_that_nobody_has_pinned_is_not_started_beside_a_tuned_vm),
        CASE(between_the_look_and_the_start_nobody_else_looks),
        CASE(who_needs_no_look_waits_for_nobody),
        CASE(where_cores_are_shared_libvirt_is_not_even_asked),
        CASE(while_nobody_knows_who_runs_nobody_is_started),
        CASE(who_was_kept_off_elsewhere_is_not_where_it_is_resumed),
        CASE(who_is_resumed_later_is_kept_off),
        CASE(who_must_not_be_resumed_keeps_the_checkpoint),
        CASE(where_cores_are_shared_a_vm_without_nics_is_resumed_untouched),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
