// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/file.h"
#include "base/number.h"
#include "cluster/port_index.h"
#include "command/json.h"
#include "command/pick.h"
#include "fabric/discover.h"
#include "fabric/routes_read.h"
#include "oneib/command_read.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include "sm/kind.h"
#include "sync/classes.h"
#include "sync/sharing.h"
#include "topology/topology_levels.h"
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
    struct oneib_snapshot snapshot;            /* when oned could be asked */
    struct oneib_partition_table in_force;     /* else, when there is a file */
    const struct oneib_partition_table *table; /* one of both, or NULL */
    const struct oneib_cloud *cloud;           /* that names the networks, or NULL */
    const char *source;
    struct oneib_classes classes;
    const char *class_of[ONEIB_QOS_SLS]; /* what topology.classes is then */
    uint32_t shown;                      /* what topology.shown is, with --cluster */
};

static enum oneib_exit choose_format(const struct oneib_run *run, drawing *draw,
                                     struct oneib_error *err)
{
    const char *wanted = run->values[ONEIB_OPTION_FORMAT];
    if (wanted && run->json)
        return oneib_usage(run->verb, err,
                           "options '--format' and '--json' are mutually exclusive");

    if (oneib_given(run, ONEIB_OPTION_CLUSTER) && (!wanted || strcmp(wanted, "text") == 0))
        return oneib_usage(
            run->verb, err,
            "option '--cluster' is valid only with '--format svg' or '--format dot'");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(wanted ? wanted : "text", formats[i].name) == 0) {
            *draw = formats[i].draw;
            return ONEIB_EXIT_DONE;
        }
    }
    return oneib_usage(run->verb, err, "invalid --format '%s': expected text, dot or svg", wanted);
}

static bool take_from_one(const struct oneib_run *run, struct picture *picture)
{
    struct oneib_error why;
    if (oneib_session_open_one(&picture->session, &why) < 0 ||
        oneib_snapshot_of(run, &picture->session, false, &picture->snapshot, &why) < 0) {
        oneib_print_note("virtual clusters are not from OpenNebula: %s", why.text);
        return false;
    }
    picture->table = &picture->snapshot.desired.table;
    picture->cloud = &picture->snapshot.cloud;
    picture->source = "one";
    return true;
}

/* Where virtual ports were seen. Without it they are drawn where OpenNebula has their VMs. */
static void add_virtual_ports(struct picture *picture)
{
    struct oneib_session *session = &picture->session;
    struct oneib_snapshot *snapshot = &picture->snapshot;
    oneib_auto(oneib_heard_clear) struct oneib_heard heard = {0};
    struct oneib_error why;
    if (!oneib_vports_are_wanted(&session->config) ||
        oneib_heard_read(oneib_config_state(&session->config), &heard, &why) < 0)
        return;
    if (oneib_session_open_fabric(session, &why) < 0 ||
        oneib_fabric_read(session->fabric, &snapshot->subnet, &why) < 0 ||
        oneib_read_virtual_ports(session, &heard, snapshot, &why) < 0)
        oneib_print_note("virtual ports were not read: %s", why.text);
    else
        oneib_topology_add_vports(&picture->topology, &snapshot->subnet);
}

/* What the subnet manager says that is in force. */
static bool take_from_sm(struct picture *picture)
{
    oneib_auto(oneib_seen_clear) struct oneib_seen seen = {0};
    struct oneib_error why;
    if (oneib_sm_read(picture->session.sm, &seen, &why) < 0) {
        oneib_print_note("nor from the subnet manager: %s", why.text);
        return false;
    }
    picture->in_force = seen.table;
    seen.table = (struct oneib_partition_table){0};
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

/* A word of digits is an id, as for 'show'. */
static int find_network(const struct picture *picture, const char *word, uint32_t *id,
                        struct oneib_error *err)
{
    uint64_t number;
    if (oneib_parse_decimal(word, UINT32_MAX, &number)) {
        *id = (uint32_t)number;
        return 0;
    }
    return picture->cloud
               ? oneib_pick_network(picture->cloud, word, id, err)
               : oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                            "names of networks are not known without OpenNebula: --cluster takes "
                            "the id");
}

/* A reservation that shares its parent's partition is in the parent's cluster. */
static int choose_cluster(const struct oneib_run *run, struct picture *picture,
                          struct oneib_error *err)
{
    const char *word = run->values[ONEIB_OPTION_CLUSTER];
    uint32_t id;
    if (!word)
        return 0;
    if (find_network(picture, word, &picture->shown, err) < 0)
        return -1;
    const struct oneib_cluster *cluster =
        picture->cloud ? oneib_desired_cluster(&picture->snapshot.desired, picture->shown) : NULL;
    if (cluster)
        picture->shown = cluster->network_id;
    for (size_t i = 0; picture->table && i < picture->table->count; i++)
        if (oneib_cluster_name_parse(picture->table->items[i].name, &id) && id == picture->shown) {
            picture->topology.shown = &picture->shown;
            return 0;
        }
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "network %u has no virtual cluster; 'oneib list' shows those there are",
                      picture->shown);
}

/* ---- classes --------------------------------------------------------------------------------- */

static int take_classes(struct picture *picture, struct oneib_error *err)
{
    if (oneib_classes_read(&picture->session.config, &picture->classes, err) < 0)
        return -1;
    for (size_t i = 0; i < picture->classes.count; i++)
        for (uint8_t sl = 0; sl < ONEIB_QOS_SLS; sl++)
            if (picture->classes.items[i].sls >> sl & 1)
                picture->class_of[sl] = picture->classes.items[i].name;
    if (picture->classes.count)
        picture->topology.classes = picture->class_of;
    return 0;
}

static void carry(struct picture *picture, struct oneib_routes *routes)
{
    oneib_auto(oneib_sharing_clear) struct oneib_sharing sharing;
    oneib_sharing_make_of(&picture->snapshot, picture->table, routes, ONEIB_SHARED_NOW, &sharing);
    oneib_topology_carry(&picture->topology, routes, sharing.clusters, sharing.count);
}

static int read_links(struct picture *picture, struct oneib_error *err)
{
    oneib_auto(oneib_subnet_clear) struct oneib_subnet subnet = {0};
    oneib_auto(oneib_routes_clear) struct oneib_routes routes = {0};
    size_t silent = 0;
    if (oneib_session_open_fabric(&picture->session, err) < 0 ||
        oneib_fabric_read(picture->session.fabric, &subnet, err) < 0)
        return -1;
    int outcome = oneib_fabric_read_routes(picture->session.fabric, &subnet, &routes, &silent, err);
    if (outcome == 0)
        carry(picture, &routes);
    if (silent)
        oneib_print_note("%zu switches did not show their forwarding tables: what links carry is "
                         "known in part",
                         silent);
    return outcome;
}

/* The picture is good without. */
static void take_levels_of_links(struct picture *picture)
{
    struct oneib_error why;
    if (picture->topology.classes && picture->table && read_links(picture, &why) < 0)
        oneib_print_note("which classes links carry is not known: %s", why.text);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static json_t *level_json(const struct oneib_topology *topology, uint8_t sl)
{
    const char *name = topology->classes[sl];
    return json_pack("{s:i, s:o}", "sl", (int)sl, "class", name ? json_string(name) : json_null());
}

static json_t *levels_json(const struct oneib_topology *topology, uint16_t levels)
{
    json_t *array = json_array();
    for (uint8_t sl = 0; sl < ONEIB_QOS_SLS; sl++)
        if (levels >> sl & 1)
            oneib_json_append(&array, level_json(topology, sl));
    return array;
}

/* Adds the field where there are classes: without them documents are as they always were. */
static json_t *with_level(json_t *object, const struct oneib_topology *topology, const char *name,
                          bool is_one, uint16_t levels)
{
    if (object && topology->classes)
        json_object_set_new(object, name,
                            is_one ? level_json(topology, (uint8_t)levels)
                                   : levels_json(topology, levels));
    return object;
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
        json_t *object = json_pack(
            "{s:o, s:o, s:o}", "a", end_json(topology, link->a, link->a_port, link->a_guid), "b",
            end_json(topology, link->b, link->b_port, link->b_guid), "rate_gbps",
            link->rate_gbps ? json_integer(link->rate_gbps) : json_null());
        oneib_json_append(&array, with_level(object, topology, "carries", false, link->levels));
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
        for (size_t j = 0; j < partition->member_count; j++)
            if (partition->members[j].kind == ONEIB_MEMBER_GUID)
                oneib_json_append(&ports, oneib_json_guid(partition->members[j].guid));
        json_t *object = json_pack("{s:s, s:o, s:o, s:o}", "name", partition->name, "pkey",
                                   oneib_json_key(partition->pkey), "network",
                                   network_json(picture->cloud, partition), "port_guids", ports);
        oneib_json_append(&array,
                          with_level(object, &picture->topology, "level", true, partition->sl));
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
    if (document && picture->snapshot.vports.was_tried)
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
    if (choose_cluster(run, picture, err) < 0 || take_classes(picture, err) < 0)
        return -1;
    take_levels_of_links(picture);
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
    oneib_snapshot_clear(&picture.snapshot);
    oneib_topology_clear(&picture.topology);
    oneib_session_end(&picture.session);
    return status < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}

const struct oneib_verb oneib_verb_topology = {
    .name = "topology",
    .summary = "the fabric's graph, with its virtual clusters",
    .help = "usage: oneib topology [--format text|dot|svg] [--cluster ID|NAME] [--json]\n"
            "\n"
            "  --format F   text (default), dot (for graphviz) or svg\n"
            "  --cluster C  dot and svg: colour this network's cluster, all others are grey.\n"
            "               Else the first 21 (dot: 7) have a mark each, the others are grey\n"
            "\n"
            "Clusters are OpenNebula's when oned answers, else those of the file in force,\n"
            "which knows the networks' numbers alone. With qos.classes in oneib.conf each has\n"
            "its class and service level, and each link those of the clusters that use it.\n"
            "\n"
            "example:\n"
            "  $ oneib topology --format svg > fabric.svg\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_FORMAT) | ONEIB_TAKES(ONEIB_OPTION_CLUSTER),
    .run = run_topology,
};
