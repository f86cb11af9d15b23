// SPDX-License-Identifier: Apache-2.0
/* Something that blocks, done in a thread of its own while the caller's goes on with other things;
 * for core/opennebula alone. */
#ifndef ONEIB_OPENNEBULA_CALL_APART_H
#define ONEIB_OPENNEBULA_CALL_APART_H

#include "opennebula/one_client.h"

/* Does work(context), and returns when it is done; until then meanwhile->look() is called every
 * meanwhile->every_ms, in the caller's thread. The other thread has the caller's signal mask, and
 * starts nothing that outlives it. Where no thread can be had, the work is done in this one. */
void oneib_call_apart(const struct oneib_meanwhile *meanwhile, void (*work)(void *context),
                      void *context);

#endif
