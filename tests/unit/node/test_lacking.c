// SPDX-License-Identifier: Apache-2.0
/* When a running VM is without what is recorded for it. */
#include "node/inventory.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOW 100000
#define LONG_AGO (NOW - ONEIB_SETTLED_AFTER)
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

static bool is_unfinished(enum oneib_vf_stage stage, enum oneib_vf_guid guid, int64_t since,
                          bool running)
{
    struct node node;
    struct oneib_vf_record seen = record(stage, since);
    seen.guid = guid;
    return oneib_record_is_unfinished(&seen, one_domain(&node, 42, running, NULL), true, NOW);
}

static void a_running_vm_without_its_guid_is_unfinished(void **state)
{
    (void)state;
    assert_true(is_unfinished(ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED, LONG_AGO, true));
    assert_true(is_unfinished(ONEIB_VF_CLOSED, ONEIB_VF_GUID_NONE, LONG_AGO, true));

    assert_false(is_unfinished(ONEIB_VF_OPEN, ONEIB_VF_GUID_SET, LONG_AGO, true));
    assert_false(is_unfinished(ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED, JUST_NOW, true));
    assert_false(is_unfinished(ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED, LONG_AGO, false));
    assert_false(is_unfinished(ONEIB_VF_PREPARING, ONEIB_VF_GUID_NONE, LONG_AGO, true));
    assert_false(is_unfinished(ONEIB_VF_RELEASING, ONEIB_VF_GUID_NONE, LONG_AGO, true));
}

/* A time that is far ahead is another boot's. */
static void one_of_another_boot_is_settled(void **state)
{
    (void)state;
    const int64_t ahead = NOW + ONEIB_SETTLED_AFTER;
    assert_true(is_unfinished(ONEIB_VF_OPEN, ONEIB_VF_GUID_NONE, ahead, true));
    assert_false(is_unfinished(ONEIB_VF_OPEN, ONEIB_VF_GUID_NONE, ahead - 1, true));
}

/* Somebody else than OpenNebula has started its domain again. */
static void so_is_one_whose_vf_was_closed_when_its_domain_ended(void **state)
{
    (void)state;
    assert_true(is_unfinished(ONEIB_VF_ENDED, ONEIB_VF_GUID_SET, LONG_AGO, true));
    assert_false(is_unfinished(ONEIB_VF_ENDED, ONEIB_VF_GUID_SET, LONG_AGO, false));
    assert_false(is_unfinished(ONEIB_VF_ENDED, ONEIB_VF_GUID_SET, JUST_NOW, true));
}

static void whose_domain_is_not_known_is_not_finished_for_it(void **state)
{
    (void)state;
    struct oneib_vf_record deferred = record(ONEIB_VF_OPEN, LONG_AGO);
    struct node node;
    deferred.guid = ONEIB_VF_GUID_DEFERRED;
    assert_false(
        oneib_record_is_unfinished(&deferred, one_domain(&node, 42, true, NULL), false, NOW));
    assert_false(
        oneib_record_is_unfinished(&deferred, one_domain(&node, 43, true, NULL), true, NOW));
}

static bool is_not_plugged(enum oneib_vf_stage stage, enum oneib_vf_guid guid, int64_t since,
                           const struct oneib_domains *domains)
{
    struct oneib_vf_record seen = record(stage, since);
    seen.guid = guid;
    return oneib_record_is_not_plugged(&seen, domains, true, NOW);
}

static void a_running_vm_that_lacks_its_vf_is_to_be_plugged(void **state)
{
    (void)state;
    struct node node;
    const struct oneib_domains *without = one_domain(&node, 42, true, &other_vf);
    assert_true(is_not_plugged(ONEIB_VF_OPEN, ONEIB_VF_GUID_SET, LONG_AGO, without));
    assert_true(is_not_plugged(ONEIB_VF_CLOSED, ONEIB_VF_GUID_SET, LONG_AGO, without));

    assert_false(is_not_plugged(ONEIB_VF_OPEN, ONEIB_VF_GUID_SET, JUST_NOW, without));
    assert_false(is_not_plugged(ONEIB_VF_OPEN, ONEIB_VF_GUID_DEFERRED, LONG_AGO, without));
    assert_false(is_not_plugged(ONEIB_VF_ENDED, ONEIB_VF_GUID_SET, LONG_AGO, without));
    assert_false(is_not_plugged(ONEIB_VF_PREPARING, ONEIB_VF_GUID_SET, LONG_AGO, without));
    assert_false(is_not_plugged(ONEIB_VF_RELEASING, ONEIB_VF_GUID_SET, LONG_AGO, without));
}

static void one_that_has_it_or_does_not_run_is_not(void **state)
{
    (void)state;
    struct node node;
    const struct oneib_vf_record settled = record(ONEIB_VF_OPEN, LONG_AGO);
    assert_false(
        oneib_record_is_not_plugged(&settled, one_domain(&node, 42, true, &own_vf), true, NOW));
    assert_false(
        oneib_record_is_not_plugged(&settled, one_domain(&node, 42, false, NULL), true, NOW));
    assert_false(
        oneib_record_is_not_plugged(&settled, one_domain(&node, 43, true, NULL), true, NOW));
    assert_false(
        oneib_record_is_not_plugged(&settled, one_domain(&node, 42, true, NULL), false, NOW));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_vm_without_its_guid_is_unfinished),
        cmocka_unit_test(one_of_another_boot_is_settled),
        cmocka_unit_test(so_is_one_whose_vf_was_closed_when_its_domain_ended),
        cmocka_unit_test(whose_domain_is_not_known_is_not_finished_for_it),
        cmocka_unit_test(a_running_vm_that_lacks_its_vf_is_to_be_plugged),
        cmocka_unit_test(one_that_has_it_or_does_not_run_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
