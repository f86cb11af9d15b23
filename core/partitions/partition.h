// SPDX-License-Identifier: Apache-2.0
/*
 * Partitions as opensm's partitions.conf states them: the table, its rendering and a strict parser
 * of the same grammar (opensm: doc/partition-config.txt, opensm/osm_prtn_config.c).
 *
 *   Name=0xKEY[,indx0][,ipoib][,mtu=N][,rate=N][,sl=N][,scope=N][,Q_Key=N][,TClass=N][,FlowLabel=N]
 *       [,defmember=full|limited|both] : MEMBER[=full|limited|both], ... ;
 *   MEMBER: a port GUID, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF
 *
 * opensm is lenient where that is dangerous: an unknown flag is skipped, an abbreviated one taken,
 * an unknown member suffix means limited, a number with a leading zero is octal, a line of more
 * than 4,094 bytes is cut in two, a suffix on the line after its member is lost, a ';' that begins
 * a line makes it read left-overs of earlier lines, and a file that it cannot parse (or that
 * defines nothing) makes everybody a full member of the default partition. The parser here refuses
 * all of that but a text that defines nothing, which an operator's file of static partitions may
 * be.
 */
#ifndef ONEIB_PARTITIONS_PARTITION_H
#define ONEIB_PARTITIONS_PARTITION_H

#include "base/error.h"
#include "base/text.h"
#include "ib/guid.h"
#include "ib/pkey.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ONEIB_PARTITION_NAME_SIZE 32 /* opensm keeps 31 bytes and a NUL (osm_partition.h) */
#define ONEIB_PARTITIONS_LINE_MAX                                                                  \
    4093 /* opensm reads 4,094 bytes at a time, the newline included */

enum oneib_member_kind {
    ONEIB_MEMBER_ALL,
    ONEIB_MEMBER_ALL_CAS,
    ONEIB_MEMBER_ALL_SWITCHES,
    ONEIB_MEMBER_ALL_ROUTERS,
    ONEIB_MEMBER_SELF, /* the port that the SM runs on */
    ONEIB_MEMBER_GUID,
};

struct oneib_member {
    oneib_guid guid;    /* kind GUID only, else 0 */
    uint8_t kind;       /* enum oneib_member_kind */
    uint8_t membership; /* enum oneib_membership */
};

struct oneib_partition {
    char name[ONEIB_PARTITION_NAME_SIZE]; /* letters, digits, '_', '-', '.'; does not begin with a
                                             digit */
    oneib_pkey pkey;
    bool indx0;
    bool ipoib;
    uint8_t mtu;  /* IB code 1-5 (256-4096 bytes); 0: opensm's default */
    uint8_t rate; /* IB code 2-24; 0: opensm's default */
    uint8_t sl;   /* 0-15 */
    bool has_sl;
    uint16_t scopes; /* bit n: scope n; 0: opensm's default */
    uint32_t q_key;  /* 0: opensm's default */
    uint8_t t_class;
    uint32_t flow_label; /* 20 bits */
    uint8_t
        default_membership; /* defmember; opensm's default: limited. Members are stored resolved. */
    struct oneib_member *members; /* owned */
    size_t member_count, member_capacity;
};

struct oneib_partition_table {
    struct oneib_partition *items; /* owned */
    size_t count, capacity;
};

/* Whether a name may stand in the file: as described above, 1-31 bytes. Reads no more than
 * ONEIB_PARTITION_NAME_SIZE bytes. */
bool oneib_partition_name_valid(const char *name);
/* "ALL", "ALL_CAS", ... as in the file; NULL for ONEIB_MEMBER_GUID. */
const char *oneib_member_kind_name(enum oneib_member_kind kind);

/* A zeroed partition at the end (valid until the next add). */
struct oneib_partition *oneib_partition_table_add(struct oneib_partition_table *table);
void oneib_partition_add_member(struct oneib_partition *partition, struct oneib_member member);
/* `members` may be NULL when `count` is 0. */
void oneib_partition_add_members(struct oneib_partition *partition,
                                 const struct oneib_member *members, size_t count);
/*
 * Canonical order: the default partition first, then by key; members wildcards first (in enum
 * order: in opensm a later entry overrides an earlier one), SELF, then by GUID; of two equal GUIDs
 * the narrower membership stays. Not to be used on an operator's static partitions, whose order has
 * a meaning of its own.
 */
void oneib_partition_sort_members(struct oneib_partition *partition);
/* Partitions and the members of each. */
void oneib_partition_table_sort(struct oneib_partition_table *table);
/* That order: of two members by kind and GUID alone, for qsort() and its like; of two partitions by
 * key, then name. <0, 0, >0. */
int oneib_member_compare(const void *a, const void *b);
int oneib_partition_compare(const struct oneib_partition *a, const struct oneib_partition *b);
/* Of two partitions by key alone, for qsort() and its like. */
int oneib_partition_compare_keys(const void *a, const void *b);
/* Adds one with the same head, and no members yet. */
struct oneib_partition *oneib_partition_table_add_like(struct oneib_partition_table *table,
                                                       const struct oneib_partition *partition);
void oneib_partition_table_clear(struct oneib_partition_table *table);
#define oneib_autopartitions __attribute__((cleanup(oneib_partition_table_clear)))
const struct oneib_partition *
oneib_partition_table_find(const struct oneib_partition_table *table,
                           oneib_pkey pkey); /* linear or binary; NULL */
/* Whether it has the member by its GUID, whatever the order of its members. */
bool oneib_partition_lists(const struct oneib_partition *partition, oneib_guid guid);
/* Everything but the members; these alone, in their order. */
bool oneib_partition_heads_equal(const struct oneib_partition *a, const struct oneib_partition *b);
bool oneib_partition_members_equal(const struct oneib_partition *a,
                                   const struct oneib_partition *b);
/* The order counts: in opensm it has a meaning. */
bool oneib_partition_table_equal(const struct oneib_partition_table *a,
                                 const struct oneib_partition_table *b);

/* The first line of every file that oneib writes; how `plan` knows that a file is its own. */
#define ONEIB_PARTITIONS_MARK                                                                      \
    "# Written by oneib. Changes made here are lost: see oneib(8), static-partitions.conf."

/*
 * Appends the file: the mark, then one partition after the other, one member a line. An empty table
 * gives a file that must not be put into force (see above). A name that is not valid is left out,
 * so that it can never reach opensm, and oneib_partitions_parse() then refuses the text.
 */
void oneib_partitions_render(const struct oneib_partition_table *table, struct oneib_text *text);
/* One partition, as in the file. */
void oneib_partition_render(const struct oneib_partition *partition, struct oneib_text *text);
/* true when the text begins with the mark's line. */
bool oneib_partitions_is_ours(const char *data, size_t length);

/*
 * Parses a whole file. `name` is what errors call it ("/etc/opensm/partitions.conf"); errors name
 * the line. Refused: NUL bytes, lines over ONEIB_PARTITIONS_LINE_MAX, anything not of the grammar
 * above, no key or key 0, a key defined again with other flags, a name used for two keys, the name
 * "Default" for another key than 0x7fff (opensm has given it already), a partition without ';'. A
 * key with its top bit set is refused too: opensm would drop the bit silently. Definitions of one
 * key with the same flags become one partition with the first one's name, as in opensm. An mtu in
 * bytes becomes its code, which opensm would ignore. Blanks, newlines and comments ('#' to the
 * end of the line) are allowed where opensm takes them as we do: a head stays on one line, and so
 * do a member and its suffix, and a ';' and what it ends. Replaces what *table holds (it must be
 * zeroed or valid); on failure *table is as it was. Never crashes on any input (tests/fuzz).
 */
int oneib_partitions_parse(const char *data, size_t length, const char *name,
                           struct oneib_partition_table *table, struct oneib_error *err);

/* The difference of two tables, partition by partition. */
enum oneib_change_kind {
    ONEIB_PARTITION_ADDED,
    ONEIB_PARTITION_REMOVED,
    ONEIB_PARTITION_CHANGED, /* name or flags, or an order of the same wildcards and members that
                                means something else to opensm; its member changes follow as their
                                own */
    ONEIB_MEMBER_ADDED,
    ONEIB_MEMBER_REMOVED,
    ONEIB_MEMBER_CHANGED, /* membership */
};

struct oneib_change {
    enum oneib_change_kind kind;
    const struct oneib_partition *before; /* in the first table, NULL when added; borrowed */
    const struct oneib_partition *after;  /* in the second, NULL when removed; borrowed */
    struct oneib_member member; /* MEMBER_*: with the new membership, for REMOVED the old one */
    uint8_t old_membership;     /* MEMBER_CHANGED */
};

struct oneib_changes {
    struct oneib_change *items;
    size_t count, capacity;
    size_t members_added, members_removed, members_changed;
};

/*
 * From `before` to `after`, in canonical order, whatever the order of the tables. Of a member
 * listed twice the later entry counts, as in opensm. An added partition is followed by MEMBER_ADDED
 * for each of its members, a removed one likewise (MEMBER_REMOVED). Both tables must stay alive
 * while *changes is used.
 */
void oneib_partitions_diff(const struct oneib_partition_table *before,
                           const struct oneib_partition_table *after,
                           struct oneib_changes *changes);
void oneib_changes_clear(struct oneib_changes *changes);

#endif
