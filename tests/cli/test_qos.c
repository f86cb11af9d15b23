// SPDX-License-Identifier: Apache-2.0
/* `oneib qos`: classes, what they promise, and the lines for opensm.conf. */
#include "run.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define CLASSES "qos = { classes = [\"gold: weight 64, SL 1-2\", \"silver: weight 16, SL 3\"]; };\n"

static const struct outcome *show(const char *settings)
{
    write_file("oneib.conf", settings);
    return RUN("--config", in_directory("oneib.conf"), "qos");
}

static void without_classes_it_says_so(void **state)
{
    (void)state;
    const struct outcome *run = show("");
    assert_int_equal(run->status, 0);
    assert_contains(run->out, "no classes: set qos.classes in oneib.conf");
    assert_lacks(run->out, "TRUE");
}

static void shares_are_shown_with_what_opensm_is_to_be_told(void **state)
{
    (void)state;
    const struct outcome *run = show(CLASSES "fabric = { rate = 40; mtu = 2048; };");
    assert_int_equal(run->status, 0);
    assert_contains(run->out, "gold       1   1      64  40.0 %");
    assert_contains(run->out, "silver     3   3      16  10.0 %");
    assert_contains(run->out, "(others)   0   0      16  10.0 %");
    assert_contains(run->out, " us\n");
    assert_contains(run->out, "links of 40 Gb/s (32.0 Gb/s of data)");
    assert_contains(run->out, "while nothing is congested downstream");
    assert_contains(run->out, "\nqos TRUE\n");
    assert_contains(run->out, "\nqos_swe_sl2vl 0,1,2,3,0,");
}

static void without_a_rate_a_wait_is_bytes_and_no_guess(void **state)
{
    (void)state;
    const struct outcome *run = show(CLASSES);
    assert_contains(run->out, " bytes\n");
    assert_lacks(run->out, " us\n");
    assert_contains(run->out, "Set fabric.rate");
}

static void json_has_the_same(void **state)
{
    (void)state;
    write_file("oneib.conf", CLASSES "fabric = { rate = 40; };");
    const struct outcome *run = RUN("--config", in_directory("oneib.conf"), "qos", "--json");
    assert_int_equal(run->status, 0);
    assert_contains(run->out, "\"class\": \"gold\"");
    assert_contains(run->out, "\"share\": 0.4");
    assert_contains(run->out, "qos_ca_vlarb_low ");
}

static void more_sls_than_lanes_are_refused_with_the_place(void **state)
{
    (void)state;
    const struct outcome *run = show("qos = { classes = [\"gold: weight 64, SL 1-8\"]; };\n");
    assert_int_equal(run->status, 3);
    assert_contains(run->err, "oneib.conf:1: qos.classes have 9 SLs");
    assert_string_equal(run->out, "");
}

static void an_sl_that_a_partition_has_is_not_dropped(void **state)
{
    (void)state;
    char settings[512];
    snprintf(settings, sizeof settings,
             "opensm = { partitions = \"%s\"; };\nqos = { classes = [\"gold: weight 64, SL 1\"]; "
             "drop_unused = true; };",
             in_directory("partitions.conf"));
    write_file("partitions.conf", "Default=0x7fff : ALL=limited, SELF=full ;\n"
                                  "storage=0x0007,sl=5 : 0x0002c90300a1b2c3=full ;\n");
    assert_contains(show(settings)->out,
                    "\nqos_swe_sl2vl 0,1,15,15,15,0,15,15,15,15,15,15,15,15,15,15\n");
    write_file("partitions.conf", "Default=0x7fff : ALL=nonsense ;\n");
    const struct outcome *run = show(settings);
    assert_int_equal(run->status, 3);
    assert_contains(run->err, "qos.drop_unused");
    assert_string_equal(run->out, "");
}

/* Before anything is read. */
static void must_refuse(const struct outcome *run, const char *words)
{
    assert_int_equal(run->status, 2);
    assert_contains(run->err, words);
    assert_string_equal(run->out, "");
}

static void options_go_with_the_form_that_takes_them(void **state)
{
    (void)state;
    must_refuse(RUN("qos", "--force"), "option '--force' is valid only with 'move'");
    must_refuse(RUN("qos", "--links", "move", "metal"),
                "option '--links' is not valid with 'move'");
    must_refuse(RUN("qos", "--no-daemon"), "option '--no-daemon' is valid only with '--links'");
    must_refuse(RUN("qos", "metal"), "invalid argument 'metal': expected move");
    must_refuse(RUN("qos", "move", "metal", "x"), "unexpected argument 'x'");
}

/* ---- oneib check ----------------------------------------------------------------------------- */

static const char *links_checked(void)
{
    char settings[512];
    snprintf(settings, sizeof settings,
             "qos = { classes = [\"silver: weight 16, SL 3\"]; links_file = \"%s\"; };",
             in_directory("links"));
    write_file("oneib.conf", settings);
    return RUN("--config", in_directory("oneib.conf"), "check")->out;
}

static void check_says_whether_the_scheduler_can_go_by_the_file_of_links(void **state)
{
    (void)state;
    const struct timespec old[] = {{.tv_sec = time(NULL) - 31}, {.tv_sec = time(NULL) - 31}};
    assert_contains(links_checked(), "warn  links: ");
    assert_contains(links_checked(), "/links does not exist\n");
    write_file("links", "oneib-links 1\n");
    assert_contains(links_checked(), "warn  links: ");
    assert_contains(links_checked(), "line 2 is not as oneibd writes it\n");
    write_file("links", "oneib-links 1\ncluster 7 3\nend\n");
    assert_contains(links_checked(), "ok    links: ");
    assert_contains(links_checked(), "links of 1 clusters");
    assert_int_equal(utimensat(AT_FDCWD, in_directory("links"), old, 0), 0);
    assert_contains(links_checked(), "warn  links: ");
    assert_contains(links_checked(), "not of the last 30 seconds: is oneibd at work");
    write_file("oneib.conf", "");
    assert_lacks(RUN("--config", in_directory("oneib.conf"), "check")->out, "links: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_classes_it_says_so),
        cmocka_unit_test(shares_are_shown_with_what_opensm_is_to_be_told),
        cmocka_unit_test(without_a_rate_a_wait_is_bytes_and_no_guess),
        cmocka_unit_test(json_has_the_same),
        cmocka_unit_test(an_sl_that_a_partition_has_is_not_dropped),
        cmocka_unit_test(options_go_with_the_form_that_takes_them),
        cmocka_unit_test(more_sls_than_lanes_are_refused_with_the_place),
        cmocka_unit_test(check_says_whether_the_scheduler_can_go_by_the_file_of_links),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
