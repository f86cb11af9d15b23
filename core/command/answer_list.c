// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "command/answer.h"
#include "command/command_owner.h"
#include "command/json.h"
#include "command/state.h"

#define COLUMN_NAME (1u << 1)
#define COLUMN_OWNER (1u << 2)

static void add_titles(struct oneib_table *table)
{
    static const char *const titles[] = {"ID",  "NAME",    "OWNER", "P_KEY",
                                         "VMS", "REFUSED", "HOSTS", "STATE"};
    table->right = 1u << 0 | 1u << 4 | 1u << 5 | 1u << 6;
    oneib_table_titles(table, titles, sizeof titles / sizeof *titles);
}

static void add_owner(struct oneib_table *table, const struct oneib_network *network)
{
    oneib_autotext struct oneib_text owner = {0};
    oneib_append_owner(&owner, network);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", owner.data ? owner.data : "-");
}

static void add_cluster(struct oneib_table *table, const struct oneib_states *states,
                        const struct oneib_cluster *cluster)
{
    const struct oneib_network *network =
        oneib_cloud_network(&states->snapshot->cloud, cluster->network_id);
    const enum oneib_cluster_state state = oneib_state_of(states, cluster);

    oneib_table_cell(table, ONEIB_PLAIN, "%u", cluster->network_id);
    oneib_table_untrusted(table, network ? network->name : "", 0);
    add_owner(table, network);
    oneib_table_cell(table, ONEIB_PLAIN, "%s",
                     cluster->pkey ? oneib_pkey_shown(cluster->pkey).text : "-");
    oneib_table_cell(table, ONEIB_PLAIN, "%zu", cluster->vms);
    oneib_table_cell(table, cluster->refused ? ONEIB_BAD : ONEIB_PLAIN, "%zu",
                     cluster->refused_vms);
    oneib_table_cell(table, ONEIB_PLAIN, "%zu", cluster->hosts);
    oneib_table_cell(table, oneib_state_style(state), "%s", oneib_state_name(state));
}

static void write_table(const struct oneib_states *states, bool color, struct oneib_text *text)
{
    const struct oneib_desired *desired = &states->snapshot->desired;
    oneib_autotable struct oneib_table table = {0};

    add_titles(&table);
    for (size_t i = 0; i < desired->cluster_count; i++)
        add_cluster(&table, states, &desired->clusters[i]);
    oneib_table_fit(&table, COLUMN_NAME | COLUMN_OWNER);
    oneib_table_render(&table, color, "", text);
}

static json_t *cluster_json(const struct oneib_states *states, const struct oneib_cluster *cluster)
{
    const struct oneib_network *network =
        oneib_cloud_network(&states->snapshot->cloud, cluster->network_id);
    return json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:s}", "id",
        (json_int_t)cluster->network_id, "name", oneib_json_text(network ? network->name : NULL),
        "owner", oneib_json_owner(network), "pkey", oneib_json_key(cluster->pkey), "membership",
        oneib_json_text(network ? oneib_membership_name(
                                      oneib_network_membership(&states->snapshot->cloud, network))
                                : NULL),
        "other_driver", oneib_json_text(network ? network->other_driver : NULL), "members",
        (json_int_t)cluster->members, "vms", (json_int_t)cluster->vms, "refused",
        (json_int_t)cluster->refused, "refused_vms", (json_int_t)cluster->refused_vms, "hosts",
        (json_int_t)cluster->hosts, "state", oneib_state_name(oneib_state_of(states, cluster)));
}

static int write_json(const struct oneib_states *states, const struct oneib_findings *findings,
                      struct oneib_text *text, struct oneib_error *err)
{
    const struct oneib_desired *desired = &states->snapshot->desired;
    json_t *clusters = json_array();
    for (size_t i = 0; i < desired->cluster_count; i++)
        oneib_json_append(&clusters, cluster_json(states, &desired->clusters[i]));
    return oneib_json_render(json_pack("{s:o, s:o, s:o}", "clusters", clusters, "fabric",
                                       oneib_fabric_json(states->snapshot), "findings",
                                       oneib_json_findings(findings)),
                             text, err);
}

int oneib_answer_list(const struct oneib_command_request *request, struct oneib_view *view,
                      struct oneib_command_answer *answer, enum oneib_exit *outcome,
                      struct oneib_error *err)
{
    int status = 0;
    if (!request->json)
        oneib_append_findings(&answer->err, request->color_err, view->findings);
    oneib_auto(oneib_states_clear) struct oneib_states states;
    oneib_states_make(view, &states);
    if (request->json)
        status = write_json(&states, view->findings, &answer->out, err);
    else
        write_table(&states, request->color_out, &answer->out);
    *outcome = oneib_exit_of_view(view);
    return status;
}
