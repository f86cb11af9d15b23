// SPDX-License-Identifier: Apache-2.0
#include "cluster/grant.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct oneib_grant sample = {
    .vm_id = 42,
    .network_id = 7,
    .nic_id = 1,
    .port = 1,
    .pkey = 0x0101,
    .has_vf = true,
    .may_set_guid = true,
    .device = "mlx4_0",
    .vf = {.bus = 0x81, .function = 2},
    .guid = 0x0200000000002a01,
};

/* What a node has of the sample. */
static struct oneib_vf_record record_of_sample(void)
{
    return (struct oneib_vf_record){
        .vf = sample.vf,
        .device = "mlx4_0",
        .index = 1,
        .port = sample.port,
        .vm_id = sample.vm_id,
        .nic_id = sample.nic_id,
        .network_id = sample.network_id,
        .pkey = sample.pkey,
        .stage = ONEIB_VF_OPEN,
    };
}

static struct oneib_grant of_nic(uint32_t vm_id, uint8_t nic_id)
{
    struct oneib_grant grant = sample;
    grant.vm_id = vm_id;
    grant.nic_id = nic_id;
    return grant;
}

static struct oneib_grant_list *list_of(const struct oneib_grant *items, size_t count)
{
    struct oneib_grant_list *list = calloc(1, sizeof *list);
    assert_non_null(list);
    list->count = count;
    if (count)
        memcpy(list->items, items, count * sizeof *items);
    return list;
}

static void they_are_ordered_by_vm_then_nic(void **state)
{
    (void)state;
    const struct oneib_grant low = of_nic(1, 9), middle = of_nic(2, 0), high = of_nic(2, 1),
                             last = of_nic(UINT32_MAX, 0);
    assert_true(oneib_grant_compare(&low, &middle) < 0);
    assert_true(oneib_grant_compare(&middle, &high) < 0);
    assert_true(oneib_grant_compare(&high, &middle) > 0);
    assert_true(oneib_grant_compare(&last, &low) > 0);
    assert_int_equal(oneib_grant_compare(&high, &high), 0);
}

static void the_order_asks_for_nothing_but_the_nic(void **state)
{
    (void)state;
    struct oneib_grant other = sample;
    other.pkey = 5;
    other.network_id = 1;
    assert_int_equal(oneib_grant_compare(&sample, &other), 0);
}

static void each_field_makes_two_grants_different(void **state)
{
    (void)state;
    struct oneib_grant others[16];
    for (size_t i = 0; i < COUNT(others); i++)
        others[i] = sample;
    size_t count = 0;
    others[count++].vm_id = 43;
    others[count++].network_id = 8;
    others[count++].nic_id = 2;
    others[count++].port = 2;
    others[count++].pkey = 0x0102;
    others[count++].limited = true;
    others[count++].has_vf = false;
    others[count++].may_set_guid = false;
    strcpy(others[count++].device, "mlx4_1");
    others[count++].vf.domain = 1;
    others[count++].vf.bus = 0x82;
    others[count++].vf.slot = 1;
    others[count++].vf.function = 3;
    others[count++].guid = 1;
    assert_true(oneib_grant_equal(&sample, &sample));
    for (size_t i = 0; i < count; i++)
        assert_false(oneib_grant_equal(&sample, &others[i]));
}

/* A name that is cut short, and what stood behind it. */
static void what_is_behind_a_name_is_not_looked_at(void **state)
{
    (void)state;
    struct oneib_grant other = sample;
    memset(other.device, 'x', sizeof other.device);
    strcpy(other.device, "mlx4_0");
    assert_true(oneib_grant_equal(&sample, &other));
}

static void each_of_a_list_is_found(void **state)
{
    (void)state;
    struct oneib_grant items[100];
    for (size_t i = 0; i < COUNT(items); i++)
        items[i] = of_nic((uint32_t)(i / 3 * 7), (uint8_t)(i % 3 * 100));
    struct oneib_grant_list *list = list_of(items, COUNT(items));
    for (size_t i = 0; i < COUNT(items); i++)
        assert_ptr_equal(oneib_grant_list_find(list, items[i].vm_id, items[i].nic_id),
                         &list->items[i]);
    assert_null(oneib_grant_list_find(list, 1, 0));
    assert_null(oneib_grant_list_find(list, 7, 1));
    assert_null(oneib_grant_list_find(list, UINT32_MAX, 255));
    free(list);
}

static void a_full_list_is_searched_to_its_end(void **state)
{
    (void)state;
    struct oneib_grant_list *list = list_of(NULL, 0);
    for (; list->count < ONEIB_GRANTS_MAX; list->count++)
        list->items[list->count] = of_nic((uint32_t)list->count, 0);
    assert_non_null(oneib_grant_list_find(list, ONEIB_GRANTS_MAX - 1, 0));
    assert_null(oneib_grant_list_find(list, ONEIB_GRANTS_MAX, 0));
    free(list);
}

static void an_empty_list_has_nothing(void **state)
{
    (void)state;
    struct oneib_grant_list *list = list_of(NULL, 0);
    assert_null(oneib_grant_list_find(list, 0, 0));
    free(list);
}

static void lists_are_equal_when_all_in_them_is(void **state)
{
    (void)state;
    const struct oneib_grant items[] = {of_nic(1, 0), of_nic(2, 0)};
    struct oneib_grant_list *a = list_of(items, 2), *b = list_of(items, 2), *c = list_of(items, 1);
    assert_true(oneib_grant_list_is(a, b->items, b->count));
    assert_false(oneib_grant_list_is(a, c->items, c->count));
    b->items[1].limited = true;
    assert_false(oneib_grant_list_is(a, b->items, b->count));
    b->items[1].limited = false;
    b->items[2].vm_id = 9; /* what is behind a list's end is not in it */
    assert_true(oneib_grant_list_is(a, b->items, b->count));
    free(a);
    free(b);
    free(c);
}

static void what_is_granted_is_allowed(void **state)
{
    (void)state;
    const struct oneib_vf_record record = record_of_sample();
    assert_true(oneib_grant_allows(&sample, &record));
}

static void nothing_that_differs_is_allowed(void **state)
{
    (void)state;
    struct oneib_vf_record others[8];
    for (size_t i = 0; i < COUNT(others); i++)
        others[i] = record_of_sample();
    size_t count = 0;
    others[count++].vm_id = 43;
    others[count++].nic_id = 0;
    others[count++].network_id = 8;
    strcpy(others[count++].device, "mlx4_1");
    others[count++].port = 2;
    others[count++].pkey = 0x0102;
    others[count++].vf.function = 3;
    for (size_t i = 0; i < count; i++)
        assert_false(oneib_grant_allows(&sample, &others[i]));
}

static void any_vf_will_do_where_none_is_named(void **state)
{
    (void)state;
    struct oneib_grant grant = sample;
    grant.has_vf = false;
    struct oneib_vf_record record = record_of_sample();
    record.vf.function = 3;
    assert_true(oneib_grant_allows(&grant, &record));
}

static void narrower_is_allowed_and_wider_is_not(void **state)
{
    (void)state;
    struct oneib_grant grant = sample;
    struct oneib_vf_record record = record_of_sample();
    record.limited = true;
    assert_true(oneib_grant_allows(&grant, &record));
    grant.limited = true;
    assert_true(oneib_grant_allows(&grant, &record));
    record.limited = false;
    assert_false(oneib_grant_allows(&grant, &record));
}

static void no_key_is_never_allowed(void **state)
{
    (void)state;
    struct oneib_grant grant = sample;
    struct oneib_vf_record record = record_of_sample();
    grant.pkey = record.pkey = 0;
    assert_false(oneib_grant_allows(&grant, &record));
}

static void the_guid_and_the_stage_are_not_looked_at(void **state)
{
    (void)state;
    struct oneib_vf_record record = record_of_sample();
    record.site = 3;
    record.stage = ONEIB_VF_CLOSED;
    record.guid = ONEIB_VF_GUID_DEFERRED;
    assert_true(oneib_grant_allows(&sample, &record));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_ordered_by_vm_then_nic),
        cmocka_unit_test(the_order_asks_for_nothing_but_the_nic),
        cmocka_unit_test(each_field_makes_two_grants_different),
        cmocka_unit_test(what_is_behind_a_name_is_not_looked_at),
        cmocka_unit_test(each_of_a_list_is_found),
        cmocka_unit_test(a_full_list_is_searched_to_its_end),
        cmocka_unit_test(an_empty_list_has_nothing),
        cmocka_unit_test(lists_are_equal_when_all_in_them_is),
        cmocka_unit_test(what_is_granted_is_allowed),
        cmocka_unit_test(nothing_that_differs_is_allowed),
        cmocka_unit_test(any_vf_will_do_where_none_is_named),
        cmocka_unit_test(narrower_is_allowed_and_wider_is_not),
        cmocka_unit_test(no_key_is_never_allowed),
        cmocka_unit_test(the_guid_and_the_stage_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
