// SPDX-License-Identifier: Apache-2.0
#include "hca/reservations.h"
#include "node/driver_nics.h"
#include "node/inventory_internal.h"
#include "node/node_service.h"
#include "node/start_reattach.h"

/* As the VM of a VF that is nobody's: the last id that oned could give, and so the last VM that
 * would ever have it recorded. */
#define NOBODY INT32_MAX

struct repair {
    const struct oneib_config *config;
    struct oneib_inventory *inventory;
    int64_t now;
    size_t done;
};

/* Counts what was done, or notes why it did not. */
static void take_result(struct repair *repair, int result, const struct oneib_pci *vf,
                        const struct oneib_error *why)
{
    char address[ONEIB_PCI_TEXT_SIZE];
    if (result == 0) {
        repair->done++;
        return;
    }
    oneib_pci_format(vf, address);
    oneib_findings_note(&repair->inventory->findings, ONEIB_FINDING_REPAIR_FAILED,
                        "%s could not be repaired: %s", address, why->text);
}

/* Asked, and waited for. */
static int ask_to_release(const struct oneib_config *config, const struct oneib_request *request,
                          struct oneib_error *err)
{
    oneib_autoservice struct oneib_client *service = NULL;
    struct oneib_released released;
    return oneib_client_open(&service, err) < 0 ||
                   oneib_client_release(service, request, &released, err) < 0
               ? -1
               : oneib_service_wait(config, service, err);
}

static int ask_to_have(const struct oneib_config *config, const struct oneib_request *request,
                       struct oneib_error *err)
{
    oneib_autoservice struct oneib_client *service = NULL;
    return oneib_client_open(&service, err) < 0 ||
                   oneib_service_have(config, service, request, err) < 0
               ? -1
               : oneib_service_wait(config, service, err);
}

static void drop(struct repair *repair, const struct oneib_vf_record *record)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE);
    struct oneib_error why = {0};
    request.vm_id = record->vm_id;
    request.nic_id = record->nic_id;
    request.flags = ONEIB_RELEASE_NIC_GONE;
    const int result = ask_to_release(repair->config, &request, &why);
    take_result(repair, result, &record->vf, &why);
}

/* What pre or post wanted, once more, for the VF that the NIC has. */
static void finish(struct repair *repair, const struct oneib_vf_record *record)
{
    const struct oneib_request request = oneib_record_request(record);
    struct oneib_error why = {0};
    int result = ask_to_have(repair->config, &request, &why);
    if (result == 0 && oneib_domains_lack_vf(&repair->inventory->domains, record))
        result = oneib_reattach(record->vm_id, NULL, 0, &why);
    take_result(repair, result, &record->vf, &why);
}

static void plug(struct repair *repair, const struct oneib_vf_record *record)
{
    struct oneib_error why = {0};
    const int result = oneib_reattach(record->vm_id, NULL, 0, &why);
    take_result(repair, result, &record->vf, &why);
}

/* What is to be done for a record; NULL: nothing. */
typedef void (*fix_function)(struct repair *repair, const struct oneib_vf_record *record);

static fix_function fix_of(const struct repair *repair, const struct oneib_vf_record *record)
{
    if (!oneib_inventory_has_vf(repair->inventory, record))
        return drop;
    const struct oneib_domains *domains = &repair->inventory->domains;
    const bool known = repair->inventory->domains_known;
    if (oneib_record_is_unfinished(record, domains, known, repair->now))
        return finish;
    return oneib_record_is_not_plugged(record, domains, known, repair->now) ? plug : NULL;
}

static void repair_record(struct repair *repair, const struct oneib_vf_record *record)
{
    const fix_function fix = fix_of(repair, record);
    /* A VM may be coming back to its VF at this moment. */
    if (fix && oneib_record_is_current(&record->vf, record))
        fix(repair, record);
}

static void repair_records(struct repair *repair)
{
    const struct oneib_vf_table *table = &repair->inventory->table;
    for (size_t i = 0; i < table->count; i++)
        repair_record(repair, &table->items[i]);
}

static void close_left_over(struct repair *repair)
{
    for (size_t i = 0; i < repair->inventory->vf_count; i++) {
        const struct oneib_inventory_vf *item = &repair->inventory->vfs[i];
        struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE_VF);
        struct oneib_error why = {0};
        if (item->use != ONEIB_VF_NOT_CLOSED || !oneib_record_is_current(&item->vf->pci, NULL))
            continue;
        request.vm_id = NOBODY;
        request.vf = item->vf->pci;
        const int result = ask_to_release(repair->config, &request, &why);
        take_result(repair, result, &item->vf->pci, &why);
    }
}

void oneib_inventory_repair(const struct oneib_config *config, struct oneib_inventory *inventory,
                            size_t *done)
{
    struct repair repair = {
        .config = config,
        .inventory = inventory,
        .now = oneib_seconds_since_boot(),
    };
    repair_records(&repair);
    close_left_over(&repair);
    *done = repair.done;
}
