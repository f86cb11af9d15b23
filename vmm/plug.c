// SPDX-License-Identifier: Apache-2.0
#include "vmm/plug.h"
#include "domain/edit.h"
#include "hca/reservations.h"
#include "node/driver_nics.h"
#include "node/node_service.h"
#include "vmm/plan.h"
#include <inttypes.h>

/* Of the reason in an error that goes on after it. */
#define REASON_SHOWN 400

/* ---- looking --------------------------------------------------------------------------------- */

int oneib_plug_read(struct oneib_live *live, const char *domain, uint32_t vm_id,
                    struct oneib_domain_description *description, struct oneib_error *err)
{
    oneib_autotext struct oneib_text xml = {0};
    struct oneib_domain_description found = {0};
    if (oneib_live_document(live, domain, &xml, err) < 0)
        return -1;
    if (oneib_domain_description_read(xml.data, xml.length, &found, err) < 0)
        return oneib_wrap(err, "VM %" PRIu32 ": the document of its running domain", vm_id);
    if (oneib_plug_check_owner(&found, vm_id, err) < 0) {
        oneib_domain_description_clear(&found);
        return -1;
    }
    *description = found;
    return 0;
}

int oneib_plug_read_again(struct oneib_live *live, const char *domain, uint32_t vm_id,
                          struct oneib_domain_description *description, struct oneib_error *err)
{
    struct oneib_domain_description now;
    if (oneib_plug_read(live, domain, vm_id, &now, err) < 0)
        return -1;
    oneib_domain_description_clear(description);
    *description = now;
    return 0;
}

bool oneib_plug_has_vf(const struct oneib_domain_description *description)
{
    for (size_t i = 0; i < description->device_count; i++)
        if (description->devices[i].has_vf)
            return true;
    return false;
}

/* ---- out ------------------------------------------------------------------------------------- */

/* VFs of ours in a domain, as libvirt is asked for them. */
struct aliases {
    const char *names[ONEIB_DOMAIN_NICS_MAX * 2];
    bool gone[ONEIB_DOMAIN_NICS_MAX * 2];
    const struct oneib_domain_device *devices[ONEIB_DOMAIN_NICS_MAX * 2];
    char texts[ONEIB_DOMAIN_NICS_MAX * 2][ONEIB_ALIAS_SIZE];
    size_t count;
};

static void collect_aliases(const struct oneib_domain_description *description,
                            struct aliases *aliases)
{
    *aliases = (struct aliases){0};
    for (size_t i = 0; i < description->device_count; i++) {
        const size_t at = aliases->count;
        if (!description->devices[i].has_vf)
            continue;
        oneib_domain_alias(ONEIB_ALIAS_VF, description->devices[i].nic_id, aliases->texts[at]);
        aliases->names[at] = aliases->texts[at];
        aliases->devices[at] = &description->devices[i];
        aliases->count++;
    }
}

static void append_device(struct oneib_text *text, const struct oneib_domain_device *device)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&device->vf, vf);
    oneib_text_printf(text, "%sNIC %u (%s)", text->length > 0 ? ", " : "", device->nic_id, vf);
}

static void append_kept(struct oneib_text *text, const struct aliases *aliases)
{
    for (size_t i = 0; i < aliases->count; i++)
        if (!aliases->gone[i])
            append_device(text, aliases->devices[i]);
}

static void append_outlook(struct oneib_text *text, enum oneib_error_code code)
{
    oneib_text_append(text, "; the VM has its virtual functions as before");
    if (code == ONEIB_ERROR_TIMEOUT)
        oneib_text_append(text, ", though the guest may still let go of that later ('oneib hca' "
                                "shows it, --repair mends it)");
}

static void append_loss(struct oneib_text *text, const struct oneib_error *why)
{
    oneib_text_printf(text,
                      "; what was out could not be plugged in again, or not all of it ('oneib hca' "
                      "shows it, --repair mends it): %.*s",
                      REASON_SHOWN, why->text);
}

int oneib_plug_out(const struct oneib_config *config, struct oneib_live *live, const char *domain,
                   const struct oneib_node_vm *vm,
                   const struct oneib_domain_description *description, struct oneib_error *err)
{
    struct aliases aliases;
    struct oneib_error reason = {0}, loss = {0};
    oneib_autotext struct oneib_text kept = {0}, told = {0};
    collect_aliases(description, &aliases);
    if (oneib_live_detach(live, domain, aliases.names, aliases.count, config->node.unplug_wait_ms,
                          aliases.gone, &reason) == 0)
        return 0;
    if (reason.code == ONEIB_ERROR_NOT_FOUND) {
        *err = reason;
        return oneib_wrap(err, "VM %" PRIu32 ": unplugging its virtual functions", vm->id);
    }
    append_kept(&kept, &aliases);
    const bool by_guest = reason.code == ONEIB_ERROR_TIMEOUT || reason.code == ONEIB_ERROR_REFUSED;
    oneib_text_printf(&told, "VM %" PRIu32 ": %s %s: %.*s", vm->id,
                      by_guest ? "the guest does not let go of" : "failed to unplug",
                      kept.length > 0 ? kept.data : "its virtual functions", REASON_SHOWN,
                      reason.text);
    if (oneib_plug_in(config, domain, vm, description, &loss) == 0)
        append_outlook(&told, reason.code);
    else
        append_loss(&told, &loss);
    return oneib_fail(err, reason.code, "%s", told.data ? told.data : reason.text);
}

/* ---- in -------------------------------------------------------------------------------------- */

struct plugging {
    const struct oneib_config *config;
    struct oneib_live *live;
    const char *domain;
    const struct oneib_node_vm *vm;
    const struct oneib_domain_description *before;
    struct oneib_domain_description now;
};

static const struct oneib_domain_device *device_before(const struct plugging *plugging,
                                                       uint8_t nic_id)
{
    return plugging->before ? oneib_domain_device_of(plugging->before, nic_id) : NULL;
}

static int look_again(struct plugging *plugging, struct oneib_error *err)
{
    return oneib_plug_read_again(plugging->live, plugging->domain, plugging->vm->id, &plugging->now,
                                 err);
}

static int name_record(const struct oneib_vf_record *record, struct oneib_error *err)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&record->vf, vf);
    return oneib_wrap(err, "VM %" PRIu32 " NIC %u: plugging in its virtual function %s",
                      record->vm_id, record->nic_id, vf);
}

static int check_record(const struct oneib_vf_record *record, struct oneib_error *err)
{
    if (record->stage == ONEIB_VF_RELEASING)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "it is being released");
    if (record->stage == ONEIB_VF_PREPARING)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "it is not ready yet");
    /* It is given to whoever finds no other. */
    if (record->stage == ONEIB_VF_ENDED)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "it was closed when the VM's domain ended: 'oneib hca --repair' opens it "
                          "and plugs it in");
    if (record->guid != ONEIB_VF_GUID_SET)
        return oneib_fail(err, ONEIB_ERROR_REFUSED,
                          "its GUID is not set: 'oneib hca --repair' sets it and plugs it in");
    return 0;
}

static int refuse_other(const struct oneib_domain_device *device, struct oneib_error *err)
{
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&device->vf, vf);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "the domain has %s for that NIC already: detach the NIC from the VM and "
                      "attach it again",
                      vf);
}

static int refuse_without_dummy(struct oneib_error *err)
{
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "the domain has no dummy interface for that NIC: it was not started by the "
                      "driver kvm-ib, or has lost the NIC; power the VM off and resume it");
}

/* Where it was, else where OpenNebula wants it, else where its index puts it. */
static void choose_guest_address(const struct plugging *plugging, struct oneib_domain_nic *nic)
{
    const struct oneib_domain_device *before = device_before(plugging, nic->nic_id);
    const struct oneib_node_nic *told = oneib_nic_find(plugging->vm, nic->nic_id);
    if (before && before->has_guest_address) {
        nic->has_guest_address = true;
        nic->guest_address = before->guest_address;
    } else if (told && told->has_guest_address) {
        nic->has_guest_address = true;
        nic->guest_address = told->guest_address;
    }
    oneib_plan_guest_address(&plugging->now, nic);
}

static int attach(const struct plugging *plugging, const struct oneib_vf_record *record,
                  const struct oneib_domain_device *device, struct oneib_error *err)
{
    oneib_autotext struct oneib_text xml = {0};
    struct oneib_domain_nic nic = {
        .nic_id = record->nic_id,
        .vf = record->vf,
        .managed = oneib_vf_is_to_be_managed(&record->vf),
        .index = device->index,
        .ipv4 = device->ipv4,
    };
    choose_guest_address(plugging, &nic);
    return oneib_domain_vf_xml(&nic, &xml, err) < 0
               ? -1
               : oneib_live_attach(plugging->live, plugging->domain, xml.data, err);
}

static int take_out_again(const struct plugging *plugging, const struct oneib_vf_record *record,
                          struct oneib_error *err)
{
    struct oneib_error failure = {0};
    char alias[ONEIB_ALIAS_SIZE];
    const char *aliases[] = {alias};
    bool gone;
    oneib_domain_alias(ONEIB_ALIAS_VF, record->nic_id, alias);
    if (oneib_live_detach(plugging->live, plugging->domain, aliases, 1,
                          plugging->config->node.unplug_wait_ms, &gone, &failure) == 0)
        return oneib_fail(err, ONEIB_ERROR_REFUSED, "it was released meanwhile");
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "it was released meanwhile, and is in the domain: shut the VM down: %.*s",
                      REASON_SHOWN, failure.text);
}

/* Between the look at the table and the plugging somebody may have released it, and another VM got
 * it: so the table is looked at again. */
static int plug(const struct plugging *plugging, const struct oneib_vf_record *record,
                const struct oneib_domain_device *device, struct oneib_error *err)
{
    if (check_record(record, err) < 0 || attach(plugging, record, device, err) < 0)
        return -1;
    return oneib_plug_is_still_its_own(record->vm_id, record->nic_id, &record->vf)
               ? 0
               : take_out_again(plugging, record, err);
}

static bool is_in(const struct plugging *plugging, const struct oneib_vf_record *record)
{
    const struct oneib_domain_device *device =
        oneib_domain_device_of(&plugging->now, record->nic_id);
    return device && device->has_vf && oneib_pci_compare(&device->vf, &record->vf) == 0;
}

/* Whether the domain has it in the end is what counts: somebody else may have been faster. */
static int plug_lacking(struct plugging *plugging, const struct oneib_vf_record *record,
                        const struct oneib_domain_device *device, struct oneib_error *err)
{
    struct oneib_error failure = {0}, unseen;
    const bool attached = plug(plugging, record, device, &failure) == 0;
    /* libvirt may have chosen the place that is the next one's. */
    const bool seen = look_again(plugging, &unseen) == 0;
    if (attached && !seen) {
        *err = unseen;
        return -1;
    }
    if (attached || (seen && is_in(plugging, record)))
        return 0;
    *err = failure;
    return name_record(record, err);
}

/* Behind what the VF is to go: its dummy interface, or nothing when it was there without one. NULL:
 * its dummy interface is gone, and with it the NIC. */
static const struct oneib_domain_device *find_place(const struct plugging *plugging, uint8_t nic_id)
{
    const struct oneib_domain_device *now = oneib_domain_device_of(&plugging->now, nic_id);
    const struct oneib_domain_device *before = device_before(plugging, nic_id);
    if (now)
        return now;
    return before && !before->has_dummy ? before : NULL;
}

static int plug_record(struct plugging *plugging, const struct oneib_vf_record *record,
                       struct oneib_error *err)
{
    const struct oneib_domain_device *device =
        oneib_domain_device_of(&plugging->now, record->nic_id);
    if (is_in(plugging, record))
        return 0;
    if (device && device->has_vf) {
        refuse_other(device, err);
        return name_record(record, err);
    }
    const struct oneib_domain_device *place = find_place(plugging, record->nic_id);
    if (place)
        return plug_lacking(plugging, record, place, err);
    refuse_without_dummy(err);
    return name_record(record, err);
}

/* What nobody has recorded may be anybody's as soon as it is out. */
static int check_recorded(const struct plugging *plugging, const struct oneib_vf_table *table,
                          const struct oneib_domain_device *device, struct oneib_error *err)
{
    const struct oneib_domain_device *now = oneib_domain_device_of(&plugging->now, device->nic_id);
    if (!device->has_vf || (now && now->has_vf) ||
        oneib_vf_table_of_nic(table, plugging->vm->id, device->nic_id))
        return 0;
    char vf[ONEIB_PCI_TEXT_SIZE];
    oneib_pci_format(&device->vf, vf);
    return oneib_fail(err, ONEIB_ERROR_REFUSED,
                      "VM %" PRIu32 " NIC %u had the virtual function %s, which is not recorded as "
                      "its own and stays out: detach the NIC from the VM and attach it again",
                      plugging->vm->id, device->nic_id, vf);
}

static void note(int outcome, const struct oneib_error *failure, struct oneib_error *first)
{
    if (outcome < 0 && first->code == ONEIB_ERROR_NONE)
        *first = *failure;
}

static void check_all_recorded(const struct plugging *plugging, const struct oneib_vf_table *table,
                               struct oneib_error *first)
{
    const struct oneib_domain_description *before = plugging->before;
    for (size_t i = 0; before && i < before->device_count; i++) {
        struct oneib_error failure = {0};
        note(check_recorded(plugging, table, &before->devices[i], &failure), &failure, first);
    }
}

/* Not where the domain has another VF. */
static bool has_room_for(const struct plugging *plugging, const struct oneib_vf_record *record)
{
    const struct oneib_domain_device *place = find_place(plugging, record->nic_id);
    return place && (!place->has_vf || !oneib_domain_device_of(&plugging->now, record->nic_id));
}

/* One that is closed opens by itself once its key is there, and one that no domain has named since
 * it was asked for is not taken for one whose domain has ended. */
static bool is_to_ask_for(const struct plugging *plugging, const struct oneib_vf_record *record)
{
    return record->vm_id == plugging->vm->id && record->guid == ONEIB_VF_GUID_SET &&
           (record->stage == ONEIB_VF_ENDED ||
            (record->stage == ONEIB_VF_OPEN && record->in_domain)) &&
           has_room_for(plugging, record);
}

static int ask_for(const struct oneib_config *config, struct oneib_client **service,
                   const struct oneib_vf_record *record, struct oneib_error *err)
{
    const struct oneib_request request = oneib_record_request(record);
    if (!*service && oneib_client_open(service, err) < 0)
        return -1;
    return oneib_service_have(config, *service, &request, err);
}

/* That there is no such domain is said by NOT_FOUND alone. */
static void note_not_given(int outcome, struct oneib_error *failure, struct oneib_error *first)
{
    if (failure->code == ONEIB_ERROR_NOT_FOUND)
        failure->code = ONEIB_ERROR_REFUSED;
    note(outcome, failure, first);
}

/*
 * A domain that ends has its VFs closed until they are asked for again, and a revert ends it; the
 * service may hear of that only now.
 */
static void ask_for_vfs(const struct plugging *plugging, const struct oneib_vf_table *table,
                        struct oneib_error *first)
{
    oneib_autoservice struct oneib_client *service = NULL;
    struct oneib_error failure = {0};
    for (size_t i = 0; i < table->count; i++) {
        failure = (struct oneib_error){0};
        if (is_to_ask_for(plugging, &table->items[i]))
            note_not_given(ask_for(plugging->config, &service, &table->items[i], &failure),
                           &failure, first);
    }
    failure = (struct oneib_error){0};
    if (service)
        note_not_given(oneib_service_wait(plugging->config, service, &failure), &failure, first);
}

static int plug_all(struct plugging *plugging, struct oneib_vf_table *table,
                    struct oneib_error *err)
{
    struct oneib_error first = {0};
    if (look_again(plugging, err) < 0)
        return -1;
    ask_for_vfs(plugging, table, &first);
    /* What was not given may be somebody else's by now. */
    oneib_vf_table_clear(table);
    if (oneib_reservations_read(table, err) < 0)
        return -1;
    for (size_t i = 0; i < table->count; i++) {
        struct oneib_error failure = {0};
        if (table->items[i].vm_id == plugging->vm->id)
            note(plug_record(plugging, &table->items[i], &failure), &failure, &first);
    }
    check_all_recorded(plugging, table, &first);
    if (first.code == ONEIB_ERROR_NONE)
        return 0;
    *err = first;
    return -1;
}

int oneib_plug_in(const struct oneib_config *config, const char *domain,
                  const struct oneib_node_vm *vm, const struct oneib_domain_description *before,
                  struct oneib_error *err)
{
    struct plugging plugging = {.config = config, .domain = domain, .vm = vm, .before = before};
    oneib_autovfs struct oneib_vf_table table = {0};
    int outcome = -1;
    if (oneib_reservations_read(&table, err) == 0 &&
        oneib_live_open(config->node.libvirt, &plugging.live, err) == 0)
        outcome = plug_all(&plugging, &table, err);
    oneib_domain_description_clear(&plugging.now);
    oneib_live_close(plugging.live);
    return outcome;
}

/* ---- around an upstream action --------------------------------------------------------------- */

int oneib_plug_begin(const struct oneib_config *config, const char *domain,
                     const struct oneib_node_vm *vm, struct oneib_live **live,
                     struct oneib_domain_description *description, struct oneib_error *err)
{
    struct oneib_error failure = {0};
    *live = NULL;
    if (oneib_live_open(config->node.libvirt, live, &failure) == 0 &&
        oneib_plug_read(*live, domain, vm->id, description, &failure) == 0)
        return 0;
    oneib_live_close(*live);
    *live = NULL;
    if (failure.code == ONEIB_ERROR_NOT_FOUND || vm->nic_count == 0)
        return 0;
    *err = failure;
    return -1;
}
