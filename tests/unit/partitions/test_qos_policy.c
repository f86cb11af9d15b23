// SPDX-License-Identifier: Apache-2.0
#include "partitions/qos_policy.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct oneib_error err;

static void add(struct oneib_partition_table *table, oneib_pkey pkey, bool has_sl, uint8_t sl)
{
    struct oneib_partition *partition = oneib_partition_table_add(table);
    assert_non_null(partition);
    partition->pkey = pkey;
    partition->has_sl = has_sl;
    partition->sl = sl;
}

static void each_partition_with_a_level_has_a_rule_and_all_else_level_0(void **state)
{
    (void)state;
    struct oneib_partition_table table = {0};
    struct oneib_text text = {0};
    add(&table, 0x7fff, false, 0);
    add(&table, 0x0101, true, 1);
    add(&table, 0x0102, false, 0);
    add(&table, 0x7001, true, 14);
    oneib_qos_policy_render(&table, &text);
    assert_string_equal(text.data, ONEIB_QOS_POLICY_MARK "\n"
                                                         "qos-ulps\n"
                                                         "    default : 0\n"
                                                         "    any, pkey 0x0101 : 1\n"
                                                         "    any, pkey 0x7001 : 14\n"
                                                         "end-qos-ulps\n");
    assert_true(oneib_qos_policy_is_ours(text.data, text.length));
    oneib_text_clear(&text);
    oneib_partition_table_clear(&table);
}

static void what_does_not_begin_with_the_whole_mark_is_somebody_elses(void **state)
{
    (void)state;
    static const char mark[] = ONEIB_QOS_POLICY_MARK, other[] = ONEIB_QOS_POLICY_MARK " But\n";
    char same_length[] = ONEIB_QOS_POLICY_MARK "\n";
    same_length[0]++;
    assert_false(oneib_qos_policy_is_ours("", 0));
    assert_false(oneib_qos_policy_is_ours(ONEIB_QOS_POLICY_MARK "\n", sizeof mark - 1));
    assert_false(oneib_qos_policy_is_ours(other, sizeof other - 1));
    assert_false(oneib_qos_policy_is_ours("qos-ulps\n", 9));
    assert_false(oneib_qos_policy_is_ours(same_length, sizeof same_length - 1));
    assert_true(oneib_qos_policy_is_ours(ONEIB_QOS_POLICY_MARK "\n", sizeof mark));
}

#define HEAD ONEIB_QOS_POLICY_MARK "\nqos-ulps\n    default : 0\n"

static void a_file_that_says_other_levels_than_the_table_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *file, *words;
    } others[] = {
        {"", "line 3"},
        {"qos-ulps\n", "line 3"},
        {ONEIB_QOS_POLICY_MARK "\nqos-ulps\n    default : 1\n", "line 3"},
        {ONEIB_QOS_POLICY_MARK "\nqos-ulps\n    default : 1\n    any, pkey 0x0101 : 1\n"
                               "    any, pkey 0x7001 : 14\nend-qos-ulps\n",
         "line 3"},
        {HEAD, "line 4"},
        {HEAD "    all, pkey 0x0101 : 1\n    any, pkey 0x7001 : 14\nend-qos-ulps\n", "line 4"},
        {HEAD "    any, pkey 0x0101 : 2\n    any, pkey 0x7001 : 14\nend-qos-ulps\n", "line 4"},
        {HEAD "    any, pkey 0x0102 : 1\n    any, pkey 0x7001 : 14\nend-qos-ulps\n", "line 4"},
        {HEAD "    any, pkey 0x8101 : 1\n    any, pkey 0x7001 : 14\nend-qos-ulps\n", "line 4"},
        {HEAD "    any, pkey 0x0101 : 1 \n    any, pkey 0x7001 : 14\nend-qos-ulps\n", "line 4"},
        {HEAD "    any, pkey 0x0101 1\n    any, pkey 0x7001 : 14\nend-qos-ulps\n", "line 4"},
        {HEAD "    any, pkey 0x01010: 1\n    any, pkey 0x7001 : 14\nend-qos-ulps\n", "line 4"},
        {HEAD "    any, pkey : 1\n    any, pkey 0x7001 : 14\nend-qos-ulps\n", "line 4"},
        {HEAD "    any, pkey 0x0101 : 1\nend-qos-ulps\n", "line 5"},
        {HEAD "    any, pkey 0x0101 : 1\n    any, pkey 0x7001 : 14\n"
              "    any, pkey 0x7002 : 1\nend-qos-ulps\n",
         "line 6"},
        {HEAD "    any, pkey 0x0101 : 1\n    any, pkey 0x7001 : 14\nend-qos-ulps\nmore\n",
         "line 6"},
        {HEAD "    any, pkey 0x0101 : 1\n    any, pkey 0x7001 : 14\nend-qos-u", "line 6"}};
    struct oneib_partition_table table = {0};
    struct oneib_text text = {0};
    add(&table, 0x7fff, false, 0);
    add(&table, 0x0101, true, 1);
    add(&table, 0x7001, true, 14);
    oneib_qos_policy_render(&table, &text);
    assert_int_equal(oneib_qos_policy_check(text.data, text.length, &table, &err), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *file = others[i].file;
        if (oneib_qos_policy_check(file, strlen(file), &table, &err) == 0)
            fail_msg("taken: %s", file);
        assert_int_equal(err.code, ONEIB_ERROR_INPUT);
        assert_non_null(strstr(err.text, others[i].words));
    }
    oneib_text_clear(&text);
    oneib_partition_table_clear(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_partition_with_a_level_has_a_rule_and_all_else_level_0),
        cmocka_unit_test(what_does_not_begin_with_the_whole_mark_is_somebody_elses),
        cmocka_unit_test(a_file_that_says_other_levels_than_the_table_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
