// SPDX-License-Identifier: Apache-2.0
#include "cluster/port_index.h"
#include "sync/sync.h"
#include <time.h>

static int adopt_networks(const struct oneib_snapshot *snapshot, int64_t now,
                          struct oneib_ledger *ledger, struct oneib_error *err)
{
    const struct oneib_partition_table *table = &snapshot->seen.table;
    for (size_t i = 0; snapshot->seen.state == ONEIB_SEEN_OURS && i < table->count; i++) {
        struct oneib_ledger_network entry = {.pkey = table->items[i].pkey,
                                             .owner = ONEIB_NO_ID,
                                             .since = now,
                                             .sl = table->items[i].sl};
        if (!oneib_cluster_name_parse(table->items[i].name, &entry.network_id))
            continue;
        const struct oneib_network *network =
            oneib_cloud_network(&snapshot->cloud, entry.network_id);
        if (network)
            entry.owner = network->uid;
        if (oneib_ledger_give(ledger, &entry, err) < 0)
            return oneib_wrap(err, "adopting the P_Keys in force");
    }
    return 0;
}

static int adopt_key(oneib_pkey pkey, int64_t now, struct oneib_ledger *ledger,
                     struct oneib_error *err)
{
    const struct oneib_ledger_resting entry = {
        .pkey = pkey, .network_id = ONEIB_NO_ID, .owner = ONEIB_NO_ID, .since = now};
    if (oneib_ledger_holder(ledger, pkey) || oneib_ledger_resting(ledger, pkey))
        return 0;
    return oneib_ledger_add_resting(ledger, &entry, err);
}

/* Whose they were nobody knows any more; they rest until the hosts have reported without them. */
static int adopt_hosts_keys(const struct oneib_snapshot *snapshot, int64_t now,
                            struct oneib_ledger *ledger, struct oneib_error *err)
{
    for (size_t i = 0; i < snapshot->cloud.host_count; i++)
        for (size_t j = 0; j < snapshot->cloud.hosts[i].key_count; j++)
            if (adopt_key(snapshot->cloud.hosts[i].keys[j], now, ledger, err) < 0)
                return -1;
    return 0;
}

/* Whoever was cut off stays so. */
static int adopt_fences(const struct oneib_ledger *from, struct oneib_ledger *ledger,
                        struct oneib_error *err)
{
    for (size_t i = 0; i < from->fence_count; i++)
        oneib_ledger_set_fence(ledger, &from->fences[i]);
    for (size_t i = 0; i < from->fenced_port_count; i++)
        if (oneib_ledger_set_fenced_port(ledger, &from->fenced_ports[i], err) < 0)
            return -1;
    return 0;
}

/* Hosts and their ports are whose they were: what probes report meanwhile decides nothing. */
static int adopt_hosts(const struct oneib_ledger *from, struct oneib_ledger *ledger,
                       struct oneib_error *err)
{
    for (size_t i = 0; i < from->host_count; i++)
        oneib_ledger_pin(ledger, &from->hosts[i]);
    for (size_t i = 0; i < from->forgotten_count; i++)
        if (oneib_ledger_add_forgotten(ledger, &from->forgotten[i], err) < 0)
            return -1;
    for (size_t i = 0; i < from->port_count; i++)
        if (oneib_ledger_set_port(ledger, &from->ports[i], err) < 0)
            return -1;
    for (size_t i = 0; i < from->daemon_count; i++)
        if (oneib_ledger_set_daemon(ledger, &from->daemons[i], err) < 0)
            return -1;
    return 0;
}

/* A network of the older ledger loses its key when the key is in force for another cluster. */
static void rest_of_others(oneib_pkey pkey, uint32_t network_id, int64_t now,
                           struct oneib_ledger *ledger)
{
    const struct oneib_ledger_network *holder = oneib_ledger_holder(ledger, pkey);
    if (holder && holder->network_id != network_id)
        oneib_ledger_rest(ledger, holder->network_id, now);
}

static int adopt_newer_key(const struct oneib_ledger_network *known, oneib_pkey pkey, int64_t now,
                           struct oneib_ledger *ledger, struct oneib_error *err)
{
    struct oneib_ledger_network entry = *known;
    entry.pkey = pkey;
    entry.since = now;
    oneib_ledger_free_key(ledger, pkey);
    return oneib_ledger_give(ledger, &entry, err) < 0
               ? oneib_wrap(err, "adopting the P_Keys in force")
               : 0;
}

/* What is in force counts. Of a cluster that the ledger does not know the key rests: the network is
 * gone, or another one has its id by now. */
static int adopt_what_came_since(const struct oneib_snapshot *snapshot, int64_t now,
                                 struct oneib_ledger *ledger, struct oneib_error *err)
{
    const struct oneib_partition_table *table = &snapshot->seen.table;
    for (size_t i = 0; snapshot->seen.state == ONEIB_SEEN_OURS && i < table->count; i++) {
        const oneib_pkey pkey = table->items[i].pkey;
        uint32_t network_id;
        if (!oneib_cluster_name_parse(table->items[i].name, &network_id))
            continue;
        const struct oneib_ledger_network *known =
            oneib_ledger_network(&snapshot->kept.ledger, network_id);
        rest_of_others(pkey, network_id, now, ledger);
        if ((known ? adopt_newer_key(known, pkey, now, ledger, err)
                   : adopt_key(pkey, now, ledger, err)) < 0)
            return -1;
    }
    return 0;
}

#define SERIAL_MARGIN 1024 /* the other daemon may have read a later one */
/* IB_KEYS of that time have lower serials than this: nobody believes them, and no key is given again before each
 * host's oneib-node has said what it has. */
#define KEYS_SERIAL_MARGIN (UINT64_C(1) << 32)

static int adopt_older(const struct oneib_snapshot *snapshot, int64_t now,
                       struct oneib_ledger *ledger, struct oneib_error *err)
{
    oneib_ledger_copy(&snapshot->kept.ledger, ledger);
    for (size_t i = 0; i < ledger->host_count; i++)
        ledger->hosts[i].keys_serial += KEYS_SERIAL_MARGIN;
    for (size_t i = 0; i < ledger->forgotten_count; i++)
        ledger->forgotten[i].keys_serial += KEYS_SERIAL_MARGIN;
    return adopt_what_came_since(snapshot, now, ledger, err);
}

/* An older ledger is of a database with its own hosts: their ids may be given again. */
static int adopt_all(const struct oneib_snapshot *snapshot, const struct oneib_ledger *kept,
                     int64_t now, struct oneib_ledger *ledger, struct oneib_error *err)
{
    const bool is_older = snapshot->kept.state == ONEIB_LEDGER_READ;
    const int outcome = is_older ? adopt_older(snapshot, now, ledger, err)
                                 : adopt_networks(snapshot, now, ledger, err);
    if (outcome < 0 || (!is_older && adopt_hosts(kept, ledger, err) < 0) ||
        adopt_hosts_keys(snapshot, now, ledger, err) < 0)
        return -1;
    ledger->serial = snapshot->mark.serial + SERIAL_MARGIN;
    if (snapshot->mark.next) /* what was quarantined, and no host names, comes last */
        ledger->next = snapshot->mark.next;
    return adopt_fences(kept, ledger, err);
}

int oneib_ledger_adopt(const struct oneib_snapshot *snapshot, const struct oneib_ledger *kept,
                       struct oneib_ledger *ledger, struct oneib_error *err)
{
    const int64_t now = (int64_t)time(NULL);
    *ledger = (struct oneib_ledger){0};
    if (adopt_all(snapshot, kept, now, ledger, err) < 0) {
        oneib_ledger_clear(ledger);
        return -1;
    }
    return 0;
}
