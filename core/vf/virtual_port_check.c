// SPDX-License-Identifier: Apache-2.0
/* What a VF's own port holds, and opening it by that: mlx5. */
#include "hca/vf_port.h"
#include "vf/vf_internal.h"

/* One VF that is to be opened. */
struct opening {
    struct oneib_vfs *vfs;
    const struct oneib_vf_place *place;
    const struct oneib_vf_record *record;
};

static enum oneib_vf_sight judge(const struct oneib_virtual_port *port,
                                 const struct oneib_vf_record *record, struct oneib_error *why)
{
    const bool is_deferred = record->guid == ONEIB_VF_GUID_DEFERRED;
    const struct oneib_virtual_port_wanted wanted = {
        .guid = is_deferred ? 0 : oneib_vf_record_guid(record),
        .pkey = record->pkey,
        .limited = record->limited,
    };
    switch (oneib_virtual_port_judge(port, &wanted, why)) {
    case ONEIB_VIRTUAL_PORT_RIGHT:
        return ONEIB_VF_RIGHT;
    case ONEIB_VIRTUAL_PORT_LACKS:
        return is_deferred ? ONEIB_VF_RIGHT : ONEIB_VF_LACKS;
    case ONEIB_VIRTUAL_PORT_HARMS:
        break;
    }
    return ONEIB_VF_HARMS;
}

static void note_seen(struct oneib_vfs *vfs, const struct oneib_vf_record *record, bool seen)
{
    if (seen)
        oneib_vfs_remember(vfs, &record->vf, ONEIB_VF_SEEN, UINT32_MAX);
    else
        oneib_vfs_forget_memory(vfs, &record->vf, ONEIB_VF_SEEN);
}

int oneib_vfs_see_port(struct oneib_vfs *vfs, const struct oneib_vf_place *place,
                       const struct oneib_vf_record *record, enum oneib_vf_sight *sight,
                       struct oneib_error *why, struct oneib_error *err)
{
    struct oneib_virtual_port port;
    *sight = ONEIB_VF_UNSEEN;
    if (place->hca->driver != ONEIB_HCA_MLX5)
        return 0;
    if (oneib_vf_port_read(place->hca, place->vf, &port, err) < 0)
        return -1;
    note_seen(vfs, record, port.way != ONEIB_VIRTUAL_PORT_UNSEEN);
    if (port.way != ONEIB_VIRTUAL_PORT_UNSEEN)
        *sight = judge(&port, record, why);
    return 0;
}

static bool is_unseen(const struct oneib_vfs *vfs, const struct oneib_vf_record *record)
{
    const struct oneib_vf *vf;
    const struct oneib_hca *hca = oneib_hcas_of_vf(&vfs->hcas, &record->vf, &vf);
    return record->stage == ONEIB_VF_OPEN && hca && hca->driver == ONEIB_HCA_MLX5 &&
           !oneib_vfs_remembers(vfs, &record->vf, ONEIB_VF_SEEN);
}

size_t oneib_vfs_unseen(const struct oneib_vfs *vfs)
{
    size_t count = 0;
    for (size_t i = 0; i < vfs->table.count; i++)
        count += is_unseen(vfs, &vfs->table.items[i]);
    return count;
}

static int see(const struct opening *opening, enum oneib_vf_sight *sight, struct oneib_error *why,
               struct oneib_error *err)
{
    return oneib_vfs_see_port(opening->vfs, opening->place, opening->record, sight, why, err);
}

/* Whether the link may be up although the port is not right yet. */
static bool waits_with_link_up(const struct opening *opening, enum oneib_vf_sight sight)
{
    return sight == ONEIB_VF_LACKS && opening->vfs->virtual_ports == ONEIB_VIRTUAL_PORTS_LINK_FIRST;
}

static bool may_be_up(const struct opening *opening, enum oneib_vf_sight sight)
{
    return sight == ONEIB_VF_UNSEEN || sight == ONEIB_VF_RIGHT ||
           waits_with_link_up(opening, sight);
}

/* A link that is as it should be is not set again: whoever waits looks every moment. */
static int bring_link_up(const struct opening *opening, struct oneib_error *err)
{
    const struct oneib_vf_place *place = opening->place;
    struct oneib_vf_state state;
    if (oneib_vf_state_read(place->hca, place->vf, &state, err) < 0)
        return -1;
    return state.closed ? oneib_vf_open(place->hca, place->vf, opening->record->port, 0, err) : 0;
}

int oneib_vfs_take_link_down(const struct oneib_vf_place *place, struct oneib_error *err)
{
    struct oneib_vf_state state;
    if (place->hca->driver != ONEIB_HCA_MLX5)
        return 0;
    if (oneib_vf_state_read(place->hca, place->vf, &state, err) < 0)
        return -1;
    return state.closed ? 0 : oneib_vf_close(place->hca, place->vf, err);
}

/* What was seen before, and is seen no more, was not proved: the next look begins anew. */
static bool is_proved(enum oneib_vf_sight before, enum oneib_vf_sight now)
{
    return now == ONEIB_VF_RIGHT || (before == ONEIB_VF_UNSEEN && now == ONEIB_VF_UNSEEN);
}

int oneib_vfs_open_virtual_port(struct oneib_vfs *vfs, const struct oneib_vf_place *place,
                                const struct oneib_vf_record *record, bool *is_open,
                                struct oneib_error *why, struct oneib_error *err)
{
    const struct opening opening = {vfs, place, record};
    enum oneib_vf_sight before, now;
    *is_open = false;
    if (see(&opening, &before, why, err) < 0)
        return -1;
    if (!may_be_up(&opening, before))
        return oneib_vfs_take_link_down(place, err);
    if (bring_link_up(&opening, err) < 0 || see(&opening, &now, why, err) < 0)
        return -1;
    *is_open = is_proved(before, now);
    if (*is_open || waits_with_link_up(&opening, now))
        return 0;
    return oneib_vfs_take_link_down(place, err);
}
