// SPDX-License-Identifier: Apache-2.0
#include "cluster/member_list.h"
#include "base/memory.h"
#include "base/order.h"
#include <stdlib.h>

int oneib_member_list_compare(const struct oneib_member_list_line *left,
                              const struct oneib_member_list_line *right)
{
    return ONEIB_BY(vm_id, nic_id, host_id);
}

bool oneib_member_list_is_member(const struct oneib_member_list_line *line)
{
    return line->member_status == ONEIB_MEMBER_STATUS_MEMBER;
}

static struct oneib_member_list_line line_of(const struct oneib_cloud *cloud,
                                             const struct oneib_desired_binding *binding)
{
    const struct oneib_attachment *attachment = &cloud->attachments[binding->attachment];
    return (struct oneib_member_list_line){.port = binding->port,
                                           .member = binding->member,
                                           .vm_id = attachment->vm_id,
                                           .network_id = attachment->network_id,
                                           .host_id = binding->host_id,
                                           .pkey = binding->pkey,
                                           .nic_id = attachment->nic_id,
                                           .membership = binding->membership,
                                           .member_status = binding->member_status,
                                           .pkey_status = ONEIB_IN_FORCE,
                                           .is_source = binding->is_source};
}

/* A migration's two bindings come destination first. */
static void add_line(struct oneib_member_list *member_list, struct oneib_member_list_line line)
{
    size_t place = member_list->count++;
    if (place > 0 && oneib_member_list_compare(&member_list->lines[place - 1], &line) > 0) {
        member_list->lines[place] = member_list->lines[place - 1];
        place--;
    }
    member_list->lines[place] = line;
}

void oneib_member_list_make(const struct oneib_cloud *cloud, const struct oneib_desired *desired,
                            struct oneib_member_list *member_list)
{
    *member_list = (struct oneib_member_list){0};
    member_list->lines = oneib_alloc(desired->binding_count + 1, sizeof *member_list->lines);
    for (size_t i = 0; i < desired->binding_count; i++)
        add_line(member_list, line_of(cloud, &desired->bindings[i]));
}

void oneib_member_list_clear(struct oneib_member_list *member_list)
{
    free(member_list->lines);
    *member_list = (struct oneib_member_list){0};
}
