// SPDX-License-Identifier: Apache-2.0
/* Runs that look at a machine without OpenNebula and without InfiniBand. */
#include "../skip.h"
#include "run.h"
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Port 1 of loopback: nobody listens there. */
#define NOBODY "http://127.0.0.1:1/RPC2"

/* What a test adds to it. */
static const char *further = "";

/* A configuration of files in the test's directory; opensm is found by a pid file. */
static const char *configuration(void)
{
    char text[4096];
    write_file("auth", "oneadmin:secret-of-the-test\n");
    assert_int_equal(chmod(in_directory("auth"), 0600), 0);
    snprintf(text, sizeof text,
             "one = { endpoint = \"" NOBODY "\"; auth_file = \"%s\"; timeout = 2000; };\n"
             "opensm = { partitions = \"%s\"; static_partitions = \"%s\"; reload = \"pid_file\";\n"
             "           pid_file = \"%s\"; };\n%s\n",
             in_directory("auth"), in_directory("partitions.conf"),
             in_directory("static_partitions"), in_directory("opensm.pid"), further);
    write_file("oneib.conf", text);
    return in_directory("oneib.conf");
}

static void forget(const char *name)
{
    assert_true(unlink(in_directory(name)) == 0 || errno == ENOENT);
}

static void fails(const struct outcome *outcome, const char *part)
{
    assert_int_equal(outcome->status, 3);
    assert_string_equal(outcome->out, "");
    assert_contains(outcome->err, part);
    assert_lacks(outcome->err, "secret-of-the-test");
}

static void oned_that_does_not_answer_is_a_failure_with_a_fix(void **state)
{
    (void)state;
    char config[512];
    snprintf(config, sizeof config, "%s", configuration());
    static const char fix[] = "; is oned running there, and is one.endpoint right?\n";
    fails(RUN("list", "--no-fabric", "--config", config), fix);
    fails(RUN("show", "7", "--no-fabric", "--config", config), fix);
    fails(RUN("--config", config, "plan"), fix);
    fails(RUN("--config", config, "daemons"), fix);
    fails(RUN("--config", config, "fence", "3"), fix);
    fails(RUN("--config", config, "unfence", "3"), fix);
    fails(RUN("--config", config, "host", "accept", "3"), fix);
    fails(RUN("--config", config, "host", "forget", "3"), fix);
    fails(RUN("--config", config, "daemons"), "127.0.0.1:1");
}

static void sync_and_verify_without_a_fabric_are_failures(void **state)
{
    (void)state;
    char config[512];
    write_file("partitions.conf", "Default=0x7fff : ALL=limited, SELF=full;\n");
    snprintf(config, sizeof config, "%s", configuration());
    fails(RUN("sync", "--config", config), "oneib: ");
    fails(RUN("sync", "--force", "--config", config), "oneib: ");
    fails(RUN("verify", "--config", config), "oneib: ");
    forget("partitions.conf");
}

static void a_failure_is_json_too(void **state)
{
    (void)state;
    const struct outcome *outcome =
        RUN("list", "--no-fabric", "--json", "--config", configuration());
    assert_int_equal(outcome->status, 3);
    json_t *document = parse_json(outcome->out);
    json_t *error = json_object_get(document, "error");
    assert_string_equal(json_string_value(json_object_get(error, "code")), "unreachable");
    assert_contains(json_string_value(json_object_get(error, "text")), "127.0.0.1:1");
    json_decref(document);
    assert_contains(outcome->err, "oneib: ");
    assert_lacks(outcome->out, "secret-of-the-test");
}

static void a_session_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    char assignment[600];
    snprintf(assignment, sizeof assignment, "ONE_AUTH=%s", in_directory("nobodys-auth"));
    set_variable(assignment);
    write_file("empty.conf", "");
    fails(RUN("list", "--no-fabric", "--config", in_directory("empty.conf")), "nobodys-auth");
    set_variable(NULL);
}

static void a_configuration_that_is_named_must_exist(void **state)
{
    (void)state;
    const struct outcome *outcome = RUN("list", "--config", in_directory("absent.conf"));
    assert_int_equal(outcome->status, 3);
    assert_contains(outcome->err, "absent.conf");
}

static void a_configuration_error_names_file_line_and_key(void **state)
{
    (void)state;
    write_file("wrong.conf", "site = 1;\none = { windows = 5; };\n");
    const struct outcome *outcome =
        RUN("--config", in_directory("wrong.conf"), "check", "--config");
    assert_int_equal(outcome->status, 3);
    assert_string_equal(outcome->out, "");
    assert_contains(outcome->err, "wrong.conf");
    assert_contains(outcome->err, "2");
    assert_contains(outcome->err, "windows");
}

static void the_effective_configuration_reads_back_as_itself(void **state)
{
    (void)state;
    char first[65536];
    const char *config = configuration();
    const struct outcome *outcome = RUN("--config", config, "check", "--config");
    assert_int_equal(outcome->status, 0);
    assert_string_equal(outcome->err, "");
    assert_contains(outcome->out, NOBODY);
    strcpy(first, outcome->out);

    write_file("printed.conf", first);
    outcome = RUN("check", "--config", in_directory("printed.conf"), "--config");
    assert_int_equal(outcome->status, 0);
    assert_string_equal(outcome->out, first);
}

static void the_example_configuration_is_the_defaults(void **state)
{
    (void)state;
    char defaults[65536];
    write_file("empty.conf", "");
    strcpy(defaults, RUN("--config", in_directory("empty.conf"), "check", "--config")->out);
    const struct outcome *outcome = RUN("--config", ONEIB_EXAMPLE_CONFIG, "check", "--config");
    assert_int_equal(outcome->status, 0);
    assert_string_equal(outcome->out, defaults);
}

static json_t *look_for_check(json_t *document, const char *name)
{
    size_t i;
    json_t *check;
    json_array_foreach(json_object_get(document, "checks"), i, check)
    {
        if (strcmp(json_string_value(json_object_get(check, "check")), name) == 0)
            return check;
    }
    return NULL;
}

static json_t *find_check(json_t *document, const char *name)
{
    json_t *check = look_for_check(document, name);
    if (!check)
        fail_msg("no check of %s", name);
    return check;
}

static void must_be(json_t *document, const char *name, const char *status)
{
    json_t *check = find_check(document, name);
    assert_string_equal(json_string_value(json_object_get(check, "status")), status);
    if (strcmp(status, "ok") != 0)
        assert_true(json_is_string(json_object_get(check, "text")));
}

static json_t *checks(void)
{
    const struct outcome *outcome = RUN("check", "--json", "--config", configuration());
    assert_int_equal(outcome->status, 1);
    json_t *document = parse_json(outcome->out);
    assert_true(json_is_false(json_object_get(document, "ok")));
    return document;
}

static void check_names_what_fails_and_its_mend(void **state)
{
    (void)state;
    forget("partitions.conf");
    forget("static_partitions");
    forget("opensm.pid");
    json_t *document = checks();
    must_be(document, "configuration", "ok");
    must_be(document, "credentials", "ok");
    must_be(document, "oned", "fail");
    must_be(document, "opensm", "fail");
    must_be(document, "partitions", "warn");
    must_be(document, "static_partitions", "ok");
    assert_string_equal(json_string_value(json_object_get(find_check(document, "oned"), "fix")),
                        "is oned running there, and is one.endpoint right?");
    json_decref(document);

    const struct outcome *outcome = RUN("check", "--config", configuration());
    assert_int_equal(outcome->status, 1);
    assert_contains(outcome->out, "ok    configuration: ");
    assert_contains(outcome->out, "fail  oned: ");
    assert_lacks(outcome->out, "; is oned running"); /* the fix, once */
    assert_lacks(outcome->out, "secret-of-the-test");
}

/* The second is not to be seen by root, who may write anywhere. */
static void check_tells_a_directory_that_is_missing_from_one_that_is_not_writable(void **state)
{
    char text[512], config[512];
    (void)state;
    snprintf(config, sizeof config, "%s", in_directory("elsewhere.conf"));
    snprintf(text, sizeof text, "opensm = { partitions = \"%s/partitions.conf\"; };\n",
             in_directory("elsewhere"));
    write_file("elsewhere.conf", text);
    const struct outcome *outcome = RUN("check", "--config", config);
    assert_contains(outcome->out, "/elsewhere: No such file or directory");
    assert_contains(outcome->out, "make the directory");

    assert_int_equal(mkdir(in_directory("elsewhere"), 0555), 0);
    outcome = RUN("check", "--config", config);
    assert_lacks(outcome->out, "make the directory");
    if (geteuid() != 0)
        assert_contains(outcome->out, "/elsewhere cannot be written by this user");
}

static void check_with_a_wrong_configuration_fails_at_that(void **state)
{
    (void)state;
    write_file("wrong.conf", "sites = 1;\n");
    const struct outcome *outcome = RUN("check", "--config", in_directory("wrong.conf"));
    assert_int_equal(outcome->status, 1);
    assert_contains(outcome->out, "fail  configuration: ");
    assert_contains(outcome->out, "sites");
}

static void check_tells_ours_from_foreign_from_unreadable_files(void **state)
{
    (void)state;
    write_file("partitions.conf", "Default=0x7fff : ALL=limited, SELF=full;\n");
    write_file("static_partitions", "Storage=0x0042 : 0x0002c90300112233=full;\n");
    json_t *document = checks();
    must_be(document, "partitions", "warn");
    must_be(document, "static_partitions", "ok");
    json_decref(document);

    write_file("partitions.conf", "Default=0x7fff : ALL=limitless;\n");
    write_file("static_partitions", "Storage=0x0042 :\n");
    document = checks();
    must_be(document, "partitions", "fail");
    must_be(document, "static_partitions", "fail");
    json_decref(document);
    forget("partitions.conf");
    forget("static_partitions");
}

/* What plan, sync and oneibd refuse although it parses. */
static void check_refuses_static_partitions_that_nobody_puts_into_force(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Default=0x7fff,ipoib : ALL=full;\n",
        "one7=0x10 : ALL=full;\n",
        "Storage=0x10,rate=23 : ALL=limited;\n",
        "Storage=0x10 : 0x0200000000000701=full;\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file("static_partitions", texts[i]);
        json_t *document = checks();
        must_be(document, "static_partitions", "fail");
        json_decref(document);
    }
    forget("static_partitions");
}

/* A shell that is called opensm and has opensm's words behind its script; it waits for its input to
 * end. */
static pid_t pretend_opensm(const char *option, const char *value, bool ignores_sighup, int *end)
{
    int ends[2];
    char text[32];
    const char *program = in_directory("opensm");
    assert_int_equal(pipe(ends), 0);
    forget("opensm");
    assert_int_equal(symlink("/bin/sh", program), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        signal(SIGHUP, ignores_sighup ? SIG_IGN : SIG_DFL);
        execl(program, "opensm", "-c", "read end", option, value, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    *end = ends[1];
    snprintf(text, sizeof text, "%d\n", child);
    write_file("opensm.pid", text);
    return child;
}

/* Until its exec() is done it is still called like the test. */
static void await_name(pid_t pid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    for (int i = 0; i < 5000 && strcmp(name, "opensm\n") != 0; i++) {
        usleep(1000);
        FILE *file = fopen(path, "r");
        if (!file || !fgets(name, sizeof name, file))
            name[0] = '\0';
        if (file)
            fclose(file);
    }
    assert_string_equal(name, "opensm\n");
}

static void end_opensm(pid_t pid, int end)
{
    close(end);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    forget("opensm.pid");
}

static void opensm_with(const char *option, const char *value, bool ignores_sighup,
                        const char *file_status, const char *sighup_status)
{
    int end;
    const pid_t pid = pretend_opensm(option, value, ignores_sighup, &end);
    await_name(pid);
    json_t *document = checks();
    must_be(document, "opensm", "ok");
    must_be(document, "opensm-file", file_status);
    must_be(document, "opensm-sighup", sighup_status);
    json_decref(document);
    end_opensm(pid, end);
}

/* The check of virtual ports, whatever else there is of that name: one with these words. */
static void virtual_ports_are(const char *setup, const char *status, const char *words)
{
    int end;
    write_file("opensm.conf", setup);
    further = "sm = { kind = \"nvidia-opensm\"; };";
    const pid_t pid = pretend_opensm("-F", in_directory("opensm.conf"), false, &end);
    await_name(pid);
    json_t *document = checks();
    must_be(document, "opensm-virtual-ports", status);
    assert_contains(
        json_string_value(json_object_get(find_check(document, "opensm-virtual-ports"), "text")),
        words);
    json_decref(document);
    end_opensm(pid, end);
    further = "";
    forget("opensm.conf");
}

#define VIRTUAL_ON "virt_enabled 2\n"
#define TRUST_ON "sa_enhanced_trust_model TRUE\n"
#define NO_GUIDS_BY_VF "sa_etm_allow_guidinfo_rec_by_vf FALSE\n"
#define GOOD VIRTUAL_ON TRUST_ON NO_GUIDS_BY_VF

static void check_looks_at_what_virtual_ports_need_of_nvidias_opensm(void **state)
{
    (void)state;
    virtual_ports_are(GOOD, "ok", "on");
    virtual_ports_are(GOOD "virt_enabled 1\n", "fail", "virt_enabled");
    virtual_ports_are(TRUST_ON NO_GUIDS_BY_VF, "fail", "virt_enabled");
    virtual_ports_are(GOOD "sa_etm_allow_guidinfo_rec_by_vf TRUE\n", "warn",
                      "sa_etm_allow_guidinfo_rec_by_vf");
    virtual_ports_are(VIRTUAL_ON TRUST_ON, "warn", "sa_etm_allow_guidinfo_rec_by_vf");
    virtual_ports_are(GOOD "sa_enhanced_trust_model FALSE\n", "warn", "sa_enhanced_trust_model");
    virtual_ports_are(GOOD "sa_etm_allow_untrusted_proxy_requests TRUE\n", "warn",
                      "sa_etm_allow_untrusted_proxy_requests");
    virtual_ports_are(GOOD "sa_check_sgid_spoofing FALSE\n", "warn", "sa_check_sgid_spoofing");
    virtual_ports_are(GOOD "sweep_every_hup_signal FALSE\n", "warn", "sweep_every_hup_signal");
}

/* What cannot be seen must not look as if it were well. */
static void check_says_when_it_cannot_see_whether_virtual_ports_are_on(void **state)
{
    (void)state;
    forget("opensm.pid");
    further = "sm = { kind = \"nvidia-opensm\"; };";
    json_t *document = checks();
    must_be(document, "opensm-virtual-ports", "warn");
    json_decref(document);
    further = "";
    document = checks();
    assert_null(look_for_check(document, "opensm-virtual-ports"));
    json_decref(document);
}

static void check_knows_which_file_opensm_reads(void **state)
{
    (void)state;
    char path[600], text[1200];
    snprintf(path, sizeof path, "%s", in_directory("partitions.conf"));
    opensm_with("-P", path, false, "ok", "ok");
    opensm_with("--Pconfig", path, false, "ok", "ok");
    opensm_with("-P", "/etc/opensm/other.conf", false, "fail", "ok");
    snprintf(text, sizeof text, "-P%s", path);
    opensm_with(text, NULL, false, "ok", "ok");
    snprintf(text, sizeof text, "--Pconfig=%s", path);
    opensm_with(text, NULL, false, "ok", "ok");

    snprintf(text, sizeof text, "# opensm\npartition_config_file %s\n", path);
    write_file("opensm.conf", text);
    opensm_with("-F", in_directory("opensm.conf"), false, "ok", "ok");
    opensm_with("--config", in_directory("opensm.conf"), false, "ok", "ok");
    write_file("opensm.conf", "partition_config_file /somewhere/else\n");
    opensm_with("-F", in_directory("opensm.conf"), false, "fail", "ok");
}

/* As the guide has it made before the first sync writes what it leads to. */
static void check_follows_a_link_to_a_file_that_is_not_there_yet(void **state)
{
    (void)state;
    forget("partitions.conf");
    assert_int_equal(symlink(in_directory("partitions.conf"), in_directory("absolute")), 0);
    assert_int_equal(symlink("partitions.conf", in_directory("relative")), 0);
    assert_int_equal(symlink("elsewhere", in_directory("other")), 0);
    assert_int_equal(symlink("circle", in_directory("circle")), 0);
    opensm_with("-P", in_directory("absolute"), false, "ok", "ok");
    opensm_with("-P", in_directory("relative"), false, "ok", "ok");
    opensm_with("-P", in_directory("other"), false, "fail", "ok");
    opensm_with("-P", in_directory("circle"), false, "fail", "ok");
}

static void check_finds_an_opensm_that_ignores_sighup(void **state)
{
    (void)state;
    opensm_with("-P", in_directory("partitions.conf"), true, "ok", "fail");
}

static void check_refuses_another_program_under_opensms_pid(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d\n", getpid());
    write_file("opensm.pid", text);
    json_t *document = checks();
    must_be(document, "opensm", "fail");
    assert_contains(json_string_value(json_object_get(find_check(document, "opensm"), "text")),
                    "not opensm");
    json_decref(document);
    forget("opensm.pid");
}

static void color_is_for_terminals_or_on_request(void **state)
{
    (void)state;
    char config[512];
    snprintf(config, sizeof config, "%s", configuration());
    assert_lacks(RUN("check", "--config", config)->out, "\033[");
    assert_lacks(RUN("check", "--config", config, "--color=auto")->out, "\033[");
    assert_contains(RUN("check", "--config", config, "--color=always")->out, "\033[31mfail\033[0m");
    assert_contains(RUN_ON_TERMINAL("check", "--config", config)->out, "\033[31mfail\033[0m");
    assert_lacks(RUN_ON_TERMINAL("check", "--config", config, "--color", "never")->out, "\033[");
    assert_lacks(RUN("--color=always", "check", "--json", "--config", config)->out, "\033[");
}

static void no_color_and_dumb_terminals_are_respected(void **state)
{
    (void)state;
    char config[512];
    snprintf(config, sizeof config, "%s", configuration());
    set_variable("NO_COLOR=1");
    assert_lacks(RUN_ON_TERMINAL("check", "--config", config)->out, "\033[");
    /* Asked for by name it is wanted, whatever the environment says. */
    assert_contains(RUN_ON_TERMINAL("check", "--config", config, "--color=always")->out, "\033[");
    set_variable("NO_COLOR=");
    assert_contains(RUN_ON_TERMINAL("check", "--config", config)->out, "\033[");
    set_variable("TERM=dumb");
    assert_lacks(RUN_ON_TERMINAL("check", "--config", config)->out, "\033[");
    set_variable(NULL);
}

static void output_that_cannot_be_written_is_a_failure(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip_because("there is no /dev/full here");
    const struct outcome *outcome = RUN_INTO("/dev/full", "--version");
    assert_int_equal(outcome->status, 3);
    assert_contains(outcome->err, "standard output");
    outcome = RUN_INTO("/dev/full", "mac", "encode", "10.0.0.1", "--json");
    assert_int_equal(outcome->status, 3);
    assert_contains(outcome->err, "standard output");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oned_that_does_not_answer_is_a_failure_with_a_fix),
        cmocka_unit_test(sync_and_verify_without_a_fabric_are_failures),
        cmocka_unit_test(a_failure_is_json_too),
        cmocka_unit_test(a_session_file_that_is_not_there_is_named),
        cmocka_unit_test(a_configuration_that_is_named_must_exist),
        cmocka_unit_test(a_configuration_error_names_file_line_and_key),
        cmocka_unit_test(the_effective_configuration_reads_back_as_itself),
        cmocka_unit_test(the_example_configuration_is_the_defaults),
        cmocka_unit_test(check_names_what_fails_and_its_mend),
        cmocka_unit_test(check_tells_a_directory_that_is_missing_from_one_that_is_not_writable),
        cmocka_unit_test(check_with_a_wrong_configuration_fails_at_that),
        cmocka_unit_test(check_tells_ours_from_foreign_from_unreadable_files),
        cmocka_unit_test(check_refuses_static_partitions_that_nobody_puts_into_force),
        cmocka_unit_test(check_looks_at_what_virtual_ports_need_of_nvidias_opensm),
        cmocka_unit_test(check_says_when_it_cannot_see_whether_virtual_ports_are_on),
        cmocka_unit_test(check_knows_which_file_opensm_reads),
        cmocka_unit_test(check_follows_a_link_to_a_file_that_is_not_there_yet),
        cmocka_unit_test(check_finds_an_opensm_that_ignores_sighup),
        cmocka_unit_test(check_refuses_another_program_under_opensms_pid),
        cmocka_unit_test(color_is_for_terminals_or_on_request),
        cmocka_unit_test(no_color_and_dumb_terminals_are_respected),
        cmocka_unit_test(output_that_cannot_be_written_is_a_failure),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
