// SPDX-License-Identifier: Apache-2.0
/* What the files of core/fabric share. */
#ifndef ONEIB_FABRIC_FABRIC_INTERNAL_H
#define ONEIB_FABRIC_FABRIC_INTERNAL_H

#include "fabric/fabric.h"
#include "fabric/mad.h"

struct oneib_fabric {
    struct oneib_mad_port port;
    oneib_guid port_guid;
    /* From the port itself, renewed by oneib_fabric_require_sm(): a subnet manager may change them at
     * any time. */
    uint64_t gid_prefix;
    uint16_t lid, sm_lid;
    uint8_t sm_sl;
    bool may_run_sm; /* PortInfo's IsSM; true while it is not known */
};

/* PortInfo.PortState: directed routes need a link, LIDs an SM that has made the port active. */
#define ONEIB_PORT_INITIALIZE 2
#define ONEIB_PORT_ACTIVE 4

/* The port that the options mean, or the first: an InfiniBand port in least_state or beyond. */
int oneib_port_choose(const struct oneib_fabric_options *options, unsigned least_state,
                      umad_port_t *chosen, struct oneib_error *err);

/* Asks the own port for its LID, its SM's LID and so on; an error when no subnet manager is known. */
int oneib_fabric_require_sm(struct oneib_fabric *fabric, struct oneib_error *err);

/*
 * Adds all end ports, by LID and by who the SA says they are: from its NodeRecords. Where its long
 * answers arrive cut (ibsim's umad2sim passes the first segment only) the LIDs come from a switch's
 * forwarding table instead, and guid is 0. *from_sa: opensm's SA leaves out who shares no P_Key with
 * the asking port.
 */
int oneib_list_ports(struct oneib_fabric *fabric, struct oneib_subnet *subnet, bool *from_sa,
                     struct oneib_error *err);

/*
 * Fails when the SA may have left ports out of its answer to the port `own`: two limited members of
 * a partition share no P_Key, so all of them are shown to a full member of the default partition
 * only. An own port that did not answer is its own violation.
 */
int oneib_check_visibility(const struct oneib_subnet *subnet, oneib_guid own,
                           struct oneib_error *err);

/*
 * Sets subnet->sm_port_guid. Fails when no port has the master's LID: which port SELF is, and so
 * which one must not serve VMs, must not be guessed.
 */
int oneib_note_master(struct oneib_subnet *subnet, uint16_t sm_lid, struct oneib_error *err);

/*
 * The records of an SA answer: `count` of them, `stride` bytes apart, each of at least record_size
 * bytes. *whole is false when the answer is the first segment of several.
 */
struct oneib_sa_records {
    uint8_t *first;
    size_t stride, count;
    bool whole;
};
int oneib_sa_records(uint8_t *mad, size_t length, size_t record_size,
                     struct oneib_sa_records *records, struct oneib_error *err);

/* Of the port with that LID: its NodeRecord; nothing changes when the SA knows none. */
int oneib_sa_node_of_lid(struct oneib_fabric *fabric, struct oneib_subnet_port *port,
                         struct oneib_error *err);
/* Adds all NodeRecords. */
int oneib_sa_nodes(struct oneib_fabric *fabric, struct oneib_subnet *subnet, bool *whole,
                   struct oneib_error *err);

#endif
