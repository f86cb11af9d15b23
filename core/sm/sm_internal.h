// SPDX-License-Identifier: Apache-2.0
/* For core/sm alone: what a kind of subnet manager is made of. */
#ifndef ONEIB_SM_SM_INTERNAL_H
#define ONEIB_SM_SM_INTERNAL_H

#include "base/stamp.h"
#include "sm/sm.h"
#include "ufm/ufm_link.h"

struct oneib_ufm;

/* As sm.h says of each; those that may be NULL do nothing then, or say yes. */
struct oneib_sm_way {
    void (*close)(struct oneib_sm *sm);                          /* may be NULL */
    void (*doubt)(struct oneib_sm *sm);                          /* may be NULL */
    struct oneib_sm_limits (*limits)(const struct oneib_sm *sm); /* may be NULL */
    void (*settle)(struct oneib_sm *sm, struct oneib_seen *seen,
                   struct oneib_partition_table *wanted,
                   struct oneib_findings *findings); /* may be NULL */
    int (*look)(struct oneib_sm *sm, struct oneib_seen *seen, struct oneib_error *err);
    bool (*has_news)(struct oneib_sm *sm);
    void (*render)(const struct oneib_sm *sm, const struct oneib_partition_table *wanted,
                   struct oneib_text *text); /* may be NULL */
    bool (*is_put)(const struct oneib_sm *sm, const struct oneib_seen *seen,
                   const struct oneib_sm_put *what);
    bool (*is_told)(const struct oneib_sm *sm); /* may be NULL */
    int (*put)(struct oneib_sm *sm, const struct oneib_sm_put *put, struct oneib_seen *seen,
               unsigned *nudges, struct oneib_error *err);
    int (*nudge)(struct oneib_sm *sm, unsigned *nudges, struct oneib_error *err); /* may be NULL */
    int (*leads)(struct oneib_sm *sm, struct oneib_fabric *fabric, bool *leads,
                 struct oneib_error *err); /* may be NULL: it always does */
    int (*refuse)(const struct oneib_sm *sm, const struct oneib_seen *seen,
                  struct oneib_error *err);
    int (*ask_vports)(struct oneib_sm *sm, struct oneib_said_vports *said,
                      struct oneib_error *err); /* may be NULL */
    const char *(*place)(const struct oneib_sm *sm);
};

/* The file of opensm.qos_policy. */
struct oneib_policy_file {
    bool is_ours;              /* it is named, and nobody else's: what is there may be replaced */
    struct oneib_text there;   /* as it was looked at, or written, last; "": absent */
    struct oneib_text refused; /* what could not be written; why */
    struct oneib_error why;
    struct oneib_stamp stamp; /* when partitions were looked at, or it was written, last */
};

struct oneib_sm {
    const struct oneib_config *config; /* borrowed */
    const struct oneib_sm_way *way;
    struct oneib_policy_file policy;
    struct oneib_stamp stamp; /* opensm.c: of the file, when it was read or put there last */
    struct oneib_ufm *ufm;    /* ufm.c: owned */
};

extern const struct oneib_sm_way oneib_sm_opensm; /* opensm.c */
extern const struct oneib_sm_way oneib_sm_ufm;    /* ufm.c */

/* opensm_policy.c: the file of opensm.qos_policy. */
/* From now on whatever happens to it is news; before it is looked at. */
void oneib_policy_stamp(struct oneib_sm *sm);
bool oneib_policy_has_news(const struct oneib_sm *sm);
/* Looks at it; findings where it cannot be oneib's, or could not be written. */
void oneib_policy_settle(struct oneib_sm *sm, struct oneib_findings *findings);
/* Whether it says the levels of these partitions, as far as it can be made to. */
bool oneib_policy_is_put(const struct oneib_sm *sm, const struct oneib_partition_table *wanted);
/* Makes it say them. That it cannot be written keeps no partition from being put into force: it is
 * a finding of the next oneib_policy_settle(). */
void oneib_policy_put(struct oneib_sm *sm, const struct oneib_partition_table *wanted);
void oneib_policy_close(struct oneib_sm *sm);

/* ufm.c. link NULL: HTTPS, as the configuration says; else what carries calls. */
int oneib_ufm_open(struct oneib_sm *sm, const struct oneib_ufm_link *link, struct oneib_error *err);
/* sm.c: the same as oneib_sm_open(), of kind ufm, over that link; for tests. */
struct oneib_sm *oneib_sm_open_over(const struct oneib_config *config,
                                    const struct oneib_ufm_link *link, struct oneib_error *err);

#endif
