// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "command/json.h"
#include "ib/ipoib.h"
#include "oneib/open.h"
#include "oneib/options.h"
#include "oneib/print.h"
#include "oneib/qos_move.h"
#include "partitions/qos.h"
#include "sync/classes.h"
#include <string.h>

#define DEFAULT_MTU 4096 /* the largest: what is promised holds for smaller ones too */

/* What is shown, and how it was come by. */
struct shown {
    const struct oneib_run *run;
    struct oneib_session session;
    struct oneib_classes classes;
    struct oneib_qos qos;
    unsigned mtu;
    double gbps; /* of data; 0: not known */
};

static const char *class_name(const struct shown *shown, size_t lane)
{
    const size_t index = shown->qos.lanes[lane].class_index;
    return index == ONEIB_QOS_NO_CLASS ? "(others)" : shown->classes.items[index].name;
}

static double microseconds(const struct shown *shown, uint32_t bytes)
{
    return bytes * 8.0 / (shown->gbps * 1000.0);
}

static void append_lane(const struct shown *shown, size_t index, struct oneib_table *table)
{
    const struct oneib_qos_lane *lane = &shown->qos.lanes[index];
    const struct oneib_qos_promise promise = oneib_qos_promise(&shown->qos, index, shown->mtu);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", class_name(shown, index));
    oneib_table_cell(table, ONEIB_PLAIN, "%u", lane->sl);
    oneib_table_cell(table, ONEIB_PLAIN, "%u", lane->vl);
    oneib_table_cell(table, ONEIB_PLAIN, "%u", lane->weight);
    oneib_table_cell(table, ONEIB_PLAIN, "%.1f %%", promise.share * 100);
    oneib_table_cell(table, ONEIB_PLAIN, "%.1f %%", promise.at_least * 100);
    if (shown->gbps > 0)
        oneib_table_cell(table, ONEIB_PLAIN, "%.1f us", microseconds(shown, promise.wait_bytes));
    else
        oneib_table_cell(table, ONEIB_PLAIN, "%u bytes", promise.wait_bytes);
}

static void append_lanes(const struct shown *shown, struct oneib_text *text)
{
    static const char *const heads[] = {"CLASS", "SL",       "VL",          "WEIGHT",
                                        "SHARE", "AT LEAST", "WAIT PER HOP"};
    oneib_autotable struct oneib_table table = {.right = 0x7e};
    oneib_table_titles(&table, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < shown->qos.lane_count; i++)
        append_lane(shown, i, &table);
    oneib_table_render(&table, shown->run->color_out, "", text);
}

static void append_assumptions(const struct shown *shown, struct oneib_text *text)
{
    oneib_text_printf(text, "\nfor packets of %u bytes", shown->mtu);
    if (shown->gbps > 0)
        oneib_text_printf(text, " on links of %u Gb/s (%.1f Gb/s of data)",
                          oneib_rate_gbps(shown->session.config.fabric.rate
                                              ? oneib_rate_code(shown->session.config.fabric.rate)
                                              : 0),
                          shown->gbps);
    oneib_text_append(text, ".\n"
                            "This holds of each link while nothing is congested downstream, and "
                            "programs use the SL\nthat the subnet manager tells them; clusters of "
                            "one SL share its lane.\n");
    if (shown->gbps == 0)
        oneib_text_append(text, "Set fabric.rate in oneib.conf to see times.\n");
}

static int print_text(const struct shown *shown, struct oneib_error *err)
{
    oneib_autotext struct oneib_text text = {0};
    append_lanes(shown, &text);
    append_assumptions(shown, &text);
    oneib_text_append(&text, "\nFor opensm.conf, of every subnet manager:\n\n");
    oneib_qos_render(&shown->qos, &text);
    return oneib_write_out(&text, err);
}

static json_t *lane_json(const struct shown *shown, size_t index)
{
    const struct oneib_qos_lane *lane = &shown->qos.lanes[index];
    const struct oneib_qos_promise promise = oneib_qos_promise(&shown->qos, index, shown->mtu);
    return json_pack(
        "{s:o, s:i, s:i, s:i, s:f, s:f, s:i, s:o}", "class",
        lane->class_index == ONEIB_QOS_NO_CLASS ? json_null()
                                                : json_string(class_name(shown, index)),
        "sl", lane->sl, "vl", lane->vl, "weight", lane->weight, "share", promise.share, "at_least",
        promise.at_least, "wait_bytes", (int)promise.wait_bytes, "wait_us",
        shown->gbps > 0 ? json_real(microseconds(shown, promise.wait_bytes)) : json_null());
}

static int print_json(const struct shown *shown, struct oneib_error *err)
{
    oneib_autotext struct oneib_text lines = {0};
    json_t *lanes = json_array();
    for (size_t i = 0; i < shown->qos.lane_count; i++)
        json_array_append_new(lanes, lane_json(shown, i));
    oneib_qos_render(&shown->qos, &lines);
    return oneib_json_write(json_pack("{s:b, s:o, s:i, s:s}", "configured", 1, "lanes", lanes,
                                      "mtu", (int)shown->mtu, "opensm_conf", lines.data),
                            err);
}

static int print_nothing(const struct shown *shown, struct oneib_error *err)
{
    if (shown->run->json)
        return oneib_json_write(json_pack("{s:b, s:[]}", "configured", 0, "lanes"), err);
    oneib_autotext struct oneib_text text = {0};
    oneib_text_append(&text, "no classes: set qos.classes in oneib.conf, see oneib.conf(5)\n");
    return oneib_write_out(&text, err);
}

static int show(struct shown *shown, struct oneib_error *err)
{
    const struct oneib_config *config = &shown->session.config;
    if (oneib_classes_read(config, &shown->classes, err) < 0)
        return -1;
    if (shown->classes.count == 0)
        return print_nothing(shown, err);
    if (oneib_classes_plan(config, &shown->classes, &shown->qos, err) < 0)
        return -1;
    shown->mtu = config->fabric.mtu ? config->fabric.mtu : DEFAULT_MTU;
    shown->gbps = oneib_qos_data_gbps(oneib_rate_code(config->fabric.rate));
    return shown->run->json ? print_json(shown, err) : print_text(shown, err);
}

static enum oneib_exit run_show(const struct oneib_run *run, struct oneib_error *err)
{
    struct shown shown = {.run = run};
    if (oneib_session_begin(run, &shown.session, err) < 0)
        return ONEIB_EXIT_FAILURE;
    const int outcome = show(&shown, err);
    oneib_session_end(&shown.session);
    return outcome < 0 ? ONEIB_EXIT_FAILURE : ONEIB_EXIT_DONE;
}

/* Options that belong to another form of the verb; NULL: none does. */
static const char *misplaced(const struct oneib_run *run, bool is_move)
{
    if (!is_move && oneib_given(run, ONEIB_OPTION_FORCE))
        return "option '--force' is valid only with 'move'";
    if (is_move && oneib_given(run, ONEIB_OPTION_LINKS))
        return "option '--links' is not valid with 'move'";
    if (!oneib_given(run, ONEIB_OPTION_LINKS) && oneib_given(run, ONEIB_OPTION_NO_DAEMON))
        return "option '--no-daemon' is valid only with '--links'";
    return NULL;
}

static enum oneib_exit run_qos(const struct oneib_run *run, struct oneib_error *err)
{
    const bool is_move = run->word_count > 0;
    const char *wrong = misplaced(run, is_move);
    if (wrong)
        return oneib_usage(run->verb, err, "%s", wrong);
    if (!is_move)
        return oneib_given(run, ONEIB_OPTION_LINKS) ? oneib_qos_links(run, err)
                                                    : run_show(run, err);
    if (strcmp(run->words[0], "move") != 0)
        return oneib_usage_invalid(run, 0, "move", err);
    if (run->word_count < 2)
        return oneib_usage(run->verb, err, "missing argument NETWORK");
    if (run->word_count > 2)
        return oneib_usage_unexpected(run, 2, err);
    return oneib_qos_move(run, run->words[1], err);
}

const struct oneib_verb oneib_verb_qos = {
    .name = "qos",
    .summary = "traffic classes: their shares of links, and what opensm needs",
    .help =
        "usage: oneib qos [--links [--no-daemon]] [--json]\n"
        "       oneib qos move NETWORK [--force] [--json]\n"
        "\n"
        "Of each class of oneib.conf (qos.classes): its service levels and lanes, the share of\n"
        "a link that it has, what is left of it when all others send the largest packets,\n"
        "and the longest wait at a hop; then the lines that opensm.conf needs. Contacts no "
        "service.\n"
        "\n"
        "  --links  of each link, in each direction, the service levels that it carries, and\n"
        "           the clusters that have them, by the switches' forwarding tables\n"
        "  --no-daemon  with --links: read oned and the fabric here; refused while oneibd runs\n"
        "\n"
        "move gives NETWORK, which has no members, a service level of the class that it is\n"
        "to have now, and waits until oneibd computes with it; exit status 1: it does not.\n"
        "\n"
        "  --force  though there are members: IPoIB keeps the old level until all have left\n"
        "\n"
        "example:\n"
        "  $ oneib qos\n",
    .options = ONEIB_TAKES(ONEIB_OPTION_FORCE) | ONEIB_TAKES(ONEIB_OPTION_LINKS) |
               ONEIB_TAKES(ONEIB_OPTION_NO_DAEMON),
    .words_max = ONEIB_WORDS_MAX,
    .run = run_qos,
};
