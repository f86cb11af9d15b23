// SPDX-License-Identifier: Apache-2.0
/*
 * Tuning for HPC in a domain's document: what it has of it, and the document with more. Pure.
 * docs/design/vmm.md, Tuning.
 */
#ifndef ONEIB_DOMAIN_TUNING_H
#define ONEIB_DOMAIN_TUNING_H

#include "base/error.h"
#include "base/text.h"
#include "host/cores.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_TUNING_NAMESPACE "urn:oneib:domain:1"

/* What a document says. What oneib has given is left out: it is given anew. The CPU's model is not
 * told apart, because a guest that was saved needs the one it had. */
struct oneib_domain_demand {
    uint32_t vcpus;            /* the most it can have: <vcpu>'s text, not @current */
    uint64_t memory_kib;       /* maximum, with its unit taken into account */
    uint64_t part_kib;         /* divides every piece of memory in it: virtual NUMA nodes', ... */
    bool pinned;               /* it has <vcpupin> */
    struct oneib_cpu_set pins; /* all CPUs of them, when pinned */
    bool has_numatune, has_hugepages, has_cpu_model;
    bool has_kvm; /* without it there is no host's CPU model to be had */
    bool locked;
    bool tuned; /* it has oneib's mark, which says that oneib has given cores or memory */
};

/* INPUT: malformed, or no <vcpu> or <memory> that can be read. Absent <vcpu> is 1, as in libvirt.
 */
int oneib_domain_demand_read(const char *xml, size_t length, struct oneib_domain_demand *demand,
                             struct oneib_error *err);
/* CPUs that a domain is pinned to, by whomever: all of <vcpupin>, and <vcpu cpuset=''>; none when
 * it is not pinned, or but kept off others' cores (threads.h). *name: owned by the caller; NULL: it has none. */
int oneib_domain_pins_read(const char *xml, size_t length, char **name, struct oneib_cpu_set *pins,
                           struct oneib_error *err);

/* Calls `each` for every <vcpupin>, until it fails: where virtual core `vcpu` runs. */
int oneib_domain_each_pin(const char *xml, size_t length,
                          int (*each)(uint32_t vcpu, const struct oneib_cpu_set *cpus,
                                      void *context, struct oneib_error *err),
                          void *context, struct oneib_error *err);

/* To be asked for only what the document has not of others. An <emulatorpin> of others stays. */
struct oneib_tuning {
    bool pin; /* cores.vcpus[i] is the CPU of virtual core i; the emulator runs on all threads */
    struct oneib_cores cores;
    bool bind_memory; /* strictly from `node` */
    uint32_t node;
    uint64_t page_kib; /* huge pages of this size; 0: none */
    bool host_cpu;     /* <cpu mode='host-passthrough'> */
    bool lock;         /* <memoryBacking><locked/> */
    bool mark;         /* say that the VM has IB_HPC, and which of this is oneib's */
};

/* The document with it. Of a document that has oneib's mark, what oneib gave is replaced. What is
 * not asked for, and all else, is canonically equal. */
int oneib_domain_tune(const char *xml, size_t length, const struct oneib_tuning *tuning,
                      struct oneib_text *tuned, struct oneib_error *err);

#endif
