// SPDX-License-Identifier: Apache-2.0
#include "node/driver.h"
#include "base/cleanup.h"
#include "hca/reservations.h"
#include "node/driver_nics.h"
#include "node/node_service.h"
#include <inttypes.h>

/* Keeps the first of several failures: the steps after it are done all the same. What only takes
 * longer hides nothing else. */
static void note(int outcome, const struct oneib_error *failure, struct oneib_error *err)
{
    const bool is_worse = err->code == ONEIB_ERROR_TIMEOUT && failure->code != ONEIB_ERROR_TIMEOUT;
    if (outcome < 0 && (err->code == ONEIB_ERROR_NONE || is_worse))
        *err = *failure;
}

static int tell(const struct oneib_error *first, struct oneib_error *err)
{
    if (first->code == ONEIB_ERROR_NONE)
        return 0;
    *err = *first;
    return -1;
}

/* ---- pre ------------------------------------------------------------------------------------- */

static size_t count_meant(const struct oneib_node_vm *vm)
{
    size_t count = 0;
    for (size_t i = 0; i < vm->nic_count; i++)
        count += oneib_nic_is_meant(vm, &vm->nics[i]);
    return count;
}

static int check_nics(const struct oneib_node_vm *vm, struct oneib_error *err)
{
    for (size_t i = 0; i < vm->nic_count; i++)
        if (oneib_nic_is_meant(vm, &vm->nics[i]) && oneib_nic_check(vm, &vm->nics[i], err) < 0)
            return -1;
    return 0;
}

/* A VF that the NIC had before is not this call's to take back. A NIC that is being attached had
 * none: what is recorded for its id is of an attach that failed after its pre, which OpenNebula
 * does not clean up, and the service drops it. */
static int ask_for_nic(const struct oneib_config *config, struct oneib_client *service,
                       const struct oneib_node_vm *vm, struct oneib_node_nic *nic,
                       const struct oneib_vf_table *table, struct oneib_error *err)
{
    struct oneib_request request = oneib_nic_request(vm, nic);
    if (nic->attach)
        request.flags |= ONEIB_HAVE_ATTACH;
    else if (vm->deployed)
        request.flags |= ONEIB_HAVE_DEFER_GUID;
    nic->to_undo = nic->attach || !oneib_vf_table_of_nic(table, vm->id, nic->nic_id);
    return oneib_service_have(config, service, &request, err);
}

/* PCI NICs first: the scheduler has chosen their VFs, of which the VM's other NICs could get one
 * otherwise. */
static int ask_for_nics(const struct oneib_config *config, struct oneib_client *service,
                        struct oneib_node_vm *vm, const struct oneib_vf_table *table,
                        struct oneib_error *err)
{
    for (int chosen = 1; chosen >= 0; chosen--)
        for (size_t i = 0; i < vm->nic_count; i++)
            if (vm->nics[i].is_pci == (chosen == 1) && oneib_nic_is_meant(vm, &vm->nics[i]) &&
                ask_for_nic(config, service, vm, &vm->nics[i], table, err) < 0)
                return -1;
    return 0;
}

/* All of them get ready at the same time. */
static int assign_nics(const struct oneib_config *config, struct oneib_node_vm *vm,
                       const struct oneib_vf_table *table, struct oneib_error *err)
{
    oneib_autoservice struct oneib_client *service = NULL;
    if (oneib_client_open(&service, err) < 0 || ask_for_nics(config, service, vm, table, err) < 0)
        return -1;
    return oneib_service_wait(config, service, err);
}

int oneib_driver_pre(const struct oneib_config *config, struct oneib_node_vm *vm,
                     struct oneib_error *err)
{
    oneib_autovfs struct oneib_vf_table table = {0};
    if (count_meant(vm) == 0)
        return 0;
    if (check_nics(vm, err) < 0 || oneib_reservations_read(&table, err) < 0)
        return -1;
    if (assign_nics(config, vm, &table, err) == 0)
        return 0;
    oneib_driver_undo(config, vm);
    return -1;
}

/* ---- taking back ----------------------------------------------------------------------------- */

/* What a VM has here, or one of its NICs, after an attach or before a detach: then the VM has lost
 * it, whatever its domain still names. */
static int release(struct oneib_client *service, const struct oneib_node_vm *vm, int nic_id,
                   struct oneib_error *err)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE);
    struct oneib_released released;
    request.vm_id = vm->id;
    request.nic_id = nic_id;
    request.flags = vm->attaching ? ONEIB_RELEASE_NIC_GONE : 0;
    return oneib_client_release(service, &request, &released, err);
}

static bool has_to_undo(const struct oneib_node_vm *vm)
{
    for (size_t i = 0; i < vm->nic_count; i++)
        if (vm->nics[i].to_undo)
            return true;
    return false;
}

void oneib_driver_undo(const struct oneib_config *config, const struct oneib_node_vm *vm)
{
    oneib_autoservice struct oneib_client *service = NULL;
    struct oneib_error unheard = {0};
    if (!has_to_undo(vm) || oneib_client_open(&service, &unheard) < 0)
        return;
    for (size_t i = 0; i < vm->nic_count; i++)
        if (vm->nics[i].to_undo)
            release(service, vm, vm->nics[i].nic_id, &unheard);
    /* The VM may come to another host next, where its GUIDs are to be set. */
    oneib_service_wait(config, service, &unheard);
}

/* ---- post ------------------------------------------------------------------------------------ */

/* Asks for what the VF still lacks, its GUID perhaps. */
static int settle(const struct oneib_config *config, struct oneib_client **service,
                  const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                  const struct oneib_vf_record *record, struct oneib_error *err)
{
    const struct oneib_request request = oneib_nic_request(vm, nic);
    if (oneib_nic_is_open(nic, record))
        return 0;
    return !*service && oneib_client_open(service, err) < 0
               ? -1
               : oneib_service_have(config, *service, &request, err);
}

static int complete(const struct oneib_config *config, struct oneib_client **service,
                    const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                    const struct oneib_vf_table *table, struct oneib_error *err)
{
    const struct oneib_vf_record *record = oneib_vf_table_of_nic(table, vm->id, nic->nic_id);
    if (record)
        return settle(config, service, vm, nic, record, err);
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "VM %" PRIu32 " NIC %u has no virtual function on this node: 'pre' did not "
                      "run here, or the VM has lost it since ('oneib hca')",
                      vm->id, nic->nic_id);
}

static int complete_nics(const struct oneib_config *config, struct oneib_node_vm *vm,
                         const struct oneib_vf_table *table, struct oneib_error *err)
{
    oneib_autoservice struct oneib_client *service = NULL;
    struct oneib_error first = {0}, failure = {0};
    for (size_t i = 0; i < vm->nic_count; i++) {
        struct oneib_node_nic *nic = &vm->nics[i];
        if (!oneib_nic_is_meant(vm, nic))
            continue;
        nic->to_undo = vm->attaching;
        failure = (struct oneib_error){0};
        note(complete(config, &service, vm, nic, table, &failure), &failure, &first);
    }
    failure = (struct oneib_error){0};
    if (service)
        note(oneib_service_wait(config, service, &failure), &failure, &first);
    return tell(&first, err);
}

int oneib_driver_post(const struct oneib_config *config, struct oneib_node_vm *vm,
                      struct oneib_error *err)
{
    oneib_autovfs struct oneib_vf_table table = {0};
    if (count_meant(vm) == 0)
        return 0;
    if (oneib_reservations_read(&table, err) < 0)
        return -1;
    if (complete_nics(config, vm, &table, err) == 0)
        return 0;
    oneib_driver_undo(config, vm);
    return -1;
}

/* ---- clean ----------------------------------------------------------------------------------- */

static bool has_record(const struct oneib_vf_table *table, uint32_t vm_id)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].vm_id == vm_id)
            return true;
    return false;
}

/* The record of a PCI NIC is gone, at a reboot or by an earlier clean: then the VF that the
 * document names is closed, unless it is somebody's by now. */
static const struct oneib_pci *unrecorded_vf(const struct oneib_node_vm *vm,
                                             const struct oneib_node_nic *nic, const char *host,
                                             const struct oneib_vf_table *table)
{
    const struct oneib_pci *vf = nic->is_pci ? oneib_nic_vf_on(vm, nic, host) : NULL;
    const bool is_recorded = vf && (oneib_vf_table_of_nic(table, vm->id, nic->nic_id) ||
                                    oneib_vf_table_of_vf(table, vf));
    return is_recorded ? NULL : vf;
}

static int release_vf(struct oneib_client *service, uint32_t vm_id, const struct oneib_pci *vf,
                      struct oneib_error *err)
{
    struct oneib_request request = oneib_request_new(ONEIB_REQUEST_RELEASE_VF);
    struct oneib_released released;
    request.vm_id = vm_id;
    request.vf = *vf;
    return oneib_client_release(service, &request, &released, err);
}

/* What of a NIC is to be released: its record, at an attach or detach; a VF without one. */
static int clean_nic(struct oneib_client *service, const struct oneib_node_vm *vm,
                     const struct oneib_node_nic *nic, const char *host,
                     const struct oneib_vf_table *table, struct oneib_error *err)
{
    const struct oneib_pci *vf = unrecorded_vf(vm, nic, host, table);
    if (vf)
        return release_vf(service, vm->id, vf, err);
    if (vm->attaching && oneib_vf_table_of_nic(table, vm->id, nic->nic_id))
        return release(service, vm, nic->nic_id, err);
    return 0;
}

static bool has_to_clean(const struct oneib_node_vm *vm, const char *host,
                         const struct oneib_vf_table *table)
{
    if (!vm->attaching && has_record(table, vm->id))
        return true;
    for (size_t i = 0; i < vm->nic_count; i++)
        if (oneib_nic_is_meant(vm, &vm->nics[i]) &&
            (unrecorded_vf(vm, &vm->nics[i], host, table) ||
             oneib_vf_table_of_nic(table, vm->id, vm->nics[i].nic_id)))
            return true;
    return false;
}

static void clean_all(struct oneib_client *service, const struct oneib_node_vm *vm,
                      const char *host, const struct oneib_vf_table *table,
                      struct oneib_error *first)
{
    struct oneib_error failure = {0};
    if (!vm->attaching && has_record(table, vm->id))
        note(release(service, vm, -1, &failure), &failure, first);
    for (size_t i = 0; i < vm->nic_count; i++) {
        failure = (struct oneib_error){0};
        if (oneib_nic_is_meant(vm, &vm->nics[i]))
            note(clean_nic(service, vm, &vm->nics[i], host, table, &failure), &failure, first);
    }
}

int oneib_driver_clean(const struct oneib_config *config, const struct oneib_node_vm *vm,
                       const char *host, struct oneib_error *err)
{
    oneib_autovfs struct oneib_vf_table table = {0};
    oneib_autoservice struct oneib_client *service = NULL;
    struct oneib_error first = {0}, failure = {0};
    if (oneib_reservations_read(&table, err) < 0)
        return -1;
    if (!has_to_clean(vm, host, &table))
        return 0;
    if (oneib_client_open(&service, err) < 0)
        return -1;
    clean_all(service, vm, host, &table, &first);
    /* OpenNebula gives away what it believes free as soon as this ends. What was not refused is
     * closed, and the service goes on with it. */
    if (oneib_service_wait(config, service, &failure) < 0) {
        failure.code = ONEIB_ERROR_TIMEOUT;
        note(-1, &failure, &first);
    }
    return tell(&first, err);
}
