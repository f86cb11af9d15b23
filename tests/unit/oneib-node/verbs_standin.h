// SPDX-License-Identifier: Apache-2.0
/* A stand-in for libibverbs, under whose name it is loaded: devices that a test makes and ends, and
 * events that it sends. Not thread-safe. */
#ifndef ONEIB_VERBS_STANDIN_H
#define ONEIB_VERBS_STANDIN_H

#include <infiniband/verbs.h>

void standin_add_device(const char *name);
/* It is listed, but opening it fails with that errno. */
void standin_forbid_device(const char *name, int error);
/* To whoever has it open. */
void standin_send_event(const char *name, enum ibv_event_type type);
/* It is gone: not listed any more; who has it open gets an end of file. */
void standin_remove_device(const char *name);
/* Contexts that are open, and events that were taken and not acknowledged. */
unsigned standin_open_count(void);
int standin_unacknowledged(void);
void standin_reset(void);

#endif
