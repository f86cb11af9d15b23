// SPDX-License-Identifier: Apache-2.0
#include "hca/firmware.h"
#include "ib/pkey.h"
#include "oneib/print.h"
#include "oneib/verb_hca.h"

uint16_t oneib_inventory_vf_key(const struct oneib_inventory_vf *item)
{
    if (item->port.way != ONEIB_VIRTUAL_PORT_UNSEEN && item->state_known && !item->state.closed)
        return item->port.pkey_count > 0 ? item->port.pkeys[0] : 0;
    if (!item->state_known || item->state.index < 0)
        return 0;
    const struct oneib_port *port = oneib_hca_find_port(item->hca, item->state.open_port);
    return port && item->state.index < port->pkey_count ? port->pkeys[item->state.index] : 0;
}

static bool is_in_a_running_vm(const struct oneib_inventory_vf *item)
{
    return item->domain && item->domain->running &&
           item->domain->vm_id == (int64_t)item->record->vm_id;
}

static const char *use_of_record(const struct oneib_inventory_vf *item)
{
    switch (item->record->stage) {
    case ONEIB_VF_PREPARING:
        return "preparing";
    case ONEIB_VF_RELEASING:
        return "releasing";
    case ONEIB_VF_ENDED:
        return "reserved";
    case ONEIB_VF_CLOSED:
        return is_in_a_running_vm(item) ? "closed" : "reserved";
    case ONEIB_VF_OPEN:
        break;
    }
    if (!is_in_a_running_vm(item))
        return "reserved";
    return item->state_known && (item->state.closed || item->state.fresh) ? "closed" : "in use";
}

const char *oneib_inventory_vf_use(const struct oneib_inventory_vf *item)
{
    if (item->record && item->use == ONEIB_VF_RESERVED)
        return use_of_record(item);
    return item->use == ONEIB_VF_NOT_CLOSED ? "leaked" : oneib_vf_use_name(item->use);
}

const char *oneib_link_layer_name(enum oneib_link_layer layer)
{
    static const char *const names[] = {[ONEIB_LINK_INFINIBAND] = "infiniband",
                                        [ONEIB_LINK_ETHERNET] = "ethernet",
                                        [ONEIB_LINK_UNKNOWN] = "unknown"};
    return names[layer];
}

static const char *vf_guid_name(enum oneib_vf_guid guid)
{
    static const char *const names[] = {[ONEIB_VF_GUID_NONE] = "none",
                                        [ONEIB_VF_GUID_DEFERRED] = "deferred",
                                        [ONEIB_VF_GUID_SET] = "set"};
    return names[guid];
}

unsigned oneib_port_keys_used(const struct oneib_port *port)
{
    unsigned used = 0;
    for (unsigned i = 0; i < port->pkey_count; i++)
        used += port->pkeys[i] != 0;
    return used;
}

static json_t *pci_json(const struct oneib_pci *pci)
{
    char text[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(pci, text);
    return json_string(text);
}

static json_t *numa_json(int16_t node)
{
    return node >= 0 ? json_integer(node) : json_null();
}

static const char *membership_of(uint16_t raw)
{
    return oneib_membership_name(oneib_pkey_is_full(raw) ? ONEIB_FULL : ONEIB_LIMITED);
}

static json_t *key_json(unsigned index, uint16_t raw)
{
    return json_pack("{s:I, s:o, s:s}", "index", (json_int_t)index, "pkey",
                     oneib_json_key(oneib_pkey_base(raw)), "membership", membership_of(raw));
}

static json_t *keys_json(const uint16_t *pkeys, unsigned count)
{
    json_t *keys = json_array();
    for (unsigned i = 0; i < count; i++)
        if (pkeys[i])
            oneib_json_append(&keys, key_json(i, pkeys[i]));
    return keys;
}

static json_t *port_json(const struct oneib_port *port)
{
    return json_pack("{s:I, s:s, s:s, s:o, s:I, s:I, s:I, s:o}", "port", (json_int_t)port->number,
                     "link_layer", oneib_link_layer_name(port->link_layer), "state",
                     oneib_port_state_name(port->state), "guid", oneib_json_known_guid(port->guid),
                     "lid", (json_int_t)port->lid, "rate", (json_int_t)port->rate_gbps, "pkeys_max",
                     (json_int_t)port->pkey_count, "pkeys",
                     keys_json(port->pkeys, port->pkey_count));
}

static json_t *ports_json(const struct oneib_hca *hca)
{
    json_t *ports = json_array();
    for (size_t i = 0; i < hca->port_count; i++)
        oneib_json_append(&ports, port_json(&hca->ports[i]));
    return ports;
}

static json_t *record_json(const struct oneib_vf_record *record)
{
    if (!record)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:o, s:s, s:s, s:s, s:o}", "vm", (json_int_t)record->vm_id,
                     "nic", (json_int_t)record->nic_id, "port", (json_int_t)record->port, "pkey",
                     oneib_json_key(record->pkey), "membership",
                     oneib_membership_name(record->limited ? ONEIB_LIMITED : ONEIB_FULL), "stage",
                     oneib_vf_stage_name(record->stage), "guid_state", vf_guid_name(record->guid),
                     "guid", oneib_json_guid(oneib_vf_record_guid(record)));
}

static json_t *domain_json(const struct oneib_domain *domain)
{
    if (!domain)
        return json_null();
    return json_pack("{s:o, s:o, s:b}", "name", oneib_json_text(domain->name), "vm",
                     domain->vm_id >= 0 ? json_integer(domain->vm_id) : json_null(), "running",
                     (int)domain->running);
}

static json_t *state_json(const struct oneib_inventory_vf *item)
{
    const struct oneib_vf_state *state = &item->state;
    if (!item->state_known)
        return json_null();
    const uint16_t key = oneib_inventory_vf_key(item);
    return json_pack("{s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:b, s:b}", "closed", (int)state->closed,
                     "untouched", (int)state->fresh, "ethernet", (int)state->has_ethernet, "port",
                     state->open_port ? json_integer(state->open_port) : json_null(), "pkey",
                     oneib_json_key(oneib_pkey_base(key)), "membership",
                     oneib_json_text(key ? membership_of(key) : NULL), "guid",
                     oneib_json_known_guid(state->guid), "guid_accepted", (int)state->guid_accepted,
                     "guid_gone", (int)state->guid_gone);
}

/* null where it has none, or none that can be read. */
static json_t *virtual_port_json(const struct oneib_virtual_port *port)
{
    if (port->way == ONEIB_VIRTUAL_PORT_UNSEEN)
        return json_null();
    return json_pack("{s:s, s:o, s:o}", "read_by", oneib_virtual_port_way_name(port->way), "guid",
                     oneib_json_known_guid(port->guid), "pkeys",
                     keys_json(port->pkeys, port->pkey_count));
}

/* What an adapter of another kind has no port of its own for is nothing that was not read. */
static json_t *unread_json(const struct oneib_inventory_vf *item)
{
    const bool is_unread =
        item->hca->driver == ONEIB_HCA_MLX5 && item->port.way == ONEIB_VIRTUAL_PORT_UNSEEN;
    return oneib_json_text(is_unread ? item->port.why.text : NULL);
}

static json_t *vf_json(const struct oneib_inventory_vf *item)
{
    const struct oneib_vf *vf = item->vf;
    return json_pack(
        "{s:o, s:I, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "pci", pci_json(&vf->pci), "index",
        (json_int_t)vf->index, "driver", *vf->driver ? oneib_json_text(vf->driver) : json_null(),
        "numa_node", numa_json(vf->numa_node), "use", oneib_inventory_vf_use(item), "record",
        record_json(item->record), "domain", domain_json(item->domain), "state", state_json(item),
        "virtual_port", virtual_port_json(&item->port), "virtual_port_unread", unread_json(item));
}

static json_t *vfs_json(const struct oneib_inventory *inventory, const struct oneib_hca *hca)
{
    json_t *vfs = json_array();
    for (size_t i = 0; i < inventory->vf_count; i++)
        if (inventory->vfs[i].hca == hca)
            oneib_json_append(&vfs, vf_json(&inventory->vfs[i]));
    return vfs;
}

static json_t *error_json(const struct oneib_error *error)
{
    return error->code == ONEIB_ERROR_NONE ? json_null() : oneib_json_text(error->text);
}

static json_t *sm_json(const struct oneib_hca *hca)
{
    const enum oneib_sm_awareness sm = oneib_firmware_ask_sm(hca);
    return sm == ONEIB_SM_UNKNOWN ? json_null() : json_boolean(sm == ONEIB_SM_AWARE);
}

static json_t *hca_json(const struct oneib_inventory *inventory, const struct oneib_hca *hca)
{
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "name",
                     oneib_json_text(hca->name), "driver", oneib_hca_driver_name(hca->driver),
                     "pci", pci_json(&hca->pci), "node_guid", oneib_json_known_guid(hca->node_guid),
                     "numa_node", numa_json(hca->numa_node), "vfs_supported",
                     (json_int_t)hca->vfs_supported, "sm_knows_virtual_ports", sm_json(hca),
                     "error", error_json(&hca->fault), "ports", ports_json(hca), "vfs",
                     vfs_json(inventory, hca));
}

int oneib_hca_json_write(const struct oneib_inventory *inventory, int64_t repaired,
                         struct oneib_error *err)
{
    json_t *hcas = json_array();
    for (size_t i = 0; i < inventory->hcas.count; i++)
        oneib_json_append(&hcas, hca_json(inventory, &inventory->hcas.items[i]));
    return oneib_json_write(json_pack("{s:o, s:{s:b, s:o}, s:o, s:o}", "adapters", hcas, "libvirt",
                                      "known", (int)inventory->domains_known, "error",
                                      error_json(&inventory->domains_error), "repaired",
                                      repaired >= 0 ? json_integer(repaired) : json_null(),
                                      "findings", oneib_json_findings(&inventory->findings)),
                            err);
}
