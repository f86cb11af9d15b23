// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "hca/vf_ops.h"
#include "scripted.h"
#include "tree.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "../../skip.h"
#include <cmocka.h>

#define GUID 0x0200000000002a01
#define GUID_TEXT "02:00:00:00:00:00:2a:01"
#define NO_GUID_TEXT "ff:ff:ff:ff:ff:ff:ff:ff"
#define NEVER_SET_TEXT "00:00:00:00:00:00:00:00"
#define SRIOV "/sys/class/infiniband/mlx5_0/device/sriov"
#define VF 1
#define VF_PCI "0000:81:00.2"

static const struct tree_hca adapter = {.driver = ONEIB_HCA_MLX5, .vfs = 3};
static const struct tree_hca without_files = {
    .driver = ONEIB_HCA_MLX5, .vfs = 3, .without_sriov_directory = true};

struct scene {
    struct oneib_hcas hcas;
    const struct oneib_hca *hca;
    const struct oneib_vf *vf;
};

static void open_scene(struct scene *scene, const struct tree_hca *tree)
{
    struct oneib_error err = {0};
    *scene = (struct scene){0};
    tree_add_hca(tree);
    if (oneib_hcas_read(ONEIB_HCA_VFS, &scene->hcas, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(scene->hcas.count, 1);
    scene->hca = &scene->hcas.items[0];
    assert_int_equal(scene->hca->fault.code, ONEIB_ERROR_NONE);
    scene->vf = &scene->hca->vfs[VF];
}

static void close_scene(struct scene *scene)
{
    oneib_hcas_clear(&scene->hcas);
}
#define SCENE(name, tree)                                                                          \
    __attribute__((cleanup(close_scene))) struct scene name;                                       \
    open_scene(&name, tree)

static struct oneib_vf_state state_of(const struct scene *scene)
{
    struct oneib_error err = {0};
    struct oneib_vf_state state;
    if (oneib_vf_state_read(scene->hca, scene->vf, &state, &err) < 0)
        fail_msg("%s", err.text);
    return state;
}

static void must(int result, const struct oneib_error *err)
{
    if (result < 0)
        fail_msg("%s", err->text);
}

static void must_open(const struct scene *scene)
{
    struct oneib_error err = {0};
    must(oneib_vf_open(scene->hca, scene->vf, 1, 0, &err), &err);
}

static void must_set_guid(const struct scene *scene)
{
    struct oneib_error err = {0};
    must(oneib_vf_set_guid(scene->hca, scene->vf, 1, GUID, &err), &err);
}

static void must_not_set_guid(const struct scene *scene, const char *words)
{
    struct oneib_error err = {0};
    assert_int_equal(oneib_vf_set_guid(scene->hca, scene->vf, 1, GUID, &err), -1);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void must_not_be_read(const struct scene *scene, const char *words)
{
    struct oneib_error err = {0};
    struct oneib_vf_state state;
    assert_int_equal(oneib_vf_state_read(scene->hca, scene->vf, &state, &err), -1);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void file_is(const char *name, const char *expected)
{
    char value[32];
    tree_read(value, sizeof value, SRIOV "/%u/%s", VF, name);
    assert_string_equal(value, expected);
}

static void set_file(const char *name, const char *value)
{
    tree_write(value, SRIOV "/%u/%s", VF, name);
}

static void bound_file_is(const char *driver, const char *name, const char *expected)
{
    char value[32];
    tree_read(value, sizeof value, "/sys/bus/pci/drivers/%s/%s", driver, name);
    assert_string_equal(value, expected);
}

static void need_terminal(bool there)
{
    if (there)
        return;
    skip_because("there are no terminals here");
}

/* ---- what a VF is like ----------------------------------------------------------------------- */

static void a_vf_as_the_driver_leaves_it_is_closed_and_without_guid(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    const struct oneib_vf_state fresh = state_of(&scene);
    assert_true(fresh.closed);
    assert_false(fresh.fresh);
    assert_int_equal(fresh.index, -1);
    assert_int_equal(fresh.open_port, 0);
    assert_int_equal(fresh.ports, 1u << 1);
    assert_false(fresh.has_ethernet);
    assert_true(fresh.guid == 0);
    assert_true(fresh.guid_gone);
    assert_false(fresh.guid_shown);
}

static void a_link_that_is_not_down_is_not_closed(void **state)
{
    (void)state;
    static const char *const policies[] = {"Follow", "Up", "up"};
    SCENE(scene, &adapter);
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        set_file("policy", policies[i]);
        const struct oneib_vf_state open = state_of(&scene);
        assert_false(open.closed);
        assert_int_equal(open.open_port, 1);
        assert_int_equal(open.index, -1);
    }
}

static void one_guid_of_two_is_neither_accepted_nor_gone(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    set_file("node", GUID_TEXT);
    assert_true(state_of(&scene).guid == GUID);
    assert_false(state_of(&scene).guid_accepted);
    assert_false(state_of(&scene).guid_gone);
    set_file("node", NO_GUID_TEXT);
    set_file("port", GUID_TEXT);
    assert_true(state_of(&scene).guid == GUID);
    assert_false(state_of(&scene).guid_accepted);
    assert_false(state_of(&scene).guid_gone);
}

static void what_is_no_policy_and_no_guid_is_an_error(void **state)
{
    (void)state;
    static const char *const guids[] = {"",
                                        "02:00:00:00:00:00:2a",
                                        "02:00:00:00:00:00:2a:01:",
                                        "02:00:00:00:00:00:2a:0g",
                                        "0200000000002a01",
                                        "2:0:0:0:0:0:2a:1",
                                        "02-00-00-00-00-00-2a-01"};
    SCENE(scene, &adapter);
    for (size_t i = 0; i < sizeof guids / sizeof *guids; i++) {
        set_file("port", guids[i]);
        must_not_be_read(&scene, "not the eight colon-separated bytes of a GUID");
    }
    set_file("port", GUID_TEXT);
    set_file("policy", "Sideways");
    must_not_be_read(&scene, "/policy reads \"Sideways\", not Up, Down or Follow");
    set_file("policy", "");
    must_not_be_read(&scene, "reading virtual function 1 (" VF_PCI ") of mlx5_0");
}

static void a_missing_file_is_an_error(void **state)
{
    (void)state;
    static const char *const names[] = {"node", "port"};
    SCENE(scene, &adapter);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tree_remove(SRIOV "/%u/%s", VF, names[i]);
        must_not_be_read(&scene, names[i]);
        must_not_set_guid(&scene, names[i]);
        set_file(names[i], NEVER_SET_TEXT);
    }
}

static void an_unreadable_file_is_an_error(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    tree_set_mode(0200, SRIOV "/%u/policy", VF);
    must_not_be_read(&scene, "/policy");
}

static void an_adapter_that_offers_no_way_is_named_with_the_fix(void **state)
{
    (void)state;
    SCENE(scene, &without_files);
    struct oneib_error err = {0};
    must_not_be_read(&scene, "modprobe ib_ipoib");
    must_not_set_guid(&scene, "modprobe ib_ipoib");
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_int_equal(oneib_vf_open(scene.hca, scene.vf, 1, 0, &err), -1);
    assert_int_equal(oneib_vf_clear_guid(scene.hca, scene.vf, &err), -1);
}

static void set_interface(const char *name, const char *type, const char *ifindex)
{
    tree_write(type, "/sys/class/infiniband/mlx5_0/device/net/%s/type", name);
    tree_write(ifindex, "/sys/class/infiniband/mlx5_0/device/net/%s/ifindex", name);
}

static unsigned ipoib_of(const struct scene *scene)
{
    struct oneib_error err = {0};
    unsigned ifindex = 99;
    must(oneib_vf_find_ipoib(scene->hca, &ifindex, &err), &err);
    return ifindex;
}

static void netlink_goes_to_the_ipoib_interface_whatever_its_name(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    tree_remove("/sys/class/infiniband/mlx5_0/device/net");
    assert_int_equal(ipoib_of(&scene), 0);
    set_interface("eth7", "1", "5");
    set_interface("fast", "32", "nonsense");
    assert_int_equal(ipoib_of(&scene), 0);
    set_interface("storage", "32", "17");
    assert_int_equal(ipoib_of(&scene), 17);
    set_interface("storage.8005", "32", "3");
    assert_int_equal(ipoib_of(&scene), 17);
}

static void a_simulated_interface_is_not_looked_for_in_this_kernel(void **state)
{
    (void)state;
    SCENE(scene, &without_files);
    /* That of this machine's loopback. */
    set_interface("ib0", "32", "1");
    must_not_be_read(&scene, "neither an IPoIB interface");
}

/* ---- closing and opening --------------------------------------------------------------------- */

static void closing_takes_the_link_down(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    struct oneib_error err = {0};
    bool closed = true;
    set_file("policy", "Follow");
    must(oneib_vf_close(scene.hca, scene.vf, &err), &err);
    file_is("policy", "Down");
    assert_true(state_of(&scene).closed);
    must(oneib_vf_close_unassigned(scene.hca, scene.vf, &closed, &err), &err);
    assert_false(closed);
}

static void closing_one_vf_leaves_the_others_alone(void **state)
{
    (void)state;
    char value[16];
    SCENE(scene, &adapter);
    struct oneib_error err = {0};
    tree_write("Follow", SRIOV "/%u/policy", VF + 1);
    must(oneib_vf_close(scene.hca, scene.vf, &err), &err);
    tree_read(value, sizeof value, SRIOV "/%u/policy", VF + 1);
    assert_string_equal(value, "Follow");
}

static void opening_lets_the_link_follow_the_ports(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    must_open(&scene);
    file_is("policy", "Follow");
    assert_int_equal(state_of(&scene).open_port, 1);
}

static void a_port_that_there_is_not_is_not_opened(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    struct oneib_error err = {0};
    assert_int_equal(oneib_vf_open(scene.hca, scene.vf, 2, 0, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    file_is("policy", "Down");
}

static void a_vf_with_an_ethernet_port_says_so_and_is_not_opened(void **state)
{
    (void)state;
    static const struct tree_hca mixed = {
        .driver = ONEIB_HCA_MLX5, .ports = 2, .vfs = 3, .ethernet_ports = 1u << 2};
    SCENE(scene, &mixed);
    struct oneib_error err = {0};
    assert_true(state_of(&scene).has_ethernet);
    for (uint8_t port = 1; port <= 2; port++) {
        assert_int_equal(oneib_vf_open(scene.hca, scene.vf, port, 0, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    }
    file_is("policy", "Down");
}

/* Whose number does not fit into seven bits. */
static void the_last_of_254_vfs_is_opened_and_no_other(void **state)
{
    (void)state;
    const struct tree_hca many = {.driver = ONEIB_HCA_MLX5, .vfs = 254};
    char value[32];
    SCENE(scene, &many);
    scene.vf = &scene.hca->vfs[253];
    must_open(&scene);
    must_set_guid(&scene);
    for (unsigned vf = 0; vf < 254; vf++) {
        tree_read(value, sizeof value, SRIOV "/%u/policy", vf);
        assert_string_equal(value, vf == 253 ? "Follow" : "Down");
        tree_read(value, sizeof value, SRIOV "/%u/port", vf);
        assert_string_equal(value, vf == 253 ? GUID_TEXT : NEVER_SET_TEXT);
    }
}

/* As the driver shows the PF's port in switchdev mode. */
static void no_vf_of_an_adapter_in_switchdev_mode_is_opened_or_gets_a_guid(void **state)
{
    (void)state;
    static const struct tree_hca uplink = {
        .driver = ONEIB_HCA_MLX5, .vfs = 3, .ethernet_ports = 1u << 1};
    SCENE(scene, &uplink);
    struct oneib_error err = {0};
    assert_true(state_of(&scene).has_ethernet);
    assert_int_equal(oneib_vf_open(scene.hca, scene.vf, 1, 0, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    must_not_set_guid(&scene, "it has no InfiniBand port 1");
    file_is("policy", "Down");
    file_is("port", NEVER_SET_TEXT);
}

static void a_read_only_policy_is_an_error(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    struct oneib_error err = {0};
    set_file("policy", "Follow");
    tree_set_mode(0444, SRIOV "/%u/policy", VF);
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_false(state_of(&scene).closed);
}

static void closing_without_effect_is_an_error(void **state)
{
    (void)state;
    struct scripted policy;
    char written[32];
    SCENE(scene, &adapter);
    struct oneib_error err = {0};
    oneib_autofree char *file = tree_path(SRIOV "/%u/policy", VF);
    need_terminal(scripted_open(&policy, file, "Follow\n"));
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    assert_non_null(strstr(err.text, "its link is still \"auto\" after \"disable\" was set"));
    scripted_written(&policy, written, sizeof written);
    assert_string_equal(written, "Down");
    scripted_close(&policy);
}

static void opening_without_effect_is_an_error_and_closes_again(void **state)
{
    (void)state;
    struct scripted policy;
    char written[32];
    SCENE(scene, &adapter);
    struct oneib_error err = {0};
    oneib_autofree char *file = tree_path(SRIOV "/%u/policy", VF);
    need_terminal(scripted_open(&policy, file, "Up\n"));
    assert_int_equal(oneib_vf_open(scene.hca, scene.vf, 1, 0, &err), -1);
    scripted_written(&policy, written, sizeof written);
    assert_string_equal(written, "FollowDown");
    scripted_close(&policy);
}

/* ---- GUIDs ----------------------------------------------------------------------------------- */

static void node_and_port_guid_are_the_same(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    must_set_guid(&scene);
    file_is("node", GUID_TEXT);
    file_is("port", GUID_TEXT);
    const struct oneib_vf_state told = state_of(&scene);
    assert_true(told.guid == GUID);
    assert_true(told.guid_accepted);
    assert_true(told.guid_shown);
    assert_false(told.guid_gone);
    assert_true(told.closed);
}

static void a_guid_that_is_taken_away_is_all_ones(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    struct oneib_error err = {0};
    must_set_guid(&scene);
    must(oneib_vf_clear_guid(scene.hca, scene.vf, &err), &err);
    file_is("node", NO_GUID_TEXT);
    file_is("port", NO_GUID_TEXT);
    const struct oneib_vf_state after = state_of(&scene);
    assert_true(after.guid == 0);
    assert_true(after.guid_gone);
    assert_false(after.guid_accepted);
    tree_set_mode(0444, SRIOV "/%u/node", VF);
    must(oneib_vf_clear_guid(scene.hca, scene.vf, &err), &err);
}

static void a_guid_that_is_there_is_not_written_again(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    must_set_guid(&scene);
    tree_set_mode(0444, SRIOV "/%u/node", VF);
    tree_set_mode(0444, SRIOV "/%u/port", VF);
    must_set_guid(&scene);
}

static void no_guid_and_all_ones_are_not_set(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    struct oneib_error err = {0};
    assert_int_equal(oneib_vf_set_guid(scene.hca, scene.vf, 1, 0, &err), -1);
    assert_int_equal(oneib_vf_set_guid(scene.hca, scene.vf, 1, UINT64_MAX, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    file_is("port", NEVER_SET_TEXT);
}

static int watch_files(void)
{
    const int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    oneib_autofree char *directory = tree_path(SRIOV "/%u", VF);
    assert_true(fd >= 0);
    assert_true(inotify_add_watch(fd, directory, IN_CLOSE_WRITE) >= 0);
    return fd;
}

static void the_link_of_an_open_vf_is_down_while_its_guids_are_set(void **state)
{
    (void)state;
    _Alignas(struct inotify_event) char events[4096];
    static const char *const expected[] = {"policy", "node", "port", "policy"};
    SCENE(scene, &adapter);
    must_open(&scene);
    oneib_autoclose int fd = watch_files();
    must_set_guid(&scene);
    const ssize_t got = read(fd, events, sizeof events);
    size_t count = 0;
    for (ssize_t at = 0; at < got; count++) {
        const struct inotify_event *event = (const void *)(events + at);
        assert_true(count < 4);
        assert_string_equal(event->name, expected[count]);
        at += (ssize_t)(sizeof *event + event->len);
    }
    assert_int_equal(count, 4);
    file_is("policy", "Follow");
}

static void the_link_stays_down_when_a_guid_cannot_be_set(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    must_open(&scene);
    tree_set_mode(0444, SRIOV "/%u/port", VF);
    must_not_set_guid(&scene, "/port");
    assert_true(state_of(&scene).closed);
}

static void a_guid_taken_without_effect_is_an_error(void **state)
{
    (void)state;
    struct scripted port;
    SCENE(scene, &adapter);
    oneib_autofree char *file = tree_path(SRIOV "/%u/port", VF);
    need_terminal(scripted_open(&port, file, NEVER_SET_TEXT "\n" NO_GUID_TEXT "\n"));
    must_not_set_guid(&scene, "are 0x0200000000002a01 and 0xffffffffffffffff after "
                              "0x0200000000002a01 was set");
    scripted_close(&port);
}

static void a_deletion_taken_without_effect_is_an_error(void **state)
{
    (void)state;
    struct scripted node;
    SCENE(scene, &adapter);
    struct oneib_error err = {0};
    oneib_autofree char *file = tree_path(SRIOV "/%u/node", VF);
    need_terminal(scripted_open(&node, file, GUID_TEXT "\n" GUID_TEXT "\n"));
    assert_int_equal(oneib_vf_clear_guid(scene.hca, scene.vf, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    scripted_close(&node);
}

/* ---- the host's driver ----------------------------------------------------------------------- */

static void a_host_driver_takes_the_vf_anew_after_its_guid_was_set(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    tree_bind_vf(&adapter, VF, "mlx5_core");
    must_set_guid(&scene);
    bound_file_is("mlx5_core", "unbind", VF_PCI);
    bound_file_is("mlx5_core", "bind", VF_PCI);
}

static void a_vf_on_vfio_or_on_nothing_is_left_where_it_is(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    must_set_guid(&scene);
    bound_file_is("vfio-pci", "unbind", "");
    bound_file_is("vfio-pci", "bind", "");
    tree_bind_vf(&adapter, VF, NULL);
    set_file("node", NEVER_SET_TEXT);
    must_set_guid(&scene);
    file_is("node", GUID_TEXT);
}

static void a_vf_whose_interface_is_up_keeps_its_guid(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    tree_bind_vf(&adapter, VF, "mlx5_core");
    tree_add_vf_interface(&adapter, VF, "ib7", true);
    must_not_set_guid(&scene, "its network interface ib7 is up");
    file_is("node", NEVER_SET_TEXT);
    bound_file_is("mlx5_core", "unbind", "");
}

static void the_link_stays_down_when_the_host_driver_does_not_take_the_vf(void **state)
{
    (void)state;
    SCENE(scene, &adapter);
    tree_bind_vf(&adapter, VF, "mlx5_core");
    must_open(&scene);
    tree_set_mode(0444, "/sys/bus/pci/drivers/mlx5_core/bind");
    must_not_set_guid(&scene, "it has no driver now; echo " VF_PCI " > ");
    assert_true(state_of(&scene).closed);
}

#define CASE(name) cmocka_unit_test_setup(name, tree_reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_vf_as_the_driver_leaves_it_is_closed_and_without_guid),
        CASE(a_link_that_is_not_down_is_not_closed),
        CASE(one_guid_of_two_is_neither_accepted_nor_gone),
        CASE(what_is_no_policy_and_no_guid_is_an_error),
        CASE(a_missing_file_is_an_error),
        CASE(an_unreadable_file_is_an_error),
        CASE(an_adapter_that_offers_no_way_is_named_with_the_fix),
        CASE(netlink_goes_to_the_ipoib_interface_whatever_its_name),
        CASE(a_simulated_interface_is_not_looked_for_in_this_kernel),
        CASE(closing_takes_the_link_down),
        CASE(closing_one_vf_leaves_the_others_alone),
        CASE(opening_lets_the_link_follow_the_ports),
        CASE(a_port_that_there_is_not_is_not_opened),
        CASE(a_vf_with_an_ethernet_port_says_so_and_is_not_opened),
        CASE(the_last_of_254_vfs_is_opened_and_no_other),
        CASE(no_vf_of_an_adapter_in_switchdev_mode_is_opened_or_gets_a_guid),
        CASE(a_read_only_policy_is_an_error),
        CASE(closing_without_effect_is_an_error),
        CASE(opening_without_effect_is_an_error_and_closes_again),
        CASE(node_and_port_guid_are_the_same),
        CASE(a_guid_that_is_taken_away_is_all_ones),
        CASE(a_guid_that_is_there_is_not_written_again),
        CASE(no_guid_and_all_ones_are_not_set),
        CASE(the_link_of_an_open_vf_is_down_while_its_guids_are_set),
        CASE(the_link_stays_down_when_a_guid_cannot_be_set),
        CASE(a_guid_taken_without_effect_is_an_error),
        CASE(a_deletion_taken_without_effect_is_an_error),
        CASE(a_host_driver_takes_the_vf_anew_after_its_guid_was_set),
        CASE(a_vf_on_vfio_or_on_nothing_is_left_where_it_is),
        CASE(a_vf_whose_interface_is_up_keeps_its_guid),
        CASE(the_link_stays_down_when_the_host_driver_does_not_take_the_vf),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
