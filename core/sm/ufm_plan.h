// SPDX-License-Identifier: Apache-2.0
/*
 * From the table that is wanted and the one that UFM has to the requests that make the one of the
 * other. Pure. A partition is set by one PUT with all its members and a membership for each;
 * POST is never sent, for releases that ignore memberships make full members of limited ones.
 */
#ifndef ONEIB_SM_UFM_PLAN_H
#define ONEIB_SM_UFM_PLAN_H

#include "base/text.h"
#include "partitions/partition.h"
#include "sm/ufm_answer.h"
#include <stdbool.h>
#include <stddef.h>

/* Why something that is wanted is not for UFM. */
enum oneib_ufm_refusal {
    ONEIB_UFM_OUT_OF_RANGE, /* the partition's key is not from pkeys.first to pkeys.last */
    ONEIB_UFM_WILDCARD,     /* the partition has ALL and the like, or SELF */
    ONEIB_UFM_LIMITED,      /* the release makes limited members full ones: they are left out */
};

struct oneib_ufm_refused {
    enum oneib_ufm_refusal why;
    oneib_pkey pkey;
    size_t members; /* LIMITED: how many */
};

/* What UFM is to have of a table. */
struct oneib_ufm_wanted {
    struct oneib_partition_table table; /* owned; sorted, none without members, no 0x7fff */
    struct oneib_ufm_refused *refused;  /* owned */
    size_t refused_count, refused_capacity;
};

/* wanted: in canonical order. What UFM is left with (mtu, rate, SL, ...) is not in the result.
 * *result is zeroed first. */
void oneib_ufm_want(const struct oneib_partition_table *wanted, struct oneib_ufm_range range,
                    struct oneib_ufm_abilities abilities, struct oneib_ufm_wanted *result);
void oneib_ufm_wanted_clear(struct oneib_ufm_wanted *wanted);

/* In the order in which they are sent: nobody comes before somebody else has gone. */
enum oneib_ufm_step {
    ONEIB_UFM_DELETE,     /* the partition goes */
    ONEIB_UFM_PUT_LESS,   /* members go, or become limited; nobody comes or becomes full */
    ONEIB_UFM_PUT_CHANGE, /* some go and others come */
    ONEIB_UFM_PUT_MORE,   /* nobody goes */
};

struct oneib_ufm_request {
    enum oneib_ufm_step step;
    oneib_pkey pkey;
    const struct oneib_partition *wanted; /* borrowed from `wanted`; NULL: DELETE */
    const struct oneib_partition *seen;   /* borrowed from `seen`; NULL: it was not there */
};

struct oneib_ufm_plan {
    struct oneib_ufm_request *items; /* owned */
    size_t count, capacity;
};

/* Both tables sorted, by oneib_ufm_want() and oneib_ufm_read_all(); they must outlive *plan, which
 * is zeroed first. Names do not count. */
void oneib_ufm_plan(const struct oneib_partition_table *wanted,
                    const struct oneib_partition_table *seen, struct oneib_ufm_plan *plan);
void oneib_ufm_plan_clear(struct oneib_ufm_plan *plan);

/* The body of a PUT. Whoever is not full is limited: nothing is wider than it is meant. */
void oneib_ufm_render_put(const struct oneib_partition *wanted, struct oneib_text *text);

/* What UFM has of a partition, against what it is to have. Either may be NULL: it is not (to be)
 * there, which is the same as without members. */
struct oneib_ufm_difference {
    size_t excess;  /* members that are not meant, */
    size_t widened; /* or limited and have become full: somebody may reach whom he should not */
    size_t lacking; /* members that are meant and not there, or full and have become limited */
    bool settings;  /* ip_over_ib or index0 is another */
};
struct oneib_ufm_difference oneib_ufm_compare(const struct oneib_partition *wanted,
                                              const struct oneib_partition *seen);
bool oneib_ufm_differs(const struct oneib_ufm_difference *difference);

#endif
