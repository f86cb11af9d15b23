// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"
#include "cluster/fence.h"
#include "cluster/host_attributes.h"
#include "cluster/host_port.h"
#include "cluster/names.h"
#include "command/answer.h"
#include "command/json.h"
#include "command/output.h"
#include "command/pick.h"
#include "sync/leaves.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN_HOST (1u << 0)
#define COLUMN_SWITCH (1u << 5)

/* What there is to say of all hosts. */
struct survey {
    const struct oneib_command_request *request;
    struct oneib_command_answer *answer;
    struct oneib_view *view;
    const struct oneib_leaves *leaves;
    struct oneib_leaves found;                 /* owned; empty where the view has leaves */
    struct oneib_hosts_attributes attributes;  /* the numbers of IB_VFS_FREE */
    const struct oneib_subnet_port **switches; /* owned: their ports 0 */
    size_t switch_count;
};

/* NULL: the fabric was not read, or has no such port. */
static const struct oneib_subnet_port *on_fabric(const struct survey *survey, oneib_guid guid)
{
    const struct oneib_snapshot *snapshot = survey->view->snapshot;
    return snapshot->subnet_known ? oneib_subnet_find(&snapshot->subnet, guid) : NULL;
}

static unsigned keys_on(const struct oneib_subnet_port *port)
{
    unsigned count = 0;
    for (unsigned i = 0; port->answered && i < port->partition_cap; i++)
        count += port->pkeys[i] != 0;
    return count;
}

/* What the fabric calls a switch; NULL: it is not known. */
static const char *switch_name(const struct survey *survey, oneib_guid switch_guid)
{
    for (size_t i = 0; switch_guid && i < survey->switch_count; i++)
        if (survey->switches[i]->node_guid == switch_guid)
            return survey->switches[i]->description;
    return NULL;
}

/* ---- what is wrong --------------------------------------------------------------------------- */

/* NULL: nothing, or what a fence is there for. */
static const char *port_problem(const struct survey *survey, const struct oneib_host *host,
                                const struct oneib_hca_port *port)
{
    const struct oneib_snapshot *snapshot = survey->view->snapshot;
    const struct oneib_subnet_port *found = on_fabric(survey, port->port_guid);
    if (!snapshot->subnet_known || oneib_ledger_fence(oneib_snapshot_ledger(snapshot), host->id))
        return NULL;
    if (!found)
        return "is off the fabric: is the host up, and cabled?";
    return found->answered ? NULL : "does not answer: what it holds is not known";
}

/* The name of its oneib-node's state; NULL: no oneibd listens here. */
static const char *node_state(const struct survey *survey, uint32_t host_id)
{
    const struct oneib_heard_node *node = oneib_heard_host(survey->view->heard, host_id);
    if (survey->view->heard_error->code)
        return NULL;
    return node ? oneib_node_state_name(node->state) : "unknown";
}

static bool is_unreachable(const char *node_state)
{
    return node_state && strcmp(node_state, "follows") != 0 && strcmp(node_state, "awaited") != 0;
}

static bool awaits_acceptance(const struct survey *survey, const struct oneib_host *host)
{
    const struct oneib_snapshot *snapshot = survey->view->snapshot;
    return !snapshot->ledger_lost &&
           oneib_ledger_awaits_acceptance(oneib_snapshot_ledger(snapshot), host);
}

static bool was_forgotten(const struct survey *survey, const struct oneib_host *host)
{
    return host->node_key[0] &&
           oneib_ledger_forgotten(oneib_snapshot_ledger(survey->view->snapshot), host->id);
}

/* NULL: none. *made has what is not the same for all hosts. */
static const char *host_problem(const struct survey *survey, const struct oneib_host *host,
                                struct oneib_shown *made)
{
    const struct oneib_host_attributes *item =
        oneib_host_attributes_of(&survey->attributes, host->id);
    const struct oneib_ledger_fence *fence =
        oneib_ledger_fence(oneib_snapshot_ledger(survey->view->snapshot), host->id);
    if (fence) {
        snprintf(made->text, sizeof made->text, "it is fenced: %.200s",
                 oneib_fence_advice(fence).text);
        return made->text;
    }
    if (host->state >= 0 && !oneib_host_is_heard(host->state))
        return "OpenNebula gets no monitoring from it: its last report may be stale (onehost show)";
    if (host->port_count == 0 && host->vfs_limit < 0)
        return "its probe is silent: is oneib installed there? Then 'onehost forceupdate'";
    if (awaits_acceptance(survey, host)) {
        snprintf(made->text, sizeof made->text,
                 "the key of its oneib-node is not accepted, so nothing is granted to it: "
                 "'oneib host accept %" PRIu32 "', or --all",
                 host->id);
        return made->text;
    }
    if (was_forgotten(survey, host)) {
        snprintf(made->text, sizeof made->text,
                 "an operator has forgotten it, so nothing is granted to it; to use it again: "
                 "'oneib host accept %" PRIu32 "'",
                 host->id);
        return made->text;
    }
    if (is_unreachable(node_state(survey, host->id)))
        return "its oneib-node does not report to oneibd: 'oneib hca' there says why";
    /* The probe says the same of a host whose oneib-node does not run. */
    if (host->port_count > 0 && (!item || item->vfs_total == 0))
        return "it has no virtual functions: set up SR-IOV there";
    return NULL;
}

/* Calls `say` for each thing that is wrong with a host; where: "" or the port. */
typedef void (*say_problem)(const struct oneib_host *host, const struct oneib_hca_port *port,
                            const char *what, void *context);

static void tell_problems(const struct survey *survey, const struct oneib_host *host,
                          say_problem say, void *context)
{
    struct oneib_shown made;
    const char *what = host_problem(survey, host, &made);
    if (what)
        say(host, NULL, what, context);
    for (size_t i = 0; i < host->port_count; i++)
        if ((what = port_problem(survey, host, &host->ports[i])))
            say(host, &host->ports[i], what, context);
}

static void append_problem(const struct oneib_host *host, const struct oneib_hca_port *port,
                           const char *what, void *context)
{
    struct oneib_text *text = context;
    oneib_text_printf(text, "%s", oneib_host_called(host->id, host->name).text);
    if (port)
        oneib_text_printf(text, " port %s/%u", port->device, port->port);
    oneib_text_printf(text, port ? " %s\n" : ": %s\n", what);
}

static void append_problems(const struct survey *survey, struct oneib_text *text)
{
    const struct oneib_cloud *cloud = &survey->view->snapshot->cloud;
    oneib_autotext struct oneib_text problems = {0};
    for (size_t i = 0; i < cloud->host_count; i++) {
        const struct oneib_host *host = &cloud->hosts[i];
        tell_problems(survey, host, append_problem, &problems);
        if (!host->problem)
            continue;
        oneib_text_printf(&problems,
                          "%s: its probe says: ", oneib_host_called(host->id, host->name).text);
        oneib_append_untrusted(&problems, host->problem, 0);
        oneib_text_append(&problems, "\n");
    }
    if (problems.data)
        oneib_text_printf(text, "\n%s", problems.data);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void add_titles(struct oneib_table *table)
{
    static const char *const titles[] = {"HOST",   "STATE", "NODE", "PORT", "GUID",
                                         "SWITCH", "USED",  "FREE", "VFS",  "P_KEYS"};
    table->right = 1u << 6 | 1u << 7 | 1u << 8 | 1u << 9;
    oneib_table_titles(table, titles, sizeof titles / sizeof *titles);
}

static void add_nothing(struct oneib_table *table, size_t columns)
{
    while (columns-- > 0)
        oneib_table_cell(table, ONEIB_FAINT, "-");
}

static void add_switch(struct oneib_table *table, const struct survey *survey,
                       const struct oneib_hca_port *port)
{
    const oneib_guid guid = oneib_leaf_of(survey->leaves, port->port_guid);
    const char *name = switch_name(survey, guid);
    char text[ONEIB_GUID_TEXT_SIZE] = "-";
    if (guid)
        oneib_guid_format(guid, text);
    oneib_table_untrusted(table, name && *name ? name : text, 0);
}

static void add_node(struct oneib_table *table, const struct survey *survey, uint32_t host_id)
{
    const char *state = node_state(survey, host_id);
    if (!state)
        add_nothing(table, 1);
    else
        oneib_table_cell(table, is_unreachable(state) ? ONEIB_BAD : ONEIB_PLAIN, "%s", state);
}

static void add_vfs(struct oneib_table *table, const struct oneib_host_attributes *item)
{
    oneib_table_cell(table, ONEIB_PLAIN, "%u", item->vfs_used);
    oneib_table_cell(table, item->vfs_free ? ONEIB_GOOD : ONEIB_CHANGED, "%u", item->vfs_free);
    oneib_table_cell(table, ONEIB_PLAIN, "%u", item->vfs_total);
}

static void add_keys(struct oneib_table *table, const struct survey *survey,
                     const struct oneib_hca_port *port)
{
    const struct oneib_subnet_port *found = on_fabric(survey, port->port_guid);
    if (!found || !found->answered) {
        add_nothing(table, 1);
        return;
    }
    const uint32_t capacity = oneib_port_key_capacity(found->partition_cap);
    const unsigned count = keys_on(found);
    oneib_table_cell(table, count < capacity ? ONEIB_PLAIN : ONEIB_CHANGED, "%u/%u", count,
                     capacity);
}

static void add_port(struct oneib_table *table, const struct survey *survey,
                     const struct oneib_host *host, const struct oneib_hca_port *port)
{
    const bool is_wrong = port_problem(survey, host, port) != NULL;
    oneib_table_cell(table, is_wrong ? ONEIB_BAD : ONEIB_PLAIN, "%s/%u", port->device, port->port);
    oneib_table_cell(table, ONEIB_PLAIN, "0x%016" PRIx64, port->port_guid);
    add_switch(table, survey, port);
}

/* A line for each port; VFs are the host's, so they stand in its first line alone. */
static void add_host(struct oneib_table *table, const struct survey *survey,
                     const struct oneib_host *host)
{
    const struct oneib_host_attributes *item =
        oneib_host_attributes_of(&survey->attributes, host->id);
    for (size_t i = 0; i < host->port_count || i == 0; i++) {
        oneib_table_untrusted(table, host->name, 0);
        oneib_table_cell(table, oneib_host_is_heard(host->state) ? ONEIB_PLAIN : ONEIB_BAD, "%s",
                         oneib_host_state_name(host->state));
        add_node(table, survey, host->id);
        if (host->port_count > 0)
            add_port(table, survey, host, &host->ports[i]);
        else
            add_nothing(table, 3);
        if (item && i == 0)
            add_vfs(table, item);
        else
            add_nothing(table, 3);
        if (host->port_count > 0)
            add_keys(table, survey, &host->ports[i]);
        else
            add_nothing(table, 1);
    }
}

static void write_text(const struct survey *survey)
{
    const struct oneib_cloud *cloud = &survey->view->snapshot->cloud;
    oneib_autotable struct oneib_table table = {0};
    struct oneib_text *text = &survey->answer->out;

    add_titles(&table);
    for (size_t i = 0; i < cloud->host_count; i++)
        add_host(&table, survey, &cloud->hosts[i]);
    oneib_table_fit(&table, COLUMN_HOST | COLUMN_SWITCH);
    oneib_table_render(&table, survey->request->color_out, "", text);
    oneib_append_reports_age(survey->view, "NODE, USED and FREE", text);
    append_problems(survey, text);
    oneib_append_findings(&survey->answer->err, survey->request->color_err, survey->view->findings);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *port_json(const struct survey *survey, const struct oneib_hca_port *port)
{
    const struct oneib_subnet_port *found = on_fabric(survey, port->port_guid);
    const oneib_guid leaf = oneib_leaf_of(survey->leaves, port->port_guid);
    const bool known = found && found->answered;
    return json_pack(
        "{s:o, s:i, s:o, s:o, s:o, s:o, s:I, s:o}", "device", oneib_json_text(port->device), "port",
        (int)port->port, "guid", oneib_json_guid(port->port_guid), "switch_guid",
        oneib_json_known_guid(leaf), "switch", oneib_json_text(switch_name(survey, leaf)), "pkeys",
        known ? json_integer(keys_on(found)) : json_null(), "pkeys_max",
        (json_int_t)oneib_port_key_capacity(known ? found->partition_cap : 0), "on_fabric",
        survey->view->snapshot->subnet_known ? json_boolean(found != NULL) : json_null());
}

static void append_problem_json(const struct oneib_host *host, const struct oneib_hca_port *port,
                                const char *what, void *context)
{
    json_t **array = context;
    (void)host;
    oneib_json_append(array, port ? json_sprintf("port %s/%u %s", port->device, port->port, what)
                                  : json_string(what));
}

static json_t *vf_json(const struct oneib_vf_record *record)
{
    char pci[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&record->vf, pci);
    return json_pack("{s:s, s:s, s:i, s:I, s:i, s:I, s:o, s:s, s:b}", "vf", pci, "device",
                     record->device, "port", (int)record->port, "vm", (json_int_t)record->vm_id,
                     "nic", (int)record->nic_id, "network", (json_int_t)record->network_id, "pkey",
                     oneib_json_key(record->pkey), "stage", oneib_vf_stage_name(record->stage),
                     "in_domain", (int)record->in_domain);
}

/* As its node reports them; null: it was not heard. */
static json_t *vfs_json(const struct survey *survey, uint32_t host_id)
{
    const struct oneib_heard_node *node = oneib_heard_host(survey->view->heard, host_id);
    json_t *vfs = json_array();
    for (size_t i = 0; node && i < node->record_count; i++)
        oneib_json_append(&vfs, vf_json(&node->records[i]));
    if (node && node->state != ONEIB_NODE_UNHEARD)
        return vfs;
    json_decref(vfs);
    return json_null();
}

static json_t *host_json(const struct survey *survey, const struct oneib_host *host)
{
    const struct oneib_host_attributes *item =
        oneib_host_attributes_of(&survey->attributes, host->id);
    json_t *ports = json_array(), *problems = json_array();
    for (size_t i = 0; i < host->port_count; i++)
        oneib_json_append(&ports, port_json(survey, &host->ports[i]));
    tell_problems(survey, host, append_problem_json, &problems);
    return json_pack(
        "{s:I, s:o, s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "id", (json_int_t)host->id,
        "name", oneib_json_text(host->name), "state", oneib_host_state_name(host->state), "node",
        oneib_json_text(node_state(survey, host->id)), "vfs", vfs_json(survey, host->id), "ports",
        ports, "vfs_used", (json_int_t)(item ? item->vfs_used : 0), "vfs_free",
        (json_int_t)(item ? item->vfs_free : 0), "vfs_total",
        (json_int_t)(item ? item->vfs_total : 0), "probe_says", oneib_json_text(host->problem),
        "problems", problems);
}

static int write_json(const struct survey *survey, struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = survey->view->snapshot;
    json_t *hosts = json_array();
    for (size_t i = 0; i < snapshot->cloud.host_count; i++)
        oneib_json_append(&hosts, host_json(survey, &snapshot->cloud.hosts[i]));
    return oneib_json_render(json_pack("{s:o, s:o, s:o, s:o}", "hosts", hosts, "reports_age",
                                       oneib_reports_age_json(survey->view), "fabric",
                                       oneib_fabric_json(snapshot), "findings",
                                       oneib_json_findings(survey->view->findings)),
                             &survey->answer->out, err);
}

/* ---- the verb -------------------------------------------------------------------------------- */

/* Without the switches all else can still be told. */
static void find_leaves(struct survey *survey)
{
    const struct oneib_snapshot *snapshot = survey->view->snapshot;
    struct oneib_error failure;
    survey->leaves = &survey->found;
    if (!snapshot->subnet_known)
        return;
    if (survey->view->leaves)
        survey->leaves = survey->view->leaves;
    else if (oneib_leaves_find(survey->view->fabric, &snapshot->cloud, &snapshot->subnet,
                               &survey->found, &failure) < 0)
        oneib_append_note(&survey->answer->err, "%s", failure.text);
}

static void list_switches(struct survey *survey)
{
    const struct oneib_subnet *subnet = &survey->view->snapshot->subnet;
    survey->switches = oneib_alloc(subnet->port_count + 1, sizeof(*survey->switches));
    for (size_t i = 0; i < subnet->port_count; i++)
        if (subnet->ports[i].node_type == ONEIB_NODE_SWITCH)
            survey->switches[survey->switch_count++] = &subnet->ports[i];
}

static bool is_about_a_host(const struct oneib_finding *finding, const void *context)
{
    (void)context;
    return oneib_finding_names_any(finding, ONEIB_SUBJECT_HOST);
}

/* By what nodes have told the daemon, where there is one. */
static void count_vfs(struct survey *survey)
{
    const struct oneib_heard *heard = survey->view->heard;
    struct oneib_node_snapshot *said = oneib_alloc(heard->count + 1, sizeof *said);
    for (size_t i = 0; i < heard->count; i++)
        said[i] =
            (struct oneib_node_snapshot){.host_id = heard->nodes[i].host_id,
                                         .table_known = heard->nodes[i].state != ONEIB_NODE_UNHEARD,
                                         .records = heard->nodes[i].records,
                                         .record_count = heard->nodes[i].record_count};
    const struct oneib_node_table table = {said, heard->count};
    oneib_host_attributes_compute(&survey->view->snapshot->cloud, &table, survey->leaves->items,
                                  survey->leaves->count, &survey->attributes);
    free(said);
}

int oneib_answer_hosts(const struct oneib_command_request *request, struct oneib_view *view,
                       struct oneib_command_answer *answer, enum oneib_exit *outcome,
                       struct oneib_error *err)
{
    struct survey survey = {.request = request, .view = view, .answer = answer};
    int status = 0;
    oneib_findings_keep(view->findings, is_about_a_host, NULL);
    find_leaves(&survey);
    list_switches(&survey);
    count_vfs(&survey);
    if (request->json)
        status = write_json(&survey, err);
    else
        write_text(&survey);
    free(survey.switches);
    oneib_host_attributes_clear(&survey.attributes);
    oneib_leaves_clear(&survey.found);
    *outcome = ONEIB_EXIT_DONE;
    return status;
}
