// SPDX-License-Identifier: Apache-2.0
/* When a record of a virtual function is nobody's any more. */
#include "node/inventory.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOW 100000
#define LONG_AGO (NOW - ONEIB_STALE_AFTER)
#define JUST_NOW (LONG_AGO + 1)

static const struct oneib_pci own_vf = {0, 0x81, 0, 1}, other_vf = {0, 0x81, 0, 2};

static struct oneib_vf_record record(enum oneib_vf_stage stage, int64_t since)
{
    return (struct oneib_vf_record){
        .vf = own_vf,
        .vm_id = 42,
        .nic_id = 1,
        .port = 1,
        .stage = stage,
        .since = since,
        .guid = ONEIB_VF_GUID_SET,
    };
}

/* A node with one domain, or none. */
struct node {
    struct oneib_domain domain;
    struct oneib_pci device;
    struct oneib_domains domains;
};

static const struct oneib_domains *no_domains(void)
{
    static const struct oneib_domains none;
    return &none;
}

static const struct oneib_domains *one_domain(struct node *node, int64_t vm_id, bool running,
                                              const struct oneib_pci *device)
{
    node->device = device ? *device : (struct oneib_pci){0};
    node->domain = (struct oneib_domain){.vm_id = vm_id,
                                         .running = running,
                                         .devices = &node->device,
                                         .device_count = device != NULL};
    node->domains = (struct oneib_domains){&node->domain, 1, 1};
    return &node->domains;
}

static void a_settled_record_without_its_vm_is_stale(void **state)
{
    (void)state;
    const struct oneib_vf_record open = record(ONEIB_VF_OPEN, LONG_AGO),
                                 closed = record(ONEIB_VF_CLOSED, LONG_AGO);
    struct node node;
    assert_true(oneib_record_is_stale(&open, no_domains(), true, false, NOW));
    assert_true(oneib_record_is_stale(&closed, no_domains(), true, false, NOW));
    assert_true(
        oneib_record_is_stale(&open, one_domain(&node, 43, true, &other_vf), true, false, NOW));
}

/* Between pre and the moment when libvirt knows the domain. */
static void a_young_record_is_left_alone(void **state)
{
    (void)state;
    const struct oneib_vf_record young = record(ONEIB_VF_OPEN, JUST_NOW),
                                 younger = record(ONEIB_VF_OPEN, NOW + 1);
    assert_false(oneib_record_is_stale(&young, no_domains(), true, false, NOW));
    assert_false(oneib_record_is_stale(&younger, no_domains(), true, false, NOW));
}

/* Nothing else is ahead of the time since boot. */
static void a_record_of_another_boot_is_stale(void **state)
{
    (void)state;
    const struct oneib_vf_record ahead = record(ONEIB_VF_OPEN, NOW + ONEIB_STALE_AFTER);
    assert_true(oneib_record_is_stale(&ahead, no_domains(), true, false, NOW));
}

/* Its disks are being copied. */
static void a_record_of_a_migration_that_takes_long_is_left_alone(void **state)
{
    (void)state;
    struct oneib_vf_record migrating = record(ONEIB_VF_OPEN, LONG_AGO);
    migrating.guid = ONEIB_VF_GUID_DEFERRED;
    assert_false(oneib_record_is_stale(&migrating, no_domains(), true, false, NOW));
    migrating.since = NOW - ONEIB_MIGRATING_FOR;
    assert_true(oneib_record_is_stale(&migrating, no_domains(), true, false, NOW));
}

static void a_record_whose_vm_is_here_is_not_stale(void **state)
{
    (void)state;
    const struct oneib_vf_record open = record(ONEIB_VF_OPEN, 0);
    struct node node;
    assert_false(oneib_record_is_stale(&open, one_domain(&node, 42, true, NULL), true, false, NOW));
    assert_false(
        oneib_record_is_stale(&open, one_domain(&node, 42, false, NULL), true, false, NOW));
}

static void a_record_whose_vf_some_domain_names_is_not_stale(void **state)
{
    (void)state;
    const struct oneib_vf_record open = record(ONEIB_VF_OPEN, 0);
    struct node node;
    assert_false(
        oneib_record_is_stale(&open, one_domain(&node, -1, false, &own_vf), true, false, NOW));
}

static void nothing_settled_is_stale_while_libvirt_does_not_answer(void **state)
{
    (void)state;
    const struct oneib_vf_record open = record(ONEIB_VF_OPEN, 0),
                                 closed = record(ONEIB_VF_CLOSED, 0);
    assert_false(oneib_record_is_stale(&open, no_domains(), false, false, NOW));
    assert_false(oneib_record_is_stale(&closed, no_domains(), false, false, NOW));
}

static void what_was_left_half_done_is_stale_at_once_even_without_libvirt(void **state)
{
    (void)state;
    const struct oneib_vf_record preparing = record(ONEIB_VF_PREPARING, NOW),
                                 releasing = record(ONEIB_VF_RELEASING, NOW);
    struct node node;
    assert_true(oneib_record_is_stale(&preparing, no_domains(), false, false, NOW));
    assert_true(oneib_record_is_stale(&releasing, no_domains(), false, false, NOW));
    assert_true(
        oneib_record_is_stale(&preparing, one_domain(&node, 42, true, &own_vf), true, false, NOW));
}

static void nothing_that_somebody_works_on_is_stale(void **state)
{
    (void)state;
    static const enum oneib_vf_stage stages[] = {ONEIB_VF_PREPARING, ONEIB_VF_CLOSED, ONEIB_VF_OPEN,
                                                 ONEIB_VF_RELEASING};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const struct oneib_vf_record busy = record(stages[i], 0);
        assert_false(oneib_record_is_stale(&busy, no_domains(), true, true, NOW));
    }
}

static bool is_unfinished(enum oneib_vf_stage stage, enum oneib_vf_guid guid, int64_t since,
                          bool has_owner, bool running)
{
    struct node node;
    struct oneib_vf_record seen = record(stage, since);
    seen.guid = guid;
    return oneib_record_is_unfinished(&seen, one_domain(&node, 42, running, NULL), true, has_owner,
                                      NOW);
}

static void a_running_vm_without_its_guid_is_unfinished(void **state)
{
    (void)state;
    assert_true(is_unfinished(ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED, LONG_AGO, false, true));
    assert_true(is_unfinished(ONEIB_VF_CLOSED, ONEIB_VF_GUID_NONE, LONG_AGO, false, true));

    assert_false(is_unfinished(ONEIB_VF_OPEN, ONEIB_VF_GUID_SET, LONG_AGO, false, true));
    assert_false(is_unfinished(ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED, JUST_NOW, false, true));
    assert_false(is_unfinished(ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED, LONG_AGO, true, true));
    assert_false(is_unfinished(ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED, LONG_AGO, false, false));
    assert_false(is_unfinished(ONEIB_VF_PREPARING, ONEIB_VF_GUID_NONE, LONG_AGO, false, true));
    assert_false(is_unfinished(ONEIB_VF_RELEASING, ONEIB_VF_GUID_NONE, LONG_AGO, false, true));
}

static void whose_domain_is_not_known_is_not_finished_for_it(void **state)
{
    (void)state;
    struct oneib_vf_record deferred = record(ONEIB_VF_OPEN, LONG_AGO);
    struct node node;
    deferred.guid = ONEIB_VF_GUID_DEFERRED;
    assert_false(oneib_record_is_unfinished(&deferred, one_domain(&node, 42, true, NULL), false,
                                            false, NOW));
    assert_false(
        oneib_record_is_unfinished(&deferred, one_domain(&node, 43, true, NULL), true, false, NOW));
}

static bool is_not_plugged(enum oneib_vf_stage stage, enum oneib_vf_guid guid, int64_t since,
                           bool has_owner, const struct oneib_domains *domains)
{
    struct oneib_vf_record seen = record(stage, since);
    seen.guid = guid;
    return oneib_record_is_not_plugged(&seen, domains, true, has_owner, NOW);
}

static void a_running_vm_that_lacks_its_vf_is_to_be_plugged(void **state)
{
    (void)state;
    struct node node;
    const struct oneib_domains *without = one_domain(&node, 42, true, &other_vf);
    assert_true(is_not_plugged(ONEIB_VF_OPEN, ONEIB_VF_GUID_SET, LONG_AGO, false, without));
    assert_true(is_not_plugged(ONEIB_VF_CLOSED, ONEIB_VF_GUID_SET, LONG_AGO, false, without));

    assert_false(is_not_plugged(ONEIB_VF_OPEN, ONEIB_VF_GUID_SET, JUST_NOW, false, without));
    assert_false(is_not_plugged(ONEIB_VF_OPEN, ONEIB_VF_GUID_SET, LONG_AGO, true, without));
    assert_false(is_not_plugged(ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED, LONG_AGO, false, without));
    assert_false(is_not_plugged(ONEIB_VF_PREPARING, ONEIB_VF_GUID_SET, LONG_AGO, false, without));
    assert_false(is_not_plugged(ONEIB_VF_RELEASING, ONEIB_VF_GUID_SET, LONG_AGO, false, without));
}

static void one_that_has_it_or_does_not_run_is_not(void **state)
{
    (void)state;
    struct node node;
    const struct oneib_vf_record settled = record(ONEIB_VF_OPEN, LONG_AGO);
    assert_false(oneib_record_is_not_plugged(&settled, one_domain(&node, 42, true, &own_vf), true,
                                             false, NOW));
    assert_false(oneib_record_is_not_plugged(&settled, one_domain(&node, 42, false, NULL), true,
                                             false, NOW));
    assert_false(
        oneib_record_is_not_plugged(&settled, one_domain(&node, 43, true, NULL), true, false, NOW));
    assert_false(oneib_record_is_not_plugged(&settled, one_domain(&node, 42, true, NULL), false,
                                             false, NOW));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_settled_record_without_its_vm_is_stale),
        cmocka_unit_test(a_young_record_is_left_alone),
        cmocka_unit_test(a_record_of_another_boot_is_stale),
        cmocka_unit_test(a_record_of_a_migration_that_takes_long_is_left_alone),
        cmocka_unit_test(a_record_whose_vm_is_here_is_not_stale),
        cmocka_unit_test(a_record_whose_vf_some_domain_names_is_not_stale),
        cmocka_unit_test(nothing_settled_is_stale_while_libvirt_does_not_answer),
        cmocka_unit_test(what_was_left_half_done_is_stale_at_once_even_without_libvirt),
        cmocka_unit_test(nothing_that_somebody_works_on_is_stale),
        cmocka_unit_test(a_running_vm_without_its_guid_is_unfinished),
        cmocka_unit_test(whose_domain_is_not_known_is_not_finished_for_it),
        cmocka_unit_test(a_running_vm_that_lacks_its_vf_is_to_be_plugged),
        cmocka_unit_test(one_that_has_it_or_does_not_run_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
