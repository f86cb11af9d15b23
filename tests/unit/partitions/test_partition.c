// SPDX-License-Identifier: Apache-2.0
#include "partitions/partition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "partition_samples.h"

static void names_of_letters_digits_and_some_marks_are_valid(void **state)
{
    (void)state;
    static const char *const valid[] = {"one5", "Default",  "a",
                                        "_",    "-x",       ".x",
                                        "AZ",   "a-b_c.D9", "abcdefghijklmnopqrstuvwxyz01234"};
    for (size_t i = 0; i < sizeof valid / sizeof valid[0]; i++)
        if (!oneib_partition_name_valid(valid[i]))
            fail_msg("\"%s\" is refused", valid[i]);
}

static void any_other_name_is_not_valid(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "5",
        "0x7fff",
        "9a",
        "a b",
        " a",
        "a ",
        "a=b",
        "a,b",
        "a:b",
        "a;b",
        "a#b",
        "a\nb",
        "a\tb",
        "a\"b",
        "a\\b",
        "a/b",
        "a+b",
        "a\x7f",
        "a\xc3\xa4",
        "x=0x7fff : ALL=full;",
        "abcdefghijklmnopqrstuvwxyz012345",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (oneib_partition_name_valid(wrong[i]))
            fail_msg("\"%s\" is taken", wrong[i]);
}

static void a_name_without_its_nul_is_not_valid(void **state)
{
    (void)state;
    char *name = malloc(ONEIB_PARTITION_NAME_SIZE);
    assert_non_null(name);
    memset(name, 'a', ONEIB_PARTITION_NAME_SIZE);
    assert_false(oneib_partition_name_valid(name));
    free(name);
}

static void a_new_partition_is_empty(void **state)
{
    (void)state;
    static const struct oneib_partition empty;
    struct oneib_partition_table table = {0};
    for (int i = 0; i < 100; i++) {
        struct oneib_partition *partition = oneib_partition_table_add(&table);
        assert_non_null(partition);
        assert_true(oneib_partition_heads_equal(partition, &empty));
        assert_null(partition->members);
        partition->pkey = 7;
        sample_member(partition, ONEIB_MEMBER_SELF, 0, ONEIB_FULL);
    }
    assert_int_equal(table.count, 100);
    oneib_partition_table_clear(&table);
    assert_int_equal(table.count, 0);
    assert_null(table.items);
}

static void members_are_sorted_wildcards_first(void **state)
{
    (void)state;
    struct oneib_partition_table table =
        table_of("a=1 : 0x9=full, SELF, 0x3, ALL_ROUTERS, ALL_CAS, 0x1, ALL, ALL_SWITCHES;");
    oneib_partition_sort_members(&table.items[0]);
    struct oneib_partition_table expected =
        table_of("a=1 : ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, SELF, 0x1, 0x3, 0x9=full;");
    assert_true(oneib_partition_table_equal(&table, &expected));
    oneib_partition_table_clear(&table);
    oneib_partition_table_clear(&expected);
}

static void of_equal_members_the_narrower_stays(void **state)
{
    (void)state;
    struct oneib_partition_table table =
        table_of("a=1 : 0x2=full, 0x1=full, 0x1=limited, 0x1=full, ALL=full, ALL, 0x2=both;");
    oneib_partition_sort_members(&table.items[0]);
    struct oneib_partition_table expected = table_of("a=1 : ALL, 0x1=limited, 0x2=full;");
    assert_true(oneib_partition_table_equal(&table, &expected));
    oneib_partition_table_clear(&table);
    oneib_partition_table_clear(&expected);
}

/* opensm takes the last, which may be the wider one. */
static void of_equal_neighbours_one_stays(void **state)
{
    (void)state;
    struct oneib_partition_table table = table_of("a=1 : 0x1=limited, 0x1=full, 0x2;");
    oneib_partition_sort_members(&table.items[0]);
    struct oneib_partition_table expected = table_of("a=1 : 0x1=limited, 0x2;");
    assert_true(oneib_partition_table_equal(&table, &expected));
    oneib_partition_table_clear(&table);
    oneib_partition_table_clear(&expected);
}

static void the_default_partition_comes_first_then_the_keys(void **state)
{
    (void)state;
    struct oneib_partition_table table =
        table_of("c=0x7ffe : ; b=0x2:0x2,0x1; Default=0x7fff : ; a=0x100 : ;");
    oneib_partition_table_sort(&table);
    struct oneib_partition_table expected =
        table_of("Default=0x7fff : ; b=0x2:0x1,0x2; a=0x100 : ; c=0x7ffe : ;");
    assert_true(oneib_partition_table_equal(&table, &expected));
    oneib_partition_table_clear(&table);
    oneib_partition_table_clear(&expected);
}

static void sorting_nothing_is_no_trouble(void **state)
{
    (void)state;
    struct oneib_partition_table table = {0};
    oneib_partition_table_sort(&table);
    sample_partition(&table, "a", 1);
    oneib_partition_table_sort(&table);
    assert_int_equal(table.count, 1);
    oneib_partition_table_clear(&table);
}

static void a_partition_is_found_by_its_key(void **state)
{
    (void)state;
    struct oneib_partition_table table = table_of("b=2 : ; Default=0x7fff : ; a=1 : ;");
    assert_string_equal(oneib_partition_table_find(&table, 1)->name, "a");
    assert_string_equal(oneib_partition_table_find(&table, 0x7fff)->name, "Default");
    assert_null(oneib_partition_table_find(&table, 3));
    oneib_partition_table_clear(&table);
    assert_null(oneib_partition_table_find(&table, 1));
}

static void every_difference_makes_tables_unequal(void **state)
{
    (void)state;
    static const char *const different[] = {
        "a=1 : 0x1, 0x2;",
        "a=1 : 0x2, 0x1;",
        "a=1 : 0x1;",
        "a=1 : 0x1, 0x2=full;",
        "a=1 : 0x1, 0x2=both;",
        "a=1 : 0x1, ALL;",
        "a=1 : 0x1, SELF;",
        "b=1 : 0x1, 0x2;",
        "a=2 : 0x1, 0x2;",
        "a=1,indx0 : 0x1, 0x2;",
        "a=1,ipoib : 0x1, 0x2;",
        "a=1,mtu=1 : 0x1, 0x2;",
        "a=1,rate=3 : 0x1, 0x2;",
        "a=1,sl=0 : 0x1, 0x2;",
        "a=1,sl=1 : 0x1, 0x2;",
        "a=1,scope=2 : 0x1, 0x2;",
        "a=1,Q_Key=1 : 0x1, 0x2;",
        "a=1,TClass=1 : 0x1, 0x2;",
        "a=1,FlowLabel=1 : 0x1, 0x2;",
        "a=1,defmember=full : 0x1=limited, 0x2=limited;",
        "a=1 : 0x1, 0x2; b=2 : ;",
        "",
    };
    for (size_t i = 0; i < sizeof different / sizeof different[0]; i++)
        for (size_t j = 0; j < sizeof different / sizeof different[0]; j++) {
            struct oneib_partition_table a = table_of(different[i]);
            struct oneib_partition_table b = table_of(different[j]);
            if (oneib_partition_table_equal(&a, &b) != (i == j))
                fail_msg("\"%s\" and \"%s\"", different[i], different[j]);
            oneib_partition_table_clear(&a);
            oneib_partition_table_clear(&b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_letters_digits_and_some_marks_are_valid),
        cmocka_unit_test(any_other_name_is_not_valid),
        cmocka_unit_test(a_name_without_its_nul_is_not_valid),
        cmocka_unit_test(a_new_partition_is_empty),
        cmocka_unit_test(members_are_sorted_wildcards_first),
        cmocka_unit_test(of_equal_members_the_narrower_stays),
        cmocka_unit_test(of_equal_neighbours_one_stays),
        cmocka_unit_test(the_default_partition_comes_first_then_the_keys),
        cmocka_unit_test(sorting_nothing_is_no_trouble),
        cmocka_unit_test(a_partition_is_found_by_its_key),
        cmocka_unit_test(every_difference_makes_tables_unequal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
