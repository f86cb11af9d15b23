// SPDX-License-Identifier: Apache-2.0
#include "oneib/qos_measured.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/number.h"
#include "cluster/names.h"
#include "fabric/counters_read.h"
#include "ib/ipoib.h"
#include "oneib/options.h"
#include "oneib/pick.h"
#include "oneib/qos_links.h"
#include "sync/classes.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_SECONDS 10
#define SECONDS_MAX 3600
#define DEFAULT_MTU 4096 /* as in verb_qos.c: what is promised holds for smaller ones too */

/* One direction of a link, with its port as it was read twice. */
struct measured_hop {
    size_t hop; /* of links.routes */
    bool is_known;
    struct oneib_counted_port before, after;
    struct oneib_link_use use; /* where both answered */
};

struct measured {
    const struct oneib_run *run;
    struct oneib_qos_links links;
    struct oneib_classes classes;
    struct oneib_qos qos;
    unsigned mtu;
    unsigned seconds;
    uint32_t networks[ONEIB_WORDS_MAX]; /* that were named */
    struct measured_hop *hops;
    size_t hop_count;
};

/* ---- which links ----------------------------------------------------------------------------- */

static const struct oneib_routed_cluster *find_cluster(const struct measured *measured, uint32_t id)
{
    for (size_t i = 0; i < measured->links.sharing.count; i++)
        if (measured->links.sharing.clusters[i].network_id == id)
            return &measured->links.sharing.clusters[i];
    return NULL;
}

static int find_network(struct measured *measured, size_t word, struct oneib_error *err)
{
    const struct oneib_cloud *cloud = &measured->links.reading.snapshot.cloud;
    uint32_t *id = &measured->networks[word];
    uint64_t number;
    if (oneib_parse_decimal(measured->run->words[word], UINT32_MAX - 1, &number) &&
        oneib_cloud_network(cloud, (uint32_t)number))
        *id = (uint32_t)number;
    else if (oneib_pick_network(cloud, measured->run->words[word], id, err) < 0)
        return -1;
    /* A reservation may share its parent's partition. */
    const struct oneib_cluster *cluster =
        oneib_desired_cluster(&measured->links.reading.snapshot.desired, *id);
    if (cluster && find_cluster(measured, cluster->network_id)) {
        *id = cluster->network_id;
        return 0;
    }
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "%s is not in force, or has no SL of a class: 'oneib show' says which",
                      oneib_network_id_shown(cloud, *id).text);
}

static bool is_wanted(const struct measured *measured, const struct oneib_routed_cluster *cluster)
{
    if (measured->run->word_count == 0)
        return true;
    for (size_t i = 0; i < measured->run->word_count; i++)
        if (measured->networks[i] == cluster->network_id)
            return true;
    return false;
}

static bool is_wanted_hop(const struct measured *measured, size_t hop)
{
    for (size_t i = 0; i < measured->links.sharing.count; i++) {
        const struct oneib_routed_cluster *cluster = &measured->links.sharing.clusters[i];
        if (is_wanted(measured, cluster) && (cluster->set[hop / 64] >> hop % 64 & 1))
            return true;
    }
    return false;
}

/* The port that sends in this direction; false: it is none of the subnet as it was read. */
static bool sender_of(const struct measured *measured, const struct oneib_hop *hop,
                      struct oneib_counted_port *sender)
{
    const struct oneib_subnet *subnet = &measured->links.reading.snapshot.subnet;
    for (size_t i = 0; i < subnet->port_count; i++) {
        const struct oneib_subnet_port *port = &subnet->ports[i];
        const bool is_switch = port->node_type == ONEIB_NODE_SWITCH;
        if (hop->from_host ? port->guid != hop->other
                           : !is_switch || port->node_guid != hop->switch_guid)
            continue;
        *sender = (struct oneib_counted_port){
            .guid = port->guid,
            .lid = port->lid,
            .number = hop->from_host ? port->port_number : hop->switch_port,
            .is_switch = !hop->from_host,
        };
        return true;
    }
    return false;
}

static void list_hops(struct measured *measured)
{
    const struct oneib_routes *routes = &measured->links.routes;
    measured->hops = oneib_alloc(routes->hop_count + 1, sizeof *measured->hops);
    for (size_t hop = 0; hop < routes->hop_count; hop++) {
        if (!is_wanted_hop(measured, hop))
            continue;
        struct measured_hop *item = &measured->hops[measured->hop_count++];
        item->hop = hop;
        item->is_known = sender_of(measured, &routes->hops[hop], &item->before);
        if (!item->is_known)
            snprintf(item->before.reason, sizeof item->before.reason,
                     "its port did not answer when the fabric was read");
        item->after = item->before;
    }
}

/* ---- measuring ------------------------------------------------------------------------------- */

static int read_once(struct measured *measured, bool is_first, struct oneib_error *err)
{
    oneib_autofree struct oneib_counted_port *ports =
        oneib_alloc(measured->hop_count + 1, sizeof *ports);
    size_t count = 0;
    for (size_t i = 0; i < measured->hop_count; i++)
        if (measured->hops[i].is_known)
            ports[count++] = measured->hops[i].before;
    if (oneib_fabric_read_counters(measured->links.reading.session.fabric, ports, count, err) < 0)
        return -1;
    count = 0;
    for (size_t i = 0; i < measured->hop_count; i++) {
        struct measured_hop *item = &measured->hops[i];
        if (item->is_known)
            *(is_first ? &item->before : &item->after) = ports[count++];
    }
    return 0;
}

static void wait_between(unsigned seconds)
{
    struct timespec left = {.tv_sec = seconds};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static void compare(struct measured_hop *item)
{
    if (!item->is_known || !item->before.answered || !item->after.answered)
        return;
    const uint16_t rate = item->after.gbps ? item->after.gbps : item->before.gbps;
    item->use = oneib_link_use(&item->before.counters, &item->after.counters,
                               rate ? oneib_qos_data_gbps(oneib_rate_code(rate)) : 0);
}

static int measure(struct measured *measured, struct oneib_error *err)
{
    if (measured->hop_count == 0)
        return 0;
    if (read_once(measured, true, err) < 0)
        return -1;
    if (measured->run->interactive)
        oneib_print_note("reading the counters again in %u s", measured->seconds);
    wait_between(measured->seconds);
    if (read_once(measured, false, err) < 0)
        return -1;
    for (size_t i = 0; i < measured->hop_count; i++)
        compare(&measured->hops[i]);
    return 0;
}

/* Why a hop has no numbers; NULL: it has. */
static const char *reason(const struct measured_hop *item)
{
    if (!item->is_known || !item->before.answered)
        return item->before.reason;
    if (!item->after.answered)
        return item->after.reason;
    switch (item->use.kind) {
    case ONEIB_USE_SATURATED:
        return "its counter is full, and counts no more until somebody resets it";
    case ONEIB_USE_RESET:
        return "its counter was reset meanwhile, or went around: fewer --seconds may help";
    case ONEIB_USE_TOO_SHORT:
        return "no time went by between the readings";
    default:
        return NULL;
    }
}

/* ---- promises -------------------------------------------------------------------------------- */

static const struct oneib_qos_lane *lane_of(const struct measured *measured, uint8_t sl,
                                            struct oneib_qos_promise *promise)
{
    for (size_t i = 0; i < measured->qos.lane_count; i++) {
        if (measured->qos.lanes[i].sl != sl)
            continue;
        *promise = oneib_qos_promise(&measured->qos, i, measured->mtu);
        return &measured->qos.lanes[i];
    }
    return NULL;
}

/* NULL: an SL that no class has any more. */
static const char *class_of(const struct measured *measured, const struct oneib_qos_lane *lane)
{
    return lane && lane->class_index != ONEIB_QOS_NO_CLASS
               ? measured->classes.items[lane->class_index].name
               : NULL;
}

/* How long the lane waits at this hop at most; 0: not known. */
static double wait_us(const struct measured_hop *item, const struct oneib_qos_promise *promise)
{
    const double gbps =
        item->after.gbps ? oneib_qos_data_gbps(oneib_rate_code(item->after.gbps)) : 0;
    return gbps > 0 ? promise->wait_bytes * 8.0 / (gbps * 1000.0) : 0;
}

/* ---- as text --------------------------------------------------------------------------------- */

static void append_use(const struct measured_hop *item, struct oneib_table *table)
{
    const struct oneib_link_use *use = &item->use;
    if (reason(item)) {
        oneib_table_cell(table, ONEIB_CHANGED, "not read");
        oneib_table_cell(table, ONEIB_PLAIN, "-");
        return;
    }
    if (use->kind == ONEIB_USE_STILL)
        oneib_table_cell(table, ONEIB_PLAIN, "still");
    else if (use->share < 0)
        oneib_table_cell(table, ONEIB_PLAIN, "%.2f Gb/s", use->gbps);
    else
        oneib_table_cell(table, ONEIB_PLAIN, "%.1f %%", use->share * 100);
    if (use->wait_per_second < 0)
        oneib_table_cell(table, ONEIB_PLAIN, "-");
    else
        oneib_table_cell(table, ONEIB_PLAIN, "%.0f/s", use->wait_per_second);
}

static void append_promise(const struct measured *measured, const struct measured_hop *item,
                           uint8_t sl, struct oneib_table *table)
{
    struct oneib_qos_promise promise;
    const struct oneib_qos_lane *lane = lane_of(measured, sl, &promise);
    const char *class_name = class_of(measured, lane);
    oneib_table_cell(table, ONEIB_PLAIN, "%u", sl);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", class_name ? class_name : "-");
    if (!lane) {
        oneib_table_cell(table, ONEIB_PLAIN, "-");
        oneib_table_cell(table, ONEIB_PLAIN, "-");
        return;
    }
    oneib_table_cell(table, ONEIB_PLAIN, "%.1f %%", promise.share * 100);
    const double us = wait_us(item, &promise);
    if (us > 0)
        oneib_table_cell(table, ONEIB_PLAIN, "%.1f us", us);
    else
        oneib_table_cell(table, ONEIB_PLAIN, "%u bytes", promise.wait_bytes);
}

static void append_hop(const struct measured *measured, const struct measured_hop *item,
                       struct oneib_table *table)
{
    for (uint8_t sl = 1; sl < ONEIB_QOS_SLS; sl++) {
        if (!oneib_links_carry(&measured->links, item->hop, sl))
            continue;
        oneib_links_append_ends(&measured->links, item->hop, table);
        append_use(item, table);
        append_promise(measured, item, sl, table);
        oneib_links_append_clusters(&measured->links, item->hop, sl, table);
    }
}

static bool has_several_levels(const struct measured *measured, const struct measured_hop *item)
{
    unsigned levels = 0;
    for (uint8_t sl = 1; sl < ONEIB_QOS_SLS; sl++)
        levels += oneib_links_carry(&measured->links, item->hop, sl);
    return levels > 1;
}

static size_t count_still(const struct measured *measured)
{
    size_t still = 0;
    for (size_t i = 0; i < measured->hop_count; i++)
        still += !reason(&measured->hops[i]) && measured->hops[i].use.kind == ONEIB_USE_STILL;
    return still;
}

static void append_meaning(const struct measured *measured, struct oneib_text *text)
{
    size_t several = 0;
    if (measured->hop_count == 0) {
        oneib_text_append(text, "\nno cluster with an SL of a class uses a link\n");
        return;
    }
    const size_t still = count_still(measured);
    for (size_t i = 0; i < measured->hop_count; i++)
        several += has_several_levels(measured, &measured->hops[i]);
    oneib_text_printf(
        text,
        "\nUSED and WAITED were counted for %u s: the share of the link's data rate, and how "
        "many\nticks (of the device's own) a second packets waited there. Both are of all lanes of "
        "the\nlink together; SHARE and WAIT PER HOP are what each SL is promised.\n",
        measured->seconds);
    if (several)
        oneib_text_printf(text,
                          "%zu of %zu carry several SLs: which of them used it, or waited, is "
                          "not counted apart.\n",
                          several, measured->hop_count);
    if (still)
        oneib_text_printf(
            text,
            "still: counters do not move at %zu of %zu: nothing was sent there, or the "
            "device counts\nnothing.\n",
            still, measured->hop_count);
}

/* Of each hop that has no numbers, why. */
static void append_reasons(const struct measured *measured, struct oneib_text *text)
{
    oneib_autotable struct oneib_table table = {.columns = 3};
    for (size_t i = 0; i < measured->hop_count; i++) {
        const char *why = reason(&measured->hops[i]);
        if (!why)
            continue;
        oneib_links_append_ends(&measured->links, measured->hops[i].hop, &table);
        oneib_table_cell(&table, ONEIB_PLAIN, "%s", why);
    }
    if (table.count) {
        oneib_text_append(text, "\nnot read:\n");
        oneib_table_render(&table, measured->run->color_out, "  ", text);
    }
}

static int print_text(const struct measured *measured, struct oneib_error *err)
{
    static const char *const heads[] = {"FROM",  "TO",    "USED",         "WAITED",  "SL",
                                        "CLASS", "SHARE", "WAIT PER HOP", "CLUSTERS"};
    oneib_autotext struct oneib_text text = {0};
    oneib_autotable struct oneib_table table = {.right = 0xdc};
    oneib_table_titles(&table, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < measured->hop_count; i++)
        append_hop(measured, &measured->hops[i], &table);
    oneib_table_render(&table, measured->run->color_out, "", &text);
    if (oneib_fabric_is_simulated(measured->links.reading.session.fabric))
        oneib_text_append(&text,
                          "\nThis fabric is simulated: the counters are a stand-in's, and count "
                          "management packets alone.\n");
    append_meaning(measured, &text);
    append_reasons(measured, &text);
    oneib_links_note_silent(&measured->links);
    return oneib_write_out(&text, err);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static json_t *number_or_null(double value)
{
    return value < 0 ? json_null() : json_real(value);
}

static json_t *lanes_json(const struct measured *measured, const struct measured_hop *item)
{
    json_t *list = json_array();
    for (uint8_t sl = 1; sl < ONEIB_QOS_SLS; sl++) {
        struct oneib_qos_promise promise = {0};
        if (!oneib_links_carry(&measured->links, item->hop, sl))
            continue;
        const struct oneib_qos_lane *lane = lane_of(measured, sl, &promise);
        const char *class_name = class_of(measured, lane);
        oneib_json_append(
            &list, json_pack("{s:i, s:o, s:o, s:o}", "sl", (int)sl, "class",
                             class_name ? json_string(class_name) : json_null(), "share",
                             lane ? json_real(promise.share) : json_null(), "wait_bytes",
                             lane ? json_integer((json_int_t)promise.wait_bytes) : json_null()));
    }
    return list;
}

static json_t *hop_json(const struct measured *measured, const struct measured_hop *item)
{
    json_t *object = oneib_links_hop_json(&measured->links, item->hop);
    const char *why = reason(item);
    const struct oneib_link_use *use = &item->use;
    if (!object)
        return NULL;
    json_object_set_new(object, "lanes", lanes_json(measured, item));
    json_object_set_new(object, "not_read", why ? json_string(why) : json_null());
    json_object_set_new(object, "seconds", why ? json_null() : json_real(use->seconds));
    json_object_set_new(object, "gbps", why ? json_null() : json_real(use->gbps));
    json_object_set_new(object, "used", why ? json_null() : number_or_null(use->share));
    json_object_set_new(object, "waited_ticks_per_second",
                        why ? json_null() : number_or_null(use->wait_per_second));
    json_object_set_new(object, "moves", json_boolean(!why && use->kind != ONEIB_USE_STILL));
    return object;
}

static int print_json(const struct measured *measured, struct oneib_error *err)
{
    json_t *list = json_array();
    for (size_t i = 0; i < measured->hop_count; i++)
        oneib_json_append(&list, hop_json(measured, &measured->hops[i]));
    return oneib_json_write(
        json_pack("{s:o, s:s, s:b, s:I}", "links", list, "counted", "all lanes", "simulated",
                  (int)oneib_fabric_is_simulated(measured->links.reading.session.fabric),
                  "switches_silent", (json_int_t)measured->links.silent),
        err);
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int read_classes(struct measured *measured, struct oneib_error *err)
{
    const struct oneib_config *config = &measured->links.reading.session.config;
    if (oneib_classes_read(config, &measured->classes, err) < 0)
        return -1;
    if (measured->classes.count == 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "there are no classes, and nothing was promised: set qos.classes in "
                          "oneib.conf");
    measured->mtu = config->fabric.mtu ? config->fabric.mtu : DEFAULT_MTU;
    return oneib_classes_plan(config, &measured->classes, &measured->qos, err);
}

static int measure_and_print(struct measured *measured, struct oneib_error *err)
{
    if (read_classes(measured, err) < 0)
        return -1;
    for (size_t i = 0; i < measured->run->word_count; i++)
        if (find_network(measured, i, err) < 0)
            return -1;
    list_hops(measured);
    if (measure(measured, err) < 0)
        return -1;
    return measured->run->json ? print_json(measured, err) : print_text(measured, err);
}

static enum oneib_exit choose_seconds(const struct oneib_run *run, unsigned *seconds,
                                      struct oneib_error *err)
{
    const char *given = run->values[ONEIB_OPTION_SECONDS];
    uint64_t number = DEFAULT_SECONDS;
    if (given && (!oneib_parse_decimal(given, SECONDS_MAX, &number) || number == 0))
        return oneib_usage(run->verb, err, "invalid --seconds '%s': expected a number from 1 to %d",
                           given, SECONDS_MAX);
    *seconds = (unsigned)number;
    return ONEIB_EXIT_DONE;
}

enum oneib_exit oneib_qos_measured(const struct oneib_run *run, struct oneib_error *err)
{
    struct measured measured = {.run = run};
    if (choose_seconds(run, &measured.seconds, err) != ONEIB_EXIT_DONE)
        return ONEIB_EXIT_USAGE;
    const int outcome =
        oneib_links_begin(run, &measured.links, err) < 0 ? -1 : measure_and_print(&measured, err);
    free(measured.hops);
    oneib_links_end(&measured.links);
    return outcome < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}
