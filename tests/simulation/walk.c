// SPDX-License-Identifier: Apache-2.0
#include "walk.h"
#include "base/number.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Plain networks, a reservation with a key of its own, and one that shares its parent's partition:
 * all but the last are clusters. */
#define SHARED 0
#define RESERVED 1
#define RESERVATION 6 /* from RESERVED */
#define SHARER 7      /* from SHARED */
#define NO_NETWORK WALK_NETWORKS
#define FIRST_KEY 0x200
#define VFS_PER_HOST 40

size_t walk_dice(struct walk *walk, size_t sides)
{
    return (size_t)rand_r(&walk->random) % sides;
}

static struct walker_vm *pick(struct walk *walk, enum vm_phase phase)
{
    const size_t start = walk_dice(walk, WALK_VMS);
    for (size_t i = 0; i < WALK_VMS; i++) {
        struct walker_vm *vm = &walk->vms[(start + i) % WALK_VMS];
        if (vm->phase == phase)
            return vm;
    }
    return NULL;
}

static void say(struct walk *walk, const char *what, const struct walker_vm *vm)
{
    snprintf(walk->action, sizeof walk->action, "%s: VM %u, network %zu, host %zu", what, vm->id,
             vm->network, vm->host);
}

static int grow(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, GONE);
    if (!vm)
        return 0;
    *vm = (struct walker_vm){
        .phase = PROLOG,
        .network = walk_dice(walk, WALK_NETWORKS),
        .host = walk_dice(walk, WALK_HOSTS),
        .second = NO_NETWORK,
    };
    vm->bridged = walk->bridges[vm->network];
    if (lab_vm_create(walk->lab, "walker", &walk->networks[vm->network], 1, &vm->id, err) < 0 ||
        lab_vm_deploy(walk->lab, vm->id, (uint32_t)vm->host, err) < 0)
        return -1;
    say(walk, "deploy", vm);
    return 0;
}

static int start(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, PROLOG);
    if (!vm)
        return 0;
    vm->phase = RUNNING;
    say(walk, "run", vm);
    return lab_vm_running(walk->lab, vm->id, err);
}

static int leave(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, RUNNING);
    if (!vm)
        return 0;
    vm->phase = SHUTDOWN;
    say(walk, "shut down", vm);
    return lab_vm_state(walk->lab, vm->id, 3, 12, err);
}

static int vanish(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, SHUTDOWN);
    if (!vm)
        return 0;
    vm->phase = GONE;
    say(walk, "end", vm);
    return lab_vm_delete(walk->lab, vm->id, err);
}

static int migrate(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, RUNNING);
    if (!vm)
        return 0;
    vm->phase = MIGRATING;
    vm->source = vm->host;
    vm->host = (vm->host + 1 + walk_dice(walk, WALK_HOSTS - 1)) % WALK_HOSTS;
    say(walk, "migrate", vm);
    return lab_vm_migrate(walk->lab, vm->id, (uint32_t)vm->host, 4, err);
}

static int arrive(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, MIGRATING);
    if (!vm)
        return 0;
    vm->phase = RUNNING;
    say(walk, "arrive", vm);
    return lab_vm_running(walk->lab, vm->id, err);
}

static int power_off(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, RUNNING);
    if (!vm)
        return 0;
    vm->phase = POWERED_OFF;
    say(walk, "power off", vm);
    return lab_vm_state(walk->lab, vm->id, 8, 0, err);
}

static int power_on(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, POWERED_OFF);
    if (!vm)
        return 0;
    vm->phase = RUNNING;
    say(walk, "power on", vm);
    return lab_vm_running(walk->lab, vm->id, err);
}

static int lose_sight(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, RUNNING);
    if (!vm)
        return 0;
    vm->phase = UNKNOWN;
    say(walk, "unknown", vm);
    return lab_vm_state(walk->lab, vm->id, 3, 16, err);
}

static int find_again(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, UNKNOWN);
    if (!vm)
        return 0;
    vm->phase = RUNNING;
    say(walk, "found", vm);
    return lab_vm_running(walk->lab, vm->id, err);
}

static int hot_plug(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, RUNNING);
    if (!vm)
        return 0;
    vm->phase = HOT_PLUG;
    vm->detaching = vm->second != NO_NETWORK;
    if (vm->detaching) {
        say(walk, "detach", vm);
        return lab_vm_detach(walk->lab, vm->id, vm->second_nic, err);
    }
    vm->second = walk_dice(walk, WALK_NETWORKS);
    vm->second_bridged = walk->bridges[vm->second];
    say(walk, "attach", vm);
    return lab_vm_attach(walk->lab, vm->id, walk->networks[vm->second], &vm->second_nic, err);
}

static int plugged(struct walk *walk, struct oneib_error *err)
{
    struct walker_vm *vm = pick(walk, HOT_PLUG);
    if (!vm)
        return 0;
    vm->phase = RUNNING;
    if (vm->detaching)
        vm->second = NO_NETWORK;
    say(walk, "attached or detached", vm);
    return lab_vm_running(walk->lab, vm->id, err);
}

/* The operator gives a network another key, and with it the one that shares its partition; oned's
 * copy in every NIC follows at once in this lab. */
static int set_key(struct walk *walk, size_t network, unsigned key, struct oneib_error *err)
{
    char attribute[32];
    walk->keys[network] = key;
    snprintf(attribute, sizeof attribute, "VLAN_ID=%u", key);
    if (network == SHARED &&
        lab_network_update(walk->lab, walk->networks[SHARER], attribute, err) < 0)
        return -1;
    return lab_network_update(walk->lab, walk->networks[network], attribute, err);
}

static int change_key(struct walk *walk, struct oneib_error *err)
{
    const size_t network = walk_dice(walk, WALK_CLUSTERS);
    /* A bridge's VLAN_ID is not followed: it is another driver's. */
    if (walk->bridges[network])
        return 0;
    const unsigned key = walk->next_key++;
    snprintf(walk->action, sizeof walk->action, "network %zu moves to P_Key %u", network, key);
    return set_key(walk, network, key, err);
}

/* Two networks swap keys, the hardest case of a key that changes hands. That takes a hand in the
 * ledger: oneib gives no network's key to another. */
static int swap_keys(struct walk *walk, size_t a, size_t b, struct oneib_error *err)
{
    const unsigned key = walk->keys[a];
    snprintf(walk->action, sizeof walk->action, "networks %zu and %zu swap keys", a, b);
    walk->keys[a] = walk->keys[b];
    walk->keys[b] = key;
    if (lab_give_keys(walk->lab, err) < 0 ||
        lab_swap_keys(walk->lab, walk->networks[a], walk->networks[b], err) < 0)
        return -1;
    return a == SHARED || b == SHARED ? lab_give_keys(walk->lab, err) : 0;
}

/* One moves to another key, and its old one is wished for the other: that has it when no host may
 * hold it any more. */
static int inherit_key(struct walk *walk, size_t a, size_t b, struct oneib_error *err)
{
    const unsigned key = walk->keys[a];
    snprintf(walk->action, sizeof walk->action, "network %zu inherits P_Key %u of network %zu", b,
             key, a);
    return set_key(walk, a, walk->next_key++, err) < 0 || set_key(walk, b, key, err) < 0 ? -1 : 0;
}

/* A bridge's VLAN_ID is its own. */
static int hand_key_over(struct walk *walk, struct oneib_error *err)
{
    const size_t a = walk_dice(walk, WALK_CLUSTERS), b = (a + 1) % WALK_CLUSTERS;
    if (walk->bridges[a] || walk->bridges[b] ||
        (walk->bridges[SHARER] && (a == SHARED || b == SHARED)))
        return 0;
    return walk->edits_ledger ? swap_keys(walk, a, b, err) : inherit_key(walk, a, b, err);
}

/* Who is there stays; who is attached then is no member until the NIC is attached anew. */
static int switch_driver(struct walk *walk, struct oneib_error *err)
{
    if (!walk->switches_drivers)
        return 0;
    const size_t network = walk_dice(walk, WALK_NETWORKS);
    walk->bridges[network] = !walk->bridges[network];
    snprintf(walk->action, sizeof walk->action, "network %zu becomes %s", network,
             walk->bridges[network] ? "a bridge" : "InfiniBand again");
    return lab_network_update(walk->lab, walk->networks[network],
                              walk->bridges[network] ? "VN_MAD=bridge\nBRIDGE_TYPE=linux"
                                                     : "VN_MAD=infiniband\nBRIDGE_TYPE=none",
                              err);
}

typedef int (*step)(struct walk *walk, struct oneib_error *err);

static step random_step(struct walk *walk)
{
    /* Growing is as frequent as all that shrinks, so the walk stays in the middle. */
    static const step steps[] = {
        grow,       grow,          grow,      grow,     grow,     start,      start,
        start,      leave,         leave,     vanish,   vanish,   migrate,    migrate,
        arrive,     arrive,        power_off, power_on, power_on, lose_sight, find_again,
        change_key, hand_key_over, hot_plug,  hot_plug, plugged,  plugged,    switch_driver};
    return steps[walk_dice(walk, sizeof steps / sizeof *steps)];
}

static bool is_member(const struct walker_vm *vm)
{
    return vm->phase != GONE && vm->phase != POWERED_OFF;
}

/* The network whose partition a NIC is in. */
static size_t cluster_of(size_t network)
{
    return network == SHARER ? SHARED : network;
}

static bool is_on(const struct walker_vm *vm, size_t host)
{
    return vm->host == host || (vm->phase == MIGRATING && vm->source == host);
}

/* A NIC of a bridge keeps what was in force: on its host, or on the one that it is leaving. */
static bool was_there(const struct walk *walk, const struct walker_vm *vm, size_t host,
                      size_t cluster)
{
    const bool follows = vm->phase == MIGRATING && host == vm->host;
    return walk->held_keys[cluster] == walk->keys[cluster] &&
           (walk->held[host][cluster] || (follows && walk->held[vm->source][cluster]));
}

/* bridged: the NIC was made by a bridge's driver. */
static bool nic_brings(const struct walk *walk, const struct walker_vm *vm, size_t network,
                       bool bridged, size_t host, size_t cluster)
{
    return network != NO_NETWORK && cluster_of(network) == cluster && !bridged &&
           (!walk->bridges[network] || was_there(walk, vm, host, cluster));
}

static bool host_should_hold(const struct walk *walk, size_t host, size_t cluster)
{
    for (size_t i = 0; i < WALK_VMS; i++) {
        const struct walker_vm *vm = &walk->vms[i];
        if (is_member(vm) && is_on(vm, host) &&
            (nic_brings(walk, vm, vm->network, vm->bridged, host, cluster) ||
             nic_brings(walk, vm, vm->second, vm->second_bridged, host, cluster)))
            return true;
    }
    return false;
}

static void remember_what_is_held(struct walk *walk)
{
    bool held[WALK_HOSTS][WALK_CLUSTERS];
    for (size_t host = 0; host < WALK_HOSTS; host++)
        for (size_t cluster = 0; cluster < WALK_CLUSTERS; cluster++)
            held[host][cluster] = host_should_hold(walk, host, cluster);
    memcpy(walk->held, held, sizeof held);
    memcpy(walk->held_keys, walk->keys, sizeof walk->held_keys);
}

static int compare_keys(const void *a, const void *b)
{
    return (int)*(const unsigned *)a - (int)*(const unsigned *)b;
}

/* Where adapters have two ports every second network is the second port's, and so is what is
 * reserved from one. */
static unsigned port_of(const struct walk *walk, size_t cluster)
{
    const size_t origin = cluster == RESERVATION ? RESERVED : cluster;
    return 1 + (unsigned)origin % lab_host_ports(walk->lab);
}

/* What a compute host's port should hold, as fabric-tables would print it with sorted keys. */
size_t walk_expected(const struct walk *walk, size_t host, unsigned port, unsigned *keys)
{
    size_t count = 0;
    keys[count++] = RAW_DEFAULT_LIMITED;
    for (size_t network = 0; network < WALK_CLUSTERS; network++)
        if (port_of(walk, network) == port && host_should_hold(walk, host, network))
            keys[count++] = walk->keys[network] | RAW_FULL_BIT;
    qsort(keys, count, sizeof *keys, compare_keys);
    return count;
}

static size_t found_keys(const char *line, unsigned *keys, size_t room)
{
    size_t count = 0;
    const char *blank = strchr(line, ' ');
    for (; blank && count < room; blank = strchr(blank + 1, ' '))
        keys[count++] = (unsigned)strtoul(blank + 1, NULL, 16);
    qsort(keys, count, sizeof *keys, compare_keys);
    return count;
}

/* *port: 0 where the GUID is no compute host's. */
static size_t host_of_guid(const struct walk *walk, uint64_t guid, unsigned *port)
{
    for (size_t host = 0; host < WALK_HOSTS; host++)
        for (*port = lab_host_ports(walk->lab); *port > 0; (*port)--)
            if (lab_host_guid_of_port(walk->lab, host, *port) == guid)
                return host;
    return SIZE_MAX;
}

/* Switches and the SM's host are in the default partition only, the SM's port fully. */
static size_t expected_elsewhere(uint64_t guid, unsigned *keys)
{
    keys[0] = guid == LAB_SM_PORT_GUID ? 0xffff : RAW_DEFAULT_LIMITED;
    return 1;
}

static bool port_is_right(const struct walk *walk, const char *line)
{
    unsigned expected[WALK_CLUSTERS + 1], found[64];
    const uint64_t guid = strtoull(line, NULL, 16);
    unsigned port;
    const size_t host = host_of_guid(walk, guid, &port);
    const size_t expected_count =
        port == 0 ? expected_elsewhere(guid, expected) : walk_expected(walk, host, port, expected);
    const size_t found_count = found_keys(line, found, sizeof found / sizeof *found);
    return found_count == expected_count &&
           memcmp(found, expected, found_count * sizeof *found) == 0;
}

size_t walk_count_wrong(struct walk *walk, char *tables)
{
    size_t wrong = 0;
    char *rest = NULL;
    for (char *line = strtok_r(tables, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (!port_is_right(walk, line)) {
            fprintf(stderr, "after \"%s\" wrong: %s\n", walk->action, line);
            wrong++;
        }
    return wrong;
}

static int create_network(struct walk *walk, size_t network, struct oneib_error *err)
{
    char name[16], vlan_id[16], more[64];
    walk->keys[network] = walk->next_key++;
    snprintf(name, sizeof name, "net%zu", network);
    snprintf(vlan_id, sizeof vlan_id, "%u", walk->keys[network]);
    snprintf(more, sizeof more, "%sPHYDEV=mlx4_0:%u\n",
             network == SHARED ? "IB_RESERVATION=shared\n" : "", port_of(walk, network));
    return lab_network_create(walk->lab, name, vlan_id, more, &walk->networks[network], err);
}

static int create_networks(struct walk *walk, struct oneib_error *err)
{
    for (size_t i = 0; i < RESERVATION; i++)
        if (create_network(walk, i, err) < 0)
            return -1;
    if (lab_network_reserve(walk->lab, walk->networks[RESERVED], "reservation",
                            &walk->networks[RESERVATION], err) < 0 ||
        lab_network_reserve(walk->lab, walk->networks[SHARED], "sharer", &walk->networks[SHARER],
                            err) < 0)
        return -1;
    return set_key(walk, RESERVATION, walk->next_key++, err);
}

int walk_raise(struct walk *walk, const struct lab_sm *sm, const struct lab_config *config,
               struct oneib_error *err)
{
    const struct lab_options tree = LAB_DEFAULTS;
    const struct lab_options other = {.shape = walk->shape, .hosts_per_leaf = 2};
    walk->next_key = FIRST_KEY;
    walk->lab = lab_open(walk->shape ? &other : &tree, err);
    return walk->lab && lab_fabric_start(walk->lab, err) == 0 &&
                   lab_opensm_start(walk->lab, sm, err) == 0 &&
                   lab_standin_start(walk->lab, NULL, err) == 0 &&
                   lab_add_hosts(walk->lab, walk->edits_ledger ? 0 : VFS_PER_HOST, err) == 0 &&
                   lab_config_write(walk->lab, config, err) == 0 && create_networks(walk, err) == 0
               ? 0
               : -1;
}

int walk_step(struct walk *walk, struct oneib_error *err)
{
    snprintf(walk->action, sizeof walk->action, "nothing to do");
    remember_what_is_held(walk);
    return random_step(walk)(walk, err);
}

unsigned walk_setting(const char *name, unsigned otherwise)
{
    uint64_t value;
    return oneib_parse_decimal(getenv(name), UINT32_MAX, &value) ? (unsigned)value : otherwise;
}
