// SPDX-License-Identifier: Apache-2.0
#include "../../skip.h"
#include "reading_hcas.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each of these, with garbage in it, or not readable, or (where it must be there) gone. */
static void a_file_that_is_not_as_it_should_be_is_its_adapters_fault(void **state)
{
    static const struct {
        const char *path, *garbage;
        bool may_be_absent;
    } files[] = {
        {DEVICE "/node_guid", "0002:c903", false},
        {DEVICE "/node_guid", "0002:c903:0000:000g", false},
        {DEVICE "/node_guid", "0002:c903:0000-0001", false},
        {DEVICE "/ports/1/link_layer", "Infiniband", false},
        {DEVICE "/ports/1/state", "ACTIVE", false},
        {DEVICE "/ports/1/state", "6: BEYOND", false},
        {DEVICE "/ports/1/lid", "0x10000", false},
        {DEVICE "/ports/1/gids/0", "fe80::1", false},
        {DEVICE "/ports/1/pkeys/0", "0x17fff", false},
        {DEVICE "/ports/1/pkeys/3", "", false},
        {PCI_DEVICE "/numa_node", "-2", true},
        {PCI_DEVICE "/sriov_totalvfs", "many", true},
        {PCI_DEVICE "/sriov_numvfs", "8", false}, /* more than sriov_totalvfs */
        {"/sys/bus/pci/devices/0000:81:00.3/numa_node", "x", true},
        {DEVICE "/iov/0000:81:00.3/ports/1/gid_idx/0", "none", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *last = strrchr(files[i].path, '/') + 1;
        tree_reset(NULL);
        tree_add_hca(&mlx4);
        tree_add_hca(&second);
        tree_write(files[i].garbage, "%s", files[i].path);
        read_hcas(EVERYTHING);
        assert_int_equal(hcas.count, 2);
        if (hcas.items[0].fault.code != ONEIB_ERROR_INPUT)
            fail_msg("\"%s\" in %s is no fault", files[i].garbage, files[i].path);
        if (!strstr(hcas.items[0].fault.text, last))
            fail_msg("\"%s\" does not name %s", hcas.items[0].fault.text, files[i].path);
        assert_int_equal(hcas.items[1].fault.code, ONEIB_ERROR_NONE);
        assert_int_equal(hcas.items[1].vf_count, 2);

        tree_set_mode(0, "%s", files[i].path);
        read_hcas(EVERYTHING);
        assert_int_equal(hcas.items[0].fault.code, ONEIB_ERROR_SYSTEM);
        assert_int_equal(hcas.items[1].fault.code, ONEIB_ERROR_NONE);

        tree_remove("%s", files[i].path);
        read_hcas(EVERYTHING);
        assert_int_equal(hcas.count, 2);
        assert_int_equal(hcas.items[0].fault.code == ONEIB_ERROR_NONE, files[i].may_be_absent);
    }
}

static void a_vf_that_cannot_be_seen_is_its_adapters_fault(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_remove(PCI_DEVICE "/virtfn3");
    read_broken("virtfn3");
    tree_link("/sys/nowhere", PCI_DEVICE "/virtfn3");
    read_broken("virtfn3");
    tree_reset(NULL);
    tree_add_hca(&mlx4);
    tree_add_vf_interface(&mlx4, 3, "ib3", false);
    tree_set_mode(0, "/sys/bus/pci/devices/0000:81:00.4/net/ib3/flags");
    read_broken("flags");
    tree_set_mode(0, "/sys/bus/pci/devices/0000:81:00.4/net");
    read_broken("net");
    tree_set_mode(0755, "/sys/bus/pci/devices/0000:81:00.4/net");
}

static void what_can_be_seen_of_a_broken_adapter_is_shown(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_write("garbage", DEVICE "/node_guid");
    const struct oneib_hca *hca = read_broken("node_guid");
    assert_int_equal(hca->port_count, 1);
    assert_int_equal(hca->ports[0].pkey_count, 7);
    assert_int_equal(hca->vf_count, 7);
    assert_string_equal(hca->vfs[6].iov_directory, "0000:81:00.7");
}

static void an_adapter_that_may_be_a_vf_is_one_with_a_fault(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_write("no link", "/sys/devices/pci0000:81/0000:81:00.0/physfn");
    read_broken("physfn");
}

static void an_adapter_whose_device_cannot_be_read_has_a_fault(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_remove(DEVICE "/device");
    tree_write("no link", DEVICE "/device");
    read_broken("device");
}

static void ports_with_odd_numbers_are_a_fault(void **state)
{
    static const char *const names[] = {"0", "255", "x", "01"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tree_reset(NULL);
        tree_add_hca(&mlx4);
        tree_make_directory(DEVICE "/ports/%s", names[i]);
        read_broken("port");
    }
}

static void a_table_with_a_hole_is_a_fault(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_remove(DEVICE "/ports/1/pkeys/5");
    const struct oneib_hca *hca = read_broken("pkeys has no entry 5");
    assert_int_equal(hca->ports[0].pkey_count, 0);
}

static void a_table_without_entries_is_a_fault(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_remove(DEVICE "/ports/1/pkeys");
    read_broken("pkeys");
}

static void a_table_beyond_every_adapters_is_a_fault(void **state)
{
    struct tree_hca large = {.driver = ONEIB_HCA_MLX5, .name = "mlx4_0", .pkeys = 1024};
    (void)state;
    tree_add_hca(&large);
    assert_int_equal(read_one(EVERYTHING)->ports[0].pkey_count, 1024);
    tree_write("0x0000", DEVICE "/ports/1/pkeys/1024");
    read_broken("pkeys");
}

static void a_table_is_read_again(void **state)
{
    struct oneib_error err = {0};
    (void)state;
    tree_add_hca(&mlx4);
    const struct oneib_hca *hca = read_one(ONEIB_HCA_PKEYS);
    assert_int_equal(hca->ports[0].pkeys[2], 0);
    tree_set_pkey(&mlx4, 1, 2, 0x8042);
    assert_int_equal(oneib_hca_reread_pkeys(hca, &hcas.items[0].ports[0], &err), 0);
    assert_int_equal(hca->ports[0].pkeys[2], 0x8042);
}

static void a_table_that_cannot_be_read_again_is_an_error(void **state)
{
    struct oneib_error err = {0};
    (void)state;
    tree_add_hca(&mlx4);
    const struct oneib_hca *hca = read_one(ONEIB_HCA_PKEYS);
    tree_set_mode(0, DEVICE "/ports/1/pkeys/6");
    assert_int_equal(oneib_hca_reread_pkeys(hca, &hcas.items[0].ports[0], &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    tree_remove_hca(&mlx4);
    assert_int_equal(oneib_hca_reread_pkeys(hca, &hcas.items[0].ports[0], &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_int_equal(hca->ports[0].pkey_count, 7);
}

/* In a process of its own: takes the adapter away when `path`, a pipe, is opened for reading. */
static pid_t remove_hca_when_read(const char *path)
{
    const pid_t child = fork();
    if (child == 0) {
        const int fd = open(path, O_WRONLY | O_CLOEXEC);
        tree_remove_hca(&mlx4);
        _exit(fd < 0 || write(fd, "1\n", 2) != 2);
    }
    return child;
}

static void seek(bool limited)
{
    struct oneib_error err = {0};
    struct oneib_port *port = &hcas.items[0].ports[0];
    if (oneib_hca_seek_pkey(&hcas.items[0], port, 5, limited, &err) < 0)
        fail_msg("%s", err.text);
}

static void a_key_is_sought_no_further_than_it_stands(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_set_pkey(&mlx4, 1, 1, 0x0005);
    tree_set_pkey(&mlx4, 1, 3, 0x8005);
    tree_set_pkey(&mlx4, 1, 4, 0x8006);
    tree_set_pkey(&mlx4, 1, 6, 0x8007);
    const struct oneib_port *port = &read_one(ONEIB_HCA_PKEYS)->ports[0];
    seek(false);
    assert_int_equal(oneib_port_pkey_index(port, 5, false), 3);
    assert_int_equal(port->pkey_count, 7);
    assert_int_equal(port->pkeys[0], 0x7fff);
    assert_int_equal(port->pkeys[4], 0);
    assert_int_equal(port->pkeys[6], 0x8007);
    seek(true);
    assert_int_equal(oneib_port_pkey_index(port, 5, true), 1);
    assert_int_equal(port->pkeys[3], 0);
    assert_int_equal(port->pkeys[6], 0x8007);
    /* The full entry may stand anywhere: all is read before the limited one is taken. */
    tree_set_pkey(&mlx4, 1, 3, 0);
    seek(false);
    assert_int_equal(oneib_port_pkey_index(port, 5, false), 1);
    assert_int_equal(port->pkeys[4], 0x8006);
}

static void an_adapter_that_goes_away_meanwhile_is_none(void **state)
{
    static const char *const moments[] = {
        DEVICE "/node_guid",          PCI_DEVICE "/sriov_totalvfs",
        DEVICE "/ports/1/link_layer", DEVICE "/ports/1/pkeys/3",
        PCI_DEVICE "/sriov_numvfs",   DEVICE "/iov/0000:81:00.3/ports/1/gid_idx/0"};
    char path[512];
    (void)state;
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        int status = -1;
        tree_reset(NULL);
        tree_add_hca(&mlx4);
        tree_add_hca(&second);
        snprintf(path, sizeof path, "%s%s", tree_root(), moments[i]);
        tree_remove("%s", moments[i]);
        assert_int_equal(mkfifo(path, 0600), 0);
        const pid_t child = remove_hca_when_read(path);
        read_hcas(EVERYTHING);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        if (hcas.count != 1)
            fail_msg("%s: %zu adapters are left", moments[i], hcas.count);
        assert_string_equal(hcas.items[0].name, "mlx5_0");
    }
}

/* System calls of reading everything, counted by tracing; -1: tracing is not allowed here. */
static long count_calls(void)
{
    long stops = 0;
    int status;
    const pid_t child = fork();
    if (child == 0) {
        struct oneib_error err;
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(2);
        raise(SIGSTOP);
        _exit(oneib_hcas_read(EVERYTHING, &hcas, &err) < 0);
    }
    waitpid(child, &status, 0);
    while (WIFSTOPPED(status)) {
        stops++;
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
        waitpid(child, &status, 0);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? stops / 2 : -1;
}

static long calls_with_vfs(unsigned vfs)
{
    const struct tree_hca one = {.driver = ONEIB_HCA_MLX4, .vfs = vfs, .pkeys = 2},
                          two = {.driver = ONEIB_HCA_MLX4,
                                 .vfs = vfs,
                                 .pkeys = 2,
                                 .name = "mlx4_1",
                                 .pci = "0000:05:00.0"};
    tree_reset(NULL);
    tree_add_hca(&one);
    tree_add_hca(&two);
    return count_calls();
}

static void system_calls_grow_with_the_vfs_and_no_faster(void **state)
{
    (void)state;
    const long few = calls_with_vfs(21), more = calls_with_vfs(42), many = calls_with_vfs(63);
    if (few < 0)
        skip_because("processes cannot be traced here");
    /* Were it quadratic, the second step would cost two thirds more; some are malloc's. */
    const long step = more - few, slack = step / 10;
    assert_in_range(many - more, step - slack, step + slack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HCA_TEST(a_file_that_is_not_as_it_should_be_is_its_adapters_fault),
        HCA_TEST(a_vf_that_cannot_be_seen_is_its_adapters_fault),
        HCA_TEST(what_can_be_seen_of_a_broken_adapter_is_shown),
        HCA_TEST(an_adapter_that_may_be_a_vf_is_one_with_a_fault),
        HCA_TEST(an_adapter_whose_device_cannot_be_read_has_a_fault),
        HCA_TEST(ports_with_odd_numbers_are_a_fault),
        HCA_TEST(a_table_with_a_hole_is_a_fault),
        HCA_TEST(a_table_without_entries_is_a_fault),
        HCA_TEST(a_table_beyond_every_adapters_is_a_fault),
        HCA_TEST(a_table_is_read_again),
        HCA_TEST(a_table_that_cannot_be_read_again_is_an_error),
        HCA_TEST(a_key_is_sought_no_further_than_it_stands),
        HCA_TEST(an_adapter_that_goes_away_meanwhile_is_none),
        HCA_TEST(system_calls_grow_with_the_vfs_and_no_faster),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
