// SPDX-License-Identifier: Apache-2.0
/* VMs: their NICs, their states and where they have been. */
#include "base/array.h"
#include "base/memory.h"
#include "standin_events.h"
#include "standin_networks.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* LCM states in which both the old and the new host count (recorded: 4, 7, 8, 35; OpenNebula's
 * state table). */
static const int migrating_states[] = {4, 7, 8, 35, 37, 38, 43, 44, 45, 46, 60, 61};

struct standin_vm *standin_vm_find(const struct standin_state *state, uint32_t id,
                                   struct oneib_error *err)
{
    if (id < state->vm_count)
        return state->vms[id];
    oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "Error getting virtual machine [%u].", id);
    return NULL;
}

static bool is_migrating(const struct standin_vm *vm)
{
    for (size_t i = 0; i < sizeof migrating_states / sizeof *migrating_states; i++)
        if (vm->state == VM_ACTIVE && vm->lcm_state == migrating_states[i])
            return true;
    return false;
}

/* STOPPED, UNDEPLOYED and DONE give their host's resources back; POWEROFF and SUSPENDED keep them.
 */
static bool keeps_its_host(const struct standin_vm *vm)
{
    return vm->state == VM_ACTIVE || vm->state == VM_POWEROFF || vm->state == 5;
}

uint32_t standin_vm_host(const struct standin_vm *vm)
{
    bool placed = keeps_its_host(vm) && vm->history_count > 0;
    return placed ? vm->history[vm->history_count - 1].host_id : UINT32_MAX;
}

uint32_t standin_vm_source(const struct standin_vm *vm)
{
    bool leaving = is_migrating(vm) && vm->history_count > 1;
    return leaving ? vm->history[vm->history_count - 2].host_id : UINT32_MAX;
}

bool standin_vm_is_on(const struct standin_vm *vm, uint32_t host_id)
{
    return standin_vm_host(vm) == host_id || standin_vm_source(vm) == host_id;
}

static void describe_nic(const struct standin_vm *vm, struct standin_nic *nic,
                         const struct standin_network *network)
{
    struct standin_attributes *own = &nic->attributes;
    uint32_t ip = network->first_ip + nic->address_index;
    unsigned a = ip >> 24, b = ip >> 16 & 255, c = ip >> 8 & 255, d = ip & 255;
    const struct standin_attributes *from = &network->attributes;
    standin_attributes_set(own, "AR_ID", "0");
    standin_attributes_set(own, "BRIDGE", standin_attributes_get(from, "BRIDGE"));
    standin_attributes_set(own, "BRIDGE_TYPE", standin_attributes_get(from, "BRIDGE_TYPE"));
    standin_attributes_set(own, "CLUSTER_ID", "0");
    standin_attributes_printf(own, "IP", "%u.%u.%u.%u", a, b, c, d);
    standin_attributes_printf(own, "MAC", "02:00:%02x:%02x:%02x:%02x", a, b, c, d);
    standin_attributes_printf(own, "NAME", "NIC%u", nic->id);
    standin_attributes_set(own, "NETWORK", network->name);
    standin_attributes_printf(own, "NETWORK_ID", "%u", network->id);
    standin_attributes_printf(own, "NIC_ID", "%u", nic->id);
    standin_attributes_set(own, "SECURITY_GROUPS", "0");
    standin_attributes_printf(own, "TARGET", "one-%u-%u", vm->id, nic->id);
    standin_attributes_set(own, "VN_MAD", standin_attributes_get(from, "VN_MAD"));
    standin_nic_inherit(nic, network);
}

static int add_nic(struct standin_state *state, struct standin_vm *vm, uint32_t network_id,
                   struct standin_nic **added, struct oneib_error *err)
{
    struct standin_network *network = standin_network_find(state, network_id, err);
    if (!network)
        return -1;
    ONEIB_RESERVE(vm->nics, vm->nic_capacity, vm->nic_count + 1);
    struct standin_nic *nic = &vm->nics[vm->nic_count];
    *nic = (struct standin_nic){.id = vm->next_nic_id, .network_id = network_id};
    if (standin_lease_take(network, vm->id, &nic->address_index, err) < 0)
        return -1;
    vm->nic_count++;
    vm->next_nic_id++;
    *added = nic;
    describe_nic(vm, nic, network);
    return 0;
}

static void remove_nic(struct standin_state *state, struct standin_vm *vm, size_t position)
{
    struct standin_nic *nic = &vm->nics[position];
    standin_lease_free(state->networks[nic->network_id], nic->address_index);
    standin_attributes_clear(&nic->attributes);
    vm->nic_count--;
    memmove(nic, nic + 1, (vm->nic_count - position) * sizeof *nic);
}

static struct standin_vm *add_vm(struct standin_state *state, const char *name)
{
    ONEIB_RESERVE(state->vms, state->vm_capacity, state->vm_count + 1);
    struct standin_vm *vm = oneib_alloc(1, sizeof *vm);
    vm->name = oneib_strdup(name);
    vm->id = (uint32_t)state->vm_count;
    vm->state = VM_PENDING;
    vm->start = ++state->now;
    state->vms[state->vm_count++] = vm;
    return vm;
}

int standin_vm_create(struct standin_state *state, const char *name, const uint32_t *networks,
                      size_t network_count, uint32_t *id, struct oneib_error *err)
{
    for (size_t i = 0; i < network_count; i++)
        if (!standin_network_find(state, networks[i], err))
            return -1;
    struct standin_vm *vm = add_vm(state, name);
    struct standin_nic *nic;
    if (add_nic(state, vm, STANDIN_ETHERNET_ID, &nic, err) < 0)
        return -1;
    for (size_t i = 0; i < network_count; i++)
        if (add_nic(state, vm, networks[i], &nic, err) < 0)
            return -1;
    *id = vm->id;
    standin_event_vm(state, vm);
    standin_event_call(state, &(struct standin_call_event){.call = "one.template.instantiate",
                                                           .in = {"0", name, "0", "", "0"},
                                                           .id = vm->id});
    return 0;
}

static int add_history(struct standin_state *state, struct standin_vm *vm, uint32_t host_id,
                       struct oneib_error *err)
{
    if (!standin_host_find(state, host_id, err))
        return -1;
    ONEIB_APPEND(vm->history, vm->history_count, vm->history_capacity,
                 (struct standin_history){.host_id = host_id, .start = ++state->now});
    return 0;
}

static void close_history(struct standin_history *record, int64_t now)
{
    if (!record->end)
        record->end = now;
    if (record->running_start && !record->running_end)
        record->running_end = now;
}

/* To another state; one that it is in already is no event. */
static void enter(const struct standin_state *state, struct standin_vm *vm, int vm_state,
                  int lcm_state)
{
    bool same = vm->state == vm_state && vm->lcm_state == lcm_state;
    vm->state = vm_state;
    vm->lcm_state = lcm_state;
    if (!same)
        standin_event_vm(state, vm);
}

int standin_vm_deploy(struct standin_state *state, uint32_t id, uint32_t host_id,
                      struct oneib_error *err)
{
    struct standin_vm *vm = standin_vm_find(state, id, err);
    if (!vm || add_history(state, vm, host_id, err) < 0)
        return -1;
    if (vm->history_count > 1)
        close_history(&vm->history[vm->history_count - 2], state->now);
    enter(state, vm, VM_ACTIVE, LCM_INIT);
    vm->history[vm->history_count - 1].prolog_start = state->now;
    enter(state, vm, VM_ACTIVE, LCM_PROLOG);
    return 0;
}

int standin_vm_migrate(struct standin_state *state, uint32_t id, uint32_t host_id, int lcm_state,
                       struct oneib_error *err)
{
    struct standin_vm *vm = standin_vm_find(state, id, err);
    if (!vm)
        return -1;
    if (vm->history_count == 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "Cannot migrate VM [%u], it is on no host", id);
    if (add_history(state, vm, host_id, err) < 0)
        return -1;
    standin_event_call(state,
                       &(struct standin_call_event){
                           .call = "one.vm.migrate",
                           .in = {standin_number(id).text, standin_number(host_id).text,
                                  lcm_state == LCM_MIGRATE ? "true" : "false", "false", "-1", "0"},
                           .id = id});
    enter(state, vm, VM_ACTIVE, lcm_state);
    return 0;
}

/* What was under way when a VM becomes RUNNING is then complete. */
static void complete(struct standin_state *state, struct standin_vm *vm)
{
    for (size_t i = vm->nic_count; i-- > 0;) {
        vm->nics[i].attaching = false;
        standin_attributes_remove(&vm->nics[i].attributes, "ATTACH");
        if (vm->nics[i].detaching)
            remove_nic(state, vm, i);
    }
    if (vm->history_count > 1)
        close_history(&vm->history[vm->history_count - 2], state->now);
    if (vm->history_count > 0) {
        struct standin_history *last = &vm->history[vm->history_count - 1];
        if (last->prolog_start && !last->prolog_end)
            last->prolog_end = state->now;
        if (!last->running_start)
            last->running_start = state->now;
    }
    vm->deployed = true;
}

/* The NICs stay in its document, as with oned; only their addresses are free again. */
static void finish(struct standin_state *state, struct standin_vm *vm)
{
    for (size_t i = 0; i < vm->nic_count; i++)
        standin_lease_free(state->networks[vm->nics[i].network_id], vm->nics[i].address_index);
    if (vm->history_count > 0)
        close_history(&vm->history[vm->history_count - 1], state->now);
    vm->end = state->now;
}

int standin_vm_set_state(struct standin_state *state, uint32_t id, int vm_state, int lcm_state,
                         struct oneib_error *err)
{
    struct standin_vm *vm = standin_vm_find(state, id, err);
    if (!vm)
        return -1;
    if (vm->state == VM_DONE)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "VM [%u] is in state DONE", id);
    state->now++;
    if (vm_state == VM_ACTIVE && lcm_state == LCM_RUNNING)
        complete(state, vm);
    if (vm_state == VM_DONE)
        finish(state, vm);
    enter(state, vm, vm_state, lcm_state);
    return 0;
}

/* The NIC of a VM on a host comes or goes. */
static void plug(const struct standin_state *state, struct standin_vm *vm, struct standin_nic *nic)
{
    standin_attributes_set(&nic->attributes, "ATTACH", "YES");
    enter(state, vm, VM_ACTIVE, LCM_HOTPLUG_NIC);
}

int standin_vm_attach(struct standin_state *state, uint32_t id, uint32_t network_id, uint32_t *nic,
                      struct oneib_error *err)
{
    struct standin_vm *vm = standin_vm_find(state, id, err);
    struct standin_nic *added;
    if (!vm || add_nic(state, vm, network_id, &added, err) < 0)
        return -1;
    *nic = added->id;
    state->now++;
    added->attaching = vm->state == VM_ACTIVE;
    if (added->attaching)
        plug(state, vm, added);
    char template[64];
    snprintf(template, sizeof template, "NIC = [ NETWORK_ID = \"%u\" ]", network_id);
    standin_event_call(state,
                       &(struct standin_call_event){.call = "one.vm.attachnic",
                                                    .in = {standin_number(id).text, template},
                                                    .id = id});
    return 0;
}

static struct standin_nic *find_nic(struct standin_vm *vm, uint32_t nic_id, struct oneib_error *err)
{
    for (size_t i = 0; i < vm->nic_count; i++)
        if (vm->nics[i].id == nic_id)
            return &vm->nics[i];
    oneib_fail(err, ONEIB_ERROR_INPUT, "VM [%u] has no NIC %u", vm->id, nic_id);
    return NULL;
}

int standin_vm_detach(struct standin_state *state, uint32_t id, uint32_t nic_id,
                      struct oneib_error *err)
{
    struct standin_vm *vm = standin_vm_find(state, id, err);
    struct standin_nic *nic = vm ? find_nic(vm, nic_id, err) : NULL;
    if (!nic)
        return -1;
    state->now++;
    nic->detaching = vm->state == VM_ACTIVE;
    if (!nic->detaching)
        remove_nic(state, vm, (size_t)(nic - vm->nics));
    else
        plug(state, vm, nic);
    standin_event_call(state, &(struct standin_call_event){
                                  .call = "one.vm.detachnic",
                                  .in = {standin_number(id).text, standin_number(nic_id).text},
                                  .id = id});
    return 0;
}

int standin_vm_set_nic(struct standin_state *state, uint32_t id, uint32_t nic_id, const char *text,
                       struct oneib_error *err)
{
    struct standin_vm *vm = standin_vm_find(state, id, err);
    struct standin_nic *nic = vm ? find_nic(vm, nic_id, err) : NULL;
    struct standin_attributes given = {0};
    if (!nic || standin_attributes_parse(&given, text, err) < 0)
        return -1;
    standin_attributes_merge(&nic->attributes, &given);
    for (size_t i = 0; i < given.count; i++)
        if (!*given.items[i].value)
            standin_attributes_remove(&nic->attributes, given.items[i].name);
    standin_attributes_clear(&given);
    standin_event_call(state,
                       &(struct standin_call_event){
                           .call = "one.vm.updatenic",
                           .in = {standin_number(id).text, standin_number(nic_id).text, text, "1"},
                           .id = id});
    return 0;
}

int standin_vm_write(struct standin_state *state, uint32_t id, const char *text,
                     struct oneib_error *err)
{
    struct standin_vm *vm = standin_vm_find(state, id, err);
    if (!vm)
        return -1;
    free(vm->note);
    vm->note = oneib_strdup(text);
    state->now++;
    standin_event_call(state,
                       &(struct standin_call_event){.call = "one.vm.update",
                                                    .in = {standin_number(id).text, "NOTE", "1"},
                                                    .id = id});
    return 0;
}
