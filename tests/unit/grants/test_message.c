// SPDX-License-Identifier: Apache-2.0
/* A message has one form of bytes; every other is refused. */
#include "grants/grants_message.h"
#include "grants/seal.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct oneib_grants_message message, taken;
static uint8_t bytes[ONEIB_GRANTS_MESSAGE_MAX];
static struct oneib_error err;

/* ---- messages -------------------------------------------------------------------------------- */

static struct oneib_grant grant(uint32_t vm_id, uint8_t nic_id)
{
    return (struct oneib_grant){.vm_id = vm_id,
                                .nic_id = nic_id,
                                .network_id = 7,
                                .port = 1,
                                .pkey = 5,
                                .device = "mlx4_0",
                                .guid = oneib_guid_encode(3, vm_id, nic_id)};
}

static void make_list(size_t count)
{
    memset(&message, 0, sizeof message);
    message.kind = ONEIB_GRANTS_LIST;
    memset(message.list.node, 9, sizeof message.list.node);
    message.list.name = (struct oneib_list_name){0x1122334455667788, 2};
    message.list.role = (struct oneib_daemon_role){
        .is_writer = true, .has_sm = true, .sm_lid = 4, .snapshot_age_ms = 1500};
    message.list.grants.count = count;
    for (size_t i = 0; i < count; i++)
        message.list.grants.items[i] = grant((uint32_t)(40 + i / 4), (uint8_t)(i % 4));
}

static void make_life(void)
{
    memset(&message, 0, sizeof message);
    message.kind = ONEIB_GRANTS_LIFE;
    memset(message.life.nonce, 8, sizeof message.life.nonce);
    message.life.name = (struct oneib_list_name){1, 0};
}

static struct oneib_vf_record record(uint8_t function, uint32_t vm_id)
{
    return (struct oneib_vf_record){.vf = {0, 0x81, 0, function},
                                    .device = "mlx4_0",
                                    .index = function,
                                    .port = 1,
                                    .vm_id = vm_id,
                                    .nic_id = 1,
                                    .network_id = 7,
                                    .site = 3,
                                    .pkey = 5,
                                    .limited = true,
                                    .stage = ONEIB_VF_OPEN,
                                    .guid = ONEIB_VF_GUID_SET,
                                    .in_domain = true,
                                    .since = 1795223384};
}

static void make_report(size_t count)
{
    memset(&message, 0, sizeof message);
    message.kind = ONEIB_GRANTS_REPORT;
    message.report.follows = (struct oneib_list_name){1, 1};
    message.report.believes = message.report.complete = true;
    memset(message.report.boot, 7, sizeof message.report.boot);
    message.report.port_count = ONEIB_HOST_PORTS_MAX;
    message.report.unseen = 0x0102;
    for (size_t i = 0; i < ONEIB_HOST_PORTS_MAX; i++)
        message.report.ports[i] = (struct oneib_hca_port){.device = "mlx5_0",
                                                          .port = 1,
                                                          .driver = ONEIB_HCA_MLX5,
                                                          .port_guid = 0x0002c90300100001 + i};
    message.report.count = count;
    for (size_t i = 0; i < count; i++)
        message.report.records[i] = record((uint8_t)(i % 8), (uint32_t)(5000 - i));
    for (size_t i = 0; i < count; i++)
        message.report.records[i].vf =
            (struct oneib_pci){0, (uint8_t)(i / 256), (uint8_t)(i / 8 % 32), (uint8_t)(i % 8)};
}

static void make_want(void)
{
    memset(&message, 0, sizeof message);
    message.kind = ONEIB_GRANTS_WANT;
    message.want = (struct oneib_want_message){.vm_id = 42, .network_id = 7, .nic_id = 255};
}

static void make_challenge(void)
{
    memset(&message, 0, sizeof message);
    message.kind = ONEIB_GRANTS_CHALLENGE;
    memset(message.challenge.nonce, 6, sizeof message.challenge.nonce);
}

/* Where a report's flags are: behind the head, the list's name and the boot id. */
#define HEAD_AND_NAME (4 + 16 + ONEIB_NONCE_SIZE)

/* ---- what is taken --------------------------------------------------------------------------- */

/* An exact copy, so that a byte beyond it is a fault. */
static int unpack(const uint8_t *from, size_t length)
{
    uint8_t *exact = malloc(length + (length == 0));
    memcpy(exact, from, length);
    memset(&taken, 0x55, sizeof taken);
    const int status = oneib_grants_unpack(exact, length, &taken, &err);
    free(exact);
    return status;
}

static size_t assert_taken(void)
{
    static uint8_t again[ONEIB_GRANTS_MESSAGE_MAX];
    const size_t length = oneib_grants_pack(&message, bytes);
    assert_in_range(length, 1, ONEIB_GRANTS_MESSAGE_MAX - ONEIB_SEAL_SIZE);
    if (unpack(bytes, length) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(taken.kind, message.kind);
    assert_int_equal(oneib_grants_pack(&taken, again), length);
    assert_memory_equal(again, bytes, length);
    return length;
}

static void assert_refused(const char *why)
{
    const size_t length = oneib_grants_pack(&message, bytes);
    assert_int_equal(unpack(bytes, length), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void lists_are_taken_as_they_were(void **state)
{
    (void)state;
    make_list(0);
    assert_taken();
    make_list(3);
    message.list.grants.items[1].limited = true;
    message.list.grants.items[1].may_set_guid = true;
    message.list.grants.items[2].has_vf = true;
    message.list.grants.items[2].vf = (struct oneib_pci){0x10000, 0x81, 31, 7};
    assert_taken();
    assert_int_equal(taken.list.grants.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(oneib_grant_equal(&taken.list.grants.items[i], &message.list.grants.items[i]));
    assert_true(taken.list.name.instance == message.list.name.instance);
    assert_int_equal(taken.list.name.serial, 2);
    assert_int_equal(taken.list.role.sm_lid, 4);
    assert_int_equal(taken.list.role.snapshot_age_ms, 1500);
    assert_true(taken.list.role.is_writer && taken.list.role.has_sm);
    assert_memory_equal(taken.list.node, message.list.node, sizeof taken.list.node);
}

static void reports_are_taken_as_they_were(void **state)
{
    (void)state;
    make_report(0);
    message.report.follows = (struct oneib_list_name){0, 0};
    message.report.complete = false;
    assert_taken();
    make_report(2);
    assert_taken();
    const struct oneib_vf_record *last = &taken.report.records[1];
    assert_int_equal(oneib_pci_compare(&last->vf, &message.report.records[1].vf), 0);
    assert_string_equal(last->device, "mlx4_0");
    assert_int_equal(last->vm_id, 4999);
    assert_int_equal(last->stage, ONEIB_VF_OPEN);
    assert_int_equal(last->guid, ONEIB_VF_GUID_SET);
    assert_true(last->limited && last->in_domain);
    assert_int_equal(last->since, 1795223384);
    assert_int_equal(last->site, 3);
    assert_true(taken.report.believes && taken.report.complete);
}

static void the_fullest_are_one_message(void **state)
{
    (void)state;
    make_list(ONEIB_GRANTS_MAX);
    assert_taken();
    make_report(ONEIB_GRANTS_MAX);
    assert_taken();
}

static void the_small_ones_are_taken_as_they_were(void **state)
{
    (void)state;
    make_life();
    assert_taken();
    make_challenge();
    assert_taken();
    assert_int_equal(taken.challenge.nonce[15], 6);
    make_want();
    assert_taken();
    assert_int_equal(taken.want.vm_id, 42);
    assert_int_equal(taken.want.nic_id, 255);
}

/* The form on the wire is a contract between versions of two programs. */
static void numbers_are_big_endian_and_begin_with_version_and_kind(void **state)
{
    (void)state;
    static const uint8_t expected[] = {4, 18, 0, 0, 0, 0, 0, 42, 0, 0, 0, 7, 255, 0, 0, 0};
    make_want();
    assert_int_equal(oneib_grants_pack(&message, bytes), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
}

static void nothing_of_the_senders_memory_leaves_it(void **state)
{
    (void)state;
    static uint8_t clean[ONEIB_GRANTS_MESSAGE_MAX];
    make_list(1);
    const size_t length = oneib_grants_pack(&message, clean);
    memset(message.list.grants.items[0].device + 7, 'x', ONEIB_DEVICE_NAME_SIZE - 7);
    message.list.grants.items[0].vf = (struct oneib_pci){1, 2, 3, 4}; /* has_vf is not set */
    memset(bytes, 0x55, sizeof bytes);
    assert_int_equal(oneib_grants_pack(&message, bytes), length);
    assert_memory_equal(bytes, clean, length);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void another_length_is_refused(void **state)
{
    (void)state;
    void (*const make[])(void) = {make_life, make_challenge, make_want};
    for (size_t i = 0; i < 3; i++) {
        make[i]();
        const size_t length = assert_taken();
        for (size_t shorter = 0; shorter < length; shorter++)
            assert_int_equal(unpack(bytes, shorter), -1);
        assert_int_equal(unpack(bytes, length + 1), -1);
    }
    make_list(2);
    size_t length = assert_taken();
    for (size_t shorter = 0; shorter < length; shorter++)
        assert_int_equal(unpack(bytes, shorter), -1);
    assert_int_equal(unpack(bytes, length + 64), -1);
    make_report(2);
    length = assert_taken();
    assert_int_equal(unpack(bytes, length - 72), -1);
    assert_int_equal(unpack(bytes, length + 72), -1);
}

static void a_count_beyond_what_there_is_is_refused(void **state)
{
    (void)state;
    make_list(1);
    const size_t length = assert_taken(), count = 4 + 32 + 16 + 8;
    for (int i = 0; i < 4; i++) {
        bytes[count + i] ^= 0x80;
        assert_int_equal(unpack(bytes, length), -1);
        bytes[count + i] ^= 0x80;
    }
    assert_int_equal(unpack(bytes, length), 0);
}

static void more_grants_than_a_list_holds_are_refused_though_they_are_there(void **state)
{
    (void)state;
    static uint8_t longer[ONEIB_GRANTS_MESSAGE_MAX + 4096];
    make_list(2);
    const size_t two = assert_taken();
    make_list(ONEIB_GRANTS_MAX);
    const size_t length = assert_taken(), count = 4 + 32 + 16 + 8;
    const size_t size = two - count - 4 - (two - count - 4) / 2;
    memcpy(longer, bytes, length);
    memset(longer + length, 0xff, size);
    longer[count + 2] = (ONEIB_GRANTS_MAX + 1) >> 8;
    longer[count + 3] = (ONEIB_GRANTS_MAX + 1) & 0xff;
    assert_int_equal(unpack(longer, length + size), -1);
    assert_non_null(strstr(err.text, "its length"));
}

static void the_ends_of_each_range_are_taken(void **state)
{
    (void)state;
    make_list(1);
    struct oneib_grant *grant = &message.list.grants.items[0];
    *grant = (struct oneib_grant){.vm_id = INT32_MAX,
                                  .network_id = INT32_MAX,
                                  .nic_id = 255,
                                  .port = 254,
                                  .pkey = ONEIB_PKEY_LAST,
                                  .has_vf = true,
                                  .vf = {0xffff, 0xff, 31, 7},
                                  .guid = oneib_guid_encode(3, INT32_MAX, 255)};
    memset(grant->device, 'm', ONEIB_DEVICE_NAME_SIZE - 1);
    message.list.role.sm_lid = 0xbfff;
    assert_taken();
    grant->pkey = ONEIB_PKEY_FIRST;
    message.list.role.sm_lid = 1;
    assert_taken();
    make_report(1);
    struct oneib_vf_record *record = &message.report.records[0];
    record->stage = ONEIB_VF_RELEASING;
    record->since = INT64_MAX;
    assert_taken();
    record->stage = ONEIB_VF_PREPARING;
    record->pkey = record->since = 0;
    assert_taken();
}

static void another_version_or_kind_is_refused(void **state)
{
    (void)state;
    make_challenge();
    const size_t length = assert_taken();
    bytes[0] = 1;
    assert_int_equal(unpack(bytes, length), -1);
    assert_non_null(strstr(err.text, "version 1"));
    bytes[0] = ONEIB_GRANTS_VERSION;
    for (unsigned kind = 0; kind < 256; kind++) {
        bytes[1] = (uint8_t)kind;
        assert_int_equal(unpack(bytes, length), kind == ONEIB_GRANTS_CHALLENGE ? 0 : -1);
    }
}

/* Whatever bit is turned: what is still taken says something else, and nothing is not looked at. */
static void every_bit_has_a_meaning(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        if (kind == 0)
            make_list(2);
        else
            make_report(2);
        const size_t length = assert_taken();
        for (size_t bit = 0; bit < length * 8; bit++) {
            static uint8_t turned[4096], again[ONEIB_GRANTS_MESSAGE_MAX];
            memcpy(turned, bytes, length);
            turned[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (unpack(turned, length) < 0)
                continue;
            assert_int_equal(oneib_grants_pack(&taken, again), length);
            assert_memory_equal(again, turned, length);
        }
    }
}

#define GRANT message.list.grants.items[1]
#define REFUSE_GRANT(change, why)                                                                  \
    do {                                                                                           \
        make_list(3);                                                                              \
        change;                                                                                    \
        assert_refused(why);                                                                       \
    } while (0)

static void a_grant_that_cannot_be_is_refused(void **state)
{
    (void)state;
    REFUSE_GRANT(GRANT.port = 0, "a port");
    REFUSE_GRANT(GRANT.port = 255, "a port");
    REFUSE_GRANT(GRANT.pkey = 0, "a P_Key");
    REFUSE_GRANT(GRANT.pkey = ONEIB_PKEY_DEFAULT, "a P_Key");
    REFUSE_GRANT(GRANT.pkey = 0x8005, "a P_Key");
    REFUSE_GRANT(GRANT.device[0] = '\0', "an adapter's name");
    REFUSE_GRANT(strcpy(GRANT.device, "../mlx4_0"), "an adapter's name");
    REFUSE_GRANT(strcpy(GRANT.device, ".."), "an adapter's name");
    REFUSE_GRANT(memset(GRANT.device, 'm', ONEIB_DEVICE_NAME_SIZE), "an adapter's name");
    REFUSE_GRANT(GRANT.vm_id = 0x80000000, "a VM");
    REFUSE_GRANT(GRANT.network_id = UINT32_MAX, "a network");
    REFUSE_GRANT((GRANT.has_vf = true, GRANT.vf.slot = 32), "a virtual function's address");
    REFUSE_GRANT((GRANT.has_vf = true, GRANT.vf.function = 8), "a virtual function's address");
    REFUSE_GRANT(GRANT.guid = 0, "a GUID");
    REFUSE_GRANT(GRANT.guid = 0x0002c90300112233, "a GUID");
    REFUSE_GRANT(GRANT.guid = oneib_guid_encode(3, 4711, 1), "a GUID");
    REFUSE_GRANT(GRANT.guid = oneib_guid_encode(3, 40, 2), "a GUID");
}

static void grants_out_of_order_or_twice_are_refused(void **state)
{
    (void)state;
    REFUSE_GRANT(GRANT = grant(40, 0), "order");
    REFUSE_GRANT(GRANT = grant(39, 255), "order");
    REFUSE_GRANT(GRANT = grant(41, 0), "order");
}

static void a_list_without_a_name_is_refused(void **state)
{
    (void)state;
    REFUSE_GRANT(message.list.name.instance = 0, "name");
    REFUSE_GRANT(message.list.name.serial = 0, "name");
    make_life();
    message.life.name.instance = 0;
    assert_refused("name");
    make_report(0);
    message.report.follows.serial = 0;
    assert_refused("name");
    make_report(0);
    message.report.follows.instance = 0;
    assert_refused("name");
}

static void a_subnet_manager_without_a_lid_is_refused(void **state)
{
    (void)state;
    REFUSE_GRANT(message.list.role.sm_lid = 0, "LID");
    REFUSE_GRANT(message.list.role.sm_lid = 0xc000, "LID"); /* multicast */
    REFUSE_GRANT(message.list.role.has_sm = false, "LID");
}

#define RECORD message.report.records[1]
#define REFUSE_RECORD(change, why)                                                                 \
    do {                                                                                           \
        make_report(3);                                                                            \
        change;                                                                                    \
        assert_refused(why);                                                                       \
    } while (0)

static void a_record_that_cannot_be_is_refused(void **state)
{
    (void)state;
    REFUSE_RECORD(RECORD.vf.slot = 32, "a virtual function's address");
    REFUSE_RECORD(RECORD.device[0] = '\0', "an adapter's name");
    REFUSE_RECORD(RECORD.port = 0, "a port");
    REFUSE_RECORD(RECORD.pkey = ONEIB_PKEY_DEFAULT, "a P_Key");
    REFUSE_RECORD(RECORD.pkey = 0, "a stage"); /* it is open */
    REFUSE_RECORD(RECORD.stage = (enum oneib_vf_stage)5, "a stage");
    REFUSE_RECORD(RECORD.guid = (enum oneib_vf_guid)3, "a GUID's state");
    REFUSE_RECORD(RECORD.since = -1, "a time");
    REFUSE_RECORD(RECORD.vm_id = 0x80000000, "a VM");
}

static void a_table_with_something_twice_is_refused(void **state)
{
    (void)state;
    REFUSE_RECORD(RECORD.vf = message.report.records[0].vf, "order");
    REFUSE_RECORD(RECORD.vf = message.report.records[2].vf, "order");
    REFUSE_RECORD(RECORD.vm_id = message.report.records[2].vm_id, "twice");
    REFUSE_RECORD(message.report.records[2].vm_id = message.report.records[0].vm_id, "twice");
}

static void ports_out_of_order_twice_or_too_many_are_refused(void **state)
{
    (void)state;
    make_report(1);
    message.report.ports[1] = message.report.ports[0];
    assert_refused("the order of its ports");
    make_report(1);
    message.report.ports[0].port_guid = 0;
    assert_refused("the order of its ports");
    make_report(1);
    message.report.ports[0].port = 0;
    assert_refused("a port");
    make_report(1);
    message.report.ports[0].device[0] = '/';
    assert_refused("an adapter's name");
    make_report(1);
    message.report.ports[0].driver = (enum oneib_hca_driver)(ONEIB_HCA_MLX5 + 1);
    assert_refused("an adapter's driver");
    make_report(1);
    const size_t length = oneib_grants_pack(&message, bytes);
    bytes[HEAD_AND_NAME + 1] = ONEIB_HOST_PORTS_MAX + 1;
    assert_int_equal(unpack(bytes, length), -1);
    assert_non_null(strstr(err.text, "how many ports it has"));
}

static void only_oneibd_says_lists_and_signs_of_life(void **state)
{
    (void)state;
    assert_true(oneib_grants_is_from_daemon(ONEIB_GRANTS_LIST));
    assert_true(oneib_grants_is_from_daemon(ONEIB_GRANTS_LIFE));
    assert_false(oneib_grants_is_from_daemon(ONEIB_GRANTS_REPORT));
    assert_false(oneib_grants_is_from_daemon(ONEIB_GRANTS_CHALLENGE));
    assert_false(oneib_grants_is_from_daemon(ONEIB_GRANTS_WANT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_taken_as_they_were),
        cmocka_unit_test(reports_are_taken_as_they_were),
        cmocka_unit_test(the_fullest_are_one_message),
        cmocka_unit_test(the_small_ones_are_taken_as_they_were),
        cmocka_unit_test(numbers_are_big_endian_and_begin_with_version_and_kind),
        cmocka_unit_test(nothing_of_the_senders_memory_leaves_it),
        cmocka_unit_test(another_length_is_refused),
        cmocka_unit_test(a_count_beyond_what_there_is_is_refused),
        cmocka_unit_test(more_grants_than_a_list_holds_are_refused_though_they_are_there),
        cmocka_unit_test(the_ends_of_each_range_are_taken),
        cmocka_unit_test(another_version_or_kind_is_refused),
        cmocka_unit_test(every_bit_has_a_meaning),
        cmocka_unit_test(a_grant_that_cannot_be_is_refused),
        cmocka_unit_test(grants_out_of_order_or_twice_are_refused),
        cmocka_unit_test(a_list_without_a_name_is_refused),
        cmocka_unit_test(a_subnet_manager_without_a_lid_is_refused),
        cmocka_unit_test(a_record_that_cannot_be_is_refused),
        cmocka_unit_test(a_table_with_something_twice_is_refused),
        cmocka_unit_test(ports_out_of_order_twice_or_too_many_are_refused),
        cmocka_unit_test(only_oneibd_says_lists_and_signs_of_life),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
