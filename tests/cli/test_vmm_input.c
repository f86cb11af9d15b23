// SPDX-License-Identifier: Apache-2.0
/* Arguments, messages and files that OpenNebula would not give to the virtualization driver. */
#include "vmm_scene.h"

/* ---- bad input ------------------------------------------------------------------------------- */

static const char *const actions[] = {
    "deploy",  "attach_nic", "detach_nic",      "save",
    "restore", "migrate",    "snapshot_create", "snapshot_revert"};
#define ACTIONS (sizeof actions / sizeof *actions)

static void assert_usage(const char *name, const char *const *words)
{
    if (run_standin(name, words, "<VM/>") != 2)
        fail_msg("%s: %s", name, said);
    assert_contains(said, "usage: ");
}

static void too_few_arguments_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ACTIONS; i++) {
        assert_usage(actions[i], WORDS("--upstream"));
        assert_usage(actions[i], WORDS("--upstream", "/bin/true"));
        assert_usage(actions[i], WORDS("--upstream", "/bin/true", "a", "b", "3"));
        assert_usage(actions[i], WORDS(UUID, "a", "b", "c", "d", "e", "f", "g", "h", "i"));
    }
    assert_usage("reattach", (const char *const[]){NULL});
    assert_usage("reattach", WORDS("1", "2"));
}

/* All that a VM's id could be taken for. */
static void a_vm_id_is_a_number(void **state)
{
    (void)state;
    static const char *const ids[] = {"", "-1", "1x", " 1", "01", "0x1", "2147483648", "$(reboot)"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const char *id = ids[i];
        assert_told(run_standin("deploy", WORDS("--upstream", "x", "/d/f", "h", id, "h"), ""),
                    "the VM's id, argument 3");
        assert_told(run_standin("save", WORDS("--upstream", "x", UUID, "/c", "h", id, "h"), ""),
                    "the VM's id, argument 4");
        assert_told(run_standin("attach_nic",
                                WORDS("--upstream", "x", UUID, "02:00:0a:14:00:0c", "", "-",
                                      "ibrec", "one-1-3", id, "h"),
                                ""),
                    "the VM's id, argument 7");
        assert_told(run_standin("reattach", WORDS(id), ""), "the VM's id, argument 1");
    }
    assert_string_equal(live_standin_log(), "");
}

static void an_empty_deploy_id_is_refused(void **state)
{
    (void)state;
    assert_told(run_standin("save", WORDS("--upstream", "x", "", "/c", "h", "2", "h"), ""),
                "VM 2: OpenNebula does not say which domain it is");
    assert_told(run_standin("restore", WORDS("--upstream", "x", "/c", "h", "", "2", "h"), ""),
                "argument 3 of this action, DEPLOY_ID, is empty");
}

#define HOSTILE_NAME                                                                               \
    "<VMM_DRIVER_ACTION_DATA><VM><ID>2</ID><NAME>\nERROR: `reboot`</NAME><TEMPLATE><NIC>"          \
    "<NIC_ID>1</NIC_ID><VN_MAD>ibrec</VN_MAD><NETWORK_ID>a\nERROR: "                               \
    "\"$(reboot)\"\r</NETWORK_ID></NIC></TEMPLATE></VM></VMM_DRIVER_ACTION_DATA>"

/* Every action but deploy, whose standard input is the domain's document, and migrate_local. */
static int act_with(const char *name, const char *input)
{
    static const struct {
        const char *name, *action;
    } recorded[] = {
        {"attach_nic", ATTACH_2}, {"detach_nic", DETACH_2}, {"save", SAVE_2},
        {"restore", RESTORE_2},   {"migrate", MIGRATE_2},
    };
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++)
        if (strcmp(recorded[i].name, name) == 0)
            return act_on(name, recorded[i].action, input);
    return run_standin(
        name, WORDS("--upstream", UPSTREAM_STANDIN "/save", UUID_2, "0", "2", HOST_1), input);
}

static void hostile_messages_are_refused_in_one_line(void **state)
{
    (void)state;
    static const char *const inputs[] = {
        "",
        "\n",
        "%%%%",
        "<VM>",
        "<VM/>",
        "<VMM_DRIVER_ACTION_DATA/>",
        "PFZNLz4=",
        "<VMM_DRIVER_ACTION_DATA><VM><ID>2</ID></VM><VM><ID>2</ID></VM></VMM_DRIVER_ACTION_DATA>",
        "<!DOCTYPE VM [<!ENTITY a \"a\">]><VM><ID>2</ID><NAME>&a;</NAME></VM>",
    };
    for (size_t i = 1; i < ACTIONS; i++)
        for (size_t j = 0; j < sizeof inputs / sizeof *inputs; j++)
            assert_told(act_with(actions[i], inputs[j]), "VM 2: reading the VM that OpenNebula");
    assert_told(act_with("attach_nic", HOSTILE_NAME),
                "VM 2 NIC 1: NETWORK_ID \"a\\x0aERROR: \\x22$(reboot)\\x22");
    assert_told(act_with("restore", HOSTILE_NAME), "VM 2 NIC 1: NETWORK_ID");
    assert_told(act_with("detach_nic", HOSTILE_NAME), "VM 2 NIC 1: NETWORK_ID");
    assert_string_equal(live_standin_log(), "");
}

static void another_vms_message_is_refused(void **state)
{
    (void)state;
    char *message = message_of(SAVE_1);
    for (size_t i = 1; i < ACTIONS; i++)
        assert_told(act_with(actions[i], message),
                    "this action is for VM 2, but OpenNebula's document is that of VM 1");
    assert_told(run_standin("reattach", WORDS("2"), message), "this action is for VM 2");
    assert_string_equal(live_standin_log(), "");
    free(message);
}

static void endless_messages_are_refused(void **state)
{
    (void)state;
    const size_t length = (size_t)17 * 1024 * 1024;
    char *input = malloc(length + 1);
    assert_non_null(input);
    memset(input, 'A', length);
    input[length] = '\0';
    assert_told(act_with("save", input), "is larger than the 16777216 bytes allowed");
    free(input);
}

/* ---- vm.xml ---------------------------------------------------------------------------------- */

static void without_vm_xml_nothing_is_deployed(void **state)
{
    (void)state;
    char *vm = document_to_deploy(MIGRATE_2, UUID_2);
    assert_told(act(DEPLOY_2), "VM 2: OpenNebula's document of the VM");
    assert_contains(said, "/var/lib/one/datastores/0/2/vm.xml does not exist");
    write_vm_xml(2, "");
    assert_told(act(DEPLOY_2), "VM 2: reading the VM that OpenNebula sent");
    write_vm_xml(1, "<VM><ID>1</ID></VM>");
    write_vm_xml(2, "<VM><ID>1</ID></VM>");
    assert_told(act(DEPLOY_2), "this action is for VM 2");
    tree_remove("/var/lib/one/datastores/0/2/vm.xml");
    tree_make_directory("/var/lib/one/datastores/0/2/vm.xml");
    assert_told(act(DEPLOY_2), "vm.xml is not a regular file");
    tree_remove("/var/lib/one/datastores/0/2/vm.xml");
    char *pipe_there = tree_path("/var/lib/one/datastores/0/2/vm.xml");
    assert_int_equal(mkfifo(pipe_there, 0600), 0);
    assert_told(act(DEPLOY_2), "vm.xml is not a regular file");
    free(pipe_there);
    assert_string_equal(live_standin_log(), "");
    free(vm);
}

static void a_vm_that_pre_was_not_called_for_is_not_deployed(void **state)
{
    (void)state;
    char *vm = document_to_deploy(MIGRATE_2, UUID_2);
    write_vm_xml(2, vm);
    assert_told(act(DEPLOY_2), "VM 2 NIC 1");
    assert_false(runs_here(2));
    free(vm);
}

static void a_bridge_is_refused(void **state)
{
    (void)state;
    char *vm = document_to_deploy(MIGRATE_2, UUID_2);
    must_net(NET_PRE, vm);
    vm = replaced(vm, KEY_5, KEY_5 "<BRIDGE>onebr0</BRIDGE>");
    write_vm_xml(2, vm);
    assert_told(act(DEPLOY_2), "BRIDGE");
    assert_false(runs_here(2));
    must_net(NET_CLEAN(HOST_1), vm);
    assert_nothing_is_left();
    free(vm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIFE(too_few_arguments_are_refused),
        LIFE(a_vm_id_is_a_number),
        LIFE(an_empty_deploy_id_is_refused),
        LIFE(hostile_messages_are_refused_in_one_line),
        LIFE(another_vms_message_is_refused),
        LIFE(endless_messages_are_refused),
        LIFE(without_vm_xml_nothing_is_deployed),
        LIFE(a_vm_that_pre_was_not_called_for_is_not_deployed),
        LIFE(a_bridge_is_refused),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
