// SPDX-License-Identifier: Apache-2.0
/* What oneib-vf makes of its words, and how it ends. */
#include "../skip.h"
#include "hca/tree.h"
#include "run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VF1 "0000:81:00.1"
#define NIC "--vm", "42", "--nic", "1"

static const struct tree_hca mlx4 = {.driver = ONEIB_HCA_MLX4, .vfs = 3};

static int reset(void **state)
{
    static char root[512];
    snprintf(root, sizeof root, "ONEIB_NODE_ROOT=%s", tree_root());
    set_variable(root);
    tree_reset(state);
    tree_write("site = 7;\nnode = { pkey_wait = 100; guid_wait = 100; };", "/etc/oneib/oneib.conf");
    return 0;
}

/* One line that names the program. */
static void assert_one_complaint(const struct outcome *outcome)
{
    assert_string_equal(outcome->out, "");
    if (strncmp(outcome->err, "oneib-vf: ", 10) != 0 ||
        strchr(outcome->err, '\n') != outcome->err + strlen(outcome->err) - 1)
        fail_msg("this is not one line of oneib-vf: %s", outcome->err);
}

static void assert_usage(const struct outcome *outcome, const char *why)
{
    assert_one_complaint(outcome);
    assert_int_equal(outcome->status, 2);
    assert_contains(outcome->err, why);
    assert_contains(outcome->err, "; see 'oneib-vf --help'\n");
}

static void assert_failure(const struct outcome *outcome, const char *why)
{
    assert_one_complaint(outcome);
    assert_int_equal(outcome->status, 3);
    assert_contains(outcome->err, why);
}

static void assert_says(const struct outcome *outcome, const char *what)
{
    assert_string_equal(outcome->err, "");
    assert_string_equal(outcome->out, what);
    assert_int_equal(outcome->status, 0);
}

/* ---- words
 * ------------------------------------------------------------------------- */

static void help_and_version_are_told(void **state)
{
    (void)state;
    assert_says(RUN("--version"), "oneib-vf " ONEIB_VERSION "\n");
    const struct outcome *help = RUN("--help");
    assert_int_equal(help->status, 0);
    assert_contains(help->out, "usage: oneib-vf assign --vm N --nic N");
}

static void the_man_page_tells_of_every_verb_and_option(void **state)
{
    (void)state;
    static char page[65536];
    char wanted[64];
    FILE *file = fopen(ONEIB_VF_MAN_PAGE, "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);

    size_t count = 0;
    const char *line = strstr(RUN("--help")->out, "\n  ");
    for (; line; line = strstr(line + 1, "\n  ")) {
        char word[32];
        if (line[3] == ' ' || sscanf(line, "%31s", word) != 1)
            continue;
        if (word[0] == '-')
            snprintf(wanted, sizeof wanted, "Fl -%s", word + 2);
        else
            snprintf(wanted, sizeof wanted, ".Cm %s", word);
        assert_contains(page, wanted);
        count++;
    }
    assert_int_equal(count, 4 + 13);
}

static void a_verb_is_needed_and_known(void **state)
{
    (void)state;
    assert_usage(RUN(NULL), "a verb is missing");
    assert_usage(RUN(""), "unknown verb: \"\"");
    assert_usage(RUN("Show"), "unknown verb: \"Show\"");
    assert_usage(RUN("--vm"), "unknown verb: \"--vm\"");
    assert_usage(RUN("-h"), "unknown verb");
}

static void what_a_verb_does_not_know_is_refused(void **state)
{
    (void)state;
    assert_usage(RUN("show", "x"), "unknown option: \"x\"");
    assert_usage(RUN("show", "--vm", "1"), "unknown option: \"--vm\"");
    assert_usage(RUN("watch", "--help"), "unknown option: \"--help\"");
    assert_usage(RUN("watch", "--once", "--once"), "given twice: \"--once\"");
    assert_usage(RUN("show", "--once"), "unknown option: \"--once\"");
    assert_usage(RUN("--help", "x"), "unknown option: \"x\"");
    assert_usage(RUN("release", "--vm", "1", "--pkey", "0x0005"), "unknown option: \"--pkey\"");
    assert_usage(RUN("release", "--vm", "1", "--device", "mlx4_0"), "unknown option");
    assert_usage(RUN("assign", NIC, "--no-pkey", "--"), "unknown option: \"--\"");
    assert_usage(RUN("assign", "--vm=42", "--nic", "1", "--no-pkey"),
                 "unknown option: \"--vm=42\"");
    assert_usage(RUN("assign", "--v", "42"), "unknown option: \"--v\"");
    assert_usage(RUN("assign", NIC, "--no-pkey", ""), "unknown option: \"\"");
}

static void what_a_verb_needs_is_missed(void **state)
{
    (void)state;
    assert_usage(RUN("assign"), "--vm and --nic are needed");
    assert_usage(RUN("assign", "--vm", "42", "--no-pkey"), "--vm and --nic are needed");
    assert_usage(RUN("assign", "--nic", "1", "--no-pkey"), "--vm and --nic are needed");
    assert_usage(RUN("assign", NIC), "one of --pkey and --no-pkey");
    assert_usage(RUN("assign", NIC, "--pkey", "0x0005", "--no-pkey"), "one of --pkey and");
    assert_usage(RUN("release"), "--vm is needed");
    assert_usage(RUN("release", "--nic", "1"), "--vm is needed");
    assert_usage(RUN("release", NIC, "--vf", VF1), "not with --nic");
    assert_usage(RUN("release", "--vm", "1", "--in-use", VF1), "only with --vf");
    assert_usage(RUN("assign", "--vm"), "a value is missing after \"--vm\"");
    assert_usage(RUN("assign", NIC, "--no-pkey", "--in-use"), "missing after \"--in-use\"");
}

static void an_option_stands_once(void **state)
{
    (void)state;
    assert_usage(RUN("assign", NIC, "--vm", "42", "--no-pkey"), "given twice: \"--vm\"");
    assert_usage(RUN("assign", NIC, "--no-pkey", "--no-pkey"), "given twice: \"--no-pkey\"");
    assert_usage(RUN("release", "--vm", "1", "--vf", VF1, "--vf", VF1), "given twice: \"--vf\"");
}

struct wrong {
    const char *option, *value;
};

static void a_value_is_whole_and_in_its_range(void **state)
{
    (void)state;
    static const struct wrong wrongs[] = {
        {"--vm", ""},
        {"--vm", "-1"},
        {"--vm", "+1"},
        {"--vm", " 1"},
        {"--vm", "01"},
        {"--vm", "0x1"},
        {"--vm", "2147483648"},
        {"--vm", "18446744073709551617"},
        {"--nic", "256"},
        {"--nic", "1.0"},
        {"--pkey", "5"},
        {"--pkey", "0x0000"},
        {"--pkey", "0x7fff"},
        {"--pkey", "0x8005"},
        {"--pkey", "0xffff"},
        {"--device", ".."},
        {"--device", "../mlx4_0"},
        {"--device", "mlx4_0:0"},
        {"--device", "mlx4_0:255"},
        {"--device", "mlx4_0:"},
        {"--device", "a-name-of-thirty-two-letters-xxx"},
        {"--vf", "81:00.1"},
        {"--vf", "0000:81:00:1"},
        {"--vf", "0000:81:00.8"},
        {"--vf", "0000:81:20.0"},
        {"--vf", "0000:81:00.1/.."},
        {"--numa", "-1"},
        {"--numa", "32768"},
        {"--in-use", "mlx4_0"},
    };
    char wanted[128];
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        snprintf(wanted, sizeof wanted, "%s cannot be \"%s\"", wrongs[i].option, wrongs[i].value);
        assert_usage(RUN("assign", wrongs[i].option, wrongs[i].value), wanted);
    }
}

static void what_is_shown_of_a_word_forges_no_line_and_steers_no_terminal(void **state)
{
    (void)state;
    assert_usage(RUN("assign", "--vm", "1\noneib-vf: all is well\x1b[2J\""),
                 "cannot be \"1\\x0aoneib-vf: all is well\\x1b[2J\\x22\"");
    static char word[5000];
    memset(word, 'x', sizeof word - 1);
    assert_true(strlen(RUN(word)->err) < 200);
}

static void wrong_words_end_before_anything_is_looked_at(void **state)
{
    (void)state;
    tree_write("this is no configuration", "/etc/oneib/oneib.conf");
    assert_usage(RUN("assign", NIC, "--no-pkey", "--numa", "x"), "--numa cannot be");
    assert_false(tree_exists("/run/oneib"));
}

/* ---- showing, giving, taking back
 * ------------------------------------------------------------------------- */

#define RECORD                                                                                     \
    "vf=0000:81:00.1 device=mlx4_0 index=0 port=1 vm=42 nic=1 network=0 site=0 pkey=0x0005 "                 \
    "membership=full stage=open guid=set owner=0:0 domain=no since=5"

static void show_prints_the_records(void **state)
{
    (void)state;
    assert_says(RUN("show"), "");
    tree_write(RECORD, "/run/oneib/vfs");
    assert_says(RUN("show"), RECORD "\n");
}

static void a_damaged_table_is_a_failure_that_names_the_line(void **state)
{
    (void)state;
    tree_write(RECORD "\nvf?", "/run/oneib/vfs");
    assert_failure(RUN("show"), "/run/oneib/vfs is damaged: line 2: \"vf=\"");
    tree_add_hca(&mlx4);
    assert_failure(RUN("assign", "--vm", "43", "--nic", "1", "--no-pkey"), "line 2");
    assert_failure(RUN("release", "--vm", "42"), "line 2");
}

static void output_that_nobody_takes_is_a_failure(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) < 0) {
        skip_because("there is no /dev/full here");
    }
    const struct outcome *outcome = RUN_INTO("/dev/full", "--help");
    assert_int_equal(outcome->status, 3);
    assert_string_equal(outcome->err,
                        "oneib-vf: writing to standard output: No space left on device\n");
}

static void what_assign_prints_is_what_show_prints_until_it_is_released(void **state)
{
    (void)state;
    static char record[sizeof((struct outcome *)NULL)->out];
    tree_add_hca(&mlx4);
    tree_set_pkey(&mlx4, 1, 1, 0x8005);
    const struct outcome *given =
        RUN("assign", NIC, "--pkey", "0x0005", "--defer-guid", "--numa", "0", "--device",
            "mlx4_0:1", "--in-use", "0000:81:00.3", "--in-use", "0000:82:00.1");
    assert_string_equal(given->err, "");
    assert_int_equal(given->status, 0);
    strcpy(record, given->out);
    assert_contains(record, "vf=0000:81:00.1 device=mlx4_0 index=0 port=1 vm=42 nic=1 network=0 site=7 "
                            "pkey=0x0005 membership=full stage=open guid=deferred owner=0:0 ");
    assert_says(RUN("show"), record);
    assert_says(RUN("release", NIC), "released 1\n");
    assert_says(RUN("release", "--vm", "42"), "released 0\n");
    assert_says(RUN("show"), "");
}

static void what_is_the_hosts_own_is_not_the_callers_to_say(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_write("node = { host_vfs = [ \"0000:81:00.1\" ]; };", "/etc/oneib/oneib.conf");
    assert_failure(RUN("assign", NIC, "--no-pkey", "--vf", VF1), "0000:81:00.1");
    const struct outcome *given = RUN("assign", NIC, "--no-pkey", "--defer-guid");
    assert_string_equal(given->err, "");
    assert_contains(given->out, "vf=0000:81:00.2 ");
    assert_contains(given->out, "site=0 pkey=0x0000 membership=full stage=closed guid=");
}

static void a_vf_of_a_lost_table_can_be_released(void **state)
{
    (void)state;
    tree_add_hca(&mlx4);
    tree_set_pkey(&mlx4, 1, 1, 0x8005);
    tree_set_vf_pkey(&mlx4, 0, 1, 0, "1");
    assert_failure(RUN("release", "--vm", "42", "--vf", VF1, "--in-use", VF1), "0000:81:00.1");
    assert_says(RUN("release", "--vm", "42", "--vf", VF1), "released 1\n");
    char entry[16];
    tree_get_vf_pkey(&mlx4, 0, 1, 0, entry, sizeof entry);
    assert_string_equal(entry, "0");
}

static void a_node_without_an_adapter_says_so(void **state)
{
    (void)state;
    assert_failure(RUN("assign", NIC, "--no-pkey"), "InfiniBand");
    assert_failure(RUN("assign", NIC, "--no-pkey", "--device", "mlx4_7"), "mlx4_7");
    assert_says(RUN("release", "--vm", "42"), "released 0\n");
}

static void a_wrong_configuration_is_a_failure(void **state)
{
    (void)state;
    tree_write("node = { pkey_wait = 1; };", "/etc/oneib/oneib.conf");
    assert_failure(RUN("assign", NIC, "--no-pkey"), "pkey_wait");
    assert_failure(RUN("release", "--vm", "42"), "pkey_wait");
    tree_write("node = { host_vfs = [ \"eth0\" ]; };", "/etc/oneib/oneib.conf");
    assert_failure(RUN("assign", NIC, "--no-pkey"), "host_vfs");
    assert_says(RUN("show"), "");
}

static void without_root_only_showing_is_possible(void **state)
{
    (void)state;
    set_variable(NULL);
    assert_failure(RUN("assign", NIC, "--no-pkey"), "only root may change virtual functions");
    assert_failure(RUN("release", "--vm", "42"), "only root may change virtual functions");
    assert_failure(RUN("watch"), "only root may change virtual functions");
}

#define ON_NODE(test) cmocka_unit_test_setup(test, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NODE(help_and_version_are_told),
        ON_NODE(the_man_page_tells_of_every_verb_and_option),
        ON_NODE(a_verb_is_needed_and_known),
        ON_NODE(what_a_verb_does_not_know_is_refused),
        ON_NODE(what_a_verb_needs_is_missed),
        ON_NODE(an_option_stands_once),
        ON_NODE(a_value_is_whole_and_in_its_range),
        ON_NODE(what_is_shown_of_a_word_forges_no_line_and_steers_no_terminal),
        ON_NODE(wrong_words_end_before_anything_is_looked_at),
        ON_NODE(show_prints_the_records),
        ON_NODE(a_damaged_table_is_a_failure_that_names_the_line),
        ON_NODE(output_that_nobody_takes_is_a_failure),
        ON_NODE(what_assign_prints_is_what_show_prints_until_it_is_released),
        ON_NODE(what_is_the_hosts_own_is_not_the_callers_to_say),
        ON_NODE(a_vf_of_a_lost_table_can_be_released),
        ON_NODE(a_node_without_an_adapter_says_so),
        ON_NODE(a_wrong_configuration_is_a_failure),
        ON_NODE(without_root_only_showing_is_possible),
    };
    tree_open();
    set_program(ONEIB_VF_BINARY);
    return tree_close(cmocka_run_group_tests(tests, make_folder, remove_folder));
}
