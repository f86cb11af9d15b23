// SPDX-License-Identifier: Apache-2.0
/*
 * node-standin PLAN DRIVER VFS: the adapters of all simulated nodes of a lab, as one program on the
 * fabric of ibsim. PLAN has a line a node: ROOT ROUTE GUID, its root directory, the ports that lead
 * to its port from here, and the GUID of that port.
 *
 * It makes a sysfs tree in each root (tests/unit/hca/tree.h), says "ready", and then plays the
 * kernel's and the firmware's part:
 *   - what a port's P_Key table, LID and state are, as the port says itself by SMP, is in the tree
 *     some milliseconds later; then oneib-node, whose process id is in ROOT/run/service.pid, gets
 * SIGHUP
 *   - mlx4: a GUID in admin_guids appears in gids (the subnet manager has accepted it), unless
 *     another port or VF of the fabric has it (one that is off the fabric has none there, and asks
 *     again when it is back); a deleted one disappears, unless ROOT.hold is there:
 *     then the subnet manager refuses, as it does while the alias is in a multicast group
 *   - libvirt's test driver has no events: when ROOT/var/lib/live-standin/node.xml, which the
 *     stand-in for libvirt writes (tests/unit/vmm/live_standin.h), is another one, oneib-node gets
 *     SIGUSR1
 * Files are replaced by renaming: nobody reads half of one.
 */
#ifndef ONEIB_NODE_STANDIN_H
#define ONEIB_NODE_STANDIN_H

#include "tree.h"
#include <infiniband/mad.h>
#include <sys/stat.h>

#define NODES_MAX 128
#define ROOT_SIZE 128
#define ROUTE_SIZE 64
#define ENTRIES_MAX 128
#define VFS_MAX 63

struct node_link {
    unsigned state, lid, sm_lid, gbps;
};

struct node {
    char root[ROOT_SIZE];
    char route[ROUTE_SIZE];
    uint64_t guid; /* of port 1 */
    struct tree_hca hca;
    unsigned capacity;           /* entries of the port's table; 0: not known yet */
    uint16_t table[ENTRIES_MAX]; /* as the tree shows it */
    struct node_link link;       /* likewise */
    unsigned silent;             /* rounds that it is not asked, because it did not answer */
    uint64_t aliases[VFS_MAX];   /* mlx4: that the SM has accepted; 0: none */
    bool was_away;               /* the port was off the fabric: its aliases are nobody's there */
    struct stat domains;         /* of the file that follows, as it was told of */
};

struct nodes {
    struct node items[NODES_MAX];
    size_t count;
};

/* node_tree.c: the only one that knows where things are in the tree. */
void node_make_tree(struct node *node);
void node_show_pkey(const struct node *node, unsigned index, uint16_t raw);
void node_show_state(const struct node *node);
/* What oneib wants alias n + 1 to be; false: nothing that can be read now. */
bool node_wanted_alias(const struct node *node, unsigned vf, uint64_t *guid);
void node_show_alias(const struct node *node, unsigned vf);

/* node_port.c: reads the port and shows what has changed; `whole`: also what seldom changes. Here
 * and below: whether something has changed. */
bool node_follow(struct node *node, const struct ibmad_port *fabric, bool whole);
/* Tells oneib-node when there are other domains. */
bool node_follow_domains(struct node *node);

/* node_alias.c: one round of what the adapters' firmware and the SM do about alias GUIDs. */
bool nodes_settle_aliases(struct nodes *nodes);

#endif
