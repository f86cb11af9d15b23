// SPDX-License-Identifier: Apache-2.0
/* Host ports, and which of them an attachment uses. */
#include "base/array.h"
#include "base/escape.h"
#include "base/order.h"
#include "cluster/desired_internal.h"
#include "cluster/host_port.h"
#include <inttypes.h>
#include <string.h>

ONEIB_ORDER_BY(compare_owners, struct oneib_port_owner, guid);

static void list_ports(struct oneib_work *work)
{
    for (size_t i = 0; i < work->cloud->host_count; i++) {
        const struct oneib_host *host = &work->cloud->hosts[i];
        ONEIB_RESERVE(work->ports, work->port_capacity, work->port_count + host->port_count);
        for (size_t j = 0; j < host->port_count; j++)
            work->ports[work->port_count++] =
                (struct oneib_port_owner){.guid = host->ports[j].port_guid, .host_id = host->id};
    }
    ONEIB_SORT(work->ports, work->port_count, compare_owners);
    ONEIB_UNIQUE(work->ports, work->port_count, compare_owners);
}

static bool is_full_member_of_default(const struct oneib_work *work, oneib_guid guid)
{
    for (size_t i = 0; i < work->policy->default_full_count; i++)
        if (work->policy->default_full_members[i] == guid)
            return true;
    return work->subnet && work->subnet->sm_port_guid == guid;
}

static bool has_nics(const struct oneib_work *work, uint32_t host_id)
{
    for (size_t i = 0; i < work->cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &work->cloud->attachments[i];
        if (oneib_phase_has_place(attachment->phase) &&
            (attachment->host_id == host_id || attachment->source_host_id == host_id))
            return true;
    }
    return false;
}

/* Where no VM could have been let in, there is only something to know. */
static enum oneib_severity severity_of_port(const struct oneib_work *work,
                                            const struct oneib_port_owner *port)
{
    return has_nics(work, port->host_id) ? ONEIB_VIOLATION : ONEIB_NOTICE;
}

static void refuse_port(struct oneib_work *work, struct oneib_port_owner *port,
                        enum oneib_finding_id id, enum oneib_severity severity, const char *why)
{
    port->refused = true;
    oneib_findings_note_with(work->findings, id, severity, NULL, "%s serves no virtual cluster: %s",
                             oneib_name_port(work, port->guid).text, why);
}

/*
 * Whatever index 0 of an mlx4 port holds, every VF of it has: unused entries of a VF's map lead
 * there. Only the limited default key is harmless to share.
 */
static void examine_index0(struct oneib_work *work, struct oneib_port_owner *port)
{
    if (is_full_member_of_default(work, port->guid)) {
        refuse_port(work, port, ONEIB_FINDING_PORT_FULL_MEMBER, severity_of_port(work, port),
                    "it is a full member of the default partition, and so would every VF of it be");
        return;
    }
    if (oneib_static_takes_index0(work, port->guid))
        refuse_port(work, port, ONEIB_FINDING_PORT_INDEX0, severity_of_port(work, port),
                    "a static partition with indx0 lists it, and every VF of it would be a member");
}

struct oneib_port_owner *oneib_port_owner(const struct oneib_work *work, oneib_guid guid)
{
    const size_t first = ONEIB_LOWER_BOUND(i, work->port_count, work->ports[i].guid < guid);
    return first < work->port_count && work->ports[first].guid == guid ? &work->ports[first] : NULL;
}

/* That a node claims it is no mere notice. */
static void refuse_reserved(struct oneib_work *work, struct oneib_port_owner *port,
                            const struct oneib_hca_port *hca_port)
{
    const enum oneib_severity severity = severity_of_port(work, port);
    refuse_port(work, port, ONEIB_FINDING_PORT_RESERVED,
                hca_port->is_proven && severity == ONEIB_NOTICE ? ONEIB_WARNING : severity,
                "it is a static member, a subnet manager's, a full member of the default "
                "partition or a switch's, and no operator has accepted it as the host's");
}

static void examine_port(struct oneib_work *work, const struct oneib_hca_port *hca_port)
{
    struct oneib_port_owner *port = oneib_port_owner(work, hca_port->port_guid);
    if (port->refused)
        return;
    if (!oneib_guid_is_foreign(work, port->guid)) {
        refuse_port(work, port, ONEIB_FINDING_PORT_GUID_SITE, ONEIB_VIOLATION,
                    "its GUID is not an adapter's but one that oneib gives to VFs");
        return;
    }
    if (hca_port->driver == ONEIB_HCA_MLX4)
        examine_index0(work, port);
    if (hca_port->is_reserved && !port->refused)
        refuse_reserved(work, port, hca_port);
}

void oneib_index_ports(struct oneib_work *work)
{
    list_ports(work);
    for (size_t i = 0; i < work->cloud->host_count; i++)
        for (size_t j = 0; j < work->cloud->hosts[i].port_count; j++)
            examine_port(work, &work->cloud->hosts[i].ports[j]);
}

static void add_binding(struct oneib_work *work, uint32_t index, uint32_t host_id, bool is_source)
{
    const struct oneib_attachment *attachment = &work->cloud->attachments[index];
    const struct oneib_network *network = oneib_cloud_network(work->cloud, attachment->network_id);
    struct oneib_binding binding = {.attachment = index,
                                    .network = ONEIB_NO_INDEX,
                                    .host_id = host_id,
                                    .member_status = attachment->unleased
                                                         ? ONEIB_MEMBER_STATUS_NO_LEASE
                                                         : ONEIB_MEMBER_STATUS_NO_NETWORK,
                                    .is_source = is_source};
    if (network && !attachment->unleased) {
        binding.network = (uint32_t)(network - work->cloud->networks);
        const struct oneib_entitlement *entitlement = &work->entitlements[binding.network];
        binding.pkey = entitlement->pkey;
        binding.member_status = entitlement->member_status;
        binding.membership = attachment->narrowed ? ONEIB_LIMITED : entitlement->membership;
        binding.is_self_limited =
            binding.membership == ONEIB_LIMITED && entitlement->given == ONEIB_FULL;
    }
    work->bindings[work->binding_count++] = binding;
}

static void list_bindings(struct oneib_work *work)
{
    ONEIB_RESERVE(work->bindings, work->binding_capacity, 2 * work->cloud->attachment_count);
    for (size_t i = 0; i < work->cloud->attachment_count; i++) {
        const struct oneib_attachment *attachment = &work->cloud->attachments[i];
        if (attachment->phase == ONEIB_ABSENT)
            continue;
        add_binding(work, (uint32_t)i, attachment->host_id, false);
        if (attachment->phase == ONEIB_MIGRATING &&
            attachment->source_host_id != attachment->host_id)
            add_binding(work, (uint32_t)i, attachment->source_host_id, true);
    }
}

ONEIB_ORDER_BY(compare_places, struct oneib_binding, host_id, network, attachment);

/* "port 2 of mlx4_0", as far as the network says it. */
static void append_wish(struct oneib_text *text, const struct oneib_network *network)
{
    if (network->device_port)
        oneib_text_printf(text, "port %u of ", network->device_port);
    if (network->device[0])
        oneib_text_append_escaped(text, network->device, sizeof network->device);
    else
        oneib_text_append(text, "its only adapter");
}

static void say_no_port(struct oneib_work *work, const struct oneib_network *network,
                        const struct oneib_binding *binding, enum oneib_severity severity,
                        enum oneib_port_answer answer)
{
    oneib_autotext struct oneib_text wish = {0};
    append_wish(&wish, network);
    if (binding->host_id == ONEIB_NO_ID) {
        oneib_findings_note_with(work->findings, ONEIB_FINDING_HCA_MISSING, severity, NULL,
                                 "VMs of %s run, and their documents name no host",
                                 oneib_name_network(work, network->id).text);
        return;
    }
    if (answer == ONEIB_PORT_AMBIGUOUS) {
        oneib_findings_note_with(
            work->findings, ONEIB_FINDING_HCA_AMBIGUOUS, severity, NULL,
            "%s has more than one port that matches %s (%s): its VMs get none there",
            oneib_name_host(work, binding->host_id).text,
            oneib_name_network(work, network->id).text, wish.data);
        return;
    }
    oneib_findings_note_with(
        work->findings, ONEIB_FINDING_HCA_MISSING, severity, NULL,
        "%s reports no InfiniBand port for %s (%s): its VMs get no members there",
        oneib_name_host(work, binding->host_id).text, oneib_name_network(work, network->id).text,
        wish.data);
}

static void say_unsupported(struct oneib_work *work, const struct oneib_network *network,
                            const struct oneib_binding *binding, const struct oneib_hca_port *port)
{
    oneib_autotext struct oneib_text device = {0};
    oneib_text_append_escaped(&device, port->device, sizeof port->device);
    oneib_findings_note(work->findings, ONEIB_FINDING_HCA_UNSUPPORTED,
                        "%s: how the VFs of %s (port 0x%016" PRIx64
                        ") are kept apart is not known, so VMs of %s get no members there",
                        oneib_name_host(work, binding->host_id).text,
                        device.data ? device.data : "", port->port_guid,
                        oneib_name_network(work, network->id).text);
}

static void take_port(const struct oneib_work *work, struct oneib_binding *binding,
                      const struct oneib_hca_port *port)
{
    const struct oneib_attachment *attachment = &work->cloud->attachments[binding->attachment];
    const struct oneib_port_owner *owner = oneib_port_owner(work, port->port_guid);
    if (port->is_reserved) { /* it does not count for the port's other entries either */
        binding->member_status = ONEIB_MEMBER_STATUS_PORT_REFUSED;
        return;
    }
    binding->port = port->port_guid;
    binding->is_virtual = port->driver == ONEIB_HCA_MLX5;
    binding->is_proven = port->is_proven;
    binding->member = binding->is_virtual ? oneib_guid_encode(work->policy->site, attachment->vm_id,
                                                              attachment->nic_id)
                                          : port->port_guid;
    if (owner->refused)
        binding->member_status = ONEIB_MEMBER_STATUS_PORT_REFUSED;
}

static void leave_without_port(struct oneib_binding *bindings, size_t count,
                               enum oneib_member_status why)
{
    for (size_t i = 0; i < count; i++)
        bindings[i].member_status = why;
}

static enum oneib_member_status status_without_port(enum oneib_port_answer answer)
{
    return answer == ONEIB_PORT_UNNAMED     ? ONEIB_MEMBER_STATUS_PHYDEV_INVALID
           : answer == ONEIB_PORT_AMBIGUOUS ? ONEIB_MEMBER_STATUS_HCA_AMBIGUOUS
                                            : ONEIB_MEMBER_STATUS_HCA_MISSING;
}

/* A source host that is not known any more costs a migrating VM nothing but its last moments there.
 */
static enum oneib_severity severity_of(const struct oneib_binding *bindings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!bindings[i].is_source)
            return ONEIB_WARNING;
    return ONEIB_NOTICE;
}

/* All bindings of one network on one host: they use the same port. */
static void binding_group(struct oneib_work *work, struct oneib_binding *bindings, size_t count)
{
    if (bindings->member_status != ONEIB_MEMBER_STATUS_MEMBER)
        return;
    const struct oneib_network *network = &work->cloud->networks[bindings->network];
    const struct oneib_host *host =
        bindings->host_id == ONEIB_NO_ID ? NULL : oneib_cloud_host(work->cloud, bindings->host_id);
    const struct oneib_hca_port *port;

    const enum oneib_port_answer answer = network->device_invalid
                                              ? ONEIB_PORT_UNNAMED
                                              : oneib_host_port(work->cloud, host, network, &port);
    if (answer != ONEIB_PORT_FOUND) {
        leave_without_port(bindings, count, status_without_port(answer));
        if (answer != ONEIB_PORT_UNNAMED) /* that is said of the network that has it */
            say_no_port(work, network, bindings, severity_of(bindings, count), answer);
        return;
    }
    if (port->driver != ONEIB_HCA_MLX4 && port->driver != ONEIB_HCA_MLX5) {
        leave_without_port(bindings, count, ONEIB_MEMBER_STATUS_HCA_UNSUPPORTED);
        say_unsupported(work, network, bindings, port);
        return;
    }
    for (size_t i = 0; i < count; i++)
        take_port(work, &bindings[i], port);
}

static void say_invalid_devices(struct oneib_work *work)
{
    for (size_t i = 0; i < work->cloud->network_count; i++)
        if (work->cloud->networks[i].device_invalid &&
            work->entitlements[i].member_status != ONEIB_MEMBER_STATUS_NO_NETWORK)
            oneib_findings_note(work->findings, ONEIB_FINDING_PHYDEV_INVALID,
                                "%s has a PHYDEV that names no adapter: its VMs get no members",
                                oneib_name_network(work, work->cloud->networks[i].id).text);
}

void oneib_make_bindings(struct oneib_work *work)
{
    list_bindings(work);
    say_invalid_devices(work);
    ONEIB_SORT(work->bindings, work->binding_count, compare_places);
    size_t end;
    for (size_t i = 0; i < work->binding_count; i = end) {
        for (end = i + 1; end < work->binding_count &&
                          work->bindings[end].host_id == work->bindings[i].host_id &&
                          work->bindings[end].network == work->bindings[i].network;)
            end++;
        binding_group(work, &work->bindings[i], end - i);
    }
}
