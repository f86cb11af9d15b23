// SPDX-License-Identifier: Apache-2.0
/* Networks: creation, reservations, updates and how they reach the NICs' copies. */
#include "standin_networks.h"
#include "base/array.h"
#include "base/memory.h"
#include "standin_events.h"
#include <stdlib.h>
#include <string.h>

/* What a NIC takes over from its network, as the recorded documents show. */
static const char *const inherited[] = {"GATEWAY", "MTU", "PHYDEV", "VLAN_ID"};
/* What oned itself keeps of a network whose template is replaced. */
static const char *const kept[] = {"BRIDGE", "BRIDGE_TYPE", "OUTER_VLAN_ID", "SECURITY_GROUPS",
                                   "VN_MAD"};

#define ETHERNET_FIRST_IP 0xac10000au /* 172.16.0.10 */
#define ETHERNET_SIZE 1000000u
#define NETWORK_SIZE 65000u

struct standin_network *standin_network_find(const struct standin_state *state, uint32_t id,
                                             struct oneib_error *err)
{
    if (id < state->network_count && state->networks[id]->state != NETWORK_DONE)
        return state->networks[id];
    oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "Error getting virtual network [%u].", id);
    return NULL;
}

/* 10.20.0.10, 10.21.0.10, ...: tenants' ranges may be the same, and with enough networks they are.
 */
static void plan_addresses(struct standin_network *network)
{
    bool ethernet = network->id == STANDIN_ETHERNET_ID;
    network->size = ethernet ? ETHERNET_SIZE : NETWORK_SIZE;
    network->first_ip =
        ethernet ? ETHERNET_FIRST_IP : 0x0a00000au | (20 + (network->id - 1) % 200) << 16;
}

static struct standin_network *add_network(struct standin_state *state, const char *name)
{
    ONEIB_RESERVE(state->networks, state->network_capacity, state->network_count + 1);
    struct standin_network *network = oneib_alloc(1, sizeof *network);
    network->name = oneib_strdup(name);
    network->id = (uint32_t)state->network_count;
    network->state = NETWORK_LOCK_CREATE;
    plan_addresses(network);
    state->networks[state->network_count++] = network;
    return network;
}

static void change_state(struct standin_state *state, struct standin_network *network,
                         int new_state)
{
    network->previous_state = network->state;
    network->state = new_state;
    standin_event_network(state, network);
}

int standin_network_create(struct standin_state *state, const char *name, const char *vlan_id,
                           const char *extra, uint32_t *id, struct oneib_error *err)
{
    struct standin_attributes given = {0};
    if (standin_attributes_parse(&given, extra, err) < 0)
        return -1;
    struct standin_network *network = add_network(state, name);
    struct standin_attributes *own = &network->attributes;
    standin_attributes_set(own, "BRIDGE", "");
    standin_attributes_set(own, "BRIDGE_TYPE", "none");
    standin_attributes_set(own, "OUTER_VLAN_ID", "");
    standin_attributes_set(own, "PHYDEV", "");
    standin_attributes_set(own, "SECURITY_GROUPS", "0");
    standin_attributes_set(own, "VLAN_ID", vlan_id);
    standin_attributes_set(own, "VN_MAD", "infiniband");
    standin_attributes_merge(own, &given);
    standin_attributes_clear(&given);
    *id = network->id;
    standin_event_call(state, &(struct standin_call_event){.call = "one.vn.allocate",
                                                           .in = {extra, "-1"},
                                                           .id = network->id,
                                                           .network = network});
    change_state(state, network, NETWORK_READY);
    return 0;
}

int standin_network_reserve(struct standin_state *state, uint32_t parent_id, const char *name,
                            uint32_t *id, struct oneib_error *err)
{
    struct standin_network *parent = standin_network_find(state, parent_id, err);
    if (!parent)
        return -1;
    struct standin_network *network = add_network(state, name);
    network->is_reservation = true;
    network->parent_id = parent_id;
    *id = network->id;
    standin_attributes_merge(&network->attributes, &parent->attributes);
    standin_event_network(state, network);
    standin_event_call(state,
                       &(struct standin_call_event){.call = "one.vn.reserve",
                                                    .in = {standin_number(parent_id).text, name},
                                                    .id = network->id});
    change_state(state, network, NETWORK_READY);
    return 0;
}

/* VLAN_ID and PHYDEV are members of the network in oned: replacing the template empties them, it
 * does not remove them. */
static void drop_replaced(struct standin_network *network)
{
    struct standin_attributes rest = {0};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *value = standin_attributes_get(&network->attributes, kept[i]);
        standin_attributes_set(&rest, kept[i], value);
    }
    standin_attributes_clear(&network->attributes);
    network->attributes = rest;
    standin_attributes_set(&network->attributes, "PHYDEV", "");
    standin_attributes_set(&network->attributes, "VLAN_ID", "");
}

/* Whether the network's update has not reached the NIC yet. */
static bool is_outdated(const struct standin_nic *nic, const struct standin_network *network)
{
    for (size_t i = 0; i < sizeof inherited / sizeof *inherited; i++)
        if (strcmp(standin_attributes_get(&nic->attributes, inherited[i]),
                   standin_attributes_get(&network->attributes, inherited[i])) != 0)
            return true;
    return false;
}

void standin_nic_inherit(struct standin_nic *nic, const struct standin_network *network)
{
    for (size_t i = 0; i < sizeof inherited / sizeof *inherited; i++) {
        const char *value = standin_attributes_get(&network->attributes, inherited[i]);
        if (!*value)
            standin_attributes_remove(&nic->attributes, inherited[i]);
        else
            standin_attributes_set(&nic->attributes, inherited[i], value);
    }
}

/* A running VM is in HOTPLUG_NIC while its NICs follow (recorded). */
static void pass_through(const struct standin_state *state, struct standin_vm *vm, int lcm_state)
{
    vm->lcm_state = lcm_state;
    standin_event_vm(state, vm);
}

static void update_vm(const struct standin_state *state, struct standin_vm *vm,
                      const struct standin_network *network)
{
    bool outdated = false;
    for (size_t n = 0; n < vm->nic_count; n++)
        outdated |= vm->nics[n].network_id == network->id && is_outdated(&vm->nics[n], network);
    if (!outdated)
        return;
    bool running = vm->state == VM_ACTIVE && vm->lcm_state == LCM_RUNNING;
    if (running)
        pass_through(state, vm, LCM_HOTPLUG_NIC);
    for (size_t n = 0; n < vm->nic_count; n++)
        if (vm->nics[n].network_id == network->id)
            standin_nic_inherit(&vm->nics[n], network);
    if (running)
        pass_through(state, vm, LCM_RUNNING);
}

static void propagate(struct standin_state *state, struct standin_network *network)
{
    network->outdated = false;
    for (size_t v = 0; v < state->vm_count; v++)
        if (state->vms[v]->state != VM_DONE)
            update_vm(state, state->vms[v], network);
}

int standin_network_update(struct standin_state *state, uint32_t id, const char *text, bool append,
                           struct oneib_error *err)
{
    struct standin_network *network = standin_network_find(state, id, err);
    if (!network)
        return -1;
    struct standin_attributes given = {0};
    if (standin_attributes_parse(&given, text, err) < 0)
        return -1;
    if (!append)
        drop_replaced(network);
    standin_attributes_merge(&network->attributes, &given);
    standin_attributes_clear(&given);
    state->now++;
    network->outdated = true;
    standin_event_call(state, &(struct standin_call_event){
                                  .call = "one.vn.update",
                                  .in = {standin_number(id).text, text, append ? "1" : "0"},
                                  .id = id});
    if (!state->lazy_nics)
        propagate(state, network);
    return 0;
}

void standin_networks_propagate(struct standin_state *state)
{
    for (size_t i = 0; i < state->network_count; i++)
        if (state->networks[i]->outdated)
            propagate(state, state->networks[i]);
}

int standin_network_fail(struct standin_state *state, uint32_t id, struct oneib_error *err)
{
    struct standin_network *network = standin_network_find(state, id, err);
    if (!network)
        return -1;
    change_state(state, network, NETWORK_ERROR);
    return 0;
}

int standin_network_delete(struct standin_state *state, uint32_t id, struct oneib_error *err)
{
    struct standin_network *network = standin_network_find(state, id, err);
    if (!network)
        return -1;
    change_state(state, network, NETWORK_LOCK_DELETE);
    standin_event_call(state, &(struct standin_call_event){.call = "one.vn.delete",
                                                           .in = {standin_number(id).text},
                                                           .id = id,
                                                           .network = network});
    change_state(state, network, NETWORK_DONE);
    return 0;
}

static size_t lease_position(const struct standin_network *network, uint32_t index)
{
    size_t position = network->lease_count;
    while (position > 0 && network->leases[position - 1].index > index)
        position--;
    return position;
}

static bool is_leased(const struct standin_network *network, uint32_t index)
{
    size_t position = lease_position(network, index);
    return position > 0 && network->leases[position - 1].index == index;
}

int standin_lease_take(struct standin_network *network, uint32_t vm_id, uint32_t *index,
                       struct oneib_error *err)
{
    if (network->lease_count >= network->size)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "Cannot get IP/MAC lease from virtual network %u.", network->id);
    uint32_t candidate = network->next_index;
    while (is_leased(network, candidate))
        candidate = (candidate + 1) % network->size;
    ONEIB_RESERVE(network->leases, network->lease_capacity, network->lease_count + 1);
    size_t position = lease_position(network, candidate);
    memmove(network->leases + position + 1, network->leases + position,
            (network->lease_count - position) * sizeof *network->leases);
    network->leases[position] = (struct standin_lease){.index = candidate, .vm_id = vm_id};
    network->lease_count++;
    network->next_index = (candidate + 1) % network->size;
    *index = candidate;
    return 0;
}

void standin_lease_free(struct standin_network *network, uint32_t index)
{
    for (size_t i = 0; i < network->lease_count; i++) {
        if (network->leases[i].index != index)
            continue;
        network->lease_count--;
        memmove(network->leases + i, network->leases + i + 1,
                (network->lease_count - i) * sizeof *network->leases);
        return;
    }
}
