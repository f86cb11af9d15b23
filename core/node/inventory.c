// SPDX-License-Identifier: Apache-2.0
#include "node/inventory.h"
#include "base/memory.h"
#include "hca/reservations.h"
#include "hca/vf_port.h"
#include "node/inventory_internal.h"
#include "service/service_client.h"
#include <stdlib.h>

bool oneib_is_host_vf(const struct oneib_config *config, const struct oneib_pci *vf)
{
    return oneib_pci_is_among(config->node.host_pcis, config->node.host_vf_count, vf);
}

/* ---- who has which VF ------------------------------------------------------------------------ */

/* What the VF itself says. */
static enum oneib_vf_use use_by_state(const struct oneib_inventory_vf *item)
{
    const struct oneib_vf_state *state = &item->state;
    if (!item->state_known)
        return ONEIB_VF_UNKNOWN;
    if (state->has_ethernet)
        return ONEIB_VF_ETHERNET;
    return oneib_vf_state_is_free(state) ? ONEIB_VF_FREE : ONEIB_VF_NOT_CLOSED;
}

/* Of a VF that no VM has. */
static enum oneib_vf_use use_of_unassigned(const struct oneib_inventory_vf *item, bool with_states)
{
    const enum oneib_vf_use use = with_states ? use_by_state(item) : ONEIB_VF_FREE;
    return use == ONEIB_VF_FREE && item->vf->off_bus ? ONEIB_VF_ABSENT : use;
}

static enum oneib_vf_use use_of(const struct oneib_inventory *inventory,
                                const struct oneib_config *config,
                                const struct oneib_inventory_vf *item, bool with_states)
{
    /* Whether its VM has it is what libvirt says, and what the service makes of it. */
    if (item->record)
        return inventory->domains_known ? ONEIB_VF_RESERVED : ONEIB_VF_UNKNOWN;
    if (item->domain)
        return ONEIB_VF_DOMAIN;
    if (item->vf->interface_up || oneib_is_host_vf(config, &item->vf->pci))
        return ONEIB_VF_HOST;
    if (!inventory->table_known || !inventory->domains_known ||
        item->hca->fault.code != ONEIB_ERROR_NONE)
        return ONEIB_VF_UNKNOWN;
    return use_of_unassigned(item, with_states);
}

/* Who is not root sees less than the service, which may open the adapter's fwctl device. */
static void read_port(struct oneib_inventory_vf *item)
{
    struct oneib_error unread;
    if (oneib_vf_port_read(item->hca, item->vf, &item->port, &unread) < 0)
        item->port = (struct oneib_virtual_port){.why = unread};
}

static void look_at_vf(const struct oneib_inventory *inventory, const struct oneib_config *config,
                       bool with_states, struct oneib_inventory_vf *item)
{
    item->record = oneib_vf_table_of_vf(&inventory->table, &item->vf->pci);
    item->domain = oneib_domains_of(&inventory->domains, &item->vf->pci);
    item->state_known = with_states && oneib_vf_state_read(item->hca, item->vf, &item->state,
                                                           &item->unreadable) == 0;
    item->use = use_of(inventory, config, item, with_states);
    if (with_states)
        read_port(item);
}

static size_t count_vfs(const struct oneib_hcas *hcas)
{
    size_t count = 0;
    for (size_t i = 0; i < hcas->count; i++)
        count += hcas->items[i].vf_count;
    return count;
}

static void look_at_vfs(const struct oneib_config *config, bool with_states,
                        struct oneib_inventory *inventory)
{
    inventory->vfs = oneib_alloc(count_vfs(&inventory->hcas) + 1, sizeof *inventory->vfs);
    for (size_t i = 0; i < inventory->hcas.count; i++) {
        const struct oneib_hca *hca = &inventory->hcas.items[i];
        for (size_t j = 0; j < hca->vf_count; j++) {
            struct oneib_inventory_vf *item = &inventory->vfs[inventory->vf_count++];
            *item = (struct oneib_inventory_vf){.hca = hca, .vf = &hca->vfs[j]};
            look_at_vf(inventory, config, with_states, item);
        }
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_table(struct oneib_inventory *inventory)
{
    struct oneib_error why = {0};
    inventory->table_known = oneib_reservations_read(&inventory->table, &why) == 0;
    if (inventory->table_known)
        return;
    oneib_findings_note(&inventory->findings, ONEIB_FINDING_VF_TABLE_UNREADABLE, "%s", why.text);
}

static void note_no_service(struct oneib_inventory *inventory)
{
    oneib_findings_note(&inventory->findings, ONEIB_FINDING_NODE_SERVICE_UNREACHABLE, "%s",
                        inventory->domains_error.text);
}

static void note_busy_service(struct oneib_inventory *inventory)
{
    oneib_findings_note(&inventory->findings, ONEIB_FINDING_NODE_SERVICE_BUSY,
                        "which virtual functions are in use is unknown: %s",
                        inventory->domains_error.text);
}

static void note_no_domains(struct oneib_inventory *inventory)
{
    oneib_findings_note(&inventory->findings, ONEIB_FINDING_LIBVIRT_UNREACHABLE, "%s",
                        inventory->domains_error.text);
}

/* A table that does not parse is read when it is mended: nobody knows what the service makes of it
 * until then. */
static void take_list(struct oneib_inventory *inventory, struct oneib_service_list *list)
{
    inventory->domains = list->domains;
    inventory->domains_known = list->domains_known;
    inventory->domains_error = list->why;
    inventory->unseen = list->follows.unseen;
    list->domains = (struct oneib_domains){0};
    if (!inventory->table_known)
        return;
    oneib_vf_table_clear(&inventory->table);
    inventory->table = list->table;
    list->table = (struct oneib_vf_table){0};
}

/* What is open stays so, and is closed when it is taken back. */
static void note_stale(struct oneib_inventory *inventory, const struct oneib_error *stale)
{
    if (stale->code != ONEIB_ERROR_NONE)
        oneib_findings_note(&inventory->findings, ONEIB_FINDING_GRANTS_STALE, "no VF is opened: %s",
                            stale->text);
}

static void ask_service(struct oneib_inventory *inventory)
{
    oneib_autoservicelist struct oneib_service_list list;
    if (oneib_client_list(&list, &inventory->domains_error) < 0) {
        inventory->service_known = inventory->domains_error.code == ONEIB_ERROR_REFUSED;
        inventory->domains_known = false;
        if (inventory->service_known)
            note_busy_service(inventory);
        else
            note_no_service(inventory);
        return;
    }
    take_list(inventory, &list);
    note_stale(inventory, &list.stale);
    if (!inventory->domains_known)
        note_no_domains(inventory);
}

/* A host without VFs, and without anything that was recorded for one, needs no service. */
static void read_service(struct oneib_inventory *inventory)
{
    const bool has_records = !inventory->table_known || inventory->table.count > 0;
    inventory->service_known = inventory->domains_known = true;
    if (has_records || count_vfs(&inventory->hcas) > 0)
        ask_service(inventory);
}

int oneib_inventory_read(const struct oneib_config *config, bool with_states,
                         struct oneib_inventory *inventory, struct oneib_error *err)
{
    *inventory = (struct oneib_inventory){0};
    const unsigned what = ONEIB_HCA_PKEYS | ONEIB_HCA_VFS | (with_states ? ONEIB_HCA_FIRMWARE : 0);
    if (oneib_hcas_read(what, &inventory->hcas, err) < 0) {
        oneib_inventory_clear(inventory);
        return -1;
    }
    read_table(inventory);
    read_service(inventory);
    look_at_vfs(config, with_states, inventory);
    oneib_inventory_judge(inventory, with_states);
    return 0;
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

/* ---- records --------------------------------------------------------------------------------- */

static bool is_same(const struct oneib_vf_record *a, const struct oneib_vf_record *b)
{
    return a->vm_id == b->vm_id && a->nic_id == b->nic_id && a->pkey == b->pkey &&
           a->stage == b->stage && a->guid == b->guid && a->since == b->since;
}

bool oneib_record_is_current(const struct oneib_pci *vf, const struct oneib_vf_record *record)
{
    oneib_autovfs struct oneib_vf_table table;
    struct oneib_error ignored;
    if (oneib_reservations_read(&table, &ignored) < 0)
        return false;
    const struct oneib_vf_record *now = oneib_vf_table_of_vf(&table, vf);
    return now && record ? is_same(now, record) : !now && !record;
}

bool oneib_inventory_has_vf(const struct oneib_inventory *inventory,
                            const struct oneib_vf_record *record)
{
    const struct oneib_vf *vf;
    return oneib_hcas_of_vf(&inventory->hcas, &record->vf, &vf) != NULL;
}

/* ---- what running VMs lack ------------------------------------------------------------------- */

/* Between two steps of an action nobody has the VF yet. A time that is far ahead is another
 * boot's. */
static bool is_settled(const struct oneib_vf_record *record, int64_t now)
{
    return now - record->since >= ONEIB_SETTLED_AFTER || record->since - now >= ONEIB_SETTLED_AFTER;
}

/* The service is at work on it. */
static bool is_under_way(const struct oneib_vf_record *record)
{
    return record->stage == ONEIB_VF_PREPARING || record->stage == ONEIB_VF_RELEASING;
}

static bool is_whole(const struct oneib_vf_record *record)
{
    return record->guid == ONEIB_VF_GUID_SET && record->stage != ONEIB_VF_ENDED;
}

static bool is_running(const struct oneib_domains *domains, uint32_t vm_id)
{
    for (size_t i = 0; i < domains->count; i++)
        if (domains->items[i].vm_id == (int64_t)vm_id && domains->items[i].running)
            return true;
    return false;
}

/* One that another domain has is claimed twice, and cannot be plugged. */
bool oneib_domains_lack_vf(const struct oneib_domains *domains,
                           const struct oneib_vf_record *record)
{
    return is_running(domains, record->vm_id) && !oneib_domains_of(domains, &record->vf);
}

bool oneib_record_is_unfinished(const struct oneib_vf_record *record,
                                const struct oneib_domains *domains, bool domains_known,
                                int64_t now)
{
    return !is_under_way(record) && !is_whole(record) && domains_known && is_settled(record, now) &&
           is_running(domains, record->vm_id);
}

bool oneib_record_is_not_plugged(const struct oneib_vf_record *record,
                                 const struct oneib_domains *domains, bool domains_known,
                                 int64_t now)
{
    return !is_under_way(record) && is_whole(record) && domains_known && is_settled(record, now) &&
           oneib_domains_lack_vf(domains, record);
}
