// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/memory.h"
#include "host/vf_choice.h"
#include "vf/vf_internal.h"
#include <string.h>

#define VFIO_DRIVER "vfio-pci"

bool oneib_vfs_is_hosts(const struct oneib_vfs *vfs, const struct oneib_pci *vf)
{
    return oneib_pci_is_among(vfs->host_vfs, vfs->host_vf_count, vf);
}

/* What can be told without touching the VF. A GUID may be on its way out of one that nobody is
 * recorded for. */
static enum oneib_vf_use use_of(const struct oneib_vfs *vfs, const struct oneib_hca *hca,
                                struct oneib_vf *vf)
{
    struct oneib_error unreadable;
    if (oneib_vf_table_of_vf(&vfs->table, &vf->pci) || oneib_vfs_work_of(vfs, &vf->pci))
        return ONEIB_VF_RESERVED;
    if (oneib_vfs_is_named(vfs, &vf->pci))
        return ONEIB_VF_DOMAIN;
    if (oneib_vfs_is_hosts(vfs, &vf->pci))
        return ONEIB_VF_HOST;
    if (oneib_hca_reread_vf(hca, vf, &unreadable) < 0)
        return ONEIB_VF_UNKNOWN;
    if (vf->off_bus)
        return ONEIB_VF_ABSENT;
    return vf->interface_up ? ONEIB_VF_HOST : ONEIB_VF_FREE;
}

static bool is_meant(const struct oneib_grant *grant, const struct oneib_vf *vf)
{
    return !grant->has_vf || oneib_pci_compare(&vf->pci, &grant->vf) == 0;
}

static size_t list(const struct oneib_vfs *vfs, const struct oneib_grant *grant,
                   const struct oneib_hca *hca, struct oneib_vf_candidate *candidates)
{
    size_t count = 0;
    for (size_t i = 0; i < hca->vf_count; i++) {
        struct oneib_vf *vf = &hca->vfs[i];
        if (!is_meant(grant, vf))
            continue;
        const enum oneib_vf_use use = use_of(vfs, hca, vf);
        candidates[count++] = (struct oneib_vf_candidate){
            .vf = vf->pci,
            .index = vf->index,
            .numa_node = vf->numa_node,
            .on_vfio = strcmp(vf->driver, VFIO_DRIVER) == 0,
            .use = use,
        };
    }
    return count;
}

/* What the VF itself says. */
static enum oneib_vf_use use_by_state(const struct oneib_vf_state *state, uint8_t port)
{
    if (state->has_ethernet)
        return ONEIB_VF_ETHERNET;
    if (port >= 16 || (state->ports >> port & 1) == 0)
        return ONEIB_VF_NO_PORT;
    if (state->may_manage)
        return ONEIB_VF_MANAGEMENT;
    return oneib_vf_state_is_free(state) ? ONEIB_VF_FREE : ONEIB_VF_NOT_CLOSED;
}

static enum oneib_vf_use look_at(const struct oneib_vf_place *place, const struct oneib_vf *vf,
                                 struct oneib_vf_state *state)
{
    struct oneib_error unreadable;
    if (oneib_vf_state_read(place->hca, vf, state, &unreadable) < 0)
        return ONEIB_VF_UNKNOWN;
    return use_by_state(state, place->port->number);
}

static int refuse(const struct oneib_grant *grant, const struct oneib_hca *hca,
                  const struct oneib_vf_candidate *candidates, size_t count,
                  struct oneib_error *err)
{
    if (!grant->has_vf || count == 0)
        return oneib_vf_refuse(candidates, count, hca->name, err);
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&grant->vf, vf);
    return oneib_fail(
        err, ONEIB_ERROR_REFUSED,
        "%s, virtual function %u of %s, cannot be assigned: %s; 'oneib hca' shows the assignments",
        vf, candidates->index, hca->name, oneib_vf_use_name(candidates->use));
}

int oneib_vfs_choose(struct oneib_vfs *vfs, const struct oneib_grant *grant, int16_t numa_node,
                     struct oneib_vf_place *place, struct oneib_vf_state *state,
                     struct oneib_error *err)
{
    const struct oneib_hca *hca = place->hca;
    oneib_autofree struct oneib_vf_candidate *candidates =
        oneib_alloc(hca->vf_count + 1, sizeof *candidates);
    const size_t count = list(vfs, grant, hca, candidates);
    oneib_vf_candidates_sort(candidates, count, numa_node);
    for (size_t i = 0; i < count && candidates[i].use == ONEIB_VF_FREE; i++) {
        const struct oneib_vf *vf = oneib_hca_find_vf(hca, &candidates[i].vf);
        candidates[i].use = look_at(place, vf, state);
        if (candidates[i].use == ONEIB_VF_FREE) {
            place->vf = vf;
            return 0;
        }
    }
    return refuse(grant, hca, candidates, count, err);
}
