// SPDX-License-Identifier: Apache-2.0
/*
 * What oneib has put into UFM and under which names: UFM's own names are not believed, and a key
 * that changes hands must be told from one that stays. A file in the grammar of partitions.conf,
 * without members. That it is there says that the keys in UFM are oneib's.
 */
#ifndef ONEIB_SM_UFM_RECORD_H
#define ONEIB_SM_UFM_RECORD_H

#include "base/error.h"
#include "base/stamp.h"
#include "partitions/partition.h"
#include <stdbool.h>

/* As it was read or written last; zeroed: not yet. */
struct oneib_ufm_record {
    bool is_known; /* false: the next reading reads it, whatever the stamp says */
    bool is_there;
    struct oneib_stamp stamp;
    struct oneib_partition_table heads; /* owned; sorted */
};
void oneib_ufm_record_clear(struct oneib_ufm_record *record);

/* Again only when it is another file. INPUT: it is damaged. On failure it is not known. */
int oneib_ufm_record_read(struct oneib_ufm_record *record, const char *path,
                          struct oneib_error *err);
/* Names all of `table`, sorted by key; what the record does not have is "ufm-0x0101". */
void oneib_ufm_record_name(const struct oneib_ufm_record *record,
                           struct oneib_partition_table *table);
/* Of both tables, which are sorted and without 0x7fff; where they differ about a key, or a name,
 * the first one's counts. second: may be NULL. Written only when that is something else than what
 * is there. */
int oneib_ufm_record_write(struct oneib_ufm_record *record, const char *path,
                           const struct oneib_partition_table *first,
                           const struct oneib_partition_table *second, struct oneib_error *err);

#endif
