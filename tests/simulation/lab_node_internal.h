// SPDX-License-Identifier: Apache-2.0
/* What the files of the lab's nodes share. */
#ifndef ONEIB_LAB_NODE_INTERNAL_H
#define ONEIB_LAB_NODE_INTERNAL_H

#include "lab_internal.h"
#include "lab_node.h"

struct lab_domain {
    size_t host;
    uint32_t vm;
    struct oneib_pci vfs[LAB_NODE_CLAIMS];
    size_t vf_count;
};

struct lab_nodes {
    struct lab_node_options options;
    const char **roots; /* owned; by host */
    struct lab_domain *domains;
    size_t domain_count, domain_capacity;
    void (*meanwhile)(void); /* for the next program that runs */
};

/* A file or directory of a node, below the lab's: "nodes/H1" and the suffix. */
void lab_node_file(const struct lab *lab, size_t host, const char *suffix, char *name, size_t size);

/* Has the process id of the node's oneib-node, for those who play libvirt's and the adapter's part:
 * node-standin, and the stand-in for libvirt. */
#define LAB_NODE_SERVICE "/run/service.pid"

/* Runs oneib-node-ask with these words after "await"; NULL at the end. */
int lab_node_await(struct lab *lab, size_t host, const char *first, const char *second,
                   struct oneib_error *err);
/* The node's oneib-node; 0: it does not run. */
pid_t lab_node_service_pid(const struct lab *lab, size_t host);

/* The file of libvirt's test driver. */
int lab_node_write_domains(struct lab *lab, size_t host, struct oneib_error *err);
void lab_node_domains_clear(struct lab_nodes *nodes);

#endif
