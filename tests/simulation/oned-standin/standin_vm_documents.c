// SPDX-License-Identifier: Apache-2.0
#include "standin_documents.h"
#include <inttypes.h>

/* A deploy id has the form of a libvirt UUID. */
static void render_uuid(const struct standin_vm *vm, struct oneib_text *text)
{
    oneib_text_printf(text, "5dec61fb-6338-452b-9e09-%012" PRIx32, vm->id);
}

static void render_monitoring(const struct standin_state *state, const struct standin_vm *vm,
                              enum standin_form form, struct oneib_text *text)
{
    if (form == STANDIN_POOL || !vm->deployed) {
        oneib_text_append(text, "<MONITORING></MONITORING>");
        return;
    }
    oneib_text_printf(
        text,
        "<MONITORING><CPU><![CDATA[1.02]]></CPU><CPU_FORECAST><![CDATA[1.02]]></CPU_FORECAST>"
        "<DISKRDBYTES><![CDATA[2560]]></DISKRDBYTES><DISKRDIOPS><![CDATA[2]]></DISKRDIOPS>"
        "<DISKWRBYTES><![CDATA[0]]></DISKWRBYTES><DISKWRIOPS><![CDATA[0]]></DISKWRIOPS>"
        "<DISK_SIZE><ID><![CDATA[0]]></ID><SIZE><![CDATA[0]]></SIZE></DISK_SIZE>"
        "<DISK_SIZE><ID><![CDATA[1]]></ID><SIZE><![CDATA[1]]></SIZE></DISK_SIZE>"
        "<ID><![CDATA[%" PRIu32 "]]></ID><MEMORY><![CDATA[210652]]></MEMORY>"
        "<MEMORY_FORECAST><![CDATA[210652.0]]></MEMORY_FORECAST><NETRX><![CDATA[220]]></NETRX>"
        "<NETTX><![CDATA[0]]></NETTX><TIMESTAMP><![CDATA[%" PRId64 "]]></TIMESTAMP>"
        "<VM_QEMU_PING><![CDATA[QEMU Guest Agent monitoring disabled]]></VM_QEMU_PING>"
        "</MONITORING>",
        vm->id, state->now);
}

/* The contextualisation variables of one NIC: names as recorded, "" where the network does not say.
 */
static const struct {
    const char *name, *attribute;
} context_variables[] = {
    {"DNS", NULL},
    {"EXTERNAL", NULL},
    {"GATEWAY", "GATEWAY"},
    {"IP", "IP"},
    {"IP6", NULL},
    {"IP6_GATEWAY", NULL},
    {"IP6_METHOD", NULL},
    {"IP6_METRIC", NULL},
    {"IP6_PREFIX_LENGTH", NULL},
    {"IP6_ULA", NULL},
    {"MAC", "MAC"},
    {"MASK", NULL},
    {"METHOD", NULL},
    {"METRIC", NULL},
    {"MTU", "MTU"},
    {"NETWORK", NULL},
    {"ROUTES", NULL},
    {"SEARCH_DOMAIN", NULL},
    {"VLAN_ID", "VLAN_ID"},
    {"VROUTER_IP", NULL},
    {"VROUTER_IP6", NULL},
    {"VROUTER_MANAGEMENT", NULL},
};

static void render_context(const struct standin_vm *vm, struct oneib_text *text)
{
    oneib_text_append(text, "<CONTEXT><DISK_ID><![CDATA[1]]></DISK_ID>");
    for (size_t n = 0; n < vm->nic_count; n++) {
        for (size_t i = 0; i < sizeof context_variables / sizeof *context_variables; i++) {
            const char *attribute = context_variables[i].attribute;
            const char *value =
                attribute ? standin_attributes_get(&vm->nics[n].attributes, attribute) : "";
            oneib_text_printf(text, "<ETH%" PRIu32 "_%s><![CDATA[%s]]></ETH%" PRIu32 "_%s>",
                              vm->nics[n].id, context_variables[i].name, value, vm->nics[n].id,
                              context_variables[i].name);
        }
    }
    oneib_text_append(text, "<NETWORK><![CDATA[YES]]></NETWORK><TARGET><![CDATA[sda]]></TARGET>"
                            "</CONTEXT>");
}

static void render_disk(struct oneib_text *text)
{
    oneib_text_append(
        text,
        "<DISK><ALLOW_ORPHANS><![CDATA[FORMAT]]></ALLOW_ORPHANS><CLONE><![CDATA[YES]]></CLONE>"
        "<CLONE_TARGET><![CDATA[SYSTEM]]></CLONE_TARGET><CLUSTER_ID><![CDATA[0]]></CLUSTER_ID>"
        "<DATASTORE><![CDATA[default]]></DATASTORE><DATASTORE_ID><![CDATA[1]]></DATASTORE_ID>"
        "<DEV_PREFIX><![CDATA[vd]]></DEV_PREFIX><DISK_ID><![CDATA[0]]></DISK_ID>"
        "<DISK_SNAPSHOT_TOTAL_SIZE><![CDATA[0]]></DISK_SNAPSHOT_TOTAL_SIZE>"
        "<DISK_TYPE><![CDATA[FILE]]></DISK_TYPE><DRIVER><![CDATA[raw]]></DRIVER>"
        "<FORMAT><![CDATA[raw]]></FORMAT><IMAGE><![CDATA[tiny]]></IMAGE>"
        "<IMAGE_ID><![CDATA[0]]></IMAGE_ID><IMAGE_STATE><![CDATA[2]]></IMAGE_STATE>"
        "<LN_TARGET><![CDATA[SYSTEM]]></LN_TARGET><ORIGINAL_SIZE><![CDATA[4]]></ORIGINAL_SIZE>"
        "<PERSISTENT_SNAPSHOTS><![CDATA[YES]]></PERSISTENT_SNAPSHOTS>"
        "<READONLY><![CDATA[NO]]></READONLY><SAVE><![CDATA[NO]]></SAVE><SIZE><![CDATA[4]]></SIZE>"
        "<SOURCE><![CDATA[/var/lib/one//datastores/1/d2c6977fcb709c96af0f8742f3199bc0]]></SOURCE>"
        "<TARGET><![CDATA[vda]]></TARGET><TM_MAD><![CDATA[local]]></TM_MAD>"
        "<TYPE><![CDATA[FILE]]></TYPE></DISK>");
}

static void render_security_rule(const char *direction, struct oneib_text *text)
{
    oneib_text_printf(text,
                      "<SECURITY_GROUP_RULE><PROTOCOL><![CDATA[ALL]]></PROTOCOL>"
                      "<RULE_TYPE><![CDATA[%s]]></RULE_TYPE>"
                      "<SECURITY_GROUP_ID><![CDATA[0]]></SECURITY_GROUP_ID>"
                      "<SECURITY_GROUP_NAME><![CDATA[default]]></SECURITY_GROUP_NAME>"
                      "</SECURITY_GROUP_RULE>",
                      direction);
}

static void render_os(const struct standin_vm *vm, struct oneib_text *text)
{
    oneib_text_append(text, "<OS><ARCH><![CDATA[x86_64]]></ARCH>"
                            "<INITRD><![CDATA[/srv/guest/initrd.gz]]></INITRD>"
                            "<KERNEL><![CDATA[/srv/guest/vmlinuz]]></KERNEL>"
                            "<KERNEL_CMD><![CDATA[console=ttyS0 quiet]]></KERNEL_CMD>"
                            "<MACHINE><![CDATA[q35]]></MACHINE><UUID><![CDATA[");
    render_uuid(vm, text);
    oneib_text_append(text, "]]></UUID></OS>");
}

static void render_template(const struct standin_vm *vm, struct oneib_text *text)
{
    oneib_text_append(
        text,
        "<TEMPLATE><AUTOMATIC_DS_REQUIREMENTS><![CDATA[(\"CLUSTERS/ID\" @> 0)]]>"
        "</AUTOMATIC_DS_REQUIREMENTS><AUTOMATIC_NIC_REQUIREMENTS><![CDATA[(\"CLUSTERS/ID\" @> 0)]]>"
        "</AUTOMATIC_NIC_REQUIREMENTS><AUTOMATIC_REQUIREMENTS><![CDATA[(CLUSTER_ID = 0) & "
        "!(PIN_POLICY = PINNED)]]></AUTOMATIC_REQUIREMENTS>");
    render_context(vm, text);
    oneib_text_append(text, "<CPU><![CDATA[0.1]]></CPU>");
    render_disk(text);
    oneib_text_append(text, "<MEMORY><![CDATA[96]]></MEMORY>");
    for (size_t i = 0; i < vm->nic_count; i++) {
        oneib_text_append(text, "<NIC>");
        standin_attributes_render(&vm->nics[i].attributes, text);
        oneib_text_append(text, "</NIC>");
    }
    render_os(vm, text);
    render_security_rule("OUTBOUND", text);
    render_security_rule("INBOUND", text);
    oneib_text_append(text, "<TEMPLATE_ID><![CDATA[1]]></TEMPLATE_ID>");
    if (vm->history_count)
        oneib_text_append(text, "<TM_MAD_SYSTEM><![CDATA[local]]></TM_MAD_SYSTEM>");
    oneib_text_printf(
        text, "<VCPU><![CDATA[1]]></VCPU><VMID><![CDATA[%" PRIu32 "]]></VMID></TEMPLATE>", vm->id);
}

static void render_history(const struct standin_state *state, const struct standin_vm *vm,
                           size_t sequence, struct oneib_text *text)
{
    const struct standin_history *record = &vm->history[sequence];
    oneib_text_printf(text, "<HISTORY><OID>%" PRIu32 "</OID><SEQ>%zu</SEQ><HOSTNAME>", vm->id,
                      sequence);
    standin_render_escaped(state->hosts[record->host_id]->name, text);
    oneib_text_printf(text,
                      "</HOSTNAME><HID>%" PRIu32 "</HID><CID>0</CID><STIME>%" PRId64 "</STIME>"
                      "<ETIME>%" PRId64 "</ETIME><VM_MAD><![CDATA[kvm]]></VM_MAD>"
                      "<TM_MAD><![CDATA[local]]></TM_MAD><DS_ID>0</DS_ID><PLAN_ID>-1</PLAN_ID>"
                      "<ACTION_ID>0</ACTION_ID><PSTIME>%" PRId64 "</PSTIME><PETIME>%" PRId64
                      "</PETIME>"
                      "<RSTIME>%" PRId64 "</RSTIME><RETIME>%" PRId64 "</RETIME><ESTIME>0</ESTIME>"
                      "<EETIME>0</EETIME><ACTION>0</ACTION><UID>-1</UID><GID>-1</GID>"
                      "<REQUEST_ID>-1</REQUEST_ID></HISTORY>",
                      record->host_id, record->start, record->end, record->prolog_start,
                      record->prolog_end, record->running_start, record->running_end);
}

static void render_history_records(const struct standin_state *state, const struct standin_vm *vm,
                                   enum standin_form form, struct oneib_text *text)
{
    if (vm->history_count == 0) {
        oneib_text_append(text, "<HISTORY_RECORDS/>");
        return;
    }
    size_t first = form == STANDIN_POOL ? vm->history_count - 1 : 0;
    oneib_text_append(text, "<HISTORY_RECORDS>");
    for (size_t i = first; i < vm->history_count; i++)
        render_history(state, vm, i, text);
    oneib_text_append(text, "</HISTORY_RECORDS>");
}

static void render_deploy_id(const struct standin_vm *vm, struct oneib_text *text)
{
    oneib_text_append(text, "<DEPLOY_ID>");
    if (vm->deployed)
        render_uuid(vm, text);
    oneib_text_append(text, "</DEPLOY_ID>");
}

void standin_render_vm(const struct standin_state *state, const struct standin_vm *vm,
                       enum standin_form form, struct oneib_text *text)
{
    oneib_text_append(text, "<VM>");
    standin_render_head(vm->id, (struct standin_owner){0}, vm->name, text);
    standin_render_permissions(text);
    oneib_text_printf(text,
                      "<LAST_POLL>0</LAST_POLL><STATE>%d</STATE><LCM_STATE>%d</LCM_STATE>"
                      "<PREV_STATE>%d</PREV_STATE><PREV_LCM_STATE>%d</PREV_LCM_STATE>"
                      "<RESCHED>0</RESCHED><STIME>%" PRId64 "</STIME><ETIME>%" PRId64 "</ETIME>",
                      vm->state, vm->lcm_state, vm->state, vm->lcm_state, vm->start, vm->end);
    render_deploy_id(vm, text);
    render_monitoring(state, vm, form, text);
    oneib_text_append(text, "<SCHED_ACTIONS></SCHED_ACTIONS>");
    render_template(vm, text);
    oneib_text_append(text, "<USER_TEMPLATE>");
    if (vm->note)
        oneib_text_printf(text, "<NOTE><![CDATA[%s]]></NOTE>", vm->note);
    oneib_text_append(text, "</USER_TEMPLATE>");
    render_history_records(state, vm, form, text);
    oneib_text_append(text, "<BACKUPS><BACKUP_CONFIG/><BACKUP_IDS></BACKUP_IDS></BACKUPS></VM>");
}

static void render_short_nic(const struct standin_nic *nic, struct oneib_text *text)
{
    static const char *const shown[] = {"IP",         "MAC",    "NETWORK",
                                        "NETWORK_ID", "NIC_ID", "SECURITY_GROUPS"};
    oneib_text_append(text, "<NIC>");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        oneib_text_printf(text, "<%s><![CDATA[%s]]></%s>", shown[i],
                          standin_attributes_get(&nic->attributes, shown[i]), shown[i]);
    oneib_text_append(text, "</NIC>");
}

static void render_short_history(const struct standin_state *state, const struct standin_vm *vm,
                                 struct oneib_text *text)
{
    if (vm->history_count == 0) {
        oneib_text_append(text, "<HISTORY_RECORDS/>");
        return;
    }
    size_t last = vm->history_count - 1;
    uint32_t host_id = vm->history[last].host_id;
    oneib_text_printf(text,
                      "<HISTORY_RECORDS><HISTORY><OID>%" PRIu32 "</OID><SEQ>%zu</SEQ>"
                      "<HOSTNAME><![CDATA[%s]]></HOSTNAME><HID>%" PRIu32 "</HID><CID>0</CID>"
                      "<DS_ID>0</DS_ID><VM_MAD><![CDATA[kvm]]></VM_MAD>"
                      "<TM_MAD><![CDATA[local]]></TM_MAD><ACTION><![CDATA[0]]></ACTION></HISTORY>"
                      "</HISTORY_RECORDS>",
                      vm->id, last, state->hosts[host_id]->name, host_id);
}

void standin_render_vm_short(const struct standin_state *state, const struct standin_vm *vm,
                             struct oneib_text *text)
{
    oneib_text_append(text, "<VM>");
    standin_render_head(vm->id, (struct standin_owner){0}, vm->name, text);
    oneib_text_printf(text,
                      "<LAST_POLL>0</LAST_POLL><STATE>%d</STATE><LCM_STATE>%d</LCM_STATE>"
                      "<RESCHED>0</RESCHED><STIME>%" PRId64 "</STIME><ETIME>%" PRId64 "</ETIME>",
                      vm->state, vm->lcm_state, vm->start, vm->end);
    render_deploy_id(vm, text);
    oneib_text_append(
        text,
        "<TEMPLATE><CPU>0.1</CPU><MEMORY>96</MEMORY><VCPU>1</VCPU><DISK>"
        "<DISK_ID><![CDATA[0]]></DISK_ID><DATASTORE><![CDATA[default]]></DATASTORE>"
        "<DATASTORE_ID><![CDATA[1]]></DATASTORE_ID><IMAGE><![CDATA[tiny]]></IMAGE>"
        "<IMAGE_ID><![CDATA[0]]></IMAGE_ID><SIZE><![CDATA[4]]></SIZE>"
        "<TYPE><![CDATA[FILE]]></TYPE><CLONE><![CDATA[YES]]></CLONE>"
        "<CLONE_TARGET><![CDATA[SYSTEM]]></CLONE_TARGET><LN_TARGET><![CDATA[SYSTEM]]></LN_TARGET>"
        "<DISK_SNAPSHOT_TOTAL_SIZE><![CDATA[0]]></DISK_SNAPSHOT_TOTAL_SIZE></DISK>");
    for (size_t i = 0; i < vm->nic_count; i++)
        render_short_nic(&vm->nics[i], text);
    oneib_text_append(text, "</TEMPLATE><MONITORING/><USER_TEMPLATE/>");
    render_short_history(state, vm, text);
    oneib_text_append(text, "</VM>");
}
