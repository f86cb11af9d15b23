// SPDX-License-Identifier: Apache-2.0
#include "command/places.h"
#include "base/array.h"
#include "base/order.h"
#include "cluster/host_port.h"
#include "command/output.h"
#include <stdlib.h>

/* Of the VMs behind one port so many are named; the others are counted. */
#define VMS_NAMED 8

const struct oneib_hca_port *oneib_port_of(const struct oneib_cloud *cloud,
                                           const struct oneib_attachment *attachment,
                                           uint32_t host_id)
{
    const struct oneib_network *network = oneib_cloud_network(cloud, attachment->network_id);
    const struct oneib_hca_port *port = NULL;
    if (network && host_id != ONEIB_NO_ID)
        oneib_host_port(cloud, oneib_cloud_host(cloud, host_id), network, &port);
    return port;
}

ONEIB_ORDER_BY(compare_places, struct oneib_place, pkey, guid, vm_id);

static void add_place(struct oneib_places *places, const struct oneib_desired_binding *binding)
{
    const struct oneib_snapshot *snapshot = places->snapshot;
    if (binding->member_status != ONEIB_MEMBER_STATUS_MEMBER)
        return;
    ONEIB_APPEND(places->items, places->count, places->capacity,
                 (struct oneib_place){binding->pkey, binding->member,
                                      snapshot->cloud.attachments[binding->attachment].vm_id});
}

static void fill(struct oneib_places *places)
{
    const struct oneib_snapshot *snapshot = places->snapshot;
    oneib_port_index_make(&snapshot->cloud, &places->ports);
    for (size_t i = 0; i < snapshot->desired.binding_count; i++)
        add_place(places, &snapshot->desired.bindings[i]);
    ONEIB_SORT(places->items, places->count, compare_places);
    /* A VM with two NICs in one cluster is in one place twice. */
    ONEIB_UNIQUE(places->items, places->count, compare_places);
}

void oneib_places_make(const struct oneib_snapshot *snapshot, uint16_t site, bool daemon_runs,
                       struct oneib_places *places)
{
    *places = (struct oneib_places){.snapshot = snapshot, .site = site, .daemon_runs = daemon_runs};
    fill(places);
}

void oneib_places_clear(struct oneib_places *places)
{
    free(places->items);
    oneib_port_index_clear(&places->ports);
    *places = (struct oneib_places){0};
}

const struct oneib_known_port *oneib_places_port(const struct oneib_places *places, oneib_guid guid)
{
    return oneib_port_index_find(&places->ports, guid);
}

const struct oneib_place *oneib_places_find(const struct oneib_places *places, oneib_pkey pkey,
                                            oneib_guid guid, size_t *count)
{
    const struct oneib_place wanted = {.pkey = pkey, .guid = guid};
    const size_t first =
        ONEIB_LOWER_BOUND(i, places->count, compare_places(&places->items[i], &wanted) < 0);
    *count = ONEIB_RUN(i, first, places->count,
                       places->items[i].pkey == pkey && places->items[i].guid == guid);
    return *count ? &places->items[first] : NULL;
}

static void append_known(const struct oneib_known_port *known, struct oneib_text *text)
{
    oneib_append_untrusted(text, known->host->name, 0);
    oneib_text_printf(text, " %s/%u", known->port->device, known->port->port);
}

void oneib_places_append_port(const struct oneib_places *places, oneib_guid guid,
                              struct oneib_text *text)
{
    const struct oneib_known_port *known = oneib_places_port(places, guid);
    const struct oneib_subnet_port *on_fabric = oneib_subnet_find(&places->snapshot->subnet, guid);
    struct oneib_guid_parts parts;

    if (known) {
        append_known(known, text);
    } else if (on_fabric && on_fabric->owner) {
        known = oneib_places_port(places, on_fabric->owner);
        if (known)
            append_known(known, text);
        oneib_text_printf(text, "%svirtual port %u", known ? " " : "", on_fabric->vport);
    } else if (on_fabric) {
        oneib_append_quoted(text, on_fabric->description);
    } else if (oneib_guid_in_site(guid, places->site) && oneib_guid_decode(guid, &parts)) {
        oneib_text_printf(text, "VM %u NIC %u", parts.vm_id, parts.nic_id);
    }
}

void oneib_places_append_vms(const struct oneib_places *places, oneib_pkey pkey, oneib_guid guid,
                             struct oneib_text *text)
{
    size_t count;
    const struct oneib_place *place = oneib_places_find(places, pkey, guid, &count);
    for (size_t i = 0; i < count && i < VMS_NAMED; i++)
        oneib_text_printf(text, "%s%u", i ? ", " : "VM ", place[i].vm_id);
    if (count > VMS_NAMED)
        oneib_text_printf(text, " and %zu more", count - VMS_NAMED);
}
