// SPDX-License-Identifier: Apache-2.0
/*
 * The fabric's graph by directed routes: it needs no SM, and the port may still be in Initialize.
 * Each question carries the M_Key of the port it is for, as far as it is known who that is. Not
 * while a struct oneib_fabric is open on ibsim: its umad2sim gives the answers of a class to the
 * last agent of the process only.
 */
#ifndef ONEIB_FABRIC_DISCOVER_H
#define ONEIB_FABRIC_DISCOVER_H

#include "base/error.h"
#include "fabric/fabric.h"
#include "topology/topology.h"

/* Who does not answer is left out; that the own port does not is an error. On failure *topology
 * holds nothing. */
int oneib_fabric_discover(const struct oneib_fabric_options *options,
                          struct oneib_topology *topology, struct oneib_error *err);

#endif
