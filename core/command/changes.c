// SPDX-License-Identifier: Apache-2.0
#include "command/changes.h"
#include "ib/ipoib.h"
#include <string.h>

/* The names that opensm knows (partitions/partition.h). */
static const char *const wildcard_names[] = {
    [ONEIB_MEMBER_ALL] = "ALL",
    [ONEIB_MEMBER_ALL_CAS] = "ALL_CAS",
    [ONEIB_MEMBER_ALL_SWITCHES] = "ALL_SWITCHES",
    [ONEIB_MEMBER_ALL_ROUTERS] = "ALL_ROUTERS",
    [ONEIB_MEMBER_SELF] = "SELF",
};

static const struct oneib_partition *partition_of(const struct oneib_change *change)
{
    return change->after ? change->after : change->before;
}

static void append_flag(struct oneib_text *text, const char *name, unsigned before, unsigned after)
{
    if (before != after)
        oneib_text_printf(text, "%s%s %u -> %u", text->length ? ", " : "", name, before, after);
}

/* What differs between two states of a partition, members aside. */
static void append_flags(const struct oneib_partition *before, const struct oneib_partition *after,
                         struct oneib_text *text)
{
    oneib_autotext struct oneib_text flags = {0};
    if (strcmp(before->name, after->name) != 0)
        oneib_text_printf(&flags, "name %s -> %s", before->name, after->name);
    append_flag(&flags, "ipoib", before->ipoib, after->ipoib);
    append_flag(&flags, "mtu", oneib_mtu_bytes(before->mtu), oneib_mtu_bytes(after->mtu));
    append_flag(&flags, "rate", oneib_rate_gbps(before->rate), oneib_rate_gbps(after->rate));
    append_flag(&flags, "indx0", before->indx0, after->indx0);
    append_flag(&flags, "has_sl", before->has_sl, after->has_sl);
    append_flag(&flags, "sl", before->sl, after->sl);
    append_flag(&flags, "scopes", before->scopes, after->scopes);
    append_flag(&flags, "Q_Key", before->q_key, after->q_key);
    append_flag(&flags, "TClass", before->t_class, after->t_class);
    append_flag(&flags, "FlowLabel", before->flow_label, after->flow_label);
    if (before->default_membership != after->default_membership)
        oneib_text_printf(&flags, "%sdefmember %s -> %s", flags.length ? ", " : "",
                          oneib_membership_name(before->default_membership),
                          oneib_membership_name(after->default_membership));
    if (flags.data)
        oneib_text_append(text, flags.data);
}

static void append_owner(const struct oneib_cloud *cloud, const struct oneib_partition *partition,
                         struct oneib_text *text)
{
    const struct oneib_network *network = oneib_network_of(cloud, partition);
    if (network) {
        oneib_text_append(text, "virtual cluster ");
        oneib_append_quoted(text, network->name);
    } else {
        oneib_text_append(text, partition->pkey == ONEIB_PKEY_DEFAULT ? "default partition"
                                                                      : "partition");
    }
}

static void paint_line(bool color, bool added, bool removed, const struct oneib_text *line,
                       struct oneib_text *text)
{
    oneib_paint(text, color,
                added     ? ONEIB_GOOD
                : removed ? ONEIB_BAD
                          : ONEIB_CHANGED,
                "%s", line->data ? line->data : "");
    oneib_text_append(text, "\n");
}

static void append_title(bool color, const struct oneib_cloud *cloud,
                         const struct oneib_change *change, struct oneib_text *text)
{
    const struct oneib_partition *partition = partition_of(change);
    const bool added = change->kind == ONEIB_PARTITION_ADDED;
    const bool removed = change->kind == ONEIB_PARTITION_REMOVED;
    oneib_autotext struct oneib_text line = {0};

    oneib_text_printf(&line, "%c %s  0x%04x  %s",
                      added     ? '+'
                      : removed ? '-'
                                : '~',
                      partition->name, partition->pkey,
                      added     ? "new "
                      : removed ? "end of "
                                : "");
    append_owner(cloud, partition, &line);
    if (change->kind == ONEIB_PARTITION_CHANGED) {
        oneib_text_append(&line, ": ");
        append_flags(change->before, change->after, &line);
    }
    paint_line(color, added, removed, &line, text);
}

#define MEMBERSHIP_COLUMNS 7

static void append_who(const struct oneib_places *places, const struct oneib_change *change,
                       struct oneib_text *text)
{
    const size_t width = strlen(oneib_membership_name(change->member.membership));
    oneib_autotext struct oneib_text who = {0}, vms = {0};
    oneib_places_append_port(places, change->member.guid, &who);
    if (change->kind != ONEIB_MEMBER_REMOVED)
        oneib_places_append_vms(places, partition_of(change)->pkey, change->member.guid, &vms);
    if (who.data)
        oneib_text_printf(text, "%*s  %s", (int)(MEMBERSHIP_COLUMNS - width), "", who.data);
    if (vms.data)
        oneib_text_printf(text, " (%s)", vms.data);
}

static void append_member(bool color, const struct oneib_places *places,
                          const struct oneib_change *change, struct oneib_text *text)
{
    const bool added = change->kind == ONEIB_MEMBER_ADDED;
    const bool removed = change->kind == ONEIB_MEMBER_REMOVED;
    char name[ONEIB_GUID_TEXT_SIZE];
    oneib_autotext struct oneib_text line = {0};

    oneib_guid_format(change->member.guid, name);
    oneib_text_printf(
        &line, "  %c %-18s  %s",
        added     ? '+'
        : removed ? '-'
                  : '~',
        change->member.kind == ONEIB_MEMBER_GUID ? name : wildcard_names[change->member.kind],
        oneib_membership_name(change->member.membership));
    if (change->kind == ONEIB_MEMBER_CHANGED)
        oneib_text_printf(&line, " (was %s)", oneib_membership_name(change->old_membership));
    if (change->member.kind == ONEIB_MEMBER_GUID)
        append_who(places, change, &line);
    paint_line(color, added, removed, &line, text);
}

static bool is_of_partition(const struct oneib_change *change)
{
    return change->kind == ONEIB_PARTITION_ADDED || change->kind == ONEIB_PARTITION_REMOVED ||
           change->kind == ONEIB_PARTITION_CHANGED;
}

void oneib_changes_append(bool color, const struct oneib_places *places,
                          const struct oneib_changes *changes, struct oneib_text *text)
{
    oneib_pkey titled = 0;
    for (size_t i = 0; i < changes->count; i++) {
        const struct oneib_change *change = &changes->items[i];
        if (partition_of(change)->pkey != titled)
            append_title(color, &places->snapshot->cloud, change, text);
        titled = partition_of(change)->pkey;
        if (!is_of_partition(change))
            append_member(color, places, change, text);
    }
}

static const char *kind_name(enum oneib_change_kind kind)
{
    static const char *const names[] = {
        [ONEIB_PARTITION_ADDED] = "partition-added",
        [ONEIB_PARTITION_REMOVED] = "partition-removed",
        [ONEIB_PARTITION_CHANGED] = "partition-changed",
        [ONEIB_MEMBER_ADDED] = "member-added",
        [ONEIB_MEMBER_REMOVED] = "member-removed",
        [ONEIB_MEMBER_CHANGED] = "member-changed",
    };
    return names[kind];
}

static json_t *vms_json(const struct oneib_places *places, oneib_pkey pkey, oneib_guid guid)
{
    size_t count;
    const struct oneib_place *place = oneib_places_find(places, pkey, guid, &count);
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        oneib_json_append(&array, json_integer(place[i].vm_id));
    return array;
}

/* Adds the fields that only changes of members have. */
static void add_member_fields(json_t **object, const struct oneib_places *places,
                              const struct oneib_change *change)
{
    const bool is_guid = change->member.kind == ONEIB_MEMBER_GUID;
    const struct oneib_known_port *known =
        is_guid ? oneib_places_port(places, change->member.guid) : NULL;
    json_t *fields =
        json_pack("{s:o, s:s, s:o, s:o, s:o}", "member",
                  is_guid ? oneib_json_guid(change->member.guid)
                          : json_string(wildcard_names[change->member.kind]),
                  "membership", oneib_membership_name(change->member.membership), "old_membership",
                  change->kind == ONEIB_MEMBER_CHANGED
                      ? json_string(oneib_membership_name(change->old_membership))
                      : json_null(),
                  "host", oneib_json_text(known ? known->host->name : NULL), "vms",
                  vms_json(places, partition_of(change)->pkey, change->member.guid));

    if (json_object_update_new(*object, fields) < 0) {
        json_decref(*object);
        *object = NULL;
    }
}

static json_t *change_json(const struct oneib_places *places, const struct oneib_change *change)
{
    const struct oneib_partition *partition = partition_of(change);
    const struct oneib_network *network = oneib_network_of(&places->snapshot->cloud, partition);
    oneib_autotext struct oneib_text flags = {0};
    if (change->kind == ONEIB_PARTITION_CHANGED)
        append_flags(change->before, change->after, &flags);

    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:o, s:o}", "kind", kind_name(change->kind), "partition", partition->name,
        "pkey", oneib_json_key(partition->pkey), "network",
        network ? json_integer(network->id) : json_null(), "flags", oneib_json_text(flags.data));
    if (!is_of_partition(change))
        add_member_fields(&object, places, change);
    return object;
}

json_t *oneib_changes_json(const struct oneib_places *places, const struct oneib_changes *changes)
{
    json_t *array = json_array();
    for (size_t i = 0; i < changes->count; i++)
        oneib_json_append(&array, change_json(places, &changes->items[i]));
    return array;
}

void oneib_append_left(bool has_daemon, size_t left, struct oneib_text *text)
{
    if (left == 0)
        return;
    oneib_append_count(text, left, "member");
    oneib_text_append(text, " left to oneibd, which adds a member when its host's oneib-node has "
                            "reported: see 'oneib hosts'");
    oneib_text_append(text, has_daemon ? "\n" : "; no oneibd keeps these partitions: start it\n");
}

void oneib_append_comma(struct oneib_text *text)
{
    if (text->length > 0)
        oneib_text_append(text, ", ");
}

static void append_phrase(size_t partitions, size_t members, const char *what,
                          struct oneib_text *text)
{
    if (partitions + members == 0)
        return;
    oneib_append_comma(text);
    if (partitions)
        oneib_append_count(text, partitions, "partition");
    if (partitions && members)
        oneib_text_append(text, " and ");
    if (members)
        oneib_append_count(text, members, "member");
    oneib_text_printf(text, " %s", what);
}

void oneib_changes_append_summary(const struct oneib_changes *changes,
                                  const struct oneib_change_words *words, struct oneib_text *text)
{
    size_t partitions[ONEIB_PARTITION_CHANGED + 1] = {0};
    for (size_t i = 0; i < changes->count; i++)
        if (is_of_partition(&changes->items[i]))
            partitions[changes->items[i].kind]++;
    append_phrase(partitions[ONEIB_PARTITION_ADDED], changes->members_added, words->added, text);
    append_phrase(partitions[ONEIB_PARTITION_REMOVED], changes->members_removed, words->removed,
                  text);
    append_phrase(partitions[ONEIB_PARTITION_CHANGED], changes->members_changed, words->changed,
                  text);
}
