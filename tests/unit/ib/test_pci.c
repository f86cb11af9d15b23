// SPDX-License-Identifier: Apache-2.0
#include "ib/pci.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef bool (*parser)(const char *text, struct oneib_pci *pci);

static void assert_address(parser parse, const char *text, uint32_t domain, unsigned bus,
                           unsigned slot, unsigned function)
{
    struct oneib_pci pci = {0};
    if (!parse(text, &pci))
        fail_msg("\"%s\" is no address", text);
    assert_int_equal(pci.domain, domain);
    assert_int_equal(pci.bus, bus);
    assert_int_equal(pci.slot, slot);
    assert_int_equal(pci.function, function);
}

static void assert_no_address(parser parse, const char *text)
{
    struct oneib_pci pci = {.domain = 4711, .function = 3};
    if (parse(text, &pci))
        fail_msg("\"%s\" was taken for an address", text);
    assert_int_equal(pci.domain, 4711);
    assert_int_equal(pci.function, 3);
}

static void addresses_of_sysfs_are_read(void **state)
{
    (void)state;
    assert_address(oneib_pci_parse, "0000:81:00.1", 0, 0x81, 0, 1);
    assert_address(oneib_pci_parse, "0000:00:1f.7", 0, 0, 31, 7);
    assert_address(oneib_pci_parse, "abcd:eF:0A.0", 0xabcd, 0xef, 10, 0);
}

static void addresses_of_opennebula_are_read(void **state)
{
    (void)state;
    assert_address(oneib_pci_parse_one, "0000:81:00:1", 0, 0x81, 0, 1);
    assert_address(oneib_pci_parse_one, "abcd:eF:0A:7", 0xabcd, 0xef, 10, 7);
}

static void a_domain_may_have_up_to_eight_digits(void **state)
{
    (void)state;
    assert_address(oneib_pci_parse, "10000:01:00.0", 0x10000, 1, 0, 0);
    assert_address(oneib_pci_parse, "ffffffff:01:00.0", UINT32_MAX, 1, 0, 0);
    assert_no_address(oneib_pci_parse, "100000000:01:00.0");
    assert_no_address(oneib_pci_parse, "000:01:00.0");
}

static void one_way_of_writing_is_not_the_other(void **state)
{
    (void)state;
    assert_no_address(oneib_pci_parse, "0000:81:00:1");
    assert_no_address(oneib_pci_parse_one, "0000:81:00.1");
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const texts[] = {"",
                                        ":",
                                        "0000",
                                        "0000:",
                                        "0000:81",
                                        "0000:81:00",
                                        "0000:81:00.",
                                        "81:00.1",
                                        "0000:81:00.8",
                                        "0000:81:00.a",
                                        "0000:81:00.-",
                                        "0000:81:20.1",
                                        "0000:81:ff.1",
                                        "0000:8:00.1",
                                        "0000:811:0.1",
                                        "0000:81:0.1",
                                        "0000:81:00.1 ",
                                        " 0000:81:00.1",
                                        "0000:81:00.1\n",
                                        "0000:81:00.11",
                                        "0000:81.00.1",
                                        "0000.81:00.1",
                                        "0x00:81:00.1",
                                        "00g0:81:00.1",
                                        "0000:g1:00.1",
                                        "0000:81:0g.1",
                                        "0000:+1:00.1",
                                        "-000:81:00.1",
                                        "../..:81:00.1",
                                        "0000:81:00.1/../x"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_no_address(oneib_pci_parse, texts[i]);
}

static void every_address_is_read_as_it_is_written(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 65536; i++) {
        const struct oneib_pci pci = {.domain = i * 65521u,
                                      .bus = (uint8_t)(i >> 8),
                                      .slot = (uint8_t)(i >> 3 & 31),
                                      .function = (uint8_t)(i & 7)};
        struct oneib_pci again;
        char text[ONEIB_PCI_TEXT_SIZE];
        oneib_pci_format(&pci, text);
        assert_true(oneib_pci_parse(text, &again));
        assert_int_equal(oneib_pci_compare(&pci, &again), 0);
    }
}

static void addresses_are_written_with_all_digits_in_lower_case(void **state)
{
    const struct oneib_pci small = {.function = 1}, large = {UINT32_MAX, 255, 31, 7};
    char text[ONEIB_PCI_TEXT_SIZE];
    (void)state;
    oneib_pci_format(&small, text);
    assert_string_equal(text, "0000:00:00.1");
    oneib_pci_format(&large, text);
    assert_string_equal(text, "ffffffff:ff:1f.7");
}

static void addresses_are_in_the_order_of_the_bus(void **state)
{
    static const struct oneib_pci order[] = {{0, 0, 0, 0},  {0, 0, 0, 7},         {0, 0, 1, 0},
                                             {0, 0, 31, 7}, {0, 1, 0, 0},         {0, 255, 0, 0},
                                             {1, 0, 0, 0},  {UINT32_MAX, 0, 0, 0}};
    const size_t count = sizeof order / sizeof *order;
    (void)state;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            const int compared = oneib_pci_compare(&order[i], &order[j]);
            assert_int_equal((compared > 0) - (compared < 0), (i > j) - (i < j));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_sysfs_are_read),
        cmocka_unit_test(addresses_of_opennebula_are_read),
        cmocka_unit_test(a_domain_may_have_up_to_eight_digits),
        cmocka_unit_test(one_way_of_writing_is_not_the_other),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(every_address_is_read_as_it_is_written),
        cmocka_unit_test(addresses_are_written_with_all_digits_in_lower_case),
        cmocka_unit_test(addresses_are_in_the_order_of_the_bus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
