// SPDX-License-Identifier: Apache-2.0
/* Which service level a network gets, and that it stays under members. */
#include "cloud_builder.h"

static const struct oneib_qos_class classes[] = {{.name = "gold", .weight = 64, .sls = 3 << 1},
                                                 {.name = "silver", .weight = 32, .sls = 1 << 3}};

static void define_classes(struct scene *scene)
{
    scene->policy.classes = classes;
    scene->policy.class_count = 2;
    scene->has_in_force = true;
}

static struct oneib_network *add_network_of(struct scene *scene, uint32_t id, unsigned key,
                                            const char *qos_class)
{
    struct oneib_network *network = add_network(scene, id, key);
    snprintf(network->qos_class, sizeof network->qos_class, "%s", qos_class);
    return network;
}

/* What the ledger is to have for a network with a key; -1: it stays as it is. */
static int wanted(const struct scene *scene, uint32_t network_id)
{
    for (size_t i = 0; i < scene->desired.sl_request_count; i++)
        if (scene->desired.sl_requests[i].network_id == network_id)
            return scene->desired.sl_requests[i].sl;
    return -1;
}

/* With its new key; -1: it gets none. */
static int with_key(const struct scene *scene, uint32_t network_id)
{
    for (size_t i = 0; i < scene->desired.request_count; i++)
        if (scene->desired.requests[i].network_id == network_id)
            return scene->desired.requests[i].sl;
    return -1;
}

static int shown(const struct scene *scene, uint32_t network_id)
{
    for (size_t i = 0; i < scene->desired.sl_copy_count; i++)
        if (scene->desired.sl_copies[i].network_id == network_id)
            return scene->desired.sl_copies[i].sl;
    return -1;
}

static void set_level(struct scene *scene, uint32_t network_id, uint8_t sl)
{
    assert_int_equal(oneib_ledger_set_sl(&scene->ledger, network_id, sl, &scene->err), 0);
}

static void without_classes_nothing_is_asked_for_and_nothing_rendered(void **state)
{
    struct scene *scene = *state;
    add_network_of(scene, 5, 0x101, "gold")->shown_sl = 9;
    add_network_of(scene, 6, 0, "nonsense")->uid = 7;
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    compute(scene);
    assert_int_equal(scene->desired.sl_request_count, 0);
    assert_int_equal(scene->desired.sl_copy_count, 0);
    assert_int_equal(with_key(scene, 6), 0);
    assert_false(partition_of(&scene->desired.table, 0x101)->has_sl);
    assert_int_equal(scene->desired.findings.count, 0);
}

static void whoever_gets_a_key_gets_the_level_of_the_class_with_it(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    add_network_of(scene, 5, 0, "gold");
    add_network_of(scene, 6, 0, "gold");
    add_network_of(scene, 7, 0, "gold");
    add_network_of(scene, 8, 0, "silver");
    add_network(scene, 9, 0);
    compute(scene);
    assert_int_equal(with_key(scene, 5), 1);
    assert_int_equal(with_key(scene, 6), 2);
    assert_int_equal(with_key(scene, 7), 1);
    assert_int_equal(with_key(scene, 8), 3);
    assert_int_equal(with_key(scene, 9), 0);
    assert_no_finding(scene, "class-unknown");
}

static void networks_share_the_levels_of_a_class_with_those_that_have_one_already(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    add_network_of(scene, 4, 0x101, "gold");
    give_key(scene, 4, 0x101);
    set_level(scene, 4, 1);
    add_network_of(scene, 5, 0, "gold");
    compute(scene);
    assert_int_equal(with_key(scene, 5), 2);
}

static void whoever_is_of_no_class_or_has_no_key_gets_no_level(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    add_network(scene, 5, 0x101);
    add_network_of(scene, 6, 0, "gold")->key_state = ONEIB_KEY_INVALID;
    compute(scene);
    assert_int_equal(scene->desired.sl_request_count, 0);
    assert_int_equal(scene->desired.request_count, 0);
}

static void a_network_that_says_none_has_the_default_class(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    scene->policy.default_class = "silver";
    add_network(scene, 5, 0);
    compute(scene);
    assert_int_equal(with_key(scene, 5), 3);
}

static void the_level_of_the_ledger_is_rendered(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    add_network_of(scene, 5, 0x101, "gold");
    give_key(scene, 5, 0x101);
    set_level(scene, 5, 2);
    add_host(scene, 1);
    add_nic(scene, 10, 0, 5, 1);
    compute(scene);
    assert_true(partition_of(&scene->desired.table, 0x101)->has_sl);
    assert_int_equal(partition_of(&scene->desired.table, 0x101)->sl, 2);
    assert_int_equal(wanted(scene, 5), -1);
    assert_int_equal(shown(scene, 5), 2);
    assert_no_finding(scene, "class-waits");
}

static void whoever_gets_another_key_keeps_the_level(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    add_network_of(scene, 5, 0x102, "gold"); /* an operator's wish */
    give_key(scene, 5, 0x101);
    set_level(scene, 5, 2);
    compute(scene);
    assert_int_equal(requested(scene, 5), 0x102);
    assert_int_equal(with_key(scene, 5), 2);
}

static void a_partition_in_force_keeps_the_level_that_it_has(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    add_network_of(scene, 5, 0x101, "gold");
    add_network_of(scene, 6, 0x102, "silver");
    give_key(scene, 6, 0x102);
    set_level(scene, 6, 1);
    add_partition(scene, &scene->in_force, "one5", 0x101);
    compute(scene);
    assert_int_equal(wanted(scene, 5), -1);
    assert_int_equal(wanted(scene, 6), -1);
    assert_int_equal(findings_of(scene, "class-waits"), 2);
}

static void one_without_a_level_gets_it_when_nobody_is_in_it(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    add_network_of(scene, 5, 0x101, "gold");
    compute(scene);
    assert_int_equal(wanted(scene, 5), 1);
    /* Where the file is not known nobody knows. */
    scene->has_in_force = false;
    compute(scene);
    assert_int_equal(wanted(scene, 5), -1);
}

static void a_class_that_nobody_defined_is_named_and_gives_no_level(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    scene->policy.default_class = "silver";
    add_network_of(scene, 5, 0, "platinum");
    add_network(scene, 6, 0)->class_invalid = true;
    compute(scene);
    assert_int_equal(with_key(scene, 5), 0);
    assert_int_equal(with_key(scene, 6), 0);
    assert_finding(scene, "class-unknown", ONEIB_WARNING, "\"platinum\"");
    assert_int_equal(findings_of(scene, "class-unknown"), 2);
}

static void a_tenant_chooses_no_class(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    struct oneib_network *network = add_network_of(scene, 5, 0, "gold");
    network->uid = network->gid = 12;
    compute(scene);
    assert_int_equal(with_key(scene, 5), 0);
    assert_finding(scene, "attribute-ignored", ONEIB_NOTICE, "IB_CLASS");
}

static void a_reservation_has_its_pools_class_whatever_it_says(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    add_network_of(scene, 5, 0x101, "silver");
    struct oneib_network *reservation = add_reservation(scene, 6, 5, 0);
    reservation->uid = reservation->gid = 12;
    snprintf(reservation->qos_class, sizeof reservation->qos_class, "gold");
    compute(scene);
    assert_int_equal(with_key(scene, 6), 3);
    assert_finding(scene, "attribute-ignored", ONEIB_NOTICE,
                   "network 6 says IB_CLASS, which does not count: a reservation has what");
    for (unsigned says_the_same = 0; says_the_same < 2; says_the_same++) {
        snprintf(scene->cloud.networks[1].qos_class, sizeof scene->cloud.networks[1].qos_class,
                 "%s", says_the_same ? "silver" : "");
        compute(scene);
        assert_no_finding(scene, "attribute-ignored");
    }
}

static void a_reservation_that_shares_shows_its_parents_level(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    add_network_of(scene, 5, 0x101, "silver")->reservations_share = true;
    add_reservation(scene, 6, 5, 0x101);
    give_key(scene, 5, 0x101);
    set_level(scene, 5, 3);
    compute(scene);
    assert_int_equal(shown(scene, 6), 3);
    assert_int_equal(wanted(scene, 6), -1);
}

static void a_copy_that_was_edited_is_put_right_and_counts_for_nothing(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    add_network_of(scene, 5, 0x101, "gold")->shown_sl = 3;
    add_network_of(scene, 6, 0x102, "gold")->shown_sl = ONEIB_SL_INVALID;
    add_network_of(scene, 7, 0x103, "gold")->shown_sl = 1;
    for (unsigned id = 5; id <= 7; id++) {
        give_key(scene, id, 0x0fc + id);
        set_level(scene, id, 1);
    }
    compute(scene);
    assert_int_equal(shown(scene, 5), 1);
    assert_int_equal(shown(scene, 6), 1);
    assert_int_equal(shown(scene, 7), -1);
    assert_int_equal(wanted(scene, 5), -1);
}

/* What it shows is not known, or its creation shows it. */
static void a_network_that_cannot_be_read_or_is_being_created_is_shown_nothing(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    for (unsigned id = 5; id <= 7; id++) {
        add_network_of(scene, id, 0x0fc + id, "gold");
        give_key(scene, id, 0x0fc + id);
        set_level(scene, id, 1);
    }
    scene->cloud.networks[0].unreadable = true;
    scene->cloud.networks[1].being_created = true;
    compute(scene);
    assert_int_equal(shown(scene, 5), -1);
    assert_int_equal(shown(scene, 6), -1);
    assert_int_equal(shown(scene, 7), 1);
}

/* One that is created gets it with its key, and one that shares has its parent's. */
static void who_is_no_cluster_of_its_own_for_now_is_given_none(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    for (unsigned id = 5; id <= 9; id++) {
        add_network_of(scene, id, 0x0fc + id, "gold");
        give_key(scene, id, 0x0fc + id);
    }
    struct oneib_network *networks = scene->cloud.networks;
    networks[0].unreadable = true;
    networks[1].being_created = true;
    networks[2].other_driver = strdup("bridge");
    networks[3].reservations_share = true;
    networks[4].parent_id = 8;
    set_level(scene, 8, 1);
    compute(scene);
    assert_int_equal(scene->desired.sl_request_count, 0);
    assert_int_equal(shown(scene, 8), 1);
    assert_int_equal(shown(scene, 9), 1);

    set_level(scene, 7, 2); /* of what another driver serves nothing is shown either */
    compute(scene);
    assert_int_equal(shown(scene, 7), -1);
}

static void a_ledger_that_is_lost_gives_no_level(void **state)
{
    struct scene *scene = *state;
    define_classes(scene);
    scene->keys_stay = true;
    add_network_of(scene, 5, 0x101, "gold");
    compute(scene);
    assert_int_equal(scene->desired.sl_request_count, 0);
    assert_int_equal(scene->desired.sl_copy_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(without_classes_nothing_is_asked_for_and_nothing_rendered),
        SCENE_TEST(whoever_gets_a_key_gets_the_level_of_the_class_with_it),
        SCENE_TEST(networks_share_the_levels_of_a_class_with_those_that_have_one_already),
        SCENE_TEST(whoever_is_of_no_class_or_has_no_key_gets_no_level),
        SCENE_TEST(a_network_that_says_none_has_the_default_class),
        SCENE_TEST(the_level_of_the_ledger_is_rendered),
        SCENE_TEST(whoever_gets_another_key_keeps_the_level),
        SCENE_TEST(a_partition_in_force_keeps_the_level_that_it_has),
        SCENE_TEST(one_without_a_level_gets_it_when_nobody_is_in_it),
        SCENE_TEST(a_class_that_nobody_defined_is_named_and_gives_no_level),
        SCENE_TEST(a_tenant_chooses_no_class),
        SCENE_TEST(a_reservation_has_its_pools_class_whatever_it_says),
        SCENE_TEST(a_reservation_that_shares_shows_its_parents_level),
        SCENE_TEST(a_copy_that_was_edited_is_put_right_and_counts_for_nothing),
        SCENE_TEST(a_network_that_cannot_be_read_or_is_being_created_is_shown_nothing),
        SCENE_TEST(who_is_no_cluster_of_its_own_for_now_is_given_none),
        SCENE_TEST(a_ledger_that_is_lost_gives_no_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
