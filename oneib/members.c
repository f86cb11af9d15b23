// SPDX-License-Identifier: Apache-2.0
#include "oneib/members.h"

void oneib_members_changed(const struct oneib_snapshot *snapshot,
                           const struct oneib_changes *changes, struct oneib_news *news)
{
    struct oneib_roster roster;
    struct oneib_news leaving = {0};
    oneib_roster_make(&snapshot->cloud, &snapshot->desired, &roster);
    const struct oneib_news_input input = {
        .after = &roster, .cloud = &snapshot->cloud, .changes = changes};
    const struct oneib_news_evidence evidence = {.subnet = &snapshot->subnet,
                                                 .cloud = &snapshot->cloud,
                                                 .desired = &snapshot->desired,
                                                 .held = snapshot->held};
    oneib_news_make(&input, news);
    oneib_news_prove(&evidence, &roster, &leaving, news);
    oneib_news_clear(&leaving);
    oneib_roster_clear(&roster);
}

void oneib_members_append(const struct oneib_cloud *cloud, const struct oneib_news *news,
                          struct oneib_text *text)
{
    oneib_autotext struct oneib_text rest = {0};
    for (size_t i = 0; i < news->count; i++) {
        if (!news->items[i].has_line)
            continue;
        oneib_news_append(cloud, &news->items[i], true, text);
        oneib_text_append(text, "\n");
    }
    oneib_news_append_rest(cloud, news, &rest);
    if (rest.length > 0)
        oneib_text_printf(text, "%s\n", rest.data);
}

static json_t *id_json(bool known, uint32_t id)
{
    return known && id != ONEIB_NO_ID ? json_integer(id) : json_null();
}

static json_t *member_json(const struct oneib_cloud *cloud, const struct oneib_news_item *item)
{
    const struct oneib_roster_line *line = &item->line;
    const struct oneib_host *host = item->has_vm ? oneib_cloud_host(cloud, line->host_id) : NULL;
    oneib_autotext struct oneib_text reason = {0};
    oneib_news_append_reason(cloud, item, &reason);
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "change",
                     oneib_news_kind_name(item->kind), "network", id_json(true, line->network_id),
                     "partition", oneib_json_text(item->has_vm ? NULL : item->partition), "pkey",
                     oneib_json_key(line->pkey), "membership",
                     oneib_membership_name((enum oneib_membership)line->membership), "vm",
                     id_json(item->has_vm, line->vm_id), "nic", id_json(item->has_vm, line->nic_id),
                     "host", oneib_json_text(host ? host->name : NULL), "port_guid",
                     oneib_json_known_guid(line->member), "reason", oneib_json_text(reason.data),
                     "proof", oneib_json_text(oneib_news_proof_name(item->proof)));
}

json_t *oneib_members_json(const struct oneib_cloud *cloud, const struct oneib_news *news)
{
    json_t *array = json_array();
    for (size_t i = 0; i < news->count; i++)
        oneib_json_append(&array, member_json(cloud, &news->items[i]));
    return array;
}
