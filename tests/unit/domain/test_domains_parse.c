// SPDX-License-Identifier: Apache-2.0
/* The list of domains, as text and as what it says. */
#include "domain/domains.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct oneib_pci first = {0, 0x81, 0, 1}, second = {0, 0x81, 0, 2},
                              third = {0x10000, 1, 0x1f, 7};

static void parse(const char *text, struct oneib_domains *domains)
{
    struct oneib_error err = {0};
    if (oneib_domains_parse(text, strlen(text), domains, &err) < 0)
        fail_msg("%s", err.text);
}

static void refused(const char *text, size_t length)
{
    struct oneib_domains domains;
    struct oneib_error err = {0};
    assert_int_equal(oneib_domains_parse(text, length, &domains, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    assert_null(domains.items);
    assert_int_equal(domains.count, 0);
}

static void a_list_is_read(void **state)
{
    (void)state;
    struct oneib_domains domains;
    parse("running one-42 0000:81:00.1 10000:01:1f.7\ndefined db\n", &domains);
    assert_int_equal(domains.count, 2);
    assert_string_equal(domains.items[0].name, "one-42");
    assert_int_equal(domains.items[0].vm_id, 42);
    assert_true(domains.items[0].running);
    assert_int_equal(domains.items[0].device_count, 2);
    assert_int_equal(oneib_pci_compare(&domains.items[0].devices[0], &first), 0);
    assert_int_equal(oneib_pci_compare(&domains.items[0].devices[1], &third), 0);
    assert_string_equal(domains.items[1].name, "db");
    assert_int_equal(domains.items[1].vm_id, -1);
    assert_false(domains.items[1].running);
    assert_int_equal(domains.items[1].device_count, 0);
    oneib_domains_clear(&domains);
}

static void nothing_is_no_domain(void **state)
{
    (void)state;
    struct oneib_domains domains;
    parse("", &domains);
    assert_int_equal(domains.count, 0);
    oneib_domains_clear(&domains);
}

static void only_opennebulas_own_names_are_vms(void **state)
{
    (void)state;
    static const char *const others[] = {"one-",       "one-042", "one--1",         "one-1x",
                                         "ONE-1",      "xone-1",  "one-2147483648", "one-\\x201",
                                         "one-1\\x0a", "one-+1"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char line[64];
        struct oneib_domains domains;
        snprintf(line, sizeof line, "running %s\n", others[i]);
        parse(line, &domains);
        assert_int_equal(domains.items[0].vm_id, -1);
        assert_false(oneib_domains_have_vm(&domains, 1));
        oneib_domains_clear(&domains);
    }
}

static void malformed_lists_are_refused_whole(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "\n",
        "running\n",
        "running \n",
        "running  one-1\n",
        " running one-1\n",
        "paused. one-1\n",
        "runnin one-1\n",
        "RUNNING one-1\n",
        "running one-1 \n",
        "running one-1 81:00.1\n",
        "running one-1 0000:81:00.8\n",
        "running one-1 0000:81:00.1 \n",
        "running one-1 0000:81:00.1  0000:81:00.2\n",
        "running one-1\\ \n",
        "running one\\x2\n",
        "running one\\y20\n",
        "running one\\x00\n",
        "running one\\xg0\n",
        "running one-1 00000000000000000000000000000000:81:00.1\n",
        "running one-1\ndefined\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(wrong[i], strlen(wrong[i]));
    refused("running a\0b\n", 12);
    refused("running a 0000:81:00.1\0\n", 24);
}

/* A list without its end would miss devices that are in use. */
static void a_list_that_was_cut_short_is_refused(void **state)
{
    (void)state;
    static const char list[] = "running one-1 0000:81:00.1\nrunning one-2 0000:81:00.2\n";
    for (size_t length = 1; length < sizeof list - 1; length++)
        if (list[length - 1] != '\n')
            refused(list, length);
}

static void any_name_stays_one_line_and_comes_back_as_it_was(void **state)
{
    (void)state;
    static const char *const names[] = {
        "plain",
        "with blanks and\ttabs",
        "two\nlines 0000:81:00.2",
        "\nrunning one-1",
        "quotes \" ' and \\x20 backslashes \\",
        "<name>&amp;</name>",
        "caf\xc3\xa9 \xe2\x80\xae reversed",
        "\xff\xfe no UTF-8",
        "$(reboot);`id`",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct oneib_text text = {0};
        struct oneib_domains domains;
        const struct oneib_pci devices[] = {first, third};
        oneib_domain_render(names[i], i % 2, devices, 2, &text);
        assert_false(oneib_text_failed(&text));
        assert_ptr_equal(strchr(text.data, '\n'), text.data + text.length - 1);
        parse(text.data, &domains);
        assert_int_equal(domains.count, 1);
        assert_string_equal(domains.items[0].name, names[i]);
        assert_int_equal(domains.items[0].running, i % 2);
        assert_int_equal(domains.items[0].device_count, 2);
        assert_int_equal(oneib_pci_compare(&domains.items[0].devices[1], &third), 0);
        oneib_domains_clear(&domains);
        oneib_text_clear(&text);
    }
}

static void devices_are_listed_once_and_sorted(void **state)
{
    (void)state;
    struct oneib_domains domains;
    struct oneib_pci *devices;
    size_t count;
    struct oneib_error err;
    parse("running a 10000:01:1f.7 0000:81:00.2\ndefined b 0000:81:00.1 0000:81:00.2\n", &domains);
    assert_int_equal(oneib_domains_devices(&domains, &devices, &count, &err), 0);
    assert_int_equal(count, 3);
    assert_int_equal(oneib_pci_compare(&devices[0], &first), 0);
    assert_int_equal(oneib_pci_compare(&devices[1], &second), 0);
    assert_int_equal(oneib_pci_compare(&devices[2], &third), 0);
    free(devices);
    oneib_domains_clear(&domains);

    parse("running a\n", &domains);
    assert_int_equal(oneib_domains_devices(&domains, &devices, &count, &err), 0);
    assert_int_equal(count, 0);
    assert_null(devices);
    oneib_domains_clear(&domains);
}

static void the_first_domain_that_names_a_device_is_found(void **state)
{
    (void)state;
    struct oneib_domains domains;
    parse("running a 0000:81:00.2\ndefined one-7 0000:81:00.1 0000:81:00.2\n", &domains);
    assert_ptr_equal(oneib_domains_of(&domains, &second), &domains.items[0]);
    assert_ptr_equal(oneib_domains_of(&domains, &first), &domains.items[1]);
    assert_null(oneib_domains_of(&domains, &third));
    assert_true(oneib_domains_have_vm(&domains, 7));
    assert_false(oneib_domains_have_vm(&domains, 8));
    oneib_domains_clear(&domains);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_read),
        cmocka_unit_test(nothing_is_no_domain),
        cmocka_unit_test(only_opennebulas_own_names_are_vms),
        cmocka_unit_test(malformed_lists_are_refused_whole),
        cmocka_unit_test(a_list_that_was_cut_short_is_refused),
        cmocka_unit_test(any_name_stays_one_line_and_comes_back_as_it_was),
        cmocka_unit_test(devices_are_listed_once_and_sorted),
        cmocka_unit_test(the_first_domain_that_names_a_device_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
