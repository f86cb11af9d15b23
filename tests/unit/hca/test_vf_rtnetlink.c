// SPDX-License-Identifier: Apache-2.0
/* VFs of mlx5 through rtnetlink, by kernels that answer in different ways: the kernel's end of the
 * socket is played here, and the tree of sysfs stands for this machine's. */
#include "hca/place.h"
#include "hca/vf_netlink.h"
#include "hca/vf_ops.h"
#include "tree.h"
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GUID 0x0200000000002a01
#define IFINDEX 17
#define SRIOV "/sys/class/infiniband/mlx5_0/device/sriov"
#define VFS 32
#define VF 1

/* ---- the kernel ------------------------------------------------------------------------------ */

static struct {
    struct oneib_netlink_vf vfs[VFS];
    int alone; /* errno of the answer about one interface; 0: it is given */
    int dump;  /* likewise of the dump */
    bool takes_without_effect;
    struct nlmsghdr asked;
    unsigned turn; /* of a dump */
    unsigned set;  /* changes that it was asked for */
} kernel;

bool __wrap_oneib_node_is_simulated(void);
ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *socket, const void *request, size_t size);
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *socket, void *buffer, size_t size);

bool __wrap_oneib_node_is_simulated(void)
{
    return false;
}

static void set(const struct nlattr *value)
{
    static const enum oneib_vf_link links[] = {
        [IFLA_VF_LINK_STATE_AUTO] = ONEIB_VF_LINK_AUTO,
        [IFLA_VF_LINK_STATE_ENABLE] = ONEIB_VF_LINK_ENABLE,
        [IFLA_VF_LINK_STATE_DISABLE] = ONEIB_VF_LINK_DISABLE,
    };
    struct ifla_vf_link_state link;
    struct ifla_vf_guid guid;
    if (mnl_attr_get_type(value) == IFLA_VF_LINK_STATE) {
        memcpy(&link, mnl_attr_get_payload(value), sizeof link);
        kernel.vfs[link.vf].link = links[link.link_state];
        return;
    }
    memcpy(&guid, mnl_attr_get_payload(value), sizeof guid);
    if (mnl_attr_get_type(value) == IFLA_VF_IB_NODE_GUID)
        kernel.vfs[guid.vf].node_guid = guid.guid;
    else
        kernel.vfs[guid.vf].port_guid = guid.guid;
}

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *socket, const void *request, size_t size)
{
    const struct nlattr *list =
        mnl_nlmsg_get_payload_offset(request, sizeof(struct ifinfomsg)); /* its only one */
    (void)socket;
    memcpy(&kernel.asked, request, sizeof kernel.asked);
    kernel.turn = 0;
    if (kernel.asked.nlmsg_type != RTM_NEWLINK)
        return (ssize_t)size;
    kernel.set++;
    if (!kernel.takes_without_effect)
        set(mnl_attr_get_payload(mnl_attr_get_payload(list)));
    return (ssize_t)size;
}

static void put_vf(struct nlmsghdr *message, uint32_t vf)
{
    static const uint32_t states[] = {
        [ONEIB_VF_LINK_AUTO] = IFLA_VF_LINK_STATE_AUTO,
        [ONEIB_VF_LINK_ENABLE] = IFLA_VF_LINK_STATE_ENABLE,
        [ONEIB_VF_LINK_DISABLE] = IFLA_VF_LINK_STATE_DISABLE,
    };
    const struct oneib_netlink_vf *is = &kernel.vfs[vf];
    const struct ifla_vf_link_state link = {.vf = vf, .link_state = states[is->link]};
    struct ifla_vf_guid guid;
    memset(&guid, 0, sizeof guid);
    struct nlattr *info = mnl_attr_nest_start(message, IFLA_VF_INFO);
    mnl_attr_put(message, IFLA_VF_LINK_STATE, sizeof link, &link);
    guid.vf = vf;
    guid.guid = is->node_guid;
    mnl_attr_put(message, IFLA_VF_IB_NODE_GUID, sizeof guid, &guid);
    guid.guid = is->port_guid;
    mnl_attr_put(message, IFLA_VF_IB_PORT_GUID, sizeof guid, &guid);
    mnl_attr_nest_end(message, info);
}

static size_t put_interface(void *buffer, int ifindex, uint32_t vfs)
{
    struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
    message->nlmsg_type = RTM_NEWLINK;
    message->nlmsg_seq = kernel.asked.nlmsg_seq;
    struct ifinfomsg *interface = mnl_nlmsg_put_extra_header(message, sizeof *interface);
    interface->ifi_index = ifindex;
    if (vfs > 0) {
        struct nlattr *list = mnl_attr_nest_start(message, IFLA_VFINFO_LIST);
        for (uint32_t vf = 0; vf < vfs; vf++)
            put_vf(message, vf);
        mnl_attr_nest_end(message, list);
    }
    return message->nlmsg_len;
}

static size_t put_error(void *buffer, int reason)
{
    struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
    message->nlmsg_type = NLMSG_ERROR;
    message->nlmsg_seq = kernel.asked.nlmsg_seq;
    struct nlmsgerr *error = mnl_nlmsg_put_extra_header(message, sizeof *error);
    error->error = -reason;
    return message->nlmsg_len;
}

/* lo and an interface of another adapter, then the one that is wanted, then the end. */
static size_t put_next_of_dump(char *buffer)
{
    size_t length = 0;
    switch (kernel.turn++) {
    case 0:
        length = put_interface(buffer, 1, 0);
        return length + put_interface(buffer + length, IFINDEX + 1, 2);
    case 1:
        return put_interface(buffer, IFINDEX, VFS);
    default:
        length = put_interface(buffer, 99, 0);
        ((struct nlmsghdr *)(void *)buffer)->nlmsg_type = NLMSG_DONE;
        return length;
    }
}

ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *socket, void *buffer, size_t size)
{
    (void)socket;
    if (kernel.asked.nlmsg_type == RTM_NEWLINK)
        return (ssize_t)put_error(buffer, 0);
    /* As large as a dump's messages can be. */
    assert_true(size >= 32768);
    if (kernel.asked.nlmsg_flags & NLM_F_DUMP)
        return (ssize_t)(kernel.dump ? put_error(buffer, kernel.dump) : put_next_of_dump(buffer));
    return (ssize_t)(kernel.alone ? put_error(buffer, kernel.alone)
                                  : put_interface(buffer, IFINDEX, VFS));
}

/* ---- a VF ------------------------------------------------------------------------------------ */

struct scene {
    struct oneib_hcas hcas;
    const struct oneib_hca *hca;
    const struct oneib_vf *vf;
};

static void open_scene(struct scene *scene, bool with_files)
{
    struct oneib_error err = {0};
    const struct tree_hca adapter = {
        .driver = ONEIB_HCA_MLX5, .vfs = 3, .without_sriov_directory = !with_files};
    memset(&kernel, 0, sizeof kernel);
    for (unsigned vf = 0; vf < VFS; vf++)
        kernel.vfs[vf].link = ONEIB_VF_LINK_DISABLE;
    *scene = (struct scene){0};
    tree_add_hca(&adapter);
    tree_write("17", "/sys/class/infiniband/mlx5_0/device/net/ib_mlx5_0_1/ifindex");
    assert_int_equal(oneib_hcas_read(ONEIB_HCA_VFS, &scene->hcas, &err), 0);
    scene->hca = &scene->hcas.items[0];
    scene->vf = &scene->hca->vfs[VF];
}

static void close_scene(struct scene *scene)
{
    oneib_hcas_clear(&scene->hcas);
}
#define SCENE(name, with_files)                                                                    \
    __attribute__((cleanup(close_scene))) struct scene name;                                       \
    open_scene(&name, with_files)

static void must(int result, const struct oneib_error *err)
{
    if (result < 0)
        fail_msg("%s", err->text);
}

static struct oneib_vf_state state_of(const struct scene *scene)
{
    struct oneib_error err = {0};
    struct oneib_vf_state state;
    must(oneib_vf_state_read(scene->hca, scene->vf, &state, &err), &err);
    return state;
}

static void must_be_controlled(const struct scene *scene)
{
    struct oneib_error err = {0};
    must(oneib_vf_set_guid(scene->hca, scene->vf, 1, GUID, &err), &err);
    assert_true(state_of(scene).guid == GUID && state_of(scene).guid_accepted);
    must(oneib_vf_open(scene->hca, scene->vf, 1, 0, &err), &err);
    assert_false(state_of(scene).closed);
    must(oneib_vf_close(scene->hca, scene->vf, &err), &err);
    assert_true(state_of(scene).closed);
    must(oneib_vf_clear_guid(scene->hca, scene->vf, &err), &err);
    assert_true(state_of(scene).guid_gone);
}

static void must_not_be_read(const struct scene *scene, const char *words)
{
    struct oneib_error err = {0};
    struct oneib_vf_state state;
    assert_int_equal(oneib_vf_state_read(scene->hca, scene->vf, &state, &err), -1);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void a_vf_is_controlled_through_its_adapters_interface(void **state)
{
    (void)state;
    SCENE(scene, false);
    must_be_controlled(&scene);
    assert_true(kernel.vfs[VF].port_guid == UINT64_MAX);
    assert_true(kernel.vfs[VF + 1].port_guid == 0);
}

static void what_the_kernel_does_not_say_of_one_interface_is_read_from_a_dump(void **state)
{
    (void)state;
    SCENE(scene, false);
    kernel.alone = EMSGSIZE;
    must_be_controlled(&scene);
}

static void the_kernel_that_says_nothing_of_so_many_vfs_is_named(void **state)
{
    (void)state;
    SCENE(scene, false);
    kernel.alone = kernel.dump = EMSGSIZE;
    must_not_be_read(&scene, "Linux before 6.15");
}

static void an_interface_that_no_dump_has_is_an_error(void **state)
{
    (void)state;
    SCENE(scene, false);
    tree_write("18000", "/sys/class/infiniband/mlx5_0/device/net/ib_mlx5_0_1/ifindex");
    kernel.alone = ENODEV;
    must_not_be_read(&scene, "No such device");
}

/* It is closed, but nothing proves it. */
static void a_vf_that_cannot_be_read_is_closed_all_the_same_and_not_said_to_be(void **state)
{
    (void)state;
    SCENE(scene, false);
    struct oneib_error err = {0};
    kernel.vfs[VF].link = ONEIB_VF_LINK_AUTO;
    kernel.alone = kernel.dump = EMSGSIZE;
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    assert_int_equal(kernel.vfs[VF].link, ONEIB_VF_LINK_DISABLE);
    assert_int_equal(oneib_vf_open(scene.hca, scene.vf, 1, 0, &err), -1);
    assert_int_equal(kernel.vfs[VF].link, ONEIB_VF_LINK_DISABLE);
    kernel.dump = 0;
    assert_true(state_of(&scene).closed);
}

static void what_is_read_from_files_is_written_to_them_too(void **state)
{
    (void)state;
    char policy[16];
    SCENE(scene, true);
    struct oneib_error err = {0};
    kernel.vfs[VF].link = ONEIB_VF_LINK_AUTO;
    tree_write("Follow", SRIOV "/%u/policy", VF);
    kernel.alone = kernel.dump = EIO;
    must(oneib_vf_close(scene.hca, scene.vf, &err), &err);
    assert_int_equal(kernel.vfs[VF].link, ONEIB_VF_LINK_DISABLE);
    tree_read(policy, sizeof policy, SRIOV "/%u/policy", VF);
    assert_string_equal(policy, "Down");
    must_be_controlled(&scene);
}

static void without_a_readable_list_of_interfaces_the_files_are_used(void **state)
{
    (void)state;
    SCENE(scene, true);
    tree_set_mode(0, "/sys/class/infiniband/mlx5_0/device/net");
    must_be_controlled(&scene);
    tree_set_mode(0755, "/sys/class/infiniband/mlx5_0/device/net");
    assert_int_equal(kernel.set, 0);
}

static void a_link_that_stays_up_is_an_error(void **state)
{
    (void)state;
    SCENE(scene, false);
    struct oneib_error err = {0};
    kernel.vfs[VF].link = ONEIB_VF_LINK_AUTO;
    kernel.takes_without_effect = true;
    assert_int_equal(oneib_vf_close(scene.hca, scene.vf, &err), -1);
    assert_non_null(strstr(err.text, "its link is still \"auto\""));
}

#define CASE(name) cmocka_unit_test_setup(name, tree_reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_vf_is_controlled_through_its_adapters_interface),
        CASE(what_the_kernel_does_not_say_of_one_interface_is_read_from_a_dump),
        CASE(the_kernel_that_says_nothing_of_so_many_vfs_is_named),
        CASE(an_interface_that_no_dump_has_is_an_error),
        CASE(a_vf_that_cannot_be_read_is_closed_all_the_same_and_not_said_to_be),
        CASE(what_is_read_from_files_is_written_to_them_too),
        CASE(without_a_readable_list_of_interfaces_the_files_are_used),
        CASE(a_link_that_stays_up_is_an_error),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
