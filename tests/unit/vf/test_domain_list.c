// SPDX-License-Identifier: Apache-2.0
/* Who names which VF, and whose domains are here. */
#include "vf/domain_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct oneib_pci of_42 = {0, 0x81, 0, 1}, of_defined = {0, 0x81, 0, 2},
                              of_foreigner = {0, 0x81, 0, 3}, of_nobody = {0, 0x81, 0, 4};

static const struct oneib_domain_list list = {
    .known = true,
    .count = 4,
    .items =
        {
            {.vm_id = 42, .running = true, .has_vf = true, .vf = {0, 0x81, 0, 1}},
            {.vm_id = 43, .running = false, .has_vf = true, .vf = {0, 0x81, 0, 2}},
            {.vm_id = -1, .running = true, .has_vf = true, .vf = {0, 0x81, 0, 3}},
            {.vm_id = 44, .running = true},
            /* Beyond the count: of a list before. */
            {.vm_id = 45, .running = true, .has_vf = true, .vf = {0, 0x81, 0, 4}},
        },
};

static void a_vf_is_named_by_whoever_has_it_running_or_not(void **state)
{
    (void)state;
    assert_true(oneib_domain_list_names(&list, &of_42));
    assert_true(oneib_domain_list_names(&list, &of_defined));
    assert_true(oneib_domain_list_names(&list, &of_foreigner));
    assert_false(oneib_domain_list_names(&list, &of_nobody));
}

/* An entry without a VF has an address of zeros all the same. */
static void the_address_of_no_device_is_nobodys(void **state)
{
    (void)state;
    const struct oneib_pci zero = {0};
    assert_false(oneib_domain_list_names(&list, &zero));
    assert_false(oneib_domain_list_runs_with(&list, 44, &zero));
}

static void a_vm_runs_with_what_its_own_running_domain_names(void **state)
{
    (void)state;
    assert_true(oneib_domain_list_runs_with(&list, 42, &of_42));
    assert_false(oneib_domain_list_runs_with(&list, 42, &of_defined));
    assert_false(oneib_domain_list_runs_with(&list, 43, &of_defined));
    assert_false(oneib_domain_list_runs_with(&list, 44, &of_42));
    assert_false(oneib_domain_list_runs_with(&list, UINT32_MAX, &of_foreigner));
}

static void a_domain_that_is_only_defined_is_there_but_does_not_run(void **state)
{
    (void)state;
    assert_true(oneib_domain_list_has(&list, 43));
    assert_false(oneib_domain_list_runs(&list, 43));
    assert_true(oneib_domain_list_runs(&list, 44));
    assert_false(oneib_domain_list_has(&list, 45));
    assert_false(oneib_domain_list_runs(&list, 45));
    /* -1 of a domain that is not OpenNebula's is no VM's number. */
    assert_false(oneib_domain_list_has(&list, UINT32_MAX));
    assert_false(oneib_domain_list_runs(&list, UINT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vf_is_named_by_whoever_has_it_running_or_not),
        cmocka_unit_test(the_address_of_no_device_is_nobodys),
        cmocka_unit_test(a_vm_runs_with_what_its_own_running_domain_names),
        cmocka_unit_test(a_domain_that_is_only_defined_is_there_but_does_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
