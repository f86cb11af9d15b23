// SPDX-License-Identifier: Apache-2.0
/* Valid partition tables, made at random or from text, for the tests of partitions/partition.h.
 * Include it behind cmocka.h. */
#ifndef ONEIB_TEST_PARTITIONS_PARTITION_SAMPLES_H
#define ONEIB_TEST_PARTITIONS_PARTITION_SAMPLES_H

#include "../base/random_source.h"
#include "ib/ipoib.h"
#include "partitions/partition.h"
#include <stdlib.h>
#include <string.h>

static inline struct oneib_partition *sample_partition(struct oneib_partition_table *table,
                                                       const char *name, oneib_pkey pkey)
{
    struct oneib_partition *partition = oneib_partition_table_add(table);
    assert_non_null(partition);
    snprintf(partition->name, sizeof partition->name, "%s", name);
    partition->pkey = pkey;
    return partition;
}

static inline void sample_member(struct oneib_partition *partition, enum oneib_member_kind kind,
                                 oneib_guid guid, enum oneib_membership membership)
{
    struct oneib_member member = {guid, (uint8_t)kind, (uint8_t)membership};
    oneib_partition_add_member(partition, member);
}

static inline void random_flags(struct random_source *random, struct oneib_partition *partition)
{
    partition->indx0 = random_below(random, 4) == 0;
    partition->ipoib = random_below(random, 2);
    partition->mtu = (uint8_t)random_below(random, 6);
    partition->rate =
        (uint8_t)(random_below(random, 2) ? 2 + random_below(random, ONEIB_RATE_CODE_MAX - 1) : 0);
    partition->has_sl = random_below(random, 3) == 0;
    partition->sl = (uint8_t)(partition->has_sl ? random_below(random, 16) : 0);
    partition->scopes = (uint16_t)(random_below(random, 3) ? 0 : random_next(random) & 0xfffe);
    partition->q_key = (uint32_t)(random_below(random, 3) ? 0 : random_next(random));
    partition->t_class = (uint8_t)(random_below(random, 3) ? 0 : random_next(random));
    partition->flow_label = (uint32_t)(random_below(random, 3) ? 0 : random_next(random) & 0xfffff);
    partition->default_membership = (uint8_t)random_below(random, 3);
}

/* No member twice; GUIDs from a small range, so that two tables share some. */
static inline void random_members(struct random_source *random, struct oneib_partition *partition,
                                  size_t most)
{
    for (int kind = ONEIB_MEMBER_ALL; kind < ONEIB_MEMBER_GUID; kind++)
        if (random_below(random, 6) == 0)
            sample_member(partition, (enum oneib_member_kind)kind, 0,
                          (enum oneib_membership)random_below(random, 3));
    oneib_guid guid = 0;
    for (size_t i = random_below(random, most + 1); i > 0; i--) {
        guid += 1 + random_below(random, 3);
        sample_member(partition, ONEIB_MEMBER_GUID, guid << (guid % 5 * 8),
                      (enum oneib_membership)random_below(random, 3));
    }
}

static inline void shuffle_members(struct random_source *random, struct oneib_partition *partition)
{
    for (size_t i = partition->member_count; i > 1; i--) {
        size_t j = random_below(random, i);
        struct oneib_member swapped = partition->members[i - 1];
        partition->members[i - 1] = partition->members[j];
        partition->members[j] = swapped;
    }
}

static inline void shuffle_partitions(struct random_source *random,
                                      struct oneib_partition_table *table)
{
    for (size_t i = table->count; i > 1; i--) {
        size_t j = random_below(random, i);
        struct oneib_partition swapped = table->items[i - 1];
        table->items[i - 1] = table->items[j];
        table->items[j] = swapped;
    }
}

/* Keys and names from small ranges, each once, in no order. */
static inline struct oneib_partition_table random_table(struct random_source *random,
                                                        size_t partitions, size_t members)
{
    struct oneib_partition_table table = {0};
    oneib_pkey pkey = 0;
    for (size_t i = 0; i < partitions; i++) {
        pkey = (oneib_pkey)(pkey + 1 + random_below(random, 3));
        char name[ONEIB_PARTITION_NAME_SIZE];
        snprintf(name, sizeof name, "one%u%s", pkey, random_below(random, 8) ? "" : "-b.c_d");
        struct oneib_partition *partition = sample_partition(&table, name, pkey);
        random_flags(random, partition);
        random_members(random, partition, members);
        shuffle_members(random, partition);
    }
    if (partitions > 0 && random_below(random, 4) > 0) {
        struct oneib_partition *partition = sample_partition(&table, "Default", 0x7fff);
        random_members(random, partition, 3);
    }
    shuffle_partitions(random, &table);
    return table;
}

static inline struct oneib_partition_table copy_of_table(const struct oneib_partition_table *table)
{
    struct oneib_partition_table copy = {0};
    for (size_t i = 0; i < table->count; i++) {
        const struct oneib_partition *from = &table->items[i];
        struct oneib_partition *to = sample_partition(&copy, "", 0);
        *to = *from;
        to->members = NULL;
        to->member_count = to->member_capacity = 0;
        for (size_t j = 0; j < from->member_count; j++)
            sample_member(to, (enum oneib_member_kind)from->members[j].kind, from->members[j].guid,
                          (enum oneib_membership)from->members[j].membership);
    }
    return copy;
}

static inline struct oneib_partition_table table_of(const char *text)
{
    struct oneib_partition_table table = {0};
    struct oneib_error err;
    if (oneib_partitions_parse(text, strlen(text), "sample", &table, &err) < 0)
        fail_msg("%s", err.text);
    return table;
}

#endif
