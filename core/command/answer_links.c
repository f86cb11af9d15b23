// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "command/answer.h"
#include "command/json.h"
#include "command/output.h"
#include "sync/sharing.h"
#include <inttypes.h>

#define NAME_COLUMNS 24

/* The links, and which clusters in force with an SL use them. A hop is an index of routes.hops. */
struct links {
    const struct oneib_command_request *request;
    const struct oneib_snapshot *snapshot;
    struct oneib_routes *routes;
    struct oneib_sharing sharing;
    struct oneib_findings findings; /* sl-shared alone */
    size_t silent;                  /* switches */
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
    const struct oneib_subnet *subnet = &links->snapshot->subnet;
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
    const struct oneib_hop *hop = &links->routes->hops[index];
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
            oneib_cloud_network(&links->snapshot->cloud, cluster->network_id);
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

static void write_text(const struct links *links, struct oneib_command_answer *answer)
{
    static const char *const heads[] = {"FROM", "TO", "SL", "CLUSTERS"};
    oneib_autotable struct oneib_table table = {.right = 1u << 2};
    oneib_table_titles(&table, heads, sizeof heads / sizeof *heads);
    for (size_t hop = 0; hop < links->routes->hop_count; hop++)
        append_hop(links, hop, &table);
    oneib_table_render(&table, links->request->color_out, "", &answer->out);
    if (links->silent)
        oneib_append_note(&answer->err,
                          "%zu switches did not show their forwarding tables: what leads through "
                          "them is not listed",
                          links->silent);
    oneib_append_findings(&answer->err, links->request->color_err, &links->findings);
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
    const struct oneib_hop *hop = &links->routes->hops[index];
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

static int write_json(const struct links *links, struct oneib_text *text, struct oneib_error *err)
{
    json_t *list = json_array();
    for (size_t hop = 0; hop < links->routes->hop_count; hop++)
        if (is_used(links, hop))
            oneib_json_append(&list, hop_json(links, hop));
    return oneib_json_render(json_pack("{s:o, s:I, s:o}", "links", list, "switches_silent",
                                       (json_int_t)links->silent, "findings",
                                       oneib_json_findings(&links->findings)),
                             text, err);
}

int oneib_answer_links(const struct oneib_command_request *request, struct oneib_view *view,
                       struct oneib_command_answer *answer, enum oneib_exit *outcome,
                       struct oneib_error *err)
{
    const struct oneib_snapshot *snapshot = view->snapshot;
    struct links links = {.request = request,
                          .snapshot = snapshot,
                          .routes = &view->checks->routes,
                          .silent = view->checks->silent_switches};
    int status = 0;
    (void)outcome; /* DONE */
    oneib_sharing_make_of(snapshot, &snapshot->seen.table, links.routes, ONEIB_SHARED_NOW,
                          &links.sharing);
    oneib_sharing_judge(&links.sharing, links.routes, &snapshot->cloud, &links.findings);
    if (request->json)
        status = write_json(&links, &answer->out, err);
    else
        write_text(&links, answer);
    oneib_sharing_clear(&links.sharing);
    oneib_findings_clear(&links.findings);
    return status;
}
