// SPDX-License-Identifier: Apache-2.0
/*
 * Simulated KVM nodes for a lab: for each compute host a directory that stands for its root
 * (ONEIB_NODE_ROOT), with a sysfs tree of one mlx4 or mlx5 adapter, a /run/oneib, and a file of
 * libvirt's test driver that says which domains it has. What the programs see there is what the
 * simulated fabric has: `node-standin`, one process for all nodes of a lab, reads the ports' P_Key
 * tables, states and LIDs by SMP from the fabric and writes them into the trees, and plays the
 * adapter's part: see node-standin/node_standin.h.
 *
 * The programs on a node (oneib-node with oneib-domains, probe, network driver) are the real ones.
 * They run as the user that owns the trees: never as root, who would ignore ONEIB_NODE_ROOT
 * (hca/place.h); a lab that root opens runs them, and node-standin, as nobody (65534). All of them
 * are copied into the lab's directory: nobody need not be able to enter the directories of the
 * build, and they look for each other beside themselves, as where they are installed.
 */
#ifndef ONEIB_LAB_NODE_H
#define ONEIB_LAB_NODE_H

#include "cluster/cloud.h"
#include "ib/pci.h"
#include "lab.h"

struct lab_node_options {
    enum oneib_hca_driver driver;                  /* MLX4, or MLX5 (NVIDIA's sysfs files) */
    unsigned vfs;                                  /* of each adapter, 0-63 */
    unsigned pkey_wait_ms, guid_wait_ms, watch_ms; /* config/config.h, node.* */
    const struct oneib_ledger_daemon *second;      /* a daemon that they know besides the lab's own;
                                                      NULL: none */
};
#define LAB_NODES_DEFAULTS                                                                         \
    {                                                                                              \
        .driver = ONEIB_HCA_MLX4, .vfs = 7, .pkey_wait_ms = 10000, .guid_wait_ms = 5000,           \
        .watch_ms = 10000                                                                          \
    }

/* Makes the trees of all compute hosts and starts node-standin and each node's oneib-node; after
 * lab_fabric_start(). Ended by lab_close(). */
int lab_nodes_start(struct lab *lab, const struct lab_node_options *options,
                    struct oneib_error *err);
/* The directory that stands for the host's root. */
const char *lab_node_root(const struct lab *lab, size_t host);
/* PCI address of VF n, on each node. */
struct oneib_pci lab_node_vf_pci(unsigned vf);

/* oneib-node of a node. Start: until it answers and knows the node's domains. Stop: SIGTERM or
 * SIGKILL, and its end. */
int lab_node_service_start(struct lab *lab, size_t host, struct oneib_error *err);
int lab_node_service_stop(struct lab *lab, size_t host, int signal, struct oneib_error *err);
/* The node's connection to oneibd is as good as dead, as that of a host that is cut off: nothing of
 * it is read or sent until it is not cut any more. The service's process that has it is stopped. */
int lab_node_cut(struct lab *lab, size_t host, bool cut, struct oneib_error *err);
/* All that run have heard of an oneibd what is granted now. */
int lab_nodes_await_grants(struct lab *lab, struct oneib_error *err);
/* The subnet manager refuses to delete the node's alias GUIDs, as it does while they are in a
 * multicast group. */
int lab_node_hold_guids(struct lab *lab, size_t host, bool hold, struct oneib_error *err);

/*
 * Runs a program on the node to its end: argv[0] is the name of one of ours ("probe", "driver",
 * "oneib-node-ask", "oneib"); input: its standard input, NULL for none. As with lab_run() any end
 * is a success: look at output->status.
 */
int lab_node_run(struct lab *lab, size_t host, const char *const *argv, const char *input,
                 struct lab_output *output, struct oneib_error *err);

/* What is called once, as soon as the next program of a node runs; it may do anything with the lab
 * but wait for that program. NULL: nothing. */
void lab_node_meanwhile(struct lab *lab, void (*meanwhile)(void));

/* Runs the probe of a node and gives what it prints to the stand-in's host `id`, as monitord would.
 */
int lab_node_probe(struct lab *lab, size_t host, uint32_t id, struct oneib_error *err);
/* One OpenNebula host for each compute host of the fabric, as lab_add_hosts(), but all that is
 * known of their adapters is what their probes print. */
int lab_add_nodes(struct lab *lab, struct oneib_error *err);

/*
 * Calls the network driver on a node for a VM of the stand-in, as OpenNebula 7.4 was recorded to
 * do: action "pre", "post" or "clean", with its arguments and the reduced document. Which NIC an
 * attach or detach is about is in the VM's document. A driver that fails is -1 with its words.
 */
int lab_node_driver(struct lab *lab, size_t host, const char *action, uint32_t vm,
                    struct oneib_error *err);

/* The domain of a VM is there (with the VFs that oneib's table has for it), or is gone; the node's
 * service, if it runs, knows it. */
int lab_node_domain(struct lab *lab, size_t host, uint32_t vm, bool there, struct oneib_error *err);
/* Its domain has let go of a VF. */
int lab_node_unplug(struct lab *lab, size_t host, uint32_t vm, unsigned vf,
                    struct oneib_error *err);
/* From PROLOG to running on its host: pre, domain, post. */
int lab_node_boot(struct lab *lab, size_t host, uint32_t vm, struct oneib_error *err);

/* A VF of a node's adapter, mlx4, as its tree shows it. */
#define LAB_NODE_ENTRIES 128
#define LAB_NODE_UNMAPPED UINT16_MAX
struct lab_node_vf {
    uint16_t map[LAB_NODE_ENTRIES]; /* of port 1: physical index by virtual one; UNMAPPED: "none" */
    size_t entries;
    uint16_t key;      /* raw: what entry 0 points to in the tree's table; 0x7fff: closed */
    bool only;         /* all other entries point to index 0 */
    uint64_t guid;     /* that the adapter is told; 0: none, or deleted */
    uint64_t accepted; /* by the SM; 0: none */
};
int lab_node_vf(struct lab *lab, size_t host, unsigned vf, struct lab_node_vf *state,
                struct oneib_error *err);

/* Of a VF on mlx5: the GUID that its virtual port is up with; 0: it is down. */
int lab_node_virtual_guid(struct lab *lab, size_t host, unsigned vf, uint64_t *guid,
                          struct oneib_error *err);

/* What oneib's table on the node says about a VF: whose it is. */
struct lab_node_claim {
    unsigned vf;
    uint32_t vm;
    unsigned nic;
    char stage[16]; /* "open" */
};
#define LAB_NODE_CLAIMS 64
int lab_node_claims(struct lab *lab, size_t host, struct lab_node_claim claims[LAB_NODE_CLAIMS],
                    size_t *count, struct oneib_error *err);

#endif
