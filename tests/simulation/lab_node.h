// SPDX-License-Identifier: Apache-2.0
/*
 * Simulated KVM nodes for a lab: for each compute host a folder that stands for its root
 * (ONEIB_NODE_ROOT), with a sysfs tree of mlx4 or mlx5 adapters, a /run/oneib, and a file of
 * libvirt's test driver that says which domains it has. What the programs see there is what the
 * simulated fabric has: `node-standin`, one process for all nodes of a lab, reads the ports' P_Key
 * tables, states and LIDs by SMP from the fabric and writes them into the trees, and plays the
 * adapter's part: an alias GUID in admin_guids appears in gids (the SM accepts it) unless another
 * port has it. After a change of a table it sends SIGHUP to the node's `oneib-vf watch`, as the
 * adapter's P_Key-change event would.
 *
 * The programs on a node (probe, network driver, oneib-vf) are the real ones. They run as the user
 * that owns the trees: never as root, who would ignore ONEIB_NODE_ROOT (hca/place.h); a lab that
 * root opens runs them as nobody (65534).
 */
#ifndef ONEIB_LAB_NODE_H
#define ONEIB_LAB_NODE_H

#include "lab.h"
#include "model/cloud.h"
#include "model/pci.h"

struct lab_node_options {
    enum oneib_hca_driver driver; /* MLX4 or MLX5 (NVIDIA's sysfs files) */
    unsigned vfs;                 /* of each adapter, 0-63 */
    bool watch;                   /* start oneib-vf watch on each node */
};
#define LAB_NODES_DEFAULTS                                                                         \
    {                                                                                              \
        .driver = ONEIB_HCA_MLX4, .vfs = 7, .watch = true                                          \
    }

/* Makes the trees of all compute hosts and starts node-standin; after lab_fabric_start(). Ended by
 * lab_close(). */
int lab_nodes_start(struct lab *lab, const struct lab_node_options *options,
                    struct oneib_error *err);
/* The folder that stands for the host's root. */
const char *lab_node_root(const struct lab *lab, unsigned host);

/* Runs a program on the node: argv[0] is the name of one that was built ("probe", "pre",
 * "oneib-vf", "oneib"); input may be NULL. *status: its exit status; output and errors are
 * appended. */
int lab_node_run(struct lab *lab, unsigned host, const char *const *argv, const char *input,
                 struct oneib_text *output, struct oneib_text *errors, int *status,
                 struct oneib_error *err);

/* Runs the probe of a node and gives what it prints to the stand-in, as monitord would. */
int lab_node_probe(struct lab *lab, unsigned host, struct oneib_error *err);

/*
 * Calls the network driver on a node for a VM of the stand-in, as OpenNebula does: action "pre",
 * "post", "clean" or "update_nic" with the arguments and the document that 7.4 gives it. attach:
 * the NIC that the action is about has ATTACH=YES (-1: none). A driver that fails is -1 with its
 * words.
 */
int lab_node_driver(struct lab *lab, unsigned host, const char *action, uint32_t vm, int nic,
                    struct oneib_error *err);

/* The domain of a VM is there (with the VFs that oneib's table has for it), or is gone. */
int lab_node_domain(struct lab *lab, unsigned host, uint32_t vm, bool there,
                    struct oneib_error *err);

/* How VF n of the node's adapter is mapped: the key that entry 0 of its port 1 points to, and
 * whether all other entries point to the default partition; from the tree. */
struct lab_node_vf {
    uint16_t key;  /* raw; 0x7fff: closed */
    bool only;     /* nothing else but the default partition */
    uint64_t guid; /* 0: none */
};
int lab_node_vf(struct lab *lab, unsigned host, unsigned vf, struct lab_node_vf *state,
                struct oneib_error *err);

#endif
