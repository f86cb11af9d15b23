// SPDX-License-Identifier: Apache-2.0
/* What scenarios/desired_*.txt do not hold: many NICs and networks at once, and static partitions that
 * no partitions file can have. */
#include "cloud_builder.h"

static void sixty_four_nics_of_one_vm_fill_a_table_with_room_for_63(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    set_capacity(scene, port_of(1), 64);
    for (unsigned i = 0; i < 64; i++) {
        add_network(scene, 100 + i, 1000 + i);
        add_nic(scene, 10, i, 100 + i, 1);
    }
    add_subnet_port(scene, port_of(1), 64);
    compute(scene);
    /* 63 usable entries, one of them the default partition's. */
    for (unsigned i = 0; i < 64; i++)
        assert_member_status(scene, 10, i,
                             i < 62 ? ONEIB_MEMBER_STATUS_MEMBER : ONEIB_MEMBER_STATUS_PORT_FULL);
    assert_listed(scene, 1061, port_of(1), "full");
    assert_listed(scene, 1062, port_of(1), "none");
    assert_int_equal(1, findings_of(scene, "port-full"));
    assert_finding(scene, "port-full", ONEIB_WARNING, "of host 1 holds 63 P_Keys");
    assert_finding(scene, "port-full", ONEIB_WARNING, "no room for 0x0426 (network 162), 0x0427");
    const struct oneib_finding *full = finding(scene, "port-full");
    assert_null(strstr(full->text, "none of a virtual cluster"));
    assert_non_null(strstr(full->text, "(network 131) and 30 more; no room"));
    assert_non_null(strstr(full->text, "(network 163)"));
    assert_null(strstr(full->text, "(network 163) and"));
    assert_true(oneib_finding_is_about(full, ONEIB_SUBJECT_NETWORK, 162));
    assert_false(oneib_finding_is_about(full, ONEIB_SUBJECT_NETWORK, 101));
    assert_true(oneib_finding_is_about(full, ONEIB_SUBJECT_HOST, 1));
}

static void a_full_port_is_told_of_by_the_keys_that_it_has_and_has_not(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    for (unsigned i = 0; i < 34; i++) {
        add_network(scene, 100 + i, 1000 + i);
        add_nic(scene, 10, i, 100 + i, 1);
    }
    set_capacity(scene, port_of(1), 35);
    compute(scene);
    assert_no_finding(scene, "port-full");
    set_capacity(scene, port_of(1), 33);
    compute(scene);
    assert_finding(scene, "port-full", ONEIB_WARNING, "(network 131); no room for 0x0408");
    set_capacity(scene, port_of(1), 1);
    compute(scene);
    assert_finding(scene, "port-full", ONEIB_WARNING,
                   "it has none of a virtual cluster; no room for 0x03e8 (network 100)");
}

static void many_that_are_narrowed_are_told_of_by_number(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 256)->membership = ONEIB_LIMITED;
    add_host(scene, 1);
    for (uint32_t id = 10; id < 40; id++)
        add_nic(scene, id, 0, 4, 1);
    add_nic(scene, 40, 0, 5, 1);
    compute(scene);
    assert_finding(scene, "membership-narrowed", ONEIB_WARNING, " and 22 more");
    const struct oneib_finding *narrowed = finding(scene, "membership-narrowed");
    assert_null(strstr(narrowed->text, "VM 39"));
    assert_true(oneib_finding_is_about(narrowed, ONEIB_SUBJECT_VM, 10));

    for (size_t i = 8; i < 30; i++)
        scene->cloud.attachments[i].phase = ONEIB_ABSENT;
    compute(scene);
    assert_null(strstr(finding(scene, "membership-narrowed")->text, " more"));
}

/* `count` networks of user 5, ids 100 on, keys 1000 on, each with a VM on host 1. */
static void reserve_for_user_5(struct scene *scene, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct oneib_network *network = add_network(scene, 100 + i, 1000 + i);
        network->uid = 5;
        network->gid = 1;
        add_nic(scene, 10 + i, 0, 100 + i, 1)->phase = ONEIB_ARRIVING;
    }
}

static void what_a_user_has_too_much_is_named_as_long_as_it_is_little(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 16;
    add_host(scene, 1);
    reserve_for_user_5(scene, 24);
    compute(scene);
    assert_finding(scene, "owner-limit", ONEIB_WARNING, "(network 123)");
    assert_null(strstr(finding(scene, "owner-limit")->text, " more"));

    /* Whoever came first: by network. */
    for (size_t i = 0; i < scene->cloud.attachment_count; i++)
        scene->cloud.attachments[i].since = -(int64_t)i;
    compute(scene);
    assert_finding(scene, "owner-limit", ONEIB_WARNING, "(network 100), 0x03e9 (network 101)");
}

static void seventy_reservations_of_one_user_leave_room_for_others(void **state)
{
    struct scene *scene = *state;
    scene->policy.per_owner_max = 16;
    add_host(scene, 1);
    add_host(scene, 2);
    reserve_for_user_5(scene, 70);
    add_network(scene, 200, 2000)->uid = 6;
    scene->cloud.networks[70].gid = 1;
    add_nic(scene, 100, 0, 200, 1)->phase = ONEIB_ARRIVING; /* the last to come */
    add_nic(scene, 101, 0, 160, 2);
    compute(scene);
    for (unsigned i = 0; i < 70; i++)
        assert_member_status(scene, 10 + i, 0,
                             i < 16 ? ONEIB_MEMBER_STATUS_MEMBER : ONEIB_MEMBER_STATUS_OWNER_LIMIT);
    assert_member_status(scene, 100, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 101, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_no_finding(scene, "port-full");
    assert_int_equal(1, findings_of(scene, "owner-limit"));
    assert_finding(scene, "owner-limit", ONEIB_WARNING,
                   "port 0x0002c90300000001 of host 1 holds as many P_Keys of networks of user 5");
    assert_finding(scene, "owner-limit", ONEIB_WARNING,
                   "(pkeys.per_owner, 16): no place there for 0x03f8 (network 116), ");
    assert_finding(scene, "owner-limit", ONEIB_WARNING, "(network 123) and 46 more");
    assert_null(strstr(finding(scene, "owner-limit")->text, "other ports"));
    assert_true(oneib_finding_is_about(finding(scene, "owner-limit"), ONEIB_SUBJECT_NETWORK, 169));
    assert_false(oneib_finding_is_about(finding(scene, "owner-limit"), ONEIB_SUBJECT_NETWORK, 115));
}

static void a_storage_servers_port_is_not_one_users_either(void **state)
{
    struct scene *scene = *state;
    const oneib_guid server = 0x9000, other = 0x9001;
    scene->policy.per_owner_max = 3;
    add_host(scene, 1);
    struct oneib_network *pool = add_network(scene, 1, 300);
    oneib_network_add_static(pool, server, ONEIB_FULL);
    oneib_network_add_static(pool, other, ONEIB_FULL);
    for (unsigned i = 0; i < 70; i++) {
        struct oneib_network *mine = add_reservation(scene, 100 + i, 1, 1000 + i);
        mine->uid = 5;
        mine->gid = 1;
    }
    compute(scene);
    assert_listed(scene, 300, server, "full");
    assert_listed(scene, 1002, server, "full");
    assert_listed(scene, 1003, server, "none");
    assert_int_equal(1, findings_of(scene, "owner-limit"));
    assert_finding(scene, "owner-limit", ONEIB_WARNING, "and 59 more; other ports like this: 1");
}

static void nothing_said_about_a_port_means_room_for_63(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    for (unsigned i = 0; i < 70; i++) {
        add_network(scene, 100 + i, 1000 + i);
        add_nic(scene, 10 + i, 0, 100 + i, 1);
    }
    compute(scene);
    for (unsigned i = 0; i < 70; i++)
        assert_member_status(scene, 10 + i, 0,
                             i < 62 ? ONEIB_MEMBER_STATUS_MEMBER : ONEIB_MEMBER_STATUS_PORT_FULL);
}

static void assert_static_refused(struct scene *scene, const char *name, unsigned key,
                                  const char *words)
{
    add_guid(scene, add_partition(scene, &scene->static_partitions, name, key), 0x99, ONEIB_FULL);
    assert_int_equal(-1, try_compute(scene));
    assert_int_equal(ONEIB_ERROR_INPUT, scene->err.code);
    if (!strstr(scene->err.text, words))
        fail_msg("\"%s\" is not in: %s", words, scene->err.text);
    oneib_partition_table_clear(&scene->static_partitions);
}

static void static_partitions_that_no_file_can_have_are_refused(void **state)
{
    struct scene *scene = *state;
    assert_static_refused(scene, "Default", 300, "default_partition.full_members");
    assert_static_refused(scene, "none", 0, "0x0000 is no P_Key");
    assert_static_refused(scene, "beyond", 0x8001, "0x8001 is no P_Key");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(sixty_four_nics_of_one_vm_fill_a_table_with_room_for_63),
        SCENE_TEST(a_full_port_is_told_of_by_the_keys_that_it_has_and_has_not),
        SCENE_TEST(many_that_are_narrowed_are_told_of_by_number),
        SCENE_TEST(what_a_user_has_too_much_is_named_as_long_as_it_is_little),
        SCENE_TEST(seventy_reservations_of_one_user_leave_room_for_others),
        SCENE_TEST(a_storage_servers_port_is_not_one_users_either),
        SCENE_TEST(nothing_said_about_a_port_means_room_for_63),
        SCENE_TEST(static_partitions_that_no_file_can_have_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
