// SPDX-License-Identifier: Apache-2.0
/* What a refresh asks for, and what it leaves when something goes wrong half-way. */
#include "mirror_scene.h"

static void populate(struct scene *scene, size_t vms)
{
    struct oneib_error err = {0};
    uint32_t id;
    for (unsigned i = 0; i < 20; i++) {
        char key[16];
        snprintf(key, sizeof key, "%u", 400 + i);
        must(lab_network_create(scene->lab, "net", key, NULL, &scene->networks[i], &err), scene,
             &err);
    }
    for (size_t i = 0; i < vms; i++)
        must(lab_vm_start(scene->lab, "vm", &scene->networks[i % 20], 1, (uint32_t)(i % HOSTS), &id,
                          &err),
             scene, &err);
    scene->agenda.everything = true;
    refresh(scene);
}

static unsigned calls(struct scene *scene, const char *method)
{
    struct oneib_error err = {0};
    unsigned count = 0;
    must(lab_calls(scene->lab, method, &count, &err), scene, &err);
    return count;
}

static unsigned pool_calls(struct scene *scene)
{
    return calls(scene, "one.vmpool.infoextended") + calls(scene, "one.hostpool.info") +
           calls(scene, "one.vnpool.info") + calls(scene, "one.system.config");
}

static void one_vm_of_many_needs_no_pool(void **state)
{
    struct scene *scene = *state;
    struct oneib_error err = {0};
    bool changed = false;
    populate(scene, 500);
    must(lab_vm_migrate(scene->lab, 250, 1, 4, &err), scene, &err);
    must(oneib_agenda_vm(&scene->agenda, 250, &err), scene, &err);
    const unsigned pools = pool_calls(scene), vms = calls(scene, "one.vm.info");
    const unsigned networks = calls(scene, "one.vn.info"), hosts = calls(scene, "one.host.info");
    must(oneib_mirror_refresh(scene->one, &options, &scene->agenda, &scene->kept,
                              &scene->kept_findings, &changed, &err),
         scene, &err);
    assert_true(changed);
    assert_int_equal(pool_calls(scene), pools);
    assert_int_equal(calls(scene, "one.vm.info"), vms + 1);
    assert_int_equal(calls(scene, "one.vn.info"), networks + 1);
    assert_int_equal(calls(scene, "one.host.info"), hosts + 2);
    read_truth(scene);
    compare(scene);
}

static void many_vms_are_read_by_windows(void **state)
{
    struct scene *scene = *state;
    struct oneib_error err = {0};
    populate(scene, 100);
    for (uint32_t vm = 0; vm < 100; vm++) {
        must(lab_vm_state(scene->lab, vm, 8, 0, &err), scene, &err);
        must(oneib_agenda_vm(&scene->agenda, vm, &err), scene, &err);
    }
    const unsigned alone = calls(scene, "one.vm.info");
    refresh(scene);
    /* 40 ids a window: two of 40 and one of 20. */
    assert_int_equal(calls(scene, "one.vm.info"), alone);
}

static void vms_that_a_window_leaves_out_are_asked_for_alone(void **state)
{
    struct scene *scene = *state;
    struct oneib_error err = {0};
    bool changed = false;
    populate(scene, 40);
    for (uint32_t vm = 0; vm < 40; vm++)
        must(oneib_agenda_vm(&scene->agenda, vm, &err), scene, &err);
    const unsigned alone = calls(scene, "one.vm.info");
    must(lab_fault(scene->lab, "shrink-window", 1, 0, &err), scene, &err);
    must(oneib_mirror_refresh(scene->one, &options, &scene->agenda, &scene->kept,
                              &scene->kept_findings, &changed, &err),
         scene, &err);
    assert_int_equal(calls(scene, "one.vm.info"), alone + 20);
    assert_false(changed);
    compare(scene);
}

static void networks_that_a_pool_leaves_out_are_asked_for_alone(void **state)
{
    struct scene *scene = *state;
    struct oneib_error err = {0};
    bool changed = false;
    populate(scene, 40);
    for (size_t i = 0; i < 20; i++)
        must(oneib_agenda_network(&scene->agenda, scene->networks[i], &err), scene, &err);
    must(lab_fault(scene->lab, "empty-pools", 1, 0, &err), scene, &err);
    must(oneib_mirror_refresh(scene->one, &options, &scene->agenda, &scene->kept,
                              &scene->kept_findings, &changed, &err),
         scene, &err);
    assert_false(changed);
    compare(scene);
}

/* A change has happened, so that a part of it, applied, would show. */
static void change_something(struct scene *scene)
{
    struct oneib_error err = {0};
    must(lab_network_update(scene->lab, scene->networks[0], "VLAN_ID=500", &err), scene, &err);
    must(lab_vm_state(scene->lab, 0, 8, 0, &err), scene, &err);
    must(oneib_agenda_network(&scene->agenda, scene->networks[0], &err), scene, &err);
    must(oneib_agenda_vm(&scene->agenda, 0, &err), scene, &err);
}

static void must_leave_all_as_it_was(struct scene *scene, struct oneib_one *one,
                                     enum oneib_error_code code)
{
    struct oneib_error err = {0};
    bool changed = false;
    assert_int_equal(oneib_mirror_refresh(one, &options, &scene->agenda, &scene->kept,
                                          &scene->kept_findings, &changed, &err),
                     -1);
    assert_string_equal(oneib_error_code_name(err.code), oneib_error_code_name(code));
    compare(scene);
}

static void a_failure_leaves_everything_as_it_was(void **state)
{
    static const struct {
        const char *kind;
        enum oneib_error_code code;
    } faults[] = {{"html", ONEIB_ERROR_PROTOCOL},
                  {"truncated", ONEIB_ERROR_PROTOCOL},
                  {"close", ONEIB_ERROR_UNREACHABLE},
                  {"http500", ONEIB_ERROR_PROTOCOL},
                  {"badsession", ONEIB_ERROR_AUTH}};
    struct scene *scene = *state;
    struct oneib_error err = {0};
    populate(scene, 40);
    change_something(scene);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        snprintf(scene->action, sizeof scene->action, "%s", faults[i].kind);
        must(lab_fault(scene->lab, faults[i].kind, 1, 0, &err), scene, &err);
        must_leave_all_as_it_was(scene, scene->one, faults[i].code);
    }
    refresh(scene);
}

/* The network is read, then the VM is refused. */
static void a_vm_that_may_not_be_seen_any_more_leaves_everything_as_it_was(void **state)
{
    struct scene *scene = *state;
    populate(scene, 40);
    change_something(scene);
    struct oneib_one *limited = open_client(scene, lab_limited_session(scene->lab));
    const unsigned networks = calls(scene, "one.vn.info");
    must_leave_all_as_it_was(scene, limited, ONEIB_ERROR_PERMISSION);
    assert_int_equal(calls(scene, "one.vn.info"), networks + 1);
    oneib_one_close(limited);
    refresh(scene);
}

static void a_lease_that_ended_vouches_for_no_forged_nic(void **state)
{
    struct scene *scene = *state;
    struct oneib_error err = {0};
    populate(scene, 40);
    /* NIC 1 gives its lease back, and a NIC on another network claims to be NIC 1. */
    uint32_t nic;
    must(lab_vm_attach(scene->lab, 0, scene->networks[1], &nic, &err), scene, &err);
    must(lab_vm_detach(scene->lab, 0, 1, &err), scene, &err);
    must(lab_vm_running(scene->lab, 0, &err), scene, &err);
    char forged[64];
    snprintf(forged, sizeof forged, "NETWORK_ID=%u\nNIC_ID=1", scene->networks[0]);
    must(lab_vm_set_nic(scene->lab, 0, nic, forged, &err), scene, &err);
    must(oneib_agenda_vm(&scene->agenda, 0, &err), scene, &err);
    refresh(scene);
    assert_int_equal(scene->kept.attachments[0].vm_id, 0);
    assert_true(scene->kept.attachments[0].unleased);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_vm_of_many_needs_no_pool),
        TEST(many_vms_are_read_by_windows),
        TEST(vms_that_a_window_leaves_out_are_asked_for_alone),
        TEST(networks_that_a_pool_leaves_out_are_asked_for_alone),
        TEST(a_failure_leaves_everything_as_it_was),
        TEST(a_vm_that_may_not_be_seen_any_more_leaves_everything_as_it_was),
        TEST(a_lease_that_ended_vouches_for_no_forged_nic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
