// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a subnet in which ports are not who they should be. opensm ends where it finds one GUID
 * twice (opensm(8), --stay_on_fatal), and a LID that changes hands in mid-reading is a matter of
 * luck. So what subnet_read.c asks of the wire and of the SA has stand-ins here: the SA's list is
 * `listed`, and whoever has a LID answers there for itself.
 */
#include "fabric/fabric_internal.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ONE UINT64_C(0x0002c90300000001)
#define TWO UINT64_C(0x0002c90300000002)
#define THREE UINT64_C(0x0002c90300000003)
#define PORTS_MAX 8
#define CAP 64

/* A port as it answers, and who the SA says is at its LID. */
struct port {
    uint16_t lid;
    oneib_guid guid;   /* that it says itself; 0: it says nothing at all */
    oneib_guid listed; /* that the SA says */
    uint16_t key;      /* in its table */
};

static struct port ports[PORTS_MAX];
static size_t port_count;
static struct oneib_subnet subnet;

static struct port *port_at(uint16_t lid)
{
    for (size_t i = 0; i < port_count; i++)
        if (ports[i].lid == lid)
            return &ports[i];
    return NULL;
}

/* ---- stand-ins for the rest of core/fabric --------------------------------------------------- */

int oneib_fabric_require_sm(struct oneib_fabric *fabric, struct oneib_error *err)
{
    (void)fabric, (void)err;
    return 0;
}

int oneib_m_key_file_renew(struct oneib_m_key_file *file, struct oneib_error *err)
{
    (void)file, (void)err;
    return 0;
}

int oneib_note_master(struct oneib_subnet *of, uint16_t sm_lid, struct oneib_error *err)
{
    (void)of, (void)sm_lid, (void)err;
    return 0;
}

int oneib_check_visibility(const struct oneib_subnet *of, oneib_guid own, struct oneib_error *err)
{
    (void)of, (void)own, (void)err;
    return 0;
}

int oneib_list_ports(struct oneib_fabric *fabric, struct oneib_subnet *of, bool *from_sa,
                     struct oneib_error *err)
{
    (void)fabric, (void)err;
    of->ports = calloc(PORTS_MAX, sizeof *of->ports);
    assert_non_null(of->ports);
    *from_sa = true;
    for (size_t i = 0; i < port_count; i++)
        of->ports[of->port_count++] = (struct oneib_subnet_port){.lid = ports[i].lid,
                                                                 .guid = ports[i].listed,
                                                                 .node_type = ONEIB_NODE_CA,
                                                                 .port_number = 1,
                                                                 .partition_cap = CAP,
                                                                 .description = "node"};
    return 0;
}

int oneib_sa_node_of_lid(struct oneib_fabric *fabric, struct oneib_subnet_port *port,
                         struct oneib_error *err)
{
    (void)fabric, (void)err;
    fail_msg("LID %u was listed, and the SA is asked for it again", port->lid);
    return 0;
}

static void answer(const struct port *port, const struct oneib_mad_request *request, uint8_t *data)
{
    if (request->attribute == IB_ATTR_NODE_INFO) {
        mad_set_field(data, 0, IB_NODE_TYPE_F, ONEIB_NODE_CA);
        mad_set_field64(data, 0, IB_NODE_GUID_F, port->guid + 0x100);
        mad_set_field64(data, 0, IB_NODE_PORT_GUID_F, port->guid);
        mad_set_field(data, 0, IB_NODE_LOCAL_PORT_F, 1);
        mad_set_field(data, 0, IB_NODE_PARTITION_CAP_F, CAP);
        mad_set_field(data, 0, IB_NODE_VENDORID_F, 0x02c9);
        mad_set_field(data, 0, IB_NODE_DEVID_F, 0x1013);
    } else if (request->attribute == IB_ATTR_PORT_INFO) {
        mad_set_field(data, 0, IB_PORT_LID_F, port->lid);
    } else if (request->attribute == IB_ATTR_PKEY_TBL && request->modifier == 0) {
        oneib_put16(data, 0x7fff);
        oneib_put16(data + 2, port->key);
    }
}

int oneib_mad_run(struct oneib_mad_port *mad_port, const struct oneib_mad_exchange *exchange,
                  struct oneib_error *err)
{
    struct oneib_mad_request request;
    (void)mad_port;
    while (exchange->next(exchange->context, &request)) {
        uint8_t mad[IB_MAD_SIZE] = {0};
        const struct port *port = port_at(request.lid);
        struct oneib_mad_answer got = {.request = &request, .mad = mad, .length = sizeof mad};
        if (port && port->guid)
            answer(port, &request, mad + IB_SMP_DATA_OFFS);
        else
            got.error = ETIMEDOUT;
        if (exchange->take(exchange->context, &got, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- the scene ------------------------------------------------------------------------------- */

static void add(uint16_t lid, oneib_guid guid, oneib_guid listed, uint16_t key)
{
    ports[port_count++] = (struct port){lid, guid, listed, key};
}

static void read_subnet(void)
{
    struct oneib_fabric fabric = {0};
    struct oneib_error err = {0};
    if (oneib_fabric_read(&fabric, &subnet, &err) < 0)
        fail_msg("%s", err.text);
}

static int begin(void **state)
{
    (void)state;
    port_count = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_subnet_clear(&subnet);
    return 0;
}

/* The port of that LID; it must be there. */
static const struct oneib_subnet_port *read_at(uint16_t lid)
{
    for (size_t i = 0; i < subnet.port_count; i++)
        if (subnet.ports[i].lid == lid)
            return &subnet.ports[i];
    fail_msg("no port with LID %u", lid);
    return NULL;
}

static void must_hold(uint16_t lid, uint16_t key)
{
    const struct oneib_subnet_port *port = read_at(lid);
    assert_true(port->answered);
    assert_non_null(port->pkeys);
    assert_int_equal(port->pkeys[1], key);
}

static void must_be_unknown(uint16_t lid)
{
    assert_false(read_at(lid)->answered);
    assert_null(read_at(lid)->pkeys);
}

/* ---- what is told ---------------------------------------------------------------------------- */

static void each_port_has_its_own_table(void **state)
{
    (void)state;
    add(5, ONE, ONE, 0x8101);
    add(6, TWO, TWO, 0x8102);
    read_subnet();
    assert_int_equal(subnet.port_count, 2);
    must_hold(5, 0x8101);
    must_hold(6, 0x8102);
    assert_true(read_at(5)->guid == ONE && read_at(6)->guid == TWO);
    assert_int_equal(read_at(5)->vendor_id, 0x02c9);
    assert_int_equal(read_at(5)->device_id, 0x1013);
}

/* The LID has been given to another port since the SA was asked: its keys are not the first one's.
 */
static void who_answers_at_anothers_lid_says_nothing_about_that_one(void **state)
{
    (void)state;
    add(5, TWO, ONE, 0x8102);
    add(6, THREE, THREE, 0x8103);
    read_subnet();
    assert_int_equal(subnet.port_count, 2);
    assert_true(read_at(5)->guid == ONE);
    must_be_unknown(5);
    must_hold(6, 0x8103);
}

static void the_same_when_tables_are_read_again(void **state)
{
    (void)state;
    struct oneib_fabric fabric = {0};
    struct oneib_error err = {0};
    const size_t first = 0;
    add(5, 0, ONE, 0x8101);
    read_subnet();
    must_be_unknown(5);

    ports[0].guid = TWO; /* another one now */
    assert_int_equal(oneib_fabric_read_tables(&fabric, &subnet, &first, 1, &err), 0);
    must_be_unknown(5);
    ports[0].guid = ONE;
    assert_int_equal(oneib_fabric_read_tables(&fabric, &subnet, &first, 1, &err), 0);
    must_hold(5, 0x8101);
}

static void of_two_ports_with_one_guid_neither_is_believed(void **state)
{
    (void)state;
    add(5, ONE, ONE, 0x8101);
    add(6, TWO, TWO, 0x8102);
    add(7, ONE, ONE, 0x8103);
    read_subnet();
    assert_int_equal(subnet.port_count, 3);
    must_be_unknown(5);
    must_be_unknown(7);
    must_hold(6, 0x8102);
}

static void nor_of_three(void **state)
{
    (void)state;
    add(5, TWO, TWO, 0x8101);
    add(6, TWO, TWO, 0x8102);
    add(7, TWO, TWO, 0x8103);
    add(8, THREE, THREE, 0x8104);
    read_subnet();
    must_be_unknown(5);
    must_be_unknown(6);
    must_be_unknown(7);
    must_hold(8, 0x8104);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_port_has_its_own_table),
        TEST(who_answers_at_anothers_lid_says_nothing_about_that_one),
        TEST(the_same_when_tables_are_read_again),
        TEST(of_two_ports_with_one_guid_neither_is_believed),
        TEST(nor_of_three),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
