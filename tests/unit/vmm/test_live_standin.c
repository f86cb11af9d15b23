// SPDX-License-Identifier: Apache-2.0
/*
 * What the stand-in for libvirt promises: other tests stand on it. And what its stand-ins for
 * OpenNebula's upstream actions do, and that the real oneib-domains sees the same domains.
 */
#include "../base/scratch.h"
#include "../hca/tree.h"
#include "../oneib-domains/program.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/file.h"
#include "ib/pci.h"
#include "live/live.h"
#include "live_standin.h"
#include <signal.h>
#include <sys/wait.h>

#define UUID "5dec61fb-6338-452b-9e09-76372ec01406"
#define HOSTDEV(alias, function)                                                                   \
    "<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x0000' "          \
    "bus='0x81' slot='0x00' function='" function "'/></source><alias name='" alias "'/></hostdev>"
#define HOSTDEV_AT(alias, function, bus, slot)                                                     \
    "<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x0000' "          \
    "bus='0x81' slot='0x00' function='" function "'/></source><alias name='" alias                 \
    "'/><address type='pci' domain='0x0000' bus='" bus "' slot='" slot                             \
    "' function='0x0'/></hostdev>"
#define INTERFACE(alias, mac)                                                                      \
    "<interface type='ethernet'><mac address='" mac "'/><alias name='" alias "'/></interface>"
#define PORTS                                                                                      \
    "<controller type='pci' index='0' model='pcie-root'/>"                                         \
    "<controller type='pci' index='1' model='pcie-root-port'/>"                                    \
    "<controller type='pci' index='2' model='pcie-root-port'/>"
#define DOMAIN(name, uuid, machine, devices)                                                       \
    "<domain type='kvm'><name>" name "</name><uuid>" uuid "</uuid><memory>1024</memory><os>"       \
    "<type machine='" machine "'>hvm</type></os><devices>" devices "</devices></domain>"
#define ONE_42(devices) DOMAIN("one-42", UUID, "pc-i440fx-7.2", devices)
#define OTHER_UUID "5dec61fb-6338-452b-9e09-76372ec01407"

static struct oneib_live *live;
static struct oneib_error err;
static bool gone[2];
static const char *const both[] = {"ua-oneib-0", "ua-oneib-1"};

static int start_anew(void **state)
{
    tree_reset(state);
    live_standin_reset();
    oneib_live_close(live);
    live = NULL;
    err = (struct oneib_error){0};
    if (oneib_live_open("qemu:///system", &live, &err) < 0)
        fail_msg("%s", err.text);
    return 0;
}

static char *read_whole(const char *path)
{
    char *data;
    size_t length;
    if (oneib_file_read(path, 1 << 20, &data, &length, &err) < 0)
        fail_msg("%s", err.text);
    return data;
}

static void expect(int status)
{
    if (status < 0)
        fail_msg("%s", err.text);
}

static void expect_failure(int status, enum oneib_error_code code, const char *word)
{
    assert_int_equal(status, -1);
    assert_int_equal(err.code, code);
    assert_contains(err.text, word);
    err = (struct oneib_error){0};
}

static void expect_refused_attach(const char *device, const char *word)
{
    oneib_autofree char *before = strdup(live_standin_document("one-42"));
    expect_failure(oneib_live_attach(live, "one-42", device, &err), ONEIB_ERROR_REFUSED, word);
    assert_string_equal(live_standin_document("one-42"), before);
}

static bool has(const char *alias)
{
    return strstr(live_standin_document("one-42"), alias);
}

static int detach_both(uint32_t timeout_ms)
{
    return oneib_live_detach(live, "one-42", both, 2, timeout_ms, gone, &err);
}

static void run_with_two_vfs(void)
{
    live_standin_run(ONE_42(HOSTDEV("ua-oneib-0", "0x1") HOSTDEV("ua-oneib-1", "0x2")));
}

/* ---- documents ------------------------------------------------------------------------------- */

static void a_domain_is_found_by_name_and_by_uuid(void **state)
{
    (void)state;
    live_standin_run(ONE_42(""));
    for (int i = 0; i < 2; i++) {
        oneib_autotext struct oneib_text xml = {0};
        expect(oneib_live_document(live, i ? UUID : "one-42", &xml, &err));
        assert_contains(xml.data, "<name>one-42</name>");
    }
    oneib_autotext struct oneib_text none = {0};
    expect_failure(oneib_live_document(live, "one-4", &none, &err), ONEIB_ERROR_NOT_FOUND, "one-4");
}

static int count_domains(const char *xml, size_t length, void *context, struct oneib_error *error)
{
    (void)error;
    assert_int_equal(strlen(xml), length);
    ++*(unsigned *)context;
    return 0;
}

static int give_up(const char *xml, size_t length, void *context, struct oneib_error *error)
{
    count_domains(xml, length, context, error);
    return oneib_fail(error, ONEIB_ERROR_INPUT, "enough");
}

static void each_running_domain_is_shown_until_one_fails(void **state)
{
    (void)state;
    unsigned count = 0;
    live_standin_run(ONE_42(""));
    live_standin_run(DOMAIN("one-43", OTHER_UUID, "pc", ""));
    expect(oneib_live_each(live, count_domains, &count, &err));
    assert_int_equal(count, 2);
    expect_failure(oneib_live_each(live, give_up, &count, &err), ONEIB_ERROR_INPUT, "enough");
    assert_int_equal(count, 3);
}

/* oned writes several <devices>, as libvirt never does. */
static void a_recorded_document_becomes_one_like_libvirts(void **state)
{
    (void)state;
    struct oneib_text uuid = {0};
    oneib_autofree char *xml =
        read_whole(ONEIB_TEST_DATA "/opennebula-7.4/actions/0002-vmm.kvm.deploy.vm1/stdin.decoded");
    expect(live_standin_start(xml, strlen(xml), &uuid, &err));
    assert_string_equal(uuid.data, UUID);
    oneib_text_clear(&uuid);
    const char *document = live_standin_document("one-1");
    assert_ptr_equal(strstr(strstr(document, "<devices>") + 1, "<devices>"), NULL);
    assert_contains(document, "<alias name=\"net0\"/>");
    assert_contains(document, "<alias name=\"hostdev0\"/>");
}

/* ---- attach ---------------------------------------------------------------------------------- */

static void an_attached_device_is_in_the_document_with_an_address(void **state)
{
    (void)state;
    live_standin_run(ONE_42(HOSTDEV_AT("ua-oneib-0", "0x1", "0x00", "0x03")));
    expect(oneib_live_attach(live, UUID, HOSTDEV("ua-oneib-1", "0x2"), &err));
    assert_contains(live_standin_document("one-42"), "ua-oneib-1");
    assert_contains(live_standin_document("one-42"), "slot=\"0x04\"");
    assert_contains(live_standin_log(), "attach " UUID " ua-oneib-1\n");
}

static void what_libvirt_would_refuse_is_refused(void **state)
{
    (void)state;
    live_standin_run(ONE_42(HOSTDEV_AT("ua-oneib-0", "0x1", "0x00", "0x1f")
                                INTERFACE("ua-oneib-dummy-0", "02:00:00:00:00:01")));
    live_standin_run(DOMAIN("one-43", OTHER_UUID, "pc", HOSTDEV("ua-oneib-0", "0x5")));
    expect_refused_attach(HOSTDEV("ua-oneib-0", "0x2"), "non unique alias");
    expect_refused_attach(HOSTDEV("ua-oneib-1", "0x1"), "0000:81:00.1");
    expect_refused_attach(HOSTDEV("ua-oneib-1", "0x5"), "one-43");
    expect_refused_attach(HOSTDEV_AT("ua-oneib-1", "0x2", "0x00", "0x1f"), "double use");
    expect_refused_attach(HOSTDEV_AT("ua-oneib-1", "0x2", "0x01", "0x00"), "no bus 1");
    expect_refused_attach(INTERFACE("ua-oneib-dummy-1", "02:00:00:00:00:01"), "MAC");
    expect_refused_attach("<disk/>", "<disk>");
    expect_refused_attach("nonsense", "not");
    expect_failure(oneib_live_attach(live, "one-9", HOSTDEV("ua-oneib-1", "0x2"), &err),
                   ONEIB_ERROR_NOT_FOUND, "one-9");
}

static void a_machine_without_free_root_ports_takes_no_more(void **state)
{
    (void)state;
    live_standin_run(DOMAIN("one-42", UUID, "pc-q35-7.2", PORTS HOSTDEV("ua-oneib-0", "0x1")));
    assert_contains(live_standin_document("one-42"), "bus=\"0x01\"");
    expect_refused_attach(HOSTDEV_AT("ua-oneib-1", "0x2", "0x02", "0x01"), "slot 0");
    expect(oneib_live_attach(live, "one-42", HOSTDEV("ua-oneib-1", "0x2"), &err));
    expect_refused_attach(HOSTDEV("ua-oneib-2", "0x3"), "No more available");
}

static void an_attach_fails_when_it_is_to(void **state)
{
    (void)state;
    live_standin_run(ONE_42(""));
    live_standin_fault("attach-fails ua-oneib-1");
    expect_refused_attach(HOSTDEV("ua-oneib-1", "0x1"), "ua-oneib-1");
    expect(oneib_live_attach(live, "one-42", HOSTDEV("ua-oneib-10", "0x1"), &err));
}

/* ---- detach ---------------------------------------------------------------------------------- */

static void devices_are_gone_at_once(void **state)
{
    (void)state;
    run_with_two_vfs();
    expect(detach_both(1000));
    assert_true(gone[0] && gone[1]);
    assert_false(has("<hostdev"));
    expect(detach_both(1000));
    assert_true(gone[0] && gone[1]);
}

static void a_guest_keeps_one_and_the_other_is_gone(void **state)
{
    (void)state;
    run_with_two_vfs();
    live_standin_fault("keeps ua-oneib-0");
    expect_failure(detach_both(1000), ONEIB_ERROR_TIMEOUT, "ua-oneib-0");
    assert_false(gone[0]);
    assert_true(gone[1]);
    assert_true(has("ua-oneib-0"));
    assert_false(has("ua-oneib-1"));
}

static void a_guest_rejects(void **state)
{
    (void)state;
    run_with_two_vfs();
    live_standin_fault("rejects ua-oneib-1");
    expect_failure(detach_both(1000), ONEIB_ERROR_REFUSED, "ua-oneib-1");
    assert_true(gone[0] && !gone[1]);
}

static void a_slow_guest_lets_go_in_time_or_before_the_next_call(void **state)
{
    (void)state;
    run_with_two_vfs();
    live_standin_fault("slow ua-oneib-0 2000");
    live_standin_fault("slow ua-oneib-1 3000");
    expect_failure(detach_both(2000), ONEIB_ERROR_TIMEOUT, "ua-oneib-1");
    assert_true(gone[0] && !gone[1]);
    assert_true(has("ua-oneib-1"));
    oneib_autotext struct oneib_text xml = {0};
    expect(oneib_live_document(live, "one-42", &xml, &err));
    assert_null(strstr(xml.data, "ua-oneib-1"));
}

/* ---- a connection that is lost, a process that dies ------------------------------------------ */

static void a_lost_connection_stays_lost(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text xml = {0};
    live_standin_run(ONE_42(""));
    live_standin_fault("lost 3");
    expect(oneib_live_document(live, "one-42", &xml, &err));
    for (int i = 0; i < 2; i++)
        expect_failure(oneib_live_document(live, "one-42", &xml, &err), ONEIB_ERROR_UNREACHABLE,
                       "closed");
    live_standin_fault("refuse-open");
    struct oneib_live *another;
    expect_failure(oneib_live_open("qemu:///system", &another, &err), ONEIB_ERROR_UNREACHABLE,
                   "qemu:///system");
}

static int count_from_one(void)
{
    live_standin_heal();
    return 0;
}

static void a_connection_may_be_lost_after_a_call_or_amid(void **state)
{
    (void)state;
    run_with_two_vfs();
    count_from_one();
    live_standin_fault("lost-amid 1");
    expect_failure(detach_both(1000), ONEIB_ERROR_UNREACHABLE, "closed");
    assert_true(gone[0] && !gone[1]);
    assert_false(has("ua-oneib-0"));
    assert_true(has("ua-oneib-1"));
    start_anew(NULL);
    run_with_two_vfs();
    count_from_one();
    live_standin_fault("lost-after 1");
    expect_failure(detach_both(1000), ONEIB_ERROR_UNREACHABLE, "closed");
    assert_true(!gone[0] && !gone[1]);
    assert_false(has("<hostdev"));
}

/* How far a process comes that is to die. */
static void expect_death(const char *fault, bool first_gone, bool second_gone)
{
    start_anew(NULL);
    run_with_two_vfs();
    count_from_one();
    live_standin_fault("%s", fault);
    const pid_t child = fork();
    if (child == 0) {
        detach_both(1000);
        _exit(0);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    assert_int_equal(has("ua-oneib-0"), !first_gone);
    assert_int_equal(has("ua-oneib-1"), !second_gone);
}

static void a_process_dies_before_amid_and_after_a_call(void **state)
{
    (void)state;
    expect_death("die 1", false, false);
    expect_death("die-amid 1", true, false);
    expect_death("die-after 1", true, true);
}

/* ---- saved images ---------------------------------------------------------------------------- */

static void a_saved_document_is_read_and_replaced(void **state)
{
    (void)state;
    const char *image = in_scratch("checkpoint");
    live_standin_run(ONE_42(""));
    expect(live_standin_save("one-42", image, &err));
    assert_false(live_standin_runs("one-42"));
    oneib_autotext struct oneib_text xml = {0};
    expect(oneib_live_saved_document(live, image, &xml, &err));
    assert_contains(xml.data, UUID);
    expect_failure(oneib_live_saved_replace(live, image, DOMAIN("one-43", UUID, "pc", ""), &err),
                   ONEIB_ERROR_REFUSED, "name");
    expect(
        oneib_live_saved_replace(live, image, ONE_42(INTERFACE("x", "02:00:00:00:00:09")), &err));
    expect(live_standin_restore(image, &err));
    assert_true(has("02:00:00:00:00:09"));
    expect_failure(oneib_live_saved_document(live, image, &xml, &err), ONEIB_ERROR_NOT_FOUND,
                   "checkpoint");
}

/* ---- the upstream actions -------------------------------------------------------------------- */

static char output[4096];

/* Exit status; what it wrote is in `output`. */
static int upstream(const char *input, const char *action, const char *const *arguments)
{
    char path[512];
    const char *argv[10] = {path};
    struct oneib_text text = {0};
    int status = -1;
    snprintf(path, sizeof path, "%s/%s", UPSTREAM_STANDIN, action);
    for (size_t i = 0; arguments[i]; i++)
        argv[i + 1] = arguments[i];
    const struct oneib_command command = {.argv = argv,
                                          .input = input,
                                          .input_length = strlen(input),
                                          .timeout_ms = 60000,
                                          .output_max = sizeof output - 1};
    expect(oneib_command_capture(&command, &text, &text, &status, &err));
    snprintf(output, sizeof output, "%s", text.length ? text.data : "");
    oneib_text_clear(&text);
    return status;
}
#define UPSTREAM(input, action, ...)                                                               \
    upstream(input, action, (const char *const[]){__VA_ARGS__, NULL})

static void deploy_starts_what_it_reads_and_says_its_uuid(void **state)
{
    (void)state;
    const char *file = in_scratch("deployment.0");
    assert_int_equal(UPSTREAM(ONE_42(HOSTDEV("ua-oneib-0", "0x1")), "deploy", file, "host", "42"),
                     0);
    assert_string_equal(output, UUID "\n");
    assert_true(has("ua-oneib-0"));
    assert_contains(live_standin_log(), "upstream deploy ");
    assert_contains(live_standin_log(), " host 42 stdin=");
    assert_int_equal(UPSTREAM(ONE_42(""), "deploy", file, "host", "42"), 255);
    assert_contains(output, "already exists");
    live_standin_fault("upstream deploy fail 3");
    assert_int_equal(UPSTREAM(DOMAIN("one-43", OTHER_UUID, "pc", ""), "deploy", file, "host"), 3);
    assert_false(live_standin_runs("one-43"));
}

static void a_vf_that_another_domain_has_is_not_given_to_a_new_one(void **state)
{
    (void)state;
    run_with_two_vfs();
    assert_int_equal(UPSTREAM(DOMAIN("one-43", OTHER_UUID, "pc", HOSTDEV("x", "0x1")), "deploy",
                              in_scratch("deployment.0"), "host"),
                     255);
    assert_contains(output, "0000:81:00.1");
}

static void save_refuses_a_host_device(void **state)
{
    (void)state;
    const char *image = in_scratch("saved");
    run_with_two_vfs();
    assert_int_equal(UPSTREAM("", "save", UUID, image), 1);
    assert_contains(output, "assigned host devices");
    assert_true(live_standin_runs("one-42"));
    expect(detach_both(1000));
    assert_int_equal(UPSTREAM("", "save", UUID, image), 0);
    assert_false(live_standin_runs("one-42"));
    assert_int_equal(UPSTREAM("", "restore", image, "host", UUID), 0);
    assert_true(live_standin_runs("one-42"));
    live_standin_fault("upstream save lose");
    assert_int_equal(UPSTREAM("", "save", UUID, image), 1);
    assert_false(live_standin_runs("one-42"));
}

static void migrate_moves_the_domain_to_another_root(void **state)
{
    (void)state;
    char root[PATH_MAX], moved[PATH_MAX + 64];
    snprintf(root, sizeof root, "%s", in_scratch("there"));
    mkdir(root, 0755);
    live_standin_run(ONE_42(""));
    assert_int_equal(UPSTREAM("", "migrate", UUID, "there", "here"), 1);
    assert_contains(output, "unable to connect");
    live_standin_add_peer("there", root);
    assert_int_equal(UPSTREAM("", "migrate", UUID, "there", "here"), 0);
    assert_false(live_standin_runs("one-42"));
    snprintf(moved, sizeof moved, "%s/var/lib/live-standin/one-42.xml", root);
    oneib_autofree char *xml = read_whole(moved);
    assert_contains(xml, UUID);
}

static void a_snapshot_brings_back_what_the_domain_had(void **state)
{
    (void)state;
    live_standin_run(ONE_42(INTERFACE("ua-oneib-dummy-0", "02:00:00:00:00:01")));
    assert_int_equal(UPSTREAM("", "snapshot_create", UUID, "0"), 0);
    assert_string_equal(output, "snap-0\n");
    assert_int_equal(
        UPSTREAM("", "attach_nic", UUID, "02:00:00:00:00:02", "br0", "-", "ib", "one-42-1"), 0);
    assert_true(has("02:00:00:00:00:02"));
    assert_int_equal(UPSTREAM("", "detach_nic", UUID, "02:00:00:00:00:01"), 0);
    assert_false(has("02:00:00:00:00:01"));
    assert_int_equal(UPSTREAM("", "snapshot_revert", UUID, "snap-0"), 0);
    assert_true(has("02:00:00:00:00:01"));
    assert_false(has("02:00:00:00:00:02"));
    assert_int_equal(UPSTREAM("", "snapshot_revert", UUID, "snap-9"), 1);
}

static void an_upstream_action_may_kill_its_caller(void **state)
{
    (void)state;
    live_standin_run(ONE_42(""));
    live_standin_fault("upstream save kill-after");
    const pid_t child = fork();
    if (child == 0)
        _exit(UPSTREAM("", "save", UUID, in_scratch("last")));
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    assert_false(live_standin_runs("one-42"));
}

/* ---- what oneib-domains sees ----------------------------------------------------------------- */

static void expect_domains(size_t count, const char *name)
{
    struct domains_program program = start_domains_program(live_standin_uri());
    const struct heard heard = hear_list(program.socket);
    const struct oneib_domain_entry *found = entry_of(&heard, 0, 2);
    end_domains_program(&program);
    assert_int_equal(heard.count, count);
    assert_int_equal(found != NULL, name != NULL);
    if (found)
        assert_string_equal(found->name, name);
}

/* Of two VFs each is an entry. */
static void oneib_domains_sees_the_same_domains(void **state)
{
    (void)state;
    expect_domains(0, NULL);
    run_with_two_vfs();
    expect_domains(2, "one-42");
    expect(detach_both(1000));
    expect_domains(1, NULL);
    expect(live_standin_stop(UUID, &err));
    expect_domains(0, NULL);
}

int main(void)
{
    setenv("LIVE_STANDIN", LIVE_STANDIN_PROGRAM, 1);
    tree_open();
#define TEST(name) cmocka_unit_test_setup(name, start_anew)
    const struct CMUnitTest tests[] = {
        TEST(a_domain_is_found_by_name_and_by_uuid),
        TEST(each_running_domain_is_shown_until_one_fails),
        TEST(a_recorded_document_becomes_one_like_libvirts),
        TEST(an_attached_device_is_in_the_document_with_an_address),
        TEST(what_libvirt_would_refuse_is_refused),
        TEST(a_machine_without_free_root_ports_takes_no_more),
        TEST(an_attach_fails_when_it_is_to),
        TEST(devices_are_gone_at_once),
        TEST(a_guest_keeps_one_and_the_other_is_gone),
        TEST(a_guest_rejects),
        TEST(a_slow_guest_lets_go_in_time_or_before_the_next_call),
        TEST(a_lost_connection_stays_lost),
        TEST(a_connection_may_be_lost_after_a_call_or_amid),
        TEST(a_process_dies_before_amid_and_after_a_call),
        TEST(a_saved_document_is_read_and_replaced),
        TEST(deploy_starts_what_it_reads_and_says_its_uuid),
        TEST(a_vf_that_another_domain_has_is_not_given_to_a_new_one),
        TEST(save_refuses_a_host_device),
        TEST(migrate_moves_the_domain_to_another_root),
        TEST(a_snapshot_brings_back_what_the_domain_had),
        TEST(an_upstream_action_may_kill_its_caller),
        TEST(oneib_domains_sees_the_same_domains),
    };
    const int status = cmocka_run_group_tests(tests, make_scratch, remove_scratch);
    oneib_live_close(live);
    return tree_close(status);
}
