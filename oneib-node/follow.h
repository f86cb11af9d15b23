// SPDX-License-Identifier: Apache-2.0
/*
 * Which daemon is believed, which of its lists is followed, and how old that is: from messages
 * whose signatures are checked, and from times of the caller's monotonic clock (oneib_now_ms()).
 * Pure. docs/design/grants.md.
 *
 * A list is taken when a LIFE that answers one of the node's own challenges has named its instance:
 * the first one of an instance must not be older than that LIFE says, and any other must be newer
 * than the one before. So nothing that was said before can be said again.
 */
#ifndef ONEIB_NODE_FOLLOW_H
#define ONEIB_NODE_FOLLOW_H

#include "grants/daemons.h"
#include "grants/grants_message.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Challenges of which an answer counts: those of a list's age, and some. */
#define ONEIB_FOLLOW_CHALLENGES 8

struct oneib_follow_list {
    struct oneib_list_name name; /* {0, 0}: none */
    struct oneib_grant_list grants;
};

struct oneib_follow_daemon {
    struct {
        bool is_open;
        uint8_t nonce[ONEIB_NONCE_SIZE];
        double made;
    } challenges[ONEIB_FOLLOW_CHALLENGES];
    size_t next; /* the oldest of them, to be replaced */
    bool has_life;
    double made;                 /* when the challenge of the newest LIFE was */
    struct oneib_list_name life; /* what that LIFE named */
    struct oneib_daemon_role role;
    struct oneib_follow_list arrived, taken;
    bool is_current;   /* a LIFE named no newer one than `taken`; */
    double current_at; /* its challenge was made then */
};

struct oneib_follow {
    size_t count;
    struct oneib_follow_daemon daemons[ONEIB_DAEMONS_MAX];
    bool believes; /* daemons[believed] */
    size_t believed;
    bool has_list; /* `list`, of daemons[source]; or of one that is known no more */
    bool is_of_known;
    size_t source;
    struct oneib_follow_list list;
};

/* These are the daemons from now on. The list that is followed stays, and is not fresh. */
void oneib_follow_begin(struct oneib_follow *follow, size_t count);
/* A challenge is sent. */
void oneib_follow_challenge(struct oneib_follow *follow, size_t daemon,
                            const uint8_t nonce[ONEIB_NONCE_SIZE], double now);
void oneib_follow_take_list(struct oneib_follow *follow, size_t daemon,
                            const struct oneib_list_message *list);
void oneib_follow_take_life(struct oneib_follow *follow, size_t daemon,
                            const struct oneib_life_message *life);
/* Chooses whom to believe and what to follow by now. lids: to which the `sm_lid` of this host's
 * active ports points. Returns whether `list` is another one than before. */
bool oneib_follow_choose(struct oneib_follow *follow, const uint16_t *lids, size_t lid_count,
                         double now);
/* The list may be opened by. */
bool oneib_follow_is_fresh(const struct oneib_follow *follow, double now);
/* When it is not fresh any more; 0 when it is not. */
double oneib_follow_fresh_until(const struct oneib_follow *follow, double now);
/* The name of that daemon's list that is followed; {0, 0}: none of its. */
struct oneib_list_name oneib_follow_name(const struct oneib_follow *follow, size_t daemon);

#endif
