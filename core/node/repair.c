// SPDX-License-Identifier: Apache-2.0
#include "base/cleanup.h"
#include "base/clock.h"
#include "hca/reservations.h"
#include "node/helper.h"
#include "node/inventory_internal.h"
#include "node/reattach.h"
#include <stdlib.h>
#include <string.h>

/* As the VM of a VF that is nobody's: the last id that oned could give, and so the last VM that
 * would ever have it recorded. */
#define NOBODY INT32_MAX

struct repair {
    const struct oneib_config *config;
    struct oneib_inventory *inventory;
    bool everything;
    double began_ms;
    int64_t now;
    struct oneib_pci *in_use; /* devices of libvirt's domains */
    size_t in_use_count;
    size_t done;
};

static bool is_over(const struct repair *repair)
{
    return !repair->everything && oneib_now_ms() - repair->began_ms > ONEIB_HOUSEKEEPING_MS;
}

/* Counts what oneib-vf did, or notes why it did not. */
static int take_result(struct repair *repair, int result, const struct oneib_pci *vf,
                       const struct oneib_error *why, struct oneib_error *err)
{
    char address[ONEIB_PCI_TEXT_SIZE];
    if (result == 0) {
        repair->done++;
        return 0;
    }
    oneib_pci_format(vf, address);
    return oneib_findings_add(&repair->inventory->findings, ONEIB_WARNING, "repair-failed",
                              "'oneib hca --repair' tries it again", err,
                              "%s could not be put right: %s", address, why->text);
}

static int release(struct repair *repair, const struct oneib_vf_record *record,
                   struct oneib_error *err)
{
    struct oneib_error why = {0};
    const int result = oneib_helper_release(repair->config, record->vm_id, record->nic_id, &why);
    return take_result(repair, result, &record->vf, &why, err);
}

/* What pre or post wanted, once more, for the VF that the NIC has. */
static int finish(struct repair *repair, const struct oneib_vf_record *record,
                  struct oneib_error *err)
{
    struct oneib_assignment assignment = {
        .vm_id = record->vm_id,
        .nic_id = record->nic_id,
        .site = record->site,
        .pkey = record->pkey,
        .limited = record->limited,
        .port = record->port,
        .has_vf = true,
        .vf = record->vf,
        .numa_node = -1,
        .in_use = repair->in_use,
        .in_use_count = repair->in_use_count,
    };
    struct oneib_vf_record finished;
    struct oneib_error why = {0};
    memcpy(assignment.device, record->device, sizeof assignment.device);
    int result = oneib_helper_assign(repair->config, &assignment, &finished, &why);
    if (result == 0 && oneib_domains_lack_vf(&repair->inventory->domains, record))
        result = oneib_reattach(record->vm_id, NULL, 0, &why);
    return take_result(repair, result, &record->vf, &why, err);
}

static int plug(struct repair *repair, const struct oneib_vf_record *record,
                struct oneib_error *err)
{
    struct oneib_error why = {0};
    const int result = oneib_reattach(record->vm_id, NULL, 0, &why);
    return take_result(repair, result, &record->vf, &why, err);
}

static bool is_to_release(const struct repair *repair, const struct oneib_vf_record *record)
{
    const bool gone = !oneib_inventory_has_vf(repair->inventory, record);
    return oneib_inventory_is_stale(repair->inventory, record, repair->now) ||
           (repair->everything && gone && !oneib_vf_record_has_owner(record));
}

/* What is to be done for a record; NULL: nothing. */
typedef int (*remedy_function)(struct repair *repair, const struct oneib_vf_record *record,
                               struct oneib_error *err);

static remedy_function remedy_of(const struct repair *repair, const struct oneib_vf_record *record)
{
    if (is_to_release(repair, record))
        return release;
    if (!repair->everything)
        return NULL;
    if (oneib_inventory_is_unfinished(repair->inventory, record, repair->now))
        return finish;
    return oneib_inventory_is_not_plugged(repair->inventory, record, repair->now) ? plug : NULL;
}

static int repair_record(struct repair *repair, const struct oneib_vf_record *record,
                         struct oneib_error *err)
{
    const remedy_function remedy = remedy_of(repair, record);
    /* A VM may be coming back to its VF at this moment. */
    return remedy && oneib_record_is_current(&record->vf, record) ? remedy(repair, record, err) : 0;
}

static int repair_records(struct repair *repair, struct oneib_error *err)
{
    const struct oneib_vf_table *table = &repair->inventory->table;
    for (size_t i = 0; i < table->count && !is_over(repair); i++)
        if (repair_record(repair, &table->items[i], err) < 0)
            return -1;
    return 0;
}

static int close_left_over(struct repair *repair, struct oneib_error *err)
{
    for (size_t i = 0; i < repair->inventory->vf_count; i++) {
        const struct oneib_inventory_vf *item = &repair->inventory->vfs[i];
        struct oneib_error why = {0};
        if (item->use != ONEIB_VF_NOT_CLOSED || !oneib_record_is_current(&item->vf->pci, NULL))
            continue;
        const int result = oneib_helper_release_vf(repair->config, &item->vf->pci, NOBODY,
                                                   repair->in_use, repair->in_use_count, &why);
        if (take_result(repair, result, &item->vf->pci, &why, err) < 0)
            return -1;
    }
    return 0;
}

int oneib_inventory_repair(const struct oneib_config *config, struct oneib_inventory *inventory,
                           bool everything, size_t *done, struct oneib_error *err)
{
    struct repair repair = {
        .config = config,
        .inventory = inventory,
        .everything = everything,
        .began_ms = oneib_now_ms(),
        .now = oneib_seconds_since_boot(),
    };
    *done = 0;
    int status =
        oneib_domains_devices(&inventory->domains, &repair.in_use, &repair.in_use_count, err);
    if (status == 0)
        status = repair_records(&repair, err);
    if (status == 0 && everything)
        status = close_left_over(&repair, err);
    free(repair.in_use);
    *done = repair.done;
    return status;
}
