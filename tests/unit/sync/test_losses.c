// SPDX-License-Identifier: Apache-2.0
/* What a first take-over takes from ports that OpenNebula does not know. */
#include "sync/losses.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SM 0x1
#define STORE 0x3
#define GATEWAY 0x5
#define NODE 0x7
#define SWITCH 0x9
#define OURS "Default=0x7fff : ALL=limited, SELF=full;\n"

static char static_path[] = "/etc/oneib/static-partitions.conf";
static struct oneib_config config;
static struct oneib_snapshot snapshot;
static struct oneib_findings findings;

static void add_port(oneib_guid guid, uint8_t type, const char *name, uint16_t raw)
{
    struct oneib_subnet *subnet = &snapshot.subnet;
    subnet->ports = realloc(subnet->ports, (subnet->port_count + 1) * sizeof *subnet->ports);
    struct oneib_subnet_port *port = &subnet->ports[subnet->port_count++];
    *port = (struct oneib_subnet_port){
        .guid = guid, .node_type = type, .partition_cap = 2, .answered = true};
    port->pkeys = calloc(2, sizeof *port->pkeys);
    assert_non_null(port->pkeys);
    port->pkeys[0] = raw;
    snprintf(port->description, sizeof port->description, "%s", name);
}

static int raise_site(void **state)
{
    (void)state;
    memset(&snapshot, 0, sizeof snapshot);
    config.opensm.static_partitions = static_path;
    add_port(SM, ONEIB_NODE_CA, "sm", 0xffff);
    add_port(STORE, ONEIB_NODE_CA, "store", 0xffff);
    add_port(GATEWAY, ONEIB_NODE_ROUTER, "gw", 0xffff);
    add_port(NODE, ONEIB_NODE_CA, "node", 0xffff);
    add_port(SWITCH, ONEIB_NODE_SWITCH, "switch", 0xffff);
    snapshot.subnet.sm_port_guid = SM;
    snapshot.subnet_known = true;
    struct oneib_host *host = oneib_cloud_add_host(&snapshot.cloud);
    *oneib_host_add_port(host) = (struct oneib_hca_port){.device = "mlx4_0", .port_guid = NODE};
    oneib_cloud_sort(&snapshot.cloud);
    return 0;
}

static int end_site(void **state)
{
    (void)state;
    oneib_snapshot_clear(&snapshot);
    oneib_findings_clear(&findings);
    return 0;
}

static void parse(const char *text, struct oneib_partition_table *table)
{
    struct oneib_error err;
    if (oneib_partitions_parse(text, strlen(text), "sample", table, &err) < 0)
        fail_msg("%s", err.text);
}

/* seen: NULL: no file. */
static void find(enum oneib_seen_state state, const char *seen, const char *desired)
{
    snapshot.seen.state = state;
    if (seen)
        parse(seen, &snapshot.seen.table);
    parse(desired, &snapshot.desired.table);
    oneib_losses_note(&config, &snapshot, &findings);
}

static void assert_found(const char *text, const char *fix)
{
    for (size_t i = 0; i < findings.count; i++) {
        const struct oneib_finding *finding = &findings.items[i];
        if (strstr(finding->text, text) && strstr(finding->fix, fix)) {
            assert_string_equal(finding->code, "access-removed");
            return;
        }
    }
    for (size_t i = 0; i < findings.count; i++)
        print_error("%s: %s\n", findings.items[i].text, findings.items[i].fix);
    fail_msg("not found: %s: %s", text, fix);
}

static void a_take_over_names_the_ports_that_lose_access_and_the_setting_that_keeps_it(void **state)
{
    (void)state;
    find(ONEIB_SEEN_FOREIGN,
         "Default=0x7fff,ipoib : ALL=full;\nStorage=0x10,ipoib : 0x3=full, ALL_ROUTERS=full;\n",
         OURS);
    assert_found(
        "full membership of partition \"Default\" (0x7fff) ends for 2 ports that OpenNebula "
        "does not know: 0x0000000000000003 \"store\", 0x0000000000000005 \"gw\"",
        "default_partition.full_members");
    assert_found("IPoIB on partition \"Default\" (0x7fff) ends for 3 ports",
                 "default_partition.ipoib = true");
    assert_found("membership of partition \"Storage\" (0x0010) ends for 2 ports",
                 "/etc/oneib/static-partitions.conf");
    assert_int_equal(findings.count, 3);
}

static void what_the_settings_keep_is_not_lost(void **state)
{
    (void)state;
    find(ONEIB_SEEN_FOREIGN,
         "Default=0x7fff,ipoib : ALL=full;\nStorage=0x10,ipoib : ALL=limited, 0x3=full;\n",
         "Default=0x7fff,ipoib : ALL=limited, SELF=full, 0x3=full, 0x5=full;\n"
         "Storage=0x10 : 0x3=limited, 0x5=limited, 0x1=limited;\n");
    assert_found("full membership of partition \"Storage\" (0x0010) ends for 1 port that",
                 "static-partitions.conf");
    assert_found("IPoIB on partition \"Storage\" (0x0010) ends for 3 ports",
                 "static-partitions.conf");
    assert_int_equal(findings.count, 2);
}

/* opensm has made every port a full member then. */
static void without_a_file_the_ports_themselves_say_what_they_lose(void **state)
{
    (void)state;
    snapshot.subnet.ports[1].pkeys[1] = 0x8010;
    find(ONEIB_SEEN_NOTHING, NULL, OURS);
    assert_found("full membership of partition \"Default\" (0x7fff) ends for 2 ports",
                 "default_partition.full_members");
    assert_found("membership of partition (0x0010) ends for 1 port that OpenNebula does not know: "
                 "0x0000000000000003",
                 "static-partitions.conf");
    assert_int_equal(findings.count, 2);
}

static void a_clusters_partition_is_no_access_of_the_sites(void **state)
{
    (void)state;
    find(ONEIB_SEEN_OURS, OURS "one7=0x101,ipoib : 0x3=full;\n", OURS);
    assert_int_equal(findings.count, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, raise_site, end_site)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_take_over_names_the_ports_that_lose_access_and_the_setting_that_keeps_it),
        CASE(what_the_settings_keep_is_not_lost),
        CASE(without_a_file_the_ports_themselves_say_what_they_lose),
        CASE(a_clusters_partition_is_no_access_of_the_sites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
