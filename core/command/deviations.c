// SPDX-License-Identifier: Apache-2.0
#include "command/deviations.h"
#include <inttypes.h>

#define NOTHING_FOUND 0xffff
#define COLUMN_HOST (1u << 2)
#define COLUMN_NETWORK (1u << 3)

static bool concerns(const struct oneib_deviation *deviation, oneib_pkey pkey)
{
    return pkey == 0 || oneib_pkey_base(deviation->found) == pkey ||
           oneib_pkey_base(deviation->expected) == pkey;
}

static void add_key_cell(struct oneib_table *table, uint16_t key)
{
    if (key)
        oneib_table_cell(table, ONEIB_PLAIN, "%s", oneib_pkey_raw_shown(key).text);
    else
        oneib_table_cell(table, ONEIB_PLAIN, "-");
}

/* Whose key it is that is there, or should be. */
static const struct oneib_network *network_of(const struct oneib_places *places,
                                              const struct oneib_deviation *deviation)
{
    const struct oneib_snapshot *snapshot = places->snapshot;
    const uint16_t raw = deviation->found ? deviation->found : deviation->expected;
    const oneib_pkey pkey = oneib_pkey_base(raw);
    const struct oneib_network *network =
        oneib_network_of_key(&snapshot->cloud, &snapshot->desired.table, pkey);
    return network ? network : oneib_network_of_key(&snapshot->cloud, &snapshot->seen.table, pkey);
}

static void add_network_cell(struct oneib_table *table, const struct oneib_places *places,
                             const struct oneib_deviation *deviation)
{
    const struct oneib_network *network = network_of(places, deviation);
    oneib_autotext struct oneib_text text = {0};
    if (!network) {
        oneib_table_cell(table, ONEIB_PLAIN, "-");
        return;
    }
    oneib_text_printf(&text, "%u ", network->id);
    oneib_append_quoted(&text, network->name);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", text.data ? text.data : "");
}

static void add_row(struct oneib_table *table, const struct oneib_places *places,
                    const struct oneib_deviation *deviation)
{
    oneib_autotext struct oneib_text where = {0};
    oneib_places_append_port(places, deviation->port_guid, &where);
    oneib_table_cell(table,
                     oneib_deviation_is_violation(deviation->kind) ? ONEIB_BAD : ONEIB_CHANGED,
                     "%s", oneib_deviation_name(deviation->kind));
    oneib_table_cell(table, ONEIB_PLAIN, "0x%016" PRIx64, deviation->port_guid);
    oneib_table_cell(table, ONEIB_PLAIN, "%s", where.data ? where.data : "-");
    add_network_cell(table, places, deviation);
    if (deviation->index == NOTHING_FOUND)
        oneib_table_cell(table, ONEIB_PLAIN, "-");
    else
        oneib_table_cell(table, ONEIB_PLAIN, "%u", deviation->index);
    add_key_cell(table, deviation->found);
    add_key_cell(table, deviation->expected);
}

static void append_fixes(const struct oneib_verification *verification, oneib_pkey pkey,
                         bool daemon_runs, struct oneib_text *text)
{
    unsigned said = 0;
    for (size_t i = 0; i < verification->count; i++) {
        const struct oneib_deviation *deviation = &verification->items[i];
        const unsigned bit =
            1u << (deviation->kind + (deviation->is_daemons ? ONEIB_DEVIATION_KINDS : 0));
        if (!concerns(deviation, pkey) || (said & bit))
            continue;
        said |= bit;
        oneib_text_printf(text, "%s: %s\n", oneib_deviation_name(deviation->kind),
                          oneib_deviation_fix(deviation, daemon_runs));
    }
}

void oneib_deviations_append(bool color, const struct oneib_places *places,
                             const struct oneib_verification *verification, oneib_pkey pkey,
                             struct oneib_text *text)
{
    static const char *const titles[] = {"DEVIATION", "PORT",  "HOST",  "NETWORK",
                                         "INDEX",     "FOUND", "WANTED"};
    oneib_autotable struct oneib_table table = {.right = 1u << 4};
    oneib_table_titles(&table, titles, sizeof titles / sizeof *titles);
    for (size_t i = 0; i < verification->count; i++)
        if (concerns(&verification->items[i], pkey))
            add_row(&table, places, &verification->items[i]);
    if (table.count > table.columns) {
        oneib_table_fit(&table, COLUMN_HOST | COLUMN_NETWORK);
        oneib_table_render(&table, color, "", text);
        append_fixes(verification, pkey, places->daemon_runs, text);
    }
}

static json_t *deviations_json(const struct oneib_places *places,
                               const struct oneib_verification *verification)
{
    json_t *array = json_array();
    for (size_t i = 0; i < verification->count; i++) {
        const struct oneib_deviation *deviation = &verification->items[i];
        const struct oneib_subnet_port *port =
            oneib_subnet_find(&places->snapshot->subnet, deviation->port_guid);
        const struct oneib_known_port *known = oneib_places_port(places, deviation->port_guid);
        const struct oneib_network *network = network_of(places, deviation);
        oneib_json_append(
            &array, json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}",
                              "kind", oneib_deviation_name(deviation->kind), "violation",
                              (int)oneib_deviation_is_violation(deviation->kind), "port_guid",
                              oneib_json_guid(deviation->port_guid), "node",
                              oneib_json_text(port ? port->description : NULL), "host",
                              oneib_json_text(known ? known->host->name : NULL), "network",
                              network ? json_integer(network->id) : json_null(), "network_name",
                              oneib_json_text(network ? network->name : NULL), "lid",
                              port ? json_integer(port->lid) : json_null(), "index",
                              deviation->index == NOTHING_FOUND ? json_null()
                                                                : json_integer(deviation->index),
                              "expected", oneib_json_raw_key(deviation->expected), "found",
                              oneib_json_raw_key(deviation->found), "fix",
                              oneib_deviation_fix(deviation, places->daemon_runs)));
    }
    return array;
}

json_t *oneib_verification_json(const struct oneib_places *places,
                                const struct oneib_verification *verification)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "ports",
                     (json_int_t)verification->ports, "keys", (json_int_t)verification->keys,
                     "violations", (json_int_t)verification->violations, "differences",
                     (json_int_t)verification->differences, "members_off_fabric",
                     (json_int_t)verification->members_off_fabric, "members_unverified",
                     (json_int_t)verification->members_unverified, "deviations",
                     deviations_json(places, verification));
}

void oneib_verification_append(const struct oneib_verification *verification,
                               struct oneib_text *text)
{
    oneib_append_count(text, verification->ports, "port");
    oneib_text_append(text, " and ");
    oneib_append_count(text, verification->keys, "key");
    oneib_text_append(text, " compared, ");
    if (verification->count == 0) {
        oneib_text_append(text, "no deviation");
    } else {
        oneib_append_count(text, verification->violations, "violation");
        oneib_text_append(text, ", ");
        oneib_append_count(text, verification->differences, "other difference");
    }
    if (verification->members_off_fabric > 0)
        oneib_text_printf(text, " (%zu of the members off the fabric)",
                          verification->members_off_fabric);
    if (verification->members_unverified > 0)
        oneib_text_printf(text, " (%zu of the members virtual ports, not verified)",
                          verification->members_unverified);
}
