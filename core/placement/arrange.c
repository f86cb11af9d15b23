// SPDX-License-Identifier: Apache-2.0
#include "placement/arrange.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/order.h"
#include "ib/guid.h"
#include <stdlib.h>
#include <string.h>

#define STATE_ACTIVE 3 /* oned's VirtualMachine::VmState */

struct arranging {
    const struct oneib_sched_message *message;
    const struct oneib_cloud *running;
    int64_t *newest; /* owned: of each network in running, when a member of it has started last */
    int64_t newest_of_any;
    int64_t now;
    bool is_stuck; /* one has waited for long */
};

/* ---- which networks -------------------------------------------------------------------------- */

void oneib_waiting_networks(const struct oneib_sched_message *message,
                            struct oneib_id_set *networks)
{
    size_t nics;
    for (size_t i = 0; i < message->requirement_count; i++) {
        const struct oneib_attachment *nic =
            oneib_cloud_nics(&message->cloud, message->requirements[i].vm_id, &nics);
        if (nic)
            oneib_id_set_add(networks, nic->network_id);
    }
    oneib_id_set_sort(networks);
}

/* ---- where hosts are ------------------------------------------------------------------------- */

/* IB_SWITCH lists the switch of each of its ports: the first one's. */
static oneib_guid leaf_of(const struct oneib_host *host)
{
    oneib_guid guid;
    if (!host || !host->switches)
        return 0;
    return oneib_guid_parse_n(host->switches, strcspn(host->switches, ","), &guid) ? guid : 0;
}

static oneib_guid leaf_called(const struct oneib_sched_message *message,
                              const struct oneib_cloud *running, uint32_t host_id)
{
    const struct oneib_host *host = oneib_cloud_host(&message->cloud, host_id);
    return leaf_of(host ? host : oneib_cloud_host(running, host_id));
}

static int add_hosts(const struct oneib_sched_message *message, struct oneib_window *window,
                     struct oneib_error *err)
{
    bool is_told = false;
    for (size_t i = 0; i < message->cloud.host_count; i++) {
        const struct oneib_host *host = &message->cloud.hosts[i];
        is_told |= host->vfs_free >= 0;
        ONEIB_APPEND(window->hosts, window->host_count, window->host_capacity,
                     (struct oneib_open_host){
                         .id = host->id,
                         .leaf = leaf_of(host),
                         .vfs_free = host->vfs_free > 0 ? (uint32_t)host->vfs_free : 0});
    }
    return is_told ? 0
                   : oneib_fail(err, ONEIB_ERROR_REFUSED,
                                "no host says IB_VFS_FREE: oneibd is not at work");
}

/* ---- where clusters are ---------------------------------------------------------------------- */

/* Several NICs of a VM in one network are one VM. */
static bool is_counted(const struct oneib_cloud *running, size_t index)
{
    const struct oneib_attachment *nic = &running->attachments[index];
    for (size_t i = index; i-- > 0 && running->attachments[i].vm_id == nic->vm_id;)
        if (running->attachments[i].network_id == nic->network_id)
            return true;
    return false;
}

static void add_running(const struct oneib_sched_message *message,
                        const struct oneib_cloud *running, struct oneib_window *window)
{
    for (size_t i = 0; i < running->attachment_count; i++) {
        const struct oneib_attachment *nic = &running->attachments[i];
        if (!oneib_phase_has_place(nic->phase) || nic->host_id == ONEIB_NO_ID ||
            is_counted(running, i))
            continue;
        const oneib_guid leaf = leaf_called(message, running, nic->host_id);
        if (leaf != 0)
            oneib_window_settle(window, nic->network_id, leaf);
    }
}

/* ---- which links they use -------------------------------------------------------------------- */

static void add_level(struct oneib_links *links, const struct oneib_network *network)
{
    if (network->shown_sl == 0 || network->shown_sl == ONEIB_SL_INVALID)
        return;
    oneib_links_add_cluster(links, network->id, network->shown_sl, NULL, 0);
}

void oneib_links_catch_up(struct oneib_links *links, const struct oneib_cloud *running)
{
    for (size_t i = 0; i < running->network_count; i++)
        add_level(links, &running->networks[i]);
    for (size_t i = 0; i < running->attachment_count; i++) {
        const struct oneib_attachment *nic = &running->attachments[i];
        if (oneib_phase_has_place(nic->phase) && nic->host_id != ONEIB_NO_ID &&
            !is_counted(running, i))
            oneib_links_settle(links, nic->network_id, nic->host_id);
    }
}

/* ---- since when nobody came ------------------------------------------------------------------ */

static void find_newest(struct arranging *arranging)
{
    const struct oneib_cloud *running = arranging->running;
    arranging->newest = oneib_alloc(running->network_count + 1, sizeof *arranging->newest);
    for (size_t i = 0; i < running->attachment_count; i++) {
        const struct oneib_attachment *nic = &running->attachments[i];
        const struct oneib_network *network = oneib_cloud_network(running, nic->network_id);
        if (!network || !oneib_phase_has_place(nic->phase) || nic->host_id == ONEIB_NO_ID)
            continue;
        int64_t *newest = &arranging->newest[network - running->networks];
        if (nic->since > *newest && nic->since <= arranging->now) /* else it is forged */
            *newest = nic->since;
        if (*newest > arranging->newest_of_any)
            arranging->newest_of_any = *newest;
    }
}

/* Since when neither it nor another VM of its cluster was given a host. oned opens the next window
 * when the VMs of the one before run, and `rank` gives a host one VM in each: a large cluster, or
 * one that starts slowly, has its last VMs wait for long although everything goes on. */
static int64_t waits_since(const struct arranging *arranging, const struct oneib_asking_vm *vm,
                           uint32_t network_id)
{
    const struct oneib_cloud *running = arranging->running;
    const struct oneib_network *network = oneib_cloud_network(running, network_id);
    const int64_t newest = network ? arranging->newest[network - running->networks] : 0;
    return newest > vm->since ? newest : vm->since;
}

/* For the same reason a small cluster that comes after a large one to its leaf has none of its VMs
 * started for long: while others are given hosts it is not its turn yet. */
static bool has_waited(const struct arranging *arranging, const struct oneib_asking_vm *vm,
                       uint32_t network_id)
{
    const int64_t for_own = arranging->now - waits_since(arranging, vm, network_id);
    const int64_t for_any = arranging->now - arranging->newest_of_any;
    return for_own >= ONEIB_PLACEMENT_PATIENCE_S &&
           (for_any >= ONEIB_PLACEMENT_PATIENCE_S || for_own >= ONEIB_PLACEMENT_TURN_S);
}

/* ---- who waits ------------------------------------------------------------------------------- */

/* Those that the message has no document of are nobody's. */
static void take_hosts(const struct oneib_requirement *requirement,
                       const struct oneib_window *window, struct oneib_waiting_vm *vm)
{
    uint32_t id;
    size_t host = 0, at = 0;
    while (oneib_requirement_next(requirement, &at, &id)) {
        while (host < window->host_count && window->hosts[host].id < id)
            host++;
        if (host < window->host_count && window->hosts[host].id == id)
            oneib_waiting_allow(window, vm, host);
    }
}

/* It waits since long ago, other rules than ours say where it may go, or it runs and is moved. */
static bool is_free(struct arranging *arranging, const struct oneib_attachment *nic)
{
    const struct oneib_asking_vm *vm = oneib_sched_vm(arranging->message, nic->vm_id);
    const bool waits = vm && has_waited(arranging, vm, nic->network_id);
    arranging->is_stuck |= waits;
    return !vm || waits || vm->is_grouped || nic->state == STATE_ACTIVE;
}

static void add_vm(struct arranging *arranging, const struct oneib_requirement *requirement,
                   struct oneib_window *window)
{
    size_t nics;
    const struct oneib_attachment *nic =
        oneib_cloud_nics(&arranging->message->cloud, requirement->vm_id, &nics);
    if (!nic)
        return;
    const struct oneib_network *network = oneib_cloud_network(arranging->running, nic->network_id);
    struct oneib_waiting_vm *vm = ONEIB_ADD(window->vms, window->vm_count, window->vm_capacity);
    *vm = (struct oneib_waiting_vm){
        .id = requirement->vm_id,
        .network_id = nic->network_id,
        .nics = (uint32_t)nics,
        .placement = network ? network->placement : ONEIB_PLACEMENT_PACK,
        .has_waited = is_free(arranging, nic),
    };
    take_hosts(requirement, window, vm);
}

/* ---- whose turn it is ------------------------------------------------------------------------ */

/* Windows may follow each other by whole minutes: mixed until the last bit of the time counts. */
static uint64_t lot(int64_t now, uint32_t owner)
{
    uint64_t hash = oneib_hash_mix(ONEIB_HASH_BEGIN, (uint64_t)now);
    for (int round = 0; round < 2; round++)
        hash = oneib_hash_mix(hash, 0);
    return oneib_hash_mix(hash, owner);
}

ONEIB_ORDER_BY(compare_turns, struct oneib_waiting_vm, turn, id);

/* By owners: the cluster of one is not torn apart by that. */
static void draw_turns(const struct arranging *arranging, struct oneib_window *window)
{
    for (size_t i = 0; i < window->vm_count; i++) {
        const struct oneib_asking_vm *vm = oneib_sched_vm(arranging->message, window->vms[i].id);
        window->vms[i].turn = lot(arranging->now, vm ? vm->owner : ONEIB_NO_ID);
    }
    ONEIB_SORT(window->vms, window->vm_count, compare_turns);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int arrange(struct arranging *arranging, struct oneib_window *window,
                   struct oneib_error *err)
{
    const struct oneib_sched_message *message = arranging->message;
    if (add_hosts(message, window, err) < 0)
        return -1;
    add_running(message, arranging->running, window);
    find_newest(arranging);
    for (size_t i = 0; i < message->requirement_count; i++)
        add_vm(arranging, &message->requirements[i], window);
    if (arranging->is_stuck)
        draw_turns(arranging, window);
    return 0;
}

int oneib_window_arrange(const struct oneib_sched_message *message,
                         const struct oneib_cloud *running, int64_t now,
                         struct oneib_window *window, struct oneib_error *err)
{
    struct arranging arranging = {.message = message, .running = running, .now = now};
    *window = (struct oneib_window){0};
    const int status = arrange(&arranging, window, err);
    free(arranging.newest);
    if (status < 0)
        oneib_window_clear(window);
    return status;
}
