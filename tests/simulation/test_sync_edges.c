// SPDX-License-Identifier: Apache-2.0
/*
 * Things that happen in the middle of `oneib sync`, on ibsim with a real opensm: ports that fall
 * silent or never come right while keys change hands, a file that somebody else
 * changes. Two clusters run on the fabric: red on hosts 0 and 1, blue on hosts 1 and 2.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "lab_internal.h"
#include "two_clusters.h"
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 60000

static bool file_has(const char *words)
{
    oneib_autofree char *file = scene_file();
    return strstr(file, words) != NULL;
}

/* `oneib sync` in the background, for a test that does something meanwhile. */
static pid_t begin_sync(void)
{
    struct oneib_error err = {0};
    pid_t pid;
    const char *const argv[] = {ONEIB_BINARY, "--config", lab_config_path(scene()), "sync", NULL};
    MUST(lab_spawn(scene(), "sync", LAB_SM_HCA, argv, &pid, &err));
    return pid;
}

static void end_sync(pid_t pid, int expected)
{
    int status;
    assert_true(lab_wait(scene(), pid, TIMEOUT_MS, &status));
    oneib_autofree char *log = lab_read(scene(), "sync.log");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
        fail_msg("sync ended with 0x%x, not %d: %s", (unsigned)status, expected, log);
}

static void await_file(const char *words, bool present)
{
    for (unsigned i = 0; file_has(words) != present; i++) {
        if (i == 2000)
            fail_msg("%s never %s the file", words, present ? "entered" : "left");
        lab_sleep_ms(5);
    }
}

static void swap_keys(void)
{
    struct oneib_error err = {0};
    MUST(lab_swap_keys(scene(), clusters.red, clusters.blue, &err));
}

/* Reloads that do nothing: opensm never hears of a new file. */
static void make_opensm_deaf(void)
{
    static const char reload[] = "reload = \"pid_file\";";
    struct oneib_error err = {0};
    const struct lab_config impatient = {.opensm = "apply_timeout = 3000;",
                                         .other = "fabric: { timeout = 100; retries = 1; };"};
    MUST(lab_config_write(scene(), &impatient, &err));
    oneib_autofree char *config = lab_read(scene(), "oneib.conf");
    const char *found = strstr(config, reload);
    assert_non_null(found);
    oneib_autotext struct oneib_text deaf = {0};
    oneib_text_append_bytes(&deaf, config, (size_t)(found - config));
    oneib_text_append(&deaf, "reload = \"command\"; reload_command = [\"/bin/true\"];");
    oneib_text_append(&deaf, found + strlen(reload));
    MUST(lab_write(scene(), "oneib.conf", 0600, deaf.data, &err));
}

static void a_key_is_not_handed_over_while_its_old_ports_are_silent(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    make_opensm_deaf();
    swap_keys();
    const pid_t sync = begin_sync();
    await_file("0x0101", false);
    MUST(lab_opensm_signal(scene(), LAB_SM.name, SIGSTOP, &err));
    for (size_t host = 0; host < 3; host++)
        MUST(lab_fabric_link(scene(), host, false, &err));
    end_sync(sync, 3);
    assert_false(file_has("0x0101"));
    assert_false(file_has("0x0102"));
    MUST(lab_opensm_signal(scene(), LAB_SM.name, SIGCONT, &err));
}

static void keys_must_have_been_swapped(void)
{
    assert_true(port_holds(0, 0x8000 | KEY_BLUE));
    assert_false(port_holds(0, 0x8000 | KEY_RED));
    assert_true(port_holds(2, 0x8000 | KEY_RED));
    assert_false(port_holds(2, 0x8000 | KEY_BLUE));
}

static void a_run_killed_between_its_two_files_is_finished_by_the_next(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    make_opensm_deaf();
    swap_keys();
    const pid_t sync = begin_sync();
    await_file("0x0101", false);
    MUST(lab_end(scene(), sync, SIGKILL, 5000, &err));
    assert_true(port_holds(0, 0x8000 | KEY_RED));
    MUST(lab_config_write(scene(), NULL, &err));
    sync_must_end(0, NULL);
    keys_must_have_been_swapped();
}

static void a_file_that_is_lost_is_written_again(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    uint32_t vm;
    oneib_autofree char *before = scene_file();
    /* Meanwhile a port has lost its VM: whose its key is only the lost file knew. */
    MUST(lab_vm_start(scene(), "red", &clusters.red, 1, 3, &vm, &err));
    sync_must_end(0, NULL);
    MUST(lab_vm_delete(scene(), vm, &err));
    assert_int_equal(unlink(lab_partitions(scene())), 0);
    sync_must_end(0, NULL);
    oneib_autofree char *after = scene_file();
    assert_string_equal(after, before);
    assert_false(port_holds(3, 0x8000 | KEY_RED));
}

static void a_port_that_never_comes_right_holds_up_no_key_of_others(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    /* More keys than the extra host's port has room for. */
    oneib_autotext struct oneib_text static_partitions = {0};
    const uint64_t extra = lab_host_port_guid(scene(), lab_host_count(scene()));
    for (unsigned i = 0; i < 70; i++)
        oneib_text_printf(&static_partitions, "storage%u=0x%04x : 0x%" PRIx64 "=full;\n", i,
                          0x1000 + i, extra);
    MUST(lab_write(scene(), "static-partitions.conf", 0644, static_partitions.data, &err));
    MUST(lab_config_write(scene(), &(struct lab_config){.opensm = "apply_timeout = 2000;"}, &err));
    sync_must_end(1, NULL);
    swap_keys();
    sync_must_end(1, NULL);
    keys_must_have_been_swapped();
}

/* Waits until sync's question has reached oned. */
static void await_call(const char *method, unsigned before)
{
    struct oneib_error err = {0};
    unsigned count = before;
    for (unsigned i = 0; count == before; i++) {
        if (i == 2000)
            fail_msg("%s was never called", method);
        lab_sleep_ms(5);
        MUST(lab_calls(scene(), method, &count, &err));
    }
}

static unsigned calls(const char *method)
{
    struct oneib_error err = {0};
    unsigned count;
    MUST(lab_calls(scene(), method, &count, &err));
    return count;
}

static void a_file_that_somebody_changes_meanwhile_is_left_alone(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    static const char foreign[] = "Default=0x7fff : ALL=limited, SELF=full;\n"
                                  "mine=0x0777 : 0x100003=full;\n";
    uint32_t vm;
    MUST(lab_vm_start(scene(), "red", &clusters.red, 1, 3, &vm, &err));
    const unsigned before = calls("one.vmpool.infoextended");
    MUST(lab_fault(scene(), "hang", 1000, 1, &err));
    const pid_t sync = begin_sync();
    await_call("one.vmpool.infoextended", before);
    MUST(lab_fault(scene(), "hang", 0, 0, &err));
    MUST(oneib_file_replace(lab_partitions(scene()), foreign, strlen(foreign), 0644, NULL, NULL,
                            &err));
    end_sync(sync, 3);
    assert_true(file_has("mine=0x0777"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTERS_CASE(a_key_is_not_handed_over_while_its_old_ports_are_silent),
        CLUSTERS_CASE(a_run_killed_between_its_two_files_is_finished_by_the_next),
        CLUSTERS_CASE(a_file_that_is_lost_is_written_again),
        CLUSTERS_CASE(a_port_that_never_comes_right_holds_up_no_key_of_others),
        CLUSTERS_CASE(a_file_that_somebody_changes_meanwhile_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
