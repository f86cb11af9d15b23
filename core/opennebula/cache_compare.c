// SPDX-License-Identifier: Apache-2.0
/* What partitions, grants and host attributes depend on, and therefore not names, addresses, and
 * the numbers of a state within the same phase. */
#include "base/order.h"
#include "opennebula/cache_merge.h"
#include <string.h>

ONEIB_ORDER_BY(compare_statics, struct oneib_static_member, guid, membership);

/* NULL, where nothing is said, is none but itself. */
static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Both documents state the same one, or both none. */
static bool same_key(const struct oneib_network *a, const struct oneib_network *b)
{
    return a->key_state == b->key_state && (a->key_state != ONEIB_KEY_VALID || a->pkey == b->pkey);
}

/* Another driver's parent is not read again for it: it may be in doubt until all are read. */
bool oneib_cache_same_network(const struct oneib_network *a, const struct oneib_network *b)
{
    return a->id == b->id && a->parent_id == b->parent_id && same_key(a, b) &&
           same_text(a->other_driver, b->other_driver) && a->unreadable == b->unreadable &&
           a->being_created == b->being_created && a->reservations_share == b->reservations_share &&
           a->uid == b->uid && oneib_network_is_operators(a) == oneib_network_is_operators(b) &&
           a->membership == b->membership && strcmp(a->device, b->device) == 0 &&
           a->device_port == b->device_port && a->device_invalid == b->device_invalid &&
           a->mtu_bytes == b->mtu_bytes && a->rate_gbps == b->rate_gbps &&
           strcmp(a->qos_class, b->qos_class) == 0 && a->class_invalid == b->class_invalid &&
           a->placement == b->placement && a->shown_sl == b->shown_sl &&
           ONEIB_ALIKE(a->static_members, a->static_count, b->static_members, b->static_count,
                       compare_statics) &&
           (a->other_driver || a->parent_unproven == b->parent_unproven);
}

/* In any order: each address is there once. */
static bool same_devices(const struct oneib_host *a, const struct oneib_host *b)
{
    if (a->given_count != b->given_count)
        return false;
    for (size_t i = 0; i < a->given_count; i++)
        if (oneib_host_given_to(b, &a->given[i].address) != a->given[i].vm_id)
            return false;
    return true;
}

static bool same_keys(const struct oneib_host *a, const struct oneib_host *b)
{
    return a->keys_invalid == b->keys_invalid && a->keys_written == b->keys_written &&
           strcmp(a->keys_seal, b->keys_seal) == 0 && a->key_count == b->key_count &&
           (a->key_count == 0 || memcmp(a->keys, b->keys, a->key_count * sizeof *a->keys) == 0);
}

/* As IB_HCA names them: one of the two may be settled. */
static bool same_probed(const struct oneib_host *a, const struct oneib_host *b)
{
    return ONEIB_ALIKE(a->ports_settled ? a->probed : a->ports,
                       a->ports_settled ? a->probed_count : a->port_count,
                       b->ports_settled ? b->probed : b->ports,
                       b->ports_settled ? b->probed_count : b->port_count, oneib_hca_port_compare);
}

bool oneib_cache_same_host(const struct oneib_host *a, const struct oneib_host *b)
{
    return a->id == b->id && oneib_host_is_heard(a->state) == oneib_host_is_heard(b->state) &&
           a->vfs_limit == b->vfs_limit && a->vfs_free == b->vfs_free &&
           strcmp(a->node_key, b->node_key) == 0 && same_text(a->switches, b->switches) &&
           same_keys(a, b) && same_probed(a, b) && same_devices(a, b);
}

static bool same_address(const struct oneib_attachment *a, const struct oneib_attachment *b)
{
    return a->has_address == b->has_address &&
           (!a->has_address || oneib_pci_compare(&a->address, &b->address) == 0);
}

bool oneib_cache_same_attachment(const struct oneib_attachment *a, const struct oneib_attachment *b)
{
    return a->vm_id == b->vm_id && a->nic_id == b->nic_id && a->network_id == b->network_id &&
           a->host_id == b->host_id && a->source_host_id == b->source_host_id &&
           a->shown_pkey == b->shown_pkey && a->since == b->since && a->phase == b->phase &&
           a->narrowed == b->narrowed && a->attaching == b->attaching && a->is_pci == b->is_pci &&
           a->mac == b->mac && same_address(a, b) && a->unleased == b->unleased;
}

bool oneib_cache_differs(const struct oneib_cloud *before, const struct oneib_cloud *after)
{
    if (before->network_count != after->network_count || before->host_count != after->host_count ||
        before->attachment_count != after->attachment_count)
        return true;
    for (size_t i = 0; i < before->network_count; i++)
        if (!oneib_cache_same_network(&before->networks[i], &after->networks[i]))
            return true;
    for (size_t i = 0; i < before->host_count; i++)
        if (!oneib_cache_same_host(&before->hosts[i], &after->hosts[i]))
            return true;
    for (size_t i = 0; i < before->attachment_count; i++)
        if (!oneib_cache_same_attachment(&before->attachments[i], &after->attachments[i]))
            return true;
    return false;
}
