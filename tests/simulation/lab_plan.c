// SPDX-License-Identifier: Apache-2.0
#include "lab_plan.h"
#include "base/array.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ibsim numbers its GUIDs from here, in the order of the file: one for each HCA, and one for each
 * of its ports. */
#define FIRST_GUID UINT64_C(0x100000)
#define SWITCH_PORTS 36u
#define NO_CABLE SIZE_MAX

/* ---- nodes and cables ------------------------------------------------------------------------ */

static struct plan_node *add_node(struct lab_plan *plan)
{
    struct plan_node *node = ONEIB_ADD(plan->nodes, plan->node_count, plan->node_capacity);
    *node = (struct plan_node){.way_here = NO_CABLE};
    return node;
}

static void add_hca(struct lab_plan *plan, const char *name, unsigned number)
{
    struct plan_node *node = add_node(plan);
    if (number == 0)
        snprintf(node->name, sizeof node->name, "%s", name);
    else
        snprintf(node->name, sizeof node->name, "%s%u", name, number);
}

static void add_switch(struct lab_plan *plan, const char *name, unsigned number)
{
    add_hca(plan, name, number);
    plan->nodes[plan->node_count - 1].is_switch = true;
    plan->switches++;
}

/* At the next free port of each. */
static void add_cable(struct lab_plan *plan, size_t a, size_t b)
{
    ONEIB_RESERVE(plan->cables, plan->cable_capacity, plan->cable_count + 1);
    if (!plan->nodes[a].is_switch && plan->nodes[a].ports == 0)
        plan->nodes[a].host_port = plan->cable_count;
    plan->cables[plan->cable_count++] =
        (struct plan_cable){{{a, ++plan->nodes[a].ports}, {b, ++plan->nodes[b].ports}}};
}

static size_t first_switch(const struct lab_plan *plan)
{
    return 1 + plan->hosts + plan->extra_hosts;
}

static void add_hcas(struct lab_plan *plan)
{
    add_hca(plan, LAB_SM_HCA, 0);
    for (unsigned host = 1; host <= plan->hosts; host++)
        add_hca(plan, "H", host);
    for (unsigned host = 1; host <= plan->extra_hosts; host++)
        add_hca(plan, "X", host);
}

/* `hosts` compute hosts from the first one on, cabled to one switch, and perhaps to another. */
static void cable_hosts(struct lab_plan *plan, size_t first, size_t hosts, size_t to,
                        const size_t *second)
{
    for (size_t host = first; host < first + hosts; host++) {
        add_cable(plan, 1 + host, to);
        if (second)
            add_cable(plan, 1 + host, *second);
    }
}

static void cable_extra_hosts(struct lab_plan *plan)
{
    for (size_t host = 0; host < plan->extra_hosts; host++)
        add_cable(plan, 1 + plan->hosts + host, first_switch(plan));
}

/* ---- a fat tree: leaves, and spines that each leaf has a cable to ---------------------------- */

static void cable_spines(const struct lab_options *options, struct lab_plan *plan, size_t leaves)
{
    for (size_t leaf = 0; leaf < options->leaves; leaf++)
        for (size_t spine = 0; spine < options->spines; spine++)
            add_cable(plan, leaves + leaf, leaves + options->leaves + spine);
}

static int plan_tree(const struct lab_options *options, struct lab_plan *plan,
                     struct oneib_error *err)
{
    if (options->leaves == 0 || (options->spines == 0 && options->leaves > 1))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "planning the fabric: several leaves need a spine");
    plan->hosts = (size_t)options->leaves * options->hosts_per_leaf;
    plan->ports_per_host = 1;
    const size_t leaves = first_switch(plan);
    add_hcas(plan);
    for (unsigned leaf = 1; leaf <= options->leaves; leaf++)
        add_switch(plan, "L", leaf);
    for (unsigned spine = 1; spine <= options->spines; spine++)
        add_switch(plan, "S", spine);
    add_cable(plan, 0, leaves);
    for (size_t leaf = 0; leaf < options->leaves; leaf++)
        cable_hosts(plan, leaf * options->hosts_per_leaf, options->hosts_per_leaf, leaves + leaf,
                    NULL);
    cable_extra_hosts(plan);
    cable_spines(options, plan, leaves);
    return 0;
}

/* ---- any other shape ------------------------------------------------------------------------- */

static unsigned hosts_of(const struct lab_options *options, const struct lab_switch *place)
{
    return place->hosts * options->hosts_per_leaf;
}

static int find_switch(const struct lab_plan *plan, const char *name, size_t *found,
                       struct oneib_error *err)
{
    for (size_t node = first_switch(plan); node < plan->node_count; node++)
        if (strcmp(plan->nodes[node].name, name) == 0) {
            *found = node;
            return 0;
        }
    return oneib_fail(err, ONEIB_ERROR_INPUT, "planning the fabric: there is no switch %s", name);
}

static void add_switches(const struct lab_options *options, struct lab_plan *plan)
{
    for (const struct lab_switch *place = options->shape->switches; place->name; place++)
        add_switch(plan, place->name, 0);
}

static int cable_all_hosts(const struct lab_options *options, struct lab_plan *plan,
                           struct oneib_error *err)
{
    size_t first = 0, here = 0, second = 0;
    for (const struct lab_switch *place = options->shape->switches; place->name; place++) {
        const unsigned hosts = hosts_of(options, place);
        if (find_switch(plan, place->name, &here, err) < 0 ||
            (place->second && find_switch(plan, place->second, &second, err) < 0))
            return -1;
        cable_hosts(plan, first, hosts, here, place->second ? &second : NULL);
        first += hosts;
    }
    return 0;
}

static int cable_switches(const struct lab_options *options, struct lab_plan *plan,
                          struct oneib_error *err)
{
    size_t here = 0, there = 0;
    for (const struct lab_switch *place = options->shape->switches; place->name; place++)
        for (size_t i = 0; i < LAB_SHAPE_CABLES && place->cables[i]; i++) {
            if (find_switch(plan, place->name, &here, err) < 0 ||
                find_switch(plan, place->cables[i], &there, err) < 0)
                return -1;
            add_cable(plan, here, there);
        }
    return 0;
}

static int plan_shape(const struct lab_options *options, struct lab_plan *plan,
                      struct oneib_error *err)
{
    plan->ports_per_host = 1;
    for (const struct lab_switch *place = options->shape->switches; place->name; place++) {
        plan->hosts += hosts_of(options, place);
        plan->ports_per_host = place->second ? 2 : plan->ports_per_host;
    }
    add_hcas(plan);
    add_switches(options, plan);
    add_cable(plan, 0, first_switch(plan));
    if (cable_all_hosts(options, plan, err) < 0)
        return -1;
    cable_extra_hosts(plan);
    return cable_switches(options, plan, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void give_guids(struct lab_plan *plan)
{
    uint64_t next = FIRST_GUID;
    for (size_t node = 0; node < first_switch(plan); node++) {
        plan->nodes[node].guid = next;
        next += 1 + plan->nodes[node].ports;
    }
}

/* One cable further than what has been reached with that many hops. */
static bool go_further(struct lab_plan *plan, unsigned hops)
{
    bool reached = false;
    for (size_t cable = 0; cable < plan->cable_count; cable++)
        for (unsigned end = 0; end < 2; end++) {
            const size_t from = plan->cables[cable].ends[end].node;
            const size_t to = plan->cables[cable].ends[1 - end].node;
            const bool goes_on = from == 0 || plan->nodes[from].is_switch;
            const bool is_here = from == 0 || plan->nodes[from].way_here != NO_CABLE;
            if (!goes_on || !is_here || plan->nodes[from].hops != hops || to == 0 ||
                plan->nodes[to].way_here != NO_CABLE)
                continue;
            plan->nodes[to].way_here = cable;
            plan->nodes[to].hops = hops + 1;
            reached = true;
        }
    return reached;
}

static void find_ops(struct lab_plan *plan)
{
    for (unsigned hops = 0; go_further(plan, hops); hops++)
        ;
}

int lab_plan_make(const struct lab_options *options, struct lab_plan *plan, struct oneib_error *err)
{
    *plan = (struct lab_plan){.extra_hosts = options->extra_hosts, .last_guid = options->last_guid};
    const int outcome =
        options->shape ? plan_shape(options, plan, err) : plan_tree(options, plan, err);
    if (outcome < 0) {
        lab_plan_clear(plan);
        return -1;
    }
    give_guids(plan);
    if (plan->last_guid)
        plan->nodes[plan->hosts + plan->extra_hosts].guid = plan->last_guid;
    find_ops(plan);
    return 0;
}

void lab_plan_clear(struct lab_plan *plan)
{
    free(plan->nodes);
    free(plan->cables);
    *plan = (struct lab_plan){0};
}

/* ---- what is made of it ---------------------------------------------------------------------- */

static unsigned ports_of(const struct plan_node *node)
{
    return node->is_switch && node->ports < SWITCH_PORTS ? SWITCH_PORTS : node->ports;
}

size_t lab_plan_ports(const struct lab_plan *plan)
{
    size_t ports = 0;
    for (size_t node = 0; node < plan->node_count; node++)
        ports += ports_of(&plan->nodes[node]) + plan->nodes[node].is_switch;
    return ports;
}

static void render_cables(const struct lab_plan *plan, size_t node, struct oneib_text *net)
{
    for (size_t cable = 0; cable < plan->cable_count; cable++)
        for (unsigned end = 0; end < 2; end++) {
            const struct plan_end *here = &plan->cables[cable].ends[end];
            const struct plan_end *there = &plan->cables[cable].ends[1 - end];
            if (here->node == node)
                oneib_text_printf(net, "[%u] \"%s\"[%u]\n", here->port,
                                  plan->nodes[there->node].name, there->port);
        }
}

void lab_plan_render(const struct lab_plan *plan, struct oneib_text *net)
{
    for (size_t i = 0; i < plan->node_count; i++) {
        const struct plan_node *node = &plan->nodes[i];
        if (plan->last_guid && node->guid == plan->last_guid)
            oneib_text_printf(net, "caguid=0x%" PRIx64 "\n", plan->last_guid);
        oneib_text_printf(net, "%s %u \"%s\"\n", node->is_switch ? "Switch" : "Hca", ports_of(node),
                          node->name);
        render_cables(plan, i, net);
        oneib_text_append(net, "\n");
    }
}

/* From its end backwards: each cable's port at the switch that is nearer to the SM. */
void lab_plan_route(const struct lab_plan *plan, size_t host, unsigned port, char *route,
                    size_t size)
{
    unsigned ports[LAB_SHAPE_SWITCHES + 2], count = 0;
    size_t cable = plan->nodes[1 + host].host_port + port - 1, to = 1 + host;
    oneib_autotext struct oneib_text text = {0};
    while (count < sizeof ports / sizeof *ports) {
        const struct plan_end *ends = plan->cables[cable].ends;
        const struct plan_end *nearer = ends[0].node == to ? &ends[1] : &ends[0];
        ports[count++] = nearer->port;
        to = nearer->node;
        if (to == 0)
            break;
        cable = plan->nodes[to].way_here;
    }
    oneib_text_append(&text, "0");
    while (count > 0)
        oneib_text_printf(&text, ",%u", ports[--count]);
    snprintf(route, size, "%s", text.data ? text.data : "");
}
