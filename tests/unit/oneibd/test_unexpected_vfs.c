// SPDX-License-Identifier: Apache-2.0
#include "oneibd/unexpected_vfs.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define HOST 3u
#define VM 42u
#define LONG ONEIB_UNEXPECTED_VF_MS

static struct oneib_cloud cloud;
static struct oneib_unexpected_vfs vfs;
static struct oneib_findings findings;
static struct oneib_grant_list list;
static struct oneib_vf_record record;
static struct oneib_node_snapshot node;
static uint32_t vm_ids[] = {VM};
static const struct oneib_nic_name told = {.vm_id = VM, .nic_id = 1};

static int begin(void **state)
{
    (void)state;
    list = (struct oneib_grant_list){.count = 0};
    record = (struct oneib_vf_record){.vf = {.bus = 0x81, .slot = 1},
                                      .device = "mlx4_0",
                                      .port = 1,
                                      .vm_id = VM,
                                      .nic_id = 1,
                                      .network_id = 7,
                                      .pkey = 5,
                                      .stage = ONEIB_VF_CLOSED};
    node = (struct oneib_node_snapshot){.host_id = HOST,
                                        .state = ONEIB_NODE_FOLLOWS,
                                        .table_known = true,
                                        .records = &record,
                                        .record_count = 1,
                                        .sent = &list,
                                        .told = &told,
                                        .told_count = 1};
    struct oneib_host *host = oneib_cloud_add_host(&cloud);
    assert_non_null(host);
    host->id = HOST;
    return 0;
}

static int end(void **state)
{
    (void)state;
    cloud.vm_ids = NULL;
    oneib_cloud_clear(&cloud);
    oneib_unexpected_vfs_clear(&vfs);
    oneib_findings_clear(&findings);
    return 0;
}

static void vm_is_known(void)
{
    cloud.vm_ids = vm_ids;
    cloud.vm_count = 1;
}

static void vm_has_nic(uint8_t nic, uint32_t host, enum oneib_phase phase)
{
    struct oneib_attachment *attachment = oneib_cloud_add_attachment(&cloud);
    assert_non_null(attachment);
    *attachment = (struct oneib_attachment){.vm_id = VM,
                                            .network_id = 7,
                                            .host_id = host,
                                            .source_host_id = ONEIB_NO_ID,
                                            .nic_id = nic,
                                            .phase = (uint8_t)phase};
    vm_is_known();
}

static void grant(oneib_pkey pkey)
{
    list.count = 1;
    list.items[0] = (struct oneib_grant){
        .vm_id = VM, .network_id = 7, .nic_id = 1, .port = 1, .pkey = pkey, .device = "mlx4_0"};
}

static void follow(double now)
{
    oneib_unexpected_vfs_follow(&vfs, &cloud, &node, 1, now);
}

/* The only finding, when it has lasted long enough; NULL: there is none. */
static const char *found(void)
{
    follow(0);
    oneib_unexpected_vfs_report(&vfs, &cloud, LONG - 1, &findings);
    assert_int_equal(findings.count, 0);
    follow(LONG);
    oneib_unexpected_vfs_report(&vfs, &cloud, LONG, &findings);
    assert_true(findings.count <= 1);
    assert_int_equal(oneib_unexpected_vfs_lasting(&vfs, LONG), findings.count);
    return findings.count > 0 ? findings.items[0].code : NULL;
}

static void what_is_granted_is_none(void **state)
{
    (void)state;
    vm_has_nic(1, HOST, ONEIB_SETTLED);
    grant(5);
    record.stage = ONEIB_VF_OPEN;
    record.in_domain = true;
    assert_null(found());
}

static void an_open_vf_that_is_not_granted_is_a_violation(void **state)
{
    (void)state;
    vm_has_nic(1, HOST, ONEIB_SETTLED);
    grant(6);
    record.stage = ONEIB_VF_OPEN;
    assert_string_equal(found(), "vf-not-granted");
    assert_int_equal(findings.items[0].severity, ONEIB_VIOLATION);
    /* It is the NIC's, which OpenNebula counts. */
    assert_int_equal(oneib_unexpected_vfs_of_host(&vfs, HOST), 0);
}

static void a_node_that_has_not_got_the_list_yet_may_have_it_open(void **state)
{
    (void)state;
    vm_has_nic(1, HOST, ONEIB_SETTLED);
    record.stage = ONEIB_VF_OPEN;
    node.state = ONEIB_NODE_AWAITED;
    assert_null(found());
}

/* Or that says nothing any more: nothing proves that it is closed. */
static void what_a_node_that_never_confirms_has_open_is_a_violation(void **state)
{
    (void)state;
    record.stage = ONEIB_VF_OPEN;
    record.in_domain = true;
    node.state = ONEIB_NODE_SILENT;
    assert_string_equal(found(), "vf-not-granted");
    assert_int_equal(findings.items[0].severity, ONEIB_VIOLATION);
    assert_non_null(strstr(findings.items[0].text, "by its oneib-node's last report"));
}

static void a_nic_that_opennebula_does_not_know_is_an_orphan(void **state)
{
    (void)state;
    vm_has_nic(2, HOST, ONEIB_SETTLED);
    record.in_domain = true;
    assert_string_equal(found(), "vf-orphan");
    assert_int_equal(oneib_unexpected_vfs_of_host(&vfs, HOST), 1);
    assert_int_equal(oneib_unexpected_vfs_of_host(&vfs, HOST + 1), 0);
}

static void the_only_nic_of_a_vm_can_be_an_orphan(void **state)
{
    (void)state;
    vm_is_known();
    record.in_domain = true;
    assert_string_equal(found(), "vf-orphan");
}

static void a_vm_that_is_gone_is_a_zombie(void **state)
{
    (void)state;
    record.in_domain = true;
    assert_string_equal(found(), "vf-zombie");
    assert_non_null(strstr(findings.items[0].text, "last report the VF is closed"));
}

static void a_vm_that_is_on_another_host_is_a_zombie(void **state)
{
    (void)state;
    vm_has_nic(1, HOST + 1, ONEIB_SETTLED);
    record.in_domain = true;
    assert_string_equal(found(), "vf-zombie");
}

static void a_vm_that_is_powered_off_is_a_zombie(void **state)
{
    (void)state;
    vm_has_nic(1, HOST, ONEIB_ABSENT);
    record.in_domain = true;
    assert_string_equal(found(), "vf-zombie");
}

static void what_no_domain_has_is_none(void **state)
{
    (void)state;
    assert_null(found());
}

/* The host lies, or has something from a time that nobody remembers. */
static void what_the_node_was_never_told_of_is_one(void **state)
{
    (void)state;
    node.told_count = 0;
    assert_null(found());
    record.guid = ONEIB_VF_GUID_SET;
    assert_string_equal(found(), "vf-untold");
    assert_int_equal(oneib_unexpected_vfs_of_host(&vfs, HOST), 0);
}

static void the_guid_of_a_nic_of_that_host_is_none(void **state)
{
    (void)state;
    record.guid = ONEIB_VF_GUID_SET;
    assert_null(found());
    node.told_count = 0;
    vm_has_nic(1, HOST, ONEIB_ABSENT); /* its VM is powered off */
    assert_null(found());
}

static void what_comes_and_goes_begins_anew(void **state)
{
    (void)state;
    record.in_domain = true;
    follow(0);
    record.in_domain = false;
    follow(LONG - 1);
    record.in_domain = true;
    follow(LONG);
    assert_int_equal(oneib_unexpected_vfs_lasting(&vfs, LONG), 0);
    assert_int_equal(oneib_unexpected_vfs_lasting(&vfs, 2 * LONG), 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_is_granted_is_none),
        test(an_open_vf_that_is_not_granted_is_a_violation),
        test(a_node_that_has_not_got_the_list_yet_may_have_it_open),
        test(what_a_node_that_never_confirms_has_open_is_a_violation),
        test(a_nic_that_opennebula_does_not_know_is_an_orphan),
        test(the_only_nic_of_a_vm_can_be_an_orphan),
        test(a_vm_that_is_gone_is_a_zombie),
        test(a_vm_that_is_on_another_host_is_a_zombie),
        test(a_vm_that_is_powered_off_is_a_zombie),
        test(what_no_domain_has_is_none),
        test(what_the_node_was_never_told_of_is_one),
        test(the_guid_of_a_nic_of_that_host_is_none),
        test(what_comes_and_goes_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
