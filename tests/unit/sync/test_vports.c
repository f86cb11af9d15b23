// SPDX-License-Identifier: Apache-2.0
#include "sync/vports.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PORT 0xa
#define VF_1 0x0200000000000101
#define VF_2 0x0200000000000201
#define MEMBER ONEIB_MEMBER_STATUS_MEMBER

/* One on a physical port, one virtual; one virtual that migrates, and one that gets nothing. */
static struct oneib_desired_binding bindings[] = {
    {.member_status = MEMBER, .port = PORT, .member = PORT},
    {.member_status = MEMBER, .port = PORT, .member = VF_1},
    {.member_status = MEMBER, .port = PORT, .member = VF_2},
    {.member_status = MEMBER, .port = PORT + 1, .member = VF_2, .is_source = true},
    {.member_status = ONEIB_MEMBER_STATUS_NO_KEY, .port = PORT, .member = VF_2 + 1},
};
static const struct oneib_desired desired = {.bindings = bindings,
                                             .binding_count = sizeof bindings / sizeof *bindings};
static const struct oneib_desired nobody = {.bindings = bindings, .binding_count = 1};

static size_t findings_with(enum oneib_sm_kind kind, const struct oneib_desired *of)
{
    struct oneib_findings findings = {0};
    const struct oneib_config config = {.sm.kind = kind};
    oneib_vports_note_unserved(&config, of, &findings);
    const size_t count = findings.count;
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(findings.items[i].code, "virtual-ports");
        assert_int_equal(findings.items[i].severity, ONEIB_NOTICE);
    }
    oneib_findings_clear(&findings);
    return count;
}

static void members_on_virtual_ports_are_unserved_by_upstream_opensm_alone(void **state)
{
    (void)state;
    const struct oneib_config upstream = {.sm.kind = ONEIB_SM_OPENSM};
    const struct oneib_config nvidias = {.sm.kind = ONEIB_SM_NVIDIA_OPENSM};
    const struct oneib_config ufm = {.sm.kind = ONEIB_SM_UFM};
    assert_int_equal(oneib_vports_unserved(&upstream, &desired), 2);
    assert_int_equal(oneib_vports_unserved(&upstream, &nobody), 0);
    assert_int_equal(oneib_vports_unserved(&nvidias, &desired), 0);
    assert_int_equal(oneib_vports_unserved(&ufm, &desired), 0);
}

static void that_they_are_is_one_notice(void **state)
{
    (void)state;
    assert_int_equal(findings_with(ONEIB_SM_OPENSM, &desired), 1);
    assert_int_equal(findings_with(ONEIB_SM_OPENSM, &nobody), 0);
    assert_int_equal(findings_with(ONEIB_SM_NVIDIA_OPENSM, &desired), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_on_virtual_ports_are_unserved_by_upstream_opensm_alone),
        cmocka_unit_test(that_they_are_is_one_notice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
