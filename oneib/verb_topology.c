// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/file.h"
#include "cluster/port_index.h"
#include "fabric/discover.h"
#include "oneib/command_look.h"
#include "oneib/options.h"
#include "oneib/output.h"
#include "sm/kind.h"
#include "topology/topology.h"
#include <string.h>

#define PARTITIONS_MAX_SIZE ((size_t)256 << 20)

typedef void (*drawing)(const struct oneib_topology *topology,
                        const struct oneib_partition_table *table, const struct oneib_cloud *cloud,
                        struct oneib_text *text);

static const struct {
    const char *name;
    drawing draw;
} formats[] = {
    {"text", oneib_topology_text},
    {"dot", oneib_topology_dot},
    {"svg", oneib_topology_svg},
};

/* The fabric, and the partitions that colour it; where those come from is said on standard error.
 */
struct picture {
    struct oneib_session session;
    struct oneib_topology topology;
    struct oneib_view view;                    /* when oned could be asked */
    struct oneib_partition_table in_force;     /* else, when there is a file */
    const struct oneib_partition_table *table; /* one of both, or NULL */
    const struct oneib_cloud *cloud;           /* that names the networks, or NULL */
    const char *source;
};

static enum oneib_exit choose_format(const struct oneib_run *run, drawing *draw,
                                     struct oneib_error *err)
{
    const char *wanted = run->values[ONEIB_OPTION_FORMAT];
    if (wanted && run->json)
        return oneib_usage(run->verb, err, "--format and --json exclude each other");

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(wanted ? wanted : "text", formats[i].name) == 0) {
            *draw = formats[i].draw;
            return ONEIB_EXIT_DONE;
        }
    }
    return oneib_usage(run->verb, err, "--format is text, dot or svg, not '%s'", wanted);
}

static bool take_from_one(const struct oneib_run *run, struct picture *picture)
{
    struct oneib_error why;
    if (oneib_session_open_one(&picture->session, &why) < 0 ||
        oneib_view_of(run, &picture->session, false, &picture->view, &why) < 0) {
        oneib_print_note("virtual clusters are not from OpenNebula: %s", why.text);
        return false;
    }
    picture->table = &picture->view.desired.table;
    picture->cloud = &picture->view.cloud;
    picture->source = "one";
    return true;
}

/* Where virtual ports were seen. Without it they are drawn where OpenNebula has their VMs. */
static void add_virtual_ports(struct picture *picture)
{
    struct oneib_session *session = &picture->session;
    struct oneib_view *view = &picture->view;
    struct oneib_heard heard;
    struct oneib_error why;
    if (!oneib_vports_are_wanted(&session->config) ||
        oneib_heard_read(oneib_config_state(&session->config), &heard, &why) < 0)
        return;
    if (oneib_session_open_fabric(session, &why) < 0 ||
        oneib_fabric_read(session->fabric, &view->subnet, &why) < 0 ||
        oneib_look_at_virtual_ports(session, &heard, view, &why) < 0 ||
        oneib_topology_add_vports(&picture->topology, &view->subnet, &why) < 0)
        oneib_print_note("virtual ports were not read: %s", why.text);
    oneib_heard_clear(&heard);
}

/* What the subnet manager says that is in force. */
static bool take_from_sm(struct picture *picture)
{
    struct oneib_seen seen = {0};
    struct oneib_error why;
    if (oneib_sm_look(picture->session.sm, &seen, &why) < 0) {
        oneib_print_note("nor from the subnet manager: %s", why.text);
        return false;
    }
    picture->in_force = seen.table;
    seen.table = (struct oneib_partition_table){0};
    oneib_seen_clear(&seen);
    oneib_print_note("virtual clusters are from %s", oneib_sm_place(picture->session.sm));
    picture->table = &picture->in_force;
    picture->source = "file";
    return true;
}

static bool take_from_file(struct picture *picture)
{
    if (oneib_sm_traits(picture->session.config.sm.kind)->is_elsewhere)
        return take_from_sm(picture);
    const char *path = picture->session.config.opensm.partitions;
    oneib_autofree char *data = NULL;
    size_t length;
    struct oneib_error why;
    if (oneib_file_read(path, PARTITIONS_MAX_SIZE, &data, &length, &why) < 0 ||
        oneib_partitions_parse(data, length, path, &picture->in_force, &why) < 0) {
        oneib_print_note("nor from the file in force: %s", why.text);
        return false;
    }
    oneib_print_note("virtual clusters are from %s", path);
    picture->table = &picture->in_force;
    picture->source = "file";
    return true;
}

static json_t *nodes_json(const struct oneib_topology *topology)
{
    static const char *const types[] = {
        [ONEIB_NODE_CA] = "ca", [ONEIB_NODE_SWITCH] = "switch", [ONEIB_NODE_ROUTER] = "router"};
    json_t *array = json_array();
    for (size_t i = 0; i < topology->node_count; i++) {
        const struct oneib_topology_node *node = &topology->nodes[i];
        const bool known = node->type >= ONEIB_NODE_CA && node->type <= ONEIB_NODE_ROUTER;
        oneib_json_append(
            &array, json_pack("{s:o, s:s, s:i, s:o}", "guid", oneib_json_guid(node->guid), "type",
                              known ? types[node->type] : "unknown", "ports", (int)node->port_count,
                              "description", oneib_json_text(node->description)));
    }
    return array;
}

static json_t *end_json(const struct oneib_topology *topology, size_t node, uint8_t port,
                        oneib_guid guid)
{
    return json_pack("{s:o, s:i, s:o}", "node", oneib_json_guid(topology->nodes[node].guid), "port",
                     (int)port, "port_guid", oneib_json_guid(guid));
}

static json_t *links_json(const struct oneib_topology *topology)
{
    json_t *array = json_array();
    for (size_t i = 0; i < topology->link_count; i++) {
        const struct oneib_topology_link *link = &topology->links[i];
        oneib_json_append(
            &array, json_pack("{s:o, s:o, s:o}", "a",
                              end_json(topology, link->a, link->a_port, link->a_guid), "b",
                              end_json(topology, link->b, link->b_port, link->b_guid), "rate_gbps",
                              link->rate_gbps ? json_integer(link->rate_gbps) : json_null()));
    }
    return array;
}

/* {id, name}; null for a partition that is no network's, and where oned was not asked. */
static json_t *network_json(const struct oneib_cloud *cloud,
                            const struct oneib_partition *partition)
{
    const struct oneib_network *network = cloud ? oneib_network_of(cloud, partition) : NULL;
    return network ? json_pack("{s:I, s:o}", "id", (json_int_t)network->id, "name",
                               oneib_json_text(network->name))
                   : json_null();
}

static json_t *clusters_json(const struct picture *picture)
{
    const struct oneib_partition_table *table = picture->table;
    json_t *array = json_array();
    for (size_t i = 0; table && i < table->count; i++) {
        const struct oneib_partition *partition = &table->items[i];
        json_t *ports = json_array();
        for (size_t j = 0; j < partition->member_count; j++) {
            if (partition->members[j].kind == ONEIB_MEMBER_GUID)
                oneib_json_append(&ports, oneib_json_guid(partition->members[j].guid));
        }
        oneib_json_append(&array,
                          json_pack("{s:s, s:o, s:o, s:o}", "name", partition->name, "pkey",
                                    oneib_json_key(partition->pkey), "network",
                                    network_json(picture->cloud, partition), "port_guids", ports));
    }
    return array;
}

static json_t *virtual_ports_json(const struct oneib_topology *topology)
{
    json_t *array = json_array();
    for (size_t i = 0; i < topology->vport_count; i++)
        oneib_json_append(&array,
                          json_pack("{s:o, s:o}", "guid", oneib_json_guid(topology->vports[i].guid),
                                    "port_guid", oneib_json_guid(topology->vports[i].port_guid)));
    return array;
}

static json_t *picture_json(const struct picture *picture)
{
    json_t *document =
        json_pack("{s:o, s:o, s:o, s:o}", "nodes", nodes_json(&picture->topology), "links",
                  links_json(&picture->topology), "partitions", clusters_json(picture),
                  "partitions_from", oneib_json_text(picture->source));
    if (document && picture->view.vports.was_tried)
        json_object_set_new(document, "virtual_ports", virtual_ports_json(&picture->topology));
    return document;
}

static int print(const struct oneib_run *run, const struct picture *picture, drawing draw,
                 struct oneib_error *err)
{
    if (run->json)
        return oneib_json_write(picture_json(picture), err);
    oneib_autotext struct oneib_text text = {0};
    draw(&picture->topology, picture->table, picture->cloud, &text);
    return oneib_write_out(&text, err);
}

static int draw_fabric(const struct oneib_run *run, struct picture *picture, drawing draw,
                       struct oneib_error *err)
{
    const struct oneib_fabric_options options = oneib_fabric_options_of(&picture->session.config);
    if (oneib_fabric_discover(&options, &picture->topology, err) < 0)
        return -1;
    if (!take_from_one(run, picture))
        take_from_file(picture);
    else
        add_virtual_ports(picture);
    return print(run, picture, draw, err);
}

static enum oneib_exit run_topology(const struct oneib_run *run, struct oneib_error *err)
{
    drawing draw = oneib_topology_text;
    if (choose_format(run, &draw, err) != ONEIB_EXIT_DONE)
        return ONEIB_EXIT_USAGE;

    struct picture picture = {0};
    if (oneib_session_begin(run, &picture.session, err) < 0)
        return ONEIB_EXIT_FAILURE;
    const int status = draw_fabric(run, &picture, draw, err);
    oneib_partition_table_clear(&picture.in_force);
    oneib_view_clear(&picture.view);
    oneib_topology_clear(&picture.topology);
    oneib_session_end(&picture.session);
    return status < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_topology = {
    .name = "topology",
    .summary = "the fabric's graph, with its virtual clusters",
    .help = "usage: oneib topology [--format text|dot|svg] [--json]\n"
            "\n"
            "  --format F  text (default), dot (for graphviz) or svg\n"
            "\n"
            "Clusters are OpenNebula's when oned answers, else those of the file in force,\n"
            "which knows the networks' numbers alone.\n"
            "\n"
            "example:\n"
            "  $ oneib topology --format svg > fabric.svg\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_FORMAT),
    .run = run_topology,
};
