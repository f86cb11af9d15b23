// SPDX-License-Identifier: Apache-2.0
#include "cloud_builder.h"
#include "cluster/port_owner.h"

static struct oneib_findings findings;

static struct oneib_port_evidence evidence_of(const struct scene *scene)
{
    return (struct oneib_port_evidence){.ledger = &scene->ledger,
                                        .policy = &scene->policy,
                                        .subnet = scene->has_subnet ? &scene->subnet : NULL};
}

static void settle(struct scene *scene)
{
    const struct oneib_port_evidence evidence = evidence_of(scene);
    oneib_cloud_sort(&scene->cloud);
    oneib_subnet_sort(&scene->subnet);
    oneib_findings_clear(&findings);
    oneib_cloud_settle_ports(&scene->cloud, &evidence, &findings);
}

static int free_all(void **state)
{
    oneib_findings_clear(&findings);
    return scene_free(state);
}

#define OWNER_TEST(function) cmocka_unit_test_setup_teardown(function, scene_make, free_all)

/* The host's oneib-node has reported it. */
static void own(struct scene *scene, uint32_t host_id, const char *device, oneib_guid guid)
{
    const struct oneib_ledger_host host = {.host_id = host_id};
    struct oneib_ledger_port port = {
        .guid = guid, .host_id = host_id, .hca = {.port = 1, .port_guid = guid}};
    snprintf(port.hca.device, sizeof port.hca.device, "%s", device);
    port.hca.driver = strncmp(device, "mlx5", 4) == 0 ? ONEIB_HCA_MLX5 : ONEIB_HCA_MLX4;
    if (!oneib_ledger_host(&scene->ledger, host_id))
        oneib_ledger_pin(&scene->ledger, &host);
    assert_int_equal(0, oneib_ledger_set_port(&scene->ledger, &port, &scene->err));
}

static const struct oneib_host *host_of(const struct scene *scene, uint32_t id)
{
    return oneib_cloud_host(&scene->cloud, id);
}

static void must_find(const char *text)
{
    for (size_t i = 0; i < findings.count; i++)
        if (strstr(findings.items[i].text, text)) {
            assert_string_equal(findings.items[i].code, "port-conflict");
            return;
        }
    fail_msg("no finding says: %s", text);
}

static void a_hosts_ports_are_those_that_its_node_reported_whatever_its_probe_names(void **state)
{
    struct scene *scene = *state;
    own(scene, 1, "mlx4_0", port_of(1));
    struct oneib_host *host = add_empty_host(scene, 1);
    add_port(scene, host, "mlx5_7", 1, port_of(1))->rate_gbps = 56; /* another name and driver */
    add_port(scene, host, "mlx4_1", 1, 0x99);                       /* a port more */
    for (int i = 0; i < 2; i++) { /* likewise when it is settled again */
        settle(scene);
        assert_int_equal(host_of(scene, 1)->port_count, 1);
        const struct oneib_hca_port *port = &host_of(scene, 1)->ports[0];
        assert_string_equal(port->device, "mlx4_0");
        assert_int_equal(port->driver, ONEIB_HCA_MLX4);
        assert_true(port->port_guid == port_of(1) && port->is_proven && !port->is_reserved);
        assert_int_equal(port->rate_gbps, 56);
        assert_int_equal(host_of(scene, 1)->probed_count, 2);
        assert_int_equal(findings.count, 0);
    }
}

static void a_probe_that_names_nothing_takes_no_port_from_its_host(void **state)
{
    struct scene *scene = *state;
    own(scene, 1, "mlx5_0", port_of(1));
    add_empty_host(scene, 1);
    settle(scene);
    assert_int_equal(host_of(scene, 1)->port_count, 1);
}

static void a_port_that_another_host_owns_is_not_the_one_whose_probe_names_it(void **state)
{
    struct scene *scene = *state;
    own(scene, 2, "mlx4_0", port_of(2));
    add_host(scene, 2);
    add_port(scene, add_host(scene, 1), "mlx4_1", 1, port_of(2)); /* the lower id */
    settle(scene);
    assert_int_equal(host_of(scene, 2)->port_count, 1);
    assert_int_equal(host_of(scene, 1)->port_count, 1);
    assert_true(host_of(scene, 1)->ports[0].port_guid == port_of(1));
    assert_false(host_of(scene, 1)->ports[0].is_proven);
    assert_int_equal(findings.count, 1);
    must_find("host 1 names port 0x0002c90300000002 in IB_HCA, which by the ledger is the port of "
              "host 2: the port is not used for host 1");
    assert_true(oneib_finding_is_about(&findings.items[0], ONEIB_SUBJECT_HOST, 1));
    assert_true(oneib_finding_is_about(&findings.items[0], ONEIB_SUBJECT_HOST, 2));
}

static void a_port_that_no_node_reported_is_of_the_one_host_whose_probe_names_it(void **state)
{
    struct scene *scene = *state;
    own(scene, 3, "mlx4_0", port_of(3));
    add_port(scene, add_host(scene, 3), "mlx4_1", 1, port_of(1)); /* counts for nothing */
    add_host(scene, 1);
    settle(scene);
    assert_int_equal(host_of(scene, 1)->port_count, 1);
    assert_false(host_of(scene, 1)->ports[0].is_proven);
    assert_int_equal(findings.count, 0);
}

static void a_port_that_two_probes_name_and_no_node_reported_is_neithers(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    add_host(scene, 2)->ports[0].port_guid = port_of(1);
    settle(scene);
    assert_int_equal(host_of(scene, 1)->port_count, 0);
    assert_int_equal(host_of(scene, 2)->port_count, 0);
    assert_int_equal(findings.count, 2);
    must_find("host 2 names port 0x0002c90300000001 in IB_HCA, no oneib-node has reported it, and "
              "so does IB_HCA of host 1: the port is not used for host 2");
}

static void an_adapter_that_was_taken_out_is_still_the_hosts_and_no_candidate(void **state)
{
    struct scene *scene = *state;
    own(scene, 1, "mlx4_1", port_of(1));
    own(scene, 1, "mlx4_0", 0x77);
    own(scene, 1, "", 0x78); /* accepted, and not reported yet */
    scene->ledger.ports[2].state = ONEIB_LEDGER_PORT_ABSENT;
    add_host(scene, 1);
    add_host(scene, 2)->ports[0].port_guid = port_of(1);
    settle(scene);
    assert_int_equal(host_of(scene, 1)->port_count, 1);
    assert_true(host_of(scene, 1)->ports[0].port_guid == 0x77);
    assert_int_equal(host_of(scene, 2)->port_count, 0);
}

static bool is_reserved(struct scene *scene)
{
    settle(scene);
    assert_int_equal(host_of(scene, 1)->port_count, 1);
    return host_of(scene, 1)->ports[0].is_reserved;
}

static enum oneib_port_claim claim(const struct scene *scene, uint32_t host_id, oneib_guid guid,
                                   uint32_t *other)
{
    const struct oneib_port_evidence evidence = evidence_of(scene);
    return oneib_port_claim_check(&scene->cloud, &evidence, host_id, guid, other);
}

static void assert_claim(const struct scene *scene, oneib_guid guid, enum oneib_port_claim expected)
{
    uint32_t other;
    assert_int_equal(claim(scene, 1, guid, &other), expected);
}

static void static_members_full_members_and_the_subnet_managers_port_are_no_hosts(void **state)
{
    struct scene *scene = *state;
    const oneib_guid full[] = {port_of(1)};
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_subnet_port(scene, port_of(1), 64);
    assert_false(is_reserved(scene));
    assert_claim(scene, port_of(1), ONEIB_PORT_CLAIM_VALID);

    oneib_network_add_static(&scene->cloud.networks[0], port_of(1), ONEIB_FULL);
    assert_true(is_reserved(scene));
    assert_claim(scene, port_of(1), ONEIB_PORT_CLAIM_RESERVED);
    scene->cloud.networks[0].gid = 100; /* a tenant's list reserves nothing */
    assert_false(is_reserved(scene));

    scene->policy.default_full_members = full;
    scene->policy.default_full_count = 1;
    assert_true(is_reserved(scene));
    scene->policy.default_full_count = 0;
    scene->subnet.sm_port_guid = port_of(1);
    assert_true(is_reserved(scene));
    scene->subnet.sm_port_guid = 0;
    scene->subnet.ports[0].node_type = ONEIB_NODE_SWITCH;
    assert_true(is_reserved(scene));
    scene->subnet.ports[0].node_type = ONEIB_NODE_CA;
    scene->subnet.ports[0].owner = 0x55; /* a virtual port */
    assert_true(is_reserved(scene));

    own(scene, 1, "mlx4_0", port_of(1));
    assert_false(is_reserved(scene));
    scene->cloud.networks[0].gid = 0; /* whoever reported it before */
    assert_true(is_reserved(scene));
    scene->ledger.ports[0].is_accepted = true;
    assert_false(is_reserved(scene));
    scene->ledger.ports[0].is_accepted = false;
    scene->ledger.ports[0].hca.driver = ONEIB_HCA_MLX5;
    assert_false(is_reserved(scene));
}

/* A storage server's: a node that reports it first must not have it. */
static void a_port_of_the_static_partitions_is_no_hosts_until_it_is_accepted(void **state)
{
    struct scene *scene = *state;
    struct oneib_member members[] = {{.kind = ONEIB_MEMBER_ALL, .membership = ONEIB_LIMITED},
                                     {.guid = port_of(1), .kind = ONEIB_MEMBER_GUID}};
    struct oneib_partition partition = {
        .pkey = 0x7001, .members = members, .member_count = 2, .member_capacity = 2};
    const struct oneib_partition_table listed = {.items = &partition, .count = 1};
    struct oneib_port_evidence evidence = evidence_of(scene);
    uint32_t other;
    evidence.static_partitions = &listed;
    assert_int_equal(oneib_port_claim_check(&scene->cloud, &evidence, 1, port_of(1), &other),
                     ONEIB_PORT_CLAIM_LISTED);
    assert_int_equal(oneib_port_claim_check(&scene->cloud, &evidence, 1, port_of(2), &other),
                     ONEIB_PORT_CLAIM_VALID);
}

static void a_vfs_guid_is_no_adapters(void **state)
{
    struct scene *scene = *state;
    assert_claim(scene, oneib_guid_encode(SITE, 42, 0), ONEIB_PORT_CLAIM_NO_ADAPTERS);
    assert_claim(scene, 0, ONEIB_PORT_CLAIM_NO_ADAPTERS);
    assert_claim(scene, UINT64_MAX, ONEIB_PORT_CLAIM_NO_ADAPTERS);
    assert_claim(scene, oneib_guid_encode(SITE + 1, 42, 0), ONEIB_PORT_CLAIM_VALID);
}

static void a_port_of_an_adapter_that_another_host_owns_is_not_given(void **state)
{
    struct scene *scene = *state;
    uint32_t other = 0;
    own(scene, 2, "mlx4_0", 0x11);
    add_subnet_port(scene, 0x11, 64)->node_guid = 0x10;
    add_subnet_port(scene, 0x12, 64)->node_guid = 0x10;
    add_subnet_port(scene, 0x21, 64)->node_guid = 0x20;
    assert_int_equal(claim(scene, 1, 0x12, &other), ONEIB_PORT_CLAIM_SIBLING);
    assert_int_equal(other, 2);
    assert_int_equal(claim(scene, 2, 0x12, &other), ONEIB_PORT_CLAIM_VALID);
    assert_int_equal(claim(scene, 1, 0x21, &other), ONEIB_PORT_CLAIM_VALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWNER_TEST(a_hosts_ports_are_those_that_its_node_reported_whatever_its_probe_names),
        OWNER_TEST(a_probe_that_names_nothing_takes_no_port_from_its_host),
        OWNER_TEST(a_port_that_another_host_owns_is_not_the_one_whose_probe_names_it),
        OWNER_TEST(a_port_that_no_node_reported_is_of_the_one_host_whose_probe_names_it),
        OWNER_TEST(a_port_that_two_probes_name_and_no_node_reported_is_neithers),
        OWNER_TEST(an_adapter_that_was_taken_out_is_still_the_hosts_and_no_candidate),
        OWNER_TEST(static_members_full_members_and_the_subnet_managers_port_are_no_hosts),
        OWNER_TEST(a_port_of_the_static_partitions_is_no_hosts_until_it_is_accepted),
        OWNER_TEST(a_vfs_guid_is_no_adapters),
        OWNER_TEST(a_port_of_an_adapter_that_another_host_owns_is_not_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
