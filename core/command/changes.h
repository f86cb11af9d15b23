// SPDX-License-Identifier: Apache-2.0
/* What sync would change or has changed, as a diff for people and as JSON. */
#ifndef ONEIB_COMMAND_CHANGES_H
#define ONEIB_COMMAND_CHANGES_H

#include "command/json.h"
#include "command/output.h"
#include "command/places.h"

/* The diff, partition by partition, members below. */
void oneib_changes_append(bool color, const struct oneib_places *places,
                          const struct oneib_changes *changes, struct oneib_text *text);
/* [{kind, partition, pkey, network, flags}], for members also {member, membership, old_membership,
 * host, vms} */
json_t *oneib_changes_json(const struct oneib_places *places, const struct oneib_changes *changes);

/*
 * Appends "2 partitions and 5 members VERB add[ed], 1 member ..." in one phrase; words are those
 * for added, removed and changed. Nothing when there is no change.
 */
struct oneib_change_words {
    const char *added, *removed, *changed;
};
void oneib_changes_append_summary(const struct oneib_changes *changes,
                                  const struct oneib_change_words *words, struct oneib_text *text);
/* Appends who adds the members that `oneib sync` does not; has_daemon: an oneibd keeps these
 * partitions. A line, or nothing when left is 0. */
void oneib_append_left(bool has_daemon, size_t left, struct oneib_text *text);
/* Appends ", " when the text is not empty. */
void oneib_append_comma(struct oneib_text *text);

#endif
