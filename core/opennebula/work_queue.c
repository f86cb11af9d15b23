// SPDX-License-Identifier: Apache-2.0
#include "opennebula/cache.h"
#include "opennebula/pools_internal.h"

/* States outside of ACTIVE, and LCM_STATE within, that end when the VM is placed
 * (VirtualMachine.h). */
#define STATE_INIT 0
#define STATE_PENDING 1
#define STATE_ACTIVE 3
#define STATE_CLONING 10
#define LCM_INIT 0

void oneib_work_queue_vm(struct oneib_work_queue *queue, uint32_t id)
{
    oneib_id_set_add(&queue->vms, id);
}

void oneib_work_queue_network(struct oneib_work_queue *queue, uint32_t id)
{
    oneib_id_set_add(&queue->networks, id);
}

void oneib_work_queue_host(struct oneib_work_queue *queue, uint32_t id)
{
    oneib_id_set_add(&queue->hosts, id);
}

void oneib_work_queue_join(struct oneib_work_queue *queue, const struct oneib_work_queue *more)
{
    queue->everything = queue->everything || more->everything;
    queue->new_vms = queue->new_vms || more->new_vms;
    oneib_id_set_join(&queue->vms, &more->vms);
    oneib_id_set_join(&queue->networks, &more->networks);
    oneib_id_set_join(&queue->hosts, &more->hosts);
}

bool oneib_work_queue_is_empty(const struct oneib_work_queue *queue)
{
    return !queue->everything && !queue->new_vms && queue->vms.count == 0 &&
           queue->networks.count == 0 && queue->hosts.count == 0;
}

static bool waits_to_be_placed(const struct oneib_attachment *attachment)
{
    switch (attachment->state) {
    case STATE_INIT:
    case STATE_PENDING:
    case STATE_CLONING:
        return true;
    case STATE_ACTIVE:
        return attachment->lcm_state == LCM_INIT;
    default:
        return false;
    }
}

static bool is_unsettled(const struct oneib_attachment *attachment)
{
    switch ((enum oneib_phase)attachment->phase) {
    case ONEIB_SETTLED:
    case ONEIB_FAILED:
        return false;
    case ONEIB_ABSENT:
        return waits_to_be_placed(attachment);
    case ONEIB_ARRIVING:
    case ONEIB_LEAVING:
    case ONEIB_MIGRATING:
    case ONEIB_PHASE_UNKNOWN:
        break;
    }
    return true;
}

bool oneib_cloud_is_preparing(const struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->attachment_count; i++)
        if (cloud->attachments[i].phase == ONEIB_ARRIVING ||
            cloud->attachments[i].phase == ONEIB_MIGRATING)
            return true;
    return false;
}

void oneib_work_queue_unsettled(const struct oneib_cloud *cloud, struct oneib_work_queue *queue)
{
    uint32_t last = ONEIB_NO_ID;
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &cloud->attachments[i];
        if (attachment->vm_id == last || !is_unsettled(attachment))
            continue;
        last = attachment->vm_id;
        oneib_work_queue_vm(queue, last);
    }
}

void oneib_work_queue_clear(struct oneib_work_queue *queue)
{
    oneib_id_set_clear(&queue->vms);
    oneib_id_set_clear(&queue->networks);
    oneib_id_set_clear(&queue->hosts);
    *queue = (struct oneib_work_queue){0};
}
