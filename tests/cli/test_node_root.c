// SPDX-License-Identifier: Apache-2.0
/*
 * oneib-node as it runs on a node: as root, without ONEIB_NODE_ROOT. A tree with an adapter is
 * mounted over /sys, /run, /etc and /var/lib, and the programs of users without privileges over
 * where they are installed, for this process alone.
 */
#include "../skip.h"
#include "node_scene.h"
#include "run.h"
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>

#define USER_ID 64999  /* of oneib-node */
#define GROUP_ID 64998 /* of oneadmin */
#define STRANGER_ID 64997
#define CAP_NET_ADMIN_ALONE "0000000000001000"

static bool is_mounted;

static bool mount_over(const char *directory)
{
    char *from = tree_path("%s", directory);
    const bool mounted = mount(from, directory, "none", MS_BIND, NULL) == 0;
    free(from);
    return mounted;
}

static bool copy_program(const char *from, const char *name)
{
    char *to = tree_path(ONEIB_LIBEXEC "/%s", name);
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    const int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    free(to);
    char buffer[65536];
    for (ssize_t length; (length = read(in, buffer, sizeof buffer)) > 0;)
        if (write(out, buffer, (size_t)length) != length)
            return false;
    close(in);
    close(out);
    return true;
}

/* The nearest directory above where they are installed that is there. */
static bool mount_programs(void)
{
    char directory[] = ONEIB_LIBEXEC;
    tree_make_directory(ONEIB_LIBEXEC);
    if (!copy_program(ONEIB_DOMAINS_BINARY, "oneib-domains") ||
        !copy_program(ONEIB_GRANTS_BINARY, "oneib-grants"))
        return false;
    while (access(directory, F_OK) < 0)
        *strrchr(directory, '/') = '\0';
    return mount_over(directory);
}

static bool mount_state(void)
{
    tree_make_directory("/var/lib");
    return mount_over("/var/lib");
}

static bool mount_tree(void)
{
    return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 && mount_programs() &&
           mount_over("/sys") && mount_over("/run") && mount_over("/etc") && mount_state();
}

static int begin(void **state)
{
    if (make_directory(state) < 0)
        return -1;
    umask(022);
    if (mkdir(in_directory("node"), 0755) < 0)
        return -1;
    tree_at(in_directory("node"));
    tree_reset(NULL);
    is_mounted = mount_tree();
    set_program(ONEIB_NODE_BINARY);
    if (is_mounted) {
        tree_add_hca(&mlx4);
        put_key(KEY_INDEX, 0x8000 | KEY);
    }
    return 0;
}

/* What is mounted stays, and is emptied. */
static int reset(void **state)
{
    (void)state;
    if (!is_mounted)
        return 0;
    set_variable(NULL);
    tree_remove("/log");
    tree_remove("/run/oneib");
    tree_remove("/etc/oneib");
    tree_make_directory("/etc/oneib");
    tree_write("root:x:0:0::/:/bin/sh\noneib-node:x:64999:64999::/:/bin/false", "/etc/passwd");
    tree_write("root:x:0:\noneadmin:x:64998:", "/etc/group");
    tree_write(MACHINE_ID, "/etc/machine-id");
    tree_write("<node/>", "/etc/oneib/node.xml");
    start_grants_standin();
    tree_write("node: { libvirt = \"test:///etc/oneib/node.xml\"; };", "/etc/oneib/oneib.conf");
    return 0;
}

static int end(void **state)
{
    return is_mounted ? remove_node(state) : 0;
}

static void need_mounts(void)
{
    if (is_mounted)
        return;
    skip_because("only root can mount a node's files, and not everywhere");
}

/* ---- what it is ------------------------------------------------------------------------------ */

static void assert_file(const char *path, gid_t group, mode_t mode)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_uid, 0);
    assert_int_equal(status.st_gid, group);
    assert_int_equal(status.st_mode & 07777, mode);
}

static void root_gives_a_vf_and_takes_it_back(void **state)
{
    (void)state;
    need_mounts();
    start_node();
    struct oneib_client *client = open_client();
    const struct oneib_vf_record record = must_have(client, 42, 1, KEY);
    must_wait(client);
    oneib_client_close(client);
    assert_true(entry_reads(record.index, "3"));
    assert_file("/run/oneib", 0, 0755);
    assert_file("/run/oneib/vfs", 0, 0644);
    assert_file("/run/oneib/node.sock", GROUP_ID, 0660);
    assert_file("/run/oneib/node-read.sock", 0, 0666);
    assert_int_equal(must_release(42).freed, 1);
    assert_true(entry_reads(record.index, "0"));
}

static const char *status_line(const char *name)
{
    static char line[256];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)node);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            break;
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return line + strlen(name) + 2;
}

static void it_keeps_one_capability_at_most(void **state)
{
    (void)state;
    static const char *const sets[] = {"CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb"};
    need_mounts();
    start_node();
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const char *set = status_line(sets[i]);
        if (strcmp(set, CAP_NET_ADMIN_ALONE) != 0 && strspn(set, "0") != strlen(set))
            fail_msg("%s is %s", sets[i], set);
    }
    assert_serves();
}

/* ---- who may ask ----------------------------------------------------------------------------- */

static void become(uid_t user, gid_t group)
{
    if (setgroups(0, NULL) < 0 || setresgid(group, group, group) < 0 ||
        setresuid(user, user, user) < 0)
        _exit(9);
}

static void others_may_look_and_opennebulas_group_may_ask(void **state)
{
    (void)state;
    need_mounts();
    start_node();
    pid_t caller = fork();
    if (caller == 0) {
        struct oneib_client *client;
        struct oneib_service_list list;
        become(STRANGER_ID, STRANGER_ID);
        if (oneib_client_open(&client, &err) == 0)
            _exit(1);
        _exit(oneib_client_list(&list, &err) == 0 ? 0 : 2);
    }
    assert_int_equal(status_of(caller), 0);
    caller = fork();
    if (caller == 0) {
        become(STRANGER_ID, GROUP_ID);
        struct oneib_client *client;
        struct oneib_vf_record record;
        const struct oneib_request request = have_of(42, 1, KEY);
        _exit(oneib_client_open(&client, &err) == 0 &&
                      oneib_client_have(client, &request, DEADLINE_MS, &record, &err) == 0
                  ? 0
                  : 3);
    }
    assert_int_equal(status_of(caller), 0);
    assert_int_equal(count_of(content("log"), "uid 64997"), 1);
}

/* ---- what it goes by ------------------------------------------------------------------------- */

static void spoil_environment(void *context)
{
    setenv("ONEIB_NODE_ROOT", context, 1);
}

static void who_starts_it_does_not_choose_what_root_reads(void **state)
{
    (void)state;
    char root[512];
    need_mounts();
    snprintf(root, sizeof root, "%s", in_directory("elsewhere"));
    mkdir(root, 0755);
    start_node_with(spoil_environment, root);
    assert_serves();
    assert_int_equal(rmdir(root), 0);
}

static void assert_refused(const char *why)
{
    const struct outcome *outcome = RUN(NULL);
    assert_int_equal(outcome->status, 3);
    assert_contains(outcome->err, why);
    assert_false(tree_exists("/run/oneib/node.sock"));
}

static void a_configuration_that_others_may_write_is_refused(void **state)
{
    (void)state;
    need_mounts();
    tree_set_mode(0664, "/etc/oneib/oneib.conf");
    assert_refused(
        "oneib-node: /etc/oneib/oneib.conf must belong to root and be writable by no other user");
    tree_set_mode(0644, "/etc/oneib/oneib.conf");
    assert_int_equal(chown("/etc/oneib/oneib.conf", 65534, 0), 0);
    assert_refused(
        "oneib-node: /etc/oneib/oneib.conf must belong to root and be writable by no other user");
    tree_remove("/etc/oneib/oneib.conf");
    tree_set_mode(0775, "/etc/oneib");
    assert_refused("oneib-node: /etc/oneib must belong to root and be writable by no other user");
}

static void a_directory_of_another_user_is_no_place_for_the_table(void **state)
{
    (void)state;
    need_mounts();
    tree_make_directory("/run/oneib");
    assert_int_equal(chown("/run/oneib", 65534, 0), 0);
    assert_refused(
        "the directory /run/oneib must belong to uid 0 and be writable by no other user");
}

static void without_a_user_for_what_asks_libvirt_it_does_not_start(void **state)
{
    (void)state;
    need_mounts();
    tree_write("root:x:0:0::/:/bin/sh", "/etc/passwd");
    const struct outcome *outcome = RUN(NULL);
    assert_int_equal(outcome->status, 3);
    assert_contains(outcome->err, "there is no user \"oneib-node\"");
}

#define ON_NODE(test) cmocka_unit_test_setup_teardown(test, reset, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODE(root_gives_a_vf_and_takes_it_back),
        ON_NODE(it_keeps_one_capability_at_most),
        ON_NODE(others_may_look_and_opennebulas_group_may_ask),
        ON_NODE(who_starts_it_does_not_choose_what_root_reads),
        ON_NODE(a_configuration_that_others_may_write_is_refused),
        ON_NODE(a_directory_of_another_user_is_no_place_for_the_table),
        ON_NODE(without_a_user_for_what_asks_libvirt_it_does_not_start),
    };
    return cmocka_run_group_tests(tests, begin, remove_directory);
}
