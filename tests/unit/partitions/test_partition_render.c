// SPDX-License-Identifier: Apache-2.0
#include "partitions/partition.h"
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "partition_samples.h"

#define TABLES 2000

static void assert_comes_back(const struct oneib_partition_table *table)
{
    struct oneib_text text = {0};
    oneib_partitions_render(table, &text);

    struct oneib_partition_table back = {0};
    struct oneib_error err;
    if (oneib_partitions_parse(text.data, text.length, "rendered", &back, &err) < 0)
        fail_msg("%s in\n%s", err.text, text.data);
    if (!oneib_partition_table_equal(table, &back))
        fail_msg("came back otherwise:\n%s", text.data);
    oneib_partition_table_clear(&back);
    oneib_text_clear(&text);
}

static void the_file_reads_as_opensm_wants_it(void **state)
{
    (void)state;
    struct oneib_partition_table table = {0};
    struct oneib_partition *partition = sample_partition(&table, "Default", 0x7fff);
    sample_member(partition, ONEIB_MEMBER_ALL, 0, ONEIB_LIMITED);
    sample_member(partition, ONEIB_MEMBER_SELF, 0, ONEIB_FULL);
    partition = sample_partition(&table, "one5", 0x100);
    partition->indx0 = partition->ipoib = partition->has_sl = true;
    partition->mtu = 5;
    partition->rate = 12;
    partition->sl = 0;
    partition->scopes = 1 << 2 | 1 << 14;
    partition->q_key = 0xb1b;
    partition->t_class = 7;
    partition->flow_label = 0xabc;
    partition->default_membership = ONEIB_FULL;
    sample_member(partition, ONEIB_MEMBER_GUID, UINT64_C(0x0002c90300112233), ONEIB_FULL);
    sample_member(partition, ONEIB_MEMBER_GUID, UINT64_C(0x0200000000002a01), ONEIB_LIMITED);
    sample_partition(&table, "one6", 0x101);

    struct oneib_text text = {0};
    oneib_partitions_render(&table, &text);
    assert_string_equal(text.data, ONEIB_PARTITIONS_MARK
                        "\n"
                        "Default=0x7fff :\n"
                        "\tALL=limited,\n"
                        "\tSELF=full ;\n"
                        "one5=0x0100,indx0,ipoib,mtu=5,rate=12,sl=0,scope=2,scope=14,"
                        "Q_Key=0x00000b1b,TClass=0x07,FlowLabel=0x00abc,defmember=full :\n"
                        "\t0x0002c90300112233=full,\n"
                        "\t0x0200000000002a01=limited ;\n"
                        "one6=0x0101 : ;\n");
    oneib_text_clear(&text);
    assert_comes_back(&table);
    oneib_partition_table_clear(&table);
}

static void random_tables_come_back(void **state)
{
    (void)state;
    struct random_source random = random_seeded(20261122);
    for (int i = 0; i < TABLES; i++) {
        struct oneib_partition_table table =
            random_table(&random, random_below(&random, 12), random_below(&random, 20));
        assert_comes_back(&table);
        oneib_partition_table_clear(&table);
    }
}

static void the_order_of_the_input_does_not_show_after_sorting(void **state)
{
    (void)state;
    struct random_source random = random_seeded(17);
    for (int i = 0; i < TABLES; i++) {
        struct oneib_partition_table a = random_table(&random, 8, 12);
        struct oneib_partition_table b = copy_of_table(&a);
        shuffle_partitions(&random, &b);
        for (size_t j = 0; j < b.count; j++) {
            /* A repetition with the widest membership must not show either. */
            if (b.items[j].member_count > 0) {
                struct oneib_member again = b.items[j].members[0];
                sample_member(&b.items[j], (enum oneib_member_kind)again.kind, again.guid,
                              ONEIB_BOTH);
            }
            shuffle_members(&random, &b.items[j]);
        }
        oneib_partition_table_sort(&a);
        oneib_partition_table_sort(&b);

        struct oneib_text text_a = {0};
        struct oneib_text text_b = {0};
        oneib_partitions_render(&a, &text_a);
        oneib_partitions_render(&b, &text_b);
        assert_string_equal(text_a.data, text_b.data);
        oneib_text_clear(&text_a);
        oneib_text_clear(&text_b);
        oneib_partition_table_clear(&a);
        oneib_partition_table_clear(&b);
    }
}

static void the_longest_partition_has_no_line_that_opensm_would_cut(void **state)
{
    (void)state;
    struct oneib_partition_table table = {0};
    struct oneib_partition *partition =
        sample_partition(&table, "abcdefghijklmnopqrstuvwxyz01234", 0x7ffe);
    partition->indx0 = partition->ipoib = partition->has_sl = true;
    partition->mtu = 5;
    partition->rate = 22;
    partition->sl = 15;
    partition->scopes = 0xfffe;
    partition->q_key = UINT32_MAX;
    partition->t_class = UINT8_MAX;
    partition->flow_label = 0xfffff;
    partition->default_membership = ONEIB_LIMITED;
    for (oneib_guid guid = 1; guid < 5000; guid++)
        sample_member(partition, ONEIB_MEMBER_GUID, ~guid, ONEIB_LIMITED);
    assert_comes_back(&table); /* the parser refuses such a line */

    struct oneib_text text = {0};
    oneib_partition_render(partition, &text);
    for (const char *line = text.data; *line;) {
        size_t length = strcspn(line, "\n");
        assert_in_range(length, 1, 400);
        line += length + 1;
    }
    oneib_text_clear(&text);
    oneib_partition_table_clear(&table);
}

static void a_semicolon_never_begins_a_line(void **state)
{
    (void)state;
    struct random_source random = random_seeded(23);
    struct oneib_partition_table table = random_table(&random, 500, 3);
    struct oneib_text text = {0};
    oneib_partitions_render(&table, &text);
    for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
        assert_int_not_equal(line[strspn(line, " \t")], ';');
    oneib_text_clear(&text);
    oneib_partition_table_clear(&table);
}

/* Rendering goes wrong for these, so what is written must be refused when it is read again, and
 * hold no text of theirs. */
static void a_hostile_name_never_reaches_the_text(void **state)
{
    (void)state;
    static const char *const names[] = {
        "x=0x7fff : ALL=full;", "a : ALL=full ;\nb", "a#", "", "5", "a,ipoib", "a\n;", "a b",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct oneib_partition_table table = {0};
        struct oneib_partition *partition = sample_partition(&table, names[i], 5);
        sample_member(partition, ONEIB_MEMBER_GUID, 0x100003, ONEIB_LIMITED);

        struct oneib_text text = {0};
        oneib_partitions_render(&table, &text);
        assert_string_equal(text.data,
                            ONEIB_PARTITIONS_MARK "\n=0x0005 :\n\t0x0000000000100003=limited ;\n");

        struct oneib_partition_table back = {0};
        struct oneib_error err;
        assert_int_equal(oneib_partitions_parse(text.data, text.length, "f", &back, &err), -1);
        oneib_text_clear(&text);
        oneib_partition_table_clear(&table);
    }
}

static void a_name_without_its_nul_never_reaches_the_text(void **state)
{
    (void)state;
    struct oneib_partition_table table = {0};
    struct oneib_partition *partition = sample_partition(&table, "", 5);
    memset(partition->name, 'a', sizeof partition->name);
    struct oneib_text text = {0};
    oneib_partition_render(partition, &text);
    assert_string_equal(text.data, "=0x0005 : ;\n");
    oneib_text_clear(&text);
    oneib_partition_table_clear(&table);
}

static void values_out_of_range_do_not_come_back(void **state)
{
    (void)state;
    static const struct oneib_partition wrong[] = {
        {.name = "a", .pkey = 0},
        {.name = "a", .pkey = 0x8005},
        {.name = "a", .pkey = 5, .mtu = 6},
        {.name = "a", .pkey = 5, .rate = 1},
        {.name = "a", .pkey = 5, .rate = ONEIB_RATE_CODE_MAX + 1},
        {.name = "a", .pkey = 5, .has_sl = true, .sl = 16},
        {.name = "a", .pkey = 5, .scopes = 1},
        {.name = "a", .pkey = 5, .flow_label = 0x100000},
        {.name = "a", .pkey = 5, .default_membership = 3},
        {.name = "Default", .pkey = 5},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct oneib_partition partition = wrong[i];
        struct oneib_partition_table table = {.items = &partition, .count = 1};
        struct oneib_partition_table back = {0};
        struct oneib_text text = {0};
        struct oneib_error err;
        oneib_partitions_render(&table, &text);
        if (oneib_partitions_parse(text.data, text.length, "f", &back, &err) == 0 &&
            oneib_partition_table_equal(&table, &back))
            fail_msg("came back:\n%s", text.data);
        oneib_partition_table_clear(&back);
        oneib_text_clear(&text);
    }
}

static void a_member_without_a_guid_does_not_come_back(void **state)
{
    (void)state;
    static const struct oneib_member wrong[] = {{0, ONEIB_MEMBER_GUID, ONEIB_FULL},
                                                {UINT64_MAX, ONEIB_MEMBER_GUID, ONEIB_FULL},
                                                {0, 77, ONEIB_FULL}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct oneib_partition_table table = {0};
        struct oneib_partition_table back = {0};
        struct oneib_text text = {0};
        struct oneib_error err;
        oneib_partition_add_member(sample_partition(&table, "a", 5), wrong[i]);
        oneib_partitions_render(&table, &text);
        assert_int_equal(oneib_partitions_parse(text.data, text.length, "f", &back, &err), -1);
        oneib_text_clear(&text);
        oneib_partition_table_clear(&table);
    }
}

static void our_own_files_are_known_by_their_first_line(void **state)
{
    (void)state;
    static const char marked[] = ONEIB_PARTITIONS_MARK "\nDefault=0x7fff : ;\n";
    assert_true(oneib_partitions_is_ours(marked, sizeof marked - 1));
    assert_true(oneib_partitions_is_ours(marked, sizeof ONEIB_PARTITIONS_MARK - 1));
    assert_false(oneib_partitions_is_ours(marked, sizeof ONEIB_PARTITIONS_MARK - 2));
    assert_false(oneib_partitions_is_ours(marked + 1, sizeof marked - 2));
    static const char longer[] = ONEIB_PARTITIONS_MARK "x\n";
    assert_false(oneib_partitions_is_ours(longer, sizeof longer - 1));
    assert_false(oneib_partitions_is_ours("", 0));
    assert_false(oneib_partitions_is_ours(NULL, 0));
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A bound that only a change of order breaks, also under sanitizers; tests/bench measures. */
static void a_hundred_thousand_members_take_no_time(void **state)
{
    (void)state;
    struct oneib_partition_table table = {0};
    for (unsigned pkey = 1; pkey <= 4000; pkey++) {
        char name[ONEIB_PARTITION_NAME_SIZE];
        snprintf(name, sizeof name, "one%u", pkey);
        struct oneib_partition *partition = sample_partition(&table, name, (oneib_pkey)pkey);
        for (oneib_guid guid = 1; guid <= 25; guid++)
            sample_member(partition, ONEIB_MEMBER_GUID, guid << 32 | pkey, ONEIB_FULL);
    }
    double start = seconds();
    assert_comes_back(&table);
    double taken = seconds() - start;
    printf("rendered, parsed and compared in %.3f s\n", taken);
    assert_true(taken < 5);
    oneib_partition_table_clear(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_reads_as_opensm_wants_it),
        cmocka_unit_test(random_tables_come_back),
        cmocka_unit_test(the_order_of_the_input_does_not_show_after_sorting),
        cmocka_unit_test(the_longest_partition_has_no_line_that_opensm_would_cut),
        cmocka_unit_test(a_semicolon_never_begins_a_line),
        cmocka_unit_test(a_hostile_name_never_reaches_the_text),
        cmocka_unit_test(a_name_without_its_nul_never_reaches_the_text),
        cmocka_unit_test(values_out_of_range_do_not_come_back),
        cmocka_unit_test(a_member_without_a_guid_does_not_come_back),
        cmocka_unit_test(our_own_files_are_known_by_their_first_line),
        cmocka_unit_test(a_hundred_thousand_members_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
