// SPDX-License-Identifier: Apache-2.0
#include "oneibd/audit_log.h"
#include "base/log.h"
#include "oneibd/deferred_members.h"

static void say_item(const struct oneib_cloud *cloud, const struct oneib_member_event *item,
                     bool fresh)
{
    oneib_autotext struct oneib_text line = {0};
    oneib_member_events_append(cloud, item, fresh, &line);
    oneib_log(item->kind == ONEIB_MEMBER_EVENT_REFUSED ? ONEIB_LOG_WARNING : ONEIB_LOG_INFO, "%s",
              line.data);
}

static void say(const struct oneib_cloud *cloud, const struct oneib_member_events *news, bool fresh)
{
    oneib_autotext struct oneib_text rest = {0};
    for (size_t i = 0; i < news->count; i++)
        if (news->items[i].has_line)
            say_item(cloud, &news->items[i], fresh);
    oneib_member_events_append_rest(cloud, news, &rest);
    if (rest.length > 0)
        oneib_log(ONEIB_LOG_INFO, "%s", rest.data);
}

static void find_news(struct oneib_audit_log *trail, const struct oneib_snapshot *snapshot,
                      const struct oneib_changes *changes, struct oneib_member_list *now,
                      struct oneib_member_events *news)
{
    const struct oneib_member_events_input input = {
        .before = trail->begun ? &trail->member_list : NULL,
        .after = now,
        .cloud = &snapshot->cloud,
        .changes = changes,
        .refusals = true,
    };
    const struct oneib_member_events_evidence evidence = {
        .subnet = &snapshot->subnet,
        .cloud = &snapshot->cloud,
        .desired = &snapshot->desired,
        .begins = !trail->begun,
    };
    oneib_member_events_make(&input, news);
    oneib_member_events_prove(&evidence, now, &trail->leaving, news);
}

void oneib_audit_log_follow(struct oneib_audit_log *trail, const struct oneib_snapshot *snapshot,
                            const struct oneib_changes *changes, bool fresh, bool gated)
{
    struct oneib_member_list now;
    struct oneib_member_events news = {0};
    oneib_member_list_make(&snapshot->cloud, &snapshot->desired, &now);
    if (trail->begun && gated)
        oneib_member_list_defer(&trail->member_list, &snapshot->desired.table, &now);
    find_news(trail, snapshot, changes, &now, &news);
    say(&snapshot->cloud, &news, fresh);
    oneib_member_list_clear(&trail->member_list);
    trail->member_list = now;
    trail->begun = true;
    oneib_member_events_clear(&news);
}

void oneib_audit_log_clear(struct oneib_audit_log *trail)
{
    oneib_member_list_clear(&trail->member_list);
    oneib_member_events_clear(&trail->leaving);
    *trail = (struct oneib_audit_log){0};
}
