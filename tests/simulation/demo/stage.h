// SPDX-License-Identifier: Apache-2.0
/*
 * The stage of the demo: tenants and their VMs on the lab's hosts, the VF maps that a host would
 * keep, and the measurement of who reaches whom. What is simulated says so: the VF map and the VMs
 * themselves; the ports' tables, opensm, its SA and oneib are real.
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
#define DEMO_VMS_MAX 64
#define DEMO_VFS_PER_HOST 7

enum demo_vf {
    DEMO_VF_CLOSED,  /* no map yet, or no more: the VM is not in the matrix */
    DEMO_VF_OPENING, /* to be mapped at the next measurement, as a host's driver does before a VM
                        starts */
    DEMO_VF_OPEN,
};

struct demo_vm {
    uint32_t id;
    size_t tenant;
    size_t host;
    size_t moving_to; /* a host, while it migrates; else DEMO_NOWHERE */
    enum demo_vf vf;
    unsigned index; /* of the port's P_Key table, when OPEN */
};

struct demo_tenant {
    const char *name;
    uint32_t network;
    oneib_pkey pkey; /* as oneib allocated it */
    size_t vms;
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
    unsigned held[DEMO_HOSTS]; /* bit t: the port holds tenant t's key, when it was asked last */
    /* what was checked */
    size_t steps, pairs, queries, wrong;
    double in_force_ms[256];
    size_t in_force_count;
};

/*
 * Waits until the host's port holds the keys of the tenants who have a VM there, and no other, as
 * smpquery reads them from the port. Where that is a change, the time since began_ms goes into the
 * statistics.
 */
int demo_settle(struct demo_stage *stage, size_t host, double began_ms, struct oneib_error *err);
/* Measures who reaches whom, compares it with "same tenant or nobody", draws the matrix under
 * `title`. */
int demo_measure(struct demo_stage *stage, const char *title, struct oneib_error *err);

/* A new network without a P_Key; oneib gives it one (demo_learn_keys() waits for it). */
int demo_tenant_add(struct demo_stage *stage, const char *name, struct oneib_error *err);
int demo_learn_keys(struct demo_stage *stage, struct oneib_error *err);

/* From template to running: PROLOG, its key is in force, the VF is opened, RUNNING. Fails when the
 * host has no VF left. */
int demo_vm_add(struct demo_stage *stage, size_t tenant, size_t host, struct oneib_error *err);
/* The newest VM of the tenant shuts down: its VF is closed, it is gone, its key is too unless
 * another VM there has it. */
int demo_vm_remove(struct demo_stage *stage, size_t tenant, struct oneib_error *err);
size_t demo_vfs_used(const struct demo_stage *stage, size_t host);

/* matrix.c: rows and columns are VMs in stage->vms whose VF is open; cell(a, b) is reach[a * count
 * + b]. */
void demo_matrix_draw(struct demo_stage *stage, const char *title, const bool *reach, size_t count);

#endif
