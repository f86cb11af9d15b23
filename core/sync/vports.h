// SPDX-License-Identifier: Apache-2.0
/* Virtual ports, asked on the fabric where fabric.virtual_ports says so, and compared with what
 * hosts have reported (partitions/virtual_ports.h). */
#ifndef ONEIB_SYNC_VPORTS_H
#define ONEIB_SYNC_VPORTS_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "cluster/desired.h"
#include "config/config.h"
#include "fabric/fabric.h"
#include "host/vf_record.h"
#include "partitions/virtual_ports.h"
#include <stdbool.h>
#include <stddef.h>

/* How many readings may lack what a host has reported, before it is news no more. */
#define ONEIB_VPORT_TRIES 8

/* Zeroed: nothing is reported, nothing was tried. */
struct oneib_vports {
    struct oneib_vport_report *reports; /* owned; what the next reading is compared with */
    size_t report_count, report_capacity;
    bool was_tried;                   /* by the last reading */
    struct oneib_vport_result result; /* of what was tried */
    /* Owned; what the last reading was compared with, sorted. */
    struct oneib_vport_asked {
        struct oneib_vport_report report;
        unsigned left; /* tries; 0: it was seen, or is waited for no more */
    } * asked;
    size_t asked_count;
};

void oneib_vports_forget_reports(struct oneib_vports *vports);
/* What a host's service reports: of its records those of open VFs of mlx5 whose GUID is set. */
void oneib_vports_report(struct oneib_vports *vports, const struct oneib_host *host,
                         const struct oneib_vf_record *records, size_t count);

/* Whether they are to be asked at all. */
bool oneib_vports_are_wanted(const struct oneib_config *config);
/*
 * oneib_fabric_read(), and virtual ports besides, where they are wanted: those that can be believed
 * are ports of the subnet then, with an owner, so that whatever compares that compares them too.
 * What cannot be believed is no error: vports->result says why. On failure *subnet holds nothing.
 */
int oneib_vports_read_subnet(const struct oneib_config *config, struct oneib_fabric *fabric,
                             struct oneib_vports *vports, struct oneib_subnet *subnet,
                             struct oneib_error *err);
/* The latter alone, into a subnet that has been read and has none. */
int oneib_vports_read(const struct oneib_config *config, struct oneib_fabric *fabric,
                      struct oneib_vports *vports, struct oneib_subnet *subnet,
                      struct oneib_error *err);
/*
 * Whether hosts have reported what the readings did not see yet: a VM has started since, say.
 * Where virtual ports are wanted alone. Sorts the reports.
 */
bool oneib_vports_have_news(struct oneib_vports *vports);
/*
 * Reads the virtual ports again, but of the physical ports that these reports are about alone, into
 * a subnet that has been read with them (oneib_vports_renew()): so that a VM that starts need not
 * wait for the next reading of all. A port that does not show all yet is left as it was, and is
 * news ONEIB_VPORT_TRIES readings long, of whatever kind. *proves: a reading of all would now be believed.
 */
int oneib_vports_read_news(struct oneib_fabric *fabric, struct oneib_vports *vports,
                           struct oneib_subnet *subnet, bool *proves, struct oneib_error *err);
void oneib_vports_clear(struct oneib_vports *vports);

/* Whether it is a member, and a VF of mlx5's. */
bool oneib_is_virtual_member(const struct oneib_desired_binding *binding);
/* How many members are virtual ports that no subnet manager of the configured kind gives a key. */
size_t oneib_vports_unserved(const struct oneib_config *config,
                             const struct oneib_desired *desired);
/* The finding virtual-ports, where there are any. It is of the installation and not of what a
 * command does, so whoever looks at the installation says it: `oneib verify` and oneibd. */
void oneib_vports_note_unserved(const struct oneib_config *config,
                                const struct oneib_desired *desired,
                                struct oneib_findings *findings);

#endif
