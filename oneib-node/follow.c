// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/follow.h"
#include "base/clock.h"
#include <string.h>

void oneib_follow_begin(struct oneib_follow *follow, size_t count)
{
    memset(follow->daemons, 0, sizeof follow->daemons);
    follow->count = count;
    follow->believes = false;
    follow->believed = 0;
    follow->is_of_known = false;
}

/* ---- a daemon's lists ------------------------------------------------------------------------ */

/* Whether what has arrived can be taken, by what its daemon has proved to say now. */
static bool may_take(const struct oneib_follow_daemon *daemon)
{
    const struct oneib_list_name *arrived = &daemon->arrived.name;
    if (arrived->serial == 0 || !daemon->has_life || daemon->life.instance != arrived->instance)
        return false;
    if (daemon->taken.name.instance == arrived->instance)
        return arrived->serial > daemon->taken.name.serial;
    return daemon->life.serial != 0 && arrived->serial >= daemon->life.serial;
}

/* Serial 0: it has no list for this node. */
static bool names_taken(const struct oneib_follow_daemon *daemon)
{
    return daemon->has_life && daemon->life.serial != 0 &&
           daemon->life.instance == daemon->taken.name.instance &&
           daemon->life.serial <= daemon->taken.name.serial;
}

static void settle(struct oneib_follow_daemon *daemon)
{
    if (may_take(daemon))
        daemon->taken = daemon->arrived;
    if (names_taken(daemon)) {
        daemon->is_current = true;
        daemon->current_at = daemon->made;
    } else if (daemon->has_life && daemon->life.instance != daemon->taken.name.instance) {
        daemon->is_current = false;
    }
}

void oneib_follow_take_list(struct oneib_follow *follow, size_t number,
                            const struct oneib_list_message *list)
{
    struct oneib_follow_daemon *daemon = &follow->daemons[number];
    daemon->arrived.name = list->name;
    daemon->arrived.grants = list->grants;
    settle(daemon);
}

/* ---- challenges ------------------------------------------------------------------------------ */

void oneib_follow_challenge(struct oneib_follow *follow, size_t number,
                            const uint8_t nonce[ONEIB_NONCE_SIZE], double now)
{
    struct oneib_follow_daemon *daemon = &follow->daemons[number];
    const size_t place = daemon->next++ % ONEIB_FOLLOW_CHALLENGES;
    daemon->challenges[place].is_open = true;
    daemon->challenges[place].made = now;
    memcpy(daemon->challenges[place].nonce, nonce, ONEIB_NONCE_SIZE);
}

/* An answer counts once. */
static bool answers(struct oneib_follow_daemon *daemon, const uint8_t nonce[ONEIB_NONCE_SIZE],
                    double *made)
{
    for (size_t i = 0; i < ONEIB_FOLLOW_CHALLENGES; i++) {
        if (!daemon->challenges[i].is_open ||
            memcmp(daemon->challenges[i].nonce, nonce, ONEIB_NONCE_SIZE) != 0)
            continue;
        daemon->challenges[i].is_open = false;
        *made = daemon->challenges[i].made;
        return true;
    }
    return false;
}

void oneib_follow_take_life(struct oneib_follow *follow, size_t number,
                            const struct oneib_life_message *life)
{
    struct oneib_follow_daemon *daemon = &follow->daemons[number];
    double made;
    if (!answers(daemon, life->nonce, &made) || (daemon->has_life && made < daemon->made))
        return;
    daemon->has_life = true;
    daemon->made = made;
    daemon->life = life->name;
    daemon->role = life->role;
    settle(daemon);
}

/* ---- which daemon ---------------------------------------------------------------------------- */

static bool is_heard(const struct oneib_follow_daemon *daemon, double now)
{
    return daemon->has_life && now - daemon->made < ONEIB_LIST_AGE_MS;
}

static bool has_our_sm(const struct oneib_follow_daemon *daemon, const uint16_t *lids,
                       size_t lid_count)
{
    for (size_t i = 0; daemon->role.has_sm && i < lid_count; i++)
        if (lids[i] == daemon->role.sm_lid)
            return true;
    return false;
}

/* How much speaks for it; 0: it is not believed. */
static int weight_of(const struct oneib_follow *follow, size_t number, const uint16_t *lids,
                     size_t lid_count, double now)
{
    const struct oneib_follow_daemon *daemon = &follow->daemons[number];
    const bool is_believed = follow->believes && follow->believed == number;
    if (!is_heard(daemon, now))
        return 0;
    const bool has_sm = has_our_sm(daemon, lids, lid_count);
    if (!has_sm && !daemon->role.is_writer)
        return 0;
    return 4 * has_sm + 2 * is_believed + daemon->role.is_writer;
}

/* Nobody who is heard: whoever was believed is so still, by an older and older list. */
static void believe(struct oneib_follow *follow, const uint16_t *lids, size_t lid_count, double now)
{
    int most = 0;
    size_t best = follow->believed;
    for (size_t i = 0; i < follow->count; i++) {
        const int weight = weight_of(follow, i, lids, lid_count, now);
        if (weight > most) {
            most = weight;
            best = i;
        }
    }
    follow->believed = best;
    follow->believes = follow->believes || most > 0;
}

static bool is_followed(const struct oneib_follow *follow)
{
    const struct oneib_list_name *name = &follow->daemons[follow->believed].taken.name;
    return follow->has_list && follow->is_of_known && follow->source == follow->believed &&
           follow->list.name.instance == name->instance && follow->list.name.serial == name->serial;
}

/* One that has begun anew has said nothing yet: what it said before is over. */
static bool has_list_of_its_own(const struct oneib_follow_daemon *daemon)
{
    return daemon->taken.name.serial != 0 && daemon->taken.name.instance == daemon->life.instance;
}

bool oneib_follow_choose(struct oneib_follow *follow, const uint16_t *lids, size_t lid_count,
                         double now)
{
    believe(follow, lids, lid_count, now);
    if (!follow->believes || !has_list_of_its_own(&follow->daemons[follow->believed]) ||
        is_followed(follow))
        return false;
    follow->list = follow->daemons[follow->believed].taken;
    follow->source = follow->believed;
    follow->has_list = follow->is_of_known = true;
    return true;
}

/* ---- how old --------------------------------------------------------------------------------- */

double oneib_follow_fresh_until(const struct oneib_follow *follow, double now)
{
    const struct oneib_follow_daemon *daemon = &follow->daemons[follow->believed];
    if (!follow->believes || !is_followed(follow) || !daemon->is_current)
        return 0;
    const double list = daemon->current_at + ONEIB_LIST_AGE_MS;
    const double snapshot = daemon->made + ONEIB_SNAPSHOT_AGE_MS - daemon->role.snapshot_age_ms;
    const double until = oneib_sooner(list, snapshot);
    return now < until ? until : 0;
}

bool oneib_follow_is_fresh(const struct oneib_follow *follow, double now)
{
    return oneib_follow_fresh_until(follow, now) > 0;
}

struct oneib_list_name oneib_follow_name(const struct oneib_follow *follow, size_t daemon)
{
    const bool is_its = follow->has_list && follow->is_of_known && follow->source == daemon;
    return is_its ? follow->list.name : (struct oneib_list_name){0, 0};
}
