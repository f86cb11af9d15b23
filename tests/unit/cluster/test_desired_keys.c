// SPDX-License-Identifier: Apache-2.0
#include "cloud_builder.h"

/* The key that VLAN_ID is to show; -1: it stays as it is. */
/* All that is: one full member. */
static void put_in_force(struct scene *scene, const char *name, unsigned key, oneib_guid guid)
{
    add_guid(scene, add_partition(scene, &scene->in_force, name, key), guid, ONEIB_FULL);
    scene->has_in_force = true;
}

static int copied(const struct scene *scene, uint32_t network_id)
{
    for (size_t i = 0; i < scene->desired.copy_count; i++)
        if (scene->desired.copies[i].network_id == network_id)
            return scene->desired.copies[i].pkey;
    return -1;
}

static void members_of_a_network_are_the_ports_of_their_hosts(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 5, 0x101);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 5, 1);
    add_nic(scene, 11, 0, 5, 2);
    compute(scene);

    const struct oneib_partition *partition = partition_of(&scene->desired.table, 0x101);
    assert_non_null(partition);
    assert_string_equal("one5", partition->name);
    assert_true(partition->ipoib);
    assert_false(partition->indx0);
    assert_int_equal(2, partition->member_count);
    assert_listed(scene, 0x101, port_of(1), "full");
    assert_listed(scene, 0x101, port_of(2), "full");
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_int_equal(0, scene->desired.findings.count);
}

static void the_default_partition_is_there_even_in_an_empty_cloud(void **state)
{
    struct scene *scene = *state;
    static const oneib_guid full[] = {0x30, 0x20, 0x30};
    scene->policy.default_full_members = full;
    scene->policy.default_full_count = 3;
    compute(scene);

    assert_int_equal(1, scene->desired.table.count);
    const struct oneib_partition *partition = &scene->desired.table.items[0];
    assert_string_equal("Default", partition->name);
    assert_int_equal(0x7fff, partition->pkey);
    assert_false(partition->ipoib);
    assert_int_equal(4, partition->member_count);
    assert_int_equal(ONEIB_MEMBER_ALL, partition->members[0].kind);
    assert_int_equal(ONEIB_LIMITED, partition->members[0].membership);
    assert_int_equal(ONEIB_MEMBER_SELF, partition->members[1].kind);
    assert_int_equal(ONEIB_FULL, partition->members[1].membership);
    assert_int_equal(0x20, partition->members[2].guid);
    assert_int_equal(0x30, partition->members[3].guid);

    scene->policy.default_full_count = 2;
    compute(scene);
    assert_int_equal(4, scene->desired.table.items[0].member_count);
}

static void a_vfs_guid_is_no_full_member_of_the_default_partition(void **state)
{
    struct scene *scene = *state;
    const oneib_guid full[] = {oneib_guid_encode(SITE, 4, 0)};
    scene->policy.default_full_members = full;
    scene->policy.default_full_count = 1;
    compute(scene);
    assert_listed(scene, 0x7fff, full[0], "none");
    assert_finding(scene, "default-guid-site", ONEIB_WARNING, "0x0200070000000400");
}

static void an_invalid_key_gives_no_members_and_no_new_key(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 5, 0)->key_state = ONEIB_KEY_INVALID;
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    compute(scene);

    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_finding(scene, "pkey-invalid", ONEIB_WARNING, "network 5");
    assert_non_null(finding(scene, "pkey-invalid")->fix);
    assert_int_equal(0, scene->desired.request_count);
    assert_int_equal(1, scene->desired.table.count);
}

static void the_default_key_is_never_a_networks(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 5, 0x7fff);
    add_network(scene, 6, 0xffff);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    add_nic(scene, 10, 1, 6, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_member_status(scene, 10, 1, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_int_equal(2, findings_of(scene, "pkey-invalid"));
    assert_int_equal(1, scene->desired.table.count);
}

static void a_network_without_a_key_asks_for_the_lowest_free_one(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 3, 0);
    add_network(scene, 4, 257);
    add_network(scene, 5, 0);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 3, 1);
    compute(scene);
    assert_int_equal(256, requested(scene, 3));
    assert_int_equal(258, requested(scene, 5));
    assert_int_equal(-1, requested(scene, 4));
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_KEY);
}

static void a_network_that_is_being_created_is_left_to_whoever_creates_it(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 5, 0)->being_created = true;
    add_network(scene, 6, 0);
    compute(scene);
    assert_int_equal(1, scene->desired.request_count);
    assert_int_equal(6, scene->desired.requests[0].network_id);
    assert_int_equal(scene->policy.pkey_first, scene->desired.requests[0].pkey);
}

static void whoever_may_come_back_with_a_key_holds_it(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 1, 256);
    add_network(scene, 2, 256); /* in conflict, and still a holder */
    add_network(scene, 3, 0);
    hold_key(add_host(scene, 1), 257);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "storage", 258), 0x55,
             ONEIB_FULL);
    put_in_force(scene, "one77", 259, 0x55);
    compute(scene);
    assert_int_equal(260, requested(scene, 3));
}

/* A network whose document is malformed, with the key that oned wrote into it. */
static void an_unreadable_network_has_no_members_and_keeps_its_key_from_others(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 5, 256)->unreadable = true;
    add_network(scene, 6, 256);
    add_network(scene, 7, 0);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    add_nic(scene, 11, 0, 6, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_KEY_CONFLICT);
    assert_int_equal(1, scene->desired.table.count);
    assert_int_equal(257, requested(scene, 7));
}

static void an_unreadable_network_opens_no_partition_of_the_operators(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 5, 256);
    network->uid = network->gid = 5;
    network->unreadable = true;
    add_guid(scene, add_partition(scene, &scene->static_partitions, "storage", 256), 0x55,
             ONEIB_FULL);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_KEY_CONFLICT);
    assert_listed(scene, 256, port_of(1), "none");
    assert_listed(scene, 256, 0x55, "full");
    assert_finding(scene, "pkey-reserved", ONEIB_WARNING, "network 5");
}

static void an_unreadable_reservation_has_not_even_its_parents_static_members(void **state)
{
    struct scene *scene = *state;
    oneib_network_add_static(add_network(scene, 5, 256), 0x55, ONEIB_FULL);
    add_reservation(scene, 6, 5, 257);
    compute(scene);
    assert_listed(scene, 257, 0x55, "full");
    scene->cloud.networks[1].unreadable = true;
    compute(scene);
    assert_listed(scene, 257, 0x55, "none");
    assert_listed(scene, 256, 0x55, "full");
}

/* An owner can make oned believe another parent. */
static void an_unproven_reservation_is_not_in_the_partition_of_what_it_names(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *parent = add_network(scene, 4, 256);
    parent->reservations_share = true;
    oneib_network_add_static(parent, 0x55, ONEIB_FULL);
    add_reservation(scene, 5, 4, 0);
    add_reservation(scene, 6, 4, 257);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    add_nic(scene, 11, 0, 6, 1);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "full"); /* were they proven */

    scene->cloud.networks[1].parent_unproven = scene->cloud.networks[2].parent_unproven = true;
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_listed(scene, 256, port_of(1), "none");
    assert_listed(scene, 257, port_of(1), "none");
    assert_listed(scene, 257, 0x55, "none");
    assert_int_equal(0, scene->desired.request_count);
    assert_finding(scene, "network-unproven", ONEIB_VIOLATION, "network 5");
}

static void add_users_reservation_of_other_driver(struct scene *scene, unsigned parents_key)
{
    struct oneib_network *parent = add_network(scene, 4, parents_key);
    parent->other_driver = strdup("bridge");
    assert_non_null(parent->other_driver);
    struct oneib_network *reservation = add_reservation(scene, 6, 4, 0);
    reservation->uid = reservation->gid = 12;
}

/* An owner can forge another VN_MAD as he can another parent. */
static void a_users_reservation_of_an_ethernet_network_gets_no_key(void **state)
{
    struct scene *scene = *state;
    add_users_reservation_of_other_driver(scene, 0);
    compute(scene);
    assert_int_equal(0, scene->desired.request_count);
    assert_finding(scene, "network-unproven", ONEIB_VIOLATION, "network 4");

    scene->cloud.networks[1].gid = 0; /* an operator's */
    compute(scene);
    assert_int_equal(1, scene->desired.request_count);
    assert_no_finding(scene, "network-unproven");

    scene->cloud.networks[1].gid = 12;
    give_key(scene, 6, 257); /* when its parent was InfiniBand, and there was no key left for it */
    compute(scene);
    assert_no_finding(scene, "network-unproven");
}

static void a_users_reservation_gets_a_key_together_with_its_parent(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 0);
    struct oneib_network *reservation = add_reservation(scene, 6, 4, 0);
    reservation->uid = reservation->gid = 12;
    compute(scene);
    assert_int_equal(2, scene->desired.request_count);
    assert_no_finding(scene, "network-unproven");
}

/* The ledger knows it: somebody switched it, by Sunstone's "Update". */
static void a_reservation_of_what_was_infiniband_gets_one(void **state)
{
    struct scene *scene = *state;
    add_users_reservation_of_other_driver(scene, 256);
    compute(scene);
    assert_int_equal(1, scene->desired.request_count);
    assert_no_finding(scene, "network-unproven");
}

static void an_unreadable_network_gets_no_key(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 5, 0)->unreadable = true;
    add_network(scene, 6, 300)->unreadable = true;
    /* It may share its parent's partition: nobody knows. */
    add_network(scene, 7, 300)->parent_id = 6;
    add_network(scene, 8, 0)->parent_id = 6;
    compute(scene);
    assert_int_equal(0, scene->desired.request_count);
    assert_int_equal(1, scene->desired.table.count);
}

/* Nobody knows to whom it leases addresses. */
static void an_unreadable_reservation_has_no_members_in_its_parents_partition_either(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 0)->unreadable = true;
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 2);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "full");
    assert_listed(scene, 256, port_of(2), "none");
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_NO_KEY);
}

static void a_used_up_range_is_said_once(void **state)
{
    struct scene *scene = *state;
    scene->policy.pkey_first = 300;
    scene->policy.pkey_last = 301;
    add_network(scene, 1, 300);
    for (uint32_t id = 2; id < 6; id++)
        add_network(scene, id, 0);
    compute(scene);
    assert_int_equal(301, requested(scene, 2));
    assert_int_equal(0, requested(scene, 3));
    assert_int_equal(0, requested(scene, 5));
    assert_int_equal(1, findings_of(scene, "pkeys-exhausted"));
    assert_finding(scene, "pkeys-exhausted", ONEIB_WARNING,
                   "3 networks are without one, the first is network 3");
}

static void a_key_outside_the_range_is_the_operators_choice(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 1, 5);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 1, 1);
    compute(scene);
    assert_listed(scene, 5, port_of(1), "full");
}

static void of_two_networks_with_one_key_the_lower_id_has_it(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 8, 0x101);
    add_network(scene, 4, 0x101);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 8, 1);
    add_nic(scene, 11, 0, 4, 2);
    compute(scene);

    assert_string_equal("one4", partition_of(&scene->desired.table, 0x101)->name);
    assert_listed(scene, 0x101, port_of(2), "full");
    assert_listed(scene, 0x101, port_of(1), "none");
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_KEY_CONFLICT);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_finding(scene, "pkey-conflict", ONEIB_WARNING, "network 8");
    assert_finding(scene, "pkey-conflict", ONEIB_WARNING, "network 4");
    const struct oneib_finding *conflict = finding(scene, "pkey-conflict");
    assert_true(oneib_finding_is_about(conflict, ONEIB_SUBJECT_NETWORK, 8));
    assert_true(oneib_finding_is_about(conflict, ONEIB_SUBJECT_NETWORK, 4));
    assert_false(oneib_finding_is_about(conflict, ONEIB_SUBJECT_HOST, 1));
    assert_int_equal(0, scene->desired.request_count);
    assert_int_equal(0, oneib_desired_cluster(&scene->desired, 8)->pkey);
}

static void a_static_partitions_key_is_no_networks(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 0x101);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "storage", 0x101), 0x55,
             ONEIB_FULL);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_KEY_CONFLICT);
    assert_finding(scene, "pkey-reserved", ONEIB_WARNING, "network 4");
    assert_string_equal("storage", partition_of(&scene->desired.table, 0x101)->name);
    assert_listed(scene, 0x101, port_of(1), "none");
    assert_int_equal(0, scene->desired.request_count);
}

/* ---- what the subnet manager is not to be given ---------------------------------------------- */

static void a_key_outside_of_the_range_is_not_for_a_subnet_manager_that_has_others(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 0x101);
    add_network(scene, 5, 0x55);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 1);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "storage", 0x20), 0x55,
             ONEIB_FULL);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "backup", 0x200), 0x55,
             ONEIB_FULL);
    scene->policy.only_range = true;
    compute(scene);
    assert_listed(scene, 0x101, port_of(1), "full");
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_KEY_CONFLICT);
    assert_finding(scene, "pkey-outside", ONEIB_WARNING, "network 5");
    assert_null(partition_of(&scene->desired.table, 0x55));
    assert_null(partition_of(&scene->desired.table, 0x20));
    assert_finding(scene, "static-partition-refused", ONEIB_WARNING, "storage");
    assert_listed(scene, 0x200, 0x55, "full");
}

static void the_first_and_the_last_key_of_the_range_are_for_it(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, scene->policy.pkey_first);
    add_network(scene, 5, scene->policy.pkey_last);
    add_network(scene, 6, scene->policy.pkey_first - 1u);
    scene->policy.pkey_last--;
    add_network(scene, 7, scene->policy.pkey_last);
    add_host(scene, 1);
    for (uint32_t id = 4; id <= 7; id++)
        add_nic(scene, 10 + id, 0, id, 1);
    scene->policy.only_range = true;
    compute(scene);
    assert_member_status(scene, 14, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 17, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 15, 0, ONEIB_MEMBER_STATUS_KEY_CONFLICT);
    assert_member_status(scene, 16, 0, ONEIB_MEMBER_STATUS_KEY_CONFLICT);
}

static void a_static_partition_is_for_it_when_it_can_be_as_it_is(void **state)
{
    struct scene *scene = *state;
    struct oneib_partition *partition =
        add_partition(scene, &scene->static_partitions, "storage", 0x200);
    add_guid(scene, partition, 0x54, ONEIB_FULL);
    add_guid(scene, partition, 0x55, ONEIB_LIMITED);
    add_guid(scene, partition, 0x56, ONEIB_FULL);
    scene->policy.only_range = true;
    compute(scene);
    assert_listed(scene, 0x200, 0x55, "limited");

    scene->policy.no_limited = true;
    compute(scene);
    assert_null(partition_of(&scene->desired.table, 0x200));
    assert_finding(scene, "static-partition-refused", ONEIB_WARNING, "limited members");

    scene->static_partitions.items[0].members[1].membership = ONEIB_FULL;
    compute(scene);
    assert_listed(scene, 0x200, 0x55, "full");

    scene->static_partitions.items[0].members[1].membership = ONEIB_BOTH;
    compute(scene);
    assert_null(partition_of(&scene->desired.table, 0x200));
    assert_finding(scene, "static-partition-refused", ONEIB_WARNING, "both full and limited");
}

static void a_static_partition_of_everybody_is_not_for_it_either(void **state)
{
    struct scene *scene = *state;
    add_wildcard(scene, add_partition(scene, &scene->static_partitions, "all", 0x200),
                 ONEIB_MEMBER_ALL, ONEIB_LIMITED);
    scene->policy.only_range = true;
    compute(scene);
    assert_null(partition_of(&scene->desired.table, 0x200));
    assert_finding(scene, "static-partition-refused", ONEIB_WARNING, "no GUIDs");
}

static void limited_members_get_nothing_where_they_would_be_made_full(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 0x101);
    add_network(scene, 5, 0x102)->membership = ONEIB_LIMITED;
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 2);
    scene->policy.no_limited = true;
    compute(scene);
    assert_listed(scene, 0x101, port_of(1), "full");
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_null(partition_of(&scene->desired.table, 0x102));
    assert_finding(scene, "limited-refused", ONEIB_WARNING, "network 5");
    assert_int_equal(2, scene->desired.binding_count);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(scene->desired.bindings[i].membership,
                         scene->desired.bindings[i].port == port_of(2) ? ONEIB_LIMITED
                                                                       : ONEIB_FULL);
    assert_int_equal(0, oneib_desired_cluster(&scene->desired, 5)->members);
    assert_int_equal(1, oneib_desired_cluster(&scene->desired, 5)->refused);
}

static void a_static_partitions_of_many_partitions_is_in_force_as_a_whole(void **state)
{
    struct scene *scene = *state;
    for (unsigned i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "storage%u", i);
        add_guid(scene, add_partition(scene, &scene->static_partitions, name, 0x201 + i), 0x55 + i,
                 ONEIB_FULL);
    }
    compute(scene);
    assert_int_equal(21, scene->desired.table.count);
    for (unsigned i = 0; i < 20; i++)
        assert_listed(scene, 0x201 + i, 0x55 + i, "full");
}

/* ---- the static partitions take a key -------------------------------------------------------- */

static void a_static_partitions_key_waits_while_a_host_may_hold_it(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 0x101);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    put_in_force(scene, "one4", 0x101, port_of(1));
    add_guid(scene, add_partition(scene, &scene->static_partitions, "storage", 0x101), 0x55,
             ONEIB_FULL);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "other", 0x102), 0x55,
             ONEIB_FULL);
    struct oneib_host *host = &scene->cloud.hosts[0];
    hold_key(host, 0x101);
    compute(scene);
    assert_null(partition_of(&scene->desired.table, 0x101));
    assert_finding(scene, "static-partition-waits", ONEIB_WARNING, "storage");
    assert_int_equal(scene->desired.wishes_at_rest, 1);
    assert_string_equal("other", partition_of(&scene->desired.table, 0x102)->name);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_KEY_CONFLICT);

    host->key_count = 0;
    host->keys_invalid = true; /* nobody knows */
    compute(scene);
    assert_null(partition_of(&scene->desired.table, 0x101));

    host->keys_invalid = false;
    compute(scene);
    assert_string_equal("storage", partition_of(&scene->desired.table, 0x101)->name);
    assert_int_equal(scene->desired.wishes_at_rest, 0);
}

static void assert_static_waits_for_a_lost_host(struct scene *scene, bool waits)
{
    compute(scene);
    assert_true((partition_of(&scene->desired.table, 0x101) == NULL) == waits);
    assert_non_null(partition_of(&scene->desired.table, 0x102));
    if (waits)
        assert_non_null(strstr(finding(scene, "static-partition-waits")->text, "host 3"));
    else
        assert_no_finding(scene, "static-partition-waits");
}

/* What runs on a machine that oned knows no more may have VFs open at it still. */
static void a_static_partition_waits_while_a_lost_host_may_hold_its_key(void **state)
{
    struct scene *scene = *state;
    const struct oneib_ledger_host lost = {.host_id = 3};
    add_network(scene, 4, 0x101);
    add_wildcard(scene, add_partition(scene, &scene->static_partitions, "mine", 0x101),
                 ONEIB_MEMBER_ALL, ONEIB_FULL);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "other", 0x102), 0x55,
             ONEIB_FULL);
    give_key(scene, 4, 0x101);
    oneib_ledger_pin(&scene->ledger, &lost);
    assert_static_waits_for_a_lost_host(scene, true);
    oneib_ledger_rest(&scene->ledger, 4, 0);
    oneib_network_clear(&scene->cloud.networks[--scene->cloud.network_count]);
    assert_static_waits_for_a_lost_host(scene, true);
    oneib_ledger_unpin(&scene->ledger, 3); /* oneib host forget */
    assert_static_waits_for_a_lost_host(scene, false);
}

/* Whatever a host says that it holds. */
static void a_static_partition_that_is_in_force_stays(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1)->keys_invalid = true;
    put_in_force(scene, "storage", 0x101, 0x55);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "storage", 0x101), 0x55,
             ONEIB_FULL);
    compute(scene);
    assert_string_equal("storage", partition_of(&scene->desired.table, 0x101)->name);
}

static void a_copy_of_the_parents_key_is_no_key(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_reservation(scene, 5, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 2);
    compute(scene);

    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_listed(scene, 256, port_of(2), "none");
    assert_int_equal(257, requested(scene, 5));
    assert_finding(scene, "reservation-needs-key", ONEIB_NOTICE, "network 5");
    assert_no_finding(scene, "pkey-conflict");
}

static void a_reservation_with_a_key_of_its_own_is_a_cluster_of_its_own(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_reservation(scene, 5, 4, 257);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_string_equal("one5", partition_of(&scene->desired.table, 257)->name);
    assert_int_equal(5, oneib_desired_cluster(&scene->desired, 5)->network_id);
}

static void a_shared_reservation_joins_its_parents_partition(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 0, 5, 2);
    compute(scene);

    assert_listed(scene, 256, port_of(1), "full");
    assert_listed(scene, 256, port_of(2), "full");
    assert_int_equal(2, scene->desired.table.count);
    assert_int_equal(0, scene->desired.request_count);
    assert_int_equal(0, scene->desired.findings.count);
    assert_int_equal(1, scene->desired.cluster_count);
    const struct oneib_cluster *cluster = oneib_desired_cluster(&scene->desired, 5);
    assert_int_equal(4, cluster->network_id);
    assert_int_equal(2, cluster->attachment_count);
    assert_int_equal(2, cluster->members);
}

static void a_shared_reservation_is_no_wider_than_any_of_the_three(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 256)->membership = ONEIB_LIMITED;
    add_reservation(scene, 6, 4, 256);
    for (uint32_t host = 1; host <= 3; host++)
        add_host(scene, host);
    add_nic(scene, 10, 0, 5, 1);
    add_nic(scene, 11, 0, 6, 2)->narrowed = true;
    add_nic(scene, 12, 0, 6, 3);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "limited");
    assert_listed(scene, 256, port_of(2), "limited");
    assert_listed(scene, 256, port_of(3), "full");

    scene->cloud.networks[0].membership = ONEIB_LIMITED;
    compute(scene);
    assert_listed(scene, 256, port_of(3), "limited");
}

static void a_shared_reservation_has_no_other_key_than_its_parents(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256)->reservations_share = true;
    add_reservation(scene, 5, 4, 300);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    compute(scene);
    assert_listed(scene, 256, port_of(1), "full");
    assert_null(partition_of(&scene->desired.table, 300));
    assert_int_equal(256, copied(scene, 5));
}

static void sharing_goes_one_level_and_never_in_circles(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 1, 256)->reservations_share = true;
    add_reservation(scene, 2, 1, 256)->reservations_share = true;
    add_reservation(scene, 3, 2, 256);
    add_reservation(scene, 6, 7, 300)->reservations_share = true;
    add_reservation(scene, 7, 6, 300)->reservations_share = true;
    add_reservation(scene, 8, 8, 301)->reservations_share = true;
    add_host(scene, 1);
    for (uint32_t i = 0; i < 6; i++)
        add_nic(scene, 10 + i, 0, (const uint32_t[]){1, 2, 3, 6, 7, 8}[i], 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_member_status(scene, 13, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_member_status(scene, 14, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_member_status(scene, 15, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_int_equal(1, findings_of(scene, "reservation-nested"));
    assert_null(oneib_desired_cluster(&scene->desired, 3));
}

static void a_reservation_whose_parent_is_gone_is_an_ordinary_network(void **state)
{
    struct scene *scene = *state;
    add_reservation(scene, 5, 4, 300);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_listed(scene, 300, port_of(1), "full");
}

static void a_nic_that_its_network_does_not_know_of_gets_nothing(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 7, 4, 2)->unleased = true;
    compute(scene);

    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 7, ONEIB_MEMBER_STATUS_NO_LEASE);
    assert_listed(scene, 256, port_of(1), "full");
    assert_listed(scene, 256, port_of(2), "none");
    assert_finding(scene, "nic-unleased", ONEIB_VIOLATION, "VM 11 NIC 7");
}

/* Nodes open what is granted: who forges a NIC cuts nobody off. */
static void a_nic_that_its_network_does_not_know_of_bars_nobody_on_its_host(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 11, 7, 4, 1)->unleased = true;
    add_nic(scene, 12, 0, 99, 1); /* which is gone */
    compute(scene);

    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_member_status(scene, 11, 7, ONEIB_MEMBER_STATUS_NO_LEASE);
    assert_member_status(scene, 12, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_listed(scene, 256, port_of(1), "full");
    assert_finding(scene, "nic-unleased", ONEIB_VIOLATION, "VM 11 NIC 7");
}

static void a_nic_whose_network_is_gone_is_named(void **state)
{
    struct scene *scene = *state;
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_NETWORK);
    assert_finding(scene, "network-missing", ONEIB_WARNING, "VM 10 NIC 0");
    const struct oneib_finding *missing = finding(scene, "network-missing");
    assert_true(oneib_finding_is_about(missing, ONEIB_SUBJECT_VM, 10));
    assert_true(oneib_finding_is_about(missing, ONEIB_SUBJECT_NETWORK, 4));

    scene->cloud.attachments[0].phase = ONEIB_ABSENT; /* it is nowhere, and misses nothing */
    compute(scene);
    assert_no_finding(scene, "network-missing");
}

static void who_is_refused_is_counted_by_nic_and_by_vm(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 256);
    add_empty_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    add_nic(scene, 10, 1, 4, 1);
    add_nic(scene, 10, 2, 4, 1);
    add_nic(scene, 11, 0, 4, 1);
    compute(scene);
    assert_int_equal(4, oneib_desired_cluster(&scene->desired, 4)->refused);
    assert_int_equal(2, oneib_desired_cluster(&scene->desired, 4)->refused_vms);
}

static void the_bindings_of_each_nic_are_found(void **state)
{
    struct scene *scene = *state;
    size_t count;
    add_network(scene, 4, 256);
    add_host(scene, 1);
    add_host(scene, 2);
    struct oneib_attachment *leaving = add_nic(scene, 10, 0, 4, 1);
    leaving->phase = ONEIB_MIGRATING;
    leaving->source_host_id = 2;
    add_nic(scene, 11, 0, 4, 2);
    add_nic(scene, 12, 0, 4, 2)->phase = ONEIB_ABSENT;
    compute(scene);
    for (size_t i = 0; i < 2; i++) {
        const struct oneib_desired_binding *first =
            oneib_desired_bindings(&scene->desired, i, &count);
        assert_non_null(first);
        assert_int_equal(first->attachment, i);
        assert_int_equal(count, i == 0 ? 2 : 1);
    }
    assert_null(oneib_desired_bindings(&scene->desired, 2, &count));
    assert_int_equal(count, 0);
}

static void members_follow_their_networks_new_key(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 300);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    put_in_force(scene, "one4", 256, port_of(1));
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
    assert_listed(scene, 300, port_of(1), "full");
    assert_listed(scene, 256, port_of(1), "none");
}

static void a_network_whose_key_was_taken_away_reaches_nobody(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 4, 0);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 4, 1);
    put_in_force(scene, "one4", 256, port_of(1));
    compute(scene);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_NO_KEY);
    assert_int_equal(1, scene->desired.table.count);
    assert_int_equal(257, requested(scene, 4)); /* 256 is still in force */
}

static void a_hostile_network_name_never_reaches_the_file(void **state)
{
    struct scene *scene = *state;
    struct oneib_network *network = add_network(scene, 4, 256);
    network->name = strdup("x=0x7fff : ALL=full;");
    assert_non_null(network->name);
    add_host(scene, 1)->name = strdup("h\n; Default=0x7fff : ALL=full;");
    add_nic(scene, 10, 0, 4, 1);
    compute(scene);
    struct oneib_text text = {0};
    oneib_partitions_render(&scene->desired.table, &text);
    assert_null(strstr(text.data, "ALL=full"));
    assert_non_null(strstr(text.data, "one4=0x0100"));
    oneib_text_clear(&text);
}

/* ---- by the ledger --------------------------------------------------------------------------- */

static const uint32_t TENANT = 12;

/* A tenant's network with this VLAN_ID, and this key in the ledger; 0: none. */
static struct oneib_network *add_tenants(struct scene *scene, uint32_t id, unsigned vlan_id,
                                         unsigned key)
{
    struct oneib_network *network = add_network(scene, id, vlan_id);
    network->uid = network->gid = TENANT;
    scene->ledger_is_given = true;
    if (key)
        give_key(scene, id, key);
    return network;
}

static struct oneib_network *add_operators(struct scene *scene, uint32_t id, unsigned vlan_id,
                                           unsigned key)
{
    struct oneib_network *network = add_tenants(scene, id, vlan_id, key);
    network->uid = network->gid = 0;
    return network;
}

static void let_rest(struct scene *scene, unsigned key, uint32_t network_id, uint32_t owner)
{
    const struct oneib_ledger_resting entry = {
        .pkey = (oneib_pkey)key, .network_id = network_id, .owner = owner};
    scene->ledger_is_given = true;
    assert_int_equal(0, oneib_ledger_add_resting(&scene->ledger, &entry, &scene->err));
}

static void a_network_has_the_key_of_the_ledger_whatever_its_vlan_id(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 4, 256, 256);
    add_tenants(scene, 5, 256, 257); /* the victim's */
    add_tenants(scene, 6, 0x7fff, 258);
    add_tenants(scene, 7, 0, 259);
    add_host(scene, 1);
    for (uint32_t id = 4; id <= 7; id++)
        add_nic(scene, id, 0, id, 1);
    compute(scene);
    for (uint32_t id = 4; id <= 7; id++) {
        char name[16];
        snprintf(name, sizeof name, "one%u", id);
        assert_member_status(scene, id, 0, ONEIB_MEMBER_STATUS_MEMBER);
        assert_string_equal(name,
                            partition_of(&scene->desired.table, (oneib_pkey)(252 + id))->name);
        assert_int_equal(id == 4 ? -1 : (int)(252 + id), copied(scene, id));
    }
    assert_int_equal(0, scene->desired.request_count);
    assert_int_equal(0, scene->desired.findings.count);
}

static void a_tenant_wishes_nothing(void **state)
{
    struct scene *scene = *state;
    add_tenants(scene, 5, 300, 257);
    add_tenants(scene, 6, 301, 0);
    compute(scene);
    assert_int_equal(-1, requested(scene, 5));
    assert_int_equal(256, requested(scene, 6));
    assert_int_equal(257, copied(scene, 5));
}

static void an_operators_wish_is_met_when_the_key_is_nobodys(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 5, 300, 257);
    add_operators(scene, 6, 301, 0);
    add_operators(scene, 7, 302, 259)->uid = TENANT; /* of the group oneadmin */
    add_operators(scene, 8, 303, 260)->gid = TENANT; /* its administrators write into it */
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    compute(scene);
    assert_int_equal(300, requested(scene, 5));
    assert_int_equal(301, requested(scene, 6));
    assert_int_equal(302, requested(scene, 7));
    assert_int_equal(-1, requested(scene, 8));
    assert_int_equal(1, scene->desired.copy_count);
    assert_member_status(scene, 10, 0,
                         ONEIB_MEMBER_STATUS_MEMBER); /* with the old one, until then */
    assert_string_equal("one5", partition_of(&scene->desired.table, 257)->name);
}

static void assert_refused(struct scene *scene, const char *code, const char *words)
{
    compute(scene);
    assert_int_equal(-1, requested(scene, 5));
    assert_int_equal(-1, copied(scene, 5));
    assert_finding(scene, code, ONEIB_WARNING, words);
    assert_finding(scene, code, ONEIB_WARNING, "it keeps P_Key 0x0101");
}

static void the_first_and_the_last_key_may_be_wished(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 5, ONEIB_PKEY_FIRST, 0);
    add_operators(scene, 6, ONEIB_PKEY_LAST, 0);
    compute(scene);
    assert_int_equal(ONEIB_PKEY_FIRST, requested(scene, 5));
    assert_int_equal(ONEIB_PKEY_LAST, requested(scene, 6));
}

/* Its parent's, shown or real, is oned's copy: that is no wish. */
static void an_operators_reservation_may_wish_any_key_but_its_parents(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 4, 260, 261);
    add_operators(scene, 5, 300, 0)->parent_id = 4;
    add_operators(scene, 6, 260, 0)->parent_id = 4;
    add_operators(scene, 7, 261, 0)->parent_id = 4;
    compute(scene);
    assert_int_equal(300, requested(scene, 5));
    assert_int_equal(256, requested(scene, 6));
    assert_int_equal(257, requested(scene, 7));
}

static void a_wish_for_another_networks_key_is_refused(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 5, 300, 257);
    add_tenants(scene, 6, 300, 300);
    assert_refused(scene, "pkey-conflict", "network 6");
    assert_int_equal(0, scene->desired.wishes_at_rest);
}

static void a_wish_for_a_key_that_rests_is_refused(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 5, 300, 257);
    let_rest(scene, 300, 9, 0);
    assert_refused(scene, "pkey-conflict", "was network 9's");
    assert_int_equal(1, scene->desired.wishes_at_rest);
}

/* A host may hold it for what was a member when it was. */
static void a_wish_for_ones_own_key_that_rests_is_refused_as_well(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 5, 300, 257);
    let_rest(scene, 300, 5, 0);
    assert_refused(scene, "pkey-conflict", "network 5");
    assert_int_equal(1, scene->desired.wishes_at_rest);
}

/* A ledger of yesterday, or two daemons that wrote it at once: it is in none of its entries. */
static void a_wish_for_a_key_that_only_a_host_tells_of_is_refused(void **state)
{
    struct scene *scene = *state;
    hold_key(add_host(scene, 1), 300);
    add_operators(scene, 5, 300, 257);
    assert_refused(scene, "pkey-conflict", "a host may hold still");
}

static void a_key_that_only_a_host_tells_of_is_not_given(void **state)
{
    struct scene *scene = *state;
    hold_key(add_host(scene, 1), 256);
    add_tenants(scene, 5, 0, 0);
    compute(scene);
    assert_int_equal(257, requested(scene, 5));
}

/* With many of them nobody would be given a key any more. */
static void what_a_tenant_writes_keeps_no_key_from_being_given(void **state)
{
    struct scene *scene = *state;
    add_tenants(scene, 5, 0, 0);
    add_tenants(scene, 6, 256, 300);
    add_operators(scene, 7, 257, 0)->being_created = true;
    add_tenants(scene, 8, 0, 0);
    compute(scene);
    assert_int_equal(256, requested(scene, 5));
    assert_int_equal(258, requested(scene, 8));
}

static void a_wish_for_a_static_partitions_key_is_refused(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 5, 300, 257);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "storage", 300), 0x55,
             ONEIB_FULL);
    assert_refused(scene, "pkey-reserved", "static partition");
}

static void a_static_partitions_key_is_no_networks_whatever_is_in_force(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 5, 300, 257);
    add_guid(scene, add_partition(scene, &scene->static_partitions, "storage", 300), 0x55,
             ONEIB_FULL);
    put_in_force(scene, "storage", 300, 0x55);
    assert_refused(scene, "pkey-reserved", "static partition");
    snprintf(scene->in_force.items[0].name, sizeof scene->in_force.items[0].name, "one5");
    assert_refused(scene, "pkey-reserved", "static partition");
}

static void a_wish_for_a_key_in_force_for_others_is_refused(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 5, 300, 257);
    put_in_force(scene, "one77", 300, 0x55);
    assert_refused(scene, "pkey-conflict", "in force");
    snprintf(scene->in_force.items[0].name, sizeof scene->in_force.items[0].name, "one5");
    compute(scene);
    assert_int_equal(300, requested(scene, 5));
}

static void of_two_wishes_for_one_key_the_lower_id_has_it(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 8, 300, 0);
    add_operators(scene, 4, 300, 0);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 8, 1);
    compute(scene);
    assert_int_equal(300, requested(scene, 4));
    assert_int_equal(-1, requested(scene, 8));
    assert_finding(scene, "pkey-conflict", ONEIB_WARNING, "network 8");
    assert_finding(scene, "pkey-conflict", ONEIB_WARNING, "network 4 has: it gets no members");
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_KEY_CONFLICT);
}

static void what_an_operator_mistyped_stays_and_changes_nothing(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 5, 0, 257)->key_state = ONEIB_KEY_INVALID;
    add_tenants(scene, 6, 0, 258)->key_state = ONEIB_KEY_INVALID;
    compute(scene);
    assert_int_equal(-1, copied(scene, 5));
    assert_int_equal(258, copied(scene, 6));
    assert_int_equal(0, scene->desired.request_count);
    assert_finding(scene, "pkey-invalid", ONEIB_WARNING, "it keeps P_Key 0x0101");
}

static void what_an_operator_mistyped_gives_no_key_either(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 5, 0, 0)->key_state = ONEIB_KEY_INVALID;
    compute(scene);
    assert_int_equal(0, scene->desired.request_count);
    assert_finding(scene, "pkey-invalid", ONEIB_WARNING, "it gets no members");
}

static void keys_are_taken_in_a_ring(void **state)
{
    struct scene *scene = *state;
    scene->policy.pkey_first = 300;
    scene->policy.pkey_last = 304;
    scene->ledger.next = 303;
    add_tenants(scene, 1, 304, 304);
    let_rest(scene, 300, 9, TENANT);
    for (uint32_t id = 2; id <= 5; id++)
        add_tenants(scene, id, 0, 0);
    compute(scene);
    assert_int_equal(303, requested(scene, 2));
    assert_int_equal(301, requested(scene, 3));
    assert_int_equal(302, requested(scene, 4));
    assert_int_equal(0, requested(scene, 5));
    assert_int_equal(303, scene->desired.next);
    assert_finding(scene, "pkeys-exhausted", ONEIB_WARNING, "1 networks");
}

static void the_last_key_of_the_ring_has_its_turn(void **state)
{
    struct scene *scene = *state;
    scene->policy.pkey_first = 300;
    scene->policy.pkey_last = 304;
    scene->ledger.next = 304;
    add_tenants(scene, 2, 0, 0);
    add_tenants(scene, 3, 0, 0);
    compute(scene);
    assert_int_equal(304, requested(scene, 2));
    assert_int_equal(300, requested(scene, 3));
}

static void a_range_of_one_key_gives_it(void **state)
{
    struct scene *scene = *state;
    scene->policy.pkey_first = scene->policy.pkey_last = 300;
    add_tenants(scene, 2, 0, 0);
    compute(scene);
    assert_int_equal(300, requested(scene, 2));
}

static void what_a_user_has_counts_wherever_others_networks_lie_between(void **state)
{
    struct scene *scene = *state;
    scene->policy.owned_max = 3;
    for (uint32_t id = 10; id < 15; id++)
        add_tenants(scene, id, 246 + id, 246 + id)->uid = id % 2 ? 11 : TENANT;
    add_tenants(scene, 15, 0, 0);
    add_tenants(scene, 16, 0, 0)->uid = 11;
    compute(scene);
    assert_int_equal(-1, requested(scene, 15));
    assert_int_equal(261, requested(scene, 16));
}

static void one_users_networks_do_not_use_up_the_range(void **state)
{
    struct scene *scene = *state;
    scene->policy.owned_max = 3;
    scene->policy.pkey_last = 261;
    add_tenants(scene, 10, 256, 256);
    for (uint32_t id = 11; id < 16; id++)
        add_tenants(scene, id, 0, 0);
    add_tenants(scene, 20, 0, 0)->uid = 13;
    add_operators(scene, 21, 0, 0);
    compute(scene);
    assert_int_equal(257, requested(scene, 11));
    assert_int_equal(258, requested(scene, 12));
    assert_int_equal(259, requested(scene, 20));
    assert_int_equal(260, requested(scene, 21));
    assert_int_equal(4, scene->desired.request_count);
    assert_int_equal(1, findings_of(scene, "pkeys-owned"));
    assert_finding(scene, "pkeys-owned", ONEIB_WARNING,
                   "(pkeys.owned, 3): 3 get none, the first is network 13");
    assert_no_finding(scene, "pkeys-exhausted");
}

static void an_operator_has_any_number_of_keys_and_so_has_everybody_with_a_limit_of_0(void **state)
{
    struct scene *scene = *state;
    scene->policy.owned_max = 1;
    add_operators(scene, 10, 0, 0);
    add_operators(scene, 11, 0, 0);
    compute(scene);
    assert_int_equal(2, scene->desired.request_count);
    scene->policy.owned_max = 0;
    add_tenants(scene, 12, 0, 0);
    add_tenants(scene, 13, 0, 0);
    oneib_desired_clear(&scene->desired);
    compute(scene);
    assert_int_equal(4, scene->desired.request_count);
    assert_no_finding(scene, "pkeys-owned");
}

static void who_lets_many_keys_rest_gets_no_more(void **state)
{
    struct scene *scene = *state;
    scene->policy.resting_max = 2;
    let_rest(scene, 300, 20, TENANT);
    let_rest(scene, 301, 21, TENANT);
    let_rest(scene, 302, 22, 0);
    let_rest(scene, 303, 23, 0);
    add_tenants(scene, 5, 0, 0);
    add_tenants(scene, 6, 0, 0)->uid = 13;
    add_operators(scene, 7, 0, 0);
    compute(scene);
    assert_int_equal(0, requested(scene, 5));
    assert_int_equal(256, requested(scene, 6));
    assert_int_equal(257, requested(scene, 7));
    assert_finding(scene, "pkeys-resting", ONEIB_WARNING, "network 5");
    assert_no_finding(scene, "pkeys-exhausted");
}

static void an_entry_whose_network_is_not_there_is_unused(void **state)
{
    struct scene *scene = *state;
    add_operators(scene, 4, 257, 257)->reservations_share = true;
    add_tenants(scene, 5, 258, 258)->parent_id = 4; /* it shares, since then */
    give_key(scene, 6, 259);
    compute(scene);
    assert_int_equal(2, scene->desired.unused_count);
    assert_int_equal(5, scene->desired.unused[0].network_id);
    assert_true(scene->desired.unused[0].is_sharer);
    assert_int_equal(6, scene->desired.unused[1].network_id);
    assert_false(scene->desired.unused[1].is_sharer);
    assert_int_equal(257, copied(scene, 5));

    /* Of what cannot be read, or is being created, nobody knows what it needs. */
    scene->cloud.networks[1].unreadable = true;
    compute(scene);
    assert_int_equal(1, scene->desired.unused_count);
    assert_int_equal(-1, copied(scene, 5));
    scene->cloud.networks[1].unreadable = false;
    scene->cloud.networks[1].being_created = true;
    compute(scene);
    assert_int_equal(1, scene->desired.unused_count);
    assert_int_equal(-1, copied(scene, 5));
}

/* A host, and the port that its keys are seen on. */
static void add_seen_host(struct scene *scene, uint32_t id)
{
    add_host(scene, id);
    struct oneib_subnet_port *port = add_subnet_port(scene, port_of(id), 4);
    port->answered = true;
    port->pkeys = calloc(4, sizeof *port->pkeys);
    assert_non_null(port->pkeys);
    scene->has_in_force = true;
}

static void assert_idle(struct scene *scene, size_t count)
{
    compute(scene);
    assert_int_equal(count, scene->desired.idle_count);
}

static void a_key_that_nobody_can_hold_has_rested_enough(void **state)
{
    struct scene *scene = *state;
    add_seen_host(scene, 1);
    let_rest(scene, 300, 9, 0);
    let_rest(scene, 301, 9, 0);
    assert_idle(scene, 2);
    assert_int_equal(300, scene->desired.idle[0]);
}

static void a_key_that_a_host_may_hold_rests_on(void **state)
{
    struct scene *scene = *state;
    static oneib_pkey keys[] = {300};
    add_seen_host(scene, 1);
    let_rest(scene, 300, 9, 0);
    let_rest(scene, 301, 9, 0);
    scene->cloud.hosts[0].keys = keys;
    scene->cloud.hosts[0].key_count = 1;
    assert_idle(scene, 1);
    assert_int_equal(301, scene->desired.idle[0]);
    scene->cloud.hosts[0].keys = NULL;
    scene->cloud.hosts[0].key_count = 0;
    scene->cloud.hosts[0].keys_invalid = true;
    assert_idle(scene, 0);
}

static void a_key_on_a_port_rests_on(void **state)
{
    struct scene *scene = *state;
    add_seen_host(scene, 1);
    let_rest(scene, 300, 9, 0);
    scene->subnet.ports[0].pkeys[2] = 0x8000 | 300;
    assert_idle(scene, 0);
    scene->subnet.ports[0].pkeys[2] = 0;
    assert_idle(scene, 1);
    scene->subnet.ports[0].answered = false;
    assert_idle(scene, 0);
}

static void a_key_in_force_or_not_known_rests_on(void **state)
{
    struct scene *scene = *state;
    add_seen_host(scene, 1);
    let_rest(scene, 300, 9, 0);
    add_partition(scene, &scene->in_force, "one9", 300);
    assert_idle(scene, 0);
    oneib_partition_table_clear(&scene->in_force);
    assert_idle(scene, 1);
    scene->has_in_force = false;
    assert_idle(scene, 0);
    scene->has_in_force = true;
    scene->has_subnet = false;
    assert_idle(scene, 0);
}

static void while_a_host_is_lost_every_key_rests_on(void **state)
{
    struct scene *scene = *state;
    const struct oneib_ledger_host host = {.host_id = 3}, present = {.host_id = 1};
    add_seen_host(scene, 1);
    let_rest(scene, 300, 9, 0);
    oneib_ledger_pin(&scene->ledger, &host);
    oneib_ledger_pin(&scene->ledger, &present);
    assert_idle(scene, 0);
    assert_int_equal(1, findings_of(scene, "host-gone"));
    assert_finding(scene, "host-gone", ONEIB_WARNING, "host 3");
    assert_non_null(strstr(finding(scene, "host-gone")->fix, "oneib host forget 3"));
    oneib_ledger_unpin(&scene->ledger, 3);
    assert_idle(scene, 1);
}

static void without_a_ledger_to_rely_on_nothing_is_given_and_nothing_taken(void **state)
{
    struct scene *scene = *state;
    add_seen_host(scene, 1);
    add_operators(scene, 4, 300, 256);
    add_tenants(scene, 5, 0, 0);
    give_key(scene, 6, 259);
    let_rest(scene, 301, 9, 0);
    add_nic(scene, 10, 0, 4, 1);
    scene->keys_stay = true;
    compute(scene);
    assert_int_equal(0, scene->desired.request_count);
    assert_int_equal(0, scene->desired.copy_count);
    assert_int_equal(0, scene->desired.unused_count);
    assert_int_equal(0, scene->desired.idle_count);
    assert_member_status(scene, 10, 0, ONEIB_MEMBER_STATUS_MEMBER);
}

/* oned has copied it into the NIC, and keeps it there. */
static void a_nic_that_shows_another_networks_key_is_named(void **state)
{
    struct scene *scene = *state;
    add_network(scene, 7, 0x101)->name = strdup("red");
    add_network(scene, 9, 0x105)->name = strdup("blue");
    add_host(scene, 1);
    add_nic(scene, 4, 0, 9, 1)->shown_pkey = 0x101;
    add_nic(scene, 5, 0, 9, 1)->shown_pkey = 0x105;
    add_nic(scene, 6, 0, 9, 1); /* it shows none */
    add_nic(scene, 8, 0, 9, 1)->shown_pkey = 0x101;
    add_nic(scene, 11, 0, 9, 1)->phase = ONEIB_ABSENT;
    scene->cloud.attachments[4].shown_pkey = 0x101;
    compute(scene);
    assert_int_equal(findings_of(scene, "nic-key-shown"), 1);
    assert_finding(scene, "nic-key-shown", ONEIB_WARNING,
                   "OpenNebula shows VLAN_ID 257 (0x0101), the P_Key of network 7 \"red\" at VM 4 "
                   "NIC 0, VM 8 NIC 0 of network 9 \"blue\"; in force there is 0x0105 alone");
    assert_listed(scene, 0x101, port_of(1), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_nic_that_shows_another_networks_key_is_named),
        SCENE_TEST(a_network_has_the_key_of_the_ledger_whatever_its_vlan_id),
        SCENE_TEST(a_key_outside_of_the_range_is_not_for_a_subnet_manager_that_has_others),
        SCENE_TEST(the_first_and_the_last_key_of_the_range_are_for_it),
        SCENE_TEST(a_static_partition_is_for_it_when_it_can_be_as_it_is),
        SCENE_TEST(a_static_partition_of_everybody_is_not_for_it_either),
        SCENE_TEST(limited_members_get_nothing_where_they_would_be_made_full),
        SCENE_TEST(a_tenant_wishes_nothing),
        SCENE_TEST(an_operators_wish_is_met_when_the_key_is_nobodys),
        SCENE_TEST(the_first_and_the_last_key_may_be_wished),
        SCENE_TEST(an_operators_reservation_may_wish_any_key_but_its_parents),
        SCENE_TEST(a_wish_for_another_networks_key_is_refused),
        SCENE_TEST(a_wish_for_a_key_that_rests_is_refused),
        SCENE_TEST(a_wish_for_ones_own_key_that_rests_is_refused_as_well),
        SCENE_TEST(a_wish_for_a_key_that_only_a_host_tells_of_is_refused),
        SCENE_TEST(a_key_that_only_a_host_tells_of_is_not_given),
        SCENE_TEST(what_a_tenant_writes_keeps_no_key_from_being_given),
        SCENE_TEST(a_wish_for_a_static_partitions_key_is_refused),
        SCENE_TEST(a_static_partitions_key_is_no_networks_whatever_is_in_force),
        SCENE_TEST(a_wish_for_a_key_in_force_for_others_is_refused),
        SCENE_TEST(of_two_wishes_for_one_key_the_lower_id_has_it),
        SCENE_TEST(what_an_operator_mistyped_gives_no_key_either),
        SCENE_TEST(what_an_operator_mistyped_stays_and_changes_nothing),
        SCENE_TEST(keys_are_taken_in_a_ring),
        SCENE_TEST(the_last_key_of_the_ring_has_its_turn),
        SCENE_TEST(a_range_of_one_key_gives_it),
        SCENE_TEST(what_a_user_has_counts_wherever_others_networks_lie_between),
        SCENE_TEST(one_users_networks_do_not_use_up_the_range),
        SCENE_TEST(an_operator_has_any_number_of_keys_and_so_has_everybody_with_a_limit_of_0),
        SCENE_TEST(who_lets_many_keys_rest_gets_no_more),
        SCENE_TEST(an_entry_whose_network_is_not_there_is_unused),
        SCENE_TEST(a_key_that_nobody_can_hold_has_rested_enough),
        SCENE_TEST(a_key_that_a_host_may_hold_rests_on),
        SCENE_TEST(a_key_on_a_port_rests_on),
        SCENE_TEST(a_key_in_force_or_not_known_rests_on),
        SCENE_TEST(while_a_host_is_lost_every_key_rests_on),
        SCENE_TEST(without_a_ledger_to_rely_on_nothing_is_given_and_nothing_taken),
        SCENE_TEST(members_of_a_network_are_the_ports_of_their_hosts),
        SCENE_TEST(the_default_partition_is_there_even_in_an_empty_cloud),
        SCENE_TEST(a_vfs_guid_is_no_full_member_of_the_default_partition),
        SCENE_TEST(an_invalid_key_gives_no_members_and_no_new_key),
        SCENE_TEST(the_default_key_is_never_a_networks),
        SCENE_TEST(a_network_without_a_key_asks_for_the_lowest_free_one),
        SCENE_TEST(a_network_that_is_being_created_is_left_to_whoever_creates_it),
        SCENE_TEST(whoever_may_come_back_with_a_key_holds_it),
        SCENE_TEST(an_unreadable_network_has_no_members_and_keeps_its_key_from_others),
        SCENE_TEST(an_unreadable_network_opens_no_partition_of_the_operators),
        SCENE_TEST(an_unreadable_reservation_has_not_even_its_parents_static_members),
        SCENE_TEST(an_unproven_reservation_is_not_in_the_partition_of_what_it_names),
        SCENE_TEST(a_users_reservation_of_an_ethernet_network_gets_no_key),
        SCENE_TEST(a_users_reservation_gets_a_key_together_with_its_parent),
        SCENE_TEST(a_reservation_of_what_was_infiniband_gets_one),
        SCENE_TEST(an_unreadable_network_gets_no_key),
        SCENE_TEST(an_unreadable_reservation_has_no_members_in_its_parents_partition_either),
        SCENE_TEST(a_used_up_range_is_said_once),
        SCENE_TEST(a_key_outside_the_range_is_the_operators_choice),
        SCENE_TEST(of_two_networks_with_one_key_the_lower_id_has_it),
        SCENE_TEST(a_static_partitions_key_is_no_networks),
        SCENE_TEST(a_static_partitions_of_many_partitions_is_in_force_as_a_whole),
        SCENE_TEST(a_static_partitions_key_waits_while_a_host_may_hold_it),
        SCENE_TEST(a_static_partition_waits_while_a_lost_host_may_hold_its_key),
        SCENE_TEST(a_static_partition_that_is_in_force_stays),
        SCENE_TEST(a_copy_of_the_parents_key_is_no_key),
        SCENE_TEST(a_reservation_with_a_key_of_its_own_is_a_cluster_of_its_own),
        SCENE_TEST(a_shared_reservation_joins_its_parents_partition),
        SCENE_TEST(a_shared_reservation_is_no_wider_than_any_of_the_three),
        SCENE_TEST(a_shared_reservation_has_no_other_key_than_its_parents),
        SCENE_TEST(sharing_goes_one_level_and_never_in_circles),
        SCENE_TEST(a_reservation_whose_parent_is_gone_is_an_ordinary_network),
        SCENE_TEST(a_nic_that_its_network_does_not_know_of_gets_nothing),
        SCENE_TEST(a_nic_that_its_network_does_not_know_of_bars_nobody_on_its_host),
        SCENE_TEST(a_nic_whose_network_is_gone_is_named),
        SCENE_TEST(who_is_refused_is_counted_by_nic_and_by_vm),
        SCENE_TEST(the_bindings_of_each_nic_are_found),
        SCENE_TEST(members_follow_their_networks_new_key),
        SCENE_TEST(a_network_whose_key_was_taken_away_reaches_nobody),
        SCENE_TEST(a_hostile_network_name_never_reaches_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
