// SPDX-License-Identifier: Apache-2.0
/*
 * How old the reading of oned is that nodes' lists are made of. Pure; times are oneib_now_ms()'s,
 * given. While what was seen has not become lists, because something failed in between, they are as
 * old as the reading before: a node must not open by a list that oned has contradicted.
 */
#ifndef ONEIB_ONEIBD_SNAPSHOT_AGE_H
#define ONEIB_ONEIBD_SNAPSHOT_AGE_H

#include <stdbool.h>

struct oneib_snapshot_age {
    double asked_ms;  /* when oned was last asked what is new of VMs, networks and hosts, */
    double read_ms;   /* and likewise, when it has said what the ledger says, too */
    double listed_ms; /* likewise, of what lists say */
    bool is_behind;   /* lists lack what was seen since */
};

/* oned has answered what is new of VMs, networks and hosts, for which it was asked at `asked_ms`. */
void oneib_snapshot_age_cloud(struct oneib_snapshot_age *age, double asked_ms);
/* ... and then what the ledger says: who has which key, and who is fenced. */
void oneib_snapshot_age_ledger(struct oneib_snapshot_age *age);
/* What was seen is, or may be, not what lists say. */
void oneib_snapshot_age_changed(struct oneib_snapshot_age *age);
/* Lists are made of all that was seen. */
void oneib_snapshot_age_listed(struct oneib_snapshot_age *age);
/* Of when lists are; 0: of never. */
double oneib_snapshot_age_of_lists(const struct oneib_snapshot_age *age);

#endif
