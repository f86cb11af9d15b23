// SPDX-License-Identifier: Apache-2.0
/* The collections, hosts, faults and statistics; networks and VMs have files of their own. */
#include "standin_state.h"
#include "base/array.h"
#include "base/memory.h"
#include "standin_events.h"
#include <stdlib.h>
#include <string.h>

/* Some day in 2026; what counts is that it is always the same. */
#define CLOCK_START INT64_C(1795223380)

int standin_state_init(struct standin_state *state, struct oneib_error *err)
{
    uint32_t id;
    state->now = CLOCK_START;
    return standin_network_create(state, "ethnet", "",
                                  "VN_MAD=dummy\nBRIDGE=onebr0\nBRIDGE_TYPE=linux", &id, err);
}

struct standin_host *standin_host_find(const struct standin_state *state, uint32_t id,
                                       struct oneib_error *err)
{
    if (id < state->host_count)
        return state->hosts[id];
    oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "Error getting host [%u].", id);
    return NULL;
}

/* Node GUID of an adapter whose port 1 has this GUID, by the convention of Mellanox adapters and of
 * ibsim. */
static uint64_t node_guid_of(const char *port_guid)
{
    uint64_t guid = strtoull(port_guid, NULL, 16);
    return guid ? guid - 1 : 0;
}

static void describe_hca(struct standin_host *host, const struct standin_hca *hca)
{
    struct standin_attributes *vector = standin_host_add_hca(host);
    standin_attributes_set(vector, "NAME", hca->name);
    standin_attributes_set(vector, "DRIVER", hca->driver);
    standin_attributes_set(vector, "PCI", "0000:81:00.0");
    standin_attributes_printf(vector, "NODE_GUID", "0x%016llx",
                              (unsigned long long)node_guid_of(hca->port_guid));
    standin_attributes_set(vector, "PORT", "1");
    standin_attributes_set(vector, "PORT_GUID", hca->port_guid);
    standin_attributes_printf(vector, "LID", "%u", host->id + 1);
    standin_attributes_set(vector, "STATE", "ACTIVE");
    standin_attributes_set(vector, "RATE", "40");
    standin_attributes_printf(vector, "PKEYS_MAX", "%u", hca->pkeys_max);
    standin_attributes_printf(vector, "VFS_TOTAL", "%u", hca->vfs_total);
    standin_attributes_set(vector, "NUMA_NODE", "0");
    standin_attributes_printf(&host->attributes, "IB_VFS_TOTAL", "%u", hca->vfs_total);
    host->vfs_total = hca->vfs_total;
}

static void free_host(struct standin_host *host)
{
    free(host->name);
    standin_host_clear_hcas(host);
    free(host->hcas);
    standin_attributes_clear(&host->attributes);
    free(host);
}

static struct standin_host *add_host(struct standin_state *state, const char *name)
{
    ONEIB_RESERVE(state->hosts, state->host_capacity, state->host_count + 1);
    struct standin_host *host = oneib_alloc(1, sizeof *host);
    host->name = oneib_strdup(name);
    host->id = (uint32_t)state->host_count;
    state->hosts[state->host_count++] = host;
    return host;
}

void standin_host_create(struct standin_state *state, const char *name,
                         const struct standin_hca *hca, uint32_t *id)
{
    struct standin_host *host = add_host(state, name);
    standin_event_host(state, host);
    standin_event_call(state, &(struct standin_call_event){.call = "one.host.allocate",
                                                           .in = {name, "kvm", "kvm", "-1"},
                                                           .id = host->id,
                                                           .host = host});
    if (hca)
        describe_hca(host, hca);
    host->state = HOST_MONITORED;
    standin_event_host(state, host);
    /* As documents show a host that has been monitored more than once. */
    host->previous_state = HOST_MONITORED;
    *id = host->id;
}

int standin_host_fail(struct standin_state *state, uint32_t id, struct oneib_error *err)
{
    struct standin_host *host = standin_host_find(state, id, err);
    if (!host)
        return -1;
    host->previous_state = host->state;
    host->state = HOST_ERROR;
    standin_event_host(state, host);
    return 0;
}

int standin_host_update(struct standin_state *state, uint32_t id, const char *text, bool append,
                        struct oneib_error *err)
{
    struct standin_host *host = standin_host_find(state, id, err);
    if (!host)
        return -1;
    if (!append)
        standin_attributes_clear(&host->attributes);
    if (standin_attributes_parse(&host->attributes, text, err) < 0)
        return -1;
    standin_event_call(state, &(struct standin_call_event){
                                  .call = "one.host.update",
                                  .in = {standin_number(id).text, text, append ? "1" : "0"},
                                  .id = id});
    return 0;
}

static const struct {
    const char *name;
    enum standin_fault fault;
} fault_kinds[] = {
    {"html", FAULT_HTML},
    {"truncated", FAULT_TRUNCATED},
    {"close", FAULT_CLOSE},
    {"hang", FAULT_HANG},
    {"slow", FAULT_SLOW},
    {"http500", FAULT_HTTP_500},
    {"badsession", FAULT_BAD_SESSION},
    {"empty-pools", FAULT_EMPTY_POOLS},
    {"shrink-window", FAULT_SHRINK_WINDOW},
    {"unrestricted", FAULT_UNRESTRICTED},
    {"late-placer", FAULT_LATE_PLACER},
    {"no-placer", FAULT_NO_PLACER},
    {"no-documents", FAULT_NO_DOCUMENTS},
    {"keys-overwritten", FAULT_KEYS_OVERWRITTEN},
    {"no-network-update", FAULT_NO_NETWORK_UPDATE},
};

int standin_fault_set(struct standin_state *state, const char *kind, unsigned calls,
                      unsigned seconds, struct oneib_error *err)
{
    for (size_t i = 0; i < sizeof fault_kinds / sizeof *fault_kinds; i++) {
        if (strcmp(kind, fault_kinds[i].name) != 0)
            continue;
        state->fault = calls ? fault_kinds[i].fault : FAULT_NONE;
        state->fault_calls = calls;
        state->fault_seconds = seconds;
        return 0;
    }
    return oneib_fail(err, ONEIB_ERROR_INPUT, "No such kind of fault: \"%s\"", kind);
}

void standin_calls_count(struct standin_state *state, const char *method)
{
    for (size_t i = 0; i < state->call_count; i++) {
        if (strcmp(state->calls[i].method, method) == 0) {
            state->calls[i].count++;
            return;
        }
    }
    ONEIB_RESERVE(state->calls, state->call_capacity, state->call_count + 1);
    char *name = oneib_strdup(method);
    state->calls[state->call_count++] = (struct standin_calls){.method = name, .count = 1};
}

static void free_network(struct standin_network *network)
{
    free(network->name);
    free(network->leases);
    standin_attributes_clear(&network->attributes);
    free(network);
}

static void free_vm(struct standin_vm *vm)
{
    for (size_t i = 0; i < vm->nic_count; i++)
        standin_attributes_clear(&vm->nics[i].attributes);
    free(vm->nics);
    free(vm->history);
    free(vm->name);
    free(vm->note);
    free(vm);
}

void standin_state_clear(struct standin_state *state)
{
    for (size_t i = 0; i < state->host_count; i++)
        free_host(state->hosts[i]);
    for (size_t i = 0; i < state->network_count; i++)
        free_network(state->networks[i]);
    for (size_t i = 0; i < state->vm_count; i++)
        free_vm(state->vms[i]);
    for (size_t i = 0; i < state->call_count; i++)
        free(state->calls[i].method);
    standin_papers_clear(&state->papers);
    free(state->hosts);
    free(state->networks);
    free(state->vms);
    free(state->calls);
    *state = (struct standin_state){0};
}
