// SPDX-License-Identifier: Apache-2.0
#include "oneib/qos_links.h"
#include "base/cleanup.h"
#include "command/json.h"
#include "fabric/routes_read.h"
#include "oneib/command_read.h"
#include "oneib/print.h"
#include "sync/sharing.h"
#include <inttypes.h>

#define NAME_COLUMNS 24

/* The links, and which clusters in force with an SL use them. A hop is an index of routes.hops. */
struct links {
    const struct oneib_run *run;
    struct oneib_reading reading; /* its findings: sl-shared alone */
    struct oneib_routes routes;
    struct oneib_sharing sharing;
    size_t silent; /* switches */
};

/* ---- which clusters -------------------------------------------------------------------------- */

static bool uses(const struct oneib_routed_cluster *cluster, size_t hop)
{
    return cluster->set[hop / 64] >> hop % 64 & 1;
}

static bool carries(const struct links *links, size_t hop, uint8_t sl)
{
    for (size_t i = 0; i < links->sharing.count; i++)
        if (links->sharing.clusters[i].sl == sl && uses(&links->sharing.clusters[i], hop))
            return true;
    return false;
}

/* ---- as text --------------------------------------------------------------------------------- */

/* As its node calls itself; the GUID where it says nothing. */
static void append_node(const struct links *links, oneib_guid guid, bool is_node_guid,
                        struct oneib_text *text)
{
    const struct oneib_subnet *subnet = &links->reading.snapshot.subnet;
    for (size_t i = 0; i < subnet->port_count; i++) {
        const struct oneib_subnet_port *port = &subnet->ports[i];
        if ((is_node_guid ? port->node_guid : port->guid) != guid || !port->description[0])
            continue;
        oneib_append_untrusted(text, port->description, NAME_COLUMNS);
        return;
    }
    oneib_text_printf(text, "0x%016" PRIx64, guid);
}

static void append_ends(const struct links *links, size_t index, struct oneib_table *table)
{
    const struct oneib_hop *hop = &links->routes.hops[index];
    oneib_autotext struct oneib_text at_switch = {0}, other = {0};
    append_node(links, hop->switch_guid, true, &at_switch);
    oneib_text_printf(&at_switch, " port %u", hop->switch_port);
    append_node(links, hop->other, false, &other);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", hop->from_host ? other.data : at_switch.data);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", hop->from_host ? at_switch.data : other.data);
}

/* Those that share the level there are marked by that: there is more than one. */
static void append_clusters(const struct links *links, size_t hop, uint8_t sl,
                            struct oneib_table *table)
{
    oneib_autotext struct oneib_text text = {0};
    size_t count = 0;
    for (size_t i = 0; i < links->sharing.count; i++) {
        const struct oneib_routed_cluster *cluster = &links->sharing.clusters[i];
        if (cluster->sl != sl || !uses(cluster, hop))
            continue;
        const struct oneib_network *network =
            oneib_cloud_network(&links->reading.snapshot.cloud, cluster->network_id);
        oneib_text_append(&text, count++ ? ", " : "");
        if (network)
            oneib_append_untrusted(&text, network->name, NAME_COLUMNS);
        else
            oneib_text_printf(&text, "%" PRIu32, cluster->network_id);
    }
    oneib_table_cell(table, count > 1 ? ONEIB_CHANGED : ONEIB_PLAIN, "%s", text.data);
}

static void append_hop(const struct links *links, size_t hop, struct oneib_table *table)
{
    for (uint8_t sl = 1; sl < ONEIB_QOS_SLS; sl++) {
        if (!carries(links, hop, sl))
            continue;
        append_ends(links, hop, table);
        oneib_table_cell(table, ONEIB_PLAIN, "%u", sl);
        append_clusters(links, hop, sl, table);
    }
}

static int print_text(const struct links *links, struct oneib_error *err)
{
    static const char *const heads[] = {"FROM", "TO", "SL", "CLUSTERS"};
    oneib_autotext struct oneib_text text = {0};
    oneib_autotable struct oneib_table table = {.right = 1u << 2};
    oneib_table_titles(&table, heads, sizeof heads / sizeof *heads);
    for (size_t hop = 0; hop < links->routes.hop_count; hop++)
        append_hop(links, hop, &table);
    oneib_table_render(&table, links->run->color_out, "", &text);
    if (links->silent)
        oneib_print_note("%zu switches did not show their forwarding tables: what leads through "
                         "them is not listed",
                         links->silent);
    oneib_print_findings(links->run, &links->reading.findings);
    return oneib_write_out(&text, err);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static json_t *guid_json(oneib_guid guid)
{
    char text[19];
    snprintf(text, sizeof text, "0x%016" PRIx64, guid);
    return json_string(text);
}

static json_t *clusters_json(const struct links *links, size_t hop)
{
    json_t *list = json_array();
    for (size_t i = 0; i < links->sharing.count; i++) {
        const struct oneib_routed_cluster *cluster = &links->sharing.clusters[i];
        if (uses(cluster, hop))
            oneib_json_append(&list,
                              json_pack("{s:I, s:i}", "network", (json_int_t)cluster->network_id,
                                        "sl", (int)cluster->sl));
    }
    return list;
}

static json_t *hop_json(const struct links *links, size_t index)
{
    const struct oneib_hop *hop = &links->routes.hops[index];
    return json_pack("{s:o, s:i, s:b, s:o, s:o}", "switch", guid_json(hop->switch_guid), "port",
                     (int)hop->switch_port, "from_host", (int)hop->from_host, "other",
                     guid_json(hop->other), "clusters", clusters_json(links, index));
}

static bool is_used(const struct links *links, size_t hop)
{
    for (size_t i = 0; i < links->sharing.count; i++)
        if (uses(&links->sharing.clusters[i], hop))
            return true;
    return false;
}

static int print_json(const struct links *links, struct oneib_error *err)
{
    json_t *list = json_array();
    for (size_t hop = 0; hop < links->routes.hop_count; hop++)
        if (is_used(links, hop))
            oneib_json_append(&list, hop_json(links, hop));
    return oneib_json_write(json_pack("{s:o, s:I, s:o}", "links", list, "switches_silent",
                                      (json_int_t)links->silent, "findings",
                                      oneib_json_findings(&links->reading.findings)),
                            err);
}

/* ---- the verb -------------------------------------------------------------------------------- */

/* Of the findings only what this is about. */
static int find(struct links *links, struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = &links->reading.snapshot;
    oneib_findings_clear(&links->reading.findings);
    if (oneib_fabric_read_routes(links->reading.session.fabric, &snapshot->subnet, &links->routes,
                                 &links->silent, err) < 0)
        return -1;
    oneib_sharing_make_of(snapshot, &snapshot->seen.table, &links->routes, ONEIB_SHARED_NOW,
                          &links->sharing);
    oneib_sharing_judge(&links->sharing, &links->routes, &snapshot->cloud,
                        &links->reading.findings);
    return 0;
}

static int read_and_print(struct links *links, struct oneib_error *err)
{
    if (oneib_read_all(links->run, ONEIB_FABRIC_NEEDED, false, &links->reading, err) < 0 ||
        find(links, err) < 0)
        return -1;
    return links->run->json ? print_json(links, err) : print_text(links, err);
}

enum oneib_exit oneib_qos_links(const struct oneib_run *run, struct oneib_error *err)
{
    struct links links = {.run = run};
    const int outcome = read_and_print(&links, err);
    oneib_sharing_clear(&links.sharing);
    oneib_routes_clear(&links.routes);
    oneib_reading_clear(&links.reading);
    return outcome < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}
