// SPDX-License-Identifier: Apache-2.0
/*
 * What assigning, releasing and reconciling share. Private to core/hca.
 *
 * Two rules hold everywhere, so that a process can be killed between any two steps:
 *  - the record is written before its VF becomes more open, and after it has become less open: what
 *    is open is never more than the record says;
 *  - whoever changes a VF holds the VF's lock. One thing is done without it: oneib_release() writes
 *    RELEASING into the record, so that a long wait for the lock begins with its holder giving up.
 *    That is why every other change of a record says what it must have been before.
 */
#ifndef ONEIB_HCA_ASSIGN_INTERNAL_H
#define ONEIB_HCA_ASSIGN_INTERNAL_H

#include "hca/assign.h"
#include "hca/vf_control.h"

#define ONEIB_TABLE_WAIT_MS                                                                        \
    30000 /* for the table's lock: each has it for a moment, but many may queue */

/* ---- waiting (wait.c) ---- */

/* Looks again and again: soon at first, 20 ms, then less often, up to 250 ms. */
struct oneib_pause {
    double until; /* oneib_now_ms() */
    uint32_t next_ms;
};
struct oneib_pause oneib_pause_for(uint32_t ms);
bool oneib_pause_is_over(const struct oneib_pause *pause);
/* Sleeps, or returns false when the time is over. A signal ends the sleep. */
bool oneib_pause(struct oneib_pause *pause);

/* ---- records (records.c) ---- */

/* Puts `after` in the place of `before`, or removes it (NULL). *stands: the table still had
 * `before` (same NIC, stage and owner); otherwise nothing was written. */
int oneib_record_change(const struct oneib_vf_record *before, const struct oneib_vf_record *after,
                        bool *stands, struct oneib_error *err);
/* Whether the table has it so, without a lock. */
int oneib_record_stands(const struct oneib_vf_record *record, bool *stands,
                        struct oneib_error *err);
/* The record of that VF as it is now; *found is false when there is none. */
int oneib_record_read(const struct oneib_pci *vf, struct oneib_vf_record *record, bool *found,
                      struct oneib_error *err);
/* Notes the time when it is another stage. */
void oneib_record_set_stage(struct oneib_vf_record *record, enum oneib_vf_stage stage);
bool oneib_record_is_of_nic(const struct oneib_vf_record *record, uint32_t vm_id, uint8_t nic_id);
/* In front of an error: "VM 42 NIC 1 (0000:81:00.1): ". Returns -1. */
int oneib_record_wrap(const struct oneib_vf_record *record, struct oneib_error *err);
/* Adds a failure that came on top of the one in *err; neither hides the other. */
void oneib_error_also(struct oneib_error *err, const struct oneib_error *second);

/* ---- virtual functions (vf_place.c) ---- */

/* A VF and the port that is opened for it, in what was read of this host; borrowed. */
struct oneib_vf_place {
    const struct oneib_hca *hca;
    const struct oneib_vf *vf;
    struct oneib_port *port; /* its table is read again and again; NULL where no port is meant */
};

/* Where a record's VF is. *exists is false when the VF is gone from this host: its PCI device is
 * not there. An adapter that does not show a VF which is there is an error. */
int oneib_vf_place_of(const struct oneib_hcas *hcas, const struct oneib_vf_record *record,
                      struct oneib_vf_place *place, bool *exists, struct oneib_error *err);
/* Whether the VF has this address in the list. */
bool oneib_pci_is_among(const struct oneib_pci *vf, const struct oneib_pci *list, size_t count);

/* The lock when nobody has it. */
int oneib_vf_try_lock(const struct oneib_pci *vf, int *lock, bool *taken, struct oneib_error *err);

/*
 * Looks at the port's table as it is now: the index of the record's key, -1 while it is not there.
 * Only the entries that matter are read again where the key was there before. REFUSED
 * when the port is not safe. mlx5: always 0. Its virtual ports have tables of their own, which only
 * the SM knows and fills: there is nothing to look at on the host, and a virtual port that is in no
 * partition reaches nobody.
 */
int oneib_vf_key_index(const struct oneib_vf_place *place, const struct oneib_vf_record *record,
                       int32_t *index, struct oneib_error *err);
/* The VF was given the record's GUID, whether or not the SM has accepted it; mlx5: node and port.
 */
bool oneib_vf_was_given_guid(const struct oneib_vf_place *place, const struct oneib_vf_state *state,
                             const struct oneib_vf_record *record);
/* The VF is open on the record's port, at that index and nowhere else. */
bool oneib_vf_is_open_at(const struct oneib_vf_place *place, const struct oneib_vf_state *state,
                         int32_t index);
/*
 * Opens a closed VF where the record's key is now, then looks whether the key is still there: the
 * SM may have moved it meanwhile, and then the VF is closed again at once. *is_open says how it
 * ended. After -1 the VF may be open: the caller closes it.
 */
int oneib_vf_open_where_key_is(const struct oneib_vf_place *place,
                               const struct oneib_vf_record *record, bool *is_open,
                               struct oneib_error *err);
/* Reads first: a VF that is closed is not written to. */
int oneib_vf_make_closed(const struct oneib_vf_place *place, struct oneib_error *err);
/* Takes the GUID of a closed VF away, and waits until nothing is left of it. TIMEOUT: the SM has
 * not let go of it. */
int oneib_vf_lose_guid(const struct oneib_vf_place *place, struct oneib_pause *pause,
                       struct oneib_error *err);
/* Only the waiting. */
int oneib_vf_wait_without_guid(const struct oneib_vf_place *place, struct oneib_pause *pause,
                               struct oneib_error *err);

/* ---- choosing (vf_candidates.c) ---- */

struct oneib_vf_choice {
    const struct oneib_vf *vf; /* NULL: none just now, but somebody works on one that may be free */
    struct oneib_vf_state state;
    int lock; /* of the VF: the caller's, when there is one */
};

/*
 * A VF of that adapter that can be had, locked: the assignment's own choice, or the best one. The
 * table is locked by the caller, which is against the order of locks, so that no VF's lock is
 * waited for here. REFUSED says why there is none. What is mapped or has a GUID but is nobody's is
 * passed over, and left as it is: somebody may use it by hand.
 */
int oneib_vf_choose(const struct oneib_assignment *assignment, const struct oneib_vf_table *table,
                    const struct oneib_hca *hca, uint8_t port, struct oneib_vf_choice *choice,
                    struct oneib_error *err);

/* ---- assigning (assign.c, assign_prepare.c) ---- */

struct oneib_assign_work {
    const struct oneib_assignment *wanted;
    struct oneib_hcas hcas;
    struct oneib_vf_place place;
    struct oneib_vf_state state;   /* when the VF's lock was taken */
    struct oneib_vf_record record; /* as the table has it */
    oneib_pkey noted;              /* the key that stays in the record when this fails */
    bool is_new;                   /* chosen by this call */
    bool had;                      /* the NIC's before; not only a left-over of a call that died */
    bool is_done;                  /* it is as it should be */
    int lock;                      /* the VF's; -1: not taken */
};

/* Of a closed VF that the record is for: GUID, key, opening, record. On failure the VF may be in
 * any state. */
int oneib_assign_prepare(struct oneib_assign_work *work, struct oneib_error *err);

bool oneib_assign_is_interrupted(const struct oneib_assignment *assignment);

#endif
