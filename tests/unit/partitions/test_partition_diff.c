// SPDX-License-Identifier: Apache-2.0
#include "partitions/partition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "partition_samples.h"

#define PAIRS 2000

/* A change as one line: "+one5", "-one5", "~one5", "one5 +0x1=full", "one5 ~0x1=limited>full". */
static void describe(const struct oneib_change *change, struct oneib_text *text)
{
    static const char signs[] = {[ONEIB_PARTITION_ADDED] = '+',   [ONEIB_PARTITION_REMOVED] = '-',
                                 [ONEIB_PARTITION_CHANGED] = '~', [ONEIB_MEMBER_ADDED] = '+',
                                 [ONEIB_MEMBER_REMOVED] = '-',    [ONEIB_MEMBER_CHANGED] = '~'};
    const char *name = (change->after ? change->after : change->before)->name;
    char sign = signs[change->kind];
    if (change->kind <= ONEIB_PARTITION_CHANGED) {
        oneib_text_printf(text, "%c%s\n", sign, name);
        return;
    }
    const char *wildcard = oneib_member_kind_name((enum oneib_member_kind)change->member.kind);
    oneib_text_printf(text, "%s %c", name, sign);
    if (wildcard)
        oneib_text_append(text, wildcard);
    else
        oneib_text_printf(text, "0x%llx", (unsigned long long)change->member.guid);
    oneib_text_append(text, "=");
    if (change->kind == ONEIB_MEMBER_CHANGED)
        oneib_text_printf(text, "%s>",
                          oneib_membership_name((enum oneib_membership)change->old_membership));
    oneib_text_printf(text, "%s\n",
                      oneib_membership_name((enum oneib_membership)change->member.membership));
}

static void assert_diff(const char *before_text, const char *after_text, const char *expected)
{
    struct oneib_partition_table before = table_of(before_text);
    struct oneib_partition_table after = table_of(after_text);
    struct oneib_changes changes = {0};
    struct oneib_text text = {0};
    oneib_partitions_diff(&before, &after, &changes);
    oneib_text_append(&text, "");
    for (size_t i = 0; i < changes.count; i++)
        describe(&changes.items[i], &text);
    assert_string_equal(text.data, expected);
    oneib_text_clear(&text);
    oneib_changes_clear(&changes);
    oneib_partition_table_clear(&before);
    oneib_partition_table_clear(&after);
}

static void equal_tables_have_no_difference(void **state)
{
    (void)state;
    assert_diff("", "", "");
    assert_diff("a=1 : 0x1, 0x2=full; b=2 : ;", "a=1 : 0x1, 0x2=full; b=2 : ;", "");
}

static void an_order_without_a_meaning_is_no_difference(void **state)
{
    (void)state;
    assert_diff("a=1 : ALL, 0x1, 0x2=full; b=2 : ;", "b=2 : ; a=1 : ALL, 0x2=full, 0x1;", "");
}

static void members_come_and_go(void **state)
{
    (void)state;
    assert_diff("a=1 : 0x1, 0x3=full, 0x5;", "a=1 : 0x5=full, 0x4, 0x3=full, 0x2=both;",
                "a -0x1=limited\n"
                "a +0x2=both\n"
                "a +0x4=limited\n"
                "a ~0x5=limited>full\n");
}

static void partitions_come_and_go_with_their_members(void **state)
{
    (void)state;
    assert_diff("c=3 : 0x2, 0x1; Default=0x7fff : ALL;", "b=2 : SELF=full, 0x1; d=4 : ;",
                "-Default\n"
                "Default -ALL=limited\n"
                "+b\n"
                "b +SELF=full\n"
                "b +0x1=limited\n"
                "-c\n"
                "c -0x1=limited\n"
                "c -0x2=limited\n"
                "+d\n");
}

static void a_key_under_another_name_or_flags_is_a_change(void **state)
{
    (void)state;
    assert_diff("a=1 : 0x1; b=2,ipoib : 0x1; c=3,sl=0 : ;",
                "b=1 : 0x1; a=2,ipoib,mtu=5 : 0x1, 0x2; c=3 : ;",
                "~b\n"
                "~a\n"
                "a +0x2=limited\n"
                "~c\n");
}

static void the_key_makes_the_partition_not_the_name(void **state)
{
    (void)state;
    assert_diff("a=1 : 0x1;", "a=2 : 0x1;",
                "-a\n"
                "a -0x1=limited\n"
                "+a\n"
                "a +0x1=limited\n");
}

static void an_order_that_overrides_is_a_change(void **state)
{
    (void)state;
    assert_diff("a=1 : ALL, SELF=full;", "a=1 : SELF=full, ALL;", "~a\n");
    assert_diff("a=1 : 0x1=full, ALL;", "a=1 : ALL, 0x1=full;", "~a\n");
    assert_diff("a=1 : 0x1=full, SELF;", "a=1 : SELF, 0x1=full;", "~a\n");
    assert_diff("a=1 : ALL, 0x1=full;", "a=1 : 0x1=full;", "a -ALL=limited\n");
}

static void among_other_wildcards_no_order_is_compared(void **state)
{
    (void)state;
    assert_diff("a=1 : 0x1=full;", "a=1 : ALL, 0x1=full;", "a +ALL=limited\n");
    assert_diff("a=1 : 0x1=full, ALL;", "a=1 : SELF, 0x1=full;",
                "a -ALL=limited\n"
                "a +SELF=limited\n");
}

static void of_a_member_listed_twice_the_last_counts(void **state)
{
    (void)state;
    assert_diff("a=1 : 0x1=full, 0x2, 0x1;", "a=1 : 0x1, 0x2;", "");
    assert_diff("a=1 : 0x1, 0x2, 0x1=full;", "a=1 : 0x1, 0x2;", "a ~0x1=full>limited\n");
}

static struct oneib_partition *partition_of_key(struct oneib_partition_table *table,
                                                oneib_pkey pkey)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].pkey == pkey)
            return &table->items[i];
    fail_msg("no partition has key %u", pkey);
    return NULL;
}

static void remove_partition(struct oneib_partition_table *table, oneib_pkey pkey)
{
    struct oneib_partition *partition = partition_of_key(table, pkey);
    assert_int_equal(partition->member_count, 0);
    free(partition->members);
    *partition = table->items[--table->count];
}

static void set_head(struct oneib_partition *partition, const struct oneib_partition *head)
{
    struct oneib_partition changed = *head;
    changed.members = partition->members;
    changed.member_count = partition->member_count;
    changed.member_capacity = partition->member_capacity;
    *partition = changed;
}

static struct oneib_member *find_member(struct oneib_partition *partition,
                                        const struct oneib_member *member)
{
    for (size_t i = 0; i < partition->member_count; i++)
        if (oneib_member_compare(&partition->members[i], member) == 0)
            return &partition->members[i];
    return NULL;
}

static void apply_to_members(struct oneib_partition *partition, const struct oneib_change *change)
{
    struct oneib_member *found = find_member(partition, &change->member);
    if (change->kind == ONEIB_MEMBER_ADDED) {
        assert_null(found);
        sample_member(partition, (enum oneib_member_kind)change->member.kind, change->member.guid,
                      (enum oneib_membership)change->member.membership);
        return;
    }
    assert_non_null(found);
    if (change->kind == ONEIB_MEMBER_CHANGED) {
        assert_int_equal(found->membership, change->old_membership);
        assert_int_not_equal(found->membership, change->member.membership);
        found->membership = change->member.membership;
        return;
    }
    assert_int_equal(found->membership, change->member.membership);
    *found = partition->members[--partition->member_count];
}

static void apply(struct oneib_partition_table *table, const struct oneib_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct oneib_change *change = &changes->items[i];
        oneib_pkey pkey = (change->after ? change->after : change->before)->pkey;
        if (change->kind == ONEIB_PARTITION_ADDED) {
            set_head(sample_partition(table, "", pkey), change->after);
            continue;
        }
        struct oneib_partition *partition = partition_of_key(table, pkey);
        if (change->kind == ONEIB_PARTITION_CHANGED)
            set_head(partition, change->after);
        else if (change->kind != ONEIB_PARTITION_REMOVED)
            apply_to_members(partition, change);
    }
    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].kind == ONEIB_PARTITION_REMOVED)
            remove_partition(table, changes->items[i].before->pkey);
}

static size_t count_of(const struct oneib_changes *changes, enum oneib_change_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < changes->count; i++)
        count += changes->items[i].kind == kind;
    return count;
}

static void a_difference_applied_to_the_first_gives_the_second(void **state)
{
    (void)state;
    struct random_source random = random_seeded(41);
    for (int i = 0; i < PAIRS; i++) {
        struct oneib_partition_table a = random_table(&random, random_below(&random, 10), 10);
        struct oneib_partition_table b = random_table(&random, random_below(&random, 10), 10);
        struct oneib_changes changes = {0};
        oneib_partitions_diff(&a, &b, &changes);
        assert_int_equal(changes.members_added, count_of(&changes, ONEIB_MEMBER_ADDED));
        assert_int_equal(changes.members_removed, count_of(&changes, ONEIB_MEMBER_REMOVED));
        assert_int_equal(changes.members_changed, count_of(&changes, ONEIB_MEMBER_CHANGED));

        struct oneib_partition_table applied = copy_of_table(&a);
        apply(&applied, &changes);
        oneib_changes_clear(&changes);
        oneib_partition_table_sort(&applied);
        oneib_partition_table_sort(&b);
        assert_true(oneib_partition_table_equal(&applied, &b));
        oneib_partition_table_clear(&applied);
        oneib_partition_table_clear(&a);
        oneib_partition_table_clear(&b);
    }
}

static void a_table_does_not_differ_from_its_copy(void **state)
{
    (void)state;
    struct random_source random = random_seeded(43);
    for (int i = 0; i < PAIRS; i++) {
        struct oneib_partition_table a = random_table(&random, 6, 10);
        struct oneib_partition_table b = copy_of_table(&a);
        shuffle_partitions(&random, &b);
        struct oneib_changes changes = {0};
        oneib_partitions_diff(&a, &b, &changes);
        assert_int_equal(changes.count, 0);
        oneib_changes_clear(&changes);
        oneib_partition_table_clear(&a);
        oneib_partition_table_clear(&b);
    }
}

static void an_earlier_difference_is_replaced(void **state)
{
    (void)state;
    struct oneib_partition_table a = table_of("a=1 : 0x1;");
    struct oneib_partition_table b = table_of("b=2 : 0x1;");
    struct oneib_changes changes = {0};
    oneib_partitions_diff(&a, &b, &changes);
    assert_int_equal(changes.count, 4);
    oneib_partitions_diff(&a, &a, &changes);
    assert_int_equal(changes.count, 0);
    assert_int_equal(changes.members_added, 0);
    oneib_changes_clear(&changes);
    oneib_partition_table_clear(&a);
    oneib_partition_table_clear(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_tables_have_no_difference),
        cmocka_unit_test(an_order_without_a_meaning_is_no_difference),
        cmocka_unit_test(members_come_and_go),
        cmocka_unit_test(partitions_come_and_go_with_their_members),
        cmocka_unit_test(a_key_under_another_name_or_flags_is_a_change),
        cmocka_unit_test(the_key_makes_the_partition_not_the_name),
        cmocka_unit_test(an_order_that_overrides_is_a_change),
        cmocka_unit_test(among_other_wildcards_no_order_is_compared),
        cmocka_unit_test(of_a_member_listed_twice_the_last_counts),
        cmocka_unit_test(a_difference_applied_to_the_first_gives_the_second),
        cmocka_unit_test(a_table_does_not_differ_from_its_copy),
        cmocka_unit_test(an_earlier_difference_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
