// SPDX-License-Identifier: Apache-2.0
/* From two member lists, and the change of the partitions file, to who was added, removed or refused. */
#include "cluster/member_events.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/port_index.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
    const struct oneib_member_events_input *input;
    struct oneib_member_events *news;
};

/* The lines of one NIC in one member list: at most two. */
struct group {
    const struct oneib_member_list_line *lines;
    size_t count;
};

void oneib_member_events_add(struct oneib_member_events *news,
                             const struct oneib_member_event *item)
{
    ONEIB_APPEND(news->items, news->count, news->capacity, *item);
}

void oneib_member_events_clear(struct oneib_member_events *news)
{
    free(news->items);
    *news = (struct oneib_member_events){0};
}

/* ---- what is known of a VM ------------------------------------------------------------------- */

static const struct oneib_attachment *attachment_of(const struct oneib_cloud *cloud,
                                                    const struct oneib_member_list_line *line)
{
    return oneib_cloud_nic(cloud, line->vm_id, line->nic_id);
}

static void note_state(const struct oneib_attachment *attachment, struct oneib_member_event *item)
{
    item->state = attachment ? attachment->state : -1;
    item->lcm_state = attachment ? attachment->lcm_state : -1;
}

/* ---- one NIC --------------------------------------------------------------------------------- */

static const struct oneib_member_list_line *on_host(const struct group *group, uint32_t host_id)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->lines[i].host_id == host_id)
            return &group->lines[i];
    return NULL;
}

static bool is_same_member(const struct oneib_member_list_line *a,
                           const struct oneib_member_list_line *b)
{
    return oneib_member_list_is_member(a) && oneib_member_list_is_member(b) && a->pkey == b->pkey &&
           a->member == b->member && a->network_id == b->network_id;
}

/* The two lines of one NIC on one host differ: by what. */
static void compare_lines(const struct oneib_member_list_line *line,
                          const struct oneib_member_list_line *other,
                          struct oneib_member_event *item)
{
    if (line->network_id != other->network_id) {
        item->reason = ONEIB_BECAUSE_NETWORK;
        item->other_network = other->network_id;
    } else if (line->pkey != other->pkey) {
        item->reason = ONEIB_BECAUSE_KEY;
        item->other_pkey = other->pkey;
    } else {
        item->reason = ONEIB_BECAUSE_PORT;
        item->other_guid = other->member;
    }
}

/* With other NICs. Lines of one VM are neighbours; place: where those of this NIC would be. */
static bool vm_was_there(const struct oneib_member_list *before,
                         const struct oneib_member_list_line *place, uint32_t vm_id)
{
    return (place > before->lines && place[-1].vm_id == vm_id) ||
           (place < before->lines + before->count && place->vm_id == vm_id);
}

static void explain_addition(const struct work *work, const struct group *before,
                             const struct oneib_member_list_line *line,
                             struct oneib_member_event *item)
{
    const struct oneib_member_list_line *old = on_host(before, line->host_id);
    const struct oneib_attachment *attachment = attachment_of(work->input->cloud, line);
    note_state(attachment, item);
    if (old && oneib_member_list_is_member(old)) {
        compare_lines(line, old, item);
    } else if (old) {
        item->reason = ONEIB_BECAUSE_MEMBER_STATUS;
        item->member_status = old->member_status;
    } else if (before->count > 0) {
        item->reason = ONEIB_BECAUSE_MIGRATION;
        item->other_host = before->lines[0].host_id;
    } else {
        const bool is_there = (attachment && attachment->attaching) ||
                              vm_was_there(work->input->before, before->lines, line->vm_id);
        item->reason = is_there ? ONEIB_BECAUSE_ATTACHED : ONEIB_BECAUSE_VM_CAME;
    }
}

/* It is on this host no more: where is it? */
static void explain_absence(const struct work *work, const struct group *after,
                            const struct oneib_member_list_line *line,
                            struct oneib_member_event *item)
{
    const struct oneib_cloud *cloud = work->input->cloud;
    const struct oneib_attachment *attachment = attachment_of(cloud, line);
    note_state(attachment, item);
    if (after->count > 0) {
        item->reason = ONEIB_BECAUSE_MIGRATION;
        item->other_host = after->lines[0].host_id;
    } else if (attachment) {
        item->reason = ONEIB_BECAUSE_VM_STOPPED;
    } else {
        item->reason = oneib_cloud_has_vm(cloud, line->vm_id) ? ONEIB_BECAUSE_DETACHED
                                                              : ONEIB_BECAUSE_VM_ENDED;
    }
}

static void explain_removal(const struct work *work, const struct group *after,
                            const struct oneib_member_list_line *line,
                            struct oneib_member_event *item)
{
    const struct oneib_member_list_line *now = on_host(after, line->host_id);
    if (!now) {
        explain_absence(work, after, line, item);
    } else if (oneib_member_list_is_member(now)) {
        compare_lines(line, now, item);
    } else {
        item->reason = ONEIB_BECAUSE_MEMBER_STATUS;
        item->member_status = now->member_status;
    }
}

static struct oneib_member_event item_of(enum oneib_member_event_kind kind,
                                         const struct oneib_member_list_line *line)
{
    return (struct oneib_member_event){.kind = kind,
                                       .has_vm = true,
                                       .line = *line,
                                       .member_kind = ONEIB_MEMBER_GUID,
                                       .other_host = ONEIB_NO_ID,
                                       .other_network = ONEIB_NO_ID};
}

static void tell_change(const struct work *work, const struct oneib_member_list_line *line,
                        const struct oneib_member_list_line *old)
{
    struct oneib_member_event item = item_of(ONEIB_MEMBER_EVENT_CHANGED, line);
    item.reason = ONEIB_BECAUSE_NARROWING;
    item.old_membership = old->membership;
    oneib_member_events_add(work->news, &item);
}

static void tell_new_member(const struct work *work, const struct group *before,
                            const struct oneib_member_list_line *line)
{
    const struct oneib_member_list_line *old = on_host(before, line->host_id);
    if (old && is_same_member(line, old)) {
        if (line->membership != old->membership)
            tell_change(work, line, old);
        return;
    }
    struct oneib_member_event item = item_of(ONEIB_MEMBER_EVENT_ADDED, line);
    explain_addition(work, before, line, &item);
    oneib_member_events_add(work->news, &item);
}

/* One that was a member is said to be removed, and one that is refused as before is no news. What a
 * migration leaves behind needs nothing there. */
static void tell_refused(const struct work *work, const struct group *before,
                         const struct oneib_member_list_line *line)
{
    const struct oneib_member_list_line *old = on_host(before, line->host_id);
    if (line->is_source ||
        (old && (oneib_member_list_is_member(old) || (old->member_status == line->member_status &&
                                                      old->network_id == line->network_id))))
        return;
    struct oneib_member_event item = item_of(ONEIB_MEMBER_EVENT_REFUSED, line);
    item.reason = ONEIB_BECAUSE_MEMBER_STATUS;
    item.member_status = line->member_status;
    oneib_member_events_add(work->news, &item);
}

static void tell_old_line(const struct work *work, const struct group *after,
                          const struct oneib_member_list_line *line)
{
    const struct oneib_member_list_line *now = on_host(after, line->host_id);
    const bool was_member = oneib_member_list_is_member(line);
    if (was_member ? now && is_same_member(line, now) : now != NULL || line->is_source)
        return;
    struct oneib_member_event item =
        item_of(was_member ? ONEIB_MEMBER_EVENT_REMOVED : ONEIB_MEMBER_EVENT_NOT_REFUSED, line);
    if (was_member)
        explain_removal(work, after, line, &item);
    else
        explain_absence(work, after, line, &item);
    oneib_member_events_add(work->news, &item);
}

static void compare_groups(const struct work *work, const struct group *before,
                           const struct group *after)
{
    for (size_t i = 0; i < after->count; i++) {
        const struct oneib_member_list_line *line = &after->lines[i];
        if (oneib_member_list_is_member(line))
            tell_new_member(work, before, line);
        else
            tell_refused(work, before, line);
    }
    for (size_t i = 0; i < before->count; i++)
        tell_old_line(work, after, &before->lines[i]);
}

/* How it stood is how it stands, until the ports are asked. */
static void carry_over(const struct group *before, struct oneib_member_list_line *lines,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct oneib_member_list_line *old = on_host(before, lines[i].host_id);
        if (old && is_same_member(&lines[i], old))
            lines[i].pkey_status = old->pkey_status;
    }
}

/* ---- two member lists ----------------------------------------------------------------------------- */

static int compare_nic(const struct oneib_member_list_line *left,
                       const struct oneib_member_list_line *right)
{
    return ONEIB_BY(vm_id, nic_id);
}

static size_t lines_of_nic(const struct oneib_member_list *member_list, size_t from,
                           const struct oneib_member_list_line *nic)
{
    size_t end = from;
    while (end < member_list->count && compare_nic(&member_list->lines[end], nic) == 0)
        end++;
    return end - from;
}

/* Whichever NIC comes first in either. */
static const struct oneib_member_list_line *next_nic(const struct oneib_member_list *before,
                                                     size_t i,
                                                     const struct oneib_member_list *after,
                                                     size_t j)
{
    if (i == before->count)
        return &after->lines[j];
    if (j == after->count)
        return &before->lines[i];
    return compare_nic(&before->lines[i], &after->lines[j]) <= 0 ? &before->lines[i]
                                                                 : &after->lines[j];
}

static void compare_member_lists(const struct work *work)
{
    const struct oneib_member_list *before = work->input->before;
    struct oneib_member_list *after = work->input->after;
    size_t i = 0, j = 0;
    while (i < before->count || j < after->count) {
        const struct oneib_member_list_line *nic = next_nic(before, i, after, j);
        const struct group old = {before->lines + i, lines_of_nic(before, i, nic)};
        const struct group new = {after->lines + j, lines_of_nic(after, j, nic)};
        carry_over(&old, after->lines + j, new.count);
        compare_groups(work, &old, &new);
        i += old.count;
        j += new.count;
    }
}

/* ---- what the file alone tells --------------------------------------------------------------- */

/* A place in the partitions: a key on a port. */
struct place {
    oneib_guid guid;
    oneib_pkey pkey;
    size_t index; /* of an item, or of a line */
};

struct places {
    struct place *items;
    size_t count;
};

ONEIB_ORDER_BY(compare_places, struct place, pkey, guid);

/* The first of that key on that port; NULL: none. */
static const struct place *find_place(const struct places *places, oneib_pkey pkey, oneib_guid guid)
{
    const struct place wanted = {.guid = guid, .pkey = pkey};
    const size_t first =
        ONEIB_LOWER_BOUND(i, places->count, compare_places(&places->items[i], &wanted) < 0);
    return first < places->count && compare_places(&places->items[first], &wanted) == 0
               ? &places->items[first]
               : NULL;
}

/* Those that the member lists have named. Who is, or was, refused had no key. */
static void list_told(const struct oneib_member_events *news, struct places *places)
{
    places->items = oneib_alloc(news->count + 1, sizeof *places->items);
    for (size_t i = 0; i < news->count; i++)
        if (news->items[i].kind != ONEIB_MEMBER_EVENT_REFUSED &&
            news->items[i].kind != ONEIB_MEMBER_EVENT_NOT_REFUSED)
            places->items[places->count++] =
                (struct place){news->items[i].line.member, news->items[i].line.pkey, i};
    ONEIB_SORT(places->items, places->count, compare_places);
}

/* The members of the member list. */
static void list_members(const struct oneib_member_list *member_list, struct places *places)
{
    places->items = oneib_alloc(member_list->count + 1, sizeof *places->items);
    for (size_t i = 0; i < member_list->count; i++)
        if (oneib_member_list_is_member(&member_list->lines[i]))
            places->items[places->count++] =
                (struct place){member_list->lines[i].member, member_list->lines[i].pkey, i};
    ONEIB_SORT(places->items, places->count, compare_places);
}

static bool is_of_members(const struct oneib_change *change)
{
    return change->kind == ONEIB_MEMBER_ADDED || change->kind == ONEIB_MEMBER_REMOVED ||
           change->kind == ONEIB_MEMBER_CHANGED;
}

/* What it was before the file says, if nothing else. */
static enum oneib_member_event_reason reason_of(const struct oneib_change *change,
                                                enum oneib_member_event_reason otherwise)
{
    return change->kind == ONEIB_MEMBER_CHANGED ? ONEIB_BECAUSE_NARROWING : otherwise;
}

static enum oneib_member_event_kind kind_of(enum oneib_change_kind kind)
{
    return kind == ONEIB_MEMBER_ADDED     ? ONEIB_MEMBER_EVENT_ADDED
           : kind == ONEIB_MEMBER_REMOVED ? ONEIB_MEMBER_EVENT_REMOVED
                                          : ONEIB_MEMBER_EVENT_CHANGED;
}

static const struct oneib_partition *partition_of(const struct oneib_change *change)
{
    return change->after ? change->after : change->before;
}

static void tell_member_of_file(const struct work *work, const struct oneib_change *change)
{
    const struct oneib_partition *partition = partition_of(change);
    uint32_t network_id = ONEIB_NO_ID;
    oneib_cluster_name_parse(partition->name, &network_id);
    struct oneib_member_event item = {.kind = kind_of(change->kind),
                                      .reason = reason_of(change, ONEIB_BECAUSE_UNKNOWN),
                                      .line = {.member = change->member.guid,
                                               .pkey = partition->pkey,
                                               .network_id = network_id,
                                               .host_id = ONEIB_NO_ID,
                                               .vm_id = ONEIB_NO_ID,
                                               .membership = change->member.membership},
                                      .member_kind = change->member.kind,
                                      .old_membership = change->old_membership,
                                      .other_host = ONEIB_NO_ID,
                                      .other_network = ONEIB_NO_ID};
    snprintf(item.partition, sizeof item.partition, "%s", partition->name);
    oneib_member_events_add(work->news, &item);
}

/* The VMs on whose behalf the port is a member now. */
static void tell_vms_of_file(const struct work *work, const struct oneib_change *change,
                             const struct places *members, const struct place *first)
{
    const struct place *end = members->items + members->count;
    for (const struct place *place = first; place < end && compare_places(place, first) == 0;
         place++) {
        struct oneib_member_event item =
            item_of(kind_of(change->kind), &work->input->after->lines[place->index]);
        item.reason = reason_of(change, ONEIB_BECAUSE_VM_THERE);
        item.old_membership = change->old_membership;
        note_state(attachment_of(work->input->cloud, &item.line), &item);
        oneib_member_events_add(work->news, &item);
    }
}

/* Earlier members are unknown: the member list names the NIC of an addition. */
static void tell_change_of_file(const struct work *work, const struct oneib_change *change,
                                const struct places *known)
{
    const struct place *place = find_place(known, partition_of(change)->pkey, change->member.guid);
    if (!place) {
        tell_member_of_file(work, change);
        return;
    }
    if (work->input->before)
        return;
    tell_vms_of_file(work, change, known, place);
}

static void compare_files(const struct work *work)
{
    const struct oneib_changes *changes = work->input->changes;
    struct places known = {0};
    if (work->input->before)
        list_told(work->news, &known);
    else
        list_members(work->input->after, &known);
    for (size_t i = 0; i < changes->count; i++)
        if (is_of_members(&changes->items[i]))
            tell_change_of_file(work, &changes->items[i], &known);
    free(known.items);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void tell_all_refused(const struct work *work)
{
    const struct group nobody = {0};
    for (size_t i = 0; work->input->refusals && i < work->input->after->count; i++)
        if (!oneib_member_list_is_member(&work->input->after->lines[i]))
            tell_refused(work, &nobody, &work->input->after->lines[i]);
}

void oneib_member_events_make(const struct oneib_member_events_input *input,
                              struct oneib_member_events *news)
{
    const struct work work = {input, news};
    *news = (struct oneib_member_events){0};
    if (input->before)
        compare_member_lists(&work);
    else
        tell_all_refused(&work);
    compare_files(&work);
}
