// SPDX-License-Identifier: Apache-2.0
/* What stands against a binding although its network has a key and its host a port. */
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
#include <stdlib.h>

/* A member of a cluster's partition in the file that is in force. */
struct present_member {
    oneib_guid guid;
    uint32_t network_id;
    oneib_pkey pkey;
    uint8_t membership;
};

struct present_members {
    struct present_member *items;
    size_t count, capacity;
};

ONEIB_ORDER_BY(compare_present, struct present_member, network_id, pkey, guid);

static void list_partition(const struct oneib_partition *partition, struct present_members *present)
{
    uint32_t network_id;
    if (!oneib_cluster_name_parse(partition->name, &network_id))
        return;
    ONEIB_RESERVE(present->items, present->capacity, present->count + partition->member_count);
    for (size_t i = 0; i < partition->member_count; i++)
        if (partition->members[i].kind == ONEIB_MEMBER_GUID)
            present->items[present->count++] =
                (struct present_member){.guid = partition->members[i].guid,
                                        .network_id = network_id,
                                        .pkey = partition->pkey,
                                        .membership = partition->members[i].membership};
}

/* One entry a member; a member that a foreign file lists twice counts with the narrower of the two.
 */
static void merge_present(struct present_members *present)
{
    if (present->count == 0)
        return;
    ONEIB_SORT(present->items, present->count, compare_present);
    size_t kept = 0;
    for (size_t i = 1; i < present->count; i++) {
        struct present_member *last = &present->items[kept];
        if (compare_present(last, &present->items[i]) != 0)
            present->items[++kept] = present->items[i];
        else
            last->membership =
                (uint8_t)oneib_narrower(last->membership, present->items[i].membership);
    }
    present->count = kept + 1;
}

static void list_present(const struct oneib_work *work, struct present_members *present)
{
    for (size_t i = 0; work->in_force && i < work->in_force->count; i++)
        list_partition(&work->in_force->items[i], present);
    merge_present(present);
}

static const struct oneib_network *cluster_of(const struct oneib_work *work,
                                              const struct oneib_binding *binding)
{
    return &work->cloud->networks[work->entitlements[binding->network].cluster];
}

static const struct present_member *find_present(const struct oneib_work *work,
                                                 const struct present_members *present,
                                                 const struct oneib_binding *binding)
{
    const struct present_member wanted = {.guid = binding->member,
                                          .network_id = cluster_of(work, binding)->id,
                                          .pkey = binding->pkey};
    return ONEIB_FIND(&wanted, present->items, present->count, compare_present);
}

static void say_unknown(struct oneib_work *work, const struct oneib_attachment *attachment,
                        bool kept)
{
    oneib_findings_note_with(
        work->findings, ONEIB_FINDING_STATE_UNKNOWN, kept ? ONEIB_NOTICE : ONEIB_WARNING, NULL,
        "%s is in state %d/%d, which is not known: it %s", oneib_name_nic(work, attachment).text,
        attachment->state, attachment->lcm_state,
        kept ? "keeps the membership that is in force"
             : "gets no membership, for none is in force");
}

/* It keeps what is in force, if that is still its own; nothing new, and nothing wider. */
static void judge_unknown(struct oneib_work *work, const struct present_members *present,
                          struct oneib_binding *binding)
{
    const struct oneib_attachment *attachment = &work->cloud->attachments[binding->attachment];
    if (attachment->phase != ONEIB_PHASE_UNKNOWN ||
        binding->member_status != ONEIB_MEMBER_STATUS_MEMBER)
        return;
    const struct present_member *member = find_present(work, present, binding);
    if (member)
        binding->membership = (uint8_t)oneib_narrower(binding->membership, member->membership);
    else
        binding->member_status = ONEIB_MEMBER_STATUS_UNKNOWN_STATE;
    say_unknown(work, attachment, member != NULL);
}

static bool is_switched(const struct oneib_work *work, const struct oneib_binding *binding)
{
    return binding->member_status == ONEIB_MEMBER_STATUS_MEMBER &&
           work->cloud->networks[binding->network].other_driver;
}

/* stayed: of each attachment whether it is leaving a host on which it was a member. */
static void find_sources(const struct oneib_work *work, const struct present_members *present,
                         bool *stayed)
{
    for (size_t i = 0; i < work->binding_count; i++)
        if (work->bindings[i].is_source && is_switched(work, &work->bindings[i]) &&
            find_present(work, present, &work->bindings[i]))
            stayed[work->bindings[i].attachment] = true;
}

/* What is in force stays, and moves along; nothing new. */
static void judge_switched(struct oneib_work *work, const struct present_members *present,
                           const bool *stayed, struct oneib_binding *binding)
{
    if (!is_switched(work, binding) || find_present(work, present, binding) ||
        stayed[binding->attachment])
        return;
    binding->member_status = ONEIB_MEMBER_STATUS_SWITCHED;
    if (binding->is_source)
        return;
    oneib_say_new_on_switched(work, &work->cloud->attachments[binding->attachment]);
}

static void judge_by(struct oneib_work *work, const struct present_members *present, bool *stayed)
{
    find_sources(work, present, stayed);
    for (size_t i = 0; i < work->binding_count; i++) {
        judge_unknown(work, present, &work->bindings[i]);
        judge_switched(work, present, stayed, &work->bindings[i]);
    }
}

static bool any_depends_on_the_past(const struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->network_count; i++)
        if (cloud->networks[i].other_driver)
            return true;
    for (size_t i = 0; i < cloud->attachment_count; i++)
        if (cloud->attachments[i].phase == ONEIB_PHASE_UNKNOWN)
            return true;
    return false;
}

/* Those that keep what is in force, and get nothing new. */
static void judge_by_the_past(struct oneib_work *work)
{
    if (!any_depends_on_the_past(work->cloud))
        return;
    struct present_members present = {0};
    bool *stayed = oneib_alloc(work->cloud->attachment_count + 1, sizeof *stayed);
    list_present(work, &present);
    judge_by(work, &present, stayed);
    free(stayed);
    free(present.items);
}

/* Nothing of it is there that could be a member, and it takes no place from others. */
static void judge_failed(struct oneib_work *work)
{
    for (size_t i = 0; i < work->binding_count; i++) {
        struct oneib_binding *binding = &work->bindings[i];
        if (work->cloud->attachments[binding->attachment].phase == ONEIB_FAILED &&
            binding->member_status == ONEIB_MEMBER_STATUS_MEMBER)
            binding->member_status = ONEIB_MEMBER_STATUS_START_FAILED;
    }
}

bool oneib_is_arriving(const struct oneib_work *work, const struct oneib_binding *binding)
{
    const struct oneib_attachment *attachment = &work->cloud->attachments[binding->attachment];
    return attachment->phase == ONEIB_ARRIVING || attachment->attaching ||
           (attachment->phase == ONEIB_MIGRATING && !binding->is_source);
}

bool oneib_is_earlier(const struct oneib_work *work, const struct oneib_binding *binding,
                      const struct oneib_binding *than)
{
    const struct oneib_attachment *left = &work->cloud->attachments[binding->attachment];
    const struct oneib_attachment *right = &work->cloud->attachments[than->attachment];
    if (oneib_is_arriving(work, binding) != oneib_is_arriving(work, than))
        return oneib_is_arriving(work, than);
    return (ONEIB_BY(since, vm_id, nic_id)) < 0;
}

/* Of which kind of ports a cluster is, and what that costs. */
struct kind {
    const struct oneib_binding *first; /* of its members; NULL: none */
    bool is_in_force;                  /* so is `first` */
    bool has_static;
    size_t refused; /* NICs on adapters of the other kind */
};

/* A partition of virtual ports has indx0. Static members are operators' word; else it is as the first
 * of its members in force, and where none is, as the first: a running member is lost neither to one
 * that is started nor to a host that reports other ports than before. What IB_HCA alone says of an
 * adapter decides nothing beside one that the ledger has. */
static bool is_virtual(const struct kind *kind)
{
    return !kind->has_static && kind->first && kind->first->is_virtual;
}

static void say_mixed(struct oneib_work *work, uint32_t cluster, const struct kind *kind)
{
    oneib_findings_note(
        work->findings, ONEIB_FINDING_MIXED_ADAPTERS,
        "%s has members on %s: %zu of its NICs on %s adapters are refused, for those on mlx5 need "
        "the key at index 0, where on a physical port it would reach all VFs",
        oneib_name_network(work, work->cloud->networks[cluster].id).text,
        is_virtual(kind) ? "virtual ports (mlx5 adapters)"
                         : "physical ports (mlx4 adapters or static members)",
        kind->refused, is_virtual(kind) ? "mlx4" : "mlx5");
}

static bool comes_first(const struct oneib_work *work, const struct kind *kind,
                        const struct oneib_binding *binding, bool is_in_force)
{
    if (kind->first && kind->is_in_force != is_in_force)
        return is_in_force;
    if (kind->first && kind->first->is_proven != binding->is_proven)
        return binding->is_proven;
    return !kind->first || oneib_is_earlier(work, binding, kind->first);
}

/* *any_mixed: a cluster has members on both kinds of adapter. */
static void find_kinds(const struct oneib_work *work, const struct present_members *present,
                       struct kind *kinds, bool *any_mixed)
{
    *any_mixed = false;
    for (size_t i = 0; i < work->static_count; i++)
        kinds[work->statics[i].cluster].has_static = true;
    for (size_t i = 0; i < work->binding_count; i++) {
        const struct oneib_binding *binding = &work->bindings[i];
        if (binding->member_status != ONEIB_MEMBER_STATUS_MEMBER)
            continue;
        struct kind *kind = &kinds[work->entitlements[binding->network].cluster];
        const bool is_in_force = find_present(work, present, binding) != NULL;
        *any_mixed |= kind->first && kind->first->is_virtual != binding->is_virtual;
        if (!comes_first(work, kind, binding, is_in_force))
            continue;
        kind->first = binding;
        kind->is_in_force = is_in_force;
    }
}

/* What is in force is looked at where it decides something. */
static void find_all_kinds(const struct oneib_work *work, struct kind *kinds)
{
    struct present_members present = {0};
    bool any_mixed;
    find_kinds(work, &present, kinds, &any_mixed);
    if (!any_mixed || !work->in_force)
        return;
    list_present(work, &present);
    find_kinds(work, &present, kinds, &any_mixed);
    free(present.items);
}

/*
 * indx0 is a flag of the whole partition. On a virtual port it is what the guest needs; on a
 * physical port it would put a tenant's key where every closed map entry of every VF leads.
 */
static void separate_adapters(struct oneib_work *work, struct kind *kinds)
{
    find_all_kinds(work, kinds);
    for (size_t i = 0; i < work->cloud->network_count; i++)
        work->first_index[i] = is_virtual(&kinds[i]);
    for (size_t i = 0; i < work->binding_count; i++) {
        struct oneib_binding *binding = &work->bindings[i];
        if (binding->member_status != ONEIB_MEMBER_STATUS_MEMBER)
            continue;
        const uint32_t cluster = work->entitlements[binding->network].cluster;
        if (binding->is_virtual == work->first_index[cluster])
            continue;
        binding->member_status = ONEIB_MEMBER_STATUS_PORT_REFUSED;
        kinds[cluster].refused += !binding->is_source;
    }
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (kinds[i].refused)
            say_mixed(work, (uint32_t)i, &kinds[i]);
}

static void judge_adapters(struct oneib_work *work)
{
    size_t count = work->cloud->network_count ? work->cloud->network_count : 1;
    struct kind *kinds = oneib_alloc(count, sizeof *kinds);
    work->first_index = oneib_alloc(count, sizeof *work->first_index);
    separate_adapters(work, kinds);
    free(kinds);
}

void oneib_judge_bindings(struct oneib_work *work)
{
    judge_failed(work);
    judge_by_the_past(work);
    judge_adapters(work);
}
