// SPDX-License-Identifier: Apache-2.0
/*
 * A random walk of clusters that grow, shrink, migrate, are joined by a second NIC, move to other
 * keys, are made bridges and set back, and vanish, in a lab, and the bookkeeping of who should hold
 * what. It is its own: nothing of oneib's model is used for it.
 */
#ifndef ONEIB_WALK_H
#define ONEIB_WALK_H

#include "lab.h"

#define WALK_HOSTS 8 /* two for each one of a shape */
#define WALK_NETWORKS 8
#define WALK_CLUSTERS 7 /* the last network shares the partition of the first */
#define WALK_VMS 40
#define RAW_DEFAULT_LIMITED 0x7fff
#define RAW_FULL_BIT 0x8000

enum vm_phase { GONE, PROLOG, RUNNING, MIGRATING, SHUTDOWN, POWERED_OFF, UNKNOWN, HOT_PLUG };

struct walker_vm {
    enum vm_phase phase;
    uint32_t id;
    size_t network, host, source;
    size_t second; /* network of its second NIC, or none */
    uint32_t second_nic;
    bool bridged, second_bridged; /* the NIC was made while its network was a bridge */
    bool detaching;
};

struct walk {
    struct lab *lab;
    const struct lab_shape *shape; /* of its fabric; NULL: two leaves and two spines */
    unsigned random;               /* rand_r() state: the seed, to begin with */
    uint32_t networks[WALK_NETWORKS];
    /* Networks become bridges, as Sunstone makes them: what is in force then decides, so only for a
     * walk that puts each step into force before the next. */
    bool switches_drivers;
    bool edits_ledger; /* keys are swapped: without a daemon, which alone writes it. Else a key is
                          wished for another network when its own has left it */
    bool bridges[WALK_NETWORKS];
    unsigned keys[WALK_CLUSTERS];
    unsigned next_key;
    struct walker_vm vms[WALK_VMS];
    bool held[WALK_HOSTS][WALK_CLUSTERS]; /* whose key each host held before the last step */
    unsigned held_keys[WALK_CLUSTERS];
    char action[160]; /* the last step, in words */
};

/* Opens the lab: fabric, opensm, the stand-in with its hosts, and the networks, without oneib. */
int walk_raise(struct walk *walk, const struct lab_sm *sm, const struct lab_config *config,
               struct oneib_error *err);
/* One step at random; it may be none, where there is nothing to do it with. */
int walk_step(struct walk *walk, struct oneib_error *err);
size_t walk_dice(struct walk *walk, size_t sides);

/* What a port of a compute host should hold now: raw keys, sorted, at most WALK_CLUSTERS + 1. */
size_t walk_expected(const struct walk *walk, size_t host, unsigned port, unsigned *keys);
/* Ports that hold anything else, by the output of fabric-tables, which is overwritten; each is
 * named on stderr. */
size_t walk_count_wrong(struct walk *walk, char *tables);

/* A number from the environment. */
unsigned walk_setting(const char *name, unsigned otherwise);

#endif
