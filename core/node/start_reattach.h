// SPDX-License-Identifier: Apache-2.0
/* Calling `vmm/driver reattach`, which gives a running domain the VFs that it lacks. It is a program
 * of its own because it needs libvirt, which costs whoever links it 10 ms. */
#ifndef ONEIB_NODE_START_REATTACH_H
#define ONEIB_NODE_START_REATTACH_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

/* document: the VM's, as OpenNebula sent it, decoded; NULL: not known. REFUSED with its own words
 * when it fails; UNREACHABLE when it could not be called; TIMEOUT. */
int oneib_reattach(uint32_t vm_id, const char *document, size_t length, struct oneib_error *err);

/* The same by a certain program; for core/node and its tests. */
int oneib_reattach_by(const char *program, uint32_t vm_id, const char *document, size_t length,
                      uint32_t timeout_ms, struct oneib_error *err);

#endif
