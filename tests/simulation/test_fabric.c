// SPDX-License-Identifier: Apache-2.0
/*
 * core/fabric against a simulated fabric (ibsim) with real opensm. What talks to the fabric is this
 * program run once more on one of its hosts, with the name of a role: each role is a test of its
 * own there.
 */
#include "fabric/discover.h"
#include "fabric/fabric.h"
#include "lab.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define ROLE_MS 60000u
#define HOSTS_PER_LEAF 9
#define HOSTS (2 * HOSTS_PER_LEAF)
#define END_PORTS (HOSTS + 2 + 4) /* the hosts, SM and X1, four switches' port 0 */
#define VANISHING 6               /* H7 */

static struct oneib_error err;
static const struct oneib_fabric_options options = {.window = 16, .timeout_ms = 200, .retries = 2};

#define ok(expression)                                                                             \
    do {                                                                                           \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.text);                                             \
    } while (0)

/* H1 and H2 are full members of 5; H3 and H4 limited members of 6, H5 and X1 full ones. */
static const char partitions[] =
    "Default=0x7fff, defmember=limited : ALL=limited, SELF=full;\n"
    "one5=0x5 : 0x100003=full, 0x100005=full;\n"
    "one6=0x6 : 0x100007=limited, 0x100009=limited, 0x10000b=full, 0x100027=full;\n";

static oneib_guid host_guid(unsigned host) /* 0 is H1; the SM's host comes before it */
{
    return LAB_SM_PORT_GUID + 2 * (host + 1);
}

/* ---- roles: on a host of the fabric ---------------------------------------------------------- */

static struct oneib_fabric *open_fabric(void)
{
    struct oneib_fabric *fabric = oneib_fabric_open(&options, &err);
    if (!fabric)
        fail_msg("%s", err.text);
    return fabric;
}

static bool holds(const struct oneib_subnet_port *port, uint16_t raw)
{
    for (unsigned i = 0; i < port->partition_cap; i++)
        if (port->pkeys[i] == raw)
            return true;
    return false;
}

static unsigned count_keys(const struct oneib_subnet_port *port)
{
    unsigned count = 0;
    for (unsigned i = 0; i < port->partition_cap; i++)
        count += port->pkeys[i] != 0;
    return count;
}

static const struct oneib_subnet_port *answering_port(const struct oneib_subnet *subnet,
                                                      oneib_guid guid)
{
    const struct oneib_subnet_port *port = oneib_subnet_find(subnet, guid);
    assert_non_null(port);
    assert_true(port->answered);
    return port;
}

static void assert_keys(const struct oneib_subnet *subnet, oneib_guid guid, uint16_t first,
                        uint16_t second)
{
    const struct oneib_subnet_port *port = answering_port(subnet, guid);
    assert_int_equal(port->pkeys[0], first);
    if (second)
        assert_true(holds(port, second));
    assert_int_equal(count_keys(port), second ? 2 : 1);
}

static void every_port_gives_its_own_table(void **state)
{
    (void)state;
    struct oneib_fabric *fabric = open_fabric();
    struct oneib_subnet subnet;
    ok(oneib_fabric_read(fabric, &subnet, &err));
    assert_int_equal(subnet.port_count, END_PORTS);
    assert_keys(&subnet, LAB_SM_PORT_GUID, 0xffff, 0);
    assert_keys(&subnet, host_guid(0), 0x7fff, 0x8005);
    assert_keys(&subnet, host_guid(1), 0x7fff, 0x8005);
    assert_keys(&subnet, host_guid(2), 0x7fff, 0x0006);
    assert_keys(&subnet, host_guid(3), 0x7fff, 0x0006);
    assert_keys(&subnet, host_guid(4), 0x7fff, 0x8006);
    for (unsigned host = 5; host < HOSTS; host++)
        assert_keys(&subnet, host_guid(host), 0x7fff, 0);
    oneib_subnet_clear(&subnet);
    oneib_fabric_close(fabric);
}

static void every_port_says_what_it_is(void **state)
{
    (void)state;
    struct oneib_fabric *fabric = open_fabric();
    struct oneib_subnet subnet;
    unsigned switches = 0;
    ok(oneib_fabric_read(fabric, &subnet, &err));
    assert_int_equal(subnet.sm_port_guid, LAB_SM_PORT_GUID);
    assert_int_equal(subnet.multicast_cap, 1024); /* ibsim's */
    for (size_t i = 0; i < subnet.port_count; i++) {
        const struct oneib_subnet_port *port = &subnet.ports[i];
        bool is_switch = port->node_type == ONEIB_NODE_SWITCH;
        switches += is_switch;
        assert_true(i == 0 || subnet.ports[i - 1].guid < port->guid);
        assert_int_equal(port->port_number, is_switch ? 0 : 1);
        assert_int_equal(port->rate != 0, !is_switch);
        assert_in_range(port->mtu_cap, 1, 5);
        assert_int_not_equal(port->lid, 0);
    }
    assert_int_equal(switches, 4);
    const struct oneib_subnet_port *first = answering_port(&subnet, host_guid(0));
    assert_string_equal(first->description, "H1");
    assert_int_equal(first->node_guid, host_guid(0) - 1);
    assert_int_equal(first->partition_cap, 64);
    oneib_subnet_clear(&subnet);
    oneib_fabric_close(fabric);
}

static void the_window_does_not_change_what_is_read(void **state)
{
    (void)state;
    struct oneib_fabric_options narrow = options;
    struct oneib_subnet wide_subnet, subnet;
    struct oneib_fabric *fabric = open_fabric();
    ok(oneib_fabric_read(fabric, &wide_subnet, &err));
    oneib_fabric_close(fabric);
    narrow.window = 1;
    fabric = oneib_fabric_open(&narrow, &err);
    assert_non_null(fabric);
    ok(oneib_fabric_read(fabric, &subnet, &err));
    assert_int_equal(subnet.port_count, wide_subnet.port_count);
    for (size_t i = 0; i < subnet.port_count; i++) {
        assert_int_equal(subnet.ports[i].guid, wide_subnet.ports[i].guid);
        assert_int_equal(subnet.ports[i].partition_cap, wide_subnet.ports[i].partition_cap);
        assert_memory_equal(subnet.ports[i].pkeys, wide_subnet.ports[i].pkeys,
                            subnet.ports[i].partition_cap * sizeof *subnet.ports[i].pkeys);
    }
    oneib_subnet_clear(&subnet);
    oneib_subnet_clear(&wide_subnet);
    oneib_fabric_close(fabric);
}

static uint64_t table_blocks(const struct oneib_subnet *subnet)
{
    uint64_t blocks = 0;
    for (size_t i = 0; i < subnet->port_count; i++)
        blocks += (subnet->ports[i].partition_cap + 31u) / 32;
    return blocks;
}

static void each_mad_is_counted_once(void **state)
{
    (void)state;
    struct oneib_fabric *fabric = open_fabric();
    struct oneib_subnet subnet;
    size_t every[END_PORTS], twice[] = {3, 3};
    struct oneib_path_query path = {.from = host_guid(0), .to = host_guid(1), .pkey = 0x8005};
    assert_int_equal(oneib_fabric_mads_sent(fabric), 0);
    ok(oneib_fabric_read(fabric, &subnet, &err));
    assert_int_equal(subnet.port_count, END_PORTS);
    for (size_t i = 0; i < END_PORTS; i++)
        every[i] = i;

    uint64_t before = oneib_fabric_mads_sent(fabric);
    ok(oneib_fabric_read_tables(fabric, &subnet, every, END_PORTS, &err));
    assert_int_equal(oneib_fabric_mads_sent(fabric) - before, table_blocks(&subnet));

    before = oneib_fabric_mads_sent(fabric);
    ok(oneib_fabric_read_tables(fabric, &subnet, twice, 2, &err));
    assert_int_equal(oneib_fabric_mads_sent(fabric) - before,
                     (subnet.ports[3].partition_cap + 31u) / 32);

    before = oneib_fabric_mads_sent(fabric);
    ok(oneib_fabric_read_tables(fabric, &subnet, NULL, 0, &err));
    assert_int_equal(oneib_fabric_mads_sent(fabric), before);

    ok(oneib_fabric_paths(fabric, &path, 1, &err));
    assert_int_equal(oneib_fabric_mads_sent(fabric) - before, 2); /* own PortInfo, and the query */
    oneib_subnet_clear(&subnet);
    oneib_fabric_close(fabric);
}

/* By the tables: both hold the key, and one of them as a full member. */
static bool tables_agree(const struct oneib_subnet *subnet, const struct oneib_path_query *query)
{
    const struct oneib_subnet_port *from = answering_port(subnet, query->from);
    const struct oneib_subnet_port *to = answering_port(subnet, query->to);
    uint16_t full = query->pkey | ONEIB_PKEY_FULL_BIT, limited = oneib_pkey_base(query->pkey);
    bool from_full = holds(from, full), to_full = holds(to, full);
    return (from_full || holds(from, limited)) && (to_full || holds(to, limited)) &&
           (from_full || to_full);
}

static void paths_are_given_where_the_tables_allow_them(void **state)
{
    (void)state;
    static const uint16_t keys[] = {0xffff, 0x8005, 0x8006, 0x8009};
    static struct oneib_path_query queries[6 * 6 * 4];
    struct oneib_fabric *fabric = open_fabric();
    struct oneib_subnet subnet;
    size_t count = 0, reachable = 0;
    for (unsigned from = 0; from < 6; from++)
        for (unsigned to = 0; to < 6; to++)
            for (unsigned key = 0; key < 4 && from != to; key++)
                queries[count++] = (struct oneib_path_query){
                    .from = host_guid(from), .to = host_guid(to), .pkey = keys[key]};
    ok(oneib_fabric_read(fabric, &subnet, &err));
    ok(oneib_fabric_paths(fabric, queries, count, &err));
    for (size_t i = 0; i < count; i++) {
        reachable += queries[i].reachable;
        if (queries[i].reachable != tables_agree(&subnet, &queries[i]))
            fail_msg("0x%lx to 0x%lx under 0x%04x: the SA says %d", (unsigned long)queries[i].from,
                     (unsigned long)queries[i].to, queries[i].pkey, queries[i].reachable);
    }
    assert_int_equal(reachable, 2 + 4); /* H1-H2; H5 with H3 and H4; each way */
    oneib_subnet_clear(&subnet);
    oneib_fabric_close(fabric);
}

static void a_path_to_a_port_that_is_not_there_is_not_reachable(void **state)
{
    (void)state;
    struct oneib_fabric *fabric = open_fabric();
    struct oneib_path_query path = {
        .from = host_guid(0), .to = UINT64_C(0x0200000000002a01), .pkey = 0x8005};
    ok(oneib_fabric_paths(fabric, &path, 1, &err));
    assert_false(path.reachable);
    oneib_fabric_close(fabric);
}

static void assert_local_sm(enum oneib_sm_state expected)
{
    struct oneib_fabric *fabric = open_fabric();
    enum oneib_sm_state found;
    ok(oneib_fabric_local_sm(fabric, &found, &err));
    assert_int_equal(found, expected);
    oneib_fabric_close(fabric);
}

static void the_sm_of_this_port_is_master(void **state)
{
    (void)state;
    assert_local_sm(ONEIB_SM_MASTER);
}

static void the_sm_of_this_port_is_standby(void **state)
{
    (void)state;
    assert_local_sm(ONEIB_SM_STANDBY);
}

static void this_port_has_no_sm(void **state)
{
    (void)state;
    assert_local_sm(ONEIB_SM_NONE);
}

static const char *leaf_name(const struct oneib_topology *topology, oneib_guid guid)
{
    for (size_t i = 0; i < topology->link_count; i++) {
        const struct oneib_topology_link *link = &topology->links[i];
        if (link->a_guid == guid || link->b_guid == guid)
            return topology->nodes[link->a_guid == guid ? link->b : link->a].description;
    }
    fail_msg("no link of 0x%016llx", (unsigned long long)guid);
    return NULL;
}

static void the_graph_is_that_of_the_net_file(void **state)
{
    (void)state;
    struct oneib_topology topology;
    ok(oneib_fabric_discover(&options, &topology, &err));
    assert_int_equal(topology.node_count, END_PORTS);
    assert_int_equal(topology.link_count,
                     HOSTS + 2 + 4); /* hosts, SM and X1; two leaves to two spines */
    for (unsigned host = 0; host < HOSTS; host++)
        assert_string_equal(leaf_name(&topology, host_guid(host)),
                            host < HOSTS_PER_LEAF ? "L1" : "L2");
    assert_string_equal(leaf_name(&topology, LAB_SM_PORT_GUID), "L1");
    assert_string_equal(leaf_name(&topology, host_guid(HOSTS)), "L1");
    for (size_t i = 0; i < topology.link_count; i++) {
        const struct oneib_topology_link *link = &topology.links[i];
        assert_true(link->a < link->b || (link->a == link->b && link->a_port < link->b_port));
        assert_int_not_equal(link->rate_gbps, 0);
    }
    for (size_t i = 1; i < topology.node_count; i++)
        assert_true(topology.nodes[i - 1].guid < topology.nodes[i].guid);
    oneib_topology_clear(&topology);
}

/* All hosts, then the SM's host, a port that is not there, and a switch. */
static void list_link_ends(const struct oneib_subnet *subnet, oneib_guid *ports)
{
    for (unsigned host = 0; host < HOSTS; host++)
        ports[host] = host_guid(host);
    ports[HOSTS] = LAB_SM_PORT_GUID;
    ports[HOSTS + 1] = UINT64_C(0x0200000000002a01);
    for (size_t i = 0; i < subnet->port_count; i++)
        if (subnet->ports[i].node_type == ONEIB_NODE_SWITCH)
            ports[HOSTS + 2] = subnet->ports[i].guid;
}

static const char *switch_name(const struct oneib_subnet *subnet, oneib_guid node_guid)
{
    for (size_t i = 0; i < subnet->port_count; i++)
        if (subnet->ports[i].node_guid == node_guid)
            return subnet->ports[i].description;
    return "";
}

static void every_host_hangs_on_the_leaf_of_the_net_file(void **state)
{
    (void)state;
    oneib_guid ports[HOSTS + 3], switches[HOSTS + 3];
    struct oneib_fabric *fabric = open_fabric();
    struct oneib_subnet subnet;
    ok(oneib_fabric_read(fabric, &subnet, &err));
    list_link_ends(&subnet, ports);
    ok(oneib_fabric_switches(fabric, &subnet, ports, switches, HOSTS + 3, &err));
    for (unsigned host = 0; host < HOSTS; host++)
        assert_string_equal(switch_name(&subnet, switches[host]),
                            host < HOSTS_PER_LEAF ? "L1" : "L2");
    assert_string_equal(switch_name(&subnet, switches[HOSTS]), "L1");
    assert_int_equal(switches[HOSTS + 1], 0);
    assert_int_equal(switches[HOSTS + 2], 0);
    oneib_subnet_clear(&subnet);
    oneib_fabric_close(fabric);
}

static void announce(const char *name)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fclose(file);
}

static bool comes(const char *name)
{
    for (unsigned waited = 0; waited < ROLE_MS; waited += 20) {
        if (access(name, F_OK) == 0)
            return true;
        lab_sleep_ms(20);
    }
    return false;
}

static size_t index_of(const struct oneib_subnet *subnet, oneib_guid guid)
{
    const struct oneib_subnet_port *port = oneib_subnet_find(subnet, guid);
    assert_non_null(port);
    return (size_t)(port - subnet->ports);
}

/* Between its two readings the other process takes the port's cable away. */
static void a_port_that_vanished_is_not_answered(void **state)
{
    (void)state;
    struct oneib_fabric *fabric = open_fabric();
    struct oneib_subnet subnet;
    ok(oneib_fabric_read(fabric, &subnet, &err));
    const size_t ports[] = {index_of(&subnet, host_guid(0)),
                            index_of(&subnet, host_guid(VANISHING))};
    assert_true(subnet.ports[ports[1]].answered);
    announce("vanish.ready");
    assert_true(comes("vanish.done"));

    ok(oneib_fabric_read_tables(fabric, &subnet, ports, 2, &err));
    assert_true(subnet.ports[ports[0]].answered);
    assert_false(subnet.ports[ports[1]].answered);
    assert_null(subnet.ports[ports[1]].pkeys);
    oneib_subnet_clear(&subnet);

    ok(oneib_fabric_read(fabric, &subnet, &err));
    const oneib_guid links[] = {host_guid(0), host_guid(VANISHING)};
    oneib_guid switches[2];
    ok(oneib_fabric_switches(fabric, &subnet, links, switches, 2, &err));
    assert_int_not_equal(switches[0], 0);
    assert_int_equal(switches[1], 0);
    const struct oneib_subnet_port *port = oneib_subnet_find(&subnet, host_guid(VANISHING));
    assert_true(!port || !port->answered); /* as long as opensm has not noticed, it is listed */
    oneib_subnet_clear(&subnet);
    oneib_fabric_close(fabric);
    announce("vanish.passed");
}

static size_t link_of(const struct oneib_fabric_links *links, oneib_guid guid)
{
    size_t found = links->count;
    for (size_t i = 0; i < links->count; i++)
        if (links->items[i].port_guid == guid) {
            assert_int_equal(found, links->count); /* once */
            found = i;
        }
    return found;
}

static size_t link_at(const struct oneib_fabric_links *links, const struct oneib_switch_link *place)
{
    for (size_t i = 0; i < links->count; i++)
        if (links->items[i].switch_guid == place->switch_guid &&
            links->items[i].switch_port == place->switch_port)
            return i;
    fail_msg("the switch has lost a port");
    return 0;
}

static void a_port_is_disabled_at_its_switch(void **state)
{
    (void)state;
    struct oneib_fabric *fabric = open_fabric();
    struct oneib_subnet subnet;
    struct oneib_fabric_links links;
    uint8_t physical;
    ok(oneib_fabric_read(fabric, &subnet, &err));
    ok(oneib_fabric_read_links(fabric, &subnet, &links, &err));
    assert_int_not_equal(link_of(&links, host_guid(0)), links.count);
    const size_t index = link_of(&links, host_guid(VANISHING));
    const struct oneib_switch_link place = links.items[index];
    assert_int_equal(place.physical, ONEIB_PHYSICAL_LINK_UP);
    assert_int_equal(place.node_type, ONEIB_NODE_CA);
    /* A cable that was moved since: somebody else is linked there than who is meant. */
    assert_int_equal(
        oneib_fabric_enable_link(fabric, &links, index, host_guid(0), false, &physical, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_UNREACHABLE);
    assert_non_null(strstr(err.text, "is linked there now"));
    oneib_fabric_links_clear(&links);
    ok(oneib_fabric_read_links(fabric, &subnet, &links, &err));
    assert_int_equal(links.items[link_at(&links, &place)].physical, ONEIB_PHYSICAL_LINK_UP);
    assert_int_equal(link_of(&links, host_guid(VANISHING)), index);
    ok(oneib_fabric_enable_link(fabric, &links, index, host_guid(VANISHING), false, &physical,
                                &err));
    assert_int_equal(physical, ONEIB_PHYSICAL_DISABLED);

    oneib_fabric_links_clear(&links);
    ok(oneib_fabric_read_links(fabric, &subnet, &links, &err));
    assert_int_equal(link_of(&links, host_guid(VANISHING)), links.count);
    assert_int_not_equal(link_of(&links, host_guid(0)), links.count);
    assert_int_equal(links.items[link_at(&links, &place)].physical, ONEIB_PHYSICAL_DISABLED);

    ok(oneib_fabric_enable_link(fabric, &links, link_at(&links, &place), host_guid(VANISHING), true,
                                &physical, &err));
    assert_int_equal(physical, ONEIB_PHYSICAL_POLLING);
    oneib_fabric_links_clear(&links);
    oneib_subnet_clear(&subnet);
    oneib_fabric_close(fabric);
}

static size_t unanswered_by_the_walk(void)
{
    struct oneib_fabric *fabric = open_fabric();
    struct oneib_subnet subnet;
    struct oneib_fabric_links links;
    ok(oneib_fabric_read(fabric, &subnet, &err));
    ok(oneib_fabric_read_links(fabric, &subnet, &links, &err));
    const size_t unanswered = links.unanswered;
    oneib_fabric_links_clear(&links);
    oneib_subnet_clear(&subnet);
    oneib_fabric_close(fabric);
    return unanswered;
}

static void the_walk_says_that_all_was_answered(void **state)
{
    (void)state;
    assert_int_equal(unanswered_by_the_walk(), 0);
}

static void the_walk_says_that_something_was_not_answered(void **state)
{
    (void)state;
    assert_int_not_equal(unanswered_by_the_walk(), 0);
}

static void without_an_sm_the_error_names_its_lid(void **state)
{
    (void)state;
    struct oneib_fabric *fabric = open_fabric();
    struct oneib_subnet subnet;
    assert_int_equal(oneib_fabric_read(fabric, &subnet, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_TIMEOUT);
    assert_non_null(strstr(err.text, "LID 1 does not answer"));
    assert_null(subnet.ports);
    oneib_fabric_close(fabric);
}

static void a_port_that_no_sm_has_set_up_is_not_opened(void **state)
{
    (void)state;
    assert_null(oneib_fabric_open(&options, &err));
    assert_non_null(
        strstr(err.text, "is not active (Initialize): no subnet manager is master: start opensm"));
}

#define role(test)                                                                                 \
    {                                                                                              \
#test, test, NULL, NULL, NULL                                                              \
    }

static const struct CMUnitTest roles[] = {
    role(every_port_gives_its_own_table),
    role(every_port_says_what_it_is),
    role(the_window_does_not_change_what_is_read),
    role(each_mad_is_counted_once),
    role(paths_are_given_where_the_tables_allow_them),
    role(a_path_to_a_port_that_is_not_there_is_not_reachable),
    role(the_sm_of_this_port_is_master),
    role(the_sm_of_this_port_is_standby),
    role(this_port_has_no_sm),
    role(the_graph_is_that_of_the_net_file),
    role(every_host_hangs_on_the_leaf_of_the_net_file),
    role(a_port_that_vanished_is_not_answered),
    role(a_port_is_disabled_at_its_switch),
    role(the_walk_says_that_all_was_answered),
    role(the_walk_says_that_something_was_not_answered),
    role(without_an_sm_the_error_names_its_lid),
    role(a_port_that_no_sm_has_set_up_is_not_opened),
};

static int play(const char *name)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (strcmp(roles[i].name, name) != 0)
            continue;
        const struct CMUnitTest chosen[] = {roles[i]};
        return cmocka_run_group_tests_name(name, chosen, NULL, NULL);
    }
    return 2;
}

/* ---- the laboratory -------------------------------------------------------------------------- */

static char self[4096];

static void on_host(struct lab *lab, const char *hca, const char *name)
{
    struct lab_output output = {0};
    const char *const argv[] = {self, "--role", name, NULL};
    ok(lab_run(lab, hca, argv, ROLE_MS, &output, &err));
    if (output.status != 0 || output.timed_out)
        fail_msg("%s on %s: status %d\n%s%s", name, hca, output.status, output.out, output.error);
    lab_output_clear(&output);
}

/* All that follow have this one's SM. */
static void before_the_first_sm_the_error_says_that_there_is_none(void **state)
{
    on_host(*state, "H1", "a_port_that_no_sm_has_set_up_is_not_opened");
    ok(lab_opensm_start(*state, &LAB_SM, &err));
}

static void the_fabric_is_read_from_the_sm_host(void **state)
{
    static const char *const names[] = {
        "every_port_gives_its_own_table",
        "every_port_says_what_it_is",
        "the_window_does_not_change_what_is_read",
        "each_mad_is_counted_once",
        "paths_are_given_where_the_tables_allow_them",
        "a_path_to_a_port_that_is_not_there_is_not_reachable",
        "the_graph_is_that_of_the_net_file",
        "every_host_hangs_on_the_leaf_of_the_net_file",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        on_host(*state, LAB_SM_HCA, names[i]);
}

static void any_host_can_read_the_tables(void **state)
{
    on_host(*state, "H12", "every_port_gives_its_own_table");
    on_host(*state, "H12", "the_graph_is_that_of_the_net_file");
    on_host(*state, "H12", "every_host_hangs_on_the_leaf_of_the_net_file");
}

static void each_sm_is_told_by_its_state(void **state)
{
    struct lab *lab = *state;
    struct lab_sm second = {.name = "second", .hca = "X1", .priority = 1};
    ok(lab_opensm_start(lab, &second, &err));
    on_host(lab, LAB_SM_HCA, "the_sm_of_this_port_is_master");
    on_host(lab, "X1", "the_sm_of_this_port_is_standby");
    on_host(lab, "H1", "this_port_has_no_sm");
    ok(lab_opensm_stop(lab, "second", true, &err));
    on_host(lab, "X1", "this_port_has_no_sm");
}

static bool lab_file_comes(struct lab *lab, const char *name)
{
    const char *path = lab_path(lab, name);
    assert_non_null(path);
    return comes(path);
}

static void a_vanished_port_is_silent(void **state)
{
    struct lab *lab = *state;
    const char *const argv[] = {self, "--role", "a_port_that_vanished_is_not_answered", NULL};
    pid_t pid;
    ok(lab_spawn(lab, "vanish", LAB_SM_HCA, argv, &pid, &err));
    assert_true(lab_file_comes(lab, "vanish.ready"));
    ok(lab_fabric_link(lab, VANISHING, false, &err));
    ok(lab_write(lab, "vanish.done", 0644, "", &err));
    assert_true(lab_file_comes(lab, "vanish.passed"));
    ok(lab_end(lab, pid, SIGTERM, ROLE_MS, &err));
    ok(lab_fabric_link(lab, VANISHING, true, &err));
}

/* A port that is enabled stays without a link in ibsim: pulling its cable and putting it back
 * stands for what a switch does by itself. */
static void a_port_is_disabled_and_enabled_again(void **state)
{
    struct lab *lab = *state;
    on_host(lab, LAB_SM_HCA, "a_port_is_disabled_at_its_switch");
    ok(lab_fabric_link(lab, VANISHING, false, &err));
    ok(lab_fabric_link(lab, VANISHING, true, &err));
    on_host(lab, LAB_SM_HCA, "every_host_hangs_on_the_leaf_of_the_net_file");
}

/* Of PortInfo, attribute 0x15: the switch is there, and its ports are not. */
static void a_switch_that_does_not_tell_of_its_ports_is_not_taken_for_one_without_any(void **state)
{
    struct lab *lab = *state;
    on_host(lab, LAB_SM_HCA, "the_walk_says_that_all_was_answered");
    ok(lab_fabric_command(lab, "Error \"L1\" 100 21", &err));
    on_host(lab, LAB_SM_HCA, "the_walk_says_that_something_was_not_answered");
    ok(lab_fabric_command(lab, "Error \"L1\" 0", &err));
    on_host(lab, LAB_SM_HCA, "the_walk_says_that_all_was_answered");
}

static void a_dead_sm_is_an_error(void **state)
{
    struct lab *lab = *state;
    ok(lab_opensm_stop(lab, "opensm", false, &err));
    on_host(lab, "H1", "without_an_sm_the_error_names_its_lid");
    on_host(lab, LAB_SM_HCA, "this_port_has_no_sm");
}

static int start(void **state)
{
    struct lab_options fabric = {
        .leaves = 2, .hosts_per_leaf = HOSTS_PER_LEAF, .spines = 2, .extra_hosts = 1};
    struct lab *lab = lab_open(&fabric, &err);
    *state = lab;
    if (lab && lab_fabric_start(lab, &err) == 0 &&
        lab_write(lab, "partitions.conf", 0644, partitions, &err) == 0)
        return 0;
    print_error("%s\n", err.text);
    return -1;
}

static int stop(void **state)
{
    lab_close(*state);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--role") == 0)
        return play(argv[2]);
    const char *missing = lab_missing();
    if (missing) {
        print_message("%s is not installed\n", missing);
        return LAB_SKIPPED;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_sm_the_error_says_that_there_is_none),
        cmocka_unit_test(the_fabric_is_read_from_the_sm_host),
        cmocka_unit_test(any_host_can_read_the_tables),
        cmocka_unit_test(each_sm_is_told_by_its_state),
        cmocka_unit_test(a_vanished_port_is_silent),
        cmocka_unit_test(a_port_is_disabled_and_enabled_again),
        cmocka_unit_test(a_switch_that_does_not_tell_of_its_ports_is_not_taken_for_one_without_any),
        cmocka_unit_test(a_dead_sm_is_an_error),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
