// SPDX-License-Identifier: Apache-2.0
/*
 * What the parts of the engine share. Private to core/vf.
 *
 * One rule holds everywhere, so that the service can be killed between any two steps: the record is
 * written before its VF becomes more open, and after it has become less open. What is open is never
 * more than the record says. RELEASING is the exception, which is written first: a release that has
 * begun is gone on with.
 */
#ifndef ONEIB_VF_VF_INTERNAL_H
#define ONEIB_VF_VF_INTERNAL_H

#include "config/config.h"
#include "hca/hca.h"
#include "hca/vf_control.h"
#include "vf/vfs.h"
#include <time.h>

#define ONEIB_VF_TICKETS_MAX 4096
#define ONEIB_VF_HELD_MS 2000 /* see oneib_vfs_hold_domain() */
#define ONEIB_VF_REST_MS 2000 /* ONEIB_VF_RESTS */

/* ---- what is under way ----------------------------------------------------------------------- */

enum oneib_vf_task {
    ONEIB_VF_PREPARE, /* of a closed VF that its record is for: GUID, key, opening */
    ONEIB_VF_RELEASE, /* closing, GUID, no record any more */
};

enum oneib_vf_phase {
    ONEIB_VF_OLD_GUID_GOES,
    ONEIB_VF_GUID_IS_FREE, /* no other host has it any more: the grant says so */
    ONEIB_VF_GUID_COMES,
    ONEIB_VF_KEY_COMES
};

/* Times are oneib_now_ms(). */
struct oneib_vf_work {
    struct oneib_pci vf;
    enum oneib_vf_task task;
    double due;        /* the next look */
    uint32_t pause_ms; /* from that to the one after it */
    uint32_t wish;     /* the HAVE that waits for it; 0: none */
    /* PREPARE */
    enum oneib_vf_phase phase;
    bool had;   /* the NIC's before: it stays its own when this fails */
    bool ended; /* its domain had ended: see struct oneib_vf_giving */
    double key_until, guid_until;
    /* RELEASE */
    bool is_closed, guid_was_taken;
    bool has_next; /* `wish` is for another VF, to be chosen when this one is free; by the grant
                      that there is then */
    struct oneib_request next;
    double next_until;
};

/* What is remembered of a VF for a while, while it is the same NIC's: see oneib_vfs_remove(). */
enum oneib_vf_memory {
    ONEIB_VF_HELD,     /* whether a domain has named it: what is known may be of before it was asked
                          for */
    ONEIB_VF_LEAVING,  /* its release was asked for while a running domain named it */
    ONEIB_VF_WAS_OPEN, /* by the grant that it still has: only its key, or its port, has gone */
    ONEIB_VF_RESTS,    /* its link was taken down a moment ago: its guest is to see that */
    ONEIB_VF_SEEN,     /* its own port could be read when it was looked at last */
};

#define ONEIB_VF_MEMORIES 5

struct oneib_vf_timer {
    struct oneib_pci vf;
    enum oneib_vf_memory what;
    double until;
};

struct oneib_vf_ticket {
    bool used;
    uint32_t turn; /* how often this place was given: an old ticket is none of a later one */
    enum oneib_vfs_progress progress;
    enum oneib_request_kind kind;
    uint32_t wish;       /* HAVE */
    uint32_t vm_id;      /* RELEASE */
    int32_t nic_id;      /* likewise; -1: all */
    struct oneib_pci vf; /* RELEASE_VF */
    double until;        /* of a release */
    struct oneib_vf_record record;
    struct oneib_error err;
};

struct oneib_vfs {
    uint32_t pkey_wait_ms, guid_wait_ms;
    enum oneib_config_virtual_ports virtual_ports;
    struct oneib_pci *host_vfs; /* owned */
    size_t host_vf_count;
    int lock; /* of the table, as long as this lives */
    double opened;

    struct oneib_vf_table table, draft; /* the table is what the disk has */
    bool table_known;
    struct timespec table_time; /* of the file, when it was seen to have this table; */
    uint64_t table_inode;       /* 0: not seen yet */
    struct oneib_error table_error;

    struct oneib_hcas hcas;
    bool hcas_known;
    uint64_t hcas_mark;  /* changes when they have to be read again */
    bool hcas_are_new;   /* no VF of them has been looked at whole */
    size_t next_in_turn; /* the VF, of all in their order, that is looked at whole next */

    const struct oneib_domain_list *domains; /* NULL: nobody knows */

    const struct oneib_grant_list *grants; /* NULL: none yet */
    bool grants_are_fresh;
    bool has_new_grants; /* something that is closed may be opened by them */

    struct oneib_vf_work *works;     /* owned; ONEIB_VF_RECORDS_MAX */
    struct oneib_vf_timer *timers;   /* owned; ONEIB_VF_MEMORIES times as many */
    struct oneib_vf_ticket *tickets; /* owned; ONEIB_VF_TICKETS_MAX */
    size_t work_count, timer_count;
    size_t ticket_end; /* all behind it are unused */
    bool has_news;     /* something has ended outside of a step: those who wait are to be told */
    uint32_t last_wish;

    struct oneib_vfs_changes noted; /* since the last step ended */
    bool has_failed;                /* `failure` is the first one since then */
    struct oneib_error failure;
    double blocked; /* no adapter can be found: nothing goes on before then; 0: not */
    double retry;   /* closing a VF whose domain has ended has failed: tried again then; 0: not */
    double grants_retry; /* likewise, of one that is not granted any more */
};

/* The VF of a record, open for nobody; one that is gone is so. vf_grants.c */
int oneib_vfs_close_vf(struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                       struct oneib_error *err);

/* ---- errors ---------------------------------------------------------------------------------- */

/* For the next step's answer, where there is no caller to be told. */
void oneib_vfs_note_failure(struct oneib_vfs *vfs, const struct oneib_error *err);
/* In front of an error: "VM 42 NIC 1 (0000:81:00.1): ". Returns -1. */
int oneib_vfs_wrap(const struct oneib_vf_record *record, struct oneib_error *err);
/* Adds a failure that came on top of the one in *err; neither hides the other. */
void oneib_vfs_also(struct oneib_error *err, const struct oneib_error *second);

/* ---- records (records.c) --------------------------------------------------------------------- */

/* Notes the time when it is another stage. */
void oneib_vfs_set_stage(struct oneib_vf_record *record, enum oneib_vf_stage stage);

/* The table's error while it is not known. */
int oneib_vfs_check_table(const struct oneib_vfs *vfs, struct oneib_error *err);
int oneib_vfs_read_table(struct oneib_vfs *vfs, struct oneib_error *err);

/* Several changes at once: a copy of the table, to be changed and then to take its place, on the
 * disk and here. */
struct oneib_vf_table *oneib_vfs_draft(struct oneib_vfs *vfs);
/* When it fails the table is what it was. */
int oneib_vfs_commit(struct oneib_vfs *vfs, struct oneib_error *err);

/* Writes the table again when the disk has another one, or none. */
int oneib_vfs_keep_table(struct oneib_vfs *vfs, struct oneib_error *err);

/* Puts it in the place of its VF's, or adds it. */
int oneib_vfs_put(struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                  struct oneib_error *err);
/* Removes the VF's, and forgets what is remembered of that. */
int oneib_vfs_remove(struct oneib_vfs *vfs, const struct oneib_pci *vf, struct oneib_error *err);

/* ---- adapters (adapters.c) ------------------------------------------------------------------- */

/* Reads them again when one has come, gone, or changed how many VFs it has. What was borrowed from
 * vfs->hcas is invalid afterwards. */
int oneib_vfs_follow_adapters(struct oneib_vfs *vfs, struct oneib_error *err);

/* ---- grants (grants.c) ----------------------------------------------------------------------- */

/* The grant that a HAVE is fulfilled by. REFUSED: there is none for its NIC, or one of another
 * network. */
int oneib_vfs_find_grant(const struct oneib_vfs *vfs, const struct oneib_request *request,
                         const struct oneib_grant **grant, struct oneib_error *err);
/* What is closed may be opened for the key of its record, by the list as it is now. */
bool oneib_vfs_may_open(const struct oneib_vfs *vfs, const struct oneib_vf_record *record);
/* What is open may stay so: there is no list yet, or it grants that. */
bool oneib_vfs_may_stay_open(const struct oneib_vfs *vfs, const struct oneib_vf_record *record);
/* The VF may carry the record's GUID: no other host has it. */
bool oneib_vfs_may_set_guid(const struct oneib_vfs *vfs, const struct oneib_vf_record *record);
/* Closes what is not granted, and notes for which key of its grant each is closed. -1: the first
 * failure, after all was tried; it is tried again. */
int oneib_vfs_read_at_grants(struct oneib_vfs *vfs, struct oneib_error *err);

/* ---- a VF where it is (place.c) -------------------------------------------------------------- */

/* A VF and the port that is opened for it, in what was read of this host; borrowed. */
struct oneib_vf_place {
    const struct oneib_hca *hca;
    const struct oneib_vf *vf;
    struct oneib_port *port; /* its table is read again and again; NULL where no port is meant */
};

/* Where a record's VF is. *exists is false when the VF is gone from this host: its PCI device is
 * not there. An adapter that does not show a VF which is there is an error. */
int oneib_vfs_find_place(const struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                         struct oneib_vf_place *place, bool *exists, struct oneib_error *err);

/*
 * Looks at the port's table as it is now: the index of that key, -1 while it is not there. Only the
 * entries that matter are read again where the key was there before. REFUSED when the port is not
 * safe. mlx5: always 0. Its virtual ports have tables of their own, which the SM fills: see
 * oneib_vfs_see_port().
 */
int oneib_vfs_key_index(const struct oneib_vf_place *place, oneib_pkey pkey, bool limited,
                        int32_t *index, struct oneib_error *err);
/* The VF was given the record's GUID, whether or not the SM has accepted it; mlx5: node and port.
 */
bool oneib_vfs_was_given_guid(const struct oneib_vf_place *place,
                              const struct oneib_vf_state *state,
                              const struct oneib_vf_record *record);
/* The VF is open on the record's port, at that index of oneib_vfs_key_index()'s and nowhere else.
 */
bool oneib_vfs_is_open_at(const struct oneib_vf_place *place, const struct oneib_vf_state *state,
                          int32_t index);
/*
 * Opens a closed VF where the record's key is now, then looks whether the key is still there: the
 * SM may have moved it meanwhile, and then the VF is closed again at once. *is_open says how it
 * ended. After -1 the VF may be open: the caller closes it.
 *
 * mlx5: by what the VF's own port shows, where it is seen (below). When that holds what is not the
 * NIC's, the link is down afterwards. Where the link comes first it is up, without *is_open, while
 * the port only lacks its key or its GUID: it reaches nobody then, and whoever waits goes on
 * looking, and closes it when he gives up. *why says what is not right of a port that is seen; its
 * code is NONE otherwise.
 */
int oneib_vfs_open_where_key_is(struct oneib_vfs *vfs, const struct oneib_vf_place *place,
                                const struct oneib_vf_record *record, bool *is_open,
                                struct oneib_error *why, struct oneib_error *err);

/* ---- a VF's own port (virtual_port_check.c) ------------------------------------------------------------ */

enum oneib_vf_sight {
    ONEIB_VF_UNSEEN, /* the host cannot read it, or it has none: what opens it is its grant alone */
    ONEIB_VF_RIGHT,
    ONEIB_VF_LACKS, /* its key or its GUID; see host/virtual_port.h */
    ONEIB_VF_HARMS,
};

/* What the VF's own port shows for its record's NIC. While its GUID is deferred the SM cannot know
 * it and gives it no key: then only harm is looked for. *why: of LACKS and HARMS. -1: there is a
 * way to read it, and it failed. */
int oneib_vfs_see_port(struct oneib_vfs *vfs, const struct oneib_vf_place *place,
                       const struct oneib_vf_record *record, enum oneib_vf_sight *sight,
                       struct oneib_error *why, struct oneib_error *err);
/* Of mlx5, whose link may have been up while its key was waited for; any other VF is closed then.
 */
int oneib_vfs_take_link_down(const struct oneib_vf_place *place, struct oneib_error *err);
/* oneib_vfs_open_where_key_is() of mlx5, where the adapter's port is safe. */
int oneib_vfs_open_virtual_port(struct oneib_vfs *vfs, const struct oneib_vf_place *place,
                                const struct oneib_vf_record *record, bool *is_open,
                                struct oneib_error *why, struct oneib_error *err);

/* REFUSED: its owner may send management packets. */
int oneib_vfs_check_unprivileged(const struct oneib_vf_state *state, struct oneib_error *err);

/* ---- choosing (choose.c) --------------------------------------------------------------------- */

/*
 * A VF of the place's adapter that can be had: the one that is granted, or the best one; its state
 * as it is now. REFUSED says why there is none. What is mapped or has a GUID but is nobody's is
 * passed over, and left as it is: somebody may use it by hand.
 */
int oneib_vfs_choose(struct oneib_vfs *vfs, const struct oneib_grant *grant, int16_t numa_node,
                     struct oneib_vf_place *place, struct oneib_vf_state *state,
                     struct oneib_error *err);
bool oneib_vfs_is_hosts(const struct oneib_vfs *vfs, const struct oneib_pci *vf);

/* ---- domains (domains.c) --------------------------------------------------------------------- */

bool oneib_vfs_domains_known(const struct oneib_vfs *vfs);
/* REFUSED, unless they are known. */
int oneib_vfs_check_domains(const struct oneib_vfs *vfs, struct oneib_error *err);
/* A domain names the VF; a running one of the VM's. Never while nobody knows. */
bool oneib_vfs_is_named(const struct oneib_vfs *vfs, const struct oneib_pci *vf);
bool oneib_vfs_is_running_with(const struct oneib_vfs *vfs, const struct oneib_vf_record *record);
/* The VM runs, with that VF or without. Never while nobody knows. */
bool oneib_vfs_is_running(const struct oneib_vfs *vfs, uint32_t vm_id);
/* A domain has it, or will at its start, that is another VM's or not OpenNebula's. What a running
 * domain of the VM's has, libvirt gives to no other one that starts. */
bool oneib_vfs_may_be_others(const struct oneib_vfs *vfs, const struct oneib_vf_record *record);
/* The record is asked for: what its domain was is forgotten. A domain that names the VF just now
 * may have ended already, with its event on the way, and must not end what comes after it: what is
 * known now counts only when it is still so ONEIB_VF_HELD_MS later. */
void oneib_vfs_hold_domain(struct oneib_vfs *vfs, struct oneib_vf_record *record);
/* A domain that has named the record's VF is there no more, or one runs with it that is not the
 * VM's: it reaches nobody then until it is asked for again. */
bool oneib_vfs_has_ended(const struct oneib_vfs *vfs, const struct oneib_vf_record *record);
/* Closes what belongs to domains that have ended; notes which records a domain has named. */
void oneib_vfs_read_at_domains(struct oneib_vfs *vfs);

/* ---- what is remembered (works.c) ------------------------------------------------------------ */

struct oneib_vf_work *oneib_vfs_work_of(const struct oneib_vfs *vfs, const struct oneib_pci *vf);
/* In the place of the one that the VF has. Valid until another one is dropped. NULL: too many. */
struct oneib_vf_work *oneib_vfs_begin(struct oneib_vfs *vfs, const struct oneib_pci *vf,
                                      enum oneib_vf_task task);
void oneib_vfs_drop(struct oneib_vfs *vfs, const struct oneib_pci *vf);
/* Soon at first, then less often. */
void oneib_vfs_pause(struct oneib_vf_work *work, uint32_t longest_ms);

void oneib_vfs_remember(struct oneib_vfs *vfs, const struct oneib_pci *vf,
                        enum oneib_vf_memory what, uint32_t for_ms);
bool oneib_vfs_remembers(const struct oneib_vfs *vfs, const struct oneib_pci *vf,
                         enum oneib_vf_memory what);
void oneib_vfs_forget_memory(struct oneib_vfs *vfs, const struct oneib_pci *vf,
                             enum oneib_vf_memory what);
/* Everything that is remembered of it. */
void oneib_vfs_forget_vf(struct oneib_vfs *vfs, const struct oneib_pci *vf);
void oneib_vfs_forget_what_is_over(struct oneib_vfs *vfs);
/* The end of the next that ends; INFINITY: none. */
double oneib_vfs_next_memory(const struct oneib_vfs *vfs);

/* ---- tickets (tickets.c) --------------------------------------------------------------------- */

/* Refused when there is no place for one more. */
int oneib_vfs_check_tickets(const struct oneib_vfs *vfs, struct oneib_error *err);
/* There must be a place. */
oneib_vfs_ticket oneib_vfs_ticket_of_wish(struct oneib_vfs *vfs, uint32_t wish);
/* Likewise refused. */
int oneib_vfs_ticket_of_release(struct oneib_vfs *vfs, const struct oneib_request *request,
                                oneib_vfs_ticket *number, struct oneib_error *err);
bool oneib_vfs_is_waited_for(const struct oneib_vfs *vfs, uint32_t wish);
void oneib_vfs_wish_done(struct oneib_vfs *vfs, uint32_t wish,
                         const struct oneib_vf_record *record);
void oneib_vfs_wish_failed(struct oneib_vfs *vfs, uint32_t wish, const struct oneib_error *err);
/* The same, with words about that record. */
void oneib_vfs_wish_refused(struct oneib_vfs *vfs, uint32_t wish,
                            const struct oneib_vf_record *record, const char *words);
/* Those of releases. */
void oneib_vfs_settle_tickets(struct oneib_vfs *vfs);
/* Somebody waits for that VF's release. */
bool oneib_vfs_release_is_waited_for(const struct oneib_vfs *vfs, const struct oneib_vf_work *work);

/* ---- giving (have.c, prepare.c) -------------------------------------------------------------- */

/* A VF that is being given to its record's NIC. */
struct oneib_vf_giving {
    struct oneib_vfs *vfs;
    struct oneib_vf_place place;
    struct oneib_vf_state state;
    struct oneib_vf_record record; /* as the table has it */
    struct oneib_vf_record noted;  /* what it is to be when this fails and the NIC keeps the VF */
    bool had;                      /* the NIC's before */
    bool ended; /* it was ENDED: when this fails, and the VM does not run, it is so again, as nobody
                   asks for it any more */
};

/* Waits for the key of a VF that a record of its NIC's has, whose link is up: whoever looks has
 * brought it up (vf_read.c). It is closed when the key does not come. */
void oneib_vfs_wait_for_key(struct oneib_vfs *vfs, const struct oneib_vf_record *record);
/* Begins with what is to be done for a closed VF, and goes as far as possible without waiting.
 * *waits: the work goes on for this wish. On failure the VF may be in any state: undo. */
int oneib_vfs_prepare(struct oneib_vf_giving *giving, uint32_t wish, bool *waits,
                      struct oneib_error *err);
/* Goes on with it; the wish is told how it ended. -1: it has failed, and was undone. */
int oneib_vfs_go_on_preparing(struct oneib_vfs *vfs, struct oneib_vf_work *work,
                              struct oneib_error *err);
/* Closed whatever failed; what comes on top goes into *err, as does whose VF it was. Returns -1. */
int oneib_vfs_undo(struct oneib_vf_giving *giving, struct oneib_error *err);
/* The same for one that is under way and that nobody waits for any more. */
void oneib_vfs_give_up(struct oneib_vfs *vfs, struct oneib_vf_work *work);
/* What waits for a VF to be free, for that NIC (-1: any) of the VM. NULL: nothing. */
struct oneib_vf_work *oneib_vfs_find_next(const struct oneib_vfs *vfs, uint32_t vm_id, int nic_id);
/* Waits no more; the release goes on. */
void oneib_vfs_refuse_next(struct oneib_vfs *vfs, struct oneib_vf_work *work,
                           enum oneib_error_code code, const char *words);
/* What waited for the NIC's old VF to be free; it is told how that ends. */
void oneib_vfs_have_next(struct oneib_vfs *vfs, const struct oneib_request *request, uint32_t wish);

/* ---- taking back (release.c) ----------------------------------------------------------------- */

/* Begins it, or goes on, and does what needs no waiting. Releases go on after a failure. */
int oneib_vfs_begin_release(struct oneib_vfs *vfs, const struct oneib_pci *vf,
                            struct oneib_error *err);
/* `everything`: looks again whether it is closed. */
int oneib_vfs_go_on_releasing(struct oneib_vfs *vfs, struct oneib_vf_work *work, bool everything,
                              struct oneib_error *err);

/* ---- looking (look.c, stale.c) --------------------------------------------------------------- */

/* All records that nothing is under way of, then VFs of nobody. ONEIB_VFS_GLANCE: whole only where
 * something is not as it should be, and one in turn. */
void oneib_vfs_read(struct oneib_vfs *vfs, enum oneib_vfs_read how);

/* Records that are nobody's any more are released. */
void oneib_vfs_release_stale(struct oneib_vfs *vfs);
/* The record that another NIC may have the VF of when no other is free: its domain ended longest
 * ago, and is not just being started anew. NULL: none. chosen: of this VF alone; NULL: of any of
 * the adapter's. */
const struct oneib_vf_record *oneib_vfs_find_ended(const struct oneib_vfs *vfs,
                                                   const struct oneib_hca *hca,
                                                   const struct oneib_pci *chosen);
/* When the next may be, oneib_now_ms(); INFINITY: none. */
double oneib_vfs_next_stale(const struct oneib_vfs *vfs);

#endif
