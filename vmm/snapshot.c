// SPDX-License-Identifier: Apache-2.0
/* A revert gives the domain the interfaces that it had at the snapshot, which are made those of the
 * VM's document again, and the cores that it had then, which may be others' by now. */
#include "base/cleanup.h"
#include "domain/edit.h"
#include "domain/tuning.h"
#include "hca/reservations.h"
#include "node/driver_nics.h"
#include "vmm/actions.h"
#include "vmm/plan.h"
#include "vmm/plug.h"
#include <inttypes.h>

/* The domain before the upstream action. */
struct before {
    struct oneib_domain_description description;
    struct oneib_text tuned; /* its document, when oneib has given it cores; empty: it has not */
};

/* The domain after it. */
struct settling {
    struct oneib_vmm *vmm;
    struct oneib_live *live;
    struct oneib_vf_table table;
    struct oneib_domain_description description;
};

static int look(struct settling *settling, struct oneib_error *err)
{
    const struct oneib_vmm *vmm = settling->vmm;
    return oneib_plug_read_again(settling->live, vmm->domain, vmm->vm->id, &settling->description,
                                 err);
}

/* Whether it is that of a NIC which the VM has: one that was detached may have left its id to
 * another, with another address. Of a malformed NIC nobody can tell. */
static bool is_of_vm(const struct settling *settling, const struct oneib_domain_device *device)
{
    const struct oneib_node_nic *nic = oneib_nic_find(settling->vmm->vm, device->nic_id);
    return nic && (nic->faulty || nic->ipv4 == device->ipv4);
}

static int remove_dummy(const struct settling *settling, const struct oneib_domain_device *device,
                        struct oneib_error *err)
{
    const struct oneib_vmm *vmm = settling->vmm;
    char alias[ONEIB_ALIAS_SIZE];
    const char *aliases[] = {alias};
    bool gone[] = {false};
    oneib_domain_alias(ONEIB_ALIAS_DUMMY, device->nic_id, alias);
    if (oneib_live_detach(settling->live, vmm->domain, aliases, 1, vmm->config->node.unplug_wait_ms,
                          gone, err) == 0)
        return 0;
    return oneib_wrap(err,
                      "VM %" PRIu32 " NIC %u: taking out the dummy interface, which is that of a "
                      "NIC of the snapshot's time",
                      vmm->vm->id, device->nic_id);
}

static void remove_dummies(const struct settling *settling)
{
    for (size_t i = 0; i < settling->description.device_count; i++) {
        const struct oneib_domain_device *device = &settling->description.devices[i];
        struct oneib_error left = {0};
        if (device->has_dummy && !is_of_vm(settling, device) &&
            remove_dummy(settling, device, &left) < 0)
            oneib_plug_warn(settling->vmm->warnings, &left);
    }
}

static int add_dummy(const struct settling *settling, const struct oneib_node_nic *nic,
                     struct oneib_error *err)
{
    const struct oneib_vmm *vmm = settling->vmm;
    oneib_autotext struct oneib_text xml = {0};
    struct oneib_domain_nic planned;
    unsigned index;
    if (!oneib_domain_free_index(&settling->description, &index))
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "VM %" PRIu32 " NIC %u: the domain has %d InfiniBand interfaces already",
                          vmm->vm->id, nic->nic_id, ONEIB_DOMAIN_NICS_MAX);
    if (oneib_plan_check(vmm->vm, nic, err) < 0 ||
        oneib_plan_nic(vmm->vm, nic, &settling->table, index, &planned, err) < 0)
        return -1;
    if (oneib_domain_dummy_xml(&planned, &xml, err) == 0 &&
        oneib_live_attach(settling->live, vmm->domain, xml.data, err) == 0)
        return 0;
    return oneib_wrap(err, "VM %" PRIu32 " NIC %u: plugging in its dummy interface", vmm->vm->id,
                      nic->nic_id);
}

static bool has_dummy(const struct settling *settling, uint8_t nic_id)
{
    const struct oneib_domain_device *device =
        oneib_domain_device_of(&settling->description, nic_id);
    return device && device->has_dummy;
}

/* The next one's index is the lowest that this one has left free. */
static int add_dummies(struct settling *settling, struct oneib_error *err)
{
    const struct oneib_node_vm *vm = settling->vmm->vm;
    for (size_t i = 0; i < vm->nic_count; i++) {
        struct oneib_error left = {0};
        if (has_dummy(settling, vm->nics[i].nic_id))
            continue;
        if (add_dummy(settling, &vm->nics[i], &left) < 0)
            oneib_plug_warn(settling->vmm->warnings, &left);
        else if (look(settling, err) < 0)
            return -1;
    }
    return 0;
}

static int settle_dummies(struct settling *settling, struct oneib_error *err)
{
    if (settling->vmm->vm->nic_count == 0 && settling->description.device_count == 0)
        return 0;
    if (oneib_reservations_read(&settling->table, err) < 0)
        return -1;
    remove_dummies(settling);
    return look(settling, err) < 0 ? -1 : add_dummies(settling, err);
}

/* ---- cores ----------------------------------------------------------------------------------- */

/* Where the VM is to run. */
struct pinning {
    const struct settling *settling;
    struct oneib_cpu_set all;
};

static int pin(uint32_t vcpu, const struct oneib_cpu_set *cpus, void *context,
               struct oneib_error *err)
{
    struct pinning *pinning = context;
    const struct settling *settling = pinning->settling;
    oneib_cpu_set_add_all(&pinning->all, cpus);
    return oneib_live_pin(settling->live, settling->vmm->domain, ONEIB_LIVE_VCPU, vcpu, cpus, err);
}

static int read_pins(const struct oneib_text *xml, struct oneib_cpu_set *pins,
                     struct oneib_error *err)
{
    oneib_autofree char *name = NULL;
    return oneib_domain_pins_read(xml->data, xml->length, &name, pins, err);
}

static int move_back(const struct settling *settling, const struct oneib_text *before,
                     struct oneib_error *err)
{
    oneib_autotext struct oneib_text now = {0};
    struct oneib_cpu_set had, has;
    struct pinning pinning = {.settling = settling};
    const char *domain = settling->vmm->domain;
    if (oneib_live_document(settling->live, domain, &now, err) < 0 ||
        read_pins(before, &had, err) < 0 || read_pins(&now, &has, err) < 0)
        return -1;
    if (oneib_cpu_set_is_equal(&had, &has))
        return 0;
    return oneib_domain_each_pin(before->data, before->length, pin, &pinning, err) < 0
               ? -1
               : oneib_live_pin(settling->live, domain, ONEIB_LIVE_EMULATOR, 0, &pinning.all, err);
}

static void keep_cores(const struct settling *settling, const struct oneib_text *before)
{
    struct oneib_error left = {0};
    if (before->length == 0 || move_back(settling, before, &left) == 0)
        return;
    oneib_wrap(&left,
               "VM %" PRIu32 " may run on cores that it had at the snapshot and that are others' "
               "now: power it off and resume it",
               settling->vmm->vm->id);
    oneib_plug_warn(settling->vmm->warnings, &left);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int look_before(const struct oneib_vmm *vmm, struct oneib_live *live, struct before *before,
                       struct oneib_error *err)
{
    return before->description.tuned ? oneib_live_document(live, vmm->domain, &before->tuned, err)
                                     : 0;
}

/* A VM that has no NIC of ours now may have had one at the snapshot. */
static int settle(struct oneib_vmm *vmm, const struct before *before, struct oneib_error *err)
{
    struct settling settling = {.vmm = vmm};
    if (oneib_plug_begin(vmm->config, vmm->domain, vmm->vm, &settling.live, &settling.description,
                         err) < 0)
        return -1;
    if (settling.live)
        keep_cores(&settling, &before->tuned);
    const int outcome = settling.live ? settle_dummies(&settling, err) : 0;
    oneib_domain_description_clear(&settling.description);
    oneib_live_close(settling.live);
    oneib_vf_table_clear(&settling.table);
    if (outcome < 0 || vmm->vm->nic_count == 0)
        return outcome;
    return oneib_plug_in(vmm->config, vmm->domain, vmm->vm, &before->description, err);
}

/* Whatever came of the upstream action: what is not put right after it is a warning. */
static int take(struct oneib_vmm *vmm, const struct before *before, int *status,
                struct oneib_error *err)
{
    struct oneib_error left = {0};
    const int outcome = oneib_upstream_run(&vmm->upstream, NULL, 0, status, err);
    if (settle(vmm, before, &left) < 0)
        oneib_plug_warn(vmm->warnings, &left);
    return outcome;
}

int oneib_vmm_snapshot(struct oneib_vmm *vmm, int *status, struct oneib_error *err)
{
    struct oneib_live *live = NULL;
    struct before before = {0};
    if (oneib_upstream_check(&vmm->upstream, err) < 0 ||
        oneib_plug_begin(vmm->config, vmm->domain, vmm->vm, &live, &before.description, err) < 0)
        return -1;
    if (!live)
        return oneib_upstream_run(&vmm->upstream, NULL, 0, status, err);
    int outcome = look_before(vmm, live, &before, err);
    if (outcome == 0 && oneib_plug_has_vf(&before.description))
        outcome = oneib_plug_out(vmm->config, live, vmm->domain, vmm->vm, &before.description, err);
    oneib_live_close(live);
    if (outcome == 0)
        outcome = take(vmm, &before, status, err);
    oneib_domain_description_clear(&before.description);
    oneib_text_clear(&before.tuned);
    return outcome;
}
