// SPDX-License-Identifier: Apache-2.0
/*
 * install.sh, with DESTDIR in the test's directory: a front-end with a small oned.conf, whose
 * remotes belong to another user than root when the test is root. What is installed is this build.
 */
#include "../skip.h"
#include "base/cleanup.h"
#include "opennebula/restrictions.h"
#include "run.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define BEGIN "# BEGIN oneib"
#define END "# END oneib\n"
/* Its last line has no end, as editors may leave it. */
#define ONED_CONF                                                                                  \
    "PORT = 2633\n"                                                                                \
    "# VN_MAD_CONF = [ NAME = \"infiniband\", BRIDGE_TYPE = \"linux\" ]\n"                         \
    "VM_MAD = [\n  NAME = \"kvm\", # kvm-ib\n  SUNSTONE_NAME = \"kvm-ib\" ]\n"                     \
    "VN_MAD_CONF = [ NAME = \"dummy\" ]"

#define PROGRAMS ONEIB_PREFIX "/libexec/oneib"

static char said[65536];

/* A shell's words, to which ${DIRECTORY:?} is the test's (unset, they must not reach the
 * machine's own files); its status. What is said, on both outputs, is in
 * `said`. */
static int shell(const char *words)
{
    char command[4096];
    snprintf(command, sizeof command, "{ %s\n} >%s 2>&1", words, in_directory("said"));
    const int status = system(command);
    FILE *file = fopen(in_directory("said"), "r");
    assert_non_null(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void must(const char *words)
{
    if (shell(words) != 0)
        fail_msg("%s: %s", words, said);
}

static int install(const char *words)
{
    char command[1024];
    snprintf(command, sizeof command,
             "DESTDIR=%s/d '%s/install.sh' --build '%s' --prefix '%s' %s </dev/null",
             in_directory("."), ONEIB_SOURCES, ONEIB_BUILD, ONEIB_PREFIX, words);
    return shell(command);
}

static void must_install(const char *words)
{
    if (install(words) != 0)
        fail_msg("install.sh %s: %s", words, said);
}

static void must_refuse(const char *words, const char *reason)
{
    if (install(words) != 3 || !strstr(said, reason))
        fail_msg("install.sh %s did not say \"%s\": %s", words, reason, said);
}

/* All files below d with modes, owners and bytes, as one text. */
static char *picture(const char *below)
{
    char command[512];
    snprintf(command, sizeof command,
             "cd %s/d/%s && find . -printf '%%p %%m %%u\\n' | sort && find . -type f -print0 | "
             "sort -z | xargs -0 -r sha256sum",
             in_directory("."), below);
    must(command);
    char *copy = strdup(said);
    assert_non_null(copy);
    return copy;
}

static void give_to_nobody(const char *name)
{
    char command[512];
    snprintf(command, sizeof command, "[ $(id -u) -ne 0 ] || chown -R %d:%d %s", NOBODY, NOBODY,
             in_directory(name));
    must(command);
}

static int make_frontend(void **state)
{
    if (make_directory(state) < 0 || setenv("DIRECTORY", in_directory("."), 1) < 0)
        return -1;
    must("cd \"${DIRECTORY:?}\" && chmod 755 . && mkdir -p d/etc/one d/var/lib/one/remotes/vnm");
    write_file("d/etc/one/oned.conf", ONED_CONF);
    assert_int_equal(chmod(in_directory("d/etc/one/oned.conf"), 0640), 0);
    give_to_nobody("d/var/lib/one");
    return 0;
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make_frontend, remove_directory)

static char *oned_conf(void)
{
    must("cat \"${DIRECTORY:?}\"/d/etc/one/oned.conf");
    return strdup(said);
}

static void installed_twice_is_installed_once(void **state)
{
    (void)state;
    must_install("--frontend --node --sm");
    oneib_autofree char *once = picture(".");
    must_install("--frontend --node --sm");
    assert_lacks(said, "write ");
    oneib_autofree char *twice = picture(".");
    assert_string_equal(once, twice);
}

static void uninstall_leaves_every_byte_as_it_was(void **state)
{
    (void)state;
    oneib_autofree char *before = picture(".");
    must_install("--frontend");
    must_install("--node --sm");
    must_install("--uninstall --frontend");
    must_install("--uninstall --sm --node");
    oneib_autofree char *after = picture(".");
    assert_string_equal(before, after);
}

static void one_role_leaves_what_another_needs(void **state)
{
    (void)state;
    must_install("--sm");
    oneib_autofree char *before = picture(".");
    must_install("--frontend --node");
    must_install("--uninstall --frontend --node");
    oneib_autofree char *after = picture(".");
    assert_string_equal(before, after);
}

static void a_dry_run_changes_nothing(void **state)
{
    (void)state;
    oneib_autofree char *before = picture(".");
    must_install("--dry-run --frontend --node --sm");
    assert_contains(said, "would write oneib's settings into");
    assert_contains(said, "/vnm/infiniband/vnet_create");
    oneib_autofree char *after = picture(".");
    assert_string_equal(before, after);

    must_install("--frontend");
    oneib_autofree char *installed = picture(".");
    must_install("--dry-run --uninstall --frontend");
    assert_contains(said, "would take oneib's settings out of");
    oneib_autofree char *still = picture(".");
    assert_string_equal(installed, still);
}

/* Each step that would be done, as it is said; without `building`, which has been done. */
static char *steps_of_a_dry_run(const char *build, const char *role)
{
    char command[1024];
    snprintf(command, sizeof command,
             "DESTDIR=%s/d '%s/install.sh' %s --prefix %s --dry-run %s </dev/null | "
             "grep -v '^would build'",
             in_directory("."), ONEIB_SOURCES, build, ONEIB_PREFIX, role);
    must(command);
    return strdup(said);
}

static void a_dry_run_before_the_build_tells_each_step(void **state)
{
    (void)state;
    static const char *const roles[] = {"--frontend", "--node", "--sm", "--sm --node --frontend"};
    oneib_autofree char *before = picture(".");
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        oneib_autofree char *with = steps_of_a_dry_run("--build '" ONEIB_BUILD "'", roles[i]);
        oneib_autofree char *without = steps_of_a_dry_run("", roles[i]);
        assert_string_equal(with, without);
    }
    oneib_autofree char *after = picture(".");
    assert_string_equal(before, after);
}

static void what_the_operator_edits_meanwhile_stays(void **state)
{
    (void)state;
    must_install("--frontend");
    must("cd \"${DIRECTORY:?}\"/d/etc/one && sed -i 's/^PORT = .*/PORT = 2634/' oned.conf && "
         "echo 'LOG = 4' >>oned.conf");
    must_install("--frontend");
    must_install("--uninstall --frontend");
    oneib_autofree char *conf = oned_conf();
    assert_contains(conf, "PORT = 2634\n");
    assert_contains(conf, "LOG = 4\n");
    assert_lacks(conf, BEGIN);
    assert_lacks(conf, "kvm-ib\",\n    SUN");
    assert_int_not_equal(access(in_directory("d/etc/one/oned.conf.before-oneib"), F_OK), 0);
}

static void our_lines_that_somebody_tore_apart_are_not_guessed_at(void **state)
{
    (void)state;
    must_install("--frontend");
    must("cd \"${DIRECTORY:?}\"/d/etc/one && sed -i '/^# END oneib$/d' oned.conf");
    oneib_autofree char *before = picture(".");
    must_refuse("--uninstall --frontend", "put that in order first");
    must_refuse("--frontend", "put that in order first");
    oneib_autofree char *after = picture(".");
    assert_string_equal(before, after);
}

/* The lines of our block that begin so, sorted. */
static char *lines_of_block(const char *setting)
{
    char command[512];
    snprintf(command, sizeof command,
             "sed -n '/^" BEGIN "/,/^# END oneib/p' %s | grep '^%s' | LC_ALL=C sort",
             in_directory("d/etc/one/oned.conf"), setting);
    must(command);
    return strdup(said);
}

static void what_is_restricted_is_what_oneib_asks_for(void **state)
{
    (void)state;
    static const char nothing[] = "<OPENNEBULA_CONFIGURATION></OPENNEBULA_CONFIGURATION>";
    struct oneib_error err = {0};
    oneib_autotext struct oneib_text lines = {0};
    size_t missing;
    assert_int_equal(oneib_restrictions_missing(nothing, strlen(nothing), &lines, &missing, &err),
                     0);
    write_file("asked", lines.data);
    must("LC_ALL=C sort \"${DIRECTORY:?}\"/asked");
    oneib_autofree char *asked = strdup(said);

    must_install("--frontend");
    oneib_autofree char *written = lines_of_block("V[MNET]*_RESTRICTED_ATTR");
    assert_string_equal(written, asked);
}

static void what_the_operator_has_set_by_hand_is_not_set_again(void **state)
{
    (void)state;
    write_file("d/etc/one/oned.conf",
               "vn_mad_conf = [\n  BRIDGE_TYPE = \"none\",\n  NAME = \"infiniband\" ]\n"
               "VM_MAD = [ EXECUTABLE = \"x # y\", NAME=\"kvm-ib\" ]\n"
               "VNET_RESTRICTED_ATTR=\"VLAN_ID\"\n");
    must_install("--frontend");
    oneib_autofree char *conf = oned_conf();
    const char *block = strstr(conf, BEGIN);
    assert_non_null(block);
    assert_lacks(block, "VM_MAD");
    assert_lacks(block, "VN_MAD_CONF");
    assert_lacks(block, "VNET_RESTRICTED_ATTR = \"VLAN_ID\"");
    assert_contains(block, "VNET_RESTRICTED_ATTR = \"AR/VLAN_ID\"");
}

static void an_oned_conf_that_has_everything_is_left_alone(void **state)
{
    (void)state;
    must_install("--frontend");
    must("cd \"${DIRECTORY:?}\"/d/etc/one && sed -i '/^# [BE].* oneib/d' oned.conf && rm "
         "*.before-oneib");
    oneib_autofree char *before = picture("etc/one");
    must_install("--frontend");
    assert_contains(said, "has all that is needed");
    oneib_autofree char *after = picture("etc/one");
    assert_string_equal(before, after);
}

static void a_bridge_for_infiniband_is_refused(void **state)
{
    (void)state;
    write_file("d/etc/one/oned.conf",
               "VN_MAD_CONF = [ NAME = \"infiniband\", BRIDGE_TYPE = \"linux\" ]\n");
    oneib_autofree char *before = picture(".");
    must_refuse("--frontend", "BRIDGE_TYPE is not \"none\"");
    oneib_autofree char *after = picture(".");
    assert_string_equal(before, after);
}

static void without_oned_conf_nothing_is_installed(void **state)
{
    (void)state;
    assert_int_equal(unlink(in_directory("d/etc/one/oned.conf")), 0);
    oneib_autofree char *before = picture(".");
    must_refuse("--node --frontend", "/etc/one/oned.conf");
    oneib_autofree char *after = picture(".");
    assert_string_equal(before, after);
}

static void without_a_front_end_nothing_is_installed(void **state)
{
    (void)state;
    must("rm -r \"${DIRECTORY:?}\"/d/var/lib/one/remotes");
    must_refuse("--frontend", "is this an OpenNebula front-end?");
}

static void an_unwritable_directory_is_said(void **state)
{
    (void)state;
    must("chmod 555 \"${DIRECTORY:?}\"/d/var/lib/one/remotes");
    must_refuse("--frontend", "cannot write to the directory");
    must("chmod 755 \"${DIRECTORY:?}\"/d/var/lib/one/remotes");
}

static void a_file_of_somebody_elses_stays(void **state)
{
    (void)state;
    must("cd \"${DIRECTORY:?}\"/d/var/lib/one/remotes && mkdir vnm/infiniband && "
         "echo theirs >vnm/infiniband/pre");
    oneib_autofree char *before = picture("var");
    must_refuse("--frontend", "vnm/infiniband/pre is there already and is not oneib's");
    oneib_autofree char *after = picture("var");
    assert_string_equal(before, after);
}

/* To open one would be to wait for somebody who writes to it. */
static void a_pipe_in_a_files_place_holds_nobody_up(void **state)
{
    (void)state;
    must("cd \"${DIRECTORY:?}\"/d/var/lib/one/remotes && mkdir vnm/infiniband && "
         "mkfifo vnm/infiniband/pre");
    must_refuse("--frontend", "vnm/infiniband/pre is there already and is not oneib's");
}

static void what_broke_off_can_be_taken_away(void **state)
{
    (void)state;
    must("mkdir -p \"${DIRECTORY:?}\"/d" PROGRAMS " && cd \"${DIRECTORY:?}\"/d" PROGRAMS " && "
         "mkdir .oneib-node.oneib-new");
    oneib_autofree char *before = picture(".");
    must_refuse("--node", "cannot write");
    oneib_autofree char *between = picture(".");
    assert_string_not_equal(before, between);
    must_install("--uninstall --node");
    oneib_autofree char *after = picture(".");
    assert_string_equal(before, after);
}

static void a_symbolic_link_of_oneadmins_leads_root_nowhere(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("only root has something to lose to a link");
    must("mkdir \"${DIRECTORY:?}\"/d/roots && ln -s ../../../../../roots "
         "\"${DIRECTORY:?}\"/d/var/lib/one/remotes/vnm/infiniband");
    must_refuse("--frontend", "cannot make the directory");
    must("ls -A \"${DIRECTORY:?}\"/d/roots");
    assert_string_equal(said, "");
}

static void a_self_contained_opennebula_is_found_by_its_location(void **state)
{
    (void)state;
    must("mkdir -p \"${DIRECTORY:?}\"/d/srv/one/etc \"${DIRECTORY:?}\"/d/srv/one/var/remotes && "
         "cp \"${DIRECTORY:?}\"/d/etc/one/oned.conf \"${DIRECTORY:?}\"/d/srv/one/etc/");
    give_to_nobody("d/srv/one");
    oneib_autofree char *before = picture(".");
    assert_int_equal(setenv("ONE_LOCATION", "/srv/one", 1), 0);
    must_install("--frontend");
    must("grep -q '" BEGIN "' \"${DIRECTORY:?}\"/d/srv/one/etc/oned.conf && "
         "test -x \"${DIRECTORY:?}\"/d/srv/one/var/remotes/vmm/kvm-ib/deploy && "
         "! test -e \"${DIRECTORY:?}\"/d/var/lib/one/remotes/vmm");
    must_install("--uninstall --frontend");
    oneib_autofree char *after = picture(".");
    assert_string_equal(before, after);
    assert_int_equal(unsetenv("ONE_LOCATION"), 0);
}

static void below_the_remotes_are_scripts_only(void **state)
{
    (void)state;
    must_install("--frontend");
    must("cd \"${DIRECTORY:?}\"/d/var/lib/one/remotes && find . -type f -perm /111 | while read -r "
         "f; "
         "do "
         "[ \"$(head -c 9 \"$f\")\" = '#!/bin/sh' ] || echo \"$f\"; done; LC_ALL=C grep -rlP "
         "'\\x00' . || true");
    assert_string_equal(said, "");
}

/* DESTDIR as a package begins: an empty directory. */
static void without_an_opennebula_a_package_is_staged(void **state)
{
    (void)state;
    must("rm -r \"${DIRECTORY:?}\"/d/var \"${DIRECTORY:?}\"/d/etc");
    must_install("--frontend");
    assert_contains(said, ONEIB_PREFIX "/share/oneib/install/oned-conf");
    must("cd \"${DIRECTORY:?}\"/d && test -x var/lib/one/remotes/vmm/kvm-ib/deploy && "
         "test -x ." ONEIB_PREFIX "/libexec/oneib/vnm/vnet_create && ! test -e etc/one");
    must_install("--frontend");
    must_install("--uninstall --frontend");
    must("cd \"${DIRECTORY:?}\"/d && find .");
    assert_string_equal(said, ".\n");
}

/* The later step, with the files that the package has brought. */
static void what_a_package_leaves_over_is_done_on_the_front_end(void **state)
{
    (void)state;
    must("cd \"${DIRECTORY:?}\" && mv d frontend");
    must_install("--frontend");
    must("cd \"${DIRECTORY:?}\" && cp -R d/. frontend/ && cp frontend/etc/one/oned.conf before && "
         "mkdir -p one/etc && cp frontend/etc/one/oned.conf one/etc/");
    assert_int_equal(setenv("ONE_LOCATION", in_directory("one"), 1), 0);
    must("\"${DIRECTORY:?}\"/frontend" ONEIB_PREFIX "/share/oneib/install/oned-conf --dry-run");
    must("cmp \"${DIRECTORY:?}\"/one/etc/oned.conf \"${DIRECTORY:?}\"/before");
    must("\"${DIRECTORY:?}\"/frontend" ONEIB_PREFIX "/share/oneib/install/oned-conf");
    must("grep -q 'VM_RESTRICTED_ATTR = \"NIC/VLAN_ID\"' \"${DIRECTORY:?}\"/one/etc/oned.conf");
    must("\"${DIRECTORY:?}\"/frontend" ONEIB_PREFIX "/share/oneib/install/oned-conf --uninstall");
    must("cmp \"${DIRECTORY:?}\"/one/etc/oned.conf \"${DIRECTORY:?}\"/before");
    assert_int_equal(unsetenv("ONE_LOCATION"), 0);
}

#define VIEWS "etc/fireedge/sunstone/views"

/* They are put there by a command of its own, whenever the operator wants them. */
static void uninstall_takes_the_tabs_out_of_sunstones_views(void **state)
{
    (void)state;
    must_install("--frontend");
    must("cd \"${DIRECTORY:?}\" && mkdir -p one/" VIEWS "/user one/" VIEWS "/groupadmin && "
         "for tab in service service-template; do "
         "echo 'actions:' >one/" VIEWS "/groupadmin/$tab-tab.yaml; done && "
         "ONE_LOCATION=\"$PWD\"/one d" ONEIB_PREFIX "/share/oneib/install/sunstone-tabs && "
         "mv one/etc/fireedge d/etc/one/ && ls d/etc/one/fireedge/sunstone/views/user");
    assert_contains(said, "service-template-tab.yaml");
    must_install("--uninstall --frontend");
    must("cd \"${DIRECTORY:?}\"/d/etc/one/fireedge/sunstone/views && ls user");
    assert_string_equal(said, "");
}

#define OURS "deploy attach_nic detach_nic save restore migrate snapshot_create snapshot_revert"

/* Stand-ins for all of OpenNebula's actions, which find their settings as those do. */
static void add_kvm(void)
{
    must("cd \"${DIRECTORY:?}\"/d/var/lib/one/remotes && mkdir -p vmm/kvm etc/vmm/kvm && "
         "echo 'SETTING=kvmrc' >etc/vmm/kvm/kvmrc && for action in vmm/kvm-ib/*; do "
         "printf '%s\\n' '#!/bin/sh' '. \"$(dirname \"$0\")/../../etc/vmm/kvm/kvmrc\"' "
         "'echo \"$SETTING ${0##*/} $# $2 $(cat)\"; exit 7' >\"vmm/kvm/${action##*/}\" && "
         "chmod 755 \"vmm/kvm/${action##*/}\"; done");
}

static void kvm_ib_hands_over_what_infiniband_does_not_touch(void **state)
{
    (void)state;
    must_install("--frontend");
    add_kvm();
    must("cd \"${DIRECTORY:?}\"/d/var/lib/one/remotes/vmm/kvm-ib && for action in *; do "
         "case ' " OURS " ' in *\" $action \"*) continue ;; esac; "
         "said=$(echo input | ./\"$action\" 'a b' 'c d') && echo \"$action does not end with 7\"; "
         "[ \"$said\" = \"kvmrc $action 2 c d input\" ] || echo \"$action says $said\"; done; "
         "ls | wc -l");
    assert_string_equal(said, "22\n");
}

/* As OpenNebula calls it on a node, of a VM that has no InfiniBand: its own action gets every
 * argument and byte. */
static void kvm_ib_deploys_through_the_installed_program(void **state)
{
    (void)state;
    must_install("--frontend --node");
    add_kvm();
    must("cd \"${DIRECTORY:?}\"/d && for action in " OURS "; do "
         "script=var/lib/one/remotes/vmm/kvm-ib/$action && "
         "case $action in deploy) program=deploy ;; *) program=driver ;; esac && "
         "grep -qx \"program=" PROGRAMS "/vmm/$program\" \"$script\" && "
         "sed -i \"s|^program=|&$PWD|\" \"$script\" || echo \"$action calls another\"; "
         "LC_ALL=C \"./$script\" </dev/null 2>&1 | grep -q \"usage: $action --upstream PATH\" || "
         "echo \"$action is no program\"; done; "
         "mkdir vm && echo '<VM><ID>7</ID></VM>' >vm/vm.xml && "
         "{ echo '<domain/>' | var/lib/one/remotes/vmm/kvm-ib/deploy \"$PWD/vm/deployment.0\" "
         "'node 1' 7 node1 more; [ $? -eq 7 ]; }");
    assert_string_equal(said, "kvmrc deploy 5 node 1 <domain/>\n");
}

static void a_host_without_the_programs_is_told_apart(void **state)
{
    (void)state;
    must_install("--frontend");
    must("cd \"${DIRECTORY:?}\"/d && for action in " OURS "; do "
         "script=var/lib/one/remotes/vmm/kvm-ib/$action && sed -i 's|^program=|&/nowhere|' "
         "\"$script\" && "
         "said=$(\"./$script\" </dev/null 2>&1) && echo \"$action does not fail\"; "
         "case $action in deploy) program=deploy ;; *) program=driver ;; esac; "
         "[ \"$said\" = \"/nowhere" PROGRAMS "/vmm/$program is not there: run 'install.sh "
         "--node' of oneib on this host\" ] || echo \"$said\"; done");
    assert_string_equal(said, "");
}

static void the_programs_of_both_drivers_are_installed_and_listed(void **state)
{
    (void)state;
    must_install("--node");
    must("cd \"${DIRECTORY:?}\"/d && for program in vnm/driver vmm/driver vmm/deploy; do "
         "[ \"$(stat -c %a \"." PROGRAMS "/$program\")\" = 755 ] && "
         "grep -qxF \"f " PROGRAMS "/$program\" \"." ONEIB_PREFIX
         "/share/oneib/installed-node\" || "
         "echo \"$program\"; done");
    assert_string_equal(said, "");
}

static void scripts_call_the_programs_where_they_are(void **state)
{
    (void)state;
    must_install("--frontend --node");
    must("cd \"${DIRECTORY:?}\"/d && grep -rhoE '/[a-z/]*libexec/oneib/[a-z_/-]+' "
         "var/lib/one/remotes "
         "." ONEIB_PREFIX
         "/lib/systemd | sort -u | while read -r f; do test -x \"./$f\" || echo \"$f\"; done");
    assert_string_equal(said, "");
}

static void a_node_gets_no_line_for_sudo(void **state)
{
    (void)state;
    must_install("--node");
    assert_int_not_equal(access(in_directory("d/etc/sudoers.d"), F_OK), 0);
}

static void the_front_end_gets_templates_and_what_images_get(void **state)
{
    (void)state;
    must_install("--frontend");
    must("cd \"${DIRECTORY:?}\"/d" ONEIB_PREFIX
         "/share/oneib && image/oneib-image --help | grep -q "
         "IMAGE && templates/load --help | grep -q OBJECT && mkdir -p root/etc root/usr/lib && "
         "context/install --root root && test -x root/usr/sbin/oneib-guest && "
         "diff -r context '" ONEIB_SOURCES "/share/context' && "
         "acceptance/run --help | grep -q HOST1 && "
         "diff -r acceptance '" ONEIB_SOURCES "/share/acceptance'");
}

static void a_build_for_another_prefix_is_refused(void **state)
{
    (void)state;
    must_refuse("--node --prefix /opt/elsewhere", "was configured for");
}

static void words_that_say_nothing_are_usage_errors(void **state)
{
    (void)state;
    static const char *const words[] = {"", "--frontend now", "--prefix", "--node --prefix usr",
                                        "--sm --prefix /usr/"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_int_equal(install(words[i]), 2);
    assert_int_equal(setenv("ONE_LOCATION", "srv/one", 1), 0);
    assert_int_equal(install("--frontend"), 2);
    assert_int_equal(unsetenv("ONE_LOCATION"), 0);
}

int main(void)
{
    unsetenv("ONE_LOCATION");
    const struct CMUnitTest tests[] = {
        CASE(installed_twice_is_installed_once),
        CASE(uninstall_leaves_every_byte_as_it_was),
        CASE(one_role_leaves_what_another_needs),
        CASE(a_dry_run_changes_nothing),
        CASE(a_dry_run_before_the_build_tells_each_step),
        CASE(what_the_operator_edits_meanwhile_stays),
        CASE(our_lines_that_somebody_tore_apart_are_not_guessed_at),
        CASE(what_is_restricted_is_what_oneib_asks_for),
        CASE(what_the_operator_has_set_by_hand_is_not_set_again),
        CASE(an_oned_conf_that_has_everything_is_left_alone),
        CASE(a_bridge_for_infiniband_is_refused),
        CASE(without_oned_conf_nothing_is_installed),
        CASE(without_a_front_end_nothing_is_installed),
        CASE(an_unwritable_directory_is_said),
        CASE(a_file_of_somebody_elses_stays),
        CASE(a_pipe_in_a_files_place_holds_nobody_up),
        CASE(what_broke_off_can_be_taken_away),
        CASE(a_symbolic_link_of_oneadmins_leads_root_nowhere),
        CASE(a_self_contained_opennebula_is_found_by_its_location),
        CASE(without_an_opennebula_a_package_is_staged),
        CASE(what_a_package_leaves_over_is_done_on_the_front_end),
        CASE(uninstall_takes_the_tabs_out_of_sunstones_views),
        CASE(below_the_remotes_are_scripts_only),
        CASE(kvm_ib_hands_over_what_infiniband_does_not_touch),
        CASE(kvm_ib_deploys_through_the_installed_program),
        CASE(a_host_without_the_programs_is_told_apart),
        CASE(the_programs_of_both_drivers_are_installed_and_listed),
        CASE(scripts_call_the_programs_where_they_are),
        CASE(a_node_gets_no_line_for_sudo),
        CASE(the_front_end_gets_templates_and_what_images_get),
        CASE(a_build_for_another_prefix_is_refused),
        CASE(words_that_say_nothing_are_usage_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
