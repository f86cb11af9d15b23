// SPDX-License-Identifier: Apache-2.0
#include "vf/vfs.h"
#include "base/clock.h"
#include "base/memory.h"
#include "hca/reservations.h"
#include "vf/vf_internal.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKED_MS 1000

/* ---- from its beginning to its end ----------------------------------------------------------- */

static void take_options(struct oneib_vfs *vfs, const struct oneib_vfs_options *options)
{
    vfs->pkey_wait_ms = options->pkey_wait_ms;
    vfs->guid_wait_ms = options->guid_wait_ms;
    vfs->virtual_ports = options->virtual_ports;
    vfs->host_vf_count = options->host_vf_count;
    vfs->host_vfs = oneib_alloc(options->host_vf_count + 1, sizeof *vfs->host_vfs);
    if (options->host_vf_count > 0)
        memcpy(vfs->host_vfs, options->host_vfs, options->host_vf_count * sizeof *vfs->host_vfs);
}

static struct oneib_vfs *make(const struct oneib_vfs_options *options)
{
    struct oneib_vfs *vfs = oneib_alloc(1, sizeof *vfs);
    vfs->lock = -1;
    vfs->opened = oneib_now_ms();
    vfs->works = oneib_alloc(ONEIB_VF_RECORDS_MAX, sizeof *vfs->works);
    vfs->timers =
        oneib_alloc(ONEIB_VF_MEMORIES * (size_t)ONEIB_VF_RECORDS_MAX, sizeof *vfs->timers);
    vfs->tickets = oneib_alloc(ONEIB_VF_TICKETS_MAX, sizeof *vfs->tickets);
    take_options(vfs, options);
    return vfs;
}

/* While whoever opens it has more rights than later. What fails is told at the first look. */
static void open_firmware(struct oneib_vfs *vfs)
{
    struct oneib_error untold;
    oneib_vfs_follow_adapters(vfs, &untold);
}

int oneib_vfs_open(const struct oneib_vfs_options *options, struct oneib_vfs **opened,
                   struct oneib_error *err)
{
    struct oneib_vfs *vfs = make(options);
    *opened = NULL;
    if (oneib_reservations_own(&vfs->lock, err) < 0) {
        oneib_vfs_close(vfs);
        return -1;
    }
    *opened = vfs;
    open_firmware(vfs);
    return oneib_vfs_read_table(vfs, err);
}

void oneib_vfs_close(struct oneib_vfs *vfs)
{
    if (!vfs)
        return;
    oneib_hcas_clear(&vfs->hcas);
    oneib_vf_table_clear(&vfs->table);
    oneib_vf_table_clear(&vfs->draft);
    free(vfs->tickets);
    free(vfs->timers);
    free(vfs->works);
    free(vfs->host_vfs);
    if (vfs->lock >= 0)
        close(vfs->lock);
    free(vfs);
}

const struct oneib_vf_table *oneib_vfs_table(const struct oneib_vfs *vfs)
{
    return &vfs->table;
}

bool oneib_vfs_knows_table(const struct oneib_vfs *vfs)
{
    return vfs->table_known;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int go_on(struct oneib_vfs *vfs, struct oneib_vf_work *work, bool everything,
                 struct oneib_error *err)
{
    if (work->task == ONEIB_VF_RELEASE)
        return oneib_vfs_go_on_releasing(vfs, work, everything, err);
    /* Whoever waits is told of a failure. */
    if (oneib_vfs_go_on_preparing(vfs, work, err) < 0)
        *err = (struct oneib_error){0};
    return 0;
}

/* A work that ends gives its place to the last one, and may begin another one. */
static void go_on_with_all(struct oneib_vfs *vfs, bool everything)
{
    const double now = oneib_now_ms();
    for (size_t i = vfs->work_count; i-- > 0;) {
        struct oneib_error err = {0};
        if (i >= vfs->work_count || (!everything && vfs->works[i].due > now))
            continue;
        if (go_on(vfs, &vfs->works[i], everything, &err) < 0)
            oneib_vfs_note_failure(vfs, &err);
    }
}

/* The directory, with the lock in it, may have been removed, and made again by somebody. */
static void keep_lock(struct oneib_vfs *vfs)
{
    struct oneib_error err = {0};
    int lock;
    if (oneib_reservations_are_owned(vfs->lock))
        return;
    if (oneib_reservations_own(&lock, &err) < 0) {
        oneib_vfs_note_failure(vfs, &err);
        return;
    }
    close(vfs->lock);
    vfs->lock = lock;
}

static void look_at_everything(struct oneib_vfs *vfs, enum oneib_vfs_read how)
{
    struct oneib_error err = {0};
    keep_lock(vfs);
    /* Who else reads the table, and the next service, must find it. */
    if (oneib_vfs_keep_table(vfs, &err) < 0)
        oneib_vfs_note_failure(vfs, &err);
    oneib_vfs_read(vfs, how);
}

/* A failure to close is told of with the step, and tried again. */
static void look_at_grants(struct oneib_vfs *vfs)
{
    struct oneib_error err = {0};
    if (oneib_vfs_read_at_grants(vfs, &err) < 0)
        oneib_vfs_note_failure(vfs, &err);
}

/* What is due after a new list, too, is to look at what it may open. */
static enum oneib_vfs_read take_due(struct oneib_vfs *vfs, enum oneib_vfs_read how)
{
    const bool has_new_grants = vfs->has_new_grants;
    vfs->has_new_grants = false;
    return how == ONEIB_VFS_DUE && has_new_grants ? ONEIB_VFS_GLANCE : how;
}

static int look(struct oneib_vfs *vfs, enum oneib_vfs_read wanted, struct oneib_error *err)
{
    const enum oneib_vfs_read how = take_due(vfs, wanted);
    const bool everything = how != ONEIB_VFS_DUE;
    if (!vfs->table_known && oneib_vfs_read_table(vfs, err) < 0)
        return -1;
    if (oneib_vfs_follow_adapters(vfs, err) < 0)
        return -1;
    look_at_grants(vfs);
    oneib_vfs_read_at_domains(vfs);
    if (everything)
        look_at_everything(vfs, how);
    go_on_with_all(vfs, everything);
    oneib_vfs_release_stale(vfs);
    return 0;
}

int oneib_vfs_step(struct oneib_vfs *vfs, enum oneib_vfs_read how,
                   struct oneib_vfs_changes *changes, struct oneib_error *err)
{
    struct oneib_error failure = {0};
    vfs->blocked = 0;
    if (look(vfs, how, &failure) < 0) {
        oneib_vfs_note_failure(vfs, &failure);
        vfs->blocked = oneib_now_ms() + BLOCKED_MS;
    }
    oneib_vfs_settle_tickets(vfs);
    oneib_vfs_forget_what_is_over(vfs);
    const bool has_failed = vfs->has_failed;
    *changes = vfs->noted;
    vfs->noted = (struct oneib_vfs_changes){0};
    vfs->has_failed = false;
    vfs->has_news = false;
    if (!has_failed)
        return 0;
    *err = vfs->failure;
    return -1;
}

static bool has_something_to_tell(const struct oneib_vfs *vfs)
{
    static const struct oneib_vfs_changes nothing;
    return vfs->has_news || memcmp(&vfs->noted, &nothing, sizeof nothing) != 0;
}

static double next_step(const struct oneib_vfs *vfs)
{
    double next = oneib_sooner(oneib_vfs_next_memory(vfs), oneib_vfs_next_stale(vfs));
    if (vfs->retry > 0)
        next = oneib_sooner(next, vfs->retry);
    if (vfs->grants_retry > 0)
        next = oneib_sooner(next, vfs->grants_retry);
    for (size_t i = 0; i < vfs->work_count; i++)
        next = oneib_sooner(next, vfs->works[i].due);
    return next;
}

uint32_t oneib_vfs_due_ms(const struct oneib_vfs *vfs)
{
    if (has_something_to_tell(vfs) || (vfs->has_new_grants && vfs->blocked == 0))
        return 0;
    return oneib_ms_until(vfs->blocked > 0 ? vfs->blocked : next_step(vfs));
}
