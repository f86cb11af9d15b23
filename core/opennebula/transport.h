// SPDX-License-Identifier: Apache-2.0
/* XML-RPC over HTTP: xmlrpc-c, its faults turned into our errors; for core/opennebula alone. */
#ifndef ONEIB_OPENNEBULA_TRANSPORT_H
#define ONEIB_OPENNEBULA_TRANSPORT_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>
#include <xmlrpc-c/base.h>

struct oneib_meanwhile;
struct oneib_transport;

/* endpoint is borrowed and must outlive the transport. */
struct oneib_transport *oneib_transport_open(const char *endpoint, uint32_t timeout_ms,
                                             struct oneib_error *err);
void oneib_transport_close(struct oneib_transport *transport);

/* A call ends as TIMEOUT while *flag is not 0; NULL: never. */
void oneib_transport_set_interrupt(struct oneib_transport *transport, int *flag);

/* What is done while a call is under way, by the caller's thread (copied); NULL: nothing. */
void oneib_transport_set_meanwhile(struct oneib_transport *transport,
                                   const struct oneib_meanwhile *meanwhile);

/* Calls and returns the result (owned by the caller), or NULL. `secret` appears in no error. */
xmlrpc_value *oneib_transport_call(struct oneib_transport *transport, const char *method,
                                   xmlrpc_value *parameters, const char *secret,
                                   struct oneib_error *err);

/* Copies a text of the other side to `shown`, escaped and shortened; withheld when it repeats
 * `secret` ("user:password") or its password. */
void oneib_transport_show(const char *text, const char *secret, char *shown, size_t size);

/* Frees a text that xmlrpc-c allocated for its caller: it says const and means malloc(). */
void oneib_transport_free_text(const char *text);

#endif
