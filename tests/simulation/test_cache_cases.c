// SPDX-License-Identifier: Apache-2.0
/* What a refresh asks for, and what it leaves when something goes wrong half-way. */
#include "cache_scene.h"

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
    scene->queue.everything = true;
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
    oneib_work_queue_vm(&scene->queue, 250);
    const unsigned pools = pool_calls(scene), vms = calls(scene, "one.vm.info");
    const unsigned networks = calls(scene, "one.vn.info"), hosts = calls(scene, "one.host.info");
    must(oneib_cache_refresh(scene->one, &options, &scene->queue, &scene->kept,
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
        oneib_work_queue_vm(&scene->queue, vm);
    }
    const unsigned alone = calls(scene, "one.vm.info");
    refresh(scene);
    /* 40 ids a window: two of 40 and one of 20. The whole reading that this is compared with asks
     * for the highest VM. */
    assert_int_equal(calls(scene, "one.vm.info"), alone + 1);
}

static void vms_that_a_window_leaves_out_are_asked_for_alone(void **state)
{
    struct scene *scene = *state;
    struct oneib_error err = {0};
    bool changed = false;
    populate(scene, 40);
    for (uint32_t vm = 0; vm < 40; vm++)
        oneib_work_queue_vm(&scene->queue, vm);
    const unsigned alone = calls(scene, "one.vm.info");
    must(lab_fault(scene->lab, "shrink-window", 1, 0, &err), scene, &err);
    must(oneib_cache_refresh(scene->one, &options, &scene->queue, &scene->kept,
                             &scene->kept_findings, &changed, &err),
         scene, &err);
    assert_int_equal(calls(scene, "one.vm.info"), alone + 20);
    assert_false(changed);
    compare(scene);
}

/* A change has happened, so that a part of it, applied, would show. */
static void change_something(struct scene *scene)
{
    struct oneib_error err = {0};
    must(lab_network_update(scene->lab, scene->networks[0], "VLAN_ID=500", &err), scene, &err);
    must(lab_vm_state(scene->lab, 0, 8, 0, &err), scene, &err);
    oneib_work_queue_network(&scene->queue, scene->networks[0]);
    oneib_work_queue_vm(&scene->queue, 0);
}

static void must_leave_all_as_it_was(struct scene *scene, struct oneib_one *one,
                                     enum oneib_error_code code)
{
    struct oneib_error err = {0};
    bool changed = false;
    assert_int_equal(oneib_cache_refresh(one, &options, &scene->queue, &scene->kept,
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
    oneib_work_queue_vm(&scene->queue, 0);
    refresh(scene);
    assert_int_equal(scene->kept.attachments[0].vm_id, 0);
    assert_true(scene->kept.attachments[0].unleased);
}

/* ---- a user with rights by ACL --------------------------------------------------------------- */

static const struct oneib_pools_options by_acl = {
    .vn_mad = "infiniband", .window = 40, .acl_user = true};

static int read_as(struct oneib_one *one, const struct oneib_pools_options *how,
                   struct oneib_cloud *cloud, struct oneib_error *err)
{
    struct oneib_findings findings;
    if (oneib_pools_read(one, how, cloud, &findings, err) < 0)
        return -1;
    oneib_findings_clear(&findings);
    return 0;
}

static void a_user_who_sees_all_by_acl_is_believed_only_when_the_operator_says_so(void **state)
{
    struct scene *scene = *state;
    struct oneib_error err = {0};
    struct oneib_cloud cloud;
    populate(scene, 40);
    must(lab_acl_rights(scene->lab, "VM HOST NET", &err), scene, &err);
    struct oneib_one *one = open_client(scene, lab_acl_session(scene->lab));
    assert_int_equal(read_as(one, &options, &cloud, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PERMISSION);
    assert_non_null(strstr(err.text, "one.acl_user"));
    must(read_as(one, &by_acl, &cloud, &err), scene, &err);
    assert_false(oneib_cache_differs(&scene->truth, &cloud));
    oneib_cloud_clear(&cloud);
    oneib_one_close(one);
}

/* What it does not see is named by what it sees. */
static void what_is_hidden_from_a_user_with_rights_by_acl_is_an_error(void **state)
{
    static const struct {
        const char *rights, *hidden;
    } cases[] = {
        {"HOST NET", "one.vm.info"}, {"VM NET", "one.host.info"}, {"VM HOST", "one.vn.info"},
        {"VM", "one.vn.info"},       {"HOST", "one.vm.info"},     {"NET", "one.vm.info"},
    };
    struct scene *scene = *state;
    struct oneib_error err = {0};
    struct oneib_cloud cloud;
    populate(scene, 40);
    struct oneib_one *one = open_client(scene, lab_acl_session(scene->lab));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(scene->action, sizeof scene->action, "rights: %s", cases[i].rights);
        must(lab_acl_rights(scene->lab, cases[i].rights, &err), scene, &err);
        assert_int_equal(read_as(one, &by_acl, &cloud, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_PERMISSION);
        if (!strstr(err.text, cases[i].hidden))
            fail_msg("%s: %s", cases[i].rights, err.text);
        scene->queue.everything = true;
        must_leave_all_as_it_was(scene, one, ONEIB_ERROR_PERMISSION);
    }
    oneib_one_close(one);
}

/* ---- what users write ------------------------------------------------------------------------ */

/* Ends the attribute, and leaves an element open. */
#define BREAK "]]></NOTE><A><NOTE><![CDATA["
/* Ends the VM, and begins another one that its own end closes. */
#define BREAK_OUT(id)                                                                              \
    "]]></NOTE></USER_TEMPLATE></VM><VM><ID>" id "</ID><USER_TEMPLATE><NOTE><![CDATA["

static size_t nics_of(const struct oneib_cloud *cloud, uint32_t vm)
{
    size_t count = 0;
    for (size_t i = 0; i < cloud->attachment_count; i++)
        count += cloud->attachments[i].vm_id == vm;
    return count;
}

static void must_have_one_violation(const struct scene *scene, const char *code, uint32_t id)
{
    assert_int_equal(scene->kept_findings.count, 1);
    const struct oneib_finding *finding = &scene->kept_findings.items[0];
    assert_string_equal(finding->code, code);
    assert_int_equal(finding->severity, ONEIB_VIOLATION);
    assert_int_equal(finding->subject_id, id);
}

static void a_tenants_malformed_vm_costs_that_vm_alone(void **state)
{
    static const char *const texts[] = {BREAK, BREAK_OUT("7"), BREAK_OUT("2147483647"), "]]><!--",
                                        "]]><?x"};
    struct scene *scene = *state;
    struct oneib_error err = {0};
    populate(scene, 100);
    const size_t all = scene->kept.attachment_count;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(scene->action, sizeof scene->action, "%s", texts[i]);
        must(lab_vm_write(scene->lab, 50, texts[i], &err), scene, &err);
        oneib_work_queue_vm(&scene->queue, 50);
        refresh(scene); /* compares with a whole reading */
        assert_int_equal(scene->kept.attachment_count, all - 1);
        assert_int_equal(nics_of(&scene->kept, 50), 0);
        must_have_one_violation(scene, "vm-malformed", 50);

        must(lab_vm_write(scene->lab, 50, "well", &err), scene, &err);
        oneib_work_queue_vm(&scene->queue, 50);
        refresh(scene);
        assert_int_equal(scene->kept.attachment_count, all);
        assert_int_equal(scene->kept_findings.count, 0);
    }
}

static void a_malformed_vm_costs_few_calls(void **state)
{
    struct scene *scene = *state;
    struct oneib_error err = {0};
    populate(scene, 100);
    must(lab_vm_write(scene->lab, 50, BREAK, &err), scene, &err);
    const unsigned windows = calls(scene, "one.vmpool.infoextended");
    scene->queue.everything = true;
    bool changed;
    must(oneib_cache_refresh(scene->one, &options, &scene->queue, &scene->kept,
                             &scene->kept_findings, &changed, &err),
         scene, &err);
    /* Three windows of 40 and the open one; 40 are halved six times. */
    assert_in_range(calls(scene, "one.vmpool.infoextended") - windows, 4, 4 + 2 * 6);
}

static void new_vms_are_found_beside_a_malformed_one(void **state)
{
    struct scene *scene = *state;
    struct oneib_error err = {0};
    uint32_t bad, good;
    populate(scene, 40);
    must(lab_vm_start(scene->lab, "bad", &scene->networks[0], 1, 0, &bad, &err), scene, &err);
    must(lab_vm_start(scene->lab, "good", &scene->networks[0], 1, 0, &good, &err), scene, &err);
    must(lab_vm_write(scene->lab, bad, BREAK_OUT("2147483647"), &err), scene, &err);
    scene->queue.new_vms = true;
    refresh(scene);
    assert_int_equal(nics_of(&scene->kept, good), 1);
    assert_int_equal(nics_of(&scene->kept, bad), 0);
    assert_int_equal(scene->kept.vm_end, good + 1);
    must_have_one_violation(scene, "vm-malformed", bad);
}

static void two_vms_that_hide_those_between_them_hide_nobody(void **state)
{
    static const char *const pairs[][2] = {
        /* Pools are listed from the highest id down. */
        {"]]></NOTE></USER_TEMPLATE></VM><A><VM><USER_TEMPLATE><NOTE><![CDATA[",
         "]]></NOTE></USER_TEMPLATE></VM></A><VM><USER_TEMPLATE><NOTE><![CDATA["},
        {"]]><?x", "?><![CDATA["},
        {"]]><!--", "--><![CDATA["},
    };
    struct scene *scene = *state;
    struct oneib_error err = {0};
    populate(scene, 40);
    const size_t all = scene->kept.attachment_count;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        snprintf(scene->action, sizeof scene->action, "%s", pairs[i][0]);
        must(lab_vm_write(scene->lab, 20, pairs[i][0], &err), scene, &err);
        must(lab_vm_write(scene->lab, 10, pairs[i][1], &err), scene, &err);
        scene->queue.everything = true;
        refresh(scene);
        for (uint32_t vm = 11; vm < 20; vm++)
            assert_int_equal(nics_of(&scene->kept, vm), 1);
        assert_true(scene->kept.attachment_count >= all - 2);
        assert_int_equal(nics_of(&scene->kept, 20), 0);
    }
}

/* Its owner is a tenant who reserved it. */
static void a_tenants_malformed_network_costs_that_network_alone(void **state)
{
    struct scene *scene = *state;
    struct oneib_error err = {0};
    populate(scene, 40);
    const size_t all = scene->kept.attachment_count, networks = scene->kept.network_count;
    must(lab_network_update(scene->lab, scene->networks[3], "NOTE=" BREAK, &err), scene, &err);
    oneib_work_queue_network(&scene->queue, scene->networks[3]);
    refresh(scene);
    const struct oneib_network *network = oneib_cloud_network(&scene->kept, scene->networks[3]);
    assert_non_null(network);
    assert_true(network->unreadable);
    assert_int_equal(network->pkey, 403);
    assert_int_equal(scene->kept.network_count, networks);
    assert_int_equal(scene->kept.attachment_count, all);
    must_have_one_violation(scene, "network-malformed", scene->networks[3]);

    must(lab_network_update(scene->lab, scene->networks[3], "NOTE=well", &err), scene, &err);
    oneib_work_queue_network(&scene->queue, scene->networks[3]);
    refresh(scene);
    assert_false(oneib_cloud_network(&scene->kept, scene->networks[3])->unreadable);
    assert_int_equal(scene->kept_findings.count, 0);
}

/* It begins behind the tenant's own one, and says what only an administrator may. */
static void a_network_that_a_tenant_makes_up_is_nobodys(void **state)
{
    static const char text[] =
        "NOTE=]]></NOTE></TEMPLATE></VNET><VNET><ID>2000</ID><VN_MAD>infiniband</VN_MAD>"
        "<VLAN_ID>401</VLAN_ID><TEMPLATE><IB_STATIC_GUIDS>0x100003=full</IB_STATIC_GUIDS><NOTE>"
        "<![CDATA[";
    struct scene *scene = *state;
    struct oneib_error err = {0};
    populate(scene, 40);
    const size_t networks = scene->kept.network_count;
    must(lab_network_update(scene->lab, scene->networks[3], text, &err), scene, &err);
    scene->queue.everything = true;
    refresh(scene);
    assert_int_equal(scene->kept.network_count, networks);
    assert_null(oneib_cloud_network(&scene->kept, 2000));
    must_have_one_violation(scene, "network-malformed", scene->networks[3]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_vm_of_many_needs_no_pool),
        TEST(many_vms_are_read_by_windows),
        TEST(vms_that_a_window_leaves_out_are_asked_for_alone),
        TEST(a_failure_leaves_everything_as_it_was),
        TEST(a_vm_that_may_not_be_seen_any_more_leaves_everything_as_it_was),
        TEST(a_lease_that_ended_vouches_for_no_forged_nic),
        TEST(a_user_who_sees_all_by_acl_is_believed_only_when_the_operator_says_so),
        TEST(what_is_hidden_from_a_user_with_rights_by_acl_is_an_error),
        TEST(a_tenants_malformed_vm_costs_that_vm_alone),
        TEST(a_malformed_vm_costs_few_calls),
        TEST(new_vms_are_found_beside_a_malformed_one),
        TEST(two_vms_that_hide_those_between_them_hide_nobody),
        TEST(a_tenants_malformed_network_costs_that_network_alone),
        TEST(a_network_that_a_tenant_makes_up_is_nobodys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
