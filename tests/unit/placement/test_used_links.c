// SPDX-License-Identifier: Apache-2.0
/*
 * Hosts that would make two clusters of one service level share a link come last, or not at all.
 * Three leaves of four hosts each, two spines; host n has port GUID and LID n + 1.
 */
#include "base/array.h"
#include "placement/arrange.h"
#include "tests/tree_routes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RED 1u
#define BLUE 2u
#define GREEN 3u
enum { LEAVES = 3, HOSTS = 12, SPINES = 2, VFS = 3 };

static struct oneib_links links;
static struct oneib_window window;

/* ---- scenes ---------------------------------------------------------------------------------- */

static void add_host(unsigned host, unsigned leaf)
{
    window.hosts[window.host_count++] =
        (struct oneib_open_host){.id = host, .leaf = TREE_LEAF + leaf, .vfs_free = VFS};
    links.ports[links.port_count++] =
        (struct oneib_host_port_guid){.host_id = host, .guid = host + 1};
}

static int begin(void **state)
{
    (void)state;
    static const unsigned leaf_of[HOSTS] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}, pod_of[LEAVES];
    const struct tree tree = {HOSTS, LEAVES, 1, SPINES, leaf_of, pod_of};
    links = (struct oneib_links){.routes = tree_routes(&tree)};
    window = (struct oneib_window){.links = &links};
    ONEIB_RESERVE(window.hosts, window.host_capacity, HOSTS);
    ONEIB_RESERVE(links.ports, links.port_capacity, HOSTS);
    for (unsigned host = 0; host < HOSTS; host++)
        add_host(host, leaf_of[host]);
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_window_clear(&window);
    oneib_links_clear(&links);
    return 0;
}

/* It has a member on each of these hosts. */
static void cluster(uint32_t network, uint8_t sl, const unsigned *hosts, size_t count)
{
    oneib_guid ports[HOSTS];
    for (size_t i = 0; i < count; i++) {
        ports[i] = hosts[i] + 1;
        oneib_window_settle(&window, network, window.hosts[hosts[i]].leaf);
    }
    oneib_links_add_cluster(&links, network, sl, ports, count);
}
#define CLUSTER(network, sl, ...)                                                                  \
    cluster(network, sl, (const unsigned[]){__VA_ARGS__},                                          \
            sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static struct oneib_waiting_vm *wait_for(uint32_t network)
{
    ONEIB_RESERVE(window.vms, window.vm_capacity, window.vm_count + 1);
    struct oneib_waiting_vm *vm = &window.vms[window.vm_count];
    *vm = (struct oneib_waiting_vm){
        .id = 100 + (uint32_t)window.vm_count++, .network_id = network, .nics = 1};
    for (size_t host = 0; host < window.host_count; host++)
        oneib_waiting_allow(&window, vm, host);
    return vm;
}

static void offer(void)
{
    oneib_window_offer(&window);
}

static bool is_offered(size_t vm, unsigned host)
{
    for (size_t i = 0; i < window.vms[vm].offered_count; i++)
        if (window.vms[vm].offered[i] == host)
            return true;
    return false;
}

static void must_be_offered(size_t vm, const unsigned *hosts, size_t count)
{
    assert_int_equal(window.vms[vm].offered_count, count);
    for (size_t i = 0; i < count; i++)
        assert_true(is_offered(vm, hosts[i]));
}
#define MUST_BE_OFFERED(vm, ...)                                                                   \
    must_be_offered(vm, (const unsigned[]){__VA_ARGS__},                                           \
                    sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static void leave_room_on(const unsigned *hosts, size_t count)
{
    for (size_t i = 0; i < window.host_count; i++)
        window.hosts[i].vfs_free = 0;
    for (size_t i = 0; i < count; i++)
        window.hosts[hosts[i]].vfs_free = VFS;
}
#define LEAVE_ROOM_ON(...)                                                                         \
    leave_room_on((const unsigned[]){__VA_ARGS__},                                                 \
                  sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

/* ---- whom a host would make meet ------------------------------------------------------------- */

static void must_meet(uint32_t network, const char *wanted)
{
    uint32_t ids[HOSTS];
    bool meets[HOSTS];
    char seen[HOSTS + 1] = "";
    for (unsigned host = 0; host < HOSTS; host++)
        ids[host] = host;
    oneib_links_judge(&links, network, ids, HOSTS, meets);
    for (unsigned host = 0; host < HOSTS; host++)
        seen[host] = meets[host] ? 'x' : '.';
    assert_string_equal(seen, wanted);
}

static void a_host_of_anothers_member_makes_both_share_its_link(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 1);
    CLUSTER(BLUE, 1, 2);
    must_meet(BLUE, "xx..........");
    must_meet(RED, "..x.........");
}

/* Red goes between leaves 0 and 1 by the spine of odd LIDs; blue's LID is even, green's is odd. */
static void a_way_that_another_takes_counts_in_its_direction(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 4);
    CLUSTER(BLUE, 1, 5);
    must_meet(BLUE, "x.x.x...x.x.");
    CLUSTER(GREEN, 1, 8);
    must_meet(GREEN, "xxxxxxxx....");
}

static void only_clusters_of_its_level_are_kept_apart_from_it(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 1);
    CLUSTER(BLUE, 2, 2);
    must_meet(BLUE, "............");
}

static void whom_it_meets_already_is_not_looked_at(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 1);
    CLUSTER(BLUE, 1, 0);
    must_meet(BLUE, "............");
}

static void a_cluster_of_which_nothing_is_known_meets_nobody(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 1);
    must_meet(BLUE, "............");
    oneib_links_settle(&links, BLUE, 0);
}

static void a_host_meets_by_any_of_its_ports(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0);
    CLUSTER(BLUE, 1, 2);
    links.ports[1].guid = 2;
    links.ports[2] = (struct oneib_host_port_guid){.host_id = 1, .guid = 1};
    must_meet(BLUE, "xx..........");
}

static void a_host_of_which_nothing_is_known_is_for_nobody_exclusive(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0);
    links.port_count = HOSTS - 1;
    must_meet(RED, "............");
    links.is_exclusive = true;
    must_meet(RED, "...........x");
}

/* Blue's VM on host 1 is not in what oneibd wrote; green's network says no level. */
static void what_oned_says_of_who_waits_is_added(void **state)
{
    (void)state;
    struct oneib_cloud running = {0};
    CLUSTER(RED, 1, 0);
    oneib_cloud_add_network(&running)->id = GREEN;
    struct oneib_network *network = oneib_cloud_add_network(&running);
    network->id = BLUE;
    network->shown_sl = 1;
    *oneib_cloud_add_attachment(&running) = (struct oneib_attachment){
        .vm_id = 7, .network_id = BLUE, .host_id = 1, .phase = ONEIB_SETTLED};
    oneib_cloud_sort(&running);
    oneib_links_catch_up(&links, &running);
    must_meet(RED, ".x..........");
    must_meet(BLUE, "x...........");
    must_meet(GREEN, "............");
    oneib_cloud_clear(&running);
}

/* ---- what is offered ------------------------------------------------------------------------- */

static void hosts_of_its_leaf_that_share_no_link_are_offered(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 1);
    CLUSTER(BLUE, 1, 2);
    wait_for(BLUE);
    offer();
    MUST_BE_OFFERED(0, 2, 3);
}

static void a_leaf_without_such_hosts_is_left_only_if_exclusive(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 1);
    CLUSTER(BLUE, 1, 2);
    LEAVE_ROOM_ON(0, 1, 9);
    wait_for(BLUE);
    offer();
    MUST_BE_OFFERED(0, 0, 1);
    links.is_exclusive = true;
    links.clusters[1].port_count = 1; /* as before this window */
    memset(links.clusters[1].set, 0, oneib_routes_words(&links.routes) * sizeof(uint64_t));
    oneib_routes_ends_of(&links.routes, (const oneib_guid[]){3}, 1, links.clusters[1].set);
    offer();
    MUST_BE_OFFERED(0, 9);
}

/* Its leaf by itself would be the smallest that has room. */
static void a_new_cluster_begins_where_it_shares_no_link(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 1);
    LEAVE_ROOM_ON(0, 4, 5);
    oneib_links_add_cluster(&links, BLUE, 1, NULL, 0);
    wait_for(BLUE);
    offer();
    MUST_BE_OFFERED(0, 4, 5);
}

static void where_there_is_no_other_host_it_shares_a_link(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 1);
    CLUSTER(BLUE, 1, 2);
    LEAVE_ROOM_ON(0, 1);
    wait_for(BLUE);
    offer();
    MUST_BE_OFFERED(0, 0, 1);
}

static void exclusive_it_waits_then(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 1);
    CLUSTER(BLUE, 1, 2);
    LEAVE_ROOM_ON(0, 1);
    links.is_exclusive = true;
    wait_for(BLUE);
    wait_for(BLUE)->has_waited = true;
    offer();
    assert_int_equal(window.vms[0].offered_count, 0);
    assert_int_equal(window.vms[1].offered_count, 0);
}

static void who_has_waited_long_is_offered_all_unless_exclusive(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 1);
    CLUSTER(BLUE, 1, 2);
    LEAVE_ROOM_ON(0, 1, 3);
    wait_for(BLUE)->has_waited = true;
    offer();
    MUST_BE_OFFERED(0, 0, 1, 3);
    links.is_exclusive = true;
    offer();
    MUST_BE_OFFERED(0, 3);
}

/* Both wait in one window, and there is nobody yet. */
static void those_of_one_window_keep_apart_too(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 11);
    LEAVE_ROOM_ON(0, 1);
    oneib_links_add_cluster(&links, BLUE, 1, NULL, 0);
    oneib_links_add_cluster(&links, GREEN, 1, NULL, 0);
    wait_for(BLUE);
    wait_for(GREEN);
    offer();
    assert_int_equal(window.vms[0].offered_count, 2);
    const unsigned first = (unsigned)window.vms[1].offered[0];
    assert_int_equal(window.vms[1].offered_count, 1);
    assert_true(is_offered(0, 1 - first));
}

static void without_links_nobody_is_kept_apart(void **state)
{
    (void)state;
    CLUSTER(RED, 1, 0, 1);
    CLUSTER(BLUE, 1, 2);
    window.links = NULL;
    wait_for(BLUE);
    offer();
    MUST_BE_OFFERED(0, 0, 1, 2, 3);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_host_of_anothers_member_makes_both_share_its_link),
        CASE(a_way_that_another_takes_counts_in_its_direction),
        CASE(only_clusters_of_its_level_are_kept_apart_from_it),
        CASE(whom_it_meets_already_is_not_looked_at),
        CASE(a_cluster_of_which_nothing_is_known_meets_nobody),
        CASE(a_host_meets_by_any_of_its_ports),
        CASE(a_host_of_which_nothing_is_known_is_for_nobody_exclusive),
        CASE(what_oned_says_of_who_waits_is_added),
        CASE(hosts_of_its_leaf_that_share_no_link_are_offered),
        CASE(a_leaf_without_such_hosts_is_left_only_if_exclusive),
        CASE(a_new_cluster_begins_where_it_shares_no_link),
        CASE(where_there_is_no_other_host_it_shares_a_link),
        CASE(exclusive_it_waits_then),
        CASE(who_has_waited_long_is_offered_all_unless_exclusive),
        CASE(those_of_one_window_keep_apart_too),
        CASE(without_links_nobody_is_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
