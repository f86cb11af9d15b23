// SPDX-License-Identifier: Apache-2.0
/*
 * What UFM answers, in every shape that its answers were seen in. Pure; never crashes on any input
 * (tests/fuzz). An answer is believed whole or not at all: where one key that is oneib's cannot be
 * read, the error names it.
 */
#ifndef ONEIB_SM_UFM_ANSWER_H
#define ONEIB_SM_UFM_ANSWER_H

#include "base/error.h"
#include "partitions/partition.h"
#include "sm/said_vports.h"
#include "sm/ufm_release.h"
#include <stdbool.h>
#include <stddef.h>

/* The keys that are oneib's: pkeys.first to pkeys.last. */
struct oneib_ufm_range {
    oneib_pkey first, last;
};

/* 0x7fff, which is UFM's own. */
struct oneib_ufm_default {
    bool is_known;     /* the answer has it, and a membership for each of its members */
    oneib_guid *guids; /* owned; sorted: members that are full */
    size_t full;       /* how many these are */
};
void oneib_ufm_default_clear(struct oneib_ufm_default *management);

/*
 * GET /resources/pkeys?guids_data=true. *table and *management are replaced (zeroed or valid): keys
 * in the range alone, sorted, with members, ipoib and indx0, and without names: UFM's are not
 * believed, for they could be those of clusters. PROTOCOL: not of a known shape, a key twice, a
 * GUID twice under one key, a membership that is neither "full" nor "limited", members of one key
 * that differ in index0. Of keys out of the range nothing is read. On failure *table and
 * *management are as they were.
 */
int oneib_ufm_read_all(const char *data, size_t length, struct oneib_ufm_range range,
                       struct oneib_partition_table *table, struct oneib_ufm_default *management,
                       struct oneib_error *err);

/*
 * GET /resources/pkeys/KEY?guids_data=true, which UFM answered with `status`. Flat, within the key
 * ("0x31a", "0x031a", ...), or the one item of a list. *is_there false: 404, or 200 with {}.
 * *partition is zeroed first and the caller's (oneib_ufm_partition_clear()); empty unless it is
 * there. Other statuses are errors, as above.
 */
int oneib_ufm_read_one(const char *data, size_t length, long status, oneib_pkey pkey,
                       struct oneib_partition *partition, bool *is_there, struct oneib_error *err);
void oneib_ufm_partition_clear(struct oneib_partition *partition);

/* GET /app/ufm_version. */
int oneib_ufm_read_release(const char *data, size_t length, struct oneib_ufm_release *release,
                           struct oneib_error *err);

/* GET /app/smconf: what is wrong with UFM's keys. No key is kept. */
struct oneib_ufm_sm_keys {
    bool sa_key_is_known_to_all; /* 0 or 1, the default: guests may ask the SA for everything */
    bool m_key_per_port;
};
int oneib_ufm_read_sm_keys(const char *data, size_t length, struct oneib_ufm_sm_keys *keys,
                           struct oneib_error *err);

/*
 * GET /resources/vports, which UFM answered with `status`. *said is replaced (zeroed or valid). A
 * list of {"virtual_port_guid", "virtual_port_state", "port_guid", ...}, as is published, or an
 * object of such. Since nothing follows from it, what lacks a GUID is counted, and the rest is
 * taken: a state that is not "Active" is not active, a port's GUID may be missing. 404: it does not
 * say. Other statuses and shapes are errors; then *said is as it was.
 */
int oneib_ufm_read_vports(const char *data, size_t length, long status,
                          struct oneib_said_vports *said, struct oneib_error *err);

#endif
