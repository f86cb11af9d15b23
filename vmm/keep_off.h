// SPDX-License-Identifier: Apache-2.0
/*
 * Domains that nobody has pinned, and the cores of VMs with IB_HPC: docs/design/vmm.md, Cores.
 * Nothing is remembered: all is computed each time from what libvirt says of all domains that run.
 * The lock of the cores (tune.h) is the caller's, where something is changed.
 */
#ifndef ONEIB_VMM_KEEP_OFF_H
#define ONEIB_VMM_KEEP_OFF_H

#include "base/error.h"
#include "base/text.h"
#include "config/config.h"
#include "host/cores.h"
#include "live/live.h"

/* Whether there is anything to be done before the domain of this document starts: only then the
 * lock is needed, which keeps others from starting meanwhile. */
int oneib_cores_matter(enum oneib_config_hpc_cores policy, const char *xml, size_t length,
                       bool *matter, struct oneib_error *err);
/*
 * Before the domain of this document starts, by the operator's word: one with IB_HPC is refused
 * where others would run on its cores, or has these kept off them from now on; any other one is
 * refused where it would run on cores of a domain with IB_HPC.
 */
int oneib_cores_admit(struct oneib_live *live, const struct oneib_host_cpus *host,
                      enum oneib_config_hpc_cores policy, const char *xml, size_t length,
                      struct oneib_text *warnings, struct oneib_error *err);

/*
 * Has all threads that nobody has pinned run on the CPUs where such threads may run, but for cores
 * of other domains with IB_HPC; where that leaves none, on all. What cannot be done of one domain,
 * which may be one that ends or moves just now, is a line of warnings.
 */
int oneib_keep_off(struct oneib_live *live, const struct oneib_host_cpus *host,
                   struct oneib_text *warnings, struct oneib_error *err);

/* A line for each running domain that nobody has pinned, or but to keep it off, and that may run on
 * cores of another one with IB_HPC now. */
int oneib_tell_sharing(struct oneib_live *live, const struct oneib_host_cpus *host,
                       struct oneib_text *lines, struct oneib_error *err);

#endif
