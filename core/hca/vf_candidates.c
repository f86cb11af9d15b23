// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "hca/assign_internal.h"
#include "hca/reservations.h"
#include "model/vf_choice.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VFIO_DRIVER "vfio-pci"

/* What can be told without touching the VF. */
static enum oneib_vf_use use_of(const struct oneib_assignment *assignment,
                                const struct oneib_vf_table *table, const struct oneib_vf *vf)
{
    if (oneib_vf_table_of_vf(table, &vf->pci))
        return ONEIB_VF_RESERVED;
    if (oneib_pci_is_among(&vf->pci, assignment->in_use, assignment->in_use_count))
        return ONEIB_VF_DOMAIN;
    if (vf->interface_up ||
        oneib_pci_is_among(&vf->pci, assignment->host_vfs, assignment->host_vf_count))
        return ONEIB_VF_HOST;
    return ONEIB_VF_FREE;
}

static size_t list(const struct oneib_assignment *assignment, const struct oneib_vf_table *table,
                   const struct oneib_hca *hca, struct oneib_vf_candidate *candidates)
{
    size_t count = 0;
    for (size_t i = 0; i < hca->vf_count; i++) {
        const struct oneib_vf *vf = &hca->vfs[i];
        if (assignment->has_vf && oneib_pci_compare(&vf->pci, &assignment->vf) != 0)
            continue;
        candidates[count++] = (struct oneib_vf_candidate){
            .vf = vf->pci,
            .index = vf->index,
            .numa_node = vf->numa_node,
            .on_vfio = strcmp(vf->driver, VFIO_DRIVER) == 0,
            .use = use_of(assignment, table, vf),
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
    return oneib_vf_state_is_free(state) ? ONEIB_VF_FREE : ONEIB_VF_NOT_CLOSED;
}

/* Reads a candidate's state under its lock, which is kept when it can be had. *busy: somebody else
 * has the lock. */
static int try_candidate(const struct oneib_hca *hca, uint8_t port,
                         struct oneib_vf_candidate *candidate, struct oneib_vf_choice *choice,
                         bool *busy, struct oneib_error *err)
{
    struct oneib_error unreadable;
    const struct oneib_vf *vf = oneib_hca_find_vf(hca, &candidate->vf);
    bool taken;
    int lock;
    if (oneib_vf_try_lock(&candidate->vf, &lock, &taken, err) < 0)
        return -1;
    *busy = !taken;
    if (!taken)
        return 0;
    candidate->use = oneib_vf_state_read(hca, vf, &choice->state, &unreadable) < 0
                         ? ONEIB_VF_UNREADABLE
                         : use_by_state(&choice->state, port);
    if (candidate->use == ONEIB_VF_FREE) {
        choice->vf = vf;
        choice->lock = lock;
    } else {
        oneib_vf_unlock(lock);
    }
    return 0;
}

static int refuse(const struct oneib_assignment *assignment, const struct oneib_hca *hca,
                  const struct oneib_vf_candidate *candidates, size_t count,
                  struct oneib_error *err)
{
    if (!assignment->has_vf || count == 0)
        return oneib_vf_refuse(candidates, count, hca->name, err);
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&assignment->vf, vf);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "%s, virtual function %u of %s, cannot be had: %s; 'oneib hca' shows who has "
                      "what",
                      vf, candidates->index, hca->name, oneib_vf_use_name(candidates->use));
}

int oneib_vf_choose(const struct oneib_assignment *assignment, const struct oneib_vf_table *table,
                    const struct oneib_hca *hca, uint8_t port, struct oneib_vf_choice *choice,
                    struct oneib_error *err)
{
    bool any_busy = false;
    *choice = (struct oneib_vf_choice){.lock = -1};
    oneib_autofree struct oneib_vf_candidate *candidates =
        calloc(hca->vf_count + 1, sizeof *candidates);
    if (!candidates)
        return oneib_fail_memory(err);
    const size_t count = list(assignment, table, hca, candidates);
    oneib_vf_candidates_sort(candidates, count, assignment->numa_node);
    for (size_t i = 0; i < count && candidates[i].use == ONEIB_VF_FREE; i++) {
        bool busy = false;
        if (try_candidate(hca, port, &candidates[i], choice, &busy, err) < 0)
            return -1;
        if (choice->vf)
            return 0;
        any_busy |= busy;
    }
    return any_busy ? 0 : refuse(assignment, hca, candidates, count, err);
}
