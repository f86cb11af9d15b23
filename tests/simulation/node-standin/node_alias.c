// SPDX-License-Identifier: Apache-2.0
#include "node_standin.h"
#include <stdio.h>
#include <unistd.h>

#define DOWN 1u
#define ACTIVE 4u
/* In admin_guids, mlx4/alias_GUID.c of the kernel: the alias is to be deleted. */
#define DELETED UINT64_MAX

static bool is_taken(const struct nodes *nodes, uint64_t guid)
{
    for (size_t i = 0; i < nodes->count; i++) {
        const struct node *node = &nodes->items[i];
        if (node->guid == guid)
            return true;
        if (node->was_away) /* opensm drops a port with all its aliases */
            continue;
        for (unsigned vf = 0; vf < node->hca.vfs; vf++)
            if (node->aliases[vf] == guid)
                return true;
    }
    return false;
}

/* "SM denied the deletion": the alias is in a multicast group. */
static bool is_held(const struct node *node)
{
    char path[ROOT_SIZE + 8];
    snprintf(path, sizeof path, "%s.hold", node->root);
    return access(path, F_OK) == 0;
}

/* What is refused is asked again in the next round: sooner than the driver does it, at 1 s. */
static bool settle(const struct nodes *nodes, struct node *node, unsigned vf)
{
    uint64_t wanted;
    if (!node_wanted_alias(node, vf, &wanted))
        return false;
    if (wanted == DELETED)
        wanted = 0;
    if (wanted == node->aliases[vf] || (wanted == 0 ? is_held(node) : is_taken(nodes, wanted)))
        return false;
    node->aliases[vf] = wanted;
    node_show_alias(node, vf);
    return true;
}

/* The driver asks for all of them again when its port is active; what another one has meanwhile is
 * refused. */
static void ask_again(const struct nodes *nodes, struct node *node)
{
    for (unsigned vf = 0; vf < node->hca.vfs; vf++) {
        const uint64_t alias = node->aliases[vf];
        node->aliases[vf] = 0;
        if (alias != 0 && !is_taken(nodes, alias))
            node->aliases[vf] = alias;
        else if (alias != 0)
            node_show_alias(node, vf);
    }
    node->was_away = false;
}

static void note_absence(const struct nodes *nodes, struct node *node)
{
    if (node->link.state == DOWN)
        node->was_away = true;
    else if (node->was_away && node->link.state == ACTIVE)
        ask_again(nodes, node);
}

bool nodes_settle_aliases(struct nodes *nodes)
{
    bool changed = false;
    for (size_t i = 0; i < nodes->count; i++) {
        struct node *node = &nodes->items[i];
        note_absence(nodes, node);
        for (unsigned vf = 0;
             node->hca.driver == ONEIB_HCA_MLX4 && node->link.state == ACTIVE && vf < node->hca.vfs;
             vf++)
            changed |= settle(nodes, node, vf);
    }
    return changed;
}
