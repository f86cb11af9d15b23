// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "partitions/subnet.h"
#include "partitions/subnet_expect.h"
#include <stdlib.h>

#define NO_INDEX 0xffff

/* One port while it is compared. */
struct comparison {
    const struct oneib_subnet_port *port;
    const uint16_t *expected; /* raw, by key */
    size_t expected_count;
    bool takes_index0;
    struct oneib_verification *verification;
};

static void add_deviation(struct comparison *comparison, enum oneib_deviation_kind kind,
                          uint16_t expected, uint16_t found, uint16_t index)
{
    struct oneib_verification *verification = comparison->verification;
    ONEIB_APPEND(verification->items, verification->count, verification->capacity,
                 (struct oneib_deviation){.kind = kind,
                                          .port_guid = comparison->port->guid,
                                          .expected = expected,
                                          .found = found,
                                          .index = index});
    if (oneib_deviation_is_violation(kind))
        verification->violations++;
    else
        verification->differences++;
}

/* The raw value that the port should have for this key, 0 for none. */
static uint16_t expected_for(const struct comparison *comparison, oneib_pkey pkey)
{
    const size_t first = ONEIB_LOWER_BOUND(i, comparison->expected_count,
                                           oneib_pkey_base(comparison->expected[i]) < pkey);
    if (first == comparison->expected_count || oneib_pkey_base(comparison->expected[first]) != pkey)
        return 0;
    return comparison->expected[first];
}

/* An entry whose key is 0 is empty, whatever its top bit (IBTA 1.2.1, 10.9.1.1). */
static bool is_empty(uint16_t raw)
{
    return oneib_pkey_base(raw) == 0;
}

#define VENDOR_MELLANOX 0x02c9

/* Those of mlx5 are its devices (Linux, drivers/net/ethernet/mellanox/mlx5/core/main.c: 0x1011,
 * Connect-IB, and above; BlueField has 0xa2d.), and virtual ports. */
static bool may_be_mlx4(const struct oneib_subnet_port *port)
{
    const bool is_mlx5 = port->vendor_id == VENDOR_MELLANOX &&
                         ((port->device_id >= 0x1011 && port->device_id <= 0x10ff) ||
                          (port->device_id & 0xfff0) == 0xa2d0);
    return port->node_type == ONEIB_NODE_CA && !port->owner && !is_mlx5;
}

static void compare_entry(struct comparison *comparison, uint16_t index)
{
    uint16_t found = comparison->port->pkeys[index];
    if (is_empty(found))
        return;
    comparison->verification->keys++;
    uint16_t expected = expected_for(comparison, oneib_pkey_base(found));
    if (expected == 0)
        add_deviation(comparison, ONEIB_KEY_EXCESS, 0, found, index);
    else if (oneib_pkey_is_full(found) && !oneib_pkey_is_full(expected))
        add_deviation(comparison, ONEIB_KEY_WIDENED, expected, found, index);
    bool last = index > 0 && index + 1 == comparison->port->partition_cap;
    if (last && may_be_mlx4(comparison->port))
        add_deviation(comparison, ONEIB_KEY_LAST_SLOT, expected, found, index);
}

/* Where the key is in the table, its full entry before its limited one; NO_INDEX when it is not. */
static uint16_t find_widest(const struct oneib_subnet_port *port, const uint16_t *by_key,
                            size_t count, oneib_pkey pkey)
{
    uint16_t widest = NO_INDEX;
    size_t first = ONEIB_LOWER_BOUND(i, count, oneib_pkey_base(port->pkeys[by_key[i]]) < pkey);
    for (; first < count && oneib_pkey_base(port->pkeys[by_key[first]]) == pkey; first++)
        if (widest == NO_INDEX || (!oneib_pkey_is_full(port->pkeys[widest]) &&
                                   oneib_pkey_is_full(port->pkeys[by_key[first]])))
            widest = by_key[first];
    return widest;
}

static void compare_expected(struct comparison *comparison, const uint16_t *by_key, size_t count,
                             uint16_t expected)
{
    uint16_t index = find_widest(comparison->port, by_key, count, oneib_pkey_base(expected));
    if (index == NO_INDEX) {
        add_deviation(comparison, ONEIB_KEY_ABSENT, expected, 0, NO_INDEX);
        return;
    }
    uint16_t found = comparison->port->pkeys[index];
    if (oneib_pkey_is_full(expected) && !oneib_pkey_is_full(found))
        add_deviation(comparison, ONEIB_KEY_NARROWED, expected, found, index);
}

static void compare_first(struct comparison *comparison)
{
    const struct oneib_subnet_port *port = comparison->port;
    if (comparison->takes_index0 || port->partition_cap == 0 ||
        oneib_pkey_base(port->pkeys[0]) == ONEIB_PKEY_DEFAULT)
        return;
    add_deviation(comparison, ONEIB_KEY_NOT_FIRST, expected_for(comparison, ONEIB_PKEY_DEFAULT),
                  port->pkeys[0], 0);
}

static int compare_index_keys(const void *a, const void *b, void *context)
{
    const uint16_t *pkeys = context;
    oneib_pkey left = oneib_pkey_base(pkeys[*(const uint16_t *)a]);
    oneib_pkey right = oneib_pkey_base(pkeys[*(const uint16_t *)b]);
    if (left != right)
        return left < right ? -1 : 1;
    return *(const uint16_t *)a < *(const uint16_t *)b ? -1 : 1;
}

/* by_key: room for one index of each entry of the table. */
static void compare_table(struct comparison *comparison, uint16_t *by_key)
{
    const struct oneib_subnet_port *port = comparison->port;
    size_t count = 0;
    for (unsigned i = 0; i < port->partition_cap; i++) {
        compare_entry(comparison, (uint16_t)i);
        if (!is_empty(port->pkeys[i]))
            by_key[count++] = (uint16_t)i;
    }
    qsort_r(by_key, count, sizeof *by_key, compare_index_keys, port->pkeys);
    for (size_t i = 0; i < comparison->expected_count; i++)
        compare_expected(comparison, by_key, count, comparison->expected[i]);
    comparison->verification->ports++;
    compare_first(comparison);
}

ONEIB_ORDER_BY(compare_deviations, struct oneib_deviation, kind, index, expected);

static void compare_port(struct comparison *comparison, uint16_t *by_key)
{
    struct oneib_verification *verification = comparison->verification;
    size_t first = verification->count;
    if (comparison->port->answered && comparison->port->pkeys)
        compare_table(comparison, by_key);
    else
        add_deviation(comparison, ONEIB_PORT_SILENT, 0, 0, NO_INDEX);
    ONEIB_SORT_FROM(verification->items, first, verification->count, compare_deviations);
}

static void compare_ports(const struct oneib_subnet *subnet,
                          const struct oneib_expectation *expectation,
                          struct oneib_verification *verification)
{
    uint16_t *by_key = oneib_alloc(UINT16_MAX + 1, sizeof *by_key);
    for (size_t i = 0; i < subnet->port_count; i++) {
        struct comparison comparison = {.port = &subnet->ports[i],
                                        .expected = expectation->raw + expectation->first[i],
                                        .expected_count =
                                            expectation->first[i + 1] - expectation->first[i],
                                        .takes_index0 = expectation->takes_index0[i],
                                        .verification = verification};
        compare_port(&comparison, by_key);
    }
    free(by_key);
}

void oneib_subnet_verify(const struct oneib_subnet *subnet,
                         const struct oneib_partition_table *table,
                         struct oneib_verification *verification)
{
    *verification = (struct oneib_verification){0};
    struct oneib_expectation expectation;
    oneib_subnet_expect(subnet, table, &expectation);
    verification->members_off_fabric = expectation.members_off_fabric;
    verification->members_unverified = expectation.members_unverified;
    compare_ports(subnet, &expectation, verification);
    oneib_expectation_clear(&expectation);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

#define OTHER_FILE "; if it stays, 'oneib check' tells whether opensm reads another file"
#define TABLE_FULL "; if it stays, look for ERR 0512 (table full) in opensm's log"
#define BY_DAEMON "oneibd tries again by itself"

static const struct {
    enum oneib_finding_id finding;
    bool is_opensms;
    const char *daemon_fix; /* where an oneibd runs; NULL: the finding's */
} kinds[ONEIB_DEVIATION_KINDS] = {
    [ONEIB_KEY_EXCESS] = {ONEIB_FINDING_KEY_EXCESS, true, BY_DAEMON OTHER_FILE},
    [ONEIB_KEY_WIDENED] = {ONEIB_FINDING_KEY_WIDENED, true, BY_DAEMON OTHER_FILE},
    [ONEIB_KEY_LAST_SLOT] = {ONEIB_FINDING_KEY_LAST_SLOT, false, NULL},
    [ONEIB_KEY_ABSENT] = {ONEIB_FINDING_KEY_ABSENT, true, BY_DAEMON TABLE_FULL},
    [ONEIB_KEY_NARROWED] = {ONEIB_FINDING_KEY_NARROWED, true, BY_DAEMON TABLE_FULL},
    [ONEIB_KEY_NOT_FIRST] = {ONEIB_FINDING_KEY_NOT_FIRST, true, NULL},
    [ONEIB_PORT_SILENT] = {ONEIB_FINDING_PORT_SILENT, false, NULL},
};

enum oneib_finding_id oneib_deviation_finding(enum oneib_deviation_kind kind)
{
    return kinds[kind].finding;
}

const char *oneib_deviation_name(enum oneib_deviation_kind kind)
{
    return oneib_finding_code(kinds[kind].finding);
}

bool oneib_deviation_is_opensms(enum oneib_deviation_kind kind)
{
    return kinds[kind].is_opensms;
}

bool oneib_verification_is_opensms(const struct oneib_verification *verification)
{
    for (size_t i = 0; i < verification->count; i++)
        if (oneib_deviation_is_opensms(verification->items[i].kind))
            return true;
    return false;
}

const char *oneib_deviation_fix(const struct oneib_deviation *deviation, bool daemon_runs)
{
    const char *daemon_fix = kinds[deviation->kind].daemon_fix;
    if (deviation->is_daemons)
        return "oneibd adds the key when the host's oneib-node has reported: look at 'oneib "
               "hosts', and whether both run";
    return daemon_runs && daemon_fix ? daemon_fix
                                     : oneib_finding_fix(kinds[deviation->kind].finding);
}

bool oneib_deviation_is_lack(enum oneib_deviation_kind kind)
{
    return kind == ONEIB_KEY_ABSENT || kind == ONEIB_KEY_NARROWED;
}

bool oneib_deviation_is_violation(enum oneib_deviation_kind kind)
{
    return oneib_finding_severity(kinds[kind].finding) == ONEIB_VIOLATION;
}

void oneib_verification_clear(struct oneib_verification *verification)
{
    free(verification->items);
    *verification = (struct oneib_verification){0};
}
