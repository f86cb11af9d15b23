// SPDX-License-Identifier: Apache-2.0
#include "oneibd/audit_log.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static struct oneib_member_list before, now;
static struct oneib_partition_table written;

static int begin(void **state)
{
    (void)state;
    before.lines = calloc(4, sizeof *before.lines);
    now.lines = calloc(4, sizeof *now.lines);
    struct oneib_partition *partition = oneib_partition_table_add(&written);
    assert_non_null(partition);
    partition->pkey = ONEIB_PKEY_DEFAULT;
    return before.lines && now.lines ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    oneib_member_list_clear(&before);
    oneib_member_list_clear(&now);
    oneib_partition_table_clear(&written);
    return 0;
}

static void add(struct oneib_member_list *member_list, uint32_t vm, oneib_guid port,
                oneib_pkey pkey)
{
    member_list->lines[member_list->count++] =
        (struct oneib_member_list_line){.port = port,
                                        .member = port,
                                        .vm_id = vm,
                                        .pkey = pkey,
                                        .member_status = ONEIB_MEMBER_STATUS_MEMBER};
}

static void write_entry(oneib_guid port, oneib_pkey pkey)
{
    struct oneib_partition *partition = oneib_partition_table_add(&written);
    assert_non_null(partition);
    partition->pkey = pkey;
    const struct oneib_member member = {.guid = port, .kind = ONEIB_MEMBER_GUID};
    oneib_partition_add_member(partition, member);
}

static void postpone(void)
{
    oneib_partition_table_sort(&written);
    oneib_member_list_defer(&before, &written, &now);
}

static void who_has_left_stays_while_the_entry_does(void **state)
{
    (void)state;
    add(&before, 1, 0x11, 5);
    add(&before, 2, 0x12, 6);
    write_entry(0x11, 5);
    postpone();
    assert_int_equal(now.count, 1);
    assert_int_equal(now.lines[0].vm_id, 1);
}

/* In whatever order the ports are. */
static void who_has_left_leaves_when_one_of_many_has_the_entry(void **state)
{
    (void)state;
    add(&before, 9, 0x11, 5);
    for (uint32_t i = 1; i <= 3; i++)
        add(&now, i, 0x14 - i, 5);
    write_entry(0x11, 5);
    for (oneib_guid port = 0x12; port <= 0x13; port++)
        oneib_partition_add_member(&written.items[1],
                                   (struct oneib_member){.guid = port, .kind = ONEIB_MEMBER_GUID});
    postpone();
    assert_int_equal(now.count, 3);
}

static void who_has_left_leaves_when_another_has_the_entry(void **state)
{
    (void)state;
    add(&before, 1, 0x11, 5);
    add(&before, 2, 0x11, 5);
    add(&now, 2, 0x11, 5);
    write_entry(0x11, 5);
    postpone();
    assert_int_equal(now.count, 1);
    assert_int_equal(now.lines[0].vm_id, 2);
}

/* The same key on another port, or another key on the same one, is another entry. */
static void who_has_left_stays_beside_others_entries(void **state)
{
    (void)state;
    add(&before, 1, 0x11, 5);
    add(&now, 2, 0x11, 6);
    add(&now, 3, 0x12, 5);
    write_entry(0x11, 5);
    oneib_partition_add_member(&written.items[1],
                               (struct oneib_member){.guid = 0x12, .kind = ONEIB_MEMBER_GUID});
    write_entry(0x11, 6);
    postpone();
    assert_int_equal(now.count, 3);
    assert_int_equal(now.lines[0].vm_id, 1);
}

static void who_has_come_is_there_with_the_entry(void **state)
{
    (void)state;
    add(&now, 1, 0x11, 5);
    add(&now, 2, 0x12, 5);
    write_entry(0x12, 5);
    postpone();
    assert_int_equal(now.count, 1);
    assert_int_equal(now.lines[0].vm_id, 2);
}

static void whose_key_changes_has_the_old_one_until_the_new_one_is_written(void **state)
{
    (void)state;
    add(&before, 1, 0x11, 5);
    add(&now, 1, 0x11, 6);
    write_entry(0x11, 5);
    postpone();
    assert_int_equal(now.count, 1);
    assert_int_equal(now.lines[0].pkey, 5);
}

static void who_is_refused_is_no_entry(void **state)
{
    (void)state;
    add(&before, 1, 0x11, 5);
    add(&now, 1, 0x11, 5);
    now.lines[0].member_status = ONEIB_MEMBER_STATUS_NO_KEY;
    postpone();
    assert_int_equal(now.count, 1);
    assert_int_equal(now.lines[0].member_status, ONEIB_MEMBER_STATUS_NO_KEY);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(who_has_left_stays_while_the_entry_does),
        test(who_has_left_stays_beside_others_entries),
        test(who_has_left_leaves_when_one_of_many_has_the_entry),
        test(who_has_left_leaves_when_another_has_the_entry),
        test(who_has_come_is_there_with_the_entry),
        test(whose_key_changes_has_the_old_one_until_the_new_one_is_written),
        test(who_is_refused_is_no_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
