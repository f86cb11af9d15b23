// SPDX-License-Identifier: Apache-2.0
#include "domain/domains.h"
#include "hca/reservations.h"
#include "node/driver.h"
#include "node/reattach.h"

/* Without a record nobody knows which VF it is: then it is one that has no device at all. */
static bool lacks(const struct oneib_domain *domain, const struct oneib_vf_record *record)
{
    return record ? !oneib_domain_names(domain, &record->vf) : domain->device_count == 0;
}

static bool lacks_any(const struct oneib_domain *domain, const struct oneib_node_vm *vm,
                      const struct oneib_vf_table *table)
{
    for (size_t i = 0; i < vm->nic_count; i++)
        if (lacks(domain, oneib_vf_table_of_nic(table, vm->id, vm->nics[i].nic_id)))
            return true;
    return false;
}

static bool runs_without(const struct oneib_domains *domains, const struct oneib_node_vm *vm)
{
    struct oneib_vf_table table = {0};
    struct oneib_error unread;
    /* A table that cannot be read is an empty one here. */
    oneib_reservations_read(&table, &unread);
    bool without = false;
    for (size_t i = 0; i < domains->count; i++) {
        const struct oneib_domain *domain = &domains->items[i];
        without = without || (domain->running && domain->vm_id == (int64_t)vm->id &&
                              lacks_any(domain, vm, &table));
    }
    oneib_vf_table_clear(&table);
    return without;
}

/* A VM that has never run is at its deployment: its domain was started with its VFs. */
static bool may_run_without(const struct oneib_config *config, const struct oneib_node_vm *vm)
{
    struct oneib_domains domains;
    struct oneib_error silent;
    if (oneib_domains_ask(config, &domains, &silent) < 0)
        return vm->deployed;
    const bool without = runs_without(&domains, vm);
    oneib_domains_clear(&domains);
    return without;
}

int oneib_driver_arrive(const struct oneib_config *config, struct oneib_node_vm *vm,
                        const char *document, size_t length, struct oneib_error *left,
                        struct oneib_error *err)
{
    struct oneib_error failure = {0}, second = {0};
    *left = (struct oneib_error){0};
    if (vm->nic_count == 0)
        return 0;
    /* A NIC that cannot be completed keeps no other from getting its VF. */
    const bool completed = oneib_driver_post(config, vm, &failure) == 0;
    const bool reattached = oneib_reattach(vm->id, document, length, &second) == 0;
    if (completed && reattached)
        return 0;
    if (completed)
        failure = second;
    *(may_run_without(config, vm) ? left : err) = failure;
    return left->code == ONEIB_ERROR_NONE ? -1 : 0;
}
