// SPDX-License-Identifier: Apache-2.0
#include "topology/topology_levels.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOST_GUID UINT64_C(0x100000)
#define SWITCH_GUID UINT64_C(0x200000)

/* ---- building fabrics ------------------------------------------------------------------------ */

struct fabric {
    struct oneib_topology topology;
    struct oneib_partition_table table;
    struct oneib_cloud cloud;
};

static size_t add_node(struct fabric *fabric, uint8_t type, const char *description)
{
    struct oneib_topology *topology = &fabric->topology;
    size_t index = topology->node_count++;
    topology->nodes = realloc(topology->nodes, topology->node_count * sizeof *topology->nodes);
    assert_non_null(topology->nodes);
    topology->nodes[index] = (struct oneib_topology_node){
        .guid = (type == ONEIB_NODE_SWITCH ? SWITCH_GUID : HOST_GUID) + 2 * index,
        .type = type,
        .port_count = type == ONEIB_NODE_SWITCH ? 36 : 2,
    };
    snprintf(topology->nodes[index].description, sizeof topology->nodes[index].description, "%s",
             description);
    return index;
}

static size_t add_switch(struct fabric *fabric, const char *description)
{
    return add_node(fabric, ONEIB_NODE_SWITCH, description);
}

static size_t add_host(struct fabric *fabric, const char *description)
{
    return add_node(fabric, ONEIB_NODE_CA, description);
}

/* A host's port n has its node GUID + n; a switch's ports have its node GUID. */
static oneib_guid port_guid(const struct fabric *fabric, size_t node, uint8_t port)
{
    const struct oneib_topology_node *found = &fabric->topology.nodes[node];
    return found->type == ONEIB_NODE_SWITCH ? found->guid : found->guid + port;
}

static void add_link(struct fabric *fabric, size_t a, uint8_t a_port, size_t b, uint8_t b_port)
{
    struct oneib_topology *topology = &fabric->topology;
    size_t index = topology->link_count++;
    topology->links = realloc(topology->links, topology->link_count * sizeof *topology->links);
    assert_non_null(topology->links);
    topology->links[index] = (struct oneib_topology_link){
        .a = a,
        .b = b,
        .a_port = a_port,
        .b_port = b_port,
        .a_guid = port_guid(fabric, a, a_port),
        .b_guid = port_guid(fabric, b, b_port),
        .rate_gbps = 40,
    };
}

static struct oneib_partition *add_partition(struct fabric *fabric, const char *name,
                                             oneib_pkey pkey)
{
    struct oneib_partition *partition = oneib_partition_table_add(&fabric->table);
    assert_non_null(partition);
    snprintf(partition->name, sizeof partition->name, "%s", name);
    partition->pkey = pkey;
    return partition;
}

static void add_member(struct oneib_partition *partition, oneib_guid guid)
{
    struct oneib_member member = {
        .guid = guid, .kind = ONEIB_MEMBER_GUID, .membership = ONEIB_FULL};
    oneib_partition_add_member(partition, member);
}

static void name_network(struct fabric *fabric, uint32_t id, const char *name)
{
    struct oneib_network *network = oneib_cloud_add_network(&fabric->cloud);
    assert_non_null(network);
    network->id = id;
    network->name = strdup(name);
    oneib_cloud_sort(&fabric->cloud);
}

/* Hosts, leaves and spines as in a fat tree; host i hangs on leaf i / hosts_per_leaf. */
static void build_tree(struct fabric *fabric, unsigned leaves, unsigned hosts_per_leaf,
                       unsigned spines)
{
    char name[32];
    size_t hosts = (size_t)leaves * hosts_per_leaf;
    *fabric = (struct fabric){0};
    for (size_t i = 0; i < hosts; i++) {
        snprintf(name, sizeof name, "H%zu", i + 1);
        add_host(fabric, name);
    }
    for (unsigned i = 0; i < leaves; i++) {
        snprintf(name, sizeof name, "L%u", i + 1);
        add_switch(fabric, name);
    }
    for (unsigned i = 0; i < spines; i++) {
        snprintf(name, sizeof name, "S%u", i + 1);
        add_switch(fabric, name);
    }
    for (size_t i = 0; i < hosts; i++)
        add_link(fabric, i, 1, hosts + i / hosts_per_leaf, (uint8_t)(i % hosts_per_leaf + 1));
    for (unsigned leaf = 0; leaf < leaves; leaf++)
        for (unsigned spine = 0; spine < spines; spine++)
            add_link(fabric, hosts + leaf, (uint8_t)(hosts_per_leaf + spine + 1),
                     hosts + leaves + spine, (uint8_t)(leaf + 1));
}

static void clear(struct fabric *fabric)
{
    oneib_topology_clear(&fabric->topology);
    oneib_partition_table_clear(&fabric->table);
    oneib_cloud_clear(&fabric->cloud);
}

/* ---- drawing --------------------------------------------------------------------------------- */

typedef void (*drawer)(const struct oneib_topology *, const struct oneib_partition_table *,
                       const struct oneib_cloud *, struct oneib_text *);

static char *draw(drawer drawer_of_format, const struct fabric *fabric)
{
    struct oneib_text text = {0};
    drawer_of_format(&fabric->topology, &fabric->table, &fabric->cloud, &text);
    assert_non_null(text.data);
    return text.data;
}

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;
    size_t length = strlen(part);
    for (const char *at = text; *at; at++)
        count += *at == *part && strncmp(at, part, length) == 0;
    return count;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" is in:\n%s", part, text);
}

/* ---- a small judge of well-formed XML -------------------------------------------------------- */

struct judge {
    const char *at;
    char open[64][32];
    size_t depth;
};

static void judge_entity(struct judge *judge)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(judge->at, known[i], strlen(known[i])) == 0)
            return;
    fail_msg("a bare & at: %.40s", judge->at);
}

/* strcspn(); a sanitizer's own would measure the whole rest of the drawing each time. */
static size_t up_to(const char *text, const char *ends)
{
    size_t length = 0;
    while (text[length] && !strchr(ends, text[length]))
        length++;
    return length;
}

static void judge_attributes(struct judge *judge)
{
    while (*judge->at != '>' && *judge->at != '/') {
        while (isspace((unsigned char)*judge->at))
            judge->at++;
        if (*judge->at == '>' || *judge->at == '/')
            return;
        judge->at += up_to(judge->at, "=<> ");
        if (strncmp(judge->at, "=\"", 2) != 0)
            fail_msg("an attribute without a quoted value at: %.40s", judge->at);
        for (judge->at += 2; *judge->at != '"'; judge->at++) {
            if (!*judge->at || *judge->at == '<')
                fail_msg("an attribute does not end");
            if (*judge->at == '&')
                judge_entity(judge);
        }
        judge->at++;
    }
}

static void judge_tag(struct judge *judge)
{
    bool closes = judge->at[1] == '/';
    judge->at += closes ? 2 : 1;
    size_t length = up_to(judge->at, " />\n");
    assert_true(length > 0 && length < sizeof judge->open[0]);
    if (closes) {
        assert_true(judge->depth > 0);
        if (strncmp(judge->open[--judge->depth], judge->at, length) != 0)
            fail_msg("%s is closed by %.20s", judge->open[judge->depth], judge->at);
        judge->at += length + 1;
        return;
    }
    assert_true(judge->depth < 64);
    memcpy(judge->open[judge->depth], judge->at, length);
    judge->open[judge->depth++][length] = '\0';
    judge->at += length;
    judge_attributes(judge);
    if (*judge->at == '/') {
        judge->depth--;
        judge->at++;
    }
    assert_int_equal(*judge->at++, '>');
}

static void assert_well_formed(const char *svg)
{
    struct judge judge = {.at = svg};
    while (*judge.at) {
        if (*judge.at == '<') {
            judge_tag(&judge);
            continue;
        }
        if (*judge.at == '&')
            judge_entity(&judge);
        unsigned char byte = (unsigned char)*judge.at++;
        if ((byte < 0x20 && byte != '\n') || byte == 0x7f)
            fail_msg("a control character is in the drawing");
    }
    assert_int_equal(judge.depth, 0);
    assert_int_equal(strncmp(svg, "<svg ", 5), 0);
    assert_lacks(svg, "\xef\xbf\xbe"); /* U+FFFE */
    assert_lacks(svg, "\xef\xbf\xbf"); /* U+FFFF */
}

static void assert_stands_alone(const char *svg)
{
    static const char *const foreign[] = {"<script", "<image", "<a ", "href", "@import", "<style"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        assert_lacks(svg, foreign[i]);
    assert_int_equal(occurrences(svg, "http"), 1); /* the namespace */
    assert_int_equal(occurrences(svg, "url("), occurrences(svg, "url(#c"));
}

/* ---- text ------------------------------------------------------------------------------------ */

static void the_text_has_one_block_a_switch_with_its_hosts_and_their_clusters(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 2, 2, 1);
    add_member(add_partition(&fabric, "one5", 0x105), port_guid(&fabric, 1, 1));
    add_member(add_partition(&fabric, "one7", 0x107), port_guid(&fabric, 1, 1));
    add_member(&fabric.table.items[1], port_guid(&fabric, 3, 1));
    name_network(&fabric, 5, "red");
    char *text = draw(oneib_topology_text, &fabric);
    assert_string_equal(text, "switch \"L1\"  0x0000000000200008  36 ports\n"
                              "    1  host \"H1\" port 1  0x0000000000100001  40 Gb/s\n"
                              "    2  host \"H2\" port 1  0x0000000000100003  40 Gb/s  "
                              "networks 5 \"red\", 7\n"
                              "    3  switch \"S1\" port 1  40 Gb/s\n"
                              "\n"
                              "switch \"L2\"  0x000000000020000a  36 ports\n"
                              "    1  host \"H3\" port 1  0x0000000000100005  40 Gb/s\n"
                              "    2  host \"H4\" port 1  0x0000000000100007  40 Gb/s  network 7\n"
                              "    3  switch \"S1\" port 2  40 Gb/s\n"
                              "\n"
                              "switch \"S1\"  0x000000000020000c  36 ports\n"
                              "    1  switch \"L1\" port 3  40 Gb/s\n"
                              "    2  switch \"L2\" port 3  40 Gb/s\n"
                              "\n"
                              "network 5 \"red\"  P_Key 0x0105  1 port\n"
                              "network 7  P_Key 0x0107  2 ports\n"
                              "hosts 4, switches 3, links 6\n");
    free(text);
    clear(&fabric);
}

/* Gold has SL 2; SL 4 was some class's once. H1-H4 by leaf L1 or L2; gold is on both. */
static const char *const classes[ONEIB_QOS_SLS] = {[2] = "gold"};

static void build_with_classes(struct fabric *fabric)
{
    const uint64_t everywhere = 0x7, at_h2 = 0x8;
    struct oneib_hop hops[] = {
        {.switch_guid = SWITCH_GUID + 8, .switch_port = 1, .from_host = true},
        {.switch_guid = SWITCH_GUID + 8, .switch_port = 3},
        {.switch_guid = SWITCH_GUID + 10, .switch_port = 1},
        {.switch_guid = SWITCH_GUID + 8, .switch_port = 2},
    };
    const struct oneib_routes routes = {.hops = hops, .hop_count = 4};
    const struct oneib_routed_cluster clusters[] = {
        {.sl = 2, .set = &everywhere}, {.sl = 4, .set = &at_h2}, {.sl = 4, .set = &everywhere}};
    build_tree(fabric, 2, 2, 1);
    add_partition(fabric, "one5", 0x105)->sl = 2;
    add_member(&fabric->table.items[0], port_guid(fabric, 0, 1));
    add_partition(fabric, "one6", 0x106)->sl = 4;
    add_member(&fabric->table.items[1], port_guid(fabric, 1, 1));
    add_partition(fabric, "one7", 0x107);
    add_member(&fabric->table.items[2], port_guid(fabric, 1, 1));
    fabric->topology.classes = classes;
    oneib_topology_carry(&fabric->topology, &routes, clusters, 3);
    oneib_topology_carry(&fabric->topology, &routes, clusters, 2); /* forgets what was */
}

static void the_text_says_which_class_clusters_have_and_links_carry(void **state)
{
    (void)state;
    struct fabric fabric;
    build_with_classes(&fabric);
    char *text = draw(oneib_topology_text, &fabric);
    assert_has(text, "host \"H1\" port 1  0x0000000000100001  40 Gb/s  network 5  "
                     "carries gold SL 2\n");
    assert_has(text, "networks 6, 7  carries no class SL 4\n");
    assert_has(text, "    3  switch \"S1\" port 1  40 Gb/s  carries gold SL 2\n");
    assert_has(text, "    1  switch \"L1\" port 3  40 Gb/s  carries gold SL 2\n");
    assert_has(text, "    3  switch \"S1\" port 2  40 Gb/s\n");
    assert_has(text, "host \"H4\" port 1  0x0000000000100007  40 Gb/s\n");
    assert_has(text, "\nnetwork 5  P_Key 0x0105  1 port  gold SL 2\n");
    assert_has(text, "\nnetwork 6  P_Key 0x0106  1 port  no class SL 4\n");
    assert_has(text, "\nnetwork 7  P_Key 0x0107  1 port  no class SL 0\n");
    free(text);
    clear(&fabric);
}

static void pictures_say_which_class_clusters_have_and_links_carry(void **state)
{
    (void)state;
    struct fabric fabric;
    build_with_classes(&fabric);
    char *dot = draw(oneib_topology_dot, &fabric), *svg = draw(oneib_topology_svg, &fabric);
    assert_has(dot, "port 1, carries gold SL 2\"];");
    assert_has(dot, "network 5, 0x0105, gold SL 2<");
    assert_int_equal(occurrences(svg, "<title>carries gold SL 2</title></path>"), 3);
    assert_int_equal(occurrences(svg, "<title>carries no class SL 4</title></path>"), 1);
    assert_has(svg, ">gold SL 2</tspan>");
    assert_has(svg, ">no class SL 0</tspan>");
    free(dot);
    free(svg);
    clear(&fabric);
}

/* Though the partitions have levels, and the links carry them. */
static void without_classes_drawings_are_silent_about_levels(void **state)
{
    (void)state;
    static const drawer drawers[] = {oneib_topology_text, oneib_topology_dot, oneib_topology_svg};
    for (size_t i = 0; i < sizeof drawers / sizeof *drawers; i++) {
        struct fabric fabric;
        build_with_classes(&fabric);
        fabric.topology.classes = NULL;
        char *drawn = draw(drawers[i], &fabric);
        assert_lacks(drawn, "carries");
        assert_lacks(drawn, " SL ");
        free(drawn);
        clear(&fabric);
    }
}

static void a_description_cannot_forge_a_line_of_the_text(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 1, 1, 0);
    strcpy(fabric.topology.nodes[0].description, "a\nswitch \"X\"\x1b[2J\xff");
    char *text = draw(oneib_topology_text, &fabric);
    assert_has(text, "host \"a\\x0aswitch \\x22X\\x22\\x1b[2J\\xff\" port 1");
    assert_int_equal(occurrences(text, "\n"), 4);
    free(text);
    clear(&fabric);
}

static void a_host_without_a_switch_has_a_block_of_its_own(void **state)
{
    (void)state;
    struct fabric fabric = {0};
    size_t left = add_host(&fabric, "left"), right = add_host(&fabric, "right");
    add_link(&fabric, left, 1, right, 1);
    add_host(&fabric, "lone");
    char *text = draw(oneib_topology_text, &fabric);
    assert_has(text, "host \"left\"  0x0000000000100000");
    assert_has(text, "host \"right\"  0x0000000000100002");
    assert_has(text, "host \"lone\"  0x0000000000100004");
    free(text);
    clear(&fabric);
}

/* ---- clusters -------------------------------------------------------------------------------- */

static void only_virtual_clusters_are_marked(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 1, 2, 0);
    static const char *const others[] = {"Default", "one", "oneX", "one5x", "storage", "one05"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        add_member(add_partition(&fabric, others[i], (oneib_pkey)(i + 1)),
                   port_guid(&fabric, 0, 1));
    char *svg = draw(oneib_topology_svg, &fabric);
    assert_has(svg, "0 virtual clusters");
    free(svg);
    clear(&fabric);
}

static void a_cluster_without_a_port_here_takes_no_colour(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 1, 2, 0);
    add_member(add_partition(&fabric, "one1", 1), UINT64_C(0xdead));
    add_member(add_partition(&fabric, "one2", 2), port_guid(&fabric, 0, 1));
    char *svg = draw(oneib_topology_svg, &fabric);
    assert_has(svg, "1 virtual cluster<");
    assert_lacks(svg, "one1<");
    assert_has(svg, "fill=\"#0072b2\""); /* the first colour */
    free(svg);
    clear(&fabric);
}

static void place_vm(struct fabric *fabric, uint32_t vm_id, uint32_t network, uint32_t host,
                     uint32_t source, oneib_guid port_guid_of_host)
{
    struct oneib_host *added = oneib_cloud_add_host(&fabric->cloud);
    assert_non_null(added);
    added->id = host;
    struct oneib_hca_port *port = oneib_host_add_port(added);
    assert_non_null(port);
    *port = (struct oneib_hca_port){.port_guid = port_guid_of_host, .port = 1};
    struct oneib_attachment *attachment = oneib_cloud_add_attachment(&fabric->cloud);
    assert_non_null(attachment);
    *attachment = (struct oneib_attachment){.vm_id = vm_id,
                                            .nic_id = 1,
                                            .network_id = network,
                                            .host_id = host,
                                            .source_host_id = source};
    oneib_cloud_sort(&fabric->cloud);
}

/* ConnectX-4 and later: the member is the VF, which no cable ends at. */
static void a_vfs_virtual_port_is_drawn_where_its_host_is(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 1, 2, 0);
    name_network(&fabric, 5, "red");
    place_vm(&fabric, 10, 5, 1, ONEIB_NO_ID, port_guid(&fabric, 0, 1));
    add_member(add_partition(&fabric, "one5", 1), oneib_guid_encode(7, 10, 1));
    char *svg = draw(oneib_topology_svg, &fabric);
    assert_has(svg, "1 virtual cluster<");
    assert_has(svg, "red");
    free(svg);
    clear(&fabric);
}

/* The fabric's word counts for more than where OpenNebula has the VM. */
static void a_virtual_port_that_was_read_is_drawn_where_it_was_seen(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 1, 2, 0);
    name_network(&fabric, 5, "red");
    struct oneib_subnet_port ports[] = {
        {.guid = oneib_guid_encode(7, 10, 1), .owner = port_guid(&fabric, 0, 1), .answered = true},
        {.guid = oneib_guid_encode(7, 11, 1), .owner = port_guid(&fabric, 0, 2)},
    };
    const struct oneib_subnet subnet = {.ports = ports, .port_count = 2};
    oneib_topology_add_vports(&fabric.topology, &subnet);
    assert_int_equal(fabric.topology.vport_count, 1); /* the other one has not answered */
    add_member(add_partition(&fabric, "one5", 1), oneib_guid_encode(7, 10, 1));
    char *svg = draw(oneib_topology_svg, &fabric);
    assert_has(svg, "1 virtual cluster<");
    free(svg);
    clear(&fabric);
}

/* Another NIC's, another VM's, or one whose host has no port here. */
static void a_virtual_port_that_is_nobodys_here_is_not_drawn(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 1, 2, 0);
    name_network(&fabric, 5, "red");
    place_vm(&fabric, 10, 5, 1, ONEIB_NO_ID, UINT64_C(0xdead));
    struct oneib_partition *partition = add_partition(&fabric, "one5", 1);
    add_member(partition, oneib_guid_encode(7, 10, 1));
    add_member(partition, oneib_guid_encode(7, 10, 2));
    add_member(partition, oneib_guid_encode(7, 99, 1));
    char *svg = draw(oneib_topology_svg, &fabric);
    assert_has(svg, "0 virtual clusters");
    free(svg);
    clear(&fabric);
}

static void a_port_in_several_clusters_has_as_many_segments(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 1, 1, 0);
    add_member(add_partition(&fabric, "one1", 1), port_guid(&fabric, 0, 1));
    add_member(add_partition(&fabric, "one2", 2), port_guid(&fabric, 0, 1));
    add_member(&fabric.table.items[1], port_guid(&fabric, 0, 1)); /* twice is once */
    char *svg = draw(oneib_topology_svg, &fabric);
    assert_int_equal(occurrences(svg, "fill=\"#0072b2\""), 2); /* segment and legend */
    assert_int_equal(occurrences(svg, "fill=\"#e69f00\""), 2);
    assert_has(svg, ">network 2, P_Key 0x0002, 1 port<");
    free(svg);
    clear(&fabric);
}

static void without_a_partition_table_there_is_no_legend(void **state)
{
    (void)state;
    struct fabric fabric;
    struct oneib_text text = {0};
    build_tree(&fabric, 1, 2, 0);
    oneib_topology_svg(&fabric.topology, NULL, NULL, &text);
    assert_well_formed(text.data);
    assert_lacks(text.data, "irtual cluster");
    oneib_text_clear(&text);
    clear(&fabric);
}

/* ---- svg and dot ----------------------------------------------------------------------------- */

static void mark_some(struct fabric *fabric, unsigned clusters)
{
    char name[16];
    for (unsigned k = 0; k < clusters; k++) {
        snprintf(name, sizeof name, "one%u", k);
        struct oneib_partition *partition = add_partition(fabric, name, (oneib_pkey)(k + 1));
        for (size_t i = 0; i < fabric->topology.node_count; i++)
            if (fabric->topology.nodes[i].type == ONEIB_NODE_CA && (i + k) % 3 == 0)
                add_member(partition, port_guid(fabric, i, 1));
    }
}

static void the_svg_is_well_formed_and_stands_alone_at_every_size(void **state)
{
    (void)state;
    static const unsigned sizes[][4] = {/* leaves, hosts each, spines, clusters */
                                        {1, 1, 0, 1},   {2, 4, 2, 2},    {5, 8, 2, 8},
                                        {9, 20, 4, 30}, {64, 16, 4, 90}, {3, 0, 1, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct fabric fabric;
        build_tree(&fabric, sizes[i][0], sizes[i][1], sizes[i][2]);
        mark_some(&fabric, sizes[i][3]);
        char *svg = draw(oneib_topology_svg, &fabric);
        assert_well_formed(svg);
        assert_stands_alone(svg);
        free(svg);
        clear(&fabric);
    }
}

/* The legend's fills, one a line, in its order: "#0072b2\n". */
static void legend_fills(const char *svg, char *fills, size_t size)
{
    const char *at = strstr(svg, ">Virtual clusters</text>");
    assert_non_null(at);
    for (fills[0] = '\0'; (at = strstr(at, "rx=\"3\" fill=\"")); at++) {
        const char *fill = at + strlen("rx=\"3\" fill=\"");
        const size_t used = strlen(fills);
        snprintf(fills + used, size - used, "%.*s\n", (int)strcspn(fill, "\""), fill);
    }
}

#define GREY "#94a3b8\n"
#define IN_NONE "#e2e8f0\n"

static void more_clusters_than_marks_are_grey_and_no_mark_is_two_clusters(void **state)
{
    (void)state;
    struct fabric fabric;
    char fills[2048], line[32];
    build_tree(&fabric, 2, 4, 2);
    mark_some(&fabric, 30);
    char *svg = draw(oneib_topology_svg, &fabric), *dot = draw(oneib_topology_dot, &fabric);
    legend_fills(svg, fills, sizeof fills);
    assert_int_equal(occurrences(fills, "\n"), 21 + 2);
    for (const char *at = fills; *at; at += strlen(line)) {
        snprintf(line, sizeof line, "%.*s\n", (int)strcspn(at, "\n"), at);
        assert_int_equal(occurrences(fills, line), 1);
    }
    assert_string_equal(fills + strlen(fills) - strlen(GREY IN_NONE), GREY IN_NONE);
    assert_has(svg, ">9 others<");
    assert_has(svg, " Grey stands for 9 clusters, and says nothing of who reaches whom");
    assert_int_equal(occurrences(dot, "<td bgcolor=\"#0072b2\""), 1);
    assert_has(dot, "23 others");
    assert_well_formed(svg);
    free(svg);
    free(dot);
    clear(&fabric);
}

static void a_chosen_cluster_is_the_only_one_with_a_colour(void **state)
{
    (void)state;
    struct fabric fabric;
    char fills[256];
    const uint32_t shown = 7;
    build_tree(&fabric, 2, 4, 2);
    mark_some(&fabric, 9);
    fabric.topology.shown = &shown;
    char *svg = draw(oneib_topology_svg, &fabric), *dot = draw(oneib_topology_dot, &fabric);
    legend_fills(svg, fills, sizeof fills);
    assert_string_equal(fills, "#0072b2\n" GREY IN_NONE);
    assert_has(svg, ">network 7, P_Key 0x0008");
    assert_has(svg, "Grey stands for 8 clusters");
    assert_has(dot, ">network 7, 0x0008<");
    assert_lacks(dot, "#e69f00");
    free(svg);
    free(dot);
    clear(&fabric);
}

/* A colour tells which cluster it is also where it has a texture. */
static void a_cell_with_room_has_its_clusters_name_whatever_its_texture(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 1, 20, 0);
    for (unsigned k = 0; k < 20; k++) {
        char name[16];
        snprintf(name, sizeof name, "one%u", k + 100);
        add_member(add_partition(&fabric, name, (oneib_pkey)(k + 1)), port_guid(&fabric, k, 1));
    }
    char *svg = draw(oneib_topology_svg, &fabric);
    for (unsigned k = 0; k < 20; k++) {
        char cell[32];
        snprintf(cell, sizeof cell, ">one%u</text>", k + 100);
        assert_int_equal(occurrences(svg, cell), 1);
    }
    free(svg);
    clear(&fabric);
}

/* NVIDIA's switches have one behind a port of their own, spines too. */
static void an_aggregation_node_is_no_host_and_makes_no_leaf(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 2, 2, 1);
    const size_t node = add_host(&fabric, "Mellanox Technologies Aggregation Node");
    add_link(&fabric, 6, 41, node, 1); /* the spine */
    char *svg = draw(oneib_topology_svg, &fabric), *text = draw(oneib_topology_text, &fabric);
    char *dot = draw(oneib_topology_dot, &fabric);
    assert_has(svg, ">4 hosts, 3 switches, 7 links, 1 aggregation node (SHARP, not drawn)");
    assert_lacks(svg, "Mellanox");
    assert_has(text, "   41  aggregation node \"Mellanox Technologies Aggregation Node\" port 1");
    assert_has(text, "hosts 4, aggregation nodes 1, switches 3, links 7\n");
    assert_has(dot, "  n6 -- n4 "); /* the spine above the leaf */
    free(svg);
    free(dot);
    free(text);
    clear(&fabric);
}

static void a_cable_from_a_node_to_itself_is_drawn(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 1, 2, 0);
    char *without = draw(oneib_topology_svg, &fabric);
    add_link(&fabric, 2, 10, 2, 11);
    add_link(&fabric, 0, 2, 0, 3);
    char *with = draw(oneib_topology_svg, &fabric);
    assert_int_equal(occurrences(with, "<path d="), occurrences(without, "<path d=") + 2);
    assert_well_formed(with);
    free(with);
    free(without);
    clear(&fabric);
}

static const char *const hostile[] = {
    "</text><script>alert(1)</script>",
    "\" onload=\"x",
    "a & b &lt; c",
    "]]>",
    "\x01\x02\x1b[31m",
    "\xff\xfe\xc3",
    "\xef\xbf\xbf\xef\xbf\xbe",
    "\xe2\x80\xae right to left",
    "",
    "'\\\"",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
};
#define HOSTILE_COUNT (sizeof hostile / sizeof hostile[0])

static void build_hostile(struct fabric *fabric)
{
    *fabric = (struct fabric){0};
    size_t leaf = add_switch(fabric, hostile[0]);
    for (size_t i = 0; i < HOSTILE_COUNT; i++)
        add_link(fabric, leaf, (uint8_t)(i + 1), add_host(fabric, hostile[i]), 1);
}

static void hostile_descriptions_stay_text_in_the_svg(void **state)
{
    (void)state;
    struct fabric fabric;
    build_hostile(&fabric);
    char *svg = draw(oneib_topology_svg, &fabric);
    assert_well_formed(svg);
    assert_stands_alone(svg);
    assert_has(svg, "&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
    assert_has(svg, "a &amp; b &amp;lt; c");
    free(svg);
    clear(&fabric);
}

/* A user chose it. */
static void hostile_names_of_networks_stay_text_and_are_cut_in_every_drawing(void **state)
{
    (void)state;
    static const drawer drawers[] = {oneib_topology_text, oneib_topology_dot, oneib_topology_svg};
    char name[16];
    struct fabric fabric;
    build_tree(&fabric, 1, HOSTILE_COUNT, 0);
    for (unsigned i = 0; i < HOSTILE_COUNT; i++) {
        snprintf(name, sizeof name, "one%u", i);
        add_member(add_partition(&fabric, name, (oneib_pkey)(i + 1)), port_guid(&fabric, i, 1));
        name_network(&fabric, i, hostile[i]);
    }
    for (size_t i = 0; i < sizeof drawers / sizeof drawers[0]; i++) {
        char *drawn = draw(drawers[i], &fabric);
        for (const char *at = drawn; *at; at++)
            assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
        if (drawers[i] != oneib_topology_text)
            assert_lacks(drawn, "<script>");
        if (drawers[i] == oneib_topology_svg) {
            assert_well_formed(drawn);
            assert_stands_alone(drawn);
        } else {
            assert_lacks(drawn, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"); /* 33 */
        }
        free(drawn);
    }
    clear(&fabric);
}

static void the_svg_calls_clusters_by_their_networks_names(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 1, 2, 0);
    add_member(add_partition(&fabric, "one5", 0x105), port_guid(&fabric, 0, 1));
    add_member(add_partition(&fabric, "one7", 0x107), port_guid(&fabric, 0, 1));
    name_network(&fabric, 5, "red");
    name_network(&fabric, 7, "\xe5\x8c\x96\xe5\xad\xa6 and so on, with a very long name");
    char *svg = draw(oneib_topology_svg, &fabric);
    assert_int_equal(occurrences(svg, ">red</t"), 2); /* segment and legend */
    assert_has(svg, ">network 5, P_Key 0x0105, 1 port<");
    assert_has(svg, "port 1 0x0000000000100001: red, \xe5\x8c\x96");
    assert_has(svg, ">\xe5\x8c\x96\xe5\xad\xa6 and so on, with a ve\xe2\x80\xa6</tspan>");
    assert_lacks(svg, "one5");
    free(svg);
    clear(&fabric);
}

/* ---- cables ---------------------------------------------------------------------------------- */

struct card {
    int x, y, width, height;
    bool cabled;
};

static size_t read_cards(const char *svg, struct card *cards, size_t room)
{
    size_t count = 0;
    for (const char *at = svg; (at = strstr(at, "<rect x=")) && count < room; at++) {
        struct card card = {0};
        int length = 0, corner;
        sscanf(at,
               "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" fill=\"#fff\" "
               "stroke=\"#cbd5e1\"/>%n",
               &card.x, &card.y, &card.width, &card.height, &corner, &length);
        if (length > 0)
            cards[count++] = card;
    }
    return count;
}

/* From (x, top) straight down to bottom. */
static bool passes(const struct card *card, int x, int top, int bottom)
{
    return x >= card->x && x <= card->x + card->width && top < card->y + card->height &&
           bottom > card->y;
}

/* The card at whose upper edge, or left side, it ends. */
static struct card *card_at(struct card *cards, size_t count, int x, int y)
{
    for (size_t i = 0; i < count; i++)
        if ((y == cards[i].y && x > cards[i].x && x < cards[i].x + cards[i].width) ||
            (x == cards[i].x && y > cards[i].y && y < cards[i].y + cards[i].height))
            return &cards[i];
    return NULL;
}

static void each_host_has_a_cable_to_its_leaf_that_passes_no_other_host(void **state)
{
    (void)state;
    static const unsigned sizes[][2] = {{1, 1}, {1, 8}, {2, 12}, {4, 16}, {9, 20}};
    static struct card cards[256];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct fabric fabric;
        build_tree(&fabric, sizes[i][0], sizes[i][1], sizes[i][0] > 1);
        char *svg = draw(oneib_topology_svg, &fabric);
        const size_t hosts = (size_t)sizes[i][0] * sizes[i][1];
        assert_int_equal(read_cards(svg, cards, 256), hosts);
        size_t cables = 0;
        for (const char *at = svg; (at = strstr(at, "<path d=\"M")); at++) {
            int x, top, bottom, end_x, end_y;
            int read = sscanf(at, "<path d=\"M%d %dV%dQ%*d %*d %*d %dH%d", &x, &top, &bottom,
                              &end_y, &end_x);
            if (read < 3)
                continue;
            for (size_t k = 0; k < hosts; k++)
                assert_false(passes(&cards[k], x, top, bottom));
            struct card *end =
                read == 5 ? card_at(cards, hosts, end_x, end_y) : card_at(cards, hosts, x, bottom);
            assert_non_null(end);
            assert_false(end->cabled);
            end->cabled = true;
            cables++;
        }
        assert_int_equal(cables, hosts);
        free(svg);
        clear(&fabric);
    }
}

static void hostile_descriptions_stay_in_their_quotes_in_dot(void **state)
{
    (void)state;
    struct fabric fabric;
    build_hostile(&fabric);
    char *dot = draw(oneib_topology_dot, &fabric);
    assert_has(dot, "label=\"\\\" onload=\\\"x\"");
    assert_has(dot, "label=\"'\\\\\\\"\"");
    for (const char *at = dot; *at; at++)
        assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
    free(dot);
    clear(&fabric);
}

static void dot_has_every_node_and_link_once(void **state)
{
    (void)state;
    struct fabric fabric;
    build_tree(&fabric, 2, 4, 2);
    mark_some(&fabric, 2);
    char *dot = draw(oneib_topology_dot, &fabric);
    assert_int_equal(occurrences(dot, " -- "), 12);
    assert_int_equal(occurrences(dot, "tooltip=\"0x"), 12);
    assert_has(dot, "  n10 -- n8 "); /* spine above leaf */
    assert_has(dot, "  n8 -- n0 ");  /* leaf above host */
    assert_has(dot, ">one1<");
    assert_has(dot, ">network 1, 0x0002<");
    free(dot);
    clear(&fabric);
}

static void the_same_fabric_is_drawn_the_same_each_time(void **state)
{
    (void)state;
    static const drawer drawers[] = {oneib_topology_text, oneib_topology_dot, oneib_topology_svg};
    for (size_t i = 0; i < sizeof drawers / sizeof drawers[0]; i++) {
        struct fabric fabric;
        build_tree(&fabric, 4, 8, 2);
        mark_some(&fabric, 9);
        char *first = draw(drawers[i], &fabric);
        char *second = draw(drawers[i], &fabric);
        assert_string_equal(first, second);
        free(first);
        free(second);
        clear(&fabric);
    }
}

/* Nothing that a discovery could bring may be read beyond its bounds or stop a drawing. */
static void odd_fabrics_are_drawn_too(void **state)
{
    (void)state;
    static const drawer drawers[] = {oneib_topology_text, oneib_topology_dot, oneib_topology_svg};
    for (size_t i = 0; i < sizeof drawers / sizeof drawers[0]; i++) {
        struct fabric fabric = {0};
        free(draw(drawers[i], &fabric)); /* nothing at all */
        size_t lone = add_host(&fabric, "lone"), left = add_host(&fabric, "left");
        size_t right = add_host(&fabric, "right"), leaf = add_switch(&fabric, "L1");
        size_t other = add_switch(&fabric, "L2"), empty = add_switch(&fabric, "empty");
        add_node(&fabric, 77, "neither");
        add_link(&fabric, left, 1, right, 1);
        add_link(&fabric, left, 2, leaf, 1);
        add_link(&fabric, lone, 1, lone, 2); /* a cable in a loop */
        add_link(&fabric, leaf, 2, leaf, 3);
        add_link(&fabric, leaf, 4, other, 4); /* leaves side by side */
        add_link(&fabric, right, 2, other, 1);
        add_link(&fabric, leaf, 5, empty, 1);
        add_link(&fabric, leaf, 6, other, 6);
        fabric.topology.links[7].b = 4711; /* no such node */
        mark_some(&fabric, 3);
        char *drawn = draw(drawers[i], &fabric);
        if (drawers[i] == oneib_topology_svg)
            assert_well_formed(drawn);
        free(drawn);
        clear(&fabric);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_has_one_block_a_switch_with_its_hosts_and_their_clusters),
        cmocka_unit_test(the_text_says_which_class_clusters_have_and_links_carry),
        cmocka_unit_test(pictures_say_which_class_clusters_have_and_links_carry),
        cmocka_unit_test(without_classes_drawings_are_silent_about_levels),
        cmocka_unit_test(a_description_cannot_forge_a_line_of_the_text),
        cmocka_unit_test(a_host_without_a_switch_has_a_block_of_its_own),
        cmocka_unit_test(only_virtual_clusters_are_marked),
        cmocka_unit_test(a_cluster_without_a_port_here_takes_no_colour),
        cmocka_unit_test(a_vfs_virtual_port_is_drawn_where_its_host_is),
        cmocka_unit_test(a_virtual_port_that_was_read_is_drawn_where_it_was_seen),
        cmocka_unit_test(a_virtual_port_that_is_nobodys_here_is_not_drawn),
        cmocka_unit_test(a_port_in_several_clusters_has_as_many_segments),
        cmocka_unit_test(without_a_partition_table_there_is_no_legend),
        cmocka_unit_test(the_svg_is_well_formed_and_stands_alone_at_every_size),
        cmocka_unit_test(more_clusters_than_marks_are_grey_and_no_mark_is_two_clusters),
        cmocka_unit_test(a_chosen_cluster_is_the_only_one_with_a_colour),
        cmocka_unit_test(a_cell_with_room_has_its_clusters_name_whatever_its_texture),
        cmocka_unit_test(an_aggregation_node_is_no_host_and_makes_no_leaf),
        cmocka_unit_test(a_cable_from_a_node_to_itself_is_drawn),
        cmocka_unit_test(hostile_descriptions_stay_text_in_the_svg),
        cmocka_unit_test(hostile_descriptions_stay_in_their_quotes_in_dot),
        cmocka_unit_test(hostile_names_of_networks_stay_text_and_are_cut_in_every_drawing),
        cmocka_unit_test(the_svg_calls_clusters_by_their_networks_names),
        cmocka_unit_test(each_host_has_a_cable_to_its_leaf_that_passes_no_other_host),
        cmocka_unit_test(dot_has_every_node_and_link_once),
        cmocka_unit_test(the_same_fabric_is_drawn_the_same_each_time),
        cmocka_unit_test(odd_fabrics_are_drawn_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
