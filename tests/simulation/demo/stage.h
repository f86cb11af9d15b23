// SPDX-License-Identifier: Apache-2.0
/*
 * The stage of the demo: tenants and their VMs on the lab's simulated nodes, and the measurement of
 * who reaches whom. What a VM can use is what the real probe, network driver and oneib-vf left in
 * its node's tree; the stage only does what OpenNebula and libvirt would: calls them in their
 * order, and says which domains there are.
 */
#ifndef ONEIB_DEMO_STAGE_H
#define ONEIB_DEMO_STAGE_H

#include "../lab.h"
#include "base/error.h"
#include "model/pkey.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEMO_TENANTS 3
#define DEMO_HOSTS 8
#define DEMO_NOWHERE SIZE_MAX
#define DEMO_VFS_PER_HOST 7
#define DEMO_VFS (DEMO_HOSTS * DEMO_VFS_PER_HOST)
#define DEMO_VMS_MAX DEMO_VFS

struct demo_vm {
    uint32_t id;
    size_t tenant;
    size_t host;
    size_t moving_to; /* a host, while it migrates; else DEMO_NOWHERE */
};

/* A VF of a host: a row and a column of what is measured. */
struct demo_vf {
    size_t host;
    unsigned number;
    const struct demo_vm *vm; /* whose it is by oneib's table on the host; NULL: nobody's */
};

struct demo_tenant {
    const char *name;
    uint32_t network;
    oneib_pkey pkey; /* as oneib allocated it */
    size_t vms;
};

/* Durations, in milliseconds. */
struct demo_times {
    double items[256];
    size_t count;
};

struct demo_stage {
    struct lab *lab;
    bool color;
    bool animate; /* standard output is a terminal: matrices are drawn over each other */
    unsigned drawn_lines;
    struct demo_tenant tenants[DEMO_TENANTS];
    size_t tenant_count;
    struct demo_vm vms[DEMO_VMS_MAX]; /* by tenant, then age */
    size_t vm_count;
    struct demo_vf vfs[DEMO_VFS]; /* those of VMs, in the order of vms; then nobody's */
    size_t used_count;            /* of VMs */
    unsigned held[DEMO_HOSTS];    /* bit t: the port holds tenant t's key, when it was asked last */
    /* what was checked */
    size_t steps, pairs, queries, wrong;
    struct demo_times opened; /* from the VM's deployment in OpenNebula until pre returned */
    struct demo_times gone;   /* from the VM's end in OpenNebula until its key is off the port */
};

/*
 * Waits until the host's port holds the keys of the tenants who have a VM there, and no other, as
 * smpquery reads them from the port. Where that is a change, the time since began_ms goes into
 * `times` (NULL: nowhere).
 */
int demo_settle(struct demo_stage *stage, size_t host, double began_ms, struct demo_times *times,
                struct oneib_error *err);

/* A new network without a P_Key; oneib gives it one (demo_learn_keys() waits for it). */
int demo_tenant_add(struct demo_stage *stage, const char *name, struct oneib_error *err);
int demo_learn_keys(struct demo_stage *stage, struct oneib_error *err);

/* From template to running: PROLOG, then pre, which waits for its key, the domain, post. Fails when
 * the host has no VF left. */
int demo_vm_add(struct demo_stage *stage, size_t tenant, size_t host, struct oneib_error *err);
/* The newest VM of the tenant shuts down: the domain ends, clean, it is gone; its key is too unless
 * another VM there has it. */
int demo_vm_remove(struct demo_stage *stage, size_t tenant, struct oneib_error *err);
/* A live migration in OpenNebula's order; it is measured between its steps. */
int demo_vm_migrate(struct demo_stage *stage, struct demo_vm *vm, size_t destination,
                    struct oneib_error *err);
size_t demo_vfs_used(const struct demo_stage *stage, size_t host);

/* measure.c: measures who reaches whom, through all VFs of all hosts, compares it with "same tenant
 * or nobody", and draws the VMs' under `title`. */
int demo_measure(struct demo_stage *stage, const char *title, struct oneib_error *err);

/* matrix.c: rows and columns are the first used_count of stage->vfs; cell(a, b) is reach[a *
 * DEMO_VFS + b]. */
void demo_matrix_draw(struct demo_stage *stage, const char *title, const bool *reach);

#endif
