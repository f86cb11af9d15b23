// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"
#include "node_standin.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAUSE_NS 3000000
/* Where nothing has changed for so many rounds it looks seldom: a round asks each port and opens
 * a file for each VF. */
#define QUIET_ROUNDS 32u
#define QUIET_PAUSE_NS 12000000
#define WHOLE_EVERY 16u
/* A node's port with VFs shows one entry less than there are: mlx4/main.c of the kernel keeps it.
 */
#define PORT_ENTRIES 64u /* of ibsim */

static int fail(const char *what)
{
    fprintf(stderr, "node-standin: %s\n", what);
    return EXIT_FAILURE;
}

static bool read_plan(const char *path, const struct tree_hca *hca, struct nodes *nodes)
{
    char line[512];
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool fine = true;
    while (fine && fgets(line, sizeof line, file)) {
        struct node *node = &nodes->items[nodes->count];
        fine = nodes->count < NODES_MAX &&
               sscanf(line, "%127s %63s %" SCNx64, node->root, node->route, &node->guid) == 3;
        node->hca = *hca;
        nodes->count++;
    }
    fclose(file);
    return fine;
}

static bool parse_hca(char **argv, struct tree_hca *hca)
{
    uint64_t vfs;
    const bool is_mlx4 = strcmp(argv[2], "mlx4") == 0;
    if ((!is_mlx4 && strcmp(argv[2], "mlx5") != 0) || !oneib_parse_decimal(argv[3], VFS_MAX, &vfs))
        return false;
    *hca = (struct tree_hca){.name = is_mlx4 ? "mlx4_0" : "mlx5_0",
                             .driver = is_mlx4 ? ONEIB_HCA_MLX4 : ONEIB_HCA_MLX5,
                             .pci = "0000:81:00.0",
                             .ports = 1,
                             .pkeys = is_mlx4 && vfs > 0 ? PORT_ENTRIES - 1 : PORT_ENTRIES,
                             .vfs = (unsigned)vfs,
                             .vfs_supported = VFS_MAX};
    return true;
}

/* The lab ends this process. */
__attribute__((noreturn)) static void play(struct nodes *nodes, const struct ibmad_port *fabric)
{
    unsigned quiet = 0;
    for (unsigned round = 0;; round++) {
        bool changed = false;
        for (size_t i = 0; i < nodes->count; i++) {
            changed |= node_follow(&nodes->items[i], fabric, round % WHOLE_EVERY == 0);
            changed |= node_follow_domains(&nodes->items[i]);
        }
        changed |= nodes_settle_aliases(nodes);
        quiet = changed ? 0 : quiet + 1;
        if (round == 0) {
            puts("ready");
            fflush(stdout);
        }
        nanosleep(&(struct timespec){.tv_nsec = quiet < QUIET_ROUNDS ? PAUSE_NS : QUIET_PAUSE_NS},
                  NULL);
    }
}

int main(int argc, char **argv)
{
    static struct nodes nodes;
    struct tree_hca hca;
    int classes[] = {IB_SMI_CLASS, IB_SMI_DIRECT_CLASS};
    if (argc != 4 || !parse_hca(argv, &hca))
        return fail("usage: node-standin PLAN mlx4|mlx5 VFS");
    if (!read_plan(argv[1], &hca, &nodes))
        return fail("the plan cannot be read");
    for (size_t i = 0; i < nodes.count; i++)
        node_make_tree(&nodes.items[i]);
    struct ibmad_port *fabric = mad_rpc_open_port(NULL, 0, classes, 2);
    if (!fabric)
        return fail("no port of the fabric");
    mad_rpc_set_retries(fabric, 2);
    play(&nodes, fabric);
}
