// SPDX-License-Identifier: Apache-2.0
#include "oneibd/nodes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define INSTANCE 0x1234u

static struct oneib_nodes nodes;
static struct oneib_report_message report;

static int begin(void **state)
{
    (void)state;
    nodes = (struct oneib_nodes){.instance = INSTANCE};
    memset(&report, 0, sizeof report);
    report.complete = true;
    report.believes = true;
    return 0;
}

static int end(void **state)
{
    (void)state;
    oneib_nodes_clear(&nodes);
    return 0;
}

/* Another host's probe reports the key of host 3, or does so no more. */
static void contest(bool contested)
{
    struct oneib_identity item = {
        .host_id = 3, .is_contested = contested, .ports = {0x11, 0x12}, .port_count = 2};
    memset(item.key, 1, sizeof item.key);
    const struct oneib_identities identities = {.items = &item, .count = 1};
    oneib_nodes_believe(&nodes, &identities, 0);
}

static void believe(const uint32_t *hosts, const uint8_t *keys, size_t count)
{
    struct oneib_identity items[8] = {0};
    for (size_t i = 0; i < count; i++) {
        items[i].host_id = hosts[i];
        memset(items[i].key, keys[i], sizeof items[i].key);
    }
    const struct oneib_identities identities = {.items = items, .count = count};
    oneib_nodes_believe(&nodes, &identities, 0);
}

static struct oneib_node *one_node(void)
{
    believe((const uint32_t[]){3}, (const uint8_t[]){1}, 1);
    return oneib_nodes_of_host(&nodes, 3);
}

static struct oneib_grant grant_of(uint32_t vm)
{
    return (struct oneib_grant){
        .vm_id = vm, .network_id = 7, .nic_id = 1, .port = 1, .pkey = 5, .device = "mlx4_0"};
}

/* The list with one grant for that VM; whether it was another. */
static bool list(struct oneib_node *node, uint32_t vm, double now)
{
    const struct oneib_grant grant = grant_of(vm);
    bool changed;
    oneib_nodes_list(&nodes, node, &grant, 1, now, &changed);
    return changed;
}

static void hear(struct oneib_node *node, uint64_t follows, double now)
{
    report.follows =
        follows > 0 ? (struct oneib_list_name){INSTANCE, follows} : (struct oneib_list_name){0};
    oneib_nodes_hear(&nodes, node, &report, now);
}

static const struct oneib_node_snapshot *look(double now)
{
    const struct oneib_node_snapshot *snapshots;
    oneib_nodes_read(&nodes, now, &snapshots);
    return snapshots;
}

static void record(size_t index, uint32_t vm, enum oneib_vf_stage stage)
{
    report.records[index] = (struct oneib_vf_record){.vf = {.bus = 0x81, .slot = (uint8_t)index},
                                                     .device = "mlx4_0",
                                                     .port = 1,
                                                     .vm_id = vm,
                                                     .network_id = 7,
                                                     .pkey = 5,
                                                     .stage = stage};
    report.count = index + 1;
}

static void a_node_is_unheard_until_it_reports(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    assert_int_equal(oneib_node_state(node, 100000), ONEIB_NODE_UNHEARD);
    assert_int_equal(oneib_nodes_unheard(&nodes), 1);
    assert_true(list(node, 42, 0));
    assert_int_equal(oneib_node_state(node, 100000), ONEIB_NODE_UNHEARD);
    hear(node, 0, 100000);
    assert_int_not_equal(oneib_node_state(node, 100000), ONEIB_NODE_UNHEARD);
    assert_int_equal(oneib_nodes_unheard(&nodes), 0);
}

static void a_node_has_nothing_when_all_that_it_has_is_given_back(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    assert_false(oneib_node_has_nothing(node, 0)); /* it has not said so */
    hear(node, 0, 0);
    assert_true(oneib_node_has_nothing(node, 10));

    record(0, 42, ONEIB_VF_RELEASING);
    hear(node, 0, 20);
    assert_false(oneib_node_has_nothing(node, 30)); /* not closed yet */
    report.records[0].pkey = 0;
    hear(node, 0, 40);
    assert_true(oneib_node_has_nothing(node, 50)); /* the SM has its GUID still */
    report.records[0].in_domain = true;
    hear(node, 0, 60);
    assert_false(oneib_node_has_nothing(node, 70)); /* its guest does not let go */
    report.records[0].in_domain = false;
    report.records[0].guid = ONEIB_VF_GUID_SET;
    hear(node, 0, 80);
    assert_false(oneib_node_has_nothing(node, 90));

    static const enum oneib_vf_stage owned[] = {ONEIB_VF_PREPARING, ONEIB_VF_CLOSED, ONEIB_VF_OPEN,
                                                ONEIB_VF_ENDED};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        record(0, 42, owned[i]);
        report.records[0].pkey = 0;
        hear(node, 0, 100);
        assert_false(oneib_node_has_nothing(node, 110));
    }
    report.count = 0;
    hear(node, 0, 120);
    assert_true(oneib_node_has_nothing(node, 130));
    assert_false(oneib_node_has_nothing(node, 130 + ONEIB_NODE_SILENT_MS + 1)); /* long ago */
}

/* What was under way when it was asked, or was its last before it died, is no answer. */
static void a_question_is_answered_by_a_report_that_follows_a_later_list(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    assert_true(list(node, 42, 0));
    const uint64_t before = node->serial;
    hear(node, before, 10);
    oneib_node_question(node, 7);
    assert_false(oneib_node_has_answered(node, 7));
    hear(node, before, 20);
    assert_false(oneib_node_has_answered(node, 7)); /* nobody has asked it yet */
    assert_true(list(node, 42, 30));                /* the same list, as another one */
    hear(node, before, 40);
    assert_false(oneib_node_has_answered(node, 7));
    hear(node, node->serial, 50);
    assert_true(oneib_node_has_answered(node, 7));
    oneib_node_question(node, 7);
    assert_true(oneib_node_has_answered(node, 7)); /* it was asked that already */
    assert_false(list(node, 42, 60));
    assert_false(oneib_node_has_answered(node, 8));
    oneib_node_question(node, 8);
    assert_false(oneib_node_has_answered(node, 7));
    assert_false(oneib_node_has_answered(node, 8));
    oneib_node_question(node, 0);
    assert_false(list(node, 42, 70)); /* nobody asks any more */
}

static void a_node_without_a_list_follows(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    assert_int_equal(oneib_node_state(node, 10), ONEIB_NODE_FOLLOWS);
}

/* An empty answer of oned's, and a daemon that has just started: the list would be empty, too. */
static void while_removals_are_held_a_node_has_to_say_first_what_it_has(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    assert_true(oneib_node_may_be_sent(node, 0));
    assert_false(oneib_node_may_be_sent(node, 3));
    report.complete = false;
    hear(node, 0, 10);
    assert_false(oneib_node_may_be_sent(node, 3));
    report.complete = true;
    hear(node, 0, 20);
    assert_true(oneib_node_may_be_sent(node, 3));
}

static void what_a_node_was_sent_is_known_before_it_reports(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    list(node, 42, 0);
    assert_true(oneib_node_may_be_sent(node, 3));
}

static void a_list_is_awaited_until_it_is_followed(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    assert_true(list(node, 42, 10));
    assert_int_equal(oneib_node_state(node, 20), ONEIB_NODE_AWAITED);
    hear(node, 0, 30); /* its report crossed the list */
    assert_int_equal(oneib_node_state(node, 30), ONEIB_NODE_AWAITED);
    hear(node, node->serial, 40);
    assert_int_equal(oneib_node_state(node, 40), ONEIB_NODE_FOLLOWS);
}

static void a_list_that_is_not_followed_within_a_second_makes_silent(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    list(node, 42, 100);
    hear(node, 0, 1099);
    assert_int_equal(oneib_node_state(node, 1099), ONEIB_NODE_AWAITED);
    assert_int_equal(oneib_node_state(node, 1100), ONEIB_NODE_SILENT);
    hear(node, 0, 1200);
    assert_int_equal(oneib_node_state(node, 1200), ONEIB_NODE_SILENT);
    hear(node, node->serial, 1300);
    assert_int_equal(oneib_node_state(node, 1300), ONEIB_NODE_FOLLOWS);
}

/* Each list gives it a second of its own. */
static void a_node_that_is_quick_is_not_silent_while_lists_keep_coming(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(list(node, i, i * 100.0));
        if (node->serial > 3)
            hear(node, node->serial - 3, i * 100.0);
        assert_int_equal(oneib_node_state(node, i * 100.0), ONEIB_NODE_AWAITED);
    }
}

static void a_node_that_is_slow_is_silent_however_many_lists_come(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    for (uint32_t i = 0; i < 100; i++) {
        list(node, i, 100 + i * 10.0);
        hear(node, 0, 100 + i * 10.0);
    }
    assert_int_equal(oneib_node_state(node, 1099), ONEIB_NODE_AWAITED);
    assert_int_equal(oneib_node_state(node, 1100), ONEIB_NODE_SILENT);
    hear(node, node->serial - 1, 1100);
    assert_int_not_equal(oneib_node_state(node, 1100), ONEIB_NODE_FOLLOWS);
    hear(node, node->serial, 1110);
    assert_int_equal(oneib_node_state(node, 1110), ONEIB_NODE_FOLLOWS);
}

static void the_same_list_is_not_sent_again(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    bool changed;
    oneib_nodes_list(&nodes, node, NULL, 0, 0, &changed);
    assert_true(changed); /* an empty list is one, too */
    oneib_nodes_list(&nodes, node, NULL, 0, 0, &changed);
    assert_false(changed);
    assert_true(list(node, 42, 0));
    const uint64_t serial = node->serial;
    assert_false(list(node, 42, 0));
    assert_int_equal(node->serial, serial);
    assert_true(list(node, 43, 0));
    assert_true(node->serial > serial);
}

static void a_service_that_began_anew_owes_the_list_again(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    list(node, 42, 0);
    hear(node, node->serial, 10);
    hear(node, 0, 5000);
    assert_int_equal(oneib_node_state(node, 5000), ONEIB_NODE_AWAITED);
    assert_int_equal(oneib_node_state(node, 6000), ONEIB_NODE_SILENT);
    hear(node, node->serial, 6100);
    assert_int_equal(oneib_node_state(node, 6100), ONEIB_NODE_FOLLOWS);
}

static bool was_told(uint32_t vm, double now)
{
    const struct oneib_vf_record record = {.vm_id = vm, .nic_id = 1};
    return oneib_node_was_told(look(now), &record);
}

/* Its first report comes before a sign of life has told it whom to believe. What it reports is its
 * table all the same; what it owes counts from when it believes us. */
static void a_service_that_began_anew_believes_nobody_for_a_moment(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    list(node, 42, 0);
    hear(node, node->serial, 10);
    list(node, 43, 4000);
    report.believes = false;
    record(0, 42, ONEIB_VF_OPEN);
    hear(node, 0, 4900);
    const struct oneib_node_snapshot *snapshot = look(5100);
    assert_int_equal(snapshot->state, ONEIB_NODE_FOLLOWS);
    assert_int_equal(snapshot->records[0].stage, ONEIB_VF_OPEN);
    assert_true(was_told(42, 5100));
    report.believes = true;
    hear(node, 0, 5200);
    assert_int_equal(oneib_node_state(node, 5200), ONEIB_NODE_AWAITED);
    assert_int_equal(oneib_node_state(node, 6199), ONEIB_NODE_AWAITED);
    assert_int_equal(oneib_node_state(node, 6200), ONEIB_NODE_SILENT);
    report.count = 0;
    hear(node, node->serial, 6300);
    assert_int_equal(oneib_node_state(node, 6300), ONEIB_NODE_FOLLOWS);
    assert_false(was_told(42, 6300));
}

static void following_a_list_of_nobodys_is_following_none(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    list(node, 42, 0);
    hear(node, node->serial + 1, 10); /* was never sent */
    assert_int_equal(oneib_node_state(node, 10), ONEIB_NODE_AWAITED);
    report.follows = (struct oneib_list_name){INSTANCE + 1, node->serial};
    oneib_nodes_hear(&nodes, node, &report, 20);
    assert_int_equal(oneib_node_state(node, 20), ONEIB_NODE_AWAITED);
}

/* It follows that one's lists, and reports all the same what it has. */
static void a_node_that_believes_another_daemon_owes_no_list(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    report.believes = false;
    hear(node, 0, 0);
    list(node, 42, 0);
    hear(node, 0, 2000);
    assert_int_equal(oneib_node_state(node, 2000), ONEIB_NODE_FOLLOWS);
    assert_int_equal(oneib_node_state(node, 2000 + ONEIB_NODE_SILENT_MS), ONEIB_NODE_SILENT);
    /* From now on it believes us. */
    report.believes = true;
    hear(node, 0, 3000);
    assert_int_equal(oneib_node_state(node, 3000), ONEIB_NODE_AWAITED);
    assert_int_equal(oneib_node_state(node, 4000), ONEIB_NODE_SILENT);
    hear(node, node->serial, 4100);
    assert_int_equal(oneib_node_state(node, 4100), ONEIB_NODE_FOLLOWS);
}

/* Its adapter may be in another host by now: neither is that one's fence kept from its port, nor is
 * the port pinned to the old one again. */
static void a_node_that_reports_no_more_has_no_ports(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    size_t count;
    oneib_node_ports(node, 0, &count);
    assert_int_equal(count, 0);
    report.port_count = 2;
    report.ports[0] = (struct oneib_hca_port){.port_guid = 0x10};
    report.ports[1] = (struct oneib_hca_port){.port_guid = 0x11};
    hear(node, 0, 100);
    list(node, 42, 100); /* that it does not follow in time says nothing of its ports */
    assert_int_equal(oneib_node_ports(node, 99 + ONEIB_NODE_SILENT_MS, &count)[1].port_guid, 0x11);
    assert_int_equal(count, 2);
    oneib_node_ports(node, 100 + ONEIB_NODE_SILENT_MS, &count);
    assert_int_equal(count, 0);
    hear(node, 0, 100 + ONEIB_NODE_SILENT_MS);
    oneib_node_ports(node, 100 + ONEIB_NODE_SILENT_MS, &count);
    assert_int_equal(count, 2);
}

static void a_node_that_reports_no_more_is_silent(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    look(0);
    assert_true(oneib_nodes_wait(&nodes, 0, 1e6) == ONEIB_NODE_SILENT_MS);
    assert_int_equal(oneib_nodes_news(&nodes, ONEIB_NODE_SILENT_MS - 1), ONEIB_NODES_NOTHING);
    assert_int_equal(oneib_node_state(node, ONEIB_NODE_SILENT_MS), ONEIB_NODE_SILENT);
    assert_int_equal(oneib_nodes_news(&nodes, ONEIB_NODE_SILENT_MS), ONEIB_NODES_NOW);
    look(ONEIB_NODE_SILENT_MS);
    assert_int_equal(oneib_nodes_news(&nodes, ONEIB_NODE_SILENT_MS + 1), ONEIB_NODES_NOTHING);
    assert_true(oneib_nodes_wait(&nodes, ONEIB_NODE_SILENT_MS, 1e6) == 1e6);
    hear(node, 0, ONEIB_NODE_SILENT_MS + 2);
    assert_int_equal(oneib_nodes_news(&nodes, ONEIB_NODE_SILENT_MS + 2), ONEIB_NODES_NOW);
}

static void following_is_news_for_whoever_waits_for_it(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    list(node, 42, 0);
    look(0);
    hear(node, node->serial, 10);
    assert_int_equal(oneib_nodes_news(&nodes, 10), ONEIB_NODES_LATER);
    nodes.awaited = true;
    assert_int_equal(oneib_nodes_news(&nodes, 10), ONEIB_NODES_NOW);
    look(10);
    assert_int_equal(oneib_nodes_news(&nodes, 20), ONEIB_NODES_NOTHING);
}

/* Whatever it did before that, its list was made without it. */
static void following_is_news_though_nobody_looked_since_the_list_was_sent(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    look(0);
    list(node, 42, 0);
    hear(node, 0, 5);
    assert_int_equal(oneib_nodes_news(&nodes, 0), ONEIB_NODES_LATER);
    nodes.news = ONEIB_NODES_NOTHING;
    hear(node, node->serial, 10);
    assert_int_equal(oneib_nodes_news(&nodes, 10), ONEIB_NODES_LATER);
    look(10);
    hear(node, node->serial, 20);
    assert_int_equal(oneib_nodes_news(&nodes, 20), ONEIB_NODES_NOTHING);
}

static void another_table_is_news_and_the_same_is_none(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    record(0, 42, ONEIB_VF_OPEN);
    hear(node, 0, 0);
    const struct oneib_node_snapshot *snapshot = look(0);
    assert_true(snapshot->table_known);
    assert_int_equal(snapshot->record_count, 1);
    assert_int_equal(snapshot->records[0].vm_id, 42);
    report.records[0].since++;
    hear(node, 0, 10);
    assert_int_equal(oneib_nodes_news(&nodes, 10), ONEIB_NODES_NOTHING);
    record(0, 42, ONEIB_VF_CLOSED);
    hear(node, 0, 20);
    assert_int_equal(oneib_nodes_news(&nodes, 20), ONEIB_NODES_LATER);
    look(20);
    nodes.awaited = true;
    record(0, 42, ONEIB_VF_RELEASING);
    hear(node, 0, 30);
    assert_int_equal(oneib_nodes_news(&nodes, 30), ONEIB_NODES_NOW);
    look(30);
    report.records[0].site++;
    hear(node, 0, 30);
    assert_int_equal(oneib_nodes_news(&nodes, 30), ONEIB_NODES_NOW);
    report.complete = false;
    look(30);
    hear(node, 0, 40);
    assert_false(look(40)->table_known);
}

/* A clone of the host's disk: what it has closed the host may have open. */
static void two_machines_with_one_key_are_as_good_as_silent(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    report.boot[0] = 1;
    hear(node, 0, 1000);
    assert_true(oneib_node_is_doubled(node, 1000));
    assert_int_equal(oneib_node_state(node, 1000), ONEIB_NODE_SILENT);
    assert_int_equal(oneib_nodes_news(&nodes, 1000), ONEIB_NODES_NOW);
    hear(node, 0, 6000);
    hear(node, 0, 11000);
    assert_int_equal(oneib_node_state(node, 15999), ONEIB_NODE_SILENT);
    hear(node, 0, 16000);
    assert_int_equal(oneib_node_state(node, 16000), ONEIB_NODE_FOLLOWS);
}

static void a_host_that_was_started_anew_is_one_machine(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    report.boot[0] = 1;
    hear(node, 0, ONEIB_NODE_SILENT_MS);
    assert_int_equal(oneib_node_state(node, ONEIB_NODE_SILENT_MS), ONEIB_NODE_FOLLOWS);
}

/* Forged, most likely: the machine is the one that was heard before. */
static void a_machine_that_is_known_follows_though_its_key_is_contested(void **state)
{
    (void)state;
    hear(one_node(), 0, 0);
    contest(true);
    struct oneib_node *node = oneib_nodes_of_host(&nodes, 3);
    assert_int_equal(oneib_node_state(node, 10), ONEIB_NODE_FOLLOWS);
    hear(node, 0, 5000);
    assert_int_equal(oneib_node_state(node, 5000), ONEIB_NODE_FOLLOWS);
}

/* The host is off, or cut off, and its clone connects: what that has closed the host may have
 * open. */
static void another_machine_with_a_contested_key_is_awaited_at_best(void **state)
{
    (void)state;
    hear(one_node(), 0, 0);
    contest(true);
    struct oneib_node *node = oneib_nodes_of_host(&nodes, 3);
    report.boot[0] = 1;
    hear(node, 0, 60000);
    assert_true(oneib_node_is_in_doubt(node));
    assert_int_equal(oneib_node_state(node, 60000), ONEIB_NODE_AWAITED);
    list(node, 42, 60000);
    hear(node, node->serial, 60010);
    assert_int_equal(oneib_node_state(node, 62000), ONEIB_NODE_AWAITED);
    contest(false);
    node = oneib_nodes_of_host(&nodes, 3);
    assert_int_equal(oneib_node_state(node, 62000), ONEIB_NODE_FOLLOWS);
}

static void set_reported_port(oneib_guid guid)
{
    report.ports[0] = (struct oneib_hca_port){.port_guid = guid};
    report.port_count = 1;
}

/* Else forged text of another host would have the host wait: its adapter says that it is the one. */
static void a_machine_with_the_hosts_port_follows_though_its_key_is_contested(void **state)
{
    (void)state;
    contest(true);
    struct oneib_node *node = oneib_nodes_of_host(&nodes, 3);
    set_reported_port(0x12);
    hear(node, 0, 0);
    assert_int_equal(oneib_node_state(node, 0), ONEIB_NODE_FOLLOWS);
    assert_false(oneib_node_is_in_doubt(node));
    report.port_count = 0; /* its driver is loaded anew */
    hear(node, 0, 5000);
    assert_int_equal(oneib_node_state(node, 5000), ONEIB_NODE_FOLLOWS);
    report.boot[0] = 1; /* the clone, of another machine */
    set_reported_port(0x13);
    hear(node, 0, 60000);
    assert_int_equal(oneib_node_state(node, 60000), ONEIB_NODE_AWAITED);
}

/* It was granted nothing yet, and its ports are recorded. */
static void a_new_host_follows_though_its_key_is_contested(void **state)
{
    (void)state;
    struct oneib_identity item = {.host_id = 3, .is_contested = true};
    memset(item.key, 1, sizeof item.key);
    oneib_nodes_believe(&nodes, &(struct oneib_identities){.items = &item, .count = 1}, 0);
    struct oneib_node *node = oneib_nodes_of_host(&nodes, 3);
    set_reported_port(0x13);
    hear(node, 0, 0);
    assert_false(oneib_node_is_in_doubt(node));
    assert_int_equal(oneib_node_state(node, 0), ONEIB_NODE_FOLLOWS);
}

/* After a start of the daemon's: which one it is nobody knows. */
static void the_first_machine_with_a_contested_key_is_awaited_at_best(void **state)
{
    (void)state;
    contest(true);
    struct oneib_node *node = oneib_nodes_of_host(&nodes, 3);
    assert_int_equal(oneib_node_state(node, 0), ONEIB_NODE_UNHEARD);
    hear(node, 0, 0);
    assert_int_equal(oneib_node_state(node, 0), ONEIB_NODE_AWAITED);
    hear(node, 0, 5000);
    assert_int_equal(oneib_node_state(node, 5000), ONEIB_NODE_AWAITED);
}

static void a_node_was_told_of_what_it_was_sent_until_it_has_let_go_of_it(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    hear(node, 0, 0);
    assert_false(was_told(42, 0));
    list(node, 42, 0);
    hear(node, node->serial, 10);
    assert_true(was_told(42, 10));
    report.records[0] = (struct oneib_vf_record){.vm_id = 42, .nic_id = 1};
    report.count = 1;
    hear(node, node->serial, 20);
    list(node, 43, 30);
    hear(node, node->serial - 1, 40);
    assert_true(was_told(42, 40));
    hear(node, node->serial, 50);
    assert_true(was_told(42, 50)); /* closed, and still there */
    assert_true(was_told(43, 50));
    report.records[0].vm_id = 44; /* another's with the same number */
    hear(node, node->serial, 60);
    assert_false(was_told(42, 60));
    assert_true(was_told(43, 60));
}

/* As VMs come and go lists name the same NICs again and again. */
static void of_a_nic_that_many_lists_name_a_node_was_told_once(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    record(0, 42, ONEIB_VF_OPEN);
    report.records[0].nic_id = 1;
    hear(node, 0, 0);
    for (uint32_t i = 0; i < 6; i++)
        list(node, 42 + i % 2, i);
    assert_int_equal(look(6)->told_count, 2);
    assert_true(was_told(42, 6));
    assert_true(was_told(43, 6));
}

/* A daemon before this one may have sent it. */
static void what_a_node_has_at_first_counts_for_a_while(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    report.complete = false;
    hear(node, 0, 0);
    report.complete = true;
    report.records[0] = (struct oneib_vf_record){.vm_id = 42, .nic_id = 1};
    report.count = 1;
    hear(node, 0, 1000);
    assert_true(was_told(42, 1000));
    report.records[1] = (struct oneib_vf_record){.vm_id = 43, .nic_id = 1};
    report.count = 2;
    hear(node, 0, 2000);
    assert_true(was_told(42, 2000));
    assert_false(was_told(43, 2000));
    assert_true(was_told(42, 1000 + ONEIB_SENT_BEFORE_MS - 1));
    assert_false(was_told(42, 1000 + ONEIB_SENT_BEFORE_MS));
    list(node, 42, 1000 + ONEIB_SENT_BEFORE_MS);
    assert_true(was_told(42, 1000 + 2 * ONEIB_SENT_BEFORE_MS));
}

/* By the list of the daemon before it may have it again. */
static void what_a_node_had_at_first_counts_until_it_follows_us(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    record(0, 42, ONEIB_VF_OPEN);
    report.records[0].nic_id = 1;
    hear(node, 0, 0);
    report.count = 0;
    hear(node, 0, 1000);
    assert_true(was_told(42, 1000));
    list(node, 43, 2000);
    hear(node, node->serial, 2010);
    assert_false(was_told(42, 2010));
}

static unsigned looks_wanted_at(struct oneib_node *node, double now)
{
    unsigned looks = 0;
    for (unsigned i = 0; i < 3 * ONEIB_NODE_WANTS_A_SECOND; i++)
        looks += oneib_node_may_want(node, now);
    return looks;
}

static void a_node_has_vms_looked_at_sixteen_times_a_second(void **state)
{
    (void)state;
    struct oneib_node *node = one_node();
    assert_int_equal(looks_wanted_at(node, 5000), 16);
    assert_int_equal(looks_wanted_at(node, 5999), 0);
    assert_int_equal(looks_wanted_at(node, 6000), 16);
}

static void what_is_known_goes_with_the_key(void **state)
{
    (void)state;
    believe((const uint32_t[]){3, 5}, (const uint8_t[]){1, 2}, 2);
    struct oneib_node *node = oneib_nodes_of_host(&nodes, 5);
    record(0, 42, ONEIB_VF_OPEN);
    hear(node, 0, 0);
    list(node, 42, 0);
    const uint64_t serial = node->serial;

    believe((const uint32_t[]){5}, (const uint8_t[]){2}, 1);
    assert_null(oneib_nodes_of_host(&nodes, 3));
    node = oneib_nodes_of_host(&nodes, 5);
    assert_ptr_equal(node, oneib_nodes_of_key(&nodes, node->identity.key));
    assert_int_equal(node->serial, serial);
    assert_int_equal(node->record_count, 1);
    assert_false(list(node, 42, 0));

    believe((const uint32_t[]){5}, (const uint8_t[]){9}, 1);
    node = oneib_nodes_of_host(&nodes, 5);
    assert_int_equal(oneib_node_state(node, 1), ONEIB_NODE_UNHEARD);
    assert_null(node->sent);
    /* Should it come back: serials never begin anew. */
    assert_true(list(node, 42, 0));
    assert_true(node->serial > serial);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_node_is_unheard_until_it_reports),
        test(a_node_has_nothing_when_all_that_it_has_is_given_back),
        test(a_question_is_answered_by_a_report_that_follows_a_later_list),
        test(a_node_without_a_list_follows),
        test(while_removals_are_held_a_node_has_to_say_first_what_it_has),
        test(what_a_node_was_sent_is_known_before_it_reports),
        test(a_list_is_awaited_until_it_is_followed),
        test(a_list_that_is_not_followed_within_a_second_makes_silent),
        test(a_node_that_is_quick_is_not_silent_while_lists_keep_coming),
        test(a_node_that_is_slow_is_silent_however_many_lists_come),
        test(the_same_list_is_not_sent_again),
        test(a_service_that_began_anew_owes_the_list_again),
        test(a_service_that_began_anew_believes_nobody_for_a_moment),
        test(following_a_list_of_nobodys_is_following_none),
        test(a_node_that_believes_another_daemon_owes_no_list),
        test(a_node_that_reports_no_more_has_no_ports),
        test(a_node_that_reports_no_more_is_silent),
        test(following_is_news_for_whoever_waits_for_it),
        test(following_is_news_though_nobody_looked_since_the_list_was_sent),
        test(another_table_is_news_and_the_same_is_none),
        test(two_machines_with_one_key_are_as_good_as_silent),
        test(a_host_that_was_started_anew_is_one_machine),
        test(a_machine_that_is_known_follows_though_its_key_is_contested),
        test(a_machine_with_the_hosts_port_follows_though_its_key_is_contested),
        test(a_new_host_follows_though_its_key_is_contested),
        test(another_machine_with_a_contested_key_is_awaited_at_best),
        test(the_first_machine_with_a_contested_key_is_awaited_at_best),
        test(a_node_was_told_of_what_it_was_sent_until_it_has_let_go_of_it),
        test(of_a_nic_that_many_lists_name_a_node_was_told_once),
        test(what_a_node_has_at_first_counts_for_a_while),
        test(what_a_node_had_at_first_counts_until_it_follows_us),
        test(a_node_has_vms_looked_at_sixteen_times_a_second),
        test(what_is_known_goes_with_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
