// SPDX-License-Identifier: Apache-2.0
#include "node/inventory.h"
#include "hca/reservations.h"
#include "node/inventory_internal.h"
#include <stdlib.h>

bool oneib_is_host_vf(char *const *host_vfs, const struct oneib_pci *vf)
{
    struct oneib_pci kept;
    for (; host_vfs && *host_vfs; host_vfs++)
        if (oneib_pci_parse(*host_vfs, &kept) && oneib_pci_compare(&kept, vf) == 0)
            return true;
    return false;
}

/* ---- who has which VF ---------------------------------------------------------------------- */

/* What the VF itself says. */
static enum oneib_vf_use use_by_state(const struct oneib_inventory_vf *item)
{
    const struct oneib_vf_state *state = &item->state;
    if (!item->state_known)
        return ONEIB_VF_UNREADABLE;
    if (state->has_ethernet)
        return ONEIB_VF_ETHERNET;
    return oneib_vf_state_is_free(state) ? ONEIB_VF_FREE : ONEIB_VF_NOT_CLOSED;
}

static enum oneib_vf_use use_of(const struct oneib_inventory *inventory,
                                const struct oneib_config *config,
                                const struct oneib_inventory_vf *item, bool with_states)
{
    if (item->record)
        return ONEIB_VF_RESERVED;
    if (item->domain)
        return ONEIB_VF_DOMAIN;
    if (item->vf->interface_up || oneib_is_host_vf(config->node.host_vfs, &item->vf->pci))
        return ONEIB_VF_HOST;
    if (!inventory->table_known || !inventory->domains_known ||
        item->hca->fault.code != ONEIB_ERROR_NONE)
        return ONEIB_VF_UNREADABLE;
    return with_states ? use_by_state(item) : ONEIB_VF_FREE;
}

static void look_at_vf(const struct oneib_inventory *inventory, const struct oneib_config *config,
                       bool with_states, struct oneib_inventory_vf *item)
{
    item->record = oneib_vf_table_of_vf(&inventory->table, &item->vf->pci);
    item->domain = oneib_domains_of(&inventory->domains, &item->vf->pci);
    item->state_known = with_states && oneib_vf_state_read(item->hca, item->vf, &item->state,
                                                           &item->unreadable) == 0;
    item->use = use_of(inventory, config, item, with_states);
}

static size_t count_vfs(const struct oneib_hcas *hcas)
{
    size_t count = 0;
    for (size_t i = 0; i < hcas->count; i++)
        count += hcas->items[i].vf_count;
    return count;
}

static int look_at_vfs(const struct oneib_config *config, bool with_states,
                       struct oneib_inventory *inventory, struct oneib_error *err)
{
    inventory->vfs = calloc(count_vfs(&inventory->hcas) + 1, sizeof *inventory->vfs);
    if (!inventory->vfs)
        return oneib_fail_memory(err);
    for (size_t i = 0; i < inventory->hcas.count; i++) {
        const struct oneib_hca *hca = &inventory->hcas.items[i];
        for (size_t j = 0; j < hca->vf_count; j++) {
            struct oneib_inventory_vf *item = &inventory->vfs[inventory->vf_count++];
            *item = (struct oneib_inventory_vf){.hca = hca, .vf = &hca->vfs[j]};
            look_at_vf(inventory, config, with_states, item);
        }
    }
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

static int read_table(struct oneib_inventory *inventory, struct oneib_error *err)
{
    struct oneib_error why = {0};
    inventory->table_known = oneib_reservations_read(&inventory->table, &why) == 0;
    if (inventory->table_known)
        return 0;
    return oneib_findings_add(&inventory->findings, ONEIB_WARNING, "vf-table-unreadable",
                              "as root, mend or remove the table; 'oneib hca --repair' then closes "
                              "what nobody has",
                              err, "%s", why.text);
}

static int ask_libvirt(const struct oneib_config *config, struct oneib_inventory *inventory,
                       struct oneib_error *err)
{
    inventory->domains_known =
        oneib_domains_ask(config, &inventory->domains, &inventory->domains_error) == 0;
    if (inventory->domains_known)
        return 0;
    return oneib_findings_add(&inventory->findings, ONEIB_WARNING, "libvirt-unreachable",
                              "see that libvirtd runs and that this user may connect to it", err,
                              "%s", inventory->domains_error.text);
}

/* Asking libvirt costs more than all the rest, and is left out where the answer changes nothing:
 * on a host without VFs, and in a probe that has nothing to release. */
static int read_domains(const struct oneib_config *config, bool with_states,
                        struct oneib_inventory *inventory, struct oneib_error *err)
{
    const bool has_records = !inventory->table_known || inventory->table.count > 0;
    const bool has_vfs = count_vfs(&inventory->hcas) > 0;
    inventory->domains_known = !has_records && !has_vfs;
    if (has_records || (has_vfs && with_states))
        return ask_libvirt(config, inventory, err);
    return 0;
}

int oneib_inventory_read(const struct oneib_config *config, bool with_states,
                         struct oneib_inventory *inventory, struct oneib_error *err)
{
    *inventory = (struct oneib_inventory){0};
    if (oneib_hcas_read(ONEIB_HCA_PKEYS | ONEIB_HCA_VFS, &inventory->hcas, err) == 0 &&
        read_table(inventory, err) == 0 && read_domains(config, with_states, inventory, err) == 0 &&
        look_at_vfs(config, with_states, inventory, err) == 0 &&
        oneib_inventory_judge(inventory, with_states, err) == 0)
        return 0;
    oneib_inventory_clear(inventory);
    return -1;
}

void oneib_inventory_clear(struct oneib_inventory *inventory)
{
    free(inventory->vfs);
    oneib_findings_clear(&inventory->findings);
    oneib_domains_clear(&inventory->domains);
    oneib_vf_table_clear(&inventory->table);
    oneib_hcas_clear(&inventory->hcas);
    *inventory = (struct oneib_inventory){0};
}

/* ---- records ------------------------------------------------------------------------------- */

static bool is_same(const struct oneib_vf_record *a, const struct oneib_vf_record *b)
{
    return a->vm_id == b->vm_id && a->nic_id == b->nic_id && a->pkey == b->pkey &&
           a->stage == b->stage && a->guid == b->guid && a->owner == b->owner &&
           a->owner_start == b->owner_start && a->since == b->since;
}

bool oneib_record_is_current(const struct oneib_pci *vf, const struct oneib_vf_record *record)
{
    struct oneib_vf_table table;
    struct oneib_error ignored;
    if (oneib_reservations_read(&table, &ignored) < 0)
        return false;
    const struct oneib_vf_record *now = oneib_vf_table_of_vf(&table, vf);
    const bool is_current = now && record ? is_same(now, record) : !now && !record;
    oneib_vf_table_clear(&table);
    return is_current;
}

bool oneib_inventory_has_vf(const struct oneib_inventory *inventory,
                            const struct oneib_vf_record *record)
{
    const struct oneib_vf *vf;
    return oneib_hcas_of_vf(&inventory->hcas, &record->vf, &vf) != NULL;
}

bool oneib_inventory_is_stale(const struct oneib_inventory *inventory,
                              const struct oneib_vf_record *record, int64_t now)
{
    return oneib_table_has_stale(&inventory->table, record, &inventory->domains,
                                 inventory->domains_known, now);
}

bool oneib_inventory_is_unfinished(const struct oneib_inventory *inventory,
                                   const struct oneib_vf_record *record, int64_t now)
{
    return oneib_record_is_unfinished(record, &inventory->domains, inventory->domains_known,
                                      oneib_vf_record_has_owner(record), now);
}

bool oneib_inventory_is_not_plugged(const struct oneib_inventory *inventory,
                                    const struct oneib_vf_record *record, int64_t now)
{
    return oneib_record_is_not_plugged(record, &inventory->domains, inventory->domains_known,
                                       oneib_vf_record_has_owner(record), now);
}
