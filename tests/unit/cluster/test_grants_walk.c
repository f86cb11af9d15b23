// SPDX-License-Identifier: Apache-2.0
/*
 * A random walk of grants and gate. Nodes follow lists, open and close VFs, lose their connection
 * (and then do nothing at all), start anew; VMs come and go; networks change and lose their keys;
 * the daemon starts anew, or another host's takes over and it comes back with the file of that time; nodes report no adapter for a while, IB_HCA of hosts is forged, hosts leave OpenNebula and come back,
 * and the operator's own partitions come and go. Keys are put into the places of ports' tables as a subnet manager does:
 * what is new takes the first that is free, which may be one that a VF of a lost node is still
 * mapped to.
 */
#include "../base/random_source.h"
#include "cluster/port_owner.h"
#include "grant_scene.h"

#define HOSTS 3
#define NETWORKS 4
#define VMS 10
#define PLACES 8
#define CAPACITY 4 /* of a port's table, with the default partition's key */
#define KEYS 6
#define SILENT_AFTER 2 /* turns */
#define STEPS 4000
#define KEY_OF_SOME 0x50 /* of the operator's partition that lists hosts' ports, */
#define KEY_OF_ALL 0x51  /* and of the one that lists ALL */
#define CLUSTER_OF_STATIC 1000

struct place {
    oneib_pkey pkey; /* 0: free */
    uint32_t cluster;
    bool limited;
};

/* A VF, as it really is. */
struct vf {
    bool open, limited;
    uint32_t network_id, cluster;
    oneib_pkey pkey;
    unsigned place;
};

struct real_node {
    struct place places[PLACES];
    struct vf vfs[VMS]; /* of each VM; no VM has two NICs here */
    bool connected;
    struct oneib_grant_list follows;
    uint64_t follows_serial;
};

/* What the daemon knows of a node. */
struct known_node {
    uint64_t sent_serial, reported_serial;
    bool heard, silent;
    unsigned sent_at; /* turn */
};

struct vm {
    uint32_t host_id, source_host_id; /* 0: none */
    uint32_t network_id;
    bool limited, unleased;
};

struct world {
    struct grant_scene *played;
    struct random_source random;
    struct real_node real[HOSTS];
    struct known_node known[HOSTS];
    struct vm vms[VMS];
    oneib_pkey keys[NETWORKS];
    oneib_pkey ib_keys[HOSTS][64]; /* the host's attribute */
    size_t ib_key_count[HOSTS];
    bool is_unreported[HOSTS]; /* its node reports no such port any more */
    bool is_gone[HOSTS];       /* OpenNebula has the host no more; it runs on */
    bool some_are_static, all_are_static;
    bool hands_over; /* keys are given away without waiting: a node may then open a stranger's by a
                        list that it was sent before; all else holds as ever */
    struct oneib_partition_table old_file; /* of a daemon that is away: another one leads */
    bool is_away;
    unsigned turn;
    size_t opened, kept, withheld, cut, returned; /* that the walk went somewhere */
};

static bool by_chance(struct world *world, unsigned one_in)
{
    return random_below(&world->random, one_in) == 0;
}

/* What the daemon knew of it. */
static void forget_node(struct world *world, size_t index)
{
    const uint64_t serial = world->known[index].sent_serial + 1000;
    world->known[index] = (struct known_node){.sent_serial = serial, .sent_at = world->turn};
    world->played->snapshots[index].sent = NULL;
    world->played->snapshots[index].record_count = 0;
    world->played->snapshots[index].table_known = false;
}

/* ---- the cloud ------------------------------------------------------------------------------- */

/* Whose key is known, and whose port, whatever IB_HCA says. */
static void pin_host(struct scene *scene, uint32_t host_id, bool is_unreported)
{
    const struct oneib_ledger_host host = {.host_id = host_id};
    struct oneib_ledger_port port = {
        .guid = port_of(host_id),
        .host_id = host_id,
        .hca = {
            .port = 1, .driver = ONEIB_HCA_MLX4, .port_guid = port_of(host_id), .vfs_total = 8}};
    strcpy(port.hca.device, is_unreported ? "" : "mlx4_0");
    oneib_ledger_pin(&scene->ledger, &host);
    assert_int_equal(oneib_ledger_set_port(&scene->ledger, &port, &scene->err), 0);
}

/* Anybody may send what a probe reports: ports of other hosts, another driver, no port. */
static void forge_probe(struct world *world, struct oneib_host *host)
{
    static const char *const devices[] = {"mlx4_0", "mlx4_1", "mlx5_0"};
    host->port_count = by_chance(world, 2);
    while (!by_chance(world, 2)) {
        const uint32_t other = 1 + (uint32_t)random_below(&world->random, HOSTS);
        add_port(&world->played->scene, host, devices[random_below(&world->random, 3)], 1,
                 port_of(other))
            ->vfs_total = (uint16_t)random_below(&world->random, 2);
    }
}

static void build_host(struct world *world, size_t index)
{
    struct oneib_host *host = add_host(&world->played->scene, (uint32_t)index + 1);
    set_capacity(&world->played->scene, port_of(host->id), CAPACITY);
    forge_probe(world, host);
    for (size_t i = 0; i < world->ib_key_count[index]; i++)
        hold_key(host, world->ib_keys[index][i]);
}

static void build_static_partitions(struct world *world)
{
    struct scene *scene = &world->played->scene;
    oneib_partition_table_clear(&scene->static_partitions);
    if (world->some_are_static) {
        struct oneib_partition *some =
            add_partition(scene, &scene->static_partitions, "some", KEY_OF_SOME);
        add_guid(scene, some, port_of(1), ONEIB_FULL);
        add_guid(scene, some, port_of(2), ONEIB_FULL);
    }
    if (world->all_are_static)
        add_wildcard(scene, add_partition(scene, &scene->static_partitions, "all", KEY_OF_ALL),
                     ONEIB_MEMBER_ALL, ONEIB_FULL);
}

static void build_cloud(struct world *world)
{
    struct scene *scene = &world->played->scene;
    oneib_cloud_clear(&scene->cloud);
    oneib_ledger_clear(&scene->ledger);
    build_static_partitions(world);
    for (uint32_t i = 0; i < NETWORKS; i++) {
        struct oneib_network *network = add_network(scene, i, world->keys[i]);
        network->reservations_share = i == 0;
        network->parent_id = i == NETWORKS - 1 ? 0 : ONEIB_NO_ID; /* the last shares the first's */
    }
    for (uint32_t i = 0; i < HOSTS; i++) {
        pin_host(scene, i + 1, world->is_unreported[i]);
        if (!world->is_gone[i])
            build_host(world, i);
    }
    for (uint32_t i = 0; i < VMS; i++) {
        const struct vm *vm = &world->vms[i];
        if (vm->host_id == 0)
            continue;
        struct oneib_attachment *nic = add_nic(scene, i, 0, vm->network_id, vm->host_id);
        nic->narrowed = vm->limited;
        nic->unleased = vm->unleased;
        if (vm->source_host_id)
            migrate(nic, vm->source_host_id);
    }
    know_vms(world->played, NULL, 0);
    oneib_autofindings struct oneib_findings findings = {0};
    const struct oneib_port_evidence evidence = {.ledger = &scene->ledger,
                                                 .policy = &scene->policy};
    oneib_cloud_settle_ports(&scene->cloud, &evidence, &findings);
}

static bool is_resting(const struct world *world, oneib_pkey pkey)
{
    if (partition_of(&world->played->scene.in_force, pkey))
        return true;
    for (size_t i = 0; i < HOSTS; i++)
        if (world->is_gone[i])
            return true;
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < world->ib_key_count[i]; j++)
            if (world->ib_keys[i][j] == pkey)
                return true;
    return false;
}

static void change_some_key(struct world *world)
{
    const size_t network = random_below(&world->random, NETWORKS - 1);
    const oneib_pkey pkey = (oneib_pkey)(0x101 + random_below(&world->random, KEYS));
    for (size_t i = 0; i < NETWORKS; i++)
        if (world->keys[i] == pkey)
            return;
    if (world->hands_over || !is_resting(world, pkey))
        world->keys[network] = pkey;
}

/* What OpenNebula and the operator say of hosts and ports. */
static void change_site(struct world *world)
{
    const size_t index = random_below(&world->random, HOSTS);
    switch (random_below(&world->random, 4)) {
    case 0:
        world->is_unreported[index] = !world->is_unreported[index] && by_chance(world, 2);
        break;
    case 1:
        world->is_gone[index] = !world->is_gone[index] && by_chance(world, 4);
        forget_node(world, index);
        break;
    case 2:
        world->some_are_static = !world->some_are_static && by_chance(world, 2);
        break;
    case 3:
        world->all_are_static = !world->all_are_static && by_chance(world, 2);
        break;
    }
}

static void change_vm(struct world *world)
{
    struct vm *vm = &world->vms[random_below(&world->random, VMS)];
    const uint32_t host_id = (uint32_t)random_below(&world->random, HOSTS) + 1;
    vm->unleased = by_chance(world, 10);
    vm->limited = by_chance(world, 6);
    if (vm->host_id == 0) {
        vm->host_id = host_id;
        vm->network_id = (uint32_t)random_below(&world->random, NETWORKS);
    } else if (vm->source_host_id) {
        vm->source_host_id = 0;
    } else if (by_chance(world, 3) && host_id != vm->host_id) {
        vm->source_host_id = vm->host_id;
        vm->host_id = host_id;
    } else {
        vm->host_id = 0;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool holds(const struct place *place, const struct vf *vf)
{
    return place->pkey == vf->pkey;
}

/* A node that runs sees that a key has left the place that a VF is mapped to. */
static void watch(struct real_node *node)
{
    for (size_t i = 0; i < VMS; i++)
        if (node->vfs[i].open && !holds(&node->places[node->vfs[i].place], &node->vfs[i]))
            node->vfs[i].open = false;
}

static void close_what_is_not_granted(struct real_node *node)
{
    for (uint32_t i = 0; i < VMS; i++) {
        struct vf *vf = &node->vfs[i];
        const struct oneib_grant *grant = oneib_grant_list_find(&node->follows, i, 0);
        if (vf->open && (!grant || grant->pkey != vf->pkey || grant->network_id != vf->network_id ||
                         (grant->limited && !vf->limited)))
            vf->open = false;
        if (vf->open && grant)
            vf->limited = grant->limited;
    }
}

static uint32_t cluster_of(uint32_t network_id)
{
    return network_id == NETWORKS - 1 ? 0 : network_id;
}

static void open_granted(struct world *world, struct real_node *node)
{
    for (size_t i = 0; i < node->follows.count; i++) {
        const struct oneib_grant *grant = &node->follows.items[i];
        struct vf *vf = &node->vfs[grant->vm_id];
        for (unsigned place = 0; place < PLACES && !vf->open; place++) {
            if (node->places[place].pkey != grant->pkey ||
                (grant->limited && !node->places[place].limited))
                continue;
            *vf = (struct vf){.open = true,
                              .limited = grant->limited,
                              .network_id = grant->network_id,
                              .cluster = cluster_of(grant->network_id),
                              .pkey = grant->pkey,
                              .place = place};
            world->opened++;
        }
    }
}

static void hear_report(struct world *world, size_t index)
{
    struct real_node *node = &world->real[index];
    struct oneib_node_snapshot *snapshot = &world->played->snapshots[index];
    watch(node);
    snapshot->record_count = 0;
    for (uint32_t i = 0; i < VMS && snapshot->record_count < 8; i++) {
        if (!node->vfs[i].open)
            continue;
        struct oneib_vf_record *record = report(world->played, (uint32_t)index + 1, i,
                                                node->vfs[i].network_id, node->vfs[i].pkey);
        record->limited = node->vfs[i].limited;
    }
    snapshot->table_known = true;
    world->known[index].heard = true;
    world->known[index].reported_serial = node->follows_serial;
    if (node->follows_serial == world->known[index].sent_serial)
        world->known[index].silent = false;
}

static void follow_list(struct world *world, size_t index)
{
    struct real_node *node = &world->real[index];
    node->follows = world->played->nodes[index].sent;
    node->follows_serial = world->known[index].sent_serial;
    close_what_is_not_granted(node);
}

static void step_node(struct world *world)
{
    const size_t index = random_below(&world->random, HOSTS);
    struct real_node *node = &world->real[index];
    if (by_chance(world, 12)) {
        node->connected = !node->connected;
        world->cut += !node->connected;
    }
    if (by_chance(world, 60)) /* a reboot */
        memset(node->vfs, 0, sizeof node->vfs);
    if (!node->connected || world->is_gone[index])
        return;
    watch(node);
    if (world->known[index].heard && world->played->snapshots[index].sent && by_chance(world, 2))
        follow_list(world, index);
    if (by_chance(world, 2))
        open_granted(world, node);
    if (by_chance(world, 2))
        hear_report(world, index);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static void judge_node(struct world *world, size_t index)
{
    struct known_node *known = &world->known[index];
    struct oneib_node_snapshot *snapshot = &world->played->snapshots[index];
    const bool follows = !snapshot->sent || known->reported_serial == known->sent_serial;
    if (!follows && world->turn - known->sent_at > SILENT_AFTER)
        known->silent = true;
    if (!world->real[index].connected && by_chance(world, 2))
        known->silent = true; /* its connection is seen to be lost */
    snapshot->state = !known->heard   ? ONEIB_NODE_UNHEARD
                      : known->silent ? ONEIB_NODE_SILENT
                      : follows       ? ONEIB_NODE_FOLLOWS
                                      : ONEIB_NODE_AWAITED;
    /* What it reported before this daemon started is not known to it. */
    snapshot->table_known &= known->heard;
}

static void send_list(struct world *world, size_t index)
{
    struct oneib_node_snapshot *snapshot = &world->played->snapshots[index];
    const struct oneib_host_grants *grants =
        oneib_grants_of_host(&world->played->grants, (uint32_t)index + 1);
    const size_t count = grants ? grants->count : 0;
    bool is_same = snapshot->sent && snapshot->sent->count == count;
    for (size_t i = 0; is_same && i < count; i++)
        is_same = oneib_grant_equal(&snapshot->sent->items[i], &grants->items[i]);
    if (is_same || !world->known[index].heard)
        return;
    send_grants(world->played, (uint32_t)index + 1);
    world->known[index].sent_serial++;
    world->known[index].sent_at = world->turn;
}

static void note_keys(struct world *world, size_t index)
{
    oneib_pkey keys[ONEIB_PKEY_COUNT];
    const struct oneib_held_keys before = {
        .known = true, .keys = world->ib_keys[index], .count = world->ib_key_count[index]};
    const size_t count = oneib_keys_of_node(
        &world->played->snapshots[index],
        oneib_grants_of_host(&world->played->grants, (uint32_t)index + 1), &before, keys);
    assert_true(count <= 64);
    memcpy(world->ib_keys[index], keys, count * sizeof *keys);
    world->ib_key_count[index] = count;
}

/* ---- the subnet manager ---------------------------------------------------------------------- */

static uint32_t cluster_named(const struct oneib_partition *partition)
{
    unsigned id;
    if (partition->pkey == KEY_OF_SOME || partition->pkey == KEY_OF_ALL)
        return CLUSTER_OF_STATIC + partition->pkey;
    assert_int_equal(sscanf(partition->name, "one%u", &id), 1);
    return id;
}

static struct place *place_of(struct real_node *node, oneib_pkey pkey)
{
    for (size_t i = 0; i < PLACES; i++)
        if (node->places[i].pkey == pkey)
            return &node->places[i];
    return NULL;
}

static bool lists(const struct oneib_partition *partition, oneib_guid guid, bool *limited)
{
    for (size_t i = 0; partition && i < partition->member_count; i++)
        if ((partition->members[i].kind == ONEIB_MEMBER_GUID &&
             partition->members[i].guid == guid) ||
            partition->pkey == KEY_OF_ALL) {
            *limited = partition->members[i].membership != ONEIB_FULL;
            return true;
        }
    return false;
}

static void take_keys(struct world *world, size_t index)
{
    const struct oneib_partition_table *table = &world->played->scene.in_force;
    struct real_node *node = &world->real[index];
    bool limited;
    for (size_t i = 0; i < PLACES; i++)
        if (!lists(partition_of(table, node->places[i].pkey), port_of((uint32_t)index + 1),
                   &limited))
            node->places[i] = (struct place){0};
}

static void put_keys(struct world *world, size_t index)
{
    const struct oneib_partition_table *table = &world->played->scene.in_force;
    struct real_node *node = &world->real[index];
    size_t used = 0;
    for (size_t i = 0; i < table->count; i++) {
        bool limited;
        if (!lists(&table->items[i], port_of((uint32_t)index + 1), &limited))
            continue;
        struct place *place = place_of(node, table->items[i].pkey);
        if (!place)
            place = place_of(node, 0);
        assert_non_null(place);
        *place = (struct place){.pkey = table->items[i].pkey,
                                .cluster = cluster_named(&table->items[i]),
                                .limited = limited};
        used++;
    }
    assert_true(used <= 3); /* never more than there is room for */
}

/* ---- what must be so ------------------------------------------------------------------------- */

static void no_vf_reaches_a_stranger(const struct world *world)
{
    if (world->hands_over)
        return;
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < VMS; j++) {
            const struct vf *vf = &world->real[i].vfs[j];
            const struct place *place = &world->real[i].places[vf->place];
            if (!vf->open || place->pkey == 0)
                continue;
            if (place->pkey != vf->pkey || place->cluster != vf->cluster)
                fail_msg("turn %u: host %zu VM %zu of cluster %u is open at 0x%04x, where 0x%04x "
                         "of cluster %u is",
                         world->turn, i + 1, j, vf->cluster, vf->pkey, place->pkey, place->cluster);
        }
}

static void heard_nodes_keep_what_they_have_open(const struct world *world,
                                                 const struct real_node *before)
{
    for (size_t i = 0; i < HOSTS; i++) {
        const enum oneib_node_state state = world->played->snapshots[i].state;
        if (state != ONEIB_NODE_FOLLOWS && state != ONEIB_NODE_AWAITED)
            continue;
        for (size_t j = 0; j < VMS; j++) {
            const struct vf *vf = &world->real[i].vfs[j];
            const struct place *was = &before[i].places[vf->place];
            const struct place *is = &world->real[i].places[vf->place];
            if (!vf->open || !holds(was, vf) || was->cluster != vf->cluster)
                continue;
            if (!holds(is, vf) || is->cluster != was->cluster)
                fail_msg("turn %u: host %zu has 0x%04x open, and it left", world->turn, i + 1,
                         vf->pkey);
            if (vf->limited && was->limited && !is->limited)
                fail_msg("turn %u: host %zu has 0x%04x open to a limited member, and it became "
                         "full",
                         world->turn, i + 1, vf->pkey);
        }
    }
}

/* When a daemon comes back: who is a member keeps what his port has, whether his node is heard or
 * not. What lists ALL may have come to some ports only. */
static void members_keep_what_ports_have(const struct world *world, const struct real_node *before)
{
    const struct oneib_partition_table *desired = &world->played->scene.desired.table;
    bool limited;
    for (size_t i = 0; i < HOSTS && world->played->is_led_elsewhere && !world->hands_over; i++)
        for (size_t j = 0; j < PLACES; j++) {
            const struct place *was = &before[i].places[j];
            const struct oneib_partition *partition = partition_of(desired, was->pkey);
            if (was->pkey == 0 || was->pkey == KEY_OF_ALL ||
                !lists(partition, port_of((uint32_t)i + 1), &limited) ||
                cluster_named(partition) != was->cluster || (was->limited && !limited))
                continue;
            if (world->real[i].places[j].pkey != was->pkey)
                fail_msg("turn %u: host %zu has lost 0x%04x to the daemon that came back",
                         world->turn, i + 1, was->pkey);
        }
}

/* A host that may hold no key has no VF that a place could be taken from. */
static bool may_come_unheard(const struct world *world, size_t index, const struct place *place)
{
    return place->pkey == KEY_OF_ALL && world->ib_key_count[index] == 0;
}

static void nothing_came_to_others(const struct world *world, const struct real_node *before)
{
    for (size_t i = 0; i < HOSTS; i++) {
        const enum oneib_node_state state = world->played->snapshots[i].state;
        if (state == ONEIB_NODE_FOLLOWS || state == ONEIB_NODE_AWAITED)
            continue;
        for (size_t j = 0; j < PLACES; j++) {
            const struct place *was = &before[i].places[j], *is = &world->real[i].places[j];
            if (is->pkey != 0 && !may_come_unheard(world, i, is) &&
                (is->pkey != was->pkey || is->cluster != was->cluster ||
                 (was->limited && !is->limited)))
                fail_msg("turn %u: 0x%04x came to host %zu, which is not heard", world->turn,
                         is->pkey, i + 1);
        }
    }
}

static void copy_table(const struct oneib_partition_table *from, struct oneib_partition_table *to,
                       struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    oneib_partitions_render(from, &text);
    if (oneib_partitions_parse(text.data, text.length, "file", to, err) < 0)
        fail_msg("%s", err->text);
}

/* What the daemon that was away reads of the fabric, which the other one leads still. */
static void read_ports(struct world *world)
{
    struct scene *scene = &world->played->scene;
    for (size_t i = 0; i < HOSTS; i++) {
        struct oneib_subnet_port *port = subnet_port(scene, port_of((uint32_t)i + 1));
        if (!port->pkeys)
            port->pkeys = calloc(PLACES, sizeof *port->pkeys);
        assert_non_null(port->pkeys);
        port->answered = true;
        port->partition_cap = PLACES;
        for (size_t j = 0; j < PLACES; j++) {
            const struct place *place = &world->real[i].places[j];
            port->pkeys[j] =
                place->pkey ? (uint16_t)(place->pkey | (place->limited ? 0 : 0x8000)) : 0;
        }
    }
}

static void take_turn(struct world *world)
{
    struct grant_scene *played = world->played;
    world->turn++;
    build_cloud(world);
    for (size_t i = 0; i < HOSTS; i++)
        judge_node(world, i);
    grant_all(played);
    for (size_t i = 0; i < HOSTS; i++) {
        if (world->is_gone[i])
            continue;
        note_keys(world, i);
        send_list(world, i);
        judge_node(world, i);
    }
    pass_gate(played);
    world->kept += played->gate.kept;
    world->withheld += played->gate.withheld;

    struct real_node before[HOSTS];
    memcpy(before, world->real, sizeof before);
    copy_table(&played->gate.table, &played->scene.in_force, &played->scene.err);
    for (size_t i = 0; i < HOSTS; i++) {
        take_keys(world, i);
        put_keys(world, i);
    }
    heard_nodes_keep_what_they_have_open(world, before);
    nothing_came_to_others(world, before);
    members_keep_what_ports_have(world, before);
    no_vf_reaches_a_stranger(world);
}

static void start_daemon_anew(struct world *world)
{
    for (size_t i = 0; i < HOSTS; i++)
        forget_node(world, i);
}

/* Its first turn's file is what its subnet manager puts into force when it takes back. */
static void go_or_return(struct world *world)
{
    struct grant_scene *played = world->played;
    if (!world->is_away) {
        copy_table(&played->scene.in_force, &world->old_file, &played->scene.err);
        start_daemon_anew(world);
    } else {
        copy_table(&world->old_file, &played->scene.in_force, &played->scene.err);
        start_daemon_anew(world);
        read_ports(world);
        played->is_led_elsewhere = true;
        take_turn(world);
        played->is_led_elsewhere = false;
        world->returned++;
    }
    world->is_away = !world->is_away;
}

static void step(struct world *world)
{
    switch (random_below(&world->random, 16)) {
    case 0:
        change_some_key(world);
        break;
    case 1:
    case 2:
    case 3:
        change_vm(world);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        take_turn(world);
        break;
    case 8:
        if (by_chance(world, 4))
            start_daemon_anew(world);
        else if (by_chance(world, 4))
            change_site(world);
        else if (by_chance(world, 4))
            go_or_return(world);
        break;
    default:
        step_node(world);
        break;
    }
    no_vf_reaches_a_stranger(world);
}

/* Everybody is there, and nothing else happens: all comes to be as desired. */
static void come_to_rest(struct world *world)
{
    memset(world->is_unreported, 0, sizeof world->is_unreported);
    memset(world->is_gone, 0, sizeof world->is_gone);
    for (int i = 0; i < 8; i++) {
        take_turn(world);
        for (size_t j = 0; j < HOSTS; j++) {
            world->real[j].connected = true;
            hear_report(world, j);
            if (world->played->snapshots[j].sent)
                follow_list(world, j);
            open_granted(world, &world->real[j]);
            hear_report(world, j);
        }
    }
    take_turn(world);
    assert_int_equal(world->played->gate.kept, 0);
    assert_int_equal(world->played->gate.withheld, 0);
    assert_true(oneib_partition_table_equal(&world->played->gate.table,
                                            &world->played->scene.desired.table));
    for (size_t i = 0; i < world->played->scene.desired.binding_count; i++) {
        const struct oneib_desired_binding *binding = &world->played->scene.desired.bindings[i];
        const uint32_t vm_id = world->played->scene.cloud.attachments[binding->attachment].vm_id;
        assert_int_equal(world->real[binding->host_id - 1].vfs[vm_id].open,
                         binding->member_status == ONEIB_MEMBER_STATUS_MEMBER);
    }
}

static void walk(struct grant_scene *played, uint64_t seed, bool hands_over)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->played = played;
    world->random = random_seeded(seed);
    world->hands_over = hands_over;
    played->scene.policy.hold_minimum = 1000;
    for (uint32_t i = 0; i < HOSTS; i++) {
        add_node(played, i + 1);
        world->real[i].connected = true;
    }
    start_daemon_anew(world);
    for (size_t i = 0; i < NETWORKS - 1; i++)
        world->keys[i] = (oneib_pkey)(0x101 + i);
    for (size_t i = 0; i < STEPS; i++) {
        step(world);
        if (i % 1000 == 999)
            come_to_rest(world);
    }
    /* It went somewhere. */
    assert_true(world->opened > 80);
    assert_true(world->kept > 60);
    assert_true(world->withheld > 50);
    assert_true(world->cut > 20);
    assert_true(world->returned > 5);
    oneib_partition_table_clear(&world->old_file);
    free(world);
}

static void keys_leave_and_come_as_nodes_report(void **state)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        walk(*state, seed, false);
        grant_scene_free(state);
        grant_scene_make(state);
    }
}

static void keys_leave_and_come_so_even_when_they_are_handed_over(void **state)
{
    for (uint64_t seed = 101; seed <= 105; seed++) {
        walk(*state, seed, true);
        grant_scene_free(state);
        grant_scene_make(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRANT_TEST(keys_leave_and_come_as_nodes_report),
        GRANT_TEST(keys_leave_and_come_so_even_when_they_are_handed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
