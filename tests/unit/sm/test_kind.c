// SPDX-License-Identifier: Apache-2.0
/* What kinds of subnet managers differ in is what docs/design/sm.md says. */
#include "base/cleanup.h"
#include "base/file.h"
#include "ib/ipoib.h"
#include "sm/kind.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE ONEIB_TEST_DATA "/../../docs/design/sm.md"
#define KINDS 3
#define ROW_SIZE 256

static char *page;

static int read_page(void **state)
{
    struct oneib_error err;
    size_t length;
    (void)state;
    return oneib_file_read(PAGE, (size_t)1 << 20, &page, &length, &err);
}

static int drop_page(void **state)
{
    (void)state;
    free(page);
    return 0;
}

static void assert_row(const char *what, const char *const values[KINDS])
{
    char row[ROW_SIZE];
    snprintf(row, sizeof row, "\n| %s | %s | %s | %s |\n", what, values[0], values[1], values[2]);
    if (!strstr(page, row))
        fail_msg("the page lacks the row %s", row + 1);
}

#define TRAIT(field) oneib_sm_traits(kind)->field

#define ASSERT_BOOL(what, field)                                                                   \
    do {                                                                                           \
        const char *values[KINDS];                                                                 \
        for (unsigned kind = 0; kind < KINDS; kind++)                                              \
            values[kind] = TRAIT(field) ? "yes" : "no";                                            \
        assert_row(what, values);                                                                  \
    } while (0)

/* As the page says it. */
static const char *const does_names[] = {
    [ONEIB_SM_WRITES] = "written",
    [ONEIB_SM_LEAVES] = "left",
    [ONEIB_SM_REFUSES] = "refused",
};

#define ASSERT_DOES(what, field)                                                                   \
    do {                                                                                           \
        const char *values[KINDS];                                                                 \
        for (unsigned kind = 0; kind < KINDS; kind++)                                              \
            values[kind] = does_names[TRAIT(field)];                                               \
        assert_row(what, values);                                                                  \
    } while (0)

static void the_page_has_what_each_kind_can(void **state)
{
    const char *names[KINDS];
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++)
        names[kind] = TRAIT(name);
    char head[ROW_SIZE];
    snprintf(head, sizeof head, "\n| | %s | %s | %s |\n", names[0], names[1], names[2]);
    assert_non_null(strstr(page, head));
    ASSERT_BOOL("virtual ports", virtual_ports);
    ASSERT_BOOL("an M_Key for each port", m_key_per_port);
    ASSERT_BOOL("told over the network", is_elsewhere);
    char rates[KINDS][8];
    const char *values[KINDS];
    for (unsigned kind = 0; kind < KINDS; kind++) {
        snprintf(rates[kind], sizeof rates[kind], "%u", oneib_rate_gbps(TRAIT(rate_max)));
        values[kind] = rates[kind];
    }
    assert_row("fastest rate in Gb/s", values);
}

static void the_page_has_what_becomes_of_each_part_of_the_table(void **state)
{
    (void)state;
    ASSERT_DOES("default partition", default_partition);
    ASSERT_DOES("partitions outside of pkeys.first to pkeys.last", others);
    ASSERT_DOES("wildcards in other partitions", wildcards);
    ASSERT_DOES("mtu and rate", mtu_rate);
    ASSERT_DOES("SL", sl);
    ASSERT_DOES("limited members", limited);
    ASSERT_DOES("names", names);
}

/* A user who is limited and would become full is the one thing that no kind may do. */
static void no_kind_leaves_limited_members_to_the_subnet_manager(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++)
        assert_int_equal(TRAIT(limited), ONEIB_SM_WRITES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_has_what_each_kind_can),
        cmocka_unit_test(the_page_has_what_becomes_of_each_part_of_the_table),
        cmocka_unit_test(no_kind_leaves_limited_members_to_the_subnet_manager),
    };
    return cmocka_run_group_tests(tests, read_page, drop_page);
}
