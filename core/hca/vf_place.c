// SPDX-License-Identifier: Apache-2.0
#include "hca/assign_internal.h"
#include "hca/attribute.h"
#include "hca/place.h"
#include "hca/reservations.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define PATH_SIZE 768

/* ---- finding
 * ------------------------------------------------------------------------- */

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

int oneib_vf_place_of(const struct oneib_hcas *hcas, const struct oneib_vf_record *record,
                      struct oneib_vf_place *place, bool *exists, struct oneib_error *err)
{
    *place = (struct oneib_vf_place){0};
    place->hca = oneib_hcas_of_vf(hcas, &record->vf, &place->vf);
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

bool oneib_pci_is_among(const struct oneib_pci *vf, const struct oneib_pci *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (oneib_pci_compare(vf, &list[i]) == 0)
            return true;
    return false;
}

int oneib_vf_try_lock(const struct oneib_pci *vf, int *lock, bool *taken, struct oneib_error *err)
{
    struct oneib_error why = {0};
    *taken = oneib_vf_lock(vf, 0, lock, &why) == 0;
    if (*taken || why.code == ONEIB_ERROR_TIMEOUT)
        return 0;
    *err = why;
    return -1;
}

/* ---- opening
 * ------------------------------------------------------------------------- */

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

static int32_t known_index(const struct oneib_vf_place *place, const struct oneib_vf_record *record)
{
    return oneib_port_pkey_index(place->port, record->pkey, record->limited);
}

/* The entry that no other one is better than. A table is read no further than some key was sought
 * (oneib_hca_seek_pkey()): behind a worse one there may be this one. */
static bool is_best_entry(const struct oneib_vf_place *place, const struct oneib_vf_record *record,
                          int32_t index)
{
    return place->port->pkeys[index] ==
           oneib_pkey_raw(record->pkey, record->limited ? ONEIB_LIMITED : ONEIB_FULL);
}

/* A table has 128 entries, each a file. Where the key was, and the two that oneib_port_is_safe()
 * looks at, tell whether what was read before still holds. */
static bool still_holds(const struct oneib_vf_place *place, const struct oneib_vf_record *record)
{
    struct oneib_error unread;
    const int32_t index = known_index(place, record);
    return index >= 0 && reread_entry(place, 0, &unread) == 0 &&
           reread_entry(place, place->port->pkey_count - 1, &unread) == 0 &&
           reread_entry(place, index, &unread) == 0 && is_best_entry(place, record, index) &&
           known_index(place, record) == index;
}

int oneib_vf_key_index(const struct oneib_vf_place *place, const struct oneib_vf_record *record,
                       int32_t *index, struct oneib_error *err)
{
    if (!place->port || place->port->link_layer != ONEIB_LINK_INFINIBAND)
        return oneib_fail(err, ONEIB_ERROR_NOT_FOUND, "%s has no InfiniBand port %u",
                          place->hca->name, record->port);
    if (!still_holds(place, record) &&
        oneib_hca_seek_pkey(place->hca, place->port, record->pkey, record->limited, err) < 0)
        return -1;
    if (oneib_port_is_safe(place->hca, place->port, err) < 0)
        return -1;
    *index = place->hca->driver == ONEIB_HCA_MLX5 ? 0 : known_index(place, record);
    return 0;
}

bool oneib_vf_was_given_guid(const struct oneib_vf_place *place, const struct oneib_vf_state *state,
                             const struct oneib_vf_record *record)
{
    return state->guid == oneib_vf_record_guid(record) &&
           (place->hca->driver != ONEIB_HCA_MLX5 || state->guid_accepted);
}

bool oneib_vf_is_open_at(const struct oneib_vf_place *place, const struct oneib_vf_state *state,
                         int32_t index)
{
    if (place->hca->driver == ONEIB_HCA_MLX5)
        return !state->closed;
    return index >= 0 && state->index == index && place->port &&
           state->open_port == place->port->number;
}

int oneib_vf_open_where_key_is(const struct oneib_vf_place *place,
                               const struct oneib_vf_record *record, bool *is_open,
                               struct oneib_error *err)
{
    int32_t index = -1, now_at = -1;
    *is_open = false;
    if (oneib_vf_key_index(place, record, &index, err) < 0)
        return -1;
    if (index < 0)
        return 0;
    if (oneib_vf_open(place->hca, place->vf, record->port, (uint16_t)index, err) < 0 ||
        oneib_vf_key_index(place, record, &now_at, err) < 0)
        return -1;
    *is_open = now_at == index;
    return *is_open ? 0 : oneib_vf_close(place->hca, place->vf, err);
}

/* ---- freeing
 * ------------------------------------------------------------------------- */

int oneib_vf_make_closed(const struct oneib_vf_place *place, struct oneib_error *err)
{
    /* Unreadable is not closed. */
    struct oneib_error unread;
    struct oneib_vf_state state;
    if (oneib_vf_state_read(place->hca, place->vf, &state, &unread) == 0 && state.closed)
        return 0;
    return oneib_vf_close(place->hca, place->vf, err);
}

int oneib_vf_wait_without_guid(const struct oneib_vf_place *place, struct oneib_pause *pause,
                               struct oneib_error *err)
{
    for (;;) {
        struct oneib_vf_state state;
        if (oneib_vf_guid_read(place->hca, place->vf, 0, &state, err) < 0)
            return -1;
        if (state.guid_gone)
            return 0;
        if (!oneib_pause(pause))
            return oneib_fail(err, ONEIB_ERROR_TIMEOUT,
                              "the virtual function is closed, but not free yet: the subnet "
                              "manager has not let go of its GUID, which it does not while the "
                              "GUID is in a multicast group; the adapter goes on asking");
    }
}

int oneib_vf_lose_guid(const struct oneib_vf_place *place, struct oneib_pause *pause,
                       struct oneib_error *err)
{
    if (oneib_vf_clear_guid(place->hca, place->vf, err) < 0)
        return -1;
    return oneib_vf_wait_without_guid(place, pause, err);
}
