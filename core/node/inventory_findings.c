// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"
#include "hca/firmware.h"
#include "hca/reservations.h"
#include "node/inventory_internal.h"
#include <inttypes.h>

#define NAME_MAX_SHOWN 64

/* The entry of PortInfo.PortState (IBA) of a port that the SM has brought up. */
#define PORT_ACTIVE 4

struct judge {
    struct oneib_inventory *inventory;
    struct oneib_findings *findings;
    int64_t now;
    bool with_states;
};

/* ---- adapters and ports ---------------------------------------------------------------------- */

static bool has_open_vf(const struct oneib_inventory *inventory, const struct oneib_hca *hca,
                        const struct oneib_port *port)
{
    for (size_t i = 0; i < inventory->vf_count; i++) {
        const struct oneib_inventory_vf *item = &inventory->vfs[i];
        if (item->hca == hca && item->record && item->record->port == port->number &&
            item->record->stage == ONEIB_VF_OPEN)
            return true;
    }
    return false;
}

/* A port that is not up has the table that it was made with. */
static bool is_in_service(const struct oneib_hca *hca, const struct oneib_port *port)
{
    return hca->vf_count > 0 && port->link_layer == ONEIB_LINK_INFINIBAND &&
           port->state == PORT_ACTIVE;
}

static void judge_port(const struct judge *judge, const struct oneib_hca *hca,
                       const struct oneib_port *port)
{
    struct oneib_error unsafe = {0};
    if (!is_in_service(hca, port) || oneib_port_is_safe(hca, port, &unsafe) == 0)
        return;
    oneib_findings_note_with(judge->findings, ONEIB_FINDING_PORT_NOT_SAFE,
                             has_open_vf(judge->inventory, hca, port) ? ONEIB_VIOLATION
                                                                      : ONEIB_WARNING,
                             NULL, "%s", unsafe.text);
}

static void note_unreadable_hca(const struct judge *judge, const struct oneib_error *why)
{
    oneib_findings_note(judge->findings, ONEIB_FINDING_HCA_UNREADABLE, "%s", why->text);
}

static void judge_hca(const struct judge *judge, const struct oneib_hca *hca)
{
    if (hca->fault.code != ONEIB_ERROR_NONE) {
        note_unreadable_hca(judge, &hca->fault);
        return;
    }
    for (size_t i = 0; i < hca->port_count; i++)
        judge_port(judge, hca, &hca->ports[i]);
}

static void judge_hcas(const struct judge *judge)
{
    const struct oneib_hcas *hcas = &judge->inventory->hcas;
    if (hcas->refused.code != ONEIB_ERROR_NONE)
        note_unreadable_hca(judge, &hcas->refused);
    for (size_t i = 0; i < hcas->count; i++)
        judge_hca(judge, &hcas->items[i]);
}

/* ---- records --------------------------------------------------------------------------------- */

static void judge_record(const struct judge *judge, const struct oneib_vf_record *record)
{
    const struct oneib_domains *domains = &judge->inventory->domains;
    const bool known = judge->inventory->domains_known;
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&record->vf, vf);
    if (!oneib_inventory_has_vf(judge->inventory, record)) {
        oneib_findings_note(judge->findings, ONEIB_FINDING_VF_GONE,
                            "%s is recorded for VM %" PRIu32 " NIC %u, but %s has no such "
                            "virtual function any more",
                            vf, record->vm_id, record->nic_id, record->device);
        return;
    }
    if (oneib_record_is_unfinished(record, domains, known, judge->now)) {
        oneib_findings_note(judge->findings, ONEIB_FINDING_VF_UNFINISHED,
                            "%s: VM %" PRIu32 " NIC %u runs without InfiniBand: its virtual "
                            "function %s",
                            vf, record->vm_id, record->nic_id,
                            record->guid == ONEIB_VF_GUID_SET ? "was closed when its domain ended"
                                                              : "has no GUID");
        return;
    }
    if (oneib_record_is_not_plugged(record, domains, known, judge->now))
        oneib_findings_note(judge->findings, ONEIB_FINDING_VF_NOT_PLUGGED,
                            "%s: VM %" PRIu32 " NIC %u runs without InfiniBand: its virtual "
                            "function is not plugged into its domain",
                            vf, record->vm_id, record->nic_id);
}

static void judge_records(const struct judge *judge)
{
    const struct oneib_vf_table *table = &judge->inventory->table;
    for (size_t i = 0; i < table->count; i++)
        judge_record(judge, &table->items[i]);
}

/* ---- VFs ------------------------------------------------------------------------------------- */

/* Appends who says that the VF is theirs: domain "a" and domain "b". Returns how many they are. */
static size_t append_claims(const struct oneib_domains *domains,
                            const struct oneib_inventory_vf *item, struct oneib_text *text)
{
    size_t count = 0;
    for (size_t i = 0; i < domains->count; i++) {
        if (!oneib_domain_names(&domains->items[i], &item->vf->pci))
            continue;
        oneib_text_append(text, count++ == 0 ? "domain \"" : " and domain \"");
        oneib_text_append_escaped(text, domains->items[i].name, NAME_MAX_SHOWN);
        oneib_text_append(text, "\"");
    }
    if (!item->record || item->domain->vm_id == (int64_t)item->record->vm_id)
        return count;
    oneib_text_printf(text, " and the record of VM %" PRIu32, item->record->vm_id);
    return count + 1;
}

static void judge_claims(const struct judge *judge, const struct oneib_inventory_vf *item,
                         const char *vf)
{
    oneib_autotext struct oneib_text claims = {0};
    if (!item->domain || append_claims(&judge->inventory->domains, item, &claims) < 2)
        return;
    oneib_findings_note(judge->findings, ONEIB_FINDING_VF_CLAIMED_TWICE,
                        "%s of %s is claimed by %s", vf, item->hca->name, claims.data);
}

/* The raw entry that an open VF's entry 0 points to; 0: not known. */
static uint16_t key_of(const struct oneib_inventory_vf *item)
{
    const struct oneib_port *port = oneib_hca_find_port(item->hca, item->state.open_port);
    const int32_t index = item->state.index;
    return port && index >= 0 && index < port->pkey_count ? port->pkeys[index] : 0;
}

static void note_left_over(const struct judge *judge, const struct oneib_inventory_vf *item,
                           const char *vf)
{
    const bool is_open = !item->state.closed && !item->state.fresh;
    if (!oneib_record_is_current(&item->vf->pci, NULL))
        return;
    oneib_findings_note_with(judge->findings, ONEIB_FINDING_VF_NOT_CLOSED,
                             is_open ? ONEIB_VIOLATION : ONEIB_WARNING, NULL,
                             "%s of %s belongs to no VM, but %s", vf, item->hca->name,
                             is_open ? "open" : "still has a GUID, or the subnet manager has one");
}

/* A VM's VF whose record was lost is watched by nobody. One that is closed was left in a domain
 * whose guest did not let go of it when its NIC was taken back. */
static void note_unrecorded(const struct judge *judge, const struct oneib_inventory_vf *item,
                            const char *vf)
{
    if (item->domain->vm_id < 0 || !item->state_known || item->state.fresh ||
        !oneib_record_is_current(&item->vf->pci, NULL))
        return;
    oneib_findings_note(
        judge->findings, ONEIB_FINDING_VF_UNRECORDED,
        "%s of %s is in the domain of VM %" PRId64 ", and there is no record of it: %s", vf,
        item->hca->name, item->domain->vm_id,
        item->state.closed ? "it is closed"
                           : "it is open, and is not closed when its P_Key changes");
}

/* What an open VF is open to, if not to its key: an entry that is empty is the next tenant's.
 * mlx5's keys are not seen here. NULL: to its key and to nothing else. */
static const char *wrongly_open(const struct oneib_inventory_vf *item)
{
    if (item->hca->driver != ONEIB_HCA_MLX4)
        return NULL;
    const uint16_t key = key_of(item);
    if (!key)
        return "open elsewhere than to its key";
    return oneib_pkey_base(key) == item->record->pkey ? NULL : "open to another key";
}

static void judge_against_record(const struct judge *judge, const struct oneib_inventory_vf *item,
                                 const char *vf)
{
    const struct oneib_vf_record *record = item->record;
    if (!item->state_known)
        return;
    const bool is_open = !item->state.closed && !item->state.fresh;
    const bool should_be_open = record->stage == ONEIB_VF_OPEN;
    const char *wrong = is_open ? wrongly_open(item) : NULL;
    if (is_open == should_be_open && !wrong)
        return;
    /* The service may have been at work on it. */
    if (!oneib_record_is_current(&record->vf, record))
        return;
    oneib_findings_note_with(judge->findings, ONEIB_FINDING_VF_NOT_AS_RECORDED,
                             is_open ? ONEIB_VIOLATION : ONEIB_WARNING, NULL,
                             "%s of %s: VM %" PRIu32
                             " NIC %u is recorded as %s with P_Key 0x%04x, but the virtual "
                             "function is %s",
                             vf, item->hca->name, record->vm_id, record->nic_id,
                             oneib_vf_stage_name(record->stage), record->pkey,
                             !is_open ? "closed"
                             : wrong  ? wrong
                                      : "open");
}

static void judge_vf(const struct judge *judge, const struct oneib_inventory_vf *item)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&item->vf->pci, vf);
    judge_claims(judge, item, vf);
    if (item->record) {
        judge_against_record(judge, item, vf);
        return;
    }
    if (item->domain) {
        note_unrecorded(judge, item, vf);
        return;
    }
    if (item->use == ONEIB_VF_NOT_CLOSED)
        note_left_over(judge, item, vf);
}

/* One for an adapter: what cannot be read of one VF can often be read of none, for one reason. */
static void judge_states_of(const struct judge *judge, const struct oneib_hca *hca)
{
    const struct oneib_inventory_vf *first = NULL;
    size_t unknown = 0;
    for (size_t i = 0; i < judge->inventory->vf_count; i++) {
        const struct oneib_inventory_vf *item = &judge->inventory->vfs[i];
        if (item->hca != hca || item->state_known)
            continue;
        first = first ? first : item;
        unknown++;
    }
    if (!judge->with_states || unknown == 0 || hca->fault.code != ONEIB_ERROR_NONE)
        return;
    oneib_findings_note(judge->findings, ONEIB_FINDING_VF_UNREADABLE,
                        "%s: the state of %zu of its %zu virtual functions cannot be read: %s",
                        hca->name, unknown, hca->vf_count, first->unreadable.text);
}

static void judge_vfs(const struct judge *judge)
{
    const struct oneib_inventory *inventory = judge->inventory;
    for (size_t i = 0; i < inventory->vf_count; i++)
        judge_vf(judge, &inventory->vfs[i]);
    for (size_t i = 0; i < inventory->hcas.count; i++)
        judge_states_of(judge, &inventory->hcas.items[i]);
}

/* Where the subnet manager gives no keys it is not asked what they are. */
static void judge_virtual_ports(const struct judge *judge)
{
    const size_t unseen = judge->inventory->unseen, before = judge->findings->count;
    if (!judge->with_states)
        return;
    oneib_firmware_note_sm(&judge->inventory->hcas, judge->findings);
    if (unseen == 0 || judge->findings->count > before)
        return;
    /* Nothing is wrong: but what keeps these VMs apart is not proved here. */
    oneib_findings_note(judge->findings, ONEIB_FINDING_VIRTUAL_PORTS_UNREAD,
                        "what %zu open virtual function%s of mlx5 hold%s cannot be read on "
                        "this host: %s P_Keys are the subnet manager's word alone",
                        unseen, unseen == 1 ? "" : "s", unseen == 1 ? "s" : "",
                        unseen == 1 ? "its" : "their");
}

void oneib_inventory_judge(struct oneib_inventory *inventory, bool with_states)
{
    const struct judge judge = {inventory, &inventory->findings, oneib_seconds_since_boot(),
                                with_states};
    judge_hcas(&judge);
    judge_records(&judge);
    judge_vfs(&judge);
    judge_virtual_ports(&judge);
    oneib_findings_sort(&inventory->findings);
}
