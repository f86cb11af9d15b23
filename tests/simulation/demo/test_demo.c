// SPDX-License-Identifier: Apache-2.0
/*
 * The demo as a newcomer meets it: what it prints into a pipe and on a terminal, and what a second
 * terminal can do while it keeps its cloud up: each line of README's "Look around", and VMs.
 */
#include "../lab_internal.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define DEMO_MS 240000u
#define END_MS 30000u
#define COMMAND_MS 60000u
#define LINES_MAX 175
#define DIRECTORY "it's a demo"

static struct lab *lab;
static struct oneib_error err;
static pid_t demo;
static struct lab_output output; /* of the command run last */

static void ok(int result)
{
    if (result < 0)
        fail_msg("%s", err.text);
}

static const char *in_directory(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, DIRECTORY "/%s", name);
    const char *found = lab_path(lab, path);
    assert_non_null(found);
    return found;
}

static const char *said(void)
{
    static char *text;
    free(text);
    text = lab_read(lab, "demo.log");
    assert_non_null(text);
    return text;
}

static void must_say(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("\"%s\" is not said: %s", words, text);
}

/* Each line on a terminal of 80 columns, but for paths; escape codes take no room. */
static void must_fit(const char *text)
{
    for (const char *line = text, *end; *line; line = end + (*end == '\n')) {
        size_t columns = 0;
        end = line + strcspn(line, "\n");
        for (const char *at = line; at < end; at++)
            if (*at == '\033')
                at += strcspn(at, "AJm");
            else
                columns += *at != '\r' && (*at & 0xc0) != 0x80;
        if (columns > 79 && !memchr(line, '/', (size_t)(end - line)))
            fail_msg("%zu columns: %.*s", columns, (int)(end - line), line);
    }
}

/* As typed into a second terminal that has sourced env; must end so. */
static const char *type(const char *line, int status)
{
    const char *const argv[] = {
        "sh", "-c", "set -e; . \"$1\"; eval \"$2\"", "sh", in_directory("env"), line, NULL};
    lab_output_clear(&output);
    ok(lab_run(lab, NULL, argv, COMMAND_MS, &output, &err));
    if (output.status != status)
        fail_msg("'%s' ended with %d: %s%s", line, output.status, output.out, output.error);
    return output.out;
}

static int start_demo(void **state)
{
    (void)state;
    const struct lab_options options = {.leaves = 1, .hosts_per_leaf = 1};
    const char *directory;
    setenv("FABRIC_REACH", FABRIC_REACH_BINARY, 1); /* it lies when it is told to */
    return (lab = lab_open(&options, &err)) && (directory = lab_path(lab, DIRECTORY)) &&
                   lab_spawn(lab, "demo", NULL,
                             (const char *[]){MISLED_DEMO, "--keep=10", directory, NULL}, &demo,
                             &err) == 0 &&
                   lab_await_text(lab, "demo.log", 0, "vm-standin start", demo, DEMO_MS, &err) == 0
               ? 0
               : (fprintf(stderr, "%s\n", err.text), -1);
}

static int close_lab(void **state)
{
    (void)state;
    lab_output_clear(&output);
    lab_close(lab);
    return 0;
}

/* ---- while it keeps its cloud up ------------------------------------------------------------- */

static void a_pipe_gets_some_lines_with_names_and_no_escape_codes(void **state)
{
    (void)state;
    const char *text = said();
    size_t lines = 0;
    for (const char *at = text; *at; at++) {
        lines += *at == '\n';
        assert_int_not_equal(*at, '\033');
    }
    if (lines > LINES_MAX)
        fail_msg("%zu lines", lines);
    must_say(text, "climate  starts VMs 0-3 on H1-H4 ");
    must_say(text, "biology  stops VM 80 on H8 ");
    must_say(text, " 12,544 held\n");
    must_say(text, "  climate  H1   4  ████████████████   · ·");
    must_fit(text);
    must_say(text, "the subnet manager is killed: the standby leads");
    must_say(text, "three-clusters.svg\n");
}

static void the_pictures_have_the_tenants_names(void **state)
{
    (void)state;
    oneib_autofree char *svg = NULL;
    size_t length;
    ok(oneib_file_read(in_directory("three-clusters.svg"), 1 << 20, &svg, &length, &err));
    must_say(svg, "<svg ");
    must_say(svg, ">climate</tspan>");
    must_say(svg, ">physics</tspan>");
    must_say(svg, ">biology</tspan>");
    must_say(svg, ">gold SL 1</tspan>");
    must_say(svg, ">silver SL 2</tspan>");
    must_say(svg, ">silver SL 3</tspan>");
    must_say(svg, "<title>carries gold SL 1, silver SL 2, silver SL 3</title>");
}

/* The commands of README's block: what stands before two blanks. */
static char *next_command(char **rest)
{
    char *line = strsep(rest, "\n");
    char *blanks = line ? strstr(line, "  ") : NULL;
    if (blanks)
        *blanks = '\0';
    return line && strncmp(line, "```", 3) != 0 ? line : NULL;
}

static void each_line_of_readmes_look_around_works_as_it_is_written(void **state)
{
    (void)state;
    oneib_autofree char *readme = NULL;
    size_t length, count = 0;
    ok(oneib_file_read(README, 1 << 20, &readme, &length, &err));
    char *block = strstr(readme, "\n## Look around\n\n```\n");
    assert_non_null(block);
    block += strlen("\n## Look around\n\n```\n");
    for (char *command; (command = next_command(&block)); count++) {
        oneib_autotext struct oneib_text line = {0};
        oneib_text_printf(&line, "cd '%s'; %s", lab_directory(lab), command);
        type(line.data, 0);
    }
    assert_true(count >= 7);
    oneib_autofree char *svg = lab_read(lab, "fabric.svg");
    must_say(svg, ">biology</tspan>");
}

static void a_host_is_chosen_by_name(void **state)
{
    (void)state;
    must_say(type("on-host H3 oneib hca", 0), "0x0000000000100007");
    must_say(type("oneib hca", 0), "0x0000000000100003");
    must_say(output.error, "on-host H3 oneib hca");
    type("on-host H99 oneib hca", 1);
    must_say(output.error, "no host \"H99\"");
    type("on-host H3 sh", 1);
    type("on-host", 2);
}

static unsigned vms_of(const char *network)
{
    char line[64];
    unsigned vms = 0;
    snprintf(line, sizeof line, "vm-standin networks | awk '$2 == \"%s\" { print $4 }'", network);
    assert_int_equal(sscanf(type(line, 0), "%u", &vms), 1);
    return vms;
}

/* By `oneib list`, and in force. */
static void must_be_listed(const char *network, unsigned vms)
{
    char line[256];
    snprintf(line, sizeof line,
             "oneib list | awk 'NR == 1 { while ($(++column) != \"VMS\"); next } "
             "$2 == \"%s\" && $column == %u'",
             network, vms);
    must_say(type(line, 0), "in force");
}

static void vms_start_migrate_and_stop_and_oneibd_follows(void **state)
{
    (void)state;
    char line[64];
    unsigned vm = 0;
    const unsigned before = vms_of("climate");
    assert_int_equal(sscanf(type("vm-standin start climate", 0), "VM %u of network", &vm), 1);
    assert_int_equal(vms_of("climate"), before + 1);
    must_be_listed("climate", before + 1);
    type("oneib verify", 0);

    type("vm-standin stop 1", 0); /* room on H2 */
    snprintf(line, sizeof line, "vm-standin migrate %u H2", vm);
    must_say(type(line, 0), "runs on H2\n");
    snprintf(line, sizeof line, "vm-standin list | awk '$1 == %u'", vm);
    must_say(type(line, 0), "climate  H2\n");
    type("oneib verify", 0);

    snprintf(line, sizeof line, "vm-standin stop %u", vm);
    type(line, 0);
    assert_int_equal(vms_of("climate"), before - 1);
    type("oneib verify", 0);
    snprintf(line, sizeof line, "climate  stops VM %u on H2 ", vm);
    must_say(said(), line);
}

static void what_cannot_be_is_refused_by_name_and_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *line, *words;
        int status;
    } cases[] = {
        {"vm-standin start nobody", "no network \"nobody\"", 1},
        {"vm-standin start climate H9", "no host \"H9\"", 1},
        {"vm-standin stop 4711", "no VM \"4711\"", 1},
        {"vm-standin stop -1", "no VM \"-1\"", 1},
        {"vm-standin migrate 4711 H1", "no VM \"4711\"", 1},
        {"vm-standin start physics H1", "no VF is left on host \"H1\"", 1},
        {"vm-standin", "usage: vm-standin list", 2},
        {"vm-standin dance", "usage: vm-standin list", 2},
        {"vm-standin start", "usage: vm-standin list", 2},
    };
    oneib_autofree char *before = strdup(type("vm-standin list", 0));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        type(cases[i].line, cases[i].status);
        must_say(output.error, cases[i].words);
    }
    assert_string_equal(type("vm-standin list", 0), before);
}

static void the_page_about_the_demo_is_what_it_prints(void **state)
{
    (void)state;
    const char *const argv[] = {TRANSCRIPT, "check", in_directory("env"), lab_path(lab, "demo.log"),
                                NULL};
    lab_output_clear(&output);
    ok(lab_run(lab, NULL, argv, COMMAND_MS, &output, &err));
    if (output.status != 0)
        fail_msg("%s%s", output.out, output.error);
}

/* Where the wrapper goes to. */
static void find_its_lab(char directory[PATH_MAX])
{
    oneib_autofree char *wrapper = NULL;
    size_t length;
    ok(oneib_file_read(in_directory("bin/oneib"), 1 << 20, &wrapper, &length, &err));
    const char *at = strstr(wrapper, "\ncd '");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\ncd '%255[^']'", directory), 1);
}

static mode_t mode_of(const char *directory, const char *name)
{
    char path[PATH_MAX + 64];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 0777;
}

static pid_t pid_in(const char *directory, const char *name)
{
    char path[PATH_MAX + 64];
    pid_t pid = 0;
    snprintf(path, sizeof path, "%s/%s.pid", directory, name);
    oneib_autofclose FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    return pid;
}

static void others_read_no_secret_and_call_nothing(void **state)
{
    (void)state;
    char directory[PATH_MAX];
    find_its_lab(directory);
    assert_int_equal(mode_of(directory, "call"), 0600);
    assert_int_equal(mode_of(directory, "one_auth"), 0600);
    assert_int_equal(mode_of(directory, "oneib.conf"), 0600);
    assert_int_equal(mode_of(directory, ".") & 0066, 0);
}

/* One of the VMs on the host; 0 is none here. */
static unsigned vm_on(const char *host)
{
    char line[128];
    unsigned vm = 0;
    snprintf(line, sizeof line, "vm-standin list | awk '$3 == \"%s\" && !vm++ { print $1 }'", host);
    sscanf(type(line, 0), "%u", &vm);
    return vm;
}

static void stop(unsigned vm, int status)
{
    char line[64];
    snprintf(line, sizeof line, "vm-standin stop %u", vm);
    type(line, status);
}

static void files_that_oneib_is_given_are_the_callers(void **state)
{
    (void)state;
    char line[PATH_MAX + 64], its_lab[PATH_MAX];
    find_its_lab(its_lab);
    type("oneib keys fresh", 0);
    assert_int_equal(access(lab_path(lab, "fresh/m_key"), F_OK), 0);
    snprintf(line, sizeof line, "cp '%s/oneib.conf' copy; oneib list --config copy", its_lab);
    type(line, 0);
    type("oneib list --config=nothing", 3);
    must_say(output.error, lab_path(lab, "nothing"));
    type("on-host H3 oneib hca --trust nothing", 3);
    must_say(output.error, lab_path(lab, "nothing"));
}

/* Of a fenced host they can only end: 'oneib unfence' waits for that. */
static void vms_of_a_fenced_host_are_stopped_before_unfence(void **state)
{
    (void)state;
    const unsigned before = vms_of("climate");
    type("oneib fence H8", 0);
    type("vm-standin start climate H8", 1);
    must_say(output.error, "is fenced");
    for (unsigned vm; (vm = vm_on("H8"));)
        stop(vm, 0);
    type("vm-standin start climate", 0);
    type("oneib unfence H8", 0);
    type("vm-standin start climate H8", 0);
    assert_true(vms_of("climate") <= before + 2);
    must_say(type("oneib verify", 0), "no deviation");
}

static void a_host_that_is_back_by_force_has_its_keys(void **state)
{
    (void)state;
    type("oneib fence H7", 0);
    type("oneib unfence --force H7", 0);
    stop(vm_on("H7"), 0);
    assert_string_equal(output.error, "");
    must_say(type("oneib verify", 0), "no deviation");
}

static void must_stay_up(const char *words)
{
    must_say(output.error, words);
    must_say(output.error, "The cloud stays up");
    assert_int_equal(kill(demo, 0), 0);
}

static void a_vm_whose_node_has_ended_fails_and_the_cloud_stays_up(void **state)
{
    (void)state;
    char line[PATH_MAX + 256], its_lab[PATH_MAX];
    const unsigned vm = vm_on("H5");
    find_its_lab(its_lab);
    snprintf(line, sizeof line,
             "for p in /proc/[0-9]*; do"
             " if grep -qz '^ONEIB_NODE_ROOT=%s/nodes/H5$' $p/environ 2>/dev/null &&"
             " grep -q oneib-node $p/comm; then kill -9 ${p##*/}; fi; done",
             its_lab);
    type(line, 0);
    stop(vm, 1);
    must_stay_up("oneib-node cannot be called");
    snprintf(line, sizeof line, "vm-standin list | awk '$1 == %u'", vm);
    must_say(type(line, 0), "H5    failed\n");
    stop(vm, 0); /* as with onevm recover --delete */
    assert_string_equal(type(line, 0), "");
}

static void without_a_subnet_manager_vms_fail_and_the_cloud_stays_up(void **state)
{
    (void)state;
    char directory[PATH_MAX];
    unsigned vm;
    find_its_lab(directory);
    while (sscanf(type("vm-standin list | awk '$2 == \"climate\" && $3 == \"H8\"'", 0), "%u",
                  &vm) == 1)
        stop(vm, 0);
    assert_int_equal(kill(pid_in(directory, "opensm"), SIGKILL), 0);
    assert_int_equal(kill(pid_in(directory, "standby"), SIGKILL), 0);
    type("vm-standin start climate H8", 1);
    must_stay_up("is not in the table of mlx4_0");
    must_say(type("oneib show climate", 1), "start-failed");
}

static void remove_kept(const char *directory)
{
    struct lab_output removed = {0};
    assert_int_equal(access(directory, F_OK), 0);
    ok(lab_run(lab, NULL,
               (const char *[]){"sh", "-c", "rm -rf \"$1\" \"$(readlink \"$1/nodes\")\"", "sh",
                                directory, NULL},
               COMMAND_MS, &removed, &err));
    lab_output_clear(&removed);
}

/* Its logs are what tells why. */
static void when_a_tenant_reaches_another_the_demo_ends_and_keeps_its_directory(void **state)
{
    (void)state;
    char directory[PATH_MAX], kept[PATH_MAX + 64];
    int status = -1;
    find_its_lab(directory);
    snprintf(kept, sizeof kept, "%s/lie", directory);
    ok(oneib_file_replace(kept, "", 0, 0644, NULL, NULL, &err));
    stop(vm_on("H6"), 1);
    must_say(output.error, "must not reach each other");
    assert_true(lab_wait(lab, demo, END_MS, &status));
    assert_int_equal(WEXITSTATUS(status), 1);
    snprintf(kept, sizeof kept, "Its logs are kept in %s\n", directory);
    must_say(said(), kept);
    assert_int_equal(access(in_directory("env"), F_OK), -1);
    remove_kept(directory);
}

/* ---- by itself ------------------------------------------------------------------------------- */

static int open_lab(void **state)
{
    (void)state;
    const struct lab_options options = {.leaves = 1, .hosts_per_leaf = 1};
    return (lab = lab_open(&options, &err)) ? 0 : -1;
}

static int open_terminal(int *slave)
{
    const struct winsize size = {.ws_row = 24, .ws_col = 80};
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    *slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(*slave >= 0);
    assert_int_equal(ioctl(*slave, TIOCSWINSZ, &size), 0);
    return master;
}

/* Until it says the words, or (NULL) has ended. */
static void read_terminal(int terminal, struct oneib_text *text, const char *words)
{
    char buffer[4096];
    struct pollfd watched = {.fd = terminal, .events = POLLIN};
    while (!words || !text->data || !strstr(text->data, words)) {
        if (poll(&watched, 1, DEMO_MS) <= 0)
            fail_msg("nothing is said any more after: %s", text->data ? text->data : "");
        const ssize_t length = read(terminal, buffer, sizeof buffer);
        if (length <= 0) {
            assert_null(words);
            return;
        }
        oneib_text_append_bytes(text, buffer, (size_t)length);
    }
}

/* Kills the demo's program of that name: one that works in its directory. */
static void kill_program(const char *directory, const char *name)
{
    char line[PATH_MAX + 256];
    snprintf(line, sizeof line,
             "killed=; lab='%s'; for p in /proc/[0-9]*; do"
             " if grep -qx %s $p/comm 2>/dev/null &&"
             " { [ $p/cwd -ef $lab ] || [ $p/cwd -ef $lab/nodes ]; }; then"
             " kill -9 ${p##*/}; killed=yes; fi; done; [ $killed ]",
             directory, name);
    type(line, 0);
}

static void programs_that_cannot_be_replaced_are_named(const char *directory)
{
    kill_program(directory, "node-standin");
    type("vm-standin start climate", 1);
    must_say(output.error,
             "\"node-standin\" has ended, and with it the hosts' adapters: end the demo");
    type("oneib list", 0);
    kill_program(directory, "ibsim");
    type("vm-standin stop 0", 1);
    must_say(output.error, "\"ibsim\" has ended, and with it the fabric: end the demo");
    type("oneib list", 3);
    must_say(output.error, "(ibsim) has ended: end the demo");
}

static void a_terminal_gets_the_matrix_in_place_in_colour_and_enter_leaves_nothing(void **state)
{
    (void)state;
    char directory[PATH_MAX], nodes[PATH_MAX + 16], memory[PATH_MAX] = "";
    const char *const environment[] = {"TERM=xterm", NULL};
    const char *const argv[] = {DEMO, "--keep=10", lab_path(lab, DIRECTORY), NULL};
    int slave, status = -1;
    oneib_autoclose int terminal = open_terminal(&slave);
    const struct lab_program program = {.name = "demo",
                                        .argv = argv,
                                        .environment = environment,
                                        .in = slave,
                                        .out = slave,
                                        .error = slave};
    oneib_autotext struct oneib_text text = {0};
    unsetenv("NO_COLOR");
    ok(lab_start(lab, &program, &demo, &err));
    close(slave);
    read_terminal(terminal, &text, "vm-standin start");
    find_its_lab(directory);
    snprintf(nodes, sizeof nodes, "%s/nodes", directory);
    if (readlink(nodes, memory, sizeof memory - 1) < 0)
        *memory = '\0';
    const pid_t master = pid_in(directory, "opensm"), standby = pid_in(directory, "standby");
    programs_that_cannot_be_replaced_are_named(directory);
    assert_int_equal(write(terminal, "\n", 1), 1);
    read_terminal(terminal, &text, NULL);
    assert_true(lab_wait(lab, demo, END_MS, &status));
    assert_int_equal(status, 0);
    must_say(text.data, "Enter or Ctrl-C");
    must_say(text.data, "\033[19A\033[J"); /* back over the matrix of 16 places */
    must_say(text.data, "\033[38;5;33m");
    must_fit(text.data);
    must_say(text.data, "Every check held.");
    assert_int_equal(access(directory, F_OK), -1);
    assert_true(!*memory || access(memory, F_OK) < 0);
    assert_int_equal(kill(master, 0), -1);
    assert_int_equal(kill(standby, 0), -1);
    assert_int_equal(access(in_directory("env"), F_OK), -1);
    assert_int_equal(access(in_directory("bin"), F_OK), -1);
    assert_int_equal(access(in_directory("three-clusters.svg"), F_OK), 0);
}

static void a_check_that_does_not_hold_ends_the_demo_with_1(void **state)
{
    (void)state;
    const char *const argv[] = {MISLED_DEMO, lab_path(lab, DIRECTORY), NULL};
    char directory[PATH_MAX];
    setenv("FABRIC_REACH", FABRIC_REACH_BINARY, 1);
    setenv("FABRIC_REACH_LIES", "yes", 1);
    ok(lab_run(lab, NULL, argv, DEMO_MS, &output, &err));
    unsetenv("FABRIC_REACH_LIES");
    assert_int_equal(output.status, 1);
    must_say(output.out,
             "WRONG: VM 0 (climate) and free VF 1 of host H1 must not reach each other");
    const char *kept = strstr(output.out, "The demo FAILED.\nIts logs are kept in ");
    assert_non_null(kept);
    assert_int_equal(sscanf(strstr(kept, " in ") + 4, "%255s", directory), 1);
    remove_kept(directory);
    must_say(output.error, "after \"climate starts VM 0 on H1\"");
    assert_null(strstr(output.out, "held"));
}

static void refuses(const char *const *argv)
{
    lab_output_clear(&output);
    ok(lab_run(lab, NULL, argv, COMMAND_MS, &output, &err));
    assert_int_equal(output.status, 2);
    assert_string_equal(output.out, "");
    must_say(output.error, "usage: ");
}

static void unknown_arguments_are_refused_before_anything_is_done(void **state)
{
    (void)state;
    static const char *const wrong[] = {"--no", "--keep=", "--keep=0", "--keep=1441", "--keep=x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refuses((const char *[]){DEMO, wrong[i], NULL});
        refuses((const char *[]){DEMO_SCRIPT, wrong[i], NULL});
    }
    refuses((const char *[]){DEMO, "a", "b", NULL});
    refuses((const char *[]){DEMO_SCRIPT, "--keep", "b", NULL});
    lab_output_clear(&output);
    ok(lab_run(lab, NULL, (const char *[]){DEMO_SCRIPT, "--help", NULL}, COMMAND_MS, &output,
               &err));
    assert_int_equal(output.status, 0);
    must_say(output.out, "--keep[=MINUTES]");
}

/* Programs that stand before the real ones on the PATH. */
static void write_stub(const char *name, const char *script)
{
    char file[64];
    snprintf(file, sizeof file, "stubs/%s", name);
    ok(lab_write(lab, file, 0755, script, &err));
}

static void a_build_says_how_far_it_is(void **state)
{
    (void)state;
    const char *const argv[] = {
        "sh", "-c", "PATH=$1:$PATH exec \"$2\"", "sh", lab_path(lab, "stubs"), DEMO_SCRIPT, NULL};
    assert_int_equal(mkdir(argv[4], 0755), 0);
    write_stub("dpkg-query", "#!/bin/sh\necho installed\n");
    write_stub("cmake", "#!/bin/sh\n"
                        "[ \"$1\" = --build ] || exit 0\n"
                        "seq 1 200 | sed 's|.*|[&/200] Building|'\n"
                        "exit 1\n");
    lab_output_clear(&output);
    ok(lab_run(lab, NULL, argv, COMMAND_MS, &output, &err));
    assert_int_equal(output.status, 1);
    must_say(output.out, "\n    built 20 of 200\n    built 40 of 200\n");
    must_say(output.out, "    built 200 of 200\n");
}

static void a_build_that_fails_shows_the_end_of_its_log(void **state)
{
    (void)state;
    const char *const argv[] = {
        "sh", "-c", "PATH=$1:$PATH exec \"$2\"", "sh", lab_path(lab, "stubs"), DEMO_SCRIPT, NULL};
    assert_int_equal(mkdir(argv[4], 0755), 0);
    write_stub("dpkg-query", "#!/bin/sh\necho installed\n");
    write_stub("cmake", "#!/bin/sh\necho 'no room for a build'\nexit 1\n");
    lab_output_clear(&output);
    ok(lab_run(lab, NULL, argv, COMMAND_MS, &output, &err));
    assert_int_equal(output.status, 1);
    must_say(output.out, "Installs the Debian packages that are missing, builds ");
    must_fit(output.out);
    must_say(output.error, "The build failed; build/demo.log ends with:\nno room for a build\n");
}

#define alone(test) cmocka_unit_test_setup_teardown(test, open_lab, close_lab)

int main(void)
{
    if (lab_missing()) {
        fprintf(stderr, "skipped: %s is not installed\n", lab_missing());
        return LAB_SKIPPED;
    }
    const struct CMUnitTest kept[] = {
        cmocka_unit_test(a_pipe_gets_some_lines_with_names_and_no_escape_codes),
        cmocka_unit_test(the_pictures_have_the_tenants_names),
        cmocka_unit_test(each_line_of_readmes_look_around_works_as_it_is_written),
        cmocka_unit_test(a_host_is_chosen_by_name),
        cmocka_unit_test(what_cannot_be_is_refused_by_name_and_changes_nothing),
        cmocka_unit_test(vms_start_migrate_and_stop_and_oneibd_follows),
        cmocka_unit_test(the_page_about_the_demo_is_what_it_prints),
        cmocka_unit_test(others_read_no_secret_and_call_nothing),
        cmocka_unit_test(files_that_oneib_is_given_are_the_callers),
        cmocka_unit_test(vms_of_a_fenced_host_are_stopped_before_unfence),
        cmocka_unit_test(a_host_that_is_back_by_force_has_its_keys),
        cmocka_unit_test(a_vm_whose_node_has_ended_fails_and_the_cloud_stays_up),
        cmocka_unit_test(without_a_subnet_manager_vms_fail_and_the_cloud_stays_up),
        cmocka_unit_test(when_a_tenant_reaches_another_the_demo_ends_and_keeps_its_directory),
    };
    const struct CMUnitTest by_itself[] = {
        alone(unknown_arguments_are_refused_before_anything_is_done),
        alone(a_build_says_how_far_it_is),
        alone(a_build_that_fails_shows_the_end_of_its_log),
        alone(a_check_that_does_not_hold_ends_the_demo_with_1),
        alone(a_terminal_gets_the_matrix_in_place_in_colour_and_enter_leaves_nothing),
    };
    const int failed = cmocka_run_group_tests(by_itself, NULL, NULL);
    return failed + cmocka_run_group_tests(kept, start_demo, close_lab);
}
