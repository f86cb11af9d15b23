// SPDX-License-Identifier: Apache-2.0
/*
 * Owner of the connection to the fabric: the device, the state of the subnet manager of this port,
 * and when the ports were read. The reading is in daemon->snapshot: its subnet and virtual ports.
 */
#ifndef ONEIB_ONEIBD_PORTS_H
#define ONEIB_ONEIBD_PORTS_H

#include "base/error.h"
#include "fabric/fabric.h"
#include <stdbool.h>
#include <stdint.h>

struct oneib_daemon;
struct oneib_ports;

/* Never NULL; to be freed. */
struct oneib_ports *oneib_ports_new(void);
void oneib_ports_free(struct oneib_ports *ports);

/* NULL: it could not be opened, or broke. */
struct oneib_fabric *oneib_ports_fabric(const struct oneib_daemon *daemon);
/* The fabric is open, and its ports were read. */
bool oneib_ports_are_known(const struct oneib_daemon *daemon);
/* They were read in this turn. */
bool oneib_ports_are_new(const struct oneib_daemon *daemon);
/* When they were read last, in oneib_now_ms()'s. */
double oneib_ports_read_ms(const struct oneib_daemon *daemon);
/* Packets that were sent before that reading. */
uint64_t oneib_ports_mads_before(const struct oneib_daemon *daemon);
/* The state of the subnet manager of this port, when it was asked last. */
enum oneib_sm_state oneib_ports_sm(const struct oneib_daemon *daemon);
/* Of two daemons this one is beside the master subnet manager, and knows oned and the ledger. */
bool oneib_ports_are_led_here(const struct oneib_daemon *daemon);

/* Opens the fabric, if it is not open, and reads its ports. */
int oneib_ports_read(struct oneib_daemon *daemon, struct oneib_error *err);
/* Reads virtual ports alone that nodes have reported since. A VM that has started on mlx5 does not wait
 * for daemon.verify, which reads them again after a failure. */
void oneib_ports_read_virtual(struct oneib_daemon *daemon);
/* Takes from the nodes' reports what virtual ports are compared with. */
void oneib_ports_take_reports(struct oneib_daemon *daemon);
/* They were read while a change was put into force. */
void oneib_ports_were_read(struct oneib_daemon *daemon);
/* Sets when ports are read next, by what this turn has not shown: new virtual ports, and ports that did
 * not answer while a network waits for a quarantined P_Key. */
void oneib_ports_plan_virtual(struct oneib_daemon *daemon);
void oneib_ports_plan_silent(struct oneib_daemon *daemon);

/* Asks the subnet manager of this port for its state; one that has become master is a reason to read
 * all ports. */
void oneib_ports_watch_sm(struct oneib_daemon *daemon);
/* It may become master. */
bool oneib_ports_may_become_master(const struct oneib_daemon *daemon);

#endif
