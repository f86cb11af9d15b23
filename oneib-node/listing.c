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
    if (at == listing->domains.count)
        return end_of(&listing->domains);
    answer = oneib_answer_new(ONEIB_ANSWER_DOMAIN);
    answer.domain = listing->domains.items[at];
    return answer;
}
