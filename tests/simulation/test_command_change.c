// SPDX-License-Identifier: Apache-2.0
/*
 * What an operator sees of `oneib sync` and `oneib verify`, end to end: after each change in
 * OpenNebula the ports themselves are asked which keys they hold.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "command_scene.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_RED 257
#define KEY_BLUE 258
#define LCM_MIGRATE 4
#define LCM_OF_THE_FUTURE 99

static void every_network_and_every_reservation_is_given_a_key_of_its_own(void **state)
{
    (void)state;
    const uint32_t parent = scene_network("parent", "300", NULL);
    const uint32_t keyless = scene_network("keyless", "", NULL);
    const uint32_t reservation = scene_reservation(parent);
    /* oned copies the parent's key: without one of its own the tenant would be in the parent's. */
    assert_int_equal(scene_key_of(reservation), 300);
    scene_vm(parent, 0);
    scene_vm(keyless, 1);
    scene_vm(reservation, 2);

    ONEIB(0, "sync");
    const unsigned key = scene_key_of(keyless), reserved = scene_key_of(reservation);
    assert_int_equal(key, 256); /* the first of the ring */
    assert_int_equal(reserved, 257);
    assert_true(port_holds(0, FULL(300)));
    assert_true(port_holds(1, FULL(key)));
    assert_true(port_holds(2, FULL(reserved)));
    assert_false(port_holds(2, FULL(300)));
    assert_false(scene_reach((struct scene_vf){0, 300}, (struct scene_vf){2, reserved}));

    must_say(ONEIB(0, "sync")->out, "nothing to do");
}

static void a_reservation_from_a_sharing_network_joins_its_cluster(void **state)
{
    (void)state;
    const uint32_t parent = scene_network("parent", "300", "IB_RESERVATION=shared\n");
    const uint32_t reservation = scene_reservation(parent);
    scene_vm(parent, 0);
    scene_vm(reservation, 1);

    assert_int_equal(json_number(ONEIB_JSON(0, "sync"), "keys_given"), 0);
    assert_true(scene_reach((struct scene_vf){0, 300}, (struct scene_vf){1, 300}));
    assert_int_equal(json_array_size(json_field(ONEIB_JSON(0, "list"), "clusters")), 1);
}

static void a_sharing_reservation_shows_its_parents_key(void **state)
{
    (void)state;
    const uint32_t parent = scene_network("parent", "", "IB_RESERVATION=shared\n");
    const uint32_t reservation = scene_reservation(parent);
    scene_vm(reservation, 1);

    ONEIB(0, "sync");
    assert_int_equal(scene_key_of(parent), 256);
    assert_int_equal(scene_key_of(reservation), 256);
    assert_true(port_holds(1, FULL(256)));
}

static void where_another_instance_gives_keys_this_one_gives_none(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const struct lab_config config = {.one = "writer = false;"};
    MUST(lab_config_write(lab, &config, &err));
    const uint32_t keyless = scene_network("keyless", "", NULL);

    must_say(ONEIB(0, "plan", "--exit-code")->out, "waits for a P_Key");
    assert_int_equal(json_number(ONEIB_JSON(0, "sync"), "keys_given"), 0);
    assert_int_equal(scene_key_of(keyless), 0);
}

static void a_range_that_is_used_up_is_said_and_who_comes_first_has_a_key(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const struct lab_config config = {.other = "pkeys: { first = 256; last = 257; };"};
    MUST(lab_config_write(lab, &config, &err));
    uint32_t networks[3];
    for (size_t i = 0; i < 3; i++) {
        networks[i] = scene_network("keyless", "", NULL);
        scene_vm(networks[i], 0);
    }

    json_t *synced = ONEIB_JSON(0, "sync");
    must_say(json_finding(synced, "pkeys-exhausted"), "256-257");
    assert_true(port_holds(0, FULL(256)));
    assert_true(port_holds(0, FULL(257)));
    assert_int_equal(scene_key_of(networks[2]), 0);
}

static void limited_members_reach_the_static_full_member_and_not_each_other(void **state)
{
    (void)state;
    struct lab *lab = scene();
    char extra[96];
    snprintf(extra, sizeof extra, "IB_MEMBERSHIP=limited\nIB_STATIC_GUIDS=0x%016" PRIx64 "=full\n",
             lab_host_port_guid(lab, SCENE_EXTRA));
    const uint32_t service = scene_network("service", "300", extra);
    scene_vm(service, 0);
    scene_vm(service, 1);
    ONEIB(0, "sync");

    assert_true(port_holds(SCENE_EXTRA, FULL(300)));
    assert_true(port_holds(0, LIMITED(300)));
    assert_false(port_holds(0, FULL(300)));
    const struct scene_vf storage = {SCENE_EXTRA, 300}, a = {0, 300}, b = {1, 300};
    assert_true(scene_reach(a, storage));
    assert_true(scene_reach(storage, b));
    assert_false(scene_reach(a, b));
}

static void a_nic_narrows_its_membership_and_never_widens_it(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t open = scene_network("open", "300", NULL);
    const uint32_t service = scene_network("service", "301", "IB_MEMBERSHIP=limited\n");
    const uint32_t narrow = scene_vm(open, 0), wide = scene_vm(service, 0);
    scene_vm(open, 1);
    MUST(lab_vm_set_nic(lab, narrow, 1, "IB_MEMBERSHIP=limited", &err));
    MUST(lab_vm_set_nic(lab, wide, 1, "IB_MEMBERSHIP=full", &err));
    ONEIB(0, "sync");

    assert_true(port_holds(0, LIMITED(300)));
    assert_true(port_holds(1, FULL(300)));
    assert_true(port_holds(0, LIMITED(301)));
}

static void a_static_partition_is_on_the_fabric_until_it_is_gone(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    char static_partitions[128];
    snprintf(static_partitions, sizeof static_partitions,
             "storage=0x0010 : 0x%016" PRIx64 "=full, 0x%016" PRIx64 "=limited;\n",
             lab_host_port_guid(lab, SCENE_EXTRA), lab_host_port_guid(lab, 0));
    scene_vm(scene_network("red", "257", NULL), 0);
    MUST(lab_write(lab, "static-partitions.conf", 0644, static_partitions, &err));
    ONEIB(0, "sync");
    assert_true(port_holds(SCENE_EXTRA, FULL(0x10)));
    assert_true(port_holds(0, LIMITED(0x10)));
    assert_true(port_holds(0, FULL(KEY_RED)));

    MUST(lab_write(lab, "static-partitions.conf", 0644, "", &err));
    ONEIB(0, "sync");
    assert_false(port_holds(SCENE_EXTRA, FULL(0x10)));
    assert_false(port_holds(0, LIMITED(0x10)));
    assert_true(port_holds(0, FULL(KEY_RED)));
}

/* Three clusters with a VM each on every host: 12 members. */
static void fill_hosts(uint32_t *vms)
{
    for (size_t n = 0; n < 3; n++) {
        const uint32_t network = scene_network("net", (const char *[]){"257", "258", "259"}[n], "");
        for (uint32_t host = 0; host < SCENE_HOSTS; host++)
            *vms++ = scene_vm(network, host);
    }
}

static void hold_from_four_removals_on(struct lab *lab)
{
    struct oneib_error err = {0};
    const struct lab_config config = {.other = "removal_hold: { share = 0.5; minimum = 4; };"};
    MUST(lab_config_write(lab, &config, &err));
}

static void an_oned_that_suddenly_has_nothing_isolates_nobody(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    uint32_t vms[3 * SCENE_HOSTS];
    hold_from_four_removals_on(lab);
    fill_hosts(vms);
    ONEIB(0, "sync");
    oneib_autofree char *tables = scene_tables();

    MUST(lab_fault(lab, "empty-pools", 1000, 0, &err));
    assert_int_equal(json_number(ONEIB_JSON(1, "plan", "--exit-code"), "held"), 12);
    const struct lab_output *plan = ONEIB(1, "plan", "--exit-code");
    must_say(plan->out, "12 removals held");
    must_not_say(plan->out, "end of virtual cluster");
    must_say(ONEIB(1, "sync")->out, "12 removals held");
    oneib_autofree char *tables_held = scene_tables();
    assert_string_equal(tables_held, tables);
    must_say(ONEIB(1, "verify")->out, "12 removals held");

    must_say(ONEIB(1, "plan", "--exit-code", "--force")->out, "- one1  0x0101  end of");
    ONEIB(0, "sync", "--force");
    assert_false(port_holds(0, FULL(257)));

    MUST(lab_fault(lab, "empty-pools", 0, 0, &err));
    ONEIB(0, "sync");
    oneib_autofree char *tables_after = scene_tables();
    assert_string_equal(tables_after, tables);
}

/* However many they are: oned says of each of them that it has ended. */
static void many_vms_that_end_at_once_are_removed_at_once(void **state)
{
    (void)state;
    uint32_t vms[3 * SCENE_HOSTS];
    hold_from_four_removals_on(scene());
    fill_hosts(vms);
    ONEIB(0, "sync");
    for (size_t i = 0; i < 2 * SCENE_HOSTS; i++)
        scene_end_vm(vms[i]);
    ONEIB(0, "sync");
    for (size_t host = 0; host < SCENE_HOSTS; host++) {
        assert_false(port_holds(host, FULL(257)));
        assert_false(port_holds(host, FULL(258)));
        assert_true(port_holds(host, FULL(259)));
    }
    ONEIB(0, "plan", "--exit-code");
}

static void a_nic_with_another_networks_key_costs_that_network_nothing(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t red = scene_network("red", "257", NULL);
    const uint32_t vm = scene_vm(red, 0);
    ONEIB(0, "sync");
    const uint32_t blue = scene_network("blue", "258", NULL);
    scene_vm(blue, 0);
    scene_vm(blue, 1);
    MUST(lab_vm_set_nic(lab, vm, 1, "VLAN_ID=258", &err));

    must_say(ONEIB(0, "sync")->error, "nic-key-shown");
    assert_true(port_holds(0, FULL(257)));
    assert_true(port_holds(0, FULL(258)));
    assert_true(port_holds(1, FULL(258)));
    assert_true(scene_reach((struct scene_vf){0, 258}, (struct scene_vf){1, 258}));
    assert_false(scene_reach((struct scene_vf){0, 257}, (struct scene_vf){1, 258}));
}

static void a_hot_plugged_nic_has_its_key_from_attach_until_it_is_detached(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t red = scene_network("red", "257", NULL);
    const uint32_t blue = scene_network("blue", "258", NULL);
    const uint32_t vm = scene_vm(red, 0);
    ONEIB(0, "sync");

    uint32_t nic;
    MUST(lab_vm_attach(lab, vm, blue, &nic, &err));
    ONEIB(0, "sync");
    assert_true(port_holds(0, FULL(KEY_BLUE)));
    MUST(lab_vm_running(lab, vm, &err));
    must_say(ONEIB(0, "sync")->out, "nothing to do");

    MUST(lab_vm_detach(lab, vm, nic, &err));
    must_say(ONEIB(0, "sync")->out, "nothing to do"); /* its VF is not gone yet */
    assert_true(port_holds(0, FULL(KEY_BLUE)));
    MUST(lab_vm_running(lab, vm, &err));
    ONEIB(0, "sync");
    assert_false(port_holds(0, FULL(KEY_BLUE)));
    assert_true(port_holds(0, FULL(KEY_RED)));
}

static void both_hosts_of_a_migration_are_members_though_pools_name_one(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t red = scene_network("red", "257", NULL);
    const uint32_t vm = scene_vm(red, 0);
    ONEIB(0, "sync");

    unsigned before, after;
    MUST(lab_vm_migrate(lab, vm, 1, LCM_MIGRATE, &err));
    MUST(lab_calls(lab, "one.vm.info", &before, &err));
    ONEIB(0, "sync");
    MUST(lab_calls(lab, "one.vm.info", &after, &err));
    assert_int_equal(after, before + 1); /* the pool has the last history record only */
    assert_true(port_holds(0, FULL(KEY_RED)));
    assert_true(port_holds(1, FULL(KEY_RED)));

    MUST(lab_vm_running(lab, vm, &err));
    ONEIB(0, "sync");
    assert_false(port_holds(0, FULL(KEY_RED)));
    assert_true(port_holds(1, FULL(KEY_RED)));
}

static void in_an_unknown_state_a_vm_keeps_what_it_has_and_gets_nothing_new(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t red = scene_network("red", "257", NULL);
    const uint32_t old = scene_vm(red, 0);
    ONEIB(0, "sync");
    const uint32_t new = scene_vm(red, 1);
    MUST(lab_vm_state(lab, old, 3, LCM_OF_THE_FUTURE, &err));
    MUST(lab_vm_state(lab, new, 3, LCM_OF_THE_FUTURE, &err));

    must_say(json_finding(ONEIB_JSON(0, "sync"), "state-unknown"), "3/99");
    assert_true(port_holds(0, FULL(KEY_RED)));
    assert_false(port_holds(1, FULL(KEY_RED)));
    char id[16];
    snprintf(id, sizeof id, "%" PRIu32, red);
    const char *shown = ONEIB(0, "show", id)->out;
    must_say(shown, "UNKNOWN-3/99");
    must_say(shown, "unknown-state: ");
}

static void what_does_not_fit_into_a_port_is_named_and_nobody_else_suffers(void **state)
{
    (void)state;
    scene();
    enum { NETWORKS = 65, FIT = 62 }; /* 63 entries of the adapter, less the default partition */
    uint32_t networks[NETWORKS];
    for (size_t i = 0; i < NETWORKS; i++) {
        networks[i] = scene_network("net", "", NULL);
        scene_vm(networks[i], 0);
    }
    scene_vm(networks[NETWORKS - 1], 1);

    const char *text = json_finding(ONEIB_JSON(0, "sync"), "port-full");
    must_say(text, "holds 63 P_Keys");
    must_say(text, "no room for 0x013e (network 63 \"net\"), 0x013f (network 64 \"net\"), "
                   "0x0140 (network 65 \"net\")");
    for (size_t i = 0; i < NETWORKS; i++)
        assert_int_equal(port_holds(0, FULL(256 + i)), i < FIT);
    assert_true(port_holds(1, FULL(256 + NETWORKS - 1)));

    json_t *cluster = ONEIB_JSON(0, "show", "65");
    json_t *attachments = json_field(cluster, "attachments");
    assert_non_null(json_find(attachments, "member_status", "port-full"));
    assert_non_null(json_find(attachments, "member_status", "member"));
    assert_string_equal(json_text(cluster, "state"), "part refused");
    assert_false(json_yes(json_find(attachments, "member_status", "port-full"), "in_force"));
    assert_true(json_yes(json_find(attachments, "member_status", "member"), "in_force"));

    cluster = json_array_get(json_field(ONEIB_JSON(0, "list"), "clusters"), 62);
    assert_string_equal(json_text(cluster, "state"), "refused");
    assert_int_equal(json_number(cluster, "refused_vms"), 1);
    assert_int_equal(json_number(cluster, "vms"), 0);
    const struct lab_output *shown = ONEIB(0, "show", "63");
    must_say(shown->out, "state       refused");
    must_say(shown->out, "0 VMs on 0 hosts; 1 VM refused");
    must_say(shown->out, "no: port-full");
    must_say(shown->error, "[port-full]");
    must_not_say(ONEIB(0, "show", "1")->error, "[port-full]");
}

/* A network that the user has reserved. */
static uint32_t reserve_as(struct lab *lab, uint32_t uid, uint32_t pool)
{
    struct oneib_error err = {0};
    uint32_t id;
    MUST(lab_network_reserve(lab, pool, "mine", &id, &err));
    MUST(lab_network_give(lab, id, uid, &err));
    return id;
}

static void one_users_reservations_do_not_fill_a_port_or_a_storage_server(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    enum { RESERVATIONS = 70, LIMIT = 16, MALLORY = 5, ALICE = 6 };
    char statics[64];
    snprintf(statics, sizeof statics, "IB_STATIC_GUIDS=0x%016" PRIx64 "=full",
             lab_host_port_guid(lab, SCENE_EXTRA));
    const uint32_t pool = scene_network("pool", "", statics);
    uint32_t theirs[RESERVATIONS], first_vm = 0;
    for (size_t i = 0; i < RESERVATIONS; i++) {
        theirs[i] = reserve_as(lab, MALLORY, pool);
        const uint32_t vm = scene_vm(theirs[i], 0);
        first_vm = i == 0 ? vm : first_vm;
        if (i >= 20)
            MUST(lab_vm_state(lab, vm, 3, 2, &err)); /* BOOT */
    }
    const uint32_t hers = reserve_as(lab, ALICE, pool), vm = scene_vm(hers, 0);
    MUST(lab_vm_state(lab, vm, 3, 2, &err));

    const char *text = json_finding(ONEIB_JSON(0, "sync"), "owner-limit");
    must_say(text, "of networks of user 5 as it may (pkeys.per_owner, 16)");
    must_say(text, "other ports like this: 1");
    for (size_t i = 0; i < RESERVATIONS; i++) {
        const unsigned key = scene_key_of(theirs[i]);
        assert_int_equal(port_holds(0, FULL(key)), i < 20); /* more than 16, as they run there */
        assert_int_equal(port_holds(SCENE_EXTRA, FULL(key)), i < LIMIT);
    }
    assert_true(port_holds(0, FULL(scene_key_of(hers))));
    assert_true(port_holds(SCENE_EXTRA, FULL(scene_key_of(hers))));
    must_not_say(ONEIB(0, "sync")->error, "[port-full]");

    char id[16];
    snprintf(id, sizeof id, "%" PRIu32, theirs[RESERVATIONS - 1]);
    const char *shown = ONEIB(0, "show", id)->out;
    must_say(shown, "no: owner-limit");
    must_say(shown, "raise pkeys.per_owner");

    scene_end_vm(first_vm); /* 19 run there, still more than a newcomer could join */
    ONEIB(0, "sync");
    assert_false(port_holds(0, FULL(scene_key_of(theirs[20]))));
}

/* X1 becomes a host of OpenNebula, id 4. */
static uint32_t add_extra_host_with(struct lab *lab, const char *driver, unsigned vfs)
{
    struct oneib_error err = {0};
    char guid[32];
    uint32_t id;
    snprintf(guid, sizeof guid, "0x%016" PRIx64, lab_host_port_guid(lab, SCENE_EXTRA));
    MUST(lab_host_create(lab, "X1", "ib0", driver, guid, 63, vfs, &id, &err));
    return id;
}

static uint32_t add_extra_host(struct lab *lab, const char *driver)
{
    return add_extra_host_with(lab, driver, 0);
}

/* A VF of the host may be mapped to the place that the key would take, and no oneibd runs that could
 * hear of it. */
static void what_waits_for_a_node_is_left_to_oneibd_and_no_verb_advises_sync(void **state)
{
    (void)state;
    const uint32_t host = add_extra_host_with(scene(), "mlx4", 7);
    const uint32_t red = scene_network("red", "257", NULL);
    scene_vm(red, host);
    ONEIB(0, "plan", "--exit-code");
    const char *plan = ONEIB(0, "plan")->out;
    must_say(plan, "plan: nothing to do\n1 member left to oneibd");
    must_say(plan, "no oneibd keeps these partitions: start it");
    must_not_say(plan, "+ ");
    const char *verify = ONEIB(1, "verify")->out;
    must_say(verify, "key-absent: oneibd adds the key when the host's oneib-node has reported");
    must_not_say(verify, "'oneib sync'");
    const char *show = ONEIB(0, "show", "red")->out;
    must_say(show, "key-lacking: oneibd adds the key when the host's oneib-node has reported");
    must_not_say(show, "'oneib sync'");
    must_say(ONEIB(0, "sync")->out, "1 member left to oneibd");
    assert_false(port_holds(SCENE_EXTRA, FULL(KEY_RED)));

    scene_vm(red, 0); /* a host without VFs: that is for sync to do */
    must_say(ONEIB(1, "plan", "--exit-code")->out, "1 member left to oneibd");
    must_say(ONEIB(1, "verify")->out, "key-absent: run 'oneib sync'");
    ONEIB(0, "sync");
    assert_true(port_holds(0, FULL(KEY_RED)));
    assert_false(port_holds(SCENE_EXTRA, FULL(KEY_RED)));
}

static void on_mlx5_the_vf_itself_is_the_member_and_the_rest_of_the_fabric_stays_right(void **state)
{
    (void)state;
    const uint32_t host = add_extra_host(scene(), "mlx5");
    const uint32_t vm = scene_vm(scene_network("virtual", "300", NULL), host);
    scene_vm(scene_network("red", "257", NULL), 0);

    char guid[32];
    snprintf(guid, sizeof guid, "0x02000000000%03x01", vm);
    json_t *plan = ONEIB_JSON(0, "plan");
    json_t *member = json_find(json_field(plan, "changes"), "member", guid);
    assert_non_null(member);
    assert_string_equal(json_text(member, "partition"), "one1");

    json_t *synced = ONEIB_JSON(0, "sync");
    assert_int_equal(json_array_size(json_field(synced, "findings")), 0);
    json_t *verification = json_field(synced, "verification");
    assert_int_equal(json_number(verification, "members_off_fabric"), 0);
    assert_int_equal(json_number(verification, "members_unverified"), 1);
    assert_true(port_holds(0, FULL(KEY_RED)));
    assert_false(port_holds(SCENE_EXTRA, FULL(300)));
    must_say(ONEIB(0, "list")->out, "not verified");
    /* The subnet manager is none for them: verify says so, and no other command. */
    assert_null(strstr(ONEIB(0, "list")->error, "virtual-ports"));
    const struct lab_output *verified = ONEIB(0, "verify");
    must_say(verified->out, "(1 of the members virtual ports, not verified)");
    must_say(verified->error, "VFs of mlx5 adapters: 1; opensm without");
    oneib_autofree char *file = scene_file();
    must_say(file, "indx0");
    ONEIB(0, "verify");
}

/* ... and with an SM that has virtual ports nothing is noticed, and nothing claimed either. */
static void with_nvidias_opensm_virtual_ports_are_no_notice_and_not_verified(void **state)
{
    (void)state;
    struct oneib_error err = {0};
    const struct lab_config nvidias = {.other = "sm = { kind = \"nvidia-opensm\"; };"};
    MUST(lab_config_write(scene(), &nvidias, &err));
    const uint32_t host = add_extra_host(scene(), "mlx5");
    scene_vm(scene_network("virtual", "300", NULL), host);
    json_t *synced = ONEIB_JSON(0, "sync");
    assert_int_equal(json_array_size(json_field(synced, "findings")), 0);
    assert_int_equal(json_number(json_field(synced, "verification"), "members_unverified"), 1);
    const char *list = ONEIB(0, "list")->out;
    must_say(list, "not verified");
    assert_null(strstr(list, "in force"));
    /* Asked about on the fabric, they are not verified either: nothing shows that what would come
     * back is an answer to that. */
    const struct lab_config asking = {.other = "sm = { kind = \"nvidia-opensm\"; };"
                                               "fabric = { virtual_ports = \"try\"; };"};
    MUST(lab_config_write(scene(), &asking, &err));
    must_say(ONEIB(0, "verify")->out, "virtual ports: not verified: no host has reported");
    json_t *verified = ONEIB_JSON(0, "verify");
    json_finding(verified, "virtual-ports-unproven");
    assert_true(json_is_false(json_field(json_field(verified, "virtual_ports"), "proven")));
    assert_int_equal(json_number(json_field(verified, "verification"), "members_unverified"), 1);
    MUST(lab_config_write(scene(), NULL, &err));
}

static void verify_names_what_somebody_else_gave_a_port_and_sync_takes_it_back(void **state)
{
    (void)state;
    struct lab *lab = scene();
    scene_vm(scene_network("red", "257", NULL), 0);
    ONEIB(0, "sync");
    oneib_autofree char *right = scene_file();
    oneib_autotext struct oneib_text edited = {0};
    oneib_text_printf(&edited, "%sguests=0x0333 : 0x%016" PRIx64 "=full;\n", right,
                      lab_host_port_guid(lab, 3));
    scene_foreign_reload(edited.data, 3, FULL(0x333));

    char guid[32];
    snprintf(guid, sizeof guid, "0x%016" PRIx64, lab_host_port_guid(lab, 3));
    const struct lab_output *verified = ONEIB(1, "verify");
    must_say(verified->out, "key-excess");
    must_say(verified->out, guid);
    must_say(verified->out, "0x0333 full");
    must_not_say(verified->out, "0x8333");
    must_say(ONEIB(1, "plan", "--exit-code")->out, "- guests  0x0333");

    ONEIB(0, "sync");
    assert_false(port_holds(3, FULL(0x333)));
    assert_true(port_holds(0, FULL(KEY_RED)));
    oneib_autofree char *file = scene_file();
    assert_string_equal(file, right);
    ONEIB(0, "verify");
}

/* opensm writes a switch port's table as far as the host's own is used, and never empties what is
 * beyond (seen with 3.3.23). */
static void verify_names_the_removed_keys_that_a_switch_port_keeps(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    oneib_autofree char *right = scene_file();
    oneib_autotext struct oneib_text many = {0};
    oneib_text_append(&many, right);
    for (unsigned key = 0x301; key <= 0x328; key++) /* 40, and the default partition */
        oneib_text_printf(&many, "other%x=0x%04x : 0x%016" PRIx64 "=full;\n", key, key,
                          lab_host_port_guid(lab, 3));
    scene_foreign_reload(many.data, 3, FULL(0x328));
    must_not_say(ONEIB(1, "verify")->error, "switch-key-stale");
    ONEIB(0, "sync");
    assert_false(port_holds(3, FULL(0x328)));

    const struct lab_output *verified = ONEIB(0, "verify");
    must_say(verified->error, "warning: H4 mlx4_0/1 (0x0000000000100009): port 5 of switch \"L1\"");
    must_say(verified->error, "still has 9 P_Keys");
    must_say(verified->error, ": 0x0320 full, ");
    must_say(verified->error, ", 0x0328 full [switch-key-stale]");
    must_not_say(verified->error, "0x031f");

    MUST(lab_opensm_stop(lab, LAB_SM.name, true, &err));
    MUST(lab_opensm_start(lab, &LAB_SM, &err));
    json_finding(ONEIB_JSON(0, "verify"), "switch-key-stale");
}

/* A static partition for each key but for one of them; sync ends with the status. */
static void sync_static_keys(int status, unsigned first, unsigned end, unsigned without)
{
    struct oneib_error err = {0};
    oneib_autotext struct oneib_text file = {0};
    for (unsigned key = first; key < end; key++)
        if (key != without)
            oneib_text_printf(&file, "s%x=0x%04x : 0x%016" PRIx64 "=full;\n", key, key,
                              lab_host_port_guid(scene(), 3));
    MUST(lab_write(scene(), "static-partitions.conf", 0644, file.data, &err));
    ONEIB(status, "sync");
}

/* The port's table has 64 slots. opensm gives a new key the slot behind the last that it ever gave
 * there, and a key that comes back the one that it had (3.3.23). */
static void a_key_leaves_the_last_slot_by_what_verify_advises(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const unsigned first = 0x101, last = first + 62; /* it gets the last slot */
    sync_static_keys(0, first, last, 0);
    sync_static_keys(1, first, last + 1, first);
    const char *verified = ONEIB(1, "verify")->out;
    must_say(verified, "0x013f full");
    must_say(verified, "key-last-slot: move the VMs of the network with that P_Key off this host");
    must_say(verified, "(a static partition: take the port out of it)");

    sync_static_keys(0, first, last, first);
    ONEIB(0, "verify");
    sync_static_keys(0, first, last, 0); /* another key: a free slot */
    ONEIB(0, "verify");
    sync_static_keys(1, first, last + 1, first);
    must_say(ONEIB(1, "verify")->out, "key-last-slot"); /* the same key: the last slot again */

    sync_static_keys(0, first, last, first);
    MUST(lab_opensm_stop(lab, LAB_SM.name, true, &err));
    MUST(lab_opensm_start(lab, &LAB_SM, &err));
    sync_static_keys(1, first, last, 0); /* behind the highest in use */
    must_say(ONEIB(1, "verify")->out, "key-last-slot");
}

static void a_file_put_back_without_a_reload_is_noticed_on_the_fabric(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    scene_vm(scene_network("red", "257", NULL), 0);
    ONEIB(0, "sync");
    oneib_autofree char *right = scene_file();
    scene_foreign_reload("Default=0x7fff : ALL=full;\n", 0, 0xffff);

    /* Not ours any more: verify proves the hole, sync leaves the file to the operator. */
    must_say(ONEIB(1, "verify")->out, "key-widened");
    must_say(ONEIB(3, "sync")->error, "not written by oneib");

    MUST(lab_write(lab, "partitions.conf", 0644, right, &err));
    json_t *plan = ONEIB_JSON(1, "plan", "--exit-code");
    assert_false(json_yes(json_field(plan, "file"), "changed"));
    assert_true(json_number(plan, "ports_to_reload") > 0);
    json_t *synced = ONEIB_JSON(0, "sync");
    assert_false(json_yes(synced, "written"));
    assert_true(json_number(synced, "reloads") > 0);
    assert_true(port_holds(0, FULL(KEY_RED)));
    assert_false(port_holds(0, 0xffff));
}

static void sync_does_what_plan_says(void **state)
{
    (void)state;
    struct lab *lab = scene();
    struct oneib_error err = {0};
    const uint32_t red = scene_network("red", "257", NULL), blue = scene_network("blue", "258", "");
    const uint32_t vm = scene_vm(red, 0);
    scene_vm(red, 1);
    scene_vm(blue, 1);
    ONEIB(0, "sync");
    scene_end_vm(vm);
    scene_vm(blue, 2);
    MUST(lab_network_update(lab, blue, "IB_MEMBERSHIP=limited", &err));

    json_t *planned = json_incref(json_field(ONEIB_JSON(1, "plan", "--exit-code"), "changes"));
    json_t *done = json_field(ONEIB_JSON(0, "sync"), "changes");
    const bool same = json_equal(planned, done);
    const size_t count = json_array_size(planned);
    json_decref(planned);
    assert_true(same);
    assert_int_equal(count, 3); /* red on H1 goes, blue on H2 is narrowed, blue on H3 comes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_CASE(scene_raise, every_network_and_every_reservation_is_given_a_key_of_its_own),
        SCENE_CASE(scene_raise, a_reservation_from_a_sharing_network_joins_its_cluster),
        SCENE_CASE(scene_raise, a_sharing_reservation_shows_its_parents_key),
        SCENE_CASE(scene_raise, where_another_instance_gives_keys_this_one_gives_none),
        SCENE_CASE(scene_raise, a_range_that_is_used_up_is_said_and_who_comes_first_has_a_key),
        SCENE_CASE(scene_raise, limited_members_reach_the_static_full_member_and_not_each_other),
        SCENE_CASE(scene_raise, a_nic_narrows_its_membership_and_never_widens_it),
        SCENE_CASE(scene_raise, a_static_partition_is_on_the_fabric_until_it_is_gone),
        SCENE_CASE(scene_raise, an_oned_that_suddenly_has_nothing_isolates_nobody),
        SCENE_CASE(scene_raise, many_vms_that_end_at_once_are_removed_at_once),
        SCENE_CASE(scene_raise_lazy, a_nic_with_another_networks_key_costs_that_network_nothing),
        SCENE_CASE(scene_raise, a_hot_plugged_nic_has_its_key_from_attach_until_it_is_detached),
        SCENE_CASE(scene_raise, both_hosts_of_a_migration_are_members_though_pools_name_one),
        SCENE_CASE(scene_raise, in_an_unknown_state_a_vm_keeps_what_it_has_and_gets_nothing_new),
        SCENE_CASE(scene_raise, what_does_not_fit_into_a_port_is_named_and_nobody_else_suffers),
        SCENE_CASE(scene_raise, one_users_reservations_do_not_fill_a_port_or_a_storage_server),
        SCENE_CASE(scene_raise, what_waits_for_a_node_is_left_to_oneibd_and_no_verb_advises_sync),
        SCENE_CASE(scene_raise,
                   on_mlx5_the_vf_itself_is_the_member_and_the_rest_of_the_fabric_stays_right),
        SCENE_CASE(scene_raise, with_nvidias_opensm_virtual_ports_are_no_notice_and_not_verified),
        SCENE_CASE(scene_raise, verify_names_what_somebody_else_gave_a_port_and_sync_takes_it_back),
        SCENE_CASE(scene_raise, verify_names_the_removed_keys_that_a_switch_port_keeps),
        SCENE_CASE(scene_raise, a_key_leaves_the_last_slot_by_what_verify_advises),
        SCENE_CASE(scene_raise, a_file_put_back_without_a_reload_is_noticed_on_the_fabric),
        SCENE_CASE(scene_raise, sync_does_what_plan_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
