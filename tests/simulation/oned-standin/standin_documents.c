// SPDX-License-Identifier: Apache-2.0
/* Hosts, networks and the configuration; VMs have a file of their own. */
#include "standin_documents.h"
#include "base/memory.h"
#include <inttypes.h>
#include <stdlib.h>

void standin_render_escaped(const char *string, struct oneib_text *text)
{
    for (const char *c = string; *c; c++) {
        if (*c == '<')
            oneib_text_append(text, "&lt;");
        else if (*c == '>')
            oneib_text_append(text, "&gt;");
        else if (*c == '&')
            oneib_text_append(text, "&amp;");
        else
            oneib_text_append_bytes(text, c, 1);
    }
}

void standin_render_head(uint32_t id, struct standin_owner owner, const char *name,
                         struct oneib_text *text)
{
    oneib_text_printf(text,
                      "<ID>%" PRIu32 "</ID><UID>%d</UID><GID>%d</GID><UNAME>%s</UNAME>"
                      "<GNAME>%s</GNAME><NAME>",
                      id, owner.uid, owner.gid, owner.uid == 0 ? "oneadmin" : "user",
                      owner.gid == 0 ? "oneadmin" : "users");
    standin_render_escaped(name, text);
    oneib_text_append(text, "</NAME>");
}

void standin_render_permissions(struct oneib_text *text)
{
    oneib_text_append(text, "<PERMISSIONS><OWNER_U>1</OWNER_U><OWNER_M>1</OWNER_M>"
                            "<OWNER_A>0</OWNER_A><GROUP_U>0</GROUP_U><GROUP_M>0</GROUP_M>"
                            "<GROUP_A>0</GROUP_A><OTHER_U>0</OTHER_U><OTHER_M>0</OTHER_M>"
                            "<OTHER_A>0</OTHER_A></PERMISSIONS>");
}

/* <NAME/> when empty: how a network shows the members that it keeps outside its template. */
static void render_member(const char *name, const char *value, struct oneib_text *text)
{
    if (*value)
        oneib_text_printf(text, "<%s><![CDATA[%s]]></%s>", name, value, name);
    else
        oneib_text_printf(text, "<%s/>", name);
}

static int ascending(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* The VMs that hold an address of the network, each once. */
static void render_users(const struct standin_network *network, struct oneib_text *text)
{
    uint32_t *ids = oneib_alloc(network->lease_count + 1, sizeof *ids);
    for (size_t i = 0; i < network->lease_count; i++)
        ids[i] = network->leases[i].vm_id;
    qsort(ids, network->lease_count, sizeof *ids, ascending);
    for (size_t i = 0; i < network->lease_count; i++)
        if (i == 0 || ids[i] != ids[i - 1])
            oneib_text_printf(text, "<ID>%" PRIu32 "</ID>", ids[i]);
    free(ids);
}

static void render_vm_sets(const struct standin_network *network, struct oneib_text *text)
{
    oneib_text_append(text, "<UPDATED_VMS>");
    if (!network->outdated)
        render_users(network, text);
    oneib_text_append(text, "</UPDATED_VMS><OUTDATED_VMS>");
    if (network->outdated)
        render_users(network, text);
    oneib_text_append(text, "</OUTDATED_VMS><UPDATING_VMS></UPDATING_VMS><ERROR_VMS></ERROR_VMS>");
}

static void render_ip(uint32_t ip, struct oneib_text *text)
{
    oneib_text_printf(text, "<![CDATA[%u.%u.%u.%u]]>", ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
                      ip & 255);
}

static void render_mac(uint32_t ip, struct oneib_text *text)
{
    oneib_text_printf(text, "<![CDATA[02:00:%02x:%02x:%02x:%02x]]>", ip >> 24, ip >> 16 & 255,
                      ip >> 8 & 255, ip & 255);
}

/* " INDEX OBJECT" for each lease; the object's upper half says that it is a VM (PoolObjectSQL::VM).
 */
static void render_allocated(const struct standin_network *network, struct oneib_text *text)
{
    if (network->next_index == 0)
        return;
    oneib_text_append(text, "<ALLOCATED><![CDATA[");
    for (size_t i = 0; i < network->lease_count; i++)
        oneib_text_printf(text, " %" PRIu32 " %" PRIu64, network->leases[i].index,
                          UINT64_C(0x1000000000) | network->leases[i].vm_id);
    oneib_text_append(text, "]]></ALLOCATED>");
}

/* Its reservations have its addresses. */
static void render_reserved(const struct standin_state *state,
                            const struct standin_network *network, struct oneib_text *text)
{
    for (size_t i = 0; i < state->network_count; i++) {
        const struct standin_network *other = state->networks[i];
        if (!other->is_reservation || other->parent_id != network->id)
            continue;
        oneib_text_append(text, "<LEASE><IP>");
        render_ip(other->first_ip, text);
        oneib_text_append(text, "</IP><MAC>");
        render_mac(other->first_ip, text);
        oneib_text_printf(text, "</MAC><VNET><![CDATA[%" PRIu32 "]]></VNET></LEASE>", other->id);
    }
}

static void render_leases(const struct standin_state *state, const struct standin_network *network,
                          struct oneib_text *text)
{
    uint32_t last = network->first_ip + network->size - 1;
    oneib_text_append(text, "<MAC_END>");
    render_mac(last, text);
    oneib_text_append(text, "</MAC_END><IP_END>");
    render_ip(last, text);
    oneib_text_printf(text, "</IP_END><USED_LEASES>%zu</USED_LEASES>", network->lease_count);
    oneib_text_append(text, "<LEASES>");
    render_reserved(state, network, text);
    for (size_t i = 0; i < network->lease_count; i++) {
        uint32_t ip = network->first_ip + network->leases[i].index;
        oneib_text_append(text, "<LEASE><IP>");
        render_ip(ip, text);
        oneib_text_append(text, "</IP><MAC>");
        render_mac(ip, text);
        oneib_text_printf(text, "</MAC><VM><![CDATA[%" PRIu32 "]]></VM></LEASE>",
                          network->leases[i].vm_id);
    }
    oneib_text_append(text, "</LEASES>");
}

static void render_address_range(const struct standin_state *state,
                                 const struct standin_network *network, enum standin_form form,
                                 struct oneib_text *text)
{
    /* It is made when the driver has agreed to the network. */
    if (network->state == NETWORK_LOCK_CREATE) {
        oneib_text_append(text, "<AR_POOL></AR_POOL>");
        return;
    }
    oneib_text_append(text, "<AR_POOL><AR>");
    if (form == STANDIN_POOL)
        render_allocated(network, text);
    oneib_text_append(text, "<AR_ID><![CDATA[0]]></AR_ID><IP>");
    render_ip(network->first_ip, text);
    oneib_text_append(text, "</IP><MAC>");
    render_mac(network->first_ip, text);
    oneib_text_printf(text,
                      "</MAC><NEXT_INDEX><![CDATA[%" PRIu32 "]]></NEXT_INDEX>"
                      "<SHARED><![CDATA[NO]]></SHARED><SIZE><![CDATA[%" PRIu32
                      "]]></SIZE><TYPE><![CDATA[IP4]]></TYPE>",
                      network->next_index, network->size);
    if (form == STANDIN_WHOLE)
        render_leases(state, network, text);
    oneib_text_append(text, "</AR></AR_POOL>");
}

/* The address range as it was asked for. */
static void render_wanted_range(const struct standin_network *network, struct oneib_text *text)
{
    oneib_text_append(text, "<AR><IP>");
    render_ip(network->first_ip, text);
    oneib_text_printf(text,
                      "</IP><SIZE><![CDATA[%" PRIu32 "]]></SIZE><TYPE><![CDATA[IP4]]></TYPE></AR>",
                      network->size);
}

void standin_render_network(const struct standin_state *state,
                            const struct standin_network *network, enum standin_form form,
                            struct oneib_text *text)
{
    const struct standin_attributes *own = &network->attributes;
    oneib_text_append(text, "<VNET>");
    standin_render_head(network->id, network->owner, network->name, text);
    standin_render_permissions(text);
    oneib_text_printf(text,
                      "<CLUSTERS><ID>0</ID></CLUSTERS><BRIDGE><![CDATA[%s]]></BRIDGE>"
                      "<BRIDGE_TYPE><![CDATA[%s]]></BRIDGE_TYPE><STATE><![CDATA[%d]]></STATE>"
                      "<PREV_STATE><![CDATA[%d]]></PREV_STATE>",
                      standin_attributes_get(own, "BRIDGE"),
                      standin_attributes_get(own, "BRIDGE_TYPE"), network->state,
                      network->previous_state);
    if (network->is_reservation)
        oneib_text_printf(text, "<PARENT_NETWORK_ID>%" PRIu32 "</PARENT_NETWORK_ID>",
                          network->parent_id);
    else
        oneib_text_append(text, "<PARENT_NETWORK_ID/>");
    oneib_text_append(text, "<TEMPLATE_ID/>");
    oneib_text_printf(text, "<VN_MAD><![CDATA[%s]]></VN_MAD>",
                      standin_attributes_get(own, "VN_MAD"));
    render_member("PHYDEV", standin_attributes_get(own, "PHYDEV"), text);
    render_member("VLAN_ID", standin_attributes_get(own, "VLAN_ID"), text);
    oneib_text_printf(text,
                      "<OUTER_VLAN_ID/><VLAN_ID_AUTOMATIC>0</VLAN_ID_AUTOMATIC>"
                      "<OUTER_VLAN_ID_AUTOMATIC>0</OUTER_VLAN_ID_AUTOMATIC>"
                      "<USED_LEASES>%zu</USED_LEASES><VROUTERS></VROUTERS>",
                      network->lease_count);
    render_vm_sets(network, text);
    oneib_text_append(text, "<TEMPLATE>");
    if (network->state == NETWORK_LOCK_CREATE)
        render_wanted_range(network, text);
    standin_attributes_render(own, text);
    oneib_text_append(text, "</TEMPLATE>");
    render_address_range(state, network, form, text);
    oneib_text_append(text, "</VNET>");
}

/* A VF as oned's PCI probe reports it. Two are shown, whatever the host has, and they are nobody's:
 * the VMs here have no PCI NICs. */
static void render_pci_device(unsigned function, struct oneib_text *text)
{
    oneib_text_printf(
        text,
        "<PCI><ADDRESS><![CDATA[0000:81:00:%u]]></ADDRESS><BUS><![CDATA[81]]></BUS>"
        "<CLASS><![CDATA[0280]]></CLASS><CLASS_NAME><![CDATA[Network controller]]></CLASS_NAME>"
        "<DEVICE><![CDATA[1004]]></DEVICE><DEVICE_NAME><![CDATA[MT27500/MT27520 Family "
        "[ConnectX-3/ConnectX-3 Pro Virtual Function]]]></DEVICE_NAME>"
        "<DOMAIN><![CDATA[0000]]></DOMAIN><FUNCTION><![CDATA[%u]]></FUNCTION>"
        "<IFNAME><![CDATA[-]]></IFNAME><NUMA_NODE><![CDATA[-]]></NUMA_NODE>"
        "<SHORT_ADDRESS><![CDATA[81:00.%u]]></SHORT_ADDRESS><SLOT><![CDATA[00]]></SLOT>"
        "<SRIOV><![CDATA[vf]]></SRIOV><TYPE><![CDATA[15b3:1004:0280]]></TYPE>"
        "<VENDOR><![CDATA[15b3]]></VENDOR>"
        "<VENDOR_NAME><![CDATA[Mellanox Technologies]]></VENDOR_NAME>"
        "<VMID><![CDATA[-1]]></VMID></PCI>",
        function, function, function);
}

/* A new host from HOST_SHARE on: its probes have not run yet. */
static const char never_monitored[] =
    "<HOST_SHARE><MEM_USAGE>0</MEM_USAGE><CPU_USAGE>0</CPU_USAGE><TOTAL_MEM>0</TOTAL_MEM>"
    "<TOTAL_CPU>0</TOTAL_CPU><MAX_MEM>0</MAX_MEM><MAX_CPU>0</MAX_CPU><RUNNING_VMS>0</RUNNING_VMS>"
    "<VMS_THREAD>1</VMS_THREAD><DATASTORES><DISK_USAGE><![CDATA[0]]></DISK_USAGE>"
    "<FREE_DISK><![CDATA[0]]></FREE_DISK><MAX_DISK><![CDATA[0]]></MAX_DISK>"
    "<USED_DISK><![CDATA[0]]></USED_DISK></DATASTORES><PCI_DEVICES></PCI_DEVICES>"
    "<NUMA_NODES></NUMA_NODES></HOST_SHARE><VMS></VMS><TEMPLATE><IM_MAD><![CDATA[kvm]]></IM_MAD>"
    "<RESERVED_CPU><![CDATA[]]></RESERVED_CPU><RESERVED_MEM><![CDATA[]]></RESERVED_MEM>"
    "<VM_MAD><![CDATA[kvm]]></VM_MAD></TEMPLATE><MONITORING/></HOST>";

static void render_share(const struct standin_host *host, size_t vm_count, struct oneib_text *text)
{
    oneib_text_printf(text,
                      "<HOST_SHARE><MEM_USAGE>%zu</MEM_USAGE><CPU_USAGE>%zu</CPU_USAGE>"
                      "<TOTAL_MEM>24684084</TOTAL_MEM><TOTAL_CPU>200</TOTAL_CPU>"
                      "<MAX_MEM>24684084</MAX_MEM><MAX_CPU>200</MAX_CPU>"
                      "<RUNNING_VMS>%zu</RUNNING_VMS><VMS_THREAD>1</VMS_THREAD>",
                      vm_count * 98304, vm_count * 10, vm_count);
    oneib_text_append(
        text, "<DATASTORES><DISK_USAGE><![CDATA[0]]></DISK_USAGE><DS>"
              "<FREE_MB><![CDATA[76930]]></FREE_MB><ID><![CDATA[0]]></ID>"
              "<TOTAL_MB><![CDATA[258020]]></TOTAL_MB><USED_MB><![CDATA[21057]]></USED_MB></DS>"
              "<FREE_DISK><![CDATA[76930]]></FREE_DISK><MAX_DISK><![CDATA[258020]]></MAX_DISK>"
              "<USED_DISK><![CDATA[21057]]></USED_DISK></DATASTORES><PCI_DEVICES>");
    for (unsigned i = 1; i <= 2 && i <= host->vfs_total; i++)
        render_pci_device(i, text);
    oneib_text_append(
        text, "</PCI_DEVICES><NUMA_NODES><NODE><CORE><CPUS><![CDATA[1:-1]]></CPUS>"
              "<DEDICATED><![CDATA[NO]]></DEDICATED><FREE><![CDATA[1]]></FREE>"
              "<ID><![CDATA[1]]></ID></CORE><CORE><CPUS><![CDATA[0:-1]]></CPUS>"
              "<DEDICATED><![CDATA[NO]]></DEDICATED><FREE><![CDATA[1]]></FREE>"
              "<ID><![CDATA[0]]></ID></CORE><HUGEPAGE><PAGES><![CDATA[0]]></PAGES>"
              "<SIZE><![CDATA[2048]]></SIZE><USAGE><![CDATA[0]]></USAGE></HUGEPAGE><HUGEPAGE>"
              "<PAGES><![CDATA[0]]></PAGES><SIZE><![CDATA[1048576]]></SIZE>"
              "<USAGE><![CDATA[0]]></USAGE></HUGEPAGE><MEMORY><DISTANCE><![CDATA[0]]></DISTANCE>"
              "<TOTAL><![CDATA[9791692]]></TOTAL><USAGE><![CDATA[0]]></USAGE></MEMORY>"
              "<NODE_ID><![CDATA[0]]></NODE_ID></NODE></NUMA_NODES></HOST_SHARE>");
}

/* The host's attributes between those that every KVM host has, sorted by name as oned's template
 * is. */
static void render_host_template(const struct standin_host *host, struct oneib_text *text)
{
    oneib_text_append(text, "<TEMPLATE><ARCH><![CDATA[x86_64]]></ARCH>"
                            "<CGROUPS_VERSION><![CDATA[1]]></CGROUPS_VERSION>"
                            "<CPUSPEED><![CDATA[0]]></CPUSPEED>");
    oneib_text_printf(text,
                      "<HOSTNAME><![CDATA[%s]]></HOSTNAME><HYPERVISOR><![CDATA[kvm]]></HYPERVISOR>",
                      host->name);
    for (size_t i = 0; i < host->hca_count; i++) {
        oneib_text_append(text, "<IB_HCA>");
        standin_attributes_render(&host->hcas[i], text);
        oneib_text_append(text, "</IB_HCA>");
    }
    standin_attributes_render(&host->attributes, text);
    oneib_text_append(
        text, "<IM_MAD><![CDATA[kvm]]></IM_MAD><KVM_CPU_FEATURES><![CDATA[]]></KVM_CPU_FEATURES>"
              "<KVM_CPU_MODEL><![CDATA[Broadwell]]></KVM_CPU_MODEL>"
              "<KVM_CPU_MODELS><![CDATA[pentium3 pentium2 pentium 486]]></KVM_CPU_MODELS>"
              "<KVM_MACHINES><![CDATA[pc q35]]></KVM_MACHINES>"
              "<MEMORY_ENCRYPTION><![CDATA[NONE]]></MEMORY_ENCRYPTION>"
              "<MODELNAME><![CDATA[Intel(R) Xeon(R) Processor]]></MODELNAME>"
              "<RESERVED_CPU><![CDATA[]]></RESERVED_CPU><RESERVED_MEM><![CDATA[]]></RESERVED_MEM>"
              "<TOTALCPU><![CDATA[200]]></TOTALCPU><TOTALMEMORY><![CDATA[24684084]]></TOTALMEMORY>"
              "<VERSION><![CDATA[7.4.0]]></VERSION><VM_MAD><![CDATA[kvm]]></VM_MAD></TEMPLATE>");
}

static void render_host_monitoring(const struct standin_state *state,
                                   const struct standin_host *host, struct oneib_text *text)
{
    oneib_text_printf(text, "<MONITORING><TIMESTAMP>%" PRId64 "</TIMESTAMP><ID>%" PRIu32 "</ID>",
                      state->now, host->id);
    oneib_text_append(
        text,
        "<CAPACITY><FREE_CPU><![CDATA[154]]></FREE_CPU>"
        "<FREE_CPU_FORECAST><![CDATA[120.35]]></FREE_CPU_FORECAST>"
        "<FREE_MEMORY><![CDATA[23820376]]></FREE_MEMORY>"
        "<FREE_MEMORY_FORECAST><![CDATA[2.33255e+07]]></FREE_MEMORY_FORECAST>"
        "<USED_CPU><![CDATA[46]]></USED_CPU><USED_CPU_FORECAST><![CDATA[79.65]]></"
        "USED_CPU_FORECAST>"
        "<USED_MEMORY><![CDATA[863708]]></USED_MEMORY>"
        "<USED_MEMORY_FORECAST><![CDATA[1.35862e+06]]></USED_MEMORY_FORECAST></CAPACITY><SYSTEM>"
        "<NETRX><![CDATA[373822475]]></NETRX><NETRX_BW><![CDATA[0]]></NETRX_BW>"
        "<NETRX_BW_FORECAST><![CDATA[163733]]></NETRX_BW_FORECAST><NETTX><![CDATA[415731]]></NETTX>"
        "<NETTX_BW><![CDATA[0]]></NETTX_BW><NETTX_BW_FORECAST><![CDATA[170.64]]>"
        "</NETTX_BW_FORECAST></SYSTEM><NUMA_NODE><HUGEPAGE><FREE><![CDATA[0]]></FREE>"
        "<SIZE><![CDATA[2048]]></SIZE></HUGEPAGE><HUGEPAGE><FREE><![CDATA[0]]></FREE>"
        "<SIZE><![CDATA[1048576]]></SIZE></HUGEPAGE><MEMORY><FREE><![CDATA[6467312]]></FREE>"
        "<USED><![CDATA[3324380]]></USED></MEMORY><NODE_ID><![CDATA[0]]></NODE_ID></NUMA_NODE>"
        "</MONITORING>");
}

static size_t count_vms(const struct standin_state *state, const struct standin_host *host)
{
    size_t count = 0;
    for (size_t i = 0; i < state->vm_count; i++)
        count += standin_vm_is_on(state->vms[i], host->id);
    return count;
}

void standin_render_host(const struct standin_state *state, const struct standin_host *host,
                         enum standin_form form, struct oneib_text *text)
{
    oneib_text_printf(text, "<HOST><ID>%" PRIu32 "</ID><NAME>", host->id);
    standin_render_escaped(host->name, text);
    oneib_text_printf(text,
                      "</NAME><STATE>%d</STATE><PREV_STATE>%d</PREV_STATE>"
                      "<IM_MAD><![CDATA[kvm]]></IM_MAD><VM_MAD><![CDATA[kvm]]></VM_MAD>"
                      "<CLUSTER_ID>0</CLUSTER_ID><CLUSTER>default</CLUSTER>",
                      host->state, host->previous_state);
    if (host->state == HOST_INIT) {
        oneib_text_append(text, never_monitored);
        return;
    }
    render_share(host, count_vms(state, host), text);
    oneib_text_append(text, "<VMS>");
    for (size_t i = 0; i < state->vm_count; i++)
        if (standin_vm_is_on(state->vms[i], host->id))
            oneib_text_printf(text, "<ID>%" PRIu32 "</ID>", state->vms[i]->id);
    oneib_text_append(text, "</VMS>");
    render_host_template(host, text);
    if (form == STANDIN_WHOLE)
        render_host_monitoring(state, host, text);
    else
        oneib_text_append(text, "<MONITORING/>");
    oneib_text_append(text, "</HOST>");
}

/* What an administrator of InfiniBand networks has restricted, on top of oned's own defaults. */
static const char *const restricted[] = {"IB_CLASS",       "IB_MEMBERSHIP",   "IB_RATE",
                                         "IB_RESERVATION", "IB_STATIC_GUIDS", "VLAN_ID"};

static void render_restrictions(const char *element, const char *prefix, struct oneib_text *text)
{
    for (size_t i = 0; i < sizeof restricted / sizeof *restricted; i++)
        oneib_text_printf(text, "<%s><![CDATA[%s%s]]></%s>", element, prefix, restricted[i],
                          element);
}

static void render_all_restrictions(struct oneib_text *text)
{
    render_restrictions("VM_RESTRICTED_ATTR", "NIC/", text);
    render_restrictions("VM_RESTRICTED_ATTR", "NIC_ALIAS/", text);
    render_restrictions("VM_RESTRICTED_ATTR", "NIC_DEFAULT/", text);
    render_restrictions("VM_RESTRICTED_ATTR", "PCI/", text);
    render_restrictions("VNET_RESTRICTED_ATTR", "", text);
    render_restrictions("VNET_RESTRICTED_ATTR", "AR/", text);
}

/* 6.10 has none. */
static void render_placers(enum standin_placers placers, struct oneib_text *text)
{
    if (placers == STANDIN_NO_PLACER)
        return;
    oneib_text_append(text, "<SCHED_MAD><ARGUMENTS><![CDATA[-t 15 -p rank -o one_drs]]></ARGUMENTS>"
                            "<EXECUTABLE><![CDATA[one_sched]]></EXECUTABLE></SCHED_MAD>");
    if (placers == STANDIN_LATE_PLACER)
        oneib_text_append(text, "<SCHED_MAD><ARGUMENTS><![CDATA[-p ib]]></ARGUMENTS></SCHED_MAD>");
}

void standin_render_config(const struct standin_state *state, bool unrestricted,
                           enum standin_placers placers, struct oneib_text *text)
{
    oneib_text_printf(text,
                      "<OPENNEBULA_CONFIGURATION><API_LIST_ORDER><![CDATA[%s]]></API_LIST_ORDER>"
                      "<LISTEN_ADDRESS><![CDATA[127.0.0.1]]></LISTEN_ADDRESS>",
                      state->ascending ? "ASC" : "DESC");
    if (!unrestricted)
        render_all_restrictions(text);
    render_placers(placers, text);
    oneib_text_append(text, "<VN_MAD_CONF><BRIDGE_TYPE><![CDATA[none]]></BRIDGE_TYPE>"
                            "<NAME><![CDATA[infiniband]]></NAME></VN_MAD_CONF>"
                            "</OPENNEBULA_CONFIGURATION>");
}
