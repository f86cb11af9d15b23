// SPDX-License-Identifier: Apache-2.0
/* VM 42 runs with InfiniBand NICs, each with its VF: for tests of what takes VFs out of a domain
 * and gives them back. NIC N has VF N. */
#ifndef ONEIB_UNIT_VMM_LEAVE_SCENE_H
#define ONEIB_UNIT_VMM_LEAVE_SCENE_H

#include "domain/edit.h"
#include "live/live.h"
#include "nic_scene.h"

#include <sys/stat.h>

#define VFS_MAX (NICS + 3)
#define VF_ALIAS_1 "ua-oneib-1"
#define VF_ALIAS_2 "ua-oneib-2"
#define DUMMY_ALIAS_1 "ua-oneib-dummy-1"
#define DUMMY_ALIAS_2 "ua-oneib-dummy-2"

static const char input[] = "<VMM_DRIVER_ACTION_DATA/>";

/* ---- the VM ---------------------------------------------------------------------------------- */

/* What the driver makes of oned's document at deploy; `more` goes into its <devices>. */
static inline void start_vm(const char *more)
{
    struct oneib_domain_nic planned[ONEIB_DOMAIN_NICS_MAX] = {0};
    struct oneib_text xml = {0};
    const struct oneib_text *document = domain_document(more);
    for (size_t i = 0; i < vm.nic_count; i++) {
        const struct oneib_node_nic *nic = &vm.nics[i];
        planned[i] = (struct oneib_domain_nic){
            .nic_id = nic->nic_id,
            .vf = tree_vf_pci(&hca, nic->nic_id),
            .has_guest_address = nic->has_guest_address,
            .guest_address = nic->guest_address,
            .index = (unsigned)i,
            .ipv4 = nic->ipv4,
            .is_pci = nic->is_pci,
        };
        memcpy(planned[i].mac, nic->mac, sizeof planned[i].mac);
        memcpy(planned[i].target, nic->target, sizeof planned[i].target);
    }
    if (oneib_domain_equip(document->data, document->length, planned, vm.nic_count, &xml, &err) < 0)
        fail_msg("%s", err.text);
    live_standin_run(xml.data);
    oneib_text_clear(&xml);
    live_standin_forget_log();
}

static inline void add_vm_nic(uint8_t nic_id)
{
    add_nic(nic_id);
    record_open(nic_id, nic_id);
}

/* NICs 1 and 2. */
static inline void run_vm(void)
{
    add_vm_nic(1);
    add_vm_nic(2);
    start_vm("");
}

static inline int open_running_scene(void **state)
{
    open_scene(state);
    run_vm();
    return 0;
}

static inline void forget_records(void)
{
    oneib_vf_table_clear(&table);
    tree_remove("/run/oneib/vfs");
}

/* The same again, for one more round of a test: the adapter stays as it is. */
static inline void restart_vm(void)
{
    vm = (struct oneib_node_vm){.id = VM_ID, .nics = nics, .nic_capacity = NICS};
    oneib_text_clear(&warnings);
    forget_records();
    live_standin_reset();
    run_vm();
}

/* ---- looking --------------------------------------------------------------------------------- */

static inline int vf_number(const struct oneib_pci *vf)
{
    for (unsigned i = 0; i < VFS_MAX; i++) {
        const struct oneib_pci known = tree_vf_pci(&hca, i);
        if (oneib_pci_compare(vf, &known) == 0)
            return (int)i;
    }
    return -1;
}

/* What the domain has of ours, by NIC: "1:vf1@22+0 2:-+1": VF, guest bus, dummy's index. Valid
 * until the next call but one; "gone": it does not run. */
static inline const char *shape(void)
{
    static char texts[2][1024];
    static unsigned next;
    char *text = texts[next++ % 2];
    const char *xml = live_standin_document(DOMAIN);
    struct oneib_error unread = {0};
    size_t used = 0;
    text[0] = '\0';
    if (!xml)
        return strcpy(text, "gone");
    oneib_domain_description_clear(&description);
    if (oneib_domain_description_read(xml, strlen(xml), &description, &unread) < 0)
        fail_msg("%s", unread.text);
    for (size_t i = 0; i < description.device_count; i++) {
        const struct oneib_domain_device *device = &description.devices[i];
        char vf[24] = "-", dummy[8] = "-";
        if (device->has_vf)
            snprintf(vf, sizeof vf, "vf%d@%02x", vf_number(&device->vf), device->guest_address.bus);
        if (device->has_dummy)
            snprintf(dummy, sizeof dummy, "+%u", device->index);
        used += (size_t)snprintf(text + used, sizeof texts[0] - used, "%s%u:%s%s", used ? " " : "",
                                 device->nic_id, vf, dummy);
    }
    return text;
}
#define BOTH_IN "1:vf1@22+0 2:vf2@21+1"
#define BOTH_OUT "1:-+0 2:-+1"

static inline void assert_shape(const char *expected)
{
    const char *seen = shape();
    if (strcmp(seen, expected) != 0)
        fail_msg("\"%s\" is not \"%s\"; log:\n%s", seen, expected, live_standin_log());
}

static inline void assert_no_warnings(void)
{
    if (warnings.length > 0)
        fail_msg("warnings: %s", warnings.data);
}

static inline void assert_warned(const char *words)
{
    if (!warnings.data || !strstr(warnings.data, words))
        fail_msg("\"%s\" is not in the warnings: %s", words, warnings.data ? warnings.data : "");
}

/* Both are in the log, in this order. */
static inline void assert_order(const char *first, const char *second)
{
    const char *log = live_standin_log(), *at = strstr(log, first);
    if (!at || !strstr(at, second))
        fail_msg("\"%s\" does not come before \"%s\" in:\n%s", first, second, log);
}

/* ---- acting ---------------------------------------------------------------------------------- */

static inline struct oneib_vmm calling(const char *upstream, char *const *words)
{
    return (struct oneib_vmm){
        .config = &config,
        .upstream = {upstream, words, input, strlen(input), NULL},
        .vm = &vm,
        .domain = DOMAIN,
        .warnings = &warnings,
    };
}

static inline int reattach(void)
{
    struct oneib_vmm vmm = calling("", arguments);
    return oneib_vmm_reattach(&vmm, &err);
}

/* 'oneib hca --repair', whatever was before. */
static inline void repair(void)
{
    live_standin_heal();
    if (reattach() < 0)
        fail_msg("%s", err.text);
}

#endif
