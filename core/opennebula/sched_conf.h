// SPDX-License-Identifier: Apache-2.0
/* Whom OpenNebula 6.10's scheduler asks, by its sched.conf: docs/operator-placement.md. */
#ifndef ONEIB_OPENNEBULA_SCHED_CONF_H
#define ONEIB_OPENNEBULA_SCHED_CONF_H

#include <stdbool.h>
#include <stddef.h>

#define ONEIB_SCHED_SERVER_SIZE 257 /* with its 0 */

/* The SERVER of the first EXTERNAL_SCHEDULER = [ .. ] that is no comment. False: there is none, or
 * it is longer. */
bool oneib_sched_conf_server(const char *text, size_t length, char server[ONEIB_SCHED_SERVER_SIZE]);

#endif
