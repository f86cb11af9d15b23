// SPDX-License-Identifier: Apache-2.0
#include "node/driver.h"
#include "base/cleanup.h"
#include "domain/domains.h"
#include "hca/hca.h"
#include "hca/reservations.h"
#include "hca/vf_control.h"
#include "node/driver_nics.h"
#include "node/helper.h"
#include "node/inventory_internal.h"
#include <inttypes.h>

#define oneib_autotable __attribute__((cleanup(oneib_vf_table_clear)))

/* Keeps the first of several failures: the steps after it are done all the same. What only takes
 * longer hides nothing else. */
static void note(int outcome, const struct oneib_error *failure, struct oneib_error *err)
{
    const bool is_worse = err->code == ONEIB_ERROR_TIMEOUT && failure->code != ONEIB_ERROR_TIMEOUT;
    if (outcome < 0 && (err->code == ONEIB_ERROR_NONE || is_worse))
        *err = *failure;
}

/* oneib-vf names VM and NIC itself where it is oneib-vf that refuses. */
static int name_nic(struct oneib_error *err, uint32_t vm_id, uint8_t nic_id)
{
    return err->code == ONEIB_ERROR_REFUSED
               ? -1
               : oneib_wrap(err, "VM %" PRIu32 " NIC %u", vm_id, nic_id);
}

static int assign(const struct oneib_config *config, const struct oneib_assignment *assignment,
                  struct oneib_error *err)
{
    struct oneib_vf_record record;
    if (oneib_helper_assign(config, assignment, &record, err) < 0)
        return name_nic(err, assignment->vm_id, assignment->nic_id);
    return 0;
}

/* What libvirt has; devices is the caller's to free. */
struct in_use {
    struct oneib_domains domains;
    struct oneib_pci *devices;
    size_t count;
};

static int ask_in_use(const struct oneib_config *config, struct in_use *in_use,
                      struct oneib_error *err)
{
    if (oneib_domains_ask(config, &in_use->domains, err) < 0)
        return oneib_wrap(err, "nobody knows which virtual functions are in use");
    return oneib_domains_devices(&in_use->domains, &in_use->devices, &in_use->count, err);
}

static void clear_in_use(struct in_use *in_use)
{
    oneib_domains_clear(&in_use->domains);
    free(in_use->devices);
}

/*
 * Nobody calls clean when a guest has switched itself off and its VM is terminated then: oned gives
 * its VF to somebody else, who must not have to wait for the next probe. What is being released
 * already is left to the watch: the SM would be waited for.
 */
static void release_stale(const struct oneib_config *config, const struct oneib_node_vm *vm,
                          const struct oneib_vf_table *table, const struct in_use *in_use)
{
    const int64_t now = oneib_seconds_since_boot();
    for (size_t i = 0; i < table->count; i++) {
        const struct oneib_vf_record *record = &table->items[i];
        struct oneib_error unheard = {0};
        if (record->vm_id != vm->id && record->stage != ONEIB_VF_RELEASING &&
            oneib_table_has_stale(table, record, &in_use->domains, true, now) &&
            oneib_record_is_current(&record->vf, record))
            oneib_helper_release(config, record->vm_id, record->nic_id, &unheard);
    }
}

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

/* A NIC that is being attached has nothing yet: what is recorded for its id, and no domain has, is
 * of an attach that failed after its pre, which OpenNebula does not clean up, and perhaps at
 * another adapter. */
static bool is_left_over(const struct oneib_node_nic *nic, const struct oneib_vf_record *record,
                         const struct in_use *in_use)
{
    return nic->attach && record && !oneib_domains_of(&in_use->domains, &record->vf);
}

static int assign_nic(const struct oneib_config *config, const struct oneib_node_vm *vm,
                      struct oneib_node_nic *nic, const struct oneib_vf_table *table,
                      const struct in_use *in_use, struct oneib_error *err)
{
    struct oneib_assignment assignment = oneib_nic_opening(vm, nic);
    assignment.defer_guid = vm->deployed && !nic->attach;
    assignment.in_use = in_use->devices;
    assignment.in_use_count = in_use->count;
    const struct oneib_vf_record *record = oneib_vf_table_of_nic(table, vm->id, nic->nic_id);
    const bool is_new = !record || is_left_over(nic, record, in_use);
    struct oneib_error unheard = {0};
    if (record && is_new)
        oneib_helper_release(config, vm->id, nic->nic_id, &unheard);
    const int outcome = assign(config, &assignment, err);
    /* A VF that the NIC had before is not this call's to take back. One that was asked for in
     * vain is oneib-vf's, unless that is root's, could not be stopped and goes on. */
    nic->to_undo = is_new && (outcome == 0 || err->code == ONEIB_ERROR_TIMEOUT);
    return outcome;
}

/* PCI NICs first: the scheduler has chosen their VFs, of which the VM's other NICs could get one
 * otherwise. */
static int assign_nics(const struct oneib_config *config, struct oneib_node_vm *vm,
                       const struct oneib_vf_table *table, const struct in_use *in_use,
                       struct oneib_error *err)
{
    for (int chosen = 1; chosen >= 0; chosen--)
        for (size_t i = 0; i < vm->nic_count; i++)
            if (vm->nics[i].is_pci == (chosen == 1) && oneib_nic_is_meant(vm, &vm->nics[i]) &&
                assign_nic(config, vm, &vm->nics[i], table, in_use, err) < 0)
                return -1;
    return 0;
}

static int close_nic(const struct oneib_config *config, const struct oneib_vf_record *record,
                     struct oneib_error *err)
{
    const struct oneib_assignment closing = oneib_record_closing(record);
    return assign(config, &closing, err);
}

/* OpenNebula knows no such NIC: its attach succeeded, and nobody was left to hear that. Once its
 * network is gone its key may be another one's, so it is closed for good. */
static void close_unknown(const struct oneib_config *config, const struct oneib_node_vm *vm,
                          const struct oneib_vf_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct oneib_vf_record *record = &table->items[i];
        struct oneib_error unheard = {0};
        if (record->vm_id == vm->id && record->stage != ONEIB_VF_RELEASING && record->pkey != 0 &&
            !oneib_nic_find(vm, record->nic_id))
            close_nic(config, record, &unheard);
    }
}

static int assign_all(const struct oneib_config *config, struct oneib_node_vm *vm,
                      struct in_use *in_use, struct oneib_error *err)
{
    oneib_autotable struct oneib_vf_table table = {0};
    if (check_nics(vm, err) < 0 || oneib_reservations_read(&table, err) < 0 ||
        ask_in_use(config, in_use, err) < 0)
        return -1;
    release_stale(config, vm, &table, in_use);
    close_unknown(config, vm, &table);
    return assign_nics(config, vm, &table, in_use, err);
}

int oneib_driver_pre(const struct oneib_config *config, struct oneib_node_vm *vm,
                     struct oneib_error *err)
{
    struct in_use in_use = {0};
    if (count_meant(vm) == 0)
        return 0;
    const int outcome = assign_all(config, vm, &in_use, err);
    clear_in_use(&in_use);
    if (outcome < 0)
        oneib_driver_undo(config, vm);
    return outcome;
}

void oneib_driver_undo(const struct oneib_config *config, const struct oneib_node_vm *vm)
{
    struct oneib_error unheard = {0};
    for (size_t i = 0; i < vm->nic_count; i++)
        if (vm->nics[i].to_undo)
            oneib_helper_release(config, vm->id, vm->nics[i].nic_id, &unheard);
}

/* Makes the NIC's VF what the document says about its key. */
static int settle(const struct oneib_config *config, const struct oneib_node_vm *vm,
                  const struct oneib_node_nic *nic, const struct oneib_vf_record *record,
                  struct oneib_error *err)
{
    if (oneib_nic_is_open(nic, record))
        return 0;
    if (nic->key_state == ONEIB_KEY_VALID) {
        const struct oneib_assignment opening = oneib_nic_opening(vm, nic);
        return assign(config, &opening, err);
    }
    if (close_nic(config, record, err) < 0)
        return -1;
    return nic->key_state == ONEIB_KEY_MISSING ? 0 : oneib_nic_check(vm, nic, err);
}

static int complete(const struct oneib_config *config, const struct oneib_node_vm *vm,
                    const struct oneib_node_nic *nic, const struct oneib_vf_table *table,
                    struct oneib_error *err)
{
    const struct oneib_vf_record *record = oneib_vf_table_of_nic(table, vm->id, nic->nic_id);
    if (record)
        return settle(config, vm, nic, record, err);
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "VM %" PRIu32 " NIC %u has no virtual function on this node: 'pre' did not "
                      "run here, or the VM has lost it since ('oneib hca')",
                      vm->id, nic->nic_id);
}

int oneib_driver_post(const struct oneib_config *config, struct oneib_node_vm *vm,
                      struct oneib_error *err)
{
    oneib_autotable struct oneib_vf_table table = {0};
    if (count_meant(vm) == 0)
        return 0;
    if (oneib_reservations_read(&table, err) < 0)
        return -1;
    struct oneib_error first = {0};
    for (size_t i = 0; i < vm->nic_count; i++) {
        struct oneib_node_nic *nic = &vm->nics[i];
        struct oneib_error failure = {0};
        if (!oneib_nic_is_meant(vm, nic))
            continue;
        nic->to_undo = vm->attaching;
        note(complete(config, vm, nic, &table, &failure), &failure, &first);
    }
    if (first.code == ONEIB_ERROR_NONE)
        return 0;
    oneib_driver_undo(config, vm);
    *err = first;
    return -1;
}

/* The record of a PCI NIC is gone, at a reboot or by an earlier clean: then the VF that the
 * document names is closed, unless it is somebody's by now. */
static int release_unrecorded(const struct oneib_config *config, const struct oneib_node_vm *vm,
                              const struct oneib_node_nic *nic, const char *host,
                              const struct oneib_vf_table *table, struct oneib_error *err)
{
    const struct oneib_pci *vf = nic->is_pci ? oneib_nic_vf_on(vm, nic, host) : NULL;
    if (!vf || oneib_vf_table_of_nic(table, vm->id, nic->nic_id) || oneib_vf_table_of_vf(table, vf))
        return 0;
    if (oneib_helper_release_vf(config, vf, vm->id, NULL, 0, err) < 0)
        return name_nic(err, vm->id, nic->nic_id);
    return 0;
}

/* A VF that is not there reaches nobody; one that cannot be read may. */
static bool is_closed(const struct oneib_vf_record *record)
{
    struct oneib_hcas hcas = {0};
    struct oneib_vf_state state = {0};
    struct oneib_error unread;
    const struct oneib_vf *vf = NULL;
    if (oneib_hcas_read(ONEIB_HCA_VFS, &hcas, &unread) < 0)
        return false;
    const struct oneib_hca *hca = oneib_hcas_of_vf(&hcas, &record->vf, &vf);
    const bool closed =
        !hca || (oneib_vf_state_read(hca, vf, &state, &unread) == 0 && state.closed);
    oneib_hcas_clear(&hcas);
    return closed;
}

/*
 * What a release that failed has begun is RELEASING: kept from everybody, and the watch goes on
 * with it. Once it is closed that is TIMEOUT, whatever oneib-vf said. nic_id < 0: all NICs. Returns
 * -1.
 */
static int judge_release(uint32_t vm_id, int nic_id, struct oneib_error *err)
{
    oneib_autotable struct oneib_vf_table table = {0};
    struct oneib_error unread;
    if (oneib_reservations_read(&table, &unread) < 0)
        return -1;
    for (size_t i = 0; i < table.count; i++) {
        const struct oneib_vf_record *record = &table.items[i];
        if (record->vm_id == vm_id && (nic_id < 0 || record->nic_id == nic_id) &&
            (record->stage != ONEIB_VF_RELEASING || !is_closed(record)))
            return -1;
    }
    err->code = ONEIB_ERROR_TIMEOUT;
    return -1;
}

static bool has_record(const struct oneib_vf_table *table, uint32_t vm_id)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].vm_id == vm_id)
            return true;
    return false;
}

static int release_all(const struct oneib_config *config, const struct oneib_node_vm *vm,
                       const struct oneib_vf_table *table, struct oneib_error *err)
{
    if (!has_record(table, vm->id))
        return 0;
    if (oneib_helper_release(config, vm->id, -1, err) == 0)
        return 0;
    if (err->code != ONEIB_ERROR_REFUSED)
        oneib_wrap(err, "VM %" PRIu32, vm->id);
    return judge_release(vm->id, -1, err);
}

static int release_nic(const struct oneib_config *config, const struct oneib_node_vm *vm,
                       const struct oneib_node_nic *nic, const struct oneib_vf_table *table,
                       struct oneib_error *err)
{
    if (!oneib_vf_table_of_nic(table, vm->id, nic->nic_id))
        return 0;
    if (oneib_helper_release(config, vm->id, nic->nic_id, err) == 0)
        return 0;
    name_nic(err, vm->id, nic->nic_id);
    return judge_release(vm->id, nic->nic_id, err);
}

int oneib_driver_clean(const struct oneib_config *config, const struct oneib_node_vm *vm,
                       const char *host, struct oneib_error *err)
{
    oneib_autotable struct oneib_vf_table table = {0};
    struct oneib_error first = {0};
    if (oneib_reservations_read(&table, err) < 0)
        return -1;
    if (!vm->attaching) {
        struct oneib_error failure = {0};
        note(release_all(config, vm, &table, &failure), &failure, &first);
    }
    for (size_t i = 0; i < vm->nic_count; i++) {
        const struct oneib_node_nic *nic = &vm->nics[i];
        struct oneib_error failure = {0};
        if (!oneib_nic_is_meant(vm, nic))
            continue;
        if (vm->attaching)
            note(release_nic(config, vm, nic, &table, &failure), &failure, &first);
        note(release_unrecorded(config, vm, nic, host, &table, &failure), &failure, &first);
    }
    if (first.code == ONEIB_ERROR_NONE)
        return 0;
    *err = first;
    return -1;
}

/* What update_nic does with a VF of the VM. */
enum change { LEAVE, CLOSE, OPEN };

static enum change change_of(const struct oneib_node_nic *nic, uint32_t network_id,
                             const struct oneib_vf_record *record)
{
    if (!nic || nic->faulty)
        return CLOSE;
    if (nic->network_id != network_id || oneib_nic_is_open(nic, record))
        return LEAVE;
    return nic->key_state == ONEIB_KEY_VALID ? OPEN : CLOSE;
}

/* Opening closes first, but then waits for the key: with another key to come, none stays open
 * until it is its turn. */
static bool must_close(enum change change, const struct oneib_node_nic *nic,
                       const struct oneib_vf_record *record)
{
    return change == CLOSE || (change == OPEN && record->stage == ONEIB_VF_OPEN &&
                               (record->pkey != nic->pkey || record->limited != nic->limited));
}

static int change_nic(const struct oneib_config *config, const struct oneib_node_vm *vm,
                      const struct oneib_vf_record *record, uint32_t network_id, bool opening,
                      struct oneib_error *err)
{
    const struct oneib_node_nic *nic = oneib_nic_find(vm, record->nic_id);
    const enum change change = change_of(nic, network_id, record);
    if (!opening)
        return must_close(change, nic, record) ? close_nic(config, record, err) : 0;
    if (change == OPEN) {
        const struct oneib_assignment assignment = oneib_nic_opening(vm, nic);
        return assign(config, &assignment, err);
    }
    if (change == CLOSE && nic && !nic->faulty && nic->key_state == ONEIB_KEY_INVALID)
        return oneib_nic_check(vm, nic, err);
    return 0;
}

int oneib_driver_update_nic(const struct oneib_config *config, const struct oneib_node_vm *vm,
                            uint32_t network_id, struct oneib_error *err)
{
    oneib_autotable struct oneib_vf_table table = {0};
    struct oneib_error first = {0};
    if (oneib_reservations_read(&table, err) < 0)
        return -1;
    for (int opening = 0; opening <= 1; opening++)
        for (size_t i = 0; i < table.count; i++) {
            struct oneib_error failure = {0};
            if (table.items[i].vm_id == vm->id)
                note(change_nic(config, vm, &table.items[i], network_id, opening, &failure),
                     &failure, &first);
        }
    if (first.code == ONEIB_ERROR_NONE)
        return 0;
    *err = first;
    return -1;
}
