// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "oneib/command_owner.h"
#include "oneib/command_read.h"
#include "oneib/json.h"
#include "oneib/state.h"

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

static int print_table(const struct oneib_run *run, const struct oneib_states *states,
                       struct oneib_error *err)
{
    const struct oneib_desired *desired = &states->snapshot->desired;
    oneib_autotable struct oneib_table table = {0};
    oneib_autotext struct oneib_text text = {0};

    add_titles(&table);
    for (size_t i = 0; i < desired->cluster_count; i++)
        add_cluster(&table, states, &desired->clusters[i]);
    oneib_table_fit(&table, COLUMN_NAME | COLUMN_OWNER);
    oneib_table_render(&table, run->color_out, "", &text);
    return oneib_write_out(&text, err);
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

static int print_json(const struct oneib_states *states, const struct oneib_findings *findings,
                      struct oneib_error *err)
{
    const struct oneib_desired *desired = &states->snapshot->desired;
    json_t *clusters = json_array();
    for (size_t i = 0; i < desired->cluster_count; i++)
        oneib_json_append(&clusters, cluster_json(states, &desired->clusters[i]));
    return oneib_json_write(json_pack("{s:o, s:o, s:o}", "clusters", clusters, "fabric",
                                      oneib_fabric_json(states->snapshot), "findings",
                                      oneib_json_findings(findings)),
                            err);
}

static enum oneib_exit run_list(const struct oneib_run *run, struct oneib_error *err)
{
    oneib_autoreading struct oneib_reading reading;
    if (oneib_read_all(run, ONEIB_FABRIC_IF_POSSIBLE, false, &reading, err) < 0)
        return ONEIB_EXIT_FAILURE;
    if (!run->json)
        oneib_print_findings(run, &reading.findings);
    oneib_auto(oneib_states_clear) struct oneib_states states;
    oneib_states_make(&reading.snapshot, &states);
    const int status =
        run->json ? print_json(&states, &reading.findings, err) : print_table(run, &states, err);
    return status < 0 ? ONEIB_EXIT_FAILURE : oneib_exit_of_reading(&reading);
}

const struct oneib_verb oneib_verb_list = {
    .name = "list",
    .summary = "virtual clusters: P_Key, VMs, hosts, state on the fabric",
    .help = "usage: oneib list [--no-fabric] [--json]\n"
            "\n"
            "One line for each virtual cluster. OWNER is user:group, VMS those that are\n"
            "members, REFUSED those that are on a host and get nothing there ('oneib show'\n"
            "says why). STATE is the fabric's word: what the ports hold. Exits 1 when they\n"
            "cannot be read.\n"
            "\n"
            "  --no-fabric  do not ask the fabric; STATE then compares with opensm's file\n"
            "\n"
            "example:\n"
            "  $ oneib list --no-fabric\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_NO_FABRIC),
    .run = run_list,
};
