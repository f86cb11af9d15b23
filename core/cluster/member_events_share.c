// SPDX-License-Identifier: Apache-2.0
/* Which of the news get a line where there are too many: nobody's crowd pushes out another's. */
#include "base/memory.h"
#include "base/order.h"
#include "cluster/member_events.h"
#include <stdlib.h>

/* What one network has. */
struct share {
    uint32_t network_id;
    size_t items, lines;
};

ONEIB_ORDER_BY(compare_shares, struct share, network_id);

/* One share for each network, in place of one for each item. Returns how many. */
static size_t merge_shares(struct share *shares, size_t count)
{
    size_t kept = 0;
    ONEIB_SORT(shares, count, compare_shares);
    for (size_t i = 1; i < count; i++)
        if (shares[i].network_id == shares[kept].network_id)
            shares[kept].items++;
        else
            shares[++kept] = shares[i];
    return kept + 1;
}

static size_t lines_with(const struct share *shares, size_t count, size_t most)
{
    size_t lines = 0;
    for (size_t i = 0; i < count; i++)
        lines += shares[i].items < most ? shares[i].items : most;
    return lines;
}

/* The most lines that each network may have; 1 where even that is too much for all. */
static size_t fair_share(const struct share *shares, size_t count)
{
    size_t most = 1;
    while (lines_with(shares, count, most + 1) <= ONEIB_MEMBER_EVENT_LINES)
        most++;
    return most;
}

static void choose(struct oneib_member_events *news, struct share *shares, size_t count)
{
    const size_t most = fair_share(shares, count);
    size_t lines = 0;
    for (size_t i = 0; i < news->count && lines < ONEIB_MEMBER_EVENT_LINES; i++) {
        const struct share wanted = {.network_id = news->items[i].line.network_id};
        struct share *share = ONEIB_FIND(&wanted, shares, count, compare_shares);
        news->items[i].has_line = share && share->lines < most;
        if (!news->items[i].has_line)
            continue;
        share->lines++;
        lines++;
    }
}

void oneib_member_events_share_lines(struct oneib_member_events *news)
{
    for (size_t i = 0; i < news->count; i++)
        news->items[i].has_line = news->count <= ONEIB_MEMBER_EVENT_LINES;
    if (news->count <= ONEIB_MEMBER_EVENT_LINES)
        return;
    struct share *shares = oneib_alloc(news->count, sizeof *shares);
    for (size_t i = 0; i < news->count; i++)
        shares[i] = (struct share){.network_id = news->items[i].line.network_id, .items = 1};
    choose(news, shares, merge_shares(shares, news->count));
    free(shares);
}
