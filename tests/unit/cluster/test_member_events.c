// SPDX-License-Identifier: Apache-2.0
/*
 * What scenarios/news.txt does not hold: many members, their bounds, and states of ports that no
 * partitions lead to.
 */
#include "cloud_builder.h"
#include "cluster/member_events.h"

#define RED 4u
#define RED_KEY 0x0100u

/* What is kept from one reconciliation to the next, as a daemon keeps it. */
struct story {
    struct scene *scene;
    struct oneib_member_list before, after;
    struct oneib_member_events news, leaving;
    struct oneib_changes changes;
    size_t held;
    bool knows_before;
};

static struct story story;

static int begin(void **state)
{
    static uint32_t vm_ids[4096];
    if (scene_make(state) < 0)
        return -1;
    story = (struct story){.scene = *state};
    for (uint32_t i = 0; i < 4096; i++)
        vm_ids[i] = i;
    story.scene->cloud.vm_ids = malloc(sizeof vm_ids);
    memcpy(story.scene->cloud.vm_ids, vm_ids, sizeof vm_ids);
    story.scene->cloud.vm_count = 4096;
    return 0;
}

static int end(void **state)
{
    oneib_member_list_clear(&story.before);
    oneib_member_list_clear(&story.after);
    oneib_member_events_clear(&story.news);
    oneib_member_events_clear(&story.leaving);
    oneib_changes_clear(&story.changes);
    return scene_free(state);
}

#define STORY(function) cmocka_unit_test_setup_teardown(function, begin, end)

/* ---- the fabric ------------------------------------------------------------------------------ */

static void forget_ports(void)
{
    oneib_subnet_clear(&story.scene->subnet);
}

/* The port is there, and holds what the partitions say. */
static void obey_on(oneib_guid guid)
{
    struct scene *scene = story.scene;
    struct oneib_subnet_port *port = add_subnet_port(scene, guid, 8);
    port->answered = true;
    port->pkeys = calloc(8, sizeof *port->pkeys);
    unsigned used = 0;
    for (size_t i = 0; i < scene->desired.table.count; i++) {
        const struct oneib_partition *partition = &scene->desired.table.items[i];
        for (size_t j = 0; j < partition->member_count; j++)
            if (partition->members[j].guid == guid)
                port->pkeys[used++] = oneib_pkey_raw(
                    partition->pkey, (enum oneib_membership)partition->members[j].membership);
    }
    scene->has_subnet = false; /* computing does without */
}

/* Those of hosts 1-9. */
static void obey(void)
{
    forget_ports();
    for (uint32_t host = 1; host <= 9; host++)
        obey_on(port_of(host));
}

/* ---- one reconciliation ---------------------------------------------------------------------- */

static void copy_table(const struct oneib_partition_table *from, struct oneib_partition_table *to)
{
    struct oneib_error err;
    oneib_autotext struct oneib_text text = {0};
    oneib_partitions_render(from, &text);
    assert_int_equal(oneib_partitions_parse(text.data, text.length, "copy", to, &err), 0);
}

static void compare(bool refusals)
{
    struct scene *scene = story.scene;
    oneib_member_list_clear(&story.after);
    oneib_changes_clear(&story.changes);
    oneib_member_events_clear(&story.news);
    compute(scene);
    if (story.held == 0 && scene->has_in_force)
        story.held = hold_removals_of(scene);
    oneib_member_list_make(&scene->cloud, &scene->desired, &story.after);
    oneib_partitions_diff(&scene->in_force, &scene->desired.table, &story.changes);
    const struct oneib_member_events_input input = {.before =
                                                        story.knows_before ? &story.before : NULL,
                                                    .after = &story.after,
                                                    .cloud = &scene->cloud,
                                                    .changes = &story.changes,
                                                    .refusals = refusals};
    oneib_member_events_make(&input, &story.news);
}

static void prove(void)
{
    struct scene *scene = story.scene;
    const struct oneib_member_events_evidence evidence = {.subnet = &scene->subnet,
                                                          .cloud = &scene->cloud,
                                                          .desired = &scene->desired,
                                                          .begins = !story.knows_before};
    oneib_member_events_prove(&evidence, &story.after, &story.leaving, &story.news);
}

/* What is now, is what was before the next one; the file is in force. */
static void turn_over(void)
{
    struct scene *scene = story.scene;
    oneib_member_list_clear(&story.before);
    story.before = story.after;
    story.after = (struct oneib_member_list){0};
    story.knows_before = true;
    oneib_changes_clear(&story.changes);
    copy_table(&scene->desired.table, &scene->in_force);
    scene->has_in_force = true;
    scene->policy.hold_minimum = 1000;
    story.held = 0;
}

static void reconcile(void)
{
    compare(true);
    obey();
    prove();
}

static void settle(void)
{
    reconcile();
    turn_over();
}

/* ---- questions ------------------------------------------------------------------------------- */

static const char *said(size_t index)
{
    static char line[1024];
    oneib_autotext struct oneib_text text = {0};
    assert_true(index < story.news.count);
    oneib_member_events_append(&story.scene->cloud, &story.news.items[index], true, &text);
    snprintf(line, sizeof line, "%s", text.data);
    return line;
}

static void print_news(void)
{
    for (size_t i = 0; i < story.news.count; i++)
        print_message("  %s\n", said(i));
}

#define ASSERT_NEWS(number)                                                                        \
    do {                                                                                           \
        if (story.news.count != (number)) {                                                        \
            print_news();                                                                          \
            fail_msg("%zu news, not %d", story.news.count, (number));                              \
        }                                                                                          \
    } while (0)

static void red_on(uint32_t hosts)
{
    struct scene *scene = story.scene;
    add_network(scene, RED, RED_KEY)->name = strdup("red");
    for (uint32_t host = 1; host <= hosts; host++) {
        char name[16];
        snprintf(name, sizeof name, "node%u", host);
        add_host(scene, host)->name = strdup(name);
    }
}

static struct oneib_attachment *nic_of(uint32_t vm_id, unsigned nic_id)
{
    struct oneib_cloud *cloud = &story.scene->cloud;
    for (size_t i = 0; i < cloud->attachment_count; i++)
        if (cloud->attachments[i].vm_id == vm_id && cloud->attachments[i].nic_id == nic_id)
            return &cloud->attachments[i];
    fail_msg("no VM %u NIC %u", vm_id, nic_id);
    return NULL;
}

static void forget_nic(uint32_t vm_id, unsigned nic_id)
{
    struct oneib_cloud *cloud = &story.scene->cloud;
    const size_t index = (size_t)(nic_of(vm_id, nic_id) - cloud->attachments);
    memmove(&cloud->attachments[index], &cloud->attachments[index + 1],
            (cloud->attachment_count - index - 1) * sizeof *cloud->attachments);
    cloud->attachment_count--;
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* What a refused NIC would have had is nobody's removal. */
static void the_end_of_a_refusal_hides_nobody_else_on_the_port(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    oneib_network_add_static(&scene->cloud.networks[0], port_of(1), ONEIB_FULL);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    story.before.lines[0].member_status = ONEIB_MEMBER_STATUS_PORT_FULL;
    forget_nic(10, 0);
    scene->cloud.networks[0].static_count = 0;
    reconcile();
    ASSERT_NEWS(2);
    assert_string_equal(said(0), "member removed: network 4 \"red\" 0x0100 full, port "
                                 "0x0002c90300000001; gone from the port");
    assert_non_null(strstr(said(1), "member no longer refused: network 4 \"red\""));
}

/* ---- proof ----------------------------------------------------------------------------------- */

/* That the port lacks it meanwhile is a deviation, and said as such. */
static void a_key_that_a_port_loses_and_gets_again_is_no_news(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    compare(true);
    memset(scene->subnet.ports[0].pkeys, 0, 8 * sizeof *scene->subnet.ports[0].pkeys);
    prove();
    ASSERT_NEWS(0);
    turn_over();
    reconcile();
    ASSERT_NEWS(0);
}

static void a_port_that_is_off_or_mute_is_said_to_be(void **state)
{
    struct scene *scene = *state;
    red_on(3);
    settle();
    add_nic(scene, 10, 0, RED, 1);
    add_nic(scene, 11, 0, RED, 2);
    compare(true);
    obey();
    scene->subnet.ports[0].guid = 1;
    scene->subnet.ports[1].answered = false;
    prove();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "; the port is off the fabric"));
    assert_non_null(strstr(said(1), "; waited for: the port does not answer"));
    assert_string_equal(oneib_member_event_proof_name(ONEIB_PROOF_UNSEEN), "not-visible");
}

/* As of a host that is fenced, until the host's node has reported. */
static void what_waits_for_its_node_is_not_called_held_back(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    nic_of(10, 0)->phase = ONEIB_FAILED;
    compare(true);
    add_guid(scene, add_partition(scene, &scene->desired.table, "one4", RED_KEY), port_of(1),
             ONEIB_FULL); /* the gate's */
    obey();
    prove();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), ": is refused now, start-failed; waited for: the port still "
                                    "holds the key"));
}

static void of_each_port_and_key_one_removal_is_waited_for(void **state)
{
    struct scene *scene = *state;
    red_on(2);
    for (uint32_t i = 0; i < 50; i++)
        add_nic(scene, 10 + i, 0, RED, 1 + i % 2);
    settle();
    for (uint32_t i = 0; i < 50; i++)
        forget_nic(10 + i, 0);
    compare(true);
    prove(); /* the ports are as they were */
    ASSERT_NEWS(50);
    assert_int_equal(story.leaving.count, 2);
    assert_int_equal(story.leaving.items[0].line.vm_id, 58);
    assert_int_equal(story.leaving.items[1].line.vm_id, 59);
    turn_over();
    reconcile();
    ASSERT_NEWS(2);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static size_t lines_of_kind(uint32_t network_id, enum oneib_member_event_kind kind)
{
    size_t lines = 0;
    for (size_t i = 0; i < story.news.count; i++)
        lines += story.news.items[i].has_line && story.news.items[i].kind == kind &&
                 story.news.items[i].line.network_id == network_id;
    return lines;
}

static size_t lines_of(uint32_t network_id)
{
    size_t lines = 0;
    for (unsigned kind = 0; kind < ONEIB_MEMBER_EVENT_KINDS; kind++)
        lines += lines_of_kind(network_id, (enum oneib_member_event_kind)kind);
    return lines;
}

static void what_is_beyond_the_bound_is_counted_by_network(void **state)
{
    struct scene *scene = *state;
    oneib_autotext struct oneib_text rest = {0}, nothing = {0};
    red_on(2);
    add_network(scene, 5, 0x0105);
    settle();
    for (uint32_t i = 0; i < 2000; i++)
        add_nic(scene, 100 + i, 0, i % 4 ? RED : 5, 1 + i % 2);
    reconcile();
    assert_int_equal(story.news.count, 2000);
    oneib_member_events_append_rest(&scene->cloud, &story.news, &rest);
    assert_string_equal(rest.data,
                        "and 1800 more: network 4 \"red\" 1400 added; network 5 400 added");
    assert_int_equal(lines_of(RED) + lines_of(5), ONEIB_MEMBER_EVENT_LINES);
    turn_over();
    reconcile();
    oneib_member_events_append_rest(&scene->cloud, &story.news, &nothing);
    assert_null(nothing.data);
}

static void all_have_a_line_where_there_are_no_more_than_the_bound(void **state)
{
    struct scene *scene = *state;
    oneib_autotext struct oneib_text rest = {0};
    red_on(1);
    settle();
    for (uint32_t i = 0; i < ONEIB_MEMBER_EVENT_LINES; i++)
        add_nic(scene, 100 + i, 0, RED, 1);
    reconcile();
    assert_int_equal(lines_of(RED), ONEIB_MEMBER_EVENT_LINES);
    oneib_member_events_append_rest(&scene->cloud, &story.news, &rest);
    assert_null(rest.data);
}

/* Somebody's hundreds of refusals push out nobody's members, neither of the own network nor of
 * another one. */
static void each_network_has_its_share_of_the_lines(void **state)
{
    struct scene *scene = *state;
    oneib_autotext struct oneib_text rest = {0};
    red_on(2);
    add_network(scene, 3, RED_KEY + 3);
    add_nic(scene, 90, 0, RED, 1);
    add_nic(scene, 91, 0, 3, 1);
    settle();
    forget_nic(90, 0);
    forget_nic(91, 0);
    add_nic(scene, 92, 0, RED, 2);
    add_nic(scene, 93, 0, 3, 2);
    for (uint32_t i = 0; i < 250; i++)
        add_nic(scene, 100 + i, 0, 3, 7); /* a host that nobody knows */
    for (uint32_t i = 0; i < 250; i++)
        add_nic(scene, 1000 + i, 0, 2, 1); /* a network that is gone */
    reconcile();
    assert_int_equal(story.news.count, 504);
    assert_int_equal(lines_of_kind(RED, ONEIB_MEMBER_EVENT_REMOVED), 1);
    assert_int_equal(lines_of_kind(RED, ONEIB_MEMBER_EVENT_ADDED), 1);
    assert_int_equal(lines_of_kind(3, ONEIB_MEMBER_EVENT_REMOVED), 1);
    assert_int_equal(lines_of_kind(3, ONEIB_MEMBER_EVENT_ADDED), 1);
    assert_int_equal(lines_of_kind(3, ONEIB_MEMBER_EVENT_REFUSED), 97);
    assert_int_equal(lines_of_kind(2, ONEIB_MEMBER_EVENT_REFUSED), 99);
    oneib_member_events_append_rest(&scene->cloud, &story.news, &rest);
    assert_string_equal(rest.data, "and 304 more: network 3 153 refused; network 2 151 refused");
}

static void many_networks_are_counted_together(void **state)
{
    struct scene *scene = *state;
    oneib_autotext struct oneib_text rest = {0};
    red_on(1);
    settle();
    scene->policy.site = SITE;
    for (uint32_t i = 0; i < 300; i++)
        add_nic(scene, 100 + i, 0, 1000 + i, 1); /* networks that are gone */
    reconcile();
    assert_int_equal(story.news.count, 300);
    oneib_member_events_append_rest(&scene->cloud, &story.news, &rest);
    assert_non_null(strstr(rest.data, "and 100 more: network 1200 1 refused; network 1201"));
    assert_non_null(strstr(rest.data, "; 84 more networks 84 refused"));
    assert_true(rest.length < 1024);
}

static void as_many_networks_as_are_named_are_not_counted_together(void **state)
{
    struct scene *scene = *state;
    oneib_autotext struct oneib_text rest = {0};
    red_on(1);
    settle();
    for (uint32_t i = 0; i < ONEIB_MEMBER_EVENT_LINES + 16; i++)
        add_nic(scene, 100 + i, 0, 1000 + i, 1); /* networks that are gone */
    reconcile();
    oneib_member_events_append_rest(&scene->cloud, &story.news, &rest);
    assert_non_null(strstr(rest.data, "and 16 more: network 1200 1 refused; network 1201"));
    assert_null(strstr(rest.data, "more networks"));
}

static void what_has_no_line_is_counted_by_kind_and_what_is_waited_for_said(void **state)
{
    struct scene *scene = *state;
    oneib_autotext struct oneib_text rest = {0};
    red_on(2);
    add_network(scene, 5, RED_KEY + 5);
    settle();
    for (uint32_t i = 0; i < 300; i++) {
        add_nic(scene, 100 + i, 0, i % 2 ? RED : 5, 1 + i % 2);
        add_nic(scene, 1000 + i, 0, i % 2 ? RED : 5, 7); /* a host that nobody knows */
    }
    compare(true);
    scene->subnet.ports[1].answered = false;
    prove(); /* the ports are as they were */
    oneib_member_events_append_rest(&scene->cloud, &story.news, &rest);
    assert_string_equal(rest.data,
                        "and 400 more: network 4 \"red\" 50 added, 150 refused (50 waited for); "
                        "network 5 50 added, 150 refused (50 waited for)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(the_end_of_a_refusal_hides_nobody_else_on_the_port),
        STORY(a_key_that_a_port_loses_and_gets_again_is_no_news),
        STORY(a_port_that_is_off_or_mute_is_said_to_be),
        STORY(what_waits_for_its_node_is_not_called_held_back),
        STORY(of_each_port_and_key_one_removal_is_waited_for),
        STORY(what_is_beyond_the_bound_is_counted_by_network),
        STORY(all_have_a_line_where_there_are_no_more_than_the_bound),
        STORY(each_network_has_its_share_of_the_lines),
        STORY(many_networks_are_counted_together),
        STORY(as_many_networks_as_are_named_are_not_counted_together),
        STORY(what_has_no_line_is_counted_by_kind_and_what_is_waited_for_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
