// SPDX-License-Identifier: Apache-2.0
/*
 * The cloud that the stand-in pretends to have: hosts, networks and VMs by id, and what happens to
 * them. Ids are indexes and never reused. Time is counted, not read: every event takes one second,
 * so documents of two equal runs are equal. A refusal's error code says what oned would answer:
 * NOT_FOUND 1024, PERMISSION 512, else 2048.
 */
#ifndef STANDIN_STATE_H
#define STANDIN_STATE_H

#include "base/error.h"
#include "standin_attributes.h"
#include "standin_papers.h"
#include <stdbool.h>
#include <stdint.h>

#define STANDIN_ETHERNET_ID 0u /* the network of every VM's NIC 0; there from the start */

/* VM states (include/VirtualMachine.h of OpenNebula, as recorded). */
enum { VM_PENDING = 1, VM_ACTIVE = 3, VM_DONE = 6, VM_POWEROFF = 8 };
/* Of networks and hosts: include/VirtualNetwork.h and Host.h, as recorded. */
enum {
    NETWORK_READY = 1,
    NETWORK_LOCK_CREATE = 2,
    NETWORK_LOCK_DELETE = 3,
    NETWORK_DONE = 4,
    NETWORK_ERROR = 5
};
enum { HOST_INIT = 0, HOST_MONITORED = 2, HOST_ERROR = 3 };
enum { LCM_INIT = 0, LCM_PROLOG = 1, LCM_RUNNING = 3, LCM_MIGRATE = 4, LCM_HOTPLUG_NIC = 25 };

struct standin_nic {
    uint32_t id;
    uint32_t network_id;
    uint32_t address_index; /* its lease */
    bool attaching, detaching;
    struct standin_attributes attributes; /* as its document shows them */
};

struct standin_history {
    uint32_t host_id;
    int64_t start, end; /* end 0: still there */
    int64_t prolog_start, prolog_end, running_start, running_end;
};

struct standin_vm {
    uint32_t id;
    char *name;
    char *note; /* what its owner wrote into its user template; NULL: nothing */
    int state, lcm_state;
    int64_t start, end;
    bool deployed; /* has been on a host: has a deploy id */
    uint32_t next_nic_id;
    struct standin_nic *nics;
    size_t nic_count, nic_capacity;
    struct standin_history *history;
    size_t history_count, history_capacity;
};

struct standin_lease {
    uint32_t index, vm_id;
};

struct standin_owner {
    int uid, gid; /* zeroed: oneadmin */
};

struct standin_network {
    uint32_t id;
    char *name;
    struct standin_owner owner;
    int state, previous_state; /* once DONE it is nowhere to be found */
    bool is_reservation;
    uint32_t parent_id;
    uint32_t first_ip, size; /* the address range */
    uint32_t next_index;
    bool outdated; /* VMs' copies do not show the last update yet */
    struct standin_attributes attributes;
    struct standin_lease *leases;
    size_t lease_count, lease_capacity;
};

struct standin_host {
    uint32_t id;
    char *name;
    int state, previous_state;
    unsigned vfs_total;
    struct standin_attributes *hcas; /* the IB_HCA vectors */
    size_t hca_count, hca_capacity;
    struct standin_attributes attributes; /* of TEMPLATE, besides */
};

enum standin_fault {
    FAULT_NONE,
    FAULT_HTML,
    FAULT_TRUNCATED,
    FAULT_CLOSE,
    FAULT_HANG,
    FAULT_SLOW,
    FAULT_HTTP_500,
    FAULT_BAD_SESSION,
    FAULT_EMPTY_POOLS,
    FAULT_SHRINK_WINDOW,
    FAULT_UNRESTRICTED,
    FAULT_LATE_PLACER,
    FAULT_NO_PLACER,
    FAULT_NO_DOCUMENTS,
    FAULT_KEYS_OVERWRITTEN,
    FAULT_NO_NETWORK_UPDATE,
};

struct standin_calls {
    char *method;
    unsigned count;
};

struct standin_publisher;

struct standin_state {
    struct standin_publisher *publisher; /* of what happens here; NULL: it happens in silence */
    bool ascending, lazy_nics;
    int64_t now;
    struct standin_vm **vms;
    size_t vm_count, vm_capacity;
    struct standin_network **networks;
    size_t network_count, network_capacity;
    struct standin_host **hosts;
    size_t host_count, host_capacity;
    struct standin_papers papers;
    enum standin_fault fault;
    unsigned fault_calls, fault_seconds;
    unsigned acl_rights; /* of the user who has rights by ACL: enum standin_right */
    struct standin_calls *calls;
    size_t call_count, call_capacity;
};

int standin_state_init(struct standin_state *state, struct oneib_error *err);
void standin_state_clear(struct standin_state *state);

/* NULL with NOT_FOUND and oned's words. A deleted network is not found; a DONE VM is. */
struct standin_vm *standin_vm_find(const struct standin_state *state, uint32_t id,
                                   struct oneib_error *err);
struct standin_network *standin_network_find(const struct standin_state *state, uint32_t id,
                                             struct oneib_error *err);
struct standin_host *standin_host_find(const struct standin_state *state, uint32_t id,
                                       struct oneib_error *err);

/* The host it is on, or whose resources it keeps; and, while it migrates, the one it leaves. */
bool standin_vm_is_on(const struct standin_vm *vm, uint32_t host_id);
uint32_t standin_vm_host(const struct standin_vm *vm); /* UINT32_MAX: none */
uint32_t standin_vm_source(const struct standin_vm *vm);

struct standin_hca {
    const char *name, *driver, *port_guid;
    unsigned pkeys_max, vfs_total;
};
/* hca NULL: a host without HCA data. */
void standin_host_create(struct standin_state *state, const char *name,
                         const struct standin_hca *hca, uint32_t *id);

int standin_host_update(struct standin_state *state, uint32_t id, const char *text, bool append,
                        struct oneib_error *err);

/* One more IB_HCA vector, empty; NULL: no memory. */
struct standin_attributes *standin_host_add_hca(struct standin_host *host);
void standin_host_clear_hcas(struct standin_host *host);

/* What its probes printed, as monitord adds it to the host's template: lines NAME = VALUE, and
 * IB_HCA = [ NAME = "VALUE", ... ]. The vectors replace those that there were. */
int standin_host_monitor(struct standin_state *state, uint32_t id, const char *text,
                         struct oneib_error *err);
/* Its monitoring has failed. */
int standin_host_fail(struct standin_state *state, uint32_t id, struct oneib_error *err);

int standin_network_create(struct standin_state *state, const char *name, const char *vlan_id,
                           const char *extra, uint32_t *id, struct oneib_error *err);
int standin_network_reserve(struct standin_state *state, uint32_t parent_id, const char *name,
                            uint32_t *id, struct oneib_error *err);
int standin_network_update(struct standin_state *state, uint32_t id, const char *text, bool append,
                           struct oneib_error *err);
/* The driver's vnet_create has failed: ERROR. */
int standin_network_fail(struct standin_state *state, uint32_t id, struct oneib_error *err);
int standin_network_delete(struct standin_state *state, uint32_t id, struct oneib_error *err);
void standin_networks_propagate(struct standin_state *state);

int standin_vm_create(struct standin_state *state, const char *name, const uint32_t *networks,
                      size_t network_count, uint32_t *id, struct oneib_error *err);
int standin_vm_deploy(struct standin_state *state, uint32_t id, uint32_t host_id,
                      struct oneib_error *err);
/* RUNNING completes an attach, a detach and a migration; DONE gives the addresses back. */
int standin_vm_set_state(struct standin_state *state, uint32_t id, int vm_state, int lcm_state,
                         struct oneib_error *err);
int standin_vm_migrate(struct standin_state *state, uint32_t id, uint32_t host_id, int lcm_state,
                       struct oneib_error *err);
int standin_vm_attach(struct standin_state *state, uint32_t id, uint32_t network_id, uint32_t *nic,
                      struct oneib_error *err);
int standin_vm_detach(struct standin_state *state, uint32_t id, uint32_t nic_id,
                      struct oneib_error *err);
int standin_vm_set_nic(struct standin_state *state, uint32_t id, uint32_t nic_id, const char *text,
                       struct oneib_error *err);
/* What its owner writes appears in its documents as it is: oned does not escape it either. */
int standin_vm_write(struct standin_state *state, uint32_t id, const char *text,
                     struct oneib_error *err);

int standin_fault_set(struct standin_state *state, const char *kind, unsigned calls,
                      unsigned seconds, struct oneib_error *err);
void standin_calls_count(struct standin_state *state, const char *method);

#endif
