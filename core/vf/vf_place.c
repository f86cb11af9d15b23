// SPDX-License-Identifier: Apache-2.0
#include "hca/attribute.h"
#include "hca/place.h"
#include "vf/vf_internal.h"
#include <errno.h>
#include <unistd.h>

#define PATH_SIZE 768

/* ---- finding --------------------------------------------------------------------------------- */

static int device_exists(const struct oneib_pci *vf, bool *exists, struct oneib_error *err)
{
    char address[ONEIB_PCI_TEXT_SIZE], path[PATH_SIZE];
    oneib_pci_format(vf, address);
    if (oneib_node_path(path, sizeof path, err, "/sys/bus/pci/devices/%s", address) < 0)
        return -1;
    *exists = access(path, F_OK) == 0;
    if (!*exists && errno != ENOENT)
        return oneib_fail_errno(err, errno, "examining %s", path);
    return 0;
}

int oneib_vfs_find_place(const struct oneib_vfs *vfs, const struct oneib_vf_record *record,
                         struct oneib_vf_place *place, bool *exists, struct oneib_error *err)
{
    *place = (struct oneib_vf_place){0};
    place->hca = oneib_hcas_of_vf(&vfs->hcas, &record->vf, &place->vf);
    if (!place->hca) {
        if (device_exists(&record->vf, exists, err) < 0)
            return -1;
        if (*exists)
            return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                              "no InfiniBand adapter of this host shows this virtual function, "
                              "which was %s's: see that the adapter's driver is loaded",
                              record->device);
        return 0;
    }
    *exists = true;
    for (size_t i = 0; i < place->hca->port_count; i++)
        if (place->hca->ports[i].number == record->port)
            place->port = &place->hca->ports[i];
    return 0;
}

/* ---- the key --------------------------------------------------------------------------------- */

/* One entry of the table that was read before. */
static int reread_entry(const struct oneib_vf_place *place, int32_t index, struct oneib_error *err)
{
    char path[PATH_SIZE];
    uint64_t raw;
    if (oneib_node_path(path, sizeof path, err, "/sys/class/infiniband/%s/ports/%u/pkeys/%d",
                        place->hca->name, place->port->number, index) < 0 ||
        oneib_attribute_hex(path, UINT16_MAX, &raw, err) < 0)
        return -1;
    place->port->pkeys[index] = (uint16_t)raw;
    return 0;
}

/* The entry that no other one is better than. A table is read no further than some key was sought
 * (oneib_hca_seek_pkey()): behind a worse one there may be this one. */
static bool is_best_entry(const struct oneib_vf_place *place, oneib_pkey pkey, bool limited,
                          int32_t index)
{
    return place->port->pkeys[index] == oneib_pkey_raw(pkey, limited ? ONEIB_LIMITED : ONEIB_FULL);
}

/* A table has 128 entries, each a file. Where the key was, and the two that oneib_port_is_safe()
 * looks at, tell whether what was read before still holds. */
static bool still_holds(const struct oneib_vf_place *place, oneib_pkey pkey, bool limited)
{
    struct oneib_error unread;
    const int32_t index = oneib_port_pkey_index(place->port, pkey, limited);
    return index >= 0 && reread_entry(place, 0, &unread) == 0 &&
           reread_entry(place, place->port->pkey_count - 1, &unread) == 0 &&
           reread_entry(place, index, &unread) == 0 && is_best_entry(place, pkey, limited, index) &&
           oneib_port_pkey_index(place->port, pkey, limited) == index;
}

int oneib_vfs_key_index(const struct oneib_vf_place *place, oneib_pkey pkey, bool limited,
                        int32_t *index, struct oneib_error *err)
{
    if (!place->port || place->port->link_layer != ONEIB_LINK_INFINIBAND)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "%s has no such InfiniBand port any more",
                          place->hca->name);
    if (!still_holds(place, pkey, limited) &&
        oneib_hca_seek_pkey(place->hca, place->port, pkey, limited, err) < 0)
        return -1;
    if (oneib_port_is_safe(place->hca, place->port, err) < 0)
        return -1;
    *index = place->hca->driver == ONEIB_HCA_MLX5
                 ? 0
                 : oneib_port_pkey_index(place->port, pkey, limited);
    return 0;
}

/* ---- the VF ---------------------------------------------------------------------------------- */

/* mlx4's driver goes on asking the SM until it agrees. What it has agreed to once it can take away,
 * as a guest may ask it to (docs/security.md), and then the driver asks no more. */
static bool is_still_asked_for(const struct oneib_vf_place *place,
                               const struct oneib_vf_record *record)
{
    return place->hca->driver != ONEIB_HCA_MLX5 && record->guid != ONEIB_VF_GUID_SET;
}

bool oneib_vfs_was_given_guid(const struct oneib_vf_place *place,
                              const struct oneib_vf_state *state,
                              const struct oneib_vf_record *record)
{
    return state->guid == oneib_vf_record_guid(record) &&
           (state->guid_accepted || is_still_asked_for(place, record));
}

bool oneib_vfs_is_open_at(const struct oneib_vf_place *place, const struct oneib_vf_state *state,
                          int32_t index)
{
    if (place->hca->driver == ONEIB_HCA_MLX5)
        return !state->closed;
    return state->index == index && state->open_port == place->port->number;
}

int oneib_vfs_check_unprivileged(const struct oneib_vf_state *state, struct oneib_error *err)
{
    if (!state->may_manage)
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "its VM may send management packets, and so change what others are members "
                      "of: write 0 into enable_smi_admin of each of its ports");
}

int oneib_vfs_open_where_key_is(struct oneib_vfs *vfs, const struct oneib_vf_place *place,
                                const struct oneib_vf_record *record, bool *is_open,
                                struct oneib_error *why, struct oneib_error *err)
{
    int32_t index = -1, now_at = -1;
    *is_open = false;
    *why = (struct oneib_error){0};
    if (oneib_vfs_key_index(place, record->pkey, record->limited, &index, err) < 0)
        return -1;
    if (place->hca->driver == ONEIB_HCA_MLX5)
        return oneib_vfs_open_virtual_port(vfs, place, record, is_open, why, err);
    if (index < 0)
        return 0;
    if (oneib_vf_open(place->hca, place->vf, record->port, (uint16_t)index, err) < 0 ||
        oneib_vfs_key_index(place, record->pkey, record->limited, &now_at, err) < 0)
        return -1;
    *is_open = now_at == index;
    return *is_open ? 0 : oneib_vf_close(place->hca, place->vf, err);
}
