// SPDX-License-Identifier: Apache-2.0
#include "partitions/partition.h"
#include <string.h>

static void render_flags(const struct oneib_partition *partition, struct oneib_text *text)
{
    if (partition->indx0)
        oneib_text_append(text, ",indx0");
    if (partition->ipoib)
        oneib_text_append(text, ",ipoib");
    if (partition->mtu)
        oneib_text_printf(text, ",mtu=%u", partition->mtu);
    if (partition->rate)
        oneib_text_printf(text, ",rate=%u", partition->rate);
    if (partition->has_sl)
        oneib_text_printf(text, ",sl=%u", partition->sl);
    for (unsigned scope = 0; scope < 16; scope++)
        if (partition->scopes & 1u << scope)
            oneib_text_printf(text, ",scope=%u", scope);
    if (partition->q_key)
        oneib_text_printf(text, ",Q_Key=0x%08x", partition->q_key);
    if (partition->t_class)
        oneib_text_printf(text, ",TClass=0x%02x", partition->t_class);
    if (partition->flow_label)
        oneib_text_printf(text, ",FlowLabel=0x%05x", partition->flow_label);
    if (partition->default_membership != ONEIB_LIMITED)
        oneib_text_printf(text, ",defmember=%s",
                          oneib_membership_name(partition->default_membership));
}

/* A GUID, or the longest of opensm's words for a member, and a membership. */
#define MEMBER_SIZE 64

/* At once: a site has a hundred thousand of them. */
static void render_member(const struct oneib_member *member, struct oneib_text *text)
{
    const char *wildcard = oneib_member_kind_name(member->kind);
    char guid[ONEIB_GUID_TEXT_SIZE], said[MEMBER_SIZE];
    if (!wildcard)
        oneib_guid_format(member->guid, guid);
    const char *end = stpcpy(stpcpy(stpcpy(stpcpy(said, "\t"), wildcard ? wildcard : guid), "="),
                             oneib_membership_name(member->membership));
    oneib_text_append_bytes(text, said, (size_t)(end - said));
}

void oneib_partition_render(const struct oneib_partition *partition, struct oneib_text *text)
{
    if (oneib_partition_name_valid(partition->name))
        oneib_text_append(text, partition->name);
    oneib_text_printf(text, "=0x%04x", partition->pkey);
    render_flags(partition, text);
    oneib_text_append(text, " :");

    for (size_t i = 0; i < partition->member_count; i++) {
        oneib_text_append(text, i == 0 ? "\n" : ",\n");
        render_member(&partition->members[i], text);
    }
    /* Never on a line of its own: there opensm would read on in what earlier lines left in its
     * buffer. */
    oneib_text_append(text, " ;\n");
}

void oneib_partitions_render(const struct oneib_partition_table *table, struct oneib_text *text)
{
    oneib_text_append(text, ONEIB_PARTITIONS_MARK "\n");
    for (size_t i = 0; i < table->count; i++)
        oneib_partition_render(&table->items[i], text);
}

bool oneib_partitions_is_ours(const char *data, size_t length)
{
    const size_t mark = sizeof ONEIB_PARTITIONS_MARK - 1;
    return length >= mark && memcmp(data, ONEIB_PARTITIONS_MARK, mark) == 0 &&
           (length == mark || data[mark] == '\n');
}
