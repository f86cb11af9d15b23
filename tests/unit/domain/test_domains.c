// SPDX-License-Identifier: Apache-2.0
/* What is asked of a list of domains. */
#include "domain_lines.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const struct oneib_pci first = {0, 0x81, 0, 1}, second = {0, 0x81, 0, 2},
                              third = {0x10000, 1, 0x1f, 7};

static void only_opennebulas_own_names_are_vms(void **state)
{
    (void)state;
    static const char *const others[] = {"one-",    "one-042", "one--1", "one-1x",
                                         "ONE-1",   "xone-1",  "one- 1", "one-2147483648",
                                         "one-1\n", "one-+1",  "",       "one"};
    assert_int_equal(oneib_domain_vm_id("one-0"), 0);
    assert_int_equal(oneib_domain_vm_id("one-2147483647"), INT32_MAX);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(oneib_domain_vm_id(others[i]), -1);
}

static void the_first_domain_that_names_a_device_is_found(void **state)
{
    (void)state;
    struct oneib_domains domains =
        domains_of_lines("running a 0000:81:00.2\ndefined one-7 0000:81:00.1 0000:81:00.2\n");
    assert_ptr_equal(oneib_domains_of(&domains, &second), &domains.items[0]);
    assert_ptr_equal(oneib_domains_of(&domains, &first), &domains.items[1]);
    assert_null(oneib_domains_of(&domains, &third));
    oneib_domains_clear(&domains);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_opennebulas_own_names_are_vms),
        cmocka_unit_test(the_first_domain_that_names_a_device_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
