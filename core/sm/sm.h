// SPDX-License-Identifier: Apache-2.0
/*
 * The subnet manager as whoever puts partitions into force knows it, of whatever kind it is: what
 * is in force there, what is to be there, putting it there. Which kind differs in what:
 * docs/design/sm.md.
 */
#ifndef ONEIB_SM_SM_H
#define ONEIB_SM_SM_H

#include "base/error.h"
#include "base/finding.h"
#include "base/text.h"
#include "config/config.h"
#include "fabric/fabric.h"
#include "partitions/partition.h"
#include "sm/said_vports.h"
#include <stdbool.h>
#include <stddef.h>

struct oneib_sm;

/*
 * The one that the configuration means. Nothing is connected to before something is asked. config:
 * borrowed for as long as the sm lives, or until oneib_sm_follow(), and its strings for longer.
 * NULL: CONFIG. To be closed.
 */
struct oneib_sm *oneib_sm_open(const struct oneib_config *config, struct oneib_error *err);
/* The same configuration is elsewhere now. */
void oneib_sm_follow(struct oneib_sm *sm, const struct oneib_config *config);
void oneib_sm_close(struct oneib_sm *sm); /* may be NULL */

/* Whose it is what is in force. */
enum oneib_seen_state {
    ONEIB_SEEN_NOTHING,
    ONEIB_SEEN_OURS,       /* put there by oneib */
    ONEIB_SEEN_FOREIGN,    /* it is a table, and not ours: the first take-over needs --force */
    ONEIB_SEEN_UNREADABLE, /* no table, or one that defines nothing: opensm would make everybody a
                              full member. Why: error */
};

/* What is in force, as it was looked at. */
struct oneib_seen {
    enum oneib_seen_state state;
    struct oneib_partition_table table; /* owned; empty unless OURS or FOREIGN */
    char *data; /* owned: what it was read from, in the grammar of partitions.conf where it is one.
                   NULL: NOTHING, and of kind ufm all but what is FOREIGN and settled */
    size_t length;
    struct oneib_error error;
};

/* Replaces *seen, which is zeroed or valid. On failure *seen is empty. */
int oneib_sm_read(struct oneib_sm *sm, struct oneib_seen *seen, struct oneib_error *err);
/* Whether somebody else may have written there since this one has looked, or put something there,
 * last. Never asks much; true also when that cannot be told. */
bool oneib_sm_has_news(struct oneib_sm *sm);
/* What was seen is not relied on any more: the next look asks for everything. */
void oneib_sm_doubt(struct oneib_sm *sm);
void oneib_seen_clear(struct oneib_seen *seen);
bool oneib_seen_has_table(const struct oneib_seen *seen); /* OURS or FOREIGN */

/* What it is not to be given, for whoever computes what is wanted. Known once it was looked at. */
struct oneib_sm_limits {
    bool only_range; /* no key but pkeys.first to pkeys.last, and GUIDs alone */
    bool no_limited; /* it would make full members of limited ones */
};
struct oneib_sm_limits oneib_sm_limits(const struct oneib_sm *sm);

/*
 * Between looking and rendering: what this kind leaves to the subnet manager is not wanted any more
 * and counts as seen, so that it makes no difference; and what is wrong with the subnet manager
 * itself becomes findings. `wanted`: in canonical order.
 */
void oneib_sm_settle(struct oneib_sm *sm, struct oneib_seen *seen,
                     struct oneib_partition_table *wanted, struct oneib_findings *findings);

/* What is to be there for `wanted` to be in force, as oneib_seen.data has it. Replaces *text, which
 * is empty where the kind compares tables. */
void oneib_sm_render(const struct oneib_sm *sm, const struct oneib_partition_table *wanted,
                     struct oneib_text *text);

struct oneib_sm_put {
    const struct oneib_partition_table *wanted;
    const struct oneib_text *text; /* of oneib_sm_render() */
};
/* Whether all that is to be there is: what was seen or put there since, and what oneib_sm_settle()
 * found beside it. */
bool oneib_sm_is_put(const struct oneib_sm *sm, const struct oneib_seen *seen,
                     const struct oneib_sm_put *what);
/*
 * Puts it there and tells the subnet manager, *nudges times in all (it is added to). REFUSED: what
 * is there is not what was seen, so somebody else writes it too. oneib_sm_is_put() follows as soon
 * as it is there, also when telling fails then; seen->table stays what was in force before.
 */
int oneib_sm_put(struct oneib_sm *sm, const struct oneib_sm_put *put, struct oneib_seen *seen,
                 unsigned *nudges, struct oneib_error *err);
/* Whether it was told of what was put there last, by whichever process. */
bool oneib_sm_is_told(const struct oneib_sm *sm);
/* Makes it look again at what is there, which can take no effect; *nudges: as above. */
int oneib_sm_nudge(struct oneib_sm *sm, unsigned *nudges, struct oneib_error *err);

/* Whether the fabric follows what is put there: the SM of this port is no standby. */
int oneib_sm_leads(struct oneib_sm *sm, struct oneib_fabric *fabric, bool *leads,
                   struct oneib_error *err);

/* Always -1: what is FOREIGN or UNREADABLE is not replaced without force; *err says how to. */
int oneib_sm_refuse(const struct oneib_sm *sm, const struct oneib_seen *seen,
                    struct oneib_error *err);

/* What it says of virtual ports; *said is replaced (zeroed or valid). A kind that cannot be asked
 * does not say. */
int oneib_sm_ask_vports(struct oneib_sm *sm, struct oneib_said_vports *said,
                        struct oneib_error *err);

/* What is written to, for people: a path, or an address. Borrowed from the configuration. */
const char *oneib_sm_place(const struct oneib_sm *sm);

#endif
