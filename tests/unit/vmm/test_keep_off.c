// SPDX-License-Identifier: Apache-2.0
/* Keeping domains off the cores of others, on a host with two NUMA nodes of four cores, two threads
 * each (host_tree.h): core n is CPUs n and n + 8. */
#include "../hca/tree.h"
#include "../node/host_tree.h"
#include "base/cleanup.h"
#include "domain/threads.h"
#include "live_standin.h"
#include "node/host_cpus.h"
#include "vmm/keep_off.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HPC                                                                                        \
    "<metadata><oneib:tuning xmlns:oneib='urn:oneib:domain:1' hpc='yes' pins='yes'/></metadata>"
#define PIN(vcpu, cpus) "<vcpupin vcpu='" vcpu "' cpuset='" cpus "'/>"
#define UUID "5dec61fb-6338-452b-9e09-76372ec0140"

static struct oneib_live *live;
static struct oneib_host_cpus host;
static struct oneib_text warnings;
static struct oneib_error err;

static int open_scene(void **state)
{
    tree_reset(state);
    live_standin_reset();
    host_tree_two_nodes();
    assert_int_equal(oneib_host_cpus_read(&host, &err), 0);
    assert_int_equal(oneib_live_open("stand-in", &live, &err), 0);
    return 0;
}

static int close_scene(void **state)
{
    (void)state;
    oneib_live_close(live);
    oneib_host_cpus_clear(&host);
    oneib_text_clear(&warnings);
    return 0;
}

/* ---- domains --------------------------------------------------------------------------------- */

static const char *document(unsigned number, const char *elements)
{
    static char text[4096];
    snprintf(text, sizeof text,
             "<domain type='kvm'><name>one-%u</name><uuid>" UUID "%u</uuid><memory>1024</memory>%s"
             "<os><type arch='x86_64' machine='q35'>hvm</type></os><devices/></domain>",
             number, number, elements);
    return text;
}

#define FLOATING "<vcpu>2</vcpu>"
#define ON_CORES(first, second)                                                                    \
    "<vcpu>2</vcpu>" HPC "<cputune>" PIN("0", first)                                               \
        PIN("1", second) "<emulatorpin cpuset='" first "'/></cputune>"

static void run(unsigned number, const char *elements)
{
    live_standin_run(document(number, elements));
}

static void stop(const char *name)
{
    assert_int_equal(live_standin_stop(name, &err), 0);
}

/* What its document says: "0-3 0-3; 0-3" of its virtual cores and its emulator; "-" for no pin. */
static void must_be_pinned(const char *name, const char *expected)
{
    const char *xml = live_standin_document(name);
    oneib_autotext struct oneib_text said = {0};
    struct oneib_domain_threads threads;
    assert_non_null(xml);
    assert_int_equal(oneib_domain_threads_read(xml, strlen(xml), &threads, &err), 0);
    for (size_t i = 0; i < threads.count; i++)
        oneib_text_printf(&said, "%s%s",
                          i == 0                   ? ""
                          : i + 1 == threads.count ? "; "
                                                   : " ",
                          threads.items[i].cpus ? threads.items[i].cpus : "-");
    oneib_domain_threads_clear(&threads);
    assert_string_equal(said.data, expected);
}

static void keep_off(void)
{
    oneib_text_clear(&warnings);
    if (oneib_keep_off(live, &host, &warnings, &err) < 0)
        fail_msg("%s", err.text);
}

static int admit(enum oneib_config_hpc_cores policy, unsigned number, const char *elements)
{
    const char *xml = document(number, elements);
    oneib_text_clear(&warnings);
    err = (struct oneib_error){0};
    return oneib_cores_admit(live, &host, policy, xml, strlen(xml), &warnings, &err);
}

static void must_be_refused(int status, const char *words)
{
    assert_int_equal(status, -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" is not in: %s", words, err.text);
}

static void must_be_left_alone(void)
{
    assert_null(strstr(live_standin_log(), "pin "));
    assert_null(strstr(live_standin_log(), "metadata "));
}

/* ---- kept off -------------------------------------------------------------------------------- */

static void who_is_not_pinned_is_kept_off_the_cores_that_one_comes_to(void **state)
{
    (void)state;
    run(1, FLOATING);
    assert_int_equal(admit(ONEIB_HPC_CORES_KEEP_OFF, 2, ON_CORES("4", "5")), 0);
    must_be_pinned("one-1", "0-3,6-11,14-15 0-3,6-11,14-15; 0-3,6-11,14-15");
}

static void what_went_is_given_back(void **state)
{
    (void)state;
    run(1, FLOATING);
    run(2, ON_CORES("4", "5"));
    keep_off();
    must_be_pinned("one-1", "0-3,6-11,14-15 0-3,6-11,14-15; 0-3,6-11,14-15");
    stop("one-2");
    keep_off();
    must_be_pinned("one-1", "0-15 0-15; 0-15");
}

static void what_never_came_is_given_back(void **state)
{
    (void)state;
    run(1, FLOATING);
    assert_int_equal(admit(ONEIB_HPC_CORES_KEEP_OFF, 2, ON_CORES("4", "5")), 0);
    keep_off();
    must_be_pinned("one-1", "0-15 0-15; 0-15");
}

static void who_comes_later_is_kept_off_too(void **state)
{
    (void)state;
    run(2, ON_CORES("4", "5"));
    run(1, FLOATING);
    keep_off();
    must_be_pinned("one-1", "0-3,6-11,14-15 0-3,6-11,14-15; 0-3,6-11,14-15");
}

static void a_second_look_changes_nothing(void **state)
{
    (void)state;
    run(2, ON_CORES("4", "5"));
    run(1, FLOATING);
    keep_off();
    live_standin_forget_log();
    keep_off();
    must_be_left_alone();
}

static void without_such_cores_nobody_is_touched(void **state)
{
    (void)state;
    run(1, FLOATING);
    run(2, "<vcpu>1</vcpu><cputune>" PIN("0", "4") "</cputune>");
    live_standin_forget_log();
    keep_off();
    must_be_left_alone();
}

static void what_others_have_pinned_stays(void **state)
{
    (void)state;
    run(2, ON_CORES("4", "5"));
    run(1, "<vcpu>2</vcpu><cputune>" PIN("1", "4-5") "</cputune>");
    run(3, "<vcpu cpuset='4-7'>2</vcpu>");
    keep_off();
    const char *xml = live_standin_document("one-1");
    assert_non_null(strstr(xml, "<vcpupin vcpu=\"1\" cpuset=\"4-5\"/>"));
    assert_non_null(strstr(xml, "<vcpupin vcpu=\"0\" cpuset=\"0-3,6-11,14-15\"/>"));
    assert_null(strstr(live_standin_document("one-3"), "pin"));
}

/* A second one with cores of its own has an emulator that nobody has pinned. */
static void who_has_cores_is_kept_off_those_of_others_alone(void **state)
{
    (void)state;
    run(2, ON_CORES("4", "5"));
    run(3, "<vcpu>1</vcpu>" HPC "<cputune>" PIN("0", "6") "</cputune>");
    keep_off();
    must_be_pinned("one-3", "0-3,6-11,14-15");
}

static void a_core_that_is_plugged_in_is_kept_off_too(void **state)
{
    (void)state;
    run(2, ON_CORES("4", "5"));
    run(1, "<vcpu current='1'>2</vcpu>");
    keep_off();
    must_be_pinned("one-1", "0-3,6-11,14-15; 0-3,6-11,14-15");
    char *xml = strdup(live_standin_document("one-1"));
    memcpy(strstr(xml, "current=\"1\""), "current=\"2\"", 11);
    stop("one-1");
    live_standin_run(xml);
    free(xml);
    must_be_pinned("one-1", "0-3,6-11,14-15 -; 0-3,6-11,14-15");
    keep_off();
    must_be_pinned("one-1", "0-3,6-11,14-15 0-3,6-11,14-15; 0-3,6-11,14-15");
}

static void io_threads_are_kept_off_too(void **state)
{
    (void)state;
    run(2, ON_CORES("4", "5"));
    run(1, "<vcpu>1</vcpu><iothreads>1</iothreads>");
    keep_off();
    assert_non_null(strstr(live_standin_document("one-1"),
                           "<iothreadpin iothread=\"1\" cpuset=\"0-3,6-11,14-15\"/>"));
}

/* The mark comes first: a pin without it would be somebody's. */
static void killed_anywhere_in_between_it_is_finished_by_the_next(void **state)
{
    (void)state;
    for (unsigned call = 1; call < 6; call++) {
        live_standin_reset();
        run(1, FLOATING);
        run(2, ON_CORES("4", "5"));
        live_standin_fault("lost %u", call);
        oneib_text_clear(&warnings);
        if (oneib_keep_off(live, &host, &warnings, &err) == 0)
            assert_true(warnings.length > 0);
        live_standin_heal();
        oneib_live_close(live);
        assert_int_equal(oneib_live_open("stand-in", &live, &err), 0);
        keep_off();
        must_be_pinned("one-1", "0-3,6-11,14-15 0-3,6-11,14-15; 0-3,6-11,14-15");
        stop("one-2");
        keep_off();
        must_be_pinned("one-1", "0-15 0-15; 0-15");
    }
}

static void one_that_cannot_be_pinned_is_told_and_the_others_are(void **state)
{
    (void)state;
    run(1, FLOATING);
    run(2, ON_CORES("4", "5"));
    run(3, FLOATING);
    live_standin_fault("pin-fails " UUID "1");
    keep_off();
    assert_non_null(strstr(warnings.data, UUID "1"));
    must_be_pinned("one-3", "0-3,6-11,14-15 0-3,6-11,14-15; 0-3,6-11,14-15");
}

static void isolated_cpus_are_nobodys_who_is_not_pinned(void **state)
{
    (void)state;
    tree_write("4-7,12-15", "/sys/devices/system/cpu/isolated");
    oneib_host_cpus_clear(&host);
    assert_int_equal(oneib_host_cpus_read(&host, &err), 0);
    run(1, FLOATING);
    run(2, ON_CORES("4", "5"));
    live_standin_forget_log();
    keep_off();
    must_be_left_alone();
    assert_int_equal(admit(ONEIB_HPC_CORES_REFUSE, 3, ON_CORES("6", "7")), 0);
}

/* ---- nothing left ---------------------------------------------------------------------------- */

#define SEVEN                                                                                      \
    "<vcpu>7</vcpu>" HPC "<cputune>" PIN("0", "1") PIN("1", "2") PIN("2", "3") PIN("3", "4")       \
        PIN("4", "5") PIN("5", "6") PIN("6", "7") "<emulatorpin cpuset='1-7'/></cputune>"
#define LAST "<vcpu>1</vcpu>" HPC "<cputune>" PIN("0", "0") "</cputune>"

static void who_would_leave_no_core_for_others_is_refused(void **state)
{
    (void)state;
    run(2, SEVEN);
    live_standin_forget_log();
    must_be_refused(admit(ONEIB_HPC_CORES_KEEP_OFF, 3, LAST), "would leave no core of this host");
    must_be_left_alone();
    assert_int_equal(admit(ONEIB_HPC_CORES_REFUSE, 3, LAST), 0);
}

static void where_none_is_left_all_the_same_they_run_on_all(void **state)
{
    (void)state;
    run(1, FLOATING);
    run(2, SEVEN);
    keep_off();
    must_be_pinned("one-1", "0,8 0,8; 0,8");
    run(3, LAST);
    keep_off();
    must_be_pinned("one-1", "0-15 0-15; 0-15");
    assert_non_null(strstr(warnings.data, "leave none"));
}

/* ---- refused --------------------------------------------------------------------------------- */

static void who_would_get_cores_that_others_run_on_is_refused(void **state)
{
    (void)state;
    run(1, FLOATING);
    run(3, "<vcpu>1</vcpu><cputune>" PIN("0", "3") "</cputune>");
    live_standin_forget_log();
    must_be_refused(admit(ONEIB_HPC_CORES_REFUSE, 2, ON_CORES("4", "5")),
                    "one-1 is not pinned; pin it (TOPOLOGY)");
    must_be_left_alone();
    stop("one-1");
    assert_int_equal(admit(ONEIB_HPC_CORES_REFUSE, 2, ON_CORES("4", "5")), 0);
}

static void who_would_run_on_others_cores_is_refused(void **state)
{
    (void)state;
    run(2, ON_CORES("4", "5"));
    must_be_refused(admit(ONEIB_HPC_CORES_REFUSE, 1, FLOATING),
                    "would run on cores that one-2 has to itself");
    assert_int_equal(admit(ONEIB_HPC_CORES_REFUSE, 1, ON_CORES("6", "7")), 0);
    assert_int_equal(
        admit(ONEIB_HPC_CORES_REFUSE, 1, "<vcpu>1</vcpu><cputune>" PIN("0", "3") "</cputune>"), 0);
    stop("one-2");
    assert_int_equal(admit(ONEIB_HPC_CORES_REFUSE, 1, FLOATING), 0);
}

static void where_they_are_shared_nobody_is_looked_at(void **state)
{
    (void)state;
    run(1, FLOATING);
    live_standin_forget_log();
    assert_int_equal(admit(ONEIB_HPC_CORES_SHARED, 2, ON_CORES("4", "5")), 0);
    assert_string_equal(live_standin_log(), "");
}

/* ---- told ------------------------------------------------------------------------------------ */

static void who_may_run_on_others_cores_is_told(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text lines = {0}, after = {0};
    run(1, FLOATING);
    run(2, ON_CORES("4", "5"));
    run(3, "<vcpu>1</vcpu><cputune>" PIN("0", "3") "</cputune>");
    assert_int_equal(oneib_tell_sharing(live, &host, &lines, &err), 0);
    assert_string_equal(lines.data, "one-1 may run on cores of one-2\n");
    keep_off();
    assert_int_equal(oneib_tell_sharing(live, &host, &after, &err), 0);
    assert_int_equal(after.length, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_scene, close_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(who_is_not_pinned_is_kept_off_the_cores_that_one_comes_to),
        CASE(what_went_is_given_back),
        CASE(what_never_came_is_given_back),
        CASE(who_comes_later_is_kept_off_too),
        CASE(a_second_look_changes_nothing),
        CASE(without_such_cores_nobody_is_touched),
        CASE(what_others_have_pinned_stays),
        CASE(who_has_cores_is_kept_off_those_of_others_alone),
        CASE(a_core_that_is_plugged_in_is_kept_off_too),
        CASE(io_threads_are_kept_off_too),
        CASE(killed_anywhere_in_between_it_is_finished_by_the_next),
        CASE(one_that_cannot_be_pinned_is_told_and_the_others_are),
        CASE(isolated_cpus_are_nobodys_who_is_not_pinned),
        CASE(who_would_leave_no_core_for_others_is_refused),
        CASE(where_none_is_left_all_the_same_they_run_on_all),
        CASE(who_would_get_cores_that_others_run_on_is_refused),
        CASE(who_would_run_on_others_cores_is_refused),
        CASE(where_they_are_shared_nobody_is_looked_at),
        CASE(who_may_run_on_others_cores_is_told),
    };
    tree_open();
    return tree_close(cmocka_run_group_tests(tests, NULL, NULL));
}
