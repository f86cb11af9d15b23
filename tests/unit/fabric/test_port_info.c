// SPDX-License-Identifier: Apache-2.0
#include "fabric/port_info.h"

#include "ib/ipoib.h"
#include <infiniband/mad.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define EXTENDED (1u << 14)

struct link {
    unsigned widths, speeds, extended;
};

static void make_enabled(uint8_t *info, struct link supported, struct link enabled, unsigned caps)
{
    memset(info, 0, IB_SMP_DATA_SIZE);
    mad_set_field(info, 0, IB_PORT_CAPMASK_F, caps);
    mad_set_field(info, 0, IB_PORT_LINK_WIDTH_SUPPORTED_F, supported.widths);
    mad_set_field(info, 0, IB_PORT_LINK_SPEED_SUPPORTED_F, supported.speeds);
    mad_set_field(info, 0, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F, supported.extended);
    mad_set_field(info, 0, IB_PORT_LINK_WIDTH_ENABLED_F, enabled.widths);
    mad_set_field(info, 0, IB_PORT_LINK_SPEED_ENABLED_F, enabled.speeds);
    mad_set_field(info, 0, IB_PORT_LINK_SPEED_EXT_ENABLED_F, enabled.extended);
}

static unsigned enabled_gbps(struct link supported, struct link enabled, unsigned caps)
{
    uint8_t info[IB_SMP_DATA_SIZE];
    make_enabled(info, supported, enabled, caps);
    return oneib_port_info_enabled_gbps(info);
}

static const struct link fdr_card = {3, 7, 1};
static const struct link hdr_card = {19, 7, 7};

static void the_widest_width_and_the_fastest_speed_count(void **state)
{
    (void)state;
    assert_int_equal(enabled_gbps(fdr_card, fdr_card, 0), 40);
    assert_int_equal(enabled_gbps(fdr_card, fdr_card, EXTENDED), 56);
    assert_int_equal(enabled_gbps(hdr_card, hdr_card, EXTENDED), 200);
    assert_int_equal(enabled_gbps(hdr_card, (struct link){16, 7, 4}, EXTENDED), 100); /* 2x HDR */
    assert_int_equal(enabled_gbps((struct link){1, 1, 0}, (struct link){1, 1, 0}, 0), 2);
}

static void all_supported_is_not_more_than_what_is_supported(void **state)
{
    (void)state;
    assert_int_equal(enabled_gbps(fdr_card, (struct link){255, 15, 31}, EXTENDED), 56);
    assert_int_equal(enabled_gbps(fdr_card, (struct link){255, 15, 31}, 0), 40);
}

static void disabled_extended_speeds_do_not_count(void **state)
{
    (void)state;
    assert_int_equal(enabled_gbps(hdr_card, (struct link){2, 7, 30}, EXTENDED), 40);
}

static void nothing_enabled_is_not_known(void **state)
{
    (void)state;
    assert_int_equal(enabled_gbps(fdr_card, (struct link){0, 0, 0}, EXTENDED), 0);
}

static void every_speed_that_a_port_can_say_has_a_rate_or_is_not_known(void **state)
{
    (void)state;
    for (unsigned widths = 0; widths < 256; widths++)
        for (unsigned speeds = 0; speeds < 16; speeds++)
            for (unsigned extended = 0; extended < 32; extended++) {
                struct link any = {widths, speeds, extended};
                unsigned gbps = enabled_gbps(any, any, EXTENDED);
                if (gbps > 0 && gbps <= 600)
                    assert_int_not_equal(oneib_rate_code(gbps), 0);
            }
}

static void an_active_link_runs_at_one_width_and_one_speed(void **state)
{
    (void)state;
    uint8_t info[IB_SMP_DATA_SIZE] = {0};
    mad_set_field(info, 0, IB_PORT_LINK_WIDTH_ACTIVE_F, 2);
    mad_set_field(info, 0, IB_PORT_LINK_SPEED_ACTIVE_F, 4);
    assert_int_equal(oneib_port_info_active_gbps(info), 40);
    mad_set_field(info, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F, 2);
    assert_int_equal(oneib_port_info_active_gbps(info), 40); /* the capability is missing */
    mad_set_field(info, 0, IB_PORT_CAPMASK_F, EXTENDED);
    assert_int_equal(oneib_port_info_active_gbps(info), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_widest_width_and_the_fastest_speed_count),
        cmocka_unit_test(all_supported_is_not_more_than_what_is_supported),
        cmocka_unit_test(disabled_extended_speeds_do_not_count),
        cmocka_unit_test(nothing_enabled_is_not_known),
        cmocka_unit_test(every_speed_that_a_port_can_say_has_a_rate_or_is_not_known),
        cmocka_unit_test(an_active_link_runs_at_one_width_and_one_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
