// SPDX-License-Identifier: Apache-2.0
/* A NIC into a running domain and out of it. Neither is a list of steps to undo but a state to
 * reach, from whatever an earlier call, killed, has left. */
#include "base/escape.h"
#include "domain/document.h"
#include "domain/edit.h"
#include "hca/reservations.h"
#include "live/live.h"
#include "node/driver.h"
#include "vmm/actions.h"
#include "vmm/plan.h"
#include "vmm/plug.h"
#include <inttypes.h>
#include <strings.h>

#define MAC_SHOWN 40
/* Of the reason in an error that goes on after it. */
#define REASON_SHOWN 500

/* The NIC, and the domain as it was found. */
struct hotplug {
    const struct oneib_vmm *vmm;
    const struct oneib_node_nic *nic;
    struct oneib_live *live;                     /* owned */
    struct oneib_domain_description description; /* owned */
    struct oneib_domain_device device;
    char vf_alias[ONEIB_ALIAS_SIZE], dummy_alias[ONEIB_ALIAS_SIZE];
};

static int name_nic(const struct hotplug *plug, struct oneib_error *err)
{
    return oneib_wrap(err, "VM %" PRIu32 " NIC %u", plug->vmm->vm->id, plug->nic->nic_id);
}

/* *found NULL: the NIC that this is about is another driver's. */
static int find_nic(const struct oneib_node_vm *vm, const struct oneib_node_nic **found,
                    struct oneib_error *err)
{
    *found = NULL;
    for (size_t i = 0; i < vm->nic_count; i++) {
        if (!vm->nics[i].attach)
            continue;
        if (*found)
            return oneib_fail(err, ONEIB_ERROR_INPUT,
                              "VM %" PRIu32 ": both NIC %u and NIC %u are to be attached or "
                              "detached in one document",
                              vm->id, (*found)->nic_id, vm->nics[i].nic_id);
        *found = &vm->nics[i];
    }
    return 0;
}

static int check_mac(const struct oneib_node_vm *vm, const struct oneib_node_nic *nic,
                     const char *mac, struct oneib_error *err)
{
    if (nic->mac[0] && strcasecmp(mac, nic->mac) == 0)
        return 0;
    oneib_autotext struct oneib_text named = {0};
    oneib_text_append_escaped(&named, mac, MAC_SHOWN);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "VM %" PRIu32 " NIC %u has the MAC \"%s\" in OpenNebula's document, but this "
                      "action was called for \"%s\": nothing was touched",
                      vm->id, nic->nic_id, nic->mac, named.data ? named.data : "");
}

static int check_device(const struct oneib_node_vm *vm, const struct oneib_vf_table *table,
                        struct oneib_error *err)
{
    if (vm->device == ONEIB_DEVICE_UNCLEAR && table->count > 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT,
                          "VM %" PRIu32 ": OpenNebula's document does not say clearly which device "
                          "of the host it would plug in, and it could be another VM's virtual "
                          "function: remove from the NIC what says DOMAIN, BUS, SLOT or FUNCTION",
                          vm->id);
    const struct oneib_vf_record *record =
        vm->device == ONEIB_DEVICE_TOLD ? oneib_vf_table_of_vf(table, &vm->device_address) : NULL;
    if (!record)
        return 0;
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&record->vf, vf);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "VM %" PRIu32 ": OpenNebula would plug in %s, a virtual function that VM "
                      "%" PRIu32 " NIC %u has ('oneib hca'): leave InfiniBand adapters out of what "
                      "the host's PCI probe shows, or attach a NIC of a network with the driver "
                      "infiniband",
                      vm->id, vf, record->vm_id, record->nic_id);
}

/* What OpenNebula's own action plugs in it is told by the document alone, as at a deployment. */
static int spare_recorded_vfs(const struct oneib_node_vm *vm, struct oneib_error *err)
{
    oneib_autovfs struct oneib_vf_table table = {0};
    return vm->device == ONEIB_DEVICE_NONE            ? 0
           : oneib_reservations_read(&table, err) < 0 ? -1
                                                      : check_device(vm, &table, err);
}

static int run_upstream(const struct oneib_vmm *vmm, int *status, struct oneib_error *err)
{
    return oneib_upstream_check(&vmm->upstream, err) < 0
               ? -1
               : oneib_upstream_run(&vmm->upstream, NULL, 0, status, err);
}

static void end(struct hotplug *plug)
{
    oneib_domain_description_clear(&plug->description);
    oneib_live_close(plug->live);
}

/* The connection may be what failed. */
static int connect_again(struct hotplug *plug, struct oneib_error *err)
{
    oneib_live_close(plug->live);
    plug->live = NULL;
    return oneib_live_open(plug->vmm->config->node.libvirt, &plug->live, err);
}

/* What the domain has of the NIC, into plug->device. */
static int look(struct hotplug *plug, struct oneib_error *err)
{
    oneib_domain_description_clear(&plug->description);
    plug->description = (struct oneib_domain_description){0};
    plug->device = (struct oneib_domain_device){0};
    if (oneib_plug_read(plug->live, plug->vmm->domain, plug->vmm->vm->id, &plug->description, err) <
        0)
        return -1;
    const struct oneib_domain_device *device =
        oneib_domain_device_of(&plug->description, plug->nic->nic_id);
    if (device)
        plug->device = *device;
    return 0;
}

static int tell_not_running(struct oneib_error *err)
{
    const struct oneib_error reason = *err;
    return oneib_fail(err, ONEIB_ERROR_NOT_FOUND,
                      "%.*s; once OpenNebula shows that the VM is powered off, do it again: the "
                      "NIC then comes or goes with the next start",
                      REASON_SHOWN, reason.text);
}

static int begin(struct hotplug *plug, struct oneib_error *err)
{
    oneib_domain_alias(ONEIB_ALIAS_VF, plug->nic->nic_id, plug->vf_alias);
    oneib_domain_alias(ONEIB_ALIAS_DUMMY, plug->nic->nic_id, plug->dummy_alias);
    if (oneib_live_open(plug->vmm->config->node.libvirt, &plug->live, err) < 0)
        return name_nic(plug, err);
    if (look(plug, err) == 0)
        return 0;
    if (err->code == ONEIB_ERROR_NOT_FOUND)
        tell_not_running(err);
    return name_nic(plug, err);
}

static int detach(const struct hotplug *plug, const char *alias, struct oneib_error *err)
{
    bool gone;
    return oneib_live_detach(plug->live, plug->vmm->domain, &alias, 1,
                             plug->vmm->config->node.unplug_wait_ms, &gone, err);
}

/* ---- attach ---------------------------------------------------------------------------------- */

static int check_vf(const struct hotplug *plug, const struct oneib_domain_nic *planned,
                    struct oneib_error *err)
{
    if (!plug->device.has_vf || oneib_pci_compare(&plug->device.vf, &planned->vf) == 0)
        return 0;
    char there[ONEIB_PCI_TEXT_SIZE], reserved[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&plug->device.vf, there);
    oneib_pci_format(&planned->vf, reserved);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "VM %" PRIu32 " NIC %u: the running domain has %s for it already, and this "
                      "node has reserved %s: 'virsh detach-device-alias one-%" PRIu32
                      " %s --live' takes the old one out",
                      plug->vmm->vm->id, plug->nic->nic_id, there, reserved, plug->vmm->vm->id,
                      plug->vf_alias);
}

static int choose_index(const struct hotplug *plug, unsigned *index, struct oneib_error *err)
{
    *index = plug->device.index;
    if (plug->device.has_dummy || oneib_domain_free_index(&plug->description, index))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "VM %" PRIu32 " NIC %u: the VM has %d InfiniBand interfaces already, and can "
                      "have no more",
                      plug->vmm->vm->id, plug->nic->nic_id, ONEIB_DOMAIN_NICS_MAX);
}

static int make_plan(const struct hotplug *plug, struct oneib_domain_nic *planned,
                     struct oneib_error *err)
{
    oneib_autovfs struct oneib_vf_table table = {0};
    unsigned index;
    if (oneib_reservations_read(&table, err) < 0 || choose_index(plug, &index, err) < 0 ||
        oneib_plan_nic(plug->vmm->vm, plug->nic, &table, index, planned, err) < 0 ||
        check_vf(plug, planned, err) < 0)
        return -1;
    oneib_plan_guest_address(&plug->description, planned);
    return 0;
}

static int attach_dummy(const struct hotplug *plug, const struct oneib_domain_nic *planned,
                        const char *xml, struct oneib_error *err)
{
    if (plug->device.has_dummy && plug->device.ipv4 == planned->ipv4)
        return 0;
    /* Of an earlier NIC with this id, whose attach was killed. */
    if (plug->device.has_dummy && detach(plug, plug->dummy_alias, err) < 0)
        return oneib_wrap(err, "taking out the dummy interface of an earlier NIC");
    if (oneib_live_attach(plug->live, plug->vmm->domain, xml, err) < 0)
        return oneib_wrap(err, "plugging in its dummy interface");
    return 0;
}

/* The VF was reserved long ago, when the guest took its time to let go of an earlier NIC's. */
static int attach_vf(const struct hotplug *plug, const struct oneib_domain_nic *planned,
                     const char *xml, struct oneib_error *err)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&planned->vf, vf);
    if (!plug->device.has_vf && oneib_live_attach(plug->live, plug->vmm->domain, xml, err) < 0)
        return oneib_wrap(err, "plugging in its virtual function %s", vf);
    if (oneib_plug_is_still_its_own(plug->vmm->vm->id, planned->nic_id, &planned->vf))
        return 0;
    return oneib_fail(err, ONEIB_ERROR_REFUSED, "its virtual function %s was released meanwhile",
                      vf);
}

/* What failed may have happened all the same, so both are taken out. Returns -1. */
static int take_back(struct hotplug *plug, struct oneib_error *err)
{
    const struct oneib_error reason = *err;
    struct oneib_error failure = {0};
    const char *aliases[] = {plug->vf_alias, plug->dummy_alias};
    bool gone[] = {false, false};
    if (reason.code != ONEIB_ERROR_UNREACHABLE || connect_again(plug, &failure) == 0)
        oneib_live_detach(plug->live, plug->vmm->domain, aliases, 2,
                          plug->vmm->config->node.unplug_wait_ms, gone, &failure);
    if (gone[0] && gone[1])
        return oneib_fail(err, reason.code, "%.*s; nothing of the NIC is left in the VM",
                          REASON_SHOWN, reason.text);
    return oneib_fail(err, reason.code,
                      "%.*s; %s may still be in the VM, since taking it out again failed too "
                      "('oneib hca'): %.*s",
                      REASON_SHOWN, reason.text,
                      gone[0]   ? "its dummy interface"
                      : gone[1] ? "its virtual function"
                                : "its virtual function or dummy interface",
                      REASON_SHOWN, failure.text);
}

static int attach_nic(struct hotplug *plug, struct oneib_error *err)
{
    struct oneib_domain_nic planned;
    oneib_autotext struct oneib_text dummy = {0}, vf = {0};
    if (oneib_plan_check(plug->vmm->vm, plug->nic, err) < 0 || begin(plug, err) < 0 ||
        make_plan(plug, &planned, err) < 0)
        return -1;
    if (oneib_domain_dummy_xml(&planned, &dummy, err) < 0 ||
        oneib_domain_vf_xml(&planned, &vf, err) < 0)
        return oneib_wrap(err, "VM %" PRIu32, plug->vmm->vm->id);
    /* The guest's scripts look for the address when the VF comes. */
    if (attach_dummy(plug, &planned, dummy.data, err) == 0 &&
        attach_vf(plug, &planned, vf.data, err) == 0 &&
        oneib_upstream_check_caller(&plug->vmm->upstream, err) == 0)
        return 0;
    name_nic(plug, err);
    return take_back(plug, err);
}

/* OpenNebula has no such NIC any more, and calls neither post nor clean. */
static void give_back(const struct oneib_vmm *vmm)
{
    for (size_t i = 0; i < vmm->vm->nic_count; i++)
        vmm->vm->nics[i].to_undo = vmm->vm->nics[i].attach;
    oneib_driver_undo(vmm->config, vmm->vm);
}

static int attach_found(const struct oneib_vmm *vmm, const struct oneib_node_nic *nic,
                        const char *mac, struct oneib_error *err)
{
    struct hotplug plug = {.vmm = vmm, .nic = nic};
    if (check_mac(vmm->vm, nic, mac, err) < 0)
        return -1;
    const int outcome = attach_nic(&plug, err);
    end(&plug);
    return outcome;
}

int oneib_vmm_attach_nic(struct oneib_vmm *vmm, const char *mac, int *status,
                         struct oneib_error *err)
{
    const struct oneib_node_nic *nic;
    const bool is_clear = find_nic(vmm->vm, &nic, err) == 0;
    if (is_clear && !nic)
        return spare_recorded_vfs(vmm->vm, err) < 0 ? -1 : run_upstream(vmm, status, err);
    if (!is_clear || attach_found(vmm, nic, mac, err) < 0) {
        give_back(vmm);
        return -1;
    }
    *status = 0;
    return 0;
}

/* ---- detach ---------------------------------------------------------------------------------- */

static const char *outlook_of(enum oneib_error_code code)
{
    if (code == ONEIB_ERROR_TIMEOUT)
        return "the VM has the NIC as before, but the guest may still let go of the virtual "
               "function later ('oneib hca' shows that)";
    if (code == ONEIB_ERROR_REFUSED)
        return "the VM has the NIC as before";
    return "'oneib hca' shows whether the VM still has its virtual function";
}

static int detach_vf(const struct hotplug *plug, struct oneib_error *err)
{
    struct oneib_error reason = {0};
    if (!plug->device.has_vf || detach(plug, plug->vf_alias, &reason) == 0)
        return 0;
    const bool by_guest = reason.code == ONEIB_ERROR_TIMEOUT || reason.code == ONEIB_ERROR_REFUSED;
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&plug->device.vf, vf);
    oneib_fail(err, reason.code, "%s its virtual function %s: %.*s; %s",
               by_guest ? "the guest does not let go of" : "failed to unplug", vf, REASON_SHOWN,
               reason.text, outlook_of(reason.code));
    return name_nic(plug, err);
}

/* Both or neither: the guest has not let go of the dummy interface, unless it did so late. */
static int recover(struct hotplug *plug, const struct oneib_error *reason, struct oneib_error *err)
{
    struct oneib_error failure = {0}, unseen = {0};
    oneib_plug_in(plug->vmm->config, plug->vmm->domain, plug->vmm->vm, &plug->description,
                  &failure);
    const bool is_seen =
        (reason->code != ONEIB_ERROR_UNREACHABLE || connect_again(plug, &unseen) == 0) &&
        look(plug, &unseen) == 0;
    if (is_seen && !plug->device.has_vf && !plug->device.has_dummy)
        return 0;
    const char *colon = failure.code == ONEIB_ERROR_NONE ? "" : ": ";
    if (is_seen && plug->device.has_vf)
        oneib_fail(err, reason->code,
                   "its dummy interface could not be taken out: %.*s; its virtual function is "
                   "plugged in again",
                   REASON_SHOWN, reason->text);
    else
        oneib_fail(err, reason->code,
                   "its dummy interface could not be taken out: %.*s; its virtual function is out, "
                   "and was not plugged in again%s%.*s; detach the NIC once more",
                   REASON_SHOWN, reason->text, colon, REASON_SHOWN, failure.text);
    return name_nic(plug, err);
}

/* Somebody may have repaired what was half-way out ('oneib hca --repair'): nobody would take that
 * VF out any more. */
static int detach_what_came_back(struct hotplug *plug, struct oneib_error *err)
{
    struct oneib_error unseen = {0};
    return look(plug, &unseen) < 0 ? 0 : detach_vf(plug, err);
}

static int detach_nic(struct hotplug *plug, struct oneib_error *err)
{
    struct oneib_error reason = {0};
    if (begin(plug, err) < 0 || detach_vf(plug, err) < 0)
        return -1;
    if (plug->device.has_dummy && detach(plug, plug->dummy_alias, &reason) < 0)
        return recover(plug, &reason, err);
    return detach_what_came_back(plug, err);
}

int oneib_vmm_detach_nic(struct oneib_vmm *vmm, const char *mac, int *status,
                         struct oneib_error *err)
{
    const struct oneib_node_nic *nic;
    if (find_nic(vmm->vm, &nic, err) < 0)
        return -1;
    if (!nic)
        return run_upstream(vmm, status, err);
    if (check_mac(vmm->vm, nic, mac, err) < 0)
        return -1;
    struct hotplug plug = {.vmm = vmm, .nic = nic};
    const int outcome = detach_nic(&plug, err);
    end(&plug);
    if (outcome < 0)
        return -1;
    /* 'clean' does so after a detach, but is not called where this undoes an attach. */
    give_back(vmm);
    *status = 0;
    return 0;
}
