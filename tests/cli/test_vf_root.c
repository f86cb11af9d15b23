// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-vf as it runs on a node: as root, without ONEIB_NODE_ROOT. A tree with an adapter is
 * mounted over /sys, /run and /etc, for this process alone.
 */
#include "../skip.h"
#include "hca/tree.h"
#include "run.h"
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD                                                                                     \
    "vf=0000:81:00.1 device=mlx4_0 index=0 port=1 vm=42 nic=1 network=0 site=0 pkey=0x0005 "                 \
    "membership=full stage=open guid=set owner=0:0 domain=no since=5"

static const struct tree_hca mlx4 = {.driver = ONEIB_HCA_MLX4, .vfs = 3};
static bool is_mounted;

static bool mount_over(const char *folder)
{
    char *from = tree_path("%s", folder);
    const bool mounted = mount(from, folder, "none", MS_BIND, NULL) == 0;
    free(from);
    return mounted;
}

static bool mount_tree(void)
{
    return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 && mount_over("/sys") &&
           mount_over("/run") && mount_over("/etc");
}

static int begin(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    umask(022);
    if (mkdir(in_folder("node"), 0755) < 0)
        return -1;
    tree_at(in_folder("node"));
    tree_reset(NULL);
    is_mounted = mount_tree();
    set_program(ONEIB_VF_BINARY);
    return 0;
}

/* What is mounted stays, and is emptied. */
static int reset(void **state)
{
    (void)state;
    if (!is_mounted)
        return 0;
    set_variable(NULL);
    tree_remove("/run/oneib");
    tree_remove("/etc/oneib");
    tree_make_folder("/etc/oneib");
    return 0;
}

static void need_mounts(void)
{
    if (is_mounted)
        return;
    skip_because("only root can mount a node's files, and not everywhere");
}

static void root_gives_a_vf_and_takes_it_back(void **state)
{
    (void)state;
    char entry[16], record[512];
    struct stat status;
    need_mounts();
    tree_add_hca(&mlx4);
    tree_set_pkey(&mlx4, 1, 1, 0x8005);
    const struct outcome *given =
        RUN("assign", "--vm", "42", "--nic", "1", "--pkey", "0x0005", "--defer-guid");
    assert_string_equal(given->err, "");
    assert_contains(given->out, " pkey=0x0005 membership=full stage=open guid=deferred ");
    tree_get_vf_pkey(&mlx4, 0, 1, 0, entry, sizeof entry);
    assert_string_equal(entry, "1");

    tree_read(record, sizeof record, "/run/oneib/vfs");
    assert_contains(given->out, record);
    assert_int_equal(stat("/run/oneib", &status), 0);
    assert_int_equal(status.st_uid, 0);
    assert_int_equal(status.st_mode & 07777, 0755);
    assert_int_equal(stat("/run/oneib/vfs", &status), 0);
    assert_int_equal(status.st_uid, 0);
    assert_int_equal(status.st_mode & 07777, 0644);

    assert_string_equal(RUN("release", "--vm", "42")->out, "released 1\n");
    tree_get_vf_pkey(&mlx4, 0, 1, 0, entry, sizeof entry);
    assert_string_equal(entry, "0");
}

static void the_caller_does_not_choose_what_root_reads(void **state)
{
    (void)state;
    need_mounts();
    tree_write(RECORD, "/run/oneib/vfs");
    mkdir(in_folder("run"), 0755);
    mkdir(in_folder("run/oneib"), 0755);
    write_file("run/oneib/vfs", "");
    char variable[512];
    snprintf(variable, sizeof variable, "ONEIB_NODE_ROOT=%s", in_folder("."));
    set_variable(variable);
    assert_string_equal(RUN("show")->out, RECORD "\n");
    set_variable(NULL);
}

static void assert_config_refused(const char *path)
{
    char wanted[128];
    snprintf(wanted, sizeof wanted, "oneib-vf: %s must be root's and writable for nobody else",
             path);
    const struct outcome *outcome = RUN("release", "--vm", "42");
    assert_int_equal(outcome->status, 3);
    assert_contains(outcome->err, wanted);
    assert_int_equal(RUN("show")->status, 0);
}

static void a_configuration_that_others_may_write_is_refused(void **state)
{
    (void)state;
    need_mounts();
    assert_string_equal(RUN("release", "--vm", "42")->out, "released 0\n");
    tree_write("site = 7;", "/etc/oneib/oneib.conf");
    assert_string_equal(RUN("release", "--vm", "42")->out, "released 0\n");

    tree_set_mode(0664, "/etc/oneib/oneib.conf");
    assert_config_refused("/etc/oneib/oneib.conf");
    tree_set_mode(0644, "/etc/oneib/oneib.conf");
    assert_int_equal(chown("/etc/oneib/oneib.conf", 65534, 0), 0);
    assert_config_refused("/etc/oneib/oneib.conf");
    tree_remove("/etc/oneib/oneib.conf");
    tree_set_mode(0775, "/etc/oneib");
    assert_config_refused("/etc/oneib");
}

static void a_folder_of_another_user_is_no_place_for_the_table(void **state)
{
    (void)state;
    need_mounts();
    tree_make_folder("/run/oneib");
    assert_int_equal(chown("/run/oneib", 65534, 0), 0);
    const struct outcome *outcome = RUN("release", "--vm", "42");
    assert_int_equal(outcome->status, 3);
    assert_contains(outcome->err, "the folder /run/oneib must be uid 0's and writable for nobody");
}

#define ON_NODE(test) cmocka_unit_test_setup(test, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODE(root_gives_a_vf_and_takes_it_back),
        ON_NODE(the_caller_does_not_choose_what_root_reads),
        ON_NODE(a_configuration_that_others_may_write_is_refused),
        ON_NODE(a_folder_of_another_user_is_no_place_for_the_table),
    };
    return cmocka_run_group_tests(tests, begin, remove_folder);
}
