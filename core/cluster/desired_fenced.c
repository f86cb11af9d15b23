// SPDX-License-Identifier: Apache-2.0
/*
 * Hosts that are fenced. Their ports are disabled at the switches; and whatever runs there is no
 * member of anything, so that a port that comes up all the same, until it is closed again, finds
 * itself in no cluster.
 */
#include "base/array.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
#include "cluster/fence.h"

static void add_member(struct oneib_work *work, oneib_guid guid)
{
    struct oneib_desired *desired = work->desired;
    ONEIB_APPEND(desired->fenced, desired->fenced_count, desired->fenced_capacity, guid);
}

/* Of a port that may be another host's nothing is said: its members are not the fenced host's. */
static bool is_its_own(enum oneib_fence_state state)
{
    switch (state) {
    case ONEIB_FENCE_DOWN:
    case ONEIB_FENCE_GONE:
    case ONEIB_FENCE_UP:
    case ONEIB_FENCE_SILENT:
        return true;
    case ONEIB_FENCE_ASKED:
    case ONEIB_FENCE_SHARED:
    case ONEIB_FENCE_DOUBLED:
    case ONEIB_FENCE_BARRED:
    case ONEIB_FENCE_UNPROVEN:
        break;
    }
    return false;
}

static void list_ports(struct oneib_work *work)
{
    const struct oneib_ledger *ledger = work->ledger;
    for (size_t i = 0; i < ledger->fenced_port_count; i++)
        if (is_its_own(ledger->fenced_ports[i].state))
            add_member(work, ledger->fenced_ports[i].guid);
}

/* VFs that are ports of their own. A VM that is to be started elsewhere names the host that it was
 * on until it is. */
static void list_vfs(struct oneib_work *work)
{
    for (size_t i = 0; i < work->cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &work->cloud->attachments[i];
        if (oneib_ledger_fence(work->ledger, attachment->host_id))
            add_member(
                work, oneib_guid_encode(work->policy->site, attachment->vm_id, attachment->nic_id));
    }
}

void oneib_judge_fenced(struct oneib_work *work)
{
    for (size_t i = 0; i < work->binding_count; i++)
        if (oneib_ledger_fence(work->ledger, work->bindings[i].host_id)) {
            work->bindings[i].member_status = ONEIB_MEMBER_STATUS_FENCED;
            work->bindings[i].is_virtual = false;
            work->bindings[i].port = work->bindings[i].member = 0;
        }
    list_ports(work);
    list_vfs(work);
    ONEIB_SORT(work->desired->fenced, work->desired->fenced_count, oneib_guid_compare);
    oneib_fence_report(work->cloud, work->ledger, work->findings);
}
