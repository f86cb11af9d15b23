// SPDX-License-Identifier: Apache-2.0
#include "sync/watch.h"
#include "base/memory.h"
#include "base/order.h"
#include <stdlib.h>
#include <string.h>

/* ---- what is owed ---------------------------------------------------------------------------- */

/* By all but the index: a key that only moved in its table is as wrong as it was. */
ONEIB_ORDER_BY(compare_reasons, struct oneib_deviation, port_guid, kind, expected, found);

void oneib_watch_owe(const struct oneib_subnet *subnet, const struct oneib_partition_table *before,
                     struct oneib_watch *watch)
{
    struct oneib_verification *preexisting = &watch->preexisting;
    oneib_verification_clear(preexisting);
    oneib_subnet_verify(subnet, before, preexisting);
    ONEIB_SORT(preexisting->items, preexisting->count, compare_reasons);
}

static bool is_preexisting(const struct oneib_watch *watch, const struct oneib_deviation *deviation)
{
    const struct oneib_verification *preexisting = &watch->preexisting;
    return ONEIB_FIND(deviation, preexisting->items, preexisting->count, compare_reasons) != NULL;
}

/* ---- which ports are wrong ------------------------------------------------------------------- */

/* A port whose table cannot be read may still hold a key that has to go. */
static bool is_awaited(const struct oneib_watch *watch, const struct oneib_deviation *deviation)
{
    if (!watch->keys)
        return oneib_deviation_is_opensms(deviation->kind);
    return deviation->kind == ONEIB_PORT_SILENT ||
           (deviation->kind == ONEIB_KEY_EXCESS && watch->keys[oneib_pkey_base(deviation->found)]);
}

enum pkey_status { RIGHT, OWED, CONCERNED };

/* The worst of the port's deviations, which are neighbours from `first` on; *end is behind them. */
static enum pkey_status judge_port(const struct oneib_watch *watch,
                                   const struct oneib_verification *verification, size_t first,
                                   size_t *end)
{
    const oneib_guid guid = verification->items[first].port_guid;
    enum pkey_status pkey_status = RIGHT;
    for (*end = first; *end < verification->count; ++*end) {
        const struct oneib_deviation *deviation = &verification->items[*end];
        if (deviation->port_guid != guid)
            break;
        if (!is_awaited(watch, deviation))
            continue;
        if (!is_preexisting(watch, deviation))
            pkey_status = CONCERNED;
        else if (pkey_status == RIGHT)
            pkey_status = OWED;
    }
    return pkey_status;
}

/* Puts the ports of one P_Key status behind those that are there. */
static void collect(const struct oneib_subnet *subnet,
                    const struct oneib_verification *verification, enum pkey_status wanted,
                    struct oneib_watch *watch)
{
    for (size_t first = 0, end; first < verification->count; first = end) {
        const struct oneib_subnet_port *port =
            oneib_subnet_find(subnet, verification->items[first].port_guid);
        if (judge_port(watch, verification, first, &end) == wanted && port)
            watch->ports[watch->count++] = (size_t)(port - subnet->ports);
    }
}

static void collect_wrong_ports(const struct oneib_subnet *subnet,
                                const struct oneib_verification *verification,
                                struct oneib_watch *watch)
{
    free(watch->ports);
    watch->count = watch->caused = 0;
    watch->ports = oneib_alloc(verification->count + 1, sizeof *watch->ports);
    collect(subnet, verification, CONCERNED, watch);
    watch->caused = watch->count;
    collect(subnet, verification, OWED, watch);
}

void oneib_watch_read(const struct oneib_subnet *subnet, const struct oneib_partition_table *table,
                      struct oneib_watch *watch)
{
    oneib_autoverification struct oneib_verification verification = {0};
    oneib_subnet_verify(subnet, table, &verification);
    collect_wrong_ports(subnet, &verification, watch);
}

/* ---- whom to ask ----------------------------------------------------------------------------- */

/* The place of the first port behind the one that was asked last; 0 when that was the last one. */
static size_t place_to_go_on(const struct oneib_watch *watch, size_t count)
{
    size_t place = 0;
    while (watch->begun && place < count && watch->ports[place] <= watch->last)
        place++;
    return place < count ? place : 0;
}

size_t oneib_watch_next(struct oneib_watch *watch, size_t ports[ONEIB_PORTS_WATCHED])
{
    const size_t count = watch->caused > 0 ? watch->caused : watch->count;
    const size_t asked = count < ONEIB_PORTS_WATCHED ? count : ONEIB_PORTS_WATCHED;
    const size_t place = place_to_go_on(watch, count);
    for (size_t i = 0; i < asked; i++)
        ports[i] = watch->ports[(place + i) % count];
    if (asked > 0) {
        watch->begun = true;
        watch->last = ports[asked - 1];
    }
    return asked;
}

void oneib_watch_clear(struct oneib_watch *watch)
{
    oneib_verification_clear(&watch->preexisting);
    free(watch->ports);
    *watch = (struct oneib_watch){0};
}
