// SPDX-License-Identifier: Apache-2.0
#include "opennebula/gather_internal.h"
#include "opennebula/mirror.h"

/* States outside of ACTIVE, and LCM_STATE within, that end when the VM is placed
 * (VirtualMachine.h). */
#define STATE_INIT 0
#define STATE_PENDING 1
#define STATE_ACTIVE 3
#define STATE_CLONING 10
#define LCM_INIT 0

int oneib_agenda_vm(struct oneib_agenda *agenda, uint32_t id, struct oneib_error *err)
{
    return oneib_id_set_add(&agenda->vms, id, err);
}

int oneib_agenda_network(struct oneib_agenda *agenda, uint32_t id, struct oneib_error *err)
{
    return oneib_id_set_add(&agenda->networks, id, err);
}

int oneib_agenda_host(struct oneib_agenda *agenda, uint32_t id, struct oneib_error *err)
{
    return oneib_id_set_add(&agenda->hosts, id, err);
}

int oneib_agenda_join(struct oneib_agenda *agenda, const struct oneib_agenda *more,
                      struct oneib_error *err)
{
    agenda->everything = agenda->everything || more->everything;
    agenda->new_vms = agenda->new_vms || more->new_vms;
    if (oneib_id_set_join(&agenda->vms, &more->vms, err) < 0 ||
        oneib_id_set_join(&agenda->networks, &more->networks, err) < 0)
        return -1;
    return oneib_id_set_join(&agenda->hosts, &more->hosts, err);
}

bool oneib_agenda_is_empty(const struct oneib_agenda *agenda)
{
    return !agenda->everything && !agenda->new_vms && agenda->vms.count == 0 &&
           agenda->networks.count == 0 && agenda->hosts.count == 0;
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
    switch ((enum oneib_presence)attachment->presence) {
    case ONEIB_SETTLED:
        return false;
    case ONEIB_ABSENT:
        return waits_to_be_placed(attachment);
    case ONEIB_ARRIVING:
    case ONEIB_LEAVING:
    case ONEIB_MIGRATING:
    case ONEIB_PRESENCE_UNKNOWN:
        break;
    }
    return true;
}

bool oneib_cloud_is_preparing(const struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->attachment_count; i++)
        if (cloud->attachments[i].presence == ONEIB_ARRIVING ||
            cloud->attachments[i].presence == ONEIB_MIGRATING)
            return true;
    return false;
}

int oneib_agenda_unsettled(const struct oneib_cloud *cloud, struct oneib_agenda *agenda,
                           struct oneib_error *err)
{
    uint32_t last = ONEIB_NO_ID;
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &cloud->attachments[i];
        if (attachment->vm_id == last || !is_unsettled(attachment))
            continue;
        last = attachment->vm_id;
        if (oneib_agenda_vm(agenda, last, err) < 0)
            return -1;
    }
    return 0;
}

void oneib_agenda_clear(struct oneib_agenda *agenda)
{
    oneib_id_set_clear(&agenda->vms);
    oneib_id_set_clear(&agenda->networks);
    oneib_id_set_clear(&agenda->hosts);
    *agenda = (struct oneib_agenda){0};
}
