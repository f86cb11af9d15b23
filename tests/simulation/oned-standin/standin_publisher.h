// SPDX-License-Identifier: Apache-2.0
/*
 * The ZeroMQ publisher, and the faults of the stream. Failures of publishing are swallowed: as with
 * oned, nobody is told. Guarded by the lock of the state.
 */
#ifndef STANDIN_PUBLISHER_H
#define STANDIN_PUBLISHER_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct standin_publisher;

/* On 127.0.0.1. */
struct standin_publisher *standin_publisher_open(uint16_t port, struct oneib_error *err);
void standin_publisher_close(struct standin_publisher *publisher); /* NULL: nothing */

/* Whether anything that is published now would reach anybody: documents are made only then. */
bool standin_publisher_is_heard(struct standin_publisher *publisher);
/* The same document under one key, or (other_key not NULL) under two, one after the other. */
void standin_publisher_publish(struct standin_publisher *publisher, const char *key,
                               const char *other_key, const char *xml, size_t length);

/* For the next `count` state changes and calls; "silent" and "down" until count is 0. See lab.h. */
int standin_publisher_fault(struct standin_publisher *publisher, const char *kind, unsigned count,
                            struct oneib_error *err);
/* Connections end and new ones are refused; up again on the same port. */
int standin_publisher_down(struct standin_publisher *publisher, bool down, struct oneib_error *err);

#endif
