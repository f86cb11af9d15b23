// SPDX-License-Identifier: Apache-2.0
/*
 * Things that happen in the middle of `oneib sync`, on ibsim with a real opensm: ports that fall
 * silent or never come right while keys change hands, a file and a network that somebody else
 * changes. Two clusters run on the fabric: red on hosts 0 and 1, blue on hosts 1 and 2.
 */
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "lab_internal.h"
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
#define KEY_RED 257
#define KEY_BLUE 258

struct scene {
    struct lab *lab;
    uint32_t red, blue; /* networks */
};

static struct scene scene;

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) < 0)                                                                            \
            fail_msg("%s", err.text);                                                              \
    } while (0)

static char *partitions_file(void)
{
    struct oneib_error err = {0};
    char *data;
    size_t length;
    MUST(oneib_file_read(lab_partitions(scene.lab, &err), (size_t)1 << 20, &data, &length, &err));
    return data;
}

static bool file_has(const char *words)
{
    oneib_autofree char *file = partitions_file();
    return strstr(file, words) != NULL;
}

static bool port_holds(size_t host, unsigned raw)
{
    struct oneib_error err = {0};
    uint16_t keys[64];
    size_t count;
    MUST(lab_host_pkeys(scene.lab, host, keys, 64, &count, &err));
    for (size_t i = 0; i < count; i++)
        if (keys[i] == raw)
            return true;
    return false;
}

static void sync_must_end(int status, const char *word)
{
    struct oneib_error err = {0};
    struct lab_output output = {0};
    MUST(lab_oneib(scene.lab, (const char *[]){"sync", NULL}, TIMEOUT_MS, &output, &err));
    if (output.status != status || (word && !strstr(output.error, word)))
        fail_msg("sync ended with %d, not %d and \"%s\": %s%s", output.status, status,
                 word ? word : "", output.out, output.error);
    lab_output_clear(&output);
}

/* `oneib sync` in the background, for a test that does something meanwhile. */
static pid_t begin_sync(void)
{
    struct oneib_error err = {0};
    pid_t pid;
    const char *const argv[] = {ONEIB_BINARY, "--config", lab_config_path(scene.lab, &err), "sync",
                                NULL};
    MUST(lab_spawn(scene.lab, "sync", LAB_SM_HCA, argv, &pid, &err));
    return pid;
}

static void end_sync(pid_t pid, int expected)
{
    struct oneib_error err = {0};
    int status;
    assert_true(lab_wait(scene.lab, pid, TIMEOUT_MS, &status));
    oneib_autofree char *log = lab_read(scene.lab, "sync.log", &err);
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
    MUST(lab_network_update(scene.lab, scene.red, "VLAN_ID=258", &err));
    MUST(lab_network_update(scene.lab, scene.blue, "VLAN_ID=257", &err));
}

static int raise_scene(void **state)
{
    (void)state;
    if (lab_missing())
        return 0;
    struct oneib_error err = {0};
    const struct lab_options options = {
        .leaves = 1, .hosts_per_leaf = 4, .spines = 0, .extra_hosts = 1};
    scene.lab = lab_open(&options, &err);
    if (!scene.lab || lab_fabric_start(scene.lab, &err) < 0 ||
        lab_opensm_start(scene.lab, &LAB_SM, &err) < 0 ||
        lab_standin_start(scene.lab, NULL, &err) < 0 || lab_add_hosts(scene.lab, 7, &err) < 0 ||
        lab_config_write(scene.lab, NULL, &err) < 0 ||
        lab_network_create(scene.lab, "red", "257", NULL, &scene.red, &err) < 0 ||
        lab_network_create(scene.lab, "blue", "258", NULL, &scene.blue, &err) < 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t vm;
        if (lab_vm_start(scene.lab, "red", &scene.red, 1, i, &vm, &err) < 0 ||
            lab_vm_start(scene.lab, "blue", &scene.blue, 1, i + 1, &vm, &err) < 0)
            return -1;
    }

    struct lab_output output = {0};
    const int status =
        lab_oneib(scene.lab, (const char *[]){"sync", "--force", NULL}, TIMEOUT_MS, &output, &err);
    const bool ready = status == 0 && output.status == 0;
    if (!ready)
        print_error("the first sync failed: %s %s%s\n", err.text, output.out, output.error);
    lab_output_clear(&output);
    return ready ? 0 : -1;
}

static int end_scene(void **state)
{
    (void)state;
    lab_close(scene.lab);
    scene = (struct scene){0};
    return 0;
}

static void needs_a_fabric(void)
{
    if (lab_missing()) {
        print_message("skipped: %s is not installed\n", lab_missing());
        skip();
    }
}

/* Reloads that do nothing: opensm never hears of a new file. */
static void make_opensm_deaf(void)
{
    static const char reload[] = "reload = \"pid_file\";";
    struct oneib_error err = {0};
    const struct lab_config impatient = {.opensm = "apply_timeout = 3000;",
                                         .other = "fabric: { timeout = 100; retries = 1; };"};
    MUST(lab_config_write(scene.lab, &impatient, &err));
    oneib_autofree char *config = lab_read(scene.lab, "oneib.conf", &err);
    const char *found = strstr(config, reload);
    assert_non_null(found);
    oneib_autotext struct oneib_text deaf = {0};
    oneib_text_append_bytes(&deaf, config, (size_t)(found - config));
    oneib_text_append(&deaf, "reload = \"command\"; reload_command = [\"/bin/true\"];");
    oneib_text_append(&deaf, found + strlen(reload));
    MUST(lab_write(scene.lab, "oneib.conf", 0600, deaf.data, &err));
}

static void a_key_is_not_handed_over_while_its_old_ports_are_silent(void **state)
{
    (void)state;
    needs_a_fabric();
    struct oneib_error err = {0};
    make_opensm_deaf();
    swap_keys();
    const pid_t sync = begin_sync();
    await_file("0x0101", false);
    MUST(lab_opensm_signal(scene.lab, LAB_SM.name, SIGSTOP, &err));
    for (size_t host = 0; host < 3; host++)
        MUST(lab_fabric_link(scene.lab, host, false, &err));
    end_sync(sync, 3);
    assert_false(file_has("0x0101"));
    assert_false(file_has("0x0102"));
    MUST(lab_opensm_signal(scene.lab, LAB_SM.name, SIGCONT, &err));
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
    needs_a_fabric();
    struct oneib_error err = {0};
    make_opensm_deaf();
    swap_keys();
    const pid_t sync = begin_sync();
    await_file("0x0101", false);
    MUST(lab_end(scene.lab, sync, SIGKILL, 5000, &err));
    assert_true(port_holds(0, 0x8000 | KEY_RED));
    MUST(lab_config_write(scene.lab, NULL, &err));
    sync_must_end(0, NULL);
    keys_must_have_been_swapped();
}

static void a_file_that_is_lost_is_written_again(void **state)
{
    (void)state;
    needs_a_fabric();
    struct oneib_error err = {0};
    uint32_t vm;
    oneib_autofree char *before = partitions_file();
    /* Meanwhile a port has lost its VM: whose its key is only the lost file knew. */
    MUST(lab_vm_start(scene.lab, "red", &scene.red, 1, 3, &vm, &err));
    sync_must_end(0, NULL);
    MUST(lab_vm_delete(scene.lab, vm, &err));
    assert_int_equal(unlink(lab_partitions(scene.lab, &err)), 0);
    sync_must_end(0, NULL);
    oneib_autofree char *after = partitions_file();
    assert_string_equal(after, before);
    assert_false(port_holds(3, 0x8000 | KEY_RED));
}

static void a_port_that_never_comes_right_holds_up_no_key_of_others(void **state)
{
    (void)state;
    needs_a_fabric();
    struct oneib_error err = {0};
    /* More keys than the extra host's port has room for. */
    oneib_autotext struct oneib_text fragment = {0};
    const uint64_t extra = lab_host_port_guid(scene.lab, lab_host_count(scene.lab));
    for (unsigned i = 0; i < 70; i++)
        oneib_text_printf(&fragment, "storage%u=0x%04x : 0x%" PRIx64 "=full;\n", i, 0x1000 + i,
                          extra);
    MUST(lab_write(scene.lab, "partitions.fragment", 0644, fragment.data, &err));
    MUST(
        lab_config_write(scene.lab, &(struct lab_config){.opensm = "apply_timeout = 2000;"}, &err));
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
        MUST(lab_calls(scene.lab, method, &count, &err));
    }
}

static unsigned calls(const char *method)
{
    struct oneib_error err = {0};
    unsigned count;
    MUST(lab_calls(scene.lab, method, &count, &err));
    return count;
}

static void a_file_that_somebody_changes_meanwhile_is_left_alone(void **state)
{
    (void)state;
    needs_a_fabric();
    struct oneib_error err = {0};
    static const char foreign[] = "Default=0x7fff : ALL=limited, SELF=full;\n"
                                  "mine=0x0777 : 0x100003=full;\n";
    uint32_t vm;
    MUST(lab_vm_start(scene.lab, "red", &scene.red, 1, 3, &vm, &err));
    const unsigned before = calls("one.vmpool.infoextended");
    MUST(lab_fault(scene.lab, "hang", 1000, 1, &err));
    const pid_t sync = begin_sync();
    await_call("one.vmpool.infoextended", before);
    MUST(lab_fault(scene.lab, "hang", 0, 0, &err));
    MUST(oneib_file_replace(lab_partitions(scene.lab, &err), foreign, strlen(foreign), 0644, NULL,
                            NULL, &err));
    end_sync(sync, 3);
    assert_true(file_has("mine=0x0777"));
}

static void a_key_that_somebody_sets_meanwhile_is_kept(void **state)
{
    (void)state;
    needs_a_fabric();
    struct oneib_error err = {0};
    char vlan_id[16];
    uint32_t green, vm;
    MUST(lab_network_create(scene.lab, "green", "", NULL, &green, &err));
    MUST(lab_vm_start(scene.lab, "green", &green, 1, 3, &vm, &err));
    const unsigned before = calls("one.vmpool.infoextended");
    MUST(lab_fault(scene.lab, "hang", 1000, 1, &err));
    const pid_t sync = begin_sync();
    await_call("one.vmpool.infoextended", before);
    MUST(lab_fault(scene.lab, "hang", 0, 0, &err));
    MUST(lab_network_update(scene.lab, green, "VLAN_ID=300", &err));
    end_sync(sync, 0);
    MUST(lab_network_vlan_id(scene.lab, green, vlan_id, sizeof vlan_id, &err));
    assert_string_equal(vlan_id, "300");
    assert_true(port_holds(3, 0x8000 | 300));
}

/* Each test has a scene of its own: one that fails must not fail the next. */
#define CASE(test) cmocka_unit_test_setup_teardown(test, raise_scene, end_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_key_is_not_handed_over_while_its_old_ports_are_silent),
        CASE(a_run_killed_between_its_two_files_is_finished_by_the_next),
        CASE(a_file_that_is_lost_is_written_again),
        CASE(a_port_that_never_comes_right_holds_up_no_key_of_others),
        CASE(a_file_that_somebody_changes_meanwhile_is_left_alone),
        CASE(a_key_that_somebody_sets_meanwhile_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
