// SPDX-License-Identifier: Apache-2.0
/*
 * The threads of a running domain that nobody has pinned, and keeping them off CPUs: what its
 * document says of them, and where they are to run. Pure. docs/design/vmm.md, Cores.
 *
 * libvirt cannot take a pin away again. So a mark in the domain's metadata says which threads oneib
 * has pinned; a thread of the mark counts as one that nobody has pinned, wherever it may run now.
 */
#ifndef ONEIB_DOMAIN_THREADS_H
#define ONEIB_DOMAIN_THREADS_H

#include "base/error.h"
#include "base/text.h"
#include "host/cores.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_KEPT_NAMESPACE "urn:oneib:kept:1"
#define ONEIB_KEPT_PREFIX "oneib-kept"

enum oneib_thread_kind {
    ONEIB_THREAD_VCPU,
    ONEIB_THREAD_EMULATOR,
    ONEIB_THREAD_IO,
};

struct oneib_loose_thread {
    enum oneib_thread_kind kind;
    uint32_t id;  /* of a virtual core, or an I/O thread; 0 of the emulator */
    bool is_kept; /* it is in the mark */
    char *cpus;   /* owned: the list of its pin; NULL: it has none, and runs anywhere */
};

struct oneib_domain_threads {
    char *name;                /* owned; NULL: it has none */
    char *uuid;                /* owned; likewise */
    bool has_hpc;              /* IB_HPC: `pins` are of its own cores */
    struct oneib_cpu_set pins; /* of virtual cores that others than the mark have pinned */
    struct oneib_cpu_set kept_vcpus, kept_io; /* ids of the mark, also of what is not plugged now */
    struct oneib_loose_thread *items; /* owned: threads that nobody has pinned, those of the mark
                                         among them */
    size_t count, capacity;
};

/* INPUT: malformed; more virtual cores than ONEIB_CPUS_MAX, or I/O threads. */
int oneib_domain_threads_read(const char *xml, size_t length, struct oneib_domain_threads *threads,
                              struct oneib_error *err);
void oneib_domain_threads_clear(struct oneib_domain_threads *threads);

/* Where its virtual cores may run that nobody has pinned, if there are some; floating: where any
 * may. */
struct oneib_cpu_set oneib_domain_reach(const struct oneib_domain_threads *threads,
                                        const struct oneib_cpu_set *floating);
/* The thread is to run there, and does not by its pin; floating as above. */
bool oneib_thread_must_move(const struct oneib_loose_thread *thread, const struct oneib_cpu_set *to,
                            const struct oneib_cpu_set *floating);
/* All loose threads are in the mark. */
bool oneib_domain_is_marked(const struct oneib_domain_threads *threads);
/* The mark with all of them and those that it has had, as libvirt takes it: an element in no namespace. */
void oneib_domain_mark_render(const struct oneib_domain_threads *threads, struct oneib_text *text);

/* The document as it would be without the mark and what it names; *freed stays empty when there is
 * no mark. For a saved domain, which may start on another host. */
int oneib_domain_free_threads(const char *xml, size_t length, struct oneib_text *freed,
                              struct oneib_error *err);

#endif
