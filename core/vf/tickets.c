// SPDX-License-Identifier: Apache-2.0
/* Who waits for what. */
#include "base/clock.h"
#include "vf/vf_internal.h"

#define PLACE_BITS 13 /* of a ticket: its place in the table, from 1 on; above it, its turn */

_Static_assert(ONEIB_VF_TICKETS_MAX < 1 << PLACE_BITS, "a ticket holds its place");

/* ONEIB_VF_TICKETS_MAX: none is. */
static uint32_t first_free(const struct oneib_vfs *vfs)
{
    uint32_t place = 0;
    while (place < vfs->ticket_end && vfs->tickets[place].used)
        place++;
    return place;
}

int oneib_vfs_check_tickets(const struct oneib_vfs *vfs, struct oneib_error *err)
{
    if (first_free(vfs) < ONEIB_VF_TICKETS_MAX)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "%d requests wait on this host already: try again when they have ended",
                      ONEIB_VF_TICKETS_MAX);
}

static oneib_vfs_ticket take(struct oneib_vfs *vfs, struct oneib_vf_ticket **taken)
{
    const uint32_t place = first_free(vfs);
    struct oneib_vf_ticket *ticket = &vfs->tickets[place];
    *ticket = (struct oneib_vf_ticket){.used = true, .turn = ticket->turn + 1};
    *taken = ticket;
    if (place == vfs->ticket_end)
        vfs->ticket_end++;
    return ticket->turn << PLACE_BITS | (place + 1);
}

static struct oneib_vf_ticket *find(const struct oneib_vfs *vfs, oneib_vfs_ticket number)
{
    const uint32_t place = number & ((1u << PLACE_BITS) - 1);
    if (place == 0 || place > ONEIB_VF_TICKETS_MAX)
        return NULL;
    struct oneib_vf_ticket *ticket = &vfs->tickets[place - 1];
    return ticket->used && ticket->turn << PLACE_BITS == (number & ~((1u << PLACE_BITS) - 1))
               ? ticket
               : NULL;
}

oneib_vfs_ticket oneib_vfs_ticket_of_wish(struct oneib_vfs *vfs, uint32_t wish)
{
    struct oneib_vf_ticket *ticket;
    const oneib_vfs_ticket number = take(vfs, &ticket);
    ticket->kind = ONEIB_REQUEST_HAVE;
    ticket->wish = wish;
    return number;
}

int oneib_vfs_ticket_of_release(struct oneib_vfs *vfs, const struct oneib_request *request,
                                oneib_vfs_ticket *number, struct oneib_error *err)
{
    struct oneib_vf_ticket *ticket;
    if (oneib_vfs_check_tickets(vfs, err) < 0)
        return -1;
    *number = take(vfs, &ticket);
    ticket->kind = (enum oneib_request_kind)request->kind;
    ticket->vm_id = request->vm_id;
    ticket->nic_id = request->nic_id;
    ticket->vf = request->vf;
    ticket->until = oneib_now_ms() + vfs->guid_wait_ms;
    return 0;
}

/* ---- wishes ---------------------------------------------------------------------------------- */

static bool is_of_wish(const struct oneib_vf_ticket *ticket, uint32_t wish)
{
    return ticket->used && wish != 0 && ticket->kind == ONEIB_REQUEST_HAVE &&
           ticket->wish == wish && ticket->progress == ONEIB_VFS_BUSY;
}

bool oneib_vfs_is_waited_for(const struct oneib_vfs *vfs, uint32_t wish)
{
    for (size_t i = 0; i < vfs->ticket_end; i++)
        if (is_of_wish(&vfs->tickets[i], wish))
            return true;
    return false;
}

void oneib_vfs_wish_done(struct oneib_vfs *vfs, uint32_t wish, const struct oneib_vf_record *record)
{
    for (size_t i = 0; i < vfs->ticket_end; i++) {
        if (!is_of_wish(&vfs->tickets[i], wish))
            continue;
        vfs->tickets[i].progress = ONEIB_VFS_DONE;
        vfs->tickets[i].record = *record;
    }
}

void oneib_vfs_wish_failed(struct oneib_vfs *vfs, uint32_t wish, const struct oneib_error *err)
{
    for (size_t i = 0; i < vfs->ticket_end; i++) {
        if (!is_of_wish(&vfs->tickets[i], wish))
            continue;
        vfs->tickets[i].progress = ONEIB_VFS_FAILED;
        vfs->tickets[i].err = *err;
    }
}

void oneib_vfs_wish_refused(struct oneib_vfs *vfs, uint32_t wish,
                            const struct oneib_vf_record *record, const char *words)
{
    struct oneib_error err = {0};
    oneib_fail(&err, ONEIB_ERROR_REFUSED, "%s", words);
    oneib_vfs_wrap(record, &err);
    oneib_vfs_wish_failed(vfs, wish, &err);
}

/* ---- releases -------------------------------------------------------------------------------- */

static bool is_about(const struct oneib_vfs *vfs, const struct oneib_vf_ticket *ticket,
                     const struct oneib_vf_work *work)
{
    if (work->task != ONEIB_VF_RELEASE)
        return false;
    if (ticket->kind == ONEIB_REQUEST_RELEASE_VF)
        return oneib_pci_compare(&ticket->vf, &work->vf) == 0;
    const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &work->vf);
    return record && record->vm_id == ticket->vm_id &&
           (ticket->nic_id < 0 || record->nic_id == ticket->nic_id);
}

static const struct oneib_vf_work *find_work(const struct oneib_vfs *vfs,
                                             const struct oneib_vf_ticket *ticket)
{
    for (size_t i = 0; i < vfs->work_count; i++)
        if (is_about(vfs, ticket, &vfs->works[i]))
            return &vfs->works[i];
    return NULL;
}

static void fail_late(const struct oneib_vfs *vfs, struct oneib_vf_ticket *ticket,
                      const struct oneib_vf_work *work)
{
    char address[ONEIB_PCI_TEXT_SIZE];
    const struct oneib_vf_record *record = oneib_vf_table_of_vf(&vfs->table, &work->vf);
    ticket->progress = ONEIB_VFS_FAILED;
    if (!work->is_closed)
        oneib_fail(&ticket->err, ONEIB_ERROR_TIMEOUT,
                   "the virtual function could not be closed yet: retried automatically");
    else if (record && oneib_vfs_is_running_with(vfs, record))
        oneib_fail(&ticket->err, ONEIB_ERROR_TIMEOUT,
                   "the virtual function is closed, but not free yet: the VM's domain still has "
                   "it");
    else
        oneib_fail(&ticket->err, ONEIB_ERROR_TIMEOUT,
                   "the virtual function is closed, but not free yet: the subnet manager has not "
                   "let go of its GUID, which it does not while the GUID is in a multicast group; "
                   "the adapter keeps asking");
    oneib_pci_format(&work->vf, address);
    if (record)
        oneib_vfs_wrap(record, &ticket->err);
    else
        oneib_wrap(&ticket->err, "%s", address);
}

static void settle(const struct oneib_vfs *vfs, struct oneib_vf_ticket *ticket, double now)
{
    const struct oneib_vf_work *work = find_work(vfs, ticket);
    if (!work)
        ticket->progress = ONEIB_VFS_DONE;
    else if (now >= ticket->until)
        fail_late(vfs, ticket, work);
}

static bool is_busy_release(const struct oneib_vf_ticket *ticket)
{
    return ticket->used && ticket->kind != ONEIB_REQUEST_HAVE && ticket->progress == ONEIB_VFS_BUSY;
}

void oneib_vfs_settle_tickets(struct oneib_vfs *vfs)
{
    const double now = oneib_now_ms();
    for (size_t i = 0; i < vfs->ticket_end; i++)
        if (is_busy_release(&vfs->tickets[i]))
            settle(vfs, &vfs->tickets[i], now);
}

bool oneib_vfs_release_is_waited_for(const struct oneib_vfs *vfs, const struct oneib_vf_work *work)
{
    for (size_t i = 0; i < vfs->ticket_end; i++)
        if (is_busy_release(&vfs->tickets[i]) && is_about(vfs, &vfs->tickets[i], work))
            return true;
    return work->has_next;
}

/* ---- asking ---------------------------------------------------------------------------------- */

enum oneib_vfs_progress oneib_vfs_progress(const struct oneib_vfs *vfs, oneib_vfs_ticket number,
                                           struct oneib_vf_record *record, struct oneib_error *err)
{
    const struct oneib_vf_ticket *ticket = find(vfs, number);
    if (!ticket) {
        oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "there is no such request any more");
        return ONEIB_VFS_FAILED;
    }
    if (ticket->progress == ONEIB_VFS_DONE)
        *record = ticket->record;
    if (ticket->progress == ONEIB_VFS_FAILED)
        *err = ticket->err;
    return ticket->progress;
}

static struct oneib_vf_work *find_wish(const struct oneib_vfs *vfs, uint32_t wish)
{
    for (size_t i = 0; i < vfs->work_count; i++)
        if (vfs->works[i].wish == wish)
            return &vfs->works[i];
    return NULL;
}

/* What waits for another VF to be free only gives up its place. */
static void give_up(struct oneib_vfs *vfs, struct oneib_vf_work *work)
{
    if (work->task == ONEIB_VF_PREPARE) {
        oneib_vfs_give_up(vfs, work);
        return;
    }
    work->has_next = false;
    work->wish = 0;
}

void oneib_vfs_forget(struct oneib_vfs *vfs, oneib_vfs_ticket number)
{
    struct oneib_vf_ticket *ticket = find(vfs, number);
    if (!ticket)
        return;
    const uint32_t wish = ticket->progress == ONEIB_VFS_BUSY ? ticket->wish : 0;
    ticket->used = false;
    while (vfs->ticket_end > 0 && !vfs->tickets[vfs->ticket_end - 1].used)
        vfs->ticket_end--;
    if (wish == 0 || oneib_vfs_is_waited_for(vfs, wish))
        return;
    struct oneib_vf_work *work = find_wish(vfs, wish);
    struct oneib_error err = {0};
    if (work && oneib_vfs_follow_adapters(vfs, &err) < 0)
        oneib_vfs_note_failure(vfs, &err);
    if (work)
        give_up(vfs, work);
}
