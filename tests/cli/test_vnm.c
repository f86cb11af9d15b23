// SPDX-License-Identifier: Apache-2.0
/*
 * The network driver's programs on a simulated node, with the documents that OpenNebula 7.4 sent.
 * The recorded network had a bridge and no P_Key; where it has to be one of ours, that is replaced.
 * oneib-node-standin stands in for oneib-node, which tells what libvirt says from a file.
 */
#include "../base64.h"
#include "../skip.h"
#include "base/command.h"
#include "hca/tree.h"
#include "run.h"

#include "../node_standin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_TOO_LONG ((size_t)33 * 1024 * 1024)

static int status;
static struct oneib_text out, errors;

/* ---- the node -------------------------------------------------------------------------------- */

/* libvirt itself is asked by what post calls last: it has no domains. */
static void configure(void)
{
    char *text;
    assert_true(asprintf(&text,
                         "one: { vn_mad = \"ibrec\"; };\n"
                         "node: { libvirt = \"test://%s/node.xml\"; };\n",
                         tree_root()) > 0);
    tree_write(text, "/etc/oneib/oneib.conf");
    tree_write("<node></node>", "/node.xml");
    free(text);
}

static int begin(void **state)
{
    if (tree_reset(state) < 0)
        return -1;
    tree_remove("/calls");
    tree_remove("/refuse");
    tree_remove("/hooks");
    tree_write("running other 0000:81:00.7", "/domains");
    configure();
    start_node_standin();
    return 0;
}

static void forget_output(void)
{
    oneib_text_clear(&out);
    oneib_text_clear(&errors);
}

static int end(void **state)
{
    (void)state;
    stop_node_standin();
    forget_output();
    return 0;
}

/* A file of the node whole; "" when it is not there. */
static const char *content(const char *name)
{
    static char text[16384];
    char *path = tree_path("/%s", name);
    FILE *file = fopen(path, "r");
    free(path);
    text[0] = '\0';
    if (!file)
        return text;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* A hook of `action` in the directory "hooks". */
static void write_hook(const char *name, const char *script)
{
    tree_write(script, "/hooks/%s", name);
    tree_set_mode(0755, "/hooks/%s", name);
}

/* ---- documents ------------------------------------------------------------------------------- */

static char *recorded_action(const char *action)
{
    char path[512];
    static char text[65536];
    snprintf(path, sizeof path, ONEIB_TEST_DATA "/opennebula-7.4/actions/%s/stdin.decoded", action);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("cannot open %s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* With `new` wherever the recorded network's bridge is; the result is freed with free(). */
static char *recorded_with(const char *action, const char *new)
{
    static const char bridge[] = "<BRIDGE><![CDATA[onebr0]]></BRIDGE>"
                                 "<BRIDGE_TYPE><![CDATA[linux]]></BRIDGE_TYPE>";
    struct oneib_text changed = {0};
    const char *rest = recorded_action(action);
    for (const char *at; (at = strstr(rest, bridge)); rest = at + strlen(bridge)) {
        oneib_text_append_bytes(&changed, rest, (size_t)(at - rest));
        oneib_text_append(&changed, new);
    }
    oneib_text_append(&changed, rest);
    return changed.data;
}

/* ---- runs ------------------------------------------------------------------------------------ */

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static int run_on(const char *const *argv, const char *input, size_t length)
{
    const struct oneib_command command = {
        .argv = argv,
        .input = input,
        .input_length = length,
        .timeout_ms = 60000,
        .output_max = 65536,
    };
    struct oneib_error err = {0};
    forget_output();
    if (oneib_command_capture(&command, &out, &errors, &status, &err) < 0)
        fail_msg("%s", err.text);
    return status;
}

/* On a document, in base64 as oned writes it. */
static int run(const char *const *argv, const char *xml)
{
    const size_t length = base64_length(strlen(xml));
    char *text = malloc(length + 1);
    assert_non_null(text);
    base64_encode(xml, strlen(xml), text);
    text[length] = '\n';
    run_on(argv, text, length + 1);
    free(text);
    return status;
}

static int run_recorded(const char *const *argv, const char *action, const char *new)
{
    char *xml = recorded_with(action, new);
    run(argv, xml);
    free(xml);
    return status;
}

static void assert_done(void)
{
    assert_string_equal(errors.data ? errors.data : "", "");
    assert_int_equal(status, 0);
    assert_null(out.data);
}

/* As OpenNebula wants it: exit status 1, and one line with the reason on standard error. */
static void assert_failed(const char *reason)
{
    assert_int_equal(status, 1);
    assert_null(out.data);
    assert_non_null(errors.data);
    assert_contains(errors.data, reason);
    if (strchr(errors.data, '\n') != errors.data + errors.length - 1)
        fail_msg("this is not one line: %s", errors.data);
}

static void assert_calls(const char *expected)
{
    assert_string_equal(content("calls"), expected);
}

#define KEY "<VLAN_ID><![CDATA[5]]></VLAN_ID>"
#define UUID "5dec61fb-6338-452b-9e09-76372ec01406"

/* ---- the life of a VM ------------------------------------------------------------------------ */

static void deploy_and_shutdown(void **state)
{
    (void)state;
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0001-vnm.ibrec.pre.vm1", KEY);
    assert_done();
    assert_calls("have --vm 1 --nic 2 --network 1\n"
                 "have --vm 1 --nic 1 --network 1\nwait\n");
    tree_remove("/calls");
    run_recorded(WORDS(VNM_DRIVER, "post", UUID, "localhost"), "0001-vnm.ibrec.pre.vm1", KEY);
    assert_done();
    assert_calls("");
    run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0001-vnm.ibrec.pre.vm1", KEY);
    assert_done();
    assert_calls("release --vm 1\nwait\n");
    assert_string_equal(content("run/oneib/vfs"), "");
}

static void attach_and_detach_of_a_pci_nic(void **state)
{
    (void)state;
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0009-vnm.ibrec.pre.vm1", KEY);
    assert_done();
    assert_calls("have --vm 1 --nic 4 --attach --network 1\n"
                 "wait\n");
    tree_remove("/calls");
    run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0019-vnm.ibrec.clean.vm1", KEY);
    assert_done();
    assert_calls("release --vm 1 --nic 4 --nic-gone\nwait\n");
}

static void attach_of_an_alias_does_nothing(void **state)
{
    (void)state;
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0116-vnm.ibrec.pre.vm6", KEY);
    assert_done();
    run_recorded(WORDS(VNM_DRIVER, "post", UUID, "vm"), "0116-vnm.ibrec.pre.vm6", KEY);
    assert_done();
    run_recorded(WORDS(VNM_DRIVER, "clean", "vm"), "0116-vnm.ibrec.pre.vm6", KEY);
    assert_done();
    assert_calls("");
}

static void live_migration(void **state)
{
    (void)state;
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0053-vnm.ibrec.clean.vm2", KEY);
    assert_done();
    assert_calls("have --vm 2 --nic 1 --defer-guid --network 1\nwait\n");
    tree_remove("/calls");
    run_recorded(WORDS(VNM_DRIVER, "post", UUID, "localhost"), "0054-vnm.ibrec.post.vm2", KEY);
    assert_done();
    assert_calls("have --vm 2 --nic 1 --network 1\nwait\n");
    tree_remove("/calls");
    run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0053-vnm.ibrec.clean.vm2", KEY);
    assert_done();
    assert_calls("release --vm 2\nwait\n");
}

static void clean_of_the_source_where_the_table_was_lost(void **state)
{
    (void)state;
    run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0044-vnm.ibrec.clean.vm1", KEY);
    assert_done();
    assert_calls("release --vm 1 --vf 0000:81:00.1\nwait\n");
}

static void an_update_of_a_network_is_none_of_the_drivers(void **state)
{
    (void)state;
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0001-vnm.ibrec.pre.vm1", KEY);
    tree_remove("/calls");
    run_recorded(WORDS(ONEIB_REMOTES "/vnm/infiniband/update_nic", UUID, "1"),
                 "0022-vnm.ibrec.update_nic.vm1", "<VLAN_ID>6</VLAN_ID>");
    assert_done();
    assert_calls("");
}

static void pre_twice_and_clean_twice_are_one(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        run_recorded(WORDS(VNM_DRIVER, "pre"), "0001-vnm.ibrec.pre.vm1", KEY);
        assert_done();
    }
    for (int i = 0; i < 2; i++) {
        run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0001-vnm.ibrec.pre.vm1", KEY);
        assert_done();
    }
    assert_string_equal(content("run/oneib/vfs"), "");
}

static void update_sg_has_nothing_to_do(void **state)
{
    (void)state;
    run_recorded(WORDS(ONEIB_REMOTES "/vnm/infiniband/update_sg", UUID), "0001-vnm.ibrec.pre.vm1",
                 KEY);
    assert_done();
    assert_calls("");
}

/* ---- failures -------------------------------------------------------------------------------- */

static void a_network_with_a_bridge_is_refused(void **state)
{
    (void)state;
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0001-vnm.ibrec.pre.vm1", KEY "<BRIDGE>onebr0</BRIDGE>");
    assert_failed("VM 1 NIC 1: network 1 has a BRIDGE");
    assert_calls("");
}

static void a_refusal_of_the_service_is_told_and_undone(void **state)
{
    (void)state;
    tree_write("--nic 2", "/refuse");
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0001-vnm.ibrec.pre.vm1", KEY);
    assert_failed("the stand-in refuses");
    assert_string_equal(content("run/oneib/vfs"), "");
}

/* VM 2 has VF 0000:81:00.3. */
static void give_vm_2(void)
{
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0053-vnm.ibrec.clean.vm2", KEY);
    assert_done();
    assert_contains(content("run/oneib/vfs"), "vf=0000:81:00.3 ");
}

/* The VM is gone by then: OpenNebula must not take it for a VM that could not be saved. */
static void clean_that_waits_in_vain_warns_and_succeeds(void **state)
{
    (void)state;
    give_vm_2();
    tree_write("wait", "/refuse");
    run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0053-vnm.ibrec.clean.vm2", KEY);
    assert_int_equal(status, 0);
    assert_string_equal(errors.data, "WARN: the stand-in refuses\n");
}

static void clean_that_cannot_close_a_vf_fails(void **state)
{
    (void)state;
    give_vm_2();
    tree_write("release", "/refuse");
    run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0053-vnm.ibrec.clean.vm2", KEY);
    assert_failed("the stand-in refuses");
}

/* It has not left this host then: its migration was to another datastore of it. */
static void clean_leaves_alone_what_a_running_vm_still_has(void **state)
{
    (void)state;
    give_vm_2();
    tree_write("running one-2 0000:81:00.3", "/domains");
    run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0053-vnm.ibrec.clean.vm2", KEY);
    assert_done();
    assert_contains(content("run/oneib/vfs"), "vf=0000:81:00.3 ");
}

/* It has its state again, or has come from another host with it: OpenNebula must not cancel it. */
static void post_of_a_vm_that_runs_without_its_vf_warns_and_succeeds(void **state)
{
    (void)state;
    char *hooks = tree_path("/hooks");
    write_hook("note", "#!/bin/sh\necho hook >>\"$ONEIB_NODE_ROOT/calls\"");
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0053-vnm.ibrec.clean.vm2", KEY);
    assert_done();
    tree_remove("/calls");
    tree_write("--nic 1", "/refuse");
    tree_write("running one-2", "/domains");
    run_recorded(WORDS(VNM_DRIVER, "post", "--hooks", hooks, UUID, "localhost"),
                 "0054-vnm.ibrec.post.vm2", KEY);
    assert_int_equal(status, 0);
    assert_string_equal(errors.data, "WARN: the stand-in refuses\n");
    assert_calls("have --vm 2 --nic 1 --network 1\nwait\nlist\nhook\n");
    free(hooks);
}

/* So must one that ran before, although it has its VF: whether it was resumed or deployed post
 * cannot tell. */
static void post_of_a_vm_that_has_its_vf_warns_too(void **state)
{
    (void)state;
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0053-vnm.ibrec.clean.vm2", KEY);
    assert_done();
    tree_write("--nic 1", "/refuse");
    tree_write("running one-2 0000:81:00.3", "/domains");
    run_recorded(WORDS(VNM_DRIVER, "post", UUID, "localhost"), "0054-vnm.ibrec.post.vm2", KEY);
    assert_int_equal(status, 0);
    assert_string_equal(errors.data, "WARN: the stand-in refuses\n");
}

static void without_the_service_nothing_is_handed_out(void **state)
{
    (void)state;
    stop_node_standin();
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0001-vnm.ibrec.pre.vm1", KEY);
    assert_failed("systemctl start oneib-node");
    assert_calls("");
}

/* What it has may be open. */
static void nor_is_a_vm_that_has_something_taken_for_clean(void **state)
{
    (void)state;
    give_vm_2();
    stop_node_standin();
    run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0053-vnm.ibrec.clean.vm2", KEY);
    assert_failed("systemctl start oneib-node");
}

static void a_vm_without_anything_here_needs_no_service(void **state)
{
    (void)state;
    stop_node_standin();
    run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0053-vnm.ibrec.clean.vm2", KEY);
    assert_done();
}

static void a_damaged_table_stops_everything(void **state)
{
    (void)state;
    tree_write("nonsense", "/run/oneib/vfs");
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0001-vnm.ibrec.pre.vm1", KEY);
    assert_failed("run/oneib/vfs");
    run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0001-vnm.ibrec.pre.vm1", KEY);
    assert_failed("run/oneib/vfs");
    assert_calls("");
}

static void a_wrong_configuration_is_told(void **state)
{
    (void)state;
    tree_write("node: { pkey_wait = \"7\"; };", "/etc/oneib/oneib.conf");
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0001-vnm.ibrec.pre.vm1", KEY);
    assert_failed("oneib.conf");
}

static void assert_usage(const char *const *argv)
{
    run(argv, "<VM/>");
    assert_int_equal(status, 2);
    assert_null(out.data);
    assert_contains(errors.data, "usage: ");
    assert_calls("");
}

static void arguments_are_strict(void **state)
{
    (void)state;
    assert_usage(WORDS(VNM_DRIVER, "pre", "x"));
    assert_usage(WORDS(VNM_DRIVER, "pre", "--hooks"));
    assert_usage(WORDS(VNM_DRIVER, "post", UUID));
    assert_usage(WORDS(VNM_DRIVER, "post", UUID, "a", "b"));
    assert_usage(WORDS(VNM_DRIVER, "clean"));
    assert_usage(WORDS(VNM_DRIVER, "clear", "a"));
    assert_usage(WORDS(VNM_DRIVER));
}

static void hostile_input_is_refused_in_one_line(void **state)
{
    (void)state;
    const char *const inputs[] = {"", "\n", "%%%%", "PFZN\n", "<VM/>", "PFZNLz4="};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        run_on(WORDS(VNM_DRIVER, "pre"), inputs[i], strlen(inputs[i]));
        assert_failed("");
        run_on(WORDS(VNM_DRIVER, "clean", "a"), inputs[i], strlen(inputs[i]));
        assert_failed("");
    }
    run(WORDS(VNM_DRIVER, "pre"),
        "<VM><ID>1</ID><TEMPLATE><NIC><NIC_ID>1</NIC_ID><VN_MAD>ibrec</VN_MAD>"
        "<NETWORK_ID>a\nERROR: `reboot`\r</NETWORK_ID></NIC>"
        "</TEMPLATE></VM>");
    assert_failed("VM 1 NIC 1: NETWORK_ID");
    assert_calls("");
}

static void endless_input_is_refused(void **state)
{
    (void)state;
    char *input = malloc(INPUT_TOO_LONG);
    assert_non_null(input);
    memset(input, 'A', INPUT_TOO_LONG);
    run_on(WORDS(VNM_DRIVER, "pre"), input, INPUT_TOO_LONG);
    assert_failed("the VM's document on standard input is larger than the");
    free(input);
}

static void clean_goes_on_where_a_nic_is_malformed(void **state)
{
    (void)state;
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0001-vnm.ibrec.pre.vm1", KEY);
    run_recorded(WORDS(VNM_DRIVER, "clean", "localhost"), "0001-vnm.ibrec.pre.vm1",
                 KEY "<NETWORK_ID>8</NETWORK_ID>");
    assert_done();
    assert_string_equal(content("run/oneib/vfs"), "");
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static void hooks_run_after_the_drivers_part(void **state)
{
    (void)state;
    char *hooks = tree_path("/hooks");
    write_hook("note", "#!/bin/sh\necho \"hook $*\" >>\"$ONEIB_NODE_ROOT/calls\"\n"
                       "base64 -d | grep -c '<VM><ID>1</ID>' >>\"$ONEIB_NODE_ROOT/calls\"");
    run_recorded(WORDS(VNM_DRIVER, "pre", "--hooks", hooks), "0009-vnm.ibrec.pre.vm1", KEY);
    assert_done();
    assert_calls("have --vm 1 --nic 4 --attach --network 1\n"
                 "wait\nhook \n1\n");
    tree_remove("/calls");
    run_recorded(WORDS(VNM_DRIVER, "post", "--hooks", hooks, UUID, "localhost"),
                 "0009-vnm.ibrec.pre.vm1", KEY);
    assert_done();
    assert_calls("hook " UUID " localhost\n1\n");
    tree_remove("/calls");
    run_recorded(WORDS(VNM_DRIVER, "clean", "--hooks", hooks, "localhost"),
                 "0019-vnm.ibrec.clean.vm1", KEY);
    assert_done();
    assert_calls("release --vm 1 --nic 4 --nic-gone\nwait\nhook localhost\n1\n");
    free(hooks);
}

static void a_hook_that_fails_undoes_pre(void **state)
{
    (void)state;
    char *hooks = tree_path("/hooks");
    write_hook("fail", "#!/bin/sh\necho 'not today' >&2; exit 1");
    run_recorded(WORDS(VNM_DRIVER, "pre", "--hooks", hooks), "0001-vnm.ibrec.pre.vm1", KEY);
    assert_failed("hook \"fail\" ended with exit status 1, \"not today");
    assert_string_equal(content("run/oneib/vfs"), "");
    free(hooks);
}

static void a_hook_that_fails_undoes_the_post_of_an_attach(void **state)
{
    (void)state;
    char *hooks = tree_path("/hooks");
    write_hook("fail", "#!/bin/sh\nexit 1");
    run_recorded(WORDS(VNM_DRIVER, "pre"), "0009-vnm.ibrec.pre.vm1", KEY);
    run_recorded(WORDS(VNM_DRIVER, "post", "--hooks", hooks, UUID, "localhost"),
                 "0009-vnm.ibrec.pre.vm1", KEY);
    assert_failed("hook");
    assert_string_equal(content("run/oneib/vfs"), "");
    free(hooks);
}

/* ---- what is installed below OpenNebula's remotes -------------------------------------------- */

static void scripts_say_what_is_missing(void **state)
{
    (void)state;
    const char *const actions[] = {"pre", "post", "clean", "vnet_create"};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        char script[512], program[128];
        snprintf(program, sizeof program, "/usr/libexec/oneib/vnm/%s",
                 strstr(actions[i], "vnet") ? actions[i] : "driver");
        if (access(program, F_OK) == 0) {
            skip_because("oneib is installed here");
        }
        snprintf(script, sizeof script, ONEIB_REMOTES "/vnm/infiniband/%s", actions[i]);
        run(WORDS(script, "a b"), "<VM/>");
        assert_failed(program);
        assert_contains(errors.data,
                        strstr(actions[i], "vnet") ? "install.sh --frontend" : "install.sh --node");
    }
}

static void readmes_are_no_hooks(void **state)
{
    (void)state;
    const char *const directories[] = {"pre.d", "post.d", "clean.d"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        char path[512];
        struct stat file;
        snprintf(path, sizeof path, ONEIB_REMOTES "/vnm/infiniband/%s/README", directories[i]);
        assert_int_equal(stat(path, &file), 0);
        assert_int_equal(file.st_mode & 0111, 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(deploy_and_shutdown),
        TEST(attach_and_detach_of_a_pci_nic),
        TEST(attach_of_an_alias_does_nothing),
        TEST(live_migration),
        TEST(clean_of_the_source_where_the_table_was_lost),
        TEST(an_update_of_a_network_is_none_of_the_drivers),
        TEST(pre_twice_and_clean_twice_are_one),
        TEST(update_sg_has_nothing_to_do),
        TEST(a_network_with_a_bridge_is_refused),
        TEST(a_refusal_of_the_service_is_told_and_undone),
        TEST(clean_that_waits_in_vain_warns_and_succeeds),
        TEST(clean_that_cannot_close_a_vf_fails),
        TEST(clean_leaves_alone_what_a_running_vm_still_has),
        TEST(post_of_a_vm_that_runs_without_its_vf_warns_and_succeeds),
        TEST(post_of_a_vm_that_has_its_vf_warns_too),
        TEST(without_the_service_nothing_is_handed_out),
        TEST(nor_is_a_vm_that_has_something_taken_for_clean),
        TEST(a_vm_without_anything_here_needs_no_service),
        TEST(a_damaged_table_stops_everything),
        TEST(a_wrong_configuration_is_told),
        TEST(arguments_are_strict),
        TEST(hostile_input_is_refused_in_one_line),
        TEST(endless_input_is_refused),
        TEST(clean_goes_on_where_a_nic_is_malformed),
        TEST(hooks_run_after_the_drivers_part),
        TEST(a_hook_that_fails_undoes_pre),
        TEST(a_hook_that_fails_undoes_the_post_of_an_attach),
        TEST(scripts_say_what_is_missing),
        TEST(readmes_are_no_hooks),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
