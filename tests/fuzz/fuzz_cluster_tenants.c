// SPDX-License-Identifier: Apache-2.0
/*
 * Whole clouds with hostile users, from the documents to what VFs reach. Two users write into their
 * reservations and VMs what they like: keys, static members, sharing, NICs of others' networks, NICs
 * and reservations that are limited members, documents that cannot be read. VMs come, go and migrate,
 * networks are deleted and reserved, hosts are cut off and do nothing then. After each step the
 * desired state, the ledger, the grants and the gate are computed as oneibd does it, nodes that are
 * connected open what they are granted, and no VF may reach what its VM's own network is not, nor more
 * of it than its NIC is to: judged by who truly has leased what, which is in no document here.
 *
 * Of a host with mlx4 the VFs share the port's table. With mlx5 each is a port of its own, to which
 * the subnet manager gives the keys of the partitions that list its GUID, whoever has that.
 */
#include "cluster/desired.h"
#include "cluster/grants.h"
#include "partitions/subnet.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS 3
#define NETWORKS 8 /* at a time; 0 and 1 are the operator's */
#define VMS 8
#define VFS 12
#define NICS_MAX 64 /* that one node is told of */
#define PLACES 6    /* of a port's table */
#define FIRST_KEY 300
#define KEYS 8
#define LONGEST 97 /* bytes of input: some 30 steps */
#define SITE 7
#define STORAGE UINT64_C(0x9000)
#define ROOT_PORT UINT64_C(0x0002c90300000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the truth ------------------------------------------------------------------------------- */

struct vm {
    uint32_t id;           /* nobody's ever again */
    uint32_t host, source; /* 0: none */
    size_t network;        /* that has truly leased to it */
    uint32_t claimed;      /* the network's id in its document */
    bool is_there, unreadable;
    bool narrowed; /* the NIC is to be a limited member */
};

struct network {
    uint32_t id, parent; /* parent: index of an operator's; NETWORKS: none */
    uint32_t claimed;    /* the parent that its document names, likewise */
    uint32_t user;       /* 0: the operator */
    bool is_there, unreadable, other_driver, shares, limited;
    oneib_pkey stated;
    oneib_guid statics;
};

/* What a port, or a VF that is one, holds. */
struct place {
    oneib_pkey pkey; /* 0: free */
    bool limited;
    uint32_t cluster;
};

/* A VF that a VM has, as it really is. */
struct vf {
    bool taken;
    bool open;           /* mlx4: its map leads to `place` of the port's table */
    bool has_guid;       /* mlx5: the fabric sees it, and `own` is what it holds */
    bool limited;        /* as it was granted */
    bool truly_narrowed; /* as its NIC is */
    uint32_t vm_id, cluster, network_id;
    oneib_pkey pkey;
    unsigned place;
    struct place own;
};

struct node {
    bool connected, is_mlx5;
    struct place places[PLACES];
    struct vf vfs[VFS];
    struct oneib_grant_list *follows, *sent;
    bool was_sent;
    struct oneib_vf_record records[VFS]; /* as it reported last */
    size_t record_count;
    struct oneib_nic_name told[NICS_MAX];
    size_t told_count;
    oneib_pkey keys[64]; /* IB_KEYS */
    size_t key_count;
};

struct world {
    const uint8_t *data;
    size_t size;
    struct network networks[NETWORKS];
    struct vm vms[VMS];
    struct node nodes[HOSTS];
    uint32_t next_id, next_vm;
    struct oneib_cloud cloud;
    struct oneib_ledger ledger;
    struct oneib_partition_table in_force, static_partitions;
    struct oneib_desired desired;
};

static void require(bool held, const char *what)
{
    if (held)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static unsigned take(struct world *world, unsigned below)
{
    if (world->size == 0)
        return 0;
    world->size--;
    return *world->data++ % below;
}

static oneib_guid port_of(size_t host)
{
    return ROOT_PORT + host;
}

static const struct vm *vm_with_id(const struct world *world, uint32_t id)
{
    for (size_t i = 0; i < VMS; i++)
        if (world->vms[i].is_there && world->vms[i].id == id)
            return &world->vms[i];
    return NULL;
}

/* The network whose partition the members of one are in. Whether one that cannot be read shares its
 * own nobody knows: it does not. */
static const struct network *home_of(const struct world *world, const struct network *network)
{
    const struct network *parent =
        network->parent < NETWORKS ? &world->networks[network->parent] : NULL;
    return parent && parent->is_there && parent->shares && !parent->unreadable ? parent : network;
}

static uint32_t cluster_of(const struct world *world, uint32_t vm_id)
{
    const struct vm *vm = vm_with_id(world, vm_id);
    require(vm != NULL, "a VF of nobody's");
    return home_of(world, &world->networks[vm->network])->id;
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void reserve(struct world *world, struct network *network)
{
    const bool is_operators = network < &world->networks[2];
    if (network->is_there)
        return;
    const uint32_t parent = is_operators ? NETWORKS : take(world, 2);
    *network = (struct network){.id = world->next_id++,
                                .is_there = true,
                                .parent = parent,
                                .claimed = parent,
                                .user = is_operators ? 0 : 5 + take(world, 2)};
}

static void delete (struct world *world, size_t index)
{
    for (size_t i = 0; i < VMS; i++)
        if (world->vms[i].is_there && world->vms[i].network == index)
            return; /* oned deletes no network with leases */
    for (size_t i = 2; i < NETWORKS; i++)
        if (world->networks[i].is_there && world->networks[i].parent == index)
            return;
    world->networks[index].is_there = false;
}

/* What an owner can write, restricted or not. */
static void write_into(struct world *world, struct network *network)
{
    switch (take(world, 8)) {
    case 0:
        network->stated = (oneib_pkey)(FIRST_KEY - 1 + take(world, KEYS + 2));
        break;
    case 1:
        network->statics = take(world, 2) ? STORAGE : port_of(1 + take(world, HOSTS));
        break;
    case 2:
        network->shares = take(world, 2);
        break;
    case 3:
        network->unreadable = take(world, 2);
        break;
    case 4:
        network->limited = take(world, 2);
        break;
    case 5:
        network->other_driver = take(world, 2);
        break;
    case 6: /* an operator has nobody to deceive */
        if (network->user != 0)
            network->claimed = take(world, NETWORKS + 1);
        break;
    default:
        network->statics = 0;
    }
}

static void change_vm(struct world *world, struct vm *vm)
{
    const unsigned choice = take(world, HOSTS * 4);
    const uint32_t host = 1 + choice % HOSTS;
    const size_t network = take(world, NETWORKS);
    if (!vm->is_there && world->networks[network].is_there)
        *vm = (struct vm){.id = world->next_vm++,
                          .is_there = true,
                          .narrowed = choice / HOSTS == 3,
                          .host = host,
                          .network = network,
                          .claimed = world->networks[network].id};
    else if (vm->source)
        vm->source = 0;
    else if (vm->is_there && host != vm->host && take(world, 2)) {
        vm->source = vm->host;
        vm->host = host;
    } else
        vm->is_there = false;
}

static void forge(struct world *world, struct vm *vm)
{
    vm->claimed = take(world, 2) ? take(world, world->next_id) : world->networks[vm->network].id;
    vm->unreadable = take(world, 8) == 0;
}

static void happen(struct world *world)
{
    switch (take(world, 8)) {
    case 0:
    case 1:
    case 2:
        change_vm(world, &world->vms[take(world, VMS)]);
        break;
    case 3:
        forge(world, &world->vms[take(world, VMS)]);
        break;
    case 4:
        write_into(world, &world->networks[take(world, NETWORKS)]);
        break;
    case 5:
        reserve(world, &world->networks[take(world, NETWORKS)]);
        break;
    case 6:
        delete (world, take(world, NETWORKS));
        break;
    default:
        world->nodes[take(world, HOSTS)].connected ^= true;
    }
}

/* ---- what documents say ---------------------------------------------------------------------- */

static void add_network(struct world *world, const struct network *network)
{
    struct oneib_network *added = oneib_cloud_add_network(&world->cloud);
    require(added, "no memory");
    added->id = network->id;
    added->parent_id =
        network->claimed < NETWORKS ? world->networks[network->claimed].id : ONEIB_NO_ID;
    added->uid = added->gid = network->user;
    added->key_state = network->stated ? ONEIB_KEY_VALID : ONEIB_KEY_MISSING;
    added->pkey = network->stated;
    added->unreadable = network->unreadable;
    added->membership = network->limited || network->unreadable ? ONEIB_LIMITED : ONEIB_FULL;
    added->reservations_share = network->shares && !network->unreadable;
    if (network->other_driver)
        require((added->other_driver = strdup("bridge")), "no memory");
    if (network->statics && !network->unreadable)
        oneib_network_add_static(added, network->statics, ONEIB_FULL);
}

static const char *device_of(const struct node *node)
{
    return node->is_mlx5 ? "mlx5_0" : "mlx4_0";
}

static void add_host(struct world *world, size_t index)
{
    struct node *node = &world->nodes[index];
    struct oneib_host *host = oneib_cloud_add_host(&world->cloud);
    struct oneib_hca_port *port = host ? oneib_host_add_port(host) : NULL;
    require(port, "no memory");
    host->id = (uint32_t)index + 1;
    *port = (struct oneib_hca_port){.port = 1,
                                    .driver = node->is_mlx5 ? ONEIB_HCA_MLX5 : ONEIB_HCA_MLX4,
                                    .port_guid = port_of(index + 1),
                                    .vfs_total = VFS};
    strcpy(port->device, device_of(node));
    host->keys = calloc(node->key_count + 1, sizeof *host->keys);
    require(host->keys, "no memory");
    memcpy(host->keys, node->keys, node->key_count * sizeof *host->keys);
    host->key_count = node->key_count;
}

static void add_vm(struct world *world, const struct vm *vm)
{
    const struct network *leased = &world->networks[vm->network];
    if (!vm->is_there || vm->unreadable)
        return;
    struct oneib_attachment *nic = oneib_cloud_add_attachment(&world->cloud);
    require(nic, "no memory");
    *nic = (struct oneib_attachment){.since = vm->id,
                                     .vm_id = vm->id,
                                     .narrowed = vm->narrowed,
                                     .network_id = vm->claimed,
                                     .host_id = vm->host,
                                     .source_host_id = vm->source ? vm->source : ONEIB_NO_ID,
                                     .state = 3,
                                     .lcm_state = vm->source ? 4 : 3,
                                     .phase = vm->source ? ONEIB_MIGRATING : ONEIB_SETTLED,
                                     .unleased = vm->claimed != leased->id || leased->unreadable};
}

/* Into an operator's document nobody else writes: its leases tell the truth. */
static void lease_to_reservations(struct world *world, size_t parent)
{
    uint32_t ids[NETWORKS];
    size_t count = 0;
    const struct oneib_network *network =
        oneib_cloud_network(&world->cloud, world->networks[parent].id);
    for (size_t i = 0; i < NETWORKS; i++)
        if (world->networks[i].is_there && world->networks[i].parent == parent)
            ids[count++] = world->networks[i].id;
    if (network && !network->unreadable)
        oneib_network_set_reservations(&world->cloud.networks[network - world->cloud.networks], ids,
                                       count);
}

static void build_cloud(struct world *world)
{
    oneib_cloud_clear(&world->cloud);
    for (size_t i = 0; i < NETWORKS; i++)
        if (world->networks[i].is_there)
            add_network(world, &world->networks[i]);
    for (size_t i = 0; i < HOSTS; i++)
        add_host(world, i);
    for (size_t i = 0; i < VMS; i++)
        add_vm(world, &world->vms[i]);
    oneib_cloud_sort(&world->cloud);
    for (size_t i = 0; i < 2; i++)
        lease_to_reservations(world, i);
    oneib_cloud_prove_parents(&world->cloud);
}

/* ---- oneibd ---------------------------------------------------------------------------------- */

static void build_subnet(const struct world *world, struct oneib_subnet *subnet,
                         struct oneib_subnet_port *ports, uint16_t (*tables)[PLACES + 2])
{
    for (size_t i = 0; i < HOSTS; i++) {
        tables[i][0] = 0x7fff;
        for (size_t j = 0; j < PLACES; j++)
            tables[i][j + 1] = world->nodes[i].places[j].pkey;
        ports[i] = (struct oneib_subnet_port){.guid = port_of(i + 1),
                                              .node_type = ONEIB_NODE_CA,
                                              .partition_cap = PLACES + 1,
                                              .pkeys = tables[i],
                                              .answered = true};
    }
    *subnet = (struct oneib_subnet){.ports = ports, .port_count = HOSTS, .sm_port_guid = 1};
}

static const struct oneib_policy policy = {.site = SITE,
                                           .pkey_first = FIRST_KEY,
                                           .pkey_last = FIRST_KEY + KEYS,
                                           .resting_max = 3,
                                           .per_owner_max = 2,
                                           .hold_share = 1,
                                           .hold_minimum = 100};

static void compute_desired(struct world *world)
{
    struct oneib_subnet subnet;
    struct oneib_subnet_port ports[HOSTS];
    uint16_t tables[HOSTS][PLACES + 2];
    struct oneib_error err;
    build_subnet(world, &subnet, ports, tables);
    const struct oneib_desired_input input = {.cloud = &world->cloud,
                                              .ledger = &world->ledger,
                                              .policy = &policy,
                                              .static_partitions = &world->static_partitions,
                                              .subnet = &subnet,
                                              .in_force = &world->in_force};
    oneib_desired_clear(&world->desired);
    require(oneib_desired_compute(&input, &world->desired, &err) == 0, "desired failed");
}

static void plan_keys(struct world *world)
{
    struct oneib_error err;
    const struct oneib_desired *desired = &world->desired;
    for (size_t i = 0; i < desired->idle_count; i++)
        oneib_ledger_free_key(&world->ledger, desired->idle[i]);
    for (size_t i = 0; i < desired->unused_count; i++)
        oneib_ledger_rest(&world->ledger, desired->unused[i].network_id, 0);
    for (size_t i = 0; i < desired->request_count; i++) {
        const struct oneib_key_request *request = &desired->requests[i];
        const struct oneib_ledger_network entry = {
            .network_id = request->network_id, .pkey = request->pkey, .owner = request->owner};
        if (request->pkey)
            require(oneib_ledger_give(&world->ledger, &entry, &err) == 0,
                    "a key is given that is somebody's");
    }
    world->ledger.next = desired->next;
}

static void snapshot_nodes(struct world *world, struct oneib_node_snapshot *snapshots)
{
    for (size_t i = 0; i < HOSTS; i++) {
        struct node *node = &world->nodes[i];
        snapshots[i] = (struct oneib_node_snapshot){.host_id = (uint32_t)i + 1,
                                                    .state = node->connected ? ONEIB_NODE_FOLLOWS
                                                                             : ONEIB_NODE_SILENT,
                                                    .table_known = true,
                                                    .records = node->records,
                                                    .record_count = node->record_count,
                                                    .told = node->told,
                                                    .told_count = node->told_count,
                                                    .sent = node->was_sent ? node->sent : NULL};
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void report(struct node *node)
{
    node->record_count = 0;
    for (uint32_t i = 0; i < VFS; i++) {
        const struct vf *vf = &node->vfs[i];
        if (!vf->taken)
            continue;
        struct oneib_vf_record *record = &node->records[node->record_count++];
        *record = (struct oneib_vf_record){
            .vf = {.bus = 0x81, .slot = (uint8_t)(i / 8), .function = (uint8_t)(i % 8)},
            .index = (uint16_t)i,
            .port = 1,
            .vm_id = vf->vm_id,
            .network_id = vf->network_id,
            .site = SITE,
            .pkey = vf->pkey,
            .limited = vf->limited,
            .stage = vf->open ? ONEIB_VF_OPEN : ONEIB_VF_CLOSED,
            .guid = vf->has_guid ? ONEIB_VF_GUID_SET : ONEIB_VF_GUID_NONE};
        strcpy(record->device, device_of(node));
    }
}

/* A list is large, and mostly empty. */
static void copy_list(struct oneib_grant_list *to, const struct oneib_grant *grants, size_t count)
{
    to->count = count;
    if (count)
        memcpy(to->items, grants, count * sizeof *grants);
}

static struct vf *vf_of(struct node *node, uint32_t vm_id)
{
    for (size_t i = 0; i < VFS; i++)
        if (node->vfs[i].taken && node->vfs[i].vm_id == vm_id)
            return &node->vfs[i];
    return NULL;
}

/* What a VF can be open by: an entry that is not wider than the grant. */
static bool fits(const struct place *place, const struct oneib_grant *grant)
{
    return place->pkey == grant->pkey && (!grant->limited || place->limited);
}

/* Takes from it what it is granted no more; one whose VM is granted nothing is given back. */
static void narrow(struct node *node, struct vf *vf)
{
    const struct oneib_grant *grant = oneib_grant_list_find(node->follows, vf->vm_id, 0);
    if (!grant || grant->network_id != vf->network_id) {
        *vf = (struct vf){0};
        return;
    }
    const struct place *place = node->is_mlx5 ? &vf->own : &node->places[vf->place];
    vf->open = vf->open && grant->pkey == vf->pkey && fits(place, grant);
    vf->limited = grant->limited;
    vf->pkey = grant->pkey;
}

static struct vf *take_vf(const struct world *world, struct node *node,
                          const struct oneib_grant *grant)
{
    const struct vm *vm = vm_with_id(world, grant->vm_id);
    for (size_t i = 0; i < VFS; i++)
        if (!node->vfs[i].taken) {
            node->vfs[i] = (struct vf){.taken = true,
                                       .vm_id = grant->vm_id,
                                       .truly_narrowed = vm->narrowed,
                                       .network_id = grant->network_id,
                                       .limited = grant->limited,
                                       .pkey = grant->pkey};
            return &node->vfs[i];
        }
    return NULL;
}

/* A list that came: what it allows no more is closed, and whose GUID may be set has it. */
static void follow(const struct world *world, struct node *node)
{
    copy_list(node->follows, node->sent->items, node->sent->count);
    for (size_t i = 0; i < VFS; i++)
        if (node->vfs[i].taken)
            narrow(node, &node->vfs[i]);
    for (size_t i = 0; i < node->follows->count; i++) {
        const struct oneib_grant *grant = &node->follows->items[i];
        struct vf *vf = vf_of(node, grant->vm_id);
        if (!vf)
            vf = take_vf(world, node, grant);
        if (vf && node->is_mlx5)
            vf->has_guid |= grant->may_set_guid;
    }
    report(node);
}

/* Where the key is, whoever it is for: a node knows no more. */
static void open_vf(const struct world *world, struct node *node, const struct oneib_grant *grant,
                    struct vf *vf)
{
    if (node->is_mlx5) {
        vf->open |= vf->has_guid && fits(&vf->own, grant);
        return;
    }
    for (unsigned place = 0; place < PLACES && !vf->open; place++)
        if (fits(&node->places[place], grant)) {
            vf->open = true;
            vf->place = place;
            vf->cluster = cluster_of(world, vf->vm_id);
        }
}

static void open_granted(const struct world *world, struct node *node)
{
    for (size_t i = 0; i < node->follows->count; i++) {
        struct vf *vf = vf_of(node, node->follows->items[i].vm_id);
        if (vf)
            open_vf(world, node, &node->follows->items[i], vf);
    }
    report(node);
}

/* They come by VM, and no VM's id comes twice. */
static void note_told(struct node *node)
{
    for (size_t i = 0; i < node->sent->count; i++) {
        const struct oneib_nic_name nic = {.vm_id = node->sent->items[i].vm_id};
        size_t place = node->told_count;
        while (place > 0 && oneib_nic_name_compare(&node->told[place - 1], &nic) > 0)
            place--;
        if (place > 0 && node->told[place - 1].vm_id == nic.vm_id)
            continue;
        require(node->told_count < NICS_MAX, "more NICs than there are");
        memmove(node->told + place + 1, node->told + place,
                (node->told_count++ - place) * sizeof nic);
        node->told[place] = nic;
    }
}

static void send_lists(struct world *world, const struct oneib_grants *grants)
{
    for (size_t i = 0; i < HOSTS; i++) {
        struct node *node = &world->nodes[i];
        const struct oneib_host_grants *ours = oneib_grants_of_host(grants, (uint32_t)i + 1);
        copy_list(node->sent, ours ? ours->items : NULL, ours ? ours->count : 0);
        node->was_sent = true;
        note_told(node);
        if (node->connected)
            follow(world, node);
    }
}

static void note_keys(struct world *world, const struct oneib_node_snapshot *snapshots,
                      const struct oneib_grants *grants)
{
    for (size_t i = 0; i < HOSTS; i++) {
        struct node *node = &world->nodes[i];
        oneib_pkey keys[ONEIB_PKEY_COUNT];
        const struct oneib_held_keys before = {true, node->keys, node->key_count};
        const size_t count = oneib_keys_of_node(
            &snapshots[i], oneib_grants_of_host(grants, (uint32_t)i + 1), &before, keys);
        require(count <= 64, "more keys than there are");
        memcpy(node->keys, keys, count * sizeof *keys);
        node->key_count = count;
    }
}

/* ---- the subnet manager ---------------------------------------------------------------------- */

static const struct oneib_member *member_of(const struct oneib_partition *partition,
                                            oneib_guid guid)
{
    for (size_t i = 0; partition && i < partition->member_count; i++)
        if (partition->members[i].kind == ONEIB_MEMBER_GUID && partition->members[i].guid == guid)
            return &partition->members[i];
    return NULL;
}

static struct place *place_of(struct node *node, oneib_pkey pkey)
{
    for (size_t i = 0; i < PLACES; i++)
        if (node->places[i].pkey == pkey)
            return &node->places[i];
    return NULL;
}

static struct place entry_for(const struct oneib_partition *partition,
                              const struct oneib_member *member)
{
    unsigned cluster = 0;
    require(sscanf(partition->name, "one%u", &cluster) == 1, "whose partition is it?");
    return (struct place){partition->pkey, member->membership == ONEIB_LIMITED, cluster};
}

/* What is new takes the first place that is free. */
static void program_port(struct world *world, size_t index)
{
    struct node *node = &world->nodes[index];
    const oneib_guid guid = port_of(index + 1);
    for (size_t i = 0; i < PLACES; i++)
        if (!member_of(oneib_partition_table_find(&world->in_force, node->places[i].pkey), guid))
            node->places[i] = (struct place){0};
    for (size_t i = 0; i < world->in_force.count; i++) {
        const struct oneib_partition *partition = &world->in_force.items[i];
        const struct oneib_member *member = member_of(partition, guid);
        if (!member)
            continue;
        struct place *place = place_of(node, partition->pkey);
        if (!place)
            place = place_of(node, 0);
        require(place, "a port gets more keys than it holds");
        *place = entry_for(partition, member);
    }
}

/* Whose key it gets is the SM's to say: that is its VM's cluster of this moment. */
static void program_vf(const struct world *world, struct vf *vf)
{
    if (vm_with_id(world, vf->vm_id))
        vf->cluster = cluster_of(world, vf->vm_id);
    const oneib_guid guid = oneib_guid_encode(SITE, vf->vm_id, 0);
    vf->own = (struct place){0};
    for (size_t i = 0; i < world->in_force.count; i++) {
        const struct oneib_partition *partition = &world->in_force.items[i];
        const struct oneib_member *member = member_of(partition, guid);
        if (!member)
            continue;
        require(!vf->own.pkey, "a VF is in two partitions");
        vf->own = entry_for(partition, member);
    }
}

static void program(struct world *world, size_t index)
{
    struct node *node = &world->nodes[index];
    program_port(world, index);
    for (size_t i = 0; node->is_mlx5 && i < VFS; i++)
        if (node->vfs[i].has_guid)
            program_vf(world, &node->vfs[i]);
}

/* ---- what must be so ------------------------------------------------------------------------- */

/* Where a VF leads: with mlx5 the SM decides that alone. NULL: nowhere. */
static const struct place *reached(const struct node *node, const struct vf *vf)
{
    const struct place *place = NULL;
    if (vf->taken && node->is_mlx5)
        place = vf->has_guid ? &vf->own : NULL;
    else if (vf->taken && vf->open)
        place = &node->places[vf->place];
    return place && place->pkey ? place : NULL;
}

static void vfs_reach_their_own(const struct world *world)
{
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < VFS; j++) {
            const struct vf *vf = &world->nodes[i].vfs[j];
            const struct place *place = reached(&world->nodes[i], vf);
            if (!place)
                continue;
            require(place->cluster == vf->cluster, "a VF reaches a stranger's cluster");
            require(place->limited || !vf->truly_narrowed, "a limited NIC is a full member");
        }
}

static void require_apart(const struct node *left, const struct vf *a, const struct node *right,
                          const struct vf *b)
{
    const struct place *one = reached(left, a), *other = reached(right, b);
    if (!one || !other)
        return;
    require(a->cluster == b->cluster || one->pkey != other->pkey, "two clusters meet by one key");
    require(!left->is_mlx5 || !right->is_mlx5 || a->vm_id != b->vm_id,
            "a GUID is in a partition that two VFs have");
}

static void strangers_do_not_meet(const struct world *world)
{
    for (size_t i = 0; i < HOSTS * VFS; i++) {
        const struct node *left = &world->nodes[i / VFS];
        if (left->vfs[i % VFS].taken)
            for (size_t j = 0; j < i; j++)
                require_apart(left, &left->vfs[i % VFS], &world->nodes[j / VFS],
                              &world->nodes[j / VFS].vfs[j % VFS]);
    }
}

static const struct network *with_id(const struct world *world, uint32_t id)
{
    for (size_t i = 0; i < NETWORKS; i++)
        if (world->networks[i].is_there && world->networks[i].id == id)
            return &world->networks[i];
    return NULL;
}

/* A grant is for who has truly leased, on the host where the VM is. */
static void grants_are_for_their_vms(const struct world *world, const struct oneib_grants *grants)
{
    for (size_t i = 0; i < grants->host_count; i++)
        for (size_t j = 0; j < grants->hosts[i].count; j++) {
            const struct oneib_grant *grant = &grants->hosts[i].items[j];
            const struct vm *vm = vm_with_id(world, grant->vm_id);
            require(vm != NULL, "a grant for nobody");
            const struct network *leased = &world->networks[vm->network];
            require(grant->network_id == leased->id, "a grant without a lease");
            require(grant->limited || !vm->narrowed, "a grant that is wider than its NIC");
            require(!vm->unreadable && !leased->unreadable, "a grant by what cannot be read");
            require(vm->host == grants->hosts[i].host_id || vm->source == grants->hosts[i].host_id,
                    "a grant for a host where the VM is not");
            const struct oneib_ledger_network *entry =
                oneib_ledger_network(&world->ledger, home_of(world, leased)->id);
            require(entry && entry->pkey == grant->pkey, "a grant of another's key");
        }
}

static bool is_its_member(const struct world *world, const struct vm *vm, uint32_t host,
                          oneib_guid guid)
{
    return host != 0 && guid == (world->nodes[host - 1].is_mlx5 ? oneib_guid_encode(SITE, vm->id, 0)
                                                                : port_of(host));
}

/* Static members are an operator's, and no port is in a partition without a reason. */
static void ports_are_members_for_a_reason(const struct world *world)
{
    for (size_t i = 0; i < world->desired.table.count; i++) {
        const struct oneib_partition *partition = &world->desired.table.items[i];
        unsigned id;
        if (sscanf(partition->name, "one%u", &id) != 1)
            continue;
        const struct network *home = with_id(world, id);
        require(home != NULL, "a partition of a network that is not there");
        const struct network *rules =
            home->parent < NETWORKS ? &world->networks[home->parent] : home;
        for (size_t j = 0; j < partition->member_count; j++) {
            const oneib_guid guid = partition->members[j].guid;
            bool has_reason = rules->user == 0 && rules->statics == guid && !home->unreadable;
            for (size_t k = 0; k < VMS; k++) {
                const struct vm *vm = &world->vms[k];
                has_reason |= vm->is_there && !vm->unreadable &&
                              home_of(world, &world->networks[vm->network]) == home &&
                              (is_its_member(world, vm, vm->host, guid) ||
                               is_its_member(world, vm, vm->source, guid));
            }
            require(has_reason, "a port is in a partition for nobody");
        }
    }
}

/* ---- a turn ---------------------------------------------------------------------------------- */

static void copy_table(const struct oneib_partition_table *from, struct oneib_partition_table *to)
{
    struct oneib_text text = {0};
    struct oneib_error err;
    oneib_partition_table_clear(to);
    oneib_partitions_render(from, &text);
    require(oneib_partitions_parse(text.data, text.length, "file", to, &err) == 0,
            "the file does not read back");
    oneib_text_clear(&text);
}

static void turn(struct world *world)
{
    struct oneib_node_snapshot snapshots[HOSTS];
    struct oneib_grants grants = {0};
    struct oneib_gate gate = {0};
    struct oneib_findings findings = {0};
    build_cloud(world);
    compute_desired(world);
    plan_keys(world);
    compute_desired(world);
    ports_are_members_for_a_reason(world);
    snapshot_nodes(world, snapshots);
    const struct oneib_grants_input asked = {.cloud = &world->cloud,
                                             .policy = &policy,
                                             .desired = &world->desired,
                                             .nodes = snapshots,
                                             .node_count = HOSTS};
    oneib_grants_compute(&asked, &grants, &findings);
    grants_are_for_their_vms(world, &grants);
    note_keys(world, snapshots, &grants);
    send_lists(world, &grants);
    snapshot_nodes(world, snapshots);
    const struct oneib_gate_input at_gate = {.cloud = &world->cloud,
                                             .desired = &world->desired,
                                             .in_force = &world->in_force,
                                             .grants = &grants,
                                             .nodes = snapshots,
                                             .node_count = HOSTS};
    oneib_gate_compute(&at_gate, &gate);
    copy_table(&gate.table, &world->in_force);
    for (size_t i = 0; i < HOSTS; i++) {
        program(world, i);
        if (world->nodes[i].connected)
            open_granted(world, &world->nodes[i]);
    }
    vfs_reach_their_own(world);
    strangers_do_not_meet(world);
    oneib_gate_clear(&gate);
    oneib_grants_clear(&grants);
    oneib_findings_clear(&findings);
}

static void clear(struct world *world)
{
    oneib_cloud_clear(&world->cloud);
    oneib_ledger_clear(&world->ledger);
    oneib_partition_table_clear(&world->in_force);
    oneib_desired_clear(&world->desired);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct oneib_grant_list lists_of[2 * HOSTS];
    struct world world = {.data = data, .size = size < LONGEST ? size : LONGEST};
    const unsigned adapters = take(&world, 1 << HOSTS);
    for (size_t i = 0; i < HOSTS; i++) {
        world.nodes[i] = (struct node){.connected = true,
                                       .is_mlx5 = adapters >> i & 1,
                                       .follows = &lists_of[2 * i],
                                       .sent = &lists_of[2 * i + 1]};
        world.nodes[i].follows->count = world.nodes[i].sent->count = 0;
    }
    for (size_t i = 0; i < 4; i++)
        reserve(&world, &world.networks[i]);
    while (world.size > 0) {
        happen(&world);
        turn(&world);
    }
    clear(&world);
    return 0;
}
