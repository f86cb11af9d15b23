// SPDX-License-Identifier: Apache-2.0
/* The program, with libvirt's test driver: what it says of a node, and how it ends. */
#include "base/text.h"
#include "node_file.h"
#include "program.h"

static struct domains_program program = {.socket = -1};

static void begin(const char *uri)
{
    program = start_domains_program(uri);
}

static void begin_with(const char *node)
{
    put_node(node);
    begin(node_uri());
}

static void order(const void *bytes, size_t length)
{
    assert_int_equal(send(program.socket, bytes, length, MSG_NOSIGNAL), length);
}

static void order_anew(void)
{
    const struct oneib_domain_order anew = oneib_domain_order_new();
    order(&anew, sizeof anew);
}

static int end(void **state)
{
    (void)state;
    end_domains_program(&program);
    return 0;
}

/* ---- a list ---------------------------------------------------------------------------------- */

static void running_and_defined_domains_are_listed_with_their_devices(void **state)
{
    (void)state;
    begin_with(NODE(DOMAIN("one-42", RUNNING, HOSTDEV("0x1") INTERFACE("0x3"))
                        DOMAIN("other", SHUT_OFF, HOSTDEV("0x2")) DOMAIN("none", RUNNING, "")));
    const struct heard heard = hear_list(program.socket);
    assert_int_equal(heard.count, 4);
    assert_int_equal(devices_of(&heard, "one-42"), 2);
    assert_string_equal(entry_of(&heard, 0, 1)->name, "one-42");
    assert_string_equal(entry_of(&heard, 1, 3)->name, "one-42");
    assert_int_equal(entry_of(&heard, 0, 1)->vm_id, 42);
    assert_true(entry_of(&heard, 0, 1)->running);
    assert_int_equal(devices_of(&heard, "other"), 1);
    assert_int_equal(entry_of(&heard, 0, 2)->vm_id, -1);
    assert_false(entry_of(&heard, 0, 2)->running);
    assert_int_equal(devices_of(&heard, "none"), 0);
}

static void devices_that_are_not_pci_devices_of_the_host_do_not_count(void **state)
{
    (void)state;
    begin_with(NODE(DOMAIN(
        "one-1", RUNNING,
        "<hostdev mode='subsystem' type='usb'><source><vendor id='0x1234'/><product id='0x5678'/>"
        "</source></hostdev><interface type='ethernet'><mac address='aa:00:0a:14:00:0a'/>"
        "<target dev='one-1-0'/></interface>")));
    const struct heard heard = hear_list(program.socket);
    assert_int_equal(heard.count, 1);
    assert_int_equal(devices_of(&heard, "one-1"), 0);
}

static void a_node_without_domains_has_an_empty_list(void **state)
{
    (void)state;
    begin_with(NODE(""));
    assert_int_equal(hear_list(program.socket).count, 0);
}

/* A blank, a tab, quotes, markup, and an address of another's device. */
static void a_hostile_name_forges_nothing(void **state)
{
    (void)state;
    begin_with(NODE(DOMAIN("one-1 0000:81:00.7&#9;\"&lt;n&gt; \\x0a", RUNNING, HOSTDEV("0x1"))));
    const struct heard heard = hear_list(program.socket);
    assert_int_equal(heard.count, 1);
    assert_null(entry_of(&heard, 0, 7));
    assert_string_equal(entry_of(&heard, 0, 1)->name, "one-1 0000:81:00.7\t\"<n> \\x0a");
    assert_int_equal(entry_of(&heard, 0, 1)->vm_id, -1);
}

#define TEN "aaaaaaaaaa"
#define SIXTY TEN TEN TEN TEN TEN TEN

/* The 63rd byte is the first of two of an e with an accent. */
static void a_long_name_is_cut_between_characters(void **state)
{
    (void)state;
    begin_with(NODE(DOMAIN(SIXTY "bb&#233;" TEN, RUNNING, "") DOMAIN("one-" SIXTY, RUNNING, "")));
    const struct heard heard = hear_list(program.socket);
    assert_int_equal(devices_of(&heard, SIXTY "bb"), 0);
    assert_int_equal(heard.count, 2);
}

/* ---- more than fits -------------------------------------------------------------------------- */

static void append_domain(struct oneib_text *xml, unsigned id, unsigned devices)
{
    oneib_text_printf(xml,
                      "<domain type='test'><name>one-%u</name><memory>1024</memory>"
                      "<os><type>hvm</type></os><devices>",
                      id);
    for (unsigned i = 0; i < devices; i++)
        oneib_text_printf(xml,
                          "<hostdev mode='subsystem' type='pci'><source><address bus='0x%02x' "
                          "slot='0x%02x' function='0x%x'/></source></hostdev>",
                          id, i / 8, i % 8);
    oneib_text_append(xml, "</devices></domain>");
}

/* Devices, not domains: libvirt and the sanitizers take a tenth of the time for these. */
static void more_than_fits_is_as_good_as_unknown(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text xml = {0};
    oneib_text_append(&xml, "<node><cpu><mhz>2000</mhz><model>x</model><active>2</active></cpu>"
                            "<memory>4194304</memory>");
    for (unsigned id = 0; id < 16; id++)
        append_domain(&xml, id, 256);
    append_domain(&xml, 16, 0);
    oneib_text_append(&xml, "</node>");
    begin_with(xml.data);
    assert_string_equal(hear_unknown(program.socket),
                        "domains and their PCI devices are 4097 together, and more than 4096");
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void a_libvirt_that_is_not_there_is_told_and_tried_again(void **state)
{
    (void)state;
    assert_true(unlink(in_scratch("node.xml")) == 0 || errno == ENOENT);
    begin(node_uri());
    assert_contains(hear_unknown(program.socket), "connecting: ");
    assert_contains(hear_unknown(program.socket), "connecting: ");
    put_node(NODE(DOMAIN("one-9", RUNNING, "")));
    struct oneib_domain_news news = hear(program.socket);
    while (news.kind == ONEIB_DOMAIN_NEWS_UNKNOWN)
        news = hear(program.socket);
    assert_int_equal(news.kind, ONEIB_DOMAIN_NEWS_BEGIN);
    const struct heard heard = hear_rest(program.socket);
    assert_int_equal(devices_of(&heard, "one-9"), 0);
}

static void a_uri_of_no_driver_is_told(void **state)
{
    (void)state;
    begin("nonsense:///\n");
    assert_contains(hear_unknown(program.socket), "connecting: ");
}

static void what_is_asked_anew_is_read_anew_and_told_in_full(void **state)
{
    (void)state;
    begin_with(NODE(DOMAIN("one-1", RUNNING, HOSTDEV("0x1"))));
    assert_int_equal(hear_list(program.socket).count, 1);
    put_node(NODE(DOMAIN("one-2", RUNNING, HOSTDEV("0x2")) DOMAIN("one-3", RUNNING, "")));
    order_anew();
    const struct heard heard = hear_list(program.socket);
    assert_int_equal(heard.count, 2);
    assert_int_equal(devices_of(&heard, "one-2"), 1);
    order_anew();
    assert_int_equal(hear_list(program.socket).count, 2);
    put_node("this is no node");
    order_anew();
    assert_contains(hear_unknown(program.socket), "connecting: ");
}

/* ---- oneib-node ------------------------------------------------------------------------------ */

static void it_says_that_it_is_alive_within_five_seconds(void **state)
{
    (void)state;
    begin_with(NODE(""));
    hear_list(program.socket);
    if (!has_more(program.socket, ONEIB_DOMAIN_NEWS_PAUSE_MS))
        fail_msg("nothing is said for %d ms", ONEIB_DOMAIN_NEWS_PAUSE_MS);
    assert_int_equal(hear(program.socket).kind, ONEIB_DOMAIN_NEWS_ALIVE);
}

static void it_ends_with_its_socket(void **state)
{
    (void)state;
    begin_with(NODE(""));
    hear_list(program.socket);
    close(program.socket);
    program.socket = -1;
    assert_int_equal(wait_for_domains_program(&program), 0);
}

static void an_order_that_is_none_ends_it(void **state)
{
    (void)state;
    struct oneib_domain_order odd = oneib_domain_order_new();
    begin_with(NODE(""));
    hear_list(program.socket);
    odd.unused = 1;
    order(&odd, sizeof odd);
    assert_int_equal(wait_for_domains_program(&program), 0);
}

static void without_a_socket_it_says_who_starts_it(void **state)
{
    (void)state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    program.pid = run_domains_program("test:///default", pipes[0]);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(wait_for_domains_program(&program), 2);
}

#define each(test) cmocka_unit_test_teardown(test, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(running_and_defined_domains_are_listed_with_their_devices),
        each(devices_that_are_not_pci_devices_of_the_host_do_not_count),
        each(a_node_without_domains_has_an_empty_list),
        each(a_hostile_name_forges_nothing),
        each(a_long_name_is_cut_between_characters),
        each(more_than_fits_is_as_good_as_unknown),
        each(a_libvirt_that_is_not_there_is_told_and_tried_again),
        each(a_uri_of_no_driver_is_told),
        each(what_is_asked_anew_is_read_anew_and_told_in_full),
        each(it_says_that_it_is_alive_within_five_seconds),
        each(it_ends_with_its_socket),
        each(an_order_that_is_none_ends_it),
        each(without_a_socket_it_says_who_starts_it),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
