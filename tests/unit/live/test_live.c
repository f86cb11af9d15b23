// SPDX-License-Identifier: Apache-2.0
/*
 * core/live with libvirt's test driver, whose node is a file and lives in this process: documents,
 * looking up, saved domains. That driver plugs nothing (libvirt 9; 11's unplugs): test_detach.c
 * has a libvirt of its own for that, and the node lab a real one.
 */
#include "../../skip.h"
#include "../base/scratch.h"
#include "base/clock.h"
#include "live/live.h"
#include "live/live_internal.h"
#include <dirent.h>
#include <libvirt/libvirt.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#define UUID_42 "5dec61fb-6338-452b-9e09-76372ec01406"
#define UUID_43 "5dec61fb-6338-452b-9e09-76372ec01407"
#define DOMAIN(name, uuid, devices, state)                                                         \
    "<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'><name>" name      \
    "</name><uuid>" uuid "</uuid><memory>1024</memory><os><type>hvm</type></os><devices>" devices  \
    "</devices>" state "</domain>"
#define SHUT_OFF "<test:runstate>5</test:runstate>"
#define INTERFACE(alias, mac)                                                                      \
    "<interface type='ethernet'><mac address='" mac "'/><alias name='" alias "'/></interface>"

static struct oneib_live *live;
static struct oneib_error err;

static void expect(int status)
{
    if (status < 0)
        fail_msg("%s", err.text);
}

static void expect_failure(int status, enum oneib_error_code code, const char *word)
{
    assert_int_equal(status, -1);
    assert_contains(err.text, word);
    assert_int_equal(err.code, code);
    err = (struct oneib_error){0};
}

/* A node with two running domains and one that does not run. */
static int open_node(void **state)
{
    (void)state;
    char uri[PATH_MAX + 16];
    put_text(in_scratch("node.xml"),
             "<node><cpu><mhz>2000</mhz><model>x</model><active>2</active></cpu>"
             "<memory>4194304</memory>" DOMAIN(
                 "one-42", UUID_42, INTERFACE("ua-oneib-dummy-1", "02:00:00:00:00:01"), "")
                 DOMAIN("one-43", UUID_43, "", "")
                     DOMAIN("off", "5dec61fb-6338-452b-9e09-76372ec01408", "", SHUT_OFF) "</node>");
    snprintf(uri, sizeof uri, "test://%s", in_scratch("node.xml"));
    err = (struct oneib_error){0};
    expect(oneib_live_open(uri, &live, &err));
    return 0;
}

static int close_node(void **state)
{
    (void)state;
    oneib_live_close(live);
    return 0;
}

/* ---- the connection -------------------------------------------------------------------------- */

static void a_libvirt_that_is_not_there_is_unreachable(void **state)
{
    (void)state;
    struct oneib_live *none;
    char uri[PATH_MAX + 64];
    snprintf(uri, sizeof uri, "qemu+unix:///system?socket=%s", in_scratch("nowhere"));
    err = (struct oneib_error){0};
    expect_failure(oneib_live_open(uri, &none, &err), ONEIB_ERROR_UNREACHABLE, "nowhere");
    expect_failure(oneib_live_open("nonsense:///\n", &none, &err), ONEIB_ERROR_UNREACHABLE,
                   "nonsense:///\\x0a");
    oneib_live_close(NULL);
}

/* One that takes connections, and then says nothing. */
static int open_mute_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static size_t count_threads(void)
{
    size_t count = 0;
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (const struct dirent *entry; (entry = readdir(threads));)
        count += entry->d_name[0] != '.';
    closedir(threads);
    return count;
}

/* libvirt's own threads of earlier tests end a moment after their connection. */
static bool becomes_single_threaded(void)
{
    for (int i = 0; i < 500 && count_threads() > 1; i++)
        usleep(10000);
    return count_threads() == 1;
}

static void one_that_does_not_answer_is_not_waited_for(void **state)
{
    (void)state;
    char uri[PATH_MAX + 64];
    const int mute = open_mute_socket(in_scratch("mute"));
    snprintf(uri, sizeof uri, "qemu+unix:///system?socket=%s", in_scratch("mute"));
    err = (struct oneib_error){0};
    assert_true(becomes_single_threaded());
    assert_null(oneib_live_connect(uri, 300, &err));
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_non_null(strstr(err.text, "connecting to qemu+unix:///system?socket="));
    assert_non_null(strstr(err.text, "libvirt has not answered in 1 s"));
    /* The thread that waits for it ends with it. */
    assert_true(count_threads() > 1);
    close(mute);
    assert_true(becomes_single_threaded());
}

/* It is written to as if it were a file, and may go away. */
static void a_libvirt_that_goes_away_does_not_end_this_process(void **state)
{
    (void)state;
    struct sigaction now;
    assert_int_equal(sigaction(SIGPIPE, NULL, &now), 0);
    assert_ptr_equal(now.sa_handler, SIG_IGN);
}

/* ---- documents ------------------------------------------------------------------------------- */

static void a_document_is_found_by_name_and_by_uuid(void **state)
{
    (void)state;
    const char *const domains[] = {"one-42", UUID_42};
    for (size_t i = 0; i < 2; i++) {
        oneib_autotext struct oneib_text xml = {0};
        expect(oneib_live_document(live, domains[i], &xml, &err));
        assert_contains(xml.data, "<name>one-42</name>");
        assert_contains(xml.data, "02:00:00:00:00:01");
    }
}

static void one_that_does_not_run_or_does_not_exist_is_not_found(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text xml = {0};
    expect_failure(oneib_live_document(live, "off", &xml, &err), ONEIB_ERROR_NOT_FOUND, "off");
    expect_failure(oneib_live_document(live, "one-4", &xml, &err), ONEIB_ERROR_NOT_FOUND, "one-4");
    expect_failure(oneib_live_document(live, "5dec61fb-6338-452b-9e09-76372ec01499", &xml, &err),
                   ONEIB_ERROR_NOT_FOUND, "1499");
    expect_failure(oneib_live_document(live, "a\"\nb", &xml, &err), ONEIB_ERROR_NOT_FOUND,
                   "domain \"a\\x22\\x0ab\"");
    assert_int_equal(xml.length, 0);
}

static int remember(const char *xml, size_t length, void *context, struct oneib_error *error)
{
    (void)error;
    assert_int_equal(strlen(xml), length);
    oneib_text_append(context, xml);
    return 0;
}

static void each_running_domain_is_shown(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text all = {0};
    expect(oneib_live_each(live, remember, &all, &err));
    assert_contains(all.data, "<name>one-42</name>");
    assert_contains(all.data, "<name>one-43</name>");
    assert_null(strstr(all.data, "<name>off</name>"));
}

static int fail_at_once(const char *xml, size_t length, void *context, struct oneib_error *error)
{
    (void)xml;
    (void)length;
    ++*(unsigned *)context;
    return oneib_fail(error, ONEIB_ERROR_INPUT, "enough");
}

static void the_first_failure_ends_the_round(void **state)
{
    (void)state;
    unsigned calls = 0;
    expect_failure(oneib_live_each(live, fail_at_once, &calls, &err), ONEIB_ERROR_INPUT, "enough");
    assert_int_equal(calls, 1);
}

/* ---- plugging -------------------------------------------------------------------------------- */

static void a_refused_attach_says_what_libvirt_says(void **state)
{
    (void)state;
    expect_failure(oneib_live_attach(live, "one-42", INTERFACE("x", "02:00:00:00:00:02"), &err),
                   ONEIB_ERROR_REFUSED, "domain \"one-42\": plugging a device in: libvirt: ");
    expect_failure(oneib_live_attach(live, "one-9", "<interface/>", &err), ONEIB_ERROR_NOT_FOUND,
                   "one-9");
}

static void a_refused_detach_says_what_libvirt_says(void **state)
{
    (void)state;
    const char *const alias = "ua-oneib-dummy-1";
    bool gone = true;
    const int status = oneib_live_detach(live, "one-42", &alias, 1, 60000, &gone, &err);
    if (status == 0)
        skip_because("this libvirt's test driver unplugs");
    expect_failure(status, ONEIB_ERROR_REFUSED,
                   "domain \"one-42\": unplugging ua-oneib-dummy-1: libvirt: ");
    assert_false(gone);
}

static void what_the_domain_does_not_have_is_gone(void **state)
{
    (void)state;
    const char *const aliases[] = {"ua-oneib-1", "ua-oneib-2"};
    bool gone[2] = {false, false};
    const double began = oneib_now_ms();
    expect(oneib_live_detach(live, "one-42", aliases, 2, 60000, gone, &err));
    assert_true(gone[0] && gone[1]);
    assert_true(oneib_now_ms() - began < 30000);
}

static void nothing_is_gone_from_a_domain_that_is_not_there(void **state)
{
    (void)state;
    const char *const alias = "ua-oneib-1";
    bool gone = true;
    expect_failure(oneib_live_detach(live, "off", &alias, 1, 1000, &gone, &err),
                   ONEIB_ERROR_NOT_FOUND, "off");
    assert_false(gone);
}

/* ---- pins ------------------------------------------------------------------------------------ */

static void a_thread_runs_where_it_is_pinned_to(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text xml = {0};
    struct oneib_cpu_set cpus;
    assert_true(oneib_cpu_set_parse("0-1,9", &cpus));
    expect(oneib_live_pin(live, "one-42", ONEIB_LIVE_VCPU, 0, &cpus, &err));
    assert_true(oneib_cpu_set_parse("2", &cpus));
    expect(oneib_live_pin(live, UUID_42, ONEIB_LIVE_EMULATOR, 0, &cpus, &err));
    expect(oneib_live_document(live, "one-42", &xml, &err));
    assert_contains(xml.data, "<vcpupin vcpu='0' cpuset='0-1,9'/>");
    assert_contains(xml.data, "<emulatorpin cpuset='2'/>");
}

static void a_thread_that_there_is_not_is_not_pinned(void **state)
{
    (void)state;
    struct oneib_cpu_set cpus;
    assert_true(oneib_cpu_set_parse("0", &cpus));
    expect_failure(oneib_live_pin(live, "one-42", ONEIB_LIVE_VCPU, 7, &cpus, &err),
                   ONEIB_ERROR_REFUSED, "pinning its virtual core 7");
    expect_failure(oneib_live_pin(live, "off", ONEIB_LIVE_VCPU, 0, &cpus, &err),
                   ONEIB_ERROR_NOT_FOUND, "domain \"off\"");
}

static void metadata_of_a_namespace_is_replaced(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text xml = {0};
    expect(oneib_live_set_metadata(live, "one-42", "<a b='1'/>", "x", "urn:x", &err));
    expect(oneib_live_set_metadata(live, "one-42", "<a b='2'/>", "x", "urn:x", &err));
    expect(oneib_live_set_metadata(live, "one-42", "<c/>", "y", "urn:y", &err));
    expect(oneib_live_document(live, "one-42", &xml, &err));
    assert_contains(xml.data, "<x:a xmlns:x=\"urn:x\" b=\"2\"/>");
    assert_contains(xml.data, "<y:c xmlns:y=\"urn:y\"/>");
    assert_null(strstr(xml.data, "b=\"1\""));
    expect_failure(oneib_live_set_metadata(live, "off", "<c/>", "y", "urn:y", &err),
                   ONEIB_ERROR_NOT_FOUND, "domain \"off\"");
}

/* ---- saved domains --------------------------------------------------------------------------- */

/* As `virsh save` does it. */
static void save(const char *domain, const char *path)
{
    char uri[PATH_MAX + 16];
    snprintf(uri, sizeof uri, "test://%s", in_scratch("node.xml"));
    virConnectPtr libvirt = virConnectOpen(uri);
    assert_non_null(libvirt);
    virDomainPtr found = virDomainLookupByName(libvirt, domain);
    assert_non_null(found);
    assert_int_equal(virDomainSave(found, path), 0);
    virDomainFree(found);
    virConnectClose(libvirt);
}

static void a_saved_document_is_read_and_replaced(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text before = {0}, after = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", in_scratch("saved"));
    save("one-42", path);
    expect(oneib_live_saved_document(live, path, &before, &err));
    assert_contains(before.data, "02:00:00:00:00:01");
    expect(oneib_live_saved_replace(
        live, path, DOMAIN("one-42", UUID_42, INTERFACE("x", "02:00:00:00:00:09"), ""), &err));
    expect(oneib_live_saved_document(live, path, &after, &err));
    assert_contains(after.data, "02:00:00:00:00:09");
}

static void a_file_that_holds_no_domain_is_refused(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text xml = {0};
    put_text(in_scratch("checkpoint"), "no domain");
    expect_failure(oneib_live_saved_document(live, in_scratch("checkpoint"), &xml, &err),
                   ONEIB_ERROR_REFUSED, "checkpoint");
    expect_failure(oneib_live_saved_replace(live, in_scratch("checkpoint"),
                                            DOMAIN("one-42", UUID_42, "", ""), &err),
                   ONEIB_ERROR_REFUSED, "checkpoint");
    assert_file_is(in_scratch("checkpoint"), "no domain");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_node, close_node)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_libvirt_that_is_not_there_is_unreachable),
        cmocka_unit_test(one_that_does_not_answer_is_not_waited_for),
        cmocka_unit_test(a_libvirt_that_goes_away_does_not_end_this_process),
        TEST(a_document_is_found_by_name_and_by_uuid),
        TEST(one_that_does_not_run_or_does_not_exist_is_not_found),
        TEST(each_running_domain_is_shown),
        TEST(the_first_failure_ends_the_round),
        TEST(a_refused_attach_says_what_libvirt_says),
        TEST(a_refused_detach_says_what_libvirt_says),
        TEST(what_the_domain_does_not_have_is_gone),
        TEST(nothing_is_gone_from_a_domain_that_is_not_there),
        TEST(a_thread_runs_where_it_is_pinned_to),
        TEST(a_thread_that_there_is_not_is_not_pinned),
        TEST(metadata_of_a_namespace_is_replaced),
        TEST(a_saved_document_is_read_and_replaced),
        TEST(a_file_that_holds_no_domain_is_refused),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
