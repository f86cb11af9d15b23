// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the P_Key tables of all compute hosts over and over, from the ports themselves, and judges
 * every reading: what must never be, not even for a moment, is not seen by looking at the end. It
 * is a process of its own on the SM's host, which shares its findings with the test; it asks by
 * directed routes, so it needs no subnet manager.
 */
#ifndef ONEIB_TABLE_WATCH_H
#define ONEIB_TABLE_WATCH_H

#include "lab.h"
#include <pthread.h>

/* Of adapters with two ports each port counts as one: port p of host h is number h * 2 + p - 1. */
#define TABLE_WATCH_HOSTS 32
#define TABLE_WATCH_ENTRIES 128
#define TABLE_WATCH_ROUTE 64

/* Sets of hosts, bit 0 for host 0, about one raw key. */
struct table_rule {
    uint32_t may, must; /* hold it */
    /* Of two clusters, one of which gives the key to the other: never both at once. */
    uint32_t leaving, arriving;
    uint32_t missed; /* lacked it in the last reading */
    bool arrived;    /* was seen on a host of arriving */
};

struct table_watch {
    pthread_mutex_t lock; /* of what follows */
    struct table_rule rules[0x10000];
    bool judging;
    uint32_t away; /* a bit a host: off the fabric, and not asked; tables[] stays as it was read */
    uint64_t readings;
    struct {
        uint16_t keys[TABLE_WATCH_ENTRIES]; /* that are set, sorted */
        size_t count;
    } tables[TABLE_WATCH_HOSTS]; /* as they were read last */
    char violation[200];         /* the first; "": none */
    size_t hosts;
    char routes[TABLE_WATCH_HOSTS][TABLE_WATCH_ROUTE];
};

/* Starts it. The test's own main() calls table_watch_main() when its first argument is this. */
#define TABLE_WATCH_VERB "--watch-tables"
struct table_watch *table_watch_start(struct lab *lab, struct oneib_error *err);
int table_watch_main(char **argv);

void table_watch_lock(struct table_watch *watch);
void table_watch_unlock(struct table_watch *watch);

#endif
