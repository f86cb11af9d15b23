// SPDX-License-Identifier: Apache-2.0
#include "placement/window.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include <stdlib.h>
#include <string.h>

/* Beside the host that is meant for it: where another one of the leaf will do when OpenNebula
 * refuses that one, for reasons that are not looked at here. */
#define MORE_OFFERS 15
#define NOWHERE ONEIB_NO_HOST

/* A leaf while a VM is placed: what there is for it. */
struct leaf {
    oneib_guid guid;
    uint64_t room; /* free virtual functions on hosts that are fit for the VM */
};

#define WORD_BITS 64

struct work {
    struct oneib_window *window;
    struct leaf *leaves; /* by GUID */
    size_t *leaf_of;     /* of each host, its leaf's index */
    uint32_t *settled;   /* of each leaf, how many VMs of the cluster at hand are there */
    uint32_t *left;      /* of each host, what is not meant for anybody yet */
    uint32_t *unoffered; /* of each host, what it is offered to nobody yet */
    uint32_t *meant;     /* of each host, how many VMs of this window it is meant for */
    uint32_t *ids;       /* of each host */
    bool *meets;         /* of each host, whether it makes the cluster at hand share a link */
    bool keeps_apart;    /* such hosts count as full */
    size_t leaf_count;
};

/* ---- fit hosts ------------------------------------------------------------------------------- */

void oneib_waiting_allow(const struct oneib_window *window, struct oneib_waiting_vm *vm,
                         size_t host)
{
    if (!vm->fit)
        vm->fit = oneib_alloc(window->host_count / WORD_BITS + 1, sizeof *vm->fit);
    vm->fit[host / WORD_BITS] |= UINT64_C(1) << host % WORD_BITS;
}

/* The first host from this index on that is fit; host_count: there is none. */
static size_t next_fit(const struct oneib_window *window, const struct oneib_waiting_vm *vm,
                       size_t from)
{
    if (!vm->fit)
        return window->host_count;
    for (size_t i = from; i < window->host_count; i = (i / WORD_BITS + 1) * WORD_BITS) {
        const uint64_t rest = vm->fit[i / WORD_BITS] >> i % WORD_BITS;
        if (rest)
            return i + (size_t)__builtin_ctzll(rest);
    }
    return window->host_count;
}

#define FOR_EACH_FIT(host, window, vm)                                                             \
    for (size_t host = next_fit(window, vm, 0); host < (window)->host_count;                       \
         host = next_fit(window, vm, host + 1))

/* ---- leaves ---------------------------------------------------------------------------------- */

ONEIB_ORDER_BY(compare_leaves, struct leaf, guid);

static size_t find_leaf(const struct work *work, oneib_guid guid)
{
    const struct leaf wanted = {.guid = guid};
    const struct leaf *found = ONEIB_FIND(&wanted, work->leaves, work->leaf_count, compare_leaves);
    return found ? (size_t)(found - work->leaves) : NOWHERE;
}

static void list_leaves(struct work *work)
{
    const struct oneib_window *window = work->window;
    for (size_t i = 0; i < window->host_count; i++)
        work->leaves[i] = (struct leaf){.guid = window->hosts[i].leaf};
    work->leaf_count = window->host_count;
    ONEIB_SORT(work->leaves, work->leaf_count, compare_leaves);
    ONEIB_UNIQUE(work->leaves, work->leaf_count, compare_leaves);
    for (size_t i = 0; i < window->host_count; i++)
        work->leaf_of[i] = find_leaf(work, window->hosts[i].leaf);
}

/* Where the members of the cluster are, leaf by leaf. */
static void recall(struct work *work, uint32_t network_id)
{
    memset(work->settled, 0, (work->leaf_count + 1) * sizeof *work->settled);
    for (size_t i = 0; i < work->window->settled_count; i++) {
        const struct oneib_settled *settled = &work->window->settled[i];
        const size_t leaf =
            settled->network_id == network_id ? find_leaf(work, settled->leaf) : NOWHERE;
        if (leaf != NOWHERE)
            work->settled[leaf] += settled->vms;
    }
}

/* ---- which leaf ------------------------------------------------------------------------------ */

static bool has_room(const struct work *work, const struct oneib_waiting_vm *vm, size_t host)
{
    return work->left[host] >= vm->nics && !(work->keeps_apart && work->meets[host]);
}

static void measure_room(struct work *work, const struct oneib_waiting_vm *vm)
{
    for (size_t i = 0; i < work->leaf_count; i++)
        work->leaves[i].room = 0;
    FOR_EACH_FIT(host, work->window, vm)
    if (has_room(work, vm, host))
        work->leaves[work->leaf_of[host]].room += work->left[host];
}

/* Few leaves for all of them: where the cluster is; else the smallest that takes all who wait; else
 * the largest. wanted: virtual functions. */
static bool packs_better(const struct work *work, size_t a, size_t b, uint64_t wanted)
{
    const uint64_t room_a = work->leaves[a].room, room_b = work->leaves[b].room;
    if (work->settled[a] != work->settled[b])
        return work->settled[a] > work->settled[b];
    if ((room_a >= wanted) != (room_b >= wanted))
        return room_a >= wanted;
    return room_a >= wanted ? room_a < room_b : room_a > room_b;
}

static bool spreads_better(const struct work *work, size_t a, size_t b)
{
    if (work->settled[a] != work->settled[b])
        return work->settled[a] < work->settled[b];
    return work->leaves[a].room > work->leaves[b].room;
}

/* Hosts of which it is not known where they are come last. */
static bool is_better(const struct work *work, const struct oneib_waiting_vm *vm, size_t a,
                      size_t b, uint64_t wanted)
{
    if ((work->leaves[a].guid == 0) != (work->leaves[b].guid == 0))
        return work->leaves[b].guid == 0;
    return vm->placement == ONEIB_PLACEMENT_SPREAD ? spreads_better(work, a, b)
                                                   : packs_better(work, a, b, wanted);
}

static size_t choose_leaf(struct work *work, const struct oneib_waiting_vm *vm, uint64_t wanted)
{
    size_t best = NOWHERE;
    measure_room(work, vm);
    for (size_t i = 0; i < work->leaf_count; i++)
        if (work->leaves[i].room > 0 && (best == NOWHERE || is_better(work, vm, i, best, wanted)))
            best = i;
    return best;
}

/* ---- which host ------------------------------------------------------------------------------ */

static bool is_near(const struct work *work, const struct oneib_waiting_vm *vm, size_t host,
                    size_t leaf)
{
    return vm->placement == ONEIB_PLACEMENT_ANY || work->leaf_of[host] == leaf;
}

/* OpenNebula gives a host few VMs at a time (MAX_HOST): one that nobody else is meant for; and
 * what has little room is filled first. */
static size_t choose_host(const struct work *work, const struct oneib_waiting_vm *vm, size_t leaf)
{
    size_t best = NOWHERE;
    FOR_EACH_FIT(host, work->window, vm)
    {
        if (!has_room(work, vm, host) || !is_near(work, vm, host, leaf))
            continue;
        if (best == NOWHERE || work->meant[host] < work->meant[best] ||
            (work->meant[host] == work->meant[best] && work->left[host] < work->left[best]))
            best = host;
    }
    return best;
}

static void settle(struct work *work, const struct oneib_waiting_vm *vm, size_t host)
{
    struct oneib_window *window = work->window;
    const oneib_guid leaf = window->hosts[host].leaf;
    work->left[host] -= vm->nics;
    work->meant[host]++;
    if (window->links)
        oneib_links_settle(window->links, vm->network_id, work->ids[host]);
    if (leaf != 0)
        oneib_window_settle(window, vm->network_id, leaf);
}

/* What this one and those of its cluster who come after it want. */
static uint64_t wanted_from(const struct oneib_window *window, size_t index)
{
    uint64_t wanted = 0;
    for (size_t i = index; i < window->vm_count; i++)
        if (window->vms[i].network_id == window->vms[index].network_id)
            wanted += window->vms[i].nics;
    return wanted;
}

static void judge_links(struct work *work, struct oneib_waiting_vm *vm)
{
    const struct oneib_window *window = work->window;
    if (!window->links)
        return;
    oneib_links_judge(window->links, vm->network_id, work->ids, window->host_count, work->meets);
    free(vm->meets);
    vm->meets = oneib_alloc(window->host_count / WORD_BITS + 1, sizeof *vm->meets);
    for (size_t i = 0; i < window->host_count; i++)
        vm->meets[i / WORD_BITS] |= (uint64_t)work->meets[i] << i % WORD_BITS;
}

static size_t find_leaf_for(struct work *work, size_t index, bool keeps_apart)
{
    work->keeps_apart = keeps_apart;
    return choose_leaf(work, &work->window->vms[index], wanted_from(work->window, index));
}

static size_t find_host_at(struct work *work, size_t index, size_t leaf, bool keeps_apart)
{
    work->keeps_apart = keeps_apart;
    return leaf == NOWHERE ? NOWHERE : choose_host(work, &work->window->vms[index], leaf);
}

/* Who leaves the leaf where its cluster is uses links between leaves, and comes to share those:
 * more clusters meet so. Hence another leaf only when it is as near, and all who wait have room
 * there without sharing a link; or when nobody may share any. */
static size_t choose_among(struct work *work, size_t index)
{
    const struct oneib_links *links = work->window->links;
    const size_t apart = links ? find_leaf_for(work, index, true) : NOWHERE;
    const bool fits =
        apart != NOWHERE && work->leaves[apart].room >= wanted_from(work->window, index);
    if (links && links->is_exclusive)
        return find_host_at(work, index, apart, true);
    const size_t near = find_leaf_for(work, index, false);
    const bool is_as_near = fits && work->settled[apart] == work->settled[near];
    const size_t leaf = is_as_near ? apart : near;
    const size_t host = links ? find_host_at(work, index, leaf, true) : NOWHERE;
    return host == NOWHERE ? find_host_at(work, index, leaf, false) : host;
}

static void choose(struct work *work, size_t index)
{
    struct oneib_waiting_vm *vm = &work->window->vms[index];
    recall(work, vm->network_id);
    judge_links(work, vm);
    const size_t host = choose_among(work, index);
    vm->meant = host;
    if (host != NOWHERE)
        settle(work, vm, host);
}

/* ---- what is offered ------------------------------------------------------------------------- */

static void add_offer(struct work *work, struct oneib_waiting_vm *vm, size_t host)
{
    ONEIB_APPEND(vm->offered, vm->offered_count, vm->offered_capacity, (uint32_t)host);
    work->unoffered[host] -= vm->nics;
}

static void begin_offers(struct work *work)
{
    for (size_t i = 0; i < work->window->vm_count; i++) {
        struct oneib_waiting_vm *vm = &work->window->vms[i];
        vm->offered_count = 0;
        if (vm->meant != NOWHERE)
            add_offer(work, vm, vm->meant);
    }
}

static bool does_meet(const struct oneib_waiting_vm *vm, size_t host)
{
    return vm->meets && vm->meets[host / WORD_BITS] >> host % WORD_BITS & 1;
}

/* A host that makes clusters share a link is for who has no other one, and for who waits long. */
static bool may_meet(const struct work *work, const struct oneib_waiting_vm *vm, size_t choice)
{
    const struct oneib_links *links = work->window->links;
    return !links || (!links->is_exclusive && (vm->has_waited || does_meet(vm, choice)));
}

static bool may_be_offered(const struct work *work, size_t index, size_t host)
{
    const struct oneib_waiting_vm *vm = &work->window->vms[index];
    const size_t choice = vm->meant;
    return host != choice && work->unoffered[host] >= vm->nics &&
           (!does_meet(vm, host) || may_meet(work, vm, choice)) &&
           (vm->has_waited || is_near(work, vm, host, work->leaf_of[choice]));
}

/* The next one of its hosts from *next on; *next is behind it then. */
static void offer_one(struct work *work, size_t index, size_t *next)
{
    struct oneib_waiting_vm *vm = &work->window->vms[index];
    size_t host = next_fit(work->window, vm, *next);
    while (host < work->window->host_count && !may_be_offered(work, index, host))
        host = next_fit(work->window, vm, host + 1);
    *next = host + 1;
    if (host < work->window->host_count)
        add_offer(work, vm, host);
}

static bool wants_more(const struct oneib_waiting_vm *vm)
{
    return vm->offered_count > 0 && (vm->has_waited || vm->placement == ONEIB_PLACEMENT_ANY ||
                                     vm->offered_count <= MORE_OFFERS);
}

/* In turn, one host each, so that those who are served first do not take all. */
static void offer_more(struct work *work)
{
    const size_t count = work->window->vm_count;
    size_t *next = oneib_alloc(count + 1, sizeof *next);
    for (bool is_done = false; !is_done;) {
        is_done = true;
        for (size_t i = 0; i < count; i++) {
            if (next[i] >= work->window->host_count || !wants_more(&work->window->vms[i]))
                continue;
            offer_one(work, i, &next[i]);
            is_done = false;
        }
    }
    free(next);
}

static void sort_offers(const struct oneib_window *window)
{
    for (size_t i = 0; i < window->vm_count; i++)
        ONEIB_SORT(window->vms[i].offered, window->vms[i].offered_count, oneib_compare_u32);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void clear_work(struct work *work)
{
    free(work->leaves);
    free(work->leaf_of);
    free(work->settled);
    free(work->left);
    free(work->unoffered);
    free(work->meant);
    free(work->ids);
    free(work->meets);
}

static void begin(struct work *work)
{
    const size_t hosts = work->window->host_count + 1;
    work->leaves = oneib_alloc(hosts, sizeof *work->leaves);
    work->leaf_of = oneib_alloc(hosts, sizeof *work->leaf_of);
    work->settled = oneib_alloc(hosts, sizeof *work->settled);
    work->left = oneib_alloc(hosts, sizeof *work->left);
    work->unoffered = oneib_alloc(hosts, sizeof *work->unoffered);
    work->meant = oneib_alloc(hosts, sizeof *work->meant);
    work->ids = oneib_alloc(hosts, sizeof *work->ids);
    work->meets = oneib_alloc(hosts, sizeof *work->meets);
    for (size_t i = 0; i < work->window->host_count; i++)
        work->ids[i] = work->window->hosts[i].id;
    for (size_t i = 0; i < work->window->host_count; i++)
        work->left[i] = work->unoffered[i] = work->window->hosts[i].vfs_free;
    list_leaves(work);
}

void oneib_window_settle(struct oneib_window *window, uint32_t network_id, oneib_guid leaf)
{
    for (size_t i = 0; i < window->settled_count; i++)
        if (window->settled[i].network_id == network_id && window->settled[i].leaf == leaf) {
            window->settled[i].vms++;
            return;
        }
    ONEIB_APPEND(window->settled, window->settled_count, window->settled_capacity,
                 (struct oneib_settled){.network_id = network_id, .leaf = leaf, .vms = 1});
}

void oneib_window_offer(struct oneib_window *window)
{
    struct work work = {.window = window};
    begin(&work);
    for (size_t i = 0; i < window->vm_count; i++)
        choose(&work, i);
    begin_offers(&work);
    offer_more(&work);
    sort_offers(window);
    clear_work(&work);
}

void oneib_window_clear(struct oneib_window *window)
{
    for (size_t i = 0; i < window->vm_count; i++) {
        free(window->vms[i].fit);
        free(window->vms[i].meets);
        free(window->vms[i].offered);
    }
    free(window->vms);
    free(window->hosts);
    free(window->settled);
    *window = (struct oneib_window){0};
}
