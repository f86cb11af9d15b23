// SPDX-License-Identifier: Apache-2.0
#include "oneibd/trail.h"
#include "base/log.h"
#include "oneibd/postpone.h"

static void say_item(const struct oneib_cloud *cloud, const struct oneib_news_item *item,
                     bool fresh)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_news_append(cloud, item, fresh, &line);
    oneib_log(item->kind == ONEIB_NEWS_REFUSED ? ONEIB_LOG_WARNING : ONEIB_LOG_INFO, "%s",
              line.data);
}

static void say(const struct oneib_cloud *cloud, const struct oneib_news *news, bool fresh)
{
    oneib_autotext struct oneib_text rest = {0};
    for (size_t i = 0; i < news->count; i++)
        if (news->items[i].has_line)
            say_item(cloud, &news->items[i], fresh);
    oneib_news_append_rest(cloud, news, &rest);
    if (rest.length > 0)
        oneib_log(ONEIB_LOG_INFO, "%s", rest.data);
}

static void find_news(struct oneib_trail *trail, const struct oneib_snapshot *snapshot,
                      const struct oneib_changes *changes, struct oneib_roster *now,
                      struct oneib_news *news)
{
    const struct oneib_news_input input = {
        .before = trail->begun ? &trail->roster : NULL,
        .after = now,
        .cloud = &snapshot->cloud,
        .changes = changes,
        .refusals = true,
    };
    const struct oneib_news_evidence evidence = {
        .subnet = &snapshot->subnet,
        .cloud = &snapshot->cloud,
        .desired = &snapshot->desired,
        .begins = !trail->begun,
    };
    oneib_news_make(&input, news);
    oneib_news_prove(&evidence, now, &trail->leaving, news);
}

void oneib_trail_follow(struct oneib_trail *trail, const struct oneib_snapshot *snapshot,
                        const struct oneib_changes *changes, bool fresh, bool gated)
{
    struct oneib_roster now;
    struct oneib_news news = {0};
    oneib_roster_make(&snapshot->cloud, &snapshot->desired, &now);
    if (trail->begun && gated)
        oneib_roster_postpone(&trail->roster, &snapshot->desired.table, &now);
    find_news(trail, snapshot, changes, &now, &news);
    say(&snapshot->cloud, &news, fresh);
    oneib_roster_clear(&trail->roster);
    trail->roster = now;
    trail->begun = true;
    oneib_news_clear(&news);
}

void oneib_trail_clear(struct oneib_trail *trail)
{
    oneib_roster_clear(&trail->roster);
    oneib_news_clear(&trail->leaving);
    *trail = (struct oneib_trail){0};
}
