// SPDX-License-Identifier: Apache-2.0
/*
 * The whole chain, for the command and the daemon: look (oned, static partitions, file in force,
 * fabric), compute, and put into force. Order of things and failure of each step:
 * docs/design/sync.md.
 */
#ifndef ONEIB_SYNC_SYNC_H
#define ONEIB_SYNC_SYNC_H

#include "base/error.h"
#include "cluster/cloud.h"
#include "cluster/desired.h"
#include "config/config.h"
#include "fabric/fabric.h"
#include "opennebula/ledger_document.h"
#include "opennebula/one_client.h"
#include "opennebula/pools.h"
#include "partitions/partition.h"
#include "partitions/subnet.h"
#include "sm/sm.h"
#include "sync/ledger_mark.h"
#include "sync/vports.h"
#include <stdbool.h>
#include <stddef.h>

/* Everything that was looked at, and what follows from it. */
struct oneib_snapshot {
    struct oneib_cloud cloud;
    struct oneib_findings findings; /* of pools; desired.findings has its own */
    struct oneib_kept_ledger kept;  /* as oned had it when it was read or written last */
    struct oneib_id_set there;     /* networks that are not in the cloud, and oned has them still */
    struct oneib_ledger_mark mark; /* what oneibd has read of it before */
    bool ledger_lost; /* it cannot be relied on: no key is given or taken until 'oneib sync --adopt'
                       */
    struct oneib_ledger adopted; /* what the file in force and the hosts tell instead, when lost */
    struct oneib_partition_table static_partitions;
    struct oneib_seen seen; /* what is in force */
    bool subnet_known;
    struct oneib_subnet subnet;
    struct oneib_error subnet_error; /* why not, when it is not known */
    struct oneib_vports vports;      /* of it; what hosts have reported is the caller's to say */
    struct oneib_desired desired;    /* table after the removal hold */
    struct oneib_text rendered;      /* oneib_sm_render() of it */
    bool changed;                    /* it differs from what was seen */
};

struct oneib_snapshot_options {
    bool force;  /* no removal hold, and a foreign file may be replaced */
    bool adopt;  /* of a lost ledger what there is to adopt is enough, be it nothing */
    bool fabric; /* read the subnet; when it cannot be read snapshot.subnet_known is false and
                    subnet_error says why */
    oneib_pools_progress progress;
    void *progress_context;
};

/* fabric may be NULL (then options->fabric is ignored). Static partitions with a syntax error fail:
 * nothing is computed from half of it. */
int oneib_snapshot_make(const struct oneib_config *config, struct oneib_sm *sm,
                        struct oneib_one *one, struct oneib_fabric *fabric,
                        const struct oneib_snapshot_options *options,
                        struct oneib_snapshot *snapshot, struct oneib_error *err);
/*
 * Computes again from what snapshot->cloud, ->findings, ->kept and ->subnet hold now; the static
 * partitions and the file in force are read again. On failure these four stay, and the rest of the
 * snapshot is empty.
 */
int oneib_snapshot_update(const struct oneib_config *config, struct oneib_sm *sm, bool force,
                          struct oneib_snapshot *snapshot, struct oneib_error *err);
/*
 * The same into *derived, which borrows the cloud, findings, ledger and subnet of `from`; what follows from them
 * there stays, but for the owners of ports (cluster/port_owner.h), which are settled again. sm: not the one that
 * `from` was computed by. adopt: oneib_snapshot_options.adopt. To be released, not cleared; on failure nothing
 * must be.
 */
int oneib_snapshot_derive(const struct oneib_config *config, struct oneib_sm *sm, bool force,
                          bool adopt, const struct oneib_snapshot *from,
                          struct oneib_snapshot *derived, struct oneib_error *err);
void oneib_snapshot_release(struct oneib_snapshot *derived);
/*
 * Not snapshot->desired.table may be put into force now, but this one: it takes that one's place,
 * and *table is empty then.
 */
void oneib_snapshot_write_only(const struct oneib_sm *sm, struct oneib_snapshot *snapshot,
                               struct oneib_partition_table *table);
/*
 * The same for a command that hears no nodes (`oneib sync`, `oneib plan`): the daemon's judgement
 * (cluster/grants.h) with no node heard. Nothing new comes to the ports of hosts with VFs, for a VF
 * may be mapped to the place that it would take. That is left to the daemon, which hears the nodes.
 * *left: how many members that are.
 */
void oneib_snapshot_leave_to_daemon(const struct oneib_sm *sm, struct oneib_snapshot *snapshot,
                                    size_t *left);
/*
 * oneib_subnet_verify() against snapshot->desired.table, for readers: is_daemons is true of each
 * deviation that `may_be_written` does not put right. That is what a daemon's gate has left of the
 * table; NULL: what such a `oneib sync` would write. The subnet is known.
 */
void oneib_snapshot_verify(const struct oneib_snapshot *snapshot,
                           const struct oneib_partition_table *may_be_written,
                           struct oneib_verification *verification);
/*
 * Reads the ledger again into the snapshot; what follows from it is oneib_snapshot_update()'s.
 * *changed: it says something else. On failure it is as it was.
 */
int oneib_snapshot_read_ledger(const struct oneib_config *config, struct oneib_one *one,
                               struct oneib_snapshot *snapshot, bool *changed,
                               struct oneib_error *err);
/* What is computed with: the one that was read, or what is adopted. */
const struct oneib_ledger *oneib_snapshot_ledger(const struct oneib_snapshot *snapshot);
/*
 * Reads the subnet again into the snapshot; on failure snapshot->subnet_known is false and
 * subnet_error says why. Virtual ports come by snapshot->vports.reports. What follows from it
 * (snapshot->desired and all after it) is oneib_snapshot_update()'s.
 */
void oneib_snapshot_read_subnet(const struct oneib_config *config, struct oneib_fabric *fabric,
                                struct oneib_snapshot *snapshot);
void oneib_snapshot_clear(struct oneib_snapshot *snapshot);

/* What oneib_allocate() has done. */
struct oneib_key_changes {
    size_t given;                 /* networks that have a key, or another one */
    size_t rested;                /* keys that were some network's and are nobody's now */
    size_t freed;                 /* keys that may be given again */
    struct oneib_id_set networks; /* owned: those that were written to, to be looked at again */
};
void oneib_key_changes_clear(struct oneib_key_changes *changes);

/* Whether snapshot->desired has anything for it to do. */
bool oneib_keys_are_due(const struct oneib_snapshot *snapshot);
/* Whether the ledger is to be written for them, or to have what was measured of the fabric. */
bool oneib_ledger_is_due(const struct oneib_snapshot *snapshot);
/*
 * Does what snapshot->desired says about keys: first the ledger, written whole into snapshot->kept,
 * then VLAN_ID and, where there are classes, IB_SL of networks, by one.vn.update. For the writer
 * alone, and only while it is the only one: the daemon. A network's entry rests only when oned says
 * itself that the network is gone. A VLAN_ID that cannot be written becomes a finding, the others
 * go on; one that somebody has changed since the snapshot was made stays until the next look. The
 * caller computes anew afterwards, also after a failure, and then reads the ledger before.
 */
int oneib_allocate(struct oneib_one *one, const char *vn_mad, struct oneib_snapshot *snapshot,
                   struct oneib_key_changes *changes, struct oneib_error *err);

/* What the file in force says of clusters, hosts' IB_KEYS of other keys, which rest then, and
 * `kept` (sync/fences.h) of fences, and, unless an older ledger does, of hosts, their ports and
 * daemons: the ledger as it must have been. */
int oneib_ledger_adopt(const struct oneib_snapshot *snapshot, const struct oneib_ledger *kept,
                       struct oneib_ledger *ledger, struct oneib_error *err);

enum oneib_outcome {
    ONEIB_UNCHANGED, /* nothing to write; verified */
    ONEIB_APPLIED,   /* written, reloaded, verified */
    ONEIB_STANDBY,   /* written and reloaded; the SM here is standby, so the fabric follows the
                        master's file */
};

struct oneib_apply_result {
    enum oneib_outcome outcome;
    bool written; /* the partitions that oneib_sm_place() has are others now; after a failure, too:
                     whether the fabric follows them is not known then */
    unsigned reloads;      /* signals sent */
    double in_force_ms;    /* from before the write until the ports that this change concerns were
                              right, or waiting ended; 0 when unchanged or standby */
    double in_force_at_ms; /* oneib_now_ms() at that moment; 0 likewise */
    size_t late;           /* ports that this change concerns and that were not right when waiting
                              ended: 0 says that in_force_ms is what it is called */
    bool gave_up;          /* waiting ended because options->give_up said so */
    struct oneib_verification verification; /* of the whole subnet, at the end */
};

struct oneib_apply_options {
    bool force; /* a foreign or unreadable file may be replaced */
    /*
     * snapshot->subnet was read just now, for this run. Where it was not (a daemon keeps it) it is
     * read again before any partition gets a key that it does not have in force, because what the
     * ports hold decides who has to wait. All else is decided on what is kept: UNCHANGED then says
     * no more than that nothing has to be done by that reading, so whoever keeps a subnet reads it
     * again (oneib_snapshot_read_subnet) when that is due. A run that puts something into force
     * reads it anew at its end.
     */
    bool subnet_is_new;
    /*
     * Asked again and again while ports are waited for, with the milliseconds since the reload;
     * true: wait no longer, there is something better to do. What was written stays, and the ports
     * that are not right are deviations. While keys that change hands are taken away, giving up is
     * ONEIB_ERROR_TIMEOUT, as the end of the time is: their new clusters are not written yet, and
     * the next run goes on from there. NULL: until opensm.apply_timeout.
     */
    bool (*give_up)(void *context, double waited_ms);
    void *context;
};

/*
 * Puts snapshot->rendered into force: parse it again and compare with the table (inside the
 * replacement of the file, on what was read back from the disk), replace, reload, wait until the
 * ports that change hold what they should (a reload that has had no effect within 250 ms is
 * repeated, doubling up to 10 s, until config->opensm.apply_timeout_ms), then verify the whole
 * subnet. What was wrong before a change for the same reason is waited for only while ports go on
 * coming right. Refuses (ONEIB_ERROR_REFUSED) a foreign or unreadable file without force, and a
 * file that is not what the snapshot saw. snapshot->subnet must be known; it and
 * snapshot->seen.data follow what is done.
 */
int oneib_apply(const struct oneib_config *config, struct oneib_sm *sm, struct oneib_fabric *fabric,
                struct oneib_snapshot *snapshot, const struct oneib_apply_options *options,
                struct oneib_apply_result *result, struct oneib_error *err);
/* Whether oneib_apply() will refuse the file that the snapshot saw: then nothing should be written
 * to oned either. */
bool oneib_apply_refuses(const struct oneib_snapshot *snapshot, bool force);
void oneib_apply_result_clear(struct oneib_apply_result *result);

#endif
