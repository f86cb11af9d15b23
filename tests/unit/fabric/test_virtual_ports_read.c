// SPDX-License-Identifier: Apache-2.0
/*
 * Virtual ports by SMP, to the proof that they are what they seem. The adapter is a stand-in behind
 * oneib_mad_run(): nobody has seen how firmware answers, and each guess about it is a switch here.
 * With the wrong one nothing that was read may count.
 */
#include "fabric/fabric_internal.h"
#include "fabric/virtual_ports_read.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOST UINT64_C(0x0002c90300000001)
#define OTHER_HOST UINT64_C(0x0002c90300000002)
#define VM_A UINT64_C(0x0200070000000100)
#define VM_B UINT64_C(0x0200070000000200)
#define VM_C UINT64_C(0x0200070000000300)
#define KEY_A 5
#define KEY_B 6
#define FULL 0x8000
#define DEFAULT 0x7fff
#define VPORTS 4
#define CAP 64
#define ACTIVE 4
#define DOWN 1

/* ---- the stand-in for adapters --------------------------------------------------------------- */

/* How its firmware takes what is asked. */
enum layout {
    AS_GUESSED,
    VPORT_IN_LOWER_HALF, /* of a table's modifier, the block in the upper one */
    VPORT_IN_UPPER_HALF, /* of VPortInfo's and VNodeInfo's too */
    VPORT_FROM_ONE,      /* the first virtual port is number 1 */
    ONE_TABLE_FOR_ALL,   /* tables are the physical port's, whatever is asked */
    GUID_ELSEWHERE,      /* VPortInfo has its GUID where oneib looks for the profile */
    BYTES_SWAPPED,       /* keys are little endian */
    NO_SUCH_ATTRIBUTES,  /* status: not supported */
    SILENT,              /* no answer at all */
    SWITCHED_OFF,        /* virtual ports are */
};

struct vport {
    oneib_guid guid;
    uint8_t state;
    uint16_t keys[CAP];
};

struct adapter {
    oneib_guid guid;
    uint16_t top; /* VirtualizationInfo's highest index */
    uint16_t cap;
    struct vport vports[VPORTS]; /* 0 is the physical function itself */
};

static struct adapter adapters[2];
static enum layout layout;
static size_t asked;

static const struct vport *vport_numbered(const struct adapter *adapter, uint32_t number)
{
    static const struct vport nobody;
    number -= layout == VPORT_FROM_ONE;
    return number < VPORTS ? &adapter->vports[number] : &nobody;
}

static uint32_t number_in(const struct oneib_mad_request *request)
{
    return layout == VPORT_IN_UPPER_HALF ? request->modifier >> 16 : request->modifier;
}

static void put_table(const struct adapter *adapter, uint32_t modifier, uint8_t *data)
{
    const bool is_swapped = layout == VPORT_IN_LOWER_HALF;
    const uint32_t number = is_swapped ? modifier & 0xffff : modifier >> 16;
    const uint32_t block = is_swapped ? modifier >> 16 : modifier & 0xffff;
    const struct vport *vport =
        layout == ONE_TABLE_FOR_ALL ? &adapter->vports[0] : vport_numbered(adapter, number);
    for (unsigned i = 0; i < 32 && block * 32 + i < CAP; i++) {
        const uint16_t key = vport->keys[block * 32 + i];
        oneib_put16(data + (size_t)2 * i,
                    layout == BYTES_SWAPPED ? (uint16_t)(key << 8 | key >> 8) : key);
    }
}

static void put_vport(const struct vport *vport, uint8_t *data)
{
    data[0] = (uint8_t)(vport->state << 4);
    oneib_put64(data + (layout == GUID_ELSEWHERE ? 20 : 12), vport->guid);
}

static void put_answer(const struct adapter *adapter, const struct oneib_mad_request *request,
                       uint8_t *data)
{
    switch (request->attribute) {
    case 0xffb0:
        oneib_put16(data, 127);
        oneib_put16(data + 2, adapter->top);
        data[4] = layout == SWITCHED_OFF ? 0x40 : 0xc0;
        break;
    case 0xffb1:
        put_vport(vport_numbered(adapter, number_in(request)), data);
        break;
    case 0xffb2:
        oneib_put16(data, adapter->cap);
        break;
    default:
        assert_int_equal(request->attribute, 0xffb6);
        put_table(adapter, request->modifier, data);
    }
}

int oneib_mad_run(struct oneib_mad_port *mad_port, const struct oneib_mad_exchange *exchange,
                  struct oneib_error *err)
{
    struct oneib_mad_request request;
    (void)mad_port;
    while (exchange->next(exchange->context, &request)) {
        uint8_t mad[IB_MAD_SIZE] = {0};
        struct oneib_mad_answer got = {.request = &request, .mad = mad, .length = sizeof mad};
        const struct adapter *adapter = &adapters[request.lid - 1];
        asked++;
        assert_int_equal(request.mgmt_class, IB_SMI_CLASS);
        assert_int_equal(request.method, IB_MAD_METHOD_GET);
        assert_true(request.to == adapter->guid);
        if (layout == SILENT)
            got.error = ETIMEDOUT;
        else if (layout == NO_SUCH_ATTRIBUTES)
            got.status = 0x000c;
        else
            put_answer(adapter, &request, mad + IB_SMP_DATA_OFFS);
        if (exchange->take(exchange->context, &got, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- what reading tables again is linked with, and does not call ----------------------------- */

int oneib_m_key_file_renew(struct oneib_m_key_file *file, struct oneib_error *err)
{
    (void)file;
    (void)err;
    return 0;
}

int oneib_fabric_require_sm(struct oneib_fabric *fabric, struct oneib_error *err)
{
    (void)fabric;
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "nobody asks this here");
}

int oneib_note_master(struct oneib_subnet *of, uint16_t sm_lid, struct oneib_error *err)
{
    (void)of;
    (void)sm_lid;
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "nobody asks this here");
}

int oneib_check_visibility(const struct oneib_subnet *of, oneib_guid own, struct oneib_error *err)
{
    (void)of;
    (void)own;
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "nobody asks this here");
}

int oneib_list_ports(struct oneib_fabric *fabric, struct oneib_subnet *of, bool *from_sa,
                     struct oneib_error *err)
{
    (void)fabric;
    (void)of;
    (void)from_sa;
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "nobody asks this here");
}

int oneib_sa_node_of_lid(struct oneib_fabric *fabric, struct oneib_subnet_port *port,
                         struct oneib_error *err)
{
    (void)fabric;
    (void)port;
    return oneib_fail(err, ONEIB_ERROR_SYSTEM, "nobody asks this here");
}

/* ---- the scene ------------------------------------------------------------------------------- */

static struct oneib_subnet subnet;
static struct oneib_vport_report reports[8];
static size_t report_count;

static struct vport make_vport(oneib_guid guid, uint16_t first, uint16_t second)
{
    return (struct vport){.guid = guid, .state = ACTIVE, .keys = {first, second}};
}

static void report(oneib_guid port, oneib_guid guid, oneib_pkey pkey)
{
    reports[report_count++] = (struct oneib_vport_report){port, guid, pkey};
}

/* Two hosts; on the first VMs of two clusters, on the second one of the first cluster's. */
static int begin(void **state)
{
    (void)state;
    layout = AS_GUESSED;
    asked = report_count = 0;
    adapters[0] = (struct adapter){HOST,
                                   3,
                                   CAP,
                                   {make_vport(HOST, DEFAULT, 0),
                                    make_vport(VM_A, FULL | KEY_A, DEFAULT),
                                    make_vport(VM_B, FULL | KEY_B, DEFAULT),
                                    {.guid = UINT64_MAX, .state = DOWN}}};
    adapters[1] = (struct adapter){
        OTHER_HOST,
        1,
        CAP,
        {make_vport(OTHER_HOST, DEFAULT, 0), make_vport(VM_C, FULL | KEY_A, DEFAULT)}};
    oneib_subnet_clear(&subnet);
    subnet = (struct oneib_subnet){.ports = calloc(4, sizeof *subnet.ports), .port_capacity = 4};
    assert_non_null(subnet.ports);
    for (uint16_t i = 0; i < 2; i++)
        subnet.ports[subnet.port_count++] =
            (struct oneib_subnet_port){.guid = adapters[i].guid,
                                       .node_guid = adapters[i].guid + 0x100,
                                       .lid = (uint16_t)(i + 1),
                                       .node_type = ONEIB_NODE_CA,
                                       .answered = true};
    report(HOST, VM_A, KEY_A);
    report(OTHER_HOST, VM_C, KEY_A);
    report(HOST, VM_B, KEY_B);
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_subnet_clear(&subnet);
    return 0;
}

static struct oneib_vport_result look(void)
{
    struct oneib_fabric fabric = {0};
    struct oneib_error err = {0};
    struct oneib_vport_reading reading = {0};
    struct oneib_vport_result result = {0};
    if (oneib_fabric_read_vports(&fabric, &subnet, reports, report_count, &reading, &err) < 0)
        fail_msg("%s", err.text);
    oneib_vports_add(&reading, reports, report_count, &subnet, &result);
    oneib_vport_reading_clear(&reading);
    return result;
}

/* Not verified, and nothing is in the subnet that was not before. */
static void assert_unproven(enum oneib_vport_proof proof)
{
    const struct oneib_vport_result result = look();
    assert_int_equal(result.proof, proof);
    assert_int_equal(result.added, 0);
    assert_int_equal(subnet.port_count, 2);
}

static const struct oneib_subnet_port *read_port(oneib_guid guid)
{
    const struct oneib_subnet_port *port = oneib_subnet_find(&subnet, guid);
    if (!port)
        fail_msg("0x%016llx is not in the subnet", (unsigned long long)guid);
    return port;
}

/* ---- what is right --------------------------------------------------------------------------- */

static void virtual_ports_that_show_what_hosts_reported_become_ports(void **state)
{
    (void)state;
    adapters[0].vports[2].keys[40] = FULL | 77;
    const struct oneib_vport_result result = look();
    assert_int_equal(result.proof, ONEIB_VPORTS_PROVEN);
    assert_int_equal(result.owners, 2);
    assert_int_equal(result.believed, 2);
    assert_int_equal(result.added, 3);
    assert_int_equal(subnet.port_count, 5);
    const struct oneib_subnet_port *port = read_port(VM_B);
    assert_true(port->answered);
    assert_int_equal(port->partition_cap, CAP);
    assert_int_equal(port->pkeys[0], FULL | KEY_B);
    assert_int_equal(port->pkeys[1], DEFAULT);
    assert_int_equal(port->pkeys[40], FULL | 77);
    assert_int_equal(port->lid, 1);
    assert_true(read_port(VM_C)->answered);
}

/* Whoever has a key that is not his is found by the comparison with the partitions. */
static void a_key_too_many_is_a_deviation_like_any_ports(void **state)
{
    (void)state;
    static const char text[] = "Default=0x7fff,ipoib:ALL=limited;\n"
                               "a=0x0005,indx0:0x0200070000000100=full,0x0200070000000300=full;\n"
                               "b=0x0006,indx0:0x0200070000000200=full;\n";
    struct oneib_partition_table table = {0};
    struct oneib_verification verification;
    struct oneib_error err = {0};
    adapters[1].vports[1].keys[9] = FULL | KEY_B;
    look();
    if (oneib_partitions_parse(text, strlen(text), "test", &table, &err) < 0)
        fail_msg("%s", err.text);
    oneib_subnet_verify(&subnet, &table, &verification);
    size_t found = 0;
    for (size_t i = 0; i < verification.count; i++)
        if (oneib_is_virtual_port(0, verification.items[i].port_guid)) {
            assert_int_equal(verification.items[i].kind, ONEIB_KEY_EXCESS);
            assert_true(verification.items[i].port_guid == VM_C);
            assert_int_equal(verification.items[i].found, FULL | KEY_B);
            found++;
        }
    assert_int_equal(found, 1);
    assert_int_equal(verification.members_unverified, 0);
    oneib_verification_clear(&verification);
    oneib_partition_table_clear(&table);
}

static void a_port_that_does_not_show_what_its_host_reported_is_left_out_alone(void **state)
{
    (void)state;
    adapters[1].vports[1].guid = VM_C + 1;
    const struct oneib_vport_result result = look();
    assert_int_equal(result.proof, ONEIB_VPORTS_PROVEN);
    assert_int_equal(result.owners, 2);
    assert_int_equal(result.believed, 1);
    assert_int_equal(result.added, 2);
    assert_null(oneib_subnet_find(&subnet, VM_C + 1));
}

static void a_port_of_which_its_host_reports_nothing_is_left_out(void **state)
{
    (void)state;
    report_count = 0;
    report(HOST, VM_A, KEY_A);
    report(HOST, VM_B, KEY_B);
    assert_int_equal(look().added, 2);
    assert_null(oneib_subnet_find(&subnet, VM_C));
    /* VirtualizationInfo; of four virtual ports VPortInfo, VNodeInfo and two blocks. */
    assert_int_equal(asked, 1 + 4 * 4);
}

static struct oneib_vport_reading read_both(void)
{
    struct oneib_fabric fabric = {0};
    struct oneib_error err = {0};
    struct oneib_vport_reading reading = {0};
    if (oneib_fabric_read_vports(&fabric, &subnet, reports, report_count, &reading, &err) < 0)
        fail_msg("%s", err.text);
    return reading;
}

static struct oneib_vport_result add(struct oneib_vport_reading *reading)
{
    struct oneib_vport_result result = {0};
    oneib_vports_add(reading, reports, report_count, &subnet, &result);
    oneib_vport_reading_clear(reading);
    return result;
}

/* Nobody has reported, since it was read, what its virtual ports should be. */
static void a_port_that_was_read_and_is_not_reported_any_more_is_left_out(void **state)
{
    (void)state;
    struct oneib_vport_reading reading = read_both();
    report_count = 0;
    report(HOST, VM_A, KEY_A);
    report(HOST, VM_B, KEY_B);
    const struct oneib_vport_result result = add(&reading);
    assert_int_equal(result.proof, ONEIB_VPORTS_PROVEN);
    assert_int_equal(result.owners, 1);
    assert_int_equal(result.believed, 1);
    assert_int_equal(result.added, 2);
    assert_null(oneib_subnet_find(&subnet, VM_C));
}

static void ports_that_nobody_reports_are_no_answer(void **state)
{
    (void)state;
    struct oneib_vport_reading reading = read_both();
    report_count = 0;
    report(HOST + 0x1000, VM_A, KEY_A);
    const struct oneib_vport_result result = add(&reading);
    assert_int_equal(result.proof, ONEIB_VPORTS_NO_ANSWER);
    assert_int_equal(result.added, 0);
}

static void a_table_of_which_a_part_is_lacking_does_not_count_as_read(void **state)
{
    (void)state;
    struct oneib_vport_reading reading = read_both();
    for (size_t i = 0; i < reading.count; i++)
        for (size_t j = 0; j < reading.items[i].count; j++)
            if (reading.items[i].items[j].guid == VM_C)
                reading.items[i].items[j].blocks_due = 1;
    assert_int_equal(add(&reading).added, 3);
    assert_false(read_port(VM_C)->answered);
    assert_true(read_port(VM_A)->answered);
}

/* After a host that was not fenced: of the two nobody knows which is meant. */
static void of_two_with_one_guid_neither_counts_as_read(void **state)
{
    (void)state;
    adapters[1].vports[0] = make_vport(VM_A, FULL | KEY_A, 0);
    assert_int_equal(look().proof, ONEIB_VPORTS_PROVEN);
    size_t twins = 0;
    for (size_t i = 0; i < subnet.port_count; i++)
        if (subnet.ports[i].guid == VM_A) {
            assert_false(subnet.ports[i].answered);
            twins++;
        }
    assert_int_equal(twins, 2);
    assert_true(read_port(VM_B)->answered);
}

/* ---- again ----------------------------------------------------------------------------------- */

static void read_again(oneib_guid guid)
{
    struct oneib_fabric fabric = {0};
    struct oneib_error err = {0};
    const size_t index = (size_t)(read_port(guid) - subnet.ports);
    if (oneib_fabric_read_tables(&fabric, &subnet, &index, 1, &err) < 0)
        fail_msg("%s", err.text);
}

/* As after a change: through its owner, its own table. */
static void a_table_that_is_read_again_is_the_virtual_ports(void **state)
{
    (void)state;
    look();
    adapters[0].vports[2].keys[40] = FULL | 77;
    asked = 0;
    read_again(VM_B);
    assert_int_equal(asked, 3); /* VPortInfo, two blocks */
    assert_true(read_port(VM_B)->answered);
    assert_int_equal(read_port(VM_B)->pkeys[0], FULL | KEY_B);
    assert_int_equal(read_port(VM_B)->pkeys[40], FULL | 77);
}

/* Another VM's by now, or nobody's: what is there says nothing of the one that was. */
static void a_number_that_has_another_guid_or_is_down_has_not_answered(void **state)
{
    (void)state;
    look();
    adapters[0].vports[2].guid = VM_B + 1;
    read_again(VM_B);
    assert_false(read_port(VM_B)->answered);
    assert_null(read_port(VM_B)->pkeys);
    adapters[0].vports[1].state = DOWN;
    read_again(VM_A);
    assert_false(read_port(VM_A)->answered);
    adapters[0].vports[1].state = ACTIVE;
    read_again(VM_A);
    assert_true(read_port(VM_A)->answered);
}

/* ---- the self-test --------------------------------------------------------------------------- */

static void with_a_wrong_layout_nothing_counts(void **state)
{
    static const struct {
        enum layout layout;
        enum oneib_vport_proof proof;
    } wrong[] = {
        {VPORT_IN_LOWER_HALF, ONEIB_VPORTS_NO_KEYS},  {VPORT_IN_UPPER_HALF, ONEIB_VPORTS_NO_GUIDS},
        {ONE_TABLE_FOR_ALL, ONEIB_VPORTS_NO_KEYS},    {GUID_ELSEWHERE, ONEIB_VPORTS_NO_GUIDS},
        {BYTES_SWAPPED, ONEIB_VPORTS_NO_KEYS},        {VPORT_FROM_ONE, ONEIB_VPORTS_NO_GUIDS},
        {NO_SUCH_ATTRIBUTES, ONEIB_VPORTS_NO_ANSWER}, {SILENT, ONEIB_VPORTS_NO_ANSWER},
        {SWITCHED_OFF, ONEIB_VPORTS_NO_ANSWER},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        begin(state);
        /* With a place to spare it would only be another number: then the last one is missed. */
        adapters[0].top = 2;
        layout = wrong[i].layout;
        assert_unproven(wrong[i].proof);
        end(state);
    }
    begin(state);
}

static void without_reports_nothing_is_proved(void **state)
{
    (void)state;
    report_count = 0;
    assert_unproven(ONEIB_VPORTS_NONE_REPORTED);
}

/* Two of one cluster look alike, whatever their tables are. */
static void guids_alone_prove_no_table(void **state)
{
    (void)state;
    report_count = 0;
    adapters[0].vports[2].keys[0] = FULL | KEY_A;
    report(HOST, VM_A, KEY_A);
    report(HOST, VM_B, KEY_A);
    report(OTHER_HOST, VM_C, KEY_A);
    assert_unproven(ONEIB_VPORTS_NO_KEYS);
}

static void a_virtual_port_that_is_down_shows_no_guid(void **state)
{
    (void)state;
    adapters[0].vports[1].state = DOWN;
    adapters[1].vports[1].state = DOWN;
    assert_unproven(ONEIB_VPORTS_NO_GUIDS);
}

/* ---- hostile answers ------------------------------------------------------------------------- */

static void an_adapter_that_says_more_than_can_be_is_left_out(void **state)
{
    (void)state;
    adapters[0].top = adapters[1].top = UINT16_MAX;
    assert_unproven(ONEIB_VPORTS_NO_ANSWER);
    assert_int_equal(asked, 2);
    end(state);
    begin(state);
    adapters[0].cap = adapters[1].cap = UINT16_MAX;
    assert_unproven(ONEIB_VPORTS_NO_KEYS);
    end(state);
    begin(state);
    adapters[0].cap = adapters[1].cap = 0;
    assert_unproven(ONEIB_VPORTS_NO_KEYS);
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        IN_SCENE(virtual_ports_that_show_what_hosts_reported_become_ports),
        IN_SCENE(a_key_too_many_is_a_deviation_like_any_ports),
        IN_SCENE(a_port_that_does_not_show_what_its_host_reported_is_left_out_alone),
        IN_SCENE(a_port_of_which_its_host_reports_nothing_is_left_out),
        IN_SCENE(a_port_that_was_read_and_is_not_reported_any_more_is_left_out),
        IN_SCENE(ports_that_nobody_reports_are_no_answer),
        IN_SCENE(a_table_of_which_a_part_is_lacking_does_not_count_as_read),
        IN_SCENE(of_two_with_one_guid_neither_counts_as_read),
        IN_SCENE(a_table_that_is_read_again_is_the_virtual_ports),
        IN_SCENE(a_number_that_has_another_guid_or_is_down_has_not_answered),
        IN_SCENE(with_a_wrong_layout_nothing_counts),
        IN_SCENE(without_reports_nothing_is_proved),
        IN_SCENE(guids_alone_prove_no_table),
        IN_SCENE(a_virtual_port_that_is_down_shows_no_guid),
        IN_SCENE(an_adapter_that_says_more_than_can_be_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
