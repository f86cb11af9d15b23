// SPDX-License-Identifier: Apache-2.0
/* A snapshot that is kept and brought up to date: what was looked at stays, what follows is new. */
#include "../base/scratch.h"
#include "base/file.h"
#include "sync/sync.h"
#include <stdbool.h>

#define HOST 3
#define PORT UINT64_C(0x0002c90300000003)
#define KEY 0x0101

static char partitions_path[PATH_MAX], static_path[PATH_MAX];
static struct oneib_config config;
static struct oneib_sm *sm;
static struct oneib_snapshot snapshot;
static struct oneib_error err;

static void write_file(const char *path, const char *text)
{
    if (oneib_file_replace(path, text, strlen(text), 0644, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

/* One network, one host, one VM on it. */
static void fill_cloud(void)
{
    struct oneib_network *network = oneib_cloud_add_network(&snapshot.cloud);
    struct oneib_host *host = oneib_cloud_add_host(&snapshot.cloud);
    struct oneib_attachment *nic = oneib_cloud_add_attachment(&snapshot.cloud);
    struct oneib_hca_port *port = host ? oneib_host_add_port(host) : NULL;
    assert_true(network && nic && port);
    network->id = 1;
    network->parent_id = ONEIB_NO_ID;
    network->key_state = ONEIB_KEY_VALID;
    network->pkey = KEY;
    network->membership = ONEIB_FULL;
    host->id = HOST;
    *port = (struct oneib_hca_port){
        .device = "mlx4_0", .port = 1, .driver = ONEIB_HCA_MLX4, .port_guid = PORT};
    *nic = (struct oneib_attachment){.vm_id = 7,
                                     .nic_id = 1,
                                     .network_id = 1,
                                     .host_id = HOST,
                                     .source_host_id = ONEIB_NO_ID,
                                     .state = 3,
                                     .lcm_state = 3,
                                     .phase = ONEIB_SETTLED};
    oneib_cloud_sort(&snapshot.cloud);
    const struct oneib_ledger_network entry = {.network_id = 1, .pkey = KEY};
    snapshot.kept.state = ONEIB_LEDGER_READ;
    if (oneib_ledger_give(&snapshot.kept.ledger, &entry, &err) < 0)
        fail_msg("%s", err.text);
    oneib_findings_note(&snapshot.findings, ONEIB_FINDING_NAME_INVALID, "a finding");
    snapshot.subnet.ports = calloc(1, sizeof *snapshot.subnet.ports);
    assert_non_null(snapshot.subnet.ports);
    snapshot.subnet.ports[0] =
        (struct oneib_subnet_port){.guid = PORT, .node_type = ONEIB_NODE_CA, .partition_cap = 64};
    snapshot.subnet.port_count = 1;
    snapshot.subnet_known = true;
}

static int begin(void **state)
{
    if (make_scratch(state) < 0)
        return -1;
    snprintf(partitions_path, sizeof partitions_path, "%s", in_scratch("partitions.conf"));
    snprintf(static_path, sizeof static_path, "%s", in_scratch("static-partitions.conf"));
    config = (struct oneib_config){0};
    config.opensm.partitions = partitions_path;
    config.opensm.static_partitions = static_path;
    config.pkeys.first = 256;
    config.pkeys.last = 32766;
    config.pkeys.resting = 16;
    config.removal_hold.share = 0.5;
    config.removal_hold.minimum = 1;
    snapshot = (struct oneib_snapshot){0};
    sm = oneib_sm_open(&config, &err);
    assert_non_null(sm);
    fill_cloud();
    return 0;
}

static int end(void **state)
{
    oneib_snapshot_clear(&snapshot);
    oneib_sm_close(sm);
    return remove_scratch(state);
}

static void update(bool force)
{
    if (oneib_snapshot_update(&config, sm, force, &snapshot, &err) < 0)
        fail_msg("%s", err.text);
}

static void put_into_file(void)
{
    write_file(partitions_path, snapshot.rendered.data);
}

static void what_is_kept_is_computed_again_as_often_as_one_likes(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        update(false);
        assert_true(snapshot.changed);
        assert_int_equal(snapshot.seen.state, ONEIB_SEEN_NOTHING);
        assert_non_null(strstr(snapshot.rendered.data, "0x0002c90300000003"));
        assert_int_equal(snapshot.findings.count, 1);
        assert_int_equal(snapshot.subnet.port_count, 1);
    }
}

static void the_file_in_force_is_read_again(void **state)
{
    (void)state;
    update(false);
    put_into_file();
    update(false);
    assert_false(snapshot.changed);
    assert_int_equal(snapshot.seen.state, ONEIB_SEEN_OURS);
    assert_non_null(oneib_partition_table_find(&snapshot.seen.table, KEY));
    write_file(partitions_path, "mine=0x777 : ALL;\n");
    update(false);
    assert_true(snapshot.changed);
    assert_int_equal(snapshot.seen.state, ONEIB_SEEN_FOREIGN);
    write_file(partitions_path, "mine\n");
    update(false);
    assert_int_equal(snapshot.seen.state, ONEIB_SEEN_UNREADABLE);
    assert_int_equal(snapshot.seen.table.count, 0);
    write_file(partitions_path, "# nothing\n");
    update(false);
    assert_int_equal(snapshot.seen.state, ONEIB_SEEN_UNREADABLE);
    put_into_file();
    update(false);
    assert_int_equal(snapshot.seen.error.code, ONEIB_ERROR_NONE);
}

static void static_partitions_are_read_again(void **state)
{
    (void)state;
    update(false);
    assert_null(strstr(snapshot.rendered.data, "storage"));
    write_file(static_path, "storage=0x0010 : 0x0002c90300000009=full;\n");
    update(false);
    assert_non_null(strstr(snapshot.rendered.data, "storage"));
}

static void a_change_of_what_is_kept_is_seen(void **state)
{
    (void)state;
    update(false);
    put_into_file();
    snapshot.cloud.attachments[0].phase = ONEIB_ABSENT;
    update(true);
    assert_true(snapshot.changed);
    assert_int_equal(snapshot.desired.held_count, 0);
    assert_null(oneib_partition_table_find(&snapshot.desired.table, KEY));
}

static void removals_are_held_back_again_at_each_update(void **state)
{
    (void)state;
    update(false);
    put_into_file();
    snapshot.cloud.hosts[0].probed_count = 0;
    for (int i = 0; i < 2; i++) {
        update(false);
        assert_int_equal(snapshot.desired.held_count, 1);
        assert_false(snapshot.changed);
    }
}

static void after_a_failure_only_what_was_looked_at_is_left(void **state)
{
    (void)state;
    update(false);
    put_into_file();
    update(false);
    write_file(static_path, "storage=0x0010 : nonsense;\n");
    assert_int_equal(oneib_snapshot_update(&config, sm, false, &snapshot, &err), -1);
    assert_non_null(strstr(err.text, "static-partitions.conf"));
    assert_null(snapshot.rendered.data);
    assert_null(snapshot.seen.data);
    assert_int_equal(snapshot.seen.table.count, 0);
    assert_int_equal(snapshot.desired.table.count, 0);
    assert_int_equal(snapshot.cloud.attachment_count, 1);
    assert_int_equal(snapshot.findings.count, 1);
    assert_true(snapshot.subnet_known);
    assert_int_equal(snapshot.subnet.port_count, 1);
    assert_int_equal(unlink(static_path), 0);
    update(false);
    assert_false(snapshot.changed);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_kept_is_computed_again_as_often_as_one_likes),
        CASE(the_file_in_force_is_read_again),
        CASE(static_partitions_are_read_again),
        CASE(a_change_of_what_is_kept_is_seen),
        CASE(removals_are_held_back_again_at_each_update),
        CASE(after_a_failure_only_what_was_looked_at_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
