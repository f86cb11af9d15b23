// SPDX-License-Identifier: Apache-2.0
#include "cloud_builder.h"

struct fabric {
    struct oneib_subnet subnet;
    struct oneib_partition_table table;
    struct oneib_verification verification;
    struct oneib_error err;
};

static int fabric_make(void **state)
{
    *state = calloc(1, sizeof(struct fabric));
    return *state ? 0 : -1;
}

static int fabric_free(void **state)
{
    struct fabric *fabric = *state;
    oneib_subnet_clear(&fabric->subnet);
    oneib_partition_table_clear(&fabric->table);
    oneib_verification_clear(&fabric->verification);
    free(fabric);
    return 0;
}

#define FABRIC_TEST(function) cmocka_unit_test_setup_teardown(function, fabric_make, fabric_free)

/* An end port with a table of `cap` entries that begins with these `count` keys. */
static void add_end_port(struct fabric *fabric, oneib_guid guid, uint8_t node_type, unsigned cap,
                         const uint16_t *pkeys, size_t count)
{
    struct oneib_subnet *subnet = &fabric->subnet;
    subnet->ports = realloc(subnet->ports, (subnet->port_count + 1) * sizeof *subnet->ports);
    assert_non_null(subnet->ports);
    struct oneib_subnet_port *port = &subnet->ports[subnet->port_count++];
    *port = (struct oneib_subnet_port){
        .guid = guid, .node_type = node_type, .partition_cap = (uint16_t)cap, .answered = true};
    port->pkeys = calloc(cap, sizeof *port->pkeys);
    assert_non_null(port->pkeys);
    memcpy(port->pkeys, pkeys, count * sizeof *pkeys);
}

#define PORT(fabric, guid, type, cap, ...)                                                         \
    add_end_port(fabric, guid, type, cap, (const uint16_t[]){__VA_ARGS__},                         \
                 sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))
#define CA(fabric, guid, ...) PORT(fabric, guid, ONEIB_NODE_CA, 8, __VA_ARGS__)

static struct oneib_partition *partition(struct fabric *fabric, const char *name, unsigned key)
{
    struct oneib_partition *added = oneib_partition_table_add(&fabric->table);
    assert_non_null(added);
    snprintf(added->name, sizeof added->name, "%s", name);
    added->pkey = (oneib_pkey)key;
    return added;
}

static void member(struct fabric *fabric, enum oneib_member_kind kind, oneib_guid guid,
                   enum oneib_membership membership)
{
    struct oneib_partition *last = &fabric->table.items[fabric->table.count - 1];
    oneib_partition_add_member(last, (struct oneib_member){.guid = guid,
                                                           .kind = (uint8_t)kind,
                                                           .membership = (uint8_t)membership});
}

static void default_partition(struct fabric *fabric)
{
    partition(fabric, "Default", 0x7fff);
    member(fabric, ONEIB_MEMBER_ALL, 0, ONEIB_LIMITED);
    member(fabric, ONEIB_MEMBER_SELF, 0, ONEIB_FULL);
}

static const struct oneib_verification *verify(struct fabric *fabric)
{
    oneib_verification_clear(&fabric->verification);
    oneib_subnet_sort(&fabric->subnet);
    oneib_subnet_verify(&fabric->subnet, &fabric->table, &fabric->verification);
    return &fabric->verification;
}

static void assert_deviation(const struct fabric *fabric, size_t index,
                             enum oneib_deviation_kind kind, oneib_guid guid, unsigned expected,
                             unsigned found, unsigned at)
{
    assert_true(index < fabric->verification.count);
    const struct oneib_deviation *deviation = &fabric->verification.items[index];
    assert_string_equal(oneib_deviation_name(kind), oneib_deviation_name(deviation->kind));
    assert_true(guid == deviation->port_guid);
    assert_int_equal(expected, deviation->expected);
    assert_int_equal(found, deviation->found);
    assert_int_equal(at, deviation->index);
}

static void a_subnet_as_it_should_be_has_no_deviation(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 1, 0xffff);
    CA(fabric, 2, 0x7fff, 0x8100, 0x0101);
    CA(fabric, 3, 0x7fff, 0, 0, 0x8100);
    PORT(fabric, 4, ONEIB_NODE_SWITCH, 8, 0x7fff);
    fabric->subnet.sm_port_guid = 1;
    default_partition(fabric);
    partition(fabric, "one1", 0x100);
    member(fabric, ONEIB_MEMBER_GUID, 2, ONEIB_FULL);
    member(fabric, ONEIB_MEMBER_GUID, 3, ONEIB_FULL);
    member(fabric, ONEIB_MEMBER_GUID, 99, ONEIB_FULL);
    partition(fabric, "one2", 0x101);
    member(fabric, ONEIB_MEMBER_GUID, 2, ONEIB_LIMITED);

    const struct oneib_verification *verification = verify(fabric);
    assert_int_equal(0, verification->count);
    assert_int_equal(4, verification->ports);
    assert_int_equal(7, verification->keys);
    assert_int_equal(1, verification->members_off_fabric);
}

/* Nothing is known of it; a port of an adapter that is not there is off the fabric. */
static void a_virtual_port_is_counted_apart_until_it_is_seen(void **state)
{
    struct fabric *fabric = *state;
    const oneib_guid virtual_port = oneib_guid_encode(7, 10, 0);
    CA(fabric, 2, 0x7fff);
    default_partition(fabric);
    partition(fabric, "one1", 0x100);
    member(fabric, ONEIB_MEMBER_GUID, 99, ONEIB_FULL);
    member(fabric, ONEIB_MEMBER_GUID, virtual_port, ONEIB_FULL);
    assert_int_equal(1, verify(fabric)->members_off_fabric);
    assert_int_equal(1, verify(fabric)->members_unverified);
}

static void every_kind_of_deviation_is_found(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 2, 0x7fff, 0x8200, 0x8101, 0x0102);
    CA(fabric, 3, 0x8100, 0x7fff);
    CA(fabric, 4, 0x7fff);
    fabric->subnet.ports[2].answered = false;
    default_partition(fabric);
    for (unsigned key = 0x100; key <= 0x102; key++) {
        partition(fabric, key == 0x100 ? "one0" : key == 0x101 ? "one1" : "one2", key);
        member(fabric, ONEIB_MEMBER_GUID, 2, key == 0x101 ? ONEIB_LIMITED : ONEIB_FULL);
    }
    member(fabric, ONEIB_MEMBER_GUID, 3, ONEIB_FULL);
    fabric->table.items[1].members[0].guid = 2;

    const struct oneib_verification *verification = verify(fabric);
    assert_deviation(fabric, 0, ONEIB_KEY_EXCESS, 2, 0, 0x8200, 1);
    assert_deviation(fabric, 1, ONEIB_KEY_WIDENED, 2, 0x0101, 0x8101, 2);
    assert_deviation(fabric, 2, ONEIB_KEY_ABSENT, 2, 0x8100, 0, 0xffff);
    assert_deviation(fabric, 3, ONEIB_KEY_NARROWED, 2, 0x8102, 0x0102, 3);
    assert_deviation(fabric, 4, ONEIB_KEY_EXCESS, 3, 0, 0x8100, 0);
    assert_deviation(fabric, 5, ONEIB_KEY_ABSENT, 3, 0x8102, 0, 0xffff);
    assert_deviation(fabric, 6, ONEIB_KEY_NOT_FIRST, 3, 0x7fff, 0x8100, 0);
    assert_deviation(fabric, 7, ONEIB_PORT_SILENT, 4, 0, 0, 0xffff);
    assert_int_equal(8, verification->count);
    assert_int_equal(5, verification->violations);
    assert_int_equal(3, verification->differences);
    assert_int_equal(2, verification->ports);
}

static void a_key_in_the_last_slot_of_an_adapter_is_a_violation(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 2, 0x7fff, 0, 0, 0, 0, 0, 0, 0x8100);
    PORT(fabric, 3, ONEIB_NODE_SWITCH, 2, 0x7fff, 0x8100);
    default_partition(fabric);
    partition(fabric, "one1", 0x100);
    member(fabric, ONEIB_MEMBER_GUID, 2, ONEIB_FULL);
    member(fabric, ONEIB_MEMBER_GUID, 3, ONEIB_FULL);
    assert_int_equal(1, verify(fabric)->violations);
    assert_deviation(fabric, 0, ONEIB_KEY_LAST_SLOT, 2, 0x8100, 0x8100, 7);
}

/* Its "unassigned" VFs are at no slot. Another vendor's number may be any adapter's. */
static void the_last_slot_counts_at_adapters_that_may_be_mlx4(void **state)
{
    struct fabric *fabric = *state;
    static const struct {
        uint32_t vendor_id;
        uint16_t device_id;
        oneib_guid owner;
    } adapters[] = {{0x02c9, 0x1013, 0}, {0x02c9, 0xa2d6, 0}, {0x02c9, 0x1007, 0},
                    {0x1234, 0x1013, 0}, {0, 0, 0},           {0, 0, 2}};
    const size_t count = sizeof adapters / sizeof *adapters;
    default_partition(fabric);
    partition(fabric, "one1", 0x100);
    for (size_t i = 0; i < count; i++) {
        const oneib_guid guid = 2 + i;
        CA(fabric, guid, 0x7fff, 0, 0, 0, 0, 0, 0, 0x8100);
        fabric->subnet.ports[i].vendor_id = adapters[i].vendor_id;
        fabric->subnet.ports[i].device_id = adapters[i].device_id;
        fabric->subnet.ports[i].owner = adapters[i].owner;
        member(fabric, ONEIB_MEMBER_GUID, guid, ONEIB_FULL);
    }
    assert_int_equal(3, verify(fabric)->violations);
    assert_deviation(fabric, 0, ONEIB_KEY_LAST_SLOT, 4, 0x8100, 0x8100, 7);
    assert_deviation(fabric, 1, ONEIB_KEY_LAST_SLOT, 5, 0x8100, 0x8100, 7);
    assert_deviation(fabric, 2, ONEIB_KEY_LAST_SLOT, 6, 0x8100, 0x8100, 7);
}

/* opensm makes it by itself. */
static void the_default_partition_is_expected_though_no_file_has_it(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 1, 0xffff);
    CA(fabric, 2, 0x7fff, 0x8100);
    fabric->subnet.sm_port_guid = 1;
    partition(fabric, "one1", 0x100);
    member(fabric, ONEIB_MEMBER_GUID, 2, ONEIB_FULL);
    assert_int_equal(0, verify(fabric)->count);
}

static void a_table_of_one_key_has_it_in_its_place(void **state)
{
    struct fabric *fabric = *state;
    PORT(fabric, 2, ONEIB_NODE_CA, 1, 0x7fff);
    default_partition(fabric);
    assert_int_equal(0, verify(fabric)->count);
}

static void what_is_wrong_with_a_port_is_told_kind_by_kind(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 2, 0x7fff, 0x8100, 0x8200);
    default_partition(fabric);
    partition(fabric, "one1", 0x100);
    member(fabric, ONEIB_MEMBER_GUID, 2, ONEIB_LIMITED);
    assert_int_equal(2, verify(fabric)->violations);
    assert_deviation(fabric, 0, ONEIB_KEY_EXCESS, 2, 0, 0x8200, 2);
    assert_deviation(fabric, 1, ONEIB_KEY_WIDENED, 2, 0x0100, 0x8100, 1);
}

static void a_full_default_key_on_a_host_is_a_violation(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 1, 0xffff);
    CA(fabric, 2, 0xffff);
    fabric->subnet.sm_port_guid = 1;
    default_partition(fabric);
    assert_int_equal(1, verify(fabric)->violations);
    assert_deviation(fabric, 0, ONEIB_KEY_WIDENED, 2, 0x7fff, 0xffff, 0);
}

static void both_entries_of_a_limited_key_count_as_widened(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 2, 0x7fff, 0x0100, 0x8100);
    CA(fabric, 3, 0x7fff, 0x0100, 0x8100);
    default_partition(fabric);
    partition(fabric, "one1", 0x100);
    member(fabric, ONEIB_MEMBER_GUID, 2, ONEIB_LIMITED);
    member(fabric, ONEIB_MEMBER_GUID, 3, ONEIB_FULL);
    assert_int_equal(1, verify(fabric)->count);
    assert_deviation(fabric, 0, ONEIB_KEY_WIDENED, 2, 0x0100, 0x8100, 2);
}

static void an_entry_of_key_0_is_empty(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 2, 0x7fff, 0x8000);
    default_partition(fabric);
    assert_int_equal(0, verify(fabric)->count);
    assert_int_equal(1, verify(fabric)->keys);
}

static void wildcards_name_their_kind_of_node(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 1, 0x7fff, 0x8100, 0x8101);
    PORT(fabric, 2, ONEIB_NODE_SWITCH, 8, 0x7fff, 0x8100, 0x8102);
    PORT(fabric, 3, ONEIB_NODE_ROUTER, 8, 0x7fff, 0x8100, 0x8103);
    default_partition(fabric);
    partition(fabric, "all", 0x100);
    member(fabric, ONEIB_MEMBER_ALL, 0, ONEIB_FULL);
    partition(fabric, "cas", 0x101);
    member(fabric, ONEIB_MEMBER_ALL_CAS, 0, ONEIB_FULL);
    partition(fabric, "switches", 0x102);
    member(fabric, ONEIB_MEMBER_ALL_SWITCHES, 0, ONEIB_FULL);
    partition(fabric, "routers", 0x103);
    member(fabric, ONEIB_MEMBER_ALL_ROUTERS, 0, ONEIB_FULL);
    assert_int_equal(0, verify(fabric)->count);
}

static void a_later_entry_overrides_an_earlier_one(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 1, 0x7fff, 0x0100, 0x8101, 0x0102, 0x8103);
    CA(fabric, 2, 0x7fff, 0x0100, 0x0101, 0x0102, 0x8103);
    fabric->subnet.sm_port_guid = 1;
    fabric->subnet.ports[0].pkeys[0] = 0xffff;
    default_partition(fabric);
    partition(fabric, "a", 0x100);
    member(fabric, ONEIB_MEMBER_GUID, 1, ONEIB_FULL);
    member(fabric, ONEIB_MEMBER_ALL, 0, ONEIB_LIMITED);
    partition(fabric, "b", 0x101);
    member(fabric, ONEIB_MEMBER_ALL, 0, ONEIB_LIMITED);
    member(fabric, ONEIB_MEMBER_SELF, 0, ONEIB_FULL);
    partition(fabric, "c", 0x102);
    member(fabric, ONEIB_MEMBER_ALL_CAS, 0, ONEIB_FULL);
    member(fabric, ONEIB_MEMBER_ALL, 0, ONEIB_FULL);
    member(fabric, ONEIB_MEMBER_ALL_CAS, 0, ONEIB_LIMITED);
    partition(fabric, "d", 0x103); /* "both" is full unless opensm is told otherwise */
    member(fabric, ONEIB_MEMBER_ALL, 0, ONEIB_BOTH);
    assert_int_equal(0, verify(fabric)->count);
}

static void opensm_makes_a_default_partition_where_the_file_has_none(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 1, 0xffff);
    CA(fabric, 2, 0x7fff, 0x8100);
    fabric->subnet.sm_port_guid = 1;
    assert_int_equal(1, verify(fabric)->count);
    assert_deviation(fabric, 0, ONEIB_KEY_EXCESS, 2, 0, 0x8100, 1);

    partition(fabric, "Default", 0x7fff); /* one that names nobody changes nothing */
    member(fabric, ONEIB_MEMBER_GUID, 77, ONEIB_FULL);
    assert_int_equal(1, verify(fabric)->count);
}

static void with_indx0_the_default_key_need_not_be_first(void **state)
{
    struct fabric *fabric = *state;
    CA(fabric, 1, 0x8100, 0x7fff);
    CA(fabric, 2, 0x8101, 0x7fff);
    default_partition(fabric);
    partition(fabric, "a", 0x100)->indx0 = true;
    member(fabric, ONEIB_MEMBER_GUID, 1, ONEIB_FULL);
    partition(fabric, "b", 0x101);
    member(fabric, ONEIB_MEMBER_GUID, 2, ONEIB_FULL);
    assert_int_equal(1, verify(fabric)->count);
    assert_deviation(fabric, 0, ONEIB_KEY_NOT_FIRST, 2, 0x7fff, 0x8101, 0);
}

static void an_empty_subnet_is_no_error(void **state)
{
    struct fabric *fabric = *state;
    default_partition(fabric);
    assert_int_equal(0, verify(fabric)->count);
    assert_int_equal(0, verify(fabric)->ports);
    assert_null(oneib_subnet_find(&fabric->subnet, 1));
}

static void a_million_wildcards_do_not_cost_their_square(void **state)
{
    struct fabric *fabric = *state;
    for (oneib_guid guid = 1; guid <= 2000; guid++)
        CA(fabric, guid, 0x7fff, 0x8100);
    default_partition(fabric);
    partition(fabric, "a", 0x100);
    for (int i = 0; i < 1000000; i++)
        member(fabric, ONEIB_MEMBER_ALL, 0, ONEIB_LIMITED);
    member(fabric, ONEIB_MEMBER_ALL, 0, ONEIB_FULL);
    assert_int_equal(0, verify(fabric)->count);
}

static void links_are_those_of_ports_that_are_not_virtual(void **state)
{
    (void)state;
    struct oneib_subnet_port ports[] = {{.guid = 1, .lid = 7}, {.guid = 2, .owner = 1, .lid = 7}};
    struct oneib_subnet subnet = {.ports = ports, .port_count = 1};
    const uint64_t alone = oneib_subnet_mix_links(1, &subnet);
    subnet.port_count = 2;
    assert_int_equal(oneib_subnet_mix_links(1, &subnet), alone);
    ports[1].owner = 0;
    assert_int_not_equal(oneib_subnet_mix_links(1, &subnet), alone);
    subnet.port_count = 1;
    ports[0].lid = 8;
    assert_int_not_equal(oneib_subnet_mix_links(1, &subnet), alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FABRIC_TEST(a_subnet_as_it_should_be_has_no_deviation),
        FABRIC_TEST(a_virtual_port_is_counted_apart_until_it_is_seen),
        FABRIC_TEST(every_kind_of_deviation_is_found),
        cmocka_unit_test(links_are_those_of_ports_that_are_not_virtual),
        FABRIC_TEST(a_key_in_the_last_slot_of_an_adapter_is_a_violation),
        FABRIC_TEST(the_last_slot_counts_at_adapters_that_may_be_mlx4),
        FABRIC_TEST(the_default_partition_is_expected_though_no_file_has_it),
        FABRIC_TEST(a_table_of_one_key_has_it_in_its_place),
        FABRIC_TEST(what_is_wrong_with_a_port_is_told_kind_by_kind),
        FABRIC_TEST(a_full_default_key_on_a_host_is_a_violation),
        FABRIC_TEST(both_entries_of_a_limited_key_count_as_widened),
        FABRIC_TEST(an_entry_of_key_0_is_empty),
        FABRIC_TEST(wildcards_name_their_kind_of_node),
        FABRIC_TEST(a_later_entry_overrides_an_earlier_one),
        FABRIC_TEST(opensm_makes_a_default_partition_where_the_file_has_none),
        FABRIC_TEST(with_indx0_the_default_key_need_not_be_first),
        FABRIC_TEST(an_empty_subnet_is_no_error),
        FABRIC_TEST(a_million_wildcards_do_not_cost_their_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
