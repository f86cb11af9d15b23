// SPDX-License-Identifier: Apache-2.0
/*
 * oneib's mark in a domain's document, <oneib:tuning> in its <metadata>: which parts of the tuning
 * are oneib's. Private to core/domain.
 */
#ifndef ONEIB_DOMAIN_TUNING_INTERNAL_H
#define ONEIB_DOMAIN_TUNING_INTERNAL_H

#include "domain/threads.h"
#include "host/cores.h"
#include <libxml/tree.h>
#include <stdbool.h>

#define ONEIB_TUNING_MARK "tuning"
#define ONEIB_TUNING_PREFIX "oneib"
#define ONEIB_TUNING_HPC "hpc" /* an attribute of it, beside those of the parts */

/* Each is an attribute of the mark, "yes" where it holds. */
enum oneib_tuning_part {
    ONEIB_TUNING_PINS,     /* all <vcpupin> */
    ONEIB_TUNING_EMULATOR, /* <emulatorpin> */
    ONEIB_TUNING_MEMORY,   /* <memory> of <numatune> */
    ONEIB_TUNING_PAGES,    /* <hugepages> */
    ONEIB_TUNING_LOCKED,   /* <locked> */
    ONEIB_TUNING_PARTS
};

/* Where each part is: <PARENT><CHILD/></PARENT>, below <domain>. */
struct oneib_tuning_place {
    const char *attribute, *parent, *child;
};
extern const struct oneib_tuning_place oneib_tuning_places[ONEIB_TUNING_PARTS];

struct oneib_tuning_mark {
    bool is_there; /* and says that cores or memory were given */
    bool is_hpc;   /* the VM has IB_HPC: its cores are its own, whoever has chosen them */
    bool has[ONEIB_TUNING_PARTS];
};

bool oneib_tuning_is_mark(const xmlNode *node);
struct oneib_tuning_mark oneib_tuning_mark_read(const xmlNode *domain);

/*
 * The other mark, of a namespace of its own, as libvirt replaces marks by that: threads that oneib
 * has pinned where nobody else had, to keep them off others' cores. A list of ids each.
 */
#define ONEIB_KEPT_MARK "kept"

struct oneib_kept_mark {
    bool is_there;
    bool emulator;
    struct oneib_cpu_set vcpus, iothreads; /* ids, not CPUs */
};

bool oneib_is_kept_mark(const xmlNode *node);
struct oneib_kept_mark oneib_kept_mark_read(const xmlNode *domain);

/* Any <domain> / <parent> / <child>, of whomever. libvirt, too, looks into each of several parents.
 */
bool oneib_tuning_has(const xmlNode *domain, const char *parent, const char *child);

#endif
