// SPDX-License-Identifier: Apache-2.0
/* From the desired state to what each host is granted, and which keys a node may hold. The gate is
 * in grants_gate.c. */
#include "cluster/grants.h"
#include "base/array.h"
#include "base/order.h"
#include "base/stable_sort.h"
#include "cluster/grants_internal.h"
#include "cluster/host_port.h"
#include "cluster/names.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A grant, and whose it is. */
struct placed {
    bool is_virtual; /* the VF is a port with a table of its own */
    uint32_t host_id;
    int64_t since; /* start of the VM on the host: who was there first keeps what it has */
    struct oneib_grant grant;
};

/* A host whose port may carry a NIC's GUID. */
struct guid_holder {
    uint32_t vm_id, host_id;
    uint8_t nic_id;
    bool is_lost;    /* oned has given the host up */
    bool is_assumed; /* see struct oneib_nic_name */
};

struct work {
    const struct oneib_grants_input *input;
    struct oneib_findings *findings;
    struct placed *placed; /* by (host, VM, NIC), each once */
    size_t placed_count, placed_capacity;
    struct guid_holder *holders; /* by (VM, NIC) */
    size_t holder_count, holder_capacity;
    oneib_guid *own; /* of VFs that are ports of their own: see find_own() */
    size_t own_count, own_capacity;
};

struct oneib_node_snapshot oneib_node_of_fenced_host(uint32_t host_id)
{
    static const struct oneib_grant_list nothing;
    return (struct oneib_node_snapshot){
        .host_id = host_id, .state = ONEIB_NODE_FOLLOWS, .table_known = true, .sent = &nothing};
}

bool oneib_node_is_heard(enum oneib_node_state state)
{
    return state == ONEIB_NODE_FOLLOWS || state == ONEIB_NODE_AWAITED;
}

bool oneib_node_has_told(const struct oneib_node_snapshot *snapshot)
{
    return snapshot->state == ONEIB_NODE_FOLLOWS && snapshot->table_known;
}

bool oneib_node_tells_all(const struct oneib_node_snapshot *snapshot)
{
    return oneib_node_has_told(snapshot) && snapshot->sent;
}

const struct oneib_node_snapshot *oneib_node_snapshot_of(const struct oneib_node_snapshot *nodes,
                                                         size_t count, uint32_t host_id)
{
    const size_t first = ONEIB_LOWER_BOUND(i, count, nodes[i].host_id < host_id);
    return first < count && nodes[first].host_id == host_id ? &nodes[first] : NULL;
}

bool oneib_record_may_be_open(const struct oneib_vf_record *record)
{
    return record->pkey != 0 && record->stage != ONEIB_VF_CLOSED && record->stage != ONEIB_VF_ENDED;
}

bool oneib_partition_is_networks(const struct oneib_desired *desired,
                                 const struct oneib_partition *partition, uint32_t network_id)
{
    uint32_t owner;
    if (!oneib_partition_cluster(partition, &owner))
        return false;
    const struct oneib_cluster *cluster = oneib_desired_cluster(desired, network_id);
    return owner == network_id || (cluster && cluster->network_id == owner);
}

static const struct oneib_node_snapshot *snapshot_of(const struct work *work, uint32_t host_id)
{
    return oneib_node_snapshot_of(work->input->nodes, work->input->node_count, host_id);
}

/* ---- what somebody on the host may be open by ------------------------------------------------ */

static const struct oneib_vf_record *reported_of_nic(const struct oneib_node_snapshot *snapshot,
                                                     uint32_t vm_id, uint8_t nic_id)
{
    for (size_t i = 0; snapshot && i < snapshot->record_count; i++)
        if (snapshot->records[i].vm_id == vm_id && snapshot->records[i].nic_id == nic_id)
            return &snapshot->records[i];
    return NULL;
}

static const struct oneib_grant *sent_of_nic(const struct oneib_node_snapshot *snapshot,
                                             uint32_t vm_id, uint8_t nic_id)
{
    return snapshot && snapshot->sent ? oneib_grant_list_find(snapshot->sent, vm_id, nic_id) : NULL;
}

/* ---- bindings -------------------------------------------------------------------------------- */

/* The port of the binding: the network's PHYDEV on that host, as the desired state has it. */
static const struct oneib_hca_port *port_of_binding(const struct oneib_cloud *cloud,
                                                    const struct oneib_desired_binding *binding,
                                                    const struct oneib_attachment *attachment)
{
    const struct oneib_network *network = oneib_cloud_network(cloud, attachment->network_id);
    const struct oneib_host *host = oneib_cloud_host(cloud, binding->host_id);
    const struct oneib_hca_port *port;
    if (!network || oneib_host_port(cloud, host, network, &port) != ONEIB_PORT_FOUND)
        return NULL;
    return port->port_guid == binding->port ? port : NULL;
}

/* The host that a migration leaves: ADDRESS is the other host's already, so the VF is the one that
 * the node was granted, unless oned has given that to somebody else. */
static bool find_vf_of_source(const struct oneib_node_snapshot *snapshot,
                              const struct oneib_host *host,
                              const struct oneib_attachment *attachment, struct oneib_pci *vf)
{
    const struct oneib_grant *sent = sent_of_nic(snapshot, attachment->vm_id, attachment->nic_id);
    const struct oneib_vf_record *record =
        reported_of_nic(snapshot, attachment->vm_id, attachment->nic_id);
    if (sent && sent->has_vf)
        *vf = sent->vf;
    else if (record)
        *vf = record->vf;
    else
        return false;
    const uint32_t owner = oneib_host_given_to(host, vf);
    return owner == ONEIB_NO_ID || owner == attachment->vm_id;
}

/* The VF of a PCI NIC is the one that the host's own document gives to that VM. */
static bool find_vf(const struct work *work, const struct oneib_desired_binding *binding,
                    const struct oneib_attachment *attachment, struct oneib_pci *vf)
{
    const struct oneib_host *host = oneib_cloud_host(work->input->cloud, binding->host_id);
    if (!host)
        return false;
    if (binding->is_source)
        return find_vf_of_source(snapshot_of(work, binding->host_id), host, attachment, vf);
    *vf = attachment->address;
    return attachment->has_address &&
           oneib_host_given_to(host, &attachment->address) == attachment->vm_id;
}

static void say_no_vf(struct work *work, const struct oneib_attachment *attachment,
                      uint32_t host_id)
{
    oneib_findings_mention(work->findings, ONEIB_SUBJECT_VM, attachment->vm_id);
    oneib_findings_mention(work->findings, ONEIB_SUBJECT_NETWORK, attachment->network_id);
    oneib_findings_mention(work->findings, ONEIB_SUBJECT_HOST, host_id);
    oneib_findings_note(work->findings, ONEIB_FINDING_VF_NOT_GIVEN,
                        "VM %u NIC %u is a PCI device of %s that PCI_DEVICES does not give to this "
                        "VM: it gets no VF there",
                        attachment->vm_id, attachment->nic_id,
                        oneib_host_id_shown(work->input->cloud, host_id).text);
}

/* Where the GUID of a NIC is that migrates. */
enum guid_place { GUID_AT_SOURCE, GUID_BETWEEN, GUID_AT_DESTINATION };

/* OpenNebula says that a VM migrates until `post` is done, which sets the GUID at the destination.
 * So it is the node that it leaves that tells: when it has nothing of the NIC any more, it is told
 * to set the GUID no more; when it follows that, the other one may. */
static enum guid_place guid_of_migration(const struct oneib_node_snapshot *source, uint32_t vm_id,
                                         uint8_t nic_id)
{
    const struct oneib_vf_record *record = reported_of_nic(source, vm_id, nic_id);
    const struct oneib_grant *sent = sent_of_nic(source, vm_id, nic_id);
    if (!source || (record && record->guid != ONEIB_VF_GUID_DEFERRED))
        return GUID_AT_SOURCE;
    const bool has_told = oneib_node_has_told(source);
    if (!source->sent || (sent && sent->may_set_guid))
        return has_told ? GUID_BETWEEN : GUID_AT_SOURCE;
    return has_told ? GUID_AT_DESTINATION : GUID_BETWEEN;
}

/* The binding at the host that the attachment of this one leaves: it comes last; NULL: it leaves
 * none.
 */
static const struct oneib_desired_binding *
source_of_binding(const struct oneib_desired *desired, const struct oneib_desired_binding *binding)
{
    const struct oneib_desired_binding *next = binding + 1;
    if (binding->is_source)
        return binding;
    return next < desired->bindings + desired->binding_count &&
                   next->attachment == binding->attachment
               ? next
               : NULL;
}

static bool may_set_guid(const struct work *work, const struct oneib_desired_binding *binding,
                         const struct oneib_attachment *attachment)
{
    const struct oneib_desired_binding *source = source_of_binding(work->input->desired, binding);
    return !source || guid_of_migration(snapshot_of(work, source->host_id), attachment->vm_id,
                                        attachment->nic_id) ==
                          (binding->is_source ? GUID_AT_SOURCE : GUID_AT_DESTINATION);
}

static struct oneib_grant grant_of_binding(const struct work *work,
                                           const struct oneib_desired_binding *binding,
                                           const struct oneib_attachment *attachment,
                                           const struct oneib_hca_port *port)
{
    struct oneib_grant grant = {
        .vm_id = attachment->vm_id,
        .network_id = attachment->network_id,
        .nic_id = attachment->nic_id,
        .port = port->port,
        .pkey = binding->pkey,
        .limited = binding->membership != ONEIB_FULL,
        .may_set_guid = may_set_guid(work, binding, attachment),
        .guid = oneib_guid_encode(work->input->policy->site, attachment->vm_id, attachment->nic_id),
    };
    memcpy(grant.device, port->device, sizeof grant.device);
    return grant;
}

static void grant_binding(struct work *work, const struct oneib_desired_binding *binding)
{
    const struct oneib_attachment *attachment =
        &work->input->cloud->attachments[binding->attachment];
    const struct oneib_hca_port *port = port_of_binding(work->input->cloud, binding, attachment);
    if (!port || binding->pkey == 0)
        return;
    struct oneib_pci vf = {0};
    if (attachment->is_pci && !find_vf(work, binding, attachment, &vf)) {
        say_no_vf(work, attachment, binding->host_id);
        return;
    }
    struct placed placed = {.host_id = binding->host_id,
                            .since = attachment->since,
                            .is_virtual = port->driver == ONEIB_HCA_MLX5,
                            .grant = grant_of_binding(work, binding, attachment, port)};
    placed.grant.has_vf = attachment->is_pci;
    placed.grant.vf = vf;
    ONEIB_APPEND(work->placed, work->placed_count, work->placed_capacity, placed);
}

static void grant_bindings(struct work *work)
{
    const struct oneib_desired *desired = work->input->desired;
    for (size_t i = 0; i < desired->binding_count; i++)
        if (desired->bindings[i].member_status == ONEIB_MEMBER_STATUS_MEMBER)
            grant_binding(work, &desired->bindings[i]);
}

ONEIB_ORDER(compare_placed, struct placed,
            ONEIB_COMPARE(left->host_id, right->host_id)
                ?: oneib_grant_compare(&left->grant, &right->grant));

/* ---- held removals --------------------------------------------------------------------------- */

/* What the VM's own document says; *known: it was read. */
static bool is_on_host(const struct oneib_grants_input *input, const struct oneib_grant *grant,
                       uint32_t host_id, bool *known)
{
    const struct oneib_attachment *attachment =
        oneib_cloud_nic(input->cloud, grant->vm_id, grant->nic_id);
    *known = attachment || oneib_cloud_has_vm(input->cloud, grant->vm_id);
    return attachment && attachment->network_id == grant->network_id &&
           oneib_phase_has_place(attachment->phase) &&
           oneib_member_status_is_lack(
               input->desired->member_statuses[attachment - input->cloud->attachments]) &&
           (attachment->host_id == host_id ||
            (attachment->phase == ONEIB_MIGRATING && attachment->source_host_id == host_id));
}

/* Of a VM that was not read its network's own document tells, and its host's: what these lease to,
 * or have, was read. */
static bool has_ended(const struct oneib_grants_input *input, const struct oneib_grant *grant,
                      uint32_t host_id, enum oneib_hold_reason reason)
{
    bool known;
    const bool is_there = is_on_host(input, grant, host_id, &known);
    return !is_there && (known || reason == ONEIB_HOLD_PORT_MISSING ||
                         oneib_cloud_host(input->cloud, host_id) != NULL);
}

/* The partition that the removal hold kept for the grant's network. A reservation that is gone
 * together with its parent cannot tell whose partition it shared: they are missing together. */
static bool is_still_its(const struct oneib_grants_input *input,
                         const struct oneib_partition *partition, uint32_t network_id)
{
    uint32_t owner;
    if (oneib_partition_is_networks(input->desired, partition, network_id))
        return true;
    return oneib_partition_cluster(partition, &owner) &&
           !oneib_cloud_network(input->cloud, network_id) &&
           !oneib_cloud_network(input->cloud, owner);
}

static oneib_guid guid_of_port(const struct oneib_cloud *cloud, uint32_t host_id,
                               const struct oneib_grant *grant)
{
    const struct oneib_host *host = oneib_cloud_host(cloud, host_id);
    for (size_t i = 0; host && i < host->port_count; i++)
        if (host->ports[i].port == grant->port &&
            strncmp(host->ports[i].device, grant->device, sizeof grant->device) == 0)
            return host->ports[i].port_guid;
    return 0;
}

/* As what the GUID is in the partition: in *membership. */
static bool is_listed(const struct oneib_partition *partition, oneib_guid guid, uint8_t *membership)
{
    for (size_t i = 0; i < partition->member_count; i++) {
        const struct oneib_member *member = &partition->members[i];
        if (member->guid != guid) /* a wildcard's is 0 */
            continue;
        *membership = member->membership;
        return true;
    }
    return false;
}

/* The held removal that is the grant's member; a host that is missing from a reading has no port that
 * could be looked for. NULL: none. */
static const struct oneib_held_removal *held_removal(const struct oneib_grants_input *input,
                                                     uint32_t host_id,
                                                     const struct oneib_grant *grant)
{
    const struct oneib_desired *desired = input->desired;
    const bool host_is_known = oneib_cloud_host(input->cloud, host_id) != NULL;
    const oneib_guid port = guid_of_port(input->cloud, host_id, grant);
    for (size_t i = 0; i < desired->held_count; i++) {
        const struct oneib_held_removal *held = &desired->held[i];
        const bool is_its = held->member == port || held->member == grant->guid ||
                            (!port && held->host_id == host_id) ||
                            (!host_is_known && held->host_id == ONEIB_NO_ID);
        if (held->pkey == grant->pkey && is_its)
            return held;
    }
    return NULL;
}

/* Whether the grant stays; it gets no wider than what is held. */
static bool keeps_its_key(const struct oneib_grants_input *input, uint32_t host_id,
                          struct oneib_grant *grant)
{
    const struct oneib_held_removal *held = held_removal(input, host_id, grant);
    const struct oneib_partition *partition =
        oneib_partition_table_find(&input->desired->table, grant->pkey);
    uint8_t membership;
    if (!held || !partition || !is_still_its(input, partition, grant->network_id) ||
        has_ended(input, grant, host_id, held->reason) ||
        !is_listed(partition, held->member, &membership))
        return false;
    grant->limited |= membership != ONEIB_FULL;
    return true;
}

static bool is_whole(const struct oneib_grant *grant)
{
    return grant->pkey != 0 && grant->pkey < ONEIB_PKEY_DEFAULT && grant->port != 0 &&
           grant->device[0];
}

static void hold_grant(struct work *work, uint32_t host_id, struct oneib_grant grant)
{
    struct placed placed = {.host_id = host_id, .since = INT64_MIN, .grant = grant};
    if (is_whole(&grant) && keeps_its_key(work->input, host_id, &placed.grant))
        ONEIB_APPEND(work->placed, work->placed_count, work->placed_capacity, placed);
}

/* What a daemon before this one has granted, as the node tells it: of that VF alone. */
static struct oneib_grant grant_of_record(const struct work *work,
                                          const struct oneib_vf_record *record)
{
    struct oneib_grant grant = {
        .vm_id = record->vm_id,
        .network_id = record->network_id,
        .nic_id = record->nic_id,
        .port = record->port,
        .pkey = record->pkey,
        .limited = record->limited,
        .has_vf = true,
        .may_set_guid = record->guid == ONEIB_VF_GUID_SET,
        .vf = record->vf,
        .guid = oneib_guid_encode(work->input->policy->site, record->vm_id, record->nic_id)};
    memcpy(grant.device, record->device, sizeof grant.device);
    return grant;
}

static void hold_node(struct work *work, const struct oneib_node_snapshot *snapshot)
{
    for (size_t i = 0; snapshot->sent && i < snapshot->sent->count; i++)
        hold_grant(work, snapshot->host_id, snapshot->sent->items[i]);
    for (size_t i = 0; !snapshot->sent && i < snapshot->record_count; i++)
        if (snapshot->records[i].stage == ONEIB_VF_OPEN)
            hold_grant(work, snapshot->host_id, grant_of_record(work, &snapshot->records[i]));
}

static void hold_grants(struct work *work)
{
    if (work->input->desired->held_count == 0)
        return;
    for (size_t i = 0; i < work->input->node_count; i++)
        hold_node(work, &work->input->nodes[i]);
}

/* ---- GUIDs ----------------------------------------------------------------------------------- */

ONEIB_ORDER_BY(compare_holders, struct guid_holder, vm_id, nic_id);

static void add_holder(struct work *work, const struct guid_holder *holder)
{
    ONEIB_APPEND(work->holders, work->holder_count, work->holder_capacity, *holder);
}

/* oned itself has given the host up: what its VMs were is started elsewhere, with their GUIDs. */
static bool is_lost(const struct work *work, const struct oneib_node_snapshot *snapshot)
{
    if (snapshot->state != ONEIB_NODE_SILENT && snapshot->state != ONEIB_NODE_UNHEARD)
        return false;
    const struct oneib_host *host = oneib_cloud_host(work->input->cloud, snapshot->host_id);
    return !host || !oneib_host_is_heard(host->state);
}

int oneib_nic_name_compare(const struct oneib_nic_name *left, const struct oneib_nic_name *right)
{
    return ONEIB_BY(vm_id, nic_id);
}

ONEIB_ORDER(compare_nics, struct oneib_nic_name, oneib_nic_name_compare(left, right));

/* NULL: it was not. */
static const struct oneib_nic_name *told_of(const struct oneib_node_snapshot *snapshot,
                                            const struct oneib_vf_record *record)
{
    const struct oneib_nic_name nic = {.vm_id = record->vm_id, .nic_id = record->nic_id};
    return ONEIB_FIND(&nic, snapshot->told, snapshot->told_count, compare_nics);
}

bool oneib_node_was_told(const struct oneib_node_snapshot *snapshot,
                         const struct oneib_vf_record *record)
{
    return told_of(snapshot, record) != NULL;
}

/* A node that has not reported since it was sent a list may have set what it had not set before.
 * One that lies can keep from others what was given to itself, and nothing else. */
static bool may_have_set(const struct oneib_node_snapshot *snapshot,
                         const struct oneib_vf_record *record)
{
    return oneib_node_was_told(snapshot, record) &&
           (record->guid == ONEIB_VF_GUID_SET || snapshot->state == ONEIB_NODE_AWAITED);
}

static void add_holders_of(struct work *work, const struct oneib_node_snapshot *snapshot)
{
    struct guid_holder holder = {.host_id = snapshot->host_id, .is_lost = is_lost(work, snapshot)};
    for (size_t i = 0; i < snapshot->record_count; i++) {
        holder.vm_id = snapshot->records[i].vm_id;
        holder.nic_id = snapshot->records[i].nic_id;
        if (!may_have_set(snapshot, &snapshot->records[i]))
            continue;
        holder.is_assumed = told_of(snapshot, &snapshot->records[i])->is_assumed;
        add_holder(work, &holder);
    }
    holder.is_assumed = false;
    for (size_t i = 0; snapshot->sent && i < snapshot->sent->count; i++) {
        holder.vm_id = snapshot->sent->items[i].vm_id;
        holder.nic_id = snapshot->sent->items[i].nic_id;
        if (snapshot->sent->items[i].may_set_guid)
            add_holder(work, &holder);
    }
}

static void find_holders(struct work *work)
{
    for (size_t i = 0; i < work->input->node_count; i++)
        add_holders_of(work, &work->input->nodes[i]);
    ONEIB_SORT(work->holders, work->holder_count, compare_holders);
}

/* The VM is there too, as it migrates. */
static bool is_placed_on(const struct work *work, const struct placed *placed, uint32_t host_id)
{
    const struct placed wanted = {.host_id = host_id, .grant = placed->grant};
    return ONEIB_FIND(&wanted, work->placed, work->placed_count, compare_placed);
}

/* The GUID of a VF that is a port of its own is in force in the partition. */
static bool is_in_force(const struct work *work, const struct placed *placed)
{
    const struct oneib_partition_table *table = work->input->in_force;
    const struct oneib_partition *partition =
        table ? oneib_partition_table_find(table, placed->grant.pkey) : NULL;
    for (size_t i = 0; partition && i < partition->member_count; i++)
        if (partition->members[i].guid == placed->grant.guid)
            return true;
    return false;
}

/* Another host that has the NIC's GUID, or may; NULL: none. Where the SM would refuse the second of
 * two ports, one that oned has given up keeps it from nobody. without_vm: one where the VM is not.
 */
static const struct guid_holder *held_elsewhere(const struct work *work,
                                                const struct placed *placed, bool without_vm)
{
    const struct guid_holder first = {.vm_id = placed->grant.vm_id, .nic_id = placed->grant.nic_id};
    size_t low =
        ONEIB_LOWER_BOUND(i, work->holder_count, compare_holders(&work->holders[i], &first) < 0);
    for (; low < work->holder_count && compare_holders(&work->holders[low], &first) == 0; low++)
        if (work->holders[low].host_id != placed->host_id &&
            (placed->is_virtual || !work->holders[low].is_lost) &&
            (!without_vm || !is_placed_on(work, placed, work->holders[low].host_id)) &&
            !(without_vm && work->holders[low].is_assumed && is_in_force(work, placed)))
            return &work->holders[low];
    return NULL;
}

static void settle_guids(struct work *work)
{
    find_holders(work);
    for (size_t i = 0; i < work->placed_count; i++)
        if (held_elsewhere(work, &work->placed[i], false))
            work->placed[i].grant.may_set_guid = false;
}

/* ---- GUIDs that two ports may have ----------------------------------------------------------- */

/* Of a node that has not told its table nobody knows: so a restart of ours takes no key from who
 * runs. */
static bool may_have_it(const struct work *work, const struct placed *placed)
{
    const struct oneib_node_snapshot *snapshot = snapshot_of(work, placed->host_id);
    const struct oneib_vf_record *record =
        reported_of_nic(snapshot, placed->grant.vm_id, placed->grant.nic_id);
    const struct oneib_grant *sent =
        sent_of_nic(snapshot, placed->grant.vm_id, placed->grant.nic_id);
    return !snapshot || !snapshot->table_known || (record && record->guid == ONEIB_VF_GUID_SET) ||
           (sent && sent->may_set_guid);
}

/* GUIDs that a host may have on which their VM is; sorted. It is on one, or on two while it
 * migrates. */
static void find_own(struct work *work)
{
    ONEIB_RESERVE(work->own, work->own_capacity, work->placed_count);
    for (size_t i = 0; i < work->placed_count; i++)
        if (work->placed[i].is_virtual && may_have_it(work, &work->placed[i]))
            work->own[work->own_count++] = work->placed[i].grant.guid;
    ONEIB_SORT(work->own, work->own_count, oneib_guid_compare);
}

/* Virtual ports of hosts' adapters aside: what those have their services say themselves, and what
 * was read of the fabric may be older than that. */
static size_t count_on_fabric(const struct work *work, oneib_guid guid)
{
    const struct oneib_subnet *subnet = work->input->subnet;
    const struct oneib_subnet_port *found = subnet ? oneib_subnet_find(subnet, guid) : NULL;
    if (!found)
        return 0;
    size_t first = (size_t)(found - subnet->ports), end = first;
    while (first > 0 && subnet->ports[first - 1].guid == guid)
        first--;
    while (end < subnet->port_count && subnet->ports[end].guid == guid)
        end++;
    size_t count = 0;
    for (size_t i = first; i < end; i++)
        count += subnet->ports[i].owner == 0;
    return count;
}

static void add_twice(struct work *work, struct placed *placed, struct oneib_grants *grants,
                      const char *where)
{
    placed->grant.may_set_guid = false;
    ONEIB_APPEND(grants->twice, grants->twice_count, grants->twice_capacity, placed->grant.guid);
    oneib_findings_mention(work->findings, ONEIB_SUBJECT_VM, placed->grant.vm_id);
    oneib_findings_mention(work->findings, ONEIB_SUBJECT_NETWORK, placed->grant.network_id);
    oneib_findings_mention(work->findings, ONEIB_SUBJECT_HOST, placed->host_id);
    oneib_findings_note(
        work->findings, ONEIB_FINDING_GUID_TWICE,
        "VM %u NIC %u is on %s now, and %s still has its GUID 0x%016" PRIx64 ": it waits",
        placed->grant.vm_id, placed->grant.nic_id,
        oneib_host_id_shown(work->input->cloud, placed->host_id).text, where, placed->grant.guid);
}

static void judge_twice(struct work *work, struct placed *placed, struct oneib_grants *grants)
{
    const struct guid_holder *holder = held_elsewhere(work, placed, true);
    const size_t seen = count_on_fabric(work, placed->grant.guid);
    if (holder) {
        add_twice(work, placed, grants,
                  oneib_host_id_shown(work->input->cloud, holder->host_id).text);
        return;
    }
    if (seen > 1 ||
        (seen == 1 && !oneib_guids_have(work->own, work->own_count, placed->grant.guid)))
        add_twice(work, placed, grants, "another port of the fabric");
}

static void find_twice(struct work *work, struct oneib_grants *grants)
{
    find_own(work);
    for (size_t i = 0; i < work->placed_count; i++)
        if (work->placed[i].is_virtual)
            judge_twice(work, &work->placed[i], grants);
    ONEIB_SORT(grants->twice, grants->twice_count, oneib_guid_compare);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

ONEIB_ORDER(compare_starts, struct placed,
            ONEIB_COMPARE(left->since, right->since)
                ?: oneib_grant_compare(&left->grant, &right->grant));

static void say_too_many(struct work *work, uint32_t host_id, size_t count)
{
    oneib_findings_mention(work->findings, ONEIB_SUBJECT_HOST, host_id);
    oneib_findings_note(
        work->findings, ONEIB_FINDING_GRANTS_FULL,
        "%s has %zu InfiniBand NICs, and a list has room for %d: the last ones get no VF",
        oneib_host_id_shown(work->input->cloud, host_id).text, count, ONEIB_GRANTS_MAX);
}

/* All grants of one host; those that have no room are dropped. */
static void choose(struct work *work, struct placed *placed, size_t *count)
{
    if (*count <= ONEIB_GRANTS_MAX)
        return;
    say_too_many(work, placed->host_id, *count);
    oneib_stable_sort(placed, *count, sizeof *placed, compare_starts);
    *count = ONEIB_GRANTS_MAX;
    oneib_stable_sort(placed, *count, sizeof *placed, compare_placed);
}

static void add_host(struct oneib_grants *grants, const struct placed *placed, size_t count)
{
    struct oneib_host_grants *host =
        ONEIB_ADD(grants->hosts, grants->host_count, grants->host_capacity);
    *host = (struct oneib_host_grants){.host_id = placed->host_id};
    ONEIB_RESERVE(host->items, host->capacity, count);
    for (size_t i = 0; i < count; i++)
        host->items[host->count++] = placed[i].grant;
}

static void add_hosts(struct work *work, struct oneib_grants *grants)
{
    size_t end;
    for (size_t i = 0; i < work->placed_count; i = end) {
        for (end = i + 1;
             end < work->placed_count && work->placed[end].host_id == work->placed[i].host_id;)
            end++;
        size_t count = end - i;
        choose(work, &work->placed[i], &count);
        add_host(grants, &work->placed[i], count);
    }
}

static void compute(struct work *work, struct oneib_grants *grants)
{
    grant_bindings(work);
    hold_grants(work);
    /* Of a NIC that is held, too, the binding counts, which comes first; and a node could name one NIC
     * twice. */
    oneib_stable_sort(work->placed, work->placed_count, sizeof *work->placed, compare_placed);
    ONEIB_UNIQUE(work->placed, work->placed_count, compare_placed);
    settle_guids(work);
    find_twice(work, grants);
    add_hosts(work, grants);
}

void oneib_grants_compute(const struct oneib_grants_input *input, struct oneib_grants *grants,
                          struct oneib_findings *findings)
{
    struct work work = {.input = input, .findings = findings};
    *grants = (struct oneib_grants){0};
    compute(&work, grants);
    free(work.placed);
    free(work.holders);
    free(work.own);
}

ONEIB_ORDER_BY(compare_host_grants, struct oneib_host_grants, host_id);

const struct oneib_host_grants *oneib_grants_of_host(const struct oneib_grants *grants,
                                                     uint32_t host_id)
{
    const struct oneib_host_grants wanted = {.host_id = host_id};
    return ONEIB_FIND(&wanted, grants->hosts, grants->host_count, compare_host_grants);
}

void oneib_grants_clear(struct oneib_grants *grants)
{
    for (size_t i = 0; i < grants->host_count; i++)
        free(grants->hosts[i].items);
    free(grants->hosts);
    free(grants->twice);
    *grants = (struct oneib_grants){0};
}

/* ---- the keys of a node ---------------------------------------------------------------------- */

#define WORD_BITS 64u

/* One bit a key; words, because most are empty: every host has a set in every turn. */
struct key_set {
    uint64_t words[ONEIB_PKEY_COUNT / WORD_BITS];
};

static void note_key(struct key_set *set, oneib_pkey pkey)
{
    if (pkey != 0 && pkey < ONEIB_PKEY_DEFAULT)
        set->words[pkey / WORD_BITS] |= UINT64_C(1) << pkey % WORD_BITS;
}

static bool has_key(const struct key_set *set, oneib_pkey pkey)
{
    return set->words[(pkey & ONEIB_PKEY_DEFAULT) / WORD_BITS] >> pkey % WORD_BITS & 1;
}

static size_t list_keys(const struct key_set *set, oneib_pkey keys[ONEIB_PKEY_COUNT])
{
    size_t count = 0;
    for (size_t i = 0; i < ONEIB_PKEY_COUNT / WORD_BITS; i++)
        for (uint64_t word = set->words[i]; word; word &= word - 1)
            keys[count++] = (oneib_pkey)(i * WORD_BITS + (unsigned)__builtin_ctzll(word));
    return count;
}

size_t oneib_keys_of_node(const struct oneib_node_snapshot *node,
                          const struct oneib_host_grants *grants,
                          const struct oneib_held_keys *before, oneib_pkey keys[ONEIB_PKEY_COUNT])
{
    struct key_set set = {0}, reported = {0};
    for (size_t i = 0; grants && i < grants->count; i++)
        note_key(&set, grants->items[i].pkey);
    for (size_t i = 0; node->sent && i < node->sent->count; i++)
        note_key(&set, node->sent->items[i].pkey);
    for (size_t i = 0; i < node->record_count; i++)
        if (oneib_record_may_be_open(&node->records[i]) || !oneib_node_tells_all(node))
            note_key(before->known ? &reported : &set, node->records[i].pkey);
    for (size_t i = 0; i < before->count; i++)
        if (!oneib_node_tells_all(node) || has_key(&reported, before->keys[i]))
            note_key(&set, before->keys[i]);
    return list_keys(&set, keys);
}
