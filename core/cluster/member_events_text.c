// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"
#include "base/order.h"
#include "cluster/lifecycle.h"
#include "cluster/member_events.h"
#include "cluster/names.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* In the line that counts what has no line of its own. */
#define NETWORKS_COUNTED 16

const char *oneib_member_event_kind_name(enum oneib_member_event_kind kind)
{
    static const char *const names[] = {
        [ONEIB_MEMBER_EVENT_REFUSED] = "refused",
        [ONEIB_MEMBER_EVENT_REMOVED] = "removed",
        [ONEIB_MEMBER_EVENT_CHANGED] = "changed",
        [ONEIB_MEMBER_EVENT_ADDED] = "added",
        [ONEIB_MEMBER_EVENT_NOT_REFUSED] = "no longer refused",
        [ONEIB_MEMBER_EVENT_ARRIVED] = "in force",
        [ONEIB_MEMBER_EVENT_GONE] = "no longer waited for",
    };
    return names[kind];
}

/* Gone is what a port has borne out. */
static const char *kind_text(const struct oneib_member_event *item)
{
    return item->kind == ONEIB_MEMBER_EVENT_GONE && item->proof == ONEIB_PROOF_IN_FORCE
               ? "gone"
               : oneib_member_event_kind_name(item->kind);
}

const char *oneib_member_event_proof_name(enum oneib_member_event_proof proof)
{
    static const char *const names[] = {
        [ONEIB_PROOF_IN_FORCE] = "in-force",      [ONEIB_PROOF_AWAITED] = "awaited",
        [ONEIB_PROOF_ABSENT] = "port-off-fabric", [ONEIB_PROOF_MUTE] = "port-silent",
        [ONEIB_PROOF_UNSEEN] = "not-visible",     [ONEIB_PROOF_WITH_VM] = "with-vm",
        [ONEIB_PROOF_OTHERS] = "kept-for-others", [ONEIB_PROOF_HELD_BACK] = "held-back",
    };
    return names[proof];
}

/* ---- who and where --------------------------------------------------------------------------- */

static void append_network(const struct oneib_cloud *cloud, const struct oneib_member_event *item,
                           struct oneib_text *text)
{
    if (item->line.network_id != ONEIB_NO_ID)
        oneib_text_append(text, oneib_network_id_shown(cloud, item->line.network_id).text);
    else
        oneib_text_printf(text, "partition %s", item->partition);
    if (item->line.pkey == 0)
        return;
    oneib_text_printf(text, " %s", oneib_pkey_shown(item->line.pkey).text);
    if (item->kind != ONEIB_MEMBER_EVENT_REFUSED && item->kind != ONEIB_MEMBER_EVENT_NOT_REFUSED)
        oneib_text_printf(text, " %s",
                          oneib_membership_name((enum oneib_membership)item->line.membership));
}

static void append_port(oneib_guid guid, struct oneib_text *text)
{
    if (guid)
        oneib_text_printf(text, ", port 0x%016" PRIx64, guid);
}

static void append_place(const struct oneib_cloud *cloud, const struct oneib_member_event *item,
                         struct oneib_text *text)
{
    const struct oneib_member_list_line *line = &item->line;
    if (!item->has_vm) {
        if (item->member_kind == ONEIB_MEMBER_GUID)
            append_port(line->member, text);
        else
            oneib_text_printf(text, ", %s",
                              oneib_member_kind_name((enum oneib_member_kind)item->member_kind));
        return;
    }
    oneib_text_printf(text, ", VM %" PRIu32 " NIC %u on %s", line->vm_id, line->nic_id,
                      oneib_host_id_shown(cloud, line->host_id).text);
    append_port(line->member, text);
}

/* ---- why ------------------------------------------------------------------------------------- */

static void append_state(const struct oneib_member_event *item, struct oneib_text *text)
{
    const char *name = oneib_vm_state_name(item->state, item->lcm_state);
    if (name)
        oneib_text_printf(text, " (%s)", name);
    else
        oneib_text_printf(text, " (state %d/%d)", item->state, item->lcm_state);
}

static bool is_leaving(const struct oneib_member_event *item)
{
    return item->kind == ONEIB_MEMBER_EVENT_REMOVED ||
           item->kind == ONEIB_MEMBER_EVENT_NOT_REFUSED || item->kind == ONEIB_MEMBER_EVENT_GONE;
}

static void append_member_status(const struct oneib_member_event *item, struct oneib_text *text)
{
    const char *name = oneib_member_status_name((enum oneib_member_status)item->member_status);
    if (item->kind == ONEIB_MEMBER_EVENT_ADDED)
        oneib_text_printf(text, "was refused before, %s", name);
    else if (is_leaving(item))
        oneib_text_printf(text, "is refused now, %s", name);
    else
        oneib_text_append(text, name);
}

void oneib_member_events_append_reason(const struct oneib_cloud *cloud,
                                       const struct oneib_member_event *item,
                                       struct oneib_text *text)
{
    const bool leaves = is_leaving(item);
    switch (item->reason) {
    case ONEIB_BECAUSE_UNKNOWN:
        break;
    case ONEIB_BECAUSE_VM_CAME:
        oneib_text_append(text, "VM came to the host");
        append_state(item, text);
        break;
    case ONEIB_BECAUSE_VM_THERE:
        oneib_text_append(text, "VM is on the host");
        append_state(item, text);
        break;
    case ONEIB_BECAUSE_VM_ENDED:
        oneib_text_append(text, "VM ended");
        break;
    case ONEIB_BECAUSE_VM_STOPPED:
        oneib_text_append(text, "VM left the host");
        append_state(item, text);
        break;
    case ONEIB_BECAUSE_ATTACHED:
        oneib_text_append(text, "NIC attached");
        break;
    case ONEIB_BECAUSE_DETACHED:
        oneib_text_append(text, "NIC detached");
        break;
    case ONEIB_BECAUSE_MIGRATION:
        oneib_text_printf(text, "migrat%s %s %s", leaves ? "ed" : "ion", leaves ? "to" : "from",
                          oneib_host_id_shown(cloud, item->other_host).text);
        break;
    case ONEIB_BECAUSE_KEY:
        oneib_text_printf(text, "key changed %s %s", leaves ? "to" : "from",
                          oneib_pkey_shown(item->other_pkey).text);
        break;
    case ONEIB_BECAUSE_NETWORK:
        oneib_text_printf(text, "NIC changed %s %s", leaves ? "to" : "from",
                          oneib_network_id_shown(cloud, item->other_network).text);
        break;
    case ONEIB_BECAUSE_PORT:
        oneib_text_printf(text, "port changed %s 0x%016" PRIx64, leaves ? "to" : "from",
                          item->other_guid);
        break;
    case ONEIB_BECAUSE_MEMBER_STATUS:
        append_member_status(item, text);
        break;
    case ONEIB_BECAUSE_NARROWING:
        oneib_text_printf(text, "was %s",
                          oneib_membership_name((enum oneib_membership)item->old_membership));
        break;
    }
}

/* ---- whether the ports bear it out ----------------------------------------------------------- */

static const char *hold_text(enum oneib_hold_reason reason)
{
    switch (reason) {
    case ONEIB_HOLD_NONE:
        break;
    case ONEIB_HOLD_NETWORK_MISSING:
        return "held back: OpenNebula's answers lack its network";
    case ONEIB_HOLD_NETWORK_UNREADABLE:
        return "held back: its network cannot be read";
    case ONEIB_HOLD_KEY_MISSING:
        return "held back: the ledger lacks its network's P_Key";
    case ONEIB_HOLD_PORT_MISSING:
        return "held back: its host does not report the port";
    }
    return NULL;
}

static const char *proof_text(const struct oneib_member_event *item, bool fresh)
{
    const bool leaves = is_leaving(item);
    switch (item->proof) {
    case ONEIB_PROOF_NONE:
        break;
    case ONEIB_PROOF_IN_FORCE:
        if (leaves)
            return fresh ? "gone from the port" : "not on the port when it was read last";
        return fresh ? "in force" : "in force when the port was read last";
    case ONEIB_PROOF_AWAITED:
        return leaves ? "waited for: the port still holds the key"
                      : "waited for: the port does not hold it yet";
    case ONEIB_PROOF_ABSENT:
        return "the port is off the fabric";
    case ONEIB_PROOF_MUTE:
        return "waited for: the port does not answer";
    case ONEIB_PROOF_UNSEEN:
        return "a virtual port, which cannot be seen here";
    case ONEIB_PROOF_WITH_VM:
        return "its virtual port is with the VM";
    case ONEIB_PROOF_OTHERS:
        return "the port keeps the key for its other members";
    case ONEIB_PROOF_HELD_BACK:
        return hold_text((enum oneib_hold_reason)item->hold_reason);
    }
    return NULL;
}

void oneib_member_events_append(const struct oneib_cloud *cloud,
                                const struct oneib_member_event *item, bool fresh,
                                struct oneib_text *text)
{
    oneib_autotext struct oneib_text reason = {0};
    const char *proof = proof_text(item, fresh);
    oneib_text_printf(text, "member %s: ", kind_text(item));
    append_network(cloud, item, text);
    append_place(cloud, item, text);
    oneib_member_events_append_reason(cloud, item, &reason);
    if (reason.length > 0)
        oneib_text_printf(text, ": %s", reason.data);
    if (proof && item->kind != ONEIB_MEMBER_EVENT_ARRIVED)
        oneib_text_printf(text, "; %s", proof);
}

/* ---- what has no line of its own ------------------------------------------------------------- */

struct tally {
    uint32_t network_id;
    size_t kinds[ONEIB_MEMBER_EVENT_KINDS];
    size_t all, awaited;
};

static bool is_awaited(const struct oneib_member_event *item)
{
    return item->proof == ONEIB_PROOF_AWAITED || item->proof == ONEIB_PROOF_MUTE;
}

ONEIB_ORDER_BY(compare_networks, struct tally, network_id);

/* The most first. */
ONEIB_ORDER(compare_sizes, struct tally,
            ONEIB_COMPARE(right->all, left->all) ?: compare_networks(left, right));

static void add_up(struct tally *sum, const struct tally *more)
{
    for (size_t i = 0; i < ONEIB_MEMBER_EVENT_KINDS; i++)
        sum->kinds[i] += more->kinds[i];
    sum->all += more->all;
    sum->awaited += more->awaited;
}

/* A tally for each network, in place of one for each item. */
static size_t merge_tallies(struct tally *tallies, size_t count)
{
    size_t kept = 0;
    ONEIB_SORT(tallies, count, compare_networks);
    for (size_t i = 1; i < count; i++)
        if (tallies[i].network_id == tallies[kept].network_id)
            add_up(&tallies[kept], &tallies[i]);
        else
            tallies[++kept] = tallies[i];
    ONEIB_SORT(tallies, kept + 1, compare_sizes);
    return kept + 1;
}

static void append_counts(const struct tally *tally, struct oneib_text *text)
{
    const char *comma = " ";
    for (size_t i = 0; i < ONEIB_MEMBER_EVENT_KINDS; i++) {
        if (tally->kinds[i] == 0)
            continue;
        oneib_text_printf(text, "%s%zu %s", comma, tally->kinds[i],
                          oneib_member_event_kind_name((enum oneib_member_event_kind)i));
        comma = ", ";
    }
    if (tally->awaited > 0)
        oneib_text_printf(text, " (%zu waited for)", tally->awaited);
}

static void append_tallies(const struct oneib_cloud *cloud, const struct tally *tallies,
                           size_t count, struct oneib_text *text)
{
    struct tally others = {0};
    for (size_t i = 0; i < count && i < NETWORKS_COUNTED; i++) {
        oneib_text_printf(text, "%s%s", i ? "; " : " ",
                          tallies[i].network_id == ONEIB_NO_ID
                              ? "other partitions"
                              : oneib_network_id_shown(cloud, tallies[i].network_id).text);
        append_counts(&tallies[i], text);
    }
    for (size_t i = NETWORKS_COUNTED; i < count; i++)
        add_up(&others, &tallies[i]);
    if (count <= NETWORKS_COUNTED)
        return;
    oneib_text_printf(text, "; %zu more networks", count - NETWORKS_COUNTED);
    append_counts(&others, text);
}

static size_t count_without_line(const struct oneib_member_events *news)
{
    size_t count = 0;
    for (size_t i = 0; i < news->count; i++)
        count += !news->items[i].has_line;
    return count;
}

void oneib_member_events_append_rest(const struct oneib_cloud *cloud,
                                     const struct oneib_member_events *news,
                                     struct oneib_text *text)
{
    const size_t rest = count_without_line(news);
    size_t filled = 0;
    if (rest == 0)
        return;
    struct tally *tallies = oneib_alloc(rest, sizeof *tallies);
    oneib_text_printf(text, "and %zu more:", rest);
    for (size_t i = 0; i < news->count; i++) {
        const struct oneib_member_event *item = &news->items[i];
        if (item->has_line)
            continue;
        struct tally *tally = &tallies[filled++];
        tally->network_id = item->line.network_id;
        tally->kinds[item->kind] = tally->all = 1;
        tally->awaited = is_awaited(item);
    }
    append_tallies(cloud, tallies, merge_tallies(tallies, rest), text);
    free(tallies);
}
