// SPDX-License-Identifier: Apache-2.0
/* Calling `vmm/driver hpc_cores`, which keeps domains off others' cores, or says who is on them: a
 * program of its own, as it needs libvirt. */
#ifndef ONEIB_NODE_START_CORES_H
#define ONEIB_NODE_START_CORES_H

#include "base/error.h"
#include "base/text.h"

/* A line for each domain that may run on cores of a VM with IB_HPC; nothing is changed. UNREACHABLE
 * when it cannot be called, or libvirt not be asked. */
int oneib_cores_look(struct oneib_text *lines, struct oneib_error *err);

/* Starts it, and does not wait: a libvirt that hangs is not to hold up the caller, nor whoever reads
 * what that says. What it finds wrong oneib_cores_look() shows. */
void oneib_cores_start_keeping(void);

#endif
