// SPDX-License-Identifier: Apache-2.0
#include "node_standin.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 384
#define PREFIX "fe80:0000:0000:0000"

static void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

static void make_path(const struct node *node, const char *name, char path[PATH_SIZE])
{
    if (snprintf(path, PATH_SIZE, "%s/sys/class/infiniband/%s/%s", node->root, node->hca.name,
                 name) >= PATH_SIZE)
        fail(name);
}

/* The new file is made outside of the tree: directories of sysfs hold nothing else. */
static void replace(const struct node *node, const char *name, const char *value)
{
    char path[PATH_SIZE], new_path[PATH_SIZE];
    make_path(node, name, path);
    snprintf(new_path, sizeof new_path, "%s.new", node->root);
    FILE *file = fopen(new_path, "we");
    if (!file || fprintf(file, "%s\n", value) < 0 || fclose(file) != 0 ||
        rename(new_path, path) < 0)
        fail(path);
}

static void guid_text(uint64_t guid, char text[20])
{
    snprintf(text, 20, "%04x:%04x:%04x:%04x", (unsigned)(guid >> 48),
             (unsigned)(guid >> 32 & 0xffff), (unsigned)(guid >> 16 & 0xffff),
             (unsigned)(guid & 0xffff));
}

static void show_guid(const struct node *node, const char *name, const char *prefix, uint64_t guid)
{
    char half[20], text[48];
    guid_text(guid, half);
    snprintf(text, sizeof text, "%s%s", prefix, half);
    replace(node, name, text);
}

static void show_identity(const struct node *node)
{
    char text[24];
    show_guid(node, "node_guid", "", node->guid - 1);
    show_guid(node, "ports/1/gids/0", PREFIX ":", node->guid);
    if (node->hca.driver != ONEIB_HCA_MLX4 || node->hca.vfs == 0)
        return;
    snprintf(text, sizeof text, "%" PRIx64, node->guid);
    replace(node, "iov/ports/1/admin_guids/0", text);
    show_guid(node, "iov/ports/1/gids/0", PREFIX ":", node->guid);
}

void node_make_tree(struct node *node)
{
    char proc[PATH_SIZE];
    if (mkdir(node->root, 0755) < 0)
        fail(node->root);
    tree_at(node->root);
    tree_reset(NULL);
    tree_add_hca(&node->hca);
    show_identity(node);
    node->table[0] = 0x7fff; /* as tree_add_hca() leaves it */
    /* Processes are this machine's. */
    snprintf(proc, sizeof proc, "%s/proc", node->root);
    if (rmdir(proc) < 0 || symlink("/proc", proc) < 0)
        fail(proc);
}

void node_show_pkey(const struct node *node, unsigned index, uint16_t raw)
{
    char name[48], text[8];
    snprintf(text, sizeof text, "0x%04x", raw);
    snprintf(name, sizeof name, "ports/1/pkeys/%u", index);
    replace(node, name, text);
    if (node->hca.driver != ONEIB_HCA_MLX4 || node->hca.vfs == 0)
        return;
    snprintf(name, sizeof name, "iov/ports/1/pkeys/%u", index);
    replace(node, name, text);
}

void node_show_state(const struct node *node)
{
    static const char *const names[] = {"0: NOP", "1: DOWN", "2: INIT", "3: ARMED", "4: ACTIVE"};
    char text[32];
    snprintf(text, sizeof text, "0x%x", node->link.lid);
    replace(node, "ports/1/lid", text);
    snprintf(text, sizeof text, "0x%x", node->link.sm_lid);
    replace(node, "ports/1/sm_lid", text);
    snprintf(text, sizeof text, "%u Gb/sec (4X)", node->link.gbps);
    replace(node, "ports/1/rate", text);
    replace(node, "ports/1/state", names[node->link.state]);
}

bool node_wanted_alias(const struct node *node, unsigned vf, uint64_t *guid)
{
    char name[48], path[PATH_SIZE], text[32];
    snprintf(name, sizeof name, "iov/ports/1/admin_guids/%u", vf + 1);
    make_path(node, name, path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return sscanf(text, "%" SCNx64, guid) == 1;
}

void node_show_alias(const struct node *node, unsigned vf)
{
    char name[48];
    snprintf(name, sizeof name, "iov/ports/1/gids/%u", vf + 1);
    show_guid(node, name, PREFIX ":", node->aliases[vf]);
}
