// SPDX-License-Identifier: Apache-2.0
/* What the reading says of one key in one table, and what it cannot say. */
#include "cloud_builder.h"
#include "cluster/pkey_status.h"

#define KEY 0x0100u
#define HOSTS_PORT UINT64_C(0x0002c90300000001)
#define OTHER_HOSTS_PORT UINT64_C(0x0002c90300000002)

static oneib_guid vf(void)
{
    return oneib_guid_encode(SITE, 10, 0);
}

static void add_table(struct scene *scene, oneib_guid guid, uint16_t raw)
{
    struct oneib_subnet_port *port = add_subnet_port(scene, guid, 4);
    port->answered = true;
    port->pkeys = calloc(4, sizeof *port->pkeys);
    port->pkeys[1] = raw;
    oneib_subnet_sort(&scene->subnet);
}

static enum oneib_pkey_status pkey_status(const struct scene *scene, oneib_guid port,
                                          oneib_guid member)
{
    const struct oneib_wanted_key wanted = {
        .port = port, .member = member, .pkey = KEY, .membership = ONEIB_FULL};
    return oneib_pkey_status_of(&scene->subnet, &wanted);
}

#define assert_pkey_status(scene, port, member, expected)                                          \
    assert_string_equal(oneib_pkey_status_name(pkey_status(scene, port, member)),                  \
                        oneib_pkey_status_name(expected))

static void a_port_says_what_its_table_holds(void **state)
{
    struct scene *scene = *state;
    add_table(scene, HOSTS_PORT, oneib_pkey_raw(KEY, ONEIB_FULL));
    add_table(scene, OTHER_HOSTS_PORT, oneib_pkey_raw(KEY, ONEIB_LIMITED));
    add_table(scene, 3, 0);
    add_table(scene, vf(), oneib_pkey_raw(KEY, ONEIB_FULL));
    assert_pkey_status(scene, HOSTS_PORT, HOSTS_PORT, ONEIB_IN_FORCE);
    assert_pkey_status(scene, OTHER_HOSTS_PORT, OTHER_HOSTS_PORT, ONEIB_KEY_OTHERWISE);
    assert_pkey_status(scene, 3, 3, ONEIB_KEY_LACKING);
    assert_pkey_status(scene, HOSTS_PORT, vf(), ONEIB_IN_FORCE);
}

/* The wider one counts. */
static void of_both_entries_of_a_key_the_limited_one_changes_nothing(void **state)
{
    struct scene *scene = *state;
    struct oneib_wanted_key wanted = {
        .port = HOSTS_PORT, .member = HOSTS_PORT, .pkey = KEY, .membership = ONEIB_LIMITED};
    add_table(scene, HOSTS_PORT, oneib_pkey_raw(KEY, ONEIB_LIMITED));
    assert_int_equal(oneib_pkey_status_of(&scene->subnet, &wanted), ONEIB_IN_FORCE);
    scene->subnet.ports[0].pkeys[3] = oneib_pkey_raw(KEY, ONEIB_FULL);
    assert_int_equal(oneib_pkey_status_of(&scene->subnet, &wanted), ONEIB_KEY_OTHERWISE);
    wanted.membership = ONEIB_FULL;
    assert_int_equal(oneib_pkey_status_of(&scene->subnet, &wanted), ONEIB_IN_FORCE);
}

static void of_a_port_that_did_not_answer_nobody_knows(void **state)
{
    struct scene *scene = *state;
    add_table(scene, HOSTS_PORT, oneib_pkey_raw(KEY, ONEIB_FULL));
    scene->subnet.ports[0].answered = false;
    assert_pkey_status(scene, HOSTS_PORT, HOSTS_PORT, ONEIB_PORT_MUTE);
}

static void a_virtual_port_that_is_not_seen_is_not_off_the_fabric(void **state)
{
    struct scene *scene = *state;
    assert_pkey_status(scene, HOSTS_PORT, HOSTS_PORT, ONEIB_PORT_ABSENT);
    assert_pkey_status(scene, HOSTS_PORT, vf(), ONEIB_PORT_UNSEEN);
    assert_pkey_status(scene, 0, vf(), ONEIB_PORT_UNSEEN);
    assert_pkey_status(scene, 0, HOSTS_PORT, ONEIB_PORT_ABSENT);
    assert_string_equal(oneib_pkey_status_name(ONEIB_PORT_UNSEEN), "not-visible");
}

static struct oneib_desired_binding binding(oneib_guid port, oneib_guid member)
{
    return (struct oneib_desired_binding){.port = port,
                                          .member = member,
                                          .pkey = KEY,
                                          .membership = ONEIB_FULL,
                                          .member_status = ONEIB_MEMBER_STATUS_MEMBER};
}

static void while_it_migrates_the_worse_host_counts(void **state)
{
    struct scene *scene = *state;
    struct oneib_desired_binding bindings[2] = {binding(HOSTS_PORT, HOSTS_PORT),
                                                binding(OTHER_HOSTS_PORT, OTHER_HOSTS_PORT)};
    add_table(scene, HOSTS_PORT, oneib_pkey_raw(KEY, ONEIB_FULL));
    add_table(scene, OTHER_HOSTS_PORT, 0);
    assert_int_equal(oneib_pkey_status_of_bindings(&scene->subnet, bindings, 1), ONEIB_IN_FORCE);
    assert_int_equal(oneib_pkey_status_of_bindings(&scene->subnet, bindings, 2), ONEIB_KEY_LACKING);
    const struct oneib_desired_binding other_way[2] = {bindings[1], bindings[0]};
    assert_int_equal(oneib_pkey_status_of_bindings(&scene->subnet, other_way, 2),
                     ONEIB_KEY_LACKING);
    bindings[1].member_status = ONEIB_MEMBER_STATUS_PORT_FULL;
    assert_int_equal(oneib_pkey_status_of_bindings(&scene->subnet, bindings, 2), ONEIB_IN_FORCE);
}

static void while_it_migrates_one_virtual_port_does_not_speak_for_two(void **state)
{
    struct scene *scene = *state;
    struct oneib_desired_binding bindings[2] = {binding(HOSTS_PORT, vf()),
                                                binding(OTHER_HOSTS_PORT, vf())};
    add_table(scene, vf(), oneib_pkey_raw(KEY, ONEIB_FULL));
    assert_int_equal(oneib_pkey_status_of_bindings(&scene->subnet, bindings, 1), ONEIB_IN_FORCE);
    assert_int_equal(oneib_pkey_status_of_bindings(&scene->subnet, bindings, 2), ONEIB_PORT_UNSEEN);
    bindings[1].member_status = ONEIB_MEMBER_STATUS_PORT_FULL; /* it has none there */
    assert_int_equal(oneib_pkey_status_of_bindings(&scene->subnet, bindings, 2), ONEIB_IN_FORCE);
}

static void it_speaks_for_the_one_where_the_other_host_is_no_members(void **state)
{
    struct scene *scene = *state;
    struct oneib_desired_binding bindings[2] = {binding(HOSTS_PORT, vf()),
                                                binding(OTHER_HOSTS_PORT, vf())};
    bindings[1].member_status = ONEIB_MEMBER_STATUS_PORT_REFUSED;
    add_table(scene, vf(), oneib_pkey_raw(KEY, ONEIB_FULL));
    assert_int_equal(oneib_pkey_status_of_bindings(&scene->subnet, bindings, 2), ONEIB_IN_FORCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_port_says_what_its_table_holds),
        SCENE_TEST(of_both_entries_of_a_key_the_limited_one_changes_nothing),
        SCENE_TEST(of_a_port_that_did_not_answer_nobody_knows),
        SCENE_TEST(a_virtual_port_that_is_not_seen_is_not_off_the_fabric),
        SCENE_TEST(while_it_migrates_the_worse_host_counts),
        SCENE_TEST(while_it_migrates_one_virtual_port_does_not_speak_for_two),
        SCENE_TEST(it_speaks_for_the_one_where_the_other_host_is_no_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
