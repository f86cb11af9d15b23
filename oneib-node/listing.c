// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/listing.h"
#include <string.h>

void oneib_listing_take(struct oneib_listing *listing, const struct oneib_vf_table *table,
                        const struct oneib_domain_list *domains)
{
    listing->record_count = table->count;
    if (table->count > 0)
        memcpy(listing->records, table->items, table->count * sizeof *table->items);
    listing->domains.known = domains->known;
    listing->domains.why = domains->why;
    listing->domains.count = domains->known ? domains->count : 0;
    memcpy(listing->domains.items, domains->items, listing->domains.count * sizeof *domains->items);
}

void oneib_listing_take_grants(struct oneib_listing *listing, const struct oneib_grant_feed *feed,
                               size_t unseen)
{
    bool fresh = false;
    const struct oneib_grant_list *grants = oneib_grant_feed_list(feed, &fresh);
    listing->grants.count = grants ? grants->count : 0;
    if (grants)
        memcpy(listing->grants.items, grants->items, grants->count * sizeof *grants->items);
    listing->follows = (struct oneib_follows){
        .has_list = grants != NULL,
        .fresh = fresh,
        .unseen = (uint32_t)unseen,
    };
    listing->stale = (struct oneib_error){0};
    oneib_grant_feed_why(feed, &listing->stale);
}

static struct oneib_answer follows_of(const struct oneib_listing *listing)
{
    struct oneib_answer answer = oneib_answer_with(ONEIB_ANSWER_FOLLOWS, &listing->stale);
    answer.follows = listing->follows;
    return answer;
}

static struct oneib_answer end_of(const struct oneib_domain_list *domains)
{
    struct oneib_error why = domains->why;
    if (domains->known)
        return oneib_answer_new(ONEIB_ANSWER_END);
    if (why.code == ONEIB_ERROR_NONE)
        oneib_fail(&why, ONEIB_ERROR_UNREACHABLE, "libvirt has not been asked yet");
    return oneib_answer_with(ONEIB_ANSWER_END, &why);
}

struct oneib_answer oneib_listing_answer(const struct oneib_listing *listing, size_t at)
{
    struct oneib_answer answer = oneib_answer_new(ONEIB_ANSWER_RECORD);
    if (at < listing->record_count) {
        answer.record = listing->records[at];
        return answer;
    }
    at -= listing->record_count;
    if (at < listing->domains.count) {
        answer = oneib_answer_new(ONEIB_ANSWER_DOMAIN);
        answer.domain = listing->domains.items[at];
        return answer;
    }
    at -= listing->domains.count;
    if (at < listing->grants.count) {
        answer = oneib_answer_new(ONEIB_ANSWER_GRANT);
        answer.grant = listing->grants.items[at];
        return answer;
    }
    return at == listing->grants.count ? follows_of(listing) : end_of(&listing->domains);
}

bool oneib_listing_is_last(const struct oneib_listing *listing, size_t at)
{
    return at == listing->record_count + listing->domains.count + listing->grants.count + 1;
}
