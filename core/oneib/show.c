// SPDX-License-Identifier: Apache-2.0
#include "model/dummy_mac.h"
#include "oneib/deviations.h"
#include "oneib/look.h"
#include "oneib/options.h"
#include "oneib/places.h"
#include "oneib/state.h"

/* Everything that the printing of one cluster needs. */
struct subject {
    const struct oneib_run *run;
    const struct oneib_view *view;
    const struct oneib_cluster *cluster;
    const struct oneib_network *network; /* NULL when it is gone */
    const struct oneib_findings *findings;
    struct oneib_places places;
    struct oneib_states states;
};

/* Why an attachment that is no member is none, and what to do; NULL: nothing is wrong. */
static const char *reason(enum oneib_verdict verdict)
{
    switch (verdict) {
    case ONEIB_VERDICT_ABSENT:
    case ONEIB_VERDICT_MEMBER:
        return NULL;
    case ONEIB_VERDICT_NO_NETWORK:
        return "its network is gone or is not InfiniBand any more: detach the NIC";
    case ONEIB_VERDICT_NO_LEASE:
        return "the network does not know of this VM, so oned did not make this NIC: see the "
               "findings";
    case ONEIB_VERDICT_NO_KEY:
        return "the network has no usable P_Key: 'oneib sync' on the front-end gives one to a "
               "network "
               "without VLAN_ID";
    case ONEIB_VERDICT_KEY_CONFLICT:
        return "another network, or the operator's fragment, has this P_Key: give this network "
               "another "
               "VLAN_ID";
    case ONEIB_VERDICT_NO_HCA:
        return "the host reports no such InfiniBand port, or one that must not serve VMs: see the "
               "findings, its probes and the network's PHYDEV";
    case ONEIB_VERDICT_PORT_CONFLICT:
        return "another host claims the same port GUID: look at both hosts' adapters";
    case ONEIB_VERDICT_BLOCKED:
        return "on this port a VM claims the P_Key without being entitled to it: see the findings";
    case ONEIB_VERDICT_PORT_FULL:
        return "the port's P_Key table is full: move VMs of other clusters to other hosts";
    case ONEIB_VERDICT_UNKNOWN_STATE:
        return "the VM is in a state that this version of oneib does not know: it keeps what it "
               "has";
    }
    return NULL;
}

/* A reservation that shares its parent's partition may be limited where the parent is not. */
static const char *membership_of(const struct subject *subject,
                                 const struct oneib_attachment *attachment)
{
    const struct oneib_network *own =
        oneib_cloud_network(&subject->view->cloud, attachment->network_id);
    const bool full = own && own->membership == ONEIB_FULL &&
                      subject->cluster->membership == ONEIB_FULL && !attachment->narrowed;
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
    return attachment->presence == ONEIB_MIGRATING
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

static void add_port_cells(struct oneib_table *table, const struct subject *subject,
                           const struct oneib_attachment *attachment)
{
    const struct oneib_hca_port *port =
        oneib_port_of(&subject->view->cloud, attachment, attachment->host_id);
    char guid[ONEIB_GUID_TEXT_SIZE] = "-";

    if (port)
        oneib_guid_format(port->port_guid, guid);
    add_host_cell(table, &subject->view->cloud, attachment);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", guid);
}

static void add_attachment(struct oneib_table *table, const struct subject *subject, size_t index)
{
    const struct oneib_attachment *attachment = &subject->view->cloud.attachments[index];
    const enum oneib_verdict verdict = subject->view->desired.verdicts[index];
    char guid[ONEIB_GUID_TEXT_SIZE], address[ONEIB_IPV4_TEXT_SIZE] = "-";
    oneib_autotext struct oneib_text state = {0};

    append_state_name(attachment, &state);
    oneib_guid_format(
        oneib_guid_encode(subject->places.site, attachment->vm_id, attachment->nic_id), guid);
    if (attachment->ipv4)
        oneib_ipv4_format(attachment->ipv4, address);

    oneib_table_cell(table, ONEIB_PLAIN, "%u", attachment->vm_id);
    oneib_table_cell(table, ONEIB_PLAIN, "%u", attachment->nic_id);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", state.data ? state.data : "");
    add_port_cells(table, subject, attachment);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", guid);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", address);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", membership_of(subject, attachment));
    oneib_table_cell(table,
                     verdict == ONEIB_VERDICT_MEMBER ? ONEIB_GOOD
                     : reason(verdict)               ? ONEIB_BAD
                                                     : ONEIB_FAINT,
                     "%s", oneib_verdict_name(verdict));
}

static void append_attachments(const struct subject *subject, struct oneib_text *text)
{
    static const char *const titles[] = {"VM",       "NIC", "STATE",      "HOST",   "PORT",
                                         "OWN GUID", "IP",  "MEMBERSHIP", "VERDICT"};
    struct oneib_table table = {.columns = sizeof titles / sizeof *titles,
                                .right = 1u << 0 | 1u << 1};
    for (size_t i = 0; i < table.columns; i++)
        oneib_table_cell(&table, ONEIB_STRONG, "%s", titles[i]);
    for (size_t i = 0; i < subject->cluster->attachment_count; i++)
        add_attachment(&table, subject, subject->cluster->attachments[i]);

    oneib_text_append(text, "\n");
    oneib_table_render(&table, subject->run->color_out, "", text);
    oneib_table_clear(&table);
}

static void append_static_members(const struct oneib_network *network, struct oneib_text *text)
{
    for (size_t i = 0; i < network->static_count; i++) {
        char guid[ONEIB_GUID_TEXT_SIZE];
        oneib_guid_format(network->static_members[i].guid, guid);
        oneib_text_printf(text, "  %-11s %s %s\n", i ? "" : "static", guid,
                          oneib_membership_name(network->static_members[i].membership));
    }
}

static void append_network(const struct oneib_network *network, struct oneib_text *text)
{
    oneib_text_printf(text, "  membership  %s\n", oneib_membership_name(network->membership));
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
    if (network->rate_gbps)
        oneib_text_printf(text, "  rate        %u Gb/s\n", network->rate_gbps);
    if (network->parent_id != ONEIB_NO_ID)
        oneib_text_printf(text, "  reserved    from network %u\n", network->parent_id);
    append_static_members(network, text);
}

static void append_summary(const struct subject *subject, struct oneib_text *text)
{
    const struct oneib_cluster *cluster = subject->cluster;
    const enum oneib_cluster_state state = oneib_state_of(&subject->states, cluster);

    oneib_text_printf(text, "virtual cluster %u ", cluster->network_id);
    oneib_append_quoted(text, subject->network ? subject->network->name : "");
    oneib_text_append(text, "\n  P_Key       ");
    if (cluster->pkey)
        oneib_text_printf(text, "0x%04x (VLAN_ID %u)", cluster->pkey, cluster->pkey);
    else
        oneib_text_append(text, "none");
    oneib_text_append(text, "\n  state       ");
    oneib_paint(text, subject->run->color_out, oneib_state_style(state), "%s",
                oneib_state_name(state));
    oneib_text_append(text, "\n");
    if (subject->network)
        append_network(subject->network, text);
    oneib_text_append(text, "  size        ");
    oneib_append_count(text, cluster->vms, "VM");
    oneib_text_append(text, " on ");
    oneib_append_count(text, cluster->hosts, "host");
    oneib_text_append(text, "\n");
}

/* What is in the way: each reason once, then what the ports hold that they should not, or lack. */
static void append_obstacles(const struct subject *subject, struct oneib_text *text)
{
    unsigned said = 0;
    for (size_t i = 0; i < subject->cluster->attachment_count; i++) {
        const enum oneib_verdict verdict =
            subject->view->desired.verdicts[subject->cluster->attachments[i]];
        if (!reason(verdict) || (said & (1u << verdict)))
            continue;
        oneib_text_printf(text, "%s%s: %s\n", said ? "" : "\n", oneib_verdict_name(verdict),
                          reason(verdict));
        said |= 1u << verdict;
    }
    if (subject->cluster->pkey) {
        oneib_autotext struct oneib_text deviations = {0};
        oneib_deviations_append(subject->run, &subject->places, &subject->states.verification,
                                subject->cluster->pkey, &deviations);
        if (deviations.data) {
            oneib_text_append(text, "\n");
            oneib_text_append(text, deviations.data);
        }
    }
}

static int print_text(const struct subject *subject, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    append_summary(subject, &text);
    if (subject->cluster->attachment_count > 0)
        append_attachments(subject, &text);
    append_obstacles(subject, &text);
    oneib_print_findings(subject->run, subject->findings);
    return oneib_write_out(&text, err);
}

static json_t *attachment_json(const struct subject *subject, size_t index)
{
    const struct oneib_cloud *cloud = &subject->view->cloud;
    const struct oneib_attachment *attachment = &cloud->attachments[index];
    const enum oneib_verdict verdict = subject->view->desired.verdicts[index];
    const struct oneib_host *host = oneib_cloud_host(cloud, attachment->host_id);
    const struct oneib_host *source = source_host(cloud, attachment);
    const struct oneib_hca_port *port = oneib_port_of(cloud, attachment, attachment->host_id);
    oneib_autotext struct oneib_text state = {0};

    append_state_name(attachment, &state);
    return json_pack(
        "{s:I, s:i, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:o}", "vm",
        (json_int_t)attachment->vm_id, "nic", (int)attachment->nic_id, "state",
        oneib_json_text(state.data), "presence", oneib_presence_name(attachment->presence), "host",
        oneib_json_text(host ? host->name : NULL), "source_host",
        oneib_json_text(source ? source->name : NULL), "device",
        oneib_json_text(port ? port->device : NULL), "port_guid",
        port ? oneib_json_guid(port->port_guid) : json_null(), "guid",
        oneib_json_guid(
            oneib_guid_encode(subject->places.site, attachment->vm_id, attachment->nic_id)),
        "ip", oneib_json_ipv4(attachment->ipv4), "membership", membership_of(subject, attachment),
        "verdict", oneib_verdict_name(verdict), "reason", oneib_json_text(reason(verdict)));
}

static json_t *static_members_json(const struct oneib_network *network)
{
    json_t *array = json_array();
    for (size_t i = 0; network && i < network->static_count; i++)
        oneib_json_append(&array,
                          json_pack("{s:o, s:s}", "guid",
                                    oneib_json_guid(network->static_members[i].guid), "membership",
                                    oneib_membership_name(network->static_members[i].membership)));
    return array;
}

static int print_json(const struct subject *subject, struct oneib_error *err)
{
    const struct oneib_cluster *cluster = subject->cluster;
    const struct oneib_network *network = subject->network;
    json_t *attachments = json_array();
    for (size_t i = 0; i < cluster->attachment_count; i++)
        oneib_json_append(&attachments, attachment_json(subject, cluster->attachments[i]));

    return oneib_json_write(
        json_pack("{s:I, s:o, s:o, s:o, s:o, s:s, s:I, s:I, s:I, s:o, s:o, s:o}", "id",
                  (json_int_t)cluster->network_id, "name",
                  oneib_json_text(network ? network->name : NULL), "pkey",
                  oneib_json_key(cluster->pkey), "membership",
                  oneib_json_text(network ? oneib_membership_name(network->membership) : NULL),
                  "parent",
                  network && network->parent_id != ONEIB_NO_ID ? json_integer(network->parent_id)
                                                               : json_null(),
                  "state", oneib_state_name(oneib_state_of(&subject->states, cluster)), "members",
                  (json_int_t)cluster->members, "vms", (json_int_t)cluster->vms, "hosts",
                  (json_int_t)cluster->hosts, "static_members", static_members_json(network),
                  "attachments", attachments, "findings", oneib_json_findings(subject->findings)),
        err);
}

static int print(const struct oneib_run *run, const struct oneib_looked *looked,
                 const struct oneib_cluster *cluster, struct oneib_error *err)
{
    struct subject subject = {
        .run = run,
        .view = &looked->view,
        .cluster = cluster,
        .network = oneib_cloud_network(&looked->view.cloud, cluster->network_id),
        .findings = &looked->findings,
    };
    if (oneib_places_make(&looked->view, looked->session.config.site, &subject.places, err) < 0)
        return -1;
    int status = oneib_states_make(&looked->view, &subject.states, err);
    if (status == 0)
        status = run->json ? print_json(&subject, err) : print_text(&subject, err);
    oneib_states_clear(&subject.states);
    oneib_places_clear(&subject.places);
    return status;
}

static int find_and_print(const struct oneib_run *run, const struct oneib_looked *looked,
                          uint32_t id, struct oneib_error *err)
{
    const struct oneib_cluster *cluster = oneib_desired_cluster(&looked->view.desired, id);
    if (!cluster)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                          "there is no InfiniBand network %u; 'oneib list' shows those there are",
                          id);
    if (cluster->network_id != id)
        oneib_print_note("network %u shares the partition of network %u", id, cluster->network_id);
    return print(run, looked, cluster, err);
}

static enum oneib_exit run_show(const struct oneib_run *run, struct oneib_error *err)
{
    uint64_t id;
    if (oneib_usage_number(run->verb, "ID", run->words[0], INT32_MAX, &id, err))
        return ONEIB_EXIT_USAGE;

    struct oneib_looked looked;
    const enum oneib_look_fabric fabric = oneib_given(run, ONEIB_OPTION_NO_FABRIC)
                                              ? ONEIB_FABRIC_LEFT_ALONE
                                              : ONEIB_FABRIC_IF_POSSIBLE;
    if (oneib_look_at_all(run, fabric, false, &looked, err) < 0)
        return ONEIB_EXIT_FAILURE;
    const int status = find_and_print(run, &looked, (uint32_t)id, err);
    oneib_looked_clear(&looked);
    return status < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_show = {
    .name = "show",
    .summary = "one virtual cluster: every attachment, and what is in its way",
    .help = "usage: oneib show ID [--no-fabric] [--json]\n"
            "\n"
            "ID is the id of the virtual network.\n"
            "\n"
            "  --no-fabric  do not ask the fabric\n"
            "\n"
            "example:\n"
            "  $ oneib show 12\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_NO_FABRIC),
    .words_min = 1,
    .words_max = 1,
    .run = run_show,
};
