// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "hca/reservations.h"
#include "node/driver.h"
#include "node/start_reattach.h"
#include "service/service_client.h"

/* Within which the service hears of a domain that has started. */
#define NEWS_MS 1000

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

static bool runs_without(const struct oneib_domain *domain, const struct oneib_node_vm *vm)
{
    oneib_autovfs struct oneib_vf_table table = {0};
    struct oneib_error unread;
    /* A table that cannot be read is an empty one here. */
    oneib_reservations_read(&table, &unread);
    return lacks_any(domain, vm, &table);
}

static const struct oneib_domain *find_running(const struct oneib_domains *domains,
                                               const struct oneib_node_vm *vm)
{
    for (size_t i = 0; i < domains->count; i++)
        if (domains->items[i].running && domains->items[i].vm_id == (int64_t)vm->id)
            return &domains->items[i];
    return NULL;
}

/* Whether the service, when it is asked now, lets the VM live; *seen: it knows the running domain.
 */
static bool look_for_life(const struct oneib_node_vm *vm, bool completed, bool *seen)
{
    oneib_autoservicelist struct oneib_service_list list;
    struct oneib_error silent;
    *seen = false;
    if (oneib_client_list(&list, &silent) < 0)
        return vm->deployed;
    const struct oneib_domain *domain = find_running(&list.domains, vm);
    *seen = domain != NULL;
    return list.domains_known ? domain && (completed || vm->deployed || runs_without(domain, vm))
                              : vm->deployed;
}

/* A VM that has never run is at its deployment: its domain was started with its VFs, and it has
 * nothing to lose yet. libvirt tells the service of a domain a moment after it has started. */
static bool is_to_live(const struct oneib_node_vm *vm, bool completed)
{
    const double end = oneib_now_ms() + NEWS_MS;
    bool seen;
    for (;;) {
        const bool lives = look_for_life(vm, completed, &seen);
        if (lives || seen || oneib_now_ms() > end)
            return lives;
        oneib_sleep_ms(50);
    }
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
    *(is_to_live(vm, completed) ? left : err) = failure;
    return left->code == ONEIB_ERROR_NONE ? -1 : 0;
}
