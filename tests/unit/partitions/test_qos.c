// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "ib/ipoib.h"
#include "partitions/qos.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct oneib_qos_class two[] = {{.name = "gold", .weight = 64, .sls = 1 << 1},
                                             {.name = "silver", .weight = 32, .sls = 1 << 3}};

static struct oneib_qos_wish wish_of(uint8_t vls, uint8_t entries)
{
    return (struct oneib_qos_wish){
        .classes = two, .class_count = 2, .others = 16, .vls = vls, .entries = entries};
}

static struct oneib_qos make(const struct oneib_qos_wish *wish)
{
    struct oneib_qos qos;
    struct oneib_error err;
    if (oneib_qos_make(wish, &qos, &err) < 0)
        fail_msg("%s", err.text);
    return qos;
}

static void each_sl_of_a_class_has_a_lane_of_its_own(void **state)
{
    (void)state;
    const struct oneib_qos_wish wish = wish_of(8, 8);
    const struct oneib_qos qos = make(&wish);
    static const uint8_t sl2vl[ONEIB_QOS_SLS] = {0, 1, 0, 2};
    assert_memory_equal(qos.sl2vl, sl2vl, sizeof sl2vl);
    assert_int_equal(qos.lane_count, 3);
    assert_int_equal(qos.lanes[2].sl, 3);
    assert_int_equal(qos.lanes[2].class_index, 1);
}

static void unused_sls_are_dropped_on_demand_but_never_sl_0_nor_one_in_use(void **state)
{
    (void)state;
    struct oneib_qos_wish wish = wish_of(8, 8);
    wish.drop_unused = true;
    wish.kept = 1 << 5;
    const struct oneib_qos qos = make(&wish);
    assert_int_equal(qos.sl2vl[0], 0);
    assert_int_equal(qos.sl2vl[1], 1);
    assert_int_equal(qos.sl2vl[2], ONEIB_QOS_DROP);
    assert_int_equal(qos.sl2vl[5], 0);
    assert_int_equal(qos.sl2vl[15], ONEIB_QOS_DROP);
}

static void more_sls_than_lanes_or_entries_are_refused(void **state)
{
    (void)state;
    struct oneib_qos qos;
    struct oneib_error err;
    struct oneib_qos_wish wish = wish_of(2, 8);
    assert_int_equal(oneib_qos_make(&wish, &qos, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
    assert_non_null(strstr(err.text, "SL 3"));
    wish = wish_of(8, 2);
    assert_int_equal(oneib_qos_make(&wish, &qos, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_REFUSED);
}

static void a_weight_of_0_is_refused(void **state)
{
    (void)state;
    struct oneib_qos qos;
    struct oneib_error err;
    struct oneib_qos_wish wish = wish_of(8, 8);
    wish.others = 0;
    assert_int_equal(oneib_qos_make(&wish, &qos, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
}

static unsigned weight_of(const struct oneib_qos *qos, uint8_t vl)
{
    unsigned weight = 0;
    for (size_t i = 0; i < qos->entry_count; i++)
        weight += qos->arbitration[i].vl == vl ? qos->arbitration[i].weight : 0;
    return weight;
}

static void the_entries_of_a_lane_have_its_weight_however_many_there_are(void **state)
{
    (void)state;
    for (uint8_t entries = 3; entries <= ONEIB_QOS_ENTRIES_MAX; entries++) {
        const struct oneib_qos_wish wish = wish_of(8, entries);
        const struct oneib_qos qos = make(&wish);
        assert_int_equal(qos.entry_count, entries);
        assert_int_equal(weight_of(&qos, 0), 16);
        assert_int_equal(weight_of(&qos, 1), 64);
        assert_int_equal(weight_of(&qos, 2), 32);
        for (size_t i = 0; i < qos.entry_count; i++)
            assert_true(qos.arbitration[i].weight > 0);
    }
}

static void entries_of_one_lane_are_spread(void **state)
{
    (void)state;
    const struct oneib_qos_wish wish = wish_of(8, 7);
    const struct oneib_qos qos = make(&wish);
    /* 4, 2 and 1 entries of 16: never more than one of another lane between two of the first. */
    for (size_t i = 0; i < qos.entry_count; i++)
        assert_int_equal(qos.arbitration[i].weight, 16);
    for (size_t i = 0; i + 1 < qos.entry_count; i++)
        assert_true(qos.arbitration[i].vl == 1 || qos.arbitration[i + 1].vl == 1);
}

static void a_table_has_no_more_entries_than_weight(void **state)
{
    (void)state;
    static const struct oneib_qos_class light = {.name = "light", .weight = 2, .sls = 1 << 1};
    const struct oneib_qos_wish wish = {
        .classes = &light, .class_count = 1, .others = 1, .vls = 2, .entries = 64};
    const struct oneib_qos qos = make(&wish);
    assert_int_equal(qos.entry_count, 3);
}

/* The arbiter of IBA 1.2.1, 7.6.9.2, with all lanes always full: the lane at hand sends the
 * smallest packets, the others such that each entry exceeds its weight by as much as it can. */
struct played {
    double share;
    uint32_t wait;
};

static struct played play(const struct oneib_qos *qos, uint8_t vl, uint32_t packet)
{
    uint64_t own = 0, all = 0;
    uint32_t waited = 0, longest = 0;
    for (size_t i = 0; i < 1000 * qos->entry_count; i++) {
        const struct oneib_qos_entry *entry = &qos->arbitration[i % qos->entry_count];
        uint32_t sent = (uint32_t)entry->weight * 64;
        if (entry->vl == vl) {
            own += sent;
            longest = waited > longest ? waited : longest;
            waited = 0;
        } else {
            sent += packet - 1; /* the last packet began with a byte of weight left */
            waited += sent;
        }
        all += sent;
    }
    return (struct played){.share = (double)own / (double)all, .wait = longest};
}

static void no_play_breaks_a_promise_and_none_is_far_from_it(void **state)
{
    (void)state;
    for (uint8_t entries = 3; entries <= ONEIB_QOS_ENTRIES_MAX; entries++)
        for (size_t lane = 0; lane < 3; lane++) {
            const struct oneib_qos_wish wish = wish_of(8, entries);
            const struct oneib_qos qos = make(&wish);
            const struct oneib_qos_promise promise = oneib_qos_promise(&qos, lane, 2048);
            const struct played played = play(&qos, qos.lanes[lane].vl, 2048 + ONEIB_QOS_HEADERS);
            assert_true(played.share >= promise.at_least);
            assert_true(played.share < promise.at_least * 1.01);
            assert_true(promise.share >= promise.at_least);
            assert_true(fabs(promise.share - qos.lanes[lane].weight / 112.0) < 1e-9);
            /* ... and one packet that was on the wire already. */
            const uint32_t bound = promise.wait_bytes - 2048 - ONEIB_QOS_HEADERS;
            assert_true(played.wait <= bound && played.wait + entries > bound);
        }
}

static void more_entries_shorten_the_wait_of_light_lanes(void **state)
{
    (void)state;
    static const struct oneib_qos_class heavy[] = {{.name = "a", .weight = 255, .sls = 1 << 1},
                                                   {.name = "b", .weight = 255, .sls = 1 << 2}};
    struct oneib_qos_wish wish = {
        .classes = heavy, .class_count = 2, .others = 255, .vls = 8, .entries = 3};
    const struct oneib_qos few = make(&wish);
    wish.entries = 12;
    const struct oneib_qos many = make(&wish);
    assert_true(oneib_qos_promise(&many, 0, 256).wait_bytes <
                oneib_qos_promise(&few, 0, 256).wait_bytes);
}

static void a_link_carries_less_data_than_its_rate(void **state)
{
    (void)state;
    assert_true(fabs(oneib_qos_data_gbps(oneib_rate_code(40)) - 32) < 1e-9);
    assert_true(fabs(oneib_qos_data_gbps(oneib_rate_code(2)) - 2) < 1e-9);
    assert_true(fabs(oneib_qos_data_gbps(oneib_rate_code(120)) - 96) < 1e-9);
    assert_true(fabs(oneib_qos_data_gbps(oneib_rate_code(56)) - 56 * 64 / 66.0) < 1e-9);
    assert_true(fabs(oneib_qos_data_gbps(oneib_rate_code(600)) - 600 * 64 / 66.0) < 1e-9);
    assert_true(oneib_qos_data_gbps(0) == 0);
}

static void a_network_gets_the_sl_that_the_fewest_have(void **state)
{
    (void)state;
    static const struct oneib_qos_class wide = {.name = "wide", .weight = 1, .sls = 7 << 2};
    size_t used[ONEIB_QOS_SLS] = {0};
    assert_int_equal(oneib_qos_choose(&wide, used), 2);
    used[2] = 1;
    assert_int_equal(oneib_qos_choose(&wide, used), 3);
    used[3] = 2;
    used[4] = 1;
    assert_int_equal(oneib_qos_choose(&wide, used), 2);
}

static void opensm_is_told_the_same_for_every_kind_of_port(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text text = {0};
    const struct oneib_qos_wish wish = wish_of(8, 3);
    const struct oneib_qos qos = make(&wish);
    oneib_qos_render(&qos, &text);
    assert_non_null(strstr(text.data, "qos TRUE\n"));
    assert_null(strstr(text.data, "qos_policy_file"));
    static const char *const kinds[] = {"ca", "sw0", "swe", "rtr"};
    for (size_t i = 0; i < 4; i++) {
        char line[128];
        snprintf(line, sizeof line, "qos_%s_max_vls 8\nqos_%s_high_limit 0\n", kinds[i], kinds[i]);
        assert_non_null(strstr(text.data, line));
        snprintf(line, sizeof line, "qos_%s_vlarb_high 0:0\nqos_%s_vlarb_low 0:16,1:64,2:32\n",
                 kinds[i], kinds[i]);
        assert_non_null(strstr(text.data, line));
        snprintf(line, sizeof line, "qos_%s_sl2vl 0,1,0,2,0,0,0,0,0,0,0,0,0,0,0,0\n", kinds[i]);
        assert_non_null(strstr(text.data, line));
    }
}

static void opensm_is_told_of_the_policy_where_there_is_one(void **state)
{
    (void)state;
    oneib_autotext struct oneib_text text = {0};
    struct oneib_qos_wish wish = wish_of(8, 3);
    wish.policy_file = "/etc/opensm/levels";
    const struct oneib_qos qos = make(&wish);
    oneib_qos_render(&qos, &text);
    assert_non_null(strstr(text.data, "\nqos_policy_file /etc/opensm/levels\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sl_of_a_class_has_a_lane_of_its_own),
        cmocka_unit_test(unused_sls_are_dropped_on_demand_but_never_sl_0_nor_one_in_use),
        cmocka_unit_test(more_sls_than_lanes_or_entries_are_refused),
        cmocka_unit_test(a_weight_of_0_is_refused),
        cmocka_unit_test(the_entries_of_a_lane_have_its_weight_however_many_there_are),
        cmocka_unit_test(entries_of_one_lane_are_spread),
        cmocka_unit_test(a_table_has_no_more_entries_than_weight),
        cmocka_unit_test(no_play_breaks_a_promise_and_none_is_far_from_it),
        cmocka_unit_test(more_entries_shorten_the_wait_of_light_lanes),
        cmocka_unit_test(a_link_carries_less_data_than_its_rate),
        cmocka_unit_test(a_network_gets_the_sl_that_the_fewest_have),
        cmocka_unit_test(opensm_is_told_the_same_for_every_kind_of_port),
        cmocka_unit_test(opensm_is_told_of_the_policy_where_there_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
