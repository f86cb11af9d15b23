// SPDX-License-Identifier: Apache-2.0
/* Which ports of a fenced host are disabled, and which never are. */
#include "cluster/fence.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOST 3
#define OTHER 4
#define PORT UINT64_C(0x100003)        /* of HOST */
#define SECOND UINT64_C(0x100004)      /* of the same adapter */
#define OTHERS_PORT UINT64_C(0x100007) /* of OTHER */
#define ADAPTER UINT64_C(0x100002)
#define LEAF UINT64_C(0x200000)
#define NOW 100

static struct oneib_error err;

struct scene {
    struct oneib_cloud cloud;
    struct oneib_ledger ledger;
    struct oneib_policy policy;
    struct oneib_subnet subnet;
    struct oneib_subnet_port ports[4];
    struct oneib_switch_link links[8];
    size_t link_count;
    bool links_are_missing;
    uint32_t empty;
    size_t empty_count;
    const struct oneib_partition_table *static_partitions, *in_force;
    struct oneib_fence_plan plan;
};

static void report_port(struct scene *scene, uint32_t host_id, oneib_guid guid)
{
    const struct oneib_host *found = oneib_cloud_host(&scene->cloud, host_id);
    struct oneib_host *host = found ? &scene->cloud.hosts[found - scene->cloud.hosts]
                                    : oneib_cloud_add_host(&scene->cloud);
    host->id = host_id;
    struct oneib_hca_port *port = oneib_host_add_port(host);
    *port = (struct oneib_hca_port){.device = "mlx4_0", .port = 1, .port_guid = guid};
    oneib_cloud_sort(&scene->cloud);
}

/* Its node was the first to report it; 0: seen at no switch since. */
static void pin_port(struct scene *scene, uint32_t host_id, oneib_guid guid, uint8_t switch_port)
{
    const struct oneib_ledger_host host = {.host_id = host_id, .since = NOW};
    const struct oneib_ledger_port port = {.guid = guid,
                                           .host_id = host_id,
                                           .switch_guid = switch_port ? LEAF : 0,
                                           .switch_port = switch_port,
                                           .since = NOW};
    oneib_ledger_pin(&scene->ledger, &host);
    assert_int_equal(oneib_ledger_set_port(&scene->ledger, &port, &err), 0);
}

static void fence(struct scene *scene, uint32_t host_id, enum oneib_fence_wish wish)
{
    const struct oneib_ledger_fence entry = {
        .host_id = host_id, .wish = wish, .asked = 1, .since = NOW};
    oneib_ledger_set_fence(&scene->ledger, &entry);
}

static void fence_port(struct scene *scene, oneib_guid guid, uint8_t switch_port,
                       enum oneib_fence_state state)
{
    const struct oneib_ledger_fenced_port port = {.host_id = HOST,
                                                  .guid = guid,
                                                  .switch_guid = switch_port ? LEAF : 0,
                                                  .switch_port = switch_port,
                                                  .state = state,
                                                  .answer = state != ONEIB_FENCE_ASKED,
                                                  .since = NOW};
    assert_int_equal(oneib_ledger_set_fenced_port(&scene->ledger, &port, &err), 0);
}

static struct oneib_switch_link *link_port(struct scene *scene, uint8_t number, oneib_guid guid,
                                           oneib_guid node)
{
    struct oneib_switch_link *link = &scene->links[scene->link_count++];
    *link = (struct oneib_switch_link){.switch_guid = LEAF,
                                       .switch_port = number,
                                       .physical =
                                           guid ? ONEIB_PHYSICAL_LINK_UP : ONEIB_PHYSICAL_POLLING,
                                       .node_type = guid ? ONEIB_NODE_CA : 0,
                                       .port_guid = guid,
                                       .node_guid = node};
    return link;
}

/* A host that was just fenced, linked to port 7, beside another one at port 8. */
static struct scene *begin(void)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    report_port(scene, HOST, PORT);
    report_port(scene, OTHER, OTHERS_PORT);
    pin_port(scene, HOST, PORT, 0);
    pin_port(scene, OTHER, OTHERS_PORT, 0);
    link_port(scene, 7, PORT, ADAPTER);
    link_port(scene, 8, OTHERS_PORT, 0x100006);
    fence(scene, HOST, ONEIB_FENCE_CLOSED);
    fence_port(scene, PORT, 0, ONEIB_FENCE_ASKED);
    return scene;
}

static void plan(struct scene *scene)
{
    const struct oneib_fence_input input = {.cloud = &scene->cloud,
                                            .ledger = &scene->ledger,
                                            .policy = &scene->policy,
                                            .subnet = &scene->subnet,
                                            .own_port = 0x100001,
                                            .links = scene->links,
                                            .link_count = scene->link_count,
                                            .links_are_missing = scene->links_are_missing,
                                            .static_partitions = scene->static_partitions,
                                            .in_force = scene->in_force,
                                            .empty = &scene->empty,
                                            .empty_count = scene->empty_count};
    oneib_fence_plan_clear(&scene->plan);
    oneib_fence_plan(&input, &scene->plan);
}

static void end(struct scene *scene)
{
    oneib_fence_plan_clear(&scene->plan);
    oneib_ledger_clear(&scene->ledger);
    oneib_cloud_clear(&scene->cloud);
    free(scene);
}

/* Who does what is planned. */
static void obey(struct scene *scene)
{
    for (size_t i = 0; i < scene->plan.count; i++) {
        struct oneib_fence_step *step = &scene->plan.items[i];
        if (step->act == ONEIB_FENCE_DISABLE)
            step->state = ONEIB_FENCE_DOWN;
        if (step->act == ONEIB_FENCE_ENABLE)
            step->state = ONEIB_FENCE_UP;
    }
}

static void assert_only(const struct scene *scene, enum oneib_fence_state state,
                        enum oneib_fence_act act)
{
    assert_int_equal(scene->plan.count, 1);
    assert_int_equal(scene->plan.items[0].state, state);
    assert_int_equal(scene->plan.items[0].act, act);
}

static void a_port_is_disabled_where_it_is_linked(void **state)
{
    (void)state;
    struct scene *scene = begin();
    bool changed;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);
    assert_true(scene->plan.items[0].switch_guid == LEAF);
    assert_int_equal(scene->plan.items[0].switch_port, 7);

    /* The place is known before anything is done, and nothing is answered yet. */
    assert_int_equal(oneib_fence_note_places(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_true(changed);
    assert_int_equal(oneib_ledger_fenced_port(&scene->ledger, HOST, PORT)->switch_port, 7);
    assert_int_equal(oneib_ledger_fenced_port(&scene->ledger, HOST, PORT)->answer, 0);
    assert_false(oneib_fence_holds(&scene->ledger, HOST));

    obey(scene);
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_true(changed);
    assert_int_equal(oneib_ledger_fenced_port(&scene->ledger, HOST, PORT)->answer, 1);
    assert_true(oneib_fence_holds(&scene->ledger, HOST));
    end(scene);
}

static void what_is_as_the_ledger_says_changes_nothing(void **state)
{
    (void)state;
    struct scene *scene = begin();
    bool changed;
    fence_port(scene, PORT, 7, ONEIB_FENCE_DOWN);
    scene->links[0].physical = ONEIB_PHYSICAL_DISABLED;
    scene->links[0].port_guid = scene->links[0].node_guid = 0;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_DOWN, ONEIB_FENCE_LEAVE);
    assert_int_equal(oneib_fence_note_places(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_false(changed);
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_false(changed);
    end(scene);
}

static void a_fenced_port_that_is_up_again_is_closed_again(void **state)
{
    (void)state;
    struct scene *scene = begin();
    fence_port(scene, PORT, 7, ONEIB_FENCE_DOWN);
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);
    assert_true(scene->plan.items[0].came_up);

    /* Also while the link is not up yet: its switch has been started anew. */
    scene->links[0] = (struct oneib_switch_link){
        .switch_guid = LEAF, .switch_port = 7, .physical = ONEIB_PHYSICAL_POLLING};
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);
    assert_true(scene->plan.items[0].came_up);
    end(scene);
}

static void a_place_that_has_become_anothers_is_left_alone(void **state)
{
    (void)state;
    struct scene *scene = begin();
    fence_port(scene, PORT, 7, ONEIB_FENCE_DOWN);
    scene->links[0].port_guid = 0x100009;
    scene->links[0].node_guid = 0x100008;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_GONE, ONEIB_FENCE_LEAVE);
    assert_int_equal(scene->plan.items[0].switch_port, 0);

    scene->links[0].node_type = ONEIB_NODE_SWITCH;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_GONE, ONEIB_FENCE_LEAVE);
    end(scene);
}

static void a_port_that_moved_is_disabled_where_it_is_now(void **state)
{
    (void)state;
    struct scene *scene = begin();
    fence_port(scene, PORT, 5, ONEIB_FENCE_DOWN);
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);
    assert_int_equal(scene->plan.items[0].switch_port, 7);
    end(scene);
}

static void a_port_that_another_host_reports_is_not_disabled(void **state)
{
    (void)state;
    struct scene *scene = begin();
    report_port(scene, HOST, OTHERS_PORT); /* forged, or a mistake: nobody can say */
    fence_port(scene, OTHERS_PORT, 0, ONEIB_FENCE_ASKED);
    plan(scene);
    assert_int_equal(scene->plan.count, 2);
    assert_int_equal(scene->plan.items[0].act, ONEIB_FENCE_DISABLE);
    assert_true(scene->plan.items[1].guid == OTHERS_PORT);
    assert_int_equal(scene->plan.items[1].state, ONEIB_FENCE_SHARED);
    assert_int_equal(scene->plan.items[1].act, ONEIB_FENCE_LEAVE);

    /* The other port is down, and that does not make it a fence. */
    bool changed;
    obey(scene);
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_false(oneib_fence_holds(&scene->ledger, HOST));

    struct oneib_findings findings = {0};
    oneib_fence_report(&scene->cloud, &scene->ledger, &findings);
    assert_int_equal(findings.count, 2);
    assert_string_equal(findings.items[1].code, "fence-port-shared");
    assert_non_null(strstr(findings.items[1].text, "0x0000000000100007"));
    oneib_findings_clear(&findings);
    end(scene);
}

static struct oneib_hca_port *port_of_host(struct scene *scene, uint32_t host_id)
{
    return &scene->cloud.hosts[oneib_cloud_host(&scene->cloud, host_id) - scene->cloud.hosts]
                .ports[0];
}

/* Whoever speaks to monitord for both: the failed host has the other's port, and that has none that
 * there is. */
static void what_probes_say_when_a_host_fails_takes_no_port_and_leaves_none_open(void **state)
{
    (void)state;
    struct scene *scene = begin();
    oneib_ledger_lift_fence(&scene->ledger, HOST);
    fence(scene, HOST, ONEIB_FENCE_CLOSED);
    port_of_host(scene, HOST)->port_guid = OTHERS_PORT;
    port_of_host(scene, OTHER)->port_guid = 0xdead;
    fence_port(scene, OTHERS_PORT, 0, ONEIB_FENCE_ASKED);
    plan(scene);
    assert_int_equal(scene->plan.count, 2);
    assert_true(scene->plan.items[0].guid == OTHERS_PORT);
    assert_int_equal(scene->plan.items[0].state, ONEIB_FENCE_SHARED);
    assert_true(scene->plan.items[1].guid == PORT);
    assert_int_equal(scene->plan.items[1].act, ONEIB_FENCE_DISABLE);
    end(scene);
}

/* Somebody has told monitord before oneibd was there: a stranger's port is the failed host's. */
static void a_port_that_only_a_probe_names_is_not_closed_and_no_fence_that_holds(void **state)
{
    (void)state;
    struct scene *scene = begin();
    struct oneib_findings findings = {0};
    bool changed;
    oneib_ledger_forget_ports(&scene->ledger, HOST);
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UNPROVEN, ONEIB_FENCE_LEAVE);

    scene->link_count = 0; /* nor does it count when nobody has ever seen it */
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UNPROVEN, ONEIB_FENCE_LEAVE);
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_false(oneib_fence_holds(&scene->ledger, HOST));
    oneib_fence_report(&scene->cloud, &scene->ledger, &findings);
    assert_string_equal(findings.items[1].code, "fence-port-unproven");
    oneib_findings_clear(&findings);
    end(scene);
}

static void a_port_that_its_node_named_is_closed_whatever_its_probe_names(void **state)
{
    (void)state;
    struct scene *scene = begin();
    oneib_ledger_lift_fence(&scene->ledger, HOST);
    fence(scene, HOST, ONEIB_FENCE_CLOSED);
    port_of_host(scene, HOST)->port_guid = 0xdead;
    port_of_host(scene, OTHER)->port_guid = PORT;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);
    assert_true(scene->plan.items[0].guid == PORT);
    end(scene);
}

/* One of the two lies, and nobody can say which. */
static void a_host_without_power_is_closed_where_it_was_linked(void **state)
{
    (void)state;
    struct scene *scene = begin();
    pin_port(scene, HOST, PORT, 7);
    scene->links[0] = (struct oneib_switch_link){
        .switch_guid = LEAF, .switch_port = 7, .physical = ONEIB_PHYSICAL_POLLING};
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);
    assert_int_equal(scene->plan.items[0].switch_port, 7);

    scene->links[0].port_guid = 0x100009; /* the cable is another's by now */
    scene->links[0].node_type = ONEIB_NODE_CA;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_GONE, ONEIB_FENCE_LEAVE);
    end(scene);
}

/* Its hosts may reach each other behind it. */
static void a_leaf_that_is_cut_off_is_no_fence_that_holds(void **state)
{
    (void)state;
    struct scene *scene = begin();
    bool changed;
    pin_port(scene, HOST, PORT, 7);
    scene->link_count = 0;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_SILENT, ONEIB_FENCE_LEAVE);
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_false(oneib_fence_holds(&scene->ledger, HOST));

    oneib_ledger_forget_ports(&scene->ledger, HOST);
    pin_port(scene, HOST, PORT, 0); /* nor when nobody knows where it was */
    oneib_ledger_lift_fence(&scene->ledger, HOST);
    fence(scene, HOST, ONEIB_FENCE_CLOSED);
    plan(scene);
    assert_only(scene, ONEIB_FENCE_GONE, ONEIB_FENCE_LEAVE);
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_false(oneib_fence_holds(&scene->ledger, HOST));
    end(scene);
}

/* It may be the one behind the link that is up: the next reading tells. */
static void a_port_is_not_gone_while_somebody_who_is_linked_has_not_answered(void **state)
{
    (void)state;
    struct scene *scene = begin();
    scene->links[0].port_guid = scene->links[0].node_guid = scene->links[0].node_type = 0;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_SILENT, ONEIB_FENCE_LEAVE);

    scene->links[0].physical = ONEIB_PHYSICAL_POLLING;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_GONE, ONEIB_FENCE_LEAVE);
    end(scene);
}

/* Its switch, or all that is behind that one. */
static void a_port_is_not_gone_while_a_switch_has_not_answered(void **state)
{
    (void)state;
    struct scene *scene = begin();
    scene->link_count = 0;
    scene->links_are_missing = true;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_SILENT, ONEIB_FENCE_LEAVE);

    scene->links_are_missing = false;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_GONE, ONEIB_FENCE_LEAVE);
    end(scene);
}

static void a_port_that_was_off_the_fabric_is_closed_when_it_is_back_whoever_names_it(void **state)
{
    (void)state;
    struct scene *scene = begin();
    bool changed;
    scene->link_count = 0;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_GONE, ONEIB_FENCE_LEAVE);
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    report_port(scene, OTHER, PORT);
    link_port(scene, 7, PORT, ADAPTER);
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);
    end(scene);
}

static void add_partition(struct oneib_partition_table *table, const char *name, oneib_pkey pkey,
                          oneib_guid guid)
{
    const struct oneib_member member = {.guid = guid, .kind = ONEIB_MEMBER_GUID};
    struct oneib_partition *partition = oneib_partition_table_add(table);
    assert_non_null(partition);
    snprintf(partition->name, sizeof partition->name, "%s", name);
    partition->pkey = pkey;
    oneib_partition_add_member(partition, member);
}

/* A storage server is no host of OpenNebula's: a forged probe is the first to name it. */
static void a_port_of_the_operators_partitions_is_closed_only_when_it_is_in_a_cluster(void **state)
{
    (void)state;
    struct scene *scene = begin();
    struct oneib_partition_table static_partitions = {0}, in_force = {0};
    add_partition(&static_partitions, "other", 0x11, OTHERS_PORT);
    scene->static_partitions = &static_partitions;
    scene->in_force = &in_force;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);

    add_partition(&static_partitions, "store", 0x10, PORT);
    add_partition(&in_force, "one8", 0x102, OTHERS_PORT);
    add_partition(&in_force, "store", 0x10, PORT);
    plan(scene);
    assert_only(scene, ONEIB_FENCE_BARRED, ONEIB_FENCE_LEAVE);

    add_partition(&in_force, "one7", 0x101, PORT);
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);

    /* Nobody on it is a member any more, and it stays closed. */
    bool changed;
    assert_int_equal(oneib_fence_note_places(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    oneib_partition_table_clear(&in_force);
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);
    oneib_partition_table_clear(&static_partitions);
    end(scene);
}

static void who_names_a_fenced_port_later_does_not_open_it(void **state)
{
    (void)state;
    struct scene *scene = begin();
    fence_port(scene, PORT, 7, ONEIB_FENCE_DOWN);
    report_port(scene, OTHER, PORT);
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);
    end(scene);
}

static void ports_that_all_depend_on_are_barred(void **state)
{
    (void)state;
    struct scene *scene = begin();
    scene->subnet.sm_port_guid = PORT;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_BARRED, ONEIB_FENCE_LEAVE);

    scene->subnet.sm_port_guid = 0;
    const oneib_guid full = PORT;
    scene->policy = (struct oneib_policy){.default_full_members = &full, .default_full_count = 1};
    plan(scene);
    assert_only(scene, ONEIB_FENCE_BARRED, ONEIB_FENCE_LEAVE);
    end(scene);
}

static void only_an_operators_static_member_is_barred(void **state)
{
    (void)state;
    struct scene *scene = begin();
    struct oneib_network *network = oneib_cloud_add_network(&scene->cloud);
    *network = (struct oneib_network){.id = 9, .parent_id = ONEIB_NO_ID, .uid = 5, .gid = 1};
    oneib_network_add_static(network, PORT, ONEIB_FULL);
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE); /* a tenant's wish */
    network->gid = 0;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_BARRED, ONEIB_FENCE_LEAVE);
    end(scene);
}

/* A host that reports a switch's GUID as its own has no links between switches cut. */
static void a_port_behind_which_a_switch_is_stays_as_it_is(void **state)
{
    (void)state;
    struct scene *scene = begin();
    scene->links[0].node_type = ONEIB_NODE_SWITCH;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_GONE, ONEIB_FENCE_LEAVE);
    end(scene);
}

static void a_port_seen_at_two_places_is_disabled_at_neither(void **state)
{
    (void)state;
    struct scene *scene = begin();
    link_port(scene, 9, PORT, ADAPTER);
    plan(scene);
    assert_only(scene, ONEIB_FENCE_DOUBLED, ONEIB_FENCE_LEAVE);
    end(scene);
}

static void the_other_port_of_the_adapter_is_disabled_too(void **state)
{
    (void)state;
    struct scene *scene = begin();
    link_port(scene, 9, SECOND, ADAPTER);
    plan(scene);
    assert_int_equal(scene->plan.count, 2);
    assert_true(scene->plan.items[1].guid == SECOND);
    assert_int_equal(scene->plan.items[1].act, ONEIB_FENCE_DISABLE);
    assert_int_equal(scene->plan.items[1].switch_port, 9);
    end(scene);
}

/* Its probe alone named it, and its adapter proves it. */
static void the_other_port_of_the_adapter_is_disabled_when_only_a_probe_named_it(void **state)
{
    (void)state;
    struct scene *scene = begin();
    link_port(scene, 9, SECOND, ADAPTER);
    fence_port(scene, SECOND, 0, ONEIB_FENCE_ASKED);
    plan(scene);
    assert_int_equal(scene->plan.count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(scene->plan.items[i].act, ONEIB_FENCE_DISABLE);
    end(scene);
}

static void the_other_port_of_the_adapter_stays_when_another_host_owns_it(void **state)
{
    (void)state;
    struct scene *scene = begin();
    link_port(scene, 9, SECOND, ADAPTER);
    pin_port(scene, OTHER, SECOND, 0);
    plan(scene);
    assert_int_equal(scene->plan.count, 2);
    assert_int_equal(scene->plan.items[0].act, ONEIB_FENCE_DISABLE);
    assert_int_equal(scene->plan.items[1].state, ONEIB_FENCE_SHARED);
    assert_int_equal(scene->plan.items[1].act, ONEIB_FENCE_LEAVE);
    end(scene);
}

static void a_port_that_is_nowhere_is_gone_and_one_that_is_somewhere_silent(void **state)
{
    (void)state;
    struct scene *scene = begin();
    scene->link_count = 0;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_GONE, ONEIB_FENCE_LEAVE);

    scene->ports[0] = (struct oneib_subnet_port){.guid = PORT};
    scene->subnet.ports = scene->ports; /* the SA knows it, and no switch says where */
    scene->subnet.port_count = 1;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_SILENT, ONEIB_FENCE_LEAVE);

    scene->subnet.port_count = 0;
    fence_port(scene, PORT, 7, ONEIB_FENCE_DOWN); /* its switch is not found any more */
    plan(scene);
    assert_only(scene, ONEIB_FENCE_SILENT, ONEIB_FENCE_LEAVE);
    assert_false(scene->plan.items[0].came_up);
    end(scene);
}

static struct scene *begin_lifting(enum oneib_fence_wish wish)
{
    struct scene *scene = begin();
    fence(scene, HOST, wish);
    fence_port(scene, PORT, 7, ONEIB_FENCE_DOWN);
    scene->links[0] = (struct oneib_switch_link){
        .switch_guid = LEAF, .switch_port = 7, .physical = ONEIB_PHYSICAL_DISABLED};
    return scene;
}

static void a_fence_is_lifted_only_when_the_node_has_reported_an_empty_table(void **state)
{
    (void)state;
    struct scene *scene = begin_lifting(ONEIB_FENCE_LIFT);
    bool changed;
    scene->empty = OTHER;
    scene->empty_count = 1;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_DOWN, ONEIB_FENCE_LEAVE);
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_true(oneib_fence_holds(&scene->ledger, HOST));

    scene->empty = HOST;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_DOWN, ONEIB_FENCE_ENABLE);
    /* The switch does not do it: fenced still. */
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_non_null(oneib_ledger_fence(&scene->ledger, HOST));
    obey(scene);
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_true(changed);
    assert_null(oneib_ledger_fence(&scene->ledger, HOST));
    assert_int_equal(scene->ledger.fenced_port_count, 0);
    end(scene);
}

static void a_node_that_says_it_is_empty_lifts_nothing_unasked(void **state)
{
    (void)state;
    struct scene *scene = begin_lifting(ONEIB_FENCE_CLOSED);
    scene->empty = HOST;
    scene->empty_count = 1;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_DOWN, ONEIB_FENCE_LEAVE);
    end(scene);
}

static void a_port_that_comes_up_while_it_waits_to_be_lifted_is_closed(void **state)
{
    (void)state;
    struct scene *scene = begin_lifting(ONEIB_FENCE_LIFT);
    link_port(scene, 7, PORT, ADAPTER);
    scene->links[0] = scene->links[--scene->link_count];
    plan(scene);
    assert_only(scene, ONEIB_FENCE_UP, ONEIB_FENCE_DISABLE);
    bool changed;
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_non_null(oneib_ledger_fence(&scene->ledger, HOST)); /* up is not lifted */
    end(scene);
}

static void a_forced_fence_is_lifted_without_the_node_and_without_the_switch(void **state)
{
    (void)state;
    struct scene *scene = begin_lifting(ONEIB_FENCE_FORCED);
    bool changed;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_DOWN, ONEIB_FENCE_ENABLE);

    scene->link_count = 0;
    plan(scene);
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_null(oneib_ledger_fence(&scene->ledger, HOST));
    end(scene);
}

static void lifting_waits_for_a_switch_that_is_not_found(void **state)
{
    (void)state;
    struct scene *scene = begin_lifting(ONEIB_FENCE_LIFT);
    bool changed;
    scene->empty = HOST;
    scene->empty_count = 1;
    scene->link_count = 0;
    plan(scene);
    assert_only(scene, ONEIB_FENCE_SILENT, ONEIB_FENCE_LEAVE);
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_non_null(oneib_ledger_fence(&scene->ledger, HOST));
    end(scene);
}

static void a_host_without_ports_is_no_fence_that_holds(void **state)
{
    (void)state;
    struct oneib_ledger ledger = {0};
    assert_false(oneib_fence_holds(&ledger, HOST));
    oneib_ledger_set_fence(&ledger, &(struct oneib_ledger_fence){.host_id = HOST});
    assert_false(oneib_fence_holds(&ledger, HOST));

    const struct oneib_fence_plan nothing = {0};
    bool changed;
    assert_int_equal(oneib_fence_note_states(&nothing, NOW, &ledger, &changed, &err), 0);
    assert_false(changed); /* nor is it lifted by having nothing to enable */
    assert_non_null(oneib_ledger_fence(&ledger, HOST));
    oneib_ledger_clear(&ledger);
}

/* Each host by its own ports. */
static void a_fence_holds_whatever_another_hosts_ports_are(void **state)
{
    (void)state;
    struct scene *scene = begin();
    const struct oneib_ledger_fenced_port open = {
        .host_id = OTHER, .guid = OTHERS_PORT, .state = ONEIB_FENCE_UP, .since = NOW};
    fence(scene, OTHER, ONEIB_FENCE_CLOSED);
    fence_port(scene, PORT, 7, ONEIB_FENCE_DOWN);
    assert_false(oneib_fence_holds(&scene->ledger, OTHER));
    assert_int_equal(oneib_ledger_set_fenced_port(&scene->ledger, &open, &err), 0);
    assert_true(oneib_fence_holds(&scene->ledger, HOST));
    assert_false(oneib_fence_holds(&scene->ledger, OTHER));
    end(scene);
}

static void a_port_is_since_its_state_changed(void **state)
{
    (void)state;
    struct scene *scene = begin();
    bool changed;
    plan(scene);
    obey(scene);
    for (int64_t later = 1; later <= 2; later++)
        assert_int_equal(
            oneib_fence_note_states(&scene->plan, NOW + later, &scene->ledger, &changed, &err), 0);
    assert_int_equal(oneib_ledger_fenced_port(&scene->ledger, HOST, PORT)->since, NOW + 1);
    end(scene);
}

/* Its fence was lifted while the switch was asked. */
static void of_a_host_that_is_fenced_no_more_nothing_is_noted(void **state)
{
    (void)state;
    struct scene *scene = begin();
    bool changed;
    plan(scene);
    oneib_ledger_lift_fence(&scene->ledger, HOST);
    assert_int_equal(oneib_fence_note_places(&scene->plan, NOW, &scene->ledger, &changed, &err),
                     -1);
    assert_non_null(strstr(err.text, "is not fenced"));
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err), 0);
    assert_false(changed);
    assert_int_equal(scene->ledger.fenced_port_count, 0);
    end(scene);
}

static void what_is_no_port_cannot_be_noted(void **state)
{
    (void)state;
    struct scene *scene = begin();
    bool changed;
    plan(scene);
    scene->plan.items[0].guid = 0;
    assert_int_equal(oneib_fence_note_states(&scene->plan, NOW, &scene->ledger, &changed, &err),
                     -1);
    assert_non_null(strstr(err.text, "is no port"));
    end(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_is_disabled_where_it_is_linked),
        cmocka_unit_test(what_is_as_the_ledger_says_changes_nothing),
        cmocka_unit_test(a_fenced_port_that_is_up_again_is_closed_again),
        cmocka_unit_test(a_place_that_has_become_anothers_is_left_alone),
        cmocka_unit_test(a_port_that_moved_is_disabled_where_it_is_now),
        cmocka_unit_test(a_port_that_another_host_reports_is_not_disabled),
        cmocka_unit_test(a_port_of_the_operators_partitions_is_closed_only_when_it_is_in_a_cluster),
        cmocka_unit_test(what_probes_say_when_a_host_fails_takes_no_port_and_leaves_none_open),
        cmocka_unit_test(a_port_that_only_a_probe_names_is_not_closed_and_no_fence_that_holds),
        cmocka_unit_test(a_port_that_its_node_named_is_closed_whatever_its_probe_names),
        cmocka_unit_test(a_host_without_power_is_closed_where_it_was_linked),
        cmocka_unit_test(a_leaf_that_is_cut_off_is_no_fence_that_holds),
        cmocka_unit_test(a_port_is_not_gone_while_somebody_who_is_linked_has_not_answered),
        cmocka_unit_test(a_port_is_not_gone_while_a_switch_has_not_answered),
        cmocka_unit_test(a_port_that_was_off_the_fabric_is_closed_when_it_is_back_whoever_names_it),
        cmocka_unit_test(who_names_a_fenced_port_later_does_not_open_it),
        cmocka_unit_test(ports_that_all_depend_on_are_barred),
        cmocka_unit_test(only_an_operators_static_member_is_barred),
        cmocka_unit_test(a_port_behind_which_a_switch_is_stays_as_it_is),
        cmocka_unit_test(a_port_seen_at_two_places_is_disabled_at_neither),
        cmocka_unit_test(the_other_port_of_the_adapter_is_disabled_too),
        cmocka_unit_test(the_other_port_of_the_adapter_is_disabled_when_only_a_probe_named_it),
        cmocka_unit_test(the_other_port_of_the_adapter_stays_when_another_host_owns_it),
        cmocka_unit_test(a_port_that_is_nowhere_is_gone_and_one_that_is_somewhere_silent),
        cmocka_unit_test(a_fence_is_lifted_only_when_the_node_has_reported_an_empty_table),
        cmocka_unit_test(a_node_that_says_it_is_empty_lifts_nothing_unasked),
        cmocka_unit_test(a_port_that_comes_up_while_it_waits_to_be_lifted_is_closed),
        cmocka_unit_test(a_forced_fence_is_lifted_without_the_node_and_without_the_switch),
        cmocka_unit_test(lifting_waits_for_a_switch_that_is_not_found),
        cmocka_unit_test(a_host_without_ports_is_no_fence_that_holds),
        cmocka_unit_test(a_fence_holds_whatever_another_hosts_ports_are),
        cmocka_unit_test(a_port_is_since_its_state_changed),
        cmocka_unit_test(of_a_host_that_is_fenced_no_more_nothing_is_noted),
        cmocka_unit_test(what_is_no_port_cannot_be_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
