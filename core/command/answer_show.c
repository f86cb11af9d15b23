// SPDX-License-Identifier: Apache-2.0
#include "cluster/names.h"
#include "cluster/pkey_status.h"
#include "command/answer.h"
#include "command/command_owner.h"
#include "command/deviations.h"
#include "command/pick.h"
#include "command/places.h"
#include "command/state.h"
#include "ib/dummy_mac.h"
#include <inttypes.h>
#include <string.h>

#define COLUMN_HOST (1u << 3)
#define STANDINGS (ONEIB_PORT_UNSEEN + 1)

/* Everything that the printing of one cluster needs. */
struct subject {
    const struct oneib_command_request *request;
    struct oneib_command_answer *answer;
    const struct oneib_snapshot *snapshot;
    const struct oneib_cluster *cluster;
    const struct oneib_network *network; /* NULL when it is gone */
    const struct oneib_findings *findings;
    const struct oneib_heard *heard;
    bool has_heard; /* an oneibd keeps these partitions */
    struct oneib_places places;
    struct oneib_states states;
};

/* Why an attachment that is no member is none, and what to do; NULL: nothing is wrong. */
static const char *reason(enum oneib_member_status member_status)
{
    static const char *const words[] = {
        [ONEIB_MEMBER_STATUS_NO_NETWORK] =
            ("its network is gone, or is not InfiniBand any more and has another P_Key: detach "
             "the NIC"),
        [ONEIB_MEMBER_STATUS_NO_LEASE] =
            ("the network does not know of this VM, so oned did not make this NIC: see the "
             "findings"),
        [ONEIB_MEMBER_STATUS_NO_KEY] =
            ("the network has no usable P_Key: 'oneib sync' on the front-end gives one to a "
             "network without VLAN_ID"),
        [ONEIB_MEMBER_STATUS_KEY_CONFLICT] =
            ("another network, or a static partition of the operator's, has this P_Key: give "
             "this network another VLAN_ID"),
        [ONEIB_MEMBER_STATUS_HCA_MISSING] =
            ("the host reports no such InfiniBand port: see its probes and the network's PHYDEV"),
        [ONEIB_MEMBER_STATUS_HCA_AMBIGUOUS] =
            "the host has several adapters for VMs: name one in the network's PHYDEV",
        [ONEIB_MEMBER_STATUS_HCA_UNSUPPORTED] =
            "the adapter is neither of mlx4 nor of mlx5: use another one for this network",
        [ONEIB_MEMBER_STATUS_PHYDEV_INVALID] =
            "the network's PHYDEV names no adapter: set it to DEVICE or DEVICE:PORT",
        [ONEIB_MEMBER_STATUS_PORT_REFUSED] = "the host's port must not serve it: see the findings",
        [ONEIB_MEMBER_STATUS_PORT_FULL] =
            "the port's P_Key table is full: move VMs of other clusters to other hosts",
        [ONEIB_MEMBER_STATUS_OWNER_LIMIT] =
            ("the port holds as many P_Keys of the owner's clusters as it may: move VMs of some "
             "of these to other hosts, or raise pkeys.per_owner"),
        [ONEIB_MEMBER_STATUS_GIVES_WAY] =
            ("it asks for limited membership, and others on its port are full members: start it on "
             "another host, or remove its IB_MEMBERSHIP"),
        [ONEIB_MEMBER_STATUS_UNKNOWN_STATE] =
            ("the VM is in a state that this version of oneib does not know: it keeps what it "
             "has"),
        [ONEIB_MEMBER_STATUS_START_FAILED] = "its start has failed: the VM's log says why",
        [ONEIB_MEMBER_STATUS_FENCED] =
            "the host is fenced: start the VM on another one, or lift that ('oneib unfence')",
        [ONEIB_MEMBER_STATUS_SWITCHED] =
            ("another driver serves the network now, and the VM had no membership to keep: see "
             "the findings"),
    };
    return words[member_status];
}

/* Where an attachment is: on which bindings, and how it stands there. */
struct place {
    const struct oneib_attachment *attachment;
    enum oneib_member_status member_status;
    const struct oneib_desired_binding *binding; /* on its host; NULL: on none */
    bool pkey_status_known;
    enum oneib_pkey_status pkey_status; /* of a member; while it migrates that of the worse host */
    const struct oneib_deviation *left; /* what oneibd puts right; NULL: nothing */
    bool daemon_runs;
};

/* Why a member's key is not in force, and what to do. */
static const char *pkey_status_reason(const struct place *place)
{
    static const char *const words[] = {
        [ONEIB_KEY_LACKING] =
            ("the port's table lacks the key: 'oneib sync' puts it there, or look whether oneibd "
             "runs"),
        [ONEIB_KEY_OTHERWISE] =
            ("the port holds the key with the other membership: 'oneib sync', or look whether "
             "oneibd runs"),
        [ONEIB_PORT_ABSENT] =
            ("the fabric has no such port: look whether the host is up and cabled; it gets the "
             "key when it comes back"),
        [ONEIB_PORT_MUTE] =
            "the port did not answer, so its P_Keys are unknown: look at the host and its cable",
        [ONEIB_PORT_UNSEEN] = ("the table of a virtual port cannot be read here, or cannot be told "
                               "apart while the VM migrates: look in the VM"),
    };
    return place->left ? oneib_deviation_fix(place->left, place->daemon_runs)
                       : words[place->pkey_status];
}

/* Of the key that the port lacks, where oneibd puts it right; NULL: it does not. */
static const struct oneib_deviation *find_left(const struct oneib_verification *verification,
                                               const struct oneib_desired_binding *binding,
                                               bool daemon_runs)
{
    for (size_t i = 0; i < verification->count; i++) {
        const struct oneib_deviation *deviation = &verification->items[i];
        if (oneib_deviation_is_lack(deviation->kind) && (deviation->is_daemons || daemon_runs) &&
            deviation->port_guid == binding->member &&
            oneib_pkey_base(deviation->expected) == binding->pkey)
            return deviation;
    }
    return NULL;
}

static struct place place_of(const struct subject *subject, size_t index)
{
    const struct oneib_snapshot *snapshot = subject->snapshot;
    size_t count;
    const struct oneib_desired_binding *bindings =
        oneib_desired_bindings(&snapshot->desired, index, &count);
    struct place place = {.attachment = &snapshot->cloud.attachments[index],
                          .member_status =
                              (enum oneib_member_status)snapshot->desired.member_statuses[index],
                          .binding = bindings,
                          .daemon_runs = subject->places.daemon_runs};
    place.pkey_status_known =
        snapshot->subnet_known && count > 0 && place.member_status == ONEIB_MEMBER_STATUS_MEMBER;
    if (!place.pkey_status_known)
        return place;
    place.pkey_status = oneib_pkey_status_of_bindings(&snapshot->subnet, bindings, count);
    const bool lacks =
        place.pkey_status == ONEIB_KEY_LACKING || place.pkey_status == ONEIB_KEY_OTHERWISE;
    for (size_t i = 0; lacks && i < count && !place.left; i++)
        place.left = find_left(&subject->states.verification, &bindings[i], place.daemon_runs);
    return place;
}

/* What its host's node has for it; NULL: nothing, or nobody has heard that node. */
static const struct oneib_vf_record *vf_of(const struct subject *subject,
                                           const struct oneib_attachment *attachment)
{
    const struct oneib_heard_node *node = oneib_heard_host(subject->heard, attachment->host_id);
    for (size_t i = 0; node && i < node->record_count; i++)
        if (node->records[i].vm_id == attachment->vm_id &&
            node->records[i].nic_id == attachment->nic_id)
            return &node->records[i];
    return NULL;
}

/* What is known of an attachment's virtual function where no record says it. */
enum vf_lack {
    VF_NOT_ASKED, /* there is a record, or the VM is on no host, or nobody hears nodes */
    VF_UNKNOWN,   /* the host's node does not report */
    VF_NONE,      /* the node reports none yet */
    VF_MISSING,   /* ... of a member that is there to stay */
};

static enum vf_lack vf_lack_of(const struct subject *subject, const struct place *place)
{
    const struct oneib_attachment *attachment = place->attachment;
    const struct oneib_heard_node *node = oneib_heard_host(subject->heard, attachment->host_id);
    if (!subject->has_heard || vf_of(subject, attachment) ||
        place->member_status == ONEIB_MEMBER_STATUS_ABSENT)
        return VF_NOT_ASKED;
    if (!node || !oneib_node_is_heard(node->state))
        return VF_UNKNOWN;
    return attachment->phase == ONEIB_SETTLED && !attachment->attaching &&
                   place->member_status == ONEIB_MEMBER_STATUS_MEMBER
               ? VF_MISSING
               : VF_NONE;
}

static const char *vf_lack_reason(enum vf_lack lack)
{
    switch (lack) {
    case VF_UNKNOWN:
        return "the host's oneib-node does not report to oneibd: 'oneib hosts'";
    case VF_MISSING:
        return "the host's oneib-node reports no virtual function for the NIC, as after a detach "
               "that failed: the VM cannot use the key; detach the NIC and attach it again";
    case VF_NOT_ASKED:
    case VF_NONE:
        break;
    }
    return NULL;
}

static const char *vf_lack_name(enum vf_lack lack)
{
    return lack == VF_NOT_ASKED ? "-" : lack == VF_UNKNOWN ? "unknown" : "none";
}

/* A reservation that shares its parent's partition may be limited where the parent is not. */
static const char *membership_of(const struct subject *subject, const struct place *place)
{
    const struct oneib_network *own =
        oneib_cloud_network(&subject->snapshot->cloud, place->attachment->network_id);
    const bool full = own &&
                      oneib_network_membership(&subject->snapshot->cloud, own) == ONEIB_FULL &&
                      subject->cluster->membership == ONEIB_FULL && !place->attachment->narrowed;
    if (place->member_status == ONEIB_MEMBER_STATUS_MEMBER)
        return oneib_membership_name((enum oneib_membership)place->binding->membership);
    return oneib_membership_name(full ? ONEIB_FULL : ONEIB_LIMITED);
}

static void append_state_name(const struct oneib_attachment *attachment, struct oneib_text *text)
{
    const char *name = oneib_vm_state_name(attachment->state, attachment->lcm_state);
    if (name)
        oneib_text_append(text, name);
    else
        oneib_text_printf(text, "UNKNOWN-%d/%d", attachment->state, attachment->lcm_state);
}

/* NULL: not migrating, or the host it comes from is gone. */
static const struct oneib_host *source_host(const struct oneib_cloud *cloud,
                                            const struct oneib_attachment *attachment)
{
    return attachment->phase == ONEIB_MIGRATING
               ? oneib_cloud_host(cloud, attachment->source_host_id)
               : NULL;
}

/* While a VM migrates both hosts are members. */
static void add_host_cell(struct oneib_table *table, const struct oneib_cloud *cloud,
                          const struct oneib_attachment *attachment)
{
    const struct oneib_host *host = oneib_cloud_host(cloud, attachment->host_id);
    const struct oneib_host *source = source_host(cloud, attachment);
    oneib_autotext struct oneib_text name = {0};
    if (source)
        oneib_text_printf(&name, "%s -> ", source->name);
    oneib_text_append(&name, host ? host->name : "-");
    oneib_table_untrusted(table, name.data ? name.data : "", 0);
}

static void add_port_cell(struct oneib_table *table, const struct place *place)
{
    char guid[ONEIB_GUID_TEXT_SIZE] = "-";
    if (place->binding && place->binding->member)
        oneib_guid_format(place->binding->member, guid);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", guid);
}

static void add_pkey_status_cell(struct oneib_table *table, const struct place *place)
{
    if (place->member_status == ONEIB_MEMBER_STATUS_ABSENT)
        oneib_table_cell(table, ONEIB_FAINT, "-");
    else if (place->member_status != ONEIB_MEMBER_STATUS_MEMBER)
        oneib_table_cell(table, ONEIB_BAD, "no: %s",
                         oneib_member_status_name(place->member_status));
    else if (!place->pkey_status_known)
        oneib_table_cell(table, ONEIB_PLAIN, "not asked");
    else if (place->pkey_status == ONEIB_IN_FORCE)
        oneib_table_cell(table, ONEIB_GOOD, "yes");
    else if (place->pkey_status == ONEIB_PORT_UNSEEN)
        oneib_table_cell(table, ONEIB_PLAIN, "not visible");
    else
        oneib_table_cell(table, ONEIB_BAD, "no: %s", oneib_pkey_status_name(place->pkey_status));
}

static void add_vf_cell(struct oneib_table *table, const struct subject *subject,
                        const struct place *place)
{
    const struct oneib_vf_record *vf = vf_of(subject, place->attachment);
    const enum vf_lack lack = vf_lack_of(subject, place);
    if (vf)
        oneib_table_cell(table, vf->stage == ONEIB_VF_OPEN ? ONEIB_GOOD : ONEIB_CHANGED, "%s",
                         oneib_vf_stage_name(vf->stage));
    else
        oneib_table_cell(table, vf_lack_reason(lack) ? ONEIB_BAD : ONEIB_FAINT, "%s",
                         vf_lack_name(lack));
}

static void add_attachment(struct oneib_table *table, const struct subject *subject, size_t index)
{
    const struct place place = place_of(subject, index);
    const struct oneib_attachment *attachment = place.attachment;
    char address[ONEIB_IPV4_TEXT_SIZE] = "-";
    oneib_autotext struct oneib_text state = {0};

    append_state_name(attachment, &state);
    if (attachment->ipv4)
        oneib_ipv4_format(attachment->ipv4, address);

    oneib_table_cell(table, ONEIB_PLAIN, "%u", attachment->vm_id);
    oneib_table_cell(table, ONEIB_PLAIN, "%u", attachment->nic_id);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", state.data ? state.data : "");
    add_host_cell(table, &subject->snapshot->cloud, attachment);
    add_port_cell(table, &place);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", address);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", membership_of(subject, &place));
    add_pkey_status_cell(table, &place);
    add_vf_cell(table, subject, &place);
}

static void append_attachments(const struct subject *subject, struct oneib_text *text)
{
    static const char *const titles[] = {"VM", "NIC",        "STATE",    "HOST", "PORT",
                                         "IP", "MEMBERSHIP", "IN FORCE", "VF"};
    oneib_autotable struct oneib_table table = {.right = 1u << 0 | 1u << 1};
    oneib_table_titles(&table, titles, sizeof titles / sizeof *titles);
    for (size_t i = 0; i < subject->cluster->attachment_count; i++)
        add_attachment(&table, subject, subject->cluster->attachments[i]);

    oneib_text_append(text, "\n");
    oneib_table_fit(&table, COLUMN_HOST);
    oneib_table_render(&table, subject->request->color_out, "", text);
}

/* rules: whose attributes count; NULL: nobody's. */
static void append_static_members(const struct oneib_network *rules, struct oneib_text *text)
{
    for (size_t i = 0; rules && i < rules->static_count; i++)
        oneib_text_printf(text, "  %-11s 0x%016" PRIx64 " %s\n", i ? "" : "static",
                          rules->static_members[i].guid,
                          oneib_membership_name(rules->static_members[i].membership));
}

static void append_network(const struct oneib_cloud *cloud, const struct oneib_network *network,
                           struct oneib_text *text)
{
    const struct oneib_network *rules = oneib_network_rules(cloud, network);
    if (network->other_driver) {
        oneib_text_append(text, "  driver      ");
        oneib_append_quoted(text, network->other_driver);
        oneib_text_append(text, ": InfiniBand only for VMs that run with it\n");
    }
    oneib_text_printf(text, "  membership  %s\n",
                      oneib_membership_name(oneib_network_membership(cloud, network)));
    if (network->device_invalid)
        oneib_text_append(text, "  HCA         PHYDEV is not of the form DEVICE[:PORT]\n");
    else if (!*network->device)
        oneib_text_append(text, "  HCA         the host's only one\n");
    else if (network->device_port)
        oneib_text_printf(text, "  HCA         %s port %u\n", network->device,
                          network->device_port);
    else
        oneib_text_printf(text, "  HCA         %s\n", network->device);
    if (network->mtu_bytes)
        oneib_text_printf(text, "  MTU         %u\n", network->mtu_bytes);
    if (rules && rules->rate_gbps)
        oneib_text_printf(text, "  rate        %u Gb/s\n", rules->rate_gbps);
    if (network->parent_id != ONEIB_NO_ID)
        oneib_text_printf(text, "  reserved    from %s\n",
                          oneib_network_id_shown(cloud, network->parent_id).text);
    append_static_members(rules, text);
}

/* 0: no class's. */
static uint8_t level_of(const struct subject *subject)
{
    const struct oneib_ledger_network *holder =
        oneib_ledger_holder(oneib_snapshot_ledger(subject->snapshot), subject->cluster->pkey);
    return holder ? holder->sl : 0;
}

static void append_summary(const struct subject *subject, struct oneib_text *text)
{
    const struct oneib_cluster *cluster = subject->cluster;
    const enum oneib_cluster_state state = oneib_state_of(&subject->states, cluster);

    oneib_text_printf(text, "virtual cluster %u ", cluster->network_id);
    oneib_append_quoted(text, subject->network ? subject->network->name : "");
    if (subject->network) {
        oneib_text_append(text, "\n  owner       ");
        oneib_append_owner(text, subject->network);
    }
    oneib_text_append(text, "\n  P_Key       ");
    if (cluster->pkey)
        oneib_text_printf(text, "%s (VLAN_ID %u)", oneib_pkey_shown(cluster->pkey).text,
                          cluster->pkey);
    else
        oneib_text_append(text, "none");
    if (level_of(subject))
        oneib_text_printf(text, "\n  SL          %u (oneib qos)", level_of(subject));
    oneib_text_append(text, "\n  state       ");
    oneib_paint(text, subject->request->color_out, oneib_state_style(state), "%s",
                oneib_state_name(state));
    oneib_text_append(text, "\n");
    if (subject->network)
        append_network(&subject->snapshot->cloud, subject->network, text);
    oneib_text_append(text, "  size        ");
    oneib_append_count(text, cluster->vms, "VM");
    oneib_text_append(text, " on ");
    oneib_append_count(text, cluster->hosts, "host");
    if (cluster->refused_vms) {
        oneib_text_append(text, "; ");
        oneib_append_count(text, cluster->refused_vms, "VM");
        oneib_text_append(text, " refused");
    }
    oneib_text_append(text, "\n");
}

static void append_reason(struct oneib_text *text, const char *name, const char *why)
{
    oneib_text_printf(text, "%s: %s\n", name, why);
}

/* Each reason once. */
static void append_reasons(const struct subject *subject, struct oneib_text *text)
{
    unsigned refusals = 0, standings = 0, lacks = 0;
    for (size_t i = 0; i < subject->cluster->attachment_count; i++) {
        const struct place place = place_of(subject, subject->cluster->attachments[i]);
        const char *why = pkey_status_reason(&place);
        const unsigned bit =
            1u << (place.pkey_status + (place.left && place.left->is_daemons ? STANDINGS : 0));
        if (reason(place.member_status) && !(refusals & (1u << place.member_status)))
            append_reason(text, oneib_member_status_name(place.member_status),
                          reason(place.member_status));
        if (place.pkey_status_known && why && !(standings & bit))
            append_reason(text, oneib_pkey_status_name(place.pkey_status), why);
        const enum vf_lack lack = vf_lack_of(subject, &place);
        if (vf_lack_reason(lack) && !(lacks & (1u << lack)))
            oneib_text_printf(text, "VF %s: %s\n", vf_lack_name(lack), vf_lack_reason(lack));
        lacks |= 1u << lack;
        refusals |= 1u << place.member_status;
        standings |= place.pkey_status_known ? bit : 0;
    }
}

/* What is in the way: of VMs, then what the ports hold that they should not, or lack. */
static void append_obstacles(const struct subject *subject, struct oneib_text *text)
{
    oneib_autotext struct oneib_text reasons = {0}, deviations = {0};
    append_reasons(subject, &reasons);
    if (subject->cluster->pkey)
        oneib_deviations_append(subject->request->color_out, &subject->places,
                                &subject->states.verification, subject->cluster->pkey, &deviations);
    if (reasons.data)
        oneib_text_printf(text, "\n%s", reasons.data);
    if (deviations.data)
        oneib_text_printf(text, "\n%s", deviations.data);
}

static void write_text(const struct subject *subject)
{
    struct oneib_text *text = &subject->answer->out;
    append_summary(subject, text);
    if (subject->cluster->attachment_count > 0)
        append_attachments(subject, text);
    append_obstacles(subject, text);
    oneib_append_findings(&subject->answer->err, subject->request->color_err, subject->findings);
}

static json_t *in_force_json(const struct place *place)
{
    if (place->member_status != ONEIB_MEMBER_STATUS_MEMBER)
        return json_false();
    if (!place->pkey_status_known || place->pkey_status == ONEIB_PORT_UNSEEN)
        return json_null();
    return json_boolean(place->pkey_status == ONEIB_IN_FORCE);
}

/* Why it is not in force, or of no use; NULL: it is, or nobody asked. */
static const char *what_is_wrong(const struct subject *subject, const struct place *place)
{
    if (place->member_status != ONEIB_MEMBER_STATUS_MEMBER)
        return reason(place->member_status);
    return (place->pkey_status_known ? pkey_status_reason(place) : NULL)
               ?: vf_lack_reason(vf_lack_of(subject, place));
}

/* null: its node reports none, or is not heard. */
static json_t *vf_json(const struct oneib_vf_record *vf)
{
    char pci[ONEIB_PCI_TEXT_SIZE];
    if (!vf)
        return json_null();
    oneib_pci_format(&vf->vf, pci);
    return json_pack("{s:s, s:s, s:o}", "vf", pci, "stage", oneib_vf_stage_name(vf->stage), "pkey",
                     oneib_json_key(vf->pkey));
}

static json_t *attachment_json(const struct subject *subject, size_t index)
{
    const struct oneib_cloud *cloud = &subject->snapshot->cloud;
    const struct place place = place_of(subject, index);
    const struct oneib_attachment *attachment = place.attachment;
    const struct oneib_host *host = oneib_cloud_host(cloud, attachment->host_id);
    const struct oneib_host *source = source_host(cloud, attachment);
    const struct oneib_hca_port *port = oneib_port_of(cloud, attachment, attachment->host_id);
    oneib_autotext struct oneib_text state = {0};

    append_state_name(attachment, &state);
    return json_pack(
        "{s:I, s:i, s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:o, "
        "s:o}",
        "vm", (json_int_t)attachment->vm_id, "nic", (int)attachment->nic_id, "network",
        (json_int_t)attachment->network_id, "state", oneib_json_text(state.data), "phase",
        oneib_phase_name(attachment->phase), "host", oneib_json_text(host ? host->name : NULL),
        "source_host", oneib_json_text(source ? source->name : NULL), "device",
        oneib_json_text(port ? port->device : NULL), "port_guid",
        oneib_json_known_guid(port ? port->port_guid : 0), "member_guid",
        oneib_json_known_guid(place.binding ? place.binding->member : 0), "guid",
        oneib_json_guid(
            oneib_guid_encode(subject->places.site, attachment->vm_id, attachment->nic_id)),
        "ip", oneib_json_ipv4(attachment->ipv4), "membership", membership_of(subject, &place),
        "member_status", oneib_member_status_name(place.member_status), "in_force",
        in_force_json(&place), "standing",
        oneib_json_text(place.pkey_status_known ? oneib_pkey_status_name(place.pkey_status) : NULL),
        "reason", oneib_json_text(what_is_wrong(subject, &place)), "vf",
        vf_json(vf_of(subject, attachment)));
}

/* rules: whose attributes count; NULL: nobody's. */
static json_t *static_members_json(const struct oneib_network *rules)
{
    json_t *array = json_array();
    for (size_t i = 0; rules && i < rules->static_count; i++)
        oneib_json_append(&array,
                          json_pack("{s:o, s:s}", "guid",
                                    oneib_json_guid(rules->static_members[i].guid), "membership",
                                    oneib_membership_name(rules->static_members[i].membership)));
    return array;
}

static int write_json(const struct subject *subject, struct oneib_error *err)
{
    const struct oneib_cluster *cluster = subject->cluster;
    const struct oneib_network *network = subject->network;
    json_t *attachments = json_array();
    for (size_t i = 0; i < cluster->attachment_count; i++)
        oneib_json_append(&attachments, attachment_json(subject, cluster->attachments[i]));

    return oneib_json_render(
        json_pack(
            "{s:I, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, "
            "s:o}",
            "id", (json_int_t)cluster->network_id, "name",
            oneib_json_text(network ? network->name : NULL), "owner", oneib_json_owner(network),
            "pkey", oneib_json_key(cluster->pkey), "sl", (int)level_of(subject), "membership",
            oneib_json_text(network ? oneib_membership_name(oneib_network_membership(
                                          &subject->snapshot->cloud, network))
                                    : NULL),
            "other_driver", oneib_json_text(network ? network->other_driver : NULL), "parent",
            network && network->parent_id != ONEIB_NO_ID ? json_integer(network->parent_id)
                                                         : json_null(),
            "state", oneib_state_name(oneib_state_of(&subject->states, cluster)), "members",
            (json_int_t)cluster->members, "vms", (json_int_t)cluster->vms, "refused",
            (json_int_t)cluster->refused, "refused_vms", (json_int_t)cluster->refused_vms, "hosts",
            (json_int_t)cluster->hosts, "fabric", oneib_fabric_json(subject->snapshot),
            "static_members",
            static_members_json(network ? oneib_network_rules(&subject->snapshot->cloud, network)
                                        : NULL),
            "attachments", attachments, "findings", oneib_json_findings(subject->findings)),
        &subject->answer->out, err);
}

static int write_cluster(const struct oneib_command_request *request, const struct oneib_view *view,
                         const struct oneib_cluster *cluster, struct oneib_command_answer *answer,
                         struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = view->snapshot;
    struct subject subject = {
        .request = request,
        .answer = answer,
        .snapshot = snapshot,
        .cluster = cluster,
        .network = oneib_cloud_network(&snapshot->cloud, cluster->network_id),
        .findings = view->findings,
        .heard = view->heard,
        .has_heard = view->heard_error->code == ONEIB_ERROR_NONE,
    };
    int status = 0;
    oneib_places_make(snapshot, view->config->site, view->has_daemon, &subject.places);
    oneib_states_make(view, &subject.states);
    if (request->json)
        status = write_json(&subject, err);
    else
        write_text(&subject);
    oneib_states_clear(&subject.states);
    oneib_places_clear(&subject.places);
    return status;
}

int oneib_answer_show(const struct oneib_command_request *request, struct oneib_view *view,
                      struct oneib_command_answer *answer, enum oneib_exit *outcome,
                      struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = view->snapshot;
    uint32_t id = request->network_id;
    if (*request->network && oneib_pick_network(&snapshot->cloud, request->network, &id, err) < 0)
        return -1;
    const struct oneib_cluster *cluster = oneib_desired_cluster(&snapshot->desired, id);
    if (!cluster)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "there is no InfiniBand network %u; 'oneib list' shows those there are",
                          id);
    if (cluster->network_id != id)
        oneib_append_note(&answer->err, "%s shares the partition of %s",
                          oneib_network_id_shown(&snapshot->cloud, id).text,
                          oneib_network_id_shown(&snapshot->cloud, cluster->network_id).text);
    oneib_keep_findings_of(snapshot, cluster, view->findings);
    *outcome = oneib_exit_of_view(view);
    return write_cluster(request, view, cluster, answer, err);
}
