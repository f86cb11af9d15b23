// SPDX-License-Identifier: Apache-2.0
#include "cluster/cloud.h"
#include "base/array.h"
#include "base/number.h"
#include "base/order.h"
#include "base/stable_sort.h"
#include <stdlib.h>
#include <string.h>

struct oneib_network *oneib_cloud_add_network(struct oneib_cloud *cloud)
{
    struct oneib_network *network =
        ONEIB_ADD(cloud->networks, cloud->network_count, cloud->network_capacity);
    *network = (struct oneib_network){.uid = ONEIB_NO_ID, .gid = ONEIB_NO_ID};
    return network;
}

struct oneib_host *oneib_cloud_add_host(struct oneib_cloud *cloud)
{
    struct oneib_host *host = ONEIB_ADD(cloud->hosts, cloud->host_count, cloud->host_capacity);
    *host = (struct oneib_host){.vfs_limit = -1, .vfs_free = -1, .state = -1};
    return host;
}

struct oneib_attachment *oneib_cloud_add_attachment(struct oneib_cloud *cloud)
{
    struct oneib_attachment *attachment =
        ONEIB_ADD(cloud->attachments, cloud->attachment_count, cloud->attachment_capacity);
    *attachment = (struct oneib_attachment){0};
    return attachment;
}

struct oneib_hca_port *oneib_host_add_port(struct oneib_host *host)
{
    struct oneib_hca_port *port = ONEIB_ADD(host->ports, host->port_count, host->port_capacity);
    *port = (struct oneib_hca_port){0};
    return port;
}

const char *oneib_hca_driver_name(enum oneib_hca_driver driver)
{
    return driver == ONEIB_HCA_MLX4 ? "mlx4" : driver == ONEIB_HCA_MLX5 ? "mlx5" : "other";
}

enum oneib_hca_driver oneib_hca_driver_of(const char *name)
{
    return strcmp(name, "mlx4") == 0   ? ONEIB_HCA_MLX4
           : strcmp(name, "mlx5") == 0 ? ONEIB_HCA_MLX5
                                       : ONEIB_HCA_OTHER;
}

ONEIB_ORDER(compare_hca_ports, struct oneib_hca_port,
            strcmp(left->device, right->device) ?: ONEIB_BY(port, driver, port_guid, vfs_total)
                ?: ONEIB_BY(rate_gbps));

int oneib_hca_port_compare(const void *a, const void *b)
{
    return compare_hca_ports(a, b);
}

static struct oneib_given_device *find_given(const struct oneib_host *host,
                                             const struct oneib_pci *address)
{
    for (size_t i = 0; i < host->given_count; i++)
        if (oneib_pci_compare(&host->given[i].address, address) == 0)
            return &host->given[i];
    return NULL;
}

void oneib_host_give(struct oneib_host *host, const struct oneib_pci *address, uint32_t vm_id)
{
    struct oneib_given_device *given = find_given(host, address);
    if (given) {
        if (given->vm_id != vm_id)
            given->vm_id = ONEIB_NO_ID;
        return;
    }
    ONEIB_APPEND(host->given, host->given_count, host->given_capacity,
                 (struct oneib_given_device){.address = *address, .vm_id = vm_id});
}

uint32_t oneib_host_given_to(const struct oneib_host *host, const struct oneib_pci *address)
{
    const struct oneib_given_device *given = find_given(host, address);
    return given ? given->vm_id : ONEIB_NO_ID;
}

void oneib_network_add_static(struct oneib_network *network, oneib_guid guid,
                              enum oneib_membership membership)
{
    ONEIB_APPEND(network->static_members, network->static_count, network->static_capacity,
                 (struct oneib_static_member){.guid = guid, .membership = membership});
}

/* Copies the ids into a list of them that is looked up by halving. */
static void set_ids(uint32_t **list, size_t *list_count, size_t *capacity, const uint32_t *ids,
                    size_t count)
{
    ONEIB_RESERVE(*list, *capacity, count);
    if (count)
        memcpy(*list, ids, count * sizeof *ids);
    *list_count = count;
    ONEIB_SORT(*list, count, oneib_compare_u32);
}

static bool has_id(const uint32_t *list, size_t count, uint32_t id)
{
    return ONEIB_FIND(&id, list, count, oneib_compare_u32);
}

void oneib_network_set_vms(struct oneib_network *network, const uint32_t *ids, size_t count)
{
    set_ids(&network->vms, &network->vm_count, &network->vm_capacity, ids, count);
}

bool oneib_network_names_vm(const struct oneib_network *network, uint32_t vm_id)
{
    return has_id(network->vms, network->vm_count, vm_id);
}

void oneib_network_set_reservations(struct oneib_network *network, const uint32_t *ids,
                                    size_t count)
{
    set_ids(&network->reservations, &network->reservation_count, &network->reservation_capacity,
            ids, count);
}

bool oneib_network_has_reservation(const struct oneib_network *network, uint32_t id)
{
    return has_id(network->reservations, network->reservation_count, id);
}

bool oneib_network_may_have_reservation(const struct oneib_network *network, uint32_t id)
{
    return network->unreadable || oneib_network_has_reservation(network, id);
}

ONEIB_ORDER_BY(compare_leases, struct oneib_lease, vm_id, mac);

void oneib_network_take_leases(struct oneib_network *network, struct oneib_lease **leases,
                               size_t count)
{
    free(network->leases);
    network->leases = *leases;
    network->lease_count = network->lease_capacity = count;
    *leases = NULL;
    oneib_stable_sort(network->leases, count, sizeof *network->leases, compare_leases);
}

bool oneib_network_leases_to(const struct oneib_network *network, uint32_t vm_id, uint64_t mac)
{
    const struct oneib_lease wanted = {.mac = mac, .vm_id = vm_id};
    return mac != 0 && ONEIB_FIND(&wanted, network->leases, network->lease_count, compare_leases);
}

ONEIB_ORDER_BY(compare_networks, struct oneib_network, id);

ONEIB_ORDER_BY(compare_hosts, struct oneib_host, id);

ONEIB_ORDER_BY(compare_attachments, struct oneib_attachment, vm_id, nic_id);

void oneib_network_clear(struct oneib_network *network)
{
    free(network->name);
    free(network->other_driver);
    free(network->owner);
    free(network->group);
    free(network->static_members);
    free(network->vms);
    free(network->leases);
    free(network->reservations);
}

void oneib_host_clear(struct oneib_host *host)
{
    free(host->name);
    free(host->ports);
    free(host->probed);
    free(host->given);
    free(host->switches);
    free(host->problem);
    free(host->keys);
}

bool oneib_host_may_hold(const struct oneib_host *host, oneib_pkey pkey)
{
    for (size_t i = 0; i < host->key_count; i++)
        if (host->keys[i] == pkey)
            return true;
    return host->keys_invalid;
}

/* One key, with the comma before it unless it is the first. */
static bool parse_key(const char **text, const char *end, bool first, oneib_pkey *pkey)
{
    uint64_t number;
    if (!first && *(*text)++ != ',')
        return false;
    const char *comma = memchr(*text, ',', (size_t)(end - *text));
    const size_t length = (size_t)((comma ? comma : end) - *text);
    if (!oneib_parse_hex_n(*text, length, ONEIB_PKEY_LAST, &number) || number == 0)
        return false;
    *pkey = (oneib_pkey)number;
    *text += length;
    return true;
}

int oneib_host_keys_parse(const char *text, size_t length, oneib_pkey **keys, size_t *count,
                          struct oneib_error *err)
{
    const char *end = text + length;
    size_t capacity = 0;
    *keys = NULL;
    *count = 0;
    while (text < end) {
        oneib_pkey pkey = 0;
        const bool fits = *count < ONEIB_HOST_KEYS_MAX &&
                          parse_key(&text, end, *count == 0, &pkey) &&
                          (*count == 0 || pkey > (*keys)[*count - 1]);
        if (!fits) {
            free(*keys);
            *keys = NULL;
            *count = 0;
            return oneib_fail(err, ONEIB_ERROR_INPUT,
                              "IB_KEYS is not a list of P_Keys in ascending order");
        }
        ONEIB_APPEND(*keys, *count, capacity, pkey);
    }
    return 0;
}

/* OpenNebula's Host.h, and OpenNebulaHelper's short names. */
static const struct {
    const char *name;
    bool heard;
} host_states[] = {
    {"init", false},    /* INIT */
    {"update", true},   /* MONITORING_MONITORED */
    {"on", true},       /* MONITORED */
    {"error", false},   /* ERROR */
    {"disabled", true}, /* DISABLED */
    {"retry", false},   /* MONITORING_ERROR */
    {"init", false},    /* MONITORING_INIT */
    {"disabled", true}, /* MONITORING_DISABLED */
    {"off", false},     /* OFFLINE */
};
#define HOST_STATES ((int8_t)(sizeof host_states / sizeof *host_states))

const char *oneib_host_state_name(int8_t state)
{
    return state >= 0 && state < HOST_STATES ? host_states[state].name : "unknown";
}

bool oneib_host_is_heard(int8_t state)
{
    return state >= 0 && state < HOST_STATES && host_states[state].heard;
}

/* Each drops all but the last of equal neighbours: a stable sort has left them in the order they
 * were read. */
static void drop_older_networks(struct oneib_cloud *cloud)
{
    size_t kept = 0;
    for (size_t i = 0; i < cloud->network_count; i++)
        if (i + 1 < cloud->network_count && cloud->networks[i].id == cloud->networks[i + 1].id)
            oneib_network_clear(&cloud->networks[i]);
        else
            cloud->networks[kept++] = cloud->networks[i];
    cloud->network_count = kept;
}

static void drop_older_hosts(struct oneib_cloud *cloud)
{
    size_t kept = 0;
    for (size_t i = 0; i < cloud->host_count; i++)
        if (i + 1 < cloud->host_count && cloud->hosts[i].id == cloud->hosts[i + 1].id)
            oneib_host_clear(&cloud->hosts[i]);
        else
            cloud->hosts[kept++] = cloud->hosts[i];
    cloud->host_count = kept;
}

static void drop_older_attachments(struct oneib_cloud *cloud)
{
    size_t kept = 0;
    for (size_t i = 0; i < cloud->attachment_count; i++) {
        if (i + 1 < cloud->attachment_count &&
            compare_attachments(&cloud->attachments[i], &cloud->attachments[i + 1]) == 0)
            continue;
        cloud->attachments[kept++] = cloud->attachments[i];
    }
    cloud->attachment_count = kept;
}

void oneib_cloud_sort(struct oneib_cloud *cloud)
{
    oneib_stable_sort(cloud->networks, cloud->network_count, sizeof *cloud->networks,
                      compare_networks);
    drop_older_networks(cloud);
    oneib_stable_sort(cloud->hosts, cloud->host_count, sizeof *cloud->hosts, compare_hosts);
    drop_older_hosts(cloud);
    oneib_stable_sort(cloud->attachments, cloud->attachment_count, sizeof *cloud->attachments,
                      compare_attachments);
    drop_older_attachments(cloud);
}

const struct oneib_network *oneib_cloud_network(const struct oneib_cloud *cloud, uint32_t id)
{
    const struct oneib_network wanted = {.id = id};
    return ONEIB_FIND(&wanted, cloud->networks, cloud->network_count, compare_networks);
}

/* ---- whose reservation a network is ---------------------------------------------------------- */

static bool is_operators_reservation(const struct oneib_cloud *cloud,
                                     const struct oneib_network *network)
{
    const struct oneib_network *parent =
        network->parent_id == ONEIB_NO_ID ? NULL : oneib_cloud_network(cloud, network->parent_id);
    return parent && oneib_network_is_operators(parent) &&
           oneib_network_may_have_reservation(parent, network->id);
}

bool oneib_cloud_prove_parents(struct oneib_cloud *cloud)
{
    bool has_changed = false;
    for (size_t i = 0; i < cloud->network_count; i++) {
        struct oneib_network *network = &cloud->networks[i];
        const bool was_unproven = network->parent_unproven;
        network->parent_unproven =
            !oneib_network_is_operators(network) && !is_operators_reservation(cloud, network);
        has_changed |= network->parent_unproven != was_unproven;
    }
    return has_changed;
}

const struct oneib_host *oneib_cloud_host(const struct oneib_cloud *cloud, uint32_t id)
{
    const struct oneib_host wanted = {.id = id};
    return ONEIB_FIND(&wanted, cloud->hosts, cloud->host_count, compare_hosts);
}

const struct oneib_attachment *oneib_cloud_nics(const struct oneib_cloud *cloud, uint32_t vm_id,
                                                size_t *count)
{
    const size_t first =
        ONEIB_LOWER_BOUND(i, cloud->attachment_count, cloud->attachments[i].vm_id < vm_id);
    *count = ONEIB_RUN(i, first, cloud->attachment_count, cloud->attachments[i].vm_id == vm_id);
    return *count ? &cloud->attachments[first] : NULL;
}

const struct oneib_attachment *oneib_cloud_nic(const struct oneib_cloud *cloud, uint32_t vm_id,
                                               uint32_t nic_id)
{
    size_t count;
    const struct oneib_attachment *nics = oneib_cloud_nics(cloud, vm_id, &count);
    for (size_t i = 0; i < count; i++)
        if (nics[i].nic_id == nic_id)
            return &nics[i];
    return NULL;
}

bool oneib_cloud_has_vm(const struct oneib_cloud *cloud, uint32_t vm_id)
{
    return cloud->vm_ids && has_id(cloud->vm_ids, cloud->vm_count, vm_id);
}

size_t oneib_cloud_count_infiniband(const struct oneib_cloud *cloud)
{
    size_t count = 0;
    for (size_t i = 0; i < cloud->network_count; i++)
        count += !cloud->networks[i].other_driver;
    return count;
}

void oneib_cloud_clear(struct oneib_cloud *cloud)
{
    for (size_t i = 0; i < cloud->network_count; i++)
        oneib_network_clear(&cloud->networks[i]);
    for (size_t i = 0; i < cloud->host_count; i++)
        oneib_host_clear(&cloud->hosts[i]);
    free(cloud->networks);
    free(cloud->hosts);
    free(cloud->attachments);
    free(cloud->vm_ids);
    *cloud = (struct oneib_cloud){0};
}

bool oneib_network_is_doubtful(const struct oneib_network *network)
{
    return network->unreadable || network->parent_unproven;
}

bool oneib_network_is_operators(const struct oneib_network *network)
{
    return network->gid == 0;
}

/* Reservations of reservations; a circle has no end that could say anything. */
#define GENERATIONS_MAX 8

const struct oneib_network *oneib_network_rules(const struct oneib_cloud *cloud,
                                                const struct oneib_network *network)
{
    for (int i = 0; i < GENERATIONS_MAX; i++) {
        if (network->parent_unproven)
            return NULL;
        const struct oneib_network *parent =
            network->parent_id == ONEIB_NO_ID || network->parent_id == network->id
                ? NULL
                : oneib_cloud_network(cloud, network->parent_id);
        if (!parent)
            return oneib_network_is_operators(network) ? network : NULL;
        network = parent;
    }
    return NULL;
}

enum oneib_membership oneib_network_membership(const struct oneib_cloud *cloud,
                                               const struct oneib_network *network)
{
    const struct oneib_network *rules = oneib_network_rules(cloud, network);
    const bool is_full =
        network->membership == ONEIB_FULL && (!rules || rules->membership == ONEIB_FULL);
    return is_full ? ONEIB_FULL : ONEIB_LIMITED;
}

enum oneib_membership oneib_network_given(const struct oneib_cloud *cloud,
                                          const struct oneib_network *network)
{
    if (oneib_network_is_operators(network))
        return oneib_network_membership(cloud, network);
    const struct oneib_network *rules = oneib_network_rules(cloud, network);
    return !rules || rules->membership == ONEIB_FULL ? ONEIB_FULL : ONEIB_LIMITED;
}
