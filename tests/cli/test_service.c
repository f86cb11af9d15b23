// SPDX-License-Identifier: Apache-2.0
/* What is installed for systemd and udev is what they take, and its parts name the same things. */
#include "../skip.h"
#include "run.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define RULES ONEIB_SOURCES "/share/udev/60-oneib.rules"
#define USERS ONEIB_SOURCES "/share/sysusers/oneib.conf"
#define DIRECTORIES ONEIB_SOURCES "/share/tmpfiles/oneib.conf"

/* In tenths, with systemd 252. oneibd, 1.9: the network, the adapter's device, and opensm's process
 * are needed. oneib-node, 2.9: it is root, has CAP_NET_ADMIN, writes to /sys, becomes another user
 * for a part of it, and has its connections to oneibd in the network, by a child (oneib-grants):
 * that root's part makes none, which systemd does not see, is of test_node_privileges.c. */
#define EXPOSURE_MAX "20"
#define NODE_EXPOSURE_MAX "29"

static void read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s cannot be opened", path);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* Runs a line of shell; gives its exit status, and what it says. */
static int run_shell(const char *line, char *said, size_t size)
{
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    said[fread(said, 1, size - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void need(const char *tool)
{
    char line[128], said[8];
    snprintf(line, sizeof line, "command -v %s >/dev/null", tool);
    if (run_shell(line, said, sizeof said) == 0)
        return;
    skip_because("there is no %s here", tool);
}

/* A copy whose programs exist: the unit names where its own will be installed. */
static const char *unit_that_can_be_checked(const char *path, const char *name)
{
    static const char start[] = "\nExecStart=";
    char unit[16384];
    read_file(path, unit, sizeof unit);
    char *program = strstr(unit, start);
    assert_non_null(program);
    program += strlen(start);
    const char *rest = program + strcspn(program, "\n");

    char copy[16384];
    snprintf(copy, sizeof copy, "%.*s%s%s", (int)(program - unit), unit, "/bin/true", rest);
    char *before = strstr(copy, "\nExecStartPre=");
    if (before)
        before[1] = '#';
    write_file(name, copy);
    return in_directory(name);
}

/* It only warns of what it does not know, so nothing may be said. */
static void check_that_systemd_takes(const char *path, const char *name)
{
    char line[1024], said[16384];
    need("systemd-analyze");
    snprintf(line, sizeof line, "systemd-analyze verify --man=no %s 2>&1",
             unit_that_can_be_checked(path, name));
    assert_int_equal(run_shell(line, said, sizeof said), 0);
    assert_string_equal(said, "");
}

static void systemd_takes_the_unit_without_a_word(void **state)
{
    (void)state;
    check_that_systemd_takes(ONEIB_UNIT, "oneibd.service");
}

/* The service's unit names them; all are looked for in one directory. */
static void copy_sockets(void)
{
    static const char *const names[] = {"oneib-node.socket", "oneib-node-read.socket"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512], unit[4096];
        snprintf(path, sizeof path, ONEIB_SOURCES "/share/systemd/%s", names[i]);
        read_file(path, unit, sizeof unit);
        write_file(names[i], unit);
    }
}

static void systemd_takes_the_nodes_unit_without_a_word(void **state)
{
    (void)state;
    copy_sockets();
    check_that_systemd_takes(ONEIB_NODE_UNIT, "oneib-node.service");
}

static void check_exposure(const char *path, const char *name, const char *most)
{
    char line[1024], said[16384];
    need("systemd-analyze");
    snprintf(line, sizeof line,
             "systemd-analyze security --offline=true --no-pager --threshold=%s %s 2>&1", most,
             unit_that_can_be_checked(path, name));
    if (run_shell(line, said, sizeof said) != 0)
        fail_msg("more is exposed than need be:\n%s", said);
}

static void the_unit_leaves_little_exposed(void **state)
{
    (void)state;
    check_exposure(ONEIB_UNIT, "oneibd.service", EXPOSURE_MAX);
}

static void the_nodes_unit_leaves_little_exposed(void **state)
{
    (void)state;
    check_exposure(ONEIB_NODE_UNIT, "oneib-node.service", NODE_EXPOSURE_MAX);
}

static void systemd_takes_the_user(void **state)
{
    (void)state;
    char said[4096];
    need("systemd-sysusers");
    if (run_shell("systemd-sysusers --dry-run '" USERS "' 2>&1", said, sizeof said) != 0)
        fail_msg("%s", said);
}

/* The value of "KEY=value" on a line of its own. */
static const char *setting(const char *unit, const char *key)
{
    static char value[256];
    char start[64];
    snprintf(start, sizeof start, "\n%s=", key);
    const char *line = strstr(unit, start);
    if (!line)
        fail_msg("the unit has no %s", key);
    line += strlen(start);
    snprintf(value, sizeof value, "%.*s", (int)strcspn(line, "\n"), line);
    return value;
}

static void the_unit_starts_what_is_installed(void **state)
{
    (void)state;
    char unit[16384];
    read_file(ONEIB_UNIT, unit, sizeof unit);
    assert_string_equal(setting(unit, "ExecStart"), ONEIB_SBINDIR "/oneibd");
    assert_lacks(unit, "@CMAKE");
}

static void one_user_and_one_group_are_meant_everywhere(void **state)
{
    (void)state;
    char unit[16384], rules[4096], users[4096], wanted[512];
    read_file(ONEIB_UNIT, unit, sizeof unit);
    read_file(RULES, rules, sizeof rules);
    read_file(USERS, users, sizeof users);
    snprintf(wanted, sizeof wanted, "\nu %s - ", setting(unit, "User"));
    assert_contains(users, wanted);
    snprintf(wanted, sizeof wanted, " GROUP=\"%s\"", setting(unit, "Group"));
    assert_contains(rules, wanted);
    snprintf(wanted, sizeof wanted, " /var/lib/%s\n", setting(unit, "StateDirectory"));
    assert_contains(users, wanted);
}

/* The guide has root write there before the unit has run for the first time. */
static void the_directory_is_made_before_the_unit_as_the_unit_would(void **state)
{
    (void)state;
    char unit[16384], directories[4096], wanted[512];
    read_file(ONEIB_UNIT, unit, sizeof unit);
    read_file(DIRECTORIES, directories, sizeof directories);
    int length =
        snprintf(wanted, sizeof wanted, "\nd /var/lib/%s", setting(unit, "StateDirectory"));
    length += snprintf(wanted + length, sizeof wanted - (size_t)length, " %s",
                       setting(unit, "StateDirectoryMode"));
    length +=
        snprintf(wanted + length, sizeof wanted - (size_t)length, " %s", setting(unit, "User"));
    snprintf(wanted + length, sizeof wanted - (size_t)length, " %s -\n", setting(unit, "Group"));
    assert_contains(directories, wanted);
}

static void the_only_capability_is_to_signal(void **state)
{
    (void)state;
    char unit[16384];
    read_file(ONEIB_UNIT, unit, sizeof unit);
    assert_string_equal(setting(unit, "CapabilityBoundingSet"), "CAP_KILL");
    assert_string_equal(setting(unit, "AmbientCapabilities"), "CAP_KILL");
    assert_string_equal(setting(unit, "NoNewPrivileges"), "yes");
}

/* /run/oneib is who has what, and must outlive the service. */
static void the_nodes_unit_keeps_the_table(void **state)
{
    (void)state;
    char unit[16384];
    read_file(ONEIB_NODE_UNIT, unit, sizeof unit);
    assert_string_equal(setting(unit, "ExecStart"), ONEIB_LIBEXEC "/oneib-node");
    assert_string_equal(setting(unit, "RuntimeDirectory"), "oneib");
    assert_string_equal(setting(unit, "RuntimeDirectoryPreserve"), "yes");
    assert_string_equal(setting(unit, "CapabilityBoundingSet"),
                        "CAP_NET_ADMIN CAP_SETUID CAP_SETGID");
    assert_lacks(unit, "\nProtectKernelTunables=yes");
    assert_lacks(unit, "\nPrivateNetwork=yes");
}

static void only_opennebulas_group_may_ask_for_what_changes_something(void **state)
{
    (void)state;
    char unit[4096];
    read_file(ONEIB_SOURCES "/share/systemd/oneib-node.socket", unit, sizeof unit);
    assert_string_equal(setting(unit, "ListenSequentialPacket"), "/run/oneib/node.sock");
    assert_string_equal(setting(unit, "FileDescriptorName"), "node");
    assert_string_equal(setting(unit, "SocketUser"), "root");
    assert_string_equal(setting(unit, "SocketGroup"), "oneadmin");
    assert_string_equal(setting(unit, "SocketMode"), "0660");
    read_file(ONEIB_SOURCES "/share/systemd/oneib-node-read.socket", unit, sizeof unit);
    assert_string_equal(setting(unit, "ListenSequentialPacket"), "/run/oneib/node-read.sock");
    assert_string_equal(setting(unit, "FileDescriptorName"), "read");
}

/* KEY=="value" or KEY="value"; *at goes on behind it. */
static bool is_pair(const char **at)
{
    const size_t key = strspn(*at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const char *sign = *at + key;
    const size_t signs = strspn(sign, "=");
    const char *value = sign + signs;
    if (key == 0 || signs < 1 || signs > 2 || *value != '"')
        return false;
    const char *end = strchr(value + 1, '"');
    if (!end)
        return false;
    *at = end + 1;
    return true;
}

static void the_rule_of_udev_is_pairs_and_gives_away_umad_alone(void **state)
{
    (void)state;
    char rules[4096];
    size_t count = 0;
    read_file(RULES, rules, sizeof rules);
    for (char *line = strtok(rules, "\n"); line; line = strtok(NULL, "\n")) {
        if (line[0] == '#')
            continue;
        count++;
        assert_contains(line, "SUBSYSTEM==\"infiniband_mad\", KERNEL==\"umad*\", ");
        assert_contains(line, "MODE=\"0660\"");
        const char *at = line;
        while (is_pair(&at) && strncmp(at, ", ", 2) == 0)
            at += 2;
        if (*at)
            fail_msg("this is no pair: %s", at);
    }
    assert_int_equal(count, 1);
}

#define WITH_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DIRECTORY(systemd_takes_the_unit_without_a_word),
        WITH_DIRECTORY(systemd_takes_the_nodes_unit_without_a_word),
        WITH_DIRECTORY(the_unit_leaves_little_exposed),
        WITH_DIRECTORY(the_nodes_unit_leaves_little_exposed),
        cmocka_unit_test(the_nodes_unit_keeps_the_table),
        cmocka_unit_test(only_opennebulas_group_may_ask_for_what_changes_something),
        cmocka_unit_test(systemd_takes_the_user),
        cmocka_unit_test(the_unit_starts_what_is_installed),
        cmocka_unit_test(one_user_and_one_group_are_meant_everywhere),
        cmocka_unit_test(the_directory_is_made_before_the_unit_as_the_unit_would),
        cmocka_unit_test(the_only_capability_is_to_signal),
        cmocka_unit_test(the_rule_of_udev_is_pairs_and_gives_away_umad_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
