// SPDX-License-Identifier: Apache-2.0
/*
 * What the tests of failed hosts share: a cluster on the fabric of command_scene.h, with a VM on
 * the host that fails and one on another, and what their switches say of their ports.
 */
#ifndef ONEIB_FENCE_SCENE_H
#define ONEIB_FENCE_SCENE_H

#include "daemon_scene.h"

#define KEY 300u
#define FAILED 0u /* the host that fails, and its name */
#define FAILED_NAME "H1"
#define OTHER 1u

/* Of begin_fence(). */
extern struct fenced {
    uint32_t network, vm; /* the VM is on FAILED */
} fenced;

/* A cluster with a VM on both hosts, in force; their ports are in the ledger. */
void begin_fence(void);
/* Fences the host, which must come about, and gives what was said of its only port; to be let go by
 * json_decref(). */
json_t *fence_failed(void);

/* Until the ledger says whose that port is, and where. */
void await_pinned(uint64_t guid);

/* PortPhysicalState of the switch's port that JSON names, by its name. */
bool is_physically(json_t *port, const char *wanted);
void await_physically(json_t *port, const char *wanted);
/* A switch does so by itself, ibsim does not: a link that was disabled comes up again. */
void bring_up(size_t host);
/* What the probe of the host printed, or whoever speaks for it to monitord: an adapter's port, and
 * another one's unless it is 0. */
void probe_says(uint32_t host, uint64_t first, uint64_t second);

#endif
