// SPDX-License-Identifier: Apache-2.0
#include "cluster/ledger.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "ib/ipoib.h"
#include "ib/qos_class.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The five arrays are alike: sorted by what stands first in their items, which is looked for by
 * halving. Each search gives the place where the item is, or would be. */

static size_t network_place(const struct oneib_ledger *ledger, uint32_t network_id)
{
    return ONEIB_LOWER_BOUND(i, ledger->network_count, ledger->networks[i].network_id < network_id);
}

static size_t resting_place(const struct oneib_ledger *ledger, oneib_pkey pkey)
{
    return ONEIB_LOWER_BOUND(i, ledger->resting_count, ledger->resting[i].pkey < pkey);
}

static size_t host_place(const struct oneib_ledger *ledger, uint32_t host_id)
{
    return ONEIB_LOWER_BOUND(i, ledger->host_count, ledger->hosts[i].host_id < host_id);
}

static size_t forgotten_place(const struct oneib_ledger *ledger, uint32_t host_id)
{
    return ONEIB_LOWER_BOUND(i, ledger->forgotten_count, ledger->forgotten[i].host_id < host_id);
}

static size_t daemon_place(const struct oneib_ledger *ledger, const char *address)
{
    size_t place = 0;
    while (place < ledger->daemon_count && strcmp(ledger->daemons[place].address, address) < 0)
        place++;
    return place;
}

static bool has_network_at(const struct oneib_ledger *ledger, size_t place, uint32_t network_id)
{
    return place < ledger->network_count && ledger->networks[place].network_id == network_id;
}

static bool has_resting_at(const struct oneib_ledger *ledger, size_t place, oneib_pkey pkey)
{
    return place < ledger->resting_count && ledger->resting[place].pkey == pkey;
}

static bool has_host_at(const struct oneib_ledger *ledger, size_t place, uint32_t host_id)
{
    return place < ledger->host_count && ledger->hosts[place].host_id == host_id;
}

static bool has_forgotten_at(const struct oneib_ledger *ledger, size_t place, uint32_t host_id)
{
    return place < ledger->forgotten_count && ledger->forgotten[place].host_id == host_id;
}

static bool has_daemon_at(const struct oneib_ledger *ledger, size_t place, const char *address)
{
    return place < ledger->daemon_count && strcmp(ledger->daemons[place].address, address) == 0;
}

const struct oneib_ledger_network *oneib_ledger_network(const struct oneib_ledger *ledger,
                                                        uint32_t network_id)
{
    const size_t place = network_place(ledger, network_id);
    return has_network_at(ledger, place, network_id) ? &ledger->networks[place] : NULL;
}

const struct oneib_ledger_network *oneib_ledger_holder(const struct oneib_ledger *ledger,
                                                       oneib_pkey pkey)
{
    for (size_t i = 0; i < ledger->network_count; i++)
        if (ledger->networks[i].pkey == pkey)
            return &ledger->networks[i];
    return NULL;
}

const struct oneib_ledger_resting *oneib_ledger_resting(const struct oneib_ledger *ledger,
                                                        oneib_pkey pkey)
{
    const size_t place = resting_place(ledger, pkey);
    return has_resting_at(ledger, place, pkey) ? &ledger->resting[place] : NULL;
}

struct oneib_ledger_host *oneib_ledger_host(const struct oneib_ledger *ledger, uint32_t host_id)
{
    const size_t place = host_place(ledger, host_id);
    return has_host_at(ledger, place, host_id) ? &ledger->hosts[place] : NULL;
}

struct oneib_ledger_forgotten *oneib_ledger_forgotten(const struct oneib_ledger *ledger,
                                                      uint32_t host_id)
{
    const size_t place = forgotten_place(ledger, host_id);
    return has_forgotten_at(ledger, place, host_id) ? &ledger->forgotten[place] : NULL;
}

bool oneib_ledger_awaits_acceptance(const struct oneib_ledger *ledger,
                                    const struct oneib_host *host)
{
    return host->node_key[0] && !oneib_ledger_host(ledger, host->id) &&
           !oneib_ledger_forgotten(ledger, host->id);
}

static void add_network(struct oneib_ledger *ledger, const struct oneib_ledger_network *entry)
{
    const size_t place = network_place(ledger, entry->network_id);
    ONEIB_INSERT(ledger->networks, ledger->network_count, ledger->network_capacity, place);
    ledger->networks[place] = *entry;
}

static void insert_resting(struct oneib_ledger *ledger, const struct oneib_ledger_resting *entry)
{
    const size_t place = resting_place(ledger, entry->pkey);
    ONEIB_INSERT(ledger->resting, ledger->resting_count, ledger->resting_capacity, place);
    ledger->resting[place] = *entry;
}

static void lay_to_rest(struct oneib_ledger *ledger, const struct oneib_ledger_network *entry,
                        int64_t now)
{
    const struct oneib_ledger_resting resting = {
        .pkey = entry->pkey, .network_id = entry->network_id, .owner = entry->owner, .since = now};
    insert_resting(ledger, &resting);
}

static int check_free(const struct oneib_ledger *ledger, const struct oneib_ledger_network *entry,
                      struct oneib_error *err)
{
    const struct oneib_ledger_network *holder = oneib_ledger_holder(ledger, entry->pkey);
    const struct oneib_ledger_resting *resting = oneib_ledger_resting(ledger, entry->pkey);
    if (entry->pkey < ONEIB_PKEY_FIRST || entry->pkey > ONEIB_PKEY_LAST)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "network %" PRIu32 ": 0x%04x is no P_Key",
                          entry->network_id, entry->pkey);
    if (holder && holder->network_id != entry->network_id)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "P_Key 0x%04x for network %" PRIu32 ": network %" PRIu32 " has it",
                          entry->pkey, entry->network_id, holder->network_id);
    if (resting)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "P_Key 0x%04x for network %" PRIu32 ": it was network %" PRIu32
                          "'s, and is quarantined until no host can hold it",
                          entry->pkey, entry->network_id, resting->network_id);
    return 0;
}

int oneib_ledger_give(struct oneib_ledger *ledger, const struct oneib_ledger_network *entry,
                      struct oneib_error *err)
{
    const size_t place = network_place(ledger, entry->network_id);
    if (check_free(ledger, entry, err) < 0)
        return -1;
    if (!has_network_at(ledger, place, entry->network_id)) {
        add_network(ledger, entry);
        return 0;
    }
    struct oneib_ledger_network *present = &ledger->networks[place];
    if (present->pkey == entry->pkey)
        return 0;
    lay_to_rest(ledger, present, entry->since);
    *present = *entry;
    return 0;
}

int oneib_ledger_set_sl(struct oneib_ledger *ledger, uint32_t network_id, uint8_t sl,
                        struct oneib_error *err)
{
    const size_t place = network_place(ledger, network_id);
    if (!has_network_at(ledger, place, network_id) || sl >= ONEIB_QOS_SLS)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "SL %u for network %" PRIu32 ": %s", sl,
                          network_id,
                          sl >= ONEIB_QOS_SLS ? "there is no such level" : "it has no P_Key");
    ledger->networks[place].sl = sl;
    return 0;
}

void oneib_ledger_rest(struct oneib_ledger *ledger, uint32_t network_id, int64_t now)
{
    const size_t place = network_place(ledger, network_id);
    if (!has_network_at(ledger, place, network_id))
        return;
    lay_to_rest(ledger, &ledger->networks[place], now);
    ONEIB_REMOVE(ledger->networks, ledger->network_count, place);
}

int oneib_ledger_add_resting(struct oneib_ledger *ledger, const struct oneib_ledger_resting *entry,
                             struct oneib_error *err)
{
    const struct oneib_ledger_network as_network = {.network_id = entry->network_id,
                                                    .pkey = entry->pkey};
    const struct oneib_ledger_network *holder = oneib_ledger_holder(ledger, entry->pkey);
    if (check_free(ledger, &as_network, err) < 0)
        return -1;
    if (holder)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "P_Key 0x%04x is quarantined, and network %" PRIu32 " has it",
                          entry->pkey, holder->network_id);
    insert_resting(ledger, entry);
    return 0;
}

void oneib_ledger_free_key(struct oneib_ledger *ledger, oneib_pkey pkey)
{
    const size_t place = resting_place(ledger, pkey);
    if (has_resting_at(ledger, place, pkey))
        ONEIB_REMOVE(ledger->resting, ledger->resting_count, place);
}

static void remove_forgotten(struct oneib_ledger *ledger, uint32_t host_id)
{
    const size_t place = forgotten_place(ledger, host_id);
    if (has_forgotten_at(ledger, place, host_id))
        ONEIB_REMOVE(ledger->forgotten, ledger->forgotten_count, place);
}

/* Of a host that is pinned or forgotten; else 0. */
static uint64_t keys_serial_of(const struct oneib_ledger *ledger, uint32_t host_id)
{
    const struct oneib_ledger_host *host = oneib_ledger_host(ledger, host_id);
    const struct oneib_ledger_forgotten *forgotten = oneib_ledger_forgotten(ledger, host_id);
    return host ? host->keys_serial : forgotten ? forgotten->keys_serial : 0;
}

void oneib_ledger_pin(struct oneib_ledger *ledger, const struct oneib_ledger_host *host)
{
    const size_t place = host_place(ledger, host->host_id);
    const uint64_t serial = keys_serial_of(ledger, host->host_id);
    if (!has_host_at(ledger, place, host->host_id))
        ONEIB_INSERT(ledger->hosts, ledger->host_count, ledger->host_capacity, place);
    ledger->hosts[place] = *host;
    if (serial > host->keys_serial)
        ledger->hosts[place].keys_serial = serial;
    remove_forgotten(ledger, host->host_id);
}

static void insert_forgotten(struct oneib_ledger *ledger,
                             const struct oneib_ledger_forgotten *entry)
{
    const size_t place = forgotten_place(ledger, entry->host_id);
    ONEIB_INSERT(ledger->forgotten, ledger->forgotten_count, ledger->forgotten_capacity, place);
    ledger->forgotten[place] = *entry;
}

void oneib_ledger_forget_host(struct oneib_ledger *ledger, uint32_t host_id, int64_t now)
{
    const struct oneib_ledger_forgotten entry = {
        .host_id = host_id, .keys_serial = keys_serial_of(ledger, host_id), .since = now};
    const size_t place = host_place(ledger, host_id);
    if (has_host_at(ledger, place, host_id))
        ONEIB_REMOVE(ledger->hosts, ledger->host_count, place);
    oneib_ledger_forget_ports(ledger, host_id);
    remove_forgotten(ledger, host_id);
    insert_forgotten(ledger, &entry);
}

int oneib_ledger_add_forgotten(struct oneib_ledger *ledger,
                               const struct oneib_ledger_forgotten *entry, struct oneib_error *err)
{
    if (oneib_ledger_host(ledger, entry->host_id) || oneib_ledger_forgotten(ledger, entry->host_id))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "host %" PRIu32 " is forgotten, and has a key or is forgotten twice",
                          entry->host_id);
    insert_forgotten(ledger, entry);
    return 0;
}

/* Nothing gets into the template but what cannot end a value. */
static bool is_address(const char *address)
{
    static const char scheme[] = "tcp://";
    const char *host = address + strlen(scheme);
    if (strnlen(address, ONEIB_ADDRESS_SIZE) == ONEIB_ADDRESS_SIZE ||
        strncmp(address, scheme, strlen(scheme)) != 0 || !strchr(host, ':'))
        return false;
    for (const char *c = host; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(".-_:[]%", *c))
            return false;
    return true;
}

/* The daemon has come to another address: nodes that are told two of one key believe neither. */
static void remove_namesakes(struct oneib_ledger *ledger, const struct oneib_ledger_daemon *daemon)
{
    for (size_t i = ledger->daemon_count; i-- > 0;) {
        const struct oneib_ledger_daemon *entry = &ledger->daemons[i];
        if (strcmp(entry->address, daemon->address) != 0 &&
            (memcmp(entry->curve, daemon->curve, sizeof daemon->curve) == 0 ||
             memcmp(entry->sign, daemon->sign, sizeof daemon->sign) == 0))
            ONEIB_REMOVE(ledger->daemons, ledger->daemon_count, i);
    }
}

int oneib_ledger_set_daemon(struct oneib_ledger *ledger, const struct oneib_ledger_daemon *daemon,
                            struct oneib_error *err)
{
    if (!is_address(daemon->address))
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "the address of a daemon is not of the form tcp://HOST:PORT");
    remove_namesakes(ledger, daemon);
    const size_t place = daemon_place(ledger, daemon->address);
    if (!has_daemon_at(ledger, place, daemon->address))
        ONEIB_INSERT(ledger->daemons, ledger->daemon_count, ledger->daemon_capacity, place);
    ledger->daemons[place] = *daemon;
    return 0;
}

void oneib_ledger_remove_daemon(struct oneib_ledger *ledger, const char *address)
{
    const size_t place = daemon_place(ledger, address);
    if (has_daemon_at(ledger, place, address))
        ONEIB_REMOVE(ledger->daemons, ledger->daemon_count, place);
}

/* A copy of `count` items, with room for no more; NULL when there are none. */
static void *copied(const void *items, size_t count, size_t size)
{
    return count ? memcpy(oneib_alloc(count, size), items, count * size) : NULL;
}

void oneib_ledger_copy(const struct oneib_ledger *from, struct oneib_ledger *to)
{
    *to = *from;
    to->networks = copied(from->networks, from->network_count, sizeof *from->networks);
    to->network_capacity = from->network_count;
    to->resting = copied(from->resting, from->resting_count, sizeof *from->resting);
    to->resting_capacity = from->resting_count;
    to->hosts = copied(from->hosts, from->host_count, sizeof *from->hosts);
    to->host_capacity = from->host_count;
    to->forgotten = copied(from->forgotten, from->forgotten_count, sizeof *from->forgotten);
    to->forgotten_capacity = from->forgotten_count;
    to->ports = copied(from->ports, from->port_count, sizeof *from->ports);
    to->port_capacity = from->port_count;
    to->daemons = copied(from->daemons, from->daemon_count, sizeof *from->daemons);
    to->daemon_capacity = from->daemon_count;
    to->fences = copied(from->fences, from->fence_count, sizeof *from->fences);
    to->fence_capacity = from->fence_count;
    to->fenced_ports =
        copied(from->fenced_ports, from->fenced_port_count, sizeof *from->fenced_ports);
    to->fenced_port_capacity = from->fenced_port_count;
}

ONEIB_ORDER(compare_networks, struct oneib_ledger_network,
            ONEIB_BY(network_id, pkey, owner, since) ?: ONEIB_BY(sl));
ONEIB_ORDER_BY(compare_resting, struct oneib_ledger_resting, pkey, network_id, owner, since);
ONEIB_ORDER(compare_hosts, struct oneib_ledger_host,
            ONEIB_BY(host_id, since, keys_serial)
                ?: memcmp(left->key, right->key, sizeof left->key));
ONEIB_ORDER_BY(compare_forgotten, struct oneib_ledger_forgotten, host_id, keys_serial, since);
ONEIB_ORDER(compare_ports, struct oneib_ledger_port,
            ONEIB_BY(guid, host_id, switch_guid, switch_port)
                ?: ONEIB_BY(since, state, is_accepted) ?: oneib_hca_port_compare(&left->hca, &right->hca));
ONEIB_ORDER(compare_daemons, struct oneib_ledger_daemon,
            strcmp(left->address, right->address) ?: ONEIB_BY(since)
                ?: memcmp(left->curve, right->curve, sizeof left->curve)
                ?: memcmp(left->sign, right->sign, sizeof left->sign));

bool oneib_ledger_equal(const struct oneib_ledger *a, const struct oneib_ledger *b)
{
    return a->serial == b->serial && a->next == b->next && a->mtu == b->mtu && a->rate == b->rate &&
           ONEIB_ALIKE(a->networks, a->network_count, b->networks, b->network_count,
                       compare_networks) &&
           ONEIB_ALIKE(a->resting, a->resting_count, b->resting, b->resting_count,
                       compare_resting) &&
           ONEIB_ALIKE(a->hosts, a->host_count, b->hosts, b->host_count, compare_hosts) &&
           ONEIB_ALIKE(a->forgotten, a->forgotten_count, b->forgotten, b->forgotten_count,
                       compare_forgotten) &&
           ONEIB_ALIKE(a->ports, a->port_count, b->ports, b->port_count, compare_ports) &&
           ONEIB_ALIKE(a->daemons, a->daemon_count, b->daemons, b->daemon_count, compare_daemons) &&
           oneib_ledger_fences_equal(a, b);
}

void oneib_ledger_clear(struct oneib_ledger *ledger)
{
    free(ledger->networks);
    free(ledger->resting);
    free(ledger->hosts);
    free(ledger->forgotten);
    free(ledger->ports);
    free(ledger->daemons);
    free(ledger->fences);
    free(ledger->fenced_ports);
    *ledger = (struct oneib_ledger){0};
}

static void append_key(const char *name, const uint8_t key[ONEIB_PUBLIC_KEY_SIZE],
                       struct oneib_text *text)
{
    oneib_text_printf(text, ", %s = \"", name);
    for (size_t i = 0; i < ONEIB_PUBLIC_KEY_SIZE; i++)
        oneib_text_printf(text, "%02x", key[i]);
    oneib_text_append(text, "\"");
}

static void append_end(int64_t since, struct oneib_text *text)
{
    oneib_text_printf(text, ", SINCE = \"%" PRId64 "\" ]\n", since);
}

void oneib_ledger_render(const struct oneib_ledger *ledger, struct oneib_text *text)
{
    oneib_text_printf(text, "VERSION = \"1\"\nSERIAL = \"%" PRIu64 "\"\nNEXT = \"0x%04x\"\n",
                      ledger->serial, ledger->next);
    if (ledger->mtu)
        oneib_text_printf(text, "MTU = \"%u\"\n", oneib_mtu_bytes(ledger->mtu));
    if (ledger->rate)
        oneib_text_printf(text, "RATE = \"%u\"\n", oneib_rate_gbps(ledger->rate));
    for (size_t i = 0; i < ledger->network_count; i++) {
        const struct oneib_ledger_network *entry = &ledger->networks[i];
        oneib_text_printf(
            text, "NETWORK = [ ID = \"%" PRIu32 "\", PKEY = \"0x%04x\", OWNER = \"%" PRIu32 "\"",
            entry->network_id, entry->pkey, entry->owner);
        if (entry->sl)
            oneib_text_printf(text, ", SL = \"%u\"", entry->sl);
        append_end(entry->since, text);
    }
    for (size_t i = 0; i < ledger->resting_count; i++) {
        const struct oneib_ledger_resting *entry = &ledger->resting[i];
        oneib_text_printf(text,
                          "RESTING = [ PKEY = \"0x%04x\", NETWORK = \"%" PRIu32
                          "\", OWNER = \"%" PRIu32 "\"",
                          entry->pkey, entry->network_id, entry->owner);
        append_end(entry->since, text);
    }
    for (size_t i = 0; i < ledger->host_count; i++) {
        oneib_text_printf(text, "HOST = [ ID = \"%" PRIu32 "\"", ledger->hosts[i].host_id);
        append_key("KEY", ledger->hosts[i].key, text);
        if (ledger->hosts[i].keys_serial)
            oneib_text_printf(text, ", SERIAL = \"%" PRIu64 "\"", ledger->hosts[i].keys_serial);
        append_end(ledger->hosts[i].since, text);
    }
    for (size_t i = 0; i < ledger->forgotten_count; i++) {
        oneib_text_printf(text, "FORGOTTEN = [ ID = \"%" PRIu32 "\"", ledger->forgotten[i].host_id);
        if (ledger->forgotten[i].keys_serial)
            oneib_text_printf(text, ", SERIAL = \"%" PRIu64 "\"", ledger->forgotten[i].keys_serial);
        append_end(ledger->forgotten[i].since, text);
    }
    oneib_ledger_ports_render(ledger, text);
    for (size_t i = 0; i < ledger->daemon_count; i++) {
        oneib_text_printf(text, "DAEMON = [ ADDRESS = \"%s\"", ledger->daemons[i].address);
        append_key("CURVE", ledger->daemons[i].curve, text);
        append_key("SIGN", ledger->daemons[i].sign, text);
        append_end(ledger->daemons[i].since, text);
    }
    oneib_ledger_fences_render(ledger, text);
}
