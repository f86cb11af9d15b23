// SPDX-License-Identifier: Apache-2.0
/* VMs' lives through the programs of both drivers, in OpenNebula's order of calls. */
#include "vmm_scene.h"

/* ---- lives ----------------------------------------------------------------------------------- */

static void deployed_and_shut_down(void **state)
{
    (void)state;
    deploy_vm_2();
    assert_plugged(2, 1, 0, 15);
    stop_vm_2(HOST_1);
}

static void a_nic_comes_and_goes(void **state)
{
    (void)state;
    deploy_vm_2();
    for (int i = 0; i < 2; i++) {
        attach(ATTACH_2, UUID_2);
        assert_plugged(2, 1, 0, 15);
        assert_plugged(2, 2, 1, 17);
        detach(DETACH_2);
        assert_plugged(2, 1, 0, 15);
        assert_no_nic(2, 2);
    }
    stop_vm_2(HOST_1);
}

static void suspended_and_resumed(void **state)
{
    (void)state;
    deploy_vm_2();
    save(SAVE_2);
    assert_nothing_runs_and_nothing_is_left(2);
    configure_node();
    restore(RESTORE_2, UUID_2);
    assert_plugged(2, 1, 0, 15);
    stop_vm_2(HOST_1);
}

/* snapshot_create and snapshot_revert were not recorded: their arguments are those of OpenNebula's
 * one_vmm_exec.rb, their message is like any other. */
static void must_snapshot(const char *name, const char *argument)
{
    char *upstream = upstream_path(name), *message = message_of(SAVE_2);
    const int status = run_on(
        WORDS(program_for(name), name, "--upstream", upstream, UUID_2, argument, "2", HOST_1),
        message, strlen(message));
    free(message);
    free(upstream);
    if (status != 0)
        fail_msg("%s", said);
}

static void a_snapshot_is_made_and_gone_back_to(void **state)
{
    (void)state;
    char *vm = vm_in(SAVE_2);
    deploy_vm_2();
    must_snapshot("snapshot_create", "0");
    assert_plugged(2, 1, 0, 15);
    must_snapshot("snapshot_revert", "snap-0");
    must_net(NET_POST(UUID_2, HOST_1), vm);
    assert_plugged(2, 1, 0, 15);
    stop_vm_2(HOST_1);
    free(vm);
}

static void migrated_live_to_another_host(void **state)
{
    (void)state;
    deploy_vm_2();
    migrate_to_the_other_host();
    assert_plugged(2, 1, 0, 15);
    stop_vm_2(HOST_2);
}

/* All of it on one VM. */
static void a_whole_life(void **state)
{
    (void)state;
    deploy_vm_2();
    attach(ATTACH_2, UUID_2);
    detach(DETACH_2);
    save(SAVE_2);
    restore(RESTORE_2, UUID_2);
    must_snapshot("snapshot_create", "0");
    assert_plugged(2, 1, 0, 15);
    migrate_to_the_other_host();
    assert_plugged(2, 1, 0, 15);
    stop_vm_2(HOST_2);
    go_to(home);
    assert_nothing_is_left();
}

/* The scheduler chose 0000:81:00.1, in the guest 01:00.0. */
static void a_pci_nic_beside_a_plain_one(void **state)
{
    (void)state;
    deploy_vm_1();
    assert_plugged(1, 1, 0, 10);
    assert_plugged(1, 2, 1, 11);
    attach(ATTACH_1, UUID_1);
    assert_plugged(1, 3, 2, 12);
    save(SAVE_1);
    assert_nothing_runs_and_nothing_is_left(1);
    configure_node();
    restore(RESTORE_1, UUID_1);
    assert_plugged(1, 1, 0, 10);
    assert_plugged(1, 2, 1, 11);
    assert_plugged(1, 3, 2, 12);
    detach(DETACH_1);
    assert_no_nic(1, 3);
    assert_plugged(1, 2, 1, 11);
    stop(SAVE_1, 1, UUID_1, HOST_1);
    assert_nothing_runs_and_nothing_is_left(1);
}

/* ---- OpenNebula's own actions ---------------------------------------------------------------- */

static void a_missing_upstream_driver_is_told_before_anything_is_touched(void **state)
{
    (void)state;
    deploy_vm_2();
    live_standin_forget_log();
    char *message = message_of(SAVE_2);
    assert_told(
        run_standin("save",
                    WORDS("--upstream", "/nowhere/kvm/save", UUID_2, "/c", HOST_1, "2", HOST_1),
                    message),
        "OpenNebula's KVM driver is not on this host (/nowhere/kvm/save): onehost sync");
    assert_told(run_standin("migrate",
                            WORDS("--upstream", "/etc/passwd", UUID_2, HOST_2, HOST_1, "2", HOST_1),
                            message),
                "OpenNebula's KVM driver is not on this host (/etc/passwd)");
    assert_string_equal(live_standin_log(), "");
    assert_plugged(2, 1, 0, 15);
    free(message);
}

static void what_the_upstream_action_says_and_ends_with_is_handed_on(void **state)
{
    (void)state;
    deploy_vm_2();
    live_standin_fault("upstream save fail 77");
    assert_int_equal(act(SAVE_2), 77);
    assert_string_equal(said, "ERROR: save: told to fail\n");
    assert_plugged(2, 1, 0, 15);
}

static void what_could_not_be_plugged_in_again_is_a_warning(void **state)
{
    (void)state;
    deploy_vm_2();
    live_standin_fault("upstream save fail 77");
    live_standin_fault("attach-fails ua-oneib-1");
    assert_int_equal(act(SAVE_2), 77);
    assert_contains(said, "ERROR: save: told to fail\nWARN: VM 2");
    assert_nic(2, 1, 0, 15, false);
    live_standin_heal();
    assert_int_equal(run_standin("reattach", WORDS("2"), ""), 0);
    assert_string_equal(said, "");
    assert_plugged(2, 1, 0, 15);
}

static void a_guest_that_keeps_its_vf_is_not_saved(void **state)
{
    (void)state;
    deploy_vm_2();
    live_standin_fault("keeps ua-oneib-1");
    assert_told(act(SAVE_2), "VM 2");
    assert_plugged(2, 1, 0, 15);
    live_standin_heal();
    save(SAVE_2);
    assert_nothing_runs_and_nothing_is_left(2);
}

/* Its disks move to another datastore: even what is no message at all goes there as it is. */
static void migration_within_the_host_is_opennebulas(void **state)
{
    (void)state;
    deploy_vm_2();
    live_standin_forget_log();
    assert_int_equal(run_standin("migrate",
                                 WORDS("--upstream", UPSTREAM_STANDIN "/migrate", UUID_2, HOST_1,
                                       HOST_1, "2", HOST_1, "and", "more"),
                                 "input"),
                     0);
    assert_string_equal(said, "");
    assert_contains(live_standin_log(),
                    "upstream migrate " UUID_2 " localhost localhost 2 localhost and more stdin=");
    assert_plugged(2, 1, 0, 15);
}

/* ---- what a deployment takes ----------------------------------------------------------------- */

static bool is_linked_with_libvirt(const char *program)
{
    static const char library[] = "libvirt.so";
    struct stat status;
    const int fd = open(program, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0)
        fail_msg("%s cannot be read", program);
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    const bool found = memmem(bytes, (size_t)status.st_size, library, strlen(library)) != NULL;
    munmap(bytes, (size_t)status.st_size);
    close(fd);
    return found;
}

/* Only one that chooses cores asks it who has some. */
static void a_deployment_loads_no_libvirt(void **state)
{
    (void)state;
    assert_false(is_linked_with_libvirt(VMM_DEPLOY));
    assert_true(is_linked_with_libvirt(VMM_DRIVER));
}

/* It says what this host, which shows no cores, cannot give: so libvirt was asked, and the domain's
 * document was handed over. */
static void a_vm_that_wants_cores_is_left_to_the_program_that_does(void **state)
{
    (void)state;
    struct call call = {0};
    char *upstream = upstream_path("deploy"), *domain = message_of(DEPLOY_2);
    char *vm = replaced(document_to_deploy(MIGRATE_2, UUID_2), "<TEMPLATE><AUTO",
                        "<TEMPLATE><IB_HPC>YES</IB_HPC><AUTO");
    assert_contains(vm, "<IB_HPC>");
    must_net(NET_PRE, vm);
    write_vm_xml(2, vm);
    add_argument(&call, VMM_DEPLOY);
    add_argument(&call, "deploy");
    add_argument(&call, "--upstream");
    add_argument(&call, upstream);
    add_recorded(&call, DEPLOY_2);
    assert_told(run_on(call.argv, domain, strlen(domain)), "VM 2: IB_HPC");
    assert_false(runs_here(2));
    must_net(NET_CLEAN(HOST_1), vm);
    free(call.text);
    free(domain);
    free(upstream);
    free(vm);
}

/* It says what this host does not show, so libvirt was asked. */
static void a_vm_without_infiniband_is_left_to_it_where_others_cores_are_kept(void **state)
{
    (void)state;
    struct call call = {0};
    char *upstream = upstream_path("deploy");
    char *vm = replaced(document_to_deploy(MIGRATE_2, UUID_2), "ibrec", "bridge");
    char *domain = replaced(message_of(DEPLOY_2), "ibrec", "bridge");
    char settings[1024];
    snprintf(settings, sizeof settings,
             "one: { vn_mad = \"ibrec\"; }; node: { libvirt = "
             "\"test://%s/var/lib/live-standin/node.xml\"; hpc_cores = \"refuse\"; };",
             tree_root());
    tree_write(settings, "/etc/oneib/oneib.conf");
    write_vm_xml(2, vm);
    add_argument(&call, VMM_DEPLOY);
    add_argument(&call, "deploy");
    add_argument(&call, "--upstream");
    add_argument(&call, upstream);
    add_recorded(&call, DEPLOY_2);
    assert_told(run_on(call.argv, domain, strlen(domain)), "reading the host's cores and memory");
    assert_false(runs_here(2));
    free(call.text);
    free(upstream);
    free(domain);
    free(vm);
}

static void a_vm_without_infiniband_is_deployed_without_the_service(void **state)
{
    (void)state;
    char *vm = replaced(document_to_deploy(MIGRATE_2, UUID_2), "ibrec", "bridge");
    char *domain = replaced(message_of(DEPLOY_2), "ibrec", "bridge");
    stop_node(SIGKILL);
    must_net(NET_PRE, vm);
    write_vm_xml(2, vm);
    assert_int_equal(act_on("deploy", DEPLOY_2, domain), 0);
    must_net(NET_POST(UUID_2, HOST_1), vm);
    assert_true(runs_here(2));
    must_net(NET_CLEAN(HOST_1), vm);
    free(domain);
    free(vm);
}

/* ---- names ----------------------------------------------------------------------------------- */

#define HOSTILE "<![CDATA[</name>'\"\"; <VM>&amp;`reboot`$(reboot)]]>"

static void names_with_quotes_and_markup_are_but_names(void **state)
{
    (void)state;
    char *vm = document_to_deploy(MIGRATE_2, UUID_2), *domain = message_of(DEPLOY_2);
    vm = replaced(vm, "<NAME>t-ibnopci-2</NAME>", "<NAME>" HOSTILE "</NAME>");
    domain = replaced(domain, "<title>t-ibnopci-2</title>", "<title>" HOSTILE "</title>");
    assert_contains(vm, HOSTILE);
    assert_contains(domain, HOSTILE);
    must_net(NET_PRE, vm);
    write_vm_xml(2, vm);
    if (act_on("deploy", DEPLOY_2, domain) != 0)
        fail_msg("%s", said);
    assert_plugged(2, 1, 0, 15);
    char *message =
        replaced(message_of(SAVE_2), "<NAME>t-ibnopci-2</NAME>", "<NAME>" HOSTILE "</NAME>");
    assert_contains(message, HOSTILE);
    assert_int_equal(act_on("save", SAVE_2, message), 0);
    must_net(NET_CLEAN(HOST_1), vm);
    assert_nothing_runs_and_nothing_is_left(2);
    free(message);
    free(domain);
    free(vm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(deployed_and_shut_down),
        LIFE(a_nic_comes_and_goes),
        LIFE(suspended_and_resumed),
        LIFE(a_snapshot_is_made_and_gone_back_to),
        LIFE(migrated_live_to_another_host),
        LIFE(a_whole_life),
        LIFE(a_pci_nic_beside_a_plain_one),
        LIFE(a_missing_upstream_driver_is_told_before_anything_is_touched),
        LIFE(what_the_upstream_action_says_and_ends_with_is_handed_on),
        LIFE(what_could_not_be_plugged_in_again_is_a_warning),
        LIFE(a_guest_that_keeps_its_vf_is_not_saved),
        LIFE(migration_within_the_host_is_opennebulas),
        LIFE(a_deployment_loads_no_libvirt),
        LIFE(a_vm_that_wants_cores_is_left_to_the_program_that_does),
        LIFE(a_vm_without_infiniband_is_left_to_it_where_others_cores_are_kept),
        LIFE(a_vm_without_infiniband_is_deployed_without_the_service),
        LIFE(names_with_quotes_and_markup_are_but_names),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
