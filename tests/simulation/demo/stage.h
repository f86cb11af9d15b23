// SPDX-License-Identifier: Apache-2.0
/*
 * The stage of the demo: tenants and their VMs on the lab's simulated nodes, and the measurement of
 * who reaches whom. What a VM can use is what the real probe, network driver and oneib-node left in
 * its node's tree; the stage only does what OpenNebula and libvirt would: calls them in their
 * order, and says which domains there are.
 */
#ifndef ONEIB_DEMO_STAGE_H
#define ONEIB_DEMO_STAGE_H

#include "../lab.h"
#include "base/error.h"
#include "base/text.h"
#include "ib/pkey.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEMO_TENANTS 3
#define DEMO_HOSTS 8
#define DEMO_NOWHERE SIZE_MAX
#define DEMO_VFS_PER_HOST 7
#define DEMO_VFS (DEMO_HOSTS * DEMO_VFS_PER_HOST)
#define DEMO_VMS_MAX DEMO_VFS
#define DEMO_PAIRS (DEMO_VFS * DEMO_VFS) /* ordered, free VFs too */

struct demo_vm {
    uint32_t id;
    size_t tenant;
    size_t host;
    size_t moving_to; /* a host, while it migrates; else DEMO_NOWHERE */
    bool has_failed; /* in the kept cloud: an action of OpenNebula's did, and the VM does not run */
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

/* What happens to a VM. */
enum demo_event {
    DEMO_STARTS,
    DEMO_STOPS,
    DEMO_MIGRATES,
    DEMO_MOVES_OUT, /* its VF on the source is closed */
    DEMO_HAS_MOVED,
    DEMO_STAYS, /* nothing: everything is measured once more */
};

/* Steps that are told in one line: the same thing happens to VMs of one tenant. */
#define DEMO_GROUP 5
struct demo_group {
    enum demo_event event;
    size_t tenant;
    struct demo_vm vms[DEMO_GROUP];
    size_t count;
    double slowest_ms;
    bool took_time; /* slowest_ms says something */
};

struct demo_stage {
    struct lab *lab;
    char qos_lines[4096]; /* what 'oneib qos' prints for opensm.conf; "": there are no classes */
    bool is_virtual;      /* adapters are mlx5, and VFs virtual ports */
    bool color;
    bool animate; /* standard output is a terminal with room: matrices are drawn over each other */
    unsigned drawn_lines;
    bool is_kept; /* somebody may have broken it: what does not work fails by itself */
    double began_ms;
    size_t group_size; /* steps that share a line, 1 to DEMO_GROUP */
    struct demo_group group;
    double last_ms; /* that the last step took; < 0: no time */
    struct demo_tenant tenants[DEMO_TENANTS];
    size_t tenant_count;
    struct demo_vm vms[DEMO_VMS_MAX]; /* by tenant, then age */
    size_t vm_count;
    struct demo_vf vfs[DEMO_VFS]; /* those of VMs, in the order of vms; then nobody's */
    size_t used_count;            /* of VMs */
    bool is_down[DEMO_HOSTS];     /* its link, and it was brought up once since */
    bool is_fenced[DEMO_HOSTS];   /* when the ledger was read last: it is off the fabric */
    unsigned held[DEMO_HOSTS];    /* bit t: the port holds tenant t's key, when it was asked last */
    bool reach[DEMO_PAIRS];       /* as it was measured last: cell (a, b) is a * DEMO_VFS + b */
    /* what was checked */
    size_t steps, pairs, queries, wrong;
    size_t violations;        /* of these: VMs of two tenants reach each other */
    size_t last_wrong;        /* in the last measurement */
    char first_wrong[256];    /* likewise; "": all held */
    struct demo_times opened; /* from the VM's deployment in OpenNebula until pre returned */
    struct demo_times gone;   /* from the VM's end in OpenNebula until its key is off the port */
    double take_over_ms;      /* from the master SM's end until the standby is master */
};

/*
 * Waits until the host's port holds the keys of the tenants who have a VM there, and no other, as
 * smpquery reads them from the port. Where that is a change, the time since began_ms goes into
 * `times` (NULL: nowhere).
 */
int demo_settle(struct demo_stage *stage, size_t host, double began_ms, struct demo_times *times,
                struct oneib_error *err);

/*
 * Reads which hosts are fenced, and brings up the links of those that were: ibsim does not by itself. Waits until their
 * ports have their keys.
 */
int demo_follow_fences(struct demo_stage *stage, struct oneib_error *err);

/* A new network of that class, without a P_Key; oneib gives it one (demo_learn_keys() waits for
 * it). Where there are no classes that is no more than a word. */
int demo_tenant_add(struct demo_stage *stage, const char *name, const char *qos_class,
                    struct oneib_error *err);
int demo_learn_keys(struct demo_stage *stage, struct oneib_error *err);

/*
 * Each is a step, or several: what it did is measured and told. A VM's id is stage->vms[].id. One that fails leaves the VM
 * as OpenNebula would: a VM that exists stays, and has_failed unless it runs.
 *
 * From template to running: PROLOG, then pre, which waits for its key, the domain, post. Fails when
 * the host has no VF left.
 */
int demo_vm_add(struct demo_stage *stage, size_t tenant, size_t host, struct oneib_error *err);
/* The VM shuts down: the domain ends, clean, it is gone; its key is too unless another VM there has
 * it. One that has failed, or whose host is fenced, is gone even when clean fails. */
int demo_vm_remove(struct demo_stage *stage, struct demo_vm *vm, struct oneib_error *err);
/* A live migration in OpenNebula's order; it is measured between its steps. */
int demo_vm_migrate(struct demo_stage *stage, struct demo_vm *vm, size_t destination,
                    struct oneib_error *err);

struct demo_vm *demo_vm_newest(struct demo_stage *stage, size_t tenant); /* NULL: it has none */
size_t demo_vfs_used(const struct demo_stage *stage, size_t host);
/* The first host that has a VF left and is not fenced: false when there is none. */
bool demo_find_room(const struct demo_stage *stage, size_t *host);
/* "H1" */
const char *demo_host_name(const struct demo_stage *stage, size_t host);

/* measure.c: measures who reaches whom, through all VFs of all hosts, into stage->reach, and
 * compares it with "same tenant or nobody". What is wrong is counted and told, and fails; in the
 * kept cloud only violations do. */
int demo_measure(struct demo_stage *stage, struct oneib_error *err);

/* Until the VM's VF on its host has the VM's GUID, after a migration: oneibd grants that when it
 * knows that the VF on the host before is gone. */
int demo_await_guid(struct demo_stage *stage, const struct demo_vm *vm, struct oneib_error *err);

/* tell.c: what is printed while the demo runs. */
void demo_tell_legend(const struct demo_stage *stage);
/* Measures after what happened to the VM (NULL: nothing did), and tells it: in a line of its own or
 * with others like it, or where there is room in the matrix. ms < 0: it took no time. */
int demo_step(struct demo_stage *stage, enum demo_event event, const struct demo_vm *vm, double ms,
              struct oneib_error *err);
/* Prints the line of the steps that have none yet. */
void demo_tell_rest(struct demo_stage *stage);
/* A turning point: what is reached so far, with the matrix. */
void demo_tell_matrix(struct demo_stage *stage, const char *title);
/* A paragraph; nothing is drawn over it. */
void demo_tell(struct demo_stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Everything in the words of an operator. */
void demo_tell_summary(struct demo_stage *stage);
/* Begins and ends the tenant's colour. */
void demo_begin_color(const struct demo_stage *stage, size_t tenant);
void demo_end_color(const struct demo_stage *stage);

/* matrix.c: who reaches whom, a row and a column for each tenant on each host. Returns its lines.
 */
unsigned demo_matrix_draw(const struct demo_stage *stage);
/* Below its title; one tenant has no more than four hosts when the third is there. */
#define DEMO_MATRIX_LINES (4 + 2 * DEMO_HOSTS + 3)
#define DEMO_COLUMNS 80 /* of a terminal: nothing that is told is wider */

/* keep.c: the cloud stays up until Ctrl-C, Enter or end of input on a terminal, or until that many
 * minutes are over; directory gets what a second terminal needs, and loses it at the end. */
int demo_keep(struct demo_stage *stage, const char *directory, unsigned minutes,
              struct oneib_error *err);
/* commands.c: what the second terminal asks for: argv[0] is vm-standin or on-host. Returns the exit
 * status for it; -1: what it did failed half way, and *err says where. */
int demo_command(struct demo_stage *stage, char *const *argv, struct oneib_text *out,
                 struct oneib_text *error, struct oneib_error *err);

#endif
