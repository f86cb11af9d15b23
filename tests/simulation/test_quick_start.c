// SPDX-License-Identifier: Apache-2.0
/*
 * The quick start of the operator's guide, carried out in the order of the page up to the first
 * hosts: each of its commands that changes what `oneib check` looks at has its counterpart in the
 * lab. After each step whose check is `oneib check`, nothing fails, and the page names each warning.
 */
#include "../skip.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "lab.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define PAGE_MAX ((size_t)1 << 20)
#define PROGRAM_MS 60000u
#define REMOTES "one/var/remotes/etc/oneib"

static struct oneib_error err;
static struct lab *lab;
static char *opensm_options; /* opensm.conf; NULL: there is none */

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

/* What a program on the SM's host prints; it must succeed. To be freed. */
static char *run(const char *const *argv)
{
    struct lab_output output = {0};
    ok(lab_run(lab, LAB_SM_HCA, argv, PROGRAM_MS, &output, &err));
    if (output.timed_out || output.status != 0)
        fail_msg("%s %s ended with %d: %s%s", argv[0], argv[1], output.status, output.out,
                 output.error);
    char *out = oneib_steal(&output.out);
    lab_output_clear(&output);
    return out;
}

static char *oneib(const char *verb, const char *word)
{
    return run((const char *[]){ONEIB_BINARY, verb, "--config", lab_config_path(lab), word, NULL});
}

static char *read_file(const char *name)
{
    char *text;
    size_t length;
    ok(oneib_file_read(lab_path(lab, name), PAGE_MAX, &text, &length, &err));
    return text;
}

/* ---- the commands ---------------------------------------------------------------------------- */

static void draw_keys(const char *line)
{
    (void)line;
    ok(lab_write(lab, "oneib.conf", 0600, "", &err)); /* it is written later */
    free(oneib("keys", "keys"));
}

static void install_m_key(const char *line)
{
    (void)line;
    oneib_autofree char *key = read_file("keys/m_key");
    ok(lab_write(lab, "m_key", 0400, key, &err));
}

/* The page's document follows the line. */
static void write_config(const char *line)
{
    oneib_autofree char *document = strndup(line, (size_t)(strstr(line, "\nEND\n") - line));
    char fabric[400] = "";
    if (strstr(document, "m_key_file = \"/etc/oneib/m_key\""))
        snprintf(fabric, sizeof fabric, "fabric: { m_key_file = \"%s\"; };",
                 lab_path(lab, "m_key"));
    ok(lab_config_write(lab, &(struct lab_config){.other = fabric}, &err));
}

static void configure_opensm(const char *line)
{
    (void)line;
    free(opensm_options);
    opensm_options = read_file("keys/opensm.conf.keys");
}

static void start_opensm(const char *line)
{
    (void)line;
    struct lab_sm sm = LAB_SM;
    sm.options = opensm_options;
    ok(lab_opensm_start(lab, &sm, &err));
}

static void synchronize(const char *line)
{
    (void)line;
    free(oneib("sync", NULL));
}

static void verify(const char *line)
{
    (void)line;
    free(oneib("verify", NULL));
}

static void start_oneibd(const char *line)
{
    (void)line;
    ok(lab_oneibd_start(lab, &LAB_DAEMON, &err));
}

static void announce(const char *line)
{
    (void)line;
    oneib_autofree char *daemons = oneib("daemons", NULL);
    ok(lab_write(lab, REMOTES "/daemons", 0644, daemons, &err));
}

static void create_hosts(const char *line)
{
    (void)line;
    ok(lab_add_hosts(lab, 7, &err));
}

/* The page reads the key by SSH, of which there is none here: lab_add_hosts() has accepted it. */
static void accept_hosts(const char *line)
{
    (void)line;
    oneib_autofree char *said = run((const char *[]){ONEIB_BINARY, "host", "accept", "--all",
                                                     "--config", lab_config_path(lab), NULL});
    assert_non_null(strstr(said, "no host waits"));
}

static const struct {
    const char *words;
    void (*carry_out)(const char *line);
} commands[] = {
    {"oneib keys /root/keys", draw_keys},
    {"/root/keys/m_key /etc/oneib/m_key", install_m_key},
    {"> /etc/oneib/oneib.conf", write_config},
    {"/root/keys/opensm.conf.keys /etc/opensm/opensm.conf", configure_opensm},
    {"recommends opensm ", start_opensm},
    {"oneib sync", synchronize},
    {"oneib verify", verify},
    {"enable --now oneibd", start_oneibd},
    {"oneib daemons | su - oneadmin", announce},
    {"onehost create", create_hosts},
    {"oneib host accept", accept_hosts},
};
#define COMMANDS (sizeof commands / sizeof *commands)

/* ---- the checks ------------------------------------------------------------------------------ */

/* Each warning is in the check's paragraph by its name. */
static void look(const char *paragraph, const char *end)
{
    oneib_autofree char *page = strndup(paragraph, (size_t)(end - paragraph));
    oneib_autofree char *said = oneib("check", NULL); /* ends with 0: nothing fails */
    for (const char *warning = strstr(said, "warn  "); warning;
         warning = strstr(warning + 1, "\nwarn  ")) {
        char name[64];
        assert_int_equal(sscanf(warning, " warn %63[^:]", name), 1);
        if (!strstr(page, name))
            fail_msg("'oneib check' warns of %s, of which the page says nothing: %s%s", name, page,
                     said);
    }
}

/* Step 8: within a minute nothing is said of a host below the table. */
static void await_hosts(void)
{
    for (unsigned tries = 0;; tries++) {
        oneib_autofree char *hosts = oneib("hosts", NULL);
        if (!strstr(hosts, "\nhost \""))
            return;
        if (tries == 300)
            fail_msg("'oneib hosts' says: %s", hosts);
        lab_sleep_ms(200);
    }
}

static bool is_check(const char *line, const char *end)
{
    static const char command[] = "`oneib check";
    const char *found = strstr(line, command);
    return strncmp(line, "Check:", 6) == 0 && found && found < end &&
           found[sizeof command - 1] != ' ';
}

static void each_check_of_the_quick_start_holds_in_the_order_of_the_page(void **state)
{
    (void)state;
    if (lab_missing()) {
        skip_because("%s is not installed", lab_missing());
    }
    oneib_autofree char *page = NULL;
    size_t length, checks = 0;
    bool inside = false, done[COMMANDS] = {false};
    ok(oneib_file_read(ONEIB_GUIDE, PAGE_MAX, &page, &length, &err));
    const char *line = strstr(page, "\n## Quick start\n") + 1;
    const char *end = strstr(line, "\n## What runs where\n");
    for (; line < end; line = strchr(line, '\n') + 1) {
        const char *paragraph_end = strstr(line, "\n\n");
        if (strncmp(line, "```", 3) == 0)
            inside = !inside;
        else if (!inside && is_check(line, paragraph_end)) {
            look(line, paragraph_end);
            checks++;
        }
        for (size_t i = 0; inside && i < COMMANDS; i++) {
            const char *words = strstr(line, commands[i].words);
            if (words && words < strchr(line, '\n')) {
                commands[i].carry_out(line);
                done[i] = true;
            }
        }
    }
    assert_true(checks >= 2);
    for (size_t i = 0; i < COMMANDS; i++)
        if (!done[i])
            fail_msg("the page has no '%s'", commands[i].words);
    look("", ""); /* with hosts: no warning */
    await_hosts();
}

/* ---- fixtures -------------------------------------------------------------------------------- */

static int open_lab(void **state)
{
    const struct lab_options options = {.leaves = 1, .hosts_per_leaf = 2, .m_keys = true};
    (void)state;
    if (lab_missing())
        return 0;
    lab = lab_open(&options, &err);
    const char *const directories[] = {"one", "one/var", "one/var/remotes", "one/var/remotes/etc",
                                       REMOTES};
    for (size_t i = 0; lab && i < sizeof directories / sizeof *directories; i++)
        mkdir(lab_path(lab, directories[i]), 0755);
    if (lab && setenv("ONE_LOCATION", lab_path(lab, "one"), 1) == 0 &&
        lab_fabric_start(lab, &err) == 0 && lab_standin_start(lab, NULL, &err) == 0)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int close_lab(void **state)
{
    (void)state;
    free(opensm_options);
    lab_close(lab);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            each_check_of_the_quick_start_holds_in_the_order_of_the_page, open_lab, close_lab),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
