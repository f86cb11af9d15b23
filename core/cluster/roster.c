// SPDX-License-Identifier: Apache-2.0
#include "cluster/roster.h"
#include "base/memory.h"
#include "base/order.h"
#include <stdlib.h>

int oneib_roster_compare(const struct oneib_roster_line *left,
                         const struct oneib_roster_line *right)
{
    return ONEIB_BY(vm_id, nic_id, host_id);
}

bool oneib_roster_is_member(const struct oneib_roster_line *line)
{
    return line->member_status == ONEIB_MEMBER_STATUS_MEMBER;
}

static struct oneib_roster_line line_of(const struct oneib_cloud *cloud,
                                        const struct oneib_desired_binding *binding)
{
    const struct oneib_attachment *attachment = &cloud->attachments[binding->attachment];
    return (struct oneib_roster_line){.port = binding->port,
                                      .member = binding->member,
                                      .vm_id = attachment->vm_id,
                                      .network_id = attachment->network_id,
                                      .host_id = binding->host_id,
                                      .pkey = binding->pkey,
                                      .nic_id = attachment->nic_id,
                                      .membership = binding->membership,
                                      .member_status = binding->member_status,
                                      .standing = ONEIB_IN_FORCE,
                                      .is_source = binding->is_source};
}

/* A migration's two bindings come destination first. */
static void add_line(struct oneib_roster *roster, struct oneib_roster_line line)
{
    size_t place = roster->count++;
    if (place > 0 && oneib_roster_compare(&roster->lines[place - 1], &line) > 0) {
        roster->lines[place] = roster->lines[place - 1];
        place--;
    }
    roster->lines[place] = line;
}

void oneib_roster_make(const struct oneib_cloud *cloud, const struct oneib_desired *desired,
                       struct oneib_roster *roster)
{
    *roster = (struct oneib_roster){0};
    roster->lines = oneib_alloc(desired->binding_count + 1, sizeof *roster->lines);
    for (size_t i = 0; i < desired->binding_count; i++)
        add_line(roster, line_of(cloud, &desired->bindings[i]));
}

void oneib_roster_clear(struct oneib_roster *roster)
{
    free(roster->lines);
    *roster = (struct oneib_roster){0};
}
