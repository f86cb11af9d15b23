// SPDX-License-Identifier: Apache-2.0
/* What is under way, and what is remembered for a while: tables of fixed size. */
#include "base/clock.h"
#include "vf/vf_internal.h"
#include <math.h>

#define FIRST_MS 20

/* ---- under way ------------------------------------------------------------------------------- */

struct oneib_vf_work *oneib_vfs_work_of(const struct oneib_vfs *vfs, const struct oneib_pci *vf)
{
    for (size_t i = 0; i < vfs->work_count; i++)
        if (oneib_pci_compare(&vfs->works[i].vf, vf) == 0)
            return &vfs->works[i];
    return NULL;
}

struct oneib_vf_work *oneib_vfs_begin(struct oneib_vfs *vfs, const struct oneib_pci *vf,
                                      enum oneib_vf_task task)
{
    struct oneib_vf_work *work = oneib_vfs_work_of(vfs, vf);
    const struct oneib_pci of = *vf;
    if (!work) {
        if (vfs->work_count == ONEIB_VF_RECORDS_MAX)
            return NULL;
        work = &vfs->works[vfs->work_count++];
    }
    *work = (struct oneib_vf_work){.vf = of, .task = task};
    work->due = oneib_now_ms() + FIRST_MS;
    work->pause_ms = FIRST_MS;
    return work;
}

void oneib_vfs_drop(struct oneib_vfs *vfs, const struct oneib_pci *vf)
{
    struct oneib_vf_work *work = oneib_vfs_work_of(vfs, vf);
    if (!work)
        return;
    *work = vfs->works[--vfs->work_count];
    vfs->has_news = true;
}

void oneib_vfs_pause(struct oneib_vf_work *work, uint32_t longest_ms)
{
    const uint32_t pause_ms = work->pause_ms < longest_ms ? work->pause_ms : longest_ms;
    work->due = oneib_now_ms() + pause_ms;
    work->pause_ms = pause_ms + pause_ms / 2;
}

/* ---- remembered ------------------------------------------------------------------------------ */

static struct oneib_vf_timer *find(const struct oneib_vfs *vfs, const struct oneib_pci *vf,
                                   enum oneib_vf_memory what)
{
    for (size_t i = 0; i < vfs->timer_count; i++)
        if (vfs->timers[i].what == what && oneib_pci_compare(&vfs->timers[i].vf, vf) == 0)
            return &vfs->timers[i];
    return NULL;
}

void oneib_vfs_remember(struct oneib_vfs *vfs, const struct oneib_pci *vf,
                        enum oneib_vf_memory what, uint32_t for_ms)
{
    struct oneib_vf_timer *timer = find(vfs, vf, what);
    if (!timer && vfs->timer_count < ONEIB_VF_MEMORIES * ONEIB_VF_RECORDS_MAX)
        timer = &vfs->timers[vfs->timer_count++];
    if (timer)
        *timer = (struct oneib_vf_timer){*vf, what, oneib_now_ms() + for_ms};
}

bool oneib_vfs_remembers(const struct oneib_vfs *vfs, const struct oneib_pci *vf,
                         enum oneib_vf_memory what)
{
    const struct oneib_vf_timer *timer = find(vfs, vf, what);
    return timer && oneib_now_ms() < timer->until;
}

void oneib_vfs_forget_memory(struct oneib_vfs *vfs, const struct oneib_pci *vf,
                             enum oneib_vf_memory what)
{
    struct oneib_vf_timer *timer = find(vfs, vf, what);
    if (timer)
        *timer = vfs->timers[--vfs->timer_count];
}

void oneib_vfs_forget_vf(struct oneib_vfs *vfs, const struct oneib_pci *vf)
{
    for (size_t i = vfs->timer_count; i-- > 0;)
        if (oneib_pci_compare(&vfs->timers[i].vf, vf) == 0)
            vfs->timers[i] = vfs->timers[--vfs->timer_count];
}

void oneib_vfs_forget_what_is_over(struct oneib_vfs *vfs)
{
    const double now = oneib_now_ms();
    for (size_t i = vfs->timer_count; i-- > 0;)
        if (vfs->timers[i].until <= now)
            vfs->timers[i] = vfs->timers[--vfs->timer_count];
}

double oneib_vfs_next_memory(const struct oneib_vfs *vfs)
{
    double next = INFINITY;
    for (size_t i = 0; i < vfs->timer_count; i++)
        next = oneib_sooner(next, vfs->timers[i].until);
    return next;
}
