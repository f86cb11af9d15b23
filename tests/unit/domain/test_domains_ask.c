// SPDX-License-Identifier: Apache-2.0
/*
 * Asking libvirt: the real oneib-domains with libvirt's test driver, whose node is a file, and
 * programs that stand in for it where it has to fail.
 */
#include "../base/scratch.h"
#include "../hca/tree.h"
#include "base/clock.h"
#include "domain/domains_ask.h"

#define NODE                                                                                       \
    "<node><cpu><mhz>2000</mhz><model>x</model><active>2</active></cpu>"                           \
    "<memory>4194304</memory>%s</node>"

/* One domain; `inside` is put into its devices. */
#define DOMAIN(name, state, inside)                                                                \
    "<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'>"                 \
    "<name>" name "</name><memory>1024</memory><os><type>hvm</type></os><devices>" inside          \
    "</devices>" state "</domain>"
#define RUNNING ""
#define SHUT_OFF "<test:runstate>5</test:runstate>"
#define HOSTDEV(function)                                                                          \
    "<hostdev mode='subsystem' type='pci' managed='yes'><source><address domain='0x0000' "         \
    "bus='0x81' slot='0x00' function='" function "'/></source></hostdev>"
#define INTERFACE(function)                                                                        \
    "<interface type='hostdev' managed='yes'><mac address='02:00:00:00:00:01'/><source><address "  \
    "type='pci' domain='0x0000' bus='0x81' slot='0x01' function='" function                        \
    "'/></source></interface>"

static int ask(const char *program, const char *uri, uint32_t timeout_ms,
               struct oneib_domains *domains, struct oneib_error *err)
{
    *err = (struct oneib_error){0};
    return oneib_domains_ask_program(program, uri, timeout_ms, domains, err);
}

static const char *uri_of(const char *domains)
{
    static char uri[512];
    char node[8192];
    snprintf(node, sizeof node, NODE, domains);
    put_text(in_scratch("node.xml"), node);
    snprintf(uri, sizeof uri, "test://%s", in_scratch("node.xml"));
    return uri;
}

static struct oneib_domains asked(const char *domains)
{
    struct oneib_domains answer;
    struct oneib_error err;
    if (ask(ONEIB_DOMAINS_PROGRAM, uri_of(domains), 30000, &answer, &err) < 0)
        fail_msg("%s", err.text);
    return answer;
}

static const struct oneib_domain *find(const struct oneib_domains *domains, const char *name)
{
    for (size_t i = 0; i < domains->count; i++)
        if (strcmp(domains->items[i].name, name) == 0)
            return &domains->items[i];
    fail_msg("there is no domain \"%s\"", name);
    return NULL;
}

static void running_and_defined_domains_are_listed_with_their_devices(void **state)
{
    (void)state;
    struct oneib_domains domains =
        asked(DOMAIN("one-42", RUNNING, HOSTDEV("0x1") INTERFACE("0x3"))
                  DOMAIN("other", SHUT_OFF, HOSTDEV("0x2")) DOMAIN("none", RUNNING, ""));
    assert_int_equal(domains.count, 3);
    const struct oneib_domain *vm = find(&domains, "one-42");
    assert_true(vm->running);
    assert_int_equal(vm->vm_id, 42);
    const struct oneib_pci of_vm[] = {{0, 0x81, 0, 1}, {0, 0x81, 1, 3}}, of_other = {0, 0x81, 0, 2};
    for (size_t i = 0; i < 2; i++)
        assert_ptr_equal(oneib_domains_of(&domains, &of_vm[i]), vm);
    const struct oneib_domain *other = find(&domains, "other");
    assert_false(other->running);
    assert_int_equal(other->device_count, 1);
    assert_int_equal(oneib_pci_compare(other->devices, &of_other), 0);
    assert_int_equal(find(&domains, "none")->device_count, 0);
    oneib_domains_clear(&domains);
}

static void devices_that_are_not_pci_devices_of_the_host_do_not_count(void **state)
{
    (void)state;
    struct oneib_domains domains = asked(DOMAIN(
        "one-1", RUNNING,
        "<hostdev mode='subsystem' type='usb'><source><vendor id='0x1234'/><product id='0x5678'/>"
        "</source></hostdev><interface type='ethernet'><mac address='aa:00:0a:14:00:0a'/>"
        "<target dev='one-1-0'/></interface>"));
    assert_int_equal(find(&domains, "one-1")->device_count, 0);
    oneib_domains_clear(&domains);
}

static void a_node_without_domains_has_none(void **state)
{
    (void)state;
    struct oneib_domains domains = asked("");
    assert_int_equal(domains.count, 0);
    oneib_domains_clear(&domains);
}

/* A blank, a tab, quotes, markup, and an address of another's device. libvirt itself refuses a
 * newline in a name. */
static void a_hostile_name_forges_nothing(void **state)
{
    (void)state;
    struct oneib_domains domains =
        asked(DOMAIN("x 0000:81:00.7&#9;\"&lt;name&gt; \\x0a", RUNNING, HOSTDEV("0x1")));
    assert_int_equal(domains.count, 1);
    const struct oneib_pci forged = {0, 0x81, 0, 7};
    assert_null(oneib_domains_of(&domains, &forged));
    assert_int_equal(find(&domains, "x 0000:81:00.7\t\"<name> \\x0a")->device_count, 1);
    oneib_domains_clear(&domains);
}

static void a_libvirt_that_cannot_be_reached_is_unreachable(void **state)
{
    (void)state;
    struct oneib_domains domains;
    struct oneib_error err;
    assert_int_equal(
        ask(ONEIB_DOMAINS_PROGRAM, "test:///nonexistent/node.xml", 30000, &domains, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_contains(err.text, "asking libvirt (test:///nonexistent/node.xml) for its domains: "
                              "connecting: ");
    assert_null(strstr(err.text, "oneib-domains"));
    assert_int_equal(ask(ONEIB_DOMAINS_PROGRAM, "nonsense:///x", 30000, &domains, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
}

static const char *stand_in(const char *script)
{
    char text[1024];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    put_text(in_scratch("stand-in"), text);
    assert_int_equal(chmod(in_scratch("stand-in"), 0755), 0);
    return in_scratch("stand-in");
}

static void a_libvirt_that_hangs_is_given_up_in_time(void **state)
{
    (void)state;
    struct oneib_domains domains;
    struct oneib_error err;
    const double began = oneib_now_ms();
    assert_int_equal(ask(stand_in("sleep 60 & wait"), "x:///", 200, &domains, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    assert_true(oneib_now_ms() - began < 5000);
    assert_contains(err.text, "asking libvirt (x:///) for its domains: ");
}

static void a_failure_is_told_in_one_line_of_its_own_words(void **state)
{
    (void)state;
    struct oneib_domains domains;
    struct oneib_error err;
    assert_int_equal(ask(stand_in("echo 'running one-1'; "
                                  "printf 'noise\\noneib-domains: no \\033way\\n' >&2; exit 3"),
                         "x:///", 10000, &domains, &err),
                     -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_string_equal(err.text, "asking libvirt (x:///) for its domains: no \\x1bway");
    assert_int_equal(domains.count, 0);

    assert_int_equal(ask(stand_in("exit 9"), "x:///", 10000, &domains, &err), -1);
    assert_contains(err.text, "oneib-domains failed with exit status 9");
}

static void an_answer_that_is_no_list_is_refused(void **state)
{
    (void)state;
    struct oneib_domains domains;
    struct oneib_error err;
    assert_int_equal(ask(stand_in("echo hello"), "x:///", 10000, &domains, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    assert_int_equal(ask(stand_in("printf 'running one-1 0000:81:00.1\\nrunning one-2'"), "x:///",
                         10000, &domains, &err),
                     -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
}

/* What is beyond the limit would be missed. */
static void an_endless_list_is_refused(void **state)
{
    (void)state;
    struct oneib_domains domains;
    struct oneib_error err;
    assert_int_equal(
        ask(stand_in("yes 'running one-1' | head -c 5000000"), "x:///", 30000, &domains, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    assert_contains(err.text, "more than");
}

static void a_program_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct oneib_domains domains;
    struct oneib_error err;
    assert_int_equal(ask("/nonexistent/oneib-domains", "x:///", 10000, &domains, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_SYSTEM);
    assert_contains(err.text, "/nonexistent/oneib-domains");
}

/* The program lies where this one was built, not where it would be installed. */
static void a_simulated_node_finds_the_program_in_the_build_folder(void **state)
{
    (void)state;
    char uri[512];
    snprintf(uri, sizeof uri, "%s", uri_of(DOMAIN("one-9", RUNNING, "")));
    struct oneib_config config = {.node = {.libvirt = uri}};
    struct oneib_domains domains;
    struct oneib_error err = {0};
    if (oneib_domains_ask(&config, &domains, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(oneib_domains_have_vm(&domains, 9));
    oneib_domains_clear(&domains);
}

int main(void)
{
    tree_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_and_defined_domains_are_listed_with_their_devices),
        cmocka_unit_test(devices_that_are_not_pci_devices_of_the_host_do_not_count),
        cmocka_unit_test(a_node_without_domains_has_none),
        cmocka_unit_test(a_hostile_name_forges_nothing),
        cmocka_unit_test(a_libvirt_that_cannot_be_reached_is_unreachable),
        cmocka_unit_test(a_libvirt_that_hangs_is_given_up_in_time),
        cmocka_unit_test(a_failure_is_told_in_one_line_of_its_own_words),
        cmocka_unit_test(an_answer_that_is_no_list_is_refused),
        cmocka_unit_test(an_endless_list_is_refused),
        cmocka_unit_test(a_program_that_is_not_there_is_named),
        cmocka_unit_test(a_simulated_node_finds_the_program_in_the_build_folder),
    };
    return tree_close(cmocka_run_group_tests(tests, make_scratch, remove_scratch));
}
