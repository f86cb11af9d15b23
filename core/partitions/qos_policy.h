// SPDX-License-Identifier: Apache-2.0
/*
 * opensm's QoS policy (its option qos_policy_file): which service level a path within each
 * partition has. By it the SA refuses a request that names another level (osm_sa_path_record.c);
 * without it whatever is asked for is granted. Grammar: opensm's doc/QoS_management_in_OpenSM.txt,
 * "simplified QoS policy". Pure.
 */
#ifndef ONEIB_PARTITIONS_QOS_POLICY_H
#define ONEIB_PARTITIONS_QOS_POLICY_H

#include "base/error.h"
#include "base/text.h"
#include "partitions/partition.h"
#include <stdbool.h>
#include <stddef.h>

/* The first line of each that oneib writes. */
#define ONEIB_QOS_POLICY_MARK                                                                      \
    "# Written by oneib. Changes made here are lost: see oneib.conf(5), opensm.qos_policy."

/*
 * Appends the file: the mark, SL 0 for all that no rule names, as opensm has it without a policy,
 * and a rule for each partition with a level of its own (has_sl), also an operator's, in the order
 * of the table.
 */
void oneib_qos_policy_render(const struct oneib_partition_table *table, struct oneib_text *text);
/*
 * Reads such a file again: 0 when it has a rule for each partition with a level of its own, with
 * that level, and no other; else -1 with INPUT and the line where it differs.
 */
int oneib_qos_policy_check(const char *data, size_t length,
                           const struct oneib_partition_table *table, struct oneib_error *err);
/* true when the text begins with the mark's line. */
bool oneib_qos_policy_is_ours(const char *data, size_t length);

#endif
