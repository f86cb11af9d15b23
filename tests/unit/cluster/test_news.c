// SPDX-License-Identifier: Apache-2.0
/*
 * Who was added, removed or refused, why, and what the ports say: two states of a small cloud, and
 * between them a reconciliation.
 */
#include "cloud_builder.h"
#include "cluster/news.h"

#define RED 4u
#define RED_KEY 0x0100u

/* What is kept from one reconciliation to the next, as a daemon keeps it. */
struct story {
    struct scene *scene;
    struct oneib_roster before, after;
    struct oneib_news news, leaving;
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
    oneib_roster_clear(&story.before);
    oneib_roster_clear(&story.after);
    oneib_news_clear(&story.news);
    oneib_news_clear(&story.leaving);
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
    oneib_roster_clear(&story.after);
    oneib_changes_clear(&story.changes);
    oneib_news_clear(&story.news);
    compute(scene);
    if (story.held == 0 && scene->has_in_force)
        story.held = hold_removals_of(scene);
    oneib_roster_make(&scene->cloud, &scene->desired, &story.after);
    oneib_partitions_diff(&scene->in_force, &scene->desired.table, &story.changes);
    const struct oneib_news_input input = {.before = story.knows_before ? &story.before : NULL,
                                           .after = &story.after,
                                           .cloud = &scene->cloud,
                                           .changes = &story.changes,
                                           .refusals = refusals};
    oneib_news_make(&input, &story.news);
}

static void prove(void)
{
    struct scene *scene = story.scene;
    const struct oneib_news_evidence evidence = {.subnet = &scene->subnet,
                                                 .cloud = &scene->cloud,
                                                 .desired = &scene->desired,
                                                 .begins = !story.knows_before};
    oneib_news_prove(&evidence, &story.after, &story.leaving, &story.news);
}

/* What is now, is what was before the next one; the file is in force. */
static void turn_over(void)
{
    struct scene *scene = story.scene;
    oneib_roster_clear(&story.before);
    story.before = story.after;
    story.after = (struct oneib_roster){0};
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
    oneib_news_append(&story.scene->cloud, &story.news.items[index], true, &text);
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

static void lose_port(uint32_t host_id)
{
    struct oneib_cloud *cloud = &story.scene->cloud;
    for (size_t i = 0; i < cloud->host_count; i++)
        if (cloud->hosts[i].id == host_id)
            cloud->hosts[i].port_count = 0;
}

/* oned has no such VM any more. */
static void forget_vm(uint32_t vm_id)
{
    struct oneib_cloud *cloud = &story.scene->cloud;
    memmove(&cloud->vm_ids[vm_id], &cloud->vm_ids[vm_id + 1],
            (cloud->vm_count - vm_id - 1) * sizeof *cloud->vm_ids);
    cloud->vm_count--;
}

/* ---- grow and shrink ------------------------------------------------------------------------- */

static void a_vm_that_comes_is_added_with_all_that_is_known(void **state)
{
    struct scene *scene = *state;
    red_on(2);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    struct oneib_attachment *nic = add_nic(scene, 42, 1, RED, 2);
    nic->phase = ONEIB_ARRIVING;
    nic->lcm_state = 1;
    reconcile();
    ASSERT_NEWS(1);
    assert_string_equal(said(0), "member added: network 4 \"red\" 0x0100 full, VM 42 NIC 1 on host "
                                 "\"node2\", port 0x0002c90300000002: VM came to the host "
                                 "(PROLOG); in force");
}

static void a_state_without_a_name_is_said_by_its_numbers(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    settle();
    struct oneib_attachment *nic = add_nic(scene, 42, 0, RED, 1);
    nic->state = 97;
    nic->lcm_state = 98;
    reconcile();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), ": VM came to the host (state 97/98); in force"));
}

static void nothing_that_stays_is_news(void **state)
{
    struct scene *scene = *state;
    red_on(2);
    add_nic(scene, 10, 0, RED, 1);
    add_nic(scene, 11, 0, RED, 2);
    settle();
    nic_of(10, 0)->lcm_state = 20;
    reconcile();
    ASSERT_NEWS(0);
}

static void a_vm_that_goes_is_removed_and_it_is_said_how(void **state)
{
    struct scene *scene = *state;
    red_on(4);
    for (uint32_t i = 1; i <= 4; i++)
        add_nic(scene, 10 + i, 0, RED, i);
    add_nic(scene, 13, 1, RED, 3);
    add_nic(scene, 13, 2, 9, 3);
    settle();
    forget_nic(11, 0);
    forget_vm(11);
    nic_of(12, 0)->phase = ONEIB_ABSENT;
    nic_of(12, 0)->state = 8;
    forget_nic(13, 0);
    reconcile();
    ASSERT_NEWS(3);
    assert_non_null(strstr(said(0), "VM 11 NIC 0 on host \"node1\", port 0x0002c90300000001: VM "
                                    "ended; gone from the port"));
    assert_non_null(strstr(said(1), "VM 12 NIC 0 on host \"node2\""));
    assert_non_null(strstr(said(1), ": VM left the host (POWEROFF); gone from the port"));
    assert_non_null(strstr(said(2), "VM 13 NIC 0 on host \"node3\""));
    assert_non_null(strstr(said(2), ": NIC detached; the port keeps the key for its other "
                                    "members"));
}

static void a_nic_of_a_vm_that_is_there_is_attached(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    add_nic(scene, 10, 1, RED, 1);
    add_nic(scene, 11, 0, RED, 1)->attaching = true;
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "VM 10 NIC 1 on host \"node1\""));
    assert_non_null(strstr(said(0), ": NIC attached; in force"));
    assert_non_null(strstr(said(1), ": NIC attached; in force"));
}

/* Before its other NIC, and between two VMs that were there. */
static void a_nic_is_attached_or_its_vm_came_whatever_its_number_is(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_nic(scene, 10, 1, RED, 1);
    add_nic(scene, 12, 0, RED, 1);
    settle();
    add_nic(scene, 10, 0, RED, 1);
    add_nic(scene, 11, 0, RED, 1);
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "VM 10 NIC 0"));
    assert_non_null(strstr(said(0), ": NIC attached; in force"));
    assert_non_null(strstr(said(1), "VM 11 NIC 0"));
    assert_non_null(strstr(said(1), ": VM came to the host (RUNNING); in force"));
}

static void a_migration_adds_one_host_and_then_removes_the_other(void **state)
{
    struct scene *scene = *state;
    red_on(2);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    nic_of(10, 0)->host_id = 2;
    migrate(nic_of(10, 0), 1);
    reconcile();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "member added: network 4 \"red\" 0x0100 full, VM 10 NIC 0 on "
                                    "host \"node2\""));
    assert_non_null(strstr(said(0), ": migration from host \"node1\"; in force"));
    assert_int_equal(story.after.lines[0].host_id, 1);
    assert_int_equal(story.after.lines[1].host_id, 2);
    turn_over();
    nic_of(10, 0)->phase = ONEIB_SETTLED;
    nic_of(10, 0)->source_host_id = ONEIB_NO_ID;
    reconcile();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "member removed: network 4 \"red\" 0x0100 full, VM 10 NIC 0 on "
                                    "host \"node1\""));
    assert_non_null(strstr(said(0), ": migrated to host \"node2\"; gone from the port"));
}

static void of_a_vm_with_two_nics_each_migrates(void **state)
{
    struct scene *scene = *state;
    red_on(2);
    add_network(scene, 5, RED_KEY + 5);
    add_nic(scene, 10, 0, RED, 2);
    add_nic(scene, 10, 1, 5, 2);
    settle();
    for (unsigned nic = 0; nic < 2; nic++) {
        nic_of(10, nic)->host_id = 1;
        migrate(nic_of(10, nic), 2);
    }
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "VM 10 NIC 0 on host \"node1\""));
    assert_non_null(strstr(said(1), "VM 10 NIC 1 on host \"node1\""));
    turn_over();
    reconcile();
    ASSERT_NEWS(0);
}

/* What the ledger says from now on. */
static void change_key(struct scene *scene, size_t network, oneib_pkey pkey)
{
    scene->cloud.networks[network].pkey = pkey;
    oneib_ledger_clear(&scene->ledger);
}

static void another_key_is_a_removal_and_an_addition(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    change_key(scene, 0, 0x0101);
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "member removed: network 4 \"red\" 0x0100 full"));
    assert_non_null(strstr(said(0), ": key changed to 0x0101; gone from the port"));
    assert_non_null(strstr(said(1), "member added: network 4 \"red\" 0x0101 full"));
    assert_non_null(strstr(said(1), ": key changed from 0x0100; in force"));
}

static void a_nic_of_another_network_with_the_same_key_is_a_removal_and_an_addition(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_reservation(scene, 6, RED, RED_KEY);
    scene->cloud.networks[0].reservations_share = true;
    add_nic(scene, 10, 0, RED, 1);
    settle();
    nic_of(10, 0)->network_id = 6;
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "member removed: network 4 \"red\" 0x0100 full, VM 10"));
    assert_non_null(strstr(said(0), ": NIC changed to network 6; "));
    assert_non_null(strstr(said(1), "member added: network 6 0x0100 full, VM 10"));
    assert_non_null(strstr(said(1), ": NIC changed from network 4 \"red\"; in force"));
}

/* As after an adapter was replaced. */
static void another_port_of_the_host_is_a_removal_and_an_addition(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    scene->cloud.hosts[0].ports[0].port_guid = port_of(9);
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "member removed: network 4 \"red\" 0x0100 full, VM 10"));
    assert_non_null(strstr(said(0), ": port changed to 0x0002c90300000009; gone from the port"));
    assert_non_null(strstr(said(1), ": port changed from 0x0002c90300000001; in force"));
}

/* The ports' order is not the VMs'. */
static void each_change_of_many_is_told_once_and_of_whom(void **state)
{
    struct scene *scene = *state;
    red_on(3);
    settle();
    for (uint32_t i = 0; i < 4; i++)
        add_nic(scene, 10 + i, 0, RED, 3 - i % 3);
    for (int knows_before = 1; knows_before >= 0; knows_before--) {
        story.knows_before = knows_before;
        reconcile();
        ASSERT_NEWS(4);
        for (uint32_t i = 0; i < 4; i++) {
            char words[64];
            snprintf(words, sizeof words, "VM 1%u NIC 0 on host \"node%u\"", i, 3 - i % 3);
            assert_non_null(strstr(said(i), words));
        }
    }
}

/* The first key was waited for, the second one was not. */
static void a_key_that_comes_at_once_is_not_waited_for_because_the_one_before_was(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    settle();
    add_nic(scene, 10, 0, RED, 1);
    compare(true);
    prove(); /* the port is as it was */
    turn_over();
    change_key(scene, 0, 0x0101);
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "member removed: network 4 \"red\" 0x0100 full"));
    assert_non_null(strstr(said(1), "member added: network 4 \"red\" 0x0101 full"));
}

static void another_membership_is_a_change(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    scene->cloud.networks[0].membership = ONEIB_LIMITED;
    reconcile();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "member changed: network 4 \"red\" 0x0100 limited, VM 10"));
    assert_non_null(strstr(said(0), ": was full; in force"));
    /* Where the file alone knows what was before. */
    story.knows_before = false;
    reconcile();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "member changed: network 4 \"red\" 0x0100 limited, VM 10"));
    assert_non_null(strstr(said(0), ": was full; in force"));
}

static void another_membership_of_a_static_member_is_a_change(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    oneib_network_add_static(&scene->cloud.networks[0], port_of(1), ONEIB_FULL);
    settle();
    scene->cloud.networks[0].static_members[0].membership = ONEIB_LIMITED;
    reconcile();
    ASSERT_NEWS(1);
    assert_string_equal(said(0), "member changed: network 4 \"red\" 0x0100 limited, port "
                                 "0x0002c90300000001: was full; in force");
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void a_refusal_is_said_when_it_comes_and_when_it_goes(void **state)
{
    struct scene *scene = *state;
    red_on(2);
    add_network(scene, 5, RED_KEY);
    settle();
    add_nic(scene, 10, 0, 5, 1);
    reconcile();
    ASSERT_NEWS(1);
    assert_string_equal(said(0), "member refused: network 5, VM 10 NIC 0 on host \"node1\": "
                                 "key-conflict");
    turn_over();
    reconcile();
    ASSERT_NEWS(0);
    turn_over();
    change_key(scene, 1, 0x0105);
    reconcile();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "member added: network 5 0x0105 full"));
    assert_non_null(strstr(said(0), ": was refused before, key-conflict; in force"));
    turn_over();
    change_key(scene, 1, RED_KEY);
    reconcile();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "member removed: network 5 0x0105 full"));
    assert_non_null(strstr(said(0), ": is refused now, key-conflict; gone from the port"));
    turn_over();
    forget_nic(10, 0);
    forget_vm(10);
    reconcile();
    ASSERT_NEWS(1);
    assert_string_equal(said(0), "member no longer refused: network 5, VM 10 NIC 0 on host "
                                 "\"node1\": VM ended");
}

static void a_refusal_for_another_reason_is_said(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_network(scene, 5, RED_KEY);
    add_nic(scene, 10, 0, 5, 1);
    settle();
    scene->cloud.networks[1].key_state = ONEIB_KEY_MISSING;
    reconcile();
    ASSERT_NEWS(1);
    assert_string_equal(said(0), "member refused: network 5, VM 10 NIC 0 on host \"node1\": "
                                 "no-key");
}

static void a_vm_that_was_refused_on_another_host_has_migrated_from_there(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_nic(scene, 10, 0, RED, 7); /* a host that nobody knows */
    settle();
    nic_of(10, 0)->host_id = 1;
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "member added: network 4 \"red\" 0x0100 full, VM 10"));
    assert_non_null(strstr(said(0), ": migration from host 7; in force"));
    assert_string_equal(said(1), "member no longer refused: network 4 \"red\" 0x0100, VM 10 NIC "
                                 "0 on host 7: migrated to host \"node1\"");
}

/* What it leaves behind needs nothing there: that it was refused was not said either. */
static void of_the_host_that_a_migration_leaves_no_refusal_is_said(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    settle();
    migrate(add_nic(scene, 10, 0, RED, 1), 7); /* from a host that nobody knows */
    reconcile();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "member added: network 4 \"red\" 0x0100 full, VM 10"));
    turn_over();
    nic_of(10, 0)->phase = ONEIB_SETTLED;
    nic_of(10, 0)->source_host_id = ONEIB_NO_ID;
    reconcile();
    ASSERT_NEWS(0);
}

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

/* ---- a start --------------------------------------------------------------------------------- */

static void after_a_start_nobody_is_added_who_was_there(void **state)
{
    struct scene *scene = *state;
    red_on(3);
    add_nic(scene, 10, 0, RED, 1);
    add_nic(scene, 11, 0, RED, 2);
    settle();
    story.knows_before = false;
    reconcile();
    ASSERT_NEWS(0);
    turn_over();
    story.knows_before = false;
    forget_nic(10, 0);
    add_nic(scene, 12, 0, RED, 3);
    reconcile();
    ASSERT_NEWS(2);
    assert_string_equal(said(0), "member removed: network 4 \"red\" 0x0100 full, port "
                                 "0x0002c90300000001; gone from the port");
    assert_string_equal(said(1), "member added: network 4 \"red\" 0x0100 full, VM 12 NIC 0 on host "
                                 "\"node3\", port 0x0002c90300000003: VM is on the host (RUNNING); "
                                 "in force");
}

/* `oneib sync` says whom a change concerned, and that is no refused one. */
static void at_a_start_refusals_are_said_where_they_are_asked_for(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_nic(scene, 10, 0, RED, 1);
    add_nic(scene, 11, 0, RED, 7); /* a host that nobody knows */
    settle();
    story.knows_before = false;
    reconcile();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "member refused: network 4 \"red\" 0x0100, VM 11 NIC 0"));
    compare(false);
    prove();
    ASSERT_NEWS(0);
}

static void static_members_and_the_operators_are_news_too(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    settle();
    oneib_network_add_static(&scene->cloud.networks[0], 0x77, ONEIB_LIMITED);
    add_wildcard(scene, add_partition(scene, &scene->static_partitions, "storage", 0x200),
                 ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    reconcile();
    ASSERT_NEWS(2);
    assert_string_equal(said(0), "member added: network 4 \"red\" 0x0100 limited, port "
                                 "0x0000000000000077; the port is off the fabric");
    assert_string_equal(said(1), "member added: partition storage 0x0200 limited, ALL");
}

static void what_a_vm_gets_on_a_port_hides_no_other_key_of_it(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_network(scene, 5, RED_KEY + 5);
    settle();
    add_nic(scene, 10, 0, RED, 1);
    oneib_network_add_static(&scene->cloud.networks[1], port_of(1), ONEIB_FULL);
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "member added: network 4 \"red\" 0x0100 full, VM 10 NIC 0"));
    assert_non_null(strstr(said(1), "member added: network 5 0x0105 full, port"));
}

/* ---- proof ----------------------------------------------------------------------------------- */

static void nothing_is_claimed_before_a_port_bears_it_out(void **state)
{
    struct scene *scene = *state;
    red_on(2);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    add_nic(scene, 11, 0, RED, 2);
    forget_nic(10, 0);
    forget_vm(10);
    compare(true);
    prove(); /* the ports are as they were */
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "; waited for: the port still holds the key"));
    assert_non_null(strstr(said(1), "; waited for: the port does not hold it yet"));
    turn_over();
    compare(true);
    prove();
    ASSERT_NEWS(0);
    turn_over();
    reconcile();
    ASSERT_NEWS(2);
    assert_string_equal(said(0), "member in force: network 4 \"red\" 0x0100 full, VM 11 NIC 0 on "
                                 "host \"node2\", port 0x0002c90300000002");
    assert_non_null(strstr(said(1), "member gone: network 4 \"red\" 0x0100 full, VM 10 NIC 0"));
    assert_non_null(strstr(said(1), "; gone from the port"));
    turn_over();
    reconcile();
    ASSERT_NEWS(0);
}

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

static void a_key_that_a_port_lacks_at_a_start_is_said_when_it_comes(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    settle();
    add_nic(scene, 10, 0, RED, 1);
    compare(true);
    turn_over();
    story.knows_before = false;
    compare(true);
    prove(); /* the port is as it was */
    ASSERT_NEWS(0);
    turn_over();
    reconcile();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "member in force: network 4 \"red\" 0x0100 full, VM 10"));
}

static void news_come_by_kind_whichever_was_found_first(void **state)
{
    struct scene *scene = *state;
    red_on(2);
    add_network(scene, 5, RED_KEY);
    settle();
    add_nic(scene, 10, 0, RED, 1);
    compare(true);
    prove(); /* the port is as it was */
    turn_over();
    add_nic(scene, 11, 0, 5, 1);
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "member in force: network 4"));
    assert_non_null(strstr(said(1), "member refused: network 5"));
}

static void each_key_that_leaves_a_port_is_waited_for(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_network(scene, 5, RED_KEY + 5);
    add_nic(scene, 10, 0, RED, 1);
    add_nic(scene, 11, 0, 5, 1);
    settle();
    forget_nic(10, 0);
    forget_nic(11, 0);
    compare(true);
    prove(); /* the port is as it was */
    ASSERT_NEWS(2);
    turn_over();
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "member gone: network 4 \"red\""));
    assert_non_null(strstr(said(1), "member gone: network 5"));
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
}

static void removals_that_are_held_back_are_not_claimed(void **state)
{
    struct scene *scene = *state;
    red_on(4);
    for (uint32_t i = 1; i <= 4; i++)
        add_nic(scene, 10 + i, 0, RED, i);
    add_network(scene, 5, RED_KEY + 5);
    add_nic(scene, 20, 0, 5, 1); /* who stays there has another key */
    settle();
    scene->policy.hold_minimum = 2;
    scene->cloud.networks[0].unreadable = true;
    reconcile();
    assert_int_equal(story.held, 4);
    ASSERT_NEWS(4);
    for (size_t i = 0; i < 4; i++)
        assert_non_null(strstr(said(i), "; held back: its network cannot be read"));
    turn_over();
    scene->policy.hold_minimum = 2;
    reconcile();
    assert_int_equal(story.held, 4);
    ASSERT_NEWS(0);
    /* The hold is lifted; the ports do not obey at once. */
    turn_over();
    compare(true);
    prove();
    ASSERT_NEWS(0);
    turn_over();
    reconcile();
    ASSERT_NEWS(4);
    assert_string_equal(said(0),
                        "member gone: network 4 \"red\" 0x0100 full, VM 11 NIC 0 on host "
                        "\"node1\", port 0x0002c90300000001: is refused now, no-key; gone from the "
                        "port");
    turn_over();
    reconcile();
    ASSERT_NEWS(0);
}

static void what_another_nic_on_the_port_has_is_not_held_back(void **state)
{
    struct scene *scene = *state;
    red_on(5);
    add_nic(scene, 10, 0, RED, 5);
    for (uint32_t i = 1; i <= 5; i++)
        add_nic(scene, 10 + i, 0, RED, 6 - i);
    settle();
    scene->policy.hold_minimum = 2;
    forget_nic(11, 0);
    for (uint32_t host = 2; host <= 4; host++)
        lose_port(host);
    reconcile();
    assert_int_equal(story.held, 3);
    ASSERT_NEWS(4);
    assert_non_null(strstr(said(0), "VM 11 NIC 0 on host \"node5\""));
    assert_non_null(strstr(said(0), "; the port keeps the key for its other members"));
    for (size_t i = 1; i < 4; i++)
        assert_non_null(strstr(said(i), "; held back: its host does not report the port"));
}

static void what_is_a_static_members_is_not_held_back(void **state)
{
    struct scene *scene = *state;
    red_on(5);
    oneib_network_add_static(&scene->cloud.networks[0], port_of(1), ONEIB_FULL);
    for (uint32_t i = 1; i <= 5; i++)
        add_nic(scene, 10 + i, 0, RED, i);
    settle();
    scene->policy.hold_minimum = 2;
    forget_nic(11, 0);
    for (uint32_t host = 2; host <= 4; host++)
        lose_port(host);
    reconcile();
    assert_int_equal(story.held, 3);
    ASSERT_NEWS(4);
    assert_non_null(strstr(said(0), "; the port keeps the key for its other members"));
    assert_non_null(strstr(said(1), "; held back: its host does not report the port"));
}

static void what_is_the_operators_is_not_held_back(void **state)
{
    struct scene *scene = *state;
    red_on(5);
    add_network(scene, 5, RED_KEY + 5);
    add_nic(scene, 11, 0, RED, 1);
    for (uint32_t i = 2; i <= 5; i++)
        add_nic(scene, 10 + i, 0, 5, i);
    settle();
    scene->policy.hold_minimum = 2;
    struct oneib_partition *storage =
        add_partition(scene, &scene->static_partitions, "storage", RED_KEY);
    for (uint32_t host = 9; host > 6; host--) /* in no order */
        add_guid(scene, storage, port_of(host), ONEIB_FULL);
    add_guid(scene, storage, port_of(1), ONEIB_FULL);
    forget_nic(11, 0);
    for (uint32_t host = 2; host <= 4; host++)
        lose_port(host);
    reconcile();
    assert_int_equal(story.held, 3);
    assert_non_null(strstr(said(0), "member removed: network 4 \"red\""));
    assert_non_null(strstr(said(0), "; the port keeps the key for its other members"));
    assert_non_null(strstr(said(1), "; held back: its host does not report the port"));
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

static void the_operators_other_members_keep_nothing_on_a_port(void **state)
{
    struct scene *scene = *state;
    red_on(1);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    forget_nic(10, 0);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "storage", RED_KEY), port_of(9),
             ONEIB_FULL);
    reconcile();
    assert_non_null(strstr(said(0), "member removed: network 4 \"red\""));
    assert_non_null(strstr(said(0), "; gone from the port"));
}

static void a_removal_that_others_overtake_is_waited_for_no_more(void **state)
{
    struct scene *scene = *state;
    red_on(2);
    add_nic(scene, 10, 0, RED, 1);
    settle();
    forget_nic(10, 0);
    compare(true);
    prove(); /* the port is as it was */
    ASSERT_NEWS(1);
    turn_over();
    add_nic(scene, 11, 0, RED, 1);
    reconcile();
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), "member added: network 4 \"red\" 0x0100 full, VM 11"));
    assert_string_equal(said(1),
                        "member no longer waited for: network 4 \"red\" 0x0100 full, VM 10 "
                        "NIC 0 on host \"node1\", port 0x0002c90300000001: NIC detached; "
                        "the port keeps the key for its other members");
    assert_int_equal(story.leaving.count, 0);
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

/* ---- virtual ports --------------------------------------------------------------------------- */

static void red_on_virtual_ports(uint32_t hosts)
{
    red_on(hosts);
    for (uint32_t i = 0; i < hosts; i++)
        story.scene->cloud.hosts[i].ports[0].driver = ONEIB_HCA_MLX5;
}

static void reconcile_and_see(uint32_t vm_id, unsigned nic_id)
{
    compare(true);
    obey();
    obey_on(oneib_guid_encode(SITE, vm_id, (uint8_t)nic_id));
    oneib_subnet_sort(&story.scene->subnet);
    prove();
}

static void of_a_virtual_port_that_is_not_seen_nothing_is_claimed(void **state)
{
    struct scene *scene = *state;
    red_on_virtual_ports(1);
    settle();
    add_nic(scene, 10, 0, RED, 1);
    reconcile();
    ASSERT_NEWS(1);
    assert_string_equal(said(0),
                        "member added: network 4 \"red\" 0x0100 full, VM 10 NIC 0 on host "
                        "\"node1\", port 0x0200070000000a00: VM came to the host (RUNNING); "
                        "a virtual port, which cannot be seen here");
    assert_string_equal(oneib_news_proof_name(story.news.items[0].proof), "not-visible");
    turn_over();
    reconcile();
    ASSERT_NEWS(0);
    turn_over();
    forget_nic(10, 0);
    reconcile();
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), ": NIC detached; a virtual port, which cannot be seen here"));
    assert_int_equal(story.leaving.count, 0);
    /* Nor where the file alone knows of it. */
    story.knows_before = false;
    reconcile();
    ASSERT_NEWS(1);
    assert_string_equal(said(0), "member removed: network 4 \"red\" 0x0100 full, port "
                                 "0x0200070000000a00; a virtual port, which cannot be seen here");
}

static void a_virtual_port_that_is_seen_is_believed(void **state)
{
    struct scene *scene = *state;
    red_on_virtual_ports(1);
    settle();
    add_nic(scene, 10, 0, RED, 1);
    reconcile_and_see(10, 0);
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "; in force"));
    turn_over();
    forget_nic(10, 0);
    reconcile_and_see(10, 0);
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "; gone from the port"));
}

/* A VF's GUID goes with the VM: one host's virtual port says nothing of the other's. */
static void while_a_vm_migrates_its_virtual_port_proves_nothing(void **state)
{
    struct scene *scene = *state;
    red_on_virtual_ports(2);
    add_nic(scene, 10, 0, RED, 1);
    reconcile_and_see(10, 0);
    turn_over();
    nic_of(10, 0)->host_id = 2;
    migrate(nic_of(10, 0), 1);
    reconcile_and_see(10, 0);
    ASSERT_NEWS(1);
    assert_string_equal(said(0), "member added: network 4 \"red\" 0x0100 full, VM 10 NIC 0 on host "
                                 "\"node2\", port 0x0200070000000a00: migration from host "
                                 "\"node1\"");
    turn_over();
    reconcile_and_see(10, 0);
    ASSERT_NEWS(0);
    turn_over();
    nic_of(10, 0)->phase = ONEIB_SETTLED;
    nic_of(10, 0)->source_host_id = ONEIB_NO_ID;
    reconcile_and_see(10, 0);
    ASSERT_NEWS(2);
    assert_string_equal(said(0), "member removed: network 4 \"red\" 0x0100 full, VM 10 NIC 0 on "
                                 "host \"node1\", port 0x0200070000000a00: migrated to host "
                                 "\"node2\"; its virtual port is with the VM");
    assert_string_equal(said(1), "member in force: network 4 \"red\" 0x0100 full, VM 10 NIC 0 on "
                                 "host \"node2\", port 0x0200070000000a00");
    assert_int_equal(story.leaving.count, 0);
}

static void while_a_vm_migrates_a_change_is_not_proved_either(void **state)
{
    struct scene *scene = *state;
    red_on_virtual_ports(2);
    migrate(add_nic(scene, 10, 0, RED, 2), 1);
    reconcile_and_see(10, 0);
    turn_over();
    scene->cloud.networks[0].membership = ONEIB_LIMITED;
    reconcile_and_see(10, 0);
    ASSERT_NEWS(2);
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(strstr(said(i), "member changed: network 4 \"red\" 0x0100 limited"));
        assert_int_equal(story.news.items[i].proof, ONEIB_PROOF_NONE);
    }
}

/* Nobody saw it migrate: the virtual port may still be that of the host where it was. */
static void a_virtual_port_that_has_moved_is_believed_later(void **state)
{
    struct scene *scene = *state;
    red_on_virtual_ports(2);
    add_nic(scene, 10, 0, RED, 1);
    reconcile_and_see(10, 0);
    turn_over();
    nic_of(10, 0)->host_id = 2;
    reconcile_and_see(10, 0);
    ASSERT_NEWS(2);
    assert_non_null(strstr(said(0), ": migrated to host \"node2\"; its virtual port is with the "
                                    "VM"));
    assert_null(strstr(said(1), "in force"));
    turn_over();
    reconcile_and_see(10, 0);
    ASSERT_NEWS(1);
    assert_non_null(strstr(said(0), "member in force: network 4 \"red\""));
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static size_t lines_of_kind(uint32_t network_id, enum oneib_news_kind kind)
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
    for (unsigned kind = 0; kind < ONEIB_NEWS_KINDS; kind++)
        lines += lines_of_kind(network_id, (enum oneib_news_kind)kind);
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
    oneib_news_append_rest(&scene->cloud, &story.news, &rest);
    assert_string_equal(rest.data,
                        "and 1800 more: network 4 \"red\" 1400 added; network 5 400 added");
    assert_int_equal(lines_of(RED) + lines_of(5), ONEIB_NEWS_LINES);
    turn_over();
    reconcile();
    oneib_news_append_rest(&scene->cloud, &story.news, &nothing);
    assert_null(nothing.data);
}

static void all_have_a_line_where_there_are_no_more_than_the_bound(void **state)
{
    struct scene *scene = *state;
    oneib_autotext struct oneib_text rest = {0};
    red_on(1);
    settle();
    for (uint32_t i = 0; i < ONEIB_NEWS_LINES; i++)
        add_nic(scene, 100 + i, 0, RED, 1);
    reconcile();
    assert_int_equal(lines_of(RED), ONEIB_NEWS_LINES);
    oneib_news_append_rest(&scene->cloud, &story.news, &rest);
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
    assert_int_equal(lines_of_kind(RED, ONEIB_NEWS_REMOVED), 1);
    assert_int_equal(lines_of_kind(RED, ONEIB_NEWS_ADDED), 1);
    assert_int_equal(lines_of_kind(3, ONEIB_NEWS_REMOVED), 1);
    assert_int_equal(lines_of_kind(3, ONEIB_NEWS_ADDED), 1);
    assert_int_equal(lines_of_kind(3, ONEIB_NEWS_REFUSED), 97);
    assert_int_equal(lines_of_kind(2, ONEIB_NEWS_REFUSED), 99);
    oneib_news_append_rest(&scene->cloud, &story.news, &rest);
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
    oneib_news_append_rest(&scene->cloud, &story.news, &rest);
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
    for (uint32_t i = 0; i < ONEIB_NEWS_LINES + 16; i++)
        add_nic(scene, 100 + i, 0, 1000 + i, 1); /* networks that are gone */
    reconcile();
    oneib_news_append_rest(&scene->cloud, &story.news, &rest);
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
    oneib_news_append_rest(&scene->cloud, &story.news, &rest);
    assert_string_equal(rest.data,
                        "and 400 more: network 4 \"red\" 50 added, 150 refused (50 waited for); "
                        "network 5 50 added, 150 refused (50 waited for)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_vm_that_comes_is_added_with_all_that_is_known),
        STORY(a_state_without_a_name_is_said_by_its_numbers),
        STORY(nothing_that_stays_is_news),
        STORY(a_vm_that_goes_is_removed_and_it_is_said_how),
        STORY(a_nic_of_a_vm_that_is_there_is_attached),
        STORY(a_nic_is_attached_or_its_vm_came_whatever_its_number_is),
        STORY(a_migration_adds_one_host_and_then_removes_the_other),
        STORY(of_a_vm_with_two_nics_each_migrates),
        STORY(what_a_vm_gets_on_a_port_hides_no_other_key_of_it),
        STORY(each_key_that_leaves_a_port_is_waited_for),
        STORY(another_key_is_a_removal_and_an_addition),
        STORY(a_nic_of_another_network_with_the_same_key_is_a_removal_and_an_addition),
        STORY(another_port_of_the_host_is_a_removal_and_an_addition),
        STORY(each_change_of_many_is_told_once_and_of_whom),
        STORY(a_key_that_comes_at_once_is_not_waited_for_because_the_one_before_was),
        STORY(another_membership_is_a_change),
        STORY(another_membership_of_a_static_member_is_a_change),
        STORY(a_refusal_is_said_when_it_comes_and_when_it_goes),
        STORY(a_refusal_for_another_reason_is_said),
        STORY(a_vm_that_was_refused_on_another_host_has_migrated_from_there),
        STORY(of_the_host_that_a_migration_leaves_no_refusal_is_said),
        STORY(the_end_of_a_refusal_hides_nobody_else_on_the_port),
        STORY(after_a_start_nobody_is_added_who_was_there),
        STORY(at_a_start_refusals_are_said_where_they_are_asked_for),
        STORY(static_members_and_the_operators_are_news_too),
        STORY(nothing_is_claimed_before_a_port_bears_it_out),
        STORY(a_key_that_a_port_loses_and_gets_again_is_no_news),
        STORY(a_key_that_a_port_lacks_at_a_start_is_said_when_it_comes),
        STORY(news_come_by_kind_whichever_was_found_first),
        STORY(a_port_that_is_off_or_mute_is_said_to_be),
        STORY(removals_that_are_held_back_are_not_claimed),
        STORY(what_another_nic_on_the_port_has_is_not_held_back),
        STORY(what_is_a_static_members_is_not_held_back),
        STORY(what_is_the_operators_is_not_held_back),
        STORY(what_waits_for_its_node_is_not_called_held_back),
        STORY(the_operators_other_members_keep_nothing_on_a_port),
        STORY(a_removal_that_others_overtake_is_waited_for_no_more),
        STORY(of_each_port_and_key_one_removal_is_waited_for),
        STORY(of_a_virtual_port_that_is_not_seen_nothing_is_claimed),
        STORY(a_virtual_port_that_is_seen_is_believed),
        STORY(while_a_vm_migrates_its_virtual_port_proves_nothing),
        STORY(while_a_vm_migrates_a_change_is_not_proved_either),
        STORY(a_virtual_port_that_has_moved_is_believed_later),
        STORY(what_is_beyond_the_bound_is_counted_by_network),
        STORY(all_have_a_line_where_there_are_no_more_than_the_bound),
        STORY(each_network_has_its_share_of_the_lines),
        STORY(many_networks_are_counted_together),
        STORY(as_many_networks_as_are_named_are_not_counted_together),
        STORY(what_has_no_line_is_counted_by_kind_and_what_is_waited_for_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
