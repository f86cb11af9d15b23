// SPDX-License-Identifier: Apache-2.0
/*
 * P_Key tables of ports: which keys go onto each, with which membership, what finds no room, and
 * what is beyond an owner's part.
 */
#include "base/array.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
#include "cluster/host_port.h"
#include <inttypes.h>
#include <stdlib.h>

#define KEYS_NAMED 32
#define EXCESS_NAMED 8 /* of an owner's keys on a port */

/* One reason why a key should be on a port. */
struct wish {
    oneib_guid guid;
    uint32_t cluster;
    uint32_t binding; /* ONEIB_NO_INDEX: a static member */
    oneib_pkey pkey;
    uint8_t membership;
    uint8_t member_status; /* MEMBER: wanted; others only narrow */
};

/* By what a key has its place in a port's table, the first right first. */
enum claim { RUNNING, STATIC, ARRIVING };

/* All wishes for one key on one port. */
struct entry {
    struct wish *wishes;
    size_t count;
    const struct oneib_binding *earliest; /* of the members; NULL when there is none */
    bool wanted, has_static;
    bool is_excess; /* its network's owner has as many there as one may */
    enum claim claim;
    uint8_t membership;
};

/* A key that is not on a port, for its network's owner has as many there as one may. */
struct excess {
    oneib_guid guid;
    uint32_t owner;
    uint32_t cluster;
    oneib_pkey pkey;
};

struct table {
    struct wish *wishes; /* by GUID, then key */
    size_t wish_count, wish_capacity;
    struct entry *entries; /* of the port at hand */
    size_t entry_count, entry_capacity;
    struct excess *excess; /* of all ports */
    size_t excess_count, excess_capacity;
};

static void add_wish(struct table *table, struct wish wish)
{
    ONEIB_APPEND(table->wishes, table->wish_count, table->wish_capacity, wish);
}

static void wish_for_static(struct table *table, const struct oneib_line *line)
{
    add_wish(table, (struct wish){.guid = line->guid,
                                  .cluster = line->cluster,
                                  .binding = ONEIB_NO_INDEX,
                                  .pkey = line->pkey,
                                  .membership = line->membership,
                                  .member_status = ONEIB_MEMBER_STATUS_MEMBER});
}

/* A limited NIC narrows its key on every port of its host: which one its VF sits on only the node
 * knows. */
static void narrow_host(const struct oneib_work *work, struct table *table, struct wish wish,
                        uint32_t host_id)
{
    const struct oneib_host *host = oneib_cloud_host(work->cloud, host_id);
    wish.member_status = ONEIB_MEMBER_STATUS_PORT_REFUSED;
    for (size_t i = 0; host && i < host->port_count; i++) {
        if (host->ports[i].is_reserved)
            continue;
        wish.guid = host->ports[i].port_guid;
        add_wish(table, wish);
    }
}

static void wish_for_binding(const struct oneib_work *work, struct table *table, uint32_t index)
{
    const struct oneib_binding *binding = &work->bindings[index];
    if (binding->pkey == 0)
        return;
    const struct wish wish = {.guid = binding->member,
                              .cluster = work->entitlements[binding->network].cluster,
                              .binding = index,
                              .pkey = binding->pkey,
                              .membership = binding->membership,
                              .member_status = binding->member_status};
    if (binding->port != 0)
        add_wish(table, wish);
    if (binding->membership == ONEIB_LIMITED)
        narrow_host(work, table, wish, binding->host_id);
}

static void list_wishes(struct oneib_work *work, struct table *table)
{
    ONEIB_RESERVE(table->wishes, table->wish_capacity, work->static_count + work->binding_count);
    for (size_t i = 0; i < work->static_count; i++)
        wish_for_static(table, &work->statics[i]);
    for (size_t i = 0; i < work->binding_count; i++)
        wish_for_binding(work, table, (uint32_t)i);
}

ONEIB_ORDER_BY(compare_wishes, struct wish, guid, pkey, binding);

static bool is_self_limited(const struct oneib_work *work, const struct wish *wish)
{
    return wish->binding != ONEIB_NO_INDEX && work->bindings[wish->binding].is_self_limited;
}

static bool any_is_full(const struct wish *wishes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (wishes[i].member_status == ONEIB_MEMBER_STATUS_MEMBER &&
            wishes[i].membership == ONEIB_FULL)
            return true;
    return false;
}

static void say_refused(struct oneib_work *work, const struct wish *wish, const char *names)
{
    oneib_findings_note(work->findings, ONEIB_FINDING_MEMBERSHIP_REFUSED,
                        "%s has one entry for P_Key 0x%04x of %s, and full members: those that "
                        "users made limited get no membership there: %s",
                        oneib_name_port(work, wish->guid).text, wish->pkey,
                        oneib_name_network(work, work->cloud->networks[wish->cluster].id).text,
                        names);
}

/* Users can write that a NIC of theirs is limited. In a partition that they share with others it
 * is not these who lose by that: the wishes, of one key on one port, are nobody's then. */
static void give_way(struct oneib_work *work, struct wish *wishes, size_t count)
{
    oneib_autotext struct oneib_text names = {0};
    const bool full = any_is_full(wishes, count);
    size_t refused = 0;
    for (size_t i = 0; full && i < count; i++) {
        struct wish *wish = &wishes[i];
        if (!is_self_limited(work, wish))
            continue;
        struct oneib_binding *binding = &work->bindings[wish->binding];
        if (wish->member_status == ONEIB_MEMBER_STATUS_MEMBER) {
            binding->member_status = ONEIB_MEMBER_STATUS_GIVES_WAY;
            oneib_name_attachment(work, &names, &work->cloud->attachments[binding->attachment],
                                  refused++);
        }
        wish->member_status = ONEIB_MEMBER_STATUS_GIVES_WAY;
    }
    if (refused == 0)
        return;
    oneib_close_names(&names, refused);
    say_refused(work, wishes, names.data);
}

static void count_wish(const struct oneib_work *work, struct entry *entry, const struct wish *wish)
{
    if (wish->member_status == ONEIB_MEMBER_STATUS_GIVES_WAY)
        return;
    entry->membership = (uint8_t)oneib_narrower(entry->membership, wish->membership);
    if (wish->member_status != ONEIB_MEMBER_STATUS_MEMBER)
        return;
    entry->wanted = true;
    if (wish->binding == ONEIB_NO_INDEX) {
        entry->has_static = true;
        return;
    }
    const struct oneib_binding *binding = &work->bindings[wish->binding];
    if (!entry->earliest || oneib_is_earlier(work, binding, entry->earliest))
        entry->earliest = binding;
}

static enum claim claim_of(const struct oneib_work *work, const struct entry *entry)
{
    const struct oneib_binding *binding = entry->earliest;
    if (binding && !oneib_is_arriving(work, binding))
        return RUNNING;
    return entry->has_static ? STATIC : ARRIVING;
}

static void add_entry(struct oneib_work *work, struct table *table, struct wish *wishes,
                      size_t count)
{
    struct entry entry = {.wishes = wishes, .count = count, .membership = ONEIB_FULL};
    give_way(work, wishes, count);
    for (size_t i = 0; i < count; i++)
        count_wish(work, &entry, &wishes[i]);
    entry.claim = claim_of(work, &entry);
    ONEIB_APPEND(table->entries, table->entry_count, table->entry_capacity, entry);
}

/* The entries of one port, from its `count` wishes. */
static void make_entries(struct oneib_work *work, struct table *table, struct wish *wishes,
                         size_t count)
{
    table->entry_count = 0;
    size_t end;
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && wishes[end].pkey == wishes[i].pkey;)
            end++;
        add_entry(work, table, &wishes[i], end - i);
    }
}

static void set_member_status(struct oneib_work *work, const struct entry *entry,
                              enum oneib_member_status member_status)
{
    for (size_t i = 0; i < entry->count; i++) {
        struct wish *wish = &entry->wishes[i];
        if (wish->member_status != ONEIB_MEMBER_STATUS_MEMBER || wish->binding == ONEIB_NO_INDEX)
            continue;
        work->bindings[wish->binding].member_status = (uint8_t)member_status;
    }
}

/* Keys that the port can hold, the default partition's included. */
static uint32_t capacity_of(const struct oneib_work *work, const struct wish *wish)
{
    const struct oneib_subnet_port *port =
        work->subnet ? oneib_subnet_find(work->subnet, wish->guid) : NULL;
    return oneib_port_key_capacity(port ? port->partition_cap : 0);
}

/* In the order in which they get room: who runs there by who was there first, then static members
 * by network, then who arrives. */
static int compare_entries(const void *a, const void *b, void *context)
{
    const struct entry *left = a, *right = b;
    if (left->claim != right->claim)
        return left->claim < right->claim ? -1 : 1;
    if (left->claim == STATIC)
        return (left->wishes->cluster > right->wishes->cluster) -
               (left->wishes->cluster < right->wishes->cluster);
    return oneib_is_earlier(context, left->earliest, right->earliest) ? -1 : 1;
}

static size_t keep_wanted(struct table *table)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->entry_count; i++)
        if (table->entries[i].wanted)
            table->entries[kept++] = table->entries[i];
    return table->entry_count = kept;
}

/* ` of host "node3"` where the port is a host's. */
static void append_host(struct oneib_work *work, struct oneib_text *text, const struct entry *entry)
{
    oneib_guid physical = entry->earliest ? entry->earliest->port : entry->wishes->guid;
    const struct oneib_port_owner *owner = oneib_port_owner(work, physical);
    if (owner)
        oneib_text_printf(text, " of %s", oneib_name_host(work, owner->host_id).text);
}

static void say_narrowed(struct oneib_work *work, const struct entry *entry)
{
    oneib_autotext struct oneib_text names = {0}, host = {0};
    size_t count = 0;
    for (size_t i = 0; i < entry->count; i++) {
        const struct wish *wish = &entry->wishes[i];
        if (wish->member_status != ONEIB_MEMBER_STATUS_MEMBER || wish->membership == ONEIB_LIMITED)
            continue;
        if (wish->binding == ONEIB_NO_INDEX)
            oneib_text_append(&names, count ? ", the static member" : "the static member");
        else
            oneib_name_attachment(
                work, &names, &work->cloud->attachments[work->bindings[wish->binding].attachment],
                count);
        count++;
    }
    if (count == 0)
        return;
    oneib_close_names(&names, count);
    oneib_text_append(&host, "");
    append_host(work, &host, entry);
    oneib_findings_note(
        work->findings, ONEIB_FINDING_MEMBERSHIP_NARROWED,
        "port 0x%016" PRIx64
        "%s has one entry for P_Key 0x%04x of %s, and one member there is limited: so are %s",
        entry->wishes->guid, host.data, entry->wishes->pkey,
        oneib_name_network(work, work->cloud->networks[entry->wishes->cluster].id).text,
        names.data);
}

/* What the port has, all of its NICs have. */
static void narrow_bindings(struct oneib_work *work, const struct entry *entry)
{
    for (size_t i = 0; i < entry->count; i++)
        if (entry->wishes[i].binding != ONEIB_NO_INDEX)
            work->bindings[entry->wishes[i].binding].membership = ONEIB_LIMITED;
}

/* Nothing is less than it was meant to be; full is more. */
static void refuse_limited(struct oneib_work *work, const struct entry *entry)
{
    narrow_bindings(work, entry);
    set_member_status(work, entry, ONEIB_MEMBER_STATUS_NO_KEY);
    oneib_say_limited_refused(work, &work->cloud->networks[entry->wishes->cluster]);
}

static void accept(struct oneib_work *work, const struct entry *entry)
{
    if (work->policy->no_limited && entry->membership == ONEIB_LIMITED) {
        refuse_limited(work, entry);
        return;
    }
    ONEIB_APPEND(work->lines, work->line_count, work->line_capacity,
                 (struct oneib_line){.guid = entry->wishes->guid,
                                     .cluster = entry->wishes->cluster,
                                     .pkey = entry->wishes->pkey,
                                     .membership = entry->membership});
    if (entry->membership != ONEIB_LIMITED)
        return;
    say_narrowed(work, entry);
    narrow_bindings(work, entry);
}

static const struct oneib_network *cluster_of(const struct oneib_work *work,
                                              const struct entry *entry)
{
    return &work->cloud->networks[entry->wishes->cluster];
}

static uint32_t owner_of(const struct oneib_work *work, const struct entry *entry)
{
    return cluster_of(work, entry)->uid;
}

/* By owner, and each owner's in the order in which they get room. */
static int compare_owned(const void *a, const void *b, void *context)
{
    const uint32_t left = owner_of(context, a), right = owner_of(context, b);
    if (left != right)
        return left < right ? -1 : 1;
    return compare_entries(a, b, context);
}

static void note_excess(struct oneib_work *work, struct table *table, const struct entry *entry)
{
    ONEIB_APPEND(table->excess, table->excess_count, table->excess_capacity,
                 (struct excess){.guid = entry->wishes->guid,
                                 .owner = owner_of(work, entry),
                                 .cluster = entry->wishes->cluster,
                                 .pkey = entry->wishes->pkey});
    set_member_status(work, entry, ONEIB_MEMBER_STATUS_OWNER_LIMIT);
}

/* What runs stays, however many there are: only what is to come is held to the limit. */
static void mark_excess(struct oneib_work *work, struct table *table)
{
    size_t of_owner = 0;
    qsort_r(table->entries, table->entry_count, sizeof *table->entries, compare_owned, work);
    for (size_t i = 0; i < table->entry_count; i++) {
        struct entry *entry = &table->entries[i];
        if (i == 0 || owner_of(work, entry) != owner_of(work, &entry[-1]))
            of_owner = 0;
        entry->is_excess = of_owner++ >= work->policy->per_owner_max && entry->claim != RUNNING &&
                           !oneib_network_is_operators(cluster_of(work, entry));
    }
}

/* Of one tenant's keys a port takes only so many, that its table does not become one user's. */
static void limit_owners(struct oneib_work *work, struct table *table)
{
    size_t kept = 0;
    if (work->policy->per_owner_max == 0 || table->entry_count <= work->policy->per_owner_max)
        return;
    mark_excess(work, table);
    for (size_t i = 0; i < table->entry_count; i++)
        if (!table->entries[i].is_excess)
            table->entries[kept++] = table->entries[i];
        else
            note_excess(work, table, &table->entries[i]);
    table->entry_count = kept;
}

static void append_keys(const struct oneib_work *work, struct oneib_text *text,
                        const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count && i < KEYS_NAMED; i++)
        oneib_text_printf(text, "%s0x%04x (%s)", i ? ", " : "", entries[i].wishes->pkey,
                          oneib_network_shown(cluster_of(work, &entries[i])).text);
    if (count == 0)
        oneib_text_append(text, "none of a virtual cluster");
    if (count > KEYS_NAMED)
        oneib_text_printf(text, " and %zu more", count - KEYS_NAMED);
}

static void say_full(struct oneib_work *work, const struct table *table, size_t accepted,
                     uint32_t capacity)
{
    oneib_autotext struct oneib_text host = {0}, fit = {0}, rest = {0};
    oneib_text_append(&host, "");
    append_host(work, &host, table->entries);
    append_keys(work, &fit, table->entries, accepted);
    append_keys(work, &rest, table->entries + accepted, table->entry_count - accepted);
    for (size_t i = accepted; i < table->entry_count; i++)
        oneib_findings_mention(work->findings, ONEIB_SUBJECT_NETWORK,
                               cluster_of(work, &table->entries[i])->id);
    oneib_findings_note(work->findings, ONEIB_FINDING_PORT_FULL,
                        "port 0x%016" PRIx64 "%s holds %" PRIu32
                        " P_Keys at most, those of the default partition and the static partitions "
                        "included; it has %s; no room for %s",
                        table->entries->wishes->guid, host.data, capacity, fit.data, rest.data);
}

static void note_room(struct oneib_work *work, oneib_guid guid, uint32_t room)
{
    struct oneib_desired *desired = work->desired;
    ONEIB_APPEND(desired->rooms, desired->room_count, desired->room_capacity,
                 (struct oneib_port_room){.port_guid = guid,
                                          .room = room > UINT16_MAX ? UINT16_MAX : (uint16_t)room});
}

static void share_room(struct oneib_work *work, struct table *table, oneib_guid guid, uint32_t room,
                       uint32_t capacity)
{
    size_t accepted = table->entry_count;
    if (accepted > room) {
        qsort_r(table->entries, table->entry_count, sizeof *table->entries, compare_entries, work);
        accepted = room;
        say_full(work, table, accepted, capacity);
    }
    for (size_t i = 0; i < accepted; i++)
        accept(work, &table->entries[i]);
    for (size_t i = accepted; i < table->entry_count; i++)
        set_member_status(work, &table->entries[i], ONEIB_MEMBER_STATUS_PORT_FULL);
    note_room(work, guid, room - (uint32_t)accepted);
}

/* One port: its wishes lie at `first`, up to `end`. */
static void fill_table(struct oneib_work *work, struct table *table, size_t first, size_t end)
{
    struct wish *wishes = &table->wishes[first];
    make_entries(work, table, wishes, end - first);

    uint32_t capacity = capacity_of(work, wishes);
    uint32_t taken = 1 + oneib_static_keys_on(work, wishes->guid);
    uint32_t room = capacity > taken ? capacity - taken : 0;
    keep_wanted(table);
    limit_owners(work, table);
    share_room(work, table, wishes->guid, room, capacity);
}

ONEIB_ORDER_BY(compare_lines, struct oneib_line, pkey, guid);

ONEIB_ORDER_BY(compare_rooms, struct oneib_port_room, port_guid, room);
ONEIB_ORDER_BY(compare_rooms_ports, struct oneib_port_room, port_guid);

/* The removal hold must not put anybody back onto a port that must not serve anybody. */
static void close_refused_ports(struct oneib_work *work)
{
    struct oneib_desired *desired = work->desired;
    for (size_t i = 0; i < work->port_count; i++)
        if (work->ports[i].refused)
            note_room(work, work->ports[i].guid, 0);
    ONEIB_SORT(desired->rooms, desired->room_count, compare_rooms);
    ONEIB_UNIQUE(desired->rooms, desired->room_count, compare_rooms_ports);
}

/* By owner, then port and network. */
ONEIB_ORDER_BY(compare_excess, struct excess, owner, guid, cluster);

/* How many of them are on the first one's port. */
static size_t on_one_port(const struct excess *excess, size_t count)
{
    size_t end = 1;
    while (end < count && excess[end].guid == excess->guid)
        end++;
    return end;
}

static size_t count_ports(const struct excess *excess, size_t count)
{
    size_t ports = 0;
    for (size_t i = 0; i < count; i += on_one_port(&excess[i], count - i))
        ports++;
    return ports;
}

static void append_excess(struct oneib_work *work, struct oneib_text *text,
                          const struct excess *excess, size_t count)
{
    const size_t here = on_one_port(excess, count), ports = count_ports(excess, count);
    for (size_t i = 0; i < here && i < EXCESS_NAMED; i++)
        oneib_text_printf(text, "%s0x%04x (%s)", i ? ", " : "", excess[i].pkey,
                          oneib_network_shown(&work->cloud->networks[excess[i].cluster]).text);
    if (here > EXCESS_NAMED)
        oneib_text_printf(text, " and %zu more", here - EXCESS_NAMED);
    if (ports > 1)
        oneib_text_printf(text, "; other ports like this: %zu", ports - 1);
}

/* The excess of one owner: one finding, on however many ports it is. */
static void say_excess(struct oneib_work *work, const struct excess *excess, size_t count)
{
    oneib_autotext struct oneib_text keys = {0};
    append_excess(work, &keys, excess, count);
    for (size_t i = 0; i < count; i++)
        oneib_findings_mention(work->findings, ONEIB_SUBJECT_NETWORK,
                               work->cloud->networks[excess[i].cluster].id);
    oneib_findings_note(work->findings, ONEIB_FINDING_OWNER_LIMIT,
                        "%s holds as many P_Keys of networks of user %" PRIu32
                        " as it may (pkeys.per_owner, %" PRIu32 "): no place there for %s",
                        oneib_name_port(work, excess->guid).text, excess->owner,
                        work->policy->per_owner_max, keys.data);
}

static void say_each_excess(struct oneib_work *work, struct table *table)
{
    size_t end;
    ONEIB_SORT(table->excess, table->excess_count, compare_excess);
    for (size_t i = 0; i < table->excess_count; i = end) {
        for (end = i + 1;
             end < table->excess_count && table->excess[end].owner == table->excess[i].owner;)
            end++;
        say_excess(work, &table->excess[i], end - i);
    }
}

static void fill_each(struct oneib_work *work, struct table *table)
{
    list_wishes(work, table);
    ONEIB_SORT(table->wishes, table->wish_count, compare_wishes);
    size_t end;
    for (size_t i = 0; i < table->wish_count; i = end) {
        for (end = i + 1;
             end < table->wish_count && table->wishes[end].guid == table->wishes[i].guid;)
            end++;
        fill_table(work, table, i, end);
    }
    say_each_excess(work, table);
    close_refused_ports(work);
}

void oneib_fill_tables(struct oneib_work *work)
{
    struct table table = {0};
    fill_each(work, &table);
    free(table.wishes);
    free(table.entries);
    free(table.excess);
    ONEIB_SORT(work->lines, work->line_count, compare_lines);
}
