// SPDX-License-Identifier: Apache-2.0
#include "fabric/port_info.h"
#include "node_standin.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SMP_MS 300
#define BLOCK_ENTRIES 32u /* of P_KeyTable, InfiniBand specification 14.2.5.7 */
#define DOWN 1u
#define SILENT_ROUNDS 100u

static bool ask(const struct node *node, const struct ibmad_port *fabric, unsigned attribute,
                unsigned modifier, uint8_t data[IB_SMP_DATA_SIZE])
{
    ib_portid_t target = {0};
    char route[ROUTE_SIZE]; /* str2drpath() writes to it */
    memcpy(route, node->route, sizeof route);
    memset(data, 0, IB_SMP_DATA_SIZE);
    return str2drpath(&target.drpath, route, 0, 0) >= 0 &&
           smp_query_via(data, &target, attribute, modifier, SMP_MS, fabric);
}

static bool read_table(const struct node *node, const struct ibmad_port *fabric,
                       uint16_t table[ENTRIES_MAX])
{
    uint8_t data[IB_SMP_DATA_SIZE];
    for (unsigned block = 0; block * BLOCK_ENTRIES < node->capacity; block++) {
        if (!ask(node, fabric, IB_ATTR_PKEY_TBL, block, data))
            return false;
        for (unsigned i = 0; i < BLOCK_ENTRIES; i++)
            table[block * BLOCK_ENTRIES + i] = (uint16_t)(data[2 * i] << 8 | data[2 * i + 1]);
    }
    return true;
}

/* A port of the lab is 1; PortInfo's modifier names the port that is meant. */
static bool read_state(const struct node *node, const struct ibmad_port *fabric,
                       struct node_link *link)
{
    uint8_t data[IB_SMP_DATA_SIZE];
    if (!ask(node, fabric, IB_ATTR_PORT_INFO, 1, data))
        return false;
    *link = (struct node_link){
        .state = mad_get_field(data, 0, IB_PORT_STATE_F),
        .lid = mad_get_field(data, 0, IB_PORT_LID_F),
        .sm_lid = mad_get_field(data, 0, IB_PORT_SMLID_F),
        .gbps = oneib_port_info_active_gbps(data),
    };
    return link->state <= 4;
}

static bool read_capacity(struct node *node, const struct ibmad_port *fabric)
{
    uint8_t data[IB_SMP_DATA_SIZE];
    if (node->capacity == 0 && ask(node, fabric, IB_ATTR_NODE_INFO, 0, data))
        node->capacity = mad_get_field(data, 0, IB_NODE_PARTITION_CAP_F);
    return node->capacity > 0 && node->capacity <= ENTRIES_MAX;
}

/* A process of that id that is something else by now is left alone. */
static bool is_service(int pid)
{
    char path[32], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const bool read = fgets(name, sizeof name, file) && strcmp(name, "oneib-node\n") == 0;
    fclose(file);
    return read;
}

static void tell_service(const struct node *node, int signal)
{
    char path[ROOT_SIZE + 24];
    int pid = 0;
    snprintf(path, sizeof path, "%s/run/service.pid", node->root);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (fscanf(file, "%d", &pid) == 1 && pid > 1 && is_service(pid))
        kill(pid, signal);
    fclose(file);
}

/* First what goes, then what comes: a key that moves is at no time in two entries. */
static bool show_table(struct node *node, const uint16_t table[ENTRIES_MAX])
{
    bool changed = false;
    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < node->hca.pkeys; i++) {
            const uint16_t wanted = pass == 0 ? 0 : table[i];
            if (table[i] == node->table[i] || wanted == node->table[i])
                continue;
            node->table[i] = wanted;
            node_show_pkey(node, i, wanted);
            changed = true;
        }
    return changed;
}

static bool show_state(struct node *node, const struct node_link *link)
{
    if (memcmp(link, &node->link, sizeof *link) == 0)
        return false;
    node->link = *link;
    node_show_state(node);
    return true;
}

bool node_follow(struct node *node, const struct ibmad_port *fabric, bool whole)
{
    uint16_t table[ENTRIES_MAX];
    struct node_link link = node->link;
    bool changed;
    if (node->silent > 0) {
        node->silent--;
        return false;
    }
    if (read_capacity(node, fabric) &&
        (!(whole || link.state <= DOWN) || read_state(node, fabric, &link)) &&
        read_table(node, fabric, table)) {
        changed = show_table(node, table);
        changed = show_state(node, &link) || changed;
    } else {
        /* Its table is the adapter's, link or no link. */
        link = node->link;
        link.state = DOWN;
        changed = show_state(node, &link);
        node->silent = SILENT_ROUNDS;
    }
    /* The adapter's event. */
    if (changed)
        tell_service(node, SIGHUP);
    return changed;
}

bool node_follow_domains(struct node *node)
{
    char path[ROOT_SIZE + 40];
    struct stat status;
    snprintf(path, sizeof path, "%s/var/lib/live-standin/node.xml", node->root);
    if (stat(path, &status) < 0 || (status.st_ino == node->domains.st_ino &&
                                    status.st_mtim.tv_nsec == node->domains.st_mtim.tv_nsec &&
                                    status.st_mtim.tv_sec == node->domains.st_mtim.tv_sec))
        return false;
    node->domains = status;
    tell_service(node, SIGUSR1);
    return true;
}
