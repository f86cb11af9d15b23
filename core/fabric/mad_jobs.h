// SPDX-License-Identifier: Apache-2.0
/* What ports are still to be asked, in the order in which it was added; answers may add more.
 * Private to core/fabric. */
#ifndef ONEIB_FABRIC_MAD_JOBS_H
#define ONEIB_FABRIC_MAD_JOBS_H

#include "fabric/mad.h"

struct oneib_mad_job {
    uint16_t lid;       /* whom */
    oneib_guid to;      /* likewise, for its M_Key; 0: not known */
    uint8_t mgmt_class; /* 0: it is an SMP */
    uint16_t attribute;
    uint32_t modifier; /* of the first block; that of each further one is one more */
    unsigned blocks;   /* of a table, each one a question; 0: no table, one question */
    size_t tag;        /* the request's; its subtag is the block, from 0 */
};

/* Zeroed: none. */
struct oneib_mad_jobs {
    struct oneib_mad_job *items; /* owned */
    size_t count, capacity;
    size_t next;
    unsigned block; /* of the next one */
};

void oneib_mad_jobs_add(struct oneib_mad_jobs *jobs, const struct oneib_mad_job *job);
/* The next Get, for `next` of an exchange; false: there is none at the moment. A table stays one
 * job until its last block is asked for, however long a port says that it is. */
bool oneib_mad_jobs_next(struct oneib_mad_jobs *jobs, struct oneib_mad_request *request);
void oneib_mad_jobs_clear(struct oneib_mad_jobs *jobs);

#endif
